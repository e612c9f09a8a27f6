/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/children.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

static pid_t start(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    while (pid == 0)
        pause();
    return pid;
}

static int has(const kymo_pids *pids, pid_t pid)
{
    for (size_t i = 0; i < pids->len; i++)
        if (pids->data[i] == pid)
            return 1;
    return 0;
}

static void they_are_added(void **state)
{
    (void)state;
    if (access("/proc/thread-self/children", R_OK) != 0)
        skip();
    kymo_pids pids = {0};
    pid_t first = start();
    pid_t second = start();
    assert_int_equal(kymo_vec_push(&pids, getpid()), KYMO_OK);
    assert_int_equal(kymo_children_add(getpid(), &pids), KYMO_OK);
    assert_int_equal(pids.len, 3);
    assert_true(has(&pids, first) && has(&pids, second) && has(&pids, getpid()));
    kill(first, SIGKILL);
    kill(second, SIGKILL);
    waitpid(first, NULL, 0);
    waitpid(second, NULL, 0);
    pids.len = 0;
    assert_int_equal(kymo_children_add(getpid(), &pids), KYMO_OK);
    assert_int_equal(kymo_children_add(first, &pids), KYMO_OK);
    assert_int_equal(pids.len, 0);
    kymo_vec_deinit(&pids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(they_are_added)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
