/* SPDX-License-Identifier: Apache-2.0 */
/* What the drain makes of code records, true ones and others. */
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "buffer/code_area.h"
#include "buffer/depot.h"
#include "buffer/drain.h"
#include "buffer/stream.h"
#include "session_fixture.h"
#include "unit.h"

enum { CODES = 64, FRAMES = 64 };
#define HEAD ((uint32_t)(sizeof(struct kymo_code_record) / 8))

static struct {
    struct fixture f;
    kymo_drain *drain;
    uint32_t thread;
    struct kymo_stream_writer writer;
    uint64_t codes, stacks;
    struct kymo_drain_code code[CODES];
    char name[CODES][KYMO_CODE_NAME_MAX + 1], file[CODES][KYMO_CODE_FILE_MAX + 1];
    uint8_t lines[CODES][KYMO_CODE_LINES_MAX];
    uint64_t bytes; /* of all codes */
    struct kymo_drain_frame frame[FRAMES];
    uint32_t frames;
} t;

static kymo_err on_begin(void *c, const struct kymo_drain_thread *thread)
{
    (void)c;
    (void)thread;
    return KYMO_OK;
}

static kymo_err on_sample(void *c, const struct kymo_drain_sample *p)
{
    (void)c;
    (void)p;
    return KYMO_OK;
}

static kymo_err on_code(void *c, const struct kymo_drain_code *code)
{
    (void)c;
    assert_int_equal(code->number, t.codes);
    assert_true(code->name_len <= KYMO_CODE_NAME_MAX && code->file_len <= KYMO_CODE_FILE_MAX);
    assert_true(code->lines_len <= KYMO_CODE_LINES_MAX);
    uint32_t i = (uint32_t)(t.codes++ % CODES);
    t.code[i] = *code;
    memcpy(t.name[i], code->name, code->name_len);
    t.name[i][code->name_len] = '\0';
    memcpy(t.file[i], code->file, code->file_len);
    t.file[i][code->file_len] = '\0';
    if (code->lines)
        memcpy(t.lines[i], code->lines, code->lines_len);
    t.bytes += code->name_len + code->file_len + code->lines_len;
    return KYMO_OK;
}

static kymo_err on_stack(void *c, uint32_t stack, uint32_t flags,
                         const struct kymo_drain_frame *frames, uint32_t n)
{
    (void)c;
    (void)stack;
    (void)flags;
    t.stacks++;
    t.frames = n < FRAMES ? n : FRAMES;
    memcpy(t.frame, frames, t.frames * sizeof *frames);
    for (uint32_t i = 0; i < n; i++)
        assert_true(!frames[i].is_code || frames[i].code == KYMO_NO_CODE ||
                    frames[i].code < t.codes);
    return KYMO_OK;
}

static int begin(void **state)
{
    (void)state;
    memset(&t, 0, sizeof t);
    t.f = fixture_open(4u << 20);
    struct kymo_drain_sink sink = {.thread_begin = on_begin,
                                   .thread_end = on_begin,
                                   .code = on_code,
                                   .stack = on_stack,
                                   .sample = on_sample};
    if (kymo_drain_create(t.f.session, &t.f.plan, &sink, &t.drain) != KYMO_OK)
        return -1;
    t.thread = kymo_slot_take(t.f.session, &t.f.plan) - 1;
    t.writer.kind = KYMO_STREAM_SIGNAL;
    kymo_store_release(&kymo_session_slot(t.f.session, &t.f.plan, t.thread)->state, KYMO_SLOT_LIVE);
    return 0;
}

static int end(void **state)
{
    (void)state;
    kymo_drain_destroy(t.drain);
    fixture_close(&t.f);
    return 0;
}

static struct kymo_code_record *record_at(uint32_t number)
{
    return (void *)((char *)t.f.session + t.f.plan.codes_at + (uint64_t)number * 8);
}

/* A true record. */
static uint32_t add(uint64_t address, const char *name, const char *file, const char *lines)
{
    uint32_t number;
    uint32_t lines_len = lines ? (uint32_t)strlen(lines) : 0;
    struct kymo_code_record *r = kymo_code_claim(
        t.f.session, &t.f.plan, (uint32_t)(strlen(name) + strlen(file)) + lines_len, &number);
    assert_non_null(r);
    r->identity = (struct kymo_code_identity){.address = address, .first_line = 17};
    r->minor = 12;
    r->name_len = (uint16_t)strlen(name);
    r->file_len = (uint16_t)strlen(file);
    r->lines_len = lines ? (uint16_t)lines_len : KYMO_CODE_NO_LINES;
    char *to = (char *)(r + 1);
    memcpy(to, name, r->name_len);
    memcpy(to + r->name_len, file, r->file_len);
    memcpy(to + r->name_len + r->file_len, lines ? lines : "", lines_len);
    return kymo_code_publish(t.f.session, &t.f.plan, number);
}

static uint64_t word(uint32_t code, uint32_t at)
{
    return KYMO_PC_PYTHON | (uint64_t)code << KYMO_PC_PYTHON_CODE_SHIFT | at;
}

static void sample(const uint64_t *words, uint32_t n)
{
    const struct kymo_stack_key key = {words, n, 0, 0};
    uint32_t id = kymo_depot_find(t.f.session, &t.f.plan, 0, &key);
    if (!id)
        id = kymo_depot_insert(t.f.session, &t.f.plan, 0, &key);
    assert_int_not_equal(id, 0);
    struct kymo_record_sample *r =
        kymo_stream_reserve(&t.writer, t.f.session, &t.f.plan, t.thread, sizeof *r);
    assert_non_null(r);
    *r = (struct kymo_record_sample){
        .head = {.kind = KYMO_RECORD_SAMPLE_CPU, .size_bytes = sizeof *r, .stack = id}};
    kymo_stream_publish(&t.writer, sizeof *r);
}

static uint64_t lost(enum kymo_loss_kind kind)
{
    uint64_t all[KYMO_LOSS_KINDS];
    kymo_drain_losses(t.drain, all);
    return all[kind];
}

static void code_is_told_once_and_before_its_stack(void **state)
{
    (void)state;
    uint32_t a = add(1, "outer", "a.py", "\x01\x02");
    uint32_t b = add(2, "inner", "", "");
    uint32_t c = add(3, "", "c.py", NULL);
    const uint64_t words[] = {0x401000, word(b, 6), word(a, 8), word(c, (uint32_t)-2), 0x402000};
    sample(words, 5);
    sample(words + 1, 4);
    assert_int_equal(kymo_drain_round(t.drain), KYMO_OK);
    assert_int_equal(t.stacks, 2);
    assert_int_equal(t.codes, 3);
    sample(words + 2, 3);
    assert_int_equal(kymo_drain_finish(t.drain, 1), KYMO_OK);
    assert_int_equal(t.stacks, 3);
    assert_int_equal(t.codes, 3);
    assert_string_equal(t.name[0], "inner");
    assert_string_equal(t.file[0], "");
    assert_non_null(t.code[0].lines); /* a table without entries */
    assert_int_equal(t.code[0].lines_len, 0);
    assert_string_equal(t.name[1], "outer");
    assert_string_equal(t.file[1], "a.py");
    assert_int_equal(t.code[1].lines_len, 2);
    assert_memory_equal(t.lines[1], "\x01\x02", 2);
    assert_int_equal(t.code[1].minor, 12);
    assert_int_equal(t.code[1].first_line, 17);
    assert_string_equal(t.name[2], "");
    assert_null(t.code[2].lines); /* it was too long, or could not be read */
    assert_int_equal(t.frames, 3);
    assert_int_equal(t.frame[0].is_code, 1);
    assert_int_equal(t.frame[0].code, 1);
    assert_int_equal(t.frame[0].address, 8);
    assert_int_equal(t.frame[1].code, 2);
    assert_int_equal(t.frame[1].address, (uint32_t)-2);
    assert_int_equal(t.frame[2].is_code, 0);
    assert_int_equal(t.frame[2].is_return, 1);
    assert_int_equal(lost(KYMO_LOSS_CORRUPT), 0);
}

static void the_longest_record_is_read(void **state)
{
    (void)state;
    static char name[KYMO_CODE_NAME_MAX + 1], file[KYMO_CODE_FILE_MAX + 1],
        lines[KYMO_CODE_LINES_MAX + 1];
    memset(name, 'n', sizeof name - 1);
    memset(file, 'f', sizeof file - 1);
    memset(lines, 'l', sizeof lines - 1);
    const uint64_t w = word(add(1, name, file, lines), 0);
    sample(&w, 1);
    assert_int_equal(kymo_drain_finish(t.drain, 1), KYMO_OK);
    assert_int_equal(t.codes, 1);
    assert_string_equal(t.name[0], name);
    assert_string_equal(t.file[0], file);
    assert_memory_equal(t.lines[0], lines, sizeof lines - 1);
}

static void numbers_that_are_none_give_a_frame_without_code(void **state)
{
    (void)state;
    const uint32_t numbers[] = {0, t.f.plan.code_words - HEAD + 1, t.f.plan.code_words,
                                KYMO_PC_PYTHON_CODE_MAX};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(numbers); i++) {
        const uint64_t w = word(numbers[i], 4);
        sample(&w, 1);
    }
    const uint64_t all = UINT64_MAX;
    sample(&all, 1);
    assert_int_equal(kymo_drain_finish(t.drain, 1), KYMO_OK);
    assert_int_equal(t.codes, 0);
    assert_int_equal(t.stacks, KYMO_ARRAY_LEN(numbers) + 1);
    assert_int_equal(t.frame[0].is_code, 1);
    assert_int_equal(t.frame[0].code, KYMO_NO_CODE);
}

/* Each length is more than there may be, or more than there is. */
static void records_that_say_too_much_are_refused(void **state)
{
    (void)state;
    /* There would be room for more than the limits. */
    static char file[KYMO_CODE_FILE_MAX + 1], lines[KYMO_CODE_LINES_MAX + 1];
    memset(file, 'f', sizeof file - 1);
    memset(lines, 'l', sizeof lines - 1);
    uint32_t a = add(1, "name", file, lines);
    record_at(a)->file_len = 4;
    record_at(a)->lines_len = 5;
    const struct kymo_code_record honest = *record_at(a);
    for (uint32_t i = 0; i < 9; i++) {
        struct kymo_code_record *r = record_at(a);
        *r = honest;
        if (i == 0)
            r->name_len = KYMO_CODE_NAME_MAX + 1;
        else if (i == 1)
            r->file_len = KYMO_CODE_FILE_MAX + 1;
        else if (i == 2)
            r->lines_len = KYMO_CODE_LINES_MAX + 1;
        else if (i == 3)
            r->words = HEAD - 1;
        else if (i == 4)
            r->words = 0;
        else if (i == 5)
            r->words = UINT32_MAX;
        else if (i == 6)
            r->words = t.f.plan.code_words - a + 1;
        else if (i == 7)
            r->words = HEAD + 1; /* less than its texts */
        else
            r->lines_len = KYMO_CODE_NO_LINES - 1;
        const uint64_t words[] = {word(a, i)};
        sample(words, 1);
        assert_int_equal(kymo_drain_round(t.drain), KYMO_OK);
        assert_int_equal(t.stacks, i + 1);
        assert_int_equal(t.codes, 0);
        assert_int_equal(t.frame[0].code, KYMO_NO_CODE);
        assert_int_equal(lost(KYMO_LOSS_CORRUPT), i + 1);
    }
    *record_at(a) = honest;
    const uint64_t w = word(a, 100);
    sample(&w, 1);
    assert_int_equal(kymo_drain_finish(t.drain, 1), KYMO_OK);
    assert_int_equal(t.codes, 1);
}

/* Every word of the area may be the begin of a record as long as one may be. */
static void records_that_overlap_cost_no_more_than_the_area(void **state)
{
    (void)state;
    for (uint32_t i = 0; i + HEAD <= t.f.plan.code_words; i++) {
        struct kymo_code_record *r = record_at(i);
        memset(r, 0, 8);
    }
    uint64_t *area = (uint64_t *)(void *)record_at(0);
    /* Lengths and words at each word: 600 words, 256 + 512 + 600 bytes. */
    const struct kymo_code_record r = {
        .words = 600, .minor = 256, .name_len = 256, .file_len = 512, .lines_len = 600};
    uint64_t pattern[2];
    memcpy(pattern, (const char *)&r + sizeof r.identity, sizeof pattern);
    uint64_t samples = 0;
    for (uint32_t i = 1; i + 700 < t.f.plan.code_words && samples < 3000; i++, samples++) {
        memcpy(area + i + sizeof r.identity / 8, pattern, sizeof pattern);
        const uint64_t w = word(i, 0);
        sample(&w, 1);
        assert_int_equal(kymo_drain_round(t.drain), KYMO_OK);
    }
    assert_int_equal(kymo_drain_finish(t.drain, 1), KYMO_OK);
    assert_true(t.codes > 0);
    assert_true(t.bytes <= (uint64_t)t.f.plan.code_words * 8);
    assert_true(lost(KYMO_LOSS_CORRUPT) > 0);
    assert_int_equal(t.codes + lost(KYMO_LOSS_CORRUPT), samples);
}

/* Anything in the area, and any word as a frame. */
static void random_areas_do_no_harm(void **state)
{
    (void)state;
    uint64_t random = 1;
    uint64_t *area = (uint64_t *)(void *)record_at(0);
    for (uint32_t i = 0; i < t.f.plan.code_words; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        /* Lengths that may be, now and then. */
        area[i] = random >> 62 ? random & 0x01ff00ff01ff00ff : random;
    }
    for (uint32_t i = 0; i < 3000; i++) {
        uint64_t words[4];
        for (int k = 0; k < 4; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            words[k] =
                random >> 60 & 1 ? random : word((uint32_t)(random >> 33) % t.f.plan.code_words, 2);
        }
        sample(words, 4);
        if (i % 500 == 0)
            assert_int_equal(kymo_drain_round(t.drain), KYMO_OK);
    }
    assert_int_equal(kymo_drain_finish(t.drain, 1), KYMO_OK);
    assert_true(t.stacks > 0);
    assert_true(t.bytes <= (uint64_t)t.f.plan.code_words * 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(code_is_told_once_and_before_its_stack, begin, end),
        cmocka_unit_test_setup_teardown(the_longest_record_is_read, begin, end),
        cmocka_unit_test_setup_teardown(numbers_that_are_none_give_a_frame_without_code, begin,
                                        end),
        cmocka_unit_test_setup_teardown(records_that_say_too_much_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(records_that_overlap_cost_no_more_than_the_area, begin,
                                        end),
        cmocka_unit_test_setup_teardown(random_areas_do_no_harm, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
