/* SPDX-License-Identifier: Apache-2.0 */
/* What the drain makes of records of memory; honest ones first, then hostile ones. */
#include <inttypes.h>

#include "base/str.h"
#include "buffer/depot.h"
#include "buffer/drain_heap.h"
#include "mark_fixture.h"
#include "unit.h"

/* Everything that was told, one line each, without times. */
struct scene {
    struct fixture f;
    kymo_drain *d;
    kymo_str told;
    uint64_t start_ns;
    kymo_err answer;
};

static struct scene *see(void *c, uint64_t time_ns)
{
    struct scene *s = c;
    assert_true(time_ns >= s->start_ns);
    assert_true(time_ns <= kymo_clock_ns(CLOCK_MONOTONIC));
    return s;
}

static void tell_block(struct scene *s, const struct kymo_drain_alloc *a)
{
    kymo_str_printf(&s->told,
                    "%u: %#" PRIx64 " at %#" PRIx64 ", %" PRIu64 " + %u bytes, rate %" PRIu64
                    ", family %u, stack %d",
                    a->thread, a->id, a->address, a->bytes, a->slack, a->rate, a->family,
                    (int)a->stack);
}

static kymo_err on_alloc(void *c, const struct kymo_drain_alloc *a)
{
    struct scene *s = see(c, a->time_ns);
    tell_block(s, a);
    kymo_str_puts(&s->told, "\n");
    return s->answer;
}
static kymo_err on_free(void *c, uint32_t thread, uint64_t time_ns, uint64_t id, uint32_t count)
{
    struct scene *s = see(c, time_ns);
    kymo_str_printf(&s->told, "%u: %#" PRIx64 " ends at %u\n", thread, id, count);
    return s->answer;
}
static kymo_err on_resize(void *c, const struct kymo_drain_alloc *now, uint64_t usable_before,
                          uint32_t was_drawn)
{
    struct scene *s = see(c, now->time_ns);
    tell_block(s, now);
    kymo_str_printf(&s->told, ", before %" PRIu64 ", drawn %u\n", usable_before, was_drawn);
    return s->answer;
}
static kymo_err on_map(void *c, const struct kymo_drain_map *m)
{
    struct scene *s = see(c, m->time_ns);
    kymo_str_printf(
        &s->told,
        "%u: map %u, %u: %#" PRIx64 " + %" PRIu64 " from %#" PRIx64 " + %" PRIu64 ", stack %d\n",
        m->thread, m->op, m->how, m->address, m->bytes, m->before, m->bytes_before, (int)m->stack);
    return s->answer;
}
static kymo_err on_inherit(void *c, uint32_t thread, uint64_t time_ns, uint64_t id,
                           uint64_t address)
{
    struct scene *s = see(c, time_ns);
    kymo_str_printf(&s->told, "%u: %#" PRIx64 " at %#" PRIx64 " is the parent's\n", thread, id,
                    address);
    return s->answer;
}
static kymo_err on_thread(void *c, const struct kymo_drain_thread *t)
{
    (void)c;
    (void)t;
    return KYMO_OK;
}
static kymo_err on_stack(void *c, uint32_t stack, uint32_t flags,
                         const struct kymo_drain_frame *frames, uint32_t n)
{
    struct scene *s = c;
    (void)flags;
    kymo_str_printf(&s->told, "stack %u: %u, %#" PRIx64 "\n", stack, n, frames[0].address);
    return KYMO_OK;
}

static const struct kymo_drain_heap_sink heap = {on_alloc, on_free, on_resize, on_map, on_inherit};

static void open_scene(struct scene *s, const struct kymo_drain_heap_sink *wanted)
{
    memset(s, 0, sizeof *s);
    s->f = fixture_open(1u << 20);
    s->start_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    struct kymo_drain_sink sink = {.thread_begin = on_thread,
                                   .thread_end = on_thread,
                                   .stack = on_stack,
                                   .context = s,
                                   .heap = wanted};
    assert_int_equal(kymo_drain_create(s->f.session, &s->f.plan, &sink, &s->d), KYMO_OK);
}

static void close_scene(struct scene *s)
{
    kymo_drain_destroy(s->d);
    kymo_str_deinit(&s->told);
    fixture_close(&s->f);
}

static void expect(struct scene *s, const char *text)
{
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_string_equal(kymo_str_cstr(&s->told), text);
    kymo_str_deinit(&s->told);
}

static uint64_t corrupt(const struct scene *s)
{
    uint64_t lost[KYMO_LOSS_KINDS];
    kymo_drain_losses(s->d, lost);
    return lost[KYMO_LOSS_CORRUPT];
}

/* A record but for its head. */
#define WRITE(w, kind, stack, record)                                                      \
    (void)mark_write(w, kind, stack, (const char *)&(record) + sizeof(struct kymo_record), \
                     sizeof(record) - (uint32_t)sizeof(struct kymo_record))

static struct kymo_record_alloc block(uint64_t id, uint64_t bytes)
{
    return (struct kymo_record_alloc){
        .id = id,
        .address = 0x5000 + id * 0x100,
        .bytes = bytes,
        .rate = 4096,
        .slack_family = 8 << 8 | KYMO_ALLOC_NEW,
    };
}

static uint32_t put_stack(struct scene *s, uint64_t pc)
{
    struct kymo_stack_key key = {&pc, 1, 1, 0};
    return kymo_depot_insert(s->f.session, &s->f.plan, 0, &key);
}

static void records_are_told_in_their_order(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &heap);
    struct mark_writer w = mark_thread(&s.f, 1, KYMO_SLOT_MAIN);
    uint32_t stack = put_stack(&s, 0x1234);
    struct kymo_record_alloc a = block(1, 100), b = block(2, 0);
    struct kymo_record_free f = {.id = 1};
    struct kymo_record_resize r = {.now = block(2, 5000), .usable_before = 24, .was_drawn = 3};
    b.rate = 1;
    b.slack_family = KYMO_ALLOC_SLACK_MAX << 8;
    WRITE(&w, KYMO_RECORD_ALLOC, stack, a);
    WRITE(&w, KYMO_RECORD_ALLOC, 0, b);
    WRITE(&w, KYMO_RECORD_FREE, 77, f);
    WRITE(&w, KYMO_RECORD_RESIZE, stack, r);
    f.id = 2;
    WRITE(&w, KYMO_RECORD_FREE, UINT32_MAX, f);
    expect(&s,
           "stack 0: 1, 0x1234\n"
           "0: 0x1 at 0x5100, 100 + 8 bytes, rate 4096, family 4, stack 0\n"
           "0: 0x2 at 0x5200, 0 + 16777215 bytes, rate 1, family 0, stack -1\n"
           "0: 0x1 ends at 77\n"
           "0: 0x2 at 0x5200, 5000 + 8 bytes, rate 4096, family 4, stack 0, before 24, drawn 3\n"
           "0: 0x2 ends at 4294967295\n");
    struct kymo_record_map m = {.address = 0x7000,
                                .bytes = 1 << 20,
                                .before = 0x9000,
                                .bytes_before = 4096,
                                .op = KYMO_MAP_MOVE,
                                .how = KYMO_MAP_IS_STACK | 1u << 20};
    struct kymo_record_inherit i = {.id = 9, .address = 0x9100};
    WRITE(&w, KYMO_RECORD_MAP, stack, m);
    WRITE(&w, KYMO_RECORD_INHERIT, 0, i);
    expect(&s, "0: map 3, 8: 0x7000 + 1048576 from 0x9000 + 4096, stack 0\n"
               "0: 0x9 at 0x9100 is the parent's\n");
    assert_int_equal(corrupt(&s), 0);
    close_scene(&s);
}

static void who_does_not_want_them_is_not_told(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, NULL);
    struct mark_writer w = mark_thread(&s.f, 1, KYMO_SLOT_MAIN);
    struct kymo_record_alloc a = block(1, 100);
    WRITE(&w, KYMO_RECORD_ALLOC, put_stack(&s, 0x1234), a);
    expect(&s, "");
    assert_int_equal(corrupt(&s), 0);
    close_scene(&s);
}

static void an_error_ends_the_round(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &heap);
    struct mark_writer w = mark_thread(&s.f, 1, KYMO_SLOT_MAIN);
    struct kymo_record_free f = {.id = 1};
    WRITE(&w, KYMO_RECORD_FREE, 1, f);
    s.answer = KYMO_E_NO_SPACE;
    assert_int_equal(kymo_drain_round(s.d), KYMO_E_NO_SPACE);
    close_scene(&s);
}

/* Exact, of threads that live, have ended, and of those whose slots they had. */
static void totals_are_those_of_all_threads(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &heap);
    struct mark_writer first = mark_thread(&s.f, 1, KYMO_SLOT_MAIN);
    struct mark_writer second = mark_thread(&s.f, 2, 0);
    first.slot->alloc_count = 5;
    first.slot->alloc_bytes = 500;
    second.slot->alloc_count = 7;
    second.slot->alloc_bytes = 700;
    mark_thread_end(&second);
    assert_int_equal(kymo_drain_round(s.d), KYMO_OK);
    struct kymo_drain_heap_totals totals = kymo_drain_heap_totals(s.d);
    assert_int_equal(totals.count, 12);
    assert_int_equal(totals.bytes, 1200);
    struct mark_writer third = mark_thread(&s.f, 3, 0);
    assert_int_equal(third.number, second.number);
    third.slot->alloc_count = 1;
    third.slot->alloc_bytes = 1;
    assert_int_equal(kymo_drain_round(s.d), KYMO_OK);
    first.slot->alloc_count = 6;
    totals = kymo_drain_heap_totals(s.d);
    assert_int_equal(totals.count, 14);
    assert_int_equal(totals.bytes, 1201);
    assert_int_equal(kymo_drain_finish(s.d, kymo_clock_ns(CLOCK_MONOTONIC)), KYMO_OK);
    totals = kymo_drain_heap_totals(s.d);
    assert_int_equal(totals.count, 14);
    assert_int_equal(totals.bytes, 1201);
    close_scene(&s);
}

/* The end of a block that waits for room may be written yet; at the end it is lost. */
static void what_waits_at_the_end_is_lost(void **state)
{
    (void)state;
    struct scene s;
    uint64_t lost[KYMO_LOSS_KINDS];
    open_scene(&s, &heap);
    s.f.session->lost[KYMO_LOSS_FREE] = 2;
    s.f.session->frees_late = 3;
    assert_int_equal(kymo_drain_round(s.d), KYMO_OK);
    kymo_drain_losses(s.d, lost);
    assert_int_equal(lost[KYMO_LOSS_FREE], 2);
    assert_int_equal(kymo_drain_finish(s.d, kymo_clock_ns(CLOCK_MONOTONIC)), KYMO_OK);
    kymo_drain_losses(s.d, lost);
    assert_int_equal(lost[KYMO_LOSS_FREE], 5);
    close_scene(&s);
}

/* ---- hostile ---- */

static void records_of_a_wrong_size_are_none(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {48, 24, 64, 64, 32};
    static const char zeros[256];
    struct scene s;
    open_scene(&s, &heap);
    struct mark_writer w = mark_thread(&s.f, 1, KYMO_SLOT_MAIN);
    uint64_t wrong = 0;
    for (uint32_t kind = KYMO_RECORD_ALLOC; kind <= KYMO_RECORD_INHERIT; kind++)
        for (uint32_t size = sizeof(struct kymo_record); size <= 128; size += 8)
            if (size != sizes[kind - KYMO_RECORD_ALLOC]) {
                (void)mark_write(&w, kind, 0, zeros, size - (uint32_t)sizeof(struct kymo_record));
                wrong++;
            }
    (void)mark_write(&w, KYMO_RECORD_INHERIT + 1, 0, zeros, 48);
    expect(&s, "");
    assert_int_equal(corrupt(&s), wrong + 1);
    close_scene(&s);
}

static void what_cannot_be_is_left_out(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &heap);
    struct mark_writer w = mark_thread(&s.f, 1, KYMO_SLOT_MAIN);
    struct kymo_record_resize r[6];
    for (unsigned i = 0; i < 6; i++)
        r[i] = (struct kymo_record_resize){.now = block(1, 100), .was_drawn = 1};
    r[0].now.bytes = KYMO_MEMORY_BYTES_MAX + 1;
    r[1].now.rate = 0;
    r[2].now.slack_family = KYMO_ALLOC_FAMILIES;
    for (unsigned i = 0; i < 3; i++)
        WRITE(&w, KYMO_RECORD_ALLOC, 0, r[i].now);
    r[3].usable_before = UINT64_MAX;
    r[4].was_drawn = 0;
    r[5].was_drawn = 1ull << 32 | 1;
    for (unsigned i = 0; i < 6; i++)
        WRITE(&w, KYMO_RECORD_RESIZE, 0, r[i]);
    struct kymo_record_map m = {.op = KYMO_MAP_MAP - 1};
    WRITE(&w, KYMO_RECORD_MAP, 0, m);
    m.op = KYMO_MAP_SHARED + 1;
    WRITE(&w, KYMO_RECORD_MAP, 0, m);
    expect(&s, "");
    assert_int_equal(corrupt(&s), 11);
    close_scene(&s);
}

/* A program may ask for anything to be taken away: the kernel refuses it, and nothing is wrong. */
static void what_the_kernel_refuses_is_no_damage(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &heap);
    struct mark_writer w = mark_thread(&s.f, 1, KYMO_SLOT_MAIN);
    struct kymo_record_map m = {.op = KYMO_MAP_UNMAP, .bytes = UINT64_MAX};
    WRITE(&w, KYMO_RECORD_MAP, 0, m);
    m.bytes = 4096;
    WRITE(&w, KYMO_RECORD_MAP, 0, m);
    expect(&s, "0: map 2, 0: 0 + 4096 from 0 + 0, stack -1\n");
    assert_int_equal(corrupt(&s), 0);
    close_scene(&s);
}

/* The rest of the record is as good. */
static void a_stack_that_makes_no_sense_is_none(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &heap);
    struct mark_writer w = mark_thread(&s.f, 1, KYMO_SLOT_MAIN);
    struct kymo_record_alloc a = block(1, 100);
    WRITE(&w, KYMO_RECORD_ALLOC, UINT32_MAX, a);
    expect(&s, "0: 0x1 at 0x5100, 100 + 8 bytes, rate 4096, family 4, stack -1\n");
    assert_int_equal(corrupt(&s), 1);
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_told_in_their_order),
        cmocka_unit_test(who_does_not_want_them_is_not_told),
        cmocka_unit_test(an_error_ends_the_round),
        cmocka_unit_test(totals_are_those_of_all_threads),
        cmocka_unit_test(what_waits_at_the_end_is_lost),
        cmocka_unit_test(records_of_a_wrong_size_are_none),
        cmocka_unit_test(what_cannot_be_is_left_out),
        cmocka_unit_test(what_the_kernel_refuses_is_no_damage),
        cmocka_unit_test(a_stack_that_makes_no_sense_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
