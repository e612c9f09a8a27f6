/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote.h - the stacks of another process's threads, walked from outside while they wait.
 *
 * Layer:    observe; above unwind
 * Flow:     /proc/PID/maps, the process's memory -> [remote] -> wall.c
 * Threads:  one at a time
 * Memory:   owns what it knows of modules; their unwind information is shared
 * Signals:  not for handlers
 *
 * What is not the file's is read from the process's memory (process_vm_readv), which needs what
 * ptrace needs: a parent has it unless the program made itself undumpable (by a set-user-id bit,
 * say). Nothing that is read is believed: it may give a wrong stack, and no more.
 */
#ifndef KYMO_OBSERVE_REMOTE_H
#define KYMO_OBSERVE_REMOTE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "unwind/unwind.h"

#define KYMO_REMOTE_BUILD_ID_MAX 64u

/* The unwind information of files (remote_frames.h). */
typedef struct kymo_remote_store kymo_remote_store;
typedef struct kymo_remote kymo_remote;

KYMO_NODISCARD
kymo_err kymo_remote_store_create(kymo_remote_store **out);
/* NULL is allowed. */
void kymo_remote_store_destroy(kymo_remote_store *store);

/* A module as it is mapped. */
struct kymo_remote_module {
    uint64_t map_start, map_end;
    uint64_t bias;
    uint64_t text_start, text_end; /* of its first executable segment */
    uint64_t text_offset;
    uint64_t eh_frame_hdr; /* address; 0: none */
    uint32_t number;       /* for the caller; UINT32_MAX when it is new */
    uint32_t build_id_len;
    uint8_t build_id[KYMO_REMOTE_BUILD_ID_MAX];
    char *path;
};

/* The store must outlive it. KYMO_E_PERMISSION: the process's memory may not be read. */
KYMO_NODISCARD
kymo_err kymo_remote_create(kymo_remote_store *store, pid_t pid, kymo_remote **out);
void kymo_remote_destroy(kymo_remote *remote);

/* Reads anew what is mapped: after a dlclose, and where a walk found no module. */
KYMO_NODISCARD
kymo_err kymo_remote_refresh(kymo_remote *remote);

/* From now on code in no module may be that of CPython's trampolines (-X perf): walks read it. */
void kymo_remote_has_trampolines(kymo_remote *remote);

/* Walks from *regs, of which the registers in the mask known (by DWARF number) hold. pcs and the
 * result as kymo_unwind_walk's. The thread must be asleep before, and be found unmoved afterwards.
 * Returns 0 when its stack cannot be read. */
size_t kymo_remote_walk(kymo_remote *remote, const struct kymo_regs *regs, uint32_t known,
                        uint64_t *pcs, size_t max, struct kymo_walk_result *result);
/* The same; sps gets the stack pointer of each frame, as kymo_unwind_walk_with_sps does. */
size_t kymo_remote_walk_with_sps(kymo_remote *remote, const struct kymo_regs *regs, uint32_t known,
                                 uint64_t *pcs, uint64_t *sps, size_t max,
                                 struct kymo_walk_result *result);

/* A thread's registers, and its stack from the stack pointer up. */
struct kymo_remote_copy {
    const struct kymo_regs *regs;
    const unsigned char *stack;
    size_t stack_bytes;
};

/* Walks what was copied of a thread at one moment, which may be past: code and modules are those
 * that were read last. */
size_t kymo_remote_walk_copy(kymo_remote *remote, const struct kymo_remote_copy *copy,
                             uint64_t *pcs, size_t max, struct kymo_walk_result *result);

/* The packed row of a pc and where its function begins; 0 if the module says nothing. */
int kymo_remote_row(kymo_remote *remote, uint64_t pc, uint64_t *row, uint64_t *function);
/* Whether a call leads to it, of code that has rows. */
int kymo_remote_is_return(kymo_remote *remote, uint64_t pc);
/* Reads its memory: up to size bytes; how many could be read. */
size_t kymo_remote_read(const kymo_remote *remote, uint64_t address, void *out, size_t size);

/* Whether the process has no memory any more: it ends, or has. */
int kymo_remote_is_gone(pid_t pid);

/* Counts the refreshes that found something gone: what lies at an address may be another's then. */
uint64_t kymo_remote_generation(const kymo_remote *remote);
/* How the names of libraries with a Python interpreter begin. */
#define KYMO_PYTHON_LIBRARY "libpython3."
/* Whether a module may be one, by its name. */
int kymo_remote_has_python(const kymo_remote *remote);
/* Whether the module is the program itself. */
int kymo_remote_is_program(const kymo_remote *remote, const struct kymo_remote_module *module);
/* The module at pc, NULL if there is none; valid until the next refresh. */
struct kymo_remote_module *kymo_remote_module_at(kymo_remote *remote, uint64_t pc);

/* ---- for tests: what is read, as the kernel or the program wrote it ---- */

/* What a thread waits in: /proc/PID/task/TID/syscall. */
struct kymo_remote_call {
    int is_running; /* nothing else is known */
    int number;     /* -1: it waits in no call: in a page fault */
    uint64_t sp, pc;
    uint64_t arguments[6]; /* of the call */
};

int kymo_remote_parse_call(const char *text, struct kymo_remote_call *out);

/* A part of a file, as it is mapped. */
struct kymo_remote_segment {
    uint64_t lo, hi;
    uint64_t offset; /* of lo in the file */
};

#define KYMO_REMOTE_NOTES 4u
/* Reads an ELF header page, found at start, and its program headers. notes receive where its first
 * notes lie, {0, 0} for none; frame_segment what has .eh_frame_hdr, likewise. Returns 0 if it is no
 * module. */
int kymo_remote_parse_headers(const unsigned char *page, size_t size, uint64_t start,
                              struct kymo_remote_module *out,
                              struct kymo_address_range notes[KYMO_REMOTE_NOTES],
                              struct kymo_remote_segment *frame_segment);
void kymo_remote_parse_note(const unsigned char *note, size_t size, struct kymo_remote_module *out);

#endif
