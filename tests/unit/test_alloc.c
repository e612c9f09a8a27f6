/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/alloc.h"
#include "capture/alloc_next.h"
#include "capture/alloc_record.h"
#include "capture/alloc_stack.h"
#include "capture/alloc_table.h"
#include "mark_process.h"

static int is_pending;

int kymo_fork_is_pending(void)
{
    return is_pending;
}

int kymo_fork_was_bare(void)
{
    return 0;
}

int kymo_alloc_next_is_allocator(uint64_t address)
{
    (void)address;
    return 0;
}

/* Addresses of no memory at all: they are not read. */
static void *block_at(uint64_t i)
{
    return (void *)(uintptr_t)(0x10000 + i * 64);
}

/* What a hook does. */
static KYMO_NOINLINE int give(void *block, size_t bytes)
{
    kymo_alloc_self.count++;
    kymo_alloc_self.until -= (int64_t)bytes;
    if (kymo_alloc_self.until >= 0)
        return 0;
    struct kymo_alloc_draw draw = kymo_alloc_draw(bytes, KYMO_FRAME_BEGIN());
    if (draw.is_drawn)
        kymo_alloc_note(draw, block, bytes, bytes + 8, KYMO_ALLOC_MALLOC, KYMO_FRAME_BEGIN());
    return (int)draw.is_drawn;
}

static KYMO_NOINLINE void take_back(void *block)
{
    if (kymo_load_relaxed(kymo_alloc_filter_of((uintptr_t)block)))
        kymo_alloc_note_free(block, KYMO_FRAME_BEGIN());
}

static KYMO_NOINLINE void resize(void *from, void *to, size_t usable, size_t bytes, int fails)
{
    uint64_t id = 0;
    size_t grows = bytes > usable ? bytes - usable : 0;
    struct kymo_alloc_draw draw = {0, 0};
    kymo_alloc_self.until -= (int64_t)grows;
    if (kymo_alloc_self.until < 0)
        draw = kymo_alloc_draw(grows, KYMO_FRAME_BEGIN());
    if (kymo_load_relaxed(kymo_alloc_filter_of((uintptr_t)from)))
        id = kymo_alloc_take_out(from);
    if (fails)
        kymo_alloc_put_back(from, id);
    else
        kymo_alloc_note_resize(draw, id, to, bytes, bytes, usable, KYMO_FRAME_BEGIN());
}

static void empty_table(void)
{
    struct kymo_alloc_cursor cursor = {0, 0};
    uint64_t address, id;
    uint32_t slots = UINT32_MAX;
    int found;
    while ((found = kymo_alloc_table_next(&cursor, &slots, &address, &id)) >= 0)
        if (found)
            (void)kymo_alloc_table_take(address);
    memset(kymo_alloc_filter, 0, sizeof kymo_alloc_filter);
}

static int open_with_rate(void **state, uint64_t rate)
{
    open_small_process(state);
    empty_table();
    fixture.session->alloc_rate = rate;
    return 0;
}

static int open_every(void **state)
{
    return open_with_rate(state, 1);
}

static int open_sampled(void **state)
{
    return open_with_rate(state, 4096);
}

/* ---- what was written ---- */

struct told {
    uint64_t allocs, frees, resizes, maps, inherits;
    uint64_t bytes;
    uint64_t id; /* of the last one */
    const struct kymo_record *last;
};

static void tell(const struct kymo_record *r, void *context)
{
    struct told *told = context;
    const struct kymo_record_alloc *alloc = (const void *)r;
    told->last = r;
    told->allocs += r->kind == KYMO_RECORD_ALLOC;
    told->frees += r->kind == KYMO_RECORD_FREE;
    told->resizes += r->kind == KYMO_RECORD_RESIZE;
    told->maps += r->kind == KYMO_RECORD_MAP;
    told->inherits += r->kind == KYMO_RECORD_INHERIT;
    if (r->kind != KYMO_RECORD_MAP)
        told->id = alloc->id;
    if (r->kind == KYMO_RECORD_ALLOC)
        told->bytes += alloc->bytes;
}

static struct told told(void)
{
    struct told all = {0};
    read_all(tell, &all);
    return all;
}

static uint64_t lost(enum kymo_loss_kind kind)
{
    return fixture.session->lost[kind];
}

/* ---- tests ---- */

static void every_block_is_told_from_its_beginning_to_its_end(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        assert_true(give(block_at(i), i)); /* the first one has 0 bytes */
    const struct kymo_record_alloc *first = (const void *)record_at(0);
    assert_int_equal(first->head.kind, KYMO_RECORD_ALLOC);
    assert_int_equal(first->head.size_bytes, sizeof *first);
    assert_int_not_equal(first->head.stack, 0);
    assert_int_equal(first->id >> KYMO_ALLOC_ID_EPOCH_SHIFT,
                     kymo_process_state->mark_epoch & 0xfff);
    assert_int_equal(first->address, (uintptr_t)block_at(0));
    assert_int_equal(first->rate, 1);
    assert_int_equal(first->slack_family, 8 << 8 | KYMO_ALLOC_MALLOC);
    for (uint64_t i = 0; i < 100; i++)
        take_back(block_at(i));
    const struct kymo_record_free *end = (const void *)record_at(100);
    assert_int_equal(end->head.kind, KYMO_RECORD_FREE);
    assert_int_equal(end->id, first->id);
    assert_int_equal(end->head.stack, (uint32_t)kymo_alloc_self.count);
    struct told all = told();
    assert_int_equal(all.allocs, 100);
    assert_int_equal(all.frees, 100);
    assert_int_equal(all.bytes, 99 * 100 / 2);
    assert_int_equal(kymo_thread_self->slot->alloc_count, 100);
    assert_int_equal(kymo_thread_self->slot->alloc_bytes, 99 * 100 / 2);
    take_back(block_at(7));
    assert_int_equal(told().frees, 100);
    assert_int_equal(kymo_thread_self->slot->alloc_pin, 0);
}

static void a_sampled_thread_draws_as_often_as_its_bytes_say(void **state)
{
    (void)state;
    enum { BLOCKS = 400000, BYTES = 16, WANTED = BLOCKS * BYTES / 4096 };
    uint64_t drawn = 0;
    for (uint64_t i = 0; i < BLOCKS; i++) {
        if (give(block_at(i), BYTES)) {
            drawn++;
            take_back(block_at(i));
        }
    }
    /* 5 standard errors. */
    assert_in_range(drawn, WANTED - 198, WANTED + 198);
    struct told all = told();
    assert_int_equal(all.allocs + lost(KYMO_LOSS_ALLOC_NO_BLOCK), drawn);
    const struct kymo_record_alloc *first = (const void *)record_at(0);
    assert_int_equal(first->rate, 4096);
    struct kymo_thread_slot *slot = kymo_thread_self->slot;
    kymo_thread_end(kymo_thread_self);
    assert_int_equal(slot->alloc_count, BLOCKS);
    assert_int_equal(slot->alloc_bytes, BLOCKS * BYTES);
}

static void another_rate_is_taken_with_the_next_draw(void **state)
{
    (void)state;
    fixture.session->alloc_rate = 1;
    while (!give(block_at(1), 16)) {
    }
    assert_int_equal(((const struct kymo_record_alloc *)(const void *)record_at(0))->rate, 1);
    fixture.session->alloc_rate = 64;
    assert_true(give(block_at(2), 16));
    assert_int_equal(((const struct kymo_record_alloc *)(const void *)told().last)->rate, 1);
    while (!give(block_at(3), 16)) {
    }
    assert_int_equal(((const struct kymo_record_alloc *)(const void *)told().last)->rate, 64);
    fixture.session->alloc_rate = 0;
    for (int i = 0; i < 1000; i++)
        (void)give(block_at(4), 1024);
    assert_in_range(told().allocs, 3, 4);
}

/* Blocks of many sizes, of which each counts for 1 / p of its draw: the sum is what was asked for,
 * whenever the rate becomes another one. */
static void sums_are_right_while_the_rate_changes(void **state)
{
    (void)state;
    static const uint64_t rates[] = {64 << 20, 256 << 10, 32 << 20, 1, 4 << 20};
    static const size_t sizes[] = {100, 5000, 70000, 1 << 20, 20 << 20};
    enum { BLOCKS = 400000 };
    double asked = 0;
    double counted = 0;
    double variance = 0;
    for (uint64_t i = 0; i < BLOCKS; i++) {
        size_t bytes = sizes[(i * 2654435761u >> 16) % (i % 7 ? 3 : 5)];
        if (i % 1009 == 0)
            fixture.session->alloc_rate = rates[i / 1009 % KYMO_ARRAY_LEN(rates)];
        asked += (double)bytes;
        kymo_alloc_self.count++;
        kymo_alloc_self.until -= (int64_t)bytes;
        if (kymo_alloc_self.until >= 0)
            continue;
        struct kymo_alloc_draw draw = kymo_alloc_draw(bytes, KYMO_FRAME_BEGIN());
        double p = draw.rate == 1 ? 1 : -expm1(-(double)bytes / draw.rate);
        if (draw.is_drawn) {
            counted += (double)bytes / p;
            variance += (double)bytes * (double)bytes * (1 - p) / (p * p);
        }
    }
    /* 6 standard errors, which are some thousandths. */
    assert_true(sqrt(variance) < asked / 100);
    assert_true(fabs(counted - asked) < 6 * sqrt(variance));
    kymo_thread_end(kymo_thread_self);
}

/* A draw that is far away does not keep a thread from seeing that more is wanted now. */
static void a_higher_rate_is_seen_soon(void **state)
{
    uint64_t n = 0;
    (void)state;
    fixture.session->alloc_rate = 1u << 30;
    (void)give(block_at(1), 1 << 20);
    fixture.session->alloc_rate = 1;
    while (!give(block_at(2), 1 << 20))
        n++;
    assert_true(n <= 17);
}

static void without_room_no_block_is_in_the_table_and_ends_wait(void **state)
{
    (void)state;
    uint64_t n = 0;
    while (lost(KYMO_LOSS_ALLOC_NO_BLOCK) == 0)
        (void)give(block_at(n++), 16);
    uint64_t given = told().allocs;
    assert_int_equal(given, n - 1);
    assert_int_equal(*kymo_alloc_filter_of((uintptr_t)block_at(n - 1)), 0);
    /* Smaller than an allocation: some may have found room yet. */
    for (uint64_t i = 0; i < 300; i++)
        take_back(block_at(i));
    assert_in_range(told().frees + lost(KYMO_LOSS_FREE), 300 - 256, 300 - 256 + 1);
    /* As the drain does: the thread's streams begin anew. */
    struct kymo_thread_slot *slot = kymo_thread_self->slot;
    kymo_session_format(fixture.session, &fixture.plan);
    memset(slot->streams, 0, sizeof slot->streams);
    for (uint32_t k = 0; k < KYMO_STREAMS; k++)
        kymo_thread_self->streams[k] = (struct kymo_stream_writer){.kind = k};
    fixture.session->slots_touched = 1;
    (void)give(block_at(n), 16);
    assert_int_equal(told().frees, 256);
    assert_int_equal(told().allocs, 1);
}

static void a_resize_keeps_the_id(void **state)
{
    (void)state;
    (void)give(block_at(1), 100);
    uint64_t id = told().id;
    resize(block_at(1), block_at(9), 108, 500, 0);
    const struct kymo_record_resize *r = (const void *)told().last;
    assert_int_equal(r->now.head.kind, KYMO_RECORD_RESIZE);
    assert_int_equal(r->now.id, id);
    assert_int_equal(r->now.address, (uintptr_t)block_at(9));
    assert_int_equal(r->now.bytes, 500);
    assert_int_equal(r->now.rate, 1);
    assert_int_equal(r->usable_before, 108);
    assert_int_equal(r->was_drawn, 3);
    /* It fails: the block is as it was. */
    resize(block_at(9), NULL, 500, 5000, 1);
    assert_int_equal(told().resizes, 1);
    take_back(block_at(1));
    assert_int_equal(told().frees, 0);
    take_back(block_at(9));
    assert_int_equal(told().frees, 1);
    assert_int_equal(told().id, id);
    /* One that was not known before has an id that no other has. */
    resize(block_at(20), block_at(21), 10, 20, 0);
    r = (const void *)told().last;
    assert_int_equal(r->was_drawn, 2);
    assert_int_not_equal(r->now.id, id);
    uint64_t other = r->now.id;
    (void)give(block_at(22), 1);
    assert_int_not_equal(told().id, other);
}

static void a_block_that_went_unseen_ends_when_its_address_is_given_again(void **state)
{
    (void)state;
    (void)give(block_at(1), 16);
    uint64_t id = told().id;
    (void)give(block_at(1), 32);
    struct told all = told();
    assert_int_equal(all.allocs, 2);
    assert_int_equal(all.frees, 1);
    take_back(block_at(1));
    assert_int_equal(told().frees, 2);
    assert_int_not_equal(told().id, id);
}

static void inside_another_one_none_is_recorded_but_ends_are(void **state)
{
    (void)state;
    (void)give(block_at(1), 16);
    /* As if a handler came while a stack was taken. */
    kymo_thread_self->alloc_frame = KYMO_FRAME_BEGIN() - (64 << 10);
    struct kymo_stack_bounds bounds = kymo_thread_self->stack;
    kymo_thread_self->stack = (struct kymo_stack_bounds){0, 0};
    (void)give(block_at(2), 16);
    take_back(block_at(1));
    assert_int_equal(lost(KYMO_LOSS_ALLOC_BUSY), 1);
    assert_int_equal(told().allocs, 1);
    assert_int_equal(told().frees, 1);
    /* It has left by siglongjmp: no thread is there. */
    kymo_thread_self->stack = bounds;
    (void)give(block_at(3), 16);
    assert_int_equal(told().allocs, 2);
    assert_int_equal(kymo_thread_self->alloc_frame, 0);
}

static void a_place_that_was_left_is_tidied_by_the_next_sample(void **state)
{
    struct kymo_capture_thread *t = kymo_thread_self;
    uint64_t here = KYMO_FRAME_BEGIN();
    (void)state;
    t->alloc_frame = here - 512;
    t->slot->alloc_pin = 1;
    kymo_alloc_tidy(t, here - 1024); /* within */
    assert_int_equal(t->slot->alloc_pin, 1);
    kymo_alloc_tidy(t, here); /* it was called from here, and does not run */
    assert_int_equal(t->slot->alloc_pin, 0);
    assert_int_equal(t->alloc_frame, 0);
}

static void a_recorder_that_is_silent_is_looked_for_seldom(void **state)
{
    (void)state;
    while (lost(KYMO_LOSS_ALLOC_NO_BLOCK) == 0)
        (void)give(block_at(1), 16);
    assert_true(kymo_alloc_self.until < 0);
    fixture.session->heartbeat_limit = 1;
    fixture.session->heartbeat = kymo_clock_tsc() - (1ull << 40);
    (void)give(block_at(2), 16);
    assert_true(kymo_alloc_self.until > 1 << 20);
    fixture.session->heartbeat_limit = UINT64_MAX / 4;
    for (int i = 0; i < 20; i++)
        (void)give(block_at(2), 1 << 20);
    assert_true(kymo_alloc_self.until < 0);
}

static void *end_and_give_back(void *argument)
{
    begin_thread();
    (void)give(argument, 16);
    kymo_thread_end(kymo_thread_self);
    take_back(argument);
    (void)give(block_at(77), 16);
    return NULL;
}

static void what_a_thread_gives_back_after_its_end_is_told_by_another(void **state)
{
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, end_and_give_back, block_at(5)), 0);
    pthread_join(thread, NULL);
    assert_int_equal(told().allocs, 1);
    assert_int_equal(told().frees, 0);
    assert_int_equal(lost(KYMO_LOSS_ALLOC_NO_THREAD), 1);
    kymo_alloc_calls->thread_end(kymo_thread_self); /* as at the end of the program */
    assert_int_equal(told().frees, 1);
}

static void a_child_tells_what_it_has_of_its_parents(void **state)
{
    int status = -1;
    (void)state;
    for (uint64_t i = 0; i < 3000; i++)
        (void)give(block_at(i), 1);
    pid_t child = fork();
    if (child == 0) {
        take_back(block_at(0));
        /* What it had is gone with the fork; it gets a session with its first block. */
        kymo_process_state = NULL;
        kymo_thread_self = NULL;
        open_process(1u << 20);
        fixture.session->alloc_rate = 1;
        kymo_alloc_calls->forked(kymo_process_state);
        (void)give(block_at(5000), 1);
        struct told all = told();
        uint64_t all_told = all.inherits;
        take_back(block_at(1));
        _exit(all_told == 2999 && told().frees == 1 && told().allocs == 1 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void mappings_are_told_with_stacks_if_they_are_large(void **state)
{
    (void)state;
    fixture.session->map_least = 65536;
    kymo_alloc_note_map(KYMO_MAP_MAP, 0, 4096, 65535, 0, 0, KYMO_FRAME_BEGIN());
    assert_int_equal(told().maps, 0);
    kymo_alloc_note_map(KYMO_MAP_MAP, KYMO_MAP_OF_FILE, 4096, 65536, 0, 0, KYMO_FRAME_BEGIN());
    const struct kymo_record_map *r = (const void *)told().last;
    assert_int_not_equal(r->head.stack, 0);
    assert_int_equal(r->bytes, 65536);
    assert_int_equal(r->how, KYMO_MAP_OF_FILE);
    kymo_alloc_note_map(KYMO_MAP_UNMAP, 0, 4096, 4096, 0, 0, KYMO_FRAME_BEGIN());
    r = (const void *)told().last;
    assert_int_equal(r->op, KYMO_MAP_UNMAP);
    assert_int_equal(r->head.stack, 0);
    assert_int_equal(told().maps, 2);
    assert_int_equal(kymo_thread_self->slot->alloc_pin, 0);
}

/* Not known to the compiler, which would make many calls of one in a loop. */
static volatile uint32_t ten = 10;

/* The id of the one stack of so many blocks, all from here; 0: there are several. */
static KYMO_NOINLINE uint32_t give_many(uint32_t from, uint32_t blocks)
{
    for (uint32_t i = 0; i < blocks; i++)
        assert_true(give(block_at(from + i), 16));
    uint32_t stack = record_at(from)->stack;
    for (uint32_t i = 1; i < blocks; i++)
        if (record_at(from + i)->stack != stack)
            return 0;
    return stack;
}

static void a_stack_that_repeats_keeps_its_id_until_ids_or_modules_change(void **state)
{
    (void)state;
    uint32_t noted = 0, ids[3];
    for (uint32_t i = 0; i < 3; i++) {
        ids[i] = give_many(i * 10, ten);
        assert_int_not_equal(ids[i], 0);
        fixture.session->depot_epoch += i == 0;
        fixture.session->module_generation += i == 1;
    }
    for (uint32_t i = 0; i < KYMO_STACK_REPEATS; i++)
        noted += kymo_thread_self->repeats[i].notes.count != 0;
    assert_int_not_equal(noted, 0);
    /* Of another epoch, and another stack, as it is of other modules. */
    assert_int_not_equal(ids[0] >> 24, ids[1] >> 24);
    assert_int_equal(ids[1] >> 24, ids[2] >> 24);
    assert_int_not_equal(ids[1], ids[2]);
}

/* More than the first level of the table has room for in each of its buckets. */
enum { EARLY = 10000 };

/* The first of all: nothing was recorded yet in this process. */
static void what_was_given_before_the_start_is_told_then(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < EARLY; i++)
        assert_true(give(block_at(i), 100));
    take_back(block_at(3));
    resize(block_at(4), block_at(2 * EARLY), 108, 200, 0);
    is_pending = 0;
    memset(&seen, 0, sizeof seen);
    open_process(8u << 20);
    kymo_thread_self->slot->flags |= KYMO_SLOT_MAIN;
    fixture.session->alloc_rate = 1;
    kymo_alloc_calls->thread_begin(kymo_thread_self);
    struct told all = told();
    assert_int_equal(all.allocs, EARLY);
    assert_int_equal(all.frees, 1);
    assert_int_equal(all.bytes, (EARLY - 1) * 100 + 200);
    const struct kymo_record_alloc *first = (const void *)record_at(0);
    assert_int_equal(first->slack_family & 0xff, KYMO_ALLOC_EARLY);
    assert_int_equal(first->rate, 1);
    assert_int_not_equal(first->head.stack, 0);
    take_back(block_at(0));
    take_back(block_at(2 * EARLY));
    assert_int_equal(told().frees, 3);
    assert_int_equal(lost(KYMO_LOSS_ALLOC_EARLY), 0);
    for (uint64_t i = 1; i < EARLY; i++)
        take_back(block_at(i));
    close_process(state);
}

#define TEST(name, open) cmocka_unit_test_setup_teardown(name, open, close_process)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_given_before_the_start_is_told_then),
        TEST(every_block_is_told_from_its_beginning_to_its_end, open_every),
        TEST(a_sampled_thread_draws_as_often_as_its_bytes_say, open_sampled),
        TEST(another_rate_is_taken_with_the_next_draw, open_sampled),
        TEST(sums_are_right_while_the_rate_changes, open_sampled),
        TEST(a_higher_rate_is_seen_soon, open_sampled),
        TEST(without_room_no_block_is_in_the_table_and_ends_wait, open_every),
        TEST(a_resize_keeps_the_id, open_every),
        TEST(a_block_that_went_unseen_ends_when_its_address_is_given_again, open_every),
        TEST(inside_another_one_none_is_recorded_but_ends_are, open_every),
        TEST(a_place_that_was_left_is_tidied_by_the_next_sample, open_every),
        TEST(a_recorder_that_is_silent_is_looked_for_seldom, open_every),
        TEST(what_a_thread_gives_back_after_its_end_is_told_by_another, open_every),
        TEST(a_child_tells_what_it_has_of_its_parents, open_every),
        TEST(mappings_are_told_with_stacks_if_they_are_large, open_every),
        TEST(a_stack_that_repeats_keeps_its_id_until_ids_or_modules_change, open_every),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
