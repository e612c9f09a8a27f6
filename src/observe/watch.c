/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - see watch.h.
 *
 * Idle threads. A thread that did not run for IDLE_ROUNDS is looked at no more. The process's clock
 * is the sum of its threads' run_ns, dead ones included, to the nanosecond; so what all others used
 * is that less the active ones' run_ns. While this stays the same, none of them ran. Reading that
 * clock costs the kernel some 8 ns for each thread, so with many it is read less often. When
 * another thread ran, the idle ones are looked at, SWEEP of them in a round. (Threads that are not
 * in the table or have ended count as others, too: one sweep for nothing, and they are known.)
 *
 * Light threads, where lots are drawn. Many that run often and for a short time only would cost a
 * look each in every round, most of them for nothing. So those that use little CPU time are a list
 * of their own, and a round looks at LIGHT_LOOKS of them that follow each other in it, from a place
 * chosen at random: each has the same chance, whatever it does at the moment. How much a thread
 * uses is judged by what it used in JUDGED_ROUNDS and more, not by where a look finds it: one that
 * was looked at more often for having been found on a CPU would be sampled late in its work. A
 * light one that moved is asked for its state (stat, 3 us); only if that is R, status is read.
 * While light ones run unseen, the process's clock does not tell whether idle ones did: these are
 * asked in turn.
 */
#include "observe/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/hash.h"
#include "base/vec.h"
#include "observe/descriptors.h"
#include "observe/watch_look.h"

#define IDLE_ROUNDS 32u
#define NEW_ROUNDS 8u /* of these before a new thread that does not run is idle */
#define FEW 2u        /* idle threads that are looked at each time: cheaper than two clocks */
#define SWEEP 16u
#define SWEEP_UNTOLD 8u /* while the clock does not tell whether there is anything to find */
#define LIGHT_LOOKS 16u
#define JUDGED_ROUNDS 256u
#define JUDGED_FIRST 64u /* of a new thread: all of them are looked at until then */
#define LIGHT_BELOW 16u  /* less than this part of a CPU */
/* More than this part: not light any more. It takes 64 rounds of work without a pause, so one burst
 * of it is not sampled more often at its end than at its beginning. */
#define HEAVY_ABOVE 4u
#define THREADS_PER_CLOCK 64u
/* Rounds in which it was not to be told whether others ran, because active ones moved their figures
 * between the two readings of the clock. */
#define UNCLEAR_MOST 16u

struct thread {
    struct kymo_watched watched; /* of tid 0: the entry is free */
    uint8_t gone;
    uint8_t list;       /* enum list */
    uint32_t at;        /* place in that list */
    uint32_t unchanged; /* rounds */
    uint64_t looked;    /* the last round that looked at it */
    /* From when on its use of CPU time is judged next. */
    uint64_t judged_round, judged_run_ns;
    uint64_t judge_at; /* the round */
    void *user;
};

enum list { ACTIVE, LIGHT, IDLE, N_LISTS };

typedef KYMO_VEC(uint32_t) entries;

struct kymo_watch {
    struct kymo_watch_folder folder;
    int has_clock;
    clockid_t clock;
    pid_t pid;
    KYMO_VEC(struct thread) threads;
    entries free, lists[N_LISTS];
    uint64_t round_ns; /* 0: no lots are drawn, and there are no light threads */
    uint64_t random;
    int in_short;       /* every look */
    uint64_t others_ns; /* CPU time of all that are idle or unknown; a lower bound */
    uint32_t skip;      /* rounds until the clock is looked at again */
    uint32_t unclear;
    uint32_t sweep; /* idle threads still to be looked at */
    uint32_t cursor;
    int ran;
    uint64_t round;   /* the one at hand, or the last */
    uint64_t settled; /* the last one that found that no idle thread had run */
};

int kymo_watch_cpu(const kymo_watch *w, uint32_t entry)
{
    return kymo_watch_read_cpu(&w->folder, w->threads.data[entry].watched.files.tid);
}

int kymo_watch_look(kymo_watch *w, uint32_t entry, struct kymo_watch_look *look)
{
    struct thread *t = &w->threads.data[entry];
    if (!kymo_watched_look(&w->folder, &t->watched, w->in_short))
        return 0;
    *look = t->watched.last;
    return 1;
}

/* ---- the table ---- */

kymo_err kymo_watch_create(const char *proc, pid_t pid, kymo_watch **out)
{
    kymo_watch *w = calloc(1, sizeof *w);
    if (!w)
        return KYMO_E_NOMEM;
    int n =
        snprintf(w->folder.path, sizeof w->folder.path, "%s/%d", proc ? proc : "/proc", (int)pid);
    if (n < 0 || (size_t)n >= sizeof w->folder.path) {
        free(w);
        return KYMO_E_TOO_BIG;
    }
    w->pid = pid;
    w->has_clock = !proc && clock_getcpuclockid(pid, &w->clock) == 0;
    w->folder.descriptor_limit = kymo_descriptors_for(KYMO_DESCRIPTORS_WATCH);
    *out = w;
    return KYMO_OK;
}

void kymo_watch_destroy(kymo_watch *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->threads.len; i++)
        kymo_watch_close(&w->threads.data[i].watched.files);
    kymo_vec_deinit(&w->threads);
    kymo_vec_deinit(&w->free);
    for (int i = 0; i < N_LISTS; i++)
        kymo_vec_deinit(&w->lists[i]);
    free(w);
}

/* Room for every thread is reserved in each list when it is added. */
static void put(kymo_watch *w, uint32_t entry, enum list where)
{
    entries *list = &w->lists[where];
    struct thread *t = &w->threads.data[entry];
    t->list = (uint8_t)where;
    t->at = (uint32_t)list->len;
    t->unchanged = 0;
    list->data[list->len++] = entry;
    if (where == IDLE)
        w->others_ns += t->watched.last.run_ns;
}

static void take(kymo_watch *w, uint32_t entry)
{
    struct thread *t = &w->threads.data[entry];
    entries *list = &w->lists[t->list];
    uint32_t moved = list->data[--list->len];
    list->data[t->at] = moved;
    w->threads.data[moved].at = t->at;
    if (t->list == IDLE)
        w->others_ns -= t->watched.last.run_ns;
}

static void judge_after(const kymo_watch *w, struct thread *t, uint64_t rounds)
{
    t->judged_round = w->round;
    t->judge_at = w->round + rounds;
    t->judged_run_ns = t->watched.last.run_ns;
}

kymo_err kymo_watch_add(kymo_watch *w, pid_t tid, void *user, uint32_t *out)
{
    struct thread t = {.watched = {.files = KYMO_WATCH_NO_FILES(tid), .asleep_ns = UINT64_MAX},
                       .looked = w->round,
                       .user = user};
    if (!kymo_watched_look(&w->folder, &t.watched, 0)) {
        int is_gone = kymo_watch_is_gone(&w->folder, &t.watched.files);
        kymo_watch_close(&t.watched.files);
        return is_gone ? KYMO_E_NOT_FOUND : KYMO_E_IO;
    }
    judge_after(w, &t, JUDGED_FIRST);
    kymo_err err = KYMO_OK;
    if (w->free.len == 0) {
        err = kymo_vec_reserve(&w->free, w->threads.len + 1);
        for (int i = 0; err == KYMO_OK && i < N_LISTS; i++)
            err = kymo_vec_reserve(&w->lists[i], w->threads.len + 1);
        if (err == KYMO_OK)
            err = kymo_vec_push(&w->threads, t);
        if (err != KYMO_OK) {
            kymo_watch_close(&t.watched.files);
            return err;
        }
        *out = (uint32_t)w->threads.len - 1;
    } else {
        *out = w->free.data[--w->free.len];
        w->threads.data[*out] = t;
    }
    put(w, *out, ACTIVE);
    w->others_ns -= t.watched.last.run_ns; /* it was one of those that are not known */
    w->threads.data[*out].unchanged = IDLE_ROUNDS - NEW_ROUNDS;
    return KYMO_OK;
}

void kymo_watch_remove(kymo_watch *w, uint32_t entry)
{
    struct thread *t = &w->threads.data[entry];
    take(w, entry);
    /* The process's clock keeps what it used. */
    w->others_ns += t->watched.last.run_ns;
    kymo_watch_close(&t->watched.files);
    *t = (struct thread){.watched = {.files = KYMO_WATCH_NO_FILES(0)}};
    w->free.data[w->free.len++] = entry;
}

void kymo_watch_draw_lots(kymo_watch *w, uint64_t round_ns, uint64_t seed)
{
    w->round_ns = round_ns;
    w->random = seed;
}

void kymo_watch_in_short(kymo_watch *w)
{
    w->in_short = 1;
}

void kymo_watch_attend(kymo_watch *w, uint32_t entry)
{
    struct thread *t = &w->threads.data[entry];
    if (t->list == LIGHT) {
        take(w, entry);
        put(w, entry, ACTIVE);
        judge_after(w, t, JUDGED_FIRST);
    }
}

/* ---- rounds ---- */

uint64_t kymo_watch_unmoved_round(const kymo_watch *w, uint32_t entry)
{
    const struct thread *t = &w->threads.data[entry];
    return t->list == IDLE && w->settled > t->looked ? w->settled : t->looked;
}

/* Looks at one of the round's threads. Active ones are out of the others' sum while they are. */
static void see(kymo_watch *w, uint32_t entry, double drawn, kymo_watch_seen *seen, void *context)
{
    struct thread *t = &w->threads.data[entry];
    if (t->gone)
        return;
    uint64_t unmoved_round = kymo_watch_unmoved_round(w, entry);
    t->looked = w->round;
    int is_seen = kymo_watched_look(&w->folder, &t->watched, drawn < 1 || w->in_short);
    if (is_seen && !t->watched.last.changed && t->watched.last.place == KYMO_WATCH_ON &&
        t->watched.last.state != 'R')
        is_seen = kymo_watched_look_asleep(&w->folder, &t->watched);
    if (!is_seen) {
        t->gone = (uint8_t)kymo_watch_is_gone(&w->folder, &t->watched.files);
        return;
    }
    /* A copy: seen may look again. */
    struct kymo_watch_look look = t->watched.last;
    look.unmoved_round = unmoved_round;
    look.drawn = drawn;
    seen(context, t->user, &look);
    if (look.changed) {
        w->ran = 1;
        t->unchanged = 0;
    } else if (look.place == KYMO_WATCH_OFF) {
        t->unchanged++;
    }
}

/* Where a thread belongs by what it used; one that ran not at all, or is gone, is idle. */
static void sort(kymo_watch *w, uint32_t entry)
{
    struct thread *t = &w->threads.data[entry];
    enum list where = t->list;
    if (w->round_ns && w->round >= t->judge_at) {
        uint64_t used_ns = t->watched.last.run_ns - t->judged_run_ns;
        uint64_t elapsed_ns = (w->round - t->judged_round) * w->round_ns;
        if (used_ns < elapsed_ns / LIGHT_BELOW)
            where = LIGHT;
        else if (used_ns > elapsed_ns / HEAVY_ABOVE)
            where = ACTIVE;
        judge_after(w, t, JUDGED_ROUNDS);
    }
    if (t->unchanged >= IDLE_ROUNDS || t->gone)
        where = IDLE;
    if (where != t->list) {
        take(w, entry);
        put(w, entry, where);
    }
}

/* Looks at some of the light ones, or at all if there are few. */
static void look_at_light(kymo_watch *w, kymo_watch_seen *seen, void *context)
{
    entries *light = &w->lists[LIGHT];
    uint32_t picked[LIGHT_LOOKS];
    uint32_t first = 0;
    uint32_t n = (uint32_t)light->len;
    double drawn = 1;
    if (n > LIGHT_LOOKS) {
        w->random += 0x9e3779b97f4a7c15u;
        first = (uint32_t)(kymo_hash_mix(w->random, 0x5851f42d4c957f2du) % n);
        drawn = (double)LIGHT_LOOKS / n;
        n = LIGHT_LOOKS;
    }
    for (uint32_t i = 0; i < n; i++)
        picked[i] = light->data[(first + i) % light->len];
    for (uint32_t i = 0; i < n; i++)
        see(w, picked[i], drawn, seen, context);
    for (uint32_t i = 0; i < n; i++)
        sort(w, picked[i]);
}

/* Whether this idle thread ran; if so it is idle no more. */
static int wake(kymo_watch *w, uint32_t entry)
{
    struct thread *t = &w->threads.data[entry];
    uint64_t run_ns, arrivals;
    if (t->gone || !kymo_watch_read_schedstat(&w->folder, &t->watched.files, &run_ns, &arrivals))
        return 0;
    if (run_ns == t->watched.last.run_ns && arrivals == t->watched.last.arrivals) {
        t->looked = w->round;
        return 0;
    }
    t->looked = kymo_watch_unmoved_round(w, entry); /* which the list tells */
    take(w, entry);
    put(w, entry, w->round_ns ? LIGHT : ACTIVE);
    judge_after(w, t, JUDGED_ROUNDS);
    /* What it used since then is in the others' sum, too; or not yet, which costs a sweep. */
    w->others_ns -= run_ns - t->watched.last.run_ns;
    return 1;
}

static void look_at_idle(kymo_watch *w, uint32_t most, kymo_watch_seen *seen, void *context)
{
    entries *idle = &w->lists[IDLE];
    for (uint32_t i = 0; i < most && w->sweep > 0 && idle->len > 0; i++, w->sweep--) {
        if (w->cursor >= idle->len)
            w->cursor = 0;
        uint32_t entry = idle->data[w->cursor];
        /* One that woke leaves its place in the list to another. */
        if (wake(w, entry))
            see(w, entry, 1, seen, context);
        else
            w->cursor++;
    }
}

static int clock_of(const kymo_watch *w, uint64_t *ns)
{
    struct timespec t;
    if (!w->has_clock || clock_gettime(w->clock, &t) != 0)
        return 0;
    *ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    return 1;
}

/* before, after: the process's clock around the looks at the active ones. */
static int others_ran(kymo_watch *w, uint64_t before, uint64_t after)
{
    uint64_t active_ns = 0;
    for (int list = ACTIVE; list <= LIGHT; list++)
        for (size_t i = 0; i < w->lists[list].len; i++)
            active_ns += w->threads.data[w->lists[list].data[i]].watched.last.run_ns;
    int64_t least = (int64_t)(before - active_ns - w->others_ns);
    int64_t most = (int64_t)(after - active_ns - w->others_ns);
    if (most <= 0) {
        w->unclear = 0;
        return 0;
    }
    if (least <= 0 && ++w->unclear < UNCLEAR_MOST)
        return 0;
    w->unclear = 0;
    if (least > 0)
        w->others_ns += (uint64_t)least;
    return 1;
}

void kymo_watch_round(kymo_watch *w, kymo_watch_seen *seen, void *context)
{
    entries *active = &w->lists[ACTIVE];
    entries *idle = &w->lists[IDLE];
    uint64_t before = 0;
    uint64_t after = 0;
    int is_told = w->lists[LIGHT].len <= LIGHT_LOOKS;
    int use_clock = is_told && idle->len > FEW && w->sweep == 0 && w->skip == 0;
    if (w->skip > 0)
        w->skip--;
    w->ran = 0;
    w->round++;
    if (use_clock && !clock_of(w, &before))
        w->has_clock = 0;
    for (size_t i = 0; i < active->len; i++)
        see(w, active->data[i], 1, seen, context);
    if (w->lists[LIGHT].len > 0)
        look_at_light(w, seen, context);
    if (use_clock) {
        w->skip = (uint32_t)(idle->len / THREADS_PER_CLOCK);
        /* With no active thread the sum does not change in between: one reading is enough. */
        if (active->len + w->lists[LIGHT].len == 0)
            after = before;
        else if (w->has_clock && !clock_of(w, &after))
            w->has_clock = 0;
        if (!w->has_clock || others_ran(w, before, after))
            w->sweep = (uint32_t)idle->len;
        else if (w->unclear == 0)
            w->settled = w->round;
    } else if (idle->len <= FEW || (!is_told && w->sweep == 0)) {
        w->sweep = (uint32_t)idle->len;
    }
    if (w->sweep > 0)
        look_at_idle(w, idle->len <= FEW ? FEW : is_told ? SWEEP : SWEEP_UNTOLD, seen, context);
    for (size_t i = active->len; i > 0; i--)
        sort(w, active->data[i - 1]);
}

uint64_t kymo_watch_reads(const kymo_watch *w)
{
    return w->folder.reads;
}

uint64_t kymo_watch_rounds(const kymo_watch *w)
{
    return w->round;
}

int kymo_watch_is_active(const kymo_watch *w)
{
    return w->ran;
}
