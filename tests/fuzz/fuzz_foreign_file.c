/* SPDX-License-Identifier: Apache-2.0 */
/* The head of any file, and what it may be. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/steps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Of exactly its size, so that a byte too far is seen. */
    uint8_t *head = malloc(size ? size : 1);
    if (!head)
        return 0;
    memcpy(head, data, size);
    (void)kymo_foreign_name(head, size);
    free(head);
    return 0;
}
