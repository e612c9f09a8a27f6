/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel tells of a process's threads: each kind at once, and the end.
 */
#include "observe/perf_tasks.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

/* A process that does what it is told by a pipe. */
static int commands[2];

static void *nothing(void *unused)
{
    return unused;
}

static void obey(void)
{
    char command;
    pthread_t thread;
    while (read(commands[0], &command, 1) == 1) {
        if (command == 't' && pthread_create(&thread, NULL, nothing, NULL) == 0)
            pthread_join(thread, NULL);
        if (command == 'p') {
            pid_t pid = fork();
            if (pid == 0)
                _exit(0);
            waitpid(pid, NULL, 0);
        }
        if (command == 'm')
            (void)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (command == 'x')
            execlp("sleep", "sleep", "100", (char *)NULL);
    }
    _exit(0);
}

static struct kymo_perf_tasks_told ask(struct kymo_perf_tasks *tasks, char command)
{
    struct pollfd p = {tasks->fd, POLLIN, 0};
    if (command)
        assert_int_equal(write(commands[1], &command, 1), 1);
    assert_int_equal(poll(&p, 1, -1), 1);
    return kymo_perf_tasks_read(tasks);
}

static void each_kind_is_told(void **state)
{
    (void)state;
    struct kymo_perf_tasks tasks;
    assert_int_equal(pipe(commands), 0);
    pid_t pid = fork();
    if (pid == 0)
        obey();
    if (!kymo_perf_tasks_open(&tasks, pid)) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        skip();
    }
    struct kymo_perf_tasks_told told = ask(&tasks, 't');
    assert_true(told.threads && !told.processes && !told.execs);
    told = ask(&tasks, 'p');
    assert_true(!told.threads && told.processes == 1 && !told.execs && !told.code);
    assert_true(told.process[0] > 0 && told.process[0] != pid);
    told = ask(&tasks, 'm');
    assert_true(told.code && !told.threads && !told.processes && !told.execs);
    told = ask(&tasks, 'x');
    assert_true(!told.threads && !told.processes && told.execs);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    while (!ask(&tasks, 0).has_ended)
        ;
    kymo_perf_tasks_close(&tasks);
    assert_int_equal(tasks.fd, -1);
    close(commands[0]);
    close(commands[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_kind_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
