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
    *time_ns += draw(200);
    e.time_ns = *time_ns;
    if (what == 0) {
        e.kind = draw(KYMO_TRACE_STOP + 1);
        e.depth = draw(2) ? draw(40) : KYMO_EVENT_CALL_DEPTH_MAX - draw(2);
        e.script = draw(3) ? draw(SCRIPTS) : KYMO_EVENT_NONE;
        e.missing = e.kind == KYMO_TRACE_GAP ? UINT32_MAX - draw(2) : 0;
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

/* As a program makes them: some 100 ns apart, few functions, deep. */
static kymo_err emit_regular(const kymo_event_handler *h, void *ctx)
{
    static kymo_event_call calls[2 * EVENTS];
    uint64_t time_ns = 1000;
    for (uint32_t i = 0; i < 2 * EVENTS; i++) {
        /* Up and down between depths 1 and 50. */
        uint32_t place = i % 100, is_call = place < 50;
        time_ns += 40 + draw(200);
        calls[i] = (kymo_event_call){time_ns, is_call ? place : 99 - place,
                                     1 + (is_call ? place : 99 - place),
                                     is_call ? KYMO_TRACE_CALL : KYMO_TRACE_RETURN, 0};
    }
    KYMO_TRY(h->meta(ctx, &(kymo_event_meta){.start_ns = 1}));
    KYMO_TRY(h->process(ctx, &(kymo_event_process){.pid = 1}));
    KYMO_TRY(h->thread(ctx, &(kymo_event_thread){.tid = 1}));
    for (uint32_t i = 0; i < 50; i++)
        KYMO_TRY(h->script(ctx, &(kymo_event_script){0, i, i, KYMO_EVENT_PYTHON, "f", "f.py"}));
    return h->calls(ctx, &(kymo_event_calls){0, 2 * EVENTS, calls});
}

static void an_event_takes_less_than_four_bytes(void **state)
{
    (void)state;
    kymo_bytes file;
    kymo_bytes_init(&file, RECORDING_LIMIT);
    assert_int_equal(recording_to_bytes(emit_regular, 0, &file), KYMO_OK);
    assert_true(file.len < 7 * EVENTS);
    kymo_bytes_deinit(&file);
}

static void wrong_events_are_refused(void **state)
{
    (void)state;
    static const kymo_event_call wrong[] = {{.kind = KYMO_TRACE_STOP + 1},
                                            {.depth = KYMO_EVENT_CALL_DEPTH_MAX + 1}};
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

int main(void)
{
    t.random = 42;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_back),
        cmocka_unit_test(an_event_takes_less_than_four_bytes),
        cmocka_unit_test(wrong_events_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
