/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent on a virtual clock, with an engine, workers and reporters that do what a test says.
 */
#include "agent/reporting.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/interval.h"
#include "agent/metadata_find.h"
#include "base/log.h"
#include "unit.h"

#define OK(call) assert_int_equal((call), KYMO_OK)
#define SECOND 1000000000ull
#define EPOCH (1764202470ull * SECOND)

/* ---- the system ---- */

struct worker_state {
    int is_used;
    int is_encoder;
    int is_finder;
    uint64_t ends_ns;
    struct kymo_worker_result result;
};

static struct {
    uint64_t now_ns;
    int64_t clock_error_ns; /* of the clock of the day */
    uint64_t encoding_ns;   /* how long it takes */
    uint64_t reporting_ns;
    uint64_t finding_ns; /* of metadata */
    unsigned findings;
    int is_empty; /* the intervals that are encoded */
    kymo_err encode_error;
    kymo_err report_error;
    struct worker_state workers[64];
    int stopped;
    char reported[4096]; /* a line for each profile that came */
    unsigned reports;
    enum kymo_part missing; /* a part of which there is nothing */
    char parts[64];         /* a letter for each part that came */
    char remote[64];        /* what the last profile for the network knew */
    unsigned remote_reports;
} fake;

static uint64_t fake_monotonic(void *context)
{
    (void)context;
    return fake.now_ns;
}

static uint64_t fake_realtime(void *context)
{
    (void)context;
    return EPOCH + fake.now_ns + (uint64_t)fake.clock_error_ns;
}

static void fake_pause(void *context, uint64_t ns)
{
    (void)context;
    fake.now_ns += ns;
}

/* What the real one would do in a process: the content of each file is the segment's. */
static kymo_err encode(const struct kymo_interval_work *work, struct kymo_worker_result *result)
{
    char text[64];
    ssize_t n = pread(work->segment, text, sizeof text, 0);
    assert_true(n >= 0);
    result->figures[KYMO_INTERVAL_IS_EMPTY] = (uint64_t)fake.is_empty;
    result->figures[KYMO_INTERVAL_LOST] = 3;
    for (size_t i = 0; i < work->n_files && !fake.is_empty; i++)
        if (work->files[i].fd != work->segment &&
            (fake.missing == KYMO_PART_ALL || work->files[i].part != fake.missing))
            assert_int_equal(write(work->files[i].fd, text, (size_t)n), n);
    return fake.encode_error;
}

static kymo_err find(const int *fd)
{
    static struct kymo_metadata m;
    memset(&m, 0, sizeof m);
    OK(kymo_metadata_put(&m, "host.id", "i-0"));
    OK(kymo_metadata_put(&m, "team", "found"));
    assert_int_equal(pwrite(*fd, &m, sizeof m, 0), sizeof m);
    fake.findings++;
    return KYMO_OK;
}

static kymo_err fake_start(struct kymo_worker *worker, kymo_worker_work *work, void *context,
                           const int *fds, size_t count)
{
    (void)count;
    assert_true(fcntl(fds[0], F_GETFD) >= 0);
    for (int i = 0; i < 64; i++) {
        struct worker_state *w = &fake.workers[i];
        if (w->is_used)
            continue;
        *w = (struct worker_state){.is_used = 1,
                                   .is_encoder = work == kymo_interval_encode,
                                   .is_finder = work == kymo_metadata_find};
        w->ends_ns = fake.now_ns + (w->is_encoder  ? fake.encoding_ns
                                    : w->is_finder ? fake.finding_ns
                                                   : fake.reporting_ns);
        kymo_err err = w->is_encoder  ? encode(context, &w->result)
                       : w->is_finder ? find(context)
                                      : work(context, &w->result);
        if (err != KYMO_OK)
            kymo_error_set(&w->result.error, err, 0, "%s", "as the test wants it");
        worker->pid = i + 1;
        return KYMO_OK;
    }
    fail_msg("too many workers");
    return KYMO_E_FULL;
}

static int fake_has_ended(struct kymo_worker *worker, struct kymo_worker_result *result)
{
    struct worker_state *w = &fake.workers[worker->pid - 1];
    if (fake.now_ns < w->ends_ns)
        return 0;
    *result = w->result;
    w->is_used = 0;
    return 1;
}

static void fake_stop(struct kymo_worker *worker)
{
    fake.workers[worker->pid - 1].is_used = 0;
    fake.stopped++;
}

static const struct kymo_deliver_workers fake_workers = {fake_start, fake_has_ended, fake_stop};
static const struct kymo_reporting_system fake_system = {fake_monotonic, fake_realtime, fake_pause,
                                                         &fake_workers, NULL};

/* ---- a reporter ---- */

static kymo_err check(const struct kymo_reporter *r, kymo_error *detail)
{
    (void)r;
    (void)detail;
    return KYMO_OK;
}

static kymo_err report(const struct kymo_reporter *r, const struct kymo_interval_profile *p,
                       kymo_error *detail)
{
    char text[64] = "";
    (void)detail;
    if (fake.report_error != KYMO_OK)
        return fake.report_error;
    assert_int_equal(pread(p->fd, text, sizeof text - 1, 0), (ssize_t)p->bytes);
    snprintf(fake.reported + strlen(fake.reported), sizeof fake.reported - strlen(fake.reported),
             "%s %llu %s %s %g-%g\n", r->target, (unsigned long long)p->number, text, p->extension,
             (double)(int64_t)(p->start_ns - EPOCH) / 1e9,
             (double)(int64_t)(p->end_ns - EPOCH) / 1e9);
    fake.reports++;
    return KYMO_OK;
}

static const struct kymo_reporter_kind to_test = {
    .prefix = "test:", .extension = ".jfr", .check = check, .report = report};

static kymo_err report_remote(const struct kymo_reporter *r, const struct kymo_interval_profile *p,
                              kymo_error *detail)
{
    const char *id = kymo_metadata_get(p->who->metadata, "host.id");
    const char *team = kymo_metadata_get(p->who->metadata, "team");
    fake.remote_reports++;
    snprintf(fake.remote, sizeof fake.remote, "%s %s %d", id ? id : "-", team ? team : "-",
             p->who->has_looked);
    return report(r, p, detail);
}

static const struct kymo_reporter_kind remote = {.prefix = "remote:",
                                                 .extension = ".jfr",
                                                 .check = check,
                                                 .report = report_remote,
                                                 .is_remote = 1};

static kymo_err report_part(const struct kymo_reporter *r, const struct kymo_interval_profile *p,
                            kymo_error *detail)
{
    (void)r;
    (void)detail;
    assert_string_equal(p->extension, ".jfr");
    assert_true(p->bytes > 0);
    fake.parts[strlen(fake.parts)] = "-cwh"[p->part];
    return KYMO_OK;
}

static const struct kymo_reporter_kind in_parts = {
    .prefix = "parts:", .extension = ".jfr", .check = check, .report = report_part, .in_parts = 1};

/* ---- an engine ---- */

struct run {
    struct kymo_agent_settings settings;
    kymo_reporting *agent;
    const struct kymo_launch_intervals *intervals;
    int file;
    uint64_t start_ns;
    unsigned n;
};

static int count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void begin(struct run *run, unsigned reporters)
{
    memset(&fake, 0, sizeof fake);
    memset(run, 0, sizeof *run);
    fake.now_ns = 1000 * SECOND;
    kymo_log_set_level(KYMO_LOG_ERROR);
    kymo_agent_settings_init(&run->settings);
    for (unsigned i = 0; i < reporters; i++) {
        struct kymo_reporter *r = &run->settings.reporters[i];
        r->kind = &to_test;
        snprintf(r->target, sizeof r->target, "r%u", i);
        strcpy(r->extension, i % 2 ? ".kymo" : ".jfr");
    }
    run->settings.n_reporters = reporters;
    OK(kymo_reporting_create(&run->settings, (char *const[]){"/usr/bin/prog", NULL}, &fake_system,
                             &run->agent, NULL));
    run->intervals = kymo_reporting_intervals(run->agent);
    run->file = kymo_reporting_open_file(run->agent, NULL);
    assert_true(run->file >= 0);
    run->intervals->started(run->intervals->context, 42);
    run->start_ns = fake.now_ns;
}

static void end_interval(struct run *run, int is_last)
{
    char text[32];
    int next = -1;
    snprintf(text, sizeof text, "JFR%u", run->n++);
    assert_int_equal(write(run->file, text, strlen(text)), strlen(text));
    const struct kymo_launch_interval interval = {
        .fd = run->file,
        .start_ns = run->start_ns,
        .end_ns = fake.now_ns,
        .start_realtime_ns = EPOCH + run->start_ns,
        .end_realtime_ns = fake_realtime(NULL),
        .is_last = is_last,
    };
    OK(run->intervals->ended(run->intervals->context, &interval, is_last ? NULL : &next, NULL));
    run->file = next;
    run->start_ns = fake.now_ns;
}

/* As kymo_launch does it: rounds, and an end when one is due. */
static void pass(struct run *run, uint64_t ns)
{
    const uint64_t until_ns = fake.now_ns + ns;
    while (fake.now_ns < until_ns) {
        fake.now_ns += SECOND / 10;
        run->intervals->round(run->intervals->context, fake.now_ns);
        if (fake.now_ns >= run->intervals->due_ns(run->intervals->context))
            end_interval(run, 0);
    }
}

static int finish(struct run *run)
{
    end_interval(run, 1);
    return kymo_reporting_finish(run->agent, run->settings.deadline_ns);
}

static struct kymo_reporting_counts end(struct run *run)
{
    struct kymo_reporting_counts status;
    kymo_reporting_count(run->agent, &status);
    kymo_reporting_destroy(run->agent);
    return status;
}

/* ---- what is tested ---- */

static void it_ticks_and_reports(void **state)
{
    (void)state;
    const int before = count_descriptors();
    struct run run;
    begin(&run, 2);
    fake.encoding_ns = SECOND;
    fake.reporting_ns = SECOND / 2;
    pass(&run, 65 * SECOND);
    assert_true(finish(&run));
    struct kymo_reporting_counts s = end(&run);
    assert_string_equal(fake.reported, "r0 1 JFR0 .jfr 1000-1030\n"
                                       "r1 1 JFR0 .kymo 1000-1030\n"
                                       "r0 2 JFR1 .jfr 1030-1060\n"
                                       "r1 2 JFR1 .kymo 1030-1060\n"
                                       "r0 3 JFR2 .jfr 1060-1065\n"
                                       "r1 3 JFR2 .kymo 1060-1065\n");
    assert_int_equal(s.intervals, 3);
    assert_int_equal(s.delivered, 6);
    assert_int_equal(s.lost_records, 9);
    assert_int_equal(s.failures + s.dropped + s.broken + s.empty, 0);
    /* Files have no name, and nothing of them stays. */
    assert_int_equal(count_descriptors(), before);
}

static void an_empty_interval_is_counted_and_not_sent(void **state)
{
    (void)state;
    struct run run;
    begin(&run, 1);
    fake.is_empty = 1;
    pass(&run, 95 * SECOND);
    assert_int_equal(fake.reports, 0);
    /* The last one says how the program ended. */
    assert_true(finish(&run));
    struct kymo_reporting_counts s = end(&run);
    assert_int_equal(fake.reports, 1);
    assert_int_equal(s.empty, 3);
    assert_int_equal(s.intervals, 4);
}

static void a_failing_reporter_gets_each_profile_once(void **state)
{
    (void)state;
    struct run run;
    begin(&run, 1);
    fake.report_error = KYMO_E_IO;
    pass(&run, 300 * SECOND);
    assert_int_equal(fake.reports, 0);
    fake.report_error = KYMO_OK;
    /* The longest pause is a minute. */
    pass(&run, 61 * SECOND);
    assert_true(finish(&run));
    struct kymo_reporting_counts s = end(&run);
    assert_int_equal(fake.reports, 13);
    assert_int_equal(s.delivered, 13);
    assert_int_equal(s.dropped, 0);
    /* After 1, 2, 4, ... 60 seconds, each shortened by chance to a half at least. */
    assert_in_range(s.failures, 7, 17);
    for (unsigned i = 0; i < 13; i++) {
        char line[32];
        snprintf(line, sizeof line, " JFR%u ", i);
        assert_non_null(strstr(fake.reported, line));
    }
}

static void what_waits_is_bounded(void **state)
{
    (void)state;
    struct run run;
    begin(&run, 1);
    run.settings.spool_bytes = 10; /* two of "JFRn" and a half */
    kymo_reporting_destroy(run.agent);
    close(run.file);
    OK(kymo_reporting_create(&run.settings, (char *const[]){"prog", NULL}, &fake_system, &run.agent,
                             NULL));
    run.intervals = kymo_reporting_intervals(run.agent);
    run.file = kymo_reporting_open_file(run.agent, NULL);
    run.intervals->started(run.intervals->context, 42);
    fake.report_error = KYMO_E_IO;
    pass(&run, 305 * SECOND);
    fake.report_error = KYMO_OK;
    assert_true(finish(&run));
    struct kymo_reporting_counts s = end(&run);
    /* The newest are kept: 9, 10 (5 bytes: "JFR10"). */
    assert_int_equal(s.delivered, 2);
    assert_int_equal(s.dropped, 9);
    assert_non_null(strstr(fake.reported, "JFR9 "));
    assert_non_null(strstr(fake.reported, "JFR10 "));
}

/* Small profiles that wait for long would take every descriptor. */
static void what_waits_leaves_descriptors(void **state)
{
    (void)state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct run run;
    begin(&run, 1);
    const struct rlimit few = {64, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    fake.report_error = KYMO_E_IO;
    pass(&run, 305 * SECOND);
    fake.report_error = KYMO_OK;
    assert_true(finish(&run));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    struct kymo_reporting_counts s = end(&run);
    assert_int_equal(s.delivered, 4);
    assert_int_equal(s.dropped, 7);
    assert_non_null(strstr(fake.reported, "JFR7 "));
    assert_non_null(strstr(fake.reported, "JFR10 "));
}

/* The second reporter is on the network. */
static void begin_remote(struct run *run, uint64_t finding_ns)
{
    begin(run, 2);
    kymo_reporting_destroy(run->agent);
    close(run->file);
    run->settings.reporters[1].kind = &remote;
    OK(kymo_metadata_put(&run->settings.labels, "team", "mine"));
    fake.finding_ns = finding_ns;
    OK(kymo_reporting_create(&run->settings, (char *const[]){"prog", NULL}, &fake_system,
                             &run->agent, NULL));
    run->intervals = kymo_reporting_intervals(run->agent);
    run->file = kymo_reporting_open_file(run->agent, NULL);
    run->intervals->started(run->intervals->context, 42);
}

static void profiles_for_the_network_wait_for_metadata(void **state)
{
    (void)state;
    const int before = count_descriptors();
    struct run run;
    begin_remote(&run, 2 * SECOND);
    assert_int_equal(fake.findings, 1);
    pass(&run, SECOND);
    end_interval(&run, 0);
    pass(&run, SECOND / 2);
    /* The folder has it, the network not yet. */
    assert_int_equal(fake.reports, 1);
    assert_int_equal(fake.remote_reports, 0);
    pass(&run, SECOND);
    assert_int_equal(fake.remote_reports, 1);
    /* What was found, and labels before it. */
    assert_string_equal(fake.remote, "i-0 mine 1");
    assert_true(finish(&run));
    (void)end(&run);
    assert_int_equal(fake.findings, 1);
    assert_int_equal(count_descriptors(), before);
}

static void metadata_that_does_not_come_is_not_waited_for(void **state)
{
    (void)state;
    struct run run;
    begin_remote(&run, 1000 * SECOND);
    pass(&run, 4 * SECOND);
    end_interval(&run, 0);
    assert_int_equal(fake.remote_reports, 0);
    pass(&run, 2 * SECOND);
    assert_int_equal(fake.stopped, 1);
    assert_int_equal(fake.remote_reports, 1);
    assert_string_equal(fake.remote, "i-0 mine 1");
    assert_true(finish(&run));
    (void)end(&run);
}

static void a_folder_alone_causes_no_look_for_metadata(void **state)
{
    (void)state;
    struct run run;
    begin(&run, 2);
    assert_true(finish(&run));
    (void)end(&run);
    assert_int_equal(fake.findings, 0);
}

/* Each part is a profile; one that has nothing is none. Others of that format get the whole. */
static void some_reporters_get_an_interval_in_parts(void **state)
{
    (void)state;
    struct run run;
    const int before = count_descriptors();
    begin(&run, 4);
    run.settings.reporters[2].kind = &in_parts;
    fake.missing = KYMO_PART_WALL;
    pass(&run, 31 * SECOND);
    pass(&run, SECOND);
    assert_string_equal(fake.parts, "ch");
    assert_int_equal(fake.reports, 3);
    fake.missing = KYMO_PART_ALL;
    assert_true(finish(&run));
    assert_string_equal(fake.parts, "chcwh");
    assert_int_equal(fake.reports, 6);
    kymo_reporting_destroy(run.agent);
    assert_int_equal(count_descriptors(), before);
}

static void a_reporter_that_hangs_is_ended(void **state)
{
    (void)state;
    struct run run;
    begin(&run, 2);
    fake.reporting_ns = 3600 * SECOND;
    pass(&run, 200 * SECOND);
    assert_in_range(fake.stopped, 2, 6);
    fake.reporting_ns = 0;
    pass(&run, 120 * SECOND);
    assert_true(finish(&run));
    struct kymo_reporting_counts s = end(&run);
    /* The test's report comes through at once, so each try was one. */
    assert_int_equal(s.delivered, 22);
    assert_int_equal(s.dropped, 0);
}

static void what_is_refused_for_good_is_dropped(void **state)
{
    (void)state;
    struct run run;
    begin(&run, 1);
    fake.report_error = KYMO_E_INVALID;
    pass(&run, 31 * SECOND);
    fake.report_error = KYMO_OK;
    pass(&run, 31 * SECOND);
    assert_true(finish(&run));
    struct kymo_reporting_counts s = end(&run);
    assert_int_equal(s.dropped, 1);
    assert_int_equal(s.delivered, 2);
    assert_string_equal(s.reason.message, "as the test wants it");
}

static void an_interval_that_cannot_be_encoded_is_one_only(void **state)
{
    (void)state;
    struct run run;
    begin(&run, 1);
    fake.encode_error = KYMO_E_NOMEM;
    pass(&run, 31 * SECOND);
    fake.encode_error = KYMO_OK;
    assert_true(finish(&run));
    struct kymo_reporting_counts s = end(&run);
    assert_int_equal(s.broken, 1);
    assert_int_equal(s.delivered, 1);
}

static void encoding_that_does_not_keep_up_loses_the_oldest(void **state)
{
    (void)state;
    const int before = count_descriptors();
    struct run run;
    begin(&run, 1);
    fake.encoding_ns = 100 * SECOND;
    pass(&run, 1200 * SECOND);
    struct kymo_reporting_counts s = end(&run);
    close(run.file);
    assert_int_equal(s.intervals, 40);
    /* A third is encoded, eight wait, the rest is lost and counted. */
    assert_in_range(s.broken, 15, 25);
    assert_int_equal(count_descriptors(), before);
}

static void a_clock_that_is_set_moves_nothing(void **state)
{
    (void)state;
    struct run run;
    begin(&run, 1);
    pass(&run, 30 * SECOND);
    fake.clock_error_ns = -3600 * (int64_t)SECOND;
    pass(&run, 30 * SECOND);
    fake.clock_error_ns = 0;
    pass(&run, 30 * SECOND);
    assert_true(finish(&run));
    (void)end(&run);
    assert_string_equal(fake.reported, "r0 1 JFR0 .jfr 1000-1030\n"
                                       "r0 2 JFR1 .jfr -2570--2540\n"
                                       "r0 3 JFR2 .jfr 1060-1090\n"
                                       "r0 4 JFR3 .jfr 1090-1090\n");
}

static void the_end_waits_no_longer_than_its_deadline(void **state)
{
    (void)state;
    const int before = count_descriptors();
    struct run run;
    begin(&run, 1);
    fake.report_error = KYMO_E_IO;
    pass(&run, 31 * SECOND);
    const uint64_t from_ns = fake.now_ns;
    assert_false(finish(&run));
    assert_in_range(fake.now_ns - from_ns, 10 * SECOND, 11 * SECOND);
    (void)end(&run);
    assert_int_equal(count_descriptors(), before);
}

static void a_wait_for_the_next_try_ends_with_the_program(void **state)
{
    (void)state;
    struct run run;
    begin(&run, 1);
    fake.report_error = KYMO_E_IO;
    pass(&run, 200 * SECOND);
    fake.report_error = KYMO_OK;
    const uint64_t from_ns = fake.now_ns;
    assert_true(finish(&run));
    assert_true(fake.now_ns - from_ns < SECOND);
    assert_int_equal(end(&run).delivered, 7);
}

static void a_flush_ends_an_interval_early(void **state)
{
    (void)state;
    struct run run;
    begin(&run, 1);
    pass(&run, 10 * SECOND);
    run.intervals->flush(run.intervals->context);
    pass(&run, SECOND / 10);
    run.intervals->flush(run.intervals->context);
    pass(&run, 31 * SECOND);
    assert_true(finish(&run));
    assert_string_equal(fake.reported, "r0 1 JFR0 .jfr 1000-1010.1\n"
                                       "r0 2 JFR1 .jfr 1010.1-1010.2\n"
                                       "r0 3 JFR2 .jfr 1010.2-1040.2\n"
                                       "r0 4 JFR3 .jfr 1040.2-1041.1\n");
    assert_int_equal(end(&run).intervals, 4);
}

static void the_status_is_json_without_secrets(void **state)
{
    (void)state;
    static kymo_json json;
    kymo_bytes bytes;
    struct run run;
    begin(&run, 1);
    strcpy(run.settings.reporters[0].target, "https://me:secret@store/x?token=secret");
    fake.report_error = KYMO_E_IO;
    pass(&run, 30 * SECOND + SECOND / 2); /* one try, and no second one within half a second */
    fake.report_error = KYMO_OK;
    pass(&run, 60 * SECOND);
    kymo_bytes_init(&bytes, 1 << 16);
    kymo_json_init(&json, &bytes.sink);
    kymo_json_begin_object(&json);
    run.intervals->status(run.intervals->context, &json);
    kymo_json_end_object(&json);
    OK(kymo_json_finish(&json));
    OK(kymo_bytes_append(&bytes, "", 1));
    assert_string_equal(
        (const char *)bytes.data,
        "{\"agent\":{\"version\":\"" KYMO_VERSION
        "\",\"program_start\":\"2025-11-27T00:31:10.000Z\",\"interval_ns\":30000000000,"
        "\"intervals\":3,\"empty\":0,\"broken\":0,"
        "\"lost_records\":9,\"last_error\":null,\"waiting\":0,\"samples\":0,\"handler_ns\":0,"
        "\"reporters\":[{\"reporter\":"
        "\"test:https://store/x\",\"format\":\".jfr\",\"delivered\":3,\"failures\":1,"
        "\"dropped\":0,\"waiting\":0,\"waiting_bytes\":0,\"last_delivery\":"
        "\"2025-11-27T00:32:40.200Z\",\"last_error\":\"as the test wants it\"}]}}");
    kymo_bytes_deinit(&bytes);
    close(run.file);
    (void)end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_ticks_and_reports),
        cmocka_unit_test(an_empty_interval_is_counted_and_not_sent),
        cmocka_unit_test(a_failing_reporter_gets_each_profile_once),
        cmocka_unit_test(what_waits_is_bounded),
        cmocka_unit_test(what_waits_leaves_descriptors),
        cmocka_unit_test(profiles_for_the_network_wait_for_metadata),
        cmocka_unit_test(metadata_that_does_not_come_is_not_waited_for),
        cmocka_unit_test(a_folder_alone_causes_no_look_for_metadata),
        cmocka_unit_test(some_reporters_get_an_interval_in_parts),
        cmocka_unit_test(a_reporter_that_hangs_is_ended),
        cmocka_unit_test(what_is_refused_for_good_is_dropped),
        cmocka_unit_test(an_interval_that_cannot_be_encoded_is_one_only),
        cmocka_unit_test(encoding_that_does_not_keep_up_loses_the_oldest),
        cmocka_unit_test(a_clock_that_is_set_moves_nothing),
        cmocka_unit_test(the_end_waits_no_longer_than_its_deadline),
        cmocka_unit_test(a_wait_for_the_next_try_ends_with_the_program),
        cmocka_unit_test(a_flush_ends_an_interval_early),
        cmocka_unit_test(the_status_is_json_without_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
