/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/jfr/jfr.h"
#include "fixed_profile.h"
#include "unit.h"

#include <string.h>

enum { HEADER_BYTES = 68, METADATA_MAX = 2048 };

static uint64_t u64_at(const unsigned char *data)
{
    uint64_t value;
    memcpy(&value, data, sizeof value);
    return __builtin_bswap64(value);
}

static kymo_bytes write_profile(const kymo_profile *p, size_t chunk_bytes)
{
    kymo_bytes out;
    kymo_error detail = {0};
    uint64_t bytes = 0;
    kymo_bytes_init(&out, 1 << 20);
    kymo_encoder encoder = {.profile = p, .sink = &out.sink, .detail = &detail, .bytes = &bytes};
    assert_int_equal(kymo_jfr_write_chunks(&encoder, chunk_bytes), KYMO_OK);
    return out;
}

/* Each has its own header, and lasts until the next one begins. */
static unsigned check_chunks(const kymo_bytes *file)
{
    unsigned count = 0;
    uint64_t end_ns = 0;
    for (size_t at = 0; at < file->len; count++) {
        const unsigned char *chunk = file->data + at;
        assert_true(file->len - at > HEADER_BYTES);
        assert_memory_equal(chunk, "FLR\0\0\2\0\0", 8);
        uint64_t size = u64_at(chunk + 8);
        assert_true(u64_at(chunk + 16) >= HEADER_BYTES && u64_at(chunk + 16) < size);
        assert_true(u64_at(chunk + 24) > u64_at(chunk + 16) && u64_at(chunk + 24) < size);
        if (count > 0)
            assert_int_equal(u64_at(chunk + 32), end_ns);
        end_ns = u64_at(chunk + 32) + u64_at(chunk + 40);
        at += size;
        assert_true(at <= file->len);
    }
    return count;
}

static void one_chunk_or_many(void **state)
{
    (void)state;
    kymo_profile *p = fixed_profile();
    kymo_bytes one = write_profile(p, KYMO_JFR_CHUNK_BYTES);
    assert_int_equal(check_chunks(&one), 1);
    kymo_bytes many = write_profile(p, 300);
    assert_in_range(check_chunks(&many), 5, 99);
    kymo_bytes all = write_profile(p, 1); /* of each event one */
    assert_true(check_chunks(&all) > check_chunks(&many));
    kymo_bytes_deinit(&one);
    kymo_bytes_deinit(&many);
    kymo_bytes_deinit(&all);
    kymo_profile_destroy(p);
}

/* What a recording of CPU time has in any case; build-ids and all. */
static kymo_profile *cpu_profile(void)
{
    kymo_profile *p;
    uint32_t process, thread, module, stack;
    const uint64_t address = 0x1234;
    const char *argv[] = {"prog"};
    const kymo_lost lost[] = {{"no block", 3}};
    kymo_process a_process = {.size = sizeof a_process, .pid = 7, .name = "prog"};
    kymo_thread a_thread = {.size = sizeof a_thread, .tid = 7, .name = "prog"};
    kymo_module a_module = {
        .size = sizeof a_module, .path = "/bin/prog", .build_id_len = 20, .end = 0x2000};
    kymo_meta meta = {
        .size = sizeof meta, .argc = 1, .argv = argv, .os = "Debian", .cpu_name = "x"};
    kymo_quality quality = {.size = sizeof quality, .lost_count = 1, .lost = lost};
    assert_int_equal(kymo_profile_create(&p), KYMO_OK);
    assert_int_equal(kymo_profile_set_meta(p, &meta), KYMO_OK);
    assert_int_equal(kymo_profile_set_quality(p, &quality), KYMO_OK);
    assert_int_equal(kymo_profile_add_process(p, &a_process, &process), KYMO_OK);
    assert_int_equal(kymo_profile_add_thread(p, &a_thread, &thread), KYMO_OK);
    assert_int_equal(kymo_profile_add_module(p, &a_module, &module), KYMO_OK);
    assert_int_equal(kymo_profile_add_address_stack(p, process, &address, 1, &stack), KYMO_OK);
    assert_int_equal(
        kymo_profile_add_sample(p, thread, 100, stack, 10, KYMO_SAMPLE_CPU, KYMO_STATE_RUNNING),
        KYMO_OK);
    assert_int_equal(kymo_profile_finish(p), KYMO_OK);
    return p;
}

static void the_description_of_a_cpu_profile_is_small(void **state)
{
    (void)state;
    kymo_profile *p = cpu_profile();
    kymo_bytes file = write_profile(p, KYMO_JFR_CHUNK_BYTES);
    assert_in_range(u64_at(file.data + 8) - u64_at(file.data + 24), 1000, METADATA_MAX);
    kymo_bytes_deinit(&file);
    kymo_profile_destroy(p);
}

/* One frame after the other, each in a node of its own: a chunk ends after a stack, however long
 * that is. */
static void deep_stacks(void **state)
{
    enum { DEPTH = 100000 };
    (void)state;
    kymo_profile *p = cpu_profile();
    uint32_t frame, stack = KYMO_NONE;
    assert_int_equal(kymo_profile_add_frame(p, KYMO_NONE, 1, KYMO_CATEGORY_AUTO, &frame), KYMO_OK);
    for (unsigned i = 0; i < DEPTH; i++)
        assert_int_equal(kymo_profile_add_stack(p, stack, frame, &stack), KYMO_OK);
    for (uint64_t i = 0; i < 2; i++)
        assert_int_equal(
            kymo_profile_add_sample(p, 0, 200 + i, stack, 10, KYMO_SAMPLE_CPU, KYMO_STATE_RUNNING),
            KYMO_OK);
    assert_int_equal(kymo_profile_finish(p), KYMO_OK);
    kymo_bytes file = write_profile(p, KYMO_JFR_CHUNK_BYTES);
    assert_int_equal(check_chunks(&file), 1);
    assert_in_range(file.len, 4 * DEPTH, 5 * DEPTH);
    kymo_bytes_deinit(&file);
    kymo_profile_destroy(p);
}

static void an_empty_profile(void **state)
{
    (void)state;
    kymo_profile *p;
    assert_int_equal(kymo_profile_create(&p), KYMO_OK);
    assert_int_equal(kymo_profile_finish(p), KYMO_OK);
    kymo_bytes file = write_profile(p, KYMO_JFR_CHUNK_BYTES);
    assert_int_equal(check_chunks(&file), 1);
    kymo_bytes_deinit(&file);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_chunk_or_many),
        cmocka_unit_test(the_description_of_a_cpu_profile_is_small),
        cmocka_unit_test(deep_stacks),
        cmocka_unit_test(an_empty_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
