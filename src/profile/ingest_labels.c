/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_labels.c - finds the labels that a thread had when it made a sample, marker or allocation.
 *
 * Samples and markers do not carry labels. Label changes are separate records in the thread's
 * stream, and are joined by time. The changes of a thread are sorted, and each gives a state:
 *
 *   time   what was pushed               what was set
 *   100    [user]                        -
 *   150    [user] <- [request 1]         -
 *   170    [user]                        -
 *   180    [user]                        [phase]
 *
 * States share their common part, as nodes that point to the one below. So the state at any time is
 * found by a binary search, and its set of labels is made once, when the first sample, marker or
 * allocation needs it. Pushed labels belong to a scope and end with it; labels that are set remain.
 * Of labels with the same key, the latest counts. Each pushed node points to the next visible node
 * below it, that is the next one whose key no node above has. So a deep recursion costs no more
 * than its visible labels.
 *
 * A forked child begins with copies of the changes that made its parent's state: the innermost of
 * the pushed labels, and all labels that are set. So threads are handled in an order in which
 * parents come first (ingest_label_forks.h).
 */
#include "profile/ingest_label_forks.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "buffer/mark_field.h"
#include "buffer/record.h"
#include "kymo/marker_abi.h"
#include "profile/tables.h"

#define NOT_MADE (KYMO_NONE - 1)     /* value of label_state.labels: the set is not made yet */
#define LABEL_CHANGES_MAX (1u << 30) /* of one thread */
/* So many keys are skipped over at any depth of a recursion; with more keys, this many labels
 * are looked through one by one. */
#define LEAD_MAX 8u
#define LOOK_DEEP 256u
/* Set labels that hide older ones, before they are removed. */
#define SET_NODES_MAX (2 * KYMO_LABEL_SET_MAX)
/* Limits of what a forked child copies of its parent's pushed labels, and of what all children
 * copy together: a file may claim any number of children. */
#define INHERITED_MAX KYMO_LABEL_SET_MAX
#define INHERITED_ALL_MAX (1u << 21)

struct node {
    uint32_t below; /* KYMO_NONE: none */
    uint32_t depth; /* of pushed labels; of set labels, the number below */
    uint32_t change;
    uint32_t visible; /* the next node below with another key than those above */
};

struct label_state {
    uint64_t time_ns; /* the state holds from this time on */
    uint32_t pushed;  /* nodes; KYMO_NONE: none */
    uint32_t set;
    uint32_t labels; /* NOT_MADE, or the id of the set in the profile */
};

struct timeline {
    const struct kymo_ingest_label_change *changes; /* by time */
    KYMO_VEC(struct node) nodes;
    KYMO_VEC(struct label_state) states; /* one for each change */
};

kymo_err kymo_ingest_on_label(void *ctx, const kymo_event_label *e)
{
    kymo_ingest *in = ctx;
    struct kymo_ingest_label_change change = {
        .time_ns = e->time_ns,
        .bits = e->number,
        .depth = e->depth,
        .change = (uint16_t)e->change,
        .kind = e->kind < KYMO_KIND_COUNT ? (uint16_t)e->kind : KYMO_KIND_NONE,
    };
    if (e->thread >= in->threads.len || e->change < KYMO_LABEL_PUSHED ||
        e->change > KYMO_LABEL_INHERITED)
        return KYMO_E_INVALID;
    if (in->skips_markers)
        return KYMO_OK;
    while (in->marks.labels.len <= e->thread)
        KYMO_TRY(kymo_vec_push(&in->marks.labels, (kymo_ingest_label_changes){0}));
    kymo_ingest_label_changes *changes = &in->marks.labels.data[e->thread];
    if (e->change == KYMO_LABEL_INHERITED)
        return changes->len == 0 ? kymo_label_forks_add(in, e) : KYMO_OK;
    if (e->change != KYMO_LABEL_POPPED) {
        KYMO_TRY(kymo_ingest_add_name(in, e->key, &change.key));
        KYMO_TRY(kymo_ingest_copy_text(in, e->text, &change.text));
    }
    if (changes->len >= LABEL_CHANGES_MAX)
        return kymo_ingest_leave_out(in, KYMO_INGEST_LABELS, KYMO_E_TOO_BIG);
    change.order = (uint32_t)changes->len;
    return kymo_vec_push(changes, change);
}

/* ---- states ---- */

static kymo_err push_node(struct timeline *t, struct node node, uint32_t *top)
{
    if (t->nodes.len >= NOT_MADE)
        return KYMO_E_TOO_BIG;
    KYMO_TRY(kymo_vec_push(&t->nodes, node));
    *top = (uint32_t)t->nodes.len - 1;
    return KYMO_OK;
}

static uint32_t key_of(const struct timeline *t, uint32_t node)
{
    return t->changes[t->nodes.data[node].change].key;
}

/* The visible node with this key among the first ones; KYMO_NONE: none. *count is the number of
 * nodes before it, or of all that were looked at. */
static uint32_t find_visible(const struct timeline *t, uint32_t top, uint32_t key, uint32_t most,
                             uint32_t *count)
{
    *count = 0;
    while (top != KYMO_NONE && *count < most && key_of(t, top) != key) {
        top = t->nodes.data[top].visible;
        ++*count;
    }
    return *count < most ? top : KYMO_NONE;
}

/* A label that hides one below gets copies of the nodes between them, which skip the hidden one. */
static kymo_err push(struct timeline *t, uint32_t depth, uint32_t change, uint32_t *top)
{
    uint32_t between[LEAD_MAX];
    uint32_t count;
    uint32_t visible = *top;
    uint32_t hidden = find_visible(t, *top, t->changes[change].key, LEAD_MAX, &count);
    if (hidden != KYMO_NONE) {
        for (uint32_t i = 0, n = *top; i < count; i++, n = t->nodes.data[n].visible)
            between[i] = t->nodes.data[n].change;
        visible = t->nodes.data[hidden].visible;
        while (count-- > 0)
            KYMO_TRY(push_node(t, (struct node){KYMO_NONE, 0, between[count], visible}, &visible));
    }
    return push_node(t, (struct node){*top, depth, change, visible}, top);
}

static kymo_err set_label(struct timeline *t, uint32_t change, uint32_t *top)
{
    uint32_t below = *top != KYMO_NONE ? t->nodes.data[*top].depth + 1 : 0;
    return push_node(t, (struct node){*top, below, change, *top}, top);
}

/* Removes set labels that are hidden. Keeps the order of the others, and keeps keys that were
 * cleared as long as they hide pushed labels. */
static kymo_err tidy_up(struct timeline *t, struct label_state *state)
{
    uint32_t seen[SET_NODES_MAX], kept[KYMO_LABEL_SET_MAX];
    uint32_t seen_count = 0;
    uint32_t count = 0;
    uint32_t between;
    for (uint32_t n = state->set; n != KYMO_NONE && count < KYMO_LABEL_SET_MAX;
         n = t->nodes.data[n].below) {
        uint32_t key = key_of(t, n);
        uint32_t i = 0;
        while (i < seen_count && seen[i] != key)
            i++;
        if (i < seen_count)
            continue;
        seen[seen_count++] = key;
        if (t->changes[t->nodes.data[n].change].kind != KYMO_KIND_NONE ||
            find_visible(t, state->pushed, key, LOOK_DEEP, &between) != KYMO_NONE)
            kept[count++] = t->nodes.data[n].change;
    }
    state->set = KYMO_NONE;
    for (uint32_t i = 0; i < count; i++)
        KYMO_TRY(set_label(t, kept[count - 1 - i], &state->set));
    return KYMO_OK;
}

static kymo_err apply(struct timeline *t, uint32_t number, struct label_state *state)
{
    const struct kymo_ingest_label_change *c = &t->changes[number];
    while (state->pushed != KYMO_NONE && t->nodes.data[state->pushed].depth >= c->depth)
        state->pushed = t->nodes.data[state->pushed].below;
    if (c->change == KYMO_LABEL_PUSHED)
        return push(t, c->depth, number, &state->pushed);
    if (c->change != KYMO_LABEL_WAS_SET)
        return KYMO_OK;
    if (state->set != KYMO_NONE && t->nodes.data[state->set].depth + 1 == SET_NODES_MAX)
        KYMO_TRY(tidy_up(t, state));
    return set_label(t, number, &state->set);
}

static int compare_changes(const void *a, const void *b)
{
    const struct kymo_ingest_label_change *x = a;
    const struct kymo_ingest_label_change *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Almost always sorted already: only changes of signal handlers may be late. */
static void sort_changes(kymo_ingest_label_changes *changes)
{
    for (size_t i = 1; i < changes->len; i++)
        if (changes->data[i].time_ns < changes->data[i - 1].time_ns) {
            qsort(changes->data, changes->len, sizeof *changes->data, compare_changes);
            return;
        }
}

static kymo_err make_timeline(struct timeline *t, kymo_ingest_label_changes *changes)
{
    struct label_state state = {0, KYMO_NONE, KYMO_NONE, NOT_MADE};
    sort_changes(changes);
    t->changes = changes->data;
    KYMO_TRY(kymo_vec_reserve(&t->states, changes->len));
    for (uint32_t i = 0; i < changes->len; i++) {
        KYMO_TRY(apply(t, i, &state));
        state.time_ns = changes->data[i].time_ns;
        t->states.data[t->states.len++] = state;
    }
    return KYMO_OK;
}

/* ---- what a forked child inherits ---- */

/* Whether state i begins at or before a time. */
static int is_from(const void *rows, size_t i, const void *time_ns)
{
    const struct label_state *states = rows;
    return states[i].time_ns <= *(const uint64_t *)time_ns;
}

static struct label_state *state_at(const struct timeline *t, uint64_t time_ns)
{
    size_t before = kymo_search_count(t->states.data, t->states.len, is_from, &time_ns);
    return before ? &t->states.data[before - 1] : NULL;
}

/* The changes that made the parent's state, in order. */
static uint32_t collect_inherited(const struct timeline *parent,
                                  const struct kymo_ingest_label_fork *fork,
                                  uint32_t changes[INHERITED_MAX + SET_NODES_MAX])
{
    const struct label_state *state = state_at(parent, fork->fork_ns);
    const struct node *nodes = parent->nodes.data;
    uint32_t count = 0;
    uint32_t n = state ? state->pushed : KYMO_NONE;
    while (n != KYMO_NONE && nodes[n].depth >= fork->depth)
        n = nodes[n].below;
    for (; n != KYMO_NONE && count < INHERITED_MAX; n = nodes[n].below)
        changes[count++] = nodes[n].change;
    uint32_t end = count + SET_NODES_MAX;
    for (n = state ? state->set : KYMO_NONE; n != KYMO_NONE && count < end; n = nodes[n].below)
        changes[count++] = nodes[n].change;
    qsort(changes, count, sizeof *changes, kymo_compare_u32);
    return count;
}

/* Puts the inherited changes before the thread's own changes. */
static kymo_err inherit(kymo_ingest *in, const struct timeline *parent,
                        const struct kymo_ingest_label_fork *fork, uint64_t *inherited)
{
    kymo_ingest_label_changes *own = &in->marks.labels.data[fork->thread];
    kymo_ingest_label_changes all = {0};
    uint32_t numbers[INHERITED_MAX + SET_NODES_MAX];
    uint32_t count = collect_inherited(parent, fork, numbers);
    if (count == 0)
        return KYMO_OK;
    *inherited += count;
    if (*inherited > INHERITED_ALL_MAX || own->len > LABEL_CHANGES_MAX)
        return kymo_ingest_leave_out(in, KYMO_INGEST_LABELS, KYMO_E_TOO_BIG);
    KYMO_TRY(kymo_vec_reserve(&all, own->len + count));
    for (uint32_t i = 0; i < count; i++) {
        struct kymo_ingest_label_change c = parent->changes[numbers[i]];
        c.time_ns = fork->time_ns;
        c.order = i;
        if (c.change == KYMO_LABEL_WAS_SET)
            c.depth = UINT32_MAX; /* a set label: independent of all pushed ones */
        all.data[all.len++] = c;
    }
    for (size_t i = 0; i < own->len; i++) {
        struct kymo_ingest_label_change c = own->data[i];
        c.order += count;
        all.data[all.len++] = c;
    }
    kymo_vec_deinit(own);
    *own = all;
    return KYMO_OK;
}

/* ---- sets ---- */

kymo_err kymo_ingest_label_value(kymo_ingest *in, uint32_t kind, const char *text,
                                 kymo_value *value)
{
    uint32_t form = kymo_mark_cell_form(kind);
    if (form == KYMO_CELL_NONE)
        return KYMO_OK; /* the label was cleared */
    value->kind = kymo_mark_kind(kind)->value;
    return form == KYMO_CELL_TEXT ? kymo_ingest_add_name(in, text, &value->as.string) : KYMO_OK;
}

static kymo_err make_label(kymo_ingest *in, const struct kymo_ingest_label_change *c,
                           kymo_label *label)
{
    *label = (kymo_label){.key = c->key, .value = {.as.u64 = c->bits}};
    return kymo_ingest_label_value(in, c->kind, c->text, &label->value);
}

/* The latest change for each key, among pushed and set labels. */
struct found {
    uint32_t change[KYMO_LABEL_SET_MAX + SET_NODES_MAX];
    uint32_t count;
};

/* Looks at so many nodes, until there are so many changes in all. */
static void look_at(const struct timeline *t, uint32_t top, uint32_t deep, uint32_t most,
                    struct found *found)
{
    for (uint32_t n = top; n != KYMO_NONE && deep > 0; n = t->nodes.data[n].visible, deep--) {
        uint32_t change = t->nodes.data[n].change;
        uint32_t i = 0;
        while (i < found->count && t->changes[found->change[i]].key != t->changes[change].key)
            i++;
        if (i == found->count && found->count < most)
            found->change[found->count++] = change;
        else if (i < found->count && found->change[i] < change)
            found->change[i] = change;
    }
}

static kymo_err make_set(kymo_ingest *in, const struct timeline *t, struct label_state *state)
{
    struct found found = {.count = 0};
    kymo_label labels[KYMO_LABEL_SET_MAX];
    uint32_t count = 0;
    look_at(t, state->pushed, LOOK_DEEP, KYMO_LABEL_SET_MAX, &found);
    look_at(t, state->set, SET_NODES_MAX, KYMO_ARRAY_LEN(found.change), &found);
    for (uint32_t i = 0; i < found.count && count < KYMO_LABEL_SET_MAX; i++) {
        KYMO_TRY(make_label(in, &t->changes[found.change[i]], &labels[count]));
        count += labels[count].value.kind != KYMO_VALUE_NONE;
    }
    state->labels = KYMO_NONE;
    return kymo_ingest_leave_out(
        in, KYMO_INGEST_LABELS,
        kymo_profile_add_label_set(in->profile, labels, count, &state->labels));
}

static kymo_err labels_at(kymo_ingest *in, struct timeline *t, uint64_t time_ns, uint32_t *labels)
{
    struct label_state *state = state_at(t, time_ns);
    *labels = KYMO_NONE;
    if (!state)
        return KYMO_OK;
    if (state->labels == NOT_MADE)
        KYMO_TRY(make_set(in, t, state));
    *labels = state->labels;
    return KYMO_OK;
}

/* ---- samples, markers, allocations ---- */

static kymo_err join_samples(kymo_ingest *in, uint32_t thread, struct timeline *t)
{
    kymo_samples samples = kymo_profile_samples(in->profile, thread);
    uint32_t labels;
    for (size_t i = 0; i < samples.count; i++) {
        KYMO_TRY(labels_at(in, t, samples.time_ns[i], &labels));
        KYMO_TRY(kymo_profile_set_sample_labels(in->profile, thread, i, labels));
    }
    return KYMO_OK;
}

static kymo_err join_markers(kymo_ingest *in, uint32_t thread, struct timeline *t)
{
    kymo_marker_rows *markers = &in->profile->markers.data[thread];
    for (size_t i = 0; i < markers->rows.len; i++)
        KYMO_TRY(labels_at(in, t, markers->rows.data[i].end_ns, &markers->rows.data[i].labels));
    return KYMO_OK;
}

/* For markers whose maker may be another thread than the one they are shown in. */
static kymo_err join_makers(kymo_ingest *in, struct timeline *timelines, size_t count)
{
    for (size_t i = 0; i < in->marks.halves.len; i++) {
        struct kymo_ingest_half *half = &in->marks.halves.data[i];
        if (half->maker < count)
            KYMO_TRY(labels_at(in, &timelines[half->maker], half->label_ns, &half->row.labels));
    }
    for (size_t i = 0; i < in->marks.elsewhere.len; i++) {
        const struct kymo_ingest_elsewhere *e = &in->marks.elsewhere.data[i];
        uint32_t *labels = &in->profile->markers.data[e->thread].rows.data[e->row].labels;
        *labels = KYMO_NONE;
        if (e->maker < count)
            KYMO_TRY(labels_at(in, &timelines[e->maker], e->made_ns, labels));
    }
    return KYMO_OK;
}

/* A row that only shrank keeps the labels of the row before. */
static kymo_err join_blocks(kymo_ingest *in, kymo_allocation_rows *blocks,
                            struct timeline *timelines, size_t count)
{
    for (size_t i = 0; i < blocks->rows.len; i++) {
        kymo_allocation *a = &blocks->rows.data[i];
        if (a->previous != KYMO_NONE && a->bytes <= blocks->rows.data[a->previous].bytes)
            a->labels = blocks->rows.data[a->previous].labels;
        else if (a->origin == KYMO_ORIGIN_HERE && a->thread < count)
            KYMO_TRY(labels_at(in, &timelines[a->thread], a->time_ns, &a->labels));
    }
    return KYMO_OK;
}

static kymo_err make_timelines(kymo_ingest *in, const kymo_label_forks *forks,
                               struct timeline *timelines, size_t count)
{
    uint64_t inherited = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t thread = forks->order[i];
        const struct kymo_label_origin *from = &forks->origins[thread];
        if (from->thread != KYMO_NONE)
            KYMO_TRY(inherit(in, &timelines[from->thread], &in->marks.label_forks.data[from->fork],
                             &inherited));
        KYMO_TRY(make_timeline(&timelines[thread], &in->marks.labels.data[thread]));
    }
    return KYMO_OK;
}

static kymo_err join_all(kymo_ingest *in, struct timeline *timelines, size_t count)
{
    kymo_label_forks forks = {0};
    kymo_err err = kymo_label_forks_find(in, &forks);
    if (err == KYMO_OK)
        err = make_timelines(in, &forks, timelines, count);
    kymo_label_forks_deinit(&forks);
    KYMO_TRY(err);
    for (uint32_t i = 0; i < count; i++) {
        if (timelines[i].states.len == 0)
            continue;
        KYMO_TRY(join_samples(in, i, &timelines[i]));
        KYMO_TRY(join_markers(in, i, &timelines[i]));
    }
    for (size_t i = 0; i < in->profile->allocations.len; i++)
        KYMO_TRY(join_blocks(in, &in->profile->allocations.data[i], timelines, count));
    return join_makers(in, timelines, count);
}

kymo_err kymo_ingest_join_labels(kymo_ingest *in)
{
    size_t count = in->marks.labels.len;
    if (count == 0)
        return KYMO_OK;
    struct timeline *timelines = calloc(count, sizeof *timelines);
    if (!timelines)
        return KYMO_E_NOMEM;
    kymo_err err = join_all(in, timelines, count);
    for (size_t i = 0; i < count; i++) {
        kymo_vec_deinit(&timelines[i].nodes);
        kymo_vec_deinit(&timelines[i].states);
    }
    free(timelines);
    return err;
}
