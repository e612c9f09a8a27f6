/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.c - see hooks.h.
 *
 * Each hook asks first whether this process is captured at all; a forked child, a child of vfork
 * (a foreign pid in our memory) and a process that could not attach just call the real function.
 */
#include "capture/hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <threads.h>

#include "capture/module.h"
#include "capture/on_signal.h"
#include "capture/thread.h"
#include "sys/raw.h"

#define EXPORT __attribute__((visibility("default")))

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int c11_create_fn(thrd_t *, thrd_start_t, void *);
typedef int close_fn(void *);
typedef int sigaction_fn(int, const struct sigaction *, struct sigaction *);
typedef int altstack_fn(const stack_t *, stack_t *);
typedef void (*handler_fn)(int);
typedef handler_fn signal_fn(int, handler_fn);

static create_fn *real_create;
static c11_create_fn *real_c11_create;
static close_fn *real_close;
static sigaction_fn *real_sigaction;
static signal_fn *real_signal;
static altstack_fn *real_altstack;
static pthread_key_t exit_key;

/* Hooks can be called before our constructor ran: other libraries have constructors, too. Finding
 * the same function twice at once is harmless. */
#define REAL(variable, type, name)                   \
    ({                                               \
        type *found_ = kymo_load_relaxed(&variable); \
        if (kymo_unlikely(!found_)) {                \
            found_ = (type *)dlsym(RTLD_NEXT, name); \
            kymo_store_relaxed(&variable, found_);   \
        }                                            \
        found_;                                      \
    })

static void on_thread_exit(void *thread)
{
    struct kymo_thread *t = thread;
    /* Destructors of the program's own keys may use CPU time after this one: ask to be called
     * again, for the last round but one that POSIX guarantees. */
    if (t->process && t->exits++ < 2)
        (void)pthread_setspecific(exit_key, t);
    else
        kymo_thread_end(t);
}

int kymo_hooks_init(void)
{
    if (!REAL(real_create, create_fn, "pthread_create") || !REAL(real_close, close_fn, "dlclose") ||
        !REAL(real_sigaction, sigaction_fn, "sigaction") ||
        !REAL(real_signal, signal_fn, "signal") || !REAL(real_altstack, altstack_fn, "sigaltstack"))
        return 0;
    return pthread_key_create(&exit_key, on_thread_exit) == 0;
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

int kymo_hooks_install_handler(int signo)
{
    struct sigaction theirs;
    if (real_sigaction(signo, NULL, &theirs) != 0)
        return 0;
    struct kymo_program_action action = action_of(&theirs);
    kymo_program_action_set(&action);
    return install(signo, &action);
}

void kymo_hooks_watch_exit(struct kymo_thread *thread)
{
    (void)pthread_setspecific(exit_key, thread);
}

/* ---- threads ---- */

/* A slot for the thread that is about to be made, and what it is to run; NULL: none. */
static struct kymo_thread *prepare(struct kymo_process *p, const pthread_attr_t *attr, void *start,
                                   void *argument)
{
    struct kymo_thread *t = kymo_thread_claim(p);
    if (!t)
        return NULL;
    size_t stack_bytes = 0;
    if (!attr || pthread_attr_getstacksize(attr, &stack_bytes) != 0 || stack_bytes == 0)
        stack_bytes = p->default_stack_bytes;
    t->start = start;
    t->argument = argument;
    t->stack_bytes = stack_bytes;
    return t;
}

/* The first thing that a new thread does. */
static void begin(struct kymo_thread *t)
{
    struct kymo_process *p = kymo_capturing();
    if (!p)
        return;
    /* glibc keeps the thread's control block at the top of its stack. */
    uint64_t top = (uint64_t)(uintptr_t)__builtin_thread_pointer();
    uint64_t size = t->stack_bytes;
    struct kymo_stack_bounds stack = {top > size ? top - size : 0, top};
    struct kymo_thread *met = NULL;
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
    struct kymo_thread *t = argument;
    void *(*start)(void *) = (void *(*)(void *))t->start;
    void *start_argument = t->argument;
    begin(t);
    return start(start_argument);
}

static int c11_thread_main(void *argument)
{
    struct kymo_thread *t = argument;
    thrd_start_t start = (thrd_start_t)t->start;
    void *start_argument = t->argument;
    begin(t);
    return start(start_argument);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *argument)
{
    create_fn *create = REAL(real_create, create_fn, "pthread_create");
    struct kymo_process *p = kymo_capturing();
    struct kymo_thread *t = p ? prepare(p, attr, (void *)start, argument) : NULL;
    if (!t)
        return create(thread, attr, start, argument);
    int result = create(thread, attr, thread_main, t);
    if (result != 0)
        kymo_thread_unclaim(p, t);
    return result;
}

/* glibc's thrd_create does not come by pthread_create's symbol. */
EXPORT int thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
    c11_create_fn *create = REAL(real_c11_create, c11_create_fn, "thrd_create");
    struct kymo_process *p = kymo_capturing();
    struct kymo_thread *t = p ? prepare(p, NULL, (void *)start, argument) : NULL;
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
static void wait_for_walks(struct kymo_process *p, const struct kymo_thread *self)
{
    uint32_t touched = kymo_load_acquire(&p->session->slots_touched);
    if (touched > p->plan.threads)
        touched = p->plan.threads;
    for (uint32_t i = 0; i < touched; i++) {
        struct kymo_thread_slot *slot = kymo_session_slot(p->session, &p->plan, i);
        if (self && slot == self->slot)
            continue;
        for (int spins = 0; spins < 1000; spins++) {
            if (kymo_load_seqcst(&slot->depot_pin) == 0 ||
                kymo_load_relaxed(&slot->state) != KYMO_SLOT_LIVE)
                break;
            (void)kymo_syscall3(SYS_sched_yield, 0, 0, 0);
        }
    }
}

EXPORT int dlclose(void *handle)
{
    close_fn *real = REAL(real_close, close_fn, "dlclose");
    struct kymo_process *p = kymo_capturing();
    if (!p)
        return real(handle);
    struct kymo_thread *t = kymo_thread_self;
    if (t == &kymo_thread_dead)
        t = NULL;
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

EXPORT int sigaction(int signo, const struct sigaction *restrict action,
                     struct sigaction *restrict old)
{
    sigaction_fn *real = REAL(real_sigaction, sigaction_fn, "sigaction");
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

EXPORT handler_fn signal(int signo, handler_fn handler)
{
    signal_fn *real = REAL(real_signal, signal_fn, "signal");
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
EXPORT int sigaltstack(const stack_t *restrict stack, stack_t *restrict old)
{
    altstack_fn *real = REAL(real_altstack, altstack_fn, "sigaltstack");
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
