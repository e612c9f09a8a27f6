/* SPDX-License-Identifier: Apache-2.0 */
/*
 * categories.h - the categories of markers that recorded programs have: as a list, as the text that
 * the recorder answers with, and against a list of words.
 *
 * Layer:    control; above base
 * Flow:     recorder/tree_control.c -> [categories] -> cli/cmd_control.c
 * Threads:  the caller's
 * Memory:   kymo_categories_deinit frees the rows; zeroed is empty
 * Signals:  not for handlers
 */
#ifndef KYMO_CONTROL_CATEGORIES_H
#define KYMO_CONTROL_CATEGORIES_H

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "base/vec.h"

struct kymo_category_row {
    char *path;    /* "Disk" or "Disk/read"; no control characters */
    uint32_t from; /* the process that it was added for; 0: several, or merged */
    uint32_t on;   /* processes that have it on */
    uint32_t of;   /* that have it */
    uint32_t is_quiet;
};

/* More than that of different ones are not listed. */
#define KYMO_CATEGORIES_MAX 16384u

struct kymo_categories {
    KYMO_VEC(struct kymo_category_row) rows;
    size_t merged; /* rows that were left by the last merge */
    uint32_t processes;
};

/* Whatever is added from here on is of another process. */
void kymo_categories_begin(struct kymo_categories *c);
/* parent: NULL or the name of what it is a part of. */
KYMO_NODISCARD
kymo_err kymo_categories_add(struct kymo_categories *c, const char *parent, const char *name,
                             int is_on, int is_quiet);
/* One row for each path, sorted. */
void kymo_categories_merge(struct kymo_categories *c);
void kymo_categories_deinit(struct kymo_categories *c);

/* A line for each: on, of, is_quiet, path. */
void kymo_categories_write(const struct kymo_categories *c, kymo_str *text);
/* Adds what was written, which is changed; lines that make no sense are left out. */
KYMO_NODISCARD
kymo_err kymo_categories_read(struct kymo_categories *c, char *text);

/* The first word of a list that is no category, "all" or "none", as "'word'"; returns 0 if there is
 * none. */
int kymo_categories_unknown(const struct kymo_categories *c, const char *list, kymo_str *word);
/* "Disk, Disk/read, Network", as many as are worth a line. */
void kymo_categories_names(const struct kymo_categories *c, kymo_str *names);

#endif
