/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.h - makes samples of function calls: for tracers and interpreters that see each call.
 *
 * Flow:     enter, leave -> [calls] -> samples of profile.h
 * Threads:  a stream has one owner at a time, who owns its profile, too
 * Memory:   a few words per thread; the samples are the profile's
 * Signals:  not for handlers
 *
 * Each interval between two events of a thread becomes one sample of the stack that ran in it; its
 * weight is the interval. So weights are self times, and those of a thread add up to the time from
 * its registration to its finish exactly. An interval outside of all functions is a sample without
 * a stack; one of no length is none.
 *
 * Events of one thread come in order; threads may come in any order. Each function below returns
 * KYMO_OK, or an error that *detail (may be NULL) explains. Its position is the number of the event
 * in the stream, from 1. After an error no sample, marker or state of the event is there, and the
 * stream goes on as if it had not come:
 *
 *   KYMO_E_INVALID: the thread is not registered or has finished, there is no such function, or the
 *       thread leaves one and is in none.
 *   KYMO_E_MISMATCH: the thread leaves another function than the one it is in.
 *   KYMO_E_RANGE: the time is before that of the thread's last event.
 *   KYMO_E_EXISTS: the thread is registered already.
 *   KYMO_E_NOMEM, KYMO_E_TOO_BIG.
 *
 * Numbers of calls are not kept, so .pstats files cannot be written of such a profile.
 */
#ifndef KYMO_CALLS_H
#define KYMO_CALLS_H

#include <stdint.h>

#include "kymo/error.h"
#include "kymo/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kymo_calls kymo_calls;

/* A stream into a profile, which must outlive it. type: the sample type of its samples, one of
 * KYMO_ADDS_ELAPSED, or KYMO_SAMPLE_DEFAULT. KYMO_E_INVALID: it is not such a one; KYMO_E_NOMEM. */
KYMO_API kymo_err kymo_calls_create(kymo_profile *profile, uint32_t type, kymo_calls **out);
/* NULL is allowed. Intervals of threads that have not finished are left out. */
KYMO_API void kymo_calls_destroy(kymo_calls *calls);

/* thread: an id of the profile. Its traced time begins. Times are nanoseconds, as in the profile.
 */
KYMO_API kymo_err kymo_calls_register(kymo_calls *calls, uint32_t thread, uint64_t time_ns,
                                      kymo_error *detail);
/* The thread calls a function of the profile. */
KYMO_API kymo_err kymo_calls_enter(kymo_calls *calls, uint32_t thread, uint64_t time_ns,
                                   uint32_t function, kymo_error *detail);
/* The thread returns from the function that it is in, or an exception ends it. */
KYMO_API kymo_err kymo_calls_leave(kymo_calls *calls, uint32_t thread, uint64_t time_ns,
                                   uint32_t function, kymo_error *detail);
/* An exception is thrown in the function that the thread is in: a marker of the category
 * "Exceptions" that is called name, with the text as its field. Functions that it ends are left by
 * kymo_calls_leave. text NULL: "". */
KYMO_API kymo_err kymo_calls_exception(kymo_calls *calls, uint32_t thread, uint64_t time_ns,
                                       const char *name, const char *text, kymo_error *detail);
/* The thread's traced time ends, in whichever functions it is. */
KYMO_API kymo_err kymo_calls_finish(kymo_calls *calls, uint32_t thread, uint64_t time_ns,
                                    kymo_error *detail);

#ifdef __cplusplus
}
#endif

#endif
