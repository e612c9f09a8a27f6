/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_look.c - see watch_look.h.
 *
 * A look. schedstat is read first (under a microsecond). Where it says what it said at the last
 * look, everything is as it was then: a thread that left a CPU has a larger run_ns, and one that
 * got on one has another arrival. Else status is read, too (some 7 us), and schedstat again: if
 * that has not moved in between, the three belong together.
 *
 * Uncounted arrivals. The kernel counts each departure, but an arrival only of a thread that was
 * ready to run when it left: one that is preempted between saying that it will sleep and doing so
 * (for example while it reaps a child whose /proc files another process read) comes back uncounted.
 * Each time the difference of arrivals and departures is one less than before, for good. So a
 * thread that is off its CPU is at a figure of its own, `off`; it is on one when it is above it.
 * Any look may find the difference below: then it is `off`, or one above. What tells for sure: CPU
 * time that grew without a departure is a thread that is on a CPU; who is asleep in two rounds and
 * has not moved is on none. A thread that comes back uncounted is seen on its CPU with the kernel's
 * next tick.
 *
 * Preempted. A thread that is ready to run and off its CPU was either woken, and would find a
 * signal in its wait, or was preempted at work. It was the latter if it has not gone to sleep since
 * the look before, and left its CPU since then, or had been preempted at that look already.
 */
#include "observe/watch_look.h"

#define SNAPSHOT_TRIES 3
#define SHORT_LOOKS 32u /* in a row; then the switches of a thread that sleeps are read, too */

int64_t kymo_watch_difference(const struct kymo_watch_look *look)
{
    return (int64_t)(look->arrivals - look->voluntary - look->nonvoluntary);
}

static int is_switched(const struct kymo_watched *t, const struct kymo_watch_look *now)
{
    return now->voluntary != t->last.voluntary || now->nonvoluntary != t->last.nonvoluntary;
}

/* What a look that read everything tells of uncounted arrivals. */
static void learn_off(struct kymo_watched *t, const struct kymo_watch_look *now)
{
    int64_t difference = kymo_watch_difference(now);
    if (difference < t->off)
        t->off = difference;
    if (t->is_known && now->run_ns > t->last.run_ns && !is_switched(t, now))
        t->off = difference - 1;
}

static enum kymo_watch_place place_of(const struct kymo_watched *t,
                                      const struct kymo_watch_look *now)
{
    if (kymo_watch_difference(now) > t->off)
        return KYMO_WATCH_ON;
    int worked_on =
        t->is_known && now->state == 'R' && now->voluntary == t->last.voluntary &&
        (now->nonvoluntary > t->last.nonvoluntary || t->last.place == KYMO_WATCH_PREEMPTED);
    return worked_on ? KYMO_WATCH_PREEMPTED : KYMO_WATCH_OFF;
}

/* A thread that reads its CPU clock all the time moves run_ns by that, and not only with the
 * kernel's ticks: it was on its CPU all through two tries if nothing else has moved. */
static int reads_its_clock(const struct kymo_watch_look *before, const struct kymo_watch_look *now)
{
    return now->state == 'R' && before->state == 'R' && now->arrivals == before->arrivals &&
           now->voluntary == before->voluntary && now->nonvoluntary == before->nonvoluntary;
}

/* *now has run_ns and arrivals; gets the rest, as of one moment. 0: nothing of that kind. */
static int read_rest(struct kymo_watch_folder *folder, struct kymo_watched *t,
                     struct kymo_watch_look *now)
{
    struct kymo_watch_look before = {.state = 0};
    for (int i = 0; i <= SNAPSHOT_TRIES; i++) {
        uint64_t run_ns = now->run_ns, arrivals = now->arrivals;
        if (!kymo_watch_read_status(folder, &t->files, now) ||
            !kymo_watch_read_schedstat(folder, &t->files, &now->run_ns, &now->arrivals))
            return 0;
        if (now->arrivals == arrivals && (now->run_ns == run_ns || reads_its_clock(&before, now)))
            return 1;
        before = *now;
    }
    return 0;
}

int kymo_watched_look(struct kymo_watch_folder *folder, struct kymo_watched *t, int in_short)
{
    struct kymo_watch_look now = {.changed = 1, .drawn = 1};
    if (!kymo_watch_read_schedstat(folder, &t->files, &now.run_ns, &now.arrivals))
        return 0;
    if (t->is_known && now.run_ns == t->last.run_ns && now.arrivals == t->last.arrivals) {
        t->last.changed = 0;
        return 1;
    }
    if (in_short && t->is_known && t->short_looks < SHORT_LOOKS &&
        kymo_watch_read_state(folder, &t->files, &now.state) && now.state != 'R') {
        now.voluntary = t->last.voluntary;
        now.nonvoluntary = t->last.nonvoluntary;
        t->asleep_ns = now.run_ns;
        t->short_looks++;
        t->last = now;
        return 1;
    }
    if (!read_rest(folder, t, &now))
        return 0;
    learn_off(t, &now);
    now.place = place_of(t, &now);
    if (now.place == KYMO_WATCH_OFF && now.state != 'R')
        t->asleep_ns = now.run_ns;
    now.awake_ns = t->asleep_ns == UINT64_MAX ? UINT64_MAX : now.run_ns - t->asleep_ns;
    t->short_looks = 0;
    t->last = now;
    t->is_known = 1;
    return 1;
}

int kymo_watched_look_asleep(struct kymo_watch_folder *folder, struct kymo_watched *t)
{
    struct kymo_watch_look now = t->last;
    if (!read_rest(folder, t, &now))
        return 0;
    if (now.run_ns != t->last.run_ns || is_switched(t, &now))
        return 1; /* the next look tells */
    t->last.state = now.state;
    if (now.state == 'R')
        return 1;
    t->off = kymo_watch_difference(&now);
    t->asleep_ns = now.run_ns;
    t->last.awake_ns = 0;
    t->last.place = KYMO_WATCH_OFF;
    return 1;
}
