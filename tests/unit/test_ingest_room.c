/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest_marks_fixture.h"

#include "profile/tables.h"

static const char *note_with(const char *part)
{
    kymo_ingest_extra extra = kymo_ingest_get_extra(ingest);
    for (size_t i = 0; i < extra.note_count; i++)
        if (strstr(extra.notes[i].text, part)) {
            assert_int_equal(extra.notes[i].severity, KYMO_NOTE_ERROR);
            return extra.notes[i].text;
        }
    fail_msg("no note has: %s", part);
    return "";
}

static void send_text(const char *text)
{
    struct {
        struct kymo_text_slot slot;
        char text[128];
    } payload = {.slot = {8, (uint16_t)strlen(text), KYMO_TEXT_IS_THERE}};
    memcpy(payload.text, text, strlen(text));
    kymo_event_marker e = plain(0, 0, KYMO_PHASE_INSTANT, 100);
    e.payload = (const uint8_t *)&payload;
    e.payload_bytes = sizeof payload;
    send(marker, e);
}

static const char *text_of_marker(size_t i)
{
    const kymo_marker *m = marker_of(0, i);
    assert_int_equal(m->value_count, 1);
    return text_of(kymo_profile_values(profile, m->first_value, 1)->as.string);
}

static void texts_without_room_are_counted(void **state)
{
    (void)state;
    char text[101];
    add_site(0, KYMO_EVENT_NONE, KYMO_SITE_TEXT, "log", NULL);
    send_text("is known");
    profile->string_bytes = KYMO_STRING_BYTES_MAX / 2 - 4096;
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "%0100d", i);
        send_text(text);
    }
    send_text("is known");
    snprintf(text, sizeof text, "%0100d", 100);
    send(label, (kymo_event_label){.time_ns = 50,
                                   .change = KYMO_LABEL_PUSHED,
                                   .kind = KYMO_KIND_STR,
                                   .key = "is known",
                                   .text = text});
    kymo_event_marker e = plain(0, 0, KYMO_PHASE_INSTANT, 200);
    e.name = text;
    send(marker, e);
    const kymo_event_sample samples[] = {{.time_ns = 10, .stack = KYMO_EVENT_NONE},
                                         {.time_ns = 60, .stack = KYMO_EVENT_NONE}};
    send(samples, (kymo_event_samples){.count = 2, .samples = samples});
    finish();
    assert_int_equal(kymo_profile_count(profile, KYMO_TABLE_MARKERS), 103);
    assert_int_equal(kymo_profile_samples(profile, 0).count, 2);
    assert_string_equal(text_of_marker(0), "is known");
    assert_int_equal(strlen(text_of_marker(1)), 100);
    assert_string_equal(text_of_marker(100), "[text left out]");
    assert_string_equal(text_of_marker(101), "is known");
    assert_string_equal(labels_of(marker_of(0, 0)->labels), "is known=[text left out]");
    assert_string_equal(text_of(marker_of(0, 102)->name), "[text left out]");
    /* 4096 bytes are 40 texts. */
    assert_string_equal(note_with("texts"),
                        "more texts of markers and labels than a profile holds: 62 left out");
}

static void markers_without_room_are_counted(void **state)
{
    (void)state;
    add_site(0, KYMO_EVENT_NONE, KYMO_SITE_MARKER, "m", NULL);
    profile->marker_count = KYMO_MARKERS_MAX - 3;
    for (uint64_t i = 0; i < 5; i++)
        send(marker, plain(0, 0, KYMO_PHASE_INSTANT, 100 + i));
    kymo_event_marker e = plain(0, 0, KYMO_PHASE_BEGIN, 200);
    e.id = 1;
    send(marker, e);
    e.phase = KYMO_PHASE_END;
    send(marker, e);
    e.id = 2;
    send(marker, e);
    finish();
    assert_int_equal(kymo_profile_markers(profile, 0).count, 3);
    assert_string_equal(note_with("markers"), "more markers than a profile holds: 4 left out");
}

static void counts_without_room_are_counted(void **state)
{
    (void)state;
    send(counter, (kymo_event_counter){.kind = KYMO_COUNTER_GAUGE, .name = "Queue"});
    profile->count_count = KYMO_COUNTS_MAX - 1;
    send(count, (kymo_event_count){.time_ns = 10, .value = 4});
    send(count, (kymo_event_count){.time_ns = 20, .value = 5});
    finish();
    assert_int_equal(kymo_profile_counts(profile, 0).count, 1);
    assert_string_equal(note_with("counters"),
                        "more values of counters than a profile holds: 1 left out");
}

static void label_sets_without_room_are_counted(void **state)
{
    (void)state;
    const kymo_event_label label = {
        .time_ns = 50, .change = KYMO_LABEL_PUSHED, .kind = KYMO_KIND_U64, .key = "request"};
    add_site(0, KYMO_EVENT_NONE, KYMO_SITE_MARKER, "m", NULL);
    send(label, label);
    send(marker, plain(0, 0, KYMO_PHASE_INSTANT, 100));
    profile->labels.len = KYMO_LABELS_MAX;
    finish();
    profile->labels.len = 0;
    assert_int_equal(marker_of(0, 0)->labels, KYMO_NONE);
    assert_string_equal(note_with("labels"),
                        "more changes and sets of labels than a profile holds: 1 left out");
}

/* A type that finds no room has no fields; counters that find none have no values. */
static void definitions_without_room_are_counted(void **state)
{
    (void)state;
    static const kymo_event_marker_field field = {"a", NULL, KYMO_KIND_U64, KYMO_FORMAT_INTEGER, 0};
    char name[32];
    for (uint32_t i = 0; i <= KYMO_SCHEMAS_MAX; i++) {
        snprintf(name, sizeof name, "type %u", i);
        send(marker_type, (kymo_event_marker_type){.type = i,
                                                   .name = name,
                                                   .fields = &field,
                                                   .field_count = 1,
                                                   .payload_bytes = sizeof(uint64_t)});
    }
    for (uint32_t i = 0; i <= KYMO_COUNTERS_MAX; i++)
        send(counter, (kymo_event_counter){.counter = i, .name = "Queue"});
    /* "Network" is there. */
    for (uint32_t i = 1; i <= KYMO_MARKER_CATEGORIES_MAX; i++) {
        snprintf(name, sizeof name, "category %u", i);
        send(marker_category,
             (kymo_event_marker_category){.category = i, .parent = KYMO_EVENT_NONE, .name = name});
    }
    send(count, (kymo_event_count){.counter = KYMO_COUNTERS_MAX, .time_ns = 10, .value = 4});
    send(site, (kymo_event_site){.type = KYMO_SCHEMAS_MAX,
                                 .category = KYMO_MARKER_CATEGORIES_MAX,
                                 .kind = KYMO_SITE_MARKER,
                                 .name = "m"});
    kymo_event_marker e = plain(0, 0, KYMO_PHASE_INSTANT, 100);
    e.payload = (const uint8_t *)&(uint64_t){7};
    e.payload_bytes = sizeof(uint64_t);
    send(marker, e);
    finish();
    assert_int_equal(marker_of(0, 0)->schema, KYMO_NONE);
    assert_int_equal(marker_of(0, 0)->category, KYMO_NONE);
    assert_string_equal(note_with("categories"),
                        "more categories, types and counters than a profile holds: 3 left out");
    assert_string_equal(note_with("values"),
                        "more values of counters than a profile holds: 1 left out");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(texts_without_room_are_counted, begin, end),
        cmocka_unit_test_setup_teardown(markers_without_room_are_counted, begin, end),
        cmocka_unit_test_setup_teardown(counts_without_room_are_counted, begin, end),
        cmocka_unit_test_setup_teardown(label_sets_without_room_are_counted, begin, end),
        cmocka_unit_test_setup_teardown(definitions_without_room_are_counted, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
