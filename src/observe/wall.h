/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wall.h - wall time: what each thread of a process does, or waits in, at moments of elapsed time.
 *
 * Layer:    observe
 * Flow:     watch.c (who moved), remote.c (stacks), drain (CPU samples) -> [wall] -> events
 * Threads:  the recorder's main thread
 * Memory:   its own tables; the shared part is one for all processes of a recording
 * Signals:  not for handlers; a thread whose stack cannot be read from outside is sent one
 *
 *   create -> begin, cpu_sample, answer, end as the drain tells; tick ... -> finish -> destroy
 *
 * Ticks are looks at all threads. The time of a thread between two of them is given to what the
 * later one finds. One that waits and has not moved since costs nothing: its sample is written when
 * it moves, or after a second, and stands for all the time. One that runs gets the stack of its CPU
 * sample nearest to the tick.
 */
#ifndef KYMO_OBSERVE_WALL_H
#define KYMO_OBSERVE_WALL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/key_map.h"
#include "buffer/drain.h"
#include "buffer/python_task.h"
#include "buffer/session.h"
#include "observe/remote_python.h"
#include "recording/events.h"
#include "symbolize/jit_code.h"

/* What the processes of a recording have in common. */
typedef struct kymo_wall_shared kymo_wall_shared;
typedef struct kymo_wall kymo_wall;

KYMO_NODISCARD
kymo_err kymo_wall_shared_create(uint64_t period_ns, const kymo_event_handler *events,
                                 void *context, kymo_wall_shared **out);
void kymo_wall_shared_destroy(kymo_wall_shared *shared);
/* Whether a tick is due; if so, when the next one will be is set. */
int kymo_wall_due(kymo_wall_shared *shared, uint64_t now_ns);
/* When it will be. */
uint64_t kymo_wall_next_ns(const kymo_wall_shared *shared);
/* From one to the next, on the average. */
uint64_t kymo_wall_period_ns(const kymo_wall_shared *shared);
void kymo_wall_set_period(kymo_wall_shared *shared, uint64_t period_ns, uint64_t now_ns);

/* A process. session, next_thread, the number of the recording's next thread, and jit,
 * which may be NULL, outlive it. */
KYMO_NODISCARD
kymo_err kymo_wall_create(kymo_wall_shared *shared, struct kymo_session *session, pid_t pid,
                          uint32_t process, uint32_t *next_thread, kymo_jit_code *jit,
                          kymo_wall **out);
void kymo_wall_destroy(kymo_wall *wall);
/* Before the first tick: where Python's code and frames become events. KYMO_E_NOMEM: there will be
 * none. */
KYMO_NODISCARD
kymo_err kymo_wall_set_python(kymo_wall *wall, const struct kymo_remote_python_sink *sink);

/* A look at every thread. */
KYMO_NODISCARD
kymo_err kymo_wall_tick(kymo_wall *wall, uint64_t now_ns);
/* From now on ticks find nothing, and the time of no thread is accounted for; what lasted is
 * written. Then it is again, from that moment on. */
KYMO_NODISCARD
kymo_err kymo_wall_pause(kymo_wall *wall, uint64_t now_ns);
KYMO_NODISCARD
kymo_err kymo_wall_resume(kymo_wall *wall, uint64_t now_ns);
/* Writes what lasts, up to a tick before the last. */
KYMO_NODISCARD
kymo_err kymo_wall_flush(kymo_wall *wall);
/* Adds the stacks that samples may still name. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_wall_use_stacks(const kymo_wall *wall, kymo_key_map *used);
/* Writes what is still to be written of threads that live. */
KYMO_NODISCARD
kymo_err kymo_wall_finish(kymo_wall *wall, uint64_t end_ns);

/* The process has no handler of ours any more: from now on no thread is asked for its stack. */
void kymo_wall_set_deaf(kymo_wall *wall);

/* Calls that returned EINTR since their threads were asked for their stacks. */
uint64_t kymo_wall_disturbed(const kymo_wall *wall);

/* What the drain tells. drained: its number of the thread; thread: the recording's. Stacks are
 * those of the drain, which are events already. */
KYMO_NODISCARD
kymo_err kymo_wall_thread_begin(kymo_wall *wall, uint32_t drained, uint32_t thread, pid_t tid,
                                uint64_t start_ns);
KYMO_NODISCARD
kymo_err kymo_wall_thread_end(kymo_wall *wall, uint32_t drained, uint64_t end_ns);
/* task: that it is labelled with; NULL: none. */
KYMO_NODISCARD
kymo_err kymo_wall_cpu_sample(kymo_wall *wall, uint32_t drained, uint64_t time_ns, uint32_t stack,
                              const struct kymo_python_task *task);
/* A thread was asked for its stack, and this is it. */
KYMO_NODISCARD
kymo_err kymo_wall_answer(kymo_wall *wall, const struct kymo_drain_answer *answer);

/* A thread that has no slot, and takes none though it was called. */
KYMO_NODISCARD
kymo_err kymo_wall_stranger(kymo_wall *wall, pid_t tid, uint64_t now_ns);
/* It is gone, or has a slot by now. */
KYMO_NODISCARD
kymo_err kymo_wall_stranger_end(kymo_wall *wall, pid_t tid, uint64_t end_ns);

#endif
