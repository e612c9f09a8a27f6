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

#include "recording/events.h"

/* ---- writing ----------------------------------------------------------------------------------
 *
 * Events are collected and written in blocks; no event costs a system call of its own. What is
 * defined (process, thread, module, stack) must be written before what refers to it; the writer
 * keeps that order in the file.
 *
 * Errors stay: after one, every function of this writer returns it again without doing anything,
 * and the file is cut back to its last whole block, so that it reads up to there. KYMO_E_NO_SPACE
 * is a full disk, a quota or RLIMIT_FSIZE (ignore SIGXFSZ in a process that writes recordings).
 * KYMO_E_INVALID is for an event that no reader would accept, and does not stay. */
typedef struct kymo_recording_writer kymo_recording_writer;

enum {
    /* zlib level 1 for blocks of stacks, samples and markers. Without it only large blocks that are
     * rare (images of modules) are compressed, and those of memory (kymo_recording_hurry). Costs:
     * see doc/format-kymo.md, "Compression". */
    KYMO_RECORDING_COMPRESS = 1,
};

/* fd: writable, at the place where the recording shall begin (an empty file, a pipe); stays the
 * caller's. Writes the file header into the buffer; nothing reaches fd before a flush or a full
 * buffer. */
KYMO_NODISCARD
kymo_err kymo_recording_writer_create(int fd, unsigned flags, kymo_recording_writer **out);
/* The same for a file that is a recording already: fd stands where its END block was, which is to
 * be written anew. Only symbols and the end may follow: other events refer to what was defined
 * before.
 */
KYMO_NODISCARD
kymo_err kymo_recording_writer_continue(int fd, kymo_recording_writer **out);
/* Frees it without flushing. NULL is allowed. */
void kymo_recording_writer_destroy(kymo_recording_writer *writer);

/* Everything that was written so far goes to fd (write(2), no fsync). */
KYMO_NODISCARD
kymo_err kymo_recording_flush(kymo_recording_writer *writer);
/* Whether there is more to be written than time for it: then blocks of memory are written as they
 * are. At first there is not. */
void kymo_recording_hurry(kymo_recording_writer *writer, int hurries);
/* A flight recorder: of samples, markers and values of counters only the newest are kept, at most
 * most_bytes of them, in memory until the end, and with them the labels that they have. To be
 * called before the first of them. */
void kymo_recording_keep_newest(kymo_recording_writer *writer, uint64_t most_bytes);
/* Segments: keeps what is needed to begin another file while events go on. To be called before the
 * first event. */
void kymo_recording_keep_definitions(kymo_recording_writer *writer);
/* What is written from now on goes to fd, as a recording of its own. It begins with what there is:
 * the same META, processes and threads that have not ended, with what is defined of them, the
 * values of their counters, their labels and the blocks of memory that live. Stacks come when they
 * are referred to. Losses, quality and counts of allocations go on from where they are.
 *
 * The segment before has to be ended (kymo_recording_write_end) or flushed: what is pending of it
 * is forgotten. The old descriptor stays the caller's. KYMO_E_INVALID: definitions are not kept.
 * Any other error stays, as everywhere. */
KYMO_NODISCARD
kymo_err kymo_recording_begin_segment(kymo_recording_writer *writer, int fd);
/* Whether the blocks that live are known of every process that has not ended: not of one that has
 * more than 2^20 of them, whose allocations are all recorded (rate 1: the table would cost too
 * much), or that was forked with blocks that its parent has freed meanwhile. A segment has a note
 * for each process of which they are not known. 0, too, if definitions are not kept. */
int kymo_recording_knows_blocks(const kymo_recording_writer *writer);
/* Writes what is kept in memory, and what was dropped; from then on everything is kept, in the
 * file. Without kymo_recording_keep_newest it does nothing. The end does it, too. */
KYMO_NODISCARD
kymo_err kymo_recording_write_kept(kymo_recording_writer *writer);
/* The error that stays, KYMO_OK while there is none; *detail (may be NULL) is filled with it. */
kymo_err kymo_recording_error(const kymo_recording_writer *writer, kymo_error *detail);
/* Bytes that have reached fd, for progress. */
uint64_t kymo_recording_bytes(const kymo_recording_writer *writer);

/* One function per event: kymo_recording_write_meta(writer, event) and so on. meta is the first,
 * end the last; end flushes. */
#define X(name, type) \
    KYMO_NODISCARD    \
    kymo_err kymo_recording_write_##name(kymo_recording_writer *w, const kymo_event_##type *event);
KYMO_EVENT_LIST(X)
#undef X

/* The same functions as a handler, ctx being the writer: a drain that speaks to a
 * kymo_event_handler can record, or ingest without a file; a reader can copy. */
extern const kymo_event_handler kymo_recording_write_handler;

/* ---- reading ----------------------------------------------------------------------------------
 *
 * Bounded and total: any bytes give events, and a clear statement of how far they are good. Time is
 * linear in the size of the input (and of what it decompresses to); memory is a few blocks plus
 * tables of less than the input's size. */

/* How the input ended. Everything before was delivered. */
typedef enum kymo_recording_ending {
    KYMO_RECORDING_ENDED,  /* with an END block: the recording is whole */
    KYMO_RECORDING_NO_END, /* between two blocks: the recorder was killed, or its disk was full */
    KYMO_RECORDING_TRUNCATED, /* within a block: the same, or the file was cut */
    KYMO_RECORDING_CORRUPT,   /* at a block that cannot be trusted, nor skipped */
} kymo_recording_ending;

typedef struct kymo_recording_damage {
    uint64_t blocks;         /* with a wrong checksum or content; skipped */
    uint64_t references;     /* events that speak of something that was never announced; dropped */
    uint64_t duplicates;     /* events that announce something again; dropped */
    uint64_t values;         /* events with an impossible value (a time, a weight); dropped */
    uint64_t unknown_blocks; /* of a newer version, skippable: not damage, but not shown either */
} kymo_recording_damage;

typedef struct kymo_recording_report {
    kymo_recording_ending ending;
    uint64_t position; /* where the input ended or reading stopped, in bytes */
    uint64_t end_at;   /* where the END block begins; 0: there is none */
    uint64_t events;   /* delivered; each sample counts */
    uint16_t major;    /* version of the format */
    uint16_t minor;
    kymo_recording_damage damage;
    char text[160]; /* one line on ending and damage; "" for a recording that is whole */
} kymo_recording_report;

enum {
    /* Whatever is damaged is an error: KYMO_E_TRUNCATED or KYMO_E_CORRUPT. */
    KYMO_RECORDING_STRICT = 1,
    /* A file from its beginning, wherever fd's offset is, which stays there: of a recording that is
     * being written, or that another process writes through the same descriptor. */
    KYMO_RECORDING_BY_OFFSET = 2,
};

/* Reads from fd (a file, a pipe) to its end. KYMO_OK when there was a recording to read, however
 * short: then *report tells how it ended. Else KYMO_E_CORRUPT (not a recording), KYMO_E_TRUNCATED
 * (ends before its first event), KYMO_E_VERSION, KYMO_E_NOMEM, KYMO_E_IO or what the handler
 * returned, and *report is not written. report and detail may be NULL. */
KYMO_NODISCARD
kymo_err kymo_recording_read_fd(int fd, unsigned flags, const kymo_event_handler *handler,
                                void *ctx, kymo_recording_report *report, kymo_error *detail);
/* The same from len bytes of memory. */
KYMO_NODISCARD
kymo_err kymo_recording_read_memory(const void *data, size_t len, unsigned flags,
                                    const kymo_event_handler *handler, void *ctx,
                                    kymo_recording_report *report, kymo_error *detail);

#endif
