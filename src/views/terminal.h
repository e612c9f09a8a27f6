/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.h - what standard output and standard error can show.
 *
 * Layer:    views
 * Threads:  the only one
 * Memory:   none
 * Signals:  not for handlers
 */
#ifndef KYMO_VIEWS_TERMINAL_H
#define KYMO_VIEWS_TERMINAL_H

#include <stddef.h>
#include <stdio.h>

#include "kymo/sink.h"

/* How text is laid out for one stream. */
typedef struct kymo_terminal {
    FILE *to;
    int colour; /* a terminal that shows colour, and NO_COLOR is not set */
    int width;  /* columns; 0: no terminal, lines may be of any length */
} kymo_terminal;

kymo_terminal kymo_terminal_of(FILE *to);
/* Remembers what a stream is for later calls: a pager stands between it and its terminal then. */
void kymo_terminal_keep(FILE *to);

/* Begin and end of emphasis; "" without colour. */
const char *kymo_terminal_bold(const kymo_terminal *t);
const char *kymo_terminal_dim(const kymo_terminal *t);
const char *kymo_terminal_good(const kymo_terminal *t);
const char *kymo_terminal_bad(const kymo_terminal *t);
const char *kymo_terminal_reset(const kymo_terminal *t);

/* Columns that UTF-8 text takes: its characters (names in programs have no wide or zero-width
 * ones worth a table). */
size_t kymo_terminal_columns(const char *text);
/* Writes text. Control characters are shown as '?': names come from files of any origin. */
void kymo_terminal_print(const kymo_terminal *t, const char *text);
/* The same, cut to columns characters (0: not cut) with an ellipsis at its end, or at its start,
 * which keeps the end of a path. */
enum { KYMO_CUT_END, KYMO_CUT_START };
void kymo_terminal_print_cut(const kymo_terminal *t, const char *text, size_t columns, int cut);

/* Writes text and a newline, broken at blanks before the terminal's width; column: where the cursor
 * is, indent: where further lines begin. Control characters as above. */
void kymo_terminal_wrap(const kymo_terminal *t, size_t column, size_t indent, const char *text);

/* A sink that is standard output. Its errors stay with the stream, for kymo_flush_output. */
kymo_sink kymo_stdout_sink(void);

/* Flushes standard output and says if that failed ("No space left on device"). Returns an exit
 * status. */
int kymo_flush_output(void);

#endif
