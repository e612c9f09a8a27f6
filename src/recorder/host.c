/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.c - see host.h.
 *
 * Arming. A thread that begins takes a slot and wakes the recorder, which opens a perf event for it
 * (microseconds later; what the thread used until then is in the weight of its first sample).
 *
 * With or without the kernel. An event that counts in the kernel, too, samples system calls and
 * page faults where they happen; but when it fires while its thread is about to sleep in a system
 * call, that call returns EINTR. An event without the kernel never does: the interrupt finds the
 * thread in user mode, and the signal is delivered before the next instruction. So a thread is
 * sampled with the kernel only while it does not sleep of its own will: that is looked up in
 * /proc (voluntary switches) once it has used CHECK_SAMPLES periods of CPU time, and again and
 * again. Its weights are right either way, since they come from the CPU clock. So that time in the
 * kernel has samples of its own also where the event has none, the thread then has a timer beside
 * it (capture/timer.h), which disturbs no call and comes with the kernel's tick.
 */
#include "recorder/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/vec.h"
#include "buffer/drain.h"
#include "recorder/row_builder.h"
#include "recorder/session_events.h"
#include "recorder/task.h"
#include "sys/clock.h"

#define SCAN_NS 100000000u
#define CHECK_SAMPLES 16u
#define CHECK_NS 20000000u
/* Silence after which the program stops capturing: far longer than any pause of a recorder that
 * lives, short against what a dead one would cost. */
#define HEARTBEAT_LIMIT_NS 5000000000ull
#define STRANGER_CALLS 2u
/* Row tables are made once a process has shown that it is sampled a lot: a table costs up to a
 * quarter of a second of the recorder's time, and saves a microsecond or two a sample. */
#define TABLE_SAMPLES 5000u
#define TABLE_AREA_BYTES (32ull << 20)

/* What the recorder keeps of a slot's thread. */
struct armed {
    uint32_t generation;
    int open; /* between thread_begin and thread_end */
    pid_t tid;
    int fd; /* -1: no perf event */
    int with_kernel;
    uint64_t checked_samples;
    uint64_t checked_ns;
    uint64_t switches;  /* voluntary ones at the last check */
    uint64_t seen_scan; /* the last scan of /proc that found the tid */
    uint64_t named_samples;
    int named; /* name and named_samples are those of the last look */
    char name[16];
};

struct stranger {
    pid_t tid;
    uint32_t calls; /* that it did not answer */
    uint64_t scan;
};

struct kymo_host {
    struct kymo_host_config config;
    pid_t pid;
    struct kymo_task_exe exe; /* what it ran when it attached */
    int replaced;             /* it has called exec since */
    int memory;
    struct kymo_session *session;
    struct kymo_session_plan plan;
    struct kymo_table_area *table_area; /* NULL: no tables */
    kymo_row_builder *rows;             /* NULL until there is much to unwind */
    kymo_drain *drain;
    struct armed *slots;
    uint64_t next_scan_ns;
    uint64_t last_round_ns;
    int revive; /* the last round came very late */
    uint64_t scan;
    uint32_t woken; /* value of the session's futex that was answered */
    KYMO_VEC(struct stranger) strangers;
    struct kymo_session_events out;
};

/* Hands the modules over to the builder, once that is worth it. */
static void build_rows(kymo_host *h)
{
    if (h->out.samples < TABLE_SAMPLES || h->out.jobs.len == 0)
        return;
    if (!h->rows && kymo_row_builder_create(h->table_area, TABLE_AREA_BYTES, &h->rows) != KYMO_OK)
        return;
    for (size_t i = 0; i < h->out.jobs.len; i++)
        kymo_row_builder_add(h->rows, &h->out.jobs.data[i]);
    h->out.jobs.len = 0;
}

/* ---- life ---- */

static int make_memory(uint64_t size)
{
    int fd = memfd_create("kymo", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    /* The program cannot shrink it under us. */
    if (ftruncate(fd, (off_t)size) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

static void configure(struct kymo_session *s, const struct kymo_host_config *config)
{
    s->clock_kind = config->clock;
    s->engine = config->engine;
    s->period_ns = config->period_ns;
    s->depth = config->depth;
    s->signal = (uint32_t)config->signal;
    s->heartbeat_limit = HEARTBEAT_LIMIT_NS;
    if (config->clock == KYMO_CLOCK_TSC) {
        /* Only for this limit a rough ratio is enough: 2^31 ticks a second. */
        s->heartbeat_limit = (HEARTBEAT_LIMIT_NS / 1000000000u) << 31;
    }
    if (getrandom(&s->cookie, sizeof s->cookie, GRND_NONBLOCK) != (ssize_t)sizeof s->cookie)
        s->cookie = kymo_clock_ns(CLOCK_REALTIME) ^ (uint64_t)(uintptr_t)s;
}

kymo_err kymo_host_create(const struct kymo_host_config *config, uint32_t process, kymo_host **out,
                          kymo_error *detail)
{
    kymo_err err = KYMO_E_NOMEM;
    kymo_host *h = calloc(1, sizeof *h);
    if (!h)
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for a session");
    h->config = *config;
    h->out.events = config->events;
    h->out.context = config->events_context;
    h->out.process = process;
    h->memory = -1;
    err = kymo_session_plan(config->buffer_bytes, &h->plan);
    if (err != KYMO_OK) {
        kymo_error_set(detail, err, 0, "a buffer of %" PRIu64 " bytes: not from 1 MiB to 4 GiB",
                       config->buffer_bytes);
        goto fail;
    }
    h->slots = calloc(h->plan.threads, sizeof *h->slots);
    uint64_t bytes = h->plan.total_bytes + TABLE_AREA_BYTES;
    h->memory = make_memory(bytes);
    if (!h->slots || h->memory < 0) {
        const char *advice = errno == EFBIG ? " (raise ulimit -f, the limit on files' size)" : "";
        err = kymo_error_set_errno(detail, "cannot make a session of %" PRIu64 " bytes%s", bytes,
                                   advice);
        goto fail;
    }
    void *map = mmap(NULL, h->plan.total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, h->memory, 0);
    if (map == MAP_FAILED) {
        err = kymo_error_set_errno(detail, "cannot map a session");
        goto fail;
    }
    h->session = map;
    map = mmap(NULL, TABLE_AREA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, h->memory,
               (off_t)h->plan.total_bytes);
    h->table_area = map == MAP_FAILED ? NULL : map;
    kymo_session_format(h->session, &h->plan);
    configure(h->session, config);
    h->out.keep_modules = h->table_area != NULL;
    struct kymo_drain_sink sink = kymo_session_events_sink(&h->out);
    err = kymo_drain_create(h->session, &h->plan, &sink, &h->drain);
    if (err != KYMO_OK) {
        kymo_error_set(detail, err, 0, "no memory to drain a session");
        goto fail;
    }
    *out = h;
    return KYMO_OK;

fail:
    kymo_host_destroy(h);
    return err;
}

void kymo_host_destroy(kymo_host *h)
{
    if (!h)
        return;
    for (uint32_t i = 0; h->slots && i < h->plan.threads; i++)
        if (h->slots[i].open && h->slots[i].fd >= 0)
            close(h->slots[i].fd);
    kymo_row_builder_destroy(h->rows);
    kymo_drain_destroy(h->drain);
    if (h->table_area)
        munmap(h->table_area, TABLE_AREA_BYTES);
    if (h->session)
        munmap(h->session, h->plan.total_bytes);
    if (h->memory >= 0)
        close(h->memory);
    free(h->slots);
    kymo_session_events_deinit(&h->out);
    kymo_vec_deinit(&h->strangers);
    free(h);
}

int kymo_host_memory(const kymo_host *h)
{
    return h->memory;
}

uint64_t kymo_host_bytes(const kymo_host *h)
{
    return h->plan.total_bytes;
}

uint64_t kymo_host_table_bytes(const kymo_host *h)
{
    return h->table_area ? TABLE_AREA_BYTES : 0;
}

void kymo_host_attached(kymo_host *h, pid_t pid)
{
    h->pid = h->out.pid = pid;
    (void)kymo_task_executable(pid, &h->exe, NULL, 0);
}

int kymo_host_is_attached(const kymo_host *h)
{
    return kymo_load_acquire(&h->session->attached) != 0;
}

void kymo_host_stop(kymo_host *h)
{
    kymo_store_release(&h->session->stopped, 1u);
    for (uint32_t i = 0; i < h->plan.threads; i++) {
        if (h->slots[i].open && h->slots[i].fd >= 0) {
            close(h->slots[i].fd);
            h->slots[i].fd = -1;
        }
    }
}

/* ---- arming ---- */

/* Sends a signal that carries our cookie to one thread: "look into your slot". */
static void call_thread(const kymo_host *h, pid_t tid)
{
    siginfo_t info = {.si_signo = h->config.signal, .si_code = SI_QUEUE};
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)(uintptr_t)h->session->cookie;
    (void)syscall(SYS_rt_tgsigqueueinfo, h->pid, tid, h->config.signal, &info);
}

static void disarm(kymo_host *h, uint32_t number)
{
    struct armed *a = &h->slots[number];
    if (a->open && a->fd >= 0)
        close(a->fd);
    a->fd = -1;
}

/* Opens the event of this slot's thread; replaces the one it has. */
static void arm(kymo_host *h, uint32_t number, int with_kernel)
{
    struct armed *a = &h->slots[number];
    struct kymo_thread_slot *slot = kymo_session_slot(h->session, &h->plan, number);
    int fd = kymo_perf_open(a->tid, h->config.period_ns, h->config.signal, with_kernel);
    if (fd < 0) {
        /* Descriptors are used up, or the program dropped to a user that is not ours: what there
         * is stays; a thread without anything takes a timer. */
        if (a->fd < 0 && errno != ESRCH) {
            kymo_store_relaxed(&slot->ask_timer, 1u);
            call_thread(h, a->tid);
        }
        return;
    }
    kymo_store_relaxed(&slot->perf_fd_before, a->fd);
    if (a->fd >= 0)
        close(a->fd);
    a->fd = fd;
    a->with_kernel = with_kernel;
    kymo_store_relaxed(&slot->perf_kernel, (uint32_t)with_kernel);
    /* Before the first signal: the handler knows its own by this number. */
    kymo_store_release(&slot->perf_fd, fd);
    (void)kymo_perf_enable(fd);
}

/* With the kernel for those that do not sleep, without for those that do. */
static void choose_kernel(kymo_host *h, uint32_t number, uint64_t now_ns)
{
    struct armed *a = &h->slots[number];
    struct kymo_thread_slot *slot = kymo_session_slot(h->session, &h->plan, number);
    uint64_t samples = kymo_load_relaxed(&slot->samples);
    uint64_t switches;
    if (h->config.access != KYMO_PERF_KERNEL || a->fd < 0 ||
        samples < a->checked_samples + CHECK_SAMPLES || now_ns < a->checked_ns + CHECK_NS)
        return;
    a->checked_samples = samples;
    a->checked_ns = now_ns;
    if (!kymo_task_voluntary_switches(h->pid, a->tid, &switches))
        return;
    int sleeps = switches != a->switches;
    a->switches = switches;
    if (sleeps == a->with_kernel)
        arm(h, number, !sleeps);
}

static uint32_t slot_of(const kymo_host *h, pid_t tid)
{
    uint32_t touched = kymo_load_relaxed(&h->session->slots_touched);
    for (uint32_t i = 0; i < touched && i < h->plan.threads; i++)
        if (h->slots[i].open && h->slots[i].tid == tid)
            return i;
    return UINT32_MAX;
}

/* The tid of a thread that begins is free: whoever had it has ended, though no hook saw it. */
static kymo_err end_former(kymo_host *h, pid_t tid, uint64_t now_ns)
{
    uint32_t number = slot_of(h, tid);
    if (number == UINT32_MAX)
        return KYMO_OK;
    disarm(h, number);
    h->slots[number].open = 0;
    /* One that did say its end is the drain's. */
    if (kymo_load_acquire(&kymo_session_slot(h->session, &h->plan, number)->state) !=
        KYMO_SLOT_LIVE)
        return KYMO_OK;
    return kymo_drain_end_slot(h->drain, number, now_ns);
}

static kymo_err arm_threads(kymo_host *h, uint64_t now_ns)
{
    uint32_t touched = kymo_load_acquire(&h->session->slots_touched);
    if (touched > h->plan.threads)
        touched = h->plan.threads;
    for (uint32_t i = 0; i < touched; i++) {
        struct armed *a = &h->slots[i];
        struct kymo_thread_slot *slot = kymo_session_slot(h->session, &h->plan, i);
        uint32_t state = kymo_load_acquire(&slot->state);
        uint32_t generation = kymo_load_relaxed(&slot->generation);
        if (a->open && (state != KYMO_SLOT_LIVE || generation != a->generation)) {
            disarm(h, i);
            a->open = 0;
        }
        if (state != KYMO_SLOT_LIVE)
            continue;
        if (!a->open) {
            KYMO_TRY(end_former(h, (pid_t)kymo_load_relaxed(&slot->tid), now_ns));
            *a = (struct armed){.generation = generation,
                                .open = 1,
                                .tid = (pid_t)kymo_load_relaxed(&slot->tid),
                                .fd = -1,
                                .checked_ns = now_ns,
                                .seen_scan = h->scan};
            if (h->config.engine == KYMO_SESSION_PERF) {
                /* The program wrote the tid: only a thread of its own is armed. */
                if (kymo_task_voluntary_switches(h->pid, a->tid, &a->switches))
                    arm(h, i, 0);
            }
        }
        choose_kernel(h, i, now_ns);
    }
    return KYMO_OK;
}

/* ---- /proc ---- */

/* A thread that is in /proc and not in the session: when a second scan finds it still, it is
 * called, and takes a slot in our handler. */
static kymo_err meet_stranger(kymo_host *h, pid_t tid)
{
    for (size_t i = 0; i < h->strangers.len; i++) {
        struct stranger *s = &h->strangers.data[i];
        if (s->tid != tid)
            continue;
        /* One that sleeps sees EINTR for it. One that does not answer cannot (it blocks the signal,
         * has another's thread-local storage, or is on its way out), and is left alone. */
        if (s->scan + 1 == h->scan && s->calls < STRANGER_CALLS) {
            s->calls++;
            if (!kymo_task_is_kernel_made(h->pid, tid))
                call_thread(h, tid);
        }
        s->scan = h->scan;
        return KYMO_OK;
    }
    return kymo_vec_push(&h->strangers, (struct stranger){.tid = tid, .scan = h->scan});
}

static void forget_strangers(kymo_host *h)
{
    size_t kept = 0;
    for (size_t i = 0; i < h->strangers.len; i++)
        if (h->strangers.data[i].scan == h->scan)
            h->strangers.data[kept++] = h->strangers.data[i];
    h->strangers.len = kept;
}

/* Threads are named after they begin, and exit does not let them tell. Those that ran since the
 * last look may have a new name. */
static kymo_err look_at_name(kymo_host *h, uint32_t number, uint64_t now_ns)
{
    struct armed *a = &h->slots[number];
    struct kymo_thread_slot *slot = kymo_session_slot(h->session, &h->plan, number);
    uint64_t samples = kymo_load_relaxed(&slot->samples);
    uint32_t thread = kymo_drain_slot_thread(h->drain, number);
    char name[16] = "";
    if ((a->named && samples == a->named_samples) || thread == UINT32_MAX ||
        kymo_load_relaxed(&slot->generation) != a->generation ||
        !kymo_task_name(h->pid, a->tid, name))
        return KYMO_OK;
    int same = a->named && strcmp(name, a->name) == 0;
    a->named = 1;
    a->named_samples = samples;
    memcpy(a->name, name, sizeof name);
    if (same)
        return KYMO_OK;
    kymo_event_thread_name e = {thread, now_ns, name};
    return h->config.events->thread_name(h->config.events_context, &e);
}

static kymo_err scan_tasks(kymo_host *h, uint64_t now_ns)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/task", (int)h->pid);
    DIR *dir = opendir(path);
    if (!dir)
        return KYMO_OK; /* it is ending */
    kymo_err err = KYMO_OK;
    h->scan++;
    struct dirent *entry;
    while (err == KYMO_OK && (entry = readdir(dir))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid <= 0)
            continue;
        uint32_t number = slot_of(h, tid);
        if (number == UINT32_MAX) {
            err = meet_stranger(h, tid);
        } else {
            h->slots[number].seen_scan = h->scan;
            err = look_at_name(h, number, now_ns);
        }
    }
    closedir(dir);
    forget_strangers(h);
    /* Threads whose exit no hook saw. */
    for (uint32_t i = 0; err == KYMO_OK && i < h->plan.threads; i++) {
        struct armed *a = &h->slots[i];
        uint64_t cpu_ns;
        if (a->open && a->seen_scan + 2 <= h->scan) {
            /* A folder that changes while it is read may hide an entry: one that is asked for by
             * its name is there or not. Its slot must not go to another thread while it writes. */
            if (kymo_task_cpu_ns(h->pid, a->tid, &cpu_ns)) {
                a->seen_scan = h->scan;
                continue;
            }
            disarm(h, i);
            a->open = 0;
            err = kymo_drain_end_slot(h->drain, i, now_ns);
        }
    }
    return err;
}

/* Another program in the same process has no handler of ours, and nothing to be drained. */
static kymo_err notice_exec(kymo_host *h, uint64_t now_ns)
{
    struct kymo_task_exe exe;
    char path[PATH_MAX];
    char text[PATH_MAX + 96];
    if (h->replaced || !kymo_task_executable(h->pid, &exe, path, sizeof path) ||
        (exe.device == h->exe.device && exe.inode == h->exe.inode &&
         (exe.image == h->exe.image || !exe.image || !h->exe.image)))
        return KYMO_OK;
    h->replaced = 1;
    h->out.replaced = 1;
    kymo_host_stop(h);
    snprintf(text, sizeof text,
             "the process became another program, %s, by exec: that one is not recorded", path);
    kymo_event_note e = {now_ns, h->out.process, KYMO_NOTE_WARNING, text};
    return h->config.events->note(h->config.events_context, &e);
}

/* After a pause of ours (Ctrl-Z) that was long enough for threads to think that we are gone: those
 * that disarmed their timers get them back. One round later, so that all have seen us beat. */
static void revive_timers(kymo_host *h)
{
    for (uint32_t i = 0; i < h->plan.threads; i++) {
        struct kymo_thread_slot *slot = kymo_session_slot(h->session, &h->plan, i);
        if (!h->slots[i].open || h->slots[i].fd >= 0 || kymo_load_relaxed(&slot->timer_on))
            continue;
        kymo_store_relaxed(&slot->ask_timer, 1u);
        call_thread(h, h->slots[i].tid);
    }
}

kymo_err kymo_host_round(kymo_host *h)
{
    uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    if (!h->replaced)
        KYMO_TRY(arm_threads(h, now_ns));
    if (h->revive)
        revive_timers(h);
    h->revive = h->last_round_ns && now_ns - h->last_round_ns > HEARTBEAT_LIMIT_NS / 4;
    h->last_round_ns = now_ns;
    KYMO_TRY(kymo_drain_round(h->drain));
    KYMO_TRY(kymo_session_events_flush(&h->out));
    build_rows(h);
    /* Each time: what the process uses between an exec and its end, unnoticed, would be given to
     * the last stack of the image before. */
    KYMO_TRY(notice_exec(h, now_ns));
    if (now_ns >= h->next_scan_ns) {
        h->next_scan_ns = now_ns + SCAN_NS;
        if (!h->replaced)
            KYMO_TRY(scan_tasks(h, now_ns));
    }
    return KYMO_OK;
}

void kymo_host_wait(kymo_host *h, uint64_t timeout_ns)
{
    struct timespec t = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
    uint32_t seen = kymo_load_acquire(&h->session->wake);
    if (seen != h->woken)
        h->woken = seen;
    else
        (void)syscall(SYS_futex, &h->session->wake, FUTEX_WAIT, seen, &t, NULL, 0);
}

kymo_err kymo_host_finish(kymo_host *h, uint64_t end_ns, uint64_t main_cpu_ns)
{
    h->out.main_cpu_ns = main_cpu_ns;
    kymo_host_stop(h);
    KYMO_TRY(kymo_drain_finish(h->drain, end_ns));
    KYMO_TRY(kymo_session_events_flush(&h->out));
    const kymo_event_handler *events = h->config.events;
    uint64_t lost[KYMO_LOSS_KINDS];
    static const char *const names[KYMO_LOSS_KINDS] = {
#define X(name, text) text,
        KYMO_LOSS_LIST(X)
#undef X
    };
    kymo_drain_losses(h->drain, lost);
    for (uint32_t i = 0; i < KYMO_LOSS_KINDS; i++) {
        kymo_event_loss e = {h->out.process, i, lost[i], names[i]};
        if (lost[i])
            KYMO_TRY(events->loss(h->config.events_context, &e));
    }
    kymo_event_quality q = {
        .process = h->out.process,
        .samples = h->out.taken,
        .cpu_unsampled_ns = h->out.unsampled_ns,
        .handler_ns = h->out.handler_ns,
    };
    return events->quality(h->config.events_context, &q);
}
