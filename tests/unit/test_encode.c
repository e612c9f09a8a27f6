/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/encoder.h"
#include "fixed_profile.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A format of traced calls alone, which test_encode_pstats.c is about. */
static int is_of_calls(size_t i)
{
    return strcmp(kymo_format_at(i)->name, "pstats") == 0;
}

static void formats_by_extension(void **state)
{
    (void)state;
    assert_string_equal(kymo_format_for_path("a/b.json")->extension, ".json");
    assert_string_equal(kymo_format_for_path("b.json.gz")->extension, ".json.gz");
    assert_string_equal(kymo_format_for_path("b.trace.json.gz")->name, "chrome");
    assert_string_equal(kymo_format_for_path("b.pb.gz")->name, "pprof");
    assert_string_equal(kymo_format_for_path("b.folded")->name, "collapsed");
    assert_null(kymo_format_for_path("b.gz"));
    assert_null(kymo_format_for_path("json"));
    size_t n = 0;
    while (kymo_format_at(n))
        n++;
    assert_int_equal(n, 11);
}

static void unknown_extensions_are_told(void **state)
{
    (void)state;
    kymo_profile *p = fixed_profile();
    kymo_error detail;
    assert_int_equal(kymo_encode_file(p, "/tmp/kymo-no-such-folder/out.png2", NULL, &detail),
                     KYMO_E_UNSUPPORTED);
    assert_string_equal(
        detail.message,
        "/tmp/kymo-no-such-folder/out.png2: the name must end in .json.gz, .json, .pb.gz, "
        ".otlp.gz, .otlp, .folded, .jfr, .pstats, .svg, .trace.json.gz or .trace.json");
    assert_int_equal(access("/tmp/kymo-no-such-folder/out.png2", F_OK), -1);
    kymo_profile_destroy(p);
}

static void an_unfinished_profile_is_refused(void **state)
{
    (void)state;
    kymo_profile *p;
    kymo_bytes out;
    kymo_error detail;
    kymo_bytes_init(&out, 1 << 20);
    assert_int_equal(kymo_profile_create(&p), KYMO_OK);
    assert_int_equal(kymo_encode(p, kymo_format_at(0), &out.sink, NULL, &detail), KYMO_E_INVALID);
    assert_string_equal(detail.message, "the profile is not finished");
    kymo_format mine = {"firefox", ".json", ""};
    assert_int_equal(kymo_profile_finish(p), KYMO_OK);
    assert_int_equal(kymo_encode(p, &mine, &out.sink, NULL, &detail), KYMO_E_INVALID);
    assert_int_equal(out.len, 0);
    kymo_profile_destroy(p);
    kymo_bytes_deinit(&out);
}

static void to_memory_and_to_a_descriptor(void **state)
{
    (void)state;
    kymo_profile *p = fixed_profile();
    kymo_error detail;
    void *data = NULL;
    size_t len = 0;
    char file[] = "/tmp/kymo-test-XXXXXX";
    int fd = mkstemp(file);
    unlink(file);
    const kymo_format *format = kymo_format_for_path(".pb.gz");
    assert_int_equal(kymo_encode_memory(p, format, NULL, &data, &len, &detail), KYMO_OK);
    assert_int_equal(kymo_encode_fd(p, format, fd, NULL, &detail), KYMO_OK);
    char *written = malloc(len + 1);
    assert_int_equal(pread(fd, written, len + 1, 0), len);
    assert_memory_equal(written, data, len);
    free(written);
    free(data);
    close(fd);
    assert_int_equal(kymo_encode_fd(p, format, fd, NULL, &detail), KYMO_E_SYSTEM);
    assert_string_equal(detail.message, "cannot write the profile: Bad file descriptor");
    data = NULL;
    assert_int_equal(kymo_encode_memory(p, NULL, NULL, &data, &len, &detail), KYMO_E_INVALID);
    assert_null(data);
    kymo_profile_destroy(p);
}

/* A sink that fails after so many bytes: each format must end with its error, whenever it comes. */
static void errors_of_the_sink_come_through(void **state)
{
    (void)state;
    kymo_profile *p = fixed_profile();
    for (size_t i = 0; kymo_format_at(i); i++) {
        if (is_of_calls(i))
            continue;
        kymo_bytes out;
        kymo_error detail;
        kymo_bytes_init(&out, 1 << 20);
        assert_int_equal(kymo_encode(p, kymo_format_at(i), &out.sink, NULL, &detail), KYMO_OK);
        size_t len = out.len;
        for (size_t limit = 0; limit < len; limit += 97) {
            kymo_bytes_clear(&out);
            out.limit = limit;
            assert_int_equal(kymo_encode(p, kymo_format_at(i), &out.sink, NULL, &detail),
                             KYMO_E_TOO_BIG);
            assert_int_equal(detail.code, KYMO_E_TOO_BIG);
        }
        kymo_bytes_deinit(&out);
    }
    kymo_profile_destroy(p);
}

struct progress {
    uint64_t bytes;
    double fraction;
    unsigned calls;
    unsigned stop_after;
};

static int on_progress(void *data, uint64_t bytes, double fraction)
{
    struct progress *seen = data;
    assert_true(bytes >= seen->bytes);
    assert_true(fraction >= seen->fraction && fraction <= 1);
    seen->bytes = bytes;
    seen->fraction = fraction;
    return ++seen->calls == seen->stop_after;
}

static void progress_ends_at_one(void **state)
{
    (void)state;
    kymo_profile *p = fixed_profile();
    for (size_t i = 0; kymo_format_at(i); i++) {
        if (is_of_calls(i))
            continue;
        struct progress seen = {0};
        kymo_encode_options options = {
            .size = sizeof options, .progress = on_progress, .progress_data = &seen};
        kymo_bytes out;
        kymo_error detail;
        kymo_bytes_init(&out, 1 << 20);
        assert_int_equal(kymo_encode(p, kymo_format_at(i), &out.sink, &options, &detail), KYMO_OK);
        assert_true(seen.calls > 1);
        assert_true(seen.fraction >= 1);
        assert_int_equal(seen.bytes, out.len);
        seen = (struct progress){.stop_after = 2};
        kymo_bytes_clear(&out);
        assert_int_equal(kymo_encode(p, kymo_format_at(i), &out.sink, &options, &detail),
                         KYMO_E_INTERRUPTED);
        assert_int_equal(seen.calls, 2);
        options.size = 4;
        assert_int_equal(kymo_encode(p, kymo_format_at(i), &out.sink, &options, &detail),
                         KYMO_E_INVALID);
        kymo_bytes_deinit(&out);
    }
    kymo_profile_destroy(p);
}

static void a_file_is_there_or_not(void **state)
{
    (void)state;
    char folder[] = "/tmp/kymo-encode-XXXXXX";
    char path[64];
    kymo_error detail;
    kymo_profile *p = fixed_profile();
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.folded", folder);
    assert_int_equal(kymo_encode_file(p, path, NULL, &detail), KYMO_OK);
    assert_int_equal(kymo_encode_file(p, path, NULL, &detail), KYMO_E_EXISTS);
    struct progress seen = {.stop_after = 1};
    kymo_encode_options options = {
        .size = sizeof options, .replace = 1, .progress = on_progress, .progress_data = &seen};
    assert_int_equal(kymo_encode_file(p, path, &options, &detail), KYMO_E_INTERRUPTED);
    assert_int_equal(access(path, R_OK), 0); /* the old one */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); /* no temporary file was left */
    kymo_profile_destroy(p);
}

/* Where meta knows no end, the last marker or count is it; where it does, they do not move it. */
static void the_range_ends_with_what_is_known(void **state)
{
    (void)state;
    uint64_t start;
    uint64_t end;
    uint32_t id;
    kymo_profile *p = NULL;
    kymo_meta meta = {.size = sizeof meta, .origin_monotonic_ns = 100};
    kymo_process process = {.size = sizeof process, .pid = 7};
    kymo_thread thread = {.size = sizeof thread, .tid = 7};
    kymo_marker m = {.start_ns = 200,
                     .end_ns = 700,
                     .category = KYMO_NONE,
                     .schema = KYMO_NONE,
                     .stack = KYMO_NONE,
                     .labels = KYMO_NONE,
                     .phase = KYMO_MARKER_INTERVAL};
    kymo_counter counter = {.size = sizeof counter, .category = KYMO_NONE};
    assert_int_equal(kymo_profile_create(&p), KYMO_OK);
    assert_int_equal(kymo_profile_set_meta(p, &meta), KYMO_OK);
    assert_int_equal(kymo_profile_add_process(p, &process, &id), KYMO_OK);
    assert_int_equal(kymo_profile_add_thread(p, &thread, &id), KYMO_OK);
    assert_int_equal(kymo_profile_add_marker(p, &m, NULL), KYMO_OK);
    assert_int_equal(kymo_profile_finish(p), KYMO_OK);
    kymo_encoder_range(p, &start, &end);
    assert_int_equal(start, 0);
    assert_int_equal(end, 600);
    assert_int_equal(kymo_profile_add_counter(p, &counter, &id), KYMO_OK);
    assert_int_equal(kymo_profile_add_count(p, id, 900, 1, 1), KYMO_OK);
    assert_int_equal(kymo_profile_finish(p), KYMO_OK);
    kymo_encoder_range(p, &start, &end);
    assert_int_equal(end, 800);
    meta.end_ns = 400;
    assert_int_equal(kymo_profile_set_meta(p, &meta), KYMO_OK);
    kymo_encoder_range(p, &start, &end);
    assert_int_equal(end, 300);
    kymo_profile_destroy(p);
}

/* Types without fields, and so no field of any type: there is nothing to point into. */
static void types_need_no_fields(void **state)
{
    (void)state;
    uint32_t id;
    kymo_bytes out;
    kymo_profile *p = NULL;
    kymo_process process = {.size = sizeof process, .pid = 7};
    kymo_thread thread = {.size = sizeof thread, .tid = 7};
    kymo_schema schema = {.size = sizeof schema};
    kymo_marker m = {.category = KYMO_NONE, .stack = KYMO_NONE, .labels = KYMO_NONE};
    assert_int_equal(kymo_profile_create(&p), KYMO_OK);
    assert_int_equal(kymo_profile_add_string(p, "Empty", 5, &schema.name), KYMO_OK);
    assert_int_equal(kymo_profile_add_schema(p, &schema, &m.schema), KYMO_OK);
    assert_int_equal(kymo_profile_add_process(p, &process, &id), KYMO_OK);
    assert_int_equal(kymo_profile_add_thread(p, &thread, &id), KYMO_OK);
    assert_int_equal(kymo_profile_add_marker(p, &m, NULL), KYMO_OK);
    assert_int_equal(kymo_profile_finish(p), KYMO_OK);
    kymo_bytes_init(&out, 1 << 20);
    assert_int_equal(kymo_encode(p, kymo_format_for_path("a.json"), &out.sink, NULL, NULL),
                     KYMO_OK);
    assert_int_equal(kymo_bytes_append(&out, "", 1), KYMO_OK);
    assert_non_null(strstr((char *)out.data, "{\"name\":\"Empty\",\"display\":[\"marker-chart\","
                                             "\"marker-table\"],\"fields\":[]}"));
    assert_non_null(strstr((char *)out.data, "\"data\":[{\"type\":\"Empty\"}]"));
    kymo_bytes_deinit(&out);
    kymo_profile_destroy(p);
}

static void an_empty_profile_can_be_written(void **state)
{
    (void)state;
    kymo_profile *p;
    assert_int_equal(kymo_profile_create(&p), KYMO_OK);
    assert_int_equal(kymo_profile_finish(p), KYMO_OK);
    for (size_t i = 0; kymo_format_at(i); i++) {
        if (is_of_calls(i))
            continue;
        kymo_bytes out;
        kymo_error detail;
        kymo_bytes_init(&out, 1 << 20);
        assert_int_equal(kymo_encode(p, kymo_format_at(i), &out.sink, NULL, &detail), KYMO_OK);
        kymo_bytes_deinit(&out);
    }
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_by_extension),
        cmocka_unit_test(unknown_extensions_are_told),
        cmocka_unit_test(an_unfinished_profile_is_refused),
        cmocka_unit_test(to_memory_and_to_a_descriptor),
        cmocka_unit_test(errors_of_the_sink_come_through),
        cmocka_unit_test(progress_ends_at_one),
        cmocka_unit_test(a_file_is_there_or_not),
        cmocka_unit_test(the_range_ends_with_what_is_known),
        cmocka_unit_test(types_need_no_fields),
        cmocka_unit_test(an_empty_profile_can_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
