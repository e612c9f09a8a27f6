/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exits.c return|exit|_exit|quick_exit|abort|sigkill|segv|pthread_exit|exec|again - burns 0.3 s of
 * CPU time in burn_before_the_end and ends in that way. With pthread_exit it is the main thread
 * that ends first; another burns as much again in burn_after_main and ends the process. With
 * "again" it becomes itself once more, to return. Prints one line of JSON when a function has
 * burned: its CPU seconds, and those of the process when main began and now.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "workload.h"

DEFINE_BURN(burn_before_the_end, 13)
DEFINE_BURN(burn_after_main, 17)

enum { BURN_NS = 300000000 };

static double began_s;

static double process_cpu_s(void)
{
    return (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

static void burn_long(burn_function *burn, const char *name)
{
    double burnt_s = (double)burn_ns(burn, BURN_NS) / 1e9;
    printf("{\"function\":\"%s\",\"burnt\":%.6f,\"began\":%.6f,\"now\":%.6f}\n", name, burnt_s,
           began_s, process_cpu_s());
    fflush(stdout);
}

static void end_return(void)
{
}

static void end_exit(void)
{
    exit(7);
}

static void end_now(void)
{
    _exit(7);
}

static void end_quickly(void)
{
    quick_exit(7);
}

static void end_killed(void)
{
    kill(getpid(), SIGKILL);
    pause();
}

static void end_segv(void)
{
    /* Not undefined behaviour, which a compiler might spare us, but a page without read access. */
    long page = sysconf(_SC_PAGESIZE);
    char *low = (char *)(uintptr_t)(page / 2);
    __asm__ volatile("movb $0, (%0)" : : "r"(low) : "memory");
}

static void *outlive_main(void *main_thread)
{
    pthread_join(*(pthread_t *)main_thread, NULL);
    burn_long(burn_after_main, "burn_after_main");
    puts("the last thread ends");
    return NULL;
}

static void end_main_thread(void)
{
    static pthread_t self;
    pthread_t other;
    self = pthread_self();
    must(pthread_create(&other, NULL, outlive_main, &self) == 0, "pthread_create");
    pthread_exit(NULL);
}

static void end_exec(void)
{
    execl("/bin/echo", "echo", "another image", (char *)NULL);
}

static void end_again(void)
{
    execl("/proc/self/exe", "exits", "return", (char *)NULL);
}

int main(int argc, char **argv)
{
    began_s = process_cpu_s();
    static const struct {
        const char *name;
        void (*end)(void);
    } ways[] = {
        {"return", end_return}, {"exit", end_exit},
        {"_exit", end_now},     {"quick_exit", end_quickly},
        {"abort", abort},       {"sigkill", end_killed},
        {"segv", end_segv},     {"pthread_exit", end_main_thread},
        {"exec", end_exec},     {"again", end_again},
    };
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(argv[1], ways[i].name) != 0)
            continue;
        burn_long(burn_before_the_end, "burn_before_the_end");
        ways[i].end();
        return 0;
    }
    fprintf(stderr, "usage: exits "
                    "return|exit|_exit|quick_exit|abort|sigkill|segv|pthread_exit|exec|again\n");
    return 2;
}
