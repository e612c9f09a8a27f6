/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lttng_bench.c - events of LTTng-UST in the loops of marker_loop.h. They are recorded if a session
 * daemon runs that wants them.
 */
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES

#include "marker_loop.h"
#include "peers/lttng_event.h"

LOOP_OPERATION(disabled, lttng_ust_tracepoint(kymo_bench, off, i, 2))
LOOP_OPERATION(instant32, lttng_ust_tracepoint(kymo_bench, two_words, i, 2))
LOOP_OPERATION(numbers_text,
               lttng_ust_tracepoint(kymo_bench, numbers_text, (uint32_t)i, 2, loop_text))

static const struct loop_kind kinds[] = {LOOP_KIND(disabled), LOOP_KIND(instant32),
                                         LOOP_KIND(numbers_text)};

int main(int argc, char **argv)
{
    static const struct loop_program program = {"LTTng-UST", kinds, 3, NULL};
    return loop_main(&program, argc, argv);
}
