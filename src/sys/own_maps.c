/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/own_maps.h"

#include <errno.h>
#include <fcntl.h>

#include "sys/raw.h"

int kymo_own_maps_open(struct kymo_own_maps *maps)
{
    static const char path[] = "/proc/self/maps";
    maps->at = maps->len = 0;
    maps->fd =
        (int)kymo_syscall4(SYS_openat, AT_FDCWD, (long)(intptr_t)path, O_RDONLY | O_CLOEXEC, 0);
    return maps->fd >= 0;
}

void kymo_own_maps_close(struct kymo_own_maps *maps)
{
    (void)kymo_syscall3(SYS_close, maps->fd, 0, 0);
}

/* The next byte; -1: there are no more. */
static int next_byte(struct kymo_own_maps *maps)
{
    if (maps->at == maps->len) {
        maps->at = 0;
        do {
            maps->len = kymo_syscall3(SYS_read, maps->fd, (long)(intptr_t)maps->buffer,
                                      sizeof maps->buffer);
        } while (maps->len == -EINTR);
        if (maps->len <= 0) {
            maps->len = 0;
            return -1;
        }
    }
    return (unsigned char)maps->buffer[maps->at++];
}

/* A number in hexadecimal digits, and the byte behind it. */
static uint64_t next_number(struct kymo_own_maps *maps, int *behind)
{
    uint64_t number = 0;
    int c;
    while (((c = next_byte(maps)) >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))
        number = number << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    *behind = c;
    return number;
}

int kymo_own_maps_next(struct kymo_own_maps *maps, uint64_t *lo, uint64_t *hi)
{
    int c;
    uint64_t first = next_number(maps, &c);
    if (c != '-')
        return 0;
    uint64_t end = next_number(maps, &c);
    while (c != '\n' && c >= 0)
        c = next_byte(maps);
    if (c < 0)
        return 0;
    *lo = first;
    *hi = end;
    return 1;
}
