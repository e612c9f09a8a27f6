/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_content.c - reads of sections what is needed of them.
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
 *
 * What is in the cache, and sections that are not compressed, can be read anywhere, in parts. Of
 * the 16 MB of .debug_info of a libpython 3.13 a recording of a small program needs 4; to clear,
 * copy and read the rest took 20 ms.
 */
#include "symbolize/elf_file.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "base/hash.h"
#include "symbolize/section_cache.h"
#include "sys/pages.h"

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
/* From here on a section's bytes are memory of its own, which is there once it is touched. */
#define SPARSE_FROM (1u << 20)
#define PART_BYTES KYMO_SECTION_CACHE_BLOCK
/* Parts that are read ahead, where the part before is there: headers of units are read in order. */
#define AHEAD 16u

typedef struct inflater {
    z_stream z;
    unsigned char chunk[INFLATE_CHUNK];
} inflater;

struct kymo_elf_content {
    unsigned char *data;
    size_t size;
    size_t ready;                    /* data[0, ready) is valid */
    uint64_t *parts;                 /* a bit for each that is valid; NULL: it is inflated */
    uint64_t offset;                 /* in the file: next to be inflated, or the section's */
    uint64_t left;                   /* bytes from there */
    inflater *inflater;              /* NULL: complete, or it has parts */
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
    free(c->parts);
    if (c->size >= SPARSE_FROM)
        kymo_pages_give(c->data, c->size + 1, 1);
    else
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

/* ---- parts ---- */

static bool has_part(const struct kymo_elf_content *c, size_t part)
{
    return c->parts[part / 64] >> part % 64 & 1;
}

/* From the beginning: the cache may have less than all. */
static size_t bytes_at_hand(const struct kymo_elf_content *c)
{
    return c->cached ? (size_t)kymo_cached_section_bytes(c->cached) : c->size;
}

static kymo_err read_bytes(const kymo_elf_file *file, struct kymo_elf_content *c, size_t begin,
                           size_t end)
{
    if (c->cached)
        return kymo_cached_section_read(c->cached, c->data, &begin, end);
    return kymo_elf_read_at(file, c->offset + begin, c->data + begin, end - begin);
}

/* Reads the parts of [begin, end) that are not there, those that adjoin at once. */
static kymo_err read_parts(const kymo_elf_file *file, struct kymo_elf_content *c, size_t begin,
                           size_t end)
{
    size_t last = (end + PART_BYTES - 1) / PART_BYTES;
    size_t all = (bytes_at_hand(c) + PART_BYTES - 1) / PART_BYTES;
    for (size_t at = begin / PART_BYTES; at < last; at++) {
        size_t first = at;
        size_t to = first && has_part(c, first - 1) && last < first + AHEAD ? first + AHEAD : last;
        while (at < to && at < all && !has_part(c, at))
            at++;
        if (first == at)
            continue;
        size_t stop = at * PART_BYTES < c->size ? at * PART_BYTES : c->size;
        KYMO_TRY(read_bytes(file, c, first * PART_BYTES, stop));
        for (; first < at; first++)
            c->parts[first / 64] |= 1ull << first % 64;
    }
    return KYMO_OK;
}

/* Inflates again what the cache gave, and what it lacks. */
static kymo_err leave_cache(const kymo_elf_file *file, struct kymo_elf_content *c, size_t end)
{
    size_t given = c->ready;
    bool is_short = end > kymo_cached_section_bytes(c->cached);
    kymo_cached_section_close(c->cached);
    c->cached = NULL;
    free(c->parts);
    c->parts = NULL;
    KYMO_TRY(begin_inflating(c));
    c->ready = 0;
    kymo_err err = inflate_to(file, c, is_short ? c->size : end);
    if (c->ready < given)
        c->ready = given; /* spans of these bytes are in use, and their checksums were right */
    return err;
}

static kymo_err read_part(const kymo_elf_file *file, struct kymo_elf_content *c, size_t begin,
                          size_t end)
{
    kymo_err err = end <= bytes_at_hand(c) ? read_parts(file, c, begin, end) : KYMO_E_TRUNCATED;
    return c->cached && err != KYMO_OK ? leave_cache(file, c, end) : err;
}

/* Makes [begin, end) valid, end being at most the size. */
static kymo_err make_part(const kymo_elf_file *file, struct kymo_elf_content *c, size_t begin,
                          size_t end)
{
    if (c->err != KYMO_OK || end <= c->ready)
        return c->err;
    size_t step = c->size - c->ready < STEP_BYTES ? c->size : c->ready + STEP_BYTES;
    kymo_err err =
        c->parts ? read_part(file, c, begin, end) : inflate_to(file, c, end < step ? step : end);
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

static kymo_err begin_parts(struct kymo_elf_content *c)
{
    c->parts = calloc(c->size / PART_BYTES / 64 + 1, sizeof *c->parts);
    return c->parts ? KYMO_OK : KYMO_E_NOMEM;
}

static kymo_err begin(const kymo_elf_file *file, const kymo_elf_section *s,
                      struct kymo_elf_content *c)
{
    bool packed;
    kymo_err err = find_packing(file, s, c, &packed);
    if (err != KYMO_OK)
        return err == KYMO_E_TRUNCATED ? KYMO_E_CORRUPT : err;
    c->data = c->size >= SPARSE_FROM ? kymo_pages_take(c->size + 1, 1) : malloc(c->size + 1);
    if (!c->data)
        return KYMO_E_NOMEM;
    c->data[c->size] = 0;
    if (!packed)
        return begin_parts(c);
    if (file->cache && file->fd >= 0 && set_key(file, s, c)) {
        c->cache = file->cache;
        err = kymo_cached_section_open(c->cache, &c->key, &c->cached);
        if (err == KYMO_OK)
            return begin_parts(c);
        if (err == KYMO_E_NOMEM)
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
    size_t stop = end < c->size ? (size_t)end : c->size;
    kymo_err err = make_part(file, c, c->ready, stop);
    if (err == KYMO_OK && stop > c->ready)
        c->ready = stop;
    *out = (kymo_span){c->data, c->ready};
    return err;
}

kymo_err kymo_elf_load_part(kymo_elf_file *file, kymo_elf_section *section, uint64_t begin,
                            uint64_t end)
{
    struct kymo_elf_content *c = section->content;
    if (begin > end || end > c->size)
        return KYMO_E_TRUNCATED;
    return make_part(file, c, (size_t)begin, (size_t)end);
}

kymo_span kymo_elf_extent(const kymo_elf_section *section)
{
    return (kymo_span){section->content->data, section->content->size};
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
