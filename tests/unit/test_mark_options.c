/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>

#include "buffer/depot.h"
#include "mark_process.h"

#define OPTIONS(...) \
    (&(struct kymo_mark_options){.size = sizeof(struct kymo_mark_options), __VA_ARGS__})

/* ---- times ---- */

static void each_timing_says_when(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("when");
    uint64_t before = kymo_mark_now();
    kymo_mark_with(&site, NULL, OPTIONS(.timing = KYMO_TIMING_NOW));
    kymo_mark_with(&site, NULL, OPTIONS(.timing = KYMO_TIMING_AT, .start = 100));
    kymo_mark_with(&site, NULL, OPTIONS(.timing = KYMO_TIMING_INTERVAL, .start = 100, .end = 200));
    kymo_mark_with(&site, NULL, OPTIONS(.timing = KYMO_TIMING_SINCE, .start = 100));
    kymo_mark_with(&site, NULL, OPTIONS(.timing = KYMO_TIMING_START, .id = 7));
    kymo_mark_with(&site, NULL, OPTIONS(.timing = KYMO_TIMING_START, .id = 8, .start = 100));
    kymo_mark_with(&site, NULL, OPTIONS(.timing = KYMO_TIMING_END, .id = 7));
    kymo_mark_with(&site, NULL, OPTIONS(.timing = KYMO_TIMING_END, .id = 8, .end = 200));
    /* What is still to come has not been recorded: its time is now. */
    kymo_mark_with(&site, NULL, OPTIONS(.timing = KYMO_TIMING_AT, .start = UINT64_MAX));
    kymo_mark_with(&site, NULL,
                   OPTIONS(.timing = KYMO_TIMING_INTERVAL, .start = 100, .end = UINT64_MAX));
    uint64_t after = kymo_mark_now();
    static const struct {
        uint32_t phase;
        uint64_t clock, start, id;
    } expected[] = {
        {KYMO_PHASE_INSTANT, 0, 0, 0},      {KYMO_PHASE_INSTANT, 100, 0, 0},
        {KYMO_PHASE_INTERVAL, 200, 100, 0}, {KYMO_PHASE_INTERVAL, 0, 100, 0},
        {KYMO_PHASE_BEGIN, 0, 0, 7},        {KYMO_PHASE_BEGIN, 100, 0, 8},
        {KYMO_PHASE_END, 0, 0, 7},          {KYMO_PHASE_END, 200, 0, 8},
        {KYMO_PHASE_INSTANT, 0, 0, 0},      {KYMO_PHASE_INTERVAL, 0, 100, 0},
    };
    for (uint32_t i = 0; i < KYMO_ARRAY_LEN(expected); i++) {
        struct mark m = mark_at(i);
        assert_int_equal(m.flags & KYMO_MARK_PHASE, expected[i].phase);
        if (expected[i].clock)
            assert_int_equal(m.head->clock, expected[i].clock);
        else
            assert_true(m.head->clock >= before && m.head->clock <= after);
        /* When it was made is told where it is another time. */
        assert_int_equal((m.flags & KYMO_MARK_MADE) != 0, expected[i].clock != 0);
        if (expected[i].clock) {
            uint64_t made = word_of(&m, KYMO_MARK_MADE);
            assert_true(made >= before && made <= after);
        }
        assert_int_equal((m.flags & KYMO_MARK_START) != 0, expected[i].start != 0);
        if (expected[i].start)
            assert_int_equal(word_of(&m, KYMO_MARK_START), expected[i].start);
        if (expected[i].id)
            assert_int_equal(word_of(&m, KYMO_MARK_ID), expected[i].id);
    }
}

static void numbers_of_intervals_are_never_the_same(void **state)
{
    (void)state;
    uint64_t last = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t number = kymo_mark_interval();
        assert_true(number > last);
        last = number;
    }
}

static void the_clock_is_monotonic_and_back(void **state)
{
    (void)state;
    struct kymo_capture_process *p = kymo_process_state;
    /* The counter, where there is one, as if a session had it. */
    p->clock = KYMO_CLOCK_TSC;
    p->anchor_clock = kymo_clock_tsc();
    p->anchor_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    while (kymo_clock_ns(CLOCK_MONOTONIC) - p->anchor_ns < 2000000) {
    }
    uint64_t ns = kymo_clock_ns(CLOCK_MONOTONIC);
    uint64_t clock = kymo_mark_now();
    int64_t apart = (int64_t)(kymo_mark_to_ns(clock) - ns);
    /* Whatever came between the two readings. */
    assert_true(apart > -1000000 && apart < 1000000000);
    int64_t back = (int64_t)(kymo_mark_from_ns(kymo_mark_to_ns(clock)) - clock);
    uint64_t millisecond = kymo_mark_ticks(p, 1000000);
    assert_true(millisecond > 100000 && millisecond < 100000000);
    assert_true(back > -(int64_t)millisecond && back < (int64_t)millisecond);
    p->clock = KYMO_CLOCK_MONOTONIC;
    assert_int_equal(kymo_mark_to_ns(5), 5);
    assert_int_equal(kymo_mark_from_ns(5), 5);
}

/* ---- whose, where, called what ---- */

static void each_option_has_its_word(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("options");
    uint64_t track = kymo_mark_track("Decoder", 7);
    assert_int_equal(kymo_mark_track("Decoder", 7), track);
    assert_int_not_equal(kymo_mark_track("Encoder", 7), track);
    kymo_mark_with(&site, NULL,
                   OPTIONS(.timing = KYMO_TIMING_SINCE, .start = 1, .track = track, .owner = 3,
                           .thread = KYMO_THREAD_MAIN, .stack = 99, .name = "called so",
                           .name_len = 6));
    struct mark m = mark_at(0);
    assert_int_equal(m.flags, KYMO_PHASE_INTERVAL | KYMO_MARK_START | KYMO_MARK_BACKTRACE |
                                  KYMO_MARK_THREAD | KYMO_MARK_TRACK | KYMO_MARK_OWNER |
                                  KYMO_MARK_NAME);
    assert_int_equal(word_of(&m, KYMO_MARK_BACKTRACE), 99);
    assert_int_equal(word_of(&m, KYMO_MARK_THREAD), UINT32_MAX);
    assert_int_equal(word_of(&m, KYMO_MARK_OWNER), 3);
    const uint64_t *words =
        definition_words((uint32_t)word_of(&m, KYMO_MARK_TRACK), KYMO_DEFINE_TRACK);
    assert_memory_equal(words + 1, "Decoder", 7);
    uint64_t word = word_of(&m, KYMO_MARK_NAME);
    struct kymo_text_slot slot;
    memcpy(&slot, &word, sizeof slot);
    assert_int_equal(slot.flags, KYMO_TEXT_IS_THERE);
    assert_int_equal(slot.len, 6);
    assert_memory_equal(m.rest + slot.at, "called", 6);
    assert_int_equal(m.rest_bytes, 8);
}

static void the_track_of_another_session_is_none(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("options");
    uint64_t track = kymo_mark_track("Decoder", 7) + (1u << 16);
    kymo_mark_with(&site, NULL, OPTIONS(.track = track));
    assert_int_equal(mark_at(0).flags, KYMO_PHASE_INSTANT);
}

/* Those of a version that knew no owner. */
static void shorter_options_are_read_as_far_as_they_go(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("short");
    struct kymo_mark_options options = {
        .size = offsetof(struct kymo_mark_options, owner), .track = 0, .owner = 5, .name = "no"};
    kymo_mark_with(&site, NULL, &options);
    assert_int_equal(mark_at(0).flags, KYMO_PHASE_INSTANT);
}

static void a_long_name_is_cut(void **state)
{
    (void)state;
    static char name[KYMO_MARK_TEXT_MAX + 2];
    struct kymo_mark_site site = SITE("named");
    memset(name, 'n', sizeof name - 1);
    kymo_mark_with(&site, NULL, OPTIONS(.name = name));
    struct mark m = mark_at(0);
    uint64_t word = word_of(&m, KYMO_MARK_NAME);
    struct kymo_text_slot slot;
    memcpy(&slot, &word, sizeof slot);
    assert_int_equal(slot.len, KYMO_MARK_TEXT_MAX);
    assert_int_equal(slot.flags, KYMO_TEXT_IS_THERE | KYMO_TEXT_IS_CUT);
    assert_int_equal(counts_of(&site)->cut, 1);
}

/* ---- stacks ---- */

static const struct kymo_depot_entry *entry_of(uint32_t id)
{
    struct kymo_depot depot =
        kymo_depot_at(fixture.session, &fixture.plan, kymo_depot_id_epoch(id));
    return (const void *)(depot.arena + kymo_depot_id_word(id));
}

/* Whether some return address of the stack lies behind the start of this function, and not far. */
static int has_function(const struct kymo_depot_entry *e, void (*function)(void **))
{
    uint64_t start = (uint64_t)(uintptr_t)function;
    for (uint32_t i = 0; i < e->n; i++)
        if (e->pcs[i] - start < 4096)
            return 1;
    return 0;
}

static void the_stack_here_is_this_one(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("here");
    sigset_t before, after;
    assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &before), 0);
    kymo_mark_with(&site, NULL, OPTIONS(.stack = KYMO_STACK_HERE));
    assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &after), 0);
    for (int signo = 1; signo < 32; signo++)
        assert_int_equal(sigismember(&before, signo), sigismember(&after, signo));
    struct mark m = mark_at(0);
    const struct kymo_depot_entry *e = entry_of((uint32_t)word_of(&m, KYMO_MARK_STACK));
    assert_true(e->n > 2);
    assert_true(has_function(e, the_stack_here_is_this_one));
    assert_int_equal(kymo_thread_self->slot->depot_pin, 0);
}

static void a_stack_for_later_is_a_record(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("later");
    uint64_t one = kymo_mark_stack();
    uint64_t two = kymo_mark_stack();
    assert_int_not_equal(one, KYMO_STACK_NONE);
    assert_int_not_equal(one, KYMO_STACK_HERE);
    assert_int_not_equal(one, two);
    const struct kymo_record_backtrace *r = (const void *)record_at(0);
    assert_int_equal(r->head.kind, KYMO_RECORD_BACKTRACE);
    assert_int_equal(r->head.size_bytes, sizeof *r);
    assert_int_equal(r->backtrace, one);
    assert_true(has_function(entry_of(r->head.stack), a_stack_for_later_is_a_record));
    kymo_mark_with(&site, NULL, OPTIONS(.stack = one));
    struct mark m = mark_at(2);
    assert_int_equal(word_of(&m, KYMO_MARK_BACKTRACE), one);
    assert_int_equal(kymo_thread_self->slot->depot_pin, 0);
}

/* Behind a filter no thread may block signals. */
static void a_quiet_process_has_markers_without_stacks(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("quiet");
    fixture.session->quiet = KYMO_QUIET_CALLS;
    kymo_mark_with(&site, NULL, OPTIONS(.stack = KYMO_STACK_HERE));
    assert_int_equal(mark_at(0).flags, KYMO_PHASE_INSTANT);
    assert_int_equal(kymo_mark_stack(), KYMO_STACK_NONE);
    assert_int_equal(fixture.session->lost[KYMO_LOSS_MARK_STACK], 2);
}

int main(void)
{
#define RECORDED(name) cmocka_unit_test_setup_teardown(name, open_small_process, close_process)
    const struct CMUnitTest tests[] = {
        RECORDED(each_timing_says_when),
        RECORDED(numbers_of_intervals_are_never_the_same),
        RECORDED(the_clock_is_monotonic_and_back),
        RECORDED(each_option_has_its_word),
        RECORDED(the_track_of_another_session_is_none),
        RECORDED(shorter_options_are_read_as_far_as_they_go),
        RECORDED(a_long_name_is_cut),
        RECORDED(the_stack_here_is_this_one),
        RECORDED(a_stack_for_later_is_a_record),
        RECORDED(a_quiet_process_has_markers_without_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
