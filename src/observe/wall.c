/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wall.c - see wall.h.
 *
 * A thread's time is cut into runs that follow each other without gaps. A waiting run lasts for as
 * long as the thread is not seen to have moved (its schedstat says so, exactly); it knows its stack
 * and what is waited in from its beginning. A running tick has its length at once, and its stack
 * when the drain has read a CPU sample behind it (wall_running.h).
 */
#include "observe/wall.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "observe/python_label.h"
#include "observe/remote.h"
#include "observe/task.h"
#include "observe/wall_find.h"
#include "observe/wall_running.h"
#include "observe/wall_ticks.h"
#include "observe/watch.h"
#include "sys/clock.h"

#define FLUSH_NS 1000000000u
#define TICKS_KEPT 1024u
#define BATCH 128u
#define MOVED_TRIES 2

struct kymo_wall_shared {
    const kymo_event_handler *events;
    void *context;
    struct kymo_wall_ticks ticks;
    kymo_remote_store *store;
    struct kymo_frame_bases bases;
    kymo_wait_names *names;
};

struct thread {
    kymo_wall *wall;
    uint32_t thread; /* in the recording */
    uint32_t entry;  /* of watch */
    int is_watched;
    struct kymo_wall_memory memory;
    uint64_t accounted_ns;
    /* The run that lasts, from accounted_ns on. */
    int waits;
    int is_over;      /* it was found to have ended, but for the kernel's part */
    int asked;        /* it was called for its stack in this run, and has not answered */
    int lacks_module; /* its stack ends in code of no module that was known */
    uint64_t ip, sp;
    uint32_t stack;
    uint32_t wait;
    uint16_t state;
    struct kymo_python_task task;
    /* A run that ended before the answer came. time_ns 0: none. */
    kymo_event_sample held;
    struct kymo_python_task held_task;
    uint64_t held_ip, held_sp;
    struct kymo_wall_running running;
    struct kymo_wall_sink sink; /* for them */
};

struct kymo_wall {
    kymo_wall_shared *shared;
    uint32_t *next_thread;
    kymo_watch *watch;
    struct kymo_wall_finder finder;
    KYMO_VEC(struct thread *) drained; /* by the drain's number; NULL: ended */
    KYMO_VEC(struct thread *) strangers;
    uint32_t alive;    /* of both */
    int lacks_modules; /* any thread's stack does */
    int is_paused;
    uint64_t now_ns;               /* this tick's */
    uint64_t ticks_ns[TICKS_KEPT]; /* by the round of watch */
    uint64_t flushed_ns;
    kymo_err err; /* of the tick at hand */
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
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
        seed = period_ns;
    kymo_wall_ticks_init(&s->ticks, period_ns, seed);
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
    kymo_frame_bases_deinit(&s->bases);
    kymo_wait_names_destroy(s->names);
    free(s);
}

int kymo_wall_due(kymo_wall_shared *s, uint64_t now_ns)
{
    return kymo_wall_ticks_due(&s->ticks, now_ns);
}

uint64_t kymo_wall_next_ns(const kymo_wall_shared *s)
{
    return s->ticks.next_ns;
}

uint64_t kymo_wall_period_ns(const kymo_wall_shared *s)
{
    return s->ticks.period_ns;
}

void kymo_wall_set_period(kymo_wall_shared *s, uint64_t period_ns, uint64_t now_ns)
{
    kymo_wall_ticks_set_period(&s->ticks, period_ns, now_ns);
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

static kymo_err put(kymo_wall *w, const struct thread *t, const kymo_event_sample *sample,
                    const struct kymo_python_task *task)
{
    KYMO_TRY(kymo_python_label_tell(w->shared->events, w->shared->context, t->thread,
                                    sample->time_ns, task));
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
    return s.time_ns ? put(w, t, &s, &t->held_task) : KYMO_OK;
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
        return put(w, t, &s, &t->task);
    KYMO_TRY(put_held(w, t));
    t->held = s;
    t->held_task = t->task;
    t->held_ip = t->ip;
    t->held_sp = t->sp;
    return KYMO_OK;
}

/* A thread's ticks have got their stacks. */
static kymo_err put_running(void *context, const kymo_event_sample *sample,
                            const struct kymo_python_task *task)
{
    const struct thread *t = context;
    return put(t->wall, t, sample, task);
}

static kymo_err add_running(kymo_wall *w, struct thread *t)
{
    uint64_t from_ns = t->accounted_ns;
    if (w->now_ns <= from_ns)
        return KYMO_OK;
    t->accounted_ns = w->now_ns;
    return kymo_wall_running_add(&t->running, from_ns, w->now_ns, &t->sink);
}

kymo_err kymo_wall_cpu_sample(kymo_wall *w, uint32_t drained, uint64_t time_ns, uint32_t stack,
                              const struct kymo_python_task *task)
{
    struct thread *t = drained < w->drained.len ? w->drained.data[drained] : NULL;
    return t ? kymo_wall_running_sample(&t->running, time_ns, stack, task, &t->sink) : KYMO_OK;
}

/* ---- looks ---- */

/* When that round of watch was; of an old one, when the oldest was that is known. */
static uint64_t tick_of(const kymo_wall *w, uint64_t round)
{
    uint64_t last = kymo_watch_rounds(w->watch);
    if (last - round >= TICKS_KEPT)
        round = last - TICKS_KEPT + 1;
    return w->ticks_ns[round % TICKS_KEPT];
}

/* It ran to its end since it was last seen: it waits only to be reaped by its parent. Until then,
 * that is a time without a stack. */
static kymo_err look_at_ended(kymo_wall *w, struct thread *t)
{
    KYMO_TRY(add_running(w, t));
    t->waits = 1;
    t->is_over = 1;
    t->asked = 0;
    t->stack = KYMO_EVENT_NONE;
    t->task.bytes = 0;
    t->state = 2;
    t->wait = 0;
    return KYMO_OK;
}

/* A new run begins where the last one surely lasted; what it is, /proc tells. */
static kymo_err look(kymo_wall *w, struct thread *t, const struct kymo_watch_look *now)
{
    struct kymo_wall_found found;
    struct kymo_watch_look before = *now;
    if (!t->is_over)
        KYMO_TRY(close_wait(w, t, tick_of(w, now->unmoved_round)));
    t->waits = 0;
    t->is_over = 0;
    t->lacks_module = 0;
    for (int tries = 0;; tries++) {
        struct kymo_watch_look after;
        if (before.place == KYMO_WATCH_ON || before.state == 'R')
            return add_running(w, t);
        if (before.state == 'Z' || before.state == 'X')
            return look_at_ended(w, t);
        KYMO_TRY(kymo_wall_find(&w->finder, &t->memory, w->now_ns, &found));
        if (!kymo_watch_look(w->watch, t->entry, &after))
            return add_running(w, t);
        /* What was read belongs together if the thread has not run meanwhile. */
        if (!found.is_running && !after.changed)
            break;
        if (tries == MOVED_TRIES)
            return add_running(w, t);
        before = after;
    }
    if (found.is_over)
        return look_at_ended(w, t);
    t->waits = 1;
    t->asked = found.may_ask && kymo_wall_ask_unclear(&w->finder, &t->memory);
    t->ip = found.ip;
    t->sp = found.sp;
    t->stack = found.stack;
    t->task = w->finder.task;
    t->lacks_module = found.lacks_module;
    w->lacks_modules |= found.lacks_module;
    t->state = before.state == 'D' ? 3 : 2;
    if (before.state == 'T' || before.state == 't')
        found.call = KYMO_WAIT_STOPPED;
    return kymo_wait_names_get(w->shared->names, found.call, &t->wait);
}

/* A library that was loaded a moment ago is not known yet, and a thread that waits in it may not
 * move for long. Where it has not moved since, all of its run gets the stack that is found now. */
static kymo_err look_for_module(kymo_wall *w, struct thread *t)
{
    struct kymo_wall_found found;
    struct kymo_watch_look now;
    uint64_t unmoved_round = kymo_watch_unmoved_round(w->watch, t->entry);
    if (!kymo_watch_look(w->watch, t->entry, &now))
        return KYMO_OK;
    if (!now.changed) {
        KYMO_TRY(kymo_wall_find(&w->finder, &t->memory, w->now_ns, &found));
        if (!kymo_watch_look(w->watch, t->entry, &now))
            return KYMO_OK;
    }
    if (now.changed) {
        now.unmoved_round = unmoved_round;
        return look(w, t, &now);
    }
    if (!found.is_running && !found.is_over && found.stack != KYMO_EVENT_NONE) {
        t->stack = found.stack;
        t->task = w->finder.task;
    }
    t->lacks_module = found.lacks_module;
    w->lacks_modules |= found.lacks_module;
    return KYMO_OK;
}

static kymo_err look_for_modules(kymo_wall *w)
{
    w->lacks_modules = 0;
    for (size_t i = 0; i < w->drained.len + w->strangers.len; i++) {
        struct thread *t =
            i < w->drained.len ? w->drained.data[i] : w->strangers.data[i - w->drained.len];
        if (t && t->is_watched && t->waits && t->lacks_module && !t->asked)
            KYMO_TRY(look_for_module(w, t));
    }
    return KYMO_OK;
}

static void on_seen(void *context, void *user, const struct kymo_watch_look *now)
{
    kymo_wall *w = context;
    struct thread *t = user;
    if (w->err != KYMO_OK || (t->waits && !now->changed))
        return;
    w->err = look(w, t, now);
}

/* A thread whose figures moved at each try, or for which there was no descriptor, is tried again
 * when runs are flushed; of one that is gone the drain tells. */
static kymo_err watch(kymo_wall *w, struct thread *t)
{
    kymo_err err = kymo_watch_add(w->watch, t->memory.tid, t, &t->entry);
    t->is_watched = err == KYMO_OK;
    return err == KYMO_E_NOMEM ? err : KYMO_OK;
}

/* What lasts is written up to a tick before the last at which it surely did: by now the thread may
 * be gone, which the drain tells. */
static kymo_err flush_runs(kymo_wall *w)
{
    for (size_t i = 0; i < w->drained.len + w->strangers.len; i++) {
        struct thread *t =
            i < w->drained.len ? w->drained.data[i] : w->strangers.data[i - w->drained.len];
        if (!t)
            continue;
        KYMO_TRY(put_held(w, t));
        if (!t->is_watched)
            KYMO_TRY(watch(w, t));
        KYMO_TRY(kymo_wall_running_flush(&t->running, w->now_ns - FLUSH_NS, &t->sink));
        uint64_t unmoved = t->is_watched ? kymo_watch_unmoved_round(w->watch, t->entry) : 0;
        if (unmoved > 0) {
            uint64_t from_ns = t->accounted_ns;
            KYMO_TRY(close_wait(w, t, tick_of(w, unmoved - 1)));
            /* The parent has not reaped it for a long time. */
            t->is_over &= t->accounted_ns == from_ns;
        }
    }
    return KYMO_OK;
}

kymo_err kymo_wall_tick(kymo_wall *w, uint64_t now_ns)
{
    if (w->is_paused)
        return KYMO_OK;
    w->now_ns = now_ns;
    w->ticks_ns[(kymo_watch_rounds(w->watch) + 1) % TICKS_KEPT] = now_ns;
    w->err = kymo_wall_finder_begin(&w->finder, now_ns);
    kymo_watch_round(w->watch, on_seen, w);
    if (kymo_watch_is_active(w->watch))
        kymo_wall_ticks_moved(&w->shared->ticks);
    w->finder.looks += w->alive;
    if (w->err == KYMO_OK && w->lacks_modules && now_ns >= w->finder.retry_ns)
        w->err = look_for_modules(w);
    if (w->err == KYMO_OK && now_ns - w->flushed_ns >= FLUSH_NS) {
        w->flushed_ns = now_ns;
        w->err = flush_runs(w);
    }
    return w->err == KYMO_OK ? flush(w) : w->err;
}

/* ---- pauses ---- */

/* The last tick was now: what it found lasts until now, and goes with what is known. */
static kymo_err pause_thread(kymo_wall *w, struct thread *t)
{
    KYMO_TRY(put_held(w, t));
    t->asked = 0;
    if (!t->is_over)
        KYMO_TRY(close_wait(w, t, w->now_ns));
    t->waits = t->is_over = t->lacks_module = 0;
    return kymo_wall_running_end(&t->running, &t->sink);
}

kymo_err kymo_wall_pause(kymo_wall *w, uint64_t now_ns)
{
    KYMO_TRY(kymo_wall_tick(w, now_ns));
    w->is_paused = 1;
    for (size_t i = 0; i < w->drained.len + w->strangers.len; i++) {
        struct thread *t =
            i < w->drained.len ? w->drained.data[i] : w->strangers.data[i - w->drained.len];
        if (t)
            KYMO_TRY(pause_thread(w, t));
    }
    return flush(w);
}

/* One that sleeps is not looked at by rounds: it is found here. */
static kymo_err resume_thread(kymo_wall *w, struct thread *t)
{
    struct kymo_watch_look now;
    t->accounted_ns = w->now_ns;
    if (!t->is_watched)
        KYMO_TRY(watch(w, t));
    if (!t->is_watched || !kymo_watch_look(w->watch, t->entry, &now))
        return KYMO_OK;
    now.unmoved_round = kymo_watch_rounds(w->watch);
    return look(w, t, &now);
}

kymo_err kymo_wall_resume(kymo_wall *w, uint64_t now_ns)
{
    w->is_paused = 0;
    w->now_ns = w->flushed_ns = now_ns;
    KYMO_TRY(kymo_wall_finder_begin(&w->finder, now_ns));
    for (size_t i = 0; i < w->drained.len + w->strangers.len; i++) {
        struct thread *t =
            i < w->drained.len ? w->drained.data[i] : w->strangers.data[i - w->drained.len];
        if (t)
            KYMO_TRY(resume_thread(w, t));
    }
    return flush(w);
}

/* ---- threads ---- */

static kymo_err add_thread(kymo_wall *w, uint32_t thread, pid_t tid, uint64_t start_ns,
                           struct thread **out)
{
    struct thread *t = calloc(1, sizeof *t);
    if (!t)
        return KYMO_E_NOMEM;
    *t = (struct thread){
        .wall = w,
        .thread = thread,
        .accounted_ns = start_ns,
        .memory = {.tid = tid, .call = -1},
        .sink = {put_running, t},
    };
    kymo_err err = watch(w, t);
    if (err != KYMO_OK) {
        free(t);
        return err;
    }
    w->alive++;
    *out = t;
    return KYMO_OK;
}

/* A thread that is gone: what it did after the last tick is not known, and is given to what it did
 * then. */
static kymo_err end_thread(kymo_wall *w, struct thread *t, uint64_t end_ns)
{
    kymo_err err = KYMO_OK;
    if (w->is_paused)
        t->accounted_ns = end_ns;
    if (!t->waits || t->is_over) {
        t->waits = 0;
        err = kymo_wall_running_last(&t->running, t->accounted_ns, end_ns, &t->sink);
    }
    t->asked = 0;
    if (err == KYMO_OK)
        err = put_held(w, t);
    if (err == KYMO_OK)
        err = close_wait(w, t, end_ns);
    if (err == KYMO_OK)
        err = kymo_wall_running_end(&t->running, &t->sink);
    if (t->is_watched)
        kymo_watch_remove(w->watch, t->entry);
    kymo_wall_memory_deinit(&t->memory);
    free(t);
    w->alive--;
    return err;
}

static kymo_err end_stranger(kymo_wall *w, size_t at, uint64_t end_ns)
{
    struct thread *t = w->strangers.data[at];
    kymo_event_thread_end e = {.thread = t->thread, .end_ns = end_ns};
    w->strangers.data[at] = w->strangers.data[--w->strangers.len];
    KYMO_TRY(end_thread(w, t, end_ns));
    KYMO_TRY(flush(w));
    return w->shared->events->thread_end(w->shared->context, &e);
}

kymo_err kymo_wall_stranger_end(kymo_wall *w, pid_t tid, uint64_t end_ns)
{
    for (size_t i = 0; i < w->strangers.len; i++)
        if (w->strangers.data[i]->memory.tid == tid)
            return end_stranger(w, i, end_ns);
    return KYMO_OK;
}

kymo_err kymo_wall_thread_begin(kymo_wall *w, uint32_t drained, uint32_t thread, pid_t tid,
                                uint64_t start_ns)
{
    /* One that had no slot until now is another row of the recording from now on. */
    KYMO_TRY(kymo_wall_stranger_end(w, tid, start_ns));
    if (drained == 0)
        kymo_wall_ticks_hasten(&w->shared->ticks, kymo_clock_ns(CLOCK_MONOTONIC));
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
        if (w->strangers.data[i]->memory.tid == tid)
            return KYMO_OK;
    KYMO_TRY(kymo_vec_reserve(&w->strangers, 1));
    uint32_t number = (*w->next_thread)++;
    kymo_task_name(w->finder.pid, tid, name);
    kymo_event_thread e = {number, w->finder.stacks.process, (int32_t)tid, now_ns, name};
    KYMO_TRY(w->shared->events->thread(w->shared->context, &e));
    KYMO_TRY(add_thread(w, number, tid, now_ns, &t));
    return kymo_vec_push(&w->strangers, t);
}

kymo_err kymo_wall_answer(kymo_wall *w, const struct kymo_drain_answer *a)
{
    struct thread *t = a->thread < w->drained.len ? w->drained.data[a->thread] : NULL;
    if (!t)
        return KYMO_OK;
    kymo_wall_remember(&w->finder, &t->memory, a);
    if (a->stack == KYMO_NO_STACK)
        return KYMO_OK;
    /* The run that it was asked for was at this very place; it may last, or have ended. */
    if (t->waits && t->asked && kymo_wall_is_same(a, t->ip, t->sp)) {
        t->stack = a->stack;
        t->lacks_module = 0;
    }
    if (t->held.time_ns && kymo_wall_is_same(a, t->held_ip, t->held_sp))
        t->held.stack = a->stack;
    t->asked = 0;
    return put_held(w, t);
}

/* ---- life ---- */

kymo_err kymo_wall_create(kymo_wall_shared *shared, struct kymo_session *session, pid_t pid,
                          uint32_t process, uint32_t *next_thread, kymo_jit_code *jit,
                          kymo_wall **out)
{
    kymo_wall *w = calloc(1, sizeof *w);
    if (!w)
        return KYMO_E_NOMEM;
    w->shared = shared;
    w->next_thread = next_thread;
    w->finder = (struct kymo_wall_finder){
        .session = session,
        .pid = pid,
        .store = shared->store,
        .bases = &shared->bases,
        .stacks = {.events = shared->events,
                   .context = shared->context,
                   .process = process,
                   .jit = jit},
    };
    kymo_err err = kymo_wall_finder_init(&w->finder);
    if (err == KYMO_OK)
        err = kymo_watch_create(NULL, pid, &w->watch);
    if (err == KYMO_OK)
        kymo_watch_in_short(w->watch);
    if (err != KYMO_OK) {
        kymo_wall_destroy(w);
        return err;
    }
    *out = w;
    return KYMO_OK;
}

kymo_err kymo_wall_set_python(kymo_wall *w, const struct kymo_remote_python_sink *sink)
{
    return kymo_wall_finder_set_python(&w->finder, sink);
}

void kymo_wall_destroy(kymo_wall *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->drained.len + w->strangers.len; i++) {
        struct thread *t =
            i < w->drained.len ? w->drained.data[i] : w->strangers.data[i - w->drained.len];
        if (t)
            kymo_wall_memory_deinit(&t->memory);
        free(t);
    }
    kymo_vec_deinit(&w->drained);
    kymo_vec_deinit(&w->strangers);
    kymo_watch_destroy(w->watch);
    kymo_wall_finder_deinit(&w->finder);
    free(w);
}

void kymo_wall_set_deaf(kymo_wall *w)
{
    w->finder.is_deaf = 1;
}

uint64_t kymo_wall_disturbed(const kymo_wall *w)
{
    return w->finder.disturbed;
}

kymo_err kymo_wall_flush(kymo_wall *w)
{
    KYMO_TRY(flush_runs(w));
    return flush(w);
}

static kymo_err use_thread(const struct thread *t, kymo_key_map *used)
{
    KYMO_TRY(kymo_key_map_add(used, t->stack));
    KYMO_TRY(kymo_key_map_add(used, t->held.stack));
    KYMO_TRY(kymo_key_map_add(used, t->running.cpu_stack));
    for (uint32_t i = 0; i < KYMO_WALL_PLACES; i++)
        KYMO_TRY(kymo_key_map_add(used, t->memory.places[i].stack));
    return KYMO_OK;
}

kymo_err kymo_wall_use_stacks(const kymo_wall *w, kymo_key_map *used)
{
    for (uint32_t i = 0; i < w->drained.len; i++)
        if (w->drained.data[i])
            KYMO_TRY(use_thread(w->drained.data[i], used));
    for (uint32_t i = 0; i < w->strangers.len; i++)
        KYMO_TRY(use_thread(w->strangers.data[i], used));
    return kymo_wall_stacks_use(&w->finder.stacks, used);
}

kymo_err kymo_wall_finish(kymo_wall *w, uint64_t end_ns)
{
    for (uint32_t i = 0; i < w->drained.len; i++)
        KYMO_TRY(kymo_wall_thread_end(w, i, end_ns));
    while (w->strangers.len > 0)
        KYMO_TRY(end_stranger(w, w->strangers.len - 1, end_ns));
    return KYMO_OK;
}
