/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.c - makes a profile from a recording in a file or in memory.
 */
#include "kymo/recording.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/code_map.h"
#include "profile/ingest.h"
#include "profile/ingest_calls.h"
#include "profile/ingest_thin.h"
#include "recording/recording.h"
#include "symbolize/finish.h"
#include "symbolize/names_file.h"

#define LARGE_BYTES (512 << 10) /* a smaller file cannot have too many rows */

static_assert((int)KYMO_RECORDING_ERROR == (int)KYMO_NOTE_ERROR, "one list of severities");

/* The arrays of an info; the ingest owns texts and images. */
struct owner {
    kymo_ingest *ingest;
    kymo_recording_note *notes;
    kymo_recording_image *images;
};

static void owner_destroy(struct owner *owner)
{
    if (owner == NULL)
        return;
    kymo_ingest_destroy(owner->ingest);
    free(owner->notes);
    free(owner->images);
    free(owner);
}

/* On success info owns the ingest. */
static kymo_err fill_info(kymo_recording_info *info, kymo_ingest *ingest,
                          const kymo_recording_report *report)
{
    kymo_ingest_extra extra = kymo_ingest_get_extra(ingest);
    if (info->size < sizeof *info)
        return KYMO_E_INVALID;
    if (extra.note_count > UINT32_MAX || extra.image_count > UINT32_MAX)
        return KYMO_E_TOO_BIG;
    struct owner *owner = calloc(1, sizeof *owner);
    if (owner == NULL)
        return KYMO_E_NOMEM;
    owner->notes = calloc(extra.note_count + 1, sizeof *owner->notes);
    owner->images = calloc(extra.image_count + 1, sizeof *owner->images);
    if (owner->notes == NULL || owner->images == NULL) {
        owner_destroy(owner);
        return KYMO_E_NOMEM;
    }
    owner->ingest = ingest;
    for (size_t i = 0; i < extra.note_count; i++) {
        const kymo_ingest_note *n = &extra.notes[i];
        owner->notes[i] = (kymo_recording_note){n->time_ns, n->process, n->severity, n->text};
    }
    for (size_t i = 0; i < extra.image_count; i++) {
        const kymo_ingest_image *image = &extra.images[i];
        owner->images[i] = (kymo_recording_image){image->module, image->len, image->bytes};
    }
    *info = (kymo_recording_info){
        .size = sizeof *info,
        .major = report->major,
        .minor = report->minor,
        .whole = report->ending == KYMO_RECORDING_ENDED && report->text[0] == '\0',
        .clean = (uint32_t)extra.clean,
        .size_bytes = report->position,
        .hz = extra.hz,
        .note_count = (uint32_t)extra.note_count,
        .image_count = (uint32_t)extra.image_count,
        .engine_reason = extra.engine_reason ? extra.engine_reason : "",
        .options = extra.options ? extra.options : "",
        .notes = owner->notes,
        .images = owner->images,
        .owner = owner,
    };
    static_assert(sizeof info->damage == sizeof report->text, "one line in both");
    memcpy(info->damage, report->text, sizeof info->damage);
    return KYMO_OK;
}

struct input {
    int fd; /* -1: memory */
    kymo_load_how how;
    unsigned flags;
    const void *data;
    size_t len;
    const kymo_event_handler *handler;
};

static int is_large(const struct input *input)
{
    struct stat st;
    if (input->how.intervals)
        return 1;
    if (input->fd < 0)
        return input->len > LARGE_BYTES;
    return (input->flags & KYMO_RECORDING_BY_OFFSET) && fstat(input->fd, &st) == 0 &&
           S_ISREG(st.st_mode) && st.st_size > LARGE_BYTES;
}

static kymo_err read_input(const struct input *input, const kymo_event_handler *handler,
                           void *context, kymo_recording_report *report, kymo_error *detail)
{
    if (input->how.intervals)
        return kymo_recording_read_intervals(input->how.intervals, handler, context, report,
                                             detail);
    if (input->fd >= 0)
        return kymo_recording_read_fd(input->fd, input->flags, handler, context, report, detail);
    return kymo_recording_read_memory(input->data, input->len, input->flags, handler, context,
                                      report, detail);
}

/* A large recording is read twice: the number of allocations determines how many are kept, that of
 * traced calls how many are a row of their own. A pipe can be read only once, so all are kept.
 * Damage and errors are the second reading's to find. */
static void prepare(const struct input *input, kymo_ingest *ingest)
{
    struct kymo_thin_count count = {0};
    struct input first = *input;
    first.flags |= KYMO_RECORDING_UNCHECKED_CALLS;
    if (input->handler != &kymo_ingest_handler || !is_large(input))
        return;
    if (read_input(&first, &kymo_thin_count_handler, &count, NULL, NULL) != KYMO_OK)
        return;
    kymo_ingest_thin(ingest, kymo_thin_rate(&count, KYMO_THIN_ROWS));
    kymo_ingest_expect_calls(ingest, count.calls);
}

static kymo_err read_into(const struct input *input, kymo_ingest *ingest,
                          kymo_recording_report *report, kymo_error *detail)
{
    kymo_error why = {.code = KYMO_OK};
    prepare(input, ingest);
    kymo_err err = read_input(input, input->handler, ingest, report, &why);
    if (err == KYMO_OK && input->how.names)
        err = kymo_names_file_read(input->how.names, ingest);
    if (err == KYMO_OK)
        return kymo_ingest_finish(ingest);
    /* A reader's error has a text; an error of the ingest has only a code. */
    if (why.code == err && detail != NULL)
        *detail = why;
    return err;
}

static kymo_err load(const struct input *input, kymo_profile **out, kymo_recording_info *info,
                     uint64_t *end_at, kymo_error *detail)
{
    kymo_profile *profile = NULL;
    kymo_ingest *ingest = NULL;
    kymo_recording_report report = {0};
    kymo_error why = {.code = KYMO_OK};
    kymo_err err = kymo_profile_create(&profile);
    if (err == KYMO_OK)
        err = kymo_ingest_create(profile, &ingest);
    if (err == KYMO_OK && input->how.without_markers)
        kymo_ingest_skip_markers(ingest);
    if (err == KYMO_OK && input->how.native_python)
        kymo_ingest_keep_interpreter(ingest);
    if (err == KYMO_OK)
        kymo_ingest_shape_calls(ingest, input->how.min_duration_ns, input->how.folds_recursion);
    if (err == KYMO_OK)
        err = read_into(input, ingest, &report, &why);
    if (err == KYMO_OK && info != NULL)
        err = fill_info(info, ingest, &report);
    if (err != KYMO_OK || info == NULL)
        kymo_ingest_destroy(ingest);
    if (err != KYMO_OK) {
        kymo_profile_destroy(profile);
        if (why.code != err)
            return kymo_error_set(detail, err, 0, "loading the recording: %s", kymo_err_text(err));
        if (detail != NULL)
            *detail = why;
        return err;
    }
    *out = profile;
    if (end_at != NULL)
        *end_at = report.end_at;
    return KYMO_OK;
}

kymo_err kymo_recording_load_code(int fd, int names, kymo_profile **out, kymo_recording_info *info,
                                  uint64_t *end_at, kymo_error *detail)
{
    const kymo_event_handler *all = &kymo_ingest_handler;
    const kymo_event_handler some = {
        .meta = all->meta,
        .process = all->process,
        .module = all->module,
        .module_unload = all->module_unload,
        .module_image = all->module_image,
        .script = all->script,
        .stack = all->stack,
        .kernel_symbol = all->kernel_symbol,
        .kernel_stack = all->kernel_stack,
        .end = all->end,
    };
    KYMO_TRY(load(&(struct input){.fd = fd,
                                  .how = {.native_python = 1, .names = names},
                                  .flags = KYMO_RECORDING_BY_OFFSET,
                                  .handler = &some},
                  out, info, end_at, detail));
    kymo_err err = kymo_code_place_frames(*out);
    if (err != KYMO_OK) {
        kymo_profile_destroy(*out);
        kymo_recording_info_deinit(info);
    }
    return err;
}

static int is_file(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

kymo_err kymo_recording_load_as(const char *path, int fd, const kymo_load_how *how,
                                kymo_profile **out, kymo_recording_info *info, kymo_error *detail)
{
    struct input input = {.fd = fd, .handler = &kymo_ingest_handler};
    if (how)
        input.how = *how;
    int opened = -1;
    if (input.how.intervals)
        return load(&input, out, info, NULL, detail);
    if (fd < 0 && strcmp(path, "-") == 0) {
        input.fd = STDIN_FILENO;
    } else if (fd < 0) {
        input.fd = opened = open(path, O_RDONLY | O_CLOEXEC);
        if (opened < 0)
            return kymo_error_set_errno(detail, "%s", path);
    }
    if ((fd >= 0 || opened >= 0) && is_file(input.fd))
        input.flags = KYMO_RECORDING_BY_OFFSET;
    kymo_err err = load(&input, out, info, NULL, detail);
    if (opened >= 0)
        close(opened);
    return err;
}

kymo_err kymo_recording_load(const char *path, kymo_profile **out, kymo_recording_info *info,
                             kymo_error *detail)
{
    return kymo_recording_load_as(path, -1, 0, out, info, detail);
}

kymo_err kymo_recording_load_fd(int fd, kymo_profile **out, kymo_recording_info *info,
                                kymo_error *detail)
{
    return kymo_recording_load_as(NULL, fd, 0, out, info, detail);
}

kymo_err kymo_recording_load_memory(const void *data, size_t len, kymo_profile **out,
                                    kymo_recording_info *info, kymo_error *detail)
{
    return load(
        &(struct input){.fd = -1, .data = data, .len = len, .handler = &kymo_ingest_handler}, out,
        info, NULL, detail);
}

void kymo_recording_info_deinit(kymo_recording_info *info)
{
    owner_destroy(info->owner);
    memset(info, 0, sizeof *info);
}
