/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marker.h - markers, counters and labels that a program's authors put on the timeline.
 *
 * Flow:     your code -> [marker.h] -> libkymo-preload.so (under `kymo record`) or libkymo.so
 * Threads:  every macro and function from any thread
 * Memory:   nothing is allocated; text and payloads are copied before a macro is done
 * Signals:  everything but what says "not for handlers" may stand in a signal handler
 *
 * Nothing has to be linked: while no library of Kymo is in the process, or no recorder records it,
 * a marker costs one load and one branch. Its arguments are not evaluated then. With KYMO_DISABLE
 * defined it costs nothing at all, and still has to compile.
 *
 *     KYMO_CATEGORY(net, "Network", BLUE);
 *
 *     KYMO_SCOPE(net, "fetch");                     from here to the end of the block
 *     KYMO_MARKER_TEXT(net, "retry", url);
 *     KYMO_MARKER_FMT(net, "retry", "%s, try %d", url, n);
 *
 * A typed marker has fields, which viewers show, search and draw; doc/markers.md tells everything:
 *
 *     #define HTTP_REQUEST(F)                     \
 *         F(u16, status, "Status", INTEGER, 0)    \
 *         F(u64, bytes, "Size", BYTES, 0)         \
 *         F(str, url, "URL", URL, 0)
 *     KYMO_TYPE(http_request, "HttpRequest", HTTP_REQUEST, KYMO_ALL_LABELS(http_request, "", url));
 *
 *     KYMO_MARKER_T(net, "request", http_request, .status = 200, .bytes = n, .url = url);
 *
 * Names of categories, types and sites are literals. GNU C or C++ (gcc, clang), C11 and C++11; in
 * C++ kymo/marker.hpp has more. kymo/marker_types.h has types and categories for what is common.
 * This file is what one writes; what it is made of is in marker_link.h, marker_payload.h,
 * marker_args.h and marker_calls.h.
 */
#ifndef KYMO_MARKER_H
#define KYMO_MARKER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include "kymo/marker_abi.h"
#include "kymo/marker_calls.h"
#include "kymo/marker_link.h"
#include "kymo/marker_payload.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- categories ---- */

/* At file scope, in any number of files, also in a header: what has the same name and parent is one
 * category in a recording. COLOR: of KYMO_MARK_COLORS. */
#define KYMO_CATEGORY(var, label, color_name) \
    KYMO_CATEGORY_(var, label, KYMO_NO_PARENT_, KYMO_COLOR_##color_name, 0)
/* One that is off until it is requested by its name. */
#define KYMO_CATEGORY_QUIET(var, label, color_name) \
    KYMO_CATEGORY_(var, label, KYMO_NO_PARENT_, KYMO_COLOR_##color_name, KYMO_CATEGORY_IS_QUIET)
/* A part of a category of the same file; it is on and off with it unless it is named itself. */
#define KYMO_SUBCATEGORY(var, parent, label) \
    KYMO_CATEGORY_(var, label, &kymo_category_##parent, KYMO_COLOR_GREY, 0)

/* For what is in no category; and so that each object has one. */
KYMO_CATEGORY(other, "Other", GREY);

/* ---- the clock ---- */

/* What strict C11 hides. */
extern int kymo_clock_gettime_(int clock, struct timespec *ts) __asm__("clock_gettime");
extern long kymo_syscall_(long number, ...) __asm__("syscall");
#define KYMO_CLOCK_MONOTONIC_ 1

/* Now, on the clock of all markers: CLOCK_MONOTONIC in ns while there is no library, 0 with
 * KYMO_DISABLE. */
static inline uint64_t kymo_now(void)
{
#ifndef KYMO_DISABLE
    struct timespec ts;
    const struct kymo_mark_calls *calls = KYMO_MARK_CALLS_;
    if (calls)
        return calls->now();
    (void)kymo_clock_gettime_(KYMO_CLOCK_MONOTONIC_, &ts);
    return KYMO_CAST_(uint64_t, ts.tv_sec) * 1000000000u + KYMO_CAST_(uint64_t, ts.tv_nsec);
#else
    return 0;
#endif
}

/* From that clock to CLOCK_MONOTONIC in ns, and back. */
static inline uint64_t kymo_now_to_ns(uint64_t now)
{
    const struct kymo_mark_calls *calls = KYMO_MARK_CALLS_;
    return calls ? calls->to_ns(now) : now;
}

static inline uint64_t kymo_now_from_ns(uint64_t monotonic_ns)
{
    const struct kymo_mark_calls *calls = KYMO_MARK_CALLS_;
    return calls ? calls->from_ns(monotonic_ns) : monotonic_ns;
}

/* ---- options: time, thread, stack, track, owner, name ---- */

/* Options of one marker: KYMO_OPTIONS(.timing = KYMO_TIMING_SINCE, .start = t, .stack =
 * KYMO_STACK_HERE), see struct kymo_mark_options, in its order. A name without a name_len is a C
 * string. marker.hpp has kymo::options. */
static inline const struct kymo_mark_options *kymo_options_(struct kymo_mark_options *options)
{
    if (options->name && options->name_len == 0)
        options->name_len = KYMO_CAST_(uint32_t, __builtin_strlen(options->name));
    return options;
}
#ifdef __cplusplus
/* They stay until the end of the statement that they stand in. */
static inline const struct kymo_mark_options *kymo_options_at_(struct kymo_mark_options &&options)
{
    return kymo_options_(&options);
}
#define KYMO_OPTIONS(...) \
    kymo_options_at_(kymo_mark_options{.size = sizeof(kymo_mark_options), __VA_ARGS__})
#else
#define KYMO_OPTIONS(...) \
    kymo_options_(        \
        &(struct kymo_mark_options){.size = sizeof(struct kymo_mark_options), __VA_ARGS__})
#endif

/* The calling thread, for KYMO_OPTIONS(.thread = ...) of another thread's marker. */
static inline uint32_t kymo_thread_id(void)
{
    return KYMO_CAST_(uint32_t, kymo_syscall_(SYS_gettid));
}

/* The caller's stack, for KYMO_OPTIONS(.stack = ...) of any thread's marker, any number of times.
 */
static inline uint64_t kymo_stack(void)
{
    const struct kymo_mark_calls *calls = KYMO_MARK_CALLS_;
    return calls ? calls->stack() : KYMO_STACK_NONE;
}

/* A track beside the threads: the same name is the same track. Not for handlers. */
static inline uint64_t kymo_track(const char *name)
{
    const struct kymo_mark_calls *calls = KYMO_MARK_CALLS_;
    return calls && name ? calls->track(name, __builtin_strlen(name)) : 0;
}

/* ---- markers ---- */

/* An instant with a name: KYMO_MARKER(net, "accepted"). With options, which may make an interval of
 * it. */
#define KYMO_MARKER(category, label)                                                     \
    do {                                                                                 \
        if (KYMO_IS_ON(category)) {                                                      \
            KYMO_SITE_(kymo_site_, kymo_category_##category, KYMO_NO_TYPE_, label, NULL, \
                       KYMO_SITE_MARKER, 0);                                             \
            kymo_mark_(KYMO_SITE_AT_(kymo_site_), NULL);                                 \
        }                                                                                \
    } while (0)
#define KYMO_MARKER_OPT(category, label, options)                                        \
    do {                                                                                 \
        if (KYMO_IS_ON(category)) {                                                      \
            KYMO_SITE_(kymo_site_, kymo_category_##category, KYMO_NO_TYPE_, label, NULL, \
                       KYMO_SITE_MARKER, 0);                                             \
            KYMO_PARTLY_(kymo_mark_with_(KYMO_SITE_AT_(kymo_site_), NULL, options))      \
        }                                                                                \
    } while (0)

/* With a text, which is copied (up to 1 KiB, and cut where a character begins): a C string, or
 * KYMO_TEXT(data, len). */
#define KYMO_MARKER_TEXT(category, label, text)                                          \
    do {                                                                                 \
        if (KYMO_IS_ON(category)) {                                                      \
            KYMO_SITE_(kymo_site_, kymo_category_##category, KYMO_NO_TYPE_, label, NULL, \
                       KYMO_SITE_TEXT, 0);                                               \
            kymo_mark_(KYMO_SITE_AT_(kymo_site_), KYMO_TEXT_AT_(text));                  \
        }                                                                                \
    } while (0)
#define KYMO_MARKER_TEXT_OPT(category, label, options, text)                                       \
    do {                                                                                           \
        if (KYMO_IS_ON(category)) {                                                                \
            KYMO_SITE_(kymo_site_, kymo_category_##category, KYMO_NO_TYPE_, label, NULL,           \
                       KYMO_SITE_TEXT, 0);                                                         \
            KYMO_PARTLY_(kymo_mark_with_(KYMO_SITE_AT_(kymo_site_), KYMO_TEXT_AT_(text), options)) \
        }                                                                                          \
    } while (0)

/* A typed one: KYMO_MARKER_T(net, "request", T, .status = 200, .url = url), with initializers of
 * struct T. What is left out, which may be everything, is zero. OPT: options come before them. */
#define KYMO_MARKER_T(category, label, ...) \
    KYMO_TYPED_(kymo_category_##category, label, KYMO_FIRST_(__VA_ARGS__), KYMO_REST_(__VA_ARGS__))
#define KYMO_TYPED_(category, label, T, ...) KYMO_TYPED_OF_(category, label, T, __VA_ARGS__)
#define KYMO_TYPED_OF_(category, label, T, ...)                                                 \
    do {                                                                                        \
        if (kymo_mark_is_on_(&category)) {                                                      \
            KYMO_SITE_(kymo_site_, category, &kymo_type_##T, label, NULL, KYMO_SITE_MARKER, 0); \
            struct T kymo_clean_;                                                               \
            KYMO_STRICTLY_(                                                                     \
                kymo_mark_(KYMO_SITE_AT_(kymo_site_), KYMO_PAYLOAD_AT_(T, __VA_ARGS__)))        \
        }                                                                                       \
    } while (0)
#define KYMO_MARKER_T_OPT(category, label, T, ...)                                \
    KYMO_TYPED_OPT_(kymo_category_##category, label, T, KYMO_FIRST_(__VA_ARGS__), \
                    KYMO_REST_(__VA_ARGS__))
#define KYMO_TYPED_OPT_(category, label, T, options, ...)                                       \
    do {                                                                                        \
        if (kymo_mark_is_on_(&category)) {                                                      \
            KYMO_SITE_(kymo_site_, category, &kymo_type_##T, label, NULL, KYMO_SITE_MARKER, 0); \
            struct T kymo_clean_;                                                               \
            KYMO_STRICTLY_(kymo_mark_with_(KYMO_SITE_AT_(kymo_site_),                           \
                                           KYMO_PAYLOAD_AT_(T, __VA_ARGS__), options))          \
        }                                                                                       \
    } while (0)

/* Text as printf makes it, of a literal format and up to 12 arguments: they are recorded, and
 * formatted when the profile is written. */
#define KYMO_MARKER_FMT(category, label, ...) \
    KYMO_FMT_(kymo_category_##category, label, KYMO_NO_OPTIONS, __VA_ARGS__)
#define KYMO_MARKER_FMT_OPT(category, label, options, ...) \
    KYMO_FMT_(kymo_category_##category, label, options, __VA_ARGS__)
#define KYMO_FMT_(category, label, options, ...)                                                   \
    do {                                                                                           \
        if (kymo_mark_is_on_(&category)) {                                                         \
            KYMO_SITE_(kymo_site_, category, KYMO_NO_TYPE_, label, "" KYMO_FIRST_(__VA_ARGS__) "", \
                       KYMO_SITE_FORMAT, 0);                                                       \
            if (0)                                                                                 \
                kymo_printf_(__VA_ARGS__);                                                         \
            KYMO_PARTLY_(kymo_mark_cells_(                                                         \
                KYMO_SITE_AT_(kymo_site_),                                                         \
                KYMO_CELLS_AT_(KYMO_NUMBER_(__VA_ARGS__) - (KYMO_NUMBER_(__VA_ARGS__) > 1),        \
                               KYMO_EACH_AFTER_(KYMO_CELL, kymo_cell_u64_(0), __VA_ARGS__)),       \
                KYMO_NUMBER_(__VA_ARGS__) - 1, options))                                           \
        }                                                                                          \
    } while (0)

/* KYMO_MARKER_VALUES(category, label, a, b + c): the values of 1 to 13 expressions, with their
 * text. */
#define KYMO_MARKER_VALUES(category, label, ...) \
    KYMO_VALUES_(kymo_category_##category, label, KYMO_NO_OPTIONS, #__VA_ARGS__, __VA_ARGS__)
#define KYMO_MARKER_VALUES_OPT(category, label, options, ...) \
    KYMO_VALUES_(kymo_category_##category, label, options, #__VA_ARGS__, __VA_ARGS__)
#define KYMO_VALUES_(category, label, options, names, ...)                                      \
    do {                                                                                        \
        if (kymo_mark_is_on_(&category)) {                                                      \
            KYMO_SITE_(kymo_site_, category, KYMO_NO_TYPE_, label, names, KYMO_SITE_VALUES, 0); \
            KYMO_PARTLY_(kymo_mark_cells_(                                                      \
                KYMO_SITE_AT_(kymo_site_),                                                      \
                KYMO_CELLS_AT_(KYMO_NUMBER_(__VA_ARGS__), KYMO_EACH_(KYMO_CELL, __VA_ARGS__)),  \
                KYMO_NUMBER_(__VA_ARGS__), options))                                            \
        }                                                                                       \
    } while (0)

/* ---- scopes ---- */

/* From here to the end of the block, however it is left: one record, made at the end. No goto and
 * no case may lead from before it to behind it: that does not compile. A scope that is open when
 * the thread, the program or the recording ends is shown as unfinished. MIN: not recorded if it is
 * shorter than that, a constant in ns. OPT: options, of which the timing is the scope's own; they
 * are copied, what they point to has to stay. */
#define KYMO_SCOPE(category, label) \
    KYMO_SCOPE_PLAIN_(kymo_category_##category, label, 0, KYMO_NO_OPTIONS)
#define KYMO_SCOPE_MIN(category, label, min_ns) \
    KYMO_SCOPE_PLAIN_(kymo_category_##category, label, min_ns, KYMO_NO_OPTIONS)
#define KYMO_SCOPE_OPT(category, label, options) \
    KYMO_SCOPE_PLAIN_(kymo_category_##category, label, 0, options)
#define KYMO_SCOPE_MIN_OPT(category, label, min_ns, options) \
    KYMO_SCOPE_PLAIN_(kymo_category_##category, label, min_ns, options)
#define KYMO_SCOPE_PLAIN_(category, label, min_ns, options)                                 \
    KYMO_SCOPE_(KYMO_UNIQUE_(kymo_scope_), kymo_scope_end_, category, KYMO_NO_TYPE_, label, \
                KYMO_SITE_SCOPE, NULL, options, min_ns)

/* With a text, as KYMO_MARKER_TEXT; it is copied at the end of the scope, and has to stay as it is
 * until then. */
#define KYMO_SCOPE_TEXT(category, label, text)                                      \
    KYMO_SCOPE_TEXT_(KYMO_UNIQUE_(kymo_scope_), kymo_category_##category, label, 0, \
                     KYMO_NO_OPTIONS, text)
#define KYMO_SCOPE_TEXT_OPT(category, label, options, text) \
    KYMO_SCOPE_TEXT_(KYMO_UNIQUE_(kymo_scope_), kymo_category_##category, label, 0, options, text)
#define KYMO_SCOPE_TEXT_MIN_OPT(category, label, min_ns, options, text)                           \
    KYMO_SCOPE_TEXT_(KYMO_UNIQUE_(kymo_scope_), kymo_category_##category, label, min_ns, options, \
                     text)

/* With a payload, `struct T var`, which is all zero and may be set until the end: the marker has
 * what it is then, and texts that it points to have to stay until then. */
#define KYMO_SCOPE_T(category, label, T, var) \
    KYMO_SCOPE_T_(kymo_category_##category, label, T, var, 0, KYMO_NO_OPTIONS)
#define KYMO_SCOPE_T_MIN(category, label, T, var, min_ns) \
    KYMO_SCOPE_T_(kymo_category_##category, label, T, var, min_ns, KYMO_NO_OPTIONS)
#define KYMO_SCOPE_T_OPT(category, label, T, var, options) \
    KYMO_SCOPE_T_(kymo_category_##category, label, T, var, 0, options)
#define KYMO_SCOPE_T_MIN_OPT(category, label, T, var, min_ns, options) \
    KYMO_SCOPE_T_(kymo_category_##category, label, T, var, min_ns, options)
#define KYMO_SCOPE_T_(category, label, T, var, min_ns, options)                              \
    __extension__ struct T var KYMO_UNUSED_ = {};                                            \
    KYMO_SCOPE_(kymo_scope_of_##var, kymo_scope_end_of_##T, category, &kymo_type_##T, label, \
                KYMO_SITE_SCOPE, &var, options, min_ns)
/* The scope of that payload is not recorded. */
#define KYMO_SCOPE_CANCEL(var) kymo_scope_cancel_(kymo_scope_of_##var)

/* ---- intervals that begin and end anywhere ---- */

/* Begins an interval and gives its number, with which any thread may end it, once. 0 while the
 * category is off: ending that does nothing. */
#define KYMO_INTERVAL_BEGIN(category, label) \
    KYMO_INTERVAL_BEGIN_(kymo_category_##category, label, KYMO_NO_OPTIONS)
#define KYMO_INTERVAL_BEGIN_OPT(category, label, options) \
    KYMO_INTERVAL_BEGIN_(kymo_category_##category, label, options)
#define KYMO_INTERVAL_BEGIN_(category, label, options)                                         \
    (__extension__({                                                                           \
        uint64_t kymo_id_ = 0;                                                                 \
        if (kymo_mark_is_on_(&category)) {                                                     \
            KYMO_SITE_(kymo_site_, category, KYMO_NO_TYPE_, label, NULL, KYMO_SITE_MARKER, 0); \
            KYMO_PARTLY_(kymo_id_ =                                                            \
                             kymo_interval_begin_(KYMO_SITE_AT_(kymo_site_), NULL, options))   \
        }                                                                                      \
        kymo_id_;                                                                              \
    }))
/* T: with a payload. What its end says in fields of the same type counts. */
#define KYMO_INTERVAL_BEGIN_T(category, label, ...)                                   \
    KYMO_INTERVAL_BEGIN_T_(kymo_category_##category, label, KYMO_FIRST_(__VA_ARGS__), \
                           KYMO_NO_OPTIONS, KYMO_REST_(__VA_ARGS__))
#define KYMO_INTERVAL_BEGIN_T_OPT(category, label, T, ...)                               \
    KYMO_INTERVAL_BEGIN_T_(kymo_category_##category, label, T, KYMO_FIRST_(__VA_ARGS__), \
                           KYMO_REST_(__VA_ARGS__))
#define KYMO_INTERVAL_BEGIN_T_(category, label, T, options, ...) \
    KYMO_INTERVAL_BEGIN_OF_(category, label, T, options, __VA_ARGS__)
#define KYMO_INTERVAL_BEGIN_OF_(category, label, T, options, ...)                               \
    (__extension__({                                                                            \
        uint64_t kymo_id_ = 0;                                                                  \
        if (kymo_mark_is_on_(&category)) {                                                      \
            KYMO_SITE_(kymo_site_, category, &kymo_type_##T, label, NULL, KYMO_SITE_MARKER, 0); \
            struct T kymo_clean_;                                                               \
            KYMO_STRICTLY_(kymo_id_ =                                                           \
                               kymo_interval_begin_(KYMO_SITE_AT_(kymo_site_),                  \
                                                    KYMO_PAYLOAD_AT_(T, __VA_ARGS__), options)) \
        }                                                                                       \
        kymo_id_;                                                                               \
    }))
/* Ends one that began at a place with the same category and name; T: with its payload. */
#define KYMO_INTERVAL_END(category, label, id) \
    KYMO_INTERVAL_END_(kymo_category_##category, label, id, KYMO_NO_OPTIONS)
#define KYMO_INTERVAL_END_OPT(category, label, id, options) \
    KYMO_INTERVAL_END_(kymo_category_##category, label, id, options)
#define KYMO_INTERVAL_END_(category, label, id, options)                                       \
    do {                                                                                       \
        if (kymo_mark_is_on_(&category)) {                                                     \
            KYMO_SITE_(kymo_site_, category, KYMO_NO_TYPE_, label, NULL, KYMO_SITE_MARKER, 0); \
            KYMO_PARTLY_(kymo_interval_end_(KYMO_SITE_AT_(kymo_site_), NULL, id, options))     \
        }                                                                                      \
    } while (0)
#define KYMO_INTERVAL_END_T(category, label, id, ...)                                   \
    KYMO_INTERVAL_END_T_(kymo_category_##category, label, id, KYMO_FIRST_(__VA_ARGS__), \
                         KYMO_NO_OPTIONS, KYMO_REST_(__VA_ARGS__))
#define KYMO_INTERVAL_END_T_OPT(category, label, id, T, ...)                               \
    KYMO_INTERVAL_END_T_(kymo_category_##category, label, id, T, KYMO_FIRST_(__VA_ARGS__), \
                         KYMO_REST_(__VA_ARGS__))
#define KYMO_INTERVAL_END_T_(category, label, id, T, options, ...) \
    KYMO_INTERVAL_END_OF_(category, label, id, T, options, __VA_ARGS__)
#define KYMO_INTERVAL_END_OF_(category, label, id, T, options, ...)                             \
    do {                                                                                        \
        if (kymo_mark_is_on_(&category)) {                                                      \
            KYMO_SITE_(kymo_site_, category, &kymo_type_##T, label, NULL, KYMO_SITE_MARKER, 0); \
            struct T kymo_clean_;                                                               \
            KYMO_STRICTLY_(kymo_interval_end_(KYMO_SITE_AT_(kymo_site_),                        \
                                              KYMO_PAYLOAD_AT_(T, __VA_ARGS__), id, options))   \
        }                                                                                       \
    } while (0)

/* ---- flows ---- */

/* Values of fields of kind flow: markers with the same one are connected, in whatever thread. Of a
 * pointer or a number of this process (other processes' are others), and of a number that several
 * processes share. Never 0. */
static inline uint64_t kymo_flow_global(uint64_t number)
{
    uint64_t mixed = (number ^ number >> 32) * 0xd6e8feb86659fd93u;
    mixed = (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93u;
    mixed ^= mixed >> 32;
    return mixed ? mixed : 1;
}

static inline uint64_t kymo_flow(uint64_t number)
{
#ifndef KYMO_DISABLE
    number ^= kymo_mark_link_.flow_seed;
#endif
    return kymo_flow_global(number);
}

static inline uint64_t kymo_flow_pointer(const void *pointer)
{
    return kymo_flow(KYMO_ADDRESS_(pointer));
}

/* ---- counters ---- */

/* At file scope. kind: TOTAL, DELTA or GAUGE (enum kymo_mark_counter_kind); unit: "bytes",
 * "percent", another, or NULL. It is looked at each period; EACH_CHANGE: recorded at each change.
 * F64: of doubles; the others count integers, and a double given to them does not compile. OPT:
 * flags of enum kymo_mark_counter_flags, and a description or NULL. */
#define KYMO_COUNTER(var, category, label, kind, unit, color_name)                 \
    KYMO_COUNTER_(var, kymo_category_##category, label, KYMO_COUNTER_##kind, unit, \
                  KYMO_COLOR_##color_name, 0, NULL)
#define KYMO_COUNTER_EACH_CHANGE(var, category, label, kind, unit, color_name)     \
    KYMO_COUNTER_(var, kymo_category_##category, label, KYMO_COUNTER_##kind, unit, \
                  KYMO_COLOR_##color_name, KYMO_COUNTER_EACH, NULL)
#define KYMO_COUNTER_F64(var, category, label, kind, unit, color_name)             \
    KYMO_COUNTER_(var, kymo_category_##category, label, KYMO_COUNTER_##kind, unit, \
                  KYMO_COLOR_##color_name, KYMO_COUNTER_IS_F64, NULL)
#define KYMO_COUNTER_OPT(var, category, label, kind, unit, color_name, flags, description) \
    KYMO_COUNTER_(var, kymo_category_##category, label, KYMO_COUNTER_##kind, unit,         \
                  KYMO_COLOR_##color_name, flags, description)

/* Adds to it, or sets a gauge; N: of so many operations. What happens while its category is off is
 * not counted. */
#define KYMO_COUNT(var, value) KYMO_COUNT_N(var, value, 1)
#define KYMO_COUNT_N(var, value, operations)                                       \
    do {                                                                           \
        KYMO_ASSERT_COUNTED_(var, value);                                          \
        if (KYMO_COUNTER_IS_ON_(var))                                              \
            KYMO_MARK_LINK_->count(&kymo_counter_##var, KYMO_COUNTED_(var, value), \
                                   KYMO_CAST_(uint64_t, +(operations)));           \
    } while (0)

/* ---- labels ---- */

/* A key and a value that every sample, allocation and marker of this thread has from here to the
 * end of the block: KYMO_LABEL_SCOPE("request_id", id). value: any number or text; text is copied.
 */
#define KYMO_LABEL_SCOPE(key, value) KYMO_LABEL_SCOPE_(KYMO_UNIQUE_(kymo_label_), key, value)
#define KYMO_LABEL_SCOPE_(var, key, value)                                                         \
    uint32_t var KYMO_CLEANUP_(kymo_label_end_) = 0;                                               \
    KYMO_NO_JUMP_PAST_(var);                                                                       \
    if (KYMO_LISTENS_()) {                                                                         \
        var =                                                                                      \
            kymo_label_push_("" key "", KYMO_CELLS_AT_(1, kymo_cell_of_block_(KYMO_CELL(value)))); \
    }
/* From here on, until it is set to something else. CLEAR: no more. */
#define KYMO_LABEL_SET(key, value)                                           \
    do {                                                                     \
        if (KYMO_LISTENS_()) {                                               \
            kymo_label_set_("" key "", KYMO_CELLS_AT_(1, KYMO_CELL(value))); \
        }                                                                    \
    } while (0)
#define KYMO_LABEL_CLEAR(key)                 \
    do {                                      \
        if (KYMO_LISTENS_())                  \
            kymo_label_set_("" key "", NULL); \
    } while (0)

/* ---- on and off, and what became of them ---- */

/* What these return while there is no library: KYMO_E_CLOSED of kymo/error.h. */
#define KYMO_NO_LIBRARY (-18)

/* Switches categories of this process: words with colons between, "all:-net:disk/read"; later
 * words win. Returns a kymo_err: KYMO_E_INVALID for a text that is no such list. Not for handlers.
 */
static inline int kymo_markers_select(const char *list)
{
    const struct kymo_mark_calls *calls = KYMO_MARK_CALLS_;
    return calls ? calls->select(list) : KYMO_NO_LIBRARY;
}

/* Has fn called when the recording of this process begins (1) and stops (0), and at once if it is
 * recorded now. Each executable and shared object has one fn: a second replaces it, NULL removes
 * it; a library that is unloaded is told 0 before. What fn may do: see kymo_recording_fn. Returns
 * KYMO_NO_LIBRARY, and calls nothing, where there is no library. Not for handlers. */
static inline int kymo_on_recording(kymo_recording_fn *fn, void *context)
{
#ifndef KYMO_DISABLE
    const struct kymo_mark_calls *calls = KYMO_MARK_CALLS_;
    if (calls) {
        calls->on_recording(KYMO_MARK_LINK_, fn, context);
        return 0;
    }
#endif
    (void)fn;
    (void)context;
    return KYMO_NO_LIBRARY;
}

/* What became of this process's markers so far. Returns a kymo_err. Not for handlers. */
static inline int kymo_markers_stats(struct kymo_mark_stats *stats)
{
    const struct kymo_mark_calls *calls = KYMO_MARK_CALLS_;
    stats->size = sizeof *stats;
    return calls ? calls->stats(stats) : KYMO_NO_LIBRARY;
}

#ifdef __cplusplus
}
#endif

#endif
