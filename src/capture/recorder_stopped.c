/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/connect.h"

#include <fcntl.h>
#include <string.h>

#include "sys/raw.h"

#define NAME "kymo-"

uint32_t kymo_recorder_pid(const char *attach_name)
{
    uint32_t pid = 0;
    const char *at = attach_name;
    for (const char *name = NAME; *name; name++)
        if (*at++ != *name)
            return 0;
    for (; *at >= '0' && *at <= '9' && pid < UINT32_MAX / 100; at++)
        pid = pid * 10 + (uint32_t)(*at - '0');
    return *at == '-' ? pid : 0;
}

int kymo_recorder_is_stopped(uint32_t pid)
{
    char path[32] = "/proc/";
    char stat[48]; /* a number, a name of 15 bytes in brackets, a letter */
    char digits[12];
    size_t n = 0;
    size_t to = sizeof "/proc/" - 1;
    if (pid == 0)
        return 0;
    for (; pid; pid /= 10)
        digits[n++] = (char)('0' + pid % 10);
    while (n > 0)
        path[to++] = digits[--n];
    memcpy(path + to, "/stat", sizeof "/stat");
    int file =
        (int)kymo_syscall4(SYS_openat, AT_FDCWD, (long)(intptr_t)path, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0)
        return 0;
    long len = kymo_syscall3(SYS_read, file, (long)(intptr_t)stat, sizeof stat);
    (void)kymo_syscall3(SYS_close, file, 0, 0);
    for (long i = len - 3; i >= 0; i--)
        if (stat[i] == ')' && stat[i + 1] == ' ')
            return stat[i + 2] == 'T' || stat[i + 2] == 't';
    return 0;
}
