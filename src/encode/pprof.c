/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof.c - the profile.proto of google/pprof.
 *
 * One Location for each frame, numbered from 1 as the format wants it, one Function for each
 * function, one Sample for each pair of stack and thread. Location.address is the runtime address,
 * which lies in its Mapping's [start, limit): the reader subtracts memory_start - file_offset, as
 * it does for profiles of Go. Where an address does not (a second executable segment), it goes
 * without a mapping, but with its names.
 *
 * A frame in a file that could not be named has no Line: that is how the format says "not
 * symbolized", and a server that has the file by its build-id can do it later. An address in no
 * file will never have a name, so it is its own: "0x7f01...".
 *
 * A string is numbered and written when it is first used: fields of different kinds may come in any
 * order, so the table need not lie in memory. Samples are summed up thread by thread in two columns
 * by stack, which costs no hashing.
 */
#include "base/str.h"
#include "encode/encoder.h"
#include "encode/proto.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Field numbers of profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    VALUE_TYPE = 1,
    VALUE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_STR = 2,
    LABEL_NUM = 3,
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_OFFSET = 4,
    MAPPING_FILENAME = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILENAMES = 8,
    MAPPING_HAS_LINE_NUMBERS = 9,
    MAPPING_HAS_INLINE_FRAMES = 10,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    LINE_COLUMN = 3,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILENAME = 4,
    FUNCTION_START_LINE = 5,
};

enum { HAS_FUNCTIONS = 1, HAS_FILENAMES = 2, HAS_LINES = 4, HAS_INLINE = 8, HAS_LOCATION = 16 };

/* A string that the profile does not have. */
struct made {
    kymo_text text;
    uint32_t number;
};

/* What the samples of one thread and stack add up to. */
struct values {
    uint64_t count; /* of CPU samples */
    uint64_t cpu_ns;
    uint64_t wall_ns;
    uint32_t touched;
};

struct pprof {
    kymo_encoder *encoder;
    const kymo_profile *p;
    kymo_proto out; /* whole fields, on their way to the sink */
    kymo_proto message;
    kymo_proto inner;
    uint32_t string_count; /* written so far */
    KYMO_VEC(struct made) made;
    kymo_index made_index;
    kymo_arena arena;    /* their text */
    uint32_t key_thread; /* their numbers */
    uint32_t key_tid;
    uint32_t key_pid;
    uint32_t *string_of;    /* by string of the profile: number in the file; 0: not yet */
    uint32_t *mapping_of;   /* by module: number in the file, from 1 */
    uint8_t *mapping_flags; /* by that number */
    uint32_t mapping_count;
    uint64_t function_count; /* written so far, from 1 */
    uint32_t *touched;       /* stacks that the thread at hand has samples of */
    struct values *values;   /* by stack */
    int has_wall;            /* there is a third value */
    uint32_t key_wait;
};

/* A top-level field is in `out`; passes it on when there is enough of it. */
static kymo_err pass_on(struct pprof *w)
{
    return w->out.len >= 1 << 16 || w->out.failed ? kymo_proto_flush(&w->out, w->encoder->sink)
                                                  : KYMO_OK;
}

/* ---- strings ---- */

/* `out` holds whole fields only, so that a string may come in between at any time. */
static uint32_t new_string(struct pprof *w, const char *text, size_t len)
{
    kymo_proto_bytes(&w->out, PROFILE_STRING, text, len);
    return w->string_count++;
}

static uint32_t string_number(struct pprof *w, uint32_t string)
{
    if (string != 0 && w->string_of[string] == 0)
        w->string_of[string] =
            new_string(w, w->p->strings.data[string].data, w->p->strings.data[string].len);
    return w->string_of[string];
}

static kymo_err remember(struct pprof *w, uint64_t hash, const char *text, size_t len,
                         uint32_t number)
{
    struct made made = {{kymo_arena_strndup(&w->arena, text, len), (uint32_t)len}, number};
    if (!made.text.data)
        return KYMO_E_NOMEM;
    KYMO_TRY(kymo_vec_push(&w->made, made));
    return kymo_index_put(&w->made_index, hash, (uint32_t)w->made.len - 1);
}

/* For text that the profile may have as a string, too, or that was made up before. */
static uint32_t text_number(struct pprof *w, const char *text, size_t len)
{
    uint32_t i;
    uint32_t string = kymo_profile_find_string(w->p, text, len);
    if (string != KYMO_NONE)
        return string_number(w, string);
    uint64_t hash = kymo_hash_bytes(text, len, kymo_hash_secret());
    for (size_t probe = 0; kymo_index_find(&w->made_index, hash, &probe, &i);)
        if (w->made.data[i].text.len == len && memcmp(w->made.data[i].text.data, text, len) == 0)
            return w->made.data[i].number;
    uint32_t number = new_string(w, text, len);
    if (remember(w, hash, text, len, number) != KYMO_OK)
        w->out.failed = 1;
    return number;
}

static uint32_t cstr_number(struct pprof *w, const char *text)
{
    return text_number(w, text, strlen(text));
}

/* ---- mappings ---- */

static int same_mapping(const kymo_profile *p, uint32_t a, uint32_t b)
{
    const kymo_module *x = &p->modules.data[a];
    const kymo_module *y = &p->modules.data[b];
    return p->module_ids.data[a].file == p->module_ids.data[b].file && x->start == y->start &&
           x->end == y->end && x->file_offset == y->file_offset && x->load_bias == y->load_bias;
}

/* Forked children have their parent's mappings: a hundred workers are still one. */
static kymo_err find_mapping(struct pprof *w, kymo_index *seen, uint32_t module)
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

/* The main executable of the main process comes first, then those of the others, then the rest. */
static int mapping_rank(const kymo_profile *p, uint32_t module)
{
    const kymo_module *m = &p->modules.data[module];
    return !m->is_main ? 2 : p->processes.data[m->process].is_main ? 0 : 1;
}

static kymo_err number_mappings(struct pprof *w)
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
static uint32_t frame_mapping(const struct pprof *w, const kymo_frame *f, uint64_t *address)
{
    *address = f->address == KYMO_NO_ADDRESS ? 0 : f->address;
    if (f->module == KYMO_NONE)
        return 0;
    const kymo_module *m = &w->p->modules.data[f->module];
    *address = f->address + m->load_bias;
    return *address >= m->start && *address < m->end ? w->mapping_of[f->module] : 0;
}

static void note_flags(struct pprof *w, const kymo_frame *f)
{
    uint64_t address;
    uint32_t mapping = frame_mapping(w, f, &address);
    if (mapping == 0)
        return;
    uint8_t *flags = &w->mapping_flags[mapping];
    if (!(*flags & HAS_LOCATION))
        *flags = HAS_LOCATION | HAS_FUNCTIONS | HAS_FILENAMES | HAS_LINES;
    if (f->line_count == 0)
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

static kymo_err write_mapping(struct pprof *w, const kymo_module *m, uint32_t path, uint32_t id)
{
    static const char hex[] = "0123456789abcdef";
    char build_id[2 * KYMO_BUILD_ID_MAX];
    uint8_t flags = w->mapping_flags[id];
    for (uint32_t i = 0; i < m->build_id_len; i++) {
        build_id[2 * i] = hex[m->build_id[i] >> 4];
        build_id[2 * i + 1] = hex[m->build_id[i] & 15];
    }
    kymo_proto_clear(&w->message);
    kymo_proto_u64(&w->message, MAPPING_ID, id);
    kymo_proto_u64(&w->message, MAPPING_START, m->start);
    kymo_proto_u64(&w->message, MAPPING_LIMIT, m->end);
    kymo_proto_u64(&w->message, MAPPING_OFFSET, m->file_offset);
    kymo_proto_u64(&w->message, MAPPING_FILENAME, string_number(w, path));
    if (m->build_id_len > 0)
        kymo_proto_u64(&w->message, MAPPING_BUILD_ID,
                       text_number(w, build_id, 2 * (size_t)m->build_id_len));
    kymo_proto_u64(&w->message, MAPPING_HAS_FUNCTIONS, (flags & HAS_FUNCTIONS) != 0);
    kymo_proto_u64(&w->message, MAPPING_HAS_FILENAMES, (flags & HAS_FILENAMES) != 0);
    kymo_proto_u64(&w->message, MAPPING_HAS_LINE_NUMBERS, (flags & HAS_LINES) != 0);
    kymo_proto_u64(&w->message, MAPPING_HAS_INLINE_FRAMES, (flags & HAS_INLINE) != 0);
    kymo_proto_message(&w->out, PROFILE_MAPPING, &w->message);
    return pass_on(w);
}

static kymo_err write_mappings(struct pprof *w)
{
    uint32_t next = 1;
    for (size_t i = 0; i < w->p->frames.len; i++)
        note_flags(w, &w->p->frames.data[i]);
    /* In the order of their numbers, since the first mapping is the main program. */
    for (int rank = 0; rank < 3; rank++)
        for (uint32_t i = 0; i < w->p->modules.len; i++)
            if (mapping_rank(w->p, i) == rank && w->mapping_of[i] == next)
                KYMO_TRY(write_mapping(w, &w->p->modules.data[i], w->p->module_ids.data[i].path,
                                       next++));
    return KYMO_OK;
}

/* ---- functions and locations ---- */

static kymo_err write_function(struct pprof *w, uint32_t name, uint32_t system_name,
                               uint32_t filename, uint32_t start_line)
{
    kymo_proto_clear(&w->message);
    kymo_proto_u64(&w->message, FUNCTION_ID, ++w->function_count);
    kymo_proto_u64(&w->message, FUNCTION_NAME, name);
    kymo_proto_u64(&w->message, FUNCTION_SYSTEM_NAME, system_name);
    kymo_proto_u64(&w->message, FUNCTION_FILENAME, filename);
    kymo_proto_u64(&w->message, FUNCTION_START_LINE, start_line);
    kymo_proto_message(&w->out, PROFILE_FUNCTION, &w->message);
    return pass_on(w);
}

static kymo_err write_functions(struct pprof *w)
{
    for (size_t i = 0; i < w->p->functions.len; i++) {
        const kymo_function *f = &w->p->functions.data[i];
        uint32_t name = string_number(w, f->name);
        uint32_t filename =
            f->source != KYMO_NONE ? string_number(w, w->p->sources.data[f->source]) : 0;
        KYMO_TRY(write_function(w, name, f->system_name ? string_number(w, f->system_name) : name,
                                filename, f->start_line));
        KYMO_TRY(kymo_encoder_step(w->encoder, 1));
    }
    return KYMO_OK;
}

/* A function that exists only for the reader; its number. */
static kymo_err write_made_up(struct pprof *w, const char *name, uint64_t *function)
{
    uint32_t string = cstr_number(w, name);
    KYMO_TRY(write_function(w, string, string, 0, 0));
    *function = w->function_count;
    return KYMO_OK;
}

static void add_line(struct pprof *w, uint64_t function, uint32_t line, uint32_t column)
{
    kymo_proto_clear(&w->inner);
    kymo_proto_u64(&w->inner, LINE_FUNCTION, function);
    kymo_proto_u64(&w->inner, LINE_LINE, line);
    kymo_proto_u64(&w->inner, LINE_COLUMN, column);
    kymo_proto_message(&w->message, LOCATION_LINE, &w->inner);
}

static kymo_err write_location(struct pprof *w, uint64_t id, const kymo_frame *f)
{
    uint64_t address;
    uint64_t function = 0;
    uint32_t mapping = frame_mapping(w, f, &address);
    if (mapping == 0 && f->line_count == 0) {
        char name[KYMO_STRING_MAX + 32];
        kymo_profile_frame_label(w->p, (uint32_t)id - 1, name, sizeof name);
        KYMO_TRY(write_made_up(w, name, &function));
    }
    kymo_proto_clear(&w->message);
    kymo_proto_u64(&w->message, LOCATION_ID, id);
    kymo_proto_u64(&w->message, LOCATION_MAPPING, mapping);
    kymo_proto_u64(&w->message, LOCATION_ADDRESS, address);
    for (uint32_t i = 0; i < f->line_count; i++) {
        const kymo_line *line = &w->p->lines.data[f->first_line + i];
        add_line(w, (uint64_t)line->function + 1, line->line, line->column);
    }
    if (function)
        add_line(w, function, 0, 0);
    kymo_proto_message(&w->out, PROFILE_LOCATION, &w->message);
    return pass_on(w);
}

static kymo_err write_locations(struct pprof *w)
{
    uint64_t function;
    for (size_t i = 0; i < w->p->frames.len; i++) {
        KYMO_TRY(write_location(w, i + 1, &w->p->frames.data[i]));
        KYMO_TRY(kymo_encoder_step(w->encoder, 1));
    }
    if (!kymo_encoder_lacks_stacks(w->p))
        return KYMO_OK;
    KYMO_TRY(write_made_up(w, KYMO_NO_STACK_NAME, &function));
    kymo_proto_clear(&w->message);
    kymo_proto_u64(&w->message, LOCATION_ID, w->p->frames.len + 1);
    add_line(w, function, 0, 0);
    kymo_proto_message(&w->out, PROFILE_LOCATION, &w->message);
    return pass_on(w);
}

/* ---- samples ---- */

static void add_label(struct pprof *w, kymo_proto *labels, uint32_t key, uint32_t text,
                      int64_t number)
{
    kymo_proto_clear(&w->inner);
    kymo_proto_u64(&w->inner, LABEL_KEY, key);
    kymo_proto_u64(&w->inner, LABEL_STR, text);
    kymo_proto_u64(&w->inner, LABEL_NUM, (uint64_t)number);
    kymo_proto_message(labels, SAMPLE_LABEL, &w->inner);
}

/* The labels of a thread's samples are the same for all of them: made once, copied into each. */
static void make_labels(struct pprof *w, const kymo_thread *t, kymo_proto *labels)
{
    kymo_proto_clear(labels);
    add_label(w, labels, w->key_thread, cstr_number(w, t->name), 0);
    add_label(w, labels, w->key_tid, 0, t->tid);
    add_label(w, labels, w->key_pid, 0, w->p->processes.data[t->process].pid);
}

/* The label of a stack that ends in what its thread waits in. */
static void add_wait_label(struct pprof *w, uint32_t stack)
{
    const kymo_frame *f = &w->p->frames.data[w->p->stack_frame.data[stack]];
    if (f->category == KYMO_CATEGORY_WAITING && f->line_count > 0)
        add_label(
            w, &w->message, w->key_wait,
            string_number(w, w->p->functions.data[w->p->lines.data[f->first_line].function].name),
            0);
}

static kymo_err write_sample(struct pprof *w, uint32_t stack, const struct values *values,
                             const kymo_proto *labels)
{
    uint32_t leaf = stack;
    const uint32_t *frame = w->p->stack_frame.data;
    const uint32_t *parent = w->p->stack_parent.data;
    kymo_proto_clear(&w->message);
    kymo_proto_clear(&w->inner);
    if (stack == KYMO_NONE)
        kymo_proto_varint(&w->inner, w->p->frames.len + 1);
    for (; stack != KYMO_NONE; stack = parent[stack])
        kymo_proto_varint(&w->inner, (uint64_t)frame[stack] + 1);
    kymo_proto_packed(&w->message, SAMPLE_LOCATION, &w->inner);
    kymo_proto_clear(&w->inner);
    kymo_proto_varint(&w->inner, values->count);
    kymo_proto_varint(&w->inner, values->cpu_ns);
    if (w->has_wall)
        kymo_proto_varint(&w->inner, values->wall_ns);
    kymo_proto_packed(&w->message, SAMPLE_VALUE, &w->inner);
    if (w->has_wall && leaf != KYMO_NONE)
        add_wait_label(w, leaf);
    w->message.failed |= labels->failed;
    kymo_proto_varint(&w->out, PROFILE_SAMPLE << 3 | 2);
    kymo_proto_varint(&w->out, w->message.len + labels->len);
    kymo_proto_raw(&w->out, &w->message);
    kymo_proto_raw(&w->out, labels);
    return pass_on(w);
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Stacks made one after the other mostly share their callers, so in the order of their ids the
 * compressor finds more to copy, which saves more time than sorting takes. */
static void sort_touched(struct pprof *w, size_t touched)
{
    size_t all = w->p->stack_frame.len + 1;
    if (touched < all / 16) {
        qsort(w->touched, touched, sizeof *w->touched, compare_ids);
        return;
    }
    size_t n = 0;
    for (size_t i = 0; i < all; i++)
        if (w->values[i].touched)
            w->touched[n++] = (uint32_t)i;
}

static kymo_err write_thread(struct pprof *w, uint32_t thread, const kymo_proto *labels)
{
    const kymo_sample_columns *s = &w->p->samples.data[thread];
    /* The last entry of the columns by stack stands for "no stack". */
    uint32_t none = (uint32_t)w->p->stack_frame.len;
    size_t touched = 0;
    for (size_t i = 0; i < s->count; i++) {
        uint32_t stack = s->stack[i] != KYMO_NONE ? s->stack[i] : none;
        struct values *v = &w->values[stack];
        if (!v->touched)
            w->touched[touched++] = stack;
        v->touched = 1;
        if (s->kind[i] == KYMO_SAMPLE_CPU) {
            v->count++;
            v->cpu_ns += s->weight_ns[i];
        } else {
            v->wall_ns += s->weight_ns[i];
        }
    }
    sort_touched(w, touched);
    KYMO_TRY(kymo_encoder_step(w->encoder, s->count));
    for (size_t i = 0; i < touched; i++) {
        uint32_t stack = w->touched[i];
        KYMO_TRY(write_sample(w, stack != none ? stack : KYMO_NONE, &w->values[stack], labels));
        w->values[stack] = (struct values){0};
        KYMO_TRY(kymo_encoder_step(w->encoder, 1));
    }
    return KYMO_OK;
}

static kymo_err write_samples(struct pprof *w)
{
    kymo_proto labels = {0};
    kymo_err err = KYMO_OK;
    for (size_t i = 0; err == KYMO_OK && i < w->p->thread_order.len; i++) {
        uint32_t thread = w->p->thread_order.data[i];
        if (w->p->samples.data[thread].count == 0)
            continue;
        make_labels(w, &w->p->threads.data[thread], &labels);
        err = write_thread(w, thread, &labels);
    }
    kymo_proto_deinit(&labels);
    return err;
}

/* ---- the whole ---- */

static void add_value_type(struct pprof *w, unsigned field, const char *type, const char *unit)
{
    kymo_proto_clear(&w->inner);
    kymo_proto_u64(&w->inner, VALUE_TYPE, cstr_number(w, type));
    kymo_proto_u64(&w->inner, VALUE_UNIT, cstr_number(w, unit));
    kymo_proto_message(&w->out, field, &w->inner);
}

static KYMO_PRINTF(2, 3) void add_comment(struct pprof *w, const char *fmt, ...)
{
    char text[512];
    char clean[sizeof text];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t len = kymo_utf8_copy(clean, sizeof clean, text, strlen(text));
    kymo_proto_u64(&w->out, PROFILE_COMMENT, text_number(w, clean, len));
}

static void add_ratio(struct pprof *w, const char *what, double ratio)
{
    if (!isnan(ratio))
        add_comment(w, "%s: %.4f", what, ratio);
}

/* What the recording says of itself; `pprof -comments` shows it. */
static void add_comments(struct pprof *w)
{
    const kymo_meta *meta = &w->p->meta;
    const kymo_quality *q = &w->p->quality;
    add_comment(w, "recorded by: kymo %s", meta->version ? meta->version : "");
    if (meta->engine)
        add_comment(w, "engine: %s", meta->engine);
    add_ratio(w, "achieved", q->achieved);
    add_ratio(w, "sampled rate", q->sampled_rate);
    if (w->has_wall) {
        add_ratio(w, "wall time accounted for", q->wall_achieved);
        add_comment(w, "calls disturbed: %" PRIu64, q->disturbed);
    }
    add_ratio(w, "stacks complete", q->stacks_complete);
    add_ratio(w, "frames symbolized", q->frames_symbolized);
    if (q->cpu_unsampled_ns)
        add_comment(w, "cpu not sampled: %" PRIu64 " ns", q->cpu_unsampled_ns);
    for (uint32_t i = 0; i < q->lost_count; i++)
        if (q->lost[i].count)
            add_comment(w, "lost, %s: %" PRIu64, q->lost[i].kind, q->lost[i].count);
}

static kymo_err write_head(struct pprof *w)
{
    const kymo_meta *meta = &w->p->meta;
    uint64_t start;
    uint64_t end;
    kymo_encoder_range(w->p, &start, &end);
    new_string(w, "", 0); /* the format wants it at 0 */
    add_value_type(w, PROFILE_SAMPLE_TYPE, "samples", "count");
    add_value_type(w, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
    if (w->has_wall)
        add_value_type(w, PROFILE_SAMPLE_TYPE, "wall", "nanoseconds");
    add_value_type(w, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
    kymo_proto_u64(&w->out, PROFILE_PERIOD, meta->period_ns);
    kymo_proto_u64(&w->out, PROFILE_TIME_NANOS,
                   meta->origin_realtime_ns ? meta->origin_realtime_ns + start : 0);
    kymo_proto_u64(&w->out, PROFILE_DURATION_NANOS, end - start);
    kymo_proto_u64(&w->out, PROFILE_DEFAULT_SAMPLE_TYPE, cstr_number(w, "cpu"));
    w->key_thread = cstr_number(w, "thread");
    w->key_tid = cstr_number(w, "tid");
    w->key_pid = cstr_number(w, "pid");
    if (w->has_wall)
        w->key_wait = cstr_number(w, "wait");
    add_comments(w);
    return pass_on(w);
}

static kymo_err write_all(struct pprof *w)
{
    KYMO_TRY(write_head(w));
    KYMO_TRY(number_mappings(w));
    KYMO_TRY(write_mappings(w));
    KYMO_TRY(write_functions(w));
    KYMO_TRY(write_locations(w));
    KYMO_TRY(write_samples(w));
    return kymo_proto_flush(&w->out, w->encoder->sink);
}

kymo_err kymo_pprof_write(kymo_encoder *encoder)
{
    const kymo_profile *p = encoder->profile;
    size_t stacks = p->stack_frame.len + 1;
    struct pprof w = {.encoder = encoder,
                      .p = p,
                      .string_of = calloc(p->strings.len, sizeof(uint32_t)),
                      .mapping_of = calloc(p->modules.len + 1, sizeof(uint32_t)),
                      .mapping_flags = calloc(p->modules.len + 1, 1),
                      .touched = malloc(stacks * sizeof(uint32_t)),
                      .values = calloc(stacks, sizeof(struct values)),
                      .has_wall = kymo_encoder_has_wall(p)};
    kymo_err err = KYMO_E_NOMEM;
    encoder->total = p->sample_count + p->functions.len + p->frames.len + p->stack_frame.len;
    if (w.string_of && w.mapping_of && w.mapping_flags && w.touched && w.values)
        err = write_all(&w);
    free(w.string_of);
    free(w.mapping_of);
    free(w.mapping_flags);
    free(w.touched);
    free(w.values);
    kymo_proto_deinit(&w.out);
    kymo_proto_deinit(&w.message);
    kymo_proto_deinit(&w.inner);
    kymo_vec_deinit(&w.made);
    kymo_index_deinit(&w.made_index);
    kymo_arena_deinit(&w.arena);
    return err;
}
