/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/poller.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sys/clock.h"

#define SERVED_MAX 64

int kymo_poller_open(void)
{
    return epoll_create1(EPOLL_CLOEXEC);
}

kymo_err kymo_poller_add(int poller, struct kymo_poll_source *source)
{
    struct epoll_event e = {.events = EPOLLIN, .data = {.ptr = source}};
    return epoll_ctl(poller, EPOLL_CTL_ADD, source->fd, &e) == 0 ? KYMO_OK
                                                                 : kymo_err_from_errno(errno);
}

void kymo_poller_remove(int poller, const struct kymo_poll_source *source)
{
    struct epoll_event none = {0};
    (void)epoll_ctl(poller, EPOLL_CTL_DEL, source->fd, &none);
}

/* A perf event is readable for one look only: a ppoll of the poller would be that. */
static int wait_for_first(int poller, struct epoll_event *e, const struct timespec *timeout,
                          const sigset_t *mask)
{
    struct pollfd p = {.fd = poller, .events = POLLIN};
    long n = syscall(SYS_epoll_pwait2, poller, e, 1, timeout, mask, (size_t)_NSIG / 8);
    /* It is not there before Linux 5.11, or a filter refuses it. */
    if (n >= 0 || errno == EINTR)
        return (int)n;
    return ppoll(&p, 1, timeout, mask) == 1 ? epoll_wait(poller, e, 1, 0) : 0;
}

kymo_err kymo_poller_wait(int poller, uint64_t until_ns, const sigset_t *mask)
{
    uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec timeout = {(time_t)(left_ns / 1000000000u), (long)(left_ns % 1000000000u)};
    struct epoll_event e;
    int n = wait_for_first(poller, &e, &timeout, mask);
    for (int i = 0; i < SERVED_MAX && n == 1; i++) {
        const struct kymo_poll_source *source = e.data.ptr;
        KYMO_TRY(source->ready(source->context));
        /* One at a time: serving one may remove another. Those served go to the end of the
         * queue. */
        n = epoll_wait(poller, &e, 1, 0);
    }
    return KYMO_OK;
}
