/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_cache.c - see section_cache.h.
 *
 * Why inflated bytes and not names: the same reader parses them with and without the cache, so the
 * names are the same by construction, and no second parser of hostile files is needed. A table of
 * names would be ten times smaller. But it has only the units that some recording sampled: an
 * address in another one would inflate the section again, and each recording has a few.
 */
#include "symbolize/section_cache.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "sys/cache_folder.h"
#include "sys/write_all.h"

#define MAGIC "KYMOSEC2"
#define PREFIX "section-"
#define BLOCK_BYTES KYMO_SECTION_CACHE_BLOCK
#define READ_BYTES (64u << 10) /* at once: what is summed up is in the processor's cache */
#define MAX_BLOCKS (KYMO_SECTION_CACHE_MOST / BLOCK_BYTES)

typedef struct header {
    char magic[8];
    kymo_section_key key;
    uint64_t bytes;
    uint64_t sum; /* of the header with 0 here, and of the blocks' sums */
} header;

static_assert(sizeof(header) == 8 + sizeof(kymo_section_key) + 16, "no padding");
static_assert(sizeof(kymo_section_key) % 8 == 0, "hashed as bytes");

struct kymo_cached_section {
    int fd;
    uint64_t bytes;
    size_t n_blocks;
    uint64_t sums[];
};

static size_t blocks_of(uint64_t bytes)
{
    return (size_t)((bytes + BLOCK_BYTES - 1) / BLOCK_BYTES);
}

/* Each 16 bytes give a number of their own, which depends on their place: none waits for another.
 */
static uint64_t sum_of_block(const unsigned char *block, size_t len)
{
    uint64_t sum = 0;
    size_t at = 0;
    for (; len - at >= 16; at += 16) {
        uint64_t words[2];
        memcpy(words, block + at, sizeof words);
        sum +=
            kymo_hash_fold(words[0] ^ (0x9e3779b97f4a7c15u + at), words[1] ^ 0xd1b54a32d192ed03u);
    }
    return kymo_hash_bytes(block + at, len - at, sum);
}

static uint64_t sum_of_header(const header *h, const uint64_t *sums, size_t n)
{
    header plain = *h;
    plain.sum = 0;
    return kymo_hash_bytes(sums, n * sizeof *sums, kymo_hash_bytes(&plain, sizeof plain, 0));
}

static void name_of(const kymo_section_key *key, char name[32])
{
    snprintf(name, 32, PREFIX "%016llx", (unsigned long long)kymo_hash_bytes(key, sizeof *key, 0));
}

static kymo_err read_header(int fd, uint64_t size, const kymo_section_key *key,
                            kymo_cached_section **out)
{
    header h;
    if (kymo_read_all(fd, &h, sizeof h, 0) != sizeof h || memcmp(h.magic, MAGIC, 8) != 0)
        return KYMO_E_CORRUPT;
    if (memcmp(&h.key, key, sizeof *key) != 0)
        return KYMO_E_NOT_FOUND;
    size_t n = blocks_of(h.bytes);
    if (h.bytes > key->bytes || n > MAX_BLOCKS || size != sizeof h + n * 8 + h.bytes)
        return KYMO_E_CORRUPT;
    kymo_cached_section *s = malloc(sizeof *s + n * sizeof *s->sums);
    if (!s)
        return KYMO_E_NOMEM;
    *s = (kymo_cached_section){.fd = fd, .bytes = h.bytes, .n_blocks = n};
    if (kymo_read_all(fd, s->sums, n * 8, sizeof h) != n * 8 ||
        h.sum != sum_of_header(&h, s->sums, n)) {
        free(s);
        return KYMO_E_CORRUPT;
    }
    *out = s;
    return KYMO_OK;
}

kymo_err kymo_cached_section_open(const kymo_section_cache *cache, const kymo_section_key *key,
                                  kymo_cached_section **out)
{
    char name[32];
    uint64_t size;
    if (cache->folder < 0)
        return KYMO_E_NOT_FOUND;
    name_of(key, name);
    int fd = kymo_cache_open_file(cache->folder, name, UINT64_MAX, &size);
    if (fd < 0)
        return KYMO_E_NOT_FOUND;
    kymo_err err = read_header(fd, size, key, out);
    if (err != KYMO_OK)
        close(fd);
    return err;
}

void kymo_cached_section_close(kymo_cached_section *section)
{
    if (!section)
        return;
    close(section->fd);
    free(section);
}

uint64_t kymo_cached_section_bytes(const kymo_cached_section *section)
{
    return section->bytes;
}

kymo_err kymo_cached_section_read(const kymo_cached_section *section, unsigned char *data,
                                  size_t *ready, size_t end)
{
    uint64_t blocks_at = sizeof(header) + section->n_blocks * sizeof section->sums[0];
    end = blocks_of(end) * BLOCK_BYTES;
    if (end > section->bytes)
        end = (size_t)section->bytes;
    while (*ready < end) {
        size_t at = *ready;
        size_t len = end - at < READ_BYTES ? end - at : READ_BYTES;
        if (kymo_read_all(section->fd, data + at, len, blocks_at + at) != len)
            return KYMO_E_CORRUPT;
        for (size_t n; len > 0; len -= n, at += n) {
            n = len < BLOCK_BYTES ? len : BLOCK_BYTES;
            if (sum_of_block(data + at, n) != section->sums[at / BLOCK_BYTES])
                return KYMO_E_CORRUPT;
            *ready = at + n;
        }
    }
    return KYMO_OK;
}

void kymo_section_cache_put(const kymo_section_cache *cache, const kymo_section_key *key,
                            const unsigned char *data, size_t len)
{
    char name[32];
    header h = {.magic = MAGIC, .key = *key, .bytes = len};
    size_t n = blocks_of(len);
    uint64_t *sums = cache->folder >= 0 && n <= MAX_BLOCKS ? malloc(n * sizeof *sums + 1) : NULL;
    if (!sums)
        return;
    for (size_t i = 0; i < n; i++) {
        size_t at = i * BLOCK_BYTES;
        sums[i] = sum_of_block(data + at, len - at < BLOCK_BYTES ? len - at : BLOCK_BYTES);
    }
    h.sum = sum_of_header(&h, sums, n);
    const struct iovec parts[] = {
        {&h, sizeof h}, {sums, n * sizeof *sums}, {(unsigned char *)(uintptr_t)data, len}};
    name_of(key, name);
    if (kymo_cache_write(cache->folder, name, parts, 3) == KYMO_OK)
        kymo_cache_trim(cache->folder, PREFIX, KYMO_SECTION_CACHE_TOTAL);
    free(sums);
}
