/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   arguments -> checks of outputs and program -> launch, into a spool file -> names -> outputs,
 *   summary -> exit as the program did
 *
 * Everything that can be known to fail is found before the program runs. Afterwards nothing may
 * lose the recording: the spool file is deleted when all outputs are complete, and not before. If
 * one is not, the spool gets a name to be found by, and its path is printed. If kymo is killed, a
 * process that it started for that writes the outputs (finisher.h).
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/finisher.h"
#include "cli/output.h"
#include "cli/program.h"
#include "cli/steps.h"
#include "encode/atomic_file.h"
#include "launch/launch.h"
#include "views/report_heap.h"
#include "views/report_quality.h"
#include "views/report_text.h"

enum { SUMMARY_ROWS = 10 };
#define CPU_PERIOD_TRACED_NS 10000000u

struct record {
    kymo_options options;
    const char *asked[KYMO_OUTPUTS_MAX];
    size_t n_asked;
    kymo_output outputs[KYMO_OUTPUTS_MAX];
    size_t n_outputs;
    size_t n_recordings; /* of outputs, those that are the recording itself: 1 at most */
    struct kymo_program program;
    const char *pid; /* of a process that runs already; NULL: a program is started */
    int force;
    int quiet;
    int verbose;
    int no_symbols;
    int is_cut;              /* the recording broke off before the program's end */
    uint64_t program_cpu_ns; /* without its children; 0: not known */
    int no_source;
    kymo_output_names names;
    kymo_spool spool;
    struct kymo_finisher finisher;
    pid_t recorder;    /* that wanted a finisher; 0: none did */
    uint8_t *is_begun; /* by output; shared with the finisher; NULL: there is none */
};

/* Returns -1 to go on, else an exit status. */
static int parse(int argc, char **argv, struct record *r)
{
    kymo_arg arg;
    kymo_error detail;
    uint64_t hz;
    const char *environment = getenv("KYMO_OPTIONS");
    const char *markers = getenv("KYMO_MARKERS");
    kymo_args args = {.argv = argv + 1,
                      .argc = argc - 1,
                      .command = KYMO_IN_RECORD,
                      .stop_at_operand = 1,
                      .options = &r->options};
    const struct kymo_flag flags[] = {
        {KYMO_SWITCH_FORCE, &r->force},     {KYMO_SWITCH_NO_SOURCE, &r->no_source},
        {KYMO_SWITCH_QUIET, &r->quiet},     {KYMO_SWITCH_NO_SYMBOLS, &r->no_symbols},
        {KYMO_SWITCH_VERBOSE, &r->verbose}, {KYMO_SWITCH_RUN_ANYWAY, &r->program.run_anyway},
    };
    kymo_options_init(&r->options);
    if (environment && kymo_options_parse(&r->options, environment, &detail) != KYMO_OK)
        return kymo_usage_error(KYMO_IN_RECORD, "KYMO_OPTIONS: %s", detail.message);
    if (markers && markers[0] &&
        kymo_options_set(&r->options, "markers", strlen("markers"), markers, strlen(markers),
                         &detail) != KYMO_OK)
        return kymo_usage_error(KYMO_IN_RECORD, "KYMO_MARKERS: %s", detail.message);
    for (;;) {
        int status = kymo_take_arg(&args, flags, KYMO_ARRAY_LEN(flags), &arg);
        if (status >= 0)
            return status;
        if (arg.kind == KYMO_ARG_END)
            break;
        switch (arg.switch_id) {
        case KYMO_SWITCH_FREQUENCY:
            if (kymo_parse_u64(arg.value, strlen(arg.value), &hz) != KYMO_OK || hz == 0 ||
                hz > 100000)
                return kymo_usage_error(KYMO_IN_RECORD,
                                        "-F: '%.40s' is not a number from 1 to 100000", arg.value);
            r->options.cpu_period_ns = 1000000000u / hz;
            r->options.given |= 1ull << KYMO_OPTION_CPU;
            break;
        case KYMO_SWITCH_PID:
            r->pid = arg.value;
            break;
        case KYMO_SWITCH_OUTPUT:
            if (r->n_asked == KYMO_OUTPUTS_MAX)
                return kymo_usage_error(KYMO_IN_RECORD, "at most %d outputs at a time",
                                        KYMO_OUTPUTS_MAX);
            for (size_t i = 0; i < r->n_asked; i++)
                if (strcmp(r->asked[i], arg.value) == 0)
                    return kymo_usage_error(KYMO_IN_RECORD, "'%.100s' is named twice", arg.value);
            r->asked[r->n_asked++] = arg.value;
            break;
        default:
            return kymo_usage_error(KYMO_IN_RECORD, "option is not for record");
        }
    }
    r->program.argv = argv + 1 + args.next;
    r->program.quiet = r->quiet;
    if (r->pid && r->program.argv[0])
        return kymo_usage_error(KYMO_IN_RECORD, "-p is for a process that runs already: no program "
                                                "is started beside it");
    if (!r->pid && !r->program.argv[0])
        return kymo_usage_error(KYMO_IN_RECORD,
                                "which program? kymo record -- PROGRAM [ARGUMENT...]");
    /* Calls have their own times, and samples beside them cost more than the calls do. */
    if (r->options.trace != KYMO_TRACE_CHOICE_OFF && !(r->options.given >> KYMO_OPTION_CPU & 1))
        r->options.cpu_period_ns = CPU_PERIOD_TRACED_NS;
    if (r->options.ring_bytes && r->options.alloc_bytes)
        return kymo_usage_error(
            KYMO_IN_RECORD, "--ring and --alloc exclude each other: what is on the heap is known "
                            "from its whole history, which a ring does not keep");
    kymo_program_set_log_level(&r->options);
    return -1;
}

/* Outputs, program, library, and the spool's folder. Returns -1 to go on, else an exit status. */
static int check_before(struct record *r)
{
    kymo_error detail;
    int status = r->pid ? kymo_program_check_running(&r->program, r->pid, &r->options) : -1;
    if (status >= 0)
        return status;
    r->names = (kymo_output_names){.program = r->program.argv[0], .start = time(NULL)};
    r->n_outputs = r->n_asked ? r->n_asked : 1;
    for (size_t i = 0; i < r->n_outputs; i++) {
        const char *asked = r->n_asked ? r->asked[i] : NULL;
        if (kymo_output_check(&r->outputs[i], asked, r->force, &r->names, &detail) != KYMO_OK)
            return kymo_say_failed(detail.message, KYMO_EXIT_USAGE);
        r->n_recordings += r->outputs[i].is_recording != 0;
    }
    if (r->n_recordings > 1)
        return kymo_usage_error(KYMO_IN_RECORD, "only one output can be the recording itself "
                                                "(.kymo, or a folder)");

    status = r->pid ? -1 : kymo_program_check(&r->program, &r->options, 1);
    if (status >= 0)
        return status;

    /* Beside the first output, so that it can become it, or be found; a device has no place. */
    const char *folder = ".";
    for (size_t i = r->n_outputs; i-- > 0;)
        if (!r->outputs[i].is_special)
            folder = r->outputs[i].folder;
    if (kymo_output_make_spool(folder, &r->names, &r->spool, &detail) != KYMO_OK)
        return kymo_say_failed(detail.message, KYMO_EXIT_FAILED);
    return -1;
}

/* What could not be encoded gets a name that says what it is, and the line that says so. */
static void keep_spool(struct record *r)
{
    char folder[PATH_MAX];
    char path[PATH_MAX];
    kymo_error detail = {0};
    if (kymo_spool_bytes(&r->spool) == 0) {
        /* The disk was full before the first byte, and that has been said. */
        kymo_spool_unlink(&r->spool);
        return;
    }
    snprintf(folder, sizeof folder, "%.*s", (int)(r->spool.name - r->spool.path - 1),
             r->spool.path);
    if (kymo_output_keep_path(folder[0] ? folder : "/", &r->names, path, &detail) != KYMO_OK ||
        kymo_spool_move(&r->spool, path, 0, &detail) != KYMO_OK) {
        if (!kymo_spool_place(&r->spool)) {
            kymo_fprint(stderr, "kymo: the recording is lost: %s was deleted; %s\n", r->spool.path,
                        detail.message);
            return;
        }
        strcpy(path, r->spool.path);
    }
    kymo_fprint(stderr, "kymo: the recording is kept: %s (kymo convert %s -o FILE)\n", path, path);
}

/* Ctrl-C while names are looked up or files are written: the work stops, the recording stays. */
static volatile sig_atomic_t finishing; /* 1: reading; 2: writing, which looks at stop_asked */
static const struct record *finishing_record;

static void on_interrupt(int signo)
{
    static const char kept[] = "\nkymo: stopped; the recording is kept: ";
    static const char lost[] = "\nkymo: stopped; the recording is lost, since it was deleted: ";
    if (finishing == 2) {
        kymo_stop_asked = 1;
        return;
    }
    const kymo_spool *spool = &finishing_record->spool;
    kymo_finisher_kill(&finishing_record->finisher);
    ssize_t ignored = kymo_spool_place(spool) ? write(STDERR_FILENO, kept, sizeof kept - 1)
                                              : write(STDERR_FILENO, lost, sizeof lost - 1);
    ignored = write(STDERR_FILENO, spool->path, strlen(spool->path));
    ignored = write(STDERR_FILENO, "\n", 1);
    (void)ignored;
    _exit(128 + signo);
}

/* The recording itself is an output. */
static int move_spool(struct record *r, kymo_output *output, uint64_t *bytes)
{
    kymo_error detail = {0};
    *bytes = kymo_spool_bytes(&r->spool);
    if (kymo_spool_move(&r->spool, output->path, output->force, &detail) != KYMO_OK)
        return kymo_say_failed(detail.message, KYMO_EXIT_FAILED);
    return KYMO_EXIT_OK;
}

static void say_written(const struct record *r, const kymo_output *output, uint64_t bytes)
{
    char size[32];
    if (!r->quiet)
        kymo_fprint(stderr, "kymo: wrote %s (%s)\n", output->path, kymo_format_bytes(size, bytes));
}

/* Writes every output. The recording is moved last: the others are made of it. */
static int write_outputs(struct record *r, const kymo_profile *profile)
{
    kymo_error detail;
    uint64_t bytes = 0;
    int status = KYMO_EXIT_OK;
    kymo_output *recording = NULL;
    int is_finisher = r->recorder && r->recorder != getpid();
    struct kymo_shown shown = {.flags = (r->options.all_counters ? KYMO_ENCODE_ALL_COUNTERS : 0u) |
                                        (r->no_source ? KYMO_ENCODE_NO_SOURCE : 0u)};
    for (size_t i = 0; i < r->n_outputs; i++) {
        kymo_output *output = &r->outputs[i];
        /* The recorder found nothing there: what is there now is its own, and maybe complete. */
        if (is_finisher && r->is_begun[i])
            output->force = 1;
        if (kymo_output_settle(output, &r->names, &detail) != KYMO_OK) {
            status = kymo_say_failed(detail.message, KYMO_EXIT_FAILED);
            continue;
        }
        if (output->is_recording) {
            recording = output;
            continue;
        }
        if (is_finisher)
            kymo_atomic_file_remove_left(output->path, r->recorder);
        if (r->is_begun)
            r->is_begun[i] = 1;
        int written = kymo_write_output(profile, output, shown, r->quiet, &bytes);
        if (r->is_begun)
            r->is_begun[i] = written == KYMO_EXIT_OK;
        if (written != KYMO_EXIT_OK) {
            status = written;
            continue;
        }
        say_written(r, output, bytes);
    }
    if (recording) {
        if (move_spool(r, recording, &bytes) == KYMO_EXIT_OK) {
            say_written(r, recording, bytes);
            if (recording->default_name &&
                kymo_output_link_latest(recording->path, &detail) != KYMO_OK && !r->quiet)
                kymo_fprint(stderr, "kymo: %s\n", detail.message);
            return status;
        }
        status = KYMO_EXIT_FAILED;
    }
    if (status == KYMO_EXIT_OK)
        kymo_spool_unlink(&r->spool);
    else
        keep_spool(r);
    return status;
}

/* shown: the report above it, which may be of other samples than the quality is. */
static void print_quality(const struct record *r, const kymo_terminal *t,
                          const kymo_profile *profile, const kymo_report *shown)
{
    kymo_report *made;
    if (kymo_report_for_quality(profile, shown, &made) != KYMO_OK)
        return;
    const kymo_report *report = made ? made : shown;
    kymo_report_print_quality(t, profile, report, "kymo: ");
    if (r->verbose)
        kymo_report_print_quality_details(t, profile, report, "kymo: ");
    kymo_report_print_few(t, profile, "kymo: ");
    kymo_report_print_startup(t, profile, "kymo: ");
    kymo_report_print_unsampled(t, report, "kymo: ");
    kymo_report_print_unnamed(t, profile, report, "kymo: ");
    kymo_report_destroy(made);
}

/* Returns whether it has to do with memory, too. */
static int print_summary(const struct record *r, const kymo_profile *profile)
{
    kymo_terminal t = kymo_terminal_of(stderr);
    kymo_report *report = NULL;
    char cpu[32];
    char shown[32];
    if (kymo_report_create(profile, NULL, &report) != KYMO_OK)
        return 0;
    uint64_t cpu_ns = kymo_profile_cpu_ns(profile);
    uint64_t shown_ns = kymo_report_total(report);
    if (r->is_cut && r->program_cpu_ns > cpu_ns)
        cpu_ns = r->program_cpu_ns;
    kymo_format_duration(cpu, cpu_ns);
    fputc('\n', stderr);
    if (shown_ns > 0 && kymo_report_type(report)->adds == KYMO_ADDS_ELAPSED) {
        fprintf(stderr, "kymo: %s of traced calls, the threads' added up, where they went:\n",
                kymo_format_duration(shown, shown_ns));
        kymo_report_print_table(&t, report, KYMO_BY_FUNCTION, SUMMARY_ROWS, "");
    } else if (shown_ns > 0) {
        /* The percentages are of what was sampled: say so where that is not nearly all. */
        fprintf(stderr, "kymo: ");
        if (r->is_cut)
            fprintf(stderr, "what was recorded before it broke off: ");
        if (r->is_cut || shown_ns < cpu_ns / 100 * 99)
            fprintf(stderr, "%s of the ", kymo_format_duration(shown, shown_ns));
        fprintf(stderr, "%s of CPU time, where it went:\n", cpu);
        kymo_report_print_table(&t, report, KYMO_BY_FUNCTION, SUMMARY_ROWS, "");
    }
    kymo_report_print_waits(&t, profile, "kymo: ");
    int has_heap = kymo_report_print_heap_summary(&t, profile, SUMMARY_ROWS / 2, "kymo: ");
    print_quality(r, &t, profile, report);
    kymo_report_destroy(report);
    return has_heap;
}

static void print_next(const struct record *r, int has_heap)
{
    const char *path = r->outputs[0].path;
    if (kymo_str_ends(path, ".kymo"))
        kymo_fprint(stderr,
                    "kymo: next: kymo report %s%s; kymo convert %s -o FILE.svg for any browser\n",
                    has_heap ? "--mode live " : "", path, path);
    else if (kymo_str_ends(path, ".svg"))
        kymo_fprint(stderr, "kymo: next: open %s in any browser\n", path);
    else if (kymo_str_ends(path, ".json") || kymo_str_ends(path, ".json.gz"))
        kymo_fprint(stderr, "kymo: next: open %s at https://profiler.firefox.com\n", path);
    else if (kymo_str_ends(path, ".pb.gz"))
        kymo_fprint(stderr, "kymo: next: go tool pprof -http=: %s\n", path);
}

/* Whether a profile is written, and not the recording alone. */
static int wants_encoding(const struct record *r)
{
    return r->n_recordings < r->n_outputs;
}

/* Whether anything is made of the recording now: other formats, or the table that is printed. */
static int wants_profile(const struct record *r)
{
    return (!r->quiet && !r->no_symbols) || wants_encoding(r);
}

/* As the recording has it; 0: it was not started yet. */
static pid_t program_pid(const kymo_profile *profile)
{
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_PROCESSES); i++)
        if (kymo_profile_process(profile, i)->is_main)
            return kymo_profile_process(profile, i)->pid;
    return 0;
}

/* Names, outputs, summary. Returns an exit status of kymo's own work. */
static int finish(struct record *r)
{
    kymo_profile *profile = NULL;
    struct sigaction before;
    struct sigaction action = {.sa_flags = 0};
    action.sa_handler = on_interrupt;
    finishing_record = r;
    finishing = 1;
    sigaction(SIGINT, &action, &before);
    int status = KYMO_EXIT_OK;
    /* Who reads a recording that is kept may have other files of the code, or none. */
    if (r->n_recordings && !r->no_symbols)
        kymo_store_names(r->spool.fd, r->spool.path, r->quiet);
    if (wants_profile(r))
        status = kymo_load_recording_fd(r->spool.fd, r->spool.path, !wants_encoding(r), r->quiet,
                                        &profile);
    if (profile && r->names.pid == 0)
        r->names.pid = program_pid(profile);
    if (status == KYMO_EXIT_OK) {
        int has_heap = 0;
        finishing = 2;
        if (!r->quiet && profile)
            has_heap = print_summary(r, profile);
        status = write_outputs(r, profile);
        if (status == KYMO_EXIT_OK && !r->quiet)
            print_next(r, has_heap);
    } else {
        keep_spool(r);
    }
    /* Not before the spool's name is gone: kymo may be killed in between. */
    kymo_finisher_stop(&r->finisher);
    sigaction(SIGINT, &before, NULL);
    kymo_profile_destroy(profile);
    return status;
}

/* ---- where kymo is killed ---- */

static void finish_for_killed(void *context)
{
    struct record *r = context;
    r->quiet = 1;
    (void)finish(r);
}

/* A recording needs no work to be what was asked for. A pipe may have no reader, and who waits for
 * one would never end. */
static void start_finisher(struct record *r)
{
    for (size_t i = 0; i < r->n_outputs; i++)
        if (r->outputs[i].is_special)
            return;
    if (!wants_encoding(r))
        return;
    void *shared =
        mmap(NULL, r->n_outputs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    kymo_err err = shared == MAP_FAILED ? kymo_err_from_errno(errno) : KYMO_OK;
    if (err == KYMO_OK) {
        r->is_begun = shared;
        r->recorder = getpid();
        r->finisher = (struct kymo_finisher){&r->spool, finish_for_killed, r, -1, {0, NULL}};
        err = kymo_finisher_start(&r->finisher);
    }
    if (err != KYMO_OK)
        kymo_info("if kymo is killed, the recording stays as it is: %s", kymo_err_text(err));
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A second Ctrl-C ended the recording, not the program, and kymo no longer waits for the program.
 */
static void say_runs_on(kymo_launch_result *result, const char *name)
{
    if (waitpid(result->pid, &result->wait_status, WNOHANG) != 0)
        return;
    kymo_fprint(stderr,
                "kymo: the recording was stopped, %s (process %d) runs on; kill %d ends it\n", name,
                (int)result->pid, (int)result->pid);
}

/* duration= ended the recording, not the program. */
static void wait_for_program(kymo_launch_result *result, int quiet)
{
    if (!quiet)
        fprintf(stderr, "kymo: the program runs on; waiting for its end\n");
    /* Ctrl-C is for the program. */
    struct sigaction ignore = {.sa_flags = 0};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGINT, &ignore, NULL);
    sigaction(SIGQUIT, &ignore, NULL);
    while (waitpid(result->pid, &result->wait_status, 0) < 0 && errno == EINTR)
        ;
    result->interrupted = 0;
}

int kymo_cmd_record(int argc, char **argv)
{
    static struct record r;
    kymo_error detail = {0};
    kymo_launch_result result;
    int status = parse(argc, argv, &r);
    if (status >= 0)
        return status;
    status = check_before(&r);
    if (status >= 0)
        return status;

    start_finisher(&r);
    uint64_t start_ns = now_ns();
    kymo_launch_options launch = {.argv = r.program.words,
                                  .options = &r.options,
                                  .spool = r.spool.fd,
                                  .preload_path = r.program.preload,
                                  .outside = r.program.outside,
                                  .running = r.program.running,
                                  .quiet = r.quiet};
    kymo_err err = kymo_launch(&launch, &result, &detail);
    /* The summary may have no reader (2>&1 | head): the recording is finished all the same. */
    signal(SIGPIPE, SIG_IGN);
    if (err != KYMO_OK)
        kymo_fprint(stderr, "kymo: %s\n", detail.message[0] ? detail.message : kymo_err_text(err));
    if (result.pid == 0) {
        kymo_finisher_stop(&r.finisher);
        kymo_spool_unlink(&r.spool);
        kymo_program_deinit(&r.program);
        return kymo_program_start_status(&detail);
    }
    r.names.pid = result.pid;
    /* Not the user but duration= ended it, if that much time has passed. */
    int duration_ended = result.interrupted && r.options.duration_ns != 0 &&
                         now_ns() - start_ns >= r.options.duration_ns;
    if (result.interrupted && !duration_ended && !r.quiet && !r.pid)
        say_runs_on(&result, r.program.argv[0]);
    r.is_cut = err != KYMO_OK;
    r.program_cpu_ns = result.cpu_ns;
    int own = finish(&r);
    kymo_spool_close(&r.spool);
    kymo_program_deinit(&r.program);
    if (duration_ended && !r.pid)
        wait_for_program(&result, r.quiet);
    status = r.pid ? 0 : kymo_program_exit_status(&result);
    /* The program's status is never changed, but by a failure of ours where it had none. */
    if (status == 0 && (err != KYMO_OK || own != KYMO_EXIT_OK))
        status = KYMO_EXIT_FAILED;
    return status;
}
