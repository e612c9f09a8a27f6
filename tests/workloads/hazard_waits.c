/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hazard_waits.c - calls that a signal ends with EINTR, whatever SA_RESTART says, in functions
 * whose frames have no fixed size: their callers are not found without the frame pointer.
 *
 * There are as many threads as ways, and each waits from its beginning on, since it is not known
 * then where it is going to be.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hazards.h"
#include "workload.h"

enum { PAUSED_CHILDREN = 20, WAITS_MS = 150, WAITS = 6 };

static const struct timespec wait_time = {0, WAITS_MS * 1000000};
static atomic_int ended_early;

/* Each is a function without a frame to speak of, so that no callee saves the frame pointer. */
static KEPT void note(long result)
{
    if (result != 0)
        atomic_fetch_add(&ended_early, 1);
}

static KEPT void wait_nanosleep(int unused)
{
    (void)unused;
    note(nanosleep(&wait_time, NULL));
}

static KEPT void wait_clock(int unused)
{
    (void)unused;
    note(clock_nanosleep(CLOCK_MONOTONIC, 0, &wait_time, NULL));
}

static KEPT void wait_poll(int unused)
{
    (void)unused;
    note(poll(NULL, 0, WAITS_MS));
}

static KEPT void wait_select(int unused)
{
    struct timeval time = {0, WAITS_MS * 1000};
    (void)unused;
    note(select(0, NULL, NULL, NULL, &time));
}

static KEPT void wait_epoll(int fd)
{
    struct epoll_event event;
    note(epoll_wait(fd, &event, 1, WAITS_MS));
}

static KEPT void wait_semaphore(int set)
{
    struct sembuf down = {0, -1, 0};
    /* EAGAIN when the time is over; there may be no such semaphores. */
    note(semtimedop(set, &down, 1, &wait_time) < 0 && errno == EINTR);
}

static KEPT void wait_pause(int unused)
{
    (void)unused;
    note(pause() < 0);
}

struct waiter {
    void (*wait)(int);
    int argument;
};

static KEPT void in_variable_frame(const struct waiter *w, size_t size)
{
    volatile char *frame = __builtin_alloca(size);
    frame[0] = 1;
    w->wait(w->argument);
    frame[1] = 1;
}

static void *wait_so(void *waiter)
{
    for (int i = 0; i < 3; i++)
        in_variable_frame(waiter, 5000 + 3000 * (size_t)i + (size_t)(burnt & 1));
    return NULL;
}

/* Each pauses at once, and is ended. A thread that returns from pause says so. */
static int paused_children(void)
{
    pid_t children[PAUSED_CHILDREN];
    int wrong = 0;
    for (int i = 0; i < PAUSED_CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            execl("/proc/self/exe", "hazards", "waits", "pause", (char *)NULL);
            _exit(3);
        }
    }
    usleep(WAITS_MS * 4000);
    for (int i = 0; i < PAUSED_CHILDREN; i++) {
        int status = 0;
        kill(children[i], SIGTERM);
        must(waitpid(children[i], &status, 0) == children[i], "waitpid");
        wrong += !WIFSIGNALED(status);
    }
    return wrong;
}

int hazard_waits(int argc, char **argv)
{
    pthread_t threads[WAITS];
    int set = semget(IPC_PRIVATE, 1, 0600);
    struct waiter waiters[WAITS] = {{wait_nanosleep, 0},
                                    {wait_clock, 0},
                                    {wait_poll, 0},
                                    {wait_select, 0},
                                    {wait_epoll, epoll_create1(0)},
                                    {wait_semaphore, set}};
    if (argc > 1 && strcmp(argv[1], "pause") == 0) {
        const struct waiter w = {wait_pause, 0};
        in_variable_frame(&w, 5000 + (size_t)(burnt & 1));
        return 1;
    }
    for (int i = 0; i < WAITS; i++)
        must(pthread_create(&threads[i], NULL, wait_so, &waiters[i]) == 0, "pthread_create");
    for (int i = 0; i < WAITS; i++)
        pthread_join(threads[i], NULL);
    if (set >= 0)
        semctl(set, 0, IPC_RMID);
    int returned = paused_children();
    printf("%d calls ended early, %d of %d children came back from pause\n", (int)ended_early,
           returned, PAUSED_CHILDREN);
    return 0;
}
