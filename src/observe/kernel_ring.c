/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/perf_event.h>
#include <string.h>

#include "observe/kernel_stacks.h"

/* What is read of a record: the fields before the stack, a marker of what part follows, the stack.
 */
#define FIELDS 2u
#define RECORD_WORDS (FIELDS + 1 + KYMO_KERNEL_DEPTH_MAX)

struct reading {
    kymo_kernel_record_sink sink;
    void *context;
    uint64_t *lost;
};

uint32_t kymo_kernel_chain(const unsigned char *pcs, size_t count,
                           uint64_t chain[KYMO_KERNEL_DEPTH_MAX])
{
    uint32_t depth = 0;
    for (size_t i = 0; i < count && depth < KYMO_KERNEL_DEPTH_MAX; i++) {
        uint64_t pc;
        memcpy(&pc, pcs + i * sizeof pc, sizeof pc);
        /* The highest values are no addresses: they say whose part follows. */
        if (pc == (uint64_t)PERF_CONTEXT_USER)
            break;
        if (pc < (uint64_t)PERF_CONTEXT_MAX)
            chain[depth++] = pc;
    }
    return depth;
}

static kymo_err take_sample(const struct reading *to, const struct kymo_perf_record *r)
{
    struct kymo_kernel_record record;
    uint64_t fields[FIELDS];
    if (r->len < sizeof fields)
        return KYMO_OK;
    memcpy(fields, r->bytes, sizeof fields);
    size_t count = (r->len - sizeof fields) / sizeof(uint64_t);
    record.time_ns = fields[0];
    record.depth = 0;
    if ((r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
        record.depth = kymo_kernel_chain(r->bytes + sizeof fields,
                                         fields[1] < count ? (size_t)fields[1] : count, record.pcs);
    return to->sink(to->context, &record);
}

static kymo_err on_record(void *context, const struct kymo_perf_record *r)
{
    struct reading *to = context;
    *to->lost += kymo_perf_record_lost(r);
    return r->type == PERF_RECORD_SAMPLE ? take_sample(to, r) : KYMO_OK;
}

kymo_err kymo_kernel_records_read(const unsigned char *data, size_t data_bytes, uint64_t *tail,
                                  uint64_t head, kymo_kernel_record_sink sink, void *context,
                                  uint64_t *lost)
{
    unsigned char scratch[RECORD_WORDS * sizeof(uint64_t)];
    struct reading to = {sink, context, lost};
    const struct kymo_perf_ring_reader reader = {on_record, &to, scratch, sizeof scratch};
    return kymo_perf_records_read(data, data_bytes, tail, head, &reader);
}

kymo_err kymo_kernel_ring_read(struct kymo_perf_ring *ring, kymo_kernel_record_sink sink,
                               void *context, uint64_t *lost)
{
    unsigned char scratch[RECORD_WORDS * sizeof(uint64_t)];
    struct reading to = {sink, context, lost};
    const struct kymo_perf_ring_reader reader = {on_record, &to, scratch, sizeof scratch};
    return kymo_perf_ring_read(ring, &reader);
}
