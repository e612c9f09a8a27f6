/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server of an agent is started, started again when it ends, and told what the agent counts;
 * with workers that do what a test says.
 */
#include "agent/pull.h"

#include <string.h>
#include <unistd.h>

#include "agent/pull_text.h"
#include "base/log.h"
#include "empty_folder.h"

#define OK(call) assert_int_equal((call), KYMO_OK)
#define MS 1000000ull

static struct {
    int starts;
    int has_ended;
    int stops;
    kymo_err error;
} fake;

static kymo_err fake_start(struct kymo_worker *worker, kymo_worker_work *work, void *context,
                           const int *fds, size_t count)
{
    const struct kymo_pull_work *w = context;
    assert_true(work == kymo_pull_serve);
    assert_int_equal(count, 1);
    assert_int_equal(fds[0], w->listener);
    assert_int_equal(w->recorder, getpid());
    worker->pid = 1;
    fake.has_ended = 0;
    if (fake.error == KYMO_OK)
        fake.starts++;
    return fake.error;
}

static int fake_has_ended(struct kymo_worker *worker, struct kymo_worker_result *result)
{
    (void)worker;
    if (fake.has_ended)
        result->error = (kymo_error){.code = KYMO_E_CLOSED, .message = "killed"};
    return fake.has_ended;
}

static void fake_stop(struct kymo_worker *worker)
{
    (void)worker;
    fake.stops++;
}

static const struct kymo_deliver_workers workers = {fake_start, fake_has_ended, fake_stop};
static const struct kymo_pull_figures no_figures;
static char *const argv[] = {(char[]){"/usr/bin/prog"}, (char[]){"-v"}, NULL};

static void begin(struct kymo_pull *pull, struct kymo_agent_settings *settings)
{
    memset(&fake, 0, sizeof fake);
    kymo_log_set_level(KYMO_LOG_ERROR);
    kymo_agent_settings_init(settings);
    OK(kymo_agent_settings_set(settings, "listen", "unix:socket", NULL));
    OK(kymo_pull_open(pull, settings, argv, &workers, 0, NULL));
    assert_int_equal(fake.starts, 1);
}

static void without_an_address_there_is_none(void **state)
{
    struct kymo_agent_settings settings;
    struct kymo_pull pull;
    (void)state;
    memset(&fake, 0, sizeof fake);
    kymo_agent_settings_init(&settings);
    OK(kymo_pull_open(&pull, &settings, argv, &workers, 0, NULL));
    kymo_pull_round(&pull, &no_figures, 1);
    assert_true(kymo_pull_end(&pull));
    kymo_pull_close(&pull);
    assert_int_equal(fake.starts, 0);
}

static void one_that_ends_is_started_again_after_a_pause(void **state)
{
    static struct kymo_agent_settings settings;
    struct kymo_pull pull;
    uint64_t now_ns = 0;
    (void)state;
    begin(&pull, &settings);
    /* It dies each time: pauses of 100, 200, 400 ms and so on, up to 10 s. */
    for (int i = 0; i < 600; i++, now_ns += 100 * MS) {
        fake.has_ended = 1;
        kymo_pull_round(&pull, &no_figures, now_ns);
    }
    assert_true(fake.starts >= 8 && fake.starts <= 14);
    /* One that has run for long is started at once. */
    fake.has_ended = 0;
    now_ns += 20000 * MS;
    kymo_pull_round(&pull, &no_figures, now_ns);
    now_ns += 20000 * MS;
    kymo_pull_round(&pull, &no_figures, now_ns);
    int before = fake.starts;
    fake.has_ended = 1;
    kymo_pull_round(&pull, &no_figures, now_ns);
    assert_int_equal(fake.starts, before + 1);
    /* No process can be had. */
    fake.error = KYMO_E_NOMEM;
    fake.has_ended = 1;
    kymo_pull_round(&pull, &no_figures, now_ns + 1000 * MS);
    fake.error = KYMO_OK;
    kymo_pull_round(&pull, &no_figures, now_ns + 60000 * MS);
    assert_int_equal(fake.starts, before + 2);
    assert_int_equal(pull.starts, fake.starts);
    kymo_pull_close(&pull);
    assert_int_equal(fake.stops, 1);
    assert_int_equal(access("socket", F_OK), -1);
}

static void at_the_end_it_is_waited_for(void **state)
{
    static struct kymo_agent_settings settings;
    struct kymo_pull pull;
    (void)state;
    begin(&pull, &settings);
    assert_false(kymo_pull_end(&pull));
    kymo_pull_round(&pull, &no_figures, 1);
    assert_int_equal(pull.page->is_ending, 1);
    fake.has_ended = 1;
    assert_true(kymo_pull_end(&pull));
    kymo_pull_round(&pull, &no_figures, 60000 * MS);
    assert_int_equal(fake.starts, 1);
    kymo_pull_close(&pull);
    assert_int_equal(fake.stops, 0);
}

static void what_is_told_is_in_the_texts(void **state)
{
    static struct kymo_agent_settings settings;
    struct kymo_pull pull;
    struct kymo_pull_figures f = {.program = getpid(),
                                  .intervals = 7,
                                  .lost_records = 3,
                                  .handler_ns = 1500000000,
                                  .reason = "a \"quoted\" reason"};
    struct kymo_pull_figures got;
    kymo_str text = {0};
    (void)state;
    begin(&pull, &settings);
    OK(kymo_agent_settings_set(&settings, "reporter", "local:secret-folder", NULL));
    OK(kymo_agent_settings_check(&settings, NULL));
    f.reporters[0] = (struct kymo_pull_reporter){5, 2, 1, 1764202470000000000ull};
    kymo_pull_round(&pull, &f, 1);
    kymo_pull_page_read(pull.page, &got);
    assert_int_equal(got.intervals, 7);
    assert_int_equal(got.server_starts, 1);
    kymo_pull_write_metrics(&text, &pull.work, &got);
    static const char *const metrics[] = {
        "\nkymo_agent_intervals_total 7\n",
        "\nkymo_agent_lost_records_total 3\n",
        "\nkymo_agent_handler_seconds_total 1.5\n",
        "\nkymo_agent_profiles_delivered_total{reporter=\"1\",kind=\"local\"} 5\n",
        "\nkymo_agent_delivery_failures_total{reporter=\"1\",kind=\"local\"} 2\n",
        "\nkymo_agent_profiles_dropped_total{reporter=\"1\",kind=\"local\"} 1\n",
        "{reporter=\"1\",kind=\"local\"} 1764202470\n",
        "\nprocess_resident_memory_bytes ",
        "\nkymo_agent_server_starts_total 1\n",
    };
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        if (!strstr(kymo_str_cstr(&text), metrics[i]))
            fail_msg("no %s in %s", metrics[i], kymo_str_cstr(&text));
    /* A target may have a password in it. */
    assert_null(strstr(kymo_str_cstr(&text), "secret-folder"));
    kymo_str_deinit(&text);
    got.program = 0;
    kymo_pull_write_cmdline(&text, &pull.work, &got);
    assert_int_equal(text.len, strlen("/usr/bin/prog") + 3);
    assert_memory_equal(text.data, "/usr/bin/prog\0-v", text.len);
    kymo_str_deinit(&text);
    kymo_pull_close(&pull);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_an_address_there_is_none, enter, leave),
        cmocka_unit_test_setup_teardown(one_that_ends_is_started_again_after_a_pause, enter, leave),
        cmocka_unit_test_setup_teardown(at_the_end_it_is_waited_for, enter, leave),
        cmocka_unit_test_setup_teardown(what_is_told_is_in_the_texts, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
