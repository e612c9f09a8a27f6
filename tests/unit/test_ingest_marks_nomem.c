/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation of a small recording with markers, counters and labels fails once. What must
 * come of it is KYMO_E_NOMEM; never a crash, nothing that leaks (the address sanitizer looks).
 */
#include "failing_allocation.h"
#include "unit.h"

#include <string.h>

#include "buffer/record.h"
#include "kymo/marker_abi.h"
#include "profile/ingest.h"

#define SEND(what, ...)                                 \
    do {                                                \
        const __typeof__(__VA_ARGS__) e_ = __VA_ARGS__; \
        KYMO_TRY(kymo_ingest_handler.what(in, &e_));    \
    } while (0)

static kymo_err announce(kymo_ingest *in)
{
    static const kymo_event_marker_field fields[] = {
        {"n", "Number", KYMO_KIND_U64, KYMO_FORMAT_BYTES, 0},
        {"n", NULL, KYMO_KIND_CELLS, KYMO_FORMAT_LIST, 0}};
    static const kymo_event_marker_row row = {"See", "the manual"};
    static const kymo_event_marker_graph graph = {"n", KYMO_GRAPH_BAR, KYMO_COLOR_RED};
    SEND(meta, (kymo_event_meta){.start_ns = 1});
    SEND(process, (kymo_event_process){.pid = 1, .is_main = 1, .start_ns = 1});
    SEND(thread, (kymo_event_thread){.tid = 1, .start_ns = 1});
    SEND(thread, (kymo_event_thread){.thread = 1, .tid = 2, .start_ns = 1});
    SEND(marker_category, (kymo_event_marker_category){.parent = KYMO_EVENT_NONE, .name = "net"});
    for (uint32_t i = 0; i < 2; i++)
        SEND(marker_type, (kymo_event_marker_type){.type = i,
                                                   .name = "T",
                                                   .description = i ? "other" : "one",
                                                   .tooltip = "{marker.data.gone}",
                                                   .payload_bytes = 24,
                                                   .field_count = 2,
                                                   .fields = fields,
                                                   .row_count = 1,
                                                   .rows = &row,
                                                   .graph_count = 1,
                                                   .graphs = &graph});
    for (uint32_t i = 0; i <= KYMO_SITE_VALUES; i++)
        SEND(site, (kymo_event_site){.site = i,
                                     .type = i ? KYMO_EVENT_NONE : 1,
                                     .kind = i,
                                     .name = "m",
                                     .format = i == KYMO_SITE_FORMAT ? "%d" : "a"});
    SEND(literal, (kymo_event_named){.name = "literal"});
    SEND(track, (kymo_event_named){.name = "track"});
    SEND(counter, (kymo_event_counter){.name = "queue", .unit = "jobs"});
    SEND(count, (kymo_event_count){.time_ns = 20, .value = 1});
    SEND(count, (kymo_event_count){.time_ns = 10, .value = 2});
    SEND(site_counts, (kymo_event_site_counts){.lost = 1, .cut = 2});
    return KYMO_OK;
}

static kymo_err mark(kymo_ingest *in)
{
    struct {
        uint64_t number;
        struct kymo_text_slot list[2];
        struct kymo_record_cell cell;
    } image = {1, {{24, 1, KYMO_TEXT_IS_THERE}}, {KYMO_KIND_U64, 0, 7}};
    struct kymo_text_slot text = {0, 0, KYMO_TEXT_IS_THERE | KYMO_TEXT_IS_LITERAL};
    kymo_event_marker e = {.stack = KYMO_EVENT_NONE, .track = 0, .id = 1};
    for (uint64_t i = 0; i < 8; i++) {
        e.phase = i % 2 ? KYMO_PHASE_END : KYMO_PHASE_BEGIN;
        e.thread = i % 2;
        e.time_ns = 100 + i;
        e.payload = (const uint8_t *)&image;
        e.payload_bytes = sizeof image;
        SEND(marker, e);
    }
    e.phase = KYMO_PHASE_INSTANT;
    e.name = "own";
    e.time_ns = 90;
    e.site = KYMO_SITE_TEXT;
    e.payload = (const uint8_t *)&text;
    e.payload_bytes = sizeof text;
    SEND(marker, e);
    e.payload = (const uint8_t *)&image.cell;
    e.payload_bytes = sizeof image.cell;
    e.cells = 1;
    e.site = KYMO_SITE_FORMAT;
    SEND(marker, e);
    e.site = KYMO_SITE_VALUES;
    SEND(marker, e);
    return KYMO_OK;
}

static kymo_err carry(kymo_ingest *in)
{
    const kymo_event_sample sample = {.time_ns = 96, .weight_ns = 1, .stack = KYMO_EVENT_NONE};
    kymo_event_label l = {.change = KYMO_LABEL_PUSHED,
                          .kind = KYMO_KIND_TEXT,
                          .time_ns = 95,
                          .key = "user",
                          .text = "somebody"};
    SEND(samples, (kymo_event_samples){.count = 1, .samples = &sample});
    SEND(label, l);
    l.change = KYMO_LABEL_WAS_SET;
    l.key = "request";
    l.time_ns = 94;
    SEND(label, l);
    return KYMO_OK;
}

static kymo_err run(void *markers)
{
    kymo_profile *profile = NULL;
    kymo_ingest *in = NULL;
    kymo_err err = kymo_profile_create(&profile);
    if (err == KYMO_OK)
        err = kymo_ingest_create(profile, &in);
    if (err == KYMO_OK)
        err = announce(in);
    if (err == KYMO_OK)
        err = mark(in);
    if (err == KYMO_OK)
        err = carry(in);
    if (err == KYMO_OK)
        err = kymo_ingest_finish(in);
    if (err == KYMO_OK)
        *(uint32_t *)markers = kymo_profile_count(profile, KYMO_TABLE_MARKERS);
    kymo_ingest_destroy(in);
    kymo_profile_destroy(profile);
    return err;
}

static void each_allocation_fails_once(void **state)
{
    (void)state;
    uint32_t markers = 0;
    long failed = fail_each_allocation(run, &markers);
    assert_int_equal(markers, 4 + 3);
    assert_in_range(failed, 50, 9999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_fails_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
