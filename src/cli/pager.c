/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pager is our child and reads from a pipe, so that our exit status stays our own. -F leaves at
 * once what fits on one screen, -R lets colours through, -X leaves the text on the screen.
 */
#include "cli/pager.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/command.h"
#include "launch/precheck.h"
#include "views/terminal.h"

static pid_t pager;

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-/"

/* Whether a command is there to be run. Only the shell can say of one that is more than plain words
 * and of those that begin with a word of its own. */
static int may_run(const char *command)
{
    kymo_precheck found;
    char word[256];
    size_t start = strspn(command, " ");
    size_t len = strspn(command + start, PLAIN);
    if (len == 0 || len >= sizeof word || command[strspn(command, PLAIN " ")] != '\0')
        return 1;
    memcpy(word, command + start, len);
    word[len] = '\0';
    if (strcmp(word, "exec") == 0 || strcmp(word, "command") == 0)
        return 1;
    kymo_precheck_program(word, getenv("PATH"), &found);
    return found.verdict != KYMO_PRECHECK_NOT_FOUND &&
           found.verdict != KYMO_PRECHECK_NOT_EXECUTABLE;
}

/* "": none. One that was asked for and is not there is named, and the text shown without it. */
static const char *pager_command(void)
{
    const char *variable = "KYMO_PAGER";
    const char *command = getenv(variable);
    if (!command)
        command = getenv(variable = "PAGER");
    if (!command)
        return may_run("less") ? "less" : "";
    if (strcmp(command, "cat") == 0)
        return "";
    if (may_run(command))
        return command;
    kymo_fprint(stderr, "kymo: %s: %s is not there to be run; no pager is used\n", variable,
                command);
    return "";
}

void kymo_pager_start(void)
{
    int ends[2];
    if (pager || !isatty(STDOUT_FILENO))
        return;
    const char *command = pager_command();
    if (!*command || pipe(ends) != 0)
        return;
    kymo_terminal_keep(stdout);
    fflush(stdout);
    pager = fork();
    if (pager == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        setenv("LESS", "FRX", 0);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    if (pager > 0)
        dup2(ends[1], STDOUT_FILENO);
    else
        pager = 0;
    close(ends[0]);
    close(ends[1]);
}

int kymo_pager_end(void)
{
    int status = 0;
    if (!pager)
        return KYMO_EXIT_OK;
    /* Ctrl-C is for the pager; what it shows is there until it is left. */
    signal(SIGINT, SIG_IGN);
    fclose(stdout);
    while (waitpid(pager, &status, 0) < 0 && errno == EINTR)
        ;
    pager = 0;
    /* The shell's, which has said why: nothing was shown. */
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != KYMO_EXIT_NOT_FOUND &&
                               WEXITSTATUS(status) != KYMO_EXIT_NOT_EXECUTABLE))
        return KYMO_EXIT_OK;
    kymo_fprint(stderr,
                "kymo: the pager could not be run; --no-pager shows the text without one\n");
    return KYMO_EXIT_FAILED;
}
