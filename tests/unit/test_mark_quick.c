/* SPDX-License-Identifier: Apache-2.0 */
/* The first marker of a site goes the slow way, and those that come after it the quick one: the
 * records are to be the same. */
#include "mark_types.h"

/* ---- texts ---- */

struct worded {
    uint64_t number;
    const char *str;
    struct kymo_mark_text text;
    struct kymo_mark_literal literal;
    uint32_t last;
} __attribute__((aligned(8)));

static const struct kymo_mark_field worded_fields[] = {
    FIELD("n", U64), FIELD("s", STR), FIELD("t", TEXT), FIELD("l", LITERAL), FIELD("e", U32)};
static const struct kymo_mark_type worded_type = TYPE(worded_fields, struct worded);

/* A site's first marker is written field by field, the next ones are copied: the same comes of
 * both, for texts of each length. */
static void texts_in_words_are_as_by_field(void **state)
{
    (void)state;
    char text[70] = "";
    uint32_t n = 0;
    for (size_t len = 0; len < sizeof text; len++, n += 2) {
        struct kymo_mark_site site = SITE("worded", .type = &worded_type);
        struct worded payload;
        memset(&payload, 0, sizeof payload);
        payload.number = len;
        payload.str = text;
        payload.text = (struct kymo_mark_text){text + len / 2, len / 2};
        payload.literal.text = "literal";
        payload.last = 7;
        kymo_mark(&site, &payload);
        assert_int_equal(site.slow, KYMO_MARK_TEXTS);
        kymo_mark(&site, &payload);
        struct mark m = mark_at(n), same = mark_at(n + 1);
        assert_text(&m, slot_at(&m, offsetof(struct worded, str)), text, len, 0);
        assert_text(&m, slot_at(&m, offsetof(struct worded, text)), text + len / 2, len / 2, 0);
        assert_int_equal(same.rest_bytes, m.rest_bytes);
        assert_memory_equal(same.rest, m.rest, m.rest_bytes);
        text[len] = (char)('A' + len);
    }
    /* Absent ones, too. */
    struct kymo_mark_site site = SITE("worded", .type = &worded_type);
    const struct worded none = {.number = 1};
    for (uint32_t i = 0; i < 2; i++) {
        kymo_mark(&site, &none);
        struct mark m = mark_at(n + i);
        assert_int_equal(m.rest_bytes, sizeof none);
        assert_memory_equal(m.rest, &none, sizeof none);
    }
}

/* An attempt that does not fit has copied addresses of the program into the block: they are written
 * over before anybody sees them. */
static void no_address_is_recorded(void **state)
{
    (void)state;
    static char text[900];
    struct kymo_mark_site site = SITE("worded", .type = &worded_type);
    struct kymo_mark_site number = SITE("number");
    uint64_t address = (uint64_t)(uintptr_t)text;
    struct worded payload = {.number = 1, .str = text, .text = {text, sizeof text}};
    memset(text, 't', sizeof text - 1);
    for (uint32_t n = 0; n < 100; n += 2) {
        kymo_mark(&site, &payload);
        kymo_mark(&number, NULL);
        for (uint32_t i = n; i < n + 2; i++) {
            struct mark m = mark_at(i);
            for (uint32_t at = 0; at + 8 <= m.rest_bytes; at += 8)
                assert_memory_not_equal(m.rest + at, &address, 8);
        }
    }
    assert_int_equal(counts_of(&site)->cut, 0);
}

static void a_scope_has_its_texts(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("scope", .kind = KYMO_SITE_SCOPE, .type = &worded_type);
    struct worded payload = {.number = 1, .str = "str", .text = {"text", 4}, .last = 2};
    for (uint32_t i = 0; i < 3; i++) {
        struct kymo_mark_scope scope = {.payload = &payload};
        kymo_mark_scope_begin(&scope, &site);
        kymo_mark_scope_end(&scope);
        struct mark m = mark_at(i);
        assert_int_equal(m.flags, KYMO_PHASE_INTERVAL | KYMO_MARK_START);
        assert_int_equal(word_of(&m, KYMO_MARK_START), scope.start);
        assert_text(&m, slot_at(&m, offsetof(struct worded, str)), "str", 3, 0);
        assert_text(&m, slot_at(&m, offsetof(struct worded, text)), "text", 4, 0);
        assert_int_equal(m.rest_bytes, sizeof payload + 8);
    }
}

/* ---- ends of intervals ---- */

static void an_end_has_its_id_and_its_payload(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("worded", .type = &worded_type);
    const struct worded payload = {.number = 1, .str = "str"};
    for (uint32_t i = 0; i < 4; i += 2) {
        const struct kymo_mark_options begin = {
            .size = sizeof begin, .timing = KYMO_TIMING_START, .id = 100 + i};
        const struct kymo_mark_options end = {
            .size = sizeof end, .timing = KYMO_TIMING_END, .id = 100 + i};
        kymo_mark_with(&site, NULL, &begin);
        kymo_mark_with(&site, &payload, &end);
        struct mark m = mark_at(i);
        assert_int_equal(m.flags, KYMO_PHASE_BEGIN | KYMO_MARK_ID);
        assert_int_equal(word_of(&m, KYMO_MARK_ID), 100 + i);
        assert_int_equal(m.rest_bytes, 0);
        m = mark_at(i + 1);
        assert_int_equal(m.flags, KYMO_PHASE_END | KYMO_MARK_ID);
        assert_int_equal(word_of(&m, KYMO_MARK_ID), 100 + i);
        assert_text(&m, slot_at(&m, offsetof(struct worded, str)), "str", 3, 0);
    }
}

/* ---- cells ---- */

static void each_cell_is_as_the_slow_way_has_it(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("%d", .kind = KYMO_SITE_FORMAT, .format = "%d");
    const struct kymo_mark_cell cells[] = {
        {.kind = KYMO_KIND_I64, .as.i64 = -5},    {.kind = KYMO_KIND_U64, .as.u64 = UINT64_MAX},
        {.kind = KYMO_KIND_F64, .as.f64 = 0.5},   {.kind = KYMO_KIND_PTR, .as.ptr = &site},
        {.kind = KYMO_KIND_STR, .as.ptr = "str"}, {.kind = KYMO_KIND_TEXT, 3, {.ptr = "text"}},
        {.kind = KYMO_KIND_STR, .as.ptr = NULL},  {.kind = 999, 1, {.i64 = 1}},
    };
    for (uint32_t count = 0; count <= KYMO_ARRAY_LEN(cells); count++) {
        site.id = 0; /* unknown again */
        kymo_mark_cells(&site, cells, count, NULL);
        kymo_mark_cells(&site, cells, count, NULL);
        struct mark m = mark_at(count * 2), same = mark_at(count * 2 + 1);
        assert_int_equal(word_of(&same, KYMO_MARK_CELLS), count);
        assert_int_equal(same.flags, m.flags);
        assert_int_equal(same.rest_bytes, m.rest_bytes);
        assert_memory_equal(same.rest, m.rest, m.rest_bytes);
    }
}

static void cells_that_do_not_fit_go_the_slow_way(void **state)
{
    (void)state;
    static char text[KYMO_MARK_TEXT_MAX + 2];
    struct kymo_mark_site site = SITE("%s", .kind = KYMO_SITE_FORMAT, .format = "%s");
    const struct kymo_mark_cell cell = {.kind = KYMO_KIND_STR, .as.ptr = text};
    memset(text, 't', sizeof text - 1);
    for (uint32_t i = 0; i < 20; i++) {
        kymo_mark_cells(&site, &cell, 1, NULL);
        struct mark m = mark_at(i);
        struct kymo_text_slot slot = slot_at(&m, offsetof(struct kymo_record_cell, value));
        assert_text(&m, slot, text, KYMO_MARK_TEXT_MAX, KYMO_TEXT_IS_CUT);
    }
    assert_int_equal(counts_of(&site)->cut, 20);
}

/* ---- literals ---- */

static const struct kymo_mark_field literal_fields[] = {FIELD("l", LITERAL)};
static const struct kymo_mark_type literal_type = TYPE(literal_fields, struct kymo_mark_literal);

static uint32_t literal_number(const char *text, uint32_t nth)
{
    static struct kymo_mark_site site = SITE("literal", .type = &literal_type);
    const struct kymo_mark_literal payload = {{.text = text}};
    kymo_mark(&site, &payload);
    struct mark m = mark_at(nth);
    return slot_at(&m, 0).at;
}

/* Two that share their places are both known: neither is looked up in the session again. */
static void literals_that_meet_stay_known(void **state)
{
    (void)state;
    static char text[1 << 16];
    struct kymo_capture_process *p = kymo_process_state;
    const char *one = text, *two = NULL;
    for (size_t i = 16; !two && i < sizeof text; i++)
        if (kymo_mark_literal_places(p, (uint64_t)(uintptr_t)(text + i)) ==
            kymo_mark_literal_places(p, (uint64_t)(uintptr_t)one))
            two = text + i;
    assert_non_null(two);
    uint64_t *places = kymo_mark_literal_places(p, (uint64_t)(uintptr_t)one);
    memcpy(text, "one", 4);
    memcpy(text + (two - one), "two", 4);
    uint32_t first = literal_number(one, 0), second = literal_number(two, 1);
    for (uint32_t n = 2; n < 10; n += 2) {
        assert_int_equal(places[0] >> 16, (uint64_t)(uintptr_t)one);
        assert_int_equal(places[1] >> 16, (uint64_t)(uintptr_t)two);
        assert_int_equal(literal_number(one, n), first);
        assert_int_equal(literal_number(two, n + 1), second);
    }
}

int main(void)
{
#define RECORDED(name) cmocka_unit_test_setup_teardown(name, open_small_process, close_process)
    const struct CMUnitTest tests[] = {
        RECORDED(texts_in_words_are_as_by_field),
        RECORDED(no_address_is_recorded),
        RECORDED(a_scope_has_its_texts),
        RECORDED(an_end_has_its_id_and_its_payload),
        RECORDED(each_cell_is_as_the_slow_way_has_it),
        RECORDED(cells_that_do_not_fit_go_the_slow_way),
        RECORDED(literals_that_meet_stay_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
