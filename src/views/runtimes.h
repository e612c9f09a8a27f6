/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtimes.h - interpreters and virtual machines, by the names of their files: what of their
 * programs a recording does not show, and what to do about it.
 *
 * Layer:    views; above base
 * Flow:     paths of programs and modules -> [runtimes] -> doctor, views/report_hints.c
 * Threads:  any
 * Memory:   static
 * Signals:  not for handlers
 */
#ifndef KYMO_VIEWS_RUNTIMES_H
#define KYMO_VIEWS_RUNTIMES_H

typedef struct kymo_runtime {
    const char *file; /* what its file's name begins with, before a character that is no letter */
    const char *language;
    /* Makes machine code while it runs, whose functions have names once it is started with what
     * `advice` says. Otherwise its functions are not shown; advice is what names them instead, or
     * NULL. */
    int makes_code;
    const char *advice;
} kymo_runtime;

/* The runtime whose program or library this is, by the last part of the path; NULL: none. */
const kymo_runtime *kymo_runtime_of(const char *path);

#endif
