/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/heap_request.h"
#include "cli/latest.h"
#include "cli/pager.h"
#include "cli/sample_type.h"
#include "cli/select_request.h"
#include "cli/steps.h"
#include "symbolize/finish.h"
#include "views/report_heap.h"
#include "views/report_json.h"
#include "views/report_markers.h"
#include "views/report_quality.h"
#include "views/report_selection.h"
#include "views/report_source.h"
#include "views/report_text.h"

enum { TOP_DEFAULT = 25, TREE_TOP_DEFAULT = 100 };
/* What is smaller is noise in a tree; --top 0 shows it all the same. */
static const double tree_min_share = 0.005;

struct report_request {
    const char *file;
    const char *by_word; /* NULL: the first of those that there are */
    kymo_report_by by;
    kymo_marker_report_by markers_by;
    size_t top;
    int top_given;
    int json;
    int tree;
    int quiet;
    int verbose;
    int no_pager;
    int quality;                   /* and nothing else */
    int markers;                   /* they are reported, not samples */
    const char *mode_word;         /* of --mode; NULL: not given */
    int is_foreign_mode;           /* it is none of a recording's */
    kymo_sample_kind kind;         /* or, of another profiler's file, any sample type */
    struct kymo_heap_request heap; /* with a mode: it is reported, not samples */
    struct kymo_select_request select;
    int is_part; /* what is shown was selected, and this is how: */
    kymo_report_selection selection;
};

/* In the order of kymo_report_by. */
static const char *const keys[] = {"function", "line", "file", "thread", "module", "process"};
_Static_assert(KYMO_ARRAY_LEN(keys) == KYMO_BY_COUNT, "one word for each key");

static int find_word(const char *const *words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return (int)i;
    return -1;
}

/* What rows may stand for depends on what is reported, which may come later on the line. */
static int parse_by(struct report_request *request)
{
    const char *word = request->by_word;
    if (!word || request->heap.mode)
        return -1;
    int at = request->markers ? 0 : find_word(keys, KYMO_ARRAY_LEN(keys), word);
    if (at < 0 || (request->markers && !kymo_marker_by_parse(word, &request->markers_by)))
        return kymo_usage_error(KYMO_IN_REPORT, "--by: '%.40s' is unknown; it takes %s", word,
                                request->markers
                                    ? KYMO_MARKER_BY_WORDS
                                    : "function, line, file, thread, module or process");
    request->by = (kymo_report_by)at;
    return -1;
}

/* About memory, and about a part of the recording. As below. */
static int take_other(struct report_request *request, const kymo_arg *arg)
{
    int is_known;
    int status = kymo_heap_request_switch(&request->heap, KYMO_IN_REPORT, arg, &is_known);
    if (status < 0 && !is_known)
        status = kymo_select_request_switch(&request->select, arg, &is_known);
    return status < 0 && !is_known ? kymo_usage_error(KYMO_IN_REPORT, "option is not for report")
                                   : status;
}

static int finish_select(struct report_request *request)
{
    enum kymo_select_use use = request->quality          ? KYMO_SELECT_FOR_QUALITY
                               : request->heap.is_ledger ? KYMO_SELECT_FOR_LEDGER
                               : request->markers        ? KYMO_SELECT_FOR_MARKERS
                                                         : KYMO_SELECT_FOR_STACKS;
    int status = kymo_select_request_finish(&request->select, use);
    return status < 0
               ? kymo_select_request_check_moment(&request->select, request->heap.options.at_ns)
               : status;
}

/* Returns -1 to go on, else an exit status. */
static int parse(int argc, char **argv, struct report_request *request)
{
    kymo_args args = {.argv = argv + 1, .argc = argc - 1, .command = KYMO_IN_REPORT};
    const struct kymo_flag flags[] = {
        {KYMO_SWITCH_JSON, &request->json},
        {KYMO_SWITCH_TREE, &request->tree},
        {KYMO_SWITCH_QUIET, &request->quiet},
        {KYMO_SWITCH_NO_PAGER, &request->no_pager},
        {KYMO_SWITCH_VERBOSE, &request->verbose},
        {KYMO_SWITCH_QUALITY, &request->quality},
        {KYMO_SWITCH_NATIVE_PYTHON, &request->select.load.native_python},
        {KYMO_SWITCH_FOLD_RECURSION, &request->select.load.folds_recursion},
    };
    kymo_arg arg;
    uint64_t top = TOP_DEFAULT;
    int status;
    kymo_heap_request_init(&request->heap);
    kymo_select_request_init(&request->select, KYMO_IN_REPORT);
    for (;;) {
        status = kymo_take_arg(&args, flags, KYMO_ARRAY_LEN(flags), &arg);
        if (status >= 0)
            return status;
        if (arg.kind == KYMO_ARG_END)
            break;
        if (arg.kind == KYMO_ARG_OPERAND) {
            if (request->file)
                return kymo_usage_error(KYMO_IN_REPORT, "one file at a time: '%.100s' is a second",
                                        arg.value);
            request->file = arg.value;
            continue;
        }
        switch (arg.switch_id) {
        case KYMO_SWITCH_MODE:
            request->mode_word = arg.value;
            request->markers = strcmp(arg.value, "markers") == 0;
            request->is_foreign_mode = !kymo_heap_request_mode(&request->heap, arg.value) &&
                                       !request->markers &&
                                       !kymo_mode_parse(arg.value, &request->kind);
            break;
        case KYMO_SWITCH_BY:
            request->by_word = arg.value;
            break;
        case KYMO_SWITCH_TOP:
            if (kymo_parse_u64(arg.value, strlen(arg.value), &top) != KYMO_OK || top > 1000000000)
                return kymo_usage_error(KYMO_IN_REPORT,
                                        "--top: '%.40s' is not a number from 0 to 1000000000",
                                        arg.value);
            request->top_given = 1;
            break;
        default:
            status = take_other(request, &arg);
            if (status >= 0)
                return status;
        }
    }
    status = parse_by(request);
    if (status < 0)
        status = kymo_heap_request_finish(&request->heap, KYMO_IN_REPORT, request->by_word);
    if (status < 0)
        status = finish_select(request);
    if (status >= 0)
        return status;
    if (request->tree && request->heap.is_ledger)
        return kymo_usage_error(KYMO_IN_REPORT, "the ledger has no tree: --tree goes without it");
    if (request->heap.mode)
        request->by = (kymo_report_by)request->heap.options.by;
    if (request->tree && request->markers)
        return kymo_usage_error(KYMO_IN_REPORT, "markers have no tree: --tree goes without them");
    if (request->tree && (request->by == KYMO_BY_THREAD || request->by == KYMO_BY_PROCESS ||
                          request->by == KYMO_BY_SIZE))
        return kymo_usage_error(KYMO_IN_REPORT,
                                "%s do not call each other: --tree goes with --by function, line, "
                                "file or module",
                                request->by == KYMO_BY_THREAD    ? "threads"
                                : request->by == KYMO_BY_PROCESS ? "processes"
                                                                 : "sizes");
    request->top = (size_t)top;
    return -1;
}

/* What part is shown; NULL: all. */
static const kymo_report_selection *part_of(const struct report_request *request)
{
    return request->is_part ? &request->selection : NULL;
}

/* functions: see report_quality.h. */
static void print_recording(const struct report_request *request, const kymo_terminal *t,
                            const kymo_profile *profile, const kymo_report *functions)
{
    const kymo_meta *meta = kymo_profile_meta(profile);
    char cpu[32];
    char elapsed[32];
    uint64_t end_ns = meta->end_ns > meta->origin_monotonic_ns ? meta->end_ns : 0;
    fputs("recorded: ", t->to);
    for (uint32_t i = 0; i < meta->argc; i++) {
        if (i)
            fputc(' ', t->to);
        kymo_terminal_print(t, meta->argv[i]);
    }
    fprintf(t->to, "\n          %s of CPU time",
            kymo_format_duration(cpu, kymo_profile_cpu_ns(profile)));
    if (end_ns)
        fprintf(t->to, " in %s", kymo_format_duration(elapsed, end_ns - meta->origin_monotonic_ns));
    uint32_t processes = kymo_profile_count(profile, KYMO_TABLE_PROCESSES);
    uint32_t threads = kymo_profile_count(profile, KYMO_TABLE_THREADS);
    if (processes > 1)
        fprintf(t->to, ", %u processes", processes);
    fprintf(t->to, ", %u thread%s\n", threads, threads == 1 ? "" : "s");
    kymo_report_print_quality(t, profile, functions, "");
    if (request->verbose || request->quality)
        kymo_report_print_quality_details(t, profile, functions, "");
}

/* Of the whole file, then what part of it is below. functions: of what is below. */
static void print_head(const struct report_request *request, const kymo_terminal *t,
                       const kymo_profile *profile, const kymo_report *functions)
{
    const kymo_report_selection *part = part_of(request);
    const kymo_profile *whole = part ? part->whole : profile;
    int is_imported = kymo_is_imported(whole);
    if (is_imported)
        kymo_report_print_source(t, whole, request->file, part ? NULL : functions);
    else
        print_recording(request, t, whole, part ? NULL : functions);
    if (part)
        kymo_report_print_selection(
            t, part, "selected: ", is_imported ? "" : "; all above is of the whole recording");
}

static void print_text(const struct report_request *request, const kymo_profile *profile,
                       const kymo_report *report)
{
    kymo_terminal t = kymo_terminal_of(stdout);
    char total[32];
    int is_cpu_functions = request->by == KYMO_BY_FUNCTION && request->kind == KYMO_SAMPLE_CPU;
    int is_imported = kymo_is_imported(profile);
    print_head(request, &t, profile, is_cpu_functions || is_imported ? report : NULL);
    if (!is_imported) {
        if (!request->is_part)
            kymo_report_print_few(&t, profile, "warning: ");
        kymo_report_print_startup(&t, profile, "note:    ");
        kymo_report_print_unsampled(&t, report, "note:    ");
        if (request->kind == KYMO_SAMPLE_CALLS)
            fprintf(t.to,
                    "below:    calls: self of the function itself, total of what it led to\n");
        else if (request->kind != KYMO_SAMPLE_CPU)
            fprintf(t.to, "below:    %s of %s, the threads' added up\n",
                    kymo_format_duration(total, kymo_report_total(report)),
                    request->kind == KYMO_SAMPLE_WALL ? "wall time" : "traced time");
        if (is_cpu_functions)
            kymo_report_print_unnamed(&t, profile, report, "note:    ");
    }
    fputc('\n', t.to);
    if (request->tree)
        kymo_report_print_tree(&t, report, request->top_given ? request->top : TREE_TOP_DEFAULT,
                               request->top_given && request->top == 0 ? 0 : tree_min_share);
    else if (request->by == KYMO_BY_THREAD && !is_imported)
        kymo_report_print_threads(&t, profile, report, request->top);
    else
        kymo_report_print_table(&t, report, request->by, request->top, " (--top 0 shows all)");
}

static kymo_err report_samples(const struct report_request *request, const kymo_profile *profile)
{
    kymo_report *report = NULL;
    kymo_report_options options = {
        .size = sizeof options, .by = request->by, .kind = request->kind};
    kymo_err err = kymo_report_create(profile, &options, &report);
    if (err == KYMO_OK && request->json) {
        kymo_sink sink = kymo_stdout_sink();
        err = kymo_report_write_json(profile, part_of(request), report, keys[request->by],
                                     kymo_report_type(report)->name,
                                     request->top_given ? request->top : 0, request->tree, &sink);
    } else if (err == KYMO_OK) {
        print_text(request, profile, report);
    }
    kymo_report_destroy(report);
    return err;
}

static void print_markers(const struct report_request *request, const kymo_profile *profile,
                          const kymo_marker_report *markers)
{
    kymo_terminal t = kymo_terminal_of(stdout);
    print_head(request, &t, profile, NULL);
    if (!kymo_is_imported(profile))
        kymo_report_print_marker_totals(&t, markers);
    fputc('\n', t.to);
    kymo_report_print_markers(&t, markers, kymo_marker_by_name(request->markers_by), request->top);
    kymo_report_print_counters(&t, profile, markers);
}

static kymo_err write_markers_json(const struct report_request *request,
                                   const kymo_profile *profile, const kymo_marker_report *markers)
{
    kymo_report *report = NULL;
    kymo_report_options options = {.size = sizeof options, .by = KYMO_BY_THREAD};
    kymo_sink sink = kymo_stdout_sink();
    kymo_err err = kymo_report_create(profile, &options, &report);
    if (err == KYMO_OK)
        err = kymo_report_write_markers_json(profile, part_of(request), report, markers,
                                             kymo_marker_by_name(request->markers_by),
                                             request->top_given ? request->top : 0, &sink);
    kymo_report_destroy(report);
    return err;
}

static kymo_err report_markers(const struct report_request *request, const kymo_profile *profile)
{
    kymo_marker_report *markers = NULL;
    (void)kymo_has_markers(profile, request->file); /* there may be counters */
    kymo_err err = kymo_marker_report_create(profile, request->markers_by, &markers);
    if (err == KYMO_OK && request->json)
        err = write_markers_json(request, profile, markers);
    else if (err == KYMO_OK)
        print_markers(request, profile, markers);
    kymo_marker_report_destroy(markers);
    return err;
}

static void print_heap(const struct report_request *request, const kymo_profile *profile,
                       const kymo_report *heap)
{
    kymo_terminal t = kymo_terminal_of(stdout);
    print_head(request, &t, profile, NULL);
    kymo_report_print_heap_totals(&t, profile, heap);
    fputc('\n', t.to);
    if (request->tree)
        kymo_report_print_tree(&t, heap, request->top_given ? request->top : TREE_TOP_DEFAULT,
                               request->top_given && request->top == 0 ? 0 : tree_min_share);
    else
        kymo_report_print_table(&t, heap, (kymo_report_by)request->heap.options.by, request->top,
                                " (--top 0 shows all)");
}

static kymo_err report_ledger(const struct report_request *request, const kymo_profile *profile)
{
    kymo_terminal t = kymo_terminal_of(stdout);
    if (!request->json) {
        print_head(request, &t, profile, NULL);
        fputc('\n', t.to);
        kymo_report_print_ledger(&t, profile);
        return KYMO_OK;
    }
    kymo_report *threads = NULL;
    kymo_report_options options = {.size = sizeof options, .by = KYMO_BY_THREAD};
    kymo_sink sink = kymo_stdout_sink();
    kymo_err err = kymo_report_create(profile, &options, &threads);
    if (err == KYMO_OK)
        err = kymo_report_write_memory_json(profile, part_of(request), threads, &sink);
    kymo_report_destroy(threads);
    return err;
}

static kymo_err report_heap(const struct report_request *request, const kymo_profile *profile)
{
    kymo_report *heap = NULL;
    kymo_heap_report_options options = kymo_heap_request_options(&request->heap, profile);
    kymo_sink sink = kymo_stdout_sink();
    kymo_err err = kymo_heap_report_create(profile, &options, &heap);
    if (err == KYMO_OK && request->json)
        err = kymo_report_write_json(profile, part_of(request), heap, request->heap.by,
                                     request->heap.mode, request->top_given ? request->top : 0,
                                     request->tree, &sink);
    else if (err == KYMO_OK)
        print_heap(request, profile, heap);
    kymo_report_destroy(heap);
    return err;
}

static kymo_err report_quality(const struct report_request *request, const kymo_profile *profile)
{
    kymo_report *report = NULL;
    kymo_terminal t = kymo_terminal_of(stdout);
    KYMO_TRY(kymo_is_imported(profile) ? kymo_report_create(profile, NULL, &report)
                                       : kymo_report_for_quality(profile, NULL, &report));
    print_head(request, &t, profile, report);
    if (!kymo_is_imported(profile)) {
        kymo_report_print_few(&t, profile, "warning: ");
        kymo_report_print_unnamed(&t, profile, report, "note:    ");
    }
    kymo_report_destroy(report);
    return KYMO_OK;
}

/* What is asked for must be in the profile. Returns -1 to go on, else an exit status. */
static int check_recording(struct report_request *request, const kymo_profile *profile)
{
    if (request->is_foreign_mode)
        return kymo_usage_error(
            KYMO_IN_REPORT,
            "--mode: '%.40s' is unknown; it takes cpu, wall, trace, calls, markers, "
            "alloc, live, peak, leaks, lifetimes, temporary, sizes, "
            "mapped or memory",
            request->mode_word);
    if (request->heap.mode && !request->heap.is_ledger &&
        !kymo_heap_was_recorded(profile, request->file))
        return KYMO_EXIT_FAILED;
    if (!request->mode_word)
        request->kind = (kymo_sample_kind)kymo_profile_default_sample_type(profile);
    return request->markers || request->heap.mode ||
                   kymo_has_kind(profile, request->file, request->kind)
               ? -1
               : KYMO_EXIT_FAILED;
}

/* The same of another profiler's file, whose sample types are its own. */
static int choose_type(struct report_request *request, const kymo_profile *profile)
{
    uint32_t type;
    if (request->markers)
        return -1;
    if (!kymo_sample_type_choose(profile, request->file, request->mode_word, &type))
        return KYMO_EXIT_FAILED;
    if (request->by >= KYMO_BY_COUNT)
        return kymo_usage_error(KYMO_IN_REPORT, "--by size is of recordings with --alloc");
    request->kind = (kymo_sample_kind)type;
    request->heap.mode = NULL;
    request->heap.is_ledger = 0;
    return -1;
}

static kymo_report_counted counted_of(const struct report_request *request)
{
    return request->heap.is_ledger ? KYMO_COUNTED_PROCESSES
           : request->heap.mode && request->heap.options.view == KYMO_HEAP_MAPPED
               ? KYMO_COUNTED_MAPPINGS
           : request->heap.mode ? KYMO_COUNTED_ALLOCATIONS
           : request->markers   ? KYMO_COUNTED_MARKERS
                                : KYMO_COUNTED_SAMPLES;
}

/* Prints the report, of a part or of the whole. Returns an exit status. */
static int show(const struct report_request *request, const kymo_profile *profile)
{
    if (!request->json && !request->no_pager)
        kymo_pager_start();
    kymo_err err = request->quality && !request->json ? report_quality(request, profile)
                   : request->heap.is_ledger          ? report_ledger(request, profile)
                   : request->heap.mode               ? report_heap(request, profile)
                   : request->markers                 ? report_markers(request, profile)
                                                      : report_samples(request, profile);
    if (err != KYMO_OK)
        kymo_fprint(stderr, "kymo: %s: %s\n", request->file, kymo_err_text(err));
    int flushed = kymo_flush_output();
    int paged = kymo_pager_end();
    return err != KYMO_OK || paged != KYMO_EXIT_OK ? KYMO_EXIT_FAILED : flushed;
}

/* Selects, and shows what is left. Returns an exit status. */
static int select_and_show(struct report_request *request, const kymo_profile *whole)
{
    kymo_profile *part;
    int status = kymo_select_request_apply(&request->select, request->file, whole, NULL, &part);
    if (status >= 0)
        return status;
    request->is_part = part != NULL;
    request->selection = kymo_select_request_view(&request->select, whole, part);
    request->selection.counted = counted_of(request);
    request->selection.type = request->kind;
    /* Asked to be quiet, the exit status is the answer: the recording can be read. */
    status = request->quiet && !request->json ? KYMO_EXIT_OK : show(request, part ? part : whole);
    kymo_profile_destroy(part);
    return status;
}

static int load_and_show(struct report_request *request)
{
    kymo_profile *profile = NULL;
    int status = kymo_load_profile(request->file, &request->select.load, request->quiet, &profile);
    if (status != KYMO_EXIT_OK)
        return status;
    status = kymo_is_imported(profile) ? choose_type(request, profile)
                                       : check_recording(request, profile);
    if (status < 0)
        status = select_and_show(request, profile);
    kymo_profile_destroy(profile);
    return status;
}

int kymo_cmd_report(int argc, char **argv)
{
    struct report_request request = {0};
    struct kymo_latest latest;
    int status = parse(argc, argv, &request);
    if (status < 0 && !request.file)
        status = kymo_latest_take(KYMO_IN_REPORT, request.quiet, &latest, &request.file);
    if (status < 0)
        status = load_and_show(&request);
    kymo_select_request_deinit(&request.select);
    return status;
}
