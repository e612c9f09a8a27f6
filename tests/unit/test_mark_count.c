/* SPDX-License-Identifier: Apache-2.0 */
#include <fenv.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "mark_process.h"
#include "unit.h"

#define THREADS 16

static struct kymo_capture_thread *threads[THREADS];

static int open_threads(void **state)
{
    (void)open_small_process(state);
    threads[0] = kymo_thread_self;
    for (int i = 1; i < THREADS; i++) {
        kymo_thread_self = NULL;
        begin_thread();
        threads[i] = kymo_thread_self;
    }
    kymo_thread_self = threads[0];
    return 0;
}

static struct kymo_mark_counter counter_of(const char *name, uint32_t kind, uint32_t flags)
{
    return (struct kymo_mark_counter){.size = sizeof(struct kymo_mark_counter),
                                      .category = &test_category,
                                      .name = name,
                                      .unit = "bytes",
                                      .kind = kind,
                                      .flags = flags,
                                      .color = KYMO_COLOR_BLUE};
}

/* As the drain adds up; part < 0: all. */
static int64_t value_of(const struct kymo_mark_counter *c, int part)
{
    const struct kymo_counter_part *parts =
        kymo_session_counter(fixture.session, &fixture.plan, c->cell - 1);
    int64_t sum = 0;
    for (int i = 0; i < (int)KYMO_COUNTER_PARTS; i++)
        if (part < 0 || part == i)
            sum += parts[i].value;
    return sum;
}

static uint64_t operations_of(const struct kymo_mark_counter *c)
{
    const struct kymo_counter_part *parts =
        kymo_session_counter(fixture.session, &fixture.plan, c->cell - 1);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < KYMO_COUNTER_PARTS; i++)
        sum += parts[i].operations;
    return sum;
}

static void totals_add_up_over_threads(void **state)
{
    (void)state;
    struct kymo_mark_counter sent = counter_of("sent", KYMO_COUNTER_TOTAL, 0);
    struct kymo_mark_counter queue = counter_of("queue", KYMO_COUNTER_DELTA, 0);
    for (uint32_t i = 0; i < THREADS; i++) {
        kymo_thread_self = threads[i];
        kymo_mark_count(&sent, 100 + i, 2);
        kymo_mark_count(&queue, i % 2 ? 3 : -3, 1);
    }
    assert_int_equal(value_of(&sent, -1), 16 * 100 + 15 * 16 / 2);
    assert_int_equal(operations_of(&sent), 32);
    assert_int_equal(value_of(&queue, -1), 0);
    assert_int_equal(operations_of(&queue), 16);
    /* Threads that are not the same number meet in no part. */
    assert_int_equal(value_of(&sent, 3), 103 + 111);
    assert_int_equal(fixture.session->counter_count, 2);
    assert_int_equal(count_records(), 0);
}

static int64_t bits_of(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void doubles_add_up_in_their_parts(void **state)
{
    (void)state;
    struct kymo_mark_counter joules = counter_of("joules", KYMO_COUNTER_TOTAL, KYMO_COUNTER_IS_F64);
    struct kymo_mark_counter load = counter_of("load", KYMO_COUNTER_GAUGE, KYMO_COUNTER_IS_F64);
    for (int i = 0; i < 4; i++)
        kymo_mark_count(&joules, bits_of(0.25), 1);
    kymo_mark_count(&load, bits_of(0.5), 1);
    kymo_mark_count(&load, bits_of(0.75), 1);
    joules.cell &= 0xff;
    load.cell &= 0xff;
    assert_int_equal(value_of(&joules, (int)(threads[0]->number % KYMO_COUNTER_PARTS)),
                     bits_of(1.0));
    assert_int_equal(value_of(&load, 0), bits_of(0.75));
}

/* A program may look at the flags, and may have asked for SIGFPE. */
static void sums_of_doubles_raise_no_exception(void **state)
{
    (void)state;
    struct kymo_mark_counter joules = counter_of("sums", KYMO_COUNTER_TOTAL, KYMO_COUNTER_IS_F64);
    kymo_mark_count(&joules, bits_of(1), 1);
    feclearexcept(FE_ALL_EXCEPT);
    kymo_mark_count(&joules, bits_of(1e-20), 1);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
}

static void a_gauge_is_what_was_said_last(void **state)
{
    (void)state;
    struct kymo_mark_counter queue = counter_of("queue", KYMO_COUNTER_GAUGE, 0);
    for (uint32_t i = 0; i < 5; i++) {
        kymo_thread_self = threads[i];
        kymo_mark_count(&queue, 10 - (int64_t)i, 1);
    }
    assert_int_equal(value_of(&queue, 0), 6);
    assert_int_equal(value_of(&queue, -1), 6);
    assert_int_equal(operations_of(&queue), 5);
}

static void sums_wrap_as_unsigned_ones_do(void **state)
{
    (void)state;
    struct kymo_mark_counter sent = counter_of("sent", KYMO_COUNTER_TOTAL, 0);
    kymo_mark_count(&sent, INT64_MAX, 1);
    kymo_mark_count(&sent, INT64_MAX, 1);
    assert_int_equal(value_of(&sent, 0), -2);
}

static void the_definition_says_what_it_is(void **state)
{
    (void)state;
    struct kymo_mark_counter sent = counter_of("sent", KYMO_COUNTER_DELTA, KYMO_COUNTER_RATE);
    sent.description = "to clients";
    kymo_mark_count(&sent, 1, 1);
    const struct kymo_definition *d =
        kymo_definition_at(fixture.session, &fixture.plan, sent.id & UINT16_MAX);
    assert_non_null(d);
    assert_int_equal(d->kind, KYMO_DEFINE_COUNTER);
    const uint64_t *w = (const void *)(d + 1);
    const struct kymo_definition *category =
        kymo_definition_at(fixture.session, &fixture.plan, (uint32_t)w[0]);
    assert_int_equal(category->kind, KYMO_DEFINE_CATEGORY);
    assert_int_equal(w[1], 4);
    assert_memory_equal(w + 2, "sent", 4);
    assert_int_equal(w[3], 5);
    assert_memory_equal(w + 4, "bytes", 5);
    assert_int_equal(w[5], 10);
    assert_memory_equal(w + 6, "to clients", 10);
    assert_int_equal(w[8], KYMO_COUNTER_DELTA);
    assert_int_equal(w[9], KYMO_COUNTER_RATE);
    assert_int_equal(w[10], KYMO_COLOR_BLUE);
    assert_int_equal(kymo_session_counter(fixture.session, &fixture.plan, 0)->definition,
                     sent.id & UINT16_MAX);
}

/* Each file of a program has its own copy; a library that is loaded anew, too. */
static void equal_counters_are_one(void **state)
{
    (void)state;
    char name[] = "sent";
    struct kymo_mark_counter one = counter_of("sent", KYMO_COUNTER_TOTAL, 0);
    struct kymo_mark_counter two = counter_of(name, KYMO_COUNTER_TOTAL, 0);
    struct kymo_mark_counter other = counter_of("sent", KYMO_COUNTER_GAUGE, 0);
    kymo_mark_count(&one, 1, 1);
    kymo_mark_count(&two, 2, 1);
    kymo_mark_count(&other, 5, 1);
    assert_int_equal(one.cell, two.cell);
    assert_int_equal(one.id, two.id);
    assert_int_not_equal(one.cell, other.cell);
    assert_int_equal(value_of(&one, -1), 3);
}

/* A forked child has another session: what its copy of a counter knows is its parent's. */
static void another_session_learns_it_anew(void **state)
{
    (void)state;
    struct kymo_mark_counter first = counter_of("first", KYMO_COUNTER_TOTAL, 0);
    struct kymo_mark_counter sent = counter_of("sent", KYMO_COUNTER_TOTAL, 0);
    kymo_mark_count(&first, 1, 1);
    kymo_mark_count(&sent, 7, 1);
    assert_int_equal(sent.cell, 2);
    uint32_t epoch = sent.id >> 16;
    (void)close_process(state);
    (void)open_small_process(state);
    kymo_mark_count(&sent, 2, 1);
    assert_int_equal(sent.cell, 1);
    assert_int_equal(sent.id >> 16, epoch + 1);
    assert_int_equal(value_of(&sent, -1), 2);
}

static void each_change_may_be_a_record(void **state)
{
    (void)state;
    struct kymo_mark_counter queue = counter_of("queue", KYMO_COUNTER_GAUGE, KYMO_COUNTER_EACH);
    kymo_mark_count(&queue, 5, 1);
    kymo_mark_count(&queue, -6, 2);
    assert_int_equal(fixture.session->counter_count, 0);
    const struct kymo_record_count *r = (const void *)record_at(1);
    assert_int_equal(r->head.kind, KYMO_RECORD_COUNT);
    assert_int_equal(r->head.size_bytes, sizeof *r);
    assert_int_equal(r->head.stack, queue.id & UINT16_MAX);
    assert_int_equal(r->value, -6);
    assert_int_equal(r->operations, 2);
    assert_int_equal(count_records(), 2);
    while (kymo_block_take(fixture.session, &fixture.plan, 0)) {
    }
    struct kymo_stream_writer *w = &kymo_thread_self->streams[KYMO_STREAM_TASK];
    w->room = w->used;
    kymo_mark_count(&queue, 7, 1);
    assert_int_equal(fixture.session->lost[KYMO_LOSS_COUNT], 1);
    assert_int_equal(w->claim, 0);
    assert_int_equal(count_records(), 2);
}

/* The sum is right, whatever found no room. */
static void what_could_not_be_recorded_is_added_to_a_cell(void **state)
{
    (void)state;
    struct kymo_mark_counter sent = counter_of("sent", KYMO_COUNTER_TOTAL, KYMO_COUNTER_EACH);
    kymo_mark_count(&sent, 5, 1);
    assert_int_equal(count_records(), 1);
    while (kymo_block_take(fixture.session, &fixture.plan, 0)) {
    }
    struct kymo_stream_writer *w = &kymo_thread_self->streams[KYMO_STREAM_TASK];
    w->room = w->used;
    kymo_mark_count(&sent, 7, 2);
    kymo_mark_count(&sent, 8, 3);
    assert_int_equal(fixture.session->lost[KYMO_LOSS_COUNT], 2);
    assert_int_equal(fixture.session->counter_count, 1);
    struct kymo_mark_counter cell = {.cell = 1};
    assert_int_equal(value_of(&cell, -1), 15);
    assert_int_equal(operations_of(&cell), 5);
}

/* Without a cell it is recorded all the same. */
static void each_change_needs_no_cell(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < fixture.plan.counters; i++)
        kymo_session_counter(fixture.session, &fixture.plan, i)->definition = UINT16_MAX;
    struct kymo_mark_counter sent = counter_of("sent", KYMO_COUNTER_TOTAL, KYMO_COUNTER_EACH);
    kymo_mark_count(&sent, 5, 1);
    kymo_mark_count(&sent, 6, 1);
    assert_int_equal(count_records(), 2);
    assert_int_equal(fixture.session->lost[KYMO_LOSS_COUNTER_FULL], 0);
}

static void without_a_cell_it_is_nothing_and_counted_once(void **state)
{
    struct kymo_mark_counter some[64];
    char names[64][16];
    (void)state;
    uint32_t cells = fixture.plan.counters;
    assert_true(cells < 62);
    for (uint32_t i = 0; i < cells + 2; i++) {
        snprintf(names[i], sizeof names[i], "c%u", i);
        some[i] = counter_of(names[i], KYMO_COUNTER_TOTAL, 0);
        for (int n = 0; n < 3; n++)
            kymo_mark_count(&some[i], 1, 1);
    }
    assert_int_equal(fixture.session->counter_count, cells);
    assert_int_equal(fixture.session->lost[KYMO_LOSS_COUNTER_FULL], 2);
    assert_int_equal(some[cells].cell, 0);
    assert_int_equal(count_records(), 0);
    for (uint32_t i = 0; i < cells; i++)
        assert_int_equal(value_of(&some[i], -1), 3);
}

/* Destructors of its data count what they free, and where every change is a record, what is missing
 * is known. */
static void an_ended_thread_counts_all_the_same(void **state)
{
    (void)state;
    struct kymo_mark_counter sent = counter_of("sent", KYMO_COUNTER_TOTAL, 0);
    struct kymo_mark_counter late = counter_of("late", KYMO_COUNTER_DELTA, 0);
    struct kymo_mark_counter each = counter_of("each", KYMO_COUNTER_GAUGE, KYMO_COUNTER_EACH);
    kymo_mark_count(&sent, 1, 1);
    kymo_thread_self = &kymo_thread_dead;
    kymo_mark_count(&sent, 2, 1);
    kymo_mark_count(&late, -5, 1);
    assert_int_equal(value_of(&sent, -1), 3);
    assert_int_equal(value_of(&late, -1), -5);
    assert_int_equal(fixture.session->lost[KYMO_LOSS_COUNT], 0);
    kymo_mark_count(&each, 1, 1);
    assert_int_equal(fixture.session->lost[KYMO_LOSS_COUNT], 1);
}

/* ---- threads ---- */

enum { ADDITIONS = 50000, COUNTERS = 6 };
static struct kymo_mark_counter many[THREADS / 2][COUNTERS];
static int go;

static void *count_all(void *number)
{
    uint32_t i = (uint32_t)(uintptr_t)number;
    kymo_thread_self = threads[i];
    while (!kymo_load_acquire(&go)) {
    }
    /* Half of the threads share each copy, and both halves one part for each number modulo 8. */
    for (int n = 0; n < ADDITIONS; n++)
        for (int c = 0; c < COUNTERS; c++)
            kymo_mark_count(&many[i % (THREADS / 2)][c], c - 2, 1);
    return NULL;
}

static void nothing_is_lost_where_threads_meet(void **state)
{
    static const char *const names[COUNTERS] = {"a", "b", "c", "d", "e", "f"};
    pthread_t counting[THREADS];
    (void)state;
    for (int i = 0; i < THREADS / 2; i++)
        for (int c = 0; c < COUNTERS; c++)
            many[i][c] = counter_of(names[c], KYMO_COUNTER_DELTA, 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&counting[i], NULL, count_all, (void *)i), 0);
    kymo_store_release(&go, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(counting[i], NULL);
    assert_int_equal(fixture.session->counter_count, COUNTERS);
    for (int c = 0; c < COUNTERS; c++) {
        assert_int_equal(value_of(&many[0][c], -1), (int64_t)(c - 2) * ADDITIONS * THREADS);
        assert_int_equal(operations_of(&many[0][c]), (uint64_t)ADDITIONS * THREADS);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_threads, close_process)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(totals_add_up_over_threads),
        TEST(a_gauge_is_what_was_said_last),
        TEST(doubles_add_up_in_their_parts),
        TEST(sums_of_doubles_raise_no_exception),
        TEST(sums_wrap_as_unsigned_ones_do),
        TEST(the_definition_says_what_it_is),
        TEST(equal_counters_are_one),
        TEST(another_session_learns_it_anew),
        TEST(each_change_may_be_a_record),
        TEST(what_could_not_be_recorded_is_added_to_a_cell),
        TEST(each_change_needs_no_cell),
        TEST(without_a_cell_it_is_nothing_and_counted_once),
        TEST(an_ended_thread_counts_all_the_same),
        TEST(nothing_is_lost_where_threads_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
