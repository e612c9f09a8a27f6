/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of live allocations gets the events that the reader of the whole recording gets, in the
 * same order, and knows the same of what lives.
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
    for (uint32_t from = 0; from < EVENTS; from += while_events) {
        for (uint32_t thread = 0; thread < THREADS; thread++)
            for (uint32_t i = from; i < EVENTS && i < from + while_events; i++)
                if (events[i].e.now.thread == thread)
                    tell(&events[i]);
        ok(kymo_live_allocations_settle(&table, 100 + from + while_events - 1));
    }
    ok(kymo_ingest_finish(ingest));
}

static uint64_t id_at(uint64_t address)
{
    return events[address / 0x1000 - 1].e.now.id;
}

static const kymo_allocation *rows;
static size_t row_count;

static const kymo_allocation *row_of(uint64_t id)
{
    for (size_t i = 0; i < row_count; i++)
        if (rows[i].end_ns == KYMO_LIVES && id_at(rows[i].address) == id)
            return &rows[i];
    return NULL;
}

static kymo_err compare_one(void *context, const struct kymo_live_allocation *b)
{
    const kymo_allocation *row = row_of(b->id);
    assert_non_null(row);
    assert_true(b->address == row->address && b->bytes == row->bytes);
    assert_true(b->birth_ns == row->birth_ns && b->time_ns == row->time_ns);
    assert_true(b->weight == row->weight);
    assert_int_equal(b->thread, row->thread);
    assert_int_equal(b->slack, row->slack);
    assert_int_equal(b->family, row->family);
    assert_int_equal(b->stack == KYMO_EVENT_NONE, row->stack == KYMO_NONE);
    ++*(size_t *)context;
    return KYMO_OK;
}

/* What the table lists is what lives in the profile. */
static void compare(void)
{
    size_t living = 0, listed = 0;
    rows = kymo_profile_allocations(profile, 0, &row_count);
    for (size_t i = 0; i < row_count; i++)
        living += rows[i].end_ns == KYMO_LIVES;
    assert_true(living > 0);
    ok(kymo_live_allocations_list(&table, compare_one, &listed));
    assert_int_equal(listed, living);
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
    table = (struct kymo_live_allocations){.process = 0};
    return begin(state);
}

static int stop(void **state)
{
    kymo_live_allocations_deinit(&table);
    return end(state);
}

static void it_is_right_in_any_order_of_threads(void **state)
{
    for (uint32_t seed = 1; seed <= 40; seed++) {
        stop(state);
        start(state);
        send_stacks();
        make_events(seed, seed % 3 ? 4096 : 1);
        tell_all(1 + seed * seed);
        assert_int_equal(table.missing, 0);
        assert_int_equal(table.waiting.len, 0);
        compare();
    }
}

/* A segment begins in the middle of a lap. */
static void a_list_is_right_before_a_lap_is_read(void **state)
{
    enum { LATE = 600 };
    for (uint32_t seed = 50; seed <= 60; seed++) {
        stop(state);
        start(state);
        send_stacks();
        make_events(seed, seed % 2 ? 4096 : 1);
        for (uint32_t thread = 0; thread < THREADS; thread++)
            for (uint32_t i = 0; i < EVENTS; i++)
                if (events[i].e.now.thread == thread)
                    tell(&events[i]);
        ok(kymo_ingest_finish(ingest));
        ok(kymo_live_allocations_settle(&table, 100 + EVENTS - LATE));
        assert_true(table.waiting.len > 0);
        compare();
        compare();
        ok(kymo_live_allocations_settle(&table, 100 + EVENTS));
        assert_int_equal(table.waiting.len, 0);
        compare();
    }
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

static void add_to(struct kymo_live_allocations *t, uint64_t id)
{
    const kymo_event_allocation e = block(id, 100);
    ok(kymo_live_allocations_add(t, &e, NULL));
}

static void send_free(struct kymo_live_allocations *t, uint64_t time_ns, uint64_t id)
{
    const kymo_event_free e = free_of(0, time_ns, id);
    ok(kymo_live_allocations_free(t, &e));
}

static kymo_err count_one(void *context, const struct kymo_live_allocation *b)
{
    (void)b;
    ++*(size_t *)context;
    return KYMO_OK;
}

/* Its allocation may still come, until the recorder says that all has come. */
static void a_free_waits_for_its_allocation(void **state)
{
    (void)state;
    send_free(&table, 50, 5);
    size_t listed = 0;
    ok(kymo_live_allocations_settle(&table, 14));
    ok(kymo_live_allocations_list(&table, count_one, &listed));
    assert_int_equal(table.waiting.len, 1);
    add_to(&table, 5);
    add_to(&table, 7);
    ok(kymo_live_allocations_list(&table, count_one, &listed));
    assert_int_equal(listed, 1);
    assert_int_equal(table.waiting.len, 3);
    ok(kymo_live_allocations_settle(&table, 50));
    assert_int_equal(table.waiting.len, 0);
    assert_null(kymo_live_allocations_find(&table, 5));
    assert_non_null(kymo_live_allocations_find(&table, 7));
    /* Of one that was not sampled, or lost. */
    send_free(&table, 60, 6);
    ok(kymo_live_allocations_settle(&table, 60));
    assert_int_equal(table.waiting.len, 0);
    assert_int_equal(table.missing, 0);
}

/* The clocks of two threads differ. */
static void a_free_may_seem_to_be_older_than_its_allocation(void **state)
{
    (void)state;
    add_to(&table, 95); /* at 105 */
    send_free(&table, 100, 95);
    ok(kymo_live_allocations_settle(&table, 102));
    assert_int_equal(table.waiting.len, 2);
    ok(kymo_live_allocations_settle(&table, 110));
    assert_int_equal(table.waiting.len, 0);
    assert_null(kymo_live_allocations_find(&table, 95));
    add_to(&table, 100);
    kymo_event_resize e = {.now = block(100, 300), .was_drawn = KYMO_RESIZE_DRAWN_BEFORE};
    e.now.time_ns = 108;
    ok(kymo_live_allocations_resize(&table, &e, NULL));
    ok(kymo_live_allocations_settle(&table, 120));
    const struct kymo_live_allocation *b = kymo_live_allocations_find(&table, 100);
    assert_true(b && b->bytes == 300 && b->birth_ns == 110 && b->time_ns == 110);
}

static void what_waits_is_bounded(void **state)
{
    (void)state;
    for (uint64_t id = 1; id <= KYMO_LIVE_WAITING_MAX + 1; id++)
        send_free(&table, 1000 + id, id);
    assert_int_equal(table.waiting.len, 1);
    ok(kymo_live_allocations_settle(&table, UINT64_MAX));
    assert_int_equal(table.waiting.len, 0);
}

/* The number of those that it has no room for goes down when they are freed. */
static void there_may_be_too_many(void **state)
{
    (void)state;
    for (uint64_t id = 1; id <= KYMO_LIVE_ALLOCATIONS_MAX + 2; id++)
        add_to(&table, id);
    ok(kymo_live_allocations_settle(&table, KYMO_LIVE_ALLOCATIONS_MAX * 2));
    assert_int_equal(table.missing, 2);
    assert_int_equal(table.by_id.used, KYMO_LIVE_ALLOCATIONS_MAX);
    const uint64_t later = KYMO_LIVE_ALLOCATIONS_MAX * 3;
    send_free(&table, later, KYMO_LIVE_ALLOCATIONS_MAX + 1);
    send_free(&table, later, 7);
    ok(kymo_live_allocations_settle(&table, later));
    assert_int_equal(table.missing, 1);
    assert_null(kymo_live_allocations_find(&table, 7));
    add_to(&table, later);
    ok(kymo_live_allocations_settle(&table, later * 2));
    assert_non_null(kymo_live_allocations_find(&table, later));
    assert_int_equal(table.missing, 1);
}

static void it_keeps_nothing_when_it_is_off(void **state)
{
    (void)state;
    add_to(&table, 1);
    kymo_live_allocations_give_up(&table);
    add_to(&table, 2);
    ok(kymo_live_allocations_settle(&table, 100));
    assert_int_equal(table.places.len + table.waiting.len, 0);
}

static void a_child_has_what_its_parent_had(void **state)
{
    (void)state;
    struct kymo_live_allocations parent = {.process = 1};
    for (uint64_t id = 1; id <= 3; id++)
        add_to(&parent, id);
    /* The parent frees one after the fork, and is read first. */
    send_free(&parent, 460, 2);
    kymo_event_inherit e = {.thread = 3, .time_ns = 500, .id = 1, .address = 1 << 12};
    ok(kymo_live_allocations_inherit(&table, &parent, &e, 400));
    const struct kymo_live_allocation *b = kymo_live_allocations_find(&table, 1);
    assert_non_null(b);
    assert_true(b->is_inherited && b->birth_ns == 11 && b->time_ns == 400 && b->thread == 3);
    e.id = 2;
    e.address = 2 << 12;
    ok(kymo_live_allocations_inherit(&table, &parent, &e, 400));
    assert_non_null(kymo_live_allocations_find(&table, 2));
    send_free(&table, 510, 2);
    ok(kymo_live_allocations_settle(&table, 520));
    assert_null(kymo_live_allocations_find(&table, 2));
    assert_int_equal(table.missing, 0);
    /* The third one is gone from the parent: what it was is not known any more. */
    e.id = 3;
    send_free(&parent, 460, 3);
    ok(kymo_live_allocations_settle(&parent, 470));
    ok(kymo_live_allocations_inherit(&table, &parent, &e, 400));
    assert_int_equal(table.missing, 1);
    send_free(&table, 530, 3);
    ok(kymo_live_allocations_settle(&table, 540));
    assert_int_equal(table.missing, 0);
    kymo_live_allocations_deinit(&parent);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, start, stop)
    const struct CMUnitTest tests[] = {
        T(it_is_right_in_any_order_of_threads),
        T(a_list_is_right_before_a_lap_is_read),
        T(a_free_waits_for_its_allocation),
        T(a_free_may_seem_to_be_older_than_its_allocation),
        T(what_waits_is_bounded),
        T(there_may_be_too_many),
        T(it_keeps_nothing_when_it_is_off),
        T(a_child_has_what_its_parent_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
