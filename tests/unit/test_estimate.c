/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs are simulated whose blocks are all known, and drawn as a thread draws them: what the
 * estimates say is compared with what there was, over a thousand runs of each.
 */
#include "profile/estimate.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>

/* Of so many runs in which intervals may hold the truth. Under a sanitizer, ten times as slow,
 * chance has more room: what is drawn does not depend on the build. */
#ifdef __SANITIZE_ADDRESS__
enum { RUNS = 100, HELD_LEAST = 86, HELD_MOST = 100, MEAN_PARTS = 16 };
#else
enum { RUNS = 1000, HELD_LEAST = 930, HELD_MOST = 970, MEAN_PARTS = 50 };
#endif

#define KIB 1024ull
#define MIB (1024 * KIB)
#define RATE (512 * KIB)

static uint64_t state;

static uint64_t next_bits(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1dull;
}

/* In (0, 1). */
static double next_unit(void)
{
    return ((double)(next_bits() >> 11) + 0.5) / 9007199254740992.0;
}

static double next_draw(uint64_t rate)
{
    return -(double)rate * log(next_unit());
}

/* ---- one block ---- */

static void each_one_is_exact(void **unused)
{
    (void)unused;
    struct kymo_estimate sum = {0};
    double low, high;
    assert_true(kymo_estimate_chance(0, 1) == 1);
    assert_true(kymo_estimate_weight(100, 1) == 1);
    assert_true(kymo_estimate_resized(1, 300, 200, 1) == 1);
    for (uint64_t i = 0; i < 10; i++)
        kymo_estimate_add(&sum, 100 * i, kymo_estimate_weight(100 * i, 1));
    assert_true(sum.objects == 10 && sum.bytes == 4500);
    assert_true(sum.variance_objects == 0 && sum.variance_bytes == 0);
    kymo_estimate_interval(sum.bytes, sum.variance_bytes, &low, &high);
    assert_true(low == 4500 && high == 4500);
}

static void a_block_of_nothing_is_never_drawn(void **unused)
{
    (void)unused;
    assert_true(kymo_estimate_chance(0, RATE) == 0);
    assert_true(kymo_estimate_weight(0, RATE) == 0);
    assert_true(kymo_estimate_resized(0, 0, 0, RATE) == 0);
    assert_true(kymo_estimate_resized(7, 0, 0, RATE) == 7); /* one that shrank is still there */
}

static void small_blocks_stand_for_many(void **unused)
{
    (void)unused;
    assert_true(fabs(kymo_estimate_weight(1, RATE) / ((double)RATE + 0.5) - 1) < 1e-9);
    assert_true(fabs(kymo_estimate_weight(RATE, RATE) - 1 / (1 - exp(-1))) < 1e-12);
    assert_true(kymo_estimate_weight(UINT64_MAX, RATE) == 1);
    assert_true(kymo_estimate_weight(1000 * RATE, RATE) == 1);
}

static void intervals_are_finite_and_ordered(void **unused)
{
    (void)unused;
    double low, high;
    kymo_estimate_interval(0, 0, &low, &high);
    assert_true(low == 0 && high == 0);
    /* Of one draw: a gamma variable of 1.5 has 2.5 % below 0.108 and above 4.67. */
    kymo_estimate_interval(1000, 1000.0 * 1000, &low, &high);
    assert_true(low > 50 && low < 150 && high > 4500 && high < 5000);
    /* More than one draw can leave unknown: what was made up, not what was drawn. */
    kymo_estimate_interval(1, 1e30, &low, &high);
    assert_true(low == 0 && high > 1 && isfinite(high));
    /* So many that the ends differ from it in the last digit only. */
    kymo_estimate_interval(3.6269700016648166e+17, 1466.8207792441619, &low, &high);
    assert_true(low <= 3.6269700016648166e+17 && high >= 3.6269700016648166e+17);
    /* Of many it is that of a normal variable. */
    kymo_estimate_interval(1e9, 1e12, &low, &high);
    assert_true(fabs((1e9 - low) / 1.96e6 - 1) < 0.01 && fabs((high - 1e9) / 1.96e6 - 1) < 0.01);
}

static void sums_of_parts_are_sums(void **unused)
{
    (void)unused;
    struct kymo_estimate whole = {0}, parts[2] = {{0}};
    for (uint64_t i = 1; i < 20; i++) {
        kymo_estimate_add(&whole, i * KIB, 3.5);
        kymo_estimate_add(&parts[i % 2], i * KIB, 3.5);
    }
    kymo_estimate_merge(&parts[0], &parts[1]);
    assert_true(parts[0].objects == whole.objects && parts[0].bytes == whole.bytes);
    assert_true(parts[0].variance_objects == whole.variance_objects);
    assert_true(parts[0].variance_bytes == whole.variance_bytes);
    assert_int_equal(parts[0].samples, 19);
    assert_int_equal(parts[0].least_bytes, KIB);
    assert_memory_equal(parts[0].class_objects, whole.class_objects, sizeof whole.class_objects);
    assert_memory_equal(parts[0].class_variance, whole.class_variance, sizeof whole.class_variance);
}

/* ---- whole programs ---- */

struct block {
    uint64_t bytes;
    uint64_t rate;
};

struct program {
    struct block *blocks;
    size_t count, room;
    double bytes;
};

struct coverage {
    int objects, bytes; /* runs whose interval holds the truth */
    double sum;         /* of bytes that were estimated */
};

static int holds(const struct kymo_estimate_range *range, double truth)
{
    assert_true(range->low <= range->value && range->value <= range->high);
    return range->low <= truth && truth <= range->high;
}

static int holds_bytes(const struct kymo_estimate *part, const struct kymo_estimate_whole *whole,
                       double truth)
{
    struct kymo_estimate_range range;
    kymo_estimate_bytes(part, whole, &range);
    return holds(&range, truth);
}

static int holds_objects(const struct kymo_estimate *part, const struct kymo_estimate_whole *whole,
                         int takes_all_kinds, double truth)
{
    struct kymo_estimate_range range;
    kymo_estimate_objects(part, whole, takes_all_kinds, &range);
    return holds(&range, truth);
}

static void add_blocks(struct program *p, size_t count, uint64_t bytes, uint64_t rate)
{
    if (p->count + count > p->room) {
        p->room = (p->count + count) * 2;
        p->blocks = realloc(p->blocks, p->room * sizeof *p->blocks);
        assert_non_null(p->blocks);
    }
    for (size_t i = 0; i < count; i++)
        p->blocks[p->count++] = (struct block){bytes, rate};
    p->bytes += (double)count * (double)bytes;
}

/* As many of each power of two as of all others. */
static void add_mixed(struct program *p, size_t count, double least, double powers)
{
    for (size_t i = 0; i < count; i++)
        add_blocks(p, 1, (uint64_t)(least * exp2(powers * next_unit())), RATE);
}

static void run_once(const struct program *p, struct coverage *c)
{
    struct kymo_estimate_whole whole = {.rate = p->blocks[0].rate};
    uint64_t rate = p->blocks[0].rate;
    double until = next_draw(rate);
    for (size_t i = 0; i < p->count; i++) {
        const struct block *b = &p->blocks[i];
        until -= (double)b->bytes;
        if (until >= 0)
            continue;
        kymo_estimate_add(&whole.sum, b->bytes, kymo_estimate_weight(b->bytes, rate));
        rate = b->rate; /* a thread learns of a new one at its next draw */
        until = next_draw(rate);
    }
    c->bytes += holds_bytes(&whole.sum, &whole, p->bytes);
    c->objects += holds_objects(&whole.sum, &whole, 0, (double)p->count);
    c->sum += whole.sum.bytes;
}

static struct coverage run_all(struct program *p, uint64_t seed)
{
    struct coverage c = {0};
    state = seed;
    for (int i = 0; i < RUNS; i++)
        run_once(p, &c);
    free(p->blocks);
    print_message("%zu blocks, %.0f bytes: %d and %d of %d, mean %.4f\n", p->count, p->bytes,
                  c.bytes, c.objects, RUNS, c.sum / RUNS / p->bytes);
    return c;
}

static void assert_covered(struct program *p, uint64_t seed)
{
    struct coverage c = run_all(p, seed);
    assert_in_range(c.bytes, HELD_LEAST, HELD_MOST);
    assert_in_range(c.objects, HELD_LEAST, HELD_MOST);
}

static void intervals_hold_small_blocks(void **unused)
{
    (void)unused;
    struct program few = {0}, some = {0}, many = {0};
    add_blocks(&few, 4 * KIB, KIB, RATE); /* 8 draws */
    assert_covered(&few, 1);
    add_blocks(&some, 16 * KIB, KIB, RATE);
    assert_covered(&some, 2);
    add_blocks(&many, 64 * KIB, KIB, RATE);
    assert_covered(&many, 3);
}

static void intervals_hold_large_blocks(void **unused)
{
    (void)unused;
    struct program p = {0}, q = {0};
    add_blocks(&p, 4096, 64 * KIB, RATE);
    assert_covered(&p, 4);
    /* Nearly every one is drawn: few are missing, so that there are few intervals, too. */
    add_blocks(&q, 256, MIB, RATE);
    assert_in_range(run_all(&q, 5).bytes, HELD_LEAST - RUNS * 15 / 1000,
                    HELD_MOST + RUNS * 15 / 1000);
}

static void intervals_hold_mixed_sizes(void **unused)
{
    (void)unused;
    struct program many = {0}, few = {0}, one = {0}, small = {0};
    state = 6;
    add_mixed(&many, 4000, 64, 14); /* to 1 MiB */
    add_mixed(&few, 160, 64, 14);
    add_mixed(&small, 100000, 128, 4);
    add_blocks(&one, 1, 2 * MIB, RATE);
    add_blocks(&one, 64 * KIB, 256, RATE);
    assert_covered(&many, 27);
    /* 21 draws, of 14 powers of two: most kinds of blocks are in none of them. */
    struct coverage c = run_all(&few, 8);
    assert_in_range(c.bytes, HELD_LEAST, HELD_MOST);
    assert_in_range(c.objects, HELD_LEAST - RUNS * 9 / 100, HELD_MOST);
    assert_covered(&small, 30);
    assert_covered(&one, 16);
}

/* The sum of six numbers between 0 and 1 is nearly normal, with a variance of a half. */
static double next_normal(void)
{
    double sum = -3;
    for (int i = 0; i < 6; i++)
        sum += next_unit();
    return sum * sqrt(2);
}

/* Objects: nearly all are small, and draws mostly of the large ones. */
static void intervals_hold_sizes_that_differ_a_hundredfold(void **unused)
{
    (void)unused;
    struct program two = {0}, three = {0}, normal = {0}, even = {0}, large = {0};
    add_blocks(&two, 20000, KIB, RATE);
    add_blocks(&two, 200, 100 * KIB, RATE);
    assert_covered(&two, 21);
    add_blocks(&three, 400000, 48, RATE);
    add_blocks(&three, 40000, 480, RATE);
    add_blocks(&three, 4000, 4800, RATE);
    assert_covered(&three, 22);
    state = 23;
    for (int i = 0; i < 100000; i++)
        add_blocks(&normal, 1, 1 + (uint64_t)(120 * exp(1.5 * next_normal())), RATE);
    assert_covered(&normal, 24);
    for (int i = 0; i < 20000; i++)
        add_blocks(&even, 1, 16 + (uint64_t)(4080 * next_unit()), RATE);
    assert_covered(&even, 25);
    add_blocks(&large, 20000, 4 * KIB, RATE);
    add_blocks(&large, 200, MIB, RATE);
    assert_covered(&large, 26);
}

static void objects_of_like_sizes_have_the_interval_of_their_sum(void **unused)
{
    (void)unused;
    struct kymo_estimate_whole whole = {.rate = RATE};
    struct kymo_estimate *sum = &whole.sum;
    struct kymo_estimate_range range;
    double low, high;
    for (int i = 0; i < 3; i++)
        kymo_estimate_add(sum, KIB, kymo_estimate_weight(KIB, RATE));
    kymo_estimate_objects(sum, &whole, 0, &range);
    kymo_estimate_interval(sum->objects, sum->variance_objects, &low, &high);
    assert_true(fabs(range.low / low - 1) < 1e-6 && fabs(range.high / high - 1) < 1e-6);
    /* One that is drawn of another kind tells that there may be still others. */
    kymo_estimate_add(sum, 100 * KIB, kymo_estimate_weight(100 * KIB, RATE));
    kymo_estimate_objects(sum, &whole, 0, &range);
    kymo_estimate_interval(sum->objects, sum->variance_objects, &low, &high);
    assert_true(range.high > high + kymo_estimate_weight(KIB, RATE));
    /* What cannot be made up by blocks of any size stays finite. */
    kymo_estimate_add(sum, 1, 0x1p63);
    kymo_estimate_objects(sum, &whole, 0, &range);
    assert_true(range.low >= 0 && range.low <= sum->objects && range.high >= sum->objects &&
                isfinite(range.high));
}

/* ---- parts of what was counted ---- */

/* No block was drawn of what lives: that is not 0 bytes. */
static void no_draw_is_a_bound_and_not_nothing(void **unused)
{
    (void)unused;
    struct kymo_estimate none = {0};
    struct kymo_estimate_whole whole = {.rate = RATE};
    struct kymo_estimate_range range;
    kymo_estimate_bytes(&none, &whole, &range);
    assert_true(range.value == 0 && range.low == 0);
    assert_in_range(range.high, 2 * RATE, 3 * RATE);
    kymo_estimate_objects(&none, &whole, 1, &range);
    assert_true(range.value == 0 && range.low == 0 && range.high > (double)RATE / 16);
    /* Not more than was counted, but for what others have. */
    for (int i = 0; i < 5; i++)
        kymo_estimate_add(&whole.sum, KIB, kymo_estimate_weight(KIB, RATE));
    whole.objects = 700;
    whole.bytes = 700 * KIB;
    kymo_estimate_bytes(&none, &whole, &range);
    assert_true(range.high == 695.0 * KIB);
    kymo_estimate_objects(&none, &whole, 1, &range);
    assert_true(range.value == 0 && range.high == 695);
    /* Where each one is recorded, none is none. */
    whole.rate = 1;
    kymo_estimate_bytes(&none, &whole, &range);
    assert_true(range.high == 0);
    kymo_estimate_objects(&none, &whole, 1, &range);
    assert_true(range.high == 0);
}

static void parts_add_up_to_what_was_counted(void **unused)
{
    (void)unused;
    struct kymo_estimate parts[3] = {{0}};
    struct kymo_estimate_whole whole = {.rate = RATE};
    struct kymo_estimate_range range;
    double bytes = 0, objects = 0;
    for (int i = 0; i < 60; i++)
        kymo_estimate_add(&parts[i % 3], 100u << i % 3, kymo_estimate_weight(100u << i % 3, RATE));
    kymo_estimate_add(&parts[0], 64 * MIB, kymo_estimate_weight(64 * MIB, RATE));
    for (int i = 0; i < 3; i++)
        kymo_estimate_merge(&whole.sum, &parts[i]);
    whole.bytes = floor(whole.sum.bytes * 1.1);
    whole.objects = floor(whole.sum.objects * 0.8);
    for (int i = 0; i < 3; i++) {
        kymo_estimate_bytes(&parts[i], &whole, &range);
        bytes += range.value;
        kymo_estimate_objects(&parts[i], &whole, 0, &range);
        objects += range.value;
    }
    assert_true(fabs(bytes / whole.bytes - 1) < 1e-9);
    assert_true(fabs(objects / whole.objects - 1) < 1e-6); /* classes are floats */
}

static void a_count_of_something_else_is_found(void **unused)
{
    (void)unused;
    struct kymo_estimate_whole whole = {.rate = RATE};
    assert_true(kymo_estimate_agrees(&whole, (double)RATE));
    assert_false(kymo_estimate_agrees(&whole, 10.0 * RATE));
    for (int i = 0; i < 100; i++)
        kymo_estimate_add(&whole.sum, KIB, kymo_estimate_weight(KIB, RATE));
    assert_true(kymo_estimate_agrees(&whole, 120.0 * RATE));
    assert_false(kymo_estimate_agrees(&whole, 200.0 * RATE));
    assert_false(kymo_estimate_agrees(&whole, 30.0 * RATE));
}

/* Blocks of a program that lives on, of which some live: what live blocks it is said to have. The
 * first of `live` of each kind do. */
struct kind {
    size_t count, live;
    uint64_t bytes;
};

static void live_once(const struct kind *kinds, size_t n, struct coverage *c)
{
    struct kymo_estimate live = {0};
    struct kymo_estimate_whole whole = {.rate = RATE};
    double live_objects = 0, live_bytes = 0;
    for (size_t k = 0; k < n; k++) {
        double weight = kymo_estimate_weight(kinds[k].bytes, RATE);
        double chance = kymo_estimate_chance(kinds[k].bytes, RATE);
        for (size_t i = 0; i < kinds[k].count; i++) {
            if (next_unit() >= chance)
                continue;
            kymo_estimate_add(&whole.sum, kinds[k].bytes, weight);
            if (i < kinds[k].live)
                kymo_estimate_add(&live, kinds[k].bytes, weight);
        }
        whole.objects += (double)kinds[k].count;
        whole.bytes += (double)kinds[k].count * (double)kinds[k].bytes;
        live_objects += (double)kinds[k].live;
        live_bytes += (double)kinds[k].live * (double)kinds[k].bytes;
    }
    c->bytes += holds_bytes(&live, &whole, live_bytes);
    c->objects += holds_objects(&live, &whole, 1, live_objects);
}

/* With few draws an interval cannot hold the truth in just 95 of 100 runs: in more, then. */
static void assert_live_is_held(const struct kind *kinds, size_t n, uint64_t seed)
{
    struct coverage c = {0};
    state = seed;
    for (int i = 0; i < RUNS; i++)
        live_once(kinds, n, &c);
    print_message("live: %d and %d of %d\n", c.bytes, c.objects, RUNS);
    assert_in_range(c.bytes, HELD_LEAST, RUNS);
    assert_in_range(c.objects, HELD_LEAST, RUNS);
}

static void intervals_hold_what_lives_of_few_draws(void **unused)
{
    (void)unused;
    static const struct kind little[] = {{14000, 140, 40}, {800, 1, 32 * KIB}};
    static const struct kind some[] = {{60000, 3000, 24}, {20000, 4000, 300}, {50, 9, 64 * KIB}};
    static const struct kind all[] = {{60000, 59000, 100}, {300, 300, 20 * KIB}};
    static const struct kind large[] = {{3000, 2900, 50}, {12, 9, MIB}};
    assert_live_is_held(little, 2, 31);
    assert_live_is_held(some, 3, 32);
    assert_live_is_held(all, 2, 33);
    assert_live_is_held(large, 2, 34);
}

/* The rate is another one after half of the blocks, and again. */
static void intervals_hold_when_the_rate_changes(void **unused)
{
    (void)unused;
    struct program p = {0};
    add_blocks(&p, 16 * KIB, KIB, RATE);
    add_blocks(&p, 8 * KIB, KIB, 64 * KIB);
    add_blocks(&p, 200, KIB, 1);
    add_blocks(&p, 16 * KIB, KIB, 2 * RATE);
    struct coverage c = run_all(&p, 17);
    assert_in_range(c.bytes, HELD_LEAST, HELD_MOST);
    assert_true(fabs(c.sum / RUNS / p.bytes - 1) < 1.0 / MEAN_PARTS);
}

/* ---- resizes ---- */

struct chain {
    const uint64_t *bytes;
    size_t count;
    double weight_sum, square_sum;
};

/* A block of a program that does much else: each draw is a new one. */
static void resize_once(struct chain *c, const uint64_t *rates)
{
    double weight = 0;
    for (size_t i = 0; i < c->count; i++) {
        uint64_t before = i ? c->bytes[i - 1] + 8 : 0; /* usable */
        uint64_t grown = c->bytes[i] > before ? c->bytes[i] - before : 0;
        int is_drawn = grown > 0 && next_unit() < kymo_estimate_chance(grown, rates[i]);
        if (i == 0)
            weight = is_drawn ? kymo_estimate_weight(c->bytes[0], rates[0]) : 0;
        else if (weight > 0 || is_drawn)
            weight = kymo_estimate_resized(weight, c->bytes[i], grown, rates[i]);
    }
    c->weight_sum += weight;
    c->square_sum += weight * weight;
}

static void assert_unbiased(const uint64_t *bytes, size_t count, const uint64_t *rates,
                            uint64_t seed)
{
    enum { BLOCKS = 400000 };
    struct chain c = {.bytes = bytes, .count = count};
    state = seed;
    for (int i = 0; i < BLOCKS; i++)
        resize_once(&c, rates);
    double mean = c.weight_sum / BLOCKS;
    double error = sqrt((c.square_sum / BLOCKS - mean * mean) / BLOCKS);
    assert_true(fabs(mean - 1) < 4 * error + 1e-9);
}

static void resizes_stay_unbiased(void **unused)
{
    (void)unused;
    static const uint64_t doubled[] = {4 * KIB,   8 * KIB,   16 * KIB,  32 * KIB, 64 * KIB,
                                       128 * KIB, 256 * KIB, 512 * KIB, MIB,      2 * MIB};
    static const uint64_t up_and_down[] = {64 * KIB, 8 * KIB, 200 * KIB, 100, 300 * KIB, KIB};
    static const uint64_t by_little[] = {10000, 10004, 10008, 10030, 10031, 10060, 10100};
    static const uint64_t same[10] = {RATE, RATE, RATE, RATE, RATE, RATE, RATE, RATE, RATE, RATE};
    static const uint64_t changing[10] = {RATE,     64 * KIB, 4 * RATE, RATE, 8 * KIB,
                                          4 * RATE, 64 * KIB, RATE,     RATE, 8 * RATE};
    assert_unbiased(doubled, 10, same, 11);
    assert_unbiased(doubled, 10, changing, 12);
    assert_unbiased(up_and_down, 6, same, 13);
    assert_unbiased(up_and_down, 6, changing, 14);
    assert_unbiased(by_little, 7, same, 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_one_is_exact),
        cmocka_unit_test(a_block_of_nothing_is_never_drawn),
        cmocka_unit_test(small_blocks_stand_for_many),
        cmocka_unit_test(intervals_are_finite_and_ordered),
        cmocka_unit_test(sums_of_parts_are_sums),
        cmocka_unit_test(intervals_hold_small_blocks),
        cmocka_unit_test(intervals_hold_large_blocks),
        cmocka_unit_test(intervals_hold_mixed_sizes),
        cmocka_unit_test(intervals_hold_sizes_that_differ_a_hundredfold),
        cmocka_unit_test(objects_of_like_sizes_have_the_interval_of_their_sum),
        cmocka_unit_test(no_draw_is_a_bound_and_not_nothing),
        cmocka_unit_test(parts_add_up_to_what_was_counted),
        cmocka_unit_test(a_count_of_something_else_is_found),
        cmocka_unit_test(intervals_hold_what_lives_of_few_draws),
        cmocka_unit_test(intervals_hold_when_the_rate_changes),
        cmocka_unit_test(resizes_stay_unbiased),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
