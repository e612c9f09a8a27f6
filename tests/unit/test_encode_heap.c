/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of the heap in each format: what lives at the end, at a time, at the peak, what leaked,
 * what was allocated; rows of the Firefox table that begin and end in order; very many of them.
 */
#include "encode/encoder_heap.h"
#include "encode/firefox/firefox_heap.h"
#include "profile_fixture.h"

#include <stdlib.h>

#define MS 1000000ull

static kymo_profile *profile;
static uint32_t process;
static uint32_t thread;
static uint32_t f;
static uint32_t g;

static uint32_t add_named(const char *name)
{
    uint32_t frame;
    ok(kymo_profile_add_label_frame(profile, add_function(profile, name, KYMO_NONE),
                                    KYMO_CATEGORY_PROGRAM, &frame));
    return add_stack(profile, KYMO_NONE, frame);
}

static uint32_t add_block(uint64_t time_ns, uint64_t end_ns, uint64_t bytes, double weight,
                          uint32_t stack, uint32_t previous)
{
    uint32_t row;
    kymo_allocation a = {.time_ns = time_ns,
                         .end_ns = end_ns,
                         .birth_ns = time_ns,
                         .address = time_ns,
                         .bytes = bytes,
                         .weight = weight,
                         .thread = thread,
                         .end_thread = end_ns == KYMO_LIVES ? KYMO_NONE : thread,
                         .distance = UINT32_MAX,
                         .stack = stack,
                         .labels = KYMO_NONE,
                         .previous = previous};
    ok(kymo_profile_add_allocation(profile, process, &a, &row));
    return row;
}

static void begin(void)
{
    profile = new_profile();
    ok(kymo_profile_set_meta(profile, &(kymo_meta){.size = sizeof(kymo_meta), .end_ns = 100 * MS}));
    process = add_process(profile, 1, 1);
    thread = add_thread(profile, process, 1, 1);
    f = add_named("f");
    g = add_named("g");
}

static int setup(void **state)
{
    (void)state;
    begin();
    add_block(10 * MS, KYMO_LIVES, 100, 10, f, KYMO_NONE);
    add_block(20 * MS, 40 * MS, 1000, 2.5, g, KYMO_NONE); /* the peak is while it lives */
    add_block(95 * MS, KYMO_LIVES, 70, 1, g, KYMO_NONE);  /* young */
    /* Of 60 bytes, then of 90: 30 more. */
    add_block(25 * MS, KYMO_LIVES, 90, 2, g, add_block(22 * MS, 25 * MS, 60, 3, f, KYMO_NONE));
    ok(kymo_profile_finish(profile));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kymo_profile_destroy(profile);
    return 0;
}

static void encode_as(const char *name, const kymo_encode_options *options, kymo_bytes *out)
{
    kymo_bytes_init(out, 1 << 30);
    ok(kymo_encode(profile, kymo_format_for_path(name), &out->sink, options, NULL));
    ok(kymo_bytes_append(out, "", 1));
}

static void assert_lines(kymo_encode_options options, const char *lines)
{
    kymo_bytes out;
    options.size = sizeof options;
    encode_as("x.folded", &options, &out);
    assert_string_equal((const char *)out.data, lines);
    kymo_bytes_deinit(&out);
}

static void collapsed_shows_what_is_asked_for(void **state)
{
    (void)state;
#define LINES(in_f, in_g) "pid 1;thread 1;f " in_f "\npid 1;thread 1;g " in_g "\n"
    /* Without samples of time, what lives at the end. */
    assert_lines((kymo_encode_options){0}, LINES("1000", "250"));
    assert_lines((kymo_encode_options){.show = KYMO_ENCODE_LIVE}, LINES("1000", "250"));
    assert_lines((kymo_encode_options){.show = KYMO_ENCODE_LIVE, .at_ns = 22 * MS},
                 LINES("1120", "2500"));
    assert_lines((kymo_encode_options){.show = KYMO_ENCODE_LIVE, .at_ns = 40 * MS},
                 LINES("1000", "180"));
    /* At 22 ms, with the weight that the block had last. */
    assert_lines((kymo_encode_options){.show = KYMO_ENCODE_PEAK}, LINES("1120", "2500"));
    assert_lines((kymo_encode_options){.show = KYMO_ENCODE_LEAKS}, LINES("1000", "180"));
    assert_lines((kymo_encode_options){.show = KYMO_ENCODE_LEAKS, .min_age_ns = 76 * MS},
                 "pid 1;thread 1;f 1000\n");
    /* By the last weight of a block: 1000 + 60 * 2; 2500 + 70 + 30 * 2. */
    assert_lines((kymo_encode_options){.show = KYMO_ENCODE_ALLOC}, LINES("1120", "2630"));
    assert_lines((kymo_encode_options){.show = KYMO_ENCODE_TIME}, "");
#undef LINES
}

/* As a library that was loaded twice, or one of two processes. */
static void collapsed_lines_are_distinct_by_what_they_show(void **state)
{
    (void)state;
    kymo_profile_destroy(profile);
    begin();
    for (int i = 0; i < 2; i++) {
        uint32_t module = add_module(profile, process, "/lib/plugin.so", i ? "new" : "old");
        uint32_t stack = add_stack(profile, KYMO_NONE, add_frame(profile, module, 0x123));
        add_block(10 * MS, KYMO_LIVES, 100, 1, stack, KYMO_NONE);
    }
    ok(kymo_profile_finish(profile));
    assert_lines((kymo_encode_options){.show = KYMO_ENCODE_LIVE},
                 "pid 1;thread 1;plugin.so+0x123 200\n");
}

static void assert_has(const kymo_bytes *text, const char *part)
{
    if (!strstr((const char *)text->data, part))
        fail_msg("no %s in %s", part, (const char *)text->data);
}

static void firefox_has_each_beginning_and_end(void **state)
{
    (void)state;
    kymo_bytes out;
    encode_as("x.json", NULL, &out);
    assert_has(&out, "\"nativeAllocations\":{\"time\":[10,20,22,25,25,40,95],"
                     "\"weight\":[1000,2500,180,-180,180,-2500,70],\"weightType\":\"bytes\","
                     "\"stack\":[0,1,0,0,1,1,1],");
    assert_has(&out, "\"memoryAddress\":[10000000,20000000,22000000,22000000,25000000,20000000,"
                     "95000000],\"threadId\":[1,1,1,1,1,1,1],\"length\":7}");
    assert_has(&out, "\"name\":\"Heap\",\"category\":\"Memory\"");
    assert_has(&out, "\"samples\":{\"time\":[0.000001,10,20,22,25,40,95,100],"
                     "\"count\":[0,1000,2500,180,0,-2500,70,0],\"number\":[0,10,3,3,5,2,1,0],");
    kymo_bytes_deinit(&out);
}

static void what_is_not_known_is_refused(void **state)
{
    (void)state;
    kymo_bytes out;
    kymo_encode_options options = {.size = sizeof options, .show = KYMO_ENCODE_COUNT};
    kymo_bytes_init(&out, 1 << 20);
    assert_int_equal(
        kymo_encode(profile, kymo_format_for_path("x.folded"), &out.sink, &options, NULL),
        KYMO_E_INVALID);
    kymo_bytes_deinit(&out);
}

static void rounding_keeps_sums(void **state)
{
    (void)state;
    double sum = 0;
    uint64_t rounded = 0;
    for (int i = 0; i < 1001; i++)
        rounded += (uint64_t)kymo_round_next(&sum, 0.3);
    assert_int_equal(rounded, 300);
}

/* Small blocks by chance, large ones as they are; the sum stays near what it is. */
static void very_many_blocks_are_drawn_once_more(void **state)
{
    enum { BLOCKS = 1200000, LARGE_EACH = 1000 };
    (void)state;
    begin();
    for (uint32_t i = 0; i < BLOCKS; i++)
        add_block(1000 + i, KYMO_LIVES, i % LARGE_EACH == 0 ? 1 << 20 : 16 + i % 64, 1, f,
                  KYMO_NONE);
    ok(kymo_profile_finish(profile));
    assert_int_equal(kymo_firefox_thinned(profile, process), 128);
    kymo_bytes out;
    encode_as("x.json", NULL, &out);
    const char *at = strstr((const char *)out.data, "\"nativeAllocations\"");
    assert_non_null(at);
    at = strstr(at, "\"weight\":[");
    assert_non_null(at);
    uint64_t rows = 0;
    uint64_t large = 0;
    double small_bytes = 0;
    for (at += strlen("\"weight\":"); *at != ']'; rows++) {
        char *end;
        unsigned long long bytes = strtoull(at + 1, &end, 10);
        large += bytes == 1 << 20;
        small_bytes += bytes == 1 << 20 ? 0 : (double)bytes;
        assert_true(bytes == 1 << 20 || bytes == 128);
        at = end;
    }
    assert_in_range(rows, 300000, 500000);
    assert_int_equal(large, BLOCKS / LARGE_EACH);
    double truth = (BLOCKS - BLOCKS / LARGE_EACH) * 47.5;
    assert_true(small_bytes > truth * 0.99 && small_bytes < truth * 1.01);
    kymo_bytes_deinit(&out);
    kymo_profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(collapsed_shows_what_is_asked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(collapsed_lines_are_distinct_by_what_they_show, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(firefox_has_each_beginning_and_end, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_known_is_refused, setup, teardown),
        cmocka_unit_test(rounding_keeps_sums),
        cmocka_unit_test(very_many_blocks_are_drawn_once_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
