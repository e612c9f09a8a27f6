/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest_marks_fixture.h"

static void label(uint32_t thread, uint64_t time_ns, uint32_t change, uint32_t depth,
                  const char *key, uint64_t number)
{
    send(label, (kymo_event_label){.thread = thread,
                                   .change = change,
                                   .depth = depth,
                                   .kind = key ? KYMO_KIND_U64 : KYMO_KIND_NONE,
                                   .time_ns = time_ns,
                                   .number = number,
                                   .key = key});
}

static void push(uint32_t thread, uint64_t time_ns, uint32_t depth, const char *key,
                 uint64_t number)
{
    label(thread, time_ns, KYMO_LABEL_PUSHED, depth, key, number);
}

static void pop(uint32_t thread, uint64_t time_ns, uint32_t depth)
{
    label(thread, time_ns, KYMO_LABEL_POPPED, depth, NULL, 0);
}

/* depth: how many are pushed. */
static void set(uint32_t thread, uint64_t time_ns, uint32_t depth, const char *key, uint64_t number)
{
    label(thread, time_ns, KYMO_LABEL_WAS_SET, depth, key, number);
}

static void clear(uint32_t thread, uint64_t time_ns, uint32_t depth, const char *key)
{
    send(label, (kymo_event_label){.thread = thread,
                                   .change = KYMO_LABEL_WAS_SET,
                                   .depth = depth,
                                   .kind = KYMO_KIND_NONE,
                                   .time_ns = time_ns,
                                   .key = key});
}

static void sample(uint32_t thread, uint64_t time_ns)
{
    const kymo_event_sample s = {.time_ns = time_ns, .weight_ns = 1, .stack = KYMO_EVENT_NONE};
    send(samples, (kymo_event_samples){.thread = thread, .count = 1, .samples = &s});
}

/* The labels of the sample of that time; "" if it has none. */
static const char *at(uint32_t thread, uint64_t time_ns)
{
    kymo_samples samples = kymo_profile_samples(profile, thread);
    const uint32_t *labels = kymo_profile_sample_labels(profile, thread);
    for (size_t i = 0; i < samples.count; i++)
        if (samples.time_ns[i] == time_ns)
            return labels ? labels_of(labels[i]) : "";
    fail_msg("no sample at %llu", (unsigned long long)time_ns);
    return NULL;
}

static void samples_have_what_is_in_scope(void **state)
{
    (void)state;
    push(0, 100, 0, "user", 3);
    push(0, 150, 1, "request", 17);
    push(0, 155, 2, "user", 4); /* hides the outer one */
    pop(0, 160, 2);
    pop(0, 170, 1);
    pop(0, 200, 0);
    for (uint64_t t = 95; t <= 205; t += 5)
        sample(0, t);
    sample(1, 150);
    finish();
    assert_string_equal(at(0, 95), "");
    assert_string_equal(at(0, 100), "user=3");
    assert_string_equal(at(0, 145), "user=3");
    assert_string_equal(at(0, 150), "user=3 request=17");
    assert_string_equal(at(0, 155), "user=4 request=17");
    assert_string_equal(at(0, 160), "user=3 request=17");
    assert_string_equal(at(0, 170), "user=3");
    assert_string_equal(at(0, 195), "user=3");
    assert_string_equal(at(0, 200), "");
    assert_string_equal(at(1, 150), "");
    assert_null(kymo_profile_sample_labels(profile, 1));
    assert_int_equal(kymo_profile_count(profile, KYMO_TABLE_LABEL_SETS), 3);
}

static void changes_may_come_late(void **state)
{
    (void)state;
    push(0, 100, 0, "a", 1);
    pop(0, 300, 0);
    push(0, 200, 1, "b", 2); /* from a signal handler's stream */
    pop(0, 250, 1);
    sample(0, 150);
    sample(0, 240);
    sample(0, 290);
    sample(0, 310);
    finish();
    assert_string_equal(at(0, 150), "a=1");
    assert_string_equal(at(0, 240), "a=1 b=2");
    assert_string_equal(at(0, 290), "a=1");
    assert_string_equal(at(0, 310), "");
}

static void what_was_set_outlives_scopes(void **state)
{
    (void)state;
    push(0, 100, 0, "a", 1);
    set(0, 110, 1, "phase", 1);
    set(0, 120, 1, "a", 2); /* later than the push */
    push(0, 130, 1, "a", 3);
    pop(0, 140, 1);
    pop(0, 150, 0);
    clear(0, 160, 0, "a");
    set(0, 170, 0, "phase", 2);
    for (uint64_t t = 105; t <= 175; t += 10)
        sample(0, t);
    finish();
    assert_string_equal(at(0, 105), "a=1");
    assert_string_equal(at(0, 115), "a=1 phase=1");
    assert_string_equal(at(0, 125), "a=2 phase=1");
    assert_string_equal(at(0, 135), "a=3 phase=1");
    assert_string_equal(at(0, 145), "a=2 phase=1");
    assert_string_equal(at(0, 155), "a=2 phase=1");
    assert_string_equal(at(0, 165), "phase=1");
    assert_string_equal(at(0, 175), "phase=2");
}

static void inherit(uint32_t thread, uint64_t time_ns, uint32_t depth, int32_t from_tid,
                    uint64_t fork_ns)
{
    send(label, (kymo_event_label){.thread = thread,
                                   .change = KYMO_LABEL_INHERITED,
                                   .depth = depth,
                                   .time_ns = time_ns,
                                   .from_tid = from_tid,
                                   .fork_ns = fork_ns});
}

static void a_forked_child_has_its_parents(void **state)
{
    (void)state;
    /* The child is read first. */
    inherit(3, 300, 2, 11, 155);
    pop(3, 310, 1);
    push(3, 320, 1, "user", 9);
    pop(3, 330, 0);
    clear(3, 340, 0, "phase");
    push(1, 100, 0, "user", 3);
    set(1, 110, 1, "phase", 1);
    push(1, 150, 1, "user", 4);
    push(1, 152, 2, "request", 5); /* the child has left it before it attached */
    pop(1, 160, 0);
    set(1, 161, 0, "phase", 2);
    for (uint64_t t = 295; t <= 345; t += 10)
        sample(3, t);
    finish();
    assert_string_equal(at(3, 295), "");
    assert_string_equal(at(3, 305), "user=4 phase=1");
    assert_string_equal(at(3, 315), "user=3 phase=1");
    assert_string_equal(at(3, 325), "user=9 phase=1");
    assert_string_equal(at(3, 335), "phase=1");
    assert_string_equal(at(3, 345), "");
}

static void so_has_its_child_and_one_without_changes(void **state)
{
    (void)state;
    push(0, 100, 0, "a", 1);
    inherit(1, 200, 1, 10, 150);
    inherit(2, 300, 1, 11, 250);
    inherit(2, 310, 1, 12, 250); /* the last one counts, and is itself */
    sample(1, 260);
    sample(2, 320);
    finish();
    assert_string_equal(at(1, 260), "a=1");
    assert_string_equal(at(2, 320), "");
}

static void a_line_of_children_inherits(void **state)
{
    (void)state;
    inherit(2, 300, 1, 11, 250);
    inherit(1, 200, 1, 10, 150);
    push(0, 100, 0, "a", 1);
    sample(2, 320);
    finish();
    assert_string_equal(at(2, 320), "a=1");
}

static void no_circle_of_children_is_followed(void **state)
{
    (void)state;
    inherit(0, 100, 1, 12, 90);
    inherit(1, 100, 1, 10, 110);
    inherit(2, 100, 1, 11, 110);
    inherit(3, 100, 1, 77, 110); /* of an unknown thread */
    push(0, 120, 0, "a", 1);
    for (uint32_t i = 0; i < 4; i++)
        sample(i, 130);
    finish();
    assert_string_equal(at(0, 130), "a=1");
    for (uint32_t i = 1; i < 4; i++)
        assert_string_equal(at(i, 130), "");
}

/* However deep the parent was, a child has the innermost ones. */
static void what_is_inherited_is_bounded(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 1000; i++)
        push(0, 100 + i, i, "a", i);
    for (uint32_t i = 0; i < 1000; i++)
        set(0, 2000 + i, 1000, "b", i);
    inherit(3, 4000, 1000, 10, 3500);
    pop(3, 4010, 999);
    pop(3, 4020, 500);
    for (uint64_t t = 4005; t <= 4025; t += 10)
        sample(3, t);
    finish();
    assert_string_equal(at(3, 4005), "a=999 b=999");
    assert_string_equal(at(3, 4015), "a=998 b=999");
    assert_string_equal(at(3, 4025), "b=999");
}

static void lost_changes_do_no_lasting_harm(void **state)
{
    (void)state;
    push(0, 100, 0, "a", 1);
    push(0, 110, 3, "d", 4); /* those of depth 1 and 2 were lost */
    pop(0, 120, 2);          /* so was the pop of depth 3 */
    push(0, 130, 0, "e", 5); /* and all others */
    set(0, 140, 0, "f", 6);  /* and the pop of this one */
    sample(0, 115);
    sample(0, 125);
    sample(0, 135);
    sample(0, 145);
    finish();
    assert_string_equal(at(0, 115), "a=1 d=4");
    assert_string_equal(at(0, 125), "a=1");
    assert_string_equal(at(0, 135), "e=5");
    assert_string_equal(at(0, 145), "f=6");
}

static void values_of_all_kinds(void **state)
{
    (void)state;
    const double f64 = 2.5;
    kymo_event_label e = {.change = KYMO_LABEL_PUSHED, .time_ns = 100, .key = "text"};
    e.kind = KYMO_KIND_TEXT;
    e.text = "caf\xc3\xa9 \xff";
    send(label, e);
    e = (kymo_event_label){.change = KYMO_LABEL_PUSHED, .depth = 1, .time_ns = 101, .key = "f64"};
    e.kind = KYMO_KIND_F64;
    memcpy(&e.number, &f64, sizeof f64);
    send(label, e);
    e = (kymo_event_label){.change = KYMO_LABEL_PUSHED, .depth = 2, .time_ns = 102, .key = "i64"};
    e.kind = KYMO_KIND_I64;
    e.number = (uint64_t)-9;
    send(label, e);
    sample(0, 200);
    finish();
    assert_string_equal(at(0, 200), "text=caf\xc3\xa9 \xef\xbf\xbd f64=2.5 i64=-9");
}

static void markers_have_those_of_their_record(void **state)
{
    (void)state;
    add_site(0, KYMO_EVENT_NONE, KYMO_SITE_MARKER, "m", NULL);
    push(0, 100, 0, "a", 1);
    pop(0, 200, 0);
    push(1, 150, 0, "b", 2);
    send(marker, plain(0, 0, KYMO_PHASE_INSTANT, 120));
    kymo_event_marker e = plain(0, 0, KYMO_PHASE_INTERVAL, 180);
    e.start_ns = 50; /* before the label: a scope's record is made at its end */
    send(marker, e);
    e.time_ns = 220;
    e.start_ns = 130;
    send(marker, e);
    /* An interval of two threads has those of its beginning. */
    e = plain(0, 0, KYMO_PHASE_BEGIN, 140);
    e.id = 1;
    send(marker, e);
    e = plain(1, 0, KYMO_PHASE_END, 160);
    e.id = 1;
    send(marker, e);
    /* One that was open when its thread died, what the thread had then. */
    e = plain(1, 0, KYMO_PHASE_BEGIN, 60);
    e.is_open = 1;
    send(marker, e);
    finish();
    assert_string_equal(labels_of(marker_of(1, 0)->labels), "b=2");
    static const struct {
        uint64_t start_ns;
        const char *labels;
    } expected[] = {{50, "a=1"}, {120, "a=1"}, {130, ""}, {140, "a=1"}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(marker_of(0, i)->start_ns, expected[i].start_ns);
        assert_string_equal(labels_of(marker_of(0, i)->labels), expected[i].labels);
    }
}

/* Not those of the thread that it is shown in, nor those of the time that it tells of. */
static void markers_have_those_of_their_maker(void **state)
{
    (void)state;
    add_site(0, KYMO_EVENT_NONE, KYMO_SITE_MARKER, "m", NULL);
    push(0, 100, 0, "request", 17);
    pop(0, 200, 0);
    push(0, 210, 0, "request", 18);
    push(1, 100, 0, "request", 3);
    kymo_event_marker e = plain(1, 0, KYMO_PHASE_INSTANT, 150);
    e.made_ns = 150;
    send(marker, e);
    e = plain(0, 0, KYMO_PHASE_INSTANT, 151);
    e.made_ns = 220;
    send(marker, e);
    e = plain(1, 0, KYMO_PHASE_INSTANT, 152);
    e.made_ns = 205;
    send(marker, e);
    e = plain(1, 0, KYMO_PHASE_INSTANT, 153);
    e.made_ns = 153;
    e.maker = KYMO_EVENT_NONE;
    send(marker, e);
    /* The two ends of an interval. */
    e = plain(1, 0, KYMO_PHASE_BEGIN, 154);
    e.made_ns = 230;
    e.id = 1;
    send(marker, e);
    e = plain(1, 0, KYMO_PHASE_END, 160);
    e.id = 1;
    send(marker, e);
    send(marker, plain(1, 0, KYMO_PHASE_INSTANT, 155));
    finish();
    static const char *const expected[] = {"request=17", "", "", "request=18", "request=3"};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_string_equal(labels_of(marker_of(1, i)->labels), expected[i]);
    assert_string_equal(labels_of(marker_of(0, 0)->labels), "request=18");
}

/* A server sets one label per request; a recursion pushes one at each level; a file claims
 * thousands of keys. None of it takes longer for being long. */
static void many_changes(void **state)
{
    (void)state;
    char key[16];
    for (uint64_t i = 0; i < 100000; i++)
        set(0, 100 + i, 0, i % 2 ? "request" : "step", i);
    for (uint32_t i = 0; i < 100000; i++)
        push(1, 100 + i, i, "level", i);
    for (uint64_t i = 0; i < 100000; i++) {
        snprintf(key, sizeof key, "key %u", (unsigned)(i % 1000));
        set(2, 100 + i, 0, key, i);
    }
    for (uint64_t t = 100; t < 100100; t += 100)
        for (uint32_t thread = 0; thread < 3; thread++)
            sample(thread, t);
    finish();
    assert_string_equal(at(0, 50000), "step=49900 request=49899");
    assert_string_equal(at(1, 50000), "level=49900");
    uint32_t count;
    kymo_profile_label_set(profile, kymo_profile_sample_labels(profile, 2)[900], &count);
    assert_int_equal(count, KYMO_LABEL_SET_MAX);
}

/* A label below a recursion of any depth is seen; so is one that was set before others came and
 * went. */
static void nothing_hides_other_keys(void **state)
{
    (void)state;
    char key[16];
    push(0, 50, 0, "request", 7);
    for (uint32_t i = 1; i < 3000; i += 3) {
        push(0, 100 + i, i, "visit", i);
        push(0, 101 + i, i + 1, "node", i);
        push(0, 102 + i, i + 2, "node", i + 1);
    }
    sample(0, 3105);
    pop(0, 4000, 1000); /* within the 333rd visit */
    sample(0, 4001);
    pop(0, 4010, 1);
    sample(0, 4011);
    set(1, 10, 0, "tenant", 1);
    push(1, 11, 0, "scope", 2);
    clear(1, 12, 1, "scope");
    for (uint32_t i = 0; i < 200; i++) {
        snprintf(key, sizeof key, "key %u", (unsigned)i);
        set(1, 100 + 2 * i, 1, key, i);
        clear(1, 101 + 2 * i, 1, key);
    }
    sample(1, 1000);
    for (uint32_t i = 0; i < 200; i++)
        clear(2, 100 + i, 0, "nothing is set");
    sample(2, 1000);
    finish();
    assert_string_equal(at(0, 3105), "request=7 visit=2998 node=2999");
    assert_string_equal(at(0, 4001), "request=7 visit=997 node=998");
    assert_string_equal(at(0, 4011), "request=7");
    assert_string_equal(at(1, 1000), "tenant=1");
    assert_string_equal(at(2, 1000), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(samples_have_what_is_in_scope, begin, end),
        cmocka_unit_test_setup_teardown(changes_may_come_late, begin, end),
        cmocka_unit_test_setup_teardown(what_was_set_outlives_scopes, begin, end),
        cmocka_unit_test_setup_teardown(a_forked_child_has_its_parents, begin, end),
        cmocka_unit_test_setup_teardown(so_has_its_child_and_one_without_changes, begin, end),
        cmocka_unit_test_setup_teardown(a_line_of_children_inherits, begin, end),
        cmocka_unit_test_setup_teardown(no_circle_of_children_is_followed, begin, end),
        cmocka_unit_test_setup_teardown(what_is_inherited_is_bounded, begin, end),
        cmocka_unit_test_setup_teardown(lost_changes_do_no_lasting_harm, begin, end),
        cmocka_unit_test_setup_teardown(values_of_all_kinds, begin, end),
        cmocka_unit_test_setup_teardown(markers_have_those_of_their_record, begin, end),
        cmocka_unit_test_setup_teardown(markers_have_those_of_their_maker, begin, end),
        cmocka_unit_test_setup_teardown(many_changes, begin, end),
        cmocka_unit_test_setup_teardown(nothing_hides_other_keys, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
