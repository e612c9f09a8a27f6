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
 * In a stack with frames of a script the interpreter's own native frames are left out up to the
 * innermost of those, but for the program's entry: they say how the interpreter calls itself. Code
 * of other libraries stays where it is, and so does what the innermost script frame has called.
 * Whether a frame is left out thus depends on what lies inside it, so such stacks have paths of
 * their own.
 *
 * A greenlet's stack begins in the module that switches between them, on the thread's own stack.
 * What lies above is another one's by then, and a word of that is no frame.
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

/* Of a stack whose outermost frame has no caller that was found: how many outermost frames, at most
 * one, are none of it, if it begins in such a module; -1: it does not. */
static int frames_above_begin(const kymo_ingest *in, const kymo_event_stack *e)
{
    for (uint32_t i = 0; i < 2 && i < e->depth; i++) {
        const kymo_event_frame *f = &e->frames[e->depth - 1 - i];
        if (f->flags & KYMO_EVENT_FRAME_SCRIPT)
            return -1;
        if (f->module < in->modules.len)
            return in->modules.data[f->module].makes_stacks ? (int)i : -1;
    }
    return -1;
}

/* above: so many outermost frames are none of the stack. */
static enum kymo_ingest_root root_of(const kymo_ingest *in, const kymo_event_stack *e,
                                     uint32_t *above)
{
    *above = 0;
    if (e->flags & KYMO_EVENT_STACK_COMPLETE)
        return KYMO_INGEST_ROOT_ENTRY;
    if (e->flags & KYMO_EVENT_STACK_TRUNCATED)
        return KYMO_INGEST_ROOT_TRUNCATED;
    int none = frames_above_begin(in, e);
    if (none < 0)
        return KYMO_INGEST_ROOT_INCOMPLETE;
    *above = (uint32_t)none;
    return KYMO_INGEST_ROOT_ENTRY;
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
static kymo_err make_root(kymo_ingest *in, enum kymo_ingest_root root,
                          struct kymo_ingest_path *path)
{
    uint32_t frame;
    if (path->root != KYMO_NONE || root_names[root] == NULL)
        return KYMO_OK;
    KYMO_TRY(kymo_ingest_make_label(in, root_names[root], KYMO_CATEGORY_OTHER, &frame));
    return kymo_profile_add_stack(in->profile, KYMO_NONE, frame, &path->root);
}

/* ---- functions of scripts ---- */

kymo_err kymo_ingest_on_script(void *ctx, const kymo_event_script *e)
{
    kymo_ingest *in = ctx;
    kymo_function function = {
        .source = KYMO_NONE, .start_line = e->first_line, .module = KYMO_NONE};
    uint32_t id;
    if (e->script != in->scripts.len)
        return KYMO_E_INVALID;
    const char *name = e->name && e->name[0] ? e->name : "[Python function]";
    KYMO_TRY(kymo_profile_add_string(in->profile, name, strlen(name), &function.name));
    if (e->file && e->file[0])
        KYMO_TRY(kymo_profile_add_source(in->profile, e->file, strlen(e->file), &function.source));
    KYMO_TRY(kymo_profile_add_function(in->profile, &function, &id));
    KYMO_TRY(
        kymo_vec_push(&in->native_scripts, (uint8_t)(e->language == KYMO_EVENT_PYTHON_NATIVE)));
    return kymo_vec_push(&in->scripts, id);
}

static kymo_err make_script_frame(kymo_ingest *in, const kymo_event_frame *f, uint32_t *frame)
{
    if (f->module == KYMO_EVENT_NONE)
        return kymo_ingest_make_label(in, "[Python function]", KYMO_CATEGORY_PYTHON, frame);
    if (f->module >= in->scripts.len || f->address > UINT32_MAX)
        return KYMO_E_INVALID;
    const kymo_line line = {.function = in->scripts.data[f->module], .line = (uint32_t)f->address};
    return kymo_profile_add_lines_frame(in->profile, &line, 1, KYMO_CATEGORY_PYTHON, frame);
}

/* How many outermost frames lie outside of the innermost script frame; 0: there is none. */
static uint32_t count_folded(const kymo_event_stack *e)
{
    for (uint32_t i = 0; i < e->depth; i++)
        if (e->frames[i].flags & KYMO_EVENT_FRAME_SCRIPT)
            return e->depth - 1 - i;
    return 0;
}

static int has_script(const kymo_event_stack *e, uint32_t folded)
{
    return e->depth > 0 && e->frames[e->depth - 1 - folded].flags & KYMO_EVENT_FRAME_SCRIPT;
}

/* ---- nodes ---- */

/* The node for a frame called from `parent`; `parent` itself if the frame is one of libkymo's. */
static kymo_err add_node(kymo_ingest *in, uint32_t parent, const kymo_event_frame *f,
                         uint32_t *node)
{
    uint32_t module = KYMO_NONE;
    uint32_t frame;
    if (f->flags & KYMO_EVENT_FRAME_SCRIPT) {
        KYMO_TRY(make_script_frame(in, f, &frame));
        return kymo_profile_add_stack(in->profile, parent, frame, node);
    }
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
    KYMO_TRY(kymo_profile_add_frame(in->profile, module, address, KYMO_CATEGORY_AUTO, &frame));
    return kymo_profile_add_stack(in->profile, parent, frame, node);
}

/* The stack of a process before its samples began. */
static kymo_err add_startup(kymo_ingest *in)
{
    if (in->startup_stack == KYMO_NONE) {
        uint32_t frame;
        KYMO_TRY(kymo_ingest_make_label(in, KYMO_STARTUP_NAME, KYMO_CATEGORY_OTHER, &frame));
        KYMO_TRY(kymo_profile_add_stack(in->profile, KYMO_NONE, frame, &in->startup_stack));
    }
    return kymo_vec_push(&in->stacks,
                         (struct kymo_ingest_stack){.id = in->startup_stack, .complete = 1});
}

kymo_err kymo_ingest_on_stack(void *ctx, const kymo_event_stack *e)
{
    kymo_ingest *in = ctx;
    if (e->stack != in->stacks.len || e->depth > KYMO_EVENT_DEPTH_MAX || e->shared > e->depth)
        return KYMO_E_INVALID;
    for (int i = 0; i < KYMO_INGEST_PATHS; i++)
        if (in->paths[i].valid > e->shared)
            in->paths[i].valid = e->shared;
    if (e->depth == 1 && e->frames[0].flags & KYMO_EVENT_FRAME_STARTUP)
        return add_startup(in);
    uint32_t above;
    enum kymo_ingest_root root = root_of(in, e, &above);
    uint32_t folded = count_folded(e);
    int is_script = has_script(e, folded);
    struct kymo_ingest_path *path =
        &in->paths[root + (is_script ? (int)KYMO_INGEST_ROOT_COUNT : 0)];
    KYMO_TRY(make_root(in, root, path));
    if (path->above != above)
        path->valid = 0;
    path->above = above;
    if (is_script) {
        /* Frames inside of either one's innermost script frame were treated differently. */
        uint32_t alike = path->folded < folded ? path->folded : folded;
        if (path->valid > alike)
            path->valid = alike;
        path->folded = folded;
    }
    while (path->valid < e->depth) {
        uint32_t parent = path->valid > 0 ? path->node[path->valid - 1] : path->root;
        const kymo_event_frame *f = &e->frames[e->depth - 1 - path->valid];
        int is_entry = path->valid == 0 && root == KYMO_INGEST_ROOT_ENTRY;
        if (path->valid < above || (is_script && !in->keeps_interpreter && path->valid < folded &&
                                    !is_entry && f->flags & KYMO_EVENT_FRAME_INTERPRETER))
            path->node[path->valid] = parent;
        else
            KYMO_TRY(add_node(in, parent, f, &path->node[path->valid]));
        path->valid++;
    }
    struct kymo_ingest_stack stack = {
        .id = e->depth > 0 ? path->node[e->depth - 1] : path->root,
        .complete = root == KYMO_INGEST_ROOT_ENTRY,
        .has_python = is_script != 0,
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
        KYMO_TRY(
            make_root(in, KYMO_INGEST_ROOT_INCOMPLETE, &in->paths[KYMO_INGEST_ROOT_INCOMPLETE]));
        stack.id = in->paths[KYMO_INGEST_ROOT_INCOMPLETE].root;
    }
    for (uint32_t i = e->depth; i-- > 0;) {
        uint32_t frame;
        KYMO_TRY(kymo_kernel_frames_find(&in->kernel, in->profile, &e->frames[i], &frame));
        KYMO_TRY(kymo_profile_add_stack(in->profile, stack.id, frame, &stack.id));
    }
    return kymo_vec_push(&in->stacks, stack);
}
