/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_plt.c - names linkage stubs by the slots that they jump through.
 *
 * A stub is code without a symbol. It jumps through a slot, and the relocation of that slot names
 * the function. Stubs that have a relocation's index instead are named by the index. This holds for
 * .plt, .plt.sec, .plt.got and .plt.bnd of all linkers.
 */
#include "symbolize/elf_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "arch/machine_code.h"
#include "arch/system.h"
#include "base/str.h"
#include "symbolize/elf_file.h"

#define MAX_STUBS (1u << 20)
/* Each is a search through all symbols; libc has about thirty. */
#define MAX_RESOLVERS 4096

typedef struct slot {
    uint64_t address; /* of the word that the stub jumps through */
    uint64_t target;  /* IRELATIVE: of the resolver; else 0 */
    uint32_t symbol;  /* in .dynsym; 0: none */
} slot;

typedef KYMO_VEC(slot) slot_vec;

static int by_address(const void *a, const void *b)
{
    const slot *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* Appends the relocations of a table that fill jump slots. */
static kymo_err add_slots(kymo_elf_file *file, kymo_elf_section *table, slot_vec *slots)
{
    kymo_span raw;
    if (table->entry_size != sizeof(Elf64_Rela) || kymo_elf_load(file, table, &raw) != KYMO_OK)
        return KYMO_OK;
    kymo_err err = KYMO_OK;
    for (size_t pos = 0; err == KYMO_OK && raw.size - pos >= sizeof(Elf64_Rela);
         pos += sizeof(Elf64_Rela)) {
        Elf64_Rela r;
        memcpy(&r, raw.data + pos, sizeof r);
        uint64_t type = ELF64_R_TYPE(r.r_info);
        slot s = {.address = r.r_offset};
        if (type == KYMO_RELOCATION_IRELATIVE)
            s.target = (uint64_t)r.r_addend;
        else if (type == KYMO_RELOCATION_JUMP_SLOT || type == KYMO_RELOCATION_GLOB_DAT)
            s.symbol = (uint32_t)ELF64_R_SYM(r.r_info);
        err = kymo_vec_push(slots, s); /* other relocations keep their index, which stubs may use */
    }
    kymo_elf_unload(table);
    return err;
}

typedef struct stubs {
    kymo_elf_file *file;
    kymo_elf_symbols *symbols;
    slot_vec by_slot;  /* sorted */
    slot_vec by_index; /* .rela.plt in its own order */
    kymo_span dynsym;
    kymo_span dynstr;
    kymo_str name;
    /* Symbols before stubs were added, to find resolvers. */
    size_t n_before;
    size_t n_resolvers;
} stubs;

/* A resolver of an indirect function has the function's name. Of aliases, the first. */
static const char *resolver_name(const stubs *st, uint64_t target)
{
    const kymo_elf_symbol *best = NULL;
    for (size_t i = 0; i < st->symbols->sized.len; i++) {
        const kymo_elf_symbol *s = &st->symbols->sized.data[i];
        if (s->address == target && s->order < st->n_before && (!best || s->order < best->order))
            best = s;
    }
    return best ? best->name : NULL;
}

static kymo_err add_stub(stubs *st, uint64_t address, uint64_t size, const slot *s)
{
    const char *name = NULL;
    if (s->symbol && s->symbol < st->dynsym.size / sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, st->dynsym.data + (size_t)s->symbol * sizeof symbol, sizeof symbol);
        if (symbol.st_name < st->dynstr.size)
            name = (const char *)st->dynstr.data + symbol.st_name;
    } else if (s->target && st->n_resolvers++ < MAX_RESOLVERS) {
        name = resolver_name(st, s->target);
    }
    if (!name || !*name)
        return KYMO_OK;
    st->name.len = 0;
    kymo_str_puts(&st->name, name);
    kymo_str_puts(&st->name, "@plt");
    if (st->name.failed)
        return KYMO_E_NOMEM;
    return kymo_elf_symbols_add(st->symbols, address, size, kymo_str_cstr(&st->name),
                                KYMO_ELF_RANK_STUB);
}

static const slot *slot_at(const stubs *st, uint64_t address)
{
    slot key = {.address = address};
    return st->by_slot.len
               ? bsearch(&key, st->by_slot.data, st->by_slot.len, sizeof key, by_address)
               : NULL;
}

static kymo_err read_stubs(stubs *st, kymo_elf_section *section)
{
    kymo_span code;
    if (kymo_elf_load(st->file, section, &code) != KYMO_OK)
        return KYMO_OK;
    size_t step =
        section->entry_size == KYMO_STUB_BYTES / 2 ? KYMO_STUB_BYTES / 2 : KYMO_STUB_BYTES;
    kymo_err err = KYMO_OK;
    for (size_t at = 0, n = 0; err == KYMO_OK && code.size - at >= step && n < MAX_STUBS;
         at += step, n++) {
        uint64_t value;
        uint64_t address = section->address + at;
        const slot *s = NULL;
        switch (kymo_stub_read(code.data + at, step, address, &value)) {
        case KYMO_STUB_SLOT:
            s = slot_at(st, value);
            break;
        case KYMO_STUB_INDEX:
            s = value < st->by_index.len ? &st->by_index.data[value] : NULL;
            break;
        case KYMO_STUB_NONE:
            break;
        }
        if (s)
            err = add_stub(st, address, step, s);
    }
    kymo_elf_unload(section);
    return err;
}

kymo_err kymo_elf_plt_add(kymo_elf_symbols *symbols, kymo_elf_file *file)
{
    kymo_elf_section *dynsym = kymo_elf_find_type(file, SHT_DYNSYM);
    kymo_elf_section *strings = dynsym ? kymo_elf_section_at(file, dynsym->link) : NULL;
    if (file->machine != KYMO_ELF_MACHINE || !strings)
        return KYMO_OK;
    stubs st = {
        .file = file, .symbols = symbols, .n_before = symbols->sized.len + symbols->unsized.len};
    if (kymo_elf_load(file, dynsym, &st.dynsym) != KYMO_OK)
        return KYMO_OK;
    if (kymo_elf_load(file, strings, &st.dynstr) != KYMO_OK) {
        kymo_elf_unload(dynsym);
        return KYMO_OK;
    }
    kymo_err err = KYMO_OK;
    for (size_t i = 1; err == KYMO_OK && i < file->n_sections; i++) {
        kymo_elf_section *s = &file->sections[i];
        if (s->type != SHT_RELA || !(s->flags & SHF_ALLOC))
            continue;
        err = add_slots(file, s, &st.by_slot);
        if (err == KYMO_OK && strcmp(s->name, ".rela.plt") == 0)
            err = add_slots(file, s, &st.by_index);
    }
    if (st.by_slot.len)
        qsort(st.by_slot.data, st.by_slot.len, sizeof(slot), by_address);
    for (size_t i = 1; err == KYMO_OK && i < file->n_sections; i++) {
        kymo_elf_section *s = &file->sections[i];
        if (s->type == SHT_PROGBITS && (s->flags & SHF_EXECINSTR) &&
            strncmp(s->name, ".plt", 4) == 0)
            err = read_stubs(&st, s);
    }
    kymo_elf_unload(dynsym);
    kymo_elf_unload(strings);
    kymo_vec_deinit(&st.by_slot);
    kymo_vec_deinit(&st.by_index);
    kymo_str_deinit(&st.name);
    return err;
}
