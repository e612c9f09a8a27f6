/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks_kinds.c - one marker of each kind and format, and of each option. The truth is made beside
 * each of them, by hand: a name, and for fields their value as the program has it, with its kind.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "marks.h"

static int told_count;

/* One more element of the list of markers. */
static void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("%s\n", told_count++ ? "," : "");
    vprintf(format, arguments);
    va_end(arguments);
}

/* ---- one of everything ---- */

#define EVERY_KIND(F)                        \
    F(bool, yes, "Yes", STRING, 0)           \
    F(i8, a_i8, NULL, INTEGER, 0)            \
    F(u8, a_u8, NULL, INTEGER, 0)            \
    F(i16, a_i16, NULL, INTEGER, 0)          \
    F(u16, a_u16, NULL, INTEGER, 0)          \
    F(i32, a_i32, NULL, INTEGER, 0)          \
    F(u32, a_u32, NULL, INTEGER, 0)          \
    F(i64, a_i64, NULL, INTEGER, 0)          \
    F(u64, a_u64, NULL, INTEGER, 0)          \
    F(f32, a_f32, NULL, DECIMAL, 0)          \
    F(f64, a_f64, NULL, DECIMAL, 0)          \
    F(literal, a_literal, NULL, STRING, 0)   \
    F(str, a_str, NULL, STRING, 0)           \
    F(text, a_text, NULL, STRING, 0)         \
    F(utf16, a_utf16, NULL, STRING, 0)       \
    F(time, a_time, NULL, TIME, 0)           \
    F(ns, a_ns, NULL, DURATION, 0)           \
    F(ptr, a_ptr, NULL, STRING, 0)           \
    F(flow, a_flow, NULL, FLOW_ID, 0)        \
    F(cells, a_list, NULL, LIST, 0)          \
    F(opt_i64, an_opt_i64, NULL, INTEGER, 0) \
    F(opt_u64, an_opt_u64, NULL, INTEGER, 0) \
    F(opt_f64, an_opt_f64, NULL, DECIMAL, 0) \
    F(opt_i64, absent_i64, NULL, INTEGER, 0) \
    F(str, absent_str, NULL, STRING, 0)      \
    F(cells, absent_list, NULL, LIST, 0)
static const struct kymo_mark_row every_kind_rows[] = {{"Made by", "a workload"}, {NULL, NULL}};
static const struct kymo_mark_graph every_kind_graphs[] = {
    {"a_u32", KYMO_GRAPH_LINE, KYMO_COLOR_RED}, {NULL, 0, 0}};
KYMO_TYPE(every_kind, "EveryKind", EVERY_KIND, .show = KYMO_SHOW_CHART | KYMO_SHOW_OVERVIEW,
          .chart = KYMO_SHOWN_AS(every_kind, "", a_str, ""),
          .tooltip = KYMO_SHOWN_AS(every_kind, "of ", a_str, " and ", a_u64, ""),
          .table = "{marker.name}: {marker.data.a_i8}", .description = "One of each kind.",
          .rows = every_kind_rows, .graphs = every_kind_graphs);

#define EVERY_FORMAT(F)                                        \
    F(str, url, "URL", URL, 0)                                 \
    F(str, file_path, NULL, FILE_PATH, 0)                      \
    F(str, sanitized_string, NULL, SANITIZED_STRING, 0)        \
    F(str, string, NULL, STRING, KYMO_FIELD_SEARCHABLE)        \
    F(str, unique_string, NULL, UNIQUE_STRING, 0)              \
    F(flow, flow_id, NULL, FLOW_ID, 0)                         \
    F(flow, terminating_flow_id, NULL, TERMINATING_FLOW_ID, 0) \
    F(ns, duration, NULL, DURATION, 0)                         \
    F(time, time, NULL, TIME, 0)                               \
    F(ns, seconds, NULL, SECONDS, 0)                           \
    F(ns, milliseconds, NULL, MILLISECONDS, 0)                 \
    F(ns, microseconds, NULL, MICROSECONDS, 0)                 \
    F(ns, nanoseconds, NULL, NANOSECONDS, 0)                   \
    F(u64, bytes, NULL, BYTES, 0)                              \
    F(f64, percentage, NULL, PERCENTAGE, 0)                    \
    F(i32, integer, NULL, INTEGER, 0)                          \
    F(f64, decimal, NULL, DECIMAL, 0)                          \
    F(u32, hexadecimal, NULL, HEXADECIMAL, 0)                  \
    F(u32, pid, NULL, PID, 0)                                  \
    F(u32, tid, NULL, TID, KYMO_FIELD_HIDDEN)                  \
    F(cells, list, NULL, LIST, 0)                              \
    F(cells, table, "Files|Name:string|Size:bytes", TABLE, 0)
KYMO_TYPE(every_format, "EveryFormat", EVERY_FORMAT, .show = 0,
          KYMO_ALL_LABELS(every_format, "", url, ""));

#define PLAIN_NAME "{\"name\":\"%s\",\"category\":\"Plain\""

static void every_kind(void)
{
    static const uint16_t utf16[] = {'n', 0xe4, 0xd83d, 0xde00}; /* "nä" and a smile */
    static const char counted[] = "counted, not this";
    const struct kymo_mark_cell list[] = {KYMO_CELL(-1), KYMO_CELL("two"), KYMO_CELL(3.5)};
    uint64_t now = kymo_now();
    KYMO_MARKER_T(plain, "every kind", every_kind, .yes = true, .a_i8 = INT8_MIN, .a_u8 = UINT8_MAX,
                  .a_i16 = INT16_MIN, .a_u16 = UINT16_MAX, .a_i32 = INT32_MIN, .a_u32 = UINT32_MAX,
                  .a_i64 = INT64_MIN, .a_u64 = UINT64_MAX, .a_f32 = 0.5f, .a_f64 = -0.1,
                  .a_literal = KYMO_LITERAL("literal"), .a_str = "str",
                  .a_text = KYMO_TEXT(counted, 7), .a_utf16 = KYMO_UTF16(utf16, 4), .a_time = now,
                  .a_ns = 1500000, .a_ptr = (const void *)(uintptr_t)0xdeadbeef,
                  .a_flow = kymo_flow(42), .a_list = {list, 3}, .an_opt_i64 = KYMO_SOME(-7),
                  .an_opt_u64 = KYMO_SOME(UINT64_MAX), .an_opt_f64 = KYMO_SOME(2.5));
    tell("{\"name\":\"every kind\",\"category\":\"Plain\",\"type\":\"EveryKind\",\"data\":{"
         "\"yes\":[\"bool\",true],\"a_i8\":[\"number\",\"-128\"],\"a_u8\":[\"number\",\"255\"],"
         "\"a_i16\":[\"number\",\"-32768\"],\"a_u16\":[\"number\",\"65535\"],"
         "\"a_i32\":[\"number\",\"-2147483648\"],\"a_u32\":[\"number\",\"4294967295\"],"
         "\"a_i64\":[\"number\",\"-9223372036854775808\"],"
         "\"a_u64\":[\"number\",\"18446744073709551615\"],\"a_f32\":[\"number\",\"0.5\"],"
         "\"a_f64\":[\"number\",\"-0.1\"],\"a_literal\":[\"text\",\"literal\"],"
         "\"a_str\":[\"text\",\"str\"],\"a_text\":[\"text\",\"counted\"],"
         "\"a_utf16\":[\"text\",\"n\\u00e4\\ud83d\\ude00\"],\"a_time\":[\"time\",\"%llu\"],"
         "\"a_ns\":[\"ms\",\"1.5\"],\"a_ptr\":[\"text\",\"0xdeadbeef\"],\"a_flow\":[\"flow\","
         "\"42\"],"
         "\"a_list\":[\"list\",[\"-1\",\"two\",\"3.5\"]],\"an_opt_i64\":[\"number\",\"-7\"],"
         "\"an_opt_u64\":[\"number\",\"18446744073709551615\"],\"an_opt_f64\":[\"number\",\"2.5\"],"
         "\"absent_i64\":null,\"absent_str\":null,\"absent_list\":null}}",
         (unsigned long long)kymo_now_to_ns(now));
}

static void every_format(void)
{
    const struct kymo_mark_cell list[] = {KYMO_CELL("a"), KYMO_CELL("b")};
    const struct kymo_mark_cell table[] = {KYMO_CELL("one"), KYMO_CELL(1), KYMO_CELL("two"),
                                           KYMO_CELL(2)};
    uint64_t now = kymo_now();
    KYMO_MARKER_T(plain, "every format", every_format, .url = "https://example.org/?a=b",
                  .file_path = "/etc/passwd", .sanitized_string = "sanitized", .string = "string",
                  .unique_string = "unique", .flow_id = kymo_flow(42),
                  .terminating_flow_id = kymo_flow(43), .duration = 2500000, .time = now,
                  .seconds = 3000000000, .milliseconds = 4000000, .microseconds = 5000,
                  .nanoseconds = 6, .bytes = 1536, .percentage = 0.5, .integer = -7,
                  .decimal = 8.25, .hexadecimal = 255, .pid = (uint32_t)getpid(),
                  .tid = (uint32_t)syscall(SYS_gettid), .list = {list, 2}, .table = {table, 4});
    tell("{\"name\":\"every format\",\"category\":\"Plain\",\"type\":\"EveryFormat\",\"data\":{"
         "\"url\":[\"text\",\"https://example.org/?a=b\"],\"file_path\":[\"text\",\"/etc/passwd\"],"
         "\"sanitized_string\":[\"text\",\"sanitized\"],\"string\":[\"text\",\"string\"],"
         "\"unique_string\":[\"unique\",\"unique\"],\"flow_id\":[\"flow\",\"42\"],"
         "\"terminating_flow_id\":[\"flow\",\"43\"],\"duration\":[\"ms\",\"2.5\"],"
         "\"time\":[\"time\",\"%llu\"],\"bytes\":[\"number\",\"1536\"],"
         "\"percentage\":[\"number\",\"0.5\"],\"integer\":[\"number\",\"-7\"],"
         "\"decimal\":[\"number\",\"8.25\"],\"hexadecimal\":[\"number\",\"255\"],"
         "\"seconds\":[\"ms\",\"3000\"],\"milliseconds\":[\"ms\",\"4\"],"
         "\"microseconds\":[\"number\",\"5.0\"],\"nanoseconds\":[\"number\",\"6\"],"
         "\"pid\":[\"number\",\"%d\"],\"tid\":[\"number\",\"%d\"],"
         "\"list\":[\"list\",[\"a\",\"b\"]],\"table\":[\"table\",[[\"one\",\"1\"],[\"two\",\"2\"]]]"
         "}}",
         (unsigned long long)kymo_now_to_ns(now), (int)getpid(), (int)syscall(SYS_gettid));
}

static int leave_early(int early)
{
    KYMO_SCOPE(plain, "left early");
    if (early)
        return 1;
    KYMO_MARKER(plain, "never reached");
    return 0;
}

static void *end_interval(void *id)
{
    KYMO_INTERVAL_END_T(plain, "hops", *(uint64_t *)id, numbered, .stream = 1, .number = 2,
                        .check = 3);
    return NULL;
}

void marks_kinds(void)
{
    printf("{\"markers\":[");
    KYMO_MARKER(plain, "instant");
    tell(PLAIN_NAME ",\"phase\":0}", "instant");
    KYMO_MARKER(part, "in a part");
    tell("{\"name\":\"in a part\",\"category\":\"Plain\",\"subcategory\":\"Part\"}");
    KYMO_MARKER(other, "uncategorized");
    tell("{\"name\":\"uncategorized\",\"category\":\"Other\"}");
    char text[32];
    snprintf(text, sizeof(text), "text %d", 1);
    KYMO_MARKER_TEXT(plain, "text", text);
    memset(text, 'x', sizeof(text) - 1); /* it was copied */
    tell(PLAIN_NAME ",\"text\":\"text 1\"}", "text");
    KYMO_MARKER_FMT(plain, "formatted", "%s: %5.1f%% of %zu [%-4d|%04x|%c]", "done", 12.5,
                    (size_t)80, 7, 255u, 'c');
    tell(PLAIN_NAME ",\"text\":\"done:  12.5%% of 80 [7   |00ff|c]\"}", "formatted");
    int one = 1;
    double half = 0.5;
    KYMO_MARKER_VALUES(plain, "values", one, half + 1, "three");
    tell(PLAIN_NAME ",\"values\":[\"1\",\"1.5\",\"three\"]}", "values");
    every_kind();
    every_format();

    {
        KYMO_SCOPE(plain, "scope");
        KYMO_SCOPE_T(plain, "scope with payload", numbered, payload);
        payload.stream = 7;
        payload.number = 8;
        KYMO_SCOPE_T(plain, "cancelled", numbered, cancelled);
        KYMO_SCOPE_CANCEL(cancelled);
        KYMO_SCOPE_MIN(plain, "too short", 3600000000000);
        KYMO_SCOPE_MIN(plain, "long enough", 1);
        KYMO_SCOPE_OPT(plain, "scope with owner", KYMO_OPTIONS(.owner = 17));
    }
    tell(PLAIN_NAME ",\"phase\":1}", "scope");
    tell(PLAIN_NAME ",\"phase\":1,\"type\":\"Numbered\",\"data\":{\"stream\":[\"number\",\"7\"],"
                    "\"number\":[\"number\",\"8\"]}}",
         "scope with payload");
    tell(PLAIN_NAME ",\"count\":0}", "cancelled");
    tell(PLAIN_NAME ",\"count\":0}", "too short");
    tell(PLAIN_NAME ",\"phase\":1}", "long enough");
    tell(PLAIN_NAME ",\"phase\":1,\"owner\":17}", "scope with owner");
    leave_early(1);
    tell(PLAIN_NAME ",\"phase\":1}", "left early");
    tell(PLAIN_NAME ",\"count\":0}", "never reached");

    pthread_t thread;
    uint64_t id = KYMO_INTERVAL_BEGIN(plain, "hops");
    must(pthread_create(&thread, NULL, end_interval, &id) == 0, "pthread_create");
    pthread_join(thread, NULL);
    tell(PLAIN_NAME ",\"phase\":1,\"tid\":%d,\"type\":\"Numbered\",\"data\":"
                    "{\"stream\":[\"number\",\"1\"],\"number\":[\"number\",\"2\"]}}",
         "hops", (int)getpid());
    (void)KYMO_INTERVAL_BEGIN(plain, "never ended");
    tell(PLAIN_NAME ",\"phase\":2}", "never ended");
    KYMO_MARKER(quiet, "quiet");
    tell("{\"name\":\"quiet\",\"category\":\"Quiet\",\"count\":0}");
    struct kymo_mark_stats stats = {0};
    int err = kymo_markers_stats(&stats);
    printf("],\"library\":%s,\"err\":%d,\"on\":%d,\"written\":%llu}\n",
           err == KYMO_NO_LIBRARY ? "false" : "true", err, KYMO_IS_ON(plain),
           (unsigned long long)stats.written);
}

/* ---- options ---- */

static pthread_barrier_t registered;

static void *stand_by(void *tid)
{
    *(int *)tid = (int)syscall(SYS_gettid);
    KYMO_MARKER(plain, "standing by");
    pthread_barrier_wait(&registered);
    pthread_barrier_wait(&registered);
    return NULL;
}

static KEPT uint64_t take_stack_here(void)
{
    uint64_t stack = kymo_stack();
    burnt++;
    return stack;
}

static KEPT void mark_with_stack(void)
{
    KYMO_MARKER_OPT(plain, "with stack", KYMO_OPTIONS(.stack = KYMO_STACK_HERE));
    burnt++;
}

struct of_another {
    uint64_t stack;
    int tid;
};

static void *use_stack_of_another(void *argument)
{
    struct of_another *shared = argument;
    shared->tid = (int)syscall(SYS_gettid);
    KYMO_MARKER_OPT(plain, "with another's stack", KYMO_OPTIONS(.stack = shared->stack));
    KYMO_MARKER_OPT(plain, "for main", KYMO_OPTIONS(.thread = KYMO_THREAD_MAIN));
    return NULL;
}

void marks_options(void)
{
    int tid = 0;
    pthread_t thread;
    printf("{\"markers\":[");
    uint64_t from = kymo_now(), from_ns = kymo_now_to_ns(from);
    while (clock_ns(CLOCK_MONOTONIC) < from_ns + 3000000)
        ;
    uint64_t at = kymo_now_from_ns(from_ns + 1000000), to = kymo_now_from_ns(from_ns + 2000000);
    KYMO_MARKER_OPT(plain, "at", KYMO_OPTIONS(.timing = KYMO_TIMING_AT, .start = at));
    tell(PLAIN_NAME ",\"phase\":0,\"start\":%llu}", "at", (unsigned long long)from_ns + 1000000);
    KYMO_MARKER_T_OPT(plain, "interval", numbered,
                      KYMO_OPTIONS(.timing = KYMO_TIMING_INTERVAL, .start = at, .end = to),
                      .stream = 9);
    tell(PLAIN_NAME ",\"phase\":1,\"start\":%llu,\"end\":%llu,\"type\":\"Numbered\"}", "interval",
         (unsigned long long)from_ns + 1000000, (unsigned long long)from_ns + 2000000);
    KYMO_MARKER_OPT(plain, "since", KYMO_OPTIONS(.timing = KYMO_TIMING_SINCE, .start = from));
    tell(PLAIN_NAME ",\"phase\":1,\"start\":%llu,\"least_ns\":3000000}", "since",
         (unsigned long long)from_ns);
    KYMO_MARKER_OPT(plain, "halves",
                    KYMO_OPTIONS(.timing = KYMO_TIMING_START, .id = 4711, .start = at));
    KYMO_MARKER_OPT(plain, "halves",
                    KYMO_OPTIONS(.timing = KYMO_TIMING_END, .id = 4711, .end = to));
    tell(PLAIN_NAME ",\"phase\":1,\"start\":%llu,\"end\":%llu}", "halves",
         (unsigned long long)from_ns + 1000000, (unsigned long long)from_ns + 2000000);
    KYMO_MARKER_OPT(plain, "only an end", KYMO_OPTIONS(.timing = KYMO_TIMING_END, .id = 4712));
    tell(PLAIN_NAME ",\"phase\":3}", "only an end");

    must(pthread_barrier_init(&registered, NULL, 2) == 0, "pthread_barrier_init");
    must(pthread_create(&thread, NULL, stand_by, &tid) == 0, "pthread_create");
    pthread_barrier_wait(&registered);
    KYMO_MARKER_OPT(plain, "for another", KYMO_OPTIONS(.thread = (uint32_t)tid));
    pthread_barrier_wait(&registered);
    pthread_join(thread, NULL);
    tell(PLAIN_NAME ",\"tid\":%d}", "for another", tid);

    KYMO_MARKER_OPT(plain, "on a track", KYMO_OPTIONS(.track = kymo_track("Track one")));
    tell(PLAIN_NAME ",\"track\":\"Track one\"}", "on a track");
    KYMO_MARKER_OPT(plain, "owned", KYMO_OPTIONS(.owner = 12345));
    tell(PLAIN_NAME ",\"owner\":12345}", "owned");
    char name[16];
    int len = snprintf(name, sizeof(name), "dynamic %d", 1);
    KYMO_MARKER_OPT(plain, "not this", KYMO_OPTIONS(.name = name, .name_len = (uint32_t)len));
    memset(name, 'x', sizeof(name));
    tell(PLAIN_NAME "}", "dynamic 1");
    tell(PLAIN_NAME ",\"count\":0}", "not this");

    mark_with_stack();
    tell(PLAIN_NAME ",\"function\":\"mark_with_stack\"}", "with stack");
    struct of_another shared = {.stack = take_stack_here()};
    must(pthread_create(&thread, NULL, use_stack_of_another, &shared) == 0, "pthread_create");
    pthread_join(thread, NULL);
    tell(PLAIN_NAME ",\"function\":\"take_stack_here\",\"tid\":%d}", "with another's stack",
         shared.tid);
    tell(PLAIN_NAME ",\"tid\":%d}", "for main", (int)getpid());
    printf("]}\n");
}
