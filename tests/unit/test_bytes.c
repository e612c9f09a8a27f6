/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/bytes.h"
#include "unit.h"

static void buffer_obeys_its_limit(void **state)
{
    (void)state;
    kymo_bytes b;
    kymo_bytes_init(&b, 1000);
    char chunk[100];
    memset(chunk, 'x', sizeof chunk);
    for (int i = 0; i < 10; i++)
        assert_int_equal(kymo_sink_write(&b.sink, chunk, sizeof chunk), KYMO_OK);
    assert_int_equal(kymo_sink_write(&b.sink, chunk, 1), KYMO_E_TOO_BIG);
    assert_int_equal(b.len, 1000);
    kymo_bytes_deinit(&b);
}

static void reader_is_total(void **state)
{
    (void)state;
    const unsigned char data[] = {1, 2, 0, 3, 0, 0, 0, 0xe5, 0x8e, 0x26, 0x7f};
    kymo_reader r = kymo_reader_of(data, sizeof data);
    assert_int_equal(kymo_read_u8(&r), 1);
    assert_int_equal(kymo_read_u16(&r), 2);
    assert_int_equal(kymo_read_u32(&r), 3);
    assert_int_equal(kymo_read_uleb(&r), 624485);
    assert_int_equal(kymo_read_sleb(&r), -1);
    assert_int_equal(kymo_reader_left(&r), 0);
    assert_false(r.failed);
    assert_int_equal(kymo_read_u64(&r), 0);
    assert_true(r.failed);
    assert_null(kymo_read_bytes(&r, 0));
}

static void endless_leb_fails(void **state)
{
    (void)state;
    unsigned char ff[20];
    memset(ff, 0xff, sizeof ff);
    kymo_reader r = kymo_reader_of(ff, sizeof ff);
    kymo_read_uleb(&r);
    assert_true(r.failed);
    r = kymo_reader_of(ff, sizeof ff);
    kymo_read_sleb(&r);
    assert_true(r.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffer_obeys_its_limit),
        cmocka_unit_test(reader_is_total),
        cmocka_unit_test(endless_leb_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
