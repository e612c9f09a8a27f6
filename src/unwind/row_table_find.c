/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The half of row_table.h that handlers use. Every index that is read from the table is held
 * against the sizes before it is used: another process may have written it.
 */
#include "unwind/row_table.h"

#include "arch/row.h"
#include "base/search.h"

struct table_view {
    const uint64_t *rules;
    const uint32_t *buckets;
    const struct kymo_row_table_row *rows;
    struct kymo_row_table_header header; /* a copy: read once */
};

/* False if the parts do not fit into size. */
static bool open_view(const void *data, size_t size, struct table_view *view)
{
    if (size < sizeof view->header || ((uintptr_t)data & 7) != 0)
        return false;
    view->header = *(const struct kymo_row_table_header *)data;
    const struct kymo_row_table_header *h = &view->header;
    uint64_t buckets_bytes = (4 * ((uint64_t)h->buckets + 1) + 7) & ~7ull;
    uint64_t rules_at = sizeof *h;
    uint64_t buckets_at = rules_at + 8 * (uint64_t)h->rules;
    uint64_t rows_at = buckets_at + buckets_bytes;
    if (h->magic != KYMO_ROW_TABLE_MAGIC || h->size != size || h->rules == 0 ||
        rows_at + sizeof(struct kymo_row_table_row) * (uint64_t)h->rows != size)
        return false;
    const char *bytes = data;
    view->rules = (const uint64_t *)(const void *)(bytes + rules_at);
    view->buckets = (const uint32_t *)(const void *)(bytes + buckets_at);
    view->rows = (const struct kymo_row_table_row *)(const void *)(bytes + rows_at);
    return true;
}

kymo_err kymo_row_table_check(const void *data, size_t size)
{
    struct table_view view;
    return open_view(data, size, &view) ? KYMO_OK : KYMO_E_CORRUPT;
}

uint64_t kymo_row_table_base(const void *data)
{
    return ((const struct kymo_row_table_header *)data)->base_vaddr;
}

uint64_t kymo_row_table_find(const void *data, size_t size, uint64_t offset)
{
    struct table_view view;
    if (!open_view(data, size, &view) || offset >= view.header.text_size ||
        offset / 256 >= view.header.buckets)
        return KYMO_ROW_NONE;
    uint32_t lo = view.buckets[offset / 256];
    uint32_t hi = view.buckets[offset / 256 + 1];
    hi = hi < view.header.rows ? hi : view.header.rows;
    const struct kymo_row_table_row *rows = view.rows + lo;
    size_t after = lo + KYMO_COUNT_WHERE(i, hi > lo ? hi - lo : 0, rows[i].offset <= offset);
    if (after == 0 || after > view.header.rows)
        return KYMO_ROW_NONE;
    uint32_t rule = view.rows[after - 1].rule;
    return rule < view.header.rules ? view.rules[rule] : KYMO_ROW_NONE;
}
