/* SPDX-License-Identifier: Apache-2.0 */
/*
 * every_call.c - each macro and function of marker.h, and what the library gets of it.
 *
 * One source for every language that marker.h is for; see check_header. Every case runs twice, with
 * its categories on, and off: then nothing may be called, nor an argument be evaluated. So it is
 * with KYMO_DISABLE, whatever is on.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A name that a program may have for itself. */
#define X 17
#include "fake_library.h"
#include "kymo/marker.h"
#include "kymo/marker_types.h"
#if X != 17
#error the headers change a macro of the program
#endif
#undef X

#define CHECK(holds)                                                    \
    do {                                                                \
        if (!(holds)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #holds); \
            exit(1);                                                    \
        }                                                               \
    } while (0)

KYMO_CATEGORY(net, "Network calls", BLUE);
KYMO_SUBCATEGORY(net_read, net, "Read");
KYMO_CATEGORY_QUIET(noise, "Noise", ORANGE);

static const struct fake_call *call;
static unsigned evaluated;
static int is_on;

/* Whether there is something to look at: as many calls as were expected. */
static int seen(unsigned expected)
{
    unsigned count;
    unsigned arguments = evaluated;
    call = fake_calls(&count);
    evaluated = 0;
#ifdef KYMO_DISABLE
    expected = 0;
#endif
    if (!is_on || expected == 0) {
        CHECK(count == 0);
        CHECK(arguments == 0);
        return 0;
    }
    if (count != expected)
        fprintf(stderr, "%u calls, not %u\n", count, expected);
    CHECK(count == expected);
    return 1;
}

/* Arguments that say so. */
static int number(int value)
{
    evaluated++;
    return value;
}

static const char *word(const char *value)
{
    evaluated++;
    return value;
}

static uint64_t u64(uint64_t value)
{
    evaluated++;
    return value;
}

static int is(const struct fake_call *c, const char *what, const char *name)
{
    return strcmp(c->what, what) == 0 && strcmp(c->site->name, name) == 0;
}

/* ---- types ---- */

/* Every kind; there are holes behind flag, small and half. */
#define EVERY_KIND(F)                                                           \
    F(bool, flag, "Flag", INTEGER, 0)                                           \
    F(i8, i8, "i8", INTEGER, 0)                                                 \
    F(u8, u8, NULL, INTEGER, KYMO_FIELD_HIDDEN)                                 \
    F(i16, i16, "i16", DECIMAL, 0)                                              \
    F(u16, u16, "u16", HEXADECIMAL, 0)                                          \
    F(i64, i64, "i64", INTEGER, 0)                                              \
    F(i32, i32, "i32", PID, 0)                                                  \
    F(u64, u64, "u64", BYTES, 0)                                                \
    F(u32, u32, "u32", TID, 0)                                                  \
    F(f32, f32, "f32", PERCENTAGE, 0)                                           \
    F(f64, f64, "f64", SECONDS, 0)                                              \
    F(literal, lit, "Literal", UNIQUE_STRING, 0)                                \
    F(str, str, "String", URL, KYMO_FIELD_SEARCHABLE)                           \
    F(text, text, "Text", FILE_PATH, KYMO_FIELD_SEARCHABLE | KYMO_FIELD_HIDDEN) \
    F(utf16, utf16, "UTF-16", SANITIZED_STRING, 0)                              \
    F(time, time, "Time", TIME, 0)                                              \
    F(ns, ns, "Duration", DURATION, 0)                                          \
    F(ns, ms, "ms", MILLISECONDS, 0)                                            \
    F(ns, us, "us", MICROSECONDS, 0)                                            \
    F(ns, nano, "ns", NANOSECONDS, 0)                                           \
    F(ptr, ptr, "Pointer", HEXADECIMAL, 0)                                      \
    F(flow, flow, "Flow", FLOW_ID, 0)                                           \
    F(flow, last, "Last", TERMINATING_FLOW_ID, 0)                               \
    F(cells, list, "List", LIST, 0)                                             \
    F(cells, table, "Table|Name:string|Size:bytes", TABLE, 0)                   \
    F(opt_i64, maybe_i, "Maybe", INTEGER, 0)                                    \
    F(opt_u64, maybe_u, "Maybe", INTEGER, 0)                                    \
    F(opt_f64, maybe_f, "Maybe", DECIMAL, 0)                                    \
    F(str, color, "Colour", STRING, KYMO_FIELD_HIDDEN)

KYMO_PAYLOAD(every_kind, EVERY_KIND);
static const struct kymo_mark_row every_rows[] = {{"Unit", "pages"}, {NULL, NULL}};
static const struct kymo_mark_graph every_graphs[] = {
    KYMO_GRAPH(every_kind, u64, BAR, RED), KYMO_GRAPH(every_kind, f64, LINE_FILLED, TEAL),
    KYMO_GRAPH_END};
KYMO_TYPE_OF(every_kind, "EveryKind", .show = KYMO_SHOW_CHART | KYMO_SHOW_MEMORY,
             .chart = KYMO_SHOWN_AS(every_kind, "chart"),
             .tooltip = KYMO_SHOWN_AS(every_kind, "", str, ", ", u64, "!"),
             .table = KYMO_SHOWN_AS(every_kind, "a", i8, "b", u8, "c", i16, "d", u16, "e", i32, "f",
                                    u32, "g"),
             .description = "All of them", .rows = every_rows, .graphs = every_graphs,
             .color_key = KYMO_KEY(every_kind, color), .is_stack_based = 1, .max_per_second = 1000);

#define SMALL(F) F(u16, code, NULL, INTEGER, 0)
KYMO_TYPE(small, "Small", SMALL, KYMO_ALL_LABELS(small, "code ", code));

/* Nothing between its fields, nor behind them. */
#define WHOLE(F)                    \
    F(u32, one, NULL, INTEGER, 0)   \
    F(u32, other, NULL, INTEGER, 0) \
    F(u64, all, NULL, INTEGER, 0)
KYMO_TYPE_PLAIN(whole, "Whole", WHOLE, KYMO_SHOW_TABLE, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0,
                0);

#define NO_FIELDS(F)
KYMO_TYPE(nothing, "Nothing", NO_FIELDS);
KYMO_TYPE(done, "Done", NO_FIELDS, KYMO_ALL_LABELS(done, "that was it"));

static const struct kymo_mark_literal names[] = {KYMO_LITERAL_INIT("get"),
                                                 KYMO_LITERAL_INIT("set")};

#ifndef KYMO_DISABLE
static void types_are_tables(void)
{
    const struct kymo_mark_type *type = &kymo_type_every_kind;
    CHECK(type->size == sizeof *type && type->line != 0 && strstr(type->file, "every_call"));
    CHECK(strcmp(type->name, "EveryKind") == 0);
    CHECK(type->field_count == 29 && type->field_bytes == sizeof(struct kymo_mark_field));
    CHECK(type->payload_bytes == sizeof(struct every_kind) && type->payload_bytes % 8 == 0);
    CHECK(type->show == (KYMO_SHOW_CHART | KYMO_SHOW_MEMORY));
    CHECK(strcmp(type->chart, "chart") == 0);
    CHECK(strcmp(type->tooltip, "{marker.data.str}, {marker.data.u64}!") == 0);
    CHECK(strcmp(type->table, "a{marker.data.i8}b{marker.data.u8}c{marker.data.i16}d"
                              "{marker.data.u16}e{marker.data.i32}f{marker.data.u32}g") == 0);
    CHECK(strcmp(type->description, "All of them") == 0 && type->rows == every_rows);
    CHECK(type->graphs == every_graphs && strcmp(every_graphs[0].key, "u64") == 0);
    CHECK(every_graphs[1].kind == KYMO_GRAPH_LINE_FILLED &&
          every_graphs[1].color == KYMO_COLOR_TEAL);
    CHECK(strcmp(type->color_key, "color") == 0);
    CHECK(type->is_stack_based == 1 && type->max_per_second == 1000);

    const struct kymo_mark_field *field = type->fields;
    CHECK(strcmp(field[0].key, "flag") == 0 && strcmp(field[0].label, "Flag") == 0);
    CHECK(field[0].kind == KYMO_KIND_BOOL && field[0].format == KYMO_FORMAT_INTEGER);
    CHECK(field[2].label == NULL && field[2].flags == KYMO_FIELD_HIDDEN);
    CHECK(field[13].kind == KYMO_KIND_TEXT && field[13].format == KYMO_FORMAT_FILE_PATH);
    CHECK(field[13].flags == (KYMO_FIELD_SEARCHABLE | KYMO_FIELD_HIDDEN));
    CHECK(field[24].kind == KYMO_KIND_CELLS && field[24].format == KYMO_FORMAT_TABLE);
    CHECK(strcmp(kymo_type_small.chart, "code {marker.data.code}") == 0);
    CHECK(strcmp(kymo_type_small.table, kymo_type_small.tooltip) == 0);
    CHECK(kymo_type_small.show == 0 && kymo_type_small.payload_bytes == 8);
    CHECK(kymo_has_holes_small && kymo_has_holes_every_kind && !kymo_has_holes_whole);
    CHECK(kymo_type_nothing.field_count == 0 && kymo_type_nothing.payload_bytes == 0);
    CHECK(!kymo_type_nothing.chart && strcmp(kymo_type_done.chart, "that was it") == 0);
    CHECK(kymo_type_whole.field_count == 3 && kymo_type_whole.show == KYMO_SHOW_TABLE);
}

/* Where a reader who knows the kinds alone looks for each field. */
static void fields_lie_where_kinds_say(void)
{
    static const uint32_t sizes[] = {0,
#define X(name, NAME, type, size, alignment) size,
                                     KYMO_MARK_KINDS(X)
#undef X
    };
    static const uint32_t alignments[] = {1,
#define X(name, NAME, type, size, alignment) alignment,
                                          KYMO_MARK_KINDS(X)
#undef X
    };
    static const size_t places[] = {
#define AT(kind, key, label, format, flags) offsetof(struct every_kind, key),
        EVERY_KIND(AT)
#undef AT
    };
    uint32_t at = 0;
    for (uint32_t i = 0; i < kymo_type_every_kind.field_count; i++) {
        uint32_t kind = kymo_type_every_kind.fields[i].kind;
        at = (at + alignments[kind] - 1) / alignments[kind] * alignments[kind];
        CHECK(at == places[i]);
        at += sizes[kind];
    }
    CHECK((at + 7) / 8 * 8 == sizeof(struct every_kind));
}

static void categories_say_what_they_are(void)
{
    CHECK(kymo_category_net.size == sizeof(struct kymo_mark_category));
    CHECK(strcmp(kymo_category_net.name, "Network calls") == 0 && !kymo_category_net.parent);
    CHECK(kymo_category_net.color == KYMO_COLOR_BLUE && kymo_category_net.flags == 0);
    CHECK(kymo_category_net_read.parent == &kymo_category_net);
    CHECK(kymo_category_noise.flags == KYMO_CATEGORY_IS_QUIET);
    CHECK(fake_links() == 1 && fake_attached() == 1);
    CHECK(fake_categories("Noise") == 1 && fake_categories("Read") == 1);
    CHECK(fake_categories("Other") >= 1 && fake_categories("File I/O") == 1);
}
#endif

/* ---- markers ---- */

static void markers(void)
{
    KYMO_MARKER(net, "accepted");
    if (seen(1)) {
        CHECK(is(call, "mark", "accepted") && !call->place);
        const struct kymo_mark_site *site = call->site;
        CHECK(site->size == sizeof *site && site->id == 0 && site->line == __LINE__ - 4);
        CHECK(strstr(site->file, "every_call") && strcmp(site->function, "markers") == 0);
        CHECK(strcmp(site->category->name, "Network calls") == 0 && !site->type && !site->format);
        CHECK(site->kind == KYMO_SITE_MARKER && site->min_ns == 0 && site->words == 0);
    }
    KYMO_MARKER(net_read, "part");
    if (seen(1))
        CHECK(strcmp(call->site->category->parent->name, "Network calls") == 0);
    if (KYMO_IS_ON(net))
        KYMO_MARKER(other, "conditional");
    if (seen(1))
        CHECK(is(call, "mark", "conditional"));
    for (int i = 0; i < 3; i++)
        KYMO_MARKER(noise, "three of one");
    if (seen(3))
        CHECK(call[0].site == call[2].site);
}

static void texts(void)
{
    char buffer[] = "from a buffer";
    KYMO_MARKER_TEXT(net, "text", word("some words"));
    if (seen(1)) {
        struct kymo_mark_text text;
        memcpy(&text, call->payload, sizeof text);
        CHECK(is(call, "mark", "text") && call->site->kind == KYMO_SITE_TEXT);
        CHECK(text.len == 10 && strcmp(call->key, "some words") == 0);
    }
    KYMO_MARKER_TEXT(net, "buffer", buffer);
    if (seen(1))
        CHECK(strcmp(call->key, "from a buffer") == 0);
    KYMO_MARKER_TEXT(net, "counted", KYMO_TEXT(buffer + number(5), 3));
    if (seen(1))
        CHECK(strcmp(call->key, "a b") == 0);
    KYMO_MARKER_TEXT(net, "absent", word(NULL));
    if (seen(1)) {
        struct kymo_mark_text text;
        memcpy(&text, call->payload, sizeof text);
        CHECK(call->place && !text.data && text.len == 0);
    }
    KYMO_MARKER_TEXT_OPT(net, "with", KYMO_OPTIONS(.owner = u64(9)), word("x"));
    if (seen(1))
        CHECK(is(call, "mark_with", "with") && call->options.owner == 9 && call->key[0] == 'x');
}

/* What was on the stack before is in no payload. */
static void typed(void)
{
    struct every_kind p;
    memset(&p, 0xaa, sizeof p);
    KYMO_MARKER_T(net, "small", small, .code = (uint16_t)number(0x1234));
    if (seen(1)) {
        static const unsigned char code[8] = {0x34, 0x12};
        CHECK(is(call, "mark", "small") && call->site->kind == KYMO_SITE_MARKER);
        CHECK(strcmp(call->site->type->name, "Small") == 0);
        CHECK(memcmp(call->payload, code, 8) == 0);
    }
    KYMO_MARKER_T(net, "positions", whole, 1, 2, u64(UINT64_MAX));
    if (seen(1)) {
        struct whole w;
        memcpy(&w, call->payload, sizeof w);
        CHECK(w.one == 1 && w.other == 2 && w.all == UINT64_MAX);
    }
    KYMO_MARKER_T(net, "nothing", nothing);
    KYMO_MARKER_T_OPT(net, "done", done, KYMO_OPTIONS(.owner = u64(6)));
    KYMO_MARKER_T(net, "all zero", whole);
    {
        KYMO_SCOPE_T(net, "empty", nothing, payload);
        (void)payload;
    }
    if (seen(5)) {
        CHECK(call[0].site->type->field_count == 0 && call[1].options.owner == 6);
        CHECK(memcmp(call[2].payload, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16) == 0);
    }
    static const uint16_t units[] = {0x4b, 0x79};
    const struct kymo_mark_cell cells[] = {KYMO_CELL("a"), KYMO_CELL(1)};
    KYMO_MARKER_T_OPT(net, "all", every_kind, KYMO_OPTIONS(.thread = KYMO_THREAD_MAIN), .flag = 1,
                      .i8 = -1, .i64 = INT64_MIN, .u64 = UINT64_MAX, .f64 = 0.5,
                      .lit = KYMO_LITERAL("GET"), .str = word("http://x/"),
                      .text = KYMO_TEXT("abc", 2), .utf16 = KYMO_UTF16(units, 2), .time = 5,
                      .ns = -7, .ptr = &p, .flow = 1, .list = KYMO_CELLS(cells, 2),
                      .maybe_i = KYMO_SOME(-3), .maybe_f = KYMO_SOME_F64(1.5));
    if (seen(1)) {
        CHECK(is(call, "mark_with", "all") && call->options.thread == KYMO_THREAD_MAIN);
        memcpy(&p, call->payload, sizeof p);
        CHECK(p.flag && p.i8 == -1 && p.u8 == 0 && p.i64 == INT64_MIN && p.u64 == UINT64_MAX);
        CHECK(p.f64 == 0.5 && strcmp(p.lit.text, "GET") == 0 && strcmp(p.str, "http://x/") == 0);
        CHECK(p.text.len == 2 && p.utf16.len == 2 && p.utf16.data == units);
        CHECK(p.time == 5 && p.ns == -7 && p.ptr == &p && p.list.count == 2 &&
              p.list.data == cells);
        CHECK(p.maybe_i.value == -3 && p.maybe_i.is_there == 1 && p.maybe_u.is_there == 0);
        CHECK(p.maybe_f.value == 1.5 && p.table.data == NULL);
#ifndef KYMO_DISABLE
        /* The bytes of no field. */
        unsigned char field[sizeof p] = {0};
#define IS_FIELD(kind, key, label, format, flags) \
    memset(field + offsetof(struct every_kind, key), 1, sizeof p.key);
        EVERY_KIND(IS_FIELD)
#undef IS_FIELD
        unsigned holes = 0;
        for (size_t i = 0; i < sizeof p; i++) {
            CHECK(field[i] || call->payload[i] == 0);
            holes += !field[i];
        }
        CHECK(holes > 0);
#endif
    }
    KYMO_MARKER_T(net, "list", every_kind, .list = KYMO_LIST("x", 2, 3.0));
    if (seen(1)) {
        memcpy(&p, call->payload, sizeof p);
        CHECK(p.list.count == 3);
    }
}

static void formatted(void)
{
    const void *pointer = &evaluated;
    size_t size = 1u << 20;
    KYMO_MARKER_FMT(net, "retry", "%s, try %d of %zu: %.1f%% at %p", word("url"), number(-2), size,
                    2.5, pointer);
    if (seen(1)) {
        CHECK(is(call, "cells", "retry") && call->site->kind == KYMO_SITE_FORMAT);
        CHECK(strcmp(call->site->format, "%s, try %d of %zu: %.1f%% at %p") == 0);
        CHECK(call->cell_count == 5 && call->options.size == 0);
        CHECK(call->cells[0].kind == KYMO_KIND_STR && call->cells[1].kind == KYMO_KIND_I64);
        CHECK(call->cells[1].as.i64 == -2);
        CHECK(call->cells[2].kind == KYMO_KIND_U64 && call->cells[2].as.u64 == 1u << 20);
        CHECK(call->cells[3].kind == KYMO_KIND_F64 && call->cells[3].as.f64 == 2.5);
        CHECK(call->cells[4].kind == KYMO_KIND_PTR && call->cells[4].as.ptr == pointer);
    }
    KYMO_MARKER_FMT(net, "plain", "no arguments");
    if (seen(1))
        CHECK(call->cell_count == 0 && strcmp(call->site->format, "no arguments") == 0);
    KYMO_MARKER_FMT_OPT(net, "twelve", KYMO_OPTIONS(.stack = KYMO_STACK_HERE),
                        "%d%d%d%d%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    if (seen(1)) {
        CHECK(call->cell_count == 12 && call->cells[11].as.i64 == 12);
        CHECK(call->options.stack == KYMO_STACK_HERE);
    }
    KYMO_MARKER_VALUES(net, "look", size, number(3) + 1, (unsigned char)200);
    if (seen(1)) {
        CHECK(is(call, "cells", "look") && call->site->kind == KYMO_SITE_VALUES);
        CHECK(strcmp(call->site->format, "size, number(3) + 1, (unsigned char)200") == 0);
        CHECK(call->cell_count == 3 && call->cells[1].as.i64 == 4 && call->cells[2].as.u64 == 200);
    }
    KYMO_MARKER_VALUES_OPT(net, "limit", KYMO_OPTIONS(.owner = 3), ENOENT);
    if (seen(1)) /* not what the macro stands for */
        CHECK(strcmp(call->site->format, "ENOENT") == 0 && call->options.owner == 3);
}

static void cells(void)
{
    CHECK(strcmp(names[1].text, "set") == 0);
    static volatile int unsteady;
    const struct kymo_mark_cell all[] = {KYMO_CELL((char)-1),
                                         KYMO_CELL((signed char)-2),
                                         KYMO_CELL((short)-3),
                                         KYMO_CELL(-4),
                                         KYMO_CELL(-5L),
                                         KYMO_CELL(-6LL),
                                         KYMO_CELL((unsigned char)1),
                                         KYMO_CELL((unsigned short)2),
                                         KYMO_CELL(3u),
                                         KYMO_CELL(4ul),
                                         KYMO_CELL(UINT64_MAX),
                                         KYMO_CELL(1.5f),
                                         KYMO_CELL(2.5),
                                         KYMO_CELL(3.5L),
                                         KYMO_CELL("text"),
                                         KYMO_CELL(KYMO_TEXT("text", 2)),
                                         KYMO_CELL(&unsteady),
                                         KYMO_CELL(&evaluated),
                                         KYMO_CELL(1 == 1)};
    for (int i = 0; i < 6; i++)
        CHECK(all[i].kind == KYMO_KIND_I64 && (i == 0 || all[i].as.i64 == -i - 1));
    for (unsigned i = 6; i < 10; i++)
        CHECK(all[i].kind == KYMO_KIND_U64 && all[i].as.u64 == i - 5);
    CHECK(all[10].as.u64 == UINT64_MAX);
    for (unsigned i = 11; i < 14; i++)
        CHECK(all[i].kind == KYMO_KIND_F64 && all[i].as.f64 == i - 9.5);
    CHECK(all[14].kind == KYMO_KIND_STR && all[15].kind == KYMO_KIND_TEXT && all[15].len == 2);
    CHECK(all[16].kind == KYMO_KIND_PTR && all[16].as.ptr == (const void *)(uintptr_t)&unsteady);
    CHECK(all[17].kind == KYMO_KIND_PTR);
}

static void options(void)
{
    uint64_t t = 55;
    char name[] = "made at run time";
    KYMO_MARKER_OPT(net, "interval",
                    KYMO_OPTIONS(.timing = KYMO_TIMING_INTERVAL, .start = t, .end = u64(66),
                                 .stack = 12, .track = 77, .owner = 8, .thread = 99));
    if (seen(1)) {
        const struct kymo_mark_options *o = &call->options;
        CHECK(is(call, "mark_with", "interval") && !call->place && o->size == sizeof *o);
        CHECK(o->timing == KYMO_TIMING_INTERVAL && o->start == 55 && o->end == 66 && o->id == 0);
        CHECK(o->stack == 12 && o->track == 77 && o->owner == 8 && o->thread == 99 && !o->name);
    }
    KYMO_MARKER_OPT(net, "named", KYMO_OPTIONS(.name = word(name)));
    if (seen(1))
        CHECK(strcmp(call->name, name) == 0 && call->options.name_len == strlen(name));
    KYMO_MARKER_OPT(net, "named", KYMO_OPTIONS(.name_len = 4, .name = word(name)));
    if (seen(1))
        CHECK(strcmp(call->name, "made") == 0);
    KYMO_MARKER_OPT(net, "none", KYMO_NO_OPTIONS);
    if (seen(1))
        CHECK(call->options.size == 0);
}

/* ---- scopes ---- */

static int leaves_early(int early)
{
    KYMO_SCOPE(net, "early");
    if (early)
        return 1;
    KYMO_MARKER(net, "late");
    return 0;
}

static void scopes(void)
{
    CHECK(leaves_early(1) == 1);
    if (seen(2)) {
        CHECK(is(&call[0], "scope_begin", "early") && is(&call[1], "scope_end", "early"));
        CHECK(call[0].number == call[1].number && call[0].site->kind == KYMO_SITE_SCOPE);
        CHECK(call[0].site->min_ns == 0 && !call[1].place && call[1].options.size == 0);
    }
    CHECK(leaves_early(0) == 0);
    if (seen(3))
        CHECK(is(&call[1], "mark", "late") && is(&call[2], "scope_end", "early"));
    for (int i = 0; i < 3; i++) {
        KYMO_SCOPE_MIN(net, "turn", 50000);
        KYMO_SCOPE_OPT(net, "inner", KYMO_OPTIONS(.owner = u64(4)));
        if (i == 1)
            continue;
        if (i == 2)
            break;
    }
    if (seen(12)) {
        CHECK(call[0].site->min_ns == 50000 && is(&call[2], "scope_end", "inner"));
        CHECK(call[2].options.owner == 4 && is(&call[3], "scope_end", "turn"));
        CHECK(is(&call[11], "scope_end", "turn") && call[8].site == call[0].site);
    }
    {
        KYMO_SCOPE_MIN_OPT(net, "both", 7, KYMO_OPTIONS(.track = u64(3)));
    }
    if (seen(2))
        CHECK(call[1].site->min_ns == 7 && call[1].options.track == 3);
    {
        char later[] = "at the beginning";
        KYMO_SCOPE_TEXT(net, "text", word(later));
        memcpy(later, "at the end......", sizeof later);
        KYMO_SCOPE_TEXT_OPT(net, "counted", KYMO_OPTIONS(.owner = 5), KYMO_TEXT(later, 2));
        KYMO_SCOPE_TEXT_MIN_OPT(net, "long", 9, KYMO_NO_OPTIONS, "three");
    }
    if (seen(6)) {
        CHECK(call[0].site->kind == KYMO_SITE_TEXT && call[3].site->min_ns == 9);
        CHECK(strcmp(call[3].key, "three") == 0 && strcmp(call[4].key, "at") == 0);
        CHECK(call[4].options.owner == 5 && strcmp(call[5].key, "at the end......") == 0);
    }
}

static void typed_scopes(void)
{
    {
        KYMO_SCOPE_T(net, "all", every_kind, p);
        CHECK(p.u64 == 0 && p.str == NULL && p.maybe_u.is_there == 0);
        p.u64 = 12;
        p.maybe_u = KYMO_SOME_U64(13);
        p.flag = 1;
    }
    if (seen(2)) {
        struct every_kind p;
        memcpy(&p, call[1].payload, sizeof p);
        CHECK(is(&call[1], "scope_end", "all") && p.u64 == 12 && p.maybe_u.value == 13 && p.flag);
        CHECK(strcmp(call[1].site->type->name, "EveryKind") == 0);
    }
    {
        KYMO_SCOPE_T_MIN(net, "min", small, m, 1000);
        KYMO_SCOPE_T_OPT(net, "opt", whole, o, KYMO_OPTIONS(.owner = u64(2)));
        KYMO_SCOPE_T_MIN_OPT(net, "both", whole, b, 8, KYMO_OPTIONS(.name = word("other")));
        m.code = 7;
        /* All of it at once, with what lies between the fields. */
        struct small dirty;
        memset(&dirty, 0xff, sizeof dirty);
        m = dirty;
        b.all = 3;
        KYMO_SCOPE_CANCEL(o);
    }
    if (seen(6)) {
        static const unsigned char code[8] = {0xff, 0xff};
        struct whole w;
        memcpy(&w, call[3].payload, sizeof w);
        CHECK(is(&call[3], "scope_end", "both") && w.all == 3 &&
              strcmp(call[3].name, "other") == 0);
        CHECK(call[3].site->min_ns == 8 && call[3].flags == 0);
        CHECK(is(&call[4], "scope_end", "opt") && call[4].options.owner == 2);
        CHECK(call[4].flags == KYMO_SCOPE_IS_CANCELLED);
        CHECK(call[5].site->min_ns == 1000 && memcmp(call[5].payload, code, 8) == 0);
    }
}

/* It was off when the scope began, and is on when it ends; and the other way round. */
static void switched_in_a_scope(void)
{
    fake_switch(0);
    {
        KYMO_SCOPE(net, "off");
        KYMO_LABEL_SCOPE("off", 1);
        fake_switch(1);
    }
    uint64_t id = 0;
    unsigned count;
    fake_calls(&count);
    CHECK(count == 0);
    KYMO_INTERVAL_END(net, "off", id);
    fake_calls(&count);
    CHECK(count == 0);
    {
        KYMO_SCOPE(net, "on");
        KYMO_LABEL_SCOPE("on", 1);
        fake_switch(0);
    }
    const struct fake_call *calls = fake_calls(&count);
#ifndef KYMO_DISABLE
    CHECK(count == 4 && strcmp(calls[2].what, "label_pop") == 0 &&
          strcmp(calls[3].what, "scope_end") == 0);
#else
    CHECK(calls && count == 0);
#endif
    fake_switch(is_on);
}

/* ---- the rest ---- */

static void intervals(void)
{
    uint64_t id = KYMO_INTERVAL_BEGIN(net, "job");
    uint64_t own = KYMO_INTERVAL_BEGIN_OPT(net, "job", KYMO_OPTIONS(.start = 5, .id = u64(4711)));
    KYMO_INTERVAL_END(net, "job", own);
    KYMO_INTERVAL_END_T(net, "job", id, small, .code = (uint16_t)number(3));
    KYMO_INTERVAL_END_OPT(net, "job", id, KYMO_OPTIONS(.end = u64(9)));
    KYMO_INTERVAL_END_T_OPT(net, "job", id, whole, KYMO_OPTIONS(.stack = KYMO_STACK_HERE), 1, 2, 3);
    KYMO_INTERVAL_END(net, "never begun", 0);
    uint64_t typed = KYMO_INTERVAL_BEGIN_T(net, "job", small, .code = (uint16_t)number(8));
    uint64_t both = KYMO_INTERVAL_BEGIN_T_OPT(net, "job", small, KYMO_OPTIONS(.owner = u64(5)), 9);
    if (seen(8)) {
        CHECK(id != 0 && own == 4711 && is(&call[0], "mark_with", "job"));
        CHECK(call[0].options.timing == KYMO_TIMING_START && call[0].options.id == id);
        CHECK(call[0].options.size == sizeof call[0].options && call[0].options.start == 0);
        CHECK(call[1].options.id == 4711 && call[1].options.start == 5);
        CHECK(call[2].options.id == 4711 && call[2].options.timing == KYMO_TIMING_END);
        CHECK(call[3].options.id == id && call[3].payload[0] == 3);
        CHECK(call[4].options.end == 9 && call[4].options.timing == KYMO_TIMING_END);
        CHECK(call[5].options.stack == KYMO_STACK_HERE && call[5].payload[8] == 3);
        CHECK(call[6].options.id == typed && call[6].options.timing == KYMO_TIMING_START);
        CHECK(call[6].payload[0] == 8 && call[7].payload[0] == 9);
        CHECK(call[7].options.id == both && both != typed && call[7].options.owner == 5);
    } else {
        CHECK(id == 0 && own == 0 && typed == 0 && both == 0);
    }
}

KYMO_COUNTER(sent, net, "Bytes sent", TOTAL, "bytes", BLUE);
KYMO_COUNTER_EACH_CHANGE(queue, net, "Queue", GAUGE, NULL, ORANGE);
KYMO_COUNTER_F64(load, net, "Load", GAUGE, NULL, GREEN);
KYMO_COUNTER_OPT(rate, noise, "Rate", DELTA, "percent", RED, KYMO_COUNTER_RATE, "how fast");

static void counters(void)
{
    size_t size = 4096;
    KYMO_COUNT(sent, size);
    KYMO_COUNT_N(sent, number(-8), 3u);
    KYMO_COUNT(queue, number(5));
    KYMO_COUNT(rate, 1);
    KYMO_COUNT(load, number(3) / 2.0);
    KYMO_COUNT_N(load, size, 2);
    if (seen(6)) {
        CHECK(strcmp(call->what, "count") == 0 && call->value == 4096 && call->operations == 1);
        const struct kymo_mark_counter *c = call->counter;
        CHECK(c->size == sizeof *c && strcmp(c->name, "Bytes sent") == 0 && !c->description);
        CHECK(strcmp(c->unit, "bytes") == 0 && c->kind == KYMO_COUNTER_TOTAL && c->flags == 0);
        CHECK(c->color == KYMO_COLOR_BLUE && strcmp(c->category->name, "Network calls") == 0);
        CHECK(call[1].value == -8 && call[1].operations == 3 && call[1].counter == c);
        c = call[2].counter;
        CHECK(c->kind == KYMO_COUNTER_GAUGE && c->flags == KYMO_COUNTER_EACH && !c->unit);
        c = call[3].counter;
        CHECK(c->kind == KYMO_COUNTER_DELTA && c->flags == KYMO_COUNTER_RATE);
        CHECK(strcmp(c->description, "how fast") == 0);
        double said[2];
        memcpy(&said[0], &call[4].value, sizeof said[0]);
        memcpy(&said[1], &call[5].value, sizeof said[1]);
        CHECK(call[4].counter->flags == KYMO_COUNTER_IS_F64 && said[0] == 1.5);
        CHECK(call[5].operations == 2 && said[1] == 4096);
    }
}

static void labels(void)
{
    {
        KYMO_LABEL_SCOPE("request_id", number(17));
        KYMO_LABEL_SCOPE("user", word("me"));
        KYMO_LABEL_SET("trace", KYMO_TEXT("abcd", 3));
        KYMO_LABEL_CLEAR("trace");
    }
    if (seen(6)) {
        CHECK(strcmp(call[0].what, "label_push") == 0 && strcmp(call[0].key, "request_id") == 0);
        CHECK(call[0].flags == KYMO_CELL_OF_BLOCK && call[1].flags == KYMO_CELL_OF_BLOCK);
        CHECK(call[0].cells[0].as.i64 == 17 && call[1].cells[0].kind == KYMO_KIND_STR);
        CHECK(strcmp(call[2].what, "label_set") == 0 && call[2].cells[0].len == 3);
        CHECK(strcmp(call[3].what, "label_set") == 0 && call[3].cell_count == 0);
        CHECK(strcmp(call[4].what, "label_pop") == 0 && call[4].number == call[1].number);
        CHECK(call[5].number == call[0].number);
    }
}

static void flows(void)
{
    int here;
    CHECK(kymo_flow_global(5) == kymo_flow_global(5) && kymo_flow_global(5) != kymo_flow_global(6));
    CHECK(kymo_flow_global(0) != 0 && kymo_flow(0) != 0);
    CHECK(kymo_flow_pointer(&here) == kymo_flow((uint64_t)(uintptr_t)&here));
#ifndef KYMO_DISABLE
    CHECK(kymo_flow(5) != kymo_flow_global(5) && kymo_flow(0x5eed) == kymo_flow_global(0));
#endif
}

static void note_recording(void *context, int is_recorded)
{
    *(int *)context += is_recorded;
}

static void recording_begins(void)
{
    unsigned count;
    int recorded = 0;
    int status = kymo_on_recording(note_recording, &recorded);
    call = fake_calls(&count);
#ifndef KYMO_DISABLE
    CHECK(status == 0 && recorded == 1 && count == 1 && strcmp(call->key, "set") == 0);
    CHECK(kymo_on_recording(NULL, NULL) == 0 && recorded == 1);
    call = fake_calls(&count);
    CHECK(count == 1 && strcmp(call->key, "gone") == 0);
#else
    CHECK(status == KYMO_NO_LIBRARY && recorded == 0 && count == 0);
#endif
}

static void clock_and_calls(void)
{
    unsigned count;
    struct kymo_mark_stats stats;
    uint64_t now = kymo_now(), stack = kymo_stack(), track = kymo_track("Decoder 2");
    call = fake_calls(&count);
    CHECK(kymo_thread_id() > 0);
#ifndef KYMO_DISABLE
    CHECK(count == 3 && now + 1 == stack && track == 77);
    CHECK(strcmp(call[2].key, "Decoder 2") == 0 && call[2].value == 9);
    CHECK(kymo_now_to_ns(8) == 16 && kymo_now_from_ns(8) == 4);
    CHECK(kymo_markers_select("all:-net") == -2 && kymo_markers_stats(&stats) == 0);
    CHECK(stats.written > 0);
    call = fake_calls(&count);
    CHECK(count == 1 && strcmp(call->key, "all:-net") == 0);
#else
    CHECK(count == 0 && now == 0 && stack == 0 && track == 0);
    CHECK(kymo_now_to_ns(8) == 8 && kymo_now_from_ns(8) == 8);
    CHECK(kymo_markers_select("all") == KYMO_NO_LIBRARY);
    CHECK(kymo_markers_stats(&stats) == KYMO_NO_LIBRARY && stats.size == sizeof stats);
#endif
}

static void ready_types(void)
{
    {
        KYMO_SCOPE_T(kymo_file, "save", kymo_file_operation, io);
        io.operation = KYMO_LITERAL("write");
        io.path = word("/x");
        io.bytes = 5;
        io.offset = KYMO_SOME_U64(1);
    }
    CHECK(evaluated == 1); /* it is no argument */
    evaluated = 0;
    KYMO_MARKER_T(kymo_network, "get", kymo_network_request, .url = "u", .status = 200);
    KYMO_MARKER_T(kymo_lock, "wait", kymo_lock_wait, .lock = "l", .owner = 1);
    KYMO_MARKER_T(kymo_log, "log", kymo_log_message, .level = KYMO_LITERAL("warning"));
    KYMO_MARKER_T(kymo_task, "run", kymo_task_run, .task = "t", .flow = kymo_flow(1));
    KYMO_MARKER_T(kymo_task, "step", kymo_flow_step, .flow = kymo_flow(1));
    KYMO_MARKER_T(kymo_task, "end", kymo_flow_end, .flow = kymo_flow(1));
    KYMO_MARKER_T(other, "note", kymo_text_note, .text = KYMO_TEXT("abc", 3));
    if (seen(9)) {
        CHECK(strcmp(call[1].site->category->name, "File I/O") == 0);
        CHECK(strcmp(call[1].site->type->name, "FileOperation") == 0);
        CHECK(call[1].site->type->show & KYMO_SHOW_FILEIO);
        CHECK(strcmp(call[7].site->type->fields[0].key, "flow") == 0);
        CHECK(call[7].site->type->fields[0].format == KYMO_FORMAT_TERMINATING_FLOW_ID);
    }
}

/* What programs were compiled with stays as it is: a later version puts its own behind it. */
static void structures_are_as_they_were(void)
{
    CHECK(sizeof(struct kymo_mark_literal) == 8 && sizeof(struct kymo_mark_text) == 16);
    CHECK(sizeof(struct kymo_mark_cell) == 16 && offsetof(struct kymo_mark_cell, as) == 8);
    CHECK(sizeof(struct kymo_mark_field) == 24 && offsetof(struct kymo_mark_field, kind) == 16);
    CHECK(sizeof(struct kymo_mark_type) == 112 && offsetof(struct kymo_mark_type, chart) == 48);
    CHECK(offsetof(struct kymo_mark_type, max_per_second) == 108);
    CHECK(sizeof(struct kymo_mark_category) == 40 && offsetof(struct kymo_mark_category, on) == 4);
    CHECK(sizeof(struct kymo_mark_site) == 96 && offsetof(struct kymo_mark_site, line) == 80);
    CHECK(sizeof(struct kymo_mark_options) == 72 && offsetof(struct kymo_mark_options, name) == 64);
    CHECK(sizeof(struct kymo_mark_scope) == 48 && offsetof(struct kymo_mark_scope, flags) == 40);
    CHECK(sizeof(struct kymo_mark_counter) == 56);
    CHECK(offsetof(struct kymo_mark_counter, kind) == 40);
    CHECK(sizeof(struct kymo_mark_stats) == 40 && sizeof(struct kymo_mark_calls) == 144);
    CHECK(offsetof(struct kymo_mark_calls, stats) == 128);
    CHECK(sizeof(struct kymo_mark_link) == 120 && offsetof(struct kymo_mark_link, mark) == 56);
}

int main(void)
{
    structures_are_as_they_were();
    for (is_on = 0; is_on < 2; is_on++) {
        fake_switch(is_on);
#ifndef KYMO_DISABLE
        CHECK(KYMO_IS_ON(net) == is_on);
        types_are_tables();
        fields_lie_where_kinds_say();
        categories_say_what_they_are();
#else
        CHECK(!KYMO_IS_ON(net));
#endif
        markers();
        texts();
        typed();
        formatted();
        cells();
        options();
        scopes();
        typed_scopes();
        switched_in_a_scope();
        intervals();
        counters();
        labels();
        flows();
        recording_begins();
        clock_and_calls();
        ready_types();
    }
    return 0;
}
