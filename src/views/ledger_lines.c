/* SPDX-License-Identifier: Apache-2.0 */
#include "views/ledger_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "recording/events_heap.h"

static const struct {
    const char *word, *meaning;
} texts[KYMO_LEDGER_LINES_SHOWN] = {
    [KYMO_LEDGER_LIVE] = {"live", "live allocations, as requested"},
    [KYMO_LEDGER_SLACK] = {"slack", "the allocator's rounding of live allocations"},
    [KYMO_LEDGER_RETAINED] = {"retained", "kept by the allocator: freed, or never used"},
    [KYMO_LEDGER_MAPPED] = {"mapped", "mapped by the program itself, past the allocator"},
    [KYMO_LEDGER_STACKS] = {"stacks", "of threads, and kept for the next ones"},
    [KYMO_LEDGER_FILES] = {"files", "code and data of files, as they are on disk"},
    [KYMO_LEDGER_DATA] = {"data", "variables of the program and its libraries"},
    [KYMO_LEDGER_SHARED] = {"shared", "memory that other processes may share"},
    [KYMO_LEDGER_KYMO] = {"kymo", "of this profiler: gone without it"},
    [KYMO_LEDGER_SYSTEM] = {"system", "put there by the kernel"},
    [KYMO_LEDGER_UNEXPLAINED] = {"unexplained", "none of the above"},
    [KYMO_LEDGER_RSS] = {"rss", "all of it, as the kernel counts"},
};

const char *kymo_ledger_line_word(uint32_t line)
{
    const char *word = line < KYMO_ARRAY_LEN(texts) ? texts[line].word : NULL;
    return word ? word : "other";
}

const char *kymo_ledger_line_meaning(uint32_t line)
{
    const char *meaning = line < KYMO_ARRAY_LEN(texts) ? texts[line].meaning : NULL;
    return meaning ? meaning : "";
}

int kymo_ledger_line_is_sum(uint32_t line)
{
    return line == KYMO_LEDGER_RSS;
}

static void name_it(struct kymo_ledger_shown *shown, const kymo_profile *profile)
{
    const kymo_ledger *row = shown->row;
    const kymo_stacks stacks = kymo_profile_stacks(profile);
    if (row->stack < stacks.count)
        (void)kymo_profile_frame_label(profile, stacks.frame[row->stack], shown->name,
                                       sizeof shown->name);
    else
        snprintf(shown->name, sizeof shown->name, "%s", kymo_profile_string(profile, row->name));
}

static int is_same_line(const struct kymo_ledger_shown *a, const kymo_ledger *b)
{
    return a->row->process == b->process && a->row->time_ns == b->time_ns &&
           a->row->line == b->line;
}

static kymo_err add(struct kymo_ledger_lines *lines, const kymo_profile *profile,
                    const kymo_ledger *row)
{
    struct kymo_ledger_shown shown = {.row = row, .bytes = row->bytes};
    name_it(&shown, profile);
    size_t i = row->stack != KYMO_NONE ? lines->list.len : 0;
    while (i-- > 0 && is_same_line(&lines->list.data[i], row))
        if (strcmp(lines->list.data[i].name, shown.name) == 0) {
            lines->list.data[i].bytes += row->bytes;
            return KYMO_OK;
        }
    return kymo_vec_push(&lines->list, shown);
}

static int compare(const void *a, const void *b)
{
    const struct kymo_ledger_shown *x = a;
    const struct kymo_ledger_shown *y = b;
    if (x->row->process != y->row->process)
        return x->row->process < y->row->process ? -1 : 1;
    if (x->row->time_ns != y->row->time_ns)
        return x->row->time_ns < y->row->time_ns ? -1 : 1;
    if (x->row->line != y->row->line)
        return x->row->line < y->row->line ? -1 : 1;
    if (!*x->name != !*y->name)
        return *x->name ? 1 : -1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Values that all lines of one time share. */
static void note_sums(struct kymo_ledger_lines *lines)
{
    struct kymo_ledger_shown *list = lines->list.data;
    size_t n = lines->list.len;
    for (size_t i = 0, end; i < n; i = end) {
        int64_t rss = 0;
        for (end = i; end < n && list[end].row->process == list[i].row->process &&
                      list[end].row->time_ns == list[i].row->time_ns;
             end++)
            if (kymo_ledger_line_is_sum(list[end].row->line))
                rss = list[end].bytes;
        int is_most = end < n && list[end].row->process == list[i].row->process;
        for (size_t k = i; k < end; k++) {
            list[k].rss = rss;
            list[k].is_most = is_most;
        }
    }
}

kymo_err kymo_ledger_lines_make(struct kymo_ledger_lines *lines, const kymo_profile *profile)
{
    size_t count;
    const kymo_ledger *rows = kymo_profile_ledger(profile, &count);
    *lines = (struct kymo_ledger_lines){.list = {0}};
    for (size_t i = 0; i < count; i++) {
        kymo_err err = add(lines, profile, &rows[i]);
        if (err != KYMO_OK) {
            kymo_ledger_lines_deinit(lines);
            return err;
        }
    }
    if (lines->list.len > 0)
        qsort(lines->list.data, lines->list.len, sizeof *lines->list.data, compare);
    note_sums(lines);
    return KYMO_OK;
}

void kymo_ledger_lines_deinit(struct kymo_ledger_lines *lines)
{
    kymo_vec_deinit(&lines->list);
}
