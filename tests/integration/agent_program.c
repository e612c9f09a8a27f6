/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_program.c MODE SETTINGS [KYMO [MS]] - a program that starts the agent that records it.
 * Prints what each call returned, and at the end the CPU seconds in a thread that ran before, in
 * the main thread, and in a thread that began later, all between start and stop: MS milliseconds
 * each, 100 without it.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../workloads/workload.h"
#include "kymo/agent.h"

DEFINE_BURN(before_start, 103)
DEFINE_BURN(in_main, 107)
DEFINE_BURN(in_older, 109)
DEFINE_BURN(in_newer, 113)
DEFINE_BURN(after_stop, 127)

static atomic_int has_started;
static volatile sig_atomic_t children; /* SIGCHLDs */
static uint64_t share_ns, older_ns, newer_ns, main_ns;

static void on_child(int signo)
{
    (void)signo;
    children = children + 1;
}

static void *older(void *unused)
{
    (void)burn_ns(before_start, 100000000);
    while (!has_started)
        usleep(1000);
    older_ns = burn_ns(in_older, share_ns);
    return unused;
}

static void *newer(void *unused)
{
    newer_ns = burn_ns(in_newer, share_ns);
    return unused;
}

static void on_end(void *data, const kymo_agent_status *status)
{
    *(int *)data += 1;
    printf("\"ended\":%u,", status->state);
}

/* As a container's filter may do it. */
static void forbid_clone(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0, "seccomp");
}

static void work(void)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, newer, NULL) == 0, "pthread_create");
    main_ns += burn_ns(in_main, share_ns);
    must(pthread_join(thread, NULL) == 0, "pthread_join");
}

static void print_status(kymo_agent *agent)
{
    kymo_agent_status s = {.size = sizeof s};
    kymo_err err = kymo_agent_get_status(agent, &s);
    printf("\"status\":%d,\"state\":%u,\"delivered\":%llu,", err, s.state,
           (unsigned long long)s.delivered);
}

/* An interval without samples makes no profile, and on a busy machine the first one may have none:
 * then the next one is flushed. So one profile is delivered. */
static void flush_until_delivered(kymo_agent *agent)
{
    kymo_agent_status s = {.size = sizeof s};
    uint64_t empty = 0;
    printf("\"flush\":%d,", kymo_agent_flush(agent));
    while (kymo_agent_get_status(agent, &s) == KYMO_OK && s.delivered == 0) {
        usleep(10000);
        if (s.empty == empty)
            continue;
        empty = s.empty;
        main_ns += burn_ns(in_main, 20000000);
        (void)kymo_agent_flush(agent);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    const int is_killed = strcmp(mode, "kill") == 0;
    static int ends;
    kymo_agent *agent = NULL, *other = NULL;
    kymo_error detail = {.code = KYMO_OK};
    kymo_agent_options options = {.size = sizeof options,
                                  .settings = argc > 2 ? argv[2] : NULL,
                                  .kymo = argc > 3 ? argv[3] : NULL,
                                  .on_end = on_end,
                                  .data = &ends};
    pthread_t thread;
    share_ns = (uint64_t)(number_argument(argc, argv, 4, 100) * 1e6);
    signal(SIGCHLD, on_child);
    must(pthread_create(&thread, NULL, older, NULL) == 0, "pthread_create");
    (void)burn_ns(before_start, 100000000);
    if (strcmp(mode, "filter") == 0)
        forbid_clone();
    kymo_err err = kymo_agent_start(&options, &agent, &detail);
    printf("{\"start\":%d,\"why\":\"%s\",", err, detail.message);
    has_started = 1;
    if (agent)
        printf("\"again\":%d,", kymo_agent_start(&options, &other, NULL));
    if (agent && strcmp(mode, "flush") == 0)
        flush_until_delivered(agent);
    work();
    must(pthread_join(thread, NULL) == 0, "pthread_join");
    if (agent)
        print_status(agent);
    if (is_killed)
        raise(SIGKILL);
    if (agent && strcmp(mode, "lose") == 0) {
        /* The test kills the agent now. */
        printf("\"ready\":1,");
        fflush(stdout);
        while (kymo_agent_dispatch(agent) == KYMO_AGENT_RUNNING)
            usleep(10000);
    }
    if (agent && strcmp(mode, "detach") == 0) {
        kymo_agent_detach(agent);
    } else if (agent) {
        printf("\"stop\":%d,", kymo_agent_stop(agent, 60000000000u, NULL));
        if (strcmp(mode, "stop") == 0) {
            options.on_end = NULL;
            err = kymo_agent_start(&options, &other, NULL);
            printf("\"later\":%d,", err);
            if (err == KYMO_OK)
                must(kymo_agent_stop(other, 60000000000u, NULL) == KYMO_OK, "the second stop");
        }
        (void)burn_ns(after_stop, 100000000);
    }
    int found = (int)waitpid(-1, NULL, WNOHANG);
    printf("\"child\":%d,\"sigchld\":%d,\"ends\":%d,", found, (int)children, ends);
    printf("\"in_main\":%.6f,\"in_older\":%.6f,\"in_newer\":%.6f}\n", (double)main_ns / 1e9,
           (double)older_ns / 1e9, (double)newer_ns / 1e9);
    return 0;
}
