/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intervals of a recording, read as one, give the events of a recording that has no intervals,
 * wherever it is cut.
 */
#include "cut_recording.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/str.h"
#include "base/vec.h"
#include "buffer/record.h"
#include "kymo/marker_abi.h"
#include "kymo/trace_abi.h"

#define OK(call) assert_int_equal((call), KYMO_OK)

/* ---- intervals ---- */

static kymo_err begin_interval(kymo_recording_writer *writer, int fd)
{
    const struct kymo_interval_start start = {2, 3};
    return kymo_recording_begin_interval(writer, fd, &start);
}

static uint32_t write_intervals(struct cut *c, recording_emit emit, uint32_t first, uint32_t second)
{
    return write_cut(c, emit, begin_interval, first, second);
}

/* ---- what is read ---- */

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Its lines in an order that a cut does not change; lines that say the same again (a name, the
 * value of a counter) once. What lived before the recording is said at its begin alone, which the
 * sample does not care about. */
static char *sorted(const char *text)
{
    KYMO_VEC(char *) lines = {0};
    kymo_str out = {0};
    char *copy = strdup(text);
    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n"))
        OK(kymo_vec_push(&lines, line));
    qsort(lines.data, lines.len, sizeof *lines.data, compare_lines);
    for (size_t i = 0; i < lines.len; i++)
        if ((i == 0 || strcmp(lines.data[i], lines.data[i - 1]) != 0) &&
            strncmp(lines.data[i], "live ", 5) != 0 &&
            !strstr(lines.data[i], "before this file begins"))
            kymo_str_printf(&out, "%s\n", lines.data[i]);
    kymo_vec_deinit(&lines);
    free(copy);
    return out.data;
}

static char *read_joined(const struct cut *c)
{
    const struct kymo_recording_intervals all = {c->parts, c->count, 77};
    kymo_recording_report report;
    kymo_str text = {0};
    OK(kymo_recording_read_intervals(&all, &event_text_handler, &text, &report, NULL));
    assert_string_equal(report.text, "");
    assert_int_equal(report.ending, KYMO_RECORDING_ENDED);
    char *lines = sorted(kymo_str_cstr(&text));
    kymo_str_deinit(&text);
    return lines;
}

/* Frees got. */
static void compare(char *got, char *wanted, uint32_t first, uint32_t second)
{
    if (strcmp(got, wanted) != 0) {
        size_t i = 0;
        while (got[i] == wanted[i])
            i++;
        while (i > 0 && got[i - 1] != '\n')
            i--;
        fail_msg("cut before events %u and %u:\n%.900s\ninstead of\n%.900s", first, second, got + i,
                 wanted + i);
    }
    free(got);
}

static void check_cuts(recording_emit emit)
{
    struct cut c;
    const uint32_t events = write_intervals(&c, emit, 0, 0);
    char *whole = read_joined(&c);
    close_cut(&c);
    /* Not before META, nor when all is over. */
    for (uint32_t at = 1; at + 1 < events; at++) {
        write_intervals(&c, emit, at, 0);
        assert_int_equal(c.count, 2);
        compare(read_joined(&c), whole, at, 0);
        close_cut(&c);
        write_intervals(&c, emit, at, at + (events - at) / 2);
        compare(read_joined(&c), whole, at, at + (events - at) / 2);
        close_cut(&c);
    }
    free(whole);
}

static void it_says_the_same_wherever_it_is_cut(void **state)
{
    (void)state;
    check_cuts(sample_recording_emit);
}

/* ---- what an interval repeats, and figures that count from its begin ---- */

#define EMIT(what, ...)                           \
    do {                                          \
        const kymo_event_##what e_ = __VA_ARGS__; \
        KYMO_TRY(handler->what(ctx, &(e_)));      \
    } while (0)

static kymo_err emit_marker(const kymo_event_handler *handler, void *ctx, uint32_t phase,
                            uint64_t id, uint64_t time_ns)
{
    EMIT(marker, {.site = 1,
                  .phase = phase,
                  .stack = KYMO_EVENT_NONE,
                  .time_ns = time_ns,
                  .id = id,
                  .track = KYMO_EVENT_NONE});
    return KYMO_OK;
}

static kymo_err emit_call(const kymo_event_handler *handler, void *ctx, uint64_t time_ns,
                          uint32_t depth, uint32_t kind)
{
    const kymo_event_call call = {.time_ns = time_ns, .script = 0, .depth = depth, .kind = kind};
    EMIT(calls, {.count = 1, .calls = &call});
    return KYMO_OK;
}

static kymo_err emit_sample(const kymo_event_handler *handler, void *ctx, uint64_t time_ns)
{
    const kymo_event_sample sample = {.time_ns = time_ns, .weight_ns = 5, .stack = 0};
    EMIT(samples, {.count = 1, .samples = &sample});
    return KYMO_OK;
}

static kymo_err emit_label(const kymo_event_handler *handler, void *ctx, uint64_t time_ns,
                           uint32_t change, uint32_t depth, const char *text)
{
    EMIT(label, {.change = change,
                 .depth = depth,
                 .time_ns = time_ns,
                 .kind = text ? KYMO_KIND_TEXT : KYMO_KIND_NONE,
                 .key = text ? "user" : NULL,
                 .text = text});
    return KYMO_OK;
}

static kymo_err emit_states(const kymo_event_handler *handler, void *ctx)
{
    static const uint8_t image[] = {1, 2, 3, 4};
    const kymo_event_frame frame = {0x10, 0, 0};
    EMIT(meta, {.start_ns = 1, .period_ns = 5});
    EMIT(process, {.pid = 10, .is_main = 1, .start_ns = 2, .name = "p"});
    EMIT(module, {.start = 1, .end = 2, .path = "[vdso]"});
    EMIT(module_image, {.bytes = image, .len = sizeof image});
    EMIT(script, {.language = KYMO_EVENT_PYTHON, .name = "f", .file = "f.py"});
    EMIT(stack, {.depth = 1, .frames = &frame});
    EMIT(thread, {.tid = 10, .start_ns = 2});
    EMIT(site,
         {.site = 1, .category = KYMO_EVENT_NONE, .type = KYMO_EVENT_NONE, .name = "request"});
    EMIT(allocation, {.time_ns = 3, .id = 1, .address = 0x1000, .bytes = 100, .rate = 50});
    KYMO_TRY(emit_marker(handler, ctx, KYMO_PHASE_BEGIN, 5, 4));
    KYMO_TRY(emit_marker(handler, ctx, KYMO_PHASE_BEGIN, 5, 5));
    KYMO_TRY(emit_call(handler, ctx, 6, 1, KYMO_TRACE_CALL));
    KYMO_TRY(emit_label(handler, ctx, 7, KYMO_LABEL_PUSHED, 0, "Ann"));
    KYMO_TRY(emit_sample(handler, ctx, 8));
    EMIT(loss, {.kind = 4, .count = 2, .name = "no block"});
    EMIT(quality, {.samples = 1, .handler_ns = 10, .disturbed = 3, .cpu_unsampled_ns = 4});
    EMIT(site_counts, {.site = 1, .lost = 1, .capped = 2, .cut = 3});
    EMIT(heap, {.rate = 50, .count = 1, .bytes = 100});
    KYMO_TRY(emit_call(handler, ctx, 9, 2, KYMO_TRACE_CALL));
    EMIT(free, {.time_ns = 10, .id = 1});
    KYMO_TRY(emit_marker(handler, ctx, KYMO_PHASE_END, 5, 11));
    KYMO_TRY(emit_sample(handler, ctx, 12));
    KYMO_TRY(emit_label(handler, ctx, 13, KYMO_LABEL_POPPED, 0, NULL));
    EMIT(loss, {.kind = 4, .count = 7, .name = "no block"});
    EMIT(loss, {.kind = 5, .count = 1, .name = "depot full"});
    EMIT(quality, {.samples = 2, .handler_ns = 30, .disturbed = 3, .cpu_unsampled_ns = 9});
    EMIT(site_counts, {.site = 1, .lost = 4, .capped = 4, .cut = 4});
    EMIT(heap, {.rate = 50, .count = 3, .bytes = 300});
    KYMO_TRY(emit_call(handler, ctx, 14, 2, KYMO_TRACE_RETURN));
    KYMO_TRY(emit_call(handler, ctx, 15, 1, KYMO_TRACE_RETURN));
    EMIT(thread_end, {.end_ns = 16, .cpu_ns = 12, .cpu_tail_ns = 2});
    EMIT(process_end, {.end_ns = 17, .user_ns = 20});
    EMIT(end, {.end_ns = 18});
    return KYMO_OK;
}

static void what_is_repeated_is_there_once(void **state)
{
    (void)state;
    struct cut c;
    check_cuts(emit_states);
    write_intervals(&c, emit_states, 21, 0);
    char *text = read_joined(&c);
    assert_non_null(strstr(text, "thread_end 0 end=16 cpu=12 tail=2"));
    free(text);
    close_cut(&c);
}

/* ---- a file that is written meanwhile ---- */

static void it_is_read_as_far_as_it_was_written(void **state)
{
    (void)state;
    struct cut c;
    write_intervals(&c, emit_states, 20, 0);
    char *before = read_joined(&c);
    /* Names are stored in place of the end, and the file grows. */
    char bytes[256];
    memset(bytes, 0xa5, sizeof bytes);
    assert_int_equal(pwrite(c.parts[0].fd, bytes, sizeof bytes, (off_t)c.parts[0].bytes),
                     sizeof bytes);
    char *after = read_joined(&c);
    assert_string_equal(after, before);
    free(before);
    free(after);
    close_cut(&c);
}

static void damage_is_told(void **state)
{
    (void)state;
    struct cut c;
    kymo_recording_report report;
    kymo_error detail;
    const kymo_event_handler none = {.meta = NULL};
    write_intervals(&c, emit_states, 20, 0);
    const struct kymo_recording_intervals all = {c.parts, c.count, 0};
    c.parts[0].bytes -= 4;
    OK(kymo_recording_read_intervals(&all, &none, NULL, &report, NULL));
    assert_non_null(strstr(report.text, "damaged chunk"));
    c.parts[0].bytes = 20;
    assert_int_equal(kymo_recording_read_intervals(&all, &none, NULL, NULL, &detail),
                     KYMO_E_TRUNCATED);
    close_cut(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_the_same_wherever_it_is_cut),
        cmocka_unit_test(what_is_repeated_is_there_once),
        cmocka_unit_test(it_is_read_as_far_as_it_was_written),
        cmocka_unit_test(damage_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
