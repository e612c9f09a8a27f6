/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_patch.c - see alloc_patch.h.
 *
 * When to look: at the start, and before each dlsym after something was loaded, which is how a
 * program reaches what it has loaded. dlopen itself cannot be stood behind: it searches by who
 * calls it.
 *
 * What to look at: while another thread is loading, its module is in the loader's list with slots
 * that are empty yet, and memory that the loader is about to protect. dlsym waits for whoever
 * loads; so if nothing was added from before such a call until the loader's list is held, all that
 * is in it is ready. While it is held nothing is added, nor unmapped. In a program whose threads
 * load all the time that may never be; then the one library is looked at that dlsym is asked for,
 * whose loading has ended, or nobody could ask.
 */
#include "capture/alloc_patch.h"

#include <dlfcn.h>
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
#define TRIES 3
#define PATIENCE 1000 /* turns of others, while one of them looks */

typedef void *symbol_fn(void *handle, const char *name);
typedef void *version_fn(void *handle, const char *name, const char *version);
typedef int iterate_fn(int (*)(struct dl_phdr_info *, size_t, void *), void *);

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

static symbol_fn *next_symbol;
static version_fn *next_version;
static iterate_fn *iterate;
static uint64_t seen;   /* how many modules were ever loaded, when they were looked at */
static uint32_t looker; /* the process in which somebody is; a forked child has nobody */

static const struct {
    const char *witness, *usable;
} families[] = {
#define FAMILY(family, witness, usable) [family] = {witness, usable},
    KYMO_EXTENDED_FAMILIES(FAMILY)
#undef FAMILY
};

struct look {
    uint64_t loaded;                                     /* modules that were ever loaded, before */
    int has_changed;                                     /* since */
    uint32_t owners[KYMO_EXTENDED_FAMILY_COUNT];         /* modules with such functions */
    const ElfW(Dyn) * owner[KYMO_EXTENDED_FAMILY_COUNT]; /* the first of them */
    const ElfW(Dyn) * only;                              /* the one to be patched; NULL: all */
    int is_there[KYMO_EXTENDED_FAMILY_COUNT];            /* the owner, as far as was looked */
};
static struct look last; /* that was whole; of whoever looks */

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
    if (info->dlpi_adds != look->loaded) {
        look->has_changed = 1;
        return 1;
    }
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

/* The hook of a slot that is filled with what it stands in front of, or is yet to be, by the first
 * call: then it leads into its own module, and is known where there is one allocator to lead to. */
static kymo_extended_fn *hook_of(const struct look *look, const struct module *m, const char *name,
                                 uint64_t value)
{
    int is_open = value >= m->lo && value < m->hi;
    for (uint32_t i = 0; i < kymo_extended_count; i++) {
        const struct kymo_extended_function *f = &kymo_extended_functions[i];
        uint64_t next = (uint64_t)(uintptr_t)*f->next;
        int is_sure = look->owners[f->family] == 1 && (!look->only || look->is_there[f->family]);
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
        if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) || !may_be_extended(name))
            continue;
        uint64_t *slot = (uint64_t *)(uintptr_t)(m->map.l_addr + slots[i].r_offset);
        kymo_extended_fn *hook = hook_of(look, m, name, kymo_load_relaxed(slot));
        if (hook)
            patch_slot(m, slot, hook, &is_open);
    }
    if (is_open)
        (void)protect(m, PROT_READ);
}

static int patch_module(struct dl_phdr_info *info, size_t size, void *context)
{
    struct look *look = context;
    struct kymo_symbol_table table;
    struct module m = module_of(info);
    const void *calls = NULL;
    const void *others = NULL;
    uint64_t calls_bytes = 0;
    uint64_t others_bytes = 0;
    (void)size;
    if (!look->only && info->dlpi_adds != look->loaded) {
        look->has_changed = 1;
        return 1;
    }
    for (uint32_t i = 0; i < KYMO_EXTENDED_FAMILY_COUNT; i++)
        look->is_there[i] |= look->owner[i] == m.map.l_ld;
    if (look->only && look->only != m.map.l_ld)
        return 0;
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

static int count_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(uint64_t *)context = info->dlpi_adds;
    return 1;
}

/* Returns 0 if something was loaded meanwhile. */
static int look_once(void)
{
    struct look look = {0};
    int is_needed = 0;
    (void)iterate(count_loaded, &look.loaded);
    /* Any name that is there: it is the waiting that counts. */
    (void)next_symbol(RTLD_DEFAULT, "malloc");
    (void)iterate(find_owner, &look);
    for (uint32_t i = 0; i < KYMO_EXTENDED_FAMILY_COUNT; i++)
        is_needed |= look.owners[i] != 0;
    if (!look.has_changed && is_needed)
        (void)iterate(patch_module, &look);
    if (look.has_changed)
        return 0;
    last = look;
    kymo_store_relaxed(&seen, look.loaded);
    return 1;
}

static int is_library(const void *handle)
{
    return handle != RTLD_DEFAULT && handle != RTLD_NEXT;
}

static void look_at_one(const struct link_map *library)
{
    struct look look = last;
    look.only = library->l_ld;
    memset(look.is_there, 0, sizeof look.is_there);
    (void)iterate(patch_module, &look);
}

/* Returns 0 where another thread looks for too long: it may wait for this one to have loaded. */
static int begin_look(void)
{
    uint32_t self = kymo_raw_getpid();
    for (int i = 0; i < PATIENCE; i++) {
        uint32_t other = kymo_load_relaxed(&looker);
        if (other != self && kymo_cas_acq_rel(&looker, &other, self))
            return 1;
        (void)kymo_syscall3(SYS_sched_yield, 0, 0, 0);
    }
    return 0;
}

void kymo_alloc_patch(void *handle)
{
    uint64_t loaded = 0;
    int is_whole = 0;
    if (!iterate || !next_symbol || kymo_is_quiet_here())
        return;
    (void)iterate(count_loaded, &loaded);
    if (loaded == kymo_load_relaxed(&seen) || !begin_look())
        return;
    for (int i = 0; i < TRIES && !is_whole; i++)
        is_whole = look_once();
    if (!is_whole && is_library(handle))
        look_at_one(handle);
    kymo_store_release(&looker, 0u);
}

__attribute__((constructor(101))) static void look_at_start(void)
{
    iterate = (iterate_fn *)(uintptr_t)kymo_alloc_next_symbol("dl_iterate_phdr", 0);
    (void)KYMO_NEXT(next_symbol, symbol_fn, "dlsym");
    (void)KYMO_NEXT(next_version, version_fn, "dlvsym");
    kymo_alloc_patch(NULL);
}

/* Both end in a tail call: who the caller is decides where is searched. */
KYMO_HOOK void *dlsym(void *restrict handle, const char *restrict name)
{
    kymo_alloc_patch(handle);
    return KYMO_NEXT(next_symbol, symbol_fn, "dlsym")(handle, name);
}

KYMO_HOOK void *dlvsym(void *restrict handle, const char *restrict name,
                       const char *restrict version)
{
    kymo_alloc_patch(handle);
    return KYMO_NEXT(next_version, version_fn, "dlvsym")(handle, name, version);
}
