/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording.h - opens a .kymo recording as a profile.
 *
 * Flow:     .kymo file -> [load] -> profile.h -> symbolizer, encode.h, report.h
 * Threads:  any; each call stands for itself
 * Memory:   the caller owns the profile and the info that it gets
 * Signals:  not for handlers
 *
 * Names of code are those stored in the file; other files are not looked at.
 *
 * Any file gives a profile or a clear error. A file that was cut, because its recorder was killed
 * or its disk was full, gives everything up to the cut; kymo_recording_info says so.
 */
#ifndef KYMO_RECORDING_H
#define KYMO_RECORDING_H

#include <stddef.h>
#include <stdint.h>

#include "kymo/error.h"
#include "kymo/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kymo_recording_severity {
    KYMO_RECORDING_INFO = 0,
    KYMO_RECORDING_WARNING = 1,
    KYMO_RECORDING_ERROR = 2,
} kymo_recording_severity;

/* Something that the recorder wanted a person to know: "child 123 not recorded: ...". */
typedef struct kymo_recording_note {
    uint64_t time_ns; /* CLOCK_MONOTONIC; 0: not known */
    uint32_t process; /* id in the profile; KYMO_NONE: of the whole recording */
    uint32_t severity;
    const char *text; /* one line */
} kymo_recording_note;

/* The bytes of a module that is no file (the vDSO), as an ELF image. */
typedef struct kymo_recording_image {
    uint32_t module; /* id in the profile */
    uint32_t len;
    const uint8_t *bytes;
} kymo_recording_image;

/* What a recording says that a profile has no place for. */
typedef struct kymo_recording_info {
    uint32_t size;         /* of this structure; set by the caller */
    uint16_t major, minor; /* version of the file's format */
    uint32_t whole;        /* 1: finished by its recorder, and nothing in it is damaged */
    uint32_t clean;        /* 1: the recorder finished after the program had ended */
    uint64_t size_bytes;   /* of the file, as far as it was read */
    char damage[160];      /* one line on what is missing or damaged; "" if whole */
    uint32_t hz;           /* ticks of the kernel a second; 0: not known */
    uint32_t note_count;
    uint32_t image_count;
    uint32_t reserved;
    /* All text below, notes and images live until kymo_recording_info_deinit; no text is NULL. */
    const char *engine_reason;
    const char *options; /* as of KYMO_OPTIONS */
    const kymo_recording_note *notes;
    const kymo_recording_image *images;
    void *owner; /* private */
} kymo_recording_info;

/* Reads path ("-": standard input). On success *out is a finished profile, to be destroyed with
 * kymo_profile_destroy; info may be NULL, else it is filled and to be deinit'ed. On failure neither
 * is touched, and *detail (may be NULL) says where and why:
 *   KYMO_E_NOT_FOUND, KYMO_E_PERMISSION, KYMO_E_IO   the file cannot be opened or read
 *   KYMO_E_CORRUPT    it is not a recording, or damaged from the beginning
 *   KYMO_E_TRUNCATED  it ends before anything was recorded
 *   KYMO_E_VERSION    a newer Kymo wrote it
 *   KYMO_E_TOO_BIG    it has more than a profile holds
 *   KYMO_E_NOMEM */
KYMO_API kymo_err kymo_recording_load(const char *path, kymo_profile **out,
                                      kymo_recording_info *info, kymo_error *detail);
/* The same from a file that is open, from its first byte on: the offset of fd is neither used nor
 * moved, so that the file may still be written through it. A pipe is read to its end. */
KYMO_API kymo_err kymo_recording_load_fd(int fd, kymo_profile **out, kymo_recording_info *info,
                                         kymo_error *detail);
/* The same from memory, which may be freed afterwards. */
KYMO_API kymo_err kymo_recording_load_memory(const void *data, size_t len, kymo_profile **out,
                                             kymo_recording_info *info, kymo_error *detail);
/* Frees what info points to. An info of zero bytes is allowed. */
KYMO_API void kymo_recording_info_deinit(kymo_recording_info *info);

#ifdef __cplusplus
}
#endif

#endif
