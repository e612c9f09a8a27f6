/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest_marks_fixture.h"

#include <math.h>
#include <stdlib.h>

#include "profile/estimate.h"

#define RATE 4096u

static kymo_event_allocation block(uint32_t thread, uint64_t time_ns, uint64_t id, uint64_t address,
                                   uint64_t bytes)
{
    return (kymo_event_allocation){.thread = thread,
                                   .stack = KYMO_EVENT_NONE,
                                   .time_ns = time_ns,
                                   .id = id,
                                   .address = address,
                                   .bytes = bytes,
                                   .rate = 1};
}

static void send_free(uint32_t thread, uint64_t time_ns, uint64_t id, uint32_t count)
{
    send(free, (kymo_event_free){.thread = thread, .time_ns = time_ns, .id = id, .count = count});
}

static void send_resize(kymo_event_allocation now, uint64_t usable_before, uint32_t was_drawn)
{
    send(resize, (kymo_event_resize){now, usable_before, was_drawn, 0});
}

static const kymo_allocation *row(uint32_t process, size_t i)
{
    size_t count;
    const kymo_allocation *rows = kymo_profile_allocations(profile, process, &count);
    assert_true(i < count);
    return &rows[i];
}

static size_t row_count(uint32_t process)
{
    size_t count;
    kymo_profile_allocations(profile, process, &count);
    return count;
}

/* Stacks 0, 1, ... of process 0, which differ. */
static void send_stacks(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        kymo_event_frame frame = {0x1000 * (i + 1), KYMO_EVENT_NONE, 0};
        send(stack,
             (kymo_event_stack){
                 .stack = i, .flags = KYMO_EVENT_STACK_COMPLETE, .depth = 1, .frames = &frame});
    }
}

static uint64_t address_of(uint32_t stack)
{
    return kymo_profile_frame(profile, kymo_profile_stacks(profile).frame[stack])->address;
}

/* ---- one process ---- */

static void blocks_live_until_they_are_freed(void **state)
{
    (void)state;
    kymo_event_allocation a = block(0, 100, 70, 0x1000, 64);
    a.slack = 8;
    a.family = KYMO_FAMILY_NEW;
    send(allocation, a);
    send(allocation, block(0, 110, 71, 0x2000, 64));
    send(allocation, block(1, 120, 5ull << 40 | 1, 0x3000, 32));
    send_free(0, 150, 70, 75);
    send_free(1, 160, 71, 9);
    send_free(1, 170, 12345, 9); /* of one that is not known */
    finish();
    assert_int_equal(row_count(0), 3);
    assert_int_equal(row(0, 0)->end_ns, 150);
    assert_int_equal(row(0, 0)->end_thread, 0);
    assert_int_equal(row(0, 0)->distance, 5);
    assert_int_equal(row(0, 0)->slack, 8);
    assert_int_equal(row(0, 0)->family, KYMO_FAMILY_NEW);
    assert_true(row(0, 0)->weight == 1);
    assert_int_equal(row(0, 1)->end_ns, 160);
    assert_int_equal(row(0, 1)->end_thread, 1);
    assert_int_equal(row(0, 1)->distance, UINT32_MAX);
    assert_true(row(0, 2)->end_ns == KYMO_LIVES);
    assert_int_equal(row(0, 2)->end_thread, KYMO_NONE);
    assert_int_equal(row(0, 2)->birth_ns, 120);
}

static void threads_come_in_any_order(void **state)
{
    (void)state;
    send_free(1, 300, 70, 9);
    send_resize(block(2, 200, 70, 0x5000, 128), 64, 1);
    send(allocation, block(0, 100, 70, 0x1000, 64));
    send_resize(block(0, 150, 70, 0x4000, 96), 64, 1);
    send(allocation, block(0, 105, 71, 0x1000, 64));
    send_free(0, 106, 71, 80); /* before its resize by another thread is drained */
    finish();
    assert_int_equal(row_count(0), 4);
    static const uint64_t times[] = {100, 105, 150, 200}, ends[] = {150, 106, 200, 300};
    static const uint64_t bytes[] = {64, 64, 96, 128};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(row(0, i)->time_ns, times[i]);
        assert_int_equal(row(0, i)->end_ns, ends[i]);
        assert_int_equal(row(0, i)->bytes, bytes[i]);
        assert_int_equal(row(0, i)->was_resized, i == 0 || i == 2);
        assert_int_equal(row(0, i)->birth_ns, i == 1 ? 105 : 100);
    }
    assert_int_equal(row(0, 2)->previous, 0);
    assert_int_equal(row(0, 3)->previous, 2);
    assert_int_equal(row(0, 3)->end_thread, 1);
}

static void a_resize_cuts_what_ended_before_it_came(void **state)
{
    (void)state;
    send(allocation, block(0, 100, 70, 0x1000, 64));
    send_free(0, 300, 70, 72);
    send_resize(block(1, 200, 70, 0x2000, 256), 64, 1);
    finish();
    assert_int_equal(row_count(0), 2);
    assert_int_equal(row(0, 0)->end_ns, 200);
    assert_int_equal(row(0, 0)->end_thread, 1);
    assert_int_equal(row(0, 0)->distance, UINT32_MAX);
    assert_int_equal(row(0, 1)->end_ns, 300);
    assert_int_equal(row(0, 1)->distance, 2);
    assert_int_equal(row(0, 1)->address, 0x2000);
}

static void a_block_is_whose_call_made_it_grow(void **state)
{
    (void)state;
    send_stacks(3);
    kymo_event_allocation a = block(0, 100, 70, 0x1000, 64);
    a.stack = 0;
    send(allocation, a);
    a = block(1, 200, 70, 0x1000, 32);
    a.stack = 1;
    a.family = KYMO_FAMILY_REALLOC;
    send_resize(a, 64, 1);
    a = block(1, 300, 70, 0x1000, 640);
    a.stack = 2;
    send_resize(a, 64, 1);
    finish();
    assert_int_equal(row_count(0), 3);
    assert_int_equal(address_of(row(0, 1)->stack), 0x1000);
    assert_int_equal(row(0, 1)->thread, 0);
    assert_int_equal(row(0, 1)->family, KYMO_FAMILY_MALLOC);
    assert_int_equal(address_of(row(0, 2)->stack), 0x3000);
    assert_int_equal(row(0, 2)->thread, 1);
    assert_int_equal(row(0, 2)->birth_ns, 100);
}

static void weights_are_those_of_estimate_h(void **state)
{
    (void)state;
    kymo_event_allocation a = block(0, 100, 70, 0x1000, 100);
    a.rate = RATE;
    send(allocation, a);
    a.time_ns = 200;
    a.bytes = 1000;
    send_resize(a, 104, 1); /* drawn before, not by this call */
    a.time_ns = 300;
    a.bytes = 900;
    send_resize(a, 1000, 1);
    a = block(0, 400, 71, 0x2000, 5000);
    a.rate = RATE;
    send_resize(a, 4000, 2); /* drawn by this call alone: it begins here */
    a = block(0, 500, 99, 0x3000, 5000);
    a.rate = RATE;
    send_resize(a, 4000, 1); /* its beginning was lost */
    send(allocation, block(0, 600, 100, 0x4000, 0));
    a = block(0, 700, 101, 0x5000, 0);
    a.rate = RATE;
    send(allocation, a); /* cannot be */
    finish();
    double first = kymo_estimate_weight(100, RATE);
    double grown = kymo_estimate_resized(first, 1000, 896, RATE);
    assert_int_equal(row_count(0), 6);
    assert_true(row(0, 0)->weight == first);
    assert_true(row(0, 1)->weight == grown);
    assert_true(row(0, 2)->weight == grown);
    assert_true(row(0, 3)->weight == kymo_estimate_weight(5000, RATE));
    assert_int_equal(row(0, 3)->previous, KYMO_NONE);
    assert_true(row(0, 4)->weight ==
                kymo_estimate_resized(kymo_estimate_weight(4000, RATE), 5000, 1000, RATE));
    assert_true(row(0, 5)->weight == 1);
}

/* ---- forks ---- */

/* Processes 2 and 3: forked by process 0 at 500, and by that one at 800. Threads 4 and 5. */
static void send_children(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        send(process, (kymo_event_process){.process = 2 + i,
                                           .pid = 30 + (int32_t)i,
                                           .parent_pid = i ? 30 : 10,
                                           .start_ns = i ? 800 : 500});
        send(thread, (kymo_event_thread){.thread = 4 + i,
                                         .process = 2 + i,
                                         .tid = 30 + (int32_t)i,
                                         .start_ns = i ? 800 : 500});
    }
}

static void send_inherit(uint32_t thread, uint64_t time_ns, uint64_t id, uint64_t address)
{
    send(inherit,
         (kymo_event_inherit){.thread = thread, .time_ns = time_ns, .id = id, .address = address});
}

static void children_have_what_their_parents_had(void **state)
{
    (void)state;
    send_stacks(1);
    send_children();
    send_inherit(4, 510, 70, 0x1000); /* before the parent's own records */
    send_inherit(4, 511, 71, 0x2000);
    send_inherit(4, 511, 71, 0x2000); /* twice */
    send_inherit(5, 810, 70, 0x1000);
    send_inherit(5, 811, 71, 0x2000); /* which its parent has freed since */
    send_inherit(5, 812, 4711, 0x9000);
    kymo_event_allocation a = block(0, 100, 70, 0x1000, 100);
    a.stack = 0;
    a.rate = RATE;
    send(allocation, a);
    send(allocation, block(0, 110, 71, 0x2000, 50));
    send_free(0, 600, 70, 90); /* the parent's, after the fork */
    send_resize(block(0, 620, 71, 0x7000, 5000), 50, 1);
    send_free(4, 900, 71, 5);
    finish();
    assert_int_equal(row_count(2), 2);
    assert_int_equal(row(2, 0)->time_ns, 500);
    assert_int_equal(row(2, 0)->birth_ns, 100);
    assert_int_equal(row(2, 0)->address, 0x1000);
    assert_int_equal(row(2, 0)->bytes, 100);
    assert_int_equal(row(2, 0)->origin, KYMO_ORIGIN_FORKED);
    assert_int_equal(row(2, 0)->thread, 4);
    assert_int_equal(address_of(row(2, 0)->stack), 0x1000);
    assert_true(row(2, 0)->weight == kymo_estimate_weight(100, RATE));
    assert_true(row(2, 0)->end_ns == KYMO_LIVES);
    assert_int_equal(row(2, 1)->bytes, 50); /* as at the fork */
    assert_int_equal(row(2, 1)->end_ns, 900);
    assert_int_equal(row(2, 1)->distance, UINT32_MAX);
    assert_int_equal(row_count(3), 2);
    assert_int_equal(row(3, 1)->time_ns, 800);
    assert_int_equal(row(3, 1)->bytes, 50);
    assert_true(row(3, 1)->end_ns == KYMO_LIVES);
    assert_int_equal(row(0, 0)->end_ns, 600);
    assert_int_equal(row(0, 0)->origin, KYMO_ORIGIN_HERE);
}

static void what_a_child_frees_it_had(void **state)
{
    (void)state;
    send_children();
    send(allocation, block(0, 100, 70, 0x1000, 100));
    send(allocation, block(0, 110, 71, 0x2000, 50));
    send_free(5, 850, 70, 7); /* of its parent's parent, and nothing was said of it */
    send_resize(block(4, 550, 71, 0x3000, 500), 50, 1);
    send_inherit(4, 560, 71, 0x2000);
    finish();
    assert_int_equal(row_count(3), 1);
    assert_int_equal(row(3, 0)->origin, KYMO_ORIGIN_FORKED);
    assert_int_equal(row(3, 0)->end_ns, 850);
    assert_int_equal(row_count(2), 2);
    assert_int_equal(row(2, 0)->end_ns, 550);
    assert_int_equal(row(2, 0)->origin, KYMO_ORIGIN_FORKED);
    assert_int_equal(row(2, 1)->bytes, 500);
    assert_int_equal(row(2, 1)->origin, KYMO_ORIGIN_HERE); /* it grew by the child's own call */
    assert_int_equal(row(2, 1)->previous, 0);
    assert_int_equal(row_count(0), 2);
    assert_true(row(0, 0)->end_ns == KYMO_LIVES);
}

static void without_a_parent_the_address_tells(void **state)
{
    (void)state;
    send(allocation, block(0, 100, 70, 0x1000, 100));
    send(allocation, block(0, 110, 71, 0x2000, 50));
    send_inherit(3, 510, 70, 0x1000); /* process 1: without a parent */
    send_inherit(3, 520, 71, 0x2fff);
    send_free(3, 530, 71, 1);
    finish();
    assert_int_equal(row_count(1), 1);
    assert_int_equal(row(1, 0)->address, 0x1000);
}

/* ---- many ---- */

#define BLOCKS 3000u
#define STEPS 20000u

static uint64_t bits = 1;

static uint32_t below(uint32_t n)
{
    bits ^= bits >> 12;
    bits ^= bits << 25;
    bits ^= bits >> 27;
    return (uint32_t)((bits * 0x2545f4914f6cdd1dull) >> 40) % n;
}

struct queued {
    enum { ALLOCATION, FREE, RESIZE } what;
    kymo_event_allocation a;
};

/* Three threads that give, take and resize each other's blocks; what they say comes thread by
 * thread, in pieces. At any time as many bytes live as there were. */
static void what_lives_is_what_lived(void **state)
{
    (void)state;
    static struct queued queues[3][STEPS];
    static uint64_t lives[BLOCKS], sums[STEPS];
    size_t counts[3] = {0}, sent[3] = {0};
    uint64_t sum = 0;
    uint64_t next_id = 1;
    static uint64_t ids[BLOCKS];
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t t = below(3), b = below(BLOCKS);
        struct queued *q = &queues[t][counts[t]++];
        uint64_t bytes = 1 + below(5000);
        if (!lives[b])
            ids[b] = next_id++;
        q->what = !lives[b] ? ALLOCATION : below(2) ? FREE : RESIZE;
        if (q->what == FREE)
            bytes = 0;
        q->a = block(t, 1000 + step, ids[b], 4096 * b, bytes);
        sum = sum - lives[b] + bytes;
        lives[b] = bytes;
        sums[step] = sum;
    }
    for (size_t left = STEPS; left > 0;) {
        uint32_t t = below(3);
        for (uint32_t n = below(700); n > 0 && sent[t] < counts[t]; n--, left--) {
            const struct queued *q = &queues[t][sent[t]++];
            if (q->what == ALLOCATION)
                send(allocation, q->a);
            else if (q->what == FREE)
                send_free(t, q->a.time_ns, q->a.id, 0);
            else
                send_resize(q->a, q->a.bytes / 2, 1);
        }
    }
    finish();
    static int64_t changes[STEPS];
    for (size_t i = 0; i < row_count(0); i++) {
        const kymo_allocation *a = row(0, i);
        changes[a->time_ns - 1000] += (int64_t)a->bytes;
        if (a->end_ns != KYMO_LIVES)
            changes[a->end_ns - 1000] -= (int64_t)a->bytes;
        if (a->previous != KYMO_NONE)
            assert_int_equal(row(0, a->previous)->end_ns, a->time_ns);
    }
    int64_t live = 0;
    for (size_t i = 0; i < STEPS; i++) {
        live += changes[i];
        assert_int_equal(live, sums[i]);
    }
}

/* ---- what else ---- */

static void blocks_have_their_thread_s_labels(void **state)
{
    (void)state;
    kymo_event_label l = {.change = KYMO_LABEL_PUSHED,
                          .kind = KYMO_KIND_U64,
                          .time_ns = 150,
                          .number = 7,
                          .key = "request"};
    send(allocation, block(0, 100, 1, 0x1000, 10));
    send(allocation, block(0, 160, 2, 0x2000, 10));
    send(allocation, block(1, 170, 3, 0x3000, 10));
    kymo_event_allocation a = block(0, 300, 2, 0x2000, 5);
    send_resize(a, 10, 1);
    a = block(0, 310, 2, 0x2000, 50);
    send_resize(a, 10, 1);
    send(label, l);
    l.change = KYMO_LABEL_POPPED;
    l.time_ns = 200;
    send(label, l);
    finish();
    static const char *const labels[] = {"", "request=7", "", "request=7", ""};
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(labels_of(row(0, i)->labels), labels[i]);
}

static void generated_code_has_its_name(void **state)
{
    (void)state;
    send_stacks(2);
    for (uint32_t i = 0; i < 2; i++)
        send(code, (kymo_event_code){.start = 0x1000,
                                     .size_bytes = 0x100,
                                     .from_ns = 50 + 100 * i,
                                     .name = i ? "later" : "sooner"});
    kymo_event_allocation a = block(0, 100, 1, 0x1000, 10);
    a.stack = 0;
    send(allocation, a);
    a.id = 2;
    a.time_ns = 200;
    send(allocation, a);
    send(mapping,
         (kymo_event_mapping){.stack = 0, .time_ns = 300, .address = 4096, .bytes = 4096, .op = 1});
    finish();
    size_t count;
    kymo_stacks stacks = kymo_profile_stacks(profile);
    uint32_t frames[] = {stacks.frame[row(0, 0)->stack], stacks.frame[row(0, 1)->stack],
                         stacks.frame[kymo_profile_mappings(profile, 0, &count)->stack]};
    assert_int_equal(kymo_profile_frame(profile, frames[0])->line_count, 1);
    assert_int_equal(kymo_profile_frame(profile, frames[1])->line_count, 1);
    assert_int_not_equal(frames[0], frames[1]);
    assert_int_equal(frames[1], frames[2]);
    assert_int_equal(stacks.count, 2); /* and the unused one is gone */
}

static void unknown_ids_are_refused(void **state)
{
    (void)state;
    kymo_event_allocation wrong[2] = {block(4, 1, 1, 1, 1), block(0, 1, 1, 1, 1)};
    wrong[1].stack = 0;
    for (size_t i = 0; i < 2; i++) {
        kymo_event_resize r = {wrong[i], 0, 1, 0};
        assert_int_equal(kymo_ingest_handler.allocation(ingest, &wrong[i]), KYMO_E_INVALID);
        assert_int_equal(kymo_ingest_handler.resize(ingest, &r), KYMO_E_INVALID);
    }
    kymo_event_free f = {.thread = 4};
    kymo_event_inherit h = {.thread = 4};
    assert_int_equal(kymo_ingest_handler.free(ingest, &f), KYMO_E_INVALID);
    assert_int_equal(kymo_ingest_handler.inherit(ingest, &h), KYMO_E_INVALID);
}

/* Whatever a file says, rows are as kymo/profile_heap.h says. */
static void nonsense_makes_true_rows(void **state)
{
    (void)state;
    send_children();
    for (uint32_t i = 0; i < 30000; i++) {
        kymo_event_allocation a = block(below(6), below(50), below(40), below(3), below(4));
        uint32_t what = below(5);
        a.rate = below(3) ? below(5) : UINT64_MAX;
        a.family = below(20);
        if (below(50) == 0)
            a.time_ns = UINT64_MAX;
        if (below(50) == 0)
            a.bytes = UINT64_MAX;
        if (what == 0)
            send(allocation, a);
        else if (what == 1)
            send_free(a.thread, a.time_ns, a.id, below(9));
        else if (what == 2)
            send_resize(a, below(9), below(4));
        else if (what == 3)
            send_inherit(a.thread, a.time_ns, a.id, a.address);
        else
            send(mapping, (kymo_event_mapping){.thread = a.thread,
                                               .stack = KYMO_EVENT_NONE,
                                               .time_ns = a.time_ns,
                                               .address = below(9),
                                               .bytes = a.bytes,
                                               .before = below(9),
                                               .bytes_before = below(9),
                                               .op = below(7),
                                               .how = below(99)});
    }
    finish();
    for (uint32_t p = 0; p < 4; p++)
        for (size_t i = 0; i < row_count(p); i++) {
            const kymo_allocation *a = row(p, i);
            assert_true(a->weight >= 1 && isfinite(a->weight));
            assert_true(a->birth_ns <= a->time_ns && a->time_ns <= a->end_ns);
            assert_true(a->previous == KYMO_NONE || a->previous < row_count(p));
            assert_true(i == 0 || row(p, i - 1)->time_ns <= a->time_ns);
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(blocks_live_until_they_are_freed),
        TEST(threads_come_in_any_order),
        TEST(a_resize_cuts_what_ended_before_it_came),
        TEST(a_block_is_whose_call_made_it_grow),
        TEST(weights_are_those_of_estimate_h),
        TEST(children_have_what_their_parents_had),
        TEST(what_a_child_frees_it_had),
        TEST(without_a_parent_the_address_tells),
        TEST(what_lives_is_what_lived),
        TEST(blocks_have_their_thread_s_labels),
        TEST(generated_code_has_its_name),
        TEST(unknown_ids_are_refused),
        TEST(nonsense_makes_true_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
