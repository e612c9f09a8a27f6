/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_status.c - checks in /proc for what a process did without libc: a seccomp filter, and a
 * replaced signal handler.
 *
 * A filter that existed when the program attached let our library start; a further one may kill the
 * program for a system call of ours. Then the library makes no system calls ("quiet",
 * capture/seccomp_hooks.c), and its threads cannot read their CPU time: it is read here each round.
 */
#include <stdio.h>

#include "base/atomic.h"
#include "recorder/host_state.h"

void kymo_host_note_status(kymo_host *h)
{
    if (h->has_status)
        return;
    h->has_status = kymo_task_read_status(h->pid, h->pid, &h->status);
    if (!h->is_filtered)
        h->status.filters = 0; /* when it attached; what was set since is noticed */
}

/* Our handler is no longer installed: the signal would have no effect, or one that the program
 * does not expect. */
static kymo_err stop_sending(kymo_host *h, uint64_t now_ns)
{
    static const char text[] = "the program set the signal that samples arrived by back to its "
                               "default, by a system call of its own: from then on it was not "
                               "sampled";
    h->signal_lost = h->out.deaf = 1;
    if (h->out.wall)
        kymo_wall_set_deaf(h->out.wall);
    for (uint32_t i = 0; i < h->slots_seen; i++)
        kymo_host_disarm(h, i);
    kymo_event_note e = {now_ns, h->out.process, KYMO_NOTE_WARNING, text};
    return h->config.events->note(h->config.events_context, &e);
}

/* A filter set by libc's functions was seen by our hooks. */
static kymo_err become_quiet(kymo_host *h, uint32_t filters, uint64_t now_ns)
{
    static const char text[] = "the program set a seccomp filter by a system call of its own: "
                               "samples made system calls, which it may forbid, until that was "
                               "seen, and none from then on";
    enum { STRICT = 1 };
    uint32_t more = KYMO_QUIET_CALLS;
    uint32_t before = kymo_load_relaxed(&h->session->quiet);
    if (filters >> KYMO_TASK_SECCOMP_SHIFT == STRICT)
        more |= KYMO_QUIET_COUNTER;
    /* The program's threads set other bits meanwhile. */
    while (!kymo_cas_relaxed(&h->session->quiet, &before, before | more))
        ;
    if (before & KYMO_QUIET_CALLS)
        return KYMO_OK;
    kymo_event_note e = {now_ns, h->out.process, KYMO_NOTE_WARNING, text};
    return h->config.events->note(h->config.events_context, &e);
}

kymo_err kymo_host_look_at_status(kymo_host *h, pid_t tid, uint64_t now_ns)
{
    struct kymo_task_status status;
    if (!kymo_task_read_status(h->pid, tid, &status) || status.is_dead)
        return KYMO_OK;
    if (status.filters != h->status.filters)
        KYMO_TRY(become_quiet(h, status.filters, now_ns));
    if (h->signal == 0 || h->signal_lost || status.caught >> (h->signal - 1) & 1)
        return KYMO_OK;
    /* exec does that, too: checks for it. */
    kymo_host_notice_exec(h, 0);
    return h->replaced ? KYMO_OK : stop_sending(h, now_ns);
}

void kymo_host_note_cpu(kymo_host *h)
{
    if (!(kymo_load_relaxed(&h->session->quiet) & KYMO_QUIET_CALLS))
        return;
    for (uint32_t i = 0; i < h->slots_seen; i++) {
        uint64_t cpu_ns;
        if (h->slots[i].open && kymo_task_cpu_ns(h->pid, h->slots[i].tid, &cpu_ns))
            kymo_store_relaxed(&kymo_session_slot(h->session, &h->plan, i)->seen_cpu_ns, cpu_ns);
    }
}
