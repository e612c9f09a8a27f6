/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_kept_figures.c - figures that count from the begin of the recording, for an interval
 * from its own begin.
 *
 * Events give losses, quality and counts as of now. An interval is to say what happened in it, so
 * the figures at its begin are taken off. A figure that went back (a count that was reset) counts
 * from 0.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "kymo/profile.h"
#include "recording/recording_format_heap.h"
#include "recording/recording_format_marks.h"
#include "recording/recording_kept.h"
#include "recording/recording_write_event.h"

/* Where an event's figures are in its payload: `count` numbers of 64 bits. */
struct figures {
    uint32_t at, count;
};

static struct figures figures_of(enum kymo_chunk_type type)
{
    switch (type) {
    case KYMO_CHUNK_LOSS:
        return (struct figures){offsetof(struct kymo_file_loss, count), 1};
    case KYMO_CHUNK_QUALITY:
        return (struct figures){offsetof(struct kymo_file_quality, samples), 5};
    case KYMO_CHUNK_SITE_COUNTS:
        return (struct figures){offsetof(struct kymo_file_site_counts, lost), 3};
    case KYMO_CHUNK_HEAP:
        return (struct figures){offsetof(struct kymo_file_heap, count), 2};
    default:
        return (struct figures){0, 0};
    }
}

static_assert(sizeof(struct kymo_file_quality) - offsetof(struct kymo_file_quality, samples) ==
                  KYMO_KEPT_FIGURES * sizeof(uint64_t),
              "the most figures");

static void take_off(unsigned char *payload, size_t len, enum kymo_chunk_type type,
                     const uint64_t before[KYMO_KEPT_FIGURES])
{
    const struct figures f = figures_of(type);
    uint64_t now[KYMO_KEPT_FIGURES];
    if (f.at + f.count * sizeof *now > len)
        return;
    memcpy(now, payload + f.at, f.count * sizeof *now);
    for (uint32_t i = 0; i < f.count; i++)
        now[i] -= now[i] >= before[i] ? before[i] : 0;
    memcpy(payload + f.at, now, f.count * sizeof *now);
}

static struct kymo_kept_state *find_state(struct kymo_kept_process *p, enum kymo_chunk_type type,
                                          uint32_t id)
{
    for (size_t i = 0; i < p->states.len; i++)
        if (p->states.data[i].chunk->type == type && p->states.data[i].chunk->id == id)
            return &p->states.data[i];
    return NULL;
}

kymo_err kymo_kept_take_state(kymo_recording_writer *w, struct kymo_kept_process *p,
                              enum kymo_chunk_type type, uint32_t id)
{
    struct kymo_kept_state *state = find_state(p, type, id);
    struct kymo_kept_chunk *chunk = kymo_kept_copy(w, type, id);
    if (!chunk)
        return KYMO_E_NOMEM;
    if (state) {
        free(state->chunk);
        state->chunk = chunk;
        take_off(w->event.data, w->event.len, type, state->before);
        return KYMO_OK;
    }
    kymo_err err = kymo_vec_push(&p->states, (struct kymo_kept_state){.chunk = chunk});
    if (err != KYMO_OK)
        free(chunk);
    return err;
}

kymo_err kymo_kept_put_states(kymo_recording_writer *w, const struct kymo_kept_process *p)
{
    for (size_t i = 0; i < p->states.len; i++) {
        const struct kymo_kept_state *state = &p->states.data[i];
        const struct kymo_kept_chunk *chunk = state->chunk;
        kymo_bytes_clear(&w->kept.again);
        KYMO_TRY(kymo_bytes_append(&w->kept.again, chunk->payload, chunk->len));
        take_off(w->kept.again.data, w->kept.again.len, chunk->type, state->before);
        KYMO_TRY(kymo_chunk_out_put(&w->out, chunk->type, &w->kept.again, 0));
    }
    return KYMO_OK;
}

/* ---- CPU time ---- */

void kymo_kept_samples(kymo_recording_writer *w, const kymo_event_samples *e)
{
    struct kymo_kept_thread *t = kymo_kept_thread_of(&w->kept, e->thread);
    struct kymo_kept_process *p = t ? kymo_kept_process_of(&w->kept, t->process) : NULL;
    uint64_t cpu_ns = 0;
    for (uint32_t i = 0; i < e->count; i++)
        cpu_ns += e->samples[i].kind == KYMO_SAMPLE_CPU ? e->samples[i].weight_ns : 0;
    if (t)
        t->cpu_ns += cpu_ns;
    if (p)
        p->cpu_ns += cpu_ns;
}

void kymo_kept_shorten_end(kymo_recording_writer *w, enum kymo_chunk_type type)
{
    if (type == KYMO_CHUNK_THREAD_END) {
        struct kymo_file_thread_end e;
        memcpy(&e, w->event.data, KYMO_FILE_THREAD_END_BYTES);
        const struct kymo_kept_thread *t = kymo_kept_thread_of(&w->kept, e.thread);
        if (t && e.cpu_ns > t->cpu_before_ns)
            e.cpu_ns -= t->cpu_before_ns;
        memcpy(w->event.data, &e, KYMO_FILE_THREAD_END_BYTES);
        return;
    }
    struct kymo_file_process_end e;
    memcpy(&e, w->event.data, sizeof e);
    const struct kymo_kept_process *p = kymo_kept_process_of(&w->kept, e.process);
    const uint64_t all_ns = e.user_ns + e.system_ns;
    if (!p || all_ns <= p->cpu_before_ns || p->cpu_before_ns == 0)
        return;
    /* Samples do not tell the user's part from the system's, so both shrink alike. */
    const uint64_t rest_ns = all_ns - p->cpu_before_ns;
    e.user_ns = (uint64_t)((unsigned __int128)e.user_ns * rest_ns / all_ns);
    e.system_ns = rest_ns - e.user_ns;
    memcpy(w->event.data, &e, sizeof e);
}

/* ---- a segment begins ---- */

void kymo_kept_begin_figures(struct kymo_recording_kept *kept, int is_interval)
{
    for (size_t i = 0; i < kept->processes.len; i++) {
        struct kymo_kept_process *p = kept->processes.data[i];
        for (size_t s = 0; p && s < p->states.len; s++) {
            struct kymo_kept_state *state = &p->states.data[s];
            const struct figures f = figures_of(state->chunk->type);
            memset(state->before, 0, sizeof state->before);
            if (is_interval)
                memcpy(state->before, state->chunk->payload + f.at,
                       f.count * sizeof state->before[0]);
        }
        if (p && is_interval)
            p->cpu_before_ns += p->cpu_ns;
        if (p && is_interval)
            p->cpu_ns = 0;
    }
    for (size_t i = 0; is_interval && i < kept->threads.len; i++) {
        kept->threads.data[i].cpu_before_ns += kept->threads.data[i].cpu_ns;
        kept->threads.data[i].cpu_ns = 0;
    }
}
