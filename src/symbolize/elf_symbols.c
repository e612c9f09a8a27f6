/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_symbols.c - finds the symbol that contains an address.
 *
 * Extents may nest (a label with a size inside a function) and, in odd files, overlap. They are
 * sorted by start; each refers to the nearest earlier one that reaches beyond its start
 * (`enclosing`). A binary search finds the last extent that starts at or before the address; all
 * that contain the address are on the chain of `enclosing` from there, since others ended before.
 *
 * addr2line takes the nearest symbol before an address even if it ended long before. Such a name is
 * a guess that looks like a fact; here the address has no name.
 */
#include "symbolize/elf_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/search.h"
#include "base/sort_keys.h"
#include "symbolize/elf_file.h"

/* Limit of a chain of `enclosing`: no compiler nests deeper, hostile files may. */
#define MAX_NESTING 64
#define NONE UINT32_MAX
#define MAX_SYMBOLS (1u << 26)

enum { RANK_FUNCTION, RANK_TYPED, RANK_NOTYPE };

void kymo_elf_symbols_deinit(kymo_elf_symbols *symbols)
{
    kymo_vec_deinit(&symbols->sized);
    kymo_vec_deinit(&symbols->unsized);
    kymo_arena_deinit(&symbols->names);
    symbols->n_addresses = 0;
}

static kymo_err add(kymo_elf_symbols *symbols, uint64_t address, uint64_t size, const char *name,
                    uint8_t rank)
{
    size_t n = symbols->sized.len + symbols->unsized.len;
    if (n >= MAX_SYMBOLS)
        return KYMO_E_TOO_BIG;
    uint64_t end = size > UINT64_MAX - address ? UINT64_MAX : address + size;
    kymo_elf_symbol symbol = {.address = address,
                              .end = end,
                              .name = name,
                              .order = (uint32_t)n,
                              .enclosing = NONE,
                              .rank = rank};
    return size ? kymo_vec_push(&symbols->sized, symbol) : kymo_vec_push(&symbols->unsized, symbol);
}

kymo_err kymo_elf_symbols_add(kymo_elf_symbols *symbols, uint64_t address, uint64_t size,
                              const char *name, uint8_t rank)
{
    const char *copy = kymo_arena_strndup(&symbols->names, name, strlen(name));
    return copy ? add(symbols, address, size, copy, rank) : KYMO_E_NOMEM;
}

/* Adds one raw symbol if it is code. names is the string table, kept as long as the symbols. */
static kymo_err add_raw(kymo_elf_symbols *symbols, kymo_elf_file *file, const Elf64_Sym *raw,
                        kymo_span names)
{
    unsigned type = ELF64_ST_TYPE(raw->st_info);
    if (raw->st_shndx == SHN_UNDEF || raw->st_shndx == SHN_ABS || raw->st_shndx == SHN_COMMON)
        return KYMO_OK;
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
        return KYMO_OK;
    if (raw->st_name >= names.size || names.data[raw->st_name] == '\0')
        return KYMO_OK;
    /* marks of the annobin plugin: not functions */
    if (type == STT_NOTYPE && raw->st_size == 0 && ELF64_ST_BIND(raw->st_info) == STB_LOCAL &&
        ELF64_ST_VISIBILITY(raw->st_other) == STV_HIDDEN)
        return KYMO_OK;
    if (file->n_sections > 1) {
        /* SHN_XINDEX (more than 65279 sections) is looked up by address. */
        const kymo_elf_section *s = kymo_elf_section_at(file, raw->st_shndx);
        if (s ? !(s->flags & SHF_EXECINSTR) || raw->st_value < s->address ||
                    raw->st_value - s->address >= s->size
              : !kymo_elf_is_code(file, raw->st_value))
            return KYMO_OK;
    } else if (!kymo_elf_is_code(file, raw->st_value)) {
        return KYMO_OK;
    }
    uint8_t rank = type == STT_FUNC        ? RANK_FUNCTION
                   : type == STT_GNU_IFUNC ? RANK_TYPED
                                           : RANK_NOTYPE;
    return add(symbols, raw->st_value, raw->st_size, (const char *)names.data + raw->st_name, rank);
}

kymo_err kymo_elf_symbols_add_table(kymo_elf_symbols *symbols, kymo_elf_file *file,
                                    kymo_elf_section *table)
{
    kymo_elf_section *strings = kymo_elf_section_at(file, table->link);
    if (!strings || table->entry_size != sizeof(Elf64_Sym))
        return KYMO_E_CORRUPT;
    kymo_span raw, names;
    KYMO_TRY(kymo_elf_load(file, table, &raw));
    kymo_err err = kymo_elf_load(file, strings, &names);
    if (err != KYMO_OK) {
        kymo_elf_unload(table);
        return err;
    }
    /* One copy of the string table, so that the file can be closed before the symbols. */
    unsigned char *copy = kymo_arena_alloc(&symbols->names, names.size + 1, 1);
    if (copy) {
        memcpy(copy, names.data, names.size + 1);
        names.data = copy;
    } else {
        err = KYMO_E_NOMEM;
    }
    kymo_elf_unload(strings);
    for (size_t pos = 0; err == KYMO_OK && raw.size - pos >= sizeof(Elf64_Sym);
         pos += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, raw.data + pos, sizeof symbol);
        err = add_raw(symbols, file, &symbol, names);
    }
    kymo_elf_unload(table);
    return err;
}

/* The file offset of an address that a segment maps. */
static bool offset_of(const kymo_elf_file *file, uint64_t address, uint64_t *offset)
{
    for (size_t i = 0; i < file->n_segments; i++) {
        const Elf64_Phdr *p = &file->segments[i];
        if (p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz) {
            *offset = p->p_offset + (address - p->p_vaddr);
            return true;
        }
    }
    return false;
}

/* The number of dynamic symbols according to a GNU hash table: up to the end of its last chain. */
static uint32_t count_gnu_hash(const kymo_elf_file *file, uint64_t offset)
{
    uint32_t head[4]; /* buckets, first symbol, bloom words, shift */
    if (kymo_elf_read_at(file, offset, head, sizeof head) != KYMO_OK)
        return 0;
    uint64_t buckets = offset + sizeof head + (uint64_t)head[2] * 8;
    uint32_t last = 0;
    for (uint32_t i = 0; i < head[0]; i++) {
        uint32_t first;
        if (kymo_elf_read_at(file, buckets + (uint64_t)i * 4, &first, 4) != KYMO_OK)
            return 0;
        if (first > last)
            last = first;
    }
    if (last < head[1])
        return 0;
    uint64_t chains = buckets + (uint64_t)head[0] * 4;
    for (;; last++) {
        uint32_t link;
        if (last == NONE ||
            kymo_elf_read_at(file, chains + (uint64_t)(last - head[1]) * 4, &link, 4) != KYMO_OK)
            return 0;
        if (link & 1)
            return last + 1;
    }
}

typedef struct dynamic_table {
    uint64_t symbols, strings, strings_size, hash, gnu_hash; /* addresses; 0: absent */
} dynamic_table;

static bool read_dynamic(const kymo_elf_file *file, dynamic_table *out)
{
    *out = (dynamic_table){0};
    for (size_t i = 0; i < file->n_segments; i++) {
        const Elf64_Phdr *p = &file->segments[i];
        if (p->p_type != PT_DYNAMIC)
            continue;
        for (uint64_t pos = 0; pos + sizeof(Elf64_Dyn) <= p->p_filesz; pos += sizeof(Elf64_Dyn)) {
            Elf64_Dyn entry;
            if (kymo_elf_read_at(file, p->p_offset + pos, &entry, sizeof entry) != KYMO_OK ||
                entry.d_tag == DT_NULL)
                break;
            uint64_t value = entry.d_un.d_ptr;
            switch (entry.d_tag) {
            case DT_SYMTAB:
                out->symbols = value;
                break;
            case DT_STRTAB:
                out->strings = value;
                break;
            case DT_STRSZ:
                out->strings_size = value;
                break;
            case DT_HASH:
                out->hash = value;
                break;
            case DT_GNU_HASH:
                out->gnu_hash = value;
                break;
            default:
                break;
            }
        }
        return out->symbols && out->strings && out->strings_size;
    }
    return false;
}

kymo_err kymo_elf_symbols_add_dynamic(kymo_elf_symbols *symbols, kymo_elf_file *file)
{
    dynamic_table table;
    uint64_t strings_at, symbols_at, hash_at;
    if (!read_dynamic(file, &table) || !offset_of(file, table.strings, &strings_at) ||
        !offset_of(file, table.symbols, &symbols_at) || table.strings_size > file->size)
        return KYMO_E_NOT_FOUND;
    uint32_t n = 0;
    uint32_t head[2];
    if (table.hash && offset_of(file, table.hash, &hash_at) &&
        kymo_elf_read_at(file, hash_at, head, sizeof head) == KYMO_OK)
        n = head[1]; /* there is a chain word for each symbol */
    else if (table.gnu_hash && offset_of(file, table.gnu_hash, &hash_at))
        n = count_gnu_hash(file, hash_at);
    size_t size = (size_t)table.strings_size;
    unsigned char *names = kymo_arena_alloc(&symbols->names, size + 1, 1);
    if (!names)
        return KYMO_E_NOMEM;
    names[size] = 0;
    if (kymo_elf_read_at(file, strings_at, names, size) != KYMO_OK)
        return KYMO_E_NOT_FOUND;
    for (uint32_t i = 1; i < n; i++) {
        Elf64_Sym symbol;
        if (kymo_elf_read_at(file, symbols_at + (uint64_t)i * sizeof symbol, &symbol,
                             sizeof symbol) != KYMO_OK)
            break;
        KYMO_TRY(add_raw(symbols, file, &symbol, (kymo_span){names, size}));
    }
    return KYMO_OK;
}

static int by_start(const void *a, const void *b)
{
    const kymo_elf_symbol *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    /* The best of several at one address comes last, where the search ends. */
    if (x->rank != y->rank)
        return x->rank > y->rank ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return x->order > y->order ? -1 : x->order < y->order;
}

/* The index of the last symbol that begins at or before address, or -1. */
static ptrdiff_t last_start(const kymo_elf_symbol_vec *v, uint64_t address)
{
    return (ptrdiff_t)KYMO_COUNT_WHERE(i, v->len, v->data[i].address <= address) - 1;
}

static void link_enclosing(kymo_elf_symbol_vec *v)
{
    uint32_t open = NONE; /* the innermost extent still open; `enclosing` makes it a stack */
    for (size_t i = 0; i < v->len; i++) {
        while (open != NONE && v->data[open].end <= v->data[i].address)
            open = v->data[open].enclosing;
        v->data[i].enclosing = open;
        open = (uint32_t)i;
    }
}

static uint64_t section_end(const kymo_elf_file *file, uint64_t address)
{
    for (size_t i = 1; i < file->n_sections; i++) {
        const kymo_elf_section *s = &file->sections[i];
        if ((s->flags & SHF_EXECINSTR) && address >= s->address && address - s->address < s->size)
            return s->address + s->size;
    }
    for (size_t i = 0; i < file->n_segments; i++) {
        const Elf64_Phdr *p = &file->segments[i];
        if (p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr < p->p_memsz)
            return p->p_vaddr + p->p_memsz;
    }
    return address;
}

void kymo_elf_symbols_finish(kymo_elf_symbols *symbols, const kymo_elf_file *file)
{
    kymo_elf_symbol_vec *sized = &symbols->sized, *unsized = &symbols->unsized;
    if (sized->len)
        kymo_sort_keys(sized->data, sized->len, sizeof *sized->data, by_start);
    if (unsized->len)
        kymo_sort_keys(unsized->data, unsized->len, sizeof *unsized->data, by_start);
    link_enclosing(sized);
    uint64_t next = UINT64_MAX;
    for (size_t i = unsized->len; i-- > 0;) {
        kymo_elf_symbol *s = &unsized->data[i];
        if (i + 1 < unsized->len && unsized->data[i + 1].address > s->address)
            next = unsized->data[i + 1].address;
        ptrdiff_t before = last_start(sized, s->address);
        size_t after = (size_t)(before + 1);
        uint64_t end = section_end(file, s->address);
        if (end > next)
            end = next;
        if (after < sized->len && end > sized->data[after].address)
            end = sized->data[after].address;
        s->end = end > s->address ? end : s->address;
    }
    symbols->n_addresses = 0;
    for (size_t i = 0, j = 0; i < sized->len || j < unsized->len;) {
        uint64_t a = i < sized->len ? sized->data[i].address : UINT64_MAX;
        uint64_t b = j < unsized->len ? unsized->data[j].address : UINT64_MAX;
        uint64_t low = a < b ? a : b;
        while (i < sized->len && sized->data[i].address == low)
            i++;
        while (j < unsized->len && unsized->data[j].address == low)
            j++;
        symbols->n_addresses++;
    }
}

const kymo_elf_symbol *kymo_elf_symbols_find(const kymo_elf_symbols *symbols, uint64_t address)
{
    ptrdiff_t i = last_start(&symbols->sized, address);
    uint32_t at = i < 0 ? NONE : (uint32_t)i;
    for (int steps = 0; at != NONE && steps < MAX_NESTING; steps++) {
        const kymo_elf_symbol *s = &symbols->sized.data[at];
        if (address < s->end)
            return s;
        at = s->enclosing;
    }
    i = last_start(&symbols->unsized, address);
    if (i >= 0 && address < symbols->unsized.data[i].end)
        return &symbols->unsized.data[i];
    return NULL;
}
