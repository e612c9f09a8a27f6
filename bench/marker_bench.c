/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marker_bench.c - what one of our markers costs the thread that makes it, in the loops of
 * marker_loop.h. It is run under `kymo record`; what is lost is an error: it costs nothing.
 *
 * marker_count is the same in a session of its own, for callgrind, and tells how many bytes one of
 * a kind writes, of which its floor has as many: bytes KIND.
 */
#include <stdio.h>
#include <string.h>

#include "kymo/marker.h"
#include "marker_loop.h"
#include "marker_session.h"

enum {
    BATCH_OF_STACKS = 256,
};

KYMO_CATEGORY(bench, "Bench", BLUE);
KYMO_CATEGORY_QUIET(off, "off", GREY);

#define TWO_WORDS(F) F(u64, a, NULL, INTEGER, 0) F(u64, b, NULL, INTEGER, 0)
KYMO_TYPE(two_words, "TwoWords", TWO_WORDS, KYMO_ALL_LABELS(two_words, "", a, ""));
#define SIX_WORDS(F)            \
    TWO_WORDS(F)                \
    F(u64, c, NULL, INTEGER, 0) \
    F(u64, d, NULL, INTEGER, 0) F(u64, e, NULL, INTEGER, 0) F(u64, f, NULL, INTEGER, 0)
KYMO_TYPE(six_words, "SixWords", SIX_WORDS, KYMO_ALL_LABELS(six_words, "", a, ""));
#define TYPED(F)                        \
    F(u16, status, NULL, INTEGER, 0)    \
    F(u64, bytes, NULL, BYTES, 0)       \
    F(literal, method, NULL, STRING, 0) \
    F(flow, flow, NULL, FLOW_ID, 0)
KYMO_TYPE(typed, "Typed", TYPED, KYMO_ALL_LABELS(typed, "", method, ""));
#define NUMBERS_TEXT(F)         \
    F(u32, a, NULL, INTEGER, 0) \
    F(u32, b, NULL, INTEGER, 0) \
    F(str, text, NULL, STRING, 0)
KYMO_TYPE(numbers_text, "NumbersText", NUMBERS_TEXT, KYMO_ALL_LABELS(numbers_text, "", text, ""));

KYMO_COUNTER(counted, bench, "Counted", TOTAL, NULL, BLUE);
KYMO_COUNTER(counted_0, bench, "Counted by the first", TOTAL, NULL, BLUE);
KYMO_COUNTER(counted_1, bench, "Counted by the second", TOTAL, NULL, BLUE);
KYMO_COUNTER(gauge, bench, "Gauge", GAUGE, NULL, BLUE);
KYMO_COUNTER_EACH_CHANGE(each, bench, "Each change", TOTAL, NULL, BLUE);

LOOP_OPERATION(disabled, KYMO_MARKER_T(off, "off", two_words, .a = i, .b = 2))
LOOP_OPERATION(now, __asm__ volatile("" ::"r"(kymo_now())))
LOOP_OPERATION(instant16, KYMO_MARKER(bench, "instant"))
LOOP_OPERATION(instant32, KYMO_MARKER_T(bench, "two words", two_words, .a = i, .b = 2))
LOOP_OPERATION(instant64, KYMO_MARKER_T(bench, "six words", six_words, .a = i, .b = 2, .c = i,
                                        .d = i, .e = i, .f = i))
LOOP_OPERATION(typed, KYMO_MARKER_T(bench, "typed", typed, .status = 200, .bytes = i,
                                    .method = KYMO_LITERAL("GET"), .flow = i + 1))
LOOP_OPERATION(text, KYMO_MARKER_TEXT(bench, "text", loop_text))
LOOP_OPERATION(numbers_text, KYMO_MARKER_T(bench, "text", numbers_text, .a = (uint32_t)i, .b = 2,
                                           .text = loop_text))
LOOP_OPERATION(format, KYMO_MARKER_FMT(bench, "format", "%d of %u at %p", (int)i, 5u,
                                       (const void *)&loop_text))
LOOP_OPERATION(scope, KYMO_SCOPE(bench, "scope"))
LOOP_OPERATION(scope_typed, KYMO_SCOPE_T(bench, "scope", two_words, payload); payload.a = i)
LOOP_OPERATION(scope_short, KYMO_SCOPE_MIN(bench, "scope", 1000000000))
LOOP_OPERATION(interval, uint64_t id = KYMO_INTERVAL_BEGIN(bench, "interval");
               KYMO_INTERVAL_END(bench, "interval", id))
LOOP_OPERATION(stack, KYMO_MARKER_OPT(bench, "stack", KYMO_OPTIONS(.stack = KYMO_STACK_HERE)))
LOOP_OPERATION(label, KYMO_LABEL_SCOPE("request_id", i))
LOOP_OPERATION(counter, KYMO_COUNT(counted, 1))
LOOP_OPERATION(own_counter_0, KYMO_COUNT(counted_0, 1))
LOOP_OPERATION(own_counter_1, KYMO_COUNT(counted_1, 1))
LOOP_OPERATION(gauge, KYMO_COUNT(gauge, (int64_t)i))
LOOP_OPERATION(counter_each, KYMO_COUNT(each, 1))

static void run_own_counter(uint32_t n)
{
    (loop_thread == 0 ? run_own_counter_0 : run_own_counter_1)(n);
}

static const struct loop_kind kinds[] = {
    LOOP_KIND_OF(disabled, LOOP_BATCH, 0),
    LOOP_KIND_OF(now, LOOP_BATCH, 0),
    LOOP_KIND(instant16),
    LOOP_KIND(instant32),
    LOOP_KIND(instant64),
    LOOP_KIND(typed),
    LOOP_KIND(text),
    LOOP_KIND(numbers_text),
    LOOP_KIND(format),
    LOOP_KIND(scope),
    LOOP_KIND(scope_typed),
    LOOP_KIND_OF(scope_short, LOOP_BATCH, 0),
    LOOP_KIND_OF(interval, LOOP_BATCH, 2),
    LOOP_KIND_OF(stack, BATCH_OF_STACKS, 1),
    LOOP_KIND_OF(label, LOOP_BATCH, 0),
    LOOP_KIND_OF(counter, LOOP_BATCH, 0),
    LOOP_KIND_OF(own_counter, LOOP_BATCH, 0),
    LOOP_KIND_OF(gauge, LOOP_BATCH, 0),
    LOOP_KIND_OF(counter_each, LOOP_BATCH, 0),
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };
static const struct loop_program program = {"kymo", kinds, KINDS, NULL};

/* The second one of a kind: the first also says its names. */
static int print_bytes(const char *name)
{
    for (uint32_t k = 0; k < KINDS; k++) {
        if (strcmp(kinds[k].name, name) != 0)
            continue;
        kinds[k].run(1);
        uint32_t before = marker_session_used();
        kinds[k].run(1);
        printf("bytes=%u\n", marker_session_used() - before);
        return 0;
    }
    return 2;
}

int main(int argc, char **argv)
{
    if (marker_session_open) {
        if (marker_session_open(&kymo_mark_link_) != 0 || !KYMO_IS_ON(bench))
            return 1;
        return argc == 3 && strcmp(argv[1], "bytes") == 0 ? print_bytes(argv[2])
                                                          : loop_main(&program, argc, argv);
    }
    if (!KYMO_IS_ON(bench) || KYMO_IS_ON(off)) {
        fprintf(stderr, "marker_bench: run me under kymo record\n");
        return 1;
    }
    int status = loop_main(&program, argc, argv);
    if (status != 0)
        return status;
    struct kymo_mark_stats stats;
    int err = kymo_markers_stats(&stats);
    printf("marker stats=%d made=%llu written=%llu lost=%llu\n", err,
           (unsigned long long)loop_marks(&program), (unsigned long long)stats.written,
           (unsigned long long)stats.lost);
    return err != 0 || stats.lost != 0 || stats.written != loop_marks(&program);
}
