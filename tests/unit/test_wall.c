/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the time of threads is cut into samples. Who moved, and where a waiting thread was found, is
 * told by this file, in place of watch.c and wall_find.c; time is what the tests say. (Stacks for
 * running ticks, and when ticks come, are test_wall_running.c's and test_wall_ticks.c's.)
 */
#include "observe/wall.h"

#include <stdlib.h>
#include <string.h>

#include "observe/remote.h"
#include "observe/task.h"
#include "observe/wall_find.h"
#include "observe/watch.h"
#include "unit.h"

#define MS 1000000ull
#define TICK (10 * MS)
#define THREADS 8u
#define SAMPLES 4096u
#define CALL 7 /* a system call; its wait is one more */

/* ---- a watch ---- */

struct kymo_watch {
    int unused;
};

struct seen_thread {
    int is_there;
    pid_t tid;
    void *user;
    struct kymo_watch_look look; /* what a round finds */
    int is_idle;                 /* a round does not look: it has not moved for long */
    int moves;                   /* so many looks behind a walk find that it has */
    int is_gone;                 /* for looks behind a walk */
    uint64_t looked;             /* the round */
};

static struct kymo_watch the_watch;
static struct {
    struct seen_thread threads[THREADS];
    uint64_t round;
    int is_active;
    kymo_err err; /* of the next add */
    unsigned adds, removes;
} watch;

kymo_err kymo_watch_create(const char *proc, pid_t pid, kymo_watch **out)
{
    (void)proc;
    (void)pid;
    memset(&watch, 0, sizeof watch);
    *out = &the_watch;
    return KYMO_OK;
}

void kymo_watch_destroy(kymo_watch *w)
{
    (void)w;
}

void kymo_watch_in_short(kymo_watch *w)
{
    (void)w;
}

kymo_err kymo_watch_add(kymo_watch *w, pid_t tid, void *user, uint32_t *entry)
{
    (void)w;
    watch.adds++;
    if (watch.err != KYMO_OK)
        return watch.err;
    for (uint32_t i = 0; i < THREADS; i++) {
        if (watch.threads[i].is_there)
            continue;
        watch.threads[i] =
            (struct seen_thread){.is_there = 1, .tid = tid, .user = user, .looked = watch.round};
        *entry = i;
        return KYMO_OK;
    }
    return KYMO_E_NOMEM;
}

void kymo_watch_remove(kymo_watch *w, uint32_t entry)
{
    (void)w;
    watch.removes++;
    watch.threads[entry].is_there = 0;
}

int kymo_watch_look(kymo_watch *w, uint32_t entry, struct kymo_watch_look *look)
{
    (void)w;
    struct seen_thread *t = &watch.threads[entry];
    *look = t->look;
    look->changed = t->moves > 0;
    t->moves -= t->moves > 0;
    return !t->is_gone;
}

void kymo_watch_round(kymo_watch *w, kymo_watch_seen *seen, void *context)
{
    (void)w;
    watch.round++;
    for (uint32_t i = 0; i < THREADS; i++) {
        struct seen_thread *t = &watch.threads[i];
        if (!t->is_there || t->is_idle)
            continue;
        struct kymo_watch_look look = t->look;
        look.unmoved_round = t->looked;
        t->looked = watch.round;
        seen(context, t->user, &look);
    }
}

uint64_t kymo_watch_rounds(const kymo_watch *w)
{
    (void)w;
    return watch.round;
}

uint64_t kymo_watch_unmoved_round(const kymo_watch *w, uint32_t entry)
{
    (void)w;
    const struct seen_thread *t = &watch.threads[entry];
    return t->is_idle ? watch.round : t->looked;
}

int kymo_watch_is_active(const kymo_watch *w)
{
    (void)w;
    return watch.is_active;
}

/* ---- where threads wait ---- */

static struct {
    struct kymo_wall_finder *finder;
    struct kymo_wall_found found; /* what a walk finds */
    kymo_err err;
    unsigned walks;
    unsigned unclear; /* that would be asked, if they may */
    int grants;       /* they may */
    unsigned remembered;
    int last_call; /* whose name was asked for */
} find;

kymo_err kymo_wall_finder_init(struct kymo_wall_finder *f)
{
    find.finder = f;
    return KYMO_OK;
}

void kymo_wall_finder_deinit(struct kymo_wall_finder *f)
{
    (void)f;
}

kymo_err kymo_wall_stacks_use(const struct kymo_wall_stacks *s, kymo_key_map *used)
{
    (void)s;
    return kymo_key_map_add(used, KYMO_WALL_FIRST);
}

kymo_err kymo_wall_finder_set_python(struct kymo_wall_finder *f,
                                     const struct kymo_remote_python_sink *sink)
{
    (void)f;
    (void)sink;
    return KYMO_OK;
}

kymo_err kymo_wall_finder_begin(struct kymo_wall_finder *f, uint64_t now_ns)
{
    (void)f;
    (void)now_ns;
    return KYMO_OK;
}

kymo_err kymo_wall_find(struct kymo_wall_finder *f, struct kymo_wall_memory *m, uint64_t now_ns,
                        struct kymo_wall_found *found)
{
    (void)f;
    (void)m;
    (void)now_ns;
    find.walks++;
    *found = find.found;
    return find.err;
}

int kymo_wall_ask_unclear(struct kymo_wall_finder *f, const struct kymo_wall_memory *m)
{
    (void)f;
    (void)m;
    find.unclear++;
    return find.grants;
}

void kymo_wall_remember(struct kymo_wall_finder *f, struct kymo_wall_memory *m,
                        const struct kymo_drain_answer *a)
{
    (void)m;
    (void)a;
    f->disturbed += a->record.is_disturbed == 1;
    find.remembered++;
}

int kymo_wall_is_same(const struct kymo_drain_answer *a, uint64_t ip, uint64_t sp)
{
    return a->record.ip == ip && a->record.sp == sp;
}

void kymo_wall_memory_deinit(struct kymo_wall_memory *m)
{
    (void)m;
}

kymo_err kymo_wait_names_create(const kymo_event_handler *events, void *context,
                                kymo_wait_names **out)
{
    (void)events;
    (void)context;
    *out = NULL;
    return KYMO_OK;
}

void kymo_wait_names_destroy(kymo_wait_names *names)
{
    (void)names;
}

kymo_err kymo_wait_names_get(kymo_wait_names *names, int call, uint32_t *wait)
{
    (void)names;
    find.last_call = call;
    *wait = call < 0 ? 0 : (uint32_t)call + 1;
    return KYMO_OK;
}

kymo_err kymo_remote_store_create(kymo_remote_store **out)
{
    *out = NULL;
    return KYMO_OK;
}

void kymo_remote_store_destroy(kymo_remote_store *store)
{
    (void)store;
}

void kymo_frame_bases_deinit(struct kymo_frame_bases *bases)
{
    (void)bases;
}

int kymo_task_name(pid_t pid, pid_t tid, char name[16])
{
    (void)pid;
    (void)tid;
    strcpy(name, "stranger");
    return 1;
}

/* ---- what is written ---- */

static struct {
    kymo_event_sample samples[SAMPLES];
    uint32_t thread_of[SAMPLES];
    size_t n;
    kymo_err err;
    kymo_event_thread began;
    char name[16];
    unsigned begins;
    kymo_event_thread_end ended;
    unsigned ends;
} written;

static kymo_err on_samples(void *context, const kymo_event_samples *e)
{
    (void)context;
    assert_true(e->count > 0);
    for (uint32_t i = 0; i < e->count; i++) {
        assert_true(written.n < SAMPLES);
        assert_int_equal(e->samples[i].kind, 1);
        assert_true(e->samples[i].weight_ns > 0);
        written.thread_of[written.n] = e->thread;
        written.samples[written.n++] = e->samples[i];
    }
    return written.err;
}

static kymo_err on_thread(void *context, const kymo_event_thread *e)
{
    (void)context;
    written.began = *e;
    strcpy(written.name, e->name);
    written.begins++;
    return KYMO_OK;
}

static kymo_err on_thread_end(void *context, const kymo_event_thread_end *e)
{
    (void)context;
    written.ended = *e;
    written.ends++;
    return KYMO_OK;
}

static const kymo_event_handler events = {
    .samples = on_samples, .thread = on_thread, .thread_end = on_thread_end};

/* ---- the tests' side ---- */

static kymo_wall_shared *shared;
static kymo_wall *wall;
static struct kymo_session session;
static uint32_t next_thread;
static uint64_t now_ns;

static void ok(kymo_err err)
{
    assert_int_equal(err, KYMO_OK);
}

/* Waits in a call, at a place of its own. */
static struct kymo_wall_found waiting_at(uint32_t stack)
{
    return (struct kymo_wall_found){
        .call = CALL, .stack = stack, .ip = 1000 + stack, .sp = 2000 + stack};
}

static void open_wall(uint64_t cpu_period_ns)
{
    memset(&find, 0, sizeof find);
    memset(&written, 0, sizeof written);
    next_thread = 50;
    now_ns = 0;
    session.period_ns = cpu_period_ns;
    ok(kymo_wall_shared_create(TICK, &events, NULL, &shared));
    ok(kymo_wall_create(shared, &session, 4711, 3, &next_thread, NULL, &wall));
    find.found = waiting_at(5);
}

static void close_wall(void)
{
    kymo_wall_destroy(wall);
    kymo_wall_shared_destroy(shared);
}

static struct seen_thread *begin(uint32_t drained, uint64_t start_ns)
{
    unsigned adds = watch.adds;
    ok(kymo_wall_thread_begin(wall, drained, 100 + drained, 20 + (pid_t)drained, start_ns));
    assert_int_equal(watch.adds, adds + 1);
    for (uint32_t i = 0; i < THREADS; i++)
        if (watch.threads[i].is_there && watch.threads[i].tid == 20 + (pid_t)drained)
            return &watch.threads[i];
    return NULL;
}

static void set(struct seen_thread *t, enum kymo_watch_place place, char state, int changed)
{
    t->look.place = place;
    t->look.state = state;
    t->look.changed = changed;
}

/* The next ticks, at each of which the threads are as they were set. */
static void tick(int n)
{
    for (int i = 0; i < n; i++)
        ok(kymo_wall_tick(wall, now_ns += TICK));
}

static int by_time(const void *a, const void *b)
{
    const kymo_event_sample *x = a;
    const kymo_event_sample *y = b;
    return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* The samples of a thread, in the order of time; they follow each other without gaps. */
static size_t samples_of(uint32_t thread, uint64_t from_ns, uint64_t to_ns,
                         kymo_event_sample out[SAMPLES])
{
    size_t n = 0;
    for (size_t i = 0; i < written.n; i++)
        if (written.thread_of[i] == thread)
            out[n++] = written.samples[i];
    qsort(out, n, sizeof *out, by_time);
    uint64_t at_ns = from_ns;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(out[i].time_ns, at_ns);
        at_ns += out[i].weight_ns;
    }
    assert_int_equal(at_ns, to_ns);
    return n;
}

static kymo_event_sample got[SAMPLES];

/* ---- waiting ---- */

/* One that does not move costs a sample a second, also where it is not looked at any more. */
static void a_thread_that_waits(void **state)
{
    (void)state;
    for (int idle = 0; idle < 2; idle++) {
        open_wall(MS);
        struct seen_thread *t = begin(0, 3 * MS);
        set(t, KYMO_WATCH_OFF, 'S', 1);
        tick(1);
        set(t, KYMO_WATCH_OFF, 'S', 0);
        t->is_idle = idle;
        tick(2999); /* more than wall.c remembers the times of */
        assert_int_equal(find.walks, 1);
        ok(kymo_wall_thread_end(wall, 0, now_ns + 5 * MS));
        size_t n = samples_of(100, 3 * MS, now_ns + 5 * MS, got);
        assert_in_range(n, 25, 35);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(got[i].stack, 5);
            assert_int_equal(got[i].wait, CALL + 1);
            assert_int_equal(got[i].state, 2);
        }
        close_wall();
    }
}

/* The library that it waits in was not known. When mappings may be read again, it is looked at
 * again, and all of the run gets the whole stack. */
static void a_thread_in_a_new_library(void **state)
{
    (void)state;
    for (int idle = 0; idle < 2; idle++) {
        open_wall(MS);
        struct seen_thread *t = begin(0, 3 * MS);
        find.found.lacks_module = 1;
        find.finder->retry_ns = 5 * TICK;
        set(t, KYMO_WATCH_OFF, 'S', 1);
        tick(1);
        set(t, KYMO_WATCH_OFF, 'S', 0);
        t->is_idle = idle;
        find.found = waiting_at(6);
        tick(3);
        assert_int_equal(find.walks, 1);
        tick(20);
        assert_int_equal(find.walks, 2);
        ok(kymo_wall_thread_end(wall, 0, now_ns + MS));
        assert_int_equal(samples_of(100, 3 * MS, now_ns + MS, got), 1);
        assert_int_equal(got[0].stack, 6);
        close_wall();
    }
}

/* One whose code no file has is looked at as often as mappings are, and keeps its stack. One that
 * has moved begins another run. */
static void a_thread_in_no_library(void **state)
{
    (void)state;
    open_wall(MS);
    struct seen_thread *t = begin(0, 3 * MS);
    find.found.lacks_module = 1;
    find.finder->retry_ns = UINT64_MAX;
    set(t, KYMO_WATCH_OFF, 'S', 1);
    tick(1);
    set(t, KYMO_WATCH_OFF, 'S', 0);
    t->is_idle = 1;
    for (unsigned i = 1; i <= 4; i++) {
        find.finder->retry_ns = now_ns + 3 * TICK;
        tick(2);
        assert_int_equal(find.walks, i);
        find.finder->retry_ns = 0;
        tick(1);
        assert_int_equal(find.walks, i + 1);
    }
    find.finder->retry_ns = 0;
    find.found = waiting_at(6);
    t->moves = 1;
    uint64_t moved_ns = now_ns;
    tick(1);
    ok(kymo_wall_thread_end(wall, 0, now_ns + MS));
    assert_int_equal(samples_of(100, 3 * MS, now_ns + MS, got), 2);
    assert_int_equal(got[0].stack, 5);
    assert_in_range(got[0].weight_ns, moved_ns - 3 * MS, moved_ns + TICK - 3 * MS);
    assert_int_equal(got[1].stack, 6);
    close_wall();
}

/* The time between two looks is given to what the later one finds. */
static void a_thread_that_moves(void **state)
{
    (void)state;
    open_wall(MS);
    struct seen_thread *t = begin(0, 4 * MS);
    for (uint32_t i = 1; i <= 20; i++) {
        set(t, KYMO_WATCH_OFF, i % 2 ? 'S' : 'D', 1);
        find.found = waiting_at(i);
        tick(1);
    }
    ok(kymo_wall_thread_end(wall, 0, now_ns + MS));
    assert_int_equal(samples_of(100, 4 * MS, now_ns + MS, got), 20);
    assert_int_equal(got[0].weight_ns, 6 * MS);
    for (uint32_t i = 1; i < 20; i++) {
        assert_int_equal(got[i].stack, i + 1);
        assert_int_equal(got[i].state, (i + 1) % 2 ? 2 : 3);
        assert_int_equal(got[i].time_ns, i * TICK);
    }
    close_wall();
}

static void a_thread_that_is_stopped(void **state)
{
    (void)state;
    static const char states[] = {'T', 't'};
    for (size_t i = 0; i < sizeof states; i++) {
        open_wall(MS);
        set(begin(0, 0), KYMO_WATCH_OFF, states[i], 1);
        tick(1);
        assert_int_equal(find.last_call, KYMO_WAIT_STOPPED);
        ok(kymo_wall_finish(wall, now_ns));
        close_wall();
    }
}

/* ---- running ---- */

/* A tick that finds a thread running has the CPU sample that is nearest to it. */
static void a_thread_that_runs(void **state)
{
    (void)state;
    open_wall(MS);
    struct seen_thread *t = begin(0, 2 * MS);
    set(t, KYMO_WATCH_ON, 'R', 1);
    tick(1);
    ok(kymo_wall_cpu_sample(wall, 0, 12 * MS, 61, NULL)); /* there is none before it */
    tick(1);
    ok(kymo_wall_cpu_sample(wall, 0, 27 * MS, 62,
                            NULL)); /* 7 ms behind the tick; 61: 8 before it */
    tick(1);
    ok(kymo_wall_cpu_sample(wall, 0, 34 * MS, 63, NULL)); /* 4 and 3 */
    tick(3);
    ok(kymo_wall_cpu_sample(wall, 0, 59 * MS, 64, NULL));
    ok(kymo_wall_cpu_sample(wall, 0, 62 * MS, 65, NULL));
    ok(kymo_wall_thread_end(wall, 0, 62 * MS));
    assert_int_equal(find.walks, 0);
    assert_int_equal(find.unclear, 0);
    assert_int_equal(samples_of(100, 2 * MS, 62 * MS, got), 7);
    static const uint32_t stacks[] = {61, 62, 62, 63, 64, 64, 65};
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(got[i].stack, stacks[i]);
        assert_int_equal(got[i].state, 1);
        assert_int_equal(got[i].wait, 0);
    }
    close_wall();
}

/* One that was woken and has no CPU yet is not waiting any more; it is not walked. */
static void a_thread_that_is_ready(void **state)
{
    (void)state;
    open_wall(MS);
    set(begin(0, MS), KYMO_WATCH_OFF, 'R', 1);
    tick(3);
    assert_int_equal(find.walks, 0);
    ok(kymo_wall_finish(wall, now_ns));
    (void)samples_of(100, MS, now_ns, got);
    assert_int_equal(got[0].state, 1);
    assert_int_equal(got[0].stack, KYMO_EVENT_NONE); /* there never was a CPU sample */
    close_wall();
}

/* Ticks wait for the first CPU sample for as long as there is none, and for later ones a second. */
static void a_thread_with_few_cpu_samples(void **state)
{
    (void)state;
    open_wall(MS);
    struct seen_thread *t = begin(0, MS);
    set(t, KYMO_WATCH_ON, 'R', 1);
    tick(250);
    assert_int_equal(written.n, 0);
    ok(kymo_wall_cpu_sample(wall, 0, now_ns + MS, 61, NULL));
    tick(1);
    assert_true(written.n > 0);
    set(t, KYMO_WATCH_OFF, 'S', 1);
    tick(1);
    set(t, KYMO_WATCH_OFF, 'S', 0);
    tick(250);
    ok(kymo_wall_finish(wall, now_ns));
    size_t n = samples_of(100, MS, now_ns, got);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(got[i].stack, got[i].state == 1 ? 61 : 5);
    close_wall();
}

/* It waits for nothing any more but for who asks how it ended; what it did last was to run. */
static void a_thread_that_has_ended(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        open_wall(MS);
        struct seen_thread *t = begin(0, MS);
        ok(kymo_wall_cpu_sample(wall, 0, 2 * MS, 61, NULL));
        set(t, KYMO_WATCH_OFF, "ZXS"[way], 1);
        find.found.is_over = way == 2; /* its memory is gone */
        tick(1);
        set(t, KYMO_WATCH_OFF, "ZXS"[way], 0);
        tick(3);
        assert_int_equal(find.walks, way == 2);
        assert_int_equal(find.unclear, 0);
        ok(kymo_wall_thread_end(wall, 0, now_ns + MS));
        size_t n = samples_of(100, MS, now_ns + MS, got);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(got[i].stack, 61);
        close_wall();

        /* There is no request for seconds: that time is no thread's work. */
        open_wall(MS);
        t = begin(0, MS);
        ok(kymo_wall_cpu_sample(wall, 0, 2 * MS, 61, NULL));
        set(t, KYMO_WATCH_OFF, "ZXS"[way], 1);
        find.found.is_over = way == 2;
        tick(1);
        set(t, KYMO_WATCH_OFF, "ZXS"[way], 0);
        tick(500);
        ok(kymo_wall_thread_end(wall, 0, now_ns + MS));
        n = samples_of(100, MS, now_ns + MS, got);
        assert_int_equal(got[0].stack, 61);
        assert_int_equal(got[n - 1].stack, KYMO_EVENT_NONE);
        assert_int_equal(got[n - 1].state, 2);
        close_wall();
    }
}

/* ---- moving meanwhile ---- */

static void a_thread_that_moves_while_it_is_walked(void **state)
{
    (void)state;
    for (int moves = 1; moves <= 4; moves++) {
        open_wall(MS);
        struct seen_thread *t = begin(0, 0);
        set(t, KYMO_WATCH_OFF, 'S', 1);
        t->moves = moves;
        tick(1);
        assert_int_equal(find.walks, moves < 3 ? moves + 1 : 3);
        ok(kymo_wall_finish(wall, now_ns));
        assert_int_equal(samples_of(100, 0, now_ns, got), 1);
        /* What was read does not belong together: no stack is better than a wrong one. */
        assert_int_equal(got[0].stack, moves < 3 ? 5 : KYMO_EVENT_NONE);
        close_wall();
    }
    open_wall(MS);
    set(begin(0, 0), KYMO_WATCH_OFF, 'S', 1);
    find.found.is_running = 1; /* as the kernel says at that moment */
    tick(1);
    assert_int_equal(find.walks, 3);
    /* It is looked at again at the next tick, though it has not moved since. */
    set(&watch.threads[0], KYMO_WATCH_OFF, 'S', 0);
    find.found.is_running = 0;
    tick(1);
    assert_int_equal(find.walks, 4);
    ok(kymo_wall_finish(wall, now_ns));
    assert_int_equal(samples_of(100, 0, now_ns, got), 2);
    assert_int_equal(got[1].stack, 5);
    close_wall();

    open_wall(MS);
    set(begin(0, 0), KYMO_WATCH_OFF, 'S', 1);
    watch.threads[0].is_gone = 1;
    tick(2);
    ok(kymo_wall_finish(wall, now_ns));
    (void)samples_of(100, 0, now_ns, got);
    assert_int_equal(got[0].stack, KYMO_EVENT_NONE);
    close_wall();
}

/* ---- answers ---- */

static struct kymo_drain_answer answer_at(uint32_t place, uint32_t stack)
{
    struct kymo_drain_answer a = {.thread = 0, .stack = stack, .time_ns = now_ns};
    a.record.ip = 1000 + place;
    a.record.sp = 2000 + place;
    return a;
}

/* A thread that is asked at the first tick for the stack of this place, and moves on at the second.
 */
static void ask_at(uint32_t place)
{
    open_wall(MS);
    struct seen_thread *t = begin(0, MS);
    set(t, KYMO_WATCH_OFF, 'S', 1);
    find.found = waiting_at(place);
    find.found.may_ask = find.grants = 1;
    tick(1);
    find.found = waiting_at(90);
    tick(1);
    set(t, KYMO_WATCH_OFF, 'S', 0);
}

static void an_answer_is_for_the_run_that_it_was_asked_for(void **state)
{
    (void)state;
    static const struct {
        uint32_t place, stack, expected;
    } cases[] = {
        {9, 77, 77},           /* of that place */
        {10, 77, 9},           /* the thread was elsewhere by then */
        {9, KYMO_NO_STACK, 9}, /* there was no room for it */
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(cases); i++) {
        ask_at(9);
        assert_int_equal(written.n, 0); /* the run of the first tick waits for it */
        struct kymo_drain_answer a = answer_at(cases[i].place, cases[i].stack);
        ok(kymo_wall_answer(wall, &a));
        assert_int_equal(find.remembered, 1);
        tick(1);
        if (cases[i].stack != KYMO_NO_STACK)
            assert_int_equal(written.n, 1);
        ok(kymo_wall_finish(wall, now_ns));
        assert_int_equal(samples_of(100, MS, now_ns, got), 2);
        assert_int_equal(got[0].stack, cases[i].expected);
        assert_int_equal(got[1].stack, 90);
        close_wall();
    }
}

static void an_answer_may_come_while_the_run_lasts(void **state)
{
    (void)state;
    open_wall(MS);
    struct seen_thread *t = begin(0, MS);
    set(t, KYMO_WATCH_OFF, 'S', 1);
    find.found = waiting_at(9);
    find.found.may_ask = find.grants = 1;
    tick(1);
    set(t, KYMO_WATCH_OFF, 'S', 0);
    struct kymo_drain_answer a = answer_at(9, 77);
    a.record.is_disturbed = 1;
    ok(kymo_wall_answer(wall, &a));
    tick(5);
    ok(kymo_wall_finish(wall, now_ns));
    assert_int_equal(samples_of(100, MS, now_ns, got), 1);
    assert_int_equal(got[0].stack, 77);
    assert_int_equal(kymo_wall_disturbed(wall), 1);
    close_wall();
}

/* It is written as it is known within a second or two, and when the thread ends. */
static void an_answer_may_never_come(void **state)
{
    (void)state;
    ask_at(9);
    tick(220);
    assert_true(written.n > 0);
    assert_int_equal(written.samples[0].stack, 9);
    assert_int_equal(written.samples[0].time_ns, MS);
    ok(kymo_wall_finish(wall, now_ns));
    (void)samples_of(100, MS, now_ns, got);
    close_wall();

    ask_at(9);
    ok(kymo_wall_thread_end(wall, 0, now_ns + MS));
    assert_int_equal(samples_of(100, MS, now_ns + MS, got), 2);
    /* One that comes then belongs to no thread; nor do those of threads that never were. */
    struct kymo_drain_answer a = answer_at(9, 77);
    ok(kymo_wall_answer(wall, &a));
    a.thread = 4000000000u;
    ok(kymo_wall_answer(wall, &a));
    ok(kymo_wall_cpu_sample(wall, 4000000000u, now_ns, 1, NULL));
    ok(kymo_wall_thread_end(wall, 4000000000u, now_ns));
    assert_int_equal(written.n, 2);
    close_wall();
}

static void who_may_not_be_asked_is_written_as_it_is(void **state)
{
    (void)state;
    open_wall(MS);
    struct seen_thread *t = begin(0, MS);
    set(t, KYMO_WATCH_OFF, 'S', 1);
    find.found.may_ask = 1;
    tick(2);
    assert_int_equal(written.n, 1);
    assert_int_equal(written.samples[0].stack, 5);
    close_wall();
}

/* ---- threads ---- */

/* What signals are held to is one in so many looks: at threads that are there. */
static void looks_are_at_threads_that_live(void **state)
{
    (void)state;
    open_wall(MS);
    for (uint32_t i = 0; i < 1000; i++) {
        (void)begin(i, now_ns);
        ok(kymo_wall_thread_end(wall, i, now_ns));
    }
    set(begin(1000, now_ns), KYMO_WATCH_OFF, 'S', 1);
    ok(kymo_wall_stranger(wall, 999, now_ns));
    uint64_t before = find.finder->looks;
    tick(10);
    assert_int_equal(find.finder->looks - before, 20);
    close_wall();
}

/* One whose figures moved at each try when it began is not left out for the rest of its life. */
static void a_thread_that_could_not_be_looked_at_is_tried_again(void **state)
{
    (void)state;
    open_wall(MS);
    watch.err = KYMO_E_IO;
    (void)begin(0, 0);
    tick(10);
    watch.err = KYMO_OK;
    tick(200);
    assert_true(watch.threads[0].is_there);
    set(&watch.threads[0], KYMO_WATCH_OFF, 'S', 1);
    tick(1);
    set(&watch.threads[0], KYMO_WATCH_OFF, 'S', 0);
    tick(100);
    assert_true(find.walks > 0);
    ok(kymo_wall_finish(wall, now_ns));
    size_t n = samples_of(100, 0, now_ns, got);
    assert_int_equal(got[n - 1].stack, 5);
    assert_int_equal(watch.removes, 1);
    close_wall();

    /* One that is gone already does no harm. */
    open_wall(MS);
    watch.err = KYMO_E_NOT_FOUND;
    (void)begin(0, 0);
    tick(300);
    ok(kymo_wall_thread_end(wall, 0, now_ns));
    (void)samples_of(100, 0, now_ns, got);
    assert_int_equal(watch.removes, 0);
    close_wall();
}

/* A thread without a slot is a row of the recording of its own. */
static void strangers(void **state)
{
    (void)state;
    open_wall(MS);
    ok(kymo_wall_stranger(wall, 77, 5 * MS));
    ok(kymo_wall_stranger(wall, 77, 6 * MS)); /* it is known */
    assert_int_equal(written.begins, 1);
    assert_int_equal(written.began.thread, 50);
    assert_int_equal(written.began.process, 3);
    assert_int_equal(written.began.tid, 77);
    assert_int_equal(written.began.start_ns, 5 * MS);
    assert_string_equal(written.name, "stranger");
    assert_int_equal(next_thread, 51);
    set(&watch.threads[0], KYMO_WATCH_OFF, 'S', 1);
    tick(2);
    ok(kymo_wall_stranger_end(wall, 78, now_ns));
    assert_int_equal(written.ends, 0);
    /* It takes a slot after all: what it did until then stays the stranger's. */
    ok(kymo_wall_thread_begin(wall, 0, 100, 77, now_ns));
    assert_int_equal(written.ends, 1);
    assert_int_equal(written.ended.thread, 50);
    assert_int_equal(written.ended.end_ns, now_ns);
    (void)samples_of(50, 5 * MS, now_ns, got);
    uint64_t middle_ns = now_ns;
    set(&watch.threads[0], KYMO_WATCH_OFF, 'S', 1);
    tick(2);
    ok(kymo_wall_stranger(wall, 79, now_ns));
    ok(kymo_wall_finish(wall, now_ns + MS));
    (void)samples_of(100, middle_ns, now_ns + MS, got);
    (void)samples_of(51, now_ns, now_ns + MS, got);
    assert_int_equal(written.ends, 2);
    close_wall();
}

/* Numbers of the drain need not come in order, and a thread may end before any tick. */
static void threads_come_and_go(void **state)
{
    (void)state;
    open_wall(MS);
    (void)begin(5, 0);
    (void)begin(2, 0);
    ok(kymo_wall_thread_end(wall, 5, 3 * MS));
    ok(kymo_wall_thread_end(wall, 5, 3 * MS)); /* twice is once */
    ok(kymo_wall_thread_end(wall, 3, 3 * MS));
    ok(kymo_wall_thread_end(wall, 2, 0)); /* it has not lived */
    assert_int_equal(samples_of(105, 0, 3 * MS, got), 1);
    assert_int_equal(samples_of(102, 0, 0, got), 0);
    close_wall();
}

/* ---- pauses ---- */

/* Of this thread's samples: all time in these two spans, and none beside. */
static void check_spans(uint32_t thread, uint64_t a_ns, uint64_t b_ns, uint64_t c_ns, uint64_t d_ns)
{
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < written.n; i++) {
        const kymo_event_sample *s = &written.samples[i];
        if (written.thread_of[i] != thread)
            continue;
        uint64_t end_ns = s->time_ns + s->weight_ns;
        assert_true((s->time_ns >= a_ns && end_ns <= b_ns) ||
                    (s->time_ns >= c_ns && end_ns <= d_ns));
        sum_ns += s->weight_ns;
    }
    assert_int_equal(sum_ns, b_ns - a_ns + (d_ns - c_ns));
}

static void a_pause_is_nobodys_time(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        const int waits = how < 2;
        open_wall(MS);
        struct seen_thread *t = begin(0, 3 * MS);
        set(t, waits ? KYMO_WATCH_OFF : KYMO_WATCH_ON, waits ? 'S' : 'R', 1);
        tick(1);
        if (waits)
            set(t, KYMO_WATCH_OFF, 'S', 0);
        t->is_idle = how == 1; /* no round looks at it again */
        tick(40);
        const uint64_t from_ns = now_ns += 4 * MS;
        ok(kymo_wall_pause(wall, from_ns));
        const size_t before = written.n;
        tick(50);
        ok(kymo_wall_flush(wall));
        assert_int_equal(written.n, before);
        ok(kymo_wall_cpu_sample(wall, 0, now_ns, 8, NULL));
        const uint64_t to_ns = now_ns += 3 * MS;
        ok(kymo_wall_resume(wall, to_ns));
        tick(1);
        ok(kymo_wall_cpu_sample(wall, 0, now_ns, 8, NULL));
        tick(299);
        ok(kymo_wall_finish(wall, now_ns + MS));
        check_spans(100, 3 * MS, from_ns, to_ns, now_ns + MS);
        close_wall();
    }
}

static void threads_come_and_go_in_a_pause(void **state)
{
    (void)state;
    open_wall(MS);
    struct seen_thread *t = begin(0, MS);
    set(t, KYMO_WATCH_OFF, 'S', 1);
    tick(3);
    const uint64_t from_ns = now_ns;
    ok(kymo_wall_pause(wall, from_ns));
    tick(5);
    struct seen_thread *late = begin(1, now_ns);
    set(late, KYMO_WATCH_OFF, 'S', 1);
    struct seen_thread *brief = begin(2, now_ns);
    set(brief, KYMO_WATCH_ON, 'R', 1);
    tick(5);
    ok(kymo_wall_thread_end(wall, 0, now_ns));
    ok(kymo_wall_thread_end(wall, 2, now_ns));
    const uint64_t to_ns = now_ns;
    ok(kymo_wall_resume(wall, to_ns));
    tick(5);
    ok(kymo_wall_finish(wall, now_ns));
    check_spans(100, MS, from_ns, to_ns, to_ns);
    check_spans(101, to_ns, now_ns, now_ns, now_ns);
    check_spans(102, 0, 0, 0, 0);
    close_wall();
}

static void errors_are_forwarded(void **state)
{
    (void)state;
    open_wall(MS);
    set(begin(0, 0), KYMO_WATCH_OFF, 'S', 1);
    find.err = KYMO_E_NOMEM;
    assert_int_equal(kymo_wall_tick(wall, TICK), KYMO_E_NOMEM);
    find.err = KYMO_OK;
    ok(kymo_wall_tick(wall, 2 * TICK));
    written.err = KYMO_E_IO;
    assert_int_equal(kymo_wall_tick(wall, 3 * TICK), KYMO_E_IO);
    assert_int_equal(kymo_wall_thread_end(wall, 0, 4 * TICK), KYMO_E_IO);
    watch.err = KYMO_E_NOMEM;
    assert_int_equal(kymo_wall_thread_begin(wall, 1, 101, 21, 0), KYMO_E_NOMEM);
    close_wall();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_waits),
        cmocka_unit_test(a_thread_in_a_new_library),
        cmocka_unit_test(a_thread_in_no_library),
        cmocka_unit_test(a_thread_that_moves),
        cmocka_unit_test(a_thread_that_is_stopped),
        cmocka_unit_test(a_thread_that_runs),
        cmocka_unit_test(a_thread_that_is_ready),
        cmocka_unit_test(a_thread_with_few_cpu_samples),
        cmocka_unit_test(a_thread_that_has_ended),
        cmocka_unit_test(a_thread_that_moves_while_it_is_walked),
        cmocka_unit_test(an_answer_is_for_the_run_that_it_was_asked_for),
        cmocka_unit_test(an_answer_may_come_while_the_run_lasts),
        cmocka_unit_test(an_answer_may_never_come),
        cmocka_unit_test(who_may_not_be_asked_is_written_as_it_is),
        cmocka_unit_test(looks_are_at_threads_that_live),
        cmocka_unit_test(a_thread_that_could_not_be_looked_at_is_tried_again),
        cmocka_unit_test(strangers),
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(a_pause_is_nobodys_time),
        cmocka_unit_test(threads_come_and_go_in_a_pause),
        cmocka_unit_test(errors_are_forwarded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
