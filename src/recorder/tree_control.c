/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_control.c - does what a recorder is asked while it runs, to all processes of its tree.
 *
 * Categories and rates hold for those who run, and for those who come. A rate is read by each
 * thread when it draws next, so a process follows at once. Of the heap, whatever was recorded
 * before somebody asked is read first, in turns as everything else is; then a process of ours makes
 * the file (heap_answer.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "options/options.h"
#include "recorder/recording.h"
#include "recorder/tree_state.h"
#include "sys/clock.h"

_Static_assert(KYMO_OPTION_LIST_MAX < KYMO_CONTROL_BYTES, "a list fits with its NUL");
_Static_assert(KYMO_CONTROL_LIST_BYTES == KYMO_CONTROL_BYTES, "as a session has it");

static void select_markers(kymo_tree *t, const char *markers)
{
    snprintf(t->markers, sizeof t->markers, "%s", markers);
    if (t->first)
        kymo_host_select(t->first, markers);
    for (size_t i = 0; i < t->images.len; i++)
        kymo_host_select(t->images.data[i]->host, markers);
}

/* Sums hold whatever the rate was; that there are none for a while has to be told. */
static kymo_err tell_rate(const kymo_tree *t, uint64_t rate)
{
    char text[128];
    if (!t->config.events->note)
        return KYMO_OK;
    uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    double at = now_ns > t->start_ns ? (double)(now_ns - t->start_ns) / 1e9 : 0;
    if (rate == 0)
        snprintf(text, sizeof text, "allocations are not recorded from %.3f s on (kymo control)",
                 at);
    else
        snprintf(text, sizeof text,
                 "from %.3f s on one allocation is recorded for each %" PRIu64
                 " bytes (kymo control)",
                 at, rate);
    kymo_event_note e = {now_ns, KYMO_EVENT_NONE, rate ? KYMO_NOTE_INFO : KYMO_NOTE_WARNING, text};
    return t->config.events->note(t->config.events_context, &e);
}

static kymo_err set_rate(kymo_tree *t, uint64_t rate)
{
    /* The hooks are in a library that is preloaded for --alloc alone. */
    if (!t->config.unseen)
        return KYMO_E_UNSUPPORTED;
    if (rate == t->config.alloc_rate)
        return KYMO_OK;
    t->config.alloc_rate = rate;
    if (t->first)
        kymo_host_set_alloc_rate(t->first, rate);
    for (size_t i = 0; i < t->images.len; i++)
        kymo_host_set_alloc_rate(t->images.data[i]->host, rate);
    return tell_rate(t, rate);
}

static kymo_err check_heap(const kymo_tree *t, const struct kymo_control_request *request)
{
    const struct kymo_tree_image *image = kymo_tree_find(t, request->pid);
    if (!t->config.unseen || !t->config.writer)
        return KYMO_E_UNSUPPORTED;
    return request->pid == getpid() || (image && image->is_live) ? KYMO_OK : KYMO_E_NOT_FOUND;
}

static kymo_err obey(void *context, const struct kymo_control_request *request)
{
    kymo_tree *t = context;
    switch (request->what) {
    case KYMO_CONTROL_MARKERS:
        select_markers(t, request->markers);
        return KYMO_OK;
    case KYMO_CONTROL_ALLOC:
        return set_rate(t, request->rate);
    default:
        return check_heap(t, request);
    }
}

/* Those who are about to attach count as well: they have the list, or look once they are in. */
static void count_selected(const kymo_tree *t, struct kymo_control_answer *answer)
{
    for (size_t i = 0; i < t->images.len; i++) {
        if (t->images.data[i]->is_ending)
            continue;
        enum kymo_host_selected selected = kymo_host_selected(t->images.data[i]->host);
        answer->told += selected == KYMO_HOST_TOLD;
        answer->later += selected == KYMO_HOST_LATER;
    }
}

static kymo_err read_on(const kymo_tree *t, uint64_t asked_ns, struct kymo_control_answer *answer)
{
    for (size_t i = 0; i < t->images.len; i++) {
        const struct kymo_tree_image *image = t->images.data[i];
        if (!image->is_live || image->is_ending)
            continue;
        /* One that is behind is read in turns. */
        if (!kymo_host_has_read(image->host, asked_ns) && !kymo_host_is_behind(image->host))
            KYMO_TRY(kymo_host_read(image->host));
        answer->later += !kymo_host_has_read(image->host, asked_ns);
    }
    return KYMO_OK;
}

static kymo_err count(void *context, const struct kymo_control_request *request, uint64_t asked_ns,
                      struct kymo_control_answer *answer)
{
    const kymo_tree *t = context;
    if (request->what == KYMO_CONTROL_HEAP)
        return read_on(t, asked_ns, answer);
    if (request->what == KYMO_CONTROL_MARKERS) {
        count_selected(t, answer);
        return KYMO_OK;
    }
    for (size_t i = 0; i < t->images.len; i++)
        answer->told += t->images.data[i]->is_live && !t->images.data[i]->is_ending;
    return KYMO_OK;
}

static kymo_err answer_heap(void *context, const struct kymo_control_request *request,
                            int connection)
{
    kymo_tree *t = context;
    KYMO_TRY(kymo_recording_flush(t->config.writer));
    return kymo_heap_answers_start(&t->heap_answers, t->config.spool_path, request, connection);
}

void kymo_tree_control_init(kymo_tree *t)
{
    kymo_control_server_init(&t->control);
    t->control.obey = obey;
    t->control.count = count;
    t->control.answer = answer_heap;
    t->control.context = t;
}
