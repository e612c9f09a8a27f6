/* SPDX-License-Identifier: Apache-2.0 */
/* What the drain makes of traced calls and their functions, true ones and others. */
#include <stdlib.h>
#include <string.h>

#include "buffer/drain.h"
#include "kymo/trace_abi.h"
#include "mark_fixture.h"
#include "unit.h"

enum { CALLS = 4096, FUNCTIONS = 64 };

static struct {
    struct fixture f;
    kymo_drain *drain;
    struct kymo_drain_call call[CALLS];
    uint32_t thread[CALLS];
    uint32_t calls;
    struct kymo_drain_function function[FUNCTIONS];
    char name[FUNCTIONS][KYMO_FUNCTION_NAME_MAX + 1], file[FUNCTIONS][KYMO_FUNCTION_FILE_MAX + 1];
    uint32_t functions;
    uint32_t ended;
} t;

static kymo_err on_begin(void *c, const struct kymo_drain_thread *thread)
{
    (void)c;
    (void)thread;
    return KYMO_OK;
}

static kymo_err on_end(void *c, const struct kymo_drain_thread *thread)
{
    (void)c;
    (void)thread;
    t.ended++;
    return KYMO_OK;
}

static kymo_err on_function(void *c, const struct kymo_drain_function *f)
{
    (void)c;
    uint32_t i = t.functions++ % FUNCTIONS;
    assert_true(f->number > 0 && f->number <= KYMO_FUNCTION_NUMBER_MAX);
    assert_true(f->name_len <= KYMO_FUNCTION_NAME_MAX && f->file_len <= KYMO_FUNCTION_FILE_MAX);
    t.function[i] = *f;
    memcpy(t.name[i], f->name, f->name_len);
    t.name[i][f->name_len] = '\0';
    memcpy(t.file[i], f->file, f->file_len);
    t.file[i][f->file_len] = '\0';
    return KYMO_OK;
}

static kymo_err on_calls(void *c, uint32_t thread, const struct kymo_drain_call *calls, uint32_t n)
{
    (void)c;
    assert_true(n > 0);
    for (uint32_t i = 0; i < n; i++) {
        t.thread[t.calls % CALLS] = thread;
        t.call[t.calls++ % CALLS] = calls[i];
    }
    return KYMO_OK;
}

static int begin(void **state)
{
    (void)state;
    memset(&t, 0, sizeof t);
    t.f = fixture_open(4u << 20);
    struct kymo_drain_sink sink = {
        .thread_begin = on_begin, .thread_end = on_end, .function = on_function, .calls = on_calls};
    return kymo_drain_create(t.f.session, &t.f.plan, &sink, &t.drain) == KYMO_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    kymo_drain_destroy(t.drain);
    fixture_close(&t.f);
    return 0;
}

/* The stream of calls of the thread whose marks w writes. */
static struct kymo_stream_writer stream_of_calls(void)
{
    return (struct kymo_stream_writer){.kind = KYMO_STREAM_CALLS};
}

static void put_call(const struct mark_writer *w, struct kymo_stream_writer *s, uint32_t event,
                     uint32_t function)
{
    struct kymo_record_call *r =
        kymo_stream_reserve(s, t.f.session, &t.f.plan, w->number, sizeof *r);
    assert_non_null(r);
    *r = (struct kymo_record_call){kymo_clock_now(KYMO_CLOCK_MONOTONIC), event, function};
    kymo_stream_publish(s, sizeof *r);
}

static void put_function(struct mark_writer *w, uint32_t number, const char *name, const char *file)
{
    struct {
        struct kymo_record_function f;
        char texts[KYMO_FUNCTION_NAME_MAX + KYMO_FUNCTION_FILE_MAX];
    } r = {.f = {.first_line = 7,
                 .language = KYMO_TRACE_PYTHON,
                 .name_len = (uint16_t)strlen(name),
                 .file_len = (uint16_t)strlen(file)}};
    memcpy(r.texts, name, strlen(name));
    memcpy(r.texts + strlen(name), file, strlen(file));
    mark_write(w, KYMO_RECORD_FUNCTION, number, (char *)&r + sizeof(struct kymo_record),
               (uint32_t)(sizeof r.f - sizeof(struct kymo_record) + strlen(name) + strlen(file)));
}

static uint64_t lost(enum kymo_loss_kind kind)
{
    uint64_t all[KYMO_LOSS_KINDS];
    kymo_drain_losses(t.drain, all);
    return all[kind];
}

static void rounds(int n)
{
    for (int i = 0; i < n; i++)
        assert_int_equal(kymo_drain_round(t.drain), KYMO_OK);
}

static void calls_and_functions_come_as_they_were_written(void **state)
{
    (void)state;
    struct mark_writer w = mark_thread(&t.f, 11, KYMO_SLOT_MAIN);
    struct kymo_stream_writer s = stream_of_calls();
    put_function(&w, 1, "Shop.open", "/srv/shop.py");
    put_call(&w, &s, kymo_call_event(KYMO_TRACE_CALL, 1), 1);
    put_call(&w, &s, kymo_call_event(KYMO_TRACE_YIELD, KYMO_CALL_DEPTH_MAX), 1);
    put_call(&w, &s, kymo_call_event(KYMO_TRACE_GAP, 0), 12345);
    rounds(3);
    assert_int_equal(t.functions, 1);
    assert_string_equal(t.name[0], "Shop.open");
    assert_string_equal(t.file[0], "/srv/shop.py");
    assert_int_equal(t.function[0].number, 1);
    assert_int_equal(t.function[0].first_line, 7);
    assert_int_equal(t.calls, 3);
    assert_int_equal(t.call[0].kind, KYMO_TRACE_CALL);
    assert_int_equal(t.call[0].depth, 1);
    assert_int_equal(t.call[0].function, 1);
    assert_true(t.call[0].time_ns != 0 && t.call[0].time_ns <= t.call[1].time_ns);
    assert_int_equal(t.call[1].kind, KYMO_TRACE_YIELD);
    assert_int_equal(t.call[1].depth, KYMO_CALL_DEPTH_MAX);
    assert_int_equal(t.call[2].kind, KYMO_TRACE_GAP);
    assert_int_equal(t.call[2].missing, 12345);
    assert_int_equal(t.call[2].function, 0);
    assert_int_equal(lost(KYMO_LOSS_CORRUPT), 0);
}

/* The slot that comes later has met the function first. */
static void a_function_of_another_stream_is_known_in_time(void **state)
{
    (void)state;
    struct mark_writer first = mark_thread(&t.f, 11, KYMO_SLOT_MAIN);
    struct mark_writer second = mark_thread(&t.f, 12, 0);
    struct kymo_stream_writer s = stream_of_calls();
    rounds(1);
    for (uint32_t i = 1; i <= 100; i++) {
        put_function(&second, i, "f", "");
        put_call(&first, &s, kymo_call_event(KYMO_TRACE_CALL, i), i);
        rounds(1);
    }
    /* One more, and the thread that calls it ends at once. */
    put_function(&second, 101, "f", "");
    put_call(&first, &s, kymo_call_event(KYMO_TRACE_CALL, 101), 101);
    mark_thread_end(&first);
    rounds(3);
    assert_int_equal(t.ended, 1);
    assert_int_equal(t.calls, 101);
    for (uint32_t i = 0; i < t.calls; i++)
        assert_int_equal(t.call[i].function, i + 1);
}

static void the_last_round_reads_functions_first(void **state)
{
    (void)state;
    struct mark_writer first = mark_thread(&t.f, 11, KYMO_SLOT_MAIN);
    struct mark_writer second = mark_thread(&t.f, 12, 0);
    struct kymo_stream_writer s = stream_of_calls();
    put_function(&second, 1, "f", "");
    put_call(&first, &s, kymo_call_event(KYMO_TRACE_CALL, 1), 1);
    assert_int_equal(kymo_drain_finish(t.drain, kymo_clock_ns(CLOCK_MONOTONIC)), KYMO_OK);
    assert_int_equal(t.calls, 1);
    assert_int_equal(t.call[0].function, 1);
    assert_int_equal(t.ended, 2);
}

/* Several blocks; while they are written, some are read. */
static void no_call_is_lost_or_told_twice(void **state)
{
    (void)state;
    struct mark_writer w = mark_thread(&t.f, 11, KYMO_SLOT_MAIN);
    struct kymo_stream_writer s = stream_of_calls();
    enum { ALL = 20000 };
    uint32_t seen = 0;
    for (uint32_t i = 0; i < ALL; i++) {
        put_call(&w, &s, kymo_call_event(KYMO_TRACE_CALL, i + 1), 0);
        if (i % 1000 != 999)
            continue;
        rounds(1);
        for (; seen < t.calls; seen++)
            assert_int_equal(t.call[seen % CALLS].depth, seen + 1);
    }
    mark_thread_end(&w);
    rounds(3);
    for (; seen < t.calls; seen++)
        assert_int_equal(t.call[seen % CALLS].depth, seen + 1);
    assert_int_equal(t.calls, ALL);
    assert_int_equal(lost(KYMO_LOSS_CORRUPT), 0);
}

/* The begin of a call that its thread may still take back. */
static void hold_call(const struct mark_writer *w, struct kymo_stream_writer *s, uint32_t depth)
{
    struct kymo_record_call *r =
        kymo_stream_reserve(s, t.f.session, &t.f.plan, w->number, sizeof *r);
    assert_non_null(r);
    *r = (struct kymo_record_call){kymo_clock_now(KYMO_CLOCK_MONOTONIC),
                                   kymo_call_event(KYMO_TRACE_CALL, depth), 0};
    kymo_stream_hold(s, sizeof *r);
}

static void what_is_held_back_comes_when_it_stays(void **state)
{
    (void)state;
    struct mark_writer w = mark_thread(&t.f, 11, KYMO_SLOT_MAIN);
    struct kymo_stream_writer s = stream_of_calls();
    put_call(&w, &s, kymo_call_event(KYMO_TRACE_CALL, 1), 0);
    hold_call(&w, &s, 2);
    rounds(3);
    assert_int_equal(t.calls, 1);
    kymo_stream_take_back(&s, sizeof(struct kymo_record_call));
    hold_call(&w, &s, 2);
    kymo_stream_release(&s);
    hold_call(&w, &s, 3);
    rounds(3);
    assert_int_equal(t.calls, 2);
    /* The thread ends inside of it. */
    mark_thread_end(&w);
    rounds(3);
    assert_int_equal(t.calls, 3);
    assert_int_equal(t.call[2].depth, 3);
    assert_int_equal(lost(KYMO_LOSS_CORRUPT), 0);
}

static void what_makes_no_sense_is_counted(void **state)
{
    (void)state;
    struct mark_writer w = mark_thread(&t.f, 11, KYMO_SLOT_MAIN);
    struct kymo_stream_writer s = stream_of_calls();
    static const struct kymo_record_function wrong[] = {
        {.name_len = 1}, /* beyond its record */
        {.file_len = KYMO_FUNCTION_FILE_MAX + 1},
        {.name_len = UINT16_MAX},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        mark_write(&w, KYMO_RECORD_FUNCTION, 1,
                   (const char *)&wrong[i] + sizeof(struct kymo_record),
                   sizeof *wrong - sizeof(struct kymo_record));
    mark_write(&w, KYMO_RECORD_FUNCTION, 1, NULL, 0); /* shorter than its head */
    put_function(&w, 0, "none", "");
    put_function(&w, KYMO_FUNCTION_NUMBER_MAX + 1, "too many", "");
    put_function(&w, 2, "twice", "");
    put_function(&w, 2, "twice", "");
    put_call(&w, &s, kymo_call_event(KYMO_TRACE_CALL, 1), 3); /* which was not announced */
    put_call(&w, &s, KYMO_TRACE_CALL, 1);                     /* no event: the block is given up */
    put_call(&w, &s, kymo_call_event(KYMO_TRACE_CALL, 1), 2);
    rounds(3);
    assert_int_equal(t.functions, 1);
    assert_int_equal(t.calls, 1);
    assert_int_equal(t.call[0].function, 0);
    assert_int_equal(lost(KYMO_LOSS_CORRUPT), 8);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(calls_and_functions_come_as_they_were_written),
        TEST(a_function_of_another_stream_is_known_in_time),
        TEST(the_last_round_reads_functions_first),
        TEST(no_call_is_lost_or_told_twice),
        TEST(what_is_held_back_comes_when_it_stays),
        TEST(what_makes_no_sense_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
