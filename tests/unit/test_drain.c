/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "buffer/depot.h"
#include "buffer/drain.h"
#include "buffer/stream.h"
#include "session_fixture.h"
#include "unit.h"

enum { THREADS_MAX = 64 };

/* What came out. */
struct seen {
    uint32_t answers;
    struct kymo_drain_answer last_answer;
    uint64_t begins, ends, samples, weight, stacks, modules, unloads, without_stack;
    uint64_t weight_of[THREADS_MAX];
    uint64_t last_time;
    struct kymo_drain_frame last_frames[8];
    uint32_t last_depth, last_flags;
    uint32_t last_module;
    char last_name[16];
    uint64_t last_end_cpu;
    uint64_t begins_before_samples;
};

static kymo_err on_begin(void *c, const struct kymo_drain_thread *t)
{
    struct seen *s = c;
    assert_int_equal(t->thread, s->begins);
    s->begins++;
    return KYMO_OK;
}
static kymo_err on_end(void *c, const struct kymo_drain_thread *t)
{
    struct seen *s = c;
    s->ends++;
    memcpy(s->last_name, t->name, sizeof s->last_name);
    s->last_end_cpu = t->end_cpu_ns;
    return KYMO_OK;
}
static kymo_err on_module(void *c, uint32_t module, const struct kymo_module_entry *e, uint64_t ns)
{
    struct seen *s = c;
    (void)ns;
    assert_true(e->map_start < e->map_end);
    assert_true(e->build_id_len <= KYMO_SESSION_BUILD_ID_MAX);
    assert_int_equal(e->path[e->path_len], 0);
    s->last_module = module;
    s->modules++;
    return KYMO_OK;
}
static kymo_err on_unload(void *c, uint32_t module, uint64_t ns)
{
    struct seen *s = c;
    (void)module;
    (void)ns;
    s->unloads++;
    return KYMO_OK;
}
static kymo_err on_stack(void *c, uint32_t stack, uint32_t flags,
                         const struct kymo_drain_frame *frames, uint32_t n)
{
    struct seen *s = c;
    assert_int_equal(stack, s->stacks);
    s->stacks++;
    s->last_flags = flags;
    s->last_depth = n;
    memcpy(s->last_frames, frames, (n < 8 ? n : 8) * sizeof *frames);
    return KYMO_OK;
}
static kymo_err on_sample(void *c, const struct kymo_drain_sample *p)
{
    struct seen *s = c;
    if (s->samples == 0)
        s->begins_before_samples = s->begins;
    s->samples++;
    s->weight += p->weight_ns;
    if (p->thread < THREADS_MAX)
        s->weight_of[p->thread] += p->weight_ns;
    s->last_time = p->time_ns;
    if (p->stack == KYMO_NO_STACK)
        s->without_stack++;
    return KYMO_OK;
}

static kymo_err on_answer(void *context, const struct kymo_drain_answer *a)
{
    struct seen *s = context;
    s->answers++;
    s->last_answer = *a;
    return KYMO_OK;
}

static kymo_drain *open_drain(struct fixture *f, struct seen *s)
{
    struct kymo_drain_sink sink = {.thread_begin = on_begin,
                                   .thread_end = on_end,
                                   .module = on_module,
                                   .module_unload = on_unload,
                                   .stack = on_stack,
                                   .sample = on_sample,
                                   .context = s,
                                   .answer = on_answer};
    kymo_drain *d;
    assert_int_equal(kymo_drain_create(f->session, &f->plan, &sink, &d), KYMO_OK);
    return d;
}

/* The writer's side, as capture/ does it. */
struct writer {
    struct fixture *f;
    uint32_t number;
    struct kymo_thread_slot *slot;
    struct kymo_stream_writer stream;
};

static struct writer begin(struct fixture *f, uint32_t tid)
{
    struct writer w = {.f = f, .stream = {.kind = KYMO_STREAM_SIGNAL}};
    w.number = kymo_slot_take(f->session, &f->plan) - 1;
    w.slot = kymo_session_slot(f->session, &f->plan, w.number);
    w.slot->tid = tid;
    w.slot->generation++;
    w.slot->start_clock = kymo_clock_now(KYMO_CLOCK_MONOTONIC);
    kymo_store_release(&w.slot->state, KYMO_SLOT_LIVE);
    return w;
}

static int write_sample(struct writer *w, const uint64_t *pcs, uint32_t n, uint64_t weight)
{
    struct kymo_session *s = w->f->session;
    uint32_t epoch = kymo_depot_enter(s, w->slot);
    struct kymo_stack_key key = {pcs, n, 1, 0};
    uint32_t id = kymo_depot_find(s, &w->f->plan, epoch, &key);
    if (!id)
        id = kymo_depot_insert(s, &w->f->plan, epoch, &key);
    struct kymo_record_sample *r =
        kymo_stream_reserve(&w->stream, s, &w->f->plan, w->number, sizeof *r);
    if (r) {
        r->head = (struct kymo_record){kymo_clock_now(KYMO_CLOCK_MONOTONIC), KYMO_RECORD_SAMPLE_CPU,
                                       sizeof *r, id};
        r->weight_ns = weight;
        kymo_stream_publish(&w->stream, sizeof *r);
    }
    kymo_depot_leave(w->slot);
    return r != NULL;
}

static void end(struct writer *w)
{
    strcpy(w->slot->name, "worker");
    w->slot->end_cpu_ns = 77;
    w->slot->end_clock = kymo_clock_now(KYMO_CLOCK_MONOTONIC);
    kymo_store_release(&w->slot->state, KYMO_SLOT_EXITED);
}

static void add_module(struct fixture *f, uint64_t start, uint64_t stop, uint64_t bias,
                       uint32_t generation)
{
    uint32_t i = kymo_add_relaxed(&f->session->module_count, 1u);
    struct kymo_module_entry *m = kymo_session_module(f->session, &f->plan, i);
    m->map_start = start;
    m->map_end = stop;
    m->bias = bias;
    m->load_generation = generation;
    kymo_store_release(&m->state, KYMO_MODULE_READY);
    f->session->module_changes++;
}

static void answers_come_out_with_their_registers(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    struct seen s = {0};
    kymo_drain *d = open_drain(&f, &s);
    struct writer w = begin(&f, 42);
    struct kymo_record_answer *r =
        kymo_stream_reserve(&w.stream, f.session, &f.plan, w.number, sizeof *r);
    assert_non_null(r);
    *r = (struct kymo_record_answer){
        .head = {kymo_clock_now(KYMO_CLOCK_MONOTONIC), KYMO_RECORD_ANSWER, sizeof *r, 0},
        .callers = 7,
        .is_disturbed = 1,
        .sp = 0x7000,
        .saved = {1, 2, 3, 4},
    };
    kymo_stream_publish(&w.stream, sizeof *r);
    assert_int_equal(kymo_drain_round(d), KYMO_OK);
    assert_int_equal(s.answers, 1);
    assert_int_equal(s.samples, 0);
    assert_int_equal(s.last_answer.stack, KYMO_NO_STACK);
    assert_int_equal(s.last_answer.record.callers, 7);
    assert_int_equal(s.last_answer.record.saved[3], 4);
    assert_true(s.last_answer.time_ns > 0);
    kymo_drain_destroy(d);
    fixture_close(&f);
}

static void records_come_out_as_they_went_in(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    struct seen s = {0};
    kymo_drain *d = open_drain(&f, &s);
    struct writer w = begin(&f, 42);
    add_module(&f, 0x1000, 0x9000, 0x400, 1);
    /* The last byte of the module, as a return address one behind it; a place that a signal
     * struck; code outside every module. */
    uint64_t pcs[4] = {0x1004, 0x9000, 0x2000 | KYMO_PC_EXACT, 0x7f0000};
    for (int i = 0; i < 20000; i++) {
        assert_true(write_sample(&w, pcs, 4, 10));
        if (i % 1000 == 0)
            assert_int_equal(kymo_drain_round(d), KYMO_OK);
    }
    end(&w);
    assert_int_equal(kymo_drain_round(d), KYMO_OK);
    assert_int_equal(s.samples, 20000);
    assert_int_equal(s.weight, 200000);
    assert_int_equal(s.stacks, 1);
    assert_int_equal(s.last_depth, 4);
    assert_int_equal(s.last_frames[0].address, 0x1004 - 0x400);
    assert_int_equal(s.last_frames[0].is_return, 0);
    assert_int_equal(s.last_frames[1].address, 0x9000 - 0x400);
    assert_int_equal(s.last_frames[1].module, 0);
    assert_int_equal(s.last_frames[1].is_return, 1);
    assert_int_equal(s.last_frames[2].address, 0x2000 - 0x400);
    assert_int_equal(s.last_frames[2].is_return, 0);
    assert_int_equal(s.last_frames[3].module, KYMO_NO_MODULE);
    assert_int_equal(s.last_frames[3].address, 0x7f0000);
    assert_int_equal(s.ends, 1);
    assert_string_equal(s.last_name, "worker");
    assert_int_equal(s.last_end_cpu, 77);
    uint64_t lost[KYMO_LOSS_KINDS];
    kymo_drain_losses(d, lost);
    for (int i = 0; i < KYMO_LOSS_KINDS; i++)
        assert_int_equal(lost[i], 0);
    kymo_drain_destroy(d);
    fixture_close(&f);
}

/* A library is closed and another one comes to lie at its place: stacks of before and after are
 * told apart by the generation under which they were taken. */
/* What the first thread has recorded may name the second one. */
static void threads_are_told_before_what_is_in_them(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    struct seen s = {0};
    kymo_drain *d = open_drain(&f, &s);
    struct writer first = begin(&f, 42), second = begin(&f, 43);
    uint64_t pc = 0x1004;
    assert_true(write_sample(&first, &pc, 1, 10));
    assert_true(write_sample(&second, &pc, 1, 10));
    assert_int_equal(kymo_drain_round(d), KYMO_OK);
    assert_int_equal(s.samples, 2);
    assert_int_equal(s.begins_before_samples, 2);
    kymo_drain_destroy(d);
    fixture_close(&f);
}

static void an_address_used_again_is_not_confused(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    struct seen s = {0};
    kymo_drain *d = open_drain(&f, &s);
    struct writer w = begin(&f, 1);
    uint64_t pc = 0x5000;
    struct kymo_stack_key key = {&pc, 1, 1, 0};
    add_module(&f, 0x4000, 0x6000, 0x4000, 1);
    uint32_t before = kymo_depot_insert(f.session, &f.plan, 0, &key);
    struct kymo_module_entry *m = kymo_session_module(f.session, &f.plan, 0);
    kymo_store_release(&m->unload_generation, 2u);
    add_module(&f, 0x4800, 0x7000, 0x4800, 2);
    key.generation = 2;
    uint32_t after = kymo_depot_insert(f.session, &f.plan, 0, &key);
    assert_int_not_equal(before, after);
    for (int i = 0; i < 2; i++) {
        struct kymo_record_sample *r =
            kymo_stream_reserve(&w.stream, f.session, &f.plan, w.number, sizeof *r);
        r->head = (struct kymo_record){0, KYMO_RECORD_SAMPLE_CPU, sizeof *r, i ? after : before};
        kymo_stream_publish(&w.stream, sizeof *r);
        assert_int_equal(kymo_drain_round(d), KYMO_OK);
        assert_int_equal(s.last_frames[0].module, i);
        assert_int_equal(s.last_frames[0].address, i ? 0x800 : 0x1000);
    }
    assert_int_equal(s.unloads, 1);
    kymo_store_release(&m->unload_generation, 0u); /* loaded again where it was */
    assert_int_equal(kymo_drain_round(d), KYMO_OK);
    assert_int_equal(s.modules, 3);
    kymo_drain_destroy(d);
    fixture_close(&f);
}

/* The same within one round: the recorder has seen the first library, but nothing of its end. */
static void an_address_used_again_between_rounds_is_not_confused(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    struct seen s = {0};
    kymo_drain *d = open_drain(&f, &s);
    struct writer w = begin(&f, 1);
    uint64_t pc = 0x5000;
    add_module(&f, 0x4000, 0x6000, 0x4000, 1);
    struct kymo_module_entry *m = kymo_session_module(f.session, &f.plan, 0);
    assert_int_equal(kymo_drain_round(d), KYMO_OK);
    assert_int_equal(s.modules, 1);
    assert_int_equal(m->read_generation, 0);
    uint32_t ids[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct kymo_stack_key key = {&pc, 1, i + 1, 0};
        if (i == 1) {
            kymo_store_release(&m->unload_generation, 2u);
            add_module(&f, 0x4000, 0x6000, 0x4800, 2);
        }
        ids[i] = kymo_depot_insert(f.session, &f.plan, 0, &key);
    }
    /* The later one first, so that the earlier one is looked up with all that is known then. */
    for (int i = 1; i >= 0; i--) {
        struct kymo_record_sample *r =
            kymo_stream_reserve(&w.stream, f.session, &f.plan, w.number, sizeof *r);
        r->head = (struct kymo_record){0, KYMO_RECORD_SAMPLE_CPU, sizeof *r, ids[i]};
        kymo_stream_publish(&w.stream, sizeof *r);
    }
    assert_int_equal(kymo_drain_round(d), KYMO_OK);
    assert_int_equal(s.stacks, 2);
    assert_int_equal(s.unloads, 1);
    assert_int_equal(s.last_frames[0].module, 0);
    assert_int_equal(s.last_frames[0].address, 0x1000);
    /* All stacks of its first life are read: it may begin another. */
    assert_int_equal(m->read_generation, 2);
    kymo_drain_destroy(d);
    fixture_close(&f);
}

static void a_full_buffer_loses_the_newest_and_recovers(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    struct seen s = {0};
    kymo_drain *d = open_drain(&f, &s);
    struct writer w = begin(&f, 1);
    uint64_t pcs[1] = {1};
    uint64_t written = 0;
    while (write_sample(&w, pcs, 1, 1))
        written++;
    assert_false(write_sample(&w, pcs, 1, 1));
    assert_int_equal(kymo_drain_round(d), KYMO_OK);
    assert_int_equal(s.samples, written);
    assert_true(write_sample(&w, pcs, 1, 1));
    assert_int_equal(kymo_drain_round(d), KYMO_OK);
    assert_int_equal(s.samples, written + 1);
    kymo_drain_destroy(d);
    fixture_close(&f);
}

/* Many more unique stacks than a depot holds: it is moved on in time, and none is lost. */
static void the_depot_rotates(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    struct seen s = {0};
    kymo_drain *d = open_drain(&f, &s);
    struct writer w = begin(&f, 1);
    uint64_t pcs[32] = {0};
    uint64_t n = f.plan.depot_words; /* each stack takes 35 words */
    for (uint64_t i = 0; i < n; i++) {
        pcs[0] = i + 1;
        assert_true(write_sample(&w, pcs, 32, 1));
        if (i % 200 == 0)
            assert_int_equal(kymo_drain_round(d), KYMO_OK);
    }
    assert_int_equal(kymo_drain_finish(d, 1), KYMO_OK);
    assert_int_equal(s.samples, n);
    assert_int_equal(s.without_stack, 0);
    assert_true(s.stacks >= n);
    assert_true(f.session->depot_epoch > 20);
    assert_int_equal(s.ends, 1);
    kymo_drain_destroy(d);
    fixture_close(&f);
}

static void what_live_threads_count_is_told(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    struct seen s = {0};
    struct kymo_drain_counts counts;
    kymo_drain *d = open_drain(&f, &s);
    struct writer one = begin(&f, 1), other = begin(&f, 2);
    one.slot->samples = 3;
    one.slot->handler_ns = 300;
    other.slot->handler_ns = 20;
    other.slot->disturbed = 1;
    kymo_drain_live_counts(d, &counts);
    assert_int_equal(counts.handler_ns, 0); /* no thread is known yet */
    assert_int_equal(kymo_drain_round(d), KYMO_OK);
    kymo_drain_live_counts(d, &counts);
    assert_int_equal(counts.samples, 3);
    assert_int_equal(counts.handler_ns, 320);
    assert_int_equal(counts.disturbed, 1);
    end(&one);
    assert_int_equal(kymo_drain_round(d), KYMO_OK);
    kymo_drain_live_counts(d, &counts);
    assert_int_equal(counts.samples, 0);
    assert_int_equal(counts.handler_ns, 20);
    kymo_drain_destroy(d);
    fixture_close(&f);
}

static void a_thread_is_met_before_it_is_read(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    struct seen s = {0};
    kymo_drain *d = open_drain(&f, &s);
    assert_int_equal(kymo_drain_meet(d, 0), KYMO_OK);
    assert_int_equal(s.begins, 0); /* it is not there yet */
    struct writer one = begin(&f, 1);
    uint32_t number = one.number;
    assert_int_equal(kymo_drain_slot_thread(d, number), UINT32_MAX);
    for (int i = 0; i < 2; i++)
        assert_int_equal(kymo_drain_meet(d, number), KYMO_OK);
    assert_int_equal(s.begins, 1);
    assert_int_equal(kymo_drain_slot_thread(d, number), 0);
    assert_int_equal(kymo_drain_slot_weight(d, number), 0);
    assert_int_equal(kymo_drain_meet(d, UINT32_MAX), KYMO_OK);
    assert_int_equal(kymo_drain_slot_weight(d, UINT32_MAX), 0);
    assert_int_equal(kymo_drain_round(d), KYMO_OK);
    assert_int_equal(s.begins, 1);
    kymo_drain_destroy(d);
    fixture_close(&f);
}

static void a_thread_that_lives_at_the_end_is_believed(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    struct seen s = {0};
    kymo_drain *d = open_drain(&f, &s);
    struct writer w = begin(&f, 1);
    assert_int_equal(kymo_drain_round(d), KYMO_OK);
    w.slot->end_cpu_ns = 55;
    assert_int_equal(kymo_drain_finish(d, 1), KYMO_OK);
    assert_int_equal(s.ends, 1);
    assert_int_equal(s.last_end_cpu, 55);
    kymo_drain_destroy(d);
    fixture_close(&f);
}

/* Samples that fill so many bytes. */
static uint64_t write_bytes(struct writer *w, uint64_t bytes, uint64_t pc)
{
    uint64_t n = bytes / sizeof(struct kymo_record_sample);
    for (uint64_t i = 0; i < n; i++)
        assert_true(write_sample(w, &pc, 1, 1));
    return n;
}

/* Rounds until all is read that was there at first: how many. */
static uint32_t rounds_of(kymo_drain *d)
{
    uint32_t rounds = 0;
    do {
        assert_int_equal(kymo_drain_round(d), KYMO_OK);
        rounds++;
    } while (kymo_drain_is_behind(d));
    return rounds;
}

enum { ROUND_BYTES = 8 << 20 }; /* as drain.h says */

/* Who writes much does not keep the recorder: others have their turn, nothing is read twice. */
static void a_round_is_bounded(void **state)
{
    (void)state;
    struct fixture f = fixture_open(64u << 20);
    struct seen s = {0};
    kymo_drain *d = open_drain(&f, &s);
    struct writer much = begin(&f, 1), little = begin(&f, 2);
    uint64_t written = write_bytes(&much, 3 * ROUND_BYTES + ROUND_BYTES / 2, 1);
    uint64_t more = write_bytes(&little, 2400, 2);
    assert_int_equal(kymo_drain_round(d), KYMO_OK);
    assert_true(kymo_drain_is_behind(d));
    assert_int_equal(s.begins, 2);
    uint64_t bytes = s.samples * sizeof(struct kymo_record_sample);
    assert_true(bytes >= ROUND_BYTES - KYMO_LARGE_BLOCK_BYTES);
    assert_true(bytes <= ROUND_BYTES + KYMO_LARGE_BLOCK_BYTES);
    assert_int_equal(rounds_of(d), 3);
    assert_int_equal(s.weight_of[0], written);
    assert_int_equal(s.weight_of[1], more);
    assert_int_equal(rounds_of(d), 1);
    assert_int_equal(s.samples, written + more);
    kymo_drain_destroy(d);
    fixture_close(&f);
}

/* Of a thread that has ended, however much it has left. */
static void a_thread_is_ended_when_it_is_read_to_its_end(void **state)
{
    (void)state;
    struct fixture f = fixture_open(64u << 20);
    struct seen s = {0};
    kymo_drain *d = open_drain(&f, &s);
    struct writer told = begin(&f, 1), gone = begin(&f, 2);
    uint64_t written = write_bytes(&told, 2 * ROUND_BYTES, 1);
    uint64_t more = write_bytes(&gone, 2 * ROUND_BYTES, 2);
    end(&told);
    assert_int_equal(kymo_drain_round(d), KYMO_OK);
    assert_int_equal(s.ends, 0);
    /* Its tid is gone, and no hook saw it go. */
    assert_int_equal(kymo_drain_end_slot(d, gone.number, 7), KYMO_OK);
    assert_true(kymo_drain_slot_is_gone(d, gone.number));
    assert_int_equal(s.ends, 0);
    (void)rounds_of(d);
    assert_int_equal(s.ends, 2);
    assert_int_equal(s.weight_of[0], written);
    assert_int_equal(s.weight_of[1], more);
    assert_false(kymo_drain_slot_is_gone(d, gone.number));
    /* Both slots are free. */
    uint32_t slots = 0;
    while (kymo_slot_take(f.session, &f.plan))
        slots++;
    assert_int_equal(slots, f.plan.threads);
    kymo_drain_destroy(d);
    fixture_close(&f);
}

/* The old depot stays until a whole lap has read what may name it, in however many rounds. */
static void the_depot_is_kept_for_a_whole_lap(void **state)
{
    (void)state;
    struct fixture f = fixture_open(64u << 20);
    struct seen s = {0};
    kymo_drain *d = open_drain(&f, &s);
    struct writer much = begin(&f, 1), late = begin(&f, 2);
    uint64_t pcs[32] = {0};
    uint64_t written = 0;
    /* More than a quarter of the depot, read at once: it is moved on. */
    for (uint64_t i = 0; i < f.plan.depot_words / 35 / 3; i++, written++) {
        pcs[0] = i + 1;
        assert_true(write_sample(&much, pcs, 32, 1));
    }
    /* A stack of the old epoch that was not asked for yet, behind much that comes before. */
    written += write_bytes(&much, 3 * ROUND_BYTES, 1);
    pcs[0] = UINT32_MAX;
    assert_true(write_sample(&late, pcs, 32, 1));
    uint32_t epoch = f.session->depot_epoch;
    for (int i = 0; i < 3; i++)
        assert_int_equal(kymo_drain_round(d), KYMO_OK);
    assert_int_equal(f.session->depot_epoch, epoch + 1);
    assert_true(kymo_drain_is_behind(d));
    for (int i = 0; i < 4; i++)
        (void)rounds_of(d);
    assert_int_equal(s.weight_of[0], written);
    assert_int_equal(s.weight_of[1], 1);
    assert_int_equal(s.without_stack, 0);
    /* And no longer. */
    struct kymo_depot depot = kymo_depot_at(f.session, &f.plan, epoch);
    assert_int_equal(depot.head->used_words, 0);
    kymo_drain_destroy(d);
    fixture_close(&f);
}

static void *write_many(void *argument)
{
    struct fixture *f = argument;
    for (uint32_t life = 0; life < 40; life++) {
        struct writer w = begin(f, life);
        for (uint64_t i = 0; i < 500; i++) {
            uint64_t pcs[3] = {i % 100, i, 3};
            while (!write_sample(&w, pcs, 3, 1)) {
            }
        }
        end(&w);
    }
    return NULL;
}

/* Threads that come and go while the drain runs: nothing is lost, nothing is counted twice. */
static void concurrent_threads_lose_nothing(void **state)
{
    (void)state;
    struct fixture f = fixture_open(8u << 20);
    struct seen s = {0};
    kymo_drain *d = open_drain(&f, &s);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, &f), 0);
    while (s.ends < 3 * 40)
        assert_int_equal(kymo_drain_round(d), KYMO_OK);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(s.begins, 3 * 40);
    assert_int_equal(s.samples, 3 * 40 * 500);
    assert_int_equal(s.weight, 3 * 40 * 500);
    assert_int_equal(s.without_stack, 0);
    uint64_t lost[KYMO_LOSS_KINDS];
    kymo_drain_losses(d, lost);
    assert_int_equal(lost[KYMO_LOSS_CORRUPT], 0);
    /* Every block and slot has come back. */
    uint32_t blocks = 0;
    while (kymo_block_take(f.session, &f.plan, 0))
        blocks++;
    assert_int_equal(blocks, kymo_session_blocks(&f.plan));
    uint32_t slots = 0;
    while (kymo_slot_take(f.session, &f.plan))
        slots++;
    assert_int_equal(slots, f.plan.threads);
    kymo_drain_destroy(d);
    fixture_close(&f);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* The program overwrites its session, anywhere and with anything: every round ends, and nothing
 * outside the session is touched (the sanitizers look). */
static void a_scribbled_session_is_survived(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct fixture f = fixture_open(4u << 20);
        struct seen s = {0};
        kymo_drain *d = open_drain(&f, &s);
        uint64_t random = seed * 0x9e3779b97f4a7c15ull;
        struct writer w[3];
        for (uint32_t i = 0; i < 3; i++)
            w[i] = begin(&f, i);
        add_module(&f, 0x1000, 0x9000, 0, 1);
        for (int round = 0; round < 20; round++) {
            for (int k = 0; k < 100; k++) {
                uint64_t pcs[4] = {next_random(&random) & 0xffff, 0x1200, 0x1300, 0x1400};
                struct writer *one = &w[next_random(&random) % 3];
                /* The writer's own pointers are not in the session, so it stays inside it. */
                (void)write_sample(one, pcs, 4, 1);
            }
            for (int k = 0; k < 200; k++) {
                static const uint64_t values[] = {0, 1, 0xff, 0xffffffff, UINT64_MAX};
                uint64_t at = next_random(&random);
                /* Half of the damage goes where the structure is. */
                at = at & 1 ? (at >> 1) % f.plan.depots_at : (at >> 1) % f.plan.total_bytes;
                uint64_t value = next_random(&random);
                if (value & 1)
                    value = values[(value >> 1) % KYMO_ARRAY_LEN(values)];
                memcpy((char *)f.session + (at & ~7ull), &value, 8);
            }
            f.session->stopped = 0;
            assert_int_equal(kymo_drain_round(d), KYMO_OK);
        }
        assert_int_equal(kymo_drain_finish(d, 1), KYMO_OK);
        assert_int_equal(s.ends, s.begins);
        kymo_drain_destroy(d);
        fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_come_out_with_their_registers),
        cmocka_unit_test(records_come_out_as_they_went_in),
        cmocka_unit_test(threads_are_told_before_what_is_in_them),
        cmocka_unit_test(an_address_used_again_is_not_confused),
        cmocka_unit_test(an_address_used_again_between_rounds_is_not_confused),
        cmocka_unit_test(a_round_is_bounded),
        cmocka_unit_test(a_thread_is_ended_when_it_is_read_to_its_end),
        cmocka_unit_test(the_depot_is_kept_for_a_whole_lap),
        cmocka_unit_test(a_full_buffer_loses_the_newest_and_recovers),
        cmocka_unit_test(the_depot_rotates),
        cmocka_unit_test(what_live_threads_count_is_told),
        cmocka_unit_test(a_thread_is_met_before_it_is_read),
        cmocka_unit_test(a_thread_that_lives_at_the_end_is_believed),
        cmocka_unit_test(concurrent_threads_lose_nothing),
        cmocka_unit_test(a_scribbled_session_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
