/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hazard_raw.c - a signal's action, set by a system call that no library sees.
 */
#include <signal.h>
#include <sys/syscall.h>

#include "hazards.h"
#include "workload.h"

DEFINE_BURN(burn_without_action, 127)

enum { BURN_NS = 150000000 };

int hazard_rawaction(int argc, char **argv)
{
    (void)argc, (void)argv;
    const struct {
        uint64_t handler, flags, restorer, mask;
    } by_default = {0, 0, 0, 0};
    burn_ns(burn_without_action, BURN_NS);
    for (int signo = 1; signo < NSIG; signo++)
        raw_call(SYS_rt_sigaction, signo, (long)(intptr_t)&by_default, 0, sizeof(uint64_t));
    burn_ns(burn_without_action, 2 * BURN_NS);
    puts("every signal has its default action");
    return 0;
}
