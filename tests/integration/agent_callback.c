/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_callback.c MODE SETTINGS KYMO FOLDER [FORMAT] - a program that is given its own profiles.
 * Prints a line of JSON for each, which it copies to FOLDER/NUMBER, and one at its end. MODE says
 * what the callback does: ok; change: the same, with another label from the third profile on;
 * again: it fails for the first; refuse: it wants none; slow: the first takes until the program has
 * worked; hang: it does not return before the stop has.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "../workloads/workload.h"
#include "kymo/agent.h"

DEFINE_BURN(in_program, 149)

#define SHARE_NS 1000000000u
#define PARTS 4

static const char *mode, *folder;
static atomic_int tries, is_released;
static pthread_t main_thread;

/* As for a fault that never comes: too small for a handler. */
static char small_stack[2048];

static int is(const char *name)
{
    return strcmp(mode, name) == 0;
}

static void copy(const kymo_agent_profile *p)
{
    char path[4096];
    off_t at = 0;
    snprintf(path, sizeof path, "%s/%llu", folder, (unsigned long long)p->number);
    int to = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    must(to >= 0, path);
    while ((uint64_t)at < p->bytes)
        must(sendfile(to, p->fd, &at, p->bytes - (uint64_t)at) > 0, "sendfile");
    close(to);
}

static kymo_err report(void *data, const kymo_agent_profile *p)
{
    sigset_t mask;
    must(data == &tries, "data");
    must(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0, "pthread_sigmask");
    const int turn = tries++;
    printf("{\"number\":%llu,\"last\":%u,\"format\":\"%s\",\"bytes\":%llu,\"lost\":%llu,"
           "\"ms\":%llu,\"interval_ms\":%llu,\"metadata\":%s,\"blocked\":%d,\"own\":%d,"
           "\"writes\":%d,\"program\":\"%s\",\"is_self\":%d}\n",
           (unsigned long long)p->number, p->is_last, p->format, (unsigned long long)p->bytes,
           (unsigned long long)p->lost_records,
           (unsigned long long)(p->end_ns - p->start_ns) / 1000000,
           (unsigned long long)p->interval_ns / 1000000, p->metadata,
           sigismember(&mask, SIGTERM) && sigismember(&mask, SIGURG),
           !pthread_equal(pthread_self(), main_thread), (int)write(p->fd, "x", 1), p->program,
           p->pid == getpid());
    if (is("refuse"))
        return KYMO_E_INVALID;
    if (is("again") && turn == 0)
        return KYMO_E_IO;
    while (!is_released && ((is("slow") && turn == 0) || is("hang")))
        usleep(1000);
    copy(p);
    return KYMO_OK;
}

static int count_threads(void)
{
    int n = -2; /* . and .. */
    DIR *dir = opendir("/proc/self/task");
    must(dir != NULL, "/proc/self/task");
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void change(kymo_agent *agent)
{
    kymo_error why = {.code = KYMO_OK};
    kymo_err err = kymo_agent_reconfigure(agent, "report=30m,label=team=red", &why);
    must(err == KYMO_OK, why.message);
    err = kymo_agent_reconfigure(agent, "label=team=green,listen=9", &why);
    must(err == KYMO_E_UNSUPPORTED && strstr(why.message, "listen"), why.message);
}

int main(int argc, char **argv)
{
    must(argc > 4, "arguments");
    mode = argv[1];
    folder = argv[4];
    main_thread = pthread_self();
    setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    must(sigaltstack(&(stack_t){.ss_sp = small_stack, .ss_size = sizeof small_stack}, NULL) == 0,
         "sigaltstack");
    kymo_agent *agent;
    kymo_error why = {.code = KYMO_OK};
    kymo_agent_status s = {.size = sizeof s};
    const kymo_agent_options options = {
        .size = sizeof options,
        .settings = argv[2],
        .kymo = argv[3],
        .data = &tries,
        .report = report,
        .report_format = argc > 5 ? argv[5] : NULL,
    };
    kymo_err err = kymo_agent_start(&options, &agent, &why);
    must(err == KYMO_OK, why.message);
    uint64_t burnt_ns = 0;
    for (int i = 0; i < PARTS; i++) {
        if (is("change") && i == 2)
            change(agent);
        burnt_ns += burn_ns(in_program, SHARE_NS / PARTS);
        /* A profile of each part, wherever its intervals end. */
        must(kymo_agent_flush(agent) == KYMO_OK, "flush");
        do {
            usleep(10000);
            must(kymo_agent_get_status(agent, &s) == KYMO_OK, "status");
        } while (s.intervals < (uint64_t)i + 1);
    }
    is_released = is("slow");
    err = kymo_agent_stop(agent, is("hang") ? 500000000u : 60000000000u, &s);
    printf("{\"stop\":%d,\"intervals\":%llu,\"delivered\":%llu,\"failures\":%llu,\"dropped\":%llu,"
           "\"reason\":\"%s\",\"in_program\":%.6f}\n",
           err, (unsigned long long)s.intervals, (unsigned long long)s.delivered,
           (unsigned long long)s.failures, (unsigned long long)s.dropped, s.reason,
           (double)burnt_ns / 1e9);
    is_released = 1;
    for (int i = 0; i < 6000 && count_threads() > 1; i++)
        usleep(10000);
    must(count_threads() == 1, "a thread is left");
    return 0;
}
