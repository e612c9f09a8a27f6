/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/network.h"

#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

static void a_namespace_has_one_number(void **state)
{
    (void)state;
    uint64_t cookie = kymo_network_cookie();
    if (!cookie)
        skip(); /* before Linux 5.14 */
    assert_int_equal(kymo_network_cookie(), cookie);
    int pipes[2];
    uint64_t theirs[2] = {0};
    assert_int_equal(pipe(pipes), 0);
    if (fork() == 0) {
        uint64_t own[2] = {kymo_network_cookie(), 0};
        if (unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 || unshare(CLONE_NEWNET) == 0)
            own[1] = kymo_network_cookie();
        _exit(write(pipes[1], own, sizeof own) != sizeof own);
    }
    assert_int_equal(read(pipes[0], theirs, sizeof theirs), sizeof theirs);
    assert_true(wait(NULL) > 0);
    close(pipes[0]);
    close(pipes[1]);
    assert_int_equal(theirs[0], cookie);
    if (theirs[1] == 0)
        skip(); /* another namespace cannot be made here */
    assert_int_not_equal(theirs[1], cookie);
}

/* Nothing is known, and nothing stays open. */
static void without_descriptors_it_is_not_known(void **state)
{
    (void)state;
    struct rlimit before;
    int next = dup(0);
    assert_true(next >= 0);
    close(next);
    (void)kymo_network_cookie();
    int again = dup(0);
    assert_int_equal(again, next);
    close(again);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = {(rlim_t)next, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    uint64_t cookie = kymo_network_cookie();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(cookie, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_namespace_has_one_number),
        cmocka_unit_test(without_descriptors_it_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
