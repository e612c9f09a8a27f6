/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_bench.c PRELOAD RUNS PROGRAM [ARG...] - what it costs a program to start and end under
 * Kymo: the CPU time of the whole process by wait4, so with all that the kernel does at its birth
 * and after its last instruction. Alone, with the library but no recorder to attach to, and
 * recorded by each engine, in turn. Prints one line of JSON with the CPU time of every run in
 * microseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/launch.h"

#define SPOOL "/tmp/kymo-start-bench-XXXXXX"

enum { MOST_RUNS = 10000, KINDS = 4 };

static double us[KINDS][MOST_RUNS];
static double recorder_us[MOST_RUNS];

static double self_us(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* The program as it is, or with the library preloaded. Forked as the recorder does it. */
static int run_plain(char **argv, const char *preload, double *cpu_us)
{
    struct rusage u;
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (preload)
            setenv("LD_PRELOAD", preload, 1);
        execvp(argv[0], argv);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &u) != pid || status != 0)
        return 0;
    *cpu_us = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
              (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    return 1;
}

static int run_recorded(kymo_launch_options *launch, double *cpu_us)
{
    kymo_launch_result result;
    kymo_error detail = {0};
    if (kymo_launch(launch, &result, &detail) != KYMO_OK || result.wait_status != 0) {
        fprintf(stderr, "start_bench: %s\n", detail.message);
        return 0;
    }
    *cpu_us = (double)result.cpu_ns / 1e3;
    return 1;
}

static void print_runs(const char *name, const double *values, int runs)
{
    printf("\"%s\":[", name);
    for (int i = 0; i < runs; i++)
        printf("%s%.0f", i ? "," : "", values[i]);
    printf("]");
}

int main(int argc, char **argv)
{
    static const char *const names[KINDS] = {"alone", "preloaded", "timer", "perf"};
    int runs = argc > 3 ? atoi(argv[2]) : 0;
    if (runs < 1 || runs > MOST_RUNS) {
        fprintf(stderr, "usage: start_bench PRELOAD RUNS PROGRAM [ARG...]\n");
        return 2;
    }
    char spool[] = SPOOL;
    int fd = mkstemp(spool);
    if (fd < 0) {
        perror(spool);
        return 1;
    }
    kymo_options timer, perf;
    kymo_options_init(&timer);
    kymo_options_init(&perf);
    timer.engine = KYMO_ENGINE_TIMER;
    perf.engine = KYMO_ENGINE_PERF;
    kymo_launch_options launch = {
        .argv = argv + 3, .spool = fd, .preload_path = argv[1], .quiet = 1};
    int perf_works = 1, ok = 1;
    for (int i = 0; i < runs && ok; i++) {
        ok = run_plain(argv + 3, NULL, &us[0][i]) && run_plain(argv + 3, argv[1], &us[1][i]);
        double before_us = self_us();
        launch.options = &timer;
        ok = ok && run_recorded(&launch, &us[2][i]);
        recorder_us[i] = self_us() - before_us;
        launch.options = &perf;
        if (ok && perf_works && !run_recorded(&launch, &us[3][i])) {
            perf_works = i > 0;
            ok = !perf_works;
        }
    }
    unlink(spool);
    if (!ok)
        return 1;
    printf("{");
    for (int k = 0; k < KINDS - !perf_works; k++) {
        print_runs(names[k], us[k], runs);
        printf(",");
    }
    print_runs("recorder", recorder_us, runs);
    printf("}\n");
    return 0;
}
