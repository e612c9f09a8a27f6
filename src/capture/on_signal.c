/* SPDX-License-Identifier: Apache-2.0 */
/*
 * on_signal.c - takes a sample.
 *
 * Which signals are ours: timers and the recorder's own calls carry the session's cookie, which no
 * other sender knows; perf events carry the number of the descriptor that the recorder wrote into
 * the thread's slot. Anything else goes to the handler that the program installed.
 *
 * A sample's weight is the CPU time that the thread used since its last sample, so the weights of a
 * thread add up to its CPU clock, whatever was lost in between: when a record finds no room, the
 * weight waits for the next one. In a quiet process (seccomp_hooks.c) the handler may not look at
 * that clock, nor ask the kernel for anything else: the weight is 0, which says that it is not
 * known, and the CPU time since the last one that is known is shared by all such.
 *
 * In a pause (kymo control pause) nothing is sampled. The first signal behind it only reads the
 * clock: CPU time since the last sample is the pause's, and counted in the slot. Timers run on
 * meanwhile, for a signal at each kernel tick: to arm them again, each thread would have to be
 * signalled, and those that sleep would see EINTR.
 *
 * A thread may have thread-local storage that is not libc's: that is found out before anything of
 * ours there is touched, and then its samples are dropped and counted.
 *
 * A sample goes to the thread's stream of signals, or to the other one where this signal has struck
 * in the middle of a record (claim.h). It is published last, when its stack is stored.
 */
#include "capture/on_signal.h"

#include <errno.h>
#include <string.h>

#include "arch/context.h"
#include "base/atomic.h"
#include "buffer/depot.h"
#include "buffer/stream.h"
#include "capture/alloc_stack.h"
#include "capture/claim.h"
#include "capture/fork_child.h"
#include "capture/mark.h"
#include "capture/mask_hooks.h"
#include "capture/python_stack.h"
#include "capture/signal_move.h"
#include "capture/take_stack.h"
#include "capture/thread.h"
#include "capture/timer.h"
#include "sys/clock.h"
#include "unwind/unwind.h"

#define REAL_TIME 32 /* from here on the default is to end the process */

/* Samples of the dispatcher that are closer than this part of a period are one. */
#define DISPATCH_CLOSEST 4u

enum source { FROM_TIMER, FROM_PERF, FROM_DISPATCHER };

/* The timer beside a perf event is there for time in the kernel: while the event samples the thread
 * often enough, it has nothing to add. A signal of the dispatcher that came late, and so close
 * before the next one or behind the last, shows the same moment twice. */
static int is_spare(const struct kymo_capture_process *p, const struct kymo_capture_thread *t,
                    uint64_t cpu_ns, enum source source)
{
    uint64_t period_ns = kymo_load_relaxed(&p->session->period_ns);
    if (source == FROM_DISPATCHER)
        return cpu_ns - t->last_cpu_ns < period_ns / DISPATCH_CLOSEST;
    return source == FROM_TIMER && p->session->engine == KYMO_SESSION_PERF &&
           cpu_ns - t->last_cpu_ns < period_ns && t->slot->samples > 0 &&
           !kymo_load_relaxed(&t->slot->ask_timer);
}

/* Without a look at the clock: the timer is spare beside any event. */
static int is_spare_quietly(const struct kymo_capture_process *p,
                            const struct kymo_capture_thread *t, enum source source)
{
    return source == FROM_TIMER && p->session->engine == KYMO_SESSION_PERF &&
           kymo_load_relaxed(&t->slot->perf_fd) >= 0;
}

/* Labels that are gone, before the clock of what does not have them any more. */
static void repay(struct kymo_capture_thread *t, const ucontext_t *context)
{
    if (kymo_unlikely(t->labels_owed || t->labels))
        kymo_mark_labels_repay(t, kymo_context_sp(context));
}

/* Room in a claimed stream; NULL: none, or none is free to be written to. */
static void *reserve(struct kymo_capture_process *p, struct kymo_capture_thread *t,
                     struct kymo_stream_writer *w, uint32_t size_bytes)
{
    return w ? kymo_stream_reserve(w, p->session, &p->plan, t->number, size_bytes) : NULL;
}

/* Whether this signal came in a pause, or is the first one behind it. */
static int is_of_pause(const struct kymo_capture_process *p, struct kymo_capture_thread *t,
                       uint64_t cpu_ns)
{
    struct kymo_thread_slot *slot = t->slot;
    /* Pairs with the release in recorder/host.c. */
    uint32_t pauses = kymo_load_acquire(&p->session->pauses);
    if (kymo_likely(pauses == slot->pauses && !(pauses & 1)))
        return 0;
    if (pauses & 1)
        return 1;
    if (cpu_ns > t->last_cpu_ns) {
        kymo_store_relaxed(&slot->paused_cpu_ns, slot->paused_cpu_ns + (cpu_ns - t->last_cpu_ns));
        t->last_cpu_ns = cpu_ns;
    }
    kymo_store_relaxed(&slot->pauses, pauses);
    return 1;
}

/* What the recorder has sampled without us is no weight of ours. It counts by another clock, which
 * may be ahead of the thread's. */
static void follow_copies(struct kymo_capture_thread *t, uint64_t cpu_ns)
{
    uint64_t copied_ns = kymo_load_relaxed(&t->slot->copied_ns);
    if (kymo_likely(copied_ns == t->copied_ns))
        return;
    t->last_cpu_ns += copied_ns - t->copied_ns;
    t->copied_ns = copied_ns;
    if (t->last_cpu_ns > cpu_ns)
        t->last_cpu_ns = cpu_ns;
}

static KYMO_NOINLINE void take_sample(struct kymo_capture_process *p, struct kymo_capture_thread *t,
                                      const ucontext_t *context, enum source source)
{
    struct kymo_thread_slot *slot = t->slot;
    int quiet = kymo_is_quiet(p);
    /* Pairs with the release in recorder/host_copies.c. */
    if (kymo_unlikely(kymo_load_acquire(&slot->is_copied) != 0))
        return;
    if (kymo_context_sp(context) < slot->sp_least)
        kymo_store_relaxed(&slot->sp_least, kymo_context_sp(context));
    repay(t, context);
    kymo_alloc_tidy(t, kymo_context_sp(context));
    uint64_t clock = kymo_process_clock(p);
    uint64_t cpu_ns = quiet ? UINT64_MAX : kymo_clock_thread_cpu();
    follow_copies(t, cpu_ns);
    if (quiet)
        cpu_ns = t->last_cpu_ns;
    if (is_of_pause(p, t, cpu_ns))
        return;
    if (quiet ? is_spare_quietly(p, t, source)
              : cpu_ns <= t->last_cpu_ns || is_spare(p, t, cpu_ns, source))
        return;
    kymo_regs_from_ucontext(&t->regs, context);
    uint32_t stack = kymo_stack_take(p, t, NULL);
    struct kymo_stream_writer *w = kymo_claim(t, KYMO_STREAM_SIGNAL, kymo_context_sp(context));
    struct kymo_record_sample *r;
    uint32_t size_bytes = kymo_python_task_around(&t->task, sizeof *r);
    void *at = reserve(p, t, w, size_bytes);
    if (kymo_likely(at != NULL)) {
        r = kymo_python_task_label(&t->task, at, sizeof *r, clock);
        r->head = (struct kymo_record){clock, KYMO_RECORD_SAMPLE_CPU, sizeof *r, stack};
        r->weight_ns = cpu_ns - t->last_cpu_ns;
        kymo_stream_publish(w, size_bytes);
        t->last_cpu_ns = cpu_ns;
        slot->samples++;
        if (kymo_unlikely(slot->samples == p->session->handler_samples))
            kymo_wake_recorder(p);
    } else {
        kymo_count_loss(p, w ? KYMO_LOSS_SAMPLE_NO_BLOCK : KYMO_LOSS_SAMPLE_BUSY);
    }
    if (kymo_likely(w != NULL))
        kymo_claim_end(w);
    kymo_depot_leave(slot);
    if (!quiet)
        slot->handler_ns += kymo_clock_thread_cpu() - cpu_ns;
}

/* The registers that a later walk of the same place may need. */
static void put_registers(struct kymo_capture_thread *t, const ucontext_t *context,
                          struct kymo_record_answer *r)
{
    kymo_regs_from_ucontext(&t->regs, context); /* again: the walk has used them up */
    r->ip = t->regs.ip;
    r->sp = t->regs.gpr[KYMO_REG_SP];
    for (unsigned slot = 0; slot < KYMO_SLOTS_SAVED; slot++)
        r->saved[slot] = t->regs.gpr[kymo_slot_register[slot]];
}

/* The recorder asks for the stack of a thread that waits. */
static KYMO_NOINLINE void answer_with_stack(struct kymo_capture_process *p,
                                            struct kymo_capture_thread *t,
                                            const ucontext_t *context)
{
    uint64_t callers;
    repay(t, context);
    uint64_t clock = kymo_process_clock(p);
    kymo_regs_from_ucontext(&t->regs, context);
    uint32_t stack = kymo_stack_take(p, t, &callers);
    struct kymo_stream_writer *w = kymo_claim(t, KYMO_STREAM_SIGNAL, kymo_context_sp(context));
    struct kymo_record_answer *r = reserve(p, t, w, sizeof *r);
    if (r) {
        *r = (struct kymo_record_answer){
            .head = {clock, KYMO_RECORD_ANSWER, sizeof *r, stack},
            .callers = callers,
            .is_disturbed = (uint64_t)kymo_context_was_interrupted(context),
        };
        put_registers(t, context, r);
        kymo_stream_publish(w, sizeof *r);
    }
    if (w)
        kymo_claim_end(w);
    kymo_depot_leave(t->slot);
}

/* A timer beside an event without the kernel, none beside one with it; always by the present signal
 * and period. None, too, beside one without a signal; but after a move to a real-time signal it is
 * all that there will be. */
static void match_timer(struct kymo_capture_process *p, struct kymo_capture_thread *t,
                        int from_perf)
{
    int copied =
        kymo_load_relaxed(&t->slot->is_copied) && kymo_load_relaxed(&p->signal) < REAL_TIME;
    if (!from_perf && !copied) {
        if (kymo_timer_is_old(p, t))
            kymo_timer_follow(p, t);
        return;
    }
    int wanted = !kymo_load_relaxed(&t->slot->perf_kernel) && !copied;
    if (wanted == (int)t->slot->timer_on || t->timer_failed)
        return;
    if (wanted)
        t->timer_failed = !kymo_timer_arm(p, t);
    else
        kymo_timer_disarm(t);
}

/* The dispatcher has found the thread, which needs its timer no more. */
static void note_dispatch(struct kymo_capture_thread *t, const ucontext_t *context, int quiet)
{
    if (kymo_context_was_interrupted(context))
        kymo_store_relaxed(&t->slot->disturbed, t->slot->disturbed + 1);
    if (t->slot->timer_on && !kymo_load_relaxed(&t->slot->ask_timer) && !quiet)
        kymo_timer_disarm(t);
    /* Pairs with the dispatcher's acquire. */
    kymo_store_release(&t->slot->answers, t->slot->answers + 1);
}

/* The recorder updates its heartbeat many times a second while it lives. When it is gone, no
 * process reads the samples, and the session would only fill. */
static int recorder_is_silent(struct kymo_capture_process *p)
{
    uint64_t silence = kymo_process_clock(p) - kymo_load_acquire(&p->session->heartbeat);
    /* A beat of another CPU may be a few ticks ahead of this one's counter: not silence. */
    return silence > p->heartbeat_limit && silence < UINT64_MAX / 2;
}

/* The recorder found this thread in /proc and nothing of it in the session, or it could not arm
 * perf for it, or the period has become a shorter one. */
static void answer_recorder(struct kymo_capture_process *p, struct kymo_capture_thread *t)
{
    if (!t)
        kymo_thread_adopt(p);
    else if (t->slot->timer_on)
        kymo_timer_follow(p, t);
    else if (kymo_load_relaxed(&t->slot->ask_timer) && !kymo_timer_arm(p, t))
        kymo_count_loss(p, KYMO_LOSS_NO_TIMER);
}

/* Does what the kernel does with a real-time signal that has no handler: ends the process by it. */
static KYMO_NOINLINE void die_of(int signo)
{
    struct {
        uint64_t handler, flags, restorer, mask;
    } by_default = {0, 0, 0, 0};
    uint64_t bit = KYMO_SIGNAL_BIT(signo);
    (void)kymo_syscall4(SYS_rt_sigaction, signo, (long)(intptr_t)&by_default, 0, sizeof bit);
    (void)kymo_syscall3(SYS_tgkill, kymo_raw_getpid(), kymo_raw_gettid(), signo);
    kymo_raw_change_mask(&bit, 0);
}

/* Calls the program's handler as the kernel would have called it: with its mask, and once only if
 * it asked for that. The mask of the interrupted code comes back with our own return. Quiet: with
 * every signal blocked, since the mask is the kernel's. */
static void pass_on(int signo, siginfo_t *info, void *context, int quiet)
{
    uint32_t which;
    int own = kymo_own_signal_find(signo);
    struct kymo_program_action action = kymo_program_action_get(own < 0 ? 0 : own, &which);
    if (own < 0 || action.handler == SIG_IGN)
        return;
    if (action.handler == SIG_DFL) {
        if (signo >= REAL_TIME)
            die_of(signo);
        return; /* the others are ignored */
    }
    if (action.flags & (int)SA_RESETHAND && !kymo_program_action_reset(own, which, action.handler))
        return;
    if (!quiet) {
        uint64_t mask;
        memcpy(&mask, &((const ucontext_t *)context)->uc_sigmask, sizeof mask);
        mask |= action.mask | (action.flags & SA_NODEFER ? 0 : KYMO_SIGNAL_BIT(signo));
        kymo_raw_set_mask(&mask, NULL);
    }
    if (action.flags & SA_SIGINFO)
        ((void (*)(int, siginfo_t *, void *))(void *)action.handler)(signo, info, context);
    else
        action.handler(signo);
}

/* The program holds this signal blocked, and has it open because of us (mask_hooks.h). One of its
 * own finds it blocked from here on, and is sent once more. */
static int hold_back(int signo, siginfo_t *info, void *context)
{
    uint64_t bit = KYMO_SIGNAL_BIT(signo);
    uint64_t mask;
    ucontext_t *interrupted = context;
    memcpy(&mask, &interrupted->uc_sigmask, sizeof mask);
    if (!(kymo_held_self & bit) || !kymo_mask_is_of_all(mask | kymo_held_self))
        return 0;
    kymo_held_self &= ~bit;
    mask |= bit;
    memcpy(&interrupted->uc_sigmask, &mask, sizeof mask);
    long pid = kymo_raw_getpid();
    if (info->si_code == SI_TKILL)
        (void)kymo_syscall4(SYS_rt_tgsigqueueinfo, pid, kymo_raw_gettid(), signo,
                            (long)(intptr_t)info);
    else
        (void)kymo_syscall3(SYS_rt_sigqueueinfo, pid, signo, (long)(intptr_t)info);
    return 1;
}

/* A raw clone without a TLS of its own runs with its parent's: what it finds there is not about
 * itself. Its stack tells it from its parent without a system call, where bounds are known. */
static int is_own(const struct kymo_capture_thread *t, const ucontext_t *context, int quiet)
{
    uint64_t sp = kymo_context_sp(context);
    return quiet || (sp >= t->stack.lo && sp < t->stack.hi) || t->tid == kymo_raw_gettid();
}

/* Also of an event that was replaced: its last signal may come after that. */
static int is_event_of(const struct kymo_capture_thread *t, int fd)
{
    return t == &kymo_thread_dead || fd == kymo_load_relaxed(&t->slot->perf_fd) ||
           fd == kymo_load_relaxed(&t->slot->perf_fd_before);
}

int kymo_signal_is_ours(const struct kymo_capture_process *p, const struct kymo_capture_thread *t,
                        const siginfo_t *info)
{
    if (info->si_code == SI_TIMER || info->si_code == SI_QUEUE || info->si_code == KYMO_ASK_CODE ||
        info->si_code == KYMO_DISPATCH_CODE)
        return (uint64_t)(uintptr_t)info->si_value.sival_ptr == p->cookie;
    return info->si_code >= POLL_IN && info->si_code <= POLL_HUP && t &&
           is_event_of(t, info->si_fd);
}

/* Whether an alternate stack, which a system call that no hook saw may have made small, has room
 * for what a handler of ours needs. The kernel's frame fitted, or we would not be here. */
static int has_room(const ucontext_t *context)
{
    enum { NEEDED = 2048 }; /* tools/signal-path.txt holds us to less */
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    uint64_t lo = (uint64_t)(uintptr_t)context->uc_stack.ss_sp;
    return here - lo >= context->uc_stack.ss_size || here - lo >= NEEDED;
}

/* From here until leave the thread counts as one that may make system calls: pairs with the fence
 * of the hooks that set filters, so either those see that, or this thread sees that it may not. */
static void enter(struct kymo_capture_thread *t)
{
    kymo_store_relaxed(&t->handling, 1u);
    kymo_fence_seqcst();
}

static void leave(struct kymo_capture_thread *t)
{
    if (t)
        kymo_store_release(&t->handling, 0u);
}

/* Whose a signal was. The program's own handler runs when nothing of ours is under way any more,
 * since it may not return; quietly: with every signal blocked. */
enum outcome { WAS_OURS, IS_PROGRAMS, IS_PROGRAMS_QUIETLY };

/* Here nothing may touch thread-local storage, errno included: it is not libc's. */
static enum outcome on_other_thread(struct kymo_capture_process *p, const siginfo_t *info,
                                    int may_ask)
{
    if (!p && kymo_fork_is_due(info))
        return WAS_OURS;
    if (!p || !kymo_signal_is_ours(p, &kymo_thread_dead, info))
        return may_ask ? IS_PROGRAMS : IS_PROGRAMS_QUIETLY;
    if (info->si_code != SI_QUEUE)
        kymo_count_loss(p, KYMO_LOSS_NOT_LIBC);
    return WAS_OURS;
}

/* The calling thread as it is known in this session, &kymo_thread_dead after its end. */
static struct kymo_capture_thread *own_thread(const struct kymo_capture_process *p)
{
    struct kymo_capture_thread *t = kymo_thread_self;
    if (kymo_likely(!p || !t || t == &kymo_thread_dead || kymo_thread_session == p->session_number))
        return t;
    /* In an earlier recording: what it had there may be unmapped. */
    kymo_thread_self = NULL;
    return NULL;
}

/* One of ours, on a thread that may be known. */
static void obey(struct kymo_capture_process *p, struct kymo_capture_thread *t, siginfo_t *info,
                 void *context, int quiet)
{
    if (t == &kymo_thread_dead) {
        /* A last one that was on its way; or a call to the process, which any thread may get. */
        if (info->si_code == SI_QUEUE)
            kymo_mark_links_look();
    } else if (kymo_load_relaxed(&p->session->stopped)) {
        kymo_mark_links_look();
        if (t && t->slot->timer_on && !quiet)
            kymo_timer_disarm(t);
    } else if (info->si_code == SI_QUEUE) {
        kymo_mark_links_look();
        if (!quiet)
            answer_recorder(p, t);
    } else if (t && info->si_code == KYMO_ASK_CODE) {
        answer_with_stack(p, t, context);
    } else if (t && info->si_code == KYMO_DISPATCH_CODE) {
        /* The recorder sends these, so it is not silent. */
        note_dispatch(t, context, quiet);
        take_sample(p, t, context, FROM_DISPATCHER);
    } else if (t) {
        int from_perf = info->si_code != SI_TIMER;
        if (!recorder_is_silent(p)) {
            /* One that was silent is back: then so are markers. */
            kymo_mark_links_look();
            if (!quiet)
                match_timer(p, t, from_perf);
            take_sample(p, t, context, from_perf ? FROM_PERF : FROM_TIMER);
        } else {
            kymo_count_loss(p, KYMO_LOSS_RECORDER_GONE);
            kymo_mark_links_look();
            if (t->slot->timer_on && !quiet)
                kymo_timer_disarm(t);
        }
    }
}

static enum outcome on_known_storage(struct kymo_capture_process *p, int signo, siginfo_t *info,
                                     void *context)
{
    struct kymo_capture_thread *t = own_thread(p);
    struct kymo_capture_thread *known = p && t != &kymo_thread_dead ? t : NULL;
    if (known)
        enter(known);
    int quiet = p && kymo_is_quiet(p);
    if (known && !is_own(t, context, quiet))
        t = &kymo_thread_dead;

    int is_ours = p && kymo_signal_is_ours(p, t, info);
    int64_t result = is_ours ? kymo_context_call_result(context) : 0;
    /* A later signal may come before transfer_hooks.c has looked. */
    if (result)
        kymo_store_relaxed(&kymo_cut_call, result);
    int is_held = !is_ours && !quiet && hold_back(signo, info, context);
    if (is_ours)
        obey(p, t, info, context, quiet);
    leave(known);
    return is_ours || is_held ? WAS_OURS : quiet ? IS_PROGRAMS_QUIETLY : IS_PROGRAMS;
}

static enum outcome take_signal(struct kymo_capture_process *p, int signo, siginfo_t *info,
                                void *context, int may_ask)
{
    if (kymo_unlikely(!has_room(context)) && p && kymo_signal_is_ours(p, &kymo_thread_dead, info)) {
        kymo_count_loss(p, KYMO_LOSS_SMALL_STACK);
        return WAS_OURS;
    }
    if (kymo_unlikely(!kymo_thread_pointer_is_libc(may_ask)))
        return on_other_thread(p, info, may_ask);
    int saved = errno;
    enum outcome outcome = WAS_OURS;
    if (kymo_unlikely(!p && kymo_fork_is_due(info)))
        kymo_fork_attach();
    else
        outcome = on_known_storage(p, signo, info, context);
    errno = saved;
    return outcome;
}

void kymo_on_signal(int signo, siginfo_t *info, void *context)
{
    kymo_process_enter();
    struct kymo_capture_process *p = kymo_process_here();
    int may_ask = p ? !kymo_is_quiet(p) : !kymo_load_relaxed(&kymo_quiet_here);
    enum outcome outcome = take_signal(p, signo, info, context, may_ask);
    kymo_process_leave();
    if (outcome != WAS_OURS)
        pass_on(signo, info, context, outcome == IS_PROGRAMS_QUIETLY);
}
