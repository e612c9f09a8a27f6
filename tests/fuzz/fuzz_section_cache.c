/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a file of the section cache, with any content. First it is read as it is: then
 * nothing may come out but what has the right checksums. Then its header's sum is made right, so
 * that what lies behind it is reached: bytes stay within the section, and in whole blocks.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "symbolize/section_cache.h"
#include "sys/cache_folder.h"

#define SECTION_BYTES (1u << 20)
#define KEY_AT 8u
#define SUM_AT (KEY_AT + sizeof(kymo_section_key) + 8)
#define HEADER_BYTES (SUM_AT + 8)
#define BLOCK_BYTES KYMO_SECTION_CACHE_BLOCK

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static kymo_section_cache cache = {.folder = -1};
static const kymo_section_key key = {.inode = 1, .bytes = SECTION_BYTES};
static char name[32];
static char path[] = "/tmp/kymo-fuzz-XXXXXX";

static void require(int holds)
{
    if (!holds)
        abort();
}

static void remove_folder(void)
{
    (void)unlinkat(cache.folder, name, 0);
    (void)rmdir(path);
}

static void make_folder(void)
{
    require(mkdtemp(path) != NULL);
    cache.folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(cache.folder >= 0);
    snprintf(name, sizeof name, "section-%016llx",
             (unsigned long long)kymo_hash_bytes(&key, sizeof key, 0));
    (void)atexit(remove_folder);
}

static void read_it(const unsigned char *bytes, size_t len)
{
    static unsigned char out[SECTION_BYTES];
    kymo_cached_section *s;
    size_t ready = 0;
    struct iovec part = {(void *)(uintptr_t)bytes, len};
    require(kymo_cache_write(cache.folder, name, &part, 1) == KYMO_OK);
    if (kymo_cached_section_open(&cache, &key, &s) != KYMO_OK)
        return;
    uint64_t has = kymo_cached_section_bytes(s);
    require(has <= SECTION_BYTES && has < len);
    kymo_err err = kymo_cached_section_read(s, out, &ready, (size_t)has);
    require(ready <= has && (ready == has || ready % BLOCK_BYTES == 0));
    require((err == KYMO_OK) == (ready == has));
    require(memcmp(out, bytes + len - has, ready) == 0);
    kymo_cached_section_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (cache.folder < 0)
        make_folder();
    read_it(data, len);
    unsigned char *copy = malloc(len + 1);
    if (!copy || len < HEADER_BYTES) {
        free(copy);
        return 0;
    }
    memcpy(copy, data, len);
    memcpy(copy + KEY_AT, &key, sizeof key);
    memset(copy + SUM_AT, 0, 8);
    uint64_t bytes;
    memcpy(&bytes, copy + SUM_AT - 8, 8);
    size_t sums = (size_t)(bytes / BLOCK_BYTES + (bytes % BLOCK_BYTES != 0)) * 8;
    if (sums <= len - HEADER_BYTES) {
        uint64_t sum =
            kymo_hash_bytes(copy + HEADER_BYTES, sums, kymo_hash_bytes(copy, HEADER_BYTES, 0));
        memcpy(copy + SUM_AT, &sum, 8);
    }
    read_it(copy, len);
    free(copy);
    return 0;
}
