/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/gzip_sink.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static kymo_gzip_sink gzip;

/* Data that compresses and data that does not, so that both buffers overflow. */
static unsigned char *make_data(size_t len)
{
    unsigned char *data = malloc(len);
    uint64_t random = 1;
    for (size_t i = 0; i < len; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        data[i] = i < len / 2 ? (unsigned char)(i / 1000) : (unsigned char)(random >> 56);
    }
    return data;
}

static void round_trip(void **state)
{
    (void)state;
    enum { LEN = 1000000 };
    unsigned char *data = make_data(LEN);
    unsigned char *back = malloc(LEN + 1);
    for (int level = 1; level <= 9; level += 4) {
        kymo_bytes out;
        kymo_bytes_init(&out, 4 * LEN);
        assert_int_equal(kymo_gzip_sink_init(&gzip, &out.sink, level), KYMO_OK);
        for (size_t at = 0, step = 0; at < LEN; at += step) {
            step = step * 3 + 1 < LEN - at ? step * 3 + 1 : LEN - at;
            assert_int_equal(kymo_sink_write(&gzip.sink, data + at, step), KYMO_OK);
        }
        assert_int_equal(kymo_gzip_sink_finish(&gzip), KYMO_OK);
        kymo_gzip_sink_deinit(&gzip);
        assert_true(out.len < LEN * 6 / 10);

        z_stream z = {.next_in = out.data, .avail_in = (uInt)out.len};
        z.next_out = back;
        z.avail_out = LEN + 1;
        assert_int_equal(inflateInit2(&z, MAX_WBITS + 16), Z_OK);
        assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
        assert_int_equal(z.total_out, LEN);
        assert_memory_equal(back, data, LEN);
        inflateEnd(&z);
        kymo_bytes_deinit(&out);
    }
    free(data);
    free(back);
}

static void errors_come_through(void **state)
{
    (void)state;
    unsigned char *data = make_data(1000000);
    kymo_bytes out;
    kymo_bytes_init(&out, 100);
    assert_int_equal(kymo_gzip_sink_init(&gzip, &out.sink, 10), KYMO_E_RANGE);
    assert_int_equal(kymo_gzip_sink_init(&gzip, &out.sink, 1), KYMO_OK);
    assert_int_equal(kymo_sink_write(&gzip.sink, data, 1000000), KYMO_E_TOO_BIG);
    kymo_gzip_sink_deinit(&gzip);
    assert_int_equal(kymo_gzip_sink_init(&gzip, &out.sink, 1), KYMO_OK);
    assert_int_equal(kymo_sink_write(&gzip.sink, data + 900000, 1000), KYMO_OK);
    assert_int_equal(kymo_gzip_sink_finish(&gzip), KYMO_E_TOO_BIG); /* the last bytes count, too */
    kymo_gzip_sink_deinit(&gzip);
    kymo_bytes_deinit(&out);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(errors_come_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
