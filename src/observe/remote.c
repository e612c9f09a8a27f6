/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote.c - see remote.h.
 *
 * Modules are found as the loader would: the mappings of a file that begin with its ELF header,
 * read from the process's memory, say where the rest lies. A program that reads such a file maps it
 * as it is, and what the headers promise is not there: so code must be where they say. Their
 * .eh_frame is read once for each file (remote_frames.h).
 *
 * A walk reads a few KiB of the stack from the stack pointer up, and begins again with more when it
 * comes to their end: most stacks of waiting threads are short.
 */
#include "observe/remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/search.h"
#include "base/vec.h"
#include "observe/remote_frames.h"
#include "observe/task.h"
#include "sys/proc_maps.h"
#include "unwind/code_walk.h"
#include "unwind/module.h"
#include "unwind/stack_window.h"

#define PAGE 4096u
#define OWN_MAX (128ull << 20) /* of one process's unwind information that is not shared */
#define MODULES_MAX 4096u
#define RED_ZONE 128u
#define STACK_FIRST (8u << 10)
#define STACK_MAX (1u << 20)
#define CACHE_SLOTS 4096u
#define CODE_READS_MAX 64u /* of a walk: no program keeps the recorder from others */

struct module {
    struct kymo_remote_module public;
    struct kymo_remote_frames frames;
    uint64_t device_major, device_minor, inode; /* of its file; inode 0: none */
    int seen;                                   /* by the refresh at hand */
};

struct kymo_remote {
    kymo_remote_store *store;
    pid_t pid;
    uint64_t generation;
    uint64_t own_bytes;              /* of its modules */
    uint64_t program;                /* where it begins to run */
    KYMO_VEC(struct module) modules; /* sorted */
    KYMO_VEC(struct kymo_outside_module) outside;
    struct kymo_outside view;
    unsigned char *stack;
    size_t stack_bytes;
    struct kymo_row_slot *cache;
    struct kymo_walker walker;
    uint64_t code_page;  /* whose copy is below, of the walk at hand; 0: none */
    uint32_t code_reads; /* of the walk at hand */
    unsigned char code[PAGE];
};

/* ---- modules ---- */

static void drop_module(kymo_remote *r, struct module *m)
{
    if (m->frames.own)
        r->own_bytes -= m->frames.image.size;
    free(m->frames.own);
    free(m->public.path);
}

/* What may be a module: a mapping begins with its ELF header. path is NULL if there is none. */
struct candidate {
    struct module module;
    struct kymo_address_range notes[KYMO_REMOTE_NOTES];
    struct kymo_remote_mapped mapped;
    uint64_t start; /* of the mapping */
    unsigned char headers[PAGE];
};

static int may_not_read(void)
{
    return errno == EPERM || errno == EACCES;
}

/* Where a process's memory may be read by its parents alone (kernel.yama.ptrace_scope), its files
 * may be read all the same. start: of a mapping of the file's beginning. */
static size_t read_memory_or_file(const struct candidate *c, uint64_t start, uint64_t address,
                                  void *out, size_t size)
{
    size_t have = kymo_remote_memory(c->mapped.pid, address, out, size);
    return have > 0 || !may_not_read() ? have
                                       : kymo_remote_file(&c->mapped, address - start, out, size);
}

static kymo_err read_header(kymo_remote *r, const struct kymo_proc_mapping *mapping,
                            struct candidate *c)
{
    drop_module(r, &c->module);
    c->module = (struct module){
        .public = {.number = UINT32_MAX},
        .device_major = mapping->device_major,
        .device_minor = mapping->device_minor,
        .inode = mapping->inode,
        .seen = 1,
    };
    c->start = mapping->start;
    c->mapped = (struct kymo_remote_mapped){
        .pid = r->pid,
        .path = mapping->path,
        .device_major = mapping->device_major,
        .device_minor = mapping->device_minor,
        .inode = mapping->inode,
        .headers = c->headers,
    };
    const size_t have = c->mapped.header_bytes =
        read_memory_or_file(c, mapping->start, mapping->start, c->headers, sizeof c->headers);
    if (!kymo_remote_parse_headers(c->headers, have, mapping->start, &c->module.public, c->notes,
                                   &c->mapped.segment))
        return KYMO_OK;
    c->module.public.path = strdup(mapping->path);
    return c->module.public.path ? KYMO_OK : KYMO_E_NOMEM;
}

static int has_code_in(const struct candidate *c, const struct kymo_proc_mapping *mapping)
{
    const struct kymo_remote_module *m = &c->module.public;
    return m->path && mapping->is_executable && m->text_start >= mapping->start &&
           m->text_start < mapping->end;
}

/* It is one; one that was known stays as it is. */
static kymo_err take_module(kymo_remote *r, struct candidate *c)
{
    unsigned char page[PAGE];
    struct module m = c->module;
    c->module.public.path = NULL;
    for (uint32_t i = 0; i < KYMO_REMOTE_NOTES && m.public.build_id_len == 0; i++) {
        uint64_t size = c->notes[i].hi - c->notes[i].lo;
        c->mapped.path = m.public.path;
        size_t have = read_memory_or_file(c, c->start, c->notes[i].lo, page,
                                          size < sizeof page ? (size_t)size : sizeof page);
        /* Its header was there, so it has ended, or runs another program by now. */
        if (have == 0 && size > 0) {
            drop_module(r, &m);
            return KYMO_OK;
        }
        kymo_remote_parse_note(page, have, &m.public);
    }
    for (size_t i = 0; i < r->modules.len; i++) {
        struct module *old = &r->modules.data[i];
        if (old->public.map_start == m.public.map_start &&
            old->public.map_end == m.public.map_end && old->public.bias == m.public.bias &&
            old->public.build_id_len == m.public.build_id_len &&
            memcmp(old->public.build_id, m.public.build_id, m.public.build_id_len) == 0 &&
            strcmp(old->public.path, m.public.path) == 0) {
            old->seen = 1;
            drop_module(r, &m);
            return KYMO_OK;
        }
    }
    kymo_err err = KYMO_OK;
    if (r->modules.len < MODULES_MAX) {
        c->mapped.path = m.public.path;
        c->mapped.module = &m.public;
        kymo_remote_frames_get(r->store, &c->mapped, OWN_MAX - r->own_bytes, &m.frames);
        r->own_bytes += m.frames.own ? m.frames.image.size : 0;
        err = kymo_vec_push(&r->modules, m);
        if (err == KYMO_OK)
            return KYMO_OK;
    }
    drop_module(r, &m);
    return err;
}

static int compare_modules(const void *a, const void *b)
{
    const struct module *x = a;
    const struct module *y = b;
    return x->public.map_start < y->public.map_start ? -1
                                                     : x->public.map_start > y->public.map_start;
}

/* What the walk sees: no two modules at one place. */
static kymo_err make_view(kymo_remote *r)
{
    if (r->modules.len > 1)
        qsort(r->modules.data, r->modules.len, sizeof *r->modules.data, compare_modules);
    /* Whatever becomes of it: what it named before may have moved, or be no more. */
    r->view.count = 0;
    r->outside.len = 0;
    kymo_walker_new_generation(&r->walker);
    uint64_t end = 0;
    for (size_t i = 0; i < r->modules.len; i++) {
        struct module *m = &r->modules.data[i];
        if (m->public.map_start < end)
            continue;
        end = m->public.map_end;
        KYMO_TRY(kymo_vec_push(&r->outside, (struct kymo_outside_module){
                                                .map_start = m->public.map_start,
                                                .map_end = m->public.map_end,
                                                .eh_frame_hdr = m->frames.hdr,
                                                .images = &m->frames.image,
                                                .image_count = m->frames.image.size > 0,
                                                .rows = m->frames.rows,
                                                .bias = m->public.bias,
                                            }));
    }
    r->view.modules = r->outside.data;
    r->view.count = (uint32_t)r->outside.len;
    return KYMO_OK;
}

kymo_err kymo_remote_refresh(kymo_remote *r)
{
    char path[32];
    char *line = NULL;
    size_t cap = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)r->pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return errno == EACCES || errno == EPERM ? KYMO_E_PERMISSION : KYMO_E_NOT_FOUND;
    for (size_t i = 0; i < r->modules.len; i++)
        r->modules.data[i].seen = 0;
    struct candidate c = {0};
    kymo_err err = KYMO_E_NOT_FOUND; /* one that has ended maps nothing: what is known stays */
    while ((err == KYMO_OK || err == KYMO_E_NOT_FOUND) && getline(&line, &cap, f) > 0) {
        struct kymo_proc_mapping mapping;
        err = KYMO_OK;
        if (!kymo_proc_mapping_parse(line, &mapping))
            continue;
        mapping.path[mapping.path_len] = '\0';
        /* Linkers put a small file's code into the page of its header, which is so mapped twice. */
        if (!has_code_in(&c, &mapping) && mapping.offset == 0 &&
            (mapping.inode != 0 || strcmp(mapping.path, "[vdso]") == 0))
            err = read_header(r, &mapping, &c);
        if (err == KYMO_OK && has_code_in(&c, &mapping))
            err = take_module(r, &c);
    }
    drop_module(r, &c.module);
    free(line);
    fclose(f);
    /* It has ended meanwhile, and its memory is gone before its mappings are. */
    if (err == KYMO_OK && kymo_remote_is_gone(r->pid))
        err = KYMO_E_NOT_FOUND;
    size_t kept = 0;
    for (size_t i = 0; i < r->modules.len; i++) {
        if (r->modules.data[i].seen || err != KYMO_OK)
            r->modules.data[kept++] = r->modules.data[i];
        else
            drop_module(r, &r->modules.data[i]);
    }
    r->generation += kept != r->modules.len;
    r->modules.len = kept;
    kymo_err viewed = make_view(r);
    return err != KYMO_OK ? err : viewed;
}

static int ends_below(const void *modules, size_t i, const void *key)
{
    const struct module *m = modules;
    const uint64_t *pc = key;
    return m[i].public.map_end <= *pc;
}

struct kymo_remote_module *kymo_remote_module_at(kymo_remote *r, uint64_t pc)
{
    size_t at = kymo_search_count(r->modules.data, r->modules.len, ends_below, &pc);
    return at < r->modules.len && pc >= r->modules.data[at].public.map_start
               ? &r->modules.data[at].public
               : NULL;
}

uint64_t kymo_remote_generation(const kymo_remote *r)
{
    return r->generation;
}

int kymo_remote_is_program(const kymo_remote *r, const struct kymo_remote_module *m)
{
    return r->program >= m->text_start && r->program < m->text_end;
}

int kymo_remote_has_python(const kymo_remote *r)
{
    for (size_t i = 0; i < r->modules.len; i++) {
        const char *path = r->modules.data[i].public.path;
        const char *slash = strrchr(path, '/');
        if (strncmp(slash ? slash + 1 : path, KYMO_PYTHON_LIBRARY,
                    sizeof KYMO_PYTHON_LIBRARY - 1) == 0)
            return 1;
    }
    return 0;
}

size_t kymo_remote_read(const kymo_remote *r, uint64_t address, void *out, size_t size)
{
    return kymo_remote_memory(r->pid, address, out, size);
}

int kymo_remote_is_gone(pid_t pid)
{
    char byte;
    /* Nothing is at 0; which of the two it says is the answer. */
    return kymo_remote_memory(pid, 0, &byte, sizeof byte) == 0 && errno == ESRCH;
}

int kymo_remote_row(kymo_remote *r, uint64_t pc, uint64_t *word, uint64_t *function)
{
    struct kymo_unwind_module module;
    struct kymo_cfi_index index;
    struct kymo_cfi_fde fde;
    struct kymo_cfi_row row;
    struct kymo_cfi_image image;
    bool signal_frame;
    if (!kymo_module_find(&r->view, pc, &module) ||
        kymo_module_row(&module, pc, word, &row, &signal_frame, &image) != KYMO_CFI_FOUND)
        return 0;
    image = module.outside->images[0]; /* a row that was kept says nothing of it */
    if (kymo_cfi_index_open(&image, module.eh_frame_hdr, &index) != KYMO_CFI_FOUND)
        return 0;
    /* The row was found by the same steps, now or before. */
    uint32_t i = kymo_cfi_index_search(&index, pc);
    if (i == index.count ||
        kymo_cfi_fde_read(&image, kymo_cfi_index_fde(&index, i), &fde) != KYMO_CFI_FOUND)
        return 0;
    *function = fde.pc_begin;
    return 1;
}

/* ---- life ---- */

/* Where the program and its loader begin, which have no caller. */
static void find_entries(kymo_remote *r)
{
    uint64_t program = 0;
    uint64_t loader = 0;
    uint64_t entry = 0;
    kymo_task_entries(r->pid, &program, &loader);
    if (loader && kymo_remote_memory(r->pid, loader + 24, &entry, sizeof entry) != sizeof entry)
        loader = 0;
    r->program = program;
    kymo_walker_set_entries(&r->walker, program, loader ? loader + entry : 0);
}

/* It may have changed since the walk before. */
static void forget_code(kymo_remote *r)
{
    r->code_page = 0;
    r->code_reads = 0;
}

/* Code is in the file as it is in memory, which may not be read. */
static size_t read_code_of_file(kymo_remote *r, uint64_t address, void *out, size_t size)
{
    size_t at = kymo_search_count(r->modules.data, r->modules.len, ends_below, &address);
    const struct module *m = at < r->modules.len ? &r->modules.data[at] : NULL;
    if (!m || address < m->public.text_start || address >= m->public.text_end)
        return 0;
    const struct kymo_remote_mapped mapped = {.pid = r->pid,
                                              .path = m->public.path,
                                              .device_major = m->device_major,
                                              .device_minor = m->device_minor,
                                              .inode = m->inode};
    return kymo_remote_file(&mapped, m->public.text_offset + (address - m->public.text_start), out,
                            size);
}

static size_t read_code_bytes(kymo_remote *r, uint64_t address, void *out, size_t size)
{
    size_t have = kymo_remote_memory(r->pid, address, out, size);
    return have > 0 || !may_not_read() ? have : read_code_of_file(r, address, out, size);
}

/* Trampolines lie side by side, and a function's instructions: a walk reads few pages. */
static bool read_code(void *context, uint64_t address, uint64_t *word)
{
    kymo_remote *r = context;
    uint64_t page = address & ~(uint64_t)(PAGE - 1);
    int is_across = address - page > PAGE - sizeof *word;
    if (page == 0 || ((is_across || page != r->code_page) && r->code_reads++ >= CODE_READS_MAX))
        return false;
    if (is_across)
        return read_code_bytes(r, address, word, sizeof *word) == sizeof *word;
    if (page != r->code_page) {
        r->code_page = 0;
        if (read_code_bytes(r, page, r->code, PAGE) != PAGE)
            return false;
        r->code_page = page;
    }
    memcpy(word, r->code + (address - page), sizeof *word);
    return true;
}

int kymo_remote_is_return(kymo_remote *r, uint64_t pc)
{
    uint64_t row, function;
    struct kymo_stack_window window = {.outside = &r->view,
                                       .instructions_left = KYMO_INSTRUCTIONS_PER_WALK};
    return kymo_remote_row(r, pc - 1, &row, &function) && kymo_code_is_behind_call(&window, pc);
}

kymo_err kymo_remote_create(kymo_remote_store *store, pid_t pid, kymo_remote **out)
{
    kymo_remote *r = calloc(1, sizeof *r);
    if (!r)
        return KYMO_E_NOMEM;
    r->store = store;
    r->pid = pid;
    r->cache = calloc(CACHE_SLOTS, sizeof *r->cache);
    kymo_err err = r->cache ? kymo_walker_init(&r->walker, r->cache, CACHE_SLOTS) : KYMO_E_NOMEM;
    if (err == KYMO_OK) {
        r->view.read_code = read_code;
        r->view.context = r;
        r->walker.outside = &r->view;
        find_entries(r);
        err = kymo_remote_refresh(r);
    }
    if (err == KYMO_OK && r->modules.len == 0)
        err = KYMO_E_PERMISSION;
    if (err != KYMO_OK) {
        kymo_remote_destroy(r);
        return err;
    }
    *out = r;
    return KYMO_OK;
}

void kymo_remote_destroy(kymo_remote *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->modules.len; i++)
        drop_module(r, &r->modules.data[i]);
    kymo_vec_deinit(&r->modules);
    kymo_vec_deinit(&r->outside);
    free(r->stack);
    free(r->cache);
    free(r);
}

/* ---- walks ---- */

/* Copies size bytes of the stack, or what there is of them; 0 if there is nothing. */
static size_t copy_stack(kymo_remote *r, uint64_t lo, size_t size)
{
    if (size > r->stack_bytes) {
        unsigned char *grown = realloc(r->stack, size);
        if (!grown)
            return 0;
        r->stack = grown;
        r->stack_bytes = size;
    }
    return kymo_remote_memory(r->pid, lo, r->stack, size);
}

void kymo_remote_has_trampolines(kymo_remote *r)
{
    r->walker.has_trampolines = 1;
}

size_t kymo_remote_walk_with_sps(kymo_remote *r, const struct kymo_regs *regs, uint32_t known,
                                 uint64_t *pcs, uint64_t *sps, size_t max,
                                 struct kymo_walk_result *result)
{
    uint64_t sp = regs->gpr[KYMO_REG_SP];
    uint64_t lo = sp - RED_ZONE;
    size_t n = 0;
    forget_code(r);
    for (size_t size = STACK_FIRST; size <= STACK_MAX; size *= 8) {
        size_t have = copy_stack(r, lo, size);
        if (have == 0 && size == STACK_FIRST) {
            /* The red zone may reach into the page below, which need not be there. */
            lo = sp;
            have = copy_stack(r, lo, size);
        }
        if (have == 0)
            return 0;
        struct kymo_regs scratch = *regs;
        r->view.known = known;
        r->view.copy = r->stack;
        r->view.lo = lo;
        r->view.hi = lo + have;
        n = kymo_unwind_walk_with_sps(&r->walker, &scratch, NULL, pcs, sps, max, 0, result);
        if (result->end != KYMO_WALK_BAD_STACK || result->missing < lo || have < size)
            break;
    }
    return n;
}

size_t kymo_remote_walk(kymo_remote *r, const struct kymo_regs *regs, uint32_t known, uint64_t *pcs,
                        size_t max, struct kymo_walk_result *result)
{
    return kymo_remote_walk_with_sps(r, regs, known, pcs, NULL, max, result);
}

size_t kymo_remote_walk_copy(kymo_remote *r, const struct kymo_remote_copy *copy, uint64_t *pcs,
                             size_t max, struct kymo_walk_result *result)
{
    struct kymo_regs scratch = *copy->regs;
    forget_code(r);
    r->view.known = KYMO_REGS_ALL;
    r->view.copy = copy->stack;
    r->view.lo = scratch.gpr[KYMO_REG_SP];
    r->view.hi = r->view.lo + copy->stack_bytes;
    return kymo_unwind_walk(&r->walker, &scratch, NULL, pcs, max, 0, result);
}
