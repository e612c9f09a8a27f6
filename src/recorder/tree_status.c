/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_status.c - what the recorder does, for `kymo control status`. Members are only ever added: a
 * program may read them.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/str.h"
#include "recorder/tree_state.h"
#include "recording/recording.h"
#include "sys/proc_file.h"

static const char *const engine_names[] = {
    [KYMO_SESSION_PERF] = "perf",
    [KYMO_SESSION_TIMER] = "timer",
    [KYMO_SESSION_DISPATCH] = "dispatch",
};

static uint64_t in_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

static void key_text(kymo_json *j, const char *name, const char *text)
{
    char utf8[KYMO_CONTROL_BYTES * 3];
    kymo_json_key(j, name);
    kymo_json_string(j, utf8, kymo_utf8_copy(utf8, sizeof utf8, text, strlen(text)));
}

static void write_recorder(kymo_json *j)
{
    enum { RSS = 24 }; /* of /proc/PID/stat, in pages */
    struct rusage own;
    getrusage(RUSAGE_SELF, &own);
    kymo_json_key_object(j, "recorder");
    kymo_json_key_i64(j, "pid", getpid());
    kymo_json_key_u64(j, "cpu_ns", in_ns(own.ru_utime) + in_ns(own.ru_stime));
    kymo_json_key_u64(j, "rss_bytes",
                      kymo_proc_stat(getpid(), RSS) * (uint64_t)sysconf(_SC_PAGESIZE));
    kymo_json_end_object(j);
}

static void write_recording(const kymo_tree *t, kymo_json *j)
{
    const struct kymo_host_config *c = &t->config;
    const int is_paused = kymo_tree_is_paused(t);
    kymo_json_key_cstr(j, "state", is_paused ? "paused" : "recording");
    kymo_json_key_time(j, "since", t->since_realtime_ns);
    kymo_json_key_object(j, "program");
    kymo_json_key_i64(j, "pid", t->program);
    kymo_json_end_object(j);
    kymo_json_key_u64(j, "processes", kymo_tree_alive(t));
    kymo_json_key_cstr(j, "engine", engine_names[c->engine]);
    kymo_json_key_u64(j, "period_ns", c->period_ns);
    kymo_json_key_u64(j, "wall_period_ns", c->wall ? kymo_wall_period_ns(c->wall) : 0);
    kymo_json_key_u64(j, "alloc_bytes", c->alloc_rate);
    const char *markers = is_paused ? t->kept_markers : t->markers;
    key_text(j, "markers", markers[0] ? markers : "all");
    kymo_json_key_u64(j, "bytes", c->writer ? kymo_recording_bytes(c->writer) : 0);
}

kymo_err kymo_tree_write_status(const kymo_tree *t, kymo_bytes *text)
{
    kymo_json *j = malloc(sizeof *j);
    if (!j)
        return KYMO_E_NOMEM;
    kymo_json_init(j, &text->sink);
    kymo_json_begin_object(j);
    write_recording(t, j);
    write_recorder(j);
    if (t->owner.status)
        t->owner.status(t->owner.context, j);
    kymo_json_end_object(j);
    kymo_err err = kymo_json_finish(j);
    free(j);
    return err == KYMO_OK ? kymo_bytes_append(text, "\n", 1) : err;
}
