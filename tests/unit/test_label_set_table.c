/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

static kymo_label number(kymo_profile *p, const char *key, uint64_t value)
{
    return (kymo_label){.key = add_string(p, key),
                        .value = {.kind = KYMO_VALUE_U64, .as.u64 = value}};
}

static uint32_t add(kymo_profile *p, const kymo_label *labels, uint32_t count)
{
    uint32_t id = 8;
    ok(kymo_profile_add_label_set(p, labels, count, &id));
    return id;
}

static void order_makes_no_difference(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    kymo_label a[] = {number(p, "request", 17), number(p, "user", 3)};
    kymo_label b[] = {number(p, "user", 3), number(p, "request", 17)};
    uint32_t set = add(p, a, 2);
    assert_int_equal(add(p, b, 2), set);
    assert_int_not_equal(add(p, b, 1), set);
    assert_int_equal(add(p, a, 0), KYMO_NONE);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_LABEL_SETS), 2);
    uint32_t count;
    const kymo_label *labels = kymo_profile_label_set(p, set, &count);
    assert_int_equal(count, 2);
    assert_string_equal(kymo_profile_string(p, labels[0].key), "request");
    assert_int_equal(labels[1].value.as.u64, 3);
    assert_null(kymo_profile_label_set(p, KYMO_NONE, &count));
    assert_int_equal(count, 0);
    kymo_profile_destroy(p);
}

static void last_of_a_key_counts(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    kymo_label labels[] = {number(p, "request", 1), number(p, "user", 3), number(p, "request", 2)};
    uint32_t count;
    const kymo_label *out = kymo_profile_label_set(p, add(p, labels, 3), &count);
    assert_int_equal(count, 2);
    assert_int_equal(out[0].value.as.u64, 2);
    /* A text is another value than a number, whatever else lies in the union. */
    kymo_label text = {.key = labels[1].key, .value = {.kind = KYMO_VALUE_STRING}};
    text.value.as.u64 = UINT64_MAX << 32;
    uint32_t set = add(p, &text, 1);
    text.value.as.u64 = 0;
    assert_int_equal(add(p, &text, 1), set);
    kymo_profile_destroy(p);
}

static void sets_have_a_limit(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    kymo_label labels[KYMO_LABEL_SET_MAX + 1];
    uint32_t id = 8;
    for (uint32_t i = 0; i <= KYMO_LABEL_SET_MAX; i++) {
        char key[16];
        snprintf(key, sizeof key, "key %u", i);
        labels[KYMO_LABEL_SET_MAX - i] = number(p, key, i);
    }
    assert_int_equal(kymo_profile_add_label_set(p, labels, KYMO_LABEL_SET_MAX + 1, &id),
                     KYMO_E_TOO_BIG);
    uint32_t count;
    const kymo_label *out = kymo_profile_label_set(p, add(p, labels, KYMO_LABEL_SET_MAX), &count);
    assert_int_equal(count, KYMO_LABEL_SET_MAX);
    for (uint32_t i = 1; i < count; i++)
        assert_true(out[i - 1].key < out[i].key);
    labels[0].key = 999;
    assert_int_equal(kymo_profile_add_label_set(p, labels, 1, &id), KYMO_E_INVALID);
    labels[0] = (kymo_label){.value = {.kind = KYMO_VALUE_LIST}};
    assert_int_equal(kymo_profile_add_label_set(p, labels, 1, &id), KYMO_E_INVALID);
    labels[0] = (kymo_label){.key = 0};
    assert_int_equal(kymo_profile_add_label_set(p, labels, 1, &id), KYMO_E_INVALID);
    assert_int_equal(id, 8);
    kymo_profile_destroy(p);
}

static void samples_keep_their_labels(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    add_process(p, 10, 0);
    uint32_t t = add_thread(p, 0, 10, 0);
    kymo_label label = number(p, "request", 1);
    uint32_t set = add(p, &label, 1);
    for (uint64_t i = 0; i < 20; i++)
        ok(kymo_profile_add_sample(p, t, 100 - i, KYMO_NONE, 1, KYMO_SAMPLE_CPU, 0));
    ok(kymo_profile_set_sample_labels(p, t, 3, KYMO_NONE));
    assert_null(kymo_profile_sample_labels(p, t));
    ok(kymo_profile_set_sample_labels(p, t, 5, set));
    for (uint64_t i = 0; i < 20; i++) /* the columns grow */
        ok(kymo_profile_add_sample(p, t, 80 - i, KYMO_NONE, 1, KYMO_SAMPLE_CPU, 0));
    ok(kymo_profile_finish(p));
    const uint32_t *labels = kymo_profile_sample_labels(p, t);
    for (uint32_t i = 0; i < 40; i++)
        assert_int_equal(labels[i], kymo_profile_samples(p, t).time_ns[i] == 95 ? set : KYMO_NONE);
    assert_int_equal(kymo_profile_set_sample_labels(p, t, 40, set), KYMO_E_INVALID);
    assert_int_equal(kymo_profile_set_sample_labels(p, t, 0, set + 1), KYMO_E_INVALID);
    assert_int_equal(kymo_profile_set_sample_labels(p, 1, 0, set), KYMO_E_INVALID);
    assert_null(kymo_profile_sample_labels(p, 1));
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_makes_no_difference),
        cmocka_unit_test(last_of_a_key_counts),
        cmocka_unit_test(sets_have_a_limit),
        cmocka_unit_test(samples_keep_their_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
