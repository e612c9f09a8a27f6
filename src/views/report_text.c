/* SPDX-License-Identifier: Apache-2.0 */
#include "views/report_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum {
    NAME_MIN = 20,
    NAME_MAX_PIPED = 60, /* longer names push the next column aside when nothing may be cut */
    WHERE_MIN = 24,
    WAITS_NAMED = 3,
};

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* "12.3 %", in the colour of its size. */
static void print_share(const kymo_terminal *t, double ratio)
{
    const char *on = ratio >= 0.1    ? kymo_terminal_bold(t)
                     : ratio < 0.005 ? kymo_terminal_dim(t)
                                     : "";
    fprintf(t->to, "%s%5.1f %%%s", on, ratio * 100, *on ? kymo_terminal_reset(t) : "");
}

/* Takes "x/.." and "." out of a path: build systems leave many of them, and they take the room that
 * the file's name needs. For people; no file is opened by it. */
static void tidy_path(char *path)
{
    char *base = path + (path[0] == '/');
    char *to = base;
    for (char *from = base; *from;) {
        size_t n = strcspn(from, "/");
        size_t with_slash = n + (from[n] == '/');
        char *last = to; /* the component before, with its slash */
        if (last > base)
            last--;
        while (last > base && last[-1] != '/')
            last--;
        if (n == 2 && memcmp(from, "..", 2) == 0 && to > base && strncmp(last, "../", 3) != 0) {
            to = last;
        } else if (n > 0 && !(n == 1 && from[0] == '.')) {
            memmove(to, from, with_slash);
            to += with_slash;
        }
        from += with_slash;
    }
    *to = '\0';
}

void kymo_report_where_of(const kymo_report_row *row, kymo_report_by by, kymo_str *out)
{
    if (by == KYMO_BY_FILE || by == KYMO_BY_MODULE || by == KYMO_BY_THREAD ||
        by == KYMO_BY_PROCESS || by == KYMO_BY_SIZE)
        return;
    if (row->file) {
        kymo_str_puts(out, row->file);
        if (out->failed)
            return;
        tidy_path(out->data);
        out->len = strlen(out->data);
        if (row->line)
            kymo_str_printf(out, ":%" PRIu32, row->line);
    } else if (row->module && row->name[0] != '[') {
        kymo_str_puts(out, row->module);
    }
}

const char *kymo_report_format(char out[40], const kymo_sample_type *type, double value)
{
    char text[32];
    double size = fabs(value);
    uint64_t whole = size < 0x1p63 ? (uint64_t)llround(size) : 1ull << 63;
    const char *sign = value < 0 && whole ? "-" : "";
    if (strcmp(type->unit, "nanoseconds") == 0)
        snprintf(out, 40, "%s%s", sign, kymo_format_duration(text, whole));
    else if (strcmp(type->unit, "bytes") == 0)
        snprintf(out, 40, "%s%s", sign, kymo_format_bytes(text, whole));
    else
        snprintf(out, 40, "%s%" PRIu64, sign, whole);
    return out;
}

const char *kymo_report_heading_of(kymo_report_by by)
{
    switch (by) {
    case KYMO_BY_LINE:
        return "function, at its line";
    case KYMO_BY_FILE:
        return "file";
    case KYMO_BY_MODULE:
        return "module";
    case KYMO_BY_PROCESS:
        return "process";
    case KYMO_BY_THREAD:
        return "thread";
    case KYMO_BY_SIZE:
        return "size";
    default:
        return "function";
    }
}

void kymo_report_print_place(const kymo_terminal *t, const kymo_report_row *row, kymo_report_by by)
{
    kymo_str where = {0};
    kymo_terminal_print(t, row->name, 0, KYMO_CUT_END, 0);
    kymo_report_where_of(row, by, &where);
    if (where.len > 0) {
        fprintf(t->to, "  %s", kymo_terminal_dim(t));
        kymo_terminal_print(t, kymo_str_cstr(&where), 0, KYMO_CUT_START, 0);
        fputs(kymo_terminal_reset(t), t->to);
    }
    kymo_str_deinit(&where);
    fputc('\n', t->to);
}

void kymo_report_print_more(const kymo_terminal *t, size_t count, int indent, const char *more)
{
    if (count)
        fprintf(t->to, "%s%*s... and %zu more%s%s\n", kymo_terminal_dim(t), indent, "", count, more,
                kymo_terminal_reset(t));
}

void kymo_report_print_table(const kymo_terminal *t, const kymo_report *report, kymo_report_by by,
                             size_t top, const char *more)
{
    size_t n;
    const kymo_report_row *rows = kymo_report_rows(report, &n);
    uint64_t total = kymo_report_total(report);
    size_t n_self = 0; /* rows come by self, the largest first: those of none are last */
    while (n_self < n && rows[n_self].self > 0)
        n_self++;
    size_t shown = top && top < n_self ? top : n_self;
    size_t name_width = strlen(kymo_report_heading_of(by));
    size_t where_width = 0;

    for (size_t i = 0; i < shown; i++) {
        size_t columns = kymo_terminal_columns(rows[i].name);
        name_width = columns > name_width ? columns : name_width;
    }
    if (t->width) {
        /* Two columns of percents, one of time, the gaps: the rest is for names and places. */
        size_t rest = (size_t)t->width > 29 + NAME_MIN + 2 + WHERE_MIN ? (size_t)t->width - 29 - 2
                                                                       : NAME_MIN + WHERE_MIN;
        if (by == KYMO_BY_FUNCTION || by == KYMO_BY_LINE) {
            if (name_width > rest * 6 / 10)
                name_width = rest * 6 / 10;
            where_width = rest - name_width;
        } else if (name_width > rest) {
            name_width = rest;
        }
    } else if (name_width > NAME_MAX_PIPED) {
        name_width = NAME_MAX_PIPED;
    }

    fprintf(t->to, "%s  self   total        self  %s%s\n", kymo_terminal_dim(t),
            kymo_report_heading_of(by), kymo_terminal_reset(t));
    for (size_t i = 0; i < shown; i++) {
        char time[32];
        kymo_str where = {0};
        print_share(t, share(rows[i].self, total));
        fputc(' ', t->to);
        print_share(t, share(rows[i].total, total));
        fprintf(t->to, "  %10s  ", kymo_format_duration(time, rows[i].self));
        kymo_report_where_of(&rows[i], by, &where);
        size_t cut = t->width ? name_width : 0;
        int is_path = by == KYMO_BY_FILE;
        kymo_terminal_print(t, rows[i].name, cut, is_path ? KYMO_CUT_START : KYMO_CUT_END, 0);
        if (where.len > 0) {
            for (size_t c = kymo_terminal_columns(rows[i].name); c < name_width; c++)
                fputc(' ', t->to);
            fprintf(t->to, "  %s", kymo_terminal_dim(t));
            kymo_terminal_print(t, where.data, where_width, KYMO_CUT_START, 0);
            fputs(kymo_terminal_reset(t), t->to);
        }
        fputc('\n', t->to);
        kymo_str_deinit(&where);
    }
    kymo_report_print_more(t, n_self - shown, 29, more);
}

void kymo_report_print_tree(const kymo_terminal *t, const kymo_report *report, size_t top,
                            double min_share)
{
    size_t n;
    size_t n_rows;
    size_t printed = 0;
    size_t small = 0;
    const kymo_report_node *nodes = kymo_report_nodes(report, &n);
    const kymo_report_row *rows = kymo_report_rows(report, &n_rows);
    uint64_t total = kymo_report_total(report);
    size_t left_out = 0;

    fprintf(t->to, "%s total    self  calls%s\n", kymo_terminal_dim(t), kymo_terminal_reset(t));
    for (size_t i = 0; i < n; i++) {
        /* A child is never larger than its parent, so whatever is below a small node is small. */
        if (share(nodes[i].total, total) < min_share) {
            small++;
            continue;
        }
        if (top && printed >= top) {
            left_out++;
            continue;
        }
        print_share(t, share(nodes[i].total, total));
        fputc(' ', t->to);
        print_share(t, share(nodes[i].self, total));
        /* Deep recursion runs off any screen; from there on the depth is a number. */
        uint32_t depth = nodes[i].depth;
        int room = t->width ? t->width / 2 : 100;
        size_t indent = depth < (uint32_t)room / 2 ? (size_t)depth * 2 : (size_t)room;
        fprintf(t->to, "  %*s", (int)indent, "");
        if (indent == (size_t)room)
            indent += (size_t)fprintf(t->to, "(%" PRIu32 ") ", depth);
        size_t rest = t->width ? (size_t)t->width - 17 : 0;
        rest = rest > indent + NAME_MIN ? rest - indent : rest ? NAME_MIN : 0;
        kymo_terminal_print(t, rows[nodes[i].row].name, rest, KYMO_CUT_END, 0);
        fputc('\n', t->to);
        printed++;
    }
    if (left_out)
        fprintf(t->to, "%s%17s... and %zu more lines (--top 0 shows all)%s\n", kymo_terminal_dim(t),
                "", left_out, kymo_terminal_reset(t));
    if (small)
        fprintf(t->to, "%s%17s%zu node%s below %.1f %% %s not shown%s\n", kymo_terminal_dim(t), "",
                small, small == 1 ? "" : "s", min_share * 100, small == 1 ? "is" : "are",
                kymo_terminal_reset(t));
}

static int by_weight(const void *a, const void *b)
{
    const kymo_report_thread *ta = a;
    const kymo_report_thread *tb = b;
    if (ta->weight != tb->weight)
        return ta->weight > tb->weight ? -1 : 1;
    return ta->thread < tb->thread ? -1 : ta->thread > tb->thread;
}

void kymo_report_print_threads(const kymo_terminal *t, const kymo_profile *profile,
                               const kymo_report *report, uint32_t kind, size_t top)
{
    size_t n;
    int is_wall = kind == KYMO_SAMPLE_WALL;
    const kymo_report_thread *threads = kymo_report_threads(report, &n);
    kymo_report_thread *sorted = malloc((n + 1) * sizeof *sorted);
    uint64_t total = kymo_report_total(report);
    size_t shown = top && top < n ? top : n;
    if (!sorted)
        return;
    if (n)
        memcpy(sorted, threads, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_weight);
    fprintf(t->to, "%s  self    %s   samples%s  thread (tid)%s\n", kymo_terminal_dim(t),
            is_wall ? "wall time" : " CPU time", is_wall ? "" : "  accounted",
            kymo_terminal_reset(t));
    for (size_t i = 0; i < shown; i++) {
        const kymo_thread *thread = kymo_profile_thread(profile, sorted[i].thread);
        char time[32];
        char achieved[32] = "-";
        if (!isnan(sorted[i].achieved))
            snprintf(achieved, sizeof achieved, "%.1f %%", sorted[i].achieved * 100);
        print_share(t, share(sorted[i].weight, total));
        fprintf(t->to, "  %10s  %8" PRIu64,
                kymo_format_duration(time, is_wall ? sorted[i].weight : thread->cpu_ns),
                sorted[i].samples);
        if (!is_wall)
            fprintf(t->to, "  %9s", achieved);
        fputs("  ", t->to);
        kymo_terminal_print(t, thread->name, 0, KYMO_CUT_END, 0);
        fprintf(t->to, " (%d)\n", (int)thread->tid);
    }
    kymo_report_print_more(t, n - shown, 0, " (--top 0 shows all)");
    free(sorted);
}

static int is_wait(const kymo_report_row *row)
{
    return strncmp(row->name, "[waiting", 8) == 0 || strncmp(row->name, "[blocked", 8) == 0;
}

void kymo_report_print_waits(const kymo_terminal *t, const kymo_profile *profile,
                             const char *before)
{
    const kymo_report_options options = {.size = sizeof options, .kind = KYMO_SAMPLE_WALL};
    kymo_report *report = NULL;
    uint64_t waited = 0;
    size_t n;
    size_t named = 0;
    char time[32];
    char all[32];
    if (!kymo_profile_meta(profile)->wall_period_ns ||
        kymo_report_create(profile, &options, &report) != KYMO_OK)
        return;
    const kymo_report_row *rows = kymo_report_rows(report, &n);
    for (size_t i = 0; i < n; i++)
        if (is_wait(&rows[i]))
            waited += rows[i].self;
    fprintf(t->to, "%sthe threads waited %s of the %s that %s", before,
            kymo_format_duration(time, waited),
            kymo_format_duration(all, kymo_report_total(report)),
            kymo_profile_quality(profile)->dropped_wall_ns ? "were kept" : "they lived");
    /* The largest come first. */
    for (size_t i = 0; i < n && named < WAITS_NAMED; i++) {
        if (!is_wait(&rows[i]))
            continue;
        fputs(named++ ? ", " : ": ", t->to);
        kymo_terminal_print(t, rows[i].name, 0, KYMO_CUT_END, 0);
        fprintf(t->to, " %s", kymo_format_duration(time, rows[i].self));
    }
    fputs(" (kymo report --mode wall)\n", t->to);
    kymo_report_destroy(report);
}
