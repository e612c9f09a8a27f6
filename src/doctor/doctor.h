/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor.h - tries what recording needs on this machine, and says what to do about what is missing.
 *
 * Layer:    doctor
 * Flow:     the system -> [doctor] -> cli/cmd_doctor.c
 * Threads:  the only one: it forks
 * Memory:   the caller's list owns the text
 * Signals:  not for handlers
 */
#ifndef KYMO_DOCTOR_DOCTOR_H
#define KYMO_DOCTOR_DOCTOR_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/vec.h"

typedef enum kymo_check_state {
    KYMO_CHECK_OK,
    KYMO_CHECK_INFO, /* good to know */
    KYMO_CHECK_WARN, /* recording works, but less well */
    KYMO_CHECK_FAIL, /* recording does not work */
} kymo_check_state;

typedef struct kymo_check {
    const char *name; /* static */
    kymo_check_state state;
    char text[256];   /* what was found */
    char advice[256]; /* what to do about it; "" if there is nothing to do */
} kymo_check;

typedef struct kymo_checks {
    kymo_check *data;
    size_t len;
    size_t cap;
    kymo_check spare; /* what there was no memory for is said here */
    bool failed;      /* something was */
} kymo_checks;

/* Appends every check, the last of which records a short program for real. Returns
 * KYMO_E_NOMEM, or KYMO_OK whatever was found. */
KYMO_NODISCARD
kymo_err kymo_doctor_run(kymo_checks *checks);
/* Appends what can be told of one program without running it: can it be recorded, what will not be
 * shown of it, has it symbols. As above. */
KYMO_NODISCARD
kymo_err kymo_doctor_run_program(kymo_checks *checks, const char *name);
void kymo_checks_deinit(kymo_checks *checks);

/* 1 if no check failed. */
int kymo_checks_pass(const kymo_checks *checks);
/* "ok", "info", "warn", "fail". */
const char *kymo_check_state_name(kymo_check_state state);
/* {"format":1,"works":true,"checks":[{"name":s,"state":s,"text":s,"advice":s or null}]} and a
 * newline. */
KYMO_NODISCARD
kymo_err kymo_checks_write_json(const kymo_checks *checks, kymo_sink *sink);

#endif
