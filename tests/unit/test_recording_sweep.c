/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks that nothing refers to any more are forgotten; all others are whole in the next segment.
 */
#include "unit.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "buffer/definition.h"
#include "buffer/record.h"
#include "failing_allocation.h"
#include "kymo/marker_abi.h"
#include "recording/event_text.h"
#include "recording/recording.h"

#define OK(call) assert_int_equal(call, KYMO_OK)
#define WRITE(what, ...)                                   \
    do {                                                   \
        const kymo_event_##what e_ = __VA_ARGS__;          \
        KYMO_TRY(kymo_recording_write_##what((w), &(e_))); \
    } while (0)

enum { STACKS = 100, DEPTH = 4, LIVE = 3, OPEN = 5, NAMED = 7, KERNEL = 1000, UNUSED = 1001 };
/* Modules: of no stack that stays, of LIVE, of none but loaded still. */
enum { FORGOTTEN = 11, NEEDED = 12, LOADED = 13 };

static uint32_t module_of(uint32_t stack)
{
    return stack == LIVE ? NEEDED : stack == NAMED + 1 ? FORGOTTEN : KYMO_EVENT_NONE;
}

/* Its outer frames are those of all. */
static kymo_err write_stack(kymo_recording_writer *w, uint32_t stack)
{
    kymo_event_frame frames[DEPTH];
    for (uint32_t i = 0; i < DEPTH; i++)
        frames[i] = (kymo_event_frame){i ? 0x10 * i : 0x1000 + stack,
                                       i ? KYMO_EVENT_NONE : module_of(stack), 0};
    WRITE(stack, {.process = 0, .stack = stack, .depth = DEPTH, .frames = frames});
    return KYMO_OK;
}

static kymo_err write_kernel(kymo_recording_writer *w, uint32_t stack, uint32_t caller)
{
    const kymo_event_kernel_frame frame = {.symbol = KYMO_EVENT_NONE, .offset = stack};
    WRITE(kernel_stack,
          {.process = 0, .stack = stack, .caller = caller, .depth = 1, .frames = &frame});
    return KYMO_OK;
}

static kymo_err write_first(kymo_recording_writer *w)
{
    WRITE(meta, {.start_ns = 1});
    WRITE(process, {.process = 0, .pid = 10, .start_ns = 5});
    WRITE(thread, {.thread = 0, .process = 0, .tid = 10});
    for (uint32_t module = FORGOTTEN; module <= LOADED; module++)
        WRITE(module,
              {.process = 0, .module = module, .start = 0x1000, .end = 0x2000, .path = "/m"});
    for (uint32_t stack = 0; stack < STACKS; stack++)
        KYMO_TRY(write_stack(w, stack));
    for (uint32_t module = FORGOTTEN; module <= NEEDED; module++)
        WRITE(module_unload, {.process = 0, .module = module, .time_ns = 9});
    KYMO_TRY(write_kernel(w, KERNEL, NAMED));
    KYMO_TRY(write_kernel(w, UNUSED, NAMED + 1));
    WRITE(allocation, {.thread = 0,
                       .time_ns = 10,
                       .id = 1,
                       .address = 0x1000,
                       .bytes = 100,
                       .rate = 50,
                       .stack = LIVE});
    WRITE(site, {.process = 0,
                 .site = 1,
                 .category = KYMO_EVENT_NONE,
                 .type = KYMO_EVENT_NONE,
                 .kind = KYMO_SITE_VALUES,
                 .name = "s"});
    WRITE(marker, {.thread = 0,
                   .site = 1,
                   .phase = KYMO_PHASE_BEGIN,
                   .stack = OPEN,
                   .time_ns = 12,
                   .id = 5,
                   .track = KYMO_EVENT_NONE});
    return KYMO_OK;
}

static kymo_err sweep(kymo_recording_writer *w)
{
    kymo_key_map used = {0};
    kymo_err err = kymo_key_map_add(&used, KERNEL);
    if (err == KYMO_OK)
        err = kymo_recording_sweep_stacks(w, 0, &used);
    kymo_key_map_deinit(&used);
    return err;
}

static kymo_err write_next(kymo_recording_writer *w, int fd)
{
    const kymo_event_sample samples[] = {{.time_ns = 20, .weight_ns = 7, .stack = KERNEL},
                                         {.time_ns = 21, .weight_ns = 7, .stack = 2000}};
    KYMO_TRY(kymo_recording_begin_segment(w, fd));
    KYMO_TRY(write_stack(w, 2000));
    WRITE(samples, {.thread = 0, .count = 2, .samples = samples});
    WRITE(end, {.end_ns = 30, .clean = 1});
    return KYMO_OK;
}

static kymo_err sum_up(void *context, uint64_t address)
{
    *(uint64_t *)context += address;
    return KYMO_OK;
}

/* Frames in no module: of the four stacks of this segment, each once. */
static kymo_err check_generated(const kymo_recording_writer *w)
{
    const uint64_t expected =
        0x10 + 0x20 + 0x30 + (0x1000 + OPEN) + (0x1000 + NAMED) + (0x1000 + 2000);
    uint64_t sum = 0;
    KYMO_TRY(kymo_recording_segment_code(w, 0, sum_up, &sum));
    return sum == expected ? KYMO_OK : KYMO_E_INVALID;
}

static kymo_err write_both(void *context)
{
    const int *fd = context;
    const kymo_event_end end = {.end_ns = 19};
    kymo_recording_writer *w = NULL;
    for (int i = 0; i < 2; i++)
        if (ftruncate(fd[i], 0) != 0 || lseek(fd[i], 0, SEEK_SET) != 0)
            return KYMO_E_IO;
    KYMO_TRY(kymo_recording_writer_create(fd[0], 0, &w));
    kymo_recording_keep_definitions(w);
    kymo_err err = write_first(w);
    if (err == KYMO_OK)
        err = kymo_recording_write_end(w, &end);
    if (err == KYMO_OK && kymo_recording_kept_stacks(w, 0) != STACKS + 2)
        err = KYMO_E_INVALID;
    if (err == KYMO_OK)
        err = sweep(w);
    /* LIVE, OPEN, KERNEL, and NAMED below that. */
    if (err == KYMO_OK && kymo_recording_kept_stacks(w, 0) != 4)
        err = KYMO_E_INVALID;
    /* What was unloaded in this segment stays, for stacks that are still to come. */
    if (err == KYMO_OK && kymo_recording_kept_unloads(w, 0) != 2)
        err = KYMO_E_INVALID;
    if (err == KYMO_OK)
        err = write_next(w, fd[1]);
    if (err == KYMO_OK)
        err = check_generated(w);
    if (err == KYMO_OK)
        err = sweep(w);
    if (err == KYMO_OK && kymo_recording_kept_unloads(w, 0) != 1)
        err = KYMO_E_INVALID;
    kymo_recording_writer_destroy(w);
    return err;
}

static void what_is_used_is_whole(void **state)
{
    (void)state;
    const int fd[] = {memfd_create("first", MFD_CLOEXEC), memfd_create("second", MFD_CLOEXEC)};
    kymo_recording_report report;
    kymo_str text = {0};
    OK(write_both((void *)(uintptr_t)fd));
    OK(kymo_recording_read_fd(fd[1], KYMO_RECORDING_STRICT | KYMO_RECORDING_BY_OFFSET,
                              &event_text_handler, &text, &report, NULL));
    const char *at = kymo_str_cstr(&text);
    static const char *const innermost[] = {"1003", "1005", "1007", "17d0"};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(innermost); i++)
        if (!strstr(at, innermost[i]))
            fail_msg("no frame %s in:\n%s", innermost[i], at);
    size_t stacks = 0;
    for (at = strstr(at, "\nstack "); at; at = strstr(at + 1, "\nstack "))
        stacks++;
    assert_int_equal(stacks, KYMO_ARRAY_LEN(innermost));
    at = kymo_str_cstr(&text);
    /* The reader numbers anew: the one that is loaded, and the one that LIVE needs. */
    assert_null(strstr(at, "\nmodule 2 "));
    assert_non_null(strstr(at, "\nmodule_unload 1 "));
    assert_non_null(strstr(at, " 0x1003 module=1\n"));
    kymo_str_deinit(&text);
    close(fd[0]);
    close(fd[1]);
}

static void each_allocation_fails_once(void **state)
{
    (void)state;
    const int fd[] = {memfd_create("first", MFD_CLOEXEC), memfd_create("second", MFD_CLOEXEC)};
    assert_true(fail_each_allocation(write_both, (void *)(uintptr_t)fd) > 40);
    close(fd[0]);
    close(fd[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_used_is_whole),
        cmocka_unit_test(each_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
