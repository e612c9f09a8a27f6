/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_rounds.c ROUNDS SETTINGS KYMO [kill] - starts an agent and stops it, again and again, while
 * threads work: two that live all along, and one of each round. Prints a line of JSON for each
 * round, with the CPU time in in_round between start and stop, and what is left in the process
 * after it. With markers of its own it is another program (AGENT_ROUNDS_MARKS): each share of a
 * round makes MARKS of them in a scope with a label, and what is between rounds makes some, too.
 * kill: each agent is killed instead, and what it leaves is found by the next start.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../workloads/workload.h"
#include "kymo/agent.h"
#ifdef AGENT_ROUNDS_MARKS
#include "kymo/marker.h"

KYMO_CATEGORY(rounds_category, "Rounds", GREEN);
KYMO_COUNTER(rounds_done, rounds_category, "Rounds done", TOTAL, NULL, GREEN);
#endif

DEFINE_BURN(in_round, 131)
DEFINE_BURN(between_rounds, 137)
DEFINE_BURN(in_child, 139)

#define WORKERS 2
#define SHARE_NS 100000000u
#define CHILD_NS 30000000u
#define BETWEEN_NS 10000000u

#define MARKS 1000

static pthread_barrier_t barrier;
static atomic_ullong round_ns;
static atomic_int is_over;

static void meet(void)
{
    int result = pthread_barrier_wait(&barrier);
    must(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD, "barrier");
}

static void mark(const char *where)
{
#ifdef AGENT_ROUNDS_MARKS
    KYMO_LABEL_SCOPE("where", where);
    KYMO_SCOPE(rounds_category, "Share");
    for (int i = 0; i < MARKS; i++) {
        KYMO_MARKER(rounds_category, "Instant");
        KYMO_MARKER_TEXT(rounds_category, "Text", where);
    }
    KYMO_COUNT(rounds_done, 1);
#else
    (void)where;
#endif
}

static void *guest(void *unused)
{
    mark("round");
    round_ns += burn_ns(in_round, SHARE_NS);
    return unused;
}

/* The barrier: the agent runs; all have worked; it has ended; all have worked again. */
static void *worker(void *unused)
{
    for (;;) {
        meet();
        if (is_over)
            return unused;
        mark("round");
        round_ns += burn_ns(in_round, SHARE_NS);
        meet();
        meet();
        mark("between");
        (void)burn_ns(between_rounds, BETWEEN_NS);
        meet();
    }
}

static void fork_one(void)
{
    int status;
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0) {
        (void)burn_ns(in_child, CHILD_NS);
        mark("child");
        _exit(0);
    }
    must(waitpid(pid, &status, 0) == pid && status == 0, "waitpid");
}

static unsigned count_entries(const char *folder)
{
    unsigned n = 0;
    DIR *dir = opendir(folder);
    must(dir != NULL, folder);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* -1: there is no such file. */
static int count_lines(const char *path)
{
    int n = 0;
    FILE *f = fopen(path, "r");
    if (!f)
        return -1;
    for (int c; (c = getc(f)) != EOF;)
        n += c == '\n';
    fclose(f);
    return n;
}

static unsigned long resident_pages(void)
{
    unsigned long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    must(f && fscanf(f, "%lu %lu", &size, &resident) == 2, "statm");
    fclose(f);
    return resident;
}

static int has_default_action(int signo)
{
    struct sigaction now;
    must(sigaction(signo, NULL, &now) == 0, "sigaction");
    return now.sa_handler == SIG_DFL;
}

static pid_t agent_of(const char *name)
{
    pid_t found = 0;
    DIR *proc = opendir("/proc");
    must(proc != NULL, "/proc");
    for (const struct dirent *e; (e = readdir(proc));) {
        char path[300];
        snprintf(path, sizeof path, "/proc/%s/environ", e->d_name);
        FILE *f = atoi(e->d_name) > 0 ? fopen(path, "r") : NULL;
        char *text = NULL;
        size_t cap = 0;
        while (f && !found && getdelim(&text, &cap, 0, f) > 0)
            if (strncmp(text, "KYMO_OPTIONS=", 13) == 0 && strstr(text, name))
                found = atoi(e->d_name);
        free(text);
        if (f)
            fclose(f);
        if (found && found != getpid())
            break;
        found = 0;
    }
    closedir(proc);
    return found;
}

static void end_round(kymo_agent *agent, const char *settings, int is_killed)
{
    if (!is_killed) {
        printf("\"stop\":%d,", kymo_agent_stop(agent, 60000000000u, NULL));
        return;
    }
    pid_t pid = agent_of(settings);
    must(pid > 0 && kill(pid, SIGKILL) == 0, "kill");
    while (kill(pid, 0) == 0)
        usleep(1000);
    /* Every second time the program has let go of it before. */
    static int turn;
    if (turn++ % 2)
        kymo_agent_detach(agent);
    else
        printf("\"stop\":%d,", kymo_agent_stop(agent, 0, NULL));
}

int main(int argc, char **argv)
{
    must(argc > 3, "arguments");
    const int rounds = atoi(argv[1]);
    const int is_killed = argc > 4;
    const kymo_agent_options options = {
        .size = sizeof options, .settings = argv[2], .kymo = argv[3]};
    pthread_t threads[WORKERS], once;
    setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    must(pthread_barrier_init(&barrier, NULL, WORKERS + 1) == 0, "barrier");
    for (int i = 0; i < WORKERS; i++)
        must(pthread_create(&threads[i], NULL, worker, NULL) == 0, "pthread_create");
    for (int i = 0; i < rounds; i++) {
        kymo_agent *agent = NULL;
        kymo_error why = {.code = KYMO_OK};
        round_ns = 0;
        kymo_err err = kymo_agent_start(&options, &agent, &why);
        must(err == KYMO_OK, why.message);
        meet();
        must(pthread_create(&once, NULL, guest, NULL) == 0, "pthread_create");
        fork_one();
        must(pthread_join(once, NULL) == 0, "pthread_join");
        meet();
        printf("{\"in_round\":%.6f,", (double)round_ns / 1e9);
        end_round(agent, argv[2], is_killed);
        printf("\"timers\":%d,\"files\":%u,\"threads\":%u,\"maps\":%d,\"pages\":%lu,"
               "\"default\":%d}\n",
               count_lines("/proc/self/timers"), count_entries("/proc/self/fd"),
               count_entries("/proc/self/task"), count_lines("/proc/self/maps"), resident_pages(),
               has_default_action(SIGURG));
        meet();
        meet();
    }
    is_over = 1;
    meet();
    for (int i = 0; i < WORKERS; i++)
        must(pthread_join(threads[i], NULL) == 0, "pthread_join");
    return 0;
}
