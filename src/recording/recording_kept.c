/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_kept.c - see recording_kept.h.
 *
 * Definitions are kept as payloads, which are written again unchanged. Within one segment nothing
 * needs to be done, since each definition is written before events that refer to it. In a later
 * segment each event's references are looked up, and written first if the segment lacks them.
 */
#include "recording/recording_kept.h"

#include <stdlib.h>
#include <string.h>

#include "recording/recording_write_event.h"

/* ---- which chunks are kept ---- */

enum scope {
    NOT_KEPT = 0,
    OF_RECORDING,
    OF_PROCESS, /* definition of a process */
    STATE,      /* state of a process: the last one counts, with the same id if it has one */
    TO_PROCESS, /* not kept, but needs its process in the segment */
    A_PROCESS,  /* begins a process */
    PROCESS_END,
    A_THREAD,
    THREAD_NAME,
    THREAD_END,
    KERNEL_STACK,
};

/* Offsets in the payload of the process or thread, and of the id: both 32 bits. */
struct rule {
    uint8_t scope, owner_at, id_at;
};

static struct rule rule_of(enum kymo_chunk_type type)
{
    static const struct rule rules[] = {
        [KYMO_CHUNK_META] = {OF_RECORDING, 0, 0},
        [KYMO_CHUNK_WAIT] = {OF_RECORDING, 0, 0},
        [KYMO_CHUNK_KERNEL_SYMBOL] = {OF_RECORDING, 0, 0},
        [KYMO_CHUNK_PROCESS] = {A_PROCESS, 4, 0},
        [KYMO_CHUNK_PROCESS_END] = {PROCESS_END, 4, 0},
        [KYMO_CHUNK_THREAD] = {A_THREAD, 4, 8},
        [KYMO_CHUNK_THREAD_NAME] = {THREAD_NAME, 4, 0},
        [KYMO_CHUNK_THREAD_END] = {THREAD_END, 4, 0},
        [KYMO_CHUNK_MODULE] = {OF_PROCESS, 8, 4},
        [KYMO_CHUNK_MODULE_UNLOAD] = {OF_PROCESS, 8, 4},
        [KYMO_CHUNK_MODULE_IMAGE] = {OF_PROCESS, 8, 4},
        [KYMO_CHUNK_CODE] = {TO_PROCESS, 4, 0},
        [KYMO_CHUNK_SCRIPT] = {OF_PROCESS, 4, 8},
        [KYMO_CHUNK_KERNEL_STACK] = {KERNEL_STACK, 4, 8},
        [KYMO_CHUNK_MARKER_CATEGORY] = {OF_PROCESS, 4, 8},
        [KYMO_CHUNK_MARKER_TYPE] = {OF_PROCESS, 4, 8},
        [KYMO_CHUNK_SITE] = {OF_PROCESS, 4, 8},
        [KYMO_CHUNK_LITERAL] = {OF_PROCESS, 4, 8},
        [KYMO_CHUNK_TRACK] = {OF_PROCESS, 4, 8},
        [KYMO_CHUNK_COUNTER] = {OF_PROCESS, 4, 8},
        [KYMO_CHUNK_SITE_COUNTS] = {STATE, 4, 8},
        [KYMO_CHUNK_LOSS] = {STATE, 4, 8},
        [KYMO_CHUNK_QUALITY] = {STATE, 4, 4},
        [KYMO_CHUNK_HEAP] = {STATE, 4, 4},
        [KYMO_CHUNK_LEDGER] = {TO_PROCESS, 4, 0},
        [KYMO_CHUNK_MEMORY_INFO] = {TO_PROCESS, 4, 0},
        [KYMO_CHUNK_NOTE] = {TO_PROCESS, 4, 0},
    };
    return (size_t)type < KYMO_ARRAY_LEN(rules) ? rules[type] : (struct rule){NOT_KEPT, 0, 0};
}

static uint32_t number_at(const kymo_recording_writer *w, size_t at)
{
    uint32_t number = 0;
    if (at + sizeof number <= w->event.len)
        memcpy(&number, w->event.data + at, sizeof number);
    return number;
}

/* ---- chunks ---- */

struct kymo_kept_chunk *kymo_kept_copy(const kymo_recording_writer *w, enum kymo_chunk_type type,
                                       uint32_t id)
{
    struct kymo_kept_chunk *chunk = malloc(sizeof *chunk + w->event.len);
    if (!chunk)
        return NULL;
    chunk->type = type;
    chunk->id = id;
    chunk->len = (uint32_t)w->event.len;
    memcpy(chunk->payload, w->event.data, w->event.len);
    return chunk;
}

static kymo_err keep(const kymo_recording_writer *w, kymo_kept_list *list,
                     enum kymo_chunk_type type, uint32_t id)
{
    struct kymo_kept_chunk *chunk = kymo_kept_copy(w, type, id);
    kymo_err err = chunk ? kymo_vec_push(list, chunk) : KYMO_E_NOMEM;
    if (err != KYMO_OK)
        free(chunk);
    return err;
}

static void deinit_list(kymo_kept_list *list)
{
    for (size_t i = 0; i < list->len; i++)
        free(list->data[i]);
    kymo_vec_deinit(list);
}

kymo_err kymo_kept_put_again(kymo_recording_writer *w, const struct kymo_kept_chunk *chunk)
{
    kymo_bytes_clear(&w->kept.again);
    KYMO_TRY(kymo_bytes_append(&w->kept.again, chunk->payload, chunk->len));
    return kymo_chunk_out_put(&w->out, chunk->type, &w->kept.again,
                              chunk->type == KYMO_CHUNK_MODULE_IMAGE);
}

static kymo_err put_all_again(kymo_recording_writer *w, const kymo_kept_list *list)
{
    for (size_t i = 0; i < list->len; i++)
        KYMO_TRY(kymo_kept_put_again(w, list->data[i]));
    return KYMO_OK;
}

/* ---- processes ---- */

struct kymo_kept_process *kymo_kept_process_of(const struct kymo_recording_kept *kept,
                                               uint32_t process)
{
    return process < kept->processes.len ? kept->processes.data[process] : NULL;
}

static kymo_err begin_process(kymo_recording_writer *w, uint32_t process)
{
    struct kymo_recording_kept *kept = &w->kept;
    struct kymo_file_process fixed;
    memcpy(&fixed, w->event.data, sizeof fixed);
    while (kept->processes.len <= process)
        KYMO_TRY(kymo_vec_push(&kept->processes, NULL));
    struct kymo_kept_process *p = calloc(1, sizeof *p);
    if (!p)
        return KYMO_E_NOMEM;
    p->pid = fixed.pid;
    p->parent_pid = fixed.parent_pid;
    p->start_ns = fixed.start_ns;
    p->segment = kept->segment;
    p->live.process = process;
    kept->processes.data[process] = p;
    return keep(w, &p->definitions, KYMO_CHUNK_PROCESS, process);
}

static void forget_thread(struct kymo_recording_kept *kept, struct kymo_kept_thread *t)
{
    free(t->chunk);
    free(t->name);
    kymo_kept_labels_forget(&kept->labels, t->thread);
    kymo_open_calls_forget(&kept->open_calls, t->thread);
    kymo_key_map_remove(&kept->thread_ids, t->thread);
    struct kymo_kept_thread *last = &kept->threads.data[--kept->threads.len];
    if (t == last)
        return;
    *t = *last;
    *kymo_key_map_find(&kept->thread_ids, t->thread) = (uint32_t)(t - kept->threads.data);
}

static void free_process(struct kymo_kept_process *p)
{
    if (!p)
        return;
    deinit_list(&p->definitions);
    for (size_t i = 0; i < p->states.len; i++)
        free(p->states.data[i].chunk);
    kymo_vec_deinit(&p->states);
    kymo_vec_deinit(&p->owners);
    kymo_vec_deinit(&p->counts);
    kymo_kept_stacks_deinit(&p->stacks);
    kymo_kept_modules_deinit(&p->unloaded);
    kymo_live_allocations_deinit(&p->live);
    kymo_open_intervals_deinit(&p->open);
    free(p);
}

static void forget_process(struct kymo_recording_kept *kept, uint32_t process)
{
    for (size_t i = kept->threads.len; i-- > 0;)
        if (kept->threads.data[i].process == process)
            forget_thread(kept, &kept->threads.data[i]);
    free_process(kymo_kept_process_of(kept, process));
    kept->processes.data[process] = NULL;
}

/* Drops the oldest ended process that is no longer needed. */
static void forget_one(struct kymo_recording_kept *kept)
{
    for (size_t i = 0; i < kept->ended.len; i++) {
        const uint32_t process = kept->ended.data[i];
        if (kept->processes.data[process]->heirs)
            continue;
        forget_process(kept, process);
        kept->ended.len--;
        memmove(kept->ended.data + i, kept->ended.data + i + 1,
                (kept->ended.len - i) * sizeof *kept->ended.data);
        return;
    }
}

static kymo_err end_process(struct kymo_recording_kept *kept, uint32_t process)
{
    struct kymo_kept_process *p = kymo_kept_process_of(kept, process);
    if (!p || p->has_ended)
        return KYMO_OK;
    p->has_ended = 1;
    for (size_t i = 0; i < p->owners.len; i++)
        kept->processes.data[p->owners.data[i]]->heirs--;
    KYMO_TRY(kymo_vec_push(&kept->ended, process));
    if (kept->ended.len > KYMO_KEPT_ENDED)
        forget_one(kept);
    return KYMO_OK;
}

void kymo_kept_deinit(struct kymo_recording_kept *kept)
{
    for (size_t i = 0; i < kept->threads.len; i++) {
        free(kept->threads.data[i].chunk);
        free(kept->threads.data[i].name);
    }
    for (size_t i = 0; i < kept->processes.len; i++)
        free_process(kept->processes.data[i]);
    kymo_vec_deinit(&kept->threads);
    kymo_vec_deinit(&kept->processes);
    kymo_vec_deinit(&kept->ended);
    kymo_key_map_deinit(&kept->thread_ids);
    kymo_kept_labels_deinit(&kept->labels);
    kymo_open_calls_deinit(&kept->open_calls);
    kymo_vec_deinit(&kept->scratch.frames);
    kymo_bytes_deinit(&kept->again);
    deinit_list(&kept->common);
}

static kymo_err put_counts(kymo_recording_writer *w, const struct kymo_kept_process *p)
{
    for (size_t i = 0; i < p->counts.len; i++)
        KYMO_TRY(kymo_recording_write_count(w, &p->counts.data[i]));
    return KYMO_OK;
}

kymo_err kymo_kept_need_process(kymo_recording_writer *w, uint32_t process)
{
    struct kymo_kept_process *p = kymo_kept_process_of(&w->kept, process);
    if (!p || p->segment == w->kept.segment)
        return KYMO_OK;
    p->segment = w->kept.segment;
    KYMO_TRY(put_all_again(w, &p->definitions));
    KYMO_TRY(kymo_kept_put_states(w, p));
    return put_counts(w, p);
}

/* ---- threads ---- */

struct kymo_kept_thread *kymo_kept_thread_of(const struct kymo_recording_kept *kept,
                                             uint32_t thread)
{
    const uint32_t *place = kymo_key_map_find(&kept->thread_ids, thread);
    return place ? &kept->threads.data[*place] : NULL;
}

static kymo_err begin_thread(kymo_recording_writer *w, uint32_t thread, uint32_t process)
{
    struct kymo_recording_kept *kept = &w->kept;
    struct kymo_kept_thread t = {.thread = thread, .process = process, .segment = kept->segment};
    if (kymo_kept_thread_of(kept, thread))
        return KYMO_OK;
    t.chunk = kymo_kept_copy(w, KYMO_CHUNK_THREAD, thread);
    kymo_err err = t.chunk ? kymo_vec_push(&kept->threads, t) : KYMO_E_NOMEM;
    if (err != KYMO_OK) {
        free(t.chunk);
        return err;
    }
    return kymo_key_map_put(&kept->thread_ids, thread, (uint32_t)kept->threads.len - 1);
}

static kymo_err name_thread(kymo_recording_writer *w, uint32_t thread)
{
    struct kymo_kept_thread *t = kymo_kept_thread_of(&w->kept, thread);
    struct kymo_kept_chunk *name = t ? kymo_kept_copy(w, KYMO_CHUNK_THREAD_NAME, thread) : NULL;
    if (!t)
        return KYMO_OK;
    if (!name)
        return KYMO_E_NOMEM;
    free(t->name);
    t->name = name;
    return KYMO_OK;
}

kymo_err kymo_kept_need_thread(kymo_recording_writer *w, uint32_t thread)
{
    struct kymo_kept_thread *t = kymo_kept_thread_of(&w->kept, thread);
    if (!t || t->segment == w->kept.segment)
        return KYMO_OK;
    t->segment = w->kept.segment;
    KYMO_TRY(kymo_kept_need_process(w, t->process));
    KYMO_TRY(kymo_kept_put_again(w, t->chunk));
    return t->name ? kymo_kept_put_again(w, t->name) : KYMO_OK;
}

/* ---- called when events are written ---- */

kymo_err kymo_kept_before_chunk(kymo_recording_writer *w, enum kymo_chunk_type type, int *is_late)
{
    const struct rule rule = rule_of(type);
    static const uint32_t none = KYMO_EVENT_NONE;
    struct kymo_kept_process *p = kymo_kept_process_of(&w->kept, number_at(w, rule.owner_at));
    *is_late = 0;
    switch ((enum scope)rule.scope) {
    case OF_PROCESS:
    case TO_PROCESS:
        if (type == KYMO_CHUNK_NOTE && !p)
            memcpy(w->event.data + rule.owner_at, &none, sizeof none);
        return kymo_kept_need_process(w, number_at(w, rule.owner_at));
    case STATE:
        *is_late = !p;
        KYMO_TRY(kymo_kept_need_process(w, number_at(w, rule.owner_at)));
        return p ? kymo_kept_take_state(w, p, type, number_at(w, rule.id_at)) : KYMO_OK;
    case PROCESS_END:
        kymo_kept_shorten_end(w, type);
        return kymo_kept_need_process(w, number_at(w, rule.owner_at));
    case KERNEL_STACK:
        KYMO_TRY(kymo_kept_need_process(w, number_at(w, rule.owner_at)));
        KYMO_TRY(kymo_kept_need_process_stack(
            w, number_at(w, rule.owner_at),
            number_at(w, offsetof(struct kymo_file_kernel_stack, caller))));
        return kymo_writer_close_stacks(w);
    case A_THREAD:
        return kymo_kept_need_process(w, number_at(w, rule.id_at));
    case THREAD_END:
        kymo_kept_shorten_end(w, type);
        return kymo_kept_need_thread(w, number_at(w, rule.owner_at));
    case THREAD_NAME:
        return kymo_kept_need_thread(w, number_at(w, rule.owner_at));
    case NOT_KEPT:
    case OF_RECORDING:
    case A_PROCESS:
        return KYMO_OK;
    }
    return KYMO_OK;
}

kymo_err kymo_kept_after_chunk(kymo_recording_writer *w, enum kymo_chunk_type type)
{
    const struct rule rule = rule_of(type);
    const uint32_t owner = number_at(w, rule.owner_at);
    const uint32_t id = number_at(w, rule.id_at);
    struct kymo_kept_process *p = kymo_kept_process_of(&w->kept, owner);
    struct kymo_kept_thread *t = NULL;
    switch ((enum scope)rule.scope) {
    case OF_RECORDING:
        return keep(w, &w->kept.common, type, 0);
    case A_PROCESS:
        return p ? KYMO_OK : begin_process(w, owner);
    case OF_PROCESS:
        if (!p)
            return KYMO_OK;
        KYMO_TRY(keep(w, &p->definitions, type, id));
        return type == KYMO_CHUNK_MODULE_UNLOAD ? kymo_kept_unload(&w->kept, p, id) : KYMO_OK;
    case PROCESS_END:
        return end_process(&w->kept, owner);
    case A_THREAD:
        return begin_thread(w, owner, id);
    case THREAD_NAME:
        return name_thread(w, owner);
    case THREAD_END:
        t = kymo_kept_thread_of(&w->kept, owner);
        if (t)
            t->has_ended = 1;
        return KYMO_OK;
    case KERNEL_STACK:
        return kymo_kept_kernel_stack(w, owner, id);
    case NOT_KEPT:
    case STATE:
    case TO_PROCESS:
        return KYMO_OK;
    }
    return KYMO_OK;
}

kymo_err kymo_kept_count(kymo_recording_writer *w, const kymo_event_count *e)
{
    struct kymo_kept_process *p = kymo_kept_process_of(&w->kept, e->process);
    if (!p)
        return KYMO_OK;
    for (size_t i = 0; i < p->counts.len; i++)
        if (p->counts.data[i].counter == e->counter) {
            p->counts.data[i] = *e;
            return KYMO_OK;
        }
    return kymo_vec_push(&p->counts, *e);
}

kymo_err kymo_kept_site(kymo_recording_writer *w, const kymo_event_site *e)
{
    struct kymo_kept_process *p = kymo_kept_process_of(&w->kept, e->process);
    return p ? kymo_open_intervals_site(&p->open, e) : KYMO_OK;
}

kymo_err kymo_kept_marker(kymo_recording_writer *w, const kymo_event_marker *e)
{
    const struct kymo_kept_thread *t = kymo_kept_thread_of(&w->kept, e->thread);
    struct kymo_kept_process *p = t ? kymo_kept_process_of(&w->kept, t->process) : NULL;
    return p ? kymo_open_intervals_take(&p->open, e) : KYMO_OK;
}

kymo_err kymo_kept_label(kymo_recording_writer *w, const kymo_event_label *e)
{
    return kymo_kept_labels_take(&w->kept.labels, e);
}

/* ---- a segment begins ---- */

/* Drops ended threads that the last segment did not need. */
static void forget_threads(struct kymo_recording_kept *kept)
{
    for (size_t i = kept->threads.len; i-- > 0;)
        if (kept->threads.data[i].has_ended && kept->threads.data[i].segment < kept->segment)
            forget_thread(kept, &kept->threads.data[i]);
}

static kymo_err put_thread(kymo_recording_writer *w, struct kymo_kept_thread *t)
{
    const struct kymo_kept_labels *labels = &w->kept.labels;
    KYMO_TRY(kymo_kept_need_thread(w, t->thread));
    for (size_t i = 0;
         t->thread < labels->threads.len && i < labels->threads.data[t->thread].live.len; i++)
        KYMO_TRY(kymo_writer_put_label(w, &labels->threads.data[t->thread].live.data[i]));
    return kymo_open_calls_put(&w->kept.open_calls, t->thread, w->kept.end_ns, w);
}

static kymo_err put_open_intervals(kymo_recording_writer *w, uint32_t process)
{
    const struct kymo_open_intervals *open = &kymo_kept_process_of(&w->kept, process)->open;
    for (size_t i = 0; i < open->places.len; i++)
        if (open->places.data[i].is_open)
            KYMO_TRY(kymo_writer_put_marker(w, &open->places.data[i].begin));
    return KYMO_OK;
}

static int process_runs(const struct kymo_recording_kept *kept, uint32_t process)
{
    const struct kymo_kept_process *p = kymo_kept_process_of(kept, process);
    return p && !p->has_ended;
}

void kymo_recording_set_periods(kymo_recording_writer *w, uint64_t period_ns,
                                uint64_t wall_period_ns)
{
    struct kymo_file_meta meta;
    if (!w->kept.is_on || !w->has_meta)
        return;
    /* This writer wrote it, so it has all members. */
    struct kymo_kept_chunk *chunk = w->kept.common.data[0];
    memcpy(&meta, chunk->payload, sizeof meta);
    meta.period_ns = period_ns;
    meta.wall_period_ns = meta.wall_period_ns ? wall_period_ns : 0;
    memcpy(chunk->payload, &meta, sizeof meta);
}

/* What the recording says of itself, from an interval's point of view. */
static void begin_meta(const struct kymo_recording_kept *kept,
                       const struct kymo_interval_start *start)
{
    struct kymo_kept_chunk *chunk = kept->common.data[0];
    struct kymo_file_meta meta;
    memcpy(&meta, chunk->payload, KYMO_FILE_META_BYTES);
    meta.start_ns = start->start_ns;
    meta.start_realtime_ns = start->start_realtime_ns;
    memcpy(chunk->payload, &meta, KYMO_FILE_META_BYTES);
}

kymo_err kymo_kept_begin(kymo_recording_writer *w, const struct kymo_interval_start *start)
{
    struct kymo_recording_kept *kept = &w->kept;
    forget_threads(kept);
    kept->segment++;
    if (start)
        begin_meta(kept, start);
    kymo_kept_begin_figures(kept, start != NULL);
    KYMO_TRY(put_all_again(w, &kept->common));
    for (uint32_t i = 0; i < kept->processes.len; i++)
        if (process_runs(kept, i))
            KYMO_TRY(kymo_kept_need_process(w, i));
    for (size_t i = 0; i < kept->threads.len; i++)
        if (!kept->threads.data[i].has_ended && process_runs(kept, kept->threads.data[i].process))
            KYMO_TRY(put_thread(w, &kept->threads.data[i]));
    for (uint32_t i = 0; i < kept->processes.len; i++) {
        if (!process_runs(kept, i))
            continue;
        KYMO_TRY(put_open_intervals(w, i));
        KYMO_TRY(kymo_kept_put_live(w, i));
    }
    return KYMO_OK;
}
