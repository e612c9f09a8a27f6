/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_end.c - how the recording of an image ends.
 *
 * The launched program is our child: its clocks can be read while it is a zombie. Other processes
 * are reaped by their parents, possibly before we look. Then the last known value of the clock
 * counts, and what their threads reported at their ends.
 *
 * An ended process may have left more than one round reads. Then it is read in turns like live
 * ones, and its end is recorded when all is read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "observe/task.h"
#include "recorder/tree_state.h"
#include "sys/clock.h"

void kymo_tree_drop_image(kymo_tree *t, struct kymo_tree_image *image)
{
    for (size_t i = 0; i < t->images.len; i++)
        if (t->images.data[i] == image)
            t->images.data[i] = t->images.data[--t->images.len];
    if (image->connection >= 0)
        close(image->connection);
    if (image->end.fd >= 0) {
        if (image->is_live && !image->was_brief)
            kymo_poller_remove(t->poller, &image->end);
        close(image->end.fd);
    }
    kymo_host_destroy(image->host);
    kymo_process_facts_deinit(&image->facts);
    free(image);
}

static kymo_err finish_host(struct kymo_tree_image *image, uint64_t end_ns, uint64_t main_cpu_ns,
                            int is_followed)
{
    image->tree->tracers |= kymo_host_tracer(image->host);
    KYMO_TRY(kymo_tree_keep_categories(image->tree, image->host));
    KYMO_TRY(kymo_host_finish(image->host, end_ns, main_cpu_ns, is_followed));
    if (image->process == 0)
        image->tree->quality = kymo_host_quality(image->host);
    return KYMO_OK;
}

/* CPU time of the main thread. If a process with one thread could not report it (it was killed,
 * and reaped before we looked): that of the process in the last round. 0: not known. */
static uint64_t main_clock(const struct kymo_tree_image *image,
                           const struct kymo_tree_ending *ending, uint64_t clock_ns)
{
    if (ending->main_cpu_ns || clock_ns <= image->cpu_before_ns ||
        kymo_host_replaced_by(image->host)[0] || kymo_host_thread_count(image->host) != 1)
        return ending->main_cpu_ns;
    return image->main_before_ns + (clock_ns - image->cpu_before_ns);
}

/* Nothing in a process without our library says what no event has counted: threads without one,
 * pauses. */
static kymo_err tell_unsampled(kymo_tree *t, const struct kymo_tree_image *image, uint64_t cpu_ns)
{
    kymo_event_quality quality = kymo_host_quality(image->host);
    uint64_t told_ns = kymo_host_cpu_ns(image->host) + quality.cpu_unsampled_ns;
    if (!kymo_host_is_outside(image->host) || cpu_ns <= told_ns)
        return KYMO_OK;
    quality.cpu_unsampled_ns += cpu_ns - told_ns;
    if (image->process == 0)
        t->quality = quality;
    return t->config.events->quality(t->config.events_context, &quality);
}

kymo_err kymo_tree_end_image(kymo_tree *t, struct kymo_tree_image *image,
                             const struct kymo_tree_ending *ending, int is_followed)
{
    const struct kymo_host_config *c = &t->config;
    t->has_relatives |= kymo_host_has_relatives(image->host);
    KYMO_TRY(kymo_tree_read_refusals(image));
    if (!is_followed && kymo_host_replaced_by(image->host)[0])
        KYMO_TRY(kymo_tree_tell_replacement(image, ending->end_ns));
    uint64_t clock_ns = is_followed ? 0 : ending->cpu_ns ? ending->cpu_ns : image->clock_ns;
    KYMO_TRY(finish_host(image, ending->end_ns, main_clock(image, ending, clock_ns), is_followed));
    /* CPU time that its threads reported. The clock has more, unless it continued in another
     * image. */
    uint64_t cpu_ns = kymo_host_cpu_ns(image->host);
    /* Copies count by another clock than this, if it is the last look at it. */
    int is_counted = kymo_host_quality(image->host).copied > 0 && ending->cpu_ns > 0;
    if (clock_ns > image->cpu_before_ns + (is_counted ? 0 : cpu_ns))
        cpu_ns = clock_ns - image->cpu_before_ns;
    uint64_t user_ns = ending->user_ns < cpu_ns ? ending->user_ns : cpu_ns;
    kymo_event_process_end e = {
        .process = image->process,
        .wait_status = ending->wait_status,
        .end_ns = ending->end_ns,
        .user_ns = ending->user_ns ? user_ns : cpu_ns,
        .system_ns = ending->user_ns ? cpu_ns - user_ns : 0,
    };
    /* Nothing woke the recorder at its end, but its last thread may have told when that was. */
    if (image->was_brief)
        e.end_ns = kymo_host_last_end_ns(image->host);
    t->cpu_ns += cpu_ns;
    KYMO_TRY(tell_unsampled(t, image, cpu_ns));
    kymo_tree_drop_image(t, image);
    return c->events->process_end(c->events_context, &e);
}

kymo_err kymo_tree_go_on_ending(kymo_tree *t, struct kymo_tree_image *image)
{
    KYMO_TRY(kymo_host_read(image->host));
    image->laps_left -= !kymo_host_is_behind(image->host);
    return image->laps_left ? KYMO_OK : kymo_tree_end_image(t, image, &image->ending, 0);
}

/* The process has ended: it writes no more records, and the kernel may soon reuse its pid. */
static kymo_err begin_ending(kymo_tree *t, struct kymo_tree_image *image,
                             const struct kymo_tree_ending *ending)
{
    if (image->end.fd >= 0) {
        if (!image->was_brief)
            kymo_poller_remove(t->poller, &image->end);
        close(image->end.fd);
        image->end.fd = -1;
    }
    image->is_live = 0;
    image->is_ending = 1;
    /* A lap that began before may have missed what was written meanwhile, so one more is needed. */
    image->laps_left = kymo_host_is_behind(image->host) ? 2 : 1;
    image->ending = *ending;
    return kymo_tree_go_on_ending(t, image);
}

kymo_err kymo_tree_image_ended(void *context)
{
    struct kymo_tree_image *image = context;
    struct kymo_tree_ending ending = {.end_ns = kymo_clock_ns(CLOCK_MONOTONIC), .wait_status = -1};
    uint64_t system_ns = 0;
    /* Fails if its parent has reaped it: then /proc has nothing of it either. */
    if (kymo_task_process_cpu_ns(image->pid, &ending.user_ns, &system_ns)) {
        ending.cpu_ns = ending.user_ns + system_ns;
        (void)kymo_task_cpu_ns(image->pid, image->pid, &ending.main_cpu_ns);
    }
    return begin_ending(image->tree, image, &ending);
}

kymo_err kymo_tree_ended(kymo_tree *t, pid_t pid, const struct kymo_tree_ending *ending,
                         uint32_t *process)
{
    *process = UINT32_MAX;
    KYMO_TRY(kymo_tree_look_at_new(t));
    struct kymo_tree_image *image = kymo_tree_find(t, pid);
    if (!image)
        return KYMO_OK;
    if (image->is_ending) {
        *process = image->process;
        return KYMO_OK;
    }
    if (!image->is_live) {
        kymo_tree_drop_image(t, image);
        return KYMO_OK;
    }
    *process = image->process;
    return begin_ending(t, image, ending);
}

void kymo_tree_stop(kymo_tree *t)
{
    t->stopped = 1;
    kymo_control_server_close(&t->control);
    if (t->server.listener >= 0) {
        kymo_poller_remove(t->poller, &t->door);
        kymo_attach_server_close(&t->server);
    }
    for (size_t i = t->images.len; i-- > 0;) {
        if (t->images.data[i]->is_live)
            kymo_host_stop(t->images.data[i]->host);
        else if (!t->images.data[i]->is_ending)
            kymo_tree_drop_image(t, t->images.data[i]);
    }
}

/* Calls were asked for: why there may be none. A program that ran already traces itself, or not. */
static kymo_err tell_tracers(kymo_tree *t, uint64_t end_ns)
{
    const char *text = NULL;
    if (t->tracers & KYMO_TRACER_OF_OTHER_VERSION)
        text = "a Python is not traced: its package kymo is of another version than this kymo; "
               "install it again with the pip of that interpreter";
    else if (!(t->tracers & KYMO_TRACER_CAME) && t->recorded && !t->watches_program)
        text = "no calls were traced: each Python that ran lacks the package kymo (install it with "
               "the pip of that interpreter), or was told not to trace (-S, an environment of its "
               "own, KYMO_TRACE_PYTHON=off)";
    kymo_event_note e = {end_ns, KYMO_EVENT_NONE, KYMO_NOTE_WARNING, text};
    return text ? t->config.events->note(t->config.events_context, &e) : KYMO_OK;
}

kymo_err kymo_tree_finish(kymo_tree *t, uint64_t end_ns)
{
    KYMO_TRY(kymo_tree_look_at_new(t));
    kymo_tree_stop(t);
    while (t->images.len > 0) {
        struct kymo_tree_image *image = t->images.data[t->images.len - 1];
        uint64_t main_cpu_ns = 0;
        if (image->is_ending) {
            KYMO_TRY(kymo_tree_end_image(t, image, &image->ending, 0));
            continue;
        }
        KYMO_TRY(kymo_tree_read_refusals(image));
        if (kymo_host_replaced_by(image->host)[0])
            KYMO_TRY(kymo_tree_tell_replacement(image, end_ns));
        (void)kymo_task_cpu_ns(image->pid, image->pid, &main_cpu_ns);
        KYMO_TRY(finish_host(image, end_ns, main_cpu_ns, 0));
        kymo_tree_drop_image(t, image);
    }
    KYMO_TRY(kymo_tree_end_awaiting(t));
    if (t->turned_away) {
        char text[96];
        snprintf(text, sizeof text,
                 "%" PRIu64 " processes are not recorded: too many ran at the same time",
                 t->turned_away);
        kymo_event_note e = {end_ns, KYMO_EVENT_NONE, KYMO_NOTE_WARNING, text};
        KYMO_TRY(t->config.events->note(t->config.events_context, &e));
    }
    KYMO_TRY(kymo_tree_tell_unknown_categories(t, end_ns));
    if (t->config.flags & KYMO_SESSION_TRACE_PYTHON)
        KYMO_TRY(tell_tracers(t, end_ns));
    return kymo_refusals_finish(&t->refusals);
}
