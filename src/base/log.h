/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - messages to standard error, for the cold half.
 *
 * Layer:    base (cold half only)
 * Threads:  any; a line is written by one write()
 * Signals:  not for handlers
 */
#ifndef KYMO_BASE_LOG_H
#define KYMO_BASE_LOG_H

#include <stdio.h>

#include "base/attr.h"
#include "base/log.h"

typedef enum kymo_log_level {
    KYMO_LOG_ERROR,
    KYMO_LOG_WARN,
    KYMO_LOG_INFO,
    KYMO_LOG_DEBUG,
} kymo_log_level;

/* Messages above this level are dropped; KYMO_LOG_WARN at start. Not to be changed while other
 * threads log. */
void kymo_log_set_level(kymo_log_level level);
kymo_log_level kymo_log_get_level(void);

/* Writes "kymo: <text>\n" ("kymo: error: ", "kymo: warning: " by level). Keeps errno. */
void kymo_log(kymo_log_level level, const char *fmt, ...) KYMO_PRINTF(2, 3);

/* One line, as fprintf writes it, made printable (kymo_text_make_printable), for whatever names a
 * path, a command or a text of others; newlines are at the beginning and the end of fmt alone. */
void kymo_fprint(FILE *to, const char *fmt, ...) KYMO_PRINTF(2, 3);

#define kymo_warn(...) kymo_log(KYMO_LOG_WARN, __VA_ARGS__)
#define kymo_info(...) kymo_log(KYMO_LOG_INFO, __VA_ARGS__)
#define kymo_debug(...)                             \
    do {                                            \
        if (kymo_log_get_level() >= KYMO_LOG_DEBUG) \
            kymo_log(KYMO_LOG_DEBUG, __VA_ARGS__);  \
    } while (0)

#endif
