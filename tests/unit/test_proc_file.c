/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/proc_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

static void a_file_is_read_whole(void **state)
{
    (void)state;
    char text[4096];
    size_t n = kymo_proc_file_read(text, sizeof text, "/proc/%d/stat", (int)getpid());
    assert_int_equal(n, strlen(text));
    assert_int_equal(atoi(text), getpid());
    assert_int_equal(text[n - 1], '\n');
}

static void what_has_no_room_is_cut(void **state)
{
    (void)state;
    char text[4] = "xxx";
    assert_int_equal(kymo_proc_file_read(text, sizeof text, "/proc/self/comm"), 3);
    assert_int_equal(text[3], '\0');
    assert_int_equal(kymo_proc_file_read(text, 1, "/proc/self/comm"), 0);
    assert_string_equal(text, "");
}

static void no_file_is_no_text(void **state)
{
    (void)state;
    char text[8] = "xxx";
    char far[5000];
    assert_int_equal(kymo_proc_file_read(text, sizeof text, "/proc/self/%s", "none"), 0);
    assert_string_equal(text, "");
    assert_int_equal(kymo_proc_file_read(text, sizeof text, "/proc/self"), 0);
    memset(far, '/', sizeof far - 1);
    far[sizeof far - 1] = '\0';
    assert_int_equal(kymo_proc_file_read(text, sizeof text, "%s", far), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_whole),
        cmocka_unit_test(what_has_no_room_is_cut),
        cmocka_unit_test(no_file_is_no_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
