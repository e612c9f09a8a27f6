/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_write_event.h - the state of a writer, and how each event is written.
 *
 * Layer:    recording
 * Flow:     recording_write_*.c (events of one family) -> [event] -> chunk_out
 * Threads:  the writer's
 * Memory:   the writer's
 * Signals:  not for handlers
 *
 * Each event is written by may_write, begin, put_..., finish. It is assembled in w->event; an error
 * on the way is stored in w->event_error, which finish checks.
 */
#ifndef KYMO_RECORDING_RECORDING_WRITE_EVENT_H
#define KYMO_RECORDING_RECORDING_WRITE_EVENT_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/id_map.h"
#include "base/vec.h"
#include "recording/chunk_out.h"
#include "recording/recording.h"
#include "recording/recording_calls.h"
#include "recording/recording_format.h"
#include "recording/recording_kept.h"
#include "recording/recording_ring.h"

#define KYMO_PENDING_BYTES (64u << 10) /* limit of a pending chunk, plus one event */

/* Rows of one kind: the payload of a chunk that is still open. Its head is filled in when it
 * closes. */
struct kymo_pending_rows {
    enum kymo_chunk_type type;
    kymo_bytes bytes;
    uint32_t group_count;
    size_t group_at; /* offset of the open group */
    /* Values of the last row. */
    uint64_t time_ns;
    uint64_t id, address, count; /* of memory rows */
};

/* An open chunk of traced calls. */
struct kymo_pending_calls {
    kymo_bytes bytes;
    uint32_t groups;
    uint64_t position; /* of the calls that are written from events */
};

struct kymo_recording_writer {
    kymo_chunk_out out;
    struct kymo_recording_ring ring;
    struct kymo_recording_kept kept;
    size_t pending_bytes; /* a pending chunk is closed at this size */
    unsigned flags;
    int hurries; /* events come faster than they can be written */
    int has_meta;
    int ended;
    uint64_t end_at;      /* offset of the END chunk, once it is written */
    size_t sample_bytes;  /* size in the file: of version 1.0, or with the members for wall
                           * samples */
    kymo_bytes event;     /* scratch: the payload of the event being written */
    kymo_err event_error; /* error while it was assembled */
    kymo_bytes stacks;    /* pending payload of a STACKS chunk; its head is filled in when it
                           * closes */
    uint32_t stack_count;
    uint32_t stack_process;
    KYMO_VEC(kymo_event_frame) last; /* frames of the last pending stack */
    kymo_bytes samples;              /* pending payload of a SAMPLES chunk */
    uint32_t group_count;
    size_t group_at; /* offset of the open group in `samples` */
    struct kymo_pending_calls calls;
    union {
        struct {
            struct kymo_pending_rows markers, counts, labels, memory;
        };
        struct kymo_pending_rows rows[4];
    };
};

/* Calls a function of recording_kept.h if definitions are kept; its error stays. */
#define KYMO_KEEP(w, expr)                                            \
    do {                                                              \
        kymo_err kymo_keep_err_ = (w)->kept.is_on ? (expr) : KYMO_OK; \
        if (kymo_keep_err_ != KYMO_OK)                                \
            return kymo_chunk_out_fail(&(w)->out, kymo_keep_err_);    \
    } while (0)

/* Checks that every event does first. */
KYMO_NODISCARD
kymo_err kymo_writer_may_write(const kymo_recording_writer *w);
/* Begins an event of a chunk with a layout: fixed part and texts; lists may follow. */
#define kymo_writer_begin_event(w, type, e) kymo_writer_begin_bytes((w), (type), (e), sizeof *(e))
void kymo_writer_begin_bytes(kymo_recording_writer *w, enum kymo_chunk_type type, const void *event,
                             size_t event_bytes);
/* Begins any other chunk; fixed begins with its size. */
void kymo_writer_begin(kymo_recording_writer *w, const void *fixed);
void kymo_writer_put_bytes(kymo_recording_writer *w, const void *data, size_t len);
/* Appends a text with its NUL; NULL is "". */
void kymo_writer_put_text(kymo_recording_writer *w, const char *text);
/* KYMO_E_INVALID: the event exceeds a chunk; any other error stays. */
KYMO_NODISCARD
kymo_err kymo_writer_finish(kymo_recording_writer *w, enum kymo_chunk_type type, int compress);

/* Closes pending chunks. Samples and markers refer to stacks, so stacks come first. */
/* recording_write_stacks.c */
KYMO_NODISCARD
kymo_err kymo_writer_close_stacks(kymo_recording_writer *w);
/* recording_write_samples.c */
KYMO_NODISCARD
kymo_err kymo_writer_close_samples(kymo_recording_writer *w);
/* recording_write_calls.c */
void kymo_writer_init_calls(kymo_recording_writer *w);
void kymo_writer_deinit_calls(kymo_recording_writer *w);
void kymo_writer_drop_calls(kymo_recording_writer *w);
KYMO_NODISCARD
kymo_err kymo_writer_close_calls(kymo_recording_writer *w);
/* recording_write_rows.c */
void kymo_writer_init_rows(kymo_recording_writer *w);
void kymo_writer_deinit_rows(kymo_recording_writer *w);
void kymo_writer_drop_rows(kymo_recording_writer *w);
KYMO_NODISCARD
kymo_err kymo_writer_close_rows(kymo_recording_writer *w);
/* recording_write.c: writes a chunk of samples or rows to the file, or adds it to the ring. */
KYMO_NODISCARD
kymo_err kymo_writer_put_chunk(kymo_recording_writer *w, enum kymo_chunk_type type,
                               kymo_bytes *payload, int compress);
/* recording_write_calls.c: a group of calls as it is, with a copy of its bytes. */
KYMO_NODISCARD
kymo_err kymo_writer_put_calls(kymo_recording_writer *w, const kymo_event_raw_calls *e);
/* The same, of calls that run. What comes next of the thread goes on where `then` is. */
KYMO_NODISCARD
kymo_err kymo_writer_put_open_calls(kymo_recording_writer *w, uint32_t thread,
                                    const kymo_event_call *calls, uint32_t count,
                                    const struct kymo_call_state *then);
/* recording_write_rows.c: writes a marker, or a label, that is kept already. */
KYMO_NODISCARD
kymo_err kymo_writer_put_marker(kymo_recording_writer *w, const kymo_event_marker *e);
KYMO_NODISCARD
kymo_err kymo_writer_put_label(kymo_recording_writer *w, const kymo_event_label *e);
/* recording_write.c: all of the above. */
KYMO_NODISCARD
kymo_err kymo_writer_close_all(kymo_recording_writer *w);

#endif
