/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp_hooks.c - the ways to a seccomp filter: prctl, and system calls by number.
 *
 * A filter installed after the start may kill a thread that makes a system call it does not know.
 * So the process becomes quiet before the filter is installed. From then on handlers make no system
 * call at all, and hooks make only the one that they wrap. A filter that was installed before the
 * start has let us start. Nor is the time-stamp counter read where that would fault: in the
 * kernel's strict mode, and after PR_SET_TSC. A filter that is installed without libc is seen by
 * the recorder, in /proc, a little late.
 *
 * Most filters let handlers return, by rt_sigreturn. One that does not (OpenSSH's) makes any
 * signal with a handler deadly, so before it is set all of ours go away.
 *
 * The hook of syscall is assembly (arch/syscall_hook.h); what it looks at is here. It also sees who
 * takes or blocks our signal by number.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "arch/syscall_hook.h"
#include "arch/system.h"
#include "capture/fork_child.h"
#include "capture/hooks.h"
#include "capture/mask_hooks.h"
#include "capture/signal_move.h"
#include "capture/state.h"
#include "sys/raw.h"
#include "sys/seccomp_filter.h"

#define WAITS_MOST 5000u /* of 20 us and more each */

/* The filters that hooks have seen so far; not those of a child of vfork, which are its own. */
static struct {
    uint32_t count;
    uint32_t refuse_stop; /* 1: one of them forbids a call that taking our signals away needs */
} filters;

kymo_syscall_fn *kymo_real_syscall = kymo_syscall_resolve_first;

int kymo_seccomp_hooks_init(void)
{
    kymo_syscall_resolve();
    return kymo_real_syscall != kymo_syscall_resolve_first;
}

/* The filter may be for all threads: handlers that began before there was to be one make system
 * calls yet. They take microseconds; one whose thread has no CPU is waited for, not for ever. */
static void wait_for_handlers(struct kymo_capture_process *p)
{
    uint32_t touched = kymo_threads_touched(p);
    unsigned waits = 0;
    const struct kymo_capture_thread *self =
        kymo_thread_pointer_is_libc(0) ? kymo_thread_self : NULL;
    kymo_fence_seqcst();
    for (uint32_t i = 0; i < touched; i++)
        while (&p->threads[i] != self && kymo_load_acquire(&p->threads[i].handling) &&
               waits++ < WAITS_MOST)
            kymo_raw_wait_a_little();
}

/* Returns what it was. more: enum kymo_quiet. */
static uint32_t set_quiet(struct kymo_capture_process *p, uint32_t more)
{
    uint32_t quiet = kymo_load_relaxed(&p->session->quiet);
    while (!kymo_cas_relaxed(&p->session->quiet, &quiet, quiet | more)) {
    }
    return quiet;
}

static void become_quiet(uint32_t more)
{
    struct kymo_capture_process *p = kymo_process_here();
    /* A forked child that has not attached yet could not do so any more. */
    if (!p && more & KYMO_QUIET_CALLS && !kymo_load_relaxed(&kymo_quiet_here)) {
        kymo_fork_attach_now();
        p = kymo_process_here();
    }
    if (p && kymo_signal_process_is_own(p)) {
        if (!(set_quiet(p, more) & KYMO_QUIET_CALLS))
            wait_for_handlers(p);
    }
    if (!(more & KYMO_QUIET_CALLS))
        return;
    /* A child of vfork has no filter set for its parent, in whose memory it is. */
    if (p && !kymo_signal_process_is_own(p) && kymo_thread_pointer_is_libc(0))
        kymo_quiet_vfork = kymo_raw_getpid();
    else
        kymo_store_relaxed(&kymo_quiet_here, 1u);
}

/* Whether all of it can be read; behind a filter it is believed. */
static int is_readable(const void *memory, size_t bytes)
{
    enum { PAGE = KYMO_ARCH_PAGE_BYTES };
    uint64_t at = (uint64_t)(uintptr_t)memory;
    uint64_t end = at + bytes;
    struct kymo_capture_process *p = kymo_process_here();
    if (kymo_is_quiet_here() || (p && kymo_is_quiet(p)))
        return 1;
    for (; at < end; at = (at / PAGE + 1) * PAGE)
        if (!kymo_raw_is_readable(at < end - sizeof(uint64_t) ? at : end - sizeof(uint64_t)))
            return 0;
    return kymo_raw_is_readable(end - sizeof(uint64_t));
}

/* One that cannot be read is none: the kernel says so. */
static int is_filter_there(const struct sock_fprog *program)
{
    return is_readable(program, sizeof *program) && program->len != 0 &&
           is_readable(program->filter, program->len * sizeof *program->filter);
}

static void note_filter(const struct sock_fprog *program)
{
    static const uint32_t needed[] = {SYS_timer_delete, SYS_rt_sigaction, SYS_rt_sigprocmask,
                                      SYS_nanosleep};
    kymo_add_relaxed(&filters.count, 1u);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!kymo_seccomp_allows(program->filter, program->len, needed[i]))
            kymo_store_relaxed(&filters.refuse_stop, 1u);
}

/* Of one that was set round the hooks nothing is known. */
static int may_stop(int is_quiet)
{
    return !is_quiet ||
           (kymo_load_relaxed(&filters.count) && !kymo_load_relaxed(&filters.refuse_stop));
}

/* A filter is about to be set. Where no handler could return behind it, our signals go first. */
static void prepare_for(const struct sock_fprog *program)
{
    if (!is_filter_there(program))
        return;
    struct kymo_capture_process *p = kymo_process_here();
    if (!kymo_seccomp_allows(program->filter, program->len, SYS_rt_sigreturn)) {
        kymo_fork_attach_now();
        p = kymo_process_here();
        if (p && kymo_signal_process_is_own(p))
            set_quiet(p, KYMO_QUIET_SIGNALS);
        kymo_signal_stop(p, may_stop(kymo_is_quiet_here() || (p && kymo_is_quiet(p))));
    }
    if (!p || kymo_signal_process_is_own(p))
        note_filter(program);
}

/* The kernel's strict mode forbids the counter, too; handlers may return. program: of a filter;
 * NULL for strict mode. */
static void become_quiet_for(const void *program)
{
    if (program)
        prepare_for(program);
    become_quiet(KYMO_QUIET_CALLS | (program ? 0u : KYMO_QUIET_COUNTER));
}

/* Who asks for a filter that does not exist only looks whether the kernel knows of such. */
static int is_filter_by_prctl(long mode, long program)
{
    return mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && program != 0);
}

static int is_filter(long operation, long flags, long program)
{
    return (operation == SECCOMP_SET_MODE_STRICT && flags == 0 && program == 0) ||
           (operation == SECCOMP_SET_MODE_FILTER && program != 0);
}

KYMO_HOOK int prctl(int option, ...)
{
    __typeof__(prctl) *real = KYMO_REAL(prctl);
    unsigned long a[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_SECCOMP && is_filter_by_prctl((long)a[0], (long)a[1]))
        become_quiet_for(a[0] == SECCOMP_MODE_STRICT ? NULL : (const void *)a[1]);
    else if (option == PR_SET_TSC && a[0] == PR_TSC_SIGSEGV)
        become_quiet(KYMO_QUIET_COUNTER);
    return real(option, a[0], a[1], a[2], a[3]);
}

void kymo_syscall_resolve(void)
{
    kymo_syscall_fn *found = (kymo_syscall_fn *)dlsym(RTLD_NEXT, "syscall");
    if (found)
        kymo_store_relaxed(&kymo_real_syscall, found);
}

/* A handler or a mask by number is not ours to change, but we can get out of its way, unless a
 * filter forbids that. */
static int can_leave(void)
{
    struct kymo_capture_process *p = kymo_process_here();
    if (kymo_is_quiet_here())
        return 0;
    return p ? !kymo_is_quiet(p) && kymo_signal_process_is_own(p) : kymo_fork_is_pending();
}

static void leave_if_named(uint64_t mask)
{
    /* A forked child that has not attached has its parent's handler. */
    if (mask & kymo_own_signal_mask())
        kymo_fork_attach_now();
    struct kymo_capture_process *p = kymo_process_here();
    int signo = p ? kymo_load_relaxed(&p->signal) : 0;
    if (signo && mask & KYMO_SIGNAL_BIT(signo))
        kymo_signal_leave(p, mask);
}

void kymo_syscall_look(long number, long a, long b, long c)
{
    uint64_t word;
    if (number == SYS_prctl && a == PR_SET_SECCOMP && is_filter_by_prctl(b, c)) {
        become_quiet_for(b == SECCOMP_MODE_STRICT ? NULL : (const void *)(uintptr_t)c);
    } else if (number == SYS_prctl && a == PR_SET_TSC && b == PR_TSC_SIGSEGV) {
        become_quiet(KYMO_QUIET_COUNTER);
    } else if (number == SYS_seccomp && is_filter(a, b, c)) {
        become_quiet_for(a == SECCOMP_SET_MODE_STRICT ? NULL : (const void *)(uintptr_t)c);
    } else if (number == SYS_rt_sigaction && b != 0 && a > 0 && a < NSIG) {
        /* The handler is the first word of the kernel's structure. */
        if (can_leave() && kymo_raw_read_word((uint64_t)b, &word) &&
            word != (uint64_t)(uintptr_t)SIG_DFL && word != (uint64_t)(uintptr_t)SIG_IGN)
            leave_if_named(KYMO_SIGNAL_BIT(a));
    } else if (number == SYS_rt_sigprocmask && a != SIG_UNBLOCK && b != 0) {
        if (can_leave() && kymo_raw_read_word((uint64_t)b, &word) && !kymo_mask_is_of_all(word))
            leave_if_named(word);
    }
}
