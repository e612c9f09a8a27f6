/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ftrace_bench.c - texts that are written to the kernel's trace_marker, in the loops of
 * marker_loop.h: a system call each, into the kernel's ring buffer. Needs tracefs, and root.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "marker_loop.h"

static int marker;

static void say(const char *text, int len)
{
    if (write(marker, text, (size_t)len) != len)
        _exit(1);
}

LOOP_OPERATION(instant32, char line[64];
               say(line, snprintf(line, sizeof line, "two words %lu %lu", i, 2ul)))
LOOP_OPERATION(numbers_text, char line[64];
               say(line, snprintf(line, sizeof line, "text %u %u %s", (uint32_t)i, 2u, loop_text)))

static const struct loop_kind kinds[] = {LOOP_KIND(instant32), LOOP_KIND(numbers_text)};

int main(int argc, char **argv)
{
    static const struct loop_program program = {"trace_marker", kinds, 2, NULL};
    marker = open("/sys/kernel/tracing/trace_marker", O_WRONLY | O_CLOEXEC);
    if (marker < 0)
        marker = open("/sys/kernel/debug/tracing/trace_marker", O_WRONLY | O_CLOEXEC);
    if (marker < 0) {
        perror("trace_marker");
        return 1;
    }
    return loop_main(&program, argc, argv);
}
