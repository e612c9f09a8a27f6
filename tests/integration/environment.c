/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.c - a library's constructor has changed the environment before the program began, and
 * what children inherit is still only the program's own. Exit status 1 if it is not.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;
int environment_setter_ran(void);

static int is_clean(char **env, const char *whose)
{
    int clean = 1;
    for (; *env; env++) {
        if (!strchr(*env, '=') || strncmp(*env, "KYMO_ATTACH=", 12) == 0 ||
            (strncmp(*env, "LD_PRELOAD=", 11) == 0 && strstr(*env, "libkymo"))) {
            printf("%s: %s\n", whose, *env);
            clean = 0;
        }
    }
    return clean;
}

int main(int argc, char **argv)
{
    const char *preload = getenv("LD_PRELOAD");
    if (argc == 2 && strcmp(argv[1], "child") == 0)
        return !is_clean(environ, "child");
    if (!environment_setter_ran() || !getenv("KYMO_TEST_SETTER"))
        return 2;
    int clean = is_clean(environ, "environ");
    /* What the program was given itself stays. */
    if (getenv("KYMO_TEST_PRELOAD_OWN"))
        clean &= preload && strcmp(preload, getenv("KYMO_TEST_PRELOAD_OWN")) == 0;
    char *child_argv[] = {argv[0], "child", NULL};
    pid_t child;
    int status;
    struct timespec before;
    struct timespec after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, child_argv, environ) != 0 ||
        waitpid(child, &status, 0) != child)
        return 2;
    clock_gettime(CLOCK_MONOTONIC, &after);
    /* A child that looks for the recorder waits for its answer, ten seconds. */
    int slow = after.tv_sec - before.tv_sec >= 8;
    if (slow)
        printf("the child waited\n");
    return !clean || slow || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}
