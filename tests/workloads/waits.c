/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits.c shares|asleep|beside|reader|hidden|raw|blocked [SECONDS [THREADS]] - threads that wait,
 * and what is true of them.
 *
 * shares: one thread for each way to wait, which works and waits in turn; the wait of each is as
 * long again as the one before it. asleep: THREADS threads that wait from beginning to end. beside:
 * the same, while the main thread works. reader: one thread that waits for another's bytes, with a
 * frame of variable size in its stack, so that its callers cannot be found without the frame
 * pointer. hidden: a process that others may not look into sleeps for 20 ms again and again. raw: a
 * thread of a bare clone, which blocks all signals, sleeps, and so does the main thread. blocked:
 * the main thread waits as for a disk, where no signal reaches it: for children of vfork.
 *
 * Prints one line of JSON: for each function that waits how long it took in elapsed seconds, added
 * up over its threads, of shares also how often it waited and how much longer than it had asked
 * for, which is how busy the machine was; how long the threads lived; the waits that ended with
 * EINTR; CPU seconds.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

DEFINE_BURN(burn_between, 3)

enum { WORK_NS = 20000000, WAIT_NS = 20000000 };

static uint64_t end_ns;
static uint64_t seconds_ns;
static int never[2]; /* a pipe into which nothing comes until the end */
static atomic_uint calls, interrupted;

static void note(long result)
{
    calls++;
    if (result < 0 && errno == EINTR)
        interrupted++;
}

static KEPT void wait_sleep(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    note(nanosleep(&t, NULL));
    burnt++;
}

static KEPT void wait_poll(uint64_t ns)
{
    struct pollfd fd = {.fd = never[0], .events = POLLIN};
    note(poll(&fd, 1, (int)(ns / 1000000u)));
    burnt++;
}

static KEPT void wait_futex(uint64_t ns)
{
    static uint32_t word;
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    note(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0));
    burnt++;
}

static KEPT void wait_read(int fd)
{
    char byte;
    note(read(fd, &byte, 1));
    burnt++;
}

static KEPT void wait_asleep(void)
{
    char byte;
    /* End of file for all of them at once. */
    note(read(never[0], &byte, 1));
    burnt++;
}

struct way {
    void (*wait)(uint64_t ns);
    const char *name;
    uint64_t wait_ns; /* of each wait */
    uint64_t waited_ns, lived_ns, waits;
};

static void *work_and_wait(void *argument)
{
    struct way *way = argument;
    uint64_t start = clock_ns(CLOCK_MONOTONIC);
    do {
        (void)burn_ns(burn_between, WORK_NS);
        uint64_t before = clock_ns(CLOCK_MONOTONIC);
        way->wait(way->wait_ns);
        way->waited_ns += clock_ns(CLOCK_MONOTONIC) - before;
        way->waits++;
    } while (clock_ns(CLOCK_MONOTONIC) < end_ns);
    way->lived_ns = clock_ns(CLOCK_MONOTONIC) - start;
    return NULL;
}

static void shares(void)
{
    struct way ways[] = {{wait_sleep, "wait_sleep", 2 * WAIT_NS, 0, 0, 0},
                         {wait_poll, "wait_poll", 4 * WAIT_NS, 0, 0, 0},
                         {wait_futex, "wait_futex", 8 * WAIT_NS, 0, 0, 0}};
    pthread_t threads[3];
    uint64_t lived_ns = 0;
    for (int i = 0; i < 3; i++)
        must(pthread_create(&threads[i], NULL, work_and_wait, &ways[i]) == 0, "pthread_create");
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        double waited = (double)ways[i].waited_ns / 1e9;
        double asked = (double)(ways[i].waits * ways[i].wait_ns) / 1e9;
        printf("\"%s\":%.6f,\"%s_waits\":%llu,\"%s_late\":%.6f,", ways[i].name, waited,
               ways[i].name, (unsigned long long)ways[i].waits, ways[i].name,
               waited > asked ? waited - asked : 0);
        lived_ns += ways[i].lived_ns;
    }
    printf("\"lived\":%.6f", (double)lived_ns / 1e9);
}

static void *sleep_to_the_end(void *lived)
{
    uint64_t start = clock_ns(CLOCK_MONOTONIC);
    wait_asleep();
    *(uint64_t *)lived = clock_ns(CLOCK_MONOTONIC) - start;
    return NULL;
}

static void asleep(unsigned n, int is_main_busy)
{
    pthread_t *threads = calloc(n, sizeof *threads);
    uint64_t *lived = calloc(n, sizeof *lived);
    uint64_t lived_ns = 0;
    must(threads && lived, "calloc");
    for (unsigned i = 0; i < n; i++)
        must(pthread_create(&threads[i], NULL, sleep_to_the_end, &lived[i]) == 0, "pthread_create");
    /* A sample of the work above may come as the sleep begins, and end it. */
    for (uint64_t now; (now = clock_ns(CLOCK_MONOTONIC)) < end_ns;)
        if (is_main_busy)
            (void)burn_ns(burn_between, WORK_NS);
        else
            wait_sleep(end_ns - now);
    close(never[1]);
    for (unsigned i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        lived_ns += lived[i];
    }
    printf("\"wait_asleep\":%.6f,\"lived\":%.6f", (double)lived_ns / 1e9, (double)lived_ns / 1e9);
    free(threads);
    free(lived);
}

static KEPT void with_variable_frame(int fd, size_t size)
{
    volatile char *frame = __builtin_alloca(size);
    frame[0] = 1;
    wait_read(fd);
    frame[1] = 1;
}

static KEPT void *read_bytes(void *fd)
{
    while (clock_ns(CLOCK_MONOTONIC) < end_ns)
        with_variable_frame(*(int *)fd, 64 + (size_t)(burnt & 1));
    return NULL;
}

static void reader(void)
{
    int bytes[2];
    pthread_t thread;
    uint64_t start = clock_ns(CLOCK_MONOTONIC);
    must(pipe(bytes) == 0, "pipe");
    must(pthread_create(&thread, NULL, read_bytes, &bytes[0]) == 0, "pthread_create");
    while (clock_ns(CLOCK_MONOTONIC) < end_ns + 100000000u) {
        wait_sleep(25000000);
        must(write(bytes[1], "", 1) == 1, "write");
    }
    pthread_join(thread, NULL);
    printf("\"lived\":%.6f", (double)(clock_ns(CLOCK_MONOTONIC) - start) / 1e9);
}

static void hidden(void)
{
    uint64_t start = clock_ns(CLOCK_MONOTONIC), asked_ns = 0;
    must(prctl(PR_SET_DUMPABLE, 0) == 0, "prctl");
    for (; clock_ns(CLOCK_MONOTONIC) < end_ns; asked_ns += WAIT_NS)
        wait_sleep(WAIT_NS);
    double lived = (double)(clock_ns(CLOCK_MONOTONIC) - start) / 1e9;
    printf("\"wait_sleep_late\":%.6f,\"lived\":%.6f", lived - (double)asked_ns / 1e9, lived);
}

/* It has its parent's thread-local storage, and leaves it alone. */
static KEPT int sleep_raw(void *until)
{
    const uint64_t all = ~0ull;
    struct timespec t = *(struct timespec *)until;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof all);
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    burnt++;
    syscall(SYS_exit, 0);
    return 0;
}

static void raw(void)
{
    static char stack[65536] __attribute__((aligned(16)));
    uint64_t start = clock_ns(CLOCK_MONOTONIC);
    struct timespec t = {(time_t)(end_ns / 1000000000u), (long)(end_ns % 1000000000u)};
    must(clone(sleep_raw, stack + sizeof stack,
               CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
               &t) > 0,
         "clone");
    wait_sleep(seconds_ns + WAIT_NS);
    printf("\"lived\":%.6f", (double)(clock_ns(CLOCK_MONOTONIC) - start) / 1e9);
}

static uint64_t blocked_ns; /* until the child is about to end: then its parent wants a CPU */

/* The child has its parent's memory and must not return from here. */
static KEPT void wait_blocked(void)
{
    static const struct timespec t = {0, 20 * WAIT_NS};
    uint64_t start = clock_ns(CLOCK_MONOTONIC);
    pid_t child = vfork();
    if (child == 0) {
        syscall(SYS_nanosleep, &t, NULL);
        blocked_ns += clock_ns(CLOCK_MONOTONIC) - start;
        _exit(0);
    }
    must(child > 0 && waitpid(child, NULL, 0) == child, "vfork");
    burnt++;
}

static void blocked(void)
{
    uint64_t start = clock_ns(CLOCK_MONOTONIC);
    while (clock_ns(CLOCK_MONOTONIC) < end_ns)
        wait_blocked();
    printf("\"blocked\":%.6f,\"lived\":%.6f", (double)blocked_ns / 1e9,
           (double)(clock_ns(CLOCK_MONOTONIC) - start) / 1e9);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    seconds_ns = (uint64_t)(number_argument(argc, argv, 2, 2.0) * 1e9);
    end_ns = clock_ns(CLOCK_MONOTONIC) + seconds_ns;
    must(pipe2(never, O_CLOEXEC) == 0, "pipe2");
    printf("{");
    if (strcmp(what, "shares") == 0)
        shares();
    else if (strcmp(what, "asleep") == 0)
        asleep((unsigned)number_argument(argc, argv, 3, 128), 0);
    else if (strcmp(what, "beside") == 0)
        asleep((unsigned)number_argument(argc, argv, 3, 128), 1);
    else if (strcmp(what, "reader") == 0)
        reader();
    else if (strcmp(what, "hidden") == 0)
        hidden();
    else if (strcmp(what, "raw") == 0)
        raw();
    else if (strcmp(what, "blocked") == 0)
        blocked();
    else
        return 2;
    printf(",\"calls\":%u,\"eintr\":%u,\"cpu\":%.6f}\n", calls, interrupted,
           (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
    return 0;
}
