/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

#include "base/str.h"
#include "profile/code_map.h"

#define SECOND 1000000000ull

static void add(kymo_code_map *map, kymo_profile *p, uint32_t process, uint64_t start,
                uint64_t size, uint64_t from_ns, uint64_t to_ns, const char *name)
{
    ok(kymo_code_map_add(map, p,
                         &(kymo_event_code){.process = process,
                                            .start = start,
                                            .size_bytes = size,
                                            .from_ns = from_ns,
                                            .to_ns = to_ns,
                                            .name = name}));
}

/* The name of the code at an address at a time; also that the answer holds for the times it says.
 */
static const char *find(const kymo_code_map *map, const kymo_profile *p, uint32_t process,
                        uint64_t address, uint64_t time_ns)
{
    uint64_t from_ns, to_ns, from2_ns, to2_ns, work = 0;
    const kymo_code_row *row =
        kymo_code_map_find(map, process, address, time_ns, &from_ns, &to_ns, &work);
    assert_true(from_ns <= time_ns && time_ns < to_ns);
    assert_ptr_equal(kymo_code_map_find(map, process, address, from_ns, &from2_ns, &to2_ns, &work),
                     row);
    assert_ptr_equal(
        kymo_code_map_find(map, process, address, to_ns - 1, &from2_ns, &to2_ns, &work), row);
    return row ? kymo_profile_string(p, kymo_profile_symbol(p, row->symbol)->name) : "-";
}

static void memory_is_used_again(void **state)
{
    (void)state;
    kymo_code_map map = {0};
    kymo_profile *p = new_profile();
    add_process(p, 1, 0);
    add_process(p, 2, 0);
    add(&map, p, 0, 0x1000, 0x100, 10 * SECOND, 0, "first");
    add(&map, p, 0, 0x1000, 0x80, 20 * SECOND, 0, "second");
    add(&map, p, 0, 0x1080, 0x80, 30 * SECOND, 40 * SECOND, "moved");
    add(&map, p, 1, 0x1000, 0x100, 0, 0, "other process");
    kymo_code_map_prepare(&map);
    assert_string_equal(find(&map, p, 0, 0x1000, 15 * SECOND), "first");
    assert_string_equal(find(&map, p, 0, 0x107f, 25 * SECOND), "second");
    assert_string_equal(find(&map, p, 0, 0x1080, 25 * SECOND), "first");
    assert_string_equal(find(&map, p, 0, 0x1080, 35 * SECOND), "moved");
    assert_string_equal(find(&map, p, 0, 0x1080, 45 * SECOND), "first");
    assert_string_equal(find(&map, p, 0, 0x1100, 35 * SECOND), "-");
    assert_string_equal(find(&map, p, 0, 0xfff, 35 * SECOND), "-");
    assert_string_equal(find(&map, p, 1, 0x1000, 1), "other process");
    /* Named a moment after it began to run, and long before it was made. */
    assert_string_equal(find(&map, p, 0, 0x1000, 9 * SECOND + 1), "first");
    assert_string_equal(find(&map, p, 0, 0x1000, 5 * SECOND), "-");
    uint64_t from_ns, to_ns, work = 0;
    assert_null(kymo_code_map_find(&map, 9, 0x1000, 1, &from_ns, &to_ns, &work));
    kymo_code_map_deinit(&map);
    kymo_profile_destroy(p);
}

/* A perf map has no times. */
static void the_last_entry_wins(void **state)
{
    (void)state;
    kymo_code_map map = {0};
    kymo_profile *p = new_profile();
    add_process(p, 1, 0);
    add(&map, p, 0, 0x1000, 0x1000, 0, 0, "heap");
    add(&map, p, 0, 0x1200, 0x100, 0, 0, "inner");
    add(&map, p, 0, 0x1280, 0x100, 0, 0, "later");
    kymo_code_map_prepare(&map);
    assert_string_equal(find(&map, p, 0, 0x1200, 1), "inner");
    assert_string_equal(find(&map, p, 0, 0x1290, 1), "later");
    assert_string_equal(find(&map, p, 0, 0x1380, 1), "heap"); /* past two that end before it */
    kymo_code_map_deinit(&map);
    kymo_profile_destroy(p);
}

static void impossible_code_is_refused(void **state)
{
    (void)state;
    kymo_code_map map = {0};
    kymo_profile *p = new_profile();
    add_process(p, 1, 0);
    const kymo_event_code bad[] = {
        {.process = 1, .start = 1, .size_bytes = 1},
        {.start = 1, .size_bytes = 0},
        {.start = UINT64_MAX, .size_bytes = 2},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(bad); i++)
        assert_int_equal(kymo_code_map_add(&map, p, &bad[i]), KYMO_E_INVALID);
    /* Sizes that add up to more than there can be: nothing wraps around. */
    for (int i = 0; i < 9; i++)
        add(&map, p, 0, 1, 1ull << 47, 0, 0, "");
    add(&map, p, 0, 1, UINT64_MAX - 1, 0, 0, "");
    assert_in_range(map.rows.len, 1, 9);
    kymo_code_map_prepare(&map);
    for (size_t i = 1; i < map.rows.len; i++)
        assert_true(map.rows.data[i].shown >= map.rows.data[i - 1].shown + (1ull << 47));
    kymo_code_map_deinit(&map);
    kymo_profile_destroy(p);
}

/* "NAME@FILE:LINE;..." of a stack, innermost first. */
static void check_stack(const kymo_profile *p, uint32_t stack, const char *expected)
{
    kymo_str s = {0};
    char label[64];
    kymo_stacks stacks = kymo_profile_stacks(p);
    for (; stack != KYMO_NONE; stack = stacks.parent[stack]) {
        uint32_t n;
        const kymo_line *line = kymo_profile_frame_lines(p, stacks.frame[stack], &n);
        kymo_str_printf(&s, "%s%s", s.len ? ";" : "",
                        kymo_profile_frame_label(p, stacks.frame[stack], label, sizeof label));
        if (n > 0)
            kymo_str_printf(
                &s, "@%s:%u",
                kymo_profile_source(p, kymo_profile_function(p, line->function)->source),
                line->line);
    }
    assert_string_equal(kymo_str_cstr(&s), expected);
    kymo_str_deinit(&s);
}

static void stacks_are_named_by_the_time_of_their_samples(void **state)
{
    (void)state;
    static const char *const files[] = {"/a.js", "/b.js"};
    static const kymo_event_code_line lines[] = {{0x40, 12, 3, 0}, {0x80, 7, 1, 1}, {0, 10, 0, 0}};
    kymo_code_map map = {0};
    kymo_profile *p = new_profile();
    add_process(p, 1, 0);
    add_process(p, 2, 0);
    uint32_t one = add_thread(p, 0, 1, 0);
    uint32_t two = add_thread(p, 1, 2, 0);
    uint32_t module = add_module(p, 0, "/bin/js", "");
    uint32_t root = add_stack(p, KYMO_NONE, add_frame(p, module, 0x1100));
    uint32_t outer = add_stack(p, root, add_frame(p, KYMO_NONE, 0x10050));
    uint32_t leaf = add_stack(p, outer, add_frame(p, KYMO_NONE, 0x20010));
    uint32_t unknown = add_stack(p, outer, add_frame(p, KYMO_NONE, 0x30000));
    uint32_t unused = add_stack(p, root, add_frame(p, KYMO_NONE, 0x40000));
    (void)unused;
    const uint64_t times[] = {10, 30, 20};
    for (size_t i = 0; i < 3; i++)
        ok(kymo_profile_add_sample(p, one, times[i] * SECOND, leaf, 1, KYMO_SAMPLE_CPU, 0));
    ok(kymo_profile_add_sample(p, one, 31 * SECOND, unknown, 1, KYMO_SAMPLE_CPU, 0));
    ok(kymo_profile_add_sample(p, one, 32 * SECOND, root, 1, KYMO_SAMPLE_CPU, 0));
    ok(kymo_profile_add_sample(p, one, 33 * SECOND, KYMO_NONE, 1, KYMO_SAMPLE_CPU, 0));
    ok(kymo_profile_add_sample(p, two, 10 * SECOND, leaf, 1, KYMO_SAMPLE_CPU, 0));
    ok(kymo_profile_finish(p));

    ok(kymo_code_map_add(&map, p,
                         &(kymo_event_code){.start = 0x10000,
                                            .size_bytes = 0x100,
                                            .name = "JS:*outer /a.js:9:1",
                                            .file_count = 2,
                                            .line_count = 3,
                                            .files = files,
                                            .lines = lines}));
    add(&map, p, 0, 0x20000, 0x100, 5 * SECOND, 0, "before");
    add(&map, p, 0, 0x20000, 0x100, 25 * SECOND, 0, "after");
    ok(kymo_code_map_apply(&map, p));

    kymo_samples s = kymo_profile_samples(p, one);
    check_stack(p, s.stack[0], "before@:0;outer@/a.js:12;js+0x1100");
    check_stack(p, s.stack[1], "before@:0;outer@/a.js:12;js+0x1100");
    check_stack(p, s.stack[2], "after@:0;outer@/a.js:12;js+0x1100");
    check_stack(p, s.stack[3], "0x30000;outer@/a.js:12;js+0x1100");
    check_stack(p, s.stack[4], "js+0x1100");
    assert_int_equal(s.stack[5], KYMO_NONE);
    s = kymo_profile_samples(p, two); /* it has no code */
    check_stack(p, s.stack[0], "0x20010;0x10050;js+0x1100");

    /* Nothing is left of what no sample has: root, outer (named, not), before, after, 0x20010,
     * 0x30000. */
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_STACKS), 7);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_FRAMES), 7);
    /* What is added afterwards finds what there is. */
    assert_int_equal(add_frame(p, module, 0x1100), 0);
    assert_int_equal(add_stack(p, KYMO_NONE, 0), 0);
    const kymo_frame *f = kymo_profile_frame(p, kymo_profile_stacks(p).frame[s.stack[0]]);
    assert_int_equal(f->category, KYMO_CATEGORY_GENERATED);
    kymo_code_map_deinit(&map);
    kymo_profile_destroy(p);
}

static void stacks_of_markers_are_named_too(void **state)
{
    (void)state;
    kymo_code_map map = {0};
    kymo_profile *p = new_profile();
    add_process(p, 1, 0);
    add_thread(p, 0, 1, 0);
    kymo_marker m = {.start_ns = 1 * SECOND,
                     .end_ns = 10 * SECOND, /* when its record was made */
                     .category = KYMO_NONE,
                     .schema = KYMO_NONE,
                     .stack = add_stack(p, KYMO_NONE, add_frame(p, KYMO_NONE, 0x20010)),
                     .labels = KYMO_NONE,
                     .phase = KYMO_MARKER_INTERVAL};
    ok(kymo_profile_add_marker(p, &m, NULL));
    m.stack = KYMO_NONE;
    ok(kymo_profile_add_marker(p, &m, NULL));
    ok(kymo_profile_finish(p));
    add(&map, p, 0, 0x20000, 0x100, 5 * SECOND, 0, "made");
    ok(kymo_code_map_apply(&map, p));
    check_stack(p, kymo_profile_markers(p, 0).rows[0].stack, "made@:0");
    assert_int_equal(kymo_profile_markers(p, 0).rows[1].stack, KYMO_NONE);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_STACKS), 1);
    kymo_code_map_deinit(&map);
    kymo_profile_destroy(p);
}

/* V8 maps its built-in code once more; the recorder tells of it when stacks are written already. */
static void code_that_is_mapped_twice_is_its_modules(void **state)
{
    (void)state;
    kymo_code_map map = {0};
    kymo_profile *p = new_profile();
    add_process(p, 1, 0);
    uint32_t thread = add_thread(p, 0, 1, 0);
    uint32_t stack = add_stack(p, KYMO_NONE, add_frame(p, KYMO_NONE, 0x7000010));
    uint32_t later = add_stack(p, KYMO_NONE, add_frame(p, KYMO_NONE, 0x8000010));
    ok(kymo_profile_add_sample(p, thread, 1, stack, 1, KYMO_SAMPLE_CPU, 0));
    ok(kymo_profile_add_sample(p, thread, 2, later, 1, KYMO_SAMPLE_CPU, 0));
    ok(kymo_profile_finish(p));
    kymo_module m = {.size = sizeof m,
                     .path = "/bin/js",
                     .start = 0x7000000,
                     .end = 0x7001000,
                     .load_bias = 0x7000000 - 0x4000};
    uint32_t id;
    ok(kymo_profile_add_module(p, &m, &id));
    m.start = 0x8000000;
    m.end = 0x8001000;
    m.load_ns = 3; /* after the sample */
    ok(kymo_profile_add_module(p, &m, &id));
    ok(kymo_code_map_apply(&map, p));
    kymo_samples s = kymo_profile_samples(p, thread);
    check_stack(p, s.stack[0], "js+0x4010");
    check_stack(p, s.stack[1], "0x8000010");
    kymo_code_map_deinit(&map);
    kymo_profile_destroy(p);
}

/* Each sample would need its deep stack translated anew: it takes no longer than it may. */
static void a_hostile_recording_is_bounded(void **state)
{
    (void)state;
    enum { DEPTH = 20000, SAMPLES = 20000 };
    kymo_code_map map = {0};
    kymo_profile *p = new_profile();
    add_process(p, 1, 0);
    uint32_t thread = add_thread(p, 0, 1, 0);
    uint32_t stack = KYMO_NONE;
    for (uint32_t i = 0; i < DEPTH; i++)
        stack = add_stack(p, stack, add_frame(p, KYMO_NONE, 0x1000 + i % 7));
    for (uint32_t i = 0; i < SAMPLES; i++) {
        ok(kymo_profile_add_sample(p, thread, i + 1, stack, 1, KYMO_SAMPLE_CPU, 0));
        if (i % 20 == 0)
            add(&map, p, 0, 0x1000, 0x100, i + 1, 0, i % 40 ? "a" : "b");
    }
    ok(kymo_profile_finish(p));
    ok(kymo_code_map_apply(&map, p));
    kymo_samples s = kymo_profile_samples(p, thread);
    assert_int_equal(s.count, SAMPLES);
    for (uint32_t i = 0; i < SAMPLES; i++)
        assert_true(s.stack[i] < kymo_profile_count(p, KYMO_TABLE_STACKS));
    kymo_code_map_deinit(&map);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_used_again),
        cmocka_unit_test(the_last_entry_wins),
        cmocka_unit_test(impossible_code_is_refused),
        cmocka_unit_test(stacks_are_named_by_the_time_of_their_samples),
        cmocka_unit_test(stacks_of_markers_are_named_too),
        cmocka_unit_test(code_that_is_mapped_twice_is_its_modules),
        cmocka_unit_test(a_hostile_recording_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
