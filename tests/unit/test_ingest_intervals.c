/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest_marks_fixture.h"

static void send_half(uint32_t thread, uint32_t site, uint32_t phase, uint64_t time_ns, uint64_t id)
{
    kymo_event_marker e = plain(thread, site, phase, time_ns);
    e.id = id;
    send(marker, e);
}

static void assert_row(uint32_t thread, size_t i, const char *name, uint64_t start_ns,
                       uint64_t end_ns, uint32_t phase)
{
    const kymo_marker *m = marker_of(thread, i);
    assert_string_equal(text_of(m->name), name);
    assert_int_equal(m->start_ns, start_ns);
    assert_int_equal(m->end_ns, end_ns);
    assert_int_equal(m->phase, phase);
}

static void ends_find_their_beginnings(void **state)
{
    (void)state;
    add_site(0, KYMO_EVENT_NONE, KYMO_SITE_MARKER, "job", NULL);
    add_site(1, KYMO_EVENT_NONE, KYMO_SITE_MARKER, "part", NULL);
    send_half(1, 0, KYMO_PHASE_END, 300, 7); /* drained before its beginning */
    send_half(0, 0, KYMO_PHASE_BEGIN, 100, 7);
    send_half(0, 0, KYMO_PHASE_BEGIN, 110, 8);
    send_half(0, 0, KYMO_PHASE_END, 120, 8);
    send_half(0, 0, KYMO_PHASE_BEGIN, 400, 7); /* the number is used again */
    send_half(2, 0, KYMO_PHASE_END, 450, 7);
    /* Of two names with one number: each end is its name's. */
    send_half(0, 0, KYMO_PHASE_BEGIN, 500, 9);
    send_half(0, 1, KYMO_PHASE_BEGIN, 510, 9);
    send_half(0, 0, KYMO_PHASE_END, 520, 9);
    send_half(0, 1, KYMO_PHASE_END, 530, 9);
    /* An end of another name is that of the latest beginning. */
    send_half(0, 0, KYMO_PHASE_BEGIN, 600, 10);
    send_half(1, 1, KYMO_PHASE_END, 610, 10);
    /* Numbers of another process are others. */
    send_half(0, 0, KYMO_PHASE_BEGIN, 700, 11);
    send_half(3, 0, KYMO_PHASE_END, 710, 11);
    /* One begins when the one before it ends. */
    send_half(0, 0, KYMO_PHASE_BEGIN, 800, 12);
    send_half(0, 0, KYMO_PHASE_END, 810, 12);
    send_half(0, 0, KYMO_PHASE_BEGIN, 810, 12);
    send_half(0, 0, KYMO_PHASE_END, 820, 12);
    /* An end whose beginning was lost takes no other one's. */
    send_half(0, 0, KYMO_PHASE_BEGIN, 900, 13);
    send_half(1, 1, KYMO_PHASE_END, 905, 13);
    send_half(0, 0, KYMO_PHASE_END, 910, 13);
    finish();
    assert_row(0, 0, "job", 100, 300, KYMO_MARKER_INTERVAL);
    assert_row(0, 1, "job", 110, 120, KYMO_MARKER_INTERVAL);
    assert_row(0, 2, "job", 400, 450, KYMO_MARKER_INTERVAL);
    assert_row(0, 3, "job", 500, 520, KYMO_MARKER_INTERVAL);
    assert_row(0, 4, "part", 510, 530, KYMO_MARKER_INTERVAL);
    assert_row(0, 5, "job", 600, 610, KYMO_MARKER_INTERVAL);
    assert_row(0, 6, "job", 700, 700, KYMO_MARKER_UNFINISHED);
    assert_row(3, 0, "job", 710, 710, KYMO_MARKER_UNBEGUN);
    assert_row(0, 7, "job", 800, 810, KYMO_MARKER_INTERVAL);
    assert_row(0, 8, "job", 810, 820, KYMO_MARKER_INTERVAL);
    assert_row(0, 9, "job", 900, 910, KYMO_MARKER_INTERVAL);
    assert_row(1, 0, "part", 905, 905, KYMO_MARKER_UNBEGUN);
    assert_int_equal(kymo_profile_count(profile, KYMO_TABLE_MARKERS), 12);
}

static void ends_without_the_other(void **state)
{
    (void)state;
    add_site(0, KYMO_EVENT_NONE, KYMO_SITE_SCOPE, "scope", NULL);
    kymo_event_marker e = plain(0, 0, KYMO_PHASE_INTERVAL, 900);
    e.start_ns = 50;
    e.is_open = 1;
    send(marker, e);
    send_half(0, 0, KYMO_PHASE_BEGIN, 100, 0); /* without a number */
    send_half(0, 0, KYMO_PHASE_END, 200, 0);
    send_half(1, 0, KYMO_PHASE_BEGIN, 100, 5);
    send_half(1, 0, KYMO_PHASE_END, 90, 5); /* before it: another one's */
    finish();
    assert_row(0, 0, "scope", 50, 50, KYMO_MARKER_UNFINISHED);
    assert_row(0, 1, "scope", 100, 100, KYMO_MARKER_UNFINISHED);
    assert_row(0, 2, "scope", 200, 200, KYMO_MARKER_UNBEGUN);
    assert_row(1, 0, "scope", 90, 90, KYMO_MARKER_UNBEGUN);
    assert_row(1, 1, "scope", 100, 100, KYMO_MARKER_UNFINISHED);
}

/* However many of a number are open, and at whatever times: an end has the latest one. */
static void many_of_one_number(void **state)
{
    (void)state;
    add_site(0, KYMO_EVENT_NONE, KYMO_SITE_MARKER, "job", NULL);
    for (uint64_t i = 0; i < 200; i++) {
        send_half(0, 0, KYMO_PHASE_BEGIN, 1000 + i, 6);
        send_half(0, 0, KYMO_PHASE_END, 2000 + i, 6);
    }
    /* Three that begin, end and begin again at one time, the first of them of no length. */
    for (uint64_t i = 0; i < 3; i++)
        send_half(1, 0, KYMO_PHASE_BEGIN, 10, 7);
    for (uint64_t i = 0; i < 3; i++)
        send_half(1, 0, KYMO_PHASE_BEGIN, 20, 7);
    for (uint64_t i = 0; i < 4; i++)
        send_half(1, 0, KYMO_PHASE_END, 20, 7);
    for (uint64_t i = 0; i < 2; i++)
        send_half(1, 0, KYMO_PHASE_END, 30, 7);
    /* As many as a file may have at one time. */
    for (uint64_t i = 0; i < 200000; i++) {
        send_half(2, 0, KYMO_PHASE_BEGIN, 10, 8);
        send_half(2, 0, KYMO_PHASE_END, 10, 8);
    }
    finish();
    for (uint64_t i = 0; i < 200; i++)
        assert_row(0, i, "job", 1000 + i, 2199 - i, KYMO_MARKER_INTERVAL);
    for (size_t i = 0; i < 3; i++)
        assert_row(1, i, "job", 10, 20, KYMO_MARKER_INTERVAL);
    assert_row(1, 3, "job", 20, 30, KYMO_MARKER_INTERVAL);
    assert_row(1, 4, "job", 20, 30, KYMO_MARKER_INTERVAL);
    assert_row(1, 5, "job", 20, 20, KYMO_MARKER_INTERVAL);
    assert_int_equal(kymo_profile_markers(profile, 2).count, 200000);
}

static void an_interval_has_the_values_of_both_ends(void **state)
{
    (void)state;
    static const kymo_event_marker_field fields[] = {
        {"a", NULL, KYMO_KIND_OPT_U64, KYMO_FORMAT_INTEGER, 0},
        {"b", NULL, KYMO_KIND_OPT_U64, KYMO_FORMAT_INTEGER, 0}};
    const struct kymo_mark_opt_u64 at_begin[2] = {{1, 1}, {2, 1}};
    const struct kymo_mark_opt_u64 at_end[2] = {{3, 1}, {0, 0}};
    add_type(0, "Job", fields, 2, sizeof at_begin);
    add_site(0, 0, KYMO_SITE_MARKER, "job", NULL);
    add_site(1, KYMO_EVENT_NONE, KYMO_SITE_MARKER, "job", NULL);
    send(track, (kymo_event_named){.id = 0, .name = "Jobs"});
    kymo_event_marker e = plain(0, 0, KYMO_PHASE_BEGIN, 100);
    e.id = 1;
    e.payload = (const uint8_t *)at_begin;
    e.payload_bytes = sizeof at_begin;
    send(marker, e);
    e = plain(1, 0, KYMO_PHASE_END, 200);
    e.id = 1;
    e.track = 0;
    e.owner = 5;
    e.payload = (const uint8_t *)at_end;
    e.payload_bytes = sizeof at_end;
    send(marker, e);
    /* Only the end has a type. */
    send_half(0, 1, KYMO_PHASE_BEGIN, 300, 2);
    e.time_ns = 400;
    e.id = 2;
    send(marker, e);
    const uint64_t queued = 7;
    const kymo_event_marker_field start = {"queued", NULL, KYMO_KIND_U64, KYMO_FORMAT_INTEGER, 0};
    add_type(1, "Start", &start, 1, sizeof queued);
    add_site(2, 1, KYMO_SITE_MARKER, "start", NULL);
    e.time_ns = 600;
    e.id = 3;
    e.site = 0;
    send(marker, e);
    e = plain(0, 2, KYMO_PHASE_BEGIN, 500);
    e.id = 3;
    e.payload = (const uint8_t *)&queued;
    e.payload_bytes = sizeof queued;
    send(marker, e);
    finish();
    const kymo_value *v = values_of(marker_of(0, 0));
    assert_int_equal(v[0].as.u64, 3);
    assert_int_equal(v[1].as.u64, 2);
    assert_string_equal(text_of(marker_of(0, 0)->track), "Jobs");
    assert_int_equal(marker_of(0, 0)->owner, 5);
    v = values_of(marker_of(0, 1));
    assert_int_equal(v[0].as.u64, 3);
    assert_int_equal(v[1].kind, KYMO_VALUE_NONE);
    /* The beginning has another type: nothing of it is lost. */
    assert_row(0, 2, "start", 500, 600, KYMO_MARKER_INTERVAL);
    assert_int_equal(values_of(marker_of(0, 2))[0].as.u64, 3);
    assert_row(0, 3, "start", 500, 500, KYMO_MARKER_INSTANT);
    assert_int_equal(values_of(marker_of(0, 3))[0].as.u64, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ends_find_their_beginnings, begin, end),
        cmocka_unit_test_setup_teardown(ends_without_the_other, begin, end),
        cmocka_unit_test_setup_teardown(many_of_one_number, begin, end),
        cmocka_unit_test_setup_teardown(an_interval_has_the_values_of_both_ends, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
