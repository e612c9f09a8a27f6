/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hints about what the table does not show, and what to do: code without symbols, code generated at
 * run time, and programs that run in an interpreter.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/vec.h"
#include "views/report_quality.h"
#include "views/runtimes.h"

/* Share of CPU time; a smaller one gets no line. */
#define WORTH_A_LINE 0.05

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static double share_of(uint64_t part, const kymo_report *report)
{
    uint64_t whole = kymo_report_total(report);
    return whole ? (double)part / (double)whole : 0;
}

static int has_module(const kymo_profile *profile, const char *prefix)
{
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_MODULES); i++)
        if (kymo_str_starts(base_name(kymo_profile_module(profile, i)->path), prefix))
            return 1;
    return 0;
}

/* The virtual machine among the modules that can name its code on request. */
static const kymo_runtime *code_maker(const kymo_profile *profile)
{
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_MODULES); i++) {
        const kymo_runtime *runtime = kymo_runtime_of(kymo_profile_module(profile, i)->path);
        if (runtime && runtime->makes_code)
            return runtime;
    }
    return NULL;
}

static const char *path_of_module(const kymo_profile *profile, const char *name)
{
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_MODULES); i++) {
        const char *path = kymo_profile_module(profile, i)->path;
        if (strcmp(base_name(path), name) == 0)
            return path;
    }
    return name;
}

/* Whether a program was given a flag; flags in environment variables are not known. */
static int was_given(const kymo_profile *profile, const char *flag)
{
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_PROCESSES); i++) {
        const kymo_process *p = kymo_profile_process(profile, i);
        for (uint32_t a = 0; a < p->argc; a++)
            if (strstr(p->argv[a], flag))
                return 1;
    }
    return 0;
}

static void print_line(const kymo_terminal *t, const char *before, kymo_str *line)
{
    fputs(before, t->to);
    kymo_terminal_wrap(t, strlen(before), strlen(before), kymo_str_cstr(line));
    kymo_str_deinit(line);
}

static void print_no_symbols(const kymo_terminal *t, const kymo_profile *profile, double share,
                             const char *module, const char *before)
{
    kymo_str line = {0};
    const char *path = path_of_module(profile, module);
    int is_system = kymo_str_starts(path, "/usr/") || kymo_str_starts(path, "/lib");
    kymo_str_printf(&line, "%.0f %% of the time is in code without symbols, most of it in %s; ",
                    share * 100, module);
    if (path[0] == '/' && access(path, F_OK) != 0)
        kymo_str_printf(&line, "%s is not there any more", path);
    else if (is_system)
        kymo_str_puts(&line, "its debug package would name it");
    else
        kymo_str_puts(&line, "it is stripped: build it with -g, or install its debug file");
    print_line(t, before, &line);
}

static void print_generated(const kymo_terminal *t, const kymo_profile *profile, double share,
                            const char *before)
{
    kymo_str line = {0};
    kymo_str_printf(&line, "%.0f %% of the time is in code that the program made while it ran, ",
                    share * 100);
    const kymo_runtime *runtime = code_maker(profile);
    if (runtime)
        kymo_str_printf(&line, "without names; start %s", runtime->advice);
    else
        kymo_str_puts(&line, "without names; Kymo reads a perf map (/tmp/perf-PID.map) or a "
                             "jitdump, if the program can write one");
    print_line(t, before, &line);
}

static int has_python_frames(const kymo_profile *profile)
{
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_FRAMES); i++)
        if (kymo_profile_frame(profile, i)->category == KYMO_CATEGORY_PYTHON)
            return 1;
    return 0;
}

/* For the interpreter with the most self time, unless its functions are shown. */
static void print_interpreter(const kymo_terminal *t, const kymo_profile *profile,
                              const kymo_report *report, const char *before)
{
    size_t n;
    uint64_t most_ns = 0;
    const kymo_runtime *most = NULL;
    const kymo_report_row *rows = kymo_report_rows(report, &n);
    for (size_t i = 0; i < n; i++) {
        const kymo_runtime *runtime = rows[i].module ? kymo_runtime_of(rows[i].module) : NULL;
        uint64_t sum_ns = 0;
        if (!runtime || runtime->makes_code ||
            (most && strcmp(most->language, runtime->language) == 0))
            continue;
        for (size_t k = i; k < n; k++) {
            const kymo_runtime *other = rows[k].module ? kymo_runtime_of(rows[k].module) : NULL;
            if (other && strcmp(other->language, runtime->language) == 0)
                sum_ns += rows[k].self;
        }
        if (sum_ns > most_ns) {
            most = runtime;
            most_ns = sum_ns;
        }
    }
    if (!most || share_of(most_ns, report) < WORTH_A_LINE * 2 ||
        (strcmp(most->language, "Python") == 0 && has_python_frames(profile)))
        return;
    kymo_str line = {0};
    kymo_str_printf(&line,
                    "%.0f %% of the time is the %s interpreter's own: the functions shown are "
                    "those of the interpreter and of C libraries, those of %s are not shown",
                    share_of(most_ns, report) * 100, most->language, most->language);
    if (most->advice)
        kymo_str_printf(&line, " (%s names them)", most->advice);
    print_line(t, before, &line);
}

/* Compiled Java code has no unwind tables. */
static void print_jvm_stacks(const kymo_terminal *t, const kymo_profile *profile,
                             const char *before)
{
    kymo_str line = {0};
    double complete = kymo_profile_quality(profile)->stacks_complete;
    if (isnan(complete) || complete >= 0.95 || !has_module(profile, "libjvm.so") ||
        was_given(profile, "+PreserveFramePointer"))
        return;
    kymo_str_printf(&line,
                    "%.0f %% of the stacks are not complete: the JVM's compiled code keeps no "
                    "frame pointers; give it -XX:+PreserveFramePointer",
                    (1 - complete) * 100);
    print_line(t, before, &line);
}

struct unnamed {
    const char *module;
    uint64_t self;
};

static int compare_modules(const void *a, const void *b)
{
    const struct unnamed *x = a, *y = b;
    return strcmp(x->module, y->module);
}

/* The module that has most of it. */
static const char *largest_module(struct unnamed *parts, size_t count)
{
    const char *largest = NULL;
    uint64_t most = 0, sum = 0;
    qsort(parts, count, sizeof *parts, compare_modules);
    for (size_t i = 0; i < count; i++) {
        sum = i > 0 && compare_modules(&parts[i], &parts[i - 1]) == 0 ? sum : 0;
        sum += parts[i].self;
        if (!largest || sum > most) {
            largest = parts[i].module;
            most = sum;
        }
    }
    return largest;
}

void kymo_report_print_unnamed(const kymo_terminal *t, const kymo_profile *profile,
                               const kymo_report *report, const char *before)
{
    size_t n;
    uint64_t generated = 0;
    uint64_t in_files = 0;
    KYMO_VEC(struct unnamed) parts = {0};
    const kymo_report_row *rows = kymo_report_rows(report, &n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(rows[i].name, "[generated code]") == 0)
            generated += rows[i].self;
        if (!rows[i].module || !kymo_report_is_unnamed(&rows[i]))
            continue;
        const struct unnamed part = {rows[i].module, rows[i].self};
        if (kymo_vec_push(&parts, part) == KYMO_OK)
            in_files += rows[i].self;
    }
    if (parts.len > 0 && share_of(in_files, report) >= WORTH_A_LINE)
        print_no_symbols(t, profile, share_of(in_files, report),
                         largest_module(parts.data, parts.len), before);
    kymo_vec_deinit(&parts);
    if (share_of(generated, report) >= WORTH_A_LINE)
        print_generated(t, profile, share_of(generated, report), before);
    else
        print_interpreter(t, profile, report, before);
    print_jvm_stacks(t, profile, before);
}
