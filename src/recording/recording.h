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
/* Writes what is kept in memory, and what was dropped; from then on everything is kept, in the
 * file. Without kymo_recording_keep_newest it does nothing. The end does it, too. */
KYMO_NODISCARD
kymo_err kymo_recording_write_kept(kymo_recording_writer *writer);
/* The error that stays, KYMO_OK while there is none; *detail (may be NULL) is filled with it. */
kymo_err kymo_recording_error(const kymo_recording_writer *writer, kymo_error *detail);
/* Bytes that have reached fd, for progress. */
uint64_t kymo_recording_bytes(const kymo_recording_writer *writer);

/* One function per event. meta is the first, end the last; end flushes. */
KYMO_NODISCARD
kymo_err kymo_recording_write_meta(kymo_recording_writer *w, const kymo_event_meta *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_process(kymo_recording_writer *w, const kymo_event_process *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_process_end(kymo_recording_writer *w,
                                          const kymo_event_process_end *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_thread(kymo_recording_writer *w, const kymo_event_thread *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_thread_name(kymo_recording_writer *w,
                                          const kymo_event_thread_name *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_thread_end(kymo_recording_writer *w,
                                         const kymo_event_thread_end *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_module(kymo_recording_writer *w, const kymo_event_module *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_module_unload(kymo_recording_writer *w,
                                            const kymo_event_module_unload *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_module_image(kymo_recording_writer *w,
                                           const kymo_event_module_image *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_stack(kymo_recording_writer *w, const kymo_event_stack *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_wait(kymo_recording_writer *w, const kymo_event_wait *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_samples(kymo_recording_writer *w, const kymo_event_samples *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_code(kymo_recording_writer *w, const kymo_event_code *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_kernel_symbol(kymo_recording_writer *w,
                                            const kymo_event_kernel_symbol *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_kernel_stack(kymo_recording_writer *w,
                                           const kymo_event_kernel_stack *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_marker_category(kymo_recording_writer *w,
                                              const kymo_event_marker_category *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_marker_type(kymo_recording_writer *w,
                                          const kymo_event_marker_type *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_site(kymo_recording_writer *w, const kymo_event_site *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_literal(kymo_recording_writer *w, const kymo_event_named *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_track(kymo_recording_writer *w, const kymo_event_named *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_counter(kymo_recording_writer *w, const kymo_event_counter *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_marker(kymo_recording_writer *w, const kymo_event_marker *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_count(kymo_recording_writer *w, const kymo_event_count *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_label(kymo_recording_writer *w, const kymo_event_label *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_site_counts(kymo_recording_writer *w,
                                          const kymo_event_site_counts *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_allocation(kymo_recording_writer *w,
                                         const kymo_event_allocation *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_free(kymo_recording_writer *w, const kymo_event_free *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_resize(kymo_recording_writer *w, const kymo_event_resize *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_mapping(kymo_recording_writer *w, const kymo_event_mapping *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_inherit(kymo_recording_writer *w, const kymo_event_inherit *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_heap(kymo_recording_writer *w, const kymo_event_heap *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_ledger(kymo_recording_writer *w, const kymo_event_ledger *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_memory_info(kymo_recording_writer *w,
                                          const kymo_event_memory_info *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_symbols(kymo_recording_writer *w, const kymo_event_symbols *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_loss(kymo_recording_writer *w, const kymo_event_loss *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_quality(kymo_recording_writer *w, const kymo_event_quality *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_dropped(kymo_recording_writer *w, const kymo_event_dropped *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_note(kymo_recording_writer *w, const kymo_event_note *event);
KYMO_NODISCARD
kymo_err kymo_recording_write_end(kymo_recording_writer *w, const kymo_event_end *event);

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
