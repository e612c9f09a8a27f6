/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_markers.c - markers as events of their thread.
 *
 * Intervals of a thread's track must nest: readers drop those that do not. Markers come by their
 * start, of equal starts the longer one first, so one look at the innermost open interval tells.
 * One that would reach beyond it, that has a track of its own, or that began before the recording
 * (its place in the order is that of its end) is a pair of asynchronous events.
 */
#include <inttypes.h>
#include <stdio.h>

#include "encode/chrome/chrome.h"

struct open_intervals {
    KYMO_VEC(uint64_t) ends; /* the innermost one is last; ns since the profile's zero */
};

/* ---- what a marker says ---- */

static void put_value(struct kymo_chrome *w, const kymo_value *value);

static void put_list(struct kymo_chrome *w, const kymo_value *list)
{
    const kymo_value *values = kymo_profile_values(w->p, list->as.list.first, list->as.list.count);
    kymo_json_begin_array(w->json);
    for (uint32_t i = 0; values && i < list->as.list.count; i++)
        put_value(w, &values[i]);
    kymo_json_end_array(w->json);
}

/* Lists have no lists in them: the profile sees to that. */
static void put_value(struct kymo_chrome *w, const kymo_value *value)
{
    char text[32];
    switch (value->kind) {
    case KYMO_VALUE_BOOL:
        kymo_json_bool(w->json, value->as.u64 != 0);
        break;
    case KYMO_VALUE_I64:
    case KYMO_VALUE_NS:
        kymo_json_i64(w->json, value->as.i64);
        break;
    case KYMO_VALUE_U64:
        kymo_json_u64(w->json, value->as.u64);
        break;
    case KYMO_VALUE_TIME:
        kymo_json_u64(w->json, kymo_since_origin(w->p, value->as.u64));
        break;
    case KYMO_VALUE_F64:
        kymo_json_f64(w->json, value->as.f64);
        break;
    case KYMO_VALUE_STRING:
        kymo_json_string(w->json, kymo_profile_string(w->p, value->as.string),
                         kymo_profile_string_len(w->p, value->as.string));
        break;
    case KYMO_VALUE_POINTER:
    case KYMO_VALUE_FLOW:
        snprintf(text, sizeof text, "0x%" PRIx64, value->as.u64);
        kymo_json_cstr(w->json, text);
        break;
    case KYMO_VALUE_LIST:
        put_list(w, value);
        break;
    default:
        kymo_json_null(w->json);
    }
}

static void put_fields(struct kymo_chrome *w, const kymo_marker *m)
{
    const kymo_schema *schema = kymo_profile_schema(w->p, m->schema);
    const kymo_value *values = kymo_profile_values(w->p, m->first_value, m->value_count);
    for (uint32_t i = 0; schema && values && i < m->value_count && i < schema->field_count; i++) {
        if (values[i].kind == KYMO_VALUE_NONE)
            continue;
        kymo_json_key(w->json, kymo_profile_string(w->p, schema->fields[i].key));
        put_value(w, &values[i]);
    }
}

/* A field may have the key of a label. */
static void put_labels(struct kymo_chrome *w, uint32_t set)
{
    uint32_t count;
    const kymo_label *labels = kymo_profile_label_set(w->p, set, &count);
    if (count == 0)
        return;
    kymo_json_key_object(w->json, "labels");
    for (uint32_t i = 0; i < count; i++) {
        kymo_json_key(w->json, kymo_profile_string(w->p, labels[i].key));
        put_value(w, &labels[i].value);
    }
    kymo_json_end_object(w->json);
}

static void put_category(struct kymo_chrome *w, uint32_t id)
{
    const kymo_marker_category *c = kymo_profile_marker_category(w->p, id);
    const kymo_marker_category *parent = c ? kymo_profile_marker_category(w->p, c->parent) : NULL;
    kymo_json_key(w->json, "cat");
    kymo_json_string_begin(w->json);
    if (parent) {
        kymo_json_string_part(w->json, kymo_profile_string(w->p, parent->name),
                              kymo_profile_string_len(w->p, parent->name));
        kymo_json_string_part(w->json, ",", 1);
    }
    if (c)
        kymo_json_string_part(w->json, kymo_profile_string(w->p, c->name),
                              kymo_profile_string_len(w->p, c->name));
    else
        kymo_json_string_part(w->json, "marker", 6);
    kymo_json_string_end(w->json);
}

static void put_args(struct kymo_chrome *w, const kymo_marker *m)
{
    kymo_json_key_object(w->json, "args");
    if (m->phase == KYMO_MARKER_UNFINISHED)
        kymo_json_key_bool(w->json, "unfinished", 1);
    if (m->phase == KYMO_MARKER_UNBEGUN)
        kymo_json_key_bool(w->json, "began before the recording", 1);
    put_fields(w, m);
    put_labels(w, m->labels);
    kymo_json_end_object(w->json);
}

/* ---- events ---- */

static void begin(struct kymo_chrome *w, const kymo_marker *m, const char *phase, uint64_t time_ns)
{
    const kymo_thread *t = kymo_profile_thread(w->p, m->thread);
    kymo_chrome_begin(w, phase, w->pids[t->process], (uint32_t)t->tid, time_ns);
    kymo_json_key_cstr(w->json, "name", kymo_profile_string(w->p, m->track ? m->track : m->name));
    put_category(w, m->category);
}

static void put_instant(struct kymo_chrome *w, const kymo_marker *m, uint64_t time_ns)
{
    begin(w, m, "i", time_ns);
    kymo_json_key_cstr(w->json, "s", "t"); /* drawn in its thread alone */
    put_args(w, m);
    kymo_json_end_object(w->json);
}

static void put_nested(struct kymo_chrome *w, const kymo_marker *m, uint64_t from_ns,
                       uint64_t to_ns)
{
    begin(w, m, "X", from_ns);
    kymo_json_key(w->json, "dur");
    kymo_json_fixed(w->json, to_ns - from_ns, 3);
    put_args(w, m);
    kymo_json_end_object(w->json);
}

/* The events of a pair have the same id, name and category. */
static void put_pair(struct kymo_chrome *w, const kymo_marker *m, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t id = ++w->next_id;
    begin(w, m, "b", from_ns);
    kymo_json_key_u64(w->json, "id", id);
    put_args(w, m);
    kymo_json_end_object(w->json);
    begin(w, m, "e", to_ns);
    kymo_json_key_u64(w->json, "id", id);
    kymo_json_end_object(w->json);
}

/* Whether the interval lies inside the innermost one that is open, or behind it. */
static int nests(struct open_intervals *open, uint64_t from_ns, uint64_t to_ns)
{
    while (open->ends.len > 0 && open->ends.data[open->ends.len - 1] <= from_ns)
        open->ends.len--;
    return open->ends.len == 0 || to_ns <= open->ends.data[open->ends.len - 1];
}

static kymo_err put_marker(struct kymo_chrome *w, struct open_intervals *open, const kymo_marker *m)
{
    uint64_t from_ns = kymo_since_origin(w->p, m->start_ns);
    uint64_t to_ns = kymo_since_origin(w->p, m->end_ns);
    if (m->phase == KYMO_MARKER_UNFINISHED)
        to_ns = w->end_ns > from_ns ? w->end_ns : from_ns;
    if (m->phase == KYMO_MARKER_UNBEGUN)
        from_ns = 0;
    if (m->phase == KYMO_MARKER_INSTANT) {
        put_instant(w, m, from_ns);
    } else if (m->track || m->phase == KYMO_MARKER_UNBEGUN || !nests(open, from_ns, to_ns)) {
        put_pair(w, m, from_ns, to_ns);
    } else {
        KYMO_TRY(kymo_vec_push(&open->ends, to_ns));
        put_nested(w, m, from_ns, to_ns);
    }
    return kymo_encoder_step(w->encoder, 1);
}

kymo_err kymo_chrome_write_markers(struct kymo_chrome *w, uint32_t thread)
{
    kymo_markers markers = kymo_profile_markers(w->p, thread);
    struct open_intervals open = {0};
    kymo_err err = KYMO_OK;
    for (size_t i = 0; i < markers.count && err == KYMO_OK; i++)
        err = put_marker(w, &open, &markers.rows[i]);
    kymo_vec_deinit(&open.ends);
    return err;
}
