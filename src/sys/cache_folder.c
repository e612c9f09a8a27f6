/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/cache_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "sys/write_all.h"

#define SWITCH "KYMO_CACHE"
#define NAME_CAP 64u /* bytes of a name in the folder */
#define DAY_S 86400
/* A file under a temporary name is not being written any more after this time. */
#define WRITING_S 3600

static int is_ours(const struct stat *st)
{
    return st->st_uid == geteuid() && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Opens path/name, which is made if path exists; -1 if it is not ours alone. */
static int open_in(const char *path, const char *name)
{
    struct stat st;
    int parent = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return -1;
    int made = mkdirat(parent, name, 0700) == 0 || errno == EEXIST;
    int fd = made ? openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    close(parent);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !is_ours(&st))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* A folder of another user is left alone, also where we might write to it. */
static int is_our_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

int kymo_cache_open(void)
{
    char path[PATH_MAX];
    char name[32];
    const char *wanted = getenv(SWITCH);
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    const char *tmp = getenv("TMPDIR");
    if (wanted && *wanted && strcmp(wanted, "on") != 0)
        return -1;
    path[0] = '\0';
    if (cache && cache[0] == '/')
        snprintf(path, sizeof path, "%s", cache);
    else if (home && home[0] == '/' && home[1] && is_our_folder(home) &&
             snprintf(path, sizeof path, "%s/.cache", home) < (int)sizeof path)
        (void)mkdir(path, 0700); /* as XDG's specification asks for */
    int fd = path[0] && is_our_folder(path) ? open_in(path, "kymo") : -1;
    if (fd >= 0)
        return fd;
    snprintf(name, sizeof name, "kymo-%u", (unsigned)geteuid());
    return open_in(tmp && tmp[0] == '/' ? tmp : "/tmp", name);
}

int kymo_cache_open_file(int folder, const char *name, uint64_t most, uint64_t *size)
{
    struct stat st;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !is_ours(&st) || st.st_size < 0 ||
        (uint64_t)st.st_size > most) {
        close(fd);
        return -1;
    }
    if (time(NULL) - st.st_mtime > DAY_S)
        (void)futimens(fd, NULL);
    *size = (uint64_t)st.st_size;
    return fd;
}

static kymo_err write_parts(int fd, const struct iovec *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (kymo_write_all(fd, parts[i].iov_base, parts[i].iov_len) < parts[i].iov_len)
            return KYMO_E_IO;
    return KYMO_OK;
}

kymo_err kymo_cache_write(int folder, const char *name, const struct iovec *parts, size_t n)
{
    char temporary[NAME_CAP + 32];
    snprintf(temporary, sizeof temporary, ".%.*s.%d", (int)NAME_CAP, name, (int)getpid());
    (void)unlinkat(folder, temporary, 0);
    int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return KYMO_E_PERMISSION;
    kymo_err err = write_parts(fd, parts, n);
    if (close(fd) != 0)
        err = KYMO_E_IO;
    if (err == KYMO_OK && renameat(folder, temporary, folder, name) != 0)
        err = KYMO_E_IO;
    if (err != KYMO_OK)
        (void)unlinkat(folder, temporary, 0);
    return err;
}

typedef struct cached_file {
    char name[NAME_CAP];
    time_t used;
    uint64_t bytes;
} cached_file;

typedef KYMO_VEC(cached_file) cached_files;

static int by_use(const void *a, const void *b)
{
    const cached_file *x = a, *y = b;
    return x->used < y->used ? -1 : x->used > y->used;
}

static kymo_err add_file(int folder, const char *name, const char *prefix, cached_files *files)
{
    struct stat st;
    int is_temporary = name[0] == '.';
    if (strncmp(name + is_temporary, prefix, strlen(prefix)) != 0 || strlen(name) >= NAME_CAP ||
        fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
        return KYMO_OK;
    if (is_temporary) {
        if (time(NULL) - st.st_mtime > WRITING_S)
            (void)unlinkat(folder, name, 0);
        return KYMO_OK;
    }
    cached_file file = {.used = st.st_mtime, .bytes = (uint64_t)st.st_size};
    snprintf(file.name, sizeof file.name, "%s", name);
    return kymo_vec_push(files, file);
}

void kymo_cache_trim(int folder, const char *prefix, uint64_t most)
{
    cached_files files = {0};
    uint64_t bytes = 0;
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    if (!list) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(list));)
        if (add_file(folder, e->d_name, prefix, &files) != KYMO_OK)
            break;
    closedir(list);
    for (size_t i = 0; i < files.len; i++)
        bytes += files.data[i].bytes;
    if (bytes > most)
        qsort(files.data, files.len, sizeof *files.data, by_use);
    for (size_t i = 0; i < files.len && bytes > most; i++) {
        (void)unlinkat(folder, files.data[i].name, 0);
        bytes -= files.data[i].bytes;
    }
    kymo_vec_deinit(&files);
}
