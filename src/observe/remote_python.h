/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote_python.h - Python frames in the stacks of another process's threads that wait.
 *
 * Layer:    observe; above unwind and buffer
 * Flow:     session (where the interpreter is), the process's memory -> [remote_python] ->
 *           wall_find.c; code objects -> the sink
 * Threads:  one at a time
 * Memory:   owns copies of pages and what tells code objects apart
 * Signals:  not for handlers
 *
 * The walk is that of the handler (unwind/python_walk.h), and so is the merge with the native stack
 * (buffer/python_merge.h). A thread that waits leaves its frames as they are, and they keep their
 * code alive; the caller makes sure that it has not run meanwhile. Nothing that is read is
 * believed: it may give wrong frames, and no more.
 */
#ifndef KYMO_OBSERVE_REMOTE_PYTHON_H
#define KYMO_OBSERVE_REMOTE_PYTHON_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "buffer/drain.h"
#include "buffer/python_task.h"
#include "buffer/session.h"
#include "observe/remote.h"
#include "recording/events.h"

/* Where code objects and frames become events. Numbers of code are dense, from 0. */
struct kymo_remote_python_sink {
    kymo_err (*code)(void *context, const struct kymo_drain_code *code);
    kymo_event_frame (*frame)(void *context, const struct kymo_drain_frame *frame);
    void *context;
};

/* What is kept of a thread; of zero bytes: nothing. */
struct kymo_remote_python_thread {
    uint64_t state;    /* of its PyThreadState; 0: not found */
    uint64_t retry_ns; /* it is not looked for before */
    uint64_t retry_after_ns;
};

typedef struct kymo_remote_python kymo_remote_python;

/* *out is NULL where the session names no interpreter that can be read. Stacks have depth frames at
 * most. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_remote_python_create(const struct kymo_remote_python_sink *sink,
                                   const struct kymo_session *session, uint32_t depth,
                                   kymo_remote_python **out);
void kymo_remote_python_destroy(kymo_remote_python *python);

/* A native stack, whose pcs may have KYMO_PC_EXACT. */
struct kymo_remote_python_stack {
    uint64_t *pcs; /* depth of them; Python frames come as words with KYMO_PC_PYTHON */
    const uint64_t *sps;
    size_t n;
    enum kymo_walk_end end;        /* of the native walk, then of the whole stack */
    struct kymo_python_task *task; /* gets the asyncio task; NULL: it is not looked for */
};

/* Puts the thread's Python frames into its native stack. Without a state that can be read, the
 * stack stays as it is. KYMO_E_NOMEM, or the sink's error. */
KYMO_NODISCARD
kymo_err kymo_remote_python_merge(kymo_remote_python *python, const kymo_remote *remote, pid_t tid,
                                  uint64_t now_ns, struct kymo_remote_python_thread *thread,
                                  struct kymo_remote_python_stack *stack);
/* The frame that such a word stands for. */
kymo_event_frame kymo_remote_python_frame(const kymo_remote_python *python, uint64_t word);
/* Whether it is native code of the interpreter. */
int kymo_remote_python_has(const kymo_remote_python *python, uint64_t pc);

#endif
