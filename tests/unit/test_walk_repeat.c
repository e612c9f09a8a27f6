/* SPDX-License-Identifier: Apache-2.0 */
/* Where notes say that a walk would repeat, a walk finds the same; where anything differs that a
 * walk depends on, they do not say so. */
#include "arch/context.h"
#include "unit.h"

#include <alloca.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/walk_repeat.h"
#include "unwind_help.h"

static struct kymo_walk_notes notes;
static uint64_t noted[HELP_MAX_FRAMES], pcs[HELP_MAX_FRAMES];
static size_t noted_frames;
static struct kymo_stack_bounds bounds;
static int is_noted, repeats;
static volatile int sink;

/* Neither inlined, nor a tail call, nor a copy for one caller. */
#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noipa))
#endif

/* Asks, walks, holds the answer to the walk, and notes that. */
static KEPT void visit(void)
{
    struct kymo_regs regs;
    struct kymo_walk_result result;
    kymo_regs_here(&regs);
    struct kymo_regs begin = regs;
    repeats = kymo_walk_repeats(&help_walker, &regs, &bounds, &notes);
    size_t n = kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, HELP_MAX_FRAMES, 0, &result);
    assert_int_equal(result.end, KYMO_WALK_COMPLETE);
    if (repeats) {
        assert_int_equal(n, noted_frames);
        assert_memory_equal(pcs, noted, n * sizeof *pcs);
    }
    is_noted = kymo_walk_note(&help_walker, &begin, &bounds, pcs, n, &notes);
    assert_int_equal(is_noted, notes.count != 0);
    memcpy(noted, pcs, n * sizeof *pcs);
    noted_frames = n;
    sink++;
}

/* Frames of one size; the calls in them return to different places. */
static KEPT void by_one(int deeper)
{
    if (deeper > 1)
        by_one(deeper - 1);
    else if (deeper == 1)
        visit();
    sink++;
    if (deeper == 0)
        visit();
    sink++;
}

/* A frame that is counted from its frame pointer. */
static KEPT void with_alloca(int deeper, size_t bytes)
{
    char *room = alloca(bytes);
    memset(room, 1, bytes);
    __asm__ volatile("" : : "r"(room) : "memory"); /* or it is not there at all: clang 19 */
    by_one(deeper);
    sink += room[bytes / 2];
}

static int setup(void **state)
{
    (void)state;
    memset(&notes, 0, sizeof notes);
    bounds = help_bounds();
    return kymo_walker_init(&help_walker, help_cache, KYMO_ROW_CACHE_SLOTS) == KYMO_OK ? 0 : -1;
}

/* One place that all calls of a test come from. */
static KEPT void repeat(int times, void (*each)(int i))
{
    /* Else clang 19 makes a copy of this for each test, with a call for each time. */
    void (*volatile call)(int i) = each;
    volatile int end = times;
    for (int i = 0; i < end; i++)
        call(i);
}

static void visit_same(int i)
{
    by_one(3);
    /* At first nothing is noted. */
    assert_int_equal(repeats, i > 0);
    assert_true(is_noted);
}

static void same_stack_repeats(void **state)
{
    (void)state;
    repeat(3, visit_same);
}

/* 0 and 1 are the same but for one return address. */
static void visit_others(int i)
{
    by_one(i % 3);
    assert_false(repeats);
}

static void other_stacks_do_not(void **state)
{
    (void)state;
    repeat(9, visit_others);
}

static void visit_by_frame_pointer(int i)
{
    with_alloca(1, i < 3 ? 64 : 4096);
    assert_int_equal(repeats, i > 0 && i != 3);
}

static void frame_pointers_are_noted(void **state)
{
    (void)state;
    repeat(5, visit_by_frame_pointer);
}

/* Every second time the next word was another one. */
static void visit_changed(int i)
{
    uint32_t word = (uint32_t)i / 2;
    if (i > 0 && i % 2 == 0)
        notes.words[word].value ^= 8;
    with_alloca(2, 64);
    assert_int_equal(repeats, i % 2 != 0);
    assert_true(notes.count > 5);
}

static void each_word_counts(void **state)
{
    (void)state;
    repeat(10, visit_changed);
}

/* Any order of calls: visit holds each answer to a walk. */
static int again;

static void visit_any(int i)
{
    static uint64_t random = 7;
    (void)i;
    random = random * 6364136223846793005u + 1442695040888963407u;
    uint32_t which = (uint32_t)(random >> 61);
    if (which < 4)
        by_one((int)which & 1);
    else
        with_alloca((int)which & 1, which & 2 ? 64 : 160);
    again += repeats;
}

static void whatever_comes(void **state)
{
    (void)state;
    repeat(20000, visit_any);
    assert_true(again > 100);
    assert_true(again < 10000);
}

static void visit_new_rows(int i)
{
    if (i == 2)
        kymo_walker_new_generation(&help_walker);
    by_one(1);
    assert_int_equal(repeats, i == 1 || i == 3);
}

static void rows_may_change(void **state)
{
    (void)state;
    repeat(4, visit_new_rows);
}

/* Of another size, and not known. */
static void visit_bounds(int i)
{
    uint64_t hi = bounds.hi;
    if (i == 2)
        bounds.hi -= 8;
    if (i == 5)
        bounds = (struct kymo_stack_bounds){0, 0};
    by_one(1);
    assert_int_equal(repeats, i == 1 || i == 4);
    assert_int_equal(is_noted, i != 5);
    if (i < 5)
        bounds.hi = hi;
}

static void bounds_are_the_threads(void **state)
{
    (void)state;
    repeat(6, visit_bounds);
}

static void too_many_are_not_noted(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        by_one(KYMO_WALK_WORDS_MAX + 10);
        assert_false(repeats);
        assert_false(is_noted);
    }
}

static void on_signal(int number)
{
    (void)number;
    visit();
}

/* What was interrupted is not at a return address. */
static void handlers_are_not_noted(void **state)
{
    struct sigaction action = {.sa_handler = on_signal}, before;
    (void)state;
    sigaction(SIGUSR1, &action, &before);
    for (int i = 0; i < 3; i++) {
        raise(SIGUSR1);
        assert_false(repeats);
        assert_false(is_noted);
    }
    sigaction(SIGUSR1, &before, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(same_stack_repeats, setup),
        cmocka_unit_test_setup(other_stacks_do_not, setup),
        cmocka_unit_test_setup(frame_pointers_are_noted, setup),
        cmocka_unit_test_setup(each_word_counts, setup),
        cmocka_unit_test_setup(whatever_comes, setup),
        cmocka_unit_test_setup(rows_may_change, setup),
        cmocka_unit_test_setup(bounds_are_the_threads, setup),
        cmocka_unit_test_setup(too_many_are_not_noted, setup),
        cmocka_unit_test_setup(handlers_are_not_noted, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
