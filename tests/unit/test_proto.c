/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proto.h"
#include "base/reader.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define check(m, ...)                                               \
    do {                                                            \
        const unsigned char expected_[] = {__VA_ARGS__};            \
        assert_int_equal((m).failed, 0);                            \
        assert_int_equal((m).len, sizeof expected_);                \
        assert_memory_equal((m).data, expected_, sizeof expected_); \
    } while (0)

static void varints(void **state)
{
    (void)state;
    kymo_proto m = {0};
    kymo_proto_varint(&m, 0);
    kymo_proto_varint(&m, 127);
    kymo_proto_varint(&m, 128);
    kymo_proto_varint(&m, 300);
    check(m, 0, 127, 0x80, 1, 0xac, 2);
    kymo_proto_clear(&m);
    kymo_proto_varint(&m, UINT64_MAX);
    check(m, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1);
    kymo_reader r = kymo_reader_of(m.data, m.len);
    assert_true(kymo_read_uleb(&r) == UINT64_MAX);
    kymo_proto_deinit(&m);
}

static void fields(void **state)
{
    (void)state;
    kymo_proto inner = {0};
    kymo_proto m = {0};
    kymo_proto_u64(&m, 1, 150);
    kymo_proto_u64(&m, 2, 0); /* a default is not written */
    kymo_proto_bytes(&m, 2, "testing", 7);
    kymo_proto_packed(&m, 4, &inner);  /* nor is an empty list */
    kymo_proto_message(&m, 5, &inner); /* an empty message is */
    kymo_proto_varint(&inner, 3);
    kymo_proto_varint(&inner, 270);
    kymo_proto_packed(&m, 4, &inner);
    kymo_proto_raw(&m, &inner);
    kymo_proto_u64(&m, 16, 1); /* the tag takes two bytes */
    check(m, 0x08, 0x96, 0x01, 0x12, 7, 't', 'e', 's', 't', 'i', 'n', 'g', 0x2a, 0, 0x22, 3, 3,
          0x8e, 2, 3, 0x8e, 2, 0x80, 1, 1);
    kymo_proto_deinit(&m);
    kymo_proto_deinit(&inner);
}

static void members_and_fixed_numbers_are_written_also_as_0(void **state)
{
    (void)state;
    kymo_proto m = {0};
    kymo_proto_u64(&m, 1, 0);
    assert_int_equal(m.len, 0);
    kymo_proto_member(&m, 1, 0);
    kymo_proto_fixed64(&m, 2, 0);
    kymo_proto_fixed64(&m, 3, 0x0102030405060708);
    const unsigned char expected[] = {8, 0, 17, 0, 0, 0, 0, 0, 0, 0, 0, 25, 8, 7, 6, 5, 4, 3, 2, 1};
    assert_int_equal(m.len, sizeof expected);
    assert_memory_equal(m.data, expected, sizeof expected);
    kymo_proto_deinit(&m);
}

static void flush_clears_and_failure_stays(void **state)
{
    (void)state;
    kymo_bytes out;
    kymo_bytes_init(&out, 1000000);
    kymo_proto m = {0};
    char *text = malloc(100000);
    memset(text, 'y', 100000);
    kymo_proto_bytes(&m, 6, text, 100000);
    assert_int_equal(kymo_proto_flush(&m, &out.sink), KYMO_OK);
    assert_int_equal(m.len, 0);
    assert_int_equal(out.len, 100000 + 4);
    assert_memory_equal(out.data + 4, text, 100000);
    free(text);
    kymo_proto bad = {.failed = 1};
    kymo_proto_message(&m, 1, &bad);
    assert_int_equal(kymo_proto_flush(&m, &out.sink), KYMO_E_NOMEM);
    kymo_proto_deinit(&m);
    kymo_bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varints),
        cmocka_unit_test(fields),
        cmocka_unit_test(members_and_fixed_numbers_are_written_also_as_0),
        cmocka_unit_test(flush_clears_and_failure_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
