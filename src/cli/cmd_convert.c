/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/heap_request.h"
#include "cli/latest.h"
#include "cli/output.h"
#include "cli/sample_type.h"
#include "cli/select_request.h"
#include "cli/steps.h"

struct convert_request {
    const char *input;
    const char *outputs[KYMO_OUTPUTS_MAX];
    size_t n_outputs;
    int force;
    int quiet;
    int sanitize;
    const char *mode_word; /* of --mode; NULL: not given */
    int is_foreign_mode;   /* it is none of a recording's */
    struct kymo_shown shown;
    struct kymo_heap_request heap;
    struct kymo_select_request select;
};

/* Of memory and of a part, what report takes as well. */
static int take_other(struct convert_request *request, const kymo_arg *arg)
{
    int is_known;
    int status = kymo_heap_request_switch(&request->heap, KYMO_IN_CONVERT, arg, &is_known);
    if (status < 0 && !is_known)
        status = kymo_select_request_switch(&request->select, arg, &is_known);
    if (status < 0 && !is_known)
        return kymo_usage_error(KYMO_IN_CONVERT, "option is not for convert");
    return status;
}

/* What does not go together is said. */
static int finish_memory(struct convert_request *request)
{
    struct kymo_heap_request *heap = &request->heap;
    struct kymo_shown *shown = &request->shown;
    if (heap->has_at && shown->show != KYMO_ENCODE_LIVE && shown->show != KYMO_ENCODE_MAPPED)
        return kymo_usage_error(KYMO_IN_CONVERT, "--at goes with --mode live or mapped");
    if (heap->has_age && shown->show != KYMO_ENCODE_LEAKS)
        return kymo_usage_error(KYMO_IN_CONVERT,
                                "--min-age and --ignore-youngest go with --mode leaks");
    /* 0 is the end there, and the age that is chosen: a nanosecond is as good. */
    if (heap->has_at)
        shown->at_ns = heap->options.at_ns ? heap->options.at_ns : 1;
    if (heap->has_age && heap->options.min_age_ns != KYMO_HEAP_AUTO)
        shown->min_age_ns = heap->options.min_age_ns ? heap->options.min_age_ns : 1;
    shown->youngest_percent = heap->options.youngest_percent;
    return -1;
}

/* Returns -1 to go on, else an exit status. */
static int parse(int argc, char **argv, struct convert_request *request)
{
    kymo_args args = {.argv = argv + 1, .argc = argc - 1, .command = KYMO_IN_CONVERT};
    const struct kymo_flag flags[] = {
        {KYMO_SWITCH_FORCE, &request->force},
        {KYMO_SWITCH_QUIET, &request->quiet},
        {KYMO_SWITCH_SANITIZE, &request->sanitize},
        {KYMO_SWITCH_NATIVE_PYTHON, &request->select.load.native_python},
        {KYMO_SWITCH_FOLD_RECURSION, &request->select.load.folds_recursion}};
    kymo_arg arg;
    for (;;) {
        int status = kymo_take_arg(&args, flags, KYMO_ARRAY_LEN(flags), &arg);
        if (status >= 0)
            return status;
        if (arg.kind == KYMO_ARG_END)
            break;
        if (arg.kind == KYMO_ARG_OPERAND) {
            if (request->input)
                return kymo_usage_error(KYMO_IN_CONVERT,
                                        "'%.100s' is a second input; outputs are named by -o",
                                        arg.value);
            request->input = arg.value;
            continue;
        }
        switch (arg.switch_id) {
        case KYMO_SWITCH_SHOWN_COUNTERS:
            if (strcmp(arg.value, "all") != 0)
                return kymo_usage_error(KYMO_IN_CONVERT,
                                        "--counters: '%.40s' is not a valid value; it takes all",
                                        arg.value);
            request->shown.flags |= KYMO_ENCODE_ALL_COUNTERS;
            break;
        case KYMO_SWITCH_NO_SOURCE:
            request->shown.flags |= KYMO_ENCODE_NO_SOURCE;
            break;
        case KYMO_SWITCH_MODE:
            request->mode_word = arg.value;
            request->is_foreign_mode = !kymo_shown_parse(arg.value, &request->shown);
            break;
        case KYMO_SWITCH_OUTPUT:
            if (request->n_outputs == KYMO_OUTPUTS_MAX)
                return kymo_usage_error(KYMO_IN_CONVERT, "at most %d outputs at a time",
                                        KYMO_OUTPUTS_MAX);
            for (size_t i = 0; i < request->n_outputs; i++)
                if (strcmp(request->outputs[i], arg.value) == 0)
                    return kymo_usage_error(KYMO_IN_CONVERT, "'%.100s' is named twice", arg.value);
            request->outputs[request->n_outputs++] = arg.value;
            break;
        default:
            status = take_other(request, &arg);
            if (status >= 0)
                return status;
        }
    }
    if (request->n_outputs == 0)
        return kymo_usage_error(KYMO_IN_CONVERT, "missing -o FILE, whose ending says the format");
    if (request->sanitize)
        request->shown.flags |= KYMO_ENCODE_NO_SOURCE;
    int status = finish_memory(request);
    if (status < 0)
        status = kymo_select_request_finish(&request->select, KYMO_SELECT_FOR_STACKS);
    if (status < 0)
        status = kymo_select_request_check_moment(&request->select, request->heap.options.at_ns);
    return status;
}

static int has_heap(const kymo_profile *profile)
{
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_PROCESSES); i++)
        if (kymo_profile_heap(profile, i))
            return 1;
    return kymo_profile_count(profile, KYMO_TABLE_ALLOCATIONS) > 0;
}

/* What is asked for must be in the profile. Returns -1 to go on, else an exit status. */
static int check_mode(struct convert_request *request, const kymo_profile *profile)
{
    uint32_t type;
    if (kymo_is_imported(profile)) {
        if (!kymo_sample_type_choose(profile, request->input, request->mode_word, &type))
            return KYMO_EXIT_FAILED;
        request->shown.kind = (kymo_sample_kind)type;
        request->shown.show = KYMO_ENCODE_TIME;
        return -1;
    }
    if (request->is_foreign_mode)
        return kymo_usage_error(
            KYMO_IN_CONVERT,
            "--mode: '%.40s' is unknown; it takes cpu, wall, trace, calls, alloc, "
            "live, peak, leaks or mapped",
            request->mode_word);
    if (request->shown.show > KYMO_ENCODE_TIME && !has_heap(profile)) {
        kymo_fprint(stderr, "kymo: %s: no allocations were recorded (kymo record --alloc)\n",
                    request->input);
        return KYMO_EXIT_FAILED;
    }
    if (!request->mode_word)
        request->shown.kind = (kymo_sample_kind)kymo_profile_default_sample_type(profile);
    return kymo_has_kind(profile, request->input, request->shown.kind) ? -1 : KYMO_EXIT_FAILED;
}

/* What can be refused before any work. Returns -1 to go on, else an exit status. */
static int check_outputs(const struct convert_request *request, kymo_output *outputs)
{
    for (size_t i = 0; i < request->n_outputs; i++) {
        kymo_error detail;
        if (kymo_output_check_plain(&outputs[i], request->outputs[i], request->force, &detail) !=
            KYMO_OK) {
            kymo_fprint(stderr, "kymo: %s\n", detail.message);
            return KYMO_EXIT_USAGE;
        }
        if (outputs[i].is_recording)
            return kymo_usage_error(KYMO_IN_CONVERT, "%.150s: a recording is not made from another",
                                    request->outputs[i]);
    }
    return -1;
}

/* Returns an exit status. */
static int write_outputs(const struct convert_request *request, const kymo_output *outputs,
                         const kymo_profile *profile)
{
    int status = KYMO_EXIT_OK;
    for (size_t i = 0; i < request->n_outputs; i++) {
        uint64_t bytes;
        char size[32];
        int written =
            kymo_write_output(profile, &outputs[i], request->shown, request->quiet, &bytes);
        if (written != KYMO_EXIT_OK)
            status = written;
        else if (!request->quiet && !outputs[i].is_stdout)
            kymo_fprint(stderr, "kymo: wrote %s (%s)\n", outputs[i].path,
                        kymo_format_bytes(size, bytes));
    }
    return status;
}

/* One line says how much is written. */
static void say_part(const struct convert_request *request, const kymo_profile *whole,
                     const kymo_profile *part)
{
    kymo_terminal t = kymo_terminal_of(stderr);
    kymo_report_selection selection = kymo_select_request_view(&request->select, whole, part);
    int is_heap = request->shown.show > KYMO_ENCODE_TIME || kymo_profile_sample_count(whole) == 0;
    selection.type = request->shown.kind;
    selection.counted = request->shown.show == KYMO_ENCODE_MAPPED ? KYMO_COUNTED_MAPPINGS
                        : is_heap                                 ? KYMO_COUNTED_ALLOCATIONS
                                                                  : KYMO_COUNTED_SAMPLES;
    kymo_report_print_selection(&t, &selection, "kymo: selected: ", "");
}

/* Selects, and writes what is left. sanitizer: NULL for none. Returns an exit status. */
static int convert_with(const struct convert_request *request, const kymo_output *outputs,
                        const kymo_profile *whole, kymo_sanitizer *sanitizer)
{
    kymo_profile *part;
    int status =
        kymo_select_request_apply(&request->select, request->input, whole, sanitizer, &part);
    if (status >= 0)
        return status;
    if (kymo_select_request_is_given(&request->select) && part && !request->quiet)
        say_part(request, whole, part);
    status = write_outputs(request, outputs, part ? part : whole);
    kymo_profile_destroy(part);
    return status;
}

static int convert(const struct convert_request *request, const kymo_output *outputs,
                   const kymo_profile *whole)
{
    kymo_sanitizer *sanitizer = NULL;
    if (request->sanitize &&
        kymo_sanitizer_create(kymo_profile_meta(whole)->hostname, &sanitizer) != KYMO_OK) {
        fprintf(stderr, "kymo: %s\n", kymo_err_text(KYMO_E_NOMEM));
        return KYMO_EXIT_FAILED;
    }
    int status = convert_with(request, outputs, whole, sanitizer);
    kymo_sanitizer_destroy(sanitizer);
    return status;
}

/* Returns an exit status. */
static int load_and_convert(struct convert_request *request, const kymo_output *outputs)
{
    kymo_profile *profile = NULL;
    int status = kymo_load_profile(request->input, &request->select.load, request->quiet, &profile);
    if (status != KYMO_EXIT_OK)
        return status;
    status = check_mode(request, profile);
    if (status < 0)
        status = convert(request, outputs, profile);
    kymo_profile_destroy(profile);
    return status;
}

int kymo_cmd_convert(int argc, char **argv)
{
    struct convert_request request = {0};
    static kymo_output outputs[KYMO_OUTPUTS_MAX];
    struct kymo_latest latest;
    kymo_heap_request_init(&request.heap);
    kymo_select_request_init(&request.select, KYMO_IN_CONVERT);
    int status = parse(argc, argv, &request);
    if (status < 0)
        status = check_outputs(&request, outputs);
    if (status < 0 && !request.input)
        status = kymo_latest_take(KYMO_IN_CONVERT, request.quiet, &latest, &request.input);
    if (status < 0)
        status = load_and_convert(&request, outputs);
    kymo_select_request_deinit(&request.select);
    return status;
}
