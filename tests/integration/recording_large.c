/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_large.c - a recording of 200 threads, 120000 stacks and a million samples is written
 * and loaded; every weight arrives, and memory stays in proportion to what there is.
 *
 * usage: recording_large [--times]    --times prints what each step took
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "kymo/recording.h"
#include "recording/recording.h"

enum {
    THREADS = 200,
    STACKS = 120000,
    SAMPLES = 1000000,
    BATCH = 50, /* samples of a thread that a drain finds at once */
    DEPTH = 60,
    MODULES = 40,
    MEMORY_KB = 256 << 10, /* at most, for writing and loading */
};

static void require(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "recording_large: %s\n", what);
        exit(1);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*state >> 33);
}

static void write_definitions(kymo_recording_writer *w)
{
    char name[32];
    const kymo_event_meta meta = {.start_ns = 1, .period_ns = 1000000, .host = "h"};
    require(kymo_recording_write_meta(w, &meta) == KYMO_OK, "meta");
    const kymo_event_process process = {.pid = 1, .is_main = 1, .name = "large"};
    require(kymo_recording_write_process(w, &process) == KYMO_OK, "process");
    for (uint32_t i = 0; i < MODULES; i++) {
        snprintf(name, sizeof name, "/lib/lib%u.so", i);
        const kymo_event_module m = {.module = i,
                                     .start = 0x10000000ull * (i + 1),
                                     .end = 0x10000000ull * (i + 1) + 0x8000000,
                                     .load_bias = 0x10000000ull * (i + 1),
                                     .path = name};
        require(kymo_recording_write_module(w, &m) == KYMO_OK, "module");
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        const kymo_event_thread t = {.thread = i, .tid = (int32_t)i + 1, .name = "worker"};
        require(kymo_recording_write_thread(w, &t) == KYMO_OK, "thread");
    }
}

/* Stacks as programs have them: most differ from the one before in their innermost frames. */
static void write_stack(kymo_recording_writer *w, uint32_t id, uint64_t *random)
{
    static kymo_event_frame path[DEPTH]; /* outermost first */
    static uint32_t depth;
    kymo_event_frame frames[DEPTH];
    uint32_t keep = depth > 12 ? depth - 1 - next_random(random) % 12 : 0;
    uint32_t wanted = 20 + next_random(random) % (DEPTH - 20);
    if (wanted <= keep)
        wanted = keep + 1;
    for (depth = keep; depth < wanted; depth++)
        path[depth] = (kymo_event_frame){
            .address = 0x1000 + next_random(random) % 20000 * 16,
            .module = next_random(random) % MODULES,
            .flags = KYMO_EVENT_FRAME_RETURN,
        };
    for (uint32_t i = 0; i < depth; i++)
        frames[i] = path[depth - 1 - i];
    const kymo_event_stack stack = {
        .stack = id, .flags = KYMO_EVENT_STACK_COMPLETE, .depth = depth, .frames = frames};
    require(kymo_recording_write_stack(w, &stack) == KYMO_OK, "stack");
}

/* Returns the sum of the weights. */
static uint64_t write_recording(int fd, unsigned flags)
{
    uint64_t sum = 0;
    kymo_recording_writer *w;
    uint64_t random = 42;
    uint32_t stacks = 0;
    require(kymo_recording_writer_create(fd, flags, &w) == KYMO_OK, "create");
    write_definitions(w);
    for (uint32_t done = 0; done < SAMPLES; done += BATCH) {
        kymo_event_sample samples[BATCH];
        while (stacks <= (uint64_t)(done + BATCH) * (STACKS - 1) / SAMPLES)
            write_stack(w, stacks++, &random);
        for (uint32_t i = 0; i < BATCH; i++) {
            samples[i] = (kymo_event_sample){.time_ns = 1000000ull * (done + i + 1),
                                             .weight_ns = 900000 + next_random(&random) % 200000,
                                             .stack = next_random(&random) % stacks,
                                             .state = 1};
            sum += samples[i].weight_ns;
        }
        const kymo_event_samples e = {done / BATCH % THREADS, BATCH, samples};
        require(kymo_recording_write_samples(w, &e) == KYMO_OK, "samples");
    }
    require(stacks == STACKS, "number of stacks");
    const kymo_event_end end = {.clean = 1};
    require(kymo_recording_write_end(w, &end) == KYMO_OK, "end");
    kymo_recording_writer_destroy(w);
    return sum;
}

static kymo_err add_weights(void *ctx, const kymo_event_samples *e)
{
    for (uint32_t i = 0; i < e->count; i++)
        *(uint64_t *)ctx += e->samples[i].weight_ns;
    return KYMO_OK;
}

static void check(int fd, const char *path, uint64_t written, int times)
{
    uint64_t sum = 0, loaded = 0;
    const kymo_event_handler adder = {.samples = add_weights};
    kymo_recording_info info = {.size = sizeof info};
    kymo_error detail = {.message = ""};
    kymo_profile *profile;
    double start = now();
    require(lseek(fd, 0, SEEK_SET) == 0, "seek");
    require(kymo_recording_read_fd(fd, KYMO_RECORDING_STRICT, &adder, &sum, NULL, &detail) ==
                KYMO_OK,
            detail.message);
    double read = now();
    require(kymo_recording_load(path, &profile, &info, &detail) == KYMO_OK, detail.message);
    if (times)
        printf("%.1f MB: read %.3f s, read and ingest %.3f s\n", (double)info.size_bytes * 1e-6,
               read - start, now() - read);
    require(info.whole == 1, "whole");
    require(kymo_profile_sample_count(profile) == SAMPLES, "number of samples");
    for (uint32_t t = 0; t < THREADS; t++) {
        kymo_samples samples = kymo_profile_samples(profile, t);
        for (size_t i = 0; i < samples.count; i++)
            loaded += samples.weight_ns[i];
    }
    require(sum == written && loaded == written, "sum of weights");
    require(kymo_profile_quality(profile)->stacks_complete == 1.0, "complete stacks");
    kymo_recording_info_deinit(&info);
    kymo_profile_destroy(profile);
}

int main(int argc, char **argv)
{
    int times = argc > 1 && strcmp(argv[1], "--times") == 0;
    static const unsigned flags[] = {0, KYMO_RECORDING_COMPRESS};
    for (size_t i = 0; i < 2; i++) {
        char path[] = "/tmp/kymo-large-XXXXXX";
        int fd = mkstemp(path);
        require(fd >= 0, "temporary file");
        double start = now();
        uint64_t written = write_recording(fd, flags[i]);
        if (times)
            printf("%s: written in %.3f s; ", flags[i] ? "compressed" : "plain", now() - start);
        check(fd, path, written, times);
        unlink(path);
        close(fd);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    if (times)
        printf("peak memory %ld MiB\n", usage.ru_maxrss >> 10);
#ifndef __SANITIZE_ADDRESS__
    require(usage.ru_maxrss < MEMORY_KB, "memory");
#endif
    return 0;
}
