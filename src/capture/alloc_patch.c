/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_patch.c - leads calls of functions that only the allocator may export to our hooks.
 *
 * Layer:    capture; in libkymo-preload-alloc.so alone
 * Flow:     start -> [alloc_patch] -> alloc_extended.c
 * Threads:  the one that starts the program
 * Memory:   the tables of addresses of the program's modules
 * Signals:  not for handlers
 *
 * A module that calls mallocx has a slot with its address, which the loader fills. Our address is
 * put there if the slot holds, or will be given, what the allocator defines. A weak name that no
 * library defines stays 0. A program that looks one up by dlsym gets the allocator's function.
 *
 * Looked is once, before the program begins. What it loads later is left alone: only dlsym could
 * tell of that in time, and it would have to wait there for a lock of the loader's that it does not
 * take by itself, and that a forked child may find taken for ever.
 */
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/atomic.h"
#include "capture/alloc_extended.h"
#include "capture/alloc_next.h"
#include "capture/hook.h"
#include "capture/next_symbol.h"
#include "capture/state.h"
#include "sys/raw.h"

#define PAGE 4096u

typedef int iterate_fn(int (*)(struct dl_phdr_info *, size_t, void *), void *);

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

static const struct {
    const char *witness, *usable;
} families[] = {
#define FAMILY(family, witness, usable) [family] = {witness, usable},
    KYMO_EXTENDED_FAMILIES(FAMILY)
#undef FAMILY
};

struct look {
    uint32_t owners[KYMO_EXTENDED_FAMILY_COUNT];         /* modules with such functions */
    const ElfW(Dyn) * owner[KYMO_EXTENDED_FAMILY_COUNT]; /* the first of them */
};

struct module {
    struct link_map map; /* as much of it as is asked for */
    uint64_t lo, hi;
    uint64_t relro_lo, relro_hi; /* what the loader protects when it has filled it */
};

static struct module module_of(const struct dl_phdr_info *info)
{
    struct module m = {.map = {.l_addr = info->dlpi_addr}, .lo = UINT64_MAX};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t lo = info->dlpi_addr + p->p_vaddr;
        uint64_t hi = lo + p->p_memsz;
        if (p->p_type == PT_DYNAMIC) {
            m.map.l_ld = (ElfW(Dyn) *)lo;
        } else if (p->p_type == PT_LOAD) {
            m.lo = lo < m.lo ? lo : m.lo;
            m.hi = hi > m.hi ? hi : m.hi;
        } else if (p->p_type == PT_GNU_RELRO) {
            m.relro_lo = lo & ~(uint64_t)(PAGE - 1);
            m.relro_hi = hi & ~(uint64_t)(PAGE - 1);
        }
    }
    return m;
}

/* ---- who has such functions ---- */

static void take_functions(const struct kymo_symbol_table *table, uint32_t family)
{
    for (uint32_t i = 0; i < kymo_extended_count; i++) {
        const struct kymo_extended_function *f = &kymo_extended_functions[i];
        if (f->family == family)
            kymo_store_relaxed(f->next, (kymo_extended_fn *)kymo_symbol_table_find(table, f->name));
    }
    kymo_store_relaxed(
        &kymo_extended_usable[family],
        (kymo_extended_usable_fn *)kymo_symbol_table_find(table, families[family].usable));
    if (family == KYMO_EXTENDED_OF_MIMALLOC)
        kymo_store_relaxed(&kymo_extended_visit, (kymo_extended_visit_fn *)kymo_symbol_table_find(
                                                     table, "mi_heap_visit_blocks"));
}

static int find_owner(struct dl_phdr_info *info, size_t size, void *context)
{
    struct look *look = context;
    struct kymo_symbol_table table;
    struct module m = module_of(info);
    (void)size;
    if (m.map.l_ld == _DYNAMIC || !kymo_symbol_table_init(&table, &m.map))
        return 0;
    for (uint32_t i = 0; i < KYMO_EXTENDED_FAMILY_COUNT; i++) {
        if (!kymo_symbol_table_find(&table, families[i].witness))
            continue;
        if (look->owners[i]++ == 0) {
            look->owner[i] = m.map.l_ld;
            take_functions(&table, i);
        }
    }
    return 0;
}

/* ---- who calls them ---- */

/* The hook of a slot that is filled with what it stands in front of, or, where the loader leaves
 * that to the first call (is_lazy), leads into its own module: then there has to be one allocator
 * that it can come to lead to. */
static kymo_extended_fn *hook_of(const struct look *look, const struct module *m, const char *name,
                                 uint64_t value, int is_lazy)
{
    int is_open = is_lazy && value >= m->lo && value < m->hi;
    for (uint32_t i = 0; i < kymo_extended_count; i++) {
        const struct kymo_extended_function *f = &kymo_extended_functions[i];
        uint64_t next = (uint64_t)(uintptr_t)*f->next;
        int is_sure = look->owners[f->family] == 1;
        if (next && look->owner[f->family] && look->owner[f->family] != m->map.l_ld &&
            (value == next || (is_open && is_sure)) && strcmp(f->name, name) == 0)
            return f->hook;
    }
    return NULL;
}

/* Most names are none of ours. */
static int may_be_extended(const char *name)
{
    switch (name[0]) {
    case 'm':
        return (name[1] == 'i' && name[2] == '_') || (name[1] == 'a' && name[2] == 'l');
    case 't':
        return name[1] == 'c' && name[2] == '_';
    case 'j':
        return name[1] == 'e' && name[2] == '_';
    case '_':
        return name[1] == 'r' && name[2] == 'j';
    case 'r':
    case 'x':
    case 'd':
        return name[1] == 'a' && name[2] == 'l';
    case 's':
        return name[1] == 'd' && name[2] == 'a';
    case 'c':
        return name[1] == 'f' && name[2] == 'r';
    default:
        return 0;
    }
}

static int protect(const struct module *m, int protection)
{
    return kymo_syscall3(SYS_mprotect, (long)m->relro_lo, (long)(m->relro_hi - m->relro_lo),
                         protection) == 0;
}

static void patch_slot(const struct module *m, uint64_t *slot, kymo_extended_fn *hook, int *is_open)
{
    uint64_t at = (uint64_t)(uintptr_t)slot;
    if (at >= m->relro_lo && at < m->relro_hi && !*is_open) {
        if (!protect(m, PROT_READ | PROT_WRITE))
            return;
        *is_open = 1;
    }
    kymo_store_release(slot, (uint64_t)(uintptr_t)hook);
}

static void patch_table(const struct look *look, const struct module *m,
                        const struct kymo_symbol_table *table, const ElfW(Rela) * slots,
                        uint64_t bytes)
{
    int is_open = 0;
    for (uint64_t i = 0; slots && i < bytes / sizeof *slots; i++) {
        uint64_t type = ELF64_R_TYPE(slots[i].r_info);
        const ElfW(Sym) *symbol = &table->symbols[ELF64_R_SYM(slots[i].r_info)];
        const char *name = table->strings + symbol->st_name;
        /* What the module defines itself is its own, whatever it is called. */
        if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
            symbol->st_shndx != SHN_UNDEF || !may_be_extended(name))
            continue;
        uint64_t *slot = (uint64_t *)(uintptr_t)(m->map.l_addr + slots[i].r_offset);
        kymo_extended_fn *hook =
            hook_of(look, m, name, kymo_load_relaxed(slot), type == R_X86_64_JUMP_SLOT);
        if (hook)
            patch_slot(m, slot, hook, &is_open);
    }
    if (is_open)
        (void)protect(m, PROT_READ);
}

static int patch_module(struct dl_phdr_info *info, size_t size, void *context)
{
    const struct look *look = context;
    struct kymo_symbol_table table;
    struct module m = module_of(info);
    const void *calls = NULL;
    const void *others = NULL;
    uint64_t calls_bytes = 0;
    uint64_t others_bytes = 0;
    (void)size;
    if (m.map.l_ld == _DYNAMIC || !kymo_symbol_table_init(&table, &m.map))
        return 0;
    for (const ElfW(Dyn) *d = m.map.l_ld; d->d_tag != DT_NULL; d++) {
        /* The vDSO's are not moved to where it is, and it has none. */
        const void *value = (const void *)(uintptr_t)d->d_un.d_ptr;
        if (d->d_tag == DT_JMPREL && d->d_un.d_ptr >= m.lo)
            calls = value;
        else if (d->d_tag == DT_PLTRELSZ)
            calls_bytes = d->d_un.d_val;
        else if (d->d_tag == DT_RELA && d->d_un.d_ptr >= m.lo)
            others = value;
        else if (d->d_tag == DT_RELASZ)
            others_bytes = d->d_un.d_val;
    }
    patch_table(look, &m, &table, calls, calls_bytes);
    patch_table(look, &m, &table, others, others_bytes);
    return 0;
}

/* ---- when ---- */

__attribute__((constructor(101))) static void look_at_start(void)
{
    iterate_fn *iterate = (iterate_fn *)(uintptr_t)kymo_alloc_next_symbol("dl_iterate_phdr", 0);
    struct look look = {0};
    int is_needed = 0;
    if (!iterate)
        return;
    (void)iterate(find_owner, &look);
    for (uint32_t i = 0; i < KYMO_EXTENDED_FAMILY_COUNT; i++)
        is_needed |= look.owners[i] != 0;
    if (is_needed)
        (void)iterate(patch_module, &look);
}
