/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a seccomp filter, of any instructions: its run ends, and stays inside.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sys/seccomp_filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    size_t n = len / sizeof(struct sock_filter);
    struct sock_filter *filter = malloc(n * sizeof *filter + 1);
    if (!filter)
        return 0;
    memcpy(filter, data, n * sizeof *filter);
    (void)kymo_seccomp_allows(filter, n, 15);
    free(filter);
    return 0;
}
