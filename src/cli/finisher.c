/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finisher.c - see finisher.h.
 *
 * What is killed with the recorder must not include it: it has a session of its own, which signals
 * to the terminal's and the recorder's process group do not reach, and a name of its own, which
 * `killall kymo` does not match. Standard input, output and error are /dev/null: whoever waits for
 * the end of kymo's output is not kept waiting, and a closed terminal is no error.
 */
#include "cli/finisher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attr.h"

static kymo_err leave_terminal(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return kymo_err_from_errno(errno);
    (void)setsid();
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (dup2(null, fd) < 0)
            return kymo_err_from_errno(errno);
    close(null);
    (void)prctl(PR_SET_NAME, "finish-profile");
    return KYMO_OK;
}

static kymo_err work(void *context, struct kymo_worker_result *result)
{
    const struct kymo_finisher *f = context;
    struct pollfd end = {.fd = f->recorder, .events = POLLIN};
    (void)result; /* the recorder is no longer there to read it */
    KYMO_TRY(leave_terminal());
    while (poll(&end, 1, -1) < 0)
        if (errno != EINTR)
            return kymo_err_from_errno(errno);
    /* Without its name it has become an output, or was not needed any more. */
    if (kymo_spool_place(f->spool))
        f->finish(f->context);
    return KYMO_OK;
}

kymo_err kymo_finisher_start(struct kymo_finisher *f)
{
    f->recorder = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (f->recorder < 0)
        return kymo_err_from_errno(errno);
    const int fds[] = {f->spool->fd, f->spool->folder, f->recorder};
    kymo_err err = kymo_worker_start(&f->worker, work, f, fds, KYMO_ARRAY_LEN(fds));
    close(f->recorder);
    return err;
}

void kymo_finisher_stop(struct kymo_finisher *f)
{
    kymo_worker_stop(&f->worker);
}

void kymo_finisher_kill(const struct kymo_finisher *f)
{
    if (!f->worker.pid)
        return;
    (void)kill(f->worker.pid, SIGKILL);
    (void)waitpid(f->worker.pid, NULL, 0);
}
