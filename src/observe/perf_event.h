/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_event.h - the perf engine: an event on each thread's CPU time that sends it our signal.
 *
 * Layer:    observe
 * Flow:     host_arm.c -> [perf_event] -> kernel -> signal in the program -> capture/on_signal.c
 * Threads:  the recorder's one thread
 * Signals:  not for handlers
 *
 * The recorder opens the events and keeps the descriptors. The program has none of them: it can
 * close everything it sees, run out of descriptors, or drop its privileges, as without us.
 */
#ifndef KYMO_OBSERVE_PERF_EVENT_H
#define KYMO_OBSERVE_PERF_EVENT_H

#include <stdint.h>
#include <sys/types.h>

/* What this process may do. */
enum kymo_perf_access {
    KYMO_PERF_NONE,
    KYMO_PERF_USER,   /* only with exclude_kernel */
    KYMO_PERF_KERNEL, /* time in the kernel, too */
};

/* Tries it on this very process. *sys_errno is why not more, 0 if everything goes. */
enum kymo_perf_access kymo_perf_probe(int *sys_errno);

/* Opens an event of this thread, disabled, that will send it signo every period_ns of its CPU time.
 * with_kernel: also when it is in the kernel at that moment. Returns the descriptor, -1 (errno). */
int kymo_perf_open(pid_t tid, uint64_t period_ns, int signo, int with_kernel);
/* The same with the kernel, and with a ring (kernel_ring.c) that the caller may map. The ring says
 * where in the kernel each interrupt came, and when. */
int kymo_perf_open_chains(pid_t tid, uint64_t period_ns, int signo);
/* One without a signal, whose ring (stack_copies.h) has registers and stack of each interrupt. */
struct kymo_perf_copies {
    uint64_t period_ns;
    uint32_t stack_bytes;
    int with_kernel;
    int with_chain; /* and the callers that its frame pointers lead to */
};
int kymo_perf_open_copies(pid_t tid, const struct kymo_perf_copies *asked);
/* Whether the kernel would, for this process (0: the calling one). If not, errno says why. */
int kymo_perf_may_copy(pid_t pid, int with_kernel);
/* One that counts nothing, and runs: its ring (perf_tasks.h) tells what the thread makes or maps,
 * and of execs. */
int kymo_perf_open_tasks(pid_t tid);
/* Lets it run, or stops it until then. */
int kymo_perf_enable(int fd);
int kymo_perf_disable(int fd);
/* From now on it sends its signal that often. */
int kymo_perf_set_period(int fd, uint64_t period_ns);

#endif
