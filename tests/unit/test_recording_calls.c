/* SPDX-License-Identifier: Apache-2.0 */
/* Traced calls through the file: what comes out is what went in. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "kymo/trace_abi.h"
#include "recording/recording.h"
#include "recording/recording_calls.h"
#include "recording_fixture.h"
#include "unit.h"

enum { EVENTS = 60000, THREADS = 3, SCRIPTS = 300 };

static struct {
    kymo_event_call made[THREADS][EVENTS];
    uint32_t count[THREADS], seen[THREADS];
    uint64_t random;
} t;

static uint32_t draw(uint32_t n)
{
    t.random = kymo_hash_mix(t.random, 1);
    return (uint32_t)(t.random >> 33) % n;
}

/* Mostly calls and returns that fit, and of each thread some that do not. */
static kymo_event_call next_event(uint64_t *time_ns, uint32_t open[64], uint32_t *depth)
{
    kymo_event_call e = {.script = KYMO_EVENT_NONE};
    uint32_t what = draw(100);
    *time_ns += draw(draw(50) ? 200 : 1u << 20);
    e.time_ns = *time_ns;
    if (what == 0) {
        e.kind = draw(KYMO_TRACE_STOP + 1);
        if (e.kind >= KYMO_TRACE_GAP) {
            e.missing = UINT32_MAX - draw(2);
        } else {
            e.depth = draw(2) ? 1 + draw(40) : KYMO_CALL_DEPTH_MAX - draw(2);
            e.script = draw(3) ? draw(SCRIPTS) : KYMO_EVENT_NONE;
        }
        *depth = 0;
    } else if (*depth == 0 || (*depth < 63 && draw(2))) {
        e.kind = draw(8) ? KYMO_TRACE_CALL : KYMO_TRACE_RESUME;
        e.script = open[*depth] = draw(4) ? draw(10) : draw(SCRIPTS);
        e.depth = ++*depth;
    } else {
        e.kind = KYMO_TRACE_RETURN + draw(3);
        e.depth = (*depth)--;
        e.script = draw(50) ? open[*depth] : draw(SCRIPTS);
    }
    return e;
}

static kymo_err emit(const kymo_event_handler *h, void *ctx)
{
    uint64_t time_ns[THREADS] = {1000, 2000, 3000};
    static uint32_t open[THREADS][64];
    uint32_t depth[THREADS] = {0};
    KYMO_TRY(h->meta(ctx, &(kymo_event_meta){.start_ns = 1}));
    KYMO_TRY(h->process(ctx, &(kymo_event_process){.pid = 1}));
    for (uint32_t i = 0; i < THREADS; i++)
        KYMO_TRY(h->thread(ctx, &(kymo_event_thread){.thread = i, .tid = (int32_t)i + 1}));
    for (uint32_t i = 0; i < SCRIPTS; i++)
        KYMO_TRY(h->script(ctx, &(kymo_event_script){0, i, i, KYMO_EVENT_PYTHON, "f", "f.py"}));
    memset(t.count, 0, sizeof t.count);
    while (t.count[0] + 300 < EVENTS && t.count[1] + 300 < EVENTS && t.count[2] + 300 < EVENTS) {
        uint32_t thread = draw(THREADS), from = t.count[thread], n = 1 + draw(300);
        for (uint32_t i = 0; i < n; i++)
            t.made[thread][t.count[thread]++] =
                next_event(&time_ns[thread], open[thread], &depth[thread]);
        KYMO_TRY(h->calls(ctx, &(kymo_event_calls){thread, n, &t.made[thread][from]}));
    }
    return h->end(ctx, &(kymo_event_end){.end_ns = 9});
}

static kymo_err on_calls(void *ctx, const kymo_event_calls *e)
{
    (void)ctx;
    assert_true(e->thread < THREADS && e->count > 0);
    for (uint32_t i = 0; i < e->count; i++) {
        const kymo_event_call *made = &t.made[e->thread][t.seen[e->thread]++];
        assert_memory_equal(&e->calls[i], made, sizeof *made);
    }
    return KYMO_OK;
}

static void events_come_back(void **state)
{
    (void)state;
    const kymo_event_handler handler = {.calls = on_calls};
    for (unsigned flags = 0; flags < 2; flags++) {
        kymo_bytes file;
        kymo_recording_report report;
        memset(t.seen, 0, sizeof t.seen);
        kymo_bytes_init(&file, RECORDING_LIMIT);
        assert_int_equal(recording_to_bytes(emit, flags ? KYMO_RECORDING_COMPRESS : 0, &file),
                         KYMO_OK);
        assert_int_equal(
            kymo_recording_read_memory(file.data, file.len, 0, &handler, NULL, &report, NULL),
            KYMO_OK);
        assert_memory_equal(t.seen, t.count, sizeof t.seen);
        assert_string_equal(report.text, "");
        kymo_bytes_deinit(&file);
    }
}

/* ---- as a tracer writes them ---- */

enum { GROUPS = 40, OF_GROUP = 1500, FUNCTIONS = 50 };

static struct {
    unsigned char bytes[GROUPS * OF_GROUP * KYMO_CALL_BYTES_MAX];
    uint32_t from[GROUPS + 1]; /* of each group */
    kymo_event_call made[GROUPS * OF_GROUP], read[GROUPS * OF_GROUP];
    uint32_t count;
    uint64_t clock_ns, ns_per_tick;
} raw;

/* Some 100 ticks apart, few functions, deep; each block of a tracer's begins anew. */
static void make_raw(void)
{
    struct kymo_call_place at = {.clock = 0};
    unsigned char *to = raw.bytes;
    uint32_t depth = 0;
    raw.clock_ns = 0; /* a tick is a ns */
    raw.ns_per_tick = 1ull << 32;
    uint64_t clock = 1000;
    for (uint32_t i = 0; i < GROUPS * OF_GROUP; i++) {
        kymo_event_call *e = &raw.made[i];
        int begins = depth == 0 || (depth < 60 && draw(2));
        clock += 40 + draw(200);
        *e = (kymo_event_call){.time_ns = clock,
                               .kind = begins ? KYMO_TRACE_CALL : KYMO_TRACE_RETURN,
                               .depth = begins ? ++depth : depth--};
        e->script = e->depth * 3 % FUNCTIONS;
        if (i % OF_GROUP == 0) {
            raw.from[i / OF_GROUP] = (uint32_t)(to - raw.bytes);
            at.is_known = i / OF_GROUP % 4 != 0;
        }
        to = kymo_call_put(to, &at,
                           &(struct kymo_call_event){clock, e->kind, e->depth, e->script + 1}, 0);
    }
    raw.from[GROUPS] = (uint32_t)(to - raw.bytes);
}

static kymo_err emit_group(const kymo_event_handler *h, void *ctx, uint32_t i)
{
    const kymo_event_raw_calls group = {.first_script = UINT32_MAX,
                                        .calls = {raw.bytes + raw.from[i],
                                                  raw.from[i + 1] - raw.from[i],
                                                  {.position = 1000 + raw.from[i],
                                                   .clock_ns = raw.clock_ns,
                                                   .ns_per_tick = raw.ns_per_tick,
                                                   .not_after_ns = 1ull << 62}}};
    return h->raw_calls(ctx, &group);
}

static kymo_err emit_scripts(const kymo_event_handler *h, void *ctx, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        KYMO_TRY(h->script(ctx, &(kymo_event_script){0, i, i, KYMO_EVENT_PYTHON, "f", "f.py"}));
    return KYMO_OK;
}

static kymo_err emit_groups(const kymo_event_handler *h, void *ctx, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        KYMO_TRY(emit_group(h, ctx, i));
    return KYMO_OK;
}

/* So many scripts are there from the beginning. */
static kymo_err emit_definitions(const kymo_event_handler *h, void *ctx, uint32_t scripts)
{
    KYMO_TRY(h->meta(ctx, &(kymo_event_meta){.start_ns = 1}));
    KYMO_TRY(h->process(ctx, &(kymo_event_process){.pid = 1}));
    KYMO_TRY(h->thread(ctx, &(kymo_event_thread){.tid = 1}));
    return emit_scripts(h, ctx, 0, scripts);
}

static kymo_err emit_raw(const kymo_event_handler *h, void *ctx)
{
    KYMO_TRY(emit_definitions(h, ctx, FUNCTIONS));
    return emit_groups(h, ctx, 0, GROUPS);
}

static kymo_err keep_raw(void *ctx, const kymo_event_calls *e)
{
    (void)ctx;
    assert_true(e->thread == 0 && e->count <= GROUPS * OF_GROUP - raw.count);
    memcpy(raw.read + raw.count, e->calls, e->count * sizeof *e->calls);
    raw.count += e->count;
    return KYMO_OK;
}

static void read_raw(kymo_err (*make)(const kymo_event_handler *h, void *ctx), size_t *bytes,
                     kymo_recording_report *report)
{
    static const kymo_event_handler handler = {.calls = keep_raw};
    kymo_bytes file;
    kymo_bytes_init(&file, RECORDING_LIMIT);
    raw.count = 0;
    assert_int_equal(recording_to_bytes(make, 0, &file), KYMO_OK);
    *bytes = file.len;
    assert_int_equal(
        kymo_recording_read_memory(file.data, file.len, 0, &handler, NULL, report, NULL), KYMO_OK);
    kymo_bytes_deinit(&file);
}

static void bytes_of_a_tracer_become_events(void **state)
{
    (void)state;
    kymo_recording_report report;
    size_t bytes;
    make_raw();
    read_raw(emit_raw, &bytes, &report);
    assert_int_equal(report.damage.values + report.damage.references, 0);
    assert_true(bytes < (size_t)GROUPS * OF_GROUP * 7 / 2); /* 3 for an event, and heads */
    assert_int_equal(raw.count, GROUPS * OF_GROUP);
    assert_memory_equal(raw.read, raw.made, sizeof raw.made);
    /* By another clock. */
    raw.clock_ns = 5000;
    raw.ns_per_tick = 3ull << 30;
    read_raw(emit_raw, &bytes, &report);
    assert_int_equal(raw.count, GROUPS * OF_GROUP);
    for (uint32_t i = 0; i < raw.count; i++)
        assert_int_equal(raw.read[i].time_ns, 5000 + raw.made[i].time_ns * 3 / 4);
}

/* A group may be larger than a ring: it is taken in parts. */
static void a_ring_keeps_the_newest_of_large_groups(void **state)
{
    (void)state;
    make_raw();
    for (uint64_t room = 1 << 13; room <= 1 << 16; room *= 2) {
        static const kymo_event_handler handler = {.calls = keep_raw};
        kymo_recording_report report;
        int fd = memfd_create("ring", MFD_CLOEXEC);
        kymo_recording_writer *w;
        assert_int_equal(kymo_recording_writer_create(fd, 0, &w), KYMO_OK);
        kymo_recording_keep_newest(w, room);
        assert_int_equal(emit_raw(&kymo_recording_write_handler, w), KYMO_OK);
        assert_int_equal(kymo_recording_write_end(w, &(kymo_event_end){.end_ns = 9}), KYMO_OK);
        kymo_recording_writer_destroy(w);
        raw.count = 0;
        assert_int_equal(
            kymo_recording_read_fd(fd, KYMO_RECORDING_BY_OFFSET, &handler, NULL, &report, NULL),
            KYMO_OK);
        assert_string_equal(report.text, "");
        close(fd);
        /* Most of it is calls and returns, of 3 bytes. */
        uint32_t open = 0;
        while (open < raw.count && raw.read[open].kind == KYMO_TRACE_OPEN)
            open++;
        uint32_t kept = raw.count - open;
        assert_true(kept > room / 6 && kept < room / 3);
        assert_memory_equal(&raw.read[open], &raw.made[GROUPS * OF_GROUP - kept],
                            kept * sizeof *raw.read);
    }
}

/* Without the groups 5 and 18 (which begins anew). */
static kymo_err emit_some(const kymo_event_handler *h, void *ctx)
{
    KYMO_TRY(emit_definitions(h, ctx, FUNCTIONS));
    for (uint32_t i = 0; i < GROUPS; i++)
        if (i != 5 && i != 18)
            KYMO_TRY(emit_group(h, ctx, i));
    return KYMO_OK;
}

/* What cannot be told is left out, and nothing is wrong: a group begins anew every fourth time. */
static void behind_what_is_missing_nothing_is_guessed(void **state)
{
    (void)state;
    kymo_recording_report report;
    size_t bytes;
    uint32_t at = 0;
    make_raw();
    read_raw(emit_some, &bytes, &report);
    assert_int_equal(raw.count, (GROUPS - 5) * OF_GROUP);
    for (uint32_t i = 0; i < GROUPS * OF_GROUP; i++) {
        uint32_t group = i / OF_GROUP;
        if ((group >= 5 && group < 8) || group == 18 || group == 19)
            continue;
        kymo_event_call made = raw.made[i];
        /* Whose begin is missing is an end of something. */
        if (raw.read[at].script == KYMO_EVENT_NONE && made.kind == KYMO_TRACE_RETURN)
            made.script = KYMO_EVENT_NONE;
        assert_memory_equal(&raw.read[at++], &made, sizeof made);
    }
}

static kymo_err emit_damaged(const kymo_event_handler *h, void *ctx)
{
    KYMO_TRY(emit_definitions(h, ctx, FUNCTIONS));
    for (uint32_t i = 0; i < GROUPS; i++) {
        unsigned char *first = raw.bytes + raw.from[i];
        unsigned char was[4];
        memcpy(was, first, sizeof was);
        if (i == 2) /* no such kind */
            (void)kymo_call_put_unit(first, 99u << KYMO_CALL_TAG_BITS | KYMO_CALL_TAG_OTHER);
        KYMO_TRY(emit_group(h, ctx, i));
        memcpy(first, was, sizeof was);
    }
    return KYMO_OK;
}

/* The next groups of the thread can be read from where one begins anew. */
static void a_damaged_group_is_left_out_alone(void **state)
{
    (void)state;
    kymo_recording_report report;
    size_t bytes;
    make_raw();
    read_raw(emit_damaged, &bytes, &report);
    assert_int_equal(report.damage.values, 1);
    assert_int_equal(raw.count, (GROUPS - 2) * OF_GROUP);
}

enum { EARLY_GROUPS = 20 };

/* Half of the functions are announced behind so many groups, a chunk and more. */
static kymo_err emit_late(const kymo_event_handler *h, void *ctx)
{
    KYMO_TRY(emit_definitions(h, ctx, FUNCTIONS / 2));
    KYMO_TRY(emit_groups(h, ctx, 0, EARLY_GROUPS));
    KYMO_TRY(emit_scripts(h, ctx, FUNCTIONS / 2, FUNCTIONS));
    return emit_groups(h, ctx, EARLY_GROUPS, GROUPS);
}

static void a_function_that_comes_late_is_known_from_then_on(void **state)
{
    (void)state;
    kymo_recording_report report;
    size_t bytes;
    make_raw();
    read_raw(emit_late, &bytes, &report);
    assert_true(report.damage.references > 0);
    assert_int_equal(raw.count, GROUPS * OF_GROUP);
    for (uint32_t i = EARLY_GROUPS * OF_GROUP; i < raw.count; i++)
        if (raw.read[i].kind == KYMO_TRACE_CALL)
            assert_int_equal(raw.read[i].script, raw.made[i].script);
}

/* Reads a group of its own. */
static void read_group(const kymo_event_raw_calls *group)
{
    struct kymo_call_reader reader = {.ctx = NULL};
    struct kymo_call_state thread = {.base = 0};
    uint32_t n = 1;
    raw.count = 0;
    for (kymo_call_reader_begin(&reader, &thread, group); n; raw.count += n)
        assert_int_equal(kymo_call_reader_next(&reader, raw.read + raw.count, OF_GROUP, &n),
                         KYMO_OK);
    kymo_call_state_deinit(&thread);
}

static uint32_t put_calls(unsigned char *bytes, const struct kymo_call_event *e, size_t n)
{
    struct kymo_call_place at = {.clock = 0};
    unsigned char *to = bytes;
    for (size_t i = 0; i < n; i++)
        to = kymo_call_put(to, &at, &e[i], 0);
    return (uint32_t)(to - bytes);
}

/* In the gap 2 may have returned, and another one been called. */
static void behind_a_gap_functions_are_not_known(void **state)
{
    (void)state;
    unsigned char bytes[128];
    static const struct kymo_call_event e[] = {{100, KYMO_TRACE_CALL, 1, 1},
                                               {110, KYMO_TRACE_CALL, 2, 2},
                                               {200, KYMO_TRACE_GAP, 0, 2},
                                               {210, KYMO_TRACE_RETURN, 2, 0}};
    read_group(
        &(kymo_event_raw_calls){.calls = {bytes,
                                          put_calls(bytes, e, KYMO_ARRAY_LEN(e)),
                                          {.ns_per_tick = 1ull << 32, .not_after_ns = 1000}}});
    assert_int_equal(raw.count, 4);
    assert_int_equal(raw.read[1].script, 2);
    assert_int_equal(raw.read[3].depth, 2);
    assert_int_equal(raw.read[3].script, KYMO_EVENT_NONE);
}

static void no_time_is_after_the_latest(void **state)
{
    (void)state;
    unsigned char bytes[4096];
    struct kymo_call_event e[600];
    for (uint32_t i = 0; i < KYMO_ARRAY_LEN(e); i++)
        e[i] = (struct kymo_call_event){100 + i, i % 2 ? KYMO_TRACE_RETURN : KYMO_TRACE_CALL, 1, 1};
    static const uint64_t clock_ns[] = {0, 500, 5000, 1ull << 62};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(clock_ns); i++) {
        read_group(&(kymo_event_raw_calls){.calls = {bytes,
                                                     put_calls(bytes, e, KYMO_ARRAY_LEN(e)),
                                                     {.clock_ns = clock_ns[i],
                                                      .ns_per_tick = 1ull << 32,
                                                      .not_before_ns = 150,
                                                      .not_after_ns = 1000}}});
        assert_int_equal(raw.count, KYMO_ARRAY_LEN(e));
        for (uint32_t k = 0; k < raw.count; k++)
            assert_true(raw.read[k].time_ns >= 150 && raw.read[k].time_ns <= 1000);
    }
}

static void wrong_events_are_refused(void **state)
{
    (void)state;
    static const kymo_event_call wrong[] = {
        {.kind = KYMO_TRACE_STOP + 1}, {.depth = 0}, {.depth = KYMO_CALL_DEPTH_MAX + 1}};
    kymo_recording_writer *w;
    int fd = memfd_create("recording", MFD_CLOEXEC);
    assert_int_equal(kymo_recording_writer_create(fd, 0, &w), KYMO_OK);
    assert_int_equal(kymo_recording_write_meta(w, &(kymo_event_meta){.start_ns = 1}), KYMO_OK);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(wrong); i++)
        assert_int_equal(kymo_recording_write_calls(w, &(kymo_event_calls){0, 1, &wrong[i]}),
                         KYMO_E_INVALID);
    assert_int_equal(kymo_recording_error(w, NULL), KYMO_OK);
    kymo_recording_writer_destroy(w);
    close(fd);
}

/* ---- what runs where a file begins in the middle ---- */

static struct {
    kymo_recording_writer *w;
    uint32_t batches, cut_at; /* a segment begins before that batch */
    int fd[2];
    uint32_t before[THREADS];                    /* events of the first segment */
    kymo_event_call read[THREADS][EVENTS + 300]; /* of the file that begins in the middle */
    uint32_t read_count[THREADS];
    uint64_t dropped[THREADS];
} m;

static kymo_err cut_calls(void *ctx, const kymo_event_calls *e)
{
    (void)ctx;
    if (m.batches++ == m.cut_at) {
        memcpy(m.before, t.count, sizeof m.before);
        m.before[e->thread] -= e->count;
        KYMO_TRY(kymo_recording_write_end(m.w, &(kymo_event_end){.end_ns = 1ull << 40}));
        KYMO_TRY(kymo_recording_begin_segment(m.w, m.fd[1]));
    }
    return kymo_recording_write_calls(m.w, e);
}

static kymo_err keep_calls(void *ctx, const kymo_event_calls *e)
{
    (void)ctx;
    memcpy(&m.read[e->thread][m.read_count[e->thread]], e->calls, e->count * sizeof *e->calls);
    m.read_count[e->thread] += e->count;
    return KYMO_OK;
}

static kymo_err keep_dropped(void *ctx, const kymo_event_dropped *e)
{
    (void)ctx;
    if (e->thread != KYMO_EVENT_NONE)
        m.dropped[e->thread] = e->calls;
    return KYMO_OK;
}

static void read_second(int fd)
{
    static const kymo_event_handler handler = {.calls = keep_calls, .dropped = keep_dropped};
    kymo_recording_report report;
    memset(m.read_count, 0, sizeof m.read_count);
    memset(m.dropped, 0, sizeof m.dropped);
    assert_int_equal(
        kymo_recording_read_fd(fd, KYMO_RECORDING_BY_OFFSET, &handler, NULL, &report, NULL),
        KYMO_OK);
    assert_string_equal(report.text, "");
}

/* The calls that run behind so many events; returns how many. */
static uint32_t find_open(uint32_t thread, uint64_t events, kymo_event_call *open)
{
    uint32_t n = 0;
    for (uint64_t i = 0; i < events; i++) {
        const kymo_event_call *e = &t.made[thread][i];
        uint32_t from = e->kind == KYMO_TRACE_STOP  ? 0
                        : e->kind == KYMO_TRACE_GAP ? UINT32_MAX
                                                    : e->depth;
        while (n && open[n - 1].depth >= from)
            n--;
        if (e->kind <= KYMO_TRACE_OPEN)
            open[n++] = (kymo_event_call){0, e->script, e->depth, KYMO_TRACE_OPEN, 0};
    }
    return n;
}

/* The file has them at that time, and then all events from there on. */
static void check_second(uint32_t thread, uint64_t events, uint64_t from_ns)
{
    static kymo_event_call open[EVENTS];
    uint32_t n = find_open(thread, events, open);
    uint64_t last_ns = events ? t.made[thread][events - 1].time_ns : 0;
    assert_int_equal(m.read_count[thread], n + t.count[thread] - events);
    for (uint32_t i = 0; i < n; i++) {
        open[i].time_ns = last_ns > from_ns ? last_ns : from_ns;
        assert_memory_equal(&m.read[thread][i], &open[i], sizeof *open);
    }
    for (uint32_t i = n; i < m.read_count[thread]; i++) {
        kymo_event_call made = t.made[thread][events + i - n];
        /* A group's times do not go back. */
        if (from_ns)
            made.time_ns = m.read[thread][i].time_ns;
        assert_memory_equal(&m.read[thread][i], &made, sizeof made);
    }
}

static void a_ring_has_the_calls_that_run(void **state)
{
    (void)state;
    for (uint64_t room = 1 << 8; room <= 1 << 22; room *= 4) {
        int fd = memfd_create("ring", MFD_CLOEXEC);
        assert_int_equal(kymo_recording_writer_create(fd, 0, &m.w), KYMO_OK);
        kymo_recording_keep_newest(m.w, room);
        assert_int_equal(emit(&kymo_recording_write_handler, m.w), KYMO_OK);
        kymo_recording_writer_destroy(m.w);
        read_second(fd);
        uint64_t dropped = 0;
        for (uint32_t i = 0; i < THREADS; i++) {
            check_second(i, m.dropped[i], 0);
            dropped += m.dropped[i];
        }
        assert_true((room < 1 << 22) == (dropped > 0));
        close(fd);
    }
}

static void a_segment_has_the_calls_that_run(void **state)
{
    (void)state;
    kymo_event_handler cut = kymo_recording_write_handler;
    cut.calls = cut_calls;
    for (m.cut_at = 0; m.cut_at < 400; m.cut_at += 37) {
        m.batches = 0;
        m.fd[0] = memfd_create("first", MFD_CLOEXEC);
        m.fd[1] = memfd_create("second", MFD_CLOEXEC);
        assert_int_equal(kymo_recording_writer_create(m.fd[0], 0, &m.w), KYMO_OK);
        kymo_recording_keep_definitions(m.w);
        assert_int_equal(emit(&cut, m.w), KYMO_OK);
        kymo_recording_writer_destroy(m.w);
        read_second(m.fd[1]);
        for (uint32_t i = 0; i < THREADS; i++)
            check_second(i, m.before[i], 1ull << 40);
        close(m.fd[0]);
        close(m.fd[1]);
    }
}

int main(void)
{
    t.random = 42;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_back),
        cmocka_unit_test(bytes_of_a_tracer_become_events),
        cmocka_unit_test(a_ring_keeps_the_newest_of_large_groups),
        cmocka_unit_test(behind_what_is_missing_nothing_is_guessed),
        cmocka_unit_test(a_damaged_group_is_left_out_alone),
        cmocka_unit_test(a_function_that_comes_late_is_known_from_then_on),
        cmocka_unit_test(behind_a_gap_functions_are_not_known),
        cmocka_unit_test(no_time_is_after_the_latest),
        cmocka_unit_test(wrong_events_are_refused),
        cmocka_unit_test(a_ring_has_the_calls_that_run),
        cmocka_unit_test(a_segment_has_the_calls_that_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
