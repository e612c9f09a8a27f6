/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/launch_signals.h"

#include "base/atomic.h"

#define BIT(signo) (1ull << ((signo)-1))

static uint32_t child_changed;
static uint32_t interrupts;
static uint64_t to_forward;
static int forwards_all;

static void on_child(int signo, siginfo_t *info, void *context)
{
    (void)signo, (void)info, (void)context;
    kymo_store_relaxed(&child_changed, 1u);
}

static void on_forward(int signo, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    (void)__atomic_fetch_or(&to_forward, BIT(signo), __ATOMIC_RELAXED);
}

/* The kernel's own are those of the terminal, whose processes all get them. */
static void on_sent(int signo, siginfo_t *info, void *context)
{
    if (forwards_all && info->si_code <= 0)
        on_forward(signo, info, context);
    else if (signo == SIGINT)
        kymo_add_relaxed(&interrupts, 1u);
}

static void handle(struct kymo_launch_signals *s, int signo,
                   void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_flags = handler ? SA_SIGINFO : 0};
    if (handler)
        action.sa_sigaction = handler;
    else
        action.sa_handler = SIG_IGN;
    sigaction(signo, &action, &s->before[signo]);
    sigaddset(&s->handled, signo);
}

void kymo_launch_signals_take(struct kymo_launch_signals *s, int all)
{
    static const int sent[] = {SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH,
                               SIGCONT, SIGURG,  SIGIO,   SIGPWR};
    sigemptyset(&s->handled);
    child_changed = interrupts = 0;
    to_forward = 0;
    forwards_all = all;
    handle(s, SIGCHLD, on_child);
    handle(s, SIGTERM, on_forward);
    handle(s, SIGHUP, on_forward);
    handle(s, SIGINT, on_sent);
    handle(s, SIGQUIT, NULL);
    handle(s, SIGPIPE, NULL);
    handle(s, SIGXFSZ, NULL);
    for (size_t i = 0; all && i < sizeof sent / sizeof *sent; i++)
        handle(s, sent[i], on_sent);
    for (int signo = SIGRTMIN; all && signo <= SIGRTMAX; signo++)
        handle(s, signo, on_sent);
    sigprocmask(SIG_BLOCK, &s->handled, &s->mask);
    /* Who started us may have blocked them: the program gets that mask, we want to hear. */
    s->waiting = s->mask;
    for (int signo = 1; signo < NSIG; signo++)
        if (sigismember(&s->handled, signo) == 1)
            sigdelset(&s->waiting, signo);
}

void kymo_launch_signals_give_back(const struct kymo_launch_signals *s)
{
    for (int signo = 1; signo < NSIG; signo++)
        if (sigismember(&s->handled, signo) == 1)
            sigaction(signo, &s->before[signo], NULL);
    sigprocmask(SIG_SETMASK, &s->mask, NULL);
}

int kymo_launch_child_has_changed(void)
{
    return kymo_exchange_acq_rel(&child_changed, 0u) != 0;
}

unsigned kymo_launch_interrupts(void)
{
    return kymo_load_relaxed(&interrupts);
}

int kymo_launch_shall_end(void)
{
    return (kymo_load_relaxed(&to_forward) &
            (BIT(SIGTERM) | BIT(SIGHUP) | BIT(SIGINT) | BIT(SIGQUIT))) != 0;
}

void kymo_launch_forward(pid_t pid)
{
    const uint64_t signals = kymo_exchange_acq_rel(&to_forward, 0u);
    for (int signo = 1; signals && signo < NSIG; signo++)
        if (signals & BIT(signo))
            (void)kill(pid, signo);
}
