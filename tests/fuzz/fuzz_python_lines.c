/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a version, a first line and a line table, with any content: no byte behind it is
 * read, a place has one line, which may be one, and a frame that has not begun is at the first.
 */
#include <stdint.h>
#include <stdlib.h>

#include "recorder/python_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(int condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < 3)
        return 0;
    uint32_t minor = 9 + data[0] % 6;
    uint32_t first_line = (uint32_t)data[1] << (data[2] % 25);
    const uint8_t *table = data + 3;
    uint32_t bytes = (uint32_t)(len - 3);
    for (uint32_t at = 0; at < 600; at++) {
        uint32_t line = kymo_python_line(minor, table, bytes, first_line, at);
        check(line <= INT32_MAX);
        check(line == kymo_python_line(minor, table, bytes, first_line, at));
    }
    check(kymo_python_line(minor, table, bytes, first_line, UINT32_MAX) ==
          (first_line <= INT32_MAX ? first_line : 0));
    check(kymo_python_line(minor, table, bytes, first_line, INT32_MAX) <= INT32_MAX);
    return 0;
}
