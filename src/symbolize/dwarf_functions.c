/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_functions.c - one pass over a unit's entries makes a table of its code ranges.
 *
 * Entries that cannot contain code (variables, parameters, types: nine of ten) are skipped by the
 * size of their abbreviation; subtrees of types and call sites by DW_AT_sibling. A pass for some
 * addresses does the same with classes, and with functions that have none of them. A pass for all
 * reads everything else, since compilers put functions into namespaces, classes and functions.
 */
#include "symbolize/dwarf_functions.h"

#include <stdlib.h>

#include "symbolize/dwarf_constants.h"

/* Length of a chain of origins and specifications; three are usual. */
#define MAX_REFERENCES 16

typedef struct open_function {
    uint32_t depth;
    uint32_t function; /* KYMO_INTERVAL_NONE: without code */
} open_function;

typedef struct walk {
    kymo_dwarf *dwarf;
    dwarf_unit *unit;
    const dwarf_asked *asked; /* NULL: everything */
    dwarf_function_table *table;
    dwarf_range_vec ranges; /* of one entry */
    KYMO_VEC(open_function) open;
    uint64_t budget;
} walk;

void kymo_dwarf_functions_free(dwarf_function_table *table)
{
    if (!table)
        return;
    kymo_vec_deinit(&table->functions);
    kymo_vec_deinit(&table->ranges);
    free(table);
}

size_t kymo_dwarf_functions_bytes(const dwarf_function_table *table)
{
    return sizeof *table + table->functions.cap * sizeof *table->functions.data +
           table->ranges.cap * sizeof *table->ranges.data;
}

const dwarf_function *kymo_dwarf_functions_find(const dwarf_function_table *table, uint64_t address)
{
    uint32_t at = kymo_intervals_find(&table->ranges, address);
    return at == KYMO_INTERVAL_NONE ? NULL : &table->functions.data[table->ranges.data[at].value];
}

static void take_sibling(const walk *w, kymo_reader *c, const dwarf_attr_spec *spec,
                         uint64_t *sibling)
{
    dwarf_value v;
    kymo_dwarf_read_value(w->dwarf, w->unit, c, spec, &v);
    if (v.kind == DWARF_REFERENCE)
        *sibling = v.number;
}

/* Goes on at the entry behind the children of this one. Only forwards, within the unit: a sibling
 * that points back would cause an endless loop. */
static bool skip_children(const walk *w, kymo_reader *c, uint64_t sibling)
{
    const unsigned char *info = w->dwarf->sections[DWARF_INFO].data;
    if (c->failed || sibling <= (uint64_t)(c->at - info) || sibling >= w->unit->end)
        return false;
    c->at = info + sibling;
    return true;
}

/* Skips an entry that is not a function; also its children, if they cannot contain code and the
 * entry has a sibling. Returns whether its children follow. */
static bool step_over(const walk *w, kymo_reader *c, const dwarf_abbrev *abbrev)
{
    const dwarf_unit *unit = w->unit;
    bool codeless = false;
    if (abbrev->has_children) {
        switch (abbrev->tag) {
        case DW_TAG_array_type:
        case DW_TAG_enumeration_type:
        case DW_TAG_subroutine_type:
        case DW_TAG_call_site:
        case DW_TAG_GNU_call_site:
            codeless = true;
            break;
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
            codeless = w->asked != NULL;
            break;
        default:
            break;
        }
    }
    const dwarf_attr_spec *specs = unit->abbrevs->specs + abbrev->first;
    if (!codeless) {
        kymo_dwarf_skip_entry(unit, c, abbrev);
        return abbrev->has_children;
    }
    uint64_t sibling = 0;
    for (unsigned i = 0; i < abbrev->count; i++) {
        if (specs[i].name == DW_AT_sibling)
            take_sibling(w, c, &specs[i], &sibling);
        else
            kymo_dwarf_skip_value(unit, c, &specs[i]);
    }
    return !skip_children(w, c, sibling);
}

/* Whether the ranges of the entry have an address that is asked for. */
static bool is_asked(const walk *w)
{
    for (size_t i = 0; i < w->ranges.len; i++) {
        size_t first = kymo_dwarf_asked_from(w->asked, w->ranges.data[i].low);
        if (first < w->asked->n && w->asked->addresses[first] < w->ranges.data[i].high)
            return true;
    }
    return false;
}

/* Reads a subprogram or an inlined one; adds it if it has code. *children says whether its children
 * follow. */
static kymo_err take_function(walk *w, kymo_reader *c, const dwarf_abbrev *abbrev, uint64_t offset,
                              uint32_t *added, bool *children)
{
    *added = KYMO_INTERVAL_NONE;
    *children = abbrev->has_children;
    const dwarf_unit *unit = w->unit;
    const dwarf_attr_spec *specs = unit->abbrevs->specs + abbrev->first;
    dwarf_function f = {.entry = offset,
                        .parent = KYMO_INTERVAL_NONE,
                        .inlined = abbrev->tag == DW_TAG_inlined_subroutine};
    dwarf_extent extent = {0};
    uint64_t sibling = 0;
    for (unsigned i = 0; i < abbrev->count; i++) {
        const dwarf_attr_spec *spec = &specs[i];
        if (kymo_dwarf_extent_take(w->dwarf, unit, c, spec, &extent))
            continue;
        dwarf_value v;
        if (spec->name == DW_AT_sibling) {
            take_sibling(w, c, spec, &sibling);
        } else if (f.inlined && spec->name == DW_AT_abstract_origin) {
            kymo_dwarf_read_value(w->dwarf, unit, c, spec, &v);
            if (v.kind == DWARF_REFERENCE || v.kind == DWARF_REFERENCE_ALT) {
                f.entry = v.number;
                f.in_alt = v.kind == DWARF_REFERENCE_ALT;
            }
        } else if (f.inlined && spec->name == DW_AT_call_file) {
            kymo_dwarf_read_value(w->dwarf, unit, c, spec, &v);
            f.call_file = v.number > UINT32_MAX ? 0 : (uint32_t)v.number;
        } else if (f.inlined && spec->name == DW_AT_call_line) {
            kymo_dwarf_read_value(w->dwarf, unit, c, spec, &v);
            f.call_line = v.number > UINT32_MAX ? 0 : (uint32_t)v.number;
        } else {
            kymo_dwarf_skip_value(unit, c, spec);
        }
    }
    if (c->failed)
        return KYMO_OK;
    w->ranges.len = 0;
    if (extent.has)
        KYMO_TRY(kymo_dwarf_read_extent(w->dwarf, unit, &extent, &w->budget, &w->ranges));
    if (w->asked && !is_asked(w) && (!*children || skip_children(w, c, sibling))) {
        *children = false;
        return KYMO_OK;
    }
    dwarf_function_table *t = w->table;
    if (w->ranges.len == 0 || t->functions.len >= KYMO_INTERVAL_NONE - 1 ||
        t->ranges.len + w->ranges.len >= KYMO_INTERVAL_NONE - 1)
        return KYMO_OK;
    f.low = w->ranges.data[0].low;
    if (w->open.len)
        f.parent = w->open.data[w->open.len - 1].function;
    *added = (uint32_t)t->functions.len;
    KYMO_TRY(kymo_vec_push(&t->functions, f));
    for (size_t i = 0; i < w->ranges.len; i++) {
        kymo_interval r = {
            .low = w->ranges.data[i].low, .high = w->ranges.data[i].high, .value = *added};
        KYMO_TRY(kymo_vec_push(&t->ranges, r));
    }
    return KYMO_OK;
}

/* Entries of this depth follow: closes functions of this depth or deeper. */
static void close_functions(walk *w, uint32_t depth)
{
    while (w->open.len && w->open.data[w->open.len - 1].depth >= depth)
        w->open.len--;
}

static kymo_err walk_entries(walk *w)
{
    kymo_reader c = kymo_dwarf_unit_bytes(w->dwarf, w->unit, w->unit->first_die);
    const unsigned char *info = w->dwarf->sections[DWARF_INFO].data;
    uint32_t depth = 0;
    while (!c.failed && kymo_reader_left(&c) > 0) {
        uint64_t offset = (uint64_t)(c.at - info);
        uint64_t code = kymo_read_uleb(&c);
        if (code == 0) {
            if (depth <= 1)
                break;
            depth--;
            close_functions(w, depth);
            continue;
        }
        const dwarf_abbrev *abbrev = kymo_dwarf_abbrev(w->unit, code);
        if (!abbrev)
            break;
        if (abbrev->tag != DW_TAG_subprogram && abbrev->tag != DW_TAG_inlined_subroutine) {
            if (step_over(w, &c, abbrev))
                depth++;
            else if (depth == 0)
                break;
            continue;
        }
        uint32_t function;
        bool children;
        KYMO_TRY(take_function(w, &c, abbrev, offset, &function, &children));
        if (children) {
            KYMO_TRY(kymo_vec_push(&w->open, (open_function){depth, function}));
            depth++;
        }
    }
    return KYMO_OK;
}

kymo_err kymo_dwarf_functions_build(kymo_dwarf *dwarf, dwarf_unit *unit, const dwarf_asked *asked,
                                    dwarf_function_table **out)
{
    KYMO_TRY(kymo_dwarf_read_root(dwarf, unit));
    walk w = {.dwarf = dwarf, .unit = unit, .asked = asked, .table = calloc(1, sizeof *w.table)};
    if (!w.table)
        return KYMO_E_NOMEM;
    w.table->has_all = asked == NULL;
    /* Each list of ranges belongs to one entry, so all are at most as long as the section. */
    w.budget = unit->end - unit->offset;
    w.budget += kymo_dwarf_section(dwarf, unit->version >= 5 ? DWARF_RNGLISTS : DWARF_RANGES).size;
    kymo_err err = walk_entries(&w);
    kymo_vec_deinit(&w.ranges);
    kymo_vec_deinit(&w.open);
    if (err != KYMO_OK) {
        kymo_dwarf_functions_free(w.table);
        return err;
    }
    kymo_intervals_finish(&w.table->ranges);
    *out = w.table;
    return KYMO_OK;
}

/* Reads one entry. Returns the reference to follow in *next (kind DWARF_NOTHING: none). False: it
 * is longer than c. */
static bool parse_name(kymo_dwarf *dwarf, const dwarf_unit *unit, kymo_reader c,
                       dwarf_function_name *out, dwarf_value *next)
{
    *next = (dwarf_value){.kind = DWARF_NOTHING};
    const dwarf_abbrev *abbrev = kymo_dwarf_abbrev(unit, kymo_read_uleb(&c));
    if (c.failed || !abbrev)
        return !c.failed;
    const dwarf_attr_spec *specs = unit->abbrevs->specs + abbrev->first;
    /* Artificial entries of compilers include members: some are declared elsewhere, and others,
     * such as a lambda's, have an object. */
    bool is_inline = false, is_artificial = false, is_member = false;
    for (unsigned i = 0; i < abbrev->count && !c.failed; i++) {
        dwarf_value v;
        switch (specs[i].name) {
        case DW_AT_name:
        case DW_AT_linkage_name:
        case DW_AT_MIPS_linkage_name: {
            kymo_dwarf_read_value(dwarf, unit, &c, &specs[i], &v);
            const char **name = specs[i].name == DW_AT_name ? &out->name : &out->linkage_name;
            if (!*name && v.kind == DWARF_TEXT && v.text[0])
                *name = v.text;
            break;
        }
        case DW_AT_inline:
            is_inline = true;
            kymo_dwarf_skip_value(unit, &c, &specs[i]);
            break;
        case DW_AT_object_pointer:
            is_member = true;
            kymo_dwarf_skip_value(unit, &c, &specs[i]);
            break;
        case DW_AT_artificial:
            kymo_dwarf_read_value(dwarf, unit, &c, &specs[i], &v);
            is_artificial = v.kind == DWARF_NUMBER && v.number != 0;
            break;
        case DW_AT_decl_line:
            kymo_dwarf_read_value(dwarf, unit, &c, &specs[i], &v);
            if (!out->line && v.kind == DWARF_NUMBER && v.number <= UINT32_MAX)
                out->line = (uint32_t)v.number;
            break;
        case DW_AT_abstract_origin:
        case DW_AT_specification:
            kymo_dwarf_read_value(dwarf, unit, &c, &specs[i], &v);
            if (v.kind == DWARF_REFERENCE || v.kind == DWARF_REFERENCE_ALT)
                *next = v;
            break;
        default:
            kymo_dwarf_skip_value(unit, &c, &specs[i]);
            break;
        }
    }
    if (!c.failed)
        out->is_wrapper |= is_inline && is_artificial && !is_member;
    return !c.failed;
}

static void read_name(kymo_dwarf *dwarf, uint64_t entry, dwarf_function_name *out,
                      dwarf_value *next)
{
    *next = (dwarf_value){.kind = DWARF_NOTHING};
    dwarf_unit *unit = kymo_dwarf_unit_at(dwarf, entry);
    if (!unit || entry < unit->first_die || kymo_dwarf_read_root(dwarf, unit) != KYMO_OK)
        return;
    kymo_reader c = kymo_dwarf_entry_bytes(dwarf, unit, entry);
    if (!parse_name(dwarf, unit, c, out, next) && !unit->is_loaded)
        (void)parse_name(dwarf, unit, kymo_dwarf_unit_bytes(dwarf, unit, entry), out, next);
}

void kymo_dwarf_function_name(kymo_dwarf *dwarf, uint64_t entry, bool in_alt,
                              dwarf_function_name *out)
{
    *out = (dwarf_function_name){0};
    dwarf_value next = {.kind = in_alt ? DWARF_REFERENCE_ALT : DWARF_REFERENCE, .number = entry};
    for (int i = 0; i < MAX_REFERENCES && next.kind != DWARF_NOTHING; i++) {
        if (next.kind == DWARF_REFERENCE_ALT)
            dwarf = dwarf->alt;
        if (!dwarf)
            return;
        read_name(dwarf, next.number, out, &next);
    }
}
