/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks stand in this program as they do in any other: what is called sigprocmask here is ours.
 * What they call of other files is here, and says what it was asked. Each case is a process of its
 * own, since masks and what is held are the thread's.
 */
#include "capture/hooks.h"
#include "capture/mask_hooks.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/fork_child.h"
#include "capture/on_signal.h"
#include "capture/signal_move.h"
#include "own_process.h"
#include "sys/raw.h"
#include "unit.h"

#define EVERY UINT64_MAX
#define BIT(signo) KYMO_SIGNAL_BIT(signo)
/* What the kernel lets no thread block, and what libc keeps to itself. */
#define NEVER (BIT(SIGKILL) | BIT(SIGSTOP) | BIT(32) | BIT(33))
#define COOKIE ((void *)0x1234567)

/* Not static: libc promises the compiler that what the hooks stand in front of calls nothing in
 * this file. */
struct kymo_session session;
struct kymo_capture_process process = {.session = &session};
struct kymo_capture_process *kymo_process_state;
__thread struct kymo_capture_thread *kymo_thread_self KYMO_TLS_IE;
uint32_t kymo_quiet_here;
__thread uint32_t kymo_quiet_vfork KYMO_TLS_IE;

struct {
    uint64_t left; /* what kymo_signal_leave was told */
    int leaves;
    uint64_t used;
    int is_foreign; /* this is a child of vfork */
    int is_pending; /* and this a forked one that may attach */
    int attached;
} seen;

void kymo_signal_note_use(uint64_t mask)
{
    seen.used |= mask;
}

/* Moves to SIGWINCH, and from there nowhere. */
void kymo_signal_leave(struct kymo_capture_process *p, uint64_t mask)
{
    seen.left |= mask;
    seen.leaves++;
    if (p->signal && mask & BIT(p->signal)) {
        const struct kymo_program_action none = {.handler = SIG_DFL};
        p->signal = p->signal == SIGURG ? SIGWINCH : 0;
        if (p->signal)
            (void)kymo_own_signal_add(p->signal, &none);
    }
}

int kymo_signal_process_is_own(const struct kymo_capture_process *p)
{
    (void)p;
    return !seen.is_foreign;
}

int kymo_signal_is_ours(const struct kymo_capture_process *p, const struct kymo_capture_thread *t,
                        const siginfo_t *info)
{
    (void)p;
    (void)t;
    return info->si_value.sival_ptr == COOKIE;
}

int kymo_fork_is_pending(void)
{
    return seen.is_pending;
}

void kymo_fork_attach_now(void)
{
    seen.attached++;
    seen.is_pending = 0;
    kymo_process_state = &process;
}

/* ---- cases ---- */

static void begin_case(void)
{
    const struct kymo_program_action none = {.handler = SIG_DFL};
    const uint64_t nothing = 0;
    if (!kymo_reals_init())
        _exit(2);
    kymo_raw_set_mask(&nothing, NULL);
    process.signal = SIGURG;
    (void)kymo_own_signal_add(SIGURG, &none);
    kymo_process_state = &process;
}

static sigset_t set_of(uint64_t mask)
{
    sigset_t set;
    sigemptyset(&set);
    memcpy(&set, &mask, sizeof mask);
    return set;
}

static uint64_t bits_of(const sigset_t *set)
{
    uint64_t mask;
    memcpy(&mask, set, sizeof mask);
    return mask;
}

/* As the kernel has it. */
static uint64_t in_truth(void)
{
    uint64_t mask;
    kymo_raw_get_mask(&mask);
    return mask;
}

/* As the program sees it. */
static uint64_t as_seen(void)
{
    sigset_t set;
    EXPECT(sigprocmask(SIG_SETMASK, NULL, &set) == 0);
    return bits_of(&set);
}

/* Returns what was there before, as the program sees it. */
static uint64_t change(int how, uint64_t mask)
{
    sigset_t set = set_of(mask);
    sigset_t old = set_of(EVERY);
    EXPECT(sigprocmask(how, &set, &old) == 0);
    return bits_of(&old);
}

/* ---- what a mask means ---- */

static void masks_of_all_signals(void **state)
{
    (void)state;
    sigset_t all;
    sigfillset(&all);
    assert_true(kymo_mask_is_of_all(bits_of(&all)));
    assert_true(kymo_mask_is_of_all(EVERY));
    assert_true(kymo_mask_is_of_all(EVERY & ~NEVER));
    assert_false(kymo_mask_is_of_all(0));
    assert_true(kymo_mask_is_of_all((1ull << 20) - 1));
    assert_false(kymo_mask_is_of_all((1ull << 19) - 1));
    assert_true(kymo_mask_is_of_all(0x7fffffffull));
    assert_true(kymo_mask_is_of_all(0xffffull << 40));
    assert_false(kymo_mask_is_of_all(0x7fffull << 40));
    /* Some of both are not many of either. */
    assert_false(kymo_mask_is_of_all(((1ull << 19) - 1) | 0x7fffull << 40));
    for (int signo = 1; signo <= 64; signo++)
        assert_false(kymo_mask_is_of_all(BIT(signo)));
}

CASE(a_mask_of_all_leaves_ours_open)
{
    static const int ways[] = {SIG_BLOCK, SIG_SETMASK};
    for (size_t i = 0; i < 2; i++) {
        EXPECT(change(ways[i], EVERY) == 0);
        EXPECT(in_truth() == (EVERY & ~NEVER & ~BIT(SIGURG)));
        EXPECT((as_seen() | NEVER) == EVERY);
        EXPECT(kymo_held_self == BIT(SIGURG));
        /* Blocking it once more changes nothing. */
        EXPECT((change(SIG_BLOCK, EVERY) | NEVER) == EVERY);
        EXPECT(!(in_truth() & BIT(SIGURG)) && (as_seen() & BIT(SIGURG)));
        EXPECT((change(SIG_SETMASK, BIT(SIGUSR1)) | NEVER) == EVERY);
        EXPECT(in_truth() == BIT(SIGUSR1) && as_seen() == BIT(SIGUSR1) && kymo_held_self == 0);
        EXPECT(change(SIG_SETMASK, 0) == BIT(SIGUSR1));
    }
    EXPECT(seen.leaves == 0 && seen.used == BIT(SIGUSR1));
}

CASE(what_is_opened_is_open)
{
    (void)change(SIG_SETMASK, EVERY);
    EXPECT((change(SIG_UNBLOCK, BIT(SIGURG)) | NEVER) == EVERY);
    EXPECT(kymo_held_self == 0 && !(as_seen() & BIT(SIGURG)));
    EXPECT(as_seen() == in_truth());
    EXPECT(change(SIG_UNBLOCK, EVERY) == (EVERY & ~NEVER & ~BIT(SIGURG)));
    EXPECT(in_truth() == 0);
}

/* What is left of a full mask is no full mask: who left it means it. */
CASE(what_is_left_is_blocked_in_truth)
{
    (void)change(SIG_SETMASK, EVERY);
    EXPECT((change(SIG_UNBLOCK, EVERY & ~BIT(SIGURG) & ~BIT(SIGUSR1)) | NEVER) == EVERY);
    EXPECT(in_truth() == (BIT(SIGURG) | BIT(SIGUSR1)));
    EXPECT(as_seen() == in_truth() && kymo_held_self == 0);
}

CASE(a_small_mask_that_names_ours_has_it)
{
    EXPECT(change(SIG_BLOCK, BIT(SIGURG) | BIT(SIGUSR1)) == 0);
    EXPECT(seen.leaves == 1 && seen.left == (BIT(SIGURG) | BIT(SIGUSR1)));
    EXPECT(process.signal == SIGWINCH);
    EXPECT(in_truth() == (BIT(SIGURG) | BIT(SIGUSR1)) && as_seen() == in_truth());
    EXPECT(kymo_held_self == 0);
    /* It is not ours any more. */
    EXPECT(change(SIG_SETMASK, BIT(SIGURG)) == (BIT(SIGURG) | BIT(SIGUSR1)));
    EXPECT(seen.leaves == 1);
}

CASE(others_are_none_of_our_business)
{
    EXPECT(change(SIG_BLOCK, BIT(SIGUSR1) | BIT(SIGRTMAX)) == 0);
    EXPECT(seen.leaves == 0 && seen.used == (BIT(SIGUSR1) | BIT(SIGRTMAX)));
    EXPECT(in_truth() == (BIT(SIGUSR1) | BIT(SIGRTMAX)));
    EXPECT(change(SIG_UNBLOCK, EVERY) == (BIT(SIGUSR1) | BIT(SIGRTMAX)));
    /* To ask is not to use, nor is to open. */
    seen.used = 0;
    EXPECT(as_seen() == 0);
    EXPECT(change(SIG_UNBLOCK, BIT(SIGURG)) == 0);
    EXPECT(seen.used == 0 && seen.leaves == 0);
}

/* Out of where everything was blocked: siglongjmp restores the kernel's mask alone. */
CASE(a_jump_leaves_nothing_held)
{
    uint64_t nothing = 0;
    (void)change(SIG_SETMASK, EVERY);
    kymo_raw_set_mask(&nothing, NULL);
    EXPECT(as_seen() == 0);
    EXPECT(change(SIG_BLOCK, BIT(SIGUSR1)) == 0);
    EXPECT(as_seen() == BIT(SIGUSR1) && in_truth() == BIT(SIGUSR1));
}

CASE(a_call_that_fails_changes_nothing)
{
    sigset_t all = set_of(EVERY);
    sigset_t old = set_of(BIT(SIGHUP));
    (void)change(SIG_SETMASK, EVERY);
    uint64_t truth = in_truth();
    errno = 0;
    EXPECT(sigprocmask(99, &all, &old) == -1 && errno == EINVAL);
    EXPECT(bits_of(&old) == BIT(SIGHUP));
    EXPECT(in_truth() == truth && kymo_held_self == BIT(SIGURG));
    errno = 77;
    EXPECT(pthread_sigmask(99, &all, NULL) == EINVAL && errno == 77);
    EXPECT(in_truth() == truth && kymo_held_self == BIT(SIGURG));
}

CASE(after_the_last_move_masks_are_the_kernels)
{
    process.signal = 0;
    EXPECT(change(SIG_SETMASK, EVERY) == 0);
    EXPECT((in_truth() | NEVER) == EVERY && kymo_held_self == 0 && seen.leaves == 0);
}

/* ---- in other words ---- */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
CASE(the_old_functions)
{
    EXPECT(sigblock(0x7fffffff) == 0);
    EXPECT(!(in_truth() & BIT(SIGURG)) && as_seen() & BIT(SIGURG));
    EXPECT(sigsetmask(1 << (SIGUSR1 - 1)) == (0x7fffffff & ~(int)(uint32_t)NEVER));
    EXPECT(sigsetmask(0) == 1 << (SIGUSR1 - 1));
    EXPECT(in_truth() == 0 && kymo_held_self == 0);

    EXPECT(sighold(SIGUSR2) == 0 && in_truth() == BIT(SIGUSR2));
    EXPECT(sigrelse(SIGUSR2) == 0 && in_truth() == 0);
    static const int bad[] = {0, -1, NSIG, INT_MAX, INT_MIN};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(bad); i++) {
        errno = 0;
        EXPECT(sighold(bad[i]) == -1 && errno == EINVAL);
        errno = 0;
        EXPECT(sigrelse(bad[i]) == -1 && errno == EINVAL);
    }
    EXPECT(seen.leaves == 0);
    EXPECT(sighold(SIGURG) == 0 && seen.leaves == 1 && in_truth() == BIT(SIGURG));
}
#pragma GCC diagnostic pop

/* ---- other processes ---- */

/* A child of vfork has its parent's memory and a mask of its own. */
CASE(a_child_of_vfork_changes_its_own_mask)
{
    (void)change(SIG_SETMASK, EVERY);
    seen.is_foreign = 1;
    EXPECT((change(SIG_SETMASK, BIT(SIGUSR1)) | NEVER) == EVERY);
    EXPECT(in_truth() == BIT(SIGUSR1));
    EXPECT(kymo_held_self == BIT(SIGURG)); /* its parent's */
    EXPECT(as_seen() == BIT(SIGUSR1));
    EXPECT(kymo_mask_settle() == 0 && in_truth() == BIT(SIGUSR1));
    EXPECT(seen.leaves == 0);
}

CASE(a_child_of_vfork_that_only_adds_keeps_all)
{
    (void)change(SIG_SETMASK, EVERY & ~BIT(SIGUSR1));
    seen.is_foreign = 1;
    (void)change(SIG_BLOCK, BIT(SIGUSR1));
    EXPECT((in_truth() | NEVER) == EVERY);
    EXPECT(kymo_held_self == BIT(SIGURG));
}

CASE(a_forked_child_holds_what_its_parent_held)
{
    (void)change(SIG_SETMASK, EVERY);
    kymo_process_state = NULL;
    EXPECT((as_seen() | NEVER) == EVERY);
    EXPECT((change(SIG_BLOCK, BIT(SIGUSR1)) | NEVER) == EVERY);
    EXPECT((in_truth() | NEVER) == EVERY && kymo_held_self == 0);
    EXPECT((change(SIG_SETMASK, 0) | NEVER) == EVERY);
    EXPECT(in_truth() == 0 && as_seen() == 0);
}

/* It would never hear the signal that tells it to begin. */
CASE(a_forked_child_that_blocks_the_signal_begins_at_once)
{
    kymo_process_state = NULL;
    seen.is_pending = 1;
    EXPECT(change(SIG_BLOCK, BIT(SIGUSR1)) == 0 && seen.attached == 0);
    EXPECT(change(SIG_BLOCK, EVERY) == BIT(SIGUSR1) && seen.attached == 0);
    (void)change(SIG_SETMASK, 0);
    EXPECT(change(SIG_BLOCK, BIT(SIGURG)) == 0);
    EXPECT(seen.attached == 1 && seen.leaves == 1);
    EXPECT(in_truth() == BIT(SIGURG));
}

/* ---- exec ---- */

CASE(a_new_image_has_the_mask_in_truth)
{
    EXPECT(kymo_mask_settle() == 0);
    (void)change(SIG_SETMASK, EVERY);
    uint64_t held = kymo_mask_settle();
    EXPECT(held == BIT(SIGURG) && (in_truth() | NEVER) == EVERY);
    EXPECT(kymo_held_self == BIT(SIGURG)); /* in a parent's memory it stays */
    kymo_mask_resume(held);
    EXPECT(!(in_truth() & BIT(SIGURG)));
    kymo_mask_resume(0);
    kymo_quiet_here = 1;
    EXPECT(kymo_mask_settle() == 0 && !(in_truth() & BIT(SIGURG)));
}

/* ---- threads ---- */

CASE(a_new_thread_holds_what_its_creator_holds)
{
    struct kymo_capture_thread t = {.first_open = 1, .first_held = 1};
    (void)change(SIG_SETMASK, EVERY);
    kymo_mask_prepare_thread(&process, &t, NULL);
    EXPECT(t.first_held == BIT(SIGURG) && t.first_open == 0);
    kymo_held_self = 0;
    kymo_mask_begin_thread(&process, &t);
    EXPECT(kymo_held_self == BIT(SIGURG));
}

CASE(a_new_thread_has_the_mask_of_its_attributes)
{
    struct kymo_capture_thread t = {0};
    pthread_attr_t attr;
    sigset_t all = set_of(EVERY), some = set_of(BIT(SIGUSR1)), ours = set_of(BIT(SIGURG));
    uint64_t every = EVERY;
    pthread_attr_init(&attr);
    (void)change(SIG_SETMASK, EVERY);
    kymo_mask_prepare_thread(&process, &t, &attr); /* they say nothing of it */
    EXPECT(t.first_held == BIT(SIGURG) && t.first_open == 0);

    EXPECT(pthread_attr_setsigmask_np(&attr, &some) == 0);
    kymo_mask_prepare_thread(&process, &t, &attr);
    EXPECT(t.first_held == 0 && t.first_open == 0 && seen.leaves == 0);

    EXPECT(pthread_attr_setsigmask_np(&attr, &all) == 0);
    kymo_mask_prepare_thread(&process, &t, &attr);
    EXPECT(t.first_held == 0 && t.first_open == BIT(SIGURG));
    /* As the thread itself: the kernel has given it that mask. */
    kymo_raw_set_mask(&every, NULL);
    kymo_mask_begin_thread(&process, &t);
    EXPECT(!(in_truth() & BIT(SIGURG)) && kymo_held_self == BIT(SIGURG));
    EXPECT((as_seen() | NEVER) == EVERY);
    /* A filter forbids to open it. */
    kymo_raw_set_mask(&every, NULL);
    session.quiet = KYMO_QUIET_CALLS;
    kymo_mask_begin_thread(&process, &t);
    EXPECT((in_truth() | NEVER) == EVERY && kymo_held_self == 0);
    session.quiet = 0;

    EXPECT(pthread_attr_setsigmask_np(&attr, &ours) == 0);
    kymo_mask_prepare_thread(&process, &t, &attr);
    EXPECT(seen.leaves == 1 && t.first_open == 0);
    pthread_attr_destroy(&attr);
}

/* ---- waiting ---- */

static void queue(int signo, void *value)
{
    EXPECT(sigqueue(getpid(), signo, (union sigval){.sival_ptr = value}) == 0);
}

static void block_in_truth(void)
{
    uint64_t all = EVERY;
    kymo_raw_set_mask(&all, NULL);
}

CASE(waits_for_all_signals_see_none_of_ours)
{
    sigset_t all = set_of(EVERY);
    siginfo_t info;
    int signo = 0;
    const struct timespec none = {0, 0};
    block_in_truth();
    queue(SIGURG, COOKIE);
    queue(SIGWINCH, NULL);
    EXPECT(sigwaitinfo(&all, &info) == SIGWINCH && info.si_signo == SIGWINCH);
    queue(SIGURG, COOKIE);
    queue(SIGWINCH, NULL);
    EXPECT(sigwaitinfo(&all, NULL) == SIGWINCH);
    queue(SIGURG, COOKIE);
    queue(SIGWINCH, NULL);
    errno = 77;
    EXPECT(sigwait(&all, &signo) == 0 && signo == SIGWINCH && errno == 77);
    queue(SIGURG, COOKIE);
    errno = 0;
    EXPECT(sigtimedwait(&all, &info, &none) == -1 && errno == EAGAIN);
    queue(SIGURG, COOKIE);
    queue(SIGWINCH, NULL);
    EXPECT(sigtimedwait(&all, &info, &none) == SIGWINCH);
    EXPECT(seen.leaves == 0);
}

/* One of its own under our number: it uses it. */
CASE(waits_give_the_program_its_own)
{
    sigset_t all = set_of(EVERY);
    siginfo_t info;
    int mine;
    block_in_truth();
    queue(SIGURG, &mine);
    EXPECT(sigwaitinfo(&all, &info) == SIGURG && info.si_value.sival_ptr == &mine);
    EXPECT(seen.leaves == 1 && process.signal == SIGWINCH);
}

CASE(a_wait_for_ours_has_it)
{
    sigset_t ours = set_of(BIT(SIGURG) | BIT(SIGUSR1)), others = set_of(BIT(SIGUSR2));
    const struct timespec none = {0, 0};
    block_in_truth();
    errno = 0;
    EXPECT(sigtimedwait(&others, NULL, &none) == -1 && errno == EAGAIN);
    EXPECT(seen.leaves == 0 && seen.used == BIT(SIGUSR2));
    EXPECT(sigtimedwait(&ours, NULL, &none) == -1 && errno == EAGAIN);
    EXPECT(seen.leaves == 1 && process.signal == SIGWINCH);
    /* A last one of ours under the old number is not the program's. */
    queue(SIGURG, COOKIE);
    EXPECT(sigtimedwait(&ours, NULL, &none) == -1 && errno == EAGAIN);
    int mine;
    siginfo_t info;
    queue(SIGURG, &mine);
    EXPECT(sigtimedwait(&ours, &info, &none) == SIGURG && info.si_value.sival_ptr == &mine);
}

CASE(a_limit_that_is_none_is_refused)
{
    sigset_t all = set_of(EVERY);
    static const struct timespec bad[] = {{0, -1}, {0, 1000000000}, {-1, 0}};
    block_in_truth();
    for (size_t i = 0; i < KYMO_ARRAY_LEN(bad); i++) {
        errno = 0;
        EXPECT(sigtimedwait(&all, NULL, &bad[i]) == -1 && errno == EINVAL);
    }
}

/* Sends the program's signal when ours is out of the way. */
static void *send_later(void *process_id)
{
    sigset_t pending;
    do {
        sched_yield();
        sigpending(&pending);
    } while (sigismember(&pending, SIGURG));
    EXPECT(sigqueue(*(pid_t *)process_id, SIGWINCH, (union sigval){0}) == 0);
    return NULL;
}

/* A limit beyond all clocks is none, also when one of ours came in between. */
CASE(a_very_long_wait_is_not_a_short_one)
{
    static const time_t limits[] = {LONG_MAX, 1l << 55, LONG_MAX / 1000000000 + 1};
    sigset_t all = set_of(EVERY);
    pid_t self = getpid();
    block_in_truth();
    for (size_t i = 0; i < KYMO_ARRAY_LEN(limits); i++) {
        const struct timespec limit = {limits[i], 0};
        pthread_t thread;
        queue(SIGURG, COOKIE);
        EXPECT(pthread_create(&thread, NULL, send_later, &self) == 0);
        EXPECT(sigtimedwait(&all, NULL, &limit) == SIGWINCH);
        pthread_join(thread, NULL);
    }
}

CASE(a_descriptor_of_all_signals_has_none_of_ours)
{
    sigset_t all = set_of(EVERY), ours = set_of(BIT(SIGURG));
    struct signalfd_siginfo info;
    block_in_truth();
    int fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
    EXPECT(fd >= 0 && seen.leaves == 0);
    queue(SIGURG, COOKIE);
    EXPECT(read(fd, &info, sizeof info) == -1 && errno == EAGAIN);
    queue(SIGWINCH, NULL);
    EXPECT(read(fd, &info, sizeof info) == (ssize_t)sizeof info && info.ssi_signo == SIGWINCH);
    fd = signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
    EXPECT(fd >= 0 && seen.leaves == 1 && process.signal == SIGWINCH);
    EXPECT(read(fd, &info, sizeof info) == (ssize_t)sizeof info && info.ssi_signo == SIGURG);
    EXPECT(signalfd(99999, &ours, 0) == -1);
    EXPECT(signalfd(-1, &ours, -1) == -1 && errno == EINVAL);
}

/* It has all the others: a later move must not go where it would be seen. */
CASE(a_descriptor_of_all_signals_keeps_the_others)
{
    sigset_t all = set_of(EVERY);
    EXPECT(signalfd(-1, &all, SFD_CLOEXEC) >= 0);
    EXPECT(seen.used == (EVERY & ~BIT(SIGURG)) && seen.leaves == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_of_all_signals),
        cmocka_unit_test(a_mask_of_all_leaves_ours_open),
        cmocka_unit_test(what_is_opened_is_open),
        cmocka_unit_test(what_is_left_is_blocked_in_truth),
        cmocka_unit_test(a_small_mask_that_names_ours_has_it),
        cmocka_unit_test(others_are_none_of_our_business),
        cmocka_unit_test(a_jump_leaves_nothing_held),
        cmocka_unit_test(a_call_that_fails_changes_nothing),
        cmocka_unit_test(after_the_last_move_masks_are_the_kernels),
        cmocka_unit_test(the_old_functions),
        cmocka_unit_test(a_child_of_vfork_changes_its_own_mask),
        cmocka_unit_test(a_child_of_vfork_that_only_adds_keeps_all),
        cmocka_unit_test(a_forked_child_holds_what_its_parent_held),
        cmocka_unit_test(a_forked_child_that_blocks_the_signal_begins_at_once),
        cmocka_unit_test(a_new_image_has_the_mask_in_truth),
        cmocka_unit_test(a_new_thread_holds_what_its_creator_holds),
        cmocka_unit_test(a_new_thread_has_the_mask_of_its_attributes),
        cmocka_unit_test(waits_for_all_signals_see_none_of_ours),
        cmocka_unit_test(waits_give_the_program_its_own),
        cmocka_unit_test(a_wait_for_ours_has_it),
        cmocka_unit_test(a_limit_that_is_none_is_refused),
        cmocka_unit_test(a_very_long_wait_is_not_a_short_one),
        cmocka_unit_test(a_descriptor_of_all_signals_has_none_of_ours),
        cmocka_unit_test(a_descriptor_of_all_signals_keeps_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
