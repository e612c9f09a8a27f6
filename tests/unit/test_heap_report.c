/* SPDX-License-Identifier: Apache-2.0 */
#include "heap_fixture.h"

static struct heap_profile h;
static kymo_report *report;
static kymo_heap_report_options options;

static int setup(void **state)
{
    (void)state;
    h = new_heap_profile();
    report = NULL;
    options = (kymo_heap_report_options){
        .size = sizeof options, .at_ns = KYMO_HEAP_END, .min_age_ns = KYMO_HEAP_AUTO};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kymo_report_destroy(report);
    kymo_profile_destroy(h.p);
    return 0;
}

static const kymo_report_row *rows(kymo_heap_view view, size_t expected)
{
    size_t count;
    ok(kymo_profile_finish(h.p));
    kymo_report_destroy(report);
    report = NULL;
    options.view = view;
    ok(kymo_heap_report_create(h.p, &options, &report));
    const kymo_report_row *all = kymo_report_rows(report, &count);
    assert_int_equal(count, expected);
    return all;
}

/* Exact sums: the interval is a point. */
static void assert_sum(const kymo_heap_sum *sum, double objects, double bytes)
{
    assert_true(sum->objects == objects);
    assert_true(sum->bytes == bytes);
    assert_true(sum->bytes_low == bytes && sum->bytes_high == bytes);
}

static const kymo_heap_totals *totals(void)
{
    return kymo_heap_report_totals(report);
}

static void nothing_was_recorded(void **state)
{
    (void)state;
    for (int view = 0; view < KYMO_HEAP_VIEW_COUNT; view++) {
        rows((kymo_heap_view)view, 0);
        assert_sum(&totals()->sum, 0, 0);
        assert_int_equal(totals()->recorded, 0);
    }
}

static void what_was_asked_for(void **state)
{
    (void)state;
    add_plain(&h, IN_LOAD, 100, 1010, 1020);
    add_plain(&h, IN_PARSE_LOAD, 50, 1020, KYMO_LIVES);
    add_plain(&h, IN_PARSE, 30, 1030, 1040);
    const kymo_report_row *row = rows(KYMO_HEAP_ALLOC, 3);
    assert_string_equal(row[0].name, "load");
    assert_string_equal(row[0].module, "app");
    assert_sum(&row[0].memory->self, 2, 150);
    assert_sum(&row[0].memory->total, 2, 150);
    assert_string_equal(row[1].name, "parse");
    assert_sum(&row[1].memory->self, 1, 30);
    assert_sum(&row[1].memory->total, 2, 80);
    assert_string_equal(row[2].name, "main");
    assert_sum(&row[2].memory->self, 0, 0);
    assert_sum(&row[2].memory->total, 3, 180);
    assert_sum(&totals()->sum, 3, 180);
}

static void the_tree_is_in_the_order_to_print(void **state)
{
    (void)state;
    size_t count;
    add_plain(&h, IN_LOAD, 10, 1010, KYMO_LIVES);
    add_plain(&h, IN_PARSE_LOAD, 50, 1020, KYMO_LIVES);
    const kymo_report_row *row = rows(KYMO_HEAP_LIVE, 3);
    const kymo_report_node *node = kymo_report_nodes(report, &count);
    const char *const names[] = {"main", "parse", "load", "load"};
    const uint32_t depths[] = {0, 1, 2, 1};
    const double bytes[] = {60, 50, 50, 10};
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(row[node[i].row].name, names[i]);
        assert_int_equal(node[i].depth, depths[i]);
        assert_true(node[i].memory->total.bytes == bytes[i]);
    }
}

static void live_at_the_end_and_at_any_moment(void **state)
{
    (void)state;
    add_plain(&h, IN_LOAD, 100, 1010, 1020);
    add_plain(&h, IN_PARSE, 30, 1015, KYMO_LIVES);
    const kymo_report_row *row = rows(KYMO_HEAP_LIVE, 2);
    assert_string_equal(row[0].name, "parse");
    assert_sum(&totals()->sum, 1, 30);
    assert_sum(&totals()->allocated, 2, 130);
    const uint64_t at_ns[] = {1009, 1010, 1014, 1015, 1019, 1020, 5000};
    const double bytes[] = {0, 100, 100, 130, 130, 30, 30};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(at_ns); i++) {
        options.at_ns = at_ns[i];
        rows(KYMO_HEAP_LIVE, bytes[i] == 0 ? 0 : bytes[i] == 130 ? 3 : 2);
        assert_true(totals()->sum.bytes == bytes[i]);
    }
}

static void a_process_that_ended_has_no_blocks(void **state)
{
    (void)state;
    kymo_process gone = {.size = sizeof gone, .pid = 11, .start_ns = 1000, .end_ns = 1100};
    uint32_t process;
    ok(kymo_profile_add_process(h.p, &gone, &process));
    kymo_allocation block = block_of(&h, IN_LOAD, 100, 1010, KYMO_LIVES);
    block.thread = add_thread(h.p, process, 11, 1000);
    add_block(&h, &block);
    options.at_ns = 1099;
    rows(KYMO_HEAP_LIVE, 2);
    options.at_ns = 1100;
    rows(KYMO_HEAP_LIVE, 0);
    /* At its own end it had. */
    options.at_ns = KYMO_HEAP_END;
    rows(KYMO_HEAP_LIVE, 2);
}

/* The peak is where a replay of all changes has it, of all processes together. */
static void the_peak_is_that_of_a_replay(void **state)
{
    (void)state;
    uint64_t random = 1;
    enum { BLOCKS = 500 };
    kymo_allocation blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t from = 1000 + (random >> 33) % 900;
        uint64_t life = 1 + (random >> 45) % 50;
        int lives = (random >> 20) % 16 == 0;
        blocks[i] = block_of(&h, IN_LOAD, 1 + (random >> 40) % 1000, from,
                             lives ? KYMO_LIVES : from + life);
        blocks[i].thread = h.thread[i % 3];
        add_block(&h, &blocks[i]);
    }
    uint64_t most = 0;
    uint64_t when = 0;
    for (uint64_t t = 1000; t < 2000; t++) {
        uint64_t live = 0;
        for (int i = 0; i < BLOCKS; i++)
            live += blocks[i].time_ns <= t && t < blocks[i].end_ns ? blocks[i].bytes : 0;
        when = live > most ? t : when;
        most = live > most ? live : most;
    }
    rows(KYMO_HEAP_PEAK, 2);
    assert_int_equal(totals()->at_ns, when);
    assert_true(totals()->sum.bytes == (double)most);
}

static void what_ends_as_another_begins_is_no_peak(void **state)
{
    (void)state;
    add_plain(&h, IN_LOAD, 100, 1010, 1020);
    add_plain(&h, IN_PARSE, 101, 1020, 1030);
    rows(KYMO_HEAP_PEAK, 2);
    assert_int_equal(totals()->at_ns, 1020);
    assert_sum(&totals()->sum, 1, 101);
}

static void leaks_are_old_enough(void **state)
{
    (void)state;
    /* The recording is 1000 ns long, and its process goes on. */
    add_plain(&h, IN_LOAD, 1, 1500, KYMO_LIVES);
    add_plain(&h, IN_LOAD, 2, 1900, KYMO_LIVES);
    add_plain(&h, IN_LOAD, 4, 1901, KYMO_LIVES);
    add_plain(&h, IN_LOAD, 8, 1500, 1900);
    rows(KYMO_HEAP_LEAKS, 2);
    assert_sum(&totals()->sum, 2, 3);
    assert_sum(&totals()->young, 1, 4);
    assert_int_equal(totals()->min_age_ns, 100);
    options.min_age_ns = 500;
    rows(KYMO_HEAP_LEAKS, 2);
    assert_sum(&totals()->sum, 1, 1);
    options.min_age_ns = 0;
    rows(KYMO_HEAP_LEAKS, 2);
    assert_sum(&totals()->sum, 3, 7);
    options.min_age_ns = 5000;
    rows(KYMO_HEAP_LEAKS, 0);
    assert_sum(&totals()->young, 3, 7);
}

static void what_an_ended_process_kept_leaks_at_any_age(void **state)
{
    (void)state;
    kymo_process gone = {.size = sizeof gone, .pid = 11, .start_ns = 1000, .end_ns = 1100};
    uint32_t process;
    ok(kymo_profile_add_process(h.p, &gone, &process));
    kymo_allocation block = block_of(&h, IN_LOAD, 100, 1099, KYMO_LIVES);
    block.thread = add_thread(h.p, process, 11, 1000);
    add_block(&h, &block);
    rows(KYMO_HEAP_LEAKS, 2);
    assert_sum(&totals()->sum, 1, 100);
    options.min_age_ns = 2;
    rows(KYMO_HEAP_LEAKS, 0);
}

static void the_youngest_are_not_looked_at(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 10; i++)
        add_plain(&h, IN_LOAD, 1ull << i, 1010 + i, KYMO_LIVES);
    options.min_age_ns = 0;
    const double bytes[] = {1023, 511, 511, 255, 0};
    const uint32_t percent[] = {0, 10, 19, 20, 100};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(percent); i++) {
        options.youngest_percent = percent[i];
        rows(KYMO_HEAP_LEAKS, bytes[i] > 0 ? 2 : 0);
        assert_true(totals()->sum.bytes == bytes[i]);
    }
}

static void a_resize_asks_for_what_it_grows_by(void **state)
{
    (void)state;
    kymo_allocation first = block_of(&h, IN_LOAD, 100, 1010, 1020);
    first.was_resized = 1;
    kymo_allocation second = block_of(&h, IN_PARSE, 250, 1020, 1030);
    second.birth_ns = 1010;
    second.previous = add_block(&h, &first);
    second.was_resized = 1;
    kymo_allocation third = block_of(&h, IN_MAIN, 50, 1030, 1040);
    third.birth_ns = 1010;
    third.previous = add_block(&h, &second);
    add_block(&h, &third);
    const kymo_report_row *row = rows(KYMO_HEAP_ALLOC, 3);
    assert_string_equal(row[0].name, "parse");
    assert_sum(&row[0].memory->self, 0, 150);
    assert_sum(&totals()->sum, 1, 250);
    /* One life, from the first birth to the last end. */
    row = rows(KYMO_HEAP_LIFETIMES, 1);
    assert_sum(&totals()->sum, 1, 50);
    assert_true(row[0].lifetimes[4] == 1); /* 30 ns */
    options.at_ns = 1025;
    rows(KYMO_HEAP_LIVE, 2);
    assert_sum(&totals()->sum, 1, 250);
}

static void an_inheritance_is_neither_asked_for_nor_leaked(void **state)
{
    (void)state;
    kymo_allocation block = block_of(&h, IN_LOAD, 100, 1100, KYMO_LIVES);
    block.thread = h.thread[2];
    block.origin = KYMO_ORIGIN_FORKED;
    add_block(&h, &block);
    rows(KYMO_HEAP_ALLOC, 0);
    rows(KYMO_HEAP_LEAKS, 0);
    rows(KYMO_HEAP_LIVE, 2);
}

static void lives_are_counted_by_their_logarithm(void **state)
{
    (void)state;
    const uint64_t lives[] = {0, 1, 2, 3, 4, 127, 128};
    const uint32_t bucket[] = {0, 0, 1, 1, 2, 6, 7};
    double expected[KYMO_LIFETIME_BUCKETS] = {0};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(lives); i++) {
        kymo_allocation block = block_of(&h, IN_LOAD, 10, 1010, 1010 + lives[i]);
        block.weight = 2;
        add_block(&h, &block);
        expected[bucket[i]] += 2;
    }
    add_plain(&h, IN_LOAD, 10, 1010, KYMO_LIVES);
    const kymo_report_row *row = rows(KYMO_HEAP_LIFETIMES, 2);
    assert_memory_equal(row[0].lifetimes, expected, sizeof expected);
    assert_memory_equal(totals()->lifetimes, expected, sizeof expected);
    assert_true(row[0].memory->self.objects == 14);
    assert_null(rows(KYMO_HEAP_ALLOC, 2)[0].lifetimes);
}

static void freed_by_another_thread(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        kymo_allocation block = block_of(&h, IN_LOAD, 10, 1010, 1020);
        block.end_thread = i == 2 ? KYMO_NONE : h.thread[i];
        add_block(&h, &block);
    }
    rows(KYMO_HEAP_LIFETIMES, 2);
    assert_sum(&totals()->elsewhere, 1, 10);
}

static void temporary_is_freed_before_its_thread_goes_on(void **state)
{
    (void)state;
    const uint32_t distances[] = {0, 1, 7, 8, UINT32_MAX};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(distances); i++) {
        kymo_allocation block = block_of(&h, IN_LOAD, 10, 1010, 1020);
        block.distance = distances[i];
        add_block(&h, &block);
    }
    const uint32_t within[] = {0, 1, 2, 8, 9};
    const double objects[] = {1, 1, 2, 3, 4};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(within); i++) {
        options.within = within[i];
        rows(KYMO_HEAP_TEMPORARY, 2);
        assert_true(totals()->sum.objects == objects[i]);
    }
}

static void by_size_thread_and_process(void **state)
{
    (void)state;
    const uint64_t bytes[] = {0, 1, 1023, 1024, 2047, 2048};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(bytes); i++) {
        kymo_allocation block = block_of(&h, IN_LOAD, bytes[i], 1010, KYMO_LIVES);
        block.thread = h.thread[i % 3];
        add_block(&h, &block);
    }
    options.by = KYMO_BY_SIZE;
    const kymo_report_row *row = rows(KYMO_HEAP_ALLOC, 5);
    assert_string_equal(row[0].name, "0 bytes");
    assert_string_equal(row[3].name, "1.0 KiB to 2.0 KiB");
    assert_sum(&row[3].memory->self, 2, 3071);
    options.by = KYMO_BY_THREAD;
    row = rows(KYMO_HEAP_ALLOC, 3);
    assert_string_equal(row[0].name, "thread 9 (9)");
    assert_sum(&row[0].memory->self, 2, 3071);
    assert_string_equal(row[1].name, "thread 8 (8)");
    assert_sum(&row[1].memory->self, 2, 2048);
    options.by = KYMO_BY_PROCESS;
    row = rows(KYMO_HEAP_ALLOC, 2);
    assert_string_equal(row[0].name, "pid 7");
    assert_sum(&row[0].memory->self, 4, 3072);
    assert_sum(&row[1].memory->self, 2, 3071);
}

static void samples_have_intervals(void **state)
{
    (void)state;
    /* 400 samples of 1 KiB at a rate of 512 KiB. */
    for (int i = 0; i < 400; i++) {
        kymo_allocation block = block_of(&h, i % 2 ? IN_LOAD : IN_PARSE, 1024, 1010, KYMO_LIVES);
        block.weight = 512.5;
        add_block(&h, &block);
    }
    const kymo_report_row *row = rows(KYMO_HEAP_LIVE, 3);
    const kymo_heap_sum *sum = &totals()->sum;
    assert_true(sum->bytes == 400 * 512.5 * 1024);
    assert_int_equal(sum->samples, 400);
    /* A twentieth, as of 400 things that are counted: 1.96 times that each way. */
    assert_in_range((uint64_t)(1000 * sum->bytes_low / sum->bytes), 895, 912);
    assert_in_range((uint64_t)(1000 * sum->bytes_high / sum->bytes), 1095, 1110);
    /* Of the parts, wider ones; of main, which has them all, the same. */
    assert_true(row[0].memory->self.bytes_low / row[0].memory->self.bytes <
                sum->bytes_low / sum->bytes);
    assert_string_equal(row[2].name, "main");
    assert_true(row[2].memory->total.bytes_low == sum->bytes_low);
    assert_true(row[2].memory->total.objects_high == sum->objects_high);
}

static void a_resized_sample_varies_as_its_last_size(void **state)
{
    (void)state;
    kymo_allocation first = block_of(&h, IN_LOAD, 100, 1010, 1020);
    first.was_resized = 1;
    first.weight = 9;
    kymo_allocation second = block_of(&h, IN_LOAD, 300, 1020, KYMO_LIVES);
    second.previous = add_block(&h, &first);
    second.weight = 4;
    add_block(&h, &second);
    rows(KYMO_HEAP_ALLOC, 2);
    /* Both count as the block did when last seen. */
    assert_true(totals()->sum.objects == 4);
    assert_true(totals()->sum.bytes == 1200);
    assert_true(totals()->sum.bytes_variance == 4.0 * 3 * 300 * 300);
}

static void mappings_without_the_allocators(void **state)
{
    (void)state;
    kymo_mapping m = {.time_ns = 1010,
                      .end_ns = KYMO_LIVES,
                      .address = 0x100000,
                      .bytes = 8192,
                      .thread = h.thread[0],
                      .stack = h.stack[IN_LOAD]};
    ok(kymo_profile_add_mapping(h.p, h.process[0], &m));
    m.how = 1;
    m.address += 8192;
    ok(kymo_profile_add_mapping(h.p, h.process[0], &m));
    m.how = 2;
    m.address += 8192;
    m.end_ns = 1020;
    ok(kymo_profile_add_mapping(h.p, h.process[0], &m));
    add_plain(&h, IN_PARSE, 30, 1015, KYMO_LIVES);
    rows(KYMO_HEAP_MAPPED, 2);
    assert_sum(&totals()->sum, 1, 8192);
    options.at_ns = 1019;
    rows(KYMO_HEAP_MAPPED, 2);
    assert_sum(&totals()->sum, 2, 16384);
    assert_sum(&totals()->allocated, 1, 30);
}

static void what_is_known_of_the_recording(void **state)
{
    (void)state;
    kymo_heap heap = {.size = sizeof heap,
                      .process = h.process[0],
                      .rate = 4096,
                      .lost = 3,
                      .lost_frees = 2,
                      .is_partial = 1};
    ok(kymo_profile_set_heap(h.p, &heap));
    rows(KYMO_HEAP_LEAKS, 0);
    assert_int_equal(totals()->recorded, 1);
    assert_int_equal(totals()->rate, 4096);
    assert_int_equal(totals()->lost, 3);
    assert_int_equal(totals()->lost_frees, 2);
    assert_int_equal(totals()->is_partial, 1);
}

static void what_cannot_be_asked(void **state)
{
    (void)state;
    const kymo_heap_report_options good = options;
    assert_int_equal(kymo_heap_report_create(h.p, &good, &report), KYMO_E_INVALID);
    ok(kymo_profile_finish(h.p));
    options.view = KYMO_HEAP_VIEW_COUNT;
    assert_int_equal(kymo_heap_report_create(h.p, &options, &report), KYMO_E_INVALID);
    options = good;
    options.by = KYMO_BY_COUNT;
    assert_int_equal(kymo_heap_report_create(h.p, &options, &report), KYMO_E_INVALID);
    options = good;
    options.youngest_percent = 101;
    assert_int_equal(kymo_heap_report_create(h.p, &options, &report), KYMO_E_INVALID);
    options = good;
    options.size = 4;
    assert_int_equal(kymo_heap_report_create(h.p, &options, &report), KYMO_E_INVALID);
    ok(kymo_heap_report_create(h.p, NULL, &report));
}

/* main calls load, which calls operator new, which calls malloc; and malloc alone. */
static void allocators_are_their_callers(void **state)
{
    (void)state;
    uint32_t module = add_module(h.p, h.process[0], "/bin/libstdc++", "id2");
    uint32_t new_frame = add_named_frame(h.p, module, 0x100, "operator new(unsigned long)");
    uint32_t malloc_frame = add_named_frame(h.p, module, 0x200, "malloc");
    uint32_t in_new = add_stack(h.p, h.stack[IN_LOAD], new_frame);
    uint32_t in_malloc = add_stack(h.p, in_new, malloc_frame);
    kymo_allocation block = block_of(&h, IN_LOAD, 100, 1010, KYMO_LIVES);
    block.stack = in_malloc;
    add_block(&h, &block);
    block.address++;
    block.stack = add_stack(h.p, KYMO_NONE, malloc_frame);
    add_block(&h, &block);
    const kymo_report_row *r = rows(KYMO_HEAP_LIVE, 3);
    assert_string_equal(r[0].name, "load");
    assert_sum(&r[0].memory->self, 1, 100);
    assert_string_equal(r[1].name, "malloc"); /* it has no caller */
    assert_string_equal(r[2].name, "main");
    assert_sum(&r[2].memory->total, 1, 100);
    options.all_frames = 1;
    r = rows(KYMO_HEAP_LIVE, 4);
    assert_string_equal(r[0].name, "malloc");
    assert_sum(&r[0].memory->self, 2, 200);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(nothing_was_recorded),
        T(allocators_are_their_callers),
        T(what_was_asked_for),
        T(the_tree_is_in_the_order_to_print),
        T(live_at_the_end_and_at_any_moment),
        T(a_process_that_ended_has_no_blocks),
        T(the_peak_is_that_of_a_replay),
        T(what_ends_as_another_begins_is_no_peak),
        T(leaks_are_old_enough),
        T(what_an_ended_process_kept_leaks_at_any_age),
        T(the_youngest_are_not_looked_at),
        T(a_resize_asks_for_what_it_grows_by),
        T(an_inheritance_is_neither_asked_for_nor_leaked),
        T(lives_are_counted_by_their_logarithm),
        T(freed_by_another_thread),
        T(temporary_is_freed_before_its_thread_goes_on),
        T(by_size_thread_and_process),
        T(samples_have_intervals),
        T(a_resized_sample_varies_as_its_last_size),
        T(mappings_without_the_allocators),
        T(what_is_known_of_the_recording),
        T(what_cannot_be_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
