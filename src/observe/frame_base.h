/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_base.h - the frame pointer of a function of another process, told from its stack pointer.
 *
 * Layer:    observe
 * Flow:     unwind information, the code, what threads answered -> [frame_base] -> wall_find.c
 * Threads:  one at a time
 * Memory:   one table for all processes of a recording, by build-id
 * Signals:  not for handlers; spares threads the signal that asks for their registers
 *
 * From outside, a waiting thread's stack pointer is known and its rbp is not. A function that keeps
 * a frame pointer sets it once, and lowers its stack pointer by a constant: so at each of its calls
 * rbp lies the same distance above the stack pointer, unless it uses alloca or the like. The
 * distance is what its first instructions say, or what a thread that was asked had there. It is
 * believed if what it leads to is a return address behind a call of this very function.
 */
#ifndef KYMO_OBSERVE_FRAME_BASE_H
#define KYMO_OBSERVE_FRAME_BASE_H

#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/vec.h"
#include "observe/remote.h"

/* Private. */
struct kymo_frame_base {
    uint64_t key;
    uint64_t distance;
    uint32_t source;
};

/* Of zero bytes: empty. */
struct kymo_frame_bases {
    KYMO_VEC(struct kymo_frame_base) entries;
    kymo_index index;
};

void kymo_frame_bases_deinit(struct kymo_frame_bases *bases);

/* A frame whose CFA counts from rbp: its pc (one less for a return address), its stack pointer. */
struct kymo_remote_frame {
    uint64_t pc, sp;
};

/* Returns 0 if its rbp is not to be told. */
int kymo_frame_base_guess(struct kymo_frame_bases *bases, kymo_remote *remote,
                          const struct kymo_remote_frame *frame, uint64_t *rbp);
/* A thread had this rbp there. */
void kymo_frame_base_learn(struct kymo_frame_bases *bases, kymo_remote *remote,
                           const struct kymo_remote_frame *frame, uint64_t rbp);

/* For tests: the distance that the first instructions of a function say, which saves that many
 * registers besides rbp. Returns 0 if they set no frame pointer. */
int kymo_frame_base_parse(const unsigned char *code, size_t size, uint32_t saved,
                          uint64_t *distance);

#endif
