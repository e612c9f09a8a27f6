/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_files.c - searches the directories where distributions put debug files.
 *
 * A matching name is not enough: the file must have the same build-id or, for a debuglink to a file
 * without one, the same CRC.
 */
#include "symbolize/debug_files.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "symbolize/elf_file.h"

/* The symbol table of the largest programs has some ten megabytes. */
#define MAX_MINI_BYTES (256u << 20)
#define LZMA_MEMORY (128u << 20)

typedef struct wanted_id {
    const unsigned char *id;
    size_t len;
} wanted_id;

static bool has_id(void *user, kymo_elf_file *file)
{
    const wanted_id *want = user;
    return kymo_elf_has_id(file, want->id, want->len);
}

kymo_err kymo_debug_open(const char *path, kymo_debug_accept accept, void *user,
                         kymo_elf_file **out, kymo_str *used)
{
    kymo_elf_file *file;
    KYMO_TRY(kymo_elf_open(path, &file));
    used->len = 0;
    kymo_str_puts(used, path);
    kymo_err err = !accept(user, file) ? KYMO_E_MISMATCH : used->failed ? KYMO_E_NOMEM : KYMO_OK;
    if (err != KYMO_OK)
        kymo_elf_close(file);
    else
        *out = file;
    return err;
}

kymo_err kymo_debug_by_build_id(const kymo_debug_places *places, const unsigned char *id,
                                size_t id_len, kymo_elf_file **out, kymo_str *used)
{
    if (id_len < 2 || id_len > KYMO_BUILD_ID_CAP)
        return KYMO_E_NOT_FOUND;
    wanted_id want = {id, id_len};
    kymo_err err = KYMO_E_NOT_FOUND;
    kymo_str path = {0};
    for (size_t i = 0; i < places->n_dirs && err != KYMO_OK; i++) {
        path.len = 0;
        kymo_str_printf(&path, "%s/.build-id/%02x/", places->dirs[i], id[0]);
        for (size_t k = 1; k < id_len; k++)
            kymo_str_printf(&path, "%02x", id[k]);
        kymo_str_puts(&path, ".debug");
        err = path.failed ? KYMO_E_NOMEM : kymo_debug_open(path.data, has_id, &want, out, used);
    }
    kymo_str_deinit(&path);
    return err;
}

typedef struct wanted_link {
    const kymo_elf_file *of;
    uint32_t crc;
} wanted_link;

static bool has_crc(const kymo_elf_file *file, uint32_t want)
{
    enum { CHUNK = 65536 };
    unsigned char *chunk = malloc(CHUNK);
    if (!chunk)
        return false;
    uLong crc = crc32(0, NULL, 0);
    bool read = true;
    for (uint64_t at = 0; at < file->size && read;) {
        size_t take = file->size - at < CHUNK ? (size_t)(file->size - at) : CHUNK;
        read = kymo_elf_read_at(file, at, chunk, take) == KYMO_OK;
        crc = crc32(crc, chunk, (uInt)take);
        at += take;
    }
    free(chunk);
    return read && crc == want;
}

static bool is_linked(void *user, kymo_elf_file *file)
{
    const wanted_link *want = user;
    /* A link without a directory may lead back to the module itself. */
    if (!kymo_elf_find(file, ".debug_info") && !kymo_elf_find(file, ".symtab"))
        return false;
    if (file->build_id_len && want->of->build_id_len)
        return kymo_elf_has_id(file, want->of->build_id, want->of->build_id_len);
    return has_crc(file, want->crc);
}

kymo_err kymo_debug_by_link(const kymo_debug_places *places, kymo_elf_file *file,
                            const char *module_path, kymo_elf_file **out, kymo_str *used)
{
    kymo_elf_section *s = kymo_elf_find(file, ".gnu_debuglink");
    kymo_span link;
    const char *slash = strrchr(module_path, '/');
    if (!s || !slash || s->size > 8192 || kymo_elf_load(file, s, &link) != KYMO_OK)
        return KYMO_E_NOT_FOUND;
    const char *name = (const char *)link.data;
    size_t crc_at = (strnlen(name, link.size) + 4) & ~(size_t)3;
    /* A name with a directory could lead out of the debug directories. */
    if (crc_at + 4 > link.size || !*name || strchr(name, '/'))
        return KYMO_E_NOT_FOUND;
    wanted_link want = {.of = file};
    memcpy(&want.crc, link.data + crc_at, 4);
    int dir = (int)(slash - module_path);
    kymo_err err = KYMO_E_NOT_FOUND;
    kymo_str path = {0};
    for (size_t i = 0; i < places->n_dirs + 2 && err != KYMO_OK; i++) {
        path.len = 0;
        if (i < 2)
            kymo_str_printf(&path, "%.*s/%s%s", dir, module_path, i == 1 ? ".debug/" : "", name);
        else
            kymo_str_printf(&path, "%s%.*s/%s", places->dirs[i - 2], dir, module_path, name);
        err = path.failed ? KYMO_E_NOMEM : kymo_debug_open(path.data, is_linked, &want, out, used);
    }
    kymo_str_deinit(&path);
    return err;
}

kymo_err kymo_debug_alt(const kymo_debug_places *places, kymo_elf_file *file, const char *file_path,
                        kymo_elf_file **out, kymo_str *used)
{
    kymo_elf_section *s = kymo_elf_find(file, ".gnu_debugaltlink");
    kymo_span link;
    if (!s || s->size > 8192 || kymo_elf_load(file, s, &link) != KYMO_OK)
        return KYMO_E_INVALID;
    const char *name = (const char *)link.data;
    size_t id_at = strnlen(name, link.size) + 1;
    if (id_at >= link.size || link.size - id_at > KYMO_BUILD_ID_CAP || !*name)
        return KYMO_E_INVALID;
    wanted_id want = {link.data + id_at, link.size - id_at};
    const char *slash = strrchr(file_path, '/');
    int dir_len = name[0] != '/' && slash ? (int)(slash - file_path) + 1 : 0;
    kymo_str path = {0};
    kymo_str_printf(&path, "%.*s%s", dir_len, file_path, name);
    kymo_err err =
        path.failed ? KYMO_E_NOMEM : kymo_debug_open(path.data, has_id, &want, out, used);
    kymo_str_deinit(&path);
    if (err != KYMO_OK)
        err = kymo_debug_by_build_id(places, want.id, want.len, out, used);
    return err;
}

/* Unpacks an .xz stream of unknown size. */
static kymo_err unpack(kymo_span packed, unsigned char **out, size_t *out_size)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, LZMA_MEMORY, 0) != LZMA_OK)
        return KYMO_E_NOMEM;
    size_t cap = packed.size * 4 + 4096;
    unsigned char *data = malloc(cap);
    kymo_err err = data ? KYMO_OK : KYMO_E_NOMEM;
    stream.next_in = packed.data;
    stream.avail_in = packed.size;
    size_t size = 0;
    while (err == KYMO_OK) {
        if (size == cap) {
            unsigned char *grown = cap < MAX_MINI_BYTES ? realloc(data, cap * 2) : NULL;
            if (!grown) {
                err = cap < MAX_MINI_BYTES ? KYMO_E_NOMEM : KYMO_E_TOO_BIG;
                break;
            }
            data = grown;
            cap *= 2;
        }
        stream.next_out = data + size;
        stream.avail_out = cap - size;
        lzma_ret state = lzma_code(&stream, LZMA_FINISH);
        size = cap - stream.avail_out;
        if (state == LZMA_STREAM_END)
            break;
        if (state != LZMA_OK)
            err = KYMO_E_CORRUPT;
    }
    lzma_end(&stream);
    if (err != KYMO_OK) {
        free(data);
        return err;
    }
    *out = data;
    *out_size = size;
    return KYMO_OK;
}

kymo_err kymo_debug_mini(kymo_elf_file *file, unsigned char **bytes, kymo_elf_file **out)
{
    kymo_elf_section *s = kymo_elf_find(file, ".gnu_debugdata");
    if (!s)
        return KYMO_E_NOT_FOUND;
    kymo_span packed;
    KYMO_TRY(kymo_elf_load(file, s, &packed));
    unsigned char *data;
    size_t size;
    kymo_err err = packed.size > MAX_MINI_BYTES ? KYMO_E_TOO_BIG : unpack(packed, &data, &size);
    kymo_elf_unload(s);
    KYMO_TRY(err);
    err = kymo_elf_open_image(data, size, out);
    if (err != KYMO_OK)
        free(data);
    else
        *bytes = data;
    return err;
}
