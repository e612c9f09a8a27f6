/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payloads of markers in .kymo files: a caller that gets one from a reader may follow its slots.
 */
#include "unit.h"

#include <string.h>

#include "buffer/record.h"
#include "kymo/marker_abi.h"
#include "recording/recording.h"
#include "recording/sample_marks.h"
#include "recording/sample_recording.h"

#define LIMIT (1u << 20)
#define NONE KYMO_EVENT_NONE
#define THERE KYMO_TEXT_IS_THERE
#define LITERAL (KYMO_TEXT_IS_THERE | KYMO_TEXT_IS_LITERAL)

/* The image of type 4, and room behind it. */
struct image {
    uint64_t flag;
    struct kymo_text_slot text;
    struct kymo_text_slot one;
    uint64_t one_more;
    struct kymo_text_slot two;
    uint64_t two_more;
    struct kymo_record_cell cells[3];
};

static struct {
    uint32_t site, cells, bytes;
    struct image image;
} wanted;

static kymo_err emit_wanted(const kymo_event_handler *h, void *ctx)
{
    KYMO_TRY(few_marks_emit(h, ctx));
    return h->marker(ctx, &(kymo_event_marker){.thread = 9,
                                               .site = wanted.site,
                                               .stack = NONE,
                                               .time_ns = 1,
                                               .track = NONE,
                                               .cells = wanted.cells,
                                               .payload = (const uint8_t *)&wanted.image,
                                               .payload_bytes = wanted.bytes});
}

struct caught {
    int markers;
    uint32_t bytes;
    struct image image;
};

static kymo_err catch_marker(void *ctx, const kymo_event_marker *e)
{
    struct caught *caught = ctx;
    caught->markers++;
    caught->bytes = e->payload_bytes;
    assert_true(e->payload_bytes == 0 || (uintptr_t)e->payload % 8 == 0);
    assert_true(e->payload_bytes <= sizeof caught->image);
    if (e->payload_bytes)
        memcpy(&caught->image, e->payload, e->payload_bytes);
    else
        assert_int_equal(e->cells, 0);
    return KYMO_OK;
}

/* Writes the payload that is wanted, and reads what becomes of it. */
static struct caught catch_payload(uint64_t *references, uint64_t *values)
{
    struct caught caught = {0};
    kymo_recording_report report;
    const kymo_event_handler catcher = {.marker = catch_marker};
    kymo_bytes file;
    kymo_bytes_init(&file, LIMIT);
    assert_int_equal(recording_to_bytes(emit_wanted, 0, &file), KYMO_OK);
    assert_int_equal(
        kymo_recording_read_memory(file.data, file.len, 0, &catcher, &caught, &report, NULL),
        KYMO_OK);
    *references = report.damage.references;
    *values = report.damage.values;
    kymo_bytes_deinit(&file);
    return caught;
}

static void want(uint32_t site, uint32_t bytes)
{
    memset(&wanted, 0, sizeof wanted);
    wanted.site = site;
    wanted.bytes = bytes;
}

static void literals_get_the_numbers_of_the_reader(void **state)
{
    (void)state;
    uint64_t references, values;
    want(8, sizeof wanted.image);
    wanted.image.text = (struct kymo_text_slot){11, 0, LITERAL};
    wanted.image.one = (struct kymo_text_slot){48, 2, THERE};
    wanted.image.cells[0].kind = KYMO_KIND_TEXT;
    memcpy(&wanted.image.cells[0].value, &wanted.image.text, 8);
    wanted.image.cells[1].kind = KYMO_KIND_U64; /* a number that only looks like a literal */
    memcpy(&wanted.image.cells[1].value, &wanted.image.text, 8);
    struct caught caught = catch_payload(&references, &values);
    assert_int_equal(caught.markers, 1);
    assert_int_equal(caught.image.text.at, 1);
    struct kymo_text_slot slot;
    memcpy(&slot, &caught.image.cells[0].value, sizeof slot);
    assert_int_equal(slot.at, 1);
    assert_int_equal(slot.flags, LITERAL);
    memcpy(&slot, &caught.image.cells[1].value, sizeof slot);
    assert_int_equal(slot.at, 11);
    assert_int_equal(references + values, 0);
    /* One that was not announced, or by another process. */
    static const uint32_t others[] = {1, 14, NONE};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(others); i++) {
        wanted.image.text.at = others[i];
        caught = catch_payload(&references, &values);
        assert_int_equal(caught.markers, 1);
        assert_int_equal(caught.image.text.flags, 0);
        assert_int_equal(references, 1);
        assert_int_equal(values, 0);
    }
}

static void texts_that_lead_outside_are_absent(void **state)
{
    (void)state;
    static const struct {
        struct kymo_text_slot slot;
        int good;
    } texts[] = {
        {{96, 0, THERE}, 1},          {{95, 1, THERE}, 1},
        {{0, 48, THERE}, 1},          {{UINT32_MAX, UINT16_MAX, 0}, 1}, /* not there anyway */
        {{48, 48, THERE}, 1},         {{0, 49, THERE}, 0},
        {{97, 0, THERE}, 0},          {{96, 1, THERE}, 0},
        {{0, 97, THERE}, 0},          {{UINT32_MAX, 1, THERE}, 0},
        {{90, UINT16_MAX, THERE}, 0},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(texts); i++) {
        uint64_t references, values;
        want(8, sizeof wanted.image);
        wanted.image.text = texts[i].slot;
        struct caught caught = catch_payload(&references, &values);
        assert_int_equal(caught.markers, 1);
        assert_int_equal(values, !texts[i].good);
        assert_int_equal(references, 0);
        if (texts[i].good && texts[i].slot.flags)
            assert_memory_equal(&caught.image.text, &texts[i].slot, sizeof texts[i].slot);
        else
            assert_int_equal(caught.image.text.flags, 0);
    }
}

/* They may lie over each other, which no program that we wrote makes: they become no more bytes
 * than the payload has behind its image. */
static void texts_are_together_no_longer_than_the_payload(void **state)
{
    (void)state;
    uint64_t references, values;
    want(8, sizeof wanted.image);
    wanted.image.text = (struct kymo_text_slot){48, 46, THERE};
    wanted.image.one = (struct kymo_text_slot){48, 3, THERE};
    for (uint32_t i = 0; i < 3; i++) {
        struct kymo_text_slot slot = {50, (uint16_t)(i + 1), THERE};
        wanted.image.cells[i].kind = KYMO_KIND_TEXT;
        memcpy(&wanted.image.cells[i].value, &slot, sizeof slot);
    }
    struct caught caught = catch_payload(&references, &values);
    assert_int_equal(caught.markers, 1);
    assert_int_equal(values, 2); /* one byte was left, and two */
    assert_int_equal(caught.image.cells[0].value != 0, 1);
    assert_int_equal(caught.image.cells[1].value, 0);
    assert_int_equal(caught.image.cells[2].value, 0);
    /* Nor of a text alone, or of values. */
    struct kymo_text_slot slot = {0, 16, THERE};
    want(1, 16);
    memcpy(&wanted.image, &slot, sizeof slot);
    caught = catch_payload(&references, &values);
    assert_int_equal(values, 1);
    want(3, 16 + 8);
    wanted.cells = 1;
    slot.len = 9;
    memcpy((char *)&wanted.image + 8, &slot, sizeof slot);
    wanted.image.flag = KYMO_KIND_TEXT;
    caught = catch_payload(&references, &values);
    assert_int_equal(values, 1);
}

static void cells_share_no_byte_with_anything(void **state)
{
    (void)state;
    static const struct {
        struct kymo_text_slot one, two;
        int one_good, two_good;
    } slots[] = {
        {{48, 3, THERE}, {96, 0, THERE}, 1, 1}, {{48, 1, THERE}, {64, 2, THERE}, 1, 1},
        {{48, 1, THERE}, {48, 0, THERE}, 1, 0}, /* within those of the first */
        {{40, 1, THERE}, {48, 1, THERE}, 0, 1}, /* in the image */
        {{0, 1, THERE}, {0, 0, 0}, 0, 1},       {{48, 4, THERE}, {48, 3, THERE}, 0, 1},
        {{64, 2, THERE}, {48, 1, THERE}, 1, 0}, {{97, 0, THERE}, {UINT32_MAX, 1, THERE}, 0, 0},
        {{81, 1, THERE}, {0, 0, 0}, 0, 1},      {{80, UINT16_MAX, THERE}, {0, 0, 0}, 0, 1},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(slots); i++) {
        uint64_t references, values;
        want(8, sizeof wanted.image);
        wanted.image.one = slots[i].one;
        wanted.image.two = slots[i].two;
        struct caught caught = catch_payload(&references, &values);
        assert_int_equal(caught.markers, 1);
        assert_int_equal(values, !slots[i].one_good + !slots[i].two_good);
        assert_int_equal(caught.image.one.flags, slots[i].one_good ? slots[i].one.flags : 0);
        assert_int_equal(caught.image.two.flags, slots[i].two_good ? slots[i].two.flags : 0);
    }
}

static kymo_err emit_both(const kymo_event_handler *h, void *ctx)
{
    KYMO_TRY(few_marks_emit(h, ctx));
    for (uint32_t kind = KYMO_SITE_MARKER; kind <= KYMO_SITE_VALUES; kind++)
        KYMO_TRY(h->site(
            ctx, &(kymo_event_site){
                     .process = 7, .site = 20 + kind, .category = NONE, .type = 4, .kind = kind}));
    return KYMO_OK;
}

static kymo_err count_site(void *ctx, const kymo_event_site *e)
{
    int *typed = ctx;
    *typed += e->type != NONE && e->kind >= KYMO_SITE_TEXT;
    return KYMO_OK;
}

/* Else it would be checked as the one, and read as the other. */
static void a_site_has_a_type_or_a_kind_of_payload(void **state)
{
    (void)state;
    int typed = 0;
    kymo_recording_report report;
    const kymo_event_handler counter = {.site = count_site};
    kymo_bytes file;
    kymo_bytes_init(&file, LIMIT);
    assert_int_equal(recording_to_bytes(emit_both, 0, &file), KYMO_OK);
    assert_int_equal(
        kymo_recording_read_memory(file.data, file.len, 0, &counter, &typed, &report, NULL),
        KYMO_OK);
    assert_int_equal(typed, 0);
    assert_int_equal(report.damage.values, KYMO_SITE_VALUES - KYMO_SITE_TEXT + 1);
    kymo_bytes_deinit(&file);
}

static void a_payload_is_one_of_its_site(void **state)
{
    (void)state;
    static const struct {
        uint32_t site, cells, bytes;
        int good;
    } cases[] = {
        {8, 0, 48, 1},          {8, 0, 47, 0}, {8, 1, 48, 0}, {8, 0, 0, 1}, /* none was set */
        {6, 0, 0, 1},           {6, 0, 5, 1},  {6, 1, 16, 0}, {5, 0, 0, 1},  {5, 0, 8, 0},
        {5, 1, 16, 0},          {1, 0, 0, 1},  {1, 0, 8, 1},  {1, 0, 7, 0},  {1, 1, 16, 0},
        {2, 0, 0, 1},           {2, 0, 1, 1},  {2, 2, 32, 1}, {2, 2, 31, 0}, {2, 1, 0, 0},
        {2, UINT32_MAX, 96, 0}, {3, 6, 96, 1}, {3, 7, 96, 0},
    };
    uint64_t references, values;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(cases); i++) {
        want(cases[i].site, cases[i].bytes);
        wanted.cells = cases[i].cells;
        struct caught caught = catch_payload(&references, &values);
        assert_int_equal(caught.markers, 1); /* it keeps its time */
        assert_int_equal(caught.bytes, cases[i].good ? cases[i].bytes : 0);
        assert_int_equal(values, !cases[i].good);
    }
    struct kymo_text_slot slot = {8, 9, THERE};
    want(1, 16);
    memcpy(&wanted.image, &slot, sizeof slot);
    struct caught caught = catch_payload(&references, &values);
    assert_int_equal(caught.image.flag, 0);
    assert_int_equal(values, 1);
    slot.len = 8;
    memcpy(&wanted.image, &slot, sizeof slot);
    caught = catch_payload(&references, &values);
    assert_memory_equal(&caught.image, &slot, sizeof slot);
    assert_int_equal(values, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals_get_the_numbers_of_the_reader),
        cmocka_unit_test(texts_that_lead_outside_are_absent),
        cmocka_unit_test(texts_are_together_no_longer_than_the_payload),
        cmocka_unit_test(cells_share_no_byte_with_anything),
        cmocka_unit_test(a_site_has_a_type_or_a_kind_of_payload),
        cmocka_unit_test(a_payload_is_one_of_its_site),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
