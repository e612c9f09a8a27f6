/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_in_stat.c - preloaded into kymo, which reads what a process runs: at that moment the
 * process is told, by the file $EXEC_NOW, to run another program, and has done so before the
 * answer.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 };

static long read_link(const char *path, char *out, size_t size)
{
    return syscall(SYS_readlinkat, AT_FDCWD, path, out, size);
}

/* Once; and not of a process that runs something else. */
static void let_it_go_on(const char *path)
{
    char before[4096];
    char after[4096];
    const char *now = getenv("EXEC_NOW");
    const char *from = getenv("EXEC_FROM");
    long n = read_link(path, before, sizeof before);
    if (!now || !from || n != (long)strlen(from) || memcmp(before, from, (size_t)n) != 0 ||
        access(now, F_OK) == 0)
        return;
    close(open(now, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    for (int ms = 0; ms < PATIENCE_MS; ms++) {
        if (read_link(path, after, sizeof after) != n || memcmp(before, after, (size_t)n) != 0)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    abort(); /* the test would have checked nothing */
}

__attribute__((visibility("default"))) int stat(const char *path, struct stat *st)
{
    const char *name = strrchr(path, '/');
    if (strncmp(path, "/proc/", 6) == 0 && strcmp(name, "/exe") == 0)
        let_it_go_on(path);
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, st, 0);
}
