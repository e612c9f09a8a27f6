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
 * If a signal of the program's own comes in the same moment as ours, its handler runs, and the call
 * goes on all the same.
 */
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "capture/hooks.h"

/* Before a call: what ended earlier ones does not count. */
static void begin(void)
{
    kymo_store_relaxed(&kymo_cut_call, 0);
    kymo_signal_fence();
}

/* Whether a sample has ended the call that returned so many bytes. */
static int was_cut(ssize_t bytes)
{
    kymo_signal_fence();
    return kymo_load_relaxed(&kymo_cut_call) == bytes;
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
        if (kymo_likely(done == len) || !was_cut(n))
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
        if (kymo_likely(done == len) || !was_cut(n))
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
        if (kymo_likely(!(flags & MSG_WAITALL)) || done == len || flags & MSG_PEEK || !was_cut(n))
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
