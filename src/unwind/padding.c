/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/padding.h"

#include <string.h>

#include "arch/machine_code.h"

#define PADDING_MAX 64u /* functions are aligned to at most that */

uint64_t kymo_padding_end(struct kymo_stack_window *window, uint64_t pc)
{
    uint64_t at = pc;
    if (window->outside || !window->probe_allowed)
        return 0;
    while (at - pc < PADDING_MAX) {
        uint64_t words[2];
        uint8_t code[sizeof words];
        if (!kymo_window_load(window, at, &words[0]) ||
            !kymo_window_load(window, at + sizeof words[0], &words[1]))
            return 0;
        memcpy(code, words, sizeof code);
        unsigned length = kymo_nop_length(code);
        if (length == 0)
            return at == pc ? 0 : at;
        at += length;
    }
    return 0;
}
