/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_next.c - see alloc_next.h.
 *
 * What is behind us in the loader's list, in its order, is what a call would find if we were not
 * there: preloaded libraries come first, and nothing else is loaded yet when the first call comes.
 *
 * malloc_usable_size is asked only where it is of malloc's own library: an allocator that has none
 * must not be asked by the C library, which would take its allocations for its own.
 */
#include "capture/alloc_next.h"

#include <dlfcn.h>

#include "base/atomic.h"

#define DEFINE_FIRST(result, name, parameters, arguments) \
    static result first_##name parameters                 \
    {                                                     \
        kymo_alloc_next_find();                           \
        return kymo_next.name arguments;                  \
    }
KYMO_NEXT_FUNCTIONS(DEFINE_FIRST)
#undef DEFINE_FIRST

static void first_free(void *block)
{
    kymo_alloc_next_find();
    kymo_next.free(block);
}

struct kymo_next kymo_next __attribute__((aligned(64))) = {
#define FIRST(result, name, parameters, arguments) .name = first_##name,
    KYMO_NEXT_FUNCTIONS(FIRST)
#undef FIRST
        .free = first_free,
};

__thread uint32_t kymo_alloc_asks KYMO_TLS_IE;
static const struct link_map *malloc_library;

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

static const struct link_map *own_library(void)
{
    const struct link_map *library = _r_debug.r_map;
    while (library && library->l_ld != _DYNAMIC)
        library = library->l_next;
    return library;
}

/* The first function of that name behind us; *where: whose it is. */
static uint64_t find(const struct link_map *own, const char *name, const struct link_map **where)
{
    struct kymo_symbol_table table;
    for (const struct link_map *l = own->l_next; l; l = l->l_next) {
        uint64_t address =
            kymo_symbol_table_init(&table, l) ? kymo_symbol_table_find(&table, name) : 0;
        if (address) {
            *where = l;
            return address;
        }
    }
    return 0;
}

static size_t unknown_usable_size(void *block)
{
    (void)block;
    return 0;
}

void kymo_alloc_next_find(void)
{
    const struct link_map *own = own_library();
    const struct link_map *where = NULL;
    uint64_t address = own ? find(own, "malloc", &malloc_library) : 0;
    /* The C library is behind us, and has them all. */
    if (!address)
        __builtin_trap();
#define FIND(result, name, parameters, arguments)  \
    if ((address = find(own, #name, &where)) != 0) \
        kymo_store_relaxed(&kymo_next.name, (result(*) parameters)(uintptr_t)address);
    KYMO_NEXT_FUNCTIONS(FIND)
#undef FIND
    if (!find(own, "malloc_usable_size", &where) || where != malloc_library)
        kymo_store_relaxed(&kymo_next.malloc_usable_size, unknown_usable_size);
    if ((address = find(own, "free", &where)) != 0)
        kymo_store_relaxed(&kymo_next.free, (void (*)(void *))(uintptr_t)address);
}

uint64_t kymo_alloc_next_symbol(const char *name, int everywhere)
{
    const struct link_map *own = own_library();
    const struct link_map *where;
    struct kymo_symbol_table table;
    uint64_t address = own ? find(own, name, &where) : 0;
    for (const struct link_map *l = _r_debug.r_map; everywhere && l && l != own && !address;
         l = l->l_next)
        if (kymo_symbol_table_init(&table, l))
            address = kymo_symbol_table_find(&table, name);
    return address;
}

int kymo_alloc_next_is_program(const char *name)
{
    struct kymo_symbol_table table;
    const struct link_map *program = _r_debug.r_map;
    return program && kymo_symbol_table_init(&table, program) &&
           kymo_symbol_table_find(&table, name) != 0;
}

int kymo_alloc_next_is_allocator(uint64_t address)
{
    struct dl_find_object object;
    return malloc_library && _dl_find_object((void *)(uintptr_t)address, &object) == 0 &&
           object.dlfo_link_map == malloc_library;
}

enum kymo_allocator kymo_alloc_next_allocator(void)
{
    static const struct {
        const char *name;
        enum kymo_allocator allocator;
    } known[] = {
        {"mallctl", KYMO_ALLOCATOR_JEMALLOC},
        {"mi_version", KYMO_ALLOCATOR_MIMALLOC},
        {"tc_version", KYMO_ALLOCATOR_TCMALLOC},
        {"gnu_get_libc_version", KYMO_ALLOCATOR_GLIBC},
    };
    struct kymo_symbol_table table;
    if (kymo_alloc_next_is_program("malloc"))
        return KYMO_ALLOCATOR_PROGRAM;
    if (!malloc_library)
        kymo_alloc_next_find();
    if (!kymo_symbol_table_init(&table, malloc_library))
        return KYMO_ALLOCATOR_UNKNOWN;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (kymo_symbol_table_find(&table, known[i].name))
            return known[i].allocator;
    return KYMO_ALLOCATOR_OTHER;
}

uint64_t kymo_alloc_next_words(enum kymo_allocator allocator)
{
    static const char *const names[KYMO_ALLOCATOR_PROGRAM + 1] = {
        [KYMO_ALLOCATOR_GLIBC] = "mallinfo2",
        [KYMO_ALLOCATOR_JEMALLOC] = "mallctl",
        [KYMO_ALLOCATOR_TCMALLOC] = "MallocExtension_GetNumericProperty",
        [KYMO_ALLOCATOR_MIMALLOC] = "mi_process_info",
    };
    struct kymo_symbol_table table;
    return malloc_library && names[allocator] && kymo_symbol_table_init(&table, malloc_library)
               ? kymo_symbol_table_find(&table, names[allocator])
               : 0;
}
