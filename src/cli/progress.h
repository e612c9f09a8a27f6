/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - a bar on the terminal for work that takes more than a second.
 *
 * Layer:    cli
 * Threads:  the only one
 * Memory:   the caller's structure
 * Signals:  not for handlers
 */
#ifndef KYMO_CLI_PROGRESS_H
#define KYMO_CLI_PROGRESS_H

#include <stdint.h>

#include "views/terminal.h"

typedef struct kymo_progress {
    kymo_terminal terminal;
    const char *what;  /* of the step at work */
    uint64_t start_ns; /* of the step */
    uint64_t drawn_ns; /* when the bar was drawn last; 0: it is not there */
    int silent;
} kymo_progress;

/* Shows nothing when quiet, or when standard error is no terminal. */
void kymo_progress_init(kymo_progress *p, int quiet);
/* A new step ("reading symbols"); its name is borrowed. */
void kymo_progress_start(kymo_progress *p, const char *what);
/* fraction from 0 to 1, bytes written so far (0: not shown). Cheap enough to call often. */
void kymo_progress_update(kymo_progress *p, double fraction, uint64_t bytes);
/* Wipes the bar away; before any other output to standard error. */
void kymo_progress_end(kymo_progress *p);

#endif
