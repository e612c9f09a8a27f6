/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kallsyms_table.h - the table of kallsyms.h; for the files that it is made of.
 *
 * Layer:    observe
 * Flow:     kallsyms.c (from text) and kallsyms_pack.c (from bytes) -> [table] -> find
 * Threads:  one owner at a time
 * Memory:   its own vectors, or, of one that was unpacked, the bytes that everything lies in
 * Signals:  not for handlers
 */
#ifndef KYMO_OBSERVE_KALLSYMS_TABLE_H
#define KYMO_OBSERVE_KALLSYMS_TABLE_H

#include "base/hash.h"
#include "base/vec.h"
#include "observe/kallsyms.h"

#define KYMO_KALLSYMS_MODULES_MAX 4096u

struct kymo_kallsyms_symbol {
    uint64_t address;
    uint32_t name; /* offset in the text */
    uint16_t module;
    char type;
    uint8_t prefix; /* bytes that lie before the function itself, and are its own */
};

struct kymo_kallsyms_module {
    const char *name;
    uint64_t base; /* its lowest symbol; of the kernel _text, if there is one */
};

struct kymo_kallsyms {
    char *text;
    size_t text_len;                               /* of one that was unpacked */
    KYMO_VEC(struct kymo_kallsyms_symbol) symbols; /* by address, one for each */
    KYMO_VEC(struct kymo_kallsyms_module) modules; /* the kernel first */
    kymo_index module_index;
    void *packed; /* NULL: it was read from text */
};

static inline int kymo_kallsyms_is_code(char type)
{
    return type == 'T' || type == 't' || type == 'W' || type == 'w';
}

#endif
