/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/kernel_stacks.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/atomic.h"

/* What is read of a record: the fields before the stack, a marker of what part follows, the stack.
 */
#define FIELDS 2u
#define RECORD_BYTES \
    (sizeof(struct perf_event_header) + (FIELDS + 1 + KYMO_KERNEL_DEPTH_MAX) * sizeof(uint64_t))

kymo_err kymo_kernel_ring_open(struct kymo_kernel_ring *ring, int fd, size_t data_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *ring = (struct kymo_kernel_ring){.map_bytes = page + data_bytes, .data_bytes = data_bytes};
    /* Writable, so that it does not run over what was not read. */
    void *map = mmap(NULL, ring->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return KYMO_E_IO;
    ring->map = map;
    ring->data = (const unsigned char *)map + page;
    return KYMO_OK;
}

void kymo_kernel_ring_close(struct kymo_kernel_ring *ring)
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

static kymo_err take_sample(const uint64_t *words, size_t n, int in_kernel,
                            kymo_kernel_record_sink sink, void *context)
{
    struct kymo_kernel_record record;
    if (n < FIELDS)
        return KYMO_OK;
    record.time_ns = words[0];
    record.depth = 0;
    for (size_t i = 0; in_kernel && i < words[1] && FIELDS + i < n; i++) {
        /* The highest values are no addresses: they say whose part follows. */
        if (words[FIELDS + i] < (uint64_t)PERF_CONTEXT_MAX && record.depth < KYMO_KERNEL_DEPTH_MAX)
            record.pcs[record.depth++] = words[FIELDS + i];
    }
    return sink(context, &record);
}

kymo_err kymo_kernel_records_read(const unsigned char *data, size_t data_bytes, uint64_t *tail,
                                  uint64_t head, kymo_kernel_record_sink sink, void *context,
                                  uint64_t *lost)
{
    kymo_err err = KYMO_OK;
    while (err == KYMO_OK && head - *tail >= sizeof(struct perf_event_header)) {
        struct perf_event_header header;
        uint64_t words[RECORD_BYTES / sizeof(uint64_t)];
        copy_out((unsigned char *)&header, data, data_bytes, *tail, sizeof header);
        if (header.size < sizeof header || header.size > head - *tail || header.size > data_bytes)
            break;
        size_t len = header.size - sizeof header;
        if (len > sizeof words)
            len = sizeof words;
        copy_out((unsigned char *)words, data, data_bytes, *tail + sizeof header, len);
        *tail += header.size;
        size_t n = len / sizeof(uint64_t);
        if (header.type == PERF_RECORD_SAMPLE)
            err = take_sample(
                words, n, (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL,
                sink, context);
        else if (header.type == PERF_RECORD_LOST && n >= 2)
            *lost += words[1];
    }
    /* What is no record hides where the next one begins. */
    if (err == KYMO_OK)
        *tail = head;
    return err;
}

kymo_err kymo_kernel_ring_read(struct kymo_kernel_ring *ring, kymo_kernel_record_sink sink,
                               void *context, uint64_t *lost)
{
    if (!ring->map)
        return KYMO_OK;
    struct perf_event_mmap_page *page = ring->map;
    uint64_t tail = page->data_tail;
    /* Pairs with the kernel's barrier between the records and the head. */
    uint64_t head = kymo_load_acquire(&page->data_head);
    if (head == tail)
        return KYMO_OK;
    kymo_err err =
        kymo_kernel_records_read(ring->data, ring->data_bytes, &tail, head, sink, context, lost);
    kymo_store_release(&page->data_tail, tail);
    return err;
}
