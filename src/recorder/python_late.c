/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_late.c - see python_late.h.
 *
 * PostgreSQL's PL/Python and uWSGI's plug-in bring libpython with them. Its file says where things
 * are, and its memory how: nothing is called in the program. What cannot be read is left as it is:
 * samples show the interpreter's own functions then.
 */
#include "recorder/python_late.h"

#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/atomic.h"
#include "observe/remote.h"
#include "symbolize/elf_file.h"

/* The interpreter's own table of offsets is shorter. */
#define TABLE_BYTES 1024u

enum wanted { RUNTIME, CODE_TYPE, EVALUATOR, VERSION, WANTED };
static const char *const names[WANTED] = {"_PyRuntime", "PyCode_Type", "_PyEval_EvalFrameDefault",
                                          "Py_Version"};

static int read_memory(pid_t pid, uint64_t address, void *out, size_t size)
{
    struct iovec here = {out, size};
    struct iovec there = {(void *)(uintptr_t)address, size};
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static void look_at(const kymo_span *strings, const kymo_span *table, Elf64_Sym found[WANTED])
{
    Elf64_Sym symbol;
    for (size_t at = 0; at + sizeof symbol <= table->size; at += sizeof symbol) {
        memcpy(&symbol, table->data + at, sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= strings->size)
            continue;
        for (int i = 0; i < WANTED; i++) /* a NUL follows the section */
            if (strcmp((const char *)strings->data + symbol.st_name, names[i]) == 0)
                found[i] = symbol;
    }
}

static kymo_err read_symbols(const char *path, Elf64_Sym found[WANTED])
{
    kymo_elf_file *file;
    kymo_span strings, table;
    KYMO_TRY(kymo_elf_open(path, &file));
    kymo_elf_section *symbols = kymo_elf_find_type(file, SHT_DYNSYM);
    kymo_elf_section *texts = symbols ? kymo_elf_section_at(file, symbols->link) : NULL;
    kymo_err err = texts ? kymo_elf_load(file, symbols, &table) : KYMO_E_NOT_FOUND;
    if (err == KYMO_OK) {
        err = kymo_elf_load(file, texts, &strings);
        if (err == KYMO_OK) {
            look_at(&strings, &table, found);
            kymo_elf_unload(texts);
        }
        kymo_elf_unload(symbols);
    }
    kymo_elf_close(file);
    return err;
}

/* The minor version: the interpreter says it from 3.11 on, before that its file's name does. */
static uint32_t version_of(pid_t pid, uint64_t address, const char *name)
{
    uint64_t hex;
    if (!address)
        return (uint32_t)strtoul(name + sizeof KYMO_PYTHON_LIBRARY - 1, NULL, 10);
    return read_memory(pid, address, &hex, sizeof hex) && hex >> 24 == 3
               ? (uint32_t)(hex >> 16 & 0xff)
               : 0;
}

int kymo_python_late(struct kymo_session *s, pid_t pid, const struct kymo_module_entry *m,
                     const char *path)
{
    char there[PATH_MAX];
    unsigned char table[TABLE_BYTES];
    Elf64_Sym found[WANTED] = {{0}};
    uint64_t address[WANTED];
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    if (kymo_load_relaxed(&s->python) || kymo_load_relaxed(&s->python_came) ||
        strncmp(name, KYMO_PYTHON_LIBRARY, sizeof KYMO_PYTHON_LIBRARY - 1) != 0)
        return 0;
    /* As the program sees it, which may have another root. */
    int len = snprintf(there, sizeof there, "/proc/%d/root%s", (int)pid, path);
    if (len < 0 || (size_t)len >= sizeof there || read_symbols(there, found) != KYMO_OK)
        return 0;
    for (int i = 0; i < WANTED; i++)
        address[i] = found[i].st_value ? found[i].st_value + m->bias : 0;
    struct kymo_python *python = &s->python_late;
    *python = (struct kymo_python){.minor = version_of(pid, address[VERSION], name),
                                   .runtime = address[RUNTIME],
                                   .code_type = address[CODE_TYPE],
                                   .eval_lo = address[EVALUATOR],
                                   .eval_hi = address[EVALUATOR] + found[EVALUATOR].st_size,
                                   .lo = m->map_start,
                                   .hi = m->map_end};
    if (!python->runtime || !python->code_type || !python->eval_lo || !python->minor)
        return 0;
    kymo_store_relaxed(&s->python, python->minor);
    if (!read_memory(pid, python->runtime, table, sizeof table) ||
        !kymo_python_offsets_of(python->minor, table, &python->offsets) ||
        !kymo_python_lists_of(python->minor, table, &python->lists))
        return 0;
    s->python_runtime = python->runtime;
    s->python_code_type = python->code_type;
    s->python_eval_lo = python->eval_lo;
    s->python_eval_hi = python->eval_hi;
    kymo_store_relaxed(&s->python_lo, python->lo);
    kymo_store_relaxed(&s->python_hi, python->hi);
    kymo_store_relaxed(&s->python_read, 1u);
    /* Pairs with the acquire in capture/take_stack.c. */
    kymo_store_release(&s->python_came, 1u);
    return 1;
}
