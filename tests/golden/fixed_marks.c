/* SPDX-License-Identifier: Apache-2.0 */
#include "fixed_marks.h"

#include "fixed_must.h"

#include <math.h>

#include "base/f64.h"
#include "kymo/marker_abi.h"

#define MS 1000000ull
#define COUNT(array) (uint32_t)(sizeof(array) / sizeof *(array))

/* ---- values ---- */

static kymo_value text(kymo_profile *p, const char *value)
{
    return (kymo_value){.kind = KYMO_VALUE_STRING, .as.string = string(p, value)};
}

static kymo_value u64(uint64_t value)
{
    return (kymo_value){.kind = KYMO_VALUE_U64, .as.u64 = value};
}

static kymo_value i64(int64_t value)
{
    return (kymo_value){.kind = KYMO_VALUE_I64, .as.i64 = value};
}

static kymo_value f64(double value)
{
    return (kymo_value){.kind = KYMO_VALUE_F64, .as.f64 = value};
}

static kymo_value ns(int64_t value)
{
    return (kymo_value){.kind = KYMO_VALUE_NS, .as.i64 = value};
}

static kymo_value of_kind(kymo_value_kind kind, uint64_t value)
{
    return (kymo_value){.kind = kind, .as.u64 = value};
}

static kymo_value list(kymo_profile *p, const kymo_value *values, uint32_t count)
{
    kymo_value v = {.kind = KYMO_VALUE_LIST, .as.list.count = count};
    must(kymo_profile_add_values(p, values, count, &v.as.list.first));
    return v;
}

/* ---- categories and schemas ---- */

static uint32_t category(kymo_profile *p, const char *name, uint32_t parent, uint32_t color)
{
    uint32_t id;
    kymo_marker_category c = {
        .size = sizeof c, .name = string(p, name), .parent = parent, .color = color};
    must(kymo_profile_add_marker_category(p, &c, &id));
    return id;
}

struct field {
    const char *key;
    uint16_t format;
    uint16_t flags;
    const char *label;
    const char *columns;
};

#define FIELDS_MAX 16

/* The rest of the schema is up to the caller. */
static uint32_t schema(kymo_profile *p, kymo_schema s, const char *name, const struct field *fields,
                       uint32_t count)
{
    uint32_t id;
    kymo_schema_field rows[FIELDS_MAX];
    for (uint32_t i = 0; i < count; i++)
        rows[i] =
            (kymo_schema_field){.key = string(p, fields[i].key),
                                .label = fields[i].label ? string(p, fields[i].label) : 0,
                                .columns = fields[i].columns ? string(p, fields[i].columns) : 0,
                                .format = fields[i].format,
                                .flags = fields[i].flags};
    s.size = sizeof s;
    s.name = string(p, name);
    s.fields = rows;
    s.field_count = count;
    must(kymo_profile_add_schema(p, &s, &id));
    return id;
}

static uint32_t request_schema(kymo_profile *p)
{
    const struct field fields[] = {
        {"status", KYMO_FORMAT_INTEGER, KYMO_FIELD_SEARCHABLE, "Status", NULL},
        {"bytes", KYMO_FORMAT_BYTES, 0, NULL, NULL},
        {"method", KYMO_FORMAT_UNIQUE_STRING, 0, "Method", NULL},
        {"url", KYMO_FORMAT_URL, KYMO_FIELD_HIDDEN, "URL", NULL},
        {"request", KYMO_FORMAT_FLOW_ID, 0, NULL, NULL},
        {"took", KYMO_FORMAT_DURATION, 0, NULL, NULL},
        {"asked", KYMO_FORMAT_TIME, 0, NULL, NULL},
        {"limit", KYMO_FORMAT_SECONDS, 0, NULL, NULL},
        {"shade", KYMO_FORMAT_STRING, 0, NULL, NULL},
    };
    const kymo_schema_row rows[] = {{string(p, "See"), string(p, "the \"manual\"")},
                                    {string(p, "Unit"), string(p, "bytes")}};
    const kymo_schema_graph graphs[] = {
        {string(p, "bytes"), KYMO_GRAPH_BAR, KYMO_COLOR_LIGHTBLUE},
        {string(p, "took"), KYMO_GRAPH_LINE_FILLED, KYMO_COLOR_TEAL},
        {string(p, "url"), KYMO_GRAPH_LINE, KYMO_COLOR_RED}, /* which is no number */
    };
    kymo_schema s = {
        .chart = string(p, "{marker.data.method} {marker.data.url}"),
        .tooltip = string(p, "{marker.name}: {marker.data.status ? 'done' : 'open'}"),
        .table = string(p, "{marker.data.nobody}"), /* which it does not have */
        .description = string(p, "One request."),
        .color_key = string(p, "shade"),
        .show = KYMO_SHOW_CHART | KYMO_SHOW_TABLE | KYMO_SHOW_NETWORK,
        .row_count = COUNT(rows),
        .rows = rows,
        .graph_count = COUNT(graphs),
        .graphs = graphs,
    };
    return schema(p, s, "HttpRequest", fields, COUNT(fields));
}

/* A name and keys that mean something to the viewer. */
static uint32_t magic_schema(kymo_profile *p)
{
    const struct field fields[] = {{"type", KYMO_FORMAT_STRING, 0, NULL, NULL},
                                   {"stack", KYMO_FORMAT_INTEGER, 0, "Stack", NULL},
                                   {"type_", KYMO_FORMAT_STRING, 0, NULL, NULL}};
    uint32_t label = string(p, "a {marker.data.type}, {marker.data.stack}.");
    kymo_schema s = {
        .chart = label, .tooltip = label, .color_key = string(p, "type"), .is_stack_based = 1};
    return schema(p, s, "Network", fields, COUNT(fields));
}

/* Numbers that JavaScript does not hold, or that no format shows. */
static uint32_t exact_schema(kymo_profile *p)
{
    const struct field fields[] = {
        {"big", KYMO_FORMAT_INTEGER, 0, NULL, NULL},
        {"hex", KYMO_FORMAT_HEXADECIMAL, 0, NULL, NULL},
        {"at", KYMO_FORMAT_HEXADECIMAL, 0, NULL, NULL},
        {"ratio", KYMO_FORMAT_DECIMAL, 0, NULL, NULL},
        {"part", KYMO_FORMAT_PERCENTAGE, 0, NULL, NULL},
        {"micro", KYMO_FORMAT_MICROSECONDS, 0, NULL, NULL},
        {"nano", KYMO_FORMAT_NANOSECONDS, 0, NULL, NULL},
        {"pid", KYMO_FORMAT_PID, 0, NULL, NULL},
        {"tid", KYMO_FORMAT_TID, 0, NULL, NULL},
        {"owner", KYMO_FORMAT_STRING, 0, NULL, NULL},
        {"one", KYMO_FORMAT_UNIQUE_STRING, 0, NULL, NULL},
        {"flow", KYMO_FORMAT_FLOW_ID, 0, NULL, NULL},
    };
    const kymo_schema_graph graphs[] = {{string(p, "big"), KYMO_GRAPH_LINE, KYMO_COLOR_BLUE}};
    kymo_schema s = {.show = KYMO_SHOW_TABLE, .graph_count = 1, .graphs = graphs};
    return schema(p, s, "Exact", fields, COUNT(fields));
}

static uint32_t rows_schema(kymo_profile *p)
{
    const struct field fields[] = {
        {"names", KYMO_FORMAT_LIST, 0, "Names", NULL},
        {"files", KYMO_FORMAT_TABLE, 0, "Files", "Name:file-path|Size:bytes|Odd:integer|bare"},
        {"bare", KYMO_FORMAT_TABLE, 0, NULL, NULL},
    };
    return schema(p, (kymo_schema){.show = 127}, "Rows", fields, COUNT(fields));
}

static uint32_t done_schema(kymo_profile *p)
{
    const struct field fields[] = {{"request", KYMO_FORMAT_TERMINATING_FLOW_ID, 0, NULL, NULL}};
    return schema(p, (kymo_schema){0}, "Label", fields, COUNT(fields)); /* our own name */
}

/* ---- markers ---- */

static uint32_t label_set(kymo_profile *p, const kymo_label *labels, uint32_t count)
{
    uint32_t id;
    must(kymo_profile_add_label_set(p, labels, count, &id));
    return id;
}

static kymo_label label(kymo_profile *p, const char *key, kymo_value value)
{
    return (kymo_label){.key = string(p, key), .value = value};
}

static void mark(kymo_profile *p, const fixed_owners *of, kymo_marker m, const char *name,
                 uint64_t start, uint64_t end, const kymo_value *values)
{
    m.name = string(p, name);
    m.start_ns = of->origin_ns + start;
    m.end_ns = of->origin_ns + end;
    must(kymo_profile_add_marker(p, &m, values));
}

static void requests(kymo_profile *p, const fixed_owners *of, uint32_t labels)
{
    uint32_t net = category(p, "Network", KYMO_NONE, KYMO_COLOR_INK);
    uint32_t dns = category(p, "DNS", net, KYMO_COLOR_INK);
    uint32_t request = request_schema(p);
    kymo_marker m = {.thread = of->leader,
                     .category = dns,
                     .schema = request,
                     .stack = of->stack,
                     .labels = labels,
                     .owner = 7,
                     .phase = KYMO_MARKER_INTERVAL};
    const kymo_value values[] = {i64(200),
                                 u64(1ull << 53),
                                 text(p, "GET"),
                                 text(p, "http://h/\xff?q=\"1\""),
                                 of_kind(KYMO_VALUE_FLOW, 0xabc),
                                 ns(1500001),
                                 of_kind(KYMO_VALUE_TIME, of->origin_ns + 2 * MS),
                                 f64(1.5),
                                 text(p, "red")};
    mark(p, of, m, "request", 4 * MS, 9 * MS + 1, values);
    mark(p, of, m, "request", 2 * MS, 3 * MS, NULL); /* not in order; all fields are absent */
    kymo_marker done = {.thread = of->other,
                        .category = net,
                        .schema = done_schema(p),
                        .stack = KYMO_NONE,
                        .labels = KYMO_NONE};
    const kymo_value flow = of_kind(KYMO_VALUE_FLOW, 0xabc);
    mark(p, of, done, "answered", 12 * MS, 12 * MS, &flow);
    kymo_marker magic = {.thread = of->leader,
                         .category = net,
                         .schema = magic_schema(p),
                         .stack = KYMO_NONE,
                         .labels = KYMO_NONE};
    const kymo_value taken[] = {text(p, "kind"), i64(-3), text(p, "other kind")};
    mark(p, of, magic, "magic", 5 * MS, 5 * MS, taken);
}

static void exact_values(kymo_profile *p, const fixed_owners *of)
{
    kymo_marker m = {.thread = of->worker,
                     .category = category(p, "Database", KYMO_NONE, KYMO_COLOR_TEAL),
                     .schema = exact_schema(p),
                     .stack = KYMO_NONE,
                     .labels = KYMO_NONE,
                     .owner = UINT64_MAX};
    const kymo_value big[] = {
        u64(UINT64_MAX), i64(INT64_MIN), of_kind(KYMO_VALUE_POINTER, 0xdeadbeef),
        f64(INFINITY),   f64(0.1),       ns(-1500),
        ns(INT64_MIN),   u64(100),       u64(102),
        text(p, "me"),   u64(5),         u64(6)};
    const kymo_value small[] = {i64(-1),
                                u64(255),
                                of_kind(KYMO_VALUE_POINTER, 0),
                                f64(1e300),
                                of_kind(KYMO_VALUE_BOOL, 1),
                                ns(1500),
                                ns(1500),
                                text(p, "100"),
                                i64(103),
                                of_kind(KYMO_VALUE_BOOL, 0),
                                text(p, "x"),
                                of_kind(KYMO_VALUE_FLOW, 0xdef)};
    mark(p, of, m, "exact", 6 * MS, 6 * MS, big);
    mark(p, of, m, "exact", 7 * MS, 7 * MS, small);
}

static void rows(kymo_profile *p, const fixed_owners *of)
{
    kymo_marker m = {.thread = of->twin,
                     .category = category(p, "Other", KYMO_NONE, KYMO_COLOR_RED),
                     .schema = rows_schema(p),
                     .stack = KYMO_NONE,
                     .labels = KYMO_NONE,
                     .phase = KYMO_MARKER_INTERVAL};
    const kymo_value names[] = {text(p, "a"), i64(-2), f64(0.5), ns(1000000), (kymo_value){0}};
    const kymo_value files[] = {text(p, "/a"), u64(10), i64(1),         text(p, "b"),
                                text(p, "/c"), u64(20), u64(UINT64_MAX)};
    const kymo_value bare[] = {u64(1), u64(2)};
    const kymo_value all[] = {list(p, names, COUNT(names)), list(p, files, COUNT(files)),
                              list(p, bare, COUNT(bare))};
    const kymo_value none[] = {list(p, NULL, 0), list(p, files, 4), (kymo_value){0}};
    mark(p, of, m, "rows", 7 * MS, 8 * MS, all);
    mark(p, of, m, "rows", 8 * MS, 8 * MS, none);
}

/* Without a schema: with something to say all the same, and without. Ends that are not known. */
static void plain(kymo_profile *p, const fixed_owners *of, uint32_t labels)
{
    kymo_marker m = {.thread = of->worker,
                     .category = KYMO_NONE,
                     .schema = KYMO_NONE,
                     .stack = KYMO_NONE,
                     .labels = KYMO_NONE};
    mark(p, of, m, "plain", 8 * MS, 8 * MS, NULL);
    m.labels = labels;
    mark(p, of, m, "plain", 9 * MS, 9 * MS, NULL);
    m.labels = KYMO_NONE;
    m.phase = KYMO_MARKER_UNFINISHED;
    mark(p, of, m, "job", 10 * MS, 10 * MS, NULL);
    m.phase = KYMO_MARKER_UNBEGUN;
    mark(p, of, m, "job", 6 * MS + 1, 6 * MS + 1, NULL); /* before one without an end */
    mark(p, of, m, "job", 11 * MS, 11 * MS, NULL);       /* behind it: not its end */
    m.thread = of->leader;
    mark(p, of, m, "job", 2 * MS, 2 * MS, NULL);
    /* A track has markers of several threads; one of that name in another process is another. */
    m.phase = KYMO_MARKER_INTERVAL;
    m.track = string(p, "Decoder");
    mark(p, of, m, "decode", 9 * MS, 10 * MS, NULL);
    m.thread = of->worker;
    mark(p, of, m, "decode", 6 * MS, 7 * MS, NULL);
    m.thread = of->other;
    mark(p, of, m, "decode", 11 * MS, 70 * MS, NULL); /* ends after the recording */
    m.phase = KYMO_MARKER_UNFINISHED;
    mark(p, of, m, "flush", 30 * MS, 30 * MS, NULL);
    m.phase = KYMO_MARKER_UNBEGUN;
    mark(p, of, m, "flush", 20 * MS, 20 * MS, NULL);
}

/* ---- counters ---- */

struct count {
    uint64_t time;
    int64_t value;
    uint64_t operations;
};

static void counter(kymo_profile *p, const fixed_owners *of, uint32_t process, const char *name,
                    const char *unit, uint32_t kind, uint32_t flags, const struct count *counts,
                    uint32_t n)
{
    uint32_t id;
    kymo_counter c = {.size = sizeof c,
                      .process = process,
                      .category =
                          flags ? KYMO_NONE : category(p, "Network", KYMO_NONE, KYMO_COLOR_INK),
                      .name = string(p, name),
                      .unit = string(p, unit),
                      .description = string(p, "What is \"counted\""),
                      .kind = kind,
                      .flags = flags,
                      .color = KYMO_COLOR_BROWN};
    must(kymo_profile_add_counter(p, &c, &id));
    for (uint32_t i = 0; i < n; i++)
        must(kymo_profile_add_count(p, id, of->origin_ns + counts[i].time, counts[i].value,
                                    counts[i].operations));
}

static void counters(kymo_profile *p, const fixed_owners *of)
{
    const struct count sent[] = {{2 * MS, 4096, 1}, {4 * MS, 12288, 3}, {3 * MS, 4096, 1}};
    const struct count queue[] = {{5 * MS, 3, 3}, {6 * MS, -1, 4}};
    const struct count wild[] = {{11 * MS, INT64_MIN, 1}, {12 * MS, INT64_MAX, 2}};
    counter(p, of, of->parent, "sent", "bytes", KYMO_COUNTER_TOTAL, 0, sent, COUNT(sent));
    counter(p, of, of->parent, "queue", "", KYMO_COUNTER_GAUGE, KYMO_COUNTER_EACH, queue,
            COUNT(queue));
    counter(p, of, of->child, "wild", "bytes", KYMO_COUNTER_DELTA, KYMO_COUNTER_RATE, wild,
            COUNT(wild));
    const struct count load[] = {{4 * MS, kymo_f64_bits(0.5), 1},
                                 {6 * MS, kymo_f64_bits(-0.25), 2}};
    counter(p, of, of->parent, "load", "", KYMO_COUNTER_GAUGE, KYMO_COUNTER_IS_F64, load,
            COUNT(load));
    counter(p, of, of->child, "never", "", KYMO_COUNTER_TOTAL, 0, NULL, 0);
}

/* ---- labels of samples ---- */

static void sample_labels(kymo_profile *p, const fixed_owners *of, uint32_t both)
{
    const kymo_label id = label(p, "request_id", i64(17));
    const kymo_label shard = label(p, "shard", i64(0));
    const kymo_label wild[] = {label(p, "big", u64(UINT64_MAX)),
                               label(p, "request", i64(2048)), /* readers guess units from keys */
                               label(p, "day", i64(3)),
                               label(p, "empty", text(p, "")),
                               label(p, "at", of_kind(KYMO_VALUE_POINTER, 0x10)),
                               label(p, "ratio", f64(0.25)),
                               label(p, "thread", text(p, "mine")),
                               label(p, "pprof::x", i64(1))};
    must(kymo_profile_set_sample_labels(p, of->worker, 0, both));
    must(kymo_profile_set_sample_labels(p, of->worker, 1, label_set(p, &id, 1)));
    must(kymo_profile_set_sample_labels(p, of->worker, 2, label_set(p, &shard, 1)));
    must(kymo_profile_set_sample_labels(p, of->twin, 1, label_set(p, wild, COUNT(wild))));
}

void fixed_marks(kymo_profile *p, const fixed_owners *of)
{
    const kymo_label both[] = {label(p, "user", text(p, "ann \"a\"")),
                               label(p, "request_id", i64(17))};
    uint32_t labels = label_set(p, both, COUNT(both));
    requests(p, of, labels);
    exact_values(p, of);
    rows(p, of);
    plain(p, of, labels);
    counters(p, of);
    sample_labels(p, of, labels);
    must(kymo_profile_add_marker_losses(p, &(kymo_marker_losses){.size = sizeof(kymo_marker_losses),
                                                                 .name = string(p, "request"),
                                                                 .category = KYMO_NONE,
                                                                 .schema = KYMO_NONE,
                                                                 .lost = 3,
                                                                 .capped = 4,
                                                                 .cut = 1}));
}
