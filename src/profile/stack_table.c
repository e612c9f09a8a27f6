/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

#include <stdlib.h>
#include <string.h>

static int is_stack(const kymo_profile *profile, uint32_t id, uint32_t parent, uint32_t frame)
{
    return id < profile->stack_frame.len && profile->stack_parent.data[id] == parent &&
           profile->stack_frame.data[id] == frame;
}

kymo_err kymo_profile_add_stack(kymo_profile *profile, uint32_t parent, uint32_t frame,
                                uint32_t *id)
{
    if (frame >= profile->frames.len || !kymo_is_row_or_none(parent, profile->stack_frame.len))
        return KYMO_E_INVALID;
    /* What was called when a stack came first stands behind it (behind KYMO_NONE: row 0): mostly it
     * is asked for again, without a look at the index, whose places are far from each other. */
    if (is_stack(profile, parent + 1, parent, frame)) {
        *id = parent + 1;
        return KYMO_OK;
    }
    uint64_t key = (uint64_t)parent << 32 | frame;
    uint64_t hash = kymo_hash_words(&key, 1, kymo_hash_secret());
    uint32_t found;
    for (size_t probe = 0; kymo_index_find(&profile->stack_index, hash, &probe, &found);)
        if (is_stack(profile, found, parent, frame)) {
            *id = found;
            return KYMO_OK;
        }
    if (profile->stack_frame.len >= KYMO_STACKS_MAX)
        return KYMO_E_TOO_BIG;
    KYMO_TRY(kymo_vec_reserve(&profile->stack_frame, 1));
    KYMO_TRY(kymo_vec_reserve(&profile->stack_parent, 1));
    found = (uint32_t)profile->stack_frame.len;
    KYMO_TRY(kymo_index_put(&profile->stack_index, hash, found));
    profile->stack_frame.data[profile->stack_frame.len++] = frame;
    profile->stack_parent.data[profile->stack_parent.len++] = parent;
    *id = found;
    return KYMO_OK;
}

static uint32_t find_module(const kymo_profile *p, uint32_t process, uint64_t address)
{
    for (size_t i = p->modules.len; i-- > 0;) {
        const kymo_module *m = &p->modules.data[i];
        if (m->process == process && address >= m->start && address < m->end)
            return (uint32_t)i;
    }
    return KYMO_NONE;
}

kymo_err kymo_profile_add_address_stack(kymo_profile *profile, uint32_t process,
                                        const uint64_t *addresses, size_t count, uint32_t *id)
{
    uint32_t stack = KYMO_NONE;
    if (process >= profile->processes.len)
        return KYMO_E_INVALID;
    for (size_t i = count; i-- > 0;) {
        uint32_t module = find_module(profile, process, addresses[i]);
        uint64_t bias = module != KYMO_NONE ? profile->modules.data[module].load_bias : 0;
        uint32_t frame;
        KYMO_TRY(kymo_profile_add_frame(profile, module, addresses[i] - bias, KYMO_CATEGORY_AUTO,
                                        &frame));
        KYMO_TRY(kymo_profile_add_stack(profile, stack, frame, &stack));
    }
    *id = stack;
    return KYMO_OK;
}

/* Visits each stack id that is used: marks it, or replaces it by its new id. */
static inline void walk_stacks(kymo_profile *p, uint32_t *new_id,
                               void (*visit)(uint32_t *, uint32_t *))
{
    for (size_t i = 0; i < p->samples.len; i++)
        for (size_t k = 0; k < p->samples.data[i].count; k++)
            visit(&p->samples.data[i].stack[k], new_id);
    for (size_t i = 0; i < p->markers.len; i++)
        for (size_t k = 0; k < p->markers.data[i].rows.len; k++)
            visit(&p->markers.data[i].rows.data[k].stack, new_id);
    for (size_t i = 0; i < p->allocations.len; i++)
        for (size_t k = 0; k < p->allocations.data[i].rows.len; k++)
            visit(&p->allocations.data[i].rows.data[k].stack, new_id);
    for (size_t i = 0; i < p->mappings.len; i++)
        for (size_t k = 0; k < p->mappings.data[i].rows.len; k++)
            visit(&p->mappings.data[i].rows.data[k].stack, new_id);
    for (size_t i = 0; i < p->ledger.len; i++)
        visit(&p->ledger.data[i].stack, new_id);
}

static void mark_one(uint32_t *stack, uint32_t *new_id)
{
    if (*stack != KYMO_NONE)
        new_id[*stack] = 0;
}

static void renumber_one(uint32_t *stack, uint32_t *new_id)
{
    if (*stack != KYMO_NONE)
        *stack = new_id[*stack];
}

/* new_id: initially KYMO_NONE for all. Sets 0 for stacks in use and their callers. */
static void mark_used(kymo_profile *p, uint32_t *new_id)
{
    walk_stacks(p, new_id, mark_one);
    for (size_t i = p->stack_frame.len; i-- > 0;)
        if (new_id[i] == 0 && p->stack_parent.data[i] != KYMO_NONE)
            new_id[p->stack_parent.data[i]] = 0;
}

static kymo_err keep_marked(kymo_profile *p, uint32_t *new_id, const uint32_t *new_frame)
{
    size_t old_count = p->stack_frame.len;
    uint32_t kept = 0;
    kymo_index_deinit(&p->stack_index);
    for (size_t i = 0; i < old_count; i++) {
        if (new_id[i] == KYMO_NONE)
            continue;
        uint32_t parent = p->stack_parent.data[i];
        parent = parent != KYMO_NONE ? new_id[parent] : KYMO_NONE;
        uint32_t frame = new_frame[p->stack_frame.data[i]];
        uint64_t key = (uint64_t)parent << 32 | frame;
        KYMO_TRY(
            kymo_index_put(&p->stack_index, kymo_hash_words(&key, 1, kymo_hash_secret()), kept));
        p->stack_parent.data[kept] = parent;
        p->stack_frame.data[kept] = frame;
        new_id[i] = kept++;
    }
    p->stack_frame.len = p->stack_parent.len = kept;
    walk_stacks(p, new_id, renumber_one);
    return KYMO_OK;
}

kymo_err kymo_profile_drop_unused_stacks(kymo_profile *profile)
{
    size_t stacks = profile->stack_frame.len;
    size_t frames = profile->frames.len;
    uint32_t *new_id = malloc((stacks + 1) * sizeof *new_id);
    uint32_t *new_frame = malloc((frames + 1) * sizeof *new_frame);
    kymo_err err = new_id && new_frame ? KYMO_OK : KYMO_E_NOMEM;
    if (err == KYMO_OK) {
        memset(new_id, 0xff, stacks * sizeof *new_id);
        memset(new_frame, 0xff, frames * sizeof *new_frame);
        mark_used(profile, new_id);
        for (size_t i = 0; i < stacks; i++)
            if (new_id[i] == 0)
                new_frame[profile->stack_frame.data[i]] = 0;
        err = kymo_profile_drop_frames(profile, new_frame);
    }
    if (err == KYMO_OK)
        err = keep_marked(profile, new_id, new_frame);
    free(new_id);
    free(new_frame);
    return err;
}

kymo_stacks kymo_profile_stacks(const kymo_profile *profile)
{
    return (kymo_stacks){profile->stack_frame.data, profile->stack_parent.data,
                         (uint32_t)profile->stack_frame.len};
}
