/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_pause.c - a pause of the recording, `kymo control pause` and `resume`, and changes of its
 * periods, `cpu=` and `wall=`.
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
#include "observe/kernel_stacks.h"
#include "recorder/tree_state.h"
#include "recording/recording.h"
#include "sys/clock.h"

int kymo_tree_is_paused(const kymo_tree *t)
{
    return (int)(t->config.pauses & 1);
}

/* The images that are sampled, and the one to come. Of processes that have ended, what they left is
 * read as before. Returns NULL behind the last one. */
static kymo_host *host_at(const kymo_tree *t, size_t *at)
{
    if (*at == 0 && t->first) {
        ++*at;
        return t->first;
    }
    for (*at += *at == 0; *at <= t->images.len; ++*at)
        if (!t->images.data[*at - 1]->is_ending)
            return t->images.data[(*at)++ - 1]->host;
    return NULL;
}

static kymo_err set_pauses(kymo_tree *t, uint64_t now_ns)
{
    t->config.pauses++;
    t->since_realtime_ns = kymo_clock_ns(CLOCK_REALTIME);
    size_t at = 0;
    for (kymo_host *h; (h = host_at(t, &at)) != NULL;)
        KYMO_TRY(kymo_host_set_pauses(h, t->config.pauses, now_ns));
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

/* ---- periods ---- */

static kymo_err tell_period(const kymo_tree *t, const char *of, uint64_t before_ns,
                            uint64_t period_ns)
{
    char before[32], now[32], text[144];
    uint64_t wall_ns = t->config.wall ? kymo_wall_period_ns(t->config.wall) : 0;
    if (t->config.writer)
        kymo_recording_set_periods(t->config.writer, t->config.period_ns, wall_ns);
    snprintf(text, sizeof text,
             "the %s period changed from %s to %s; shares of expected samples are wrong here", of,
             kymo_format_duration(before, before_ns), kymo_format_duration(now, period_ns));
    return tell(t, kymo_clock_ns(CLOCK_MONOTONIC), KYMO_NOTE_INFO, text);
}

kymo_err kymo_tree_set_cpu_period(kymo_tree *t, uint64_t period_ns)
{
    const uint64_t before_ns = t->config.period_ns;
    size_t at = 0;
    if (t->owner.affordable_ns)
        period_ns = t->owner.affordable_ns(t->owner.context, period_ns);
    if (period_ns == before_ns)
        return KYMO_OK;
    t->config.period_ns = period_ns;
    for (kymo_host *h; (h = host_at(t, &at)) != NULL;)
        kymo_host_leave_dispatcher(h);
    kymo_dispatch_set_period(t->config.dispatch, period_ns);
    kymo_kernel_stacks_set_period(t->config.kernel_stacks, period_ns);
    at = 0;
    for (kymo_host *h; (h = host_at(t, &at)) != NULL;) {
        kymo_host_set_period(h, period_ns);
        if (!kymo_tree_is_paused(t))
            kymo_host_return_to_dispatcher(h);
    }
    return tell_period(t, "sampling", before_ns, period_ns);
}

kymo_err kymo_tree_set_wall_period(kymo_tree *t, uint64_t period_ns)
{
    if (!t->config.wall)
        return KYMO_E_UNSUPPORTED;
    const uint64_t before_ns = kymo_wall_period_ns(t->config.wall);
    if (period_ns == before_ns)
        return KYMO_OK;
    kymo_wall_set_period(t->config.wall, period_ns, kymo_clock_ns(CLOCK_MONOTONIC));
    return tell_period(t, "wall-clock sampling", before_ns, period_ns);
}
