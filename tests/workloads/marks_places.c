/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks_places.c - markers where it is hard: in signal handlers that interrupt markers, in forked
 * children, in libraries that are unloaded, in threads and processes that end with scopes open.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "marks.h"

/* ---- handlers: the main thread and a handler that interrupts it make numbered markers ---- */

static volatile uint32_t handled;

static void on_alarm(int number)
{
    (void)number;
    uint32_t i = handled;
    KYMO_SCOPE(plain, "in handler");
    KYMO_MARKER_T(plain, "numbered", numbered, .stream = 1, .number = i,
                  .check = NUMBERED_CHECK(1, i));
    KYMO_MARKER_TEXT(plain, "handler's text", "some text");
    KYMO_LABEL_SCOPE("handler", i);
    handled = i + 1;
}

void marks_handlers(uint32_t count)
{
    char stack[64 * 1024]; /* on the own one, as many programs have it */
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
    must(sigaltstack(&alternate, NULL) == 0, "sigaltstack");
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART | SA_ONSTACK};
    must(sigaction(SIGALRM, &action, NULL) == 0, "sigaction");
    struct itimerval every = {{0, 200}, {0, 200}};
    must(setitimer(ITIMER_REAL, &every, NULL) == 0, "setitimer");
    uint32_t made = 0;
    while (handled < count) {
        KYMO_SCOPE(plain, "in main");
        KYMO_MARKER_T(plain, "numbered", numbered, .stream = 0, .number = made,
                      .check = NUMBERED_CHECK(0, made));
        made++;
        /* Not faster than anybody can read. */
        for (volatile int i = 0; i < 2000; i++)
            ;
    }
    must(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL) == 0, "setitimer");
    printf("{\"streams\":[%u,%u]}\n", made, handled);
}

/* ---- fork: a child marks at once, and its child, and the parent goes on ---- */

DEFINE_BURN(burn_some, 4)

static void wait_for(pid_t pid)
{
    int status;
    must(waitpid(pid, &status, 0) == pid && status == 0, "child");
}

void marks_fork(void)
{
    KYMO_MARKER_T(plain, "numbered", numbered, .stream = 0, .number = 0);
    fflush(stdout);
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        KYMO_MARKER_T(plain, "numbered", numbered, .stream = 1, .number = 0);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            KYMO_SCOPE(plain, "in the grandchild");
            KYMO_MARKER_T(plain, "numbered", numbered, .stream = 2, .number = 0);
            burn_ns(burn_some, 5000000);
            KYMO_MARKER_T(plain, "numbered", numbered, .stream = 2, .number = 1);
        } else {
            must(grandchild > 0, "fork");
            wait_for(grandchild);
            burn_ns(burn_some, 5000000);
            KYMO_MARKER_T(plain, "numbered", numbered, .stream = 1, .number = 1);
        }
        return;
    }
    wait_for(child);
    KYMO_MARKER_T(plain, "numbered", numbered, .stream = 0, .number = 1);
    printf("{\"streams\":[2,2,2]}\n");
}

/* ---- labels_fork: children of threads that have labels; what each child marks, by its name ----
 */

static void mark_labelled(const char *name)
{
    KYMO_MARKER_OPT(plain, "labelled", KYMO_OPTIONS(.name = name));
}

/* It leaves the inner label before anything of it is recorded. */
static void fork_at_once(void)
{
    pid_t child;
    {
        KYMO_LABEL_SCOPE("inner", "left");
        child = fork();
        must(child >= 0, "fork");
    }
    if (child == 0)
        mark_labelled("left");
    else
        wait_for(child);
    if (child == 0)
        _exit(0);
}

static void *fork_in_labels(void *unused)
{
    (void)unused;
    KYMO_LABEL_SCOPE("request_id", 17);
    KYMO_LABEL_SET("phase", "set");
    fork_at_once();
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        /* Where many want the CPU, it is recorded a while after it began. */
        burn_ns(burn_some, 200000000);
        mark_labelled("child");
        KYMO_LABEL_SCOPE("user", "ann");
        pid_t grandchild = fork();
        must(grandchild >= 0, "fork");
        if (grandchild == 0)
            mark_labelled("grandchild");
        else
            wait_for(grandchild);
        _exit(0);
    }
    KYMO_LABEL_CLEAR("phase");
    wait_for(child);
    mark_labelled("parent");
    return NULL;
}

void marks_labels_fork(void)
{
    pthread_t thread;
    KYMO_LABEL_SCOPE("request_id", 1);
    must(pthread_create(&thread, NULL, fork_in_labels, NULL) == 0, "pthread_create");
    must(pthread_join(thread, NULL) == 0, "pthread_join");
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        mark_labelled("main's child");
        _exit(0);
    }
    wait_for(child);
    printf("{}\n");
}

/* ---- plugins: two libraries take turns in memory, often at the same addresses ---- */

void marks_plugins(uint32_t count)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
    must(n > 0, "readlink");
    path[n] = '\0';
    char *folder_end = strrchr(path, '/');
    for (uint32_t i = 0; i < count; i++) {
        strcpy(folder_end, i % 2 ? "/plugins/mark_late.so" : "/plugins/mark_early.so");
        void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        must(plugin != NULL, "dlopen");
        void (*work)(uint32_t);
        *(void **)&work = dlsym(plugin, "plugin_mark");
        must(work != NULL, "dlsym");
        work(i / 2);
        must(dlclose(plugin) == 0, "dlclose");
    }
    printf("{\"early\":%u,\"late\":%u}\n", (count + 1) / 2, count / 2);
}

/* ---- killed: three scopes are open ---- */

static KEPT void third(void)
{
    KYMO_SCOPE(plain, "third");
    KYMO_SCOPE_T(plain, "fourth", numbered, payload);
    payload.stream = 1; /* no recorder sees it */
    raise(SIGKILL);
}

void marks_killed(void)
{
    KYMO_SCOPE(plain, "first");
    {
        KYMO_SCOPE(plain, "ended");
    }
    KYMO_SCOPE(part, "second");
    printf("{\"open\":[\"first\",\"second\",\"third\",\"fourth\"],\"before\":%llu}\n",
           (unsigned long long)clock_ns(CLOCK_MONOTONIC));
    fflush(stdout);
    third();
}

/* ---- thread_ends: in the middle of a scope, without unwinding it ---- */

static void *end_in_scope(void *unused)
{
    KYMO_SCOPE(plain, "thread's");
    KYMO_MARKER(plain, "last words");
    pthread_exit(unused);
}

void marks_thread_ends(void)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, end_in_scope, NULL) == 0, "pthread_create");
    pthread_join(thread, NULL);
    KYMO_MARKER(plain, "goes on");
    printf("{\"open\":[\"thread's\"]}\n");
}
