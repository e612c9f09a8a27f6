/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/settings.h"

#include "agent/pull.h"
#include "empty_folder.h"

#define OK(call) assert_int_equal((call), KYMO_OK)

static void each_setting_is_set_and_kept(void **state)
{
    (void)state;
    struct kymo_agent_settings s;
    kymo_error detail;
    kymo_agent_settings_init(&s);
    assert_int_equal(s.interval_ns, 30000000000ull);
    OK(kymo_agent_settings_parse(&s,
                                 "agent,report=1s,wall=100ms,reporter=local:one,format=jfr,keep=7,"
                                 "keep-bytes=3m,keep-age=2h,reporter=local:a%2Cb,spool=/var/x,"
                                 "spool-bytes=5k,deadline=3s,cpu=2ms",
                                 &detail));
    assert_int_equal(s.interval_ns, 1000000000);
    assert_int_equal(s.recording.wall_period_ns, 100000000);
    assert_int_equal(s.recording.cpu_period_ns, 2000000);
    assert_int_equal(s.deadline_ns, 3000000000ull);
    assert_int_equal(s.spool_bytes, 5120);
    assert_string_equal(s.spool, "/var/x");
    assert_int_equal(s.n_reporters, 2);
    assert_string_equal(s.reporters[0].target, "one");
    assert_string_equal(s.reporters[0].extension, ".jfr");
    assert_int_equal(s.reporters[0].keep.files, 7);
    assert_int_equal(s.reporters[0].keep.bytes, 3u << 20);
    assert_int_equal(s.reporters[0].keep.age_ns, 7200000000000ull);
    assert_string_equal(s.reporters[1].target, "a,b");
    OK(kymo_agent_settings_check(&s, &detail));
    assert_string_equal(s.reporters[1].extension, ".kymo");
}

static void a_format_has_several_names(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"kymo", ".kymo"},    {".kymo", ".kymo"},    {"pprof", ".pb.gz"},
        {"pb.gz", ".pb.gz"},  {".pb.gz", ".pb.gz"},  {"jfr", ".jfr"},
        {"otlp", ".otlp.gz"}, {"folded", ".folded"}, {"json.gz", ".json.gz"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct kymo_agent_settings s;
        kymo_agent_settings_init(&s);
        OK(kymo_agent_settings_set(&s, "format", names[i][0], NULL));
        OK(kymo_agent_settings_set(&s, "reporter", "local:d", NULL));
        OK(kymo_agent_settings_check(&s, NULL));
        assert_string_equal(s.reporters[0].extension, names[i][1]);
    }
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"report=5", "report=5: it takes a time with its unit, such as 30s"},
        {"report=1ms", "report=1ms: it takes a time with its unit, such as 30s"},
        {"reporter=ftp://x", "reporter=ftp://x: it takes local:DIR, s3://BUCKET/PREFIX, "
                             "https://HOST/PATH, pyroscope+http://HOST or otlp+http://HOST"},
        {"reporter=ftp://me:secret@x/y?z=secret",
         "reporter=ftp://x/y: it takes local:DIR, s3://BUCKET/PREFIX, https://HOST/PATH, "
         "pyroscope+http://HOST or otlp+http://HOST"},
        {"format=xml", "format=xml: it takes kymo, jfr, pb.gz (pprof), json.gz (Firefox Profiler), "
                       "otlp, folded, svg or trace.json"},
        {"keep=3", "keep= comes after the reporter it is of"},
        {"reporter=local:x,keep=three", "keep=three: it takes a number"},
        {"spool-bytes=99999999999999g",
         "spool-bytes=99999999999999g: it takes a size, such as 64m"},
        {"split=thread", "split=thread: it takes process or none"},
        {"colour=red", "unknown option 'colour'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct kymo_agent_settings s;
        kymo_error detail = {0};
        kymo_agent_settings_init(&s);
        assert_int_not_equal(kymo_agent_settings_parse(&s, wrong[i][0], &detail), KYMO_OK);
        assert_string_equal(detail.message, wrong[i][1]);
    }
}

static void split_chooses_a_format(void **state)
{
    (void)state;
    struct kymo_agent_settings s;
    kymo_error detail = {0};
    kymo_agent_settings_init(&s);
    OK(kymo_agent_settings_parse(&s, "split=process,reporter=local:/tmp", NULL));
    assert_true(s.split_processes);
    OK(kymo_agent_settings_check(&s, &detail));
    assert_string_equal(s.reporters[0].extension, ".pb.gz");
    kymo_agent_settings_init(&s);
    OK(kymo_agent_settings_parse(&s, "split=process,reporter=local:/tmp,format=kymo", NULL));
    assert_int_equal(kymo_agent_settings_check(&s, &detail), KYMO_E_INVALID);
    assert_string_equal(detail.message,
                        "split=process is not for format=kymo: a recording is of all "
                        "processes");
    kymo_agent_settings_init(&s);
    OK(kymo_agent_settings_parse(&s, "split=process,split=none,reporter=local:/tmp", NULL));
    OK(kymo_agent_settings_check(&s, &detail));
    assert_string_equal(s.reporters[0].extension, ".kymo");
}

static void labels_and_where_it_runs(void **state)
{
    (void)state;
    struct kymo_agent_settings s;
    kymo_agent_settings_init(&s);
    OK(kymo_agent_settings_parse(&s, "reporter=local:d,label=team=a%2Cb,label=x/y=1=2", NULL));
    assert_string_equal(kymo_metadata_get(&s.labels, "team"), "a,b");
    assert_string_equal(kymo_metadata_get(&s.labels, "x/y"), "1=2");
    /* A local reporter alone causes no request. */
    assert_false(kymo_agent_settings_want_metadata(&s));
    OK(kymo_agent_settings_parse(&s, "reporter=s3://bucket/x", NULL));
    assert_true(kymo_agent_settings_want_metadata(&s));
    OK(kymo_agent_settings_parse(&s, "metadata=none", NULL));
    assert_false(kymo_agent_settings_want_metadata(&s));
    OK(kymo_agent_settings_parse(&s, "metadata=auto,reporter=https://host/x", NULL));
    assert_true(kymo_agent_settings_want_metadata(&s));
    assert_string_equal(s.reporters[2].kind->prefix, "https://");
    assert_string_equal(s.reporters[2].target, "host/x");
    OK(kymo_agent_settings_parse(&s, "metadata=host.id=i-0", NULL));
    assert_false(kymo_agent_settings_want_metadata(&s));
    assert_string_equal(kymo_metadata_get(&s.labels, "host.id"), "i-0");
    static const char *const wrong[] = {
        "label=x", "label==x", "label=x=", "label=a b=c", "metadata=off", "metadata=a b=c"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(kymo_agent_settings_parse(&s, wrong[i], NULL), KYMO_E_INVALID);
}

static void servers_have_formats_of_their_own(void **state)
{
    (void)state;
    static const char *const names[][3] = {
        {"reporter=pyroscope+http://h", "pyroscope+http://", ".pb.gz"},
        {"reporter=pyroscope-ingest+https://h", "pyroscope-ingest+https://", ".pb.gz"},
        {"reporter=otlp+http://h", "otlp+http://", ".otlp"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct kymo_agent_settings s;
        kymo_error detail = {0};
        kymo_agent_settings_init(&s);
        OK(kymo_agent_settings_parse(&s, "format=jfr", NULL));
        OK(kymo_agent_settings_parse(&s, names[i][0], NULL));
        assert_string_equal(s.reporters[0].kind->prefix, names[i][1]);
        assert_true(kymo_agent_settings_want_metadata(&s));
        /* The format of all is not theirs; one that is given to them is an error. */
        kymo_err err = kymo_agent_settings_check(&s, &detail);
        assert_int_not_equal(err, KYMO_E_INVALID);
        assert_string_equal(s.reporters[0].extension, names[i][2]);
        kymo_agent_settings_init(&s);
        OK(kymo_agent_settings_parse(&s, names[i][0], NULL));
        OK(kymo_agent_settings_parse(&s, "format=jfr", NULL));
        assert_int_equal(kymo_agent_settings_check(&s, &detail), KYMO_E_INVALID);
    }
}

static void what_cannot_work_is_refused(void **state)
{
    (void)state;
    struct kymo_agent_settings s;
    kymo_error detail;
    kymo_agent_settings_init(&s);
    assert_int_equal(kymo_agent_settings_check(&s, &detail), KYMO_E_INVALID);
    put("file", "no folder");
    OK(kymo_agent_settings_set(&s, "reporter", "local:file", NULL));
    assert_int_not_equal(kymo_agent_settings_check(&s, &detail), KYMO_OK);
    assert_string_equal(detail.message, "file: cannot open the folder: Not a directory");
    assert_int_equal(symlink("/tmp", "link"), 0);
    kymo_agent_settings_init(&s);
    OK(kymo_agent_settings_set(&s, "reporter", "local:link", NULL));
    assert_int_not_equal(kymo_agent_settings_check(&s, &detail), KYMO_OK);
    kymo_agent_settings_init(&s);
    OK(kymo_agent_settings_parse(&s, "reporter=local:d,ring=1m", NULL));
    assert_int_equal(kymo_agent_settings_check(&s, &detail), KYMO_E_INVALID);
    kymo_agent_settings_init(&s);
    for (uint32_t i = 0; i < KYMO_AGENT_REPORTERS; i++)
        OK(kymo_agent_settings_set(&s, "reporter", "local:d", NULL));
    assert_int_equal(kymo_agent_settings_set(&s, "reporter", "local:d", NULL), KYMO_E_FULL);
}

static void a_server_needs_no_reporter_but_a_token(void **state)
{
    (void)state;
    static const char *const local[] = {"0", "[::1]:0", "unix:socket"};
    struct kymo_agent_settings s;
    kymo_error detail;
    if (kymo_pull_check(&detail) != KYMO_OK) {
        kymo_agent_settings_init(&s);
        OK(kymo_agent_settings_set(&s, "listen", "0", NULL));
        assert_int_equal(kymo_agent_settings_check(&s, &detail), KYMO_E_UNSUPPORTED);
        return;
    }
    for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
        kymo_agent_settings_init(&s);
        OK(kymo_agent_settings_set(&s, "listen", local[i], NULL));
        OK(kymo_agent_settings_check(&s, &detail));
        assert_string_equal(s.token, "");
    }
    kymo_agent_settings_init(&s);
    OK(kymo_agent_settings_set(&s, "listen", "0.0.0.0:0", NULL));
    assert_int_equal(kymo_agent_settings_check(&s, &detail), KYMO_E_INVALID);
    assert_string_equal(detail.message,
                        "http://0.0.0.0:0 can be reached from other machines: --listen-token=FILE "
                        "names the file of a token that they must send");
    put("token", "0123456789abcdef\n");
    OK(kymo_agent_settings_parse(&s, "listen-token=token", NULL));
    OK(kymo_agent_settings_check(&s, &detail));
    assert_string_equal(s.token, "0123456789abcdef");
    OK(kymo_agent_settings_parse(&s, "listen-token=none", NULL));
    assert_int_not_equal(kymo_agent_settings_check(&s, &detail), KYMO_OK);
    assert_int_equal(kymo_agent_settings_set(&s, "listen", "somewhere", &detail), KYMO_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_setting_is_set_and_kept, enter, leave),
        cmocka_unit_test_setup_teardown(a_format_has_several_names, enter, leave),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(split_chooses_a_format),
        cmocka_unit_test(labels_and_where_it_runs),
        cmocka_unit_test(servers_have_formats_of_their_own),
        cmocka_unit_test_setup_teardown(what_cannot_work_is_refused, enter, leave),
        cmocka_unit_test_setup_teardown(a_server_needs_no_reporter_but_a_token, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
