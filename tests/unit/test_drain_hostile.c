/* SPDX-License-Identifier: Apache-2.0 */
/* What the drain makes of a session that says more than is true. */
#include "base/atomic.h"
#include "buffer/depot.h"
#include "buffer/drain.h"
#include "buffer/stream.h"
#include "session_fixture.h"
#include "unit.h"

struct seen {
    uint64_t samples, ends, last_cpu_ns;
    uint64_t frames;
};

static kymo_err on_begin(void *c, const struct kymo_drain_thread *t)
{
    (void)c;
    (void)t;
    return KYMO_OK;
}
static kymo_err on_end(void *c, const struct kymo_drain_thread *t)
{
    struct seen *s = c;
    s->ends++;
    s->last_cpu_ns = t->last_cpu_ns;
    return KYMO_OK;
}
static kymo_err on_sample(void *c, const struct kymo_drain_sample *p)
{
    (void)p;
    ((struct seen *)c)->samples++;
    return KYMO_OK;
}

static kymo_err on_stack(void *c, uint32_t stack, uint32_t flags,
                         const struct kymo_drain_frame *frames, uint32_t n)
{
    (void)stack;
    (void)flags;
    (void)frames;
    ((struct seen *)c)->frames += n;
    return KYMO_OK;
}

static kymo_drain *drain_of(struct fixture *f, struct seen *seen)
{
    struct kymo_drain_sink sink = {.thread_begin = on_begin,
                                   .thread_end = on_end,
                                   .stack = on_stack,
                                   .sample = on_sample,
                                   .context = seen};
    kymo_drain *d = NULL;
    assert_int_equal(kymo_drain_create(f->session, &f->plan, &sink, &d), KYMO_OK);
    return d;
}

/* A block that is full of samples. */
static uint64_t fill(struct fixture *f, uint32_t number, uint32_t next)
{
    struct kymo_block *block = kymo_session_block(f->session, &f->plan, number - 1);
    uint32_t room = kymo_session_block_bytes(&f->plan, number - 1);
    uint64_t n = 0;
    uint32_t at = sizeof *block;
    for (; at + sizeof(struct kymo_record_sample) <= room; n++) {
        struct kymo_record_sample *r = (void *)((char *)block + at);
        *r = (struct kymo_record_sample){
            .head = {.kind = KYMO_RECORD_SAMPLE_CPU, .size_bytes = sizeof *r}};
        at += (uint32_t)sizeof *r;
    }
    block->head = at;
    block->next = next;
    return n;
}

/* All blocks in one circle, and every stream of every thread beginning somewhere in it. */
static void streams_that_share_a_circle_cost_one_round_only(void **state)
{
    (void)state;
    struct fixture f = fixture_open(1u << 20);
    struct seen seen = {0};
    kymo_drain *d = drain_of(&f, &seen);
    uint32_t blocks = kymo_session_blocks(&f.plan);
    uint64_t whole = 0;
    for (uint32_t b = 1; b <= blocks; b++)
        whole += fill(&f, b, b % blocks + 1);
    f.session->slots_touched = f.plan.threads;
    for (uint32_t i = 0; i < f.plan.threads; i++) {
        struct kymo_thread_slot *slot = kymo_session_slot(f.session, &f.plan, i);
        slot->state = KYMO_SLOT_LIVE;
        for (uint32_t k = 0; k < KYMO_STREAMS; k++)
            slot->streams[k].first = (i * KYMO_STREAMS + k) % blocks + 1;
    }
    assert_int_equal(kymo_drain_round(d), KYMO_OK);
    assert_true(seen.samples > 0);
    assert_true(seen.samples <= 4 * whole);
    uint64_t lost[KYMO_LOSS_KINDS];
    kymo_drain_losses(d, lost);
    assert_true(lost[KYMO_LOSS_CORRUPT] > 0);
    kymo_drain_destroy(d);
    fixture_close(&f);
}

/* Of a thread that did not say what it used, whatever its slot holds: what was read, and no more.
 */
static void the_clock_at_the_last_sample_is_the_sum_of_the_weights(void **state)
{
    (void)state;
    struct fixture f = fixture_open(1u << 20);
    struct seen seen = {0};
    kymo_drain *d = drain_of(&f, &seen);
    uint32_t number = kymo_slot_take(f.session, &f.plan);
    struct kymo_thread_slot *slot = kymo_session_slot(f.session, &f.plan, number - 1);
    struct kymo_stream_writer w = {.kind = KYMO_STREAM_SIGNAL};
    for (uint64_t i = 1; i <= 10; i++) {
        struct kymo_record_sample *r =
            kymo_stream_reserve(&w, f.session, &f.plan, number - 1, sizeof *r);
        assert_non_null(r);
        *r = (struct kymo_record_sample){
            .head = {.kind = KYMO_RECORD_SAMPLE_CPU, .size_bytes = sizeof *r}, .weight_ns = i};
        kymo_stream_publish(&w, sizeof *r);
    }
    kymo_store_release(&slot->state, KYMO_SLOT_LIVE);
    assert_int_equal(kymo_drain_finish(d, 1), KYMO_OK);
    assert_int_equal(seen.samples, 10);
    assert_int_equal(seen.ends, 1);
    assert_int_equal(seen.last_cpu_ns, 55);
    kymo_drain_destroy(d);
    fixture_close(&f);
}

/* An arena whose every word may be the beginning of an entry. */
static void stacks_that_overlap_cost_no_more_than_the_depot(void **state)
{
    (void)state;
    enum { SAMPLES = 5000, FRAMES = 4096 };
    struct fixture f = fixture_open(4u << 20);
    struct seen seen = {0};
    kymo_drain *d = drain_of(&f, &seen);
    struct kymo_depot depot = kymo_depot_at(f.session, &f.plan, 0);
    for (uint32_t i = 0; i < depot.words; i++)
        depot.arena[i] = FRAMES;
    uint32_t number = kymo_slot_take(f.session, &f.plan) - 1;
    struct kymo_stream_writer w = {.kind = KYMO_STREAM_SIGNAL};
    for (uint32_t i = 1; i <= SAMPLES; i++) {
        struct kymo_record_sample *r =
            kymo_stream_reserve(&w, f.session, &f.plan, number, sizeof *r);
        assert_non_null(r);
        *r = (struct kymo_record_sample){
            .head = {.kind = KYMO_RECORD_SAMPLE_CPU, .size_bytes = sizeof *r, .stack = i}};
        kymo_stream_publish(&w, sizeof *r);
    }
    kymo_store_release(&kymo_session_slot(f.session, &f.plan, number)->state, KYMO_SLOT_LIVE);
    assert_int_equal(kymo_drain_finish(d, 1), KYMO_OK);
    assert_int_equal(seen.samples, SAMPLES);
    assert_true(seen.frames >= FRAMES);
    assert_true(seen.frames <= f.plan.depot_words);
    uint64_t lost[KYMO_LOSS_KINDS];
    kymo_drain_losses(d, lost);
    assert_int_equal(lost[KYMO_LOSS_CORRUPT], SAMPLES - seen.frames / FRAMES);
    kymo_drain_destroy(d);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_that_share_a_circle_cost_one_round_only),
        cmocka_unit_test(stacks_that_overlap_cost_no_more_than_the_depot),
        cmocka_unit_test(the_clock_at_the_last_sample_is_the_sum_of_the_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
