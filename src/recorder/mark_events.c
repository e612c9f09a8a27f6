/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/mark_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/f64.h"
#include "base/text_fit.h"
#include "buffer/record.h"
#include "kymo/marker_abi.h"
#include "recorder/session_events.h"
#include "sys/pages.h"

#define NO_THREAD UINT32_MAX

/* ---- definitions ---- */

static kymo_err on_definition(void *context, uint32_t number,
                              const struct kymo_definition *definition, const void *bytes)
{
    struct kymo_session_events *to = context;
    struct kymo_mark_events *m = &to->marks;
    kymo_event_counter counter = {0};
    KYMO_TRY(kymo_mark_definition_tell(to->events, to->context, to->process, bytes, &counter));
    if (definition->kind != KYMO_DEFINE_COUNTER)
        return KYMO_OK;
    if (!m->sums)
        m->sums = kymo_pages_take(KYMO_DEFINITION_NUMBER_MAX + 1, sizeof *m->sums);
    if (!m->sums)
        return KYMO_E_NOMEM;
    m->sums[number] = (struct kymo_mark_counter_sum){
        .is_there = 1,
        .is_gauge = counter.kind == KYMO_COUNTER_GAUGE,
        .is_f64 = (counter.flags & KYMO_COUNTER_IS_F64) != 0,
        .is_each = (counter.flags & KYMO_COUNTER_EACH) != 0,
    };
    return KYMO_OK;
}

/* ---- threads and texts ---- */

kymo_err kymo_mark_events_thread(struct kymo_session_events *to, const struct kymo_drain_thread *t)
{
    struct kymo_mark_events *m = &to->marks;
    uint32_t number;
    if (t->flags & KYMO_SLOT_MAIN)
        m->main_thread = t->thread + 1;
    if (!kymo_id_map_find(&m->tids, 0, t->tid, &number)) {
        KYMO_TRY(kymo_vec_push(&m->with_tid, t->thread));
        kymo_err err = kymo_id_map_add(&m->tids, 0, t->tid, &number);
        if (err != KYMO_OK)
            m->with_tid.len--;
        return err;
    }
    m->with_tid.data[number] = t->thread;
    return KYMO_OK;
}

/* The drain's number of the thread that has this tid, or had it last. */
static uint32_t find_thread(struct kymo_mark_events *m, uint32_t tid)
{
    uint32_t number;
    if (tid == KYMO_THREAD_MAIN)
        return m->main_thread ? m->main_thread - 1 : NO_THREAD;
    return kymo_id_map_find(&m->tids, 0, tid, &number) ? m->with_tid.data[number] : NO_THREAD;
}

/* The recording's number of the thread that a marker is for; if unknown, of the thread that made
 * it. */
static uint32_t thread_of(struct kymo_session_events *to, const struct kymo_drain_marker *m)
{
    uint32_t drained = m->tid ? find_thread(&to->marks, m->tid) : NO_THREAD;
    return kymo_session_events_thread(to, drained == NO_THREAD ? m->thread : drained);
}

/* Terminates a text with NUL. A text that was cut ends with an ellipsis. In a recording a text
 * ends at its first NUL. */
static const char *terminate(char to[KYMO_MARK_EVENT_TEXT_ROOM], const char *text, uint32_t len,
                             int is_cut)
{
    size_t fit = kymo_text_fit(text, strnlen(text, len), KYMO_MARK_EVENT_TEXT_MAX);
    is_cut |= fit < len;
    len = (uint32_t)fit;
    if (len > 0)
        memcpy(to, text, len);
    memcpy(to + len, is_cut ? "\xe2\x80\xa6" : "", is_cut ? sizeof "\xe2\x80\xa6" : 1);
    return to;
}

/* ---- markers ---- */

static kymo_err tell_marker(const struct kymo_session_events *to, const kymo_event_marker *e)
{
    return to->events->marker ? to->events->marker(to->context, e) : KYMO_OK;
}

static kymo_err on_backtrace(void *context, uint64_t backtrace, uint32_t stack)
{
    struct kymo_mark_events *m = &((struct kymo_session_events *)context)->marks;
    if (!m->backtraces)
        m->backtraces = kymo_pages_take(KYMO_MARK_BACKTRACES, sizeof *m->backtraces);
    if (!m->backtraces)
        return KYMO_E_NOMEM;
    /* The program numbers them: each replaces the oldest one. */
    m->backtraces[backtrace % KYMO_MARK_BACKTRACES] =
        (struct kymo_mark_backtrace){backtrace, stack + 1};
    return KYMO_OK;
}

static uint32_t find_backtrace(const struct kymo_mark_events *m, uint64_t backtrace)
{
    if (!m->backtraces)
        return KYMO_EVENT_NONE;
    const struct kymo_mark_backtrace *b = &m->backtraces[backtrace % KYMO_MARK_BACKTRACES];
    return b->backtrace == backtrace && b->stack ? b->stack - 1 : KYMO_EVENT_NONE;
}

kymo_err kymo_mark_events_use_stacks(const struct kymo_mark_events *m, kymo_key_map *used)
{
    for (size_t i = 0; m->backtraces && i < KYMO_MARK_BACKTRACES; i++)
        if (m->backtraces[i].stack)
            KYMO_TRY(kymo_key_map_add(used, m->backtraces[i].stack - 1));
    return KYMO_OK;
}

static kymo_err make_wait(struct kymo_mark_events *m, const kymo_event_marker *e,
                          uint64_t backtrace)
{
    size_t name_bytes = e->name ? strlen(e->name) + 1 : 0;
    struct kymo_waiting_mark *w = malloc(sizeof *w + e->payload_bytes + name_bytes);
    if (!w)
        return KYMO_E_NOMEM;
    *w = (struct kymo_waiting_mark){.event = *e, .backtrace = backtrace};
    if (e->payload_bytes)
        memcpy(w->bytes, e->payload, e->payload_bytes);
    w->event.payload = w->bytes;
    if (name_bytes) {
        memcpy(w->bytes + e->payload_bytes, e->name, name_bytes);
        w->event.name = (const char *)w->bytes + e->payload_bytes;
    }
    *(m->waiting ? m->last_waiting : &m->waiting) = w;
    m->last_waiting = &w->next;
    m->waiting_count++;
    return KYMO_OK;
}

/* Writes the markers whose stacks have come, and those whose stacks will not: a thread writes
 * the record of a stack before it passes on the stack's number. */
static kymo_err tell_waiting(struct kymo_session_events *to, uint32_t rounds)
{
    struct kymo_mark_events *m = &to->marks;
    struct kymo_waiting_mark **at = &m->waiting;
    kymo_err err = KYMO_OK;
    while (*at && err == KYMO_OK) {
        struct kymo_waiting_mark *w = *at;
        w->event.stack = find_backtrace(m, w->backtrace);
        if (w->event.stack == KYMO_EVENT_NONE && w->rounds++ < rounds) {
            at = &w->next;
            continue;
        }
        m->stackless += w->event.stack == KYMO_EVENT_NONE;
        err = tell_marker(to, &w->event);
        *at = w->next;
        free(w);
        m->waiting_count--;
    }
    while (*at)
        at = &(*at)->next;
    m->last_waiting = at;
    return err;
}

static kymo_err on_marker(void *context, const struct kymo_drain_marker *m)
{
    struct kymo_session_events *to = context;
    uint32_t maker = kymo_session_events_thread(to, m->thread);
    kymo_event_marker e = {
        .thread = thread_of(to, m),
        .site = m->site,
        .phase = m->flags & KYMO_MARK_PHASE,
        .stack = m->stack == KYMO_NO_STACK ? KYMO_EVENT_NONE : m->stack,
        .time_ns = m->time_ns,
        .id = m->id,
        .owner = m->owner,
        .track = m->track ? (uint32_t)m->track : KYMO_EVENT_NONE,
        .cells = m->cells,
        .payload = m->payload,
        .payload_bytes = m->payload_bytes,
    };
    if (e.phase == KYMO_PHASE_INTERVAL)
        e.start_ns = m->flags & KYMO_MARK_START ? m->start_ns : m->time_ns;
    if (maker != e.thread || m->made_ns != m->time_ns) {
        e.maker = maker;
        e.made_ns = m->made_ns;
    }
    if (m->name)
        e.name = terminate(to->marks.name, m->name, m->name_bytes, m->name_is_cut != 0);
    if (e.stack == KYMO_EVENT_NONE && m->backtrace) {
        e.stack = find_backtrace(&to->marks, m->backtrace);
        if (e.stack == KYMO_EVENT_NONE && to->marks.waiting_count < KYMO_MARKS_WAITING_MAX)
            return make_wait(&to->marks, &e, m->backtrace);
        to->marks.stackless += e.stack == KYMO_EVENT_NONE;
    }
    return tell_marker(to, &e);
}

static kymo_err on_open_scope(void *context, uint32_t thread, uint32_t site, uint64_t start_ns)
{
    struct kymo_session_events *to = context;
    kymo_event_marker e = {
        .thread = kymo_session_events_thread(to, thread),
        .site = site,
        .phase = KYMO_PHASE_BEGIN,
        .stack = KYMO_EVENT_NONE,
        .time_ns = start_ns,
        .track = KYMO_EVENT_NONE,
        .is_open = 1,
    };
    return tell_marker(to, &e);
}

/* A wall sample that gets the stack of a CPU sample gets its task, too. */
static void note_task(struct kymo_session_events *to, const struct kymo_drain_label *l)
{
    static const char key[] = KYMO_PYTHON_TASK_KEY;
    if (!l->text || l->text_bytes > KYMO_PYTHON_TASK_MAX || l->key_bytes != sizeof key - 1 ||
        memcmp(l->key, key, sizeof key - 1) != 0)
        return;
    to->task_drained = l->thread;
    to->task_ns = l->time_ns;
    to->task.bytes = l->text_bytes;
    memcpy(to->task.name, l->text, l->text_bytes);
}

static kymo_err on_label(void *context, const struct kymo_drain_label *l)
{
    struct kymo_session_events *to = context;
    kymo_event_label e = {
        .thread = kymo_session_events_thread(to, l->thread),
        .change = l->change,
        .depth = l->depth,
        .kind = l->value.kind,
        .time_ns = l->time_ns,
    };
    if (l->change == KYMO_LABEL_INHERITED) {
        /* A process that is not in this recording is not known. */
        if (l->recorded_as == 0)
            return KYMO_OK;
        e.from_process = l->recorded_as - 1;
        e.from_tid = (int32_t)l->tid;
        e.fork_ns = l->fork_ns;
    }
    if (l->key)
        e.key = terminate(to->marks.name, l->key, l->key_bytes, 0);
    if (l->text)
        e.text = terminate(to->marks.text, l->text, l->text_bytes, l->text_is_cut != 0);
    else
        e.number = l->value.value;
    note_task(to, l);
    return to->events->label ? to->events->label(to->context, &e) : KYMO_OK;
}

/* ---- counters ---- */

/* NULL: not announced. */
static struct kymo_mark_counter_sum *find_sum(struct kymo_mark_events *m, uint32_t counter)
{
    if (!m->sums || counter > KYMO_DEFINITION_NUMBER_MAX || !m->sums[counter].is_there)
        return NULL;
    return &m->sums[counter];
}

static kymo_err on_count(void *context, uint32_t counter, uint64_t time_ns, int64_t value,
                         uint64_t operations)
{
    struct kymo_mark_events *m = &((struct kymo_session_events *)context)->marks;
    return kymo_vec_push(&m->counts, (struct kymo_waiting_count){time_ns, m->count_order++, counter,
                                                                 value, operations});
}

static kymo_err tell_sum(const struct kymo_session_events *to, uint32_t counter, uint64_t time_ns)
{
    struct kymo_mark_counter_sum *sum = &to->marks.sums[counter];
    kymo_event_count e = {to->process, counter, time_ns, sum->value, sum->operations};
    sum->is_told = 1;
    if (sum->told_ns < time_ns)
        sum->told_ns = time_ns;
    return to->events->count ? to->events->count(to->context, &e) : KYMO_OK;
}

static int by_time(const void *a, const void *b)
{
    const struct kymo_waiting_count *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Writes the changes up to until_ns. */
static kymo_err tell_counts(struct kymo_session_events *to, uint64_t until_ns)
{
    struct kymo_mark_events *m = &to->marks;
    size_t told = 0;
    kymo_err err = KYMO_OK;
    if (m->counts.len == 0)
        return KYMO_OK;
    qsort(m->counts.data, m->counts.len, sizeof *m->counts.data, by_time);
    for (; err == KYMO_OK && told < m->counts.len && m->counts.data[told].time_ns <= until_ns;
         told++) {
        const struct kymo_waiting_count *c = &m->counts.data[told];
        struct kymo_mark_counter_sum *sum = find_sum(m, c->counter);
        if (!sum)
            continue;
        sum->value = sum->is_gauge ? c->value : kymo_word_add(sum->value, c->value, sum->is_f64);
        sum->operations += c->operations;
        /* A thread may be preempted between reading the clock and writing its record, which then
         * comes a round late. Sums that were written are not changed; a gauge's value is of its
         * own time. */
        int is_late = !sum->is_gauge && c->time_ns < sum->told_ns;
        err = tell_sum(to, c->counter, is_late ? sum->told_ns : c->time_ns);
    }
    m->counts.len -= told;
    memmove(m->counts.data, m->counts.data + told, m->counts.len * sizeof *m->counts.data);
    return err;
}

/* Adds the changes of such a counter that found no room as records; the program sums them up. */
static int add_unrecorded(struct kymo_mark_counter_sum *sum, const struct kymo_drain_counter *now)
{
    if (now->value == sum->unrecorded && now->operations == sum->unrecorded_operations)
        return 0;
    int64_t gained = kymo_word_subtract(now->value, sum->unrecorded, sum->is_f64);
    sum->value = kymo_word_add(sum->value, gained, sum->is_f64);
    sum->operations += now->operations - sum->unrecorded_operations;
    sum->unrecorded = now->value;
    sum->unrecorded_operations = now->operations;
    return 1;
}

static int has_changed(struct kymo_mark_counter_sum *sum, const struct kymo_drain_counter *now)
{
    if (sum->is_each)
        return add_unrecorded(sum, now);
    if (sum->is_told && sum->value == now->value && sum->operations == now->operations)
        return 0;
    sum->value = now->value;
    sum->operations = now->operations;
    return 1;
}

/* Records counters that are read as sums. For the others each change was recorded, except those
 * that found no room, which are added now. */
static kymo_err tell_counters(struct kymo_session_events *to, const kymo_drain *drain,
                              uint64_t time_ns)
{
    struct kymo_drain_counter now;
    for (uint32_t i = 0; kymo_drain_counter(drain, i, &now); i++) {
        struct kymo_mark_counter_sum *sum = now.counter ? find_sum(&to->marks, now.counter) : NULL;
        if (sum && has_changed(sum, &now))
            KYMO_TRY(tell_sum(to, now.counter, time_ns));
    }
    return KYMO_OK;
}

/* ---- rounds ---- */

kymo_err kymo_mark_events_round(struct kymo_session_events *to, const kymo_drain *drain,
                                uint64_t round_ns)
{
    KYMO_TRY(tell_waiting(to, 1));
    KYMO_TRY(tell_counts(to, round_ns));
    return tell_counters(to, drain, round_ns);
}

kymo_err kymo_mark_events_tell_sites(struct kymo_session_events *to, const kymo_drain *drain)
{
    struct kymo_mark_events *m = &to->marks;
    struct kymo_drain_site_counts now;
    for (uint32_t i = 0; to->events->site_counts && kymo_drain_site_counts(drain, i, &now); i++) {
        if (now.site == 0)
            continue;
        if (!m->told_sites)
            m->told_sites = kymo_pages_take(KYMO_DEFINITION_NUMBER_MAX + 1, sizeof *m->told_sites);
        if (!m->told_sites)
            return KYMO_E_NOMEM;
        struct kymo_drain_site_counts *told = &m->told_sites[now.site];
        if (told->lost == now.lost && told->capped == now.capped && told->cut == now.cut)
            continue;
        *told = now;
        kymo_event_site_counts e = {to->process, now.site, now.lost, now.capped, now.cut};
        KYMO_TRY(to->events->site_counts(to->context, &e));
    }
    return KYMO_OK;
}

kymo_err kymo_mark_events_finish(struct kymo_session_events *to, const kymo_drain *drain,
                                 uint64_t end_ns)
{
    KYMO_TRY(tell_waiting(to, 0));
    KYMO_TRY(tell_counts(to, UINT64_MAX));
    KYMO_TRY(tell_counters(to, drain, end_ns));
    return kymo_mark_events_tell_sites(to, drain);
}

const struct kymo_drain_mark_sink kymo_mark_events_sink = {
    .definition = on_definition,
    .marker = on_marker,
    .backtrace = on_backtrace,
    .label = on_label,
    .count = on_count,
    .open_scope = on_open_scope,
};

void kymo_mark_events_deinit(struct kymo_mark_events *m)
{
    while (m->waiting) {
        struct kymo_waiting_mark *next = m->waiting->next;
        free(m->waiting);
        m->waiting = next;
    }
    kymo_pages_give(m->backtraces, KYMO_MARK_BACKTRACES, sizeof *m->backtraces);
    kymo_vec_deinit(&m->counts);
    kymo_vec_deinit(&m->with_tid);
    kymo_id_map_deinit(&m->tids);
    kymo_pages_give(m->sums, KYMO_DEFINITION_NUMBER_MAX + 1, sizeof *m->sums);
    kymo_pages_give(m->told_sites, KYMO_DEFINITION_NUMBER_MAX + 1, sizeof *m->told_sites);
}
