/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_marks.c - whatever a program writes as definitions and records of markers, what is recorded
 * of it is a recording.
 *
 * The input is how many definitions the session's index has, how many bytes of records one thread
 * has written, the index, the records, and the bytes that definitions lie in. All of it is drained
 * into a recording, which is read: it refers to nothing that is not there.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/atomic.h"
#include "buffer/definition.h"
#include "buffer/drain.h"
#include "buffer/stream.h"
#include "recorder/session_events.h"
#include "recording/recording.h"
#include "unit/session_fixture.h"

#define SESSION_BYTES (1u << 20)
#define RECORD_MAX 4000u
#define ROUND_NS 1000000000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct input {
    const uint8_t *data;
    size_t len;
};

static void require(int holds)
{
    if (!holds)
        abort();
}

/* As many of the next bytes as there are. */
static struct input take(struct input *in, size_t len)
{
    struct input taken = {in->data, len < in->len ? len : in->len};
    in->data += taken.len;
    in->len -= taken.len;
    return taken;
}

static void fill_definitions(struct fixture *f, struct input index, struct input area)
{
    uint32_t n = (uint32_t)(index.len / sizeof(uint32_t));
    if (n > f->plan.definitions)
        n = f->plan.definitions;
    if (area.len > f->plan.definition_bytes)
        area.len = f->plan.definition_bytes;
    memcpy(kymo_session_definition_index(f->session, &f->plan) + 1, index.data,
           n * sizeof(uint32_t));
    memcpy(kymo_session_definitions(f->session, &f->plan), area.data, area.len);
    f->session->definition_used = area.len;
    kymo_store_release(&f->session->definition_count, n);
}

/* A thread whose stream has these records; what a size says is put right, so that there are some.
 */
static void fill_stream(struct fixture *f, struct input bytes)
{
    struct kymo_stream_writer stream = {.kind = KYMO_STREAM_TASK};
    uint32_t number = kymo_slot_take(f->session, &f->plan) - 1;
    struct kymo_thread_slot *slot = kymo_session_slot(f->session, &f->plan, number);
    struct kymo_record head;
    slot->tid = 1;
    slot->generation++;
    slot->start_clock = 1;
    kymo_store_release(&slot->state, KYMO_SLOT_LIVE);
    while (bytes.len >= sizeof head) {
        memcpy(&head, bytes.data, sizeof head);
        size_t size = head.size_bytes & ~7u;
        if (size < sizeof head || size > bytes.len || size > RECORD_MAX)
            size = sizeof head;
        head.size_bytes = (uint16_t)size;
        void *place = kymo_stream_reserve(&stream, f->session, &f->plan, number, (uint32_t)size);
        if (place == NULL)
            return;
        memcpy(place, bytes.data, size);
        memcpy(place, &head, sizeof head);
        kymo_stream_publish(&stream, (uint32_t)size);
        take(&bytes, size);
    }
}

static void drain(struct fixture *f, kymo_recording_writer *w)
{
    uint32_t next_thread = 0;
    struct kymo_session_events *to = calloc(1, sizeof *to);
    kymo_drain *d;
    require(to != NULL);
    to->events = &kymo_recording_write_handler;
    to->context = w;
    to->next_thread = &next_thread;
    const struct kymo_drain_sink sink = kymo_session_events_sink(to);
    require(kymo_drain_create(f->session, &f->plan, &sink, &d) == KYMO_OK);
    require(kymo_drain_round(d) == KYMO_OK);
    require(kymo_session_events_flush(to) == KYMO_OK);
    require(kymo_mark_events_round(to, d, ROUND_NS) == KYMO_OK);
    require(kymo_drain_finish(d, 2 * ROUND_NS) == KYMO_OK);
    require(kymo_session_events_flush(to) == KYMO_OK);
    require(kymo_mark_events_finish(to, d, 2 * ROUND_NS) == KYMO_OK);
    kymo_drain_destroy(d);
    kymo_session_events_deinit(to);
    free(to);
}

static void read_back(int fd)
{
    const kymo_event_handler no_events = {0};
    kymo_recording_report report;
    require(lseek(fd, 0, SEEK_SET) == 0);
    require(kymo_recording_read_fd(fd, 0, &no_events, NULL, &report, NULL) == KYMO_OK);
    /* Times may be any, and cells may lie over each other: that is put right by the reader. */
    require(report.damage.chunks == 0 && report.damage.references == 0 &&
            report.damage.duplicates == 0 && report.damage.unknown_chunks == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct input in = {data, len};
    uint16_t counts[2] = {0};
    struct input head = take(&in, sizeof counts);
    kymo_recording_writer *w = NULL;
    memcpy(counts, head.data, head.len);
    struct input index = take(&in, counts[0] * sizeof(uint32_t));
    struct input records = take(&in, counts[1]);
    struct fixture f = fixture_open(SESSION_BYTES);
    int fd = memfd_create("marks", MFD_CLOEXEC);
    fill_definitions(&f, index, in);
    fill_stream(&f, records);
    require(fd >= 0 && kymo_recording_writer_create(fd, 0, &w) == KYMO_OK);
    require(kymo_recording_write_meta(w, &(kymo_event_meta){.host = "h"}) == KYMO_OK);
    require(kymo_recording_write_process(w, &(kymo_event_process){.pid = 1}) == KYMO_OK);
    drain(&f, w);
    require(kymo_recording_flush(w) == KYMO_OK);
    read_back(fd);
    kymo_recording_writer_destroy(w);
    close(fd);
    fixture_close(&f);
    return 0;
}
