/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation of a small recording of memory fails once. What must come of it is
 * KYMO_E_NOMEM; never a crash, nothing that leaks (the address sanitizer looks).
 */
#include "failing_allocation.h"
#include "unit.h"

#include "buffer/record.h"
#include "kymo/marker_abi.h"
#include "profile/ingest.h"

#define SEND(what, ...)                                 \
    do {                                                \
        const __typeof__(__VA_ARGS__) e_ = __VA_ARGS__; \
        KYMO_TRY(kymo_ingest_handler.what(in, &e_));    \
    } while (0)

static kymo_err send_all(kymo_ingest *in)
{
    kymo_event_allocation a = {.stack = KYMO_EVENT_NONE, .bytes = 100, .rate = 1};
    SEND(meta, (kymo_event_meta){.start_ns = 1});
    SEND(process, (kymo_event_process){.pid = 1, .is_main = 1, .start_ns = 1});
    SEND(process, (kymo_event_process){.process = 1, .pid = 2, .parent_pid = 1, .start_ns = 50});
    SEND(thread, (kymo_event_thread){.tid = 1, .start_ns = 1});
    SEND(thread, (kymo_event_thread){.thread = 1, .process = 1, .tid = 2, .start_ns = 50});
    for (uint64_t i = 1; i < 40; i++) {
        a.id = i;
        a.time_ns = 100 - i;
        a.bytes = 100;
        SEND(allocation, a);
        a.time_ns = 200;
        a.bytes = 200;
        SEND(resize, (kymo_event_resize){a, 100, 1, 0});
        SEND(free, (kymo_event_free){.time_ns = 300, .id = i + 100});
        SEND(inherit, (kymo_event_inherit){.thread = 1, .time_ns = 60, .id = i});
        SEND(mapping, (kymo_event_mapping){.stack = KYMO_EVENT_NONE,
                                           .time_ns = 200 - i,
                                           .address = 4096 * (i / 2),
                                           .bytes = 8192,
                                           .op = 1 + (uint32_t)i % 2});
        SEND(ledger, (kymo_event_ledger){
                         .line = 1 + (uint32_t)i % 5, .time_ns = 5, .name = i % 2 ? "f" : 0});
        SEND(memory_info, (kymo_event_memory_info){.value = i, .key = "key"});
    }
    SEND(label,
         (kymo_event_label){
             .change = KYMO_LABEL_PUSHED, .kind = KYMO_KIND_U64, .time_ns = 70, .key = "request"});
    SEND(heap, (kymo_event_heap){.rate = 1, .allocator = 1, .not_seen = "x"});
    return KYMO_OK;
}

static kymo_err run(void *blocks)
{
    kymo_profile *profile = NULL;
    kymo_ingest *in = NULL;
    kymo_err err = kymo_profile_create(&profile);
    if (err == KYMO_OK)
        err = kymo_ingest_create(profile, &in);
    if (err == KYMO_OK)
        err = send_all(in);
    if (err == KYMO_OK)
        err = kymo_ingest_finish(in);
    if (err == KYMO_OK)
        *(uint32_t *)blocks = kymo_profile_count(profile, KYMO_TABLE_ALLOCATIONS);
    kymo_ingest_destroy(in);
    kymo_profile_destroy(profile);
    return err;
}

static void each_allocation_fails_once(void **state)
{
    (void)state;
    uint32_t blocks = 0;
    long failed = fail_each_allocation(run, &blocks);
    assert_int_equal(blocks, 3 * 39);
    assert_in_range(failed, 50, 9999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_fails_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
