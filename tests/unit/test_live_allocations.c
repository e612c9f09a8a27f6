/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of live blocks is told what the reader of the whole recording is told, in the same
 * order, and knows the same of what lives.
 */
#include "ingest_marks_fixture.h"

#include <stdlib.h>

#include "recording/live_allocations.h"

#define THREADS 3u
#define EVENTS 4000u
#define BLOCKS 400u

enum what { ALLOCATE, RESIZE, FREE };

struct event {
    enum what what;
    kymo_event_resize e; /* of an allocation its now; of a free its id, thread, time */
};

/* What happened, in the order of time. */
static struct event events[EVENTS];
static struct kymo_live_allocations table;
static uint32_t random_state;

static uint32_t below(uint32_t limit)
{
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 8) % limit;
}

static void make_events(uint32_t seed, uint64_t rate)
{
    static kymo_event_allocation blocks[BLOCKS];
    static int lives[BLOCKS];
    memset(lives, 0, sizeof lives);
    random_state = seed;
    for (uint32_t i = 0; i < EVENTS; i++) {
        const uint32_t b = below(BLOCKS);
        struct event *event = &events[i];
        kymo_event_allocation *now = &blocks[b];
        if (!lives[b])
            now->id = i + 1;
        event->what = !lives[b] ? ALLOCATE : below(4) ? FREE : RESIZE;
        event->e = (kymo_event_resize){
            .now = {.thread = below(THREADS), .time_ns = 100 + i, .id = now->id},
            .was_drawn = KYMO_RESIZE_DRAWN_BEFORE | (below(2) ? KYMO_RESIZE_DRAWN_NOW : 0),
            .usable_before = now->bytes + now->slack,
        };
        lives[b] = event->what != FREE;
        if (event->what == FREE)
            continue;
        event->e.now.stack = below(5) ? below(3) : KYMO_EVENT_NONE;
        event->e.now.address = 0x1000 * (uint64_t)(i + 1);
        event->e.now.bytes = 1 + below(20000);
        event->e.now.rate = rate;
        event->e.now.slack = below(16);
        event->e.now.family = below(3);
        *now = event->e.now;
    }
}

static kymo_event_free free_of(uint32_t thread, uint64_t time_ns, uint64_t id)
{
    return (kymo_event_free){.thread = thread, .time_ns = time_ns, .id = id};
}

static void tell(const struct event *event)
{
    const kymo_event_allocation *now = &event->e.now;
    const kymo_event_free e = free_of(now->thread, now->time_ns, now->id);
    switch (event->what) {
    case ALLOCATE:
        send(allocation, *now);
        ok(kymo_live_allocations_add(&table, now, NULL));
        return;
    case RESIZE:
        send(resize, event->e);
        ok(kymo_live_allocations_resize(&table, &event->e, NULL));
        return;
    case FREE:
        send(free, e);
        ok(kymo_live_allocations_free(&table, &e));
        return;
    }
}

/* As a recorder reads them: what happened in a while, one thread after the other. */
static void tell_all(uint32_t while_events)
{
    for (uint32_t from = 0; from < EVENTS; from += while_events)
        for (uint32_t thread = 0; thread < THREADS; thread++)
            for (uint32_t i = from; i < EVENTS && i < from + while_events; i++)
                if (events[i].e.now.thread == thread)
                    tell(&events[i]);
}

static uint64_t id_at(uint64_t address)
{
    for (uint32_t i = 0; i < EVENTS; i++)
        if (events[i].e.now.address == address)
            return events[i].e.now.id;
    fail();
    return 0;
}

static size_t count_table(void)
{
    size_t n = 0;
    for (size_t i = 0; i < table.places.len; i++)
        n += (size_t)kymo_live_allocation_lives(&table.places.data[i]);
    return n;
}

static void compare(void)
{
    size_t count;
    size_t living = 0;
    ok(kymo_ingest_finish(ingest));
    const kymo_allocation *rows = kymo_profile_allocations(profile, 0, &count);
    for (size_t i = 0; i < count; i++) {
        const kymo_allocation *row = &rows[i];
        if (row->end_ns != KYMO_LIVES)
            continue;
        const struct kymo_live_allocation *b =
            kymo_live_allocations_find(&table, id_at(row->address));
        assert_non_null(b);
        assert_true(b->address == row->address && b->bytes == row->bytes);
        assert_true(b->birth_ns == row->birth_ns && b->time_ns == row->time_ns);
        assert_true(b->weight == row->weight);
        assert_int_equal(b->thread, row->thread);
        assert_int_equal(b->slack, row->slack);
        assert_int_equal(b->family, row->family);
        assert_int_equal(b->stack == KYMO_EVENT_NONE, row->stack == KYMO_NONE);
        living++;
    }
    assert_true(living > 0);
    assert_int_equal(count_table(), living);
}

static void send_stacks(void)
{
    for (uint32_t i = 0; i < 3; i++) {
        const kymo_event_frame frame = {0x1000 * (i + 1), KYMO_EVENT_NONE, 0};
        send(stack,
             (kymo_event_stack){
                 .stack = i, .flags = KYMO_EVENT_STACK_COMPLETE, .depth = 1, .frames = &frame});
    }
}

static int start(void **state)
{
    table = (struct kymo_live_allocations){.is_inexact = 0};
    return begin(state);
}

static int stop(void **state)
{
    kymo_live_allocations_deinit(&table);
    return end(state);
}

/* Not in every order can it be known; where the table does not say so, it is right. */
static void it_is_right_or_says_that_it_is_not(void **state)
{
    uint32_t exact = 0;
    for (uint32_t seed = 1; seed <= 40; seed++) {
        stop(state);
        start(state);
        send_stacks();
        make_events(seed, seed % 3 ? 4096 : 1);
        tell_all(1 + seed % 4);
        if (table.is_inexact)
            continue;
        exact++;
        compare();
    }
    assert_true(exact >= 10);
}

static void a_single_thread_is_always_exact(void **state)
{
    (void)state;
    send_stacks();
    make_events(7, 4096);
    for (uint32_t i = 0; i < EVENTS; i++)
        events[i].e.now.thread = 0;
    tell_all(EVENTS);
    assert_false(table.is_inexact);
    compare();
}

static kymo_event_allocation block(uint64_t id, uint64_t bytes)
{
    return (kymo_event_allocation){.id = id,
                                   .time_ns = 10 + id,
                                   .address = id << 12,
                                   .bytes = bytes,
                                   .rate = 1,
                                   .stack = KYMO_EVENT_NONE};
}

static void add(uint64_t id)
{
    const kymo_event_allocation e = block(id, 8);
    ok(kymo_live_allocations_add(&table, &e, NULL));
}

static void send_free(struct kymo_live_allocations *t, uint64_t time_ns, uint64_t id)
{
    const kymo_event_free e = free_of(0, time_ns, id);
    ok(kymo_live_allocations_free(t, &e));
}

/* A free that came first ends its block whenever that comes, as long as it is remembered. */
static void frees_are_remembered_for_a_while(void **state)
{
    (void)state;
    for (uint64_t id = 1; id <= 3 * KYMO_LIVE_FREED_MAX; id++)
        send_free(&table, 20 + id, id);
    assert_int_equal(table.by_id.used, KYMO_LIVE_FREED_MAX);
    kymo_event_allocation late = block(3 * KYMO_LIVE_FREED_MAX, 8);
    ok(kymo_live_allocations_add(&table, &late, NULL));
    assert_null(kymo_live_allocations_find(&table, late.id));
    /* What is allocated after all that is forgotten is new. */
    late.id = 1 << 20;
    late.time_ns = 1 << 20;
    ok(kymo_live_allocations_add(&table, &late, NULL));
    assert_non_null(kymo_live_allocations_find(&table, late.id));
    assert_false(table.is_inexact);
    /* Of an older one that is not known. */
    add(1);
    assert_true(table.is_inexact);
}

/* A resize by another thread comes when the block has been freed. */
static void what_was_freed_does_not_come_back(void **state)
{
    (void)state;
    add(5);
    send_free(&table, 50, 5);
    kymo_event_resize e = {.now = block(5, 100), .was_drawn = KYMO_RESIZE_DRAWN_BEFORE};
    e.now.time_ns = 40;
    ok(kymo_live_allocations_resize(&table, &e, NULL));
    assert_null(kymo_live_allocations_find(&table, 5));
    assert_false(table.is_inexact);
    for (uint64_t id = 10; id < 10 + KYMO_LIVE_FREED_MAX; id++) {
        add(id);
        send_free(&table, 60 + id, id);
    }
    /* It is forgotten by now, and could be any. */
    ok(kymo_live_allocations_resize(&table, &e, NULL));
    assert_true(table.is_inexact);
}

static void it_gives_up_when_there_are_too_many(void **state)
{
    (void)state;
    for (uint64_t id = 1; id <= KYMO_LIVE_ALLOCATIONS_MAX; id++)
        add(id);
    assert_false(table.is_inexact);
    add(KYMO_LIVE_ALLOCATIONS_MAX + 1);
    assert_true(table.is_inexact);
    assert_int_equal(table.places.len, 0);
    add(1);
    send_free(&table, 100, 1);
    assert_null(kymo_live_allocations_find(&table, 1));
    assert_int_equal(table.places.len, 0);
}

static void a_child_has_what_its_parent_had(void **state)
{
    (void)state;
    struct kymo_live_allocations parent = {.is_inexact = 0};
    for (uint64_t id = 1; id <= 3; id++) {
        const kymo_event_allocation e = block(id, 100);
        ok(kymo_live_allocations_add(&parent, &e, NULL));
    }
    kymo_event_inherit e = {.thread = 3, .time_ns = 500, .id = 1, .address = 1 << 12};
    ok(kymo_live_allocations_inherit(&table, &parent, &e, 400));
    const struct kymo_live_allocation *b = kymo_live_allocations_find(&table, 1);
    assert_non_null(b);
    assert_true(b->is_inherited && b->birth_ns == 11 && b->time_ns == 400 && b->thread == 3);
    /* It freed the second one before it told of it. */
    e.id = 2;
    e.address = 2 << 12;
    send_free(&table, 450, 2);
    ok(kymo_live_allocations_inherit(&table, &parent, &e, 400));
    assert_null(kymo_live_allocations_find(&table, 2));
    assert_false(table.is_inexact);
    /* The third one is gone from the parent: what it was is not known any more. */
    e.id = 3;
    send_free(&parent, 460, 3);
    ok(kymo_live_allocations_inherit(&table, &parent, &e, 400));
    assert_true(table.is_inexact);
    kymo_live_allocations_deinit(&parent);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, start, stop)
    const struct CMUnitTest tests[] = {
        T(it_is_right_or_says_that_it_is_not),  T(a_single_thread_is_always_exact),
        T(frees_are_remembered_for_a_while),    T(what_was_freed_does_not_come_back),
        T(it_gives_up_when_there_are_too_many), T(a_child_has_what_its_parent_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
