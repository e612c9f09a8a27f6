/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.c - see spawn.h.
 *
 * The process in between is made by clone without a signal, shares the program's memory as vfork's
 * child does, and makes raw system calls only; so does its child until exec.
 */
#include "start/spawn.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "buffer/agent_report.h"
#include "sys/clock.h"
#include "sys/raw.h"

#define STACK_BYTES 65536u
#define START_PATIENCE_NS 10000000000ull
#define LINK_FD 3

struct spawning {
    const char *kymo;
    char *const *argv;
    char *const *env;
    int link;    /* the agent's end */
    int reports; /* the same of buffer/agent_report.h; -1: none */
    int null;    /* /dev/null */
    int error;   /* errno of what failed; the memory is shared */
};

/* From the folder of the library: LIBDIR or LIBDIR/kymo, where LIBDIR is lib or
 * lib/x86_64-linux-gnu; a build tree. */
static const char *const places[] = {"/../bin/kymo", "/../../bin/kymo", "/../../../bin/kymo",
                                     "/../cli/kymo"};

kymo_err kymo_spawn_find(const void *inside, char out[PATH_MAX])
{
    Dl_info info;
    char path[PATH_MAX];
    if (!dladdr(inside, &info) || !info.dli_fname || !realpath(info.dli_fname, path))
        return KYMO_E_NOT_FOUND;
    char *slash = strrchr(path, '/');
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        if ((size_t)(slash - path) + strlen(places[i]) >= sizeof path)
            return KYMO_E_NOT_FOUND;
        strcpy(slash, places[i]);
        if (access(path, X_OK) == 0 && realpath(path, out))
            return KYMO_OK;
    }
    return KYMO_E_NOT_FOUND;
}

/* ---- in the child's child ---- */

static long at(const void *pointer)
{
    return (long)(intptr_t)pointer;
}

static int put_at(int from, int to)
{
    if (from == to)
        return (int)kymo_syscall3(SYS_fcntl, from, F_SETFD, 0);
    return (int)kymo_syscall3(SYS_dup3, from, to, 0);
}

/* Signals as a program expects them at its start. */
static void open_signals(void)
{
    struct {
        uint64_t handler, flags, restorer, mask;
    } by_default = {0, 0, 0, 0};
    uint64_t none = 0;
    for (int signo = 1; signo < NSIG; signo++)
        (void)kymo_syscall4(SYS_rt_sigaction, signo, at(&by_default), 0, sizeof none);
    kymo_raw_set_mask(&none, NULL);
}

static void become_agent(struct spawning *s)
{
    (void)kymo_syscall3(SYS_setsid, 0, 0, 0);
    open_signals();
    long err = put_at(s->null, STDIN_FILENO);
    if (err >= 0)
        err = put_at(s->null, STDOUT_FILENO);
    /* The link must not be put where the other one is. */
    if (err >= 0 && s->reports == LINK_FD)
        err = s->reports = (int)kymo_syscall3(SYS_fcntl, s->reports, F_DUPFD, KYMO_AGENT_REPORT_FD);
    if (err >= 0)
        err = put_at(s->link, LINK_FD);
    if (err >= 0 && s->reports >= 0)
        err = put_at(s->reports, KYMO_AGENT_REPORT_FD);
    if (err >= 0)
        (void)kymo_syscall3(SYS_close_range,
                            s->reports >= 0 ? KYMO_AGENT_REPORT_FD + 1 : LINK_FD + 1, ~0u, 0);
    if (err >= 0)
        err = kymo_syscall3(SYS_execve, at(s->kymo), at(s->argv), at(s->env));
    s->error = (int)-err;
}

/* In between. */
static int run(void *context)
{
    struct spawning *s = context;
    /* Shares our memory until exec, so that the error reaches us, and waits for that. */
    long pid = kymo_syscall6(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0, 0);
    if (pid == 0) {
        become_agent(s);
        (void)kymo_syscall3(SYS_exit, 127, 0, 0);
    }
    if (pid < 0)
        s->error = (int)-pid;
    (void)kymo_syscall3(SYS_exit, 0, 0, 0);
    return 0;
}

static kymo_err start(struct spawning *s, kymo_error *detail)
{
    uint64_t mask;
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return kymo_error_set_errno(detail, "no memory to start the agent");
    /* A handler of the program's must not run in the child, which has its memory. */
    kymo_raw_block_all(&mask);
    pid_t pid = clone(run, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, s);
    int saved = errno;
    while (pid > 0 && waitpid(pid, NULL, (int)__WCLONE) < 0 && errno == EINTR)
        ;
    kymo_raw_set_mask(&mask, NULL);
    munmap(stack, STACK_BYTES);
    errno = pid < 0 ? saved : s->error;
    return errno ? kymo_error_set_errno(detail, "%s: the agent cannot be started", s->kymo)
                 : KYMO_OK;
}

/* ---- what it is started with ---- */

static int is_about_us(const char *entry)
{
    static const char *const names[] = {KYMO_ATTACH_ENV "=", "LD_PRELOAD=", "KYMO_OPTIONS="};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return 1;
    return 0;
}

/* The environment without what would record the agent, and with these settings. NULL: no memory.
 * The texts stay those of env, but the last one, which is freed with the array. */
static char **make_environment(char *const *env, const char *settings)
{
    const char *theirs = getenv("KYMO_OPTIONS");
    size_t n = 0;
    while (env[n])
        n++;
    size_t bytes = strlen(theirs ? theirs : "") + strlen(settings ? settings : "") + 32;
    char **made = malloc((n + 2) * sizeof *made + bytes);
    if (!made)
        return NULL;
    size_t used = 0;
    for (size_t i = 0; i < n; i++)
        if (!is_about_us(env[i]))
            made[used++] = env[i];
    char *text = (char *)(made + n + 2);
    snprintf(text, bytes, "KYMO_OPTIONS=%s,%s", theirs ? theirs : "", settings ? settings : "");
    made[used++] = text;
    made[used] = NULL;
    return made;
}

kymo_err kymo_spawn_agent(const char *kymo, const char *settings, char *const *env, int reports,
                          int *link, kymo_error *detail)
{
    static char *const argv[] = {"kymo", "agent", "--join=3", NULL};
    int ends[2];
    struct spawning s = {.kymo = kymo, .argv = argv, .reports = reports};
    if (access(kymo, X_OK) != 0)
        return kymo_error_set_errno(detail, "%s", kymo);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return kymo_error_set_errno(detail, "no socket for the agent");
    char **made = make_environment(env, settings);
    s.env = made;
    s.link = ends[1];
    s.null = open("/dev/null", O_RDWR | O_CLOEXEC);
    kymo_err err = !made        ? kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for the agent")
                   : s.null < 0 ? kymo_error_set_errno(detail, "/dev/null")
                                : start(&s, detail);
    free(made);
    if (s.null >= 0)
        close(s.null);
    close(ends[1]);
    if (err == KYMO_OK)
        *link = ends[0];
    else
        close(ends[0]);
    return err;
}

/* ---- the link ---- */

int kymo_spawn_hear(int link, struct kymo_agent_link_message *m, uint64_t until_ns)
{
    struct pollfd ready = {link, POLLIN, 0};
    for (;;) {
        uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
        int wait_ms = now_ns >= until_ns ? 0 : (int)((until_ns - now_ns) / 1000000 + 1);
        int n = poll(&ready, 1, wait_ms);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 0;
        ssize_t got = recv(link, m, sizeof *m, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got != (ssize_t)sizeof *m || m->magic != KYMO_AGENT_LINK_MAGIC)
            return -1;
        m->text[sizeof m->text - 1] = '\0';
        return 1;
    }
}

kymo_err kymo_spawn_await(int link, char name[KYMO_ATTACH_NAME_MAX + 1], kymo_error *detail)
{
    struct kymo_agent_link_message m;
    int heard = kymo_spawn_hear(link, &m, kymo_clock_ns(CLOCK_MONOTONIC) + START_PATIENCE_NS);
    if (heard <= 0)
        return kymo_error_set(detail, heard ? KYMO_E_CLOSED : KYMO_E_TIMEOUT, 0, "%s",
                              heard ? "the agent has ended before it began"
                                    : "the agent does not answer");
    if (m.what != KYMO_AGENT_LINK_OPENED || m.error != KYMO_OK ||
        strlen(m.text) > KYMO_ATTACH_NAME_MAX)
        return kymo_error_set(detail, m.error ? (kymo_err)m.error : KYMO_E_INVALID, 0, "%s",
                              m.text);
    strcpy(name, m.text);
    /* Where Yama allows a process's ancestors alone to look at it: wall time is looked at. */
    (void)prctl(PR_SET_PTRACER, (unsigned long)m.number, 0, 0, 0);
    return KYMO_OK;
}
