/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A difference of two profiles as pprof: the file is taken apart here, field by field, and must be
 * whole: each number once, each reference to something that is there.
 */
#include <stdlib.h>

#include "encode/encoder.h"
#include "encode/pprof/pprof.h"
#include "profile_fixture.h"

enum { MOST = 64 };

struct message {
    const uint8_t *at, *end;
};

/* What is read of the file. */
static struct {
    char strings[MOST][32];
    uint32_t string_count;
    uint64_t function_id[MOST], function_name[MOST];
    uint32_t function_count;
    uint64_t location_id[MOST], location_function[MOST];
    uint32_t location_count;
    uint64_t mapping_id[MOST];
    uint32_t mapping_count;
    struct message samples[MOST];
    uint32_t sample_count, type_count;
} file;

static kymo_profile *profiles[2];
static kymo_bytes bytes; /* of the file */

static uint64_t take_varint(struct message *m)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(m->at < m->end && shift < 64);
        value |= (uint64_t)(*m->at & 0x7f) << shift;
        if (!(*m->at++ & 0x80))
            return value;
    }
}

/* The next field: a number, or a part. 0: there is none. */
static uint64_t take_field(struct message *m, uint64_t *number, struct message *part)
{
    if (m->at == m->end)
        return 0;
    uint64_t key = take_varint(m);
    *part = (struct message){NULL, NULL};
    *number = take_varint(m);
    if ((key & 7) == 2) {
        assert_true(*number <= (uint64_t)(m->end - m->at));
        *part = (struct message){m->at, m->at + *number};
        m->at += *number;
    }
    return key >> 3;
}

static uint64_t number_in(struct message m, uint64_t wanted)
{
    uint64_t field, number;
    struct message part;
    while ((field = take_field(&m, &number, &part)))
        if (field == wanted)
            return number;
    return 0;
}

static struct message part_in(struct message m, uint64_t wanted)
{
    uint64_t field, number;
    struct message part;
    while ((field = take_field(&m, &number, &part)))
        if (field == wanted)
            return part;
    return (struct message){NULL, NULL};
}

static uint32_t place_of(const uint64_t *ids, uint32_t count, uint64_t id)
{
    uint32_t found = KYMO_NONE;
    for (uint32_t i = 0; i < count; i++)
        if (ids[i] == id) {
            assert_int_equal(found, KYMO_NONE);
            found = i;
        }
    return found;
}

static void read_file(void)
{
    struct message m = {bytes.data, bytes.data + bytes.len}, part;
    uint64_t field, number;
    memset(&file, 0, sizeof file);
    while ((field = take_field(&m, &number, &part))) {
        if (field == KYMO_PPROF_PROFILE_STRING)
            snprintf(file.strings[file.string_count++], 32, "%.*s", (int)number,
                     (const char *)part.at);
        if (field == KYMO_PPROF_PROFILE_SAMPLE_TYPE)
            file.type_count++;
        if (field == KYMO_PPROF_PROFILE_MAPPING)
            file.mapping_id[file.mapping_count++] = number_in(part, KYMO_PPROF_MAPPING_ID);
        if (field == KYMO_PPROF_PROFILE_FUNCTION) {
            file.function_id[file.function_count] = number_in(part, KYMO_PPROF_FUNCTION_ID);
            file.function_name[file.function_count++] = number_in(part, KYMO_PPROF_FUNCTION_NAME);
        }
        if (field == KYMO_PPROF_PROFILE_LOCATION) {
            struct message line = part_in(part, KYMO_PPROF_LOCATION_LINE);
            uint64_t mapping = number_in(part, KYMO_PPROF_LOCATION_MAPPING);
            assert_true(mapping <= file.mapping_count);
            file.location_id[file.location_count] = number_in(part, KYMO_PPROF_LOCATION_ID);
            file.location_function[file.location_count++] =
                number_in(line, KYMO_PPROF_LINE_FUNCTION);
        }
        if (field == KYMO_PPROF_PROFILE_SAMPLE)
            file.samples[file.sample_count++] = part;
        assert_true(file.string_count < MOST && file.sample_count < MOST);
    }
    for (uint32_t i = 0; i < file.mapping_count; i++)
        assert_int_equal(place_of(file.mapping_id, file.mapping_count, i + 1), i);
    for (uint32_t i = 0; i < file.function_count; i++)
        assert_int_equal(place_of(file.function_id, file.function_count, i + 1), i);
    for (uint32_t i = 0; i < file.location_count; i++)
        assert_int_equal(place_of(file.location_id, file.location_count, i + 1), i);
}

static const char *leaf_of(struct message sample)
{
    struct message stack = part_in(sample, KYMO_PPROF_SAMPLE_LOCATION);
    uint32_t location = place_of(file.location_id, file.location_count, take_varint(&stack));
    assert_int_not_equal(location, KYMO_NONE);
    uint32_t function =
        place_of(file.function_id, file.function_count, file.location_function[location]);
    assert_int_not_equal(function, KYMO_NONE);
    assert_true(file.function_name[function] < file.string_count);
    return file.strings[file.function_name[function]];
}

static int has_base(struct message sample)
{
    uint64_t field, number;
    struct message part;
    while ((field = take_field(&sample, &number, &part)))
        if (field == KYMO_PPROF_SAMPLE_LABEL &&
            strcmp(file.strings[number_in(part, KYMO_PPROF_LABEL_KEY)], "pprof::base") == 0) {
            assert_string_equal(file.strings[number_in(part, KYMO_PPROF_LABEL_STR)], "true");
            return 1;
        }
    return 0;
}

/* The sum of a column; the samples of what was before are the negative ones. */
static int64_t sum_of(const char *leaf, uint32_t column)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < file.sample_count; i++) {
        struct message values = part_in(file.samples[i], KYMO_PPROF_SAMPLE_VALUE);
        int64_t value = 0;
        for (uint32_t k = 0; k <= column; k++)
            value = (int64_t)take_varint(&values);
        assert_int_equal(has_base(file.samples[i]), value < 0);
        if (strcmp(leaf_of(file.samples[i]), leaf) == 0)
            sum += value;
    }
    return sum;
}

static void encode(const kymo_encode_options *options)
{
    kymo_encode_options plain = *options;
    kymo_encoder encoder = {.profile = profiles[1], .options = &plain};
    uint64_t written = 0;
    kymo_bytes_clear(&bytes);
    encoder.sink = &bytes.sink;
    encoder.bytes = &written;
    ok(kymo_pprof_write(&encoder));
    read_file();
}

static uint32_t add_named(kymo_profile *p, uint32_t module, uint32_t parent, const char *name)
{
    uint32_t frame = add_frame(p, module, 0x1000 + 16 * kymo_profile_count(p, KYMO_TABLE_FRAMES));
    kymo_line line = {.function = add_function(p, name, module), .line = 1};
    ok(kymo_profile_frame_set_lines(p, frame, &line, 1, KYMO_NONE, 1));
    return add_stack(p, parent, frame);
}

/* Ids differ between the two; one has a sample without a stack. */
static int setup(void **state)
{
    (void)state;
    kymo_bytes_init(&bytes, 1 << 20);
    for (int i = 0; i < 2; i++) {
        kymo_profile *p = profiles[i] = new_profile();
        uint32_t process = add_process(p, 7, 0);
        uint32_t thread = add_thread(p, process, 7, 0);
        uint32_t module = add_module(p, process, "/bin/app", "id");
        uint32_t fresh = i ? add_named(p, module, KYMO_NONE, "fresh") : KYMO_NONE;
        uint32_t main = add_named(p, module, KYMO_NONE, "main");
        uint32_t both = add_named(p, module, main, "both");
        ok(kymo_profile_add_sample(p, thread, 1, both, i ? 30 : 20, KYMO_SAMPLE_CPU, 0));
        ok(kymo_profile_add_sample(p, thread, 2, i ? fresh : main, i ? 5 : 4, KYMO_SAMPLE_CPU, 0));
        ok(kymo_profile_add_sample(p, thread, 3, KYMO_NONE, i ? 2 : 9, KYMO_SAMPLE_CPU, 0));
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kymo_profile_destroy(profiles[0]);
    kymo_profile_destroy(profiles[1]);
    kymo_bytes_deinit(&bytes);
    return 0;
}

static void finish(void)
{
    ok(kymo_profile_finish(profiles[0]));
    ok(kymo_profile_finish(profiles[1]));
}

static void what_was_before_is_taken_off(void **state)
{
    (void)state;
    const kymo_encode_options options = {.size = sizeof options, .before = profiles[0]};
    finish();
    encode(&options);
    assert_int_equal(file.type_count, 2);
    assert_int_equal(file.sample_count, 6);
    assert_int_equal(sum_of("both", 1), 10);
    assert_int_equal(sum_of("main", 1), -4);
    assert_int_equal(sum_of("fresh", 1), 5);
    assert_int_equal(sum_of("[no stack]", 1), -7);
    assert_int_equal(sum_of("both", 0), 0);
    assert_int_equal(sum_of("fresh", 0), 1);
    assert_int_equal(file.mapping_count, 2);
}

/* Without it nothing is negative, and no label is there. */
static void alone_it_is_as_ever(void **state)
{
    (void)state;
    const kymo_encode_options options = {.size = sizeof options};
    finish();
    encode(&options);
    assert_int_equal(file.sample_count, 3);
    assert_int_equal(sum_of("both", 1), 30);
    for (uint32_t i = 0; i < file.string_count; i++)
        assert_string_not_equal(file.strings[i], "pprof::base");
}

/* A type that only one of them has samples of has a column, and that of another name none. */
static void types_are_matched(void **state)
{
    (void)state;
    ok(kymo_profile_add_sample(profiles[0], 0, 4, KYMO_NONE, 3, KYMO_SAMPLE_WALL, 0));
    finish();
    kymo_encode_options options = {.size = sizeof options, .before = profiles[0]};
    encode(&options);
    assert_int_equal(file.type_count, 3);
    assert_int_equal(sum_of("both", 1), 10);
    /* Its wall time instead of its CPU time. */
    options.before_kind = KYMO_SAMPLE_WALL + 1;
    options.kind = KYMO_SAMPLE_CPU;
    encode(&options);
    assert_int_equal(sum_of("both", 1), 30);
    assert_int_equal(sum_of("main", 1), 0);
    assert_int_equal(sum_of("[no stack]", 1), 2 - 3);
}

static void only_finished_profiles(void **state)
{
    (void)state;
    kymo_encode_options options = {.size = sizeof options, .before = profiles[0]};
    const kymo_format *pprof = kymo_format_for_path("x.pb.gz");
    ok(kymo_profile_finish(profiles[1]));
    assert_int_equal(kymo_encode(profiles[1], pprof, &bytes.sink, &options, NULL), KYMO_E_INVALID);
    ok(kymo_profile_finish(profiles[0]));
    options.before_kind = 99;
    assert_int_equal(kymo_encode(profiles[1], pprof, &bytes.sink, &options, NULL), KYMO_E_INVALID);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(what_was_before_is_taken_off),
        T(alone_it_is_as_ever),
        T(types_are_matched),
        T(only_finished_profiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
