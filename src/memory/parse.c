/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/parse.h"

#include <string.h>

#include "base/str.h"

/* Of cgroups of the first version: the largest number of whole pages, whatever their size. */
#define V1_NO_LIMIT (INT64_MAX - (1 << 16))

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

const char *kymo_memory_parse_number(const char *text, int64_t *value)
{
    int is_negative = *text == '-';
    uint64_t sum = 0;
    const char *digits = text + is_negative;
    if (*digits < '0' || *digits > '9')
        return NULL;
    for (; *digits >= '0' && *digits <= '9'; digits++) {
        unsigned digit = (unsigned)(*digits - '0');
        sum = sum > ((uint64_t)INT64_MAX - digit) / 10 ? (uint64_t)INT64_MAX : sum * 10 + digit;
    }
    *value = is_negative ? -(int64_t)sum : (int64_t)sum;
    return digits;
}

static const char *next_line(const char *line)
{
    line = strchr(line, '\n');
    return line ? line + 1 : "";
}

static void set_line(struct kymo_figures *f, unsigned figure, const char *text)
{
    int64_t value;
    const char *behind = kymo_memory_parse_number(skip_blanks(text), &value);
    if (!behind)
        return;
    if (kymo_str_starts(behind, " kB"))
        value = value >= INT64_MAX / 1024      ? INT64_MAX
                : value <= -(INT64_MAX / 1024) ? -INT64_MAX
                                               : value * 1024;
    kymo_figures_set(f, figure, value);
}

void kymo_memory_parse_lines(struct kymo_figures *f, enum kymo_figure_group group, const char *text)
{
    unsigned after = 0;
    for (const char *line = text; *line; line = next_line(line)) {
        size_t len = strcspn(line, ":\n");
        unsigned figure = KYMO_FIGURE_COUNT;
        if (line[len] == ':')
            figure = kymo_figure_find(group, 0, line, len, &after);
        if (figure != KYMO_FIGURE_COUNT)
            set_line(f, figure, line + len + 1);
    }
}

void kymo_memory_parse_words(struct kymo_figures *f, enum kymo_figure_group group, int is_v1,
                             const char *text)
{
    unsigned after = 0;
    for (const char *line = text; *line; line = next_line(line)) {
        size_t len = strcspn(line, " \n");
        unsigned figure = KYMO_FIGURE_COUNT;
        if (line[len] == ' ')
            figure = kymo_figure_find(group, is_v1, line, len, &after);
        if (figure != KYMO_FIGURE_COUNT)
            set_line(f, figure, line + len + 1);
    }
}

void kymo_memory_parse_file(struct kymo_figures *f, enum kymo_figure figure, const char *text)
{
    int64_t value;
    if (kymo_memory_parse_number(skip_blanks(text), &value) && value < V1_NO_LIMIT)
        kymo_figures_set(f, figure, value);
}

/* ---- stat ---- */

/* Its fields by the numbers of proc(5). */
enum { MINOR_FAULTS = 10, MAJOR_FAULTS = 12, USER = 14, SYSTEM = 15, START = 22, STAT_FIELDS };

static int64_t ticks_ns(int64_t ticks, int64_t per_second)
{
    int64_t tick_ns = 1000000000 / per_second;
    if (ticks < 0)
        return 0;
    return tick_ns == 0 || ticks < INT64_MAX / 4 / tick_ns ? ticks * tick_ns : INT64_MAX / 4;
}

void kymo_memory_parse_stat(struct kymo_figures *f, const char *text, int64_t ticks_per_second,
                            int64_t boot_realtime_ns)
{
    int64_t field[STAT_FIELDS] = {0};
    const char *at = strrchr(text, ')');
    /* Behind the name come a space, the state and a space. */
    if (!at || strlen(at) < 4 || ticks_per_second < 1)
        return;
    at += 4;
    for (unsigned i = 4; i < STAT_FIELDS; i++) {
        at = kymo_memory_parse_number(at, &field[i]);
        if (!at)
            return;
        at = skip_blanks(at);
    }
    int64_t user_ns = ticks_ns(field[USER], ticks_per_second);
    int64_t system_ns = ticks_ns(field[SYSTEM], ticks_per_second);
    kymo_figures_set(f, KYMO_FIGURE_FAULTS_MINOR, field[MINOR_FAULTS]);
    kymo_figures_set(f, KYMO_FIGURE_FAULTS_MAJOR, field[MAJOR_FAULTS]);
    kymo_figures_set(f, KYMO_FIGURE_CPU_USER, user_ns);
    kymo_figures_set(f, KYMO_FIGURE_CPU_SYSTEM, system_ns);
    kymo_figures_set(f, KYMO_FIGURE_CPU, user_ns + system_ns);
    if (boot_realtime_ns > 0 && boot_realtime_ns < INT64_MAX / 2)
        kymo_figures_set(f, KYMO_FIGURE_START,
                         boot_realtime_ns + ticks_ns(field[START], ticks_per_second));
}

/* ---- limits ---- */

void kymo_memory_parse_limits(struct kymo_figures *f, const char *text)
{
    static const struct {
        const char *begins;
        enum kymo_figure figure;
    } lines[] = {
        {"Max open files ", KYMO_FIGURE_FDS_LIMIT},
        {"Max address space ", KYMO_FIGURE_SIZE_LIMIT},
    };
    for (const char *line = text; *line; line = next_line(line))
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
            if (kymo_str_starts(line, lines[i].begins))
                set_line(f, lines[i].figure, line + strlen(lines[i].begins));
}

/* ---- pressure ---- */

/* "1.23" -> 123 */
static const char *parse_hundredths(const char *text, int64_t *value)
{
    int64_t whole, part = 0;
    text = kymo_memory_parse_number(text, &whole);
    if (!text || whole < 0 || whole > 100)
        return NULL;
    if (text[0] == '.' && text[1] >= '0' && text[1] <= '9') {
        part = (text[1] - '0') * 10;
        text += 2;
        if (*text >= '0' && *text <= '9')
            part += *text++ - '0';
    }
    *value = whole * 100 + part;
    return text;
}

/* The rows of a group: totals of some for three resources, those of full, then windows likewise. */
static void parse_pressure_line(struct kymo_figures *f, unsigned first, unsigned resource,
                                int is_full, const char *at)
{
    static const char *const windows[] = {"avg10=", "avg60=", "avg300="};
    unsigned total = first + (is_full ? 3 : 0) + resource;
    unsigned window = first + 6 + (is_full ? 9 : 0) + resource * 3;
    int64_t value;
    for (unsigned i = 0; i < 3; i++) {
        at = skip_blanks(at);
        if (!kymo_str_starts(at, windows[i]))
            return;
        at = parse_hundredths(at + strlen(windows[i]), &value);
        if (!at)
            return;
        kymo_figures_set(f, window + i, value);
    }
    at = skip_blanks(at);
    if (kymo_str_starts(at, "total=") && kymo_memory_parse_number(at + 6, &value))
        kymo_figures_set(f, total, value);
}

void kymo_memory_parse_pressure(struct kymo_figures *f, enum kymo_figure_group group,
                                unsigned resource, const char *text)
{
    unsigned first = group == KYMO_GROUP_PRESSURE ? KYMO_FIGURE_PRESSURE_MEMORY_SOME_TOTAL
                                                  : KYMO_FIGURE_CGROUP_PRESSURE_MEMORY_SOME_TOTAL;
    for (const char *line = text; *line; line = next_line(line)) {
        if (kymo_str_starts(line, "some "))
            parse_pressure_line(f, first, resource, 0, line + 5);
        else if (kymo_str_starts(line, "full "))
            parse_pressure_line(f, first, resource, 1, line + 5);
    }
}
