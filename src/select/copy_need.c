/* SPDX-License-Identifier: Apache-2.0 */
/* copy_need.c - what the kept rows refer to: from rows to stacks and sets, from those to code. */
#include "select/copy_state.h"

static void need(uint32_t *map, uint32_t id)
{
    if (id != KYMO_NONE)
        map[id] = 0;
}

static void need_samples(struct kymo_copy *c, uint32_t thread)
{
    kymo_samples s = kymo_profile_samples(c->from, thread);
    const uint32_t *labels = kymo_profile_sample_labels(c->from, thread);
    for (size_t i = 0; i < s.count; i++) {
        uint64_t time_ns = s.time_ns[i];
        uint64_t weight = s.weight_ns[i];
        if (kymo_keep_has_sample(c->keep, c->adds[s.kind[i]], s.stack[i], &time_ns, &weight)) {
            need(c->stack, s.stack[i]);
            if (labels)
                need(c->labels, labels[i]);
        }
    }
}

static void need_markers(struct kymo_copy *c, uint32_t thread)
{
    kymo_markers m = kymo_profile_markers(c->from, thread);
    for (size_t i = 0; i < m.count; i++)
        if (kymo_keep_has_marker(c->keep, &m.rows[i])) {
            need(c->stack, m.rows[i].stack);
            need(c->labels, m.rows[i].labels);
            need(c->category, m.rows[i].category);
            need(c->schema, m.rows[i].schema);
            need(c->marker_name, m.rows[i].name);
        }
}

/* Losses have no thread and no time: of a part they are those of names that are in it. */
static void need_losses(struct kymo_copy *c)
{
    int is_part = c->keep->thread || c->keep->process || kymo_keep_is_cut(c->keep);
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_MARKER_LOSSES); i++) {
        const kymo_marker_losses *losses = kymo_profile_marker_losses(c->from, i);
        if (is_part && c->marker_name[losses->name] == KYMO_NONE)
            continue;
        need(c->loss, i);
        need(c->category, losses->category);
        need(c->schema, losses->schema);
    }
}

static void need_heap(struct kymo_copy *c, uint32_t process)
{
    size_t count;
    const kymo_allocation *a = kymo_profile_allocations(c->from, process, &count);
    for (size_t i = 0; i < count; i++)
        if (kymo_keep_has_thread(c->keep, a[i].thread) &&
            kymo_keep_has_row(c->keep, a[i].time_ns, a[i].stack)) {
            need(c->stack, a[i].stack);
            need(c->labels, a[i].labels);
        }
    const kymo_mapping *m = kymo_profile_mappings(c->from, process, &count);
    for (size_t i = 0; i < count; i++)
        if (kymo_keep_has_thread(c->keep, m[i].thread) &&
            kymo_keep_has_row(c->keep, m[i].time_ns, m[i].stack))
            need(c->stack, m[i].stack);
}

static void need_rows_of_all(struct kymo_copy *c)
{
    size_t count;
    const kymo_ledger *ledger = kymo_profile_ledger(c->from, &count);
    for (size_t i = 0; i < count; i++)
        if (kymo_keep_has_process(c->keep, ledger[i].process) &&
            kymo_keep_has_time(c->keep, ledger[i].time_ns))
            need(c->stack, ledger[i].stack);
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_COUNTERS); i++) {
        const kymo_counter *counter = kymo_profile_counter(c->from, i);
        if (kymo_keep_has_process(c->keep, counter->process))
            need(c->category, counter->category);
    }
    need_losses(c);
}

static void need_frame(struct kymo_copy *c, uint32_t frame)
{
    uint32_t count;
    const kymo_frame *f = kymo_profile_frame(c->from, frame);
    const kymo_line *lines = kymo_profile_frame_lines(c->from, frame, &count);
    need(c->module, f->module);
    need(c->symbol, f->symbol);
    for (uint32_t i = 0; i < count; i++)
        need(c->function, lines[i].function);
}

/* From the innermost frames outwards: a parent's id is less than its child's. */
static void need_code(struct kymo_copy *c)
{
    kymo_stacks stacks = kymo_profile_stacks(c->from);
    for (uint32_t i = stacks.count; i-- > 0;)
        if (c->stack[i] != KYMO_NONE) {
            need(c->stack, stacks.parent[i]);
            need(c->frame, stacks.frame[i]);
        }
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_FRAMES); i++)
        if (c->frame[i] != KYMO_NONE)
            need_frame(c, i);
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_FUNCTIONS); i++)
        if (c->function[i] != KYMO_NONE)
            need(c->source, kymo_profile_function(c->from, i)->source);
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_SYMBOLS); i++)
        if (c->symbol[i] != KYMO_NONE)
            need(c->module, kymo_profile_symbol(c->from, i)->module);
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_MODULES); i++)
        if (kymo_keep_has_process(c->keep, kymo_profile_module(c->from, i)->process))
            need(c->module, i);
}

void kymo_copy_need(struct kymo_copy *c)
{
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_THREADS); i++)
        if (kymo_keep_has_thread(c->keep, i)) {
            need(c->thread, i);
            need_samples(c, i);
            need_markers(c, i);
        }
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_PROCESSES); i++)
        if (kymo_keep_has_process(c->keep, i)) {
            need(c->process, i);
            need_heap(c, i);
        }
    need_rows_of_all(c);
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_MARKER_CATEGORIES); i++)
        if (c->category[i] != KYMO_NONE)
            need(c->category, kymo_profile_marker_category(c->from, i)->parent);
    need_code(c);
}
