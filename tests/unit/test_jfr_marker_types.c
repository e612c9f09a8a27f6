/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/jfr/jfr.h"
#include "encode/jfr/jfr_marker_types.h"
#include "kymo/marker_abi.h"
#include "profile_fixture.h"

#include <math.h>

/* A profile of one thread. */
static kymo_profile *start(void)
{
    kymo_profile *p = new_profile();
    add_thread(p, add_process(p, 10, 1), 10, 1);
    return p;
}

static uint32_t add_schema(kymo_profile *p, const char *key, uint16_t format)
{
    const kymo_schema_field field = {.key = add_string(p, key), .format = format};
    const kymo_schema schema = {
        .size = sizeof schema, .name = add_string(p, "S"), .field_count = 1, .fields = &field};
    uint32_t id = KYMO_NONE;
    ok(kymo_profile_add_schema(p, &schema, &id));
    return id;
}

static void add_marker(kymo_profile *p, kymo_marker marker, const kymo_value *value)
{
    marker.name = add_string(p, "m");
    marker.stack = marker.labels = KYMO_NONE;
    ok(kymo_profile_add_marker(p, &marker, value));
}

static const kymo_marker plain = {.start_ns = 5, .end_ns = 5, .category = KYMO_NONE};

/* What the only field of a schema becomes, if markers have these values. */
static uint16_t type_of(const kymo_value *values, size_t count)
{
    kymo_profile *p = start();
    kymo_marker marker = plain;
    marker.schema = add_schema(p, "field", KYMO_FORMAT_INTEGER);
    for (size_t i = 0; i < count; i++)
        add_marker(p, marker, &values[i]);
    ok(kymo_profile_finish(p));
    kymo_jfr w = {.p = p, .type_count = KYMO_JFR_FIRST_OWN};
    ok(kymo_jfr_make_marker_types(&w));
    const kymo_jfr_type *type = &w.marker_types[marker.schema].type;
    uint16_t found = type->fields[type->field_count - 1].type;
    kymo_jfr_marker_types_deinit(&w);
    kymo_jfr_names_deinit(&w.type_names);
    kymo_arena_deinit(&w.arena);
    kymo_profile_destroy(p);
    return found;
}
#define TYPE_OF(...) \
    type_of((kymo_value[]){__VA_ARGS__}, sizeof((kymo_value[]){__VA_ARGS__}) / sizeof(kymo_value))

static void a_field_has_one_type_in_all_markers(void **state)
{
    (void)state;
    const kymo_value none = {.kind = KYMO_VALUE_NONE};
    const kymo_value yes = {.kind = KYMO_VALUE_BOOL, .as.u64 = 1};
    const kymo_value small = {.kind = KYMO_VALUE_I64, .as.i64 = -7};
    const kymo_value large = {.kind = KYMO_VALUE_I64, .as.i64 = INT64_MAX};
    const kymo_value least = {.kind = KYMO_VALUE_I64, .as.i64 = INT64_MIN};
    const kymo_value huge = {.kind = KYMO_VALUE_U64, .as.u64 = UINT64_MAX};
    const kymo_value real = {.kind = KYMO_VALUE_F64, .as.f64 = 0.5};
    const kymo_value infinite = {.kind = KYMO_VALUE_F64, .as.f64 = INFINITY};
    const kymo_value span = {.kind = KYMO_VALUE_NS, .as.i64 = 5};
    const kymo_value time = {.kind = KYMO_VALUE_TIME, .as.u64 = 5};
    assert_int_equal(TYPE_OF(yes), KYMO_JFR_BOOLEAN);
    assert_int_equal(TYPE_OF(yes, none), KYMO_JFR_STRING);
    assert_int_equal(TYPE_OF(none), KYMO_JFR_STRING);
    assert_int_equal(TYPE_OF(small, none, large), KYMO_JFR_LONG);
    assert_int_equal(TYPE_OF(small, real), KYMO_JFR_DOUBLE);
    assert_int_equal(TYPE_OF(large, real), KYMO_JFR_STRING); /* a double would not be exact */
    assert_int_equal(TYPE_OF(least), KYMO_JFR_STRING);       /* readers take it for none */
    assert_int_equal(TYPE_OF(huge), KYMO_JFR_STRING);
    assert_int_equal(TYPE_OF(infinite), KYMO_JFR_STRING);
    assert_int_equal(TYPE_OF(span), KYMO_JFR_LONG);
    assert_int_equal(TYPE_OF(span, small), KYMO_JFR_STRING);
    assert_int_equal(TYPE_OF(time), KYMO_JFR_LONG);
}

static int has_field(const kymo_jfr_type *type, const char *name)
{
    for (uint32_t i = 0; i < type->field_count; i++)
        if (strcmp(type->fields[i].name, name) == 0)
            return 1;
    return 0;
}

/* A schema's field that is called as one of these gets another name. */
static void only_what_markers_have_is_a_field(void **state)
{
    (void)state;
    const kymo_value value = {.kind = KYMO_VALUE_I64, .as.i64 = 1};
    kymo_profile *p = start();
    kymo_marker marker = plain;
    marker.schema = add_schema(p, "duration", KYMO_FORMAT_INTEGER);
    add_marker(p, marker, &value);
    marker = plain;
    marker.schema = KYMO_NONE;
    marker.end_ns = 9;
    marker.phase = KYMO_MARKER_INTERVAL;
    add_marker(p, marker, NULL);
    ok(kymo_profile_finish(p));
    kymo_jfr w = {.p = p, .type_count = KYMO_JFR_FIRST_OWN};
    ok(kymo_jfr_make_marker_types(&w));
    const kymo_jfr_type *with = &w.marker_types[0].type;
    const kymo_jfr_type *without = &w.marker_types[1].type;
    assert_int_equal(with->field_count, 4); /* time, thread, name, the schema's */
    assert_string_not_equal(with->fields[3].name, "duration");
    assert_string_equal(with->fields[3].label, "duration");
    assert_true(has_field(without, "duration") && has_field(without, "eventThread"));
    assert_false(has_field(without, "stackTrace") || has_field(without, "labels"));
    assert_int_not_equal(with->id, without->id);
    kymo_jfr_marker_types_deinit(&w);
    kymo_jfr_names_deinit(&w.type_names);
    kymo_arena_deinit(&w.arena);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_field_has_one_type_in_all_markers),
        cmocka_unit_test(only_what_markers_have_is_a_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
