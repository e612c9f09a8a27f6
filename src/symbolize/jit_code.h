/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_code.h - brings what a process says of the code that it makes into the recording.
 *
 * Layer:    symbolize; above symbolize
 * Flow:     session_events.c (addresses that were hit), perf map, jitdump -> [jit_code] -> writer
 * Threads:  the recorder's one thread
 * Memory:   an object owns its tables and descriptors
 * Signals:  not for handlers
 *
 * A recording must have its names when the files are gone. So while the process lives its perf map
 * and its jitdump are looked for, rarely and only once it was found outside every module, and kept
 * open: a program may remove them as it ends. At its end they are read, and what was hit is written
 * down.
 */
#ifndef KYMO_SYMBOLIZE_JIT_CODE_H
#define KYMO_SYMBOLIZE_JIT_CODE_H

#include <stdint.h>
#include <sys/types.h>

#include "recording/events.h"

/* Modules that are found so are numbered from here on; below lie those of the drain, from 0, and
 * those that wall mode found (wall_stacks.c). */
#define KYMO_JIT_FIRST_MODULE 0xe0000000u

typedef struct kymo_jit_code kymo_jit_code;

/* NULL is allowed in every function but create. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_jit_code_create(pid_t pid, kymo_jit_code **out);
void kymo_jit_code_destroy(kymo_jit_code *jit);

/* Code at this address, outside every module, was in a stack. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_jit_code_hit(kymo_jit_code *jit, uint64_t address);

/* A module of the process. V8 maps the part of its own file that holds its built-in code a second
 * time, beside what it makes: code there is this module's. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_jit_code_module(kymo_jit_code *jit, const kymo_event_module *module);

/* Looks for the files, if it is time; to be called now and then. */
void kymo_jit_code_look(kymo_jit_code *jit, uint64_t now_ns);

/* The process ends, or the recording: reads the files and tells of what was hit. That there are
 * none, or none that can be read, is no error; KYMO_E_NOMEM and what the handler returns are. */
KYMO_NODISCARD
kymo_err kymo_jit_code_write(kymo_jit_code *jit, uint32_t process, const kymo_event_handler *events,
                             void *context);

#endif
