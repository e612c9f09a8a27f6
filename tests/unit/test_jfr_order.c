/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of made-up times: an event is its time, its kind and its row. */
#include "encode/jfr/jfr_order.h"
#include "profile_fixture.h"

enum { ROWS = 3, EVENTS_MAX = 64 };

/* By kind and row, with 0 at the end. */
static const uint64_t times[2][ROWS][6] = {
    {{5, 5, 9}, {0}, {1, 7, 7, 30}},
    {{5, 6}, {1}, {2, 30, 31}},
};

static kymo_jfr_source seen[EVENTS_MAX];
static size_t seen_count;

static int look(kymo_jfr *w, kymo_jfr_source *source)
{
    (void)w;
    source->time_ns = times[source->kind][source->of][source->next];
    return source->time_ns != 0;
}

static void put(kymo_jfr *w, kymo_jfr_source *source)
{
    (void)w;
    assert_true(seen_count < EVENTS_MAX);
    seen[seen_count++] = *source;
    source->next++;
}

static const kymo_jfr_source_kind first = {KYMO_TABLE_PROCESSES, look, put};
static const kymo_jfr_source_kind second = {KYMO_TABLE_PROCESSES, look, put};

static void events_are_in_the_order_of_time(void **state)
{
    (void)state;
    const kymo_jfr_source_kind *const kinds[] = {&first, &second};
    kymo_profile *p = new_profile();
    for (int i = 0; i < ROWS; i++)
        add_process(p, 10 + i, 0);
    ok(kymo_profile_finish(p));
    kymo_encoder encoder = {.profile = p, .total = 13};
    kymo_jfr w = {.encoder = &encoder, .p = p, .chunk_bytes = KYMO_JFR_CHUNK_BYTES};
    ok(kymo_jfr_put_in_order(&w, kinds, 2));
    assert_int_equal(seen_count, 13);
    for (size_t i = 1; i < seen_count; i++) {
        const kymo_jfr_source *a = &seen[i - 1];
        const kymo_jfr_source *b = &seen[i];
        assert_true(a->time_ns <= b->time_ns);
        if (a->time_ns == b->time_ns) /* then kinds and rows */
            assert_true(a->kind < b->kind || (a->kind == b->kind && a->of <= b->of));
    }
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_in_the_order_of_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
