/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/file_answer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "kymo/encode.h"
#include "symbolize/finish.h"
#include "sys/clock.h"
#include "sys/write_all.h"
#include "views/report_json.h"

/* ---- the file ---- */

struct fd_sink {
    kymo_sink sink;
    int fd;
};

static kymo_err write_to_fd(kymo_sink *sink, const void *data, size_t len)
{
    const struct fd_sink *to = (const struct fd_sink *)sink;
    return kymo_write_all(to->fd, data, len) == len ? KYMO_OK : kymo_err_from_errno(errno);
}

/* The last image of a process. */
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
    kymo_report *report = NULL;
    kymo_err err = kymo_heap_report_create(profile, &options, &report);
    if (err == KYMO_OK)
        err = kymo_report_write_json(profile, NULL, report, "function", "live", 0, 0, sink);
    kymo_report_destroy(report);
    return err;
}

/* Writes a recording with function names. encoder: NULL: as a report of the live heap; pid: the
 * process whose heap is written, 0: of all. */
static kymo_err write_named(int recording, const kymo_format *encoder, kymo_encode_options options,
                            pid_t pid, int fd)
{
    struct fd_sink to = {{write_to_fd}, fd};
    kymo_profile *profile = NULL;
    KYMO_TRY(kymo_finish_load(NULL, recording, NULL, NULL, &profile, NULL, NULL));
    if (pid)
        options.process = find_process(profile, pid) + 1; /* 0 if there is none */
    kymo_err err = pid && !options.process ? KYMO_E_NOT_FOUND
                   : encoder               ? kymo_encode(profile, encoder, &to.sink, &options, NULL)
                                           : write_report(profile, options.process, &to.sink);
    kymo_profile_destroy(profile);
    return err;
}

/* ---- the process ---- */

enum { CONNECTION = STDERR_FILENO + 1, RECORDING };

/* Closes all descriptors of the recorder but these two: a perf event or a pidfd that stayed open
 * here would live on after the recorder closed it. */
static void leave_recorder(int connection, int recording)
{
    static const int handled[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGXFSZ};
    sigset_t none;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(handled); i++)
        signal(handled[i], SIG_DFL);
    /* Ctrl-C in the terminal is for the program. */
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setpriority(PRIO_PROCESS, 0, 0);
    kymo_log_set_level(KYMO_LOG_ERROR);
    /* Above the two final numbers, so that neither dup2 overwrites the other. */
    connection = fcntl(connection, F_DUPFD_CLOEXEC, RECORDING + 1);
    recording = fcntl(recording, F_DUPFD_CLOEXEC, RECORDING + 1);
    if (connection < 0 || recording < 0 || dup2(connection, CONNECTION) < 0 ||
        dup2(recording, RECORDING) < 0)
        _exit(1);
    (void)close_range(RECORDING + 1, ~0u, 0);
}

/* The live heap as a separate recording: this process has a copy of the recorder's writer. If
 * the live heap is not known, the recording so far. */
static int open_source(kymo_recording_writer *writer)
{
    const kymo_event_end end = {.end_ns = kymo_clock_ns(CLOCK_MONOTONIC)};
    if (!kymo_recording_knows_allocations(writer))
        return RECORDING;
    int fd = memfd_create("kymo-live", MFD_CLOEXEC);
    if (fd < 0 || kymo_recording_begin_segment(writer, fd) != KYMO_OK ||
        kymo_recording_write_end(writer, &end) != KYMO_OK)
        return RECORDING;
    return fd;
}

/* encoder: NULL: as a report. */
static kymo_err write_heap(kymo_recording_writer *writer, const kymo_format *encoder, pid_t pid,
                           int fd)
{
    const kymo_encode_options options = {
        .size = sizeof options, .show = KYMO_ENCODE_LIVE, .flags = KYMO_ENCODE_INUSE_ALONE};
    return write_named(open_source(writer), encoder, options, pid == getppid() ? 0 : pid, fd);
}

/* The recording so far. encoder: NULL: as it is. */
static kymo_err write_snapshot(kymo_recording_writer *writer, const kymo_format *encoder, int fd)
{
    const kymo_encode_options options = {.size = sizeof options};
    int recording = encoder ? memfd_create("kymo-snapshot", MFD_CLOEXEC) : fd;
    if (recording < 0)
        return kymo_err_from_errno(errno);
    KYMO_TRY(kymo_recording_snapshot(writer, RECORDING, recording, kymo_clock_ns(CLOCK_MONOTONIC)));
    return encoder ? write_named(recording, encoder, options, 0, fd) : KYMO_OK;
}

/* The live heap, or the recording so far, in the requested format. */
static kymo_err write_file(kymo_recording_writer *writer,
                           const struct kymo_control_request *request, int fd)
{
    int is_heap = request->what == KYMO_CONTROL_HEAP;
    const char *unencoded = is_heap ? KYMO_CONTROL_REPORT : KYMO_CONTROL_RECORDING;
    const kymo_format *encoder = kymo_format_for_path(request->format);
    if (!encoder && strcmp(request->format, unencoded) != 0)
        return KYMO_E_INVALID;
    return is_heap ? write_heap(writer, encoder, request->pid, fd)
                   : write_snapshot(writer, encoder, fd);
}

static _Noreturn void answer(int recording, kymo_recording_writer *writer,
                             const struct kymo_control_request *request, int connection)
{
    struct kymo_control_answer answer = {.magic = KYMO_CONTROL_MAGIC, .told = 1};
    leave_recorder(connection, recording);
    int fd = memfd_create("kymo-answer", MFD_CLOEXEC);
    kymo_err err = fd < 0 ? kymo_err_from_errno(errno) : KYMO_OK;
    if (err == KYMO_OK)
        err = write_file(writer, request, fd);
    if (err == KYMO_OK && lseek(fd, 0, SEEK_SET) != 0)
        err = kymo_err_from_errno(errno);
    answer.error = err;
    err = kymo_control_send(CONNECTION, &answer, err == KYMO_OK ? fd : -1);
    _exit(err != KYMO_OK);
}

kymo_err kymo_file_answers_start(struct kymo_file_answers *answers, int recording,
                                 kymo_recording_writer *writer,
                                 const struct kymo_control_request *request, int connection)
{
    pid_t *place = NULL;
    kymo_file_answers_reap(answers);
    for (uint32_t i = 0; i < KYMO_FILE_ANSWERS; i++)
        if (answers->pids[i] == 0)
            place = &answers->pids[i];
    if (!place)
        return KYMO_E_FULL;
    pid_t pid = fork();
    if (pid < 0)
        return kymo_err_from_errno(errno);
    if (pid == 0)
        answer(recording, writer, request, connection);
    *place = pid;
    return KYMO_OK;
}

void kymo_file_answers_reap(struct kymo_file_answers *answers)
{
    for (uint32_t i = 0; i < KYMO_FILE_ANSWERS; i++)
        if (answers->pids[i] && waitpid(answers->pids[i], NULL, WNOHANG) != 0)
            answers->pids[i] = 0;
}
