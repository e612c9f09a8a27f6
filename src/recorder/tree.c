/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c - see tree.h: the images of a recording, and their rounds.
 *
 * For an idle process, whose CPU clock does not advance, a round only reads that clock.
 */
#include "recorder/tree.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "observe/task.h"
#include "options/options.h"
#include "recorder/tree_state.h"
#include "sys/clock.h"
#include "sys/network.h"

#define TABLES_BYTES (64ull << 20)
/* Rounds for which an idle process is still examined: four scans of /proc, so that threads that
 * no hook announced are found and signalled, and noted if they do not answer. */
#define STILL_ROUNDS 24u
/* An expected image attaches within milliseconds, or on a loaded machine within the 10 seconds
 * that the library waits. After that the process runs an unrecorded program. */
#define FOLLOW_NS 15000000000ull

static kymo_err on_ring(void *context);

/* The programs that join must reach the socket: what they start is checked against this. */
static void note_network(struct kymo_host_config *config)
{
    struct stat st;
    config->network_cookie = kymo_network_cookie();
    if (stat(KYMO_NETWORK_NAMESPACE, &st) != 0)
        return;
    config->network_device = st.st_dev;
    config->network_inode = st.st_ino;
}

/* Without this socket `kymo control` cannot change anything; a note says so. The name may be
 * taken: recorders in containers that share a network namespace may have the same process id,
 * and other processes may use the name. */
static kymo_err open_control(kymo_tree *t)
{
    static const char text[] = "kymo control cannot reach this recording: the name of its socket "
                               "is taken, or there can be none";
    if (kymo_control_server_open(&t->control, t->poller) == KYMO_OK || !t->config.events->note)
        return KYMO_OK;
    kymo_event_note e = {kymo_clock_ns(CLOCK_MONOTONIC), KYMO_EVENT_NONE, KYMO_NOTE_WARNING, text};
    return t->config.events->note(t->config.events_context, &e);
}

kymo_err kymo_tree_create(const struct kymo_host_config *config, kymo_tree **out,
                          kymo_error *detail)
{
    kymo_tree *t = calloc(1, sizeof *t);
    if (!t)
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for the recorder");
    t->config = *config;
    t->config.next_thread = &t->next_thread;
    t->config.tick_threads = &t->tick_threads;
    t->config.on_relative = kymo_tree_on_relative;
    t->config.on_relative_context = t;
    t->next_process = 1; /* number 0 is the launched program */
    t->look_ns = t->next_all_ns = UINT64_MAX;
    t->server.listener = -1;
    kymo_tree_control_init(t);
    if (config->markers)
        snprintf(t->markers, sizeof t->markers, "%s", config->markers);
    snprintf(t->asked_markers, sizeof t->asked_markers, "%s", t->markers);
    t->config.markers = t->markers;
    t->refusals.events = config->events;
    t->refusals.context = config->events_context;
    t->refusals.wants_more =
        config->alloc_rate || config->wall || config->flags & KYMO_SESSION_TRACE_PYTHON;
    t->config.tree = t->server.name;
    note_network(&t->config);
    t->poller = t->config.poller = kymo_poller_open();
    kymo_err err = t->poller < 0 ? kymo_error_set_errno(detail, "epoll") : KYMO_OK;
    if (err == KYMO_OK)
        err = kymo_attach_server_open(&t->server, detail);
    if (err == KYMO_OK)
        err = kymo_bell_open(&t->bell, detail);
    if (err == KYMO_OK)
        err = open_control(t);
    /* Without tables unwinding is slower, with the same result. */
    if (err == KYMO_OK && kymo_row_tables_create(TABLES_BYTES, &t->config.tables) != KYMO_OK)
        t->config.tables = NULL;
    if (err == KYMO_OK && config->alloc_rate && kymo_unseen_create(&t->config.unseen) != KYMO_OK)
        err = kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for the allocators of modules");
    if (err == KYMO_OK) {
        t->door = (struct kymo_poll_source){t->server.listener, kymo_tree_open_door, t};
        t->ring = (struct kymo_poll_source){kymo_bell_event(t->bell), on_ring, t};
        err = kymo_poller_add(t->poller, &t->door);
        if (err == KYMO_OK)
            err = kymo_poller_add(t->poller, &t->ring);
        if (err != KYMO_OK)
            kymo_error_set(detail, err, 0, "cannot wait for programs");
    }
    /* Creates the first host now: the program must not start if it cannot be recorded. */
    if (err == KYMO_OK)
        err = kymo_host_create(&t->config, &t->first, detail);
    if (err != KYMO_OK) {
        kymo_tree_destroy(t);
        return err;
    }
    *out = t;
    return KYMO_OK;
}

void kymo_tree_destroy(kymo_tree *t)
{
    if (!t)
        return;
    while (t->callers.len > 0)
        kymo_tree_drop_caller(t, t->callers.data[0]);
    while (t->images.len > 0)
        kymo_tree_drop_image(t, t->images.data[t->images.len - 1]);
    kymo_tree_forget_relatives(t, 0);
    kymo_vec_deinit(&t->callers);
    kymo_vec_deinit(&t->relatives);
    kymo_vec_deinit(&t->images);
    kymo_vec_deinit(&t->awaited);
    kymo_vec_deinit(&t->started);
    kymo_host_destroy(t->first);
    kymo_row_tables_destroy(t->config.tables);
    kymo_unseen_destroy(t->config.unseen);
    kymo_bell_close(t->bell);
    kymo_attach_server_close(&t->server);
    kymo_control_server_close(&t->control);
    kymo_past_intervals_forget(&t->past, UINT64_MAX);
    kymo_refusals_deinit(&t->refusals);
    kymo_categories_deinit(&t->categories);
    if (t->poller >= 0)
        close(t->poller);
    free(t);
}

const char *kymo_tree_socket(const kymo_tree *t)
{
    return t->server.name;
}

void kymo_tree_set_program(kymo_tree *t, pid_t pid, uint64_t start_ns)
{
    t->program = pid;
    t->start_ns = start_ns;
    t->since_realtime_ns = kymo_clock_ns(CLOCK_REALTIME);
}

void kymo_tree_set_owner(kymo_tree *t, const struct kymo_tree_owner *owner)
{
    t->owner = *owner;
}

void kymo_tree_watch_program(kymo_tree *t)
{
    t->watches_program = 1;
}

void kymo_tree_set_spool(kymo_tree *t, int spool)
{
    t->config.spool = spool;
}

void kymo_tree_keep_interval(kymo_tree *t, uint64_t bytes, uint64_t end_ns)
{
    t->interval_ended_ns = end_ns;
    kymo_past_intervals_keep(&t->past, t->config.spool, bytes, end_ns,
                             kymo_control_server_since(&t->control));
}

uint32_t kymo_tree_alive(const kymo_tree *t)
{
    size_t ending = 0;
    for (size_t i = 0; i < t->images.len; i++)
        ending += t->images.data[i]->is_ending != 0;
    return (uint32_t)(t->images.len - ending + t->relatives.len);
}

const struct kymo_tick_threads *kymo_tree_tick_threads(const kymo_tree *t)
{
    return &t->tick_threads;
}

uint32_t kymo_tree_recorded(const kymo_tree *t)
{
    return t->recorded;
}

uint64_t kymo_tree_cpu_ns(const kymo_tree *t)
{
    return t->cpu_ns;
}

kymo_err kymo_tree_add_unsampled(kymo_tree *t, uint64_t cpu_ns)
{
    t->quality.cpu_unsampled_ns += cpu_ns;
    return t->config.events->quality(t->config.events_context, &t->quality);
}

struct kymo_tree_image *kymo_tree_find(const kymo_tree *t, pid_t pid)
{
    for (size_t i = 0; i < t->images.len; i++)
        if (t->images.data[i]->pid == pid)
            return t->images.data[i];
    return NULL;
}

/* ---- waiting and rounds ---- */

static kymo_err on_ring(void *context)
{
    kymo_tree *t = context;
    kymo_bell_hear(t->bell);
    KYMO_TRY(kymo_tree_look_at_new(t));
    for (size_t i = 0; i < t->images.len; i++) {
        struct kymo_tree_image *image = t->images.data[i];
        if (!image->is_live || !kymo_host_has_rung(image->host))
            continue;
        KYMO_TRY(kymo_host_hear(image->host));
        KYMO_TRY(kymo_tree_read_refusals(image));
    }
    return KYMO_OK;
}

/* When the image is to be drained, apart from rounds. */
static uint64_t due_ns(const struct kymo_tree_image *image)
{
    return image->is_ending ? 0 : image->is_live ? kymo_host_due_ns(image->host) : UINT64_MAX;
}

/* Drains images that have filled blocks, and ended images with much data left. An image with
 * more data than one drain reads ends this turn and comes last in the next one, so that
 * attaching processes and other images are served, too. */
static kymo_err answer_due(kymo_tree *t)
{
    uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    for (size_t i = 0; i < t->images.len; i++) {
        size_t at = (t->turn + i) % t->images.len;
        struct kymo_tree_image *image = t->images.data[at];
        if (due_ns(image) > now_ns)
            continue;
        int ends = image->is_ending;
        KYMO_TRY(ends ? kymo_tree_go_on_ending(t, image) : kymo_host_answer(image->host));
        if (ends || kymo_host_is_behind(image->host)) {
            t->turn = at + 1;
            return KYMO_OK;
        }
    }
    return KYMO_OK;
}

kymo_err kymo_tree_wait(kymo_tree *t, uint64_t until_ns, const sigset_t *mask)
{
    for (size_t i = 0; i < t->images.len; i++) {
        uint64_t next_ns = due_ns(t->images.data[i]);
        until_ns = next_ns < until_ns ? next_ns : until_ns;
    }
    until_ns = t->look_ns < until_ns ? t->look_ns : until_ns;
    KYMO_TRY(kymo_poller_wait(t->poller, until_ns, mask));
    KYMO_TRY(kymo_tree_look_outside(t, kymo_clock_ns(CLOCK_MONOTONIC)));
    return answer_due(t);
}

int kymo_tree_is_behind(const kymo_tree *t)
{
    for (size_t i = 0; i < t->images.len; i++)
        if (kymo_host_is_behind(t->images.data[i]->host))
            return 1;
    return 0;
}

static int is_still(struct kymo_tree_image *image)
{
    uint64_t clock_ns;
    if (!kymo_task_process_clock(image->pid, &clock_ns))
        return 0;
    int moved = clock_ns != image->clock_ns;
    image->clock_ns = clock_ns;
    image->still_rounds = moved ? 0 : image->still_rounds + 1;
    return image->still_rounds > STILL_ROUNDS && !kymo_host_has_rung(image->host);
}

kymo_err kymo_tree_read_refusals(struct kymo_tree_image *image)
{
    struct kymo_refusal refusal;
    kymo_refusals *all = &image->tree->refusals;
    while (kymo_host_refusal(image->host, &refusal, &all->others)) {
        KYMO_TRY(kymo_tree_await(image->tree, image, &refusal));
        /* the hook has noted the reason already */
        if (refusal.pid == image->pid)
            image->replacement_told = 1;
    }
    return KYMO_OK;
}

kymo_err kymo_tree_tell_replacement(struct kymo_tree_image *image, uint64_t now_ns)
{
    const struct kymo_host_config *c = &image->tree->config;
    char text[PATH_MAX + 96];
    if (image->replacement_told)
        return KYMO_OK;
    image->replacement_told = 1;
    snprintf(text, sizeof text,
             "the process became another program, %s, by exec: that one is not recorded",
             kymo_host_replaced_by(image->host));
    kymo_event_note e = {now_ns, image->process, KYMO_NOTE_WARNING, text};
    return c->events->note(c->events_context, &e);
}

static kymo_err round_of(struct kymo_tree_image *image, uint64_t now_ns)
{
    if (is_still(image)) {
        kymo_host_beat(image->host);
        return kymo_host_look_at_system(image->host, now_ns);
    }
    KYMO_TRY(kymo_host_round(image->host));
    /* After the drain: this notices an exec, after which the process is another image. */
    KYMO_TRY(kymo_host_look_at_system(image->host, now_ns));
    KYMO_TRY(kymo_tree_read_refusals(image));
    if (kymo_host_replaced_by(image->host)[0] == '\0')
        return KYMO_OK;
    if (image->replaced_ns == 0)
        image->replaced_ns = now_ns;
    return now_ns - image->replaced_ns >= FOLLOW_NS ? kymo_tree_tell_replacement(image, now_ns)
                                                    : KYMO_OK;
}

int kymo_tree_is_gone(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
}

/* For an image without a pidfd: whether its process has ended. */
static int is_gone(const struct kymo_tree_image *image)
{
    return image->end.fd < 0 &&
           (image->pid != image->tree->program || image->tree->watches_program) &&
           kymo_tree_is_gone(image->pid);
}

kymo_err kymo_tree_round(kymo_tree *t)
{
    uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    KYMO_TRY(kymo_tree_look_at_new(t));
    KYMO_TRY(kymo_tree_drop_late(t, now_ns));
    for (size_t i = t->images.len; i-- > 0;) {
        struct kymo_tree_image *image = t->images.data[i];
        if (!image->is_live)
            continue;
        KYMO_TRY(is_gone(image) ? kymo_tree_image_ended(image) : round_of(image, now_ns));
    }
    kymo_control_server_round(&t->control, now_ns);
    kymo_past_intervals_forget(&t->past, kymo_control_server_since(&t->control));
    kymo_file_answers_reap(&t->file_answers);
    return KYMO_OK;
}

kymo_err kymo_tree_end_interval(kymo_tree *t)
{
    for (size_t i = 0; i < t->images.len; i++)
        if (t->images.data[i]->is_live || t->images.data[i]->is_ending)
            KYMO_TRY(kymo_host_end_interval(t->images.data[i]->host));
    return KYMO_OK;
}

kymo_err kymo_tree_tick(kymo_tree *t, uint64_t now_ns)
{
    for (size_t i = 0; i < t->images.len; i++)
        if (t->images.data[i]->is_live)
            KYMO_TRY(kymo_host_tick(t->images.data[i]->host, now_ns));
    return KYMO_OK;
}
