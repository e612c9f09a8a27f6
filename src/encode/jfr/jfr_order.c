/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr_order.c - a heap of sources: the one whose next event is the earliest is on top. Of one time,
 * the order is that of kinds and rows, so that a profile always becomes the same file.
 */
#include "encode/jfr/jfr_order.h"

struct order {
    KYMO_VEC(kymo_jfr_source) heap;
    const kymo_jfr_source_kind *const *kinds;
};

static int is_before(const kymo_jfr_source *a, const kymo_jfr_source *b)
{
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns;
    return a->kind != b->kind ? a->kind < b->kind : a->of < b->of;
}

/* Puts the source at a place to where it belongs, among those below it. */
static void sink_down(struct order *order, size_t at)
{
    kymo_jfr_source *heap = order->heap.data;
    const kymo_jfr_source moved = heap[at];
    for (size_t child; (child = 2 * at + 1) < order->heap.len; at = child) {
        if (child + 1 < order->heap.len && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_before(&heap[child], &moved))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static kymo_err add_sources(kymo_jfr *w, struct order *order, uint32_t kind)
{
    uint32_t rows = kymo_profile_count(w->p, order->kinds[kind]->of);
    for (uint32_t i = 0; i < rows; i++) {
        kymo_jfr_source source = {.kind = kind, .of = i};
        if (order->kinds[kind]->look(w, &source))
            KYMO_TRY(kymo_vec_push(&order->heap, source));
    }
    return KYMO_OK;
}

static kymo_err put_all(kymo_jfr *w, struct order *order)
{
    for (size_t i = order->heap.len / 2; i-- > 0;)
        sink_down(order, i);
    while (order->heap.len > 0) {
        kymo_jfr_source *first = &order->heap.data[0];
        uint64_t now_ns = first->time_ns;
        order->kinds[first->kind]->put(w, first);
        if (!order->kinds[first->kind]->look(w, first))
            *first = order->heap.data[--order->heap.len];
        sink_down(order, 0);
        KYMO_TRY(kymo_jfr_pass_on(w, now_ns));
        KYMO_TRY(kymo_encoder_step(w->encoder, 1));
    }
    return KYMO_OK;
}

kymo_err kymo_jfr_put_in_order(kymo_jfr *w, const kymo_jfr_source_kind *const *kinds,
                               uint32_t count)
{
    struct order order = {.kinds = kinds};
    kymo_err err = KYMO_OK;
    for (uint32_t kind = 0; err == KYMO_OK && kind < count; kind++)
        err = add_sources(w, &order, kind);
    if (err == KYMO_OK)
        err = put_all(w, &order);
    kymo_vec_deinit(&order.heap);
    return err;
}
