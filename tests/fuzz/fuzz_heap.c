/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_heap.c - whatever a recording says of memory, in any order and of any size, what comes of it
 * is a profile whose views add up.
 *
 * The input is a list of events, of the same few bytes each: about three processes, of which one is
 * forked from another, and few blocks and places, so that they meet. All views are made of what was
 * taken in, by all that they can be made by, and all formats are written.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kymo/encode.h"
#include "kymo/report.h"
#include "profile/ingest.h"

#define PROCESSES 3u
#define THREADS 4u
#define STACKS 4u /* of each process */
#define EVENTS_MAX 1000u
#define START_NS 1000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* One event. size, rate: a number of few bits, shifted. */
struct input {
    uint8_t what, who, where, id, time, address, size, size_shift, rate_shift, flags;
};

static void require(int holds)
{
    if (!holds)
        abort();
}

static uint32_t process_of(uint32_t thread)
{
    return thread < PROCESSES ? thread : 0;
}

/* ---- events ---- */

static void begin(kymo_ingest *in)
{
    const kymo_event_handler *to = &kymo_ingest_handler;
    require(to->meta(in, &(kymo_event_meta){.start_ns = START_NS, .host = "h"}) == KYMO_OK);
    for (uint32_t i = 0; i < PROCESSES; i++) {
        kymo_event_process e = {.process = i,
                                .pid = 10 + (int32_t)i,
                                .parent_pid = i == 1 ? 10 : 1,
                                .is_main = i == 0,
                                .start_ns = START_NS + 40 * i,
                                .name = "p"};
        require(to->process(in, &e) == KYMO_OK);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        kymo_event_thread e = {
            .thread = i, .process = process_of(i), .tid = 10 + (int32_t)i, .start_ns = START_NS};
        require(to->thread(in, &e) == KYMO_OK);
    }
    for (uint32_t i = 0; i < PROCESSES * STACKS; i++) {
        kymo_event_frame frames[STACKS];
        for (uint32_t d = 0; d < STACKS; d++)
            frames[d] = (kymo_event_frame){0x1000 + i % STACKS + d / 2, KYMO_EVENT_NONE, 0};
        kymo_event_stack e = {.process = i / STACKS,
                              .stack = i,
                              .flags = KYMO_EVENT_STACK_COMPLETE,
                              .depth = 1 + i % STACKS,
                              .frames = frames};
        require(to->stack(in, &e) == KYMO_OK);
    }
}

static kymo_event_allocation block_of(const struct input *in)
{
    uint32_t thread = in->who % THREADS;
    uint32_t stack = in->where % (STACKS + 1);
    return (kymo_event_allocation){
        .thread = thread,
        .stack = stack < STACKS ? process_of(thread) * STACKS + stack : KYMO_EVENT_NONE,
        .time_ns = START_NS + in->time,
        .id = in->id % 32,
        .address = in->address % 32 * 64u,
        .bytes = in->size_shift == 255 ? UINT64_MAX : (uint64_t)in->size << in->size_shift % 64,
        .rate = 1ull << in->rate_shift % 64,
        .slack = in->flags,
        .family = in->flags % 12};
}

static kymo_err send(kymo_ingest *ingest, const struct input *in)
{
    const kymo_event_handler *to = &kymo_ingest_handler;
    kymo_event_allocation block = block_of(in);
    switch (in->what % 9) {
    case 0:
    case 1:
        return to->allocation(ingest, &block);
    case 2:
        return to->free(ingest,
                        &(kymo_event_free){block.thread, in->size, block.time_ns, block.id});
    case 3:
        return to->resize(
            ingest,
            &(kymo_event_resize){block, (uint64_t)in->address << in->flags % 32, in->flags % 4, 0});
    case 4:
        return to->inherit(
            ingest, &(kymo_event_inherit){block.thread, 0, block.time_ns, block.id, block.address});
    case 5:
        return to->mapping(ingest, &(kymo_event_mapping){.thread = block.thread,
                                                         .stack = block.stack,
                                                         .time_ns = block.time_ns,
                                                         .address = in->address * 4096ull,
                                                         .bytes = block.bytes,
                                                         .before = in->id * 4096ull,
                                                         .bytes_before = in->size * 4096ull,
                                                         .op = in->flags % 5,
                                                         .how = in->flags / 5});
    case 6:
        return to->ledger(ingest, &(kymo_event_ledger){.process = in->who % PROCESSES,
                                                       .line = in->where,
                                                       .time_ns = block.time_ns,
                                                       .bytes = (int64_t)block.bytes,
                                                       .low = block.rate,
                                                       .high = in->address,
                                                       .name = in->flags % 2 ? "part" : ""});
    case 7:
        return to->memory_info(ingest,
                               &(kymo_event_memory_info){.process = in->who % PROCESSES,
                                                         .time_ns = block.time_ns,
                                                         .value = block.bytes,
                                                         .key = in->flags % 2 ? "a" : NULL});
    default:
        return to->heap(ingest, &(kymo_event_heap){.process = in->who % PROCESSES,
                                                   .allocator = in->flags,
                                                   .rate = block.rate,
                                                   .map_least = in->address,
                                                   .count = in->size,
                                                   .bytes = block.bytes,
                                                   .not_seen = in->flags % 2 ? "x" : ""});
    }
}

/* ---- what comes of them ---- */

static void check_rows(const kymo_profile *profile, uint32_t process)
{
    size_t count;
    const kymo_allocation *rows = kymo_profile_allocations(profile, process, &count);
    for (size_t i = 0; i < count; i++) {
        require(i == 0 || rows[i - 1].time_ns <= rows[i].time_ns);
        require(rows[i].previous == KYMO_NONE || rows[i].previous < i);
        require(rows[i].birth_ns <= rows[i].time_ns);
        require(isfinite(rows[i].weight) && rows[i].weight >= 0);
        require(rows[i].stack == KYMO_NONE || rows[i].stack < kymo_profile_stacks(profile).count);
        require(kymo_profile_thread(profile, rows[i].thread) != NULL);
    }
    const kymo_mapping *mappings = kymo_profile_mappings(profile, process, &count);
    for (size_t i = 0; i < count; i++)
        require(i == 0 || mappings[i - 1].time_ns <= mappings[i].time_ns);
}

static void check_sum(const kymo_heap_sum *sum)
{
    require(isfinite(sum->objects) && isfinite(sum->bytes));
    require(sum->objects_low <= sum->objects && sum->objects <= sum->objects_high);
    require(sum->bytes_low <= sum->bytes && sum->bytes <= sum->bytes_high);
    require(sum->objects_low >= 0 && sum->bytes_low >= 0);
}

/* Added up in another order. */
static int is_about(double a, double b)
{
    return fabs(a - b) <= 1e-6 * (fabs(a) + fabs(b));
}

static void check_report(const kymo_report *report)
{
    size_t count, nodes;
    const kymo_report_row *rows = kymo_report_rows(report, &count);
    const kymo_report_node *tree = kymo_report_nodes(report, &nodes);
    const kymo_heap_totals *totals = kymo_heap_report_totals(report);
    kymo_heap_sum sum = {0};
    for (size_t i = 0; i < count; i++) {
        check_sum(&rows[i].memory->self);
        check_sum(&rows[i].memory->total);
        sum.objects += rows[i].memory->self.objects;
        sum.bytes += rows[i].memory->self.bytes;
        sum.samples += rows[i].memory->self.samples;
    }
    check_sum(&totals->sum);
    check_sum(&totals->allocated);
    /* Where all was counted, rows have their shares of what chance left out or added, and what was
     * drawn at least. Objects may be counted where bytes are not: a sum of bytes may overflow. */
    if (totals->rate <= 1 || totals->allocated.objects_low < totals->allocated.objects_high)
        require(is_about(sum.objects, totals->sum.objects));
    if (totals->rate <= 1 || totals->allocated.bytes_low < totals->allocated.bytes_high)
        require(is_about(sum.bytes, totals->sum.bytes));
    require(sum.samples == totals->sum.samples);
    for (size_t i = 0; i < nodes; i++)
        require(tree[i].row < count && tree[i].depth <= (i ? tree[i - 1].depth + 1 : 0));
}

static void check_views(const kymo_profile *profile)
{
    kymo_heap_report_options o = {.size = sizeof o, .within = 2, .youngest_percent = 20};
    for (o.view = 0; o.view < KYMO_HEAP_VIEW_COUNT; o.view++) {
        for (o.by = 0; o.by <= KYMO_BY_SIZE; o.by++) {
            kymo_report *report = NULL;
            o.at_ns = o.by % 2 ? KYMO_HEAP_END : START_NS + 100;
            o.min_age_ns = o.by % 2 ? KYMO_HEAP_AUTO : 10;
            kymo_err err = kymo_heap_report_create(profile, &o, &report);
            require(err == KYMO_OK || (o.by >= KYMO_BY_COUNT && o.by != KYMO_BY_SIZE));
            if (err == KYMO_OK)
                check_report(report);
            kymo_report_destroy(report);
        }
    }
}

static void check_growth(const kymo_profile *profile)
{
    kymo_heap_report_options before = {
        .size = sizeof before, .view = KYMO_HEAP_LIVE, .at_ns = START_NS + 100};
    kymo_heap_report_options after = before;
    kymo_report_diff *diff = NULL;
    size_t count;
    double change = 0;
    after.at_ns = KYMO_HEAP_END;
    require(kymo_heap_diff_create(profile, &before, profile, &after, KYMO_DIFF_AUTO, &diff) ==
            KYMO_OK);
    const kymo_report_diff_row *rows = kymo_report_diff_rows(diff, &count);
    const kymo_report_diff_row *all = kymo_report_diff_all(diff);
    for (size_t i = 0; i < count; i++) {
        require(rows[i].low <= rows[i].change && rows[i].change <= rows[i].high);
        change += rows[i].change;
    }
    require(fabs(change - all->change) <= 1e-6 * (all->before + all->after));
    kymo_report_diff_destroy(diff);
}

static kymo_err take(kymo_sink *sink, const void *data, size_t len)
{
    (void)sink;
    (void)data;
    (void)len;
    return KYMO_OK;
}

static void write_all(const kymo_profile *profile)
{
    static const char *const names[] = {"a.pb.gz", "a.folded", "a.json"};
    kymo_sink nowhere = {take};
    kymo_encode_options o = {.size = sizeof o, .level = 1, .from_ns = 100};
    for (o.show = 0; o.show < KYMO_ENCODE_COUNT; o.show++) {
        /* The last one shows all of it; growth has no other than the first. */
        size_t formats = o.show == KYMO_ENCODE_AUTO ? 3 : o.show == KYMO_ENCODE_GROWTH ? 1 : 2;
        for (size_t i = 0; i < formats; i++)
            require(kymo_encode(profile, kymo_format_for_path(names[i]), &nowhere, &o, NULL) ==
                    KYMO_OK);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    kymo_profile *profile = NULL;
    kymo_ingest *ingest = NULL;
    struct input in;
    require(kymo_profile_create(&profile) == KYMO_OK);
    require(kymo_ingest_create(profile, &ingest) == KYMO_OK);
    begin(ingest);
    for (size_t i = 0; i < EVENTS_MAX && (i + 1) * sizeof in <= len; i++) {
        memcpy(&in, data + i * sizeof in, sizeof in);
        require(send(ingest, &in) == KYMO_OK);
    }
    require(kymo_ingest_finish(ingest) == KYMO_OK);
    for (uint32_t i = 0; i < PROCESSES; i++)
        check_rows(profile, i);
    check_views(profile);
    check_growth(profile);
    write_all(profile);
    kymo_ingest_destroy(ingest);
    kymo_profile_destroy(profile);
    return 0;
}
