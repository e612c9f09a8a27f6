/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolize_tool.c - the symbolizer on the command line, for tests and benchmarks.
 *
 * usage: symbolize_tool [-s] FILE < ADDRESSES
 *
 * Reads ELF addresses in hexadecimal, one a line. Prints for each one line
 *     ADDRESS <tab> named (0, 1) <tab> symbol's address <tab> its size <tab> symbol's name
 * then one line for each frame, the innermost first,
 *     <tab> function <tab> system name <tab> file <tab> line <tab> start line
 * with "?" for what is not known. -s: prints what was found and used to standard error.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/vec.h"
#include "symbolize/symbolize.h"

static const char *or_unknown(const char *text)
{
    return text ? text : "?";
}

static void print_status(const kymo_symbol_status *st)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    double cpu = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                 (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
    fprintf(stderr, "file %s\ndebug %s\nalt %s\nsymtab %d dynsym %d debugdata %d dwarf %d\n",
            or_unknown(st->file), or_unknown(st->debug_file), or_unknown(st->alt_file), st->symtab,
            st->dynsym, st->debugdata, st->dwarf);
    fprintf(stderr, "symbols %zu\ncpu_s %.3f\nrss_kb %ld\n", st->n_symbols, cpu, use.ru_maxrss);
}

int main(int argc, char **argv)
{
    int status_wanted = argc > 1 && strcmp(argv[1], "-s") == 0;
    if (argc != 2 + status_wanted) {
        fprintf(stderr, "usage: symbolize_tool [-s] FILE < ADDRESSES\n");
        return 2;
    }
    const char *path = argv[argc - 1];
    KYMO_VEC(uint64_t) addresses = {0};
    char line[64];
    kymo_err err = KYMO_OK;
    while (err == KYMO_OK && fgets(line, sizeof line, stdin))
        err = kymo_vec_push(&addresses, strtoull(line, NULL, 16));

    kymo_symbolizer *symbolizer = NULL;
    kymo_module_symbols *module;
    kymo_symbol_status status = {0};
    kymo_symbol_frames frames = {0};
    kymo_symbol_module wanted = {.paths = &path, .n_paths = 1, .allow_unverified = true};
    kymo_symbol_result *results = calloc(addresses.len + 1, sizeof *results);
    if (err == KYMO_OK)
        err = results ? kymo_symbolizer_create(NULL, &symbolizer) : KYMO_E_NOMEM;
    if (err == KYMO_OK)
        err = kymo_symbolizer_open_module(symbolizer, &wanted, &module, &status);
    if (err == KYMO_OK)
        err = kymo_module_symbolize(module, addresses.data, addresses.len, results, &frames);
    for (size_t i = 0; err == KYMO_OK && i < addresses.len; i++) {
        const kymo_symbol_result *r = &results[i];
        printf("0x%" PRIx64 "\t%d\t0x%" PRIx64 "\t%" PRIu64 "\t%s\n", addresses.data[i], r->named,
               r->symbol_address, r->symbol_size, or_unknown(r->symbol_name));
        for (uint32_t k = 0; k < r->n_frames; k++) {
            const kymo_symbol_frame *f = &frames.data[r->first_frame + k];
            printf("\t%s\t%s\t%s\t%u\t%u\n", or_unknown(f->function), or_unknown(f->system_name),
                   or_unknown(f->file), f->line, f->start_line);
        }
    }
    if (status_wanted)
        print_status(&status);
    if (err != KYMO_OK)
        fprintf(stderr, "symbolize_tool: %s: %s\n", path, kymo_err_text(err));
    kymo_symbol_frames_deinit(&frames);
    kymo_symbolizer_destroy(symbolizer);
    free(results);
    kymo_vec_deinit(&addresses);
    return err == KYMO_OK ? 0 : 1;
}
