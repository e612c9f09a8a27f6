/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attr.h - the compiler attributes that Kymo uses, by what they mean here.
 *
 * Layer:    base
 */
#ifndef KYMO_BASE_ATTR_H
#define KYMO_BASE_ATTR_H

#define KYMO_NODISCARD __attribute__((warn_unused_result))
#define KYMO_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define KYMO_NOINLINE __attribute__((noinline))
/* Large static memory, of which a process touches little. It lies behind the rest, so that what a
 * process touches at its start is in few pages: the first touch of each costs it 2 us. */
#define KYMO_LARGE __attribute__((section(".lbss.kymo")))
#define KYMO_INLINE static inline __attribute__((always_inline))
/* Marks each prototype that a signal handler may reach; tools/check-signal-path holds the objects
 * that define them to a list of allowed undefined symbols and to a bound of stack use. */
#define KYMO_SIGNAL_SAFE
/* The one model of thread-local storage that never calls __tls_get_addr (which may allocate). */
#define KYMO_TLS_IE __attribute__((tls_model("initial-exec")))

#define kymo_likely(x) __builtin_expect(!!(x), 1)
#define kymo_unlikely(x) __builtin_expect(!!(x), 0)
#define KYMO_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
