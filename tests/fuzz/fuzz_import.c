/* SPDX-License-Identifier: Apache-2.0 */
/* Any file: its compression, its format, and its content. */
#include <stdint.h>
#include <stdlib.h>

#include "kymo/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kymo_profile *profile = NULL;
    kymo_error detail = {.code = KYMO_OK};
    kymo_err err = kymo_import_memory(data, size, &profile, &detail);
    if (err != KYMO_OK && (detail.code != err || detail.message[0] == '\0'))
        abort();
    kymo_profile_destroy(profile);
    return 0;
}
