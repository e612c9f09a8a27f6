/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interval.h"

#include <string.h>

#include "agent/split.h"
#include "encode/encoder.h"
#include "kymo/profile.h"
#include "kymo/recording.h"
#include "symbolize/finish.h"

static int is_empty(const kymo_profile *profile)
{
    const kymo_quality *q = kymo_profile_quality(profile);
    /* startup_ns: processes began and ended, none of which had a sample. */
    return q->samples == 0 && q->wall_samples == 0 && q->startup_ns == 0 &&
           kymo_profile_count(profile, KYMO_TABLE_MARKERS) == 0 &&
           kymo_profile_count(profile, KYMO_TABLE_ALLOCATIONS) == 0;
}

static uint64_t lost(const kymo_profile *profile)
{
    const kymo_quality *q = kymo_profile_quality(profile);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < q->lost_count; i++)
        sum += q->lost[i].count;
    return sum;
}

/* Whether an interval has anything of a part, whose options are set. */
static int choose_part(const kymo_profile *profile, enum kymo_part part,
                       kymo_encode_options *options)
{
    switch (part) {
    case KYMO_PART_HEAP:
        options->show = KYMO_ENCODE_LIVE;
        return kymo_profile_count(profile, KYMO_TABLE_ALLOCATIONS) > 0;
    case KYMO_PART_CPU:
    case KYMO_PART_WALL:
        options->show = KYMO_ENCODE_TIME;
        options->kind = part == KYMO_PART_CPU ? KYMO_SAMPLE_CPU : KYMO_SAMPLE_WALL;
        options->flags |= KYMO_ENCODE_KIND_ALONE;
        return kymo_encoder_has_type(profile, options->kind);
    default:
        return 1;
    }
}

static kymo_err encode(const struct kymo_interval_work *work, const kymo_profile *profile,
                       kymo_error *detail)
{
    for (size_t i = 0; i < work->n_files; i++) {
        const struct kymo_interval_file *file = &work->files[i];
        if (strcmp(file->extension, KYMO_RECORDING_EXTENSION) == 0)
            continue;
        kymo_encode_options options = {
            .size = sizeof options, .kind = KYMO_SAMPLE_DEFAULT, .flags = KYMO_ENCODE_NO_SOURCE};
        if (!choose_part(profile, file->part, &options))
            continue;
        const kymo_format *format = kymo_format_for_path(file->extension);
        if (!format)
            return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0, "no format is called %s",
                                  file->extension);
        KYMO_TRY(kymo_encode_fd(profile, format, file->fd, &options, detail));
    }
    return KYMO_OK;
}

kymo_err kymo_interval_encode(void *context, struct kymo_worker_result *result)
{
    const struct kymo_interval_work *work = context;
    kymo_profile *profile = NULL;
    if (work->n_files == 0) {
        KYMO_TRY(kymo_recording_load_fd(work->segment, &profile, NULL, &result->error));
    } else {
        KYMO_TRY(kymo_store_symbols(work->segment, work->names, NULL, &result->error));
        KYMO_TRY(kymo_finish_load(NULL, work->segment, NULL, NULL, &profile, NULL, &result->error));
    }
    result->figures[KYMO_INTERVAL_SAMPLES] = kymo_profile_quality(profile)->samples;
    result->figures[KYMO_INTERVAL_HANDLER_NS] = kymo_profile_quality(profile)->handler_ns;
    result->figures[KYMO_INTERVAL_IS_EMPTY] = (uint64_t)is_empty(profile);
    result->figures[KYMO_INTERVAL_LOST] = lost(profile);
    kymo_err err = KYMO_OK;
    if (!is_empty(profile) || work->is_last)
        err = work->split ? kymo_split(work, profile, encode, &result->error)
                          : encode(work, profile, &result->error);
    kymo_profile_destroy(profile);
    return err;
}
