/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.c - see agent.h.
 *
 *   ended ──► encoding (one at a time, oldest first) ──► a delivery for each reporter
 *
 * Encoding is a worker's: reading the interval, names, formats. It may take longer than an interval
 * on a loaded machine; then intervals queue up, and above INTERVALS_MAX the oldest is dropped.
 */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent_status.h"
#include "agent/change.h"
#include "agent/interval.h"
#include "agent/metadata_find.h"
#include "agent/pull.h"
#include "agent/schedule.h"
#include "agent/split.h"
#include "base/atomic.h"
#include "base/log.h"
#include "base/vec.h"
#include "kymo/encode.h"
#include "symbolize/names_file.h"
#include "sys/clock.h"

#define INTERVALS_MAX 8u
/* Names of more code than this are looked up anew. */
#define NAMES_BYTES_MAX (16u << 20)
#define LOOK_NS 2000000u

struct interval {
    struct kymo_launch_interval of;
    uint64_t number;
};

/* Of an interval that is encoded: a file of one process. */
struct part {
    struct kymo_split_part of;
    int fd;
};

struct kymo_agent {
    const struct kymo_agent_settings *settings;
    const struct kymo_agent_system *system;
    struct kymo_launch_intervals for_launch;
    struct kymo_agent_identity who;
    char host[256];
    struct kymo_metadata metadata;
    struct kymo_metadata found_metadata; /* the same without labels */
    struct kymo_agent_change *changed;   /* its settings are in force; NULL: those of the start */
    struct kymo_agent_counts retired;    /* of reporters that were replaced */
    struct kymo_worker finder;           /* of metadata */
    int is_finding;                      /* profiles for the network wait for it */
    int found;                           /* its file; -1: none */
    uint64_t found_by_ns;                /* what it has found by then is what there is */
    struct kymo_schedule schedule;
    int is_scheduled;
    int names;                         /* -1: none */
    KYMO_VEC(struct interval) waiting; /* to be encoded; the first one may be under way */
    struct kymo_worker encoder;
    int is_encoding;
    struct kymo_interval_work work;
    int split; /* the encoder's socket; -1: none */
    KYMO_VEC(struct part) parts;
    uint64_t names_before; /* bytes, when the encoder started */
    struct kymo_deliver delivers[KYMO_AGENT_REPORTERS];
    struct kymo_pull pull;
    struct kymo_agent_counts status;
};

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

const struct kymo_agent_system kymo_agent_real_system = {real_monotonic_ns, real_realtime_ns,
                                                         real_pause, &kymo_deliver_processes, NULL};

static uint64_t monotonic_ns(const kymo_agent *a)
{
    return a->system->monotonic_ns(a->system->context);
}

/* ---- files without a name: nothing is left of them, however we end ---- */

static int open_unnamed(const char *folder)
{
    char path[KYMO_AGENT_SPOOL_MAX + 32];
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    snprintf(path, sizeof path, "%s/kymo-XXXXXX", folder);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

int kymo_agent_open_file(const kymo_agent *a, kymo_error *detail)
{
    const char *folder = a->settings->spool[0] ? a->settings->spool : secure_getenv("TMPDIR");
    if (!folder || !folder[0])
        folder = "/tmp";
    int fd = open_unnamed(folder);
    /* Where nothing can be written, memory is what is left. */
    if (fd < 0 && !a->settings->spool[0])
        fd = memfd_create("kymo-interval", MFD_CLOEXEC);
    if (fd < 0)
        (void)kymo_error_set_errno(detail, "%s: no file can be made there", folder);
    return fd;
}

/* ---- metadata ---- */

static void close_found(kymo_agent *a)
{
    if (a->found >= 0)
        close(a->found);
    a->found = -1;
    a->is_finding = 0;
}

static void start_finding(kymo_agent *a)
{
    kymo_err err = KYMO_E_IO;
    a->found = memfd_create("kymo-metadata", MFD_CLOEXEC);
    if (a->found >= 0)
        err = a->system->workers->start(&a->finder, kymo_metadata_find, &a->found, &a->found, 1);
    a->found_by_ns = monotonic_ns(a) + KYMO_METADATA_PATIENCE_NS;
    a->is_finding = err == KYMO_OK;
    if (err != KYMO_OK)
        close_found(a);
}

static void set_labels(kymo_agent *a)
{
    a->metadata = a->found_metadata;
    kymo_metadata_add(&a->metadata, &a->settings->labels);
}

/* What was found, in full or until now; labels that were given stay. */
static void look_for_metadata(kymo_agent *a, uint64_t now_ns)
{
    struct kymo_worker_result result;
    if (!a->system->workers->has_ended(&a->finder, &result)) {
        if (now_ns < a->found_by_ns)
            return;
        a->system->workers->stop(&a->finder);
    }
    a->who.has_looked = 1;
    (void)!kymo_metadata_take(a->found, &a->found_metadata);
    set_labels(a);
    close_found(a);
}

/* ---- profiles of single processes ---- */

static void take_parts(kymo_agent *a)
{
    struct part part;
    while (a->split >= 0 && kymo_split_take(a->split, &part.of, &part.fd))
        if (part.of.file >= a->work.n_files || kymo_vec_push(&a->parts, part) != KYMO_OK)
            close(part.fd);
}

static void close_parts(kymo_agent *a)
{
    while (a->parts.len > 0)
        close(a->parts.data[--a->parts.len].fd);
    if (a->split >= 0)
        close(a->split);
    a->split = -1;
}

static int open_file(void *agent, kymo_error *detail)
{
    return kymo_agent_open_file(agent, detail);
}

/* *worker: the end that the encoder gets. */
static kymo_err open_parts(kymo_agent *a, int *worker, kymo_error *detail)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return kymo_error_set_errno(detail, "no socket for its parts");
    a->split = ends[0];
    *worker = ends[1];
    a->work.split = ends[1];
    a->work.open_file = open_file;
    a->work.context = a;
    return KYMO_OK;
}

/* ---- encoding ---- */

static void open_names(kymo_agent *a)
{
    if (a->names >= 0)
        close(a->names);
    a->names = kymo_agent_open_file(a, NULL);
    if (a->names >= 0 && kymo_names_file_begin(a->names) != KYMO_OK) {
        close(a->names);
        a->names = -1;
    }
}

static uint64_t size_of(int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void close_files(struct kymo_interval_work *work)
{
    for (size_t i = 0; i < work->n_files; i++)
        if (work->files[i].fd >= 0 && work->files[i].fd != work->segment)
            close(work->files[i].fd);
    work->n_files = 0;
}

/* Whether a reporter gets this file. */
static int wants(const struct kymo_reporter *reporter, const struct kymo_interval_file *file)
{
    return strcmp(file->extension, reporter->extension) == 0 &&
           (file->part != KYMO_PART_ALL) == reporter->kind->in_parts;
}

static int has_files_for(const struct kymo_interval_work *work, const struct kymo_reporter *r)
{
    for (size_t i = 0; i < work->n_files; i++)
        if (wants(r, &work->files[i]))
            return 1;
    return 0;
}

static const char *constant_extension(const char *extension)
{
    const kymo_format *format = kymo_format_for_path(extension);
    return format ? format->extension : KYMO_RECORDING_EXTENSION;
}

static kymo_err open_files_for(kymo_agent *a, const struct kymo_reporter *r, kymo_error *detail)
{
    struct kymo_interval_work *work = &a->work;
    const enum kymo_part first = r->kind->in_parts ? KYMO_PART_ALL + 1 : KYMO_PART_ALL;
    const enum kymo_part end = r->kind->in_parts ? KYMO_PART_COUNT : KYMO_PART_ALL + 1;
    /* Settings may be others when the file is delivered. */
    const char *extension = constant_extension(r->extension);
    for (enum kymo_part part = first; part < end; part++) {
        int fd = strcmp(extension, KYMO_RECORDING_EXTENSION) == 0 ? work->segment
                                                                  : kymo_agent_open_file(a, detail);
        if (fd < 0)
            return KYMO_E_IO;
        work->files[work->n_files++] = (struct kymo_interval_file){part, extension, fd};
    }
    return KYMO_OK;
}

static kymo_err open_files(kymo_agent *a, kymo_error *detail)
{
    for (uint32_t i = 0; i < a->settings->n_reporters; i++)
        if (!has_files_for(&a->work, &a->settings->reporters[i]))
            KYMO_TRY(open_files_for(a, &a->settings->reporters[i], detail));
    return KYMO_OK;
}

/* The interval is over for us: nothing, or its profiles, have been handed on. */
static void forget_first(kymo_agent *a)
{
    close(a->waiting.data[0].of.fd);
    a->waiting.len--;
    memmove(a->waiting.data, a->waiting.data + 1, a->waiting.len * sizeof *a->waiting.data);
}

static void interval_failed(kymo_agent *a, const kymo_error *why)
{
    a->status.broken++;
    a->status.reason = *why;
    kymo_warn("interval %llu is lost: %s", (unsigned long long)a->waiting.data[0].number,
              why->message);
}

static void start_encoding(kymo_agent *a)
{
    int fds[KYMO_AGENT_FILES + 3];
    size_t n = 0;
    int worker = -1;
    kymo_error detail = {0};
    if (a->names < 0 || size_of(a->names) > NAMES_BYTES_MAX)
        open_names(a);
    a->names_before = size_of(a->names);
    a->work = (struct kymo_interval_work){.segment = a->waiting.data[0].of.fd,
                                          .names = a->names < 0 ? 0 : a->names,
                                          .is_last = a->waiting.data[0].of.is_last};
    kymo_err err = open_files(a, &detail);
    if (err == KYMO_OK && a->settings->split_processes)
        err = open_parts(a, &worker, &detail);
    if (worker >= 0)
        fds[n++] = worker;
    fds[n++] = a->work.segment;
    if (a->names >= 0)
        fds[n++] = a->names;
    for (size_t i = 0; i < a->work.n_files; i++)
        fds[n++] = a->work.files[i].fd;
    if (err == KYMO_OK) {
        err = a->system->workers->start(&a->encoder, kymo_interval_encode, &a->work, fds, n);
        if (err != KYMO_OK)
            kymo_error_set(&detail, err, 0, "no process to encode it: %s", kymo_err_text(err));
    }
    if (worker >= 0)
        close(worker);
    a->is_encoding = err == KYMO_OK;
    if (err != KYMO_OK) {
        close_parts(a);
        interval_failed(a, &detail);
        close_files(&a->work);
        forget_first(a);
    }
}

/* A file with the same content and a descriptor of its own, which the interval does not close. */
static struct kymo_shared_file *share(const struct kymo_interval_file *file)
{
    int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 3);
    struct kymo_shared_file *shared = fd >= 0 ? kymo_shared_file_create(fd) : NULL;
    if (!shared && fd >= 0)
        close(fd);
    return shared;
}

/* process: of which one it is; NULL: of all. */
static void hand_on_file(kymo_agent *a, const struct interval *interval,
                         const struct kymo_interval_file *from,
                         const struct kymo_split_part *process, uint64_t lost_records)
{
    if (from->part != KYMO_PART_ALL && size_of(from->fd) == 0)
        return;
    struct kymo_shared_file *file = share(from);
    struct kymo_interval_profile profile = {
        .extension = from->extension,
        .part = from->part,
        .end_ns = interval->of.end_realtime_ns,
        .interval_ns = a->settings->interval_ns,
        .number = interval->number,
        .lost_records = lost_records,
        .is_last = interval->of.is_last,
        .who = &a->who,
    };
    /* The clock may have been set meanwhile; the length of an interval is that of CLOCK_MONOTONIC.
     */
    profile.start_ns = profile.end_ns - (interval->of.end_ns - interval->of.start_ns);
    if (file && process) {
        snprintf(file->program, sizeof file->program, "%s", process->name);
        file->who = a->who;
        file->who.program = file->program;
        file->who.pid = process->pid;
        profile.who = &file->who;
    }
    for (uint32_t r = 0; r < a->settings->n_reporters; r++)
        if (wants(&a->settings->reporters[r], from) &&
            (!file || kymo_deliver_put(&a->delivers[r], file, &profile) != KYMO_OK))
            a->delivers[r].counts.dropped++;
    kymo_shared_file_release(file);
}

static void hand_on(kymo_agent *a, const struct interval *interval, uint64_t lost_records)
{
    for (size_t i = 0; i < a->parts.len; i++) {
        const struct part *part = &a->parts.data[i];
        struct kymo_interval_file file = a->work.files[part->of.file];
        file.fd = part->fd;
        hand_on_file(a, interval, &file, &part->of, lost_records);
    }
    for (size_t i = 0; a->split < 0 && i < a->work.n_files; i++)
        hand_on_file(a, interval, &a->work.files[i], NULL, lost_records);
}

static void took_encoding(kymo_agent *a, const struct kymo_worker_result *result)
{
    const struct interval *interval = &a->waiting.data[0];
    const int is_empty = result->figures[KYMO_INTERVAL_IS_EMPTY] != 0;
    a->is_encoding = 0;
    take_parts(a);
    /* Whatever it had written of a name when it failed. */
    if (result->error.code != KYMO_OK && a->names >= 0)
        (void)!ftruncate(a->names, (off_t)a->names_before);
    a->status.lost_records += result->figures[KYMO_INTERVAL_LOST];
    a->status.samples += result->figures[KYMO_INTERVAL_SAMPLES];
    a->status.handler_ns += result->figures[KYMO_INTERVAL_HANDLER_NS];
    if (result->error.code != KYMO_OK)
        interval_failed(a, &result->error);
    else if (is_empty && !interval->of.is_last)
        a->status.empty++;
    else
        hand_on(a, interval, result->figures[KYMO_INTERVAL_LOST]);
    close_parts(a);
    close_files(&a->work);
    forget_first(a);
}

/* ---- for kymo_launch ---- */

static void tell_server(kymo_agent *a, uint64_t now_ns)
{
    struct kymo_agent_counts s;
    kymo_agent_get_status(a, &s);
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

static void round_of(kymo_agent *a, uint64_t now_ns)
{
    struct kymo_worker_result result;
    const uint64_t realtime_ns = a->system->realtime_ns(a->system->context);
    take_parts(a);
    if (a->is_encoding && a->system->workers->has_ended(&a->encoder, &result))
        took_encoding(a, &result);
    if (!a->is_encoding && a->waiting.len > 0)
        start_encoding(a);
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
    kymo_agent *a = context;
    if (!a->is_scheduled)
        kymo_schedule_start(&a->schedule, a->settings->interval_ns, monotonic_ns(a));
    a->is_scheduled = 1;
    return a->schedule.due_ns;
}

static void on_started(void *context, pid_t pid)
{
    kymo_agent *a = context;
    a->who.pid = pid;
    a->who.start_realtime_ns = a->system->realtime_ns(a->system->context);
    if (kymo_agent_settings_want_metadata(a->settings))
        start_finding(a);
    (void)due_ns(a);
}

static void drop_oldest(kymo_agent *a)
{
    static const kymo_error why = {.code = KYMO_E_FULL,
                                   .message = "encoding does not keep up with the intervals"};
    struct interval first = a->waiting.data[0];
    if (!a->is_encoding) {
        interval_failed(a, &why);
        forget_first(a);
        return;
    }
    /* The first one is under way: the second is the oldest that can go. */
    a->waiting.data[0] = a->waiting.data[1];
    interval_failed(a, &why);
    forget_first(a);
    a->waiting.data[0] = first;
}

static kymo_err on_ended(void *context, const struct kymo_launch_interval *interval, int *next,
                         kymo_error *detail)
{
    kymo_agent *a = context;
    kymo_schedule_ended(&a->schedule, interval->end_ns);
    a->status.intervals++;
    if (interval->missed.code != KYMO_OK) {
        a->status.broken++;
        a->status.reason = interval->missed;
        kymo_warn("interval %llu breaks off: %s", (unsigned long long)a->status.intervals,
                  interval->missed.message);
    }
    if (a->waiting.len == INTERVALS_MAX)
        drop_oldest(a);
    kymo_err err = kymo_vec_push(&a->waiting, (struct interval){*interval, a->status.intervals});
    if (err != KYMO_OK)
        close(interval->fd);
    round_of(a, interval->end_ns);
    if (!next)
        return err;
    *next = kymo_agent_open_file(a, detail);
    return *next >= 0 ? KYMO_OK : KYMO_E_IO;
}

static void on_flush(void *context)
{
    kymo_agent_flush_now(context);
}

/* ---- other settings ---- */

static int is_same_reporter(const struct kymo_reporter *a, const struct kymo_reporter *b)
{
    return a->kind == b->kind && strcmp(a->target, b->target) == 0 &&
           strcmp(a->extension, b->extension) == 0;
}

/* Counts go on, and what waits is dropped. */
static void retire(kymo_agent *a, struct kymo_deliver *d)
{
    kymo_deliver_deinit(d);
    a->retired.delivered += d->counts.delivered;
    a->retired.failures += d->counts.failures;
    a->retired.dropped += d->counts.dropped;
    if (d->counts.last_ns > a->retired.last_delivery_ns)
        a->retired.last_delivery_ns = d->counts.last_ns;
}

/* A reporter that stays keeps what waits for it. before: how many there were. */
static void replace_delivers(kymo_agent *a, uint32_t before)
{
    struct kymo_deliver old[KYMO_AGENT_REPORTERS];
    int is_taken[KYMO_AGENT_REPORTERS] = {0};
    memcpy(old, a->delivers, sizeof old);
    for (uint32_t i = 0; i < a->settings->n_reporters; i++) {
        const struct kymo_reporter *r = &a->settings->reporters[i];
        uint32_t j = 0;
        while (j < before && (is_taken[j] || !is_same_reporter(old[j].reporter, r)))
            j++;
        if (j < before) {
            is_taken[j] = 1;
            a->delivers[i] = old[j];
            a->delivers[i].reporter = r;
            a->delivers[i].most_bytes = a->settings->spool_bytes;
        } else {
            kymo_deliver_init(&a->delivers[i], r, a->system->workers, a->settings->spool_bytes);
        }
    }
    for (uint32_t j = 0; j < before; j++)
        if (!is_taken[j])
            retire(a, &old[j]);
}

/* The present interval is as long as the new ones, or ends now. */
static void set_interval(kymo_agent *a, uint64_t before_ns, uint64_t interval_ns)
{
    const uint64_t start_ns = a->schedule.due_ns - before_ns;
    a->schedule.interval_ns = interval_ns;
    if (a->schedule.due_ns)
        a->schedule.due_ns = start_ns + interval_ns;
}

kymo_err kymo_agent_set(kymo_agent *a, const char *text, kymo_launch_change *change,
                        void *change_context, kymo_error *detail)
{
    const uint64_t before_ns = a->settings->interval_ns;
    const uint32_t reporters = a->settings->n_reporters;
    struct kymo_agent_change *c = malloc(sizeof *c);
    if (!c)
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for other settings");
    kymo_err err = kymo_agent_change_plan(c, a->settings, text, detail);
    if (err == KYMO_OK)
        err = change(change_context, &c->recording, detail);
    if (err != KYMO_OK) {
        free(c);
        return err;
    }
    struct kymo_agent_change *before = a->changed;
    a->changed = c;
    a->settings = &c->settings;
    replace_delivers(a, reporters);
    free(before);
    set_interval(a, before_ns, c->settings.interval_ns);
    set_labels(a);
    if (kymo_agent_settings_want_metadata(a->settings) && !a->who.has_looked && !a->is_finding)
        start_finding(a);
    return KYMO_OK;
}

static kymo_err on_set(void *context, const char *text, kymo_launch_change *change,
                       void *change_context, kymo_error *detail)
{
    return kymo_agent_set(context, text, change, change_context, detail);
}

static void write_server(const kymo_agent *a, kymo_json *json)
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
    const kymo_agent *a = context;
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

kymo_err kymo_agent_create(const struct kymo_agent_settings *settings, char *const *argv,
                           const struct kymo_agent_system *system, kymo_agent **out,
                           kymo_error *detail)
{
    kymo_agent *a = calloc(1, sizeof *a);
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
        kymo_pull_open(&a->pull, settings, argv, system->workers, monotonic_ns(a), detail);
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

void kymo_agent_destroy(kymo_agent *a)
{
    if (!a)
        return;
    if (a->is_encoding) {
        a->system->workers->stop(&a->encoder);
        close_files(&a->work);
    }
    close_parts(a);
    kymo_vec_deinit(&a->parts);
    if (a->is_finding)
        a->system->workers->stop(&a->finder);
    close_found(a);
    while (a->waiting.len > 0)
        forget_first(a);
    kymo_vec_deinit(&a->waiting);
    for (uint32_t i = 0; i < a->settings->n_reporters; i++)
        kymo_deliver_deinit(&a->delivers[i]);
    kymo_pull_close(&a->pull);
    if (a->names >= 0)
        close(a->names);
    free(a->changed);
    free(a);
}

const struct kymo_launch_intervals *kymo_agent_intervals(const kymo_agent *a)
{
    return &a->for_launch;
}

static int is_done(kymo_agent *a)
{
    int done = kymo_pull_end(&a->pull) && a->waiting.len == 0;
    for (uint32_t i = 0; i < a->settings->n_reporters; i++)
        done = done && kymo_deliver_is_done(&a->delivers[i]);
    return done;
}

void kymo_agent_flush_now(kymo_agent *a)
{
    a->schedule.due_ns = 0;
}

int kymo_agent_finish(kymo_agent *a, uint64_t deadline_ns)
{
    uint64_t now_ns = monotonic_ns(a);
    const uint64_t end_ns = now_ns + deadline_ns;
    for (uint32_t i = 0; i < a->settings->n_reporters; i++)
        kymo_deliver_hurry(&a->delivers[i]);
    round_of(a, now_ns);
    while (!is_done(a) && now_ns < end_ns) {
        a->system->pause(a->system->context, LOOK_NS);
        now_ns = monotonic_ns(a);
        round_of(a, now_ns);
    }
    return is_done(a);
}

const char *kymo_agent_listens_at(const kymo_agent *a)
{
    return a->pull.page ? a->pull.name : NULL;
}

void kymo_agent_get_status(const kymo_agent *a, struct kymo_agent_counts *status)
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
