/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/jit_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sys/proc_file.h"

#define DEBUG_DIRS_MAX 4096 /* entries of ~/.debug/jit that are looked at */
/* Start times of processes are in ticks, and times of files are rounded by the kernel. */
#define START_SLACK_S 2

void kymo_jit_files_init(struct kymo_jit_files *f, pid_t pid)
{
    *f = (struct kymo_jit_files){.pid = pid, .perf_map = -1, .jitdump = -1, .root = -1};
}

void kymo_jit_files_deinit(struct kymo_jit_files *f)
{
    if (f->perf_map >= 0)
        close(f->perf_map);
    if (f->jitdump >= 0)
        close(f->jitdump);
    if (f->root >= 0)
        close(f->root);
    f->perf_map = f->jitdump = f->root = -1;
}

/* ---- identity of the process ---- */

/* When the process began, in seconds since 1970. */
static int64_t start_of(pid_t pid)
{
    enum { START_TIME = 22 }; /* its number in /proc/PID/stat */
    struct timespec boot;
    struct timespec real;
    uint64_t ticks = kymo_proc_stat(pid, START_TIME);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    clock_gettime(CLOCK_REALTIME, &real);
    return ticks == 0 ? 0
                      : (int64_t)real.tv_sec - (int64_t)boot.tv_sec +
                            (int64_t)(ticks / (uint64_t)sysconf(_SC_CLK_TCK));
}

static int is_same(const char *theirs, const char *ours)
{
    struct stat a;
    struct stat b;
    return stat(theirs, &a) == 0 && stat(ours, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Its root directory, held open if it is another one than ours: after the end of the process it
 * could not be reached. */
static int open_root(pid_t pid)
{
    char path[64];
    char tmp[80];
    snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
    snprintf(tmp, sizeof tmp, "%s/tmp", path);
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && is_same(path, "/") && is_same(tmp, "/tmp")) {
        close(fd);
        return -1;
    }
    return fd;
}

static void ask(struct kymo_jit_files *f)
{
    char text[4096];
    char path[64];
    if (f->inner_pid != 0)
        return;
    f->inner_pid = f->pid;
    f->uid = geteuid();
    if (kymo_proc_file_read(text, sizeof text, "/proc/%d/status", (int)f->pid)) {
        const char *at = strstr(text, "\nNSpid:");
        /* One number for each namespace; the innermost is the last. */
        for (char *end = (char *)(uintptr_t)(at ? at + 7 : ""); *end && *end != '\n';) {
            char *from = end;
            long pid = strtol(from, &end, 10);
            if (end == from)
                break;
            f->inner_pid = (pid_t)pid;
            end += strspn(end, " \t");
        }
        unsigned uid;
        at = strstr(text, "\nUid:");
        if (at && sscanf(at + 5, "%*u %u", &uid) == 1)
            f->uid = uid;
    }
    f->start_s = start_of(f->pid);
    f->root = open_root(f->pid);
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)f->pid);
    ssize_t n = readlink(path, f->cwd, sizeof f->cwd - 1);
    f->cwd[n > 0 ? n : 0] = '\0';
}

/* ---- opening ---- */

/* A path as the process sees it. Links in it cannot lead out of the process's root. */
static int open_inside(const struct kymo_jit_files *f, const char *path)
{
    const unsigned flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY;
    if (f->root < 0)
        return open(path, (int)flags);
    struct open_how how = {.flags = flags, .resolve = RESOLVE_IN_ROOT};
    return (int)syscall(SYS_openat2, f->root, path, &how, sizeof how);
}

/* Closes a file of another user, or one older than the process; -1 then. */
static int check_own(const struct kymo_jit_files *f, int fd)
{
    struct stat st;
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        (st.st_uid == f->uid || st.st_uid == geteuid()) &&
        (f->start_s == 0 || (int64_t)st.st_mtim.tv_sec + START_SLACK_S >= f->start_s))
        return fd;
    close(fd);
    return -1;
}

static int open_perf_map(const struct kymo_jit_files *f)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)f->inner_pid);
    return check_own(f, open_inside(f, path));
}

/* "jit-DIGITS.dump", as the end of a path. */
static int is_jitdump(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    if (strncmp(name, "jit-", 4) != 0)
        return 0;
    size_t digits = strspn(name + 4, "0123456789");
    return digits > 0 && strcmp(name + 4 + digits, ".dump") == 0;
}

static int open_mapped_jitdump(const struct kymo_jit_files *f)
{
    char line[KYMO_JIT_LINE_MAX];
    char path[96];
    struct kymo_proc_mapping at;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)f->pid);
    FILE *maps = fopen(path, "re");
    int fd = -1;
    while (maps && fd < 0 && kymo_jit_mapping_next(maps, line, &at)) {
        at.path[at.path_len] = '\0';
        if (!is_jitdump(at.path))
            continue;
        if (!at.is_deleted)
            fd = check_own(f, open_inside(f, at.path));
        if (fd < 0) {
            /* A deleted file can still be opened through /proc, with permission. */
            snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)f->pid,
                     at.start, at.end);
            fd = check_own(f, open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
        }
    }
    if (maps)
        fclose(maps);
    return fd;
}

/* Directory where some compilers make a subdirectory for each run: ~/.debug/jit/SOMETHING/. */
static int open_debug_jitdump(const struct kymo_jit_files *f)
{
    const char *home = getenv("HOME");
    char path[PATH_MAX];
    int fd = -1;
    if (!home || (size_t)snprintf(path, sizeof path, "%s/.debug/jit", home) >= sizeof path)
        return -1;
    DIR *dir = opendir(path);
    struct dirent *entry;
    for (int i = 0; dir && fd < 0 && i < DEBUG_DIRS_MAX && (entry = readdir(dir)); i++) {
        if (entry->d_name[0] != '.' &&
            (size_t)snprintf(path, sizeof path, "%s/.debug/jit/%s/jit-%d.dump", home, entry->d_name,
                             (int)f->inner_pid) < sizeof path)
            fd = check_own(f, open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
    }
    if (dir)
        closedir(dir);
    return fd;
}

void kymo_jit_files_look(struct kymo_jit_files *f)
{
    ask(f);
    if (f->perf_map < 0)
        f->perf_map = open_perf_map(f);
    if (f->jitdump < 0)
        f->jitdump = open_mapped_jitdump(f);
}

void kymo_jit_files_look_last(struct kymo_jit_files *f)
{
    char path[PATH_MAX];
    ask(f);
    int newest = open_perf_map(f);
    if (newest >= 0) {
        if (f->perf_map >= 0)
            close(f->perf_map);
        f->perf_map = newest;
    }
    if (f->jitdump < 0)
        f->jitdump = open_mapped_jitdump(f);
    if (f->jitdump < 0 && f->cwd[0] &&
        (size_t)snprintf(path, sizeof path, "%s/jit-%d.dump", f->cwd, (int)f->inner_pid) <
            sizeof path)
        f->jitdump = check_own(f, open_inside(f, path));
    if (f->jitdump < 0) {
        snprintf(path, sizeof path, "/tmp/jit-%d.dump", (int)f->inner_pid);
        f->jitdump = check_own(f, open_inside(f, path));
    }
    if (f->jitdump < 0)
        f->jitdump = open_debug_jitdump(f);
}
