/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/collapsed/collapsed_heap.h"

#include <stdlib.h>

#include "base/search.h"
#include "encode/encoder_heap.h"

static int compare_blocks(const void *a, const void *b)
{
    const kymo_collapsed_block *x = a;
    const kymo_collapsed_block *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->stack != y->stack)
        return x->stack < y->stack ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static kymo_err find_in_process(const kymo_encoder_heap *view, uint32_t process, double *sum,
                                kymo_collapsed_blocks *blocks)
{
    const struct kymo_heap_table *t = &view->selection.tables[process];
    for (size_t i = 0; i < t->count; i++) {
        kymo_heap_amount amount = {0};
        kymo_encoder_heap_add(view, process, i, &amount);
        int64_t bytes = kymo_round_next(sum, view->show == KYMO_ENCODE_ALLOC ? amount.alloc_bytes
                                                                             : amount.live_bytes);
        kymo_encoder_block from = kymo_encoder_heap_block(view, process, i);
        kymo_collapsed_block block = {from.thread, from.stack, (uint64_t)bytes};
        if (bytes > 0)
            KYMO_TRY(kymo_vec_push(blocks, block));
    }
    return KYMO_OK;
}

kymo_err kymo_collapsed_find_blocks(const kymo_encoder *encoder, kymo_collapsed_blocks *blocks)
{
    kymo_encoder_heap view;
    double sum = 0;
    kymo_err err = KYMO_OK;
    KYMO_TRY(kymo_encoder_heap_init(&view, encoder));
    for (uint32_t i = 0; err == KYMO_OK && i < view.selection.n_tables; i++)
        err = find_in_process(&view, i, &sum, blocks);
    kymo_encoder_heap_deinit(&view);
    if (blocks->len > 1)
        qsort(blocks->data, blocks->len, sizeof *blocks->data, compare_blocks);
    return err;
}

static int is_before(const void *rows, size_t i, const void *thread)
{
    return ((const kymo_collapsed_block *)rows)[i].thread < *(const uint32_t *)thread;
}

size_t kymo_collapsed_first_block(const kymo_collapsed_blocks *blocks, uint32_t thread)
{
    return kymo_search_count(blocks->data, blocks->len, is_before, &thread);
}
