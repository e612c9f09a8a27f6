/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork_threads.c [FORKS] - threads that allocate all the time, while the first one forks. The
 * children allocate, too, work long enough to be recorded, and end in different ways: some make
 * threads, some fork, some become daemons. Exit status 0 if each did what it should.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3, FORKS = 20, BURN_NS = 20000000, AT_THE_END = 42, KINDS = 5 };

static volatile int done;

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void allocate(unsigned seed)
{
    void *kept[64] = {0};
    for (unsigned i = 0; i < 256; i++) {
        seed = seed * 1103515245u + 12345u;
        size_t at = i % 64;
        free(kept[at]);
        kept[at] = malloc(16 + (seed >> 16) % 4096);
        if (kept[at])
            memset(kept[at], 1, 16);
    }
    for (size_t i = 0; i < 64; i++)
        free(kept[i]);
}

static void work(void)
{
    uint64_t end = cpu_ns() + BURN_NS;
    for (unsigned i = 0; cpu_ns() < end; i++)
        allocate(i);
}

static void *allocate_on(void *argument)
{
    for (unsigned i = 0; !done; i++)
        allocate(i + (unsigned)(uintptr_t)argument);
    return NULL;
}

static void *work_once(void *argument)
{
    work();
    return argument;
}

static int wait_for(pid_t pid)
{
    int status;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == AT_THE_END;
}

static void be_child(int kind)
{
    pthread_t thread;
    pid_t pid;
    switch (kind) {
    case 0:
        work();
        break;
    case 1: /* not a millisecond of its own */
        break;
    case 2:
        if (pthread_create(&thread, NULL, work_once, NULL) != 0 || pthread_join(thread, NULL) != 0)
            _exit(1);
        break;
    case 3:
        pid = fork();
        if (pid == 0) {
            work();
            _exit(AT_THE_END);
        }
        if (!wait_for(pid))
            _exit(2);
        work();
        break;
    case 4:
        setsid();
        for (int fd = 3; fd < 256; fd++)
            close(fd);
        work();
        if (open("/dev/null", 0) != 3)
            _exit(3);
        break;
    }
    if (kind % 2)
        exit(AT_THE_END);
    _exit(AT_THE_END);
}

int main(int argc, char **argv)
{
    int forks = argc > 1 ? atoi(argv[1]) : FORKS;
    pthread_t threads[THREADS];
    int failures = 0;
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, allocate_on, (void *)i) != 0)
            return 2;
    for (int i = 0; i < forks; i++) {
        pid_t pid = fork();
        if (pid == 0)
            be_child(i % KINDS);
        if (!wait_for(pid)) {
            printf("a child of kind %d failed\n", i % KINDS);
            failures++;
        }
    }
    done = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%d of %d children did their work\n", forks - failures, forks);
    return failures != 0;
}
