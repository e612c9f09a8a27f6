/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select.c - from what was asked for to the rows that are kept.
 *
 * Stacks first, then threads, which with focus or ignore depend on them, then processes, which stay
 * with their threads. Where nothing is left, the first step that left nothing is what is said.
 */
#include "select/select.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/tables.h"
#include "select/copy.h"
#include "select/select_stacks.h"

struct work {
    const kymo_profile *p;
    const kymo_selection *s;
    kymo_keep keep;
    uint8_t *stack, *thread, *process;
};

int kymo_selection_is_part(const kymo_selection *s)
{
    return s->from_ns > 0 || s->to_ns < UINT64_MAX || s->thread_count || s->process_count ||
           s->focus || s->ignore;
}

static int is_number(const char *text, int32_t number)
{
    char own[16];
    snprintf(own, sizeof own, "%d", (int)number);
    return strcmp(text, own) == 0;
}

static int matches(const char *pattern, const char *name, int32_t number)
{
    return is_number(pattern, number) || strcmp(pattern, name) == 0 ||
           fnmatch(pattern, name, 0) == 0;
}

static int is_named(const char *const *names, uint32_t count, const char *name, int32_t number)
{
    for (uint32_t i = 0; i < count; i++)
        if (matches(names[i], name, number))
            return 1;
    return count == 0;
}

/* Times are 0 where they are not known. */
static int lived(const kymo_keep *keep, uint64_t start_ns, uint64_t end_ns)
{
    return start_ns <= keep->to_ns && (end_ns == 0 || end_ns >= keep->from_ns);
}

static uint64_t moment(const kymo_profile *p, uint64_t since_start_ns)
{
    uint64_t origin_ns = kymo_profile_meta(p)->origin_monotonic_ns;
    return since_start_ns < UINT64_MAX - origin_ns ? origin_ns + since_start_ns : UINT64_MAX;
}

static kymo_err choose_stacks(struct work *w, kymo_error *detail)
{
    int is_found;
    if (!w->s->focus && !w->s->ignore)
        return KYMO_OK;
    w->keep.stack = w->stack;
    w->keep.leaves_out_stackless = w->s->focus != NULL;
    KYMO_TRY(kymo_select_stacks(w->p, w->s, w->stack, &is_found));
    if (w->s->focus && !is_found)
        return kymo_error_set(
            detail, KYMO_E_NOT_FOUND, 0,
            "nothing is selected: no function matches --focus; --top 0 lists them");
    return KYMO_OK;
}

/* Threads with samples or allocations that are kept. */
static void keep_by_rows(struct work *w)
{
    uint32_t type_count;
    const kymo_sample_type *types = kymo_profile_sample_types(w->p, &type_count);
    for (uint32_t t = 0; t < kymo_profile_count(w->p, KYMO_TABLE_THREADS); t++) {
        kymo_samples s = kymo_profile_samples(w->p, t);
        for (size_t i = 0; i < s.count && !w->thread[t]; i++) {
            uint64_t time_ns = s.time_ns[i];
            uint64_t weight = s.weight_ns[i];
            w->thread[t] = (uint8_t)kymo_keep_has_sample(&w->keep, types[s.kind[i]].adds,
                                                         s.stack[i], &time_ns, &weight);
        }
    }
    for (uint32_t p = 0; p < kymo_profile_count(w->p, KYMO_TABLE_PROCESSES); p++) {
        size_t count;
        const kymo_allocation *a = kymo_profile_allocations(w->p, p, &count);
        for (size_t i = 0; i < count; i++)
            w->thread[a[i].thread] |=
                (uint8_t)kymo_keep_has_row(&w->keep, a[i].time_ns, a[i].stack);
        const kymo_mapping *m = kymo_profile_mappings(w->p, p, &count);
        for (size_t i = 0; i < count; i++)
            w->thread[m[i].thread] |=
                (uint8_t)kymo_keep_has_row(&w->keep, m[i].time_ns, m[i].stack);
    }
}

/* Each name must match a process, so that a misspelt one among several does not pass unseen. */
static kymo_err match_processes(struct work *w, kymo_error *detail)
{
    uint32_t count = kymo_profile_count(w->p, KYMO_TABLE_PROCESSES);
    for (uint32_t n = 0; n < w->s->process_count; n++) {
        uint32_t found = 0;
        for (uint32_t i = 0; i < count; i++) {
            const kymo_process *p = kymo_profile_process(w->p, i);
            found += (uint32_t)matches(w->s->processes[n], p->name, p->pid);
        }
        if (found == 0)
            return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0,
                                  "nothing is selected: no process matches --process '%.80s'; "
                                  "--by process lists them",
                                  w->s->processes[n]);
    }
    for (uint32_t i = 0; i < count; i++) {
        const kymo_process *p = kymo_profile_process(w->p, i);
        w->process[i] = (uint8_t)is_named(w->s->processes, w->s->process_count, p->name, p->pid);
    }
    return KYMO_OK;
}

/* The same of threads, in processes that match. */
static kymo_err match_threads(struct work *w, kymo_error *detail)
{
    for (uint32_t n = 0; n < w->s->thread_count; n++) {
        uint32_t found = 0;
        for (uint32_t i = 0; i < kymo_profile_count(w->p, KYMO_TABLE_THREADS); i++) {
            const kymo_thread *t = kymo_profile_thread(w->p, i);
            found += w->process[t->process] && matches(w->s->threads[n], t->name, t->tid);
        }
        if (found == 0)
            return kymo_error_set(
                detail, KYMO_E_NOT_FOUND, 0,
                "nothing is selected: no thread matches --thread '%.80s'%s; --by thread lists them",
                w->s->threads[n], w->s->process_count ? " in the processes of --process" : "");
    }
    return KYMO_OK;
}

static kymo_err choose_threads(struct work *w, kymo_error *detail)
{
    KYMO_TRY(match_processes(w, detail));
    KYMO_TRY(match_threads(w, detail));
    if (w->keep.stack)
        keep_by_rows(w);
    for (uint32_t i = 0; i < kymo_profile_count(w->p, KYMO_TABLE_THREADS); i++) {
        const kymo_thread *t = kymo_profile_thread(w->p, i);
        w->thread[i] = w->process[t->process] &&
                       is_named(w->s->threads, w->s->thread_count, t->name, t->tid) &&
                       (!w->keep.stack || w->thread[i]) && lived(&w->keep, t->start_ns, t->end_ns);
    }
    return KYMO_OK;
}

/* A process stays with a thread that does. */
static void choose_processes(struct work *w)
{
    memset(w->process, 0, kymo_profile_count(w->p, KYMO_TABLE_PROCESSES));
    for (uint32_t i = 0; i < kymo_profile_count(w->p, KYMO_TABLE_THREADS); i++)
        if (w->thread[i])
            w->process[kymo_profile_thread(w->p, i)->process] = 1;
}

static kymo_err copy_part(struct work *w, kymo_sanitizer *sanitizer, kymo_profile **out,
                          kymo_error *detail)
{
    KYMO_TRY(choose_stacks(w, detail));
    KYMO_TRY(choose_threads(w, detail));
    choose_processes(w);
    w->keep.thread = w->thread;
    w->keep.process = w->process;
    KYMO_TRY(kymo_profile_copy(w->p, &w->keep, sanitizer, out));
    if (w->s->may_be_empty || kymo_profile_sample_count(*out) ||
        kymo_profile_count(*out, KYMO_TABLE_MARKERS) ||
        kymo_profile_count(*out, KYMO_TABLE_ALLOCATIONS) ||
        kymo_profile_count(*out, KYMO_TABLE_MAPPINGS))
        return KYMO_OK;
    kymo_profile_destroy(*out);
    return kymo_error_set(
        detail, KYMO_E_NOT_FOUND, 0,
        "nothing is selected: there are no samples, markers or allocations in what "
        "these options select together");
}

kymo_err kymo_select(const kymo_profile *profile, const kymo_selection *selection,
                     kymo_sanitizer *sanitizer, kymo_profile **out, kymo_error *detail)
{
    size_t stacks = kymo_profile_count(profile, KYMO_TABLE_STACKS);
    size_t threads = kymo_profile_count(profile, KYMO_TABLE_THREADS);
    size_t processes = kymo_profile_count(profile, KYMO_TABLE_PROCESSES);
    struct work w = {
        .p = profile,
        .s = selection,
        .keep = {.from_ns = selection->from_ns ? moment(profile, selection->from_ns) : 0,
                 .to_ns = moment(profile, selection->to_ns)},
        .stack = calloc(stacks + threads + processes + 1, 1)};
    kymo_profile *part = NULL;
    kymo_error unused;
    if (!w.stack)
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "%s", kymo_err_text(KYMO_E_NOMEM));
    w.thread = w.stack + stacks;
    w.process = w.thread + threads;
    kymo_err err = copy_part(&w, sanitizer, &part, detail ? detail : &unused);
    free(w.stack);
    if (err == KYMO_OK)
        *out = part;
    else if (err != KYMO_E_NOT_FOUND)
        return kymo_error_set(detail, err, 0, "%s", kymo_err_text(err));
    return err;
}
