/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "views/ledger_lines.h"
#include "views/report_heap.h"

/* All lines of a table have the same unit, so they are easy to compare and add. */
struct unit {
    const char *name;
    double bytes;
    int decimals;
};

static struct unit unit_for(int64_t largest)
{
    static const struct unit units[] = {{"MiB", 0x1p20, 0}, {"MiB", 0x1p20, 1}, {"KiB", 0x1p10, 0}};
    return units[largest >= 1ll << 30 ? 0 : largest >= 10ll << 20 ? 1 : 2];
}

static const char *format(char out[40], struct unit unit, double bytes)
{
    snprintf(out, 40, "%.*f %s", unit.decimals, bytes / unit.bytes, unit.name);
    /* Avoids "-0". */
    return out[0] == '-' && strtod(out, NULL) == 0 ? memmove(out, out + 1, strlen(out)) : out;
}

/* At least a hundredth of the whole: there are many libraries. */
static int is_shown(const struct kymo_ledger_shown *shown)
{
    return *shown->name == '\0' || shown->bytes > shown->rss / 100;
}

static void print_line(const kymo_terminal *t, const struct kymo_ledger_shown *shown)
{
    char text[40], low[40], high[40];
    struct unit unit = unit_for(shown->rss);
    const kymo_ledger *line = shown->row;
    double share = shown->rss > 0 ? (double)shown->bytes / (double)shown->rss * 100 : 0;
    fprintf(t->to, "%10s  %5.1f %%  ", format(text, unit, (double)shown->bytes), share);
    if (*shown->name) {
        fprintf(t->to, "  %s of ", kymo_ledger_line_word(line->line));
        kymo_terminal_print(t, shown->name);
    } else {
        fprintf(t->to, "%-11s  %s%s%s", kymo_ledger_line_word(line->line), kymo_terminal_dim(t),
                kymo_ledger_line_meaning(line->line), kymo_terminal_reset(t));
    }
    if (line->low || line->high)
        fprintf(t->to, "; %s95 %%: %s to %s%s", kymo_terminal_dim(t),
                format(low, unit, (double)line->low), format(high, unit, (double)line->high),
                kymo_terminal_reset(t));
    fputc('\n', t->to);
}

static void print_head(const kymo_terminal *t, const kymo_profile *profile,
                       const struct kymo_ledger_shown *shown)
{
    const kymo_process *process = kymo_profile_process(profile, shown->row->process);
    uint64_t origin_ns = kymo_profile_meta(profile)->origin_monotonic_ns;
    uint64_t time_ns = shown->row->time_ns;
    char time[32];
    fprintf(t->to, "%s%s in ", kymo_terminal_bold(t),
            shown->is_most ? "most resident" : "resident");
    kymo_terminal_print(t, process->name);
    fprintf(t->to, " (%d) at %s%s\n", (int)process->pid,
            kymo_format_duration(time, time_ns > origin_ns ? time_ns - origin_ns : 0),
            kymo_terminal_reset(t));
}

static void print_infos(const kymo_terminal *t, const kymo_profile *profile)
{
    size_t n;
    const kymo_memory_info *infos = kymo_profile_memory_infos(profile, &n);
    if (n == 0)
        return;
    fprintf(t->to, "\n%s               value  figure%s\n", kymo_terminal_dim(t),
            kymo_terminal_reset(t));
    for (size_t i = 0; i < n; i++) {
        fprintf(t->to, "%20" PRIu64 "  ", infos[i].value);
        kymo_terminal_print(t, kymo_profile_string(profile, infos[i].key));
        if (kymo_profile_count(profile, KYMO_TABLE_PROCESSES) > 1)
            fprintf(t->to, "  %spid %d%s", kymo_terminal_dim(t),
                    (int)kymo_profile_process(profile, infos[i].process)->pid,
                    kymo_terminal_reset(t));
        fputc('\n', t->to);
    }
}

void kymo_report_print_ledger(const kymo_terminal *t, const kymo_profile *profile)
{
    struct kymo_ledger_lines lines;
    if (kymo_ledger_lines_make(&lines, profile) != KYMO_OK) {
        fputs("no memory for the ledger\n", t->to);
        return;
    }
    const struct kymo_ledger_shown *list = lines.list.data;
    if (lines.list.len == 0)
        fputs("no ledger in this recording: it is made where allocations are recorded "
              "(kymo record --alloc), once a process has run for a moment\n",
              t->to);
    for (size_t i = 0; i < lines.list.len; i++) {
        if (i == 0 || list[i].row->process != list[i - 1].row->process ||
            list[i].row->time_ns != list[i - 1].row->time_ns) {
            if (i > 0)
                fputc('\n', t->to);
            print_head(t, profile, &list[i]);
        }
        if (is_shown(&list[i]))
            print_line(t, &list[i]);
    }
    kymo_ledger_lines_deinit(&lines);
    print_infos(t, profile);
}
