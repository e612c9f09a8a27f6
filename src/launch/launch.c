/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - see launch.h.
 *
 *   what to record with, spool, socket, start of the program (launch_start.h)
 *   -> what attaches is recorded, in rounds (tree.h)
 *   -> the program ends -> whatever it started ends -> end of the recording
 *
 * One thread does it all. Signals (the program ended, Ctrl-C) are let in while it waits. The
 * program's end is seen while it is still a zombie, so that its CPU clocks can be read, and it is
 * reaped at once: no process should see a zombie that would not exist without us.
 */
#include "launch/launch.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "launch/launch_signals.h"
#include "launch/launch_start.h"
#include "launch/paths.h"
#include "observe/kernel_stacks.h"
#include "observe/stack_copies.h"
#include "observe/task.h"
#include "observe/watch.h"
#include "recorder/tree.h"
#include "recording/recording.h"
#include "sys/clock.h"

#define RECORDER_PRIORITY (-10)
#define ROUND_NS 20000000u
#define SECOND_INTERRUPT_NS 2000000000ull
#define JOINED_GRACE_NS 5000000000ull
/* Below this, rounding of the kernel's figures and children alike are not worth a line. */
#define CHILDREN_NOTED_NS 1000000u

/* A limit as the recorder was given it, and as the program gets it. */
struct limit {
    struct rlimit given;
    int is_known;
};

struct launch {
    const kymo_launch_options *asked;
    struct kymo_host_config config;
    struct kymo_launch_signals signals;
    struct limit files;     /* how many may be open */
    struct limit file_size; /* a session is a file in memory, and counts */
    int priority;           /* as it was */
    kymo_tree *tree;
    kymo_recording_writer *writer;
    pid_t pid;
    int has_ended;       /* the program, and it was reaped */
    int joined;          /* a pidfd of a process that is not our child; -1: it is */
    struct rusage usage; /* what wait4 said of it and of its children */
    struct kymo_tree_ending ending;
    uint32_t last_image; /* process number of its last image; UINT32_MAX: none */
    uint64_t start_ns;
    struct kymo_interval_start interval; /* the present one; with intervals */
    int spool;                           /* where it is written */
    char reason[KYMO_REASON_MAX];        /* why this engine */
    char lengthened[200];                /* the period, and why; empty: it is as asked for */
    char link[PATH_MAX]; /* to the library, where its own path cannot be preloaded; else empty */
};

/* The recorder takes what it may; nothing where that fails. */
static void raise_limit(unsigned which, struct limit *limit)
{
    limit->is_known = getrlimit(which, &limit->given) == 0;
    if (limit->is_known) {
        struct rlimit all = {limit->given.rlim_max, limit->given.rlim_max};
        (void)setrlimit(which, &all);
    }
}

static void give_limit_back(unsigned which, const struct limit *limit)
{
    if (limit->is_known)
        (void)setrlimit(which, &limit->given);
}

/* ---- what to record with ---- */

/* The period to sample with where this one was asked for: a finer one than samples can be had with
 * for little is lengthened. *cost_ns: of a sample, if it was looked at. */
static uint64_t affordable_ns(const struct launch *l, uint64_t asked_ns, uint64_t *cost_ns)
{
    *cost_ns = 0;
    if (asked_ns >= KYMO_PERIOD_ALWAYS_AFFORDABLE_NS)
        return asked_ns;
    if (l->config.engine == KYMO_SESSION_PERF)
        *cost_ns = kymo_sample_cost_perf_ns(l->config.access);
    else if (l->config.engine == KYMO_SESSION_DISPATCH)
        *cost_ns = kymo_sample_cost_signal_ns();
    return kymo_affordable_period_ns(asked_ns, *cost_ns, l->asked->options->overhead_percent);
}

static void choose_period(struct launch *l)
{
    uint64_t asked_ns = l->asked->options->cpu_period_ns;
    uint64_t cost_ns;
    char asked[32], longer[32], cost[32];
    l->config.period_ns = affordable_ns(l, asked_ns, &cost_ns);
    if (l->config.period_ns == asked_ns)
        return;
    snprintf(
        l->lengthened, sizeof l->lengthened,
        "sampled each %s and not each %s: a sample costs about %s here, and is to take at most "
        "%u %% of the program's CPU time (--overhead=50 allows the most)",
        kymo_format_duration(longer, l->config.period_ns), kymo_format_duration(asked, asked_ns),
        kymo_format_duration(cost, cost_ns), (unsigned)l->asked->options->overhead_percent);
}

/* ---- what `kymo control` asks ---- */

static uint64_t on_affordable(void *context, uint64_t asked_ns)
{
    uint64_t cost_ns;
    return affordable_ns(context, asked_ns, &cost_ns);
}

static void on_flush(void *context)
{
    const struct launch *l = context;
    l->asked->intervals->flush(l->asked->intervals->context);
}

static void on_status(void *context, kymo_json *json)
{
    const struct launch *l = context;
    const struct kymo_launch_intervals *to = l->asked->intervals;
    if (to)
        to->status(to->context, json);
}

static kymo_err change_recording(void *context, const struct kymo_tree_change *change,
                                 kymo_error *detail)
{
    const struct launch *l = context;
    return kymo_tree_change(l->tree, change, detail);
}

static kymo_err on_set(void *context, const char *text, kymo_error *detail)
{
    const struct launch *l = context;
    const struct kymo_launch_intervals *to = l->asked->intervals;
    return to->set(to->context, text, change_recording, context, detail);
}

static void answer_control(struct launch *l)
{
    const struct kymo_tree_owner owner = {
        .flush = l->asked->intervals ? on_flush : NULL,
        .affordable_ns = on_affordable,
        .status = on_status,
        .change = l->asked->intervals ? on_set : NULL,
        .context = l,
    };
    kymo_tree_set_owner(l->tree, &owner);
}

/* Wall time gives running threads the stacks of their handlers; a tracer's samples are rare. */
static int may_copy(const struct launch *l)
{
    const kymo_options *o = l->asked->options;
    return o->copies && !o->wall_period_ns && o->trace == KYMO_TRACE_CHOICE_OFF &&
           !l->asked->intervals;
}

static kymo_err prepare(struct launch *l, kymo_error *detail)
{
    const kymo_options *o = l->asked->options;
    l->config.buffer_bytes = kymo_launch_choose_buffer(o->buffer_bytes, o->alloc_bytes,
                                                       o->trace != KYMO_TRACE_CHOICE_OFF);
    l->config.period_ns = o->cpu_period_ns;
    l->config.alloc_rate = o->alloc_bytes;
    l->config.depth = (uint32_t)o->depth;
    l->config.counters_period_ns = o->counters_period_ns;
    l->config.signal_fixed = o->signal_number != 0;
    l->config.markers = kymo_options_list(o, KYMO_OPTION_MARKERS);
    l->config.signal = o->signal_number ? (int)o->signal_number : SIGURG;
    KYMO_TRY(kymo_launch_choose_engine(o->engine, &l->config, l->reason, detail));
    choose_period(l);
    /* The dispatcher serves the threads that cannot have a perf event. */
    if (l->config.engine != KYMO_SESSION_TIMER && kymo_watch_probe() &&
        kymo_dispatch_create(l->config.period_ns, &l->config.dispatch) != KYMO_OK)
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for the dispatcher");
    l->spool = l->asked->spool;
    if (ftruncate(l->spool, 0) != 0 || lseek(l->spool, 0, SEEK_SET) != 0)
        return kymo_error_set_errno(detail, "cannot write the recording");
    kymo_err err = kymo_recording_writer_create(
        l->spool, l->asked->intervals ? KYMO_RECORDING_INTERVALS : 0, &l->writer);
    if (err == KYMO_OK && o->ring_bytes)
        kymo_recording_keep_newest(l->writer, o->ring_bytes);
    /* For the live heap; where each allocation is recorded, no table of it is kept. */
    if (err == KYMO_OK && (l->config.alloc_rate > 1 || l->asked->intervals))
        kymo_recording_keep_definitions(l->writer);
    if (err == KYMO_OK)
        err = kymo_launch_write_meta(l->writer, l->asked, &l->config, l->reason, &l->start_ns);
    if (err != KYMO_OK)
        return kymo_error_set(detail, err, 0, "writing the recording: %s", kymo_err_text(err));
    /* If the recorder is killed from here on, what it leaves can be read. A full disk is reported
     * at the first flush of the program's records: it runs all the same. */
    (void)!kymo_recording_flush(l->writer);
    l->interval = (struct kymo_interval_start){l->start_ns, kymo_clock_ns(CLOCK_REALTIME)};
    l->config.earliest_ns = l->start_ns;
    l->config.events = &kymo_recording_write_handler;
    l->config.events_context = l->config.writer = l->writer;
    l->config.spool = l->spool;
    l->config.flags |= o->children ? KYMO_SESSION_CHILDREN : 0;
    l->config.flags |= o->trace == KYMO_TRACE_CHOICE_PYTHON ? KYMO_SESSION_TRACE_PYTHON : 0;
    if (l->config.engine == KYMO_SESSION_PERF && l->config.access == KYMO_PERF_KERNEL) {
        err = kymo_kernel_stacks_create(l->config.events, l->config.events_context,
                                        l->config.period_ns, &l->config.kernel_stacks);
        if (err != KYMO_OK)
            return kymo_error_set(detail, err, 0, "no memory for the kernel's stacks");
        l->config.flags |= may_copy(l) ? KYMO_SESSION_COPIES : 0;
    }
    if (!l->asked->intervals && kymo_launch_can_watch(o) &&
        kymo_copy_budget_create(&l->config.copies) != KYMO_OK)
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for copies of stacks");
    if (o->wall_period_ns) {
        l->config.flags |= KYMO_SESSION_WALL;
        if (kymo_wall_shared_create(o->wall_period_ns, l->config.events, l->writer,
                                    &l->config.wall) != KYMO_OK)
            return kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for wall time");
    }
    KYMO_TRY(kymo_tree_create(&l->config, &l->tree, detail));
    answer_control(l);
    return KYMO_OK;
}

/* ---- the program ---- */

/* The program begins as if it had been started without us. */
static void restore_for_program(const void *context)
{
    const struct launch *l = context;
    kymo_launch_signals_give_back(&l->signals);
    give_limit_back(RLIMIT_FSIZE, &l->file_size);
}

static kymo_err start_program(struct launch *l, kymo_error *detail)
{
    const struct kymo_launch_join *join = l->asked->join;
    if (join) {
        l->pid = join->pid;
        l->joined = (int)syscall(SYS_pidfd_open, join->pid, 0);
        kymo_tree_set_program(l->tree, l->pid, l->start_ns);
        kymo_tree_watch_program(l->tree);
        return l->joined < 0 ? kymo_error_set_errno(detail, "process %d", (int)join->pid)
                             : join->opened(join->context, kymo_tree_socket(l->tree), detail);
    }
    if (l->asked->running) {
        l->pid = l->asked->running;
        l->joined = (int)syscall(SYS_pidfd_open, l->pid, 0);
        kymo_tree_set_program(l->tree, l->pid, l->start_ns);
        kymo_tree_watch_program(l->tree);
        return l->joined < 0 ? kymo_error_set_errno(detail, "process %d", (int)l->pid) : KYMO_OK;
    }
    struct kymo_launch_program program = {
        .argv = l->asked->argv,
        .preload = l->asked->outside ? NULL
                   : l->link[0]      ? l->link
                                     : l->asked->preload_path,
        .socket = kymo_tree_socket(l->tree),
        .traces_python = !l->asked->outside && l->asked->options->trace == KYMO_TRACE_CHOICE_PYTHON,
        .restore = restore_for_program,
        .context = l,
    };
    /* Nothing takes samples until it is opened, which is then to be quick. */
    if (l->asked->outside && kymo_kernel_stacks_need_names(l->config.kernel_stacks) != KYMO_OK)
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for the kernel's names");
    return kymo_launch_start_program(&program, &l->pid, detail);
}

static kymo_err note(const struct launch *l, kymo_event_severity severity, const char *text)
{
    kymo_event_note e = {kymo_clock_ns(CLOCK_MONOTONIC), 0, severity, text};
    return kymo_recording_write_note(l->writer, &e);
}

/* What the recorder learns of the program's threads, and most engines need, is there. */
static kymo_err tell_blindness(const struct launch *l)
{
    if (access("/proc/self/task", X_OK) == 0)
        return KYMO_OK;
    return note(l, KYMO_NOTE_WARNING,
                "/proc is not mounted: threads are sampled at the kernel tick, and processes "
                "that the program starts may be missing");
}

/* Who joined, or ran already, has signals of its own: those of its service's end come to both. */
static void forward(const struct launch *l)
{
    if (!l->has_ended && l->joined < 0)
        kymo_launch_forward(l->pid);
}

static uint64_t in_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

/* Reaps the program if it has ended: first its own clocks are read, which are gone with it. block:
 * waits for it. */
static kymo_err reap(struct launch *l, int block)
{
    siginfo_t info = {0};
    int how = block ? 0 : WNOHANG;
    int gone;
    do {
        forward(l);
        gone = waitid(P_PID, (id_t)l->pid, &info, WEXITED | WNOWAIT | how);
    } while (gone < 0 && errno == EINTR);
    if (gone == 0 && info.si_pid != l->pid)
        return KYMO_OK;
    uint64_t system_ns = 0;
    l->ending.end_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    if (kymo_task_process_cpu_ns(l->pid, &l->ending.user_ns, &system_ns))
        l->ending.cpu_ns = l->ending.user_ns + system_ns;
    (void)kymo_task_cpu_ns(l->pid, l->pid, &l->ending.main_cpu_ns);
    while (wait4(l->pid, &l->ending.wait_status, 0, &l->usage) < 0 && errno == EINTR)
        ;
    l->has_ended = 1;
    if (l->ending.cpu_ns == 0) {
        l->ending.user_ns = in_ns(l->usage.ru_utime);
        l->ending.cpu_ns = l->ending.user_ns + in_ns(l->usage.ru_stime);
    }
    return kymo_tree_ended(l->tree, l->pid, &l->ending, &l->last_image);
}

/* Says that the program has ended, and its processes have not. */
static void say_it_goes_on(const struct launch *l)
{
    const char *name = strrchr(l->asked->argv[0], '/');
    if (!l->asked->quiet)
        kymo_fprint(stderr,
                    "kymo: %s has ended; %u of its processes run on (Ctrl-C stops waiting)\n",
                    name ? name + 1 : l->asked->argv[0], kymo_tree_alive(l->tree));
}

/* What Ctrl-C, typed twice, or duration= end; and once the program has ended, Ctrl-C typed once or
 * a signal that would have been the program's. */
struct stop {
    uint64_t end_ns;
    uint64_t first_ns;
    unsigned seen;
};

/* A process that joined is ended by the same signal, when its service is: its last moments are
 * waited for, but not for ever, if the signal was for us alone. */
static int shall_stop_joined(struct launch *l, struct stop *s, uint64_t now_ns)
{
    if (kymo_launch_shall_end() && s->first_ns == 0)
        s->first_ns = now_ns;
    return l->asked->join->shall_stop(l->asked->join->context, change_recording, l) ||
           (s->first_ns && now_ns - s->first_ns > JOINED_GRACE_NS);
}

static int shall_stop(struct launch *l, struct stop *s, uint64_t now_ns)
{
    if (l->asked->join)
        return shall_stop_joined(l, s, now_ns);
    /* Signals are for us alone. */
    if (l->asked->running)
        return now_ns >= s->end_ns || kymo_launch_interrupts() || kymo_launch_shall_end();
    if (kymo_launch_interrupts() != s->seen) {
        if (l->has_ended || (s->seen && now_ns - s->first_ns < SECOND_INTERRUPT_NS))
            return 1;
        s->seen = kymo_launch_interrupts();
        s->first_ns = now_ns;
    }
    return now_ns >= s->end_ns || (l->has_ended && kymo_launch_shall_end());
}

/* A process that joined is reaped by its parent; the tree sees its end. */
static void look_at_joined(struct launch *l)
{
    struct pollfd end = {l->joined, POLLIN, 0};
    l->has_ended = poll(&end, 1, 0) == 1;
    if (l->has_ended) {
        l->ending.end_ns = kymo_clock_ns(CLOCK_MONOTONIC);
        l->last_image = 0;
    }
}

/* Ctrl-C before the program's end was meant for the program. */
static kymo_err reap_and_forgive(struct launch *l, struct stop *stop)
{
    KYMO_TRY(reap(l, 0));
    if (l->has_ended)
        stop->seen = kymo_launch_interrupts();
    return KYMO_OK;
}

/* Ends the present interval and begins the next one, unless it is the last. */
static kymo_err end_interval(struct launch *l, uint32_t has_ended, int is_last, kymo_error *detail)
{
    const struct kymo_launch_intervals *to = l->asked->intervals;
    const struct kymo_interval_start next = {kymo_clock_ns(CLOCK_MONOTONIC),
                                             kymo_clock_ns(CLOCK_REALTIME)};
    const kymo_event_end end = {next.start_ns, has_ended};
    struct kymo_launch_interval interval = {
        .fd = l->spool,
        .start_ns = l->interval.start_ns,
        .end_ns = next.start_ns,
        .start_realtime_ns = l->interval.start_realtime_ns,
        .end_realtime_ns = next.start_realtime_ns,
        .is_last = is_last,
    };
    KYMO_TRY(kymo_recording_write_end(l->writer, &end));
    kymo_tree_keep_interval(l->tree, kymo_recording_end_at(l->writer), next.start_ns);
    (void)kymo_recording_missed(l->writer, &interval.missed);
    l->spool = -1;
    kymo_tree_set_spool(l->tree, -1);
    KYMO_TRY(to->ended(to->context, &interval, is_last ? NULL : &l->spool, detail));
    if (is_last)
        return KYMO_OK;
    l->interval = next;
    kymo_tree_set_spool(l->tree, l->spool);
    return kymo_recording_begin_interval(l->writer, l->spool, &next);
}

static kymo_err look_at_interval(struct launch *l, uint64_t now_ns)
{
    const struct kymo_launch_intervals *to = l->asked->intervals;
    kymo_error detail = {0};
    to->round(to->context, now_ns);
    if (now_ns < to->due_ns(to->context))
        return KYMO_OK;
    kymo_err err = kymo_tree_end_interval(l->tree);
    if (err == KYMO_OK)
        err = end_interval(l, 0, 0, &detail);
    if (err != KYMO_OK && detail.code == err)
        kymo_fprint(stderr, "kymo: %s\n", detail.message);
    return err;
}

/* Rounds until the program and all that it started have ended, or the recording shall. */
static kymo_err record(struct launch *l)
{
    uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    uint64_t round_ns = now_ns + ROUND_NS;
    struct stop stop = {.end_ns = UINT64_MAX};
    int said = 0;
    if (l->asked->options->duration_ns)
        stop.end_ns = now_ns + l->asked->options->duration_ns;
    while (!shall_stop(l, &stop, now_ns)) {
        forward(l);
        /* Others are the recorder's own (file_answer.h). */
        if (kymo_launch_child_has_changed() && !l->has_ended && l->joined < 0)
            KYMO_TRY(reap_and_forgive(l, &stop));
        if (!l->has_ended && l->joined >= 0)
            look_at_joined(l);
        if (l->has_ended && kymo_tree_alive(l->tree) == 0)
            KYMO_TRY(kymo_tree_look_for_more(l->tree));
        if (l->has_ended && kymo_tree_alive(l->tree) == 0)
            break;
        if (l->has_ended && !said && l->joined < 0) {
            said = 1;
            say_it_goes_on(l);
        }
        int ticks = l->config.wall && !kymo_tree_is_paused(l->tree);
        uint64_t tick_ns = ticks ? kymo_wall_next_ns(l->config.wall) : UINT64_MAX;
        /* One wake-up serves both where they are close to each other. */
        if (tick_ns >= round_ns && tick_ns - round_ns < ROUND_NS / 2)
            round_ns = tick_ns;
        KYMO_TRY(
            kymo_tree_wait(l->tree, tick_ns < round_ns ? tick_ns : round_ns, &l->signals.waiting));
        kymo_recording_hurry(l->writer, kymo_tree_is_behind(l->tree));
        now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
        ticks = l->config.wall && !kymo_tree_is_paused(l->tree);
        if (ticks && kymo_wall_due(l->config.wall, now_ns))
            KYMO_TRY(kymo_tree_tick(l->tree, now_ns));
        if (now_ns < round_ns)
            continue;
        round_ns = now_ns + ROUND_NS;
        KYMO_TRY(kymo_tree_round(l->tree));
        KYMO_TRY(kymo_recording_flush(l->writer));
        if (l->asked->intervals)
            KYMO_TRY(look_at_interval(l, now_ns));
    }
    return KYMO_OK;
}

/* wait4 includes the CPU time of children that were waited for. Time that belongs to no recorded
 * process counts as not sampled if it should have been recorded. A note tells of it unless it is
 * little. */
static kymo_err tell_missing(const struct launch *l)
{
    uint64_t all_ns = in_ns(l->usage.ru_utime) + in_ns(l->usage.ru_stime);
    uint64_t recorded_ns = kymo_tree_cpu_ns(l->tree);
    uint64_t missing_ns = all_ns > recorded_ns ? all_ns - recorded_ns : 0;
    int asked = l->asked->options->children != 0;
    char used[32];
    char text[192];
    if (asked && kymo_tree_recorded(l->tree))
        KYMO_TRY(kymo_tree_add_unsampled(l->tree, missing_ns));
    if (missing_ns < CHILDREN_NOTED_NS || (asked && missing_ns < all_ns / 100))
        return KYMO_OK;
    snprintf(text, sizeof text,
             asked ? "%s of CPU time is in no recorded process: children that ended before they "
                     "were recorded, or cannot be, and the kernel's work at each end"
                   : "child processes of the program used %s of CPU time: they are not recorded "
                     "(children=no)",
             kymo_format_duration(used, missing_ns));
    return note(l, KYMO_NOTE_WARNING, text);
}

static kymo_err tell_lengthened(const struct launch *l)
{
    return l->lengthened[0] ? note(l, KYMO_NOTE_WARNING, l->lengthened) : KYMO_OK;
}

static kymo_err tell_tick_threads(const struct launch *l)
{
    const struct kymo_tick_threads *threads = kymo_tree_tick_threads(l->tree);
    uint32_t n = threads->switchers;
    char text[192];
    if (n > 0) {
        snprintf(text, sizeof text,
                 n == 1 ? "a thread that switches often was sampled at the kernel tick, since "
                          "perf would slow it down (engine=perf insists)"
                        : "%u threads that switch often were sampled at the kernel tick, since "
                          "perf would slow them down (engine=perf insists)",
                 n);
        KYMO_TRY(note(l, KYMO_NOTE_WARNING, text));
    }
    n = threads->refused;
    if (n == 0)
        return KYMO_OK;
    snprintf(text, sizeof text, "%u thread%s sampled at the kernel tick, since perf refused: %s%s",
             n, n == 1 ? " was" : "s were", strerror(threads->error),
             threads->error == EMFILE ? " (ulimit -n)" : "");
    return note(l, KYMO_NOTE_WARNING, text);
}

/* The event of a program that attached nothing to be ended with. */
static kymo_err end_program(const struct launch *l)
{
    kymo_event_process_end e = {
        .process = 0,
        .wait_status = l->ending.wait_status,
        .end_ns = l->ending.end_ns,
        .user_ns = l->ending.user_ns,
        .system_ns = l->ending.cpu_ns - l->ending.user_ns,
    };
    return kymo_recording_write_process_end(l->writer, &e);
}

/* Ends the recording; the program runs on if it has not ended. */
static kymo_err finish(struct launch *l, kymo_launch_result *result)
{
    uint64_t end_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    KYMO_TRY(kymo_tree_finish(l->tree, end_ns));
    KYMO_TRY(kymo_kernel_stacks_finish(l->config.kernel_stacks, 0));
    if (kymo_tree_recorded(l->tree) == 0 && !l->asked->outside)
        KYMO_TRY(note(l, KYMO_NOTE_WARNING,
                      "nothing was recorded: the program did not load libkymo-preload.so, or ended "
                      "before it did"));
    if (l->has_ended) {
        if (l->last_image == UINT32_MAX)
            KYMO_TRY(end_program(l));
        KYMO_TRY(tell_missing(l));
        result->cpu_ns = l->ending.cpu_ns;
        result->wait_status = l->ending.wait_status;
    }
    KYMO_TRY(tell_lengthened(l));
    KYMO_TRY(tell_tick_threads(l));
    result->interrupted = !l->has_ended;
    if (l->asked->intervals)
        return end_interval(l, l->has_ended ? 1u : 0u, 1, NULL);
    kymo_event_end end = {end_ns, l->has_ended ? 1u : 0u};
    return kymo_recording_write_end(l->writer, &end);
}

static kymo_err watch_outside(struct launch *l)
{
    kymo_error why = {0};
    kymo_err err = kymo_tree_watch_outside(l->tree, l->asked->outside, &why);
    return err == KYMO_E_NOT_FOUND ? note(l, KYMO_NOTE_WARNING, why.message) : err;
}

kymo_err kymo_launch(const kymo_launch_options *asked, kymo_launch_result *result,
                     kymo_error *detail)
{
    struct launch l = {.asked = asked, .last_image = UINT32_MAX, .joined = -1};
    memset(result, 0, sizeof *result);
    l.priority = getpriority(PRIO_PROCESS, 0);
    kymo_launch_signals_take(&l.signals, asked->stands_for_program);
    raise_limit(RLIMIT_FSIZE, &l.file_size);
    kymo_err err = prepare(&l, detail);
    if (err == KYMO_OK && !asked->join && !asked->outside &&
        !kymo_paths_preloadable(asked->preload_path))
        err = kymo_paths_link(asked->preload_path, l.link, detail);
    if (err == KYMO_OK)
        err = start_program(&l, detail);
    if (err != KYMO_OK)
        goto out;
    result->pid = l.pid;

    /* Where that is permitted, the recorder goes before what it records: it is asked for little,
     * and a thread that begins on a machine without an idle CPU waits for it to be armed. */
    (void)setpriority(PRIO_PROCESS, 0, RECORDER_PRIORITY);
    /* A descriptor for each of its threads; the program itself keeps the limit it was given. */
    raise_limit(RLIMIT_NOFILE, &l.files);
    kymo_tree_set_program(l.tree, l.pid, l.start_ns);
    if (asked->intervals)
        asked->intervals->started(asked->intervals->context, l.pid);
    err = kymo_launch_write_process(l.writer, asked, l.pid, l.start_ns);
    if (err == KYMO_OK && asked->outside)
        err = watch_outside(&l);
    if (err == KYMO_OK)
        err = tell_blindness(&l);
    /* So that a recorder that is killed soon leaves a recording that knows the program. */
    if (err == KYMO_OK)
        err = kymo_recording_flush(l.writer);
    if (err == KYMO_OK)
        err = record(&l);
    if (err == KYMO_OK) {
        err = finish(&l, result);
    } else {
        /* Whatever went wrong with the recording, the program runs to its end, without us. */
        kymo_tree_stop(l.tree);
        if (kymo_recording_write_kept(l.writer) == KYMO_OK)
            (void)!kymo_recording_flush(l.writer);
        if (!l.has_ended && l.joined < 0)
            (void)!reap(&l, 1);
        result->wait_status = l.ending.wait_status;
        result->cpu_ns = l.ending.cpu_ns;
    }
    if (err != KYMO_OK) {
        kymo_error why = {0};
        (void)kymo_recording_error(l.writer, &why);
        kymo_error_set(detail, err, 0, "the recording broke off: %s",
                       why.message[0] ? why.message : kymo_err_text(err));
    }
    result->spool_bytes = kymo_recording_bytes(l.writer);
    give_limit_back(RLIMIT_NOFILE, &l.files);
    (void)setpriority(PRIO_PROCESS, 0, l.priority);
out:
    give_limit_back(RLIMIT_FSIZE, &l.file_size);
    kymo_paths_unlink(l.link);
    kymo_tree_destroy(l.tree);
    kymo_dispatch_destroy(l.config.dispatch);
    kymo_kernel_stacks_destroy(l.config.kernel_stacks);
    kymo_copy_budget_destroy(l.config.copies);
    kymo_wall_shared_destroy(l.config.wall);
    kymo_recording_writer_destroy(l.writer);
    if (l.joined >= 0)
        close(l.joined);
    kymo_launch_signals_give_back(&l.signals);
    return err;
}
