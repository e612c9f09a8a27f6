/* SPDX-License-Identifier: Apache-2.0 */
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_import("jfr", data, size);
}
