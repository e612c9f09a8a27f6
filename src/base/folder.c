/* SPDX-License-Identifier: Apache-2.0 */
#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { LINKS_MAX = 40, FLAGS = O_PATH | O_CLOEXEC }; /* as the kernel */

/* In a sticky folder a link that is root's cannot be moved or made by another user. */
static int may_follow(int folder, const struct stat *link)
{
    struct stat st;
    return link->st_uid == 0 && fstat(folder, &st) == 0 && st.st_uid == 0 &&
           (!(st.st_mode & (S_IWGRP | S_IWOTH)) || st.st_mode & S_ISVTX);
}

/* What a link in /proc says need not be a path. */
static int is_in_proc(int folder)
{
    struct statfs fs;
    return fstatfs(folder, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

static int replace(int *folder, int next)
{
    int saved = errno;
    if (next >= 0) {
        close(*folder);
        *folder = next;
    }
    errno = saved;
    return next >= 0;
}

/* Puts what the link says in front of the rest of the path. */
static int put_target(char path[PATH_MAX], const char *rest, int link)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(link, "", target, sizeof target);
    size_t len = strlen(rest);
    if (n > 0 && (size_t)n + 1 + len < sizeof target) {
        memmove(path + n + 1, rest, len + 1);
        memcpy(path, target, (size_t)n);
        path[n] = '/';
        return 1;
    }
    if (n >= 0)
        errno = n == 0 ? ENOENT : ENAMETOOLONG;
    return 0;
}

/* One step along the path, whose rest takes its place; 0 with errno: there is no way. */
static int step(int *folder, char path[PATH_MAX], int *links)
{
    struct stat st;
    size_t len = strcspn(path, "/");
    const char *rest = path + len + (path[len] == '/');
    char name[NAME_MAX + 1];
    if (len > NAME_MAX) {
        errno = ENAMETOOLONG;
        return 0;
    }
    memcpy(name, path, len);
    name[len] = '\0';
    if (len == 0 || strcmp(name, ".") == 0) {
        memmove(path, rest, strlen(rest) + 1);
        return 1;
    }
    int next = openat(*folder, name, FLAGS | O_NOFOLLOW);
    if (next < 0)
        return 0;
    int ok = fstat(next, &st) == 0;
    if (ok && S_ISDIR(st.st_mode)) {
        memmove(path, rest, strlen(rest) + 1);
        return replace(folder, next);
    }
    if (ok && !S_ISLNK(st.st_mode)) {
        errno = ENOTDIR;
        ok = 0;
    } else if (ok && (++*links > LINKS_MAX || !may_follow(*folder, &st))) {
        errno = ELOOP;
        ok = 0;
    } else if (ok && is_in_proc(*folder)) {
        memmove(path, rest, strlen(rest) + 1);
        ok = replace(folder, openat(*folder, name, FLAGS | O_DIRECTORY));
    } else if (ok) {
        ok = put_target(path, rest, next) &&
             (path[0] != '/' || replace(folder, open("/", FLAGS | O_DIRECTORY)));
    }
    int saved = errno;
    close(next);
    errno = saved;
    return ok;
}

int kymo_folder_open(const char *path)
{
    char rest[PATH_MAX];
    int links = 0;
    if (geteuid() != 0)
        return open(path, FLAGS | O_DIRECTORY);
    if (path[0] == '\0' || strlen(path) >= sizeof rest) {
        errno = path[0] ? ENAMETOOLONG : ENOENT;
        return -1;
    }
    strcpy(rest, path);
    int folder = open(path[0] == '/' ? "/" : ".", FLAGS | O_DIRECTORY);
    while (folder >= 0 && rest[0])
        if (!step(&folder, rest, &links)) {
            int saved = errno;
            close(folder);
            errno = saved;
            return -1;
        }
    return folder;
}
