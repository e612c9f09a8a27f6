/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/mark_payload.h"

#include <stdalign.h>

#include "mark_types.h"

/* ---- numbers ---- */

struct small {
    uint8_t a;
    uint32_t b;
    uint16_t c;
};

static const struct kymo_mark_field small_fields[] = {FIELD("a", U8), FIELD("b", U32),
                                                      FIELD("c", U16)};
static const struct kymo_mark_type small_type = TYPE(small_fields, struct small);

static void what_lies_between_fields_is_not_recorded(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("small", .type = &small_type);
    struct small small;
    memset(&small, 0xee, sizeof small);
    small.a = 1;
    small.b = 2;
    small.c = 3;
    kymo_mark(&site, &small);
    struct mark m = mark_at(0);
    unsigned char expected[16] = {0};
    expected[0] = 1;
    expected[offsetof(struct small, b)] = 2;
    expected[offsetof(struct small, c)] = 3;
    assert_int_equal(site.slow, KYMO_MARK_BY_FIELD);
    assert_int_equal(m.rest_bytes, sizeof expected);
    assert_memory_equal(m.rest, expected, sizeof expected);
}

struct small_words {
    uint8_t a;
    uint32_t b;
    uint16_t c;
} __attribute__((aligned(8)));

static const struct kymo_mark_type words_type = TYPE(small_fields, struct small_words);

static void whole_words_are_copied_as_they_are(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("words", .type = &words_type);
    struct small_words words;
    memset(&words, 0, sizeof words);
    words.a = 1;
    words.b = 2;
    words.c = 3;
    kymo_mark(&site, &words);
    struct mark m = mark_at(0);
    assert_int_equal(site.slow, 0);
    assert_int_equal(site.words, 2);
    assert_int_equal(m.rest_bytes, sizeof words);
    assert_memory_equal(m.rest, &words, sizeof words);
}

#define X(name, NAME, type, size, alignment) type name##_;
struct all {
    KYMO_MARK_KINDS(X)
};
#undef X

#define X(name, NAME, type, size, alignment) FIELD(#name, NAME),
static const struct kymo_mark_field all_fields[] = {KYMO_MARK_KINDS(X)};
#undef X
static const struct kymo_mark_type all_type = TYPE(all_fields, struct all);

static void each_kind_is_where_the_compiler_has_it(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("all", .type = &all_type);
    struct all all;
    struct all out;
    static const uint16_t utf16[] = {'u', 't', 'f'};
    const struct kymo_mark_cell cells[] = {
        {.kind = KYMO_KIND_I64, .as.i64 = -1},
        {.kind = KYMO_KIND_STR, .as.ptr = "cell"},
    };
    memset(&all, 0, sizeof all);
    all.bool_ = 1;
    all.i8_ = -8;
    all.u8_ = 8;
    all.i16_ = -16;
    all.u16_ = 16;
    all.i32_ = -32;
    all.u32_ = 32;
    all.i64_ = INT64_MIN;
    all.u64_ = UINT64_MAX;
    all.f32_ = 1.5f;
    all.f64_ = -2.5;
    all.literal_.text = "literal";
    all.str_ = "str";
    all.text_ = (struct kymo_mark_text){"text and more", 4};
    all.utf16_ = (struct kymo_mark_utf16){utf16, 3};
    all.time_ = 123;
    all.ns_ = -9;
    all.ptr_ = &all;
    all.flow_ = 77;
    all.cells_ = (struct kymo_mark_cells){cells, 2};
    all.opt_i64_ = (struct kymo_mark_opt_i64){-3, 1};
    all.opt_u64_ = (struct kymo_mark_opt_u64){3, 1};
    all.opt_f64_ = (struct kymo_mark_opt_f64){0.5, 1};
    kymo_mark(&site, &all);
    struct mark m = mark_at(0);
    memcpy(&out, m.rest, sizeof out);
#define SAME(field) assert_memory_equal(&out.field, &all.field, sizeof out.field)
    SAME(bool_);
    SAME(i8_);
    SAME(u8_);
    SAME(i16_);
    SAME(u16_);
    SAME(i32_);
    SAME(u32_);
    SAME(i64_);
    SAME(u64_);
    SAME(f32_);
    SAME(f64_);
    SAME(time_);
    SAME(ns_);
    SAME(ptr_);
    SAME(flow_);
    SAME(opt_i64_);
    SAME(opt_u64_);
    SAME(opt_f64_);
    assert_text(&m, slot_at(&m, offsetof(struct all, str_)), "str", 3, 0);
    assert_text(&m, slot_at(&m, offsetof(struct all, text_)), "text", 4, 0);
    assert_text(&m, slot_at(&m, offsetof(struct all, utf16_)), (const char *)utf16, 6,
                KYMO_TEXT_IS_UTF16);
    struct kymo_text_slot literal = slot_at(&m, offsetof(struct all, literal_));
    assert_int_equal(literal.flags, KYMO_TEXT_IS_THERE | KYMO_TEXT_IS_LITERAL);
    const uint64_t *words = definition_words(literal.at, KYMO_DEFINE_LITERAL);
    assert_int_equal(words[0], 7);
    assert_memory_equal(words + 1, "literal", 7);
    struct kymo_text_slot list = slot_at(&m, offsetof(struct all, cells_));
    struct kymo_record_cell cell[2];
    struct kymo_text_slot text;
    assert_int_equal(list.flags, KYMO_TEXT_IS_THERE);
    assert_int_equal(list.len, 2);
    assert_int_equal(list.at % 8, 0);
    memcpy(cell, m.rest + list.at, sizeof cell);
    assert_int_equal(cell[0].kind, KYMO_KIND_I64);
    assert_true((int64_t)cell[0].value == -1);
    assert_int_equal(cell[1].kind, KYMO_KIND_TEXT);
    memcpy(&text, &cell[1].value, sizeof text);
    assert_text(&m, text, "cell", 4, 0);
}

static void what_is_absent_is_zero(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("none", .type = &all_type);
    struct all all;
    memset(&all, 0, sizeof all);
    kymo_mark(&site, &all);
    struct mark m = mark_at(0);
    assert_int_equal(m.rest_bytes, (sizeof all + 7) / 8 * 8);
    for (uint32_t i = 0; i < m.rest_bytes; i++)
        assert_int_equal(m.rest[i], 0);
}

/* ---- texts ---- */

static void mark_text(struct kymo_mark_site *site, const char *text, size_t len)
{
    const struct kymo_mark_text payload = {text, len};
    kymo_mark_with(site, &payload, NULL);
}

static void a_text_is_a_slot_and_its_bytes(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("text", .kind = KYMO_SITE_TEXT);
    mark_text(&site, "hello", 5);
    mark_text(&site, "", 0);
    mark_text(&site, NULL, 0);
    struct mark m = mark_at(0);
    assert_int_equal(m.rest_bytes, 16);
    assert_text(&m, slot_at(&m, 0), "hello\0\0\0", 5, 0);
    m = mark_at(1);
    assert_text(&m, slot_at(&m, 0), "", 0, 0);
    m = mark_at(2);
    assert_int_equal(slot_at(&m, 0).flags, 0);
}

static void a_long_text_is_cut_where_a_character_begins(void **state)
{
    (void)state;
    static char text[KYMO_MARK_TEXT_MAX + 100];
    struct kymo_mark_site site = SITE("long", .kind = KYMO_SITE_TEXT);
    memset(text, 'a', sizeof text);
    mark_text(&site, text, KYMO_MARK_TEXT_MAX);
    struct mark m = mark_at(0);
    assert_text(&m, slot_at(&m, 0), text, KYMO_MARK_TEXT_MAX, 0);
    assert_int_equal(counts_of(&site)->cut, 0);
    /* Characters of 2, 3 and 4 bytes lie across the limit in each way. */
    static const char *const characters[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    uint32_t n = 1;
    for (int which = 0; which < 3; which++) {
        size_t len = strlen(characters[which]);
        for (size_t before = 0; before <= len; before++, n++) {
            memset(text, 'a', sizeof text);
            memcpy(text + KYMO_MARK_TEXT_MAX - before, characters[which], len);
            mark_text(&site, text, sizeof text);
            m = mark_at(n);
            assert_text(&m, slot_at(&m, 0), text,
                        before == len ? KYMO_MARK_TEXT_MAX : KYMO_MARK_TEXT_MAX - before,
                        KYMO_TEXT_IS_CUT);
        }
    }
    assert_int_equal(counts_of(&site)->cut, n - 1);
    /* What is no UTF-8 has no characters. */
    memset(text, 0x80, sizeof text);
    mark_text(&site, text, sizeof text);
    m = mark_at(n);
    assert_text(&m, slot_at(&m, 0), text, KYMO_MARK_TEXT_MAX, KYMO_TEXT_IS_CUT);
}

static const struct kymo_mark_field utf16_fields[] = {FIELD("t", UTF16)};
static const struct kymo_mark_type utf16_type = TYPE(utf16_fields, struct kymo_mark_utf16);

static void half_a_pair_is_not_left(void **state)
{
    (void)state;
    enum { UNITS = KYMO_MARK_TEXT_MAX / 2 };
    static uint16_t text[UNITS + 2];
    struct kymo_mark_site site = SITE("utf16", .type = &utf16_type);
    const struct kymo_mark_utf16 payload = {text, UNITS + 2};
    for (uint32_t i = 0; i < UNITS + 2; i++)
        text[i] = 'x';
    text[UNITS - 1] = 0xd83d;
    text[UNITS] = 0xde00;
    kymo_mark(&site, &payload);
    struct mark m = mark_at(0);
    assert_text(&m, slot_at(&m, 0), (const char *)text, KYMO_MARK_TEXT_MAX - 2,
                KYMO_TEXT_IS_CUT | KYMO_TEXT_IS_UTF16);
}

#define STRINGS 8
struct strings {
    const char *s[STRINGS];
};
static const struct kymo_mark_field strings_fields[STRINGS] = {
    FIELD("0", STR), FIELD("1", STR), FIELD("2", STR), FIELD("3", STR),
    FIELD("4", STR), FIELD("5", STR), FIELD("6", STR), FIELD("7", STR)};
static const struct kymo_mark_type strings_type = TYPE(strings_fields, struct strings);

static void a_record_has_a_limit_that_its_texts_share(void **state)
{
    (void)state;
    static char text[900];
    struct kymo_mark_site site = SITE("strings", .type = &strings_type);
    struct strings payload;
    memset(text, 't', sizeof text - 1);
    for (int i = 0; i < STRINGS; i++)
        payload.s[i] = text;
    for (uint32_t n = 0; n < 40; n++) {
        kymo_mark(&site, &payload);
        struct mark m = mark_at(n);
        assert_true(m.head->size_bytes <= KYMO_MARK_RECORD_MAX);
        uint32_t bytes = 0;
        for (uint32_t i = 0; i < STRINGS; i++) {
            struct kymo_text_slot slot = slot_at(&m, i * 8);
            uint32_t cut = slot.len < sizeof text - 1 ? KYMO_TEXT_IS_CUT : 0;
            assert_text(&m, slot, text, slot.len, cut);
            bytes += slot.len;
        }
        assert_true(bytes > KYMO_MARK_RECORD_MAX - 100);
    }
    assert_int_equal(counts_of(&site)->cut, 40 * 4);
    assert_int_equal(counts_of(&site)->lost, 0);
}

/* A text that another thread writes to meanwhile is no longer than it was measured. */
static void records_that_cross_a_block_are_whole(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("text", .kind = KYMO_SITE_TEXT);
    char text[200];
    for (uint32_t i = 0; i < 2000; i++) {
        memset(text, (int)('a' + i % 26), sizeof text);
        mark_text(&site, text, 1 + i % sizeof text);
        struct mark m = mark_at(i);
        assert_text(&m, slot_at(&m, 0), text, 1 + i % sizeof text, 0);
    }
}

/* ---- literals ---- */

static uint32_t literal_number(struct kymo_mark_site *site, const char *text, uint32_t nth)
{
    const struct kymo_mark_literal payload = {{.text = text}};
    kymo_mark(site, &payload);
    struct mark m = mark_at(nth);
    return slot_at(&m, 0).at;
}

static const struct kymo_mark_field literal_fields[] = {FIELD("l", LITERAL)};
static const struct kymo_mark_type literal_type = TYPE(literal_fields, struct kymo_mark_literal);

/* As when a library is closed, and another one is mapped at its place. */
static void a_literal_is_known_until_a_library_is_closed(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("literal", .type = &literal_type);
    char place[] = "one";
    uint32_t one = literal_number(&site, place, 0);
    assert_int_equal(literal_number(&site, place, 1), one);
    fixture.session->module_generation++;
    memcpy(place, "two", 3);
    uint32_t two = literal_number(&site, place, 2);
    assert_int_not_equal(two, one);
    assert_memory_equal(definition_words(two, KYMO_DEFINE_LITERAL) + 1, "two", 3);
    /* While one is being closed nothing is remembered. */
    kymo_process_state->closing = 1;
    memcpy(place, "one", 3);
    assert_int_equal(literal_number(&site, place, 3), one);
    memcpy(place, "two", 3);
    assert_int_equal(literal_number(&site, place, 4), two);
    kymo_process_state->closing = 0;
}

/* ---- cells ---- */

static void arguments_are_cells(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("%d %s", .kind = KYMO_SITE_FORMAT, .format = "%d %s");
    struct kymo_mark_cell cells[] = {
        {.kind = KYMO_KIND_I64, .as.i64 = -5},
        {.kind = KYMO_KIND_TEXT, 3, {.ptr = "text"}},
        {.kind = KYMO_KIND_STR, .as.ptr = NULL},
        {.kind = KYMO_KIND_F64, .as.f64 = 0.5},
        {.kind = 999, .as.i64 = 1},
    };
    const struct kymo_mark_options named = {.size = sizeof named, .name = "named"};
    kymo_mark_cells(&site, cells, 5, NULL);
    kymo_mark_cells(&site, cells, 5, &named);
    for (uint32_t n = 0; n < 2; n++) {
        struct mark m = mark_at(n);
        struct kymo_record_cell out[5];
        struct kymo_text_slot slot;
        assert_int_equal(word_of(&m, KYMO_MARK_CELLS), 5);
        memcpy(out, m.rest, sizeof out);
        assert_true((int64_t)out[0].value == -5);
        assert_int_equal(out[1].kind, KYMO_KIND_TEXT);
        memcpy(&slot, &out[1].value, sizeof slot);
        assert_text(&m, slot, "tex", 3, 0);
        assert_int_equal(out[2].kind, KYMO_KIND_NONE);
        assert_int_equal(out[3].kind, KYMO_KIND_F64);
        assert_int_equal(out[4].kind, KYMO_KIND_NONE);
        if (n == 1) {
            uint64_t word = word_of(&m, KYMO_MARK_NAME);
            memcpy(&slot, &word, sizeof slot);
            assert_text(&m, slot, "named", 5, 0);
        }
    }
}

static void more_cells_than_there_is_room_for_are_cut(void **state)
{
    (void)state;
    static struct kymo_mark_cell cells[1000];
    struct kymo_mark_site site = SITE("many", .kind = KYMO_SITE_VALUES, .format = "a");
    for (uint32_t i = 0; i < 1000; i++)
        cells[i] = (struct kymo_mark_cell){.kind = KYMO_KIND_U64, .as.u64 = i};
    kymo_mark_cells(&site, cells, 1000, NULL);
    struct mark m = mark_at(0);
    uint64_t count = word_of(&m, KYMO_MARK_CELLS);
    assert_true(count > 200 && count * 16 <= KYMO_MARK_RECORD_MAX);
    assert_int_equal(m.rest_bytes, count * 16);
    assert_int_equal(counts_of(&site)->cut, 1);
}

int main(void)
{
#define RECORDED(name) cmocka_unit_test_setup_teardown(name, open_small_process, close_process)
    const struct CMUnitTest tests[] = {
        RECORDED(what_lies_between_fields_is_not_recorded),
        RECORDED(whole_words_are_copied_as_they_are),
        RECORDED(each_kind_is_where_the_compiler_has_it),
        RECORDED(what_is_absent_is_zero),
        RECORDED(a_text_is_a_slot_and_its_bytes),
        RECORDED(a_long_text_is_cut_where_a_character_begins),
        RECORDED(half_a_pair_is_not_left),
        RECORDED(a_record_has_a_limit_that_its_texts_share),
        RECORDED(records_that_cross_a_block_are_whole),
        RECORDED(a_literal_is_known_until_a_library_is_closed),
        RECORDED(arguments_are_cells),
        RECORDED(more_cells_than_there_is_room_for_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
