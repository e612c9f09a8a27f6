/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/perf_ring.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/atomic.h"

kymo_err kymo_perf_ring_open(struct kymo_perf_ring *ring, int fd, size_t data_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *ring = (struct kymo_perf_ring){.map_bytes = page + data_bytes, .data_bytes = data_bytes};
    /* Writable, so that it does not run over what was not read. */
    void *map = mmap(NULL, ring->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return KYMO_E_IO;
    ring->map = map;
    ring->data = (const unsigned char *)map + page;
    return KYMO_OK;
}

void kymo_perf_ring_close(struct kymo_perf_ring *ring)
{
    if (ring->map)
        munmap(ring->map, ring->map_bytes);
    ring->map = NULL;
}

static void copy_out(unsigned char *to, const unsigned char *data, size_t data_bytes, uint64_t at,
                     size_t len)
{
    size_t from = (size_t)(at & (data_bytes - 1));
    size_t first = len < data_bytes - from ? len : data_bytes - from;
    memcpy(to, data + from, first);
    memcpy(to + first, data, len - first);
}

/* In place if it lies there in one piece. */
static struct kymo_perf_record locate(const unsigned char *data, size_t data_bytes, uint64_t at,
                                      const struct perf_event_header *header,
                                      const struct kymo_perf_ring_reader *reader)
{
    struct kymo_perf_record r = {header->type, header->misc, header->size - sizeof *header, NULL};
    size_t from = (size_t)((at + sizeof *header) & (data_bytes - 1));
    if (r.len <= data_bytes - from) {
        r.bytes = data + from;
        return r;
    }
    if (r.len > reader->scratch_bytes)
        r.len = reader->scratch_bytes;
    copy_out(reader->scratch, data, data_bytes, at + sizeof *header, r.len);
    r.bytes = reader->scratch;
    return r;
}

kymo_err kymo_perf_records_read(const unsigned char *data, size_t data_bytes, uint64_t *tail,
                                uint64_t head, const struct kymo_perf_ring_reader *reader)
{
    kymo_err err = KYMO_OK;
    while (err == KYMO_OK && head - *tail >= sizeof(struct perf_event_header)) {
        struct perf_event_header header;
        copy_out((unsigned char *)&header, data, data_bytes, *tail, sizeof header);
        if (header.size < sizeof header || header.size > head - *tail || header.size > data_bytes)
            break;
        struct kymo_perf_record record = locate(data, data_bytes, *tail, &header, reader);
        *tail += header.size;
        err = reader->record(reader->context, &record);
    }
    /* What is no record hides where the next one begins. */
    if (err == KYMO_OK)
        *tail = head;
    return err;
}

uint64_t kymo_perf_record_lost(const struct kymo_perf_record *r)
{
    uint64_t words[2];
    if (r->type != PERF_RECORD_LOST || r->len < sizeof words)
        return 0;
    memcpy(words, r->bytes, sizeof words);
    return words[1];
}

size_t kymo_perf_ring_unread(const struct kymo_perf_ring *ring)
{
    const struct perf_event_mmap_page *page = ring->map;
    return page ? (size_t)(kymo_load_relaxed(&page->data_head) - page->data_tail) : 0;
}

kymo_err kymo_perf_ring_read(struct kymo_perf_ring *ring,
                             const struct kymo_perf_ring_reader *reader)
{
    if (!ring->map)
        return KYMO_OK;
    struct perf_event_mmap_page *page = ring->map;
    uint64_t tail = page->data_tail;
    /* Pairs with the kernel's barrier between the records and the head. */
    uint64_t head = kymo_load_acquire(&page->data_head);
    if (head == tail)
        return KYMO_OK;
    kymo_err err = kymo_perf_records_read(ring->data, ring->data_bytes, &tail, head, reader);
    kymo_store_release(&page->data_tail, tail);
    return err;
}
