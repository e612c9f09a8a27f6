/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest_marks_fixture.h"

#include "base/str.h"

static void types_of_a_name_merge_or_are_told_apart(void **state)
{
    (void)state;
    const kymo_event_marker_field one[] = {{"url", "URL", KYMO_KIND_STR, KYMO_FORMAT_URL, 0}};
    const kymo_event_marker_field other[] = {{"url", "URL", KYMO_KIND_STR, KYMO_FORMAT_STRING, 0}};
    add_type(0, "Request", one, 1, 8);
    add_type(1, "Request", one, 1, 8);
    add_type(2, "Request", other, 1, 8);
    for (uint32_t i = 0; i < 3; i++) {
        add_site(i, i, KYMO_SITE_MARKER, "request", NULL);
        send(marker, plain(0, i, KYMO_PHASE_INSTANT, 100 + i));
    }
    finish();
    assert_int_equal(marker_of(0, 0)->schema, marker_of(0, 1)->schema);
    assert_int_not_equal(marker_of(0, 0)->schema, marker_of(0, 2)->schema);
    assert_string_equal(text_of(kymo_profile_schema(profile, marker_of(0, 2)->schema)->name),
                        "Request (2)");
    assert_int_equal(kymo_ingest_get_extra(ingest).note_count, 1);
    assert_non_null(strstr(note(0), "\"Request\""));
    assert_non_null(strstr(note(0), "a.c:7"));
    assert_non_null(strstr(note(0), "\"Request (2)\""));
}

/* A plugin of another version describes what it has in other words. */
static void types_that_only_look_different_are_one(void **state)
{
    (void)state;
    const kymo_event_marker_field one = {"url", "URL", KYMO_KIND_STR, KYMO_FORMAT_URL, 0};
    const kymo_event_marker_field other = {"url", "Address", KYMO_KIND_STR, KYMO_FORMAT_URL,
                                           KYMO_FIELD_HIDDEN};
    kymo_event_marker_type type = {.name = "Request",
                                   .file = "plugin.c",
                                   .line = 12,
                                   .description = "What was asked",
                                   .fields = &one,
                                   .field_count = 1,
                                   .payload_bytes = sizeof(struct kymo_text_slot)};
    send(marker_type, type);
    for (type.type = 1; type.type < 4; type.type++) {
        type.description = "What is asked";
        type.chart = "{marker.data.url}";
        type.fields = &other;
        send(marker_type, type);
    }
    finish();
    assert_int_equal(kymo_profile_count(profile, KYMO_TABLE_SCHEMAS), 1);
    const kymo_schema *s = kymo_profile_schema(profile, 0);
    assert_string_equal(text_of(s->description), "What was asked");
    assert_string_equal(text_of(s->fields[0].label), "URL");
    kymo_ingest_extra extra = kymo_ingest_get_extra(ingest);
    assert_int_equal(extra.note_count, 1); /* and not for each process that has it */
    assert_int_equal(extra.notes[0].severity, KYMO_NOTE_INFO);
    assert_non_null(strstr(note(0), "\"Request\""));
    assert_non_null(strstr(note(0), "plugin.c:12"));
}

/* Characters of three bytes, of which a note's room holds no whole number. */
static void notes_quote_whole_characters(void **state)
{
    (void)state;
    char name[601];
    const kymo_event_marker_field one = {"a", NULL, KYMO_KIND_U8, KYMO_FORMAT_INTEGER, 0};
    const kymo_event_marker_field other = {"b", NULL, KYMO_KIND_U8, KYMO_FORMAT_INTEGER, 0};
    for (size_t i = 0; i < sizeof name; i++)
        name[i] = "\xe2\x82\xac"[i % 3];
    name[sizeof name - 1] = '\0';
    for (uint32_t i = 0; i < 2; i++)
        send(marker_type, (kymo_event_marker_type){.type = i,
                                                   .name = name,
                                                   .file = name,
                                                   .line = 77,
                                                   .tooltip = i ? "{" : NULL,
                                                   .fields = i ? &other : &one,
                                                   .field_count = 1,
                                                   .payload_bytes = 1});
    add_site(0, 0, KYMO_SITE_MARKER, name, NULL);
    send(site_counts, (kymo_event_site_counts){.site = 0, .lost = 1});
    finish();
    assert_int_equal(kymo_ingest_get_extra(ingest).note_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(kymo_utf8_valid_prefix(note(i), strlen(note(i))), strlen(note(i)));
    assert_non_null(strstr(note(1), ":77 is shown as")); /* none of it ran out of room */
}

/* A name that is put right is not another one. */
static void a_name_of_bad_bytes_is_no_other(void **state)
{
    (void)state;
    const kymo_event_marker_field one = {"a", NULL, KYMO_KIND_U8, KYMO_FORMAT_INTEGER, 0};
    add_type(0, "bad \xff", &one, 1, 1);
    add_type(1, "bad \xff", &one, 1, 1);
    finish();
    assert_int_equal(kymo_ingest_get_extra(ingest).note_count, 0);
    assert_int_equal(kymo_profile_count(profile, KYMO_TABLE_SCHEMAS), 1);
}

static void types_are_put_right(void **state)
{
    (void)state;
    const kymo_event_marker_field fields[] = {
        {"a", NULL, KYMO_KIND_STR, KYMO_FORMAT_BYTES, 0},
        {"a", "Again", KYMO_KIND_U32, KYMO_FORMAT_URL, KYMO_FIELD_HIDDEN},
        {"", "No key", KYMO_KIND_FLOW, KYMO_FORMAT_TERMINATING_FLOW_ID, 0},
        {"rows", "Rows|Name:string|Size:bytes", KYMO_KIND_CELLS, KYMO_FORMAT_TABLE, 0},
        {"list", "A|B", KYMO_KIND_CELLS, 999, 0},
        {"ns", NULL, KYMO_KIND_NS, KYMO_FORMAT_MICROSECONDS, 0},
        {"trace", NULL, KYMO_KIND_U64, KYMO_FORMAT_FLOW_ID, 0}, /* which is no flow */
        {"at", NULL, KYMO_KIND_PTR, KYMO_FORMAT_TERMINATING_FLOW_ID, 0},
    };
    const kymo_event_marker_row row = {"See", "the manual"};
    const kymo_event_marker_graph graphs[] = {{"ns", KYMO_GRAPH_BAR, KYMO_COLOR_RED},
                                              {"none", KYMO_GRAPH_BAR, KYMO_COLOR_RED},
                                              {"a", 99, 99}};
    send(marker_type,
         (kymo_event_marker_type){.name = "T",
                                  .show = 0,
                                  .is_stack_based = 1,
                                  .field_count = 8,
                                  .row_count = 1,
                                  .graph_count = 3,
                                  .chart = "{marker.data.ns} {marker.data.rows ? 'a' : 'b'}",
                                  .tooltip = "{marker.name} {marker.data.unknown}",
                                  .table = "{marker.name",
                                  .description = "What it is",
                                  .color_key = "gone",
                                  .fields = fields,
                                  .rows = &row,
                                  .graphs = graphs,
                                  .payload_bytes = 64});
    const kymo_schema *s = kymo_profile_schema(profile, 0);
    assert_int_equal(s->show, KYMO_SHOW_CHART | KYMO_SHOW_TABLE);
    assert_int_equal(s->is_stack_based, 1);
    assert_int_equal(s->fields[0].format, KYMO_FORMAT_STRING);
    assert_string_equal(text_of(s->fields[0].label), "");
    assert_int_equal(s->fields[1].format, KYMO_FORMAT_INTEGER);
    assert_int_equal(s->fields[1].flags, KYMO_FIELD_HIDDEN);
    assert_string_equal(text_of(s->fields[1].key), "a_2");
    assert_string_equal(text_of(s->fields[2].key), "value");
    assert_int_equal(s->fields[2].format, KYMO_FORMAT_TERMINATING_FLOW_ID);
    assert_string_equal(text_of(s->fields[3].label), "Rows");
    assert_string_equal(text_of(s->fields[3].columns), "Name:string|Size:bytes");
    assert_string_equal(text_of(s->fields[4].label), "A|B");
    assert_int_equal(s->fields[4].format, KYMO_FORMAT_LIST);
    assert_int_equal(s->fields[5].format, KYMO_FORMAT_MICROSECONDS);
    assert_int_equal(s->fields[6].format, KYMO_FORMAT_INTEGER);
    assert_int_equal(s->fields[7].format, KYMO_FORMAT_HEXADECIMAL);
    assert_string_equal(text_of(s->chart), "{marker.data.ns} {marker.data.rows ? 'a' : 'b'}");
    assert_string_equal(text_of(s->tooltip), "");
    assert_string_equal(text_of(s->table), "");
    assert_string_equal(text_of(s->description), "What it is");
    assert_string_equal(text_of(s->color_key), "");
    assert_string_equal(text_of(s->rows[0].value), "the manual");
    assert_int_equal(s->graph_count, 2);
    assert_string_equal(text_of(s->graphs[0].key), "ns");
    assert_int_equal(s->graphs[0].color, KYMO_COLOR_RED);
    assert_int_equal(s->graphs[1].kind, KYMO_GRAPH_LINE);
    /* Nothing of it is changed without a word: five formats, and two labels. */
    assert_int_equal(kymo_ingest_get_extra(ingest).note_count, 7);
    assert_non_null(strstr(note(0), "the field \"a\" cannot be shown in the format"));
    assert_non_null(strstr(note(5), "unknown"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(types_of_a_name_merge_or_are_told_apart, begin, end),
        cmocka_unit_test_setup_teardown(types_that_only_look_different_are_one, begin, end),
        cmocka_unit_test_setup_teardown(notes_quote_whole_characters, begin, end),
        cmocka_unit_test_setup_teardown(a_name_of_bad_bytes_is_no_other, begin, end),
        cmocka_unit_test_setup_teardown(types_are_put_right, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
