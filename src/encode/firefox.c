/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox.c - the processed profile of the Firefox Profiler, version 66.
 *
 * The format is columns of JSON, so a table is written in as many passes as it has columns. Before
 * the first, numbers are given out:
 *
 *   libs         one for each file, wherever it was mapped; its resource has the same number
 *   funcTable    functions that show the same (name, source, line, file) are one, since the call
 * tree merges by this index; then one for each frame without a name; then "[no stack]" frameTable
 * the functions inlined into a frame become frames of their own, outermost first stackTable   and
 * stack nodes of their own, each the child of the one before
 *
 * A sample's weight is the CPU time since the thread's last sample, in milliseconds ("tracing-ms"),
 * so that the call tree adds up to the CPU time; threadCPUDelta, in nanoseconds, draws the tracks.
 * Of wall samples those of waiting threads are rows, too, with the time that was waited as their
 * weight; running threads have their CPU samples. Where a wait ends there is a row without a
 * weight, so that the CPU time after it is drawn after it. Times are written as differences
 * (timeDeltas), which are shorter. The silent failures of the front-end are listed in
 * doc/encodings.md and looked for by tools/check-profile.
 */
#include "encode/firefox.h"
#include "encode/decimal.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

static void number_libs(kymo_firefox *w)
{
    for (uint32_t i = 0; i < w->p->modules.len; i++) {
        uint32_t file = w->p->module_ids.data[i].file; /* not after i */
        w->lib_of[i] = file == i ? w->lib_count++ : w->lib_of[file];
    }
}

static int looks_same(const kymo_function *a, const kymo_function *b)
{
    return a->name == b->name && a->source == b->source && a->start_line == b->start_line &&
           a->module == b->module;
}

/* Functions that differ only in their linker's name (the clones of a constructor) look the same. */
static kymo_err number_functions(kymo_firefox *w)
{
    kymo_index seen = {0};
    kymo_err err = KYMO_OK;
    for (uint32_t i = 0; err == KYMO_OK && i < w->p->functions.len; i++) {
        const kymo_function *f = &w->p->functions.data[i];
        uint64_t words[2] = {(uint64_t)f->name << 32 | f->source,
                             (uint64_t)f->start_line << 32 | f->module};
        uint64_t hash = kymo_hash_words(words, 2, kymo_hash_secret());
        uint32_t other = KYMO_NONE;
        size_t probe = 0;
        while (kymo_index_find(&seen, hash, &probe, &other) &&
               !looks_same(f, &w->p->functions.data[other]))
            other = KYMO_NONE;
        if (other != KYMO_NONE) {
            w->function_of[i] = w->function_of[other];
            continue;
        }
        w->function_of[i] = w->function_count++;
        err = kymo_index_put(&seen, hash, i);
    }
    kymo_index_deinit(&seen);
    return err;
}

static uint32_t frame_file(const kymo_profile *p, const kymo_frame *f)
{
    return f->module != KYMO_NONE ? p->module_ids.data[f->module].file : KYMO_NONE;
}

/* The address as the format can show it: relative to a lib, and exact as a JavaScript number. */
static uint64_t shown_address(const kymo_frame *f)
{
    return f->module != KYMO_NONE && f->address <= 1ull << 53 ? f->address : KYMO_NO_ADDRESS;
}

/* What tells one frame from another. Where the address is the name, it counts even if not shown. */
static uint64_t telling_address(const kymo_frame *f)
{
    return f->line_count == 0 ? f->address : shown_address(f);
}

static int same_frame(const kymo_profile *p, const kymo_frame *a, const kymo_frame *b)
{
    return telling_address(a) == telling_address(b) && frame_file(p, a) == frame_file(p, b) &&
           a->category == b->category && a->symbol == b->symbol && a->line_count == b->line_count &&
           (a->line_count == 0 ||
            memcmp(&p->lines.data[a->first_line], &p->lines.data[b->first_line],
                   a->line_count * sizeof(kymo_line)) == 0);
}

/* One file in several processes: its frames are the same here, where they have no runtime address.
 */
static kymo_err find_same_frame(kymo_firefox *w, kymo_index *seen, uint32_t frame)
{
    const kymo_frame *f = &w->p->frames.data[frame];
    kymo_line line = f->line_count ? w->p->lines.data[f->first_line] : (kymo_line){0, 0, 0};
    uint64_t words[] = {telling_address(f), (uint64_t)frame_file(w->p, f) << 32 | f->symbol,
                        (uint64_t)f->line_count << 8 | f->category,
                        (uint64_t)line.function << 32 | line.line, line.column};
    uint64_t hash = kymo_hash_words(words, KYMO_ARRAY_LEN(words), kymo_hash_secret());
    uint32_t other;
    for (size_t probe = 0; kymo_index_find(seen, hash, &probe, &other);)
        if (same_frame(w->p, f, &w->p->frames.data[other])) {
            w->frame_same[frame] = other;
            return KYMO_OK;
        }
    w->frame_same[frame] = frame;
    return kymo_index_put(seen, hash, frame);
}

/* How many frames of the format a frame is: its functions, or the one made up for it. */
static uint32_t frame_width(const kymo_frame *f)
{
    return f->line_count ? f->line_count : 1;
}

static kymo_err number_frames(kymo_firefox *w)
{
    kymo_index seen = {0};
    kymo_err err = KYMO_OK;
    uint64_t next = 0;
    for (uint32_t i = 0; err == KYMO_OK && i < w->p->frames.len; i++) {
        const kymo_frame *f = &w->p->frames.data[i];
        err = find_same_frame(w, &seen, i);
        if (err != KYMO_OK)
            break;
        if (w->frame_same[i] != i) {
            w->frame_first[i] = w->frame_first[w->frame_same[i]];
            continue;
        }
        w->frame_first[i] = (uint32_t)next;
        next += frame_width(f);
        w->unnamed_count += f->line_count == 0;
        if (next >= KYMO_NONE)
            err = KYMO_E_TOO_BIG;
    }
    w->frame_count = (uint32_t)next;
    kymo_index_deinit(&seen);
    return err;
}

static kymo_err number_stacks(kymo_firefox *w)
{
    uint64_t next = 0;
    for (uint32_t i = 0; i < w->p->stack_frame.len; i++) {
        next += frame_width(&w->p->frames.data[w->p->stack_frame.data[i]]);
        if (next >= KYMO_NONE)
            return KYMO_E_TOO_BIG;
        w->stack_last[i] = (uint32_t)next - 1;
    }
    w->stack_count = (uint32_t)next;
    return KYMO_OK;
}

static int compare_pids(const void *a, const void *b, void *profile)
{
    const kymo_profile *p = profile;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    const kymo_process *px = &p->processes.data[x];
    const kymo_process *py = &p->processes.data[y];
    if (px->pid != py->pid)
        return px->pid < py->pid ? -1 : 1;
    if (px->start_ns != py->start_ns)
        return px->start_ns < py->start_ns ? -1 : 1;
    return (x > y) - (x < y);
}

/* The viewer groups threads by pid; an image that an exec began, or a process that was given the
 * pid of a dead one, is a track of its own: "12.1". */
static kymo_err number_pids(kymo_firefox *w)
{
    size_t count = w->p->processes.len;
    uint32_t *list = malloc((count + 1) * sizeof *list);
    if (!list)
        return KYMO_E_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        list[i] = i;
    if (count > 1)
        qsort_r(list, count, sizeof *list, compare_pids, (void *)w->p);
    for (size_t i = 1; i < count; i++)
        if (w->p->processes.data[list[i]].pid == w->p->processes.data[list[i - 1]].pid)
            w->pid_turn[list[i]] = w->pid_turn[list[i - 1]] + 1;
    free(list);
    return KYMO_OK;
}

static void sum_threads(kymo_firefox *w)
{
    for (size_t i = 0; i < w->p->threads.len; i++) {
        const kymo_sample_columns *s = &w->p->samples.data[i];
        for (size_t k = 0; k < s->count; k++) {
            w->has_cpu |= s->kind[k] == KYMO_SAMPLE_CPU;
            if (s->kind[k] == KYMO_SAMPLE_CPU)
                w->thread_weight[i] += s->weight_ns[k];
        }
    }
}

/* ---- small tables of shared ---- */

static void begin_column(kymo_json *j, const char *name)
{
    kymo_json_key(j, name);
    kymo_json_begin_array(j);
}

/* A column that has one value in all rows. */
static void constant_column(kymo_json *j, const char *name, const char *literal, uint64_t count)
{
    begin_column(j, name);
    for (uint64_t i = 0; i < count; i++) {
        if (literal[0] == 'n')
            kymo_json_null(j);
        else if (literal[0] == 'f')
            kymo_json_bool(j, 0);
        else
            kymo_json_u64(j, (uint64_t)(literal[0] - '0'));
    }
    kymo_json_end_array(j);
}

/* Ends a table with its length. */
static void end_table(kymo_json *j, uint64_t length)
{
    kymo_json_key_u64(j, "length", length);
    kymo_json_end_object(j);
}

static void begin_table(kymo_json *j, const char *name)
{
    kymo_json_key(j, name);
    kymo_json_begin_object(j);
}

/* All strings of the profile under their own numbers, then the made-up names. */
static void write_strings(kymo_firefox *w)
{
    char text[KYMO_STRING_MAX + 32];
    begin_column(w->json, "stringArray");
    for (size_t i = 0; i < w->p->strings.len; i++)
        kymo_json_string(w->json, w->p->strings.data[i].data, w->p->strings.data[i].len);
    for (uint32_t i = 0; i < w->p->frames.len; i++)
        if (w->frame_same[i] == i && w->p->frames.data[i].line_count == 0)
            kymo_json_cstr(w->json, kymo_profile_frame_label(w->p, i, text, sizeof text));
    if (w->lacks_stacks)
        kymo_json_cstr(w->json, KYMO_NO_STACK_NAME);
    kymo_json_end_array(w->json);
}

static void write_sources(kymo_firefox *w)
{
    kymo_json *j = w->json;
    size_t n = w->p->sources.len;
    begin_table(j, "sources");
    constant_column(j, "id", "null", n);
    begin_column(j, "filename");
    for (size_t i = 0; i < n; i++)
        kymo_json_u64(j, w->p->sources.data[i]);
    kymo_json_end_array(j);
    constant_column(j, "startLine", "1", n);
    constant_column(j, "startColumn", "1", n);
    constant_column(j, "sourceMapURL", "null", n);
    constant_column(j, "content", "null", n);
    end_table(j, n);
    begin_table(j, "sourceLocationTable");
    constant_column(j, "source", "0", 0);
    constant_column(j, "line", "0", 0);
    constant_column(j, "column", "0", 0);
    end_table(j, 0);
}

static void put_address(kymo_json *j, uint64_t address)
{
    if (address == KYMO_NO_ADDRESS)
        kymo_json_i64(j, -1);
    else
        kymo_json_u64(j, address);
}

static void write_symbols(kymo_firefox *w)
{
    kymo_json *j = w->json;
    size_t n = w->p->symbols.len;
    const kymo_symbol *s = w->p->symbols.data;
    begin_table(j, "nativeSymbols");
    begin_column(j, "libIndex");
    for (size_t i = 0; i < n; i++)
        kymo_json_u64(j, w->lib_of[s[i].module]);
    kymo_json_end_array(j);
    begin_column(j, "address");
    for (size_t i = 0; i < n; i++)
        put_address(j, s[i].address <= 1ull << 53 ? s[i].address : KYMO_NO_ADDRESS);
    kymo_json_end_array(j);
    begin_column(j, "name");
    for (size_t i = 0; i < n; i++)
        kymo_json_u64(j, s[i].name);
    kymo_json_end_array(j);
    begin_column(j, "functionSize");
    for (size_t i = 0; i < n; i++)
        if (s[i].size_bytes > 0 && s[i].size_bytes <= 1ull << 53)
            kymo_json_u64(j, s[i].size_bytes);
        else
            kymo_json_null(j);
    kymo_json_end_array(j);
    end_table(j, n);
}

static void write_resources(kymo_firefox *w)
{
    kymo_json *j = w->json;
    begin_table(j, "resourceTable");
    begin_column(j, "lib");
    for (uint32_t i = 0; i < w->lib_count; i++)
        kymo_json_u64(j, i);
    kymo_json_end_array(j);
    begin_column(j, "name");
    for (size_t i = 0; i < w->p->modules.len; i++)
        if (w->p->module_ids.data[i].file == i)
            kymo_json_u64(j, w->p->module_ids.data[i].name);
    kymo_json_end_array(j);
    constant_column(j, "host", "null", w->lib_count);
    constant_column(j, "type", "1", w->lib_count);
    end_table(j, w->lib_count);
}

/* ---- functions ---- */

static void put_or_null(kymo_json *j, uint32_t value, uint32_t null_value)
{
    if (value == null_value)
        kymo_json_null(j);
    else
        kymo_json_u64(j, value);
}

static void put_resource(kymo_firefox *w, uint32_t module)
{
    if (module == KYMO_NONE)
        kymo_json_i64(w->json, -1);
    else
        kymo_json_u64(w->json, w->lib_of[module]);
}

static void function_name(kymo_firefox *w, const kymo_function *f)
{
    kymo_json_u64(w->json, f->name);
}

static void function_resource(kymo_firefox *w, const kymo_function *f)
{
    put_resource(w, f->module);
}

static void function_source(kymo_firefox *w, const kymo_function *f)
{
    put_or_null(w->json, f->source, KYMO_NONE);
}

static void function_line(kymo_firefox *w, const kymo_function *f)
{
    put_or_null(w->json, f->start_line, 0);
}

/* One column: the cells of the profile's functions; the made-up ones are up to the caller. */
static void begin_function_column(kymo_firefox *w, const char *name,
                                  void (*cell)(kymo_firefox *, const kymo_function *))
{
    uint32_t next = 0;
    begin_column(w->json, name);
    for (size_t i = 0; i < w->p->functions.len; i++)
        if (w->function_of[i] == next) {
            cell(w, &w->p->functions.data[i]);
            next++;
        }
}

static void null_cells(kymo_json *j, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        kymo_json_null(j);
}

static void write_functions(kymo_firefox *w)
{
    kymo_json *j = w->json;
    uint32_t made_up = w->unnamed_count + (w->lacks_stacks != 0);
    uint32_t count = w->function_count + made_up;
    begin_table(j, "funcTable");
    begin_function_column(w, "name", function_name);
    for (uint32_t i = 0; i < made_up; i++)
        kymo_json_u64(j, w->p->strings.len + i);
    kymo_json_end_array(j);
    constant_column(j, "isJS", "false", count);
    constant_column(j, "relevantForJS", "false", count);
    begin_function_column(w, "resource", function_resource);
    for (size_t i = 0; i < w->p->frames.len; i++)
        if (w->frame_same[i] == i && w->p->frames.data[i].line_count == 0)
            put_resource(w, frame_file(w->p, &w->p->frames.data[i]));
    if (w->lacks_stacks)
        put_resource(w, KYMO_NONE);
    kymo_json_end_array(j);
    begin_function_column(w, "source", function_source);
    null_cells(j, made_up);
    kymo_json_end_array(j);
    begin_function_column(w, "lineNumber", function_line);
    null_cells(j, made_up);
    kymo_json_end_array(j);
    constant_column(j, "columnNumber", "null", count);
    constant_column(j, "originalLocation", "null", count);
    end_table(j, count);
}

/* ---- frames ---- */

/* One cell of the frame table. line: NULL for a frame without names. */
typedef struct cell {
    const kymo_frame *frame;
    const kymo_line *line;
    uint32_t depth;   /* 0: outermost */
    uint32_t unnamed; /* its number among those */
} cell;

static void cell_func(kymo_firefox *w, const cell *c)
{
    kymo_json_u64(w->json, c->line ? w->function_of[c->line->function]
                                   : (uint64_t)w->function_count + c->unnamed);
}

static void cell_address(kymo_firefox *w, const cell *c)
{
    put_address(w->json, shown_address(c->frame));
}

static void cell_depth(kymo_firefox *w, const cell *c)
{
    kymo_json_u64(w->json, c->depth);
}

static void cell_category(kymo_firefox *w, const cell *c)
{
    kymo_json_u64(w->json, c->frame->category - 1u);
}

static void cell_symbol(kymo_firefox *w, const cell *c)
{
    put_or_null(w->json, c->frame->symbol, KYMO_NONE);
}

static void cell_line(kymo_firefox *w, const cell *c)
{
    put_or_null(w->json, c->line ? c->line->line : 0, 0);
}

static void cell_column(kymo_firefox *w, const cell *c)
{
    put_or_null(w->json, c->line ? c->line->column : 0, 0);
}

static kymo_err frame_column(kymo_firefox *w, const char *name,
                             void (*put)(kymo_firefox *, const cell *))
{
    uint32_t unnamed = 0;
    begin_column(w->json, name);
    for (size_t i = 0; i < w->p->frames.len; i++) {
        const kymo_frame *f = &w->p->frames.data[i];
        cell c = {.frame = f, .unnamed = unnamed};
        if (w->frame_same[i] != i)
            continue;
        if (f->line_count == 0) {
            put(w, &c);
            unnamed++;
        }
        for (; c.depth < f->line_count; c.depth++) {
            c.line = &w->p->lines.data[f->first_line + f->line_count - 1 - c.depth];
            put(w, &c);
        }
    }
    return kymo_encoder_step(w->encoder, w->p->frames.len);
}

/* The last row is that of "[no stack]". */
static kymo_err write_frames(kymo_firefox *w)
{
    kymo_json *j = w->json;
    uint32_t count = w->frame_count + (w->lacks_stacks != 0);
    begin_table(j, "frameTable");
#define COLUMN(name, put, last)                   \
    do {                                          \
        KYMO_TRY(frame_column(w, (name), (put))); \
        if (w->lacks_stacks)                      \
            last;                                 \
        kymo_json_end_array(j);                   \
    } while (0)
    COLUMN("func", cell_func, kymo_json_u64(j, (uint64_t)w->function_count + w->unnamed_count));
    COLUMN("address", cell_address, kymo_json_i64(j, -1));
    COLUMN("inlineDepth", cell_depth, kymo_json_u64(j, 0));
    COLUMN("category", cell_category, kymo_json_u64(j, KYMO_CATEGORY_OTHER - 1));
    constant_column(j, "subcategory", "0", count);
    COLUMN("nativeSymbol", cell_symbol, kymo_json_null(j));
    constant_column(j, "innerWindowID", "0", count);
    COLUMN("line", cell_line, kymo_json_null(j));
    COLUMN("column", cell_column, kymo_json_null(j));
#undef COLUMN
    constant_column(j, "originalLocation", "null", count);
    end_table(j, count);
    return j->err;
}

/* ---- stacks ---- */

static kymo_err write_stacks(kymo_firefox *w)
{
    kymo_json *j = w->json;
    const uint32_t *frame = w->p->stack_frame.data;
    const uint32_t *parent = w->p->stack_parent.data;
    uint32_t count = (uint32_t)w->p->stack_frame.len;
    begin_table(j, "stackTable");
    begin_column(j, "frame");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t width = frame_width(&w->p->frames.data[frame[i]]);
        for (uint32_t k = 0; k < width; k++)
            kymo_json_u64(j, (uint64_t)w->frame_first[frame[i]] + k);
        KYMO_TRY(kymo_encoder_step(w->encoder, 1));
    }
    if (w->lacks_stacks)
        kymo_json_u64(j, w->frame_count);
    kymo_json_end_array(j);
    begin_column(j, "prefixOffset");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t width = frame_width(&w->p->frames.data[frame[i]]);
        uint32_t first = w->stack_last[i] + 1 - width;
        kymo_json_u64(j, parent[i] != KYMO_NONE ? first - w->stack_last[parent[i]] : 0);
        for (uint32_t k = 1; k < width; k++)
            kymo_json_u64(j, 1);
        KYMO_TRY(kymo_encoder_step(w->encoder, 1));
    }
    if (w->lacks_stacks)
        kymo_json_u64(j, 0);
    kymo_json_end_array(j);
    end_table(j, (uint64_t)w->stack_count + (w->lacks_stacks != 0));
    return j->err;
}

/* ---- threads ---- */

/* The viewer ignores the first threadCPUDelta of a thread, for want of a sample before it: all of
 * the CPU time of a thread with one sample. So a row without a stack and a weight comes first,
 * where the thread or the recording began; *time_ns is that moment. */
static int needs_anchor(const kymo_firefox *w, uint32_t thread, uint64_t *time_ns)
{
    const kymo_sample_columns *s = &w->p->samples.data[thread];
    uint64_t thread_start = kymo_since_origin(w->p, w->p->threads.data[thread].start_ns);
    *time_ns = thread_start > w->start_ns ? thread_start : w->start_ns;
    return s->count > 0 && *time_ns < kymo_since_origin(w->p, s->time_ns[0]);
}

/* One row of the samples of a thread. */
struct row {
    uint64_t time_ns; /* since the profile's zero */
    uint64_t weight_ns;
    uint64_t cpu_ns;
    uint32_t stack;
};

/* Where the next row comes from: a sample, or the end of the one before it. */
struct row_cursor {
    size_t next;
    uint64_t wait_end_ns; /* 0: the last row was no wait */
    uint32_t wait_stack;
};

static int is_wait(const kymo_sample_columns *s, size_t i)
{
    return s->kind[i] == KYMO_SAMPLE_WALL && s->state[i] != KYMO_STATE_RUNNING;
}

static int next_row(const kymo_firefox *w, const kymo_sample_columns *s, struct row_cursor *c,
                    struct row *row)
{
    while (c->next < s->count && s->kind[c->next] == KYMO_SAMPLE_WALL && !is_wait(s, c->next) &&
           w->has_cpu)
        c->next++;
    uint64_t time_ns =
        c->next < s->count ? kymo_since_origin(w->p, s->time_ns[c->next]) : w->end_ns;
    uint64_t ended_ns = c->wait_end_ns;
    c->wait_end_ns = 0;
    if (ended_ns && ended_ns < time_ns) {
        *row = (struct row){.time_ns = ended_ns, .stack = c->wait_stack};
        return 1;
    }
    if (c->next == s->count)
        return 0;
    size_t i = c->next++;
    *row = (struct row){
        .time_ns = time_ns,
        .weight_ns = s->weight_ns[i],
        .cpu_ns = s->kind[i] == KYMO_SAMPLE_CPU ? s->weight_ns[i] : 0,
        .stack = s->stack[i] != KYMO_NONE ? w->stack_last[s->stack[i]] : w->stack_count,
    };
    if (is_wait(s, i)) {
        c->wait_end_ns = time_ns + s->weight_ns[i];
        c->wait_stack = row->stack;
    }
    return 1;
}

static kymo_err write_samples(kymo_firefox *w, uint32_t thread)
{
    kymo_json *j = w->json;
    const kymo_sample_columns *s = &w->p->samples.data[thread];
    uint64_t before;
    int anchor = needs_anchor(w, thread, &before);
    uint64_t rows = anchor != 0;
    struct row row;
    struct row_cursor at;
    begin_table(j, "samples");
    begin_column(j, "stack");
    if (anchor)
        kymo_json_null(j);
    for (at = (struct row_cursor){0}; next_row(w, s, &at, &row); rows++)
        kymo_json_u64(j, row.stack);
    kymo_json_end_array(j);
    KYMO_TRY(kymo_encoder_step(w->encoder, s->count));
    begin_column(j, "timeDeltas");
    if (anchor)
        kymo_json_ms(j, before);
    else
        before = 0;
    for (at = (struct row_cursor){0}; next_row(w, s, &at, &row); before = row.time_ns)
        kymo_json_ms(j, row.time_ns - before);
    kymo_json_end_array(j);
    KYMO_TRY(kymo_encoder_step(w->encoder, s->count));
    begin_column(j, "weight");
    if (anchor)
        kymo_json_u64(j, 0);
    for (at = (struct row_cursor){0}; next_row(w, s, &at, &row);)
        kymo_json_ms(j, row.weight_ns);
    kymo_json_end_array(j);
    kymo_json_key_cstr(j, "weightType", "tracing-ms");
    KYMO_TRY(kymo_encoder_step(w->encoder, s->count));
    begin_column(j, "threadCPUDelta");
    if (anchor)
        kymo_json_u64(j, 0);
    for (at = (struct row_cursor){0}; next_row(w, s, &at, &row);)
        kymo_json_u64(j, row.cpu_ns);
    kymo_json_end_array(j);
    end_table(j, rows);
    return kymo_encoder_step(w->encoder, s->count);
}

static void write_no_markers(kymo_json *j)
{
    static const char *const columns[] = {"data",    "name",  "startTime",
                                          "endTime", "phase", "category"};
    begin_table(j, "markers");
    for (size_t i = 0; i < KYMO_ARRAY_LEN(columns); i++)
        constant_column(j, columns[i], "null", 0);
    end_table(j, 0);
}

static void key_time(kymo_firefox *w, const char *key, uint64_t time_ns)
{
    kymo_json_key(w->json, key);
    kymo_json_ms(w->json, kymo_since_origin(w->p, time_ns));
}

static void key_end_time(kymo_firefox *w, const char *key, uint64_t time_ns)
{
    if (time_ns) {
        key_time(w, key, time_ns);
    } else {
        kymo_json_key(w->json, key);
        kymo_json_null(w->json);
    }
}

static void key_pid(kymo_firefox *w, uint32_t process)
{
    char text[2 * KYMO_DECIMAL_MAX];
    char *end = kymo_decimal_i64(text, w->p->processes.data[process].pid);
    if (w->pid_turn[process]) {
        *end++ = '.';
        end = kymo_decimal_u64(end, w->pid_turn[process]);
    }
    kymo_json_key(w->json, "pid");
    kymo_json_string(w->json, text, (size_t)(end - text));
}

enum { COMMAND_MAX = 240 }; /* bytes of a command line */

/* The viewer shows it with each process: by its arguments one compiler run is told from another. */
static void key_process_name(kymo_firefox *w, const kymo_process *process)
{
    char text[COMMAND_MAX + sizeof "..."];
    size_t len = 0;
    for (uint32_t i = 0; (i == 0 || i < process->argc) && len < COMMAND_MAX; i++) {
        const char *word = i == 0 ? process->name : process->argv[i];
        size_t n = strlen(word);
        if (i > 0)
            text[len++] = ' ';
        if (n > COMMAND_MAX - len)
            n = COMMAND_MAX - len;
        memcpy(text + len, word, n);
        len += n;
    }
    if (len == COMMAND_MAX) {
        memcpy(text + len, "...", 3);
        len += 3;
    }
    kymo_json_key(w->json, "processName");
    kymo_json_string(w->json, text, len);
}

static kymo_err write_thread(kymo_firefox *w, uint32_t thread)
{
    kymo_json *j = w->json;
    const kymo_thread *t = &w->p->threads.data[thread];
    const kymo_process *process = &w->p->processes.data[t->process];
    kymo_json_begin_object(j);
    kymo_json_key_cstr(j, "processType", "default");
    key_time(w, "processStartupTime", process->start_ns);
    key_end_time(w, "processShutdownTime", process->end_ns);
    key_time(w, "registerTime", t->start_ns);
    key_end_time(w, "unregisterTime", t->end_ns);
    begin_column(j, "pausedRanges");
    kymo_json_end_array(j);
    kymo_json_key_cstr(j, "name", t->name);
    key_process_name(w, process);
    kymo_json_key(j, "isMainThread");
    kymo_json_bool(j, t->is_main != 0);
    kymo_json_key(j, "showMarkersInTimeline");
    kymo_json_bool(j, 1);
    key_pid(w, t->process);
    kymo_json_key(j, "tid");
    kymo_json_i64(j, t->tid);
    KYMO_TRY(write_samples(w, thread));
    write_no_markers(j);
    kymo_json_end_object(j);
    return j->err;
}

/* ---- the whole ---- */

static kymo_err write_shared(kymo_firefox *w)
{
    begin_table(w->json, "shared");
    write_strings(w);
    write_sources(w);
    write_symbols(w);
    write_resources(w);
    write_functions(w);
    KYMO_TRY(write_frames(w));
    KYMO_TRY(write_stacks(w));
    kymo_json_end_object(w->json);
    return w->json->err;
}

static kymo_err write_all(kymo_firefox *w)
{
    number_libs(w);
    KYMO_TRY(number_functions(w));
    KYMO_TRY(number_frames(w));
    KYMO_TRY(number_stacks(w));
    KYMO_TRY(number_pids(w));
    sum_threads(w);
    kymo_encoder_range(w->p, &w->start_ns, &w->end_ns);
    if ((uint64_t)w->function_count + w->unnamed_count >= KYMO_NONE)
        return KYMO_E_TOO_BIG;
    kymo_json_begin_object(w->json);
    kymo_firefox_meta(w);
    kymo_firefox_libs(w);
    KYMO_TRY(write_shared(w));
    begin_column(w->json, "threads");
    for (size_t i = 0; i < w->p->thread_order.len; i++)
        KYMO_TRY(write_thread(w, w->p->thread_order.data[i]));
    kymo_json_end_array(w->json);
    kymo_json_end_object(w->json);
    return kymo_json_finish(w->json);
}

kymo_err kymo_firefox_write(kymo_encoder *encoder)
{
    const kymo_profile *p = encoder->profile;
    kymo_firefox w = {.encoder = encoder,
                      .p = p,
                      .json = malloc(sizeof(kymo_json)),
                      .lib_of = calloc(p->modules.len + 1, sizeof(uint32_t)),
                      .function_of = calloc(p->functions.len + 1, sizeof(uint32_t)),
                      .frame_same = calloc(p->frames.len + 1, sizeof(uint32_t)),
                      .frame_first = calloc(p->frames.len + 1, sizeof(uint32_t)),
                      .stack_last = calloc(p->stack_frame.len + 1, sizeof(uint32_t)),
                      .pid_turn = calloc(p->processes.len + 1, sizeof(uint32_t)),
                      .thread_weight = calloc(p->threads.len + 1, sizeof(uint64_t)),
                      .lacks_stacks = kymo_encoder_lacks_stacks(p)};
    kymo_err err = KYMO_E_NOMEM;
    encoder->total = 4 * p->sample_count + 2 * p->stack_frame.len + 7 * p->frames.len;
    if (w.json && w.lib_of && w.function_of && w.frame_same && w.frame_first && w.stack_last &&
        w.pid_turn && w.thread_weight) {
        kymo_json_init(w.json, encoder->sink);
        err = write_all(&w);
    }
    free(w.json);
    free(w.lib_of);
    free(w.function_of);
    free(w.frame_same);
    free(w.frame_first);
    free(w.stack_last);
    free(w.pid_turn);
    free(w.thread_weight);
    return err;
}
