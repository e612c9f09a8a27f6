/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "observe/kernel_stacks.h"
#include "observe/perf_event.h"
#include "sys/clock.h"

#define BYTES 4096u

struct seen {
    struct kymo_kernel_record records[64];
    uint32_t count;
    uint32_t fail_at; /* 0: never */
};

static kymo_err on_record(void *context, const struct kymo_kernel_record *r)
{
    struct seen *seen = context;
    if (seen->count < 64)
        seen->records[seen->count] = *r;
    seen->count++;
    return seen->count == seen->fail_at ? KYMO_E_NOMEM : KYMO_OK;
}

/* A ring that is written like the kernel's, from any place on. */
struct ring {
    unsigned char data[BYTES];
    uint64_t tail, head;
};

static void put(struct ring *r, const void *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++, r->head++)
        r->data[r->head % BYTES] = ((const unsigned char *)bytes)[i];
}

static void put_sample(struct ring *r, uint16_t mode, uint64_t time_ns, const uint64_t *pcs,
                       uint64_t n)
{
    struct perf_event_header header = {PERF_RECORD_SAMPLE, mode,
                                       (uint16_t)(sizeof header + (2 + n) * sizeof n)};
    put(r, &header, sizeof header);
    put(r, &time_ns, sizeof time_ns);
    put(r, &n, sizeof n);
    put(r, pcs, n * sizeof *pcs);
}

static uint64_t lost;

static kymo_err read_all(struct ring *r, struct seen *seen)
{
    return kymo_kernel_records_read(r->data, BYTES, &r->tail, r->head, on_record, seen, &lost);
}

static const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000010,
                                 0xffffffff81000020, 0xffffffff81000030};

/* At each distance from the end, so that every field lies across it once. */
static void records_are_read_around_the_end(void **state)
{
    (void)state;
    for (uint64_t at = BYTES - 128; at <= BYTES; at += 8) {
        struct ring r = {.tail = at, .head = at};
        struct seen seen = {.count = 0};
        put_sample(&r, PERF_RECORD_MISC_KERNEL, 1000, chain, 4);
        put_sample(&r, PERF_RECORD_MISC_USER, 2000, NULL, 0);
        assert_int_equal(read_all(&r, &seen), KYMO_OK);
        assert_int_equal(r.tail, r.head);
        assert_int_equal(seen.count, 2);
        assert_int_equal(seen.records[0].time_ns, 1000);
        assert_int_equal(seen.records[0].depth, 3);
        assert_memory_equal(seen.records[0].pcs, chain + 1, 3 * sizeof *chain);
        assert_int_equal(seen.records[1].time_ns, 2000);
        assert_int_equal(seen.records[1].depth, 0);
    }
}

static void losses_are_counted(void **state)
{
    struct ring r = {.tail = 0};
    struct seen seen = {.count = 0};
    const uint64_t body[2] = {77, 5}; /* id, lost */
    struct perf_event_header header = {PERF_RECORD_LOST, 0, sizeof header + sizeof body};
    struct perf_event_header other = {PERF_RECORD_THROTTLE, 0, sizeof header + sizeof body};
    (void)state;
    put(&r, &header, sizeof header);
    put(&r, body, sizeof body);
    put(&r, &other, sizeof other);
    put(&r, body, sizeof body);
    put_sample(&r, PERF_RECORD_MISC_KERNEL, 1, chain, 4);
    lost = 1;
    assert_int_equal(read_all(&r, &seen), KYMO_OK);
    assert_int_equal(lost, 6);
    assert_int_equal(seen.count, 1);
}

static void what_cannot_be_is_stepped_over(void **state)
{
    (void)state;
    const struct {
        uint16_t size;
        uint64_t n;
    } broken[] = {{0, 0}, {7, 0}, {4000, 0}, {65535, 0}, {8, 0}, {24, UINT64_MAX}, {32, 1u << 20}};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct ring r = {.tail = 0};
        struct seen seen = {.count = 0};
        struct perf_event_header header = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL,
                                           broken[i].size};
        uint64_t words[3] = {5, broken[i].n, 0xffffffff81000010};
        put(&r, &header, sizeof header);
        put(&r, words, sizeof words);
        assert_int_equal(read_all(&r, &seen), KYMO_OK);
        assert_int_equal(r.tail, r.head);
        for (uint32_t k = 0; k < seen.count && k < 64; k++)
            assert_true(seen.records[k].depth <= 1);
    }
    /* Deeper than is kept: the innermost part stays. */
    struct ring r = {.tail = 0};
    struct seen seen = {.count = 0};
    uint64_t deep[300];
    for (uint64_t i = 0; i < 300; i++)
        deep[i] = 0xffffffff81000000 + i;
    put_sample(&r, PERF_RECORD_MISC_KERNEL, 9, deep, 300);
    put_sample(&r, PERF_RECORD_MISC_USER, 10, NULL, 0);
    assert_int_equal(read_all(&r, &seen), KYMO_OK);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.records[0].depth, KYMO_KERNEL_DEPTH_MAX);
    assert_int_equal(seen.records[0].pcs[127], deep[127]);
}

static void errors_are_passed_on(void **state)
{
    struct ring r = {.tail = 0};
    struct seen seen = {.fail_at = 1};
    (void)state;
    put_sample(&r, PERF_RECORD_MISC_USER, 1, NULL, 0);
    put_sample(&r, PERF_RECORD_MISC_USER, 2, NULL, 0);
    assert_int_equal(read_all(&r, &seen), KYMO_E_NOMEM);
    assert_int_equal(read_all(&r, &seen), KYMO_OK); /* the second was not touched */
    assert_int_equal(seen.records[1].time_ns, 2);
}

/* The kernel's own ring, of our own time in the kernel. */
static void the_kernel_fills_a_ring(void **state)
{
    static struct seen seen;
    static char bytes[65536];
    struct kymo_perf_ring ring;
    (void)state;
    signal(SIGURG, SIG_IGN);
    uint64_t start_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    int fd = kymo_perf_open_chains(getpid(), 100000, SIGURG);
    if (fd < 0)
        skip(); /* not permitted here */
    assert_int_equal(kymo_perf_ring_open(&ring, fd, 16384), KYMO_OK);
    assert_int_equal(kymo_perf_enable(fd), 0);
    uint32_t deep = 0;
    lost = 0;
    while (deep == 0) {
        assert_true(getrandom(bytes, sizeof bytes, 0) > 0);
        seen.count = 0;
        assert_int_equal(kymo_kernel_ring_read(&ring, on_record, &seen, &lost), KYMO_OK);
        for (uint32_t i = 0; i < seen.count && i < 64; i++) {
            assert_in_range(seen.records[i].time_ns, start_ns, kymo_clock_ns(CLOCK_MONOTONIC));
            deep += seen.records[i].depth > 2;
            if (seen.records[i].depth)
                assert_true(seen.records[i].pcs[0] >> 63);
        }
    }
    kymo_perf_ring_close(&ring);
    kymo_perf_ring_close(&ring);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_read_around_the_end), cmocka_unit_test(losses_are_counted),
        cmocka_unit_test(what_cannot_be_is_stepped_over),  cmocka_unit_test(errors_are_passed_on),
        cmocka_unit_test(the_kernel_fills_a_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
