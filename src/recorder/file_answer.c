/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/file_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "kymo/encode.h"
#include "recorder/worker.h"
#include "select/select.h"
#include "symbolize/finish.h"
#include "sys/clock.h"
#include "sys/write_all.h"
#include "views/report_json.h"

#define PROFILE_NICE 5

/* ---- the file ---- */

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

static kymo_err write_report(const kymo_profile *profile, uint32_t process, int fd)
{
    const kymo_heap_report_options options = {.size = sizeof options,
                                              .view = KYMO_HEAP_LIVE,
                                              .at_ns = KYMO_HEAP_END,
                                              .min_age_ns = KYMO_HEAP_AUTO,
                                              .process = process};
    kymo_report *report = NULL;
    kymo_bytes text;
    kymo_bytes_init(&text, SIZE_MAX);
    kymo_err err = kymo_heap_report_create(profile, &options, &report);
    if (err == KYMO_OK)
        err = kymo_report_write_json(profile, NULL, report, "function", "live", 0, 0, &text.sink);
    if (err == KYMO_OK && kymo_write_all(fd, text.data, text.len) != text.len)
        err = kymo_err_from_errno(errno);
    kymo_report_destroy(report);
    kymo_bytes_deinit(&text);
    return err;
}

/* Writes a recording with function names. encoder: NULL: as a report of the live heap; pid: the
 * process whose heap is written, 0: of all. */
static kymo_err write_named(int recording, const kymo_format *encoder, kymo_encode_options options,
                            pid_t pid, int fd)
{
    kymo_profile *profile = NULL;
    KYMO_TRY(kymo_finish_load(NULL, recording, NULL, NULL, &profile, NULL, NULL));
    if (pid)
        options.process = find_process(profile, pid) + 1; /* 0 if there is none */
    kymo_err err = pid && !options.process ? KYMO_E_NOT_FOUND
                   : encoder               ? kymo_encode_fd(profile, encoder, fd, &options, NULL)
                                           : write_report(profile, options.process, fd);
    kymo_profile_destroy(profile);
    return err;
}

/* ---- what was recorded in some seconds ---- */

static kymo_encode_options options_of(uint32_t show)
{
    kymo_encode_options o = {
        .size = sizeof o, .kind = KYMO_SAMPLE_DEFAULT, .flags = KYMO_ENCODE_NO_SOURCE};
    if (show == KYMO_CONTROL_SHOW_ALLOC)
        o.show = KYMO_ENCODE_ALLOC;
    if (show != KYMO_CONTROL_SHOW_CPU && show != KYMO_CONTROL_SHOW_WALL)
        return o;
    o.show = KYMO_ENCODE_TIME;
    o.kind = show == KYMO_CONTROL_SHOW_CPU ? KYMO_SAMPLE_CPU : KYMO_SAMPLE_WALL;
    o.flags |= KYMO_ENCODE_KIND_ALONE;
    return o;
}

/* Encodes what is of the time from from_ns to to_ns. */
static kymo_err write_part(const kymo_profile *whole, uint64_t from_ns, uint64_t to_ns,
                           const kymo_format *encoder, uint32_t show, int fd)
{
    const kymo_encode_options options = options_of(show);
    const uint64_t origin_ns = kymo_profile_meta(whole)->origin_monotonic_ns;
    const kymo_selection selection = {.from_ns = from_ns > origin_ns ? from_ns - origin_ns : 0,
                                      .to_ns = to_ns > origin_ns ? to_ns - origin_ns - 1 : 0,
                                      .may_be_empty = 1};
    kymo_profile *part = NULL;
    KYMO_TRY(kymo_select(whole, &selection, NULL, &part, NULL));
    kymo_err err = kymo_encode_fd(part, encoder, fd, &options, NULL);
    kymo_profile_destroy(part);
    return err;
}

/* The present interval, as far as it is flushed, and those before it that are needed. */
static size_t list_intervals(const struct kymo_file_source *source,
                             struct kymo_recording_interval *list)
{
    size_t n = 0;
    for (size_t i = 0; i < source->past->list.len; i++)
        if (source->past->list.data[i].end_ns > source->asked_ns)
            list[n++] = source->past->list.data[i].recording;
    if (source->recording >= 0)
        list[n++] = (struct kymo_recording_interval){source->recording,
                                                     kymo_recording_bytes(source->writer)};
    return n;
}

static kymo_err write_profile(const struct kymo_file_source *source, const kymo_format *encoder,
                              const struct kymo_control_request *request, int fd)
{
    struct kymo_recording_interval *list = calloc(source->past->list.len + 1, sizeof *list);
    const uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    struct kymo_recording_intervals all = {.intervals = list, .end_ns = now_ns};
    const kymo_load_how how = {.intervals = &all};
    uint64_t to_ns = source->asked_ns + request->duration_ns;
    kymo_profile *profile = NULL;
    if (!list)
        return KYMO_E_NOMEM;
    all.count = list_intervals(source, list);
    kymo_err err = kymo_finish_load(NULL, -1, &how, NULL, &profile, NULL, NULL);
    free(list);
    KYMO_TRY(err);
    err = write_part(profile, source->asked_ns, to_ns < now_ns ? to_ns : now_ns, encoder,
                     request->show, fd);
    kymo_profile_destroy(profile);
    return err;
}

/* ---- what lives, and all that was recorded ---- */

/* The live heap as a separate recording: this process has a copy of the recorder's writer. If
 * the live heap is not known, the recording so far. */
static int open_live(const struct kymo_file_source *source)
{
    kymo_recording_writer *writer = source->writer;
    const kymo_event_end end = {.end_ns = kymo_clock_ns(CLOCK_MONOTONIC)};
    if (!kymo_recording_knows_allocations(writer))
        return source->recording;
    int fd = memfd_create("kymo-live", MFD_CLOEXEC);
    if (fd < 0 || kymo_recording_begin_segment(writer, fd) != KYMO_OK ||
        kymo_recording_write_end(writer, &end) != KYMO_OK)
        return source->recording;
    return fd;
}

/* encoder: NULL: as a report. */
static kymo_err write_heap(const struct kymo_file_source *source, const kymo_format *encoder,
                           pid_t pid, int fd)
{
    const kymo_encode_options options = {
        .size = sizeof options, .show = KYMO_ENCODE_LIVE, .flags = KYMO_ENCODE_INUSE_ALONE};
    int live = open_live(source);
    return live < 0 ? KYMO_E_CLOSED
                    : write_named(live, encoder, options, pid == getppid() ? 0 : pid, fd);
}

/* The recording so far. encoder: NULL: as it is. */
static kymo_err write_snapshot(const struct kymo_file_source *source, const kymo_format *encoder,
                               int fd)
{
    const kymo_encode_options options = {.size = sizeof options};
    int recording = encoder ? memfd_create("kymo-snapshot", MFD_CLOEXEC) : fd;
    if (recording < 0)
        return kymo_err_from_errno(errno);
    KYMO_TRY(kymo_recording_snapshot(source->writer, source->recording, recording,
                                     kymo_clock_ns(CLOCK_MONOTONIC)));
    return encoder ? write_named(recording, encoder, options, 0, fd) : KYMO_OK;
}

/* In the requested format. */
static kymo_err write_file(const struct kymo_file_source *source,
                           const struct kymo_control_request *request, int fd)
{
    const int is_heap = request->what == KYMO_CONTROL_HEAP;
    const char *unencoded = is_heap ? KYMO_CONTROL_REPORT : KYMO_CONTROL_RECORDING;
    const kymo_format *encoder = kymo_format_for_path(request->format);
    if (!encoder &&
        (request->what == KYMO_CONTROL_PROFILE || strcmp(request->format, unencoded) != 0))
        return KYMO_E_INVALID;
    if (request->what == KYMO_CONTROL_PROFILE)
        return write_profile(source, encoder, request, fd);
    return is_heap ? write_heap(source, encoder, request->pid, fd)
                   : write_snapshot(source, encoder, fd);
}

/* ---- the process ---- */

/* Keeps the descriptors of the work alone. */
static kymo_err leave_recorder(const struct kymo_file_source *source, int nice, int connection)
{
    int *kept = malloc((source->past->list.len + 2) * sizeof *kept);
    size_t n = 0;
    if (!kept)
        return KYMO_E_NOMEM;
    kept[n++] = connection;
    if (source->recording >= 0)
        kept[n++] = source->recording;
    for (size_t i = 0; i < source->past->list.len; i++)
        kept[n++] = source->past->list.data[i].recording.fd;
    kymo_worker_leave_recorder(nice, kept, n);
    free(kept);
    return KYMO_OK;
}

static _Noreturn void answer(const struct kymo_file_source *source,
                             const struct kymo_control_request *request, int connection)
{
    struct kymo_control_answer answer = {.magic = KYMO_CONTROL_MAGIC, .told = 1};
    /* Profiles are fetched from services again and again: after what these do. */
    const int nice = request->what == KYMO_CONTROL_PROFILE ? PROFILE_NICE : 0;
    kymo_err err = leave_recorder(source, nice, connection);
    int fd = memfd_create("kymo-answer", MFD_CLOEXEC);
    if (err == KYMO_OK && fd < 0)
        err = kymo_err_from_errno(errno);
    if (err == KYMO_OK)
        err = write_file(source, request, fd);
    if (err == KYMO_OK && lseek(fd, 0, SEEK_SET) != 0)
        err = kymo_err_from_errno(errno);
    answer.error = err;
    err = kymo_control_send(connection, &answer, err == KYMO_OK ? fd : -1);
    _exit(err != KYMO_OK);
}

kymo_err kymo_file_answers_start(struct kymo_file_answers *answers,
                                 const struct kymo_file_source *source,
                                 const struct kymo_control_request *request, int connection)
{
    pid_t *place = NULL;
    kymo_file_answers_reap(answers);
    if (request->what == KYMO_CONTROL_PROFILE &&
        !kymo_past_intervals_has(source->past, source->asked_ns))
        return KYMO_E_TOO_BIG;
    for (uint32_t i = 0; i < KYMO_FILE_ANSWERS; i++)
        if (answers->pids[i] == 0)
            place = &answers->pids[i];
    if (!place)
        return KYMO_E_FULL;
    pid_t pid = fork();
    if (pid < 0)
        return kymo_err_from_errno(errno);
    if (pid == 0)
        answer(source, request, connection);
    *place = pid;
    return KYMO_OK;
}

void kymo_file_answers_reap(struct kymo_file_answers *answers)
{
    for (uint32_t i = 0; i < KYMO_FILE_ANSWERS; i++)
        if (answers->pids[i] && waitpid(answers->pids[i], NULL, WNOHANG) != 0)
            answers->pids[i] = 0;
}
