/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_recording.h"

#include <sys/mman.h>
#include <unistd.h>

#include "kymo/trace_abi.h"
#include "recording/recording.h"
#include "sample_heap.h"
#include "sample_marks.h"

#define LEN(a) ((uint32_t)KYMO_ARRAY_LEN(a))
#define RET KYMO_EVENT_FRAME_RETURN
#define NONE KYMO_EVENT_NONE

enum { MAIN, LIBC, OURS, VDSO, CHILD_MAIN };

static kymo_err emit_processes(const kymo_event_handler *h, void *ctx)
{
    static const char *const argv[] = {"./demo", "--name", "caf\xc3\xa9", ""};
    KYMO_TRY(h->meta(ctx, &(kymo_event_meta){
                              .start_ns = 1000000000,
                              .start_realtime_ns = 1700000000000000000,
                              .period_ns = 1000000,
                              .wall_period_ns = 10000000,
                              .memory_bytes = 8ull << 30,
                              .logical_cpus = 8,
                              .physical_cpus = 4,
                              .hz = 250,
                              .host = "box",
                              .os = "Debian GNU/Linux 12 (bookworm)",
                              .kernel = "Linux 6.1.0-18-amd64",
                              .arch = "x86_64",
                              .cpu_name = "A CPU @ 3.00GHz",
                              .version = "0.1.0",
                              .engine = "timer",
                              .engine_reason = "perf_event_open: permission denied",
                              .options = "cpu=1ms",
                              .argc = LEN(argv),
                              .argv = argv,
                          }));
    KYMO_TRY(h->process(ctx, &(kymo_event_process){
                                 .process = 0,
                                 .pid = 100,
                                 .parent_pid = 99,
                                 .is_main = 1,
                                 .start_ns = 1001000000,
                                 .name = "demo",
                                 .exe = "/home/me/demo",
                                 .argc = LEN(argv),
                                 .argv = argv,
                             }));
    return h->process(ctx, &(kymo_event_process){
                               .process = 1,
                               .pid = 105,
                               .parent_pid = 100,
                               .start_ns = 1100000000,
                               .exe = "/bin/\xff\"odd",
                           });
}

static kymo_err emit_modules(const kymo_event_handler *h, void *ctx)
{
    static const uint8_t id[20] = {0xde, 0xad, 0xbe, 0xef, 1, 2, 3};
    static uint8_t image[6000];
    for (size_t i = 0; i < sizeof image; i++)
        image[i] = (uint8_t)(i % 7 + i / 64 * 13);
    const kymo_event_module modules[] = {
        {.module = MAIN,
         .start = 0x401000,
         .end = 0x402000,
         .file_offset = 0x1000,
         .path = "/home/me/demo",
         .build_id = id,
         .build_id_len = sizeof id,
         .is_main = 1},
        {.module = LIBC,
         .start = 0x7f0000026000,
         .end = 0x7f0000180000,
         .load_bias = 0x7f0000000000,
         .file_offset = 0x26000,
         .path = "/lib/libc.so.6",
         .build_id = id,
         .build_id_len = 8},
        {.module = OURS,
         .start = 0x7f0001001000,
         .end = 0x7f0001010000,
         .load_bias = 0x7f0001000000,
         .file_offset = 0x1000,
         .path = "/usr/lib/kymo/libkymo-preload.so"},
        {.module = VDSO,
         .start = 0x7fff00000000,
         .end = 0x7fff00002000,
         .load_bias = 0x7fff00000000,
         .path = "[vdso]"},
        {.module = CHILD_MAIN,
         .process = 1,
         .start = 0x401000,
         .end = 0x403000,
         .load_ns = 1100000000,
         .path = "/bin/odd"},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(modules); i++)
        KYMO_TRY(h->module(ctx, &modules[i]));
    KYMO_TRY(h->module_image(
        ctx, &(kymo_event_module_image){.module = VDSO, .bytes = image, .len = sizeof image}));
    return h->module_unload(ctx,
                            &(kymo_event_module_unload){.module = LIBC, .time_ns = 1900000000});
}

static kymo_err emit_threads(const kymo_event_handler *h, void *ctx)
{
    const kymo_event_thread threads[] = {
        {.thread = 0, .tid = 100, .start_ns = 1001000000, .name = "demo"},
        {.thread = 1, .tid = 101, .start_ns = 1002000000, .name = "worker"},
        {.thread = 2, .tid = 102, .start_ns = 1003000000, .name = "brief"},
        {.thread = 3, .process = 1, .tid = 105, .start_ns = 1100000000},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(threads); i++)
        KYMO_TRY(h->thread(ctx, &threads[i]));
    KYMO_TRY(h->wait(ctx, &(kymo_event_wait){1, "futex"}));
    KYMO_TRY(h->wait(ctx, &(kymo_event_wait){2, "read"}));
    return h->thread_name(
        ctx, &(kymo_event_thread_name){.thread = 1, .time_ns = 1005000000, .name = "pool/1"});
}

static kymo_err emit_stacks(const kymo_event_handler *h, void *ctx)
{
    /* main -> work -> leaf, the same with another leaf, a signal frame, a thread through our
     * trampoline, code without a module, a walk that failed, none at all, the other process. */
    static const kymo_event_frame frames[][6] = {
        {{0x401200, MAIN, 0}, {0x401301, MAIN, RET}, {0x27000, LIBC, RET}, {0x401051, MAIN, RET}},
        {{0x401250, MAIN, 0}, {0x401301, MAIN, RET}, {0x27000, LIBC, RET}, {0x401051, MAIN, RET}},
        {{0x500, VDSO, 0},
         {0x3c050, LIBC, RET},
         {0x401305, MAIN, 0},
         {0x27000, LIBC, RET},
         {0x401051, MAIN, RET}},
        {{0x401400, MAIN, 0}, {0x2345, OURS, RET}, {0x88000, LIBC, RET}, {0x100000, LIBC, RET}},
        {{0x123456789000, NONE, 0}, {0x123456789abc, NONE, RET}},
        {{0x401400, MAIN, 0}, {0xffffffffffffffff, NONE, RET}},
        {{0, 0, 0}},
        {{0x401500, CHILD_MAIN, 0}, {0x401051, CHILD_MAIN, RET}},
    };
    const kymo_event_stack stacks[] = {
        {.stack = 0, .flags = KYMO_EVENT_STACK_COMPLETE, .end = 1, .depth = 4},
        {.stack = 1, .flags = KYMO_EVENT_STACK_COMPLETE, .end = 1, .depth = 4},
        {.stack = 2, .flags = KYMO_EVENT_STACK_COMPLETE, .end = 1, .depth = 5},
        {.stack = 3, .flags = KYMO_EVENT_STACK_COMPLETE, .end = 1, .depth = 4},
        {.stack = 4, .flags = KYMO_EVENT_STACK_TRUNCATED, .end = 2, .depth = 2},
        {.stack = 5, .flags = KYMO_EVENT_STACK_FRAME_POINTER, .end = 3, .depth = 2},
        {.stack = 6, .end = 4, .depth = 0},
        {.stack = 7, .process = 1, .flags = KYMO_EVENT_STACK_COMPLETE, .end = 1, .depth = 2},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(stacks); i++) {
        kymo_event_stack stack = stacks[i];
        stack.frames = frames[i];
        KYMO_TRY(h->stack(ctx, &stack));
    }
    return KYMO_OK;
}

static kymo_err emit_kernel_symbols(const kymo_event_handler *h, void *ctx)
{
    static const kymo_event_kernel_symbol symbols[] = {
        {0, 0x1100, "clear_page", "[kernel.kallsyms]"},
        {1, 0x22000, "handle_mm_fault", "[kernel.kallsyms]"},
        {2, 0x80, "ext4_read", "[ext4]"},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(symbols); i++)
        KYMO_TRY(h->kernel_symbol(ctx, &symbols[i]));
    return KYMO_OK;
}

/* A page fault of the stack with number 1, and an interrupt of who knows what in a module. */
static kymo_err emit_kernel_stacks(const kymo_event_handler *h, void *ctx)
{
    static const kymo_event_kernel_frame fault[] = {{0, 7}, {1, 0x45}};
    static const kymo_event_kernel_frame unknown[] = {{2, 1}, {NONE, 0}};
    const kymo_event_kernel_stack stacks[] = {
        {.stack = 8, .caller = 1, .depth = 2, .frames = fault},
        {.stack = 9, .caller = NONE, .depth = 2, .frames = unknown},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(stacks); i++)
        KYMO_TRY(h->kernel_stack(ctx, &stacks[i]));
    return KYMO_OK;
}

/* A function of a script that an interpreter in MAIN runs, called by another one. */
static kymo_err emit_scripts(const kymo_event_handler *h, void *ctx)
{
    enum { INTERPRETER = RET | KYMO_EVENT_FRAME_INTERPRETER, SCRIPT = KYMO_EVENT_FRAME_SCRIPT };
    static const kymo_event_script scripts[] = {
        {0, 0, 10, KYMO_EVENT_PYTHON, "Shop.open", "/srv/shop.py"},
        {0, 1, 3, KYMO_EVENT_PYTHON, "<lambda>", ""},
        {0, 2, 0, KYMO_EVENT_PYTHON_NATIVE, "builtins.sorted", ""},
    };
    static const kymo_event_frame frames[] = {
        {0x27500, LIBC, 0}, {4, 1, SCRIPT},  {0x401310, MAIN, INTERPRETER},
        {0, NONE, SCRIPT},  {12, 0, SCRIPT}, {0x401051, MAIN, INTERPRETER}};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(scripts); i++)
        KYMO_TRY(h->script(ctx, &scripts[i]));
    return h->stack(ctx, &(kymo_event_stack){.stack = 10,
                                             .flags = KYMO_EVENT_STACK_COMPLETE,
                                             .depth = LEN(frames),
                                             .frames = frames});
}

static kymo_err emit_samples(const kymo_event_handler *h, void *ctx)
{
    static const kymo_event_sample first[] = {
        {1010000000, 1000000, 0, 0, 1, 0, 0},
        {1012000000, 3000000, 2, 0, 1, 0, 0},
        {1011000000, 1000000, 1, 0, 1, 0, 0},
    };
    static const kymo_event_sample worker[] = {
        {1010500000, 1000000, 3, 0, 1, 0, 0}, {1011500000, 5000000000, 4, 0, 1, 0, 0},
        {1012500000, 1000000, 5, 0, 0, 0, 0}, {1013500000, 250000000, NONE, 0, 1, 0, 0},
        {1014000000, 4000000, 6, 1, 2, 1, 0}, {1018000000, 4000000, 3, 1, 3, 2, 0},
    };
    static const kymo_event_sample child[] = {{1110000000, 1000000, 7, 0, 1, 0, 0}};
    const kymo_event_samples groups[] = {
        {.thread = 0, .count = LEN(first), .samples = first},
        {.thread = 1, .count = LEN(worker), .samples = worker},
        {.thread = 3, .count = LEN(child), .samples = child},
        {.thread = 0, .count = 1, .samples = &(kymo_event_sample){1013000000, 7, 0, 0, 1, 0, 0}},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(groups); i++)
        KYMO_TRY(h->samples(ctx, &groups[i]));
    return KYMO_OK;
}

/* With what is not regular: a thread that was in calls already, a call that is
 * resumed, one whose function is not known, a gap, a return from nothing, an end. */
static kymo_err emit_calls(const kymo_event_handler *h, void *ctx)
{
    static const kymo_event_call first[] = {
        {1010000000, 0, 1, KYMO_TRACE_OPEN, 0},    {1010000100, 2, 2, KYMO_TRACE_CALL, 0},
        {1010000130, 1, 3, KYMO_TRACE_CALL, 0},    {1010000160, 1, 3, KYMO_TRACE_RETURN, 0},
        {1010000200, 2, 2, KYMO_TRACE_UNWIND, 0},  {1010000200, 1, 2, KYMO_TRACE_RESUME, 0},
        {1010000300, 1, 2, KYMO_TRACE_YIELD, 0},   {1010000900, NONE, 0, KYMO_TRACE_GAP, 7},
        {1010001000, NONE, 5, KYMO_TRACE_CALL, 0}, {1010001100, NONE, 5, KYMO_TRACE_RETURN, 0},
        {1010002000, NONE, 0, KYMO_TRACE_STOP, 0},
    };
    static const kymo_event_call late[] = {
        {1011000000, 0, 1, KYMO_TRACE_RETURN, 0},
        {1011000050, 0, KYMO_CALL_DEPTH_MAX, KYMO_TRACE_CALL, 0},
        {1011000070, 0, KYMO_CALL_DEPTH_MAX, KYMO_TRACE_RETURN, 0},
    };
    KYMO_TRY(h->calls(ctx, &(kymo_event_calls){2, LEN(first), first}));
    return h->calls(ctx, &(kymo_event_calls){2, LEN(late), late});
}

static kymo_err emit_quality(const kymo_event_handler *h, void *ctx)
{
    const kymo_event_loss losses[] = {
        {.kind = 1, .count = 5, .name = "no block"},
        {.kind = 2, .count = 1, .name = "depot full"},
        {.kind = 1, .count = 7, .name = "no block"},
        {.process = 1, .kind = 3, .count = 10, .name = "no block"},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(losses); i++)
        KYMO_TRY(h->loss(ctx, &losses[i]));
    KYMO_TRY(h->quality(ctx, &(kymo_event_quality){.samples = 3, .handler_ns = 10}));
    KYMO_TRY(h->quality(
        ctx, &(kymo_event_quality){
                 .samples = 20, .handler_ns = 40000, .disturbed = 2, .cpu_unsampled_ns = 500}));
    KYMO_TRY(h->note(ctx, &(kymo_event_note){.time_ns = 1200000000,
                                             .process = 0,
                                             .severity = KYMO_NOTE_WARNING,
                                             .text = "child 123 not recorded: static binary"}));
    return h->note(ctx, &(kymo_event_note){.process = NONE, .text = "timers: no finer than 4 ms"});
}

/* What a perf map says of the code at 0x123456789000, and a jitdump of what took its place. */
static kymo_err emit_code(const kymo_event_handler *h, void *ctx)
{
    static const char *const files[] = {"/srv/app.js", "/srv/lib.js"};
    static const kymo_event_code_line lines[] = {{0, 10, 5, 0}, {0x40, 11, 1, 0}, {0x80, 3, 0, 1}};
    const kymo_event_code codes[] = {
        {.start = 0x123456789000, .size_bytes = 0x80, .name = "JS:*inner /srv/app.js:9:3"},
        {.start = 0x123456789a80,
         .size_bytes = 0x100,
         .from_ns = 1005000000,
         .to_ns = 1900000000,
         .name = "JS:^outer /srv/app.js:4:1",
         .file_count = LEN(files),
         .line_count = LEN(lines),
         .files = files,
         .lines = lines},
        {.process = 1, .start = 1, .size_bytes = 1, .name = ""},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(codes); i++)
        KYMO_TRY(h->code(ctx, &codes[i]));
    return KYMO_OK;
}

/* Of places that no stack has, so that the frames of those that are there have no names. */
static kymo_err emit_symbols(const kymo_event_handler *h, void *ctx)
{
    static const uint8_t id[20] = {0xde, 0xad, 0xbe, 0xef, 1, 2, 3};
    static const char *const texts[] = {"geometry::area(int)", "_ZN8geometry4areaEi", "/src/geo.cc",
                                        "main", "/src/caf\xc3\xa9.c"};
    static const kymo_event_symbol_function functions[] = {{0, 1, 2, 40}, {3, NONE, 4, 7}};
    static const kymo_event_symbol symbols[] = {{0x409000, 0x80, 3, 0}};
    static const kymo_event_symbol_line lines[] = {{0, 44}, {1, 9}, {1, 0}};
    static const kymo_event_symbol_address addresses[] = {
        {0x409004, 0, 2, 1, 0}, {0x409010, NONE, 1, 1, 0}, {0x409f00, NONE, 0, 0, 0}};
    KYMO_TRY(h->symbols(ctx, &(kymo_event_symbols){.state = 4,
                                                   .build_id_len = sizeof id,
                                                   .text_count = LEN(texts),
                                                   .function_count = LEN(functions),
                                                   .symbol_count = LEN(symbols),
                                                   .line_count = LEN(lines),
                                                   .address_count = LEN(addresses),
                                                   .path = "/home/me/demo",
                                                   .build_id = id,
                                                   .texts = texts,
                                                   .functions = functions,
                                                   .symbols = symbols,
                                                   .lines = lines,
                                                   .addresses = addresses}));
    return h->symbols(ctx, &(kymo_event_symbols){.state = 1, .path = "/bin/odd"});
}

static kymo_err emit_ends(const kymo_event_handler *h, void *ctx)
{
    const kymo_event_thread_end threads[] = {
        {.thread = 0, .end_ns = 1800000000, .cpu_ns = 5500000, .cpu_tail_ns = 499993},
        {.thread = 1, .end_ns = 1700000000, .cpu_ns = 5252100000, .cpu_tail_ns = 100000},
        {.thread = 2, .end_ns = 1003500000, .cpu_ns = 300000, .cpu_tail_ns = 300000, .by_tick = 1},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(threads); i++)
        KYMO_TRY(h->thread_end(ctx, &threads[i]));
    return h->process_end(ctx, &(kymo_event_process_end){.wait_status = 3 << 8,
                                                         .end_ns = 1850000000,
                                                         .user_ns = 5000000000,
                                                         .system_ns = 257900000});
}

/* Of a thread whose CPU time is unknown, so that no figure of the sample depends on it. */
static kymo_err emit_dropped(const kymo_event_handler *h, void *ctx)
{
    KYMO_TRY(h->dropped(ctx, &(kymo_event_dropped){.thread = 3,
                                                   .ring_bytes = 1 << 20,
                                                   .samples = 2,
                                                   .unknown = 2,
                                                   .wall_samples = 3,
                                                   .markers = 4}));
    return h->dropped(ctx,
                      &(kymo_event_dropped){.thread = NONE, .ring_bytes = 1 << 20, .counts = 5});
}

kymo_err sample_recording_emit(const kymo_event_handler *h, void *ctx)
{
    KYMO_TRY(emit_processes(h, ctx));
    KYMO_TRY(emit_modules(h, ctx));
    KYMO_TRY(emit_threads(h, ctx));
    KYMO_TRY(emit_quality(h, ctx));
    KYMO_TRY(emit_ends(h, ctx));
    KYMO_TRY(emit_dropped(h, ctx));
    KYMO_TRY(emit_code(h, ctx));
    KYMO_TRY(emit_symbols(h, ctx));
    KYMO_TRY(emit_kernel_symbols(h, ctx));
    KYMO_TRY(sample_marks_define(h, ctx));
    KYMO_TRY(sample_heap_define(h, ctx));
    KYMO_TRY(emit_stacks(h, ctx));
    KYMO_TRY(emit_kernel_stacks(h, ctx));
    KYMO_TRY(emit_scripts(h, ctx));
    KYMO_TRY(emit_samples(h, ctx));
    KYMO_TRY(emit_calls(h, ctx));
    KYMO_TRY(sample_marks_emit(h, ctx));
    KYMO_TRY(sample_heap_emit(h, ctx));
    return h->end(ctx, &(kymo_event_end){.end_ns = 2000000000, .clean = 1});
}

kymo_err recording_to_bytes(recording_emit emit, unsigned flags, kymo_bytes *out)
{
    kymo_recording_writer *writer = NULL;
    unsigned char buffer[4096];
    ssize_t n;
    int fd = memfd_create("recording", MFD_CLOEXEC);
    if (fd < 0)
        return KYMO_E_SYSTEM;
    kymo_err err = kymo_recording_writer_create(fd, flags, &writer);
    if (err == KYMO_OK)
        err = emit(&kymo_recording_write_handler, writer);
    if (err == KYMO_OK)
        err = kymo_recording_flush(writer);
    kymo_recording_writer_destroy(writer);
    lseek(fd, 0, SEEK_SET);
    while (err == KYMO_OK && (n = read(fd, buffer, sizeof buffer)) > 0)
        err = kymo_bytes_append(out, buffer, (size_t)n);
    close(fd);
    return err;
}

kymo_err sample_recording_write(unsigned flags, kymo_bytes *out)
{
    return recording_to_bytes(sample_recording_emit, flags, out);
}
