/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_fit.c - weights that are to add up to CPU time.
 *
 * What a handler gives as a weight is from its thread's clock. A sample without a handler has what
 * the kernel's event counts: 0.2 us more for each switch, and what a hypervisor took of the CPU. So
 * the sum of a thread's weights may be more than its clock; or that of a process, where threads
 * were ended with it and nobody read their clocks.
 */
#include "profile/ingest_state.h"

static uint64_t most(uint64_t value, uint64_t limit)
{
    return value < limit ? value : limit;
}

/* Nothing but the samples has told its CPU time. */
static int is_without_clock(const struct kymo_ingest_thread *t)
{
    return t->tail_ns == 0 && t->unknown == 0 && t->weight_ns <= t->cpu_ns;
}

static int has_copies(const kymo_ingest *in, uint32_t process)
{
    return in->processes.data[process].quality.copied > 0;
}

static void fit_to_processes(kymo_ingest *in)
{
    for (uint32_t i = 0; i < in->threads.len; i++) {
        const struct kymo_ingest_thread *t = &in->threads.data[i];
        struct kymo_ingest_process *p =
            &in->processes.data[kymo_profile_thread(in->profile, i)->process];
        p->fit_ns = kymo_sum(p->fit_ns, kymo_sum(t->fit_ns, t->tail_ns));
        p->open_ns = kymo_sum(p->open_ns, is_without_clock(t) ? t->fit_ns : 0);
    }
    for (uint32_t i = 0; i < in->threads.len; i++) {
        struct kymo_ingest_thread *t = &in->threads.data[i];
        uint32_t process = kymo_profile_thread(in->profile, i)->process;
        const struct kymo_ingest_process *p = &in->processes.data[process];
        if (!has_copies(in, process) || p->cpu_ns == 0 || p->fit_ns <= p->cpu_ns ||
            !is_without_clock(t))
            continue;
        uint64_t over_ns = most(p->fit_ns - p->cpu_ns, p->open_ns);
        t->fit_ns -= (uint64_t)((unsigned __int128)t->fit_ns * over_ns / p->open_ns);
        t->cpu_ns = most(t->cpu_ns, t->fit_ns);
    }
}

void kymo_ingest_fit_weights(kymo_ingest *in)
{
    for (uint32_t i = 0; i < in->threads.len; i++) {
        struct kymo_ingest_thread *t = &in->threads.data[i];
        t->fit_ns = t->weight_ns;
        /* Of a flight recorder, the clock is of what it dropped, too. */
        uint64_t dropped_ns = t->dropped.weight_ns;
        if (t->cpu_ns > dropped_ns && has_copies(in, kymo_profile_thread(in->profile, i)->process))
            t->fit_ns = most(t->weight_ns, t->cpu_ns - dropped_ns);
    }
    fit_to_processes(in);
}
