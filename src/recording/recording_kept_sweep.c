/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_kept_sweep.c - forgets stacks that nothing refers to any more, and unloaded modules.
 *
 * The session numbers a stack anew each time that its depot is moved on, and a library each time
 * that it is loaded, so a service that runs for months would have them kept again and again. The
 * recorder says which numbers of stacks it may still name; to these come those of what the writer
 * keeps itself.
 */
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
