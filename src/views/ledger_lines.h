/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger_lines.h - the displayed lines of the RSS breakdown: a part with a stack is named after the
 * innermost function; parts of the same function are merged.
 *
 * Layer:    views
 * Flow:     kymo/profile.h -> [ledger_lines] -> report_ledger_json.c, report_ledger.c
 * Threads:  any; it only reads
 * Memory:   kymo_ledger_lines_deinit frees it
 * Signals:  not for handlers
 */
#ifndef KYMO_VIEWS_LEDGER_LINES_H
#define KYMO_VIEWS_LEDGER_LINES_H

#include "base/vec.h"
#include "kymo/profile.h"

struct kymo_ledger_shown {
    const kymo_ledger *row;
    int64_t bytes;
    int64_t rss;    /* the sum that it is a part of; 0: not known */
    int is_most;    /* a later breakdown of this process has less */
    char name[256]; /* "": the whole line */
};

struct kymo_ledger_lines {
    KYMO_VEC(struct kymo_ledger_shown) list;
};

/* By process, time and line; a whole line before its parts, which are sorted by size. */
KYMO_NODISCARD
kymo_err kymo_ledger_lines_make(struct kymo_ledger_lines *lines, const kymo_profile *profile);
void kymo_ledger_lines_deinit(struct kymo_ledger_lines *lines);

/* The key of a line ("live"), and its description. */
const char *kymo_ledger_line_word(uint32_t line);
const char *kymo_ledger_line_meaning(uint32_t line);
/* Whether it is the sum of the other lines. */
int kymo_ledger_line_is_sum(uint32_t line);

#endif
