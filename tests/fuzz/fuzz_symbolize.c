/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is an ELF file with whatever it has of symbols and DWARF. Any bytes give names or none,
 * in bounded time. Once symbolized, each answer must be one that can be: frames inside of the
 * array, and text that ends.
 */
#include <stdlib.h>
#include <string.h>

#include "symbolize/elf_file.h"
#include "symbolize/symbolize.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { PER_SECTION = 48, MAX_ADDRESSES = 512 };

/* Addresses all over the code, and a few where there should be none. */
static size_t choose_addresses(const uint8_t *data, size_t len, uint64_t *out)
{
    size_t n = 0;
    out[n++] = 0;
    out[n++] = UINT64_MAX;
    kymo_elf_file *file;
    if (kymo_elf_open_image(data, len, &file) != KYMO_OK)
        return n;
    for (size_t i = 1; i < file->n_sections && n + PER_SECTION < MAX_ADDRESSES; i++) {
        const kymo_elf_section *s = &file->sections[i];
        if (!(s->flags & SHF_EXECINSTR) || s->size == 0)
            continue;
        uint64_t step = s->size / PER_SECTION + 1;
        for (uint64_t at = 0, k = 0; at < s->size && k < PER_SECTION; at += step, k++)
            out[n++] = s->address + at;
    }
    kymo_elf_close(file);
    return n;
}

static void check_text(const char *text)
{
    if (text && strlen(text) > (1u << 20))
        __builtin_trap();
}

static void symbolize(kymo_symbolizer *symbolizer, const uint8_t *data, size_t len)
{
    static uint64_t addresses[MAX_ADDRESSES];
    static kymo_symbol_result results[MAX_ADDRESSES];
    kymo_symbol_module wanted = {.image = data, .image_size = len, .allow_unverified = true};
    kymo_module_symbols *module;
    kymo_symbol_frames frames = {0};
    if (kymo_symbolizer_open_module(symbolizer, &wanted, &module, NULL) != KYMO_OK)
        return;
    size_t n = choose_addresses(data, len, addresses);
    kymo_err err = kymo_module_symbolize(module, addresses, n, results, &frames);
    for (size_t i = 0; i < n && err == KYMO_OK; i++) {
        const kymo_symbol_result *r = &results[i];
        if ((uint64_t)r->first_frame + r->n_frames > frames.len || (r->named && !r->n_frames))
            __builtin_trap();
        check_text(r->symbol_name);
        for (uint32_t k = 0; k < r->n_frames; k++) {
            const kymo_symbol_frame *f = &frames.data[r->first_frame + k];
            check_text(f->function);
            check_text(f->file);
            if (!f->function != !f->system_name)
                __builtin_trap();
        }
    }
    kymo_symbol_frames_deinit(&frames);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const char *const no_dirs[] = {NULL};
    kymo_symbolizer_options options = {.debug_dirs = no_dirs};
    kymo_symbolizer *symbolizer;
    if (kymo_symbolizer_create(&options, &symbolizer) != KYMO_OK)
        return 0;
    symbolize(symbolizer, data, len);
    kymo_symbolizer_destroy(symbolizer);
    return 0;
}
