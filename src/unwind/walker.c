/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is done to a walker outside handlers.
 */
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include "arch/context.h"
#include "unwind/module.h"
#include "unwind/unwind.h"

/* Its function never runs. */
static void coroutine_main(void)
{
}

/* Asks makecontext where the functions that it prepares will return to. That code has no name and,
 * in glibc 2.36, no unwind information that says it is the end. */
static struct kymo_address_range find_coroutine_entry(void)
{
    uint64_t stack[256];
    ucontext_t context;
    memset(&context, 0, sizeof context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = sizeof stack;
    makecontext(&context, coroutine_main, 0);
    uint64_t entry = kymo_context_returns_to(&context);
    return (struct kymo_address_range){entry, entry ? entry + KYMO_COROUTINE_ENTRY_BYTES : 0};
}

/* From the first segment to the end of the last. */
static struct kymo_address_range segments(const struct dl_phdr_info *info)
{
    struct kymo_address_range range = {UINT64_MAX, 0};
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
        if (phdr->p_type != PT_LOAD)
            continue;
        uint64_t lo = info->dlpi_addr + phdr->p_vaddr;
        uint64_t hi = lo + phdr->p_memsz;
        range.lo = lo < range.lo ? lo : range.lo;
        range.hi = hi > range.hi ? hi : range.hi;
    }
    return range;
}

static int note_program(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    struct kymo_address_range range = segments(info);
    /* Its headers, which tell of the holes, must be mapped at its begin; else it stays in parts. */
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
        if (phdr->p_type == PT_LOAD && phdr->p_offset == 0 && phdr->p_flags & PF_R &&
            info->dlpi_addr + phdr->p_vaddr == range.lo && range.lo % 4096 == 0)
            kymo_module_program(range.lo, range.hi);
    }
    return 1; /* the program comes first */
}

kymo_err kymo_walker_init(struct kymo_walker *walker, struct kymo_row_slot *cache, size_t slots)
{
    if ((slots & (slots - 1)) != 0 || slots == 1 || slots > (size_t)1 << 24 ||
        (slots != 0) != (cache != NULL))
        return KYMO_E_INVALID;
    /* The lists behind have as many entries as their numbers say. */
    memset(walker, 0, offsetof(struct kymo_walker, stable));
    walker->cache = cache;
    walker->cache_mask = slots ? (uint32_t)slots - 1 : 0;
    walker->probe_allowed = 1;
    uint64_t program = getauxval(AT_ENTRY);
    uint64_t loader = getauxval(AT_BASE); /* 0 when ld.so was run as the program */
    if (loader)
        loader += ((const Elf64_Ehdr *)(uintptr_t)loader)->e_entry;
    walker->entry[0] = (struct kymo_address_range){program, program + KYMO_ENTRY_CODE_BYTES};
    walker->entry[1] =
        (struct kymo_address_range){loader, loader ? loader + KYMO_ENTRY_CODE_BYTES : 0};
    walker->coroutine_entry = find_coroutine_entry();
    /* The first call through the procedure linkage table may run the loader's resolver, which is
     * not for handlers. */
    struct kymo_unwind_module module;
    dl_iterate_phdr(note_program, NULL);
    (void)kymo_module_find(NULL, (uint64_t)(uintptr_t)&kymo_walker_init, &module);
    return KYMO_OK;
}

void kymo_walker_set_entries(struct kymo_walker *walker, uint64_t program, uint64_t loader)
{
    walker->entry[0] =
        (struct kymo_address_range){program, program ? program + KYMO_ENTRY_CODE_BYTES : 0};
    walker->entry[1] =
        (struct kymo_address_range){loader, loader ? loader + KYMO_ENTRY_CODE_BYTES : 0};
    walker->coroutine_entry = (struct kymo_address_range){0, 0};
}

static int note_stable(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct kymo_walker *walker = data;
    struct kymo_address_range range = segments(info);
    if (range.lo < range.hi && walker->stable_count < KYMO_WALKER_STABLE_MAX)
        walker->stable[walker->stable_count++] = range;
    return 0;
}

static int compare_ranges(const void *a, const void *b)
{
    const struct kymo_address_range *x = a;
    const struct kymo_address_range *y = b;
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

void kymo_walker_init_stable(struct kymo_walker *walker)
{
    walker->stable_count = 0;
    dl_iterate_phdr(note_stable, walker);
    qsort(walker->stable, walker->stable_count, sizeof walker->stable[0], compare_ranges);
}

const char *kymo_walk_end_name(enum kymo_walk_end end)
{
    static const char *const names[KYMO_WALK_END_COUNT] = {
        [KYMO_WALK_COMPLETE] = "complete",   [KYMO_WALK_DEPTH] = "depth",
        [KYMO_WALK_NO_ROW] = "no row",       [KYMO_WALK_BAD_STACK] = "bad stack",
        [KYMO_WALK_NO_MODULE] = "no module", [KYMO_WALK_UNSUPPORTED] = "unsupported",
    };
    return (unsigned)end < KYMO_WALK_END_COUNT ? names[end] : "unknown";
}
