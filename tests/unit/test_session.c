/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "session_fixture.h"
#include "unit.h"

static void parts_do_not_overlap(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {4u << 20,   5u << 20, 32u << 20,
                                     100u << 20, 1u << 30, 1ull << 32};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(sizes); i++) {
        struct kymo_session_plan p;
        assert_int_equal(kymo_session_plan(sizes[i], &p), KYMO_OK);
        assert_true(p.threads_at >= sizeof(struct kymo_session));
        assert_true(p.modules_at >= p.threads_at + p.threads * sizeof(struct kymo_thread_slot));
        assert_true(p.module_index_at >=
                    p.modules_at + p.modules * sizeof(struct kymo_module_entry));
        assert_true(p.depots_at >= p.module_index_at + p.module_slots * sizeof(uint32_t));
        assert_true(p.small_at >= p.depots_at + 2 * p.depot_bytes);
        assert_true(p.large_at >= p.small_at + (uint64_t)p.small_blocks * KYMO_SMALL_BLOCK_BYTES);
        assert_true(p.large_at + (uint64_t)p.large_blocks * KYMO_LARGE_BLOCK_BYTES <=
                    p.total_bytes);
        assert_true(p.small_blocks > 0 && p.large_blocks > 0);
        assert_true(sizeof(struct kymo_depot_head) + p.depot_slots * sizeof(uint32_t) +
                        p.depot_words * 8ull <=
                    p.depot_bytes);
        assert_true(p.depot_words < 1u << 24);
        assert_int_equal(p.depot_slots & (p.depot_slots - 1), 0);
    }
}

/* What the design promises: 1000 live threads, and 1000 short-lived ones a second of which a
 * round or two (20 ms each) waits to be drained, each with a small block in both streams. */
static void default_size_has_room_for_a_thousand_threads(void **state)
{
    (void)state;
    struct kymo_session_plan p;
    assert_int_equal(kymo_session_plan(32u << 20, &p), KYMO_OK);
    assert_true(p.threads >= 2000);
    assert_true(p.small_blocks + p.large_blocks >= 1100);
}

/* With the session, as far as a site can tell their numbers. */
static void definitions_grow_with_the_session(void **state)
{
    static const struct {
        uint64_t megabytes;
        uint32_t definitions;
    } rows[] = {{1, 512}, {32, 16384}, {64, 32768}, {4096, 32768}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kymo_session_plan p;
        assert_int_equal(kymo_session_plan(rows[i].megabytes << 20, &p), KYMO_OK);
        assert_int_equal(p.definitions, rows[i].definitions);
        assert_int_equal(p.definition_bytes, rows[i].megabytes << 15);
        assert_int_equal(p.threads, i == 0 ? 128 : 4096);
    }
}

static void sizes_out_of_range_are_refused(void **state)
{
    (void)state;
    struct kymo_session_plan p;
    assert_int_equal(kymo_session_plan(0, &p), KYMO_E_RANGE);
    assert_int_equal(kymo_session_plan((1ull << 32) + 1, &p), KYMO_E_RANGE);
}

static void check_accepts_only_its_own(void **state)
{
    (void)state;
    struct fixture f = fixture_open(8u << 20);
    struct kymo_session_plan p;
    assert_int_equal(kymo_session_check(f.session, f.plan.total_bytes, &p), KYMO_OK);
    assert_int_equal(p.total_bytes, f.plan.total_bytes);
    assert_int_equal(p.threads, f.plan.threads);
    assert_int_equal(p.depots_at, f.plan.depots_at);
    assert_int_equal(p.depot_slots, f.plan.depot_slots);
    assert_int_equal(p.small_at, f.plan.small_at);
    assert_int_equal(p.large_at, f.plan.large_at);
    assert_int_equal(p.large_blocks, f.plan.large_blocks);
    assert_int_equal(kymo_session_check(f.session, 100, &p), KYMO_E_CORRUPT);
    assert_int_equal(kymo_session_check(f.session, 4u << 20, &p), KYMO_E_CORRUPT);
    f.session->layout++;
    assert_int_equal(kymo_session_check(f.session, f.plan.total_bytes, &p), KYMO_E_VERSION);
    f.session->magic++;
    assert_int_equal(kymo_session_check(f.session, f.plan.total_bytes, &p), KYMO_E_CORRUPT);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_do_not_overlap),
        cmocka_unit_test(default_size_has_room_for_a_thousand_threads),
        cmocka_unit_test(definitions_grow_with_the_session),
        cmocka_unit_test(sizes_out_of_range_are_refused),
        cmocka_unit_test(check_accepts_only_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
