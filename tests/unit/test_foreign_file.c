/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/steps.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "unit.h"

static void expect(const void *head, size_t len, const char *part)
{
    const char *name = kymo_foreign_name(head, len);
    if (part ? !name || !strstr(name, part) : name != NULL)
        fail_msg("\"%.20s\": %s; wanted %s", (const char *)head, name ? name : "not known",
                 part ? part : "nothing");
}

#define EXPECT(bytes, part) expect(bytes, sizeof bytes - 1, part)

static void formats_are_known_by_their_first_bytes(void **state)
{
    (void)state;
    EXPECT("PERFILE2\x68\0\0\0", "perf report");
    EXPECT("\177ELF\2\1\1", "kymo record -- PROGRAM");
    EXPECT("{\"$schema\":\"https://www.speedscope.app/file-format", "speedscope");
    EXPECT("{\"traceEvents\":[", "perfetto");
    EXPECT("{\"a\":1}", "JSON");
    EXPECT("<svg xmlns=", "SVG");
}

static void what_is_compressed_is_looked_into(void **state)
{
    (void)state;
    static const char *const plain[][2] = {{"{\"traceEvents\":[", "perfetto"},
                                           {"anything else", "gzip"}};
    for (size_t i = 0; i < 2; i++) {
        unsigned char packed[256];
        z_stream z = {.next_in = (Bytef *)(uintptr_t)plain[i][0],
                      .avail_in = (uInt)strlen(plain[i][0]),
                      .next_out = packed,
                      .avail_out = sizeof packed};
        assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        size_t len = sizeof packed - z.avail_out;
        deflateEnd(&z);
        expect(packed, len, plain[i][1]);
        expect(packed, 5, "gzip"); /* cut */
    }
}

static void the_rest_is_not_guessed(void **state)
{
    (void)state;
    EXPECT("", NULL);
    EXPECT("\x1f", NULL);
    EXPECT("this is a text\n", NULL);
    EXPECT("a;b\n", NULL);
    EXPECT("a;b 5\n", NULL);
    EXPECT("; 5", NULL);
    EXPECT("KYMO", NULL);
}

static void write_perf(int fd)
{
    static const char perf[8192] = "PERFILE2";
    assert_int_equal(write(fd, perf, sizeof perf), sizeof perf);
}

static void a_pipe_is_not_opened_again(void **state)
{
    (void)state;
    char path[] = "/tmp/kymo-foreign-XXXXXX";
    char c;
    assert_non_null(mkdtemp(path));
    assert_int_equal(chdir(path), 0);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    int fd = open("fifo", O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    write_perf(fd);
    assert_int_equal(kymo_foreign_say(-1, "fifo"), 0);
    assert_int_equal(kymo_foreign_say(fd, "fifo"), 0);
    assert_int_equal(read(fd, &c, 1), 1);
    assert_int_equal(c, 'P'); /* nothing was taken out of it */
    close(fd);
    assert_int_equal(kymo_foreign_say(-1, "fifo"), 0); /* no process writes to it */
    unlink("fifo");
    assert_int_equal(chdir("/"), 0);
    rmdir(path);
}

static void an_open_file_is_judged_and_not_its_name(void **state)
{
    (void)state;
    char path[] = "/tmp/kymo-foreign-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    assert_true(fd >= 0);
    write_perf(fd);
    assert_int_equal(kymo_foreign_say(-1, path), 1);
    unlink(path);
    assert_int_equal(kymo_foreign_say(-1, path), 0);
    assert_int_equal(kymo_foreign_say(fd, path), 1);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_known_by_their_first_bytes),
        cmocka_unit_test(what_is_compressed_is_looked_into),
        cmocka_unit_test(the_rest_is_not_guessed),
        cmocka_unit_test(a_pipe_is_not_opened_again),
        cmocka_unit_test(an_open_file_is_judged_and_not_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
