/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a file of packed symbols, with any content. Its checksum is made right, so that what
 * lies behind it is reached: what is found has a name within the file.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "observe/kallsyms.h"

#define HEADER_BYTES 40u
#define KEY_AT 8u
#define CHECKSUM_AT 16u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(int condition)
{
    if (!condition)
        abort();
}

static void look_around(const kymo_kallsyms *table, size_t len)
{
    struct kymo_kallsym s;
    for (uint64_t at = 0xffffffff80000000; at < UINT64_MAX - 0x10000; at += 0xfff1) {
        if (kymo_kallsyms_find(table, at, &s) != KYMO_KALLSYM_FOUND)
            continue;
        check(s.number < kymo_kallsyms_count(table) && s.name[0] != '\0');
        check(strlen(s.name) < len && strlen(s.module) < len && s.offset <= at);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const uint64_t key = 1;
    kymo_kallsyms *table;
    kymo_bytes bytes;
    kymo_bytes_init(&bytes, 64u << 20);
    if (len < HEADER_BYTES || kymo_bytes_append(&bytes, data, len) != KYMO_OK)
        return 0;
    uint64_t sum = kymo_hash_bytes(bytes.data + HEADER_BYTES, len - HEADER_BYTES, 0);
    memcpy(bytes.data + KEY_AT, &key, sizeof key);
    memcpy(bytes.data + CHECKSUM_AT, &sum, sizeof sum);
    if (kymo_kallsyms_unpack(&bytes, key, &table) == KYMO_OK) {
        look_around(table, len);
        kymo_kallsyms_destroy(table);
    }
    kymo_bytes_deinit(&bytes);
    return 0;
}
