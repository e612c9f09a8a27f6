/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is code. From each of its bytes on it is read, and its row is a row: of the kinds that
 * a walk takes without asking more; or, of the place that a call returns to, the stack's beginning.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arch/code_row.h"
#include "arch/instruction.h"
#include "arch/row.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(int condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct kymo_stack_window window = {.own_lo = (uint64_t)(uintptr_t)data,
                                       .own_hi = (uint64_t)(uintptr_t)data + len,
                                       .instructions_left = 1u << 20};
    for (size_t at = 0; at < len && at < 64; at++) {
        struct kymo_instruction i;
        uint8_t bytes[KYMO_INSTRUCTION_BYTES] = {0};
        memcpy(bytes, data + at, len - at < 16 ? len - at : 16);
        if (kymo_instruction_read(bytes, &i))
            check(i.length > 0 && i.length <= KYMO_INSTRUCTION_MAX && i.reg < 16 && i.rm < 16);
        uint64_t row = kymo_row_from_code(&window, window.own_lo + at, at & 1);
        check(row == KYMO_ROW_GAP || (row == KYMO_ROW_END && at & 1) ||
              (row != KYMO_ROW_NONE && kymo_row_kind(row) <= KYMO_ROW_KIND_DEREF));
        check(row == kymo_row_sanitize(row));
    }
    return 0;
}
