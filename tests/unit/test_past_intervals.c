/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/past_intervals.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

static void keep(struct kymo_past_intervals *past, uint64_t bytes, uint64_t end_ns,
                 uint64_t since_ns)
{
    int fd = memfd_create("interval", MFD_CLOEXEC);
    kymo_past_intervals_keep(past, fd, bytes, end_ns, since_ns);
    close(fd);
}

static void what_no_request_needs_is_not_kept(void **state)
{
    struct kymo_past_intervals past = {.bytes = 0};
    (void)state;
    keep(&past, 10, 100, UINT64_MAX);
    assert_int_equal(past.list.len, 0);
    assert_true(kymo_past_intervals_has(&past, 0));
}

static void what_is_needed_is_kept_until_it_is_not(void **state)
{
    struct kymo_past_intervals past = {.bytes = 0};
    (void)state;
    keep(&past, 10, 100, 50);
    keep(&past, 20, 200, 50);
    keep(&past, 30, 300, 100); /* the first one is not needed any more */
    assert_int_equal(past.list.len, 2);
    assert_int_equal(past.bytes, 50);
    assert_int_equal(past.list.data[0].end_ns, 200);
    assert_true(fcntl(past.list.data[0].recording.fd, F_GETFD) == FD_CLOEXEC);
    kymo_past_intervals_forget(&past, 250);
    assert_int_equal(past.list.len, 1);
    kymo_past_intervals_forget(&past, UINT64_MAX);
    assert_int_equal(past.list.len, 0);
    assert_int_equal(past.bytes, 0);
    assert_true(kymo_past_intervals_has(&past, 50));
}

static void the_oldest_goes_at_a_limit(void **state)
{
    struct kymo_past_intervals past = {.bytes = 0};
    (void)state;
    for (uint64_t i = 1; i <= KYMO_PAST_INTERVALS / 2; i++)
        keep(&past, 1, i, 0);
    assert_true(kymo_past_intervals_has(&past, 0));
    keep(&past, KYMO_PAST_BYTES, 5000, 0);
    assert_int_equal(past.list.len, 1);
    assert_false(kymo_past_intervals_has(&past, 0));
    assert_false(kymo_past_intervals_has(&past, KYMO_PAST_INTERVALS / 2 - 1));
    assert_true(kymo_past_intervals_has(&past, KYMO_PAST_INTERVALS / 2));
    keep(&past, KYMO_PAST_BYTES + 1, 6000, 5500); /* too large alone */
    assert_int_equal(past.list.len, 0);
    assert_false(kymo_past_intervals_has(&past, 5500));
    assert_true(kymo_past_intervals_has(&past, 6000));
    kymo_past_intervals_forget(&past, UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_request_needs_is_not_kept),
        cmocka_unit_test(what_is_needed_is_kept_until_it_is_not),
        cmocka_unit_test(the_oldest_goes_at_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
