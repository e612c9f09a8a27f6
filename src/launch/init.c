/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init.c - process 1 of a container: see launch_signals.h.
 *
 * A process of its own, and not the recorder: that one waits for children of its own by their
 * numbers, and could not tell an orphan from those.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/launch_signals.h"

/* Reaps what has ended; ends itself if that was the child. */
static void reap(pid_t child)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid != child)
            continue;
        /* A signal would not end process 1: its number is what a shell would make of it. */
        _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    }
}

static _Noreturn void be_init(pid_t child, const sigset_t *all)
{
    siginfo_t info;
    for (;;) {
        int signo = sigwaitinfo(all, &info);
        /* What the terminal sends, the child has got itself. */
        if (signo > 0 && signo != SIGCHLD && info.si_code <= 0)
            (void)kill(child, signo);
        reap(child);
    }
}

void kymo_launch_be_init(void)
{
    sigset_t all, before;
    if (getpid() != 1)
        return;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    /* An inherited SIG_IGN would have the kernel reap them, and no signal of it. */
    struct sigaction by_default = {.sa_flags = 0}, chld;
    sigaction(SIGCHLD, &by_default, &chld);
    pid_t child = fork();
    if (child > 0)
        be_init(child, &all);
    /* In the child; or there is none, and the recorder has to do without. */
    sigaction(SIGCHLD, &chld, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
}
