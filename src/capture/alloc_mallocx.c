/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_mallocx.c - the functions that jemalloc has beside those of the C library: mallocx and its
 * family, which BIND calls.
 *
 * Layer:    capture; in libkymo-preload-alloc.so alone
 * Flow:     the program's call -> [alloc_mallocx] -> alloc_count.h
 * Threads:  any; slots are changed by the one that starts the program
 * Memory:   the tables of addresses of the program's modules
 * Signals:  the hooks are as safe as the allocator's own functions
 *
 * Programs ask whether there is a mallocx to learn which allocator they have. So none of these
 * names is exported. A module that calls mallocx has a slot with its address, which the loader
 * fills. The address of a hook is put there if the slot holds, or will be given, what the allocator
 * defines. A weak name that no library defines stays 0. A program that looks one up by dlsym gets
 * the allocator's function.
 *
 * This is done once, before the program begins. Libraries that it loads later are left alone: only
 * dlsym could tell of them in time, and it would have to wait there for a lock of the loader's that
 * it does not take by itself, and that a forked child may find taken for ever.
 */
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/system.h"
#include "base/atomic.h"
#include "capture/alloc_count.h"
#include "capture/alloc_next.h"
#include "sys/raw.h"

#define PAGE KYMO_ARCH_PAGE_BYTES

/* X(type of the result, name, parameters) */
#define FUNCTIONS(X)                                                        \
    X(void *, mallocx, (size_t bytes, int flags))                           \
    X(void *, rallocx, (void *block, size_t bytes, int flags))              \
    X(size_t, xallocx, (void *block, size_t bytes, size_t more, int flags)) \
    X(void, dallocx, (void *block, int flags))                              \
    X(void, sdallocx, (void *block, size_t bytes, int flags))

/* The allocator's own; NULL: it has none. */
static struct {
#define FIELD(result, name, parameters) result(*name) parameters;
    FUNCTIONS(FIELD)
#undef FIELD
    size_t (*sallocx)(const void *block, int flags);
} next;

/* ---- the hooks ---- */

/* What malloc_usable_size says is true of the allocations of malloc's own library. */
static size_t usable(const void *block)
{
    if (!next.sallocx || kymo_alloc_asks)
        return 0;
    kymo_alloc_asks = 1;
    size_t bytes = next.sallocx(block, 0);
    kymo_alloc_asks = 0;
    return bytes;
}

static KYMO_NOINLINE void *mallocx_slowly(size_t bytes, int flags, uint64_t here)
{
    struct kymo_alloc_draw draw = kymo_alloc_begin(bytes, here);
    void *block = next.mallocx(bytes, flags);
    if (draw.is_drawn && block)
        kymo_alloc_note(draw, block, bytes, usable(block), KYMO_ALLOC_EXTENDED, here);
    return block;
}

static void *hook_mallocx(size_t bytes, int flags)
{
    return bytes > PTRDIFF_MAX || kymo_alloc_passes(bytes)
               ? next.mallocx(bytes, flags)
               : mallocx_slowly(bytes, flags, KYMO_FRAME_BEGIN());
}

static struct kymo_alloc_draw draw_growth(size_t bytes, size_t usable_before, uint64_t here)
{
    if (bytes > PTRDIFF_MAX || bytes <= usable_before ||
        kymo_alloc_passes_bytes(bytes - usable_before))
        return (struct kymo_alloc_draw){0, 0};
    return kymo_alloc_begin(bytes - usable_before, here);
}

static KYMO_NOINLINE void *rallocx_slowly(void *block, size_t bytes, int flags, uint64_t here)
{
    size_t usable_before = usable(block);
    struct kymo_alloc_draw draw = draw_growth(bytes, usable_before, here);
    uint64_t id = kymo_alloc_free_passes(block) ? 0 : kymo_alloc_take_out(block);
    void *moved = next.rallocx(block, bytes, flags);
    if (moved && (id || draw.is_drawn))
        kymo_alloc_note_resize(draw, id, moved, bytes, usable(moved), usable_before, here);
    else if (!moved && id)
        kymo_alloc_put_back(block, id);
    return moved;
}

/* NULL and a size of 0 are not allowed. */
static void *hook_rallocx(void *block, size_t bytes, int flags)
{
    return block && bytes ? rallocx_slowly(block, bytes, flags, KYMO_FRAME_BEGIN())
                          : next.rallocx(block, bytes, flags);
}

/* In its place, to anything between bytes and bytes + more, or not at all. Its result is what there
 * is now. */
static KYMO_NOINLINE size_t xallocx_slowly(void *block, size_t bytes, size_t more, int flags,
                                           uint64_t here)
{
    size_t usable_before = usable(block);
    size_t now = next.xallocx(block, bytes, more, flags);
    if (now < bytes)
        return now;
    size_t got = now - bytes < more ? now : bytes + more;
    struct kymo_alloc_draw draw = draw_growth(got, usable_before, here);
    uint64_t id = kymo_alloc_free_passes(block) ? 0 : kymo_alloc_take_out(block);
    if (id || draw.is_drawn)
        kymo_alloc_note_resize(draw, id, block, got, usable(block), usable_before, here);
    return now;
}

static size_t hook_xallocx(void *block, size_t bytes, size_t more, int flags)
{
    return block && bytes ? xallocx_slowly(block, bytes, more, flags, KYMO_FRAME_BEGIN())
                          : next.xallocx(block, bytes, more, flags);
}

static void hook_dallocx(void *block, int flags)
{
    if (!kymo_alloc_free_passes(block))
        kymo_alloc_note_free(block, KYMO_FRAME_BEGIN());
    next.dallocx(block, flags);
}

static void hook_sdallocx(void *block, size_t bytes, int flags)
{
    if (!kymo_alloc_free_passes(block))
        kymo_alloc_note_free(block, KYMO_FRAME_BEGIN());
    next.sdallocx(block, bytes, flags);
}

/* ---- who has such functions ---- */

typedef int iterate_fn(int (*)(struct dl_phdr_info *, size_t, void *), void *);

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

struct look {
    uint32_t owners;         /* modules with such functions */
    const ElfW(Dyn) * owner; /* the first of them */
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

static int find_owner(struct dl_phdr_info *info, size_t size, void *context)
{
    struct look *look = context;
    struct kymo_symbol_table table;
    struct module m = module_of(info);
    (void)size;
    if (m.map.l_ld == _DYNAMIC || !kymo_symbol_table_init(&table, &m.map) ||
        !kymo_symbol_table_find(&table, "mallocx") || look->owners++ > 0)
        return 0;
    look->owner = m.map.l_ld;
#define TAKE(result, name, parameters) \
    next.name = (result(*) parameters)(uintptr_t)kymo_symbol_table_find(&table, #name);
    FUNCTIONS(TAKE)
#undef TAKE
    next.sallocx =
        (size_t(*)(const void *, int))(uintptr_t)kymo_symbol_table_find(&table, "sallocx");
    return 0;
}

/* ---- who calls them ---- */

/* The hook of a slot that is filled with what it stands in front of, or, where the loader leaves
 * that to the first call (is_lazy), leads into its own module: then there has to be one allocator
 * that it can come to lead to. 0: it is none of ours. */
static uint64_t hook_of(const struct look *look, const struct module *m, const char *name,
                        uint64_t value, int is_lazy)
{
    uint64_t function = 0, hook = 0;
#define MATCH(result, function_name, parameters)            \
    if (strcmp(name, #function_name) == 0) {                \
        function = (uint64_t)(uintptr_t)next.function_name; \
        hook = (uint64_t)(uintptr_t)hook_##function_name;   \
    }
    FUNCTIONS(MATCH)
#undef MATCH
    int is_open = is_lazy && look->owners == 1 && value >= m->lo && value < m->hi;
    return function && (value == function || is_open) ? hook : 0;
}

static int protect(const struct module *m, int protection)
{
    return kymo_syscall3(SYS_mprotect, (long)m->relro_lo, (long)(m->relro_hi - m->relro_lo),
                         protection) == 0;
}

static void patch_slot(const struct module *m, uint64_t *slot, uint64_t hook, int *is_open)
{
    uint64_t at = (uint64_t)(uintptr_t)slot;
    if (at >= m->relro_lo && at < m->relro_hi && !*is_open) {
        if (!protect(m, PROT_READ | PROT_WRITE))
            return;
        *is_open = 1;
    }
    kymo_store_release(slot, hook);
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
        if ((type != KYMO_RELOCATION_JUMP_SLOT && type != KYMO_RELOCATION_GLOB_DAT) ||
            symbol->st_shndx != SHN_UNDEF)
            continue;
        uint64_t *slot = (uint64_t *)(uintptr_t)(m->map.l_addr + slots[i].r_offset);
        uint64_t hook =
            hook_of(look, m, name, kymo_load_relaxed(slot), type == KYMO_RELOCATION_JUMP_SLOT);
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
    if (m.map.l_ld == _DYNAMIC || m.map.l_ld == look->owner ||
        !kymo_symbol_table_init(&table, &m.map))
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

__attribute__((constructor(101))) static void look_at_start(void)
{
    iterate_fn *iterate = (iterate_fn *)(uintptr_t)kymo_alloc_next_symbol("dl_iterate_phdr", 0);
    struct look look = {0};
    if (iterate && iterate(find_owner, &look) == 0 && look.owners > 0)
        (void)iterate(patch_module, &look);
}
