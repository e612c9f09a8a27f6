/* SPDX-License-Identifier: Apache-2.0 */
#include "buffer/refusal.h"

#include <stdio.h>
#include <string.h>

#include "session_fixture.h"
#include "unit.h"

static void what_is_written_is_read_once(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    struct kymo_refusal r;
    uint32_t seen = 0;
    uint64_t missed = 0;
    assert_false(kymo_refusal_read(f.session, &seen, &r, &missed));
    kymo_refusal_write(f.session, 12, KYMO_REFUSAL_STATIC, "/sbin/ldconfig");
    kymo_refusal_write(f.session, 13, KYMO_REFUSAL_PRIVILEGES, "/usr/bin/su");
    assert_true(kymo_refusal_read(f.session, &seen, &r, &missed));
    assert_int_equal(r.pid, 12);
    assert_int_equal(r.reason, KYMO_REFUSAL_STATIC);
    assert_string_equal(r.path, "/sbin/ldconfig");
    assert_true(kymo_refusal_read(f.session, &seen, &r, &missed));
    assert_string_equal(r.path, "/usr/bin/su");
    assert_false(kymo_refusal_read(f.session, &seen, &r, &missed));
    assert_int_equal(missed, 0);
    fixture_close(&f);
}

static void of_a_long_path_the_end_is_kept(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    struct kymo_refusal r;
    uint32_t seen = 0;
    uint64_t missed = 0;
    char path[300];
    memset(path, 'd', sizeof path);
    memcpy(path + sizeof path - 8, "program", 8);
    kymo_refusal_write(f.session, 12, KYMO_REFUSAL_STATIC, path);
    assert_true(kymo_refusal_read(f.session, &seen, &r, &missed));
    assert_string_equal(r.path, path + sizeof path - sizeof r.path);
    fixture_close(&f);
}

static void what_was_overwritten_is_counted(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    struct kymo_refusal r;
    uint32_t seen = 0;
    uint64_t missed = 0;
    char path[16];
    for (int i = 0; i < 20; i++) {
        snprintf(path, sizeof path, "/bin/%d", i);
        kymo_refusal_write(f.session, 1, KYMO_REFUSAL_ASAN, path);
    }
    for (int i = 4; i < 20; i++) {
        snprintf(path, sizeof path, "/bin/%d", i);
        assert_true(kymo_refusal_read(f.session, &seen, &r, &missed));
        assert_string_equal(r.path, path);
    }
    assert_false(kymo_refusal_read(f.session, &seen, &r, &missed));
    assert_int_equal(missed, 4);
    fixture_close(&f);
}

static void a_writer_that_died_blocks_nobody_for_ever(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    struct kymo_refusal r;
    uint32_t seen = 0;
    uint64_t missed = 0;
    f.session->refusal_count++; /* and then nothing */
    for (uint32_t i = 0; i < KYMO_REFUSALS - 1; i++)
        kymo_refusal_write(f.session, 1, KYMO_REFUSAL_ASAN, "/bin/one");
    assert_false(kymo_refusal_read(f.session, &seen, &r, &missed));
    kymo_refusal_write(f.session, 1, KYMO_REFUSAL_ASAN, "/bin/last");
    for (uint32_t i = 0; i < KYMO_REFUSALS; i++)
        assert_true(kymo_refusal_read(f.session, &seen, &r, &missed));
    assert_string_equal(r.path, "/bin/last");
    assert_int_equal(missed, 1);
    fixture_close(&f);
}

static void garbage_is_not_passed_on(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    struct kymo_refusal r;
    uint32_t seen = 0;
    uint64_t missed = 0;
    kymo_refusal_write(f.session, 12, (enum kymo_refusal_reason)KYMO_REFUSAL_REASONS, "/bin/a");
    kymo_refusal_write(f.session, 0, KYMO_REFUSAL_STATIC, "/bin/b");
    kymo_refusal_write(f.session, 12, KYMO_REFUSAL_STATIC, "/bin/c");
    memset(f.session->refusals[2].path, 'x', sizeof r.path);
    assert_true(kymo_refusal_read(f.session, &seen, &r, &missed));
    assert_int_equal(strlen(r.path), sizeof r.path - 1);
    assert_int_equal(missed, 2);
    f.session->refusal_count += 1000000;
    memset(f.session->refusals, 0x5a, sizeof f.session->refusals);
    assert_false(kymo_refusal_read(f.session, &seen, &r, &missed));
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_once),
        cmocka_unit_test(of_a_long_path_the_end_is_kept),
        cmocka_unit_test(what_was_overwritten_is_counted),
        cmocka_unit_test(a_writer_that_died_blocks_nobody_for_ever),
        cmocka_unit_test(garbage_is_not_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
