/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/change.h"

#include "agent/reporter_callback.h"
#include "empty_folder.h"

#define OK(call) assert_int_equal((call), KYMO_OK)

static struct kymo_agent_settings now;
static struct kymo_agent_change change;

static int begin(void **state)
{
    (void)state;
    kymo_agent_settings_init(&now);
    OK(kymo_agent_settings_parse(&now, "reporter=local:/tmp,label=a=1,label=b=2", NULL));
    OK(kymo_agent_settings_check(&now, NULL));
    /* As kymo_agent_start gives it; its socket is not looked at here. */
    now.reporters[now.n_reporters++] =
        (struct kymo_reporter){.kind = &kymo_reporter_callback, .target = "4", .extension = ".jfr"};
    return 0;
}

static void only_what_is_named_is_another(void **state)
{
    (void)state;
    now.n_reporters--; /* whose check wants a socket */
    OK(kymo_agent_change_plan(&change, &now, "report=5s,cpu=7ms", NULL));
    assert_int_equal(change.settings.interval_ns, 5000000000u);
    assert_int_equal(change.settings.n_reporters, 1);
    assert_string_equal(kymo_metadata_get(&change.settings.labels, "a"), "1");
    assert_int_equal(change.recording.cpu_period_ns, 7000000);
    assert_int_equal(change.recording.wall_period_ns, 0);
    assert_int_equal(change.recording.counters_period_ns, 0);
    assert_false(change.recording.sets_alloc);
    assert_null(change.recording.markers);
    OK(kymo_agent_change_plan(&change, &now, "alloc=off,markers=none,label=c=3", NULL));
    assert_true(change.recording.sets_alloc);
    assert_int_equal(change.recording.alloc_bytes, 0);
    assert_string_equal(change.recording.markers, "none");
    assert_null(kymo_metadata_get(&change.settings.labels, "a"));
    assert_string_equal(kymo_metadata_get(&change.settings.labels, "c"), "3");
}

static void reporters_are_replaced_but_the_callback(void **state)
{
    (void)state;
    kymo_error detail = {0};
    assert_int_equal(kymo_agent_change_plan(&change, &now, "reporter=local:/,format=jfr", &detail),
                     KYMO_E_INVALID);
    assert_non_null(strstr(detail.message, "callback"));
    assert_int_equal(change.settings.n_reporters, 2);
    assert_ptr_equal(change.settings.reporters[0].kind, &kymo_reporter_callback);
    assert_string_equal(change.settings.reporters[1].target, "/");
}

static void what_needs_a_new_start_is_named(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"report=5s,engine=perf", "engine cannot be changed while the agent runs"},
        {"spool=/x", "spool cannot be changed"},
        {"spoo", "spoo cannot be changed"},
        {"reports=1s", "reports cannot be changed"},
        {"wall=off", "cannot be switched off"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        kymo_error detail = {0};
        assert_int_equal(kymo_agent_change_plan(&change, &now, wrong[i][0], &detail),
                         KYMO_E_UNSUPPORTED);
        if (!strstr(detail.message, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], detail.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(only_what_is_named_is_another, begin),
        cmocka_unit_test_setup(reporters_are_replaced_but_the_callback, begin),
        cmocka_unit_test_setup(what_needs_a_new_start_is_named, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
