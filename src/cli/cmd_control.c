/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/output.h"
#include "control/categories.h"
#include "control/control.h"
#include "kymo/encode.h"
#include "views/terminal.h"

#define REQUESTS                                                                                 \
    "status, flush, pause, resume, cpu=PERIOD, wall=PERIOD, markers, markers=LIST, alloc=SIZE, " \
    "set=SETTINGS, heap, snapshot or profile=TIME"

/* ---- answers that are texts ---- */

static kymo_err read_text(int fd, kymo_str *text, kymo_error *detail)
{
    char buffer[4096];
    ssize_t n;
    while ((n = read(fd, buffer, sizeof buffer)) > 0)
        kymo_str_append(text, buffer, (size_t)n);
    return n == 0 ? KYMO_OK : kymo_error_set_errno(detail, "the recorder's answer");
}

static kymo_err ask_text(pid_t pid, const struct kymo_control_request *request, kymo_str *text,
                         kymo_error *detail)
{
    struct kymo_control_answer answer;
    int fd = -1;
    KYMO_TRY(kymo_control_ask(pid, request, &answer, &fd, detail));
    kymo_err err = read_text(fd, text, detail);
    close(fd);
    return err;
}

static kymo_err print_status(pid_t pid, kymo_error *detail)
{
    const struct kymo_control_request request = {.what = KYMO_CONTROL_STATUS};
    kymo_str text = {0};
    kymo_err err = ask_text(pid, &request, &text, detail);
    if (err == KYMO_OK)
        fwrite(kymo_str_cstr(&text), 1, text.len, stdout);
    kymo_str_deinit(&text);
    return err;
}

/* ---- which categories of markers the recorded programs have ---- */

static kymo_err ask_categories(pid_t pid, pid_t whose, struct kymo_categories *categories,
                               kymo_error *detail)
{
    const struct kymo_control_request request = {.what = KYMO_CONTROL_CATEGORIES, .pid = whose};
    kymo_str text = {0};
    kymo_err err = ask_text(pid, &request, &text, detail);
    if (err == KYMO_OK && text.len > 0)
        err = kymo_categories_read(categories, text.data);
    kymo_str_deinit(&text);
    return err;
}

static void print_row(const struct kymo_category_row *row)
{
    char on[48] = "on";
    if (row->on == 0)
        snprintf(on, sizeof on, "off");
    else if (row->on < row->of)
        snprintf(on, sizeof on, "on in %u of %u", row->on, row->of);
    kymo_fprint(stdout, "%-4s %s%s\n", on, row->path,
                row->is_quiet ? "  (quiet: on only by its name)" : "");
}

/* Prints them, one a line: of the process, or with the recorder's process id or 0 of all. */
static kymo_err print_categories(pid_t pid, kymo_error *detail)
{
    struct kymo_categories categories = {0};
    kymo_err err = ask_categories(pid, pid, &categories, detail);
    for (size_t i = 0; err == KYMO_OK && i < categories.rows.len; i++)
        print_row(&categories.rows.data[i]);
    if (err == KYMO_OK && categories.rows.len == 0)
        kymo_fprint(stderr, "kymo: no program that is recorded there has markers\n");
    kymo_categories_deinit(&categories);
    return err;
}

/* It may be longer than an error's message. */
static void say_unknown(const struct kymo_categories *categories, const kymo_str *word)
{
    kymo_str names = {0};
    kymo_categories_names(categories, &names);
    kymo_fprint(stderr,
                "kymo: %s is no category%s%s (-f selects it all the same, for a library that comes "
                "later)\n",
                kymo_str_cstr(word), names.len ? "; there are: " : ", and there is none yet",
                kymo_str_cstr(&names));
    kymo_str_deinit(&names);
}

/* Whether each name in a list of words is a category that a recorded program has; if not, that is
 * printed. */
static kymo_err check_categories(pid_t pid, const char *list, int *are_known, kymo_error *detail)
{
    struct kymo_categories categories = {0};
    kymo_str word = {0};
    kymo_err err = ask_categories(pid, 0, &categories, detail);
    if (err == KYMO_OK) {
        *are_known = !kymo_categories_unknown(&categories, list, &word);
        if (!*are_known)
            say_unknown(&categories, &word);
    }
    kymo_str_deinit(&word);
    kymo_categories_deinit(&categories);
    return err;
}

/* ---- the command ---- */

/* Returns 0 for what is no process id. */
static pid_t parse_pid(const char *text)
{
    char *end;
    long pid = strtol(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && pid > 0 && pid <= INT32_MAX
               ? (pid_t)pid
               : 0;
}

/* What is asked, and where an answer that is a file goes. */
struct control_request {
    pid_t pid;
    struct kymo_control_request request; /* what 0: nothing yet */
    const char *output;
    int force;
    int quiet;
};

static int say_failed(const kymo_error *detail)
{
    kymo_fprint(stderr, "kymo: %s\n", detail->message);
    return KYMO_EXIT_FAILED;
}

/* What is unknown is not sent, unless a library may bring it later (-f). */
static int may_select(const struct control_request *asked)
{
    kymo_error detail = {0};
    int are_known = 1;
    if (!asked->force && asked->request.what == KYMO_CONTROL_MARKERS &&
        check_categories(asked->pid, asked->request.markers, &are_known, &detail) != KYMO_OK) {
        (void)say_failed(&detail);
        return 0;
    }
    return are_known;
}

/* A period that is another one than was asked for. */
static void say_period(const struct control_request *asked,
                       const struct kymo_control_answer *answer)
{
    char now[32], wanted[32];
    if (answer->period_ns && answer->period_ns != asked->request.rate)
        printf(
            "each %s and not each %s, since samples would take too much of the program's CPU time "
            "(kymo record --overhead): ",
            kymo_format_duration(now, answer->period_ns),
            kymo_format_duration(wanted, asked->request.rate));
}

static int tell(const struct control_request *asked)
{
    struct kymo_control_answer answer;
    kymo_error detail = {0};
    if (!may_select(asked))
        return KYMO_EXIT_FAILED;
    if (kymo_control_ask(asked->pid, &asked->request, &answer, NULL, &detail) != KYMO_OK)
        return say_failed(&detail);
    if (asked->quiet)
        return KYMO_EXIT_OK;
    if (asked->request.what == KYMO_CONTROL_FLUSH) {
        printf(answer.told ? "the interval has ended, and its profile is on its way\n"
                           : "the recording ends, and its last profile will be on its way\n");
        return kymo_flush_output();
    }
    say_period(asked, &answer);
    printf("%u process%s told", answer.told, answer.told == 1 ? "" : "es");
    if (answer.later)
        printf(", %u did not answer: %s when %s, or with %s next full buffer", answer.later,
               answer.later == 1 ? "it switches" : "they switch",
               answer.later == 1 ? "it runs" : "they run", answer.later == 1 ? "its" : "their");
    printf("\n");
    return kymo_flush_output();
}

static int change_settings(const struct control_request *asked)
{
    kymo_str why = {0};
    kymo_error detail = {0};
    kymo_err err = ask_text(asked->pid, &asked->request, &why, &detail);
    int status = err != KYMO_OK ? say_failed(&detail) : KYMO_EXIT_OK;
    if (err == KYMO_OK && why.len > 0) {
        kymo_fprint(stderr, "kymo: %s\n", kymo_str_cstr(&why));
        status = KYMO_EXIT_FAILED;
    } else if (err == KYMO_OK && !asked->quiet) {
        printf("the settings are in force\n");
        status = kymo_flush_output();
    }
    kymo_str_deinit(&why);
    return status;
}

/* ---- files ---- */

static int copy(int from, FILE *to, uint64_t *bytes)
{
    char buffer[65536];
    ssize_t n;
    *bytes = 0;
    while ((n = read(from, buffer, sizeof buffer)) > 0) {
        *bytes += (uint64_t)n;
        if (fwrite(buffer, 1, (size_t)n, to) != (size_t)n)
            return 0;
    }
    return n == 0;
}

static int write_file(const struct control_request *asked, const kymo_output *output, int from)
{
    uint64_t bytes;
    char size[32];
    FILE *file = output->is_stdout
                     ? stdout
                     : fopen(output->path, output->force || output->is_special ? "we" : "wxe");
    int is_good = file && copy(from, file, &bytes);
    if (file && fclose(file) != 0)
        is_good = 0;
    if (!is_good) {
        kymo_fprint(stderr, "kymo: %s: %s\n", output->path, strerror(errno));
        if (file && !output->is_special && !output->is_stdout)
            unlink(output->path);
        return KYMO_EXIT_FAILED;
    }
    if (!asked->quiet && !output->is_stdout)
        kymo_fprint(stderr, "kymo: wrote %s (%s)\n", output->path, kymo_format_bytes(size, bytes));
    return KYMO_EXIT_OK;
}

static int ask_file(struct control_request *asked)
{
    kymo_output output;
    struct kymo_control_answer answer;
    kymo_error detail = {0};
    int file = -1;
    int is_encoded = asked->request.what != KYMO_CONTROL_SNAPSHOT;
    if (kymo_output_check_plain(&output, asked->output, asked->force, &detail) != KYMO_OK)
        return kymo_usage_error(KYMO_IN_CONTROL, "%s", detail.message);
    if (is_encoded && output.is_recording)
        return kymo_usage_error(KYMO_IN_CONTROL, "%.150s: it is written as %s", asked->output,
                                ".svg, .json, .json.gz, .pb.gz, .jfr or .folded");
    snprintf(asked->request.format, sizeof asked->request.format, "%s",
             output.is_recording ? KYMO_CONTROL_RECORDING
                                 : kymo_format_for_path(output.path)->extension);
    asked->request.pid = asked->pid;
    if (kymo_control_ask(asked->pid, &asked->request, &answer, &file, &detail) != KYMO_OK)
        return say_failed(&detail);
    int status = write_file(asked, &output, file);
    close(file);
    return status;
}

/* ---- arguments ---- */

static int take_duration(struct control_request *asked, const char *text)
{
    uint64_t *ns = &asked->request.duration_ns;
    asked->request.what = KYMO_CONTROL_PROFILE;
    if (kymo_parse_time(text, strlen(text), ns) != KYMO_OK || *ns == 0 ||
        *ns > KYMO_CONTROL_DURATION_MAX_NS)
        return kymo_usage_error(
            KYMO_IN_CONTROL, "profile=%.40s: it takes a time with its unit, up to an hour", text);
    return -1;
}

/* What they mean, the agent says. */
static int take_settings(struct control_request *asked, const char *text)
{
    asked->request.what = KYMO_CONTROL_SET;
    if (strlen(text) >= sizeof asked->request.markers)
        return kymo_usage_error(KYMO_IN_CONTROL, "set=%.40s...: it is too long", text);
    strcpy(asked->request.markers, text);
    return -1;
}

static int take_setting(struct control_request *asked, const char *setting)
{
    static const struct {
        const char *name;
        uint32_t what;
    } settings[] = {{"markers", KYMO_CONTROL_MARKERS},
                    {"alloc", KYMO_CONTROL_ALLOC},
                    {"cpu", KYMO_CONTROL_CPU},
                    {"wall", KYMO_CONTROL_WALL}};
    kymo_options options;
    kymo_error detail;
    size_t len = strcspn(setting, "=");
    kymo_options_init(&options);
    if (strncmp(setting, "set=", 4) == 0)
        return take_settings(asked, setting + 4);
    if (strncmp(setting, "profile=", 8) == 0)
        return take_duration(asked, setting + 8);
    for (size_t i = 0; setting[len] == '=' && i < KYMO_ARRAY_LEN(settings); i++) {
        const char *value = setting + len + 1;
        if (strlen(settings[i].name) != len || strncmp(settings[i].name, setting, len) != 0)
            continue;
        if (kymo_options_set(&options, setting, len, value, strlen(value), &detail) != KYMO_OK)
            return kymo_usage_error(KYMO_IN_CONTROL, "%s", detail.message);
        asked->request.what = settings[i].what;
        asked->request.rate = asked->request.what == KYMO_CONTROL_CPU    ? options.cpu_period_ns
                              : asked->request.what == KYMO_CONTROL_WALL ? options.wall_period_ns
                                                                         : options.alloc_bytes;
        if (asked->request.rate == 0 && asked->request.what == KYMO_CONTROL_WALL)
            return kymo_usage_error(KYMO_IN_CONTROL,
                                    "wall=off: wall time can be paused with the rest only (pause)");
        snprintf(asked->request.markers, sizeof asked->request.markers, "%s",
                 kymo_options_list(&options, KYMO_OPTION_MARKERS));
        return -1;
    }
    return kymo_usage_error(KYMO_IN_CONTROL, "'%.60s' is not " REQUESTS, setting);
}

static int take_switch(struct control_request *asked, const kymo_arg *arg)
{
    if (arg->switch_id == KYMO_SWITCH_OUTPUT)
        return kymo_take_only_output(&asked->output, KYMO_IN_CONTROL, arg->value);
    if ((asked->pid = parse_pid(arg->value)) == 0)
        return kymo_usage_error(KYMO_IN_CONTROL, "'%.60s' is not a process id", arg->value);
    return -1;
}

static int take_operand(struct control_request *asked, const char *operand)
{
    if (asked->request.what)
        return kymo_usage_error(KYMO_IN_CONTROL, "one thing at a time: '%.60s' is a second",
                                operand);
    if (strcmp(operand, "heap") == 0)
        asked->request.what = KYMO_CONTROL_HEAP;
    else if (strcmp(operand, "snapshot") == 0)
        asked->request.what = KYMO_CONTROL_SNAPSHOT;
    else if (strcmp(operand, "status") == 0)
        asked->request.what = KYMO_CONTROL_STATUS;
    else if (strcmp(operand, "flush") == 0)
        asked->request.what = KYMO_CONTROL_FLUSH;
    else if (strcmp(operand, "pause") == 0)
        asked->request.what = KYMO_CONTROL_PAUSE;
    else if (strcmp(operand, "resume") == 0)
        asked->request.what = KYMO_CONTROL_RESUME;
    else if (strcmp(operand, "markers") == 0)
        asked->request.what = KYMO_CONTROL_CATEGORIES;
    else
        return take_setting(asked, operand);
    return -1;
}

/* Returns -1 to go on, else an exit status. */
static int parse(int argc, char **argv, struct control_request *asked)
{
    kymo_arg arg;
    kymo_args args = {.argv = argv + 1, .argc = argc - 1, .command = KYMO_IN_CONTROL};
    const struct kymo_flag flags[] = {{KYMO_SWITCH_QUIET, &asked->quiet},
                                      {KYMO_SWITCH_FORCE, &asked->force}};
    int status;
    while ((status = kymo_take_arg(&args, flags, KYMO_ARRAY_LEN(flags), &arg)) < 0 &&
           arg.kind != KYMO_ARG_END) {
        status = arg.kind == KYMO_ARG_OPERAND ? take_operand(asked, arg.value)
                                              : take_switch(asked, &arg);
        if (status >= 0)
            return status;
    }
    if (status >= 0)
        return status;
    if (!asked->request.what)
        return kymo_usage_error(KYMO_IN_CONTROL, "missing request: " REQUESTS);
    int is_file = kymo_control_makes_file(asked->request.what);
    if (is_file && !asked->output)
        return kymo_usage_error(KYMO_IN_CONTROL, "into what? name a file by -o");
    if (!is_file && asked->output)
        return kymo_usage_error(KYMO_IN_CONTROL, "-o goes with heap, snapshot and profile=TIME");
    return -1;
}

int kymo_cmd_control(int argc, char **argv)
{
    struct control_request asked = {0};
    kymo_error detail = {0};
    int status = parse(argc, argv, &asked);
    if (status >= 0)
        return status;
    switch (asked.request.what) {
    case KYMO_CONTROL_HEAP:
    case KYMO_CONTROL_SNAPSHOT:
    case KYMO_CONTROL_PROFILE:
        return ask_file(&asked);
    case KYMO_CONTROL_CATEGORIES:
        return print_categories(asked.pid, &detail) == KYMO_OK ? kymo_flush_output()
                                                               : say_failed(&detail);
    case KYMO_CONTROL_SET:
        return change_settings(&asked);
    case KYMO_CONTROL_STATUS:
        return print_status(asked.pid, &detail) == KYMO_OK ? kymo_flush_output()
                                                           : say_failed(&detail);
    default:
        return tell(&asked);
    }
}
