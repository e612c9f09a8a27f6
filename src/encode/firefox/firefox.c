/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox.c - the processed profile of the Firefox Profiler, version 66.
 *
 * The format has columns in JSON, so a table is written in as many passes as it has columns.
 * Numbers that columns use as references are assigned before (firefox_numbers.c, firefox_fields.c,
 * firefox_tracks.c). Then come meta, libs, counters, the tables that all threads share, and the
 * threads, in this order. Some errors make the front-end fail silently: doc/encodings.md lists
 * them, and tools/check-profile checks for them.
 */
#include "encode/firefox/firefox.h"

#include <stdlib.h>

static kymo_err write_all(kymo_firefox *w)
{
    KYMO_TRY(kymo_firefox_number(w));
    KYMO_TRY(kymo_firefox_look_at_markers(w));
    KYMO_TRY(kymo_firefox_number_categories(w));
    KYMO_TRY(kymo_firefox_number_tracks(w));
    KYMO_TRY(kymo_firefox_number_names(w));
    kymo_encoder_range(w->p, &w->start_ns, &w->end_ns);
    kymo_json_begin_object(w->json);
    kymo_firefox_put_meta(w);
    kymo_firefox_put_libs(w);
    KYMO_TRY(kymo_firefox_put_counters(w));
    KYMO_TRY(kymo_firefox_put_shared(w));
    kymo_json_key_array(w->json, "threads");
    for (size_t i = 0; i < w->p->thread_order.len; i++)
        KYMO_TRY(kymo_firefox_put_thread(w, w->p->thread_order.data[i]));
    for (uint32_t i = 0; i < w->marks.tracks.len; i++)
        KYMO_TRY(kymo_firefox_put_track_thread(w, i));
    kymo_json_end_array(w->json);
    kymo_json_end_object(w->json);
    return kymo_json_finish(w->json);
}

kymo_err kymo_firefox_write(kymo_encoder *encoder)
{
    const kymo_profile *p = encoder->profile;
    kymo_firefox w = {.encoder = encoder,
                      .p = p,
                      .json = malloc(sizeof(kymo_json)),
                      .string_used = calloc(p->strings.len + 1, 1),
                      .lib_of = calloc(p->modules.len + 1, sizeof(uint32_t)),
                      .function_of = calloc(p->functions.len + 1, sizeof(uint32_t)),
                      .is_script = calloc(p->functions.len + 1, 1),
                      .frame_same = calloc(p->frames.len + 1, sizeof(uint32_t)),
                      .frame_first = calloc(p->frames.len + 1, sizeof(uint32_t)),
                      .stack_last = calloc(p->stack_frame.len + 1, sizeof(uint32_t)),
                      .pid_turn = calloc(p->processes.len + 1, sizeof(uint32_t)),
                      .told_from = calloc(p->processes.len + 1, sizeof(uint32_t)),
                      .told_to = calloc(p->processes.len + 1, sizeof(uint32_t)),
                      .thread_weight = calloc(p->threads.len + 1, sizeof(uint64_t)),
                      .lacks_stacks = kymo_encoder_lacks_stacks(p),
                      .types = p->sample_types,
                      .amount = kymo_encoder_type(encoder)};
    kymo_err err = KYMO_E_NOMEM;
    if (w.types[w.amount].adds != KYMO_ADDS_AMOUNT)
        w.amount = KYMO_NONE;
    encoder->total = 4 * p->sample_count + 2 * p->stack_frame.len + 7 * p->frames.len +
                     7ull * kymo_profile_count(p, KYMO_TABLE_MARKERS) +
                     10ull * kymo_profile_count(p, KYMO_TABLE_ALLOCATIONS);
    if (w.json && w.string_used && w.lib_of && w.function_of && w.is_script && w.frame_same &&
        w.frame_first && w.stack_last && w.pid_turn && w.told_from && w.told_to &&
        w.thread_weight) {
        kymo_json_init(w.json, encoder->sink);
        err = write_all(&w);
    }
    free(w.json);
    free(w.string_used);
    free(w.lib_of);
    free(w.function_of);
    free(w.is_script);
    free(w.frame_same);
    free(w.frame_first);
    free(w.stack_last);
    free(w.pid_turn);
    free(w.told_from);
    free(w.told_to);
    free(w.thread_weight);
    kymo_firefox_marks_deinit(&w.marks);
    return err;
}
