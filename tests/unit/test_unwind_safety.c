/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks from garbage: any registers, any stack content, any bounds. Nothing but the bounds of a
 * thread's own stack is ever trusted, so nothing may fault; a fault fails the test.
 */
#include "arch/context.h"
#include "unit.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/row.h"
#include "unwind/row_cache.h"
#include "unwind_help.h"

static uint64_t random_state = 0x853c49e6748fea9bull;

static uint64_t random_word(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 0x2545f4914f6cdd1dull;
}

#define STACK_BYTES (64u << 10)

static uint64_t *area; /* a stack of its own, with inaccessible pages around it */
static uint64_t code[64];
static size_t codes;

static void add_code(const void *function)
{
    code[codes++] = (uint64_t)(uintptr_t)function;
}

/* A value of the kind that makes a walk go on: into the stack, into code, or anything. */
static uint64_t plausible(void)
{
    switch (random_word() % 8) {
    case 0:
    case 1:
        return (uint64_t)(uintptr_t)area + random_word() % STACK_BYTES;
    case 2:
        return ((uint64_t)(uintptr_t)area + random_word() % (STACK_BYTES + 64)) & ~7ull;
    case 3:
    case 4:
    case 5:
        return code[random_word() % codes] + random_word() % 4096;
    case 6:
        return random_word() >> (random_word() % 64);
    default:
        return random_word();
    }
}

static void fill_area(void)
{
    for (size_t i = 0; i < STACK_BYTES / 8; i++)
        area[i] = plausible();
}

static size_t ends[KYMO_WALK_END_COUNT];

static void walk_once(bool known_bounds)
{
    static uint64_t pcs[300];
    struct kymo_walk_result result;
    struct kymo_regs regs;
    uint64_t lo = (uint64_t)(uintptr_t)area;
    struct kymo_stack_bounds bounds = {lo, lo + STACK_BYTES};
    regs.ip = plausible();
    for (int i = 0; i < 16; i++)
        regs.gpr[i] = plausible();
    if (random_word() % 4)
        regs.gpr[KYMO_REG_SP] = lo + (random_word() % STACK_BYTES & ~7ull);
    uint64_t pc = regs.ip;
    size_t max = random_word() % 4 ? 300 : random_word() % 300;
    size_t n = kymo_unwind_walk(&help_walker, &regs, known_bounds ? &bounds : NULL, pcs, max,
                                random_word() % 8 ? 0 : KYMO_WALK_WHILE_CLOSING, &result);
    assert_true(n <= max);
    assert_true((unsigned)result.end < KYMO_WALK_END_COUNT);
    if (n)
        assert_int_equal(pcs[0], pc);
    ends[result.end]++;
}

static void walks(size_t count)
{
    memset(ends, 0, sizeof ends);
    for (size_t i = 0; i < count; i++) {
        if (i % 16 == 0)
            fill_area();
        walk_once(i & 1);
    }
    for (int i = 0; i < KYMO_WALK_END_COUNT; i++)
        fprintf(stderr, "%s: %zu  ", kymo_walk_end_name((enum kymo_walk_end)i), ends[i]);
    fprintf(stderr, "\n");
    assert_true(ends[KYMO_WALK_BAD_STACK] > 0);
    assert_true(ends[KYMO_WALK_NO_MODULE] > 0);
}

static void garbage(void **state)
{
    (void)state;
    walks(20000);
}

static void garbage_without_cache(void **state)
{
    (void)state;
    assert_int_equal(kymo_walker_init(&help_walker, NULL, 0), KYMO_OK);
    walks(5000);
    assert_int_equal(kymo_walker_init(&help_walker, help_cache, KYMO_ARRAY_LEN(help_cache)),
                     KYMO_OK);
}

static void garbage_without_probe(void **state)
{
    (void)state;
    help_walker.probe_allowed = 0;
    walks(5000);
    help_walker.probe_allowed = 1;
}

/* Rows of any content, as from a corrupt table: each must be as safe as a good one. */
static void garbage_rows(void **state)
{
    static uint64_t pcs[300];
    (void)state;
    uint64_t lo = (uint64_t)(uintptr_t)area;
    struct kymo_stack_bounds bounds = {lo, lo + STACK_BYTES};
    struct kymo_walk_result result;
    size_t frames = 0;
    for (int round = 0; round < 20000; round++) {
        if (round % 16 == 0)
            fill_area();
        struct kymo_regs regs;
        for (int i = 0; i < 16; i++)
            regs.gpr[i] = plausible();
        regs.ip = plausible();
        regs.gpr[KYMO_REG_SP] = lo + (random_word() % STACK_BYTES & ~7ull);
        uint64_t key = kymo_generation_key(help_walker.generation);
        /* Rows for the sampled pc and for words of the stack, which become return addresses. */
        for (int i = 0; i < 64; i++) {
            uint64_t ip = i ? area[random_word() % (STACK_BYTES / 8)] : regs.ip;
            uint64_t row = random_word();
            if (random_word() % 2) /* a small frame is more likely to be followed */
                row &= 0x000003ffffffffffull, row |= (random_word() % 64) << 47;
            kymo_row_cache_put(help_cache, kymo_row_set_mask(help_walker.cache_mask), key, ip,
                               i ? 1 : 0, kymo_row_sanitize(row));
        }
        frames +=
            kymo_unwind_walk(&help_walker, &regs, round & 1 ? &bounds : NULL, pcs, 300, 0, &result);
    }
    assert_true(frames > 20000);
    kymo_walker_new_generation(&help_walker);
}

/* A known stack is never read outside its bounds, even where the memory beside it could be: the
 * last word lies at a page that may not be read. */
static void top_of_stack(void **state)
{
    static uint64_t pcs[300];
    struct kymo_walk_result result;
    uint64_t lo = (uint64_t)(uintptr_t)area;
    struct kymo_stack_bounds bounds = {lo, lo + STACK_BYTES};
    (void)state;
    for (int round = 0; round < 5000; round++) {
        struct kymo_regs regs;
        for (int i = 0; i < 16; i++)
            regs.gpr[i] = plausible();
        regs.ip = code[random_word() % codes] + random_word() % 1024;
        regs.gpr[KYMO_REG_SP] = bounds.hi - 8 * (random_word() % 6);
        regs.gpr[KYMO_REG_FP] = bounds.hi - 8 * (random_word() % 6);
        size_t n = kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, 300, 0, &result);
        assert_true(n >= 1);
    }
}

static volatile int stop;

static void *bump_generations(void *unused)
{
    while (!stop)
        kymo_walker_new_generation(&help_walker);
    return unused;
}

static size_t walk_truth(uint64_t *pcs)
{
    struct kymo_walk_result result;
    struct kymo_stack_bounds bounds = help_bounds();
    struct kymo_regs regs;
    kymo_regs_here(&regs);
    size_t n = kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, 64, 0, &result);
    assert_int_equal(result.end, KYMO_WALK_COMPLETE);
    return n;
}

/* Two threads share the cache, one forgets it all the time: every walk is right. */
static void *walk_in_thread(void *unused)
{
    uint64_t first[64];
    uint64_t pcs[64];
    size_t n = 0;
    for (int i = 0; i < 20000; i++) {
        size_t m = walk_truth(i ? pcs : first);
        if (i == 0)
            n = m;
        assert_int_equal(m, n);
        if (i)
            assert_memory_equal(pcs + 1, first + 1, (n - 1) * sizeof *pcs);
    }
    return unused;
}

static void shared_cache(void **state)
{
    pthread_t bumper;
    pthread_t walker;
    (void)state;
    stop = 0;
    assert_int_equal(pthread_create(&bumper, NULL, bump_generations, NULL), 0);
    assert_int_equal(pthread_create(&walker, NULL, walk_in_thread, NULL), 0);
    walk_in_thread(NULL);
    pthread_join(walker, NULL);
    stop = 1;
    pthread_join(bumper, NULL);
}

static int setup(void **state)
{
    (void)state;
    size_t size = STACK_BYTES + 2 * 4096;
    char *memory = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + 4096, STACK_BYTES, PROT_READ | PROT_WRITE) != 0)
        return -1;
    area = (uint64_t *)(void *)(memory + 4096);
    add_code((const void *)qsort);
    add_code((const void *)printf);
    add_code((const void *)setup);
    add_code((const void *)walk_once);
    add_code((const void *)mmap);
    add_code((const void *)setjmp);
    add_code((const void *)memcpy);
    add_code((const void *)cmocka_set_message_output);
    add_code((const void *)pthread_create);
    add_code((const void *)malloc);
    return kymo_walker_init(&help_walker, help_cache, KYMO_ARRAY_LEN(help_cache));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(garbage),
        cmocka_unit_test(garbage_without_cache),
        cmocka_unit_test(garbage_without_probe),
        cmocka_unit_test(garbage_rows),
        cmocka_unit_test(top_of_stack),
        cmocka_unit_test(shared_cache),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
