/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof_heap.c - allocations; those of the same thread, stack, labels and size class are one
 * sample, whose label "bytes" is their mean size. The default type is that of Go's heap profiles.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "encode/heap_sums.h"
#include "encode/pprof/pprof.h"
#include "profile/estimate.h"

static kymo_err write_sample(void *pprof, uint32_t stack, const int64_t *values,
                             uint64_t mean_bytes)
{
    kymo_pprof *w = pprof;
    kymo_proto_clear(&w->message);
    kymo_pprof_put_stack(w, stack);
    kymo_proto_clear(&w->inner);
    for (uint32_t i = kymo_heap_first_value(w->encoder); i < KYMO_HEAP_VALUES; i++)
        kymo_proto_varint(&w->inner, kymo_pprof_value(w, (uint64_t)values[i]));
    kymo_proto_packed(&w->message, KYMO_PPROF_SAMPLE_VALUE, &w->inner);
    kymo_pprof_label(w, &w->message, w->key_bytes, 0, (int64_t)mean_bytes, w->key_bytes);
    return kymo_pprof_put_sample(w);
}

kymo_err kymo_pprof_heap_samples(kymo_pprof *w)
{
    static const struct kymo_heap_writer writer = {kymo_pprof_thread, kymo_pprof_labels,
                                                   write_sample};
    return kymo_heap_sums_write(w->view, w->encoder, &writer, w);
}

/* ---- head ---- */

void kymo_pprof_heap_head(kymo_pprof *w)
{
    const uint32_t shown = w->view->show == KYMO_ENCODE_ALLOC ? 1 : 3;
    for (uint32_t i = kymo_heap_first_value(w->encoder); i < KYMO_HEAP_VALUES; i++)
        kymo_pprof_value_type(w, KYMO_PPROF_PROFILE_SAMPLE_TYPE, kymo_heap_value_name(w->view, i),
                              kymo_heap_value_unit(i));
    kymo_pprof_value_type(w, KYMO_PPROF_PROFILE_PERIOD_TYPE, "space", "bytes");
    kymo_proto_u64(&w->out, KYMO_PPROF_PROFILE_PERIOD, kymo_heap_period(w->p));
    kymo_proto_u64(&w->out, KYMO_PPROF_PROFILE_DEFAULT_SAMPLE_TYPE,
                   kymo_pprof_cstr(w, kymo_heap_value_name(w->view, shown)));
    w->key_bytes = kymo_pprof_cstr(w, "bytes");
}

static const char *meaning_of_inuse(uint32_t show)
{
    static const char *const meanings[KYMO_ENCODE_COUNT] = {
        [KYMO_ENCODE_PEAK] = "when most bytes lived",
        [KYMO_ENCODE_LEAKS] = "old blocks that live at the end",
        [KYMO_ENCODE_GROWTH] = "blocks that live, less those that lived before",
    };
    return meanings[show] ? meanings[show] : "blocks that live";
}

static void comment_heap(kymo_pprof *w, const kymo_heap *heap, const kymo_process *p)
{
    const char *not_seen = kymo_profile_string(w->p, heap->not_seen);
    if (heap->count)
        kymo_pprof_comment(
            w, "%.200s (%" PRIi32 "): %" PRIu64 " allocations of %" PRIu64 " bytes in all", p->name,
            p->pid, heap->count, heap->bytes);
    if (heap->lost || heap->lost_frees)
        kymo_pprof_comment(w,
                           "%.200s (%" PRIi32 "): lost %" PRIu64 " allocations, %" PRIu64 " frees",
                           p->name, p->pid, heap->lost, heap->lost_frees);
    if (heap->is_partial)
        kymo_pprof_comment(w, "%.200s (%" PRIi32 "): partial, what lives is not to be trusted",
                           p->name, p->pid);
    if (*not_seen)
        kymo_pprof_comment(w, "%.100s (%" PRIi32 "): not seen: %.300s", p->name, p->pid, not_seen);
}

/* Comments: what "inuse" means, and how reliable it is. */
void kymo_pprof_heap_comments(kymo_pprof *w)
{
    const struct kymo_heap_selection *s = &w->view->selection;
    struct kymo_estimate_range bytes;
    if (w->view->show == KYMO_ENCODE_MAPPED) {
        kymo_pprof_comment(w, "large mappings of the program's own, which need not be resident");
        return;
    }
    kymo_pprof_comment(w, "inuse: %s", meaning_of_inuse(w->view->show));
    if (w->view->show == KYMO_ENCODE_PEAK)
        kymo_pprof_comment(w, "peak: %.6f s after the start",
                           (double)kymo_since_origin(w->p, s->options.at_ns) / 1e9);
    if (s->options.view == KYMO_HEAP_LIVE && s->options.at_ns != KYMO_HEAP_END)
        kymo_pprof_comment(w, "at: %.6f s after the start",
                           (double)kymo_since_origin(w->p, s->options.at_ns) / 1e9);
    if (w->view->has_before)
        kymo_pprof_comment(w, "inuse_space before: %.0f bytes", w->view->before.sum.bytes);
    kymo_estimate_bytes(&s->sum, &s->all, &bytes);
    kymo_pprof_comment(w, "inuse_space%s: %.0f bytes, 95 %%: %.0f to %.0f",
                       w->view->has_before ? " after" : "", s->sum.bytes, bytes.low, bytes.high);
    for (uint32_t i = 0; i < s->n_tables; i++) {
        const kymo_heap *heap = kymo_profile_heap(w->p, i);
        if (heap)
            comment_heap(w, heap, &w->p->processes.data[i]);
    }
}
