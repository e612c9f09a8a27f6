/* SPDX-License-Identifier: Apache-2.0 */
#include "buffer/payload.h"

#include <string.h>

#include "unit.h"

#define THERE KYMO_TEXT_IS_THERE

/* What a type of these fields, a literal, a list, a time and a text, carries. */
struct image {
    struct kymo_text_slot literal;
    struct kymo_text_slot list, list_more;
    uint64_t time;
    struct kymo_text_slot text, text_more;
    struct kymo_record_cell cells[2];
    char bytes[8];
};

static const uint32_t kinds[] = {KYMO_KIND_LITERAL, KYMO_KIND_CELLS, KYMO_KIND_TIME,
                                 KYMO_KIND_TEXT};

/* As a drain does that learns a type on the way: the places move. */
static kymo_err find_literal(void *context, uint32_t *number, int *is_known)
{
    kymo_payload_places *places = context;
    for (int i = 0; i < 1000; i++)
        KYMO_TRY(kymo_vec_push(places, (struct kymo_mark_place){KYMO_KIND_NONE, 0}));
    *is_known = *number == 7;
    *number = 70;
    return KYMO_OK;
}

static uint64_t time_ns(void *context, uint64_t time)
{
    (void)context;
    return time * 10;
}

static void each_field_is_checked(void **state)
{
    (void)state;
    kymo_payload_places places = {0};
    struct kymo_mark_layout layout = KYMO_MARK_LAYOUT_BEGIN;
    struct kymo_payload_image type = {.bytes = offsetof(struct image, cells)}, image;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(kinds); i++)
        assert_int_equal(kymo_payload_add_field(&places, &type, &layout, kinds[i]), KYMO_OK);
    assert_int_equal(layout.at, type.bytes);
    struct image carried = {
        .literal = {7, 0, THERE | KYMO_TEXT_IS_LITERAL},
        .list = {offsetof(struct image, cells), 2, THERE},
        .time = 5,
        .text = {offsetof(struct image, bytes), 9, THERE},
        .cells = {{.kind = KYMO_KIND_I64, .value = 1}, {.kind = KYMO_KIND_BOOL, .value = 1}},
    };
    struct kymo_payload p = {
        .bytes = (unsigned char *)&carried,
        .len = sizeof carried,
        .places = &places,
        .context = &places,
        .literal = find_literal,
        .time_ns = time_ns,
    };
    int fits = 0;
    assert_int_equal(kymo_payload_image_of(KYMO_SITE_MARKER, &type, 0, &image), 1);
    assert_int_equal(kymo_payload_check(&p, &image, &fits), KYMO_OK);
    assert_int_equal(fits, 1);
    assert_int_equal(carried.literal.at, 70);
    assert_int_equal(carried.list.len, 2);
    assert_int_equal(carried.time, 50);
    assert_int_equal(carried.text.flags, 0); /* a byte too long */
    assert_int_equal(carried.cells[0].value, 1);
    assert_int_equal(carried.cells[1].kind, KYMO_KIND_NONE);
    assert_int_equal(p.values, 1);
    assert_int_equal(p.references, 0);
    assert_int_equal(p.cells, 1);
    p.len = type.bytes - 1;
    assert_int_equal(kymo_payload_check(&p, &image, &fits), KYMO_OK);
    assert_int_equal(fits, 0);
    kymo_vec_deinit(&places);
}

static void a_site_has_cells_or_an_image(void **state)
{
    (void)state;
    const struct kymo_payload_image type = {.bytes = 8};
    struct kymo_payload_image image;
    assert_int_equal(kymo_payload_image_of(KYMO_SITE_MARKER, NULL, 0, &image), 0);
    assert_int_equal(kymo_payload_image_of(KYMO_SITE_SCOPE, &type, 1, &image), 0);
    assert_int_equal(kymo_payload_image_of(KYMO_SITE_TEXT, NULL, 1, &image), 0);
    assert_int_equal(kymo_payload_image_of(KYMO_SITE_TEXT, NULL, 0, &image), 1);
    assert_true(image.is_text);
    assert_int_equal(kymo_payload_image_of(KYMO_SITE_VALUES, NULL, 3, &image), 1);
    assert_int_equal(image.cells, 3);
}

static void each_kind_can_be_shown(void **state)
{
    (void)state;
    for (uint32_t kind = KYMO_KIND_NONE + 1; kind < KYMO_KIND_COUNT; kind++) {
        const struct kymo_mark_kind_facts *facts = kymo_mark_kind(kind);
        assert_true(facts->bytes > 0);
        assert_true(facts->value != KYMO_VALUE_NONE);
        assert_true(facts->formats & 1u << facts->format);
        /* A cell has room for one word. */
        assert_true(facts->cell != KYMO_CELL_NUMBER || facts->bytes == 8);
    }
    assert_int_equal(kymo_mark_kind_bytes(KYMO_KIND_NONE), 0);
    assert_int_equal(kymo_mark_kind_bytes(KYMO_KIND_COUNT), 0);
    assert_int_equal(kymo_mark_kind_bytes(UINT32_MAX), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_is_checked),
        cmocka_unit_test(a_site_has_cells_or_an_image),
        cmocka_unit_test(each_kind_can_be_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
