/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_stacks.c - stacks become nodes of the profile's prefix tree.
 *
 * Each stack event shares its `shared` outermost frames with the event before. The nodes of the
 * last stack are kept by depth, so only new frames cost time, and reading a recording costs no more
 * than the frames in its file. A stack that did not reach the thread's entry hangs below a frame
 * that says so. Nodes below different roots differ, so each root keeps its last stack separately.
 *
 * Kernel frames hang below the user stack that called the kernel, as further nodes.
 *
 * Frames of libkymo (between start_thread and the thread's function, or where a sample hit one of
 * our hooks) are left out.
 */
#include "profile/ingest_state.h"

#include <string.h>

static const char *const root_names[KYMO_INGEST_ROOT_COUNT] = {
    [KYMO_INGEST_ROOT_TRUNCATED] = "[truncated stack]",
    [KYMO_INGEST_ROOT_INCOMPLETE] = "[incomplete stack]",
};

static enum kymo_ingest_root root_of(const kymo_event_stack *e)
{
    if (e->flags & KYMO_EVENT_STACK_COMPLETE)
        return KYMO_INGEST_ROOT_ENTRY;
    return e->flags & KYMO_EVENT_STACK_TRUNCATED ? KYMO_INGEST_ROOT_TRUNCATED
                                                 : KYMO_INGEST_ROOT_INCOMPLETE;
}

/* A frame that shows a name chosen by Kymo. */
kymo_err kymo_ingest_make_label(kymo_ingest *in, const char *name, kymo_category category,
                                uint32_t *frame)
{
    kymo_function function = {.source = KYMO_NONE, .module = KYMO_NONE};
    uint32_t function_id;
    KYMO_TRY(kymo_profile_add_string(in->profile, name, strlen(name), &function.name));
    KYMO_TRY(kymo_profile_add_function(in->profile, &function, &function_id));
    return kymo_profile_add_label_frame(in->profile, function_id, category, frame);
}

/* The stack with one frame, which says what is missing. */
static kymo_err make_root(kymo_ingest *in, enum kymo_ingest_root root)
{
    struct kymo_ingest_path *path = &in->paths[root];
    uint32_t frame;
    if (path->root != KYMO_NONE || root_names[root] == NULL)
        return KYMO_OK;
    KYMO_TRY(kymo_ingest_make_label(in, root_names[root], KYMO_CATEGORY_OTHER, &frame));
    return kymo_profile_add_stack(in->profile, KYMO_NONE, frame, &path->root);
}

/* The node for a frame called from `parent`; `parent` itself if the frame is one of libkymo's. */
static kymo_err add_node(kymo_ingest *in, uint32_t parent, const kymo_event_frame *f,
                         uint32_t *node)
{
    uint32_t module = KYMO_NONE;
    if (f->module != KYMO_EVENT_NONE) {
        if (f->module >= in->modules.len)
            return KYMO_E_INVALID;
        if (in->modules.data[f->module].ours) {
            *node = parent;
            return KYMO_OK;
        }
        module = in->modules.data[f->module].id;
    }
    /* A return address is after the call, possibly behind the end of the function: use the call. */
    uint64_t address = f->address;
    if ((f->flags & KYMO_EVENT_FRAME_RETURN) && address > 0)
        address--;
    if (address == KYMO_NO_ADDRESS)
        address--; /* the value has a special meaning in a frame, and cannot be code */
    uint32_t frame;
    KYMO_TRY(kymo_profile_add_frame(in->profile, module, address, KYMO_CATEGORY_AUTO, &frame));
    return kymo_profile_add_stack(in->profile, parent, frame, node);
}

kymo_err kymo_ingest_on_stack(void *ctx, const kymo_event_stack *e)
{
    kymo_ingest *in = ctx;
    if (e->stack != in->stacks.len || e->depth > KYMO_EVENT_DEPTH_MAX || e->shared > e->depth)
        return KYMO_E_INVALID;
    for (int i = 0; i < KYMO_INGEST_ROOT_COUNT; i++)
        if (in->paths[i].valid > e->shared)
            in->paths[i].valid = e->shared;
    enum kymo_ingest_root root = root_of(e);
    KYMO_TRY(make_root(in, root));
    struct kymo_ingest_path *path = &in->paths[root];
    while (path->valid < e->depth) {
        uint32_t parent = path->valid > 0 ? path->node[path->valid - 1] : path->root;
        KYMO_TRY(
            add_node(in, parent, &e->frames[e->depth - 1 - path->valid], &path->node[path->valid]));
        path->valid++;
    }
    struct kymo_ingest_stack stack = {
        .id = e->depth > 0 ? path->node[e->depth - 1] : path->root,
        .complete = root == KYMO_INGEST_ROOT_ENTRY,
    };
    return kymo_vec_push(&in->stacks, stack);
}

/* ---- kernel frames ---- */

kymo_err kymo_ingest_on_kernel_symbol(void *ctx, const kymo_event_kernel_symbol *e)
{
    kymo_ingest *in = ctx;
    return kymo_kernel_frames_add_symbol(&in->kernel, in->profile, e);
}

kymo_err kymo_ingest_on_kernel_stack(void *ctx, const kymo_event_kernel_stack *e)
{
    kymo_ingest *in = ctx;
    struct kymo_ingest_stack stack = {.id = KYMO_NONE};
    if (e->stack != in->stacks.len || e->process >= in->processes.len ||
        !kymo_ingest_has_stack(in, e->caller))
        return KYMO_E_INVALID;
    if (e->caller != KYMO_EVENT_NONE) {
        stack = in->stacks.data[e->caller];
    } else {
        KYMO_TRY(make_root(in, KYMO_INGEST_ROOT_INCOMPLETE));
        stack.id = in->paths[KYMO_INGEST_ROOT_INCOMPLETE].root;
    }
    for (uint32_t i = e->depth; i-- > 0;) {
        uint32_t frame;
        KYMO_TRY(kymo_kernel_frames_find(&in->kernel, in->profile, &e->frames[i], &frame));
        KYMO_TRY(kymo_profile_add_stack(in->profile, stack.id, frame, &stack.id));
    }
    return kymo_vec_push(&in->stacks, stack);
}
