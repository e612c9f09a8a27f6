/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/heap_answer.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "kymo/encode.h"
#include "recorder/finish.h"
#include "recorder/report_json.h"

/* ---- the file ---- */

struct fd_sink {
    kymo_sink sink;
    int fd;
};

static kymo_err write_to_fd(kymo_sink *sink, const void *data, size_t len)
{
    const struct fd_sink *to = (const struct fd_sink *)sink;
    const char *p = data;
    while (len > 0) {
        ssize_t n = write(to->fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n ? kymo_err_from_errno(errno) : KYMO_E_NO_SPACE;
        p += n;
        len -= (size_t)n;
    }
    return KYMO_OK;
}

/* Of the images that a process was, the last one. */
static uint32_t find_process(const kymo_profile *profile, pid_t pid)
{
    uint32_t found = KYMO_NONE;
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_PROCESSES); i++) {
        const kymo_process *process = kymo_profile_process(profile, i);
        if (process->pid == pid && process->end_ns == 0)
            found = i;
    }
    return found;
}

static kymo_err write_report(const kymo_profile *profile, uint32_t process, kymo_sink *sink)
{
    const kymo_heap_report_options options = {.size = sizeof options,
                                              .view = KYMO_HEAP_LIVE,
                                              .at_ns = KYMO_HEAP_END,
                                              .min_age_ns = KYMO_HEAP_AUTO,
                                              .process = process};
    kymo_report *threads = NULL;
    kymo_heap_report *heap = NULL;
    kymo_err err = kymo_report_create(profile, NULL, &threads);
    if (err == KYMO_OK)
        err = kymo_heap_report_create(profile, &options, &heap);
    if (err == KYMO_OK)
        err = kymo_report_write_heap_json(profile, threads, heap, "function", "live", 0, 0, sink);
    kymo_heap_report_destroy(heap);
    kymo_report_destroy(threads);
    return err;
}

kymo_err kymo_heap_answer_write(const char *path, const char *format, pid_t pid, int fd)
{
    struct fd_sink to = {{write_to_fd}, fd};
    kymo_encode_options options = {.size = sizeof options, .show = KYMO_ENCODE_LIVE};
    kymo_profile *profile = NULL;
    int is_report = strcmp(format, KYMO_CONTROL_REPORT) == 0;
    const kymo_format *encoder = is_report ? NULL : kymo_format_for_path(format);
    if (!is_report && !encoder)
        return KYMO_E_INVALID;
    KYMO_TRY(kymo_finish_load(path, NULL, &profile, NULL, NULL));
    if (pid)
        options.process = find_process(profile, pid) + 1; /* 0, if there is none */
    kymo_err err = pid && !options.process ? KYMO_E_NOT_FOUND
                   : is_report             ? write_report(profile, options.process, &to.sink)
                               : kymo_encode(profile, encoder, &to.sink, &options, NULL);
    kymo_profile_destroy(profile);
    return err;
}

/* ---- the process ---- */

/* Of the recorder's descriptors only the connection is its own: an event of perf or a pidfd that it
 * kept would outlive the recorder's wish. */
static int leave_recorder(int connection)
{
    static const int handled[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGXFSZ};
    sigset_t none;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(handled); i++)
        signal(handled[i], SIG_DFL);
    /* Typed for the program. */
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setpriority(PRIO_PROCESS, 0, 0);
    kymo_log_set_level(KYMO_LOG_ERROR);
    if (connection != STDERR_FILENO + 1 && dup2(connection, STDERR_FILENO + 1) < 0)
        _exit(1);
    (void)close_range(STDERR_FILENO + 2, ~0u, 0);
    return STDERR_FILENO + 1;
}

static _Noreturn void answer(const char *path, const struct kymo_control_request *request,
                             int connection)
{
    struct kymo_control_answer answer = {.magic = KYMO_CONTROL_MAGIC, .told = 1};
    connection = leave_recorder(connection);
    int fd = memfd_create("kymo-heap", MFD_CLOEXEC);
    kymo_err err = fd < 0 ? kymo_err_from_errno(errno) : KYMO_OK;
    if (err == KYMO_OK)
        err = kymo_heap_answer_write(path, request->format,
                                     request->pid == getppid() ? 0 : request->pid, fd);
    if (err == KYMO_OK && lseek(fd, 0, SEEK_SET) != 0)
        err = kymo_err_from_errno(errno);
    answer.error = err;
    err = kymo_control_send(connection, &answer, err == KYMO_OK ? fd : -1);
    _exit(err != KYMO_OK);
}

kymo_err kymo_heap_answers_start(struct kymo_heap_answers *answers, const char *path,
                                 const struct kymo_control_request *request, int connection)
{
    pid_t *place = NULL;
    kymo_heap_answers_reap(answers);
    for (uint32_t i = 0; i < KYMO_HEAP_ANSWERS; i++)
        if (answers->pids[i] == 0)
            place = &answers->pids[i];
    if (!place)
        return KYMO_E_FULL;
    pid_t pid = fork();
    if (pid < 0)
        return kymo_err_from_errno(errno);
    if (pid == 0)
        answer(path, request, connection);
    *place = pid;
    return KYMO_OK;
}

void kymo_heap_answers_reap(struct kymo_heap_answers *answers)
{
    for (uint32_t i = 0; i < KYMO_HEAP_ANSWERS; i++)
        if (answers->pids[i] && waitpid(answers->pids[i], NULL, WNOHANG) != 0)
            answers->pids[i] = 0;
}
