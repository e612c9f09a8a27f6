/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_marks_fixture.h - a recording of one process with three threads and a second process, to
 * which a test adds markers and labels.
 */
#ifndef KYMO_TESTS_INGEST_MARKS_FIXTURE_H
#define KYMO_TESTS_INGEST_MARKS_FIXTURE_H

#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "buffer/record.h"
#include "kymo/marker_abi.h"
#include "profile/ingest.h"

#define ok(expr) assert_int_equal((expr), KYMO_OK)
#define send(what, ...)                                 \
    do {                                                \
        const __typeof__(__VA_ARGS__) e_ = __VA_ARGS__; \
        ok(kymo_ingest_handler.what(ingest, &e_));      \
    } while (0)

static kymo_profile *profile;
static kymo_ingest *ingest;

/* Threads 0 to 2 are of process 0, thread 3 of process 1; category 0 is "Network". */
static inline int begin(void **state)
{
    (void)state;
    if (kymo_profile_create(&profile) != KYMO_OK || kymo_ingest_create(profile, &ingest) != KYMO_OK)
        return -1;
    send(meta, (kymo_event_meta){.start_ns = 1, .engine = "perf"});
    for (uint32_t i = 0; i < 2; i++)
        send(process,
             (kymo_event_process){
                 .process = i, .pid = 10 * (int32_t)i + 10, .is_main = i == 0, .start_ns = 1});
    for (uint32_t i = 0; i < 4; i++)
        send(thread, (kymo_event_thread){
                         .thread = i, .process = i == 3, .tid = 10 + (int32_t)i, .start_ns = 1});
    send(marker_category, (kymo_event_marker_category){.parent = KYMO_EVENT_NONE,
                                                       .color = KYMO_COLOR_BLUE,
                                                       .name = "Network"});
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    kymo_ingest_destroy(ingest);
    kymo_profile_destroy(profile);
    return 0;
}

/* A site of category 0. */
static inline void add_site(uint32_t site, uint32_t type, uint32_t kind, const char *name,
                            const char *format)
{
    send(site, (kymo_event_site){
                   .site = site, .type = type, .kind = kind, .name = name, .format = format});
}

/* A type of a.c, line 7. */
static inline void add_type(uint32_t type, const char *name, const kymo_event_marker_field *fields,
                            uint32_t count, uint32_t payload_bytes)
{
    send(marker_type, (kymo_event_marker_type){.type = type,
                                               .name = name,
                                               .file = "a.c",
                                               .line = 7,
                                               .fields = fields,
                                               .field_count = count,
                                               .payload_bytes = payload_bytes});
}

/* A marker without anything. */
static inline kymo_event_marker plain(uint32_t thread, uint32_t site, uint32_t phase,
                                      uint64_t time_ns)
{
    return (kymo_event_marker){.thread = thread,
                               .site = site,
                               .phase = phase,
                               .stack = KYMO_EVENT_NONE,
                               .time_ns = time_ns,
                               .track = KYMO_EVENT_NONE};
}

static inline void finish(void)
{
    ok(kymo_ingest_finish(ingest));
}

static inline const kymo_marker *marker_of(uint32_t thread, size_t i)
{
    kymo_markers markers = kymo_profile_markers(profile, thread);
    assert_true(i < markers.count);
    return &markers.rows[i];
}

static inline const kymo_value *values_of(const kymo_marker *m)
{
    return kymo_profile_values(profile, m->first_value, m->value_count);
}

static inline const char *text_of(uint32_t string)
{
    return kymo_profile_string(profile, string);
}

static inline const char *note(size_t i)
{
    kymo_ingest_extra extra = kymo_ingest_get_extra(ingest);
    assert_true(i < extra.note_count);
    return extra.notes[i].text;
}

/* The labels of a set: "key=value key=value", numbers in decimal. */
static inline const char *labels_of(uint32_t set)
{
    static char text[1024];
    uint32_t count;
    const kymo_label *labels = kymo_profile_label_set(profile, set, &count);
    size_t len = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        const kymo_value *v = &labels[i].value;
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s=", i ? " " : "",
                                text_of(labels[i].key));
        if (v->kind == KYMO_VALUE_STRING)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s", text_of(v->as.string));
        else if (v->kind == KYMO_VALUE_F64)
            len += (size_t)snprintf(text + len, sizeof text - len, "%g", v->as.f64);
        else
            len += (size_t)snprintf(text + len, sizeof text - len, "%lld", (long long)v->as.i64);
        assert_true(len < sizeof text);
    }
    return text;
}

#endif
