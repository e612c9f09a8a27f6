/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h - the one list of error codes, and the optional detail that parsers fill.
 *
 * Every fallible function of Kymo returns kymo_err: 0 (KYMO_OK) or a negative code of this list.
 * Results go to out-parameters, which are written only on success.
 */
#ifndef KYMO_ERROR_H
#define KYMO_ERROR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KYMO_API __attribute__((visibility("default")))

/* X(name, number, text): numbers are stable; new codes go to the end. */
#define KYMO_ERROR_LIST(X)                               \
    X(NOMEM, -1, "out of memory")                        \
    X(INVALID, -2, "invalid argument")                   \
    X(RANGE, -3, "value out of range")                   \
    X(IO, -4, "input or output failed")                  \
    X(NOT_FOUND, -5, "not found")                        \
    X(EXISTS, -6, "already exists")                      \
    X(PERMISSION, -7, "permission denied")               \
    X(NO_SPACE, -8, "no space left")                     \
    X(CORRUPT, -9, "data is corrupt")                    \
    X(TRUNCATED, -10, "data ends too early")             \
    X(UNSUPPORTED, -11, "not supported")                 \
    X(TOO_BIG, -12, "larger than the limit")             \
    X(FULL, -13, "no room left in a bounded buffer")     \
    X(MISMATCH, -14, "does not match what was recorded") \
    X(TIMEOUT, -15, "timed out")                         \
    X(INTERRUPTED, -16, "interrupted")                   \
    X(SYSTEM, -17, "a system call failed")               \
    X(CLOSED, -18, "the other side has gone")            \
    X(VERSION, -19, "a version that this build does not read")

typedef enum kymo_err {
    KYMO_OK = 0,
#define X(name, number, text) KYMO_E_##name = number,
    KYMO_ERROR_LIST(X)
#undef X
} kymo_err;

/* What a parser or writer says about a failure, beside its code. The caller owns the storage; a
 * NULL pointer means that the caller does not want it. */
typedef struct kymo_error {
    kymo_err code;
    int sys_errno;     /* errno of the system call that failed, 0 if none did */
    uint64_t position; /* byte offset in the input, 0 where it has no meaning */
    char message[232]; /* one line, no newline at its end */
} kymo_error;

/* The name of a code, such as "KYMO_E_NOMEM"; "KYMO_E_UNKNOWN" for a number not in the list.
 * Static storage; any thread; signal-safe. */
KYMO_API const char *kymo_err_name(kymo_err code);
/* Its text, such as "out of memory". Static storage; any thread; signal-safe. */
KYMO_API const char *kymo_err_text(kymo_err code);

#ifdef __cplusplus
}
#endif

#endif
