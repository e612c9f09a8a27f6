/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a /proc/kallsyms, with any content: what is found in it lies in the function that is
 * said, and that one has a name.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "observe/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(int condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    kymo_kallsyms *table;
    struct kymo_kallsym s;
    if (kymo_kallsyms_parse((const char *)data, len, &table) != KYMO_OK)
        return 0;
    check(kymo_kallsyms_count(table) <= len / 20);
    for (uint64_t at = 0xffffffff80000000; at < UINT64_MAX - 0x10000; at += 0xfff1) {
        if (!kymo_kallsyms_find(table, at, &s))
            continue;
        check(s.number < kymo_kallsyms_count(table) && s.name[0] != '\0');
        check(s.module[0] == '[' && strlen(s.name) < len);
        check(s.offset <= at);
    }
    kymo_kallsyms_destroy(table);
    return 0;
}
