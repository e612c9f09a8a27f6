/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_threads.c - a thread: its process, its times, and its tables. A track that the program
 * defined is written as a thread, too.
 */
#include "encode/firefox/firefox.h"

#include <string.h>

#include "base/decimal.h"
#include "encode/firefox/firefox_heap.h"
#include "encode/json_table.h"

static void key_time(kymo_firefox *w, const char *key, uint64_t time_ns)
{
    kymo_json_key(w->json, key);
    kymo_json_ms(w->json, kymo_since_origin(w->p, time_ns));
}

static void key_end_time(kymo_firefox *w, const char *key, uint64_t time_ns)
{
    if (time_ns) {
        key_time(w, key, time_ns);
    } else {
        kymo_json_key(w->json, key);
        kymo_json_null(w->json);
    }
}

void kymo_firefox_key_pid(kymo_firefox *w, uint32_t process)
{
    char text[2 * KYMO_DECIMAL_MAX];
    char *end = kymo_decimal_i64(text, w->p->processes.data[process].pid);
    if (w->pid_turn[process]) {
        *end++ = '.';
        end = kymo_decimal_u64(end, w->pid_turn[process]);
    }
    kymo_json_key(w->json, "pid");
    kymo_json_string(w->json, text, (size_t)(end - text));
}

/* Keys that all threads of a process share; start and end are the thread's own. */
static void begin_thread(kymo_firefox *w, uint32_t process, const char *name, uint64_t start_ns,
                         uint64_t end_ns, int is_main)
{
    kymo_json *j = w->json;
    const kymo_process *p = &w->p->processes.data[process];
    kymo_json_begin_object(j);
    kymo_json_key_cstr(j, "processType", "default");
    key_time(w, "processStartupTime", p->start_ns);
    key_end_time(w, "processShutdownTime", p->end_ns);
    key_time(w, "registerTime", start_ns);
    key_end_time(w, "unregisterTime", end_ns);
    kymo_json_key_array(j, "pausedRanges");
    kymo_json_end_array(j);
    if (is_main)
        kymo_firefox_key_main_name(w, process, name);
    else
        kymo_json_key_cstr(j, "name", name);
    kymo_firefox_key_process_name(w, p);
    kymo_json_key_bool(j, "isMainThread", is_main);
    kymo_json_key_bool(j, "showMarkersInTimeline", 1);
    kymo_firefox_key_pid(w, process);
    kymo_json_key(j, "tid");
}

kymo_err kymo_firefox_put_thread(kymo_firefox *w, uint32_t thread)
{
    const kymo_thread *t = &w->p->threads.data[thread];
    begin_thread(w, t->process, t->name, t->start_ns, t->end_ns, t->is_main != 0);
    kymo_json_i64(w->json, t->tid);
    KYMO_TRY(kymo_firefox_put_samples(w, thread));
    KYMO_TRY(kymo_firefox_put_thread_markers(w, thread));
    if (t->is_main)
        KYMO_TRY(kymo_firefox_put_allocations(w, t->process));
    kymo_json_end_object(w->json);
    return w->json->err;
}

static void write_no_samples(kymo_json *j)
{
    static const char *const columns[] = {"stack", "timeDeltas", "weight"};
    kymo_json_key_object(j, "samples");
    for (size_t i = 0; i < KYMO_ARRAY_LEN(columns); i++)
        kymo_json_constant_column(j, columns[i], "null", 0);
    kymo_json_key_cstr(j, "weightType", "tracing-ms");
    kymo_json_end_table(j, 0);
}

kymo_err kymo_firefox_put_track_thread(kymo_firefox *w, uint32_t track)
{
    const kymo_firefox_track *t = &w->marks.tracks.data[track];
    const kymo_firefox_tracked *first = &w->marks.tracked.data[t->first];
    const kymo_process *p = &w->p->processes.data[first->process];
    char tid[sizeof "track:" + KYMO_DECIMAL_MAX] = "track:";
    begin_thread(w, first->process, kymo_profile_string(w->p, first->track), p->start_ns, p->end_ns,
                 0);
    char *end = kymo_decimal_u64(tid + strlen(tid), (uint64_t)track + 1);
    kymo_json_string(w->json, tid, (size_t)(end - tid));
    write_no_samples(w->json);
    KYMO_TRY(kymo_firefox_put_track_markers(w, t));
    kymo_json_end_object(w->json);
    return w->json->err;
}
