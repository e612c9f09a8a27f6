/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reporting.c - see reporting.h.
 *
 *   ended ──► encoding (one at a time, oldest first) ──► a delivery for each reporter
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent_status.h"
#include "agent/metadata_find.h"
#include "agent/reporting_state.h"
#include "base/atomic.h"
#include "base/log.h"
#include "sys/clock.h"

#define LOOK_NS 2000000u

/* ---- the system ---- */

static uint64_t real_monotonic_ns(void *context)
{
    (void)context;
    return kymo_clock_ns(CLOCK_MONOTONIC);
}

static uint64_t real_realtime_ns(void *context)
{
    (void)context;
    return kymo_clock_ns(CLOCK_REALTIME);
}

static void real_pause(void *context, uint64_t ns)
{
    const struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    (void)context;
    (void)nanosleep(&time, NULL);
}

const struct kymo_reporting_system kymo_reporting_real_system = {
    real_monotonic_ns, real_realtime_ns, real_pause, &kymo_deliver_processes, NULL};

/* ---- metadata ---- */

static void close_found(kymo_reporting *a)
{
    if (a->found >= 0)
        close(a->found);
    a->found = -1;
    a->is_finding = 0;
}

void kymo_reporting_find_metadata(kymo_reporting *a)
{
    kymo_err err = KYMO_E_IO;
    a->found = memfd_create("kymo-metadata", MFD_CLOEXEC);
    if (a->found >= 0)
        err = a->system->workers->start(&a->finder, kymo_metadata_find, &a->found, &a->found, 1);
    a->found_by_ns = kymo_reporting_now(a) + KYMO_METADATA_PATIENCE_NS;
    a->is_finding = err == KYMO_OK;
    if (err != KYMO_OK)
        close_found(a);
}

void kymo_reporting_set_labels(kymo_reporting *a)
{
    a->metadata = a->found_metadata;
    kymo_metadata_add(&a->metadata, &a->settings->labels);
}

/* What was found, in full or until now; labels that were given stay. */
static void look_for_metadata(kymo_reporting *a, uint64_t now_ns)
{
    struct kymo_worker_result result;
    if (!a->system->workers->has_ended(&a->finder, &result)) {
        if (now_ns < a->found_by_ns)
            return;
        a->system->workers->stop(&a->finder);
    }
    a->who.has_looked = 1;
    (void)!kymo_metadata_take(a->found, &a->found_metadata);
    kymo_reporting_set_labels(a);
    close_found(a);
}

/* ---- for kymo_launch ---- */

static void tell_server(kymo_reporting *a, uint64_t now_ns)
{
    struct kymo_reporting_counts s;
    kymo_reporting_count(a, &s);
    struct kymo_pull_figures f = {
        .program = a->who.pid,
        .start_realtime_ns = a->who.start_realtime_ns,
        .intervals = s.intervals,
        .empty = s.empty,
        .broken = s.broken,
        .waiting = a->waiting.len,
        .lost_records = s.lost_records,
        .samples = s.samples,
        .handler_ns = s.handler_ns,
    };
    for (uint32_t i = 0; i < a->settings->n_reporters; i++) {
        const struct kymo_deliver_counts *c = &a->delivers[i].counts;
        f.reporters[i] =
            (struct kymo_pull_reporter){c->delivered, c->failures, c->dropped, c->last_ns};
    }
    if (s.reason.code != KYMO_OK)
        snprintf(f.reason, sizeof f.reason, "%s", s.reason.message);
    kymo_pull_round(&a->pull, &f, now_ns);
}

static void round_of(kymo_reporting *a, uint64_t now_ns)
{
    const uint64_t realtime_ns = a->system->realtime_ns(a->system->context);
    kymo_reporting_encode(a);
    if (a->is_finding)
        look_for_metadata(a, now_ns);
    for (uint32_t i = 0; i < a->settings->n_reporters; i++)
        if (!a->is_finding || !a->settings->reporters[i].kind->is_remote)
            kymo_deliver_round(&a->delivers[i], now_ns, realtime_ns);
    if (a->pull.page)
        tell_server(a, now_ns);
}

static void on_round(void *context, uint64_t now_ns)
{
    round_of(context, now_ns);
}

static uint64_t due_ns(void *context)
{
    kymo_reporting *a = context;
    if (!a->is_scheduled)
        kymo_schedule_start(&a->schedule, a->settings->interval_ns, kymo_reporting_now(a));
    a->is_scheduled = 1;
    return a->schedule.due_ns;
}

static void on_started(void *context, pid_t pid)
{
    kymo_reporting *a = context;
    a->who.pid = pid;
    a->who.start_realtime_ns = a->system->realtime_ns(a->system->context);
    if (kymo_agent_settings_want_metadata(a->settings))
        kymo_reporting_find_metadata(a);
    (void)due_ns(a);
}

static kymo_err on_ended(void *context, const struct kymo_launch_interval *interval, int *next,
                         kymo_error *detail)
{
    kymo_reporting *a = context;
    kymo_schedule_ended(&a->schedule, interval->end_ns);
    a->status.intervals++;
    if (interval->missed.code != KYMO_OK) {
        a->status.broken++;
        a->status.reason = interval->missed;
        kymo_warn("interval %llu breaks off: %s", (unsigned long long)a->status.intervals,
                  interval->missed.message);
    }
    kymo_err err = kymo_reporting_take(a, interval);
    round_of(a, interval->end_ns);
    if (!next)
        return err;
    *next = kymo_reporting_open_file(a, detail);
    return *next >= 0 ? KYMO_OK : KYMO_E_IO;
}

static void on_flush(void *context)
{
    kymo_reporting_flush_now(context);
}

static kymo_err on_set(void *context, const char *text, kymo_launch_change *change,
                       void *change_context, kymo_error *detail)
{
    return kymo_reporting_set(context, text, change, change_context, detail);
}

static void write_server(const kymo_reporting *a, kymo_json *json)
{
    if (!a->pull.page)
        return;
    kymo_json_key_object(json, "server");
    kymo_json_key_cstr(json, "listen", a->pull.name);
    kymo_json_key_u64(json, "starts", a->pull.starts);
    kymo_json_key_bool(json, "busy", (int)kymo_load_relaxed(&a->pull.page->is_busy));
    kymo_json_end_object(json);
}

static void on_status(void *context, kymo_json *json)
{
    const kymo_reporting *a = context;
    kymo_json_key_object(json, "agent");
    kymo_json_key_cstr(json, "version", KYMO_VERSION);
    kymo_json_key_time(json, "program_start", a->who.start_realtime_ns);
    write_server(a, json);
    kymo_agent_status_write(&a->status, a->settings, json);
    kymo_json_key_u64(json, "waiting", a->waiting.len);
    kymo_json_key_u64(json, "samples", a->status.samples);
    kymo_json_key_u64(json, "handler_ns", a->status.handler_ns);
    kymo_json_key_array(json, "reporters");
    for (uint32_t i = 0; i < a->settings->n_reporters; i++)
        kymo_agent_status_write_reporter(&a->delivers[i], json);
    kymo_json_end_array(json);
    kymo_json_end_object(json);
}

/* ---- from begin to end ---- */

kymo_err kymo_reporting_create(const struct kymo_agent_settings *settings, char *const *argv,
                               const struct kymo_reporting_system *system, kymo_reporting **out,
                               kymo_error *detail)
{
    kymo_reporting *a = calloc(1, sizeof *a);
    if (!a)
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for the agent");
    a->settings = settings;
    a->system = system;
    a->names = -1;
    a->split = -1;
    a->found = -1;
    a->metadata = settings->labels;
    a->for_launch = (struct kymo_launch_intervals){
        .due_ns = due_ns,
        .ended = on_ended,
        .round = on_round,
        .started = on_started,
        .flush = on_flush,
        .status = on_status,
        .set = on_set,
        .context = a,
    };
    kymo_err err =
        kymo_pull_open(&a->pull, settings, argv, system->workers, kymo_reporting_now(a), detail);
    if (err != KYMO_OK) {
        free(a);
        return err;
    }
    const char *slash = strrchr(argv[0], '/');
    if (gethostname(a->host, sizeof a->host - 1) != 0)
        strcpy(a->host, "localhost");
    a->who = (struct kymo_agent_identity){
        .program = slash ? slash + 1 : argv[0], .host = a->host, .metadata = &a->metadata};
    for (uint32_t i = 0; i < settings->n_reporters; i++)
        kymo_deliver_init(&a->delivers[i], &settings->reporters[i], system->workers,
                          settings->spool_bytes);
    *out = a;
    return KYMO_OK;
}

void kymo_reporting_destroy(kymo_reporting *a)
{
    if (!a)
        return;
    kymo_reporting_stop_encoding(a);
    if (a->is_finding)
        a->system->workers->stop(&a->finder);
    close_found(a);
    for (uint32_t i = 0; i < a->settings->n_reporters; i++)
        kymo_deliver_deinit(&a->delivers[i]);
    kymo_pull_close(&a->pull);
    free(a->changed);
    free(a);
}

const struct kymo_launch_intervals *kymo_reporting_intervals(const kymo_reporting *a)
{
    return &a->for_launch;
}

static int is_done(kymo_reporting *a)
{
    int done = kymo_pull_end(&a->pull) && a->waiting.len == 0;
    for (uint32_t i = 0; i < a->settings->n_reporters; i++)
        done = done && kymo_deliver_is_done(&a->delivers[i]);
    return done;
}

void kymo_reporting_flush_now(kymo_reporting *a)
{
    a->schedule.due_ns = 0;
}

int kymo_reporting_finish(kymo_reporting *a, uint64_t deadline_ns)
{
    uint64_t now_ns = kymo_reporting_now(a);
    const uint64_t end_ns = now_ns + deadline_ns;
    for (uint32_t i = 0; i < a->settings->n_reporters; i++)
        kymo_deliver_hurry(&a->delivers[i]);
    round_of(a, now_ns);
    while (!is_done(a) && now_ns < end_ns) {
        a->system->pause(a->system->context, LOOK_NS);
        now_ns = kymo_reporting_now(a);
        round_of(a, now_ns);
    }
    return is_done(a);
}

const char *kymo_reporting_listens_at(const kymo_reporting *a)
{
    return a->pull.page ? a->pull.name : NULL;
}

void kymo_reporting_count(const kymo_reporting *a, struct kymo_reporting_counts *status)
{
    *status = a->status;
    status->delivered = a->retired.delivered;
    status->failures = a->retired.failures;
    status->dropped = a->retired.dropped;
    status->last_delivery_ns = a->retired.last_delivery_ns;
    for (uint32_t i = 0; i < a->settings->n_reporters; i++) {
        const struct kymo_deliver_counts *counts = &a->delivers[i].counts;
        status->delivered += counts->delivered;
        status->failures += counts->failures;
        status->dropped += counts->dropped;
        if (counts->last_ns > status->last_delivery_ns)
            status->last_delivery_ns = counts->last_ns;
        if (counts->reason.code != KYMO_OK)
            status->reason = counts->reason;
    }
}
