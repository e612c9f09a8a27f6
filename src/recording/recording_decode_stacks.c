/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_stacks.c - chunks of user stacks and kernel stacks.
 *
 * A stack repeats frames of the stack before, so a few bytes give many frames. Repeated frames are
 * not processed again; `shared` lets the handler skip them, too.
 */
#include "recording/recording_decode_event.h"

#include <string.h>

/* Replaces all but the `shared` outermost frames by those that follow in r. */
static void read_frames(kymo_decoder *d, kymo_reader *r, uint32_t process, uint32_t depth,
                        uint32_t shared, size_t frame_bytes)
{
    uint32_t fresh = depth - shared;
    const unsigned char *bytes = kymo_read_bytes(r, fresh * frame_bytes);
    if (bytes == NULL)
        return;
    uint32_t bad_from = d->bad_from < shared ? d->bad_from : depth;
    kymo_event_frame *frame = d->frames + (KYMO_EVENT_DEPTH_MAX - depth);
    for (uint32_t i = 0; i < fresh; i++, frame++, bytes += frame_bytes) {
        struct kymo_file_frame f;
        memcpy(&f, bytes, sizeof f);
        uint32_t module = KYMO_EVENT_NONE;
        kymo_id_map *map = f.flags & KYMO_EVENT_FRAME_SCRIPT ? &d->scripts : &d->modules;
        if (f.module != KYMO_EVENT_NONE && !kymo_id_map_find(map, process, f.module, &module) &&
            bad_from > depth - 1 - i)
            bad_from = depth - 1 - i;
        *frame = (kymo_event_frame){f.address, module, f.flags};
    }
    d->depth = depth;
    d->bad_from = bad_from;
    if (d->told > shared)
        d->told = shared;
}

static kymo_err decode_stack(kymo_decoder *d, const struct kymo_file_stack *f, uint32_t process,
                             int process_known)
{
    if (!process_known || d->bad_from < d->depth)
        return kymo_decode_drop(&d->damage.references);
    kymo_event_stack e = {
        .process = process,
        .flags = f->flags,
        .end = f->end,
        .depth = d->depth,
        .shared = d->told,
        .frames = d->frames + (KYMO_EVENT_DEPTH_MAX - d->depth),
    };
    if (kymo_id_map_find(&d->stacks, process, f->stack, &e.stack))
        return kymo_decode_drop(&d->damage.duplicates);
    if (f->stack == KYMO_EVENT_NONE || f->end >= KYMO_FILE_END_REASONS)
        return kymo_decode_drop(&d->damage.values);
    KYMO_TRY(kymo_id_map_add(&d->stacks, process, f->stack, &e.stack));
    d->told = d->depth;
    return KYMO_DELIVER(d, stack, &e);
}

kymo_err kymo_decode_stacks(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_stacks head;
    if (!kymo_read_head(r, &head, sizeof head, &head.head_bytes) ||
        head.stack_bytes < sizeof(struct kymo_file_stack) ||
        head.frame_bytes < sizeof(struct kymo_file_frame))
        return kymo_decode_malformed(d);
    uint32_t process = 0;
    int process_known = kymo_id_map_find(&d->processes, 0, head.process, &process);
    d->depth = d->bad_from = d->told = 0;
    for (uint32_t i = 0; i < head.count; i++) {
        struct kymo_file_stack f;
        const void *bytes = kymo_read_bytes(r, head.stack_bytes);
        if (bytes == NULL)
            return kymo_decode_malformed(d);
        memcpy(&f, bytes, sizeof f);
        if (f.depth > KYMO_EVENT_DEPTH_MAX || f.shared > f.depth || f.shared > d->depth)
            return kymo_decode_malformed(d);
        read_frames(d, r, process, f.depth, f.shared, head.frame_bytes);
        if (r->failed)
            return kymo_decode_malformed(d);
        KYMO_TRY(decode_stack(d, &f, process, process_known));
    }
    return KYMO_OK;
}

/* ---- functions of scripts ---- */

kymo_err kymo_decode_script(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_script e;
    if (!kymo_read_event(r, KYMO_CHUNK_SCRIPT, &e))
        return kymo_decode_malformed(d);
    uint32_t id = e.script;
    if (!kymo_id_map_find(&d->processes, 0, e.process, &e.process))
        return kymo_decode_drop(&d->damage.references);
    if (kymo_id_map_find(&d->scripts, e.process, id, &e.script))
        return kymo_decode_drop(&d->damage.duplicates);
    if (id == KYMO_EVENT_NONE || e.language == 0 || e.language >= KYMO_EVENT_LANGUAGES)
        return kymo_decode_drop(&d->damage.values);
    KYMO_TRY(kymo_id_map_add(&d->scripts, e.process, id, &e.script));
    return KYMO_DELIVER(d, script, &e);
}

/* ---- kernel stacks ---- */

kymo_err kymo_decode_kernel_symbol(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_kernel_symbol e;
    if (!kymo_read_event(r, KYMO_CHUNK_KERNEL_SYMBOL, &e))
        return kymo_decode_malformed(d);
    uint32_t id = e.symbol;
    if (kymo_id_map_find(&d->kernel_symbols, 0, id, &e.symbol))
        return kymo_decode_drop(&d->damage.duplicates);
    if (id == KYMO_EVENT_NONE || e.name[0] == '\0' || e.module[0] != '[')
        return kymo_decode_drop(&d->damage.values);
    KYMO_TRY(kymo_id_map_add(&d->kernel_symbols, 0, id, &e.symbol));
    return KYMO_DELIVER(d, kernel_symbol, &e);
}

/* Reads frames into d->kernel_frames; *known: whether all their symbols are known. */
static kymo_err read_kernel_frames(kymo_decoder *d, kymo_reader *r,
                                   const struct kymo_file_kernel_stack *f, int *known)
{
    const unsigned char *bytes = kymo_read_bytes(r, (size_t)f->depth * f->frame_bytes);
    if (bytes == NULL)
        return KYMO_OK;
    d->kernel_frames.len = 0;
    KYMO_TRY(kymo_vec_reserve(&d->kernel_frames, f->depth));
    *known = 1;
    for (uint32_t i = 0; i < f->depth; i++, bytes += f->frame_bytes) {
        struct kymo_file_kernel_frame frame;
        memcpy(&frame, bytes, sizeof frame);
        kymo_event_kernel_frame to = {KYMO_EVENT_NONE, frame.offset};
        if (frame.symbol != KYMO_EVENT_NONE &&
            !kymo_id_map_find(&d->kernel_symbols, 0, frame.symbol, &to.symbol))
            *known = 0;
        d->kernel_frames.data[d->kernel_frames.len++] = to;
    }
    return KYMO_OK;
}

kymo_err kymo_decode_kernel_stack(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_kernel_stack f;
    int known = 0;
    if (!kymo_read_fixed(r, &f, sizeof f) || f.depth > KYMO_EVENT_KERNEL_DEPTH_MAX ||
        f.frame_bytes < sizeof(struct kymo_file_kernel_frame))
        return kymo_decode_malformed(d);
    KYMO_TRY(read_kernel_frames(d, r, &f, &known));
    if (r->failed)
        return kymo_decode_malformed(d);
    kymo_event_kernel_stack e = {
        .caller = KYMO_EVENT_NONE, .depth = f.depth, .frames = d->kernel_frames.data};
    if (!known || !kymo_id_map_find(&d->processes, 0, f.process, &e.process) ||
        (f.caller != KYMO_EVENT_NONE &&
         !kymo_id_map_find(&d->stacks, e.process, f.caller, &e.caller)))
        return kymo_decode_drop(&d->damage.references);
    if (kymo_id_map_find(&d->stacks, e.process, f.stack, &e.stack))
        return kymo_decode_drop(&d->damage.duplicates);
    if (f.stack == KYMO_EVENT_NONE || f.depth == 0)
        return kymo_decode_drop(&d->damage.values);
    KYMO_TRY(kymo_id_map_add(&d->stacks, e.process, f.stack, &e.stack));
    return KYMO_DELIVER(d, kernel_stack, &e);
}
