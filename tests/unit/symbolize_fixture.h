/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolize_fixture.h - the files made of tests/fixtures/places.c, and where its places are.
 */
#ifndef KYMO_TESTS_SYMBOLIZE_FIXTURE_H
#define KYMO_TESTS_SYMBOLIZE_FIXTURE_H

#include "symbolize/elf_file.h"
#include "symbolize/symbolize.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ok(expr) assert_int_equal((expr), KYMO_OK)

/* The path of a fixture; NULL when the tool that makes it is missing. */
static inline const char *fixture(const char *name)
{
    static char paths[8][512];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", KYMO_FIXTURES, name);
    return access(path, R_OK) == 0 ? path : NULL;
}

static inline kymo_elf_file *open_elf(const char *path)
{
    kymo_elf_file *file = NULL;
    ok(kymo_elf_open(path, &file));
    return file;
}

/* The value of a symbol, whatever its kind, read without the code under test; 0: none. */
static inline uint64_t symbol_value(const char *path, const char *name)
{
    kymo_elf_file *file = open_elf(path);
    kymo_elf_section *table = kymo_elf_find_type(file, SHT_SYMTAB);
    kymo_span symbols = {0}, names = {0};
    uint64_t value = 0;
    if (table) {
        ok(kymo_elf_load(file, table, &symbols));
        ok(kymo_elf_load(file, kymo_elf_section_at(file, table->link), &names));
    }
    for (size_t i = 0; i + sizeof(Elf64_Sym) <= symbols.size; i += sizeof(Elf64_Sym)) {
        Elf64_Sym s;
        memcpy(&s, symbols.data + i, sizeof s);
        if (strcmp((const char *)names.data + s.st_name, name) == 0)
            value = s.st_value;
    }
    kymo_elf_close(file);
    return value;
}

/* The line of a fixture's source that has the text; 0: none. */
static inline uint32_t source_line(const char *source, const char *text)
{
    char path[512], line[512];
    snprintf(path, sizeof path, "%s/%s", KYMO_FIXTURE_SOURCES, source);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    uint32_t found = 0;
    for (uint32_t n = 1; !found && fgets(line, sizeof line, f); n++)
        if (strstr(line, text))
            found = n;
    fclose(f);
    assert_int_not_equal(found, 0);
    return found;
}

/* A symbolizer with one module of one file, and the answer for one address. */
typedef struct opened {
    kymo_symbolizer *symbolizer;
    kymo_module_symbols *module;
    kymo_symbol_status status;
    kymo_symbol_frames frames;
} opened;

static inline opened open_with(const char *path, const kymo_symbolizer_options *options)
{
    opened o = {0};
    ok(kymo_symbolizer_create(options, &o.symbolizer));
    kymo_symbol_module wanted = {.paths = &path, .n_paths = 1, .allow_unverified = true};
    ok(kymo_symbolizer_open_module(o.symbolizer, &wanted, &o.module, &o.status));
    return o;
}

static inline kymo_symbol_result ask(opened *o, uint64_t address)
{
    kymo_symbol_result result;
    ok(kymo_module_symbolize(o->module, &address, 1, &result, &o->frames));
    return result;
}

static inline void close_opened(opened *o)
{
    kymo_symbol_frames_deinit(&o->frames);
    kymo_symbolizer_destroy(o->symbolizer);
}

#endif
