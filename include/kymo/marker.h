/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marker.h - markers, counters and labels that a program's authors put on the timeline.
 *
 * Flow:     your code -> [marker.h] -> libkymo-preload.so (under `kymo record`) or libkymo.so
 * Threads:  every macro and function from any thread
 * Memory:   nothing is allocated; text and payloads are copied before a macro is done
 * Signals:  everything but what says "not for handlers" may stand in a signal handler
 *
 * Nothing has to be linked: while no library of Kymo is in the process, or nobody records, a marker
 * costs one load and one branch, and its arguments are not evaluated. With KYMO_DISABLE defined it
 * costs nothing at all, and still has to compile.
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
 *     KYMO_TYPE(http_request, "HttpRequest", HTTP_REQUEST, KYMO_CHART_LABEL(http_request, "", url,
 * ""));
 *
 *     KYMO_MARKER_T(net, "request", http_request, .status = 200, .bytes = n, .url = url);
 *
 * Names of categories, types and sites are literals. GNU C or C++ (gcc, clang), C11 and C++11.
 */
#ifndef KYMO_MARKER_H
#define KYMO_MARKER_H

#if !defined(__GNUC__)
#error "kymo/marker.h needs gcc or clang; define KYMO_DISABLE and leave it out elsewhere"
#endif

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "kymo/marker_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KYMO_PASTE_2_(a, b) a##b
#define KYMO_PASTE_(a, b) KYMO_PASTE_2_(a, b)
#define KYMO_UNIQUE_(name) KYMO_PASTE_(name, __COUNTER__)
#ifdef __cplusplus
#define KYMO_ZERO_ \
    {              \
    }
#else
#define KYMO_ZERO_ \
    {              \
        0          \
    }
#endif

/* ---- the link to the library ---- */

#ifndef KYMO_DISABLE

/* One for each executable and shared object, whatever number of its files include this. It refers
 * to nothing outside: an undefined symbol, weak or not, would be bound when the program is linked.
 */
__attribute__((weak, visibility("hidden"))) struct kymo_mark_link kymo_mark_link_ = {
    sizeof(struct kymo_mark_link),
    KYMO_MARK_ABI,
    0,
    0,
    0,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL};

/* What libc has of them: a static program has none, and no libkymo. */
extern void *kymo_mark_dlsym_(void *handle, const char *name) __asm__("dlsym")
    __attribute__((weak));
extern char *kymo_mark_dlerror_(void) __asm__("dlerror") __attribute__((weak));

extern struct kymo_mark_category *const kymo_mark_first_category_[] __asm__(
    "__start_kymo_categories") __attribute__((visibility("hidden")));
extern struct kymo_mark_category *const kymo_mark_end_category_[] __asm__("__stop_kymo_categories")
    __attribute__((visibility("hidden")));

/* When the object is loaded, since the first marker may be in a signal handler, where dlsym is not
 * allowed. Each file has it called once; the first call does the work. */
__attribute__((weak, visibility("hidden"), constructor(101))) void kymo_mark_open_(void);
__attribute__((weak, visibility("hidden"), constructor(101))) void kymo_mark_open_(void)
{
    void *found;
    kymo_mark_attach_fn *attach;
    if (kymo_mark_link_.is_open || !kymo_mark_dlsym_)
        return;
    kymo_mark_link_.is_open = 1;
    kymo_mark_link_.categories = kymo_mark_first_category_;
    kymo_mark_link_.categories_end = kymo_mark_end_category_;
    found = kymo_mark_dlsym_(NULL, KYMO_MARK_ATTACH);
    if (!found && kymo_mark_dlerror_)
        (void)kymo_mark_dlerror_(); /* so that the program does not find it */
    __builtin_memcpy(&attach, &found, sizeof attach);
    if (found)
        (void)attach(&kymo_mark_link_);
}

__attribute__((weak, visibility("hidden"), destructor(101))) void kymo_mark_close_(void);
__attribute__((weak, visibility("hidden"), destructor(101))) void kymo_mark_close_(void)
{
    const struct kymo_mark_calls *calls = kymo_mark_link_.calls;
    if (calls)
        calls->detach(&kymo_mark_link_);
}

static inline __attribute__((always_inline)) int kymo_mark_is_on_(
    const struct kymo_mark_category *category)
{
    return __builtin_expect(__atomic_load_n(&category->on, __ATOMIC_RELAXED) != 0, 0) != 0;
}

#define KYMO_MARK_CALL_(what) kymo_mark_link_.what
#define KYMO_MARK_CALLS_ (kymo_mark_link_.calls)
#define KYMO_MARK_SEED_ (kymo_mark_link_.flow_seed)
#define KYMO_MARK_SITE_(var, category, type, label, format, kind, min_ns) \
    static struct kymo_mark_site var = {sizeof(struct kymo_mark_site),    \
                                        0,                                \
                                        &kymo_category_##category,        \
                                        type,                             \
                                        "" label "",                      \
                                        format,                           \
                                        __FILE__,                         \
                                        __func__,                         \
                                        __LINE__,                         \
                                        kind,                             \
                                        min_ns,                           \
                                        0,                                \
                                        0,                                \
                                        0}

#if defined(__has_attribute)
#if __has_attribute(retain)
#define KYMO_RETAIN_ , retain
#endif
#endif
#ifndef KYMO_RETAIN_
#define KYMO_RETAIN_
#endif

#define KYMO_CATEGORY_(var, label, parent, color, flags)                                \
    static struct kymo_mark_category kymo_category_##var __attribute__((unused)) = {    \
        sizeof(struct kymo_mark_category), 0, "" label "", parent, color, flags, 0, 0}; \
    static struct kymo_mark_category *const kymo_category_at_##var                      \
        __attribute__((section("kymo_categories"), used KYMO_RETAIN_)) = &kymo_category_##var

#define KYMO_COUNTER_(var, category, label, kind, unit, color, flags) \
    static struct kymo_mark_counter kymo_counter_##var                \
        __attribute__((unused)) = {sizeof(struct kymo_mark_counter),  \
                                   0,                                 \
                                   &kymo_category_##category,         \
                                   "" label "",                       \
                                   unit,                              \
                                   NULL,                              \
                                   kind,                              \
                                   flags,                             \
                                   color,                             \
                                   0}

#define KYMO_SCOPE_CLEANUP_ __attribute__((cleanup(kymo_mark_scope_end_), unused))
#define KYMO_LABEL_CLEANUP_ __attribute__((cleanup(kymo_mark_label_end_), unused))

static inline void kymo_mark_scope_end_(struct kymo_mark_scope *scope)
{
    if (__builtin_expect(scope->site != NULL, 0))
        kymo_mark_link_.scope_end(scope);
}

#else /* KYMO_DISABLE: the same macros on nothing */

#define kymo_mark_is_on_(category) (sizeof(category) == 0)
#define KYMO_MARK_CALL_(what) (((struct kymo_mark_link *)NULL)->what)
#define KYMO_MARK_CALLS_ ((const struct kymo_mark_calls *)NULL)
#define KYMO_MARK_SEED_ 0u
#define KYMO_MARK_SITE_(var, category, type, label, format, kind, min_ns) \
    struct kymo_mark_site var;                                            \
    (void)sizeof("" label "");                                            \
    (void)(type);                                                         \
    (void)(min_ns)
#define KYMO_CATEGORY_(var, label, parent, color, flags) \
    extern struct kymo_mark_category kymo_category_##var
#define KYMO_COUNTER_(var, category, label, kind, unit, color, flags) \
    extern struct kymo_mark_counter kymo_counter_##var
#define KYMO_SCOPE_CLEANUP_ __attribute__((unused))
#define KYMO_LABEL_CLEANUP_ __attribute__((unused))

#endif

/* ---- categories ---- */

/* At file scope, in any number of files, also in a header: what has the same name and parent is one
 * category in a recording. COLOR: of KYMO_MARK_COLORS. */
#define KYMO_CATEGORY(var, label, color_name) \
    KYMO_CATEGORY_(var, label, (struct kymo_mark_category *)NULL, KYMO_COLOR_##color_name, 0)
/* One that is off until somebody asks for it by its name. */
#define KYMO_CATEGORY_QUIET(var, label, color_name)                                        \
    KYMO_CATEGORY_(var, label, (struct kymo_mark_category *)NULL, KYMO_COLOR_##color_name, \
                   KYMO_CATEGORY_IS_QUIET)
/* A part of a category of the same file; it is on and off with it unless it is named itself. */
#define KYMO_SUBCATEGORY(var, parent, label) \
    KYMO_CATEGORY_(var, label, &kymo_category_##parent, 0, 0)

/* For what is in no category; and so that each object has one. */
KYMO_CATEGORY(other, "Other", GREY);

/* Whether markers of the category are recorded, for work that is only done for them. */
#define KYMO_IS_ON(category) (kymo_mark_is_on_(&kymo_category_##category))

/* ---- types ---- */

/* KYMO_TYPE(T, "Name", FIELDS, ...): at file scope; declares struct T, whose members are the
 * fields, and the type. FIELDS is a macro of one argument that it uses on each field:
 *
 *     F(kind, key, label, format, flags)
 *
 * kind: the first word of a row of KYMO_MARK_KINDS; key: an identifier; label: a literal, or NULL
 * for the key; format: of KYMO_MARK_FORMATS; flags: enum kymo_mark_field_flags. What follows FIELDS
 * are members of struct kymo_mark_type in their order (.show, .chart, .tooltip, .table,
 * .description, .rows, .graphs, .color_key, .is_stack_based, .max_per_second). C++ before C++20
 * takes that for an extension. */
#define KYMO_TYPE(T, label, FIELDS, ...)                                         \
    struct T {                                                                   \
        FIELDS(KYMO_MEMBER_)                                                     \
    };                                                                           \
    static const struct kymo_mark_field kymo_fields_##T[]                        \
        __attribute__((unused)) = {FIELDS(KYMO_FIELD_)};                         \
    static const struct kymo_mark_type kymo_type_##T __attribute__((unused)) = { \
        .size = sizeof(struct kymo_mark_type),                                   \
        .line = __LINE__,                                                        \
        .file = __FILE__,                                                        \
        .name = "" label "",                                                     \
        .fields = kymo_fields_##T,                                               \
        .field_count = sizeof kymo_fields_##T / sizeof *kymo_fields_##T,         \
        .field_bytes = sizeof *kymo_fields_##T,                                  \
        .payload_bytes = sizeof(struct T),                                       \
        __VA_ARGS__}

/* Pasted without being expanded: stdbool.h has a macro bool. */
#define KYMO_MEMBER_(kind, key, label, format, flags) KYMO_C_##kind key;
#define KYMO_FIELD_(kind, key, label, format, flags) \
    {#key, label, (uint8_t)KYMO_K_##kind, (uint8_t)KYMO_FORMAT_##format, flags, 0},

#define X(name, NAME, type, size, alignment) \
    typedef type KYMO_C_##name;              \
    enum { KYMO_K_##name = KYMO_KIND_##NAME };
KYMO_MARK_KINDS(X)
#undef X

/* Texts of a type that show fields, for .chart, .tooltip and .table: KYMO_SHOWN_AS(T, "text", key,
 * "text", key, "text") is "text{marker.data.key}text...". A key that T does not have does not
 * compile.
 */
#define KYMO_SHOWN_AS(T, ...) KYMO_PASTE_(KYMO_SHOWN_, KYMO_COUNT_(__VA_ARGS__))(T, __VA_ARGS__)
#define KYMO_HAS_(T, key) (sizeof(((struct T *)0)->key) != 0)
#define KYMO_SHOWN_1(T, t0) "" t0 ""
#define KYMO_SHOWN_2(T, t0, k0) ((KYMO_HAS_(T, k0)) ? "" t0 "{marker.data." #k0 "}" : "")
#define KYMO_SHOWN_3(T, t0, k0, t1) ((KYMO_HAS_(T, k0)) ? "" t0 "{marker.data." #k0 "}" t1 : "")
#define KYMO_SHOWN_4(T, t0, k0, t1, k1)                                                            \
    ((KYMO_HAS_(T, k0) && KYMO_HAS_(T, k1)) ? "" t0 "{marker.data." #k0 "}" t1 "{marker.data." #k1 \
                                              "}"                                                  \
                                            : "")
#define KYMO_SHOWN_5(T, t0, k0, t1, k1, t2)                                                        \
    ((KYMO_HAS_(T, k0) && KYMO_HAS_(T, k1)) ? "" t0 "{marker.data." #k0 "}" t1 "{marker.data." #k1 \
                                              "}" t2                                               \
                                            : "")
#define KYMO_SHOWN_6(T, t0, k0, t1, k1, t2, k2)                                                \
    ((KYMO_HAS_(T, k0) && KYMO_HAS_(T, k1) && KYMO_HAS_(T, k2))                                \
         ? "" t0 "{marker.data." #k0 "}" t1 "{marker.data." #k1 "}" t2 "{marker.data." #k2 "}" \
         : "")
#define KYMO_SHOWN_7(T, t0, k0, t1, k1, t2, k2, t3)                                               \
    ((KYMO_HAS_(T, k0) && KYMO_HAS_(T, k1) && KYMO_HAS_(T, k2))                                   \
         ? "" t0 "{marker.data." #k0 "}" t1 "{marker.data." #k1 "}" t2 "{marker.data." #k2 "}" t3 \
         : "")
#define KYMO_SHOWN_8(T, t0, k0, t1, k1, t2, k2, t3, k3)                                           \
    ((KYMO_HAS_(T, k0) && KYMO_HAS_(T, k1) && KYMO_HAS_(T, k2) && KYMO_HAS_(T, k3))               \
         ? "" t0 "{marker.data." #k0 "}" t1 "{marker.data." #k1 "}" t2 "{marker.data." #k2 "}" t3 \
           "{marker.data." #k3 "}"                                                                \
         : "")
#define KYMO_SHOWN_9(T, t0, k0, t1, k1, t2, k2, t3, k3, t4)                                       \
    ((KYMO_HAS_(T, k0) && KYMO_HAS_(T, k1) && KYMO_HAS_(T, k2) && KYMO_HAS_(T, k3))               \
         ? "" t0 "{marker.data." #k0 "}" t1 "{marker.data." #k1 "}" t2 "{marker.data." #k2 "}" t3 \
           "{marker.data." #k3 "}" t4                                                             \
         : "")
#define KYMO_SHOWN_10(T, t0, k0, t1, k1, t2, k2, t3, k3, t4, k4)                                  \
    ((KYMO_HAS_(T, k0) && KYMO_HAS_(T, k1) && KYMO_HAS_(T, k2) && KYMO_HAS_(T, k3) &&             \
      KYMO_HAS_(T, k4))                                                                           \
         ? "" t0 "{marker.data." #k0 "}" t1 "{marker.data." #k1 "}" t2 "{marker.data." #k2 "}" t3 \
           "{marker.data." #k3 "}" t4 "{marker.data." #k4 "}"                                     \
         : "")
#define KYMO_SHOWN_11(T, t0, k0, t1, k1, t2, k2, t3, k3, t4, k4, t5)                              \
    ((KYMO_HAS_(T, k0) && KYMO_HAS_(T, k1) && KYMO_HAS_(T, k2) && KYMO_HAS_(T, k3) &&             \
      KYMO_HAS_(T, k4))                                                                           \
         ? "" t0 "{marker.data." #k0 "}" t1 "{marker.data." #k1 "}" t2 "{marker.data." #k2 "}" t3 \
           "{marker.data." #k3 "}" t4 "{marker.data." #k4 "}" t5                                  \
         : "")
#define KYMO_SHOWN_12(T, t0, k0, t1, k1, t2, k2, t3, k3, t4, k4, t5, k5)                          \
    ((KYMO_HAS_(T, k0) && KYMO_HAS_(T, k1) && KYMO_HAS_(T, k2) && KYMO_HAS_(T, k3) &&             \
      KYMO_HAS_(T, k4) && KYMO_HAS_(T, k5))                                                       \
         ? "" t0 "{marker.data." #k0 "}" t1 "{marker.data." #k1 "}" t2 "{marker.data." #k2 "}" t3 \
           "{marker.data." #k3 "}" t4 "{marker.data." #k4 "}" t5 "{marker.data." #k5 "}"          \
         : "")
#define KYMO_SHOWN_13(T, t0, k0, t1, k1, t2, k2, t3, k3, t4, k4, t5, k5, t6)                      \
    ((KYMO_HAS_(T, k0) && KYMO_HAS_(T, k1) && KYMO_HAS_(T, k2) && KYMO_HAS_(T, k3) &&             \
      KYMO_HAS_(T, k4) && KYMO_HAS_(T, k5))                                                       \
         ? "" t0 "{marker.data." #k0 "}" t1 "{marker.data." #k1 "}" t2 "{marker.data." #k2 "}" t3 \
           "{marker.data." #k3 "}" t4 "{marker.data." #k4 "}" t5 "{marker.data." #k5 "}" t6       \
         : "")

/* One text for all three of them. */
#define KYMO_ALL_LABELS(T, ...)                                                       \
    .chart = KYMO_SHOWN_AS(T, __VA_ARGS__), .tooltip = KYMO_SHOWN_AS(T, __VA_ARGS__), \
    .table = KYMO_SHOWN_AS(T, __VA_ARGS__)

/* How many arguments, from 1 to 13; and a macro on each of up to 12. */
#define KYMO_COUNT_(...) KYMO_COUNT_14_(__VA_ARGS__, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define KYMO_COUNT_14_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, ...) n
#define KYMO_EACH_(M, ...) KYMO_PASTE_(KYMO_EACH_, KYMO_COUNT_(__VA_ARGS__))(M, __VA_ARGS__)
#define KYMO_EACH_1(M, a) M(a)
#define KYMO_EACH_2(M, a, ...) M(a), KYMO_EACH_1(M, __VA_ARGS__)
#define KYMO_EACH_3(M, a, ...) M(a), KYMO_EACH_2(M, __VA_ARGS__)
#define KYMO_EACH_4(M, a, ...) M(a), KYMO_EACH_3(M, __VA_ARGS__)
#define KYMO_EACH_5(M, a, ...) M(a), KYMO_EACH_4(M, __VA_ARGS__)
#define KYMO_EACH_6(M, a, ...) M(a), KYMO_EACH_5(M, __VA_ARGS__)
#define KYMO_EACH_7(M, a, ...) M(a), KYMO_EACH_6(M, __VA_ARGS__)
#define KYMO_EACH_8(M, a, ...) M(a), KYMO_EACH_7(M, __VA_ARGS__)
#define KYMO_EACH_9(M, a, ...) M(a), KYMO_EACH_8(M, __VA_ARGS__)
#define KYMO_EACH_10(M, a, ...) M(a), KYMO_EACH_9(M, __VA_ARGS__)
#define KYMO_EACH_11(M, a, ...) M(a), KYMO_EACH_10(M, __VA_ARGS__)
#define KYMO_EACH_12(M, a, ...) M(a), KYMO_EACH_11(M, __VA_ARGS__)

/* ---- values ---- */

/* A literal for a field of kind literal: it is not copied in each marker. */
#define KYMO_LITERAL(text) KYMO_LITERAL_("" text "")
/* Text with a length, and a number that is there, for fields of kinds text and opt_*. */
#ifdef __cplusplus
#define KYMO_LITERAL_(text_) (kymo_mark_literal{text_})
#define KYMO_TEXT(data_, len_) (kymo_mark_text{data_, len_})
#define KYMO_UTF16(data_, len_) (kymo_mark_utf16{data_, len_})
#define KYMO_SOME(value_) \
    {                     \
        value_, 1         \
    }
#else
#define KYMO_LITERAL_(text_) ((struct kymo_mark_literal){text_})
#define KYMO_TEXT(data_, len_) ((struct kymo_mark_text){data_, len_})
#define KYMO_UTF16(data_, len_) ((struct kymo_mark_utf16){data_, len_})
#define KYMO_SOME(value_) \
    {                     \
        value_, 1         \
    }
#endif

static inline struct kymo_mark_text kymo_mark_text_of_(const char *text)
{
    struct kymo_mark_text found = KYMO_ZERO_;
    found.data = text;
    found.len = text ? __builtin_strlen(text) : 0;
    return found;
}

static inline struct kymo_mark_cell kymo_mark_cell_i64_(int64_t value)
{
    struct kymo_mark_cell cell = KYMO_ZERO_;
    cell.kind = KYMO_KIND_I64;
    cell.as.i64 = value;
    return cell;
}

static inline struct kymo_mark_cell kymo_mark_cell_u64_(uint64_t value)
{
    struct kymo_mark_cell cell = KYMO_ZERO_;
    cell.kind = KYMO_KIND_U64;
    cell.as.u64 = value;
    return cell;
}

static inline struct kymo_mark_cell kymo_mark_cell_f64_(double value)
{
    struct kymo_mark_cell cell = KYMO_ZERO_;
    cell.kind = KYMO_KIND_F64;
    cell.as.f64 = value;
    return cell;
}

static inline struct kymo_mark_cell kymo_mark_cell_str_(const char *text)
{
    struct kymo_mark_cell cell = KYMO_ZERO_;
    cell.kind = KYMO_KIND_STR;
    cell.as.ptr = text;
    return cell;
}

static inline struct kymo_mark_cell kymo_mark_cell_ptr_(const void *pointer)
{
    struct kymo_mark_cell cell = KYMO_ZERO_;
    cell.kind = KYMO_KIND_PTR;
    cell.as.ptr = pointer;
    return cell;
}

/* A value with its kind, of any number, text or pointer: for KYMO_MARKER_FMT and labels, and for
 * elements of lists and tables. Text has to stay until the marker is made. */
#ifdef __cplusplus
} /* overloads */
#define KYMO_CELL_OF_(type, as)                                 \
    static inline struct kymo_mark_cell KYMO_CELL(type value) { \
        return kymo_mark_cell_##as##_(value);                   \
    }
KYMO_CELL_OF_(bool, u64)
KYMO_CELL_OF_(char, i64)
KYMO_CELL_OF_(signed char, i64)
KYMO_CELL_OF_(short, i64)
KYMO_CELL_OF_(int, i64)
KYMO_CELL_OF_(long, i64)
KYMO_CELL_OF_(long long, i64)
KYMO_CELL_OF_(unsigned char, u64)
KYMO_CELL_OF_(unsigned short, u64)
KYMO_CELL_OF_(unsigned, u64)
KYMO_CELL_OF_(unsigned long, u64)
KYMO_CELL_OF_(unsigned long long, u64)
KYMO_CELL_OF_(double, f64)
KYMO_CELL_OF_(const char *, str)
KYMO_CELL_OF_(const void *, ptr)
#undef KYMO_CELL_OF_
extern "C" {
#else
#define KYMO_CELL(value) \
    _Generic((value),                           \
        _Bool: kymo_mark_cell_u64_,             \
        char: kymo_mark_cell_i64_,              \
        signed char: kymo_mark_cell_i64_,       \
        short: kymo_mark_cell_i64_,             \
        int: kymo_mark_cell_i64_,               \
        long: kymo_mark_cell_i64_,              \
        long long: kymo_mark_cell_i64_,         \
        unsigned char: kymo_mark_cell_u64_,     \
        unsigned short: kymo_mark_cell_u64_,    \
        unsigned: kymo_mark_cell_u64_,          \
        unsigned long: kymo_mark_cell_u64_,     \
        unsigned long long: kymo_mark_cell_u64_, \
        float: kymo_mark_cell_f64_,             \
        double: kymo_mark_cell_f64_,            \
        char *: kymo_mark_cell_str_,            \
        const char *: kymo_mark_cell_str_,      \
        default: kymo_mark_cell_ptr_)(value)
#endif

/* ---- the clock ---- */

/* clock_gettime and CLOCK_MONOTONIC, which strict C11 hides. */
extern int kymo_mark_clock_gettime_(int clock, struct timespec *ts) __asm__("clock_gettime");
#define KYMO_MARK_MONOTONIC_ 1

/* Now, on the clock of all markers; CLOCK_MONOTONIC in ns while there is no library. */
static inline uint64_t kymo_now(void)
{
    struct timespec ts;
    const struct kymo_mark_calls *calls = KYMO_MARK_CALLS_;
    if (calls)
        return calls->now();
    (void)kymo_mark_clock_gettime_(KYMO_MARK_MONOTONIC_, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
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

/* ---- markers ---- */

/* Options of one marker: KYMO_OPTIONS(.stack = KYMO_STACK_HERE, .timing = KYMO_TIMING_SINCE,
 * .start = t). See struct kymo_mark_options. In C++ kymo/marker.hpp has a builder. */
#ifdef __cplusplus
static inline const struct kymo_mark_options *kymo_mark_options_at_(
    const struct kymo_mark_options &options)
{
    return &options; /* which stays until the end of the statement that it stands in */
}
#define KYMO_OPTIONS(...) \
    kymo_mark_options_at_(kymo_mark_options{.size = sizeof(kymo_mark_options), __VA_ARGS__})
#else
#define KYMO_OPTIONS(...) \
    (&(struct kymo_mark_options){.size = sizeof(struct kymo_mark_options), __VA_ARGS__})
#endif
#define KYMO_NO_OPTIONS ((const struct kymo_mark_options *)NULL)

/* An instant with a name: KYMO_MARKER(net, "accepted"); with options; with a text, which is copied
 * (up to some KiB, and cut where a character begins). */
#define KYMO_MARKER(category, label) KYMO_MARKER_OPT(category, label, KYMO_NO_OPTIONS)
#define KYMO_MARKER_OPT(category, label, options)                                          \
    do {                                                                                   \
        if (KYMO_IS_ON(category)) {                                                        \
            KYMO_MARK_SITE_(kymo_site_, category, NULL, label, NULL, KYMO_SITE_MARKER, 0); \
            KYMO_MARK_CALL_(mark_with)(&kymo_site_, NULL, options);                        \
        }                                                                                  \
    } while (0)
#define KYMO_MARKER_TEXT(category, label, text) \
    KYMO_MARKER_TEXT_OPT(category, label, KYMO_NO_OPTIONS, text)
#define KYMO_MARKER_TEXT_OPT(category, label, options, text_)                            \
    do {                                                                                 \
        if (KYMO_IS_ON(category)) {                                                      \
            KYMO_MARK_SITE_(kymo_site_, category, NULL, label, NULL, KYMO_SITE_TEXT, 0); \
            const struct kymo_mark_text kymo_text_ = kymo_mark_text_of_(text_);          \
            KYMO_MARK_CALL_(mark_with)(&kymo_site_, &kymo_text_, options);               \
        }                                                                                \
    } while (0)

/* Fields that are left out are zero, which the compiler need not mind. */
#define KYMO_MARK_PAYLOAD_(T, ...)                                         \
    _Pragma("GCC diagnostic push")                                         \
        _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"") \
            const struct T kymo_payload_ = {__VA_ARGS__};                  \
    _Pragma("GCC diagnostic pop")

/* A typed one: the fields follow as initializers of struct T, `.status = 200, .url = url`. */
#define KYMO_MARKER_T(category, label, T, ...)                                                   \
    do {                                                                                         \
        if (KYMO_IS_ON(category)) {                                                              \
            KYMO_MARK_SITE_(kymo_site_, category, &kymo_type_##T, label, NULL, KYMO_SITE_MARKER, \
                            0);                                                                  \
            KYMO_MARK_PAYLOAD_(T, __VA_ARGS__)                                                   \
            KYMO_MARK_CALL_(mark)(&kymo_site_, &kymo_payload_);                                  \
        }                                                                                        \
    } while (0)
#define KYMO_MARKER_T_OPT(category, label, T, options, ...)                                      \
    do {                                                                                         \
        if (KYMO_IS_ON(category)) {                                                              \
            KYMO_MARK_SITE_(kymo_site_, category, &kymo_type_##T, label, NULL, KYMO_SITE_MARKER, \
                            0);                                                                  \
            KYMO_MARK_PAYLOAD_(T, __VA_ARGS__)                                                   \
            KYMO_MARK_CALL_(mark_with)(&kymo_site_, &kymo_payload_, options);                    \
        }                                                                                        \
    } while (0)

/* Text as printf makes it, of 1 to 12 arguments: they are recorded, and formatted when the profile
 * is written. KYMO_MARKER_VALUES(category, label, a, b): the values of expressions, with their
 * text. */
#define KYMO_MARKER_FMT(category, label, format, ...)                 \
    KYMO_MARK_CELLS_(category, label, "" format "", KYMO_SITE_FORMAT, \
                     kymo_mark_printf_(format, __VA_ARGS__), __VA_ARGS__)
#define KYMO_MARKER_VALUES(category, label, ...) \
    KYMO_MARK_CELLS_(category, label, #__VA_ARGS__, KYMO_SITE_VALUES, (void)0, __VA_ARGS__)
#define KYMO_MARK_CELLS_(category, label, format, kind, check, ...)                           \
    do {                                                                                      \
        if (KYMO_IS_ON(category)) {                                                           \
            KYMO_MARK_SITE_(kymo_site_, category, NULL, label, format, kind, 0);              \
            const struct kymo_mark_cell kymo_cells_[] = {KYMO_EACH_(KYMO_CELL, __VA_ARGS__)}; \
            if (0)                                                                            \
                check;                                                                        \
            KYMO_MARK_CALLS_->cells(&kymo_site_, kymo_cells_,                                 \
                                    sizeof kymo_cells_ / sizeof *kymo_cells_, NULL);          \
        }                                                                                     \
    } while (0)
/* Never called: the compiler checks its arguments. */
__attribute__((format(printf, 1, 2), unused)) static inline void kymo_mark_printf_(
    const char *format, ...)
{
    (void)format;
}

/* ---- scopes ---- */

/* From here to the end of the block, however it is left: one record, made at the end. A scope that
 * is open when the thread, the program or the recording ends is shown as unfinished. MIN: not
 * recorded if shorter than that. TEXT: with a text that is read at the end. T: with a payload,
 * `struct T var`, all zero, that may be set until the end; the marker has what it is then. */
#define KYMO_SCOPE(category, label) \
    KYMO_SCOPE_(KYMO_UNIQUE_(kymo_scope_), category, NULL, label, NULL, NULL, 0)
#define KYMO_SCOPE_MIN(category, label, min_ns) \
    KYMO_SCOPE_(KYMO_UNIQUE_(kymo_scope_), category, NULL, label, NULL, NULL, min_ns)
#define KYMO_SCOPE_OPT(category, label, options) \
    KYMO_SCOPE_(KYMO_UNIQUE_(kymo_scope_), category, NULL, label, NULL, options, 0)
#define KYMO_SCOPE_T(category, label, T, var) \
    struct T var = KYMO_ZERO_;                \
    KYMO_SCOPE_(kymo_scope_of_##var, category, &kymo_type_##T, label, &var, NULL, 0)
/* The scope of that payload is not recorded. */
#define KYMO_SCOPE_CANCEL(var) ((void)(kymo_scope_of_##var.site = NULL))

#define KYMO_SCOPE_(var, category, type, label, payload, options, min_ns)                  \
    KYMO_MARK_SITE_(KYMO_PASTE_(var, _site), category, type, label, NULL, KYMO_SITE_SCOPE, \
                    min_ns);                                                               \
    struct kymo_mark_scope var KYMO_SCOPE_CLEANUP_ = {NULL, 0, payload, options, 0, 0};    \
    if (KYMO_IS_ON(category))                                                              \
    KYMO_MARK_CALL_(scope_begin)(&var, &KYMO_PASTE_(var, _site))

/* ---- intervals that begin and end anywhere ---- */

/* Begins one; its number, with which any thread may end it, once. 0 while nobody listens: ending
 * that does nothing. */
#define KYMO_INTERVAL_BEGIN(category, label) \
    KYMO_INTERVAL_BEGIN_OPT(category, label, KYMO_NO_OPTIONS)
#define KYMO_INTERVAL_BEGIN_OPT(category, label, options)                                  \
    (__extension__({                                                                       \
        uint64_t kymo_id_ = 0;                                                             \
        if (KYMO_IS_ON(category)) {                                                        \
            KYMO_MARK_SITE_(kymo_site_, category, NULL, label, NULL, KYMO_SITE_MARKER, 0); \
            kymo_id_ = kymo_mark_begin_(&kymo_site_, options);                             \
        }                                                                                  \
        kymo_id_;                                                                          \
    }))
/* Ends one that began at a place with the same category and name; T: its payload. */
#define KYMO_INTERVAL_END(category, label, id)                                             \
    do {                                                                                   \
        const uint64_t kymo_id_ = (id);                                                    \
        if (kymo_id_ != 0 && KYMO_IS_ON(category)) {                                       \
            KYMO_MARK_SITE_(kymo_site_, category, NULL, label, NULL, KYMO_SITE_MARKER, 0); \
            kymo_mark_end_(&kymo_site_, NULL, kymo_id_);                                   \
        }                                                                                  \
    } while (0)
#define KYMO_INTERVAL_END_T(category, label, id, T, ...)                                         \
    do {                                                                                         \
        const uint64_t kymo_id_ = (id);                                                          \
        if (kymo_id_ != 0 && KYMO_IS_ON(category)) {                                             \
            KYMO_MARK_SITE_(kymo_site_, category, &kymo_type_##T, label, NULL, KYMO_SITE_MARKER, \
                            0);                                                                  \
            KYMO_MARK_PAYLOAD_(T, __VA_ARGS__)                                                   \
            kymo_mark_end_(&kymo_site_, &kymo_payload_, kymo_id_);                               \
        }                                                                                        \
    } while (0)

static inline uint64_t kymo_mark_begin_(struct kymo_mark_site *site,
                                        const struct kymo_mark_options *asked)
{
    struct kymo_mark_options options = KYMO_ZERO_;
    if (asked)
        options = *asked;
    options.size = sizeof options;
    options.timing = KYMO_TIMING_START;
    if (options.id == 0)
        options.id = KYMO_MARK_CALLS_->interval();
    KYMO_MARK_CALL_(mark_with)(site, NULL, &options);
    return options.id;
}

static inline void kymo_mark_end_(struct kymo_mark_site *site, const void *payload, uint64_t id)
{
    struct kymo_mark_options options = KYMO_ZERO_;
    options.size = sizeof options;
    options.timing = KYMO_TIMING_END;
    options.id = id;
    KYMO_MARK_CALL_(mark_with)(site, payload, &options);
}

/* ---- stacks, tracks, flows ---- */

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
    return calls ? calls->track(name, __builtin_strlen(name)) : 0;
}

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
    return kymo_flow_global(number ^ KYMO_MARK_SEED_);
}

static inline uint64_t kymo_flow_pointer(const void *pointer)
{
    return kymo_flow((uint64_t)(uintptr_t)pointer);
}

/* ---- counters ---- */

/* At file scope. kind: TOTAL, DELTA or GAUGE (enum kymo_mark_counter_kind); unit: "bytes",
 * "percent", another, or NULL. It is looked at each period; EACH: recorded at each change. */
#define KYMO_COUNTER(var, category, label, kind, unit, color_name) \
    KYMO_COUNTER_(var, category, label, KYMO_COUNTER_##kind, unit, KYMO_COLOR_##color_name, 0)
#define KYMO_COUNTER_EACH_CHANGE(var, category, label, kind, unit, color_name)              \
    KYMO_COUNTER_(var, category, label, KYMO_COUNTER_##kind, unit, KYMO_COLOR_##color_name, \
                  KYMO_COUNTER_EACH)

/* Adds to it, or sets a gauge; N: of so many operations. */
#define KYMO_COUNT(var, value) KYMO_COUNT_N(var, value, 1)
#define KYMO_COUNT_N(var, value, operations)                                \
    do {                                                                    \
        if (kymo_mark_is_on_(kymo_counter_##var.category))                  \
            KYMO_MARK_CALL_(count)(&kymo_counter_##var, value, operations); \
    } while (0)

/* ---- labels ---- */

/* A key and a value that every sample, allocation and marker of this thread has from here to the
 * end of the block: KYMO_LABEL_SCOPE("request_id", id). value: any number or text; text is copied.
 */
#define KYMO_LABEL_SCOPE(key, value) KYMO_LABEL_SCOPE_(KYMO_UNIQUE_(kymo_label_), key, value)
#define KYMO_LABEL_SCOPE_(var, key, value)                          \
    uint32_t var KYMO_LABEL_CLEANUP_ = 0;                           \
    if (KYMO_MARK_LISTENS_) {                                       \
        const struct kymo_mark_cell kymo_cell_ = KYMO_CELL(value);  \
        var = KYMO_MARK_CALLS_->label_push("" key "", &kymo_cell_); \
    }
/* From here on, until it is set to something else. CLEAR: no more. */
#define KYMO_LABEL_SET(key, value)                                     \
    do {                                                               \
        if (KYMO_MARK_LISTENS_) {                                      \
            const struct kymo_mark_cell kymo_cell_ = KYMO_CELL(value); \
            KYMO_MARK_CALLS_->label_set("" key "", &kymo_cell_);       \
        }                                                              \
    } while (0)
#define KYMO_LABEL_CLEAR(key)                             \
    do {                                                  \
        if (KYMO_MARK_LISTENS_)                           \
            KYMO_MARK_CALLS_->label_set("" key "", NULL); \
    } while (0)

#ifndef KYMO_DISABLE
#define KYMO_MARK_LISTENS_ \
    __builtin_expect(__atomic_load_n(&kymo_mark_link_.on, __ATOMIC_RELAXED) != 0, 0)

static inline void kymo_mark_label_end_(const uint32_t *depth)
{
    if (__builtin_expect(*depth != 0, 0))
        kymo_mark_link_.calls->label_pop(*depth);
}
#else
#define KYMO_MARK_LISTENS_ 0
#endif

/* ---- on and off ---- */

/* Switches categories of this process: words with colours between, "all:-net:disk/read"; later
 * words win. Returns a kymo_err: KYMO_E_INVALID for a text that is no such list, KYMO_E_CLOSED
 * while there is no library. Not for handlers. */
static inline int kymo_markers_select(const char *list)
{
    const struct kymo_mark_calls *calls = KYMO_MARK_CALLS_;
    return calls ? calls->select(list) : -18;
}

#ifdef __cplusplus
}
#endif

#endif
