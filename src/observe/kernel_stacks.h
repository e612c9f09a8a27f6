/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_stacks.h - puts what the kernel did on top of the stacks that the handlers walked.
 *
 * Layer:    observe
 * Flow:     perf events -> kernel_ring.c -> [kernel_stacks] -> session_events.c -> recording
 * Threads:  the recorder's main thread
 * Memory:   owns the rings, what was read of them, and the kernel's names; each has its limit
 * Signals:  not for handlers
 *
 * One for a recording, for the threads of all its processes.
 */
#ifndef KYMO_OBSERVE_KERNEL_STACKS_H
#define KYMO_OBSERVE_KERNEL_STACKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/key_map.h"
#include "observe/perf_ring.h"
#include "recording/events.h"

/* kernel_ring.c: reads what a perf event tells of each interrupt: when, and where in the kernel. */

/* The deepest part of a stack that is kept: kernel.perf_event_max_stack is 127 by default. */
#define KYMO_KERNEL_DEPTH_MAX 128u

/* One interrupt. depth 0: the thread was not in the kernel. */
struct kymo_kernel_record {
    uint64_t time_ns;
    uint32_t depth;
    uint64_t pcs[KYMO_KERNEL_DEPTH_MAX]; /* innermost first; all but the first are return
                                            addresses */
};

/* Called for each record; an error ends the reading, and the record counts as read. */
typedef kymo_err (*kymo_kernel_record_sink)(void *context, const struct kymo_kernel_record *record);

/* Everything up to now, of an event of kymo_perf_open_chains. *lost grows by what found no room. */
KYMO_NODISCARD
kymo_err kymo_kernel_ring_read(struct kymo_perf_ring *ring, kymo_kernel_record_sink sink,
                               void *context, uint64_t *lost);

/* The same over data_bytes of memory from *tail to head, which only grow; for the tests. Whatever
 * the bytes are: nothing beyond them is read, and *tail is head at the end. */
KYMO_NODISCARD
kymo_err kymo_kernel_records_read(const unsigned char *data, size_t data_bytes, uint64_t *tail,
                                  uint64_t head, kymo_kernel_record_sink sink, void *context,
                                  uint64_t *lost);

/* The addresses among count words of a kernel's call chain; how many they are. */
uint32_t kymo_kernel_chain(const unsigned char *words, size_t count,
                           uint64_t pcs[KYMO_KERNEL_DEPTH_MAX]);

/* ---- kernel_stacks.c ---- */

typedef struct kymo_kernel_stacks kymo_kernel_stacks;

/* Symbols and stacks are written to events; both outlive it. */
KYMO_NODISCARD
kymo_err kymo_kernel_stacks_create(const kymo_event_handler *events, void *context,
                                   uint64_t period_ns, kymo_kernel_stacks **out);
/* NULL is allowed, also below: then nothing happens, and samples stay as they are. */
void kymo_kernel_stacks_destroy(kymo_kernel_stacks *stacks);

/* Of events that are opened from now on, and all samples. */
void kymo_kernel_stacks_set_period(kymo_kernel_stacks *stacks, uint64_t period_ns);

/* Reads the names now, which may take longer than a ring has room for. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_kernel_stacks_need_names(kymo_kernel_stacks *stacks);

/* Whether one more event may have a ring. */
int kymo_kernel_stacks_have_room(const kymo_kernel_stacks *stacks);
/* Listens to an event of this thread from now on; where there is no ring for it, the thread's
 * samples stay as they are. To be called before the event is enabled. */
void kymo_kernel_stacks_open(kymo_kernel_stacks *stacks, uint32_t process, pid_t tid, int fd,
                             uint64_t now_ns);
/* The event is about to be closed: takes what is left in its ring, which keeps it alive. */
void kymo_kernel_stacks_close(kymo_kernel_stacks *stacks, uint32_t process, pid_t tid);
/* The thread has ended, and all its samples were split. */
void kymo_kernel_stacks_forget(kymo_kernel_stacks *stacks, uint32_t process, pid_t tid);

/* Takes a sample of the thread. */
typedef kymo_err (*kymo_sample_emit)(void *context, const kymo_event_sample *sample);

/* Gives the sample on as one for each interrupt since the thread's last sample, at its time, with
 * an equal share of the weight and the kernel's part on top of its stack; as it is, if nothing is
 * known of an interrupt. Samples of a thread must come in the order of time. */
KYMO_NODISCARD
kymo_err kymo_kernel_stacks_split(kymo_kernel_stacks *stacks, uint32_t process, pid_t tid,
                                  const kymo_event_sample *sample, kymo_sample_emit emit,
                                  void *context);

/* Puts the kernel's part of an interrupt on a stack of the process, whose id it replaces; as it is,
 * if the thread was not in the kernel. */
KYMO_NODISCARD
kymo_err kymo_kernel_stacks_join(kymo_kernel_stacks *stacks, uint32_t process,
                                 const struct kymo_kernel_record *record, uint32_t *stack);

/* Forgets the kernel's parts of stacks of a process that are not in used, and adds the ids of those
 * that it keeps: others may be given to other stacks. KYMO_E_NOMEM. */
KYMO_NODISCARD
kymo_err kymo_kernel_stacks_sweep(kymo_kernel_stacks *stacks, uint32_t process, kymo_key_map *used);

/* At the end of the recording: says how many interrupts could not be told of, for want of room in a
 * ring or in our memory, as losses of this process. */
KYMO_NODISCARD
kymo_err kymo_kernel_stacks_finish(kymo_kernel_stacks *stacks, uint32_t process);

/* As if this interrupt had been read for the thread, which then needs no event; for the tests. */
KYMO_NODISCARD
kymo_err kymo_kernel_stacks_feed(kymo_kernel_stacks *stacks, uint32_t process, pid_t tid,
                                 const struct kymo_kernel_record *record);

#endif
