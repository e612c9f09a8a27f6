/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict is the worst of the judged figures: samples, CPU time that they cover, stacks, names,
 * losses. The limits are where a report must be read with care: with a tenth of the samples missing
 * shares are still right, with half of them missing they may not be. All figures of one line are
 * relative to the same whole: the CPU time that the kernel reports. For a flight recorder this
 * excludes dropped samples, which have a separate line.
 */
#include "views/report_quality.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "base/sum.h"

enum {
    FEW_SAMPLES = 30, /* a share of 10 % is 3 samples: it may as well be 4 % or 20 % */
    NAMES_SHOWN = 6,
    INDENT = 9, /* after "quality: " */
};

/* Unsampled CPU time from which the report names its processes. */
#define UNSAMPLED_LEAST_NS 5000000u
#define UNSAMPLED_PERCENT 5

/* CPU time from which more than a few samples are expected. */
#define FEW_SAMPLES_CPU_NS 100000000u

enum verdict { GOOD, FAIR, POOR };

struct figures {
    uint64_t samples; /* CPU samples */
    uint64_t expected;
    uint64_t cpu_ns;     /* without the starts of processes */
    uint64_t sampled_ns; /* their weights */
    uint64_t lost;
    double named; /* part of sampled_ns; NAN: no samples */
};

/* If the end of a process was not recorded, the sum of its threads' clocks is used. */
uint64_t kymo_profile_cpu_ns(const kymo_profile *profile)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_PROCESSES); i++)
        sum = kymo_sum(sum, kymo_profile_process(profile, i)->cpu_ns);
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_THREADS); i++) {
        const kymo_thread *t = kymo_profile_thread(profile, i);
        if (kymo_profile_process(profile, t->process)->cpu_ns == 0)
            sum = kymo_sum(sum, t->cpu_ns);
    }
    return sum;
}

/* CPU time that the kept samples should cover. */
static uint64_t kept_cpu_ns(const kymo_profile *profile)
{
    const kymo_quality *q = kymo_profile_quality(profile);
    return kymo_less(kymo_less(kymo_profile_cpu_ns(profile), q->dropped_ns), q->startup_ns);
}

int kymo_report_is_unnamed(const kymo_report_row *row)
{
    if (row->name[0] == '[')
        return 1;
    return row->module && kymo_str_starts(row->name, row->module) &&
           strncmp(row->name + strlen(row->module), "+0x", 3) == 0;
}

/* The kernel checks CPU timers at its tick. */
static int is_held_by_tick(const kymo_meta *meta)
{
    return meta->engine && strcmp(meta->engine, "timer") == 0 && meta->tick_ns > meta->period_ns;
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

static uint64_t named_ns(const kymo_report *report)
{
    size_t n;
    uint64_t named = 0;
    const kymo_report_row *rows = kymo_report_rows(report, &n);
    for (size_t i = 0; i < n; i++)
        if (!kymo_report_is_unnamed(&rows[i]))
            named += rows[i].self;
    return named;
}

kymo_err kymo_report_for_quality(const kymo_profile *profile, const kymo_report *shown,
                                 kymo_report **made)
{
    const kymo_report_options options = {
        .size = sizeof options, .by = KYMO_BY_FUNCTION, .kind = KYMO_SAMPLE_CPU};
    *made = NULL;
    if (shown && kymo_report_type(shown)->adds == KYMO_ADDS_CPU_TIME)
        return KYMO_OK;
    return kymo_report_create(profile, &options, made);
}

static struct figures figures_of(const kymo_profile *profile, const kymo_report *report)
{
    const kymo_meta *meta = kymo_profile_meta(profile);
    const kymo_quality *q = kymo_profile_quality(profile);
    struct figures f = {
        .samples = q->samples - q->wall_samples, .cpu_ns = kept_cpu_ns(profile), .named = NAN};
    kymo_report *made;
    uint64_t period_ns = is_held_by_tick(meta) ? meta->tick_ns : meta->period_ns;
    if (period_ns)
        f.expected = (f.cpu_ns + period_ns / 2) / period_ns;
    for (uint32_t i = 0; i < q->lost_count; i++)
        f.lost += q->lost[i].count;
    if (kymo_report_for_quality(profile, report, &made) != KYMO_OK)
        return f;
    f.sampled_ns = kymo_less(kymo_report_total(made ? made : report), q->startup_ns);
    f.named = ratio(named_ns(made ? made : report), f.sampled_ns);
    kymo_report_destroy(made);
    return f;
}

static enum verdict judge_ratio(enum verdict so_far, double value, double fair, double poor)
{
    enum verdict own = isnan(value) || value >= fair ? GOOD : value >= poor ? FAIR : POOR;
    return own > so_far ? own : so_far;
}

static enum verdict judge(const struct figures *f, const kymo_quality *q)
{
    enum verdict v = judge_ratio(GOOD, ratio(f->samples, f->expected), 0.9, 0.5);
    v = judge_ratio(v, ratio(f->sampled_ns, f->cpu_ns), 0.9, 0.5);
    v = judge_ratio(v, q->stacks_complete, 0.95, 0.7);
    v = judge_ratio(v, f->named, 0.8, 0.5);
    v = judge_ratio(v, q->wall_achieved, 0.9, 0.5);
    return judge_ratio(v, ratio(f->samples, f->samples + f->lost), 0.99, 0.9);
}

/* Rounded down, so 100 % means all. */
static void add_percent(kymo_str *line, double value)
{
    kymo_str_printf(line, value >= 1 ? "%.0f %%" : "%.1f %%", floor(value * 1000) / 10);
}

static void add_stacks(kymo_str *line, const kymo_quality *q)
{
    if (isnan(q->stacks_complete))
        return;
    if (q->stacks_complete >= 1) {
        kymo_str_puts(line, ", all stacks complete");
        return;
    }
    kymo_str_puts(line, ", ");
    add_percent(line, q->stacks_complete);
    kymo_str_puts(line, " of stacks complete");
}

static void add_names(kymo_str *line, double named)
{
    if (isnan(named))
        return;
    kymo_str_puts(line, ", function names for ");
    if (named >= 1)
        kymo_str_puts(line, "all CPU time");
    else {
        add_percent(line, named);
        kymo_str_puts(line, " of CPU time");
    }
}

static void add_samples(kymo_str *line, const struct figures *f)
{
    if (f->expected == 0)
        kymo_str_printf(line, "%" PRIu64 " sample%s", f->samples, f->samples == 1 ? "" : "s");
    else if (f->samples >= f->expected)
        kymo_str_printf(line, "all %" PRIu64 " expected samples", f->expected);
    else
        kymo_str_printf(line, "%" PRIu64 " of %" PRIu64 " expected samples", f->samples,
                        f->expected);
}

static void print_line(const kymo_terminal *t, const char *before, const kymo_str *line,
                       size_t indent)
{
    fputs(before, t->to);
    kymo_terminal_wrap(t, strlen(before), strlen(before) + indent, kymo_str_cstr(line));
}

static void add_dropped(kymo_str *line, uint64_t count, const char *what, const char *time,
                        uint64_t time_ns)
{
    char text[32];
    if (count == 0)
        return;
    kymo_str_printf(line, "%s%" PRIu64 " older %s%s", line->len > INDENT ? ", " : "", count, what,
                    count == 1 ? "" : "s");
    if (time)
        kymo_str_printf(line, " (%s of %s time)", kymo_format_duration(text, time_ns), time);
}

static void print_ring(const kymo_terminal *t, const kymo_quality *q, const char *before)
{
    char text[32];
    kymo_str line = {0};
    kymo_str_puts(&line, "ring:    ");
    add_dropped(&line, q->dropped_samples, "sample", "CPU", q->dropped_ns);
    add_dropped(&line, q->dropped_wall_samples, "wall sample", "wall", q->dropped_wall_ns);
    add_dropped(&line, q->dropped_markers, "marker", NULL, 0);
    add_dropped(&line, q->dropped_counts, "counter value", NULL, 0);
    add_dropped(&line, q->dropped_calls, "call event", NULL, 0);
    if (line.len > INDENT) {
        kymo_str_printf(&line, " dropped to keep the newest %s",
                        kymo_format_bytes(text, q->ring_bytes));
        print_line(t, before, &line, INDENT);
    }
    kymo_str_deinit(&line);
}

void kymo_report_print_quality(const kymo_terminal *t, const kymo_profile *profile,
                               const kymo_report *report, const char *before)
{
    static const char *const words[] = {"good", "fair", "poor"};
    const kymo_quality *q = kymo_profile_quality(profile);
    struct figures f = figures_of(profile, report);
    char text[32];
    kymo_str line = {0};
    kymo_str_puts(&line, "quality: ");
    if (f.samples == 0) {
        kymo_str_printf(&line, "%s: no sample in %s of CPU time",
                        f.expected > 1 ? "poor" : "nothing to judge",
                        kymo_format_duration(text, f.cpu_ns));
    } else {
        kymo_str_printf(&line, "%s: ",
                        f.samples < FEW_SAMPLES && f.expected < FEW_SAMPLES ? "few samples"
                                                                            : words[judge(&f, q)]);
        add_samples(&line, &f);
        add_stacks(&line, q);
        add_names(&line, f.named);
    }
    if (f.lost)
        kymo_str_printf(&line, ", %" PRIu64 " lost", f.lost);
    print_line(t, before, &line, INDENT);
    kymo_str_deinit(&line);
    print_ring(t, q, before);
}

/* ---- details ---- */

static void add_engine(kymo_str *line, const kymo_meta *meta)
{
    char text[32];
    kymo_str_printf(line, "engine:  %s", meta->engine && *meta->engine ? meta->engine : "unknown");
    if (meta->engine_reason && *meta->engine_reason)
        kymo_str_printf(line, " (%s)", meta->engine_reason);
    if (meta->period_ns && is_held_by_tick(meta)) {
        kymo_str_printf(line, ", every %s", kymo_format_duration(text, meta->tick_ns));
        kymo_str_printf(line, " (%s requested; the kernel tick is no finer)",
                        kymo_format_duration(text, meta->period_ns));
    } else if (meta->period_ns) {
        kymo_str_printf(line, ", every %s", kymo_format_duration(text, meta->period_ns));
    }
}

static void add_account(kymo_str *line, const struct figures *f)
{
    char text[32];
    uint64_t rest_ns = kymo_less(f->cpu_ns, f->sampled_ns);
    kymo_str_puts(line, "samples: ");
    add_samples(line, f);
    if (f->cpu_ns == 0)
        return;
    kymo_str_printf(line, ", which stand for %s", kymo_format_duration(text, f->sampled_ns));
    kymo_str_printf(line, " of %s of CPU time", kymo_format_duration(text, f->cpu_ns));
    if (rest_ns)
        kymo_str_printf(line, "; %s not sampled", kymo_format_duration(text, rest_ns));
}

static void add_wall(kymo_str *line, const kymo_meta *meta, const kymo_quality *q)
{
    char text[32];
    kymo_str_printf(line, "wall:    every %s, %" PRIu64 " samples",
                    kymo_format_duration(text, meta->wall_period_ns), q->wall_samples);
    if (!isnan(q->wall_achieved)) {
        kymo_str_puts(line, ", which stand for ");
        add_percent(line, q->wall_achieved);
        kymo_str_puts(line, " of the threads' time");
    }
    if (q->wall_stackless)
        kymo_str_printf(line,
                        "; %" PRIu64 " have no stack: their threads ran, but had no CPU sample",
                        q->wall_stackless);
}

static void add_lost(kymo_str *line, const kymo_quality *q, uint64_t lost)
{
    kymo_str_printf(line, "lost:    %" PRIu64 " record%s", lost, lost == 1 ? "" : "s");
    for (uint32_t i = 0; i < q->lost_count; i++)
        if (q->lost[i].count)
            kymo_str_printf(line, " (%s: %" PRIu64 ")", q->lost[i].kind, q->lost[i].count);
}

void kymo_report_print_quality_details(const kymo_terminal *t, const kymo_profile *profile,
                                       const kymo_report *report, const char *before)
{
    const kymo_meta *meta = kymo_profile_meta(profile);
    const kymo_quality *q = kymo_profile_quality(profile);
    struct figures f = figures_of(profile, report);
    kymo_str line = {0};
    add_engine(&line, meta);
    print_line(t, before, &line, INDENT);
    line.len = 0;
    add_account(&line, &f);
    print_line(t, before, &line, INDENT);
    if (q->startup_ns) {
        char text[32];
        line.len = 0;
        kymo_str_printf(&line,
                        "start:   %s of CPU time before samples began, in exec and the dynamic "
                        "loader",
                        kymo_format_duration(text, q->startup_ns));
        print_line(t, before, &line, INDENT);
    }
    if (meta->wall_period_ns) {
        line.len = 0;
        add_wall(&line, meta, q);
        print_line(t, before, &line, INDENT);
    }
    if (!isnan(q->stacks_complete)) {
        line.len = 0;
        kymo_str_puts(&line, "stacks:  ");
        add_percent(&line, q->stacks_complete);
        kymo_str_puts(&line, " complete, down to _start or clone");
        print_line(t, before, &line, INDENT);
    }
    if (q->copied_samples) {
        line.len = 0;
        kymo_str_printf(&line,
                        "copies:  %" PRIu64 " of %" PRIu64
                        " samples were taken without a signal, from copies of the stack",
                        q->copied_samples, q->samples - q->wall_samples);
        print_line(t, before, &line, INDENT);
    }
    if (q->python_samples) {
        line.len = 0;
        kymo_str_printf(&line,
                        "python:  %" PRIu64 " of %" PRIu64 " samples have functions of Python",
                        q->python_samples, q->samples);
        print_line(t, before, &line, INDENT);
    }
    if (!isnan(f.named)) {
        line.len = 0;
        kymo_str_puts(&line, "names:   ");
        add_percent(&line, f.named);
        kymo_str_puts(&line, " of CPU time is in functions with names");
        if (!isnan(q->frames_symbolized)) {
            kymo_str_puts(&line, "; of all frames in files with symbols ");
            add_percent(&line, q->frames_symbolized);
        }
        print_line(t, before, &line, INDENT);
    }
    line.len = 0;
    add_lost(&line, q, f.lost);
    print_line(t, before, &line, INDENT);
    line.len = 0;
    kymo_str_printf(&line, "calls:   %" PRIu64 " system call%s interrupted (EINTR)", q->disturbed,
                    q->disturbed == 1 ? "" : "s");
    print_line(t, before, &line, INDENT);
    kymo_str_deinit(&line);
}

void kymo_report_print_few(const kymo_terminal *t, const kymo_profile *profile, const char *before)
{
    const kymo_meta *meta = kymo_profile_meta(profile);
    const kymo_quality *q = kymo_profile_quality(profile);
    uint64_t samples = q->samples - q->wall_samples;
    uint64_t cpu_ns = kept_cpu_ns(profile);
    double rate = cpu_ns && meta->period_ns
                      ? (double)samples / ((double)cpu_ns / (double)meta->period_ns)
                      : 1;
    char text[32];
    kymo_str line = {0};
    /* Percentages for a program that ran for two periods mean nothing. */
    int is_rare = rate < 0.1 && meta->period_ns > 0 && cpu_ns / meta->period_ns >= FEW_SAMPLES;
    int is_few = samples < FEW_SAMPLES && cpu_ns > FEW_SAMPLES_CPU_NS;
    if (meta->period_ns == 0 || !(is_rare || is_few))
        return;
    kymo_str_printf(&line, "few samples: %" PRIu64 " stand%s for %s of CPU time", samples,
                    samples == 1 ? "s" : "", kymo_format_duration(text, cpu_ns));
    if (is_rare)
        kymo_str_printf(&line, ", %.1f %% of those requested", floor(rate * 1000) / 10);
    kymo_str_puts(&line, ", so small shares may be chance; ");
    if (is_held_by_tick(meta))
        kymo_str_printf(
            &line,
            "the timer engine cannot sample more often than the kernel tick of %s: record longer, "
            "or allow "
            "the perf engine (sysctl kernel.perf_event_paranoid=2; kymo doctor tells more)",
            kymo_format_duration(text, meta->tick_ns));
    else if (is_rare)
        kymo_str_puts(&line, "record longer; kymo doctor tells what may hold samples back");
    else
        kymo_str_puts(&line, "record longer, or sample more often (--cpu=PERIOD)");
    print_line(t, before, &line, 0);
    kymo_str_deinit(&line);
}

static int is_much(uint64_t unsampled_ns, uint64_t all_ns)
{
    return unsampled_ns >= UNSAMPLED_LEAST_NS && unsampled_ns / UNSAMPLED_PERCENT >= all_ns / 100;
}

static void add_process_name(kymo_str *line, const kymo_report_process *row)
{
    char text[32];
    kymo_str_printf(line, "%s ", kymo_format_duration(text, row->unsampled_ns));
    kymo_str_puts(line, row->name);
    if (row->processes > 1)
        kymo_str_printf(line, " (%" PRIu32 " processes)", row->processes);
}

void kymo_report_print_startup(const kymo_terminal *t, const kymo_profile *profile,
                               const char *before)
{
    char text[32];
    kymo_str line = {0};
    uint64_t startup_ns = 0; /* the quality's is of the whole recording, also in a part of it */
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_THREADS); i++)
        startup_ns = kymo_sum(startup_ns, kymo_profile_thread(profile, i)->startup_ns);
    const uint64_t all_ns = kymo_profile_cpu_ns(profile);
    if (!is_much(startup_ns, all_ns))
        return;
    kymo_str_printf(&line, "starts of processes: %s", kymo_format_duration(text, startup_ns));
    kymo_str_printf(&line,
                    " of %s of CPU time is in exec and the dynamic loader, where no samples can be "
                    "taken: it is shown as " KYMO_STARTUP_NAME,
                    kymo_format_duration(text, all_ns));
    print_line(t, before, &line, 0);
    kymo_str_deinit(&line);
}

void kymo_report_print_unsampled(const kymo_terminal *t, const kymo_report *report,
                                 const char *before)
{
    size_t n, shown = 0;
    uint64_t all_ns = 0, rest_ns = 0;
    char text[32];
    kymo_str line = {0};
    const kymo_report_process *rows = kymo_report_processes(report, &n);
    for (size_t i = 0; i < n; i++) {
        all_ns += rows[i].cpu_ns;
        rest_ns += rows[i].unsampled_ns;
    }
    if (!is_much(rest_ns, all_ns))
        return;
    kymo_str_printf(&line, "without samples: %s", kymo_format_duration(text, rest_ns));
    kymo_str_printf(&line, " of %s of CPU time: ", kymo_format_duration(text, all_ns));
    for (; shown < n && shown < NAMES_SHOWN && rows[shown].unsampled_ns > rest_ns / 100; shown++) {
        if (shown)
            kymo_str_puts(&line, ", ");
        add_process_name(&line, &rows[shown]);
    }
    print_line(t, before, &line, 0);
    kymo_str_deinit(&line);
}
