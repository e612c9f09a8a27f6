/* SPDX-License-Identifier: Apache-2.0 */
/*
 * left_alone.c - counts the system calls that are interrupted where Kymo has no reason to.
 * Exit status 1 if there are more than are allowed.
 *
 *   left_alone raw     a thread of clone, without thread-local storage of its own: nothing of ours
 *                      can run on it, so asking it again and again is no use
 *   left_alone exec    the same executable once more, by exec: it is not the one that is recorded
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SLEEPS = 12, SLEEP_NS = 100000000 };

static volatile int interrupted;
static volatile int done;
static volatile sig_atomic_t signals;

/* No errno: the thread of clone has none of its own. */
static long sleep_a_little(void)
{
    struct timespec t = {.tv_nsec = SLEEP_NS};
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_nanosleep), "D"(&t), "S"(0l)
                     : "rcx", "r11", "memory");
    return result;
}

static int sleeper(void *argument)
{
    (void)argument;
    for (int i = 0; i < SLEEPS; i++)
        if (sleep_a_little() == -EINTR)
            interrupted++;
    done = 1;
    return 0;
}

static void *sleeping_thread(void *argument)
{
    sleeper(argument);
    return NULL;
}

static void count(int signo)
{
    (void)signo;
    signals++;
}

static int raw(void)
{
    static char stack[65536] __attribute__((aligned(16)));
    if (clone(sleeper, stack + sizeof stack,
              CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
              NULL) < 0)
        return 2;
    while (!done)
        sleep_a_little();
    printf("interrupted %d times\n", interrupted);
    return interrupted > 2;
}

static int next_image(void)
{
    pthread_t thread;
    signal(SIGURG, count);
    if (pthread_create(&thread, NULL, sleeping_thread, NULL) != 0)
        return 2;
    pthread_join(thread, NULL);
    printf("interrupted %d times, %d signals\n", interrupted, (int)signals);
    return interrupted != 0 || signals != 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "raw") == 0)
        return raw();
    if (argc == 2 && strcmp(argv[1], "next") == 0)
        return next_image();
    if (argc != 2 || strcmp(argv[1], "exec") != 0)
        return 2;
    execl("/proc/self/exe", argv[0], "next", (char *)NULL);
    return 2;
}
