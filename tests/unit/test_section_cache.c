/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/section_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/write_all.h"
#include "unit.h"

#define BYTES (200u << 10) /* not a multiple of a block */

static unsigned char content[BYTES];
static unsigned char got[BYTES];
static const kymo_section_key key = {.device = 1, .inode = 2, .bytes = BYTES};
static kymo_section_cache cache;
static char path[64];

static int begin(void **state)
{
    (void)state;
    for (size_t i = 0; i < BYTES; i++)
        content[i] = (unsigned char)(i * 2654435761u >> 13);
    snprintf(path, sizeof path, "/tmp/kymo-test-XXXXXX");
    assert_non_null(mkdtemp(path));
    cache.folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(cache.folder >= 0);
    return 0;
}

/* The name of the one file; "" if there is none. */
static void only_file(char name[64])
{
    DIR *list = opendir(path);
    assert_non_null(list);
    name[0] = '\0';
    for (struct dirent *e; (e = readdir(list));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        assert_string_equal(name, "");
        snprintf(name, 64, "%.60s", e->d_name);
    }
    closedir(list);
}

static int end(void **state)
{
    (void)state;
    char name[64];
    only_file(name);
    if (name[0])
        assert_int_equal(unlinkat(cache.folder, name, 0), 0);
    close(cache.folder);
    return rmdir(path);
}

static kymo_cached_section *open_it(void)
{
    kymo_cached_section *s = NULL;
    assert_int_equal(kymo_cached_section_open(&cache, &key, &s), KYMO_OK);
    return s;
}

static void gives_what_was_put(void **state)
{
    (void)state;
    static const size_t lengths[] = {1, 4095, 4096, 4097, 65535, 65536, 65537, BYTES};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(lengths); i++) {
        kymo_section_cache_put(&cache, &key, content, lengths[i]);
        kymo_cached_section *s = open_it();
        assert_int_equal(kymo_cached_section_bytes(s), lengths[i]);
        memset(got, 0, sizeof got);
        size_t ready = 0;
        for (size_t to = 1; to < lengths[i]; to += 30000) {
            assert_int_equal(kymo_cached_section_read(s, got, &ready, to), KYMO_OK);
            assert_true(ready >= to && ready <= lengths[i]);
            assert_memory_equal(got, content, ready);
        }
        assert_int_equal(kymo_cached_section_read(s, got, &ready, lengths[i]), KYMO_OK);
        assert_int_equal(ready, lengths[i]);
        assert_memory_equal(got, content, lengths[i]);
        kymo_cached_section_close(s);
    }
    kymo_cached_section_close(NULL);
}

/* Each word of the key counts. */
static void other_keys_have_nothing(void **state)
{
    (void)state;
    uint64_t words[sizeof key / 8];
    kymo_cached_section *s;
    kymo_section_cache_put(&cache, &key, content, BYTES);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(words); i++) {
        kymo_section_key other;
        memcpy(words, &key, sizeof key);
        words[i] ^= 1;
        memcpy(&other, words, sizeof other);
        assert_int_equal(kymo_cached_section_open(&cache, &other, &s), KYMO_E_NOT_FOUND);
    }
    kymo_section_cache none = {.folder = -1};
    kymo_section_cache_put(&none, &key, content, BYTES);
    assert_int_equal(kymo_cached_section_open(&none, &key, &s), KYMO_E_NOT_FOUND);
}

/* The file of one key under the name of another, as after a collision of their hashes. */
static void a_name_is_no_proof(void **state)
{
    (void)state;
    char name[64], other_name[64];
    kymo_section_key other = {.device = 1, .inode = 3, .bytes = BYTES};
    kymo_cached_section *s;
    kymo_section_cache_put(&cache, &key, content, BYTES);
    only_file(name);
    assert_int_equal(unlinkat(cache.folder, name, 0), 0);
    kymo_section_cache_put(&cache, &other, content, BYTES);
    only_file(other_name);
    assert_string_not_equal(name, other_name);
    assert_int_equal(renameat(cache.folder, other_name, cache.folder, name), 0);
    assert_int_equal(kymo_cached_section_open(&cache, &key, &s), KYMO_E_NOT_FOUND);
}

static void read_damaged(void)
{
    kymo_cached_section *s;
    size_t ready = 0;
    if (kymo_cached_section_open(&cache, &key, &s) != KYMO_OK)
        return;
    memset(got, 0, sizeof got);
    assert_int_equal(kymo_cached_section_read(s, got, &ready, BYTES), KYMO_E_CORRUPT);
    assert_true(ready < BYTES);
    assert_memory_equal(got, content, ready); /* what came before the damage is right */
    kymo_cached_section_close(s);
}

static void damage_is_found(void **state)
{
    (void)state;
    char name[64];
    kymo_section_cache_put(&cache, &key, content, BYTES);
    only_file(name);
    int fd = openat(cache.folder, name, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    off_t size = lseek(fd, 0, SEEK_END);
    assert_true(size > BYTES);
    for (off_t at = 0; at < size; at += at < 400 ? 1 : 3001) {
        unsigned char byte, other;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        other = byte ^ 0x41;
        assert_int_equal(pwrite(fd, &other, 1, at), 1);
        read_damaged();
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    assert_int_equal(ftruncate(fd, size + 1), 0);
    read_damaged();
    for (off_t len = size - 1; len >= 0; len -= len < 400 ? 1 : 3001) {
        assert_int_equal(ftruncate(fd, len), 0);
        read_damaged();
    }
    close(fd);
}

/* Between opening and reading, too: it is read, not mapped. */
static void a_file_may_be_cut_while_it_is_open(void **state)
{
    (void)state;
    char name[64];
    size_t ready = 0;
    kymo_section_cache_put(&cache, &key, content, BYTES);
    only_file(name);
    kymo_cached_section *s = open_it();
    int fd = openat(cache.folder, name, O_RDWR | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, 100000), 0);
    close(fd);
    assert_int_equal(kymo_cached_section_read(s, got, &ready, BYTES), KYMO_E_CORRUPT);
    assert_memory_equal(got, content, ready);
    kymo_cached_section_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gives_what_was_put, begin, end),
        cmocka_unit_test_setup_teardown(other_keys_have_nothing, begin, end),
        cmocka_unit_test_setup_teardown(a_name_is_no_proof, begin, end),
        cmocka_unit_test_setup_teardown(damage_is_found, begin, end),
        cmocka_unit_test_setup_teardown(a_file_may_be_cut_while_it_is_open, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
