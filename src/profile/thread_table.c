/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

#include <stdio.h>
#include <stdlib.h>

static kymo_err make_row(kymo_profile *p, const kymo_thread *in, kymo_thread *row)
{
    if (in->size < sizeof *in || in->process >= p->processes.len)
        return KYMO_E_INVALID;
    *row = *in;
    row->size = sizeof *row;
    row->is_main = in->is_main != 0;
    if (row->end_ns && row->end_ns < row->start_ns)
        row->end_ns = row->start_ns;
    char fallback[32];
    const char *name = in->name;
    if (!name || !*name) {
        snprintf(fallback, sizeof fallback, "thread %d", (int)in->tid);
        name = fallback;
    }
    return kymo_profile_intern(p, name, NULL, &row->name);
}

kymo_err kymo_profile_add_thread(kymo_profile *profile, const kymo_thread *thread, uint32_t *id)
{
    kymo_thread row;
    if (profile->threads.len >= KYMO_THREADS_MAX)
        return KYMO_E_TOO_BIG;
    KYMO_TRY(make_row(profile, thread, &row));
    KYMO_TRY(kymo_vec_reserve(&profile->samples, 1));
    KYMO_TRY(kymo_vec_reserve(&profile->markers, 1));
    KYMO_TRY(kymo_vec_push(&profile->threads, row));
    profile->samples.data[profile->samples.len++] = (kymo_sample_columns){0};
    profile->markers.data[profile->markers.len++] = (kymo_marker_rows){0};
    profile->finished = 0;
    *id = (uint32_t)profile->threads.len - 1;
    return KYMO_OK;
}

kymo_err kymo_profile_update_thread(kymo_profile *profile, uint32_t id, const kymo_thread *thread)
{
    kymo_thread row;
    if (id >= profile->threads.len)
        return KYMO_E_INVALID;
    kymo_thread *old = &profile->threads.data[id];
    if (thread->tid != old->tid || thread->process != old->process)
        return KYMO_E_INVALID;
    KYMO_TRY(make_row(profile, thread, &row));
    *old = row;
    profile->finished = 0;
    return KYMO_OK;
}

/* Rank of a thread as main thread: the one that was marked, else the one whose tid is the pid. */
static int main_rank(const kymo_profile *p, uint32_t id)
{
    const kymo_thread *t = &p->threads.data[id];
    int is_leader = t->tid == p->processes.data[t->process].pid;
    return (t->is_main ? 2 : 0) + is_leader;
}

static int is_earlier(const kymo_profile *p, uint32_t a, uint32_t b)
{
    uint64_t start_a = p->threads.data[a].start_ns;
    uint64_t start_b = p->threads.data[b].start_ns;
    return start_a != start_b ? start_a < start_b : a < b;
}

/* Chooses the main thread of each process; main_of has an entry for each process. */
static kymo_err choose_main(kymo_profile *p, uint32_t *main_of)
{
    for (size_t i = 0; i < p->processes.len; i++)
        main_of[i] = KYMO_NONE;
    for (uint32_t i = 0; i < p->threads.len; i++) {
        uint32_t *best = &main_of[p->threads.data[i].process];
        if (*best == KYMO_NONE || main_rank(p, i) > main_rank(p, *best) ||
            (main_rank(p, i) == main_rank(p, *best) && is_earlier(p, i, *best)))
            *best = i;
    }
    for (uint32_t i = 0; i < p->processes.len; i++) {
        const kymo_process *process = &p->processes.data[i];
        if (main_of[i] == KYMO_NONE)
            KYMO_TRY(kymo_profile_add_thread(p,
                                             &(kymo_thread){.size = sizeof(kymo_thread),
                                                            .process = i,
                                                            .tid = process->pid,
                                                            .name = process->name,
                                                            .start_ns = process->start_ns,
                                                            .end_ns = process->end_ns},
                                             &main_of[i]));
    }
    for (size_t i = 0; i < p->threads.len; i++)
        p->threads.data[i].is_main = 0;
    for (size_t i = 0; i < p->processes.len; i++)
        p->threads.data[main_of[i]].is_main = 1;
    return KYMO_OK;
}

static int compare_threads(const void *a, const void *b, void *profile)
{
    const kymo_profile *p = profile;
    uint32_t id_a = *(const uint32_t *)a;
    uint32_t id_b = *(const uint32_t *)b;
    const kymo_thread *ta = &p->threads.data[id_a];
    const kymo_thread *tb = &p->threads.data[id_b];
    const kymo_process *pa = &p->processes.data[ta->process];
    const kymo_process *pb = &p->processes.data[tb->process];
    if (pa->is_main != pb->is_main)
        return pa->is_main ? -1 : 1;
    if (pa->start_ns != pb->start_ns)
        return pa->start_ns < pb->start_ns ? -1 : 1;
    if (ta->process != tb->process)
        return ta->process < tb->process ? -1 : 1;
    if (ta->is_main != tb->is_main)
        return ta->is_main ? -1 : 1;
    if (id_a == id_b)
        return 0;
    return is_earlier(p, id_a, id_b) ? -1 : 1;
}

kymo_err kymo_profile_settle_threads(kymo_profile *profile)
{
    uint32_t *main_of = malloc((profile->processes.len + 1) * sizeof *main_of);
    if (!main_of)
        return KYMO_E_NOMEM;
    kymo_err err = choose_main(profile, main_of);
    free(main_of);
    KYMO_TRY(err);
    profile->thread_order.len = 0;
    KYMO_TRY(kymo_vec_reserve(&profile->thread_order, profile->threads.len));
    for (uint32_t i = 0; i < profile->threads.len; i++)
        profile->thread_order.data[profile->thread_order.len++] = i;
    if (profile->thread_order.len > 1)
        qsort_r(profile->thread_order.data, profile->thread_order.len, sizeof(uint32_t),
                compare_threads, profile);
    return KYMO_OK;
}

const uint32_t *kymo_profile_thread_order(const kymo_profile *profile)
{
    return profile->finished ? profile->thread_order.data : NULL;
}
