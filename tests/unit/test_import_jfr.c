/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files as the JVM and as async-profiler write them, and damaged ones. Kymo's own are in
 * test_import_round.c.
 */
#include <stdlib.h>

#include "jfr_fixture.h"

/* ---- classes of events ---- */

#define THREAD                                                         \
    {                                                                  \
        .name = "sampledThread", .type = KYMO_JFR_THREAD, .is_pool = 1 \
    }
#define STATE                                                        \
    {                                                                \
        .name = "state", .type = KYMO_JFR_THREAD_STATE, .is_pool = 1 \
    }
#define NUMBER(field)                          \
    {                                          \
        .name = (field), .type = KYMO_JFR_LONG \
    }
#define TEXT(field)                              \
    {                                            \
        .name = (field), .type = KYMO_JFR_STRING \
    }

KYMO_JFR_EVENT(execution, "jdk.ExecutionSample", 101, KYMO_JFR_START, THREAD, KYMO_JFR_STACK,
               STATE);
KYMO_JFR_EVENT(wall, "profiler.WallClockSample", 102, KYMO_JFR_START, THREAD, KYMO_JFR_STACK, STATE,
               NUMBER("samples"), NUMBER("timeSpan"));
KYMO_JFR_EVENT(setting, "jdk.ActiveSetting", 103, KYMO_JFR_START, NUMBER("id"), TEXT("name"),
               TEXT("value"));
KYMO_JFR_EVENT(unknown, "some.Event", 104, KYMO_JFR_START, TEXT("one"),
               {.name = "many", .type = KYMO_JFR_STACK_FRAME, .is_array = 1});
KYMO_JFR_EVENT(in_buffer, "jdk.ObjectAllocationInNewTLAB", 105, KYMO_JFR_START,
               KYMO_JFR_EVENT_THREAD, KYMO_JFR_STACK,
               {.name = "objectClass", .type = KYMO_JFR_CLASS, .is_pool = 1},
               NUMBER("allocationSize"), NUMBER("tlabSize"));
KYMO_JFR_EVENT(outside, "jdk.ObjectAllocationOutsideTLAB", 106, KYMO_JFR_START,
               KYMO_JFR_EVENT_THREAD, KYMO_JFR_STACK,
               {.name = "objectClass", .type = KYMO_JFR_CLASS, .is_pool = 1},
               NUMBER("allocationSize"));
KYMO_JFR_EVENT(enter, "jdk.JavaMonitorEnter", 107, KYMO_JFR_START, KYMO_JFR_DURATION,
               KYMO_JFR_EVENT_THREAD, KYMO_JFR_STACK,
               {.name = "monitorClass", .type = KYMO_JFR_CLASS, .is_pool = 1});
KYMO_JFR_EVENT(malloc_event, "profiler.Malloc", 108, KYMO_JFR_START, KYMO_JFR_EVENT_THREAD,
               KYMO_JFR_STACK, NUMBER("address"), NUMBER("size"));
KYMO_JFR_EVENT(free_event, "profiler.Free", 109, KYMO_JFR_START, KYMO_JFR_EVENT_THREAD,
               KYMO_JFR_STACK, NUMBER("address"));
KYMO_JFR_EVENT(jvm, "jdk.JVMInformation", 110, KYMO_JFR_START, TEXT("javaArguments"),
               NUMBER("pid"));
KYMO_JFR_EVENT(samples_lost, "jdk.CPUTimeSamplesLost", 112, KYMO_JFR_START, NUMBER("lostSamples"));
KYMO_JFR_EVENT(data_loss, "jdk.DataLoss", 113, KYMO_JFR_START, NUMBER("amount"));
KYMO_JFR_EVENT(library, "jdk.NativeLibrary", 111, KYMO_JFR_START, TEXT("name"));

KYMO_JFR_EVENT(cpu_time, "jdk.CPUTimeSample", 114, KYMO_JFR_START, KYMO_JFR_STACK,
               KYMO_JFR_EVENT_THREAD, NUMBER("samplingPeriod"));
KYMO_JFR_EVENT(native, "jdk.NativeMethodSample", 115, KYMO_JFR_START, THREAD, KYMO_JFR_STACK,
               STATE);
KYMO_JFR_EVENT(live, "profiler.LiveObject", 116, KYMO_JFR_START, KYMO_JFR_EVENT_THREAD,
               KYMO_JFR_STACK, NUMBER("allocationSize"));

static const kymo_jfr_type *const all_types[] = {
    &execution,  &wall, &setting, &unknown,      &in_buffer, &outside,  &enter,  &malloc_event,
    &free_event, &jvm,  &library, &samples_lost, &data_loss, &cpu_time, &native, &live};
enum { ALL_TYPES = sizeof all_types / sizeof *all_types };

static void end(struct jfr_chunk *c, kymo_jfr_bytes *file)
{
    jfr_chunk_end(c, all_types, ALL_TYPES, file);
}

/* An event of numbers alone. */
static void put(struct jfr_chunk *c, const kymo_jfr_type *type, const uint64_t *numbers,
                size_t count)
{
    size_t begin = kymo_jfr_event_begin(&c->events, type->id);
    for (size_t i = 0; i < count; i++)
        kymo_jfr_varint(&c->events, numbers[i]);
    kymo_jfr_event_end(&c->events, begin);
}
#define PUT(chunk, type, ...)                       \
    put((chunk), (type), (uint64_t[]){__VA_ARGS__}, \
        sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void put_setting(struct jfr_chunk *c, const kymo_jfr_type *of, const char *name,
                        const char *value)
{
    size_t begin = kymo_jfr_event_begin(&c->events, setting.id);
    kymo_jfr_varint(&c->events, 0);
    kymo_jfr_varint(&c->events, of->id);
    kymo_jfr_cstr(&c->events, name);
    kymo_jfr_cstr(&c->events, value);
    kymo_jfr_event_end(&c->events, begin);
}

/* ---- constants ---- */

/* Types of frames by key, as async-profiler has them; the JVM has no "Kernel". */
static const char *const frame_types[] = {"Interpreted", "JIT compiled", "Inlined",
                                          "Native",      "C++",          "Kernel"};
enum { INTERPRETED, JIT, INLINED, NATIVE, CPP, KERNEL };

static const char *const class_names[] = {"java/lang/String", "libc.so.6", "", "[[I", "a/B"};
static const char *const method_names[] = {"main", "read", "vfs_read", "hash", "run"};
enum { STRING_CLASS = 1, LIBC_CLASS, NO_CLASS, INTS_CLASS, B_CLASS };

struct frame {
    uint32_t class, method, line, type;
};

static void put_stack(kymo_jfr_bytes *out, uint32_t key, int is_truncated, const struct frame *f,
                      uint32_t count)
{
    kymo_jfr_varint(out, key);
    kymo_jfr_u8(out, (uint8_t)is_truncated);
    kymo_jfr_varint(out, count);
    for (uint32_t i = 0; i < count; i++) {
        kymo_jfr_varint(out, f[i].class * 10 + f[i].method);
        kymo_jfr_varint(out, f[i].line);
        kymo_jfr_varint(out, 0);
        kymo_jfr_varint(out, f[i].type);
    }
}

/* Each class has each method, whose key is ten times the class's and the method's. */
static void put_names(struct jfr_chunk *c, uint32_t frame_type_count)
{
    jfr_texts(c, KYMO_JFR_FRAME_TYPE, 0, frame_types, frame_type_count);
    jfr_texts(c, KYMO_JFR_SYMBOL, 1, class_names, 5);
    jfr_texts(c, KYMO_JFR_SYMBOL, 11, method_names, 5);
    kymo_jfr_bytes *pool = jfr_pool(c, KYMO_JFR_CLASS, 5);
    for (uint32_t i = 1; i <= 5; i++) {
        kymo_jfr_varint(pool, i);
        kymo_jfr_varint(pool, 0);
        kymo_jfr_varint(pool, i);
        kymo_jfr_varint(pool, 0);
        kymo_jfr_varint(pool, 0);
    }
    pool = jfr_pool(c, KYMO_JFR_METHOD, 25);
    for (uint32_t i = 0; i < 25; i++) {
        kymo_jfr_varint(pool, (i / 5 + 1) * 10 + i % 5);
        kymo_jfr_varint(pool, i / 5 + 1);
        kymo_jfr_varint(pool, 11 + i % 5);
        kymo_jfr_varint(pool, 0);
        kymo_jfr_varint(pool, 0);
        kymo_jfr_u8(pool, 0);
    }
}

/* Thread 5 is of Java, thread 6 is not. States are 1: runnable, 2: sleeping. */
static void put_threads(struct jfr_chunk *c)
{
    static const char *const states[] = {"STATE_RUNNABLE", "STATE_SLEEPING"};
    kymo_jfr_bytes *pool = jfr_pool(c, KYMO_JFR_THREAD, 2);
    for (uint32_t i = 5; i <= 6; i++) {
        kymo_jfr_varint(pool, i);
        kymo_jfr_cstr(pool, i == 5 ? "Thread-0" : "GC");
        kymo_jfr_varint(pool, 1000 + i);
        kymo_jfr_cstr(pool, i == 5 ? "worker" : NULL);
        kymo_jfr_varint(pool, i == 5 ? 17 : 0);
    }
    jfr_texts(c, KYMO_JFR_THREAD_STATE, 1, states, 2);
}

/* ---- what is asked of profiles ---- */

static kymo_report *report_of(const kymo_profile *p, const char *type)
{
    uint32_t count;
    const kymo_sample_type *types = kymo_profile_sample_types(p, &count);
    kymo_report_options options = {.size = sizeof options, .kind = count};
    kymo_report *report = NULL;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(types[i].name, type) == 0)
            options.kind = i;
    if (options.kind == count)
        fail_msg("there is no type %s", type);
    ok(kymo_report_create(p, &options, &report));
    return report;
}

static void assert_total(const kymo_profile *p, const char *type, uint64_t total)
{
    kymo_report *report = report_of(p, type);
    assert_int_equal(kymo_report_total(report), total);
    kymo_report_destroy(report);
}

/* ---- tests ---- */

static void the_jvms_frames_are_of_java(void **state)
{
    (void)state;
    static const struct frame frames[] = {{STRING_CLASS, 3, 42, NATIVE}, {B_CLASS, 0, 7, INLINED}};
    struct jfr_chunk c = {
        .start_epoch_ns = 5000000000, .start_ticks = 100, .ticks_per_second = 1000};
    kymo_jfr_bytes file = {0};
    put_names(&c, 4);
    put_threads(&c);
    put_stack(jfr_pool(&c, KYMO_JFR_STACK_TRACE, 1), 9, 0, frames, 2);
    PUT(&c, &execution, 100, 5, 9, 1);
    PUT(&c, &execution, 350, 5, 9, 1);
    put_setting(&c, &execution, "period", "20 ms"); /* behind what it is about */
    end(&c, &file);
    kymo_profile *p = jfr_import(&file);
    kymo_report *report = report_of(p, "cpu");
    assert_row(report, 0, "java.lang.String.hash", 40000000, 40000000);
    assert_row(report, 1, "a.B.main", 0, 40000000);
    kymo_report_destroy(report);
    const kymo_thread *t = kymo_profile_thread(p, 0);
    assert_string_equal(t->name, "worker");
    assert_int_equal(t->tid, 1005);
    assert_int_equal(kymo_profile_samples(p, 0).time_ns[1], 250000000);
    assert_int_equal(kymo_profile_samples(p, 0).state[1], KYMO_STATE_RUNNING);
    assert_int_equal(kymo_profile_meta(p)->origin_realtime_ns, 5000000000);
    const kymo_stacks stacks = kymo_profile_stacks(p);
    uint32_t count;
    assert_int_equal(kymo_profile_frame_lines(p, stacks.frame[1], &count)->line, 42);
    assert_int_equal(kymo_profile_frame(p, stacks.frame[1])->category, KYMO_CATEGORY_JIT);
    kymo_profile_destroy(p);
}

static void frames_of_async_profiler_are_native_too(void **state)
{
    (void)state;
    static const struct frame frames[] = {
        {NO_CLASS, 2, 0, KERNEL}, {LIBC_CLASS, 1, 0, NATIVE}, {B_CLASS, 4, 3, JIT}};
    struct jfr_chunk c = {.start_ticks = 0};
    kymo_jfr_bytes file = {0};
    put_names(&c, 6);
    put_threads(&c);
    put_stack(jfr_pool(&c, KYMO_JFR_STACK_TRACE, 1), 9, 1, frames, 3);
    PUT(&c, &execution, 100, 6, 9, 1);
    put_setting(&c, &execution, "interval", "0");
    put_setting(&c, &setting, "event", "cpu");
    size_t begin = kymo_jfr_event_begin(&c.events, library.id);
    kymo_jfr_varint(&c.events, 0);
    kymo_jfr_cstr(&c.events, "/usr/lib/libc.so.6");
    kymo_jfr_event_end(&c.events, begin);
    end(&c, &file);
    kymo_profile *p = jfr_import(&file);
    kymo_report *report = report_of(p, "cpu");
    assert_row(report, 0, "vfs_read", 10000000, 10000000);
    assert_int_equal(kymo_report_total(report), 10000000);
    kymo_report_destroy(report);
    assert_string_equal(kymo_profile_thread(p, 0)->name, "GC");
    assert_string_equal(kymo_profile_module(p, 0)->path, "/usr/lib/libc.so.6");
    const kymo_stacks stacks = kymo_profile_stacks(p);
    char text[64];
    static const char *const names[] = {"[truncated stack]", "a.B.run", "read", "vfs_read"};
    static const kymo_category categories[] = {KYMO_CATEGORY_OTHER, KYMO_CATEGORY_JIT,
                                               KYMO_CATEGORY_LIBC, KYMO_CATEGORY_KERNEL};
    assert_int_equal(stacks.count, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(kymo_profile_frame_label(p, stacks.frame[i], text, sizeof text),
                            names[i]);
        assert_int_equal(kymo_profile_frame(p, stacks.frame[i])->category, categories[i]);
    }
    kymo_profile_destroy(p);
}

/* Samples of another event than a clock are counted. */
static void other_events_are_counted(void **state)
{
    (void)state;
    struct jfr_chunk c = {.start_ticks = 0};
    kymo_jfr_bytes file = {0};
    PUT(&c, &execution, 100, 0, 0, 0);
    PUT(&c, &execution, 101, 0, 0, 0);
    put_setting(&c, &execution, "interval", "1000");
    put_setting(&c, &setting, "event", "cache-misses");
    end(&c, &file);
    kymo_profile *p = jfr_import(&file);
    assert_total(p, "samples", 2);
    assert_string_equal(kymo_profile_thread(p, 0)->name, "[unknown thread]");
    kymo_profile_destroy(p);
}

/* A type of samples is there if there are such samples. */
static void each_kind_of_sample_has_a_type(void **state)
{
    (void)state;
    struct jfr_chunk c = {.ticks_per_second = 1000};
    kymo_jfr_bytes file = {0};
    put_threads(&c);
    PUT(&c, &cpu_time, 1, 0, 5, 20);
    PUT(&c, &cpu_time, 2, 0, 5, 10);
    PUT(&c, &execution, 3, 5, 0, 1); /* the name "cpu" is taken */
    PUT(&c, &native, 4, 5, 0, 1);
    PUT(&c, &live, 5, 5, 0, 64);
    put_setting(&c, &execution, "period", "20 ms");
    put_setting(&c, &native, "period", "everyChunk");
    end(&c, &file);
    kymo_profile *p = jfr_import(&file);
    assert_total(p, "cpu", 30000000);
    assert_total(p, "cpu (2)", 20000000);
    assert_total(p, "native", 1);
    assert_total(p, "inuse_space", 64);
    uint32_t count;
    kymo_profile_sample_types(p, &count);
    assert_int_equal(count, 4);
    assert_int_equal(kymo_profile_default_sample_type(p), 0);
    kymo_profile_destroy(p);
}

static void wall_samples_stand_for_periods(void **state)
{
    (void)state;
    struct jfr_chunk c = {.start_ticks = 0};
    kymo_jfr_bytes file = {0};
    put_threads(&c);
    PUT(&c, &wall, 100, 5, 0, 2, 3, 0);
    PUT(&c, &wall, 200, 5, 0, 1, 1, 0);
    put_setting(&c, &wall, "wall", "20000000");
    end(&c, &file);
    kymo_profile *p = jfr_import(&file);
    assert_total(p, "wall", 80000000);
    assert_int_equal(kymo_profile_samples(p, 0).state[0], KYMO_STATE_SLEEPING);
    assert_int_equal(kymo_profile_samples(p, 0).state[1], KYMO_STATE_RUNNING);
    kymo_profile_destroy(p);
}

static const char *class_label(const kymo_profile *p, size_t sample)
{
    uint32_t count;
    const kymo_label *labels =
        kymo_profile_label_set(p, kymo_profile_sample_labels(p, 0)[sample], &count);
    assert_int_equal(count, 1);
    return kymo_profile_string(p, labels->value.as.string);
}

static void allocations_and_locks_are_types(void **state)
{
    (void)state;
    struct jfr_chunk c = {.ticks_per_second = 1000000};
    kymo_jfr_bytes file = {0};
    put_names(&c, 4);
    put_threads(&c);
    PUT(&c, &in_buffer, 1, 5, 0, INTS_CLASS, 16, 4096);
    PUT(&c, &outside, 2, 5, 0, STRING_CLASS, 100);
    PUT(&c, &enter, 3, 7, 5, 0, B_CLASS);
    end(&c, &file);
    kymo_profile *p = jfr_import(&file);
    assert_total(p, "alloc_space", 4196);
    assert_total(p, "delay", 7000);
    assert_string_equal(class_label(p, 0), "int[][]");
    assert_string_equal(class_label(p, 1), "java.lang.String");
    assert_string_equal(class_label(p, 2), "a.B");
    kymo_profile_destroy(p);
}

/* Neither in order, nor complete. */
static void blocks_live_until_they_are_freed(void **state)
{
    (void)state;
    struct jfr_chunk c = {.start_ticks = 0};
    kymo_jfr_bytes file = {0};
    put_threads(&c);
    PUT(&c, &free_event, 50, 5, 0, 0x1000);
    PUT(&c, &malloc_event, 10, 5, 0, 0x1000, 100); /* freed at 50 */
    PUT(&c, &malloc_event, 60, 5, 0, 0x1000, 7);   /* at the same place, lives */
    PUT(&c, &free_event, 70, 5, 0, 0x2000);        /* its malloc was not sampled */
    end(&c, &file);
    PUT(&c, &malloc_event, 80, 5, 0, 0x3000, 1000);
    PUT(&c, &free_event, 90, 5, 0, 0x3000);
    end(&c, &file);
    kymo_profile *p = jfr_import(&file);
    assert_total(p, "alloc_space", 1107);
    assert_total(p, "inuse_space", 7);
    kymo_profile_destroy(p);
}

static void the_jvm_says_its_process(void **state)
{
    (void)state;
    struct jfr_chunk c = {.start_ticks = 0};
    kymo_jfr_bytes file = {0};
    size_t begin = kymo_jfr_event_begin(&c.events, jvm.id);
    kymo_jfr_varint(&c.events, 0);
    kymo_jfr_cstr(&c.events, "Main 5");
    kymo_jfr_varint(&c.events, 4711);
    kymo_jfr_event_end(&c.events, begin);
    PUT(&c, &execution, 1, 0, 0, 0);
    end(&c, &file);
    kymo_profile *p = jfr_import(&file);
    assert_int_equal(kymo_profile_process(p, 0)->pid, 4711);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_PROCESSES), 1);
    assert_string_equal(kymo_profile_meta(p)->product, "Main 5");
    kymo_profile_destroy(p);
}

static void losses_are_told(void **state)
{
    (void)state;
    struct jfr_chunk c = {.start_ticks = 0};
    kymo_jfr_bytes file = {0};
    PUT(&c, &samples_lost, 1, 3);
    PUT(&c, &samples_lost, 2, 4);
    PUT(&c, &data_loss, 2, 1000);
    end(&c, &file);
    kymo_profile *p = jfr_import(&file);
    const kymo_quality *q = kymo_profile_quality(p);
    assert_int_equal(q->lost_count, 2);
    assert_string_equal(q->lost[0].kind, "CPU samples that the JVM lost");
    assert_int_equal(q->lost[0].count, 7);
    assert_int_equal(q->lost[1].count, 1000);
    kymo_profile_destroy(p);
}

/* ---- strings ---- */

static void put_utf16(kymo_jfr_bytes *out, const uint16_t *units, uint32_t count)
{
    kymo_jfr_u8(out, 4);
    kymo_jfr_varint(out, count);
    for (uint32_t i = 0; i < count; i++)
        kymo_jfr_varint(out, units[i]);
}

static void strings_have_six_encodings(void **state)
{
    (void)state;
    static const uint16_t units[] = {'a', 0xe9, 0xd83d, 0xde00, 0xd800, 'z'};
    static const char *const names[] = {"thread 1000",
                                        "thread 1001",
                                        "pooled",
                                        "u\xc3\xa9",
                                        "a\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbdz",
                                        "l\xc3\xa9"};
    struct jfr_chunk c = {.start_ticks = 0};
    kymo_jfr_bytes file = {0};
    static const char *const pooled[] = {"pooled"};
    jfr_texts(&c, KYMO_JFR_STRING, 77, pooled, 1);
    kymo_jfr_bytes *pool = jfr_pool(&c, KYMO_JFR_THREAD, 6);
    for (uint32_t i = 0; i < 6; i++) {
        kymo_jfr_varint(pool, i + 1);
        if (i < 2)
            kymo_jfr_u8(pool, (uint8_t)i);
        else if (i == 2)
            kymo_jfr_raw(pool, "\2\115", 2); /* 77 */
        else if (i == 3)
            kymo_jfr_raw(pool, "\3\3u\xc3\xa9", 5);
        else if (i == 4)
            put_utf16(pool, units, 6);
        else
            kymo_jfr_raw(pool, "\5\2l\xe9", 4);
        kymo_jfr_varint(pool, 1000 + i);
        kymo_jfr_u8(pool, 0);
        kymo_jfr_varint(pool, 0);
        PUT(&c, &execution, i, i + 1, 0, 0);
    }
    end(&c, &file);
    kymo_profile *p = jfr_import(&file);
    for (uint32_t i = 0; i < 6; i++)
        assert_string_equal(kymo_profile_thread(p, i)->name, names[i]);
    kymo_profile_destroy(p);
}

static void a_string_that_names_itself_is_empty(void **state)
{
    (void)state;
    struct jfr_chunk c = {.start_ticks = 0};
    kymo_jfr_bytes file = {0};
    kymo_jfr_raw(jfr_pool(&c, KYMO_JFR_STRING, 1), "\1\2\1", 3);
    kymo_jfr_raw(jfr_pool(&c, KYMO_JFR_THREAD, 1), "\1\2\1\5\0\0", 6);
    PUT(&c, &execution, 1, 1, 0, 0);
    end(&c, &file);
    kymo_profile *p = jfr_import(&file);
    assert_string_equal(kymo_profile_thread(p, 0)->name, "thread 5");
    kymo_profile_destroy(p);
}

/* ---- chunks ---- */

static void constants_are_linked(void **state)
{
    (void)state;
    static const struct frame frames[] = {{B_CLASS, 4, 3, JIT}};
    struct jfr_chunk c = {.start_ticks = 0};
    kymo_jfr_bytes file = {0};
    put_threads(&c);
    jfr_constants(&c);
    put_names(&c, 4);
    jfr_constants(&c);
    put_stack(jfr_pool(&c, KYMO_JFR_STACK_TRACE, 1), 9, 0, frames, 1);
    PUT(&c, &execution, 1, 5, 9, 1);
    end(&c, &file);
    kymo_profile *p = jfr_import(&file);
    kymo_report *report = report_of(p, "samples");
    assert_row(report, 0, "a.B.run", 1, 1);
    kymo_report_destroy(report);
    assert_string_equal(kymo_profile_thread(p, 0)->name, "worker");
    kymo_profile_destroy(p);
}

/* A key is another constant in each chunk; clocks begin anew. */
static void each_chunk_has_its_own_constants(void **state)
{
    (void)state;
    struct jfr_chunk c = {.start_ticks = 0};
    kymo_jfr_bytes file = {0};
    for (uint32_t i = 0; i < 3; i++) {
        struct frame frames[] = {{B_CLASS, i, 1, JIT}};
        c.start_epoch_ns = 1000000000 + i * 500;
        c.start_ticks = i * 7;
        put_threads(&c);
        put_names(&c, 4);
        put_stack(jfr_pool(&c, KYMO_JFR_STACK_TRACE, 1), 9, 0, frames, 1);
        PUT(&c, &unknown, 1, 1, 2, 1, 2, 3, 4, 5, 6, 7, 8);
        PUT(&c, &execution, i * 7 + 1, 5, 9, 1);
        end(&c, &file);
    }
    kymo_profile *p = jfr_import(&file);
    kymo_report *report = report_of(p, "samples");
    assert_int_equal(kymo_report_total(report), 3);
    kymo_report_destroy(report);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_FUNCTIONS), 3);
    assert_int_equal(kymo_profile_count(p, KYMO_TABLE_THREADS), 1);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(kymo_profile_samples(p, 0).time_ns[i], i * 500 + 1);
    kymo_profile_destroy(p);
}

static void an_unfinished_chunk_ends_the_file(void **state)
{
    (void)state;
    struct jfr_chunk c = {.start_ticks = 0};
    for (int kind = 0; kind < 3; kind++) {
        kymo_jfr_bytes file = {0};
        PUT(&c, &execution, 1, 0, 0, 0);
        end(&c, &file);
        size_t whole = file.len;
        PUT(&c, &execution, 1, 0, 0, 0);
        end(&c, &file);
        if (kind == 0)
            memset(file.data + whole + 8, 0, 8); /* its size */
        else if (kind == 1)
            memset(file.data + whole + 24, 0, 8); /* where its description is */
        else
            file.len -= 9;
        kymo_jfr_bytes alone = {0};
        kymo_jfr_raw(&alone, file.data + whole, file.len - whole);
        kymo_profile *p = jfr_import(&file);
        assert_total(p, "samples", 1);
        assert_int_equal(kymo_profile_quality(p)->lost_count, 1);
        assert_string_equal(kymo_profile_quality(p)->lost[0].kind, "chunks that were not finished");
        kymo_profile_destroy(p);
        jfr_import_fails(&alone, KYMO_E_TRUNCATED, "the chunk is not finished");
    }
}

/* ---- damage ---- */

static void make(kymo_jfr_bytes *file)
{
    static const struct frame frames[] = {{B_CLASS, 4, 3, JIT}, {LIBC_CLASS, 1, 0, NATIVE}};
    struct jfr_chunk c = {.start_ticks = 0};
    for (int i = 0; i < 2; i++) {
        put_names(&c, 6);
        jfr_constants(&c);
        put_threads(&c);
        put_stack(jfr_pool(&c, KYMO_JFR_STACK_TRACE, 1), 9, 0, frames, 2);
        put_setting(&c, &execution, "period", "20 ms");
        PUT(&c, &execution, 1, 5, 9, 1);
        PUT(&c, &in_buffer, 1, 5, 0, INTS_CLASS, 16, 4096);
        PUT(&c, &malloc_event, 10, 5, 9, 0x1000, 100);
        PUT(&c, &free_event, 10, 5, 9, 0x1000);
        end(&c, file);
    }
}

static void try(const kymo_jfr_bytes *file, size_t len)
{
    kymo_profile *p = NULL;
    kymo_error detail = {.message = ""};
    /* Exactly as long, so that a sanitizer sees what is read behind it. */
    unsigned char *copy = malloc(len);
    assert_non_null(copy);
    memcpy(copy, file->data, len);
    kymo_err err = kymo_import_memory(copy, len, &p, &detail);
    if (err == KYMO_OK)
        kymo_profile_destroy(p);
    else
        assert_true(detail.message[0] != '\0');
    free(copy);
}

static void damage_is_told(void **state)
{
    (void)state;
    kymo_jfr_bytes file = {0};
    make(&file);
    for (size_t len = 1; len < file.len; len += 3)
        try(&file, len);
    for (size_t i = 0; i < file.len; i++) {
        unsigned char was = file.data[i];
        file.data[i] = (unsigned char)~was;
        try(&file, file.len);
        file.data[i] = was;
    }
    kymo_jfr_bytes_deinit(&file);
}

static void parts_are_where_the_chunk_says(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        unsigned char value;
        kymo_err err;
        const char *part;
    } cases[] = {
        {5, 1, KYMO_E_UNSUPPORTED, "version 1.0"},
        {22, 0xff, KYMO_E_CORRUPT, "outside it"},
        {23, 69, KYMO_E_CORRUPT, "no constants"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kymo_jfr_bytes file = {0};
        make(&file);
        if (cases[i].at >= 16)
            memset(file.data + (cases[i].at & ~(size_t)7), 0, 8);
        file.data[cases[i].at] = cases[i].value;
        jfr_import_fails(&file, cases[i].err, cases[i].part);
    }
    kymo_jfr_bytes file = {0};
    make(&file);
    memcpy(file.data + 24, file.data + 16, 8);
    jfr_import_fails(&file, KYMO_E_CORRUPT, "no description of the events where");
    make(&file);
    file.data[JFR_HEADER_BYTES] = 0; /* the size of the first event */
    jfr_import_fails(&file, KYMO_E_CORRUPT, "an event of 0 bytes does not fit");
    make(&file);
    kymo_jfr_raw(&file, (const char[100]){"junk"}, 100);
    jfr_import_fails(&file, KYMO_E_CORRUPT, "there is no chunk where the one before ends");
}

static void constants_do_not_run_in_circles(void **state)
{
    (void)state;
    static const uint64_t deltas[] = {1, (uint64_t)-1, (uint64_t)-1000000, (uint64_t)INT64_MIN};
    for (size_t i = 0; i < sizeof deltas / sizeof *deltas; i++) {
        struct jfr_chunk c = {.start_ticks = 0};
        kymo_jfr_bytes file = {0};
        put_threads(&c);
        jfr_constants_with(&c, deltas[i]);
        end(&c, &file);
        jfr_import_fails(&file, KYMO_E_CORRUPT, "constants");
    }
}

/* ---- descriptions that are made to hurt ---- */

struct class {
    const char *name, *id;
    const char *members; /* the id of the class of each, a character */
    const char *dimension;
};

/* A description of some classes: texts 0 to 8 are words, then a class's four. */
static void describe(kymo_jfr_bytes *out, const struct class *classes, uint32_t count)
{
    static const char *const words[] = {"root", "metadata", "class",     "field",
                                        "name", "id",       "dimension", "x"};
    enum { ROOT, METADATA, CLASS, FIELD, NAME, ID, DIMENSION, X, WORDS };
    size_t begin = kymo_jfr_event_begin(out, KYMO_JFR_METADATA);
    kymo_jfr_raw(out, "\0\0\1", 3);
    kymo_jfr_varint(out, WORDS + 3 * count + 10);
    for (uint32_t i = 0; i < WORDS; i++)
        kymo_jfr_cstr(out, words[i]);
    for (uint32_t i = 0; i < count; i++) {
        kymo_jfr_cstr(out, classes[i].name);
        kymo_jfr_cstr(out, classes[i].id);
        kymo_jfr_cstr(out, classes[i].dimension ? classes[i].dimension : "0");
    }
    for (char c = '0'; c <= '9'; c++)
        kymo_jfr_string(out, &c, 1);
    const uint64_t head[] = {ROOT, 0, 1, METADATA, 0, count};
    for (size_t i = 0; i < 6; i++)
        kymo_jfr_varint(out, head[i]);
    for (uint32_t i = 0; i < count; i++) {
        size_t members = strlen(classes[i].members);
        const uint64_t class[] = {CLASS, 2, NAME, WORDS + 3 * i, ID, WORDS + 3 * i + 1, members};
        for (size_t k = 0; k < 7; k++)
            kymo_jfr_varint(out, class[k]);
        for (size_t k = 0; k < members; k++) {
            uint64_t of = WORDS + 3 * count + (uint64_t)(classes[i].members[k] - '0');
            const uint64_t field[] = {FIELD, 3, NAME, X, CLASS, of, DIMENSION, WORDS + 3 * i + 2,
                                      0};
            for (size_t n = 0; n < 9; n++)
                kymo_jfr_varint(out, field[n]);
        }
    }
    kymo_jfr_event_end(out, begin);
}

/* A chunk of such classes with count constants of class 1, and nothing behind their number. */
static void end_described(struct jfr_chunk *c, const struct class *classes, uint32_t class_count,
                          uint64_t count, kymo_jfr_bytes *file)
{
    describe(&c->metadata, classes, class_count);
    c->pool_count = 1;
    kymo_jfr_varint(&c->pools, 1);
    kymo_jfr_varint(&c->pools, count);
    end(c, file);
}

static void classes_that_contain_themselves_are_refused(void **state)
{
    (void)state;
    static const struct class circle[] = {{"a", "1", "2", NULL}, {"b", "2", "1", NULL}};
    static const struct class itself[] = {{"a", "1", "1", "1"}};
    static const struct class nothing[] = {{"a", "1", "9", NULL}};
    static const struct class twice[] = {{"a", "1", "", NULL}, {"b", "1", "", NULL}};
    struct jfr_chunk c = {.start_ticks = 0};
    kymo_jfr_bytes file = {0};
    end_described(&c, circle, 2, 1, &file);
    jfr_import_fails(&file, KYMO_E_CORRUPT, "not described");
    end_described(&c, itself, 1, 1, &file);
    jfr_import_fails(&file, KYMO_E_CORRUPT, "not described");
    end_described(&c, nothing, 1, 1, &file);
    jfr_import_fails(&file, KYMO_E_CORRUPT, "not described");
    end_described(&c, twice, 2, 1, &file);
    jfr_import_fails(&file, KYMO_E_CORRUPT, "class 1 is there twice");
}

/* Constants that take no bytes would be without end. */
static void large_counts_end_with_the_data(void **state)
{
    (void)state;
    static const struct class empty[] = {{"a", "1", "", NULL}};
    static const struct class list_of_nothing[] = {{"a", "1", "2", "1"}, {"b", "2", "", NULL}};
    static const struct class doubles[] = {{"a", "1", "2", "1"}, {"double", "2", "", NULL}};
    static const struct {
        const struct class *classes;
        uint32_t count;
    } cases[] = {{empty, 1}, {list_of_nothing, 2}, {doubles, 2}};
    struct jfr_chunk c = {.start_ticks = 0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kymo_jfr_bytes file = {0};
        end_described(&c, cases[i].classes, cases[i].count, UINT64_MAX, &file);
        jfr_import_fails(&file, KYMO_E_CORRUPT, "the constants make no sense");
    }
    kymo_jfr_bytes file = {0};
    kymo_jfr_varint(&c.pools, 1);
    kymo_jfr_varint(&c.pools, 1);
    kymo_jfr_varint(&c.pools, 5);          /* a key */
    kymo_jfr_varint(&c.pools, UINT64_MAX); /* elements */
    c.pool_count = 1;
    describe(&c.metadata, doubles, 2);
    end(&c, &file);
    jfr_import_fails(&file, KYMO_E_CORRUPT, "the constants make no sense");
}

/* A tree of structures, each twice in the one above, of which none has a byte. */
static void empty_structures_are_not_walked(void **state)
{
    (void)state;
    static const struct class tree[] = {{"a", "1", "22", NULL}, {"b", "2", "33", NULL},
                                        {"c", "3", "44", NULL}, {"d", "4", "55", NULL},
                                        {"e", "5", "66", NULL}, {"f", "6", "77", NULL},
                                        {"g", "7", "88", NULL}, {"h", "8", "", NULL}};
    struct jfr_chunk c = {.start_ticks = 0};
    kymo_jfr_bytes file = {0};
    describe(&c.metadata, tree, 8);
    kymo_jfr_bytes *pool = jfr_pool(&c, 1, 200000);
    for (int i = 0; i < 200000; i++)
        kymo_jfr_varint(pool, 1);
    end(&c, &file);
    kymo_profile *p = jfr_import(&file);
    assert_int_equal(kymo_profile_sample_count(p), 0);
    kymo_profile_destroy(p);
}

static void negative_values_are_refused(void **state)
{
    (void)state;
    struct jfr_chunk c = {.start_ticks = 0};
    kymo_jfr_bytes file = {0};
    PUT(&c, &outside, 2, 5, 0, 0, (uint64_t)-100);
    end(&c, &file);
    jfr_import_fails(&file, KYMO_E_CORRUPT, "a sample has the value -100");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_jvms_frames_are_of_java),
        cmocka_unit_test(frames_of_async_profiler_are_native_too),
        cmocka_unit_test(other_events_are_counted),
        cmocka_unit_test(each_kind_of_sample_has_a_type),
        cmocka_unit_test(wall_samples_stand_for_periods),
        cmocka_unit_test(allocations_and_locks_are_types),
        cmocka_unit_test(blocks_live_until_they_are_freed),
        cmocka_unit_test(the_jvm_says_its_process),
        cmocka_unit_test(losses_are_told),
        cmocka_unit_test(strings_have_six_encodings),
        cmocka_unit_test(a_string_that_names_itself_is_empty),
        cmocka_unit_test(constants_are_linked),
        cmocka_unit_test(each_chunk_has_its_own_constants),
        cmocka_unit_test(an_unfinished_chunk_ends_the_file),
        cmocka_unit_test(damage_is_told),
        cmocka_unit_test(parts_are_where_the_chunk_says),
        cmocka_unit_test(constants_do_not_run_in_circles),
        cmocka_unit_test(classes_that_contain_themselves_are_refused),
        cmocka_unit_test(large_counts_end_with_the_data),
        cmocka_unit_test(empty_structures_are_not_walked),
        cmocka_unit_test(negative_values_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
