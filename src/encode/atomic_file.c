/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static kymo_err file_write(kymo_sink *sink, const void *data, size_t len)
{
    kymo_atomic_file *file = (kymo_atomic_file *)sink;
    const char *p = data;
    while (len > 0) {
        ssize_t n = write(file->fd, p, len < SSIZE_MAX ? len : SSIZE_MAX);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            if (n == 0)
                errno = ENOSPC; /* what a write of nothing means is not said anywhere */
            return kymo_error_set_errno(file->detail, "%s: cannot write", file->path);
        }
        p += n;
        len -= (size_t)n;
        file->bytes += (size_t)n;
    }
    return KYMO_OK;
}

static void release(kymo_atomic_file *file)
{
    free(file->path);
    free(file->temporary);
    file->path = file->temporary = NULL;
    file->fd = -1;
}

/* ".NAME.PID.N.tmp" in the folder of path, with as much of NAME as the system's limit leaves. */
static char *temporary_name(const char *path, unsigned n)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    int folder_len = (int)(base - path);
    char *name = NULL;
    if (asprintf(&name, "%.*s.%.*s.%ld.%u.tmp", folder_len, path, NAME_MAX - 48, base,
                 (long)getpid(), n) < 0)
        return NULL;
    return name;
}

/* A name that nobody uses; another thread of ours may be writing to the same target. */
static kymo_err open_temporary(kymo_atomic_file *file)
{
    for (unsigned n = 0; n < 1000; n++) {
        free(file->temporary);
        file->temporary = temporary_name(file->path, n);
        if (!file->temporary)
            return kymo_error_set(file->detail, KYMO_E_NOMEM, 0, "%s: out of memory", file->path);
        file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
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

static kymo_err open_target(kymo_atomic_file *file)
{
    struct stat st;
    if (stat(file->path, &st) != 0)
        return open_temporary(file);
    if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return kymo_error_set_errno(file->detail, "%s: cannot create", file->path);
    }
    if (!S_ISREG(st.st_mode)) {
        file->fd = open(file->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return file->fd >= 0 ? KYMO_OK
                             : kymo_error_set_errno(file->detail, "%s: cannot open", file->path);
    }
    return file->replace ? open_temporary(file) : exists_error(file);
}

kymo_err kymo_atomic_file_open(kymo_atomic_file *file, const char *path, int replace,
                               kymo_error *detail)
{
    struct stat st;
    *file = (kymo_atomic_file){
        .sink.write = file_write, .detail = detail, .fd = -1, .replace = replace};
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
        file->path =
            realpath(path, NULL); /* NULL: it points to nothing; then it is what is replaced */
    if (!file->path)
        file->path = strdup(path);
    if (!file->path)
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "%s: out of memory", path);
    kymo_err err = open_target(file);
    if (err != KYMO_OK)
        release(file);
    return err;
}

/* RENAME_NOREPLACE leaves no moment between looking and renaming; file systems without it have
 * link(). */
static int rename_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (link(from, to) != 0)
        return -1;
    return unlink(from);
}

kymo_err kymo_atomic_file_commit(kymo_atomic_file *file)
{
    kymo_err err = KYMO_OK;
    int fd = file->fd;
    file->fd = -1;
    if (close(fd) != 0 && errno != EINTR)
        err = kymo_error_set_errno(file->detail, "%s: cannot write", file->path);
    else if (file->temporary && (file->replace ? rename(file->temporary, file->path)
                                               : rename_new(file->temporary, file->path)) != 0)
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
        unlink(file->temporary);
    release(file);
}
