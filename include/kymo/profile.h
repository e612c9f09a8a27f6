/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - a profile: who ran, where the time went, and how far the recording is to be trusted.
 *
 * Flow:     recording, or your own stacks and values -> [profile] -> encode.h, report.h
 * Threads:  a profile has one owner at a time; any thread may be it
 * Memory:   a profile owns everything in it; what goes in is copied. A pointer that comes out stays
 *           valid until the next call that adds to the same table, text until kymo_profile_destroy
 * Signals:  not for handlers
 *
 * Tables are named by 32-bit ids: dense, from 0, in the order of adding. KYMO_NONE is "none".
 * Strings, sources, functions, native symbols, frames and stacks are interned: adding the same
 * content again gives the same id. Processes, threads and modules are not.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC; kymo_meta.origin_monotonic_ns is the profile's zero,
 * and encoders show an earlier time as zero. Time 0 means "not known" where a comment says so.
 *
 * Text in need not be valid UTF-8: invalid bytes and NULs become U+FFFD, and text of more than
 * KYMO_STRING_MAX bytes is cut on a character's boundary. Text out is valid, NUL-terminated UTF-8.
 *
 * Pointers are not NULL unless a comment allows it. Results through pointers are written on success
 * only.
 *
 * Structures begin with their size, for a later version to grow at the end: set it when you fill
 * one (`kymo_thread t = {.size = sizeof t, ...}`). A pointer to a structure that the library gives
 * may point to a longer one.
 */
#ifndef KYMO_PROFILE_H
#define KYMO_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "kymo/error.h"
#include "kymo/profile_heap.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kymo_profile kymo_profile;

#define KYMO_NONE UINT32_MAX
#define KYMO_NO_ADDRESS UINT64_MAX

/* What a table holds at most; beyond it an add function returns KYMO_E_TOO_BIG and changes nothing.
 * The limits are far above any real profile. They keep a hostile recording from taking all memory.
 */
#define KYMO_STRING_MAX 16384u             /* bytes of one string; longer ones are cut */
#define KYMO_STRING_BYTES_MAX (1ull << 30) /* bytes of all strings */
#define KYMO_STRINGS_MAX (1u << 26)
#define KYMO_PROCESSES_MAX (1u << 20)
#define KYMO_THREADS_MAX (1u << 22)
#define KYMO_MODULES_MAX (1u << 20)
#define KYMO_SOURCES_MAX (1u << 24)
#define KYMO_FUNCTIONS_MAX (1u << 26)
#define KYMO_SYMBOLS_MAX (1u << 26)
#define KYMO_FRAMES_MAX (1u << 26)
#define KYMO_LINES_MAX (1u << 28)  /* of all frames */
#define KYMO_FRAME_LINES_MAX 1024u /* inlined into one frame; deeper ones are refused */
#define KYMO_STACKS_MAX (1u << 28) /* nodes of the prefix tree */
#define KYMO_SAMPLES_MAX                                                    \
    (1ull << 30) /* of all threads; one of several values counts as several \
                  */
#define KYMO_SAMPLE_TYPES_MAX 64u
#define KYMO_MARKER_CATEGORIES_MAX (1u << 16)
#define KYMO_SCHEMAS_MAX (1u << 16)
#define KYMO_SCHEMA_FIELDS_MAX 256u  /* of one; so for its rows and its graphs */
#define KYMO_MARKERS_MAX (1u << 28)  /* of all threads */
#define KYMO_VALUES_MAX (1u << 30)   /* of all markers */
#define KYMO_COUNTERS_MAX (1u << 16) /* of all processes */
#define KYMO_COUNTS_MAX (1u << 28)   /* of all counters */
#define KYMO_LABELS_MAX (1u << 26)   /* of all sets */
#define KYMO_LABEL_SET_MAX 64u       /* in one set */
#define KYMO_MARKER_LOSSES_MAX (1u << 16)
#define KYMO_ARGS_MAX 4096u   /* of one command; what is left out is counted in the last one */
#define KYMO_BUILD_ID_MAX 64u /* bytes */
#define KYMO_LOST_MAX 64u     /* kinds of loss */

/* What code a frame is. AUTO: the module's category; for a module, judged by its path. */
typedef enum kymo_category {
    KYMO_CATEGORY_AUTO = 0,
    KYMO_CATEGORY_OTHER,     /* nothing is known, or a frame that stands for something else */
    KYMO_CATEGORY_PROGRAM,   /* the main executable of the process */
    KYMO_CATEGORY_LIBRARY,   /* a shared library */
    KYMO_CATEGORY_LIBC,      /* the C library, the loader and the vdso */
    KYMO_CATEGORY_GENERATED, /* outside every mapped file, and without a name */
    KYMO_CATEGORY_KERNEL,
    KYMO_CATEGORY_WAITING, /* no code at all: the thread sleeps or is blocked */
    KYMO_CATEGORY_JIT,     /* generated code that its maker named */
    KYMO_CATEGORY_PYTHON,  /* functions that CPython runs */
    KYMO_CATEGORY_COUNT
} kymo_category;

/* The sample types of a recording, and of a new profile: rows of its table of sample types. */
typedef enum kymo_sample_kind {
    KYMO_SAMPLE_CPU = 0,  /* weight: CPU time of the thread since its last sample of this kind */
    KYMO_SAMPLE_WALL = 1, /* weight: elapsed time, from the sample on, that it stands for */
    KYMO_SAMPLE_KIND_COUNT,
    /* Only where calls were traced. Weight: elapsed time, exact: self time of a call. */
    KYMO_SAMPLE_TRACE = KYMO_SAMPLE_KIND_COUNT,
    /* The same. Weight: how many calls of the stack's innermost function the thread made there. */
    KYMO_SAMPLE_CALLS
} kymo_sample_kind;

/* In place of a sample type: the default one. */
#define KYMO_SAMPLE_DEFAULT UINT32_MAX
/* Of a sample: it has a value of each type. */
#define KYMO_SAMPLE_EACH UINT32_MAX

/* What the values of a sample type are. Values are added up wherever samples are. */
typedef enum kymo_sample_adds {
    KYMO_ADDS_AMOUNT = 0, /* an amount in the type's unit: calls, bytes */
    KYMO_ADDS_CPU_TIME,   /* nanoseconds of CPU time of the thread, up to the sample */
    KYMO_ADDS_ELAPSED,    /* nanoseconds of elapsed time, from the sample on */
    KYMO_ADDS_COUNT
} kymo_sample_adds;

/* What samples measure. */
typedef struct kymo_sample_type {
    uint32_t size;
    uint32_t adds;           /* kymo_sample_adds */
    const char *name;        /* "cpu"; no two of a profile are the same */
    const char *unit;        /* "nanoseconds", "bytes", "count"; of times "nanoseconds" */
    const char *count_name;  /* pprof shows how many samples there are under this name, too; NULL:
                              * it does not */
    const char *period_name; /* what is counted from one sample to the next; NULL: name ... */
    const char *period_unit; /* ... and NULL: unit */
    uint64_t period;         /* 0: none; of times: as kymo_meta has it */
    uint32_t is_default;     /* of at most one; else the first type is the default */
    uint32_t is_optional;    /* pprof has no column for it if there are no samples of it */
} kymo_sample_type;

/* What the thread was doing. */
typedef enum kymo_thread_state {
    KYMO_STATE_UNKNOWN = 0,
    KYMO_STATE_RUNNING,
    KYMO_STATE_SLEEPING, /* interruptible: waits for an event, a lock, a timer */
    KYMO_STATE_BLOCKED,  /* uninterruptible: mostly disk */
    KYMO_STATE_COUNT
} kymo_thread_state;

/* The recording as a whole. NULL text and 0 numbers mean "not known". */
typedef struct kymo_meta {
    uint32_t size;
    uint32_t logical_cpus;
    uint32_t physical_cpus;
    uint32_t argc;
    const char *const *argv;   /* the recorded command; argc entries */
    const char *product;       /* the name shown for the whole; NULL: argv[0]'s last component */
    const char *version;       /* of Kymo */
    const char *engine;        /* "perf", "dispatch", "timer" */
    const char *engine_reason; /* why that one, a few words */
    const char *hostname;
    const char *os;     /* "Debian GNU/Linux 12 (bookworm)" */
    const char *kernel; /* "Linux 6.1.0-18-amd64" */
    const char *arch;   /* "x86_64" */
    const char *cpu_name;
    uint64_t memory_bytes;
    uint64_t origin_monotonic_ns; /* the zero of the profile: the start of the recorded program */
    uint64_t origin_realtime_ns;  /* the same moment in ns since 1970 */
    uint64_t start_ns;            /* when recording began (CLOCK_MONOTONIC); 0: at the origin */
    uint64_t end_ns;              /* when it ended; 0: with the last sample */
    uint64_t period_ns;           /* asked for between two samples of a thread; 0: not sampled */
    uint64_t tick_ns;             /* of the recording's kernel; engine "timer" comes no oftener */
    uint64_t wall_period_ns; /* asked for between two wall samples of a thread; 0: there are none */
    const char *format; /* of the other tool's file that it was read from: "pprof"; else NULL */
} kymo_meta;

typedef struct kymo_lost {
    const char *kind; /* "no block", "depot full", ... */
    uint64_t count;
} kymo_lost;

/* What a recording says of itself. Ratios are 0 to 1, and NAN where they do not apply. */
typedef struct kymo_quality {
    uint32_t size;
    uint32_t lost_count;
    const kymo_lost *lost; /* lost_count entries */
    uint64_t samples;
    double achieved;          /* sum of weights / CPU time */
    double sampled_rate;      /* distinct samples / (CPU time / period) */
    double stacks_complete;   /* samples whose stack ends in the thread's real entry, of all but
                               * wall_stackless */
    double frames_symbolized; /* of the frames in files that have symbols, those named */
    uint64_t cpu_unsampled_ns;
    uint64_t disturbed;    /* system calls that may have seen EINTR for us */
    uint64_t handler_ns;   /* time spent in our handlers */
    uint64_t wall_samples; /* of samples, those of wall time; one may stand for many periods */
    double wall_achieved;  /* sum of their weights / time that the threads lived */
    /* Of wall_samples, those of running threads that had no CPU sample in their whole life: most
     * used less CPU time than a period. Running threads get the stacks of CPU samples. */
    uint64_t wall_stackless;
    /* A flight recorder (ring=SIZE) keeps the newest samples, markers, calls and values of
     * counters. The ratios above are of the time that those kept stand for. */
    uint64_t ring_bytes;      /* 0: everything was kept */
    uint64_t dropped_samples; /* of CPU time */
    uint64_t dropped_ns;      /* CPU time that they stood for */
    uint64_t dropped_wall_samples;
    uint64_t dropped_wall_ns;
    uint64_t dropped_markers;
    uint64_t dropped_counts; /* values of counters */
    uint64_t dropped_calls;  /* events of traced calls */
    uint64_t python_samples; /* of samples, those with functions of Python */
    uint64_t copied_samples; /* of samples, those that the kernel took without a signal */
    uint64_t startup_ns;     /* CPU time of all threads' startup_ns; sampled_rate is without it */
} kymo_quality;

/* One image of a process, from its start or exec to its exit or next exec. Several may have the
 * same pid, one after the other. */
typedef struct kymo_process {
    uint32_t size;
    int32_t pid;
    int32_t parent_pid; /* 0: not known */
    uint32_t argc;
    const char *const *argv;
    const char *name;    /* NULL: argv[0]'s last component, else "pid N" */
    uint64_t start_ns;   /* 0: before the recording, not known when */
    uint64_t end_ns;     /* 0: alive at the end */
    uint64_t cpu_ns;     /* user + system */
    int32_t exit_status; /* as wait(2) gives it; -1: not known */
    uint32_t is_main;    /* the one that was asked for; at most one process has it */
} kymo_process;

#define KYMO_STARTUP_NAME "[process start: exec, dynamic loader]"

typedef struct kymo_thread {
    uint32_t size;
    uint32_t process; /* id of its kymo_process */
    int32_t tid;
    uint32_t is_main;  /* see kymo_profile_finish */
    const char *name;  /* NULL: "thread TID" */
    uint64_t start_ns; /* 0: before the recording */
    uint64_t end_ns;   /* 0: alive at the end */
    uint64_t cpu_ns;
    uint64_t dropped_ns; /* of cpu_ns: of samples that a flight recorder dropped */
    uint64_t startup_ns; /* of cpu_ns: what its process used before samples began (fork, exec,
                          * dynamic loader). If not 0, its first CPU sample, which no count has,
                          * stands for it; its frame is KYMO_STARTUP_NAME */
} kymo_thread;

/* What is known of the names in a module's file. */
typedef enum kymo_symbols_state {
    KYMO_SYMBOLS_UNKNOWN = 0, /* not looked up */
    KYMO_SYMBOLS_NONE,        /* the file was not found, or not read */
    KYMO_SYMBOLS_OTHER,       /* there was another file in its place */
    KYMO_SYMBOLS_SOME,        /* not of all functions: only of the exported ones, say */
    KYMO_SYMBOLS_ALL,
    KYMO_SYMBOLS_STATE_COUNT
} kymo_symbols_state;

/* A mapped ELF file, from load to unload. Several may have had the same addresses, one after the
 * other, and in several processes. */
typedef struct kymo_module {
    uint32_t size;
    uint32_t process;
    const char *path; /* as mapped; "[vdso]" and the like for what is no file */
    const char *name; /* NULL: last component of path */
    uint8_t build_id[KYMO_BUILD_ID_MAX];
    uint32_t build_id_len; /* bytes; 0: not known */
    uint32_t is_main;      /* the executable itself */
    uint32_t category;     /* kymo_category */
    uint32_t symbols;      /* kymo_symbols_state, of the first module of the same file */
    const char *arch;      /* NULL: meta's */
    uint64_t start;        /* runtime addresses [start, end) of its executable mapping */
    uint64_t end;
    uint64_t file_offset; /* of start in the file */
    uint64_t load_bias;   /* runtime address - ELF vaddr; wraps around */
    uint64_t load_ns;     /* 0: before the recording */
    uint64_t unload_ns;   /* 0: never */
} kymo_module;

/* A function as the source has it. */
typedef struct kymo_function {
    uint32_t name;        /* string: as shown, demangled */
    uint32_t system_name; /* string: as the linker has it; 0 (""): the same as name */
    uint32_t source;      /* KYMO_NONE: not known */
    uint32_t start_line;  /* 0: not known */
    uint32_t module;      /* KYMO_NONE: none. Interning keeps the first module of the same file. */
} kymo_function;

/* A symbol of a symbol table: the machine code that a frame lies in. */
typedef struct kymo_symbol {
    uint32_t module;
    uint32_t name;       /* string: demangled */
    uint64_t address;    /* ELF vaddr */
    uint64_t size_bytes; /* 0: not known */
} kymo_symbol;

/* One source position; the lines of a frame are the functions inlined there, innermost first. */
typedef struct kymo_line {
    uint32_t function;
    uint32_t line;   /* 0: not known */
    uint32_t column; /* 0: not known */
} kymo_line;

/* A physical place in code. */
typedef struct kymo_frame {
    uint64_t address; /* to look up: pc, pc - 1 for callers. ELF vaddr (runtime address - load_bias)
                         with a module; absolute without; KYMO_NO_ADDRESS: stands for a name only */
    uint32_t module;  /* KYMO_NONE: outside every mapped file */
    uint32_t symbol;  /* KYMO_NONE: none known */
    uint32_t first_line; /* see kymo_profile_frame_lines */
    uint32_t line_count; /* 0: not symbolized; shown as module+0xaddress */
    uint8_t category;    /* kymo_category, never AUTO */
    uint8_t named;       /* the address lies in a symbol's extent or a DWARF subprogram */
} kymo_frame;

/* ---- markers, counters, labels ---- */

/* A value with its kind. */
typedef enum kymo_value_kind {
    KYMO_VALUE_NONE = 0, /* absent */
    KYMO_VALUE_BOOL,     /* as.u64: 0 or 1 */
    KYMO_VALUE_I64,
    KYMO_VALUE_U64,
    KYMO_VALUE_F64,
    KYMO_VALUE_STRING,  /* as.string */
    KYMO_VALUE_TIME,    /* as.u64: ns of CLOCK_MONOTONIC */
    KYMO_VALUE_NS,      /* as.i64: a duration */
    KYMO_VALUE_POINTER, /* as.u64 */
    KYMO_VALUE_FLOW,    /* as.u64 */
    KYMO_VALUE_LIST,    /* as.list: values of kymo_profile_values; of a table row by row */
} kymo_value_kind;

typedef struct kymo_value {
    uint32_t kind; /* kymo_value_kind */
    uint32_t reserved;
    union {
        int64_t i64;
        uint64_t u64;
        double f64;
        uint32_t string;
        struct {
            uint32_t first;
            uint32_t count;
        } list;
    } as;
} kymo_value;

/* A category of markers, beside those of code. Interned by name and parent, which has no parent of
 * its own: a part of a part is a part of the whole. */
typedef struct kymo_marker_category {
    uint32_t size;
    uint32_t name;   /* string */
    uint32_t parent; /* KYMO_NONE: it is no part of another */
    uint32_t color;  /* enum kymo_mark_color of kymo/marker_abi.h; of a part, its parent's */
} kymo_marker_category;

/* A field of a schema; format: enum kymo_mark_format, flags: enum kymo_mark_field_flags. A value
 * says itself of what kind it is, and need not suit the format. */
typedef struct kymo_schema_field {
    uint32_t key;     /* string; no two of a schema are the same */
    uint32_t label;   /* string; 0 (""): the key */
    uint32_t columns; /* string, of a table: "Name:string|Size:bytes"; 0 ("") */
    uint16_t format;
    uint16_t flags;
} kymo_schema_field;

typedef struct kymo_schema_row {
    uint32_t label, value; /* strings */
} kymo_schema_row;

typedef struct kymo_schema_graph {
    uint32_t key; /* string */
    uint16_t kind, color;
} kymo_schema_graph;

/* What the markers of a type have, and how they are shown. Interned by content; another one of the
 * same name is called "NAME (2)". */
typedef struct kymo_schema {
    uint32_t size;
    uint32_t name; /* string, as the next six; 0 (""): none */
    uint32_t chart, tooltip, table, description, color_key;
    uint32_t show; /* enum kymo_mark_show */
    uint32_t is_stack_based;
    uint32_t field_count, row_count, graph_count;
    const kymo_schema_field *fields;
    const kymo_schema_row *rows;
    const kymo_schema_graph *graphs;
} kymo_schema;

typedef enum kymo_marker_phase {
    KYMO_MARKER_INSTANT = 0,
    KYMO_MARKER_INTERVAL,
    KYMO_MARKER_UNFINISHED, /* an interval without an end */
    KYMO_MARKER_UNBEGUN,    /* an interval without a beginning: before the recording */
} kymo_marker_phase;

/* start_ns and end_ns are different for whole intervals only: an instant and an unfinished interval
 * have start_ns as both, an unbegun one end_ns. The profile sees to that. */
typedef struct kymo_marker {
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t owner; /* 0: none */
    uint32_t thread;
    uint32_t name;     /* string */
    uint32_t category; /* KYMO_NONE: none */
    uint32_t schema;   /* KYMO_NONE: no fields */
    uint32_t stack;    /* KYMO_NONE: none */
    uint32_t labels;   /* a set of labels, KYMO_NONE: none */
    uint32_t track;    /* string: where it is drawn instead of in its thread; 0 (""): there */
    uint32_t phase;    /* kymo_marker_phase */
    uint32_t first_value, value_count; /* one for each field, or none; set by the profile */
} kymo_marker;

/* What a thread carries for a while: the request it works on, and the like. */
typedef struct kymo_label {
    uint32_t key; /* string */
    uint32_t reserved;
    kymo_value value; /* a number, a pointer or a string */
} kymo_label;

/* Markers that are not in the profile, or are not whole, of a name, category and schema. */
typedef struct kymo_marker_losses {
    uint32_t size;
    uint32_t name; /* string */
    uint32_t category;
    uint32_t schema;
    uint64_t lost;   /* markers, for want of room */
    uint64_t capped; /* markers above their type's limit */
    uint64_t cut;    /* texts that were too long */
} kymo_marker_losses;

typedef struct kymo_counter {
    uint32_t size;
    uint32_t process;
    uint32_t category;                /* of markers; KYMO_NONE: none */
    uint32_t name, unit, description; /* strings */
    uint32_t kind;                    /* enum kymo_mark_counter_kind */
    uint32_t flags;                   /* enum kymo_mark_counter_flags */
    uint32_t color;
} kymo_counter;

/* Columns, by time once the profile is finished. */
typedef struct kymo_counts {
    uint32_t count;
    const uint64_t *time_ns;
    const int64_t *value; /* up to then; of a gauge: then. KYMO_COUNTER_IS_F64: bits of a double */
    const uint64_t *operations;
} kymo_counts;

typedef enum kymo_table {
    KYMO_TABLE_STRINGS,
    KYMO_TABLE_SOURCES,
    KYMO_TABLE_PROCESSES,
    KYMO_TABLE_THREADS,
    KYMO_TABLE_MODULES,
    KYMO_TABLE_FUNCTIONS,
    KYMO_TABLE_SYMBOLS,
    KYMO_TABLE_FRAMES,
    KYMO_TABLE_STACKS,
    KYMO_TABLE_MARKER_CATEGORIES,
    KYMO_TABLE_SCHEMAS,
    KYMO_TABLE_MARKERS, /* of all threads */
    KYMO_TABLE_MARKER_LOSSES,
    KYMO_TABLE_VALUES,
    KYMO_TABLE_COUNTERS,
    KYMO_TABLE_LABEL_SETS,
    KYMO_TABLE_ALLOCATIONS, /* of all processes */
    KYMO_TABLE_MAPPINGS,
    KYMO_TABLE_COUNT
} kymo_table;

/* ---- building ---------------------------------------------------------------------------------
 * Each returns KYMO_E_NOMEM, KYMO_E_TOO_BIG, or KYMO_E_INVALID for an id that does not exist; the
 * profile is then as it was before the call. */

/* An empty profile; string 0 is "". */
KYMO_API kymo_err kymo_profile_create(kymo_profile **out);
/* NULL is allowed. */
KYMO_API void kymo_profile_destroy(kymo_profile *profile);

/* Replace what was set before. */
KYMO_API kymo_err kymo_profile_set_meta(kymo_profile *profile, const kymo_meta *meta);
KYMO_API kymo_err kymo_profile_set_quality(kymo_profile *profile, const kymo_quality *quality);

KYMO_API kymo_err kymo_profile_add_string(kymo_profile *profile, const char *text, size_t len,
                                          uint32_t *string);
/* A source file by its path (as the debug information gives it, joined to its directory). */
KYMO_API kymo_err kymo_profile_add_source(kymo_profile *profile, const char *path, size_t len,
                                          uint32_t *source);
KYMO_API kymo_err kymo_profile_add_process(kymo_profile *profile, const kymo_process *process,
                                           uint32_t *id);
/* Overwrites a row, when more is known of it: its end, its name, its CPU time. The pid, the
 * process of a thread and its tid must stay as they were. */
KYMO_API kymo_err kymo_profile_update_process(kymo_profile *profile, uint32_t id,
                                              const kymo_process *process);
KYMO_API kymo_err kymo_profile_add_thread(kymo_profile *profile, const kymo_thread *thread,
                                          uint32_t *id);
KYMO_API kymo_err kymo_profile_update_thread(kymo_profile *profile, uint32_t id,
                                             const kymo_thread *thread);
KYMO_API kymo_err kymo_profile_add_module(kymo_profile *profile, const kymo_module *module,
                                          uint32_t *id);
KYMO_API kymo_err kymo_profile_set_module_unload(kymo_profile *profile, uint32_t id,
                                                 uint64_t unload_ns);
/* Of the file that the module is: kymo_symbols_state. */
KYMO_API kymo_err kymo_profile_set_module_symbols(kymo_profile *profile, uint32_t id,
                                                  uint32_t state);

KYMO_API kymo_err kymo_profile_add_function(kymo_profile *profile, const kymo_function *function,
                                            uint32_t *id);
KYMO_API kymo_err kymo_profile_add_symbol(kymo_profile *profile, const kymo_symbol *symbol,
                                          uint32_t *id);

/* A place in code. module KYMO_NONE: address is absolute. Interned by module, address and category.
 */
KYMO_API kymo_err kymo_profile_add_frame(kymo_profile *profile, uint32_t module, uint64_t address,
                                         kymo_category category, uint32_t *id);
/* A frame without an address that shows a function's name, such as "[truncated stack]". */
KYMO_API kymo_err kymo_profile_add_label_frame(kymo_profile *profile, uint32_t function,
                                               kymo_category category, uint32_t *id);
/* A frame without an address: count lines, innermost first, as kymo_profile_frame_lines gives them.
 * There is at least one. Interned by its lines and category. */
KYMO_API kymo_err kymo_profile_add_lines_frame(kymo_profile *profile, const kymo_line *lines,
                                               uint32_t count, kymo_category category,
                                               uint32_t *id);
/* What the symbolizer found; count lines, innermost first (count 0: none), symbol KYMO_NONE: none.
 * Replaces what was there. */
KYMO_API kymo_err kymo_profile_frame_set_lines(kymo_profile *profile, uint32_t frame,
                                               const kymo_line *lines, uint32_t count,
                                               uint32_t symbol, int named);

/* A stack is a node of a prefix tree: the frame called, and the stack of its caller (KYMO_NONE for
 * the outermost frame). A parent's id is always less than its child's. */
KYMO_API kymo_err kymo_profile_add_stack(kymo_profile *profile, uint32_t parent, uint32_t frame,
                                         uint32_t *id);

/* The stack of count runtime addresses of a process, innermost first. Each becomes a frame of the
 * module that has it (of several, the last one added), or of none. They are addresses to look up:
 * of a caller, the return address - 1. *id is KYMO_NONE for a count of 0. After an error outer
 * parts of the stack may be in the profile. */
KYMO_API kymo_err kymo_profile_add_address_stack(kymo_profile *profile, uint32_t process,
                                                 const uint64_t *addresses, size_t count,
                                                 uint32_t *id);

/* A sample of one type. stack KYMO_NONE: not known. Samples of a thread may come in any order. */
KYMO_API kymo_err kymo_profile_add_sample(kymo_profile *profile, uint32_t thread, uint64_t time_ns,
                                          uint32_t stack, uint64_t weight_ns, uint32_t type,
                                          kymo_thread_state state);

/* Replaces the sample types of a profile without samples; they are named by their places. A new
 * profile has those of kymo_sample_kind. KYMO_E_INVALID, with the row as position: there are
 * samples, no types, or more than KYMO_SAMPLE_TYPES_MAX, a type has no name or no unit, or a name
 * or default is there twice. detail may be NULL. */
KYMO_API kymo_err kymo_profile_set_sample_types(kymo_profile *profile,
                                                const kymo_sample_type *types, uint32_t count,
                                                kymo_error *detail);

/* A sample of a program. */
typedef struct kymo_sample {
    uint32_t size;
    uint32_t thread;
    uint64_t time_ns;
    uint32_t stack;  /* KYMO_NONE: not known */
    uint32_t labels; /* a set of labels, KYMO_NONE: none */
    uint32_t state;  /* kymo_thread_state */
    uint32_t type;   /* of its one value; KYMO_SAMPLE_EACH: it has a value of each type */
    const uint64_t *values;
    uint32_t value_count; /* as many as there are types, or 1 */
} kymo_sample;

/* Adds a row of kymo_samples for each value that is not 0. KYMO_E_INVALID, with the number of the
 * thread's rows as position: the number of values is another, there is no such type, thread, stack,
 * set of labels or state; KYMO_E_NOMEM, KYMO_E_TOO_BIG. After an error nothing of it is in the
 * profile. detail may be NULL. */
KYMO_API kymo_err kymo_profile_add_sample_values(kymo_profile *profile, const kymo_sample *sample,
                                                 kymo_error *detail);

/* Interned; the first one's colour counts. */
KYMO_API kymo_err kymo_profile_add_marker_category(kymo_profile *profile,
                                                   const kymo_marker_category *category,
                                                   uint32_t *id);
/* Interned by content. KYMO_E_INVALID for a key that is there twice. */
KYMO_API kymo_err kymo_profile_add_schema(kymo_profile *profile, const kymo_schema *schema,
                                          uint32_t *id);
/* Values of a list, for as.list.first of a value. */
KYMO_API kymo_err kymo_profile_add_values(kymo_profile *profile, const kymo_value *values,
                                          uint32_t count, uint32_t *first);
/* values: as many as its schema has fields; NULL: all absent. Markers may come in any order. */
KYMO_API kymo_err kymo_profile_add_marker(kymo_profile *profile, const kymo_marker *marker,
                                          const kymo_value *values);
/* Adds to what there is of the same name, category and schema. */
KYMO_API kymo_err kymo_profile_add_marker_losses(kymo_profile *profile,
                                                 const kymo_marker_losses *losses);
KYMO_API kymo_err kymo_profile_add_counter(kymo_profile *profile, const kymo_counter *counter,
                                           uint32_t *id);
/* What a counter was at a time, and the operations up to then. In any order. */
KYMO_API kymo_err kymo_profile_add_count(kymo_profile *profile, uint32_t counter, uint64_t time_ns,
                                         int64_t value, uint64_t operations);
/* A set of labels, interned by content: of those of the same key the last one counts. *id is
 * KYMO_NONE for an empty set. KYMO_E_TOO_BIG above KYMO_LABEL_SET_MAX. */
KYMO_API kymo_err kymo_profile_add_label_set(kymo_profile *profile, const kymo_label *labels,
                                             uint32_t count, uint32_t *id);
/* The labels of one sample (KYMO_NONE: none), by its place in kymo_profile_samples. It keeps them
 * when samples are sorted. */
KYMO_API kymo_err kymo_profile_set_sample_labels(kymo_profile *profile, uint32_t thread,
                                                 size_t sample, uint32_t labels);

/* Sorts the samples, markers and counts of each thread and counter by time (those of one time stay
 * in the order of adding; of markers, the longer one is first), the threads by process and start,
 * and makes sure that each process has exactly one main thread: the one marked, else the one whose
 * tid is the pid, else the earliest; a process without threads is given one. Reading samples, and
 * encoding, wants a finished profile. Adding a process, thread or sample afterwards is allowed and
 * needs another finish; adding names and lines does not. */
KYMO_API kymo_err kymo_profile_finish(kymo_profile *profile);

/* ---- reading ----------------------------------------------------------------------------------
 * An id that does not exist gives NULL, or "" for a string. */

KYMO_API uint32_t kymo_profile_count(const kymo_profile *profile, kymo_table table);
/* Never NULL; text in it is NULL where nothing was set. */
KYMO_API const kymo_meta *kymo_profile_meta(const kymo_profile *profile);
KYMO_API const kymo_quality *kymo_profile_quality(const kymo_profile *profile);

KYMO_API const char *kymo_profile_string(const kymo_profile *profile, uint32_t string);
KYMO_API size_t kymo_profile_string_len(const kymo_profile *profile, uint32_t string);
/* The path of a source; "" for KYMO_NONE. */
KYMO_API const char *kymo_profile_source(const kymo_profile *profile, uint32_t source);
/* In rows that come out, no name, path, arch or argv is NULL. */
KYMO_API const kymo_process *kymo_profile_process(const kymo_profile *profile, uint32_t id);
KYMO_API const kymo_thread *kymo_profile_thread(const kymo_profile *profile, uint32_t id);
KYMO_API const kymo_module *kymo_profile_module(const kymo_profile *profile, uint32_t id);
/* The first module of the same file (path and build-id), in whichever process; id itself if first.
 */
KYMO_API uint32_t kymo_profile_module_file(const kymo_profile *profile, uint32_t id);
KYMO_API const kymo_function *kymo_profile_function(const kymo_profile *profile, uint32_t id);
KYMO_API const kymo_symbol *kymo_profile_symbol(const kymo_profile *profile, uint32_t id);
KYMO_API const kymo_frame *kymo_profile_frame(const kymo_profile *profile, uint32_t id);
/* Its lines, innermost first; *count is 0 (and the result may be NULL) if it has none. */
KYMO_API const kymo_line *kymo_profile_frame_lines(const kymo_profile *profile, uint32_t frame,
                                                   uint32_t *count);
/* The name to show for a frame: its innermost function, else "module+0xaddress", else "0xaddress".
 * Cut to cap bytes, NUL included, on a character's boundary. Returns out. */
KYMO_API const char *kymo_profile_frame_label(const kymo_profile *profile, uint32_t frame,
                                              char *out, size_t cap);

/* Columns of count stacks. */
typedef struct kymo_stacks {
    const uint32_t *frame;
    const uint32_t *parent; /* KYMO_NONE: outermost */
    uint32_t count;
} kymo_stacks;
KYMO_API kymo_stacks kymo_profile_stacks(const kymo_profile *profile);

/* Columns of one thread's samples, by time once the profile is finished. */
typedef struct kymo_samples {
    const uint64_t *time_ns;
    const uint64_t *weight_ns; /* values: nanoseconds, or in the unit of the sample type */
    const uint32_t *stack;
    const uint8_t *kind;  /* sample type */
    const uint8_t *state; /* kymo_thread_state */
    size_t count;
} kymo_samples;
KYMO_API kymo_samples kymo_profile_samples(const kymo_profile *profile, uint32_t thread);
/* The table of sample types, of which there is at least one. */
KYMO_API const kymo_sample_type *kymo_profile_sample_types(const kymo_profile *profile,
                                                           uint32_t *count);
/* The place of the default one. */
KYMO_API uint32_t kymo_profile_default_sample_type(const kymo_profile *profile);
/* Of all threads. */
KYMO_API uint64_t kymo_profile_sample_count(const kymo_profile *profile);

/* The label sets of a thread's samples, as many as there are samples; NULL: none has any. */
KYMO_API const uint32_t *kymo_profile_sample_labels(const kymo_profile *profile, uint32_t thread);

/* The markers of one thread, those on tracks included, by start once the profile is finished. */
typedef struct kymo_markers {
    const kymo_marker *rows;
    size_t count;
} kymo_markers;
KYMO_API kymo_markers kymo_profile_markers(const kymo_profile *profile, uint32_t thread);
/* count values from first on; NULL if there are not that many. */
KYMO_API const kymo_value *kymo_profile_values(const kymo_profile *profile, uint32_t first,
                                               uint32_t count);
KYMO_API const kymo_marker_category *kymo_profile_marker_category(const kymo_profile *profile,
                                                                  uint32_t id);
KYMO_API const kymo_schema *kymo_profile_schema(const kymo_profile *profile, uint32_t id);
KYMO_API const kymo_marker_losses *kymo_profile_marker_losses(const kymo_profile *profile,
                                                              uint32_t id);
KYMO_API const kymo_counter *kymo_profile_counter(const kymo_profile *profile, uint32_t id);
KYMO_API kymo_counts kymo_profile_counts(const kymo_profile *profile, uint32_t counter);
/* The labels of a set, by key; *count is 0 (and the result may be NULL) for KYMO_NONE. */
KYMO_API const kymo_label *kymo_profile_label_set(const kymo_profile *profile, uint32_t id,
                                                  uint32_t *count);

/* Threads in the order to show them: processes by start (the main one first), in each the main
 * thread first, then by start. As many entries as threads; NULL before finish. */
KYMO_API const uint32_t *kymo_profile_thread_order(const kymo_profile *profile);

#ifdef __cplusplus
}
#endif

#endif
