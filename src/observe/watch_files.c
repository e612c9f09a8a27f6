/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_files.c - see watch_look.h.
 */
#include "observe/watch_look.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/proc_file.h"

#define STATUS_MAX 8192u
#define STAT_MAX 1024u
#define STAT_CPU 39 /* the field */

static const char *parse_number(const char *at, uint64_t *out)
{
    uint64_t value = 0;
    if (*at < '0' || *at > '9')
        return NULL;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return NULL;
    *out = value;
    return at;
}

int kymo_watch_parse_schedstat(const char *text, uint64_t *run_ns, uint64_t *arrivals)
{
    uint64_t run, wait, count;
    const char *at = parse_number(text, &run);
    if (!at || *at != ' ' || !(at = parse_number(at + 1, &wait)) || *at != ' ' ||
        !(at = parse_number(at + 1, &count)) || *at != '\n')
        return 0;
    *run_ns = run;
    *arrivals = count;
    return 1;
}

/* The value of a line; key begins with the end of the line before. The kernel escapes what a thread
 * calls itself, so a name holds no such line. */
static const char *status_value(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? at + strlen(key) : NULL;
}

int kymo_watch_parse_status(const char *text, struct kymo_watch_look *look)
{
    const char *state = status_value(text, "\nState:\t");
    const char *voluntary = status_value(text, "\nvoluntary_ctxt_switches:\t");
    const char *nonvoluntary = status_value(text, "\nnonvoluntary_ctxt_switches:\t");
    uint64_t v, n;
    const char *end;
    if (!state || !voluntary || !nonvoluntary || *state == '\0' ||
        !(end = parse_number(voluntary, &v)) || *end != '\n' ||
        !(end = parse_number(nonvoluntary, &n)) || *end != '\n')
        return 0;
    look->state = *state;
    look->voluntary = v;
    look->nonvoluntary = n;
    return 1;
}

int kymo_watch_parse_cpu(const char *text)
{
    uint64_t cpu;
    return kymo_proc_stat_field(text, STAT_CPU, &cpu) && cpu < INT_MAX ? (int)cpu : -1;
}

static int open_file(const struct kymo_watch_folder *folder, pid_t tid, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/task/%d/%s", folder->path, (int)tid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Reads a whole file; its descriptor is kept in *kept if there are enough of them. The length, 0 if
 * there is nothing or more than fits. */
static size_t read_file(struct kymo_watch_folder *folder, pid_t tid, const char *name, int *kept,
                        char *out, size_t cap)
{
    int fd = *kept;
    if (fd < 0)
        fd = open_file(folder, tid, name);
    if (fd < 0)
        return 0;
    ssize_t n = pread(fd, out, cap - 1, 0);
    folder->reads++;
    if (*kept < 0) {
        if (fd < folder->descriptor_limit)
            *kept = fd;
        else
            close(fd);
    }
    if (n <= 0 || (size_t)n == cap - 1)
        return 0;
    out[n] = '\0';
    return (size_t)n;
}

int kymo_watch_read_schedstat(struct kymo_watch_folder *folder, struct kymo_watch_files *files,
                              uint64_t *run_ns, uint64_t *arrivals)
{
    char text[96];
    return read_file(folder, files->tid, "schedstat", &files->schedstat, text, sizeof text) &&
           kymo_watch_parse_schedstat(text, run_ns, arrivals);
}

int kymo_watch_read_status(struct kymo_watch_folder *folder, struct kymo_watch_files *files,
                           struct kymo_watch_look *look)
{
    char text[STATUS_MAX];
    return read_file(folder, files->tid, "status", &files->status, text, sizeof text) &&
           kymo_watch_parse_status(text, look);
}

int kymo_watch_read_state(struct kymo_watch_folder *folder, struct kymo_watch_files *files,
                          char *state)
{
    char text[STAT_MAX];
    const char *name_end;
    if (!read_file(folder, files->tid, "stat", &files->stat, text, sizeof text) ||
        !(name_end = strrchr(text, ')')) || name_end[1] != ' ' || name_end[2] == '\0')
        return 0;
    *state = name_end[2];
    return 1;
}

int kymo_watch_read_cpu(const struct kymo_watch_folder *folder, pid_t tid)
{
    char text[STAT_MAX];
    int fd = open_file(folder, tid, "stat");
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return kymo_watch_parse_cpu(text);
}

int kymo_watch_is_gone(struct kymo_watch_folder *folder, struct kymo_watch_files *files)
{
    uint64_t run_ns, arrivals;
    errno = 0;
    return !kymo_watch_read_schedstat(folder, files, &run_ns, &arrivals) &&
           (errno == ENOENT || errno == ESRCH);
}

void kymo_watch_close(struct kymo_watch_files *files)
{
    if (files->schedstat >= 0)
        close(files->schedstat);
    if (files->status >= 0)
        close(files->status);
    if (files->stat >= 0)
        close(files->stat);
    files->schedstat = files->status = files->stat = -1;
}
