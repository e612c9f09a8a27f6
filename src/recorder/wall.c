/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wall.c - see wall.h.
 *
 * A thread's time is cut into runs that follow each other without gaps. A waiting run lasts for as
 * long as the thread is not seen to have moved (its schedstat says so, exactly); it knows its stack
 * and what is waited in from its beginning. A running tick has its length at once, and its stack
 * when the drain has read a CPU sample behind it: such ticks wait in a short queue.
 *
 * A stack that cannot be walked from outside, since a frame needs a register that only the thread
 * has: it is asked by a signal, once for a place. Its handler records the stack and the registers.
 * When the thread is found at the same place again (pc and stack pointer), the walk is done with
 * those registers; if it gives the same callers, it is the same stack, and the thread is left
 * alone. A signal may end a call with EINTR, so there are few of them: ASK_GRACE for a process, and
 * one more for each ASK_SHARE looks. What is not asked for is recorded as far as it is known.
 */
#include "recorder/wall.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/log.h"
#include "recorder/remote.h"
#include "recorder/task.h"
#include "recorder/wall_stacks.h"
#include "recorder/watch.h"

#define FLUSH_NS 1000000000u
#define RETRY_NS 100000000u
#define DEPTH 1024u
#define PENDING 16u
#define PLACES 4u
#define ASK_GRACE 16u
#define ASK_SHARE 1000u
#define BATCH 128u
#define RSP_ALONE (1u << KYMO_REG_RSP)
/* What a system call leaves as it was, and a handler records. */
#define CALL_KEEPS                                                                          \
    (RSP_ALONE | 1u << KYMO_REG_RBP | 1u << KYMO_REG_RBX | 1u << 12 | 1u << 13 | 1u << 14 | \
     1u << 15)

struct kymo_wall_shared {
    const kymo_event_handler *events;
    void *context;
    uint64_t period_ns;
    uint64_t next_ns;
    uint64_t random;
    kymo_remote_store *store;
    kymo_wait_names *names;
};

/* A tick that found its thread running: [from, to). */
struct running {
    uint64_t from_ns, to_ns;
};

/* Where a thread was asked for its stack, and what it said. */
struct place {
    struct kymo_regs regs;
    uint64_t callers; /* hash of what lies above the innermost frame */
    uint32_t stack;   /* of the drain */
    int is_known;
};

struct thread {
    uint32_t thread; /* in the recording */
    pid_t tid;
    uint32_t entry; /* of watch */
    int is_watched;
    int call; /* descriptor of its syscall file; -1: opened for each look */
    uint64_t accounted_ns;
    /* The run that lasts, from accounted_ns on. */
    int waits;
    int asked; /* it was called for its stack in this run, and has not answered */
    uint64_t ip, sp;
    uint32_t stack;
    uint32_t wait;
    uint16_t state;
    /* A run that ended before the answer came. time_ns 0: none. */
    kymo_event_sample held;
    uint64_t held_ip, held_sp;
    /* Ticks without a stack, oldest first. */
    struct running pending[PENDING];
    uint32_t n_pending;
    uint64_t cpu_time_ns; /* of its last CPU sample; 0: none yet */
    uint32_t cpu_stack;
    struct place places[PLACES];
    uint32_t next_place;
};

struct kymo_wall {
    kymo_wall_shared *shared;
    struct kymo_session *session;
    pid_t pid;
    uint32_t *next_thread;
    kymo_watch *watch;
    struct kymo_wall_stacks stacks;
    uint64_t retry_ns; /* of reading the process's memory */
    uint32_t module_generation;
    KYMO_VEC(struct thread *) drained; /* by the drain's number; NULL: ended */
    KYMO_VEC(struct thread *) strangers;
    uint64_t now_ns, before_ns; /* this tick and the one before */
    uint64_t flushed_ns;
    uint64_t looks; /* threads times ticks */
    uint64_t asks;
    uint64_t disturbed;
    kymo_err err; /* of the tick at hand */
    uint64_t pcs[DEPTH];
    kymo_event_sample batch[BATCH];
    uint32_t batched;
    uint32_t batch_thread;
};

/* ---- the recording's ---- */

kymo_err kymo_wall_shared_create(uint64_t period_ns, const kymo_event_handler *events,
                                 void *context, kymo_wall_shared **out)
{
    kymo_wall_shared *s = calloc(1, sizeof *s);
    if (!s)
        return KYMO_E_NOMEM;
    s->events = events;
    s->context = context;
    s->period_ns = period_ns;
    if (getrandom(&s->random, sizeof s->random, GRND_NONBLOCK) != (ssize_t)sizeof s->random)
        s->random = period_ns;
    kymo_err err = kymo_remote_store_create(&s->store);
    if (err == KYMO_OK)
        err = kymo_wait_names_create(events, context, &s->names);
    if (err != KYMO_OK) {
        kymo_wall_shared_destroy(s);
        return err;
    }
    *out = s;
    return KYMO_OK;
}

void kymo_wall_shared_destroy(kymo_wall_shared *s)
{
    if (!s)
        return;
    kymo_remote_store_destroy(s->store);
    kymo_wait_names_destroy(s->names);
    free(s);
}

int kymo_wall_due(kymo_wall_shared *s, uint64_t now_ns)
{
    if (now_ns < s->next_ns)
        return 0;
    /* From half a period to one and a half, so that what the program does in time with it is seen
     * in proportion. */
    s->random = kymo_hash_mix(s->random, now_ns);
    s->next_ns = now_ns + s->period_ns / 2 + s->random % s->period_ns;
    return 1;
}

uint64_t kymo_wall_next_ns(const kymo_wall_shared *s)
{
    return s->next_ns;
}

/* ---- samples ---- */

static kymo_err flush(kymo_wall *w)
{
    kymo_event_samples e = {w->batch_thread, w->batched, w->batch};
    if (w->batched == 0)
        return KYMO_OK;
    w->batched = 0;
    return w->shared->events->samples(w->shared->context, &e);
}

static kymo_err put(kymo_wall *w, const struct thread *t, const kymo_event_sample *sample)
{
    if (w->batched == BATCH || (w->batched && w->batch_thread != t->thread))
        KYMO_TRY(flush(w));
    w->batch_thread = t->thread;
    w->batch[w->batched++] = *sample;
    return KYMO_OK;
}

static kymo_err put_held(kymo_wall *w, struct thread *t)
{
    kymo_event_sample s = t->held;
    t->held.time_ns = 0;
    return s.time_ns ? put(w, t, &s) : KYMO_OK;
}

/* The run of a waiting thread up to end_ns. The thread may wait on. */
static kymo_err close_wait(kymo_wall *w, struct thread *t, uint64_t end_ns)
{
    kymo_event_sample s = {
        .time_ns = t->accounted_ns,
        .stack = t->stack,
        .kind = 1,
        .state = t->state,
        .wait = t->wait,
    };
    if (!t->waits || end_ns <= t->accounted_ns)
        return KYMO_OK;
    s.weight_ns = end_ns - t->accounted_ns;
    t->accounted_ns = end_ns;
    if (!t->asked)
        return put(w, t, &s);
    KYMO_TRY(put_held(w, t));
    t->held = s;
    t->held_ip = t->ip;
    t->held_sp = t->sp;
    return KYMO_OK;
}

/* Gives the oldest tick without a stack this one. */
static kymo_err resolve(kymo_wall *w, struct thread *t, uint32_t stack)
{
    const struct running *r = &t->pending[0];
    kymo_event_sample s = {
        .time_ns = r->from_ns,
        .weight_ns = r->to_ns - r->from_ns,
        .stack = stack,
        .kind = 1,
        .state = 1,
    };
    memmove(t->pending, t->pending + 1, --t->n_pending * sizeof *t->pending);
    return put(w, t, &s);
}

static kymo_err resolve_all(kymo_wall *w, struct thread *t)
{
    while (t->n_pending > 0)
        KYMO_TRY(resolve(w, t, t->cpu_time_ns ? t->cpu_stack : KYMO_EVENT_NONE));
    return KYMO_OK;
}

static kymo_err add_running(kymo_wall *w, struct thread *t)
{
    if (w->now_ns <= t->accounted_ns)
        return KYMO_OK;
    if (t->n_pending == PENDING)
        KYMO_TRY(resolve(w, t, t->cpu_time_ns ? t->cpu_stack : KYMO_EVENT_NONE));
    t->pending[t->n_pending++] = (struct running){t->accounted_ns, w->now_ns};
    t->accounted_ns = w->now_ns;
    return KYMO_OK;
}

kymo_err kymo_wall_cpu_sample(kymo_wall *w, uint32_t drained, uint64_t time_ns, uint32_t stack)
{
    struct thread *t = drained < w->drained.len ? w->drained.data[drained] : NULL;
    if (!t)
        return KYMO_OK;
    while (t->n_pending > 0 && t->pending[0].to_ns <= time_ns) {
        /* The one before the tick if it is nearer. */
        uint64_t tick_ns = t->pending[0].to_ns;
        int before = t->cpu_time_ns && tick_ns - t->cpu_time_ns < time_ns - tick_ns;
        KYMO_TRY(resolve(w, t, before ? t->cpu_stack : stack));
    }
    t->cpu_time_ns = time_ns;
    t->cpu_stack = stack;
    return KYMO_OK;
}

/* ---- where a thread waits ---- */

static int read_call(const kymo_wall *w, struct thread *t, struct kymo_remote_call *call)
{
    char path[64];
    char text[256];
    if (t->call < 0) {
        snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)w->pid, (int)t->tid);
        t->call = open(path, O_RDONLY | O_CLOEXEC);
    }
    ssize_t n = t->call < 0 ? -1 : pread(t->call, text, sizeof text - 1, 0);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    return kymo_remote_parse_call(text, call);
}

static kymo_err prepare_remote(kymo_wall *w)
{
    struct kymo_wall_stacks *s = &w->stacks;
    uint32_t generation = kymo_load_acquire(&w->session->module_generation);
    if (s->remote && generation != w->module_generation) {
        /* A library was closed. */
        w->module_generation = generation;
        if (kymo_remote_refresh(s->remote) != KYMO_OK)
            return KYMO_OK;
    }
    if (s->remote || w->now_ns < w->retry_ns)
        return KYMO_OK;
    w->module_generation = generation;
    w->retry_ns = w->now_ns + RETRY_NS;
    kymo_err err = kymo_remote_create(w->shared->store, w->pid, &s->remote);
    return err == KYMO_E_NOMEM ? err : KYMO_OK;
}

static int is_place(const struct place *p, const struct kymo_remote_call *call)
{
    /* A call that a handler interrupted begins again with its instruction, which has two bytes. */
    return p->is_known && p->regs.gpr[KYMO_REG_RSP] == call->sp &&
           (p->regs.ip == call->pc || p->regs.ip + 2 == call->pc);
}

static uint64_t hash_callers(const uint64_t *pcs, size_t n)
{
    return n > 1 ? kymo_hash_words(pcs + 1, n - 1, n) : 0;
}

/* The stack of a place where the thread was asked before, if it is the same one. */
static int find_place(kymo_wall *w, struct thread *t, const struct kymo_remote_call *call)
{
    for (uint32_t i = 0; i < PLACES; i++) {
        const struct place *p = &t->places[i];
        struct kymo_walk_result walk;
        struct kymo_regs regs = p->regs;
        if (!is_place(p, call))
            continue;
        regs.ip = call->pc;
        size_t n = kymo_remote_walk(w->stacks.remote, &regs, CALL_KEEPS, w->pcs, DEPTH, &walk);
        if (n > 0 && hash_callers(w->pcs, n) == p->callers) {
            t->stack = p->stack;
            return 1;
        }
    }
    return 0;
}

static void ask(kymo_wall *w, struct thread *t)
{
    siginfo_t info = {.si_signo = (int)kymo_load_relaxed(&w->session->signal_now),
                      .si_code = KYMO_ASK_CODE};
    if (info.si_signo <= 0 || info.si_signo > SIGRTMAX || t->asked ||
        w->asks >= ASK_GRACE + w->looks / ASK_SHARE)
        return;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)(uintptr_t)w->session->cookie;
    t->asked = 1;
    w->asks++;
    (void)syscall(SYS_rt_tgsigqueueinfo, w->pid, t->tid, info.si_signo, &info);
}

static kymo_err walk(kymo_wall *w, struct thread *t, const struct kymo_remote_call *call)
{
    struct kymo_walk_result result;
    struct kymo_regs regs = {.ip = call->pc};
    regs.gpr[KYMO_REG_RSP] = call->sp;
    t->stack = KYMO_EVENT_NONE;
    if (!w->stacks.remote)
        return KYMO_OK;
    size_t n = kymo_remote_walk(w->stacks.remote, &regs, RSP_ALONE, w->pcs, DEPTH, &result);
    if (n > 0 && result.end == KYMO_WALK_NO_MODULE && w->now_ns >= w->retry_ns) {
        w->retry_ns = w->now_ns + RETRY_NS;
        if (kymo_remote_refresh(w->stacks.remote) == KYMO_OK)
            n = kymo_remote_walk(w->stacks.remote, &regs, RSP_ALONE, w->pcs, DEPTH, &result);
    }
    if (n > 0 && (result.end == KYMO_WALK_COMPLETE || result.end == KYMO_WALK_DEPTH))
        return kymo_wall_stacks_get(&w->stacks, w->pcs, n, &result, &t->stack);
    if (find_place(w, t, call))
        return KYMO_OK;
    if (n > 0)
        KYMO_TRY(kymo_wall_stacks_get(&w->stacks, w->pcs, n, &result, &t->stack));
    ask(w, t);
    return KYMO_OK;
}

/* ---- looks ---- */

/* A new run begins where the last tick was; what it is, /proc tells. */
static kymo_err look(kymo_wall *w, struct thread *t, const struct kymo_watch_look *now)
{
    struct kymo_remote_call call = {.is_running = 0, .number = KYMO_WAIT_NONE};
    struct kymo_watch_look after;
    KYMO_TRY(close_wait(w, t, w->before_ns));
    t->waits = 0;
    if (now->place == KYMO_WATCH_ON || now->state == 'R')
        return add_running(w, t);
    int is_known = read_call(w, t, &call);
    if (call.is_running)
        return add_running(w, t);
    t->asked = 0;
    t->stack = KYMO_EVENT_NONE;
    if (is_known)
        KYMO_TRY(walk(w, t, &call));
    /* What was read belongs together if the thread has not run meanwhile. */
    if (!kymo_watch_look(w->watch, t->entry, &after) || after.changed)
        return add_running(w, t);
    int is_stopped = now->state == 'T' || now->state == 't';
    t->waits = 1;
    t->ip = call.pc;
    t->sp = call.sp;
    t->state = now->state == 'D' ? 3 : 2;
    return kymo_wait_names_get(w->shared->names, is_stopped ? KYMO_WAIT_STOPPED : call.number,
                               &t->wait);
}

static void on_seen(void *context, void *user, const struct kymo_watch_look *now)
{
    kymo_wall *w = context;
    struct thread *t = user;
    if (w->err != KYMO_OK || (t->waits && !now->changed))
        return;
    w->err = look(w, t, now);
}

/* What lasts is written up to the last tick: by now the thread may be gone, which the drain tells.
 */
static kymo_err flush_runs(kymo_wall *w)
{
    for (size_t i = 0; i < w->drained.len + w->strangers.len; i++) {
        struct thread *t =
            i < w->drained.len ? w->drained.data[i] : w->strangers.data[i - w->drained.len];
        if (!t)
            continue;
        KYMO_TRY(put_held(w, t));
        KYMO_TRY(close_wait(w, t, w->before_ns));
        if (t->n_pending > 0 && w->now_ns - t->pending[0].to_ns > FLUSH_NS)
            KYMO_TRY(resolve_all(w, t));
    }
    return KYMO_OK;
}

kymo_err kymo_wall_tick(kymo_wall *w, uint64_t now_ns)
{
    w->before_ns = w->now_ns;
    w->now_ns = now_ns;
    w->err = prepare_remote(w);
    kymo_watch_round(w->watch, on_seen, w);
    w->looks += w->drained.len + w->strangers.len;
    if (w->err == KYMO_OK && now_ns - w->flushed_ns >= FLUSH_NS) {
        w->flushed_ns = now_ns;
        w->err = flush_runs(w);
    }
    return w->err == KYMO_OK ? flush(w) : w->err;
}

/* ---- threads ---- */

static kymo_err add_thread(kymo_wall *w, uint32_t thread, pid_t tid, uint64_t start_ns,
                           struct thread **out)
{
    struct thread *t = calloc(1, sizeof *t);
    if (!t)
        return KYMO_E_NOMEM;
    *t = (struct thread){.thread = thread, .tid = tid, .call = -1, .accounted_ns = start_ns};
    kymo_err err = kymo_watch_add(w->watch, tid, t, &t->entry);
    t->is_watched = err == KYMO_OK;
    if (err == KYMO_E_NOMEM) {
        free(t);
        return err;
    }
    *out = t;
    return KYMO_OK;
}

/* A thread that is gone: what it did after the last tick is not known, and is given to what it did
 * then. */
static kymo_err end_thread(kymo_wall *w, struct thread *t, uint64_t end_ns)
{
    if (!t->waits) {
        if (end_ns > t->accounted_ns && t->n_pending > 0) {
            t->pending[t->n_pending - 1].to_ns = end_ns;
            t->accounted_ns = end_ns;
        } else if (end_ns > t->accounted_ns) {
            t->pending[t->n_pending++] = (struct running){t->accounted_ns, end_ns};
        }
    }
    t->asked = 0;
    kymo_err err = put_held(w, t);
    if (err == KYMO_OK)
        err = close_wait(w, t, end_ns);
    if (err == KYMO_OK)
        err = resolve_all(w, t);
    if (t->is_watched)
        kymo_watch_remove(w->watch, t->entry);
    if (t->call >= 0)
        close(t->call);
    free(t);
    return err;
}

kymo_err kymo_wall_thread_begin(kymo_wall *w, uint32_t drained, uint32_t thread, pid_t tid,
                                uint64_t start_ns)
{
    /* One that had no slot until now is another row of the recording from now on. */
    for (size_t i = 0; i < w->strangers.len; i++) {
        if (w->strangers.data[i]->tid != tid)
            continue;
        struct thread *old = w->strangers.data[i];
        kymo_event_thread_end e = {old->thread, start_ns, 0, 0};
        w->strangers.data[i] = w->strangers.data[--w->strangers.len];
        KYMO_TRY(end_thread(w, old, start_ns));
        KYMO_TRY(flush(w));
        KYMO_TRY(w->shared->events->thread_end(w->shared->context, &e));
        break;
    }
    while (w->drained.len <= drained)
        KYMO_TRY(kymo_vec_push(&w->drained, NULL));
    return add_thread(w, thread, tid, start_ns, &w->drained.data[drained]);
}

kymo_err kymo_wall_thread_end(kymo_wall *w, uint32_t drained, uint64_t end_ns)
{
    struct thread *t = drained < w->drained.len ? w->drained.data[drained] : NULL;
    if (!t)
        return KYMO_OK;
    w->drained.data[drained] = NULL;
    KYMO_TRY(end_thread(w, t, end_ns));
    return flush(w);
}

kymo_err kymo_wall_stranger(kymo_wall *w, pid_t tid, uint64_t now_ns)
{
    char name[16] = "";
    struct thread *t;
    for (size_t i = 0; i < w->strangers.len; i++)
        if (w->strangers.data[i]->tid == tid)
            return KYMO_OK;
    KYMO_TRY(kymo_vec_reserve(&w->strangers, 1));
    uint32_t number = (*w->next_thread)++;
    kymo_task_name(w->pid, tid, name);
    kymo_event_thread e = {number, w->stacks.process, (int32_t)tid, now_ns, name};
    KYMO_TRY(w->shared->events->thread(w->shared->context, &e));
    KYMO_TRY(add_thread(w, number, tid, now_ns, &t));
    return kymo_vec_push(&w->strangers, t);
}

kymo_err kymo_wall_answer(kymo_wall *w, const struct kymo_drain_answer *a)
{
    struct thread *t = a->thread < w->drained.len ? w->drained.data[a->thread] : NULL;
    const struct kymo_record_answer *r = &a->record;
    w->disturbed += r->is_disturbed == 1;
    if (!t || a->stack == KYMO_NO_STACK)
        return KYMO_OK;
    struct place *p = &t->places[t->next_place++ % PLACES];
    *p = (struct place){.callers = r->callers, .stack = a->stack, .is_known = 1};
    p->regs.ip = r->ip;
    p->regs.gpr[KYMO_REG_RSP] = r->rsp;
    p->regs.gpr[KYMO_REG_RBP] = r->rbp;
    p->regs.gpr[KYMO_REG_RBX] = r->rbx;
    memcpy(&p->regs.gpr[12], r->r12_to_15, sizeof r->r12_to_15);
    /* The run that it was asked for was at this very place; it may last, or have ended. */
    struct kymo_remote_call now = {.pc = t->ip, .sp = t->sp};
    struct kymo_remote_call held = {.pc = t->held_ip, .sp = t->held_sp};
    if (t->waits && t->asked && is_place(p, &now))
        t->stack = a->stack;
    if (t->held.time_ns && is_place(p, &held))
        t->held.stack = a->stack;
    t->asked = 0;
    return put_held(w, t);
}

/* ---- life ---- */

kymo_err kymo_wall_create(kymo_wall_shared *shared, struct kymo_session *session, pid_t pid,
                          uint32_t process, uint32_t *next_thread, kymo_wall **out)
{
    kymo_wall *w = calloc(1, sizeof *w);
    if (!w)
        return KYMO_E_NOMEM;
    w->shared = shared;
    w->session = session;
    w->pid = pid;
    w->next_thread = next_thread;
    w->stacks.events = shared->events;
    w->stacks.context = shared->context;
    w->stacks.process = process;
    kymo_err err = kymo_watch_create(NULL, pid, &w->watch);
    if (err != KYMO_OK) {
        free(w);
        return err;
    }
    *out = w;
    return KYMO_OK;
}

void kymo_wall_destroy(kymo_wall *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->drained.len + w->strangers.len; i++) {
        struct thread *t =
            i < w->drained.len ? w->drained.data[i] : w->strangers.data[i - w->drained.len];
        if (t && t->call >= 0)
            close(t->call);
        free(t);
    }
    kymo_vec_deinit(&w->drained);
    kymo_vec_deinit(&w->strangers);
    kymo_watch_destroy(w->watch);
    kymo_wall_stacks_deinit(&w->stacks);
    free(w);
}

uint64_t kymo_wall_disturbed(const kymo_wall *w)
{
    return w->disturbed;
}

kymo_err kymo_wall_finish(kymo_wall *w, uint64_t end_ns)
{
    for (uint32_t i = 0; i < w->drained.len; i++)
        KYMO_TRY(kymo_wall_thread_end(w, i, end_ns));
    while (w->strangers.len > 0) {
        struct thread *t = w->strangers.data[--w->strangers.len];
        kymo_event_thread_end e = {t->thread, end_ns, 0, 0};
        KYMO_TRY(end_thread(w, t, end_ns));
        KYMO_TRY(flush(w));
        KYMO_TRY(w->shared->events->thread_end(w->shared->context, &e));
    }
    return KYMO_OK;
}
