/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dispatcher is the real one, thread and all. Whom it sees at work is told by the watch of this
 * file, in which threads are looked at when a test asks for it and at no other tick. Its signals
 * come to this very thread, which holds them blocked and takes them one by one: so nothing here
 * depends on how long anything takes.
 */
#include "observe/dispatch.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/hash.h"
#include "observe/watch.h"
#include "unit.h"

#define PERIOD 100000u
#define BEGIN 1000000000u      /* CPU time of a thread that is added */
#define NO_SLEEP (8u * PERIOD) /* so much CPU time later it counts as one that does not sleep */
#define FORGOTTEN 60000000u    /* CPU time after which a signal without an answer is forgotten */
#define JUST_WOKEN 79999u
#define THREADS 4u
#define NO_TID 99999999 /* the number of no thread */

/* ---- a watch ---- */

struct seen_thread {
    pid_t tid; /* 0: the entry is free */
    void *user;
    struct kymo_watch_look look;  /* what a round finds */
    struct kymo_watch_look later; /* what any other look finds, if has_later */
    int has_later;
    int is_gone; /* for every other look */
    uint32_t looks;
    uint32_t attended;
};

struct kymo_watch {
    struct seen_thread threads[THREADS];
    uint32_t is_active;
    uint64_t rounds;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int asked; /* in the next round threads are looked at */
    uint32_t made, destroyed, removed;
    int tells; /* this kernel tells who runs */
    kymo_watch *watches[2];
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .tells = 1};

int kymo_watch_probe(void)
{
    return fake.tells;
}

kymo_err kymo_watch_create(const char *proc, pid_t pid, kymo_watch **out)
{
    (void)proc;
    (void)pid;
    kymo_watch *w = calloc(1, sizeof *w);
    if (!w)
        return KYMO_E_NOMEM;
    w->is_active = 1;
    fake.watches[fake.made++ % 2] = w;
    *out = w;
    return KYMO_OK;
}

void kymo_watch_destroy(kymo_watch *w)
{
    fake.destroyed++;
    free(w);
}

void kymo_watch_draw_lots(kymo_watch *w, uint64_t round_ns, uint64_t seed)
{
    (void)w;
    (void)round_ns;
    (void)seed;
}

kymo_err kymo_watch_add(kymo_watch *w, pid_t tid, void *user, uint32_t *entry)
{
    if (tid == NO_TID)
        return KYMO_E_NOT_FOUND;
    for (uint32_t i = 0; i < THREADS; i++) {
        if (w->threads[i].tid != 0)
            continue;
        w->threads[i] = (struct seen_thread){.tid = tid, .user = user};
        w->threads[i].look = (struct kymo_watch_look){.run_ns = BEGIN,
                                                      .arrivals = 9,
                                                      .voluntary = 5,
                                                      .nonvoluntary = 3,
                                                      .place = KYMO_WATCH_ON,
                                                      .awake_ns = UINT64_MAX,
                                                      .state = 'R',
                                                      .changed = 1,
                                                      .drawn = 1};
        *entry = i;
        return KYMO_OK;
    }
    return KYMO_E_NOMEM;
}

void kymo_watch_remove(kymo_watch *w, uint32_t entry)
{
    w->threads[entry].tid = 0;
    fake.removed++;
}

int kymo_watch_look(kymo_watch *w, uint32_t entry, struct kymo_watch_look *look)
{
    struct seen_thread *t = &w->threads[entry];
    kymo_add_relaxed(&t->looks, 1u);
    if (t->tid == 0 || t->is_gone)
        return 0;
    *look = t->has_later ? t->later : t->look;
    return 1;
}

int kymo_watch_cpu(const kymo_watch *w, uint32_t entry)
{
    (void)w;
    (void)entry;
    return -1;
}

void kymo_watch_attend(kymo_watch *w, uint32_t entry)
{
    kymo_add_relaxed(&w->threads[entry].attended, 1u);
}

void kymo_watch_round(kymo_watch *w, kymo_watch_seen *seen, void *context)
{
    pthread_mutex_lock(&fake.lock);
    w->rounds++;
    for (uint32_t i = 0; fake.asked && i < THREADS; i++) {
        struct kymo_watch_look look = w->threads[i].look;
        if (w->threads[i].tid != 0)
            seen(context, w->threads[i].user, &look);
    }
    fake.asked = 0;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
}

int kymo_watch_is_active(const kymo_watch *w)
{
    return (int)kymo_load_relaxed(&w->is_active);
}

/* ---- the tests' side ---- */

static struct kymo_thread_slot slots[THREADS];

/* One thread, of a process of its own: this one. */
struct one {
    kymo_dispatch *dispatch;
    struct seen_thread *seen;
    struct kymo_thread_slot *slot;
    uint64_t cookie;
    uint32_t number;
};

static struct kymo_dispatch_thread describe(uint32_t which, pid_t pid)
{
    return (struct kymo_dispatch_thread){.pid = pid,
                                         .tid = (pid_t)syscall(SYS_gettid),
                                         .signal = SIGURG,
                                         .cookie = 1000 + which,
                                         .slot = &slots[which]};
}

static struct one begin(void)
{
    struct one o = {.slot = &slots[0], .cookie = 1000};
    memset(slots, 0, sizeof slots);
    fake.made = fake.destroyed = fake.removed = 0;
    assert_int_equal(kymo_dispatch_create(PERIOD, &o.dispatch), KYMO_OK);
    struct kymo_dispatch_thread thread = describe(0, getpid());
    assert_int_equal(kymo_dispatch_add(o.dispatch, &thread, &o.number), KYMO_OK);
    o.seen = &fake.watches[0]->threads[0];
    return o;
}

static void end(struct one *o)
{
    kymo_dispatch_destroy(o->dispatch);
    assert_int_equal(fake.made, fake.destroyed);
}

/* The dispatcher looks at all threads once. What a look before led to is over then. */
static void tick(void)
{
    pthread_mutex_lock(&fake.lock);
    fake.asked = 1;
    while (fake.asked)
        pthread_cond_wait(&fake.changed, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
}

/* The signal that has come, 0 if there is none. */
static int came(uint64_t cookie)
{
    sigset_t ours;
    siginfo_t info;
    const struct timespec now = {0, 0};
    sigemptyset(&ours);
    sigaddset(&ours, SIGURG);
    sigaddset(&ours, SIGWINCH);
    int signo = sigtimedwait(&ours, &info, &now);
    if (signo < 0)
        return 0;
    assert_int_equal(info.si_code, KYMO_DISPATCH_CODE);
    assert_int_equal(info.si_pid, getpid());
    assert_ptr_equal(info.si_value.sival_ptr, (void *)(uintptr_t)cookie);
    return signo;
}

/* What the handler does for each: it answers, and takes a sample. */
static void answer(struct one *o)
{
    kymo_store_release(&o->slot->answers, o->slot->answers + 1);
    kymo_store_relaxed(&o->slot->samples, o->slot->samples + 1);
}

/* It has worked for a period, and does so still. */
static void work(struct one *o)
{
    o->seen->look.run_ns += PERIOD;
    o->seen->look.place = KYMO_WATCH_ON;
    o->seen->look.state = 'R';
    o->seen->look.changed = 1;
}

/* It has slept so many times, and works for a moment. */
static void wake(struct one *o, uint64_t sleeps)
{
    work(o);
    o->seen->look.run_ns -= PERIOD - 1;
    o->seen->look.voluntary += sleeps;
    o->seen->look.arrivals += sleeps;
}

/* A thread that has not slept for long, and has all the samples that it should have. */
static struct one begin_worker(void)
{
    struct one o = begin();
    o.seen->look.run_ns += NO_SLEEP;
    o.slot->samples = NO_SLEEP / PERIOD;
    tick();
    assert_int_equal(came(o.cookie), SIGURG);
    kymo_store_release(&o.slot->answers, 1u);
    return o;
}

static int signals_in(struct one *o, int ticks, uint64_t sleeps)
{
    int signals = 0;
    for (int i = 0; i < ticks; i++) {
        wake(o, sleeps);
        tick();
        if (came(o->cookie)) {
            signals++;
            answer(o);
        }
    }
    return signals;
}

static int cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* ---- who gets a signal ---- */

static void who_works_gets_one_at_each_tick(void **state)
{
    (void)state;
    struct one o = begin_worker();
    for (int i = 0; i < 200; i++) {
        work(&o);
        tick();
        assert_int_equal(came(o.cookie), SIGURG);
        assert_int_equal(came(o.cookie), 0); /* and no second one */
        answer(&o);
    }
    end(&o);
}

static void who_does_not_work_gets_none(void **state)
{
    (void)state;
    struct one o = begin_worker();
    static const struct {
        enum kymo_watch_place place;
        char state;
        int changed;
    } idle[] = {
        {KYMO_WATCH_ON, 'S', 1},        /* on its way to sleep */
        {KYMO_WATCH_ON, 'D', 1},        /* likewise */
        {KYMO_WATCH_PREEMPTED, 'R', 0}, /* had its signal when it was, if it was to have one */
        {KYMO_WATCH_OFF, 'R', 1},       /* woken: it would find the signal in its call */
        {KYMO_WATCH_OFF, 'T', 1},       {KYMO_WATCH_OFF, 'S', 1},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(idle); i++) {
        work(&o);
        o.seen->look.place = idle[i].place;
        o.seen->look.state = idle[i].state;
        o.seen->look.changed = idle[i].changed;
        for (int k = 0; k < 5; k++) {
            o.seen->look.run_ns += PERIOD;
            tick();
            assert_int_equal(came(o.cookie), 0);
        }
        if (idle[i].place == KYMO_WATCH_OFF)
            continue;
        work(&o);
        tick();
        assert_int_equal(came(o.cookie), SIGURG); /* it was not left out for another reason */
        answer(&o);
    }
    end(&o);
}

/* What was found must still be so at once afterwards. */
static void a_look_that_is_too_old_is_not_acted_on(void **state)
{
    (void)state;
    struct one o = begin_worker();
    for (int i = 0; i < 4; i++) {
        work(&o);
        o.seen->later = o.seen->look;
        o.seen->has_later = 1;
        o.seen->is_gone = i == 0;
        o.seen->later.arrivals += i == 1;
        o.seen->later.place = i == 2 ? KYMO_WATCH_OFF : KYMO_WATCH_ON;
        tick();
        assert_int_equal(came(o.cookie), i == 3 ? SIGURG : 0);
    }
    end(&o);
}

/* ---- debt ---- */

static void who_has_had_more_samples_than_time_is_left_out(void **state)
{
    (void)state;
    struct one o = begin_worker();
    /* 15 ms of samples more than of CPU time; what the kernel's tick may not have counted yet is
     * 10 ms. */
    for (int i = 0; i < 3; i++) {
        o.slot->samples += 50;
        tick();
        assert_int_equal(came(o.cookie), SIGURG);
        o.slot->answers++;
    }
    for (int i = 0; i < 5; i++) {
        tick();
        assert_int_equal(came(o.cookie), 0);
    }
    o.seen->look.run_ns += 10000000; /* it has caught up with most of them */
    tick();
    tick();
    assert_int_equal(came(o.cookie), SIGURG);
    end(&o);
}

/* The count of samples is the program's word. */
static void a_count_that_cannot_be_is_no_debt(void **state)
{
    (void)state;
    static const uint64_t counts[] = {1000000, UINT64_MAX, 0, 1ull << 63, 17};
    struct one o = begin_worker();
    for (size_t i = 0; i < 10 * KYMO_ARRAY_LEN(counts); i++) {
        work(&o);
        kymo_store_relaxed(&o.slot->samples, counts[i % KYMO_ARRAY_LEN(counts)]);
        tick();
        assert_int_equal(came(o.cookie), SIGURG);
        kymo_store_release(&o.slot->answers, o.slot->answers + 1);
    }
    end(&o);
}

/* It is between two of its instructions; but who was preempted is mostly so by us. */
static void who_was_preempted_gets_one_if_it_lags(void **state)
{
    (void)state;
    struct one o = begin_worker();
    for (int owed = 0; owed < 4; owed++) {
        work(&o);
        o.seen->look.place = KYMO_WATCH_PREEMPTED;
        tick();
        assert_int_equal(came(o.cookie), owed > 2 ? SIGURG : 0);
    }
    end(&o);
}

/* A poll whose time is over looks for signals once more: 80 us later it does not. */
static void who_was_just_woken_is_looked_at_again(void **state)
{
    (void)state;
    for (int stays = 0; stays < 2; stays++) {
        struct one o = begin_worker();
        o.seen->look.run_ns += 4 * PERIOD; /* it lags */
        o.seen->look.place = KYMO_WATCH_OFF;
        tick();
        work(&o);
        o.seen->look.place = KYMO_WATCH_PREEMPTED;
        o.seen->look.awake_ns = JUST_WOKEN;
        o.seen->later = o.seen->look;
        o.seen->later.place = stays ? KYMO_WATCH_PREEMPTED : KYMO_WATCH_ON;
        o.seen->later.arrivals++;
        o.seen->has_later = 1;
        kymo_store_relaxed(&o.seen->looks, 0u);
        tick();
        o.seen->look.place = KYMO_WATCH_OFF;
        o.seen->look.changed = 0;
        tick();
        assert_int_equal(came(o.cookie), stays ? 0 : SIGURG);
        assert_true(kymo_load_relaxed(&o.seen->looks) >= 1);
        end(&o);

        /* One that has run for longer gets it at once. */
        o = begin_worker();
        o.seen->look.run_ns += 4 * PERIOD;
        o.seen->look.place = KYMO_WATCH_OFF;
        tick();
        work(&o);
        o.seen->look.place = KYMO_WATCH_PREEMPTED;
        o.seen->look.awake_ns = JUST_WOKEN + 1;
        tick();
        assert_int_equal(came(o.cookie), SIGURG);
        end(&o);
    }
}

/* ---- low duty ---- */

/* Who sleeps of its own will gets a share of the ticks, by lot: 1 in 80 to begin with, more while
 * no call is disturbed, fewer when calls are. Bounds are six standard deviations. */
static void who_sleeps_gets_a_share(void **state)
{
    (void)state;
    struct one o = begin();
    o.slot->disturbed = 1; /* neither too many nor few enough */
    assert_in_range(signals_in(&o, 4000, 1), 50 - 42, 50 + 42);
    /* That it was looked at at all may have been a lot already. */
    o.seen->look.drawn = 0.012;
    assert_int_equal(signals_in(&o, 100, 1), 100);
    o.seen->look.drawn = 1;

    o.slot->disturbed = 0;
    (void)signals_in(&o, 60, 64);
    assert_int_equal(signals_in(&o, 100, 64), 100);

    kymo_store_relaxed(&o.slot->disturbed, UINT64_MAX);
    (void)signals_in(&o, 12, 64);
    /* 1 in 64, and not less; without sleeps the share stays. */
    assert_in_range(signals_in(&o, 2000, 0), 1, 31 + 33);
    end(&o);
}

/* One that does not sleep any more is none of those after 64 periods. */
static void who_stops_sleeping_gets_every_tick(void **state)
{
    (void)state;
    struct one o = begin();
    o.slot->disturbed = 1;
    for (int i = 0; i < 100; i++) {
        wake(&o, 1);
        tick();
        if (came(o.cookie))
            answer(&o);
    }
    for (int i = 0; i < 64; i++) {
        work(&o);
        tick();
        if (came(o.cookie))
            answer(&o);
    }
    for (int i = 0; i < 100; i++) {
        work(&o);
        tick();
        assert_int_equal(came(o.cookie), SIGURG);
        answer(&o);
    }
    end(&o);
}

/* The dispatcher stays on the CPU of one that sleeps: whom it has preempted there itself is between
 * two of its instructions. */
static void who_is_followed_gets_one_when_preempted(void **state)
{
    (void)state;
    if (cpus() < 2)
        skip(); /* no thread is followed there */
    struct one o = begin();
    o.slot->disturbed = 1;
    wake(&o, 1);
    o.seen->look.place = KYMO_WATCH_PREEMPTED;
    tick();
    assert_int_equal(came(o.cookie), 0); /* none is, yet */
    int signals = 0;
    for (int i = 0; i < 100; i++) {
        wake(&o, 1);
        o.seen->look.place = KYMO_WATCH_PREEMPTED;
        tick();
        if (came(o.cookie)) {
            signals++;
            answer(&o);
        }
    }
    assert_true(kymo_load_relaxed(&o.seen->attended) > 0);
    assert_true(signals > 0);
    end(&o);

    /* A thread that works is not. */
    o = begin_worker();
    for (int i = 0; i < 400; i++) {
        work(&o);
        tick();
        assert_int_equal(came(o.cookie), SIGURG);
        answer(&o);
    }
    assert_int_equal(kymo_load_relaxed(&o.seen->attended), 0);
    end(&o);
}

/* On one CPU it is always this thread that was preempted by the dispatcher. */
static void on_one_cpu_who_was_preempted_gets_one(void **state)
{
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    const char *why = NULL;
    assert_int_equal(kymo_dispatch_probe(&why), 0);
    assert_string_equal(why, "there is only one CPU");
    struct one o = begin();
    for (int i = 0; i < 20; i++) {
        wake(&o, 1);
        o.seen->look.place = KYMO_WATCH_PREEMPTED;
        tick();
        assert_int_equal(came(o.cookie), SIGURG);
        answer(&o);
    }
    assert_int_equal(kymo_load_relaxed(&o.seen->attended), 0);
    end(&o);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

/* ---- signals ---- */

/* All are blocked, or the queue was full: more would only wait there. */
static void a_signal_without_an_answer_is_the_last(void **state)
{
    (void)state;
    struct one o = begin_worker();
    work(&o);
    tick();
    assert_int_equal(came(o.cookie), SIGURG);
    for (int i = 0; i < 50; i++) {
        work(&o);
        tick();
        assert_int_equal(came(o.cookie), 0);
    }
    o.seen->look.run_ns += FORGOTTEN;
    tick();
    assert_int_equal(came(o.cookie), SIGURG);
    answer(&o);
    work(&o);
    tick();
    assert_int_equal(came(o.cookie), SIGURG);
    end(&o);
}

static void the_signal_can_be_another_or_none(void **state)
{
    (void)state;
    static const int signals[] = {SIGWINCH, 0, SIGURG};
    struct one o = begin_worker();
    for (size_t i = 0; i < KYMO_ARRAY_LEN(signals); i++) {
        kymo_dispatch_set_signal(o.dispatch, o.number, signals[i]);
        for (int k = 0; k < 5; k++) {
            work(&o);
            tick();
            assert_int_equal(came(o.cookie), signals[i]);
            answer(&o);
        }
    }
    /* One that was not answered under the old number does not count under the new one. */
    work(&o);
    tick();
    assert_int_equal(came(o.cookie), SIGURG);
    kymo_dispatch_set_signal(o.dispatch, o.number, SIGWINCH);
    work(&o);
    tick();
    assert_int_equal(came(o.cookie), SIGWINCH);
    end(&o);
}

/* ---- the table ---- */

/* After an exec the same thread is added again before the image before it is removed: the new
 * image's handler does not know the old one's cookie. */
static void a_new_image_gets_its_own_signals_only(void **state)
{
    (void)state;
    struct one old = begin_worker();
    struct one new = {.slot = &slots[1], .cookie = 1001, .dispatch = old.dispatch};
    struct kymo_dispatch_thread thread = describe(1, getpid());
    assert_int_equal(kymo_dispatch_add(old.dispatch, &thread, &new.number), KYMO_OK);
    assert_int_not_equal(new.number, old.number);
    new.seen = &fake.watches[0]->threads[1];
    new.seen->look.run_ns += NO_SLEEP;
    tick();
    (void)came(new.cookie);
    answer(&new);
    for (int i = 0; i < 50; i++) {
        work(&old);
        work(&new);
        tick();
        assert_int_equal(came(new.cookie), SIGURG);
        answer(&new);
    }
    kymo_dispatch_remove(old.dispatch, old.number);
    work(&new);
    tick();
    assert_int_equal(came(new.cookie), SIGURG);
    end(&new);
}

static void a_thread_that_is_not_there_leaves_nothing(void **state)
{
    (void)state;
    struct one o = begin_worker();
    uint32_t number = 77;
    struct kymo_dispatch_thread thread = describe(1, getpid() + 1);
    thread.tid = NO_TID;
    assert_int_equal(kymo_dispatch_add(o.dispatch, &thread, &number), KYMO_E_NOT_FOUND);
    assert_int_equal(number, 77);
    assert_int_equal(fake.made, 2);
    assert_int_equal(fake.destroyed, 1);
    thread.pid = getpid();
    assert_int_equal(kymo_dispatch_add(o.dispatch, &thread, &number), KYMO_E_NOT_FOUND);
    assert_int_equal(fake.destroyed, 1); /* another one is in that process */
    work(&o);
    tick();
    assert_int_equal(came(o.cookie), SIGURG);
    end(&o);
}

/* Also one that was followed, and one that was next; its slot may be unmapped then. */
static void a_thread_that_is_removed_is_forgotten(void **state)
{
    (void)state;
    struct one o = begin_worker();
    for (int round = 0; round < 20; round++) {
        struct one other = {.dispatch = o.dispatch};
        struct kymo_dispatch_thread thread = describe(1, getpid());
        void *memory = aligned_alloc(64, sizeof *thread.slot);
        assert_non_null(memory);
        memset(memory, 0, sizeof *thread.slot);
        thread.slot = memory;
        thread.tid = 1; /* no thread of this process: its signals come nowhere */
        assert_int_equal(kymo_dispatch_add(o.dispatch, &thread, &other.number), KYMO_OK);
        other.seen = &fake.watches[0]->threads[1];
        for (int i = 0; i < 20; i++) {
            work(&o);
            wake(&other, 1);
            tick();
            (void)came(o.cookie);
            answer(&o);
        }
        kymo_dispatch_remove(o.dispatch, other.number);
        free(memory);
        for (int i = 0; i < 20; i++) {
            work(&o);
            tick();
            assert_int_equal(came(o.cookie), SIGURG);
            answer(&o);
        }
    }
    assert_int_equal(fake.removed, 20);
    end(&o);
}

/* ---- idle processes ---- */

static uint64_t rounds_of(int which, uint64_t least)
{
    while (fake.watches[which]->rounds < least)
        pthread_cond_wait(&fake.changed, &fake.lock);
    return fake.watches[which]->rounds;
}

/* One in which no thread has run for 256 ticks is looked at in one of four. */
static void a_process_at_rest_is_looked_at_rarely(void **state)
{
    (void)state;
    struct one o = begin();
    uint32_t number;
    struct kymo_dispatch_thread thread = describe(1, getpid() + 1);
    assert_int_equal(kymo_dispatch_add(o.dispatch, &thread, &number), KYMO_OK);
    kymo_store_relaxed(&fake.watches[1]->is_active, 0u);
    pthread_mutex_lock(&fake.lock);
    uint64_t start = rounds_of(0, fake.watches[0]->rounds + 300);
    uint64_t rest = fake.watches[1]->rounds;
    uint64_t all = rounds_of(0, start + 400) - start;
    rest = fake.watches[1]->rounds - rest;
    pthread_mutex_unlock(&fake.lock);
    assert_in_range(rest, all / 4 - 1, all / 4 + 1);

    /* It is back in each tick when a thread runs there. */
    kymo_store_relaxed(&fake.watches[1]->is_active, 1u);
    pthread_mutex_lock(&fake.lock);
    start = rounds_of(0, fake.watches[0]->rounds + 8);
    rest = fake.watches[1]->rounds;
    all = rounds_of(0, start + 100) - start;
    rest = fake.watches[1]->rounds - rest;
    pthread_mutex_unlock(&fake.lock);
    assert_in_range(rest, all - 1, all + 1);
    end(&o);
}

static void the_probe(void **state)
{
    (void)state;
    const char *why = "?";
    if (cpus() < 2)
        skip();
    assert_int_equal(kymo_dispatch_probe(&why), 1);
    assert_null(why);
    fake.tells = 0;
    assert_int_equal(kymo_dispatch_probe(&why), 0);
    assert_string_equal(why, "this kernel does not tell who runs");
    assert_int_equal(kymo_dispatch_probe(NULL), 0);
    fake.tells = 1;
}

static void one_without_threads(void **state)
{
    (void)state;
    kymo_dispatch *d;
    assert_int_equal(kymo_dispatch_create(PERIOD, &d), KYMO_OK);
    kymo_dispatch_destroy(d);
    kymo_dispatch_destroy(NULL);
}

static int block_signals(void **state)
{
    (void)state;
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGURG);
    sigaddset(&ours, SIGWINCH);
    return pthread_sigmask(SIG_BLOCK, &ours, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_works_gets_one_at_each_tick),
        cmocka_unit_test(who_does_not_work_gets_none),
        cmocka_unit_test(a_look_that_is_too_old_is_not_acted_on),
        cmocka_unit_test(who_has_had_more_samples_than_time_is_left_out),
        cmocka_unit_test(a_count_that_cannot_be_is_no_debt),
        cmocka_unit_test(who_was_preempted_gets_one_if_it_lags),
        cmocka_unit_test(who_was_just_woken_is_looked_at_again),
        cmocka_unit_test(who_sleeps_gets_a_share),
        cmocka_unit_test(who_stops_sleeping_gets_every_tick),
        cmocka_unit_test(who_is_followed_gets_one_when_preempted),
        cmocka_unit_test(on_one_cpu_who_was_preempted_gets_one),
        cmocka_unit_test(a_signal_without_an_answer_is_the_last),
        cmocka_unit_test(the_signal_can_be_another_or_none),
        cmocka_unit_test(a_new_image_gets_its_own_signals_only),
        cmocka_unit_test(a_thread_that_is_not_there_leaves_nothing),
        cmocka_unit_test(a_thread_that_is_removed_is_forgotten),
        cmocka_unit_test(a_process_at_rest_is_looked_at_rarely),
        cmocka_unit_test(the_probe),
        cmocka_unit_test(one_without_threads),
    };
    return cmocka_run_group_tests(tests, block_signals, NULL);
}
