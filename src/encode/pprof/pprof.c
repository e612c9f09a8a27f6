/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof.c - the profile.proto of google/pprof.
 *
 * There is one Location for each frame, numbered from 1 as the format requires, one Function for
 * each function, one Sample for each stack, thread and set of labels. Location.address is the
 * runtime address, which is in its Mapping's [start, limit): readers subtract memory_start -
 * file_offset, as for profiles of Go. A location whose address is not in the mapping (a second
 * executable segment) has no mapping, but has its names.
 *
 * A frame in a file without a name has no Line: this means "not symbolized" in the format, and a
 * server with the file of that build-id can symbolize it later. An address outside all files will
 * never have a name, so its name is the address: "0x7f01...".
 *
 * Strings are written where they are first used (text_numbers.h). For the same reason a difference
 * of two profiles is the one and then the other, whose numbers go on where the first one's end.
 * Values of what was before are negative, and its samples have the label that `go tool pprof
 * -diff_base` gives them: shares are then of the profile before.
 */
#include "encode/pprof/pprof.h"
#include "base/str.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HAS_FUNCTIONS = 1, HAS_FILENAMES = 2, HAS_LINES = 4, HAS_INLINE = 8, HAS_LOCATION = 16 };

kymo_err kymo_pprof_pass_on(kymo_pprof *w)
{
    return w->out.len >= 1 << 16 || w->out.failed ? kymo_proto_flush(&w->out, w->encoder->sink)
                                                  : KYMO_OK;
}

uint32_t kymo_pprof_cstr(kymo_pprof *w, const char *text)
{
    return kymo_text_number_of(&w->strings, text, strlen(text));
}

/* ---- mappings ---- */

static void note_flags(kymo_pprof *w, const kymo_frame *f)
{
    uint64_t address;
    uint32_t mapping = kymo_mapping_number(&w->mappings, f, &address);
    if (mapping == 0)
        return;
    uint8_t *flags = &w->mapping_flags[mapping];
    if (!(*flags & HAS_LOCATION))
        *flags = HAS_LOCATION | HAS_FUNCTIONS | HAS_FILENAMES | HAS_LINES;
    if (f->line_count == 0 || !f->named)
        *flags &= (uint8_t) ~(HAS_FUNCTIONS | HAS_FILENAMES | HAS_LINES);
    if (f->line_count > 1)
        *flags |= HAS_INLINE;
    for (uint32_t i = 0; i < f->line_count; i++) {
        const kymo_line *line = &w->p->lines.data[f->first_line + i];
        if (w->p->functions.data[line->function].source == KYMO_NONE)
            *flags &= (uint8_t)~HAS_FILENAMES;
        if (line->line == 0)
            *flags &= (uint8_t)~HAS_LINES;
    }
}

static kymo_err write_mapping(kymo_pprof *w, uint32_t id)
{
    char build_id[2 * KYMO_BUILD_ID_MAX];
    const uint32_t module = w->mappings.module[id];
    const kymo_module *m = &w->p->modules.data[module];
    const size_t build_id_len = kymo_build_id_hex(m, build_id);
    uint8_t flags = w->mapping_flags[id];
    kymo_proto_clear(&w->message);
    kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_ID, w->mapping_base + id);
    kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_START, m->start);
    kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_LIMIT, m->end);
    kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_OFFSET, m->file_offset);
    kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_FILENAME,
                   kymo_pprof_string(w, w->p->module_ids.data[module].path));
    if (build_id_len > 0)
        kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_BUILD_ID,
                       kymo_text_number_of(&w->strings, build_id, build_id_len));
    kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_HAS_FUNCTIONS, (flags & HAS_FUNCTIONS) != 0);
    kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_HAS_FILENAMES, (flags & HAS_FILENAMES) != 0);
    kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_HAS_LINE_NUMBERS, (flags & HAS_LINES) != 0);
    kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_HAS_INLINE_FRAMES, (flags & HAS_INLINE) != 0);
    kymo_proto_message(&w->out, KYMO_PPROF_PROFILE_MAPPING, &w->message);
    return kymo_pprof_pass_on(w);
}

static kymo_err write_mappings(kymo_pprof *w)
{
    for (size_t i = 0; i < w->p->frames.len; i++)
        note_flags(w, &w->p->frames.data[i]);
    for (uint32_t id = 1; id <= w->mappings.count; id++)
        KYMO_TRY(write_mapping(w, id));
    return KYMO_OK;
}

/* ---- functions and locations ---- */

static kymo_err write_function(kymo_pprof *w, uint32_t name, uint32_t system_name,
                               uint32_t filename, uint32_t start_line)
{
    kymo_proto_clear(&w->message);
    kymo_proto_u64(&w->message, KYMO_PPROF_FUNCTION_ID, ++w->function_count);
    kymo_proto_u64(&w->message, KYMO_PPROF_FUNCTION_NAME, name);
    kymo_proto_u64(&w->message, KYMO_PPROF_FUNCTION_SYSTEM_NAME, system_name);
    kymo_proto_u64(&w->message, KYMO_PPROF_FUNCTION_FILENAME, filename);
    kymo_proto_u64(&w->message, KYMO_PPROF_FUNCTION_START_LINE, start_line);
    kymo_proto_message(&w->out, KYMO_PPROF_PROFILE_FUNCTION, &w->message);
    return kymo_pprof_pass_on(w);
}

static kymo_err write_functions(kymo_pprof *w)
{
    for (size_t i = 0; i < w->p->functions.len; i++) {
        const kymo_function *f = &w->p->functions.data[i];
        uint32_t name = kymo_pprof_string(w, f->name);
        uint32_t filename =
            f->source != KYMO_NONE ? kymo_pprof_string(w, w->p->sources.data[f->source]) : 0;
        KYMO_TRY(write_function(w, name,
                                f->system_name ? kymo_pprof_string(w, f->system_name) : name,
                                filename, f->start_line));
        KYMO_TRY(kymo_encoder_step(w->encoder, 1));
    }
    return KYMO_OK;
}

/* The number of a function that the profile does not have. */
static kymo_err write_made_up(kymo_pprof *w, const char *name, uint64_t *function)
{
    uint32_t string = kymo_pprof_cstr(w, name);
    KYMO_TRY(write_function(w, string, string, 0, 0));
    *function = w->function_count;
    return KYMO_OK;
}

static void add_line(kymo_pprof *w, uint64_t function, uint32_t line, uint32_t column)
{
    kymo_proto_clear(&w->inner);
    kymo_proto_u64(&w->inner, KYMO_PPROF_LINE_FUNCTION, function);
    kymo_proto_u64(&w->inner, KYMO_PPROF_LINE_LINE, line);
    kymo_proto_u64(&w->inner, KYMO_PPROF_LINE_COLUMN, column);
    kymo_proto_message(&w->message, KYMO_PPROF_LOCATION_LINE, &w->inner);
}

static kymo_err write_location(kymo_pprof *w, uint32_t frame)
{
    const kymo_frame *f = &w->p->frames.data[frame];
    uint64_t address;
    uint64_t function = 0;
    uint32_t mapping = kymo_mapping_number(&w->mappings, f, &address);
    if (mapping == 0 && f->line_count == 0) {
        char name[KYMO_STRING_MAX + 32];
        kymo_profile_frame_label(w->p, frame, name, sizeof name);
        KYMO_TRY(write_made_up(w, name, &function));
    }
    kymo_proto_clear(&w->message);
    kymo_proto_u64(&w->message, KYMO_PPROF_LOCATION_ID, w->location_base + frame + 1);
    kymo_proto_u64(&w->message, KYMO_PPROF_LOCATION_MAPPING,
                   mapping ? w->mapping_base + mapping : 0);
    kymo_proto_u64(&w->message, KYMO_PPROF_LOCATION_ADDRESS, address);
    for (uint32_t i = 0; i < f->line_count; i++) {
        const kymo_line *line = &w->p->lines.data[f->first_line + i];
        add_line(w, w->function_base + line->function + 1, line->line, line->column);
    }
    if (function)
        add_line(w, function, 0, 0);
    kymo_proto_message(&w->out, KYMO_PPROF_PROFILE_LOCATION, &w->message);
    return kymo_pprof_pass_on(w);
}

static kymo_err write_locations(kymo_pprof *w)
{
    uint64_t function;
    for (size_t i = 0; i < w->p->frames.len; i++) {
        KYMO_TRY(write_location(w, (uint32_t)i));
        KYMO_TRY(kymo_encoder_step(w->encoder, 1));
    }
    if (!kymo_encoder_lacks_stacks(w->p))
        return KYMO_OK;
    KYMO_TRY(write_made_up(w, KYMO_NO_STACK_NAME, &function));
    kymo_proto_clear(&w->message);
    kymo_proto_u64(&w->message, KYMO_PPROF_LOCATION_ID, w->location_base + w->p->frames.len + 1);
    add_line(w, function, 0, 0);
    kymo_proto_message(&w->out, KYMO_PPROF_PROFILE_LOCATION, &w->message);
    return kymo_pprof_pass_on(w);
}

/* ---- the whole file ---- */

void kymo_pprof_value_type(kymo_pprof *w, unsigned field, const char *type, const char *unit)
{
    kymo_proto_clear(&w->inner);
    kymo_proto_u64(&w->inner, KYMO_PPROF_VALUE_TYPE, kymo_pprof_cstr(w, type));
    kymo_proto_u64(&w->inner, KYMO_PPROF_VALUE_UNIT, kymo_pprof_cstr(w, unit));
    kymo_proto_message(&w->out, field, &w->inner);
}

void kymo_pprof_comment(kymo_pprof *w, const char *fmt, ...)
{
    char text[512];
    char clean[sizeof text];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t len = kymo_utf8_copy(clean, sizeof clean, text, strlen(text));
    kymo_proto_u64(&w->out, KYMO_PPROF_PROFILE_COMMENT,
                   kymo_text_number_of(&w->strings, clean, len));
}

static void add_ratio(kymo_pprof *w, const char *what, double ratio)
{
    if (!isnan(ratio))
        kymo_pprof_comment(w, "%s: %.4f", what, ratio);
}

/* Facts of the recording; `pprof -comments` shows them. */
static void add_comments(kymo_pprof *w)
{
    const kymo_meta *meta = &w->p->meta;
    const kymo_quality *q = &w->p->quality;
    if (meta->version)
        kymo_pprof_comment(w, "recorded by: kymo %s", meta->version);
    if (meta->engine)
        kymo_pprof_comment(w, "engine: %s", meta->engine);
    add_ratio(w, "achieved", q->achieved);
    add_ratio(w, "sampled rate", q->sampled_rate);
    if (w->has_wall)
        add_ratio(w, "wall time accounted for", q->wall_achieved);
    if (w->has_wall && meta->engine)
        kymo_pprof_comment(w, "system calls interrupted (EINTR): %" PRIu64, q->disturbed);
    add_ratio(w, "stacks complete", q->stacks_complete);
    add_ratio(w, "frames symbolized", q->frames_symbolized);
    if (q->cpu_unsampled_ns)
        kymo_pprof_comment(w, "cpu not sampled: %" PRIu64 " ns", q->cpu_unsampled_ns);
    if (q->dropped_samples || q->dropped_wall_samples)
        kymo_pprof_comment(w,
                           "dropped to keep the newest %" PRIu64 " bytes: %" PRIu64
                           " samples (%" PRIu64 " ns), %" PRIu64 " wall samples",
                           q->ring_bytes, q->dropped_samples, q->dropped_ns,
                           q->dropped_wall_samples);
    for (uint32_t i = 0; i < q->lost_count; i++)
        if (q->lost[i].count)
            kymo_pprof_comment(w, "lost, %s: %" PRIu64, q->lost[i].kind, q->lost[i].count);
}

/* Types of the profile before have the columns of those that they are compared with; the others
 * have none, and their samples are left out. */
static void take_columns(kymo_pprof *w, const kymo_pprof *first)
{
    uint32_t before_kind = w->encoder->options->before_kind;
    uint32_t kind = kymo_encoder_type(first->encoder);
    w->sums.column_count = first->sums.column_count;
    w->has_wall = first->has_wall;
    for (uint32_t i = 0; i < w->p->sample_type_count; i++) {
        uint32_t type =
            before_kind == i + 1 ? kind : kymo_encoder_type_like(first->p, &w->p->sample_types[i]);
        int is_taken = before_kind != 0 && before_kind != i + 1 && type == kind;
        w->sums.columns[i] = (struct kymo_sums_columns){KYMO_NO_COLUMN, KYMO_NO_COLUMN};
        if (type != KYMO_NONE && !is_taken)
            w->sums.columns[i] = first->sums.columns[type];
    }
}

static void choose_columns(kymo_pprof *w)
{
    const kymo_encode_options *o = w->encoder->options;
    kymo_sample_sums_choose(&w->sums, w->encoder, o ? o->before : NULL);
    for (uint32_t i = 0; i < w->p->sample_type_count; i++)
        w->has_wall |= w->sums.columns[i].value != KYMO_NO_COLUMN &&
                       w->p->sample_types[i].adds == KYMO_ADDS_ELAPSED;
}

static void write_types(kymo_pprof *w)
{
    const kymo_profile *p = w->p;
    const uint32_t type = kymo_sample_sums_is_alone(w->encoder) ? kymo_encoder_type(w->encoder)
                                                                : p->default_sample_type;
    const kymo_sample_type *chosen = &p->sample_types[type];
    for (uint32_t i = 0; i < p->sample_type_count; i++) {
        const kymo_sample_type *t = &p->sample_types[i];
        if (w->sums.columns[i].value == KYMO_NO_COLUMN)
            continue;
        if (t->count_name)
            kymo_pprof_value_type(w, KYMO_PPROF_PROFILE_SAMPLE_TYPE, t->count_name, "count");
        kymo_pprof_value_type(w, KYMO_PPROF_PROFILE_SAMPLE_TYPE, t->name, t->unit);
    }
    kymo_pprof_value_type(w, KYMO_PPROF_PROFILE_PERIOD_TYPE, chosen->period_name,
                          chosen->period_unit);
    kymo_proto_u64(&w->out, KYMO_PPROF_PROFILE_PERIOD, kymo_sample_period(p, chosen));
    kymo_proto_u64(&w->out, KYMO_PPROF_PROFILE_DEFAULT_SAMPLE_TYPE,
                   kymo_pprof_cstr(w, chosen->name));
}

static kymo_err write_head(kymo_pprof *w)
{
    const kymo_meta *meta = &w->p->meta;
    uint64_t start;
    uint64_t end;
    kymo_encoder_range(w->p, &start, &end);
    if (w->view)
        kymo_pprof_heap_head(w);
    else
        write_types(w);
    kymo_proto_u64(&w->out, KYMO_PPROF_PROFILE_TIME_NANOS,
                   meta->origin_realtime_ns ? meta->origin_realtime_ns + start : 0);
    kymo_proto_u64(&w->out, KYMO_PPROF_PROFILE_DURATION_NANOS, end - start);
    w->key_thread = kymo_pprof_cstr(w, "thread");
    w->key_tid = kymo_pprof_cstr(w, "tid");
    w->key_pid = kymo_pprof_cstr(w, "pid");
    w->unit_count = kymo_pprof_cstr(w, "count");
    if (w->has_wall)
        w->key_wait = kymo_pprof_cstr(w, "wait");
    add_comments(w);
    if (w->view)
        kymo_pprof_heap_comments(w);
    if (w->encoder->options && w->encoder->options->before)
        kymo_pprof_comment(w, "difference: samples with the label pprof::base are of before");
    return kymo_pprof_pass_on(w);
}

/* What is taken off has no head of its own. */
static void take_head(kymo_pprof *w)
{
    const kymo_pprof *first = w->first;
    w->function_base = w->function_count = first->function_count;
    w->location_base = first->p->frames.len + (kymo_encoder_lacks_stacks(first->p) ? 1 : 0);
    w->mapping_base = first->mappings.count;
    w->key_thread = first->key_thread;
    w->key_tid = first->key_tid;
    w->key_pid = first->key_pid;
    w->key_bytes = first->key_bytes;
    w->key_wait = first->key_wait;
    w->unit_count = first->unit_count;
    w->key_base = kymo_pprof_cstr(w, "pprof::base");
    w->text_base = kymo_pprof_cstr(w, "true");
}

static kymo_err write_all(kymo_pprof *w)
{
    if (w->first)
        take_head(w);
    else
        KYMO_TRY(write_head(w));
    KYMO_TRY(write_mappings(w));
    KYMO_TRY(write_functions(w));
    KYMO_TRY(write_locations(w));
    KYMO_TRY(w->view ? kymo_pprof_heap_samples(w) : kymo_pprof_samples(w));
    return kymo_proto_flush(&w->out, w->encoder->sink);
}

static kymo_err write_heap(kymo_pprof *w)
{
    kymo_encoder_heap view;
    KYMO_TRY(kymo_encoder_heap_init(&view, w->encoder));
    w->view = &view;
    kymo_err err = write_all(w);
    kymo_encoder_heap_deinit(&view);
    return err;
}

static kymo_err init(kymo_pprof *w, kymo_encoder *encoder, const kymo_pprof *first)
{
    const kymo_profile *p = encoder->profile;
    *w = (kymo_pprof){
        .encoder = encoder, .p = p, .first = first, .mapping_flags = calloc(p->modules.len + 1, 1)};
    KYMO_TRY(kymo_text_numbers_init(&w->strings, p, &w->out, KYMO_PPROF_PROFILE_STRING,
                                    first ? first->strings.count : 0));
    KYMO_TRY(kymo_mapping_numbers_init(&w->mappings, p));
    if (kymo_heap_shown(encoder) == KYMO_ENCODE_TIME && first)
        take_columns(w, first);
    else if (kymo_heap_shown(encoder) == KYMO_ENCODE_TIME)
        choose_columns(w);
    return w->mapping_flags ? KYMO_OK : KYMO_E_NOMEM;
}

static void deinit(kymo_pprof *w)
{
    free(w->mapping_flags);
    kymo_text_numbers_deinit(&w->strings);
    kymo_mapping_numbers_deinit(&w->mappings);
    kymo_proto_deinit(&w->out);
    kymo_proto_deinit(&w->message);
    kymo_proto_deinit(&w->inner);
    kymo_proto_deinit(&w->labels);
}

static uint64_t work_of(const kymo_profile *p, int is_heap)
{
    uint64_t rows = is_heap ? kymo_profile_count(p, KYMO_TABLE_ALLOCATIONS)
                            : p->sample_count + p->stack_frame.len;
    return p->functions.len + p->frames.len + rows;
}

static kymo_err write_profile(kymo_encoder *encoder, const kymo_pprof *first, kymo_pprof *w)
{
    KYMO_TRY(init(w, encoder, first));
    return kymo_heap_shown(encoder) == KYMO_ENCODE_TIME ? write_all(w) : write_heap(w);
}

/* The profile before, behind the one that is in the file already. */
static kymo_err write_before(kymo_encoder *encoder, const kymo_pprof *first)
{
    kymo_pprof before;
    kymo_encoder other = *encoder;
    kymo_encode_options was = *encoder->options;
    was.show = kymo_heap_shown(encoder);
    was.at_ns = was.from_ns;
    other.profile = was.before;
    other.options = &was;
    kymo_err err = write_profile(&other, first, &before);
    deinit(&before);
    encoder->done = other.done;
    return err;
}

kymo_err kymo_pprof_write(kymo_encoder *encoder)
{
    kymo_pprof w;
    const kymo_profile *before = encoder->options ? encoder->options->before : NULL;
    int is_heap = kymo_heap_shown(encoder) != KYMO_ENCODE_TIME;
    encoder->total = work_of(encoder->profile, is_heap) + (before ? work_of(before, is_heap) : 0);
    kymo_err err = write_profile(encoder, NULL, &w);
    if (err == KYMO_OK && before)
        err = write_before(encoder, &w);
    deinit(&w);
    return err;
}
