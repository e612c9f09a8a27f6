/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/finish.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "symbolize/apply.h"
#include "symbolize/section_cache.h"
#include "sys/cache_folder.h"

struct finish {
    const kymo_finish_progress *progress; /* NULL: not reported */
    const kymo_recording_info *info;
};

/* The bytes of a module that is not a file, the vDSO, are in the recording. */
static void locate(void *user, const kymo_profile *profile, uint32_t module,
                   kymo_symbol_module *wanted)
{
    const struct finish *f = user;
    uint32_t file = kymo_profile_module_file(profile, module);
    for (uint32_t i = 0; i < f->info->image_count; i++) {
        if (kymo_profile_module_file(profile, f->info->images[i].module) == file) {
            wanted->image = f->info->images[i].bytes;
            wanted->image_size = f->info->images[i].len;
        }
    }
}

static void opened(void *user, const kymo_profile *profile, uint32_t module,
                   const kymo_symbol_status *status)
{
    const kymo_module *m = kymo_profile_module(profile, module);
    (void)user;
    if (status->err == KYMO_E_MISMATCH && m->symbols == KYMO_SYMBOLS_OTHER)
        return; /* noted when it was recorded */
    if (status->err == KYMO_E_MISMATCH)
        kymo_warn("%s: it has been replaced since it was mapped; its code has no names", m->path);
    else if (status->err != KYMO_OK)
        kymo_info("%s: no symbols: %s", m->path, kymo_err_text(status->err));
    else if (status->alt_missing)
        kymo_info("%s: the file that its debug file shares with others is missing; some names "
                  "will be, too",
                  m->path);
}

static bool on_progress(void *user, uint64_t done, uint64_t total)
{
    const struct finish *f = user;
    if (f->progress)
        f->progress->update(f->progress->data, total ? (double)done / (double)total : 1);
    return true;
}

static kymo_err symbolize(struct finish *f, kymo_profile *profile, kymo_apply_result *result)
{
    kymo_symbolizer *symbolizer;
    const kymo_apply_options options = {
        .locate = locate, .opened = opened, .progress = on_progress, .user = f};
    kymo_section_cache cache = {.folder = kymo_cache_open()};
    kymo_err err = kymo_symbolizer_create(&(kymo_symbolizer_options){.cache = &cache}, &symbolizer);
    if (err == KYMO_OK) {
        err = kymo_symbolize_profile(symbolizer, profile, &options, result);
        kymo_symbolizer_destroy(symbolizer);
    }
    if (cache.folder >= 0)
        close(cache.folder);
    return err;
}

/* Sets the figure of the quality that only the symbolizer knows. */
static kymo_err set_named(kymo_profile *profile, const kymo_apply_result *result)
{
    kymo_quality q = *kymo_profile_quality(profile);
    q.frames_symbolized = result->in_complete
                              ? (double)result->complete_named / (double)result->in_complete
                              : (double)NAN;
    return kymo_profile_set_quality(profile, &q);
}

kymo_err kymo_finish_symbolize(kymo_profile *profile, const kymo_recording_info *info,
                               const kymo_finish_progress *progress)
{
    kymo_apply_result result = {0};
    struct finish f = {.progress = progress, .info = info};
    if (progress)
        progress->step(progress->data, "reading symbols");
    KYMO_TRY(symbolize(&f, profile, &result));
    return set_named(profile, &result);
}

kymo_err kymo_finish_load(const char *path, int fd, const kymo_load_how *how,
                          const kymo_finish_progress *progress, kymo_profile **out,
                          kymo_recording_info *info, kymo_error *detail)
{
    kymo_profile *profile;
    kymo_recording_info own = {.size = sizeof own};
    KYMO_TRY(kymo_recording_load_as(path, fd, how, &profile, &own, detail));
    kymo_err err = kymo_finish_symbolize(profile, &own, progress);
    if (err != KYMO_OK) {
        kymo_error_set(detail, err, 0, "finding names: %s", kymo_err_text(err));
        kymo_profile_destroy(profile);
    } else {
        *out = profile;
    }
    if (err == KYMO_OK && info)
        *info = own;
    else
        kymo_recording_info_deinit(&own);
    return err;
}
