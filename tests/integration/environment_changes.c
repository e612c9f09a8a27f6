/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment_changes.c - starts programs while another thread sets and unsets variables of the
 * environment that they are given, as setenv and unsetenv do. libc hands the array to the kernel as
 * it is, which may refuse one that changes while it reads it. Exit status 1 if a program that was
 * started, or is about to be, ends by a signal.
 */
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROGRAMS = 200, COMMANDS = 50, FEW = 3, MANY = 2000, SEPARATORS = 8000 };

static char *variables[MANY + 1];
static char longer[sizeof "LD_PRELOAD=" + SEPARATORS] = "LD_PRELOAD=";
static int is_over;

static void put(size_t i, char *entry)
{
    __atomic_store_n(&variables[i], entry, __ATOMIC_RELEASE);
}

static void *change(void *argument)
{
    static char one[] = "VARIABLE=1";
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        put(0, longer);
        for (size_t i = FEW; i < MANY; i++)
            put(i, one);
        for (size_t i = MANY; i-- > FEW;)
            put(i, NULL);
        put(0, (char *)"LD_PRELOAD=");
        /* As often small as large, so that it may be measured when it is small. */
        for (int i = 0; i < 10; i++)
            sched_yield();
    }
    return argument;
}

/* Whether it ended by itself; so does one that the kernel did not take. */
static int is_well(int by_vfork)
{
    static char *const argv[] = {(char *)"true", NULL};
    pid_t child = -1;
    int status = -1;
    if (by_vfork) {
        child = vfork();
        if (child == 0) {
            execve("/bin/true", argv, variables);
            _exit(99);
        }
    } else if (posix_spawn(&child, "/bin/true", NULL, NULL, argv, variables) != 0) {
        return 1;
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status);
}

int main(void)
{
    pthread_t changer;
    int failures = 0;
    memset(longer + strlen(longer), ':', SEPARATORS);
    put(0, (char *)"LD_PRELOAD=");
    put(1, (char *)"PATH=/bin");
    put(2, (char *)"HOME=/");
    if (pthread_create(&changer, NULL, change, NULL) != 0)
        return 2;
    for (int i = 0; i < PROGRAMS; i++)
        failures += !is_well(i % 2);
    environ = variables;
    for (int i = 0; i < COMMANDS; i++) {
        FILE *stream = popen("exit 0", "r");
        failures += stream && !WIFEXITED(pclose(stream));
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    pthread_join(changer, NULL);
    if (failures)
        printf("%d of %d programs ended by a signal\n", failures, PROGRAMS + COMMANDS);
    return failures != 0;
}
