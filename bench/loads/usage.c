/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.c - preloaded into every load, with a profiler and without: says at its end what the
 * program has used, by the kernel's account of it, as one line of JSON appended to the file that
 * BENCH_USAGE names. So the program's own part is known in the same way under any tool, and the
 * tool's is not in it. What comes after the destructors (exit_mmap and such) is measured by
 * start_bench.c.
 *
 * The destructor of the library that is named last runs last: the harness names this one last.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* One figure of /proc/self/status, in KiB. */
static long status_kib(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? strtol(at + strlen(key), NULL, 10) : 0;
}

/* KiB in memory of what is shared with another process and only read here: Kymo's row tables. Other
 * such mappings have a file's name and belong to the program. */
static long read_only_shared_kib(void)
{
    char line[4096 + 128];
    long sum = 0;
    int inside = 0;
    FILE *f = fopen("/proc/self/smaps", "re");
    while (f && fgets(line, sizeof line, f)) {
        char permissions[5];
        if (sscanf(line, "%*x-%*x %4s", permissions) == 1)
            inside = strcmp(permissions, "r--s") == 0 && strstr(line, "/memfd:") != NULL;
        else if (inside && strncmp(line, "Rss:", 4) == 0)
            sum += strtol(line + 4, NULL, 10);
    }
    if (f)
        fclose(f);
    return sum;
}

__attribute__((destructor)) static void say(void)
{
    const char *path = getenv("BENCH_USAGE");
    char text[4096];
    struct timespec cpu;
    if (!path || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) != 0)
        return;
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    char line[512];
    int len = snprintf(line, sizeof line,
                       "{\"name\":\"%s\",\"cpu_ns\":%lld,\"peak_kib\":%ld,\"anon_kib\":%ld,"
                       "\"file_kib\":%ld,\"shmem_kib\":%ld,\"tables_kib\":%ld}\n",
                       program_invocation_short_name,
                       (long long)cpu.tv_sec * 1000000000 + cpu.tv_nsec, status_kib(text, "VmHWM:"),
                       status_kib(text, "RssAnon:"), status_kib(text, "RssFile:"),
                       status_kib(text, "RssShmem:"), read_only_shared_kib());
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    ssize_t ignored = len > 0 && (size_t)len < sizeof line ? write(fd, line, (size_t)len) : 0;
    (void)ignored;
    close(fd);
}
