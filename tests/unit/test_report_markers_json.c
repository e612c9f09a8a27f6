/* SPDX-License-Identifier: Apache-2.0 */
#include "views/report_json.h"

#include <string.h>

#include "kymo/marker_abi.h"
#include "profile_fixture.h"

static kymo_profile *p;
static uint32_t thread;

static int setup(void **state)
{
    p = new_profile();
    thread = add_thread(p, add_process(p, 7, 1), 7, 1);
    *state = p;
    return 0;
}

static void mark(const char *name, uint32_t category, kymo_marker_phase phase, uint64_t ns)
{
    kymo_marker m = {.start_ns = 1,
                     .end_ns = 1 + ns,
                     .thread = thread,
                     .name = add_string(p, name),
                     .category = category,
                     .schema = KYMO_NONE,
                     .stack = KYMO_NONE,
                     .labels = KYMO_NONE,
                     .phase = phase};
    ok(kymo_profile_add_marker(p, &m, NULL));
}

/* From "mode" on: what is before it is the same for all modes, and tested with the others. */
static const char *json_of(size_t top, kymo_bytes *bytes)
{
    kymo_report *report;
    kymo_marker_report *markers;
    ok(kymo_profile_finish(p));
    ok(kymo_report_create(p, NULL, &report));
    ok(kymo_marker_report_create(p, KYMO_MARKERS_BY_NAME, &markers));
    kymo_bytes_init(bytes, 1 << 20);
    ok(kymo_report_write_markers_json(p, NULL, report, markers, "name", top, &bytes->sink));
    ok(kymo_bytes_append(bytes, "", 1));
    kymo_marker_report_destroy(markers);
    kymo_report_destroy(report);
    assert_memory_equal(bytes->data, "{\"format\":1,", 12);
    assert_non_null(strstr((char *)bytes->data, "\"threads\":[{\"pid\":7,"));
    return strstr((char *)bytes->data, "\"mode\"");
}

static void nothing_recorded(void **state)
{
    (void)state;
    kymo_bytes bytes;
    assert_string_equal(json_of(0, &bytes),
                        "\"mode\":\"markers\",\"by\":\"name\",\"markers\":[],\"counters\":[],"
                        "\"dropped\":{\"lost\":0,\"capped\":0,\"cut\":0},"
                        "\"unit\":\"nanoseconds\",\"count\":0,\"total\":0}\n");
    kymo_bytes_deinit(&bytes);
}

static void every_field(void **state)
{
    (void)state;
    kymo_bytes bytes;
    uint32_t net;
    uint32_t id;
    kymo_marker_category category = {
        .size = sizeof category, .name = add_string(p, "Net"), .parent = KYMO_NONE};
    ok(kymo_profile_add_marker_category(p, &category, &net));
    mark("a \"b\"", net, KYMO_MARKER_INTERVAL, 100);
    mark("a \"b\"", net, KYMO_MARKER_INTERVAL, 10);
    mark("c", KYMO_NONE, KYMO_MARKER_UNFINISHED, 0);
    kymo_marker_losses l = {.size = sizeof l,
                            .name = add_string(p, "c"),
                            .category = KYMO_NONE,
                            .schema = KYMO_NONE,
                            .lost = 5,
                            .capped = 6,
                            .cut = 7};
    ok(kymo_profile_add_marker_losses(p, &l));
    kymo_counter c = {
        .size = sizeof c, .category = net, .name = add_string(p, "q"), .kind = KYMO_COUNTER_GAUGE};
    ok(kymo_profile_add_counter(p, &c, &id));
    ok(kymo_profile_add_count(p, id, 1, -3, 1));
#define FIRST                                                                                     \
    "\"mode\":\"markers\",\"by\":\"name\",\"markers\":[{\"name\":\"a \\\"b\\\"\","                \
    "\"category\":\"Net\",\"count\":2,\"intervals\":2,\"unfinished\":0,\"total\":110,\"min\":10," \
    "\"p50\":10,\"p95\":100,\"max\":100,\"histogram\":[[0,1],[64,1]],\"lost\":0,\"capped\":0,"    \
    "\"cut\":0}"
#define SECOND                                                                                     \
    ",{\"name\":\"c\",\"category\":null,\"count\":1,\"intervals\":0,\"unfinished\":1,\"total\":0," \
    "\"min\":null,\"p50\":null,\"p95\":null,\"max\":null,\"histogram\":[],\"lost\":5,"             \
    "\"capped\":6,\"cut\":7}"
#define TAIL                                                                                   \
    "],\"counters\":[{\"name\":\"q\",\"unit\":null,\"kind\":\"gauge\",\"pid\":7,\"values\":1," \
    "\"first\":-3,\"last\":-3,\"min\":-3,\"max\":-3,\"operations\":1}],"                       \
    "\"dropped\":{\"lost\":5,\"capped\":6,\"cut\":7},\"unit\":\"nanoseconds\",\"count\":3,"    \
    "\"total\":110}\n"
    assert_string_equal(json_of(0, &bytes), FIRST SECOND TAIL);
    kymo_bytes_deinit(&bytes);
    assert_string_equal(json_of(1, &bytes), FIRST TAIL);
    kymo_bytes_deinit(&bytes);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, destroy_profile)
    const struct CMUnitTest tests[] = {
        T(nothing_recorded),
        T(every_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
