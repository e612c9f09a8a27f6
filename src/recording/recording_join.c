/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/recording_join.h"

#include <string.h>

#include "base/sum.h"
#include "buffer/record.h"
#include "kymo/profile.h"
#include "kymo/trace_abi.h"

void kymo_recording_join_init(struct kymo_recording_join *join, const kymo_event_handler *to,
                              void *context)
{
    memset(join, 0, sizeof *join);
    join->to = to;
    join->context = context;
}

void kymo_recording_join_deinit(struct kymo_recording_join *j)
{
    kymo_vec_free_all(j->threads.data, j->processes.data, j->has_image.data, j->figures.data,
                      j->begins.data);
    kymo_key_map_deinit(&j->figure_places);
    kymo_index_deinit(&j->begin_index);
    kymo_open_calls_deinit(&j->open_calls);
    memset(j, 0, sizeof *j);
}

static void next_cpu(struct kymo_join_cpu *cpu)
{
    cpu->before_ns = kymo_sum(cpu->before_ns, cpu->now_ns);
    cpu->now_ns = 0;
}

void kymo_recording_join_next(struct kymo_recording_join *j)
{
    j->interval++;
    for (size_t i = 0; i < j->threads.len; i++) {
        next_cpu(&j->threads.data[i].cpu);
        j->threads.data[i].label_before_ns = j->threads.data[i].label_ns;
    }
    for (size_t i = 0; i < j->processes.len; i++)
        next_cpu(&j->processes.data[i]);
    for (size_t i = 0; i < j->figures.len; i++) {
        struct kymo_join_figures *f = &j->figures.data[i];
        for (uint32_t k = 0; k < KYMO_JOIN_FIGURES; k++)
            f->before[k] = kymo_sum(f->before[k], f->now[k]);
        memset(f->now, 0, sizeof f->now);
    }
}

/* ---- figures ---- */

enum kind { LOSS, QUALITY, SITE_COUNTS, HEAP };

/* What the figures of this kind, process and number have had until now is set, and the sum with
 * those of earlier intervals is returned in values. */
static kymo_err add_up(struct kymo_recording_join *j, enum kind kind, uint32_t process,
                       uint32_t number, uint64_t *values[], uint32_t count)
{
    const struct kymo_join_figures none = {.now = {0}};
    /* Numbers are dense, but the kinds of losses, of which there are some ten. */
    const uint64_t key = (uint64_t)process << 32 | (uint64_t)(number & 0x3fffffffu) << 2 | kind;
    uint32_t *place = kymo_key_map_find(&j->figure_places, key);
    if (!place) {
        KYMO_TRY(kymo_vec_push(&j->figures, none));
        KYMO_TRY(kymo_key_map_put(&j->figure_places, key, (uint32_t)j->figures.len - 1));
        place = kymo_key_map_find(&j->figure_places, key);
    }
    struct kymo_join_figures *f = &j->figures.data[*place];
    for (uint32_t i = 0; i < count; i++) {
        f->now[i] = *values[i];
        *values[i] = kymo_sum(f->before[i], f->now[i]);
    }
    return KYMO_OK;
}

static kymo_err take_loss(struct kymo_recording_join *j, kymo_event_loss *e, int *is_new)
{
    (void)is_new;
    return add_up(j, LOSS, e->process, e->kind, (uint64_t *[]){&e->count}, 1);
}

static kymo_err take_quality(struct kymo_recording_join *j, kymo_event_quality *e, int *is_new)
{
    uint64_t *values[] = {&e->samples, &e->handler_ns, &e->disturbed, &e->cpu_unsampled_ns,
                          &e->copied};
    (void)is_new;
    return add_up(j, QUALITY, e->process, 0, values, KYMO_ARRAY_LEN(values));
}

static kymo_err take_site_counts(struct kymo_recording_join *j, kymo_event_site_counts *e,
                                 int *is_new)
{
    uint64_t *values[] = {&e->lost, &e->capped, &e->cut};
    (void)is_new;
    return add_up(j, SITE_COUNTS, e->process, e->site, values, 3);
}

static kymo_err take_heap(struct kymo_recording_join *j, kymo_event_heap *e, int *is_new)
{
    (void)is_new;
    return add_up(j, HEAP, e->process, 0, (uint64_t *[]){&e->count, &e->bytes}, 2);
}

/* ---- CPU time: an end has what the intervals before have not ---- */

static kymo_err take_process(struct kymo_recording_join *j, const kymo_event_process *e,
                             int *is_new)
{
    const struct kymo_join_cpu none = {.now_ns = 0};
    (void)is_new;
    return e->process == j->processes.len ? kymo_vec_push(&j->processes, none) : KYMO_E_INVALID;
}

static kymo_err take_thread(struct kymo_recording_join *j, const kymo_event_thread *e, int *is_new)
{
    const struct kymo_join_thread thread = {.process = e->process};
    (void)is_new;
    return e->thread == j->threads.len ? kymo_vec_push(&j->threads, thread) : KYMO_E_INVALID;
}

static kymo_err take_samples(struct kymo_recording_join *j, const kymo_event_samples *e,
                             int *is_new)
{
    struct kymo_join_thread *t = &j->threads.data[e->thread];
    uint64_t cpu_ns = 0;
    (void)is_new;
    for (uint32_t i = 0; i < e->count; i++)
        if (e->samples[i].kind == KYMO_SAMPLE_CPU)
            cpu_ns = kymo_sum(cpu_ns, e->samples[i].weight_ns);
    t->cpu.now_ns = kymo_sum(t->cpu.now_ns, cpu_ns);
    struct kymo_join_cpu *process = &j->processes.data[t->process];
    process->now_ns = kymo_sum(process->now_ns, cpu_ns);
    return KYMO_OK;
}

static kymo_err take_thread_end(struct kymo_recording_join *j, kymo_event_thread_end *e,
                                int *is_new)
{
    (void)is_new;
    if (e->cpu_ns)
        e->cpu_ns = kymo_sum(e->cpu_ns, j->threads.data[e->thread].cpu.before_ns);
    return KYMO_OK;
}

static kymo_err take_process_end(struct kymo_recording_join *j, kymo_event_process_end *e,
                                 int *is_new)
{
    (void)is_new;
    if (e->user_ns || e->system_ns)
        e->user_ns = kymo_sum(e->user_ns, j->processes.data[e->process].before_ns);
    return KYMO_OK;
}

/* ---- state that an interval begins with ---- */

static kymo_err take_module_image(struct kymo_recording_join *j, const kymo_event_module_image *e,
                                  int *is_new)
{
    while (j->has_image.len <= e->module)
        KYMO_TRY(kymo_vec_push(&j->has_image, 0));
    *is_new = !j->has_image.data[e->module] || j->interval == 0;
    j->has_image.data[e->module] = 1;
    return KYMO_OK;
}

static kymo_err take_live(const struct kymo_recording_join *j, const kymo_event_live *e,
                          int *is_new)
{
    (void)e;
    *is_new = j->interval == 0;
    return KYMO_OK;
}

/* Labels of a thread come in the order of their times. */
static kymo_err take_label(struct kymo_recording_join *j, const kymo_event_label *e, int *is_new)
{
    struct kymo_join_thread *t = &j->threads.data[e->thread];
    *is_new = e->time_ns > t->label_before_ns;
    if (e->time_ns > t->label_ns)
        t->label_ns = e->time_ns;
    return KYMO_OK;
}

static kymo_err take_marker(struct kymo_recording_join *j, const kymo_event_marker *e, int *is_new)
{
    if (e->phase != KYMO_PHASE_BEGIN || !e->id || e->is_open)
        return KYMO_OK;
    const struct kymo_join_begin begin = {(uint64_t)e->thread << 32 | e->site, e->id, e->time_ns};
    const uint64_t words[] = {begin.thread_site, begin.id, begin.time_ns};
    const uint64_t hash = kymo_hash_words(words, 3, kymo_hash_secret());
    uint32_t found;
    for (size_t probe = 0;
         j->interval > 0 && kymo_index_find(&j->begin_index, hash, &probe, &found);)
        if (memcmp(&j->begins.data[found], &begin, sizeof begin) == 0)
            *is_new = 0;
    if (!*is_new)
        return KYMO_OK;
    KYMO_TRY(kymo_vec_push(&j->begins, begin));
    return kymo_index_put(&j->begin_index, hash, (uint32_t)j->begins.len - 1);
}

static kymo_err pass(const struct kymo_recording_join *j, uint32_t thread,
                     const kymo_event_call *calls, uint32_t count)
{
    const kymo_event_calls e = {thread, count, calls};
    return count && j->to->calls ? j->to->calls(j->context, &e) : KYMO_OK;
}

/* Whether the event says of a call that it runs which is known to run. */
static int is_known_call(const struct kymo_recording_join *j, uint32_t thread,
                         const kymo_event_call *e)
{
    if (j->interval == 0 || e->kind != KYMO_TRACE_OPEN || thread >= j->open_calls.threads.len)
        return 0;
    const struct kymo_open_calls_thread *t = &j->open_calls.threads.data[thread];
    for (size_t i = t->calls.len; i-- > 0 && t->calls.data[i].depth >= e->depth;)
        if (t->calls.data[i].depth == e->depth && t->calls.data[i].script == e->script)
            return 1;
    return 0;
}

static kymo_err take_calls(struct kymo_recording_join *j, const kymo_event_calls *e, int *is_new)
{
    uint32_t first = 0;
    *is_new = 0;
    for (uint32_t i = 0; i < e->count; i++) {
        if (!is_known_call(j, e->thread, &e->calls[i])) {
            KYMO_TRY(kymo_open_calls_take(&j->open_calls, e->thread, &e->calls[i]));
            continue;
        }
        KYMO_TRY(pass(j, e->thread, e->calls + first, i - first));
        first = i + 1;
    }
    return pass(j, e->thread, e->calls + first, e->count - first);
}

/* ---- the handler ---- */

#define TAKES(name, type)                                                     \
    static kymo_err on_##name(void *context, const kymo_event_##type *event)  \
    {                                                                         \
        struct kymo_recording_join *j = context;                              \
        kymo_event_##type e = *event;                                         \
        int is_new = 1;                                                       \
        KYMO_TRY(take_##name(j, &e, &is_new));                                \
        return is_new && j->to->name ? j->to->name(j->context, &e) : KYMO_OK; \
    }
TAKES(loss, loss)
TAKES(quality, quality)
TAKES(site_counts, site_counts)
TAKES(heap, heap)
TAKES(process, process)
TAKES(thread, thread)
TAKES(samples, samples)
TAKES(thread_end, thread_end)
TAKES(process_end, process_end)
TAKES(module_image, module_image)
TAKES(live, live)
TAKES(label, label)
TAKES(marker, marker)
TAKES(calls, calls)

#define PASSES(name, type)                                                   \
    static kymo_err on_##name(void *context, const kymo_event_##type *event) \
    {                                                                        \
        const struct kymo_recording_join *j = context;                       \
        return j->to->name ? j->to->name(j->context, event) : KYMO_OK;       \
    }
PASSES(meta, meta)
PASSES(thread_name, thread_name)
PASSES(module, module)
PASSES(module_unload, module_unload)
PASSES(script, script)
PASSES(stack, stack)
PASSES(wait, wait)
PASSES(code, code)
PASSES(kernel_symbol, kernel_symbol)
PASSES(kernel_stack, kernel_stack)
PASSES(marker_category, marker_category)
PASSES(marker_type, marker_type)
PASSES(site, site)
PASSES(literal, named)
PASSES(track, named)
PASSES(counter, counter)
PASSES(count, count)
PASSES(allocation, allocation)
PASSES(free, free)
PASSES(resize, resize)
PASSES(mapping, mapping)
PASSES(inherit, inherit)
PASSES(ledger, ledger)
PASSES(memory_info, memory_info)
PASSES(symbols, symbols)
PASSES(dropped, dropped)
PASSES(note, note)

/* Where an interval ends, the recording goes on. */
static kymo_err on_end(void *context, const kymo_event_end *e)
{
    (void)context;
    (void)e;
    return KYMO_OK;
}

const kymo_event_handler kymo_recording_join_handler = {
#define X(name, type) .name = on_##name,
    KYMO_EVENT_LIST(X)
#undef X
};
