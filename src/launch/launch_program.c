/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_program.c - starts the program, with our library in it if it is for that.
 *
 * What keeps it from starting comes back through a pipe that exec closes.
 */
#include "launch/launch_start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffer/attach.h"

extern char **environ;

/* The program's environment: ours, with the library and the way to the recorder. */
static char **make_environment(const struct kymo_launch_program *program)
{
    size_t n = 0;
    while (environ[n])
        n++;
    char **env = calloc(n + 3, sizeof *env);
    const char *theirs = getenv("LD_PRELOAD");
    char *preload = NULL;
    char *attach = NULL;
    if (!env ||
        asprintf(&preload, "LD_PRELOAD=%s%s%s", program->preload, theirs ? ":" : "",
                 theirs ? theirs : "") < 0 ||
        asprintf(&attach, KYMO_ATTACH_ENV "=%s", program->socket) < 0) {
        free(env);
        free(preload);
        return NULL;
    }
    /* Where the program has one of its own, ours stands in its place: taking it out again leaves
     * everything as and where it was. */
    size_t to = 0;
    for (size_t i = 0; i < n; i++) {
        if (strncmp(environ[i], KYMO_ATTACH_ENV "=", sizeof KYMO_ATTACH_ENV) == 0)
            continue;
        int is_preload = theirs && strncmp(environ[i], "LD_PRELOAD=", 11) == 0;
        env[to++] = is_preload ? preload : environ[i];
    }
    if (!theirs)
        env[to++] = preload;
    env[to] = attach;
    return env;
}

kymo_err kymo_launch_start_program(const struct kymo_launch_program *program, pid_t *started,
                                   kymo_error *detail)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return kymo_error_set_errno(detail, "pipe");
    pid_t pid = fork();
    if (pid < 0) {
        kymo_err err = kymo_error_set_errno(detail, "fork");
        close(report[0]);
        close(report[1]);
        return err;
    }
    if (pid == 0) {
        program->restore(program->context);
        if (program->traces_python)
            (void)setenv(KYMO_TRACE_PYTHON_ENV, "1", 0);
        /* Made on this side of the fork, where it need not be freed: we have one thread. */
        char **env = program->preload ? make_environment(program) : environ;
        if (env)
            execvpe(program->argv[0], program->argv, env);
        int why = env ? errno : ENOMEM;
        ssize_t ignored = write(report[1], &why, sizeof why);
        (void)ignored;
        _exit(127);
    }
    close(report[1]);
    int why = 0;
    ssize_t n;
    do {
        n = read(report[0], &why, sizeof why);
    } while (n < 0 && errno == EINTR);
    close(report[0]);
    if (n != (ssize_t)sizeof why) {
        *started = pid;
        return KYMO_OK;
    }
    (void)waitpid(pid, NULL, 0);
    errno = why;
    return kymo_error_set_errno(detail, "%s", program->argv[0]);
}
