/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - the events of a recording, one structure for each kind.
 *
 * Layer:    recording
 * Flow:     recorder/ (drain) -> [events] -> recording/recording_write.c -> .kymo
 *           .kymo -> recording/recording_read.c -> [events] -> ingest.c -> profile tables
 * Threads:  plain data
 * Memory:   every pointer is borrowed for the duration of the call
 * Signals:  not for handlers
 *
 * The writer takes the same structures that the reader gives. doc/format-kymo.md specifies how they
 * are encoded, and what each of them may refer to.
 *
 * The writer's caller chooses the ids: process and thread ids are unique in the recording, module
 * and stack ids within their process. They should count from 0: they are indices of tables. The
 * reader renumbers: its ids are dense from 0 over the whole recording, in order of appearance, and
 * every id in an event was announced by an earlier event.
 *
 * Times are CLOCK_MONOTONIC in nanoseconds, 0 if not known. Text is NUL-terminated, in any
 * encoding; NULL is the same as "" and means not known.
 */
#ifndef KYMO_RECORDING_EVENTS_H
#define KYMO_RECORDING_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "buffer/call_units.h"
#include "recording/events_heap.h"
#include "recording/events_symbols.h"

#define KYMO_EVENT_NONE UINT32_MAX /* no process, no module, no stack */

/* The first event of every recording. */
typedef struct kymo_event_meta {
    uint64_t start_ns;          /* when recording began */
    uint64_t start_realtime_ns; /* the same moment in ns since 1970 */
    uint64_t period_ns;         /* requested sampling period of a thread; 0: no sampling */
    uint64_t wall_period_ns;    /* the same for wall samples; 0: none */
    uint64_t memory_bytes;
    uint32_t logical_cpus;
    uint32_t physical_cpus;
    uint32_t hz;               /* kernel ticks a second (CONFIG_HZ); 0: not known */
    const char *host;          /* node name */
    const char *os;            /* "Debian GNU/Linux 12 (bookworm)" */
    const char *kernel;        /* "Linux 6.1.0-18-amd64" */
    const char *arch;          /* "x86_64" */
    const char *cpu_name;      /* "model name" of /proc/cpuinfo */
    const char *version;       /* of Kymo */
    const char *engine;        /* "perf", "dispatch", "timer" */
    const char *engine_reason; /* why this engine, in one line */
    const char *options;       /* as of KYMO_OPTIONS: "cpu=1ms,..." */
    uint32_t argc;
    const char *const *argv; /* the recorded command */
} kymo_event_meta;

/* A process image: from its start or exec to its exit or next exec. */
typedef struct kymo_event_process {
    uint32_t process;
    int32_t pid;
    int32_t parent_pid; /* 0: not known */
    uint32_t is_main;   /* the process that the user started; at most one */
    uint64_t start_ns;
    const char *name;
    const char *exe; /* path of its executable */
    uint32_t argc;
    const char *const *argv;
} kymo_event_process;

/* Missing if it is not known how a process ended. */
typedef struct kymo_event_process_end {
    uint32_t process;
    int32_t wait_status; /* from wait(2); -1: not known */
    uint64_t end_ns;
    uint64_t user_ns; /* from wait4; both 0: not known */
    uint64_t system_ns;
} kymo_event_process_end;

typedef struct kymo_event_thread {
    uint32_t thread;
    uint32_t process;
    int32_t tid;
    uint64_t start_ns;
    const char *name;
} kymo_event_thread;

/* The last one for a thread gives its name. */
typedef struct kymo_event_thread_name {
    uint32_t thread;
    uint64_t time_ns;
    const char *name;
} kymo_event_thread_name;

typedef struct kymo_event_thread_end {
    uint32_t thread;
    uint64_t end_ns;      /* 0: it was alive when the recording ended */
    uint64_t cpu_ns;      /* CPU clock at its end; 0: not known */
    uint64_t cpu_tail_ns; /* part of cpu_ns after its last sample; all of it if there was none */
    uint32_t by_tick;     /* 1: it was sampled at the kernel tick, whatever the engine */
} kymo_event_thread_end;

typedef struct kymo_event_module {
    uint32_t module;
    uint32_t process;
    uint64_t start; /* runtime addresses [start, end) of its executable mappings */
    uint64_t end;
    uint64_t load_bias;   /* runtime address - ELF vaddr; wraps around */
    uint64_t file_offset; /* of start in the file */
    uint64_t load_ns;
    const char *path; /* as mapped; "[vdso]" or similar if it is not a file */
    const uint8_t *build_id;
    uint32_t build_id_len; /* bytes, 0 to 64 */
    uint32_t is_main;      /* the executable of its process */
} kymo_event_module;

typedef struct kymo_event_module_unload {
    uint32_t module;
    uint32_t process;
    uint64_t time_ns;
} kymo_event_module_unload;

/* The bytes of a module that is not a file: the vDSO. At most KYMO_EVENT_IMAGE_MAX. */
#define KYMO_EVENT_IMAGE_MAX (1u << 20)
typedef struct kymo_event_module_image {
    uint32_t module;
    uint32_t process;
    const uint8_t *bytes;
    uint32_t len;
} kymo_event_module_image;

/* The address is a return address: the call is before it, and ingest looks up address - 1. Set
 * it for every frame except two: the innermost frame of an interrupted thread, and the frame
 * that a signal interrupted. */
#define KYMO_EVENT_FRAME_RETURN 1u
/* A frame of interpreted code: `module` is a script function, KYMO_EVENT_NONE if it is not known,
 * and `address` the line, 0 if that is not known. */
#define KYMO_EVENT_FRAME_SCRIPT 2u
/* Native code of the interpreter that runs such frames. */
#define KYMO_EVENT_FRAME_INTERPRETER 4u
/* No code, and the only frame of its stack, which one CPU sample of a main thread has: what that
 * used before it could be sampled, for fork, exec and the dynamic loader. */
#define KYMO_EVENT_FRAME_STARTUP 8u

typedef struct kymo_event_frame {
    uint64_t address; /* in a module: ELF vaddr (pc - load_bias); else the pc itself */
    uint32_t module;  /* KYMO_EVENT_NONE: outside every module */
    uint32_t flags;   /* KYMO_EVENT_FRAME_* */
} kymo_event_frame;

#define KYMO_EVENT_STACK_COMPLETE 1u      /* reached the thread's entry */
#define KYMO_EVENT_STACK_FRAME_POINTER 2u /* some step used the frame pointer */
#define KYMO_EVENT_STACK_TRUNCATED 4u     /* cut at the depth limit */

/* The deepest stack that a recording holds. */
#define KYMO_EVENT_DEPTH_MAX 32768u

typedef struct kymo_event_stack {
    uint32_t process;
    uint32_t stack;
    uint32_t flags; /* KYMO_EVENT_STACK_* */
    uint32_t end;   /* result of the unwinder, its numbers; below 256 */
    uint32_t depth;
    /* From a reader: the number of outermost frames that are equal (in module and address) to
     * those of the stack event before. The writer ignores it and computes it. */
    uint32_t shared;
    const kymo_event_frame *frames; /* depth entries, innermost first */
} kymo_event_stack;

/* A function that an interpreter runs. */
typedef struct kymo_event_script {
    uint32_t process;
    uint32_t script; /* unique in its process */
    uint32_t first_line;
    uint32_t language; /* enum kymo_event_language */
    const char *name;
    const char *file; /* as the interpreter calls it; "" if it is not known */
} kymo_event_script;

enum kymo_event_language {
    KYMO_EVENT_PYTHON = 1,
    KYMO_EVENT_PYTHON_NATIVE =
        2, /* what Python calls and is not Python; only traced calls have it */
    KYMO_EVENT_LANGUAGES,
};

/* What a thread waits for: the name of a system call ("futex"), or "stopped". */
typedef struct kymo_event_wait {
    uint32_t wait; /* unique in the recording, not 0 */
    const char *name;
} kymo_event_wait;

/* A CPU sample counts for the time before it, a wall sample for the time after it. */
typedef struct kymo_event_sample {
    uint64_t time_ns;
    uint64_t weight_ns;
    uint32_t stack; /* KYMO_EVENT_NONE: not known */
    uint16_t kind;  /* kymo_sample_kind of kymo/profile.h: 0 CPU, 1 wall */
    uint16_t state; /* kymo_thread_state: 0 unknown, 1 running, 2 sleeping, 3 blocked */
    uint32_t wait;  /* a kymo_event_wait; 0: not known, or not waiting. Not written if META has
                     * no wall_period_ns */
    uint32_t reserved;
} kymo_event_sample;

/* Samples of one thread, in any order. */
typedef struct kymo_event_samples {
    uint32_t thread;
    uint32_t count;
    const kymo_event_sample *samples;
} kymo_event_samples;

/* An event of a traced call: enum kymo_trace_event of kymo/trace_abi.h. */
typedef struct kymo_event_call {
    uint64_t time_ns;
    uint32_t script; /* the function; KYMO_EVENT_NONE: not known */
    uint32_t depth;  /* of the call in its thread, from 1; a gap has 0 */
    uint32_t kind;
    uint32_t missing; /* of a gap: how many events were lost before it; of a stop, 1: all threads of
                       * the process are traced no more; else 0 */
} kymo_event_call;

/* Calls of one thread. Those of all its events are in the order of time. */
typedef struct kymo_event_calls {
    uint32_t thread;
    uint32_t count;
    const kymo_event_call *calls;
} kymo_event_calls;

/* Calls of one thread as its tracer wrote them, behind those before. Nothing in the bytes is
 * checked. */
typedef struct kymo_event_raw_calls {
    uint32_t thread;
    /* The number that the bytes have of a function, and this, is its script; 0 is none. */
    uint32_t first_script;
    struct kymo_call_bytes calls;
} kymo_event_raw_calls;

/* The source line of the instructions from `offset` to the next offset. */
typedef struct kymo_event_code_line {
    uint32_t offset; /* bytes from the start of the code */
    uint32_t line;
    uint32_t column; /* 0: not known */
    uint32_t file;   /* index in files */
} kymo_event_code_line;

/* Limits of the lines, and of the files, of one piece of code. */
#define KYMO_EVENT_CODE_LINES_MAX 65536u
#define KYMO_EVENT_CODE_FILES_MAX 4096u

/* A piece of generated code outside every module, as the program's runtime named it (perf map or
 * jitdump). If several cover an address, the one made last, but not after the sample, counts; of
 * those made at the same time, the last event. */
typedef struct kymo_event_code {
    uint32_t process;
    uint32_t line_count; /* at most KYMO_EVENT_CODE_LINES_MAX */
    uint32_t file_count; /* at most KYMO_EVENT_CODE_FILES_MAX */
    uint64_t start;      /* runtime addresses [start, start + size_bytes), not empty */
    uint64_t size_bytes;
    uint64_t from_ns; /* when it was made; 0: not known, valid from the start */
    uint64_t to_ns;   /* when it was moved; 0: never */
    const char *name; /* as the runtime wrote it */
    const char *const *files;
    const kymo_event_code_line *lines;
} kymo_event_code;

/* A function of the kernel or of a kernel module. Symbol ids are unique in the recording. */
typedef struct kymo_event_kernel_symbol {
    uint32_t symbol;
    uint64_t address; /* relative to the start of the kernel or the module */
    const char *name;
    const char *module; /* "[kernel.kallsyms]", "[ext4]" */
} kymo_event_kernel_symbol;

/* Limit of the kernel frames of a stack. */
#define KYMO_EVENT_KERNEL_DEPTH_MAX 1024u

typedef struct kymo_event_kernel_frame {
    uint32_t symbol; /* KYMO_EVENT_NONE: unknown place in the kernel */
    uint32_t offset; /* offset in the symbol of the interrupted or calling instruction */
} kymo_event_kernel_frame;

/* Another stack of a process: kernel frames above a stack that was announced before. */
typedef struct kymo_event_kernel_stack {
    uint32_t process;
    uint32_t stack;  /* its id; shares numbers with kymo_event_stack */
    uint32_t caller; /* the user stack that called the kernel; KYMO_EVENT_NONE: not known */
    uint32_t depth;  /* 1 to KYMO_EVENT_KERNEL_DEPTH_MAX */
    const kymo_event_kernel_frame *frames; /* innermost first; only kernel frames */
} kymo_event_kernel_stack;

/* ---- markers, counters, labels: ids are unique in their process ---- */

typedef struct kymo_event_marker_category {
    uint32_t process;
    uint32_t category;
    uint32_t parent; /* KYMO_EVENT_NONE: not part of another one */
    uint32_t color;  /* enum kymo_mark_color of kymo/marker_abi.h, as all numbers below */
    uint32_t flags;
    const char *name;
} kymo_event_marker_category;

typedef struct kymo_event_marker_field {
    const char *key;
    const char *label; /* "" or NULL: the key */
    uint32_t kind;
    uint32_t format;
    uint32_t flags;
} kymo_event_marker_field;

typedef struct kymo_event_marker_row {
    const char *label;
    const char *value;
} kymo_event_marker_row;

typedef struct kymo_event_marker_graph {
    const char *key;
    uint32_t kind;
    uint32_t color;
} kymo_event_marker_graph;

/* The fields of a type of markers, and how markers are shown. */
typedef struct kymo_event_marker_type {
    uint32_t process;
    uint32_t type;
    uint32_t show;
    uint32_t is_stack_based;
    uint32_t max_per_second;
    uint32_t payload_bytes;
    uint32_t field_count, row_count, graph_count;
    uint32_t line;
    const char *file; /* where it is declared */
    const char *name, *chart, *tooltip, *table, *description, *color_key;
    const kymo_event_marker_field *fields;
    const kymo_event_marker_row *rows;
    const kymo_event_marker_graph *graphs;
} kymo_event_marker_type;

/* A source location that makes markers. */
typedef struct kymo_event_site {
    uint32_t process;
    uint32_t site;
    uint32_t category; /* KYMO_EVENT_NONE: none */
    uint32_t type;     /* KYMO_EVENT_NONE: its markers have no fields, only text or cells */
    uint32_t kind;
    uint32_t line;
    uint64_t min_ns;
    const char *name, *format, *file, *function;
} kymo_event_site;

/* A text, or a track, that markers refer to by number. */
typedef struct kymo_event_named {
    uint32_t process;
    uint32_t id;
    const char *name;
} kymo_event_named;

typedef struct kymo_event_counter {
    uint32_t process;
    uint32_t counter;
    uint32_t category; /* KYMO_EVENT_NONE: none */
    uint32_t kind;
    uint32_t flags;
    uint32_t color;
    const char *name, *unit, *description;
} kymo_event_counter;

/* One marker. Its labels are those of the thread that made it, at the time it was made: its own
 * thread and time_ns, unless made_ns is set. The payload is as in the session (buffer/record.h),
 * except that times are in ns. It is one of: the image of the type's C structure, with struct
 * kymo_text_slot for texts; a number of cells; one text slot; nothing. From a reader it is
 * aligned to 8 bytes, its slots refer to bytes inside it, and a literal's number is the one in
 * its event. */
typedef struct kymo_event_marker {
    uint32_t thread;
    uint32_t site;
    uint32_t phase;    /* enum kymo_mark_phase */
    uint32_t stack;    /* KYMO_EVENT_NONE: none */
    uint64_t time_ns;  /* for an interval, its end */
    uint64_t start_ns; /* begin of an interval; else 0 */
    uint64_t id;       /* of a begin and its end; 0: none */
    uint64_t owner;    /* 0: none */
    uint64_t made_ns;  /* 0: made at time_ns by its thread */
    uint32_t maker;   /* if made_ns is not 0: the thread that made it; KYMO_EVENT_NONE: not known */
    uint32_t track;   /* KYMO_EVENT_NONE: shown in its thread */
    uint32_t cells;   /* in the payload */
    const char *name; /* replaces the site's name; NULL: does not */
    const uint8_t *payload;
    uint32_t payload_bytes;
    uint32_t is_open; /* begun and not ended: a scope that was open when its thread ended */
} kymo_event_marker;

/* The value of a counter at a time, summed over all threads; operations: number until then. */
typedef struct kymo_event_count {
    uint32_t process;
    uint32_t counter;
    uint64_t time_ns;
    int64_t value;
    uint64_t operations;
} kymo_event_count;

/* A change of a thread's labels: of the pushed ones, those below `depth` remain, the others end;
 * change: enum kymo_label_change. The first change of a forked child's thread may be
 * KYMO_LABEL_INHERITED: it has the labels of the thread that forked it. */
typedef struct kymo_event_label {
    uint32_t thread;
    uint32_t change;
    uint32_t depth;
    uint32_t kind; /* of the value, enum kymo_mark_kind: I64, U64, F64, PTR or TEXT; 0: none */
    uint64_t time_ns;
    uint64_t number; /* bits of a value that is not a text */
    const char *key;
    const char *text;
    /* For KYMO_LABEL_INHERITED: the thread that forked it, and a time at which that thread had
     * the labels which the child inherited. */
    uint32_t from_process;
    int32_t from_tid;
    uint64_t fork_ns;
} kymo_event_label;

/* Counts of one site so far; the last event counts. */
typedef struct kymo_event_site_counts {
    uint32_t process;
    uint32_t site;
    uint64_t lost;   /* no buffer space */
    uint64_t capped; /* above its type's limit */
    uint64_t cut;    /* texts that were too long */
} kymo_event_site_counts;

/* Number of records of a kind that the process has lost so far; the last event of a kind counts. */
typedef struct kymo_event_loss {
    uint32_t process;
    uint32_t kind; /* identifies the kind within its process */
    uint64_t count;
    const char *name; /* "no block", "depot full", ... */
} kymo_event_loss;

/* Figures of the capture in a process so far; the last event counts. What can be computed from
 * samples is not here. */
typedef struct kymo_event_quality {
    uint32_t process;
    uint64_t samples;          /* taken of CPU time, including lost ones */
    uint64_t handler_ns;       /* time spent in our handlers */
    uint64_t disturbed;        /* system calls that may have returned EINTR because of Kymo */
    uint64_t cpu_unsampled_ns; /* CPU time of threads that could not be sampled; without the
                                * tails of kymo_event_thread_end */
    uint64_t copied;           /* of samples, those that no handler took */
} kymo_event_quality;

typedef enum kymo_event_severity {
    KYMO_NOTE_INFO = 0,
    KYMO_NOTE_WARNING = 1,
    KYMO_NOTE_ERROR = 2,
} kymo_event_severity;

/* What the ring of a flight recorder (ring=SIZE) has dropped of a thread, up to the end. */
typedef struct kymo_event_dropped {
    uint32_t thread;     /* KYMO_EVENT_NONE: what belongs to no thread; always written */
    uint64_t ring_bytes; /* the limit of the ring */
    uint64_t samples;    /* CPU samples */
    uint64_t weight_ns;  /* their CPU time */
    uint64_t unknown;    /* CPU samples of unknown weight */
    uint64_t wall_samples;
    uint64_t wall_ns;
    uint64_t markers;
    uint64_t counts; /* values of counters */
    uint64_t calls;  /* events of traced calls */
} kymo_event_dropped;

/* A message for the user: "child 123 not recorded: statically linked". */
typedef struct kymo_event_note {
    uint64_t time_ns;
    uint32_t process; /* KYMO_EVENT_NONE: about the whole recording */
    uint32_t severity;
    const char *text;
} kymo_event_note;

/* The last event of a complete recording. */
typedef struct kymo_event_end {
    uint64_t end_ns;
    uint32_t clean; /* 0: the recorder was stopped before the program ended */
} kymo_event_end;

/* All events: X(NAME, TYPE), the structure being kymo_event_TYPE. The handler, the writer,
 * ingest and the text dump of the tests are made from this list; if one of them lacks an event,
 * it does not compile or link. */
#define KYMO_EVENT_LIST(X)              \
    X(meta, meta)                       \
    X(process, process)                 \
    X(process_end, process_end)         \
    X(thread, thread)                   \
    X(thread_name, thread_name)         \
    X(thread_end, thread_end)           \
    X(module, module)                   \
    X(module_unload, module_unload)     \
    X(module_image, module_image)       \
    X(script, script)                   \
    X(stack, stack)                     \
    X(wait, wait)                       \
    X(samples, samples)                 \
    X(calls, calls)                     \
    X(code, code)                       \
    X(kernel_symbol, kernel_symbol)     \
    X(kernel_stack, kernel_stack)       \
    X(marker_category, marker_category) \
    X(marker_type, marker_type)         \
    X(site, site)                       \
    X(literal, named)                   \
    X(track, named)                     \
    X(counter, counter)                 \
    X(marker, marker)                   \
    X(count, count)                     \
    X(label, label)                     \
    X(site_counts, site_counts)         \
    X(allocation, allocation)           \
    X(free, free)                       \
    X(resize, resize)                   \
    X(mapping, mapping)                 \
    X(inherit, inherit)                 \
    X(live, live)                       \
    X(heap, heap)                       \
    X(ledger, ledger)                   \
    X(memory_info, memory_info)         \
    X(symbols, symbols)                 \
    X(loss, loss)                       \
    X(quality, quality)                 \
    X(dropped, dropped)                 \
    X(note, note)                       \
    X(end, end)

/* Receives events. NULL members: events of that kind are skipped. If a function returns an
 * error, the reader stops and forwards it. */
typedef struct kymo_event_handler {
#define X(name, type) kymo_err (*name)(void *ctx, const kymo_event_##type *event);
    KYMO_EVENT_LIST(X)
#undef X
    /* Of handlers that write: what a reader tells of by calls(). */
    kymo_err (*raw_calls)(void *ctx, const kymo_event_raw_calls *event);
    /* If not NULL, traced calls of a recording are not decoded, and calls() is not called. This is,
     * for each group of them, with about as many as there are. */
    kymo_err (*call_count)(void *ctx, uint32_t thread, uint32_t count);
} kymo_event_handler;

#endif
