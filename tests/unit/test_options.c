/* SPDX-License-Identifier: Apache-2.0 */
#include "options/options.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

static kymo_err set(kymo_options *o, const char *name, const char *value, kymo_error *detail)
{
    return kymo_options_set(o, name, strlen(name), value, value ? strlen(value) : 0, detail);
}

static void defaults_are_the_tables(void **state)
{
    (void)state;
    kymo_options o;
    kymo_options_init(&o);
    assert_int_equal(o.cpu_period_ns, 1000000);
    assert_int_equal(o.engine, KYMO_ENGINE_AUTO);
    assert_int_equal(o.buffer_bytes, 0);
    assert_int_equal(o.duration_ns, 0);
    assert_int_equal(o.log_level, 1);
    assert_int_equal(o.given, 0);
    for (int i = 0; i < (int)KYMO_OPTION_COUNT; i++)
        assert_int_equal(kymo_options_get(&o, (kymo_option_id)i), kymo_option_table[i].def);
}

static void times_need_a_unit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {
        {"10us", 10000},      {"1ms", 1000000},        {"10000ns", 10000},  {"0.5s", 500000000},
        {"10s", 10000000000}, {"1.000001ms", 1000001}, {"0.00002s", 20000}, {"00010us", 10000},
        {"0.1m", 6000000000}, {"0.001h", 3600000000},  {"0.25ms", 250000},
    };
    static const char *const malformed[] = {
        "1",    "",      "ms",      "1 ms", "-1ms", "+1ms",  "1MS",  "1mss",          "1.ms",
        ".5ms", "1e3us", "1.5.5ms", "0x1s", "1ms ", "1.5ns", "auto", "1.0000000001ms"};
    static const char *const outside[] = {"0ms",
                                          "9999ns",
                                          "10.000000001s",
                                          "11s",
                                          "1h",
                                          "99999999999999999999ns",
                                          "18446744073709551615h"};
    kymo_options o;
    kymo_error e;
    kymo_options_init(&o);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(good); i++) {
        assert_int_equal(set(&o, "cpu", good[i].text, NULL), KYMO_OK);
        assert_int_equal(o.cpu_period_ns, good[i].ns);
    }
    for (size_t i = 0; i < KYMO_ARRAY_LEN(malformed); i++) {
        o.cpu_period_ns = 77;
        assert_int_equal(set(&o, "cpu", malformed[i], &e), KYMO_E_INVALID);
        assert_int_equal(o.cpu_period_ns, 77);
        assert_non_null(strstr(e.message, "option cpu"));
        assert_non_null(strstr(e.message, "from 10us to 10s"));
    }
    for (size_t i = 0; i < KYMO_ARRAY_LEN(outside); i++) {
        o.cpu_period_ns = 77;
        assert_int_equal(set(&o, "cpu", outside[i], &e), KYMO_E_RANGE);
        assert_int_equal(o.cpu_period_ns, 77);
        assert_non_null(strstr(e.message, "from 10us to 10s"));
    }
}

static void sizes_count_in_1024(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"1m", 1u << 20},   {"1048576", 1u << 20}, {"2048k", 2u << 20},
                {"4g", 4ull << 30}, {"1.5m", 3u << 19},    {"auto", 0}};
    kymo_options o;
    kymo_options_init(&o);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(good); i++) {
        assert_int_equal(set(&o, "buffer", good[i].text, NULL), KYMO_OK);
        assert_int_equal(o.buffer_bytes, good[i].bytes);
    }
    assert_int_equal(set(&o, "buffer", "1023k", NULL), KYMO_E_RANGE);
    assert_int_equal(set(&o, "buffer", "4294967297", NULL), KYMO_E_RANGE);
    assert_int_equal(set(&o, "buffer", "0", NULL), KYMO_E_RANGE);
    assert_int_equal(set(&o, "buffer", "1mb", NULL), KYMO_E_INVALID);
    assert_int_equal(set(&o, "buffer", "1M", NULL), KYMO_OK);
    assert_int_equal(o.buffer_bytes, 1u << 20);
    assert_int_equal(set(&o, "buffer", "2GiB", NULL), KYMO_OK);
    assert_int_equal(o.buffer_bytes, 2ull << 30);
    assert_int_equal(set(&o, "buffer", "1023K", NULL), KYMO_E_RANGE);
    assert_int_equal(set(&o, "depth", "1k", NULL), KYMO_E_INVALID);
    assert_int_equal(set(&o, "depth", "8", NULL), KYMO_OK);
    assert_int_equal(o.depth, 8);
    assert_int_equal(set(&o, "depth", "7", NULL), KYMO_E_RANGE);
}

static void choices_are_positions(void **state)
{
    (void)state;
    kymo_options o;
    kymo_error e;
    kymo_options_init(&o);
    assert_int_equal(set(&o, "engine", "perf", NULL), KYMO_OK);
    assert_int_equal(o.engine, KYMO_ENGINE_PERF);
    assert_int_equal(set(&o, "engine", "dispatch", NULL), KYMO_OK);
    assert_int_equal(o.engine, KYMO_ENGINE_DISPATCH);
    assert_int_equal(set(&o, "engine", "timer", NULL), KYMO_OK);
    assert_int_equal(o.engine, KYMO_ENGINE_TIMER);
    assert_int_equal(set(&o, "engine", "auto", NULL), KYMO_OK);
    assert_int_equal(o.engine, KYMO_ENGINE_AUTO);
    assert_int_equal(set(&o, "log", "debug", NULL), KYMO_OK);
    assert_int_equal(o.log_level, 3);
    assert_int_equal(set(&o, "engine", "per", &e), KYMO_E_INVALID);
    assert_non_null(strstr(e.message, "auto, perf, dispatch or timer"));
    assert_int_equal(set(&o, "engine", "auto|perf", NULL), KYMO_E_INVALID);
    assert_int_equal(set(&o, "engine", "", NULL), KYMO_E_INVALID);
}

static void signals_by_name(void **state)
{
    (void)state;
    kymo_options o;
    kymo_options_init(&o);
    assert_int_equal(set(&o, "signal", "SIGURG", NULL), KYMO_OK);
    assert_int_equal(o.signal_number, SIGURG);
    assert_int_equal(set(&o, "signal", "WINCH", NULL), KYMO_OK);
    assert_int_equal(o.signal_number, SIGWINCH);
    assert_int_equal(set(&o, "signal", "RTMAX-3", NULL), KYMO_OK);
    assert_int_equal(o.signal_number, SIGRTMAX - 3);
    assert_int_equal(set(&o, "signal", "SIGRTMIN+10", NULL), KYMO_OK);
    assert_int_equal(o.signal_number, SIGRTMIN + 10);
    assert_int_equal(set(&o, "signal", "RTMIN", NULL), KYMO_OK);
    assert_int_equal(o.signal_number, SIGRTMIN);
    assert_int_equal(set(&o, "signal", "auto", NULL), KYMO_OK);
    assert_int_equal(o.signal_number, 0);
    assert_int_equal(set(&o, "signal", "RTMAX-31", NULL), KYMO_E_RANGE);
    static const char *const bad[] = {"PROF",    "KILL",   "SIG",      "23",        "RTMAX+1",
                                      "RTMIN-1", "RTMAX-", "RTMAX-1x", "RTMIN+100", ""};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(bad); i++)
        assert_int_equal(set(&o, "signal", bad[i], NULL), KYMO_E_INVALID);
    assert_int_equal(o.signal_number, 0);
}

static void lists_of_names(void **state)
{
    static const char *const good[] = {"net",  "all:-net:disk/read", "-net", "a-b",
                                       "-a--", "Lock wait:\xc3\xa9"};
    static const char *const bad[] = {"",    ":",   "net:", ":net", "a::b", "-",
                                      "a:-", "--a", "a,b",  "a\nb", "-none"};
    char text[KYMO_OPTIONS_FORMAT_MAX];
    char longest[KYMO_OPTION_LIST_MAX + 1];
    kymo_options o;
    kymo_error e;
    (void)state;
    kymo_options_init(&o);
    assert_string_equal(kymo_options_list(&o, KYMO_OPTION_MARKERS), "");
    for (size_t i = 0; i < KYMO_ARRAY_LEN(good); i++) {
        assert_int_equal(set(&o, "markers", good[i], NULL), KYMO_OK);
        assert_string_equal(kymo_options_list(&o, KYMO_OPTION_MARKERS), good[i]);
        kymo_options again;
        kymo_options_init(&again);
        kymo_options_format(&o, text, sizeof text);
        assert_int_equal(kymo_options_parse(&again, text, NULL), KYMO_OK);
        assert_memory_equal(&o, &again, sizeof o);
    }
    kymo_options before = o;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(bad); i++) {
        assert_int_equal(set(&o, "markers", bad[i], &e), KYMO_E_INVALID);
        assert_non_null(strstr(e.message, "all, or names with colons between"));
    }
    memset(longest, 'm', sizeof longest);
    assert_int_equal(kymo_options_set(&o, "markers", 7, longest, KYMO_OPTION_LIST_MAX + 1, &e),
                     KYMO_E_RANGE);
    assert_int_equal(kymo_options_set(&o, "markers", 7, longest, KYMO_OPTION_LIST_MAX, &e),
                     KYMO_OK);
    assert_int_equal(strlen(kymo_options_list(&o, KYMO_OPTION_MARKERS)), KYMO_OPTION_LIST_MAX);
    assert_int_equal(set(&o, "markers", before.lists[0], NULL), KYMO_OK);
    assert_memory_equal(&o, &before, sizeof o);
    assert_int_equal(set(&o, "markers", NULL, &e), KYMO_E_INVALID);
    /* Its word is as if no option was given. */
    assert_int_equal(set(&o, "markers", "all", NULL), KYMO_OK);
    assert_int_equal(o.markers, 0);
    assert_string_equal(kymo_options_list(&o, KYMO_OPTION_MARKERS), "");
    kymo_options_format(&o, text, sizeof text);
    assert_string_equal(text, "markers=all");
}

static void bare_names(void **state)
{
    (void)state;
    kymo_options o;
    kymo_error e;
    kymo_options_init(&o);
    o.cpu_period_ns = 5;
    assert_int_equal(set(&o, "cpu", NULL, NULL), KYMO_OK);
    assert_int_equal(o.cpu_period_ns, 1000000);
    assert_int_equal(o.given, 1ull << KYMO_OPTION_CPU);
    assert_int_equal(set(&o, "buffer", NULL, &e), KYMO_E_INVALID);
    assert_string_equal(e.message,
                        "option buffer needs a value: buffer=SIZE, auto, or from 1m to 4g");
}

/* A word that says what files show, and leaves the period its default. */
static void all_counters_are_asked_for_by_a_word(void **state)
{
    (void)state;
    kymo_options o;
    kymo_options again;
    char text[KYMO_OPTIONS_FORMAT_MAX];
    kymo_options_init(&o);
    kymo_options_init(&again);
    assert_int_equal(o.all_counters, 0);
    assert_int_equal(kymo_options_parse(&o, "counters=all", NULL), KYMO_OK);
    assert_int_equal(o.all_counters, 1);
    assert_int_equal(o.counters_period_ns, kymo_option_table[KYMO_OPTION_COUNTERS].def);
    kymo_options_format(&o, text, sizeof text);
    assert_string_equal(text, "counters=all");
    assert_int_equal(kymo_options_parse(&again, text, NULL), KYMO_OK);
    assert_memory_equal(&o, &again, sizeof o);
    assert_int_equal(kymo_options_parse(&o, "counters=5s", NULL), KYMO_OK);
    assert_int_equal(o.all_counters, 0);
    assert_int_equal(kymo_options_parse(&o, "wall=all", NULL), KYMO_E_INVALID);
}

static void unknown_names_are_errors(void **state)
{
    (void)state;
    kymo_options o;
    kymo_error e;
    kymo_options_init(&o);
    assert_int_equal(set(&o, "cup", "1ms", &e), KYMO_E_NOT_FOUND);
    assert_string_equal(e.message, "unknown option 'cup'; did you mean 'cpu'?");
    assert_int_equal(set(&o, "frobnicate", "1", &e), KYMO_E_NOT_FOUND);
    assert_string_equal(e.message, "unknown option 'frobnicate'");
    assert_int_equal(set(&o, "", "1", &e), KYMO_E_NOT_FOUND);
    assert_int_equal(set(&o, "CPU", "1ms", &e), KYMO_E_NOT_FOUND);
    assert_int_equal(o.given, 0);
}

static void lists_are_all_or_nothing(void **state)
{
    (void)state;
    kymo_options o;
    kymo_error e;
    kymo_options_init(&o);
    assert_int_equal(kymo_options_parse(&o, "cpu=2ms,engine=timer,,depth=64,", &e), KYMO_OK);
    assert_int_equal(o.cpu_period_ns, 2000000);
    assert_int_equal(o.engine, KYMO_ENGINE_TIMER);
    assert_int_equal(o.depth, 64);
    assert_int_equal(kymo_options_parse(&o, "", &e), KYMO_OK);
    assert_int_equal(kymo_options_parse(&o, " cpu = 2500us ,\tdepth=65\n, ", &e), KYMO_OK);
    assert_int_equal(o.cpu_period_ns, 2500000);
    assert_int_equal(o.depth, 65);

    kymo_options before = o;
    assert_int_equal(kymo_options_parse(&o, "cpu=3ms,deep=9", &e), KYMO_E_NOT_FOUND);
    assert_int_equal(e.position, 8);
    assert_memory_equal(&o, &before, sizeof o);
    assert_int_equal(kymo_options_parse(&o, "cpu=3ms=4", &e), KYMO_E_INVALID);
    assert_int_equal(kymo_options_parse(&o, "=", &e), KYMO_E_NOT_FOUND);
    assert_memory_equal(&o, &before, sizeof o);

    assert_int_equal(kymo_options_parse(&o, "cpu=4ms,cpu=5ms", &e), KYMO_OK);
    assert_int_equal(o.cpu_period_ns, 5000000);
    assert_int_equal(kymo_options_parse(&o, "cpu", &e), KYMO_OK);
    assert_int_equal(o.cpu_period_ns, 1000000);
}

/* What is printed is read back to the same values, for the ends of each range and a value inside.
 */
static void format_round_trips(void **state)
{
    (void)state;
    char text[KYMO_OPTIONS_FORMAT_MAX];
    char value[KYMO_OPTION_TEXT_MAX];
    for (int id = 0; id < (int)KYMO_OPTION_COUNT; id++) {
        const kymo_option_info *info = &kymo_option_table[id];
        uint64_t values[] = {info->least, info->most, info->least + 1, info->def, 0};
        for (size_t v = 0; v < KYMO_ARRAY_LEN(values); v++) {
            kymo_options o;
            kymo_options_init(&o);
            if (info->type == KYMO_OPTION_TYPE_CHOICE || info->type == KYMO_OPTION_TYPE_SIGNAL ||
                info->type == KYMO_OPTION_TYPE_LIST)
                values[v] = info->def;
            if (values[v] == 0 && !info->word)
                values[v] = info->def;
            kymo_option_format_value((kymo_option_id)id, values[v], value);
            assert_int_equal(set(&o, info->name, value, NULL), KYMO_OK);
            assert_int_equal(kymo_options_get(&o, (kymo_option_id)id), values[v]);

            kymo_options again;
            kymo_options_init(&again);
            size_t len = kymo_options_format(&o, text, sizeof text);
            assert_int_equal(len, strlen(text));
            assert_int_equal(kymo_options_parse(&again, text, NULL), KYMO_OK);
            assert_memory_equal(&o, &again, sizeof o);
        }
    }
    kymo_options o;
    kymo_options_init(&o);
    assert_int_equal(kymo_options_format(&o, text, sizeof text), 0);
    assert_string_equal(text, "");
    assert_int_equal(
        kymo_options_parse(&o, "cpu=1500us,engine=perf,signal=RTMAX-2,duration=all", NULL),
        KYMO_OK);
    kymo_options_format(&o, text, sizeof text);
    assert_string_equal(text, "cpu=1500us,engine=perf,duration=all,signal=RTMAX-2");
}

/* Every option at its longest fits the stated buffer; a smaller buffer is never overrun. */
static void format_is_bounded(void **state)
{
    (void)state;
    kymo_options o;
    kymo_options_init(&o);
    o.given = (1ull << KYMO_OPTION_COUNT) - 1;
    o.cpu_period_ns = 9999999999;
    o.buffer_bytes = (4ull << 30) - 1;
    o.duration_ns = 366ull * 86400 * 1000000000 - 1;
    o.signal_number = (uint64_t)SIGRTMIN;
    o.markers = KYMO_OPTION_LIST_MAX;
    memset(o.lists[0], 'm', KYMO_OPTION_LIST_MAX);
    char text[KYMO_OPTIONS_FORMAT_MAX];
    size_t len = kymo_options_format(&o, text, sizeof text);
    assert_true(len < sizeof text);
    for (size_t cap = 0; cap <= len; cap++) {
        char *small = malloc(cap + 1);
        assert_non_null(small);
        memset(small, 'x', cap + 1);
        assert_int_equal(kymo_options_format(&o, small, cap), len);
        assert_int_equal(small[cap], 'x');
        if (cap > 0)
            assert_int_equal(strlen(small), cap - 1);
        free(small);
    }
}

static void ranges_read_well(void **state)
{
    (void)state;
    char text[KYMO_OPTION_TEXT_MAX];
    assert_string_equal(kymo_option_format_range(KYMO_OPTION_CPU, text), "from 10us to 10s");
    assert_string_equal(kymo_option_format_range(KYMO_OPTION_BUFFER, text),
                        "auto, or from 1m to 4g");
    assert_string_equal(kymo_option_format_range(KYMO_OPTION_DURATION, text),
                        "all, or from 1ms to 8784h");
    assert_string_equal(kymo_option_format_range(KYMO_OPTION_LOG, text),
                        "error, warn, info or debug");
    /* None is cut by its buffer. */
    for (int id = 0; id < (int)KYMO_OPTION_COUNT; id++)
        assert_true(strlen(kymo_option_format_range((kymo_option_id)id, text)) + 1 < sizeof text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_the_tables),
        cmocka_unit_test(times_need_a_unit),
        cmocka_unit_test(sizes_count_in_1024),
        cmocka_unit_test(choices_are_positions),
        cmocka_unit_test(signals_by_name),
        cmocka_unit_test(bare_names),
        cmocka_unit_test(unknown_names_are_errors),
        cmocka_unit_test(lists_are_all_or_nothing),
        cmocka_unit_test(format_round_trips),
        cmocka_unit_test(format_is_bounded),
        cmocka_unit_test(ranges_read_well),
        cmocka_unit_test(lists_of_names),
        cmocka_unit_test(all_counters_are_asked_for_by_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
