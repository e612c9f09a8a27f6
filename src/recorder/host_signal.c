/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_signal.c - the signal of a session's samples, which changes if the program uses it
 * (capture/signal_move.h).
 *
 * The program's hook chooses a new signal and waits until the host has changed the events. An event
 * must not raise a real-time signal: one that cannot be queued (RLIMIT_SIGPENDING) becomes SIGIO,
 * which kills the program. The host must not send one either: after an exec it would kill the next
 * image. With such a signal the threads have timers, made by their own process.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "capture/signal_move.h"
#include "recorder/host_state.h"

int kymo_host_may_send(const kymo_host *h)
{
    return h->signal != 0 && !h->signal_lost && h->signal < SIGRTMIN;
}

static kymo_err say(const kymo_host *h, uint64_t now_ns, kymo_event_severity severity,
                    const char *text)
{
    kymo_event_note e = {now_ns, h->out.process, severity, text};
    return h->config.events->note(h->config.events_context, &e);
}

/* Also for events of the dispatcher. */
static void set_signal_of_events(kymo_host *h)
{
    for (uint32_t i = 0; i < h->plan.threads; i++) {
        const struct kymo_host_slot *a = &h->slots[i];
        if (a->open && a->dispatched)
            kymo_dispatch_set_signal(h->config.dispatch, a->dispatched - 1,
                                     kymo_host_may_send(h) ? h->signal : 0);
        if (!a->open || a->fd < 0)
            continue;
        if (!kymo_host_may_send(h) || fcntl(a->fd, F_SETSIG, h->signal) != 0)
            kymo_host_disarm(h, i);
    }
}

kymo_err kymo_host_follow_signal(kymo_host *h, uint64_t now_ns)
{
    char text[160];
    uint32_t now = kymo_load_acquire(&h->session->signal_now);
    if (kymo_load_relaxed(&h->session->signal_wanted) && !h->said_wanted) {
        h->said_wanted = 1;
        KYMO_TRY(say(h, now_ns, KYMO_NOTE_WARNING,
                     "the program itself uses the signal that signal= gave: a few of its signals "
                     "may be merged with ours"));
    }
    if ((int)now == h->signal)
        return KYMO_OK;
    /* The value in the session was written by the program. */
    int known = now == SIGURG || now == SIGWINCH ||
                (now >= (uint32_t)SIGRTMIN && now <= (uint32_t)SIGRTMAX);
    h->signal = known ? (int)now : 0;
    h->out.deaf = h->signal == 0;
    set_signal_of_events(h);
    kymo_store_release(&h->session->signal_done, now);
    /* It moves a few times at most; a program that overwrites its session must not fill the
     * recording. */
    if (h->said_signals++ >= KYMO_OWN_SIGNALS)
        return KYMO_OK;
    if (h->signal == 0 && kymo_load_relaxed(&h->session->quiet) & KYMO_QUIET_SIGNALS)
        return say(h, now_ns, KYMO_NOTE_WARNING,
                   "the program set a seccomp filter that lets no signal handler return: from then "
                   "on it was not sampled");
    if (h->signal == 0)
        return say(h, now_ns, KYMO_NOTE_WARNING,
                   "the program uses every signal that samples could arrive by: from then on it "
                   "was not sampled");
    const char *name = sigabbrev_np(h->signal);
    if (name)
        snprintf(text, sizeof text,
                 "the program uses the signal that samples arrived by: SIG%s "
                 "carries them from then on",
                 name);
    else
        snprintf(text, sizeof text,
                 "the program uses SIGURG and SIGWINCH: from then on SIGRTMAX-%d carries samples, "
                 "sampled at the kernel tick only",
                 SIGRTMAX - h->signal);
    return say(h, now_ns, name ? KYMO_NOTE_INFO : KYMO_NOTE_WARNING, text);
}
