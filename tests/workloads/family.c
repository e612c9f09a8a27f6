/* SPDX-License-Identifier: Apache-2.0 */
/*
 * family.c [outlive|linger] - a process tree of which every process burns CPU time in a function of
 * its own: the program, a forked child, its child, a spawned program, one that becomes another by
 * exec, one that kills itself, and a daemon. Each writes a line of JSON: {"function": CPU seconds}.
 * The program waits for all of them (for the daemon by a pipe), and ends with status 3.
 *
 * outlive: it ends at once, and its daemon, which it has seen begin, burns afterwards, until the
 * program's process is gone for a while. linger: the daemon burns a little, writes its pid, and
 * sleeps for ever; the program ends then.
 */
#include <signal.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

extern char **environ;

/* Burns for so long and returns how long it was. Reading the clock is part of it: a test looks for
 * what the function used together with what it called. */
#define DEFINE_WORK(name, salt)                                                               \
    DEFINE_BURN(name##_slice, salt)                                                           \
    static KEPT double name(double seconds)                                                   \
    {                                                                                         \
        uint64_t start = thread_cpu_ns();                                                     \
        double took = 0;                                                                      \
        for (; took < seconds; took = (double)(thread_cpu_ns() - start) / 1e9 + (salt)*1e-15) \
            name##_slice(20 * SLICE);                                                         \
        return took;                                                                          \
    }

DEFINE_WORK(burn_program, 101)
DEFINE_WORK(burn_forked, 102)
DEFINE_WORK(burn_grandchild, 103)
DEFINE_WORK(burn_spawned, 104)
DEFINE_WORK(burn_before_exec, 105)
DEFINE_WORK(burn_after_exec, 106)
DEFINE_WORK(burn_killed, 107)
DEFINE_WORK(burn_daemon, 108)

typedef double work_function(double seconds);

static void work(const char *name, work_function *burn, double seconds)
{
    char line[96];
    double took = burn(seconds);
    int n = snprintf(line, sizeof line, "{\"%s\":%.6f}\n", name, took);
    must(write(STDOUT_FILENO, line, (size_t)n) == n, "write");
}

static pid_t child(void)
{
    pid_t pid = fork();
    must(pid >= 0, "fork");
    return pid;
}

static void spawn(const char *self, const char *role)
{
    pid_t pid;
    char *argv[] = {(char *)(intptr_t)self, (char *)(intptr_t)role, NULL};
    must(posix_spawn(&pid, self, NULL, NULL, argv, environ) == 0, "posix_spawn");
}

/* Makes a daemon, which closes its end of the pipe once it has begun. */
static void make_daemon(void (*run)(void))
{
    int begun[2];
    char none;
    must(pipe(begun) == 0, "pipe");
    if (child() == 0) {
        must(setsid() > 0, "setsid");
        if (child() > 0)
            _exit(0);
        close(begun[0]);
        must(dup2(begun[1], 100) == 100 && close(begun[1]) == 0, "dup2");
        run();
        _exit(0);
    }
    close(begun[1]);
    must(read(begun[0], &none, 1) == 0, "read");
    wait(NULL);
}

static void burn_and_end(void)
{
    work("burn_daemon", burn_daemon, 0.15);
}

static void outlive(void)
{
    burn_daemon(0.02);
    close(100);
    while (getppid() != 1)
        usleep(1000);
    usleep(200000);
    work("burn_daemon", burn_daemon, 0.15);
}

static void linger(void)
{
    burn_daemon(0.05);
    printf("%d\n", (int)getpid());
    fflush(stdout);
    close(100);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    const char *role = argc > 1 ? argv[1] : "";
    if (strcmp(role, "spawned") == 0) {
        work("burn_spawned", burn_spawned, 0.15);
        return 0;
    }
    if (strcmp(role, "replaced") == 0) {
        work("burn_after_exec", burn_after_exec, 0.1);
        return 0;
    }
    if (*role) {
        make_daemon(strcmp(role, "outlive") == 0 ? outlive : linger);
        return 3;
    }
    spawn(argv[0], "spawned");
    if (child() == 0) {
        work("burn_forked", burn_forked, 0.2);
        if (child() == 0) {
            work("burn_grandchild", burn_grandchild, 0.15);
            _exit(0);
        }
        wait(NULL);
        exit(0);
    }
    if (child() == 0) {
        work("burn_before_exec", burn_before_exec, 0.1);
        execl(argv[0], argv[0], "replaced", (char *)NULL);
        _exit(1);
    }
    if (child() == 0) {
        work("burn_killed", burn_killed, 0.12);
        kill(getpid(), SIGKILL);
    }
    work("burn_program", burn_program, 0.1);
    make_daemon(burn_and_end);
    while (wait(NULL) > 0) {
    }
    return 3;
}
