/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask_hooks.c - see mask_hooks.h.
 *
 * What a thread holds becomes void when it jumps out of where it blocked everything (siglongjmp
 * restores the kernel's mask alone). So it counts only while the kernel's mask, together with it,
 * is one of all signals; and when a call leaves less than that, it is settled.
 *
 * Order: what is held is noted after the kernel was told, and forgotten before. A signal of the
 * program's that comes in between is treated as if it had come just before the program blocked it,
 * or just after it opened it.
 */
#include "capture/mask_hooks.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>

#include "capture/fork_child.h"
#include "capture/hooks.h"
#include "capture/on_signal.h"
#include "capture/signal_move.h"
#include "sys/clock.h"
#include "sys/raw.h"

typedef int mask_fn(int, const sigset_t *, sigset_t *);

__thread uint64_t kymo_held_self KYMO_TLS_IE;
/* The child of vfork that set a mask itself, and holds nothing of its parent's any more. */
static __thread uint32_t settled_pid KYMO_TLS_IE;

static uint64_t bits_of(const sigset_t *set)
{
    uint64_t bits;
    memcpy(&bits, set, sizeof bits);
    return bits;
}

static void set_bits(sigset_t *set, uint64_t bits)
{
    memcpy(set, &bits, sizeof bits);
}

/* Not the compiler's: that is a function of its library. */
static int count_bits(uint64_t bits)
{
    int n = 0;
    for (; bits; bits &= bits - 1)
        n++;
    return n;
}

/* A program that means all signals begins with sigfillset, or counts up to 31; one that means some
 * adds them one by one. A mask counts as "all" from two thirds of the standard signals, or half of
 * the real-time ones. */
int kymo_mask_is_of_all(uint64_t mask)
{
    enum { OLD = 31, MOST_OLD = 20, MOST_REAL_TIME = 16 };
    return count_bits(mask & ((1ull << OLD) - 1)) >= MOST_OLD ||
           count_bits(mask >> OLD) >= MOST_REAL_TIME;
}

void kymo_mask_open(uint64_t mask)
{
    if (!mask)
        return;
    kymo_held_self |= mask;
    kymo_raw_change_mask(&mask, 0);
}

/* What is held stays noted: a child of vfork does this in its parent's memory. */
uint64_t kymo_mask_settle(void)
{
    uint64_t held = kymo_is_quiet_here() || !kymo_thread_pointer_is_libc(1) ? 0 : kymo_held_self;
    if (!held || settled_pid == kymo_raw_getpid())
        return 0;
    kymo_raw_change_mask(&held, 1);
    return held;
}

void kymo_mask_resume(uint64_t held)
{
    if (held)
        kymo_raw_change_mask(&held, 0);
}

void kymo_mask_forget(void)
{
    if (!kymo_thread_pointer_is_libc(1))
        return;
    (void)kymo_mask_settle();
    kymo_held_self = 0;
}

void kymo_mask_prepare_thread(struct kymo_capture_process *p, struct kymo_capture_thread *t,
                              const void *attr)
{
    sigset_t set;
    int signo = kymo_load_relaxed(&p->signal);
    t->first_open = 0;
    t->first_held = kymo_held_self;
    if (signo && attr && pthread_attr_getsigmask_np(attr, &set) == 0) {
        uint64_t mask = bits_of(&set);
        t->first_held = 0;
        if (kymo_mask_is_of_all(mask))
            t->first_open = mask & KYMO_SIGNAL_BIT(signo);
        else if (mask & KYMO_SIGNAL_BIT(signo))
            kymo_signal_leave(p, mask);
    }
}

void kymo_mask_begin_thread(struct kymo_capture_process *p, const struct kymo_capture_thread *t)
{
    kymo_held_self = t->first_held;
    if (!kymo_is_quiet(p))
        kymo_mask_open(t->first_open);
}

/* ---- masks ---- */

/* The process, if it is captured. A forked child that is not yet, and blocks or asks for the signal
 * that would tell it to begin, would never hear it: it begins now. */
static struct kymo_capture_process *process_that_names(const sigset_t *set)
{
    struct kymo_capture_process *p = kymo_process_here();
    if (!p && set && bits_of(set) & kymo_own_signal_mask() && !kymo_mask_is_of_all(bits_of(set)) &&
        kymo_fork_is_pending()) {
        kymo_fork_attach_now();
        p = kymo_process_here();
    }
    return p;
}

/* In a process that is not captured (a forked child, a child of vfork, which shares our memory)
 * what is held is blocked first, and the real call does the rest. */
static int change_elsewhere(mask_fn *real, int how, const sigset_t *set, sigset_t *old, int is_copy)
{
    uint64_t held = settled_pid == kymo_raw_getpid() ? 0 : kymo_held_self;
    if (held && set && how != SIG_SETMASK)
        kymo_raw_change_mask(&held, 1);
    int result = real(how, set, old);
    if (result == 0 && old)
        set_bits(old, bits_of(old) | held);
    if (result == 0 && set && is_copy)
        kymo_held_self = 0;
    else if (result == 0 && set)
        settled_pid = kymo_raw_getpid();
    return result;
}

/* sigprocmask or pthread_sigmask, as `real` is: 0 or what that returned. */
static int change_mask(mask_fn *real, int how, const sigset_t *set, sigset_t *old)
{
    if (!kymo_thread_pointer_is_libc(!kymo_load_relaxed(&kymo_quiet_here)))
        return real(how, set, old);
    struct kymo_capture_process *p =
        how == SIG_UNBLOCK ? kymo_process_here() : process_that_names(set);
    uint64_t held = kymo_held_self;
    uint64_t asked = set ? bits_of(set) : 0;
    if (!p) {
        if (held)
            return change_elsewhere(real, how, set, old, 1);
        return real(how, set, old);
    }
    int blocks = set && how != SIG_UNBLOCK;
    int of_all = blocks && kymo_mask_is_of_all(asked);
    uint64_t ours = kymo_load_relaxed(&p->signal) ? KYMO_SIGNAL_BIT(p->signal) : 0;
    if (blocks && asked && !of_all)
        kymo_signal_note_use(asked);
    if (!held && !(blocks && asked & ours))
        return real(how, set, old);
    if (!kymo_signal_process_is_own(p))
        return held ? change_elsewhere(real, how, set, old, 0) : real(how, set, old);
    if (blocks && !of_all && asked & ours)
        kymo_signal_leave(p, asked);

    uint64_t keep = of_all ? asked & ours : 0;
    sigset_t changed, before;
    if (set) {
        changed = *set;
        set_bits(&changed, asked & ~keep);
        if (how == SIG_SETMASK)
            kymo_held_self = 0;
        else if (how == SIG_UNBLOCK)
            kymo_held_self &= ~asked;
    }
    int result = real(how, set ? &changed : NULL, &before);
    if (result != 0) {
        kymo_held_self = held;
        return result;
    }
    if (!kymo_mask_is_of_all(bits_of(&before) | held)) {
        kymo_held_self &= ~held;
        held = 0;
    }
    if (how == SIG_UNBLOCK && kymo_held_self && !kymo_is_quiet(p) &&
        !kymo_mask_is_of_all((bits_of(&before) | held) & ~asked)) {
        (void)kymo_mask_settle();
        kymo_held_self = 0;
    }
    kymo_held_self |= keep;
    if (old) {
        *old = before;
        set_bits(old, bits_of(&before) | held);
    }
    return 0;
}

KYMO_HOOK int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    return change_mask(KYMO_REAL(sigprocmask), how, set, old);
}

KYMO_HOOK int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    return change_mask(KYMO_REAL(pthread_sigmask), how, set, old);
}

static int change_and_tell(int how, uint64_t mask, uint64_t *before)
{
    sigset_t set, old;
    sigemptyset(&set);
    set_bits(&set, mask);
    int result = change_mask(KYMO_REAL(sigprocmask), how, &set, &old);
    if (before)
        *before = result == 0 ? bits_of(&old) : 0;
    return result;
}

/* Of BSD: masks of the first 32 signals. */
KYMO_HOOK int sigblock(int mask)
{
    uint64_t before;
    int result = change_and_tell(SIG_BLOCK, (uint32_t)mask, &before);
    return result == 0 ? (int)(uint32_t)before : result;
}

KYMO_HOOK int sigsetmask(int mask)
{
    uint64_t before;
    int result = change_and_tell(SIG_SETMASK, (uint32_t)mask, &before);
    return result == 0 ? (int)(uint32_t)before : result;
}

/* Of System V. */
static int change_one(int how, int signo)
{
    if (signo <= 0 || signo >= NSIG) {
        errno = EINVAL;
        return -1;
    }
    return change_and_tell(how, KYMO_SIGNAL_BIT(signo), NULL);
}

KYMO_HOOK int sighold(int signo)
{
    return change_one(SIG_BLOCK, signo);
}

KYMO_HOOK int sigrelse(int signo)
{
    return change_one(SIG_UNBLOCK, signo);
}

/* ---- waiting for blocked signals ---- */

/* Whether a wait for these needs a look at each signal, since one may be ours. A program that names
 * our signal gets it. */
static struct kymo_capture_process *concerned(const sigset_t *set)
{
    struct kymo_capture_process *p = process_that_names(set);
    if (!p || !set)
        return NULL;
    if (!kymo_mask_is_of_all(bits_of(set)))
        kymo_signal_note_use(bits_of(set));
    uint64_t mask = bits_of(set) & kymo_own_signal_mask();
    if (!mask)
        return NULL;
    if (p->signal && mask & KYMO_SIGNAL_BIT(p->signal) && !kymo_mask_is_of_all(bits_of(set)))
        kymo_signal_leave(p, bits_of(set));
    return p;
}

/* What a wait returned is the program's; 0: it was one of ours. A program that gets one of its own
 * under our number uses it. */
static int is_for_program(struct kymo_capture_process *p, int signo, siginfo_t *info)
{
    if (kymo_own_signal_find(signo) < 0)
        return 1;
    if (kymo_signal_is_ours(p, kymo_thread_self, info))
        return 0;
    kymo_signal_leave(p, KYMO_SIGNAL_BIT(signo));
    return 1;
}

KYMO_HOOK int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
    __typeof__(sigwaitinfo) *real = KYMO_REAL(sigwaitinfo);
    struct kymo_capture_process *p = concerned(set);
    siginfo_t mine;
    int signo;
    if (!p)
        return real(set, info);
    do {
        signo = real(set, &mine);
    } while (signo > 0 && !is_for_program(p, signo, &mine));
    if (signo > 0 && info)
        *info = mine;
    return signo;
}

KYMO_HOOK int sigwait(const sigset_t *restrict set, int *restrict result)
{
    if (!concerned(set))
        return KYMO_REAL(sigwait)(set, result);
    int saved = errno;
    int signo;
    do {
        signo = sigwaitinfo(set, NULL);
    } while (signo < 0 && errno == EINTR);
    int error = errno;
    errno = saved;
    if (signo < 0)
        return error;
    *result = signo;
    return 0;
}

/* The rest of a time limit that began at start_ns. One that nanoseconds cannot count is for ever.
 */
static struct timespec rest_of(const struct timespec *limit, uint64_t start_ns)
{
    if (limit->tv_sec > INT64_MAX / 1000000000 - 1)
        return *limit;
    uint64_t all_ns = (uint64_t)limit->tv_sec * 1000000000u + (uint64_t)limit->tv_nsec;
    uint64_t spent_ns = kymo_clock_ns(CLOCK_MONOTONIC) - start_ns;
    uint64_t rest_ns = spent_ns < all_ns ? all_ns - spent_ns : 0;
    return (struct timespec){(time_t)(rest_ns / 1000000000u), (long)(rest_ns % 1000000000u)};
}

KYMO_HOOK int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
                           const struct timespec *restrict limit)
{
    __typeof__(sigtimedwait) *real = KYMO_REAL(sigtimedwait);
    struct kymo_capture_process *p = concerned(set);
    siginfo_t mine;
    if (!p)
        return real(set, info, limit);
    if (!limit)
        return sigwaitinfo(set, info);
    uint64_t start_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    int signo = real(set, &mine, limit);
    while (signo > 0 && !is_for_program(p, signo, &mine)) {
        struct timespec rest = rest_of(limit, start_ns);
        signo = real(set, &mine, &rest);
    }
    if (signo > 0 && info)
        *info = mine;
    return signo;
}

/* A descriptor for all signals does not get ours, which stay unblocked: a read from it would take
 * one of ours that is just about to be delivered. */
KYMO_HOOK int signalfd(int fd, const sigset_t *set, int flags)
{
    __typeof__(signalfd) *real = KYMO_REAL(signalfd);
    struct kymo_capture_process *p = concerned(set);
    uint64_t asked = p ? bits_of(set) : 0;
    int signo = p ? kymo_load_relaxed(&p->signal) : 0;
    if (!signo || !(asked & KYMO_SIGNAL_BIT(signo)) || kymo_is_quiet(p) ||
        !kymo_mask_is_of_all(asked))
        return real(fd, set, flags);
    /* The descriptor has all the others: a later move to one of them would be seen there. */
    uint64_t others = asked & ~KYMO_SIGNAL_BIT(signo);
    kymo_signal_note_use(others);
    sigset_t without = *set;
    set_bits(&without, others);
    return real(fd, &without, flags);
}
