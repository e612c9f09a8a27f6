/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/jfr/jfr_bytes.h"
#include "unit.h"

#include <string.h>

#define check(b, ...)                                               \
    do {                                                            \
        const unsigned char expected_[] = {__VA_ARGS__};            \
        assert_int_equal((b).failed, 0);                            \
        assert_int_equal((b).len, sizeof expected_);                \
        assert_memory_equal((b).data, expected_, sizeof expected_); \
        kymo_jfr_bytes_clear(&(b));                                 \
    } while (0)

static void varints_have_nine_bytes_at_most(void **state)
{
    (void)state;
    kymo_jfr_bytes b = {0};
    kymo_jfr_varint(&b, 0);
    kymo_jfr_varint(&b, 127);
    kymo_jfr_varint(&b, 128);
    kymo_jfr_varint(&b, 300);
    check(b, 0, 127, 0x80, 1, 0xac, 2);
    kymo_jfr_varint(&b, UINT64_MAX);
    check(b, 255, 255, 255, 255, 255, 255, 255, 255, 255);
    kymo_jfr_varint(&b, 1ull << 56); /* the first that needs the ninth byte */
    check(b, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1);
    kymo_jfr_varint(&b, (1ull << 56) - 1);
    check(b, 255, 255, 255, 255, 255, 255, 255, 127);
    kymo_jfr_bytes_deinit(&b);
}

static void other_numbers_are_big_endian(void **state)
{
    (void)state;
    kymo_jfr_bytes b = {0};
    kymo_jfr_u16(&b, 0x0102);
    kymo_jfr_u32(&b, 0x03040506);
    kymo_jfr_u64(&b, 0x0708090a0b0c0d0eull);
    check(b, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
    kymo_jfr_float(&b, 1.0f);
    kymo_jfr_double(&b, -2.0);
    check(b, 0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0);
    kymo_jfr_bytes_deinit(&b);
}

static void texts(void **state)
{
    (void)state;
    kymo_jfr_bytes b = {0};
    kymo_jfr_cstr(&b, NULL);
    kymo_jfr_cstr(&b, "");
    kymo_jfr_cstr(&b, "a\xc3\xa9");
    check(b, 0, 3, 0, 3, 3, 'a', 0xc3, 0xa9);
    kymo_jfr_bytes_deinit(&b);
}

/* The size counts its own bytes, also where they make it need one more. */
static void sizes_of_events(void **state)
{
    static const size_t payloads[] = {0,     125,   126,   127,     128,     16379,
                                      16380, 16381, 16382, 2097146, 2097147, 2097148};
    (void)state;
    for (size_t i = 0; i < sizeof payloads / sizeof *payloads; i++) {
        kymo_jfr_bytes b = {0};
        kymo_jfr_u8(&b, 77);
        size_t begin = kymo_jfr_event_begin(&b, 9);
        for (size_t k = 0; k < payloads[i]; k++)
            kymo_jfr_u8(&b, (uint8_t)(k | 1));
        kymo_jfr_event_end(&b, begin);
        uint64_t size = 0;
        size_t at = begin;
        for (unsigned shift = 0; shift == 0 || b.data[at - 1] & 0x80; shift += 7)
            size |= (uint64_t)(b.data[at++] & 0x7f) << shift;
        assert_int_equal(size, b.len - begin);
        assert_int_equal(b.data[at], 9);
        assert_int_equal(b.len - at - 1, payloads[i]);
        for (size_t k = 0; k < payloads[i]; k++)
            assert_int_equal(b.data[at + 1 + k], (uint8_t)(k | 1));
        kymo_jfr_bytes_deinit(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varints_have_nine_bytes_at_most),
        cmocka_unit_test(other_numbers_are_big_endian),
        cmocka_unit_test(texts),
        cmocka_unit_test(sizes_of_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
