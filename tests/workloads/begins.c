/* SPDX-License-Identifier: Apache-2.0 */
/*
 * begins.c FOLDER - burns in burn_main, with a marker each time, until there is a file FOLDER/end.
 * When there is FOLDER/begin, a thread and a forked child begin that do the same, in burn_thread
 * and burn_child; they make the files FOLDER/thread and FOLDER/child when they have burnt for a
 * while. Prints a line of JSON: CPU seconds of the process and of the child.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kymo/marker.h"
#include "workload.h"

#define STEP_NS 2000000u
#define STEPS 25u

KYMO_CATEGORY(begins_category, "Begins", GREEN);

DEFINE_BURN(burn_main, 201)
DEFINE_BURN(burn_thread, 202)
DEFINE_BURN(burn_child, 203)

static const char *folder;

static char *path_of(char path[512], const char *name)
{
    snprintf(path, 512, "%s/%s", folder, name);
    return path;
}

static int is_there(const char *name)
{
    char path[512];
    return access(path_of(path, name), F_OK) == 0;
}

static void make(const char *name)
{
    char path[512];
    int fd = open(path_of(path, name), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    must(fd >= 0, name);
    close(fd);
}

static void burn_until_end(burn_function *burn, const char *name)
{
    for (unsigned i = 0; !is_there("end"); i++) {
        KYMO_MARKER(begins_category, "step");
        burn_ns(burn, STEP_NS);
        if (i == STEPS)
            make(name);
    }
}

static void *run_thread(void *unused)
{
    burn_until_end(burn_thread, "thread");
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    struct timespec child_cpu = {0, 0};
    folder = argc > 1 ? argv[1] : ".";
    while (!is_there("begin"))
        burn_ns(burn_main, STEP_NS);
    must(pthread_create(&thread, NULL, run_thread, NULL) == 0, "pthread_create");
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        burn_until_end(burn_child, "child");
        _exit(0);
    }
    burn_until_end(burn_main, "main");
    siginfo_t info;
    clockid_t clock;
    must(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0, "waitid");
    if (clock_getcpuclockid(child, &clock) == 0)
        clock_gettime(clock, &child_cpu);
    must(waitpid(child, NULL, 0) == child, "waitpid");
    pthread_join(thread, NULL);
    printf("{\"cpu\":%.6f,\"child\":%.6f}\n", (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9,
           (double)child_cpu.tv_sec + (double)child_cpu.tv_nsec / 1e9);
    fflush(stdout);
    return 0;
}
