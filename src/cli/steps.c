/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/steps.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/command.h"
#include "kymo/encode.h"
#include "kymo/import.h"
#include "symbolize/finish.h"
#include "views/terminal.h"

static void on_step(void *data, const char *what)
{
    kymo_progress_start(data, what);
}

static void on_update(void *data, double fraction)
{
    kymo_progress_update(data, fraction, 0);
}

volatile sig_atomic_t kymo_stop_asked;

static int on_encoded(void *data, uint64_t bytes, double fraction)
{
    kymo_progress_update(data, fraction, bytes);
    return kymo_stop_asked;
}

/* "kymo: PATH: what is wrong"; what is wrong may name the path itself. */
static int say_error(const char *path, kymo_err err, const kymo_error *detail)
{
    const char *message = detail->message[0] ? detail->message : kymo_err_text(err);
    if (kymo_str_starts(message, path))
        kymo_fprint(stderr, "kymo: %s\n", message);
    else
        kymo_fprint(stderr, "kymo: %s: %s\n", path, message);
    return KYMO_EXIT_FAILED;
}

void kymo_store_names(int fd, const char *path, int quiet)
{
    kymo_progress bar;
    kymo_error detail = {0};
    kymo_finish_progress progress = {.step = on_step, .update = on_update, .data = &bar};
    kymo_progress_init(&bar, quiet);
    kymo_progress_start(&bar, "reading symbols");
    kymo_err err = kymo_store_symbols(fd, 0, &progress, &detail);
    kymo_progress_end(&bar);
    if (err != KYMO_OK)
        say_error(path, err, &detail);
}

/* fd -1: by its path. is_own: it was recorded just now. */
static int load(int fd, const char *path, int is_own, const kymo_load_how *how, int quiet,
                kymo_profile **out)
{
    kymo_progress bar;
    kymo_recording_info info = {.size = sizeof info};
    kymo_error detail = {0};
    kymo_finish_progress progress = {.step = on_step, .update = on_update, .data = &bar};
    kymo_progress_init(&bar, quiet);
    kymo_progress_start(&bar, "reading");
    kymo_err err = kymo_finish_load(path, fd, how, &progress, out, &info, &detail);
    kymo_progress_end(&bar);
    if (err == KYMO_E_CORRUPT && kymo_foreign_say(fd, path))
        return KYMO_EXIT_FAILED;
    if (err != KYMO_OK)
        return say_error(path, err, &detail);
    /* Of its own recording, record has said why it broke off. */
    if (info.damage[0] && !quiet && !is_own)
        kymo_fprint(stderr, "kymo: %s: %s\n", path, info.damage);
    for (uint32_t i = 0; i < info.note_count && !quiet; i++)
        if (info.notes[i].severity >= KYMO_RECORDING_WARNING)
            kymo_fprint(stderr, "kymo: %s\n", info.notes[i].text);
    kymo_recording_info_deinit(&info);
    return KYMO_EXIT_OK;
}

static int load_imported(int fd, const char *path, int quiet, kymo_profile **out)
{
    kymo_progress bar;
    kymo_error detail = {0};
    kymo_progress_init(&bar, quiet);
    kymo_progress_start(&bar, "reading");
    kymo_err err = kymo_import_fd(fd, out, &detail);
    kymo_progress_end(&bar);
    return err == KYMO_OK ? KYMO_EXIT_OK : say_error(path, err, &detail);
}

/* Whether it is of another profiler; *fd is open then. What cannot be opened is a recording, whose
 * reader says so. */
static int open_imported(const char *path, int *fd)
{
    int is_stdin = strcmp(path, "-") == 0;
    struct stat st;
    *fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
          : stat(path, &st) == 0 && (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode))
              ? open(path, O_RDONLY | O_CLOEXEC)
              : -1;
    if (*fd >= 0 && kymo_import_format_of_fd(*fd))
        return 1;
    return 0;
}

int kymo_load_profile(const char *path, const kymo_load_how *how, int quiet, kymo_profile **out)
{
    int fd;
    int status = open_imported(path, &fd)       ? load_imported(fd, path, quiet, out)
                 : fd >= 0 && strcmp(path, "-") ? load(fd, path, 0, how, quiet, out)
                                                : load(-1, path, 0, how, quiet, out);
    if (fd >= 0)
        close(fd);
    return status;
}

int kymo_load_recording_fd(int fd, const char *path, int is_brief, int quiet, kymo_profile **out)
{
    const kymo_load_how how = {.without_markers = is_brief};
    return load(fd, path, 1, &how, quiet, out);
}

int kymo_mode_parse(const char *word, kymo_sample_kind *kind)
{
    for (int i = 0; i <= KYMO_SAMPLE_CALLS; i++)
        if (strcmp(kymo_mode_name((kymo_sample_kind)i), word) == 0) {
            *kind = (kymo_sample_kind)i;
            return 1;
        }
    return 0;
}

const char *kymo_mode_name(kymo_sample_kind kind)
{
    static const char *const names[] = {[KYMO_SAMPLE_CPU] = "cpu",
                                        [KYMO_SAMPLE_WALL] = "wall",
                                        [KYMO_SAMPLE_TRACE] = "trace",
                                        [KYMO_SAMPLE_CALLS] = "calls"};
    return names[kind];
}

int kymo_marker_by_parse(const char *word, kymo_marker_report_by *by)
{
    for (int i = 0; i < KYMO_MARKERS_BY_COUNT; i++)
        if (strcmp(kymo_marker_by_name((kymo_marker_report_by)i), word) == 0) {
            *by = (kymo_marker_report_by)i;
            return 1;
        }
    return 0;
}

const char *kymo_marker_by_name(kymo_marker_report_by by)
{
    static const char *const names[KYMO_MARKERS_BY_COUNT] = {[KYMO_MARKERS_BY_NAME] = "name",
                                                             [KYMO_MARKERS_BY_CATEGORY] =
                                                                 "category",
                                                             [KYMO_MARKERS_BY_TYPE] = "type",
                                                             [KYMO_MARKERS_BY_THREAD] = "thread"};
    return names[by];
}

int kymo_shown_parse(const char *word, struct kymo_shown *shown)
{
    static const char *const words[KYMO_ENCODE_COUNT] = {[KYMO_ENCODE_ALLOC] = "alloc",
                                                         [KYMO_ENCODE_LIVE] = "live",
                                                         [KYMO_ENCODE_PEAK] = "peak",
                                                         [KYMO_ENCODE_LEAKS] = "leaks",
                                                         [KYMO_ENCODE_MAPPED] = "mapped"};
    for (int i = 0; i < KYMO_ENCODE_COUNT; i++)
        if (words[i] && strcmp(words[i], word) == 0) {
            shown->show = (kymo_encode_show)i;
            return 1;
        }
    shown->show = KYMO_ENCODE_TIME;
    return kymo_mode_parse(word, &shown->kind);
}

/* A file of time leaves out the memory that was recorded, too. */
static void say_left_out(const kymo_profile *profile, const char *path)
{
    const kymo_format *format = kymo_format_for_path(path);
    if (format && strcmp(format->name, "firefox") != 0 && strcmp(format->name, "otlp") != 0 &&
        kymo_profile_sample_count(profile) > 0 &&
        kymo_profile_count(profile, KYMO_TABLE_ALLOCATIONS) > 0)
        kymo_fprint(stderr,
                    "kymo: %s shows time; of memory, kymo convert --mode live makes one from a "
                    ".kymo file\n",
                    path);
}

int kymo_write_output(const kymo_profile *profile, const kymo_output *output,
                      struct kymo_shown shown, int quiet, uint64_t *bytes)
{
    kymo_progress bar;
    kymo_error detail = {0};
    struct stat st;
    kymo_encode_options options = {.size = sizeof options,
                                   .replace = output->force || output->is_special,
                                   .kind = shown.kind,
                                   .show = shown.show,
                                   .at_ns = shown.at_ns,
                                   .from_ns = shown.from_ns,
                                   .min_age_ns = shown.min_age_ns,
                                   .youngest_percent = shown.youngest_percent,
                                   .flags = shown.flags,
                                   .before = shown.before,
                                   .before_kind = shown.before_kind,
                                   .progress = on_encoded,
                                   .progress_data = &bar};
    kymo_progress_init(&bar, quiet);
    kymo_progress_start(&bar, "writing");
    kymo_sink to_stdout = kymo_stdout_sink();
    kymo_err err = output->is_stdout ? kymo_encode(profile, kymo_format_for_path(output->path),
                                                   &to_stdout, &options, &detail)
                                     : kymo_encode_file(profile, output->path, &options, &detail);
    kymo_progress_end(&bar);
    *bytes = 0;
    if (err == KYMO_OK && output->is_stdout)
        return kymo_flush_output();
    if (err != KYMO_OK)
        return say_error(output->path, err, &detail);
    if (!quiet && shown.show == KYMO_ENCODE_AUTO)
        say_left_out(profile, output->path);
    *bytes = stat(output->path, &st) == 0 ? (uint64_t)st.st_size : 0;
    return KYMO_EXIT_OK;
}
