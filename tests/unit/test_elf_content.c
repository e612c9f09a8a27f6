/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/elf_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/hash.h"
#include "symbolize/section_cache.h"
#include "unit.h"

#define ok(expr) assert_int_equal((expr), KYMO_OK)
#define CONTENT_BYTES (1u << 20)
#define AT 256u

/* An image with one section of bytes, which its header says are compressed. */
typedef struct image {
    unsigned char bytes[2 * CONTENT_BYTES];
    kymo_elf_section section;
    kymo_elf_file file;
} image;

static image *make(const unsigned char *content, int compressed)
{
    image *m = calloc(1, sizeof *m);
    assert_non_null(m);
    uLongf packed = sizeof m->bytes - AT - sizeof(Elf64_Chdr);
    m->section = (kymo_elf_section){.name = ".debug_info", .type = SHT_PROGBITS, .offset = AT};
    if (compressed) {
        Elf64_Chdr head = {.ch_type = 1, .ch_size = CONTENT_BYTES};
        memcpy(m->bytes + AT, &head, sizeof head);
        assert_int_equal(compress2(m->bytes + AT + sizeof head, &packed, content, CONTENT_BYTES, 9),
                         Z_OK);
        m->section.flags = SHF_COMPRESSED;
        m->section.size = sizeof head + packed;
    } else {
        memcpy(m->bytes + AT, content, CONTENT_BYTES);
        m->section.size = CONTENT_BYTES;
    }
    m->file = (kymo_elf_file){.fd = -1, .image = m->bytes, .size = sizeof m->bytes};
    return m;
}

static unsigned char *numbers(void)
{
    unsigned char *content = malloc(CONTENT_BYTES);
    assert_non_null(content);
    uint32_t state = 1;
    for (size_t i = 0; i < CONTENT_BYTES; i++) {
        state = state * 1664525u + 1013904223u;
        content[i] = (unsigned char)(state >> 28);
    }
    return content;
}

static void read_in_steps(image *m, const unsigned char *content)
{
    kymo_span s, first;
    ok(kymo_elf_load_begin(&m->file, &m->section, &s));
    assert_int_equal(s.size, 0);
    ok(kymo_elf_load_to(&m->file, &m->section, 1, &first));
    assert_true(first.size >= 1 && first.size < CONTENT_BYTES / 2);
    for (size_t end = 1; end < CONTENT_BYTES + 99999; end += 99999) {
        ok(kymo_elf_load_to(&m->file, &m->section, end, &s));
        assert_true(s.size >= (end < CONTENT_BYTES ? end : CONTENT_BYTES));
        assert_ptr_equal(s.data, first.data);
        assert_memory_equal(s.data, content, s.size);
    }
    assert_int_equal(s.size, CONTENT_BYTES);
    assert_int_equal(s.data[s.size], 0);
    kymo_elf_unload(&m->section);
    assert_null(m->section.content);
}

static void inflates_as_far_as_asked(void **state)
{
    (void)state;
    unsigned char *content = numbers();
    for (int compressed = 0; compressed < 2; compressed++) {
        image *m = make(content, compressed);
        read_in_steps(m, content);
        free(m);
    }
    free(content);
}

/* All of it fits into one read: later steps find no more input, and have output nevertheless. */
static void gives_what_is_pending(void **state)
{
    (void)state;
    unsigned char *content = calloc(1, CONTENT_BYTES);
    assert_non_null(content);
    image *m = make(content, 1);
    assert_true(m->section.size < 4096);
    read_in_steps(m, content);
    free(m);
    free(content);
}

static void keeps_what_comes_before_damage(void **state)
{
    (void)state;
    unsigned char *content = numbers();
    image *m = make(content, 1);
    m->section.size /= 2;
    kymo_span s;
    assert_int_equal(kymo_elf_load(&m->file, &m->section, &s), KYMO_E_CORRUPT);
    assert_null(m->section.content);
    ok(kymo_elf_load_begin(&m->file, &m->section, &s));
    ok(kymo_elf_load_to(&m->file, &m->section, 1000, &s));
    for (int i = 0; i < 2; i++)
        assert_int_equal(kymo_elf_load_to(&m->file, &m->section, UINT64_MAX, &s), KYMO_E_CORRUPT);
    assert_true(s.size > CONTENT_BYTES / 3 && s.size < CONTENT_BYTES);
    assert_memory_equal(s.data, content, s.size);
    kymo_elf_unload(&m->section);
    free(m);
    free(content);
}

/* Of what is not compressed nothing before it. */
static void parts_are_read_anywhere(void **state)
{
    (void)state;
    unsigned char *content = numbers();
    for (int compressed = 0; compressed < 2; compressed++) {
        image *m = make(content, compressed);
        kymo_span s;
        ok(kymo_elf_load_begin(&m->file, &m->section, &s));
        s = kymo_elf_extent(&m->section);
        assert_int_equal(s.size, CONTENT_BYTES);
        if (!compressed)
            memset(m->bytes + AT, 0, 290000);
        for (uint64_t at = CONTENT_BYTES - 5000; at > 300000; at -= 70001) {
            ok(kymo_elf_load_part(&m->file, &m->section, at, at + 5000));
            assert_memory_equal(s.data + at, content + at, 5000);
        }
        ok(kymo_elf_load_part(&m->file, &m->section, CONTENT_BYTES, CONTENT_BYTES));
        assert_int_equal(
            kymo_elf_load_part(&m->file, &m->section, CONTENT_BYTES, CONTENT_BYTES + 1),
            KYMO_E_TRUNCATED);
        assert_int_equal(kymo_elf_load_part(&m->file, &m->section, 2, 1), KYMO_E_TRUNCATED);
        kymo_elf_unload(&m->section);
        free(m);
    }
    free(content);
}

static void counts_uses(void **state)
{
    (void)state;
    unsigned char *content = numbers();
    image *m = make(content, 1);
    kymo_span part, whole;
    ok(kymo_elf_load_begin(&m->file, &m->section, &part));
    ok(kymo_elf_load_to(&m->file, &m->section, 1, &part));
    ok(kymo_elf_load(&m->file, &m->section, &whole));
    assert_ptr_equal(whole.data, part.data);
    assert_memory_equal(whole.data, content, CONTENT_BYTES);
    kymo_elf_unload(&m->section);
    assert_non_null(m->section.content);
    kymo_elf_unload(&m->section);
    assert_null(m->section.content);
    free(m);
    free(content);
}

/* ---- with a cache ---- */

/* The same section in a file, and an empty cache. */
typedef struct cached_image {
    image *m;
    unsigned char *content;
    kymo_section_cache cache;
    char path[32];
} cached_image;

static cached_image begin_cached(void)
{
    cached_image c = {.content = numbers(), .path = "/tmp/kymo-test-XXXXXX"};
    c.m = make(c.content, 1);
    kymo_elf_file *file = &c.m->file;
    file->fd = memfd_create("image", MFD_CLOEXEC);
    assert_true(file->fd >= 0);
    file->image = NULL;
    assert_int_equal(write(file->fd, c.m->bytes, sizeof c.m->bytes), sizeof c.m->bytes);
    file->build_id_len = 20;
    file->state = (kymo_elf_state){.inode = 7, .changed_ns = 1};
    assert_non_null(mkdtemp(c.path));
    c.cache.folder = open(c.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(c.cache.folder >= 0);
    return c;
}

static void name_of(const cached_image *c, char name[32])
{
    const kymo_elf_file *f = &c->m->file;
    kymo_section_key key = {.inode = 7,
                            .changed_ns = 1,
                            .file_bytes = f->size,
                            .build_id = kymo_hash_bytes(f->build_id, f->build_id_len, 0),
                            .offset = AT,
                            .packed_bytes = c->m->section.size,
                            .bytes = CONTENT_BYTES};
    snprintf(name, 32, "section-%016llx", (unsigned long long)kymo_hash_bytes(&key, sizeof key, 0));
}

/* The bytes of its one file; -1: there is none. */
static off_t cached_bytes(const cached_image *c)
{
    char name[32];
    struct stat st;
    name_of(c, name);
    return fstatat(c->cache.folder, name, &st, 0) == 0 ? st.st_size : -1;
}

static void end_cached(cached_image *c)
{
    char name[32];
    name_of(c, name);
    (void)unlinkat(c->cache.folder, name, 0);
    close(c->cache.folder);
    assert_int_equal(rmdir(c->path), 0);
    close(c->m->file.fd);
    free(c->m);
    free(c->content);
}

/* Opens the section, reads up to `end`, and closes it. */
static void look_up(cached_image *c, uint64_t end)
{
    kymo_span s;
    c->m->file.cache = &c->cache;
    ok(kymo_elf_load_begin(&c->m->file, &c->m->section, &s));
    ok(kymo_elf_load_to(&c->m->file, &c->m->section, end, &s));
    assert_true(s.size >= end || s.size == CONTENT_BYTES);
    assert_memory_equal(s.data, c->content, s.size);
    kymo_elf_unload(&c->m->section);
}

/* As a test of what is not read: the compressed bytes. */
static void spoil_file(const cached_image *c)
{
    static const char zeros[CONTENT_BYTES];
    assert_int_equal(pwrite(c->m->file.fd, zeros, sizeof zeros, AT + 100), sizeof zeros);
}

static void the_cache_is_read_instead(void **state)
{
    (void)state;
    cached_image c = begin_cached();
    look_up(&c, 200000);
    off_t part = cached_bytes(&c);
    assert_true(part > 200000 && part < CONTENT_BYTES / 2);
    spoil_file(&c);
    look_up(&c, 1000);
    look_up(&c, 200000);
    assert_int_equal(cached_bytes(&c), part); /* was not written again */
    end_cached(&c);
}

static void the_second_time_all_is_kept(void **state)
{
    (void)state;
    cached_image c = begin_cached();
    look_up(&c, 100);
    off_t part = cached_bytes(&c);
    look_up(&c, 300000);
    assert_true(part < CONTENT_BYTES / 2 && cached_bytes(&c) > CONTENT_BYTES);
    spoil_file(&c);
    look_up(&c, UINT64_MAX);
    end_cached(&c);
}

static void of_a_damaged_cache_only_right_bytes_are_used(void **state)
{
    (void)state;
    cached_image c = begin_cached();
    char name[32];
    look_up(&c, UINT64_MAX);
    off_t whole = cached_bytes(&c);
    name_of(&c, name);
    for (off_t at = 1; at < whole; at += 50021) {
        int fd = openat(c.cache.folder, name, O_WRONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        if (at % 2)
            assert_int_equal(pwrite(fd, "damage", 6, at), 6);
        else
            assert_int_equal(ftruncate(fd, at), 0);
        close(fd);
        kymo_span s;
        ok(kymo_elf_load_begin(&c.m->file, &c.m->section, &s));
        for (uint64_t end = 0; end < CONTENT_BYTES + 200000; end += 200000) {
            ok(kymo_elf_load_to(&c.m->file, &c.m->section, end, &s));
            assert_memory_equal(s.data, c.content, s.size);
        }
        assert_int_equal(s.size, CONTENT_BYTES);
        kymo_elf_unload(&c.m->section);
        assert_int_equal(cached_bytes(&c), whole); /* mended */
        look_up(&c, UINT64_MAX);
    }
    end_cached(&c);
}

/* Damage before it changes nothing, and is found when those bytes are needed. */
static void a_part_of_the_cache_is_enough(void **state)
{
    (void)state;
    cached_image c = begin_cached();
    char name[32];
    kymo_span s;
    look_up(&c, UINT64_MAX);
    off_t whole = cached_bytes(&c);
    name_of(&c, name);
    int fd = openat(c.cache.folder, name, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "damage", 6, whole - CONTENT_BYTES + 1000), 6);
    close(fd);
    ok(kymo_elf_load_begin(&c.m->file, &c.m->section, &s));
    s = kymo_elf_extent(&c.m->section);
    ok(kymo_elf_load_part(&c.m->file, &c.m->section, 200000, 300000));
    assert_memory_equal(s.data + 200000, c.content + 200000, 100000);
    kymo_span before;
    ok(kymo_elf_load_to(&c.m->file, &c.m->section, 0, &before));
    assert_int_equal(before.size, 0); /* was not inflated */
    ok(kymo_elf_load_part(&c.m->file, &c.m->section, 0, 2000));
    assert_memory_equal(s.data, c.content, 2000); /* inflated again */
    ok(kymo_elf_load_to(&c.m->file, &c.m->section, UINT64_MAX, &s));
    assert_memory_equal(s.data, c.content, CONTENT_BYTES);
    kymo_elf_unload(&c.m->section);
    end_cached(&c);
}

/* What was read before the damage stays when the file itself can no longer be inflated. */
static void bytes_in_use_stay(void **state)
{
    (void)state;
    cached_image c = begin_cached();
    char name[32];
    kymo_span s;
    look_up(&c, UINT64_MAX);
    name_of(&c, name);
    ok(kymo_elf_load_begin(&c.m->file, &c.m->section, &s));
    ok(kymo_elf_load_to(&c.m->file, &c.m->section, 150000, &s));
    int fd = openat(c.cache.folder, name, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(fd >= 0);
    close(fd);
    spoil_file(&c);
    assert_int_equal(kymo_elf_load_to(&c.m->file, &c.m->section, UINT64_MAX, &s), KYMO_E_CORRUPT);
    assert_true(s.size >= 150000);
    assert_memory_equal(s.data, c.content, s.size);
    kymo_elf_unload(&c.m->section);
    assert_int_equal(cached_bytes(&c), 0); /* nothing of it is kept */
    end_cached(&c);
}

static void what_may_change_is_not_kept(void **state)
{
    (void)state;
    cached_image c = begin_cached();
    kymo_elf_file *file = &c.m->file;
    file->build_id_len = 0;
    look_up(&c, UINT64_MAX);
    file->build_id_len = 20;
    file->state.changed_ns = (uint64_t)time(NULL) * 1000000000u;
    look_up(&c, UINT64_MAX);
    file->state.changed_ns = 1;
    c.cache.folder = -c.cache.folder; /* no folder */
    look_up(&c, UINT64_MAX);
    c.cache.folder = -c.cache.folder;
    end_cached(&c); /* finds an empty folder */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inflates_as_far_as_asked),
        cmocka_unit_test(gives_what_is_pending),
        cmocka_unit_test(keeps_what_comes_before_damage),
        cmocka_unit_test(parts_are_read_anywhere),
        cmocka_unit_test(counts_uses),
        cmocka_unit_test(a_part_of_the_cache_is_enough),
        cmocka_unit_test(the_cache_is_read_instead),
        cmocka_unit_test(the_second_time_all_is_kept),
        cmocka_unit_test(of_a_damaged_cache_only_right_bytes_are_used),
        cmocka_unit_test(bytes_in_use_stay),
        cmocka_unit_test(what_may_change_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
