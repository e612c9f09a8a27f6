/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random profiles become files and are read back: the totals of each function are the same.
 */
#include <endian.h>
#include <stdlib.h>

#include "encode/jfr/jfr.h"
#include "fixed_profile.h"
#include "kymo/encode.h"
#include "kymo/import.h"
#include "kymo/report.h"
#include "profile_fixture.h"

enum { FUNCTIONS = 24, FRAMES = 40, STACKS = 120, THREADS = 5, SAMPLES = 400, PROFILES = 60 };

static uint64_t state_of_random;

static uint64_t draw(uint64_t below)
{
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    return (state_of_random >> 33) % below;
}

struct parts {
    kymo_profile *p;
    uint32_t functions[FUNCTIONS], frames[FRAMES], stacks[STACKS], threads[THREADS];
    uint32_t modules[2];
};

static void add_functions(struct parts *a)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        char text[64];
        snprintf(text, sizeof text, "fn%d(std::vector<\xc3\xa9>, [u8 4]) %d", i, i * 7);
        kymo_function f = {.name = add_string(a->p, text), .module = KYMO_NONE};
        snprintf(text, sizeof text, "/src/file%d.c", i % 5);
        f.source = i % 3 ? add_source(a->p, text) : KYMO_NONE;
        f.start_line = i % 3 ? (uint32_t)draw(1000) : 0;
        ok(kymo_profile_add_function(a->p, &f, &a->functions[i]));
    }
}

/* With and without an address, a file, inlined functions. */
static void add_frames(struct parts *a)
{
    for (int i = 0; i < FRAMES; i++) {
        kymo_line lines[4];
        uint32_t count = 1 + (uint32_t)draw(4);
        for (uint32_t k = 0; k < count; k++)
            lines[k] =
                (kymo_line){a->functions[draw(FUNCTIONS)], (uint32_t)draw(500), (uint32_t)draw(50)};
        if (draw(3) == 0) {
            ok(kymo_profile_add_lines_frame(a->p, lines, count, KYMO_CATEGORY_JIT, &a->frames[i]));
            continue;
        }
        uint32_t module = draw(4) ? a->modules[draw(2)] : KYMO_NONE;
        a->frames[i] = add_frame(a->p, module, 0x1000 + draw(0x7000));
        ok(kymo_profile_frame_set_lines(a->p, a->frames[i], lines, count, KYMO_NONE, 1));
    }
}

static void add_samples(struct parts *a)
{
    for (int i = 0; i < SAMPLES; i++) {
        const uint64_t values[] = {draw(5), draw(1000000000), draw(3) ? 0 : draw(1 << 20)};
        const kymo_label label = {add_string(a->p, "request"),
                                  .value = {.kind = KYMO_VALUE_I64, .as.i64 = (int64_t)draw(3)}};
        kymo_sample sample = {.size = sizeof sample,
                              .thread = a->threads[draw(THREADS)],
                              .time_ns = 1 + draw(1000000000),
                              .stack = draw(20) ? a->stacks[draw(STACKS)] : KYMO_NONE,
                              .labels = KYMO_NONE,
                              .type = KYMO_SAMPLE_EACH,
                              .values = values,
                              .value_count = 3};
        if (draw(2))
            ok(kymo_profile_add_label_set(a->p, &label, 1, &sample.labels));
        ok(kymo_profile_add_sample_values(a->p, &sample, NULL));
    }
}

static kymo_profile *make(uint64_t seed)
{
    static const kymo_sample_type types[] = {
        {.size = sizeof types[0], .name = "calls", .unit = "count"},
        {.size = sizeof types[0],
         .name = "cpu",
         .unit = "nanoseconds",
         .adds = KYMO_ADDS_CPU_TIME,
         .is_default = 1},
        {.size = sizeof types[0], .name = "space", .unit = "bytes"},
    };
    struct parts a = {.p = new_profile()};
    state_of_random = seed;
    ok(kymo_profile_set_sample_types(a.p, types, 3, NULL));
    uint32_t processes[2] = {add_process(a.p, 10, 1), add_process(a.p, 20, 2)};
    for (int i = 0; i < THREADS; i++)
        a.threads[i] = add_thread(a.p, processes[i % 2], 10 + i, 1);
    a.modules[0] = add_module(a.p, processes[0], "/bin/prog", "id");
    a.modules[1] = add_module(a.p, processes[1], "/lib/x.so", "other");
    add_functions(&a);
    add_frames(&a);
    for (uint32_t i = 0; i < STACKS; i++)
        a.stacks[i] =
            add_stack(a.p, i && draw(5) ? a.stacks[draw(i)] : KYMO_NONE, a.frames[draw(FRAMES)]);
    add_samples(&a);
    ok(kymo_profile_finish(a.p));
    return a.p;
}

/* ---- comparing ---- */

static uint32_t type_named(const kymo_profile *p, const char *name)
{
    uint32_t count;
    const kymo_sample_type *types = kymo_profile_sample_types(p, &count);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(types[i].name, name) == 0)
            return i;
    fail_msg("no type %s", name);
    return 0;
}

static kymo_report *report_of(const kymo_profile *p, const char *type)
{
    kymo_report *report;
    const kymo_report_options options = {.size = sizeof options, .kind = type_named(p, type)};
    ok(kymo_report_create(p, &options, &report));
    return report;
}

static const kymo_report_row *find(const kymo_report *report, const char *name)
{
    size_t n;
    const kymo_report_row *rows = kymo_report_rows(report, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

static void assert_same(const kymo_profile *a, const char *type, const kymo_profile *b,
                        const char *type_of_b)
{
    kymo_report *x = report_of(a, type);
    kymo_report *y = report_of(b, type_of_b);
    size_t n;
    const kymo_report_row *rows = kymo_report_rows(x, &n);
    assert_int_equal(kymo_report_total(x), kymo_report_total(y));
    for (size_t i = 0; i < n; i++) {
        const kymo_report_row *other = find(y, rows[i].name);
        if (!other || other->self != rows[i].self || other->total != rows[i].total)
            fail_msg("%s: %llu of %llu became %llu of %llu", rows[i].name,
                     (unsigned long long)rows[i].self, (unsigned long long)rows[i].total,
                     other ? (unsigned long long)other->self : 0,
                     other ? (unsigned long long)other->total : 0);
    }
    kymo_report_destroy(x);
    kymo_report_destroy(y);
}

static kymo_profile *round_trip(const kymo_profile *p, const char *extension, const char *type)
{
    kymo_encode_options options = {
        .size = sizeof options, .kind = type_named(p, type), .show = KYMO_ENCODE_TIME};
    kymo_error detail = {.message = ""};
    kymo_profile *back = NULL;
    void *data;
    size_t len;
    ok(kymo_encode_memory(p, kymo_format_for_path(extension), &options, &data, &len, &detail));
    kymo_err err = kymo_import_memory(data, len, &back, &detail);
    if (err != KYMO_OK)
        fail_msg("%s: %s", extension, detail.message);
    free(data);
    return back;
}

static void pprof_keeps_totals(void **state)
{
    (void)state;
    static const char *const types[] = {"calls", "cpu", "space"};
    for (uint64_t seed = 1; seed <= PROFILES; seed++) {
        kymo_profile *p = make(seed);
        kymo_profile *back = round_trip(p, ".pb.gz", "cpu");
        kymo_profile *again = round_trip(back, ".pb.gz", "cpu");
        for (int i = 0; i < 3; i++) {
            assert_same(p, types[i], back, types[i]);
            assert_same(p, types[i], again, types[i]);
        }
        assert_int_equal(kymo_profile_count(back, KYMO_TABLE_THREADS), THREADS);
        kymo_profile_destroy(again);
        kymo_profile_destroy(back);
        kymo_profile_destroy(p);
    }
}

static void collapsed_stacks_keep_totals(void **state)
{
    (void)state;
    static const char *const types[] = {"calls", "cpu", "space"};
    for (uint64_t seed = 1; seed <= PROFILES; seed++) {
        kymo_profile *p = make(seed);
        for (int i = 0; i < 3; i++) {
            kymo_profile *back = round_trip(p, ".folded", types[i]);
            assert_same(p, types[i], back, "samples");
            kymo_profile_destroy(back);
        }
        kymo_profile_destroy(p);
    }
}

static void firefox_profiles_keep_totals(void **state)
{
    (void)state;
    static const char *const types[][2] = {
        {"calls", "samples"}, {"cpu", "time"}, {"cpu", "cpu"}, {"space", "bytes"}};
    for (uint64_t seed = 1; seed <= PROFILES; seed++) {
        kymo_profile *p = make(seed);
        for (int i = 0; i < 4; i++) {
            kymo_profile *back = round_trip(p, i % 2 ? ".json" : ".json.gz", types[i][0]);
            kymo_profile *again = round_trip(back, ".json", types[i][1]);
            assert_same(p, types[i][0], back, types[i][1]);
            assert_same(p, types[i][0], again, types[i][1]);
            kymo_profile_destroy(again);
            kymo_profile_destroy(back);
        }
        kymo_profile_destroy(p);
    }
}

/* How many samples have labels, and the sum of the numbers that their texts are. */
static void count_labels(const kymo_profile *p, uint64_t *count, uint64_t *sum)
{
    *count = *sum = 0;
    for (uint32_t t = 0; t < kymo_profile_count(p, KYMO_TABLE_THREADS); t++) {
        const uint32_t *sets = kymo_profile_sample_labels(p, t);
        for (size_t i = 0; sets && i < kymo_profile_samples(p, t).count; i++) {
            uint32_t n;
            const kymo_label *labels = kymo_profile_label_set(p, sets[i], &n);
            if (n == 0)
                continue;
            assert_string_equal(kymo_profile_string(p, labels[0].key), "request");
            *count += 1;
            *sum += labels[0].value.kind == KYMO_VALUE_STRING
                        ? (uint64_t)atoi(kymo_profile_string(p, labels[0].value.as.string))
                        : labels[0].value.as.u64;
        }
    }
}

static void assert_same_labels(const kymo_profile *a, const kymo_profile *b)
{
    uint64_t counts[2], sums[2];
    count_labels(a, &counts[0], &sums[0]);
    count_labels(b, &counts[1], &sums[1]);
    assert_true(counts[0] > 0);
    assert_int_equal(counts[0], counts[1]);
    assert_int_equal(sums[0], sums[1]);
}

static void assert_lost(const kymo_profile *p, const char *kind, uint64_t count)
{
    const kymo_quality *q = kymo_profile_quality(p);
    assert_int_equal(q->lost_count, 1);
    assert_string_equal(q->lost[0].kind, kind);
    assert_int_equal(q->lost[0].count, count);
}

static void jfr_keeps_totals(void **state)
{
    (void)state;
    const kymo_lost lost = {"no block", 12};
    const kymo_quality quality = {.size = sizeof quality, .lost = &lost, .lost_count = 1};
    static const char *const types[] = {"calls", "cpu", "space"};
    for (uint64_t seed = 1; seed <= PROFILES; seed++) {
        kymo_profile *p = make(seed);
        ok(kymo_profile_set_quality(p, &quality));
        kymo_profile *back = round_trip(p, ".jfr", "cpu");
        kymo_profile *again = round_trip(back, ".jfr", "cpu");
        for (int i = 0; i < 3; i++) {
            assert_same(p, types[i], back, types[i]);
            assert_same(p, types[i], again, types[i]);
        }
        assert_same_labels(p, back);
        assert_same_labels(p, again);
        assert_lost(back, "records (no block)", 12);
        assert_lost(again, "records (no block)", 12);
        assert_int_equal(kymo_profile_count(back, KYMO_TABLE_THREADS), THREADS);
        assert_int_equal(kymo_profile_count(back, KYMO_TABLE_PROCESSES), 2);
        kymo_profile_destroy(again);
        kymo_profile_destroy(back);
        kymo_profile_destroy(p);
    }
}

static uint64_t self_of(const kymo_report *report, const char *name)
{
    size_t n;
    uint64_t sum = 0;
    const kymo_report_row *rows = kymo_report_rows(report, &n);
    for (size_t i = 0; i < n; i++)
        sum += strcmp(rows[i].name, name) == 0 ? rows[i].self : 0;
    return sum;
}

/* Of all functions of a name: they have no source files in JFR. Code without a name is summed up by
 * its file in a recording alone. */
static void assert_same_self(const kymo_profile *a, const kymo_profile *b)
{
    kymo_report *x = report_of(a, "cpu");
    kymo_report *y = report_of(b, "cpu");
    size_t n;
    const kymo_report_row *rows = kymo_report_rows(x, &n);
    assert_int_equal(kymo_report_total(x), kymo_report_total(y));
    for (size_t i = 0; i < n; i++)
        if (rows[i].name[0] != '[')
            assert_int_equal(self_of(x, rows[i].name), self_of(y, rows[i].name));
    kymo_report_destroy(x);
    kymo_report_destroy(y);
}

/* A file that ends after any of its chunks, as after a kill, is whole as far as it goes. */
static void assert_whole_after_each_chunk(const kymo_bytes *file)
{
    enum { LENGTH_AT = 8 };
    uint64_t before = 0;
    for (size_t end = 0; end < file->len;) {
        uint64_t chunk;
        kymo_error detail = {.message = ""};
        kymo_profile *part = NULL;
        memcpy(&chunk, file->data + end + LENGTH_AT, sizeof chunk);
        end += be64toh(chunk);
        ok(kymo_import_memory(file->data, end, &part, &detail));
        assert_true(kymo_profile_sample_count(part) >= before);
        before = kymo_profile_sample_count(part);
        kymo_profile_destroy(part);
    }
}

/* The profile of the golden files, as one chunk and as many. */
static void jfr_chunks_keep_totals(void **state)
{
    (void)state;
    static const size_t sizes[] = {KYMO_JFR_CHUNK_BYTES, 700};
    kymo_profile *p = fixed_profile();
    for (size_t i = 0; i < 2; i++) {
        kymo_bytes file;
        uint64_t bytes = 0;
        kymo_error detail = {.message = ""};
        kymo_profile *back = NULL;
        kymo_bytes_init(&file, 1 << 20);
        kymo_encoder encoder = {
            .profile = p, .sink = &file.sink, .detail = &detail, .bytes = &bytes};
        ok(kymo_jfr_write_chunks(&encoder, sizes[i]));
        ok(kymo_import_memory(file.data, file.len, &back, &detail));
        assert_same_self(p, back);
        assert_whole_after_each_chunk(&file);
        kymo_profile_destroy(back);
        kymo_bytes_deinit(&file);
    }
    kymo_profile_destroy(p);
}

/* Times, states and stacks of wall samples. A field that not all readers of async-profiler's files
 * know would make these lose events. */
static void jfr_keeps_wall_samples(void **state)
{
    (void)state;
    static const kymo_thread_state states[] = {KYMO_STATE_SLEEPING, KYMO_STATE_RUNNING,
                                               KYMO_STATE_BLOCKED};
    kymo_profile *p = new_profile();
    const kymo_meta meta = {.size = sizeof meta, .wall_period_ns = 1000};
    uint32_t thread = add_thread(p, add_process(p, 7, 0), 7, 0);
    uint32_t stack = add_stack(p, KYMO_NONE, add_frame(p, KYMO_NONE, 0x1000));
    ok(kymo_profile_set_meta(p, &meta));
    for (unsigned i = 0; i < 3; i++) {
        ok(kymo_profile_add_sample(p, thread, 100 * i, stack, 1234 * (i + 1), KYMO_SAMPLE_WALL,
                                   states[i]));
        ok(kymo_profile_add_sample(p, thread, 100 * i + 1, stack, 7, KYMO_SAMPLE_CPU,
                                   KYMO_STATE_RUNNING));
    }
    ok(kymo_profile_finish(p));
    kymo_profile *back = round_trip(p, ".jfr", "cpu");
    kymo_report *wall_report = report_of(back, "wall");
    assert_int_equal(kymo_report_total(wall_report), 1234 * 6);
    kymo_report_destroy(wall_report);
    const kymo_samples samples = kymo_profile_samples(back, 0);
    assert_int_equal(samples.count, 6);
    uint32_t wall = type_named(back, "wall");
    for (size_t i = 0, n = 0; i < samples.count; i++)
        if (samples.kind[i] == wall)
            assert_int_equal(samples.state[i], states[n++]);
    void *data;
    size_t len;
    ok(kymo_encode_memory(p, kymo_format_for_path(".jfr"), NULL, &data, &len, NULL));
    assert_non_null(memmem(data, len, "kymo.WallTime", 13));
    assert_null(memmem(data, len, "timeSpan", 8));
    free(data);
    kymo_profile_destroy(back);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pprof_keeps_totals),
        cmocka_unit_test(collapsed_stacks_keep_totals),
        cmocka_unit_test(firefox_profiles_keep_totals),
        cmocka_unit_test(jfr_keeps_totals),
        cmocka_unit_test(jfr_chunks_keep_totals),
        cmocka_unit_test(jfr_keeps_wall_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
