/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is resident: the file in pieces, whose size is the first byte.
 */
#include <stdlib.h>
#include <string.h>

#include "memory/smaps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static kymo_err take(void *context, const struct kymo_smaps_area *area)
{
    uint64_t *before = context;
    if (area->lo >= area->hi || area->rss > area->hi - area->lo || area->anonymous > area->rss ||
        strlen(area->name) >= KYMO_SMAPS_NAME_BYTES)
        abort();
    *before = area->hi;
    return KYMO_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct kymo_smaps smaps;
    uint64_t before = 0;
    size_t piece = size > 0 ? (size_t)data[0] + 1 : 1;
    kymo_smaps_begin(&smaps, take, &before);
    for (size_t at = size > 0; at < size; at += piece) {
        size_t left = size - at;
        /* Of its own, so that a read beyond it is seen. */
        char *part = malloc(left < piece ? left : piece);
        if (!part)
            return 0;
        memcpy(part, data + at, left < piece ? left : piece);
        if (kymo_smaps_feed(&smaps, part, left < piece ? left : piece) != KYMO_OK)
            abort();
        free(part);
    }
    if (kymo_smaps_end(&smaps) != KYMO_OK)
        abort();
    return 0;
}
