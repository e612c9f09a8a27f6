/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/str.h"
#include "encode/atomic_file.h"

#define TRIES 100
#define COPY_BYTES (64u << 10)

/* Six random letters; a clash with an existing name is tried again. */
static void fill_random(char letters[6], unsigned attempt)
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    unsigned char random[6];
    if (getrandom(random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
        for (size_t i = 0; i < sizeof random; i++)
            random[i] = (unsigned char)((unsigned)getpid() >> i * 4) + (unsigned char)attempt;
    for (size_t i = 0; i < sizeof random; i++)
        letters[i] = alphabet[random[i] % (sizeof alphabet - 1)];
}

static int create_file(kymo_spool *spool)
{
    char *letters = spool->path + strlen(spool->path) - strlen("XXXXXX" KYMO_SPOOL_SUFFIX);
    for (unsigned i = 0; i < TRIES; i++) {
        fill_random(letters, i);
        /* only the owner may read it: a recording holds command lines */
        spool->fd = openat(spool->folder, spool->name,
                           O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (spool->fd >= 0 || errno != EEXIST)
            break;
    }
    return spool->fd >= 0 ? 0 : -1;
}

kymo_err kymo_spool_create(kymo_spool *spool, const char *folder, const char *stem,
                           kymo_error *detail)
{
    struct stat st;
    *spool = (kymo_spool){.fd = -1, .folder = -1};
    int n = snprintf(spool->path, sizeof spool->path, "%s%skymo.%s.XXXXXX" KYMO_SPOOL_SUFFIX,
                     folder, kymo_str_ends(folder, "/") ? "" : "/", stem);
    if (n >= (int)sizeof spool->path)
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "%.100s: the name is too long", folder);
    spool->name = strrchr(spool->path, '/') + 1;
    spool->folder = kymo_folder_open(folder);
    if (spool->folder < 0)
        return kymo_error_set_errno(detail, "folder %.150s cannot be written to", folder);
    if (create_file(spool) != 0 || fstat(spool->fd, &st) != 0) {
        kymo_err err = kymo_error_set_errno(detail, "folder %.150s cannot be written to", folder);
        kymo_spool_close(spool);
        return err;
    }
    spool->device = st.st_dev;
    spool->inode = st.st_ino;
    return KYMO_OK;
}

static int is_file_of(const kymo_spool *spool, int folder, const char *name)
{
    struct stat st;
    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == spool->device &&
           st.st_ino == spool->inode;
}

const char *kymo_spool_place(const kymo_spool *spool)
{
    return spool->fd >= 0 && is_file_of(spool, spool->folder, spool->name) ? spool->path : NULL;
}

static int rename_to(const kymo_spool *spool, int folder, const char *name, int replace)
{
    if (replace)
        return renameat(spool->folder, spool->name, folder, name);
    if (renameat2(spool->folder, spool->name, folder, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    /* The file system has no hard links. */
    if (linkat(spool->folder, spool->name, folder, name, 0) != 0)
        return -1;
    return unlinkat(spool->folder, spool->name, 0);
}

static kymo_err copy_into(const kymo_spool *spool, kymo_sink *sink, kymo_error *detail)
{
    static char bytes[COPY_BYTES];
    for (off_t at = 0;;) {
        ssize_t n = pread(spool->fd, bytes, sizeof bytes, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return kymo_error_set_errno(detail, "reading the recording");
        if (n == 0)
            return KYMO_OK;
        KYMO_TRY(kymo_sink_write(sink, bytes, (size_t)n));
        at += n;
    }
}

/* Does not follow a link: in the meantime another user may have put one in the spool's place. */
static kymo_err copy_to(kymo_spool *spool, int folder, const char *path, int replace,
                        kymo_error *detail)
{
    kymo_atomic_file file;
    KYMO_TRY(kymo_atomic_file_open_in(&file, folder, path, replace, detail));
    kymo_err err = copy_into(spool, &file.sink, detail);
    if (err != KYMO_OK) {
        kymo_atomic_file_abandon(&file);
        return err;
    }
    KYMO_TRY(kymo_atomic_file_commit(&file));
    kymo_spool_unlink(spool);
    return KYMO_OK;
}

static kymo_err move_into(kymo_spool *spool, int folder, const char *path, int replace,
                          kymo_error *detail)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    if (!kymo_spool_place(spool))
        return copy_to(spool, folder, path, replace, detail);
    int moved = rename_to(spool, folder, name, replace);
    int why = errno;
    /* The name may have been given to another file meanwhile: check that the recording was
     * moved. */
    if (moved == 0 && is_file_of(spool, folder, name))
        return KYMO_OK;
    if (moved == 0 || why == EXDEV || why == ENOENT)
        return copy_to(spool, folder, path, moved == 0 || replace, detail);
    if (why == EEXIST)
        return kymo_error_set(detail, KYMO_E_EXISTS, 0, "%s: already exists", path);
    errno = why;
    return kymo_error_set_errno(detail, "%s", path);
}

kymo_err kymo_spool_move(kymo_spool *spool, const char *path, int replace, kymo_error *detail)
{
    char folder_path[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(folder_path, sizeof folder_path, "%.*s",
             !slash          ? 1
             : slash == path ? 1
                             : (int)(slash - path),
             slash ? path : ".");
    int folder = kymo_folder_open(folder_path);
    if (folder < 0)
        return kymo_error_set_errno(detail, "%s", path);
    kymo_err err = move_into(spool, folder, path, replace, detail);
    close(folder);
    return err;
}

void kymo_spool_unlink(kymo_spool *spool)
{
    if (kymo_spool_place(spool))
        (void)unlinkat(spool->folder, spool->name, 0);
}

uint64_t kymo_spool_bytes(const kymo_spool *spool)
{
    struct stat st;
    return fstat(spool->fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

void kymo_spool_close(kymo_spool *spool)
{
    if (spool->fd >= 0)
        close(spool->fd);
    if (spool->folder >= 0)
        close(spool->folder);
    spool->fd = spool->folder = -1;
}
