/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/reader.h"
#include "unit.h"

static void reads_each_kind_and_fails_for_good_behind_the_end(void **state)
{
    (void)state;
    const unsigned char data[] = {1, 2, 0, 3, 0, 0, 0, 0xe5, 0x8e, 0x26, 0x7f, 'a', 'b', 0};
    kymo_reader r = kymo_reader_of(data, sizeof data);
    assert_int_equal(kymo_read_u8(&r), 1);
    assert_int_equal(kymo_read_u16(&r), 2);
    assert_int_equal(kymo_read_u32(&r), 3);
    assert_int_equal(kymo_read_uleb(&r), 624485);
    assert_int_equal(kymo_read_sleb(&r), -1);
    assert_string_equal(kymo_read_text(&r), "ab");
    assert_int_equal(kymo_reader_left(&r), 0);
    assert_non_null(kymo_read_bytes(&r, 0));
    assert_false(r.failed);
    assert_int_equal(kymo_read_u64(&r), 0);
    assert_true(r.failed);
    assert_null(kymo_read_bytes(&r, 0));
}

static void numbers_of_any_size(void **state)
{
    (void)state;
    const unsigned char data[] = {0xfe, 0xff, 0xff, 0, 0, 0, 0, 0x80};
    for (unsigned bytes = 1; bytes <= sizeof data; bytes++) {
        uint64_t value = 0;
        memcpy(&value, data, bytes);
        kymo_reader r = kymo_reader_of(data, sizeof data);
        assert_int_equal(kymo_read_uint(&r, bytes), value);
        assert_ptr_equal(r.at, data + bytes);
        r = kymo_reader_of(data, bytes);
        int64_t extended = kymo_read_int(&r, bytes);
        assert_int_equal(extended, bytes <= 3   ? -2
                                   : bytes == 8 ? (int64_t)value
                                                : (int64_t)0xfffffe);
        r = kymo_reader_of(data, bytes - 1);
        assert_int_equal(kymo_read_uint(&r, bytes), 0);
        assert_true(r.failed);
    }
    kymo_reader r = kymo_reader_of(data, sizeof data);
    assert_int_equal(kymo_read_uint(&r, 9), 0);
    assert_true(r.failed);
}

/* Ten bytes hold any number of 64 bits; of the tenth, one bit counts. */
static void lebs_of_all_lengths(void **state)
{
    (void)state;
    unsigned char ff[20];
    memset(ff, 0xff, sizeof ff);
    kymo_reader r = kymo_reader_of(ff, sizeof ff);
    assert_int_equal(kymo_read_uleb(&r), 0);
    assert_true(r.failed);
    r = kymo_reader_of(ff, sizeof ff);
    assert_int_equal(kymo_read_sleb(&r), 0);
    assert_true(r.failed);
    r = kymo_reader_of(ff, 3);
    assert_int_equal(kymo_read_uleb(&r), 0);
    assert_true(r.failed);
    ff[9] = 0x01;
    r = kymo_reader_of(ff, 10);
    assert_true(kymo_read_uleb(&r) == UINT64_MAX);
    assert_false(r.failed);
    ff[9] = 0x7f;
    r = kymo_reader_of(ff, 10);
    assert_true(kymo_read_sleb(&r) == -1);
    ff[1] = 0x40;
    r = kymo_reader_of(ff, 10);
    assert_int_equal(kymo_read_sleb(&r), -8065);
    assert_ptr_equal(r.at, ff + 2);
}

static void a_part_lies_within_the_whole(void **state)
{
    (void)state;
    const unsigned char data[] = {1, 2, 3, 4};
    kymo_reader r = kymo_reader_part(data, sizeof data, 1, 3);
    assert_int_equal(kymo_read_u16(&r), 0x0302);
    assert_int_equal(kymo_reader_left(&r), 0);
    r = kymo_reader_part(data, sizeof data, 3, UINT64_MAX);
    assert_int_equal(kymo_reader_left(&r), 1);
    assert_false(r.failed);
    r = kymo_reader_part(data, sizeof data, 5, UINT64_MAX);
    assert_true(r.failed);
    assert_int_equal(kymo_reader_left(&r), 0);
    r = kymo_reader_part(NULL, 0, 0, 0);
    assert_true(r.failed);
}

static void a_text_without_an_end_is_none(void **state)
{
    (void)state;
    kymo_reader r = kymo_reader_of("ab", 2);
    assert_string_equal(kymo_read_text(&r), "");
    assert_true(r.failed);
    r = kymo_reader_of(NULL, 0);
    assert_string_equal(kymo_read_text(&r), "");
    assert_true(r.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_each_kind_and_fails_for_good_behind_the_end),
        cmocka_unit_test(numbers_of_any_size),
        cmocka_unit_test(lebs_of_all_lengths),
        cmocka_unit_test(a_part_lies_within_the_whole),
        cmocka_unit_test(a_text_without_an_end_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
