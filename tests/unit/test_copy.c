/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of everything encodes to the same bytes as the original. Some formats write more than rows
 * need: Firefox and JFR files have the numbers of strings, pprof files all functions. A copy has
 * what is needed only, so of these a copy of the copy must be the same file as the copy. And the
 * Firefox files of both, read again, must become the same files of other formats.
 */
#include "select/copy.h"

#include <glob.h>
#include <stdlib.h>

#include "fixed_profile.h"
#include "kymo/encode.h"
#include "kymo/import.h"
#include "kymo/recording.h"
#include "profile_fixture.h"
#include "select/copy_state.h"

static const kymo_keep all = KYMO_KEEP_ALL;

static int is_needed_alone(const kymo_format *format, const kymo_profile *a, const kymo_profile *b)
{
    if (strcmp(format->name, "pprof") == 0)
        return kymo_profile_count(a, KYMO_TABLE_FUNCTIONS) ==
               kymo_profile_count(b, KYMO_TABLE_FUNCTIONS);
    return strcmp(format->name, "firefox") != 0 && strcmp(format->name, "jfr") != 0;
}

static void assert_encodes_alike(const kymo_profile *a, const kymo_profile *b, uint32_t show,
                                 int is_of_copies)
{
    const kymo_encode_options options = {
        .size = sizeof options, .show = show, .flags = KYMO_ENCODE_ALL_COUNTERS};
    const kymo_format *format;
    for (size_t i = 0; (format = kymo_format_at(i)); i++) {
        void *of_a, *of_b;
        size_t len_a, len_b;
        kymo_err err = kymo_encode_memory(a, format, &options, &of_a, &len_a, NULL);
        assert_int_equal(kymo_encode_memory(b, format, &options, &of_b, &len_b, NULL), err);
        if (err != KYMO_OK)
            continue;
        int is_alike = is_of_copies || is_needed_alone(format, a, b);
        if (is_alike && (len_a != len_b || (len_a > 0 && memcmp(of_a, of_b, len_a) != 0)))
            fail_msg("%s, show %u: the copy is another file", format->extension, show);
        free(of_a);
        free(of_b);
    }
}

/* Names and types of what is read from a Firefox file, without its numbers. */
static kymo_profile *read_again(const kymo_profile *profile)
{
    const kymo_encode_options options = {.size = sizeof options, .flags = KYMO_ENCODE_NO_SOURCE};
    kymo_profile *again = NULL;
    void *data;
    size_t len;
    ok(kymo_encode_memory(profile, kymo_format_for_path("x.json"), &options, &data, &len, NULL));
    ok(kymo_import_memory(data, len, &again, NULL));
    free(data);
    return again;
}

static void assert_firefox_reads_alike(const kymo_profile *a, const kymo_profile *b)
{
    static const char *const formats[] = {"x.folded", "x.pb.gz", "x.svg"};
    kymo_profile *profiles[2] = {read_again(a), read_again(b)};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(formats); i++) {
        void *data[2];
        size_t len[2];
        for (int k = 0; k < 2; k++)
            ok(kymo_encode_memory(profiles[k], kymo_format_for_path(formats[i]), NULL, &data[k],
                                  &len[k], NULL));
        assert_int_equal(len[0], len[1]);
        assert_memory_equal(data[0], data[1], len[0]);
        free(data[0]);
        free(data[1]);
    }
    kymo_profile_destroy(profiles[0]);
    kymo_profile_destroy(profiles[1]);
}

static void assert_same_tables(const kymo_profile *a, const kymo_profile *b)
{
    static const kymo_table tables[] = {
        KYMO_TABLE_PROCESSES, KYMO_TABLE_THREADS,     KYMO_TABLE_MODULES,  KYMO_TABLE_FRAMES,
        KYMO_TABLE_STACKS,    KYMO_TABLE_MARKERS,     KYMO_TABLE_COUNTERS, KYMO_TABLE_VALUES,
        KYMO_TABLE_MAPPINGS,  KYMO_TABLE_ALLOCATIONS,
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(tables); i++)
        if (kymo_profile_count(b, tables[i]) > kymo_profile_count(a, tables[i]))
            fail_msg("table %d grew", (int)tables[i]);
    assert_int_equal(kymo_profile_sample_count(a), kymo_profile_sample_count(b));
    assert_int_equal(kymo_profile_count(a, KYMO_TABLE_ALLOCATIONS),
                     kymo_profile_count(b, KYMO_TABLE_ALLOCATIONS));
    assert_int_equal(kymo_profile_count(a, KYMO_TABLE_MARKERS),
                     kymo_profile_count(b, KYMO_TABLE_MARKERS));
}

static void assert_copies(const kymo_profile *profile)
{
    kymo_profile *copy = NULL;
    kymo_profile *again = NULL;
    ok(kymo_profile_copy(profile, &all, NULL, &copy));
    ok(kymo_profile_copy(copy, &all, NULL, &again));
    assert_same_tables(profile, copy);
    assert_firefox_reads_alike(profile, copy);
    for (uint32_t show = 0; show < KYMO_ENCODE_GROWTH; show++) {
        assert_encodes_alike(profile, copy, show, 0);
        assert_encodes_alike(copy, again, show, 1);
    }
    kymo_profile_destroy(again);
    kymo_profile_destroy(copy);
}

static void a_copy_of_the_fixed_profile_encodes_to_the_same_bytes(void **state)
{
    (void)state;
    kymo_profile *profile = fixed_profile();
    assert_non_null(profile);
    assert_copies(profile);
    kymo_profile_destroy(profile);
}

static void a_copy_of_each_golden_recording_encodes_to_the_same_bytes(void **state)
{
    (void)state;
    glob_t files;
    size_t loaded = 0;
    assert_int_equal(glob(KYMO_TEST_SOURCE "/tests/golden/kymo/*.kymo", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        kymo_profile *profile = NULL;
        kymo_recording_info info = {.size = sizeof info};
        if (kymo_recording_load(files.gl_pathv[i], &profile, &info, NULL) != KYMO_OK)
            continue;
        loaded++;
        assert_copies(profile);
        kymo_recording_info_deinit(&info);
        kymo_profile_destroy(profile);
    }
    globfree(&files);
    assert_true(loaded >= 10);
}

static void add_lost_marker(kymo_profile *p, uint32_t thread, const char *name)
{
    kymo_marker marker = {.thread = thread,
                          .name = add_string(p, name),
                          .category = KYMO_NONE,
                          .schema = KYMO_NONE,
                          .stack = KYMO_NONE,
                          .labels = KYMO_NONE};
    const kymo_marker_losses losses = {.size = sizeof losses,
                                       .name = marker.name,
                                       .category = KYMO_NONE,
                                       .schema = KYMO_NONE,
                                       .lost = 1};
    ok(kymo_profile_add_marker(p, &marker, NULL));
    ok(kymo_profile_add_marker_losses(p, &losses));
}

/* Losses say of no thread whose they are. */
static void losses_go_with_the_markers_of_their_name(void **state)
{
    (void)state;
    static const uint8_t keep_first[] = {1, 0}, keep_both[] = {1, 1};
    static const kymo_keep part = {.to_ns = UINT64_MAX, .process = keep_both, .thread = keep_first};
    kymo_profile *profile = new_profile();
    kymo_profile *copy = NULL;
    uint32_t process = add_process(profile, 1, 0);
    add_lost_marker(profile, add_thread(profile, process, 1, 0), "stays");
    add_lost_marker(profile, add_thread(profile, process, 2, 0), "goes");
    ok(kymo_profile_finish(profile));
    ok(kymo_profile_copy(profile, &part, NULL, &copy));
    assert_int_equal(kymo_profile_count(copy, KYMO_TABLE_MARKER_LOSSES), 1);
    assert_int_equal(kymo_profile_find_string(copy, "goes", 4), KYMO_NONE);
    kymo_profile_destroy(copy);
    ok(kymo_profile_copy(profile, &all, NULL, &copy));
    assert_int_equal(kymo_profile_count(copy, KYMO_TABLE_MARKER_LOSSES), 2);
    kymo_profile_destroy(copy);
    kymo_profile_destroy(profile);
}

/* Two processes with a function each. */
static void what_is_left_out_leaves_no_text(void **state)
{
    (void)state;
    kymo_profile *profile = new_profile();
    kymo_profile *copy = NULL;
    static const char *const names[] = {"stays", "goes"};
    const uint8_t keep_first[] = {1, 0};
    const kymo_keep keep = {.to_ns = UINT64_MAX, .process = keep_first, .thread = keep_first};
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t process = add_process(profile, (int32_t)i + 1, 0);
        uint32_t thread = add_thread(profile, process, (int32_t)i + 1, 0);
        uint32_t module = add_module(profile, process, i ? "/lib/goes.so" : "/lib/stays.so", "");
        uint32_t frame = add_frame(profile, module, 0x1000);
        kymo_line line = {.function = add_function(profile, names[i], module)};
        ok(kymo_profile_frame_set_lines(profile, frame, &line, 1, KYMO_NONE, 1));
        ok(kymo_profile_add_sample(profile, thread, 5, add_stack(profile, KYMO_NONE, frame), 7,
                                   KYMO_SAMPLE_CPU, KYMO_STATE_RUNNING));
    }
    ok(kymo_profile_finish(profile));
    ok(kymo_profile_copy(profile, &keep, NULL, &copy));
    assert_int_equal(kymo_profile_find_string(copy, "goes", 4), KYMO_NONE);
    assert_int_equal(kymo_profile_find_string(copy, "/lib/goes.so", 12), KYMO_NONE);
    assert_int_not_equal(kymo_profile_find_string(copy, "stays", 5), KYMO_NONE);
    assert_int_equal(kymo_profile_count(copy, KYMO_TABLE_STACKS), 1);
    kymo_profile_destroy(copy);
    kymo_profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_of_the_fixed_profile_encodes_to_the_same_bytes),
        cmocka_unit_test(a_copy_of_each_golden_recording_encodes_to_the_same_bytes),
        cmocka_unit_test(what_is_left_out_leaves_no_text),
        cmocka_unit_test(losses_go_with_the_markers_of_their_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
