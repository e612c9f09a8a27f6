/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_kept_heap.c - the live allocations, with the labels that their threads had when they
 * were made.
 */
#include <stdlib.h>
#include <string.h>

#include "buffer/record.h"
#include "recording/recording_kept.h"
#include "recording/recording_write_event.h"

/* The last label of each key counts; labels without a kind were cleared. */
static struct kymo_live_labels *labels_of(const struct kymo_thread_labels *from)
{
    const kymo_event_label *seen[KYMO_EVENT_LIVE_LABELS_MAX];
    uint32_t count = 0;
    size_t texts = 0;
    for (size_t i = from->live.len; i-- > 0 && count < KYMO_EVENT_LIVE_LABELS_MAX;) {
        const kymo_event_label *l = &from->live.data[i];
        uint32_t k = 0;
        while (k < count && strcmp(seen[k]->key ? seen[k]->key : "", l->key ? l->key : "") != 0)
            k++;
        if (k == count)
            seen[count++] = l;
    }
    for (uint32_t i = 0; i < count; i++)
        texts += strlen(seen[i]->key ? seen[i]->key : "") + 1 +
                 (seen[i]->text ? strlen(seen[i]->text) + 1 : 0);
    struct kymo_live_labels *labels =
        malloc(sizeof *labels + count * sizeof labels->labels[0] + texts);
    if (!labels)
        return NULL;
    char *at = (char *)&labels->labels[count];
    labels->count = count;
    for (uint32_t i = 0; i < count; i++) {
        labels->labels[i] =
            (kymo_event_live_label){.key = at, .number = seen[i]->number, .kind = seen[i]->kind};
        at = stpcpy(at, seen[i]->key ? seen[i]->key : "") + 1;
        if (!seen[i]->text)
            continue;
        labels->labels[i].text = at;
        at = stpcpy(at, seen[i]->text) + 1;
    }
    return labels;
}

static int has_inherited(const struct kymo_thread_labels *labels)
{
    for (size_t i = 0; i < labels->live.len; i++)
        if (labels->live.data[i].change == KYMO_LABEL_INHERITED)
            return 1;
    return 0;
}

/* The table of the thread's process; NULL: none. *labels is set to the thread's labels, if it
 * has any. */
static kymo_err live_of(kymo_recording_writer *w, uint32_t thread,
                        struct kymo_live_allocations **allocations,
                        struct kymo_live_labels **labels)
{
    struct kymo_recording_kept *kept = &w->kept;
    const struct kymo_kept_thread *t = kymo_kept_thread_of(kept, thread);
    struct kymo_kept_process *p = t ? kymo_kept_process_of(kept, t->process) : NULL;
    *allocations = p && !p->live.is_inexact ? &p->live : NULL;
    if (!labels)
        return KYMO_OK;
    *labels = NULL;
    if (!*allocations || thread >= kept->labels.threads.len ||
        kept->labels.threads.data[thread].live.len == 0)
        return KYMO_OK;
    const struct kymo_thread_labels *from = &kept->labels.threads.data[thread];
    /* The labels of its parent at the fork are not known here. */
    if (has_inherited(from)) {
        kymo_live_allocations_give_up(*allocations);
        return KYMO_OK;
    }
    *labels = labels_of(from);
    return *labels ? KYMO_OK : KYMO_E_NOMEM;
}

kymo_err kymo_kept_allocation(kymo_recording_writer *w, const kymo_event_allocation *e)
{
    struct kymo_live_allocations *allocations;
    struct kymo_live_labels *labels;
    KYMO_TRY(live_of(w, e->thread, &allocations, &labels));
    /* If every allocation is recorded there may be millions a second, and the table would take
     * twice as long as writing them. */
    if (allocations && e->rate <= 1 && !(w->flags & KYMO_RECORDING_INTERVALS)) {
        free(labels);
        kymo_live_allocations_give_up(allocations);
        return KYMO_OK;
    }
    return allocations ? kymo_live_allocations_add(allocations, e, labels) : KYMO_OK;
}

kymo_err kymo_kept_resize(kymo_recording_writer *w, const kymo_event_resize *e)
{
    struct kymo_live_allocations *allocations;
    struct kymo_live_labels *labels;
    KYMO_TRY(live_of(w, e->now.thread, &allocations, &labels));
    return allocations ? kymo_live_allocations_resize(allocations, e, labels) : KYMO_OK;
}

kymo_err kymo_kept_free(kymo_recording_writer *w, const kymo_event_free *e)
{
    struct kymo_live_allocations *allocations;
    KYMO_TRY(live_of(w, e->thread, &allocations, NULL));
    return allocations ? kymo_live_allocations_free(allocations, e) : KYMO_OK;
}

/* The process that this one was forked from: the latest one with the parent's number. */
static const struct kymo_live_allocations *live_of_parent(const struct kymo_recording_kept *kept,
                                                          const struct kymo_kept_process *child)
{
    const struct kymo_kept_process *parent = NULL;
    for (size_t i = 0; i < kept->processes.len; i++) {
        const struct kymo_kept_process *p = kept->processes.data[i];
        if (p && p != child && p->pid == child->parent_pid && p->start_ns <= child->start_ns &&
            (!parent || p->start_ns >= parent->start_ns))
            parent = p;
    }
    return parent && !parent->live.is_inexact ? &parent->live : NULL;
}

/* Notes that a process has allocations with stacks of another process, which must be kept. */
static kymo_err add_owner(struct kymo_recording_kept *kept, struct kymo_kept_process *heir,
                          uint32_t owner)
{
    struct kymo_kept_process *p = kymo_kept_process_of(kept, owner);
    for (size_t i = 0; i < heir->owners.len; i++)
        if (heir->owners.data[i] == owner)
            return KYMO_OK;
    if (!p || p == heir || heir->has_ended)
        return KYMO_OK;
    KYMO_TRY(kymo_vec_push(&heir->owners, owner));
    p->heirs++;
    return KYMO_OK;
}

kymo_err kymo_kept_inherit(kymo_recording_writer *w, const kymo_event_inherit *e)
{
    struct kymo_live_allocations *allocations;
    KYMO_TRY(live_of(w, e->thread, &allocations, NULL));
    if (!allocations)
        return KYMO_OK;
    const struct kymo_kept_thread *t = kymo_kept_thread_of(&w->kept, e->thread);
    struct kymo_kept_process *p = kymo_kept_process_of(&w->kept, t->process);
    KYMO_TRY(
        kymo_live_allocations_inherit(allocations, live_of_parent(&w->kept, p), e, p->start_ns));
    const struct kymo_live_allocation *b = kymo_live_allocations_find(allocations, e->id);
    return b ? add_owner(&w->kept, p, b->stack_process) : KYMO_OK;
}

static kymo_err put_allocation(kymo_recording_writer *w, const struct kymo_live_allocation *b)
{
    const kymo_event_live e = {
        .thread = b->thread,
        .stack = b->stack,
        .stack_process = b->stack_process,
        .time_ns = b->time_ns,
        .birth_ns = b->birth_ns,
        .id = b->id,
        .address = b->address,
        .bytes = b->bytes,
        .weight = b->weight,
        .slack = b->slack,
        .family = b->family,
        .is_inherited = b->is_inherited,
        .label_count = b->labels ? b->labels->count : 0,
        .labels = b->labels ? b->labels->labels : NULL,
    };
    return kymo_recording_write_live(w, &e);
}

kymo_err kymo_kept_put_live(kymo_recording_writer *w, uint32_t process)
{
    static const char text[] = "what its memory has from before this file begins is not known";
    const struct kymo_kept_process *p = w->kept.processes.data[process];
    const struct kymo_live_allocations *live = &p->live;
    if (live->is_inexact) {
        const kymo_event_note e = {p->start_ns, process, KYMO_NOTE_WARNING, text};
        return kymo_recording_write_note(w, &e);
    }
    for (size_t i = 0; i < live->places.len; i++)
        if (kymo_live_allocation_lives(&live->places.data[i]))
            KYMO_TRY(put_allocation(w, &live->places.data[i]));
    return KYMO_OK;
}

int kymo_recording_knows_allocations(const kymo_recording_writer *w)
{
    for (size_t i = 0; i < w->kept.processes.len; i++) {
        const struct kymo_kept_process *p = w->kept.processes.data[i];
        if (p && !p->has_ended && p->live.is_inexact)
            return 0;
    }
    return w->kept.is_on;
}
