/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_tracks.c - tracks defined by the program: the markers of each, from any thread.
 *
 * The format only has tracks for processes, threads and counters, so each track of a process is
 * written as a further thread, after all real threads.
 */
#include <stdlib.h>

#include "encode/firefox/firefox.h"

/* By process and track, then by time as in the profile: of two with the same start the longer is
 * first. */
static int compare(const void *a, const void *b, void *profile)
{
    const kymo_firefox_tracked *x = a;
    const kymo_firefox_tracked *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    const kymo_marker *mx = &kymo_profile_markers(profile, x->thread).rows[x->marker];
    const kymo_marker *my = &kymo_profile_markers(profile, y->thread).rows[y->marker];
    if (mx->start_ns != my->start_ns)
        return mx->start_ns < my->start_ns ? -1 : 1;
    if (mx->end_ns != my->end_ns)
        return mx->end_ns > my->end_ns ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->marker > y->marker) - (x->marker < y->marker);
}

static kymo_err collect(kymo_firefox *w)
{
    for (uint32_t t = 0; t < w->p->threads.len; t++) {
        kymo_markers markers = kymo_profile_markers(w->p, t);
        for (size_t i = 0; i < markers.count; i++) {
            kymo_firefox_tracked row = {.process = w->p->threads.data[t].process,
                                        .track = markers.rows[i].track,
                                        .thread = t,
                                        .marker = (uint32_t)i};
            if (row.track != 0)
                KYMO_TRY(kymo_vec_push(&w->marks.tracked, row));
        }
    }
    return KYMO_OK;
}

kymo_err kymo_firefox_number_tracks(kymo_firefox *w)
{
    KYMO_TRY(collect(w));
    size_t count = w->marks.tracked.len;
    const kymo_firefox_tracked *rows = w->marks.tracked.data;
    if (count == 0)
        return KYMO_OK;
    qsort_r(w->marks.tracked.data, count, sizeof *rows, compare, (void *)w->p);
    for (size_t first = 0, end; first < count; first = end) {
        end = first + 1;
        while (end < count && rows[end].process == rows[first].process &&
               rows[end].track == rows[first].track)
            end++;
        KYMO_TRY(kymo_vec_push(&w->marks.tracks, (kymo_firefox_track){first, end - first}));
    }
    return KYMO_OK;
}
