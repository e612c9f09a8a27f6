/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_label_forks.c - see ingest_label_forks.h.
 *
 * A child may be in the recording before the thread that forked it, so threads are looked up at the
 * end. A file may claim a cycle of parents: a thread that is met twice on the way up counts as one
 * without a parent.
 */
#include "profile/ingest_label_forks.h"

#include <stdlib.h>

#include "base/search.h"
#include "profile/tables.h"

kymo_err kymo_label_forks_add(kymo_ingest *in, const kymo_event_label *e)
{
    if (e->from_process >= in->processes.len)
        return KYMO_E_INVALID;
    if (in->marks.label_forks.len >= KYMO_NONE)
        return kymo_ingest_leave_out(in, KYMO_INGEST_LABELS, KYMO_E_TOO_BIG);
    return kymo_vec_push(&in->marks.label_forks,
                         ((struct kymo_ingest_label_fork){.time_ns = e->time_ns,
                                                          .fork_ns = e->fork_ns,
                                                          .thread = e->thread,
                                                          .depth = e->depth,
                                                          .from_process = e->from_process,
                                                          .from_tid = e->from_tid}));
}

/* ---- finding the forking thread ---- */

/* Key of a thread. */
struct key {
    uint64_t start_ns; /* latest start of the thread that is looked for */
    uint32_t process;
    int32_t tid;
    uint32_t thread;
};

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int is_not_behind(const void *rows, size_t i, const void *key)
{
    return compare_keys((const struct key *)rows + i, key) <= 0;
}

static struct key *make_keys(const kymo_ingest *in)
{
    size_t count = in->threads.len;
    struct key *keys = malloc((count + 1) * sizeof *keys);
    for (uint32_t i = 0; keys && i < count; i++) {
        const kymo_thread *t = &in->profile->threads.data[i];
        keys[i] = (struct key){t->start_ns, t->process, t->tid, i};
    }
    if (keys)
        qsort(keys, count, sizeof *keys, compare_keys);
    return keys;
}

/* Among the threads with this number, the last one that began before the fork. */
static uint32_t find_thread(const struct key *keys, size_t count,
                            const struct kymo_ingest_label_fork *fork)
{
    const struct key wanted = {fork->fork_ns, fork->from_process, fork->from_tid, 0};
    size_t before = kymo_search_count(keys, count, is_not_behind, &wanted);
    const struct key *found = before ? &keys[before - 1] : NULL;
    return found && found->process == wanted.process && found->tid == wanted.tid ? found->thread
                                                                                 : KYMO_NONE;
}

/* ---- the order ---- */

enum { NEW, ON_THE_WAY, IN_ORDER };

/* Puts a thread in order, its ancestors before it. */
static size_t put_line(kymo_label_forks *forks, uint32_t thread, unsigned char *states,
                       uint32_t *line, size_t done)
{
    size_t len = 0;
    while (thread != KYMO_NONE && states[thread] == NEW) {
        states[thread] = ON_THE_WAY;
        line[len++] = thread;
        thread = forks->origins[thread].thread;
    }
    if (thread != KYMO_NONE && states[thread] == ON_THE_WAY)
        forks->origins[line[len - 1]].thread = KYMO_NONE;
    while (len > 0) {
        states[line[--len]] = IN_ORDER;
        forks->order[done++] = line[len];
    }
    return done;
}

static kymo_err put_in_order(kymo_label_forks *forks, size_t count)
{
    unsigned char *states = calloc(count, 1);
    uint32_t *line = malloc(count * sizeof *line);
    size_t done = 0;
    for (uint32_t i = 0; states && line && i < count; i++)
        done = put_line(forks, i, states, line, done);
    kymo_err err = states && line ? KYMO_OK : KYMO_E_NOMEM;
    free(states);
    free(line);
    return err;
}

kymo_err kymo_label_forks_find(const kymo_ingest *in, kymo_label_forks *forks)
{
    size_t count = in->marks.labels.len;
    forks->origins = malloc(count * sizeof *forks->origins);
    forks->order = malloc(count * sizeof *forks->order);
    if (!forks->origins || !forks->order)
        return KYMO_E_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        forks->origins[i] = (struct kymo_label_origin){KYMO_NONE, 0};
        forks->order[i] = i;
    }
    if (in->marks.label_forks.len == 0)
        return KYMO_OK;
    struct key *keys = make_keys(in);
    if (!keys)
        return KYMO_E_NOMEM;
    for (uint32_t i = 0; i < in->marks.label_forks.len; i++) {
        const struct kymo_ingest_label_fork *fork = &in->marks.label_forks.data[i];
        uint32_t from = find_thread(keys, in->threads.len, fork);
        /* A parent without labels has none to inherit. */
        forks->origins[fork->thread] =
            (struct kymo_label_origin){from < count ? from : KYMO_NONE, i};
    }
    free(keys);
    return put_in_order(forks, count);
}

void kymo_label_forks_deinit(kymo_label_forks *forks)
{
    free(forks->origins);
    free(forks->order);
}
