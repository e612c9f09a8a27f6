/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_find.c - looks for an interpreter when the process starts.
 *
 * CPython exports what is needed, also where it is linked into a stripped executable. One that is
 * loaded later (a plug-in of a server) is found by the recorder, when a stack first has its module:
 * no code of ours runs after a dlopen.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "capture/alloc_next.h"
#include "capture/python_stack.h"

/* Of this process and of its forked children: an interpreter stays where it is. */
static struct kymo_python found;
static uint32_t is_found; /* 1: that is whole */
static uint32_t minor_found;
static uint32_t is_free_threaded; /* 1: that has no GIL, and is not read */

/* The minor version; 0: not of version 3. */
static uint32_t minor_version(const struct kymo_symbol_table *library)
{
    union {
        uint64_t address;
        const char *(*call)(void);
    } version = {.address = kymo_symbol_table_find(library, "Py_GetVersion")};
    if (!version.address) {
        const unsigned long *hex = dlsym(RTLD_DEFAULT, "Py_Version"); /* from 3.11 on */
        return hex && *hex >> 24 == 3 ? *hex >> 16 & 0xff : 0;
    }
    /* It formats constants; "3.9.18 (main, ...)". */
    const char *text = version.call();
    return text[0] == '3' && text[1] == '.' ? (uint32_t)atoi(text + 2) : 0;
}

/* The library that has the evaluator. dlsym is asked for what is there alone: where it finds
 * nothing it allocates a message, which would be an allocation of the program's. */
static int find_library(struct kymo_symbol_table *table)
{
    for (const struct link_map *l = _r_debug.r_map; l; l = l->l_next)
        if (kymo_symbol_table_init(table, l) &&
            kymo_symbol_table_find(table, "_PyEval_EvalFrameDefault"))
            return 1;
    return 0;
}

static int find(struct kymo_python *python)
{
    struct kymo_symbol_table library;
    if (!find_library(&library))
        return 0;
    const void *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
    const void *code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
    void *eval = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
    const ElfW(Sym) *symbol = NULL;
    struct dl_find_object module;
    Dl_info info;
    if (!runtime || !code_type || !eval)
        return 0;
    minor_found = minor_version(&library);
    is_free_threaded = kymo_python_is_free_threaded(minor_found, runtime);
    if (!kymo_python_offsets_of(minor_found, runtime, &python->offsets) ||
        !kymo_python_lists_of(minor_found, runtime, &python->lists) ||
        !dladdr1(eval, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol ||
        _dl_find_object(eval, &module) != 0)
        return 0;
    python->minor = minor_found;
    python->runtime = (uint64_t)(uintptr_t)runtime;
    python->code_type = (uint64_t)(uintptr_t)code_type;
    python->eval_lo = (uint64_t)(uintptr_t)eval;
    python->eval_hi = python->eval_lo + symbol->st_size;
    python->lo = (uint64_t)(uintptr_t)module.dlfo_map_start;
    python->hi = (uint64_t)(uintptr_t)module.dlfo_map_end;
    return 1;
}

struct kymo_python *kymo_python_find(void)
{
    is_found = find(&found) != 0;
    return is_found ? &found : NULL;
}

void kymo_python_inherit(struct kymo_capture_process *p)
{
    if (!kymo_load_acquire(&is_found))
        return;
    p->python = &found;
    p->walker.has_trampolines = found.minor >= 12;
}

void kymo_python_adopt(struct kymo_capture_process *p)
{
    uint32_t before = 0;
    if (!kymo_cas_acq_rel(&p->python_adopted, &before, 1u))
        return; /* another thread does it, or has done so */
    found = p->session->python_late;
    minor_found = found.minor;
    kymo_store_release(&is_found, 1u);
    p->walker.has_trampolines = found.minor >= 12;
    /* Pairs with the acquire in take_stack.c. */
    kymo_store_release(&p->python, &found);
}

void kymo_python_tell(const struct kymo_capture_process *p, struct kymo_session *s)
{
    s->python = minor_found;
    s->python_read = p->python != NULL;
    s->python_free_threaded = is_free_threaded;
    s->python_tid_offset = p->tid_offset;
    if (!p->python)
        return;
    s->python_lo = p->python->lo;
    s->python_hi = p->python->hi;
    s->python_eval_lo = p->python->eval_lo;
    s->python_eval_hi = p->python->eval_hi;
    s->python_runtime = p->python->runtime;
    s->python_code_type = p->python->code_type;
}
