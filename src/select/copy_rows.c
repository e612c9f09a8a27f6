/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_rows.c - what is known of the whole, processes, threads and samples.
 *
 * Where only some samples of a thread are kept, its CPU time is the one that they stand for, and a
 * process has that of its kept threads: so shares and totals of a selection are its own.
 */
#include <stdlib.h>

#include "base/sum.h"
#include "profile/tables.h"
#include "select/copy_state.h"

static kymo_err copy_meta_texts(struct kymo_copy *c, kymo_meta *meta)
{
    const struct {
        const char **text;
        kymo_text_role role;
    } texts[] = {
        {&meta->product, KYMO_TEXT_PROGRAM}, {&meta->version, KYMO_TEXT_LITERAL},
        {&meta->engine, KYMO_TEXT_LITERAL},  {&meta->engine_reason, KYMO_TEXT_CODE},
        {&meta->os, KYMO_TEXT_LITERAL},      {&meta->kernel, KYMO_TEXT_LITERAL},
        {&meta->arch, KYMO_TEXT_LITERAL},    {&meta->cpu_name, KYMO_TEXT_LITERAL},
        {&meta->format, KYMO_TEXT_LITERAL},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(texts); i++)
        KYMO_TRY(kymo_copy_text(c, texts[i].role, *texts[i].text, texts[i].text));
    return KYMO_OK;
}

static kymo_err copy_meta(struct kymo_copy *c)
{
    const kymo_meta *meta = kymo_profile_meta(c->from);
    const kymo_keep *keep = c->keep;
    kymo_meta row = *meta;
    const char **argv = malloc((row.argc + 1u) * sizeof *argv);
    if (!argv)
        return KYMO_E_NOMEM;
    if (c->sanitizer)
        row.hostname = NULL;
    if (keep->from_ns > row.start_ns)
        row.start_ns = keep->from_ns;
    if (keep->to_ns < UINT64_MAX && (row.end_ns == 0 || row.end_ns > keep->to_ns))
        row.end_ns = keep->to_ns;
    row.argv = argv;
    kymo_err err = copy_meta_texts(c, &row);
    if (err == KYMO_OK)
        err = kymo_copy_argv(c, meta->argv, &row.argc, argv);
    if (err == KYMO_OK)
        err = kymo_profile_set_meta(c->to, &row);
    free(argv);
    return err;
}

static kymo_err copy_sample_types(struct kymo_copy *c)
{
    kymo_sample_type rows[KYMO_SAMPLE_TYPES_MAX];
    uint32_t count;
    const kymo_sample_type *types = kymo_profile_sample_types(c->from, &count);
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = types[i];
        const char **texts[] = {&rows[i].name, &rows[i].unit, &rows[i].count_name,
                                &rows[i].period_name, &rows[i].period_unit};
        for (size_t k = 0; k < KYMO_ARRAY_LEN(texts); k++)
            KYMO_TRY(kymo_copy_text(c, KYMO_TEXT_LITERAL, *texts[k], texts[k]));
    }
    return kymo_profile_set_sample_types(c->to, rows, count, NULL);
}

kymo_err kymo_copy_whole(struct kymo_copy *c)
{
    kymo_quality quality = *kymo_profile_quality(c->from);
    kymo_lost lost[KYMO_LOST_MAX];
    for (uint32_t i = 0; i < quality.lost_count; i++) {
        lost[i] = quality.lost[i];
        KYMO_TRY(kymo_copy_text(c, KYMO_TEXT_LITERAL, lost[i].kind, &lost[i].kind));
    }
    quality.lost = lost;
    KYMO_TRY(copy_meta(c));
    KYMO_TRY(kymo_profile_set_quality(c->to, &quality));
    return copy_sample_types(c);
}

static kymo_err copy_process(struct kymo_copy *c, uint32_t id)
{
    const kymo_process *process = kymo_profile_process(c->from, id);
    kymo_process row = *process;
    const char **argv = malloc((row.argc + 1u) * sizeof *argv);
    kymo_err err = argv ? kymo_copy_argv(c, process->argv, &row.argc, argv) : KYMO_E_NOMEM;
    row.argv = argv;
    if (err == KYMO_OK)
        err = kymo_copy_text(c, KYMO_TEXT_NAME, process->name, &row.name);
    if (err == KYMO_OK)
        err = kymo_profile_add_process(c->to, &row, &c->process[id]);
    free(argv);
    return err;
}

static kymo_err copy_thread(struct kymo_copy *c, uint32_t id)
{
    kymo_thread row = *kymo_profile_thread(c->from, id);
    row.process = c->process[row.process];
    KYMO_TRY(kymo_copy_text(c, KYMO_TEXT_NAME, row.name, &row.name));
    return kymo_profile_add_thread(c->to, &row, &c->thread[id]);
}

kymo_err kymo_copy_processes(struct kymo_copy *c)
{
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_PROCESSES); i++)
        if (c->process[i] != KYMO_NONE)
            KYMO_TRY(copy_process(c, i));
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_THREADS); i++)
        if (c->thread[i] != KYMO_NONE)
            KYMO_TRY(copy_thread(c, i));
    return KYMO_OK;
}

/* ---- samples ---- */

/* What is left of a thread's CPU time, and of that before its samples. */
struct times {
    uint64_t cpu_ns, startup_ns;
};

static kymo_err copy_samples_of(struct kymo_copy *c, uint32_t thread, struct times *left)
{
    uint32_t id = c->thread[thread];
    kymo_samples s = kymo_profile_samples(c->from, thread);
    const uint32_t *labels = kymo_profile_sample_labels(c->from, thread);
    int is_startup_next = kymo_profile_thread(c->from, thread)->startup_ns != 0;
    size_t place = 0;
    for (size_t i = 0; i < s.count; i++) {
        uint64_t time_ns = s.time_ns[i];
        uint64_t weight = s.weight_ns[i];
        uint32_t adds = c->adds[s.kind[i]];
        int is_startup = is_startup_next && adds == KYMO_ADDS_CPU_TIME;
        is_startup_next &= !is_startup;
        if (!kymo_keep_has_sample(c->keep, adds, s.stack[i], &time_ns, &weight))
            continue;
        KYMO_TRY(kymo_profile_add_sample(c->to, id, time_ns, kymo_copy_map(c->stack, s.stack[i]),
                                         weight, s.kind[i], (kymo_thread_state)s.state[i]));
        if (adds == KYMO_ADDS_CPU_TIME)
            left->cpu_ns = kymo_sum(left->cpu_ns, weight);
        if (is_startup)
            left->startup_ns = weight;
        if (labels)
            KYMO_TRY(kymo_profile_set_sample_labels(c->to, id, place,
                                                    kymo_copy_map(c->labels, labels[i])));
        place++;
    }
    return KYMO_OK;
}

static kymo_err set_thread_time(struct kymo_copy *c, uint32_t id, const struct times *left)
{
    kymo_thread row = *kymo_profile_thread(c->to, id);
    row.cpu_ns = left->cpu_ns;
    row.startup_ns = left->startup_ns;
    row.dropped_ns = 0;
    return kymo_profile_update_thread(c->to, id, &row);
}

/* Of processes that have not all their threads, or not all samples of them. */
static kymo_err set_process_times(struct kymo_copy *c, const uint64_t *cpu_ns)
{
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_PROCESSES); i++) {
        if (c->process[i] == KYMO_NONE || cpu_ns[i] == UINT64_MAX)
            continue;
        kymo_process row = *kymo_profile_process(c->to, c->process[i]);
        row.cpu_ns = cpu_ns[i];
        KYMO_TRY(kymo_profile_update_process(c->to, c->process[i], &row));
    }
    return KYMO_OK;
}

/* cpu_ns: of each process, the CPU time of its kept threads; UINT64_MAX: it has all of them. */
static kymo_err sum_process_times(struct kymo_copy *c, uint64_t *cpu_ns)
{
    uint32_t threads = kymo_profile_count(c->from, KYMO_TABLE_THREADS);
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_PROCESSES); i++)
        cpu_ns[i] = kymo_keep_is_cut(c->keep) ? 0 : UINT64_MAX;
    for (uint32_t i = 0; i < threads; i++)
        if (c->thread[i] == KYMO_NONE)
            cpu_ns[kymo_profile_thread(c->from, i)->process] = 0;
    for (uint32_t i = 0; i < threads; i++) {
        uint64_t *sum = &cpu_ns[kymo_profile_thread(c->from, i)->process];
        if (c->thread[i] != KYMO_NONE && *sum != UINT64_MAX)
            *sum = kymo_sum(*sum, kymo_profile_thread(c->to, c->thread[i])->cpu_ns);
    }
    return set_process_times(c, cpu_ns);
}

kymo_err kymo_copy_samples(struct kymo_copy *c)
{
    for (uint32_t i = 0; i < kymo_profile_count(c->from, KYMO_TABLE_THREADS); i++) {
        struct times left = {0};
        if (c->thread[i] == KYMO_NONE)
            continue;
        KYMO_TRY(copy_samples_of(c, i, &left));
        if (kymo_keep_is_cut(c->keep))
            KYMO_TRY(set_thread_time(c, c->thread[i], &left));
    }
    size_t processes = kymo_profile_count(c->from, KYMO_TABLE_PROCESSES);
    uint64_t *sums = malloc((processes + 1) * sizeof *sums);
    kymo_err err = sums ? sum_process_times(c, sums) : KYMO_E_NOMEM;
    free(sums);
    return err;
}
