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
 * A string is numbered and written when it is first used. Fields of different kinds may come in any
 * order, so the table is not kept in memory.
 *
 * For the same reason a difference of two profiles is the one and then the other, whose numbers go
 * on where the first one's end. Values of what was before are negative, and its samples have the
 * label that `go tool pprof -diff_base` gives them: shares are then of the profile before.
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

/* ---- strings ---- */

/* `out` holds only whole fields, so a string may be inserted at any time. */
static uint32_t new_string(kymo_pprof *w, const char *text, size_t len)
{
    kymo_proto_bytes(&w->out, KYMO_PPROF_PROFILE_STRING, text, len);
    return w->string_count++;
}

uint32_t kymo_pprof_string(kymo_pprof *w, uint32_t string)
{
    if (string != 0 && w->string_of[string] == 0)
        w->string_of[string] =
            new_string(w, w->p->strings.data[string].data, w->p->strings.data[string].len);
    return w->string_of[string];
}

static kymo_err remember(kymo_pprof *w, uint64_t hash, const char *text, size_t len,
                         uint32_t number)
{
    struct kymo_pprof_made made = {{kymo_arena_strndup(&w->arena, text, len), (uint32_t)len},
                                   number};
    if (!made.text.data)
        return KYMO_E_NOMEM;
    KYMO_TRY(kymo_vec_push(&w->made, made));
    return kymo_index_put(&w->made_index, hash, (uint32_t)w->made.len - 1);
}

/* For text that may also be a string of the profile, or was added before. */
uint32_t kymo_pprof_text(kymo_pprof *w, const char *text, size_t len)
{
    uint32_t i;
    uint32_t string = kymo_profile_find_string(w->p, text, len);
    if (string != KYMO_NONE)
        return kymo_pprof_string(w, string);
    uint64_t hash = kymo_hash_bytes(text, len, kymo_hash_secret());
    for (size_t probe = 0; kymo_index_find(&w->made_index, hash, &probe, &i);)
        if (w->made.data[i].text.len == len && memcmp(w->made.data[i].text.data, text, len) == 0)
            return w->made.data[i].number;
    uint32_t number = new_string(w, text, len);
    if (remember(w, hash, text, len, number) != KYMO_OK)
        w->out.failed = 1;
    return number;
}

uint32_t kymo_pprof_cstr(kymo_pprof *w, const char *text)
{
    return kymo_pprof_text(w, text, strlen(text));
}

/* ---- mappings ---- */

static int same_mapping(const kymo_profile *p, uint32_t a, uint32_t b)
{
    const kymo_module *x = &p->modules.data[a];
    const kymo_module *y = &p->modules.data[b];
    return p->module_ids.data[a].file == p->module_ids.data[b].file && x->start == y->start &&
           x->end == y->end && x->file_offset == y->file_offset && x->load_bias == y->load_bias;
}

/* Forked children have their parent's mappings: a hundred workers share one set. */
static kymo_err find_mapping(kymo_pprof *w, kymo_index *seen, uint32_t module)
{
    const kymo_module *m = &w->p->modules.data[module];
    uint64_t words[] = {w->p->module_ids.data[module].file, m->start, m->end, m->file_offset,
                        m->load_bias};
    uint64_t hash = kymo_hash_words(words, KYMO_ARRAY_LEN(words), kymo_hash_secret());
    uint32_t other;
    for (size_t probe = 0; kymo_index_find(seen, hash, &probe, &other);)
        if (same_mapping(w->p, module, other)) {
            w->mapping_of[module] = w->mapping_of[other];
            return KYMO_OK;
        }
    w->mapping_of[module] = ++w->mapping_count;
    return kymo_index_put(seen, hash, module);
}

/* The main executable of the main process first, then the other executables, then the rest. */
static int mapping_rank(const kymo_profile *p, uint32_t module)
{
    const kymo_module *m = &p->modules.data[module];
    return !m->is_main ? 2 : p->processes.data[m->process].is_main ? 0 : 1;
}

static kymo_err number_mappings(kymo_pprof *w)
{
    kymo_index seen = {0};
    kymo_err err = KYMO_OK;
    for (int rank = 0; rank < 3; rank++)
        for (uint32_t i = 0; err == KYMO_OK && i < w->p->modules.len; i++)
            if (mapping_rank(w->p, i) == rank)
                err = find_mapping(w, &seen, i);
    kymo_index_deinit(&seen);
    return err;
}

/* The mapping of a frame, 0 for none, and its runtime address. */
static uint32_t frame_mapping(const kymo_pprof *w, const kymo_frame *f, uint64_t *address)
{
    *address = f->address == KYMO_NO_ADDRESS ? 0 : f->address;
    if (f->module == KYMO_NONE)
        return 0;
    const kymo_module *m = &w->p->modules.data[f->module];
    *address = f->address + m->load_bias;
    return *address >= m->start && *address < m->end ? w->mapping_of[f->module] : 0;
}

static void note_flags(kymo_pprof *w, const kymo_frame *f)
{
    uint64_t address;
    uint32_t mapping = frame_mapping(w, f, &address);
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

static kymo_err write_mapping(kymo_pprof *w, const kymo_module *m, uint32_t path, uint32_t id)
{
    static const char hex[] = "0123456789abcdef";
    char build_id[2 * KYMO_BUILD_ID_MAX];
    uint8_t flags = w->mapping_flags[id];
    for (uint32_t i = 0; i < m->build_id_len; i++) {
        build_id[2 * i] = hex[m->build_id[i] >> 4];
        build_id[2 * i + 1] = hex[m->build_id[i] & 15];
    }
    kymo_proto_clear(&w->message);
    kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_ID, w->mapping_base + id);
    kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_START, m->start);
    kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_LIMIT, m->end);
    kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_OFFSET, m->file_offset);
    kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_FILENAME, kymo_pprof_string(w, path));
    if (m->build_id_len > 0)
        kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_BUILD_ID,
                       kymo_pprof_text(w, build_id, 2 * (size_t)m->build_id_len));
    kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_HAS_FUNCTIONS, (flags & HAS_FUNCTIONS) != 0);
    kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_HAS_FILENAMES, (flags & HAS_FILENAMES) != 0);
    kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_HAS_LINE_NUMBERS, (flags & HAS_LINES) != 0);
    kymo_proto_u64(&w->message, KYMO_PPROF_MAPPING_HAS_INLINE_FRAMES, (flags & HAS_INLINE) != 0);
    kymo_proto_message(&w->out, KYMO_PPROF_PROFILE_MAPPING, &w->message);
    return kymo_pprof_pass_on(w);
}

static kymo_err write_mappings(kymo_pprof *w)
{
    uint32_t next = 1;
    for (size_t i = 0; i < w->p->frames.len; i++)
        note_flags(w, &w->p->frames.data[i]);
    /* In order of their numbers: readers take the first mapping for the main program. */
    for (int rank = 0; rank < 3; rank++)
        for (uint32_t i = 0; i < w->p->modules.len; i++)
            if (mapping_rank(w->p, i) == rank && w->mapping_of[i] == next)
                KYMO_TRY(write_mapping(w, &w->p->modules.data[i], w->p->module_ids.data[i].path,
                                       next++));
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
    uint32_t mapping = frame_mapping(w, f, &address);
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
    kymo_proto_u64(&w->out, KYMO_PPROF_PROFILE_COMMENT, kymo_pprof_text(w, clean, len));
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

/* Whether there are samples of a type, also in what is taken off. */
static int has_type(const kymo_pprof *w, uint32_t type)
{
    const kymo_profile *before = w->encoder->options ? w->encoder->options->before : NULL;
    uint32_t other = before ? kymo_encoder_type_like(before, &w->p->sample_types[type]) : KYMO_NONE;
    return kymo_encoder_has_type(w->p, type) ||
           (other != KYMO_NONE && kymo_encoder_has_type(before, other));
}

/* Types of the profile before have the columns of those that they are compared with; the others
 * have none, and their samples are left out. */
static void take_columns(kymo_pprof *w, const kymo_pprof *first)
{
    uint32_t before_kind = w->encoder->options->before_kind;
    uint32_t kind = kymo_encoder_type(first->encoder);
    w->column_count = first->column_count;
    w->has_wall = first->has_wall;
    for (uint32_t i = 0; i < w->p->sample_type_count; i++) {
        uint32_t type =
            before_kind == i + 1 ? kind : kymo_encoder_type_like(first->p, &w->p->sample_types[i]);
        int is_taken = before_kind != 0 && before_kind != i + 1 && type == kind;
        w->columns[i] = (struct kymo_pprof_columns){KYMO_PPROF_NO_COLUMN, KYMO_PPROF_NO_COLUMN};
        if (type != KYMO_NONE && !is_taken)
            w->columns[i] = first->columns[type];
    }
}

static int is_one_kind(const kymo_pprof *w)
{
    const kymo_encode_options *o = w->encoder->options;
    return o && (o->flags & KYMO_ENCODE_KIND_ALONE);
}

/* Determines the values of samples. */
static void choose_columns(kymo_pprof *w)
{
    const int is_alone = is_one_kind(w);
    for (uint32_t i = 0; i < w->p->sample_type_count; i++) {
        const kymo_sample_type *t = &w->p->sample_types[i];
        w->columns[i].value = KYMO_PPROF_NO_COLUMN;
        if (is_alone && i != kymo_encoder_type(w->encoder))
            continue;
        if (!is_alone && t->is_optional && i != w->p->default_sample_type && !has_type(w, i))
            continue;
        w->columns[i].count = t->count_name ? w->column_count++ : KYMO_PPROF_NO_COLUMN;
        w->columns[i].value = w->column_count++;
        w->has_wall |= t->adds == KYMO_ADDS_ELAPSED;
    }
}

static uint64_t period_of(const kymo_profile *p, const kymo_sample_type *type)
{
    if (type->period || type->adds == KYMO_ADDS_AMOUNT)
        return type->period;
    return type->adds == KYMO_ADDS_CPU_TIME ? p->meta.period_ns : p->meta.wall_period_ns;
}

static void write_types(kymo_pprof *w)
{
    const kymo_profile *p = w->p;
    const uint32_t type = is_one_kind(w) ? kymo_encoder_type(w->encoder) : p->default_sample_type;
    const kymo_sample_type *chosen = &p->sample_types[type];
    for (uint32_t i = 0; i < p->sample_type_count; i++) {
        const kymo_sample_type *t = &p->sample_types[i];
        if (w->columns[i].value == KYMO_PPROF_NO_COLUMN)
            continue;
        if (t->count_name)
            kymo_pprof_value_type(w, KYMO_PPROF_PROFILE_SAMPLE_TYPE, t->count_name, "count");
        kymo_pprof_value_type(w, KYMO_PPROF_PROFILE_SAMPLE_TYPE, t->name, t->unit);
    }
    kymo_pprof_value_type(w, KYMO_PPROF_PROFILE_PERIOD_TYPE, chosen->period_name,
                          chosen->period_unit);
    kymo_proto_u64(&w->out, KYMO_PPROF_PROFILE_PERIOD, period_of(p, chosen));
    kymo_proto_u64(&w->out, KYMO_PPROF_PROFILE_DEFAULT_SAMPLE_TYPE,
                   kymo_pprof_cstr(w, chosen->name));
}

static kymo_err write_head(kymo_pprof *w)
{
    const kymo_meta *meta = &w->p->meta;
    uint64_t start;
    uint64_t end;
    kymo_encoder_range(w->p, &start, &end);
    new_string(w, "", 0); /* the format requires it at index 0 */
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
    w->string_count = first->string_count;
    w->function_base = w->function_count = first->function_count;
    w->location_base = first->p->frames.len + (kymo_encoder_lacks_stacks(first->p) ? 1 : 0);
    w->mapping_base = first->mapping_count;
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
    KYMO_TRY(number_mappings(w));
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
    size_t stacks = p->stack_frame.len + 1;
    *w = (kymo_pprof){.encoder = encoder,
                      .p = p,
                      .first = first,
                      .string_of = calloc(p->strings.len, sizeof(uint32_t)),
                      .mapping_of = calloc(p->modules.len + 1, sizeof(uint32_t)),
                      .mapping_flags = calloc(p->modules.len + 1, 1),
                      .touched = malloc(stacks * sizeof(uint32_t)),
                      .is_touched = calloc(stacks, 1)};
    if (kymo_heap_shown(encoder) == KYMO_ENCODE_TIME && first)
        take_columns(w, first);
    else if (kymo_heap_shown(encoder) == KYMO_ENCODE_TIME)
        choose_columns(w);
    w->values = calloc(stacks * (w->column_count + 1), sizeof *w->values);
    int has_all = w->string_of && w->mapping_of && w->mapping_flags && w->touched &&
                  w->is_touched && w->values;
    return has_all ? KYMO_OK : KYMO_E_NOMEM;
}

static void deinit(kymo_pprof *w)
{
    free(w->string_of);
    free(w->mapping_of);
    free(w->mapping_flags);
    free(w->touched);
    free(w->is_touched);
    free(w->values);
    kymo_proto_deinit(&w->out);
    kymo_proto_deinit(&w->message);
    kymo_proto_deinit(&w->inner);
    kymo_vec_deinit(&w->made);
    kymo_index_deinit(&w->made_index);
    kymo_arena_deinit(&w->arena);
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
