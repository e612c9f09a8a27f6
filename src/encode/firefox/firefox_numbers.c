/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_numbers.c - assigns numbers before the first table is written.
 *
 * Rows that look the same in the viewer get the same number: - libs: one for each file, even if
 * mapped several times; its resource has the same number. - funcTable: functions with the same
 * name, source, line and file are one, since the call tree merges
 *   by this index; then one for each frame without a name; then "[no stack]".
 * - frameTable: functions inlined into a frame become separate frames, outermost first. -
 * stackTable: and separate stack nodes, each the child of the one before.
 */
#include "encode/firefox/firefox.h"

#include <stdlib.h>
#include <string.h>

#include "base/sum.h"

static void number_libs(kymo_firefox *w)
{
    for (uint32_t i = 0; i < w->p->modules.len; i++) {
        uint32_t file = w->p->module_ids.data[i].file; /* not after i */
        w->lib_of[i] = file == i ? w->lib_count++ : w->lib_of[file];
    }
}

static int looks_same(const kymo_function *a, const kymo_function *b)
{
    return a->name == b->name && a->source == b->source && a->start_line == b->start_line &&
           a->module == b->module;
}

static void find_scripts(kymo_firefox *w)
{
    for (uint32_t i = 0; i < w->p->frames.len; i++) {
        uint32_t count;
        const kymo_line *lines = kymo_profile_frame_lines(w->p, i, &count);
        for (uint32_t k = 0; k < count && w->p->frames.data[i].category == KYMO_CATEGORY_PYTHON;
             k++)
            w->is_script[lines[k].function] = 1;
    }
}

/* Functions that differ only in the linker's name (clones of a constructor) look the same. */
static kymo_err number_functions(kymo_firefox *w)
{
    kymo_index seen = {0};
    kymo_err err = KYMO_OK;
    for (uint32_t i = 0; err == KYMO_OK && i < w->p->functions.len; i++) {
        const kymo_function *f = &w->p->functions.data[i];
        uint64_t words[2] = {(uint64_t)f->name << 32 | f->source,
                             (uint64_t)f->start_line << 32 | f->module};
        uint64_t hash = kymo_hash_words(words, 2, kymo_hash_secret());
        uint32_t other = KYMO_NONE;
        size_t probe = 0;
        while (kymo_index_find(&seen, hash, &probe, &other) &&
               !looks_same(f, &w->p->functions.data[other]))
            other = KYMO_NONE;
        if (other != KYMO_NONE) {
            w->function_of[i] = w->function_of[other];
            continue;
        }
        w->function_of[i] = w->function_count++;
        err = kymo_index_put(&seen, hash, i);
    }
    kymo_index_deinit(&seen);
    return err;
}

/* The identity of a frame. If the address is the name, it counts even if it is not shown. */
static uint64_t telling_address(const kymo_frame *f)
{
    return f->line_count == 0 ? f->address : kymo_firefox_shown_address(f);
}

static int same_frame(const kymo_profile *p, const kymo_frame *a, const kymo_frame *b)
{
    return telling_address(a) == telling_address(b) &&
           kymo_firefox_frame_file(p, a) == kymo_firefox_frame_file(p, b) &&
           a->category == b->category && a->symbol == b->symbol && a->line_count == b->line_count &&
           (a->line_count == 0 ||
            memcmp(&p->lines.data[a->first_line], &p->lines.data[b->first_line],
                   a->line_count * sizeof(kymo_line)) == 0);
}

/* Frames of one file in several processes are the same here, unless they have runtime addresses. */
static kymo_err find_same_frame(kymo_firefox *w, kymo_index *seen, uint32_t frame)
{
    const kymo_frame *f = &w->p->frames.data[frame];
    kymo_line line = f->line_count ? w->p->lines.data[f->first_line] : (kymo_line){0, 0, 0};
    uint64_t words[] = {telling_address(f),
                        (uint64_t)kymo_firefox_frame_file(w->p, f) << 32 | f->symbol,
                        (uint64_t)f->line_count << 8 | f->category,
                        (uint64_t)line.function << 32 | line.line, line.column};
    uint64_t hash = kymo_hash_words(words, KYMO_ARRAY_LEN(words), kymo_hash_secret());
    uint32_t other;
    for (size_t probe = 0; kymo_index_find(seen, hash, &probe, &other);)
        if (same_frame(w->p, f, &w->p->frames.data[other])) {
            w->frame_same[frame] = other;
            return KYMO_OK;
        }
    w->frame_same[frame] = frame;
    return kymo_index_put(seen, hash, frame);
}

static kymo_err number_frames(kymo_firefox *w)
{
    kymo_index seen = {0};
    kymo_err err = KYMO_OK;
    uint64_t next = 0;
    for (uint32_t i = 0; err == KYMO_OK && i < w->p->frames.len; i++) {
        const kymo_frame *f = &w->p->frames.data[i];
        err = find_same_frame(w, &seen, i);
        if (err != KYMO_OK)
            break;
        if (w->frame_same[i] != i) {
            w->frame_first[i] = w->frame_first[w->frame_same[i]];
            continue;
        }
        w->frame_first[i] = (uint32_t)next;
        next += kymo_firefox_frame_width(f);
        w->unnamed_count += f->line_count == 0;
        if (next >= KYMO_NONE)
            err = KYMO_E_TOO_BIG;
    }
    w->frame_count = (uint32_t)next;
    kymo_index_deinit(&seen);
    return err;
}

static kymo_err number_stacks(kymo_firefox *w)
{
    uint64_t next = 0;
    for (uint32_t i = 0; i < w->p->stack_frame.len; i++) {
        next += kymo_firefox_frame_width(&w->p->frames.data[w->p->stack_frame.data[i]]);
        if (next >= KYMO_NONE)
            return KYMO_E_TOO_BIG;
        w->stack_last[i] = (uint32_t)next - 1;
    }
    w->stack_count = (uint32_t)next;
    return KYMO_OK;
}

static int compare_pids(const void *a, const void *b, void *profile)
{
    const kymo_profile *p = profile;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    const kymo_process *px = &p->processes.data[x];
    const kymo_process *py = &p->processes.data[y];
    if (px->pid != py->pid)
        return px->pid < py->pid ? -1 : 1;
    if (px->start_ns != py->start_ns)
        return px->start_ns < py->start_ns ? -1 : 1;
    return (x > y) - (x < y);
}

/* The viewer groups threads by pid. An image after an exec, or a process with a reused pid, gets
 * a separate track: "12.1". */
static kymo_err number_pids(kymo_firefox *w)
{
    size_t count = w->p->processes.len;
    uint32_t *list = malloc((count + 1) * sizeof *list);
    if (!list)
        return KYMO_E_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        list[i] = i;
    if (count > 1)
        qsort_r(list, count, sizeof *list, compare_pids, (void *)w->p);
    for (size_t i = 1; i < count; i++)
        if (w->p->processes.data[list[i]].pid == w->p->processes.data[list[i - 1]].pid)
            w->pid_turn[list[i]] = w->pid_turn[list[i - 1]] + 1;
    free(list);
    return KYMO_OK;
}

static void use_strings(kymo_firefox *w)
{
    for (size_t i = 0; i < w->p->functions.len; i++)
        w->string_used[w->p->functions.data[i].name] = 1;
    for (size_t i = 0; i < w->p->sources.len; i++)
        w->string_used[w->p->sources.data[i]] = 1;
    for (size_t i = 0; i < w->p->symbols.len; i++)
        w->string_used[w->p->symbols.data[i].name] = 1;
    for (size_t i = 0; i < w->p->modules.len; i++)
        w->string_used[w->p->module_ids.data[i].name] = 1;
}

static void sum_threads(kymo_firefox *w)
{
    for (size_t i = 0; i < w->p->threads.len; i++) {
        const kymo_sample_columns *s = &w->p->samples.data[i];
        for (size_t k = 0; k < s->count; k++) {
            int is_cpu = w->types[s->kind[k]].adds == KYMO_ADDS_CPU_TIME;
            w->has_cpu |= is_cpu;
            if (is_cpu)
                w->thread_weight[i] = kymo_sum(w->thread_weight[i], s->weight_ns[k]);
        }
    }
}

kymo_err kymo_firefox_number(kymo_firefox *w)
{
    number_libs(w);
    find_scripts(w);
    KYMO_TRY(number_functions(w));
    KYMO_TRY(number_frames(w));
    KYMO_TRY(number_stacks(w));
    KYMO_TRY(number_pids(w));
    use_strings(w);
    sum_threads(w);
    return (uint64_t)w->function_count + w->unnamed_count < KYMO_NONE ? KYMO_OK : KYMO_E_TOO_BIG;
}
