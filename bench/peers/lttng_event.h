/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lttng_event.h - the event of lttng_bench.c: two numbers and a text. LTTng reads this header
 * several times, each time with other meanings of its macros.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER kymo_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "peers/lttng_event.h"

#if !defined(KYMO_BENCH_LTTNG_EVENT_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define KYMO_BENCH_LTTNG_EVENT_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(kymo_bench, two_words,
    LTTNG_UST_TP_ARGS(uint64_t, a, uint64_t, b),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint64_t, a, a)
        lttng_ust_field_integer(uint64_t, b, b)))
LTTNG_UST_TRACEPOINT_EVENT(kymo_bench, numbers_text,
    LTTNG_UST_TP_ARGS(uint32_t, a, uint32_t, b, const char *, text),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint32_t, a, a)
        lttng_ust_field_integer(uint32_t, b, b)
        lttng_ust_field_string(text, text)))
LTTNG_UST_TRACEPOINT_EVENT(kymo_bench, off,
    LTTNG_UST_TP_ARGS(uint64_t, a, uint64_t, b),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint64_t, a, a)
        lttng_ust_field_integer(uint64_t, b, b)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
