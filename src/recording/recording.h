/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording.h - writes and reads .kymo files (doc/format-kymo.md).
 *
 * Layer:    recording; above profile (events.h), base
 * Flow:     recorder's drain -> [writer] -> file -> [reader] -> profile/ingest.c
 * Threads:  a writer has one owner at a time; a read is one call
 * Memory:   a writer owns its buffers, not its descriptor; a reader frees all it took on return
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDING_RECORDING_H
#define KYMO_RECORDING_RECORDING_H

#include "base/key_map.h"
#include "recording/events.h"

/* ---- writing ----------------------------------------------------------------------------------
 *
 * Events are buffered and written in chunks; an event does not cost a system call. Definitions
 * (process, thread, module, stack) must be written before events that refer to them; the writer
 * keeps that order in the file.
 *
 * Errors stay: after an error, all functions of this writer do nothing and return it. The file
 * is truncated to its last whole chunk, so it can be read up to there. KYMO_E_NO_SPACE means a
 * full disk, a quota or RLIMIT_FSIZE (ignore SIGXFSZ in a process that writes recordings).
 * KYMO_E_INVALID is for an event that no reader would accept; it does not stay. */
typedef struct kymo_recording_writer kymo_recording_writer;

enum {
    /* Compresses chunks of stacks, samples and markers with zlib level 1. Without it only chunks
     * of memory (kymo_recording_hurry) and large rare chunks (images of modules) are compressed.
     * Costs: see doc/format-kymo.md, "Compression". */
    KYMO_RECORDING_COMPRESS = 1,
    /* For a recording in intervals. An error of writing is no error of the function that wrote:
     * the file ends there, and events go on to be kept for the next interval
     * (kymo_recording_missed tells). The table of live allocations is kept where each allocation is
     * recorded, too. */
    KYMO_RECORDING_INTERVALS = 2,
};

/* fd: writable, positioned where the recording begins (an empty file, a pipe); the caller keeps
 * it. The file header is only buffered: nothing is written to fd before a flush or a full
 * buffer. */
KYMO_NODISCARD
kymo_err kymo_recording_writer_create(int fd, unsigned flags, kymo_recording_writer **out);
/* Continues a recording: fd is positioned where its END chunk was, which must be written again.
 * Only symbols and the end may follow: other events would refer to earlier definitions. */
KYMO_NODISCARD
kymo_err kymo_recording_writer_continue(int fd, kymo_recording_writer **out);
/* Frees it without flushing. NULL is allowed. */
void kymo_recording_writer_destroy(kymo_recording_writer *writer);

/* Writes all buffered events to fd (write(2), no fsync). */
KYMO_NODISCARD
kymo_err kymo_recording_flush(kymo_recording_writer *writer);
/* Whether events come faster than they can be written. If so, chunks of memory are not
 * compressed. Initially 0. */
void kymo_recording_hurry(kymo_recording_writer *writer, int hurries);
/* Makes this a flight recorder: keeps only the newest samples, markers and counter values, at
 * most most_bytes, in memory until the end, with their labels. Call before the first of them. */
void kymo_recording_keep_newest(kymo_recording_writer *writer, uint64_t most_bytes);
/* For segments: keeps what is needed to begin another file later. Call before the first event. */
void kymo_recording_keep_definitions(kymo_recording_writer *writer);
/* Begins a segment: later events go to fd, as a separate recording. It begins with the current
 * state: the same META, the live processes and threads with their definitions, counter values,
 * labels and live allocations. Stacks are written when events refer to them. Losses, quality and
 * counts of allocations continue from their values.
 *
 * The segment before must have been ended (kymo_recording_write_end) or flushed: its buffered
 * events are dropped. The caller keeps the old descriptor. KYMO_E_INVALID: definitions are not
 * kept. Any other error stays, as everywhere. */
KYMO_NODISCARD
kymo_err kymo_recording_begin_segment(kymo_recording_writer *writer, int fd);
/* When an interval begins: the end of the one before it. */
struct kymo_interval_start {
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    uint64_t start_realtime_ns;
};
/* The same for an interval of a recording that has several, each a profile of its own: its META
 * says when it began, and losses, quality, counts of allocations and of markers that were lost, and
 * the CPU time of threads and processes that end in it count from there. */
KYMO_NODISCARD
kymo_err kymo_recording_begin_interval(kymo_recording_writer *writer, int fd,
                                       const struct kymo_interval_start *start);
/* Segments that begin later say these periods in their META; of wall time only if it was recorded
 * from the start. Does nothing if definitions are not kept. */
void kymo_recording_set_periods(kymo_recording_writer *writer, uint64_t period_ns,
                                uint64_t wall_period_ns);
/* All events of the process up to this time have been written: what lives is known as it was then,
 * in whatever order the events of different threads came. */
KYMO_NODISCARD
kymo_err kymo_recording_settle(kymo_recording_writer *writer, uint32_t process, uint64_t read_ns);
/* How many stacks of a process the writer keeps, for later segments. */
size_t kymo_recording_kept_stacks(const kymo_recording_writer *writer, uint32_t process);
/* And how many modules that were unloaded. */
size_t kymo_recording_kept_unloads(const kymo_recording_writer *writer, uint32_t process);
/* Forgets those stacks of a process that are not in used, whose keys are ids: no later event refers
 * to them; and modules that were unloaded in an earlier segment, and that no stack needs. What
 * lives, and intervals that have not ended, keep their stacks; they are added to used.
 * KYMO_E_NOMEM: less is forgotten. */
KYMO_NODISCARD
kymo_err kymo_recording_sweep_stacks(kymo_recording_writer *writer, uint32_t process,
                                     kymo_key_map *used);
/* Calls take for each address of generated code (of no module) that stacks in the present segment
 * have, once for each frame; nothing if definitions are not kept. KYMO_E_NOMEM, or take's error. */
KYMO_NODISCARD
kymo_err kymo_recording_segment_code(const kymo_recording_writer *writer, uint32_t process,
                                     kymo_err (*take)(void *context, uint64_t address),
                                     void *context);
/* Whether the live allocations of all live processes are known. They are not known for a process
 * whose allocations are all recorded (rate 1: the table would cost too much), that has more than
 * 2^20 of them, or that inherited allocations which its parent has freed meanwhile. A segment has a
 * note for each such process, which says how many are missing. Returns 0 also if definitions are
 * not kept, and if labels that a process has from its parent are not known. */
int kymo_recording_knows_allocations(const kymo_recording_writer *writer);
/* Ends the flight recorder: writes what is kept in memory and the counts of what was dropped.
 * Later events go to the file. Does nothing without kymo_recording_keep_newest. The end event
 * does it, too. */
KYMO_NODISCARD
kymo_err kymo_recording_write_kept(kymo_recording_writer *writer);
/* Copies the recording so far to an empty file, and ends it there: for a forked child that has a
 * copy of the writer, whose parent goes on. The writer has been flushed before the fork; from: the
 * descriptor that it writes, for reading. The writer writes to `to` from then on. */
KYMO_NODISCARD
kymo_err kymo_recording_snapshot(kymo_recording_writer *writer, int from, int to, uint64_t end_ns);
/* The error that stays, or KYMO_OK; also in *detail (may be NULL). */
kymo_err kymo_recording_error(const kymo_recording_writer *writer, kymo_error *detail);
/* With KYMO_RECORDING_INTERVALS: the error that the present segment's file ended by, or KYMO_OK. */
kymo_err kymo_recording_missed(const kymo_recording_writer *writer, kymo_error *detail);
/* Whether all events are in the file, or will be: not if the newest are kept in memory. */
int kymo_recording_keeps_all(const kymo_recording_writer *writer);
/* When the end has been written: its offset in the file, before which everything else is. */
uint64_t kymo_recording_end_at(const kymo_recording_writer *writer);
/* Bytes that have reached fd, for progress. */
uint64_t kymo_recording_bytes(const kymo_recording_writer *writer);

/* One function per event: kymo_recording_write_meta(writer, event) and so on. meta is the first,
 * end the last; end flushes. */
#define X(name, type) \
    KYMO_NODISCARD    \
    kymo_err kymo_recording_write_##name(kymo_recording_writer *w, const kymo_event_##type *event);
KYMO_EVENT_LIST(X)
#undef X
KYMO_NODISCARD
kymo_err kymo_recording_write_raw_calls(kymo_recording_writer *w,
                                        const kymo_event_raw_calls *event);

/* The same functions as a handler, with the writer as ctx. So a drain that calls a
 * kymo_event_handler can record, or ingest without a file, and a reader can copy. */
extern const kymo_event_handler kymo_recording_write_handler;

/* ---- reading ----------------------------------------------------------------------------------
 *
 * Bounded and total: any input gives events, and a report of how far it is good. Time is linear
 * in the size of the (decompressed) input; memory is a few chunks plus tables smaller than the
 * input. */

/* How the input ended. All events before were delivered. */
typedef enum kymo_recording_ending {
    KYMO_RECORDING_ENDED,  /* with an END chunk: complete */
    KYMO_RECORDING_NO_END, /* after a whole chunk: the recorder was killed, or the disk was full */
    KYMO_RECORDING_TRUNCATED, /* within a chunk: the same, or the file was cut */
    KYMO_RECORDING_CORRUPT,   /* at a broken chunk that cannot be skipped */
} kymo_recording_ending;

typedef struct kymo_recording_damage {
    uint64_t chunks;         /* with a wrong checksum or content; skipped */
    uint64_t references;     /* events that refer to an unknown id; dropped */
    uint64_t duplicates;     /* events that announce an id again; dropped */
    uint64_t values;         /* events with an impossible value (a time, a weight); dropped */
    uint64_t unknown_chunks; /* of a newer version, skippable: not damage, but not shown */
} kymo_recording_damage;

typedef struct kymo_recording_report {
    kymo_recording_ending ending;
    uint64_t position; /* where the input ended or reading stopped, in bytes */
    uint64_t end_at;   /* offset of the END chunk; 0: none */
    uint64_t events;   /* each sample counts; of traced calls those that were decoded, else about */
    uint16_t major;    /* version of the format */
    uint16_t minor;
    kymo_recording_damage damage;
    char text[160]; /* one line on ending and damage; "" if complete */
} kymo_recording_report;

enum {
    /* Any damage is an error: KYMO_E_TRUNCATED or KYMO_E_CORRUPT. */
    KYMO_RECORDING_STRICT = 1,
    /* Reads a file from its beginning without changing fd's offset: for a recording that is
     * being written, possibly by another process through the same descriptor. */
    KYMO_RECORDING_BY_OFFSET = 2,
    /* Checksums of traced calls are not compared: for a first look at what is read again with them.
     */
    KYMO_RECORDING_UNCHECKED_CALLS = 4,
};

/* Reads from fd (a file, a pipe) to its end. KYMO_OK if there was a recording, even an
 * incomplete one: *report tells how it ended. Else KYMO_E_CORRUPT (not a recording),
 * KYMO_E_TRUNCATED (ends before its first event), KYMO_E_VERSION, KYMO_E_NOMEM, KYMO_E_IO or the
 * handler's error, and *report is not written. report and detail may be NULL. */
KYMO_NODISCARD
kymo_err kymo_recording_read_fd(int fd, unsigned flags, const kymo_event_handler *handler,
                                void *ctx, kymo_recording_report *report, kymo_error *detail);
/* The same for len bytes of memory. */
KYMO_NODISCARD
kymo_err kymo_recording_read_memory(const void *data, size_t len, unsigned flags,
                                    const kymo_event_handler *handler, void *ctx,
                                    kymo_recording_report *report, kymo_error *detail);

/* One interval (kymo_recording_begin_interval), or a recording that has one alone. */
struct kymo_recording_interval {
    int fd;         /* a file, which is read by offset */
    uint64_t bytes; /* as far as it is read; UINT64_MAX: to its end */
};

/* Successive intervals that one writer wrote, the first one first. */
struct kymo_recording_intervals {
    const struct kymo_recording_interval *intervals;
    size_t count;
    uint64_t end_ns; /* when the last one ends */
};

/* Reads intervals as one recording, which begins with the first of them: what a later one repeats
 * is left out, and figures that count from the begin of an interval count from the first one's.
 * The files may be written meanwhile, but not before `bytes`. Errors are as above. */
KYMO_NODISCARD
kymo_err kymo_recording_read_intervals(const struct kymo_recording_intervals *intervals,
                                       const kymo_event_handler *handler, void *ctx,
                                       kymo_recording_report *report, kymo_error *detail);

#endif
