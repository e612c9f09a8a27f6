/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h - forwarding and filling of kymo_err and kymo_error inside Kymo.
 *
 * Layer:    base
 * Flow:     every fallible function -> its caller
 * Threads:  any
 * Memory:   the caller owns kymo_error
 * Signals:  KYMO_TRY and kymo_err_from_errno are safe; kymo_error_set formats and is not
 */
#ifndef KYMO_BASE_ERROR_H
#define KYMO_BASE_ERROR_H

#include "base/attr.h"
#include "kymo/error.h"

/* Returns the error of expr, if it is one, to the caller. */
#define KYMO_TRY(expr)                               \
    do {                                             \
        kymo_err kymo_try_err_ = (expr);             \
        if (kymo_unlikely(kymo_try_err_ != KYMO_OK)) \
            return kymo_try_err_;                    \
    } while (0)

/* The code that stands for an errno value; KYMO_E_SYSTEM for one without a code of its own. */
kymo_err kymo_err_from_errno(int sys_errno);

/* Fills *detail (if it is not NULL) and returns code, so that a parser can write
 * `return kymo_error_set(detail, KYMO_E_CORRUPT, offset, "block %u: ...", i);`. */
kymo_err kymo_error_set(kymo_error *detail, kymo_err code, uint64_t position, const char *fmt, ...)
    KYMO_PRINTF(4, 5);

/* The same for a failed system call: code and text come from errno, read on entry;
 * the message is "<formatted text>: <strerror>". */
kymo_err kymo_error_set_errno(kymo_error *detail, const char *fmt, ...) KYMO_PRINTF(2, 3);

#endif
