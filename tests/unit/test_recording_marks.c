/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Markers, counters and labels in .kymo files: what goes in comes out, in few bytes, and what
 * refers to nothing does not.
 */
#include "recording_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "buffer/record.h"
#include "kymo/marker_abi.h"
#include "recording/recording_format.h"
#include "recording/sample_marks.h"

#define NONE KYMO_EVENT_NONE
#define THERE KYMO_TEXT_IS_THERE
#define LITERAL (KYMO_TEXT_IS_THERE | KYMO_TEXT_IS_LITERAL)

/* ---- what goes in comes out -------------------------------------------------------------------
 */

/* Of everything that is announced; the same events with numbers as a reader gives them, or not. */
static uint32_t id_base;
#define ID(n) (id_base + (n))

static char long_text[KYMO_FILE_MARK_TEXT_MAX + 1];
static unsigned char long_payload[KYMO_FILE_PAYLOAD_MAX];

static kymo_err emit_large_type(const kymo_event_handler *h, void *ctx)
{
    static kymo_event_marker_field fields[KYMO_FILE_FIELDS_MAX];
    static kymo_event_marker_row rows[KYMO_FILE_FIELDS_MAX];
    static kymo_event_marker_graph graphs[KYMO_FILE_FIELDS_MAX];
    for (uint32_t i = 0; i < KYMO_FILE_FIELDS_MAX; i++) {
        fields[i] = (kymo_event_marker_field){.key = "key",
                                              .label = i % 2 ? "label" : "",
                                              .kind = 1 + i % (KYMO_KIND_COUNT - 1),
                                              .format = i % KYMO_FORMAT_COUNT,
                                              .flags = UINT32_MAX - i};
        rows[i] = (kymo_event_marker_row){"label", i % 2 ? "" : "value"};
        graphs[i] = (kymo_event_marker_graph){"key", i % 3, i % KYMO_COLOR_COUNT};
    }
    return h->marker_type(ctx, &(kymo_event_marker_type){.process = ID(0),
                                                         .type = ID(0),
                                                         .show = UINT32_MAX,
                                                         .is_stack_based = UINT32_MAX,
                                                         .max_per_second = UINT32_MAX,
                                                         .payload_bytes = KYMO_FILE_PAYLOAD_MAX,
                                                         .field_count = KYMO_FILE_FIELDS_MAX,
                                                         .row_count = KYMO_FILE_FIELDS_MAX,
                                                         .graph_count = KYMO_FILE_FIELDS_MAX,
                                                         .line = UINT32_MAX,
                                                         .name = long_text,
                                                         .fields = fields,
                                                         .rows = rows,
                                                         .graphs = graphs});
}

static kymo_err emit_large_markers(const kymo_event_handler *h, void *ctx)
{
    static struct kymo_record_cell cells[KYMO_FILE_PAYLOAD_MAX / sizeof(struct kymo_record_cell)];
    struct kymo_text_slot rest = {8, UINT16_MAX - 7, THERE};
    struct kymo_text_slot literal = {ID(0), 0, LITERAL};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(cells); i++) {
        cells[i].kind = KYMO_KIND_STR;
        memcpy(&cells[i].value, &literal, sizeof literal);
    }
    memset(long_payload, 0, sizeof long_payload);
    const kymo_event_marker most = {
        .thread = ID(0),
        .site = ID(0),
        .phase = KYMO_PHASE_END,
        .stack = ID(0),
        .time_ns = KYMO_FILE_TIME_MAX,
        .start_ns = 1,
        .id = UINT64_MAX,
        .owner = UINT64_MAX,
        .made_ns = 1,
        .maker = ID(0),
        .track = ID(0),
        .name = long_text,
        .payload = long_payload,
        .payload_bytes = sizeof long_payload,
        .is_open = 1,
    };
    KYMO_TRY(h->marker(ctx, &most));
    const kymo_event_marker least = {
        .thread = ID(0), .site = ID(0), .stack = NONE, .time_ns = 1, .track = NONE};
    KYMO_TRY(h->marker(ctx, &least));
    kymo_event_marker with_cells = least;
    with_cells.site = ID(1);
    with_cells.time_ns = KYMO_FILE_TIME_MAX;
    with_cells.cells = KYMO_ARRAY_LEN(cells);
    with_cells.payload = (const uint8_t *)cells;
    with_cells.payload_bytes = sizeof cells;
    KYMO_TRY(h->marker(ctx, &with_cells));
    kymo_event_marker with_text = least;
    memcpy(long_payload, &rest, sizeof rest);
    with_text.site = ID(2);
    with_text.payload = long_payload;
    with_text.payload_bytes = sizeof long_payload;
    with_text.name = "";
    return h->marker(ctx, &with_text);
}

static kymo_err emit_large_values(const kymo_event_handler *h, void *ctx)
{
    static const int64_t values[] = {INT64_MIN, INT64_MAX, -1, 0, 63, 64, -64, -65};
    static const uint64_t numbers[] = {UINT64_MAX, 0, 127, 128, 1ull << 63, 1, 2, 3};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(numbers); i++)
        KYMO_TRY(h->label(ctx, &(kymo_event_label){.thread = ID(0),
                                                   .change = 1 + (uint32_t)i % 3,
                                                   .depth = UINT32_MAX - (uint32_t)i,
                                                   .kind = i % 2 ? KYMO_KIND_I64 : KYMO_KIND_F64,
                                                   .time_ns = i % 2 ? 1 : KYMO_FILE_TIME_MAX,
                                                   .number = numbers[i],
                                                   .key = i % 2 ? long_text : "k"}));
    KYMO_TRY(h->label(ctx, &(kymo_event_label){.thread = ID(0),
                                               .change = KYMO_LABEL_INHERITED,
                                               .depth = UINT32_MAX,
                                               .time_ns = KYMO_FILE_TIME_MAX,
                                               .from_process = ID(0),
                                               .from_tid = INT32_MIN,
                                               .fork_ns = 1}));
    KYMO_TRY(h->label(ctx, &(kymo_event_label){.thread = ID(0),
                                               .change = KYMO_LABEL_PUSHED,
                                               .kind = KYMO_KIND_TEXT,
                                               .time_ns = 7,
                                               .key = long_text,
                                               .text = long_text}));
    KYMO_TRY(emit_large_markers(h, ctx));
    for (size_t i = 0; i < KYMO_ARRAY_LEN(values); i++)
        KYMO_TRY(h->count(ctx, &(kymo_event_count){.process = ID(0),
                                                   .counter = ID(0),
                                                   .time_ns = i % 2 ? 1 : KYMO_FILE_TIME_MAX,
                                                   .value = values[i],
                                                   .operations = numbers[i]}));
    return KYMO_OK;
}

static kymo_err emit_extremes(const kymo_event_handler *h, void *ctx)
{
    static const kymo_event_frame frame = {0x1234, NONE, 0};
    KYMO_TRY(h->meta(ctx, &(kymo_event_meta){.start_ns = 5, .host = "h"}));
    KYMO_TRY(h->process(ctx, &(kymo_event_process){.process = ID(0), .pid = 1}));
    KYMO_TRY(
        h->thread(ctx, &(kymo_event_thread){.thread = ID(0), .process = ID(0), .tid = INT32_MAX}));
    KYMO_TRY(h->marker_category(
        ctx, &(kymo_event_marker_category){ID(0), ID(0), NONE, 0, UINT32_MAX, long_text}));
    KYMO_TRY(h->marker_category(
        ctx, &(kymo_event_marker_category){ID(0), ID(1), ID(0), KYMO_COLOR_COUNT - 1, 0, ""}));
    KYMO_TRY(emit_large_type(h, ctx));
    KYMO_TRY(h->literal(ctx, &(kymo_event_named){ID(0), ID(0), long_text}));
    KYMO_TRY(h->track(ctx, &(kymo_event_named){ID(0), ID(0), long_text}));
    static const uint32_t kinds[] = {KYMO_SITE_SCOPE, KYMO_SITE_VALUES, KYMO_SITE_TEXT};
    for (uint32_t i = 0; i < KYMO_ARRAY_LEN(kinds); i++)
        KYMO_TRY(h->site(ctx, &(kymo_event_site){.process = ID(0),
                                                 .site = ID(i),
                                                 .category = i < 2 ? ID(i) : NONE,
                                                 .type = i ? NONE : ID(0),
                                                 .kind = kinds[i],
                                                 .line = UINT32_MAX,
                                                 .min_ns = UINT64_MAX,
                                                 .name = long_text,
                                                 .format = long_text,
                                                 .file = long_text,
                                                 .function = long_text}));
    KYMO_TRY(h->site_counts(
        ctx, &(kymo_event_site_counts){ID(0), ID(0), UINT64_MAX, UINT64_MAX, UINT64_MAX}));
    KYMO_TRY(h->counter(ctx, &(kymo_event_counter){.process = ID(0),
                                                   .counter = ID(0),
                                                   .category = ID(0),
                                                   .kind = KYMO_COUNTER_GAUGE,
                                                   .flags = UINT32_MAX,
                                                   .color = KYMO_COLOR_COUNT - 1,
                                                   .name = long_text}));
    KYMO_TRY(h->stack(
        ctx, &(kymo_event_stack){.process = ID(0), .stack = ID(0), .depth = 1, .frames = &frame}));
    KYMO_TRY(emit_large_values(h, ctx));
    return h->end(ctx, &(kymo_event_end){.clean = 1});
}

static void extreme_values_come_back(void **state)
{
    (void)state;
    kymo_str expected = {0}, text = {0};
    memset(long_text, 'x', sizeof long_text - 1);
    id_base = 0;
    assert_int_equal(emit_extremes(&event_text_handler, &expected), KYMO_OK);
    static const uint32_t bases[] = {0, 1, UINT16_MAX, NONE - 3};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(bases); i++) {
        id_base = bases[i];
        kymo_bytes file = file_of(emit_extremes);
        kymo_recording_report report = read_into(&file, &text);
        assert_string_equal(report.text, "");
        /* Large as they are, events went out as they came, in chunks of some rows each. */
        assert_string_equal(kymo_str_cstr(&text), kymo_str_cstr(&expected));
        kymo_str_deinit(&text);
        kymo_bytes_deinit(&file);
    }
    kymo_str_deinit(&expected);
}

enum { MANY = 100000, MANY_THREADS = 3 };

static kymo_err emit_many_start(const kymo_event_handler *h, void *ctx)
{
    KYMO_TRY(h->meta(ctx, &(kymo_event_meta){.start_ns = 5, .host = "h"}));
    KYMO_TRY(h->process(ctx, &(kymo_event_process){.pid = 1}));
    for (uint32_t i = 0; i < MANY_THREADS; i++)
        KYMO_TRY(h->thread(ctx, &(kymo_event_thread){.thread = i, .tid = (int32_t)i + 1}));
    KYMO_TRY(h->marker_category(ctx, &(kymo_event_marker_category){.parent = NONE}));
    KYMO_TRY(h->counter(ctx, &(kymo_event_counter){.kind = KYMO_COUNTER_TOTAL}));
    return h->site(ctx, &(kymo_event_site){.type = NONE, .kind = KYMO_SITE_SCOPE});
}

/* As a drain finds them: a batch of one thread, then one of the next that began earlier. */
static kymo_err emit_many(const kymo_event_handler *h, void *ctx)
{
    KYMO_TRY(emit_many_start(h, ctx));
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t batch = i / 100;
        uint64_t time = 1000000000ull + batch / MANY_THREADS * 10000000ull + i % 100 * 50000 +
                        (uint64_t)i * 7919 % 1000;
        KYMO_TRY(h->marker(ctx, &(kymo_event_marker){.thread = batch % MANY_THREADS,
                                                     .phase = KYMO_PHASE_INTERVAL,
                                                     .stack = NONE,
                                                     .time_ns = time,
                                                     .start_ns = time - 1000 - i % 5000,
                                                     .track = NONE}));
    }
    for (uint32_t i = 0; i < MANY; i++)
        KYMO_TRY(h->count(ctx, &(kymo_event_count){
                                   .time_ns = 1000000000ull + i * 20000000ull,
                                   .value = i * 300,
                                   .operations = i,
                               }));
    return h->end(ctx, &(kymo_event_end){.clean = 1});
}

/* Without the times and so on: what the file is measured against. */
static void many_rows_are_small(void **state)
{
    (void)state;
    kymo_str expected = {0}, text = {0};
    kymo_bytes file = file_of(emit_many);
    kymo_bytes start = file_of(emit_many_start);
    assert_int_equal(emit_many(&event_text_handler, &expected), KYMO_OK);
    kymo_recording_report report = read_into(&file, &text);
    assert_string_equal(report.text, "");
    assert_string_equal(kymo_str_cstr(&text), kymo_str_cstr(&expected));
    /* Length, flags, site, 3 of time, 2 of duration; length, counter, 4 of time, 4 of value, 3 of
     * operations. Heads of groups and chunks on top. */
    assert_true(file.len - start.len < MANY * (8 + 13 + 1ull));
    kymo_str_deinit(&expected);
    kymo_str_deinit(&text);
    kymo_bytes_deinit(&start);
    kymo_bytes_deinit(&file);
}

static void what_no_reader_would_take_is_refused(void **state)
{
    (void)state;
    kymo_recording_writer *w;
    int fd = memfd_create("w", MFD_CLOEXEC);
    assert_int_equal(kymo_recording_writer_create(fd, 0, &w), KYMO_OK);
    char *text = malloc(KYMO_FILE_MARK_TEXT_MAX + 2ul);
    memset(text, 'x', KYMO_FILE_MARK_TEXT_MAX + 1ul);
    text[KYMO_FILE_MARK_TEXT_MAX + 1ul] = '\0';
    kymo_event_marker marker = {.stack = NONE, .track = NONE, .time_ns = 1};
    kymo_event_label label = {.change = KYMO_LABEL_PUSHED, .kind = KYMO_KIND_TEXT, .time_ns = 1};
    kymo_event_count count = {.time_ns = 1};
    /* Before META nothing is taken. */
    assert_int_equal(kymo_recording_write_marker(w, &marker), KYMO_E_INVALID);
    assert_int_equal(kymo_recording_write_label(w, &label), KYMO_E_INVALID);
    assert_int_equal(kymo_recording_write_count(w, &count), KYMO_E_INVALID);
    assert_int_equal(kymo_recording_write_meta(w, &(kymo_event_meta){.host = "h"}), KYMO_OK);
    kymo_event_marker wrong = marker;
    wrong.payload = long_payload;
    wrong.payload_bytes = KYMO_FILE_PAYLOAD_MAX + 1;
    assert_int_equal(kymo_recording_write_marker(w, &wrong), KYMO_E_INVALID);
    wrong = marker;
    wrong.name = text;
    assert_int_equal(kymo_recording_write_marker(w, &wrong), KYMO_E_INVALID);
    wrong = marker;
    wrong.phase = 4;
    assert_int_equal(kymo_recording_write_marker(w, &wrong), KYMO_E_INVALID);
    kymo_event_label wrong_label = label;
    wrong_label.text = text;
    assert_int_equal(kymo_recording_write_label(w, &wrong_label), KYMO_E_INVALID);
    wrong_label = label;
    wrong_label.key = text;
    assert_int_equal(kymo_recording_write_label(w, &wrong_label), KYMO_E_INVALID);
    wrong_label = label;
    wrong_label.change = 5;
    assert_int_equal(kymo_recording_write_label(w, &wrong_label), KYMO_E_INVALID);
    for (unsigned i = 0; i < 3; i++) {
        kymo_event_marker_type type = {.field_count = i == 0 ? KYMO_FILE_FIELDS_MAX + 1 : 0,
                                       .row_count = i == 1 ? KYMO_FILE_FIELDS_MAX + 1 : 0,
                                       .graph_count = i == 2 ? KYMO_FILE_FIELDS_MAX + 1 : 0};
        assert_int_equal(kymo_recording_write_marker_type(w, &type), KYMO_E_INVALID);
    }
    assert_int_equal(kymo_recording_error(w, NULL), KYMO_OK); /* none of this stays */
    assert_int_equal(kymo_recording_write_marker(w, &marker), KYMO_OK);
    free(text);
    kymo_recording_writer_destroy(w);
    close(fd);
}

/* ---- references -------------------------------------------------------------------------------
 */

static kymo_err emit_nonsense(const kymo_event_handler *h, void *ctx)
{
    static const kymo_event_marker_field odd[] = {{"k", "", KYMO_KIND_COUNT, 0, 0}};
    static const kymo_event_marker_field none[] = {{"k", "", KYMO_KIND_NONE, 0, 0}};
    static const kymo_event_marker_field wide[] = {{"k", "", KYMO_KIND_TEXT, 0, 0}};
    const uint64_t late = KYMO_FILE_TIME_MAX + 1;
    KYMO_TRY(few_marks_emit(h, ctx));
    /* No such process, twice, no id, no such parent. */
    const kymo_event_marker_category categories[] = {
        {6, 0, NONE, 0, 0, ""}, {7, 2, NONE, 0, 0, ""}, {7, NONE, NONE, 0, 0, ""},
        {7, 1, 99, 0, 0, ""},   {8, 1, 2, 0, 0, ""},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(categories); i++)
        KYMO_TRY(h->marker_category(ctx, &categories[i]));
    /* Kinds that are none, a payload without room for its fields, one that no record can hold. */
    const kymo_event_marker_type types[] = {
        {.process = 7, .type = 20, .payload_bytes = 8, .field_count = 1, .fields = odd},
        {.process = 7, .type = 20, .payload_bytes = 8, .field_count = 1, .fields = none},
        {.process = 7, .type = 20, .payload_bytes = 15, .field_count = 1, .fields = wide},
        {.process = 7, .type = 20, .payload_bytes = KYMO_FILE_PAYLOAD_MAX + 1},
        {.process = 7, .type = 3},
        {.process = 6, .type = 20},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(types); i++)
        KYMO_TRY(h->marker_type(ctx, &types[i]));
    const kymo_event_site sites[] = {
        {.process = 7, .site = 20, .category = 1, .type = NONE},
        {.process = 7, .site = 20, .category = 2, .type = 20},
        {.process = 8, .site = 20, .category = 2, .type = NONE},
        {.process = 7, .site = 20, .category = 2, .type = NONE, .kind = KYMO_SITE_VALUES + 1},
        {.process = 7, .site = 5, .category = 2, .type = NONE},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(sites); i++)
        KYMO_TRY(h->site(ctx, &sites[i]));
    KYMO_TRY(h->literal(ctx, &(kymo_event_named){7, 11, "twice"}));
    KYMO_TRY(h->track(ctx, &(kymo_event_named){9, 11, "no process"}));
    KYMO_TRY(h->counter(ctx, &(kymo_event_counter){.process = 7, .counter = 20, .category = 1}));
    KYMO_TRY(h->counter(
        ctx, &(kymo_event_counter){.process = 7, .counter = 20, .category = 2, .kind = 3}));
    KYMO_TRY(h->site_counts(ctx, &(kymo_event_site_counts){.process = 7, .site = 20}));
    KYMO_TRY(h->site_counts(ctx, &(kymo_event_site_counts){.process = 8, .site = 5}));
    const kymo_event_label labels[] = {
        {.thread = 1, .change = 1, .time_ns = 1},
        {.thread = 9, .change = 0, .time_ns = 1},
        {.thread = 9, .change = 1, .time_ns = 0},
        {.thread = 9, .change = 1, .time_ns = late},
        {.thread = 9, .change = 1, .time_ns = 1, .kind = KYMO_KIND_STR},
        {.thread = 9, .change = 1, .time_ns = 1, .kind = KYMO_KIND_COUNT},
        {.thread = 9, .change = 4, .time_ns = 1, .from_process = 6, .fork_ns = 1},
        {.thread = 9, .change = 4, .time_ns = 1, .from_process = 7, .fork_ns = late},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(labels); i++)
        KYMO_TRY(h->label(ctx, &labels[i]));
    const kymo_event_marker markers[] = {
        {.thread = 1, .site = 5, .stack = NONE, .time_ns = 1, .track = NONE},
        {.thread = 9, .site = 20, .stack = NONE, .time_ns = 1, .track = NONE},
        {.thread = 9, .site = 5, .stack = NONE, .time_ns = 0, .track = NONE},
        {.thread = 9, .site = 5, .stack = NONE, .time_ns = late, .track = NONE},
        {.thread = 9, .site = 5, .stack = NONE, .time_ns = 5, .start_ns = 6, .track = NONE},
        {.thread = 9, .site = 5, .stack = NONE, .time_ns = 5, .made_ns = late, .track = NONE},
        /* Is there without any of them. */
        {.thread = 9, .site = 5, .stack = 1, .time_ns = 8, .made_ns = 9, .maker = 2, .track = 1},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(markers); i++)
        KYMO_TRY(h->marker(ctx, &markers[i]));
    const kymo_event_count counts[] = {
        {7, 20, 1, 0, 0}, {8, 13, 1, 0, 0}, {6, 13, 1, 0, 0}, {7, 13, 0, 0, 0}, {7, 13, late, 0, 0},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(counts); i++)
        KYMO_TRY(h->count(ctx, &counts[i]));
    return KYMO_OK;
}

static void what_cannot_be_is_dropped_and_counted(void **state)
{
    (void)state;
    kymo_str text = {0};
    kymo_bytes start = file_of(few_marks_emit);
    kymo_bytes file = file_of(emit_nonsense);
    kymo_recording_report report = read_into(&start, &text);
    size_t start_len = text.len;
    uint64_t events = report.events;
    assert_memory_equal(&report.damage, &(kymo_recording_damage){0}, sizeof report.damage);
    kymo_str_deinit(&text);
    report = read_into(&file, &text);
    assert_string_equal(kymo_str_cstr(&text) + start_len,
                        "marker thread=0 site=0 phase=0 time=8 start=0 stack=none track=none"
                        " id=0 owner=0 cells=0 maker=none made=9\n");
    assert_int_equal(report.events, events + 1);
    assert_int_equal(report.damage.duplicates, 1 + 1 + 1 + 1);
    /* category: 1; types: 4; site: 1; counter: 1; labels: 6; markers: 4; counts: 2 */
    assert_int_equal(report.damage.values, 1 + 4 + 1 + 1 + 6 + 4 + 2);
    /* categories: 3; type: 1; sites: 3; track: 1; counter: 1; site counts: 2; labels: 2; markers: 2
     * and the stack, track and maker of one; counts: 3 */
    assert_int_equal(report.damage.references, 3 + 1 + 3 + 1 + 1 + 2 + 2 + 2 + 3 + 3);
    assert_int_equal(report.damage.chunks, 0);
    kymo_str_deinit(&text);
    kymo_bytes_deinit(&start);
    kymo_bytes_deinit(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extreme_values_come_back),
        cmocka_unit_test(many_rows_are_small),
        cmocka_unit_test(what_no_reader_would_take_is_refused),
        cmocka_unit_test(what_cannot_be_is_dropped_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
