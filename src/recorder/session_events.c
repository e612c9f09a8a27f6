/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/session_events.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "observe/kernel_stacks.h"
#include "observe/python_label.h"
#include "observe/task.h"
#include "observe/wall_find.h"
#include "recorder/python_late.h"
#include "unwind/unwind.h"

kymo_err kymo_session_events_flush(struct kymo_session_events *to)
{
    if (to->batched == 0)
        return KYMO_OK;
    kymo_event_samples e = {to->batch_thread, to->batched, to->batch};
    to->batched = 0;
    return to->events->samples(to->context, &e);
}

uint32_t kymo_session_events_thread(const struct kymo_session_events *to, uint32_t drained)
{
    return to->threads.data[drained];
}

static kymo_err put_sample(void *context, const kymo_event_sample *s)
{
    struct kymo_session_events *to = context;
    if (to->batched == KYMO_SAMPLE_BATCH)
        KYMO_TRY(kymo_session_events_flush(to));
    to->batch[to->batched++] = *s;
    int has_task = to->task_ns == to->sample_ns && to->task_drained == to->batch_drained;
    const struct kymo_python_task *task = has_task ? &to->task : NULL;
    /* A part of it, in the kernel, may have been before. */
    if (s->time_ns != to->sample_ns)
        KYMO_TRY(
            kymo_python_label_tell(to->events, to->context, to->batch_thread, s->time_ns, task));
    return to->wall ? kymo_wall_cpu_sample(to->wall, to->batch_drained, s->time_ns, s->stack, task)
                    : KYMO_OK;
}

/* What is put next is of this thread, and was sampled then. */
static kymo_err begin_sample(struct kymo_session_events *to, uint32_t drained, uint64_t time_ns)
{
    uint32_t thread = kymo_session_events_thread(to, drained);
    if (to->batched && to->batch_thread != thread)
        KYMO_TRY(kymo_session_events_flush(to));
    to->batch_thread = thread;
    to->batch_drained = drained;
    to->sample_ns = time_ns;
    return KYMO_OK;
}

kymo_err kymo_session_events_copied(struct kymo_session_events *to,
                                    const struct kymo_copied_sample *s)
{
    struct kymo_copied_count *count = &to->copied.data[s->thread];
    kymo_event_sample sample = {
        .time_ns = s->time_ns, .weight_ns = s->weight_ns, .stack = s->stack, .state = 1};
    if (s->is_first)
        sample.weight_ns += count->owed_ns;
    count->samples++;
    count->cpu_ns += sample.weight_ns;
    KYMO_TRY(begin_sample(to, s->thread, s->time_ns));
    return put_sample(to, &sample);
}

static kymo_err on_sample(void *context, const struct kymo_drain_sample *s)
{
    struct kymo_session_events *to = context;
    to->samples++;
    KYMO_TRY(begin_sample(to, s->thread, s->time_ns));
    kymo_event_sample sample = {
        .time_ns = s->time_ns,
        .weight_ns = s->weight_ns,
        .stack = s->stack == KYMO_NO_STACK ? KYMO_EVENT_NONE : s->stack,
        .kind = 0,
        .state = 1,
    };
    return kymo_kernel_stacks_split(to->kernel_stacks, to->process, to->tids.data[s->thread],
                                    &sample, put_sample, to);
}

static kymo_err on_answer(void *context, const struct kymo_drain_answer *answer)
{
    struct kymo_session_events *to = context;
    return to->wall ? kymo_wall_answer(to->wall, answer) : KYMO_OK;
}

/* What the main thread has used before it could be sampled. */
static kymo_err put_startup(struct kymo_session_events *to, uint32_t thread, uint64_t time_ns)
{
    const kymo_event_frame frame = {.module = KYMO_EVENT_NONE, .flags = KYMO_EVENT_FRAME_STARTUP};
    const kymo_event_stack stack = {
        .process = to->process,
        .stack = KYMO_STARTUP_STACK,
        .flags = KYMO_EVENT_STACK_COMPLETE,
        .end = KYMO_WALK_COMPLETE,
        .depth = 1,
        .frames = &frame,
    };
    const kymo_event_sample sample = {
        .time_ns = time_ns, .weight_ns = to->startup_ns, .stack = stack.stack, .state = 1};
    const kymo_event_samples samples = {thread, 1, &sample};
    to->startup_thread = thread;
    KYMO_TRY(to->events->stack(to->context, &stack));
    return to->events->samples(to->context, &samples);
}

static kymo_err on_thread_begin(void *context, const struct kymo_drain_thread *t)
{
    struct kymo_session_events *to = context;
    char name[16] = "";
    /* the drain numbers threads densely, from 0 */
    KYMO_TRY(kymo_vec_push(&to->tids, (pid_t)t->tid));
    KYMO_TRY(kymo_vec_push(&to->by_tick, 0u));
    KYMO_TRY(kymo_vec_push(&to->named, (uint8_t)0));
    KYMO_TRY(kymo_vec_push(&to->paused_ns, (uint64_t)0));
    KYMO_TRY(kymo_vec_push(&to->copied, (struct kymo_copied_count){0}));
    KYMO_TRY(kymo_vec_push(&to->threads, *to->next_thread));
    uint32_t thread = (*to->next_thread)++;
    if (t->flags & KYMO_SLOT_MAIN && to->main_name[0])
        memcpy(name, to->main_name, sizeof name - 1);
    else
        kymo_task_name(to->pid, (pid_t)t->tid, name);
    kymo_event_thread e = {thread, to->process, (int32_t)t->tid, t->start_ns, name};
    KYMO_TRY(to->events->thread(to->context, &e));
    /* Flags are the program's: a second thread may claim to be the main one. */
    if (t->flags & KYMO_SLOT_MAIN && to->startup_ns && to->startup_thread == KYMO_EVENT_NONE)
        KYMO_TRY(put_startup(to, thread, t->start_ns));
    KYMO_TRY(kymo_mark_events_thread(to, t));
    return to->wall
               ? kymo_wall_thread_begin(to->wall, t->thread, thread, (pid_t)t->tid, t->start_ns)
               : KYMO_OK;
}

void kymo_session_events_paused(struct kymo_session_events *to, uint32_t drained,
                                uint64_t paused_cpu_ns)
{
    if (drained >= to->paused_ns.len || paused_cpu_ns <= to->paused_ns.data[drained])
        return;
    to->unsampled_ns += paused_cpu_ns - to->paused_ns.data[drained];
    to->paused_ns.data[drained] = paused_cpu_ns;
}

/* What of a thread's CPU time at its end is in pauses: those that it has told of, and one that it
 * ended in, or behind which it was not seen. */
static uint64_t paused_of(const struct kymo_session_events *to, const struct kymo_drain_thread *t,
                          uint64_t cpu_ns)
{
    /* Each sample of unknown weight counts for one period. */
    uint64_t sampled_ns = t->last_cpu_ns + t->unknown * to->period_ns;
    uint64_t rest_ns = cpu_ns > sampled_ns ? cpu_ns - sampled_ns : 0;
    int ends_so = t->pauses != to->pauses || t->pauses & 1;
    return ends_so || t->paused_cpu_ns > rest_ns ? rest_ns : t->paused_cpu_ns;
}

static kymo_err on_thread_end(void *context, const struct kymo_drain_thread *drained)
{
    struct kymo_session_events *to = context;
    KYMO_TRY(kymo_stack_copies_close(to->copies, drained->thread));
    KYMO_TRY(kymo_session_events_flush(to));
    struct kymo_drain_thread with_copies = *drained;
    const struct kymo_drain_thread *t = &with_copies;
    with_copies.last_cpu_ns += to->copied.data[t->thread].cpu_ns;
    if (to->last_end_ns < t->end_ns)
        to->last_end_ns = t->end_ns;
    if (to->wall)
        KYMO_TRY(kymo_wall_thread_end(to->wall, t->thread, t->end_ns));
    uint32_t thread = kymo_session_events_thread(to, t->thread);
    kymo_kernel_stacks_forget(to->kernel_stacks, to->process, (pid_t)t->tid);
    if (t->name[0] && !to->named.data[t->thread]) {
        kymo_event_thread_name n = {thread, t->end_ns, t->name};
        KYMO_TRY(to->events->thread_name(to->context, &n));
    }
    uint64_t cpu_ns = t->end_cpu_ns;
    if (t->flags & KYMO_SLOT_MAIN) {
        /* a thread reports its clock before its last system call, so the later value is larger */
        if (cpu_ns < to->main_cpu_ns)
            cpu_ns = to->main_cpu_ns;
        cpu_ns -= cpu_ns < to->main_cpu_before ? cpu_ns : to->main_cpu_before;
    }
    /* What events count may be more than the clock says; a reader scales their weights. */
    if (cpu_ns > 0 && to->copied.data[t->thread].samples > 0 && with_copies.last_cpu_ns > cpu_ns)
        with_copies.last_cpu_ns = cpu_ns;
    if (cpu_ns < t->last_cpu_ns)
        cpu_ns = t->last_cpu_ns;
    if (t->flags & KYMO_SLOT_MAIN)
        to->main_sampled_ns = t->last_cpu_ns;
    uint64_t paused_ns = paused_of(to, t, cpu_ns);
    /* The clock of one that was killed is not known, and what it told is. */
    kymo_session_events_paused(to, t->thread,
                               cpu_ns > t->last_cpu_ns ? paused_ns : t->paused_cpu_ns);
    cpu_ns -= paused_ns;
    to->cpu_ns += paused_ns;
    /* CPU time of a filtered thread after its last look is unknown; it is in the process's clock
     * and counts as not sampled. An estimate by the number of samples was up to 4 ms too high. */
    /* Each sample of unknown weight counts for one period. */
    uint64_t sampled_ns = t->last_cpu_ns + t->unknown * to->period_ns;
    if (cpu_ns > sampled_ns && (to->deaf || (to->replaced && t->flags & KYMO_SLOT_MAIN))) {
        to->unsampled_ns += cpu_ns - sampled_ns;
        cpu_ns = sampled_ns;
    }
    const uint64_t tail_ns = cpu_ns - t->last_cpu_ns;
    if (thread == to->startup_thread)
        cpu_ns = kymo_sum(cpu_ns, to->startup_ns);
    to->taken += t->samples;
    to->handler_ns += t->handler_ns;
    to->disturbed += t->disturbed;
    to->cpu_ns += cpu_ns;
    kymo_event_thread_end e = {
        .thread = thread,
        .end_ns = t->end_ns,
        .cpu_ns = cpu_ns,
        .cpu_tail_ns = tail_ns,
        .by_tick = to->by_tick.data[t->thread],
    };
    return to->events->thread_end(to->context, &e);
}

static kymo_err want_table(struct kymo_session_events *to, const struct kymo_module_entry *entry,
                           const char *path)
{
    if (!to->tables)
        return KYMO_OK;
    uint32_t file = kymo_row_tables_file(to->tables, path, entry->build_id, entry->build_id_len);
    if (file == UINT32_MAX)
        return KYMO_OK;
    return kymo_vec_push(
        &to->wants, (struct kymo_row_want){file, entry->map_start, entry->map_end, entry->bias});
}

/* The file of a module, in `path`. If the loader's name is a path, that is it, without its links:
 * another library may have been mapped there since. Else the kernel's name of the mapping, which
 * is absolute; the loader's name if there is nothing better. */
static const char *module_path(struct kymo_session_events *to,
                               const struct kymo_module_entry *entry, uint64_t start,
                               char path[PATH_MAX])
{
    int is_cut = entry->path_len == KYMO_MODULE_PATH_MAX - 1;
    if (entry->path[0] == '/' && !is_cut)
        return realpath(entry->path, path) ? path : entry->path;
    if (!kymo_task_mapped_file(to->pid, start, path, PATH_MAX))
        path[0] = '\0';
    if (entry->path_len == 0 || is_cut)
        return path[0] ? path : entry->path_len == 0 ? to->executable : entry->path;
    const char *slash = strrchr(entry->path, '/');
    const char *mapped = strrchr(path, '/');
    int same_name = mapped && strcmp(mapped + 1, slash ? slash + 1 : entry->path) == 0;
    return same_name || strcmp(path, "[vdso]") == 0 ? path : entry->path;
}

static kymo_err on_module(void *context, uint32_t module, const struct kymo_module_entry *entry,
                          uint64_t seen_ns)
{
    struct kymo_session_events *to = context;
    char path[PATH_MAX];
    kymo_event_module e = {
        .module = module,
        .process = to->process,
        .start = entry->text_start,
        .end = entry->text_end,
        .load_bias = entry->bias,
        .file_offset = entry->text_offset,
        .load_ns = seen_ns,
        .path = entry->path,
        .build_id = entry->build_id,
        .build_id_len = entry->build_id_len,
        .is_main = entry->path_len == 0,
    };
    if (e.start >= e.end) {
        e.start = entry->map_start;
        e.end = entry->map_end;
        e.file_offset = 0;
    }
    e.path = module_path(to, entry, e.start, path);
    KYMO_TRY(to->events->module(to->context, &e));
    KYMO_TRY(kymo_jit_code_module(to->jit, &e));
    KYMO_TRY(want_table(to, entry, e.path));
    kymo_heap_events_module(&to->heap, to->unseen, e.path);
    if (to->session && kymo_python_late(to->session, to->pid, entry, e.path) && to->wall) {
        struct kymo_remote_python_sink python = kymo_session_events_python(to);
        KYMO_TRY(kymo_wall_set_python(to->wall, &python));
    }
    if (strcmp(e.path, "[vdso]") != 0)
        return KYMO_OK;
    /* The vDSO is not a file. It is the same in all processes of this kernel, so we store our
     * own. */
    uint32_t len;
    const void *image = kymo_task_vdso(&len);
    if (!image)
        return KYMO_OK;
    kymo_event_module_image bytes = {module, to->process, image, len};
    return to->events->module_image(to->context, &bytes);
}

static kymo_err on_module_unload(void *context, uint32_t module, uint64_t time_ns)
{
    struct kymo_session_events *to = context;
    kymo_event_module_unload e = {module, to->process, time_ns};
    return to->events->module_unload(to->context, &e);
}

static kymo_err on_code(void *context, const struct kymo_drain_code *code)
{
    struct kymo_session_events *to = context;
    return kymo_python_events_code(&to->python, to->process, code, to->events, to->context);
}

static kymo_err on_function(void *context, const struct kymo_drain_function *function)
{
    struct kymo_session_events *to = context;
    return kymo_trace_events_function(to->process, function, to->events, to->context);
}

static kymo_err on_calls(void *context, uint32_t thread, const struct kymo_call_bytes *calls)
{
    struct kymo_session_events *to = context;
    return kymo_trace_events_calls(kymo_session_events_thread(to, thread), calls, to->events,
                                   to->context);
}

static kymo_err on_thread_name(void *context, uint32_t thread, uint64_t time_ns, const char *name,
                               uint32_t len)
{
    struct kymo_session_events *to = context;
    char text[KYMO_THREAD_NAME_MAX + 1];
    memcpy(text, name, len);
    text[len] = '\0';
    kymo_event_thread_name e = {kymo_session_events_thread(to, thread), time_ns, text};
    to->named.data[thread] = 1;
    return to->events->thread_name(to->context, &e);
}

static kymo_err on_stack(void *context, uint32_t stack, uint32_t flags,
                         const struct kymo_drain_frame *frames, uint32_t n)
{
    struct kymo_session_events *to = context;
    if (n > to->frames_cap) {
        kymo_event_frame *grown = realloc(to->frames, n * sizeof *grown);
        if (!grown)
            return KYMO_E_NOMEM;
        to->frames = grown;
        to->frames_cap = n;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (frames[i].is_code) {
            to->frames[i] = kymo_python_events_frame(&to->python, &frames[i]);
            continue;
        }
        if (frames[i].module == KYMO_NO_MODULE)
            KYMO_TRY(kymo_jit_code_hit(to->jit, frames[i].address - (frames[i].is_return != 0)));
        to->frames[i] = (kymo_event_frame){
            frames[i].address,
            frames[i].module == KYMO_NO_MODULE ? KYMO_EVENT_NONE : frames[i].module,
            (frames[i].is_return ? KYMO_EVENT_FRAME_RETURN : 0) |
                (frames[i].is_interpreter ? KYMO_EVENT_FRAME_INTERPRETER : 0)};
    }
    uint32_t end = flags & KYMO_STACK_END_MASK;
    uint32_t notes = flags >> KYMO_STACK_NOTES_SHIFT;
    kymo_event_stack e = {
        .process = to->process,
        .stack = stack,
        .flags = (end == KYMO_WALK_COMPLETE ? KYMO_EVENT_STACK_COMPLETE : 0) |
                 (end == KYMO_WALK_DEPTH ? KYMO_EVENT_STACK_TRUNCATED : 0) |
                 (notes & KYMO_WALK_BY_FRAME_POINTER ? KYMO_EVENT_STACK_FRAME_POINTER : 0),
        .end = end,
        .depth = n,
        .frames = to->frames,
    };
    return to->events->stack(to->context, &e);
}

static kymo_err on_code_outside(void *context, const struct kymo_drain_code *code)
{
    struct kymo_session_events *to = context;
    return kymo_python_events_code(&to->python_outside, to->process, code, to->events, to->context);
}

static kymo_event_frame frame_outside(void *context, const struct kymo_drain_frame *frame)
{
    const struct kymo_session_events *to = context;
    return kymo_python_events_frame(&to->python_outside, frame);
}

struct kymo_remote_python_sink kymo_session_events_python(struct kymo_session_events *to)
{
    to->python_outside.first = KYMO_WALL_FIRST;
    return (struct kymo_remote_python_sink){on_code_outside, frame_outside, to};
}

struct kymo_drain_sink kymo_session_events_sink(struct kymo_session_events *to)
{
    return (struct kymo_drain_sink){
        .thread_begin = on_thread_begin,
        .thread_end = on_thread_end,
        .module = on_module,
        .module_unload = on_module_unload,
        .code = on_code,
        .function = on_function,
        .calls = on_calls,
        .thread_name = on_thread_name,
        .stack = on_stack,
        .sample = on_sample,
        .context = to,
        .answer = on_answer,
        .marks = &kymo_mark_events_sink,
        .heap = &kymo_heap_events_sink,
    };
}

void kymo_session_events_deinit(struct kymo_session_events *to)
{
    kymo_vec_deinit(&to->wants);
    kymo_vec_deinit(&to->threads);
    kymo_jit_code_destroy(to->jit);
    kymo_vec_deinit(&to->tids);
    kymo_vec_deinit(&to->by_tick);
    kymo_vec_deinit(&to->named);
    kymo_vec_deinit(&to->paused_ns);
    kymo_vec_deinit(&to->copied);
    kymo_stack_copies_destroy(to->copies);
    kymo_mark_events_deinit(&to->marks);
    kymo_python_events_deinit(&to->python);
    kymo_python_events_deinit(&to->python_outside);
    free(to->frames);
}
