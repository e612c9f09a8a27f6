/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_map.c - mappings, of which each that is large enough is recorded: see alloc.h.
 */
#include "base/atomic.h"
#include "capture/alloc.h"
#include "capture/alloc_record.h"
#include "capture/alloc_stack.h"
#include "capture/mark.h"

static int takes_away(uint32_t op, uint64_t bytes, uint64_t bytes_before)
{
    return op == KYMO_MAP_UNMAP || (op == KYMO_MAP_BREAK && bytes == 0 && bytes_before);
}

static int is_new(uint32_t op, uint64_t bytes)
{
    return op == KYMO_MAP_MAP || op == KYMO_MAP_SHARED || (op == KYMO_MAP_BREAK && bytes > 0);
}

static int records_new(const struct kymo_capture_process *p)
{
    return kymo_load_relaxed(&p->session->alloc_rate) != 0 && !kymo_is_paused(p);
}

void kymo_alloc_note_map(uint32_t op, uint32_t how, uint64_t address, uint64_t bytes,
                         uint64_t before, uint64_t bytes_before, uint64_t here)
{
    struct kymo_capture_process *p = kymo_capturing();
    struct kymo_stream_writer *w;
    uint32_t stack = 0;
    uint64_t least = p ? kymo_load_relaxed(&p->session->map_least) : UINT64_MAX;
    /* Nothing was ever recorded; or nothing is now, but what was may come to its end. */
    if (least == UINT64_MAX || (is_new(op, bytes) && !records_new(p)) ||
        ((op == KYMO_MAP_MAP || op == KYMO_MAP_SHARED) && bytes < least))
        return;
    struct kymo_capture_thread *t = kymo_mark_thread();
    if (!t) {
        kymo_count_loss(p, KYMO_LOSS_MAP);
        return;
    }
    /* A mapping without a stack is better than none. */
    int is_entered = !takes_away(op, bytes, bytes_before) && kymo_alloc_enter(t, here);
    if (is_entered)
        stack = kymo_alloc_stack(t, here);
    struct kymo_record_map *r = kymo_alloc_reserve(t, &w, sizeof *r, KYMO_LOSS_MAP, here);
    if (r) {
        *r = (struct kymo_record_map){
            .head = {kymo_process_clock(p), KYMO_RECORD_MAP, sizeof *r, stack},
            .address = address,
            .bytes = bytes,
            .before = before,
            .bytes_before = bytes_before,
            .op = op,
            .how = how};
        kymo_mark_publish(w, sizeof *r);
    }
    if (is_entered)
        kymo_alloc_leave(t);
}
