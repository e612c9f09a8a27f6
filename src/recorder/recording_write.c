/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write.c - events become the payloads of blocks.
 *
 *   stack ──► pending stacks ──┐ (delta against the stack before)
 *   samples ► pending samples ─┤ (runs of one thread)
 *                              ├─► block_out ──► fd
 *   any other event ───────────┘
 *
 * Invariants:
 * - Pending stacks go out before pending samples, which refer to them. An event of another kind
 * goes straight to block_out, before what is pending: definitions may come early, and the format
 * lets ends come early, too.
 * - The stacks of a pending block belong to one process, and the first shares no frames, so that a
 *   block can be read without the one before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "recorder/block_out.h"
#include "recorder/recording.h"

#define PENDING_BYTES (64u << 10) /* a pending block is closed when it has so many */
#define IMAGE_COMPRESS_BYTES 4096u

struct kymo_recording_writer {
    kymo_block_out out;
    unsigned flags;
    int has_meta;
    int ended;
    size_t sample_bytes;  /* in the file: of 1.0, or with what wall samples need */
    kymo_bytes event;     /* scratch: the payload of the event being written */
    kymo_err event_error; /* while it was put together */
    kymo_bytes stacks;    /* pending payload of a STACKS block; its head is filled when it closes */
    uint32_t stack_count;
    uint32_t stack_process;
    KYMO_VEC(kymo_event_frame) last; /* frames of the last pending stack */
    kymo_bytes samples;              /* pending payload of a SAMPLES block */
    uint32_t group_count;
    size_t group_at; /* offset of the open group in `samples` */
};

static kymo_err close_stacks(kymo_recording_writer *w)
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
    kymo_err err = kymo_block_out_put(&w->out, KYMO_BLOCK_STACKS, &w->stacks,
                                      w->flags & KYMO_RECORDING_COMPRESS);
    kymo_bytes_clear(&w->stacks);
    w->stack_count = 0;
    w->last.len = 0;
    return err;
}

static kymo_err close_samples(kymo_recording_writer *w)
{
    KYMO_TRY(close_stacks(w));
    if (w->group_count == 0)
        return KYMO_OK;
    struct kymo_file_samples head = {
        .head_bytes = sizeof head,
        .sample_bytes = (uint16_t)w->sample_bytes,
        .groups = w->group_count,
    };
    memcpy(w->samples.data, &head, sizeof head);
    kymo_err err = kymo_block_out_put(&w->out, KYMO_BLOCK_SAMPLES, &w->samples,
                                      w->flags & KYMO_RECORDING_COMPRESS);
    kymo_bytes_clear(&w->samples);
    w->group_count = 0;
    return err;
}

kymo_err kymo_recording_writer_create(int fd, unsigned flags, kymo_recording_writer **out)
{
    kymo_recording_writer *w = calloc(1, sizeof *w);
    if (w == NULL)
        return KYMO_E_NOMEM;
    w->flags = flags;
    kymo_bytes_init(&w->event, KYMO_BLOCK_LENGTH_MAX);
    kymo_bytes_init(&w->stacks, KYMO_BLOCK_LENGTH_MAX);
    kymo_bytes_init(&w->samples, KYMO_BLOCK_LENGTH_MAX);
    kymo_err err = kymo_block_out_init(&w->out, fd);
    if (err != KYMO_OK) {
        kymo_recording_writer_destroy(w);
        return err;
    }
    *out = w;
    return KYMO_OK;
}

void kymo_recording_writer_destroy(kymo_recording_writer *w)
{
    if (w == NULL)
        return;
    kymo_block_out_deinit(&w->out);
    kymo_bytes_deinit(&w->event);
    kymo_bytes_deinit(&w->stacks);
    kymo_bytes_deinit(&w->samples);
    kymo_vec_deinit(&w->last);
    free(w);
}

kymo_err kymo_recording_flush(kymo_recording_writer *w)
{
    if (w->out.error.code != KYMO_OK)
        return w->out.error.code;
    kymo_err err = close_samples(w);
    if (err == KYMO_OK)
        err = kymo_block_out_flush(&w->out);
    return err == KYMO_OK ? KYMO_OK : kymo_block_out_fail(&w->out, err);
}

kymo_err kymo_recording_error(const kymo_recording_writer *w, kymo_error *detail)
{
    if (w->out.error.code != KYMO_OK && detail != NULL)
        *detail = w->out.error;
    return w->out.error.code;
}

uint64_t kymo_recording_bytes(const kymo_recording_writer *w)
{
    return w->out.written;
}

/* ---- single events --------------------------------------------------------------------------- */

/*
 * begin, put_..., finish: the event is put together in w->event, an error on the way is kept in
 * w->event_error and looked at once, in finish.
 */

static void put_bytes(kymo_recording_writer *w, const void *data, size_t len)
{
    if (w->event_error == KYMO_OK)
        w->event_error = kymo_bytes_append(&w->event, data, len);
}

static void put_text(kymo_recording_writer *w, const char *text)
{
    if (text == NULL)
        text = "";
    put_bytes(w, text, strlen(text) + 1);
}

/* How many of argc arguments the file holds. */
static uint32_t stored_args(uint32_t argc)
{
    return argc < KYMO_FILE_ARGS_MAX ? argc : KYMO_FILE_ARGS_MAX;
}

/* A command of more arguments than the format allows says so in its last one. */
static void put_args(kymo_recording_writer *w, uint32_t argc, const char *const *argv)
{
    uint32_t stored = stored_args(argc);
    for (uint32_t i = 0; i < stored; i++) {
        if (i + 1 < stored || stored == argc) {
            put_text(w, argv[i]);
        } else {
            char more[48];
            snprintf(more, sizeof more, "... (%u more)", argc - i);
            put_text(w, more);
        }
    }
}

/* fixed begins with its fixed_bytes. */
static void begin(kymo_recording_writer *w, const void *fixed)
{
    uint32_t fixed_bytes;
    memcpy(&fixed_bytes, fixed, sizeof fixed_bytes);
    kymo_bytes_clear(&w->event);
    w->event_error = KYMO_OK;
    put_bytes(w, fixed, fixed_bytes);
}

/* What every event is asked first. */
static kymo_err may_write(const kymo_recording_writer *w)
{
    if (w->out.error.code != KYMO_OK)
        return w->out.error.code;
    return w->has_meta && !w->ended ? KYMO_OK : KYMO_E_INVALID;
}

static kymo_err finish(kymo_recording_writer *w, enum kymo_block_type type, int compress)
{
    kymo_err err = w->event_error;
    if (err == KYMO_OK)
        err = kymo_block_out_put(&w->out, type, &w->event, compress);
    if (err == KYMO_E_TOO_BIG)
        return KYMO_E_INVALID; /* an event that fits into no block */
    return err == KYMO_OK ? KYMO_OK : kymo_block_out_fail(&w->out, err);
}

kymo_err kymo_recording_write_meta(kymo_recording_writer *w, const kymo_event_meta *e)
{
    if (w->out.error.code != KYMO_OK)
        return w->out.error.code;
    if (w->has_meta)
        return KYMO_E_INVALID;
    struct kymo_file_meta fixed = {
        .fixed_bytes = sizeof fixed,
        .argc = stored_args(e->argc),
        .start_ns = e->start_ns,
        .start_realtime_ns = e->start_realtime_ns,
        .period_ns = e->period_ns,
        .memory_bytes = e->memory_bytes,
        .logical_cpus = e->logical_cpus,
        .physical_cpus = e->physical_cpus,
        .hz = e->hz,
        .wall_period_ns = e->wall_period_ns,
    };
    w->sample_bytes = e->wall_period_ns ? sizeof(struct kymo_file_sample) : KYMO_FILE_SAMPLE_BYTES;
    begin(w, &fixed);
    put_text(w, e->host);
    put_text(w, e->os);
    put_text(w, e->kernel);
    put_text(w, e->arch);
    put_text(w, e->cpu_name);
    put_text(w, e->version);
    put_text(w, e->engine);
    put_text(w, e->engine_reason);
    put_text(w, e->options);
    put_args(w, e->argc, e->argv);
    KYMO_TRY(finish(w, KYMO_BLOCK_META, 0));
    w->has_meta = 1;
    return KYMO_OK;
}

kymo_err kymo_recording_write_process(kymo_recording_writer *w, const kymo_event_process *e)
{
    KYMO_TRY(may_write(w));
    struct kymo_file_process fixed = {
        .fixed_bytes = sizeof fixed,
        .process = e->process,
        .pid = e->pid,
        .parent_pid = e->parent_pid,
        .is_main = e->is_main,
        .argc = stored_args(e->argc),
        .start_ns = e->start_ns,
    };
    begin(w, &fixed);
    put_text(w, e->name);
    put_text(w, e->exe);
    put_args(w, e->argc, e->argv);
    return finish(w, KYMO_BLOCK_PROCESS, 0);
}

kymo_err kymo_recording_write_process_end(kymo_recording_writer *w, const kymo_event_process_end *e)
{
    KYMO_TRY(may_write(w));
    struct kymo_file_process_end fixed = {
        .fixed_bytes = sizeof fixed,
        .process = e->process,
        .wait_status = e->wait_status,
        .end_ns = e->end_ns,
        .user_ns = e->user_ns,
        .system_ns = e->system_ns,
    };
    begin(w, &fixed);
    return finish(w, KYMO_BLOCK_PROCESS_END, 0);
}

kymo_err kymo_recording_write_thread(kymo_recording_writer *w, const kymo_event_thread *e)
{
    KYMO_TRY(may_write(w));
    struct kymo_file_thread fixed = {
        .fixed_bytes = sizeof fixed,
        .thread = e->thread,
        .process = e->process,
        .tid = e->tid,
        .start_ns = e->start_ns,
    };
    begin(w, &fixed);
    put_text(w, e->name);
    return finish(w, KYMO_BLOCK_THREAD, 0);
}

kymo_err kymo_recording_write_thread_name(kymo_recording_writer *w, const kymo_event_thread_name *e)
{
    KYMO_TRY(may_write(w));
    struct kymo_file_thread_name fixed = {
        .fixed_bytes = sizeof fixed,
        .thread = e->thread,
        .time_ns = e->time_ns,
    };
    begin(w, &fixed);
    put_text(w, e->name);
    return finish(w, KYMO_BLOCK_THREAD_NAME, 0);
}

kymo_err kymo_recording_write_thread_end(kymo_recording_writer *w, const kymo_event_thread_end *e)
{
    KYMO_TRY(may_write(w));
    struct kymo_file_thread_end fixed = {
        .fixed_bytes = sizeof fixed,
        .thread = e->thread,
        .end_ns = e->end_ns,
        .cpu_ns = e->cpu_ns,
        .cpu_tail_ns = e->cpu_tail_ns,
        .by_tick = e->by_tick,
    };
    begin(w, &fixed);
    return finish(w, KYMO_BLOCK_THREAD_END, 0);
}

kymo_err kymo_recording_write_module(kymo_recording_writer *w, const kymo_event_module *e)
{
    KYMO_TRY(may_write(w));
    if (e->build_id_len > KYMO_FILE_BUILD_ID_MAX || e->start >= e->end)
        return KYMO_E_INVALID;
    struct kymo_file_module fixed = {
        .fixed_bytes = sizeof fixed,
        .module = e->module,
        .process = e->process,
        .is_main = e->is_main,
        .start = e->start,
        .end = e->end,
        .load_bias = e->load_bias,
        .file_offset = e->file_offset,
        .load_ns = e->load_ns,
        .build_id_len = e->build_id_len,
    };
    begin(w, &fixed);
    put_text(w, e->path);
    put_bytes(w, e->build_id, e->build_id_len);
    return finish(w, KYMO_BLOCK_MODULE, 0);
}

kymo_err kymo_recording_write_module_unload(kymo_recording_writer *w,
                                            const kymo_event_module_unload *e)
{
    KYMO_TRY(may_write(w));
    struct kymo_file_module_unload fixed = {
        .fixed_bytes = sizeof fixed,
        .module = e->module,
        .process = e->process,
        .time_ns = e->time_ns,
    };
    begin(w, &fixed);
    return finish(w, KYMO_BLOCK_MODULE_UNLOAD, 0);
}

kymo_err kymo_recording_write_module_image(kymo_recording_writer *w,
                                           const kymo_event_module_image *e)
{
    KYMO_TRY(may_write(w));
    if (e->len > KYMO_EVENT_IMAGE_MAX)
        return KYMO_E_INVALID;
    struct kymo_file_module_image fixed = {
        .fixed_bytes = sizeof fixed,
        .module = e->module,
        .process = e->process,
        .len = e->len,
    };
    begin(w, &fixed);
    put_bytes(w, e->bytes, e->len);
    return finish(w, KYMO_BLOCK_MODULE_IMAGE, e->len >= IMAGE_COMPRESS_BYTES);
}

kymo_err kymo_recording_write_wait(kymo_recording_writer *w, const kymo_event_wait *e)
{
    KYMO_TRY(may_write(w));
    if (e->wait == 0)
        return KYMO_E_INVALID;
    struct kymo_file_wait fixed = {.fixed_bytes = sizeof fixed, .wait = e->wait};
    begin(w, &fixed);
    put_text(w, e->name);
    return finish(w, KYMO_BLOCK_WAIT, 0);
}

kymo_err kymo_recording_write_code(kymo_recording_writer *w, const kymo_event_code *e)
{
    KYMO_TRY(may_write(w));
    if (e->size_bytes == 0 || e->start > UINT64_MAX - e->size_bytes ||
        e->line_count > KYMO_EVENT_CODE_LINES_MAX || e->file_count > KYMO_EVENT_CODE_FILES_MAX)
        return KYMO_E_INVALID;
    struct kymo_file_code fixed = {
        .fixed_bytes = sizeof fixed,
        .process = e->process,
        .start = e->start,
        .size_bytes = e->size_bytes,
        .from_ns = e->from_ns,
        .to_ns = e->to_ns,
        .file_count = e->file_count,
        .line_count = e->line_count,
        .line_bytes = sizeof(struct kymo_file_code_line),
    };
    static_assert(sizeof *e->lines == sizeof(struct kymo_file_code_line), "layout");
    begin(w, &fixed);
    put_text(w, e->name);
    for (uint32_t i = 0; i < e->file_count; i++)
        put_text(w, e->files[i]);
    put_bytes(w, e->lines, e->line_count * sizeof *e->lines);
    return finish(w, KYMO_BLOCK_CODE, 0);
}

kymo_err kymo_recording_write_loss(kymo_recording_writer *w, const kymo_event_loss *e)
{
    KYMO_TRY(may_write(w));
    struct kymo_file_loss fixed = {
        .fixed_bytes = sizeof fixed,
        .process = e->process,
        .kind = e->kind,
        .count = e->count,
    };
    begin(w, &fixed);
    put_text(w, e->name);
    return finish(w, KYMO_BLOCK_LOSS, 0);
}

kymo_err kymo_recording_write_quality(kymo_recording_writer *w, const kymo_event_quality *e)
{
    KYMO_TRY(may_write(w));
    struct kymo_file_quality fixed = {
        .fixed_bytes = sizeof fixed,
        .process = e->process,
        .samples = e->samples,
        .handler_ns = e->handler_ns,
        .disturbed = e->disturbed,
        .cpu_unsampled_ns = e->cpu_unsampled_ns,
    };
    begin(w, &fixed);
    return finish(w, KYMO_BLOCK_QUALITY, 0);
}

kymo_err kymo_recording_write_note(kymo_recording_writer *w, const kymo_event_note *e)
{
    KYMO_TRY(may_write(w));
    struct kymo_file_note fixed = {
        .fixed_bytes = sizeof fixed,
        .process = e->process,
        .time_ns = e->time_ns,
        .severity = e->severity,
    };
    begin(w, &fixed);
    put_text(w, e->text);
    return finish(w, KYMO_BLOCK_NOTE, 0);
}

kymo_err kymo_recording_write_end(kymo_recording_writer *w, const kymo_event_end *e)
{
    KYMO_TRY(may_write(w));
    kymo_err err = close_samples(w);
    if (err != KYMO_OK)
        return kymo_block_out_fail(&w->out, err);
    struct kymo_file_end fixed = {
        .fixed_bytes = sizeof fixed,
        .clean = e->clean,
        .end_ns = e->end_ns,
    };
    begin(w, &fixed);
    KYMO_TRY(finish(w, KYMO_BLOCK_END, 0));
    w->ended = 1;
    return kymo_recording_flush(w);
}

/* ---- stacks and samples ---------------------------------------------------------------------- */

/* How many of the outermost frames are those of the last pending stack. */
static uint32_t count_shared(const kymo_recording_writer *w, const kymo_event_stack *e)
{
    uint32_t most = e->depth < w->last.len ? e->depth : (uint32_t)w->last.len;
    if (most == 0)
        return 0; /* and there may be no arrays to point into */
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
    /* An event's frame and a file's frame are the same 16 bytes. */
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
    /* The shared frames are moved within the array, since it is innermost first. */
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
    KYMO_TRY(may_write(w));
    if (e->depth > KYMO_EVENT_DEPTH_MAX || e->end >= KYMO_FILE_END_REASONS || e->flags > UINT16_MAX)
        return KYMO_E_INVALID;
    kymo_err err = KYMO_OK;
    if (w->stack_count > 0 && w->stack_process != e->process)
        err = close_stacks(w);
    w->stack_process = e->process;
    if (err == KYMO_OK)
        err = append_stack(w, e);
    if (err == KYMO_OK && w->stacks.len >= PENDING_BYTES)
        err = close_stacks(w);
    return err == KYMO_OK ? KYMO_OK : kymo_block_out_fail(&w->out, err);
}

kymo_err kymo_recording_write_kernel_symbol(kymo_recording_writer *w,
                                            const kymo_event_kernel_symbol *e)
{
    KYMO_TRY(may_write(w));
    struct kymo_file_kernel_symbol fixed = {
        .fixed_bytes = sizeof fixed,
        .symbol = e->symbol,
        .address = e->address,
    };
    begin(w, &fixed);
    put_text(w, e->name);
    put_text(w, e->module);
    return finish(w, KYMO_BLOCK_KERNEL_SYMBOL, 0);
}

kymo_err kymo_recording_write_kernel_stack(kymo_recording_writer *w,
                                           const kymo_event_kernel_stack *e)
{
    KYMO_TRY(may_write(w));
    if (e->depth == 0 || e->depth > KYMO_EVENT_KERNEL_DEPTH_MAX)
        return KYMO_E_INVALID;
    /* The stack that it refers to may be a pending one. */
    kymo_err err = close_stacks(w);
    if (err != KYMO_OK)
        return kymo_block_out_fail(&w->out, err);
    struct kymo_file_kernel_stack fixed = {
        .fixed_bytes = sizeof fixed,
        .process = e->process,
        .stack = e->stack,
        .caller = e->caller,
        .depth = e->depth,
        .frame_bytes = sizeof(struct kymo_file_kernel_frame),
    };
    static_assert(sizeof *e->frames == sizeof(struct kymo_file_kernel_frame), "layout");
    begin(w, &fixed);
    put_bytes(w, e->frames, e->depth * sizeof *e->frames);
    return finish(w, KYMO_BLOCK_KERNEL_STACK, 0);
}

/* Up to `count` samples into the pending block, continuing the open group of the same thread. */
static kymo_err append_samples(kymo_recording_writer *w, uint32_t thread,
                               const kymo_event_sample *samples, uint32_t count)
{
    static const struct kymo_file_samples no_head;
    static_assert(sizeof *samples == sizeof(struct kymo_file_sample), "layout");
    static_assert(offsetof(kymo_event_sample, kind) == offsetof(struct kymo_file_sample, kind),
                  "layout");
    struct kymo_file_group group = {.thread = thread};
    if (w->group_count == 0) {
        kymo_bytes_clear(&w->samples);
        KYMO_TRY(kymo_bytes_append(&w->samples, &no_head, sizeof no_head));
    } else {
        memcpy(&group, w->samples.data + w->group_at, sizeof group);
    }
    if (w->group_count == 0 || group.thread != thread) {
        group = (struct kymo_file_group){.thread = thread};
        w->group_at = w->samples.len;
        KYMO_TRY(kymo_bytes_append(&w->samples, &group, sizeof group));
        w->group_count++;
    }
    for (uint32_t i = 0; i < count; i++)
        KYMO_TRY(kymo_bytes_append(&w->samples, &samples[i], w->sample_bytes));
    group.count += count;
    memcpy(w->samples.data + w->group_at, &group, sizeof group);
    return KYMO_OK;
}

kymo_err kymo_recording_write_samples(kymo_recording_writer *w, const kymo_event_samples *e)
{
    KYMO_TRY(may_write(w));
    const uint32_t step = PENDING_BYTES / sizeof *e->samples;
    for (uint32_t done = 0; done < e->count;) {
        uint32_t n = e->count - done < step ? e->count - done : step;
        kymo_err err = append_samples(w, e->thread, e->samples + done, n);
        if (err == KYMO_OK && w->samples.len >= PENDING_BYTES)
            err = close_samples(w);
        if (err != KYMO_OK)
            return kymo_block_out_fail(&w->out, err);
        done += n;
    }
    return KYMO_OK;
}

/* ---- the writer as a handler ----------------------------------------------------------------- */

#define AS_HANDLER(name)                                                         \
    static kymo_err on_##name(void *ctx, const kymo_event_##name *event)         \
    {                                                                            \
        return kymo_recording_write_##name((kymo_recording_writer *)ctx, event); \
    }
AS_HANDLER(meta)
AS_HANDLER(process)
AS_HANDLER(process_end)
AS_HANDLER(thread)
AS_HANDLER(thread_name)
AS_HANDLER(thread_end)
AS_HANDLER(module)
AS_HANDLER(module_unload)
AS_HANDLER(module_image)
AS_HANDLER(stack)
AS_HANDLER(wait)
AS_HANDLER(samples)
AS_HANDLER(code)
AS_HANDLER(kernel_symbol)
AS_HANDLER(kernel_stack)
AS_HANDLER(loss)
AS_HANDLER(quality)
AS_HANDLER(note)
AS_HANDLER(end)

const kymo_event_handler kymo_recording_write_handler = {
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
