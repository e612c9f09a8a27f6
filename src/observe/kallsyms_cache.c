/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kallsyms_cache.c - see kallsyms.h.
 *
 * The file lies in the folder of sys/cache_folder.h.
 *
 * Where the kernel hides addresses nothing is written, and what was written before is not looked
 * at: kymo_kallsyms_is_readable is asked first, each time.
 */
#include "observe/kallsyms.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "sys/cache_folder.h"
#include "sys/write_all.h"

#define FILE_NAME "kallsyms"
#define CACHE_BYTES_MAX (256u << 20)
#define PROC_BYTES_MAX (4u << 20)

/* ---- the key ---- */

uint64_t kymo_kallsyms_key(const char *boot_id, const char *modules)
{
    static const uint64_t version = 2; /* of the file */
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

/* ---- the file ---- */

kymo_err kymo_kallsyms_cache_load(int folder, uint64_t key, kymo_kallsyms **out)
{
    uint64_t size;
    int fd = kymo_cache_open_file(folder, FILE_NAME, CACHE_BYTES_MAX, &size);
    if (fd < 0)
        return KYMO_E_NOT_FOUND;
    kymo_bytes bytes;
    kymo_bytes_init(&bytes, CACHE_BYTES_MAX);
    bytes.data = malloc((size_t)size + 1);
    kymo_err err = KYMO_E_NOMEM;
    if (bytes.data) {
        bytes.cap = (size_t)size + 1;
        bytes.len = kymo_read_all(fd, bytes.data, (size_t)size, 0);
        err = bytes.len == size ? kymo_kallsyms_unpack(&bytes, key, out) : KYMO_E_NOT_FOUND;
    }
    close(fd);
    kymo_bytes_deinit(&bytes);
    return err;
}

kymo_err kymo_kallsyms_cache_save(int folder, uint64_t key, const kymo_kallsyms *table)
{
    kymo_bytes bytes;
    kymo_bytes_init(&bytes, CACHE_BYTES_MAX);
    kymo_err err = kymo_kallsyms_pack(table, key, &bytes);
    if (err == KYMO_OK)
        err = kymo_cache_write(folder, FILE_NAME, &(struct iovec){bytes.data, bytes.len}, 1);
    kymo_bytes_deinit(&bytes);
    return err;
}

kymo_err kymo_kallsyms_get(kymo_kallsyms **out)
{
    uint64_t key = key_of_this_kernel();
    int folder = key ? kymo_cache_open() : -1;
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
