/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_threads.c - a thread: whose it is, when it lived, and what it has rows of.
 */
#include "encode/firefox.h"

#include <string.h>

#include "encode/decimal.h"
#include "encode/json_table.h"

static void write_no_markers(kymo_json *j)
{
    static const char *const columns[] = {"data",    "name",  "startTime",
                                          "endTime", "phase", "category"};
    kymo_json_begin_table(j, "markers");
    for (size_t i = 0; i < KYMO_ARRAY_LEN(columns); i++)
        kymo_json_constant_column(j, columns[i], "null", 0);
    kymo_json_end_table(j, 0);
}

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

static void key_pid(kymo_firefox *w, uint32_t process)
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

enum { COMMAND_MAX = 240 }; /* bytes of a command line */

/* The viewer shows it with each process: by its arguments one compiler run is told from another. */
static void key_process_name(kymo_firefox *w, const kymo_process *process)
{
    char text[COMMAND_MAX + sizeof "..."];
    size_t len = 0;
    for (uint32_t i = 0; (i == 0 || i < process->argc) && len < COMMAND_MAX; i++) {
        const char *word = i == 0 ? process->name : process->argv[i];
        size_t n = strlen(word);
        if (i > 0)
            text[len++] = ' ';
        if (n > COMMAND_MAX - len)
            n = COMMAND_MAX - len;
        memcpy(text + len, word, n);
        len += n;
    }
    if (len == COMMAND_MAX) {
        memcpy(text + len, "...", 3);
        len += 3;
    }
    kymo_json_key(w->json, "processName");
    kymo_json_string(w->json, text, len);
}

kymo_err kymo_firefox_thread(kymo_firefox *w, uint32_t thread)
{
    kymo_json *j = w->json;
    const kymo_thread *t = &w->p->threads.data[thread];
    const kymo_process *process = &w->p->processes.data[t->process];
    kymo_json_begin_object(j);
    kymo_json_key_cstr(j, "processType", "default");
    key_time(w, "processStartupTime", process->start_ns);
    key_end_time(w, "processShutdownTime", process->end_ns);
    key_time(w, "registerTime", t->start_ns);
    key_end_time(w, "unregisterTime", t->end_ns);
    kymo_json_begin_column(j, "pausedRanges");
    kymo_json_end_array(j);
    kymo_json_key_cstr(j, "name", t->name);
    key_process_name(w, process);
    kymo_json_key(j, "isMainThread");
    kymo_json_bool(j, t->is_main != 0);
    kymo_json_key(j, "showMarkersInTimeline");
    kymo_json_bool(j, 1);
    key_pid(w, t->process);
    kymo_json_key(j, "tid");
    kymo_json_i64(j, t->tid);
    KYMO_TRY(kymo_firefox_samples(w, thread));
    write_no_markers(j);
    kymo_json_end_object(j);
    return j->err;
}
