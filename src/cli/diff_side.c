/* SPDX-License-Identifier: Apache-2.0 */
/* diff_side.c - differences of markers and of the RSS breakdown, which have no samples. */
#include "base/log.h"
#include "cli/diff_request.h"
#include "cli/pager.h"
#include "cli/sample_type.h"
#include "views/report_side_diff.h"

/* Whether the other options go with these. Returns -1 to go on, else an exit status. */
static int check_options(const struct kymo_diff_request *request)
{
    const char *what = request->is_markers ? "markers" : "memory";
    if (request->output)
        return kymo_usage_error(KYMO_IN_DIFF, "-o writes stacks: it goes without --mode %s", what);
    if (request->normalize != KYMO_DIFF_AUTO && request->normalize != KYMO_DIFF_AS_IS)
        return kymo_usage_error(KYMO_IN_DIFF,
                                "--mode %s compares values as they are: it goes without "
                                "--normalize=time and --normalize=total",
                                what);
    return -1;
}

/* ---- growth ---- */

struct growth {
    double percent;
    const char *what, *name;
};

static void take_growth(struct growth *most, double before, double after, const char *what,
                        const char *name)
{
    double percent = kymo_diff_percent(after - before, before);
    if (percent > most->percent)
        *most = (struct growth){percent, what, name};
}

static int judge(const struct kymo_diff_request *request, const struct growth *most, const char *of)
{
    if (request->fail_above < 0 || most->percent <= request->fail_above)
        return KYMO_EXIT_OK;
    kymo_fprint(stderr, "kymo: %s%s grew by %.1f %% of %s, more than %g %%\n", most->what,
                most->name, most->percent, of, request->fail_above);
    return KYMO_EXIT_ABOVE;
}

/* A row's growth is measured by the duration of all markers before. */
static int judge_markers(const struct kymo_diff_request *request,
                         const struct kymo_marker_diff *diff)
{
    struct growth most = {.what = "", .name = ""};
    double all = (double)diff->all.total_ns[0];
    take_growth(&most, all, (double)diff->all.total_ns[1], "the duration of all markers", "");
    for (size_t i = 0; i < diff->rows.len; i++) {
        const struct kymo_marker_diff_row *row = &diff->rows.data[i];
        double change = (double)row->total_ns[1] - (double)row->total_ns[0];
        take_growth(&most, all, all + change, "the duration of ", row->name);
    }
    return judge(request, &most, "the total");
}

/* What is resident, of each process. */
static int judge_ledger(const struct kymo_diff_request *request,
                        const struct kymo_ledger_diff *diff)
{
    struct growth most = {.what = "", .name = ""};
    for (size_t i = 0; i < diff->rows.len; i++) {
        const struct kymo_ledger_diff_row *row = &diff->rows.data[i];
        if (kymo_ledger_line_is_sum(row->line))
            take_growth(&most, (double)row->bytes[0], (double)row->bytes[1],
                        "the resident memory of ", row->process);
    }
    return judge(request, &most, "itself");
}

/* ---- what is shown ---- */

static const kymo_report_selection *selections_of(const struct kymo_diff_request *request)
{
    return request->parts[0] ? request->selections : NULL;
}

static kymo_terminal begin_text(const struct kymo_diff_request *request)
{
    if (!request->no_pager)
        kymo_pager_start();
    kymo_terminal t = kymo_terminal_of(stdout);
    kymo_diff_print_parts(request, &t);
    return t;
}

static kymo_err show_markers(const struct kymo_diff_request *request,
                             const struct kymo_marker_diff *diff)
{
    const char *by = kymo_marker_by_name(request->markers_by);
    if (request->json) {
        kymo_sink sink = kymo_stdout_sink();
        return kymo_report_write_marker_diff_json(diff, selections_of(request), by,
                                                  (size_t)request->top, &sink);
    }
    if (!request->quiet) {
        kymo_terminal t = begin_text(request);
        kymo_report_print_marker_diff(&t, diff, by, (size_t)request->top);
    }
    return KYMO_OK;
}

static kymo_err show_ledger(const struct kymo_diff_request *request,
                            const struct kymo_ledger_diff *diff)
{
    if (request->json) {
        kymo_sink sink = kymo_stdout_sink();
        return kymo_report_write_ledger_diff_json(diff, selections_of(request), &sink);
    }
    if (!request->quiet) {
        kymo_terminal t = begin_text(request);
        kymo_report_print_ledger_diff(&t, diff);
    }
    return KYMO_OK;
}

/* status: of what was shown. */
static int finish(const struct kymo_diff_request *request, kymo_err err, int status)
{
    if (err != KYMO_OK)
        kymo_fprint(stderr, "kymo: %s: %s\n", request->files[1], kymo_err_text(err));
    int flushed = kymo_flush_output();
    int paged = kymo_pager_end();
    return err != KYMO_OK || paged != KYMO_EXIT_OK || flushed != KYMO_EXIT_OK ? KYMO_EXIT_FAILED
                                                                              : status;
}

static int compare_markers(struct kymo_diff_request *request, const kymo_profile *const profiles[2])
{
    kymo_marker_report *reports[2] = {NULL, NULL};
    struct kymo_marker_diff diff;
    int status = KYMO_EXIT_OK;
    kymo_err err = KYMO_OK;
    for (int i = 0; i < 2; i++)
        if (!kymo_has_markers(profiles[i], request->files[i]))
            return KYMO_EXIT_FAILED;
    for (int i = 0; i < 2 && err == KYMO_OK; i++)
        err = kymo_marker_report_create(profiles[i], request->markers_by, &reports[i]);
    if (err == KYMO_OK)
        err = kymo_marker_diff_make(&diff, (const kymo_marker_report *const *)reports);
    if (err == KYMO_OK) {
        err = show_markers(request, &diff);
        status = judge_markers(request, &diff);
        kymo_marker_diff_deinit(&diff);
    }
    kymo_marker_report_destroy(reports[0]);
    kymo_marker_report_destroy(reports[1]);
    return finish(request, err, status);
}

static int has_ledger(const kymo_profile *profile, const char *file)
{
    size_t count;
    (void)kymo_profile_ledger(profile, &count);
    if (count == 0)
        kymo_fprint(stderr,
                    "kymo: %s: no RSS breakdown: it is made where allocations are recorded "
                    "(kymo record --alloc), once a process has run for a moment\n",
                    file);
    return count > 0;
}

static int compare_ledgers(struct kymo_diff_request *request, const kymo_profile *const profiles[2])
{
    struct kymo_ledger_diff diff;
    int status = KYMO_EXIT_OK;
    if (!has_ledger(profiles[0], request->files[0]) || !has_ledger(profiles[1], request->files[1]))
        return KYMO_EXIT_FAILED;
    kymo_err err = kymo_ledger_diff_make(&diff, profiles);
    if (err == KYMO_OK) {
        err = show_ledger(request, &diff);
        status = judge_ledger(request, &diff);
        kymo_ledger_diff_deinit(&diff);
    }
    return finish(request, err, status);
}

int kymo_diff_side(struct kymo_diff_request *request, const kymo_profile *const profiles[2])
{
    int status = check_options(request);
    if (status >= 0)
        return status;
    for (int i = 0; i < 2; i++)
        request->selections[i].counted =
            request->is_markers ? KYMO_COUNTED_MARKERS : KYMO_COUNTED_PROCESSES;
    return request->is_markers ? compare_markers(request, profiles)
                               : compare_ledgers(request, profiles);
}
