/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/smaps.h"

#include <unistd.h>

#include "memory_tree.h"

static struct kymo_smaps_area found[16];
static size_t found_count, found_most;

static kymo_err take(void *context, const struct kymo_smaps_area *area)
{
    assert_ptr_equal(context, found);
    if (found_count == found_most)
        return KYMO_E_TOO_BIG;
    found[found_count++] = *area;
    return KYMO_OK;
}

/* In pieces of so many bytes. */
static kymo_err feed(const char *text, size_t piece)
{
    struct kymo_smaps smaps;
    kymo_smaps_begin(&smaps, take, found);
    found_count = 0;
    for (size_t at = 0; at < strlen(text); at += piece) {
        size_t left = strlen(text) - at;
        kymo_err err = kymo_smaps_feed(&smaps, text + at, left < piece ? left : piece);
        if (err != KYMO_OK)
            return err;
    }
    return kymo_smaps_end(&smaps);
}

static int begin(void **state)
{
    found_most = 16;
    return tree_begin(state);
}

#define TAIL \
    "Pss:                   8 kB\nAnonymousHugePages:    0 kB\nVmFlags: rd wr mr mw me ac sd \n"
#define PROGRAM                                                                     \
    "55d0c0000000-55d0c0003000 r-xp 00001000 fd:01 393449       /usr/bin/a b (x)\n" \
    "Size:                 12 kB\nRss:                   8 kB\n" TAIL               \
    "Anonymous:             4 kB\nTHPeligible:    0\n"
#define HEAP                                                                            \
    "55d0c1000000-55d0c1021000 rw-p 00000000 00:00 0                          [heap]\n" \
    "Size:                132 kB\nRss:                 100 kB\nAnonymous:           100 kB\n"
#define SHARED                                                                            \
    "7f0000000000-7f0000400000 rw-s 00000000 00:01 2051             /memfd:a (deleted)\n" \
    "Rss:                4096 kB\nAnonymous:             0 kB\n"
#define NAMELESS                                         \
    "7f1000000000-7f1000001000 rw-p 00000000 00:00 0 \n" \
    "Rss:                   4 kB\nAnonymous:             4 kB\n"

static void each_area_is_read_however_it_comes(void **state)
{
    (void)state;
    const char *text = PROGRAM HEAP SHARED NAMELESS;
    for (size_t piece = 1; piece <= strlen(text); piece++) {
        assert_int_equal(feed(text, piece), KYMO_OK);
        assert_int_equal(found_count, 4);
        assert_int_equal(found[0].lo, 0x55d0c0000000);
        assert_int_equal(found[0].hi, 0x55d0c0003000);
        assert_int_equal(found[0].rss, 8192);
        assert_int_equal(found[0].anonymous, 4096);
        assert_int_equal(found[0].inode, 393449);
        assert_string_equal(found[0].name, "/usr/bin/a b (x)");
        assert_true(found[0].is_readable && !found[0].is_writable && found[0].is_executable);
        assert_false(found[0].is_shared);
        assert_string_equal(found[1].name, "[heap]");
        assert_int_equal(found[1].rss, 102400);
        assert_int_equal(found[1].inode, 0);
        assert_true(found[2].is_shared);
        assert_string_equal(found[3].name, "");
        assert_int_equal(found[3].anonymous, 4096);
    }
}

static void what_is_no_area_is_left_out(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "\n\n",
        "7f00-7f00 rw-p 0 00:00 0\nRss: 0 kB\n",
        "7f01-7f00 rw-p 0 00:00 0\nRss: 0 kB\n",
        "7f00 rw-p 0 00:00 0\nRss: 0 kB\n",
        "7f00-8f00 rw-\nRss: 0 kB\n",
        "7f00-8f00 rw-p 0 00:00\nRss: 0 kB\n",
        "11111111111111111-8f00 rw-p 0 00:00 0\nRss: 0 kB\n",
        "1000-2000 rw-p 0 00:00 99999999999999999999\nRss: 0 kB\n",
        "1000-2000 rw-p 0 00:00 0\nRss: 8 kB\nAnonymous: 0 kB\n",
        "1000-2000 rw-p 0 00:00 0\nRss: 0 kB\nAnonymous: 4 kB\n",
        "Rss: 4 kB\nAnonymous: 4 kB\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(feed(wrong[i], 7), KYMO_OK);
        assert_int_equal(found_count, 0);
    }
}

static void a_number_that_is_none_is_not_there(void **state)
{
    (void)state;
    assert_int_equal(feed("1000-2000 rw-p 0 00:00 0\nRss: 4\nAnonymous: kB\n", 99), KYMO_OK);
    assert_int_equal(found_count, 1);
    assert_int_equal(found[0].rss, 0);
    assert_int_equal(feed("1000-2000 rw-p 0 00:00 0\nRss: 99999999999999999999 kB\n", 99), KYMO_OK);
    assert_int_equal(found[0].rss, 0);
}

static void a_long_name_is_cut(void **state)
{
    (void)state;
    static char text[8192];
    char *at = text + sprintf(text, "1000-2000 rw-p 0 00:00 5   /");
    memset(at, 'a', 5000);
    strcpy(at + 5000, "\nRss: 4 kB\nAnonymous: 4 kB\n" NAMELESS);
    assert_int_equal(feed(text, 100), KYMO_OK);
    assert_int_equal(found_count, 2);
    assert_int_equal(strlen(found[0].name), KYMO_SMAPS_NAME_BYTES - 1);
    assert_int_equal(found[0].rss, 4096);
}

static void the_error_of_who_takes_them_is_handed_on(void **state)
{
    (void)state;
    found_most = 1;
    assert_int_equal(feed(PROGRAM HEAP SHARED, 50), KYMO_E_TOO_BIG);
    assert_int_equal(feed(PROGRAM HEAP, 5000), KYMO_E_TOO_BIG);
}

static void a_file_is_read(void **state)
{
    (void)state;
    tree_put("/proc/7/smaps", PROGRAM HEAP);
    found_count = 0;
    assert_int_equal(kymo_smaps_read(tree, "7", take, found), KYMO_OK);
    assert_int_equal(found_count, 2);
    assert_int_equal(kymo_smaps_read(tree, "8", take, found), KYMO_E_IO);
}

static uint64_t own_rss;

static kymo_err add(void *context, const struct kymo_smaps_area *area)
{
    (void)context;
    own_rss += area->rss;
    return KYMO_OK;
}

static void this_process_has_something(void **state)
{
    (void)state;
    assert_int_equal(kymo_smaps_read("", "self", add, NULL), KYMO_OK);
    assert_true(own_rss >= (uint64_t)sysconf(_SC_PAGESIZE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_area_is_read_however_it_comes, begin, tree_end),
        cmocka_unit_test_setup_teardown(what_is_no_area_is_left_out, begin, tree_end),
        cmocka_unit_test_setup_teardown(a_number_that_is_none_is_not_there, begin, tree_end),
        cmocka_unit_test_setup_teardown(a_long_name_is_cut, begin, tree_end),
        cmocka_unit_test_setup_teardown(the_error_of_who_takes_them_is_handed_on, begin, tree_end),
        cmocka_unit_test_setup_teardown(a_file_is_read, begin, tree_end),
        cmocka_unit_test(this_process_has_something),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
