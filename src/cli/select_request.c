/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/select_request.h"

#include <string.h>

#include "base/log.h"
#include "cli/heap_request.h"
#include "select/copy.h"

void kymo_select_request_init(struct kymo_select_request *request, unsigned command)
{
    *request = (struct kymo_select_request){.command = command, .selection = KYMO_SELECTION_ALL};
}

void kymo_select_request_deinit(struct kymo_select_request *request)
{
    if (request->selection.focus)
        regfree(&request->focus_regex);
    if (request->selection.ignore)
        regfree(&request->ignore_regex);
    kymo_str_deinit(&request->options);
}

/* ---- words ---- */

static int add_name(struct kymo_select_request *r, const char *option, const char *name,
                    const char **names, uint32_t *count)
{
    if (*count == KYMO_SELECT_NAMES_MAX)
        return kymo_usage_error(r->command, "%s: at most %u names", option, KYMO_SELECT_NAMES_MAX);
    names[(*count)++] = name;
    return -1;
}

/* The last one of an option counts. */
static int set_regex(struct kymo_select_request *r, const char *option, const char *text,
                     regex_t *regex, const regex_t **out)
{
    char why[128];
    if (*out)
        regfree(regex);
    *out = NULL;
    int error = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
    if (error) {
        regerror(error, regex, why, sizeof why);
        return kymo_usage_error(r->command, "%s: '%.80s' is not an extended regular expression: %s",
                                option, text, why);
    }
    *out = regex;
    return -1;
}

int kymo_select_request_switch(struct kymo_select_request *r, const kymo_arg *arg, int *is_known)
{
    kymo_selection *s = &r->selection;
    *is_known = 1;
    switch (arg->switch_id) {
    case KYMO_SWITCH_FROM:
        r->from = arg->value;
        return kymo_heap_request_time(r->command, "--from", arg->value, &s->from_ns);
    case KYMO_SWITCH_TO:
        r->to = arg->value;
        return kymo_heap_request_time(r->command, "--to", arg->value, &s->to_ns);
    case KYMO_SWITCH_MIN_DURATION:
        return kymo_heap_request_time(r->command, "--min-duration", arg->value,
                                      &r->load.min_duration_ns);
    case KYMO_SWITCH_THREAD:
        return add_name(r, "--thread", arg->value, s->threads, &s->thread_count);
    case KYMO_SWITCH_PROCESS:
        return add_name(r, "--process", arg->value, s->processes, &s->process_count);
    case KYMO_SWITCH_FOCUS:
        r->focus = arg->value;
        return set_regex(r, "--focus", arg->value, &r->focus_regex, &s->focus);
    case KYMO_SWITCH_IGNORE:
        r->ignore = arg->value;
        return set_regex(r, "--ignore", arg->value, &r->ignore_regex, &s->ignore);
    default:
        *is_known = 0;
        return -1;
    }
}

static void add_option(kymo_str *to, const char *name, const char *value)
{
    if (value)
        kymo_str_printf(to, "%s%s %s", to->len ? " " : "", name, value);
}

static void write_options(struct kymo_select_request *r)
{
    const kymo_selection *s = &r->selection;
    add_option(&r->options, "--from", r->from);
    add_option(&r->options, "--to", r->to);
    for (uint32_t i = 0; i < s->process_count; i++)
        add_option(&r->options, "--process", s->processes[i]);
    for (uint32_t i = 0; i < s->thread_count; i++)
        add_option(&r->options, "--thread", s->threads[i]);
    add_option(&r->options, "--focus", r->focus);
    add_option(&r->options, "--ignore", r->ignore);
}

/* ---- what goes together ---- */

int kymo_select_request_is_given(const struct kymo_select_request *r)
{
    return r->from || r->to || r->selection.thread_count || r->selection.process_count ||
           r->focus || r->ignore;
}

static int check_use(const struct kymo_select_request *r, enum kymo_select_use use)
{
    int is_given = kymo_select_request_is_given(r);
    if (use == KYMO_SELECT_FOR_QUALITY && is_given)
        return kymo_usage_error(r->command, "--quality is of the whole recording: leave out %s",
                                kymo_str_cstr(&r->options));
    if (use == KYMO_SELECT_FOR_LEDGER &&
        (r->from || r->to || r->selection.thread_count || r->focus || r->ignore))
        return kymo_usage_error(r->command, "the ledger is of whole processes: --mode memory goes "
                                            "with --process, and without --from, --to, --thread, "
                                            "--focus and --ignore");
    if (use == KYMO_SELECT_FOR_MARKERS && (r->focus || r->ignore))
        return kymo_usage_error(r->command, "markers have no functions: --focus and --ignore go "
                                            "without --mode markers");
    return -1;
}

int kymo_select_request_check_moment(const struct kymo_select_request *r, uint64_t at_ns)
{
    if (at_ns == KYMO_HEAP_END || (at_ns >= r->selection.from_ns && at_ns <= r->selection.to_ns))
        return -1;
    return kymo_usage_error(r->command, "the time of the heap is not between --from and --to: "
                                        "choose one that is, or leave these out");
}

int kymo_select_request_finish(struct kymo_select_request *r, enum kymo_select_use use)
{
    const kymo_selection *s = &r->selection;
    write_options(r);
    if (s->from_ns > s->to_ns)
        return kymo_usage_error(r->command, "--from %.40s is after --to %.40s: nothing is between",
                                r->from, r->to);
    return check_use(r, use);
}

/* ---- a profile ---- */

/* When a profile ends, since its start; 0: not known. */
static uint64_t end_of(const kymo_profile *profile)
{
    const kymo_meta *meta = kymo_profile_meta(profile);
    uint64_t end_ns = meta->end_ns;
    for (uint32_t t = 0; t < kymo_profile_count(profile, KYMO_TABLE_THREADS); t++) {
        kymo_samples s = kymo_profile_samples(profile, t);
        if (s.count && s.time_ns[s.count - 1] > end_ns)
            end_ns = s.time_ns[s.count - 1];
    }
    return end_ns > meta->origin_monotonic_ns ? end_ns - meta->origin_monotonic_ns : 0;
}

/* Samples of these files have no times, and the readers make some up. */
static int has_times(const kymo_profile *profile)
{
    const char *format = kymo_profile_meta(profile)->format;
    return !format || (strcmp(format, "pprof") != 0 && strcmp(format, "collapsed") != 0);
}

static int check_times(const struct kymo_select_request *r, const char *file,
                       const kymo_profile *profile)
{
    char end[32];
    uint64_t end_ns = end_of(profile);
    if ((r->from || r->to) && !has_times(profile))
        return kymo_usage_error(r->command,
                                "%.150s: the samples of %s files have no times: --from and --to go "
                                "with recordings and Firefox files",
                                file, kymo_profile_meta(profile)->format);
    if (r->from && end_ns > 0 && r->selection.from_ns > end_ns)
        return kymo_usage_error(r->command, "%.150s: --from %.40s is after its end, which is at %s",
                                file, r->from, kymo_format_duration(end, end_ns));
    return -1;
}

int kymo_select_request_apply(const struct kymo_select_request *r, const char *file,
                              const kymo_profile *whole, kymo_sanitizer *sanitizer,
                              kymo_profile **part)
{
    static const kymo_keep all = KYMO_KEEP_ALL;
    kymo_error detail = {0};
    *part = NULL;
    int is_part = kymo_selection_is_part(&r->selection);
    if (!is_part && !sanitizer)
        return -1;
    int status = check_times(r, file, whole);
    if (status >= 0)
        return status;
    kymo_err err = is_part ? kymo_select(whole, &r->selection, sanitizer, part, &detail)
                           : kymo_profile_copy(whole, &all, sanitizer, part);
    if (err == KYMO_OK)
        return -1;
    if (err == KYMO_E_NOT_FOUND)
        return kymo_usage_error(r->command, "%.150s: %s", file, detail.message);
    kymo_fprint(stderr, "kymo: %s: %s\n", file, kymo_err_text(err));
    return KYMO_EXIT_FAILED;
}

kymo_report_selection kymo_select_request_view(const struct kymo_select_request *r,
                                               const kymo_profile *whole, const kymo_profile *part)
{
    const kymo_selection *s = &r->selection;
    return (kymo_report_selection){.whole = whole,
                                   .part = part,
                                   .options = kymo_str_cstr(&r->options),
                                   .from_ns = s->from_ns,
                                   .to_ns = s->to_ns,
                                   .threads = s->threads,
                                   .processes = s->processes,
                                   .thread_count = s->thread_count,
                                   .process_count = s->process_count,
                                   .focus = r->focus,
                                   .ignore = r->ignore};
}
