/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/write_all.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

size_t kymo_write_all(int fd, const void *data, size_t len)
{
    size_t done = 0;
    while (done < len) {
        size_t left = len - done;
        ssize_t n = write(fd, (const char *)data + done, left < SSIZE_MAX ? left : SSIZE_MAX);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC; /* a device that takes nothing and says nothing */
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return done;
}

size_t kymo_read_all(int fd, void *data, size_t len, uint64_t at)
{
    size_t done = 0;
    while (done < len) {
        errno = 0;
        ssize_t n = pread(fd, (char *)data + done, len - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return done;
}
