/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hazard_threads.c - what costs more, or breaks, once a profiler adds a thread or a signal: glibc's
 * paths for a process of one thread, locks inside malloc, masks and handlers of the program's own.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "hazards.h"
#include "workload.h"

DEFINE_BURN(burn_masked, 79)
DEFINE_BURN(burn_before_threads, 97)
DEFINE_BURN(burn_with_own_signals, 83)

/* ---- one thread alone ---- */

enum { FILE_BYTES = 1 << 20, MALLOCS = 1 << 20 };

/* Nanoseconds of CPU time for each byte of the file. */
static KEPT double loop_getc(FILE *file)
{
    rewind(file);
    uint64_t start = thread_cpu_ns();
    unsigned sum = 0;
    for (int i = 0; i < FILE_BYTES; i++)
        sum += (unsigned)getc(file);
    burnt = sum;
    return (double)(thread_cpu_ns() - start) / FILE_BYTES;
}

/* And for each pair of malloc and free. */
static KEPT double loop_malloc(void)
{
    uint64_t start = thread_cpu_ns();
    for (int i = 0; i < MALLOCS; i++) {
        void *volatile block = malloc(40);
        free(block);
    }
    return (double)(thread_cpu_ns() - start) / MALLOCS;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int hazard_single(int argc, char **argv)
{
    enum { MOST = 1001 };
    static double getc_ns[MOST], malloc_ns[MOST];
    int rounds = (int)number_argument(argc, argv, 1, 51);
    if (rounds < 1 || rounds > MOST)
        rounds = MOST;
    FILE *file = tmpfile();
    must(file != NULL, "tmpfile");
    for (int i = 0; i < FILE_BYTES; i++)
        putc('k', file);
    for (int i = 0; i < rounds; i++) {
        getc_ns[i] = loop_getc(file);
        malloc_ns[i] = loop_malloc();
    }
    qsort(getc_ns, (size_t)rounds, sizeof(*getc_ns), by_size);
    qsort(malloc_ns, (size_t)rounds, sizeof(*malloc_ns), by_size);
    printf("{\"getc_ns\":%.3f,\"malloc_ns\":%.3f}\n", getc_ns[rounds / 2], malloc_ns[rounds / 2]);
    fclose(file);
    return 0;
}

/* ---- many in malloc ---- */

static void *run_malloc(void *argument)
{
    enum { BLOCKS = 256, STEPS = 1000000 };
    unsigned char *blocks[BLOCKS] = {0};
    uint64_t random = *(unsigned *)argument + 1, wrong = 0;
    for (int i = 0; i < STEPS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        unsigned at = (unsigned)(random >> 40) % BLOCKS;
        size_t size = 1 + (random >> 50) % 2000;
        /* Each block begins with its place, which no other thread may change. */
        if (blocks[at])
            wrong += blocks[at][0] != (unsigned char)at;
        if (i % 3 == 0) {
            free(blocks[at]);
            blocks[at] = malloc(size);
        } else {
            blocks[at] = realloc(blocks[at], size);
        }
        must(blocks[at] != NULL, "malloc");
        blocks[at][0] = (unsigned char)at;
    }
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    return (void *)(uintptr_t)wrong;
}

int hazard_mallocthread(int argc, char **argv)
{
    (void)argc, (void)argv;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];
    uintptr_t wrong = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        must(pthread_create(&threads[i], NULL, run_malloc, &numbers[i]) == 0, "pthread_create");
    }
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += (uintptr_t)result;
    }
    printf("%d threads, %lu blocks were changed\n", THREADS, (unsigned long)wrong);
    return wrong != 0;
}

/* ---- an allocator that makes threads ---- */

/* jemalloc makes its background threads with a lock held that its statistics take; pthread_create
 * calls calloc. Before that nothing is allocated for a while, so that this call is the one that
 * finds whatever waits for the next allocation. */
int hazard_allocthreads(int argc, char **argv)
{
    (void)argc, (void)argv;
    int (*mallctl)(const char *, void *, size_t *, void *, size_t) =
        (int (*)(const char *, void *, size_t *, void *, size_t))(intptr_t)dlsym(RTLD_DEFAULT,
                                                                                 "mallctl");
    if (!mallctl)
        return 77;
    for (int i = 0; i < 10; i++) {
        bool is_on = i % 2 == 0;
        burn_ns(burn_before_threads, 100000000);
        must(mallctl("background_thread", NULL, NULL, &is_on, sizeof is_on) == 0, "mallctl");
        void *volatile block = malloc(100);
        free(block);
    }
    puts("the allocator's threads came and went");
    return 0;
}

/* ---- signals of the program's own ---- */

static void *run_masked(void *unused)
{
    (void)unused;
    sigset_t all;
    sigfillset(&all);
    must(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0, "pthread_sigmask");
    burn_ns(burn_masked, 200000000);
    return NULL;
}

int hazard_maskall(int argc, char **argv)
{
    (void)argc, (void)argv;
    pthread_t thread;
    must(pthread_create(&thread, NULL, run_masked, NULL) == 0, "pthread_create");
    pthread_setname_np(thread, "masked");
    pthread_join(thread, NULL);
    puts("a thread that blocks every signal ended well");
    return 0;
}

static volatile sig_atomic_t urgent, profiled, strange;

static void count_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    /* Only this process sends them, by kill(). */
    if (info->si_code != SI_USER && info->si_code != SI_TKILL)
        strange++;
    else if (number == SIGURG)
        urgent++;
    else
        profiled++;
}

int hazard_ownsignal(int argc, char **argv)
{
    (void)argc, (void)argv;
    struct sigaction action = {.sa_sigaction = count_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    must(sigaction(SIGURG, &action, NULL) == 0, "sigaction");
    must(sigaction(SIGPROF, &action, NULL) == 0, "sigaction");
    struct sigaction seen;
    must(sigaction(SIGURG, NULL, &seen) == 0, "sigaction");
    for (int i = 0; i < 100; i++) {
        burn_ns(burn_with_own_signals, 5000000);
        raise(SIGURG);
        kill(getpid(), SIGPROF);
    }
    printf("SIGURG %d, SIGPROF %d, from elsewhere %d; the handler is %s\n", (int)urgent,
           (int)profiled, (int)strange, seen.sa_sigaction == count_signal ? "ours" : "another");
    return 0;
}
