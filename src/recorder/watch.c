/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - see watch.h.
 *
 * A look. schedstat is read first (under a microsecond). Where it says what it said at the last
 * look, everything is as it was then: a thread that left a CPU has a larger run_ns, and one that
 * got on one has another arrival. Else status is read, too (some 7 us), and schedstat again: if
 * that has not moved in between, the three belong together.
 *
 * Uncounted arrivals. The kernel counts each departure, but an arrival only of a thread that was
 * ready to run when it left: one that is preempted between saying that it will sleep and doing so
 * (while it reaps a child of which somebody read /proc, for one) comes back uncounted. Each time
 * the difference of arrivals and departures is one less than before, for good. So a thread that is
 * off its CPU is at a figure of its own, `off`; it is on one when it is above it. Any look may find
 * the difference below: then it is `off`, or one above. What tells for sure: CPU time that grew
 * without a departure is a thread that is on a CPU; who is asleep in two rounds and has not moved
 * is on none. A thread that comes back uncounted is seen on its CPU with the kernel's next tick.
 *
 * Preempted. A thread that is ready to run and off its CPU was either woken, and would find a
 * signal in its wait, or was preempted at work. It was the latter if it has not gone to sleep since
 * the look before, and left its CPU since then, or had been preempted at that look already.
 *
 * Idle threads. A thread that did not run for IDLE_ROUNDS is looked at no more. The process's clock
 * is the sum of its threads' run_ns, dead ones included, to the nanosecond; so what all others used
 * is that less the active ones' run_ns. While this stays the same, none of them ran. Reading that
 * clock costs the kernel some 8 ns for each thread, so with many it is read less often. When
 * somebody else ran, the idle ones are looked at, SWEEP of them in a round. (Threads that are not
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
#include "recorder/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/vec.h"
#include "recorder/descriptors.h"

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
#define SNAPSHOT_TRIES 3
#define SHORT_LOOKS 32u /* in a row; then the switches of a thread that sleeps are read, too */
#define PROBE_STEPS 3
#define PROBE_TRIES 20
#define STATUS_MAX 8192u
#define STAT_CPU 39 /* the field */

struct thread {
    pid_t tid; /* 0: the entry is free */
    int schedstat;
    int status;
    int stat;      /* descriptors; -1: opened for each look */
    uint8_t known; /* last is of a look */
    uint8_t gone;
    uint8_t list;       /* enum list */
    uint32_t at;        /* place in that list */
    uint32_t unchanged; /* rounds */
    uint64_t looked;    /* the last round that looked at it */
    struct kymo_watch_look last;
    uint64_t asleep_ns;   /* run_ns when it was last seen asleep; UINT64_MAX: it never was */
    int64_t off;          /* arrivals less departures while it is on no CPU, as far as is known */
    uint32_t short_looks; /* since one that read its switches */
    /* From when on its use of CPU time is judged next. */
    uint64_t judged_round, judged_run_ns;
    uint64_t judge_at; /* the round */
    void *user;
};

enum list { ACTIVE, LIGHT, IDLE, N_LISTS };

typedef KYMO_VEC(uint32_t) entries;

struct kymo_watch {
    char folder[64];
    int has_clock;
    clockid_t clock;
    pid_t pid;
    int descriptor_limit; /* none above this number is kept */
    KYMO_VEC(struct thread) threads;
    entries free, lists[N_LISTS];
    uint64_t round_ns; /* 0: no lots are drawn, and there are no light threads */
    uint64_t random;
    uint64_t reads;
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

/* ---- the two files ---- */

static const char *parse_number(const char *at, uint64_t *out)
{
    uint64_t value = 0;
    if (*at < '0' || *at > '9')
        return NULL;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return NULL;
    *out = value;
    return at;
}

int kymo_watch_parse_schedstat(const char *text, uint64_t *run_ns, uint64_t *arrivals)
{
    uint64_t run, wait, count;
    const char *at = parse_number(text, &run);
    if (!at || *at != ' ' || !(at = parse_number(at + 1, &wait)) || *at != ' ' ||
        !(at = parse_number(at + 1, &count)) || *at != '\n')
        return 0;
    *run_ns = run;
    *arrivals = count;
    return 1;
}

/* The value of a line; key begins with the end of the line before. The kernel escapes what a thread
 * calls itself, so a name holds no such line. */
static const char *status_value(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? at + strlen(key) : NULL;
}

int kymo_watch_parse_status(const char *text, struct kymo_watch_look *look)
{
    const char *state = status_value(text, "\nState:\t");
    const char *voluntary = status_value(text, "\nvoluntary_ctxt_switches:\t");
    const char *nonvoluntary = status_value(text, "\nnonvoluntary_ctxt_switches:\t");
    uint64_t v, n;
    const char *end;
    if (!state || !voluntary || !nonvoluntary || *state == '\0' ||
        !(end = parse_number(voluntary, &v)) || *end != '\n' ||
        !(end = parse_number(nonvoluntary, &n)) || *end != '\n')
        return 0;
    look->state = *state;
    look->voluntary = v;
    look->nonvoluntary = n;
    return 1;
}

int kymo_watch_parse_cpu(const char *text)
{
    /* The name, which may hold anything, ends at the last parenthesis; state is the third field. */
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < STAT_CPU; field++)
        at = strchr(at + 1, ' ');
    uint64_t cpu;
    return at && parse_number(at + 1, &cpu) && cpu < INT_MAX ? (int)cpu : -1;
}

static int open_file(const struct kymo_watch *w, pid_t tid, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/task/%d/%s", w->folder, (int)tid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Reads a whole file; its descriptor is kept in *kept if there are enough of them. The length, 0 if
 * there is nothing or more than fits. */
static size_t read_file(struct kymo_watch *w, pid_t tid, const char *name, int *kept, char *out,
                        size_t cap)
{
    int fd = *kept;
    if (fd < 0)
        fd = open_file(w, tid, name);
    if (fd < 0)
        return 0;
    ssize_t n = pread(fd, out, cap - 1, 0);
    w->reads++;
    if (*kept < 0) {
        if (fd < w->descriptor_limit)
            *kept = fd;
        else
            close(fd);
    }
    if (n <= 0 || (size_t)n == cap - 1)
        return 0;
    out[n] = '\0';
    return (size_t)n;
}

static int read_schedstat(struct kymo_watch *w, struct thread *t, uint64_t *run_ns,
                          uint64_t *arrivals)
{
    char text[96];
    return read_file(w, t->tid, "schedstat", &t->schedstat, text, sizeof text) &&
           kymo_watch_parse_schedstat(text, run_ns, arrivals);
}

static int read_status(struct kymo_watch *w, struct thread *t, struct kymo_watch_look *look)
{
    char text[STATUS_MAX];
    return read_file(w, t->tid, "status", &t->status, text, sizeof text) &&
           kymo_watch_parse_status(text, look);
}

/* Whether stat says that the thread sleeps. */
static int is_asleep(struct kymo_watch *w, struct thread *t, char *state)
{
    char text[1024];
    const char *name_end;
    if (!read_file(w, t->tid, "stat", &t->stat, text, sizeof text) ||
        !(name_end = strrchr(text, ')')) || name_end[1] != ' ' || name_end[2] == '\0')
        return 0;
    *state = name_end[2];
    return *state != 'R';
}

int kymo_watch_cpu(const kymo_watch *w, uint32_t entry)
{
    char text[1024];
    int fd = open_file(w, w->threads.data[entry].tid, "stat");
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return kymo_watch_parse_cpu(text);
}

/* ---- a look ---- */

static int64_t difference_of(const struct kymo_watch_look *look)
{
    return (int64_t)(look->arrivals - look->voluntary - look->nonvoluntary);
}

static int is_switched(const struct thread *t, const struct kymo_watch_look *now)
{
    return now->voluntary != t->last.voluntary || now->nonvoluntary != t->last.nonvoluntary;
}

/* What a look that read everything tells of uncounted arrivals. */
static void learn_off(struct thread *t, const struct kymo_watch_look *now)
{
    int64_t difference = difference_of(now);
    if (difference < t->off)
        t->off = difference;
    if (t->known && now->run_ns > t->last.run_ns && !is_switched(t, now))
        t->off = difference - 1;
}

static enum kymo_watch_place place_of(const struct thread *t, const struct kymo_watch_look *now)
{
    if (difference_of(now) > t->off)
        return KYMO_WATCH_ON;
    int worked_on =
        t->known && now->state == 'R' && now->voluntary == t->last.voluntary &&
        (now->nonvoluntary > t->last.nonvoluntary || t->last.place == KYMO_WATCH_PREEMPTED);
    return worked_on ? KYMO_WATCH_PREEMPTED : KYMO_WATCH_OFF;
}

/* All of it, as of one moment; *now has run_ns and arrivals. 0: nothing consistent was to be had.
 */
static int read_rest(struct kymo_watch *w, struct thread *t, struct kymo_watch_look *now)
{
    uint64_t run_ns, arrivals;
    for (int i = 0; i <= SNAPSHOT_TRIES; i++) {
        if (!read_status(w, t, now) || !read_schedstat(w, t, &run_ns, &arrivals))
            return 0;
        if (run_ns == now->run_ns && arrivals == now->arrivals)
            return 1;
        now->run_ns = run_ns;
        now->arrivals = arrivals;
    }
    return 0;
}

/* in_short: a thread that sleeps keeps its switches of the look before. */
static int look_at(struct kymo_watch *w, struct thread *t, int in_short)
{
    struct kymo_watch_look now = {.changed = 1, .drawn = 1};
    if (!read_schedstat(w, t, &now.run_ns, &now.arrivals))
        return 0;
    if (t->known && now.run_ns == t->last.run_ns && now.arrivals == t->last.arrivals) {
        t->last.changed = 0;
        return 1;
    }
    if ((in_short || w->in_short) && t->known && t->short_looks < SHORT_LOOKS &&
        is_asleep(w, t, &now.state)) {
        now.voluntary = t->last.voluntary;
        now.nonvoluntary = t->last.nonvoluntary;
        t->asleep_ns = now.run_ns;
        t->short_looks++;
        t->last = now;
        return 1;
    }
    if (!read_rest(w, t, &now))
        return 0;
    learn_off(t, &now);
    now.place = place_of(t, &now);
    if (now.place == KYMO_WATCH_OFF && now.state != 'R')
        t->asleep_ns = now.run_ns;
    now.awake_ns = t->asleep_ns == UINT64_MAX ? UINT64_MAX : now.run_ns - t->asleep_ns;
    t->short_looks = 0;
    t->last = now;
    t->known = 1;
    return 1;
}

/* A thread that seemed on its CPU and about to sleep in an earlier round, and has not moved since:
 * if it still is as it was then, it sleeps. */
static int look_whether_asleep(struct kymo_watch *w, struct thread *t)
{
    struct kymo_watch_look now = t->last;
    if (!read_rest(w, t, &now))
        return 0;
    if (now.run_ns != t->last.run_ns || is_switched(t, &now))
        return 1; /* the next look tells */
    t->last.state = now.state;
    if (now.state == 'R')
        return 1;
    t->off = difference_of(&now);
    t->asleep_ns = now.run_ns;
    t->last.awake_ns = 0;
    t->last.place = KYMO_WATCH_OFF;
    return 1;
}

int kymo_watch_look(kymo_watch *w, uint32_t entry, struct kymo_watch_look *look)
{
    struct thread *t = &w->threads.data[entry];
    if (!look_at(w, t, 0))
        return 0;
    *look = t->last;
    return 1;
}

/* ---- the table ---- */

kymo_err kymo_watch_create(const char *proc, pid_t pid, kymo_watch **out)
{
    kymo_watch *w = calloc(1, sizeof *w);
    if (!w)
        return KYMO_E_NOMEM;
    int n = snprintf(w->folder, sizeof w->folder, "%s/%d", proc ? proc : "/proc", (int)pid);
    if (n < 0 || (size_t)n >= sizeof w->folder) {
        free(w);
        return KYMO_E_TOO_BIG;
    }
    w->pid = pid;
    w->has_clock = !proc && clock_getcpuclockid(pid, &w->clock) == 0;
    w->descriptor_limit = kymo_descriptors_for(KYMO_DESCRIPTORS_WATCH);
    *out = w;
    return KYMO_OK;
}

static void close_files(struct thread *t)
{
    if (t->schedstat >= 0)
        close(t->schedstat);
    if (t->status >= 0)
        close(t->status);
    if (t->stat >= 0)
        close(t->stat);
    t->schedstat = t->status = t->stat = -1;
}

void kymo_watch_destroy(kymo_watch *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->threads.len; i++)
        close_files(&w->threads.data[i]);
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
        w->others_ns += t->last.run_ns;
}

static void take(kymo_watch *w, uint32_t entry)
{
    struct thread *t = &w->threads.data[entry];
    entries *list = &w->lists[t->list];
    uint32_t moved = list->data[--list->len];
    list->data[t->at] = moved;
    w->threads.data[moved].at = t->at;
    if (t->list == IDLE)
        w->others_ns -= t->last.run_ns;
}

static void judge_after(const kymo_watch *w, struct thread *t, uint64_t rounds)
{
    t->judged_round = w->round;
    t->judge_at = w->round + rounds;
    t->judged_run_ns = t->last.run_ns;
}

kymo_err kymo_watch_add(kymo_watch *w, pid_t tid, void *user, uint32_t *out)
{
    struct thread t = {.tid = tid,
                       .schedstat = -1,
                       .status = -1,
                       .stat = -1,
                       .asleep_ns = UINT64_MAX,
                       .looked = w->round,
                       .user = user};
    if (!look_at(w, &t, 0)) {
        int fd = open_file(w, tid, "schedstat");
        int there = fd >= 0 || errno == EMFILE || errno == ENFILE;
        close_files(&t);
        if (fd >= 0)
            close(fd);
        return there ? KYMO_E_IO : KYMO_E_NOT_FOUND;
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
            close_files(&t);
            return err;
        }
        *out = (uint32_t)w->threads.len - 1;
    } else {
        *out = w->free.data[--w->free.len];
        w->threads.data[*out] = t;
    }
    put(w, *out, ACTIVE);
    w->others_ns -= t.last.run_ns; /* it was one of those that are not known */
    w->threads.data[*out].unchanged = IDLE_ROUNDS - NEW_ROUNDS;
    return KYMO_OK;
}

void kymo_watch_remove(kymo_watch *w, uint32_t entry)
{
    struct thread *t = &w->threads.data[entry];
    take(w, entry);
    /* The process's clock keeps what it used. */
    w->others_ns += t->last.run_ns;
    close_files(t);
    *t = (struct thread){.schedstat = -1, .status = -1, .stat = -1};
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
    int is_seen = look_at(w, t, drawn < 1);
    if (is_seen && !t->last.changed && t->last.place == KYMO_WATCH_ON && t->last.state != 'R')
        is_seen = look_whether_asleep(w, t);
    if (!is_seen) {
        uint64_t run_ns, arrivals;
        errno = 0;
        int is_read = read_schedstat(w, t, &run_ns, &arrivals);
        /* Not for want of a descriptor. */
        t->gone = (uint8_t)(!is_read && (errno == ENOENT || errno == ESRCH));
        return;
    }
    /* A copy: seen may look again. */
    struct kymo_watch_look look = t->last;
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
        uint64_t used_ns = t->last.run_ns - t->judged_run_ns;
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
    if (t->gone || !read_schedstat(w, t, &run_ns, &arrivals))
        return 0;
    if (run_ns == t->last.run_ns && arrivals == t->last.arrivals) {
        t->looked = w->round;
        return 0;
    }
    take(w, entry);
    put(w, entry, w->round_ns ? LIGHT : ACTIVE);
    judge_after(w, t, JUDGED_ROUNDS);
    /* What it used since then is in the others' sum, too; or not yet, which costs a sweep. */
    w->others_ns -= run_ns - t->last.run_ns;
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
            active_ns += w->threads.data[w->lists[list].data[i]].last.run_ns;
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
        /* Nothing moves where nobody is active: one reading tells. */
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
    return w->reads;
}

uint64_t kymo_watch_rounds(const kymo_watch *w)
{
    return w->round;
}

int kymo_watch_is_active(const kymo_watch *w)
{
    return w->ran;
}

/* A step from one look to the next, with a sleep between them. */
enum step { STEP_UNTOLD, STEP_COUNTED, STEP_WRONG };

static enum step step_of(const struct kymo_watch_look *before, const struct kymo_watch_look *now)
{
    int64_t more = difference_of(now) - difference_of(before);
    if (more > 0)
        return STEP_WRONG;
    /* We were not switched away, or our arrival is one that the kernel does not count. */
    if (more < 0 || now->voluntary == before->voluntary || now->arrivals == before->arrivals)
        return STEP_UNTOLD;
    return STEP_COUNTED;
}

int kymo_watch_probe(void)
{
    kymo_watch *w;
    uint32_t entry;
    struct kymo_watch_look before, now;
    if (kymo_watch_create(NULL, getpid(), &w) != KYMO_OK)
        return 0;
    int counted = 0;
    int is_wrong = 0;
    kymo_err err = KYMO_E_IO;
    for (int i = 0; err == KYMO_E_IO && i < PROBE_TRIES; i++)
        err = kymo_watch_add(w, (pid_t)syscall(SYS_gettid), NULL, &entry);
    /* We are on a CPU whenever we look, also after we have slept. */
    int has_before = 0;
    for (int i = 0; err == KYMO_OK && counted < PROBE_STEPS && i < PROBE_TRIES; i++) {
        struct timespec t = {.tv_nsec = 50000};
        (void)nanosleep(&t, NULL);
        if (!kymo_watch_look(w, entry, &now))
            continue; /* preempted at each try: a busy machine, or we are traced */
        enum step step = has_before ? step_of(&before, &now) : STEP_UNTOLD;
        counted += step == STEP_COUNTED;
        is_wrong |= step == STEP_WRONG;
        before = now;
        has_before = 1;
    }
    kymo_watch_destroy(w);
    return counted > 0 && !is_wrong;
}
