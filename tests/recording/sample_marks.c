/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_marks.h"

#include <stddef.h>
#include <string.h>

#include "buffer/record.h"
#include "kymo/marker_abi.h"

#define LEN(a) ((uint32_t)KYMO_ARRAY_LEN(a))
#define NONE KYMO_EVENT_NONE

enum { NET, HTTP, DISK, CHILD };                        /* categories */
enum { REQUEST, NOTHING };                              /* types */
enum { GET, CHILD_TEXT };                               /* literals */
enum { SCOPE, REQUESTED, SAID, FORMATTED, CHILD_SITE }; /* sites */

#define THERE KYMO_TEXT_IS_THERE

/* The image of a REQUEST, and behind it what its slots speak of. */
struct request {
    uint16_t status;
    uint16_t hole[3]; /* so that each byte is told */
    uint64_t bytes;
    struct kymo_text_slot method;
    struct kymo_text_slot url;
    uint64_t flow;
    struct kymo_text_slot list;
    uint64_t list_more;
    struct kymo_text_slot wide;
    uint64_t wide_more;
    uint64_t at_ns;
    int64_t retries, has_retries;
    char url_text[8];
    struct kymo_record_cell cells[3];
    uint16_t wide_text[4];
};
#define REQUEST_BYTES ((uint32_t)offsetof(struct request, url_text))

static const kymo_event_marker_field request_fields[] = {
    {"status", "Status", KYMO_KIND_U16, KYMO_FORMAT_INTEGER, 0},
    {"bytes", "", KYMO_KIND_U64, KYMO_FORMAT_BYTES, KYMO_FIELD_SEARCHABLE},
    {"method", "Method", KYMO_KIND_LITERAL, KYMO_FORMAT_STRING, 0},
    {"url", "URL", KYMO_KIND_STR, KYMO_FORMAT_URL, KYMO_FIELD_SEARCHABLE},
    {"flow", "", KYMO_KIND_FLOW, KYMO_FORMAT_FLOW_ID, KYMO_FIELD_HIDDEN},
    {"list", "Parts|Name:string|Size:bytes", KYMO_KIND_CELLS, KYMO_FORMAT_TABLE, 0},
    {"wide", "caf\xc3\xa9 \xff", KYMO_KIND_UTF16, KYMO_FORMAT_STRING, 0},
    {"at", "", KYMO_KIND_TIME, KYMO_FORMAT_TIME, 0},
    {"retries", "", KYMO_KIND_OPT_I64, KYMO_FORMAT_INTEGER, 0},
};

static kymo_err emit_types(const kymo_event_handler *h, void *ctx)
{
    static const kymo_event_marker_row rows[] = {{"Docs", "https://example.org"}, {"Empty", ""}};
    static const kymo_event_marker_graph graphs[] = {
        {"bytes", KYMO_GRAPH_BAR, KYMO_COLOR_TEAL},
        {"status", KYMO_GRAPH_LINE, KYMO_COLOR_GREY},
    };
    const kymo_event_marker_type types[] = {
        {.type = REQUEST,
         .show = KYMO_SHOW_CHART | KYMO_SHOW_NETWORK,
         .is_stack_based = 1,
         .max_per_second = 1000,
         .payload_bytes = REQUEST_BYTES,
         .field_count = LEN(request_fields),
         .row_count = LEN(rows),
         .graph_count = LEN(graphs),
         .line = 42,
         .file = "net.c",
         .name = "Request",
         .chart = "{marker.data.url}",
         .tooltip = "{marker.name} {marker.data.url}",
         .table = "{marker.data.status}",
         .description = "What came over the net",
         .color_key = "method",
         .fields = request_fields,
         .rows = rows,
         .graphs = graphs},
        {.process = 1, .type = NOTHING, .name = "Nothing"},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(types); i++)
        KYMO_TRY(h->marker_type(ctx, &types[i]));
    return KYMO_OK;
}

static kymo_err emit_names(const kymo_event_handler *h, void *ctx)
{
    const kymo_event_marker_category categories[] = {
        {0, NET, NONE, KYMO_COLOR_BLUE, 0, "Net"},
        {0, HTTP, NET, KYMO_COLOR_GREY, 0, "HTTP"},
        {0, DISK, NONE, KYMO_COLOR_TEAL, KYMO_CATEGORY_IS_QUIET, "Disk"},
        {1, CHILD, NONE, KYMO_COLOR_RED, 0, "Net"},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(categories); i++)
        KYMO_TRY(h->marker_category(ctx, &categories[i]));
    KYMO_TRY(emit_types(h, ctx));
    KYMO_TRY(h->literal(ctx, &(kymo_event_named){0, GET, "GET"}));
    KYMO_TRY(h->literal(ctx, &(kymo_event_named){1, CHILD_TEXT, "\xc3(odd"}));
    KYMO_TRY(h->track(ctx, &(kymo_event_named){0, 0, "GPU queue"}));
    KYMO_TRY(h->track(ctx, &(kymo_event_named){0, 1, ""}));
    return KYMO_OK;
}

static kymo_err emit_sites(const kymo_event_handler *h, void *ctx)
{
    const kymo_event_site sites[] = {
        {.site = SCOPE,
         .category = DISK,
         .type = NONE,
         .kind = KYMO_SITE_SCOPE,
         .line = 10,
         .min_ns = 1000,
         .name = "read",
         .file = "disk.c",
         .function = "disk_read"},
        {.site = REQUESTED, .category = HTTP, .type = REQUEST, .line = 20, .name = "request"},
        {.site = SAID, .category = NET, .type = NONE, .kind = KYMO_SITE_TEXT, .name = "say"},
        {.site = FORMATTED,
         .category = NET,
         .type = NONE,
         .kind = KYMO_SITE_FORMAT,
         .name = "formatted",
         .format = "%d of %s"},
        {.process = 1, .site = CHILD_SITE, .category = CHILD, .type = NOTHING, .name = "\xff"},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(sites); i++)
        KYMO_TRY(h->site(ctx, &sites[i]));
    KYMO_TRY(h->site_counts(ctx, &(kymo_event_site_counts){0, SCOPE, 1, 2, 3}));
    KYMO_TRY(h->site_counts(ctx, &(kymo_event_site_counts){0, SCOPE, 5, 2, 3}));
    return h->site_counts(ctx, &(kymo_event_site_counts){1, CHILD_SITE, 0, UINT64_MAX, 0});
}

static kymo_err emit_counters(const kymo_event_handler *h, void *ctx)
{
    const kymo_event_counter counters[] = {
        {.counter = 0,
         .category = NET,
         .kind = KYMO_COUNTER_GAUGE,
         .color = KYMO_COLOR_ORANGE,
         .name = "queue",
         .description = "What waits"},
        {.counter = 1,
         .category = HTTP,
         .kind = KYMO_COUNTER_TOTAL,
         .flags = KYMO_COUNTER_RATE,
         .name = "sent",
         .unit = "bytes"},
        {.process = 1, .counter = 2, .category = CHILD, .kind = KYMO_COUNTER_DELTA, .name = "d"},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(counters); i++)
        KYMO_TRY(h->counter(ctx, &counters[i]));
    return KYMO_OK;
}

kymo_err sample_marks_define(const kymo_event_handler *h, void *ctx)
{
    if (h->marker == NULL)
        return KYMO_OK; /* no handler wants any of this */
    KYMO_TRY(emit_names(h, ctx));
    KYMO_TRY(emit_sites(h, ctx));
    return emit_counters(h, ctx);
}

static kymo_err emit_labels(const kymo_event_handler *h, void *ctx)
{
    double ratio = 0.25;
    uint64_t ratio_bits;
    memcpy(&ratio_bits, &ratio, sizeof ratio_bits);
    const kymo_event_label labels[] = {
        {.thread = 0,
         .change = KYMO_LABEL_PUSHED,
         .depth = 0,
         .kind = KYMO_KIND_TEXT,
         .time_ns = 1010000000,
         .key = "request",
         .text = "a\xff\"b"},
        {.thread = 0,
         .change = KYMO_LABEL_PUSHED,
         .depth = 1,
         .kind = KYMO_KIND_I64,
         .time_ns = 1010000500,
         .number = (uint64_t)-7,
         .key = "delta"},
        {.thread = 0,
         .change = KYMO_LABEL_WAS_SET,
         .depth = 2,
         .kind = KYMO_KIND_F64,
         .time_ns = 1010000600,
         .number = ratio_bits,
         .key = "ratio"},
        {.thread = 0,
         .change = KYMO_LABEL_WAS_SET,
         .depth = 2,
         .kind = KYMO_KIND_NONE,
         .time_ns = 1010000700,
         .key = "ratio"},
        {.thread = 0,
         .change = KYMO_LABEL_POPPED,
         .depth = 1,
         .kind = KYMO_KIND_NONE,
         .time_ns = 1011000000},
        {.thread = 1,
         .change = KYMO_LABEL_PUSHED,
         .depth = 0,
         .kind = KYMO_KIND_PTR,
         .time_ns = 1005000000,
         .number = 0x7f0012345678,
         .key = "object"},
        {.thread = 3,
         .change = KYMO_LABEL_INHERITED,
         .depth = 1,
         .time_ns = 1104000000,
         .from_tid = 100,
         .fork_ns = 1010000650},
        {.thread = 3,
         .change = KYMO_LABEL_PUSHED,
         .depth = 1,
         .kind = KYMO_KIND_TEXT,
         .time_ns = 1105000000,
         .key = "empty",
         .text = ""},
        {.thread = 3,
         .change = KYMO_LABEL_PUSHED,
         .depth = 2,
         .kind = KYMO_KIND_U64,
         .time_ns = 1105000001,
         .number = UINT64_MAX,
         .key = "most"},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(labels); i++)
        KYMO_TRY(h->label(ctx, &labels[i]));
    return KYMO_OK;
}

static struct request a_request(void)
{
    struct request r = {
        .status = 503,
        .bytes = (1ull << 53) + 1,
        .method = {.at = GET, .flags = THERE | KYMO_TEXT_IS_LITERAL},
        .url = {REQUEST_BYTES, 5, THERE | KYMO_TEXT_IS_CUT},
        .flow = 0x123456789abcdef0,
        .list = {offsetof(struct request, cells), 3, THERE},
        .wide = {offsetof(struct request, wide_text), 6, THERE | KYMO_TEXT_IS_UTF16},
        .at_ns = 1009000000,
        .retries = -1,
        .has_retries = 1,
        .url_text = "/a?b=",
        .cells = {{.kind = KYMO_KIND_TEXT}, {.kind = KYMO_KIND_U64, .value = 99}, {.kind = 0}},
        .wide_text = {'h', 0xd83d, 0xde00},
    };
    struct kymo_text_slot part = {REQUEST_BYTES + 1, 3, THERE};
    memcpy(&r.cells[0].value, &part, sizeof part);
    return r;
}

static kymo_err emit_markers(const kymo_event_handler *h, void *ctx)
{
    struct request request = a_request(), absent = {.status = 200};
    struct {
        struct kymo_text_slot slot;
        char text[8];
    } said = {{8, 6, THERE}, "caf\xc3\xa9"};
    struct kymo_record_cell cells[3] = {
        {.kind = KYMO_KIND_I64, .value = (uint64_t)-3},
        {.kind = KYMO_KIND_LITERAL},
        {.kind = KYMO_KIND_F64, .value = 0x3ff8000000000000},
    };
    struct kymo_text_slot literal = {.at = GET, .flags = THERE | KYMO_TEXT_IS_LITERAL};
    memcpy(&cells[1].value, &literal, sizeof literal);
    const kymo_event_marker markers[] = {
        {.site = SCOPE,
         .phase = KYMO_PHASE_INTERVAL,
         .stack = NONE,
         .time_ns = 1010002000,
         .start_ns = 1010001000,
         .track = NONE},
        {.site = REQUESTED,
         .stack = 1,
         .time_ns = 1010001500, /* before the one that was written before it */
         .owner = UINT64_MAX,
         .track = NONE,
         .payload = (const uint8_t *)&request,
         .payload_bytes = sizeof request},
        {.site = REQUESTED,
         .phase = KYMO_PHASE_BEGIN,
         .stack = 8,
         .time_ns = 1010003000,
         .start_ns = 1010003000,
         .id = 1ull << 63,
         .track = 0,
         .name = "another \"name\" \xff",
         .payload = (const uint8_t *)&absent,
         .payload_bytes = REQUEST_BYTES},
        {.thread = 1,
         .site = REQUESTED,
         .phase = KYMO_PHASE_END,
         .stack = NONE,
         .time_ns = 1010004000,
         .id = 1ull << 63,
         .track = 1},
        {.thread = 1,
         .site = SAID,
         .stack = NONE,
         .time_ns = 1010005000,
         .track = NONE,
         .payload = (const uint8_t *)&said,
         .payload_bytes = 14},
        {.thread = 1,
         .site = FORMATTED,
         .stack = NONE,
         .time_ns = 1010006000,
         .track = NONE,
         .cells = LEN(cells),
         .payload = (const uint8_t *)cells,
         .payload_bytes = sizeof cells},
        {.thread = 1,
         .site = SCOPE,
         .phase = KYMO_PHASE_INTERVAL,
         .stack = NONE,
         .time_ns = 1700000000,
         .start_ns = 1010007000,
         .track = NONE,
         .is_open = 1},
        {.thread = 3, .site = CHILD_SITE, .stack = 7, .time_ns = 1110000000, .track = NONE},
        {.site = SAID,
         .stack = NONE,
         .time_ns = 1010008000,
         .made_ns = 1010009000,
         .maker = 1,
         .track = NONE,
         .name = "of another",
         .payload = (const uint8_t *)&said,
         .payload_bytes = 14},
        {.site = SCOPE,
         .phase = KYMO_PHASE_INTERVAL,
         .stack = NONE,
         .time_ns = 1010009500,
         .start_ns = 1010000500,
         .made_ns = 1010009400, /* before its time: a file may say so */
         .track = NONE},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(markers); i++)
        KYMO_TRY(h->marker(ctx, &markers[i]));
    return KYMO_OK;
}

kymo_err sample_marks_emit(const kymo_event_handler *h, void *ctx)
{
    const kymo_event_count counts[] = {
        {0, 0, 1010000000, 4, 4},         {0, 1, 1010000000, 1ll << 40, 12},
        {0, 0, 1030000000, -1, 9},        {1, 2, 1120000000, INT64_MIN, UINT64_MAX},
        {1, 2, 1110000000, INT64_MAX, 0},
    };
    if (h->marker == NULL)
        return KYMO_OK;
    KYMO_TRY(emit_labels(h, ctx));
    KYMO_TRY(emit_markers(h, ctx));
    for (size_t i = 0; i < KYMO_ARRAY_LEN(counts); i++)
        KYMO_TRY(h->count(ctx, &counts[i]));
    return KYMO_OK;
}

kymo_err few_marks_emit(const kymo_event_handler *h, void *ctx)
{
    static const kymo_event_marker_field fields[] = {
        {"b", "", KYMO_KIND_BOOL, 0, 0},
        {"text", "", KYMO_KIND_STR, KYMO_FORMAT_STRING, 0},
        {"one", "", KYMO_KIND_CELLS, KYMO_FORMAT_LIST, 0},
        {"two", "", KYMO_KIND_CELLS, KYMO_FORMAT_LIST, 0},
    };
    KYMO_TRY(h->meta(ctx, &(kymo_event_meta){.start_ns = 5, .host = "h"}));
    KYMO_TRY(h->process(ctx, &(kymo_event_process){.process = 8, .pid = 2}));
    KYMO_TRY(h->process(ctx, &(kymo_event_process){.process = 7, .pid = 1}));
    KYMO_TRY(h->thread(ctx, &(kymo_event_thread){.thread = 9, .process = 7, .tid = 1}));
    KYMO_TRY(h->marker_category(ctx, &(kymo_event_marker_category){7, 2, NONE, 1, 0, "c"}));
    KYMO_TRY(h->marker_type(ctx, &(kymo_event_marker_type){.process = 7, .type = 3}));
    KYMO_TRY(h->marker_type(
        ctx,
        &(kymo_event_marker_type){
            .process = 7, .type = 4, .payload_bytes = 48, .field_count = 4, .fields = fields}));
    const kymo_event_site sites[] = {
        {.process = 7, .site = 5, .category = 2, .type = NONE},
        {.process = 7, .site = 6, .category = 2, .type = 3},
        {.process = 7, .site = 8, .category = 2, .type = 4},
        {.process = 7, .site = 1, .category = NONE, .type = NONE, .kind = KYMO_SITE_TEXT},
        {.process = 7, .site = 2, .category = NONE, .type = NONE, .kind = KYMO_SITE_FORMAT},
        {.process = 7, .site = 3, .category = NONE, .type = NONE, .kind = KYMO_SITE_VALUES},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(sites); i++)
        KYMO_TRY(h->site(ctx, &sites[i]));
    KYMO_TRY(h->literal(ctx, &(kymo_event_named){8, 14, "of another"}));
    KYMO_TRY(h->literal(ctx, &(kymo_event_named){7, 11, "literal"}));
    KYMO_TRY(h->track(ctx, &(kymo_event_named){7, 12, "track"}));
    return h->counter(ctx, &(kymo_event_counter){.process = 7, .counter = 13, .category = 2});
}
