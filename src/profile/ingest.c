/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest.c - events become rows as they arrive; what needs the whole recording is added at the end.
 *
 * Each kind of event has a file (ingest_state.h lists them); ingest_finish.c does what is done at
 * the end. This file has the ingest itself and the events about the recording as a whole.
 */
#include "profile/ingest_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

kymo_err kymo_ingest_copy_text(kymo_ingest *in, const char *text, const char **out)
{
    *out = NULL;
    if (text == NULL || *text == '\0')
        return KYMO_OK;
    *out = kymo_arena_strndup(&in->arena, text, strlen(text));
    return *out != NULL ? KYMO_OK : KYMO_E_NOMEM;
}

const char *kymo_ingest_quote(const char *text, char out[KYMO_INGEST_QUOTE])
{
    kymo_utf8_copy(out, KYMO_INGEST_QUOTE, text ? text : "", text ? strlen(text) : 0);
    return out;
}

kymo_err kymo_ingest_add_string(kymo_ingest *in, const char *text, uint32_t *string)
{
    return kymo_profile_add_string(in->profile, text, text ? strlen(text) : 0, string);
}

kymo_err kymo_ingest_create(kymo_profile *profile, kymo_ingest **out)
{
    kymo_ingest *in = calloc(1, sizeof *in);
    if (in == NULL)
        return KYMO_E_NOMEM;
    in->profile = profile;
    in->main_process = KYMO_NONE;
    in->startup_stack = KYMO_NONE;
    in->marks.text_schema = KYMO_NONE;
    for (int i = 0; i < KYMO_INGEST_PATHS; i++) {
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
    kymo_index_deinit(&in->module_index);
    kymo_code_map_deinit(&in->code);
    kymo_kernel_frames_deinit(&in->kernel);
    kymo_stored_symbols_deinit(&in->stored);
    kymo_ingest_marks_deinit(&in->marks);
    kymo_ingest_heap_deinit(&in->heap);
    kymo_ingest_calls_deinit(&in->calls);
    kymo_vec_free_all(in->processes.data, in->threads.data, in->modules.data, in->stacks.data,
                      in->waits.data, in->wait_frames.data, in->notes.data, in->images.data,
                      in->scripts.data, in->native_scripts.data);
    for (int i = 0; i < KYMO_INGEST_PATHS; i++)
        free(in->paths[i].node);
    kymo_arena_deinit(&in->arena);
    free(in);
}

/* ---- the recording ---- */

kymo_err kymo_ingest_on_meta(void *ctx, const kymo_event_meta *e)
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
    kymo_ingest_see_time(in, e->start_ns);
    KYMO_TRY(kymo_ingest_copy_text(in, e->version, &in->meta.version));
    KYMO_TRY(kymo_ingest_copy_text(in, e->engine, &in->meta.engine));
    KYMO_TRY(kymo_ingest_copy_text(in, e->host, &in->meta.hostname));
    KYMO_TRY(kymo_ingest_copy_text(in, e->os, &in->meta.os));
    KYMO_TRY(kymo_ingest_copy_text(in, e->kernel, &in->meta.kernel));
    KYMO_TRY(kymo_ingest_copy_text(in, e->arch, &in->meta.arch));
    KYMO_TRY(kymo_ingest_copy_text(in, e->cpu_name, &in->meta.cpu_name));
    KYMO_TRY(kymo_ingest_copy_text(in, e->engine_reason, &in->engine_reason));
    in->meta.engine_reason = in->engine_reason;
    KYMO_TRY(kymo_ingest_copy_text(in, e->options, &in->options));
    /* Modules take their architecture from it. Finish sets it again when more is known. */
    return kymo_profile_set_meta(in->profile, &in->meta);
}

kymo_err kymo_ingest_on_code(void *ctx, const kymo_event_code *e)
{
    kymo_ingest *in = ctx;
    return kymo_code_map_add(&in->code, in->profile, e);
}

kymo_err kymo_ingest_on_symbols(void *ctx, const kymo_event_symbols *e)
{
    kymo_ingest *in = ctx;
    return kymo_stored_symbols_add(&in->stored, in->profile, e);
}

kymo_err kymo_ingest_add_note(kymo_ingest *in, uint64_t time_ns, uint32_t process,
                              uint32_t severity, const char *text)
{
    kymo_ingest_note note = {
        .time_ns = time_ns,
        .process = process == KYMO_EVENT_NONE ? KYMO_NONE : process,
        .severity = severity,
    };
    KYMO_TRY(kymo_ingest_copy_text(in, text, &note.text));
    return note.text == NULL ? KYMO_OK : kymo_vec_push(&in->notes, note);
}

kymo_err kymo_ingest_on_note(void *ctx, const kymo_event_note *e)
{
    return kymo_ingest_add_note(ctx, e->time_ns, e->process, e->severity, e->text);
}

kymo_err kymo_ingest_on_end(void *ctx, const kymo_event_end *e)
{
    kymo_ingest *in = ctx;
    in->clean = e->clean != 0;
    in->meta.end_ns = e->end_ns;
    return KYMO_OK;
}

void kymo_ingest_keep_interpreter(kymo_ingest *in)
{
    in->keeps_interpreter = 1;
}

void kymo_ingest_begin_names(kymo_ingest *in)
{
    in->stored.are_partial = 1;
}

void kymo_ingest_skip_markers(kymo_ingest *in)
{
    in->skips_markers = 1;
}

const kymo_event_handler kymo_ingest_handler = {
#define X(name, type) .name = kymo_ingest_on_##name,
    KYMO_EVENT_LIST(X)
#undef X
};

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
