/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/folder.h"
#include "sys/write_all.h"

#define LINKS_MAX 40u /* as in the kernel */

static kymo_err file_write(kymo_sink *sink, const void *data, size_t len)
{
    kymo_atomic_file *file = (kymo_atomic_file *)sink;
    size_t done = kymo_write_all(file->fd, data, len);
    file->bytes += done;
    return done == len ? KYMO_OK
                       : kymo_error_set_errno(file->detail, "%s: cannot write", file->path);
}

static void release(kymo_atomic_file *file)
{
    free(file->path);
    free(file->temporary);
    if (file->folder >= 0)
        close(file->folder);
    file->path = file->temporary = NULL;
    file->fd = file->folder = -1;
}

/* ".NAME.PID.N.tmp" with as much of NAME as the system's limit leaves. */
static char *temporary_name(const char *base, pid_t pid, unsigned n)
{
    char *name = NULL;
    if (asprintf(&name, ".%.*s.%ld.%u.tmp", NAME_MAX - 48, base, (long)pid, n) < 0)
        return NULL;
    return name;
}

/* An unused name; another thread of this process may be writing to the same target. */
static kymo_err open_temporary(kymo_atomic_file *file)
{
    for (unsigned n = 0; n < 1000; n++) {
        free(file->temporary);
        file->temporary = temporary_name(file->name, getpid(), n);
        if (!file->temporary)
            return kymo_error_set(file->detail, KYMO_E_NOMEM, 0, "%s: out of memory", file->path);
        file->fd = openat(file->folder, file->temporary,
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file->fd >= 0)
            return KYMO_OK;
        if (errno != EEXIST)
            break;
    }
    return kymo_error_set_errno(file->detail, "%s: cannot create", file->path);
}

static kymo_err exists_error(kymo_atomic_file *file)
{
    return kymo_error_set(file->detail, KYMO_E_EXISTS, 0, "%s: already exists", file->path);
}

/* Opens a pipe or device; fails if a file has taken its place meanwhile. */
static kymo_err open_special(kymo_atomic_file *file, int follow)
{
    struct stat st;
    file->fd = openat(file->folder, file->name, O_WRONLY | O_CLOEXEC | O_NOCTTY | follow);
    if (file->fd < 0)
        return kymo_error_set_errno(file->detail, "%s: cannot open", file->path);
    if (fstat(file->fd, &st) == 0 && !S_ISREG(st.st_mode))
        return KYMO_OK;
    close(file->fd);
    return exists_error(file);
}

static kymo_err open_folder(kymo_atomic_file *file)
{
    char *slash = strrchr(file->path, '/');
    const char *folder = !slash ? "." : slash == file->path ? "/" : file->path;
    file->name = slash ? slash + 1 : file->path;
    if (slash && slash != file->path)
        *slash = '\0';
    file->folder = kymo_folder_open(folder);
    if (slash)
        *slash = '/';
    return file->folder >= 0 ? KYMO_OK
                             : kymo_error_set_errno(file->detail, "%s: cannot create", file->path);
}

/* Whether only the user, the user's own group and root can create a link in a folder, or move
 * one into it. False for /tmp: links there have owners, but can be moved there. */
static int is_safe_folder(int folder)
{
    struct stat st;
    return fstat(folder, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == 0) &&
           !(st.st_mode & S_IWOTH) && (!(st.st_mode & S_IWGRP) || st.st_gid == getegid());
}

static char *read_link(int folder, const char *name)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(folder, name, target, sizeof target);
    return n > 0 && n < (ssize_t)sizeof target ? strndup(target, (size_t)n) : NULL;
}

/* The target of the link file->name, one step; NULL: not a link, or not to be followed. */
static char *next_path(const kymo_atomic_file *file)
{
    struct stat st;
    if (fstatat(file->folder, file->name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISLNK(st.st_mode) ||
        (st.st_uid != geteuid() && st.st_uid != 0) || !is_safe_folder(file->folder) ||
        fstatat(file->folder, file->name, &st, 0) != 0)
        return NULL;
    char *target = read_link(file->folder, file->name);
    char *path = NULL;
    if (!target || target[0] == '/')
        return target;
    if (asprintf(&path, "%.*s%s", (int)(file->name - file->path), file->path, target) < 0)
        path = NULL;
    free(target);
    return path;
}

/* Whether the link file->name leads to something without a path, as /proc/self/fd/1 to a pipe. */
static int has_no_path(const kymo_atomic_file *file, const char *path)
{
    struct statfs fs;
    struct stat at;
    struct stat there;
    if (fstatfs(file->folder, &fs) != 0 || fs.f_type != PROC_SUPER_MAGIC ||
        fstatat(file->folder, file->name, &at, 0) != 0)
        return 0;
    return lstat(path, &there) != 0 || there.st_dev != at.st_dev || there.st_ino != at.st_ino;
}

/* realpath() would follow all links of a chain, including those of other users. */
static kymo_err open_end_of_links(kymo_atomic_file *file, int *is_special)
{
    KYMO_TRY(open_folder(file));
    for (unsigned n = 0; n < LINKS_MAX; n++) {
        char *path = next_path(file);
        if (!path)
            return KYMO_OK;
        *is_special = has_no_path(file, path);
        if (*is_special) {
            free(path);
            return KYMO_OK;
        }
        release(file);
        file->path = path;
        KYMO_TRY(open_folder(file));
    }
    errno = ELOOP;
    return kymo_error_set_errno(file->detail, "%s: cannot create", file->path);
}

static kymo_err open_target(kymo_atomic_file *file)
{
    struct stat st;
    int is_special = 0;
    KYMO_TRY(open_end_of_links(file, &is_special));
    if (is_special)
        return open_special(file, 0);
    if (fstatat(file->folder, file->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return open_temporary(file);
    if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return kymo_error_set_errno(file->detail, "%s: cannot create", file->path);
    }
    /* A remaining link has no target, or may be another user's. */
    if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return open_special(file, O_NOFOLLOW);
    return file->replace ? open_temporary(file) : exists_error(file);
}

static kymo_err begin(kymo_atomic_file *file, const char *path, int replace, kymo_error *detail)
{
    *file = (kymo_atomic_file){
        .sink.write = file_write, .detail = detail, .fd = -1, .folder = -1, .replace = replace};
    file->path = strdup(path);
    if (!file->path)
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "%s: out of memory", path);
    return KYMO_OK;
}

kymo_err kymo_atomic_file_open(kymo_atomic_file *file, const char *path, int replace,
                               kymo_error *detail)
{
    KYMO_TRY(begin(file, path, replace, detail));
    kymo_err err = open_target(file);
    if (err != KYMO_OK)
        release(file);
    return err;
}

kymo_err kymo_atomic_file_open_in(kymo_atomic_file *file, int folder, const char *path, int replace,
                                  kymo_error *detail)
{
    struct stat st;
    KYMO_TRY(begin(file, path, replace, detail));
    const char *slash = strrchr(file->path, '/');
    file->name = slash ? slash + 1 : file->path;
    file->folder = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    kymo_err err;
    if (file->folder < 0)
        err = kymo_error_set_errno(detail, "%s: cannot create", path);
    else if (!replace && fstatat(folder, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        err = exists_error(file);
    else
        err = open_temporary(file);
    if (err != KYMO_OK)
        release(file);
    return err;
}

/* RENAME_NOREPLACE checks and renames in one step; on file systems without it link() does. */
static int rename_new(int folder, const char *from, const char *to)
{
    if (renameat2(folder, from, folder, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (linkat(folder, from, folder, to, 0) != 0)
        return -1;
    return unlinkat(folder, from, 0);
}

static int rename_temporary(const kymo_atomic_file *file)
{
    return file->replace ? renameat(file->folder, file->temporary, file->folder, file->name)
                         : rename_new(file->folder, file->temporary, file->name);
}

kymo_err kymo_atomic_file_commit(kymo_atomic_file *file)
{
    kymo_err err = KYMO_OK;
    int fd = file->fd;
    file->fd = -1;
    if (close(fd) != 0 && errno != EINTR)
        err = kymo_error_set_errno(file->detail, "%s: cannot write", file->path);
    else if (file->temporary && rename_temporary(file) != 0)
        err = errno == EEXIST ? exists_error(file)
                              : kymo_error_set_errno(file->detail, "%s: cannot rename", file->path);
    if (err != KYMO_OK)
        kymo_atomic_file_abandon(file);
    else
        release(file);
    return err;
}

void kymo_atomic_file_abandon(kymo_atomic_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->temporary)
        (void)unlinkat(file->folder, file->temporary, 0);
    release(file);
}

void kymo_atomic_file_remove_left(const char *path, pid_t pid)
{
    kymo_atomic_file file;
    int is_special = 0;
    if (begin(&file, path, 0, NULL) != KYMO_OK)
        return;
    if (open_end_of_links(&file, &is_special) == KYMO_OK) {
        file.temporary = temporary_name(file.name, pid, 0);
        kymo_atomic_file_abandon(&file);
    } else {
        release(&file);
    }
}
