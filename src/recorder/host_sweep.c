/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_sweep.c - what a recording for months need not keep of a session's stacks and modules.
 *
 * The session's numbers of stacks are used up as its depot moves on, and the writer keeps each
 * stack that it was told of. Now and then it is told which numbers may come again.
 */
#include "base/key_map.h"
#include "observe/kernel_stacks.h"
#include "observe/wall.h"
#include "recorder/host_state.h"
#include "recording/recording.h"

/* Up to some 20 MB, if no two have a frame in common. What is used at one time is less, but for
 * what lives. */
#define STACKS_LEAST 16384u
/* Modules that were unloaded: some 300 bytes each, in each interval's file. */
#define UNLOADS_LEAST 64u

static kymo_err find_used(const kymo_host *h, kymo_key_map *used)
{
    KYMO_TRY(kymo_drain_use_stacks(h->drain, used));
    KYMO_TRY(kymo_mark_events_use_stacks(&h->out.marks, used));
    if (h->out.wall)
        KYMO_TRY(kymo_wall_use_stacks(h->out.wall, used));
    return kymo_kernel_stacks_sweep(h->out.kernel_stacks, h->out.process, used);
}

/* Twice what the last sweep has left, so that the cost of sweeping is a part of that of adding. */
static size_t limit(size_t left, size_t least)
{
    return left > least / 2 ? 2 * left : least;
}

kymo_err kymo_host_sweep_stacks(kymo_host *h)
{
    kymo_recording_writer *w = h->config.writer;
    kymo_key_map used = {0};
    if (!w ||
        (kymo_recording_kept_stacks(w, h->out.process) < limit(h->stacks_left, STACKS_LEAST) &&
         kymo_recording_kept_unloads(w, h->out.process) < limit(h->unloads_left, UNLOADS_LEAST)))
        return KYMO_OK;
    kymo_err err = find_used(h, &used);
    if (err == KYMO_OK)
        err = kymo_recording_sweep_stacks(w, h->out.process, &used);
    kymo_key_map_deinit(&used);
    h->stacks_left = kymo_recording_kept_stacks(w, h->out.process);
    h->unloads_left = kymo_recording_kept_unloads(w, h->out.process);
    return err;
}

kymo_err kymo_host_forget_kernel_stacks(kymo_host *h)
{
    kymo_key_map none = {0};
    return kymo_kernel_stacks_sweep(h->out.kernel_stacks, h->out.process, &none);
}
