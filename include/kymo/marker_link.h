/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marker_link.h - how an object with markers finds a library of Kymo, and the question that stands
 * in front of each marker.
 *
 * Flow:     marker.h -> [link] -> libkymo-preload.so or libkymo.so, if there is one
 * Threads:  any
 * Memory:   static, of each executable and shared object its own
 * Signals:  all but the constructor and the destructor
 *
 * Included by marker.h, for which it is made. No symbol of Kymo is ever undefined in a program: it
 * would be bound, or found missing, when the program is linked, and a library that is preloaded
 * later would not be seen. Instead a constructor of each object asks dlsym for one function; to ask
 * at the first marker would be too late, since that may be in a signal handler.
 *
 * The question is the category's own word: one load, no table, no call. With KYMO_DISABLE it is a
 * constant, and everything that is behind it is compiled and thrown away.
 */
#ifndef KYMO_MARKER_LINK_H
#define KYMO_MARKER_LINK_H

#if !defined(__GNUC__)
#error "kymo/marker.h needs gcc or clang"
#endif

#include <stddef.h>
#include <stdint.h>

#include "kymo/marker_abi.h"

#define KYMO_PASTE_2_(a, b) a##b
#define KYMO_PASTE_(a, b) KYMO_PASTE_2_(a, b)
#define KYMO_UNIQUE_(name) KYMO_PASTE_(name, __COUNTER__)
#define KYMO_UNUSED_ __attribute__((unused))
/* Artificial: debuggers and profilers leave them out of stacks, as what the program did not write.
 */
#define KYMO_INLINE_ static inline __attribute__((always_inline, artificial, unused))
#define KYMO_INLINE_MEMBER_ inline __attribute__((always_inline, artificial))

#ifdef __cplusplus
#define KYMO_ZERO_ \
    {              \
    }
#define KYMO_CAST_(type, value) (static_cast<type>(value))
#define KYMO_ADDRESS_(pointer) (reinterpret_cast<uintptr_t>(pointer))
#define KYMO_ASSERT_(holds) static_assert(holds, #holds)
/* Initializers by name, which C++ has since C++20, and which all its compilers had before. */
#if !defined(__clang__)
#if __GNUC__ >= 12
#define KYMO_MAY_NAME_ _Pragma("GCC diagnostic ignored \"-Wc++20-extensions\"")
#else
#define KYMO_MAY_NAME_ _Pragma("GCC diagnostic ignored \"-Wpedantic\"")
#endif
#elif __has_warning("-Wc++20-designator")
#define KYMO_MAY_NAME_ _Pragma("GCC diagnostic ignored \"-Wc++20-designator\"")
#else
#define KYMO_MAY_NAME_
#endif
/* Where a user names the members of a structure that he sets: the others are zero. */
#define KYMO_PARTLY_(...)                                                                 \
    _Pragma("GCC diagnostic push")                                                        \
        KYMO_MAY_NAME_ _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"") \
            __VA_ARGS__;                                                                  \
    _Pragma("GCC diagnostic pop")
#else
#define KYMO_ZERO_ \
    {              \
        0          \
    }
#define KYMO_CAST_(type, value) ((type)(value))
#define KYMO_ADDRESS_(pointer) ((uintptr_t)(pointer))
#define KYMO_ASSERT_(holds) _Static_assert(holds, #holds)
#define KYMO_MAY_NAME_
#define KYMO_PARTLY_(...) __VA_ARGS__;
#endif
/* Behind a variable with a cleanup: a goto, or a case, from before it to behind it does not
 * compile, where gcc would run the cleanup of a variable that was never set. C++ forbids that by
 * itself, as C does for what depends on a type of variable size. It costs nothing. */
#ifdef __cplusplus
#define KYMO_NO_JUMP_PAST_(var) KYMO_ASSERT_(sizeof(var) != 0)
#else
#define KYMO_NO_JUMP_PAST_(var)                                               \
    _Pragma("GCC diagnostic push")                                            \
        _Pragma("GCC diagnostic ignored \"-Wvla\"") typedef char KYMO_PASTE_( \
            var, _no_jump_past_it)[(var != 0) + 1] KYMO_UNUSED_;              \
    _Pragma("GCC diagnostic pop") KYMO_ASSERT_(sizeof(var) != 0)
#endif
#define KYMO_NO_OPTIONS KYMO_CAST_(const struct kymo_mark_options *, NULL)
#define KYMO_NO_TYPE_ KYMO_CAST_(const struct kymo_mark_type *, NULL)
#define KYMO_NO_PARENT_ KYMO_CAST_(const struct kymo_mark_category *, NULL)

/* What KYMO_COUNT asks a counter. */
#define KYMO_COUNTER_NUMBERS_(var, flags) \
    enum { kymo_counter_is_f64_##var = ((flags)&KYMO_COUNTER_IS_F64) != 0 }

#ifndef KYMO_DISABLE

#ifdef __cplusplus
extern "C" {
#endif

/* One for each executable and shared object, whatever number of its files include this. */
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
    NULL,
    NULL,
    NULL,
    0};

/* What libc has of them: a static program has none, and no library of Kymo. */
extern void *kymo_mark_dlsym_(void *handle, const char *name) __asm__("dlsym")
    __attribute__((weak));
extern char *kymo_mark_dlerror_(void) __asm__("dlerror") __attribute__((weak));

extern struct kymo_mark_category *const kymo_mark_first_category_[] __asm__(
    "__start_kymo_categories") __attribute__((visibility("hidden")));
extern struct kymo_mark_category *const kymo_mark_end_category_[] __asm__("__stop_kymo_categories")
    __attribute__((visibility("hidden")));

/* Each file has both called once; the first call does the work. */
__attribute__((weak, visibility("hidden"), constructor(101))) void kymo_mark_open_(void);
__attribute__((weak, visibility("hidden"), constructor(101))) void kymo_mark_open_(void)
{
    void *found;
    kymo_mark_attach_fn *attach;
    if (kymo_mark_link_.is_open != KYMO_LINK_NEW || !kymo_mark_dlsym_)
        return;
    kymo_mark_link_.is_open = KYMO_LINK_OPEN;
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
    if (!calls || kymo_mark_link_.is_open != KYMO_LINK_OPEN)
        return;
    kymo_mark_link_.is_open = KYMO_LINK_CLOSED;
    calls->detach(&kymo_mark_link_);
}

#ifdef __cplusplus
}
#endif

#define KYMO_MARK_LINK_ (&kymo_mark_link_)
#define KYMO_MARK_CALLS_ (kymo_mark_link_.calls)

/* Expected to be off: what is behind it goes out of the way. The expectation stands where the
 * branch is, since a compiler may forget it on its way out of a function. */
KYMO_INLINE_ uint32_t kymo_mark_load_(const struct kymo_mark_category *category)
{
    return __atomic_load_n(&category->on, __ATOMIC_RELAXED);
}
#define kymo_mark_is_on_(category) (__builtin_expect(kymo_mark_load_(category) != 0, 0) != 0)

/* Whether a recorder listens to this object at all: for what belongs to no category. */
#define KYMO_LISTENS_() \
    (__builtin_expect(__atomic_load_n(&kymo_mark_link_.on, __ATOMIC_RELAXED) != 0, 0) != 0)

#if defined(__has_attribute)
#if __has_attribute(retain)
#define KYMO_RETAIN_ , retain
#endif
#endif
#ifndef KYMO_RETAIN_
#define KYMO_RETAIN_
#endif

/* The section has pointers, not categories: what a later version adds to a category moves nothing
 * in it. */
#define KYMO_CATEGORY_(var, label, parent, color, flags)                                \
    static struct kymo_mark_category kymo_category_##var KYMO_UNUSED_ = {               \
        sizeof(struct kymo_mark_category), 0, "" label "", parent, color, flags, 0, 0}; \
    static struct kymo_mark_category *const kymo_category_at_##var                      \
        __attribute__((section("kymo_categories"), used KYMO_RETAIN_)) = &kymo_category_##var

/* category, here and below: the variable, which the macros that a user writes paste themselves, so
 * that no macro of his is expanded in its name. */
#define KYMO_SITE_(var, category, type, label, format, kind, min_ns)                   \
    static KYMO_SITE_STRUCT_ var =                                                     \
        KYMO_SITE_INIT_(sizeof(struct kymo_mark_site), 0, 0, 0, 0, 0, &category, type, \
                        "" label "", format, __FILE__, __func__, __LINE__, kind, min_ns)
#ifdef __cplusplus
/* In an inline function or a template a static variable is one for the whole process, and gcc marks
 * its symbol such that its library is never unloaded (STB_GNU_UNIQUE). A variable of a hidden type
 * is hidden, too: one for each executable and shared object. */
struct __attribute__((visibility("hidden"))) kymo_hidden_site_ {
    struct kymo_mark_site site;
};
#define KYMO_SITE_STRUCT_ kymo_hidden_site_
#define KYMO_SITE_INIT_(...) \
    {                        \
        {                    \
            __VA_ARGS__      \
        }                    \
    }
#define KYMO_SITE_AT_(var) (&var.site)
#else
#define KYMO_SITE_STRUCT_ struct kymo_mark_site
#define KYMO_SITE_INIT_(...) \
    {                        \
        __VA_ARGS__          \
    }
#define KYMO_SITE_AT_(var) (&var)
#endif

/* The counter asks its category directly: to go by its pointer would be a second load. */
#define KYMO_COUNTER_(var, category, label, kind, unit, color, flags, description) \
    static struct kymo_mark_counter kymo_counter_##var KYMO_UNUSED_ = {            \
        sizeof(struct kymo_mark_counter),                                          \
        0,                                                                         \
        &category,                                                                 \
        "" label "",                                                               \
        unit,                                                                      \
        description,                                                               \
        kind,                                                                      \
        flags,                                                                     \
        color,                                                                     \
        0};                                                                        \
    KYMO_INLINE_ uint32_t kymo_counter_load_##var(void)                            \
    {                                                                              \
        return kymo_mark_load_(&category);                                         \
    }                                                                              \
    KYMO_COUNTER_NUMBERS_(var, flags)
#define KYMO_COUNTER_IS_ON_(var) (__builtin_expect(kymo_counter_load_##var() != 0, 0) != 0)

/* A constant of file scope; array: [], or nothing. */
#define KYMO_CONSTANT_(type, var, array, ...)                              \
    KYMO_PARTLY_(static const type var array KYMO_UNUSED_ = {__VA_ARGS__}) \
    KYMO_ASSERT_(sizeof(var) != 0)

#define KYMO_CLEANUP_(end) __attribute__((cleanup(end), unused))

#else /* KYMO_DISABLE: declarations, and conditions that are constant */

#define KYMO_MARK_LINK_ KYMO_CAST_(struct kymo_mark_link *, NULL)
#define KYMO_MARK_CALLS_ KYMO_CAST_(const struct kymo_mark_calls *, NULL)
#define kymo_mark_is_on_(category) (sizeof(category) == 0)
#define KYMO_LISTENS_() 0

#define KYMO_CATEGORY_(var, label, parent, color, flags)               \
    extern struct kymo_mark_category kymo_category_##var KYMO_UNUSED_; \
    KYMO_ASSERT_(sizeof("" label "") + sizeof(parent) + sizeof(color) + sizeof(flags) != 0)

#define KYMO_SITE_(var, category, type, label, format, kind, min_ns) \
    struct kymo_mark_site var;                                       \
    (void)sizeof("" label "");                                       \
    (void)sizeof(category);                                          \
    (void)(type);                                                    \
    (void)(format);                                                  \
    (void)(min_ns)
#define KYMO_SITE_AT_(var) (&var)

#define KYMO_COUNTER_(var, category, label, kind, unit, color, flags, description)             \
    extern struct kymo_mark_counter kymo_counter_##var KYMO_UNUSED_;                           \
    KYMO_ASSERT_(sizeof(category) + sizeof("" label "") + sizeof(unit) + sizeof(description) + \
                     sizeof(kind) + sizeof(color) + sizeof(flags) !=                           \
                 0);                                                                           \
    KYMO_COUNTER_NUMBERS_(var, flags)
#define KYMO_COUNTER_IS_ON_(var) (sizeof(kymo_counter_##var) == 0)

/* Unused constants would stay in an object that is not optimized. */
#define KYMO_CONSTANT_(type, var, array, ...)                    \
    extern const type var array;                                 \
    KYMO_INLINE_ void kymo_check_##var(void)                     \
    {                                                            \
        KYMO_PARTLY_(const type kymo_var_ array = {__VA_ARGS__}) \
        (void)kymo_var_;                                         \
    }                                                            \
    extern const type var array

#define KYMO_CLEANUP_(end) KYMO_UNUSED_

#endif

/* Whether markers of the category are recorded, for work that is only done for them. */
#define KYMO_IS_ON(category) (kymo_mark_is_on_(&kymo_category_##category))

#endif
