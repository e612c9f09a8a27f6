/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_kept_sweep.c - forgets stacks that nothing refers to any more, and unloaded modules.
 *
 * The session numbers a stack anew each time that its depot is moved on, and a library each time
 * that it is loaded, so a service that runs for months would have them kept again and again. The
 * recorder says which numbers of stacks it may still name; to these come those of what the writer
 * keeps itself.
 */
#include <stdlib.h>
#include <string.h>

#include "recording/recording_kept.h"
#include "recording/recording_write_event.h"

size_t kymo_recording_kept_stacks(const kymo_recording_writer *w, uint32_t process)
{
    const struct kymo_kept_process *p = kymo_kept_process_of(&w->kept, process);
    return p ? p->stacks.list.len : 0;
}

size_t kymo_recording_kept_unloads(const kymo_recording_writer *w, uint32_t process)
{
    const struct kymo_kept_process *p = kymo_kept_process_of(&w->kept, process);
    return p ? p->unloaded.list.len : 0;
}

/* ---- what is used ---- */

static kymo_err use_intervals(const struct kymo_open_intervals *open, kymo_key_map *used)
{
    for (size_t i = 0; i < open->places.len; i++)
        if (open->places.data[i].is_open)
            KYMO_TRY(kymo_key_map_add(used, open->places.data[i].begin.stack));
    return KYMO_OK;
}

/* Also what forked children have of it. */
static kymo_err use_live(const struct kymo_recording_kept *kept, uint32_t process,
                         kymo_key_map *used)
{
    for (uint32_t i = 0; i < kept->processes.len; i++) {
        const struct kymo_kept_process *p = kept->processes.data[i];
        if (p && (i == process || !p->has_ended))
            KYMO_TRY(kymo_live_allocations_use_stacks(&p->live, process, used));
    }
    return KYMO_OK;
}

/* A stack with a part of the kernel's stands on another one. */
static kymo_err use_callers(const struct kymo_kept_stacks *s, kymo_key_map *used)
{
    for (size_t i = 0; s->ids.slots && i <= s->ids.mask; i++) {
        const kymo_key_slot *slot = &s->ids.slots[i];
        struct kymo_file_kernel_stack fixed;
        if (!slot->is_used || !kymo_key_map_find(used, slot->key) ||
            !s->list.data[slot->value].kernel)
            continue;
        memcpy(&fixed, s->list.data[slot->value].kernel->payload, sizeof fixed);
        KYMO_TRY(kymo_key_map_add(used, fixed.caller));
    }
    return KYMO_OK;
}

/* ---- generated code ---- */

static kymo_err take_generated(const struct kymo_kept_stacks *s, uint32_t innermost, uint8_t *seen,
                               kymo_err (*take)(void *context, uint64_t address), void *context)
{
    for (uint32_t i = innermost; i != KYMO_EVENT_NONE && !seen[i]; i = s->frames.data[i].caller) {
        const struct kymo_kept_frame *f = &s->frames.data[i];
        seen[i] = 1;
        if (f->module == KYMO_EVENT_NONE &&
            !(f->flags & (KYMO_EVENT_FRAME_SCRIPT | KYMO_EVENT_FRAME_STARTUP)))
            KYMO_TRY(take(context, f->address - (f->flags & KYMO_EVENT_FRAME_RETURN ? 1 : 0)));
    }
    return KYMO_OK;
}

kymo_err kymo_recording_segment_code(const kymo_recording_writer *w, uint32_t process,
                                     kymo_err (*take)(void *context, uint64_t address),
                                     void *context)
{
    const struct kymo_kept_process *p = kymo_kept_process_of(&w->kept, process);
    if (!p || p->stacks.frames.len == 0)
        return KYMO_OK;
    uint8_t *seen = calloc(p->stacks.frames.len, 1);
    kymo_err err = seen ? KYMO_OK : KYMO_E_NOMEM;
    for (size_t i = 0; i < p->stacks.list.len && err == KYMO_OK; i++)
        if (p->stacks.list.data[i].segment == w->kept.segment)
            err = take_generated(&p->stacks, p->stacks.list.data[i].innermost, seen, take, context);
    free(seen);
    return err;
}

kymo_err kymo_recording_sweep_stacks(kymo_recording_writer *w, uint32_t process, kymo_key_map *used)
{
    struct kymo_kept_process *p = kymo_kept_process_of(&w->kept, process);
    if (!p)
        return KYMO_OK;
    KYMO_TRY(use_live(&w->kept, process, used));
    KYMO_TRY(use_intervals(&p->open, used));
    KYMO_TRY(use_callers(&p->stacks, used));
    KYMO_TRY(kymo_kept_stacks_sweep(&p->stacks, used));
    return kymo_kept_modules_sweep(&w->kept, p);
}
