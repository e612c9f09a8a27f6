/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest_marks_fixture.h"

#include <stdlib.h>

/* A type with one field of each kind. */
struct everything {
    uint8_t is_on;
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    float f32;
    double f64;
    struct kymo_text_slot literal;
    struct kymo_text_slot str;
    struct kymo_text_slot text[2];
    struct kymo_text_slot utf16[2];
    uint64_t time;
    int64_t ns;
    uint64_t ptr;
    uint64_t flow;
    struct kymo_text_slot cells[2];
    struct kymo_mark_opt_i64 opt_i64;
    struct kymo_mark_opt_u64 opt_u64;
    struct kymo_mark_opt_f64 opt_f64;
};

static const kymo_event_marker_field all_fields[] = {
#define X(name, NAME, type, size, alignment) {.key = #name, .kind = KYMO_KIND_##NAME},
    KYMO_MARK_KINDS(X)
#undef X
};
#define ALL (KYMO_KIND_COUNT - 1u)

static const char *value_text(const kymo_value *v)
{
    assert_int_equal(v->kind, KYMO_VALUE_STRING);
    return text_of(v->as.string);
}

/* ---- values ---- */

static void each_kind_is_read(void **state)
{
    (void)state;
    struct {
        struct everything image;
        struct kymo_record_cell cells[3];
        char text[16];
        uint16_t utf16[4];
    } payload = {.image = {.is_on = 1,
                           .i8 = INT8_MIN,
                           .u8 = UINT8_MAX,
                           .i16 = INT16_MIN,
                           .u16 = UINT16_MAX,
                           .i32 = INT32_MIN,
                           .u32 = UINT32_MAX,
                           .i64 = INT64_MIN,
                           .u64 = UINT64_MAX,
                           .f32 = 0.5f,
                           .f64 = -1e300,
                           .time = 123,
                           .ns = -5,
                           .ptr = 0,
                           .flow = 77,
                           .opt_i64 = {-1, 1},
                           .opt_u64 = {UINT64_MAX, 1},
                           .opt_f64 = {2.5, 1}},
                 .text = "plain, counted",
                 .utf16 = {'a', 0xd83d, 0xde00, 0xd800}};
    uint16_t there = KYMO_TEXT_IS_THERE;
    uint32_t text_at = sizeof payload.image + sizeof payload.cells;
    payload.image.literal = (struct kymo_text_slot){0, 0, (uint16_t)(there | KYMO_TEXT_IS_LITERAL)};
    payload.image.str = (struct kymo_text_slot){text_at, 5, there};
    payload.image.text[0] =
        (struct kymo_text_slot){text_at + 7, 7, (uint16_t)(there | KYMO_TEXT_IS_CUT)};
    payload.image.utf16[0] =
        (struct kymo_text_slot){text_at + 16, 8, (uint16_t)(there | KYMO_TEXT_IS_UTF16)};
    payload.image.cells[0] = (struct kymo_text_slot){sizeof payload.image, 3, there};
    payload.cells[0] = (struct kymo_record_cell){.kind = KYMO_KIND_I64, .value = (uint64_t)-7};
    payload.cells[1].kind = KYMO_KIND_STR;
    memcpy(&payload.cells[1].value, &payload.image.str, sizeof payload.image.str);
    send(literal, (kymo_event_named){.id = 0, .name = "GET"});
    add_type(0, "Everything", all_fields, ALL, sizeof payload.image);
    add_site(0, 0, KYMO_SITE_MARKER, "all", NULL);
    kymo_event_marker e = plain(0, 0, KYMO_PHASE_INSTANT, 100);
    e.payload = (const uint8_t *)&payload;
    e.payload_bytes = sizeof payload;
    send(marker, e);
    finish();
    const kymo_marker *m = marker_of(0, 0);
    assert_int_equal(m->value_count, ALL);
    const kymo_value *v = values_of(m) - 1; /* by kind */
    assert_int_equal(v[KYMO_KIND_BOOL].kind, KYMO_VALUE_BOOL);
    assert_int_equal(v[KYMO_KIND_BOOL].as.u64, 1);
    assert_int_equal(v[KYMO_KIND_I8].as.i64, INT8_MIN);
    assert_int_equal(v[KYMO_KIND_U8].as.u64, UINT8_MAX);
    assert_int_equal(v[KYMO_KIND_I16].as.i64, INT16_MIN);
    assert_int_equal(v[KYMO_KIND_U16].as.u64, UINT16_MAX);
    assert_int_equal(v[KYMO_KIND_I32].as.i64, INT32_MIN);
    assert_int_equal(v[KYMO_KIND_U32].as.u64, UINT32_MAX);
    assert_int_equal(v[KYMO_KIND_I64].kind, KYMO_VALUE_I64);
    assert_true(v[KYMO_KIND_I64].as.i64 == INT64_MIN);
    assert_int_equal(v[KYMO_KIND_U64].kind, KYMO_VALUE_U64);
    assert_true(v[KYMO_KIND_U64].as.u64 == UINT64_MAX);
    assert_true(v[KYMO_KIND_F32].as.f64 == 0.5);
    assert_true(v[KYMO_KIND_F64].as.f64 == -1e300);
    assert_string_equal(value_text(&v[KYMO_KIND_LITERAL]), "GET");
    assert_string_equal(value_text(&v[KYMO_KIND_STR]), "plain");
    assert_string_equal(value_text(&v[KYMO_KIND_TEXT]), "counted\xe2\x80\xa6");
    assert_string_equal(value_text(&v[KYMO_KIND_UTF16]), "a\xf0\x9f\x98\x80\xef\xbf\xbd");
    assert_int_equal(v[KYMO_KIND_TIME].kind, KYMO_VALUE_TIME);
    assert_int_equal(v[KYMO_KIND_TIME].as.u64, 123);
    assert_int_equal(v[KYMO_KIND_NS].kind, KYMO_VALUE_NS);
    assert_int_equal(v[KYMO_KIND_NS].as.i64, -5);
    assert_int_equal(v[KYMO_KIND_PTR].kind, KYMO_VALUE_POINTER);
    assert_int_equal(v[KYMO_KIND_FLOW].kind, KYMO_VALUE_FLOW);
    assert_int_equal(v[KYMO_KIND_CELLS].kind, KYMO_VALUE_LIST);
    assert_int_equal(v[KYMO_KIND_CELLS].as.list.count, 3);
    const kymo_value *list = kymo_profile_values(profile, v[KYMO_KIND_CELLS].as.list.first, 3);
    assert_int_equal(list[0].as.i64, -7);
    assert_string_equal(value_text(&list[1]), "plain");
    assert_int_equal(list[2].kind, KYMO_VALUE_NONE);
    assert_int_equal(v[KYMO_KIND_OPT_I64].as.i64, -1);
    assert_true(v[KYMO_KIND_OPT_U64].as.u64 == UINT64_MAX);
    assert_true(v[KYMO_KIND_OPT_F64].as.f64 == 2.5);
}

static void what_is_absent_or_outside_is_no_value(void **state)
{
    (void)state;
    struct everything image;
    memset(&image, 0, sizeof image);
    add_type(0, "Everything", all_fields, ALL, sizeof image);
    add_site(0, 0, KYMO_SITE_MARKER, "all", NULL);
    kymo_event_marker e = plain(0, 0, KYMO_PHASE_INSTANT, 100);
    send(marker, e); /* no payload */
    e.payload = (const uint8_t *)&image;
    e.payload_bytes = sizeof image;
    send(marker, e);
    image.str = (struct kymo_text_slot){sizeof image - 1, 2, KYMO_TEXT_IS_THERE};
    image.text[0] = (struct kymo_text_slot){UINT32_MAX, UINT16_MAX, KYMO_TEXT_IS_THERE};
    image.literal = (struct kymo_text_slot){9, 0, KYMO_TEXT_IS_THERE | KYMO_TEXT_IS_LITERAL};
    image.cells[0] = (struct kymo_text_slot){sizeof image - 20, UINT16_MAX, KYMO_TEXT_IS_THERE};
    send(marker, e);
    finish();
    assert_int_equal(marker_of(0, 0)->schema, marker_of(0, 1)->schema);
    assert_int_equal(marker_of(0, 0)->value_count, 0);
    for (size_t i = 1; i < 3; i++) {
        const kymo_value *v = values_of(marker_of(0, i)) - 1;
        static const uint32_t absent[] = {KYMO_KIND_LITERAL, KYMO_KIND_STR,     KYMO_KIND_TEXT,
                                          KYMO_KIND_UTF16,   KYMO_KIND_TIME,    KYMO_KIND_FLOW,
                                          KYMO_KIND_OPT_I64, KYMO_KIND_OPT_U64, KYMO_KIND_OPT_F64};
        for (size_t k = 0; k < sizeof absent / sizeof *absent; k++)
            assert_int_equal(v[absent[k]].kind, KYMO_VALUE_NONE);
        assert_int_equal(v[KYMO_KIND_PTR].kind, KYMO_VALUE_POINTER);
        assert_int_equal(v[KYMO_KIND_BOOL].kind, KYMO_VALUE_BOOL);
    }
    /* Of the cells, the one that lies in the payload. */
    assert_int_equal(values_of(marker_of(0, 2))[KYMO_KIND_CELLS - 1].as.list.count, 1);
}

/* A file of markers that have none of many fields is small; so is what becomes of it. */
static void markers_without_values_cost_none(void **state)
{
    (void)state;
    kymo_event_marker_field fields[KYMO_SCHEMA_FIELDS_MAX];
    char keys[KYMO_SCHEMA_FIELDS_MAX][8];
    for (uint32_t i = 0; i < KYMO_SCHEMA_FIELDS_MAX; i++) {
        snprintf(keys[i], sizeof keys[i], "k%u", i);
        fields[i] = (kymo_event_marker_field){.key = keys[i], .kind = KYMO_KIND_U8};
    }
    add_type(0, "Wide", fields, KYMO_SCHEMA_FIELDS_MAX, KYMO_SCHEMA_FIELDS_MAX);
    add_site(0, 0, KYMO_SITE_MARKER, "wide", NULL);
    add_site(1, KYMO_EVENT_NONE, KYMO_SITE_VALUES, "values", "a");
    struct kymo_record_cell cells[KYMO_SCHEMA_FIELDS_MAX] = {{.kind = KYMO_KIND_U64}};
    kymo_event_marker e = plain(2, 1, KYMO_PHASE_INSTANT, 1);
    e.cells = KYMO_SCHEMA_FIELDS_MAX;
    e.payload = (const uint8_t *)cells;
    e.payload_bytes = sizeof cells;
    send(marker, e);
    for (uint32_t i = 0; i < 1000; i++) {
        send(marker, plain(0, 0, KYMO_PHASE_INSTANT, i));
        e = plain(1, 0, i % 2 ? KYMO_PHASE_END : KYMO_PHASE_BEGIN, i);
        e.id = i / 2 + 1;
        send(marker, e);
        send(marker, plain(2, 1, KYMO_PHASE_INSTANT, 1 + i));
    }
    finish();
    assert_int_equal(kymo_profile_markers(profile, 0).count, 1000);
    assert_int_equal(kymo_profile_markers(profile, 1).count, 500);
    assert_string_equal(text_of(kymo_profile_schema(profile, marker_of(0, 0)->schema)->name),
                        "Wide");
    assert_in_range(kymo_profile_count(profile, KYMO_TABLE_VALUES), 1, 32);
}

/* A row of a format may be short; its text is not longer than a record is. */
static void formatted_text_is_cut(void **state)
{
    (void)state;
    char format[KYMO_STRING_MAX];
    memset(format, 'x', sizeof format);
    memcpy(format + sizeof format - 3, "%d", 3);
    add_site(0, KYMO_EVENT_NONE, KYMO_SITE_FORMAT, "long", format);
    kymo_event_marker e = plain(0, 0, KYMO_PHASE_INSTANT, 1);
    send(marker, e);
    e.time_ns = 2;
    send(marker, e);
    finish();
    size_t len = strlen(value_text(values_of(marker_of(0, 0))));
    assert_in_range(len, 4000, 4100);
    assert_int_equal(values_of(marker_of(0, 0))->as.string, values_of(marker_of(0, 1))->as.string);
}

static void texts_are_valid_utf8(void **state)
{
    (void)state;
    struct {
        struct kymo_text_slot slot;
        char text[16];
    } payload = {.slot = {8, 5, KYMO_TEXT_IS_THERE}, .text = "a\xff\xc3z\0"};
    add_site(0, KYMO_EVENT_NONE, KYMO_SITE_TEXT, "bad \xff name", NULL);
    kymo_event_marker e = plain(0, 0, KYMO_PHASE_INSTANT, 100);
    e.payload = (const uint8_t *)&payload;
    e.payload_bytes = sizeof payload;
    send(marker, e);
    /* The cut fell into a character. */
    memcpy(payload.text, "caf\xc3", 4);
    payload.slot = (struct kymo_text_slot){8, 4, KYMO_TEXT_IS_THERE | KYMO_TEXT_IS_CUT};
    send(marker, e);
    e.name = "\xc3\xa9 and \xc3";
    e.payload_bytes = 0;
    send(marker, e);
    finish();
    assert_string_equal(text_of(marker_of(0, 0)->name), "bad \xef\xbf\xbd name");
    assert_string_equal(value_text(values_of(marker_of(0, 0))),
                        "a\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd");
    assert_string_equal(value_text(values_of(marker_of(0, 1))), "caf\xe2\x80\xa6");
    const kymo_schema *s = kymo_profile_schema(profile, marker_of(0, 0)->schema);
    assert_string_equal(text_of(s->name), "Text");
    assert_string_equal(text_of(marker_of(0, 2)->name), "\xc3\xa9 and \xef\xbf\xbd");
    assert_int_equal(marker_of(0, 2)->schema, KYMO_NONE);
}

static void formats_and_values_of_cells(void **state)
{
    (void)state;
    struct {
        struct kymo_record_cell cells[3];
        char text[8];
    } payload = {.cells = {{.kind = KYMO_KIND_STR},
                           {.kind = KYMO_KIND_I64, .value = (uint64_t)-3},
                           {.kind = KYMO_KIND_F64}},
                 .text = "disk\xff"};
    double f64 = 0.5;
    const struct kymo_text_slot slot = {sizeof payload.cells, 5, KYMO_TEXT_IS_THERE};
    memcpy(&payload.cells[0].value, &slot, sizeof slot);
    memcpy(&payload.cells[2].value, &f64, sizeof f64);
    add_site(0, KYMO_EVENT_NONE, KYMO_SITE_FORMAT, "load", "%s: %d of %.2f");
    add_site(1, KYMO_EVENT_NONE, KYMO_SITE_VALUES, "state", "what, f(a, \"x,)\"), b->c[1, 2]");
    kymo_event_marker e = plain(0, 0, KYMO_PHASE_INSTANT, 100);
    e.payload = (const uint8_t *)&payload;
    e.payload_bytes = sizeof payload;
    e.cells = 3;
    send(marker, e);
    e.site = 1;
    e.time_ns = 101;
    send(marker, e);
    e.cells = 2; /* fewer than there are names */
    send(marker, e);
    e.cells = 90000; /* more than there are bytes */
    send(marker, e);
    finish();
    assert_string_equal(value_text(values_of(marker_of(0, 0))), "disk\xef\xbf\xbd: -3 of 0.50");
    const kymo_marker *m = marker_of(0, 1);
    const kymo_schema *s = kymo_profile_schema(profile, m->schema);
    assert_string_equal(text_of(s->name), "state");
    assert_int_equal(s->field_count, 3);
    assert_string_equal(text_of(s->fields[1].label), "f(a, \"x,)\")");
    assert_string_equal(text_of(s->fields[1].key), "f_a_x");
    assert_int_equal(s->fields[1].format, KYMO_FORMAT_INTEGER);
    assert_string_equal(text_of(s->fields[2].label), "b->c[1, 2]");
    assert_int_equal(s->fields[2].format, KYMO_FORMAT_DECIMAL);
    assert_string_equal(text_of(s->chart),
                        "{marker.data.what}, {marker.data.f_a_x}, {marker.data.b_c_1_2}");
    assert_string_equal(value_text(values_of(m)), "disk\xef\xbf\xbd");
    assert_int_equal(values_of(m)[1].as.i64, -3);
    assert_true(values_of(m)[2].as.f64 == 0.5);
    assert_int_equal(values_of(marker_of(0, 2))[2].kind, KYMO_VALUE_NONE);
    assert_int_equal(marker_of(0, 3)->value_count, 3);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Payloads as long as they say and no longer, so that a sanitizer sees who reads beyond. */
static void payloads_of_any_bytes_are_read_within_bounds(void **state)
{
    (void)state;
    uint64_t random = 1;
    size_t sent = 0;
    send(literal, (kymo_event_named){.id = 0, .name = "GET"});
    add_type(0, "Everything", all_fields, ALL, sizeof(struct everything));
    add_site(0, 0, KYMO_SITE_MARKER, "typed", NULL);
    add_site(1, KYMO_EVENT_NONE, KYMO_SITE_TEXT, "text", NULL);
    add_site(2, KYMO_EVENT_NONE, KYMO_SITE_FORMAT, "format", "%s %*.*d %c %f %2$s %n %p %u");
    add_site(3, KYMO_EVENT_NONE, KYMO_SITE_VALUES, "values", "a, b, c");
    for (; sent < 20000; sent++) {
        size_t len = next_random(&random) % 400;
        uint8_t *payload = malloc(len ? len : 1);
        assert_non_null(payload);
        for (size_t i = 0; i < len; i++) {
            uint64_t bits = next_random(&random);
            payload[i] = (uint8_t)(bits & 1 ? bits >> 1 & 15 : bits >> 1); /* small ones, too */
        }
        kymo_event_marker e = plain(0, sent % 4, next_random(&random) % 4, sent);
        e.id = next_random(&random) % 4;
        e.cells = (uint32_t)(next_random(&random) % 40);
        e.is_open = next_random(&random) % 8 == 0;
        e.payload = payload;
        e.payload_bytes = (uint32_t)len;
        send(marker, e);
        free(payload);
    }
    finish();
    assert_in_range(kymo_profile_count(profile, KYMO_TABLE_MARKERS), sent / 2, sent);
}

/* ---- rows ---- */

static void a_marker_has_what_was_said(void **state)
{
    (void)state;
    send(marker_category, (kymo_event_marker_category){
                              .category = 1, .parent = 0, .color = KYMO_COLOR_RED, .name = "read"});
    send(site,
         (kymo_event_site){
             .type = KYMO_EVENT_NONE, .category = 1, .kind = KYMO_SITE_SCOPE, .name = "fetch"});
    send(track, (kymo_event_named){.id = 0, .name = "Decoder 2"});
    send(stack, (kymo_event_stack){
                    .flags = KYMO_EVENT_STACK_COMPLETE,
                    .depth = 1,
                    .frames = &(kymo_event_frame){.address = 0x1000, .module = KYMO_EVENT_NONE}});
    kymo_event_marker e = plain(1, 0, KYMO_PHASE_INTERVAL, 200);
    e.start_ns = 150;
    e.owner = 99;
    e.track = 0;
    e.stack = 0;
    send(marker, e);
    finish();
    const kymo_marker *m = marker_of(1, 0);
    assert_int_equal(m->start_ns, 150);
    assert_int_equal(m->end_ns, 200);
    assert_int_equal(m->phase, KYMO_MARKER_INTERVAL);
    assert_int_equal(m->owner, 99);
    assert_string_equal(text_of(m->track), "Decoder 2");
    assert_string_equal(text_of(m->name), "fetch");
    assert_int_equal(m->schema, KYMO_NONE);
    assert_int_not_equal(m->stack, KYMO_NONE);
    const kymo_marker_category *c = kymo_profile_marker_category(profile, m->category);
    assert_string_equal(text_of(c->name), "read");
    assert_int_equal(c->color, KYMO_COLOR_BLUE);
    assert_int_equal(kymo_profile_meta(profile)->end_ns, 200);
}

/* What there may be very many of is not kept; the recording is as long as before. */
static void markers_can_be_skipped(void **state)
{
    (void)state;
    kymo_ingest_skip_markers(ingest);
    add_site(0, KYMO_EVENT_NONE, KYMO_SITE_SCOPE, "fetch", NULL);
    send(counter, (kymo_event_counter){.counter = 0, .category = 0, .name = "sent"});
    send(marker, plain(1, 0, KYMO_PHASE_INTERVAL, 200));
    send(marker, plain(1, 0, KYMO_PHASE_BEGIN, 300));
    send(count, (kymo_event_count){.counter = 0, .time_ns = 400, .value = 1});
    send(label, (kymo_event_label){.thread = 1,
                                   .change = KYMO_LABEL_PUSHED,
                                   .kind = KYMO_KIND_U64,
                                   .time_ns = 500,
                                   .key = "key"});
    finish();
    assert_int_equal(kymo_profile_count(profile, KYMO_TABLE_MARKERS), 0);
    assert_int_equal(kymo_profile_meta(profile)->end_ns, 400);
}

/* ---- counters, losses ---- */

static void counters_and_counts(void **state)
{
    (void)state;
    send(counter, (kymo_event_counter){.process = 1,
                                       .kind = KYMO_COUNTER_GAUGE,
                                       .flags = KYMO_COUNTER_RATE,
                                       .color = KYMO_COLOR_ORANGE,
                                       .name = "Queue",
                                       .unit = "requests"});
    send(count, (kymo_event_count){.process = 1, .time_ns = 20, .value = -4, .operations = 3});
    send(count, (kymo_event_count){.process = 1, .time_ns = 10, .value = 4, .operations = 1});
    finish();
    const kymo_counter *c = kymo_profile_counter(profile, 0);
    assert_int_equal(c->process, 1);
    assert_int_equal(c->kind, KYMO_COUNTER_GAUGE);
    assert_int_equal(c->flags, KYMO_COUNTER_RATE);
    assert_string_equal(text_of(c->name), "Queue");
    assert_string_equal(text_of(c->unit), "requests");
    kymo_counts counts = kymo_profile_counts(profile, 0);
    assert_int_equal(counts.count, 2);
    assert_int_equal(counts.time_ns[0], 10);
    assert_int_equal(counts.value[1], -4);
    assert_int_equal(counts.operations[1], 3);
}

static void losses_are_told(void **state)
{
    (void)state;
    add_site(0, KYMO_EVENT_NONE, KYMO_SITE_MARKER, "request", NULL);
    add_site(1, KYMO_EVENT_NONE, KYMO_SITE_MARKER, "request", NULL);
    add_site(2, KYMO_EVENT_NONE, KYMO_SITE_MARKER, "log", NULL);
    add_site(3, KYMO_EVENT_NONE, KYMO_SITE_MARKER, "quiet", NULL);
    send(site_counts, (kymo_event_site_counts){.site = 0, .lost = 1});
    send(site_counts, (kymo_event_site_counts){.site = 0, .lost = 5}); /* the last one counts */
    send(site_counts, (kymo_event_site_counts){.site = 1, .lost = 2, .capped = 3});
    send(site_counts, (kymo_event_site_counts){.site = 2, .cut = 1});
    send(site_counts, (kymo_event_site_counts){.site = 3});
    finish();
    assert_int_equal(kymo_profile_count(profile, KYMO_TABLE_MARKER_LOSSES), 2);
    assert_int_equal(kymo_profile_marker_losses(profile, 0)->lost, 7);
    assert_int_equal(kymo_profile_marker_losses(profile, 0)->capped, 3);
    kymo_ingest_extra extra = kymo_ingest_get_extra(ingest);
    assert_int_equal(extra.note_count, 2);
    assert_string_equal(
        note(0), "markers \"request\": 7 lost for want of room, 3 above the limit of their type");
    assert_int_equal(extra.notes[0].severity, KYMO_NOTE_WARNING);
    assert_string_equal(note(1), "markers \"log\": 1 text cut");
    assert_int_equal(extra.notes[1].severity, KYMO_NOTE_INFO);
}

static void unknown_ids_are_refused(void **state)
{
    (void)state;
    add_site(0, KYMO_EVENT_NONE, KYMO_SITE_MARKER, "m", NULL);
    kymo_event_marker wrong[5];
    for (size_t i = 0; i < 5; i++)
        wrong[i] = plain(0, 0, KYMO_PHASE_INSTANT, 1);
    wrong[0].thread = 4;
    wrong[1].site = 1;
    wrong[2].phase = 4;
    wrong[3].stack = 0;
    wrong[4].track = 0;
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(kymo_ingest_handler.marker(ingest, &wrong[i]), KYMO_E_INVALID);
    kymo_event_site site = {.site = 1, .type = 0};
    assert_int_equal(kymo_ingest_handler.site(ingest, &site), KYMO_E_INVALID);
    site = (kymo_event_site){.site = 2, .type = KYMO_EVENT_NONE};
    assert_int_equal(kymo_ingest_handler.site(ingest, &site), KYMO_E_INVALID);
    kymo_event_count count = {.counter = 0};
    assert_int_equal(kymo_ingest_handler.count(ingest, &count), KYMO_E_INVALID);
    kymo_event_label label = {.thread = 4, .change = KYMO_LABEL_POPPED};
    assert_int_equal(kymo_ingest_handler.label(ingest, &label), KYMO_E_INVALID);
    label = (kymo_event_label){.change = 0};
    assert_int_equal(kymo_ingest_handler.label(ingest, &label), KYMO_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_kind_is_read, begin, end),
        cmocka_unit_test_setup_teardown(what_is_absent_or_outside_is_no_value, begin, end),
        cmocka_unit_test_setup_teardown(markers_without_values_cost_none, begin, end),
        cmocka_unit_test_setup_teardown(formatted_text_is_cut, begin, end),
        cmocka_unit_test_setup_teardown(texts_are_valid_utf8, begin, end),
        cmocka_unit_test_setup_teardown(formats_and_values_of_cells, begin, end),
        cmocka_unit_test_setup_teardown(payloads_of_any_bytes_are_read_within_bounds, begin, end),
        cmocka_unit_test_setup_teardown(a_marker_has_what_was_said, begin, end),
        cmocka_unit_test_setup_teardown(markers_can_be_skipped, begin, end),
        cmocka_unit_test_setup_teardown(counters_and_counts, begin, end),
        cmocka_unit_test_setup_teardown(losses_are_told, begin, end),
        cmocka_unit_test_setup_teardown(unknown_ids_are_refused, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
