/* SPDX-License-Identifier: Apache-2.0 */
#include "views/report_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "views/report_text.h"

static void print_file(const kymo_terminal *t, const kymo_profile *profile, const char *file)
{
    const kymo_meta *meta = kymo_profile_meta(profile);
    fputs("file:     ", t->to);
    kymo_terminal_print(t, file);
    fprintf(t->to, " (%s)", meta->format);
    if (meta->product && *meta->product) {
        fputs(" of ", t->to);
        kymo_terminal_print(t, meta->product);
    }
    fputc('\n', t->to);
}

static void print_total(const kymo_terminal *t, const kymo_profile *profile,
                        const kymo_report *report)
{
    const kymo_meta *meta = kymo_profile_meta(profile);
    const kymo_sample_type *type = kymo_report_type(report);
    uint32_t processes = kymo_profile_count(profile, KYMO_TABLE_PROCESSES);
    uint32_t threads = kymo_profile_count(profile, KYMO_TABLE_THREADS);
    char text[32];
    fprintf(t->to, "total:    %s", kymo_report_format_whole(text, type, kymo_report_total(report)));
    if (strcmp(type->unit, "nanoseconds") != 0 && strcmp(type->unit, "bytes") != 0 &&
        strcmp(type->unit, "count") != 0)
        fprintf(t->to, " %s", type->unit);
    fputs(" of ", t->to);
    kymo_terminal_print(t, type->name);
    if (meta->end_ns > meta->origin_monotonic_ns)
        fprintf(t->to, " in %s",
                kymo_format_duration(text, meta->end_ns - meta->origin_monotonic_ns));
    if (processes > 1)
        fprintf(t->to, ", %u processes", processes);
    if (threads > 1)
        fprintf(t->to, ", %u threads", threads);
    fputc('\n', t->to);
}

/* What was lost while the file was written, or could not be read. */
static void print_missing(const kymo_terminal *t, const kymo_profile *profile)
{
    const kymo_quality *q = kymo_profile_quality(profile);
    for (uint32_t i = 0; i < q->lost_count; i++) {
        fputs("missing:  ", t->to);
        kymo_terminal_print(t, q->lost[i].kind);
        fprintf(t->to, ": %" PRIu64 "\n", q->lost[i].count);
    }
}

void kymo_report_print_source(const kymo_terminal *t, const kymo_profile *profile, const char *file,
                              const kymo_report *report)
{
    uint32_t count;
    const kymo_sample_type *types = kymo_profile_sample_types(profile, &count);
    print_file(t, profile, file);
    if (report)
        print_total(t, profile, report);
    print_missing(t, profile);
    if (count < 2)
        return;
    fputs("--mode:   ", t->to);
    for (uint32_t i = 0; i < count; i++) {
        fputs(i ? ", " : "", t->to);
        kymo_terminal_print(t, types[i].name);
    }
    fputc('\n', t->to);
}
