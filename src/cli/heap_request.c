/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/heap_request.h"

#include <string.h>

#include "base/log.h"
#include "base/str.h"

static const struct {
    const char *word;
    kymo_heap_view view;
    uint32_t by; /* unless another is asked for */
} modes[] = {
    {"alloc", KYMO_HEAP_ALLOC, KYMO_BY_FUNCTION},
    {"live", KYMO_HEAP_LIVE, KYMO_BY_FUNCTION},
    {"peak", KYMO_HEAP_PEAK, KYMO_BY_FUNCTION},
    {"leaks", KYMO_HEAP_LEAKS, KYMO_BY_FUNCTION},
    {"lifetimes", KYMO_HEAP_LIFETIMES, KYMO_BY_FUNCTION},
    {"temporary", KYMO_HEAP_TEMPORARY, KYMO_BY_FUNCTION},
    {"sizes", KYMO_HEAP_ALLOC, KYMO_BY_SIZE},
    {"mapped", KYMO_HEAP_MAPPED, KYMO_BY_FUNCTION},
};

static const struct {
    const char *word;
    uint32_t by;
} keys[] = {
    {"function", KYMO_BY_FUNCTION}, {"line", KYMO_BY_LINE},     {"file", KYMO_BY_FILE},
    {"thread", KYMO_BY_THREAD},     {"module", KYMO_BY_MODULE}, {"process", KYMO_BY_PROCESS},
    {"size", KYMO_BY_SIZE},         {"stack", KYMO_BY_STACK},
};

void kymo_heap_request_init(struct kymo_heap_request *request)
{
    *request = (struct kymo_heap_request){.options = {.size = sizeof request->options,
                                                      .by = KYMO_BY_FUNCTION,
                                                      .at_ns = KYMO_HEAP_END,
                                                      .min_age_ns = KYMO_HEAP_AUTO}};
}

int kymo_heap_request_mode(struct kymo_heap_request *request, const char *word)
{
    request->mode = NULL;
    request->is_ledger = strcmp(word, "memory") == 0;
    if (request->is_ledger)
        request->mode = word;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(modes); i++) {
        if (strcmp(modes[i].word, word) != 0)
            continue;
        request->mode = modes[i].word;
        request->options.view = modes[i].view;
        request->options.by = modes[i].by;
    }
    return request->mode != NULL;
}

int kymo_heap_request_time(unsigned command, const char *option, const char *text, uint64_t *ns)
{
    uint64_t value;
    if (kymo_parse_time(text, strlen(text), &value) != KYMO_OK || value > INT64_MAX)
        return kymo_usage_error(command, "%s: '%.40s' is not a time with its unit (ns us ms s m h)",
                                option, text);
    *ns = value;
    return -1;
}

static int take_number(unsigned command, const char *option, const char *text, uint64_t most,
                       uint32_t *out)
{
    uint64_t value;
    if (kymo_parse_u64(text, strlen(text), &value) != KYMO_OK || value > most)
        return kymo_usage_error(command, "%s: '%.40s' is not a number from 0 to %u", option, text,
                                (unsigned)most);
    *out = (uint32_t)value;
    return -1;
}

int kymo_heap_request_switch(struct kymo_heap_request *request, unsigned command,
                             const kymo_arg *arg, int *is_known)
{
    *is_known = 1;
    switch (arg->switch_id) {
    case KYMO_SWITCH_AT:
        request->has_at = 1;
        return kymo_heap_request_time(command, "--at", arg->value, &request->options.at_ns);
    case KYMO_SWITCH_MIN_AGE:
        request->has_age = 1;
        return kymo_heap_request_time(command, "--min-age", arg->value,
                                      &request->options.min_age_ns);
    case KYMO_SWITCH_IGNORE_YOUNGEST:
        request->has_age = 1;
        return take_number(command, "--ignore-youngest", arg->value, 100,
                           &request->options.youngest_percent);
    case KYMO_SWITCH_WITHIN:
        request->has_within = 1;
        return take_number(command, "--within", arg->value, 1000000000, &request->options.within);
    case KYMO_SWITCH_ALL_FRAMES:
        request->has_all_frames = 1;
        request->options.all_frames = 1;
        return -1;
    default:
        *is_known = 0;
        return -1;
    }
}

static int take_by(struct kymo_heap_request *request, unsigned command, const char *word)
{
    for (size_t i = 0; i < KYMO_ARRAY_LEN(keys); i++)
        if ((word ? strcmp(keys[i].word, word) == 0 : keys[i].by == request->options.by) &&
            (keys[i].by != KYMO_BY_STACK || command == KYMO_IN_DIFF)) {
            request->options.by = keys[i].by;
            request->by = keys[i].word;
            return -1;
        }
    return kymo_usage_error(command,
                            "--by: '%.40s' is unknown; it takes function, line, file, thread, "
                            "module, process%s",
                            word, command == KYMO_IN_DIFF ? ", size or stack" : " or size");
}

int kymo_heap_request_finish(struct kymo_heap_request *request, unsigned command, const char *word)
{
    uint32_t view = request->options.view;
    int is_view = request->mode && !request->is_ledger;
    if (request->has_at && !(is_view && (view == KYMO_HEAP_LIVE || view == KYMO_HEAP_MAPPED)))
        return kymo_usage_error(command, "--at goes with --mode live or mapped");
    if (request->has_age && !(is_view && view == KYMO_HEAP_LEAKS))
        return kymo_usage_error(command, "--min-age and --ignore-youngest go with --mode leaks");
    if (request->has_within && !(is_view && view == KYMO_HEAP_TEMPORARY))
        return kymo_usage_error(command, "--within goes with --mode temporary");
    if (request->has_all_frames && !is_view)
        return kymo_usage_error(command, "--all-frames goes with a --mode of memory");
    if (request->is_ledger && word)
        return kymo_usage_error(command, "the ledger has its own rows: --by goes without it");
    return is_view ? take_by(request, command, word) : -1;
}

kymo_heap_report_options kymo_heap_request_options(const struct kymo_heap_request *request,
                                                   const kymo_profile *profile)
{
    kymo_heap_report_options options = request->options;
    if (options.at_ns != KYMO_HEAP_END)
        options.at_ns += kymo_profile_meta(profile)->origin_monotonic_ns;
    return options;
}

int kymo_heap_was_recorded(const kymo_profile *profile, const char *file)
{
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_PROCESSES); i++) {
        const kymo_heap *heap = kymo_profile_heap(profile, i);
        if (heap && heap->rate > 0)
            return 1;
    }
    kymo_fprint(stderr, "kymo: %s: no allocations were recorded (kymo record --alloc)\n", file);
    return 0;
}
