/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_file.h - the DWARF of one file: sections, units, abbreviations, attribute values.
 *
 * Layer:    symbolize (cold half); above elf_file
 * Flow:     elf_content -> [dwarf_file] -> dwarf_units (addresses), dwarf_functions, dwarf_lines
 * Threads:  one owner at a time
 * Memory:   borrows the ELF file's sections, owns the rest
 * Signals:  not for handlers
 *
 * DWARF 2 to 5, 32- and 64-bit, of full, partial and skeleton units.
 */
#ifndef KYMO_SYMBOLIZE_DWARF_FILE_H
#define KYMO_SYMBOLIZE_DWARF_FILE_H

#include "base/arena.h"
#include "base/reader.h"
#include "base/search.h"
#include "base/vec.h"
#include "symbolize/elf_file.h"

typedef enum dwarf_section {
    DWARF_INFO,
    DWARF_ABBREV,
    DWARF_STR,
    DWARF_LINE,
    DWARF_LINE_STR,
    DWARF_RANGES,
    DWARF_RNGLISTS,
    DWARF_ADDR,
    DWARF_STR_OFFSETS,
    DWARF_ARANGES,
    DWARF_SECTION_COUNT
} dwarf_section;

typedef struct dwarf_attr_spec {
    uint16_t name;
    uint16_t form;
    int64_t implicit; /* of DW_FORM_implicit_const */
} dwarf_attr_spec;

typedef struct dwarf_abbrev {
    uint64_t code;
    uint32_t first; /* in the table's specs */
    uint16_t count;
    uint16_t tag;
    /* Size of all attributes if it is the same in every entry of a usual unit, else -1. */
    int32_t fixed_size;
    bool has_children;
} dwarf_abbrev;

typedef struct dwarf_abbrev_table {
    uint64_t offset;       /* in .debug_abbrev */
    dwarf_abbrev *abbrevs; /* by code; dense tables have code i + 1 at i */
    uint32_t n;
    bool dense;
    dwarf_attr_spec *specs;
} dwarf_abbrev_table;

struct dwarf_function_table;
struct dwarf_line_table;

typedef struct dwarf_unit {
    uint64_t offset; /* of its header in .debug_info */
    uint64_t end;
    uint64_t first_die;
    uint64_t abbrev_offset;
    uint8_t version;
    uint8_t address_size;
    uint8_t offset_size; /* 4 or 8 */
    uint8_t type;        /* DW_UT_*; compile for DWARF before 5 */
    bool usual;          /* 8-byte addresses, 4-byte offsets, version 3 or later */
    bool in_aranges;     /* .debug_aranges has its addresses */
    bool is_loaded;      /* all its bytes were read */
    bool root_read;
    bool damaged; /* its root cannot be read; not to be tried again */
    bool has_lines;
    uint16_t tag;
    const dwarf_abbrev_table *abbrevs; /* once the root was read */
    uint64_t low_pc;
    uint64_t str_offsets_base;
    uint64_t addr_base;
    uint64_t rnglists_base;
    uint64_t line_offset;
    const char *name;
    const char *comp_dir;
    struct dwarf_function_table *functions; /* NULL: not built, or dropped */
    struct dwarf_line_table *lines;
} dwarf_unit;

/* The addresses that names are wanted of, sorted. Of a unit with thousands of functions and lines
 * only what concerns them is kept. */
typedef struct dwarf_asked {
    const uint64_t *addresses;
    size_t n;
} dwarf_asked;

/* How many of them are below low. */
static inline size_t kymo_dwarf_asked_from(const dwarf_asked *asked, uint64_t low)
{
    return KYMO_COUNT_WHERE(i, asked->n, asked->addresses[i] < low);
}

typedef struct kymo_dwarf {
    kymo_elf_file *elf;                      /* borrowed */
    kymo_span sections[DWARF_SECTION_COUNT]; /* of .debug_info and .debug_line not all was read */
    kymo_elf_section *opened[DWARF_SECTION_COUNT];
    bool tried[DWARF_SECTION_COUNT];
    kymo_arena unit_memory;
    KYMO_VEC(dwarf_unit *) units; /* by offset; those whose headers were read so far */
    uint64_t next_unit;           /* offset of the header to be read next */
    bool has_all_units;
    KYMO_VEC(dwarf_abbrev_table *) abbrevs; /* by offset */
    uint64_t abbrev_bytes;                  /* that were parsed so far */
    struct kymo_dwarf *alt;                 /* dwz file, borrowed; NULL: none */
    uint64_t code_low; /* [low, high) holds all code; ranges outside are of discarded functions */
    uint64_t code_high;
} kymo_dwarf;

/* Reads the first unit's header. KYMO_E_NOT_FOUND if the file has no .debug_info, KYMO_E_CORRUPT
 * if no unit is readable; other errors of kymo_elf_load. The ELF file must outlive it. */
KYMO_NODISCARD
kymo_err kymo_dwarf_open(kymo_elf_file *elf, kymo_dwarf **out);
/* NULL is allowed. */
void kymo_dwarf_close(kymo_dwarf *dwarf);

/* A section's bytes, read on the first call; empty if they cannot be read. Not for .debug_info and
 * .debug_line, of which little is needed. */
kymo_span kymo_dwarf_section(kymo_dwarf *dwarf, dwarf_section which);
/* Reads the length at the start of a unit or a line program in .debug_info or .debug_line:
 * [*begin, *end) follows it. *offset_size is 4 or 8. False if the section ends before. */
bool kymo_dwarf_find_unit(kymo_dwarf *dwarf, dwarf_section which, uint64_t offset,
                          uint8_t *offset_size, uint64_t *begin, uint64_t *end);
/* Reads these bytes of such a section; false: not all can be. */
bool kymo_dwarf_part(kymo_dwarf *dwarf, dwarf_section which, uint64_t begin, uint64_t end,
                     kymo_reader *out);
/* The unit's bytes from `begin`, an offset in .debug_info, to its end. All of it is read: what a
 * reader of its entries needs is not known before. Fails if they cannot be read. */
kymo_reader kymo_dwarf_unit_bytes(kymo_dwarf *dwarf, dwarf_unit *unit, uint64_t begin);
/* The first bytes of an entry, an offset in the unit, and what follows it: enough for one of usual
 * length. Who reads beyond them tries again with kymo_dwarf_unit_bytes. */
kymo_reader kymo_dwarf_entry_bytes(kymo_dwarf *dwarf, dwarf_unit *unit, uint64_t entry);

/* Frees a section that will not be needed soon. */
void kymo_dwarf_release_section(kymo_dwarf *dwarf, dwarf_section which);

/* Reads the headers of the units that begin at or before this offset. Only KYMO_E_NOMEM fails. */
KYMO_NODISCARD
kymo_err kymo_dwarf_read_units(kymo_dwarf *dwarf, uint64_t offset);
/* The unit that contains this offset of .debug_info, or NULL. Its address does not change. */
dwarf_unit *kymo_dwarf_unit_at(kymo_dwarf *dwarf, uint64_t offset);
/* Reads the attributes of the unit's root. KYMO_E_CORRUPT: the unit is unusable. */
KYMO_NODISCARD
kymo_err kymo_dwarf_read_root(kymo_dwarf *dwarf, dwarf_unit *unit);

/* An attribute's value. */
typedef struct dwarf_value {
    enum {
        DWARF_NOTHING, /* present but not used: blocks, unknown values */
        DWARF_NUMBER,
        DWARF_ADDRESS,
        DWARF_ADDRESS_INDEX,
        DWARF_TEXT,
        DWARF_REFERENCE,     /* offset in .debug_info of the same file */
        DWARF_REFERENCE_ALT, /* ... of the dwz file */
        DWARF_OFFSET,        /* into the section that the attribute implies */
        DWARF_LIST_INDEX,    /* of .debug_rnglists' offsets */
    } kind;
    uint64_t number;
    const char *text;
} dwarf_value;

/* Reads the value of one attribute and advances. For text of DW_FORM_strx the root must have
 * been read; addresses by index are resolved by kymo_dwarf_resolve_address. */
void kymo_dwarf_read_value(kymo_dwarf *dwarf, const dwarf_unit *unit, kymo_reader *c,
                           const dwarf_attr_spec *spec, dwarf_value *out);
void kymo_dwarf_skip_value(const dwarf_unit *unit, kymo_reader *c, const dwarf_attr_spec *spec);
/* Size of a form in a usual unit, -1 if it depends on the entry. */
int kymo_dwarf_form_size(unsigned form);
/* Skips all attributes of an entry whose abbreviation was just read. */
static inline void kymo_dwarf_skip_entry(const dwarf_unit *unit, kymo_reader *c,
                                         const dwarf_abbrev *abbrev)
{
    if (abbrev->fixed_size >= 0 && unit->usual) {
        kymo_reader_skip(c, (uint64_t)abbrev->fixed_size);
        return;
    }
    const dwarf_attr_spec *specs = unit->abbrevs->specs + abbrev->first;
    for (unsigned i = 0; i < abbrev->count; i++)
        kymo_dwarf_skip_value(unit, c, &specs[i]);
}

/* The abbreviation of a code, or NULL. The unit's root must have been read. */
static inline const dwarf_abbrev *kymo_dwarf_abbrev(const dwarf_unit *unit, uint64_t code)
{
    const dwarf_abbrev_table *t = unit->abbrevs;
    if (kymo_likely(t->dense))
        return code - 1 < t->n ? &t->abbrevs[code - 1] : NULL;
    size_t at = KYMO_COUNT_WHERE(i, t->n, t->abbrevs[i].code < code);
    return at < t->n && t->abbrevs[at].code == code ? &t->abbrevs[at] : NULL;
}

/* The address of a DWARF_ADDRESS or DWARF_ADDRESS_INDEX; false if there is none. */
bool kymo_dwarf_resolve_address(kymo_dwarf *dwarf, const dwarf_unit *unit, const dwarf_value *value,
                                uint64_t *out);

typedef struct dwarf_range {
    uint64_t low;
    uint64_t high; /* one beyond */
} dwarf_range;
typedef KYMO_VEC(dwarf_range) dwarf_range_vec;

/* The addresses of an entry: set while its attributes are read, then used. */
typedef struct dwarf_extent {
    dwarf_value low;
    dwarf_value high;
    dwarf_value ranges;
    uint8_t has; /* 1: low, 2: high, 4: ranges */
} dwarf_extent;

/* If spec is one of the attributes of an extent, reads it and returns true. */
bool kymo_dwarf_extent_take(kymo_dwarf *dwarf, const dwarf_unit *unit, kymo_reader *c,
                            const dwarf_attr_spec *spec, dwarf_extent *extent);
/* Appends the non-empty ranges of an entry. Each step of a list decrements *budget, and 0 ends
 * the list: entries that share one long list would cost quadratic time. Only KYMO_E_NOMEM fails. */
KYMO_NODISCARD
kymo_err kymo_dwarf_read_extent(kymo_dwarf *dwarf, const dwarf_unit *unit,
                                const dwarf_extent *extent, uint64_t *budget, dwarf_range_vec *out);
/* The ranges of the unit's root. */
KYMO_NODISCARD
kymo_err kymo_dwarf_root_ranges(kymo_dwarf *dwarf, dwarf_unit *unit, uint64_t *budget,
                                dwarf_range_vec *out);

/* The table of abbreviations at an offset, parsed once (dwarf_abbrev.c). KYMO_E_CORRUPT,
 * KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_dwarf_abbrevs_get(kymo_dwarf *dwarf, uint64_t offset, const dwarf_abbrev_table **out);
/* NULL is allowed. */
void kymo_dwarf_abbrevs_free(dwarf_abbrev_table *table);

#endif
