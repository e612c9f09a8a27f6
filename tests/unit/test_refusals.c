/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/refusals.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

static unsigned notes;
static uint32_t severity;
static char last[512];

static kymo_err on_note(void *context, const kymo_event_note *e)
{
    (void)context;
    notes++;
    severity = e->severity;
    snprintf(last, sizeof last, "%s", e->text);
    return KYMO_OK;
}

static const kymo_event_handler events = {.note = on_note};

static void refuse(kymo_refusals *r, uint32_t reason, const char *path)
{
    struct kymo_refusal refusal = {.sequence = 1, .pid = 42, .reason = reason};
    snprintf(refusal.path, sizeof refusal.path, "%s", path);
    assert_int_equal(kymo_refusals_add(r, 0, &refusal, 0), KYMO_OK);
}

static void a_program_is_named_once(void **state)
{
    (void)state;
    kymo_refusals r = {.events = &events};
    notes = 0;
    refuse(&r, KYMO_REFUSAL_STATIC, "/bin/busybox");
    assert_string_equal(last,
                        "process 42 runs /bin/busybox, which is not recorded: it is statically "
                        "linked");
    refuse(&r, KYMO_REFUSAL_STATIC, "/bin/busybox");
    refuse(&r, KYMO_REFUSAL_STATIC, "/bin/busybox");
    assert_int_equal(notes, 1);
    refuse(&r, KYMO_REFUSAL_PRIVILEGES, "/usr/bin/su");
    assert_int_equal(notes, 2);
    assert_int_equal(kymo_refusals_finish(&r), KYMO_OK);
    assert_int_equal(notes, 3); /* su ran once */
    assert_non_null(strstr(last, "/bin/busybox was run 3 times"));
    kymo_refusals_deinit(&r);
}

/* It is worth a warning only where more than CPU samples was asked for, and is counted by no note.
 */
static void what_is_sampled_from_outside_is_told_apart(void **state)
{
    (void)state;
    for (int wants_more = 0; wants_more < 2; wants_more++) {
        kymo_refusals r = {.events = &events, .wants_more = wants_more};
        struct kymo_refusal refusal = {.pid = 42, .reason = KYMO_REFUSAL_STATIC, .path = "/bin/go"};
        notes = 0;
        for (int i = 0; i < 3; i++)
            assert_int_equal(kymo_refusals_add(&r, 7, &refusal, 1), KYMO_OK);
        assert_int_equal(notes, 1);
        assert_int_equal(severity, wants_more ? KYMO_NOTE_WARNING : KYMO_NOTE_INFO);
        assert_string_equal(last, "/bin/go is sampled from outside (no wall time, allocations or "
                                  "markers): it is statically linked");
        assert_int_equal(kymo_refusals_add(&r, 7, &refusal, 0), KYMO_OK);
        assert_int_equal(notes, 2);
        assert_int_equal(kymo_refusals_finish(&r), KYMO_OK);
        assert_int_equal(notes, 2);
        kymo_refusals_deinit(&r);
    }
}

static void the_list_is_bounded(void **state)
{
    (void)state;
    kymo_refusals r = {.events = &events, .others = 5};
    notes = 0;
    for (int i = 0; i < 1000; i++) {
        char path[32];
        snprintf(path, sizeof path, "/bin/%d", i);
        refuse(&r, KYMO_REFUSAL_ASAN, path);
    }
    unsigned named = notes;
    assert_true(named < 100);
    assert_int_equal(kymo_refusals_finish(&r), KYMO_OK);
    assert_int_equal(notes, named + 1);
    char expected[64];
    snprintf(expected, sizeof expected, "%u more programs", 1000 - named + 5);
    assert_non_null(strstr(last, expected));
    kymo_refusals_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_is_named_once),
        cmocka_unit_test(what_is_sampled_from_outside_is_told_apart),
        cmocka_unit_test(the_list_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
