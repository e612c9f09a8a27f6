/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_hooks.c - the libc functions about handlers and alternate stacks.
 *
 * A program that installs a handler for the signal that samples arrive by gets the signal, and we
 * move on. Our handler stays in front of the old number and passes on what is not ours. Where we
 * cannot move (signal= was given, or a seccomp filter came) the two share it.
 *
 * The functions of BSD and of System V are sigaction in other words. In glibc they come to it by
 * ways of their own, so each is hooked.
 */
#include <errno.h>
#include <signal.h>

#include "capture/fork_child.h"
#include "capture/hooks.h"
#include "capture/mask_hooks.h"
#include "capture/on_signal.h"
#include "capture/signal_move.h"
#include "capture/thread.h"

typedef void (*handler_fn)(int);

/* What is kept of the program's action, alone. */
static void change_kept(int own, const struct sigaction *action, struct sigaction *old)
{
    struct kymo_program_action before = kymo_program_action_get(own, NULL);
    if (action) {
        struct kymo_program_action now = kymo_program_action_of(action);
        kymo_program_action_set(own, &now);
    }
    if (old)
        kymo_program_action_describe(&before, old);
}

static int act(int signo, const struct sigaction *action, struct sigaction *old)
{
    __typeof__(sigaction) *real = KYMO_REAL(sigaction);
    struct kymo_capture_process *p = kymo_process_here();
    int handles = action && action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
    /* Before it is asked whether the signal is one of ours: from here on no other thread moves
     * there, whose handler the real call would take away. */
    if (handles && p && signo > 0 && signo < NSIG)
        kymo_signal_leave(p, KYMO_SIGNAL_BIT(signo));
    int own = kymo_own_signal_find(signo);
    if (own >= 0 && !p && kymo_fork_is_pending()) {
        /* Our handler waits in this child, and goes on to; unless the program wants the signal. */
        if (!handles) {
            change_kept(own, action, old);
            return 0;
        }
        kymo_fork_attach_now();
        p = kymo_process_here();
        if (p)
            kymo_signal_leave(p, KYMO_SIGNAL_BIT(signo));
    }
    if (own < 0 || !p || !kymo_signal_process_is_own(p) ||
        kymo_load_relaxed(&p->session->quiet) & KYMO_QUIET_SIGNALS) {
        int result = real(signo, action, old);
        /* A child has inherited our handler, and is not to see it. */
        if (result == 0 && old && own >= 0 && old->sa_sigaction == kymo_on_signal) {
            struct kymo_program_action inherited = kymo_program_action_get(own, NULL);
            kymo_program_action_describe(&inherited, old);
        }
        return result;
    }
    struct kymo_program_action before;
    if (action) {
        struct kymo_program_action now = kymo_program_action_of(action);
        struct kymo_signal_hold hold;
        kymo_signal_lock(p, &hold);
        before = kymo_program_action_get(own, NULL);
        kymo_program_action_set(own, &now);
        (void)kymo_signal_install(signo, &now);
        kymo_signal_unlock(&hold);
    } else {
        before = kymo_program_action_get(own, NULL);
    }
    if (old)
        kymo_program_action_describe(&before, old);
    return 0;
}

KYMO_HOOK int sigaction(int signo, const struct sigaction *restrict action,
                        struct sigaction *restrict old)
{
    return act(signo, action, old);
}

/* ---- in other words ---- */

/* What siginterrupt was asked for, as a mask: signal takes heed of it. */
static uint64_t interrupting;

static handler_fn act_simply(int signo, handler_fn handler, int flags, int blocks_itself)
{
    struct sigaction action = {.sa_flags = flags};
    struct sigaction old;
    if (handler == SIG_ERR || signo <= 0 || signo >= NSIG) {
        errno = EINVAL;
        return SIG_ERR;
    }
    action.sa_handler = handler;
    if (blocks_itself)
        sigaddset(&action.sa_mask, signo);
    return act(signo, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

/* Under the names that glibc has for them; not all are declared everywhere. */
#define ALSO(function, name) \
    KYMO_HOOK handler_fn function(int signo, handler_fn handler) __asm__(name)

ALSO(kymo_hook_signal, "signal");
handler_fn kymo_hook_signal(int signo, handler_fn handler)
{
    int interrupts = signo > 0 && signo < NSIG &&
                     (kymo_load_relaxed(&interrupting) & KYMO_SIGNAL_BIT(signo)) != 0;
    return act_simply(signo, handler, interrupts ? 0 : SA_RESTART, 1);
}
ALSO(kymo_hook_bsd_signal, "bsd_signal") __attribute__((alias("signal")));
ALSO(kymo_hook_ssignal, "ssignal") __attribute__((alias("signal")));

ALSO(kymo_hook_sysv_signal, "sysv_signal");
handler_fn kymo_hook_sysv_signal(int signo, handler_fn handler)
{
    return act_simply(signo, handler, (int)(SA_RESETHAND | SA_NODEFER), 0);
}
ALSO(kymo_hook_sysv_signal_internal, "__sysv_signal") __attribute__((alias("sysv_signal")));

/* The program's handler, SIG_HOLD where the signal was blocked. */
ALSO(kymo_hook_sigset, "sigset");
handler_fn kymo_hook_sigset(int signo, handler_fn handler)
{
    struct sigaction old;
    sigset_t one, before;
    sigemptyset(&one);
    if (handler == SIG_ERR || sigaddset(&one, signo) != 0) {
        errno = EINVAL;
        return SIG_ERR;
    }
    if (handler == SIG_HOLD) {
        if (sigprocmask(SIG_BLOCK, &one, &before) != 0 || act(signo, NULL, &old) != 0)
            return SIG_ERR;
    } else {
        struct sigaction action = {.sa_flags = 0};
        action.sa_handler = handler;
        if (act(signo, &action, &old) != 0 || sigprocmask(SIG_UNBLOCK, &one, &before) != 0)
            return SIG_ERR;
    }
    return sigismember(&before, signo) ? SIG_HOLD : old.sa_handler;
}

KYMO_HOOK int sigignore(int signo)
{
    struct sigaction action = {.sa_flags = 0};
    action.sa_handler = SIG_IGN;
    return act(signo, &action, NULL);
}

KYMO_HOOK int siginterrupt(int signo, int interrupts)
{
    struct sigaction action;
    if (act(signo, NULL, &action) != 0)
        return -1;
    uint64_t bit = KYMO_SIGNAL_BIT(signo);
    uint64_t seen = kymo_load_relaxed(&interrupting);
    while (!kymo_cas_relaxed(&interrupting, &seen, interrupts ? seen | bit : seen & ~bit)) {
    }
    action.sa_flags = interrupts ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
    return act(signo, &action, NULL);
}

/* ---- sigaltstack ---- */

/* An alternate stack that is meant for a fault which never comes may be smaller than the kernel's
 * frame: our signal would end the program there. */
KYMO_HOOK int sigaltstack(const stack_t *restrict stack, stack_t *restrict old)
{
    __typeof__(sigaltstack) *real = KYMO_REAL(sigaltstack);
    struct kymo_capture_process *p = kymo_process_here();
    if (stack && kymo_signal_would_overflow(stack)) {
        /* A forked child that has not attached has its parent's handler, and a timer for it. */
        kymo_fork_attach_now();
        p = kymo_process_here();
        if (!p || (!(kymo_load_relaxed(&p->session->quiet) & KYMO_QUIET_SIGNALS) &&
                   kymo_signal_process_is_own(p)))
            kymo_signal_off_alternate_stack(p);
    }
    int result = real(stack, old);
    /* A child of vfork has one of its own, and its parent's memory. */
    if (result == 0 && stack && (!p || kymo_signal_process_is_own(p)) &&
        kymo_thread_pointer_is_libc(!p || !kymo_is_quiet(p)))
        kymo_thread_know_alternate((uint64_t)(uintptr_t)stack->ss_sp,
                                   stack->ss_flags & SS_DISABLE ? 0 : stack->ss_size);
    return result;
}
