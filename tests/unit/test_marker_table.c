/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

/* A marker without anything, from start to end. */
static kymo_marker plain(uint64_t start_ns, uint64_t end_ns, uint32_t phase)
{
    return (kymo_marker){.start_ns = start_ns,
                         .end_ns = end_ns,
                         .category = KYMO_NONE,
                         .schema = KYMO_NONE,
                         .stack = KYMO_NONE,
                         .labels = KYMO_NONE,
                         .phase = phase};
}

static uint32_t add_schema(kymo_profile *p, uint32_t field_count)
{
    kymo_schema_field fields[4] = {{.key = add_string(p, "a")},
                                   {.key = add_string(p, "b")},
                                   {.key = add_string(p, "c")},
                                   {.key = add_string(p, "d")}};
    kymo_schema s = {.size = sizeof s, .field_count = field_count, .fields = fields};
    uint32_t id = KYMO_NONE;
    ok(kymo_profile_add_schema(p, &s, &id));
    return id;
}

static void markers_of_a_thread_are_by_time(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    add_process(p, 10, 0);
    uint32_t t[2] = {add_thread(p, 0, 10, 0), add_thread(p, 0, 11, 0)};
    struct {
        uint64_t start, end;
        const char *name;
    } rows[] = {{30, 40, "late"}, {10, 20, "inner"}, {10, 35, "outer"}, {10, 20, "inner too"}};
    for (size_t i = 0; i < 4; i++) {
        kymo_marker m = plain(rows[i].start, rows[i].end, KYMO_MARKER_INTERVAL);
        m.thread = t[1];
        m.name = add_string(p, rows[i].name);
        ok(kymo_profile_add_marker(p, &m, NULL));
    }
    assert_null(kymo_profile_thread_order(p));
    ok(kymo_profile_finish(p));
    kymo_markers markers = kymo_profile_markers(p, t[1]);
    assert_int_equal(markers.count, 4);
    const char *expected[] = {"outer", "inner", "inner too", "late"};
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(kymo_profile_string(p, markers.rows[i].name), expected[i]);
    assert_int_equal(kymo_profile_markers(p, t[0]).count, 0);
    assert_int_equal(kymo_profile_markers(p, 2).count, 0);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_MARKERS), 4);
    kymo_profile_destroy(p);
}

static void one_time_is_both(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    add_process(p, 10, 0);
    add_thread(p, 0, 10, 0);
    kymo_marker in[] = {
        plain(1, 0, KYMO_MARKER_INSTANT), plain(2, 0, KYMO_MARKER_UNFINISHED),
        plain(0, 3, KYMO_MARKER_UNBEGUN),
        plain(4, 1, KYMO_MARKER_INTERVAL), /* of no length, rather than backwards */
    };
    for (size_t i = 0; i < 4; i++)
        ok(kymo_profile_add_marker(p, &in[i], NULL));
    ok(kymo_profile_finish(p));
    kymo_markers out = kymo_profile_markers(p, 0);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(out.rows[i].start_ns, i + 1);
        assert_int_equal(out.rows[i].end_ns, i + 1);
        assert_int_equal(out.rows[i].phase, in[i].phase);
    }
    kymo_profile_destroy(p);
}

static void values_are_as_many_as_fields(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    add_process(p, 10, 0);
    add_thread(p, 0, 10, 0);
    kymo_value list[2] = {{.kind = KYMO_VALUE_U64, .as.u64 = 5}, {.kind = KYMO_VALUE_NONE}};
    kymo_value values[3] = {{.kind = KYMO_VALUE_I64, .as.i64 = -7},
                            {.kind = KYMO_VALUE_STRING, .as.string = add_string(p, "text")},
                            {.kind = KYMO_VALUE_LIST, .as.list.count = 2}};
    ok(kymo_profile_add_values(p, list, 2, &values[2].as.list.first));
    kymo_marker m = plain(1, 1, KYMO_MARKER_INSTANT);
    m.schema = add_schema(p, 3);
    ok(kymo_profile_add_marker(p, &m, values));
    ok(kymo_profile_add_marker(p, &m, NULL));
    kymo_markers out = kymo_profile_markers(p, 0);
    assert_int_equal(out.rows[0].value_count, 3);
    const kymo_value *v = kymo_profile_values(p, out.rows[0].first_value, 3);
    assert_int_equal(v[0].as.i64, -7);
    assert_int_equal(kymo_profile_values(p, v[2].as.list.first, v[2].as.list.count)->as.u64, 5);
    assert_int_equal(out.rows[1].schema, m.schema);
    assert_int_equal(out.rows[1].value_count, 0); /* and none of them costs anything */
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_VALUES), 5);
    kymo_profile_destroy(p);
}

static void unknown_ids_are_refused(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    add_process(p, 10, 0);
    add_thread(p, 0, 10, 0);
    kymo_marker wrong[7];
    for (size_t i = 0; i < 7; i++)
        wrong[i] = plain(1, 1, KYMO_MARKER_INSTANT);
    wrong[0].thread = 1;
    wrong[1].name = 9;
    wrong[2].category = 0;
    wrong[3].schema = 0;
    wrong[4].stack = 0;
    wrong[5].labels = 0;
    wrong[6].phase = 4;
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(kymo_profile_add_marker(p, &wrong[i], NULL), KYMO_E_INVALID);
    kymo_marker m = plain(1, 1, KYMO_MARKER_INSTANT);
    m.schema = add_schema(p, 1);
    kymo_value value = {.kind = KYMO_VALUE_STRING, .as.string = 99};
    assert_int_equal(kymo_profile_add_marker(p, &m, &value), KYMO_E_INVALID);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_MARKERS), 0);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_VALUES), 0);
    kymo_profile_destroy(p);
}

static void stacks_of_markers_stay(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    add_process(p, 10, 0);
    add_thread(p, 0, 10, 0);
    uint32_t unused = add_stack(p, KYMO_NONE, add_frame(p, KYMO_NONE, 1));
    uint32_t outer = add_stack(p, KYMO_NONE, add_frame(p, KYMO_NONE, 2));
    kymo_marker m = plain(1, 1, KYMO_MARKER_INSTANT);
    m.stack = add_stack(p, outer, add_frame(p, KYMO_NONE, 3));
    ok(kymo_profile_add_marker(p, &m, NULL));
    ok(kymo_profile_drop_unused_stacks(p));
    kymo_stacks stacks = kymo_profile_stacks(p);
    assert_int_equal(unused, 0);
    assert_int_equal(stacks.count, 2);
    uint32_t stack = kymo_profile_markers(p, 0).rows[0].stack;
    assert_int_equal(kymo_profile_frame(p, stacks.frame[stack])->address, 3);
    assert_int_equal(kymo_profile_frame(p, stacks.frame[stacks.parent[stack]])->address, 2);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markers_of_a_thread_are_by_time),
        cmocka_unit_test(one_time_is_both),
        cmocka_unit_test(values_are_as_many_as_fields),
        cmocka_unit_test(unknown_ids_are_refused),
        cmocka_unit_test(stacks_of_markers_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
