/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"
#include "cli/heap_request.h"
#include "cli/report_heap.h"
#include "cli/steps.h"
#include "recorder/report_json.h"

enum { TOP_DEFAULT = 25 };

struct diff_request {
    const char *operands[2]; /* as they are on the line */
    int n_operands;
    char *files[2];
    struct kymo_heap_request heap[2]; /* the first has what both are asked */
    uint64_t top;
    const char *output;
    int force;
    int json;
    int quiet;
};

/* "FILE@TIME"; a file whose own name has an @ is taken as it is. */
static int split(struct diff_request *request, int which)
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
        if (heap->options.view != KYMO_HEAP_LIVE && heap->options.view != KYMO_HEAP_MAPPED)
            return kymo_usage_error(KYMO_IN_DIFF, "@TIME goes with --mode live or mapped");
        len = (size_t)(at - text);
    }
    request->files[which] = strndup(text, len);
    if (!request->files[which]) {
        fprintf(stderr, "kymo: %s\n", kymo_err_text(KYMO_E_NOMEM));
        return KYMO_EXIT_FAILED;
    }
    return -1;
}

static int take_switch(struct diff_request *request, const kymo_arg *arg, const char **by)
{
    int is_known;
    switch (arg->switch_id) {
    case KYMO_SWITCH_HELP:
        return kymo_help_asked(KYMO_IN_DIFF);
    case KYMO_SWITCH_JSON:
        request->json = 1;
        return -1;
    case KYMO_SWITCH_QUIET:
        request->quiet = 1;
        return -1;
    case KYMO_SWITCH_OUTPUT:
        request->output = arg->value;
        return -1;
    case KYMO_SWITCH_FORCE:
        request->force = 1;
        return -1;
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
        if (!kymo_heap_request_mode(&request->heap[0], arg->value) || request->heap[0].is_ledger ||
            request->heap[0].options.view == KYMO_HEAP_LIFETIMES)
            return kymo_usage_error(
                KYMO_IN_DIFF,
                "--mode: '%.40s' is unknown; it takes live, alloc, peak, leaks, "
                "temporary, sizes or mapped",
                arg->value);
        return -1;
    default:
        return kymo_heap_request_switch(&request->heap[0], KYMO_IN_DIFF, arg, &is_known);
    }
}

/* Returns -1 to go on, else an exit status. */
static int parse(int argc, char **argv, struct diff_request *request)
{
    kymo_args args = {.argv = argv + 1, .argc = argc - 1, .command = KYMO_IN_DIFF};
    kymo_arg arg;
    kymo_error detail;
    const char *by = NULL;
    int status = -1;
    kymo_heap_request_init(&request->heap[0]);
    kymo_heap_request_mode(&request->heap[0], "live");
    while (status < 0) {
        if (kymo_args_next(&args, &arg, &detail) != KYMO_OK)
            return kymo_usage_error(KYMO_IN_DIFF, "%s", detail.message);
        if (arg.kind == KYMO_ARG_END)
            break;
        if (arg.kind == KYMO_ARG_SWITCH)
            status = take_switch(request, &arg, &by);
        else if (request->n_operands == 2)
            return kymo_usage_error(KYMO_IN_DIFF, "two at a time: '%.100s' is a third", arg.value);
        else
            request->operands[request->n_operands++] = arg.value;
    }
    if (status < 0 && request->n_operands < 2)
        return kymo_usage_error(KYMO_IN_DIFF,
                                "what is to be compared? name two recordings, or two moments of "
                                "one: run.kymo@10s run.kymo@60s");
    if (status < 0)
        status = kymo_heap_request_finish(&request->heap[0], KYMO_IN_DIFF, by);
    for (int i = 1; i >= 0 && status < 0; i--)
        status = split(request, i);
    return status;
}

static int is_same_file(const char *a, const char *b)
{
    struct stat x;
    struct stat y;
    return strcmp(a, b) == 0 ||
           (stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* Returns -1 to go on, else an exit status. */
static int check_growth(const struct diff_request *request, int is_one)
{
    if (!is_one)
        return kymo_usage_error(
            KYMO_IN_DIFF, "-o is of one recording at two moments; for two, kymo convert --mode "
                          "live -o FILE.pb.gz each, and go tool pprof -diff_base");
    if (request->heap[0].options.view != KYMO_HEAP_LIVE || request->json)
        return kymo_usage_error(KYMO_IN_DIFF, "-o goes with --mode live, and without --json");
    return -1;
}

/* The difference as a file: the blocks of one recording, some of them to be taken off. */
static int write_growth(const struct diff_request *request, const kymo_profile *profile)
{
    kymo_output output;
    kymo_error detail;
    char size[32];
    uint64_t bytes;
    struct kymo_shown shown = {.show = KYMO_ENCODE_GROWTH};
    uint64_t *times[2] = {&shown.from_ns, &shown.at_ns};
    if (kymo_output_check_plain(&output, request->output, request->force, &detail) != KYMO_OK)
        return kymo_usage_error(KYMO_IN_DIFF, "%s", detail.message);
    if (output.is_recording || strcmp(kymo_format_for_path(output.path)->name, "pprof") != 0)
        return kymo_usage_error(KYMO_IN_DIFF, "%.150s: growth is written as .pb.gz alone",
                                request->output);
    for (int i = 0; i < 2; i++) {
        uint64_t at_ns = request->heap[i].options.at_ns;
        *times[i] = at_ns == KYMO_HEAP_END ? 0 : at_ns ? at_ns : 1;
    }
    if (!kymo_heap_was_recorded(profile, request->files[0]))
        return KYMO_EXIT_FAILED;
    int status = kymo_write_output(profile, &output, shown, request->quiet, &bytes);
    if (status == KYMO_EXIT_OK && !request->quiet)
        fprintf(stderr, "kymo: wrote %s (%s)\n", output.path, kymo_format_bytes(size, bytes));
    return status;
}

static int compare(const struct diff_request *request, const kymo_profile *const profiles[2])
{
    kymo_heap_diff *diff = NULL;
    kymo_heap_report_options options[2];
    const struct kymo_heap_request *heap = &request->heap[0];
    for (int i = 0; i < 2; i++) {
        if (!kymo_heap_was_recorded(profiles[i], request->files[i]))
            return KYMO_EXIT_FAILED;
        options[i] = kymo_heap_request_options(&request->heap[i], profiles[i]);
    }
    kymo_err err = kymo_heap_diff_create(profiles[0], &options[0], profiles[1], &options[1], &diff);
    if (err == KYMO_OK && request->json) {
        kymo_sink sink = kymo_stdout_sink();
        err = kymo_report_write_diff_json(diff, heap->by, heap->mode, (size_t)request->top, &sink);
    } else if (err == KYMO_OK) {
        kymo_terminal t = kymo_terminal_of(stdout);
        kymo_report_print_heap_diff(&t, diff, heap->options.by, (size_t)request->top);
    }
    if (err != KYMO_OK)
        fprintf(stderr, "kymo: %s: %s\n", request->files[1], kymo_err_text(err));
    kymo_heap_diff_destroy(diff);
    int flushed = kymo_flush_output();
    return err != KYMO_OK ? KYMO_EXIT_FAILED : flushed;
}

int kymo_cmd_diff(int argc, char **argv)
{
    struct diff_request request = {.top = TOP_DEFAULT};
    kymo_profile *profiles[2] = {NULL, NULL};
    int is_one = 0;
    int status = parse(argc, argv, &request);
    if (status < 0) {
        is_one = is_same_file(request.files[0], request.files[1]);
        status = request.output ? check_growth(&request, is_one) : -1;
    }
    if (status < 0) {
        status = kymo_load_recording(request.files[0], request.quiet, &profiles[0]);
        if (status == KYMO_EXIT_OK && is_one)
            profiles[1] = profiles[0];
        else if (status == KYMO_EXIT_OK)
            status = kymo_load_recording(request.files[1], request.quiet, &profiles[1]);
        if (status == KYMO_EXIT_OK && request.output)
            status = write_growth(&request, profiles[0]);
        else if (status == KYMO_EXIT_OK)
            status = compare(&request, (const kymo_profile *const[2]){profiles[0], profiles[1]});
    }
    if (!is_one)
        kymo_profile_destroy(profiles[1]);
    kymo_profile_destroy(profiles[0]);
    free(request.files[0]);
    free(request.files[1]);
    return status;
}
