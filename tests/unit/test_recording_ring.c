/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flight recorder's writer: the newest is kept, what is dropped is counted exactly, and the file
 * is as whole as any.
 */
#include "failing_allocation.h"
#include "recording_fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "buffer/record.h"
#include "kymo/marker_abi.h"

#define OK(call) assert_int_equal((call), KYMO_OK)
#define ROOM (64u << 10)

/* What was written, or what is in a file. Numbers count from 1, and are times, too. */
struct seen {
    uint64_t samples[2], first_sample[2], weight_ns[2];
    uint64_t wall_samples, wall_ns;
    uint64_t markers, first_marker, last_marker;
    uint64_t counts, first_count;
    uint64_t stacks, tellings;
    kymo_str labels;               /* in the order of the file */
    kymo_event_dropped dropped[3]; /* of each thread, and the rest */
};

static kymo_err see_samples(void *ctx, const kymo_event_samples *e)
{
    struct seen *s = ctx;
    for (uint32_t i = 0; i < e->count; i++) {
        const kymo_event_sample *sample = &e->samples[i];
        if (sample->kind) {
            s->wall_samples++;
            s->wall_ns += sample->weight_ns;
            continue;
        }
        if (s->samples[e->thread]++ == 0)
            s->first_sample[e->thread] = sample->time_ns;
        s->weight_ns[e->thread] += sample->weight_ns;
    }
    return KYMO_OK;
}

static kymo_err see_marker(void *ctx, const kymo_event_marker *e)
{
    struct seen *s = ctx;
    if (s->markers++ == 0)
        s->first_marker = e->time_ns;
    s->last_marker = e->time_ns;
    return KYMO_OK;
}

static kymo_err see_count(void *ctx, const kymo_event_count *e)
{
    struct seen *s = ctx;
    if (s->counts++ == 0)
        s->first_count = e->time_ns;
    return KYMO_OK;
}

static kymo_err see_stack(void *ctx, const kymo_event_stack *e)
{
    ((struct seen *)ctx)->stacks++;
    return e->depth == 1 ? KYMO_OK : KYMO_E_INVALID;
}

/* Pushed ones with a plus, set ones with a colon. */
static kymo_err see_label(void *ctx, const kymo_event_label *e)
{
    struct seen *s = ctx;
    if (e->change == KYMO_LABEL_POPPED)
        return KYMO_OK;
    if (e->change == KYMO_LABEL_INHERITED)
        kymo_str_printf(&s->labels, "%u from %d: %u ", e->thread, e->from_tid, e->depth);
    else
        kymo_str_printf(&s->labels, "%u%c%s=%s%" PRIu64 " ", e->thread,
                        e->change == KYMO_LABEL_PUSHED ? '+' : ':', e->key, e->text ? e->text : "",
                        e->number);
    return KYMO_OK;
}

static kymo_err see_dropped(void *ctx, const kymo_event_dropped *e)
{
    struct seen *s = ctx;
    s->tellings++;
    s->dropped[e->thread == KYMO_EVENT_NONE ? 2 : e->thread] = *e;
    return KYMO_OK;
}

static const kymo_event_handler see = {
    .samples = see_samples,
    .marker = see_marker,
    .count = see_count,
    .stack = see_stack,
    .label = see_label,
    .dropped = see_dropped,
};

#define WRITE(what, ...)                                   \
    do {                                                   \
        const kymo_event_##what e_ = __VA_ARGS__;          \
        KYMO_TRY(kymo_recording_write_##what((w), &(e_))); \
    } while (0)

static kymo_err begin(int fd, uint64_t room, kymo_recording_writer **out)
{
    KYMO_TRY(kymo_recording_writer_create(fd, 0, out));
    kymo_recording_writer *w = *out;
    kymo_recording_keep_newest(w, room);
    WRITE(meta, {.start_ns = 1, .wall_period_ns = 1});
    WRITE(process, {.pid = 1});
    WRITE(thread, {.tid = 1});
    WRITE(thread, {.thread = 1, .tid = 2});
    const kymo_event_frame frame = {.module = KYMO_EVENT_NONE};
    WRITE(stack, {.depth = 1, .frames = &frame});
    WRITE(site, {.category = KYMO_EVENT_NONE, .type = KYMO_EVENT_NONE, .name = "m"});
    WRITE(counter, {.category = KYMO_EVENT_NONE, .name = "c"});
    return KYMO_OK;
}

/* So many of each, the samples of two threads in turns, each fourth one of wall time. */
static kymo_err write_rows(kymo_recording_writer *w, uint64_t n)
{
    for (uint64_t i = 1; i <= n; i++) {
        const kymo_event_sample samples[] = {{i, 10 + i, 0, 0, 1, 0, 0}, {i, 5, 0, 1, 1, 0, 0}};
        WRITE(samples, {.thread = i % 2, .count = 1 + (i % 4 == 0), .samples = samples});
        WRITE(marker,
              {.time_ns = i, .stack = KYMO_EVENT_NONE, .track = KYMO_EVENT_NONE, .phase = 0});
        WRITE(count, {.time_ns = i, .value = (int64_t)i});
    }
    return KYMO_OK;
}

static void read_back(int fd, struct seen *seen, kymo_recording_report *report)
{
    *seen = (struct seen){.stacks = 0};
    OK(kymo_recording_read_fd(fd, KYMO_RECORDING_BY_OFFSET, &see, seen, report, NULL));
}

/* Sum of 10 + i for those i of (0, n] that are `odd` modulo 2. */
static uint64_t weights(uint64_t n, uint64_t odd)
{
    uint64_t sum = 0;
    for (uint64_t i = 1; i <= n; i++)
        sum += i % 2 == odd ? 10 + i : 0;
    return sum;
}

static void check(const struct seen *s, uint64_t n)
{
    for (uint64_t t = 0; t < 2; t++) {
        assert_int_equal(s->samples[t] + s->dropped[t].samples, n / 2);
        assert_int_equal(s->weight_ns[t] + s->dropped[t].weight_ns, weights(n, t));
        assert_int_equal(s->dropped[t].weight_ns, weights(2 * s->dropped[t].samples, t));
        assert_int_equal(s->dropped[t].unknown, 0);
        assert_int_equal(s->dropped[t].counts, 0);
    }
    assert_int_equal(s->wall_samples + s->dropped[0].wall_samples, n / 4);
    assert_int_equal(s->wall_ns + s->dropped[0].wall_ns, n / 4 * 5);
    assert_int_equal(s->dropped[1].wall_samples, 0);
    assert_int_equal(s->markers + s->dropped[0].markers, n);
    assert_int_equal(s->counts + s->dropped[2].counts, n);
    assert_int_equal(s->stacks, 1);
}

static void the_newest_is_kept(void **state)
{
    (void)state;
    enum { N = 40000 };
    struct seen s;
    struct stat before, after;
    kymo_recording_report report;
    kymo_recording_writer *w;
    int fd = memfd_create("ring", MFD_CLOEXEC);
    OK(begin(fd, ROOM, &w));
    OK(write_rows(w, N));
    OK(kymo_recording_flush(w));
    read_back(fd, &s, &report); /* as it is while the program runs, or where kymo is killed */
    assert_int_equal(report.ending, KYMO_RECORDING_NO_END);
    assert_int_equal(s.stacks, 1);
    assert_int_equal(s.samples[0] + s.samples[1] + s.markers + s.counts + s.tellings, 0);
    OK(fstat(fd, &before));
    OK(kymo_recording_write_end(w, &(kymo_event_end){.end_ns = N + 1, .clean = 1}));
    kymo_recording_writer_destroy(w);
    OK(fstat(fd, &after));
    assert_true(after.st_size - before.st_size < ROOM + 1024);
    assert_true(after.st_size - before.st_size > ROOM / 2);
    read_back(fd, &s, &report);
    assert_int_equal(report.ending, KYMO_RECORDING_ENDED);
    assert_string_equal(report.text, "");
    check(&s, N);
    assert_int_equal(s.tellings, 3);
    for (uint64_t t = 0; t < 3; t++)
        assert_int_equal(s.dropped[t].ring_bytes, ROOM);
    assert_true(s.samples[0] > 0 && s.dropped[0].samples > 0);
    assert_true(s.dropped[0].markers > 0 && s.dropped[2].counts > 0);
    /* Without a hole, to the last one. */
    assert_int_equal(s.first_sample[0], 2 * s.dropped[0].samples + 2);
    assert_int_equal(s.first_sample[1], 2 * s.dropped[1].samples + 1);
    assert_int_equal(s.first_marker, s.dropped[0].markers + 1);
    assert_int_equal(s.last_marker, N);
    assert_int_equal(s.first_count, s.dropped[2].counts + 1);
    close(fd);
}

static void what_has_room_is_all_kept(void **state)
{
    (void)state;
    struct seen s;
    kymo_recording_report report;
    kymo_recording_writer *w;
    int fd = memfd_create("ring", MFD_CLOEXEC);
    OK(begin(fd, 16 * ROOM, &w));
    OK(write_rows(w, 1000));
    OK(kymo_recording_write_kept(w)); /* from here on it is a writer like any other */
    OK(write_rows(w, 1000));
    OK(kymo_recording_flush(w));
    OK(kymo_recording_write_kept(w));
    kymo_recording_writer_destroy(w);
    read_back(fd, &s, &report);
    assert_int_equal(s.markers, 2000);
    assert_int_equal(s.counts, 2000);
    assert_int_equal(s.samples[0], 1000);
    assert_int_equal(s.tellings, 1);
    assert_int_equal(s.dropped[2].ring_bytes, 16 * ROOM);
    assert_int_equal(s.dropped[2].counts, 0);
    close(fd);
}

/* Not even one chunk has room: all of it is dropped, and counted. */
static void a_ring_smaller_than_a_chunk(void **state)
{
    (void)state;
    struct seen s;
    kymo_recording_report report;
    kymo_recording_writer *w;
    int fd = memfd_create("ring", MFD_CLOEXEC);
    OK(begin(fd, 40, &w));
    OK(write_rows(w, 1000));
    OK(kymo_recording_write_end(w, &(kymo_event_end){.end_ns = 1001}));
    kymo_recording_writer_destroy(w);
    read_back(fd, &s, &report);
    assert_string_equal(report.text, "");
    check(&s, 1000);
    assert_int_equal(s.dropped[0].samples + s.dropped[1].samples, 1000);
    assert_int_equal(s.dropped[0].markers, 1000);
    assert_int_equal(s.dropped[2].counts, 1000);
    close(fd);
}

/* A request has a label, which goes with it; what the thread has for longer stays, though the
 * change to it is long gone. */
static kymo_err write_labels(kymo_recording_writer *w, uint64_t n)
{
#define TEXT .kind = KYMO_KIND_TEXT, .text
#define NUMBER .kind = KYMO_KIND_U64, .number
#define LABEL(who, what, deep, when, ...) \
    WRITE(                                \
        label,                            \
        {.thread = who, .change = KYMO_LABEL_##what, .depth = deep, .time_ns = when, __VA_ARGS__})
    LABEL(1, INHERITED, 3, 1, .from_tid = 1, .fork_ns = 1);
    LABEL(0, PUSHED, 0, 1, .key = "role", TEXT = "worker");
    LABEL(0, WAS_SET, 1, 1, .key = "phase", TEXT = "start");
    LABEL(0, WAS_SET, 1, 1, .key = "phase", TEXT = "run");
    LABEL(0, WAS_SET, 1, 1, .key = "shard", NUMBER = 7);
    LABEL(1, PUSHED, 1, 1, .key = "own", NUMBER = 8);
    for (uint64_t i = 1; i <= n; i++) {
        LABEL(0, PUSHED, 1, i, .key = "request", NUMBER = i);
        LABEL(0, PUSHED, 2, i, .key = "step", NUMBER = i);
        LABEL(0, POPPED, 1, i, .key = NULL);
    }
    LABEL(0, PUSHED, 1, n, .key = "last", NUMBER = 9);
    return KYMO_OK;
}

static void labels_that_hold_are_kept(void **state)
{
    (void)state;
    static const uint64_t rooms[] = {40, ROOM};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(rooms); i++) {
        struct seen s;
        kymo_recording_report report;
        kymo_recording_writer *w;
        int fd = memfd_create("ring", MFD_CLOEXEC);
        OK(begin(fd, rooms[i], &w));
        OK(write_labels(w, 10000));
        OK(kymo_recording_write_end(w, &(kymo_event_end){.end_ns = 20000}));
        kymo_recording_writer_destroy(w);
        read_back(fd, &s, &report);
        assert_string_equal(report.text, "");
        if (rooms[i] == 40) { /* all changes were dropped */
            assert_string_equal(s.labels.data, "0+role=worker0 0:phase=run0 0:shard=7 0+last=9 "
                                               "1 from 1: 1 1+own=8 ");
        } else {
            const char *first = "0+role=worker0 0:phase=run0 0:shard=7 ";
            const char *last = " 0+request=10000 0+step=10000 0+last=9 ";
            assert_memory_equal(s.labels.data, first, strlen(first));
            assert_non_null(strstr(s.labels.data, "1 from 1: 1 1+own=8 0+"));
            assert_string_equal(s.labels.data + s.labels.len - strlen(last), last);
            assert_null(strstr(s.labels.data, "request=1 "));
        }
        kymo_str_deinit(&s.labels);
        close(fd);
    }
}

static kymo_err write_all_of_it(void *context)
{
    kymo_recording_writer *w = NULL;
    int fd = memfd_create("ring", MFD_CLOEXEC);
    (void)context;
    kymo_err err = begin(fd, 4096, &w);
    if (err == KYMO_OK)
        err = write_rows(w, 2000);
    if (err == KYMO_OK)
        err = write_labels(w, 500);
    if (err == KYMO_OK)
        err = kymo_recording_write_end(w, &(kymo_event_end){.end_ns = 2001});
    kymo_recording_writer_destroy(w);
    close(fd);
    return err;
}

static void each_allocation_fails_once(void **state)
{
    (void)state;
    assert_true(fail_each_allocation(write_all_of_it, NULL) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_is_kept),          cmocka_unit_test(what_has_room_is_all_kept),
        cmocka_unit_test(a_ring_smaller_than_a_chunk), cmocka_unit_test(labels_that_hold_are_kept),
        cmocka_unit_test(each_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
