/* SPDX-License-Identifier: Apache-2.0 */
#include "views/report_selection.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/sum.h"
#include "views/report_text.h"

/* One word for each kymo_report_counted; samples have their type's. */
static const char *const counted_words[] = {
    [KYMO_COUNTED_SAMPLES] = NULL,          [KYMO_COUNTED_ALLOCATIONS] = "recorded allocations",
    [KYMO_COUNTED_MAPPINGS] = "mappings",   [KYMO_COUNTED_MARKERS] = "markers",
    [KYMO_COUNTED_PROCESSES] = "processes",
};

static uint64_t weight_of(const kymo_profile *profile, uint32_t type, uint64_t *samples)
{
    uint64_t sum = 0;
    *samples = 0;
    for (uint32_t t = 0; t < kymo_profile_count(profile, KYMO_TABLE_THREADS); t++) {
        kymo_samples s = kymo_profile_samples(profile, t);
        for (size_t i = 0; i < s.count; i++)
            if (s.kind[i] == type) {
                sum = kymo_sum(sum, s.weight_ns[i]);
                ++*samples;
            }
    }
    return sum;
}

/* *samples: how many stand for it, where samples are counted. */
static uint64_t amount_of(const kymo_report_selection *selection, const kymo_profile *profile,
                          uint64_t *samples)
{
    static const kymo_table tables[] = {
        [KYMO_COUNTED_ALLOCATIONS] = KYMO_TABLE_ALLOCATIONS,
        [KYMO_COUNTED_MAPPINGS] = KYMO_TABLE_MAPPINGS,
        [KYMO_COUNTED_MARKERS] = KYMO_TABLE_MARKERS,
        [KYMO_COUNTED_PROCESSES] = KYMO_TABLE_PROCESSES,
    };
    if (selection->counted == KYMO_COUNTED_SAMPLES)
        return weight_of(profile, selection->type, samples);
    return kymo_profile_count(profile, tables[selection->counted]);
}

static const kymo_sample_type *type_of(const kymo_report_selection *selection)
{
    uint32_t count;
    return &kymo_profile_sample_types(selection->whole, &count)[selection->type];
}

/* "CPU time", "wall time", "inuse_space". */
static const char *name_of(const kymo_sample_type *type)
{
    return type->adds == KYMO_ADDS_CPU_TIME                                     ? "CPU time"
           : type->adds == KYMO_ADDS_ELAPSED && strcmp(type->name, "wall") == 0 ? "wall time"
                                                                                : type->name;
}

static void add_amounts(const kymo_report_selection *selection, uint64_t part, uint64_t whole,
                        kymo_str *line)
{
    char text[32];
    if (selection->counted != KYMO_COUNTED_SAMPLES) {
        kymo_str_printf(line, "%" PRIu64 " of %" PRIu64 " %s", part, whole,
                        counted_words[selection->counted]);
        return;
    }
    const kymo_sample_type *type = type_of(selection);
    kymo_str_printf(line, "%s of ", kymo_report_format_whole(text, type, part));
    kymo_str_printf(line, "%s of %s", kymo_report_format_whole(text, type, whole), name_of(type));
}

void kymo_report_print_selection(const kymo_terminal *t, const kymo_report_selection *selection,
                                 const char *before, const char *after)
{
    uint64_t samples, of_whole;
    uint64_t selected = amount_of(selection, selection->part, &samples);
    uint64_t whole = amount_of(selection, selection->whole, &of_whole);
    kymo_str line = {0};
    add_amounts(selection, selected, whole, &line);
    if (whole > 0)
        kymo_str_printf(&line, ", %.1f %%", (double)selected / (double)whole * 100);
    /* Readers of other files join the samples of a stack. */
    if (selection->counted == KYMO_COUNTED_SAMPLES && !kymo_profile_meta(selection->whole)->format)
        kymo_str_printf(&line, ", %" PRIu64 " sample%s", samples, samples == 1 ? "" : "s");
    kymo_str_printf(&line, " (%s)%s", selection->options, after);
    fputs(before, t->to);
    kymo_terminal_wrap(t, strlen(before), strlen(before), kymo_str_cstr(&line));
    kymo_str_deinit(&line);
}

/* Arguments may be any bytes. */
static void write_text(kymo_json *j, const char *text)
{
    char clean[512];
    kymo_utf8_copy(clean, sizeof clean, text, strlen(text));
    kymo_json_cstr(j, clean);
}

static void write_words(kymo_json *j, const char *key, const char *const *words, uint32_t count)
{
    kymo_json_key_array(j, key);
    for (uint32_t i = 0; i < count; i++)
        write_text(j, words[i]);
    kymo_json_end_array(j);
}

static void write_expression(kymo_json *j, const char *key, const char *text)
{
    kymo_json_key(j, key);
    if (text)
        write_text(j, text);
    else
        kymo_json_null(j);
}

static void write_moment(kymo_json *j, const char *key, uint64_t ns, int is_given)
{
    kymo_json_key(j, key);
    if (is_given)
        kymo_json_fixed(j, ns, 9);
    else
        kymo_json_null(j);
}

void kymo_report_json_selection(kymo_json *j, const char *key,
                                const kymo_report_selection *selection)
{
    int is_samples = selection->counted == KYMO_COUNTED_SAMPLES;
    uint64_t samples;
    kymo_json_key_object(j, key);
    write_moment(j, "from_s", selection->from_ns, selection->from_ns > 0);
    write_moment(j, "to_s", selection->to_ns, selection->to_ns < UINT64_MAX);
    write_words(j, "threads", selection->threads, selection->thread_count);
    write_words(j, "processes", selection->processes, selection->process_count);
    write_expression(j, "focus", selection->focus);
    write_expression(j, "ignore", selection->ignore);
    kymo_json_key_cstr(j, "counted",
                       is_samples ? type_of(selection)->unit : counted_words[selection->counted]);
    kymo_json_key_u64(j, "selected", amount_of(selection, selection->part, &samples));
    kymo_json_key_u64(j, "of", amount_of(selection, selection->whole, &samples));
    kymo_json_end_object(j);
}
