/* SPDX-License-Identifier: Apache-2.0 */
#include "views/report_heap.h"

#include <stdlib.h>

#include "heap_fixture.h"
#include "recording/events_heap.h"
#include "views/report_text.h"

static struct heap_profile h;
static kymo_heap_report_options options;

static int setup(void **state)
{
    h = new_heap_profile();
    options = (kymo_heap_report_options){.size = sizeof options,
                                         .view = KYMO_HEAP_LIVE,
                                         .at_ns = KYMO_HEAP_END,
                                         .min_age_ns = KYMO_HEAP_AUTO};
    *state = h.p;
    return 0;
}

static void set_heap(uint64_t rate, uint64_t lost_frees, const char *not_seen)
{
    kymo_heap heap = {.size = sizeof heap,
                      .process = h.process[0],
                      .rate = rate,
                      .lost = lost_frees ? 5 : 0,
                      .lost_frees = lost_frees,
                      .is_partial = lost_frees > 0,
                      .not_seen = add_string(h.p, not_seen)};
    ok(kymo_profile_set_heap(h.p, &heap));
}

/* All that is printed of the profile. */
static void assert_printed(const char *expected)
{
    char *text;
    size_t len;
    kymo_report *report;
    FILE *to = open_memstream(&text, &len);
    kymo_terminal t = {.to = to};
    ok(kymo_profile_finish(h.p));
    ok(kymo_heap_report_create(h.p, &options, &report));
    kymo_report_print_heap_totals(&t, h.p, report);
    kymo_report_print_table(&t, report, (kymo_report_by)options.by, 2, " (--top 0 shows all)");
    if (options.by == KYMO_BY_FUNCTION)
        kymo_report_print_tree(&t, report, 2, 0);
    kymo_report_destroy(report);
    fclose(to);
    assert_string_equal(text, expected);
    free(text);
}

static void every_allocation(void **state)
{
    (void)state;
    set_heap(1, 0, "");
    add_plain(&h, IN_LOAD, 4096, 1010, 1020);
    add_plain(&h, IN_LOAD, 1024, 1010, KYMO_LIVES);
    add_plain(&h, IN_PARSE, 512, 1010, KYMO_LIVES);
    assert_printed("heap:     every allocation; allocated 5.5 KiB in 3 blocks\n"
                   "below:    1.5 KiB in 2 blocks, live at exit\n"
                   "  self   total        self        blocks  function\n"
                   " 66.7 %  66.7 %     1.0 KiB           1  load  app\n"
                   " 33.3 %  33.3 %       512 B           1  parse  app\n"
                   " total       total      blocks  function\n"
                   "100.0 %     1.5 KiB           2  main\n"
                   " 66.7 %     1.0 KiB           1    load\n"
                   "... and 1 more node (--top 0 shows all)\n");
}

static void samples_that_are_partial(void **state)
{
    (void)state;
    set_heap(4096, 2, "libx.so (je_malloc)");
    for (int i = 0; i < 100; i++) {
        kymo_allocation block = block_of(&h, IN_LOAD, 1024, 1990, KYMO_LIVES);
        block.weight = 4.5;
        block.birth_ns = i < 50 ? 1010 : 1990;
        add_block(&h, &block);
    }
    options.view = KYMO_HEAP_LEAKS;
    assert_printed(
        "heap:     one sample per 4.0 KiB allocated on average, 100 of them; allocated 450 KiB (95 "
        "%: 377 KiB to 533 KiB) in 450 blocks (95 %: 377 to 533)\n"
        "warning: partial: 5 records of allocations lost, 2 of frees: some blocks seem to live "
        "that do not (a larger --buffer keeps more)\n"
        "warning: not seen in pid 7: libx.so (je_malloc)\n"
        "below:    225 KiB (95 %: 175 KiB to 286 KiB) in 225 blocks (95 %: 174 to 286), live at "
        "exit for at least 100 ns; left out as young: 225 KiB (--min-age=0 shows them)\n"
        "  self   total        self  95 %                            blocks  function\n"
        "100.0 % 100.0 %     225 KiB  175 KiB to 286 KiB               225  load  app\n"
        " total       total      blocks  function\n"
        "100.0 %     225 KiB         225  main\n"
        "100.0 %     225 KiB         225    load\n");
}

static void not_seen_in(uint32_t process, const char *text)
{
    kymo_heap heap = {
        .size = sizeof heap, .process = process, .rate = 1, .not_seen = add_string(h.p, text)};
    ok(kymo_profile_set_heap(h.p, &heap));
}

/* A program of many processes has a line, and many programs have some. */
static void allocators_not_seen(void **state)
{
    (void)state;
    not_seen_in(h.process[0], "libx.so (je_malloc)");
    for (int i = 0; i < 12; i++) {
        char text[32];
        uint32_t process = add_process(h.p, 100 + i, 1000);
        snprintf(text, sizeof text, "malloc of %d", i < 3 ? 0 : i);
        not_seen_in(process, text);
    }
    add_plain(&h, IN_LOAD, 1024, 1010, KYMO_LIVES);
    assert_printed("heap:     every allocation; allocated 1.0 KiB in 1 block\n"
                   "warning: not seen in pid 7: libx.so (je_malloc)\n"
                   "warning: not seen in pid 100 and 2 more: malloc of 0\n"
                   "warning: not seen in pid 103: malloc of 3\n"
                   "warning: not seen in pid 104: malloc of 4\n"
                   "warning: not seen in pid 105: malloc of 5\n"
                   "warning: not seen in pid 106: malloc of 6\n"
                   "warning: not seen in pid 107: malloc of 7\n"
                   "warning: not seen in pid 108: malloc of 8\n"
                   "warning: other allocators were not seen in 3 more processes\n"
                   "below:    1.0 KiB in 1 block, live at exit\n"
                   "  self   total        self        blocks  function\n"
                   "100.0 % 100.0 %     1.0 KiB           1  load  app\n"
                   " total       total      blocks  function\n"
                   "100.0 %     1.0 KiB           1  main\n"
                   "100.0 %     1.0 KiB           1    load\n");
}

/* What was counted has no interval; what lives of it, without a sample, has a bound. */
static void no_sample_of_what_lives(void **state)
{
    (void)state;
    kymo_heap heap = {.size = sizeof heap,
                      .process = h.process[0],
                      .rate = 4096,
                      .count = 430,
                      .bytes = 430 * 1024,
                      .not_seen = add_string(h.p, "")};
    ok(kymo_profile_set_heap(h.p, &heap));
    for (int i = 0; i < 100; i++) {
        kymo_allocation block = block_of(&h, i % 4 ? IN_LOAD : IN_PARSE, 1024, 1010, 1020);
        block.weight = 4.5;
        add_block(&h, &block);
    }
    assert_printed(
        "heap:     one sample per 4.0 KiB allocated on average, 100 of them; allocated 430 "
        "KiB in 430 blocks\n"
        "below:    no sample: at most 9.9 KiB in 8 blocks (95 %), live at exit\n"
        " total       total      blocks  function\n");
    options.view = KYMO_HEAP_ALLOC;
    assert_printed(
        "heap:     one sample per 4.0 KiB allocated on average, 100 of them; allocated 430 "
        "KiB in 430 blocks\n"
        "below:    430 KiB in 430 blocks, everything allocated\n"
        "  self   total        self  95 %                            blocks  function\n"
        " 75.0 %  75.0 %     322 KiB  275 KiB to 405 KiB               322  load  app\n"
        " 25.0 %  25.0 %     108 KiB  78 KiB to 157 KiB                108  parse  app\n"
        " total       total      blocks  function\n"
        "100.0 %     430 KiB         430  main\n"
        " 75.0 %     322 KiB         322    load\n"
        "... and 1 more node (--top 0 shows all)\n");
}

static void lives(void **state)
{
    (void)state;
    set_heap(1, 0, "");
    for (uint64_t i = 0; i < 10; i++) {
        kymo_allocation block = block_of(&h, IN_LOAD, 10, 1010, 1010 + (1ull << i));
        block.distance = 0;
        block.end_thread = h.thread[i == 0];
        add_block(&h, &block);
    }
    options.view = KYMO_HEAP_LIFETIMES;
    assert_printed("heap:     every allocation; allocated 100 B in 10 blocks\n"
                   "below:    100 B in 10 blocks, freed, 1 of them by another thread than the one "
                   "that allocated them\n"
                   "  self   total        self        blocks  median                 function\n"
                   "100.0 % 100.0 %       100 B          10      32 ns  ██████████  load  app\n"
                   "lives: each step of the curve is twice the one before, from 0 ns to 1.02 us\n"
                   " total       total      blocks  function\n"
                   "100.0 %       100 B          10  main\n"
                   "100.0 %       100 B          10    load\n");
    options.view = KYMO_HEAP_TEMPORARY;
    options.by = KYMO_BY_THREAD;
    assert_printed("heap:     every allocation; allocated 100 B in 10 blocks\n"
                   "below:    100 B in 10 blocks, freed at once: 100.0 % of all blocks\n"
                   "  self   total        self        blocks  thread\n"
                   "100.0 % 100.0 %       100 B          10  thread 7 (7)\n");
}

static void at_a_moment(void **state)
{
    (void)state;
    set_heap(1, 0, "");
    add_plain(&h, IN_LOAD, 100, 1010, 1020);
    options.by = KYMO_BY_SIZE;
    options.at_ns = 1015;
    assert_printed("heap:     every allocation; allocated 100 B in 1 block\n"
                   "below:    100 B in 1 block, live at 15 ns\n"
                   "  self   total        self        blocks  size\n"
                   "100.0 % 100.0 %       100 B           1  64 B to 128 B\n");
    options.view = KYMO_HEAP_PEAK;
    assert_printed("heap:     every allocation; allocated 100 B in 1 block\n"
                   "below:    100 B in 1 block, live at the peak: at 10 ns\n"
                   "  self   total        self        blocks  size\n"
                   "100.0 % 100.0 %       100 B           1  64 B to 128 B\n");
    options.view = KYMO_HEAP_MAPPED;
    assert_printed("heap:     every allocation; allocated 100 B in 1 block\n"
                   "below:    0 B in 0 mappings, live at 15 ns\n");
}

static void growth(void **state)
{
    (void)state;
    char *text;
    size_t len;
    kymo_report_diff *diff;
    FILE *to = open_memstream(&text, &len);
    kymo_terminal t = {.to = to};
    kymo_heap_report_options later = options;
    for (int i = 0; i < 50; i++) {
        kymo_allocation block = block_of(&h, IN_LOAD, 1000, 1500, KYMO_LIVES);
        block.weight = 100;
        add_block(&h, &block);
    }
    kymo_allocation block = block_of(&h, IN_PARSE, 1000, 1010, 1200);
    block.weight = 100;
    add_block(&h, &block);
    add_plain(&h, IN_MAIN, 77, 1010, KYMO_LIVES);
    options.at_ns = 1100;
    later.at_ns = 1600;
    ok(kymo_profile_finish(h.p));
    ok(kymo_heap_diff_create(h.p, &options, h.p, &later, KYMO_DIFF_AUTO, &diff));
    kymo_report_print_diff(&t, diff, KYMO_BY_FUNCTION, 0);
    kymo_report_diff_destroy(diff);
    fclose(to);
    assert_string_equal(
        text, "98 KiB to 4.8 MiB: +4.7 MiB (95 %: 3.3 MiB to 6.0 MiB)\n"
              "\n"
              "    change  95 %                          before       after    function\n"
              "   4.8 MiB  3.5 MiB to 6.1 MiB               0 B     4.8 MiB  + load  app\n"
              "   -98 KiB  -288 KiB to 93 KiB            98 KiB         0 B  ~ parse  app\n"
              "+: new; -: gone; ~: 0 is in the interval, the change may be chance\n");
    free(text);
}

static void ledger(uint32_t line, const char *name, int64_t bytes, uint64_t low, uint64_t high)
{
    kymo_ledger l = {.size = sizeof l,
                     .stack = KYMO_NONE,
                     .process = h.process[0],
                     .line = line,
                     .name = add_string(h.p, name),
                     .bytes = bytes,
                     .low = low,
                     .high = high,
                     .time_ns = 1500};
    ok(kymo_profile_add_ledger(h.p, &l));
}

static void ledger_of_stack(int in, int64_t bytes)
{
    kymo_ledger l = {.size = sizeof l,
                     .stack = h.stack[in],
                     .process = h.process[0],
                     .line = KYMO_LEDGER_MAPPED,
                     .bytes = bytes,
                     .time_ns = 1500};
    ok(kymo_profile_add_ledger(h.p, &l));
}

static void earlier_ledger(int64_t rss)
{
    kymo_ledger l = {.size = sizeof l,
                     .stack = KYMO_NONE,
                     .process = h.process[0],
                     .line = KYMO_LEDGER_RSS,
                     .bytes = rss,
                     .time_ns = 1400};
    ok(kymo_profile_add_ledger(h.p, &l));
}

static void the_ledger(void **state)
{
    (void)state;
    char *text;
    size_t len;
    FILE *to = open_memstream(&text, &len);
    kymo_terminal t = {.to = to};
    kymo_memory_info info = {
        .process = h.process[0], .key = add_string(h.p, "cgroup.memory.max"), .value = 1 << 30};
    kymo_report_print_ledger(&t, h.p);
    ledger(KYMO_LEDGER_LIVE, "", 8192, 4096, 9000);
    ledger(KYMO_LEDGER_MAPPED, "", 4096, 0, 0);
    ledger(KYMO_LEDGER_MAPPED, "small", 96, 0, 0); /* less than a hundredth is not shown */
    ledger_of_stack(IN_LOAD, 3000);
    ledger_of_stack(IN_PARSE_LOAD, 1000); /* the same function */
    ledger(KYMO_LEDGER_UNEXPLAINED, "", -2048, 0, 0);
    ledger(KYMO_LEDGER_RSS, "", 10240, 0, 0);
    earlier_ledger(20480);
    ok(kymo_profile_add_memory_info(h.p, &info));
    ok(kymo_profile_finish(h.p));
    kymo_report_print_ledger(&t, h.p);
    fclose(to);
    assert_string_equal(
        text, "no ledger in this recording: it is made where allocations are recorded (kymo "
              "record --alloc), once a process has run for a moment\n"
              "most resident in pid 7 (7) at 400 ns\n"
              "    20 KiB  100.0 %  rss          all of it, as the kernel counts\n"
              "\n"
              "resident in pid 7 (7) at 500 ns\n"
              "     8 KiB   80.0 %  live         live allocations, as requested; 95 %: "
              "4 KiB to 9 KiB\n"
              "     4 KiB   40.0 %  mapped       mapped by the program itself, past the "
              "allocator\n"
              "     4 KiB   39.1 %    mapped of load\n"
              "    -2 KiB  -20.0 %  unexplained  none of the above\n"
              "    10 KiB  100.0 %  rss          all of it, as the kernel counts\n"
              "\n"
              "               value  figure\n"
              "          1073741824  cgroup.memory.max  pid 7\n");
    free(text);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, destroy_profile)
    const struct CMUnitTest tests[] = {
        T(every_allocation),
        T(samples_that_are_partial),
        T(allocators_not_seen),
        T(no_sample_of_what_lives),
        T(lives),
        T(at_a_moment),
        T(growth),
        T(the_ledger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
