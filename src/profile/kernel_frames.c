/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_frames.c - see kernel_frames.h.
 *
 * The names of kernel frames are in the recording: only the machine that recorded them knew.
 * Addresses are relative to the start of the kernel or of a kernel module; the recording does not
 * contain the offset that KASLR chose. So the kernel is shown at its address without KASLR, and
 * modules one after the other in the range of modules, each with room for a large one.
 */
#include "profile/kernel_frames.h"

#include <string.h>

#define KERNEL_NAME "[kernel.kallsyms]"
#define KERNEL_START 0xffffffff81000000ull
#define MODULES_START 0xffffffffc0000000ull
#define MODULE_BYTES 0x400000ull
#define MODULES_SHOWN 250u

void kymo_kernel_frames_deinit(kymo_kernel_frames *k)
{
    kymo_vec_deinit(&k->symbols);
    kymo_vec_deinit(&k->modules);
    kymo_index_deinit(&k->module_index);
}

static kymo_err add_text(kymo_profile *profile, const char *text, uint32_t *id)
{
    return kymo_profile_add_string(profile, text, strlen(text), id);
}

kymo_err kymo_kernel_frames_add_symbol(kymo_kernel_frames *k, kymo_profile *profile,
                                       const kymo_event_kernel_symbol *e)
{
    struct kymo_kernel_symbol symbol = {.address = e->address};
    if (e->symbol != k->symbols.len)
        return KYMO_E_INVALID;
    KYMO_TRY(add_text(profile, e->name, &symbol.name));
    KYMO_TRY(add_text(profile, e->module, &symbol.module_name));
    return kymo_vec_push(&k->symbols, symbol);
}

/* The module of this name. It belongs to the first process: all processes have the same kernel. */
static kymo_err find_module(kymo_kernel_frames *k, kymo_profile *profile, uint32_t name,
                            uint32_t *module)
{
    uint64_t word = name;
    uint64_t hash = kymo_hash_words(&word, 1, kymo_hash_secret());
    size_t probe = 0;
    uint32_t at;
    while (kymo_index_find(&k->module_index, hash, &probe, &at)) {
        if (k->modules.data[at].name == name) {
            *module = k->modules.data[at].id;
            return KYMO_OK;
        }
    }
    at = (uint32_t)k->modules.len;
    kymo_module row = {
        .size = sizeof row,
        .path = kymo_profile_string(profile, name),
        .category = KYMO_CATEGORY_KERNEL,
        .start = KERNEL_START,
        .end = MODULES_START,
    };
    if (strcmp(row.path, KERNEL_NAME) != 0) {
        row.start = MODULES_START + (at < MODULES_SHOWN ? at : MODULES_SHOWN) * MODULE_BYTES;
        row.end = row.start + MODULE_BYTES;
    }
    row.load_bias = row.start;
    KYMO_TRY(kymo_profile_add_module(profile, &row, module));
    KYMO_TRY(kymo_vec_push(&k->modules, (struct kymo_kernel_module){name, *module}));
    return kymo_index_put(&k->module_index, hash, at);
}

/* A kernel frame of unknown address. */
static kymo_err make_somewhere(kymo_profile *profile, uint32_t *frame)
{
    kymo_function function = {.source = KYMO_NONE, .module = KYMO_NONE};
    uint32_t id;
    KYMO_TRY(add_text(profile, "[kernel]", &function.name));
    KYMO_TRY(kymo_profile_add_function(profile, &function, &id));
    return kymo_profile_add_label_frame(profile, id, KYMO_CATEGORY_KERNEL, frame);
}

kymo_err kymo_kernel_frames_find(kymo_kernel_frames *k, kymo_profile *profile,
                                 const kymo_event_kernel_frame *e, uint32_t *frame)
{
    if (e->symbol == KYMO_EVENT_NONE)
        return make_somewhere(profile, frame);
    if (e->symbol >= k->symbols.len)
        return KYMO_E_INVALID;
    const struct kymo_kernel_symbol *s = &k->symbols.data[e->symbol];
    kymo_function function = {.name = s->name, .source = KYMO_NONE};
    kymo_symbol symbol = {.name = s->name, .address = s->address};
    uint64_t address = s->address + e->offset;
    if (address == KYMO_NO_ADDRESS)
        address--; /* the value has a special meaning in a frame, and cannot be code */
    KYMO_TRY(find_module(k, profile, s->module_name, &function.module));
    symbol.module = function.module;
    KYMO_TRY(
        kymo_profile_add_frame(profile, function.module, address, KYMO_CATEGORY_KERNEL, frame));
    if (kymo_profile_frame(profile, *frame)->line_count > 0)
        return KYMO_OK;
    kymo_line line = {0};
    uint32_t symbol_id;
    KYMO_TRY(kymo_profile_add_function(profile, &function, &line.function));
    KYMO_TRY(kymo_profile_add_symbol(profile, &symbol, &symbol_id));
    return kymo_profile_frame_set_lines(profile, *frame, &line, 1, symbol_id, 1);
}
