/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome.c - the trace event format of Chrome as JSON, which ui.perfetto.dev opens.
 *
 * One event for each line: names of processes and threads first, then the markers of each thread,
 * its samples of elapsed time, and the counters. Times are microseconds since the profile's zero.
 *
 * The viewer knows processes by number alone. Images of one process (before and after exec) have
 * the same pid, so later ones get a multiple of 2^23 added to it, which is above the largest pid.
 */
#include "encode/chrome/chrome.h"

#include <stdlib.h>

#include "base/f64.h"
#include "kymo/marker_abi.h"

#define PID_STEP (1u << 23)

void kymo_chrome_begin(struct kymo_chrome *w, const char *phase, uint64_t pid, uint64_t tid,
                       uint64_t time_ns)
{
    kymo_json_begin_object(w->json);
    kymo_json_key_cstr(w->json, "ph", phase);
    kymo_json_key_u64(w->json, "pid", pid);
    kymo_json_key_u64(w->json, "tid", tid);
    kymo_json_key(w->json, "ts");
    kymo_json_fixed(w->json, time_ns, 3);
}

/* ---- names ---- */

static kymo_err number_processes(struct kymo_chrome *w)
{
    uint32_t count = kymo_profile_count(w->p, KYMO_TABLE_PROCESSES);
    kymo_index seen = {0};
    kymo_err err = KYMO_OK;
    for (uint32_t i = 0; i < count && err == KYMO_OK; i++) {
        uint64_t pid = (uint32_t)kymo_profile_process(w->p, i)->pid;
        uint64_t hash = kymo_hash_mix(kymo_hash_secret(), pid);
        uint64_t images = 0;
        uint32_t other;
        for (size_t probe = 0; kymo_index_find(&seen, hash, &probe, &other);)
            images += (uint32_t)kymo_profile_process(w->p, other)->pid == pid;
        w->pids[i] = pid + images * PID_STEP;
        err = kymo_index_put(&seen, hash, i);
    }
    kymo_index_deinit(&seen);
    return err;
}

void kymo_chrome_put_name(struct kymo_chrome *w, const char *what, uint64_t pid, uint64_t tid,
                          const char *name)
{
    kymo_chrome_begin(w, "M", pid, tid, 0);
    kymo_json_key_cstr(w->json, "name", what);
    kymo_json_key_object(w->json, "args");
    kymo_json_key_cstr(w->json, "name", name);
    kymo_json_end_object(w->json);
    kymo_json_end_object(w->json);
}

static void put_names(struct kymo_chrome *w)
{
    uint32_t processes = kymo_profile_count(w->p, KYMO_TABLE_PROCESSES);
    uint32_t threads = kymo_profile_count(w->p, KYMO_TABLE_THREADS);
    const uint32_t *order = kymo_profile_thread_order(w->p);
    for (uint32_t i = 0; i < processes; i++)
        kymo_chrome_put_name(w, "process_name", w->pids[i], w->pids[i],
                             kymo_profile_process(w->p, i)->name);
    for (uint32_t i = 0; i < threads; i++) {
        const kymo_thread *t = kymo_profile_thread(w->p, order[i]);
        kymo_chrome_put_name(w, "thread_name", w->pids[t->process], (uint32_t)t->tid, t->name);
    }
}

/* ---- counters ---- */

static kymo_err put_counter(struct kymo_chrome *w, uint32_t id)
{
    const kymo_counter *c = kymo_profile_counter(w->p, id);
    kymo_counts counts = kymo_profile_counts(w->p, id);
    for (uint32_t i = 0; i < counts.count; i++) {
        kymo_chrome_begin(w, "C", w->pids[c->process], 0,
                          kymo_since_origin(w->p, counts.time_ns[i]));
        kymo_json_key_cstr(w->json, "name", kymo_profile_string(w->p, c->name));
        kymo_json_key_object(w->json, "args");
        kymo_json_key(w->json, c->unit ? kymo_profile_string(w->p, c->unit) : "value");
        if (c->flags & KYMO_COUNTER_IS_F64)
            kymo_json_f64(w->json, kymo_f64_of(counts.value[i]));
        else
            kymo_json_i64(w->json, counts.value[i]);
        kymo_json_end_object(w->json);
        kymo_json_end_object(w->json);
        KYMO_TRY(kymo_encoder_step(w->encoder, 1));
    }
    return KYMO_OK;
}

/* ---- the whole ---- */

static kymo_err put_events(struct kymo_chrome *w)
{
    uint32_t threads = kymo_profile_count(w->p, KYMO_TABLE_THREADS);
    const uint32_t *order = kymo_profile_thread_order(w->p);
    put_names(w);
    for (uint32_t i = 0; i < threads; i++) {
        KYMO_TRY(kymo_chrome_write_markers(w, order[i]));
        KYMO_TRY(kymo_chrome_write_calls(w, order[i]));
    }
    for (uint32_t i = 0; i < kymo_profile_count(w->p, KYMO_TABLE_COUNTERS); i++)
        KYMO_TRY(put_counter(w, i));
    return KYMO_OK;
}

static kymo_err put_file(struct kymo_chrome *w)
{
    KYMO_TRY(number_processes(w));
    kymo_json_begin_object(w->json);
    kymo_json_key_cstr(w->json, "displayTimeUnit", "ns");
    kymo_json_key_array(w->json, "traceEvents");
    KYMO_TRY(put_events(w));
    kymo_json_end_array(w->json);
    kymo_json_end_object(w->json);
    return kymo_json_finish(w->json);
}

kymo_err kymo_chrome_write(kymo_encoder *encoder)
{
    const kymo_profile *p = encoder->profile;
    uint64_t start_ns;
    struct kymo_chrome w = {.encoder = encoder, .p = p, .json = malloc(sizeof *w.json)};
    w.pids = calloc(kymo_profile_count(p, KYMO_TABLE_PROCESSES) + 1ul, sizeof *w.pids);
    kymo_err err = KYMO_E_NOMEM;
    encoder->total = p->marker_count + p->sample_count + p->count_count;
    if (w.json && w.pids) {
        kymo_encoder_range(p, &start_ns, &w.end_ns);
        kymo_json_init(w.json, encoder->sink);
        err = put_file(&w);
    }
    free(w.pids);
    free(w.json);
    return err;
}
