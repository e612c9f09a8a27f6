/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/write_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

static unsigned char data[1 << 20];

/* A pipe that does not wait takes what it has room for, and then nothing. */
static void tells_how_much_was_written(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    size_t done = kymo_write_all(ends[1], data, sizeof data);
    assert_int_equal(errno, EAGAIN);
    assert_true(done > 0 && done < sizeof data);
    size_t got = 0;
    ssize_t n;
    while ((n = read(ends[0], data, sizeof data)) > 0)
        got += (size_t)n;
    assert_int_equal(got, done);
    close(ends[0]);
    close(ends[1]);
}

/* One that waits takes all, in pieces. */
static void goes_on_after_a_part(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 7 >> 4);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        _exit(kymo_write_all(ends[1], data, sizeof data) != sizeof data);
    }
    close(ends[1]);
    static unsigned char back[sizeof data];
    size_t got = 0;
    ssize_t n;
    while (got < sizeof back && (n = read(ends[0], back + got, 1000)) > 0)
        got += (size_t)n;
    assert_int_equal(got, sizeof back);
    assert_memory_equal(back, data, sizeof back);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(ends[0]);
}

static void tells_why_not(void **state)
{
    (void)state;
    assert_int_equal(kymo_write_all(-1, "x", 1), 0);
    assert_int_equal(errno, EBADF);
    assert_int_equal(kymo_write_all(-1, "", 0), 0);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full < 0)
        return;
    assert_int_equal(kymo_write_all(full, "x", 1), 0);
    assert_int_equal(errno, ENOSPC);
    close(full);
}

static void reads_as_far_as_there_is_something(void **state)
{
    (void)state;
    char text[8] = "";
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(kymo_write_all(fileno(file), "012345", 6), 6);
    assert_int_equal(kymo_read_all(fileno(file), text, 4, 1), 4);
    assert_string_equal(text, "1234");
    assert_int_equal(kymo_read_all(fileno(file), text, 4, 3), 3);
    assert_int_equal(errno, 0);
    assert_int_equal(kymo_read_all(-1, text, 4, 0), 0);
    assert_int_equal(errno, EBADF);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_how_much_was_written),
        cmocka_unit_test(goes_on_after_a_part),
        cmocka_unit_test(tells_why_not),
        cmocka_unit_test(reads_as_far_as_there_is_something),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
