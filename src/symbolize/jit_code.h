/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_code.h - records the names that a process gives to its generated code.
 *
 * Layer:    symbolize; above symbolize
 * Flow:     session_events.c (sampled addresses), perf map, jitdump -> [jit_code] -> writer
 * Threads:  the recorder's one thread
 * Memory:   an object owns its tables and descriptors
 * Signals:  not for handlers
 *
 * A recording must have these names after the files are deleted. So while the process lives, its
 * perf map and jitdump are searched for, rarely, and only once it was sampled outside every module.
 * They are kept open, since a program may delete them when it ends. At its end they are read, and
 * the code with samples is recorded.
 */
#ifndef KYMO_SYMBOLIZE_JIT_CODE_H
#define KYMO_SYMBOLIZE_JIT_CODE_H

#include <stdint.h>
#include <sys/types.h>

#include "recording/events.h"

/* Modules found here are numbered from this on. Numbers below are those of the drain, from 0,
 * and of wall mode (wall_stacks.c). */
#define KYMO_JIT_FIRST_MODULE 0xe0000000u

typedef struct kymo_jit_code kymo_jit_code;

/* NULL is allowed in every function but create. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_jit_code_create(pid_t pid, kymo_jit_code **out);
void kymo_jit_code_destroy(kymo_jit_code *jit);

/* Adds a sampled address of code outside every module. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_jit_code_hit(kymo_jit_code *jit, uint64_t address);

/* Forgets the sampled addresses: the next file needs names of others. */
void kymo_jit_code_forget_hits(kymo_jit_code *jit);

/* Adds a module of the process. V8 maps the part of its file with built-in code a second time,
 * near generated code: code there belongs to this module. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_jit_code_module(kymo_jit_code *jit, const kymo_event_module *module);

/* Searches for the files if it is time; call regularly. */
void kymo_jit_code_look(kymo_jit_code *jit, uint64_t now_ns);

/* At the end of the process or recording: reads the files and records the code with samples.
 * Missing or unreadable files are not an error. KYMO_E_NOMEM, or the handler's error. */
KYMO_NODISCARD
kymo_err kymo_jit_code_write(kymo_jit_code *jit, uint32_t process, const kymo_event_handler *events,
                             void *context);

#endif
