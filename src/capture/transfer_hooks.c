/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_hooks.c - calls that a sample has cut short go on.
 *
 * A write to a pipe, a socket or a terminal that has to wait for its reader, and finds a signal
 * then, returns what it has written so far. SA_RESTART does not help: some of it is done. Without
 * us there would be no signal, and programs that do not ask how much was written lose the rest
 * (Python's unbuffered streams are such: 3 of 4 MiB were missing). So where the handler found that
 * its signal ended the call, the call is made again for the rest. The same holds for what is
 * received with MSG_WAITALL.
 *
 * A later signal of the program's own is to end the call, as it would have without us. A call that
 * has done nothing of the rest does not end then, it is restarted (SA_RESTART). So it is made only
 * when it can do some, and poll, which is never restarted, waits for that. If such a signal comes
 * in the same moment as ours, its handler runs, and the call goes on all the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "capture/hooks.h"
#include "sys/raw.h"

/* Before a call: what ended earlier ones does not count. A thread with storage of another runtime's
 * has no such word, and no handler that would set it. */
static void begin(void)
{
    if (kymo_likely(kymo_thread_pointer_is_libc(0)))
        kymo_store_relaxed(&kymo_cut_call, 0);
    kymo_signal_fence();
}

/* Whether a sample has ended the call that returned so many bytes. */
static int was_cut(ssize_t bytes)
{
    kymo_signal_fence();
    return kymo_thread_pointer_is_libc(0) && kymo_load_relaxed(&kymo_cut_call) == bytes;
}

static int waits(int fd)
{
    long flags = kymo_syscall3(SYS_fcntl, fd, F_GETFL, 0);
    return flags >= 0 && !(flags & O_NONBLOCK);
}

/* In ms; -1: for ever. */
static int patience(int fd, int option)
{
    struct timeval limit = {0, 0};
    socklen_t len = sizeof limit;
    long result = kymo_syscall6(SYS_getsockopt, fd, SOL_SOCKET, option, (long)(intptr_t)&limit,
                                (long)(intptr_t)&len, 0);
    if (result != 0 || (limit.tv_sec == 0 && limit.tv_usec == 0) || limit.tv_sec > INT_MAX / 2000)
        return -1;
    return (int)(limit.tv_sec * 1000 + (limit.tv_usec + 999) / 1000);
}

/* After a call that a sample has cut: whether it may be made again. 0: something else has ended it.
 * Where a filter may forbid the calls, no thread waits. */
static int may_go_on(int fd, short event, int call_flags)
{
    struct kymo_capture_process *p = kymo_process_here();
    if ((p ? kymo_is_quiet(p) : kymo_is_quiet_here()) || call_flags & MSG_DONTWAIT || !waits(fd))
        return 1;
    struct pollfd wanted = {.fd = fd, .events = event};
    int limit = patience(fd, event == POLLOUT ? SO_SNDTIMEO : SO_RCVTIMEO);
    int result;
    do {
        begin();
        /* As the call that it stands for, it ends with the thread if that is cancelled. */
        result = KYMO_REAL(poll)(&wanted, 1, limit);
    } while (result < 0 && was_cut(-EINTR));
    return result > 0 || (result < 0 && errno != EINTR);
}

KYMO_HOOK ssize_t write(int fd, const void *data, size_t len)
{
    size_t done = 0;
    for (;;) {
        begin();
        ssize_t n = KYMO_REAL(write)(fd, (const char *)data + done, len - done);
        if (kymo_unlikely(n <= 0))
            return done ? (ssize_t)done : n;
        done += (size_t)n;
        if (kymo_likely(done == len) || !was_cut(n) || !may_go_on(fd, POLLOUT, 0))
            return (ssize_t)done;
    }
}

KYMO_HOOK ssize_t send(int fd, const void *data, size_t len, int flags)
{
    size_t done = 0;
    for (;;) {
        begin();
        ssize_t n = KYMO_REAL(send)(fd, (const char *)data + done, len - done, flags);
        if (kymo_unlikely(n <= 0))
            return done ? (ssize_t)done : n;
        done += (size_t)n;
        if (kymo_likely(done == len) || !was_cut(n) || !may_go_on(fd, POLLOUT, flags))
            return (ssize_t)done;
    }
}

KYMO_HOOK ssize_t recv(int fd, void *data, size_t len, int flags)
{
    size_t done = 0;
    for (;;) {
        begin();
        ssize_t n = KYMO_REAL(recv)(fd, (char *)data + done, len - done, flags);
        if (kymo_unlikely(n <= 0))
            return done ? (ssize_t)done : n;
        done += (size_t)n;
        if (kymo_likely(!(flags & MSG_WAITALL)) || done == len || flags & MSG_PEEK || !was_cut(n) ||
            !may_go_on(fd, POLLIN, flags))
            return (ssize_t)done;
    }
}

KYMO_HOOK ssize_t writev(int fd, const struct iovec *parts, int count)
{
    ssize_t done = 0;
    if (count <= 0)
        return KYMO_REAL(writev)(fd, parts, count);
    for (int i = 0; i < count;) {
        begin();
        ssize_t n = KYMO_REAL(writev)(fd, parts + i, count - i);
        if (kymo_unlikely(n <= 0))
            return done ? done : n;
        done += n;
        if (kymo_likely(!was_cut(n)))
            return done;
        size_t left = (size_t)n;
        while (i < count && left >= parts[i].iov_len)
            left -= parts[i++].iov_len;
        if (i == count)
            return done;
        if (!may_go_on(fd, POLLOUT, 0))
            return done;
        if (left) {
            /* A sample that cuts this short does not end the whole. */
            size_t rest = parts[i].iov_len - left;
            n = write(fd, (const char *)parts[i++].iov_base + left, rest);
            done += n > 0 ? n : 0;
            if (n < 0 || (size_t)n < rest)
                return done;
        }
    }
    return done;
}
