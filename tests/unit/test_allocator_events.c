/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/allocator_events.h"

#include <stdio.h>
#include <string.h>

#include "session_fixture.h"
#include "unit.h"

#define SECOND 1000000000ull
#define MS 1000000ull

static struct fixture fixture;
static kymo_drain *drain;
static struct kymo_allocator_events events;
static struct {
    int categories, counters, counts, infos;
    struct {
        char name[40];
        int64_t value;
    } last[8];
    char info[16][48];
    uint64_t info_value[16];
} told;

static kymo_err on_category(void *context, const kymo_event_marker_category *e)
{
    (void)context;
    assert_string_equal(e->name, "Memory");
    assert_int_equal(e->process, 3);
    told.categories++;
    return KYMO_OK;
}

static kymo_err on_counter(void *context, const kymo_event_counter *e)
{
    (void)context;
    assert_int_equal(told.categories, 1);
    assert_int_equal(e->category, KYMO_ALLOCATOR_EVENTS_CATEGORY);
    uint32_t i = e->counter - KYMO_ALLOCATOR_EVENTS_COUNTER;
    assert_true(i < 8);
    assert_string_equal(told.last[i].name, "");
    snprintf(told.last[i].name, sizeof told.last[i].name, "%s", e->name);
    told.counters++;
    return KYMO_OK;
}

static kymo_err on_count(void *context, const kymo_event_count *e)
{
    (void)context;
    uint32_t i = e->counter - KYMO_ALLOCATOR_EVENTS_COUNTER;
    assert_true(i < 8 && told.last[i].name[0]);
    told.last[i].value = e->value;
    told.counts++;
    return KYMO_OK;
}

static kymo_err on_info(void *context, const kymo_event_memory_info *e)
{
    (void)context;
    assert_true(told.infos < 16);
    snprintf(told.info[told.infos], sizeof told.info[0], "%s", e->key);
    told.info_value[told.infos++] = e->value;
    return KYMO_OK;
}

static const kymo_event_handler handler = {.marker_category = on_category,
                                           .counter = on_counter,
                                           .count = on_count,
                                           .memory_info = on_info};

static struct kymo_allocator_events_look look(void)
{
    return (struct kymo_allocator_events_look){&handler, NULL, 3, fixture.session, drain};
}

static void round_at(uint64_t now_ns)
{
    struct kymo_allocator_events_look l = look();
    assert_int_equal(kymo_allocator_events_round(&events, &l, now_ns), KYMO_OK);
}

static int set_up(void **state)
{
    static const struct kymo_drain_sink sink;
    (void)state;
    memset(&told, 0, sizeof told);
    memset(&events, 0, sizeof events);
    fixture = fixture_open(1u << 20);
    assert_int_equal(kymo_drain_create(fixture.session, &fixture.plan, &sink, &drain), KYMO_OK);
    /* Answers that took longer than this session is old. */
    kymo_drain_since(drain, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kymo_drain_destroy(drain);
    fixture_close(&fixture);
    return 0;
}

/* What the program does. */
static void answer(uint64_t allocated, uint64_t free_bytes, uint64_t took_ns)
{
    struct kymo_allocator_words *w = &fixture.session->allocator_words;
    w->taken = fixture.session->allocator_wanted;
    w->clock = kymo_clock_now(KYMO_CLOCK_MONOTONIC);
    w->took = took_ns;
    w->value[KYMO_ALLOCATOR_WORD_GLIBC_ALLOCATED] = allocated;
    w->value[KYMO_ALLOCATOR_WORD_GLIBC_FREE] = free_bytes;
    w->known = 1ull << KYMO_ALLOCATOR_WORD_GLIBC_ALLOCATED | 1ull << KYMO_ALLOCATOR_WORD_GLIBC_FREE;
    w->answered = w->taken;
}

static uint32_t wanted(void)
{
    return fixture.session->allocator_wanted;
}

static void an_answer_is_told_once(void **state)
{
    (void)state;
    round_at(1 * SECOND);
    assert_int_equal(wanted(), 1);
    assert_int_equal(told.counters, 0);
    answer(300, 100, 1);
    round_at(1 * SECOND + 1);
    round_at(1 * SECOND + 2);
    assert_int_equal(wanted(), 1);
    assert_int_equal(told.counters, 3);
    assert_int_equal(told.counts, 3);
    assert_string_equal(told.last[0].name, "Allocator, in blocks");
    assert_int_equal(told.last[0].value, 300);
    assert_string_equal(told.last[1].name, "Allocator, free");
    assert_int_equal(told.last[1].value, 100);
    assert_string_equal(told.last[2].name, ""); /* it did not say */
    assert_string_equal(told.last[3].name, "Allocator, fragmentation");
    assert_int_equal(told.last[3].value, 25);
    assert_true(events.last_ns > 0);
    round_at(2 * SECOND);
    answer(400, 0, 1);
    round_at(3 * SECOND);
    assert_int_equal(told.counters, 3);
    assert_int_equal(told.counts, 6);
    assert_int_equal(told.last[0].value, 400);
    assert_int_equal(told.last[3].value, 0);
    assert_int_equal(told.infos, 0);
}

/* At 10 ms, 20 ms and so on, then each second. */
static void questions_come_quickly_at_first(void **state)
{
    (void)state;
    for (uint64_t now = 0; now <= 10 * SECOND; now += MS) {
        round_at(now);
        if (fixture.session->allocator_words.answered != wanted())
            answer(1, 1, 1);
    }
    assert_in_range(wanted(), 15, 17);
}

static void who_is_slow_is_asked_seldom(void **state)
{
    (void)state;
    for (uint64_t now = 0; now < 30 * SECOND; now += 10 * MS) {
        round_at(now);
        if (fixture.session->allocator_words.answered != wanted())
            answer(1, 1, 2 * MS);
    }
    assert_int_equal(wanted(), 3);
}

/* Never a thousandth of its time. */
static void who_is_very_slow_is_asked_more_seldom_still(void **state)
{
    (void)state;
    round_at(1 * SECOND);
    answer(1, 1, 50 * MS);
    round_at(2 * SECOND);
    round_at(50 * SECOND);
    assert_int_equal(wanted(), 1);
    round_at(52 * SECOND);
    assert_int_equal(wanted(), 2);
    answer(1, 1, 100 * SECOND);
    round_at(53 * SECOND);
    round_at(651 * SECOND);
    assert_int_equal(wanted(), 2);
    round_at(653 * SECOND);
    assert_int_equal(wanted(), 3);
}

/* No thread allocates: the question waits. A thread took it and never answered: another one. */
static void a_question_waits(void **state)
{
    (void)state;
    round_at(0);
    for (uint64_t now = SECOND; now < 60 * SECOND; now += SECOND)
        round_at(now);
    assert_int_equal(wanted(), 1);
    fixture.session->allocator_words.taken = 1;
    round_at(60 * SECOND);
    assert_int_equal(wanted(), 2);
    fixture.session->allocator_words.answered = 1; /* too late */
    round_at(61 * SECOND);
    assert_int_equal(told.counts, 0);
    answer(5, 5, 1);
    round_at(62 * SECOND);
    assert_int_equal(told.last[0].value, 5);
}

static void at_the_end_each_figure_has_its_own_name(void **state)
{
    (void)state;
    struct kymo_allocator_events_look l = look();
    round_at(0);
    answer(300, 100, 1);
    assert_int_equal(kymo_allocator_events_finish(&events, &l), KYMO_OK);
    assert_int_equal(told.counts, 3);
    assert_int_equal(told.infos, 2);
    assert_string_equal(told.info[0], "allocator.glibc_allocated_bytes");
    assert_int_equal(told.info_value[0], 300);
    assert_string_equal(told.info[1], "allocator.glibc_free_bytes");
    assert_int_equal(told.info_value[1], 100);
}

static void without_an_answer_there_is_nothing_to_be_told(void **state)
{
    (void)state;
    struct kymo_allocator_events_look l = look();
    round_at(0);
    assert_int_equal(kymo_allocator_events_finish(&events, &l), KYMO_OK);
    assert_int_equal(told.categories + told.counters + told.counts + told.infos, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_answer_is_told_once),
        TEST(questions_come_quickly_at_first),
        TEST(who_is_slow_is_asked_seldom),
        TEST(who_is_very_slow_is_asked_more_seldom_still),
        TEST(a_question_waits),
        TEST(at_the_end_each_figure_has_its_own_name),
        TEST(without_an_answer_there_is_nothing_to_be_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
