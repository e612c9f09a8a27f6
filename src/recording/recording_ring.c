/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_ring.c - see recording_ring.h.
 *
 * A chunk can be decoded alone, apart from definitions, which are never dropped. So whole chunks
 * are dropped, and their events are counted by decoding them then. Labels that still apply are kept
 * (recording_labels.h), and so are calls that still run (open_calls.h).
 */
#include "recording/recording_ring.h"

#include <stdlib.h>
#include <string.h>

#include "recording/recording_decode_rows.h"

void kymo_ring_init(struct kymo_recording_ring *ring, uint64_t most_bytes)
{
    *ring = (struct kymo_recording_ring){.most_bytes = most_bytes, .rest.thread = KYMO_EVENT_NONE};
}

void kymo_ring_deinit(struct kymo_recording_ring *ring)
{
    while (ring->oldest)
        kymo_ring_pop(ring);
    kymo_vec_deinit(&ring->threads);
    kymo_kept_labels_deinit(&ring->labels);
    kymo_open_calls_deinit(&ring->open);
}

void kymo_ring_pop(struct kymo_recording_ring *ring)
{
    struct kymo_ring_chunk *chunk = ring->oldest;
    ring->oldest = chunk->next;
    ring->bytes -= sizeof *chunk + chunk->len;
    free(chunk);
}

/* ---- dropping ---- */

static void count_samples(kymo_event_dropped *to, kymo_reader *r, uint32_t count,
                          size_t sample_bytes)
{
    struct kymo_file_sample s = {0};
    for (uint32_t i = 0; i < count; i++) {
        memcpy(&s, kymo_read_bytes(r, sample_bytes), KYMO_FILE_SAMPLE_BYTES);
        if (s.kind != 0) {
            to->wall_samples++;
            to->wall_ns += s.weight_ns;
            continue;
        }
        to->samples++;
        to->weight_ns += s.weight_ns;
        to->unknown += s.weight_ns == 0;
    }
}

static kymo_err find_thread(struct kymo_recording_ring *ring, uint32_t thread,
                            kymo_event_dropped **out)
{
    const kymo_event_dropped none = {.ring_bytes = 0};
    while (ring->threads.len <= thread)
        KYMO_TRY(kymo_vec_push(&ring->threads, none));
    *out = &ring->threads.data[thread];
    (*out)->thread = thread;
    (*out)->ring_bytes = ring->most_bytes;
    return KYMO_OK;
}

static kymo_err take_label(struct kymo_recording_ring *ring, struct kymo_rows *rows)
{
    int has_number;
    kymo_event_label e;
    kymo_read_label(rows, &e, &has_number);
    return kymo_kept_labels_take(&ring->labels, &e);
}

static kymo_err drop_calls(struct kymo_recording_ring *ring, const void *payload, size_t len)
{
    struct kymo_file_rows head;
    kymo_reader r = kymo_reader_of(payload, len);
    memcpy(&head, kymo_read_bytes(&r, sizeof head), sizeof head);
    for (uint32_t i = 0; i < head.groups; i++) {
        kymo_event_dropped *to;
        kymo_event_raw_calls group;
        if (!kymo_read_call_group(&r, &group))
            return KYMO_E_CORRUPT;
        KYMO_TRY(find_thread(ring, group.thread, &to));
        KYMO_TRY(kymo_open_calls_read(&ring->open, &group, &to->calls));
    }
    return KYMO_OK;
}

/* All these types of chunks consist of groups of one owner. */
static kymo_err count_dropped(struct kymo_recording_ring *ring, enum kymo_chunk_type type,
                              const void *payload, size_t len)
{
    struct kymo_file_samples head; /* a head of rows has size and groups at the same offsets */
    struct kymo_rows rows = {.owner = 0};
    kymo_reader r = kymo_reader_of(payload, len);
    if (type == KYMO_CHUNK_CALLS)
        return drop_calls(ring, payload, len);
    memcpy(&head, kymo_read_bytes(&r, sizeof head), sizeof head);
    for (uint32_t i = 0; i < head.groups; i++) {
        kymo_event_dropped *to = &ring->rest;
        rows.owner = kymo_read_u32(&r);
        uint32_t count = kymo_read_u32(&r);
        if (type == KYMO_CHUNK_SAMPLES || type == KYMO_CHUNK_MARKERS)
            KYMO_TRY(find_thread(ring, rows.owner, &to));
        if (type == KYMO_CHUNK_SAMPLES) {
            count_samples(to, &r, count, head.sample_bytes);
            continue;
        }
        to->markers += type == KYMO_CHUNK_MARKERS ? count : 0;
        to->counts += type == KYMO_CHUNK_COUNTS ? count : 0;
        for (uint32_t n = 0; n < count; n++) {
            uint64_t bytes = kymo_read_uleb(&r);
            rows.row = kymo_reader_of(kymo_read_bytes(&r, bytes), bytes);
            if (type == KYMO_CHUNK_LABELS)
                KYMO_TRY(take_label(ring, &rows));
        }
    }
    return KYMO_OK;
}

/* ---- keeping ---- */

kymo_err kymo_ring_put(struct kymo_recording_ring *ring, enum kymo_chunk_type type,
                       const kymo_bytes *payload)
{
    size_t size = sizeof(struct kymo_ring_chunk) + payload->len;
    while (ring->oldest && ring->bytes + size > ring->most_bytes) {
        const struct kymo_ring_chunk *oldest = ring->oldest;
        KYMO_TRY(count_dropped(ring, oldest->type, oldest->payload, oldest->len));
        kymo_ring_pop(ring);
    }
    if (size > ring->most_bytes)
        return count_dropped(ring, type, payload->data, payload->len);
    struct kymo_ring_chunk *chunk = malloc(size);
    if (!chunk)
        return KYMO_E_NOMEM;
    chunk->next = NULL;
    chunk->type = type;
    chunk->len = payload->len;
    memcpy(chunk->payload, payload->data, payload->len);
    *(ring->oldest ? &ring->newest->next : &ring->oldest) = chunk;
    ring->newest = chunk;
    ring->bytes += size;
    return KYMO_OK;
}
