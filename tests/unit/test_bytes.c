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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffer_obeys_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
