/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a signal once was to the program stays: so each case is a process of its own. The functions
 * of other files that a move calls are here, and look at what is there when they are called.
 */
#include "capture/signal_move.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/hooks.h"
#include "capture/mask_hooks.h"
#include "capture/on_signal.h"
#include "capture/timer.h"
#include "own_process.h"
#include "sys/raw.h"
#include "unit.h"

#define EVERY UINT64_MAX
#define BIT(signo) KYMO_SIGNAL_BIT(signo)

static struct kymo_session session;
static struct kymo_capture_process process = {.session = &session};
uint32_t kymo_quiet_here;
__thread uint32_t kymo_quiet_vfork KYMO_TLS_IE;

static struct {
    uint64_t opened; /* by kymo_mask_open */
    int moves;       /* of timers */
    int signal;      /* the process's, at the last one */
    uint32_t told;   /* the recorder was, by then */
    uint64_t mask;   /* the thread's, then */
    int signals;     /* that our handler got */
} seen;

int kymo_mask_is_of_all(uint64_t mask)
{
    return mask == (EVERY & ~(BIT(SIGKILL) | BIT(SIGSTOP)));
}

void kymo_mask_forget(void)
{
}

void kymo_mask_open(uint64_t mask)
{
    seen.opened |= mask;
}

void kymo_on_signal(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)info;
    (void)context;
    seen.signals++;
}

void kymo_timers_follow(struct kymo_capture_process *p)
{
    seen.moves++;
    seen.signal = p->signal;
    seen.told = p->session->signal_now;
    kymo_raw_get_mask(&seen.mask);
}

void kymo_timers_stop(struct kymo_capture_process *p)
{
    kymo_timers_follow(p);
}

/* ---- cases ---- */

static void begin_case(void)
{
    session.pid = (uint32_t)getpid();
    session.engine = KYMO_SESSION_TIMER;
    if (!kymo_real_find(KYMO_REAL_sigaction))
        _exit(2);
}

static void program_handler(int signo)
{
    (void)signo;
}

static void handle(int signo, void (*handler)(int))
{
    struct sigaction action = {.sa_flags = 0};
    action.sa_handler = handler;
    EXPECT(sigaction(signo, &action, NULL) == 0);
}

/* Whether our handler is in front of it, as the kernel has it. */
static int is_ours(int signo)
{
    struct sigaction now;
    EXPECT(sigaction(signo, NULL, &now) == 0);
    return now.sa_sigaction == kymo_on_signal;
}

static int flags_of(int signo)
{
    struct sigaction now;
    EXPECT(sigaction(signo, NULL, &now) == 0);
    return now.sa_flags;
}

static uint64_t mask_now(void)
{
    uint64_t mask;
    kymo_raw_get_mask(&mask);
    return mask;
}

/* ---- the first one ---- */

CASE(urg_is_the_first)
{
    struct sigaction now;
    EXPECT(kymo_signal_start(&process));
    EXPECT(process.signal == SIGURG && session.signal_now == SIGURG);
    EXPECT(sigaction(SIGURG, NULL, &now) == 0);
    EXPECT(now.sa_sigaction == kymo_on_signal);
    EXPECT(now.sa_flags & SA_SIGINFO && now.sa_flags & SA_RESTART && now.sa_flags & SA_ONSTACK);
    /* Nothing interrupts our handler. */
    for (int signo = 1; signo < 32; signo++)
        EXPECT(sigismember(&now.sa_mask, signo) == 1 || signo == SIGKILL || signo == SIGSTOP);
    EXPECT(raise(SIGURG) == 0 && seen.signals == 1);
}

CASE(what_the_program_handles_is_left_to_it)
{
    handle(SIGURG, program_handler);
    handle(SIGRTMAX - 3, program_handler);
    handle(SIGWINCH, program_handler);
    EXPECT(kymo_signal_start(&process));
    EXPECT(process.signal == SIGRTMAX - 4);
    EXPECT(!is_ours(SIGURG) && !is_ours(SIGWINCH) && !is_ours(SIGRTMAX - 3));
}

CASE(what_the_program_ignores_may_be_had)
{
    handle(SIGURG, SIG_IGN);
    EXPECT(kymo_signal_start(&process));
    EXPECT(process.signal == SIGURG && is_ours(SIGURG));
    EXPECT(kymo_program_action_get(kymo_own_signal_find(SIGURG), NULL).handler == SIG_IGN);
}

CASE(a_blocked_signal_is_meant_by_who_blocked_it)
{
    uint64_t urg = BIT(SIGURG);
    kymo_raw_change_mask(&urg, 1);
    EXPECT(kymo_signal_start(&process));
    EXPECT(process.signal == SIGWINCH && seen.opened == 0);
}

CASE(a_mask_of_all_signals_does_not_mean_ours)
{
    uint64_t all = EVERY;
    kymo_raw_set_mask(&all, NULL);
    EXPECT(kymo_signal_start(&process));
    EXPECT(process.signal == SIGURG && seen.opened == BIT(SIGURG));
}

CASE(where_all_are_used_there_is_none)
{
    kymo_signal_note_use(EVERY);
    EXPECT(!kymo_signal_start(&process));
    EXPECT(process.signal == 0 && session.signal_now == 0);
    EXPECT(!is_ours(SIGURG) && !is_ours(SIGWINCH));
}

CASE(a_given_signal_is_shared)
{
    session.flags = KYMO_SESSION_SIGNAL_FIXED;
    session.signal = SIGWINCH;
    handle(SIGWINCH, program_handler);
    EXPECT(kymo_signal_start(&process));
    EXPECT(process.signal == SIGWINCH && is_ours(SIGWINCH));
    EXPECT(kymo_program_action_get(kymo_own_signal_find(SIGWINCH), NULL).handler ==
           program_handler);
    kymo_signal_leave(&process, BIT(SIGURG));
    EXPECT(session.signal_wanted == 0);
    kymo_signal_leave(&process, BIT(SIGWINCH));
    EXPECT(session.signal_wanted == 1 && process.signal == SIGWINCH && seen.moves == 0);
}

/* ---- moves ---- */

CASE(a_move)
{
    uint64_t before = mask_now();
    EXPECT(kymo_signal_start(&process));
    kymo_signal_leave(&process, BIT(SIGURG) | BIT(SIGUSR1));
    EXPECT(process.signal == SIGWINCH && session.signal_now == SIGWINCH);
    /* The timers were moved before the recorder was told, with nothing let in. */
    EXPECT(seen.moves == 1 && seen.signal == SIGWINCH && seen.told == SIGURG);
    EXPECT((seen.mask | BIT(SIGKILL) | BIT(SIGSTOP)) == EVERY);
    EXPECT(session.wake == 1);
    EXPECT(mask_now() == before);
    /* One that was on its way comes to us still. */
    EXPECT(is_ours(SIGURG) && is_ours(SIGWINCH));
    kymo_signal_leave(&process, BIT(SIGURG));
    EXPECT(process.signal == SIGWINCH && seen.moves == 1 && session.wake == 1);
}

CASE(what_the_program_has_used_is_not_moved_to)
{
    EXPECT(kymo_signal_start(&process));
    kymo_signal_leave(&process, BIT(SIGWINCH) | BIT(SIGRTMAX - 3));
    EXPECT(process.signal == SIGURG && seen.moves == 0);
    handle(SIGRTMAX - 4, program_handler); /* no hook has seen it */
    kymo_signal_leave(&process, BIT(SIGURG));
    EXPECT(process.signal == SIGRTMAX - 5);
    EXPECT(!is_ours(SIGRTMAX - 4));
}

/* Each signal once, and then none: the program gets what it asks for, whatever that is. */
CASE(moves_come_to_an_end)
{
    uint64_t had = 0;
    int moves = 0;
    EXPECT(kymo_signal_start(&process));
    while (process.signal != 0 && moves < 64) {
        EXPECT(!(had & BIT(process.signal)));
        had |= BIT(process.signal);
        kymo_signal_leave(&process, BIT(process.signal));
        moves++;
    }
    EXPECT(process.signal == 0 && session.signal_now == 0);
    EXPECT(moves == KYMO_OWN_SIGNALS);
    EXPECT(kymo_own_signal_mask() == had);
    kymo_signal_leave(&process, EVERY);
    EXPECT(process.signal == 0);
}

CASE(a_filter_lets_nobody_move)
{
    EXPECT(kymo_signal_start(&process));
    session.quiet = KYMO_QUIET_CALLS;
    kymo_signal_leave(&process, BIT(SIGURG));
    EXPECT(process.signal == SIGURG && seen.moves == 0);
}

/* It runs in its parent's memory: what it does with signals is for itself alone. */
CASE(a_child_of_vfork_moves_nothing)
{
    EXPECT(kymo_signal_start(&process));
    session.pid++;
    EXPECT(!kymo_signal_process_is_own(&process));
    kymo_signal_leave(&process, BIT(SIGURG));
    EXPECT(process.signal == SIGURG && seen.moves == 0);
    session.pid--;
    EXPECT(kymo_signal_process_is_own(&process));
}

/* ---- the end of signals ---- */

static struct {
    uint32_t is_there, has_stopped;
} late;

/* Has one pending while it is about to be given back, and open afterwards. */
static void *get_one_late(void *unused)
{
    uint64_t bit = BIT(process.signal);
    kymo_raw_change_mask(&bit, 1);
    EXPECT(pthread_kill(pthread_self(), process.signal) == 0);
    kymo_store_release(&late.is_there, 1u);
    while (!kymo_load_acquire(&late.has_stopped))
        sched_yield();
    kymo_raw_change_mask(&bit, 0);
    return unused;
}

CASE(what_is_pending_ends_nobody)
{
    pthread_t thread;
    kymo_signal_note_use(BIT(SIGURG) | BIT(SIGWINCH));
    EXPECT(kymo_signal_start(&process) && process.signal >= SIGRTMIN);
    EXPECT(pthread_create(&thread, NULL, get_one_late, NULL) == 0);
    while (!kymo_load_acquire(&late.is_there))
        sched_yield();
    int signo = process.signal;
    kymo_signal_stop(&process, 1);
    EXPECT(!is_ours(signo) && process.signal == 0 && session.signal_now == 0);
    kymo_store_release(&late.has_stopped, 1u);
    pthread_join(thread, NULL);
    EXPECT(seen.signals == 0);
}

/* Behind a filter that allows it, all is taken away as well; behind another nothing is touched. */
CASE(quiet_signals_end_where_that_is_allowed)
{
    uint64_t before = mask_now();
    EXPECT(kymo_signal_start(&process));
    session.quiet = KYMO_QUIET_CALLS;
    kymo_signal_stop(&process, 0);
    EXPECT(is_ours(SIGURG) && seen.moves == 0 && session.signal_now == 0);
    kymo_signal_stop(&process, 1);
    EXPECT(!is_ours(SIGURG) && seen.moves == 1 && mask_now() == before);
}

/* ---- the recorder's part of it ---- */

static struct {
    uint32_t tid; /* of who moves */
    uint32_t has_returned;
} mover;

/* How often a thread has gone to sleep. */
static unsigned long sleeps_of(uint32_t tid)
{
    static const char key[] = "\nvoluntary_ctxt_switches:";
    char path[64];
    char text[8192] = "";
    snprintf(path, sizeof path, "/proc/self/task/%u/status", tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *at = strstr(text, key);
    return at ? strtoul(at + sizeof key - 1, NULL, 10) : 0;
}

/* Answers when the mover has slept some times more: so if it waits. */
static void *answer_late(void *unused)
{
    while (!kymo_load_acquire(&session.wake))
        sched_yield();
    unsigned long first = sleeps_of(mover.tid);
    while (sleeps_of(mover.tid) < first + 3 && !kymo_load_acquire(&mover.has_returned))
        sched_yield();
    kymo_store_release(&session.signal_done, kymo_load_acquire(&session.signal_now));
    return unused;
}

CASE(the_recorder_is_waited_for)
{
    pthread_t recorder;
    session.engine = KYMO_SESSION_PERF;
    session.attached = 1;
    session.signal_done = SIGURG;
    mover.tid = kymo_raw_gettid();
    EXPECT(kymo_signal_start(&process));
    EXPECT(pthread_create(&recorder, NULL, answer_late, NULL) == 0);
    kymo_signal_leave(&process, BIT(SIGURG));
    uint32_t done = kymo_load_acquire(&session.signal_done);
    kymo_store_release(&mover.has_returned, 1u);
    pthread_join(recorder, NULL);
    EXPECT(done == SIGWINCH);
}

/* One that is stopped holds the program up for a moment, and one that is gone not at all. */
CASE(the_recorder_is_not_waited_for_for_ever)
{
    session.engine = KYMO_SESSION_DISPATCH;
    session.attached = 1;
    EXPECT(kymo_signal_start(&process));
    kymo_signal_leave(&process, BIT(SIGURG));
    EXPECT(process.signal == SIGWINCH && session.signal_done == 0);

    unsigned long before = sleeps_of(kymo_raw_gettid());
    session.stopped = 1;
    kymo_signal_leave(&process, BIT(SIGWINCH));
    session.stopped = 0;
    session.attached = 0;
    kymo_signal_leave(&process, BIT(process.signal));
    EXPECT(sleeps_of(kymo_raw_gettid()) < before + 100); /* 3000 else */
    EXPECT(seen.moves == 3);
}

/* ---- exec ---- */

/* A handler does not stay over exec, and what the program ignores is to be ignored there. */
CASE(what_the_program_ignores_is_ignored_for_an_exec)
{
    struct kymo_program_action ignore = {.handler = SIG_IGN};
    struct sigaction now;
    EXPECT(kymo_signal_start(&process));
    EXPECT(kymo_signal_ignore() == 0 && is_ours(SIGURG));
    kymo_signal_heed(0);

    kymo_program_action_set(kymo_own_signal_find(SIGURG), &ignore);
    uint64_t ignored = kymo_signal_ignore();
    EXPECT(ignored == BIT(SIGURG));
    EXPECT(sigaction(SIGURG, NULL, &now) == 0 && now.sa_handler == SIG_IGN);
    EXPECT(kymo_signal_ignore() == 0); /* it is */
    errno = 77;
    kymo_signal_heed(ignored);
    EXPECT(errno == 77 && is_ours(SIGURG));

    /* Not a handler that is not ours, which a system call has put there. */
    handle(SIGURG, program_handler);
    EXPECT(kymo_signal_ignore() == 0);
    EXPECT(sigaction(SIGURG, NULL, &now) == 0 && now.sa_handler == program_handler);

    handle(SIGURG, SIG_DFL);
    EXPECT(kymo_signal_install(SIGURG, &ignore));
    kymo_quiet_here = 1;
    EXPECT(kymo_signal_ignore() == 0 && is_ours(SIGURG));
}

/* ---- installing ---- */

CASE(calls_are_interrupted_as_the_program_wants_it)
{
    struct kymo_program_action action = {.handler = program_handler, .flags = 0};
    EXPECT(kymo_signal_start(&process));
    EXPECT(flags_of(SIGURG) & SA_RESTART);
    EXPECT(kymo_signal_install(SIGURG, &action));
    EXPECT(!(flags_of(SIGURG) & SA_RESTART));
    action.flags = SA_RESTART;
    EXPECT(kymo_signal_install(SIGURG, &action));
    EXPECT(flags_of(SIGURG) & SA_RESTART);
    action = (struct kymo_program_action){.handler = SIG_IGN};
    EXPECT(kymo_signal_install(SIGURG, &action));
    EXPECT(flags_of(SIGURG) & SA_RESTART);
    EXPECT(!kymo_signal_install(SIGKILL, &action));
}

CASE(small_alternate_stacks_are_left)
{
    const stack_t small = {.ss_size = 2048}, large = {.ss_size = 1 << 20};
    const stack_t none = {.ss_size = 2048, .ss_flags = SS_DISABLE};
    EXPECT(kymo_signal_start(&process));
    kymo_signal_leave(&process, BIT(SIGURG));
    EXPECT(!kymo_signal_would_overflow(&large));
    EXPECT(!kymo_signal_would_overflow(&none));
    EXPECT(kymo_signal_would_overflow(&small));
    kymo_signal_off_alternate_stack(&process);
    EXPECT(!kymo_signal_would_overflow(&small));
    EXPECT(is_ours(SIGURG) && !(flags_of(SIGURG) & SA_ONSTACK));
    EXPECT(is_ours(SIGWINCH) && !(flags_of(SIGWINCH) & SA_ONSTACK));
    kymo_signal_leave(&process, BIT(SIGWINCH));
    EXPECT(!(flags_of(process.signal) & SA_ONSTACK)); /* also a later one */
}

/* A program may have set one before any of our code ran, or where none of its calls is hooked. */
CASE(a_small_alternate_stack_from_before_is_left)
{
    static char memory[1 << 16];
    const stack_t small = {.ss_sp = memory, .ss_size = 2048}, large = {memory, 0, sizeof memory};
    EXPECT(sigaltstack(&large, NULL) == 0 && kymo_signal_start(&process));
    EXPECT(is_ours(SIGURG) && flags_of(SIGURG) & SA_ONSTACK);
    kymo_signal_stop(&process, 1);
    /* On a processor with large registers the kernel may want more. */
    if (sigaltstack(&small, NULL) != 0)
        return;
    EXPECT(kymo_signal_start(&process));
    EXPECT(process.signal && is_ours(process.signal));
    EXPECT(!(flags_of(process.signal) & SA_ONSTACK));
}

CASE(actions_are_kept_whole)
{
    struct sigaction from = {.sa_flags = (int)(SA_NODEFER | SA_RESETHAND | SA_SIGINFO)};
    struct sigaction to;
    from.sa_sigaction = kymo_on_signal;
    sigemptyset(&from.sa_mask);
    sigaddset(&from.sa_mask, SIGINT);
    sigaddset(&from.sa_mask, SIGRTMAX);
    struct kymo_program_action kept = kymo_program_action_of(&from);
    EXPECT(kept.mask == (BIT(SIGINT) | BIT(SIGRTMAX)));
    memset(&to, 0xff, sizeof to);
    kymo_program_action_describe(&kept, &to);
    EXPECT(to.sa_sigaction == kymo_on_signal && to.sa_flags == from.sa_flags);
    for (int signo = 1; signo < NSIG; signo++)
        EXPECT(sigismember(&to.sa_mask, signo) == sigismember(&from.sa_mask, signo));
}

/* ---- the lock ---- */

CASE(a_child_finds_the_lock_free)
{
    struct kymo_signal_hold hold, again;
    uint64_t before = mask_now();
    int status = -1;
    kymo_signal_lock(&process, &hold);
    EXPECT((mask_now() | BIT(SIGKILL) | BIT(SIGSTOP)) == EVERY);
    pid_t child = (pid_t)syscall(SYS_fork); /* in which no thread holds it */
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        kymo_signal_after_fork();
        kymo_signal_lock(&process, &again);
        kymo_signal_unlock(&again);
        _exit(0);
    }
    kymo_signal_unlock(&hold);
    EXPECT(mask_now() == before);
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

/* Nothing can be blocked there: who holds the lock may be the code that was interrupted. */
CASE(quiet_nobody_waits_for_ever)
{
    struct kymo_signal_hold hold, again;
    uint64_t before = mask_now();
    session.quiet = KYMO_QUIET_CALLS;
    kymo_signal_lock(&process, &hold);
    EXPECT(mask_now() == before);
    kymo_signal_lock(&process, &again);
    kymo_signal_unlock(&again);
    kymo_signal_unlock(&hold);
    EXPECT(mask_now() == before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urg_is_the_first),
        cmocka_unit_test(what_the_program_handles_is_left_to_it),
        cmocka_unit_test(what_the_program_ignores_may_be_had),
        cmocka_unit_test(a_blocked_signal_is_meant_by_who_blocked_it),
        cmocka_unit_test(a_mask_of_all_signals_does_not_mean_ours),
        cmocka_unit_test(where_all_are_used_there_is_none),
        cmocka_unit_test(a_given_signal_is_shared),
        cmocka_unit_test(a_move),
        cmocka_unit_test(what_the_program_has_used_is_not_moved_to),
        cmocka_unit_test(moves_come_to_an_end),
        cmocka_unit_test(a_filter_lets_nobody_move),
        cmocka_unit_test(a_child_of_vfork_moves_nothing),
        cmocka_unit_test(what_is_pending_ends_nobody),
        cmocka_unit_test(quiet_signals_end_where_that_is_allowed),
        cmocka_unit_test(the_recorder_is_waited_for),
        cmocka_unit_test(the_recorder_is_not_waited_for_for_ever),
        cmocka_unit_test(what_the_program_ignores_is_ignored_for_an_exec),
        cmocka_unit_test(calls_are_interrupted_as_the_program_wants_it),
        cmocka_unit_test(small_alternate_stacks_are_left),
        cmocka_unit_test(a_small_alternate_stack_from_before_is_left),
        cmocka_unit_test(actions_are_kept_whole),
        cmocka_unit_test(a_child_finds_the_lock_free),
        cmocka_unit_test(quiet_nobody_waits_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
