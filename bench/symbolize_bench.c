/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolize_bench FILE < ADDRESSES - names hexadecimal ELF addresses as `addr2line -f -C -i` does,
 * and prints them as it does, so that bench/run can count the same frames in both.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "symbolize/symbolize.h"

typedef KYMO_VEC(uint64_t) address_vec;

static kymo_err read_addresses(address_vec *out)
{
    char line[64];
    while (fgets(line, sizeof line, stdin))
        KYMO_TRY(kymo_vec_push(out, strtoull(line, NULL, 16)));
    return KYMO_OK;
}

static void print_frame(const kymo_symbol_frame *f)
{
    printf("%s\n%s:%u\n", f->function ? f->function : "??", f->file ? f->file : "??", f->line);
}

static kymo_err symbolize(kymo_symbolizer *symbolizer, const char *path,
                          const address_vec *addresses)
{
    kymo_symbol_module wanted = {.paths = &path, .n_paths = 1, .allow_unverified = true};
    kymo_module_symbols *module;
    KYMO_TRY(kymo_symbolizer_open_module(symbolizer, &wanted, &module, NULL));
    kymo_symbol_frames frames = {0};
    kymo_symbol_result *results = calloc(addresses->len + 1, sizeof *results);
    kymo_err err =
        results ? kymo_module_symbolize(module, addresses->data, addresses->len, results, &frames)
                : KYMO_E_NOMEM;
    for (size_t i = 0; err == KYMO_OK && i < addresses->len; i++) {
        for (uint32_t k = 0; k < results[i].n_frames; k++)
            print_frame(&frames.data[results[i].first_frame + k]);
        if (results[i].n_frames == 0)
            print_frame(&(kymo_symbol_frame){0});
    }
    free(results);
    kymo_symbol_frames_deinit(&frames);
    return err;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: symbolize_bench FILE < ADDRESSES\n");
        return 2;
    }
    address_vec addresses = {0};
    kymo_symbolizer *symbolizer = NULL;
    kymo_err err = read_addresses(&addresses);
    if (err == KYMO_OK)
        err = kymo_symbolizer_create(NULL, &symbolizer);
    if (err == KYMO_OK)
        err = symbolize(symbolizer, argv[1], &addresses);
    if (err != KYMO_OK)
        fprintf(stderr, "symbolize_bench: %s: %s\n", argv[1], kymo_err_text(err));
    kymo_symbolizer_destroy(symbolizer);
    kymo_vec_deinit(&addresses);
    return err == KYMO_OK ? 0 : 1;
}
