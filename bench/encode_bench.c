/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode_bench.c [SAMPLES [ROUNDS [EXTENSION]]] - what it costs to write a profile of a million
 * samples in each format, or in one, to a sink that only counts. One line per format and round: CPU
 * time and bytes. At the end, one of memory: the most that this process had, before it encoded and
 * after.
 *
 * The profile is like one of a server: 8 threads, 10 modules, 6000 frames of 3000 functions (every
 * fourth with an inlined one), and 30 000 stacks of about 20 frames, which share their outer parts
 * and of which some are much commoner than others. It is the same each time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "kymo/encode.h"
#include "kymo/profile.h"

enum {
    THREADS = 8,
    MODULES = 10,
    SOURCES = 400,
    FUNCTIONS = 3000,
    FRAMES = 6000,
    STACKS = 30000,
    PERIOD_NS = 1000000,
};

static uint64_t random_state = 5000;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % limit);
}

static void must(kymo_err err, const char *what)
{
    if (err == KYMO_OK)
        return;
    fprintf(stderr, "encode_bench: %s: %s\n", what, kymo_err_text(err));
    exit(1);
}

/* ---- the profile ---- */

static uint32_t functions[FUNCTIONS];
static uint32_t frames[FRAMES];
static uint32_t leaves[STACKS]; /* stacks that samples have */

static void add_code(kymo_profile *p, uint32_t process)
{
    uint32_t modules[MODULES], sources[SOURCES];
    char text[128];
    for (unsigned i = 0; i < MODULES; i++) {
        snprintf(text, sizeof text, "/usr/lib/x86_64-linux-gnu/libpart%u.so.%u", i, i % 3);
        uint64_t start = 0x7f0000000000u + (uint64_t)i * 0x1000000u;
        kymo_module m = {.size = sizeof m,
                         .process = process,
                         .path = text,
                         .build_id = {(uint8_t)i, 1, 2, 3},
                         .build_id_len = 20,
                         .is_main = i == 0,
                         .start = start,
                         .end = start + 0x800000u,
                         .load_bias = start};
        must(kymo_profile_add_module(p, &m, &modules[i]), "module");
    }
    for (unsigned i = 0; i < SOURCES; i++) {
        int len = snprintf(text, sizeof text, "/usr/src/project/part%u/file_%u.c", i % 23, i);
        must(kymo_profile_add_source(p, text, (size_t)len, &sources[i]), "source");
    }
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        kymo_function f = {.source = sources[i % SOURCES], .start_line = 10 + i % 900};
        int len =
            snprintf(text, sizeof text, "part%u::Worker<int>::handle_%u(unsigned long)", i % 23, i);
        must(kymo_profile_add_string(p, text, (size_t)len, &f.name), "string");
        f.module = modules[i % MODULES];
        must(kymo_profile_add_function(p, &f, &functions[i]), "function");
    }
    for (unsigned i = 0; i < FRAMES; i++) {
        uint32_t function = i % FUNCTIONS;
        uint32_t module = modules[function % MODULES];
        must(kymo_profile_add_frame(p, module, 0x1000 + i * 0x90u, KYMO_CATEGORY_AUTO, &frames[i]),
             "frame");
        kymo_line lines[2] = {{functions[(function + MODULES) % FUNCTIONS], 20 + i % 800, 5},
                              {functions[function], 12 + i % 900, 9}};
        uint32_t inlined = i % 4 == 0;
        must(kymo_profile_frame_set_lines(p, frames[i], inlined ? lines : lines + 1, 1 + inlined,
                                          KYMO_NONE, 1),
             "lines");
    }
}

/* Each stack continues some earlier one, cut to a random depth, as those of a program do. */
static void add_stacks(kymo_profile *p)
{
    enum { DEEPEST = 40 };
    uint32_t path[DEEPEST];
    uint32_t depth = 0;
    for (unsigned i = 0; i < STACKS; i++) {
        uint32_t keep = depth > 3 ? depth - 1 - random_below(depth / 2) : depth;
        uint32_t want = 10 + random_below(DEEPEST - 20);
        depth = keep < want ? keep : want;
        do {
            must(kymo_profile_add_stack(p, depth ? path[depth - 1] : KYMO_NONE,
                                        frames[random_below(FRAMES)], &path[depth]),
                 "stack");
            depth++;
        } while (depth < want);
        leaves[i] = path[depth - 1];
    }
}

static kymo_profile *make_profile(uint32_t samples)
{
    kymo_profile *p;
    uint32_t process;
    char name[16];
    must(kymo_profile_create(&p), "profile");
    must(kymo_profile_set_meta(p, &(kymo_meta){.size = sizeof(kymo_meta),
                                               .logical_cpus = THREADS,
                                               .product = "server",
                                               .arch = "x86_64",
                                               .period_ns = PERIOD_NS}),
         "meta");
    must(kymo_profile_add_process(p,
                                  &(kymo_process){.size = sizeof(kymo_process),
                                                  .pid = 100,
                                                  .name = "server",
                                                  .exit_status = -1,
                                                  .is_main = 1},
                                  &process),
         "process");
    add_code(p, process);
    add_stacks(p);
    for (unsigned t = 0; t < THREADS; t++) {
        uint32_t thread;
        uint64_t time_ns = 0;
        snprintf(name, sizeof name, "worker-%u", t);
        kymo_thread row = {.size = sizeof row,
                           .process = process,
                           .tid = 100 + (int32_t)t,
                           .is_main = t == 0,
                           .name = name};
        must(kymo_profile_add_thread(p, &row, &thread), "thread");
        for (uint32_t i = 0; i < samples / THREADS; i++) {
            uint32_t weight_ns = PERIOD_NS - 5000 + random_below(10000);
            /* The product of two: some stacks are seen often, most of them seldom. */
            uint32_t at = random_below(1 + random_below(STACKS));
            time_ns += weight_ns;
            must(kymo_profile_add_sample(p, thread, time_ns, leaves[at], weight_ns, KYMO_SAMPLE_CPU,
                                         KYMO_STATE_RUNNING),
                 "sample");
        }
    }
    must(kymo_profile_finish(p), "finish");
    return p;
}

/* ---- measuring ---- */

struct counter {
    kymo_sink sink;
    uint64_t bytes;
};

static kymo_err count(kymo_sink *sink, const void *data, size_t len)
{
    (void)data;
    ((struct counter *)(void *)sink)->bytes += len;
    return KYMO_OK;
}

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static long peak_kib(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

int main(int argc, char **argv)
{
    uint32_t samples = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
    int rounds = argc > 2 ? atoi(argv[2]) : 3;
    kymo_profile *p = make_profile(samples);
    long profile_kib = peak_kib();
    for (int round = 0; round < rounds; round++) {
        const kymo_format *format;
        for (size_t i = 0; (format = kymo_format_at(i)) != NULL; i++) {
            if (argc > 3 && strcmp(format->extension, argv[3]) != 0)
                continue;
            if (strcmp(format->name, "pstats") == 0) /* of traced calls: there are none */
                continue;
            struct counter counter = {.sink.write = count};
            kymo_error detail = {0};
            double begin_ms = cpu_ms();
            kymo_err err = kymo_encode(p, format, &counter.sink, NULL, &detail);
            if (err != KYMO_OK) {
                fprintf(stderr, "encode_bench: %s: %s\n", format->extension, detail.message);
                return 1;
            }
            printf("encode format=%s samples=%llu cpu_ms=%.1f bytes=%llu\n", format->extension,
                   (unsigned long long)kymo_profile_sample_count(p), cpu_ms() - begin_ms,
                   (unsigned long long)counter.bytes);
        }
    }
    printf("memory profile_kib=%ld peak_kib=%ld\n", profile_kib, peak_kib());
    kymo_profile_destroy(p);
    return 0;
}
