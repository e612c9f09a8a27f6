/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is what a program has written over its session: the frames of a stack, and the code
 * area that they name. The drain hands on what it says it does, within its limits, and not more
 * than the area holds.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/atomic.h"
#include "buffer/code_area.h"
#include "buffer/depot.h"
#include "buffer/drain.h"
#include "buffer/stream.h"
#include "sys/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(int condition)
{
    if (!condition)
        abort();
}

struct seen {
    uint32_t codes;
    uint64_t bytes, sum;
};

static kymo_err on_thread(void *c, const struct kymo_drain_thread *thread)
{
    (void)c;
    (void)thread;
    return KYMO_OK;
}

static kymo_err on_sample(void *c, const struct kymo_drain_sample *sample)
{
    (void)c;
    (void)sample;
    return KYMO_OK;
}

static kymo_err on_code(void *c, const struct kymo_drain_code *code)
{
    struct seen *s = c;
    check(code->number == s->codes++);
    check(code->name_len <= KYMO_CODE_NAME_MAX && code->file_len <= KYMO_CODE_FILE_MAX &&
          code->lines_len <= KYMO_CODE_LINES_MAX);
    for (uint32_t i = 0; i < code->name_len; i++)
        s->sum += (uint8_t)code->name[i];
    for (uint32_t i = 0; i < code->file_len; i++)
        s->sum += (uint8_t)code->file[i];
    for (uint32_t i = 0; code->lines && i < code->lines_len; i++)
        s->sum += code->lines[i];
    s->bytes += code->name_len + code->file_len + code->lines_len;
    return KYMO_OK;
}

static kymo_err on_stack(void *c, uint32_t stack, uint32_t flags,
                         const struct kymo_drain_frame *frames, uint32_t n)
{
    const struct seen *s = c;
    (void)stack;
    (void)flags;
    for (uint32_t i = 0; i < n; i++)
        check(!frames[i].is_code || frames[i].code == KYMO_NO_CODE || frames[i].code < s->codes);
    return KYMO_OK;
}

static void add_stack(struct kymo_session *s, const struct kymo_session_plan *plan, uint32_t thread,
                      const uint64_t *words, uint32_t n)
{
    struct kymo_stream_writer w = {.kind = KYMO_STREAM_SIGNAL};
    const struct kymo_stack_key key = {words, n, 0, 0};
    uint32_t id = kymo_depot_insert(s, plan, 0, &key);
    struct kymo_record_sample *r = kymo_stream_reserve(&w, s, plan, thread, sizeof *r);
    check(id && r);
    *r = (struct kymo_record_sample){
        .head = {.kind = KYMO_RECORD_SAMPLE_CPU, .size_bytes = sizeof *r, .stack = id}};
    kymo_stream_publish(&w, sizeof *r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct kymo_session_plan plan;
    uint64_t words[32];
    size_t frames = len > 0 ? data[0] % 32u : 0;
    if (len < 1 + frames * 2)
        return 0;
    check(kymo_session_plan(1u << 20, &plan) == KYMO_OK);
    struct kymo_session *s = mmap(NULL, plan.total_bytes, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(s != MAP_FAILED);
    s->clock_kind = KYMO_CLOCK_MONOTONIC;
    kymo_session_format(s, &plan);
    for (size_t i = 0; i < frames; i++)
        words[i] = KYMO_PC_PYTHON | (uint64_t)(data[1 + 2 * i] | data[2 + 2 * i] << 8)
                                        << KYMO_PC_PYTHON_CODE_SHIFT;
    const uint8_t *area = data + 1 + 2 * frames;
    size_t bytes = len - 1 - 2 * frames;
    if (bytes > (size_t)plan.code_words * 8)
        bytes = (size_t)plan.code_words * 8;
    memcpy((char *)s + plan.codes_at, area, bytes);
    struct seen seen = {0};
    struct kymo_drain_sink sink = {.thread_begin = on_thread,
                                   .thread_end = on_thread,
                                   .code = on_code,
                                   .stack = on_stack,
                                   .sample = on_sample,
                                   .context = &seen};
    kymo_drain *drain;
    check(kymo_drain_create(s, &plan, &sink, &drain) == KYMO_OK);
    uint32_t thread = kymo_slot_take(s, &plan) - 1;
    if (frames > 0)
        add_stack(s, &plan, thread, words, (uint32_t)frames);
    kymo_store_release(&kymo_session_slot(s, &plan, thread)->state, KYMO_SLOT_LIVE);
    check(kymo_drain_finish(drain, 1) == KYMO_OK);
    check(seen.bytes <= (uint64_t)plan.code_words * 8);
    kymo_drain_destroy(drain);
    munmap(s, plan.total_bytes);
    return 0;
}
