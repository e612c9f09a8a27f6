/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_from_calls.c - writes what an interpreter called as a file for the Firefox Profiler.
 *
 *     cc profile_from_calls.c $(pkg-config --cflags --libs kymo-profile)
 *     ./a.out calls.json && open https://profiler.firefox.com, drop the file there
 *
 * The calls are made up. A tracer would take times from clock_gettime(CLOCK_MONOTONIC).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/calls.h>
#include <kymo/encode.h>
#include <kymo/profile.h>

#define MS 1000000u

static kymo_error detail;

static void must(kymo_err err)
{
    if (err == KYMO_OK)
        return;
    fprintf(stderr, "profile_from_calls: %s\n",
            detail.message[0] ? detail.message : kymo_err_text(err));
    exit(1);
}

static uint32_t add_function(kymo_profile *profile, const char *name, const char *path,
                             uint32_t start_line)
{
    kymo_function function = {.start_line = start_line, .module = KYMO_NONE};
    uint32_t id;
    must(kymo_profile_add_string(profile, name, strlen(name), &function.name));
    must(kymo_profile_add_source(profile, path, strlen(path), &function.source));
    must(kymo_profile_add_function(profile, &function, &id));
    return id;
}

static uint32_t add_thread(kymo_profile *profile, uint32_t process, int32_t tid, const char *name)
{
    const kymo_thread thread = {
        .size = sizeof thread, .process = process, .tid = tid, .name = name};
    uint32_t id;
    must(kymo_profile_add_thread(profile, &thread, &id));
    return id;
}

/* Self times: main 3 ms, parse 3 ms, eval 6 ms, and 3 ms outside of all. */
static void trace_main_thread(kymo_calls *calls, uint32_t thread, uint32_t main_function,
                              uint32_t parse, uint32_t eval)
{
    must(kymo_calls_register(calls, thread, 0, &detail));
    must(kymo_calls_enter(calls, thread, 1 * MS, main_function, &detail));
    must(kymo_calls_enter(calls, thread, 2 * MS, parse, &detail));
    must(kymo_calls_leave(calls, thread, 5 * MS, parse, &detail));
    must(kymo_calls_enter(calls, thread, 6 * MS, eval, &detail));
    must(kymo_calls_enter(calls, thread, 8 * MS, eval, &detail));
    must(kymo_calls_exception(calls, thread, 9 * MS, "KeyError", "no such name: x", &detail));
    must(kymo_calls_leave(calls, thread, 10 * MS, eval, &detail));
    must(kymo_calls_leave(calls, thread, 12 * MS, eval, &detail));
    must(kymo_calls_leave(calls, thread, 13 * MS, main_function, &detail));
    must(kymo_calls_finish(calls, thread, 15 * MS, &detail));
}

/* What it is in when the trace ends has its time, too. */
static void trace_worker(kymo_calls *calls, uint32_t thread, uint32_t work)
{
    must(kymo_calls_register(calls, thread, 4 * MS, &detail));
    must(kymo_calls_enter(calls, thread, 4 * MS, work, &detail));
    must(kymo_calls_finish(calls, thread, 10 * MS, &detail));
}

static void trace(kymo_profile *profile)
{
    const kymo_process process = {.size = sizeof process, .pid = 100, .name = "interpreter"};
    kymo_calls *calls;
    uint32_t id;
    must(kymo_profile_add_process(profile, &process, &id));
    uint32_t main_thread = add_thread(profile, id, 100, "main");
    uint32_t worker = add_thread(profile, id, 101, "worker");
    must(kymo_calls_create(profile, KYMO_SAMPLE_DEFAULT, &calls));
    trace_main_thread(calls, main_thread, add_function(profile, "main", "/src/app.py", 1),
                      add_function(profile, "parse", "/src/app.py", 20),
                      add_function(profile, "eval", "/src/app.py", 40));
    trace_worker(calls, worker, add_function(profile, "work", "/src/pool.py", 5));
    kymo_calls_destroy(calls);
}

int main(int argc, char **argv)
{
    const kymo_meta meta = {.size = sizeof meta,
                            .product = "interpreter",
                            .origin_realtime_ns = 1700000000000000000,
                            .end_ns = 15 * MS};
    const kymo_sample_type wall = {
        .size = sizeof wall, .adds = KYMO_ADDS_ELAPSED, .name = "wall", .unit = "nanoseconds"};
    const kymo_encode_options options = {
        .size = sizeof options, .replace = 1, .kind = KYMO_SAMPLE_DEFAULT};
    kymo_profile *profile;
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE.json\n", argv[0]);
        return 2;
    }
    must(kymo_profile_create(&profile));
    must(kymo_profile_set_meta(profile, &meta));
    must(kymo_profile_set_sample_types(profile, &wall, 1, &detail));
    trace(profile);
    must(kymo_profile_finish(profile));
    must(kymo_encode_file(profile, argv[1], &options, &detail));
    kymo_profile_destroy(profile);
    return 0;
}
