/* SPDX-License-Identifier: Apache-2.0 */
#include "kymo/report.h"

#include <math.h>
#include <string.h>

#include "unit.h"

static kymo_profile *profile;
static uint32_t module;
static uint32_t thread[2];

#define OK(call) assert_int_equal((call), KYMO_OK)

static uint32_t function(const char *name, const char *source, uint32_t start_line)
{
    kymo_function f = {.source = KYMO_NONE, .start_line = start_line, .module = module};
    uint32_t id;
    OK(kymo_profile_add_string(profile, name, strlen(name), &f.name));
    if (source)
        OK(kymo_profile_add_source(profile, source, strlen(source), &f.source));
    OK(kymo_profile_add_function(profile, &f, &id));
    return id;
}

/* A frame at address with up to two functions, innermost first. */
static uint32_t frame(uint64_t address, const char *inner, uint32_t inner_line, const char *outer)
{
    uint32_t id;
    kymo_line lines[2];
    uint32_t n = 0;
    OK(kymo_profile_add_frame(profile, module, address, KYMO_CATEGORY_AUTO, &id));
    if (inner)
        lines[n++] = (kymo_line){.function = function(inner, "/src/a.c", 1), .line = inner_line};
    if (outer)
        lines[n++] = (kymo_line){.function = function(outer, "/src/b.c", 9), .line = 11};
    OK(kymo_profile_frame_set_lines(profile, id, lines, n, KYMO_NONE, n > 0));
    return id;
}

/* The stack of frames from the outermost to the innermost, ended by KYMO_NONE. */
static uint32_t stack(const uint32_t *frames)
{
    uint32_t id = KYMO_NONE;
    for (; *frames != KYMO_NONE; frames++)
        OK(kymo_profile_add_stack(profile, id, *frames, &id));
    return id;
}
#define STACK(...) stack((const uint32_t[]){__VA_ARGS__, KYMO_NONE})

static void sample(uint32_t t, uint32_t at, uint64_t weight)
{
    static uint64_t now = 1000;
    OK(kymo_profile_add_sample(profile, thread[t], now++, at, weight, KYMO_SAMPLE_CPU,
                               KYMO_STATE_RUNNING));
}

static int setup(void **state)
{
    (void)state;
    OK(kymo_profile_create(&profile));
    kymo_meta meta = {.size = sizeof meta, .period_ns = 10, .origin_monotonic_ns = 1};
    OK(kymo_profile_set_meta(profile, &meta));
    uint32_t process;
    kymo_process p = {.size = sizeof p, .pid = 7, .name = "prog", .is_main = 1, .exit_status = -1};
    OK(kymo_profile_add_process(profile, &p, &process));
    for (int i = 0; i < 2; i++) {
        kymo_thread t = {.size = sizeof t,
                         .process = process,
                         .tid = 7 + i,
                         .name = i ? "b" : "a",
                         .start_ns = 1 + (uint64_t)i,
                         .cpu_ns = i ? 0 : 400};
        OK(kymo_profile_add_thread(profile, &t, &thread[i]));
    }
    kymo_module m = {.size = sizeof m,
                     .process = process,
                     .path = "/bin/prog",
                     .start = 0x1000,
                     .end = 0x9000,
                     .is_main = 1};
    OK(kymo_profile_add_module(profile, &m, &module));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kymo_profile_destroy(profile);
    return 0;
}

static kymo_report *report(kymo_report_by by)
{
    kymo_report *r;
    kymo_report_options o = {.size = sizeof o, .by = by};
    OK(kymo_profile_finish(profile));
    OK(kymo_report_create(profile, &o, &r));
    return r;
}

static const kymo_report_row *row(kymo_report *r, const char *name)
{
    size_t n;
    const kymo_report_row *rows = kymo_report_rows(r, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

static void expect(kymo_report *r, const char *name, uint64_t self, uint64_t total)
{
    const kymo_report_row *found = row(r, name);
    if (!found)
        fail_msg("no row %s", name);
    else if (found->self != self || found->total != total)
        fail_msg("%s: self %ju, total %ju; wanted %ju, %ju", name, (uintmax_t)found->self,
                 (uintmax_t)found->total, (uintmax_t)self, (uintmax_t)total);
}

static void self_and_total(void **state)
{
    (void)state;
    uint32_t start = frame(0x10, "start", 1, NULL);
    uint32_t f = frame(0x20, "f", 5, NULL);
    uint32_t g = frame(0x30, "g", 6, NULL);
    sample(0, STACK(start, f, g), 100);
    sample(0, STACK(start, f), 20);
    sample(1, STACK(start, g), 3);
    kymo_report *r = report(KYMO_BY_FUNCTION);
    assert_int_equal(kymo_report_total(r), 123);
    expect(r, "start", 0, 123);
    expect(r, "f", 20, 120);
    expect(r, "g", 103, 103);
    size_t n;
    const kymo_report_row *rows = kymo_report_rows(r, &n);
    assert_int_equal(n, 3);
    assert_string_equal(rows[0].name, "g");
    assert_string_equal(rows[2].name, "start");
    assert_string_equal(rows[0].file, "/src/a.c");
    assert_string_equal(rows[0].module, "prog");
    assert_int_equal(rows[0].line, 1);
    kymo_report_destroy(r);
}

/* f calls itself, directly and through g: its total is counted once per sample. */
static void recursion_counts_once(void **state)
{
    (void)state;
    uint32_t f = frame(0x20, "f", 5, NULL);
    uint32_t f2 = frame(0x28, "f", 7, NULL); /* another place in it */
    uint32_t g = frame(0x30, "g", 6, NULL);
    sample(0, STACK(f, f2, g, f), 10);
    sample(0, STACK(f, f2, g), 5);
    sample(0, STACK(g, f), 2);
    kymo_report *r = report(KYMO_BY_FUNCTION);
    expect(r, "f", 12, 17);
    expect(r, "g", 5, 17);
    kymo_report_destroy(r);
}

static void inlined_functions_are_functions(void **state)
{
    (void)state;
    uint32_t start = frame(0x10, "start", 1, NULL);
    uint32_t both = frame(0x20, "inner", 5, "outer");
    uint32_t outer = frame(0x28, NULL, 0, "outer");
    sample(0, STACK(start, both), 10);
    sample(0, STACK(start, outer), 1);
    kymo_report *r = report(KYMO_BY_FUNCTION);
    expect(r, "inner", 10, 10);
    expect(r, "outer", 1, 11);
    kymo_report_destroy(r);

    r = report(KYMO_BY_LINE);
    assert_int_equal(row(r, "inner")->line, 5);
    assert_int_equal(row(r, "outer")->line, 11);
    kymo_report_destroy(r);

    r = report(KYMO_BY_FILE);
    expect(r, "/src/a.c", 10, 11);
    expect(r, "/src/b.c", 1, 11);
    kymo_report_destroy(r);
}

static void code_of_no_file_has_one_pair_of_brackets(void **state)
{
    (void)state;
    kymo_module m = {.size = sizeof m,
                     .process = kymo_profile_module(profile, module)->process,
                     .path = "[vdso]",
                     .start = 0x9000,
                     .end = 0xa000};
    uint32_t vdso, in_vdso;
    OK(kymo_profile_add_module(profile, &m, &vdso));
    OK(kymo_profile_add_frame(profile, vdso, 0x20, KYMO_CATEGORY_AUTO, &in_vdso));
    sample(0, STACK(in_vdso), 3);
    kymo_report *r = report(KYMO_BY_FILE);
    expect(r, "[vdso]", 3, 3);
    kymo_report_destroy(r);
}

static void code_without_names(void **state)
{
    (void)state;
    uint32_t start = frame(0x10, "start", 1, NULL);
    uint32_t x = frame(0x20, NULL, 0, NULL);
    uint32_t y = frame(0x30, NULL, 0, NULL);
    uint32_t jit;
    OK(kymo_profile_add_frame(profile, KYMO_NONE, 0x7f00, KYMO_CATEGORY_AUTO, &jit));
    sample(0, STACK(start, x), 10);
    sample(0, STACK(start, x, y), 5);
    sample(0, STACK(start, jit), 2);
    sample(0, KYMO_NONE, 1);
    kymo_report *r = report(KYMO_BY_FUNCTION);
    expect(r, "[prog]", 15, 15);
    expect(r, "[generated code]", 2, 2);
    expect(r, "[no stack]", 1, 1);
    expect(r, "start", 0, 17);
    assert_int_equal(kymo_report_total(r), 18);
    /* start, [prog], [generated code]; [no stack]: what has no name is one step of the tree. */
    size_t n;
    kymo_report_nodes(r, &n);
    assert_int_equal(n, 4);
    assert_null(row(r, "[prog]")->file);
    assert_string_equal(row(r, "[prog]")->module, "prog");
    kymo_report_destroy(r);

    r = report(KYMO_BY_MODULE);
    expect(r, "prog", 15, 17);
    expect(r, "[generated code]", 2, 2);
    kymo_report_destroy(r);
}

static void threads_and_their_quality(void **state)
{
    (void)state;
    uint32_t f = frame(0x20, "f", 5, NULL);
    for (int i = 0; i < 30; i++)
        sample(0, STACK(f), 10);
    sample(1, STACK(f), 7);
    size_t n;
    kymo_report *r = report(KYMO_BY_PROCESS);
    kymo_report_rows(r, &n);
    assert_int_equal(n, 1);
    expect(r, kymo_profile_process(profile, 0)->name, 307, 307);
    kymo_report_destroy(r);

    r = report(KYMO_BY_THREAD);
    expect(r, "a (7)", 300, 300);
    expect(r, "b (8)", 7, 7);
    kymo_report_nodes(r, &n);
    assert_int_equal(n, 0);
    const kymo_report_thread *threads = kymo_report_threads(r, &n);
    assert_int_equal(n, 2);
    assert_int_equal(threads[0].samples, 30);
    assert_int_equal(threads[0].weight, 300);
    assert_true(fabs(threads[0].achieved - 0.75) < 1e-9);
    assert_true(fabs(threads[0].sampled_rate - 0.75) < 1e-9);
    assert_true(isnan(threads[1].achieved));
    assert_true(isnan(threads[1].sampled_rate));
    kymo_report_destroy(r);

    /* One of them is its process's start: 29 samples in the 390 ns behind that. */
    kymo_thread t = *kymo_profile_thread(profile, 0);
    t.startup_ns = 10;
    assert_int_equal(kymo_profile_update_thread(profile, 0, &t), KYMO_OK);
    r = report(KYMO_BY_THREAD);
    expect(r, "a (7)", 300, 300);
    threads = kymo_report_threads(r, &n);
    assert_int_equal(threads[0].samples, 29);
    assert_true(fabs(threads[0].achieved - 0.75) < 1e-9);
    assert_true(fabs(threads[0].sampled_rate - 29 * 10.0 / 390) < 1e-9);
    kymo_report_destroy(r);
}

static void the_tree_is_in_order(void **state)
{
    (void)state;
    uint32_t start = frame(0x10, "start", 1, NULL);
    uint32_t f = frame(0x20, "f", 5, NULL);
    uint32_t g = frame(0x30, "g", 6, NULL);
    uint32_t h = frame(0x40, "h", 7, NULL);
    sample(0, STACK(start, g), 3);
    sample(0, STACK(start, f, h), 4);
    sample(1, STACK(start, f, g), 5);
    sample(1, STACK(h), 1);
    kymo_report *r = report(KYMO_BY_FUNCTION);
    static const struct {
        const char *name;
        uint32_t depth;
        uint64_t total;
    } want[] = {{"start", 0, 12}, {"f", 1, 9}, {"g", 2, 5}, {"h", 2, 4}, {"g", 1, 3}, {"h", 0, 1}};
    size_t n;
    size_t n_rows;
    const kymo_report_node *nodes = kymo_report_nodes(r, &n);
    const kymo_report_row *rows = kymo_report_rows(r, &n_rows);
    assert_int_equal(n, sizeof want / sizeof want[0]);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(rows[nodes[i].row].name, want[i].name);
        assert_int_equal(nodes[i].depth, want[i].depth);
        assert_int_equal(nodes[i].total, want[i].total);
    }
    kymo_report_destroy(r);
}

static void only_the_kind_that_is_asked_for(void **state)
{
    (void)state;
    uint32_t f = frame(0x20, "f", 5, NULL);
    sample(0, STACK(f), 10);
    OK(kymo_profile_add_sample(profile, thread[0], 1, STACK(f), 99, KYMO_SAMPLE_WALL,
                               KYMO_STATE_SLEEPING));
    kymo_report *r = report(KYMO_BY_FUNCTION);
    expect(r, "f", 10, 10);
    kymo_report_destroy(r);
    kymo_report_options o = {.size = sizeof o, .kind = KYMO_SAMPLE_WALL};
    OK(kymo_report_create(profile, &o, &r));
    expect(r, "f", 99, 99);
    kymo_report_destroy(r);
}

static void what_is_refused_and_what_is_empty(void **state)
{
    (void)state;
    kymo_report *r = NULL;
    assert_int_equal(kymo_report_create(profile, NULL, &r), KYMO_E_INVALID); /* not finished */
    OK(kymo_profile_finish(profile));
    kymo_report_options o = {.size = sizeof o, .by = KYMO_BY_COUNT};
    assert_int_equal(kymo_report_create(profile, &o, &r), KYMO_E_INVALID);
    o = (kymo_report_options){.size = sizeof o, .kind = KYMO_SAMPLE_KIND_COUNT};
    assert_int_equal(kymo_report_create(profile, &o, &r), KYMO_E_INVALID);
    OK(kymo_report_create(profile, NULL, &r));
    assert_int_equal(kymo_report_total(r), 0);
    size_t n;
    kymo_report_rows(r, &n);
    assert_int_equal(n, 0);
    kymo_report_destroy(r);
    kymo_report_destroy(NULL);
}

static void sums_do_not_start_again(void **state)
{
    (void)state;
    uint32_t f = frame(0x20, "f", 5, NULL);
    sample(0, STACK(f), UINT64_MAX - 1);
    sample(0, STACK(f), 10);
    kymo_report *r = report(KYMO_BY_FUNCTION);
    expect(r, "f", UINT64_MAX, UINT64_MAX);
    kymo_report_destroy(r);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(self_and_total),
        T(recursion_counts_once),
        T(inlined_functions_are_functions),
        T(code_of_no_file_has_one_pair_of_brackets),
        T(code_without_names),
        T(threads_and_their_quality),
        T(the_tree_is_in_order),
        T(only_the_kind_that_is_asked_for),
        T(what_is_refused_and_what_is_empty),
        T(sums_do_not_start_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
