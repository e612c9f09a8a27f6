/* SPDX-License-Identifier: Apache-2.0 */
/*
 * next_symbol.c - see alloc_next.h.
 *
 * The tables are the loader's own input: what it trusts is trusted here.
 */
#include "capture/alloc_next.h"

#include <stddef.h>

#define VERSION_HIDDEN 0x8000u /* not what a new program would be linked with */

/* The loader adds the bias to what the dynamic section says in place, but for where that cannot be
 * written to (the vDSO). */
static const void *address_of(const struct link_map *library, uint64_t value)
{
    return (const void *)(uintptr_t)(value < library->l_addr ? value + library->l_addr : value);
}

int kymo_symbol_table_init(struct kymo_symbol_table *table, const struct link_map *library)
{
    *table = (struct kymo_symbol_table){.bias = library->l_addr};
    if (!library->l_ld)
        return 0;
    for (const ElfW(Dyn) *d = library->l_ld; d->d_tag != DT_NULL; d++) {
        const void *value = address_of(library, d->d_un.d_ptr);
        switch (d->d_tag) {
        case DT_SYMTAB:
            table->symbols = value;
            break;
        case DT_STRTAB:
            table->strings = value;
            break;
        case DT_VERSYM:
            table->versions = value;
            break;
        case DT_GNU_HASH:
            table->gnu_hash = value;
            break;
        case DT_HASH:
            table->hash = value;
            break;
        default:
            break;
        }
    }
    return table->symbols && table->strings && (table->gnu_hash || table->hash);
}

static int is_same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* The address of the function, if symbol number i is one of that name. */
static uint64_t accept(const struct kymo_symbol_table *t, uint32_t i, const char *name)
{
    const ElfW(Sym) *s = &t->symbols[i];
    int type = ELF64_ST_TYPE(s->st_info);
    int binding = ELF64_ST_BIND(s->st_info);
    if (s->st_shndx == SHN_UNDEF || s->st_value == 0 || binding == STB_LOCAL ||
        (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
        (t->versions && t->versions[i] & VERSION_HIDDEN) || !is_same(t->strings + s->st_name, name))
        return 0;
    uint64_t address = t->bias + s->st_value;
    if (type == STT_GNU_IFUNC)
        return ((uint64_t(*)(void))(uintptr_t)address)();
    return address;
}

/* The table of glibc's: a Bloom filter, buckets, and chains whose last hash has its lowest bit set.
 */
static uint64_t find_gnu(const struct kymo_symbol_table *t, const char *name)
{
    uint32_t hash = 5381;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (uint8_t)*c;
    uint32_t buckets = t->gnu_hash[0];
    uint32_t first = t->gnu_hash[1];
    uint32_t words = t->gnu_hash[2];
    uint32_t shift = t->gnu_hash[3];
    const ElfW(Addr) *bloom = (const void *)(t->gnu_hash + 4);
    const uint32_t *bucket = (const uint32_t *)(bloom + words);
    const uint32_t *chain = bucket + buckets;
    if (buckets == 0 || words == 0)
        return 0;
    uint64_t word = bloom[hash / 64 & (words - 1)];
    if (!(word >> (hash & 63) & 1) || !(word >> (hash >> shift & 63) & 1))
        return 0;
    uint32_t i = bucket[hash % buckets];
    if (i < first)
        return 0;
    for (;; i++) {
        uint32_t theirs = chain[i - first];
        uint64_t found = (theirs | 1) == (hash | 1) ? accept(t, i, name) : 0;
        if (found || theirs & 1)
            return found;
    }
}

/* The table that System V had. */
static uint64_t find_plain(const struct kymo_symbol_table *t, const char *name)
{
    uint32_t hash = 0;
    for (const char *c = name; *c; c++) {
        hash = (hash << 4) + (uint8_t)*c;
        hash ^= hash >> 24 & 0xf0;
        hash &= 0x0fffffff;
    }
    uint32_t buckets = t->hash[0];
    const uint32_t *bucket = t->hash + 2;
    const uint32_t *chain = bucket + buckets;
    uint64_t found = 0;
    for (uint32_t i = buckets ? bucket[hash % buckets] : 0; i != 0 && !found; i = chain[i])
        found = accept(t, i, name);
    return found;
}

uint64_t kymo_symbol_table_find(const struct kymo_symbol_table *table, const char *name)
{
    return table->gnu_hash ? find_gnu(table, name) : find_plain(table, name);
}
