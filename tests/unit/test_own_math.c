/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/own_math.h"

#include <fenv.h>
#include <math.h>

#include "base/f64.h"
#include "unit.h"

static double add(double a, double b)
{
    return kymo_f64_of(kymo_add_doubles(kymo_f64_bits(a), kymo_f64_bits(b)));
}

static void sums_are_those_of_doubles(void **state)
{
    (void)state;
    assert_true(add(1.5, 2.25) == 3.75);
    assert_true(add(1e308, 1e308) == (double)INFINITY);
    assert_true(isnan(add((double)INFINITY, -(double)INFINITY)));
    assert_true(add(0.1, 0.2) == 0.1 + 0.2);
}

/* A sum that is not exact sets a flag, and one that is unmasked would end the program by SIGFPE. */
static void the_programs_exceptions_stay_its_own(void **state)
{
    (void)state;
    feclearexcept(FE_ALL_EXCEPT);
    assert_true(feenableexcept(FE_ALL_EXCEPT) != -1);
    int modes = fegetexcept();
    fesetround(FE_UPWARD);
    double inexact = add(1, 1e-20), infinite = add(1e308, 1e308);
    assert_int_equal(fegetround(), FE_UPWARD);
    assert_int_equal(fegetexcept(), modes);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
    fedisableexcept(FE_ALL_EXCEPT);
    fesetround(FE_TONEAREST);
    assert_true(inexact == 1 && infinite == (double)INFINITY);
}

static void products_have_room(void **state)
{
    (void)state;
    const uint64_t large = UINT64_MAX;
    assert_true(kymo_multiply_divide(6, 7, 2) == 21);
    assert_true(kymo_multiply_divide(large, large, large) == large);
    assert_true(kymo_multiply_divide(1ull << 40, 3000000000u, 1ull << 40) == 3000000000u);
    assert_true(kymo_multiply_divide(large, 3, 2) == large);
    assert_true(kymo_multiply_divide(large, 2, 1) == large);
    assert_true(kymo_multiply_divide(5, 5, 0) == 0);
    assert_true(kymo_multiply_divide(0, large, 1) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_doubles),
        cmocka_unit_test(the_programs_exceptions_stay_its_own),
        cmocka_unit_test(products_have_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
