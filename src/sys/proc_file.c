/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/proc_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

size_t kymo_proc_file_read(char *out, size_t cap, const char *format, ...)
{
    char path[PATH_MAX];
    size_t len = 0;
    va_list args;
    va_start(args, format);
    int needed = vsnprintf(path, sizeof path, format, args);
    va_end(args);
    int fd = needed < (int)sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    while (fd >= 0 && len < cap - 1) {
        ssize_t n = read(fd, out + len, cap - 1 - len);
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    out[len] = '\0';
    return len;
}
