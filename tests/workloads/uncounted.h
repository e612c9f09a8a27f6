/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uncounted.h - makes the calling thread come back on a CPU without being counted.
 *
 * The kernel counts an arrival only of a thread that was ready to run when it left its CPU. A wait
 * for a child says first that it will sleep, and then reaps the child that it finds; if a process
 * has read files of that child's /proc, throwing those away takes a while, in which the kernel
 * looks whether another thread is to run.
 */
#ifndef KYMO_TESTS_UNCOUNTED_H
#define KYMO_TESTS_UNCOUNTED_H

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UNCOUNTED_TRIES = 1000 };

static inline int uncounted_read(const char *name, char *text, size_t cap)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, cap - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* How many of the calling thread's arrivals have not been counted; -1: not to be told. */
static inline long uncounted_arrivals(void)
{
    char first[96], status[8192], second[96];
    for (int i = 0; i < 100; i++) {
        if (!uncounted_read("/proc/thread-self/schedstat", first, sizeof first) ||
            !uncounted_read("/proc/thread-self/status", status, sizeof status) ||
            !uncounted_read("/proc/thread-self/schedstat", second, sizeof second))
            return -1;
        const char *arrivals = strrchr(first, ' ');
        const char *voluntary = strstr(status, "\nvoluntary_ctxt_switches:");
        const char *nonvoluntary = strstr(status, "\nnonvoluntary_ctxt_switches:");
        if (!arrivals || !voluntary || !nonvoluntary)
            return -1;
        if (strcmp(arrivals, strrchr(second, ' ')) != 0)
            continue;
        return 1 + strtol(strchr(voluntary, ':') + 1, NULL, 10) +
               strtol(strchr(nonvoluntary, ':') + 1, NULL, 10) - strtol(arrivals, NULL, 10);
    }
    return -1;
}

static inline void uncounted_child(void)
{
    static const char *const names[] = {"stat",    "status",  "maps",   "sched", "cmdline", "io",
                                        "limits",  "comm",    "wchan",  "statm", "syscall", "auxv",
                                        "environ", "oom_adj", "cgroup", "mounts"};
    char path[64];
    for (size_t i = 0; i < 2 * sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "/proc/%sself/%s", i % 2 ? "thread-" : "", names[i / 2]);
        close(open(path, O_RDONLY | O_CLOEXEC));
    }
    _exit(0);
}

/* Another thread that wants the CPU that the caller stays on. */
static inline pid_t uncounted_rival(void)
{
    cpu_set_t here;
    int cpu = sched_getcpu();
    CPU_ZERO(&here);
    CPU_SET((size_t)(cpu < 0 ? 0 : cpu), &here);
    (void)sched_setaffinity(0, sizeof here, &here);
    pid_t rival = fork();
    if (rival == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile unsigned long i = 0;; i++)
            ;
    }
    return rival;
}

/* Until there are this many. How many there are: fewer where the kernel counts them. */
static inline long uncounted_make(long wanted)
{
    cpu_set_t usual;
    int has_usual = sched_getaffinity(0, sizeof usual, &usual) == 0;
    pid_t rival = uncounted_rival();
    long n = uncounted_arrivals();
    for (int i = 0; n >= 0 && n < wanted && i < UNCOUNTED_TRIES; i++) {
        pid_t child = fork();
        if (child == 0)
            uncounted_child();
        siginfo_t info;
        (void)waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
        (void)waitpid(child, NULL, 0);
        n = uncounted_arrivals();
    }
    if (rival > 0) {
        kill(rival, SIGKILL);
        (void)waitpid(rival, NULL, 0);
    }
    if (has_usual)
        (void)sched_setaffinity(0, sizeof usual, &usual);
    return n;
}

#endif
