/* SPDX-License-Identifier: Apache-2.0 */
/* What the drain makes of traced calls and their functions, true ones and others. */
#include <stdlib.h>
#include <string.h>

#include "buffer/call_units.h"
#include "buffer/drain.h"
#include "kymo/trace_abi.h"
#include "mark_fixture.h"
#include "unit.h"

enum { BYTES = 1 << 20, FUNCTIONS = 256 };

static struct {
    struct fixture f;
    kymo_drain *drain;
    unsigned char bytes[BYTES]; /* of calls, as they came */
    uint32_t len, groups;
    struct kymo_call_span span; /* of the last group */
    struct kymo_drain_function function[FUNCTIONS];
    char name[FUNCTIONS][KYMO_FUNCTION_NAME_MAX + 1], file[FUNCTIONS][KYMO_FUNCTION_FILE_MAX + 1];
    uint32_t functions;
    uint32_t functions_before_calls; /* so many when the first call came */
    uint32_t ended;
    void (*during)(void); /* called once, when the next function comes */
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
    void (*during)(void) = t.during;
    t.during = NULL;
    if (during)
        during();
    return KYMO_OK;
}

static int is_told(uint32_t number)
{
    for (uint32_t i = 0; i < t.functions; i++)
        if (t.function[i].number == number)
            return 1;
    return 0;
}

static kymo_err on_calls(void *c, uint32_t thread, const struct kymo_call_bytes *calls)
{
    const struct kymo_call_span *span = &calls->span;
    (void)c;
    (void)thread;
    assert_true(calls->len > 0 && calls->len <= BYTES - t.len);
    assert_int_equal(span->position, t.len);
    assert_true(span->ns_per_tick > 0);
    assert_true(span->not_before_ns <= span->clock_ns && span->clock_ns <= span->not_after_ns);
    if (t.len == 0)
        t.functions_before_calls = t.functions;
    memcpy(t.bytes + t.len, calls->bytes, calls->len);
    t.len += calls->len;
    t.groups++;
    t.span = *span;
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

/* A unit of a call, with the function that is called. */
static void put_call(const struct mark_writer *w, struct kymo_stream_writer *s, uint32_t function)
{
    unsigned char *to =
        kymo_stream_reserve(s, t.f.session, &t.f.plan, w->number, KYMO_CALL_BEGIN_BYTES);
    assert_non_null(to);
    (void)kymo_call_put_word(to, function << 16 | KYMO_TRACE_CALL);
    kymo_stream_publish(s, KYMO_CALL_BEGIN_BYTES);
}

static uint32_t calls_read(void)
{
    return t.len / KYMO_CALL_BEGIN_BYTES;
}

/* The function of the i-th call that came. */
static uint32_t function_at(uint32_t i)
{
    uint32_t word;
    assert_true(i < calls_read());
    memcpy(&word, t.bytes + (size_t)i * KYMO_CALL_BEGIN_BYTES, sizeof word);
    return word >> 16;
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
    put_call(&w, &s, 1);
    put_call(&w, &s, 65535);
    rounds(3);
    assert_int_equal(t.functions, 1);
    assert_string_equal(t.name[0], "Shop.open");
    assert_string_equal(t.file[0], "/srv/shop.py");
    assert_int_equal(t.function[0].number, 1);
    assert_int_equal(t.function[0].first_line, 7);
    assert_int_equal(calls_read(), 2);
    assert_int_equal(function_at(0), 1);
    assert_int_equal(function_at(1), 65535);
    assert_int_equal(lost(KYMO_LOSS_CORRUPT), 0);
}

/* What was written between two rounds has a clock of these. */
static void a_group_has_the_clock_of_its_time(void **state)
{
    (void)state;
    struct mark_writer w = mark_thread(&t.f, 11, KYMO_SLOT_MAIN);
    struct kymo_stream_writer s = stream_of_calls();
    put_call(&w, &s, 1);
    rounds(2);
    uint64_t before_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    rounds(1);
    put_call(&w, &s, 1);
    rounds(1);
    uint64_t after_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    assert_int_equal(calls_read(), 1);
    rounds(1);
    assert_int_equal(calls_read(), 2);
    /* The session's clock is this one. */
    assert_int_equal(t.span.clock, t.span.clock_ns);
    assert_int_equal(t.span.ns_per_tick, 1ull << 32);
    assert_true(t.span.clock_ns >= before_ns && t.span.clock_ns <= after_ns);
    assert_true(t.span.not_after_ns >= after_ns);
}

/* The slot that comes later has met the function first. */
static void a_function_of_another_stream_is_known_in_time(void **state)
{
    (void)state;
    struct mark_writer first = mark_thread(&t.f, 11, KYMO_SLOT_MAIN);
    struct mark_writer second = mark_thread(&t.f, 12, 0);
    struct kymo_stream_writer s = stream_of_calls();
    uint32_t seen = 0;
    rounds(1);
    for (uint32_t i = 1; i <= 100; i++) {
        put_function(&second, i, "f", "");
        put_call(&first, &s, i);
        rounds(1);
        for (; seen < calls_read(); seen++)
            assert_true(is_told(function_at(seen)));
    }
    assert_true(seen >= 98);
    /* One more, and the thread that calls it ends at once. */
    put_function(&second, 101, "f", "");
    put_call(&first, &s, 101);
    mark_thread_end(&first);
    while (calls_read() < 101)
        rounds(1);
    assert_true(is_told(101));
    rounds(1);
    assert_int_equal(t.ended, 1);
    for (uint32_t i = 0; i < 101; i++)
        assert_int_equal(function_at(i), i + 1);
}

static struct {
    struct mark_writer first, second, third;
    struct kymo_stream_writer calls; /* of the second */
} m;

/* More functions than a block has room for; the last one is called, and the thread that calls it
 * ends. */
static void end_within_a_lap(void)
{
    for (uint32_t i = 10; i < 110; i++)
        put_function(&m.third, i, "some_function", "/usr/lib/python3/some/module/file.py");
    put_call(&m.second, &m.calls, 109);
    mark_thread_end(&m.second);
}

static void a_thread_that_ends_within_a_lap_waits_for_functions(void **state)
{
    (void)state;
    m.first = mark_thread(&t.f, 11, KYMO_SLOT_MAIN);
    m.second = mark_thread(&t.f, 12, 0);
    m.third = mark_thread(&t.f, 13, 0);
    m.calls = stream_of_calls();
    put_function(&m.third, 2, "x", "x");
    put_call(&m.second, &m.calls, 2);
    rounds(4);
    put_function(&m.first, 1, "f", "");
    t.during = end_within_a_lap;
    uint32_t functions = 0;
    while (calls_read() < 2) {
        functions = t.functions;
        rounds(1);
    }
    assert_int_equal(function_at(1), 109);
    /* The lap that read the call found all of them told. */
    assert_int_equal(functions, 102);
    assert_int_equal(t.ended, 1);
}

/* As at the end of an interval. */
static void two_rounds_read_what_was_there(void **state)
{
    (void)state;
    struct mark_writer w = mark_thread(&t.f, 11, KYMO_SLOT_MAIN);
    struct kymo_stream_writer s = stream_of_calls();
    for (uint32_t i = 1; i <= 10; i++) {
        put_call(&w, &s, i);
        rounds(2);
        assert_int_equal(calls_read(), i);
    }
}

static void the_last_round_reads_functions_first(void **state)
{
    (void)state;
    struct mark_writer first = mark_thread(&t.f, 11, KYMO_SLOT_MAIN);
    struct mark_writer second = mark_thread(&t.f, 12, 0);
    struct kymo_stream_writer s = stream_of_calls();
    put_function(&second, 1, "f", "");
    put_call(&first, &s, 1);
    assert_int_equal(kymo_drain_finish(t.drain, kymo_clock_ns(CLOCK_MONOTONIC)), KYMO_OK);
    assert_int_equal(calls_read(), 1);
    assert_int_equal(t.functions_before_calls, 1);
    assert_int_equal(t.ended, 2);
}

/* Several blocks; while they are written, some are read. */
static void no_call_is_lost_or_told_twice(void **state)
{
    (void)state;
    struct mark_writer w = mark_thread(&t.f, 11, KYMO_SLOT_MAIN);
    struct kymo_stream_writer s = stream_of_calls();
    enum { ALL = 60000 };
    for (uint32_t i = 0; i < ALL; i++) {
        put_call(&w, &s, i + 1);
        if (i % 3000 == 2999)
            rounds(1);
    }
    assert_true(calls_read() >= ALL / 2);
    mark_thread_end(&w);
    rounds(3);
    assert_int_equal(calls_read(), ALL);
    for (uint32_t i = 0; i < ALL; i++)
        assert_int_equal(function_at(i), i + 1);
    assert_int_equal(lost(KYMO_LOSS_CORRUPT), 0);
}

/* The begin of a call that its thread may still take back. */
static void hold_call(const struct mark_writer *w, struct kymo_stream_writer *s, uint32_t function)
{
    unsigned char *to =
        kymo_stream_reserve(s, t.f.session, &t.f.plan, w->number, KYMO_CALL_BEGIN_BYTES);
    assert_non_null(to);
    (void)kymo_call_put_word(to, function << 16 | KYMO_TRACE_CALL);
    kymo_stream_hold(s, KYMO_CALL_BEGIN_BYTES);
}

static void what_is_held_back_comes_when_it_stays(void **state)
{
    (void)state;
    struct mark_writer w = mark_thread(&t.f, 11, KYMO_SLOT_MAIN);
    struct kymo_stream_writer s = stream_of_calls();
    put_call(&w, &s, 1);
    hold_call(&w, &s, 2);
    rounds(3);
    assert_int_equal(calls_read(), 1);
    kymo_stream_take_back(&s, KYMO_CALL_BEGIN_BYTES);
    hold_call(&w, &s, 3);
    kymo_stream_release(&s);
    hold_call(&w, &s, 4);
    rounds(3);
    assert_int_equal(calls_read(), 2);
    /* The thread ends inside of it. */
    mark_thread_end(&w);
    rounds(3);
    assert_int_equal(calls_read(), 3);
    assert_int_equal(function_at(1), 3);
    assert_int_equal(function_at(2), 4);
    assert_int_equal(lost(KYMO_LOSS_CORRUPT), 0);
}

static void what_makes_no_sense_is_counted(void **state)
{
    (void)state;
    struct mark_writer w = mark_thread(&t.f, 11, KYMO_SLOT_MAIN);
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
    rounds(3);
    assert_int_equal(t.functions, 1);
    assert_int_equal(lost(KYMO_LOSS_CORRUPT), 7);
}

/* A program may have written over its slot and its blocks: nothing beyond them is read, and the
 * rounds end. */
static void broken_streams_are_bounded(void **state)
{
    (void)state;
    struct mark_writer w = mark_thread(&t.f, 11, KYMO_SLOT_MAIN);
    struct kymo_stream_writer s = stream_of_calls();
    struct kymo_thread_slot *slot = kymo_session_slot(t.f.session, &t.f.plan, w.number);
    static const uint32_t wrong[] = {UINT32_MAX, 1u << 31, 0};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put_call(&w, &s, 1);
        slot->streams[KYMO_STREAM_CALLS].last = wrong[i];
        rounds(3);
    }
    s.block->head = UINT32_MAX;
    rounds(3);
    assert_true(lost(KYMO_LOSS_CORRUPT) > 0);
    assert_true(calls_read() <= 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(calls_and_functions_come_as_they_were_written),
        TEST(a_group_has_the_clock_of_its_time),
        TEST(a_function_of_another_stream_is_known_in_time),
        TEST(a_thread_that_ends_within_a_lap_waits_for_functions),
        TEST(two_rounds_read_what_was_there),
        TEST(the_last_round_reads_functions_first),
        TEST(no_call_is_lost_or_told_twice),
        TEST(what_is_held_back_comes_when_it_stays),
        TEST(what_makes_no_sense_is_counted),
        TEST(broken_streams_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
