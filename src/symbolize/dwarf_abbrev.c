/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf_file.h"

#include <stdlib.h>

#include "symbolize/dwarf_constants.h"

static int by_code(const void *a, const void *b)
{
    const dwarf_abbrev *x = a, *y = b;
    return x->code < y->code ? -1 : x->code > y->code;
}

void kymo_dwarf_abbrevs_free(dwarf_abbrev_table *table)
{
    if (!table)
        return;
    free(table->abbrevs);
    free(table->specs);
    free(table);
}

typedef KYMO_VEC(dwarf_abbrev) abbrev_vec;
typedef KYMO_VEC(dwarf_attr_spec) spec_vec;

/* Reads one declaration after its code. */
static kymo_err read_one(kymo_reader *c, uint64_t code, abbrev_vec *abbrevs, spec_vec *specs)
{
    dwarf_abbrev a = {.code = code, .first = (uint32_t)specs->len};
    uint64_t tag = kymo_read_uleb(c);
    a.tag = tag > UINT16_MAX ? 0 : (uint16_t)tag;
    a.has_children = kymo_read_u8(c) != 0;
    size_t size = 0;
    bool fixed = true;
    while (!c->failed) {
        uint64_t name = kymo_read_uleb(c);
        uint64_t form = kymo_read_uleb(c);
        if (name == 0 && form == 0)
            break;
        int64_t implicit = form == DW_FORM_implicit_const ? kymo_read_sleb(c) : 0;
        if (form > UINT16_MAX || a.count == UINT16_MAX || specs->len >= UINT32_MAX)
            return KYMO_E_CORRUPT;
        int bytes = kymo_dwarf_form_size((unsigned)form);
        fixed = fixed && bytes >= 0;
        size += fixed ? (size_t)bytes : 0;
        dwarf_attr_spec spec = {.name = name > UINT16_MAX ? 0 : (uint16_t)name,
                                .form = (uint16_t)form,
                                .implicit = implicit};
        KYMO_TRY(kymo_vec_push(specs, spec));
        a.count++;
    }
    a.fixed_size = fixed ? (int32_t)size : -1; /* at most 65535 attributes of 16 bytes */
    return c->failed ? KYMO_E_CORRUPT : kymo_vec_push(abbrevs, a);
}

static kymo_err parse(kymo_dwarf *dwarf, uint64_t offset, dwarf_abbrev_table *out)
{
    kymo_span section = kymo_dwarf_section(dwarf, DWARF_ABBREV);
    kymo_reader c = kymo_reader_part(section.data, section.size, offset, section.size);
    /* Tables do not overlap, so all of them together are at most as long as the section. A
     * hostile file with a table at each byte would otherwise cost quadratic time. */
    uint64_t allowed = (uint64_t)section.size * 2 + 65536;
    const unsigned char *start = c.at;
    abbrev_vec abbrevs = {0};
    spec_vec specs = {0};
    KYMO_TRY(kymo_vec_reserve(&specs, 8)); /* never NULL, even if nothing has an attribute */
    kymo_err err = c.failed || dwarf->abbrev_bytes > allowed ? KYMO_E_CORRUPT : KYMO_OK;
    while (err == KYMO_OK && kymo_reader_left(&c) > 0) {
        uint64_t code = kymo_read_uleb(&c);
        if (code == 0)
            break;
        err = read_one(&c, code, &abbrevs, &specs);
    }
    dwarf->abbrev_bytes += (uint64_t)(c.at - start) + 1;
    if (err != KYMO_OK && err != KYMO_E_NOMEM && abbrevs.len)
        err = KYMO_OK; /* damaged: use what came before */
    if (err != KYMO_OK || abbrevs.len == 0) {
        kymo_vec_deinit(&abbrevs);
        kymo_vec_deinit(&specs);
        return err == KYMO_OK ? KYMO_E_CORRUPT : err;
    }
    bool dense = true;
    for (size_t i = 0; i < abbrevs.len; i++)
        dense = dense && abbrevs.data[i].code == i + 1;
    if (!dense) {
        qsort(abbrevs.data, abbrevs.len, sizeof *abbrevs.data, by_code);
        /* Codes that are 1..n in another order are dense as well. */
        dense = true;
        for (size_t i = 0; i < abbrevs.len; i++)
            dense = dense && abbrevs.data[i].code == i + 1;
    }
    *out = (dwarf_abbrev_table){.offset = offset,
                                .abbrevs = abbrevs.data,
                                .n = (uint32_t)abbrevs.len,
                                .dense = dense,
                                .specs = specs.data};
    return KYMO_OK;
}

kymo_err kymo_dwarf_abbrevs_get(kymo_dwarf *dwarf, uint64_t offset, const dwarf_abbrev_table **out)
{
    size_t at = KYMO_COUNT_WHERE(i, dwarf->abbrevs.len, dwarf->abbrevs.data[i]->offset < offset);
    if (at < dwarf->abbrevs.len && dwarf->abbrevs.data[at]->offset == offset) {
        *out = dwarf->abbrevs.data[at];
        return KYMO_OK;
    }
    KYMO_TRY(kymo_vec_reserve(&dwarf->abbrevs, 1));
    dwarf_abbrev_table *table = calloc(1, sizeof *table);
    if (!table)
        return KYMO_E_NOMEM;
    kymo_err err = parse(dwarf, offset, table);
    if (err != KYMO_OK) {
        kymo_dwarf_abbrevs_free(table);
        return err;
    }
    memmove(&dwarf->abbrevs.data[at + 1], &dwarf->abbrevs.data[at],
            (dwarf->abbrevs.len - at) * sizeof *dwarf->abbrevs.data);
    dwarf->abbrevs.data[at] = table;
    dwarf->abbrevs.len++;
    *out = table;
    return KYMO_OK;
}
