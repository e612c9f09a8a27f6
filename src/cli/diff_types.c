/* SPDX-License-Identifier: Apache-2.0 */
/* diff_types.c - what samples are compared where a file is another profiler's. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/diff_request.h"
#include "cli/sample_type.h"
#include "kymo/import.h"

/* Where the names differ, a line says what is compared. */
static void say_types(const struct kymo_diff_request *request,
                      const kymo_profile *const profiles[2])
{
    uint32_t count;
    const char *names[2];
    for (int i = 0; i < 2; i++)
        names[i] = kymo_profile_sample_types(profiles[i], &count)[request->kinds[i]].name;
    if (!request->quiet && strcmp(names[0], names[1]) != 0)
        kymo_fprint(stderr, "kymo: comparing %s of %s with %s of %s\n", names[0], request->files[0],
                    names[1], request->files[1]);
}

/* The heap of a recording as samples, which have the names that other profilers give them: what is
 * in a pprof file of it. */
static kymo_err make_samples(const kymo_profile *profile, kymo_profile **out)
{
    const kymo_encode_options options = {.size = sizeof options, .show = KYMO_ENCODE_LIVE};
    void *data = NULL;
    size_t len;
    KYMO_TRY(
        kymo_encode_memory(profile, kymo_format_for_path(".pb.gz"), &options, &data, &len, NULL));
    kymo_err err = kymo_import_memory(data, len, out, NULL);
    free(data);
    return err;
}

static int take_heaps(struct kymo_diff_request *request, const kymo_profile *profiles[2],
                      kymo_profile **made)
{
    for (int i = 0; i < 2; i++) {
        if (kymo_is_imported(profiles[i]) || !kymo_is_heap_type(request->mode_word))
            continue;
        if (!kymo_heap_was_recorded(profiles[i], request->files[i]))
            return KYMO_EXIT_FAILED;
        kymo_err err = make_samples(profiles[i], made);
        if (err != KYMO_OK) {
            kymo_fprint(stderr, "kymo: %s: %s\n", request->files[i], kymo_err_text(err));
            return KYMO_EXIT_FAILED;
        }
        profiles[i] = *made;
        request->is_made[i] = 1;
    }
    return -1;
}

int kymo_diff_choose_types(struct kymo_diff_request *request, const kymo_profile *profiles[2],
                           kymo_profile **made)
{
    int is_by_total = request->normalize == KYMO_DIFF_BY_TOTAL;
    for (int i = 0; i < 2; i++)
        if (request->heap[i].options.at_ns != KYMO_HEAP_END)
            return kymo_usage_error(KYMO_IN_DIFF, "@TIME goes with recordings of Kymo");
    int status = take_heaps(request, profiles, made);
    if (status >= 0)
        return status;
    if (!kymo_sample_types_choose(profiles, request->files, request->mode_word, is_by_total,
                                  request->kinds))
        return KYMO_EXIT_FAILED;
    request->has_mode = 1;
    request->is_time = 1;
    say_types(request, profiles);
    return -1;
}
