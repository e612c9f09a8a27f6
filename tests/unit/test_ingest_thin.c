/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest_marks_fixture.h"

#include <math.h>

#include "profile/ingest_state.h"
#include "profile/ingest_thin.h"

enum { BLOCKS = 60000, MOST = 6000, BYTES = 100 };

static kymo_event_allocation block(uint64_t i)
{
    return (kymo_event_allocation){.thread = 0,
                                   .stack = KYMO_EVENT_NONE,
                                   .time_ns = 100 + i,
                                   .id = i,
                                   .address = 0x1000 * (i + 1),
                                   .bytes = i % 100 == 0 ? 100 * BYTES : BYTES,
                                   .rate = 1};
}

/* The rate for this many of these blocks. */
static uint64_t rate_for(uint64_t most)
{
    struct kymo_thin_count count = {0};
    for (uint64_t i = 0; i < BLOCKS; i++) {
        kymo_event_allocation e = block(i);
        assert_int_equal(kymo_thin_count_handler.allocation(&count, &e), KYMO_OK);
    }
    assert_int_equal(count.rows, BLOCKS);
    return kymo_thin_rate(&count, most);
}

struct sums {
    size_t rows;
    double objects, bytes, live;
};

static struct sums sum_up(uint32_t process)
{
    struct sums s = {0};
    const kymo_allocation *rows = kymo_profile_allocations(profile, process, &s.rows);
    for (size_t i = 0; i < s.rows; i++) {
        s.objects += rows[i].weight;
        s.bytes += rows[i].weight * (double)rows[i].bytes;
        s.live += rows[i].end_ns == KYMO_LIVES ? rows[i].weight : 0;
    }
    return s;
}

static void few_are_as_they_are(void **state)
{
    (void)state;
    struct kymo_thin_count none = {0};
    assert_int_equal(kymo_thin_rate(&none, 1), 0);
    assert_int_equal(rate_for(BLOCKS), 0);
    kymo_ingest_thin(ingest, 0);
    for (uint64_t i = 0; i < BLOCKS; i++)
        send(allocation, block(i));
    finish();
    assert_int_equal(sum_up(0).rows, BLOCKS);
}

/* What is drawn is the same in each run: these are no figures that chance could change. */
static void many_are_drawn_and_stand_for_all(void **state)
{
    (void)state;
    uint64_t rate = rate_for(MOST);
    assert_true(rate > 1);
    kymo_ingest_thin(ingest, rate);
    for (uint64_t i = 0; i < BLOCKS; i++) {
        send(allocation, block(i));
        /* Each second one is freed, some before they are known. */
        uint64_t ended = i % 4 == 3 ? i + 1 : i;
        if (i % 2 == 1)
            send(free, (kymo_event_free){.thread = 1, .time_ns = 200 + i, .id = ended});
    }
    finish();
    struct sums s = sum_up(0);
    assert_true(s.rows > MOST / 4 && s.rows <= MOST + MOST / 10);
    double bytes = (double)BLOCKS / 100 * (99 * BYTES + 100.0 * BYTES);
    assert_true(fabs(s.objects / BLOCKS - 1) < 0.1);
    assert_true(fabs(s.bytes / bytes - 1) < 0.1);
    assert_true(fabs(s.live / BLOCKS - 0.5) < 0.05);
    kymo_ingest_extra extra = kymo_ingest_get_extra(ingest);
    assert_int_equal(extra.note_count, 1);
    assert_non_null(strstr(extra.notes[0].text, "60000 allocations were recorded, of which "));
}

static void a_block_ends_whether_it_is_kept_or_not(void **state)
{
    (void)state;
    kymo_ingest_thin(ingest, rate_for(MOST));
    for (uint64_t i = 0; i < BLOCKS; i++)
        send(allocation, block(i));
    for (uint64_t i = 0; i < BLOCKS; i++) {
        kymo_event_allocation now = block(i);
        now.time_ns += BLOCKS;
        now.bytes *= 2;
        send(resize, (kymo_event_resize){now, now.bytes / 2, 3, 0});
    }
    for (uint64_t i = 0; i < BLOCKS; i++)
        send(free, (kymo_event_free){.thread = 0, .time_ns = 3 * BLOCKS, .id = i});
    /* What waits is bounded. */
    assert_true(ingest->heap.waiting < BLOCKS);
    finish();
    struct sums s = sum_up(0);
    assert_true(s.live == 0);
    assert_true(s.rows < BLOCKS / 2);
}

/* Another thread's resizes may be read before the blocks. */
static void a_resize_may_come_before_its_block(void **state)
{
    (void)state;
    kymo_ingest_thin(ingest, rate_for(MOST));
    for (uint64_t i = 0; i < BLOCKS; i++) {
        kymo_event_allocation now = block(i);
        now.thread = 1;
        now.time_ns += BLOCKS;
        now.bytes *= 2;
        send(resize, (kymo_event_resize){now, now.bytes / 2, 3, 0});
    }
    for (uint64_t i = 0; i < BLOCKS; i++)
        send(allocation, block(i));
    finish();
    double bytes = 0;
    size_t n;
    const kymo_allocation *rows = kymo_profile_allocations(profile, 0, &n);
    for (size_t i = 0; i < n; i++)
        if (rows[i].end_ns == KYMO_LIVES)
            bytes += rows[i].weight * (double)rows[i].bytes;
    double expected = 2.0 * BLOCKS / 100 * (99 * BYTES + 100.0 * BYTES);
    assert_true(fabs(bytes / expected - 1) < 0.1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        T(few_are_as_they_are),
        T(many_are_drawn_and_stand_for_all),
        T(a_block_ends_whether_it_is_kept_or_not),
        T(a_resize_may_come_before_its_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
