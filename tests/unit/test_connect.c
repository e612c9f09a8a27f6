/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/connect.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

enum { FOR_EVER_S = 100000, BACKLOG = 2 };

static pid_t start_stopped(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)raise(SIGSTOP);
        _exit(0);
    }
    assert_true(pid > 0 && waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
    return pid;
}

static void end_stopped(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static socklen_t address_of(const char *name, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path + 1, name, strlen(name));
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

static void a_name_has_its_recorders_number(void **state)
{
    (void)state;
    assert_int_equal(kymo_recorder_pid("kymo-1234-0123456789abcdef"), 1234);
    assert_int_equal(kymo_recorder_pid("kymo-1234"), 0);
    assert_int_equal(kymo_recorder_pid("kymo--1"), 0);
    assert_int_equal(kymo_recorder_pid("other-1234-1"), 0);
    assert_int_equal(kymo_recorder_pid("kymo-99999999999999999999-1"), 0);
    assert_int_equal(kymo_recorder_pid(""), 0);
}

static void a_stopped_process_is_told(void **state)
{
    (void)state;
    pid_t pid = start_stopped();
    assert_true(kymo_recorder_is_stopped((uint32_t)pid));
    end_stopped(pid);
    assert_false(kymo_recorder_is_stopped((uint32_t)getpid()));
    assert_false(kymo_recorder_is_stopped((uint32_t)pid));
    assert_false(kymo_recorder_is_stopped(0));
}

/* So many have called that it lets no process in: a process that calls then finds out that it has
 * been stopped. */
static void nobody_waits_at_the_door_of_a_stopped_recorder(void **state)
{
    struct sockaddr_un address;
    struct kymo_attachment a;
    const char *why = NULL;
    char name[64];
    int callers[4 * BACKLOG];
    int count = 0;
    (void)state;
    pid_t pid = start_stopped();
    snprintf(name, sizeof name, "kymo-%d-unit-%d", (int)pid, (int)getpid());
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    socklen_t size = address_of(name, &address);
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, BACKLOG), 0);
    while (count < 4 * BACKLOG) {
        callers[count] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (connect(callers[count++], (const struct sockaddr *)&address, size) != 0)
            break;
    }
    assert_int_equal(errno, EAGAIN);
    struct kymo_attach_call call = {name, KYMO_ATTACH_EXEC, 1, FOR_EVER_S, NULL};
    assert_int_equal(kymo_attach(&call, &a, &why), KYMO_E_NOT_FOUND);
    while (count > 0)
        close(callers[--count]);
    close(listener);
    end_stopped(pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_has_its_recorders_number),
        cmocka_unit_test(a_stopped_process_is_told),
        cmocka_unit_test(nobody_waits_at_the_door_of_a_stopped_recorder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
