/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <sys/prctl.h>

#include "mark_process.h"

static const struct kymo_mark_field number_fields[] = {
    {"n", NULL, KYMO_KIND_U64, KYMO_FORMAT_INTEGER, 0, 0}};
static const struct kymo_mark_type number_type = {
    .size = sizeof number_type,
    .name = "Number",
    .fields = number_fields,
    .field_count = 1,
    .field_bytes = sizeof *number_fields,
    .payload_bytes = sizeof(uint64_t),
};

static uint32_t open_number(uint32_t depth)
{
    return kymo_thread_self->scopes[depth].site;
}

static void a_scope_is_one_record_made_at_its_end(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("scope", .kind = KYMO_SITE_SCOPE, .type = &number_type);
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t payload = 0;
        struct kymo_mark_scope scope = {.payload = &payload};
        uint64_t before = kymo_mark_now();
        kymo_mark_scope_begin(&scope, &site);
        assert_ptr_equal(scope.site, &site);
        assert_int_equal(count_records(), i);
        assert_int_equal(open_number(0), site.id & 0xffff);
        assert_int_equal(kymo_thread_self->scopes[0].start, scope.start);
        payload = 4711;
        kymo_mark_scope_end(&scope);
        assert_int_equal(open_number(0), 0);
        struct mark m = mark_at(i);
        assert_int_equal(m.flags, KYMO_PHASE_INTERVAL | KYMO_MARK_START);
        assert_int_equal(word_of(&m, KYMO_MARK_START), scope.start);
        assert_true(scope.start >= before && m.head->clock >= scope.start);
        assert_memory_equal(m.rest, &payload, sizeof payload);
        assert_int_equal(m.rest_bytes, sizeof payload);
    }
}

/* Reading the counter ends a program that has forbidden itself that; so would the kernel's page. */
static void a_minimum_does_not_read_a_forbidden_counter(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t quiet = i ? KYMO_QUIET_COUNTER | KYMO_QUIET_CALLS : KYMO_QUIET_COUNTER;
        struct kymo_mark_site site = SITE("minimum", .kind = KYMO_SITE_SCOPE, .min_ns = 1);
        struct kymo_mark_scope scope = {.payload = NULL};
        site.line = i;
        fixture.session->quiet = quiet;
        assert_int_equal(prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0), 0);
        kymo_mark_scope_begin(&scope, &site);
        kymo_mark_scope_end(&scope);
        uint64_t ns = kymo_mark_to_ns(1000);
        (void)kymo_mark_from_ns(ns);
        assert_int_equal(prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0), 0);
        fixture.session->quiet = 0;
    }
}

/* A destructor of the thread's data ends what its function began. */
static void a_scope_that_an_ended_thread_ends_is_counted(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("too late", .kind = KYMO_SITE_SCOPE);
    struct kymo_mark_scope scope = {.payload = NULL}, cancelled = scope, other = scope;
    kymo_mark_scope_begin(&scope, &site);
    kymo_mark_scope_begin(&cancelled, &site);
    kymo_mark_scope_begin(&other, &site);
    cancelled.flags = KYMO_SCOPE_IS_CANCELLED;
    other.epoch++;
    kymo_thread_self = &kymo_thread_dead;
    kymo_mark_scope_end(&other);
    kymo_mark_scope_end(&cancelled);
    assert_int_equal(counts_of(&site)->lost, 0);
    kymo_mark_scope_end(&scope);
    assert_int_equal(counts_of(&site)->lost, 1);
    assert_int_equal(fixture.session->lost[KYMO_LOSS_MARK_NO_THREAD], 1);
    assert_int_equal(count_records(), 0);
}

static void scopes_nest_and_deep_ones_are_not_shown_while_open(void **state)
{
    (void)state;
    enum { DEEP = KYMO_OPEN_SCOPES + 10 };
    static struct kymo_mark_site sites[DEEP];
    struct kymo_mark_scope scopes[DEEP];
    memset(scopes, 0, sizeof scopes);
    for (uint32_t i = 0; i < DEEP; i++) {
        sites[i] = (struct kymo_mark_site)SITE("deep", .kind = KYMO_SITE_SCOPE);
        sites[i].line = i;
        kymo_mark_scope_begin(&scopes[i], &sites[i]);
    }
    for (uint32_t i = 0; i < KYMO_OPEN_SCOPES; i++)
        assert_int_equal(open_number(i), sites[i].id & 0xffff);
    for (uint32_t i = DEEP; i-- > 0;) {
        kymo_mark_scope_end(&scopes[i]);
        for (uint32_t k = 0; k < KYMO_OPEN_SCOPES; k++)
            assert_int_equal(open_number(k) != 0, k < i);
    }
    assert_int_equal(count_records(), DEEP);
    assert_int_equal(kymo_thread_self->open_scopes, 0);
}

static void a_cancelled_scope_ends_and_is_not_recorded(void **state)
{
    (void)state;
    static const uint32_t clocks[] = {0, 1}; /* the counter itself, and any other */
    struct kymo_mark_site site = SITE("cancelled", .kind = KYMO_SITE_SCOPE);
    for (uint32_t i = 0; i < KYMO_ARRAY_LEN(clocks); i++) {
        struct kymo_mark_scope scope = {0};
        kymo_thread_self->other_clock = &clocks[i];
        kymo_mark_scope_begin(&scope, &site);
        scope.flags = KYMO_SCOPE_IS_CANCELLED;
        assert_int_not_equal(open_number(0), 0);
        kymo_mark_scope_end(&scope);
        assert_int_equal(open_number(0), 0);
        assert_int_equal(kymo_thread_self->open_scopes, 0);
    }
    assert_int_equal(count_records(), 0);
}

static void a_short_scope_is_not_recorded(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("short", .kind = KYMO_SITE_SCOPE, .min_ns = 3600000000000u);
    struct kymo_mark_scope scope = {0};
    kymo_mark_scope_begin(&scope, &site);
    kymo_mark_scope_end(&scope);
    assert_int_equal(count_records(), 0);
    assert_int_equal(open_number(0), 0);
    assert_int_equal(counts_of(&site)->lost, 0);
    kymo_mark_scope_begin(&scope, &site);
    scope.start -= site.min_ticks;
    kymo_mark_scope_end(&scope);
    assert_int_equal(count_records(), 1);
}

static void the_options_of_a_scope_are_used_but_for_its_times(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("owned", .kind = KYMO_SITE_SCOPE);
    const struct kymo_mark_options options = {
        .size = sizeof options, .timing = KYMO_TIMING_AT, .start = 5, .owner = 12};
    struct kymo_mark_scope scope = {.options = &options};
    kymo_mark_scope_begin(&scope, &site);
    kymo_mark_scope_end(&scope);
    struct mark m = mark_at(0);
    assert_int_equal(m.flags, KYMO_PHASE_INTERVAL | KYMO_MARK_START | KYMO_MARK_OWNER);
    assert_int_equal(word_of(&m, KYMO_MARK_START), scope.start);
    assert_int_equal(word_of(&m, KYMO_MARK_OWNER), 12);
}

/* ---- longjmp ---- */

static jmp_buf outside;
static struct kymo_mark_site inner_site = SITE("inner", .kind = KYMO_SITE_SCOPE);

static __attribute__((noinline)) void begin_and_leave(void)
{
    volatile char deeper[256];
    struct kymo_mark_scope scope = {0};
    deeper[0] = deeper[255] = 0;
    kymo_mark_scope_begin(&scope, &inner_site);
    longjmp(outside, 1);
}

static void what_a_longjmp_has_left_is_not_open(void **state)
{
    (void)state;
    static struct kymo_mark_site site = SITE("outer", .kind = KYMO_SITE_SCOPE);
    static struct kymo_mark_site next_site = SITE("next", .kind = KYMO_SITE_SCOPE);
    struct kymo_mark_scope outer = {0};
    struct kymo_mark_scope next = {0};
    static volatile int round;
    kymo_mark_scope_begin(&outer, &site);
    for (round = 0; round < 100; round++)
        if (setjmp(outside) == 0)
            begin_and_leave();
    /* Each round's scope took the place of the one before. */
    assert_true(kymo_thread_self->open_scopes <= 3);
    kymo_mark_scope_begin(&next, &next_site);
    assert_int_equal(open_number(0), site.id & 0xffff);
    assert_int_equal(open_number(1), next_site.id & 0xffff);
    assert_int_equal(open_number(2), 0);
    kymo_mark_scope_end(&next);
    if (setjmp(outside) == 0)
        begin_and_leave();
    kymo_mark_scope_end(&outer);
    assert_int_equal(kymo_thread_self->open_scopes, 0);
    for (uint32_t i = 0; i < KYMO_OPEN_SCOPES; i++)
        assert_int_equal(open_number(i), 0);
    assert_int_equal(count_records(), 2);
}

/* Where a scope began is kept as a place in the stack: of addresses there is half, which is no
 * order in a stack that lies across a multiple of 4 GiB. */
static void a_scope_knows_its_place_in_the_stack(void **state)
{
    (void)state;
    struct kymo_capture_thread *t = kymo_thread_self;
    struct kymo_stack_bounds own = t->stack;
    static struct kymo_mark_site site = SITE("outer", .kind = KYMO_SITE_SCOPE);
    struct kymo_mark_scope outer = {0}, inner = {0};
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    t->stack = (struct kymo_stack_bounds){here - (1u << 20), here + (1u << 20)};
    kymo_mark_scope_begin(&outer, &site);
    uint32_t frame = t->scopes[0].frame;
    assert_true(frame > (1u << 20) - 4096 && frame < (1u << 20) + 4096);
    kymo_mark_scope_begin(&inner, &inner_site);
    assert_int_equal(t->open_scopes, 2);
    kymo_mark_scope_end(&inner);
    kymo_mark_scope_end(&outer);
    t->stack = own;
}

/* ---- where markers are off ---- */

static void a_scope_that_nobody_records_is_none(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("unheard", .kind = KYMO_SITE_SCOPE);
    /* A structure that was used before. */
    struct kymo_mark_scope scope = {.site = &site};
    struct kymo_capture_thread *self = kymo_thread_self;
    kymo_thread_self = &kymo_thread_dead;
    kymo_mark_scope_begin(&scope, &site);
    assert_null(scope.site);
    kymo_thread_self = self;
    kymo_mark_scope_begin(&scope, &site);
    kymo_thread_self = &kymo_thread_dead;
    kymo_mark_scope_end(&scope);
    kymo_thread_self = self;
    assert_int_equal(count_records(), 0);
}

int main(void)
{
#define RECORDED(name) cmocka_unit_test_setup_teardown(name, open_small_process, close_process)
    const struct CMUnitTest tests[] = {
        RECORDED(a_scope_is_one_record_made_at_its_end),
        RECORDED(scopes_nest_and_deep_ones_are_not_shown_while_open),
        RECORDED(a_scope_that_an_ended_thread_ends_is_counted),
        RECORDED(a_minimum_does_not_read_a_forbidden_counter),
        RECORDED(a_cancelled_scope_ends_and_is_not_recorded),
        RECORDED(a_short_scope_is_not_recorded),
        RECORDED(the_options_of_a_scope_are_used_but_for_its_times),
        RECORDED(what_a_longjmp_has_left_is_not_open),
        RECORDED(a_scope_knows_its_place_in_the_stack),
        RECORDED(a_scope_that_nobody_records_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
