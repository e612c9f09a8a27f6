/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain_stacks.c - the drain's modules and stacks.
 *
 * A stack is read from the depot when the first record that names it is drained: its id then gets
 * a dense number, kept in `numbers` (one word for each word offset of a depot). The handler
 * registers modules before it stores a stack, and stores a stack before it publishes the record,
 * so whatever a record needs is there when the record is.
 *
 * The depot is moved on when a quarter of it is used, so that the memory which the program's
 * threads touch stays small. The steps, over several rounds: (1) the epoch is moved on; new stacks
 * go to the other depot; (2) once no slot pins the old epoch, one more lap drains every record
 * that can name it; (3) it is cleared, and its pages are given back.
 */
#include <string.h>
#include <sys/mman.h>

#include "base/atomic.h"
#include "buffer/depot.h"
#include "buffer/drain_state.h"

#define STACK_FRAMES_MAX 4096u
#define ENTRY_WORDS ((uint32_t)(sizeof(struct kymo_depot_entry) / 8))

/* ---- modules ---- */

kymo_err kymo_drain_scan_modules(kymo_drain *d)
{
    d->scan++;
    d->module_changes = kymo_load_acquire(&d->session->module_changes);
    uint32_t count = kymo_load_acquire(&d->session->module_count);
    if (count > d->plan.modules)
        count = d->plan.modules;
    for (uint32_t i = 0; i < count; i++) {
        struct kymo_known_module *m = &d->modules[i];
        struct kymo_module_entry *shared = kymo_session_module(d->session, &d->plan, i);
        if (kymo_load_acquire(&shared->state) != KYMO_MODULE_READY)
            continue;
        uint32_t gone = kymo_load_acquire(&shared->unload_generation);
        uint32_t load = kymo_load_relaxed(&shared->load_generation);
        if (gone != 0 && gone <= load)
            continue; /* is being revived */
        /* Loaded again at the same place, and maybe gone again: announced again. */
        if (m->unload_generation && (!gone || load != m->load_generation))
            m->known = 0;
        if (!m->known) {
            struct kymo_module_entry copy;
            memcpy(&copy, shared, sizeof copy);
            if (copy.map_start >= copy.map_end || copy.build_id_len > KYMO_SESSION_BUILD_ID_MAX ||
                copy.path_len >= KYMO_MODULE_PATH_MAX) {
                /* It is not handed on, no address lies in it, and it is looked at again later. */
                d->noticed[KYMO_LOSS_CORRUPT]++;
                *m = (struct kymo_known_module){.unload_generation = UINT32_MAX, .known = 1};
                continue;
            }
            copy.path[copy.path_len] = '\0';
            *m = (struct kymo_known_module){copy.map_start,
                                            copy.map_end,
                                            copy.bias,
                                            copy.load_generation,
                                            0,
                                            d->next_module++,
                                            1,
                                            0};
            KYMO_TRY(d->sink.module(d->sink.context, m->number, &copy,
                                    kymo_drain_time_ns(d, copy.seen_clock)));
        }
        if (gone && !m->unload_generation) {
            m->unload_generation = gone;
            m->unload_scan = d->scan;
            uint64_t clock = kymo_load_relaxed(&shared->unload_clock);
            KYMO_TRY(
                d->sink.module_unload(d->sink.context, m->number, kymo_drain_time_ns(d, clock)));
        }
    }
    d->modules_scanned = count;
    return KYMO_OK;
}

void kymo_drain_release_modules(kymo_drain *d, uint32_t scan)
{
    for (uint32_t i = 0; i < d->modules_scanned; i++) {
        const struct kymo_known_module *m = &d->modules[i];
        if (m->known && m->unload_generation && m->unload_scan <= scan)
            kymo_store_release(&kymo_session_module(d->session, &d->plan, i)->read_generation,
                               m->unload_generation); /* pairs with note_object */
    }
}

/* Of the modules that were mapped at pc under this generation, the one that came last. */
static const struct kymo_known_module *find_module(const kymo_drain *d, uint64_t pc,
                                                   uint32_t generation)
{
    const struct kymo_known_module *best = NULL;
    for (uint32_t i = 0; i < d->modules_scanned; i++) {
        const struct kymo_known_module *m = &d->modules[i];
        if (m->known && pc >= m->map_start && pc < m->map_end && m->load_generation <= generation &&
            (m->unload_generation == 0 || generation < m->unload_generation) &&
            (!best || best->load_generation < m->load_generation))
            best = m;
    }
    return best;
}

/* ---- stacks ---- */

kymo_err kymo_drain_read_stack(kymo_drain *d, uint32_t id, uint32_t *number)
{
    uint32_t at = kymo_depot_id_word(id);
    uint32_t which = kymo_depot_id_epoch(id) & 1;
    *number = KYMO_NO_STACK;
    uint32_t age = (d->epoch - kymo_depot_id_epoch(id)) & 0xff;
    if (age > 1 || (age == 1 && d->rotation == ROTATE_IDLE) || at == 0 ||
        at > d->plan.depot_words - ENTRY_WORDS) {
        d->noticed[KYMO_LOSS_CORRUPT]++;
        return KYMO_OK;
    }
    if (d->numbers[which][at]) {
        *number = d->numbers[which][at] - 1;
        return KYMO_OK;
    }
    struct kymo_depot depot = kymo_depot_at(d->session, &d->plan, which);
    struct kymo_depot_entry head;
    memcpy(&head, depot.arena + at, sizeof head);
    if (head.n == 0 || head.n > STACK_FRAMES_MAX || head.n > depot.words - ENTRY_WORDS - at) {
        d->noticed[KYMO_LOSS_CORRUPT]++;
        return KYMO_OK;
    }
    /* Honest entries lie beside each other; of those that lie across each other there may be as
     * many as the depot has words. */
    if (head.n + ENTRY_WORDS > depot.words - d->stack_words[which]) {
        d->noticed[KYMO_LOSS_CORRUPT]++;
        return KYMO_OK;
    }
    d->stack_words[which] += head.n + ENTRY_WORDS;
    d->frames.len = 0;
    KYMO_TRY(kymo_vec_reserve(&d->frames, head.n));
    uint64_t python_lo = kymo_load_relaxed(&d->session->python_lo);
    uint64_t python_hi = kymo_load_relaxed(&d->session->python_hi);
    /* Modules are registered before the stack that needs them, and may have come and gone since the
     * round began. */
    int rescanned = d->module_changes != kymo_load_acquire(&d->session->module_changes);
    if (rescanned)
        KYMO_TRY(kymo_drain_scan_modules(d));
    for (uint32_t i = 0; i < head.n; i++) {
        uint64_t pc = kymo_load_relaxed(&depot.arena[at + ENTRY_WORDS + i]);
        if (pc & KYMO_PC_PYTHON) {
            KYMO_TRY(kymo_drain_find_code(d, pc, &d->frames.data[d->frames.len++]));
            continue;
        }
        /* Not if it is where a signal struck: the leaf, and what lies behind a signal frame. */
        uint32_t is_return = i > 0 && !(pc & KYMO_PC_EXACT);
        pc &= ~KYMO_PC_EXACT;
        /* A return address may lie just behind its module's last byte. */
        uint64_t look = pc - is_return;
        const struct kymo_known_module *m = find_module(d, look, head.generation);
        if (!m && !rescanned) {
            rescanned = 1;
            KYMO_TRY(kymo_drain_scan_modules(d));
            m = find_module(d, look, head.generation);
        }
        /* What calls the evaluator is the interpreter, or code that it made (-X perf). */
        int is_caller = i > 0 && d->frames.data[i - 1].is_code;
        d->frames.data[d->frames.len++] = (struct kymo_drain_frame){
            .address = m ? pc - m->bias : pc,
            .module = m ? m->number : KYMO_NO_MODULE,
            .code = KYMO_NO_CODE,
            .is_return = (uint8_t)is_return,
            .is_interpreter = (pc >= python_lo && pc < python_hi) || (!m && is_caller)};
    }
    *number = d->next_stack++;
    d->numbers[which][at] = *number + 1;
    return d->sink.stack(d->sink.context, *number, head.flags, d->frames.data, head.n);
}

kymo_err kymo_drain_use_stacks(const kymo_drain *d, kymo_key_map *used)
{
    for (int which = 0; which < 2; which++)
        for (uint32_t i = 0; i < d->plan.depot_words; i++)
            if (d->numbers[which][i])
                KYMO_TRY(kymo_key_map_add(used, d->numbers[which][i] - 1));
    return KYMO_OK;
}

/* ---- depot rotation ---- */

static int epoch_is_pinned(kymo_drain *d, uint32_t epoch)
{
    uint32_t touched = kymo_drain_touched_slots(d);
    for (uint32_t i = 0; i < touched; i++) {
        struct kymo_thread_slot *slot = kymo_session_slot(d->session, &d->plan, i);
        uint32_t state = kymo_load_acquire(&slot->state);
        if (state == KYMO_SLOT_LIVE && (kymo_load_seqcst(&slot->depot_pin) == epoch + 1 ||
                                        kymo_load_seqcst(&slot->alloc_pin) == epoch + 1))
            return 1;
    }
    return 0;
}

static void clear_depot(kymo_drain *d, uint32_t which)
{
    char *base = (char *)d->session + d->plan.depots_at + which * d->plan.depot_bytes;
    /* Frees the pages of the shared memory for both sides; they read as zeros afterwards. */
    if (madvise(base, d->plan.depot_bytes, MADV_REMOVE) != 0)
        memset(base, 0, d->plan.depot_bytes);
    d->stack_words[which] = 0;
    memset(d->numbers[which], 0, d->plan.depot_words * sizeof *d->numbers[which]);
}

void kymo_drain_rotate_depot(kymo_drain *d, int begins)
{
    struct kymo_depot depot = kymo_depot_at(d->session, &d->plan, d->epoch);
    switch (d->rotation) {
    case ROTATE_IDLE:
        /* Without a record there is no stack, and to look would make the page. */
        if (kymo_load_relaxed(&d->session->taken_bytes) == 0 ||
            kymo_load_relaxed(&depot.head->used_words) < d->plan.depot_words / 4)
            return;
        d->epoch++;
        d->rotation = ROTATE_WAIT_PINS;
        kymo_store_seqcst(&d->session->depot_epoch, d->epoch);
        return;
    case ROTATE_WAIT_PINS:
        if (begins && !epoch_is_pinned(d, d->epoch - 1))
            d->rotation = ROTATE_LAST_LAP;
        return;
    case ROTATE_LAST_LAP:
        if (d->lap.goes_on)
            return;
        clear_depot(d, (d->epoch - 1) & 1);
        d->rotation = ROTATE_IDLE;
        return;
    }
}
