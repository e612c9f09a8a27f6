/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote_frames.h - the unwind information of files that other processes have mapped, which those
 * of a recording share.
 *
 * Layer:    observe; above unwind
 * Flow:     a mapped file, or the process's memory -> [remote_frames] -> remote.c
 * Threads:  one at a time
 * Memory:   the store owns what it shares; what it does not is the caller's
 * Signals:  not for handlers
 *
 * A process may write to its own copy of what it has mapped, so what is shared is read from the
 * file, once that is known to be the one that is mapped: then no process decides how the stacks of
 * another one are walked. That leaves the pages of the program alone, too. Where the file cannot be
 * told (a file system whose devices have two numbers, a file that was deleted), memory is read, and
 * shared by those who have mapped it.
 */
#ifndef KYMO_OBSERVE_REMOTE_FRAMES_H
#define KYMO_OBSERVE_REMOTE_FRAMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "observe/remote.h"
#include "unwind/module.h"

/* A module that a process has mapped. */
struct kymo_remote_mapped {
    pid_t pid;
    const char *path;                           /* as in /proc/PID/maps */
    uint64_t device_major, device_minor, inode; /* of the file; inode 0: none */
    const unsigned char *headers;               /* the first bytes of the mapping */
    size_t header_bytes;
    const struct kymo_remote_module *module;
    struct kymo_remote_segment segment; /* that has .eh_frame_hdr */
};

struct kymo_remote_frames {
    struct kymo_cfi_image image; /* size 0: none */
    struct kymo_row_slot *rows;  /* of the file, shared; NULL: none */
    unsigned char *own; /* the image's bytes, if the store does not have them; to be freed */
    uint64_t hdr;       /* where its .eh_frame_hdr is, or one that was made (frame_index.h) */
};

/* own_most: of bytes that the store does not take. */
void kymo_remote_frames_get(kymo_remote_store *store, const struct kymo_remote_mapped *mapped,
                            uint64_t own_most, struct kymo_remote_frames *out);

/* Up to size bytes of the file that is mapped, from that offset on, where its memory may not be
 * read; how many could be. mapped->headers and module are not looked at. */
size_t kymo_remote_file(const struct kymo_remote_mapped *mapped, uint64_t offset, void *out,
                        size_t size);

/* Up to size bytes of the process's memory; how many could be read. */
size_t kymo_remote_memory(pid_t pid, uint64_t address, void *out, size_t size);

#endif
