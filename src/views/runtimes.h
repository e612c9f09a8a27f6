/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtimes.h - interpreters and virtual machines, by file name: what a recording of their programs
 * does not show, and advice.
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
    const char *file; /* prefix of the file's name, followed by a character that is not a letter */
    const char *language;
    /* Generates machine code at run time, whose functions have names if it is started as
     * `advice` says. Otherwise its functions are not shown; advice says how to name them, or is
     * NULL. */
    int makes_code;
    const char *advice;
} kymo_runtime;

/* The runtime of a program or library, by the last part of the path; NULL: none. */
const kymo_runtime *kymo_runtime_of(const char *path);

#endif
