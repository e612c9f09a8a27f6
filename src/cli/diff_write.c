/* SPDX-License-Identifier: Apache-2.0 */
/* diff_write.c - the difference as a file. */
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/diff_request.h"
#include "cli/sample_type.h"

static int is_format(const struct kymo_diff_request *request, const char *name)
{
    const kymo_format *format = kymo_format_for_path(request->output);
    return format && strcmp(format->name, name) == 0;
}

/* The live heap of one recording at two times, of which what lives at both cancels out exactly. */
static int is_growth(const struct kymo_diff_request *request)
{
    return request->is_one && is_format(request, "pprof") && !request->is_time &&
           request->heap[0].options.view == KYMO_HEAP_LIVE;
}

int kymo_diff_check_output(const struct kymo_diff_request *request)
{
    kymo_output output;
    kymo_error detail;
    if (kymo_output_check_plain(&output, request->output, request->force, &detail) != KYMO_OK)
        return kymo_usage_error(KYMO_IN_DIFF, "%s", detail.message);
    if (output.is_recording || !(is_format(request, "flamegraph") ||
                                 is_format(request, "collapsed") || is_format(request, "pprof")))
        return kymo_usage_error(KYMO_IN_DIFF,
                                "%.150s: a difference is written as .svg, .folded or .pb.gz",
                                request->output);
    if (request->json)
        return kymo_usage_error(KYMO_IN_DIFF, "-o writes a file: it goes without --json");
    if (request->normalize != KYMO_DIFF_AUTO && request->normalize != KYMO_DIFF_AS_IS)
        return kymo_usage_error(KYMO_IN_DIFF, "-o writes values as they are: it goes without "
                                              "--normalize=time and --normalize=total");
    return -1;
}

static int write_shown(const struct kymo_diff_request *request, const kymo_profile *profile,
                       const kymo_output *output, struct kymo_shown shown)
{
    char size[32];
    uint64_t bytes;
    int status = kymo_write_output(profile, output, shown, request->quiet, &bytes);
    if (status == KYMO_EXIT_OK && !request->quiet)
        kymo_fprint(stderr, "kymo: wrote %s (%s)\n", output->path, kymo_format_bytes(size, bytes));
    return status;
}

static int write_growth(const struct kymo_diff_request *request, const kymo_profile *profile,
                        const kymo_output *output)
{
    struct kymo_shown shown = {.show = KYMO_ENCODE_GROWTH};
    uint64_t *times[2] = {&shown.from_ns, &shown.at_ns};
    for (int i = 0; i < 2; i++) {
        uint64_t at_ns = request->heap[i].options.at_ns;
        *times[i] = at_ns == KYMO_HEAP_END ? 0 : at_ns ? at_ns : 1;
    }
    if (!kymo_heap_was_recorded(profile, request->files[0]))
        return KYMO_EXIT_FAILED;
    return write_shown(request, profile, output, shown);
}

int kymo_diff_has_kind(const struct kymo_diff_request *request,
                       const kymo_profile *const profiles[2])
{
    for (int i = 0; i < 2 && request->is_time; i++)
        if (!kymo_has_kind(profiles[i], request->files[i], request->kinds[i]))
            return 0;
    return 1;
}

/* What the stacks of both stand for. Returns -1 to go on, else an exit status. */
static int choose_shown(const struct kymo_diff_request *request,
                        const kymo_profile *const profiles[2], struct kymo_shown *shown)
{
    static const kymo_encode_show shows[KYMO_HEAP_VIEW_COUNT] = {
        [KYMO_HEAP_ALLOC] = KYMO_ENCODE_ALLOC,   [KYMO_HEAP_LIVE] = KYMO_ENCODE_LIVE,
        [KYMO_HEAP_PEAK] = KYMO_ENCODE_PEAK,     [KYMO_HEAP_LEAKS] = KYMO_ENCODE_LEAKS,
        [KYMO_HEAP_MAPPED] = KYMO_ENCODE_MAPPED,
    };
    uint64_t *times[2] = {&shown->from_ns, &shown->at_ns};
    const kymo_heap_report_options *asked = &request->heap[0].options;
    for (int i = 0; i < 2; i++) {
        uint64_t at_ns = request->heap[i].options.at_ns;
        *times[i] = at_ns == KYMO_HEAP_END ? 0 : at_ns ? at_ns : 1;
    }
    shown->show = KYMO_ENCODE_TIME;
    if (kymo_diff_is_of_time(request, profiles))
        return kymo_diff_has_kind(request, profiles) ? -1 : KYMO_EXIT_FAILED;
    for (int i = 0; i < 2; i++)
        if (!kymo_heap_was_recorded(profiles[i], request->files[i]))
            return KYMO_EXIT_FAILED;
    shown->show = shows[asked->view];
    if (shown->show == KYMO_ENCODE_AUTO)
        return kymo_usage_error(KYMO_IN_DIFF, "--mode %s is not written as stacks",
                                request->heap[0].mode);
    if (asked->min_age_ns != KYMO_HEAP_AUTO)
        shown->min_age_ns = asked->min_age_ns ? asked->min_age_ns : 1;
    shown->youngest_percent = asked->youngest_percent;
    return -1;
}

static int write_both(const struct kymo_diff_request *request,
                      const kymo_profile *const profiles[2], const kymo_output *output)
{
    struct kymo_shown shown = {.kind = (kymo_sample_kind)request->kinds[1],
                               .before = profiles[0],
                               .before_kind = request->kinds[0] + 1};
    int status = choose_shown(request, profiles, &shown);
    return status < 0 ? write_shown(request, profiles[1], output, shown) : status;
}

int kymo_diff_write(const struct kymo_diff_request *request, const kymo_profile *const profiles[2])
{
    kymo_output output;
    kymo_error detail;
    if (kymo_output_check_plain(&output, request->output, request->force, &detail) != KYMO_OK)
        return kymo_usage_error(KYMO_IN_DIFF, "%s", detail.message);
    return is_growth(request) ? write_growth(request, profiles[0], &output)
                              : write_both(request, profiles, &output);
}
