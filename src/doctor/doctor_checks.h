/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor_checks.h - the single checks of doctor.h, by what they look at.
 *
 * Layer:    doctor
 * Threads:  the only one
 * Memory:   the caller's list
 * Signals:  not for handlers
 */
#ifndef KYMO_DOCTOR_DOCTOR_CHECKS_H
#define KYMO_DOCTOR_DOCTOR_CHECKS_H

#include <limits.h>

#include "doctor/doctor.h"

/* A new entry at the end of the list, to be filled by kymo_check_say before the next is added.
 * Without memory it is none of the list, whose `failed` is set. */
kymo_check *kymo_checks_add(kymo_checks *checks, const char *name);

typedef struct kymo_doctor_check {
    const char *name;
    void (*look)(kymo_check *check); /* fills it */
} kymo_doctor_check;

/* One after the other. */
void kymo_doctor_check_all(kymo_checks *checks, const kymo_doctor_check *all, size_t count);
/* What was found. */
void kymo_check_say(kymo_check *check, kymo_check_state state, const char *fmt, ...)
    KYMO_PRINTF(3, 4);
/* What to do about it. */
void kymo_check_advise(kymo_check *check, const char *fmt, ...) KYMO_PRINTF(2, 3);

/* The first line of a file of the system, without its newline. 0 if it cannot be read. */
int kymo_doctor_read_line(const char *path, char *out, size_t cap);

/* /usr/lib/debug/.build-id/ab/cdef.debug of the file; 0 if it has no build-id. */
int kymo_doctor_debug_path(const char *file, char out[PATH_MAX]);

/* The ways to take samples: perf, timers, and what forbids them. */
void kymo_doctor_check_engines(kymo_checks *checks);
/* The system, the C library, limits of processes and of memory. */
void kymo_doctor_check_limits(kymo_checks *checks);
/* Our library, debug files, space on disk. */
void kymo_doctor_check_files(kymo_checks *checks);

#endif
