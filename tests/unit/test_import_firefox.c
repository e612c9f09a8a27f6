/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles as Firefox and other tools write them: tables in each thread, later with strings and
 * sources of the whole file, later all of the whole file.
 */
#include <stdlib.h>

#include "import_fixture.h"

static char text[8192];

#define META(version)                                                                     \
    "{\"meta\":{\"interval\":1,\"startTime\":1600000000000,\"product\":\"Firefox\","      \
    "\"preprocessedProfileVersion\":" version ",\"sampleUnits\":{\"time\":\"ms\","        \
    "\"threadCPUDelta\":\"\xc2\xb5s\"}},\"libs\":[{\"name\":\"libxul.so\",\"path\":\"/f/" \
    "libxul.so\","                                                                        \
    "\"codeId\":\"a0b1\"}],"
#define FUNCS "\"resource\":[0,-1,-1],\"lineNumber\":[10,null,null]"
#define TABLES                                                                        \
    "\"frameTable\":{\"func\":[0,1,2],\"address\":[4096,-1,-1],\"line\":[11,null,7]," \
    "\"length\":3},\"resourceTable\":{\"lib\":[0],\"length\":1},"

/* main calls f calls main. */
static void write_old(const char *samples)
{
    snprintf(text, sizeof text,
             META("48") "\"threads\":[{\"name\":\"GeckoMain\",\"pid\":7,\"tid\":8,"
                        "\"isMainThread\":true,\"stringArray\":[\"main\",\"f\\u00e9\",\"a.js\"],"
                        "\"funcTable\":{\"name\":[0,1,1],\"fileName\":[null,2,2]," FUNCS "}," TABLES
                        "\"stackTable\":{\"frame\":[0,1,0],\"prefix\":[null,0,1]},"
                        "\"samples\":%s}]}",
             samples);
}

static void tables_of_a_thread(void **state)
{
    (void)state;
    write_old("{\"stack\":[1,0,null,2],\"time\":[1,2,3,4],\"weight\":null,"
              "\"threadCPUDelta\":[5,6,7,null]}");
    kymo_profile *p = import_text(text);
    kymo_report *r;
    ok(kymo_report_create(p, NULL, &r));
    assert_string_equal(kymo_report_type(r)->name, "samples");
    assert_int_equal(kymo_report_total(r), 3);
    assert_row(r, 0, "main", 2, 3);
    assert_row(r, 1, "f\xc3\xa9", 1, 2);
    size_t n;
    const kymo_report_row *rows = kymo_report_rows(r, &n);
    assert_string_equal(rows[1].file, "a.js");
    assert_string_equal(rows[0].module, "libxul.so");
    kymo_report_destroy(r);
    const kymo_report_options cpu = {.size = sizeof cpu, .kind = 1};
    ok(kymo_report_create(p, &cpu, &r));
    assert_string_equal(kymo_report_type(r)->name, "cpu");
    assert_int_equal(kymo_report_total(r), 13000);
    kymo_report_destroy(r);
    assert_string_equal(kymo_profile_meta(p)->product, "Firefox");
    assert_int_equal(kymo_profile_meta(p)->origin_realtime_ns, 1600000000000000000);
    assert_int_equal(kymo_profile_process(p, 0)->pid, 7);
    assert_int_equal(kymo_profile_thread(p, 0)->tid, 8);
    assert_int_equal(kymo_profile_module(p, 0)->build_id[1], 0xb1);
    kymo_profile_destroy(p);
}

static void write_shared(const char *version, const char *prefix, const char *samples)
{
    snprintf(text, sizeof text,
             "%s\"threads\":[{\"name\":\"t\",\"pid\":\"200.1\",\"tid\":\"8\",\"samples\":%s}],"
             "\"shared\":{\"stringArray\":[\"main\",\"f\",\"/a.c\"],\"sources\":{\"filename\":[2]},"
             "\"funcTable\":{\"name\":[0,1,1],\"source\":[null,0,0]," FUNCS "}," TABLES
             "\"stackTable\":{\"frame\":[0,1,2],%s}}}",
             version, samples, prefix);
}

static void strings_of_the_file(void **state)
{
    (void)state;
    snprintf(text, sizeof text, "%s",
             META("58") "\"threads\":[{\"name\":\"t\",\"pid\":\"7\",\"tid\":8,"
                        "\"funcTable\":{\"name\":[0,1,1],\"source\":[null,0,0]," FUNCS "}," TABLES
                        "\"stackTable\":{\"frame\":[0,1,2],\"prefix\":[null,0,1]},"
                        "\"samples\":{\"stack\":[2,1],\"time\":[1,2]}}],"
                        "\"shared\":{\"stringArray\":[\"main\",\"f\",\"/a.c\"],"
                        "\"sources\":{\"filename\":[2]}}}");
    kymo_profile *p = import_text(text);
    kymo_report *r;
    size_t n;
    ok(kymo_report_create(p, NULL, &r));
    assert_row(r, 0, "f", 2, 2);
    assert_row(r, 1, "main", 0, 2);
    assert_string_equal(kymo_report_rows(r, &n)[0].file, "/a.c");
    kymo_report_destroy(r);
    kymo_profile_destroy(p);
}

static void tables_of_the_file(void **state)
{
    (void)state;
    write_shared(META("66"), "\"prefixOffset\":[0,1,1]",
                 "{\"stack\":[2,1,0],\"timeDeltas\":[1.5,1,1],\"weight\":[0.250001,2,3],"
                 "\"weightType\":\"tracing-ms\"}");
    kymo_profile *p = import_text(text);
    kymo_report *r;
    ok(kymo_report_create(p, NULL, &r));
    assert_string_equal(kymo_report_type(r)->name, "time");
    assert_row(r, 0, "main", 3000000, 5250001);
    assert_row(r, 1, "f", 2250001, 2250001);
    assert_int_equal(kymo_profile_process(p, 0)->pid, 200);
    assert_int_equal(kymo_profile_samples(p, 0).time_ns[2], 3500000);
    kymo_report_destroy(r);
    kymo_profile_destroy(p);
}

static void what_is_wrong_is_told(void **state)
{
    (void)state;
    const char *one = "{\"stack\":[2],\"time\":[1]}";
    write_shared(META("70"), "\"prefixOffset\":[0,1,1]", one);
    assert_import_fails(text, KYMO_E_VERSION, "a Firefox profile of version 70; up to 66 are read");
    write_shared(META("66"), "\"prefix\":[1,2,0]", one);
    assert_import_fails(text, KYMO_E_CORRUPT, "the caller of stack 0 does not come before it");
    write_shared(META("66"), "\"prefixOffset\":[0,2,1]", one);
    assert_import_fails(text, KYMO_E_CORRUPT, "the caller of stack 1 does not come before it");
    write_shared(META("66"), "\"prefixOffset\":[0,1,1]", "{\"stack\":[3],\"time\":[1]}");
    assert_import_fails(text, KYMO_E_CORRUPT, "there is no stack 3, only 3");
    write_shared(META("66"), "\"prefixOffset\":[0,1,1]",
                 "{\"stack\":[1],\"time\":[1],\"weight\":[-2]}");
    assert_import_fails(text, KYMO_E_UNSUPPORTED, "a sample has a negative weight");
    write_shared(META("66"), "\"prefixOffset\":[0,1,1]", "{\"stack\":[1],\"weightType\":\"x\"}");
    assert_import_fails(text, KYMO_E_UNSUPPORTED, "neither samples, tracing-ms nor bytes");
    strcpy(text, "{\"meta\":{\"interval\":1,\"version\":25},\"threads\":[],\"processes\":[]}");
    assert_import_fails(text, KYMO_E_UNSUPPORTED, "not a processed profile: open it at https");
    strcpy(text, META("66") "\"threads\":[}");
    assert_import_fails(text, KYMO_E_CORRUPT, "no valid JSON, in the file");
    strcpy(text, META("66") "\"threads\":[]} 1");
    assert_import_fails(text, KYMO_E_CORRUPT, "there is more after the profile");
}

static void every_cut_is_told(void **state)
{
    (void)state;
    write_shared(META("66"), "\"prefixOffset\":[0,1,1]", "{\"stack\":[2],\"time\":[1]}");
    size_t whole = strlen(text);
    for (size_t len = 150; len < whole; len++) {
        kymo_profile *p;
        kymo_error detail = {.message = ""};
        assert_int_equal(kymo_import_memory(text, len, &p, &detail), KYMO_E_TRUNCATED);
        assert_non_null(strstr(detail.message, "ends too early"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_of_a_thread), cmocka_unit_test(strings_of_the_file),
        cmocka_unit_test(tables_of_the_file), cmocka_unit_test(what_is_wrong_is_told),
        cmocka_unit_test(every_cut_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
