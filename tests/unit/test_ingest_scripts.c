/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of scripts, and stacks with their frames. */
#include "ingest_fixture.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "profile/ingest_state.h"

enum { SCRIPTS = 4, DEPTH = 12, TEXT = 1024 };

static void add_script(kymo_ingest *in, uint32_t number, const char *name, const char *file)
{
    const kymo_event_script e = {0, number, 10 + number, KYMO_EVENT_PYTHON, name, file};
    assert_int_equal(kymo_ingest_handler.script(in, &e), KYMO_OK);
}

static void add_scripts(kymo_ingest *in)
{
    for (uint32_t i = 0; i < SCRIPTS; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%u", i);
        add_script(in, i, name, "s.py");
    }
}

static kymo_event_frame script(uint32_t number, uint64_t line)
{
    return (kymo_event_frame){line, number, KYMO_EVENT_FRAME_SCRIPT};
}

static kymo_event_frame native(uint64_t address, uint32_t flags)
{
    return (kymo_event_frame){address, KYMO_EVENT_NONE, flags};
}

/* frames: innermost first. */
static kymo_err add_stack(kymo_ingest *in, const kymo_event_frame *frames, uint32_t depth,
                          uint32_t shared, uint32_t flags)
{
    kymo_event_stack e = {.stack = (uint32_t)in->stacks.len,
                          .shared = shared,
                          .depth = depth,
                          .flags = flags,
                          .frames = frames};
    return kymo_ingest_handler.stack(in, &e);
}

/* The frames of a stack, innermost first: a label and a line each. */
static void stack_text(const kymo_profile *of, uint32_t stack, char *text)
{
    kymo_stacks stacks = kymo_profile_stacks(of);
    size_t used = 0;
    text[0] = '\0';
    for (; stack != KYMO_NONE; stack = stacks.parent[stack]) {
        char label[64];
        uint32_t count;
        const kymo_line *lines = kymo_profile_frame_lines(of, stacks.frame[stack], &count);
        used += (size_t)snprintf(
            text + used, TEXT - used, "%s%s", used ? " " : "",
            kymo_profile_frame_label(of, stacks.frame[stack], label, sizeof label));
        if (count && lines[0].line)
            used += (size_t)snprintf(text + used, TEXT - used, ":%u", lines[0].line);
        assert_true(used < TEXT - 100);
    }
}

static void assert_last(const char *expected)
{
    char text[TEXT];
    stack_text(profile, ingest->stacks.data[ingest->stacks.len - 1].id, text);
    assert_string_equal(text, expected);
}

static void a_script_is_a_function_with_a_file(void **state)
{
    (void)state;
    add_script(ingest, 0, "Class.method", "/tmp/caf\xc3\xa9.py");
    add_script(ingest, 1, "", "");
    const kymo_event_frame frames[] = {script(0, 12), script(1, 0), script(KYMO_EVENT_NONE, 0)};
    assert_int_equal(add_stack(ingest, frames, 3, 0, KYMO_EVENT_STACK_COMPLETE), KYMO_OK);
    assert_last("Class.method:12 [Python function] [Python function]");
    kymo_stacks stacks = kymo_profile_stacks(profile);
    uint32_t frame = stacks.frame[ingest->stacks.data[0].id];
    assert_int_equal(kymo_profile_frame(profile, frame)->category, KYMO_CATEGORY_PYTHON);
    assert_int_equal(kymo_profile_frame(profile, frame)->address, KYMO_NO_ADDRESS);
    uint32_t count;
    const kymo_line *line = kymo_profile_frame_lines(profile, frame, &count);
    assert_int_equal(count, 1);
    const kymo_function *f = kymo_profile_function(profile, line->function);
    assert_int_equal(f->start_line, 10);
    assert_int_equal(f->module, KYMO_NONE);
    assert_string_equal(kymo_profile_source(profile, f->source), "/tmp/caf\xc3\xa9.py");
}

/* A file may say so; nothing of it is taken. */
static void numbers_that_do_not_exist_are_refused(void **state)
{
    (void)state;
    add_scripts(ingest);
    const kymo_event_script twice = {0, 1, 1, KYMO_EVENT_PYTHON, "x", ""};
    const kymo_event_script later = {0, SCRIPTS + 1, 1, KYMO_EVENT_PYTHON, "x", ""};
    assert_int_equal(kymo_ingest_handler.script(ingest, &twice), KYMO_E_INVALID);
    assert_int_equal(kymo_ingest_handler.script(ingest, &later), KYMO_E_INVALID);
    kymo_event_frame f = script(SCRIPTS, 1);
    assert_int_equal(add_stack(ingest, &f, 1, 0, 0), KYMO_E_INVALID);
    f = script(0, 1ull << 32);
    assert_int_equal(add_stack(ingest, &f, 1, 0, 0), KYMO_E_INVALID);
}

enum { IN = KYMO_EVENT_FRAME_INTERPRETER };

static void the_interpreters_own_frames_outside_of_scripts_are_left_out(void **state)
{
    (void)state;
    add_scripts(ingest);
    const kymo_event_frame frames[] = {native(1, IN), native(2, 0),  script(0, 5),
                                       native(3, IN), native(4, 0),  native(5, IN),
                                       script(1, 6),  native(6, IN), native(7, 0)};
    assert_int_equal(add_stack(ingest, frames, 9, 0, KYMO_EVENT_STACK_COMPLETE), KYMO_OK);
    assert_last("0x1 0x2 s0:5 0x4 s1:6 0x7");
    /* Without a script frame there is nothing to leave out. */
    const kymo_event_frame none[] = {native(1, IN), native(3, IN), native(7, 0)};
    assert_int_equal(add_stack(ingest, none, 3, 1, KYMO_EVENT_STACK_COMPLETE), KYMO_OK);
    assert_last("0x1 0x3 0x7");
}

/* The same outer frames: inside of the one's innermost script frame, outside of the other's. */
static void what_is_left_out_depends_on_what_is_inside(void **state)
{
    (void)state;
    add_scripts(ingest);
    const kymo_event_frame deep[] = {script(0, 5), native(3, IN), script(1, 6), native(7, IN)};
    const kymo_event_frame flat[] = {native(4, 0), native(3, IN), script(1, 6), native(7, IN)};
    for (uint32_t shared = 0; shared <= 3; shared += 3) {
        assert_int_equal(add_stack(ingest, deep, 4, shared, KYMO_EVENT_STACK_COMPLETE), KYMO_OK);
        assert_last("s0:5 s1:6 0x7");
        assert_int_equal(add_stack(ingest, flat, 4, shared, KYMO_EVENT_STACK_COMPLETE), KYMO_OK);
        assert_last("0x4 0x3 s1:6 0x7");
        assert_int_equal(add_stack(ingest, deep, 4, shared, KYMO_EVENT_STACK_COMPLETE), KYMO_OK);
        assert_last("s0:5 s1:6 0x7");
        assert_int_equal(add_stack(ingest, flat + 1, 3, shared, KYMO_EVENT_STACK_COMPLETE),
                         KYMO_OK);
        assert_last("0x3 s1:6 0x7");
        assert_int_equal(add_stack(ingest, flat + 3, 1, shared ? 1 : 0, 0), KYMO_OK);
        assert_last("0x7 [incomplete stack]");
        assert_int_equal(add_stack(ingest, deep, 4, shared ? 1 : 0, KYMO_EVENT_STACK_TRUNCATED),
                         KYMO_OK);
        assert_last("s0:5 s1:6 [truncated stack]");
        assert_int_equal(add_stack(ingest, deep + 3, 1, shared ? 1 : 0, KYMO_EVENT_STACK_COMPLETE),
                         KYMO_OK);
        assert_last("0x7");
        assert_int_equal(add_stack(ingest, deep, 4, shared ? 1 : 0, KYMO_EVENT_STACK_COMPLETE),
                         KYMO_OK);
        assert_last("s0:5 s1:6 0x7");
    }
}

/* Above the frame that made a greenlet's stack is what another one has left there. */
static void a_greenlet_has_its_own_stack(void **state)
{
    (void)state;
    static const char *const paths[] = {"/x/_greenlet.cpython-311-x86_64-linux-gnu.so",
                                        "/x/other.so"};
    const kymo_event_process process = {.pid = 1, .is_main = 1};
    assert_int_equal(kymo_ingest_handler.process(ingest, &process), KYMO_OK);
    for (uint32_t i = 0; i < 2; i++) {
        const kymo_event_module module = {.module = i, .path = paths[i], .end = 0x1000};
        assert_int_equal(kymo_ingest_handler.module(ingest, &module), KYMO_OK);
    }
    add_scripts(ingest);
    const kymo_event_frame switches = {0x10, 0, 0}, other = {0x20, 1, 0};
    const kymo_event_frame bare[] = {script(0, 5), native(3, IN), switches};
    const kymo_event_frame above[] = {script(0, 5), native(3, IN), switches, native(0x7777, 0)};
    const kymo_event_frame far_above[] = {switches, native(0x6666, 0), native(0x7777, 0)};
    const kymo_event_frame not_there[] = {switches, other, native(0x7777, 0)};
    for (int round = 0; round < 2; round++) {
        assert_int_equal(add_stack(ingest, bare, 3, 0, 0), KYMO_OK);
        assert_last("s0:5 _greenlet.cpython-311-x86_64-linux-gnu.so+0x10");
        assert_true(ingest->stacks.data[ingest->stacks.len - 1].complete);
        assert_int_equal(add_stack(ingest, above, 4, 0, 0), KYMO_OK);
        assert_last("s0:5 _greenlet.cpython-311-x86_64-linux-gnu.so+0x10");
        assert_true(ingest->stacks.data[ingest->stacks.len - 1].complete);
        /* The same outermost frame, of a stack that goes on to it. */
        assert_int_equal(add_stack(ingest, above + 3, 1, 1, KYMO_EVENT_STACK_COMPLETE), KYMO_OK);
        assert_last("0x7777");
        assert_int_equal(add_stack(ingest, above, 4, 1, KYMO_EVENT_STACK_TRUNCATED), KYMO_OK);
        assert_last("s0:5 _greenlet.cpython-311-x86_64-linux-gnu.so+0x10 0x7777 [truncated stack]");
        assert_int_equal(add_stack(ingest, above, 4, 4, 0), KYMO_OK);
        assert_last("s0:5 _greenlet.cpython-311-x86_64-linux-gnu.so+0x10");
        assert_int_equal(add_stack(ingest, far_above, 3, 1, 0), KYMO_OK);
        assert_false(ingest->stacks.data[ingest->stacks.len - 1].complete);
        assert_int_equal(add_stack(ingest, not_there, 3, 0, 0), KYMO_OK);
        assert_false(ingest->stacks.data[ingest->stacks.len - 1].complete);
    }
}

/* ---- any stacks in any order ---- */

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % n;
}

static kymo_event_frame random_frame(void)
{
    uint32_t kind = random_below(5);
    if (kind == 0)
        return script(random_below(SCRIPTS), random_below(3));
    return native(1 + random_below(4),
                  (kind < 3 ? IN : 0) | (kind == 4 ? KYMO_EVENT_FRAME_RETURN : 0));
}

/* The same stack, alone. */
static void text_alone(const kymo_event_frame *frames, uint32_t depth, uint32_t flags, char *text)
{
    kymo_profile *p;
    kymo_ingest *in;
    assert_int_equal(kymo_profile_create(&p), KYMO_OK);
    assert_int_equal(kymo_ingest_create(p, &in), KYMO_OK);
    add_scripts(in);
    assert_int_equal(add_stack(in, frames, depth, 0, flags), KYMO_OK);
    stack_text(p, in->stacks.data[0].id, text);
    kymo_ingest_destroy(in);
    kymo_profile_destroy(p);
}

/* What the frames of one stack must become, by the rule alone. */
static void text_by_rule(const kymo_event_frame *frames, uint32_t depth, uint32_t flags, char *text)
{
    int inside = 1; /* of the innermost script frame */
    int any = 0;
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < depth; i++)
        any |= (frames[i].flags & KYMO_EVENT_FRAME_SCRIPT) != 0;
    for (uint32_t i = 0; i < depth; i++) {
        const kymo_event_frame *f = &frames[i];
        const char *space = used ? " " : "";
        if (f->flags & KYMO_EVENT_FRAME_SCRIPT) {
            inside = 0;
            used += (size_t)snprintf(text + used, TEXT - used, "%ss%u", space, f->module);
            if (f->address)
                used += (size_t)snprintf(text + used, TEXT - used, ":%u", (uint32_t)f->address);
        } else if (inside || !any || !(f->flags & IN) ||
                   (i == depth - 1 && flags & KYMO_EVENT_STACK_COMPLETE)) {
            used +=
                (size_t)snprintf(text + used, TEXT - used, "%s0x%x", space,
                                 (uint32_t)(f->address - !!(f->flags & KYMO_EVENT_FRAME_RETURN)));
        }
    }
    if (!(flags & KYMO_EVENT_STACK_COMPLETE))
        (void)snprintf(text + used, TEXT - used, "%s[%s stack]", used ? " " : "",
                       flags & KYMO_EVENT_STACK_TRUNCATED ? "truncated" : "incomplete");
}

static void stacks_in_any_order_are_as_each_alone(void **state)
{
    (void)state;
    static const uint32_t ends[] = {KYMO_EVENT_STACK_COMPLETE, KYMO_EVENT_STACK_TRUNCATED, 0};
    kymo_event_frame last[DEPTH] = {{0}}; /* outermost first */
    uint32_t last_depth = 0;
    add_scripts(ingest);
    for (uint32_t round = 0; round < 20000; round++) {
        kymo_event_frame outside[DEPTH], frames[DEPTH];
        uint32_t depth = random_below(DEPTH + 1);
        uint32_t shared = random_below((depth < last_depth ? depth : last_depth) + 1);
        for (uint32_t i = 0; i < depth; i++)
            outside[i] = i < shared ? last[i] : random_frame();
        for (uint32_t i = 0; i < depth; i++)
            frames[i] = outside[depth - 1 - i];
        uint32_t flags = ends[random_below(8) < 6 ? 0 : 1 + random_below(2)];
        assert_int_equal(add_stack(ingest, frames, depth, shared, flags), KYMO_OK);
        char got[TEXT], rule[TEXT], alone[TEXT];
        stack_text(profile, ingest->stacks.data[round].id, got);
        text_by_rule(frames, depth, flags, rule);
        assert_string_equal(got, rule);
        if (round % 8 == 0) {
            text_alone(frames, depth, flags, alone);
            assert_string_equal(got, alone);
        }
        memcpy(last, outside, sizeof last);
        last_depth = depth;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_script_is_a_function_with_a_file, begin, end),
        cmocka_unit_test_setup_teardown(numbers_that_do_not_exist_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(the_interpreters_own_frames_outside_of_scripts_are_left_out,
                                        begin, end),
        cmocka_unit_test_setup_teardown(what_is_left_out_depends_on_what_is_inside, begin, end),
        cmocka_unit_test_setup_teardown(a_greenlet_has_its_own_stack, begin, end),
        cmocka_unit_test_setup_teardown(stacks_in_any_order_are_as_each_alone, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
