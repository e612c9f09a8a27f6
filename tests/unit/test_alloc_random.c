/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "capture/alloc.h"
#include "unit.h"

#define MEAN (512u << 10)

static void the_mean_is_the_mean(void **state)
{
    (void)state;
    enum { DRAWS = 10000000 };
    const uint64_t means[] = {1, 64, 4096, MEAN, 1u << 30};
    for (size_t k = 0; k < sizeof means / sizeof means[0]; k++) {
        uint64_t seed = 88172645463325252ull + k;
        double sum = 0;
        for (int i = 0; i < DRAWS; i++)
            sum += (double)kymo_alloc_interval(&seed, means[k]);
        /* Of the whole part: 1 / (e^(1/mean) - 1). */
        double wanted = 1 / expm1(1 / (double)means[k]);
        assert_true(fabs(sum / DRAWS / wanted - 1) < 1.5e-3);
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Kolmogorov's distance; 1.63 / sqrt(n) is passed by chance in 1 of 100, and the seed is fixed. */
static void they_are_exponential(void **state)
{
    (void)state;
    enum { DRAWS = 1000000 };
    uint64_t *all = malloc(DRAWS * sizeof *all);
    uint64_t seed = 1;
    assert_non_null(all);
    for (int i = 0; i < DRAWS; i++)
        all[i] = kymo_alloc_interval(&seed, 1u << 30);
    qsort(all, DRAWS, sizeof *all, compare);
    double worst = 0;
    for (int i = 0; i < DRAWS; i++) {
        double p = -expm1(-((double)all[i] + 0.5) / (double)(1u << 30));
        double d = fabs(p - ((double)i + 0.5) / DRAWS);
        worst = d > worst ? d : worst;
    }
    free(all);
    assert_true(worst < 1.63 / sqrt(DRAWS));
}

/* As the hooks do it: what is left after one block is not less random than at the beginning. */
static void a_block_is_drawn_with_its_chance_whatever_came_before(void **state)
{
    (void)state;
    enum { KINDS = 5, BLOCKS = 3000000 };
    const int64_t bytes[KINDS] = {16, 4096, MEAN / 8, MEAN, 3 * MEAN};
    double blocks[KINDS] = {0}, drawn[KINDS] = {0};
    uint64_t seed = 4711, choice = 1;
    int64_t until = (int64_t)kymo_alloc_interval(&seed, MEAN);
    for (int i = 0; i < BLOCKS; i++) {
        choice = choice * 6364136223846793005ull + 1442695040888963407ull;
        int k = (int)((choice >> 40) % KINDS);
        blocks[k]++;
        until -= bytes[k];
        if (until < 0) {
            drawn[k]++;
            until = (int64_t)kymo_alloc_interval(&seed, MEAN);
        }
    }
    for (int k = 0; k < KINDS; k++) {
        double p = -expm1(-(double)bytes[k] / MEAN);
        assert_true(fabs(drawn[k] - blocks[k] * p) < 4 * sqrt(blocks[k] * p * (1 - p)) + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_is_the_mean),
        cmocka_unit_test(they_are_exponential),
        cmocka_unit_test(a_block_is_drawn_with_its_chance_whatever_came_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
