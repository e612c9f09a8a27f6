/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_scan.c - reads /proc for a session's process: threads that no hook announced or saw end,
 * thread names, and whether it runs another program by now.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "recorder/host_state.h"
#include "sys/proc_file.h"

#define STRANGER_CALLS 2u

/* A signal ends no system call of a thread that runs. */
static int runs(const kymo_host *h, pid_t tid)
{
    char text[512];
    if (!kymo_proc_file_read(text, sizeof text, "/proc/%d/task/%d/stat", (int)h->pid, (int)tid))
        return 0;
    const char *end = strrchr(text, ')');
    return end && strncmp(end, ") R", 3) == 0 && !kymo_task_is_kernel_made(h->pid, tid);
}

/* Handles a stranger, a thread in /proc that has no slot: if a second scan finds it again, it
 * gets a signal, and our handler takes a slot. */
static kymo_err meet_stranger(kymo_host *h, pid_t tid)
{
    for (size_t i = 0; i < h->strangers.len; i++) {
        struct kymo_host_stranger *s = &h->strangers.data[i];
        if (s->tid != tid)
            continue;
        /* A sleeping thread gets EINTR from the signal. A thread that does not answer cannot: it
         * blocks the signal, uses another thread's thread-local storage, or is ending. It is
         * left alone. */
        if (s->scan + 1 == h->scan && s->calls < STRANGER_CALLS) {
            s->calls++;
            if (!kymo_task_is_kernel_made(h->pid, tid))
                kymo_host_call_thread(h, tid);
        }
        int is_met = s->calls == STRANGER_CALLS && !s->told && h->out.wall &&
                     !kymo_task_is_kernel_made(h->pid, tid);
        s->scan = h->scan;
        s->told = is_met || s->told;
        if (is_met)
            return kymo_wall_stranger(h->out.wall, tid, kymo_clock_ns(CLOCK_MONOTONIC));
        return KYMO_OK;
    }
    struct kymo_host_stranger s = {.tid = tid, .scan = h->scan};
    /* Where no hook announces any, it is not about to announce itself. */
    if (h->is_late && runs(h, tid)) {
        s.calls++;
        kymo_host_call_thread(h, tid);
    }
    return kymo_vec_push(&h->strangers, s);
}

static kymo_err forget_strangers(kymo_host *h, uint64_t now_ns)
{
    kymo_err err = KYMO_OK;
    size_t kept = 0;
    for (size_t i = 0; i < h->strangers.len; i++) {
        const struct kymo_host_stranger *s = &h->strangers.data[i];
        if (s->scan == h->scan)
            h->strangers.data[kept++] = *s;
        else if (s->told && err == KYMO_OK)
            err = kymo_wall_stranger_end(h->out.wall, s->tid, now_ns);
    }
    h->strangers.len = kept;
    return err;
}

/* Threads get names after they begin, and cannot report them at exit. Threads that ran since the
 * last check may have a new name. */
static kymo_err look_at_name(kymo_host *h, uint32_t number, uint64_t now_ns)
{
    struct kymo_host_slot *a = &h->slots[number];
    struct kymo_thread_slot *slot = kymo_session_slot(h->session, &h->plan, number);
    uint64_t samples = kymo_host_samples(h, number);
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
    if (same || h->out.named.data[thread])
        return KYMO_OK;
    kymo_event_thread_name e = {kymo_session_events_thread(&h->out, thread), now_ns, name};
    return h->config.events->thread_name(h->config.events_context, &e);
}

/* Whether the thread had samples since the last check; always true for the main thread. */
static int has_run(kymo_host *h, uint32_t number)
{
    struct kymo_host_slot *a = &h->slots[number];
    uint64_t samples = kymo_host_samples(h, number);
    int ran = samples != a->status_samples;
    a->status_samples = samples;
    return ran || a->tid == h->pid;
}

kymo_err kymo_host_scan_tasks(kymo_host *h, uint64_t now_ns)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/task", (int)h->pid);
    DIR *dir = opendir(path);
    if (!dir)
        return KYMO_OK; /* the process is ending */
    kymo_err err = KYMO_OK;
    h->scan++;
    h->listed = 0;
    struct dirent *entry;
    while (err == KYMO_OK && (entry = readdir(dir))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid <= 0)
            continue;
        h->listed++;
        uint32_t number = kymo_host_slot_of(h, tid);
        if (number == UINT32_MAX && h->is_outside) {
            kymo_host_take_slot(h, tid);
        } else if (number == UINT32_MAX) {
            err = meet_stranger(h, tid);
        } else {
            h->slots[number].seen_scan = h->scan;
            err = look_at_name(h, number, now_ns);
            if (err == KYMO_OK && !h->is_outside && has_run(h, number))
                err = kymo_host_look_at_status(h, tid, now_ns);
        }
    }
    closedir(dir);
    if (err == KYMO_OK)
        err = forget_strangers(h, now_ns);
    /* Ends threads whose exit no hook saw. */
    for (uint32_t i = 0; err == KYMO_OK && i < h->slots_seen; i++) {
        struct kymo_host_slot *a = &h->slots[i];
        uint64_t cpu_ns;
        if (a->open && a->seen_scan + 2 <= h->scan) {
            /* A directory that changes while it is read may hide an entry, so the tid is also
             * looked up by name. The slot must not be reused while its thread still writes. */
            if (kymo_task_cpu_ns(h->pid, a->tid, &cpu_ns)) {
                a->seen_scan = h->scan;
                continue;
            }
            kymo_host_disarm(h, i);
            a->open = 0;
            err = kymo_drain_end_slot(h->drain, i, now_ns);
        }
    }
    return err;
}

static int has_same_auxv(const kymo_host *h)
{
    uint64_t now = h->auxv ? kymo_task_auxv_hash(h->pid) : 0;
    return !now || now == h->auxv;
}

/* Whether it runs another image; path: whose. */
static int has_execed(const kymo_host *h, int quickly, char path[PATH_MAX])
{
    struct kymo_task_exe exe;
    /* Before the executable is read, which fails for a process that has ended. */
    int lives = kymo_task_image_lives(h->image);
    if ((quickly && lives && h->image >= 0) || !kymo_task_executable(h->pid, &exe, path, PATH_MAX))
        return 0;
    return !lives || exe.device != h->exe.device || exe.inode != h->exe.inode || !has_same_auxv(h);
}

int kymo_host_runs_on(const kymo_host *h)
{
    char path[PATH_MAX];
    return !h->replaced && !has_execed(h, 0, path);
}

void kymo_host_notice_exec(kymo_host *h, int quickly)
{
    if (h->replaced || !has_execed(h, quickly, h->replaced_by))
        return;
    h->replaced = 1;
    kymo_host_stop(h);
    if (h->is_outside) /* without memory for it, it is found later */
        (void)!h->config.on_relative(h->config.on_relative_context, h->pid, h->pid);
}
