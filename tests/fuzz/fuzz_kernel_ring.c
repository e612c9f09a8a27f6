/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is where a ring was read up to, where it was written up to, and 4 KiB of its bytes:
 * everything up to the head is read once, and no record is deeper than there is room for.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "observe/kernel_stacks.h"

#define BYTES 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(int condition)
{
    if (!condition)
        abort();
}

static kymo_err on_record(void *context, const struct kymo_kernel_record *r)
{
    uint64_t *records = context;
    check(r->depth <= KYMO_KERNEL_DEPTH_MAX);
    (*records)++;
    return KYMO_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    uint16_t place[2] = {0};
    uint64_t records = 0;
    uint64_t lost = 0;
    if (len < sizeof place)
        return 0;
    memcpy(place, data, sizeof place);
    unsigned char *ring = calloc(1, BYTES); /* on the heap, where a sanitizer sees its end */
    if (!ring)
        return 0;
    memcpy(ring, data + sizeof place, len - sizeof place < BYTES ? len - sizeof place : BYTES);
    uint64_t tail = place[0];
    uint64_t head = tail + place[1] % (BYTES + 1);
    check(kymo_kernel_records_read(ring, BYTES, &tail, head, on_record, &records, &lost) ==
          KYMO_OK);
    check(tail == head && records <= BYTES / 8);
    free(ring);
    return 0;
}
