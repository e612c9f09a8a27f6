/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

#define NICE 5 /* after the program, and after the recorder */
#define FDS_MAX 16u

struct kymo_worker_page {
    struct kymo_worker_result result;
    int has_returned;
};

static int by_number(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static void close_others(const int *fds, size_t count)
{
    int *kept = malloc((count + 1) * sizeof *kept);
    unsigned next = STDERR_FILENO + 1;
    if (!kept)
        _exit(1);
    memcpy(kept, fds, count * sizeof *fds);
    qsort(kept, count, sizeof *kept, by_number);
    for (size_t i = 0; i < count; i++) {
        if (kept[i] < (int)next)
            continue;
        if ((unsigned)kept[i] > next)
            (void)close_range(next, (unsigned)kept[i] - 1, 0);
        next = (unsigned)kept[i] + 1;
    }
    (void)close_range(next, ~0u, 0);
    free(kept);
}

void kymo_worker_leave_recorder(int nice, const int *fds, size_t count)
{
    static const int handled[] = {SIGCHLD, SIGTERM, SIGHUP, SIGXFSZ};
    sigset_t none;
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        signal(handled[i], SIG_DFL);
    /* Ctrl-C in the terminal is for the program. */
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setpriority(PRIO_PROCESS, 0, nice);
    kymo_log_set_level(KYMO_LOG_ERROR);
    close_others(fds, count);
}

static _Noreturn void work_here(struct kymo_worker_page *page, kymo_worker_work *work,
                                void *context, const int *fds, size_t count)
{
    kymo_worker_leave_recorder(NICE, fds, count);
    kymo_err err = work(context, &page->result);
    if (err != KYMO_OK && page->result.error.code != err)
        kymo_error_set(&page->result.error, err, 0, "%s", kymo_err_text(err));
    page->has_returned = 1;
    _exit(0);
}

kymo_err kymo_worker_start(struct kymo_worker *worker, kymo_worker_work *work, void *context,
                           const int *fds, size_t count)
{
    if (count > FDS_MAX)
        return KYMO_E_INVALID;
    struct kymo_worker_page *page =
        mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return kymo_err_from_errno(errno);
    pid_t pid = fork();
    if (pid == 0)
        work_here(page, work, context, fds, count);
    if (pid < 0) {
        kymo_err err = kymo_err_from_errno(errno);
        munmap(page, sizeof *page);
        return err;
    }
    *worker = (struct kymo_worker){pid, page};
    return KYMO_OK;
}

int kymo_worker_has_ended(struct kymo_worker *worker, struct kymo_worker_result *result)
{
    int status = 0;
    pid_t pid = waitpid(worker->pid, &status, WNOHANG);
    if (pid == 0 || (pid < 0 && errno == EINTR))
        return 0;
    *result = worker->page->result;
    if (!worker->page->has_returned && WIFSIGNALED(status))
        kymo_error_set(&result->error, KYMO_E_CLOSED, 0, "its process was ended by signal %d",
                       WTERMSIG(status));
    else if (!worker->page->has_returned)
        kymo_error_set(&result->error, KYMO_E_CLOSED, 0, "its process ended before it was done");
    munmap(worker->page, sizeof *worker->page);
    *worker = (struct kymo_worker){0, NULL};
    return 1;
}

void kymo_worker_stop(struct kymo_worker *worker)
{
    if (!worker->pid)
        return;
    kill(worker->pid, SIGKILL);
    while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    munmap(worker->page, sizeof *worker->page);
    *worker = (struct kymo_worker){0, NULL};
}
