/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children.c - starts itself in every way that libc has, and looks at what arrives: the arguments,
 * the environment, what a failure says. Exit status 1 if it is not what POSIX and libc say.
 *
 *   children ways [with]   every function of exec and spawn; with: the library must be in the child
 *   children failures      programs that are not there, may not run, or are text
 *   children large         an environment of a megabyte, on a small stack and on a large one
 *   children threads       popen and system from several threads at once
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "has_library.h"

enum { ANSWER_MAX = 4096, VARIABLES = 20000 };

static char self[4096];
static char folder[] = "/tmp/kymo-children-XXXXXX";
static int failures;

static void fail(const char *way, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("%s: ", way);
    vprintf(format, list);
    putchar('\n');
    va_end(list);
    __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
}

/* ---- the child ---- */

/* Says what it sees: whether the library is there, its arguments, its environment. */
static int show(int argc, char **argv)
{
    printf("%d", has_library());
    for (int i = 1; i < argc; i++)
        printf("|%s", argv[i]);
    for (char **e = environ; *e; e++)
        printf("|%s", *e);
    putchar('\n');
    return 0;
}

/* ---- the ways ---- */

enum way {
    EXECVE,
    EXECV,
    EXECVP,
    EXECVPE,
    EXECL,
    EXECLP,
    EXECLE,
    EXECVEAT,
    EXECVEAT_EMPTY,
    FEXECVE,
    WAYS_OF_EXEC,
    SPAWN = WAYS_OF_EXEC,
    SPAWNP,
    SYSTEM,
    POPEN,
    WAYS
};

static const char *const names[WAYS] = {"execve",  "execv",       "execvp",
                                        "execvpe", "execl",       "execlp",
                                        "execle",  "execveat",    "execveat of a descriptor",
                                        "fexecve", "posix_spawn", "posix_spawnp",
                                        "system",  "popen"};

static char *const arguments[] = {"children", "show", "a b", NULL};
static char *const given[] = {"A=1", "LD_PRELOAD=", "Z=", NULL};

/* Becomes the child; comes back if that fails. */
static void become(enum way way)
{
    switch (way) {
    case EXECVE:
        execve(self, arguments, given);
        break;
    case EXECV:
        environ = (char **)given;
        execv(self, arguments);
        break;
    case EXECVP:
        execvp("children", arguments);
        break;
    case EXECVPE:
        execvpe("children", arguments, given);
        break;
    case EXECL:
        execl(self, "children", "show", "a b", (char *)NULL);
        break;
    case EXECLP:
        execlp("children", "children", "show", "a b", (char *)NULL);
        break;
    case EXECLE:
        execle(self, "children", "show", "a b", (char *)NULL, given);
        break;
    case EXECVEAT: {
        char *slash = strrchr(self, '/');
        *slash = '\0';
        execveat(open(self, O_RDONLY | O_DIRECTORY), slash + 1, arguments, given, 0);
        break;
    }
    case EXECVEAT_EMPTY:
        execveat(open(self, O_PATH), "", arguments, given, AT_EMPTY_PATH);
        break;
    case FEXECVE:
        fexecve(open(self, O_RDONLY | O_CLOEXEC), arguments, given);
        break;
    default:
        break;
    }
}

static int uses_given(enum way way)
{
    return way != EXECVP && way != EXECL && way != EXECLP && way != SYSTEM && way != POPEN;
}

static size_t read_all(int fd, char *out, size_t size)
{
    size_t len = 0;
    ssize_t n;
    while (len < size - 1 && (n = read(fd, out + len, size - 1 - len)) > 0)
        len += (size_t)n;
    out[len] = '\0';
    return len;
}

/* What the child said, started in this way; by vfork where that is a choice. */
static void ask(enum way way, int by_vfork, char answer[ANSWER_MAX])
{
    int ends[2];
    pid_t child = -1;
    int status = 0;
    char command[8192];
    snprintf(command, sizeof command, "exec '%s' show 'a b'", self);
    answer[0] = '\0';
    if (way == POPEN) {
        FILE *stream = popen(command, "r");
        if (!stream || !fgets(answer, ANSWER_MAX, stream) || pclose(stream) != 0)
            fail(names[way], "does not work");
        return;
    }
    fflush(NULL);
    if (pipe2(ends, O_CLOEXEC) != 0)
        exit(2);
    if (way == SYSTEM || way == SPAWN || way == SPAWNP) {
        int before = dup(STDOUT_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        if (way == SYSTEM)
            status = system(command);
        else if (way == SPAWN)
            status = posix_spawn(&child, self, NULL, NULL, arguments, given);
        else
            status = posix_spawnp(&child, "children", NULL, NULL, arguments, given);
        dup2(before, STDOUT_FILENO);
        close(before);
    } else {
        child = by_vfork ? vfork() : fork();
        if (child == 0) {
            dup2(ends[1], STDOUT_FILENO);
            become(way);
            _exit(99);
        }
    }
    close(ends[1]);
    read_all(ends[0], answer, ANSWER_MAX);
    close(ends[0]);
    if (status != 0 || (child > 0 && waitpid(child, &status, 0) != child) || status != 0)
        fail(names[way], "status %d", status);
}

static void expect(enum way way, int with_library, const char *answer)
{
    char expected[ANSWER_MAX];
    size_t n = (size_t)snprintf(expected, sizeof expected, "|show|a b");
    if (with_library && answer[0] != '1')
        fail(names[way], "the library is not in the child");
    for (char *const *e = uses_given(way) ? given : environ; *e; e++)
        n += (size_t)snprintf(expected + n, sizeof expected - n, "|%s", *e);
    /* The shell sets some of its own accord. */
    if (way == SYSTEM || way == POPEN) {
        if (strstr(answer, "KYMO") || strstr(answer, "libkymo"))
            fail(names[way], "the child sees %s", answer);
        return;
    }
    strcat(expected, "\n");
    if (strcmp(answer + (answer[0] != '\0'), expected) != 0)
        fail(names[way], "the child sees\n  %snot\n  %s", answer, expected);
}

static void try_ways(int with_library)
{
    char answer[ANSWER_MAX];
    static char path[8192];
    static char *search[] = {path, "HOME=/", NULL};
    char *slash = strrchr(self, '/');
    snprintf(path, sizeof path, "PATH=/nowhere::/etc:%.*s:/bin", (int)(slash - self), self);
    environ = search;
    for (enum way way = 0; way < WAYS; way++) {
        ask(way, 0, answer);
        expect(way, with_library, answer);
    }
    /* CPython's subprocess sets signals back before it calls execve. EXECV and EXECVEAT write to
     * memory that a child of vfork shares. */
    for (enum way way = 0; way < WAYS_OF_EXEC; way++) {
        if (way == EXECV || way == EXECVEAT)
            continue;
        ask(way, 1, answer);
        expect(way, with_library, answer);
    }
    /* A program without an environment at all. */
    environ = NULL;
    ask(POPEN, 0, answer);
    if (environ)
        fail(names[POPEN], "has made an environment");
    if (with_library && answer[0] != '1')
        fail(names[POPEN], "the library is not in the child");
    environ = search;
    for (char **e = environ; *e; e++)
        if (e - environ >= 2 || *e != search[e - environ])
            fail("environ", "has changed: %s", *e);
}

/* ---- failures ---- */

static void write_file(const char *name, const char *text, mode_t mode, char path[4200])
{
    snprintf(path, 4200, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || fchmod(fd, mode) != 0)
        exit(2);
    close(fd);
}

static void expect_errno(const char *what, int expected)
{
    if (errno != expected)
        fail(what, "%s, not %s", strerror(errno), strerror(expected));
}

static void try_failures(void)
{
    char text[4200];
    char locked[4200];
    char orphan[4200];
    char broken[4200];
    char path[8192];
    char answer[ANSWER_MAX];
    char *const none[] = {"nothing", NULL};
    pid_t child;
    write_file("text", "echo $0 $1\n", 0755, text);
    write_file("locked", "#!/bin/sh\n", 0644, locked);
    write_file("orphan", "#!/nowhere/sh\n", 0755, orphan);
    write_file("broken", "\177ELF\2\1\1 and no more", 0755, broken);
    snprintf(path, sizeof path, "/nowhere:%s:/bin", folder);
    setenv("PATH", path, 1);

    execvp("kymo-no-such-program", none);
    expect_errno("execvp of nothing", ENOENT);
    execvp("", none);
    expect_errno("execvp of an empty name", ENOENT);
    execvp("locked", none);
    expect_errno("execvp of what may not run", EACCES);
    execvp("orphan", none);
    expect_errno("execvp without the interpreter", ENOENT);
    execv(folder, none);
    expect_errno("execv of a folder", EACCES);
    execv(text, none);
    expect_errno("execv of text", ENOEXEC);
    execv(broken, none);
    expect_errno("execv of half an ELF file", ENOEXEC);
    execve("/nowhere", none, NULL);
    expect_errno("execve without an environment", ENOENT);
    fexecve(-1, none, environ);
    expect_errno("fexecve of no descriptor", EINVAL);
    errno = posix_spawn(&child, "/nowhere", NULL, NULL, none, environ);
    expect_errno("posix_spawn of nothing", ENOENT);
    errno = posix_spawnp(&child, "locked", NULL, NULL, none, environ);
    expect_errno("posix_spawnp of what may not run", EACCES);

    /* Text runs under the shell. */
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        exit(2);
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execlp("text", "text", "argument", (char *)NULL);
        _exit(99);
    }
    close(ends[1]);
    read_all(ends[0], answer, sizeof answer);
    close(ends[0]);
    snprintf(path, sizeof path, "%s argument\n", text);
    if (waitpid(child, NULL, 0) != child || strcmp(answer, path) != 0)
        fail("execlp of text", "printed %s", answer);

    int status = system("exit 7");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
        fail("system", "status %#x", (unsigned)status);
    status = system("kill -9 $$");
    if (!WIFSIGNALED(status) || WTERMSIG(status) != 9)
        fail("system", "status %#x", (unsigned)status);
    if (system(NULL) == 0)
        fail("system", "says that there is no shell");
    status = system("/nowhere/program 2>/dev/null");
    if (WEXITSTATUS(status) != 127)
        fail("system", "status %#x", (unsigned)status);

    unlink(text);
    unlink(locked);
    unlink(orphan);
    unlink(broken);
}

/* ---- large ---- */

static char **large_environment(void)
{
    char **env = calloc(VARIABLES + 1, sizeof *env);
    for (int i = 0; env && i < VARIABLES; i++)
        if (asprintf(&env[i], "VARIABLE_%d=%040d", i, i) < 0)
            exit(2);
    return env;
}

static void *spawn_large(void *env)
{
    char *const count[] = {"children", "count", NULL};
    pid_t child;
    int status = 0;
    for (int i = 0; i < 3; i++) {
        if (posix_spawn(&child, self, NULL, NULL, count, env) != 0 ||
            waitpid(child, &status, 0) != child || status != 0)
            fail("large", "status %d", status);
    }
    return NULL;
}

static void try_large(void)
{
    char **env = large_environment();
    pthread_attr_t small;
    pthread_t thread;
    spawn_large(env);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 32768);
    if (pthread_create(&thread, &small, spawn_large, env) != 0)
        exit(2);
    pthread_join(thread, NULL);
    pid_t child = vfork();
    if (child == 0) {
        char *const count[] = {"children", "count", NULL};
        execve(self, count, env);
        _exit(99);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        fail("large by vfork", "status %d", status);
}

static int count_variables(void)
{
    int n = 0;
    while (environ[n])
        n++;
    return n == VARIABLES ? 0 : 1;
}

/* ---- threads ---- */

static void *run_commands(void *argument)
{
    (void)argument;
    for (int i = 0; i < 20; i++) {
        char line[64] = "";
        FILE *stream = popen("echo $KYMO_ATTACH$LD_PRELOAD.", "r");
        if (!stream || !fgets(line, sizeof line, stream) || strcmp(line, ".\n") != 0 ||
            pclose(stream) != 0)
            fail("popen", "said %s", line);
        int status = system("exit 3");
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 3)
            fail("system", "status %#x", (unsigned)status);
    }
    return NULL;
}

static void *wait_for_command(void *argument)
{
    (void)argument;
    system("exec sleep 1000");
    return NULL;
}

static void try_threads(void)
{
    pthread_t threads[4];
    char **before = environ;
    struct sigaction action;
    void *result;
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, run_commands, NULL) != 0)
            exit(2);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    if (environ != before)
        fail("popen", "environ is another one");
    /* A thread that is cancelled in system ends its command. */
    if (pthread_create(&threads[0], NULL, wait_for_command, NULL) != 0)
        exit(2);
    do {
        sigaction(SIGINT, NULL, &action);
        usleep(1000);
    } while (action.sa_handler != SIG_IGN);
    pthread_cancel(threads[0]);
    pthread_join(threads[0], &result);
    sigaction(SIGINT, NULL, &action);
    if (result != PTHREAD_CANCELED || action.sa_handler != SIG_DFL || wait(NULL) != -1 ||
        errno != ECHILD)
        fail("system", "left something behind when it was cancelled");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "show") == 0)
        return show(argc, argv);
    if (strcmp(what, "count") == 0)
        return count_variables();
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0 || !mkdtemp(folder))
        return 2;
    if (strcmp(what, "ways") == 0)
        try_ways(argc > 2);
    else if (strcmp(what, "failures") == 0)
        try_failures();
    else if (strcmp(what, "large") == 0)
        try_large();
    else if (strcmp(what, "threads") == 0)
        try_threads();
    else
        failures++;
    rmdir(folder);
    return failures != 0;
}
