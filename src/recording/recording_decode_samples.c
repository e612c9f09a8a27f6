/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_decode_samples.c - chunks of samples, and of the names of waits.
 *
 * A handler gets the samples of one thread in batches.
 */
#include "recording/recording_decode_event.h"

#include <string.h>

kymo_err kymo_decode_wait(kymo_decoder *d, kymo_reader *r)
{
    kymo_event_wait e;
    if (!kymo_read_event(r, KYMO_CHUNK_WAIT, &e))
        return kymo_decode_malformed(d);
    uint32_t id = e.wait;
    if (id == 0)
        return kymo_decode_drop(&d->damage.values);
    if (kymo_id_map_find(&d->waits, 0, id, &e.wait))
        return kymo_decode_drop(&d->damage.duplicates);
    KYMO_TRY(kymo_id_map_add(&d->waits, 0, id, &e.wait));
    e.wait++; /* 0 is none */
    return KYMO_DELIVER(d, wait, &e);
}

static kymo_err flush_batch(kymo_decoder *d, uint32_t thread, uint32_t count)
{
    if (count == 0)
        return KYMO_OK;
    kymo_event_samples e = {.thread = thread, .count = count, .samples = d->batch};
    d->events += count - 1;
    return KYMO_DELIVER(d, samples, &e);
}

static kymo_err decode_group(kymo_decoder *d, uint32_t thread, const unsigned char *bytes,
                             uint32_t count, size_t sample_bytes)
{
    uint32_t process = d->thread_process.data[thread];
    uint32_t n = 0;
    size_t known_bytes = sample_bytes < sizeof(struct kymo_file_sample)
                             ? KYMO_FILE_SAMPLE_BYTES
                             : sizeof(struct kymo_file_sample);
    for (uint32_t i = 0; i < count; i++, bytes += sample_bytes) {
        struct kymo_file_sample f = {0};
        memcpy(&f, bytes, known_bytes);
        if (f.time_ns == 0 || !kymo_decode_time_is_sane(f.time_ns) ||
            f.weight_ns > KYMO_FILE_WEIGHT_MAX || f.kind >= KYMO_FILE_KINDS ||
            f.state >= KYMO_FILE_STATES) {
            d->damage.values++;
            continue;
        }
        uint32_t stack = KYMO_EVENT_NONE;
        if (f.stack != KYMO_EVENT_NONE && !kymo_id_map_find(&d->stacks, process, f.stack, &stack))
            d->damage.references++; /* the weight is valid without the stack */
        uint32_t wait = UINT32_MAX;
        if (f.wait != 0 && !kymo_id_map_find(&d->waits, 0, f.wait, &wait))
            d->damage.references++;
        d->batch[n++] = (kymo_event_sample){
            f.time_ns, f.weight_ns, stack, f.kind, f.state, wait + 1, 0,
        };
        if (n == KYMO_DECODER_BATCH) {
            KYMO_TRY(flush_batch(d, thread, n));
            n = 0;
        }
    }
    return flush_batch(d, thread, n);
}

kymo_err kymo_decode_samples(kymo_decoder *d, kymo_reader *r)
{
    struct kymo_file_samples head;
    if (!kymo_read_head(r, &head, sizeof head, &head.head_bytes) ||
        head.sample_bytes < KYMO_FILE_SAMPLE_BYTES)
        return kymo_decode_malformed(d);
    for (uint32_t i = 0; i < head.groups; i++) {
        struct kymo_file_group group;
        group.thread = kymo_read_u32(r);
        group.count = kymo_read_u32(r);
        const void *bytes = kymo_read_bytes(r, (size_t)group.count * head.sample_bytes);
        if (bytes == NULL)
            return kymo_decode_malformed(d);
        uint32_t thread;
        if (kymo_id_map_find(&d->threads, 0, group.thread, &thread))
            KYMO_TRY(decode_group(d, thread, bytes, group.count, head.sample_bytes));
        else
            d->damage.references += group.count;
    }
    return KYMO_OK;
}
