/* SPDX-License-Identifier: Apache-2.0 */
#include "mark_process.h"

static void they_are_of_the_whole_process(void **state)
{
    (void)state;
    struct kymo_mark_site one = SITE("one");
    struct kymo_mark_site two = SITE("two");
    struct kymo_mark_stats stats = {.size = sizeof stats};
    assert_int_equal(kymo_mark_stats(&stats), KYMO_OK);
    assert_int_equal(stats.sites + stats.written + stats.lost + stats.capped + stats.cut, 0);
    for (int thread = 0; thread < 2; thread++) {
        for (int i = 0; i < 5; i++)
            kymo_mark(&one, NULL);
        kymo_mark(&two, NULL);
        if (thread == 0) {
            kymo_thread_self = NULL;
            begin_thread();
        }
    }
    counts_of(&one)->lost = 3;
    counts_of(&two)->lost = 4;
    counts_of(&one)->capped = 5;
    counts_of(&two)->cut = 6;
    assert_int_equal(kymo_mark_stats(&stats), KYMO_OK);
    assert_int_equal(stats.size, sizeof stats);
    assert_int_equal(stats.sites, 2);
    assert_int_equal(stats.written, 12);
    assert_int_equal(stats.lost, 7);
    assert_int_equal(stats.capped, 5);
    assert_int_equal(stats.cut, 6);
}

static void without_a_session_there_are_none(void **state)
{
    struct kymo_mark_stats stats = {.size = sizeof stats - 1};
    struct kymo_capture_process *process = kymo_process_state;
    (void)state;
    assert_int_equal(kymo_mark_stats(&stats), KYMO_E_INVALID);
    assert_int_equal(kymo_mark_stats(NULL), KYMO_E_INVALID);
    stats.size = sizeof stats;
    kymo_process_state = NULL;
    assert_int_equal(kymo_mark_stats(&stats), KYMO_E_CLOSED);
    kymo_process_state = process;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(they_are_of_the_whole_process, open_small_process,
                                        close_process),
        cmocka_unit_test_setup_teardown(without_a_session_there_are_none, open_small_process,
                                        close_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
