/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

static uint32_t add(kymo_profile *p, const char *name, const char *const *keys, uint32_t count)
{
    kymo_schema_field fields[300];
    uint32_t id = KYMO_NONE;
    for (uint32_t i = 0; i < count; i++)
        fields[i] = (kymo_schema_field){.key = add_string(p, keys[i]), .format = 4};
    kymo_schema s = {.size = sizeof s,
                     .name = add_string(p, name),
                     .chart = add_string(p, "{marker.name}"),
                     .field_count = count,
                     .fields = fields};
    ok(kymo_profile_add_schema(p, &s, &id));
    return id;
}

static const char *name_of(const kymo_profile *p, uint32_t schema)
{
    return kymo_profile_string(p, kymo_profile_schema(p, schema)->name);
}

static void same_content_is_same_schema(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    const char *keys[] = {"url", "status"};
    uint32_t first = add(p, "Request", keys, 2);
    assert_int_equal(add(p, "Request", keys, 2), first);
    assert_int_not_equal(add(p, "Answer", keys, 2), first);
    const kymo_schema *s = kymo_profile_schema(p, first);
    assert_string_equal(kymo_profile_string(p, s->fields[1].key), "status");
    assert_string_equal(kymo_profile_string(p, s->chart), "{marker.name}");
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_SCHEMAS), 2);
    assert_null(kymo_profile_schema(p, 2));
    kymo_profile_destroy(p);
}

static void same_name_is_told_apart(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    const char *keys[] = {"a", "b", "c", "d"};
    uint32_t taken = add(p, "T (2)", keys, 1);
    uint32_t id[4];
    for (uint32_t i = 0; i < 4; i++)
        id[i] = add(p, "T", keys, i + 1);
    assert_string_equal(name_of(p, id[0]), "T");
    assert_string_equal(name_of(p, taken), "T (2)");
    assert_string_equal(name_of(p, id[1]), "T (3)");
    assert_string_equal(name_of(p, id[2]), "T (4)");
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(add(p, "T", keys, i + 1), id[i]);
    /* A long name is cut, so that the number is seen. */
    char name[KYMO_STRING_MAX + 1];
    memset(name, 'n', KYMO_STRING_MAX);
    name[KYMO_STRING_MAX] = '\0';
    uint32_t one = add(p, name, keys, 1);
    uint32_t two = add(p, name, keys, 2);
    assert_string_equal(name_of(p, one), name);
    assert_string_equal(name_of(p, two) + strlen(name_of(p, two)) - 5, "n (2)");
    kymo_profile_destroy(p);
}

static void rows_and_graphs_are_copied(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    kymo_schema_field field = {.key = add_string(p, "size")};
    kymo_schema_row rows[] = {{add_string(p, "See"), add_string(p, "the manual")}};
    kymo_schema_graph graphs[] = {{add_string(p, "size"), 1, 7}};
    kymo_schema s = {.size = sizeof s,
                     .name = add_string(p, "Write"),
                     .show = 3,
                     .is_stack_based = 5,
                     .field_count = 1,
                     .row_count = 1,
                     .graph_count = 1,
                     .fields = &field,
                     .rows = rows,
                     .graphs = graphs};
    uint32_t id;
    ok(kymo_profile_add_schema(p, &s, &id));
    memset(rows, 0, sizeof rows);
    memset(graphs, 0, sizeof graphs);
    const kymo_schema *row = kymo_profile_schema(p, id);
    assert_string_equal(kymo_profile_string(p, row->rows[0].value), "the manual");
    assert_string_equal(kymo_profile_string(p, row->graphs[0].key), "size");
    assert_int_equal(row->graphs[0].color, 7);
    assert_int_equal(row->is_stack_based, 1);
    uint32_t other;
    ok(kymo_profile_add_schema(p, &s, &other)); /* another one by its rows */
    assert_int_not_equal(other, id);
    kymo_profile_destroy(p);
}

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    kymo_schema_field fields[2] = {{.key = 0}, {.key = 0}};
    kymo_schema s = {.size = sizeof s, .field_count = 2, .fields = fields};
    uint32_t id = 8;
    assert_int_equal(kymo_profile_add_schema(p, &s, &id), KYMO_E_INVALID); /* a key twice */
    fields[1].key = 77;
    assert_int_equal(kymo_profile_add_schema(p, &s, &id), KYMO_E_INVALID);
    s.field_count = KYMO_SCHEMA_FIELDS_MAX + 1;
    assert_int_equal(kymo_profile_add_schema(p, &s, &id), KYMO_E_TOO_BIG);
    s = (kymo_schema){.size = sizeof s, .tooltip = 77};
    assert_int_equal(kymo_profile_add_schema(p, &s, &id), KYMO_E_INVALID);
    s = (kymo_schema){.size = 4};
    assert_int_equal(kymo_profile_add_schema(p, &s, &id), KYMO_E_INVALID);
    assert_int_equal(id, 8);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_content_is_same_schema),
        cmocka_unit_test(same_name_is_told_apart),
        cmocka_unit_test(rows_and_graphs_are_copied),
        cmocka_unit_test(what_is_wrong_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
