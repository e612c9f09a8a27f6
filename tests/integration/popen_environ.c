/* SPDX-License-Identifier: Apache-2.0 */
/*
 * popen_environ.c - the environment while popen runs, and one that leaves no room in an exec. Exit
 * status 1 if the program's environment is not what the program made of it.
 *
 *   popen_environ changes   in the middle of popen (in a malloc, as another thread might)
 *   popen_environ full      the largest environment with which an exec succeeds
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void (*in_malloc)(void);

/* A sanitizer has a malloc of its own. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CAN_CHANGE 1
extern void *__libc_malloc(size_t size);

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    void (*change)(void) = in_malloc;
    in_malloc = NULL;
    if (change)
        change();
    return __libc_malloc(size);
}
#else
#define CAN_CHANGE 0
#endif

/* ---- changes ---- */

static void change_in_place(void)
{
    setenv("CHANGED", "after", 1);
    unsetenv("GONE");
}

static void add_one(void)
{
    setenv("ADDED", "1", 1);
}

static const char *value_of(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "not there";
}

static int run_popen(void (*change)(void))
{
    in_malloc = change;
    FILE *stream = popen("exit 3", "r");
    if (in_malloc) {
        puts("popen takes no memory");
        in_malloc = NULL;
    }
    return stream ? pclose(stream) : -1;
}

static int count_ours(void)
{
    int n = 0;
    for (char **e = environ; *e; e++)
        n += strstr(*e, "libkymo") || strncmp(*e, "KYMO_ATTACH", 11) == 0;
    return n;
}

static int try_changes(void)
{
    if (!CAN_CHANGE)
        return 0;
    setenv("CHANGED", "before", 1);
    setenv("GONE", "1", 1);
    int status = run_popen(change_in_place);
    int ok = status == 3 << 8 && strcmp(value_of("CHANGED"), "after") == 0 && !getenv("GONE");
    printf("CHANGED is %s, GONE is %s\n", value_of("CHANGED"), value_of("GONE"));
    /* Twice: with and without an LD_PRELOAD of the program's own. */
    for (int i = 0; i < 2; i++) {
        unsetenv("ADDED");
        status = run_popen(add_one);
        ok &= status == 3 << 8 && getenv("ADDED") && count_ours() == 0;
        printf("ADDED is %s, LD_PRELOAD is %s, %d of the environment are not the program's\n",
               value_of("ADDED"), value_of("LD_PRELOAD"), count_ours());
        setenv("LD_PRELOAD", "", 1);
    }
    return ok ? 0 : 1;
}

/* ---- full ---- */

enum { PIECES = 64, PIECE = 100000 };

static char *env[PIECES + 2];
static char last[PIECE + 3];

/* Whether a program starts with so many bytes more than the pieces have. */
static int starts_with(size_t bytes, int by_spawn)
{
    char *const argv[] = {(char *)"true", NULL};
    int status = 0;
    memset(last, 'x', bytes + 2);
    memcpy(last, "L=", 2);
    last[bytes + 2] = '\0';
    pid_t child = -1;
    if (by_spawn) {
        if (posix_spawn(&child, "/bin/true", NULL, NULL, argv, env) != 0)
            return 0;
    } else {
        child = fork();
        if (child == 0) {
            execve("/bin/true", argv, env);
            _exit(errno == E2BIG ? 1 : 2);
        }
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status >> 8 > 1)
        exit(2);
    return status == 0;
}

static int try_full(void)
{
    size_t n = 0;
    do {
        env[n] = calloc(1, PIECE + 1);
        if (!env[n])
            return 2;
        memset(env[n], 'x', PIECE);
        memcpy(env[n], "V=", 2);
        env[++n] = last;
    } while (n < PIECES && starts_with(0, 0));
    /* One too many; the last bytes of room are for `last`. */
    env[--n] = last;
    size_t fits = 0;
    for (size_t step = 65536; step > 0; step /= 2)
        if (fits + step < PIECE && starts_with(fits + step, 0))
            fits += step;
    int spawns = starts_with(fits, 1);
    printf("%zu pieces and %zu bytes; spawn: %d\n", n, fits, spawns);
    return !spawns;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    return strcmp(what, "changes") == 0 ? try_changes()
           : strcmp(what, "full") == 0  ? try_full()
                                        : 2;
}
