/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode.c - payloads become events, and nothing that they say is believed.
 *
 * - A count is compared with the bytes that are there before anything is allocated or looped for
 * it.
 * - Ids are translated into dense numbers; what refers to an unknown one is dropped and counted, so
 *   that the handler may index with every id that it gets.
 * - Work is linear in the payload. Stacks, which repeat the frames of the one before, are the only
 *   place where a few bytes stand for many: those frames are not touched again, and `shared` lets
 *   the handler do likewise.
 */
#include "recorder/recording_decode.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "recorder/recording_format.h"

#define BATCH 1024u

kymo_err kymo_decoder_init(kymo_decoder *d, const kymo_event_handler *handler, void *ctx)
{
    memset(d, 0, sizeof *d);
    d->handler = handler;
    d->ctx = ctx;
    d->batch = malloc(BATCH * sizeof *d->batch);
    d->frames = malloc(KYMO_EVENT_DEPTH_MAX * sizeof *d->frames);
    if (d->batch == NULL || d->frames == NULL) {
        kymo_decoder_deinit(d);
        return KYMO_E_NOMEM;
    }
    return KYMO_OK;
}

void kymo_decoder_deinit(kymo_decoder *d)
{
    kymo_id_map_deinit(&d->processes);
    kymo_id_map_deinit(&d->threads);
    kymo_id_map_deinit(&d->modules);
    kymo_id_map_deinit(&d->stacks);
    kymo_id_map_deinit(&d->waits);
    kymo_vec_deinit(&d->thread_process);
    kymo_vec_deinit(&d->args);
    kymo_vec_deinit(&d->code_lines);
    kymo_id_map_deinit(&d->kernel_symbols);
    kymo_vec_deinit(&d->kernel_frames);
    free(d->batch);
    free(d->frames);
    memset(d, 0, sizeof *d);
}

/* ---- what every event needs ------------------------------------------------------------------ */

/* Calls the handler, if it wants this kind of event. */
#define DELIVER(d, name, event) \
    ((d)->events++, (d)->handler->name == NULL ? KYMO_OK : (d)->handler->name((d)->ctx, (event)))

static kymo_err drop(uint64_t *counter)
{
    (*counter)++;
    return KYMO_OK;
}

static kymo_err malformed(kymo_decoder *d)
{
    d->malformed = 1;
    return KYMO_OK;
}

static int time_is_sane(uint64_t time_ns)
{
    return time_ns <= KYMO_FILE_TIME_MAX;
}

/* Reads a fixed part whose first field is its size; a longer one is of a later minor version. One
 * of an earlier version may be as short as least, and the rest is zeros. */
static int read_grown(kymo_reader *r, void *fixed, size_t size, size_t least)
{
    kymo_reader ahead = *r;
    uint32_t stated = kymo_read_u32(&ahead);
    const void *bytes = kymo_read_bytes(r, stated);
    if (bytes == NULL || stated < least) {
        r->failed = 1;
        return 0;
    }
    memset(fixed, 0, size);
    memcpy(fixed, bytes, stated < size ? stated : size);
    return 1;
}

static int read_fixed(kymo_reader *r, void *fixed, size_t size)
{
    return read_grown(r, fixed, size, size);
}

/* Never NULL, so that several texts can be read before r->failed is looked at. */
static const char *read_text(kymo_reader *r)
{
    const unsigned char *text = r->data + r->pos;
    const unsigned char *end = r->failed ? NULL : memchr(text, 0, r->len - r->pos);
    if (end == NULL) {
        r->failed = 1;
        return "";
    }
    r->pos += (size_t)(end - text) + 1;
    return (const char *)text;
}

/* argc texts into d->args. */
static kymo_err read_args(kymo_decoder *d, kymo_reader *r, uint32_t argc)
{
    if (argc > KYMO_FILE_ARGS_MAX || argc > kymo_reader_left(r))
        r->failed = 1;
    if (r->failed)
        return KYMO_OK;
    d->args.len = 0;
    KYMO_TRY(kymo_vec_reserve(&d->args, argc));
    for (uint32_t i = 0; i < argc; i++)
        d->args.data[d->args.len++] = read_text(r);
    return KYMO_OK;
}

/* ---- one event in a block -------------------------------------------------------------------- */

static kymo_err decode_meta(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_meta f;
    if (!read_grown(r, &f, sizeof f, KYMO_FILE_META_BYTES))
        return malformed(d);
    kymo_event_meta e = {
        .start_ns = f.start_ns,
        .start_realtime_ns = f.start_realtime_ns,
        .period_ns = f.period_ns,
        .memory_bytes = f.memory_bytes,
        .logical_cpus = f.logical_cpus,
        .physical_cpus = f.physical_cpus,
        .hz = f.hz,
        .wall_period_ns = f.wall_period_ns,
        .argc = f.argc,
    };
    e.host = read_text(r);
    e.os = read_text(r);
    e.kernel = read_text(r);
    e.arch = read_text(r);
    e.cpu_name = read_text(r);
    e.version = read_text(r);
    e.engine = read_text(r);
    e.engine_reason = read_text(r);
    e.options = read_text(r);
    KYMO_TRY(read_args(d, r, f.argc));
    e.argv = d->args.data;
    if (r->failed)
        return malformed(d);
    if (d->has_meta)
        return drop(&d->damage.duplicates);
    if (!time_is_sane(f.start_ns) || !time_is_sane(f.start_realtime_ns) ||
        !time_is_sane(f.period_ns))
        return malformed(d);
    d->has_meta = 1;
    return DELIVER(d, meta, &e);
}

static kymo_err decode_process(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_process f;
    if (!read_fixed(r, &f, sizeof f))
        return malformed(d);
    kymo_event_process e = {
        .pid = f.pid,
        .parent_pid = f.parent_pid,
        .is_main = f.is_main,
        .start_ns = f.start_ns,
        .argc = f.argc,
    };
    e.name = read_text(r);
    e.exe = read_text(r);
    KYMO_TRY(read_args(d, r, f.argc));
    e.argv = d->args.data;
    if (r->failed)
        return malformed(d);
    if (kymo_id_map_find(&d->processes, 0, f.process, &e.process))
        return drop(&d->damage.duplicates);
    if (f.pid <= 0 || f.parent_pid < 0 || !time_is_sane(f.start_ns))
        return drop(&d->damage.values);
    KYMO_TRY(kymo_id_map_add(&d->processes, 0, f.process, &e.process));
    return DELIVER(d, process, &e);
}

static kymo_err decode_process_end(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_process_end f;
    if (!read_fixed(r, &f, sizeof f))
        return malformed(d);
    kymo_event_process_end e = {
        .wait_status = f.wait_status,
        .end_ns = f.end_ns,
        .user_ns = f.user_ns,
        .system_ns = f.system_ns,
    };
    if (!kymo_id_map_find(&d->processes, 0, f.process, &e.process))
        return drop(&d->damage.references);
    if (!time_is_sane(f.end_ns) || !time_is_sane(f.user_ns) || !time_is_sane(f.system_ns))
        return drop(&d->damage.values);
    return DELIVER(d, process_end, &e);
}

static kymo_err decode_thread(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_thread f;
    if (!read_fixed(r, &f, sizeof f))
        return malformed(d);
    kymo_event_thread e = {.tid = f.tid, .start_ns = f.start_ns};
    e.name = read_text(r);
    if (r->failed)
        return malformed(d);
    if (kymo_id_map_find(&d->threads, 0, f.thread, &e.thread))
        return drop(&d->damage.duplicates);
    if (!kymo_id_map_find(&d->processes, 0, f.process, &e.process))
        return drop(&d->damage.references);
    if (f.tid <= 0 || !time_is_sane(f.start_ns))
        return drop(&d->damage.values);
    KYMO_TRY(kymo_vec_reserve(&d->thread_process, 1));
    KYMO_TRY(kymo_id_map_add(&d->threads, 0, f.thread, &e.thread));
    d->thread_process.data[d->thread_process.len++] = e.process;
    return DELIVER(d, thread, &e);
}

static kymo_err decode_thread_name(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_thread_name f;
    if (!read_fixed(r, &f, sizeof f))
        return malformed(d);
    kymo_event_thread_name e = {.time_ns = f.time_ns};
    e.name = read_text(r);
    if (r->failed)
        return malformed(d);
    if (!kymo_id_map_find(&d->threads, 0, f.thread, &e.thread))
        return drop(&d->damage.references);
    if (!time_is_sane(f.time_ns))
        return drop(&d->damage.values);
    return DELIVER(d, thread_name, &e);
}

static kymo_err decode_thread_end(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_thread_end f;
    if (!read_grown(r, &f, sizeof f, KYMO_FILE_THREAD_END_BYTES))
        return malformed(d);
    kymo_event_thread_end e = {
        .end_ns = f.end_ns,
        .cpu_ns = f.cpu_ns,
        .cpu_tail_ns = f.cpu_tail_ns,
        .by_tick = f.by_tick,
    };
    if (!kymo_id_map_find(&d->threads, 0, f.thread, &e.thread))
        return drop(&d->damage.references);
    if (!time_is_sane(f.end_ns) || f.cpu_ns > KYMO_FILE_WEIGHT_MAX ||
        f.cpu_tail_ns > KYMO_FILE_WEIGHT_MAX)
        return drop(&d->damage.values);
    return DELIVER(d, thread_end, &e);
}

static kymo_err decode_module(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_module f;
    if (!read_fixed(r, &f, sizeof f))
        return malformed(d);
    kymo_event_module e = {
        .start = f.start,
        .end = f.end,
        .load_bias = f.load_bias,
        .file_offset = f.file_offset,
        .load_ns = f.load_ns,
        .build_id_len = f.build_id_len,
        .is_main = f.is_main,
    };
    if (f.build_id_len > KYMO_FILE_BUILD_ID_MAX)
        return malformed(d);
    e.path = read_text(r);
    e.build_id = kymo_read_bytes(r, f.build_id_len);
    if (r->failed)
        return malformed(d);
    if (!kymo_id_map_find(&d->processes, 0, f.process, &e.process))
        return drop(&d->damage.references);
    if (kymo_id_map_find(&d->modules, e.process, f.module, &e.module))
        return drop(&d->damage.duplicates);
    if (f.start >= f.end || f.module == KYMO_EVENT_NONE || !time_is_sane(f.load_ns))
        return drop(&d->damage.values);
    KYMO_TRY(kymo_id_map_add(&d->modules, e.process, f.module, &e.module));
    return DELIVER(d, module, &e);
}

static kymo_err decode_module_unload(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_module_unload f;
    if (!read_fixed(r, &f, sizeof f))
        return malformed(d);
    kymo_event_module_unload e = {.time_ns = f.time_ns};
    if (!kymo_id_map_find(&d->processes, 0, f.process, &e.process) ||
        !kymo_id_map_find(&d->modules, e.process, f.module, &e.module))
        return drop(&d->damage.references);
    if (!time_is_sane(f.time_ns))
        return drop(&d->damage.values);
    return DELIVER(d, module_unload, &e);
}

static kymo_err decode_module_image(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_module_image f;
    if (!read_fixed(r, &f, sizeof f))
        return malformed(d);
    kymo_event_module_image e = {.len = f.len};
    e.bytes = kymo_read_bytes(r, f.len);
    if (r->failed || f.len > KYMO_EVENT_IMAGE_MAX)
        return malformed(d);
    if (!kymo_id_map_find(&d->processes, 0, f.process, &e.process) ||
        !kymo_id_map_find(&d->modules, e.process, f.module, &e.module))
        return drop(&d->damage.references);
    return DELIVER(d, module_image, &e);
}

/* Files and lines of a piece of code, into e. What cannot be looked up in it is left out. */
static kymo_err read_code_lines(kymo_decoder *d, kymo_reader *r, const struct kymo_file_code *f,
                                kymo_event_code *e)
{
    KYMO_TRY(read_args(d, r, f->file_count));
    const unsigned char *bytes = kymo_read_bytes(r, (size_t)f->line_count * f->line_bytes);
    if (bytes == NULL)
        return KYMO_OK;
    d->code_lines.len = 0;
    KYMO_TRY(kymo_vec_reserve(&d->code_lines, f->line_count));
    for (uint32_t i = 0; i < f->line_count; i++, bytes += f->line_bytes) {
        struct kymo_file_code_line line;
        memcpy(&line, bytes, sizeof line);
        if (line.file < f->file_count)
            d->code_lines.data[d->code_lines.len++] =
                (kymo_event_code_line){line.offset, line.line, line.column, line.file};
    }
    e->file_count = f->file_count;
    e->files = d->args.data;
    e->line_count = (uint32_t)d->code_lines.len;
    e->lines = d->code_lines.data;
    return KYMO_OK;
}

static kymo_err decode_code(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_code f;
    if (!read_fixed(r, &f, sizeof f))
        return malformed(d);
    kymo_event_code e = {
        .start = f.start,
        .size_bytes = f.size_bytes,
        .from_ns = f.from_ns,
        .to_ns = f.to_ns,
    };
    if (f.line_count > KYMO_EVENT_CODE_LINES_MAX || f.file_count > KYMO_EVENT_CODE_FILES_MAX ||
        f.line_bytes < sizeof(struct kymo_file_code_line))
        return malformed(d);
    e.name = read_text(r);
    KYMO_TRY(read_code_lines(d, r, &f, &e));
    if (r->failed)
        return malformed(d);
    if (!kymo_id_map_find(&d->processes, 0, f.process, &e.process))
        return drop(&d->damage.references);
    if (f.size_bytes == 0 || f.start > UINT64_MAX - f.size_bytes || !time_is_sane(f.from_ns) ||
        !time_is_sane(f.to_ns))
        return drop(&d->damage.values);
    return DELIVER(d, code, &e);
}

static kymo_err decode_loss(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_loss f;
    if (!read_fixed(r, &f, sizeof f))
        return malformed(d);
    kymo_event_loss e = {.kind = f.kind, .count = f.count};
    e.name = read_text(r);
    if (r->failed)
        return malformed(d);
    if (!kymo_id_map_find(&d->processes, 0, f.process, &e.process))
        return drop(&d->damage.references);
    return DELIVER(d, loss, &e);
}

static kymo_err decode_quality(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_quality f;
    if (!read_fixed(r, &f, sizeof f))
        return malformed(d);
    kymo_event_quality e = {
        .samples = f.samples,
        .handler_ns = f.handler_ns,
        .disturbed = f.disturbed,
        .cpu_unsampled_ns = f.cpu_unsampled_ns,
    };
    if (!kymo_id_map_find(&d->processes, 0, f.process, &e.process))
        return drop(&d->damage.references);
    return DELIVER(d, quality, &e);
}

static kymo_err decode_note(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_note f;
    if (!read_fixed(r, &f, sizeof f))
        return malformed(d);
    kymo_event_note e = {
        .time_ns = f.time_ns,
        .process = KYMO_EVENT_NONE,
        .severity = f.severity,
    };
    e.text = read_text(r);
    if (r->failed)
        return malformed(d);
    if (f.process != KYMO_EVENT_NONE && !kymo_id_map_find(&d->processes, 0, f.process, &e.process))
        return drop(&d->damage.references);
    if (f.severity > KYMO_NOTE_ERROR || !time_is_sane(f.time_ns))
        return drop(&d->damage.values);
    return DELIVER(d, note, &e);
}

static kymo_err decode_end(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_end f;
    if (!read_fixed(r, &f, sizeof f))
        return malformed(d);
    kymo_event_end e = {.end_ns = f.end_ns, .clean = f.clean};
    if (!time_is_sane(f.end_ns))
        return malformed(d);
    d->ended = 1;
    return DELIVER(d, end, &e);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

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
        if (f.module != KYMO_EVENT_NONE &&
            !kymo_id_map_find(&d->modules, process, f.module, &module) && bad_from > depth - 1 - i)
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
        return drop(&d->damage.references);
    kymo_event_stack e = {
        .process = process,
        .flags = f->flags,
        .end = f->end,
        .depth = d->depth,
        .shared = d->told,
        .frames = d->frames + (KYMO_EVENT_DEPTH_MAX - d->depth),
    };
    if (kymo_id_map_find(&d->stacks, process, f->stack, &e.stack))
        return drop(&d->damage.duplicates);
    if (f->stack == KYMO_EVENT_NONE || f->end >= KYMO_FILE_END_REASONS)
        return drop(&d->damage.values);
    KYMO_TRY(kymo_id_map_add(&d->stacks, process, f->stack, &e.stack));
    d->told = d->depth;
    return DELIVER(d, stack, &e);
}

static kymo_err decode_stacks(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_stacks head;
    kymo_reader ahead = *r;
    const void *bytes = kymo_read_bytes(&ahead, sizeof head);
    if (bytes == NULL)
        return malformed(d);
    memcpy(&head, bytes, sizeof head);
    if (head.head_bytes < sizeof head || head.stack_bytes < sizeof(struct kymo_file_stack) ||
        head.frame_bytes < sizeof(struct kymo_file_frame))
        return malformed(d);
    kymo_read_bytes(r, head.head_bytes);
    uint32_t process = 0;
    int process_known = kymo_id_map_find(&d->processes, 0, head.process, &process);
    d->depth = d->bad_from = d->told = 0;
    for (uint32_t i = 0; i < head.count; i++) {
        struct kymo_file_stack f;
        bytes = kymo_read_bytes(r, head.stack_bytes);
        if (bytes == NULL)
            return malformed(d);
        memcpy(&f, bytes, sizeof f);
        if (f.depth > KYMO_EVENT_DEPTH_MAX || f.shared > f.depth || f.shared > d->depth)
            return malformed(d);
        read_frames(d, r, process, f.depth, f.shared, head.frame_bytes);
        if (r->failed)
            return malformed(d);
        KYMO_TRY(decode_stack(d, &f, process, process_known));
    }
    return KYMO_OK;
}

/* ---- the kernel's part of stacks ------------------------------------------------------------- */

static kymo_err decode_kernel_symbol(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_kernel_symbol f;
    if (!read_fixed(r, &f, sizeof f))
        return malformed(d);
    kymo_event_kernel_symbol e = {.address = f.address};
    e.name = read_text(r);
    e.module = read_text(r);
    if (r->failed)
        return malformed(d);
    if (kymo_id_map_find(&d->kernel_symbols, 0, f.symbol, &e.symbol))
        return drop(&d->damage.duplicates);
    if (f.symbol == KYMO_EVENT_NONE || e.name[0] == '\0' || e.module[0] != '[')
        return drop(&d->damage.values);
    KYMO_TRY(kymo_id_map_add(&d->kernel_symbols, 0, f.symbol, &e.symbol));
    return DELIVER(d, kernel_symbol, &e);
}

/* Into d->kernel_frames; *known is whether all their symbols are. */
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

static kymo_err decode_kernel_stack(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_kernel_stack f;
    int known = 0;
    if (!read_fixed(r, &f, sizeof f) || f.depth > KYMO_EVENT_KERNEL_DEPTH_MAX ||
        f.frame_bytes < sizeof(struct kymo_file_kernel_frame))
        return malformed(d);
    KYMO_TRY(read_kernel_frames(d, r, &f, &known));
    if (r->failed)
        return malformed(d);
    kymo_event_kernel_stack e = {
        .caller = KYMO_EVENT_NONE, .depth = f.depth, .frames = d->kernel_frames.data};
    if (!known || !kymo_id_map_find(&d->processes, 0, f.process, &e.process) ||
        (f.caller != KYMO_EVENT_NONE &&
         !kymo_id_map_find(&d->stacks, e.process, f.caller, &e.caller)))
        return drop(&d->damage.references);
    if (kymo_id_map_find(&d->stacks, e.process, f.stack, &e.stack))
        return drop(&d->damage.duplicates);
    if (f.stack == KYMO_EVENT_NONE || f.depth == 0)
        return drop(&d->damage.values);
    KYMO_TRY(kymo_id_map_add(&d->stacks, e.process, f.stack, &e.stack));
    return DELIVER(d, kernel_stack, &e);
}

/* ---- samples --------------------------------------------------------------------------------- */

static kymo_err decode_wait(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_wait f;
    if (!read_fixed(r, &f, sizeof f))
        return malformed(d);
    kymo_event_wait e = {.name = read_text(r)};
    if (r->failed)
        return malformed(d);
    if (f.wait == 0)
        return drop(&d->damage.values);
    if (kymo_id_map_find(&d->waits, 0, f.wait, &e.wait))
        return drop(&d->damage.duplicates);
    KYMO_TRY(kymo_id_map_add(&d->waits, 0, f.wait, &e.wait));
    e.wait++; /* 0 is none */
    return DELIVER(d, wait, &e);
}

static kymo_err flush_batch(kymo_decoder *d, uint32_t thread, uint32_t count)
{
    if (count == 0)
        return KYMO_OK;
    kymo_event_samples e = {.thread = thread, .count = count, .samples = d->batch};
    d->events += count - 1;
    return DELIVER(d, samples, &e);
}

static kymo_err decode_group(kymo_decoder *d, uint32_t thread, const unsigned char *bytes,
                             uint32_t count, size_t sample_bytes)
{
    uint32_t process = d->thread_process.data[thread];
    uint32_t n = 0;
    size_t known_bytes = sample_bytes < sizeof(struct kymo_file_sample)
                             ? KYMO_FILE_SAMPLE_BYTES
                             : sizeof(struct kymo_file_sample);
    for (uint32_t i = 0; i < count; i++, bytes += sample_bytes) {
        struct kymo_file_sample f = {0};
        memcpy(&f, bytes, known_bytes);
        if (f.time_ns == 0 || !time_is_sane(f.time_ns) || f.weight_ns > KYMO_FILE_WEIGHT_MAX ||
            f.kind >= KYMO_FILE_KINDS || f.state >= KYMO_FILE_STATES) {
            d->damage.values++;
            continue;
        }
        uint32_t stack = KYMO_EVENT_NONE;
        if (f.stack != KYMO_EVENT_NONE && !kymo_id_map_find(&d->stacks, process, f.stack, &stack))
            d->damage.references++; /* the weight is true without its stack */
        uint32_t wait = UINT32_MAX;
        if (f.wait != 0 && !kymo_id_map_find(&d->waits, 0, f.wait, &wait))
            d->damage.references++;
        d->batch[n++] = (kymo_event_sample){
            f.time_ns, f.weight_ns, stack, f.kind, f.state, wait + 1, 0,
        };
        if (n == BATCH) {
            KYMO_TRY(flush_batch(d, thread, n));
            n = 0;
        }
    }
    return flush_batch(d, thread, n);
}

static kymo_err decode_samples(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_samples head;
    kymo_reader ahead = *r;
    const void *bytes = kymo_read_bytes(&ahead, sizeof head);
    if (bytes == NULL)
        return malformed(d);
    memcpy(&head, bytes, sizeof head);
    if (head.head_bytes < sizeof head || head.sample_bytes < KYMO_FILE_SAMPLE_BYTES)
        return malformed(d);
    kymo_read_bytes(r, head.head_bytes);
    for (uint32_t i = 0; i < head.groups; i++) {
        struct kymo_file_group group;
        group.thread = kymo_read_u32(r);
        group.count = kymo_read_u32(r);
        bytes = kymo_read_bytes(r, (size_t)group.count * head.sample_bytes);
        if (bytes == NULL)
            return malformed(d);
        uint32_t thread;
        if (kymo_id_map_find(&d->threads, 0, group.thread, &thread))
            KYMO_TRY(decode_group(d, thread, bytes, group.count, head.sample_bytes));
        else
            d->damage.references += group.count;
    }
    return KYMO_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

int kymo_decoder_knows(uint32_t type)
{
    switch (type) {
#define X(name, number) case KYMO_BLOCK_##name:
        KYMO_BLOCK_LIST(X)
#undef X
        return 1;
    default:
        return 0;
    }
}

static kymo_err decode(kymo_decoder *d, uint32_t type, kymo_reader *r)
{
    switch ((enum kymo_block_type)type) {
    case KYMO_BLOCK_META:
        return decode_meta(d, r);
    case KYMO_BLOCK_PROCESS:
        return decode_process(d, r);
    case KYMO_BLOCK_PROCESS_END:
        return decode_process_end(d, r);
    case KYMO_BLOCK_THREAD:
        return decode_thread(d, r);
    case KYMO_BLOCK_THREAD_NAME:
        return decode_thread_name(d, r);
    case KYMO_BLOCK_THREAD_END:
        return decode_thread_end(d, r);
    case KYMO_BLOCK_MODULE:
        return decode_module(d, r);
    case KYMO_BLOCK_MODULE_UNLOAD:
        return decode_module_unload(d, r);
    case KYMO_BLOCK_MODULE_IMAGE:
        return decode_module_image(d, r);
    case KYMO_BLOCK_STACKS:
        return decode_stacks(d, r);
    case KYMO_BLOCK_WAIT:
        return decode_wait(d, r);
    case KYMO_BLOCK_SAMPLES:
        return decode_samples(d, r);
    case KYMO_BLOCK_LOSS:
        return decode_loss(d, r);
    case KYMO_BLOCK_QUALITY:
        return decode_quality(d, r);
    case KYMO_BLOCK_NOTE:
        return decode_note(d, r);
    case KYMO_BLOCK_END:
        return decode_end(d, r);
    case KYMO_BLOCK_CODE:
        return decode_code(d, r);
    case KYMO_BLOCK_KERNEL_SYMBOL:
        return decode_kernel_symbol(d, r);
    case KYMO_BLOCK_KERNEL_STACK:
        return decode_kernel_stack(d, r);
    }
    return KYMO_OK;
}

kymo_err kymo_decoder_block(kymo_decoder *d, uint32_t type, const void *payload, size_t len)
{
    if (!d->has_meta && type != KYMO_BLOCK_META)
        return KYMO_E_CORRUPT;
    kymo_reader r = kymo_reader_of(payload, len);
    d->malformed = 0;
    KYMO_TRY(decode(d, type, &r));
    if (d->malformed)
        d->damage.blocks++;
    return d->has_meta ? KYMO_OK : KYMO_E_CORRUPT;
}
