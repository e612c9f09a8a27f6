/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest.c - events become rows as they come; what is known only at the end is added at the end.
 *
 * Weights. The weights of a thread's CPU samples and its tail (the CPU time after the last one) add
 * up to its CPU clock. The tail belongs to the last sample, so the newest CPU sample of each thread
 * is held back until the end. A thread without samples cannot show its tail: it counts as not
 * sampled. Where samples have a weight of 0, which is not known (the thread could not look at its
 * clock), the tail is theirs, in equal shares: it is what the thread used since the last weight
 * that is known.
 *
 * The timer engine samples at the kernel's tick whoever runs then, and the dispatch engine at ticks
 * of its own, so each of their samples stands for the same time, and the CPU time since the last
 * one says nothing of where it went: in a loop that sleeps, what was used since the work before the
 * sleep falls into whatever the first tick after it finds, and that is late in the work rather than
 * early, or, with the kernel's tick, the first thing done after the sleep. So weights are evened
 * out over EVEN_SAMPLES neighbours; their sum stays the thread's CPU clock.
 *
 * Stacks. Each stack event repeats its `shared` outermost frames from the one before. Nodes of the
 * prefix tree are kept per depth, so only what is new costs anything, and a whole recording costs
 * no more than the frames that are in its file. A stack that did not reach the thread's entry hangs
 * below a frame that says so; since nodes under different roots differ, each root has a path of its
 * own.
 *
 * What the kernel did hangs on the stack that called it, as nodes of its own.
 *
 * Frames of our own library (between start_thread and the thread's function, or where a sample hit
 * one of our hooks) are left out.
 */
#include "profile/ingest.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "profile/code_map.h"
#include "profile/kernel_frames.h"
#include "profile/tables.h"

/* 64 ms of a busy thread where the tick is 4 ms. */
#define EVEN_SAMPLES 16u
#define SAME_PLACE_MAX 8 /* modules of one place that are looked at */
#define WAIT_NAME_MAX 64 /* bytes shown of what a thread waits in */

/* How a stack begins, seen from outside. */
enum root {
    ROOT_ENTRY,      /* with the thread's real entry */
    ROOT_TRUNCATED,  /* cut at the limit of depth */
    ROOT_INCOMPLETE, /* the walk could not go on */
    ROOT_COUNT
};

static const char *const root_names[ROOT_COUNT] = {
    [ROOT_TRUNCATED] = "[truncated stack]",
    [ROOT_INCOMPLETE] = "[incomplete stack]",
};

struct path {
    uint32_t root;  /* stack id below which it hangs; KYMO_NONE: none */
    uint32_t valid; /* so many nodes are those of the last stack event's outermost frames */
    uint32_t *node; /* by depth from outside: stack id */
};

struct loss {
    uint32_t kind;
    uint64_t count;
    const char *name;
};

struct process {
    KYMO_VEC(struct loss) losses; /* at most KYMO_LOST_MAX */
    kymo_event_quality quality;
    uint64_t end_ns;
    uint64_t cpu_ns; /* of wait4; 0: not known */
    int32_t wait_status;
};

struct thread {
    const char *name; /* NULL: as it was when it began */
    uint64_t end_ns;
    uint64_t cpu_ns;
    uint64_t tail_ns;
    uint64_t weight_ns;     /* sum of CPU samples */
    uint64_t unknown;       /* CPU samples of a weight that is not known */
    uint64_t wall_ns;       /* sum of wall samples */
    kymo_event_sample held; /* the newest CPU sample; time_ns 0: none */
    uint32_t by_tick;
};

struct module {
    uint32_t id; /* in the profile */
    uint32_t ours;
};

struct stack {
    uint32_t id; /* in the profile */
    uint32_t complete;
};

struct kymo_ingest {
    kymo_profile *profile;
    kymo_arena arena; /* texts, notes' texts, images */
    kymo_meta meta;
    const char *engine_reason;
    const char *options;
    uint32_t hz;
    int clean;
    uint64_t last_ns; /* the latest time seen */

    KYMO_VEC(struct process) processes;
    KYMO_VEC(struct thread) threads;
    KYMO_VEC(struct module) modules; /* by number in the recording */
    kymo_index module_index;         /* of `modules`, by what makes two of them the same */
    KYMO_VEC(struct stack) stacks;
    KYMO_VEC(const char *) waits; /* by number - 1: what a thread waits in */
    /* By wait and whether it is blocked: the frame that says so; KYMO_NONE: not made yet. */
    KYMO_VEC(uint32_t) wait_frames;
    struct path paths[ROOT_COUNT];
    kymo_code_map code;
    kymo_kernel_frames kernel;
    KYMO_VEC(kymo_ingest_note) notes;
    KYMO_VEC(kymo_ingest_image) images;
    uint32_t main_process; /* KYMO_NONE: not seen */

    uint64_t cpu_samples;
    uint64_t wall_samples;
    uint64_t samples;
    uint64_t complete_samples; /* of all samples, those with a complete stack */
};

/* Sums of what a file says do not wrap around. */
static uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void see_time(kymo_ingest *in, uint64_t time_ns)
{
    if (time_ns > in->last_ns)
        in->last_ns = time_ns;
}

static kymo_err copy_text(kymo_ingest *in, const char *text, const char **out)
{
    *out = NULL;
    if (text == NULL || *text == '\0')
        return KYMO_OK;
    *out = kymo_arena_strndup(&in->arena, text, strlen(text));
    return *out != NULL ? KYMO_OK : KYMO_E_NOMEM;
}

kymo_err kymo_ingest_create(kymo_profile *profile, kymo_ingest **out)
{
    kymo_ingest *in = calloc(1, sizeof *in);
    if (in == NULL)
        return KYMO_E_NOMEM;
    in->profile = profile;
    in->main_process = KYMO_NONE;
    for (int i = 0; i < ROOT_COUNT; i++) {
        in->paths[i].root = KYMO_NONE;
        in->paths[i].node = malloc(KYMO_EVENT_DEPTH_MAX * sizeof(uint32_t));
        if (in->paths[i].node == NULL) {
            kymo_ingest_destroy(in);
            return KYMO_E_NOMEM;
        }
    }
    *out = in;
    return KYMO_OK;
}

void kymo_ingest_destroy(kymo_ingest *in)
{
    if (in == NULL)
        return;
    for (size_t i = 0; i < in->processes.len; i++)
        kymo_vec_deinit(&in->processes.data[i].losses);
    kymo_vec_deinit(&in->processes);
    kymo_vec_deinit(&in->threads);
    kymo_vec_deinit(&in->modules);
    kymo_index_deinit(&in->module_index);
    kymo_vec_deinit(&in->stacks);
    kymo_vec_deinit(&in->waits);
    kymo_vec_deinit(&in->wait_frames);
    kymo_code_map_deinit(&in->code);
    kymo_kernel_frames_deinit(&in->kernel);
    kymo_vec_deinit(&in->notes);
    kymo_vec_deinit(&in->images);
    for (int i = 0; i < ROOT_COUNT; i++)
        free(in->paths[i].node);
    kymo_arena_deinit(&in->arena);
    free(in);
}

/* ---- the recording, processes, threads ------------------------------------------------------- */

static kymo_err on_meta(void *ctx, const kymo_event_meta *e)
{
    kymo_ingest *in = ctx;
    const char **argv =
        kymo_arena_alloc(&in->arena, (e->argc + 1ull) * sizeof *argv, sizeof(void *));
    if (argv == NULL)
        return KYMO_E_NOMEM;
    for (uint32_t i = 0; i < e->argc; i++) {
        argv[i] = kymo_arena_strndup(&in->arena, e->argv[i], strlen(e->argv[i]));
        if (argv[i] == NULL)
            return KYMO_E_NOMEM;
    }
    argv[e->argc] = NULL;
    in->meta = (kymo_meta){
        .size = sizeof in->meta,
        .logical_cpus = e->logical_cpus,
        .physical_cpus = e->physical_cpus,
        .argc = e->argc,
        .argv = argv,
        .memory_bytes = e->memory_bytes,
        .origin_monotonic_ns = e->start_ns,
        .origin_realtime_ns = e->start_realtime_ns,
        .start_ns = e->start_ns,
        .tick_ns = e->hz != 0 ? 1000000000u / e->hz : 0,
        .period_ns = e->period_ns,
        .wall_period_ns = e->wall_period_ns,
    };
    in->hz = e->hz;
    see_time(in, e->start_ns);
    KYMO_TRY(copy_text(in, e->version, &in->meta.version));
    KYMO_TRY(copy_text(in, e->engine, &in->meta.engine));
    KYMO_TRY(copy_text(in, e->host, &in->meta.hostname));
    KYMO_TRY(copy_text(in, e->os, &in->meta.os));
    KYMO_TRY(copy_text(in, e->kernel, &in->meta.kernel));
    KYMO_TRY(copy_text(in, e->arch, &in->meta.arch));
    KYMO_TRY(copy_text(in, e->cpu_name, &in->meta.cpu_name));
    KYMO_TRY(copy_text(in, e->engine_reason, &in->engine_reason));
    in->meta.engine_reason = in->engine_reason;
    KYMO_TRY(copy_text(in, e->options, &in->options));
    /* Modules take their architecture from it; finish sets it again, with what is known then. */
    return kymo_profile_set_meta(in->profile, &in->meta);
}

static kymo_err on_process(void *ctx, const kymo_event_process *e)
{
    kymo_ingest *in = ctx;
    int is_main = e->is_main != 0 && in->main_process == KYMO_NONE;
    kymo_process row = {
        .size = sizeof row,
        .pid = e->pid,
        .parent_pid = e->parent_pid,
        .argc = e->argc,
        .argv = e->argv,
        .name = e->name,
        .start_ns = e->start_ns,
        .exit_status = -1,
        .is_main = (uint32_t)is_main,
    };
    uint32_t id;
    KYMO_TRY(kymo_profile_add_process(in->profile, &row, &id));
    if (id != e->process || id != in->processes.len)
        return KYMO_E_INVALID;
    if (is_main)
        in->main_process = id;
    see_time(in, e->start_ns);
    return kymo_vec_push(&in->processes, (struct process){.wait_status = -1});
}

static kymo_err on_process_end(void *ctx, const kymo_event_process_end *e)
{
    kymo_ingest *in = ctx;
    if (e->process >= in->processes.len)
        return KYMO_E_INVALID;
    struct process *p = &in->processes.data[e->process];
    p->end_ns = e->end_ns;
    p->cpu_ns = add_saturating(e->user_ns, e->system_ns);
    p->wait_status = e->wait_status;
    see_time(in, e->end_ns);
    return KYMO_OK;
}

static kymo_err on_thread(void *ctx, const kymo_event_thread *e)
{
    kymo_ingest *in = ctx;
    kymo_thread row = {
        .size = sizeof row,
        .process = e->process,
        .tid = e->tid,
        .name = e->name,
        .start_ns = e->start_ns,
    };
    uint32_t id;
    KYMO_TRY(kymo_profile_add_thread(in->profile, &row, &id));
    if (id != e->thread || id != in->threads.len)
        return KYMO_E_INVALID;
    see_time(in, e->start_ns);
    return kymo_vec_push(&in->threads, (struct thread){0});
}

static kymo_err on_thread_name(void *ctx, const kymo_event_thread_name *e)
{
    kymo_ingest *in = ctx;
    if (e->thread >= in->threads.len)
        return KYMO_E_INVALID;
    return copy_text(in, e->name, &in->threads.data[e->thread].name);
}

static kymo_err on_thread_end(void *ctx, const kymo_event_thread_end *e)
{
    kymo_ingest *in = ctx;
    if (e->thread >= in->threads.len)
        return KYMO_E_INVALID;
    struct thread *t = &in->threads.data[e->thread];
    t->end_ns = e->end_ns;
    t->cpu_ns = e->cpu_ns;
    t->tail_ns = e->cpu_tail_ns;
    t->by_tick = e->by_tick;
    see_time(in, e->end_ns);
    return KYMO_OK;
}

/* ---- modules --------------------------------------------------------------------------------- */

/* libkymo-preload.so and libkymo.so, whatever version follows. */
static int is_ours(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    return strncmp(name, "libkymo-preload.so", 18) == 0 || strncmp(name, "libkymo.so", 10) == 0;
}

/* Whether `row` is the mapping of this event, announced twice: the same file at the same place, and
 * not gone in between. */
static int is_same_module(const kymo_module *row, const kymo_event_module *e)
{
    return row->process == e->process && row->start == e->start && row->end == e->end &&
           row->load_bias == e->load_bias && row->file_offset == e->file_offset &&
           (row->unload_ns == 0 || e->load_ns < row->unload_ns) &&
           row->build_id_len == e->build_id_len &&
           (e->build_id_len == 0 || memcmp(row->build_id, e->build_id, e->build_id_len) == 0) &&
           strcmp(row->path, e->path) == 0;
}

static kymo_err on_module(void *ctx, const kymo_event_module *e)
{
    kymo_ingest *in = ctx;
    if (e->module != in->modules.len || e->process >= in->processes.len ||
        e->build_id_len > KYMO_BUILD_ID_MAX || e->path == NULL)
        return KYMO_E_INVALID;
    const uint64_t place[] = {e->process, e->start, e->end, e->load_bias};
    uint64_t hash = kymo_hash_words(place, KYMO_ARRAY_LEN(place), kymo_hash_secret());
    struct module module = {.ours = (uint32_t)is_ours(e->path)};
    size_t probe = 0;
    uint32_t at;
    int tries = 0;
    /* Looking at a few is enough: there are only as many at one place as were loaded there one
     * after the other, and a duplicate row does no harm. Those that nobody would look at are not
     * put there either, where they would make the way of the next one longer. */
    for (; tries < SAME_PLACE_MAX && kymo_index_find(&in->module_index, hash, &probe, &at);
         tries++) {
        module.id = in->modules.data[at].id;
        if (is_same_module(kymo_profile_module(in->profile, module.id), e))
            return kymo_vec_push(&in->modules, module);
    }
    kymo_module row = {
        .size = sizeof row,
        .process = e->process,
        .path = e->path,
        .build_id_len = e->build_id_len,
        .is_main = e->is_main != 0,
        .category = KYMO_CATEGORY_AUTO,
        .start = e->start,
        .end = e->end,
        .file_offset = e->file_offset,
        .load_bias = e->load_bias,
        .load_ns = e->load_ns,
    };
    if (e->build_id_len > 0)
        memcpy(row.build_id, e->build_id, e->build_id_len);
    KYMO_TRY(kymo_profile_add_module(in->profile, &row, &module.id));
    if (tries < SAME_PLACE_MAX)
        KYMO_TRY(kymo_index_put(&in->module_index, hash, e->module));
    return kymo_vec_push(&in->modules, module);
}

static kymo_err on_module_unload(void *ctx, const kymo_event_module_unload *e)
{
    kymo_ingest *in = ctx;
    if (e->module >= in->modules.len)
        return KYMO_E_INVALID;
    return kymo_profile_set_module_unload(in->profile, in->modules.data[e->module].id, e->time_ns);
}

static kymo_err on_module_image(void *ctx, const kymo_event_module_image *e)
{
    kymo_ingest *in = ctx;
    if (e->module >= in->modules.len)
        return KYMO_E_INVALID;
    uint8_t *bytes = kymo_arena_alloc(&in->arena, e->len, 16);
    if (bytes == NULL)
        return KYMO_E_NOMEM;
    memcpy(bytes, e->bytes, e->len);
    return kymo_vec_push(&in->images,
                         (kymo_ingest_image){in->modules.data[e->module].id, e->len, bytes});
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static enum root root_of(const kymo_event_stack *e)
{
    if (e->flags & KYMO_EVENT_STACK_COMPLETE)
        return ROOT_ENTRY;
    return e->flags & KYMO_EVENT_STACK_TRUNCATED ? ROOT_TRUNCATED : ROOT_INCOMPLETE;
}

/* A frame that shows a name of ours. */
static kymo_err make_label(kymo_ingest *in, const char *name, kymo_category category,
                           uint32_t *frame)
{
    kymo_function function = {.source = KYMO_NONE, .module = KYMO_NONE};
    uint32_t function_id;
    KYMO_TRY(kymo_profile_add_string(in->profile, name, strlen(name), &function.name));
    KYMO_TRY(kymo_profile_add_function(in->profile, &function, &function_id));
    return kymo_profile_add_label_frame(in->profile, function_id, category, frame);
}

/* The stack that consists of the frame that says what is missing. */
static kymo_err make_root(kymo_ingest *in, enum root root)
{
    struct path *path = &in->paths[root];
    uint32_t frame;
    if (path->root != KYMO_NONE || root_names[root] == NULL)
        return KYMO_OK;
    KYMO_TRY(make_label(in, root_names[root], KYMO_CATEGORY_OTHER, &frame));
    return kymo_profile_add_stack(in->profile, KYMO_NONE, frame, &path->root);
}

/* The node for a frame that was called from `parent`; parent itself for a frame of ours. */
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
    /* The call is the instruction before a return address, possibly the last of its function. */
    uint64_t address = f->address;
    if ((f->flags & KYMO_EVENT_FRAME_RETURN) && address > 0)
        address--;
    if (address == KYMO_NO_ADDRESS)
        address--; /* that value means something else in a frame, and is no code */
    uint32_t frame;
    KYMO_TRY(kymo_profile_add_frame(in->profile, module, address, KYMO_CATEGORY_AUTO, &frame));
    return kymo_profile_add_stack(in->profile, parent, frame, node);
}

static kymo_err on_stack(void *ctx, const kymo_event_stack *e)
{
    kymo_ingest *in = ctx;
    if (e->stack != in->stacks.len || e->depth > KYMO_EVENT_DEPTH_MAX || e->shared > e->depth)
        return KYMO_E_INVALID;
    for (int i = 0; i < ROOT_COUNT; i++)
        if (in->paths[i].valid > e->shared)
            in->paths[i].valid = e->shared;
    enum root root = root_of(e);
    KYMO_TRY(make_root(in, root));
    struct path *path = &in->paths[root];
    while (path->valid < e->depth) {
        uint32_t parent = path->valid > 0 ? path->node[path->valid - 1] : path->root;
        KYMO_TRY(
            add_node(in, parent, &e->frames[e->depth - 1 - path->valid], &path->node[path->valid]));
        path->valid++;
    }
    struct stack stack = {
        .id = e->depth > 0 ? path->node[e->depth - 1] : path->root,
        .complete = root == ROOT_ENTRY,
    };
    return kymo_vec_push(&in->stacks, stack);
}

/* ---- the kernel's part of stacks ------------------------------------------------------------- */

static kymo_err on_kernel_symbol(void *ctx, const kymo_event_kernel_symbol *e)
{
    kymo_ingest *in = ctx;
    return kymo_kernel_frames_add_symbol(&in->kernel, in->profile, e);
}

static kymo_err on_kernel_stack(void *ctx, const kymo_event_kernel_stack *e)
{
    kymo_ingest *in = ctx;
    struct stack stack = {.id = KYMO_NONE};
    if (e->stack != in->stacks.len || e->process >= in->processes.len ||
        (e->caller != KYMO_EVENT_NONE && e->caller >= in->stacks.len))
        return KYMO_E_INVALID;
    if (e->caller != KYMO_EVENT_NONE) {
        stack = in->stacks.data[e->caller];
    } else {
        KYMO_TRY(make_root(in, ROOT_INCOMPLETE));
        stack.id = in->paths[ROOT_INCOMPLETE].root;
    }
    for (uint32_t i = e->depth; i-- > 0;) {
        uint32_t frame;
        KYMO_TRY(kymo_kernel_frames_find(&in->kernel, in->profile, &e->frames[i], &frame));
        KYMO_TRY(kymo_profile_add_stack(in->profile, stack.id, frame, &stack.id));
    }
    return kymo_vec_push(&in->stacks, stack);
}

/* ---- samples --------------------------------------------------------------------------------- */

static_assert((int)KYMO_SAMPLE_CPU == 0 && (int)KYMO_SAMPLE_WALL == 1, "as in the file");
static_assert((int)KYMO_STATE_RUNNING == 1 && (int)KYMO_STATE_BLOCKED == 3, "as in the file");

static kymo_err add_sample(kymo_ingest *in, uint32_t thread, const kymo_event_sample *s)
{
    uint32_t stack = s->stack == KYMO_EVENT_NONE ? KYMO_NONE : in->stacks.data[s->stack].id;
    return kymo_profile_add_sample(in->profile, thread, s->time_ns, stack, s->weight_ns,
                                   (kymo_sample_kind)s->kind, (kymo_thread_state)s->state);
}

static kymo_err on_wait(void *ctx, const kymo_event_wait *e)
{
    kymo_ingest *in = ctx;
    const char *name;
    if (e->wait != in->waits.len + 1)
        return KYMO_E_INVALID;
    KYMO_TRY(copy_text(in, e->name, &name));
    return kymo_vec_push(&in->waits, name);
}

/* The frame for what a thread waits in, which stands where the code would be that it ran. */
static kymo_err wait_frame(kymo_ingest *in, uint32_t wait, int blocked, uint32_t *frame)
{
    size_t at = 2 * (size_t)wait + (blocked != 0);
    while (in->wait_frames.len <= at)
        KYMO_TRY(kymo_vec_push(&in->wait_frames, KYMO_NONE));
    *frame = in->wait_frames.data[at];
    if (*frame != KYMO_NONE)
        return KYMO_OK;
    char text[WAIT_NAME_MAX + 16];
    const char *name = wait ? in->waits.data[wait - 1] : NULL;
    snprintf(text, sizeof text, "[%s%s%.*s]", blocked ? "blocked" : "waiting", name ? ": " : "",
             WAIT_NAME_MAX, name ? name : "");
    KYMO_TRY(make_label(in, text, KYMO_CATEGORY_WAITING, frame));
    in->wait_frames.data[at] = *frame;
    return KYMO_OK;
}

/* What a waiting thread waits in is its innermost frame. */
static kymo_err add_wall_sample(kymo_ingest *in, uint32_t thread, const kymo_event_sample *s)
{
    uint32_t stack = s->stack == KYMO_EVENT_NONE ? KYMO_NONE : in->stacks.data[s->stack].id;
    struct thread *t = &in->threads.data[thread];
    in->wall_samples++;
    t->wall_ns = add_saturating(t->wall_ns, s->weight_ns);
    if (s->state == KYMO_STATE_SLEEPING || s->state == KYMO_STATE_BLOCKED) {
        uint32_t frame;
        KYMO_TRY(wait_frame(in, s->wait, s->state == KYMO_STATE_BLOCKED, &frame));
        KYMO_TRY(kymo_profile_add_stack(in->profile, stack, frame, &stack));
    }
    return kymo_profile_add_sample(in->profile, thread, s->time_ns, stack, s->weight_ns,
                                   KYMO_SAMPLE_WALL, (kymo_thread_state)s->state);
}

static kymo_err take_sample(kymo_ingest *in, uint32_t thread, const kymo_event_sample *s)
{
    if (s->kind >= KYMO_SAMPLE_KIND_COUNT || s->state >= KYMO_STATE_COUNT ||
        (s->stack != KYMO_EVENT_NONE && s->stack >= in->stacks.len) || s->wait > in->waits.len)
        return KYMO_E_INVALID;
    in->samples++;
    if (s->stack != KYMO_EVENT_NONE && in->stacks.data[s->stack].complete)
        in->complete_samples++;
    see_time(in, s->time_ns);
    if (s->kind != KYMO_SAMPLE_CPU)
        return add_wall_sample(in, thread, s);
    struct thread *t = &in->threads.data[thread];
    in->cpu_samples++;
    t->weight_ns = add_saturating(t->weight_ns, s->weight_ns);
    t->unknown += s->weight_ns == 0;
    if (s->time_ns < t->held.time_ns)
        return add_sample(in, thread, s);
    if (t->held.time_ns != 0)
        KYMO_TRY(add_sample(in, thread, &t->held));
    t->held = *s;
    return KYMO_OK;
}

static kymo_err on_samples(void *ctx, const kymo_event_samples *e)
{
    kymo_ingest *in = ctx;
    if (e->thread >= in->threads.len)
        return KYMO_E_INVALID;
    for (uint32_t i = 0; i < e->count; i++)
        KYMO_TRY(take_sample(in, e->thread, &e->samples[i]));
    return KYMO_OK;
}

static kymo_err on_code(void *ctx, const kymo_event_code *e)
{
    kymo_ingest *in = ctx;
    return kymo_code_map_add(&in->code, in->profile, e);
}

/* ---- quality, notes, the end ----------------------------------------------------------------- */

static kymo_err on_loss(void *ctx, const kymo_event_loss *e)
{
    kymo_ingest *in = ctx;
    if (e->process >= in->processes.len)
        return KYMO_E_INVALID;
    struct process *p = &in->processes.data[e->process];
    for (size_t i = 0; i < p->losses.len; i++) {
        if (p->losses.data[i].kind == e->kind) {
            p->losses.data[i].count = e->count;
            return KYMO_OK;
        }
    }
    /* There are about ten kinds. A file that claims more is not worth more memory. */
    if (p->losses.len == KYMO_LOST_MAX)
        return KYMO_OK;
    struct loss loss = {.kind = e->kind, .count = e->count};
    KYMO_TRY(copy_text(in, e->name, &loss.name));
    return kymo_vec_push(&p->losses, loss);
}

static kymo_err on_quality(void *ctx, const kymo_event_quality *e)
{
    kymo_ingest *in = ctx;
    if (e->process >= in->processes.len)
        return KYMO_E_INVALID;
    in->processes.data[e->process].quality = *e;
    return KYMO_OK;
}

static kymo_err on_note(void *ctx, const kymo_event_note *e)
{
    kymo_ingest *in = ctx;
    kymo_ingest_note note = {
        .time_ns = e->time_ns,
        .process = e->process == KYMO_EVENT_NONE ? KYMO_NONE : e->process,
        .severity = e->severity,
    };
    KYMO_TRY(copy_text(in, e->text, &note.text));
    return note.text == NULL ? KYMO_OK : kymo_vec_push(&in->notes, note);
}

static kymo_err on_end(void *ctx, const kymo_event_end *e)
{
    kymo_ingest *in = ctx;
    in->clean = e->clean != 0;
    in->meta.end_ns = e->end_ns;
    return KYMO_OK;
}

const kymo_event_handler kymo_ingest_handler = {
    .meta = on_meta,
    .process = on_process,
    .process_end = on_process_end,
    .thread = on_thread,
    .thread_name = on_thread_name,
    .thread_end = on_thread_end,
    .module = on_module,
    .module_unload = on_module_unload,
    .module_image = on_module_image,
    .stack = on_stack,
    .wait = on_wait,
    .samples = on_samples,
    .code = on_code,
    .kernel_symbol = on_kernel_symbol,
    .kernel_stack = on_kernel_stack,
    .loss = on_loss,
    .quality = on_quality,
    .note = on_note,
    .end = on_end,
};

/* ---- finish ---------------------------------------------------------------------------------- */

/* What the figures of the quality are made of. */
struct sums {
    uint64_t weight_ns;         /* of processes whose CPU time is known */
    uint64_t process_cpu_ns;    /* theirs, as wait4 gave it */
    uint64_t thread_cpu_ns;     /* of all threads */
    uint64_t tail_unsampled_ns; /* of threads without samples */
    uint64_t wall_ns;           /* weights of wall samples */
    uint64_t lived_ns;          /* of all threads, while they were recorded */
};

static kymo_err finish_thread(kymo_ingest *in, uint32_t id, struct sums *sums)
{
    struct thread *t = &in->threads.data[id];
    kymo_thread row = *kymo_profile_thread(in->profile, id);
    if (t->held.time_ns != 0) {
        if (t->unknown == 0)
            t->held.weight_ns = add_saturating(t->held.weight_ns, t->tail_ns);
        t->weight_ns = add_saturating(t->weight_ns, t->tail_ns);
        KYMO_TRY(add_sample(in, id, &t->held));
    } else {
        sums->tail_unsampled_ns = add_saturating(sums->tail_unsampled_ns, t->tail_ns);
    }
    if (t->name != NULL)
        row.name = t->name;
    row.end_ns = t->end_ns;
    row.cpu_ns = t->cpu_ns != 0 ? t->cpu_ns : t->weight_ns;
    sums->thread_cpu_ns = add_saturating(sums->thread_cpu_ns, row.cpu_ns);
    uint64_t end_ns = row.end_ns ? row.end_ns : in->meta.end_ns;
    sums->wall_ns = add_saturating(sums->wall_ns, t->wall_ns);
    if (end_ns > row.start_ns && row.start_ns != 0)
        sums->lived_ns = add_saturating(sums->lived_ns, end_ns - row.start_ns);
    if (in->processes.data[row.process].cpu_ns != 0)
        sums->weight_ns = add_saturating(sums->weight_ns, t->weight_ns);
    return kymo_profile_update_thread(in->profile, id, &row);
}

static kymo_err finish_process(kymo_ingest *in, uint32_t id, struct sums *sums)
{
    const struct process *p = &in->processes.data[id];
    kymo_process row = *kymo_profile_process(in->profile, id);
    row.end_ns = p->end_ns;
    row.cpu_ns = p->cpu_ns;
    row.exit_status = p->wait_status;
    sums->process_cpu_ns = add_saturating(sums->process_cpu_ns, p->cpu_ns);
    return kymo_profile_update_process(in->profile, id, &row);
}

/* The counts of all processes by the names of their kinds; what does not fit is counted last. */
static uint32_t sum_losses(const kymo_ingest *in, kymo_lost lost[KYMO_LOST_MAX])
{
    uint32_t count = 0;
    for (size_t i = 0; i < in->processes.len; i++) {
        const struct process *p = &in->processes.data[i];
        for (size_t j = 0; j < p->losses.len; j++) {
            const struct loss *loss = &p->losses.data[j];
            const char *name = loss->name != NULL ? loss->name : "other";
            uint32_t k = 0;
            if (loss->count == 0)
                continue;
            while (k < count && strcmp(lost[k].kind, name) != 0)
                k++;
            if (k == KYMO_LOST_MAX)
                lost[--k].kind = "other";
            if (k == count)
                lost[count++] = (kymo_lost){.kind = name};
            lost[k].count = add_saturating(lost[k].count, loss->count);
        }
    }
    return count;
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole == 0 ? NAN : (double)part / (double)whole;
}

static kymo_err finish_quality(kymo_ingest *in, const struct sums *sums)
{
    kymo_lost lost[KYMO_LOST_MAX];
    kymo_quality q = {
        .size = sizeof q,
        .lost_count = sum_losses(in, lost),
        .lost = lost,
        .samples = in->samples,
        .stacks_complete = ratio(in->complete_samples, in->samples),
        .frames_symbolized = NAN, /* the symbolizer's to say */
        .cpu_unsampled_ns = sums->tail_unsampled_ns,
        .wall_samples = in->wall_samples,
        .wall_achieved = in->meta.wall_period_ns ? ratio(sums->wall_ns, sums->lived_ns) : NAN,
    };
    for (size_t i = 0; i < in->processes.len; i++) {
        const kymo_event_quality *p = &in->processes.data[i].quality;
        q.cpu_unsampled_ns = add_saturating(q.cpu_unsampled_ns, p->cpu_unsampled_ns);
        q.disturbed = add_saturating(q.disturbed, p->disturbed);
        q.handler_ns = add_saturating(q.handler_ns, p->handler_ns);
    }
    /* Weights that exceed the CPU time are as wrong as weights that fall short of it, so the ratio
     * is of the smaller to the larger. */
    int over = sums->weight_ns > sums->process_cpu_ns;
    q.achieved = sums->process_cpu_ns == 0 ? NAN
                 : over                    ? ratio(sums->process_cpu_ns, sums->weight_ns)
                                           : ratio(sums->weight_ns, sums->process_cpu_ns);
    q.sampled_rate = NAN;
    if (in->meta.period_ns != 0 && sums->thread_cpu_ns != 0) {
        /* More samples than asked for are no better than all of them. */
        double asked = (double)sums->thread_cpu_ns / (double)in->meta.period_ns;
        double taken = (double)in->cpu_samples;
        q.sampled_rate = taken < asked ? taken / asked : 1;
    }
    return kymo_profile_set_quality(in->profile, &q);
}

static kymo_err finish_meta(kymo_ingest *in)
{
    kymo_meta *meta = &in->meta;
    if (meta->size == 0)
        return KYMO_E_INVALID; /* no META event came */
    if (in->main_process != KYMO_NONE) {
        uint64_t start_ns = kymo_profile_process(in->profile, in->main_process)->start_ns;
        if (start_ns != 0) {
            meta->origin_realtime_ns += start_ns - meta->origin_monotonic_ns;
            meta->origin_monotonic_ns = start_ns;
        }
    }
    if (meta->end_ns == 0)
        meta->end_ns = in->last_ns;
    return kymo_profile_set_meta(in->profile, meta);
}

kymo_err kymo_ingest_finish(kymo_ingest *in)
{
    struct sums sums = {0};
    KYMO_TRY(finish_meta(in));
    for (uint32_t i = 0; i < in->threads.len; i++)
        KYMO_TRY(finish_thread(in, i, &sums));
    for (uint32_t i = 0; i < in->processes.len; i++)
        KYMO_TRY(finish_process(in, i, &sums));
    KYMO_TRY(finish_quality(in, &sums));
    KYMO_TRY(kymo_profile_finish(in->profile));
    for (uint32_t i = 0; i < in->threads.len; i++)
        if (in->threads.data[i].unknown != 0)
            kymo_sample_columns_share(&in->profile->samples.data[i], in->threads.data[i].tail_ns);
    int all_by_tick = in->meta.engine && strcmp(in->meta.engine, "perf") != 0;
    for (uint32_t i = 0; i < in->threads.len; i++)
        if (all_by_tick || in->threads.data[i].by_tick)
            kymo_sample_columns_even_out(&in->profile->samples.data[i], EVEN_SAMPLES);
    return kymo_code_map_apply(&in->code, in->profile);
}

kymo_ingest_extra kymo_ingest_get_extra(const kymo_ingest *in)
{
    return (kymo_ingest_extra){
        .engine_reason = in->engine_reason,
        .options = in->options,
        .notes = in->notes.data,
        .images = in->images.data,
        .note_count = in->notes.len,
        .image_count = in->images.len,
        .hz = in->hz,
        .clean = in->clean,
    };
}
