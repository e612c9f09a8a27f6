/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/proc_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int kymo_proc_stat_field(const char *text, unsigned number, uint64_t *value)
{
    /* The name, which may hold anything, ends at the last parenthesis; state is the third field. */
    const char *at = strrchr(text, ')');
    for (unsigned field = 2; at && field < number; field++)
        at = strchr(at + 1, ' ');
    if (!at || at[1] < '0' || at[1] > '9')
        return 0;
    *value = strtoull(at + 1, NULL, 10);
    return 1;
}

uint64_t kymo_proc_stat(pid_t pid, unsigned number)
{
    char text[1024];
    uint64_t value = 0;
    if (kymo_proc_file_read(text, sizeof text, "/proc/%d/stat", (int)pid))
        (void)kymo_proc_stat_field(text, number, &value);
    return value;
}
