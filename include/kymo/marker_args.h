/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marker_args.h - what macros of markers do with their arguments: lists of them, and values that
 * live as long as the call which they are handed to.
 *
 * Flow:     marker.h -> [arguments] -> marker_payload.h
 * Threads:  any
 * Memory:   in the frame of the marker, until the end of its full expression (C: of its block)
 * Signals:  everything here may stand in a handler
 *
 * Included by marker.h, for which it is made.
 */
#ifndef KYMO_MARKER_ARGS_H
#define KYMO_MARKER_ARGS_H

#include "kymo/marker_link.h"

/* ---- values in the expression that uses them ---- */

/* The address of a value that lives until the end of the full expression which it stands in, as do
 * the temporary objects that it was made of. A variable would outlive those: it would point to a
 * string that is gone. */
#ifdef __cplusplus
template <class T> KYMO_INLINE_ const T *kymo_at_(const T &&value)
{
    return &value;
}
template <size_t count> struct kymo_cells_ {
    struct kymo_mark_cell cells[count];
    KYMO_INLINE_MEMBER_ const struct kymo_mark_cell *at() const
    {
        return cells;
    }
};
#define KYMO_TEXT_AT_(text) kymo_at_(KYMO_TEXT_OF_(text))
#define KYMO_CELLS_AT_(count, ...) (kymo_cells_<(count)>{{__VA_ARGS__}}.at())
#else
#define KYMO_TEXT_AT_(text) ((const struct kymo_mark_text[]){KYMO_TEXT_OF_(text)})
#define KYMO_CELLS_AT_(count, ...) ((const struct kymo_mark_cell[]){__VA_ARGS__})
#endif

/* ---- values of counters ---- */

/* A counter of integers takes no other numbers, which would be cut without a word. */
KYMO_INLINE_ int64_t kymo_f64_bits_(double value)
{
    int64_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}
#ifdef __cplusplus
template <int is_f64> struct kymo_counted_ {
    template <class T> KYMO_INLINE_MEMBER_ static int64_t of(T value)
    {
        return static_cast<int64_t>(value);
    }
    static int64_t of(float value) = delete;
    static int64_t of(double value) = delete;
    static int64_t of(long double value) = delete;
};
template <> struct kymo_counted_<1> {
    template <class T> KYMO_INLINE_MEMBER_ static int64_t of(T value)
    {
        return kymo_f64_bits_(static_cast<double>(value));
    }
};
#define KYMO_COUNTED_(var, value) (kymo_counted_<kymo_counter_is_f64_##var>::of(+(value)))
#define KYMO_ASSERT_COUNTED_(var, value) KYMO_ASSERT_(sizeof(kymo_counter_is_f64_##var) != 0)
#else
#define KYMO_COUNTED_(var, value) \
    (kymo_counter_is_f64_##var ? kymo_f64_bits_((double)+(value)) : (int64_t) + (value))
#define KYMO_ASSERT_COUNTED_(var, value)                                                        \
    _Static_assert(kymo_counter_is_f64_##var ||                                                 \
                       _Generic(+(value), float : 0, double : 0, long double : 0, default : 1), \
                   "this counter counts integers: KYMO_COUNTER_F64 takes other numbers")
#endif

/* ---- lists of arguments ---- */

/* How many, from 1 to 13. */
#define KYMO_NUMBER_(...) KYMO_14TH_(__VA_ARGS__, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define KYMO_14TH_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, ...) n
#define KYMO_FIRST_(...) KYMO_FIRST_OF_(__VA_ARGS__, 0)
#define KYMO_FIRST_OF_(first, ...) first
/* The others, with a comma behind them, as an initializer may have it; nothing where there are
 * none. */
#define KYMO_REST_(...) KYMO_REST_OF_(__VA_ARGS__, )
#define KYMO_REST_OF_(first, ...) __VA_ARGS__

/* M of each of up to 13, with commas between. */
#define KYMO_EACH_(M, ...) KYMO_PASTE_(KYMO_EACH_, KYMO_NUMBER_(__VA_ARGS__))(M, __VA_ARGS__)
#define KYMO_EACH_1(M, a) M(a)
#define KYMO_EACH_2(M, a, ...) M(a), KYMO_EACH_1(M, __VA_ARGS__)
#define KYMO_EACH_3(M, a, ...) M(a), KYMO_EACH_2(M, __VA_ARGS__)
#define KYMO_EACH_4(M, a, ...) M(a), KYMO_EACH_3(M, __VA_ARGS__)
#define KYMO_EACH_5(M, a, ...) M(a), KYMO_EACH_4(M, __VA_ARGS__)
#define KYMO_EACH_6(M, a, ...) M(a), KYMO_EACH_5(M, __VA_ARGS__)
#define KYMO_EACH_7(M, a, ...) M(a), KYMO_EACH_6(M, __VA_ARGS__)
#define KYMO_EACH_8(M, a, ...) M(a), KYMO_EACH_7(M, __VA_ARGS__)
#define KYMO_EACH_9(M, a, ...) M(a), KYMO_EACH_8(M, __VA_ARGS__)
#define KYMO_EACH_10(M, a, ...) M(a), KYMO_EACH_9(M, __VA_ARGS__)
#define KYMO_EACH_11(M, a, ...) M(a), KYMO_EACH_10(M, __VA_ARGS__)
#define KYMO_EACH_12(M, a, ...) M(a), KYMO_EACH_11(M, __VA_ARGS__)
#define KYMO_EACH_13(M, a, ...) M(a), KYMO_EACH_12(M, __VA_ARGS__)
/* The same of all but the first; where there is no other, EMPTY. */
#define KYMO_EACH_AFTER_(M, empty, ...) \
    KYMO_PASTE_(KYMO_AFTER_, KYMO_NUMBER_(__VA_ARGS__))(M, empty, __VA_ARGS__)
#define KYMO_AFTER_1(M, empty, a) empty
#define KYMO_AFTER_2(M, empty, a, ...) KYMO_EACH_1(M, __VA_ARGS__)
#define KYMO_AFTER_3(M, empty, a, ...) KYMO_EACH_2(M, __VA_ARGS__)
#define KYMO_AFTER_4(M, empty, a, ...) KYMO_EACH_3(M, __VA_ARGS__)
#define KYMO_AFTER_5(M, empty, a, ...) KYMO_EACH_4(M, __VA_ARGS__)
#define KYMO_AFTER_6(M, empty, a, ...) KYMO_EACH_5(M, __VA_ARGS__)
#define KYMO_AFTER_7(M, empty, a, ...) KYMO_EACH_6(M, __VA_ARGS__)
#define KYMO_AFTER_8(M, empty, a, ...) KYMO_EACH_7(M, __VA_ARGS__)
#define KYMO_AFTER_9(M, empty, a, ...) KYMO_EACH_8(M, __VA_ARGS__)
#define KYMO_AFTER_10(M, empty, a, ...) KYMO_EACH_9(M, __VA_ARGS__)
#define KYMO_AFTER_11(M, empty, a, ...) KYMO_EACH_10(M, __VA_ARGS__)
#define KYMO_AFTER_12(M, empty, a, ...) KYMO_EACH_11(M, __VA_ARGS__)
#define KYMO_AFTER_13(M, empty, a, ...) KYMO_EACH_12(M, __VA_ARGS__)

#endif
