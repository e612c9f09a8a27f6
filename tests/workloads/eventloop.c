/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eventloop.c poll|epoll_wait|nanosleep|recv [SECONDS [DUTY]] - 0.5 ms of CPU in burn_a, 0.2 ms in
 * burn_b, then a wait of 3 ms, again and again: what a server does, and what a careless profiler
 * samples in its sleep and interrupts. DUTY, in percent, is how much of its time it works; 19 if
 * not given. Prints one line of JSON: the waits, how many of them ended in EINTR, and the CPU
 * seconds of each function and of the process.
 */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "workload.h"

DEFINE_BURN(burn_a, 5)
DEFINE_BURN(burn_b, 2)

/* Of each wait. */
static int wait_ms = 3;

/* Both ends of a connection on which nothing is ever sent. */
static int quiet[2];
static int epoll_fd;

static int wait_poll(void)
{
    struct pollfd fd = {.fd = quiet[0], .events = POLLIN};
    return poll(&fd, 1, wait_ms);
}

static int wait_epoll(void)
{
    struct epoll_event event;
    return epoll_wait(epoll_fd, &event, 1, wait_ms);
}

static int wait_nanosleep(void)
{
    struct timespec t = {.tv_nsec = wait_ms * 1000000};
    return nanosleep(&t, NULL);
}

static int wait_recv(void)
{
    char byte;
    return (int)recv(quiet[0], &byte, 1, 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*wait)(void);
    } ways[] = {{"poll", wait_poll},
                {"epoll_wait", wait_epoll},
                {"nanosleep", wait_nanosleep},
                {"recv", wait_recv}};
    int (*wait)(void) = NULL;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (argc > 1 && strcmp(argv[1], ways[i].name) == 0)
            wait = ways[i].wait;
    if (!wait) {
        fprintf(stderr, "usage: eventloop poll|epoll_wait|nanosleep|recv [SECONDS [DUTY]]\n");
        return 2;
    }
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, quiet) == 0, "socketpair");
    const double duty = number_argument(argc, argv, 3, 18.9) / 100;
    if (duty < 0.05)
        wait_ms = 30; /* else it would be hardly any work at a time */
    const double work_ns = wait_ms * 1e6 * duty / (1 - duty);
    struct timeval timeout = {.tv_usec = wait_ms * 1000};
    must(setsockopt(quiet[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) == 0,
         "setsockopt");
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    must(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, quiet[0], &event) == 0, "epoll_ctl");

    const uint64_t rounds_a = rounds_for_ns(burn_a, (uint64_t)(work_ns * 5 / 7));
    const uint64_t rounds_b = rounds_for_ns(burn_b, (uint64_t)(work_ns * 2 / 7));
    const uint64_t end =
        clock_ns(CLOCK_MONOTONIC) + (uint64_t)(number_argument(argc, argv, 2, 2.0) * 1e9);
    uint64_t a_ns = 0, b_ns = 0;
    unsigned calls = 0, interrupted = 0;
    do {
        uint64_t start = thread_cpu_ns();
        burn_a(rounds_a);
        uint64_t middle = thread_cpu_ns();
        burn_b(rounds_b);
        b_ns += thread_cpu_ns() - middle;
        a_ns += middle - start;
        calls++;
        errno = 0;
        if (wait() < 0 && errno == EINTR)
            interrupted++;
    } while (clock_ns(CLOCK_MONOTONIC) < end);
    printf("{\"calls\":%u,\"eintr\":%u,\"cpu_a\":%.6f,\"cpu_b\":%.6f,\"cpu\":%.6f}\n", calls,
           interrupted, (double)a_ns / 1e9, (double)b_ns / 1e9,
           (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
    return 0;
}
