/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_move.c - see signal_move.h.
 *
 * A move, on the thread that is about to use the signal: our handler goes in front of the next
 * one; all timers are made anew; the recorder, which has the perf events, sets the signal of each
 * and says so; only then the program's call goes on. What was raised before that is delivered under
 * the old number, in front of which our handler stays.
 */
#include "capture/signal_move.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "capture/hooks.h"
#include "capture/mask_hooks.h"
#include "capture/on_signal.h"
#include "capture/timer.h"
#include "sys/raw.h"

/* So often the recorder is looked after: a fifth of a second. It answers within some ten
 * microseconds, unless it is stopped or the machine is full. */
#define PATIENCE 3000
/* Real-time signals are tried from SIGRTMAX - 3 on: some run-time systems use the last ones. */
#define REAL_TIME_FIRST 3
#define REAL_TIME 32 /* from here on the default is to end the process */
#define REAL_TIME_TRIES 12

static uint32_t actions_lock;
/* Signals that the program uses. Only grows. */
static uint64_t used_by_program;

/* SA_ONSTACK: programs whose threads run on stacks of their own making, too small for a handler,
 * give each thread an alternate one. 0 once a thread has an alternate one that is too small. */
static int on_stack = SA_ONSTACK;

struct kymo_program_action kymo_program_action_of(const struct sigaction *from)
{
    struct kymo_program_action to = {.handler = from->sa_handler, .flags = from->sa_flags};
    memcpy(&to.mask, &from->sa_mask, sizeof to.mask);
    return to;
}

void kymo_program_action_describe(const struct kymo_program_action *from, struct sigaction *to)
{
    *to = (struct sigaction){.sa_flags = from->flags};
    to->sa_handler = from->handler;
    memcpy(&to->sa_mask, &from->mask, sizeof from->mask);
}

int kymo_signal_process_is_own(const struct kymo_capture_process *p)
{
    return kymo_is_quiet(p) || p->session->pid == kymo_raw_getpid();
}

/* may_mask: the kernel may be asked to block signals. */
static void take_lock(struct kymo_signal_hold *hold, int may_mask)
{
    static const uint64_t every = UINT64_MAX;
    int tries = 0;
    hold->masked = may_mask;
    if (!hold->masked) {
        /* Nothing can be blocked: so who holds the lock may be the code that we interrupt, and is
         * not waited for for ever. */
        for (uint32_t free = 0; !kymo_cas_acq_rel(&actions_lock, &free, 1u) && tries < 10000;
             free = 0)
            tries++;
        return;
    }
    kymo_raw_set_mask(&every, &hold->mask);
    for (uint32_t free = 0; !kymo_cas_acq_rel(&actions_lock, &free, 1u); free = 0)
        kymo_raw_wait_a_little();
}

void kymo_signal_lock(const struct kymo_capture_process *p, struct kymo_signal_hold *hold)
{
    take_lock(hold, !kymo_is_quiet(p));
}

void kymo_signal_unlock(const struct kymo_signal_hold *hold)
{
    kymo_store_release(&actions_lock, 0u);
    if (hold->masked)
        kymo_raw_set_mask(&hold->mask, NULL);
}

void kymo_signal_after_fork(void)
{
    kymo_store_relaxed(&actions_lock, 0u);
}

/* A program whose own handler is to interrupt system calls waits for that: then ours must, too. */
int kymo_signal_install(int signo, const struct kymo_program_action *program)
{
    int handled = program->handler != SIG_DFL && program->handler != SIG_IGN;
    struct sigaction ours = {.sa_flags = SA_SIGINFO | kymo_load_relaxed(&on_stack) |
                                         (handled ? program->flags & SA_RESTART : SA_RESTART)};
    ours.sa_sigaction = kymo_on_signal;
    /* All of them: sigfillset leaves out the two that libc uses itself, and a thread that is
     * cancelled inside our handler would leave things there as they are. */
    memset(&ours.sa_mask, 0xff, sizeof ours.sa_mask);
    return KYMO_REAL_FOUND(sigaction)(signo, &ours, NULL) == 0;
}

/* The kernel's frame, which is large where registers are wide, and what our own handler uses, which
 * tools/signal-path.txt bounds. */
static size_t handler_needs(void)
{
    size_t frame = getauxval(AT_MINSIGSTKSZ);
    return (frame ? frame : 4096u) + 2048u;
}

int kymo_signal_would_overflow(const stack_t *stack)
{
    return kymo_load_relaxed(&on_stack) && !(stack->ss_flags & SS_DISABLE) &&
           stack->ss_size < handler_needs();
}

void kymo_signal_off_alternate_stack(struct kymo_capture_process *p)
{
    struct kymo_signal_hold hold;
    kymo_store_relaxed(&on_stack, 0);
    if (!p)
        return;
    kymo_signal_lock(p, &hold);
    for (int signo = 1; signo < NSIG; signo++) {
        int own = kymo_own_signal_find(signo);
        if (own >= 0) {
            struct kymo_program_action action = kymo_program_action_get(own, NULL);
            (void)kymo_signal_install(signo, &action);
        }
    }
    kymo_signal_unlock(&hold);
}

/* Without the lock: a child of vfork, which has actions of its own, would take it along. */
uint64_t kymo_signal_ignore(void)
{
    struct sigaction now;
    struct sigaction ignore = {.sa_flags = 0};
    uint64_t ignored = 0;
    if (kymo_is_quiet_here())
        return 0;
    ignore.sa_handler = SIG_IGN;
    for (int signo = 1; signo < NSIG; signo++) {
        int own = kymo_own_signal_find(signo);
        if (own >= 0 && kymo_program_action_get(own, NULL).handler == SIG_IGN &&
            KYMO_REAL_FOUND(sigaction)(signo, NULL, &now) == 0 &&
            now.sa_sigaction == kymo_on_signal &&
            KYMO_REAL_FOUND(sigaction)(signo, &ignore, NULL) == 0)
            ignored |= KYMO_SIGNAL_BIT(signo);
    }
    return ignored;
}

void kymo_signal_heed(uint64_t ignored)
{
    int saved = errno;
    for (int signo = 1; ignored && signo < NSIG; signo++) {
        int own = kymo_own_signal_find(signo);
        if (!(ignored & KYMO_SIGNAL_BIT(signo)) || own < 0)
            continue;
        struct kymo_program_action action = kymo_program_action_get(own, NULL);
        (void)kymo_signal_install(signo, &action);
    }
    errno = saved;
}

void kymo_signal_note_use(uint64_t mask)
{
    uint64_t seen = kymo_load_relaxed(&used_by_program);
    while ((seen & mask) != mask && !kymo_cas_relaxed(&used_by_program, &seen, seen | mask)) {
    }
}

/* Installs our handler for a signal that the program does not use; returns 0 if the program uses
 * it. */
static int take(int signo)
{
    struct sigaction theirs;
    if (kymo_load_relaxed(&used_by_program) & KYMO_SIGNAL_BIT(signo) ||
        kymo_own_signal_find(signo) >= 0 || KYMO_REAL_FOUND(sigaction)(signo, NULL, &theirs) != 0 ||
        (theirs.sa_handler != SIG_DFL && theirs.sa_handler != SIG_IGN))
        return 0;
    struct kymo_program_action action = kymo_program_action_of(&theirs);
    return kymo_own_signal_add(signo, &action) >= 0 && kymo_signal_install(signo, &action);
}

/* The next signal that is free, with our handler; 0: none. */
static int take_next(void)
{
    if (take(SIGURG))
        return SIGURG;
    if (take(SIGWINCH))
        return SIGWINCH;
    for (int i = 0; i < REAL_TIME_TRIES; i++)
        if (take(SIGRTMAX - REAL_TIME_FIRST - i))
            return SIGRTMAX - REAL_TIME_FIRST - i;
    return 0;
}

int kymo_signal_start(struct kymo_capture_process *p)
{
    struct kymo_session *s = p->session;
    uint64_t blocked;
    int signo = (int)s->signal;
    stack_t stack;
    /* Where no function of libc is hooked, and what was done by number. */
    if (kymo_syscall3(SYS_sigaltstack, 0, (long)(intptr_t)&stack, 0) == 0 &&
        kymo_signal_would_overflow(&stack))
        kymo_signal_off_alternate_stack(NULL);
    kymo_raw_get_mask(&blocked);
    if (s->flags & KYMO_SESSION_SIGNAL_FIXED) {
        struct sigaction theirs;
        if (KYMO_REAL_FOUND(sigaction)(signo, NULL, &theirs) != 0)
            return 0;
        struct kymo_program_action action = kymo_program_action_of(&theirs);
        if (kymo_own_signal_add(signo, &action) < 0 || !kymo_signal_install(signo, &action))
            return 0;
    } else {
        /* Who started the program with just these signals blocked means them. */
        if (!kymo_mask_is_of_all(blocked))
            kymo_signal_note_use(blocked);
        signo = take_next();
    }
    p->signal = signo;
    kymo_store_release(&s->signal_now, (uint32_t)signo);
    if (signo)
        kymo_mask_open(blocked & KYMO_SIGNAL_BIT(signo));
    return signo != 0;
}

/* Waits until the recorder's events have the signal, and none of them is pending for this thread,
 * which the kernel sees to when signals are unblocked again. */
static void await_recorder(const struct kymo_capture_process *p, uint32_t signo)
{
    const struct kymo_session *s = p->session;
    for (int i = 0;
         i < PATIENCE && s->engine != KYMO_SESSION_TIMER && kymo_load_relaxed(&s->attached) &&
         !kymo_load_relaxed(&s->stopped) && kymo_load_acquire(&s->signal_done) != signo;
         i++)
        kymo_raw_wait_a_little();
}

/* What the program wants of each signal that our handler stands in front of, it has. What a timer
 * has raised for another thread may still be pending, and a real-time signal ends the program by
 * default: ignoring it first makes the kernel forget it. */
static void give_back(void)
{
    for (int signo = 1; signo < NSIG; signo++) {
        struct sigaction now, theirs;
        int own = kymo_own_signal_find(signo);
        if (own < 0 || KYMO_REAL_FOUND(sigaction)(signo, NULL, &now) != 0 ||
            now.sa_sigaction != kymo_on_signal)
            continue;
        struct kymo_program_action action = kymo_program_action_get(own, NULL);
        kymo_program_action_describe(&action, &theirs);
        if (signo >= REAL_TIME && action.handler == SIG_DFL) {
            struct sigaction ignore = {.sa_flags = 0};
            ignore.sa_handler = SIG_IGN;
            (void)KYMO_REAL_FOUND(sigaction)(signo, &ignore, NULL);
        }
        (void)KYMO_REAL_FOUND(sigaction)(signo, &theirs, NULL);
    }
}

/* Behind an earlier filter that forbids it, timers cannot be taken away: what they raise is
 * pending, and blocked signals stay what they are. Then nothing is changed but what the recorder
 * sees to. */
void kymo_signal_stop(struct kymo_capture_process *p, int may_call)
{
    struct kymo_signal_hold hold;
    int saved = errno;
    if (!p || !kymo_signal_process_is_own(p)) {
        if (may_call)
            give_back();
        errno = saved;
        return;
    }
    take_lock(&hold, may_call);
    kymo_store_relaxed(&p->signal, 0);
    if (may_call)
        kymo_timers_stop(p);
    kymo_store_release(&p->session->signal_now, 0u);
    kymo_wake_recorder(p);
    if (may_call)
        await_recorder(p, 0);
    kymo_signal_unlock(&hold);
    if (may_call) {
        give_back();
        kymo_mask_forget();
    }
    errno = saved;
}

void kymo_signal_leave(struct kymo_capture_process *p, uint64_t mask)
{
    struct kymo_session *s = p->session;
    struct kymo_signal_hold hold;
    /* A filter does not let us go: the signal stays shared with the program. */
    if (kymo_is_quiet(p) || !kymo_signal_process_is_own(p))
        return;
    int present = kymo_load_relaxed(&p->signal);
    int concerned = present && mask & KYMO_SIGNAL_BIT(present);
    if (s->flags & KYMO_SESSION_SIGNAL_FIXED) {
        if (concerned)
            kymo_store_relaxed(&s->signal_wanted, 1u);
        return;
    }
    kymo_signal_lock(p, &hold);
    kymo_signal_note_use(mask);
    present = p->signal;
    if (present && kymo_load_relaxed(&used_by_program) & KYMO_SIGNAL_BIT(present)) {
        int next = take_next();
        kymo_store_relaxed(&p->signal, next);
        kymo_timers_follow(p);
        /* Pairs with the recorder's acquire: the handler is in place. */
        kymo_store_release(&s->signal_now, (uint32_t)next);
        kymo_wake_recorder(p);
        await_recorder(p, (uint32_t)next);
    }
    kymo_signal_unlock(&hold);
}
