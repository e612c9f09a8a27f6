/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_pause.c - a pause of the recording: `kymo control pause` and `resume`.
 *
 * The recorder, the sessions and the hooks stay, so a pause begins and ends within a round. Perf
 * events are disabled, the dispatcher has no threads, and a word in each session tells the signal
 * handler (capture/on_signal.c), which also sees to it that no sample stands for CPU time of the
 * pause, and the hooks of allocations. Markers are as with `markers=none` until the list is given
 * back. What begins in a pause, begins paused: its session is made so.
 *
 * Counters of the system and calls of Python that are traced go on.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "recorder/tree_state.h"
#include "sys/clock.h"

int kymo_tree_is_paused(const kymo_tree *t)
{
    return (int)(t->config.pauses & 1);
}

static kymo_err set_pauses(kymo_tree *t, uint64_t now_ns)
{
    t->config.pauses++;
    t->since_realtime_ns = kymo_clock_ns(CLOCK_REALTIME);
    if (t->first)
        KYMO_TRY(kymo_host_set_pauses(t->first, t->config.pauses, now_ns));
    /* Of processes that have ended, what they left is read as before. */
    for (size_t i = 0; i < t->images.len; i++)
        if (!t->images.data[i]->is_ending)
            KYMO_TRY(kymo_host_set_pauses(t->images.data[i]->host, t->config.pauses, now_ns));
    return KYMO_OK;
}

static kymo_err tell(const kymo_tree *t, uint64_t now_ns, kymo_event_severity severity,
                     const char *what)
{
    char text[160];
    if (!t->config.events->note)
        return KYMO_OK;
    double at = now_ns > t->start_ns ? (double)(now_ns - t->start_ns) / 1e9 : 0;
    snprintf(text, sizeof text, "at %.3f s %s (kymo control)", at, what);
    kymo_event_note e = {now_ns, KYMO_EVENT_NONE, severity, text};
    return t->config.events->note(t->config.events_context, &e);
}

kymo_err kymo_tree_pause(kymo_tree *t)
{
    uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    if (kymo_tree_is_paused(t))
        return KYMO_OK;
    memcpy(t->kept_markers, t->markers, sizeof t->kept_markers);
    t->paused_ns = now_ns;
    KYMO_TRY(set_pauses(t, now_ns));
    kymo_tree_select_markers(t, "none");
    return tell(t, now_ns, KYMO_NOTE_WARNING, "the recording was paused");
}

kymo_err kymo_tree_resume(kymo_tree *t)
{
    uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    char lasted[32], text[96];
    if (!kymo_tree_is_paused(t))
        return KYMO_OK;
    kymo_tree_select_markers(t, t->kept_markers);
    KYMO_TRY(set_pauses(t, now_ns));
    snprintf(text, sizeof text, "the recording went on, after a pause of %s",
             kymo_format_duration(lasted, now_ns - t->paused_ns));
    return tell(t, now_ns, KYMO_NOTE_INFO, text);
}
