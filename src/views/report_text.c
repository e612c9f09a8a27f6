/* SPDX-License-Identifier: Apache-2.0 */
#include "views/report_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "views/heap_select.h"

enum {
    NAME_MIN = 20,
    NAME_MAX_PIPED = 60, /* when nothing may be cut, longer names move the next column */
    WHERE_MIN = 24,
    FIGURES = 29,                /* columns before a name: two shares, one time, and gaps */
    TREE_FIGURES = 17,           /* the same of a tree: two shares */
    TREE_FIGURES_OF_MEMORY = 33, /* a share, bytes, allocations */
    DEPTH_MAX = 50,              /* of the indentation of a tree */
};

/* ---- words ---- */

/* Removes "x/.." and "." from a path: build systems produce many, and they take space from the
 * file's name. For display only. */
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

static void put_where(const kymo_report_row *row, kymo_report_by by, kymo_str *out)
{
    if (by == KYMO_BY_FILE || by == KYMO_BY_MODULE || by == KYMO_BY_THREAD ||
        by == KYMO_BY_PROCESS || by == KYMO_BY_SIZE || by == KYMO_BY_STACK)
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

const char *kymo_report_format_whole(char out[32], const kymo_sample_type *type, uint64_t value)
{
    if (strcmp(type->unit, "nanoseconds") == 0)
        return kymo_format_duration(out, value);
    if (strcmp(type->unit, "bytes") == 0)
        return kymo_format_bytes(out, value);
    snprintf(out, 32, "%" PRIu64, value);
    return out;
}

const char *kymo_report_format(char out[40], const kymo_sample_type *type, double value)
{
    char text[32];
    double size = fabs(value);
    uint64_t whole = size < 0x1p63 ? (uint64_t)llround(size) : 1ull << 63;
    snprintf(out, 40, "%s%s", value < 0 && whole ? "-" : "",
             kymo_report_format_whole(text, type, whole));
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
    case KYMO_BY_STACK:
        return "stack, outermost first";
    default:
        return "function";
    }
}

void kymo_report_print_more(const kymo_terminal *t, size_t count, int indent, const char *more)
{
    if (count)
        fprintf(t->to, "%s%*s... and %zu more%s%s\n", kymo_terminal_dim(t), indent, "", count, more,
                kymo_terminal_reset(t));
}

void kymo_report_print_share(const kymo_terminal *t, double share)
{
    const char *on = share >= 0.1    ? kymo_terminal_bold(t)
                     : share < 0.005 ? kymo_terminal_dim(t)
                                     : "";
    fprintf(t->to, "%s%5.1f %%%s", on, share * 100, *on ? kymo_terminal_reset(t) : "");
}

/* ---- histograms ---- */

void kymo_report_find_axis(const double *counts, uint32_t buckets, uint32_t *first, uint32_t *end)
{
    *first = *end = 0;
    for (uint32_t i = 0; i < buckets; i++) {
        if (counts[i] <= 0)
            continue;
        *first = *end ? *first : i;
        *end = i + 1;
    }
}

void kymo_report_print_histogram(const kymo_terminal *t, const double *counts, uint32_t first,
                                 uint32_t end)
{
    static const char *const steps[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double most = 0;
    for (uint32_t i = first; i < end; i++)
        most = counts[i] > most ? counts[i] : most;
    for (uint32_t i = first; i < end; i++)
        fputs(counts[i] > 0 ? steps[(size_t)(counts[i] / most * 7)] : " ", t->to);
}

uint64_t kymo_report_median_below_ns(const double *lives)
{
    double all = 0;
    double sum = 0;
    for (uint32_t i = 0; i < KYMO_LIFETIME_BUCKETS; i++)
        all += lives[i];
    for (uint32_t i = 0; i < KYMO_LIFETIME_BUCKETS; i++) {
        sum += lives[i];
        if (sum * 2 >= all)
            return 2ull << i;
    }
    return 0;
}

/* ---- layout ---- */

/* The layout of a report's lines. */
struct layout {
    const kymo_report *report;
    const kymo_sample_type *type;
    kymo_report_by by;
    const kymo_heap_totals *memory; /* NULL: not memory */
    size_t name_cut;                /* limit of a name's width in columns; 0: none */
    size_t name_width;              /* columns to which a name is padded if a place follows */
    size_t where_width;             /* limit of the place's width in columns; 0: none */
    uint32_t first, end;            /* buckets of lifetimes that are shown */
};

static struct layout layout_of(const kymo_report *report, kymo_report_by by)
{
    return (struct layout){.report = report,
                           .type = kymo_report_type(report),
                           .by = by,
                           .memory = kymo_heap_report_totals(report)};
}

/* memory: the sum with this value; NULL: not memory. */
static double share_of(const struct layout *l, uint64_t value, const kymo_heap_sum *memory)
{
    double part = memory ? kymo_heap_rank(l->memory->view, memory) : (double)value;
    double whole = memory ? kymo_heap_rank(l->memory->view, &l->memory->sum)
                          : (double)kymo_report_total(l->report);
    return whole > 0 ? part / whole : 0;
}

/* Values of memory are not emphasized: they have intervals. */
static void print_share(const kymo_terminal *t, const struct layout *l, double share)
{
    const kymo_terminal plain = {.to = t->to};
    kymo_report_print_share(l->memory ? &plain : t, share);
}

static int is_exact(const struct layout *l)
{
    return l->memory->rate <= 1 || l->memory->view == KYMO_HEAP_MAPPED;
}

/* Names get the columns that figures leave, places those that names leave. */
static void fit_names(const kymo_terminal *t, struct layout *l, const kymo_report_row *rows,
                      size_t shown)
{
    size_t width = strlen(kymo_report_heading_of(l->by));
    size_t rest = NAME_MIN + WHERE_MIN;
    for (size_t i = 0; i < shown; i++) {
        size_t columns = kymo_terminal_columns(rows[i].name);
        width = columns > width ? columns : width;
    }
    if (!t->width) {
        l->name_width = width < NAME_MAX_PIPED ? width : NAME_MAX_PIPED;
        return;
    }
    if ((size_t)t->width > FIGURES + 2 + rest)
        rest = (size_t)t->width - FIGURES - 2;
    int has_where = l->by == KYMO_BY_FUNCTION || l->by == KYMO_BY_LINE;
    size_t most = has_where ? rest * 6 / 10 : rest;
    l->name_width = l->name_cut = width < most ? width : most;
    l->where_width = has_where ? rest - l->name_width : 0;
}

static void print_place(const kymo_terminal *t, const struct layout *l, const kymo_report_row *row,
                        const char *after_name)
{
    kymo_str where = {0};
    put_where(row, l->by, &where);
    kymo_terminal_print_cut(t, row->name, l->name_cut,
                            l->by == KYMO_BY_FILE ? KYMO_CUT_START : KYMO_CUT_END);
    fputs(after_name, t->to);
    if (where.len > 0) {
        for (size_t c = kymo_terminal_columns(row->name); c < l->name_width; c++)
            fputc(' ', t->to);
        fprintf(t->to, "  %s", kymo_terminal_dim(t));
        kymo_terminal_print_cut(t, kymo_str_cstr(&where), l->where_width, KYMO_CUT_START);
        fputs(kymo_terminal_reset(t), t->to);
    }
    fputc('\n', t->to);
    kymo_str_deinit(&where);
}

void kymo_report_print_place(const kymo_terminal *t, const kymo_report_row *row, kymo_report_by by,
                             const char *after_name)
{
    print_place(t, &(struct layout){.by = by}, row, after_name);
}

/* ---- the table ---- */

static void print_heading(const kymo_terminal *t, const struct layout *l)
{
    fprintf(t->to, "%s  self   total        self", kymo_terminal_dim(t));
    if (l->memory)
        fprintf(t->to, "%s      %8s", is_exact(l) ? "" : "  95 %                    ",
                l->type->count_name);
    if (l->memory && l->memory->lifetimes)
        fprintf(t->to, "  median    %*s", (int)(l->end - l->first) + 1, "");
    fprintf(t->to, "  %s%s\n", kymo_report_heading_of(l->by), kymo_terminal_reset(t));
}

/* For memory: the interval, the number of allocations, their lifetimes. */
static void print_memory(const kymo_terminal *t, const struct layout *l, const kymo_report_row *row)
{
    const kymo_heap_sum *sum = &row->memory->self;
    char interval[88] = "";
    char low[40];
    char high[40];
    if (sum->samples)
        snprintf(interval, sizeof interval, "%s to %s",
                 kymo_report_format(low, l->type, sum->bytes_low),
                 kymo_report_format(high, l->type, sum->bytes_high));
    if (!is_exact(l))
        fprintf(t->to, "  %-24s", interval);
    fprintf(t->to, "  %10.0f", sum->objects);
    if (!row->lifetimes)
        return;
    fprintf(t->to, "  %9s  ",
            sum->samples ? kymo_format_duration(low, kymo_report_median_below_ns(row->lifetimes))
                         : "-");
    kymo_report_print_histogram(t, row->lifetimes, l->first, l->end);
}

static void print_row(const kymo_terminal *t, const struct layout *l, const kymo_report_row *row)
{
    const kymo_heap_sums *memory = row->memory;
    char text[40];
    print_share(t, l, share_of(l, row->self, memory ? &memory->self : NULL));
    fputc(' ', t->to);
    print_share(t, l, share_of(l, row->total, memory ? &memory->total : NULL));
    fprintf(t->to, "  %10s",
            memory ? kymo_report_format(text, l->type, memory->self.bytes)
                   : kymo_report_format_whole(text, l->type, row->self));
    if (memory)
        print_memory(t, l, row);
    fputs("  ", t->to);
    print_place(t, l, row, "");
}

/* Rows with a self value of 0 come last; reports by size have none. */
static int has_self(const struct layout *l, const kymo_report_row *row)
{
    return row->memory ? row->memory->self.samples > 0 || l->by == KYMO_BY_SIZE : row->self > 0;
}

void kymo_report_print_table(const kymo_terminal *t, const kymo_report *report, kymo_report_by by,
                             size_t top, const char *more)
{
    size_t n;
    size_t n_self = 0;
    char from[32];
    char to[32];
    struct layout l = layout_of(report, by);
    const kymo_report_row *rows = kymo_report_rows(report, &n);
    while (n_self < n && has_self(&l, &rows[n_self]))
        n_self++;
    size_t shown = top && top < n_self ? top : n_self;
    if (l.memory && n == 0)
        return;
    if (l.memory && l.memory->lifetimes)
        kymo_report_find_axis(l.memory->lifetimes, KYMO_LIFETIME_BUCKETS, &l.first, &l.end);
    if (!l.memory)
        fit_names(t, &l, rows, shown);
    print_heading(t, &l);
    for (size_t i = 0; i < shown; i++)
        print_row(t, &l, &rows[i]);
    kymo_report_print_more(t, n_self - shown, l.memory ? 0 : FIGURES, more);
    if (l.end > l.first)
        fprintf(t->to, "%slives: each step of the curve is twice the one before, from %s to %s%s\n",
                kymo_terminal_dim(t), kymo_format_duration(from, l.first ? 1ull << l.first : 0),
                kymo_format_duration(to, 1ull << l.end), kymo_terminal_reset(t));
}

/* ---- the tree ---- */

static void print_node(const kymo_terminal *t, const struct layout *l, const kymo_report_node *node,
                       const char *name, double share)
{
    char text[40];
    size_t room = t->width && !l->memory ? (size_t)t->width / 2 : (size_t)DEPTH_MAX * 2;
    size_t used = l->memory ? TREE_FIGURES_OF_MEMORY : TREE_FIGURES;
    size_t width = (size_t)t->width;
    print_share(t, l, share);
    if (l->memory) {
        fprintf(t->to, "  %10s  %10.0f",
                kymo_report_format(text, l->type, node->memory->total.bytes),
                node->memory->total.objects);
    } else {
        fputc(' ', t->to);
        print_share(t, l, share_of(l, node->self, NULL));
    }
    /* Deep recursion exceeds the screen: from this depth on, the depth is a number. */
    int is_deep = node->depth >= room / 2;
    size_t indent = is_deep ? room : (size_t)node->depth * 2;
    fprintf(t->to, "  %*s", (int)indent, "");
    if (is_deep)
        used += (size_t)fprintf(t->to, "(%" PRIu32 ") ", node->depth);
    used += indent;
    kymo_terminal_print_cut(t, name,
                            width == 0                ? 0
                            : width > used + NAME_MIN ? width - used
                                                      : NAME_MIN,
                            KYMO_CUT_END);
    fputc('\n', t->to);
}

static void print_left_out(const kymo_terminal *t, const struct layout *l, size_t above_top,
                           size_t small, double min_share)
{
    size_t all = above_top + small;
    if (l->memory) {
        kymo_report_print_more(
            t, all, 0, all == 1 ? " node (--top 0 shows all)" : " nodes (--top 0 shows all)");
        return;
    }
    kymo_report_print_more(t, above_top, TREE_FIGURES, " lines (--top 0 shows all)");
    if (small)
        fprintf(t->to, "%s%*s%zu node%s below %.1f %% %s not shown%s\n", kymo_terminal_dim(t),
                TREE_FIGURES, "", small, small == 1 ? "" : "s", min_share * 100,
                small == 1 ? "is" : "are", kymo_terminal_reset(t));
}

void kymo_report_print_tree(const kymo_terminal *t, const kymo_report *report, size_t top,
                            double min_share)
{
    size_t n;
    size_t n_rows;
    size_t printed = 0;
    size_t small = 0;
    struct layout l = layout_of(report, KYMO_BY_FUNCTION);
    const kymo_report_node *nodes = kymo_report_nodes(report, &n);
    const kymo_report_row *rows = kymo_report_rows(report, &n_rows);
    fprintf(t->to, "%s%s%s\n", kymo_terminal_dim(t),
            l.memory ? " total       total      blocks  function" : " total    self  calls",
            kymo_terminal_reset(t));
    for (size_t i = 0; i < n; i++) {
        const kymo_heap_sums *memory = nodes[i].memory;
        double share = share_of(&l, nodes[i].total, memory ? &memory->total : NULL);
        /* a child is at most as large as its parent, so all descendants are small, too */
        if (share < min_share)
            small++;
        else if (!top || printed++ < top)
            print_node(t, &l, &nodes[i], rows[nodes[i].row].name, share);
    }
    print_left_out(t, &l, top && printed > top ? printed - top : 0, small, min_share);
}
