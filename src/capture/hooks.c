/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.c - the libc functions about threads and libraries.
 *
 * pthread_create, thrd_create: the new thread is known from its first instruction on.
 * dlclose:        a last look at what is about to go away.
 *
 * dlopen is not wrapped: a wrapper is the caller whose RUNPATH the loader would then search.
 *
 * Each hook asks first whether this process is captured at all; a forked child, a child of vfork
 * (a foreign pid in our memory) and a process that could not attach just call the real function.
 */
#include "capture/hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <threads.h>

#include "arch/thread_block.h"
#include "capture/fork_child.h"
#include "capture/mask_hooks.h"
#include "capture/module.h"
#include "capture/thread.h"
#include "capture/trace.h"
#include "sys/raw.h"

static pthread_key_t exit_key;
static int has_key;

static void end_thread(void)
{
    /* Not what the key holds: in a forked child that is the parent's. */
    struct kymo_capture_thread *t = kymo_thread_self;
    const struct kymo_capture_process *p = kymo_load_acquire(&kymo_process_state);
    if (!t || t == &kymo_thread_dead)
        return;
    /* Of a recording that has ended. In a forked child the state is there, and wiped. */
    if (!p || (p->session && kymo_thread_session != p->session_number)) {
        kymo_trace_leave_place();
        kymo_thread_self = &kymo_thread_dead;
        return;
    }
    /* Destructors of the program's own keys may use CPU time after this one: ask to be called
     * again, for the last round but one that POSIX guarantees. */
    if (t->process && t->exits++ < 2)
        (void)pthread_setspecific(exit_key, t);
    else
        kymo_thread_end(t);
}

static void on_thread_exit(void *thread)
{
    (void)thread;
    kymo_process_enter();
    end_thread();
    kymo_process_leave();
}

int kymo_hooks_init(void)
{
    has_key = has_key || pthread_key_create(&exit_key, on_thread_exit) == 0;
    return has_key;
}

void kymo_hooks_watch_exit(struct kymo_capture_thread *thread)
{
    (void)pthread_setspecific(exit_key, thread);
}

/* ---- threads ---- */

/* A slot for the thread that is about to be made, and what it is to run; NULL: none. */
static struct kymo_capture_thread *prepare(struct kymo_capture_process *p,
                                           const pthread_attr_t *attr, void *start, void *argument)
{
    struct kymo_capture_thread *t = kymo_thread_claim(p);
    if (!t)
        return NULL;
    size_t stack_bytes = 0;
    if (!attr || pthread_attr_getstacksize(attr, &stack_bytes) != 0 || stack_bytes == 0)
        stack_bytes = p->default_stack_bytes;
    t->start = start;
    t->argument = argument;
    t->stack_bytes = stack_bytes;
    kymo_mask_prepare_thread(p, t, attr);
    return t;
}

/* The first thing that a new thread does. */
static void begin(struct kymo_capture_thread *t)
{
    struct kymo_capture_process *p = kymo_capturing();
    if (!p)
        return;
    kymo_mask_begin_thread(p, t);
    /* glibc keeps the thread's control block at the top of its stack. */
    uint64_t top = kymo_thread_block();
    uint64_t size = t->stack_bytes;
    struct kymo_stack_bounds stack = {top > size ? top - size : 0, top};
    struct kymo_capture_thread *met = NULL;
    /* From here on the recorder's call finds the thread taken. */
    if (kymo_cas_relaxed(&kymo_thread_self, &met, &kymo_thread_dead)) {
        kymo_hooks_watch_exit(t);
        kymo_thread_begin(p, t, stack, 0);
    } else {
        /* It was so slow to come here that the recorder has met it: it has a slot. */
        kymo_thread_unclaim(p, t);
        kymo_hooks_watch_exit(met);
        kymo_thread_know_stack(met, stack);
    }
}

/* Both end in a tail call, and leave no frame in the thread's stacks (a test looks). */
static void *thread_main(void *argument)
{
    struct kymo_capture_thread *t = argument;
    void *(*start)(void *) = (void *(*)(void *))t->start;
    void *start_argument = t->argument;
    begin(t);
    return start(start_argument);
}

static int c11_thread_main(void *argument)
{
    struct kymo_capture_thread *t = argument;
    thrd_start_t start = (thrd_start_t)t->start;
    void *start_argument = t->argument;
    begin(t);
    return start(start_argument);
}

KYMO_HOOK int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                             void *argument)
{
    __typeof__(pthread_create) *create = KYMO_REAL(pthread_create);
    kymo_fork_attach_now();
    struct kymo_capture_process *p = kymo_capturing();
    struct kymo_capture_thread *t = p ? prepare(p, attr, (void *)start, argument) : NULL;
    if (!t)
        return create(thread, attr, start, argument);
    int result = create(thread, attr, thread_main, t);
    if (result != 0)
        kymo_thread_unclaim(p, t);
    return result;
}

/* glibc's thrd_create does not come by pthread_create's symbol. */
KYMO_HOOK int thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
    __typeof__(thrd_create) *create = KYMO_REAL(thrd_create);
    kymo_fork_attach_now();
    struct kymo_capture_process *p = kymo_capturing();
    struct kymo_capture_thread *t = p ? prepare(p, NULL, (void *)start, argument) : NULL;
    if (!t)
        return create(thread, start, argument);
    int result = create(thread, c11_thread_main, t);
    if (result != thrd_success)
        kymo_thread_unclaim(p, t);
    return result;
}

/* ---- dlclose ---- */

/* Waits until no other thread is inside a walk that began before `closing` was seen: such a walk
 * may be reading the unwind tables of the library that is about to be unmapped. A handler takes
 * microseconds; one whose thread is not scheduled is waited for a little, then risked, since a
 * thread that has the library on its stack while it is closed is the program's own fault. */
static void wait_for_walks(struct kymo_capture_process *p, const struct kymo_capture_thread *self)
{
    uint32_t touched = kymo_threads_touched(p);
    for (uint32_t i = 0; i < touched; i++) {
        struct kymo_thread_slot *slot = kymo_session_slot(p->session, &p->plan, i);
        if (self && slot == self->slot)
            continue;
        for (int spins = 0; spins < 1000; spins++) {
            if ((kymo_load_seqcst(&slot->depot_pin) == 0 &&
                 kymo_load_seqcst(&slot->alloc_pin) == 0) ||
                kymo_load_relaxed(&slot->state) != KYMO_SLOT_LIVE)
                break;
            if (!kymo_is_quiet(p))
                (void)kymo_syscall3(SYS_sched_yield, 0, 0, 0);
        }
    }
}

/* The recorder walks copies of stacks some time after they were made, and knows what is mapped
 * then. So a process that closes libraries is sampled by its handler from the first one on. A
 * recorder that is stopped is waited for once, and not for long. */
static void end_copies(struct kymo_capture_process *p)
{
    enum { PATIENCE = 3000 };
    struct kymo_session *s = p->session;
    uint32_t touched = kymo_threads_touched(p);
    uint32_t copied = 0;
    uint32_t none = KYMO_HANDLERS_NOT_WANTED;
    if (!(s->flags & KYMO_SESSION_COPIES) || kymo_is_quiet(p) ||
        !kymo_cas_acq_rel(&s->handlers_wanted, &none, (uint32_t)KYMO_HANDLERS_WANTED))
        return;
    /* Pairs with the fence of recorder/host_arm.c: that sees the wish, or this what it began. */
    kymo_fence_seqcst();
    for (uint32_t i = 0; i < touched; i++)
        copied |= kymo_load_relaxed(&kymo_session_slot(s, &p->plan, i)->is_copied);
    if (!copied)
        return;
    kymo_wake_recorder(p);
    for (int i = 0; i < PATIENCE; i++) {
        if (kymo_load_acquire(&s->handlers_given) || kymo_load_relaxed(&s->stopped))
            return;
        kymo_raw_wait_a_little();
    }
    kymo_store_relaxed(&s->handlers_wanted, (uint32_t)KYMO_HANDLERS_WANTED_IN_VAIN);
}

KYMO_HOOK int dlclose(void *handle)
{
    __typeof__(dlclose) *real = KYMO_REAL(dlclose);
    struct kymo_capture_process *p = kymo_capturing();
    if (!p)
        return real(handle);
    struct kymo_capture_thread *t = kymo_thread_self;
    if (t == &kymo_thread_dead)
        t = NULL;
    end_copies(p);
    if (t)
        t->closing++;
    kymo_add_acq_rel(&p->closing, 1u);
    kymo_walker_new_generation(&p->walker);
    kymo_fence_seqcst();
    wait_for_walks(p, t);
    int result = real(handle);
    int saved = errno;
    /* Not if a destructor forked and this is the child. */
    if (p->session) {
        kymo_walker_new_generation(&p->walker);
        kymo_modules_after_close(p);
        kymo_sub_relaxed(&p->closing, 1u);
        if (t)
            t->closing--;
    }
    errno = saved;
    return result;
}
