/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kallsyms_cache.c - see kallsyms.h.
 *
 * The folder is $XDG_CACHE_HOME/kymo or ~/.cache/kymo, else kymo-UID in $TMPDIR or /tmp. It is used
 * only if it belongs to our user and no other user may write to it; the same holds for the file in
 * it. A program run by sudo may have another user's HOME: then there is no cache, rather than
 * root's files in that folder.
 *
 * Where the kernel hides addresses nothing is written, and what was written before is not looked
 * at: kymo_kallsyms_is_readable is asked first, each time.
 */
#include "observe/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "sys/write_all.h"

#define FILE_NAME "kallsyms"
#define CACHE_BYTES_MAX (256u << 20)
#define PROC_BYTES_MAX (4u << 20)

/* ---- the key ---- */

uint64_t kymo_kallsyms_key(const char *boot_id, const char *modules)
{
    static const uint64_t version = 1; /* of the file */
    if (!*boot_id)
        return 0;
    uint64_t key = kymo_hash_bytes(boot_id, strlen(boot_id), version);
    /* "ext4 999424 1 mbcache,jbd2, Live 0xffffffffc0300000": how often it is used changes. */
    while (*modules) {
        size_t len = strcspn(modules, "\n");
        size_t name = strcspn(modules, " \n");
        size_t size = name + (name < len) + strcspn(modules + name + (name < len), " \n");
        const char *address = modules + len;
        while (address > modules && address[-1] != ' ')
            address--;
        /* An out-of-tree module has "(OE)" behind the address; then all of the line is taken. */
        if (strncmp(address, "0x", 2) != 0)
            address = modules;
        key = kymo_hash_bytes(modules, size < len ? size : len, key);
        key = kymo_hash_bytes(address, (size_t)(modules + len - address), key);
        modules += len + (modules[len] == '\n');
    }
    return key ? key : 1;
}

/* The content of a file of /proc as text; 0: there is none. */
static int read_text(const char *path, kymo_bytes *text)
{
    char piece[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;
    while (fd >= 0 && (n = read(fd, piece, sizeof piece)) > 0)
        if (kymo_bytes_append(text, piece, (size_t)n) != KYMO_OK)
            break;
    if (fd >= 0)
        close(fd);
    return n == 0 && kymo_bytes_append(text, "", 1) == KYMO_OK;
}

/* 0 where it cannot be known. A kernel without modules has no list of them. */
static uint64_t key_of_this_kernel(void)
{
    uint64_t key = 0;
    kymo_bytes boot_id, modules;
    kymo_bytes_init(&boot_id, PROC_BYTES_MAX);
    kymo_bytes_init(&modules, PROC_BYTES_MAX);
    int has_list = access("/proc/modules", F_OK) == 0;
    if (read_text("/proc/sys/kernel/random/boot_id", &boot_id) &&
        (!has_list || read_text("/proc/modules", &modules)))
        key = kymo_kallsyms_key((const char *)boot_id.data,
                                has_list ? (const char *)modules.data : "");
    kymo_bytes_deinit(&boot_id);
    kymo_bytes_deinit(&modules);
    return key;
}

/* ---- the folder ---- */

static int is_ours(const struct stat *st)
{
    return st->st_uid == geteuid() && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Opens path/name, which is made if path is there; -1 if it is not ours alone. */
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

/* A folder of another user's is left alone, also where we might write to it. */
static int is_our_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static int open_folder(void)
{
    char path[PATH_MAX];
    char name[32];
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    const char *tmp = getenv("TMPDIR");
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

/* ---- the file ---- */

static kymo_err read_file(int fd, kymo_bytes *bytes)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !is_ours(&st) ||
        st.st_size > (off_t)CACHE_BYTES_MAX)
        return KYMO_E_NOT_FOUND;
    size_t size = (size_t)st.st_size;
    bytes->data = malloc(size + 1);
    if (!bytes->data)
        return KYMO_E_NOMEM;
    bytes->cap = size + 1;
    while (bytes->len < size) {
        ssize_t n = read(fd, bytes->data + bytes->len, size - bytes->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return KYMO_E_NOT_FOUND;
        bytes->len += (size_t)n;
    }
    return KYMO_OK;
}

kymo_err kymo_kallsyms_cache_load(int folder, uint64_t key, kymo_kallsyms **out)
{
    kymo_bytes bytes;
    int fd = openat(folder, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return KYMO_E_NOT_FOUND;
    kymo_bytes_init(&bytes, CACHE_BYTES_MAX);
    kymo_err err = read_file(fd, &bytes);
    close(fd);
    if (err == KYMO_OK)
        err = kymo_kallsyms_unpack(&bytes, key, out);
    kymo_bytes_deinit(&bytes);
    return err;
}

kymo_err kymo_kallsyms_cache_save(int folder, uint64_t key, const kymo_kallsyms *table)
{
    char name[64];
    kymo_bytes bytes;
    kymo_bytes_init(&bytes, CACHE_BYTES_MAX);
    kymo_err err = kymo_kallsyms_pack(table, key, &bytes);
    snprintf(name, sizeof name, ".%s.%d", FILE_NAME, (int)getpid());
    if (err == KYMO_OK) {
        (void)unlinkat(folder, name, 0);
        int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        err = fd < 0 ? KYMO_E_PERMISSION : KYMO_OK;
        if (fd >= 0 && kymo_write_all(fd, bytes.data, bytes.len) < bytes.len)
            err = KYMO_E_IO;
        if (fd >= 0 && close(fd) != 0)
            err = KYMO_E_IO;
        if (err == KYMO_OK && renameat(folder, name, folder, FILE_NAME) != 0)
            err = KYMO_E_IO;
        if (fd >= 0 && err != KYMO_OK)
            (void)unlinkat(folder, name, 0);
    }
    kymo_bytes_deinit(&bytes);
    return err;
}

kymo_err kymo_kallsyms_get(kymo_kallsyms **out)
{
    uint64_t key = key_of_this_kernel();
    int folder = key ? open_folder() : -1;
    kymo_err err = KYMO_E_NOT_FOUND;
    if (folder >= 0 && kymo_kallsyms_is_readable())
        err = kymo_kallsyms_cache_load(folder, key, out);
    if (err != KYMO_OK && err != KYMO_E_NOMEM) {
        err = kymo_kallsyms_read(out);
        /* Without a cache the next recording reads them again. */
        if (err == KYMO_OK && folder >= 0)
            (void)!kymo_kallsyms_cache_save(folder, key, *out);
    }
    if (folder >= 0)
        close(folder);
    return err;
}
