/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reporting_encode.c - from intervals to files, and on to the reporters.
 *
 * Encoding is a worker's: reading the interval, names, formats. It may take longer than an interval
 * on a loaded machine; then intervals queue up, and above INTERVALS_MAX the oldest is dropped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/reporting_state.h"
#include "base/log.h"
#include "kymo/encode.h"
#include "symbolize/names_file.h"

#define INTERVALS_MAX 8u
/* Names of more code than this are looked up anew. */
#define NAMES_BYTES_MAX (16u << 20)

/* ---- files without a name: nothing is left of them, however we end ---- */

static int open_unnamed(const char *folder)
{
    char path[KYMO_AGENT_SPOOL_MAX + 32];
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    snprintf(path, sizeof path, "%s/kymo-XXXXXX", folder);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

int kymo_reporting_open_file(const kymo_reporting *a, kymo_error *detail)
{
    const char *folder = a->settings->spool[0] ? a->settings->spool : secure_getenv("TMPDIR");
    if (!folder || !folder[0])
        folder = "/tmp";
    int fd = open_unnamed(folder);
    /* Where nothing can be written, memory is what is left. */
    if (fd < 0 && !a->settings->spool[0])
        fd = memfd_create("kymo-interval", MFD_CLOEXEC);
    if (fd < 0)
        (void)kymo_error_set_errno(detail, "%s: no file can be made there", folder);
    return fd;
}

/* ---- profiles of single processes ---- */

static void take_parts(kymo_reporting *a)
{
    struct kymo_reporting_part part;
    while (a->split >= 0 && kymo_split_take(a->split, &part.of, &part.fd))
        if (part.of.file >= a->work.n_files || kymo_vec_push(&a->parts, part) != KYMO_OK)
            close(part.fd);
}

static void close_parts(kymo_reporting *a)
{
    while (a->parts.len > 0)
        close(a->parts.data[--a->parts.len].fd);
    if (a->split >= 0)
        close(a->split);
    a->split = -1;
}

static int open_file(void *agent, kymo_error *detail)
{
    return kymo_reporting_open_file(agent, detail);
}

/* *worker: the end that the encoder gets. */
static kymo_err open_parts(kymo_reporting *a, int *worker, kymo_error *detail)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return kymo_error_set_errno(detail, "no socket for its parts");
    a->split = ends[0];
    *worker = ends[1];
    a->work.split = ends[1];
    a->work.open_file = open_file;
    a->work.context = a;
    return KYMO_OK;
}

/* ---- encoding ---- */

static void open_names(kymo_reporting *a)
{
    if (a->names >= 0)
        close(a->names);
    a->names = kymo_reporting_open_file(a, NULL);
    if (a->names >= 0 && kymo_names_file_begin(a->names) != KYMO_OK) {
        close(a->names);
        a->names = -1;
    }
}

static uint64_t size_of(int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void close_files(struct kymo_interval_work *work)
{
    for (size_t i = 0; i < work->n_files; i++)
        if (work->files[i].fd >= 0 && work->files[i].fd != work->segment)
            close(work->files[i].fd);
    work->n_files = 0;
}

/* Whether a reporter gets this file. */
static int wants(const struct kymo_reporter *reporter, const struct kymo_interval_file *file)
{
    return strcmp(file->extension, reporter->extension) == 0 &&
           (file->part != KYMO_PART_ALL) == reporter->kind->in_parts;
}

static int has_files_for(const struct kymo_interval_work *work, const struct kymo_reporter *r)
{
    for (size_t i = 0; i < work->n_files; i++)
        if (wants(r, &work->files[i]))
            return 1;
    return 0;
}

static const char *constant_extension(const char *extension)
{
    const kymo_format *format = kymo_format_for_path(extension);
    return format ? format->extension : KYMO_RECORDING_EXTENSION;
}

static kymo_err open_files_for(kymo_reporting *a, const struct kymo_reporter *r, kymo_error *detail)
{
    struct kymo_interval_work *work = &a->work;
    const enum kymo_part first = r->kind->in_parts ? KYMO_PART_ALL + 1 : KYMO_PART_ALL;
    const enum kymo_part end = r->kind->in_parts ? KYMO_PART_COUNT : KYMO_PART_ALL + 1;
    /* Settings may be others when the file is delivered. */
    const char *extension = constant_extension(r->extension);
    for (enum kymo_part part = first; part < end; part++) {
        int fd = strcmp(extension, KYMO_RECORDING_EXTENSION) == 0
                     ? work->segment
                     : kymo_reporting_open_file(a, detail);
        if (fd < 0)
            return KYMO_E_IO;
        work->files[work->n_files++] = (struct kymo_interval_file){part, extension, fd};
    }
    return KYMO_OK;
}

static kymo_err open_files(kymo_reporting *a, kymo_error *detail)
{
    for (uint32_t i = 0; i < a->settings->n_reporters; i++)
        if (!has_files_for(&a->work, &a->settings->reporters[i]))
            KYMO_TRY(open_files_for(a, &a->settings->reporters[i], detail));
    return KYMO_OK;
}

/* The interval is over for us: nothing, or its profiles, have been handed on. */
static void forget_first(kymo_reporting *a)
{
    close(a->waiting.data[0].of.fd);
    a->waiting.len--;
    memmove(a->waiting.data, a->waiting.data + 1, a->waiting.len * sizeof *a->waiting.data);
}

static void interval_failed(kymo_reporting *a, const kymo_error *why)
{
    a->status.broken++;
    a->status.reason = *why;
    kymo_warn("interval %llu is lost: %s", (unsigned long long)a->waiting.data[0].number,
              why->message);
}

static void start_encoding(kymo_reporting *a)
{
    int fds[KYMO_AGENT_FILES + 3];
    size_t n = 0;
    int worker = -1;
    kymo_error detail = {0};
    if (a->names < 0 || size_of(a->names) > NAMES_BYTES_MAX)
        open_names(a);
    a->names_before = size_of(a->names);
    a->work = (struct kymo_interval_work){.segment = a->waiting.data[0].of.fd,
                                          .names = a->names < 0 ? 0 : a->names,
                                          .is_last = a->waiting.data[0].of.is_last};
    kymo_err err = open_files(a, &detail);
    if (err == KYMO_OK && a->settings->split_processes)
        err = open_parts(a, &worker, &detail);
    if (worker >= 0)
        fds[n++] = worker;
    fds[n++] = a->work.segment;
    if (a->names >= 0)
        fds[n++] = a->names;
    for (size_t i = 0; i < a->work.n_files; i++)
        fds[n++] = a->work.files[i].fd;
    if (err == KYMO_OK) {
        err = a->system->workers->start(&a->encoder, kymo_interval_encode, &a->work, fds, n);
        if (err != KYMO_OK)
            kymo_error_set(&detail, err, 0, "no process to encode it: %s", kymo_err_text(err));
    }
    if (worker >= 0)
        close(worker);
    a->is_encoding = err == KYMO_OK;
    if (err != KYMO_OK) {
        close_parts(a);
        interval_failed(a, &detail);
        close_files(&a->work);
        forget_first(a);
    }
}

/* A file with the same content and a descriptor of its own, which the interval does not close. */
static struct kymo_shared_file *share(const struct kymo_interval_file *file)
{
    int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 3);
    struct kymo_shared_file *shared = fd >= 0 ? kymo_shared_file_create(fd) : NULL;
    if (!shared && fd >= 0)
        close(fd);
    return shared;
}

/* process: of which one it is; NULL: of all. */
static void hand_on_file(kymo_reporting *a, const struct kymo_reporting_interval *interval,
                         const struct kymo_interval_file *from,
                         const struct kymo_split_part *process, uint64_t lost_records)
{
    if (from->part != KYMO_PART_ALL && size_of(from->fd) == 0)
        return;
    struct kymo_shared_file *file = share(from);
    struct kymo_interval_profile profile = {
        .extension = from->extension,
        .part = from->part,
        .end_ns = interval->of.end_realtime_ns,
        .interval_ns = a->settings->interval_ns,
        .number = interval->number,
        .lost_records = lost_records,
        .is_last = interval->of.is_last,
        .who = &a->who,
    };
    /* The clock may have been set meanwhile; the length of an interval is that of CLOCK_MONOTONIC.
     */
    profile.start_ns = profile.end_ns - (interval->of.end_ns - interval->of.start_ns);
    if (file && process) {
        snprintf(file->program, sizeof file->program, "%s", process->name);
        file->who = a->who;
        file->who.program = file->program;
        file->who.pid = process->pid;
        profile.who = &file->who;
    }
    for (uint32_t r = 0; r < a->settings->n_reporters; r++)
        if (wants(&a->settings->reporters[r], from) &&
            (!file || kymo_deliver_put(&a->delivers[r], file, &profile) != KYMO_OK))
            a->delivers[r].counts.dropped++;
    kymo_shared_file_release(file);
}

static void hand_on(kymo_reporting *a, const struct kymo_reporting_interval *interval,
                    uint64_t lost_records)
{
    for (size_t i = 0; i < a->parts.len; i++) {
        const struct kymo_reporting_part *part = &a->parts.data[i];
        struct kymo_interval_file file = a->work.files[part->of.file];
        file.fd = part->fd;
        hand_on_file(a, interval, &file, &part->of, lost_records);
    }
    for (size_t i = 0; a->split < 0 && i < a->work.n_files; i++)
        hand_on_file(a, interval, &a->work.files[i], NULL, lost_records);
}

static void took_encoding(kymo_reporting *a, const struct kymo_worker_result *result)
{
    const struct kymo_reporting_interval *interval = &a->waiting.data[0];
    const int is_empty = result->figures[KYMO_INTERVAL_IS_EMPTY] != 0;
    a->is_encoding = 0;
    take_parts(a);
    /* Whatever it had written of a name when it failed. */
    if (result->error.code != KYMO_OK && a->names >= 0)
        (void)!ftruncate(a->names, (off_t)a->names_before);
    a->status.lost_records += result->figures[KYMO_INTERVAL_LOST];
    a->status.samples += result->figures[KYMO_INTERVAL_SAMPLES];
    a->status.handler_ns += result->figures[KYMO_INTERVAL_HANDLER_NS];
    if (result->error.code != KYMO_OK)
        interval_failed(a, &result->error);
    else if (is_empty && !interval->of.is_last)
        a->status.empty++;
    else
        hand_on(a, interval, result->figures[KYMO_INTERVAL_LOST]);
    close_parts(a);
    close_files(&a->work);
    forget_first(a);
}

/* ---- what waits ---- */

static void drop_oldest(kymo_reporting *a)
{
    static const kymo_error why = {.code = KYMO_E_FULL,
                                   .message = "encoding does not keep up with the intervals"};
    struct kymo_reporting_interval first = a->waiting.data[0];
    if (!a->is_encoding) {
        interval_failed(a, &why);
        forget_first(a);
        return;
    }
    /* The first one is under way: the second is the oldest that can go. */
    a->waiting.data[0] = a->waiting.data[1];
    interval_failed(a, &why);
    forget_first(a);
    a->waiting.data[0] = first;
}

kymo_err kymo_reporting_take(kymo_reporting *a, const struct kymo_launch_interval *of)
{
    if (a->waiting.len == INTERVALS_MAX)
        drop_oldest(a);
    kymo_err err =
        kymo_vec_push(&a->waiting, (struct kymo_reporting_interval){*of, a->status.intervals});
    if (err != KYMO_OK)
        close(of->fd);
    return err;
}

void kymo_reporting_encode(kymo_reporting *a)
{
    struct kymo_worker_result result;
    take_parts(a);
    if (a->is_encoding && a->system->workers->has_ended(&a->encoder, &result))
        took_encoding(a, &result);
    if (!a->is_encoding && a->waiting.len > 0)
        start_encoding(a);
}

void kymo_reporting_stop_encoding(kymo_reporting *a)
{
    if (a->is_encoding) {
        a->system->workers->stop(&a->encoder);
        close_files(&a->work);
    }
    close_parts(a);
    kymo_vec_deinit(&a->parts);
    while (a->waiting.len > 0)
        forget_first(a);
    kymo_vec_deinit(&a->waiting);
    if (a->names >= 0)
        close(a->names);
}
