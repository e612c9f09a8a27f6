/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a record's type and mode, and what is behind its header: all that is said to lie in
 * it does.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "observe/stack_copies.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(int condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct kymo_stack_copy copy;
    if (len < 2)
        return 0;
    size_t size = len - 2;
    unsigned char *bytes = malloc(size + 1); /* on the heap, where a sanitizer sees its end */
    if (!bytes)
        return 0;
    memcpy(bytes, data + 2, size);
    const struct kymo_perf_record record = {data[0], data[1], size, bytes};
    if (kymo_stack_copy_parse(&record, &copy)) {
        uint64_t pcs[8] = {1, 2, 3};
        check(copy.kernel.depth <= KYMO_KERNEL_DEPTH_MAX);
        if (copy.chain_count >= 3) { /* so that it goes on from there */
            memcpy(pcs + 1, copy.chain, 2 * sizeof *pcs);
            size_t n = kymo_stack_copy_join_chain(&copy, pcs, 3, 8);
            check(n > 3 && n <= 8);
        }
        if (copy.has_user) {
            check(copy.stack >= bytes && copy.asked_bytes <= size);
            check((size_t)(copy.stack - bytes) <= size - copy.asked_bytes);
            check(copy.stack_bytes <= copy.asked_bytes);
            volatile unsigned char sum = 0;
            for (size_t i = 0; i < copy.asked_bytes; i++)
                sum = (unsigned char)(sum + copy.stack[i]);
        }
    }
    free(bytes);
    return 0;
}
