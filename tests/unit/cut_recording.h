/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cut_recording.h - a recording whose writer goes on in another file before some events.
 */
#ifndef KYMO_TESTS_CUT_RECORDING_H
#define KYMO_TESTS_CUT_RECORDING_H

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recording_fixture.h"

#define PARTS_MAX 3u

/* Goes on in fd: a segment, or an interval. */
typedef kymo_err begin_part(kymo_recording_writer *writer, int fd);

struct cut {
    kymo_recording_writer *writer;
    begin_part *begin;
    uint32_t at[PARTS_MAX - 1]; /* before which events; 0: nowhere */
    uint32_t seen;              /* events */
    struct kymo_recording_interval parts[PARTS_MAX];
    size_t count;
};

static inline int add_part(struct cut *c)
{
    int fd = memfd_create("part", MFD_CLOEXEC);
    c->parts[c->count++] = (struct kymo_recording_interval){fd, UINT64_MAX};
    return fd;
}

static inline kymo_err cut_here(struct cut *c)
{
    const kymo_event_end end = {.end_ns = 1, .clean = 1};
    for (uint32_t i = 0; i < PARTS_MAX - 1; i++) {
        if (!c->at[i] || c->seen != c->at[i])
            continue;
        KYMO_TRY(kymo_recording_write_end(c->writer, &end));
        c->parts[c->count - 1].bytes = kymo_recording_end_at(c->writer);
        KYMO_TRY(c->begin(c->writer, add_part(c)));
    }
    c->seen++;
    return KYMO_OK;
}

#define X(name, type)                                                     \
    static kymo_err cut_##name(void *ctx, const kymo_event_##type *event) \
    {                                                                     \
        struct cut *c = ctx;                                              \
        KYMO_TRY(cut_here(c));                                            \
        return kymo_recording_write_##name(c->writer, event);             \
    }
KYMO_EVENT_LIST(X)
#undef X

static const kymo_event_handler cut_handler = {
#define X(name, type) .name = cut_##name,
    KYMO_EVENT_LIST(X)
#undef X
};

/* Writes what emit emits, cut before two of its events; the number of events. */
static inline uint32_t write_cut(struct cut *c, recording_emit emit, begin_part *begin,
                                 uint32_t first, uint32_t second)
{
    *c = (struct cut){.begin = begin, .at = {first, second}};
    assert_int_equal(kymo_recording_writer_create(add_part(c), 0, &c->writer), KYMO_OK);
    kymo_recording_keep_definitions(c->writer);
    assert_int_equal(emit(&cut_handler, c), KYMO_OK);
    assert_int_equal(kymo_recording_flush(c->writer), KYMO_OK);
    kymo_recording_writer_destroy(c->writer);
    return c->seen;
}

static inline void close_cut(const struct cut *c)
{
    for (size_t i = 0; i < c->count; i++)
        close(c->parts[i].fd);
}

#endif
