/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marker_abi.h - what marker.h and a library of Kymo hand each other: plain structures, one
 * function.
 *
 * Flow:     marker.h, or another language -> [these] -> libkymo-preload.so or libkymo.so
 * Threads:  any; see each call
 * Memory:   the library keeps pointers to a link and to what lies in static memory of the object
 * that the link is of, until that link is detached; all else is copied before a call returns
 * Signals:  see each call
 *
 * C and C++ programs include marker.h. A binding for another language needs this file alone: find
 * kymo_mark_attach by dlsym, pass it a link, and use the calls that it puts there.
 *
 * Every structure begins with its size, or with a field that says its stride, so that both sides
 * may be of different versions: who reads looks at no field beyond the size.
 */
#ifndef KYMO_MARKER_ABI_H
#define KYMO_MARKER_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KYMO_MARK_ABI 1u

/* ---- fields ---- */

/* How a value is shown: X(name, name in the Firefox Profiler's schema). What is stored for each is
 * in doc/markers.md. */
#define KYMO_MARK_FORMATS(X)                      \
    X(URL, "url")                                 \
    X(FILE_PATH, "file-path")                     \
    X(SANITIZED_STRING, "sanitized-string")       \
    X(STRING, "string")                           \
    X(UNIQUE_STRING, "unique-string")             \
    X(FLOW_ID, "flow-id")                         \
    X(TERMINATING_FLOW_ID, "terminating-flow-id") \
    X(DURATION, "duration")                       \
    X(TIME, "time")                               \
    X(SECONDS, "seconds")                         \
    X(MILLISECONDS, "milliseconds")               \
    X(MICROSECONDS, "microseconds")               \
    X(NANOSECONDS, "nanoseconds")                 \
    X(BYTES, "bytes")                             \
    X(PERCENTAGE, "percentage")                   \
    X(INTEGER, "integer")                         \
    X(DECIMAL, "decimal")                         \
    X(HEXADECIMAL, "hexadecimal")                 \
    X(PID, "pid")                                 \
    X(TID, "tid")                                 \
    X(LIST, "list")                               \
    X(TABLE, "table")

enum kymo_mark_format {
    KYMO_FORMAT_NONE = 0,
#define KYMO_X_(name, text) KYMO_FORMAT_##name,
    KYMO_MARK_FORMATS(KYMO_X_)
#undef KYMO_X_
        KYMO_FORMAT_COUNT
};

/* Text that lives as long as its program or library is loaded: never copied in a marker, but once.
 */
struct kymo_mark_literal {
    union {
        const struct kymo_mark_no_text *no_text; /* so that no text is one by mistake */
        const char *text;                        /* NUL-terminated; NULL: absent */
    };
};

/* Text that is copied. It need not be valid UTF-8, nor end with a NUL. */
struct kymo_mark_text {
    const char *data; /* NULL: absent */
    size_t len;       /* in bytes */
};

struct kymo_mark_utf16 {
    const uint16_t *data; /* NULL: absent */
    size_t len;           /* in units */
};

/* A number that may be missing. */
struct kymo_mark_opt_i64 {
    int64_t value;
    uint64_t is_there;
};

struct kymo_mark_opt_u64 {
    uint64_t value;
    uint64_t is_there;
};

struct kymo_mark_opt_f64 {
    double value;
    uint64_t is_there;
};

/* A value that carries its kind: arguments of formatted text, elements of lists and tables, values
 * of labels. */
struct kymo_mark_cell {
    uint32_t kind; /* enum kymo_mark_kind: I64, U64, F64, STR, TEXT or PTR; 0: absent */
    uint32_t len;  /* of TEXT, in bytes */
    union {
        int64_t i64;
        uint64_t u64;
        double f64;
        const void *ptr; /* of STR and TEXT: the text */
    } as;
};

/* Beside the kind of a value that label_push is given: the label is of a block of the function that
 * calls it, and so is gone with that function's frame, also where a longjmp leaves it. */
#define KYMO_CELL_OF_BLOCK (1u << 31)

/* A list, or a table row by row, with as many cells in a row as the field has columns. */
struct kymo_mark_cells {
    const struct kymo_mark_cell *data; /* NULL: absent */
    size_t count;
};

#ifdef __cplusplus
#define KYMO_MARK_BOOL bool
#else
#define KYMO_MARK_BOOL _Bool
#endif

/* What a field is in the payload, which is a C structure of such members in their order:
 * X(name, NAME, C type, size, alignment), both in bytes. */
#define KYMO_MARK_KINDS(X)                               \
    X(bool, BOOL, KYMO_MARK_BOOL, 1, 1)                  \
    X(i8, I8, int8_t, 1, 1)                              \
    X(u8, U8, uint8_t, 1, 1)                             \
    X(i16, I16, int16_t, 2, 2)                           \
    X(u16, U16, uint16_t, 2, 2)                          \
    X(i32, I32, int32_t, 4, 4)                           \
    X(u32, U32, uint32_t, 4, 4)                          \
    X(i64, I64, int64_t, 8, 8)                           \
    X(u64, U64, uint64_t, 8, 8)                          \
    X(f32, F32, float, 4, 4)                             \
    X(f64, F64, double, 8, 8)                            \
    X(literal, LITERAL, struct kymo_mark_literal, 8, 8)  \
    X(str, STR, const char *, 8, 8)                      \
    X(text, TEXT, struct kymo_mark_text, 16, 8)          \
    X(utf16, UTF16, struct kymo_mark_utf16, 16, 8)       \
    X(time, TIME, uint64_t, 8, 8)                        \
    X(ns, NS, int64_t, 8, 8)                             \
    X(ptr, PTR, const void *, 8, 8)                      \
    X(flow, FLOW, uint64_t, 8, 8)                        \
    X(cells, CELLS, struct kymo_mark_cells, 16, 8)       \
    X(opt_i64, OPT_I64, struct kymo_mark_opt_i64, 16, 8) \
    X(opt_u64, OPT_U64, struct kymo_mark_opt_u64, 16, 8) \
    X(opt_f64, OPT_F64, struct kymo_mark_opt_f64, 16, 8)

/* TIME: of kymo_now(); NS: a duration. FLOW and TIME of 0 are absent, as are texts of NULL. */
enum kymo_mark_kind {
    KYMO_KIND_NONE = 0,
#define KYMO_X_(name, NAME, type, size, alignment) KYMO_KIND_##NAME,
    KYMO_MARK_KINDS(KYMO_X_)
#undef KYMO_X_
        KYMO_KIND_COUNT
};

enum kymo_mark_field_flags {
    KYMO_FIELD_HIDDEN = 1,     /* for labels and searches, not in the tooltip */
    KYMO_FIELD_SEARCHABLE = 2, /* where a reader does not search every field */
};

struct kymo_mark_field {
    const char *key;
    const char
        *label;     /* NULL: the key; of a table with its columns: "Rows|Name:string|Size:bytes" */
    uint8_t kind;   /* enum kymo_mark_kind */
    uint8_t format; /* enum kymo_mark_format */
    uint16_t flags; /* enum kymo_mark_field_flags */
    uint32_t reserved;
};

/* ---- types ---- */

/* Where markers of a type are shown: bits. 0 stands for chart and table. */
enum kymo_mark_show {
    KYMO_SHOW_CHART = 1,
    KYMO_SHOW_TABLE = 2,
    KYMO_SHOW_OVERVIEW = 4,
    KYMO_SHOW_MEMORY = 8,
    KYMO_SHOW_IPC = 16,
    KYMO_SHOW_FILEIO = 32,
    KYMO_SHOW_NETWORK = 64,
};

/* X(name, text): colours of the Firefox Profiler, of categories; those of graphs are among them. */
#define KYMO_MARK_COLORS(X)       \
    X(GREY, "grey")               \
    X(TRANSPARENT, "transparent") \
    X(PURPLE, "purple")           \
    X(GREEN, "green")             \
    X(ORANGE, "orange")           \
    X(YELLOW, "yellow")           \
    X(LIGHTBLUE, "lightblue")     \
    X(BLUE, "blue")               \
    X(BROWN, "brown")             \
    X(MAGENTA, "magenta")         \
    X(RED, "red")                 \
    X(LIGHTRED, "lightred")       \
    X(DARKGREY, "darkgrey")       \
    X(INK, "ink")                 \
    X(TEAL, "teal")

enum kymo_mark_color {
#define KYMO_X_(name, text) KYMO_COLOR_##name,
    KYMO_MARK_COLORS(KYMO_X_)
#undef KYMO_X_
        KYMO_COLOR_COUNT
};

/* A line that stands in each tooltip of a type. */
struct kymo_mark_row {
    const char *label;
    const char *value;
};

enum kymo_mark_graph_kind {
    KYMO_GRAPH_LINE,
    KYMO_GRAPH_BAR,
    KYMO_GRAPH_LINE_FILLED,
};

struct kymo_mark_graph {
    const char *key;
    uint32_t kind;  /* enum kymo_mark_graph_kind */
    uint32_t color; /* enum kymo_mark_color */
};

/* A type of markers: its fields, and how they are shown. Constant; what is known of it at run time
 * hangs on its sites. */
struct kymo_mark_type {
    uint32_t size;
    uint32_t line; /* where it is declared */
    const char *file;
    const char *name;
    const struct kymo_mark_field *fields;
    uint32_t field_count;
    uint32_t field_bytes;   /* of one, so that a later version's may be longer */
    uint32_t payload_bytes; /* of the C structure; if these are whole words, they are copied as they
                             * are: what lies between and behind the fields has to be zero then */
    uint32_t show;          /* enum kymo_mark_show */
    /* Templates with {marker.name} and {marker.data.KEY}; NULL: the viewer's own. */
    const char *chart;
    const char *tooltip;
    const char *table;
    const char *description;
    const struct kymo_mark_row *rows;     /* up to one whose label is NULL; NULL: none */
    const struct kymo_mark_graph *graphs; /* up to one whose key is NULL; NULL: none */
    const char *color_key;                /* the field that holds a colour's name; NULL: none */
    uint32_t is_stack_based;              /* markers nest, and are drawn together */
    uint32_t max_per_second;              /* 0: as many as there are; what is above is counted */
};

/* ---- categories and sites ---- */

enum kymo_mark_category_flags {
    KYMO_CATEGORY_IS_QUIET = 1, /* off until it is requested by name */
};

/* Statically allocated in the program; the library writes `on` and `id`. */
struct kymo_mark_category {
    uint32_t size;
    uint32_t on; /* whether markers of it are recorded; relaxed */
    const char *name;
    const struct kymo_mark_category *parent; /* of a subcategory; NULL */
    uint32_t color; /* enum kymo_mark_color; of a subcategory: its parent's */
    uint32_t flags; /* enum kymo_mark_category_flags */
    uint32_t id;    /* the library's */
    uint32_t reserved;
};

enum kymo_mark_site_kind {
    KYMO_SITE_MARKER,
    KYMO_SITE_SCOPE,
    KYMO_SITE_TEXT,   /* the payload is one struct kymo_mark_text; of markers and of scopes */
    KYMO_SITE_FORMAT, /* cells, and `format` */
    KYMO_SITE_VALUES, /* cells, and in `format` their names, with commas between */
};

/* A place in the program that makes markers. Statically allocated there; the library writes `id`
 * and what follows up to `texts`, which is all that most markers read of it: these lie in one line
 * of the cache. */
struct kymo_mark_site {
    uint32_t size;
    uint32_t id;    /* of this session, 0: not known there yet */
    uint32_t words; /* of payload */
    uint32_t slow;  /* it has texts, or a limit */
    uint64_t min_ticks;
    uint64_t texts; /* which words of its payload they are in */
    const struct kymo_mark_category *category;
    const struct kymo_mark_type *type; /* NULL: none */
    const char *name;
    const char *format;
    const char *file;
    const char *function;
    uint32_t line;
    uint32_t kind;   /* enum kymo_mark_site_kind */
    uint64_t min_ns; /* a scope that is shorter is not recorded; 0: none */
};

/* ---- markers ---- */

/* When a marker is, on the clock of kymo_now(). */
enum kymo_mark_timing {
    KYMO_TIMING_NOW = 0,  /* an instant: this one */
    KYMO_TIMING_AT,       /* an instant: `start` */
    KYMO_TIMING_INTERVAL, /* from `start` to `end` */
    KYMO_TIMING_SINCE,    /* from `start` to now */
    KYMO_TIMING_START,    /* an interval begins, at `start` or now; `id` finds its end */
    KYMO_TIMING_END,      /* it ends, at `end` or now */
};

#define KYMO_THREAD_THIS 0u
#define KYMO_THREAD_MAIN UINT32_MAX
#define KYMO_STACK_NONE 0u
#define KYMO_STACK_HERE UINT64_MAX

/* All zero: an instant now, in this thread, without a stack. */
struct kymo_mark_options {
    uint32_t size;
    uint32_t timing; /* enum kymo_mark_timing */
    uint64_t start;
    uint64_t end;
    uint64_t id;       /* of the interval, for START and END */
    uint64_t stack;    /* KYMO_STACK_NONE, KYMO_STACK_HERE, or one that was taken before */
    uint64_t track;    /* where it is drawn instead of in a thread; 0: there */
    uint64_t owner;    /* whose it is: a number that the program chooses, 0: none */
    uint32_t thread;   /* its number with the kernel, KYMO_THREAD_THIS, KYMO_THREAD_MAIN */
    uint32_t name_len; /* in bytes */
    const char *name;  /* instead of the site's; copied; NULL: the site's */
};

enum kymo_mark_scope_flags {
    KYMO_SCOPE_IS_CANCELLED = 1, /* it ends, and is not recorded */
};

/* A scope that is open, in the stack frame that it belongs to. The program says payload and options
 * before scope_begin, which says the rest, and may say another payload, and flags, until scope_end.
 */
struct kymo_mark_scope {
    struct kymo_mark_site *site; /* NULL: there is nothing to end */
    uint64_t start;
    const void *payload;                     /* read at the end; NULL: none */
    const struct kymo_mark_options *options; /* read at the end, but for its timing; NULL: none */
    uint32_t depth;                          /* the library's, as is epoch */
    uint32_t epoch;
    uint32_t flags; /* enum kymo_mark_scope_flags */
    uint32_t reserved;
};

/* ---- counters ---- */

enum kymo_mark_counter_kind {
    KYMO_COUNTER_TOTAL, /* grows; each count is added */
    KYMO_COUNTER_DELTA, /* goes up and down; each count is added, and is operations, too */
    KYMO_COUNTER_GAUGE, /* is what was said last */
};

enum kymo_mark_counter_flags {
    KYMO_COUNTER_EACH = 1,   /* a record for each change, not a look each period */
    KYMO_COUNTER_RATE = 2,   /* drawn as change in time */
    KYMO_COUNTER_IS_F64 = 4, /* values are doubles, wherever they are an int64_t: its bits */
    /* In a recording only: the program did not make it, but the recorder read it from the system,
     * or asked the allocator. */
    KYMO_COUNTER_SYSTEM = 1 << 16,
};

/* Statically allocated in the program; the library writes `id` and `cell`. */
struct kymo_mark_counter {
    uint32_t size;
    uint32_t id;
    const struct kymo_mark_category *category;
    const char *name;
    const char *unit; /* "bytes", "percent" or any other; NULL: a number */
    const char *description;
    uint32_t kind;  /* enum kymo_mark_counter_kind */
    uint32_t flags; /* enum kymo_mark_counter_flags */
    uint32_t color; /* enum kymo_mark_color */
    uint32_t cell;
};

/* ---- the library's side ---- */

struct kymo_mark_link;

/* Is told that this process is recorded from now on (1), or no longer (0). Called with all signals
 * blocked, in any thread, also inside a signal handler: it may do what a handler may, and calls
 * nothing of Kymo. */
typedef void kymo_recording_fn(void *context, int is_recorded);

/* What became of this process's markers so far. */
struct kymo_mark_stats {
    uint32_t size;
    uint32_t sites;   /* that the session knows */
    uint64_t written; /* markers */
    uint64_t lost;    /* for want of room */
    uint64_t capped;  /* above their type's limit */
    uint64_t cut;     /* texts that were longer than the limit */
};

/* What the library does beside the five calls of a link. Threads: any. Handlers may call what is
 * marked (signals). */
struct kymo_mark_calls {
    uint32_t size;
    uint32_t abi;
    /* Before the object that the link is of is unloaded. */
    void (*detach)(struct kymo_mark_link *link);
    /* (signals) The clock of all markers, and from it and to it CLOCK_MONOTONIC in ns. */
    uint64_t (*now)(void);
    uint64_t (*to_ns)(uint64_t clock);
    uint64_t (*from_ns)(uint64_t monotonic_ns);
    /* (signals) A marker whose payload are cells: KYMO_SITE_FORMAT, KYMO_SITE_VALUES. */
    void (*cells)(struct kymo_mark_site *site, const struct kymo_mark_cell *cells, uint32_t count,
                  const struct kymo_mark_options *options);
    /* (signals) A number for an interval that has none: never 0. */
    uint64_t (*interval)(void);
    /* (signals) The stack of the caller, for options.stack of any thread's marker, as often as
     * wanted; KYMO_STACK_NONE where there is no room. */
    uint64_t (*stack)(void);
    /* (signals) The thread's labels: push gives what pop is to be given, never 0 but where there
     * was no room, and then there is nothing to pop; set replaces or adds, and removes with a NULL
     * value. Keys are copied, too. */
    uint32_t (*label_push)(const char *key, const struct kymo_mark_cell *value);
    void (*label_pop)(uint32_t depth);
    void (*label_set)(const char *key, const struct kymo_mark_cell *value);
    /* A track beside the threads, by its name; 0 where there is no room. */
    uint64_t (*track)(const char *name, size_t len);
    /* Switches categories: "all", "net", "-net", "disk/read", with colons between; later words win.
     * Returns a kymo_err. */
    int (*select)(const char *list);
    /* Types, categories and sites of languages that have no static memory: copied with all that
     * they point to. What comes back stays for ever; the same one comes back for the same content.
     * Returns a kymo_err; why: one line, may be NULL. */
    int (*type_register)(const struct kymo_mark_type *type, const struct kymo_mark_type **out,
                         char *why, size_t why_size);
    int (*category_register)(const struct kymo_mark_category *category,
                             struct kymo_mark_category **out, char *why, size_t why_size);
    int (*site_register)(const struct kymo_mark_site *site, struct kymo_mark_site **out, char *why,
                         size_t why_size);
    int (*stats)(struct kymo_mark_stats *stats);
    /* Sets what the link's object is told of the recording by; NULL: nothing. */
    void (*on_recording)(struct kymo_mark_link *link, kymo_recording_fn *fn, void *context);
};

enum kymo_mark_link_state {
    KYMO_LINK_NEW,
    KYMO_LINK_OPEN, /* it was handed over, if there was a library */
    KYMO_LINK_CLOSED,
};

/* Where an executable or a shared object and the library meet: one for each, in its own memory. The
 * library fills in the calls, and switches the categories. */
struct kymo_mark_link {
    uint32_t size;
    uint32_t abi;
    uint32_t is_open; /* enum kymo_mark_link_state; the object's own */
    uint32_t on;      /* 1: a recorder listens; relaxed */
    uint64_t flow_seed;
    struct kymo_mark_category *const *categories; /* the object's */
    struct kymo_mark_category *const *categories_end;
    struct kymo_mark_link *next; /* the library's */
    const struct kymo_mark_calls *calls;
    /* (signals) A marker at this site; payload: its type's payload_bytes, a struct kymo_mark_text
     * (KYMO_SITE_TEXT), or NULL. */
    void (*mark)(struct kymo_mark_site *site, const void *payload);
    void (*mark_with)(struct kymo_mark_site *site, const void *payload,
                      const struct kymo_mark_options *options);
    /* (signals) In pairs, in the frame that the scope lies in. */
    void (*scope_begin)(struct kymo_mark_scope *scope, struct kymo_mark_site *site);
    void (*scope_end)(struct kymo_mark_scope *scope);
    /* (signals) */
    void (*count)(struct kymo_mark_counter *counter, int64_t value, uint64_t operations);
    /* Set by calls->on_recording. */
    kymo_recording_fn *recording_fn;
    void *recording_context;
    uint32_t recording_told; /* what it was called with last */
};

/* The one function that a library exports, found by its name. Returns 0, or a kymo_err when the
 * link is of a version that it does not serve; then all its categories stay off. Not for handlers.
 */
typedef int kymo_mark_attach_fn(struct kymo_mark_link *link);
#define KYMO_MARK_ATTACH "kymo_mark_attach"

#ifdef __cplusplus
}
#endif

#endif
