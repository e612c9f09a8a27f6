/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_markers.c - the markers of a thread or a track, and the labels of a thread's samples.
 *
 * An interval is one row with both times (phase 1); rows with one time each would be paired by the
 * viewer by name. An interval without an end is a row with a start only (phase 2), which the viewer
 * draws up to the thread's last row and calls incomplete. An interval without a begin has an end
 * only (phase 3), unless the viewer would pair it with an unfinished one of the same name before
 * it: then it is an instant at its end.
 *
 * The format has no labels of samples. A label becomes a marker of type "Label" with the name of
 * its key, from the first to the last of the successive samples that have it.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "encode/firefox/firefox.h"
#include "encode/json_table.h"
#include "encode/value_text.h"

enum { PHASE_INSTANT, PHASE_INTERVAL, PHASE_START, PHASE_END };

/* A label, and the successive samples of a thread that have it. */
struct label_run {
    const kymo_label *label;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t samples;
};

struct row {
    const kymo_marker *marker; /* NULL: label */
    uint64_t start_ns;         /* on the profile's clock */
    uint32_t run;              /* of the label */
    uint32_t order;            /* order among rows with the same start */
    /* An end without a begin. The viewer would pair it with the begin of another interval. In a
     * flight recorder its own begin may have been dropped. */
    int is_lone_end;
};

struct table {
    KYMO_VEC(struct row) rows;
    KYMO_VEC(struct label_run) runs;
};

/* ---- labels of samples ---- */

static int same_label(const kymo_label *a, const kymo_label *b)
{
    return a->key == b->key && a->value.kind == b->value.kind && a->value.as.u64 == b->value.as.u64;
}

/* Finds the run of this label among those of the sample before. Sets are small. */
static uint32_t find_run(const struct table *t, const uint32_t *open, uint32_t open_count,
                         const kymo_label *label)
{
    for (uint32_t i = 0; i < open_count; i++)
        if (same_label(t->runs.data[open[i]].label, label))
            return open[i];
    return KYMO_NONE;
}

static kymo_err add_run(struct table *t, const kymo_label *label, uint64_t time_ns, uint32_t *run)
{
    struct row row = {
        .start_ns = time_ns, .run = (uint32_t)t->runs.len, .order = (uint32_t)t->rows.len};
    struct label_run one = {.label = label, .start_ns = time_ns};
    KYMO_TRY(kymo_vec_push(&t->runs, one));
    *run = row.run;
    return kymo_vec_push(&t->rows, row);
}

static kymo_err add_label_runs(const kymo_firefox *w, uint32_t thread, struct table *t)
{
    const uint32_t *sets = kymo_profile_sample_labels(w->p, thread);
    kymo_samples s = kymo_profile_samples(w->p, thread);
    uint32_t open[2][KYMO_LABEL_SET_MAX];
    uint32_t open_count = 0;
    unsigned now = 0;
    for (size_t i = 0; sets && i < s.count; i++) {
        uint32_t count;
        const kymo_label *label = kymo_profile_label_set(w->p, sets[i], &count);
        for (uint32_t k = 0; k < count; k++) {
            uint32_t run = find_run(t, open[now], open_count, &label[k]);
            if (run == KYMO_NONE)
                KYMO_TRY(add_run(t, &label[k], s.time_ns[i], &run));
            t->runs.data[run].end_ns = s.time_ns[i];
            t->runs.data[run].samples++;
            open[!now][k] = run;
        }
        open_count = count;
        now = !now;
    }
    return KYMO_OK;
}

/* ---- rows ---- */

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static kymo_err add_marker(struct table *t, const kymo_marker *m)
{
    struct row row = {.marker = m, .start_ns = m->start_ns, .order = (uint32_t)t->rows.len};
    return kymo_vec_push(&t->rows, row);
}

/* Whether there is an earlier row of this name with a begin only; adds this row if it is one. */
static kymo_err is_begun_above(struct table *t, kymo_index *begun, size_t at, int *is_above)
{
    const kymo_marker *m = t->rows.data[at].marker;
    uint64_t name = m->name;
    uint64_t hash = kymo_hash_words(&name, 1, kymo_hash_secret());
    size_t probe = 0;
    uint32_t position;
    *is_above = 0;
    while (!*is_above && kymo_index_find(begun, hash, &probe, &position))
        *is_above = t->rows.data[position].marker->name == m->name;
    if (*is_above || m->phase != KYMO_MARKER_UNFINISHED)
        return KYMO_OK;
    return kymo_index_put(begun, hash, (uint32_t)at);
}

static kymo_err sort_rows(struct table *t, int dropped)
{
    kymo_index begun = {0};
    kymo_err err = KYMO_OK;
    if (t->rows.len > 1)
        qsort(t->rows.data, t->rows.len, sizeof *t->rows.data, compare_rows);
    for (size_t i = 0; err == KYMO_OK && i < t->rows.len; i++) {
        struct row *row = &t->rows.data[i];
        if (row->marker && row->marker->phase >= KYMO_MARKER_UNFINISHED)
            err = is_begun_above(t, &begun, i, &row->is_lone_end);
        row->is_lone_end |= dropped;
    }
    kymo_index_deinit(&begun);
    return err;
}

static uint32_t phase_of(const struct row *row)
{
    if (!row->marker)
        return PHASE_INTERVAL;
    switch (row->marker->phase) {
    case KYMO_MARKER_INSTANT:
        return PHASE_INSTANT;
    case KYMO_MARKER_UNFINISHED:
        return PHASE_START;
    case KYMO_MARKER_UNBEGUN:
        return row->is_lone_end ? PHASE_INSTANT : PHASE_END;
    default:
        return PHASE_INTERVAL;
    }
}

static void put_time(kymo_firefox *w, uint64_t time_ns)
{
    kymo_json_ms(w->json, kymo_since_origin(w->p, time_ns));
}

/* ---- payload ---- */

static void put_text(kymo_firefox *w, const kymo_value *value, uint32_t format)
{
    char buffer[KYMO_VALUE_TEXT_MAX];
    size_t len;
    const char *text = kymo_value_text(w->p, value, format, buffer, &len);
    kymo_json_string(w->json, text, len);
}

static void put_list(kymo_firefox *w, const kymo_value *value)
{
    const kymo_value *cells;
    uint32_t count = kymo_firefox_cells(w->p, value, &cells);
    kymo_json_begin_array(w->json);
    for (uint32_t i = 0; i < count; i++)
        put_text(w, &cells[i], KYMO_FORMAT_STRING);
    kymo_json_end_array(w->json);
}

/* Row by row: the viewer fails if one column is shorter than the others. */
static void put_table(kymo_firefox *w, const kymo_firefox_field *field, const char *columns,
                      const kymo_value *value)
{
    kymo_json *j = w->json;
    const kymo_value absent = {0};
    uint32_t formats[KYMO_FIREFOX_COLUMNS_MAX] = {KYMO_FORMAT_STRING};
    kymo_firefox_column column;
    const kymo_value *cells;
    uint32_t count = kymo_firefox_cells(w->p, value, &cells);
    for (uint32_t i = 0; i < field->column_count && kymo_firefox_next_column(&columns, &column);
         i++)
        formats[i] = column.format;
    kymo_json_begin_array(j);
    for (uint32_t first = 0; first < count; first += field->column_count) {
        kymo_json_begin_array(j);
        for (uint32_t i = 0; i < field->column_count; i++) {
            kymo_firefox_numeric number;
            const kymo_value *cell = first + i < count ? &cells[first + i] : &absent;
            if (!(field->text_columns & 1ull << i) &&
                kymo_firefox_number_of(w->p, cell, formats[i], &number))
                kymo_firefox_put_number(j, &number);
            else
                put_text(w, cell, formats[i]);
        }
        kymo_json_end_array(j);
    }
    kymo_json_end_array(j);
}

static void put_value(kymo_firefox *w, const kymo_schema_field *f, const kymo_firefox_field *field,
                      const kymo_value *value)
{
    kymo_firefox_numeric number;
    switch (field->format) {
    case KYMO_FORMAT_UNIQUE_STRING:
        kymo_json_u64(w->json, value->as.string);
        return;
    case KYMO_FORMAT_FLOW_ID:
    case KYMO_FORMAT_TERMINATING_FLOW_ID:
        kymo_json_u64(w->json, kymo_firefox_flow_string(&w->marks, value->as.u64));
        return;
    case KYMO_FORMAT_LIST:
        put_list(w, value);
        return;
    case KYMO_FORMAT_TABLE:
        put_table(w, field, kymo_profile_string(w->p, f->columns), value);
        return;
    default:
        /* Numbers of a field that is written as text. */
        if (kymo_firefox_number_of(w->p, value, field->format, &number))
            kymo_firefox_put_number(w->json, &number);
        else
            put_text(w, value, f->format);
    }
}

static void put_fields(kymo_firefox *w, const kymo_marker *m, const kymo_schema *schema)
{
    const kymo_firefox_field *fields = kymo_firefox_fields_of(&w->marks, m->schema);
    const kymo_value *values = kymo_profile_values(w->p, m->first_value, m->value_count);
    for (uint32_t i = 0; values && i < m->value_count; i++) {
        if (values[i].kind == KYMO_VALUE_NONE)
            continue;
        kymo_firefox_put_key(w->json, w->p, schema, schema->fields[i].key);
        kymo_json_string_was_key(w->json);
        put_value(w, &schema->fields[i], &fields[i], &values[i]);
    }
}

static void put_extra_key(kymo_firefox *w, const kymo_schema *schema, const char *base)
{
    kymo_firefox_put_extra_key(w->json, w->p, schema, base);
    kymo_json_string_was_key(w->json);
}

static void put_extras(kymo_firefox *w, const kymo_marker *m, const kymo_schema *schema)
{
    kymo_json *j = w->json;
    const kymo_marker_category *category = kymo_profile_marker_category(w->p, m->category);
    if (category && category->parent != KYMO_NONE) {
        put_extra_key(w, schema, "subcategory");
        kymo_json_cstr(j, kymo_profile_string(w->p, category->name));
    }
    if (m->owner) {
        uint32_t flags = w->marks.schemas[schema ? m->schema : w->marks.schema_count].flags;
        kymo_value owner = {.kind = KYMO_VALUE_U64, .as.u64 = m->owner};
        put_extra_key(w, schema, "owner");
        if (flags & KYMO_FIREFOX_OWNER_IS_TEXT)
            put_text(w, &owner, KYMO_FORMAT_STRING);
        else
            kymo_json_u64(j, m->owner);
    }
    if (m->labels != KYMO_NONE) {
        put_extra_key(w, schema, "labels");
        kymo_firefox_put_labels(j, w->p, m->labels);
    }
    if (m->stack != KYMO_NONE) {
        kymo_json_key_object(j, "cause");
        kymo_json_key_u64(j, "stack", w->stack_last[m->stack]);
        kymo_json_end_object(j);
    }
}

static int has_payload(const kymo_firefox *w, const kymo_marker *m)
{
    const kymo_marker_category *category = kymo_profile_marker_category(w->p, m->category);
    return kymo_profile_schema(w->p, m->schema) || m->owner || m->labels != KYMO_NONE ||
           m->stack != KYMO_NONE || (category && category->parent != KYMO_NONE);
}

static void put_marker_data(kymo_firefox *w, const kymo_marker *m)
{
    kymo_json *j = w->json;
    const kymo_schema *schema = kymo_profile_schema(w->p, m->schema);
    if (!has_payload(w, m)) {
        kymo_json_null(j);
        return;
    }
    kymo_json_begin_object(j);
    kymo_json_key(j, "type");
    if (schema)
        kymo_firefox_put_type(j, w->p, schema->name);
    else
        kymo_json_cstr(j, w->marks.plain_name);
    if (schema)
        put_fields(w, m, schema);
    put_extras(w, m, schema);
    kymo_json_end_object(j);
}

static void put_label_data(kymo_firefox *w, const struct label_run *run)
{
    kymo_json *j = w->json;
    kymo_json_begin_object(j);
    kymo_json_key_cstr(j, "type", w->marks.label_name);
    kymo_json_key(j, "value");
    put_text(w, &run->label->value, KYMO_FORMAT_STRING);
    kymo_json_key_u64(j, "samples", run->samples);
    kymo_json_end_object(j);
}

/* ---- columns ---- */

static void data_cell(kymo_firefox *w, const struct table *t, const struct row *row)
{
    if (row->marker)
        put_marker_data(w, row->marker);
    else
        put_label_data(w, &t->runs.data[row->run]);
}

static void name_cell(kymo_firefox *w, const struct table *t, const struct row *row)
{
    kymo_json_u64(w->json, row->marker ? row->marker->name : t->runs.data[row->run].label->key);
}

static void start_cell(kymo_firefox *w, const struct table *t, const struct row *row)
{
    (void)t;
    if (phase_of(row) == PHASE_END)
        kymo_json_null(w->json);
    else
        put_time(w, row->start_ns);
}

static void end_cell(kymo_firefox *w, const struct table *t, const struct row *row)
{
    uint32_t phase = phase_of(row);
    if (phase == PHASE_INSTANT || phase == PHASE_START)
        kymo_json_null(w->json);
    else
        put_time(w, row->marker ? row->marker->end_ns : t->runs.data[row->run].end_ns);
}

static void phase_cell(kymo_firefox *w, const struct table *t, const struct row *row)
{
    (void)t;
    kymo_json_u64(w->json, phase_of(row));
}

static void category_cell(kymo_firefox *w, const struct table *t, const struct row *row)
{
    (void)t;
    kymo_json_u64(w->json, row->marker && row->marker->category != KYMO_NONE
                               ? w->marks.category_of[row->marker->category]
                               : KYMO_CATEGORY_OTHER - 1);
}

static kymo_err write_table(kymo_firefox *w, struct table *t)
{
    static const struct {
        const char *name;
        void (*put)(kymo_firefox *, const struct table *, const struct row *);
    } columns[] = {
        {"data", data_cell},   {"name", name_cell},   {"startTime", start_cell},
        {"endTime", end_cell}, {"phase", phase_cell}, {"category", category_cell},
    };
    KYMO_TRY(sort_rows(t, w->p->quality.dropped_markers > 0));
    kymo_json_key_object(w->json, "markers");
    for (size_t c = 0; c < KYMO_ARRAY_LEN(columns); c++) {
        kymo_json_key_array(w->json, columns[c].name);
        for (size_t i = 0; i < t->rows.len; i++) {
            columns[c].put(w, t, &t->rows.data[i]);
            KYMO_TRY(kymo_encoder_step(w->encoder, 1));
        }
        kymo_json_end_array(w->json);
    }
    kymo_json_end_table(w->json, t->rows.len);
    return w->json->err;
}

static void deinit_table(struct table *t)
{
    kymo_vec_deinit(&t->rows);
    kymo_vec_deinit(&t->runs);
}

kymo_err kymo_firefox_count_thread_markers(const kymo_firefox *w, uint32_t thread, size_t *count)
{
    struct table t = {0};
    kymo_markers markers = kymo_profile_markers(w->p, thread);
    kymo_err err = add_label_runs(w, thread, &t);
    *count = t.rows.len;
    for (size_t i = 0; i < markers.count; i++)
        *count += markers.rows[i].track == 0;
    deinit_table(&t);
    return err;
}

kymo_err kymo_firefox_put_thread_markers(kymo_firefox *w, uint32_t thread)
{
    struct table t = {0};
    kymo_markers markers = kymo_profile_markers(w->p, thread);
    kymo_err err = add_label_runs(w, thread, &t);
    for (size_t i = 0; err == KYMO_OK && i < markers.count; i++)
        if (markers.rows[i].track == 0)
            err = add_marker(&t, &markers.rows[i]);
    if (err == KYMO_OK)
        err = write_table(w, &t);
    deinit_table(&t);
    return err;
}

kymo_err kymo_firefox_put_track_markers(kymo_firefox *w, const kymo_firefox_track *track)
{
    struct table t = {0};
    kymo_err err = KYMO_OK;
    for (size_t i = 0; err == KYMO_OK && i < track->count; i++) {
        const kymo_firefox_tracked *row = &w->marks.tracked.data[track->first + i];
        err = add_marker(&t, &kymo_profile_markers(w->p, row->thread).rows[row->marker]);
    }
    if (err == KYMO_OK)
        err = write_table(w, &t);
    deinit_table(&t);
    return err;
}
