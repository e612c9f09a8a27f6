/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/elf_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf_builder.h"
#include "unit.h"

static kymo_err judge(const void *data, size_t len, kymo_elf_target *out, kymo_error *detail)
{
    int fd = memfd_create("target", 0);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), (ssize_t)len);
    kymo_err err = kymo_elf_target_read(fd, out, detail);
    close(fd);
    return err;
}

static void a_program(void **state)
{
    (void)state;
    kymo_elf_target t;
    struct elf_image e = elf_image_program();
    assert_int_equal(judge(&e, sizeof e, &t, NULL), KYMO_OK);
    assert_int_equal(t.elf_class, ELFCLASS64);
    assert_int_equal(t.machine, EM_X86_64);
    assert_int_equal(t.type, ET_DYN);
    assert_true(t.has_interp);
    assert_string_equal(t.interpreter, ELF_IMAGE_LOADER);
    assert_false(t.has_asan);
    assert_true(t.needs_libc);
    assert_false(t.big_endian);
}

static void a_program_without_libc(void **state)
{
    (void)state;
    kymo_elf_target t;
    struct elf_image e = elf_image_program();
    memcpy(e.strings + 1, "libm.so.6", 10);
    assert_int_equal(judge(&e, sizeof e, &t, NULL), KYMO_OK);
    assert_true(t.has_interp);
    assert_false(t.needs_libc);
    /* As Go links a position-independent program: there is a loader, and nothing to load. */
    e.dyn[0].d_tag = DT_DEBUG;
    assert_int_equal(judge(&e, sizeof e, &t, NULL), KYMO_OK);
    assert_false(t.needs_libc);
}

static void this_very_test(void **state)
{
    (void)state;
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    assert_true(n > 0);
    exe[n] = '\0';
    FILE *f = fopen(exe, "rb");
    assert_non_null(f);
    kymo_elf_target t;
    assert_int_equal(kymo_elf_target_read(fileno(f), &t, NULL), KYMO_OK);
    fclose(f);
    assert_true(t.has_interp);
#ifdef __SANITIZE_ADDRESS__
    assert_true(t.has_asan);
#else
    assert_false(t.has_asan);
#endif
}

static void sanitizers_are_seen(void **state)
{
    (void)state;
    kymo_elf_target t;
    struct elf_image e = elf_image_program();
    memcpy(e.strings + 1, "libasan.so.8", 13);
    assert_int_equal(judge(&e, sizeof e, &t, NULL), KYMO_OK);
    assert_true(t.has_asan);

    e = elf_image_program();
    memcpy(e.strings + 1, "libclang_rt.asan-x86_64.so", 27);
    assert_int_equal(judge(&e, sizeof e, &t, NULL), KYMO_OK);
    assert_true(t.has_asan);

    /* Linked statically: only its symbol is there. */
    e = elf_image_program();
    memcpy(e.strings + 16, "\0__asan_init", 13);
    assert_int_equal(judge(&e, sizeof e, &t, NULL), KYMO_OK);
    assert_true(t.has_asan);

    e = elf_image_program();
    memcpy(e.strings + 1, "libtsan.so.2", 13);
    assert_int_equal(judge(&e, sizeof e, &t, NULL), KYMO_OK);
    assert_true(t.has_tsan && !t.has_asan);
    e = elf_image_program();
    memcpy(e.strings + 16, "\0__tsan_init", 13);
    assert_int_equal(judge(&e, sizeof e, &t, NULL), KYMO_OK);
    assert_true(t.has_tsan && !t.has_asan);

    /* Names that only look like it. */
    e = elf_image_program();
    memcpy(e.strings + 16, "\0my__asan_init\0__asan_init_v2", 30);
    assert_int_equal(judge(&e, sizeof e, &t, NULL), KYMO_OK);
    assert_false(t.has_asan);
}

/* The name is found at every place of a long string table, so also across two pieces of it. */
static void the_search_overlaps(void **state)
{
    (void)state;
    enum { SIZE = 3 * 4096 };
    struct elf_image e = elf_image_program();
    size_t strings = sizeof e;
    unsigned char *file = calloc(1, sizeof e + SIZE);
    assert_non_null(file);
    e.load.p_filesz = sizeof e + SIZE;
    e.dyn[1].d_un.d_ptr = strings;
    e.dyn[2].d_un.d_val = SIZE;
    for (size_t at = 4080; at < 4110; at++) {
        kymo_elf_target t;
        memcpy(file, &e, sizeof e);
        memset(file + strings, 'x', SIZE);
        memcpy(file + strings + at, "\0__asan_init", 13);
        assert_int_equal(judge(file, sizeof e + SIZE, &t, NULL), KYMO_OK);
        assert_true(t.has_asan);
        file[strings + at + 5] = 'x';
        assert_int_equal(judge(file, sizeof e + SIZE, &t, NULL), KYMO_OK);
        assert_false(t.has_asan);
    }
    free(file);
}

/* The filter of the symbols' hash table answers before the search; a broken one is not believed. */
static void a_filter_spares_the_search(void **state)
{
    (void)state;
    const uint32_t hash = 0x5fd16099; /* of "__asan_init" */
    struct {
        struct elf_image image;
        uint32_t buckets, first_symbol, words, shift;
        uint64_t word;
    } f = {.image = elf_image_program(), .buckets = 1, .first_symbol = 1, .words = 1, .shift = 6};
    kymo_elf_target t;
    f.image.load.p_filesz = sizeof f;
    f.image.dyn[3].d_tag = DT_GNU_HASH;
    f.image.dyn[3].d_un.d_ptr = sizeof f.image;
    memcpy(f.image.strings + 16, "\0__asan_init", 13);
    f.word = ~(1ull << hash % 64);
    assert_int_equal(judge(&f, sizeof f, &t, NULL), KYMO_OK);
    assert_false(t.has_asan);
    f.word = ~(1ull << (hash >> 6) % 64);
    assert_int_equal(judge(&f, sizeof f, &t, NULL), KYMO_OK);
    assert_false(t.has_asan);
    f.word = 1ull << hash % 64 | 1ull << (hash >> 6) % 64;
    assert_int_equal(judge(&f, sizeof f, &t, NULL), KYMO_OK);
    assert_true(t.has_asan);

    f.word = 0;
    f.words = 0;
    assert_int_equal(judge(&f, sizeof f, &t, NULL), KYMO_OK);
    assert_true(t.has_asan);
    f.words = 1;
    f.shift = 32;
    assert_int_equal(judge(&f, sizeof f, &t, NULL), KYMO_OK);
    assert_true(t.has_asan);
    f.shift = 6;
    f.image.dyn[3].d_un.d_ptr = sizeof f;
    assert_int_equal(judge(&f, sizeof f, &t, NULL), KYMO_OK);
    assert_true(t.has_asan);
}

static void other_kinds(void **state)
{
    (void)state;
    kymo_elf_target t;
    struct elf_image e = elf_image_program();
    e.ehdr.e_phnum = 1;
    assert_int_equal(judge(&e, sizeof e, &t, NULL), KYMO_OK);
    assert_false(t.has_interp);
    assert_string_equal(t.interpreter, "");

    e = elf_image_program();
    e.ehdr.e_ident[EI_CLASS] = ELFCLASS32;
    assert_int_equal(judge(&e, EI_NIDENT, &t, NULL), KYMO_OK);
    assert_int_equal(t.elf_class, ELFCLASS32);

    assert_int_equal(judge("#!/bin/sh\n", 10, &t, NULL), KYMO_E_UNSUPPORTED);
    assert_int_equal(judge("", 0, &t, NULL), KYMO_E_UNSUPPORTED);
    assert_int_equal(judge("\177ELF", 4, &t, NULL), KYMO_E_UNSUPPORTED);
}

static void broken_files_are_refused(void **state)
{
    (void)state;
    kymo_elf_target t;
    kymo_error detail;
    struct elf_image e = elf_image_program();
    for (size_t len = EI_NIDENT; len < offsetof(struct elf_image, dyn); len++)
        assert_int_equal(judge(&e, len, &t, &detail), KYMO_E_CORRUPT);

    e = elf_image_program();
    e.ehdr.e_phnum = 0xffff;
    assert_int_equal(judge(&e, sizeof e, &t, &detail), KYMO_E_CORRUPT);
    e = elf_image_program();
    e.ehdr.e_phoff = UINT64_MAX - 8;
    assert_int_equal(judge(&e, sizeof e, &t, &detail), KYMO_E_CORRUPT);
    e = elf_image_program();
    e.interp.p_filesz = UINT64_MAX;
    assert_int_equal(judge(&e, sizeof e, &t, &detail), KYMO_E_CORRUPT);
    e = elf_image_program();
    e.interp.p_filesz--; /* not NUL-terminated */
    assert_int_equal(judge(&e, sizeof e, &t, &detail), KYMO_E_CORRUPT);
    e = elf_image_program();
    e.interp.p_offset = UINT64_MAX - 4;
    assert_int_equal(judge(&e, sizeof e, &t, &detail), KYMO_E_CORRUPT);
}

/* A dynamic section that makes no sense is left to the loader. */
static void broken_dynamic_sections_say_nothing(void **state)
{
    (void)state;
    kymo_elf_target t;
    struct elf_image e = elf_image_program();
    e.dynamic.p_offset = UINT64_MAX - 16;
    assert_int_equal(judge(&e, sizeof e, &t, NULL), KYMO_OK);
    e = elf_image_program();
    e.dynamic.p_filesz = UINT64_MAX;
    assert_int_equal(judge(&e, sizeof e, &t, NULL), KYMO_OK);
    e = elf_image_program();
    e.dyn[1].d_un.d_ptr = UINT64_MAX;
    e.dyn[2].d_un.d_val = UINT64_MAX;
    assert_int_equal(judge(&e, sizeof e, &t, NULL), KYMO_OK);
    assert_false(t.has_asan);
    e = elf_image_program();
    e.load.p_offset = INT64_MAX - 8;
    e.load.p_filesz = UINT64_MAX;
    e.dyn[2].d_un.d_val = UINT64_MAX;
    assert_int_equal(judge(&e, sizeof e, &t, NULL), KYMO_OK);
    assert_false(t.has_asan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program),
        cmocka_unit_test(a_program_without_libc),
        cmocka_unit_test(this_very_test),
        cmocka_unit_test(sanitizers_are_seen),
        cmocka_unit_test(the_search_overlaps),
        cmocka_unit_test(a_filter_spares_the_search),
        cmocka_unit_test(other_kinds),
        cmocka_unit_test(broken_files_are_refused),
        cmocka_unit_test(broken_dynamic_sections_say_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
