/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "import/importer.h"
#include "kymo/import.h"
#include "profile_fixture.h"

static const char text[] = "main;f 1\nmain;g 2\n";

/* data, compressed, in memory that the caller frees. */
static unsigned char *pack(const void *data, size_t len, size_t *packed_len)
{
    size_t cap = len / 100 + 1000;
    unsigned char *packed = malloc(cap);
    assert_non_null(packed);
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data,
                  .avail_in = (uInt)len,
                  .next_out = packed,
                  .avail_out = (uInt)cap};
    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *packed_len = cap - z.avail_out;
    deflateEnd(&z);
    return packed;
}

static void assert_reads(const void *data, size_t len, uint64_t samples)
{
    kymo_profile *p = NULL;
    kymo_error detail = {.message = ""};
    if (kymo_import_memory(data, len, &p, &detail) != KYMO_OK)
        fail_msg("%s", detail.message);
    assert_int_equal(kymo_profile_sample_count(p), samples);
    kymo_profile_destroy(p);
}

static void assert_fails(const void *data, size_t len, kymo_err err, const char *part)
{
    kymo_profile *p = NULL;
    kymo_error detail = {.message = ""};
    assert_int_equal(kymo_import_memory(data, len, &p, &detail), err);
    if (!strstr(detail.message, part))
        fail_msg("no \"%s\" in \"%s\"", part, detail.message);
    assert_null(p);
}

static void formats_are_found_by_content(void **state)
{
    (void)state;
    size_t len;
    unsigned char *packed = pack(text, sizeof text - 1, &len);
    assert_string_equal(kymo_import_format_of(text, sizeof text - 1)->name, "collapsed");
    assert_string_equal(kymo_import_format_of(packed, len)->name, "collapsed");
    assert_null(kymo_import_format_of(packed, 1));
    assert_null(kymo_import_format_of("", 0));
    assert_null(kymo_import_format_of("KYMO\r\n\x1a\n\1\0\0\0", 12));
    assert_null(kymo_import_format_of("\177ELF\2\1\1\0\0\0\0\0", 12));
    assert_null(kymo_import_format_of("\x0a\x05hello\x0a\x05world", 14));
    assert_string_equal(
        kymo_import_format_of("\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04", 12)->name,
        "pprof");
    assert_string_equal(kymo_import_format_of("\x32\0\x32\7samples", 11)->name, "pprof");
    for (size_t i = 0; kymo_import_format_at(i); i++)
        assert_true(kymo_import_format_at(i)->title[0] != '\0');
    free(packed);
}

static void members_of_gzip_follow_each_other(void **state)
{
    (void)state;
    size_t len;
    unsigned char both[2000];
    unsigned char *packed = pack(text, sizeof text - 1, &len);
    assert_reads(packed, len, 2);
    memcpy(both, packed, len);
    memcpy(both + len, packed, len);
    assert_reads(both, 2 * len, 4);
    free(packed);
}

static void damage_of_gzip_is_told(void **state)
{
    (void)state;
    size_t len;
    unsigned char *packed = pack(text, sizeof text - 1, &len);
    for (size_t cut = 20; cut < len; cut++)
        assert_fails(packed, cut, KYMO_E_TRUNCATED, "gzip data ends too early");
    packed[len - 6] ^= 1; /* of its checksum */
    assert_fails(packed, len, KYMO_E_CORRUPT, "gzip data at byte");
    free(packed);
}

static void a_bomb_stays_small(void **state)
{
    (void)state;
    size_t size = (size_t)KYMO_IMPORT_BYTES_MAX + (1 << 20);
    size_t len;
    char *line = malloc(size);
    assert_non_null(line);
    memset(line, 'a', size);
    memcpy(line, "a;b 1\n", 6);
    unsigned char *packed = pack(line, size, &len);
    free(line);
    assert_fails(packed, len, KYMO_E_TOO_BIG, "more than 384 MiB of data; use a smaller profile");
    free(packed);
}

/* Few bytes of a file become many of a profile. */
static void what_grows_is_limited(void **state)
{
    (void)state;
    size_t lines = 4 << 20;
    char *many = malloc(lines * 10);
    size_t len = 0;
    assert_non_null(many);
    for (size_t i = 0; i < lines; i++) {
        static const char digits[] = "0123456789abcdef";
        for (int k = 20; k >= 0; k -= 4)
            many[len++] = digits[i >> k & 15];
        memcpy(many + len, i ? " 1\n" : ";a 1\n", i ? 3 : 5);
        len += i ? 3 : 5;
    }
    assert_fails(many, len, KYMO_E_TOO_BIG, "needs more than 384 MiB of memory");
    free(many);
}

static void a_pipe_is_looked_into_and_not_emptied(void **state)
{
    (void)state;
    int fds[2];
    kymo_profile *p;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(write(fds[1], text, sizeof text - 1), sizeof text - 1);
    close(fds[1]);
    assert_string_equal(kymo_import_format_of_fd(fds[0])->name, "collapsed");
    assert_string_equal(kymo_import_format_of_fd(fds[0])->name, "collapsed");
    ok(kymo_import_fd(fds[0], &p, NULL));
    assert_int_equal(kymo_profile_sample_count(p), 2);
    assert_null(kymo_import_format_of_fd(fds[0])); /* its end */
    close(fds[0]);
    kymo_profile_destroy(p);
}

static void a_file_is_read_from_where_it_is(void **state)
{
    (void)state;
    char path[] = "/tmp/kymo-import-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    kymo_profile *p;
    kymo_error detail;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    ok(kymo_import_file(path, &p, &detail));
    assert_int_equal(kymo_profile_sample_count(p), 2);
    kymo_profile_destroy(p);
    assert_int_equal(lseek(fd, 9, SEEK_SET), 9);
    assert_string_equal(kymo_import_format_of_fd(fd)->name, "collapsed");
    ok(kymo_import_fd(fd, &p, &detail));
    assert_int_equal(kymo_profile_sample_count(p), 1);
    kymo_profile_destroy(p);
    close(fd);
    unlink(path);
    assert_int_equal(kymo_import_file(path, &p, &detail), KYMO_E_NOT_FOUND);
    assert_non_null(strstr(detail.message, path));
    assert_int_equal(kymo_import_file("/", &p, &detail), KYMO_E_SYSTEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_found_by_content),
        cmocka_unit_test(members_of_gzip_follow_each_other),
        cmocka_unit_test(damage_of_gzip_is_told),
        cmocka_unit_test(a_bomb_stays_small),
        cmocka_unit_test(what_grows_is_limited),
        cmocka_unit_test(a_pipe_is_looked_into_and_not_emptied),
        cmocka_unit_test(a_file_is_read_from_where_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
