/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_hooks.c - see signal_hooks.h.
 */
#include "capture/signal_hooks.h"

#include <signal.h>
#include <string.h>
#include <sys/auxv.h>

#include "capture/hook.h"
#include "capture/on_signal.h"
#include "sys/raw.h"

typedef int sigaction_fn(int, const struct sigaction *, struct sigaction *);
typedef int altstack_fn(const stack_t *, stack_t *);
typedef void (*handler_fn)(int);
typedef handler_fn signal_fn(int, handler_fn);

static sigaction_fn *real_sigaction;
static signal_fn *real_signal;
static altstack_fn *real_altstack;

int kymo_signal_hooks_init(void)
{
    return KYMO_REAL(real_sigaction, sigaction_fn, "sigaction") &&
           KYMO_REAL(real_signal, signal_fn, "signal") &&
           KYMO_REAL(real_altstack, altstack_fn, "sigaltstack");
}

static struct kymo_program_action action_of(const struct sigaction *from)
{
    struct kymo_program_action to = {.handler = from->sa_handler, .flags = from->sa_flags};
    memcpy(&to.mask, &from->sa_mask, sizeof to.mask);
    return to;
}

static void describe(const struct kymo_program_action *from, struct sigaction *to)
{
    *to = (struct sigaction){.sa_flags = from->flags};
    to->sa_handler = from->handler;
    memcpy(&to->sa_mask, &from->mask, sizeof from->mask);
}

/* SA_ONSTACK: programs whose threads run on stacks of their own making, too small for a handler,
 * give each thread an alternate one. 0 once a thread has an alternate one that is too small. */
static int on_stack = SA_ONSTACK;

/* Our handler for a signal of which the program wants this. A program whose own handler is to
 * interrupt system calls waits for that: then ours must, too. */
static int install(int signo, const struct kymo_program_action *program)
{
    int handled = program->handler != SIG_DFL && program->handler != SIG_IGN;
    struct sigaction ours = {.sa_flags = SA_SIGINFO | kymo_load_relaxed(&on_stack) |
                                         (handled ? program->flags & SA_RESTART : SA_RESTART)};
    ours.sa_sigaction = kymo_on_signal;
    /* All of them: sigfillset leaves out the two that libc uses itself, and a thread that is
     * cancelled inside our handler would leave things there as they are. */
    memset(&ours.sa_mask, 0xff, sizeof ours.sa_mask);
    return real_sigaction(signo, &ours, NULL) == 0;
}

int kymo_signal_hooks_install(int signo)
{
    struct sigaction theirs;
    if (real_sigaction(signo, NULL, &theirs) != 0)
        return 0;
    struct kymo_program_action action = action_of(&theirs);
    kymo_program_action_set(&action);
    return install(signo, &action);
}

/* ---- sigaction ---- */

/* Whether the program may not have this signal's real action, because our handler has it. A child
 * of vfork runs in this memory under another pid: what it sets is for itself alone. */
static int is_ours(int signo)
{
    struct kymo_process *p = kymo_load_acquire(&kymo_process_state);
    return p && p->session && signo == p->signal && p->session->pid == kymo_raw_getpid();
}

/* sigaction may be called in a handler: so whoever holds the lock has every signal blocked. A
 * forked child never takes it. */
static uint32_t actions_lock;

static void lock_actions(uint64_t *mask)
{
    static const uint64_t every = UINT64_MAX;
    kymo_raw_set_mask(&every, mask);
    for (uint32_t free = 0; !kymo_cas_acq_rel(&actions_lock, &free, 1u); free = 0)
        kymo_raw_wait_a_little();
}

static void unlock_actions(const uint64_t *mask)
{
    kymo_store_release(&actions_lock, 0u);
    kymo_raw_set_mask(mask, NULL);
}

KYMO_HOOK int sigaction(int signo, const struct sigaction *restrict action,
                        struct sigaction *restrict old)
{
    sigaction_fn *real = KYMO_REAL(real_sigaction, sigaction_fn, "sigaction");
    if (!is_ours(signo)) {
        int result = real(signo, action, old);
        /* A child has inherited our handler, and is not to see it. */
        if (result == 0 && old && old->sa_sigaction == kymo_on_signal) {
            struct kymo_program_action inherited = kymo_program_action_get(NULL);
            describe(&inherited, old);
        }
        return result;
    }
    struct kymo_program_action before;
    if (action) {
        struct kymo_program_action now = action_of(action);
        uint64_t mask;
        lock_actions(&mask);
        before = kymo_program_action_get(NULL);
        kymo_program_action_set(&now);
        (void)install(signo, &now);
        unlock_actions(&mask);
    } else {
        before = kymo_program_action_get(NULL);
    }
    if (old)
        describe(&before, old);
    return 0;
}

KYMO_HOOK handler_fn signal(int signo, handler_fn handler)
{
    signal_fn *real = KYMO_REAL(real_signal, signal_fn, "signal");
    if (!is_ours(signo) || handler == SIG_ERR) {
        handler_fn result = real(signo, handler);
        return result == (handler_fn)(void *)kymo_on_signal ? kymo_program_action_get(NULL).handler
                                                            : result;
    }
    struct sigaction action = {.sa_flags = SA_RESTART};
    struct sigaction old;
    action.sa_handler = handler;
    sigaddset(&action.sa_mask, signo);
    (void)sigaction(signo, &action, &old);
    return old.sa_handler;
}

/* ---- sigaltstack ---- */

/* The kernel's frame, which is large where registers are wide, and what our own handler uses, which
 * tools/signal-path.txt bounds. */
static size_t handler_needs(void)
{
    size_t frame = getauxval(AT_MINSIGSTKSZ);
    return (frame ? frame : 4096u) + 2048u;
}

/* An alternate stack that is meant for a fault which never comes may be smaller than the kernel's
 * frame: our signal would end the program there. */
KYMO_HOOK int sigaltstack(const stack_t *restrict stack, stack_t *restrict old)
{
    altstack_fn *real = KYMO_REAL(real_altstack, altstack_fn, "sigaltstack");
    struct kymo_process *p = kymo_process_here();
    if (p && stack && !(stack->ss_flags & SS_DISABLE) && stack->ss_size < handler_needs() &&
        kymo_load_relaxed(&on_stack) && is_ours(p->signal)) {
        uint64_t mask;
        lock_actions(&mask);
        kymo_store_relaxed(&on_stack, 0);
        struct kymo_program_action action = kymo_program_action_get(NULL);
        (void)install(p->signal, &action);
        unlock_actions(&mask);
    }
    return real(stack, old);
}
