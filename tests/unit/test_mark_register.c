/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "capture/mark.h"
#include "kymo/marker.h"
#include "own_process.h"
#include "unit.h"

/* ---- what mark_register.c asks of others ---- */

struct kymo_capture_process *kymo_process_state;
uint32_t kymo_quiet_here;
__thread uint32_t kymo_quiet_vfork KYMO_TLS_IE;
static int updates;

void kymo_mark_links_add(struct kymo_mark_category *category)
{
    (void)category;
    updates++;
}

size_t kymo_mark_text_len(const char *text, size_t max)
{
    return strnlen(text, max);
}

static void begin_case(void)
{
}

/* ---- a type ---- */

#define REQUEST(F)                       \
    F(u16, status, "Status", INTEGER, 0) \
    F(u64, bytes, NULL, BYTES, 0)        \
    F(str, url, "URL", URL, 0)           \
    F(literal, color, NULL, STRING, 0)   \
    F(cells, rows, "Rows|Name:string", TABLE, 0)

static const struct kymo_mark_row rows[] = {{"Protocol", "HTTP"}, {NULL, NULL}};
static const struct kymo_mark_graph graphs[] = {{"bytes", KYMO_GRAPH_BAR, KYMO_COLOR_RED},
                                                {NULL, 0, 0}};

KYMO_TYPE(request, "Request", REQUEST,
          .chart = "{marker.name}: {marker.data.url} {marker.data.status ? 'done' : 'open'}",
          .tooltip = KYMO_SHOWN_AS(request, "", url),
          .table = "{marker.start} of {marker.category}", .description = "of a client",
          .rows = rows, .graphs = graphs, .color_key = "color", .max_per_second = 7);

static char why[300];

static int type_register(const struct kymo_mark_type *type, const struct kymo_mark_type **out)
{
    memset(why, 'w', sizeof why);
    return kymo_mark_type_register(type, out, why, sizeof why);
}

CASE(a_type_is_copied_with_all_that_it_points_to)
{
    struct kymo_mark_field fields[5];
    struct kymo_mark_type mine = kymo_type_request;
    char key[] = "status";
    char name[] = "Request";
    const struct kymo_mark_type *copy = NULL;
    memcpy(fields, kymo_fields_request, sizeof fields);
    fields[0].key = key;
    mine.fields = fields;
    mine.name = name;
    EXPECT(type_register(&mine, &copy) == KYMO_OK && why[0] == '\0');
    key[0] = name[0] = 'X';
    memset(fields, 0, sizeof fields);
    EXPECT(strcmp(copy->name, "Request") == 0 && strcmp(copy->fields[0].key, "status") == 0);
    EXPECT(strcmp(copy->fields[0].label, "Status") == 0 && copy->fields[1].label == NULL);
    EXPECT(copy->field_count == 5 && copy->field_bytes == sizeof *copy->fields);
    EXPECT(copy->payload_bytes == sizeof(struct request) && copy->max_per_second == 7);
    EXPECT(strcmp(copy->chart, kymo_type_request.chart) == 0 && copy->chart != mine.chart);
    EXPECT(strcmp(copy->rows[0].value, "HTTP") == 0 && copy->rows[1].label == NULL);
    EXPECT(strcmp(copy->graphs[0].key, "bytes") == 0 && copy->graphs[1].key == NULL);
    EXPECT(strcmp(copy->color_key, "color") == 0 && strcmp(copy->description, "of a client") == 0);
    EXPECT(copy->line == kymo_type_request.line && strcmp(copy->file, __FILE__) == 0);
}

CASE(the_same_name_and_fields_are_one_type)
{
    struct kymo_mark_type other = kymo_type_request;
    const struct kymo_mark_type *first = NULL;
    const struct kymo_mark_type *again = NULL;
    EXPECT(type_register(&kymo_type_request, &first) == KYMO_OK);
    other.line = 1;
    other.chart = "something else";
    EXPECT(type_register(&other, &again) == KYMO_OK && again == first && why[0] == '\0');
    /* What comes back can be registered, too. */
    EXPECT(type_register(first, &again) == KYMO_OK && again == first);
    other.name = "Response";
    EXPECT(type_register(&other, &again) == KYMO_OK && again != first && why[0] == '\0');
}

CASE(other_fields_are_another_type_and_that_is_said)
{
    struct kymo_mark_field fields[5];
    struct kymo_mark_type other = kymo_type_request;
    const struct kymo_mark_type *first = NULL;
    const struct kymo_mark_type *second = NULL;
    const struct kymo_mark_type *again = NULL;
    char expected[300];
    memcpy(fields, kymo_fields_request, sizeof fields);
    fields[0].kind = KYMO_KIND_I16;
    other.fields = fields;
    other.file = "kv.py";
    other.line = 12;
    EXPECT(type_register(&kymo_type_request, &first) == KYMO_OK);
    EXPECT(type_register(&other, &second) == KYMO_OK && second != first);
    snprintf(expected, sizeof expected,
             "kv.py:12: type Request has other fields than the one of %s:%u: both are kept",
             __FILE__, kymo_type_request.line);
    EXPECT(strcmp(why, expected) == 0);
    EXPECT(type_register(&other, &again) == KYMO_OK && again == second && why[0] == '\0');
    EXPECT(type_register(&kymo_type_request, &again) == KYMO_OK && again == first);
    /* The reason may be left out. */
    fields[0].kind = KYMO_KIND_U16;
    fields[0].format = KYMO_FORMAT_HEXADECIMAL;
    EXPECT(kymo_mark_type_register(&other, &again, NULL, 0) == KYMO_OK && again != first);
}

/* ---- what is refused ---- */

struct bad {
    struct kymo_mark_type type;
    struct kymo_mark_field fields[5];
};

static struct bad good(void)
{
    struct bad b = {.type = kymo_type_request};
    memcpy(b.fields, kymo_fields_request, sizeof b.fields);
    b.type.file = "kv.py";
    b.type.line = 9;
    return b;
}

static void expect_refused(struct bad *b, const char *text)
{
    const struct kymo_mark_type *out = NULL;
    if (b->type.fields == kymo_fields_request)
        b->type.fields = b->fields;
    EXPECT(type_register(&b->type, &out) == KYMO_E_INVALID && !out);
    if (strcmp(why, text) != 0)
        fprintf(stderr, "expected \"%s\", not \"%s\"\n", text, why);
    EXPECT(strcmp(why, text) == 0);
}

CASE(labels_name_fields_that_are_there)
{
    struct bad b = good();
    b.type.chart = "{marker.data.uri}";
    expect_refused(&b, "kv.py:9: type Request: a label names a field that it lacks: \"uri\"");
    b = good();
    b.type.tooltip = "{marker.data.statu ? 'a' : 'b'}";
    expect_refused(&b, "kv.py:9: type Request: a label names a field that it lacks: \"statu\"");
    b = good();
    b.type.table = "size {marker.data.bytes";
    expect_refused(&b, "kv.py:9: type Request: a label has a brace that nothing closes: "
                       "\"marker.data.bytes\"");
    b = good();
    b.type.table = "{bytes}";
    expect_refused(&b, "kv.py:9: type Request: a label has in braces what is no {marker...}: "
                       "\"bytes\"");
    b = good();
    b.type.table = "{marker.weight}";
    expect_refused(&b, "kv.py:9: type Request: a label has in braces what is no {marker...}: "
                       "\"marker.weight\"");
    b = good();
    b.type.color_key = "colour";
    expect_refused(&b, "kv.py:9: type Request: its colour is no field of text: \"colour\"");
    b = good();
    b.type.color_key = "bytes";
    expect_refused(&b, "kv.py:9: type Request: its colour is no field of text: \"bytes\"");
}

CASE(graphs_are_of_numbers)
{
    struct bad b = good();
    struct kymo_mark_graph wrong[] = {{"url", KYMO_GRAPH_BAR, 0}, {NULL, 0, 0}};
    b.type.graphs = wrong;
    expect_refused(&b, "kv.py:9: type Request: a graph is of what is no number: \"url\"");
    wrong[0].key = "size";
    expect_refused(&b, "kv.py:9: type Request: a graph is of a field that it lacks: \"size\"");
    wrong[0] = (struct kymo_mark_graph){"bytes", 3, 0};
    expect_refused(&b,
                   "kv.py:9: type Request: there is no such graph or colour as that of: \"bytes\"");
}

CASE(fields_are_what_the_payload_is)
{
    struct bad b = good();
    b.type.payload_bytes++;
    expect_refused(&b, "kv.py:9: type Request: its payload is not as long as its fields are");
    b = good();
    b.fields[2].kind = KYMO_KIND_COUNT;
    expect_refused(&b, "kv.py:9: type Request: there is no such kind as that of the field: "
                       "\"url\"");
    b = good();
    b.fields[2].format = KYMO_FORMAT_BYTES;
    expect_refused(&b, "kv.py:9: type Request: its kind cannot be shown in the format of the "
                       "field: \"url\"");
    b = good();
    b.fields[1].format = KYMO_FORMAT_FLOW_ID; /* a number is no flow */
    expect_refused(&b, "kv.py:9: type Request: its kind cannot be shown in the format of the "
                       "field: \"bytes\"");
    b = good();
    b.fields[2].format = KYMO_FORMAT_COUNT;
    expect_refused(&b, "kv.py:9: type Request: its kind cannot be shown in the format of the "
                       "field: \"url\"");
    b = good();
    b.fields[2].key = "bytes";
    expect_refused(&b, "kv.py:9: type Request: two fields have the key: \"bytes\"");
    b = good();
    b.fields[1].key = "a b";
    expect_refused(&b, "kv.py:9: type Request: a key is no word: \"a b\"");
    b = good();
    b.fields[1].key = NULL;
    expect_refused(&b, "kv.py:9: type Request: a field has no key");
    b = good();
    b.type.field_count = 65;
    expect_refused(&b, "kv.py:9: type Request: it has more than 64 fields");
    b = good();
    b.type.field_bytes = 8;
    expect_refused(&b, "kv.py:9: type Request: its fields are not there");
    b = good();
    b.type.name = NULL;
    expect_refused(&b, "kv.py:9: type ?: it has no name");
    const struct kymo_mark_type *out;
    EXPECT(type_register(NULL, &out) == KYMO_E_INVALID);
    b = good();
    b.type.size--;
    EXPECT(type_register(&b.type, &out) == KYMO_E_VERSION);
}

/* Each kind has a format, and each format a kind. */
CASE(all_kinds_and_formats_are_to_be_had)
{
    uint32_t shown = 0;
    for (uint32_t kind = 1; kind < KYMO_KIND_COUNT; kind++) {
        uint32_t of_kind = 0;
        for (uint32_t format = 1; format < KYMO_FORMAT_COUNT; format++) {
            struct kymo_mark_fault fault;
            struct kymo_mark_field f = {"a", NULL, (uint8_t)kind, (uint8_t)format, 0, 0};
            struct kymo_mark_type type = kymo_type_request;
            static const uint32_t sizes[] = {0,
#define X(name, NAME, ctype, size, alignment) size,
                                             KYMO_MARK_KINDS(X)
#undef X
            };
            type.fields = &f;
            type.field_count = 1;
            type.payload_bytes = sizes[kind];
            type.chart = type.tooltip = type.table = type.color_key = NULL;
            type.graphs = NULL;
            if (!kymo_mark_type_is_faulty(&type, &fault))
                of_kind |= 1u << format;
        }
        EXPECT(of_kind != 0);
        shown |= of_kind;
    }
    EXPECT(shown == (1u << KYMO_FORMAT_COUNT) - 2);
}

/* ---- categories and sites ---- */

CASE(categories_merge_by_name_and_whole)
{
    struct kymo_mark_category net = {.size = sizeof net, .name = "net", .color = KYMO_COLOR_RED};
    struct kymo_mark_category part = {.size = sizeof part, .name = "dns", .parent = &net};
    struct kymo_mark_category deep = {.size = sizeof deep, .name = "udp", .parent = &part};
    struct kymo_mark_category *one, *two, *three;
    EXPECT(kymo_mark_registered_category(NULL) == NULL);
    EXPECT(kymo_mark_category_register(&part, &one, why, sizeof why) == KYMO_OK && why[0] == 0);
    EXPECT(updates == 1);
    EXPECT(one != &part && strcmp(one->name, "dns") == 0 && strcmp(one->parent->name, "net") == 0);
    EXPECT(one->parent->color == KYMO_COLOR_RED && one->on == 0 && one->id == 0);
    EXPECT(kymo_mark_category_register(&net, &two, NULL, 0) == KYMO_OK && two == one->parent);
    net.name = "disk";
    EXPECT(kymo_mark_category_register(&part, &three, why, sizeof why) == KYMO_OK && three != one);
    /* All of them, in the order in which they came. */
    EXPECT(kymo_mark_registered_category(NULL) == two);
    EXPECT(kymo_mark_registered_category(two) == one);
    EXPECT(kymo_mark_registered_category(one) == three->parent);
    EXPECT(kymo_mark_registered_category(three) == NULL);
    EXPECT(kymo_mark_category_register(&deep, &one, why, sizeof why) == KYMO_E_INVALID);
    EXPECT(strcmp(why, "a category is a part of a part") == 0);
    part.parent = &part;
    EXPECT(kymo_mark_category_register(&part, &one, why, sizeof why) == KYMO_E_INVALID);
    net.name = "";
    EXPECT(kymo_mark_category_register(&net, &one, why, sizeof why) == KYMO_E_INVALID);
    EXPECT(kymo_mark_category_register(NULL, &one, why, sizeof why) == KYMO_E_INVALID);
}

CASE(sites_bring_their_category_and_type)
{
    struct kymo_mark_category net = {.size = sizeof net, .name = "net"};
    char name[] = "request";
    struct kymo_mark_site site = {.size = sizeof site,
                                  .id = 5,
                                  .category = &net,
                                  .type = &kymo_type_request,
                                  .name = name,
                                  .file = "kv.py",
                                  .line = 3,
                                  .words = 9,
                                  .slow = 1};
    struct kymo_mark_site *one, *two, *three;
    const struct kymo_mark_type *type;
    EXPECT(kymo_mark_site_register(&site, &one, why, sizeof why) == KYMO_OK);
    EXPECT(one->category != &net && strcmp(one->category->name, "net") == 0);
    EXPECT(kymo_mark_type_register(&kymo_type_request, &type, NULL, 0) == KYMO_OK);
    EXPECT(one->type == type && one->id == 0 && one->words == 0 && one->slow == 0);
    EXPECT(kymo_mark_site_register(&site, &two, why, sizeof why) == KYMO_OK && two == one);
    name[0] = 'R';
    EXPECT(strcmp(one->name, "request") == 0);
    EXPECT(kymo_mark_site_register(&site, &two, why, sizeof why) == KYMO_OK && two != one);
    site.line++;
    EXPECT(kymo_mark_site_register(&site, &three, why, sizeof why) == KYMO_OK && three != two);
    site.kind = KYMO_SITE_TEXT;
    EXPECT(kymo_mark_site_register(&site, &two, why, sizeof why) == KYMO_E_INVALID);
    site.kind = KYMO_SITE_FORMAT;
    site.type = NULL;
    EXPECT(kymo_mark_site_register(&site, &two, why, sizeof why) == KYMO_E_INVALID);
    site.format = "%d";
    EXPECT(kymo_mark_site_register(&site, &two, why, sizeof why) == KYMO_OK);
    EXPECT(strcmp(two->format, "%d") == 0 && !two->type);
    site.category = NULL;
    EXPECT(kymo_mark_site_register(&site, &two, why, sizeof why) == KYMO_E_INVALID);
}

/* A program that makes them without end is stopped, and has what it had. */
CASE(memory_ends_somewhere)
{
    struct kymo_mark_category net = {.size = sizeof net, .name = "net"};
    struct kymo_mark_site site = {.size = sizeof site, .category = &net, .name = "s"};
    struct kymo_mark_site *first = NULL;
    struct kymo_mark_site *out;
    static char file[600];
    int err = KYMO_OK;
    memset(file, 'f', sizeof file - 1);
    site.file = file;
    EXPECT(kymo_mark_site_register(&site, &first, why, sizeof why) == KYMO_OK);
    while (err == KYMO_OK && site.line < 100000) {
        site.line++;
        err = kymo_mark_site_register(&site, &out, why, sizeof why);
    }
    EXPECT(err == KYMO_E_FULL && site.line > 5000);
    EXPECT(strcmp(why, "there is no memory for more of these") == 0);
    site.line = 0;
    EXPECT(kymo_mark_site_register(&site, &out, why, sizeof why) == KYMO_OK && out == first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_type_is_copied_with_all_that_it_points_to),
        cmocka_unit_test(the_same_name_and_fields_are_one_type),
        cmocka_unit_test(other_fields_are_another_type_and_that_is_said),
        cmocka_unit_test(labels_name_fields_that_are_there),
        cmocka_unit_test(graphs_are_of_numbers),
        cmocka_unit_test(fields_are_what_the_payload_is),
        cmocka_unit_test(all_kinds_and_formats_are_to_be_had),
        cmocka_unit_test(categories_merge_by_name_and_whole),
        cmocka_unit_test(sites_bring_their_category_and_type),
        cmocka_unit_test(memory_ends_somewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
