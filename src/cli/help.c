/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands are, in words; the options below each come from options.def. */
#include <stdarg.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/command.h"
#include "views/terminal.h"

/* Lines of text as they are printed. */
/* clang-format off */
const kymo_command kymo_commands[] = {
    {
        .name = "record",
        .mask = KYMO_IN_RECORD,
        .summary = "run a program and record where its time goes",
        .arguments = "[OPTION...] [--] PROGRAM [ARGUMENT...]",
        .description =
    "Runs PROGRAM as it would run without Kymo, takes samples of the stacks of all its\n"
    "threads, and writes a profile when it ends. The exit status is the program's, and\n"
    "128+N if signal N ended it. The processes that it starts, and the programs that they\n"
    "become by exec, are recorded, too; what cannot be is named, with the reason.\n"
    "\n"
    "Without -o the recording is kymo.PROGRAM.PID.kymo in the current folder, and\n"
    "kymo.latest.kymo is a link to it. In FILE, %p stands for the program's process id,\n"
    "%h for the host's name, %t for the time and %% for a percent sign. A FILE that ends in\n"
    "a slash, or is a folder, takes the default name in it. -o may be repeated.\n"
    "\n"
    "With -p PID no program is run: CPU samples are taken of a process that runs already.\n\n"
    "Ctrl-C goes to the program; Kymo stays to save. A second one within two seconds stops\n"
    "the recording with what it has.",
        .examples =
    "  kymo record -- python3 script.py\n"
    "  kymo record --cpu=100us -o fast.json.gz -- ./server --port 80\n"
    "  kymo record -o run-%t.pb.gz -o run-%t.kymo -- ./simulate\n",
        .run = kymo_cmd_record,
    },
    {
        .name = "agent",
        .mask = KYMO_IN_AGENT,
        .summary = "run a service, and send a profile of it every 30 seconds",
        .arguments = "--reporter=WHERE|--listen=ADDRESS [OPTION...] [--] PROGRAM [ARGUMENT...]",
        .description =
    "Runs PROGRAM as record does, for as long as it runs, and sends what each interval was to\n"
    "the reporters. Samples are taken at a low cost; the options of record\n"
    "ask for more. KYMO_OPTIONS takes the same settings, with commas between.\n"
    "\n"
    "What happens to profiles does nothing to the program: a reporter that fails is tried\n"
    "again, and what is lost is counted. Signals that end a service go to the program; when\n"
    "it has ended, its last profile is sent. The exit status is the program's.\n"
    "\n"
    "With --listen profiles can also be asked for over HTTP, as of Go programs.",
        .examples =
    "  kymo agent --reporter=local:/var/log/profiles -- ./server --port 80\n"
    "  kymo agent --report=10s --reporter=local:profiles --format=jfr --keep=100 -- ./server\n"
    "  kymo agent --listen=6060 -- ./server\n"
    "  go tool pprof http://127.0.0.1:6060\n",
        .run = kymo_cmd_agent,
    },
    {
        .name = "report",
        .mask = KYMO_IN_REPORT,
        .summary = "print where the time of a recording went",
        .arguments = "[OPTION...] [FILE]",
        .description =
    "Prints the functions that the recording spent its time in, the largest first, and how\n"
    "far the recording is to be trusted. self is time in the function itself, total is time\n"
    "in it and in all that it called; a function that calls itself is counted once.\n"
    "\n"
    "--from, --to, --thread, --process, --focus and --ignore select a part; a line above the\n"
    "table says how large it is. The quality is that of the whole recording.\n"
    "\n"
    "FILE may also be of another profiler: pprof, JFR, collapsed stacks, Firefox Profiler.\n"
    "\n"
    "Without FILE it is the newest recording (*.kymo) of the current folder.",
        .examples =
    "  kymo report\n"
    "  kymo report run.kymo --by thread\n"
    "  kymo report --tree --top 40\n"
    "  kymo report --from 10s --to 12s --thread 'worker*' --focus '^parse'\n"
    "  kymo report run.kymo --mode markers\n"
    "  kymo report run.kymo --mode live --at 10s\n"
    "  kymo report heap.pb.gz --mode alloc_space\n"
    "  kymo report run.kymo --json | jq .quality\n",
        .run = kymo_cmd_report,
    },
    {
        .name = "diff",
        .mask = KYMO_IN_DIFF,
        .summary = "compare two recordings: CPU time, wall time, or how the heap grew",
        .arguments = "[OPTION...] [A.kymo][@TIME] [B.kymo][@TIME]",
        .description =
    "Compares, function by function, the CPU time of two recordings (--mode wall: the wall\n"
    "time); each change has the interval that sampling leaves open. Where not both reach to\n"
    "the program's end, times are divided by the time recorded.\n"
    "\n"
    "Of recordings made with --alloc, or with a --mode of memory, it compares the bytes\n"
    "that were there, at the end or so long after each recording's start: B less A. Both\n"
    "may be the same recording.\n"
    "\n"
    "--mode markers compares how many markers there were and their duration, --mode memory\n"
    "the lines of the RSS breakdown.\n"
    "\n"
    "-o writes the change as a flame graph, as lines of both values, or for pprof.\n"
    "\n"
    "Of files of other profilers (see kymo report --help), samples of one type are compared;\n"
    "types of different units with --normalize=total.\n"
    "\n"
    "Without files, the newest two of the current folder are compared; one that is named\n"
    "is compared with the newest; @TIME alone is a moment of the newest.",
        .examples =
    "  kymo diff\n"
    "  kymo diff @10s @60s\n"
    "  kymo diff before.kymo after.kymo -o change.svg\n"
    "  kymo diff before.kymo after.kymo -o change.pb.gz\n"
    "  kymo diff run.kymo@10s run.kymo@60s -o growth.pb.gz\n"
    "  kymo diff before.kymo after.kymo --mode peak\n",
        .run = kymo_cmd_diff,
    },
    {
        .name = "convert",
        .mask = KYMO_IN_CONVERT,
        .summary = "turn a recording into other formats",
        .arguments = "[OPTION...] [IN] -o OUT [-o OUT...]",
        .description =
    "Writes a recording in the format that the ending of each OUT asks for:\n"
    "  .json .json.gz   Firefox Profiler (https://profiler.firefox.com)\n"
    "  .pb.gz           pprof (go tool pprof)\n"
    "  .jfr             Java Flight Recorder (JDK Mission Control, jfr, async-profiler)\n"
    "  .otlp .otlp.gz   OpenTelemetry profiles (opentelemetry-proto 1.11.0)\n"
    "  .svg             an interactive flame graph (any web browser, offline)\n"
    "  .folded          collapsed stacks (flame graph tools, speedscope)\n"
    "  .trace.json      markers, calls and counters for https://ui.perfetto.dev\n"
    "  .pstats          traced calls of Python (python -m pstats, snakeviz)\n"
    "\n"
    "IN may be a file of another profiler (see kymo report --help). A part of it is selected\n"
    "as by report.\n"
    "Without IN it is the newest recording (*.kymo) of the current folder.",
        .examples =
    "  kymo convert -o run.svg\n"
    "  kymo convert -o run.pb.gz\n"
    "  kymo convert run.kymo -o run.json.gz -o run.folded\n"
    "  kymo convert run.kymo --process web -o web.svg\n"
    "  kymo convert run.kymo --sanitize -o share.json.gz\n"
    "  kymo convert run.kymo --mode live --at 10s -o heap.pb.gz\n",
        .run = kymo_cmd_convert,
    },
    {
        .name = "control",
        .mask = KYMO_IN_CONTROL,
        .summary = "change what a recording that runs takes in",
        .arguments = "[-p PID] REQUEST",
        .description =
    "REQUEST is status, flush, pause, resume, cpu=PERIOD, wall=PERIOD, markers, markers=LIST,\n"
    "alloc=SIZE, set=SETTINGS, heap -o FILE, snapshot -o FILE or profile=TIME -o FILE.\n"
    "status prints what the recorder does, as JSON: how it records, and of kymo agent what\n"
    "became of its profiles. flush ends the present interval of kymo agent, whose profile\n"
    "goes to the reporters. pause stops samples, markers and allocations until resume; CPU\n"
    "time of a pause counts as not sampled. cpu= and wall= change how often samples are taken;\n"
    "wall= if the recording was started with --wall.\n"
    "set= changes settings of kymo agent, all of them or none, with the grammar of\n"
    "KYMO_OPTIONS: report, reporter, format, keep, label, deadline, spool-bytes, cpu, wall,\n"
    "counters, alloc and markers. Reporters that are named replace all others, labels too.\n"
    "markers lists the categories of markers that recorded programs have, and which are on.\n"
    "markers= switches categories of markers and counters on and off in a program that is\n"
    "being recorded; LIST is that of kymo record --markers, and replaces the one in force. A\n"
    "name that no program has is refused; -f takes it, for a library that is loaded later.\n"
    "alloc= changes how many allocations are recorded, of a recording that was started with\n"
    "--alloc; off records none. heap writes what lives now of a process's heap, or with the\n"
    "recorder's PID of all processes'. snapshot writes the recording so far, in any format of\n"
    "-o, and the recording goes on; of a flight recorder (--ring) that is the newest part.\n"
    "profile= writes what is recorded in the next TIME, which it waits for. All are for the\n"
    "user who started the recording, and for root. Without -p there must be one recording only.\n"
    "What changes something prints how many processes were told; the change is\n"
    "there as soon as the process has run for a moment.",
        .examples =
    "  kymo control status\n"
    "  kymo control flush\n"
    "  kymo control -p 1234 pause\n"
    "  kymo control cpu=200us\n"
    "  kymo control markers\n"
    "  kymo control markers=all:-net\n"
    "  kymo control -p 1234 markers=disk/read\n"
    "  kymo control alloc=64k\n"
    "  kymo control -p 1234 heap -o now.pb.gz\n"
    "  kymo control snapshot -o now.json.gz\n"
    "  kymo control -p 1234 profile=10s -o ten.pb.gz\n",
        .run = kymo_cmd_control,
    },
    {
        .name = "doctor",
        .mask = KYMO_IN_DOCTOR,
        .summary = "say what works on this machine, and what to do about what does not",
        .arguments = "[--json] [PROGRAM]",
        .description =
    "Tries what recording needs: ways to take samples, permissions, limits, debug files,\n"
    "space on disk. Exits with 0 if recording works here.\n"
    "\n"
    "Of a PROGRAM, which is not run: whether it can be recorded, what will not be shown of\n"
    "it, and whether it has symbols. Exits with 0 if it can be recorded.",
        .examples =
    "  kymo doctor\n"
    "  kymo doctor ./program\n",
        .run = kymo_cmd_doctor,
    },
};
/* clang-format on */
const size_t kymo_command_count = KYMO_ARRAY_LEN(kymo_commands);

const kymo_command *kymo_command_find(const char *name)
{
    for (size_t i = 0; i < kymo_command_count; i++)
        if (strcmp(kymo_commands[i].name, name) == 0)
            return &kymo_commands[i];
    return NULL;
}

static const kymo_command *command_of(unsigned mask)
{
    for (size_t i = 0; i < kymo_command_count; i++)
        if (kymo_commands[i].mask == mask)
            return &kymo_commands[i];
    return NULL;
}

/* The left column of an entry, then text wrapped into a column of its own. */
static void print_entry(FILE *to, const char *left, const char *text)
{
    enum { LEFT = 22, RIGHT = 80 };
    size_t column = (size_t)fprintf(to, "  %s", left);
    if (column >= LEFT) {
        fputc('\n', to);
        column = 0;
    }
    for (; column < LEFT; column++)
        fputc(' ', to);
    while (*text) {
        size_t word = strcspn(text, " ");
        if (column > LEFT && column + 1 + word > RIGHT) {
            fprintf(to, "\n%*s", LEFT, "");
            column = LEFT;
        }
        column += (size_t)fprintf(to, "%s%.*s", column > LEFT ? " " : "", (int)word, text);
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', to);
}

static void print_switches(FILE *to, unsigned mask)
{
    for (size_t i = 0; i < KYMO_SWITCH_COUNT; i++) {
        const kymo_switch_info *info = &kymo_switch_table[i];
        kymo_str left = {0};
        if (!(info->commands & mask))
            continue;
        if (info->letter)
            kymo_str_printf(&left, "-%c, ", info->letter);
        else
            kymo_str_puts(&left, "    ");
        kymo_str_printf(&left, "--%s%s%s", info->name, info->value_name ? "=" : "",
                        info->value_name ? info->value_name : "");
        print_entry(to, kymo_str_cstr(&left), info->help);
        kymo_str_deinit(&left);
    }
}

static void print_settings(FILE *to)
{
    fputs("\nSettings, also read from the environment (KYMO_OPTIONS=cpu=1ms,engine=perf):\n", to);
    for (size_t i = 0; i < KYMO_OPTION_COUNT; i++) {
        const kymo_option_info *info = &kymo_option_table[i];
        char value[KYMO_OPTION_TEXT_MAX];
        char range[KYMO_OPTION_TEXT_MAX];
        kymo_str left = {0};
        kymo_str text = {0};
        int bare = (info->flags & KYMO_OPTION_BARE) != 0;
        kymo_str_printf(&left, "    --%s%s%s%s", info->name, bare ? "[=" : "=", info->value_name,
                        bare ? "]" : "");
        kymo_str_printf(&text, "%s (%s; default %s)", info->help,
                        kymo_option_format_range((kymo_option_id)i, range),
                        kymo_option_format_value((kymo_option_id)i, info->def, value));
        print_entry(to, kymo_str_cstr(&left), kymo_str_cstr(&text));
        kymo_str_deinit(&left);
        kymo_str_deinit(&text);
    }
}

void kymo_help_print_command(FILE *to, const kymo_command *command)
{
    fprintf(to, "usage: kymo %s %s\n\n%s\n\nOptions:\n", command->name, command->arguments,
            command->description);
    print_switches(to, command->mask);
    if (command->mask == KYMO_IN_RECORD)
        print_settings(to);
    fprintf(to, "\nExamples:\n%s", command->examples);
}

void kymo_help_print_all(FILE *to)
{
    fputs("usage: kymo COMMAND [ARGUMENT...]\n"
          "\n"
          "Kymo records where the time of a Linux program goes.\n"
          "\n"
          "Commands:\n",
          to);
    for (size_t i = 0; i < kymo_command_count; i++)
        print_entry(to, kymo_commands[i].name, kymo_commands[i].summary);
    print_entry(to, "help [COMMAND]", "print how a command is used");
    fputs("\nOptions:\n", to);
    print_entry(to, "-h, --help", "print this help");
    print_entry(to, "-V, --version", "print the version");
    fputs("\n"
          "Examples:\n"
          "  kymo record -- PROGRAM [ARGUMENT...]\n"
          "  kymo doctor\n"
          "\n"
          "The manual page, kymo(1), has it all.\n",
          to);
}

int kymo_usage_error(unsigned mask, const char *fmt, ...)
{
    const kymo_command *command = command_of(mask);
    kymo_str line = {0};
    va_list args;
    va_start(args, fmt);
    char text[512];
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    kymo_str_printf(&line, "kymo%s%s: %s (see kymo %s%s--help)", command ? " " : "",
                    command ? command->name : "", text, command ? command->name : "",
                    command ? " " : "");
    kymo_fprint(stderr, "%s\n", kymo_str_cstr(&line));
    kymo_str_deinit(&line);
    return KYMO_EXIT_USAGE;
}

int kymo_take_only_output(const char **output, unsigned mask, const char *path)
{
    if (*output)
        return kymo_usage_error(mask, "-o: one file is written, not also %.150s", path);
    *output = path;
    return -1;
}

int kymo_help_asked(unsigned mask)
{
    kymo_help_print_command(stdout, command_of(mask));
    return kymo_flush_output();
}

int kymo_take_arg(kymo_args *args, const struct kymo_flag *flags, size_t count, kymo_arg *out)
{
    kymo_error detail;
    for (;;) {
        size_t i = 0;
        if (kymo_args_next(args, out, &detail) != KYMO_OK)
            return kymo_usage_error(args->command, "%s", detail.message);
        if (out->kind != KYMO_ARG_SWITCH)
            return -1;
        if (out->switch_id == KYMO_SWITCH_HELP)
            return kymo_help_asked(args->command);
        while (i < count && flags[i].id != out->switch_id)
            i++;
        if (i == count)
            return -1;
        *flags[i].flag = 1;
    }
}
