/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - see launch.h.
 *
 *   spool, socket, session -> fork, exec -> the library attaches -> rounds -> the program ends ->
 *   last round -> end of the recording
 *
 * One thread does it all. It waits on a futex in the session, so that a thread which begins is
 * armed at once; a signal (the program ended, Ctrl-C) ends the wait early, and one that comes just
 * before it costs a round's length. The program's end is seen while it is still a zombie, so that
 * its main thread's CPU clock can be read, and is reaped afterwards.
 */
#include "recorder/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "buffer/attach.h"
#include "recorder/attach_server.h"
#include "recorder/host.h"
#include "recorder/machine.h"
#include "recorder/paths.h"
#include "recorder/recording.h"
#include "recorder/task.h"
#include "sys/clock.h"

#define RECORDER_PRIORITY (-10)
#define ROUND_NS 20000000u
#define BUFFER_DEFAULT (32ull << 20)
#define BUFFER_LEAST (4ull << 20)
#define SECOND_INTERRUPT_NS 2000000000ull
/* Below this, rounding of the kernel's figures and children alike are not worth a line. */
#define CHILDREN_NOTED_NS 1000000u

extern char **environ;

static volatile sig_atomic_t child_changed;
static volatile sig_atomic_t interrupts;
static volatile sig_atomic_t forward_signal;

static void on_child(int signo)
{
    (void)signo;
    child_changed = 1;
}

static void on_interrupt(int signo)
{
    (void)signo;
    interrupts = interrupts + 1;
}

static void on_forward(int signo)
{
    forward_signal = signo;
}

/* What the recorder handles itself while it runs, and what stood there before. */
static const struct {
    int signo;
    void (*handler)(int);
} handled[] = {
    {SIGCHLD, on_child},  {SIGINT, on_interrupt}, {SIGQUIT, SIG_IGN}, {SIGTERM, on_forward},
    {SIGHUP, on_forward}, {SIGPIPE, SIG_IGN},     {SIGXFSZ, SIG_IGN},
};

/* A limit as the recorder was given it, and as the program gets it. */
struct limit {
    struct rlimit given;
    int is_known;
};

struct launch {
    const kymo_launch_options *asked;
    struct kymo_host_config config;
    struct sigaction before[KYMO_ARRAY_LEN(handled)];
    struct limit files;     /* how many may be open */
    struct limit file_size; /* a session is a file in memory, and counts */
    int priority;           /* as it was */
    struct kymo_attach_server server;
    kymo_recording_writer *writer;
    int spool;
    kymo_host *host;
    pid_t pid;
    uint64_t start_ns;
    char reason[160];    /* why this engine */
    char link[PATH_MAX]; /* to the library, where its own path cannot be preloaded; else empty */
};

static void take_signals(struct launch *l)
{
    child_changed = interrupts = forward_signal = 0;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(handled); i++) {
        struct sigaction action = {.sa_flags = 0};
        action.sa_handler = handled[i].handler;
        sigaction(handled[i].signo, &action, &l->before[i]);
    }
}

static void give_signals_back(const struct launch *l)
{
    for (size_t i = 0; i < KYMO_ARRAY_LEN(handled); i++)
        sigaction(handled[i].signo, &l->before[i], NULL);
}

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

static kymo_err choose_engine(struct launch *l, kymo_error *detail)
{
    uint64_t asked = l->asked->options->engine;
    int why;
    enum kymo_perf_access access = kymo_perf_probe(&why);
    if (asked == KYMO_ENGINE_PERF && access == KYMO_PERF_NONE) {
        errno = why;
        return kymo_error_set_errno(detail, "engine=perf does not work here (kymo doctor says "
                                            "why): perf_event_open");
    }
    /* A real-time signal that cannot be queued (RLIMIT_SIGPENDING) the kernel makes a SIGIO of,
     * when it comes of a descriptor: that ends the program. A timer has its place in the queue. */
    int real_time = l->config.signal >= SIGRTMIN;
    if (asked == KYMO_ENGINE_PERF && real_time)
        return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0,
                              "engine=perf takes no real-time signal: when the program's queue of "
                              "signals is full, it would end the program; say engine=timer");
    l->config.access = access;
    if (asked == KYMO_ENGINE_TIMER || access == KYMO_PERF_NONE || real_time) {
        l->config.engine = KYMO_SESSION_TIMER;
        snprintf(l->reason, sizeof l->reason, "%s",
                 asked == KYMO_ENGINE_TIMER ? "asked for"
                 : real_time                ? "perf is not safe with a real-time signal"
                                            : "perf_event_open is not permitted");
    } else {
        l->config.engine = KYMO_SESSION_PERF;
        snprintf(l->reason, sizeof l->reason, "%s",
                 access == KYMO_PERF_KERNEL ? "permitted" : "permitted without the kernel's part");
    }
    return KYMO_OK;
}

/* 5 % of the memory that the cgroup may use, if that is less than the default. */
static uint64_t choose_buffer(uint64_t asked)
{
    if (asked)
        return asked;
    uint64_t limit = UINT64_MAX;
    char line[PATH_MAX];
    char path[PATH_MAX + 64];
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f && fgets(line, sizeof line, f)) {
        char *group = strrchr(line, ':');
        const char *root = strncmp(line, "0::", 3) == 0 ? "/sys/fs/cgroup"
                           : strstr(line, ":memory:")   ? "/sys/fs/cgroup/memory"
                                                        : NULL;
        if (!group || !root)
            continue;
        group[strcspn(group, "\n")] = '\0';
        snprintf(path, sizeof path, "%s%s/%s", root, group + 1,
                 strcmp(root, "/sys/fs/cgroup") == 0 ? "memory.max" : "memory.limit_in_bytes");
        FILE *m = fopen(path, "re");
        uint64_t value;
        if (m && fscanf(m, "%" SCNu64, &value) == 1 && value < limit)
            limit = value;
        if (m)
            fclose(m);
    }
    if (f)
        fclose(f);
    uint64_t share = limit / 20;
    return share >= BUFFER_DEFAULT ? BUFFER_DEFAULT : share < BUFFER_LEAST ? BUFFER_LEAST : share;
}

static uint32_t argument_count(char *const *argv)
{
    uint32_t n = 0;
    while (argv[n])
        n++;
    return n;
}

static kymo_err write_meta(struct launch *l)
{
    struct kymo_machine m;
    char options[KYMO_OPTIONS_FORMAT_MAX];
    kymo_machine_read(&m);
    l->config.clock = m.tsc ? KYMO_CLOCK_TSC : KYMO_CLOCK_MONOTONIC;
    kymo_options_format(l->asked->options, options, sizeof options);
    struct timespec tick;
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    kymo_event_meta e = {
        .start_ns = kymo_clock_ns(CLOCK_MONOTONIC),
        .start_realtime_ns = kymo_clock_ns(CLOCK_REALTIME),
        .period_ns = l->config.period_ns,
        .memory_bytes = m.memory_bytes,
        .logical_cpus = m.logical_cpus,
        .physical_cpus = m.physical_cpus,
        .hz = tick.tv_nsec > 0 ? (uint32_t)(1000000000 / tick.tv_nsec) : 0,
        .host = m.host,
        .os = m.os,
        .kernel = m.kernel,
        .arch = m.arch,
        .cpu_name = m.cpu_name,
        .version = KYMO_VERSION,
        .engine = l->config.engine == KYMO_SESSION_PERF ? "perf" : "timer",
        .engine_reason = l->reason,
        .options = options,
        .argc = argument_count(l->asked->argv),
        .argv = (const char *const *)l->asked->argv,
    };
    l->start_ns = e.start_ns;
    return kymo_recording_write_meta(l->writer, &e);
}

static kymo_err prepare(struct launch *l, kymo_error *detail)
{
    const kymo_options *o = l->asked->options;
    l->config.buffer_bytes = choose_buffer(o->buffer_bytes);
    l->config.period_ns = o->cpu_period_ns;
    l->config.depth = (uint32_t)o->depth;
    l->config.signal = o->signal_number ? (int)o->signal_number : SIGURG;
    KYMO_TRY(choose_engine(l, detail));
    l->spool = open(l->asked->spool_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (l->spool < 0)
        return kymo_error_set_errno(detail, "cannot write %s", l->asked->spool_path);
    kymo_err err = kymo_recording_writer_create(l->spool, 0, &l->writer);
    if (err == KYMO_OK)
        err = write_meta(l);
    if (err != KYMO_OK)
        return kymo_error_set(detail, err, 0, "%s: %s", l->asked->spool_path, kymo_err_text(err));
    l->config.events = &kymo_recording_write_handler;
    l->config.events_context = l->writer;
    KYMO_TRY(kymo_host_create(&l->config, 0, &l->host, detail));
    return kymo_attach_server_open(&l->server, detail);
}

/* ---- the program ---- */

/* The program's environment: ours, with the library and the way to the recorder. */
static char **make_environment(const struct launch *l)
{
    size_t n = 0;
    while (environ[n])
        n++;
    char **env = calloc(n + 3, sizeof *env);
    const char *theirs = getenv("LD_PRELOAD");
    char *preload = NULL;
    char *attach = NULL;
    if (!env ||
        asprintf(&preload, "LD_PRELOAD=%s%s%s", l->link[0] ? l->link : l->asked->preload_path,
                 theirs ? ":" : "", theirs ? theirs : "") < 0 ||
        asprintf(&attach, KYMO_ATTACH_ENV "=%s", l->server.name) < 0) {
        free(env);
        free(preload);
        return NULL;
    }
    /* Where the program has one of its own, ours stands in its place: taking it out again leaves
     * everything as and where it was. */
    size_t to = 0;
    for (size_t i = 0; i < n; i++) {
        if (strncmp(environ[i], KYMO_ATTACH_ENV "=", sizeof KYMO_ATTACH_ENV) == 0)
            continue;
        int is_preload = theirs && strncmp(environ[i], "LD_PRELOAD=", 11) == 0;
        env[to++] = is_preload ? preload : environ[i];
    }
    if (!theirs)
        env[to++] = preload;
    env[to] = attach;
    return env;
}

/* Starts the program. What keeps it from starting comes back through a pipe that exec closes. */
static kymo_err start_program(struct launch *l, kymo_error *detail)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return kymo_error_set_errno(detail, "pipe");
    l->pid = fork();
    if (l->pid < 0) {
        kymo_err err = kymo_error_set_errno(detail, "fork");
        close(report[0]);
        close(report[1]);
        return err;
    }
    if (l->pid == 0) {
        give_signals_back(l);
        give_limit_back(RLIMIT_FSIZE, &l->file_size);
        /* Made on this side of the fork, where it need not be freed: we have one thread. */
        char **env = make_environment(l);
        if (env)
            execvpe(l->asked->argv[0], l->asked->argv, env);
        int why = env ? errno : ENOMEM;
        ssize_t ignored = write(report[1], &why, sizeof why);
        (void)ignored;
        _exit(127);
    }
    close(report[1]);
    int why = 0;
    ssize_t n;
    do {
        n = read(report[0], &why, sizeof why);
    } while (n < 0 && errno == EINTR);
    close(report[0]);
    if (n != (ssize_t)sizeof why)
        return KYMO_OK;
    (void)waitpid(l->pid, NULL, 0);
    l->pid = 0;
    errno = why;
    return kymo_error_set_errno(detail, "%s", l->asked->argv[0]);
}

static kymo_err write_process(struct launch *l)
{
    char link[64];
    char exe[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)l->pid);
    ssize_t n = readlink(link, exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = '\0';
    kymo_event_process e = {
        .process = 0,
        .pid = l->pid,
        .parent_pid = getpid(),
        .is_main = 1,
        .start_ns = l->start_ns,
        .exe = exe,
        .argc = argument_count(l->asked->argv),
        .argv = (const char *const *)l->asked->argv,
    };
    return kymo_recording_write_process(l->writer, &e);
}

/* 1 when the program has ended and waits to be reaped. */
static int has_ended(const struct launch *l)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)l->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid == l->pid;
}

static void forward(const struct launch *l)
{
    int signo = forward_signal;
    if (signo) {
        forward_signal = 0;
        kill(l->pid, signo);
    }
}

/* Waits for the library in the program to attach. *attached is 0 if the program ended first, or
 * if Ctrl-C did not end it. */
static kymo_err await_attach(struct launch *l, int *attached)
{
    *attached = 0;
    while (!has_ended(l) && interrupts < 2) {
        struct pollfd p = {.fd = l->server.listener, .events = POLLIN};
        (void)poll(&p, 1, 100);
        forward(l);
        int connection =
            kymo_attach_server_welcome(&l->server, l->pid, kymo_host_memory(l->host),
                                       kymo_host_bytes(l->host), kymo_host_table_bytes(l->host));
        if (connection < 0)
            continue;
        kymo_host_attached(l->host, l->pid);
        kymo_err err = KYMO_OK;
        if (kymo_attach_server_ready(connection)) {
            /* The first round arms the main thread, before it runs on. */
            err = kymo_host_round(l->host);
            *attached = 1;
        }
        kymo_attach_server_go(connection);
        close(connection);
        if (*attached || err != KYMO_OK)
            return err;
    }
    return KYMO_OK;
}

/* Rounds until the program ends, or the recording shall. *stopped: before the program's end. */
static kymo_err record(struct launch *l, int *stopped)
{
    uint64_t end_ns = l->asked->options->duration_ns
                          ? kymo_clock_ns(CLOCK_MONOTONIC) + l->asked->options->duration_ns
                          : UINT64_MAX;
    sig_atomic_t seen = 0;
    uint64_t first_ns = 0;
    *stopped = 0;
    for (;;) {
        uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
        if (interrupts != seen) {
            if (seen && now_ns - first_ns < SECOND_INTERRUPT_NS)
                break;
            seen = interrupts;
            first_ns = now_ns;
        }
        if (now_ns >= end_ns)
            break;
        forward(l);
        if (child_changed) {
            child_changed = 0;
            if (has_ended(l))
                return KYMO_OK;
        }
        kymo_host_wait(l->host, ROUND_NS);
        KYMO_TRY(kymo_host_round(l->host));
        KYMO_TRY(kymo_recording_flush(l->writer));
    }
    *stopped = 1;
    return KYMO_OK;
}

static kymo_err note(const struct launch *l, kymo_event_severity severity, const char *text)
{
    kymo_event_note e = {kymo_clock_ns(CLOCK_MONOTONIC), 0, severity, text};
    return kymo_recording_write_note(l->writer, &e);
}

static uint64_t in_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

/* wait4 adds what the children used that the program waited for. They are not recorded: their time
 * is none of the program's, and whoever reads the figures is told where it went. */
static kymo_err take_children_out(const struct launch *l, kymo_event_process_end *e,
                                  uint64_t own_user_ns, uint64_t own_system_ns)
{
    uint64_t own_ns = own_user_ns + own_system_ns;
    uint64_t all_ns = e->user_ns + e->system_ns;
    if (all_ns <= own_ns || all_ns - own_ns < CHILDREN_NOTED_NS)
        return KYMO_OK;
    char used[32];
    char text[128];
    e->user_ns = own_user_ns;
    e->system_ns = own_system_ns;
    snprintf(text, sizeof text,
             "child processes of the program used %s of CPU time: they are not recorded",
             kymo_format_duration(used, all_ns - own_ns));
    return note(l, KYMO_NOTE_WARNING, text);
}

/* Reaps the program (unless it runs on) and ends the recording. */
static kymo_err finish(struct launch *l, int attached, int running, kymo_launch_result *result)
{
    uint64_t end_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    uint64_t main_cpu_ns = 0;
    (void)kymo_task_cpu_ns(l->pid, l->pid, &main_cpu_ns);
    kymo_err err = attached ? kymo_host_finish(l->host, end_ns, main_cpu_ns)
                            : note(l, KYMO_NOTE_WARNING,
                                   "nothing was recorded: the program did not load "
                                   "libkymo-preload.so, or ended before it did");
    struct rusage usage = {0};
    if (!running) {
        uint64_t own_user_ns = 0;
        uint64_t own_system_ns = 0;
        int known = kymo_task_process_cpu_ns(l->pid, &own_user_ns, &own_system_ns);
        while (wait4(l->pid, &result->wait_status, 0, &usage) < 0 && errno == EINTR)
            forward(l);
        kymo_event_process_end e = {
            .process = 0,
            .wait_status = result->wait_status,
            .end_ns = end_ns,
            .user_ns = in_ns(usage.ru_utime),
            .system_ns = in_ns(usage.ru_stime),
        };
        if (err == KYMO_OK && known)
            err = take_children_out(l, &e, own_user_ns, own_system_ns);
        result->cpu_ns = e.user_ns + e.system_ns;
        if (err == KYMO_OK)
            err = kymo_recording_write_process_end(l->writer, &e);
    }
    result->interrupted = running;
    kymo_event_end end = {end_ns, !running};
    if (err == KYMO_OK)
        err = kymo_recording_write_end(l->writer, &end);
    return err;
}

kymo_err kymo_launch(const kymo_launch_options *asked, kymo_launch_result *result,
                     kymo_error *detail)
{
    struct launch l = {.asked = asked, .spool = -1, .server = {.listener = -1}};
    int attached = 0;
    int running = 0;
    memset(result, 0, sizeof *result);
    l.priority = getpriority(PRIO_PROCESS, 0);
    take_signals(&l);
    raise_limit(RLIMIT_FSIZE, &l.file_size);
    kymo_err err = prepare(&l, detail);
    if (err == KYMO_OK && !kymo_paths_preloadable(asked->preload_path))
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
    err = write_process(&l);
    if (err == KYMO_OK)
        err = await_attach(&l, &attached);
    kymo_paths_unlink(l.link);
    /* Nobody takes connections from now on: who tries is to know at once. */
    kymo_attach_server_close(&l.server);
    if (err == KYMO_OK && attached)
        err = record(&l, &running);
    else if (err == KYMO_OK)
        running = !has_ended(&l);
    /* Whatever went wrong with the recording, the program runs to its end, without us. */
    if (err != KYMO_OK)
        kymo_host_stop(l.host);
    kymo_err finish_err = finish(&l, attached && err == KYMO_OK, running, result);
    if (err == KYMO_OK)
        err = finish_err;
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
    kymo_attach_server_close(&l.server);
    kymo_host_destroy(l.host);
    kymo_recording_writer_destroy(l.writer);
    if (l.spool >= 0)
        close(l.spool);
    give_signals_back(&l);
    return err;
}
