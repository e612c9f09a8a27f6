/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.c - see kymo/agent.h.
 *
 *   settings -> spawn -> OPENED {socket} -> begin.h, by that socket -> FLUSH, STATUS, STOP -> ENDED
 */
#include "kymo/agent.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "buffer/agent_link.h"
#include "buffer/agent_report.h"
#include "capture/connect.h"
#include "capture/family.h"
#include "capture/fork_child.h"
#include "capture/state.h"
#include "kymo/marker_abi.h"
#include "start/begin.h"
#include "start/reports.h"
#include "start/spawn.h"
#include "sys/clock.h"
#include "sys/raw.h"

#define STATUS_PATIENCE_NS 1000000000ull
#define ATTACH_PATIENCE_SECONDS 10
#define SETTINGS_MAX KYMO_AGENT_LINK_SETTINGS_MAX

extern char **environ;

struct kymo_agent_client {
    int link;
    uint32_t pid;       /* of the process that started it; its forked children have a copy */
    uint32_t recording; /* of this process, the number of starts until then */
    struct kymo_reports *reports; /* NULL: there is no callback for them */
    kymo_agent_state state;
    int is_told;       /* on_end was called */
    int is_incomplete; /* the last profiles were not delivered in time */
    void (*on_end)(void *data, const kymo_agent_status *status);
    void *data;
    kymo_agent_status status;
    kymo_error answer; /* to the last change of settings; code KYMO_OK: they are in force */
};

/* The process in which a thread begins or ends a recording; 0, or in a forked child another one:
 * none does. */
static uint32_t busy;
static uint32_t recordings; /* that were begun; written while busy */

/* ---- one recording at a time ---- */

static int try_lock(void)
{
    const uint32_t pid = kymo_raw_getpid();
    uint32_t holder = kymo_load_relaxed(&busy);
    return holder != pid && kymo_cas_acq_rel(&busy, &holder, pid);
}

static void unlock(void)
{
    kymo_store_release(&busy, 0u);
}

/* The recording that this agent made is over: nothing of it stays in this process. Another one may
 * have been begun meanwhile. */
static void end_recording(const kymo_agent *a)
{
    while (!try_lock())
        kymo_raw_wait_a_little();
    if (a->recording == recordings)
        (void)kymo_end();
    unlock();
}

static int is_ours(const kymo_agent *a)
{
    return a->pid == kymo_raw_getpid();
}

/* ---- the link ---- */

static int say(int link, enum kymo_agent_link_what what, uint64_t number)
{
    const struct kymo_agent_link_message m = {
        .magic = KYMO_AGENT_LINK_MAGIC, .what = what, .number = number};
    return send(link, &m, sizeof m, MSG_NOSIGNAL) == (ssize_t)sizeof m;
}

static void take_counts(kymo_agent *a, const struct kymo_agent_link_message *m)
{
    const struct kymo_agent_link_counts *c = &m->counts;
    kymo_agent_status *s = &a->status;
    s->intervals = c->intervals;
    s->empty = c->empty;
    s->broken = c->broken;
    s->lost_records = c->lost_records;
    s->delivered = c->delivered;
    s->failures = c->failures;
    s->dropped = c->dropped;
    s->last_delivery_ns = c->last_delivery_ns;
    s->agent_cpu_ns = c->agent_cpu_ns;
    if (m->what != KYMO_AGENT_LINK_CHANGED)
        memcpy(s->reason, m->text, sizeof s->reason);
}

static void set_ended(kymo_agent *a, kymo_agent_state state, const char *reason)
{
    a->state = a->status.state = state;
    end_recording(a);
    if (reason)
        snprintf(a->status.reason, sizeof a->status.reason, "%s", reason);
    if (a->on_end && !a->is_told) {
        a->is_told = 1;
        a->on_end(a->data, &a->status);
    }
}

/* Takes messages until one of this kind, or the end. Returns whether it came. */
static int take(kymo_agent *a, enum kymo_agent_link_what what, uint64_t until_ns)
{
    struct kymo_agent_link_message m;
    while (a->state == KYMO_AGENT_RUNNING || a->state == KYMO_AGENT_STOPPING) {
        int heard = kymo_spawn_hear(a->link, &m, until_ns);
        if (heard == 0)
            return 0;
        if (heard < 0) {
            set_ended(a, KYMO_AGENT_FAILED, "the agent's process has ended");
            return 0;
        }
        take_counts(a, &m);
        if (m.what == KYMO_AGENT_LINK_CHANGED)
            (void)kymo_error_set(&a->answer, (kymo_err)m.error, 0, "%s", m.text);
        if (m.what == KYMO_AGENT_LINK_ENDED)
            a->is_incomplete = m.error == KYMO_E_TIMEOUT;
        if (m.what == KYMO_AGENT_LINK_ENDED)
            set_ended(a,
                      m.error == KYMO_OK || m.error == KYMO_E_TIMEOUT ? KYMO_AGENT_STOPPED
                                                                      : KYMO_AGENT_FAILED,
                      NULL);
        if (m.what == what)
            return 1;
    }
    return 0;
}

/* ---- start ---- */

/* Another library of ours records this process. */
static int is_recorded_by_other(void)
{
    kymo_mark_attach_fn *first;
    Dl_info ours, theirs;
    *(void **)(void *)&first = dlsym(RTLD_DEFAULT, KYMO_MARK_ATTACH);
    if (!first)
        (void)dlerror();
    /* The preload library stands in front of all others, and records where it could. */
    return first && dladdr((void *)(uintptr_t)first, &theirs) &&
           dladdr((void *)(uintptr_t)is_recorded_by_other, &ours) &&
           theirs.dli_fbase != ours.dli_fbase &&
           strstr(theirs.dli_fname, "libkymo-preload") != NULL;
}

static void add(char settings[SETTINGS_MAX], size_t *used, const char *name, const char *value)
{
    *used += (size_t)snprintf(settings + (*used < SETTINGS_MAX ? *used : SETTINGS_MAX - 1),
                              *used < SETTINGS_MAX ? SETTINGS_MAX - *used : 1, ",%s%s%s", name,
                              name[0] ? "=" : "", value);
}

static void add_time(char settings[SETTINGS_MAX], size_t *used, const char *name, uint64_t ns)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64 "ns", ns);
    if (ns)
        add(settings, used, name, text);
}

/* A comma in a reporter's name would begin another setting. */
static kymo_err add_reporters(const kymo_agent_options *o, char settings[SETTINGS_MAX],
                              size_t *used)
{
    for (size_t i = 0; o->reporters && o->reporters[i]; i++) {
        char text[2048];
        size_t n = 0;
        for (const char *c = o->reporters[i]; *c; c++) {
            if (n + 4 > sizeof text)
                return KYMO_E_TOO_BIG;
            if (*c == ',') {
                memcpy(text + n, "%2C", 3);
                n += 3;
            } else {
                text[n++] = *c;
            }
        }
        text[n] = '\0';
        add(settings, used, "reporter", text);
    }
    return KYMO_OK;
}

static kymo_err make_settings(const kymo_agent_options *o, char settings[SETTINGS_MAX],
                              kymo_error *detail)
{
    size_t used = 0;
    settings[0] = '\0';
    add(settings, &used, "", o->settings ? o->settings : "");
    add_time(settings, &used, "report", o->interval_ns);
    add_time(settings, &used, "cpu", o->cpu_period_ns);
    add_time(settings, &used, "wall", o->wall_period_ns);
    kymo_err err = add_reporters(o, settings, &used);
    if (o->report) {
        char socket[16];
        snprintf(socket, sizeof socket, "callback:%d", KYMO_AGENT_REPORT_FD);
        add(settings, &used, "reporter", socket);
        if (o->report_format)
            add(settings, &used, "format", o->report_format);
    }
    if (err != KYMO_OK || used >= SETTINGS_MAX)
        return kymo_error_set(detail, KYMO_E_TOO_BIG, 0, "the agent's settings are too long");
    return KYMO_OK;
}

/* reports: the agent's end of their socket; -1: none. */
static kymo_err spawn(kymo_agent *a, const kymo_agent_options *o, int reports, kymo_error *detail)
{
    char settings[SETTINGS_MAX];
    char found[PATH_MAX];
    const char *kymo = o->kymo;
    KYMO_TRY(make_settings(o, settings, detail));
    if (!kymo && kymo_spawn_find((void *)(uintptr_t)kymo_agent_start, found) != KYMO_OK)
        return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0,
                              "the program kymo is not beside libkymo.so: options.kymo names it");
    return kymo_spawn_agent(kymo ? kymo : found, settings, environ, reports, &a->link, detail);
}

static kymo_err begin(kymo_agent *a, kymo_error *detail)
{
    char name[KYMO_ATTACH_NAME_MAX + 1];
    KYMO_TRY(kymo_spawn_await(a->link, name, detail));
    const struct kymo_attach_call call = {name, KYMO_ATTACH_LATE, (int32_t)getppid(),
                                          ATTACH_PATIENCE_SECONDS, NULL};
    kymo_family_name(name);
    const char *why = kymo_begin(&call);
    return why ? kymo_error_set(detail, KYMO_E_SYSTEM, 0, "%s", why) : KYMO_OK;
}

static kymo_err start(kymo_agent *a, const kymo_agent_options *o, kymo_error *detail)
{
    int reports = -1;
    if (o->report)
        KYMO_TRY(kymo_reports_create(o->report, o->data, &a->reports, &reports, detail));
    kymo_err err = spawn(a, o, reports, detail);
    if (reports >= 0)
        close(reports);
    if (err == KYMO_OK) {
        err = begin(a, detail);
        if (err != KYMO_OK)
            close(a->link);
    }
    if (err != KYMO_OK)
        kymo_reports_end(a->reports, UINT64_MAX);
    return err;
}

/* An earlier recording is taken away, if it has ended; else why not. */
static kymo_err make_room(kymo_error *detail)
{
    if (is_recorded_by_other())
        return kymo_error_set(detail, KYMO_E_EXISTS, 0, "this process is recorded already");
    if (!kymo_has_begun())
        return KYMO_OK;
    /* A forked child that is recorded by its parent's agent, or may be. */
    kymo_fork_attach_now();
    if (kymo_attach_is_reachable(kymo_family.attach_name))
        return kymo_error_set(detail, KYMO_E_EXISTS, 0, "an agent records this process already");
    (void)kymo_end();
    if (kymo_has_begun())
        return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0,
                              "this process has set a seccomp filter since it was recorded: what "
                              "is left of that cannot be taken away");
    return KYMO_OK;
}

kymo_err kymo_agent_start(const kymo_agent_options *given, kymo_agent **out, kymo_error *detail)
{
    kymo_agent_options options = {.size = 0};
    /* A program may be of an earlier version, whose structure ends before. */
    if (!given || given->size < offsetof(kymo_agent_options, report))
        return kymo_error_set(detail, KYMO_E_INVALID, 0,
                              "options.size is not that of the structure");
    memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
    if (!try_lock())
        return kymo_error_set(detail, KYMO_E_EXISTS, 0,
                              "another thread starts an agent, or stops one");
    kymo_err err = make_room(detail);
    kymo_agent *a = err == KYMO_OK ? calloc(1, sizeof *a) : NULL;
    if (err == KYMO_OK)
        err = a ? start(a, &options, detail)
                : kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for the agent");
    if (err == KYMO_OK)
        a->recording = ++recordings;
    unlock();
    if (err != KYMO_OK) {
        free(a);
        return err;
    }
    a->pid = kymo_raw_getpid();
    a->state = a->status.state = KYMO_AGENT_RUNNING;
    a->on_end = options.on_end;
    a->data = options.data;
    *out = a;
    return KYMO_OK;
}

/* ---- while it runs ---- */

kymo_err kymo_agent_flush(kymo_agent *a)
{
    if (a->state != KYMO_AGENT_RUNNING || !is_ours(a))
        return KYMO_E_CLOSED;
    return say(a->link, KYMO_AGENT_LINK_FLUSH, 0) ? KYMO_OK : KYMO_E_CLOSED;
}

kymo_err kymo_agent_get_status(kymo_agent *a, kymo_agent_status *status)
{
    kymo_err err = KYMO_OK;
    if (status->size < sizeof *status)
        return KYMO_E_INVALID;
    if (!is_ours(a))
        return KYMO_E_CLOSED;
    if (a->state == KYMO_AGENT_RUNNING || a->state == KYMO_AGENT_STOPPING) {
        (void)say(a->link, KYMO_AGENT_LINK_STATUS, 0);
        int came =
            take(a, KYMO_AGENT_LINK_STATUS, kymo_clock_ns(CLOCK_MONOTONIC) + STATUS_PATIENCE_NS);
        err = came ? KYMO_OK : a->state == KYMO_AGENT_FAILED ? KYMO_E_CLOSED : KYMO_E_TIMEOUT;
    }
    *status = a->status;
    status->size = sizeof *status;
    return a->state == KYMO_AGENT_FAILED    ? KYMO_E_CLOSED
           : a->state == KYMO_AGENT_STOPPED ? KYMO_OK
                                            : err;
}

int kymo_agent_fd(const kymo_agent *a)
{
    return a->link;
}

kymo_agent_state kymo_agent_dispatch(kymo_agent *a)
{
    while (is_ours(a) && take(a, KYMO_AGENT_LINK_STATUS, 0))
        ;
    return a->state;
}

kymo_err kymo_agent_reconfigure(kymo_agent *a, const char *settings, kymo_error *detail)
{
    struct {
        struct kymo_agent_link_message head;
        char settings[KYMO_AGENT_LINK_SETTINGS_MAX];
    } m = {.head = {.magic = KYMO_AGENT_LINK_MAGIC, .what = KYMO_AGENT_LINK_CHANGE}};
    const size_t len = strlen(settings);
    if (len >= sizeof m.settings)
        return kymo_error_set(detail, KYMO_E_TOO_BIG, 0, "the agent's settings are too long");
    if (a->state != KYMO_AGENT_RUNNING || !is_ours(a))
        return kymo_error_set(detail, KYMO_E_CLOSED, 0, "the agent does not run");
    memcpy(m.settings, settings, len);
    const size_t size = sizeof m.head + len + 1;
    if (send(a->link, &m, size, MSG_NOSIGNAL) == (ssize_t)size &&
        take(a, KYMO_AGENT_LINK_CHANGED, kymo_clock_ns(CLOCK_MONOTONIC) + STATUS_PATIENCE_NS))
        return a->answer.code == KYMO_OK
                   ? KYMO_OK
                   : kymo_error_set(detail, a->answer.code, 0, "%s", a->answer.message);
    return a->state == KYMO_AGENT_RUNNING
               ? kymo_error_set(detail, KYMO_E_TIMEOUT, 0, "the agent does not answer")
               : kymo_error_set(detail, KYMO_E_CLOSED, 0, "the agent does not run");
}

/* ---- end ---- */

kymo_err kymo_agent_stop_begin(kymo_agent *a, uint64_t deadline_ns)
{
    if (!is_ours(a))
        return KYMO_E_CLOSED;
    if (a->state != KYMO_AGENT_RUNNING)
        return a->state == KYMO_AGENT_FAILED ? KYMO_E_CLOSED : KYMO_OK;
    if (!say(a->link, KYMO_AGENT_LINK_STOP, deadline_ns))
        return KYMO_E_CLOSED;
    a->state = a->status.state = KYMO_AGENT_STOPPING;
    return KYMO_OK;
}

kymo_err kymo_agent_stop(kymo_agent *a, uint64_t deadline_ns, kymo_agent_status *status)
{
    /* The agent itself keeps to the deadline, and then says how it ended. */
    const uint64_t until_ns = kymo_clock_ns(CLOCK_MONOTONIC) + deadline_ns + STATUS_PATIENCE_NS;
    kymo_err err = kymo_agent_stop_begin(a, deadline_ns);
    if (err == KYMO_OK)
        (void)take(a, KYMO_AGENT_LINK_ENDED, until_ns);
    if (err == KYMO_OK && a->state != KYMO_AGENT_STOPPED)
        err = a->state == KYMO_AGENT_FAILED ? KYMO_E_CLOSED : KYMO_E_TIMEOUT;
    if (err == KYMO_OK && a->is_incomplete)
        err = KYMO_E_TIMEOUT;
    if (status) {
        *status = a->status;
        status->size = sizeof *status;
    }
    if (is_ours(a)) {
        end_recording(a);
        kymo_reports_end(a->reports, until_ns);
        a->reports = NULL;
    }
    kymo_agent_detach(a);
    return err;
}

void kymo_agent_detach(kymo_agent *a)
{
    if (!a)
        return;
    if (is_ours(a))
        kymo_reports_let_go(a->reports);
    else
        kymo_reports_forget(a->reports);
    close(a->link);
    free(a);
}
