/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reporter_local.c - profiles as files in a folder.
 *
 * A file has the name of its profile (reporter_name.c). It appears when it is whole, and never
 * replaces another. What is more than is to be kept is removed, oldest first: files that have such
 * a name of this program and host.
 */
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

#include "agent/reporter.h"
#include "base/str.h"
#include "base/vec.h"
#include "encode/atomic_file.h"
#include "sys/clock.h"
#include "sys/write_all.h"

/* Names of one time that are tried. */
#define TRIES 100u

static int open_for_reading(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static kymo_err check(const struct kymo_reporter *r, kymo_error *detail)
{
    if (r->target[0] == '\0')
        return kymo_error_set(detail, KYMO_E_INVALID, 0, "local: needs a folder: local:DIR");
    int folder = open_for_reading(r->target);
    if (folder < 0 && errno == ENOENT && mkdir(r->target, 0700) == 0)
        folder = open_for_reading(r->target);
    if (folder < 0)
        return kymo_error_set_errno(detail, "%s: cannot open the folder", r->target);
    kymo_err err = KYMO_OK;
    if (faccessat(folder, ".", W_OK | X_OK, AT_EACCESS) != 0)
        err = kymo_error_set_errno(detail, "%s: cannot write there", r->target);
    close(folder);
    return err;
}

static kymo_err copy(const struct kymo_interval_profile *p, kymo_sink *to, kymo_error *detail)
{
    char block[65536];
    for (uint64_t at = 0; at < p->bytes;) {
        size_t want = p->bytes - at < sizeof block ? (size_t)(p->bytes - at) : sizeof block;
        size_t got = kymo_read_all(p->fd, block, want, at);
        if (got != want)
            return kymo_error_set_errno(detail, "reading the profile");
        KYMO_TRY(to->write(to, block, got));
        at += got;
    }
    return KYMO_OK;
}

static kymo_err write_file(int folder, const char *name, const struct kymo_interval_profile *p,
                           kymo_error *detail)
{
    kymo_atomic_file file;
    KYMO_TRY(kymo_atomic_file_open_in(&file, folder, name, 0, detail));
    kymo_err err = copy(p, &file.sink, detail);
    if (err == KYMO_OK)
        return kymo_atomic_file_commit(&file);
    kymo_atomic_file_abandon(&file);
    return err;
}

/* ---- what is kept ---- */

struct kept_file {
    char *name;
    uint64_t bytes;
    int64_t changed_ns;
};

typedef KYMO_VEC(struct kept_file) kept_files;

static int by_age(const void *a, const void *b)
{
    const struct kept_file *x = a;
    const struct kept_file *y = b;
    int by_time = (x->changed_ns < y->changed_ns) - (x->changed_ns > y->changed_ns);
    return by_time ? by_time : strcmp(y->name, x->name);
}

static kymo_err list(int folder, const char *prefix, kept_files *files)
{
    struct stat st;
    int fd = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    kymo_err err = KYMO_OK;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return KYMO_E_IO;
    }
    for (const struct dirent *e; err == KYMO_OK && (e = readdir(dir)) != NULL;) {
        if (!kymo_str_starts(e->d_name, prefix) ||
            fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        struct kept_file file = {
            .name = strdup(e->d_name),
            .bytes = (uint64_t)st.st_size,
            .changed_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
        };
        err = file.name ? kymo_vec_push(files, file) : KYMO_E_NOMEM;
        if (err != KYMO_OK)
            free(file.name);
    }
    closedir(dir);
    return err;
}

/* Newest first; the newest stays in any case. */
static void remove_old(int folder, const kept_files *files, const struct kymo_retention *keep)
{
    const int64_t now_ns = (int64_t)kymo_clock_ns(CLOCK_REALTIME);
    uint64_t bytes = 0;
    for (size_t i = 0; i < files->len; i++) {
        const struct kept_file *f = &files->data[i];
        bytes += f->bytes;
        const int is_old = keep->age_ns && now_ns - f->changed_ns > (int64_t)keep->age_ns;
        if (i > 0 &&
            (is_old || (keep->files && i >= keep->files) || (keep->bytes && bytes > keep->bytes))) {
            (void)unlinkat(folder, f->name, 0);
            bytes -= f->bytes;
        }
    }
}

/* A folder that cannot be listed keeps everything. */
static void retain(int folder, const char *prefix, const struct kymo_retention *keep)
{
    kept_files files = {0};
    if (list(folder, prefix, &files) == KYMO_OK && files.len > 0) {
        qsort(files.data, files.len, sizeof *files.data, by_age);
        remove_old(folder, &files, keep);
    }
    for (size_t i = 0; i < files.len; i++)
        free(files.data[i].name);
    kymo_vec_deinit(&files);
}

static kymo_err report(const struct kymo_reporter *r, const struct kymo_interval_profile *p,
                       kymo_error *detail)
{
    kymo_str prefix = {0};
    kymo_err err = KYMO_E_EXISTS;
    int folder = open_for_reading(r->target);
    if (folder < 0)
        return kymo_error_set_errno(detail, "%s: cannot open the folder", r->target);
    kymo_reporter_put_source(&prefix, p->who);
    for (unsigned n = 0; err == KYMO_E_EXISTS && n < TRIES; n++) {
        kymo_str name = {0};
        kymo_reporter_put_name(&name, p);
        if (n)
            kymo_str_printf(&name, "-%u", n);
        kymo_str_puts(&name, p->extension);
        err = prefix.failed || name.failed
                  ? kymo_error_set(detail, KYMO_E_NOMEM, 0, "out of memory")
                  : write_file(folder, kymo_str_cstr(&name), p, detail);
        kymo_str_deinit(&name);
    }
    if (err == KYMO_OK && (r->keep.files || r->keep.bytes || r->keep.age_ns))
        retain(folder, kymo_str_cstr(&prefix), &r->keep);
    kymo_str_deinit(&prefix);
    close(folder);
    return err;
}

const struct kymo_reporter_kind kymo_reporter_local = {
    .prefix = "local:", .extension = ".kymo", .check = check, .report = report};
