/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_kept_heap.c - the live allocations, with the labels that their threads had when they
 * were made.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer/record.h"
#include "recording/recording_kept.h"
#include "recording/recording_write_event.h"

/* The last label of each key counts; labels without a kind were cleared. Those that its parent had
 * at the fork are not known here. */
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
        if (k == count && l->change != KYMO_LABEL_INHERITED)
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
    labels->users = 1;
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

/* The table of a process; NULL: none. */
static struct kymo_live_allocations *live_of(struct kymo_kept_process *p)
{
    return p && !p->live.is_off ? &p->live : NULL;
}

static struct kymo_live_allocations *live_of_thread(struct kymo_recording_kept *kept,
                                                    uint32_t thread)
{
    const struct kymo_kept_thread *t = kymo_kept_thread_of(kept, thread);
    return t ? live_of(kymo_kept_process_of(kept, t->process)) : NULL;
}

/* Sets *labels to those of the thread, if it has any. */
static kymo_err find_labels(const struct kymo_recording_kept *kept, uint32_t thread,
                            struct kymo_live_allocations *live, struct kymo_live_labels **labels)
{
    *labels = NULL;
    if (thread >= kept->labels.threads.len || kept->labels.threads.data[thread].live.len == 0)
        return KYMO_OK;
    const struct kymo_thread_labels *from = &kept->labels.threads.data[thread];
    live->lacks_labels |= has_inherited(from);
    *labels = labels_of(from);
    return *labels ? KYMO_OK : KYMO_E_NOMEM;
}

kymo_err kymo_kept_allocation(kymo_recording_writer *w, const kymo_event_allocation *e)
{
    struct kymo_live_allocations *live = live_of_thread(&w->kept, e->thread);
    struct kymo_live_labels *labels;
    if (!live)
        return KYMO_OK;
    /* If every allocation is recorded there may be millions a second, and the table would take
     * twice as long as writing them. */
    if (e->rate <= 1 && !(w->flags & KYMO_RECORDING_INTERVALS)) {
        kymo_live_allocations_give_up(live);
        return KYMO_OK;
    }
    KYMO_TRY(find_labels(&w->kept, e->thread, live, &labels));
    return kymo_live_allocations_add(live, e, labels);
}

kymo_err kymo_kept_resize(kymo_recording_writer *w, const kymo_event_resize *e)
{
    struct kymo_live_allocations *live = live_of_thread(&w->kept, e->now.thread);
    struct kymo_live_labels *labels;
    if (!live)
        return KYMO_OK;
    KYMO_TRY(find_labels(&w->kept, e->now.thread, live, &labels));
    return kymo_live_allocations_resize(live, e, labels);
}

kymo_err kymo_kept_free(kymo_recording_writer *w, const kymo_event_free *e)
{
    struct kymo_live_allocations *live = live_of_thread(&w->kept, e->thread);
    return live ? kymo_live_allocations_free(live, e) : KYMO_OK;
}

kymo_err kymo_recording_settle(kymo_recording_writer *w, uint32_t process, uint64_t read_ns)
{
    struct kymo_live_allocations *live = live_of(kymo_kept_process_of(&w->kept, process));
    return live ? kymo_live_allocations_settle(live, read_ns) : KYMO_OK;
}

/* The process that this one was forked from: the latest one with the parent's number. */
static struct kymo_live_allocations *live_of_parent(const struct kymo_recording_kept *kept,
                                                    const struct kymo_kept_process *child)
{
    struct kymo_kept_process *parent = NULL;
    for (size_t i = 0; i < kept->processes.len; i++) {
        struct kymo_kept_process *p = kept->processes.data[i];
        if (p && p != child && p->pid == child->parent_pid && p->start_ns <= child->start_ns &&
            (!parent || p->start_ns >= parent->start_ns))
            parent = p;
    }
    return live_of(parent);
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
    const struct kymo_kept_thread *t = kymo_kept_thread_of(&w->kept, e->thread);
    struct kymo_kept_process *p = t ? kymo_kept_process_of(&w->kept, t->process) : NULL;
    struct kymo_live_allocations *live = live_of(p);
    if (!live)
        return KYMO_OK;
    KYMO_TRY(kymo_live_allocations_inherit(live, live_of_parent(&w->kept, p), e, p->start_ns));
    const struct kymo_live_allocation *b = kymo_live_allocations_find(live, e->id);
    return b ? add_owner(&w->kept, p, b->stack_process) : KYMO_OK;
}

static kymo_err put_allocation(void *context, const struct kymo_live_allocation *b)
{
    kymo_recording_writer *w = context;
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

static kymo_err note(kymo_recording_writer *w, uint32_t process, const char *text)
{
    const kymo_event_note e = {w->kept.processes.data[process]->start_ns, process,
                               KYMO_NOTE_WARNING, text};
    return kymo_recording_write_note(w, &e);
}

static kymo_err note_missing(kymo_recording_writer *w, uint32_t process, uint64_t missing)
{
    char text[128];
    snprintf(text, sizeof text,
             "%llu of its allocations from before this file begins are not in it",
             (unsigned long long)missing);
    return missing ? note(w, process, text) : KYMO_OK;
}

kymo_err kymo_kept_put_live(kymo_recording_writer *w, uint32_t process)
{
    struct kymo_live_allocations *live = &w->kept.processes.data[process]->live;
    if (live->is_off)
        return note(w, process, "what its memory has from before this file begins is not known");
    KYMO_TRY(kymo_live_allocations_list(live, put_allocation, w));
    return note_missing(w, process, live->missing);
}

int kymo_recording_knows_allocations(const kymo_recording_writer *w)
{
    for (size_t i = 0; i < w->kept.processes.len; i++) {
        const struct kymo_kept_process *p = w->kept.processes.data[i];
        if (p && !p->has_ended && (p->live.is_off || p->live.missing || p->live.lacks_labels))
            return 0;
    }
    return w->kept.is_on;
}
