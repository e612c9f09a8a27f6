/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_kept_stacks.c - stacks as a tree: stacks with a common part share its frames.
 */
#include "recording/recording_kept.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "recording/recording_write_event.h"

/* The frame with these callers; adds it if needed. */
static kymo_err find_frame(struct kymo_kept_stacks *s, const kymo_event_frame *f, uint32_t caller,
                           uint32_t *frame)
{
    const uint64_t words[] = {f->address, (uint64_t)f->module << 32 | f->flags, caller};
    const uint64_t hash = kymo_hash_words(words, KYMO_ARRAY_LEN(words), kymo_hash_secret());
    for (size_t probe = 0; kymo_index_find(&s->frame_index, hash, &probe, frame);) {
        const struct kymo_kept_frame *there = &s->frames.data[*frame];
        if (there->address == f->address && there->module == f->module &&
            there->flags == f->flags && there->caller == caller)
            return KYMO_OK;
    }
    *frame = (uint32_t)s->frames.len;
    KYMO_TRY(kymo_vec_push(&s->frames,
                           (struct kymo_kept_frame){f->address, f->module, f->flags, caller, 0}));
    return kymo_index_put(&s->frame_index, hash, *frame);
}

static kymo_err add_stack(struct kymo_kept_stacks *s, uint32_t stack,
                          const struct kymo_kept_stack *kept)
{
    if (kymo_key_map_find(&s->ids, stack))
        return KYMO_OK;
    KYMO_TRY(kymo_vec_push(&s->list, *kept));
    return kymo_key_map_put(&s->ids, stack, (uint32_t)s->list.len - 1);
}

kymo_err kymo_kept_stack(kymo_recording_writer *w, const kymo_event_stack *e)
{
    struct kymo_kept_process *p = kymo_kept_process_of(&w->kept, e->process);
    if (!p)
        return KYMO_OK;
    KYMO_TRY(kymo_kept_need_modules(w, p, e));
    if (w->kept.is_again)
        return KYMO_OK;
    struct kymo_kept_stack stack = {
        .innermost = KYMO_EVENT_NONE,
        .depth = e->depth,
        .segment = w->kept.segment,
        .flags = (uint16_t)e->flags,
        .end = (uint16_t)e->end,
    };
    for (uint32_t i = e->depth; i-- > 0;)
        KYMO_TRY(find_frame(&p->stacks, &e->frames[i], stack.innermost, &stack.innermost));
    return add_stack(&p->stacks, e->stack, &stack);
}

kymo_err kymo_kept_kernel_stack(kymo_recording_writer *w, uint32_t process, uint32_t stack)
{
    struct kymo_kept_process *p = kymo_kept_process_of(&w->kept, process);
    struct kymo_kept_stack kept = {.innermost = KYMO_EVENT_NONE, .segment = w->kept.segment};
    if (!p)
        return KYMO_OK;
    kept.kernel = kymo_kept_copy(w, KYMO_CHUNK_KERNEL_STACK, stack);
    if (!kept.kernel)
        return KYMO_E_NOMEM;
    size_t before = p->stacks.list.len;
    kymo_err err = add_stack(&p->stacks, stack, &kept);
    if (p->stacks.list.len == before)
        free(kept.kernel);
    return err;
}

/* The frames of a stack, innermost first. */
static kymo_err list_frames(const struct kymo_kept_stacks *s, const struct kymo_kept_stack *stack,
                            struct kymo_kept_scratch *scratch)
{
    scratch->frames.len = 0;
    for (uint32_t i = stack->innermost; i != KYMO_EVENT_NONE; i = s->frames.data[i].caller) {
        const struct kymo_kept_frame *f = &s->frames.data[i];
        KYMO_TRY(
            kymo_vec_push(&scratch->frames, (kymo_event_frame){f->address, f->module, f->flags}));
    }
    return KYMO_OK;
}

static kymo_err put_stack(kymo_recording_writer *w, uint32_t process, uint32_t stack,
                          const struct kymo_kept_process *p, const struct kymo_kept_stack *s)
{
    struct kymo_recording_kept *kept = &w->kept;
    KYMO_TRY(list_frames(&p->stacks, s, &kept->scratch));
    const kymo_event_stack e = {
        .process = process,
        .stack = stack,
        .flags = s->flags,
        .end = s->end,
        .depth = s->depth,
        .frames = kept->scratch.frames.data,
    };
    kept->is_again = 1;
    kymo_err err = kymo_recording_write_stack(w, &e);
    kept->is_again = 0;
    return err;
}

kymo_err kymo_kept_need_process_stack(kymo_recording_writer *w, uint32_t process, uint32_t stack)
{
    struct kymo_kept_process *p = kymo_kept_process_of(&w->kept, process);
    const uint32_t *place = p ? kymo_key_map_find(&p->stacks.ids, stack) : NULL;
    struct kymo_kept_stack *s = place ? &p->stacks.list.data[*place] : NULL;
    if (!s || s->segment == w->kept.segment)
        return KYMO_OK;
    s->segment = w->kept.segment;
    KYMO_TRY(kymo_kept_need_process(w, process));
    if (!s->kernel)
        return put_stack(w, process, stack, p, s);
    struct kymo_file_kernel_stack fixed;
    memcpy(&fixed, s->kernel->payload, sizeof fixed);
    KYMO_TRY(kymo_kept_need_process_stack(w, process, fixed.caller));
    KYMO_TRY(kymo_writer_close_stacks(w));
    return kymo_kept_put_again(w, s->kernel);
}

kymo_err kymo_kept_need_stack(kymo_recording_writer *w, uint32_t thread, uint32_t stack)
{
    KYMO_TRY(kymo_kept_need_thread(w, thread));
    const struct kymo_kept_thread *t = kymo_kept_thread_of(&w->kept, thread);
    return t ? kymo_kept_need_process_stack(w, t->process, stack) : KYMO_OK;
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

/* ---- their end ---- */

static void deinit_tree(struct kymo_kept_stacks *s)
{
    kymo_vec_deinit(&s->frames);
    kymo_index_deinit(&s->frame_index);
    kymo_vec_deinit(&s->list);
    kymo_key_map_deinit(&s->ids);
}

void kymo_kept_stacks_deinit(struct kymo_kept_stacks *s)
{
    for (size_t i = 0; i < s->list.len; i++)
        free(s->list.data[i].kernel);
    deinit_tree(s);
}

/* Adds a stack of another tree, with its kernel's part, which both have then. */
static kymo_err copy_stack(struct kymo_kept_stacks *to, const struct kymo_kept_stacks *from,
                           const kymo_key_slot *slot, struct kymo_kept_scratch *scratch)
{
    struct kymo_kept_stack stack = from->list.data[slot->value];
    KYMO_TRY(list_frames(from, &stack, scratch));
    stack.innermost = KYMO_EVENT_NONE;
    for (size_t i = scratch->frames.len; i-- > 0;)
        KYMO_TRY(find_frame(to, &scratch->frames.data[i], stack.innermost, &stack.innermost));
    return add_stack(to, (uint32_t)slot->key, &stack);
}

static kymo_err copy_used(struct kymo_kept_stacks *to, const struct kymo_kept_stacks *from,
                          const kymo_key_map *used)
{
    struct kymo_kept_scratch scratch = {.frames = {0}};
    kymo_err err = KYMO_OK;
    for (size_t i = 0; from->ids.slots && i <= from->ids.mask && err == KYMO_OK; i++) {
        const kymo_key_slot *slot = &from->ids.slots[i];
        if (slot->is_used && kymo_key_map_find(used, slot->key))
            err = copy_stack(to, from, slot, &scratch);
    }
    kymo_vec_deinit(&scratch.frames);
    return err;
}

kymo_err kymo_kept_stacks_sweep(struct kymo_kept_stacks *s, const kymo_key_map *used)
{
    struct kymo_kept_stacks left = {.frames = {0}};
    kymo_err err = copy_used(&left, s, used);
    if (err != KYMO_OK) {
        deinit_tree(&left);
        return err;
    }
    for (size_t i = 0; s->ids.slots && i <= s->ids.mask; i++)
        if (s->ids.slots[i].is_used && !kymo_key_map_find(used, s->ids.slots[i].key))
            free(s->list.data[s->ids.slots[i].value].kernel);
    deinit_tree(s);
    *s = left;
    return KYMO_OK;
}
