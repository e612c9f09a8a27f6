/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk_repeat.c - see walk_repeat.h. The frames are those that walk_fast of unwind.c knows; what it
 * asks of each of them is asked here, too. A row that is not in the cache is not looked for.
 */
#include "unwind/walk_repeat.h"

#include "unwind/row_cache.h"

struct noting {
    struct kymo_walk_notes *notes;
    uint32_t count;
    uint64_t ip, sp, fp;
    uint64_t fp_at; /* where fp was loaded; 0: it is that of the beginning */
    int fp_is_noted;
    uint64_t lo, hi; /* of the stack, as far as it is in use */
};

static int note_word(struct noting *w, uint64_t at, uint64_t value)
{
    if (w->count == KYMO_WALK_WORDS_MAX)
        return 0;
    w->notes->words[w->count++] = (struct kymo_walk_word){at, value};
    return 1;
}

static int note_fp(struct noting *w)
{
    if (w->fp_is_noted)
        return 1;
    w->fp_is_noted = 1;
    if (w->fp_at)
        return note_word(w, w->fp_at, w->fp);
    w->notes->fp_is_counted = 1;
    return 1;
}

/* One frame of the common shape; 0: it is another one. */
static int note_frame(struct noting *w, uint64_t row)
{
    unsigned kind = kymo_row_kind(row);
    uint64_t cfa = kymo_row_offset(row);
    if (kymo_row_saves_below_fp(row))
        return 0;
    if (kind == KYMO_ROW_KIND_SP)
        cfa += w->sp;
    else if (kind == KYMO_ROW_KIND_FP && note_fp(w))
        cfa += w->fp;
    else
        return 0;
    if ((cfa & 7) || cfa <= w->sp || cfa > w->hi)
        return 0;
    uint64_t save = kymo_row_save(row, KYMO_SLOT_FP);
    if (save) {
        uint64_t at = cfa - 8 * save;
        if (at < w->lo)
            return 0;
        w->fp = kymo_window_read(at);
        w->fp_at = at;
        w->fp_is_noted = 0;
    }
    uint64_t return_at = cfa - kymo_row_return_at(row);
    w->ip = kymo_window_read(return_at);
    w->sp = cfa;
    return note_word(w, return_at, w->ip);
}

static int note_all(struct noting *w, const struct kymo_walker *walker, const uint64_t *pcs,
                    size_t n)
{
    uint64_t set_mask = kymo_row_set_mask(walker->cache_mask);
    uint64_t key = kymo_generation_key(w->notes->generation);
    for (size_t i = 0; i < n; i++) {
        if (w->ip != pcs[i])
            return 0;
        uint64_t row = kymo_row_cache_get(walker->cache, set_mask, key, w->ip, i > 0);
        if (row == KYMO_ROW_END)
            return i == n - 1;
        if (row == KYMO_ROW_NONE || !note_frame(w, row))
            return 0;
    }
    /* The end is a return address of 0, or there is more. */
    return w->ip == 0;
}

int kymo_walk_note(struct kymo_walker *walker, const struct kymo_regs *regs,
                   const struct kymo_stack_bounds *stack, const uint64_t *pcs, size_t n,
                   struct kymo_walk_notes *notes)
{
    uint64_t sp = regs->gpr[KYMO_REG_SP];
    struct noting w = {.notes = notes,
                       .ip = regs->ip,
                       .sp = sp,
                       .fp = regs->gpr[KYMO_REG_FP],
                       .lo = sp,
                       .hi = stack->hi};
    notes->count = 0;
    /* If a handler interrupts here and does not return, no notes are left behind. */
    kymo_signal_fence();
    if (!walker->cache || (sp & 7) || sp < stack->lo || sp >= stack->hi)
        return 0;
    notes->ip = w.ip;
    notes->sp = w.sp;
    notes->fp = w.fp;
    notes->fp_is_counted = 0;
    notes->stack_hi = stack->hi;
    notes->generation = kymo_load_acquire(&walker->generation);
    if (!note_all(&w, walker, pcs, n))
        return 0;
    kymo_signal_fence();
    notes->count = w.count;
    return notes->count != 0;
}
