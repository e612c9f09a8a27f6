/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_content.c - reads and inflates sections from their beginning to the last byte that is needed.
 *
 * Debug files are large, and few of their units are needed. libc's .debug_info inflates from 2 MB
 * to 6, which takes 30 ms; the unit in which every program's main thread begins is the first of
 * 4126. A deflate stream cannot be entered in the middle, but it can be left: it is inflated up to
 * the end of the last unit needed. Sections that are never read, such as .debug_loclists, are not
 * inflated. Compressed bytes pass through a small buffer and are never kept beside the inflated
 * ones. The output buffer has its full size from the start, so bytes never move; its untouched
 * pages cost nothing.
 *
 * What an earlier recording inflated is read from the cache (section_cache.h). If more of the
 * section is needed, or the cache is damaged, it is inflated from the beginning. The second time it
 * is inflated to its end, so that no third recording has to.
 */
#include "symbolize/elf_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <zlib.h>

#include "base/hash.h"
#include "symbolize/section_cache.h"

/* Far above the sections of real programs; limits what a hostile size field can reserve. */
#define MAX_SECTION_BYTES (8ull << 30)
/* deflate cannot expand more than this. */
#define MAX_INFLATE_RATIO 1040u
#define INFLATE_CHUNK (64u * 1024u)
/* The smallest step of inflating. */
#define STEP_BYTES (64u * 1024u)
/* Defined by the ELF gABI; older elf.h files lack it. */
#define COMPRESS_ZLIB 1u
/* A file that changed so recently may change again without another ctime. */
#define SETTLED_S 2
#define HUGE_PAGE (2u << 20)
#define HUGE_FROM (1u << 20)

typedef struct inflater {
    z_stream z;
    unsigned char chunk[INFLATE_CHUNK];
} inflater;

struct kymo_elf_content {
    unsigned char *data;
    size_t size;
    size_t ready;                    /* data[0, ready) is valid */
    uint64_t offset;                 /* next offset to read in the file */
    uint64_t left;                   /* bytes from there */
    inflater *inflater;              /* NULL: not compressed, or complete, or read from the cache */
    kymo_err err;                    /* why no more can be read */
    const kymo_section_cache *cache; /* borrowed; NULL: not cached */
    kymo_section_key key;
    kymo_cached_section *cached; /* where bytes come from; NULL: from the file */
    bool inflated;               /* the bytes are not those of the cache */
};

static void end_inflating(struct kymo_elf_content *content)
{
    if (content->inflater)
        inflateEnd(&content->inflater->z);
    free(content->inflater);
    content->inflater = NULL;
}

void kymo_elf_content_free(struct kymo_elf_content **content)
{
    struct kymo_elf_content *c = *content;
    if (!c)
        return;
    if (c->cache && c->inflated && c->err == KYMO_OK)
        kymo_section_cache_put(c->cache, &c->key, c->data, c->ready);
    kymo_cached_section_close(c->cached);
    end_inflating(c);
    free(c->data);
    free(c);
    *content = NULL;
}

static kymo_err begin_inflating(struct kymo_elf_content *c)
{
    c->inflater = malloc(sizeof *c->inflater);
    if (!c->inflater)
        return KYMO_E_NOMEM;
    c->inflater->z = (z_stream){0};
    if (inflateInit(&c->inflater->z) != Z_OK) {
        free(c->inflater);
        c->inflater = NULL;
        return KYMO_E_NOMEM;
    }
    /* The checksum at the stream's end is rarely reached, and would be a tenth of the work. */
    (void)inflateValidate(&c->inflater->z, 0);
    return KYMO_OK;
}

/* Inflates until `end` bytes are available. */
static kymo_err inflate_to(const kymo_elf_file *file, struct kymo_elf_content *c, size_t end)
{
    z_stream *z = &c->inflater->z;
    while (c->ready < end) {
        /* With no input left it may still have output, and returns an error if it has none. */
        if (z->avail_in == 0 && c->left > 0) {
            size_t take = c->left < INFLATE_CHUNK ? (size_t)c->left : INFLATE_CHUNK;
            KYMO_TRY(kymo_elf_read_at(file, c->offset, c->inflater->chunk, take));
            z->next_in = c->inflater->chunk;
            z->avail_in = (uInt)take;
            c->offset += take;
            c->left -= take;
        }
        uInt room = end - c->ready > (1u << 30) ? (1u << 30) : (uInt)(end - c->ready);
        z->next_out = c->data + c->ready;
        z->avail_out = room;
        int state = inflate(z, Z_NO_FLUSH);
        c->ready += room - z->avail_out;
        c->inflated = true;
        if (state == Z_MEM_ERROR)
            return KYMO_E_NOMEM;
        if (state == Z_STREAM_END ? c->ready < end : state != Z_OK)
            return KYMO_E_CORRUPT;
    }
    return KYMO_OK;
}

static kymo_err read_to(const kymo_elf_file *file, struct kymo_elf_content *c, size_t end)
{
    size_t take = end - c->ready;
    KYMO_TRY(kymo_elf_read_at(file, c->offset, c->data + c->ready, take));
    c->offset += take;
    c->ready = end;
    return KYMO_OK;
}

/* Inflates again what the cache gave, and what it lacks. */
static kymo_err leave_cache(const kymo_elf_file *file, struct kymo_elf_content *c, size_t end)
{
    size_t given = c->ready;
    bool is_short = end > kymo_cached_section_bytes(c->cached);
    kymo_cached_section_close(c->cached);
    c->cached = NULL;
    KYMO_TRY(begin_inflating(c));
    c->ready = 0;
    kymo_err err = inflate_to(file, c, is_short ? c->size : end);
    if (c->ready < given)
        c->ready = given; /* spans of these bytes are in use, and their checksums were right */
    return err;
}

static kymo_err read_cached(const kymo_elf_file *file, struct kymo_elf_content *c, size_t end)
{
    uint64_t has = kymo_cached_section_bytes(c->cached);
    if (end <= has && kymo_cached_section_read(c->cached, c->data, &c->ready, end) == KYMO_OK)
        return KYMO_OK;
    return leave_cache(file, c, end);
}

static kymo_err make_to(const kymo_elf_file *file, struct kymo_elf_content *c, uint64_t end)
{
    if (c->err != KYMO_OK || end <= c->ready || c->ready == c->size)
        return c->err;
    uint64_t needed = end < c->size ? end : c->size;
    if (end < c->ready + STEP_BYTES)
        end = c->ready + STEP_BYTES;
    if (end > c->size)
        end = c->size;
    kymo_err err = c->cached     ? read_cached(file, c, (size_t)needed)
                   : c->inflater ? inflate_to(file, c, (size_t)end)
                                 : read_to(file, c, (size_t)end);
    c->err = err == KYMO_E_TRUNCATED ? KYMO_E_CORRUPT : err;
    if (c->err != KYMO_OK || c->ready == c->size)
        end_inflating(c);
    return c->err;
}

/* Reads the compression from a section's header or first bytes. */
static kymo_err find_packing(const kymo_elf_file *file, const kymo_elf_section *s,
                             struct kymo_elf_content *out, bool *packed)
{
    *packed = true;
    uint64_t head_size, size = s->size;
    if (s->flags & SHF_COMPRESSED) {
        Elf64_Chdr head;
        head_size = sizeof head;
        if (s->size < sizeof head)
            return KYMO_E_CORRUPT;
        KYMO_TRY(kymo_elf_read_at(file, s->offset, &head, sizeof head));
        if (head.ch_type != COMPRESS_ZLIB)
            return KYMO_E_UNSUPPORTED;
        size = head.ch_size;
    } else if (strncmp(s->name, ".zdebug_", 8) == 0) {
        unsigned char head[12]; /* "ZLIB" and a big-endian size */
        head_size = sizeof head;
        if (s->size < sizeof head)
            return KYMO_E_CORRUPT;
        KYMO_TRY(kymo_elf_read_at(file, s->offset, head, sizeof head));
        if (memcmp(head, "ZLIB", 4) != 0)
            return KYMO_E_CORRUPT;
        size = 0;
        for (int i = 4; i < 12; i++)
            size = size << 8 | head[i];
    } else {
        head_size = 0;
        *packed = false;
    }
    if (size > MAX_SECTION_BYTES)
        return KYMO_E_TOO_BIG;
    out->size = (size_t)size;
    out->offset = s->offset + head_size;
    out->left = s->size - head_size;
    return *packed && size / MAX_INFLATE_RATIO > out->left ? KYMO_E_CORRUPT : KYMO_OK;
}

/* Whether the section can be cached. Files without a build-id are not: they are few, and often
 * written again. */
static bool set_key(const kymo_elf_file *file, const kymo_elf_section *s,
                    struct kymo_elf_content *c)
{
    const kymo_elf_state *state = &file->state;
    if (file->build_id_len == 0 || c->size < KYMO_SECTION_CACHE_LEAST ||
        c->size > KYMO_SECTION_CACHE_MOST ||
        state->changed_ns / 1000000000 + SETTLED_S >= (uint64_t)time(NULL))
        return false;
    c->key = (kymo_section_key){.device = state->device,
                                .inode = state->inode,
                                .file_bytes = file->size,
                                .modified_ns = state->modified_ns,
                                .changed_ns = state->changed_ns,
                                .build_id = kymo_hash_bytes(file->build_id, file->build_id_len, 0),
                                .offset = s->offset,
                                .packed_bytes = s->size,
                                .bytes = c->size};
    return true;
}

/* Large sections get huge pages, where the kernel gives them on request: the first touch of a page
 * of 4 KiB takes 1.5 us (measured), which is as long as inflating 500 bytes. */
static unsigned char *allocate(size_t size)
{
    if (size < HUGE_FROM)
        return malloc(size);
    void *data;
    if (posix_memalign(&data, HUGE_PAGE, size) != 0)
        return NULL;
    (void)madvise(data, size, MADV_HUGEPAGE);
    return data;
}

static kymo_err begin(const kymo_elf_file *file, const kymo_elf_section *s,
                      struct kymo_elf_content *c)
{
    bool packed;
    kymo_err err = find_packing(file, s, c, &packed);
    if (err != KYMO_OK)
        return err == KYMO_E_TRUNCATED ? KYMO_E_CORRUPT : err;
    c->data = allocate(c->size + 1);
    if (!c->data)
        return KYMO_E_NOMEM;
    c->data[c->size] = 0;
    if (!packed)
        return KYMO_OK;
    if (file->cache && file->fd >= 0 && set_key(file, s, c)) {
        c->cache = file->cache;
        err = kymo_cached_section_open(c->cache, &c->key, &c->cached);
        if (err == KYMO_OK || err == KYMO_E_NOMEM)
            return err;
    }
    return begin_inflating(c);
}

kymo_err kymo_elf_load_begin(kymo_elf_file *file, kymo_elf_section *section, kymo_span *out)
{
    if (!section->content) {
        if (section->type == SHT_NOBITS || section->size == 0 || section->offset > file->size ||
            section->size > file->size - section->offset)
            return KYMO_E_CORRUPT;
        struct kymo_elf_content *c = calloc(1, sizeof *c);
        if (!c)
            return KYMO_E_NOMEM;
        kymo_err err = begin(file, section, c);
        if (err != KYMO_OK) {
            kymo_elf_content_free(&c);
            return err;
        }
        section->content = c;
    }
    section->uses++;
    *out = (kymo_span){section->content->data, section->content->ready};
    return KYMO_OK;
}

kymo_err kymo_elf_load_to(kymo_elf_file *file, kymo_elf_section *section, uint64_t end,
                          kymo_span *out)
{
    struct kymo_elf_content *c = section->content;
    kymo_err err = make_to(file, c, end);
    *out = (kymo_span){c->data, c->ready};
    return err;
}

kymo_err kymo_elf_load(kymo_elf_file *file, kymo_elf_section *section, kymo_span *out)
{
    kymo_span whole;
    KYMO_TRY(kymo_elf_load_begin(file, section, &whole));
    kymo_err err = kymo_elf_load_to(file, section, UINT64_MAX, &whole);
    if (err != KYMO_OK)
        kymo_elf_unload(section);
    else
        *out = whole;
    return err;
}

void kymo_elf_unload(kymo_elf_section *section)
{
    if (section->uses == 0 || --section->uses > 0)
        return;
    kymo_elf_content_free(&section->content);
}
