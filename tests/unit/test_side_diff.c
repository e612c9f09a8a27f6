/* SPDX-License-Identifier: Apache-2.0 */
#include "views/side_diff.h"

#include <stdlib.h>

#include "profile_fixture.h"
#include "recording/events_heap.h"
#include "views/report_json.h"
#include "views/report_side_diff.h"

static kymo_profile *profiles[2];
static uint32_t threads[2];

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        profiles[i] = new_profile();
        threads[i] = add_thread(profiles[i], add_process(profiles[i], 7 + i, 1), 7 + i, 1);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kymo_profile_destroy(profiles[0]);
    kymo_profile_destroy(profiles[1]);
    return 0;
}

/* ---- markers ---- */

static void mark(int side, const char *name, uint32_t category, kymo_marker_phase phase,
                 uint64_t ns)
{
    kymo_marker m = {.start_ns = 1,
                     .end_ns = 1 + ns,
                     .thread = threads[side],
                     .name = add_string(profiles[side], name),
                     .category = category,
                     .schema = KYMO_NONE,
                     .stack = KYMO_NONE,
                     .labels = KYMO_NONE,
                     .phase = phase};
    ok(kymo_profile_add_marker(profiles[side], &m, NULL));
}

static uint32_t add_category(int side, const char *name)
{
    uint32_t id;
    kymo_marker_category c = {
        .size = sizeof c, .name = add_string(profiles[side], name), .parent = KYMO_NONE};
    ok(kymo_profile_add_marker_category(profiles[side], &c, &id));
    return id;
}

/* "write" has two categories; "new" and "gone" are on one side only; "point" has no duration. */
static void add_markers(void)
{
    uint32_t other = add_category(1, "Other"); /* so that ids differ */
    uint32_t nets[2] = {add_category(0, "Net"), add_category(1, "Net")};
    for (int side = 0; side < 2; side++) {
        mark(side, "write", nets[side], KYMO_MARKER_INTERVAL, side ? 5000 : 1000);
        mark(side, "same", nets[side], KYMO_MARKER_INTERVAL, 70);
        mark(side, "point", nets[side], KYMO_MARKER_INSTANT, 0);
    }
    mark(0, "gone", nets[0], KYMO_MARKER_INTERVAL, 2000);
    mark(1, "write", other, KYMO_MARKER_INTERVAL, 100);
    mark(1, "new", nets[1], KYMO_MARKER_INTERVAL, 300);
    mark(1, "point", nets[1], KYMO_MARKER_INSTANT, 0);
}

struct marker_case {
    kymo_marker_report *reports[2];
    struct kymo_marker_diff diff;
};

static void make_markers(struct marker_case *c, kymo_marker_report_by by)
{
    for (int i = 0; i < 2; i++) {
        ok(kymo_profile_finish(profiles[i]));
        ok(kymo_marker_report_create(profiles[i], by, &c->reports[i]));
    }
    ok(kymo_marker_diff_make(&c->diff, (const kymo_marker_report *const *)c->reports));
}

static void destroy_markers(struct marker_case *c)
{
    kymo_marker_diff_deinit(&c->diff);
    kymo_marker_report_destroy(c->reports[0]);
    kymo_marker_report_destroy(c->reports[1]);
}

static void assert_marker(const struct marker_case *c, size_t i, const char *name,
                          const char *category, uint64_t before_ns, uint64_t after_ns,
                          uint64_t before, uint64_t after)
{
    const struct kymo_marker_diff_row *row = &c->diff.rows.data[i];
    assert_true(i < c->diff.rows.len);
    assert_string_equal(row->name, name);
    assert_string_equal(row->category ? row->category : "", category);
    assert_int_equal(row->total_ns[0], before_ns);
    assert_int_equal(row->total_ns[1], after_ns);
    assert_int_equal(row->count[0], before);
    assert_int_equal(row->count[1], after);
}

static void markers_are_joined_by_name_and_category(void **state)
{
    (void)state;
    struct marker_case c;
    add_markers();
    make_markers(&c, KYMO_MARKERS_BY_NAME);
    assert_int_equal(c.diff.rows.len, 6);
    assert_marker(&c, 0, "write", "Net", 1000, 5000, 1, 1);
    assert_marker(&c, 1, "gone", "Net", 2000, 0, 1, 0);
    assert_marker(&c, 2, "new", "Net", 0, 300, 0, 1);
    assert_marker(&c, 3, "write", "Other", 0, 100, 0, 1);
    assert_marker(&c, 4, "point", "Net", 0, 0, 1, 2);
    assert_marker(&c, 5, "same", "Net", 70, 70, 1, 1);
    assert_int_equal(c.diff.all.count[0], 4);
    assert_int_equal(c.diff.all.count[1], 6);
    assert_int_equal(c.diff.all.total_ns[0], 3070);
    assert_int_equal(c.diff.all.total_ns[1], 5470);
    destroy_markers(&c);
}

static void markers_by_category(void **state)
{
    (void)state;
    struct marker_case c;
    add_markers();
    make_markers(&c, KYMO_MARKERS_BY_CATEGORY);
    assert_int_equal(c.diff.rows.len, 2);
    assert_marker(&c, 0, "Net", "", 3070, 5370, 4, 5);
    assert_marker(&c, 1, "Other", "", 0, 100, 0, 1);
    destroy_markers(&c);
}

static void markers_as_text(void **state)
{
    (void)state;
    struct marker_case c;
    char *text;
    size_t len;
    FILE *to = open_memstream(&text, &len);
    const kymo_terminal t = {.to = to};
    add_markers();
    make_markers(&c, KYMO_MARKERS_BY_NAME);
    kymo_report_print_marker_diff(&t, &c.diff, "name", 5);
    fclose(to);
    assert_string_equal(
        text, "markers: 4 to 6; their duration: 3.07 us to 5.47 us: +2.4 us (+78.2 %)\n\n"
              "  duration      before       after      count    before     after    name\n"
              "     +4 us        1 us        5 us         +0         1         1    write  Net\n"
              "     -2 us        2 us        0 ns         -1         1         0  - gone  Net\n"
              "   +300 ns        0 ns      300 ns         +1         0         1  + new  Net\n"
              "   +100 ns        0 ns      100 ns         +1         0         1  + write  Other\n"
              "         -           -           -         +1         1         2    point  Net\n"
              "... and 1 more (--top 0 shows all)\n"
              "+: new; -: gone; duration and count are changes\n");
    free(text);
    destroy_markers(&c);
}

static void markers_as_json(void **state)
{
    (void)state;
    struct marker_case c;
    kymo_bytes bytes;
    add_markers();
    make_markers(&c, KYMO_MARKERS_BY_NAME);
    kymo_bytes_init(&bytes, 1 << 16);
    ok(kymo_report_write_marker_diff_json(&c.diff, NULL, "name", 2, &bytes.sink));
    ok(kymo_bytes_append(&bytes, "", 1));
    assert_string_equal(
        (char *)bytes.data,
        "{\"format\":1,\"mode\":\"markers\",\"by\":\"name\",\"unit\":\"nanoseconds\",\"changes\":["
        "{\"name\":\"write\",\"category\":\"Net\",\"before\":1000,\"after\":5000,\"change\":4000,"
        "\"count_before\":1,\"count_after\":1,\"count_change\":0},"
        "{\"name\":\"gone\",\"category\":\"Net\",\"before\":2000,\"after\":0,\"change\":-2000,"
        "\"count_before\":1,\"count_after\":0,\"count_change\":-1,\"only\":\"before\"}],"
        "\"total\":{\"name\":null,\"category\":null,\"before\":3070,\"after\":5470,"
        "\"change\":2400,\"count_before\":4,\"count_after\":6,\"count_change\":2}}\n");
    kymo_bytes_deinit(&bytes);
    destroy_markers(&c);
}

static void no_markers(void **state)
{
    (void)state;
    struct marker_case c;
    make_markers(&c, KYMO_MARKERS_BY_NAME);
    assert_int_equal(c.diff.rows.len, 0);
    assert_int_equal(c.diff.all.count[1], 0);
    destroy_markers(&c);
}

/* ---- the RSS breakdown ---- */

static void line(int side, uint32_t process, uint64_t time_ns, uint32_t which, const char *part,
                 int64_t bytes)
{
    kymo_ledger l = {.size = sizeof l,
                     .stack = KYMO_NONE,
                     .process = process,
                     .time_ns = time_ns,
                     .line = which,
                     .name = add_string(profiles[side], part),
                     .bytes = bytes};
    ok(kymo_profile_add_ledger(profiles[side], &l));
}

static uint32_t named(int side, int32_t pid)
{
    uint32_t id;
    ok(kymo_profile_add_process(
        profiles[side],
        &(kymo_process){.size = sizeof(kymo_process), .pid = pid, .start_ns = 1, .name = "web"},
        &id));
    return id;
}

static void make_ledgers(struct kymo_ledger_diff *diff)
{
    ok(kymo_profile_finish(profiles[0]));
    ok(kymo_profile_finish(profiles[1]));
    ok(kymo_ledger_diff_make(diff, (const kymo_profile *const *)profiles));
}

static void assert_line(const struct kymo_ledger_diff *diff, size_t i, int is_most, uint32_t which,
                        const char *part, int64_t before, int64_t after)
{
    const struct kymo_ledger_diff_row *row = &diff->rows.data[i];
    assert_true(i < diff->rows.len);
    assert_string_equal(row->process, "web");
    assert_int_equal(row->is_most, is_most);
    assert_int_equal(row->line, which);
    assert_string_equal(row->part, part);
    assert_int_equal(row->bytes[0], before);
    assert_int_equal(row->bytes[1], after);
}

static void lines_are_joined_by_process(void **state)
{
    (void)state;
    struct kymo_ledger_diff diff;
    uint32_t before = named(0, 20);
    uint32_t after[2] = {named(1, 30), named(1, 31)};
    line(0, before, 5, KYMO_LEDGER_FILES, "", 100);
    line(0, before, 5, KYMO_LEDGER_FILES, "libc", 60);
    line(0, before, 5, KYMO_LEDGER_RSS, "", 300);
    line(1, after[0], 5, KYMO_LEDGER_FILES, "", 90);
    line(1, after[0], 5, KYMO_LEDGER_FILES, "libc", 20);
    line(1, after[0], 5, KYMO_LEDGER_FILES, "libm", 70);
    line(1, after[0], 5, KYMO_LEDGER_RSS, "", 310);
    line(1, after[1], 5, KYMO_LEDGER_RSS, "", 7);
    make_ledgers(&diff);
    assert_int_equal(diff.rows.len, 5);
    assert_line(&diff, 0, 0, KYMO_LEDGER_FILES, "", 100, 90);
    assert_line(&diff, 1, 0, KYMO_LEDGER_FILES, "libm", 0, 70);
    assert_line(&diff, 2, 0, KYMO_LEDGER_FILES, "libc", 60, 20);
    assert_line(&diff, 3, 0, KYMO_LEDGER_RSS, "", 300, 310);
    assert_line(&diff, 4, 0, KYMO_LEDGER_RSS, "", 0, 7);
    assert_int_equal(diff.rows.data[1].pid[0], 20);
    assert_int_equal(diff.rows.data[1].rss[0], 300);
    assert_int_equal(diff.rows.data[4].pid[0], 0);
    assert_int_equal(diff.rows.data[4].pid[1], 31);
    assert_false(kymo_ledger_diff_is_same_time(&diff.rows.data[3], &diff.rows.data[4]));
    kymo_ledger_diff_deinit(&diff);
}

/* The side whose process ended with the most has one breakdown for both times. */
static void one_breakdown_against_two(void **state)
{
    (void)state;
    struct kymo_ledger_diff diff;
    uint32_t before = named(0, 20);
    uint32_t after = named(1, 30);
    line(0, before, 5, KYMO_LEDGER_RSS, "", 300);
    line(1, after, 3, KYMO_LEDGER_RSS, "", 500);
    line(1, after, 9, KYMO_LEDGER_RSS, "", 200);
    make_ledgers(&diff);
    assert_int_equal(diff.rows.len, 2);
    assert_line(&diff, 0, 1, KYMO_LEDGER_RSS, "", 300, 500);
    assert_line(&diff, 1, 0, KYMO_LEDGER_RSS, "", 300, 200);
    kymo_ledger_diff_deinit(&diff);
}

static void lines_as_text_and_json(void **state)
{
    (void)state;
    struct kymo_ledger_diff diff;
    char *text;
    size_t len;
    kymo_bytes bytes;
    FILE *to = open_memstream(&text, &len);
    const kymo_terminal t = {.to = to};
    uint32_t before = named(0, 20);
    uint32_t after = named(1, 30);
    line(0, before, 5, KYMO_LEDGER_STACKS, "", 4096);
    line(0, before, 5, KYMO_LEDGER_FILES, "libc", 1); /* too small to be shown */
    line(0, before, 5, KYMO_LEDGER_RSS, "", 8192);
    line(1, after, 5, KYMO_LEDGER_RSS, "", 12288);
    make_ledgers(&diff);
    kymo_report_print_ledger_diff(&t, &diff);
    fclose(to);
    assert_string_equal(
        text,
        "resident at the end in web (pid 20 to pid 30)\n"
        "    change      before       after    line\n"
        "  -4.0 KiB     4.0 KiB         0 B  - stacks       of threads, and kept for the next "
        "ones\n"
        "  +4.0 KiB     8.0 KiB      12 KiB    rss          all of it, as the kernel counts\n"
        "+: new; -: gone\n");
    free(text);
    kymo_bytes_init(&bytes, 1 << 16);
    ok(kymo_report_write_ledger_diff_json(&diff, NULL, &bytes.sink));
    ok(kymo_bytes_append(&bytes, "", 1));
    assert_non_null(strstr((char *)bytes.data,
                           "{\"format\":1,\"mode\":\"memory\",\"by\":\"process\","
                           "\"unit\":\"bytes\",\"changes\":["));
    assert_non_null(strstr((char *)bytes.data,
                           "{\"process\":\"web\",\"pid_before\":20,\"pid_after\":30,\"last\":true,"
                           "\"line\":\"files\",\"name\":\"libc\",\"before\":1,\"after\":0,"
                           "\"change\":-1,\"only\":\"before\"}"));
    kymo_bytes_deinit(&bytes);
    kymo_ledger_diff_deinit(&diff);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(markers_are_joined_by_name_and_category),
        TEST(markers_by_category),
        TEST(markers_as_text),
        TEST(markers_as_json),
        TEST(no_markers),
        TEST(lines_are_joined_by_process),
        TEST(one_breakdown_against_two),
        TEST(lines_as_text_and_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
