/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write_stacks.c - chunks of user stacks and kernel stacks.
 *
 * The stacks of a pending chunk belong to one process, and each omits the outermost frames that it
 * shares with the stack before. The first omits none, so a chunk can be read alone.
 */
#include "recording/recording_write_event.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

kymo_err kymo_writer_close_stacks(kymo_recording_writer *w)
{
    if (w->stack_count == 0)
        return KYMO_OK;
    struct kymo_file_stacks head = {
        .process = w->stack_process,
        .count = w->stack_count,
        .head_bytes = sizeof head,
        .stack_bytes = sizeof(struct kymo_file_stack),
        .frame_bytes = sizeof(struct kymo_file_frame),
    };
    memcpy(w->stacks.data, &head, sizeof head);
    kymo_err err = kymo_chunk_out_put(&w->out, KYMO_CHUNK_STACKS, &w->stacks,
                                      w->flags & KYMO_RECORDING_COMPRESS);
    kymo_bytes_clear(&w->stacks);
    w->stack_count = 0;
    w->last.len = 0;
    return err;
}

/* The number of outermost frames shared with the last pending stack. */
static uint32_t count_shared(const kymo_recording_writer *w, const kymo_event_stack *e)
{
    uint32_t most = e->depth < w->last.len ? e->depth : (uint32_t)w->last.len;
    if (most == 0)
        return 0; /* and the arrays may be NULL */
    const kymo_event_frame *a = e->frames + e->depth;
    const kymo_event_frame *b = w->last.data + w->last.len;
    uint32_t n = 0;
    while (n < most && (a - 1 - n)->address == (b - 1 - n)->address &&
           (a - 1 - n)->module == (b - 1 - n)->module && (a - 1 - n)->flags == (b - 1 - n)->flags)
        n++;
    return n;
}

static kymo_err append_stack(kymo_recording_writer *w, const kymo_event_stack *e)
{
    static const struct kymo_file_stacks no_head;
    if (w->stack_count == 0)
        KYMO_TRY(kymo_bytes_append(&w->stacks, &no_head, sizeof no_head));
    uint32_t shared = w->stack_count == 0 ? 0 : count_shared(w, e);
    struct kymo_file_stack stack = {
        .stack = e->stack,
        .depth = (uint16_t)e->depth,
        .shared = (uint16_t)shared,
        .flags = (uint16_t)e->flags,
        .end = (uint16_t)e->end,
    };
    /* A frame has the same layout in the event and in the file. */
    static_assert(sizeof *e->frames == sizeof(struct kymo_file_frame), "layout");
    static_assert(offsetof(kymo_event_frame, module) == offsetof(struct kymo_file_frame, module),
                  "layout");
    size_t frames_bytes = (e->depth - shared) * sizeof *e->frames;
    size_t before = w->stacks.len;
    kymo_err err = kymo_bytes_append(&w->stacks, &stack, sizeof stack);
    if (err == KYMO_OK)
        err = kymo_bytes_append(&w->stacks, e->frames, frames_bytes);
    if (err == KYMO_OK && e->depth > w->last.len)
        err = kymo_vec_reserve(&w->last, e->depth - w->last.len);
    if (err != KYMO_OK) {
        w->stacks.len = before;
        return err;
    }
    /* The array is innermost first, so the shared frames move. */
    if (shared > 0)
        memmove(w->last.data + (e->depth - shared), w->last.data + (w->last.len - shared),
                shared * sizeof *w->last.data);
    if (frames_bytes > 0)
        memcpy(w->last.data, e->frames, frames_bytes);
    w->last.len = e->depth;
    w->stack_count++;
    return KYMO_OK;
}

kymo_err kymo_recording_write_stack(kymo_recording_writer *w, const kymo_event_stack *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    if (e->depth > KYMO_EVENT_DEPTH_MAX || e->end >= KYMO_FILE_END_REASONS || e->flags > UINT16_MAX)
        return KYMO_E_INVALID;
    KYMO_KEEP(w, kymo_kept_need_process(w, e->process));
    KYMO_KEEP(w, kymo_kept_stack(w, e));
    kymo_err err = KYMO_OK;
    if (w->stack_count > 0 && w->stack_process != e->process)
        err = kymo_writer_close_stacks(w);
    w->stack_process = e->process;
    if (err == KYMO_OK)
        err = append_stack(w, e);
    if (err == KYMO_OK && w->stacks.len >= KYMO_PENDING_BYTES)
        err = kymo_writer_close_stacks(w);
    return err == KYMO_OK ? KYMO_OK : kymo_chunk_out_fail(&w->out, err);
}

/* ---- kernel stacks ---- */

kymo_err kymo_recording_write_kernel_stack(kymo_recording_writer *w,
                                           const kymo_event_kernel_stack *e)
{
    KYMO_TRY(kymo_writer_may_write(w));
    if (e->depth == 0 || e->depth > KYMO_EVENT_KERNEL_DEPTH_MAX)
        return KYMO_E_INVALID;
    /* The user stack that it refers to may be pending. */
    kymo_err err = kymo_writer_close_stacks(w);
    if (err != KYMO_OK)
        return kymo_chunk_out_fail(&w->out, err);
    struct kymo_file_kernel_stack fixed = {
        .fixed_bytes = sizeof fixed,
        .process = e->process,
        .stack = e->stack,
        .caller = e->caller,
        .depth = e->depth,
        .frame_bytes = sizeof(struct kymo_file_kernel_frame),
    };
    static_assert(sizeof *e->frames == sizeof(struct kymo_file_kernel_frame), "layout");
    kymo_writer_begin(w, &fixed);
    kymo_writer_put_bytes(w, e->frames, e->depth * sizeof *e->frames);
    return kymo_writer_finish(w, KYMO_CHUNK_KERNEL_STACK, 0);
}
