/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages are written here as other tools do: ids that are not 1, 2, 3, tables in any order.
 */
#include <stdlib.h>

#include "base/proto.h"
#include "kymo/import.h"
#include "kymo/report.h"
#include "profile_fixture.h"

static kymo_proto file, inner, deep;

/* A message of number fields, in pairs; field 0 ends them. */
static void put(kymo_proto *to, unsigned field, const uint64_t *pairs)
{
    kymo_proto_clear(&inner);
    for (; pairs[0]; pairs += 2)
        kymo_proto_u64(&inner, (unsigned)pairs[0], pairs[1]);
    kymo_proto_message(to, field, &inner);
}
#define PUT(to, field, ...) put(to, field, (const uint64_t[]){__VA_ARGS__, 0, 0})

static void put_sample(const uint64_t *locations, const uint64_t *values, uint32_t value_count)
{
    kymo_proto_clear(&inner);
    for (; *locations; locations++)
        kymo_proto_u64(&inner, 1, *locations); /* not packed */
    kymo_proto_clear(&deep);
    for (uint32_t i = 0; i < value_count; i++)
        kymo_proto_varint(&deep, values[i]);
    kymo_proto_packed(&inner, 2, &deep);
    kymo_proto_message(&file, 2, &inner);
}
#define SAMPLE(locations, ...)                                               \
    put_sample((const uint64_t[])locations, (const uint64_t[]){__VA_ARGS__}, \
               sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))
#define AT(...)        \
    {                  \
        __VA_ARGS__, 0 \
    }

/* A location of lines: pairs of function and line, the innermost first. */
static void put_location(uint64_t id, uint64_t mapping, uint64_t address, const uint64_t *lines)
{
    kymo_proto location = {0};
    kymo_proto_u64(&location, 1, id);
    kymo_proto_u64(&location, 2, mapping);
    kymo_proto_u64(&location, 3, address);
    for (; lines[0]; lines += 2)
        PUT(&location, 4, 1, lines[0], 2, lines[1]);
    kymo_proto_message(&file, 4, &location);
    kymo_proto_deinit(&location);
}
#define LOCATION(id, mapping, address, ...) \
    put_location(id, mapping, address, (const uint64_t[]){__VA_ARGS__, 0, 0})

static void put_strings(const char *const *texts)
{
    for (; *texts; texts++)
        kymo_proto_bytes(&file, 6, *texts, strlen(*texts));
}

enum { NONE, SAMPLES, COUNT, WALL, MS, MAIN, F, G, FILE_C, PROG, BUILD_ID };

static void begin(void)
{
    static const char *const texts[] = {"",       "samples", "count", "wall", "milliseconds",
                                        "main",   "f",       "g",     "a.c",  "/bin/prog",
                                        "a0b1C2", NULL};
    kymo_proto_clear(&file);
    PUT(&file, 1, 1, SAMPLES, 2, COUNT);
    PUT(&file, 1, 1, WALL, 2, MS);
    PUT(&file, 5, 1, 70, 2, F, 4, FILE_C, 5, 3); /* functions */
    PUT(&file, 5, 1, 7, 2, MAIN);
    PUT(&file, 5, 1, 71, 3, G); /* a system name alone */
    PUT(&file, 3, 1, 9, 2, 0x1000, 3, 0x9000, 4, 0x1000, 5, PROG, 6, BUILD_ID);
    put_strings(texts);
    LOCATION(5, 9, 0x1100, 71, 8, 70, 4); /* g is inlined into f */
    LOCATION(6, 9, 0x1200, 7, 1);
    LOCATION(8, 0, 0, 7, 2); /* neither mapping nor address */
}

static kymo_profile *read_file(void)
{
    kymo_profile *p = NULL;
    kymo_error detail = {.message = ""};
    kymo_err err = kymo_import_memory(file.data, file.len, &p, &detail);
    if (err != KYMO_OK)
        fail_msg("%s", detail.message);
    return p;
}

static void assert_fails(kymo_err err, const char *part)
{
    kymo_profile *p;
    kymo_error detail = {.message = ""};
    assert_int_equal(kymo_import_memory(file.data, file.len, &p, &detail), err);
    if (!strstr(detail.message, part))
        fail_msg("no \"%s\" in \"%s\"", part, detail.message);
}

static void tables_come_in_any_order(void **state)
{
    (void)state;
    begin();
    SAMPLE(AT(5, 6), 2, 30);
    SAMPLE(AT(8), 1, 5);
    kymo_proto_u64(&file, 9, 1000000000000000000u);
    kymo_proto_u64(&file, 10, 60000000);
    kymo_profile *p = read_file();
    kymo_report *r;
    size_t n;
    ok(kymo_report_create(p, NULL, &r));
    const kymo_report_row *rows = kymo_report_rows(r, &n);
    assert_int_equal(n, 3);
    assert_string_equal(kymo_report_type(r)->name, "wall"); /* the last one */
    assert_string_equal(kymo_report_type(r)->unit, "nanoseconds");
    assert_int_equal(kymo_report_total(r), 35000000);
    assert_string_equal(rows[0].name, "g");
    assert_int_equal(rows[0].self, 30000000);
    assert_string_equal(rows[1].name, "main");
    assert_int_equal(rows[1].total, 35000000);
    assert_string_equal(rows[2].name, "f");
    assert_string_equal(rows[2].file, "a.c");
    assert_string_equal(rows[2].module, "prog");
    kymo_report_destroy(r);
    assert_string_equal(kymo_profile_meta(p)->product, "prog");
    assert_int_equal(kymo_profile_meta(p)->end_ns, 60000000);
    assert_int_equal(kymo_profile_module(p, 0)->build_id_len, 3);
    assert_int_equal(kymo_profile_module(p, 0)->build_id[2], 0xc2);
    kymo_profile_destroy(p);
}

static void the_default_type_is_the_files(void **state)
{
    (void)state;
    begin();
    kymo_proto_u64(&file, 14, SAMPLES);
    SAMPLE(AT(6), 2, 30);
    kymo_profile *p = read_file();
    assert_int_equal(kymo_profile_default_sample_type(p), 0);
    kymo_profile_destroy(p);
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    begin();
    SAMPLE(AT(77), 2, 30);
    assert_fails(KYMO_E_CORRUPT, "there is no location 77; the file is damaged");
    begin();
    LOCATION(10, 9, 0x1300, 99, 1);
    SAMPLE(AT(10), 2, 30);
    assert_fails(KYMO_E_CORRUPT, "there is no function 99");
    begin();
    LOCATION(10, 3, 0x1300, 7, 1);
    SAMPLE(AT(10), 2, 30);
    assert_fails(KYMO_E_CORRUPT, "there is no mapping 3");
    begin();
    PUT(&file, 5, 1, 90, 2, 500);
    LOCATION(10, 9, 0x1300, 90, 1);
    SAMPLE(AT(10), 2, 30);
    assert_fails(KYMO_E_CORRUPT, "there is no string 500, only 11");
    begin();
    SAMPLE(AT(6), 2);
    assert_fails(KYMO_E_CORRUPT, "a sample has 1 values instead of 2");
    begin();
    SAMPLE(AT(6), 2, 3, 4);
    assert_fails(KYMO_E_CORRUPT, "a sample has more than 2 values");
    begin();
    LOCATION(6, 0, 0, 7, 1);
    assert_fails(KYMO_E_CORRUPT, "location 6 is there twice");
    begin();
    LOCATION(0, 0, 0, 7, 1);
    assert_fails(KYMO_E_CORRUPT, "a location has no id");
}

static void differences_are_refused(void **state)
{
    (void)state;
    begin();
    SAMPLE(AT(6), 2, (uint64_t)-5);
    assert_fails(KYMO_E_UNSUPPORTED, "has the value -5: a difference of profiles is not read");
    begin();
    SAMPLE(AT(6), 2, INT64_MAX);
    assert_fails(KYMO_E_CORRUPT, "value is too large");
}

static void every_cut_is_told(void **state)
{
    (void)state;
    begin();
    SAMPLE(AT(5, 6), 2, 30);
    size_t whole = file.len;
    for (size_t len = 40; len < whole; len++) {
        kymo_profile *p = NULL;
        kymo_error detail = {.message = ""};
        kymo_err err = kymo_import_memory(file.data, len, &p, &detail);
        if (err != KYMO_OK && !detail.message[0])
            fail_msg("cut at %zu: no message", len);
        kymo_profile_destroy(p);
    }
    file.len = whole - 1;
    assert_fails(KYMO_E_TRUNCATED, "ends too early");
    file.len = whole;
}

static void threads_are_labels(void **state)
{
    (void)state;
    static const char *const more[] = {"thread", "worker", "pid", "tid", "request", NULL};
    begin();
    put_strings(more); /* from 11 on */
    for (uint64_t i = 0; i < 2; i++) {
        kymo_proto sample = {0};
        kymo_proto_u64(&sample, 1, 6);
        kymo_proto_clear(&deep);
        kymo_proto_varint(&deep, 1);
        kymo_proto_varint(&deep, 2);
        kymo_proto_packed(&sample, 2, &deep);
        PUT(&sample, 3, 1, 11, 2, 12);
        PUT(&sample, 3, 1, 13, 3, 300);
        PUT(&sample, 3, 1, 14, 3, 301 + i);
        PUT(&sample, 3, 1, 15, 3, 17);
        kymo_proto_message(&file, 2, &sample);
        kymo_proto_deinit(&sample);
    }
    kymo_profile *p = read_file();
    uint32_t named = 0;
    for (uint32_t i = 0; i < kymo_profile_count(p, KYMO_TABLE_THREADS); i++) {
        const kymo_thread *t = kymo_profile_thread(p, i);
        const uint32_t *sets = kymo_profile_sample_labels(p, i);
        uint32_t count;
        if (strcmp(t->name, "worker") != 0)
            continue;
        named++;
        assert_int_equal(kymo_profile_process(p, t->process)->pid, 300);
        assert_non_null(sets);
        assert_int_equal(kymo_profile_label_set(p, sets[0], &count)->value.as.i64, 17);
        assert_int_equal(count, 1);
    }
    assert_int_equal(named, 2);
    kymo_profile_destroy(p);
}

static int free_messages(void **state)
{
    (void)state;
    kymo_proto_deinit(&file);
    kymo_proto_deinit(&inner);
    kymo_proto_deinit(&deep);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_come_in_any_order), cmocka_unit_test(the_default_type_is_the_files),
        cmocka_unit_test(what_is_missing_is_named), cmocka_unit_test(differences_are_refused),
        cmocka_unit_test(every_cut_is_told),        cmocka_unit_test(threads_are_labels),
    };
    return cmocka_run_group_tests(tests, NULL, free_messages);
}
