/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork_child.c - see fork_child.h.
 *
 * libc calls us in the child of each function that it builds on fork (daemon, forkpty). At that
 * point other libraries may not have put their locks in order yet, so only raw system calls are
 * made. _Fork calls no fork handlers, so it is hooked.
 *
 * What is static here is a copy in a forked child. A child of vfork finds its parent's, and must
 * not attach in its place: so the pid is compared.
 */
#include "capture/fork_child.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "buffer/refusal.h"
#include "capture/alloc.h"
#include "capture/connect.h"
#include "capture/family.h"
#include "capture/hooks.h"
#include "capture/mark.h"
#include "capture/process.h"
#include "capture/python_stack.h"
#include "capture/signal_move.h"
#include "capture/thread.h"
#include "capture/trace.h"
#include "sys/raw.h"

enum {
    FIRST_CPU_NS = 1000000, /* that a child uses before it is worth a session */
    PATIENCE_SECONDS = 1,   /* shorter than a program's: who forks much must not wait much */
};

static uint32_t was_bare; /* 1: by _Fork */

/* The process as it was at start, but for its session; walker and all. */
static struct kymo_capture_process original KYMO_LARGE;

static struct {
    uint32_t pending; /* the pid of a child that has not attached yet, and may; else 0 */
    int has_failed;
    int has_timer;
    int32_t timer;
    int32_t parent_pid;
    int signal; /* that the parent took samples by */
    uint64_t cookie;
} child;

int kymo_fork_is_pending(void)
{
    uint32_t pid = kymo_load_relaxed(&child.pending);
    return pid && pid == kymo_raw_getpid();
}

int kymo_fork_was_bare(void)
{
    return kymo_load_relaxed(&was_bare) != 0;
}

int kymo_fork_is_due(const siginfo_t *info)
{
    return kymo_load_relaxed(&child.pending) && info->si_code == SI_TIMER &&
           (uint64_t)(uintptr_t)info->si_value.sival_ptr == child.cookie;
}

/* ---- attaching ---- */

static void drop_timer(void)
{
    if (child.has_timer)
        (void)kymo_syscall3(SYS_timer_delete, child.timer, 0, 0);
    child.has_timer = 0;
}

/* The state's mapping is as large as it was: a session of another shape does not fit. */
static int fits(const struct kymo_attachment *a)
{
    return a->plan.total_bytes == original.plan.total_bytes && a->session->depth == original.depth;
}

/* The session's header takes the place of the ancestor's, at its very address: we may be in a
 * handler, and code of ours below it (an exec that was refused) may hold that. So it is there once
 * more; the place in the session is not for our own children. */
static void replace_header(struct kymo_session *session)
{
    long bytes = (long)session->header_bytes;
    long place = (long)(intptr_t)kymo_family.header;
    if (kymo_syscall6(SYS_mremap, (long)(intptr_t)session, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                      place, 0) == place) {
        (void)kymo_syscall3(SYS_madvise, (long)(intptr_t)session, bytes, MADV_DONTFORK);
        return;
    }
    /* No room for one mapping more: what is written here goes to private memory and is not
     * recorded. */
    (void)kymo_syscall6(SYS_mmap, place, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    kymo_store_release(&kymo_family.header, session);
}

static KYMO_NOINLINE void tell_refusal(void)
{
    char name[16] = "";
    (void)kymo_syscall3(SYS_prctl, PR_GET_NAME, (long)(intptr_t)name, 0);
    kymo_refusal_write(kymo_family.header, (int32_t)kymo_raw_getpid(), KYMO_REFUSAL_RECORDER, name);
}

/* The session, in the state's place and the header's; NULL: there is none. */
static KYMO_NOINLINE struct kymo_session *take_session(struct kymo_attach_rest *rest)
{
    struct kymo_attachment a;
    struct kymo_attach_call call = {kymo_family.attach_name, KYMO_ATTACH_FORK, child.parent_pid,
                                    PATIENCE_SECONDS, NULL};
    const char *why;
    struct kymo_capture_process *p = kymo_process_state;
    kymo_err err = kymo_attach(&call, &a, &why);
    if (err == KYMO_OK && !fits(&a)) {
        kymo_attach_undo(&a);
        err = KYMO_E_UNSUPPORTED;
    }
    if (err != KYMO_OK)
        return NULL;
    memcpy(p, &original, sizeof *p);
    kymo_python_inherit(p);
    kymo_process_take(p, &a);
    /* The handler is the parent's, in front of the same signal. */
    p->signal = child.signal;
    kymo_store_release(&a.session->signal_now, (uint32_t)child.signal);
    replace_header(a.session);
    *rest = a.rest;
    return a.session;
}

/* Below it a thread begins, deep in a handler's stack: what only attaching needs is gone by then.
 */
static KYMO_NOINLINE void attach(void)
{
    struct kymo_attach_rest rest;
    struct kymo_session *session = take_session(&rest);
    struct kymo_capture_process *p = kymo_process_state;
    if (!session) {
        child.has_failed = 1;
        tell_refusal();
        return;
    }
    struct kymo_capture_thread *t = kymo_thread_claim(p);
    if (t) {
        kymo_thread_begin(p, t, kymo_thread_stack, KYMO_SLOT_MAIN);
        kymo_mark_labels_inherit(t);
    }
    if (kymo_alloc_calls)
        kymo_alloc_calls->forked(p);
    kymo_mark_links_start();
    if (!kymo_attach_finish(session, t ? t->slot : NULL, p->signal, &rest) &&
        session->engine != KYMO_SESSION_TIMER)
        kymo_wake_recorder(p);
    /* The recorder may have changed the list meanwhile, when it could not signal us yet. */
    kymo_mark_links_look();
}

void kymo_fork_attach(void)
{
    if (kymo_load_relaxed(&kymo_quiet_here) || !kymo_fork_is_pending())
        return;
    kymo_store_relaxed(&child.pending, 0u);
    drop_timer();
    attach();
}

void kymo_fork_attach_now(void)
{
    uint64_t mask;
    if (!kymo_fork_is_pending())
        return;
    kymo_raw_block_all(&mask);
    kymo_fork_attach();
    kymo_raw_set_mask(&mask, NULL);
}

/* ---- the fork ---- */

static int arm_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = child.signal};
    struct itimerspec once = {.it_value = {0, FIRST_CPU_NS}};
    event.sigev_value.sival_ptr = (void *)(uintptr_t)child.cookie;
    event._sigev_un._tid = (pid_t)kymo_raw_gettid();
    if (kymo_syscall3(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, (long)(intptr_t)&event,
                      (long)(intptr_t)&child.timer) != 0)
        return 0;
    child.has_timer = 1;
    return kymo_syscall4(SYS_timer_settime, child.timer, 0, (long)(intptr_t)&once, 0) == 0;
}

static void before_fork(void)
{
    kymo_process_enter();
    const struct kymo_capture_process *p = kymo_process_here();
    /* A child that waits to attach has its parent's. */
    if (!kymo_load_relaxed(&kymo_process_state))
        child.signal = 0;
    /* On this side, which may end before the child begins. */
    kymo_family_count();
    kymo_mark_labels_before_fork();
    if (p) {
        child.signal = kymo_load_relaxed(&p->signal);
        child.cookie = p->cookie;
    }
    kymo_process_leave();
}

static void in_child(void)
{
    /* Threads that do not exist here. */
    kymo_store_relaxed(&kymo_process_users, 0u);
    kymo_spawn_hooks_after_fork();
    kymo_signal_after_fork();
    kymo_mark_links_after_fork();
    kymo_trace_leave_place();
    /* Its parent is a child of vfork behind a filter, which binds this one, too. */
    if (kymo_quiet_vfork && kymo_quiet_vfork == kymo_raw_getppid())
        kymo_store_relaxed(&kymo_quiet_here, 1u);
    child.pending = 0;
    child.has_timer = 0;
    if (child.has_failed || !child.signal || !kymo_family_forks_are_followed())
        return;
    if (kymo_load_relaxed(&kymo_family.header->quiet) & ~(uint32_t)KYMO_QUIET_STOPPED) {
        kymo_refusal_write(kymo_family.header, (int32_t)kymo_family.header->pid,
                           KYMO_REFUSAL_FILTER, program_invocation_short_name);
        return;
    }
    child.parent_pid = (int32_t)kymo_raw_getppid();
    kymo_mark_links_reseed();
    kymo_store_relaxed(&child.pending, kymo_raw_getpid());
    if (kymo_family.header->flags & (KYMO_SESSION_WALL | KYMO_SESSION_TRACE_PYTHON) || !arm_timer())
        kymo_fork_attach_now();
}

KYMO_HOOK pid_t _Fork(void)
{
    __typeof__(_Fork) *real = KYMO_REAL(_Fork);
    before_fork();
    pid_t pid = real();
    if (pid == 0) {
        kymo_store_relaxed(&was_bare, 1u);
        in_child();
    }
    return pid;
}

int kymo_fork_init(void)
{
    static int is_told;
    /* In one step: a page that is read before it is written is fetched twice. */
    if (!kymo_exchange_acq_rel(&is_told, 1) && pthread_atfork(before_fork, NULL, in_child) != 0)
        is_told = 0;
    return is_told;
}

void kymo_fork_remember(const struct kymo_capture_process *p)
{
    /* Not what nothing was written to: the first touch of a page costs more than all of this. */
    const char *end = (const char *)&p->walker.stable[p->walker.stable_count];
    memcpy(&original, p, (size_t)(end - (const char *)p));
    original.session = NULL;
}
