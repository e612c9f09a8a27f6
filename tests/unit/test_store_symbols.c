/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/finish.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recording_fixture.h"

static int file_with(const kymo_bytes *bytes, size_t len)
{
    int fd = memfd_create("recording", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes->data, len), (ssize_t)len);
    return fd;
}

static kymo_bytes content(int fd)
{
    kymo_bytes bytes;
    unsigned char piece[4096];
    ssize_t n;
    kymo_bytes_init(&bytes, RECORDING_LIMIT);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    while ((n = read(fd, piece, sizeof piece)) > 0)
        assert_int_equal(kymo_bytes_append(&bytes, piece, (size_t)n), KYMO_OK);
    return bytes;
}

/* A file that is not there has no names, and the recording says that, before its end. */
static void a_whole_recording_gets_its_names(void **state)
{
    (void)state;
    kymo_bytes before = file_of(sample_recording_emit);
    int fd = file_with(&before, before.len);
    kymo_str text = {0};
    assert_int_equal(kymo_store_symbols(fd, 0, NULL, NULL), KYMO_OK);
    kymo_bytes after = content(fd);
    assert_true(after.len > before.len);
    /* 32 bytes of END are where they were, at the end. */
    assert_memory_equal(after.data, before.data, before.len - 32);
    assert_memory_equal(after.data + after.len - 32, before.data + before.len - 32, 32);
    kymo_recording_report report = read_into(&after, &text);
    assert_string_equal(report.text, "");
    assert_int_equal(report.end_at, after.len - 32);
    assert_non_null(strstr(kymo_str_cstr(&text), "symbols state=1 path=\"/lib/libc.so.6\""));
    kymo_str_deinit(&text);
    kymo_bytes_deinit(&after);
    kymo_bytes_deinit(&before);
    close(fd);
}

/* The recorder was killed, or the disk was full: nothing is added to what there is. */
static void a_cut_recording_stays(void **state)
{
    (void)state;
    kymo_bytes before = file_of(sample_recording_emit);
    const size_t cuts[] = {before.len - 32, before.len - 8, before.len / 8 / 2 * 8};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(cuts); i++) {
        int fd = file_with(&before, cuts[i]);
        assert_int_equal(kymo_store_symbols(fd, 0, NULL, NULL), KYMO_OK);
        kymo_bytes after = content(fd);
        assert_int_equal(after.len, cuts[i]);
        assert_memory_equal(after.data, before.data, cuts[i]);
        kymo_bytes_deinit(&after);
        close(fd);
    }
    kymo_bytes_deinit(&before);
}

/* No room for the names: the recording is as it was. */
static void a_full_disk_takes_nothing(void **state)
{
    (void)state;
    kymo_bytes before = file_of(sample_recording_emit);
    int fd = memfd_create("recording", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(write(fd, before.data, before.len), (ssize_t)before.len);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
    kymo_error detail = {0};
    assert_int_not_equal(kymo_store_symbols(fd, 0, NULL, &detail), KYMO_OK);
    assert_string_not_equal(detail.message, "");
    kymo_bytes after = content(fd);
    kymo_str text = {0};
    kymo_recording_report report = read_into(&after, &text);
    assert_int_not_equal(report.ending, KYMO_RECORDING_CORRUPT);
    assert_memory_equal(after.data, before.data, before.len - 32);
    kymo_str_deinit(&text);
    kymo_bytes_deinit(&after);
    kymo_bytes_deinit(&before);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_recording_gets_its_names),
        cmocka_unit_test(a_cut_recording_stays),
        cmocka_unit_test(a_full_disk_takes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
