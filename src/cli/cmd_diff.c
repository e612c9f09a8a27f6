/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/diff_request.h"
#include "cli/pager.h"
#include "cli/sample_type.h"
#include "views/report_json.h"
#include "views/report_text.h"

enum { TOP_DEFAULT = 25 };

/* "FILE@TIME"; a file whose own name has an @ is taken as it is. */
static int split(struct kymo_diff_request *request, int which)
{
    struct stat st;
    const char *text = request->operands[which];
    const char *at = strrchr(text, '@');
    size_t len = strlen(text);
    struct kymo_heap_request *heap = &request->heap[which];
    *heap = request->heap[0];
    heap->options.at_ns = KYMO_HEAP_END;
    if (at && stat(text, &st) != 0) {
        int status =
            kymo_heap_request_time(KYMO_IN_DIFF, "FILE@TIME", at + 1, &heap->options.at_ns);
        if (status >= 0)
            return status;
        if (kymo_diff_is_side(request) ||
            (heap->options.view != KYMO_HEAP_LIVE && heap->options.view != KYMO_HEAP_MAPPED))
            return kymo_usage_error(KYMO_IN_DIFF, "@TIME goes with --mode live or mapped");
        len = (size_t)(at - text);
    }
    request->files[which] = len > 0 ? strndup(text, len) : strdup(request->latest[0].name);
    if (!request->files[which]) {
        fprintf(stderr, "kymo: %s\n", kymo_err_text(KYMO_E_NOMEM));
        return KYMO_EXIT_FAILED;
    }
    return -1;
}

static int take_normalize(struct kymo_diff_request *request, const char *word)
{
    static const struct {
        const char *word;
        kymo_diff_normalize how;
    } ways[] = {
        {"none", KYMO_DIFF_AS_IS}, {"time", KYMO_DIFF_BY_TIME}, {"total", KYMO_DIFF_BY_TOTAL}};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(ways); i++)
        if (strcmp(ways[i].word, word) == 0) {
            request->normalize = ways[i].how;
            return -1;
        }
    return kymo_usage_error(KYMO_IN_DIFF,
                            "--normalize: '%.40s' is unknown; it takes none, time or total", word);
}

/* "5", "0.5", "5%". */
static int take_percent(struct kymo_diff_request *request, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    end += end != text && *end == '%';
    if (end == text || *end != '\0' || !(value >= 0 && value <= 1e6))
        return kymo_usage_error(KYMO_IN_DIFF, "--fail-above: '%.40s' is not a number of percent",
                                text);
    request->fail_above = value;
    return -1;
}

int kymo_diff_is_side(const struct kymo_diff_request *request)
{
    return request->is_markers || request->heap[0].is_ledger;
}

static void take_mode(struct kymo_diff_request *request, const char *word)
{
    struct kymo_heap_request *heap = &request->heap[0];
    request->has_mode = 1;
    request->mode_word = word;
    request->is_time = kymo_mode_parse(word, &request->kind);
    request->is_markers = strcmp(word, "markers") == 0;
    int is_heap = kymo_heap_request_mode(heap, word);
    request->is_foreign_mode = !request->is_time && !request->is_markers && !is_heap;
    if (request->is_time || request->is_foreign_mode)
        kymo_heap_request_mode(heap, "live");
}

static int take_switch(struct kymo_diff_request *request, const kymo_arg *arg, const char **by)
{
    int is_known;
    switch (arg->switch_id) {
    case KYMO_SWITCH_NORMALIZE:
        return take_normalize(request, arg->value);
    case KYMO_SWITCH_FAIL_ABOVE:
        return take_percent(request, arg->value);
    case KYMO_SWITCH_OUTPUT:
        return kymo_take_only_output(&request->output, KYMO_IN_DIFF, arg->value);
    case KYMO_SWITCH_BY:
        *by = arg->value;
        return -1;
    case KYMO_SWITCH_TOP:
        if (kymo_parse_u64(arg->value, strlen(arg->value), &request->top) != KYMO_OK ||
            request->top > 1000000000)
            return kymo_usage_error(
                KYMO_IN_DIFF, "--top: '%.40s' is not a number from 0 to 1000000000", arg->value);
        return -1;
    case KYMO_SWITCH_MODE:
        take_mode(request, arg->value);
        return -1;
    default:
        break;
    }
    int status = kymo_heap_request_switch(&request->heap[0], KYMO_IN_DIFF, arg, &is_known);
    return status < 0 && !is_known ? kymo_select_request_switch(&request->select, arg, &is_known)
                                   : status;
}

/* What was not named: without FILE the latest two recordings, beside one the latest, and before a
 * bare @TIME the latest, too. Returns -1 to go on, else an exit status. */
static int take_latest(struct kymo_diff_request *request)
{
    struct kymo_latest *latest = request->latest;
    int wanted = 0;
    for (int i = 0; i < request->n_operands; i++)
        wanted += request->operands[i][0] == '@';
    if (request->n_operands == 2 && wanted == 0)
        return -1;
    size_t found = kymo_latest_find(".", latest, 2);
    if (found == 0)
        return kymo_usage_error(KYMO_IN_DIFF, "missing FILE.kymo: this folder has no recording; "
                                              "kymo record -- PROGRAM makes one");
    if (request->n_operands == 0 && found == 1)
        return kymo_usage_error(KYMO_IN_DIFF,
                                "missing a second recording: this folder has one, %.150s; name "
                                "another, or two moments of it: @10s @60s",
                                latest[0].name);
    if (request->n_operands == 1 && strcmp(request->operands[0], latest[0].name) == 0)
        return kymo_usage_error(KYMO_IN_DIFF,
                                "%.150s is the latest recording here: name the one "
                                "to compare it with",
                                latest[0].name);
    if (request->n_operands == 0)
        request->operands[request->n_operands++] = latest[1].name;
    if (request->n_operands == 1)
        request->operands[request->n_operands++] = latest[0].name;
    request->is_latest = 1;
    return -1;
}

/* What a row stands for. Returns as below. */
static int finish_options(struct kymo_diff_request *request, const char *by)
{
    if (request->is_markers && by && !kymo_marker_by_parse(by, &request->markers_by))
        return kymo_usage_error(
            KYMO_IN_DIFF, "--by: '%.40s' is unknown; of markers, it takes " KYMO_MARKER_BY_WORDS,
            by);
    const struct kymo_heap_request *heap = &request->heap[0];
    int status =
        kymo_heap_request_finish(&request->heap[0], KYMO_IN_DIFF, request->is_markers ? NULL : by);
    if (status < 0 && heap->mode && heap->options.view == KYMO_HEAP_LIFETIMES &&
        heap->options.by == KYMO_BY_STACK)
        return kymo_usage_error(KYMO_IN_DIFF, "--mode lifetimes goes without --by stack");
    return status;
}

static enum kymo_select_use use_of(const struct kymo_diff_request *request)
{
    return request->is_markers          ? KYMO_SELECT_FOR_MARKERS
           : request->heap[0].is_ledger ? KYMO_SELECT_FOR_LEDGER
                                        : KYMO_SELECT_FOR_STACKS;
}

/* Returns -1 to go on, else an exit status. */
static int parse(int argc, char **argv, struct kymo_diff_request *request)
{
    kymo_args args = {.argv = argv + 1, .argc = argc - 1, .command = KYMO_IN_DIFF};
    const struct kymo_flag flags[] = {
        {KYMO_SWITCH_JSON, &request->json},
        {KYMO_SWITCH_QUIET, &request->quiet},
        {KYMO_SWITCH_NO_PAGER, &request->no_pager},
        {KYMO_SWITCH_FORCE, &request->force},
        {KYMO_SWITCH_NATIVE_PYTHON, &request->select.load.native_python},
        {KYMO_SWITCH_FOLD_RECURSION, &request->select.load.folds_recursion}};
    kymo_arg arg;
    const char *by = NULL;
    int status;
    kymo_heap_request_init(&request->heap[0]);
    kymo_select_request_init(&request->select, KYMO_IN_DIFF);
    kymo_heap_request_mode(&request->heap[0], "live");
    while ((status = kymo_take_arg(&args, flags, KYMO_ARRAY_LEN(flags), &arg)) < 0 &&
           arg.kind != KYMO_ARG_END) {
        if (arg.kind == KYMO_ARG_SWITCH)
            status = take_switch(request, &arg, &by);
        else if (request->n_operands == 2)
            return kymo_usage_error(KYMO_IN_DIFF, "two at a time: '%.100s' is a third", arg.value);
        else
            request->operands[request->n_operands++] = arg.value;
        if (status >= 0)
            return status;
    }
    if (status < 0)
        status = finish_options(request, by);
    if (status < 0)
        status = take_latest(request);
    for (int i = 1; i >= 0 && status < 0; i--)
        status = split(request, i);
    if (status < 0)
        status = kymo_select_request_finish(&request->select, use_of(request));
    for (int i = 0; i < 2 && status < 0; i++)
        status = kymo_select_request_check_moment(&request->select, request->heap[i].options.at_ns);
    return status;
}

static int is_same_file(const char *a, const char *b)
{
    struct stat x;
    struct stat y;
    return strcmp(a, b) == 0 ||
           (stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

int kymo_diff_is_of_time(const struct kymo_diff_request *request,
                         const kymo_profile *const profiles[2])
{
    if (request->has_mode)
        return request->is_time;
    for (int i = 0; i < 2; i++) {
        int has_heap = 0;
        for (uint32_t p = 0; p < kymo_profile_count(profiles[i], KYMO_TABLE_PROCESSES); p++)
            has_heap |= kymo_profile_heap(profiles[i], p) != NULL;
        if (request->heap[i].options.at_ns != KYMO_HEAP_END)
            return 0;
        if (!has_heap)
            return 1;
    }
    return 0;
}

double kymo_diff_percent(double change, double before)
{
    return change <= 0 ? 0 : before > 0 ? change / before * 100 : HUGE_VAL;
}

/* How much a row grew, in percent of what all was before. */
static double growth_of(const kymo_report_diff_row *row, const kymo_report_diff_row *all)
{
    return row->is_significant ? kymo_diff_percent(row->change, all->before) : 0;
}

/* Returns KYMO_EXIT_ABOVE, and says what grew most, if something grew by more than it may. */
static int judge_growth(const struct kymo_diff_request *request, const kymo_report_diff *diff)
{
    size_t n;
    const kymo_report_diff_row *all = kymo_report_diff_all(diff);
    const kymo_report_diff_row *rows = kymo_report_diff_rows(diff, &n);
    const kymo_report_diff_row *most = all;
    if (request->fail_above < 0)
        return KYMO_EXIT_OK;
    for (size_t i = 0; i < n; i++)
        if (growth_of(&rows[i], all) > growth_of(most, all))
            most = &rows[i];
    if (growth_of(most, all) <= request->fail_above)
        return KYMO_EXIT_OK;
    kymo_fprint(stderr, "kymo: %s grew by %.1f %% of the total, more than %g %%\n",
                most == all ? "the whole" : most->name, growth_of(most, all), request->fail_above);
    return KYMO_EXIT_ABOVE;
}

void kymo_diff_print_parts(const struct kymo_diff_request *request, const kymo_terminal *t)
{
    static const char *const before[] = {"before: ", "after:  "};
    for (int i = 0; i < 2 && request->parts[i]; i++)
        kymo_report_print_selection(t, &request->selections[i], before[i], "");
}

/* Prints a diff, unless err says that there is none. Returns an exit status. */
static int show_diff(const struct kymo_diff_request *request, const kymo_report_diff *diff,
                     const char *mode, kymo_err err)
{
    const struct kymo_heap_request *asked = &request->heap[0];
    if (err == KYMO_OK && request->quiet && !request->json)
        return judge_growth(request, diff);
    if (err == KYMO_OK && request->json) {
        kymo_sink sink = kymo_stdout_sink();
        err = kymo_report_write_diff_json(diff, request->parts[0] ? request->selections : NULL,
                                          asked->by, mode, (size_t)request->top, &sink);
    } else if (err == KYMO_OK) {
        if (!request->no_pager)
            kymo_pager_start();
        kymo_terminal t = kymo_terminal_of(stdout);
        kymo_diff_print_parts(request, &t);
        kymo_report_print_diff(&t, diff, (kymo_report_by)asked->options.by, (size_t)request->top);
    }
    if (err == KYMO_E_INVALID && request->normalize == KYMO_DIFF_BY_TIME)
        kymo_fprint(stderr, "kymo: --normalize=time: it is not known how long %s or %s took\n",
                    request->files[0], request->files[1]);
    else if (err != KYMO_OK)
        kymo_fprint(stderr, "kymo: %s: %s\n", request->files[1], kymo_err_text(err));
    int flushed = kymo_flush_output();
    int paged = kymo_pager_end();
    if (err != KYMO_OK || paged != KYMO_EXIT_OK || flushed != KYMO_EXIT_OK)
        return KYMO_EXIT_FAILED;
    return judge_growth(request, diff);
}

/* How large the parts are is counted in what is compared. */
static void count_samples(struct kymo_diff_request *request)
{
    for (int i = 0; i < 2; i++) {
        request->selections[i].counted =
            request->is_made[i] ? KYMO_COUNTED_ALLOCATIONS : KYMO_COUNTED_SAMPLES;
        request->selections[i].type = request->kinds[i];
    }
}

static void count_blocks(struct kymo_diff_request *request)
{
    for (int i = 0; i < 2; i++)
        request->selections[i].counted = request->heap[0].options.view == KYMO_HEAP_MAPPED
                                             ? KYMO_COUNTED_MAPPINGS
                                             : KYMO_COUNTED_ALLOCATIONS;
}

static int compare_time(struct kymo_diff_request *request, const kymo_profile *const profiles[2])
{
    kymo_report_diff *diff = NULL;
    const kymo_report_options options = {
        .size = sizeof options, .by = request->heap[0].options.by, .kind = request->kinds[0]};
    if (options.by == KYMO_BY_SIZE || options.by == KYMO_BY_THREAD)
        return kymo_usage_error(KYMO_IN_DIFF,
                                "--by: of time, it takes function, line, file, module, process "
                                "or stack");
    if (!kymo_diff_has_kind(request, profiles))
        return KYMO_EXIT_FAILED;
    count_samples(request);
    kymo_err err = kymo_time_diff_create(profiles[0], profiles[1], &options, request->kinds[1],
                                         request->normalize, &diff);
    const char *mode = err == KYMO_OK ? kymo_report_diff_type(diff)->name : "";
    int status = show_diff(request, diff, mode, err);
    kymo_report_diff_destroy(diff);
    return status;
}

static int compare_memory(struct kymo_diff_request *request, const kymo_profile *const profiles[2])
{
    kymo_report_diff *diff = NULL;
    kymo_heap_report_options options[2];
    for (int i = 0; i < 2; i++) {
        if (!kymo_heap_was_recorded(profiles[i], request->files[i]))
            return KYMO_EXIT_FAILED;
        options[i] = kymo_heap_request_options(&request->heap[i], profiles[i]);
    }
    count_blocks(request);
    kymo_err err = kymo_heap_diff_create(profiles[0], &options[0], profiles[1], &options[1],
                                         request->normalize, &diff);
    int status = show_diff(request, diff, request->heap[0].mode, err);
    kymo_report_diff_destroy(diff);
    return status;
}

/* Of recordings, what was asked for. Returns -1 to go on, else an exit status. */
static int choose_kinds(struct kymo_diff_request *request)
{
    request->kinds[0] = request->kinds[1] = request->is_time ? request->kind : KYMO_SAMPLE_CPU;
    if (!request->is_foreign_mode)
        return -1;
    return kymo_usage_error(KYMO_IN_DIFF,
                            "--mode: '%.40s' is unknown; it takes cpu, wall, trace, calls, "
                            "markers, alloc, live, peak, leaks, lifetimes, temporary, sizes, "
                            "mapped or memory",
                            request->mode_word);
}

static int compare(struct kymo_diff_request *request, const kymo_profile *const profiles[2])
{
    const kymo_profile *both[2] = {profiles[0], profiles[1]};
    kymo_profile *made = NULL;
    int is_other = kymo_is_imported(both[0]) || kymo_is_imported(both[1]);
    if (request->is_markers || (request->heap[0].is_ledger && !is_other))
        return kymo_diff_side(request, both);
    int status = is_other ? kymo_diff_choose_types(request, both, &made) : choose_kinds(request);
    if (status < 0)
        status = request->output                       ? kymo_diff_write(request, both)
                 : kymo_diff_is_of_time(request, both) ? compare_time(request, both)
                                                       : compare_memory(request, both);
    kymo_profile_destroy(made);
    return status;
}

/* Replaces both profiles by the parts that are asked for. Returns -1 to go on, else an exit status.
 */
static int select_parts(struct kymo_diff_request *request, const kymo_profile *profiles[2])
{
    for (int i = 0; i < 2; i++) {
        int status = -1;
        int is_shared = i == 1 && profiles[1] == request->selections[0].whole;
        if (is_shared)
            request->parts[1] = request->parts[0];
        else
            status = kymo_select_request_apply(&request->select, request->files[i], profiles[i],
                                               NULL, &request->parts[i]);
        if (status >= 0 || !request->parts[i])
            return status;
        request->selections[i] =
            kymo_select_request_view(&request->select, profiles[i], request->parts[i]);
    }
    profiles[0] = request->parts[0];
    profiles[1] = request->parts[1];
    return -1;
}

/* wholes: what was read, for the caller to destroy, if the second one is not the first. */
static int load_and_compare(struct kymo_diff_request *request, kymo_profile *wholes[2])
{
    int status =
        kymo_load_profile(request->files[0], &request->select.load, request->quiet, &wholes[0]);
    if (status == KYMO_EXIT_OK && request->is_one)
        wholes[1] = wholes[0];
    else if (status == KYMO_EXIT_OK)
        status =
            kymo_load_profile(request->files[1], &request->select.load, request->quiet, &wholes[1]);
    if (status != KYMO_EXIT_OK)
        return status;
    const kymo_profile *profiles[2] = {wholes[0], wholes[1]};
    status = select_parts(request, profiles);
    return status < 0 ? compare(request, profiles) : status;
}

/* What is one for both is freed once. */
static void free_profiles(kymo_profile *profiles[2])
{
    if (profiles[1] != profiles[0])
        kymo_profile_destroy(profiles[1]);
    kymo_profile_destroy(profiles[0]);
}

int kymo_cmd_diff(int argc, char **argv)
{
    struct kymo_diff_request request = {.top = TOP_DEFAULT, .fail_above = -1};
    kymo_profile *wholes[2] = {NULL, NULL};
    int status = parse(argc, argv, &request);
    if (status < 0) {
        request.is_one = is_same_file(request.files[0], request.files[1]);
        if (request.is_latest && !request.quiet)
            kymo_fprint(stderr, "kymo: before: %s, after: %s\n", request.operands[0],
                        request.operands[1]);
        status = request.output ? kymo_diff_check_output(&request) : -1;
    }
    if (status < 0)
        status = load_and_compare(&request, wholes);
    free_profiles(request.parts);
    free_profiles(wholes);
    kymo_select_request_deinit(&request.select);
    free(request.files[0]);
    free(request.files[1]);
    return status;
}
