/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marker_loop.c - see marker_loop.h.
 *
 * Times are the thread's CPU time: what others do on the machine is not in it. A part of a batch
 * runs before it, so that its code is there; a warm floor runs a whole one.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "marker_floor.h"
#include "marker_loop.h"

enum {
    WARM_UP_ROUNDS = 3,
    WARM_UP_PART = 16,
    MOST_ROUNDS = 200,
    MOST_THREADS = 2,
    MOST_RUNS = 128,
    PAUSE_NS = 25000000, /* before a batch: kymo's recorder empties buffers each 20 ms */
};

__thread uint32_t loop_thread;
const char *volatile loop_text = "/some/path/of/18.c";

LOOP_OPERATION(empty, )
static const struct loop_kind empty = LOOP_KIND_OF(empty, LOOP_BATCH, 0);

/* What takes turns. */
struct run {
    const struct loop_kind *kind;
    const char *place; /* NULL: not a floor */
    enum floor_place number;
};
static struct run runs[MOST_RUNS];
static uint32_t run_count;
static uint32_t rounds, threads;
static double ns[MOST_THREADS][MOST_RUNS][MOST_ROUNDS];
static pthread_barrier_t together;
static const struct loop_program *measured;

static uint64_t cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* To the number-th of the CPUs that we may use. */
static void pin(uint32_t number)
{
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof(all), &all);
    number %= (uint32_t)CPU_COUNT(&all);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all) || number-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof(one), &one);
        return;
    }
}

static void warm_up(const struct run *run)
{
    uint32_t batch = run->kind->batch;
    if (!run->place) {
        run->kind->run(batch / WARM_UP_PART);
        return;
    }
    floor_prepare(run->number);
    run->kind->run(run->number == FLOOR_WARM ? batch : batch / WARM_UP_PART);
    floor_prepare(run->number);
}

static double measure_batch(const struct run *run)
{
    /* Floors, too: a pause makes more things cold than lines. */
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    if (measured->prepare)
        measured->prepare();
    pthread_barrier_wait(&together);
    warm_up(run);
    uint64_t begun = cpu_ns();
    run->kind->run(run->kind->batch);
    return (double)(cpu_ns() - begun) / (double)run->kind->batch;
}

static void *measure(void *number)
{
    loop_thread = *(const uint32_t *)number;
    pin(loop_thread);
    floor_open();
    for (uint32_t round = 0; round < WARM_UP_ROUNDS + rounds; round++) {
        for (uint32_t i = 0; i < run_count; i++) {
            /* Each round begins with another one. */
            uint32_t r = (round + i) % run_count;
            double each = measure_batch(&runs[r]);
            if (round >= WARM_UP_ROUNDS)
                ns[loop_thread][r][round - WARM_UP_ROUNDS] = each;
        }
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_results(void)
{
    for (uint32_t r = 0; r < run_count; r++) {
        double all[MOST_THREADS * MOST_ROUNDS];
        uint32_t n = threads * rounds;
        for (uint32_t t = 0; t < threads; t++)
            memcpy(all + t * rounds, ns[t][r], rounds * sizeof(double));
        qsort(all, n, sizeof(*all), compare);
        printf("marker program=%s threads=%u kind=%s place=%s ns=%.3f least=%.3f "
               "quartiles=%.3f-%.3f\n",
               measured->name, threads, runs[r].kind->name, runs[r].place ? runs[r].place : "-",
               all[n / 2], all[0], all[n / 4], all[n * 3 / 4]);
    }
}

static void add_run(const struct loop_kind *kind, const char *place, enum floor_place number)
{
    if (run_count == MOST_RUNS)
        exit(2);
    runs[run_count++] = (struct run){kind, place, number};
}

static const struct loop_kind *find_kind(const struct loop_kind *kinds, uint32_t count,
                                         const char *name)
{
    for (uint32_t k = 0; k < count; k++) {
        if (strcmp(kinds[k].name, name) == 0)
            return &kinds[k];
    }
    return NULL;
}

static int plan_runs(const struct loop_program *program, int floors, char **names)
{
    measured = program;
    add_run(&empty, NULL, FLOOR_WARM);
    for (uint32_t k = 0; k < program->count; k++)
        add_run(&program->kinds[k], NULL, FLOOR_WARM);
    for (int f = 0; f < floors; f++) {
        const struct loop_kind *kind = find_kind(floor_kinds, floor_count, names[f]);
        if (!kind) {
            fprintf(stderr, "%s: there is no floor %s\n", program->name, names[f]);
            return 2;
        }
        add_run(kind, "warm", FLOOR_WARM);
        add_run(kind, "cold", FLOOR_COLD);
    }
    return 0;
}

/* callgrind writes what it has counted in here, each time that it ends. */
__attribute__((noinline)) void loop_counted(void (*run)(uint32_t), uint32_t n)
{
    run(n);
    __asm__ volatile("" ::: "memory");
}

static int count(const struct loop_program *program, uint32_t n, int kinds, char **names)
{
    floor_open();
    for (int k = 0; k < kinds; k++) {
        const struct loop_kind *kind = find_kind(program->kinds, program->count, names[k]);
        if (!kind)
            kind = find_kind(floor_kinds, floor_count, names[k]);
        if (!kind && strcmp(names[k], empty.name) == 0)
            kind = &empty;
        if (!kind) {
            fprintf(stderr, "%s: there is no kind %s\n", program->name, names[k]);
            return 2;
        }
        uint32_t calls = n < kind->batch ? n : kind->batch;
        /* The first ones of a kind may do more. */
        kind->run(1);
        loop_counted(kind->run, calls);
        loop_counted(kind->run, 2 * calls);
        printf("counted kind=%s calls=%u\n", kind->name, calls);
    }
    return 0;
}

int loop_main(const struct loop_program *program, int argc, char **argv)
{
    if (argc > 3 && strcmp(argv[1], "count") == 0)
        return count(program, (uint32_t)strtoul(argv[2], NULL, 10), argc - 3, argv + 3);

    rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    threads = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    if (rounds == 0 || rounds > MOST_ROUNDS || threads == 0 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: %s ROUNDS THREADS [FLOOR...] | count N KIND...\n", program->name);
        return 2;
    }
    if (plan_runs(program, argc - 3, argv + 3) != 0)
        return 2;

    pthread_t others[MOST_THREADS];
    uint32_t numbers[MOST_THREADS] = {0, 1};
    pthread_barrier_init(&together, NULL, threads);
    for (uint32_t t = 1; t < threads; t++) {
        if (pthread_create(&others[t], NULL, measure, &numbers[t]) != 0)
            return 1;
    }
    measure(&numbers[0]);
    for (uint32_t t = 1; t < threads; t++)
        pthread_join(others[t], NULL);
    print_results();
    return 0;
}

uint64_t loop_marks(const struct loop_program *program)
{
    uint64_t of_a_round = 0;
    for (uint32_t k = 0; k < program->count; k++) {
        const struct loop_kind *kind = &program->kinds[k];
        of_a_round += (uint64_t)kind->marks * (kind->batch + kind->batch / WARM_UP_PART);
    }
    return of_a_round * (WARM_UP_ROUNDS + rounds) * threads;
}
