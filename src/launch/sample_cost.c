/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop of fixed length is timed by the thread's CPU clock, alone and with samples: the rest is
 * theirs. The least of a few rounds counts, since whatever else happens on the machine only adds.
 */
#include "launch/launch_start.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sys/clock.h"

enum { ROUNDS = 3, SIGNALS = 64 };

#define PERIOD_NS 50000u
#define LOOP_NS 1000000u
/* What the handler itself does: walking some 50 frames, and its place in the stream. */
#define HANDLER_NS 2000u

static volatile sig_atomic_t arrived;

static void count(int signo)
{
    (void)signo;
    arrived++;
}

struct before {
    struct sigaction action;
    sigset_t mask;
};

static void take_signal(struct before *before)
{
    struct sigaction action = {.sa_flags = SA_RESTART};
    sigset_t urgent;
    action.sa_handler = count;
    sigemptyset(&urgent);
    sigaddset(&urgent, SIGURG);
    sigaction(SIGURG, &action, &before->action);
    sigprocmask(SIG_UNBLOCK, &urgent, &before->mask);
    arrived = 0;
}

static void give_signal_back(const struct before *before)
{
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
    sigaction(SIGURG, &before->action, NULL);
}

static uint64_t spin_ns(uint64_t turns)
{
    uint64_t begun_ns = kymo_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (volatile uint64_t i = 0; i < turns; i = i + 1)
        ;
    return kymo_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* One round with an event. UINT64_MAX: there was no sample. */
static uint64_t sampled_ns(uint64_t turns, uint64_t alone_ns, enum kymo_perf_access access)
{
    int fd =
        kymo_perf_open((pid_t)syscall(SYS_gettid), PERIOD_NS, SIGURG, access == KYMO_PERF_KERNEL);
    if (fd < 0)
        return UINT64_MAX;
    arrived = 0;
    uint64_t with_ns = kymo_perf_enable(fd) == 0 ? spin_ns(turns) : 0;
    close(fd);
    if (arrived == 0)
        return UINT64_MAX;
    return with_ns > alone_ns ? (with_ns - alone_ns) / (uint64_t)arrived : 0;
}

uint64_t kymo_sample_cost_perf_ns(enum kymo_perf_access access)
{
    enum { TRIAL = 20000 };
    struct before before;
    uint64_t alone_ns = UINT64_MAX;
    uint64_t cost_ns = UINT64_MAX;
    uint64_t turns = LOOP_NS / (spin_ns(TRIAL) / TRIAL + 1);
    take_signal(&before);
    for (int i = 0; i < ROUNDS; i++)
        alone_ns = least(alone_ns, spin_ns(turns));
    for (int i = 0; i < ROUNDS; i++)
        cost_ns = least(cost_ns, sampled_ns(turns, alone_ns, access));
    give_signal_back(&before);
    return cost_ns == UINT64_MAX ? 0 : cost_ns + HANDLER_NS;
}

uint64_t kymo_sample_cost_signal_ns(void)
{
    struct before before;
    uint64_t cost_ns = UINT64_MAX;
    take_signal(&before);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t begun_ns = kymo_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        for (int k = 0; k < SIGNALS; k++)
            (void)syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGURG);
        cost_ns = least(cost_ns, (kymo_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns) / SIGNALS);
    }
    give_signal_back(&before);
    return arrived ? cost_ns + HANDLER_NS : 0;
}

uint64_t kymo_affordable_period_ns(uint64_t asked_ns, uint64_t cost_ns, uint64_t percent)
{
    if (cost_ns > UINT64_MAX / 200)
        return asked_ns;
    uint64_t least_ns = cost_ns * 100 / percent;
    if (least_ns <= asked_ns)
        return asked_ns;
    /* Two digits, as one says it. */
    uint64_t step = 1;
    while (least_ns / step >= 100)
        step *= 10;
    return (least_ns + step - 1) / step * step;
}
