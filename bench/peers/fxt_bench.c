/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fxt_bench.c - events of FxT, the recording library of EZTrace, in the loops of marker_loop.h. One
 * buffer has those of all threads; it is begun anew before each batch, and never written out.
 */
#define CONFIG_FUT
#include <fxt/fut.h>
#include <fxt/fxt.h>
#include <stdlib.h>

#include "marker_loop.h"

enum { BUFFER_WORDS = 1 << 20, TWO_WORDS = 0x101, NUMBERS_TEXT = 0x102, OFF = 0x103, OFF_MASK = 2 };

static void prepare(void)
{
    if (loop_thread == 0)
        fut_reset(1, 0);
}

LOOP_OPERATION(disabled, FUT_PROBE2(OFF_MASK, OFF, i, 2))
LOOP_OPERATION(instant32, FUT_DO_PROBE2(TWO_WORDS, i, 2))
LOOP_OPERATION(numbers_text, FUT_DO_PROBE2STR(NUMBERS_TEXT, i, 2, loop_text))

static const struct loop_kind kinds[] = {LOOP_KIND(disabled), LOOP_KIND(instant32),
                                         LOOP_KIND(numbers_text)};

int main(int argc, char **argv)
{
    static const struct loop_program program = {"FxT", kinds, 3, prepare};
    if (fut_setup(BUFFER_WORDS, 1, 0) < 0)
        return 1;
    return loop_main(&program, argc, argv);
}
