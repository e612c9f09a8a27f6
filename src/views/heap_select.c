/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selecting is cheap, so each pass selects again instead of storing the result: a recording may
 * have a hundred million allocations.
 */
#include "views/heap_select.h"

#include <stdlib.h>

#include "profile/heap_walk.h"

/* A tenth of the recording: younger allocations may still be freed. */
enum { AGE_PART = 10 };

static int lives_at_end(const kymo_allocation *row)
{
    return row->end_ns == KYMO_LIVES;
}

/* A process that has ended has no live allocations. */
static int lives_at(const struct kymo_heap_table *t, uint64_t start_ns, uint64_t end_ns,
                    uint64_t at_ns)
{
    if (at_ns == KYMO_HEAP_END)
        return end_ns == KYMO_LIVES;
    return start_ns <= at_ns && at_ns < (end_ns < t->end_ns ? end_ns : t->end_ns);
}

static int is_temporary(const kymo_allocation *row, uint32_t within)
{
    return row->end_ns != KYMO_LIVES && !row->was_resized && row->distance < UINT32_MAX &&
           row->distance < (within ? within : 1);
}

static int is_leak(const struct kymo_heap_table *t, const kymo_allocation *row)
{
    return lives_at_end(row) && row->origin != KYMO_ORIGIN_FORKED && row->birth_ns <= t->young_ns;
}

static int is_taken(const struct kymo_heap_selection *s, const struct kymo_heap_table *t,
                    const kymo_allocation *row)
{
    const kymo_heap_report_options *o = &s->options;
    switch (o->view) {
    case KYMO_HEAP_LIVE:
        return lives_at(t, row->time_ns, row->end_ns, o->at_ns) &&
               !(o->without_ns && lives_at(t, row->time_ns, row->end_ns, o->without_ns));
    case KYMO_HEAP_PEAK:
        return lives_at(t, row->time_ns, row->end_ns, o->at_ns);
    case KYMO_HEAP_LEAKS:
        return is_leak(t, row);
    case KYMO_HEAP_LIFETIMES:
        return !lives_at_end(row) && !row->was_resized;
    case KYMO_HEAP_TEMPORARY:
        return is_temporary(row, o->within);
    default:
        return 1;
    }
}

/* What a row adds to all allocated memory. The variances of the rows of one allocation add up to
 * that of its last size: they were sampled together. */
static struct kymo_estimate growth_of(const struct kymo_heap_table *t, size_t i)
{
    const kymo_allocation *before = kymo_allocation_before(t->blocks, i);
    double w = t->weights[i];
    double had = before ? (double)before->bytes : 0;
    double has = (double)t->blocks[i].bytes;
    uint64_t bytes;
    unsigned objects = kymo_allocation_adds(t->blocks, i, &bytes);
    struct kymo_estimate sum = {0};
    if (!objects && !bytes)
        return sum;
    if (objects)
        kymo_estimate_add_object(&sum, t->blocks[i].bytes, w);
    sum.bytes = w * (double)bytes;
    sum.variance_bytes = w * (w - 1) * (has * has - had * had);
    sum.drawn_bytes = (double)bytes;
    sum.samples = 1;
    return sum;
}

static int take_block(const struct kymo_heap_selection *s, const struct kymo_heap_table *t,
                      size_t i, struct kymo_heap_item *item)
{
    const kymo_allocation *row = &t->blocks[i];
    if (!is_taken(s, t, row))
        return 0;
    item->thread = row->thread;
    item->stack = row->stack;
    item->size = row->bytes;
    item->life_ns =
        row->end_ns != KYMO_LIVES && row->end_ns > row->birth_ns ? row->end_ns - row->birth_ns : 0;
    item->is_elsewhere = row->end_thread != KYMO_NONE && row->end_thread != row->thread;
    item->sum = (struct kymo_estimate){0};
    if (s->options.view == KYMO_HEAP_ALLOC)
        item->sum = growth_of(t, i);
    else
        kymo_estimate_add(&item->sum, row->bytes, t->weights[i]);
    return item->sum.samples > 0;
}

static int take_mapping(const struct kymo_heap_selection *s, const struct kymo_heap_table *t,
                        size_t i, struct kymo_heap_item *item)
{
    const kymo_mapping *row = &t->mappings[i];
    int by_allocator = row->how & 1;
    if (by_allocator || !lives_at(t, row->time_ns, row->end_ns, s->options.at_ns))
        return 0;
    item->thread = row->thread;
    item->stack = row->stack;
    item->size = row->bytes;
    item->life_ns = 0;
    item->is_elsewhere = 0;
    item->sum = (struct kymo_estimate){0};
    kymo_estimate_add(&item->sum, row->bytes, 1);
    return 1;
}

int kymo_heap_select_next(const struct kymo_heap_selection *s, struct kymo_heap_cursor *at,
                          struct kymo_heap_item *item)
{
    for (; at->table < s->n_tables; at->table++, at->row = 0) {
        const struct kymo_heap_table *t = &s->tables[at->table];
        item->process = at->table;
        while (at->row < t->count) {
            size_t i = at->row++;
            if (t->mappings ? take_mapping(s, t, i, item) : take_block(s, t, i, item))
                return 1;
        }
    }
    return 0;
}

struct kymo_estimate kymo_heap_select_block(const struct kymo_heap_selection *s, uint32_t process,
                                            size_t row, struct kymo_estimate *allocated)
{
    const struct kymo_heap_table *t = &s->tables[process];
    struct kymo_heap_item item = {0};
    *allocated = growth_of(t, row);
    take_block(s, t, row, &item);
    return item.sum;
}

struct kymo_estimate kymo_heap_select_mapping(const struct kymo_heap_selection *s, uint32_t process,
                                              size_t row, struct kymo_estimate *mapped)
{
    const struct kymo_heap_table *t = &s->tables[process];
    struct kymo_heap_item item = {0};
    *mapped = (struct kymo_estimate){0};
    if (!(t->mappings[row].how & 1))
        kymo_estimate_add(mapped, t->mappings[row].bytes, 1);
    take_mapping(s, t, row, &item);
    return item.sum;
}

static size_t count_blocks(const struct kymo_heap_selection *s)
{
    size_t n = 0;
    for (uint32_t p = 0; p < s->n_tables; p++)
        n += s->tables[p].count;
    return n;
}

/* ---- the peak ---- */

struct change {
    uint64_t time_ns;
    double bytes;
};

/* At equal times, frees come first. */
static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a;
    const struct change *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* The time at which all processes together had the most live bytes; the first of several. */
static kymo_err find_peak(struct kymo_heap_selection *s)
{
    size_t n = count_blocks(s);
    size_t used = 0;
    struct change *changes = malloc((2 * n + 1) * sizeof *changes);
    if (!changes)
        return KYMO_E_NOMEM;
    for (uint32_t p = 0; p < s->n_tables; p++) {
        const struct kymo_heap_table *t = &s->tables[p];
        for (size_t i = 0; i < t->count; i++) {
            const kymo_allocation *row = &t->blocks[i];
            uint64_t end_ns = row->end_ns < t->end_ns ? row->end_ns : t->end_ns;
            double bytes = row->weight * (double)row->bytes;
            if (end_ns <= row->time_ns)
                continue;
            changes[used++] = (struct change){row->time_ns, bytes};
            if (end_ns != KYMO_LIVES)
                changes[used++] = (struct change){end_ns, -bytes};
        }
    }
    qsort(changes, used, sizeof *changes, compare_changes);
    double live = 0;
    double most = 0;
    s->options.at_ns = 0;
    for (size_t i = 0; i < used; i++) {
        live += changes[i].bytes;
        if (live > most) {
            most = live;
            s->options.at_ns = changes[i].time_ns;
        }
    }
    free(changes);
    return KYMO_OK;
}

/* ---- leaks ---- */

struct birth {
    uint64_t time_ns;
    double weight;
};

static int compare_births(const void *a, const void *b)
{
    const struct birth *x = a;
    const struct birth *y = b;
    return (x->time_ns < y->time_ns) - (x->time_ns > y->time_ns);
}

/* The birth time after which the youngest given percentage of live allocations were made. */
static kymo_err find_youngest(struct kymo_heap_selection *s, uint64_t *last_ns)
{
    size_t n = count_blocks(s);
    size_t used = 0;
    double all = 0;
    double left_out = 0;
    *last_ns = UINT64_MAX;
    struct birth *births = malloc((n + 1) * sizeof *births);
    if (!births)
        return KYMO_E_NOMEM;
    for (uint32_t p = 0; p < s->n_tables; p++)
        for (size_t i = 0; i < s->tables[p].count; i++) {
            const struct kymo_heap_table *t = &s->tables[p];
            if (!lives_at_end(&t->blocks[i]) || t->blocks[i].origin == KYMO_ORIGIN_FORKED)
                continue;
            births[used++] = (struct birth){t->blocks[i].birth_ns, t->weights[i]};
            all += t->weights[i];
        }
    qsort(births, used, sizeof *births, compare_births);
    double most = all * s->options.youngest_percent / 100;
    for (size_t i = 0; i < used; i++) {
        left_out += births[i].weight;
        /* Rounding: partial sums may differ from the total in the last bits. */
        if (left_out > most * (1 + 1e-9)) {
            *last_ns = births[i].time_ns;
            break;
        }
        *last_ns = births[i].time_ns ? births[i].time_ns - 1 : 0;
    }
    free(births);
    return KYMO_OK;
}

static uint64_t end_of_recording(const struct kymo_heap_selection *s, const kymo_profile *profile)
{
    uint64_t end_ns = kymo_profile_meta(profile)->end_ns;
    for (uint32_t p = 0; p < s->n_tables; p++)
        for (size_t i = 0; i < s->tables[p].count && !kymo_profile_meta(profile)->end_ns; i++) {
            const kymo_allocation *row = &s->tables[p].blocks[i];
            uint64_t last_ns = row->end_ns == KYMO_LIVES ? row->time_ns : row->end_ns;
            end_ns = last_ns > end_ns ? last_ns : end_ns;
        }
    return end_ns;
}

static kymo_err find_leaks(struct kymo_heap_selection *s, const kymo_profile *profile)
{
    uint64_t end_ns = end_of_recording(s, profile);
    uint64_t start_ns = kymo_profile_meta(profile)->origin_monotonic_ns;
    uint64_t youngest_ns;
    KYMO_TRY(find_youngest(s, &youngest_ns));
    for (uint32_t p = 0; p < s->n_tables; p++) {
        struct kymo_heap_table *t = &s->tables[p];
        int has_ended = t->end_ns != KYMO_LIVES;
        uint64_t last_ns = has_ended ? t->end_ns : end_ns;
        t->min_age_ns = s->options.min_age_ns;
        if (t->min_age_ns == KYMO_HEAP_AUTO)
            t->min_age_ns = has_ended || end_ns < start_ns ? 0 : (end_ns - start_ns) / AGE_PART;
        t->young_ns = t->min_age_ns == 0        ? UINT64_MAX
                      : last_ns > t->min_age_ns ? last_ns - t->min_age_ns
                                                : 0;
        t->young_ns = t->young_ns < youngest_ns ? t->young_ns : youngest_ns;
        if (t->count && t->min_age_ns > s->min_age_ns)
            s->min_age_ns = t->min_age_ns;
    }
    return KYMO_OK;
}

/* ---- the whole selection ---- */

static int is_asked_for(const struct kymo_heap_selection *s, uint32_t process)
{
    return s->options.process == 0 || s->options.process == process + 1;
}

static kymo_err fill_table(struct kymo_heap_selection *s, const kymo_profile *profile, uint32_t p)
{
    struct kymo_heap_table *t = &s->tables[p];
    const kymo_process *process = kymo_profile_process(profile, p);
    t->end_ns = process->end_ns ? process->end_ns : KYMO_LIVES;
    if (!is_asked_for(s, p))
        return KYMO_OK;
    t->blocks = kymo_profile_allocations(profile, p, &t->count);
    if (t->count == 0)
        return KYMO_OK;
    t->weights = kymo_heap_last_weights(t->blocks, t->count);
    return t->weights ? KYMO_OK : KYMO_E_NOMEM;
}

/* What a process's exact count does not contain, although rows do: inherited allocations, and
 * for a resize the bytes that were usable before. */
struct uncounted {
    int elsewhere, resized;
};

static struct uncounted find_uncounted(const struct kymo_heap_table *t)
{
    struct uncounted u = {0, 0};
    for (size_t i = 0; i < t->count; i++) {
        u.elsewhere |= t->blocks[i].origin != KYMO_ORIGIN_HERE;
        u.resized |= t->blocks[i].was_resized || t->blocks[i].previous != KYMO_NONE;
    }
    return u;
}

/* The exact count of all that was sampled, if it is known for each process. */
static void find_counted(struct kymo_heap_selection *s)
{
    double objects = 0;
    double bytes = 0;
    int is_known = 1;
    int are_bytes_known = 1;
    for (uint32_t p = 0; p < s->n_tables; p++) {
        const kymo_heap *heap = kymo_profile_heap(s->profile, p);
        if (!is_asked_for(s, p) || !heap || heap->rate == 0)
            continue;
        s->all.rate = heap->rate > s->all.rate ? heap->rate : s->all.rate;
        objects += (double)heap->count;
        bytes += (double)heap->bytes;
        struct uncounted u = find_uncounted(&s->tables[p]);
        is_known &= heap->count > 0 && heap->lost == 0 && !u.elsewhere;
        are_bytes_known &= !u.resized;
    }
    if (!is_known || s->all.rate <= 1 || !kymo_estimate_agrees(&s->all, bytes))
        return;
    s->all.objects = objects;
    s->all.bytes = are_bytes_known ? bytes : 0;
}

static void sum_up(struct kymo_heap_selection *s)
{
    struct kymo_heap_cursor at = {0};
    struct kymo_heap_item item;
    for (uint32_t p = 0; p < s->n_tables; p++) {
        const struct kymo_heap_table *t = &s->tables[p];
        for (size_t i = 0; i < t->count; i++) {
            struct kymo_estimate growth = growth_of(t, i);
            kymo_estimate_merge(&s->all.sum, &growth);
            if (s->options.view == KYMO_HEAP_LEAKS && lives_at_end(&t->blocks[i]) &&
                t->blocks[i].origin != KYMO_ORIGIN_FORKED && !is_leak(t, &t->blocks[i]))
                kymo_estimate_add(&s->young, t->blocks[i].bytes, t->weights[i]);
        }
    }
    find_counted(s);
    for (uint32_t p = 0; s->options.view == KYMO_HEAP_MAPPED && p < s->n_tables; p++) {
        struct kymo_heap_table *t = &s->tables[p];
        if (is_asked_for(s, p))
            t->mappings = kymo_profile_mappings(s->profile, p, &t->count);
    }
    while (kymo_heap_select_next(s, &at, &item)) {
        kymo_estimate_merge(&s->sum, &item.sum);
        if (s->options.view == KYMO_HEAP_LIFETIMES && item.is_elsewhere)
            kymo_estimate_merge(&s->elsewhere, &item.sum);
        s->count++;
    }
}

kymo_err kymo_heap_select_init(struct kymo_heap_selection *s, const kymo_profile *profile,
                               const kymo_heap_report_options *options)
{
    *s = (struct kymo_heap_selection){.profile = profile, .options = *options};
    uint32_t n = kymo_profile_count(profile, KYMO_TABLE_PROCESSES);
    kymo_err err = KYMO_OK;
    s->tables = calloc((size_t)n + 1, sizeof *s->tables);
    if (!s->tables)
        return KYMO_E_NOMEM;
    s->n_tables = n;
    for (uint32_t p = 0; p < n && err == KYMO_OK; p++)
        err = fill_table(s, profile, p);
    if (err == KYMO_OK && options->view == KYMO_HEAP_PEAK)
        err = find_peak(s);
    if (err == KYMO_OK && options->view == KYMO_HEAP_LEAKS)
        err = find_leaks(s, profile);
    if (err != KYMO_OK) {
        kymo_heap_select_deinit(s);
        return err;
    }
    sum_up(s);
    return KYMO_OK;
}

void kymo_heap_select_deinit(struct kymo_heap_selection *s)
{
    for (uint32_t p = 0; p < s->n_tables; p++)
        free(s->tables[p].weights);
    free(s->tables);
    s->tables = NULL;
    s->n_tables = 0;
}

double kymo_heap_rank(uint32_t view, const kymo_heap_sum *sum)
{
    return view == KYMO_HEAP_LIFETIMES || view == KYMO_HEAP_TEMPORARY ? sum->objects : sum->bytes;
}
