/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/elf_file.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inflates_as_far_as_asked),
        cmocka_unit_test(gives_what_is_pending),
        cmocka_unit_test(keeps_what_comes_before_damage),
        cmocka_unit_test(counts_uses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
