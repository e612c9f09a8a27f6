/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_apply.c - puts the names of generated code into the stacks of samples, markers and memory.
 *
 * All samples with the same addresses share a stack, at any time and in any process, but generated
 * code differs by process and time. So each stack is translated for the process and the time of a
 * sample, from the outermost frame inwards. For a marker the time is that of its record, which is
 * its end. Each node keeps its translation and the times for which it holds. The samples of a
 * thread come in order of time, so the next one usually finds its stack translated. Stacks without
 * generated code are not touched.
 *
 * A hostile file could require a new translation of a deep stack for each sample. A limit, far
 * above what a real recording needs, keeps the work linear; beyond it a node keeps its last
 * translation.
 */
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "profile/code_map.h"
#include "profile/tables.h"

/* Limit of the work: nodes translated and rows looked at, per sample and per node. */
#define WORK_PER_SAMPLE 64u

/* The translation of one node. */
struct done {
    uint64_t from_ns;
    uint64_t to_ns; /* 0: not translated yet */
    uint32_t process;
    uint32_t stack;
};

struct apply {
    kymo_code_map *map;
    kymo_profile *p;
    struct done *done;         /* by stack */
    unsigned char *is_touched; /* by stack: a frame of it is outside every module */
    uint32_t count;            /* stacks before the first was added here */
    uint64_t work;
    uint64_t most_work;
    KYMO_VEC(uint32_t) modules; /* of all processes, by process and start */
    KYMO_VEC(uint32_t) way;     /* the nodes to translate, from a sample's node outwards */
};

static int is_generated(const kymo_frame *f)
{
    return f->module == KYMO_NONE && f->address != KYMO_NO_ADDRESS;
}

/* Whether line i begins at or before an offset. */
static int begins_line(const void *rows, size_t i, const void *offset)
{
    const kymo_code_line_row *lines = rows;
    return lines[i].offset <= *(const uint64_t *)offset;
}

/* The frame of a piece of code, for an address in that piece. */
static kymo_err make_frame(struct apply *a, const kymo_code_row *row, uint64_t address,
                           uint32_t *frame)
{
    uint64_t offset = address - row->start;
    kymo_line line = {.function = row->function};
    /* A recording without lines has no array of them. */
    const kymo_code_line_row *lines = row->line_count ? a->map->lines.data + row->first_line : NULL;
    size_t before = kymo_search_count(lines, row->line_count, begins_line, &offset);
    if (before > 0) {
        line.line = lines[before - 1].line;
        line.column = lines[before - 1].column;
    }
    KYMO_TRY(
        kymo_profile_add_frame(a->p, row->module, row->shown + offset, KYMO_CATEGORY_JIT, frame));
    if (a->p->frames.data[*frame].line_count > 0)
        return KYMO_OK;
    return kymo_profile_frame_set_lines(a->p, *frame, &line, 1, row->symbol, 1);
}

/* ---- modules ---- */

static int compare_modules(const void *a, const void *b, void *profile)
{
    const kymo_profile *p = profile;
    const kymo_module *x = &p->modules.data[*(const uint32_t *)a];
    const kymo_module *y = &p->modules.data[*(const uint32_t *)b];
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* All modules of files, sorted: generated code may turn out to be a second mapping of one. */
static kymo_err collect_modules(struct apply *a)
{
    for (uint32_t i = 0; i < a->p->modules.len; i++)
        if (a->p->modules.data[i].category != KYMO_CATEGORY_JIT)
            KYMO_TRY(kymo_vec_push(&a->modules, i));
    if (a->modules.len > 1)
        qsort_r(a->modules.data, a->modules.len, sizeof *a->modules.data, compare_modules, a->p);
    return KYMO_OK;
}

struct place {
    uint32_t process;
    uint64_t address;
};

/* Whether module i of those collected begins at or before a place. */
static int begins_module(const void *rows, size_t i, const void *key)
{
    const struct apply *a = rows;
    const struct place *place = key;
    const kymo_module *m = &a->p->modules.data[a->modules.data[i]];
    return m->process < place->process ||
           (m->process == place->process && m->start <= place->address);
}

/* The module at the address, if it was there all the time; KYMO_NONE if there is none. */
static uint32_t find_module(const struct apply *a, uint32_t process, uint64_t address)
{
    struct place place = {process, address};
    size_t before = kymo_search_count(a, a->modules.len, begins_module, &place);
    if (before == 0)
        return KYMO_NONE;
    uint32_t module = a->modules.data[before - 1];
    const kymo_module *m = &a->p->modules.data[module];
    return m->process == process && m->load_ns == 0 && m->unload_ns == 0 && address < m->end
               ? module
               : KYMO_NONE;
}

/* ---- stacks ---- */

static kymo_err translate(struct apply *a, uint32_t process, uint32_t node, uint64_t time_ns)
{
    uint32_t parent = a->p->stack_parent.data[node];
    uint32_t frame = a->p->stack_frame.data[node];
    const kymo_frame *f = &a->p->frames.data[frame];
    struct done done = {0, UINT64_MAX, process, KYMO_NONE};
    if (is_generated(f)) {
        uint64_t address = f->address;
        const kymo_code_row *row = kymo_code_map_find(a->map, process, address, time_ns,
                                                      &done.from_ns, &done.to_ns, &a->work);
        uint32_t module = row ? KYMO_NONE : find_module(a, process, address);
        if (row)
            KYMO_TRY(make_frame(a, row, address, &frame));
        else if (module != KYMO_NONE)
            KYMO_TRY(kymo_profile_add_frame(a->p, module,
                                            address - a->p->modules.data[module].load_bias,
                                            KYMO_CATEGORY_AUTO, &frame));
    }
    if (parent != KYMO_NONE && a->is_touched[parent]) {
        const struct done *above = &a->done[parent];
        parent = above->stack;
        done.from_ns = above->from_ns > done.from_ns ? above->from_ns : done.from_ns;
        done.to_ns = above->to_ns < done.to_ns ? above->to_ns : done.to_ns;
    }
    KYMO_TRY(kymo_profile_add_stack(a->p, parent, frame, &done.stack));
    a->done[node] = done;
    return KYMO_OK;
}

static int is_done(const struct apply *a, uint32_t process, uint32_t node, uint64_t time_ns)
{
    const struct done *d = &a->done[node];
    return d->to_ns != 0 &&
           (a->work > a->most_work ||
            (d->process == process && d->from_ns <= time_ns && time_ns < d->to_ns));
}

static kymo_err resolve(struct apply *a, uint32_t process, uint32_t *stack, uint64_t time_ns)
{
    if (*stack == KYMO_NONE || !a->is_touched[*stack])
        return KYMO_OK;
    a->way.len = 0;
    for (uint32_t node = *stack;
         node != KYMO_NONE && a->is_touched[node] && !is_done(a, process, node, time_ns);
         node = a->p->stack_parent.data[node])
        KYMO_TRY(kymo_vec_push(&a->way, node));
    a->work += a->way.len;
    while (a->way.len > 0)
        KYMO_TRY(translate(a, process, a->way.data[--a->way.len], time_ns));
    *stack = a->done[*stack].stack;
    return KYMO_OK;
}

static kymo_err resolve_thread(struct apply *a, uint32_t process, kymo_sample_columns *s)
{
    for (size_t i = 0; i < s->count; i++)
        KYMO_TRY(resolve(a, process, &s->stack[i], s->time_ns[i]));
    return KYMO_OK;
}

static kymo_err resolve_markers(struct apply *a, uint32_t process, kymo_marker_rows *m)
{
    for (size_t i = 0; i < m->rows.len; i++)
        KYMO_TRY(resolve(a, process, &m->rows.data[i].stack, m->rows.data[i].end_ns));
    return KYMO_OK;
}

static kymo_err resolve_memory(struct apply *a)
{
    for (uint32_t i = 0; i < a->p->allocations.len; i++)
        for (size_t k = 0; k < a->p->allocations.data[i].rows.len; k++) {
            kymo_allocation *row = &a->p->allocations.data[i].rows.data[k];
            KYMO_TRY(resolve(a, i, &row->stack, row->time_ns));
        }
    for (uint32_t i = 0; i < a->p->mappings.len; i++)
        for (size_t k = 0; k < a->p->mappings.data[i].rows.len; k++) {
            kymo_mapping *row = &a->p->mappings.data[i].rows.data[k];
            KYMO_TRY(resolve(a, i, &row->stack, row->time_ns));
        }
    for (size_t i = 0; i < a->p->ledger.len; i++) {
        kymo_ledger *row = &a->p->ledger.data[i];
        KYMO_TRY(resolve(a, row->process, &row->stack, row->time_ns));
    }
    return KYMO_OK;
}

/* Whether any stack is touched. */
static int mark_touched(struct apply *a)
{
    int found = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t parent = a->p->stack_parent.data[i];
        a->is_touched[i] = is_generated(&a->p->frames.data[a->p->stack_frame.data[i]]) ||
                           (parent != KYMO_NONE && a->is_touched[parent]);
        found |= a->is_touched[i];
    }
    return found;
}

static kymo_err resolve_all(struct apply *a)
{
    a->most_work = (a->p->sample_count + a->p->marker_count + a->p->allocation_count +
                    a->p->mapping_count + a->count + 1) *
                   WORK_PER_SAMPLE;
    a->done = calloc(a->count + 1, sizeof *a->done);
    if (!a->done)
        return KYMO_E_NOMEM;
    KYMO_TRY(collect_modules(a));
    for (uint32_t i = 0; i < a->p->threads.len; i++)
        KYMO_TRY(resolve_thread(a, a->p->threads.data[i].process, &a->p->samples.data[i]));
    for (uint32_t i = 0; i < a->p->threads.len; i++)
        KYMO_TRY(resolve_markers(a, a->p->threads.data[i].process, &a->p->markers.data[i]));
    KYMO_TRY(resolve_memory(a));
    return a->p->stack_frame.len > a->count ? kymo_profile_drop_unused_stacks(a->p) : KYMO_OK;
}

kymo_err kymo_code_place_frames(kymo_profile *p)
{
    struct apply a = {.p = p};
    KYMO_VEC(uint32_t) processes = {0};
    kymo_err err = collect_modules(&a);
    for (size_t i = 0; i < a.modules.len && err == KYMO_OK; i++) {
        uint32_t process = p->modules.data[a.modules.data[i]].process;
        if (processes.len == 0 || processes.data[processes.len - 1] != process)
            err = kymo_vec_push(&processes, process);
    }
    size_t count = p->frames.len;
    a.most_work = (count + p->modules.len) * WORK_PER_SAMPLE;
    for (size_t i = 0; i < count && err == KYMO_OK; i++) {
        if (!is_generated(&p->frames.data[i]))
            continue;
        uint64_t address = p->frames.data[i].address;
        for (size_t k = 0; k < processes.len && a.work < a.most_work && err == KYMO_OK; k++) {
            uint32_t module = find_module(&a, processes.data[k], address);
            uint32_t frame;
            a.work++;
            if (module != KYMO_NONE)
                err = kymo_profile_add_frame(p, module, address - p->modules.data[module].load_bias,
                                             KYMO_CATEGORY_AUTO, &frame);
        }
    }
    kymo_vec_deinit(&processes);
    kymo_vec_deinit(&a.modules);
    return err;
}

kymo_err kymo_code_map_apply(kymo_code_map *map, kymo_profile *p)
{
    struct apply a = {.map = map, .p = p, .count = (uint32_t)p->stack_frame.len};
    kymo_err err = KYMO_E_NOMEM;
    kymo_code_map_prepare(map);
    for (size_t i = 0; i < map->processes.len; i++)
        if (map->processes.data[i].module != KYMO_NONE)
            p->modules.data[map->processes.data[i].module].end = map->processes.data[i].used_bytes;
    a.is_touched = calloc(a.count + 1, 1);
    if (a.is_touched)
        err = mark_touched(&a) ? resolve_all(&a) : KYMO_OK;
    free(a.done);
    free(a.is_touched);
    kymo_vec_deinit(&a.way);
    kymo_vec_deinit(&a.modules);
    return err;
}
