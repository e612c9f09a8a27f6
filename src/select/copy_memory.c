/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_memory.c - allocations, mappings, heaps, the RSS breakdown.
 *
 * At the end of a range of time a heap is as it stood then: what was freed later lives.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/tables.h"
#include "select/copy_state.h"

static kymo_err copy_allocation(struct kymo_copy *c, uint32_t process, const kymo_allocation *a,
                                uint32_t previous, uint32_t *id)
{
    kymo_allocation row = *a;
    row.thread = c->thread[a->thread];
    row.end_thread = kymo_copy_map(c->thread, a->end_thread);
    row.stack = kymo_copy_map(c->stack, a->stack);
    row.labels = kymo_copy_map(c->labels, a->labels);
    row.previous = previous;
    if (a->end_ns > c->keep->to_ns) {
        row.end_ns = KYMO_LIVES;
        row.end_thread = KYMO_NONE;
        row.distance = UINT32_MAX;
        row.was_resized = 0;
    }
    return kymo_profile_add_allocation(c->to, process, &row, id);
}

static kymo_err copy_allocations(struct kymo_copy *c, uint32_t process)
{
    size_t count;
    const kymo_allocation *a = kymo_profile_allocations(c->from, process, &count);
    uint32_t *map = malloc((count + 1) * sizeof *map);
    kymo_err err = map ? KYMO_OK : KYMO_E_NOMEM;
    for (size_t i = 0; err == KYMO_OK && i < count; i++) {
        map[i] = KYMO_NONE;
        if (c->thread[a[i].thread] != KYMO_NONE &&
            kymo_keep_has_row(c->keep, a[i].time_ns, a[i].stack))
            err = copy_allocation(c, c->process[process], &a[i],
                                  a[i].previous < i ? map[a[i].previous] : KYMO_NONE, &map[i]);
    }
    free(map);
    return err;
}

static kymo_err copy_mappings(struct kymo_copy *c, uint32_t process)
{
    size_t count;
    const kymo_mapping *m = kymo_profile_mappings(c->from, process, &count);
    for (size_t i = 0; i < count; i++) {
        kymo_mapping row = m[i];
        row.thread = c->thread[row.thread];
        if (row.thread == KYMO_NONE || !kymo_keep_has_row(c->keep, row.time_ns, row.stack))
            continue;
        row.stack = kymo_copy_map(c->stack, row.stack);
        if (row.end_ns > c->keep->to_ns)
            row.end_ns = KYMO_LIVES;
        KYMO_TRY(kymo_profile_add_mapping(c->to, c->process[process], &row));
    }
    return KYMO_OK;
}

/* The exact totals are of all allocations, so those of a part are not known. */
static kymo_err copy_heap(struct kymo_copy *c, uint32_t process)
{
    const kymo_heap *heap = kymo_profile_heap(c->from, process);
    if (!heap)
        return KYMO_OK;
    kymo_heap row = *heap;
    row.process = c->process[process];
    if (kymo_keep_is_cut(c->keep) || c->keep->thread)
        row.count = row.bytes = 0;
    KYMO_TRY(kymo_copy_string(c, KYMO_TEXT_CODE, heap->allocator, &row.allocator));
    KYMO_TRY(kymo_copy_string(c, KYMO_TEXT_CODE, heap->not_seen, &row.not_seen));
    return kymo_profile_set_heap(c->to, &row);
}

static int has_ledger(const struct kymo_copy *c, const kymo_ledger *row)
{
    return c->process[row->process] != KYMO_NONE && kymo_keep_has_time(c->keep, row->time_ns);
}

/* Parts of a line with the same bytes lie by the ids of their names, so those keep their order.
 * roles: by string, 0 for what is no name. A mapped file is one of code if it is a module. */
static kymo_err copy_ledger_names(struct kymo_copy *c, const kymo_ledger *ledger, size_t count,
                                  uint8_t *roles)
{
    uint32_t strings = kymo_profile_count(c->from, KYMO_TABLE_STRINGS);
    for (size_t i = 0; i < count; i++)
        if (has_ledger(c, &ledger[i]))
            roles[ledger[i].name] = KYMO_TEXT_FILE;
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_MODULES); i++) {
        const char *path = kymo_profile_module(c->from, i)->path;
        uint32_t string = kymo_profile_find_string(c->from, path, strlen(path));
        if (string != KYMO_NONE && roles[string])
            roles[string] = KYMO_TEXT_PATH;
    }
    for (uint32_t i = 1, id; i < strings; i++)
        if (roles[i])
            KYMO_TRY(kymo_copy_string(c, (kymo_text_role)roles[i], i, &id));
    return KYMO_OK;
}

static kymo_err copy_ledger_rows(struct kymo_copy *c, const kymo_ledger *ledger, size_t count,
                                 const uint8_t *roles)
{
    for (size_t i = 0; i < count; i++) {
        kymo_ledger row = ledger[i];
        if (!has_ledger(c, &row))
            continue;
        row.process = c->process[row.process];
        row.stack = kymo_copy_map(c->stack, row.stack);
        KYMO_TRY(kymo_copy_string(c, (kymo_text_role)roles[row.name], row.name, &row.name));
        KYMO_TRY(kymo_profile_add_ledger(c->to, &row));
    }
    return KYMO_OK;
}

static kymo_err copy_ledger(struct kymo_copy *c)
{
    size_t count;
    const kymo_ledger *ledger = kymo_profile_ledger(c->from, &count);
    uint8_t *roles = calloc(kymo_profile_count(c->from, KYMO_TABLE_STRINGS) + 1u, 1);
    kymo_err err = roles ? copy_ledger_names(c, ledger, count, roles) : KYMO_E_NOMEM;
    if (err == KYMO_OK)
        err = copy_ledger_rows(c, ledger, count, roles);
    free(roles);
    return err;
}

static kymo_err copy_infos(struct kymo_copy *c)
{
    size_t count;
    const kymo_memory_info *infos = kymo_profile_memory_infos(c->from, &count);
    for (size_t i = 0; i < count; i++) {
        kymo_memory_info row = infos[i];
        row.process = c->process[row.process];
        if (row.process == KYMO_NONE || !kymo_keep_has_time(c->keep, row.time_ns))
            continue;
        KYMO_TRY(kymo_copy_string(c, KYMO_TEXT_CODE, row.key, &row.key));
        KYMO_TRY(kymo_profile_add_memory_info(c->to, &row));
    }
    return KYMO_OK;
}

kymo_err kymo_copy_memory(struct kymo_copy *c)
{
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_PROCESSES); i++) {
        if (c->process[i] == KYMO_NONE)
            continue;
        KYMO_TRY(copy_allocations(c, i));
        KYMO_TRY(copy_mappings(c, i));
        KYMO_TRY(copy_heap(c, i));
    }
    KYMO_TRY(copy_ledger(c));
    return copy_infos(c);
}
