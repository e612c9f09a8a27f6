/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/padding.h"

#include <string.h>

#define PADDING_MAX 64u /* functions are aligned to at most that */
#define PREFIXES_MAX 10u
#define OPERAND_SIZE 0x66
#define SEGMENT_CS 0x2e

/* The length of the nop that these bytes begin with, 0: it is none. Those that assemblers write. */
static unsigned nop_length(const uint8_t code[16])
{
    unsigned prefixes = 0;
    while (prefixes < PREFIXES_MAX &&
           (code[prefixes] == OPERAND_SIZE || code[prefixes] == SEGMENT_CS))
        prefixes++;
    const uint8_t *op = code + prefixes;
    if (op[0] == 0x90)
        return prefixes + 1;
    if (op[0] != 0x0f || op[1] != 0x1f)
        return 0;
    switch (op[2]) { /* the operand that is not read: a register, a byte or a word behind it */
    case 0x00:
        return prefixes + 3;
    case 0x40:
        return prefixes + 4;
    case 0x44:
        return prefixes + 5;
    case 0x80:
        return prefixes + 7;
    case 0x84:
        return prefixes + 8;
    default:
        return 0;
    }
}

uint64_t kymo_padding_end(struct kymo_stack_window *window, uint64_t pc)
{
    uint64_t at = pc;
    if (window->is_copy || !window->probe_allowed)
        return 0;
    while (at - pc < PADDING_MAX) {
        uint64_t words[2];
        uint8_t code[sizeof words];
        if (!kymo_window_load(window, at, &words[0]) ||
            !kymo_window_load(window, at + sizeof words[0], &words[1]))
            return 0;
        memcpy(code, words, sizeof code);
        unsigned length = nop_length(code);
        if (length == 0)
            return at == pc ? 0 : at;
        at += length;
    }
    return 0;
}
