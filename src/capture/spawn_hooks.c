/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn_hooks.c - the functions by which a process starts another program beside itself.
 *
 * posix_spawn takes the environment as an argument, so the hook passes one with our variables.
 * system and popen pass `environ` themselves, which a hook cannot replace. So system is implemented
 * here, after POSIX: the real one would need a changed `environ` for as long as the command runs.
 * popen returns once the shell has started, and its streams cannot be made outside libc: for that
 * moment `environ` points to an array with ours.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/exec_pass.h"
#include "capture/family.h"
#include "capture/hooks.h"
#include "capture/mask_hooks.h"
#include "capture/signal_move.h"
#include "sys/raw.h"

#define SHELL "/bin/sh"

/* ---- posix_spawn ---- */

/* Some file actions of this process go to another folder first. Which ones do is libc's to know: so
 * from then on it may be any. */
static uint32_t folders_change;

static enum kymo_exec_lookup lookup_of(const posix_spawn_file_actions_t *actions, int searches)
{
    if (actions && kymo_load_relaxed(&folders_change))
        return searches ? KYMO_EXEC_SEARCH_ELSEWHERE : KYMO_EXEC_PATH_ELSEWHERE;
    return searches ? KYMO_EXEC_SEARCH : KYMO_EXEC_PATH;
}

/* POSIX's names for the same come with later versions of libc. */
#define ALSO(function, name, type) \
    KYMO_HOOK int function(posix_spawn_file_actions_t *actions, type where) __asm__(name)
#define CHDIR "posix_spawn_file_actions_addchdir"
#define FCHDIR "posix_spawn_file_actions_addfchdir"

ALSO(kymo_hook_addchdir, CHDIR, const char *);
int kymo_hook_addchdir(posix_spawn_file_actions_t *actions, const char *path)
{
    kymo_store_relaxed(&folders_change, 1u);
    return KYMO_REAL(posix_spawn_file_actions_addchdir_np)(actions, path);
}
ALSO(kymo_hook_addchdir_np, CHDIR "_np", const char *) __attribute__((alias(CHDIR)));

ALSO(kymo_hook_addfchdir, FCHDIR, int);
int kymo_hook_addfchdir(posix_spawn_file_actions_t *actions, int fd)
{
    kymo_store_relaxed(&folders_change, 1u);
    return KYMO_REAL(posix_spawn_file_actions_addfchdir_np)(actions, fd);
}
ALSO(kymo_hook_addfchdir_np, FCHDIR "_np", int) __attribute__((alias(FCHDIR)));

struct spawn {
    __typeof__(posix_spawn) *real;
    pid_t *pid;
    const char *file;
    const posix_spawn_file_actions_t *actions;
    const posix_spawnattr_t *attributes;
    char *const *argv;
};

static int spawn(void *what, char *const *env)
{
    const struct spawn *s = what;
    uint64_t ignored = kymo_signal_ignore();
    uint64_t held = kymo_mask_settle();
    int result = s->real(s->pid, s->file, s->actions, s->attributes, s->argv, env);
    kymo_mask_resume(held);
    kymo_signal_heed(ignored);
    return result;
}

KYMO_HOOK int posix_spawn(pid_t *restrict pid, const char *restrict path,
                          const posix_spawn_file_actions_t *restrict actions,
                          const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
                          char *const envp[restrict])
{
    struct spawn s = {KYMO_REAL(posix_spawn), pid, path, actions, attributes, argv};
    return kymo_exec_pass(path, lookup_of(actions, 0), envp, spawn, &s);
}

KYMO_HOOK int posix_spawnp(pid_t *restrict pid, const char *restrict file,
                           const posix_spawn_file_actions_t *restrict actions,
                           const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
                           char *const envp[restrict])
{
    struct spawn s = {KYMO_REAL(posix_spawnp), pid, file, actions, attributes, argv};
    return kymo_exec_pass(file, lookup_of(actions, 1), envp, spawn, &s);
}

/* ---- system ---- */

/* While commands run, the process ignores what the terminal sends to both: the first of them
 * arranges that, the last one undoes it. */
static struct {
    uint32_t lock;
    uint32_t running;
    struct sigaction interrupt;
    struct sigaction quit;
} commands;

static void lock(uint32_t *word)
{
    for (uint32_t free = 0; !kymo_cas_acq_rel(word, &free, 1u); free = 0)
        kymo_raw_wait_a_little();
}

static void unlock(uint32_t *word)
{
    kymo_store_release(word, 0u);
}

static void begin_command(sigset_t *mask)
{
    struct sigaction ignore = {.sa_flags = 0};
    sigset_t child;
    ignore.sa_handler = SIG_IGN;
    lock(&commands.lock);
    if (commands.running++ == 0) {
        (void)sigaction(SIGINT, &ignore, &commands.interrupt);
        (void)sigaction(SIGQUIT, &ignore, &commands.quit);
    }
    unlock(&commands.lock);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    (void)pthread_sigmask(SIG_BLOCK, &child, mask);
}

static void end_command(const sigset_t *mask)
{
    lock(&commands.lock);
    if (--commands.running == 0) {
        (void)sigaction(SIGINT, &commands.interrupt, NULL);
        (void)sigaction(SIGQUIT, &commands.quit, NULL);
    }
    unlock(&commands.lock);
    (void)pthread_sigmask(SIG_SETMASK, mask, NULL);
}

struct command {
    pid_t pid;
    sigset_t mask;
};

/* The thread is cancelled while it waits: the command is ended, and everything put back. */
static void cancel_command(void *argument)
{
    struct command *c = argument;
    int state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    (void)kill(c->pid, SIGKILL);
    while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    end_command(&c->mask);
    (void)pthread_setcancelstate(state, NULL);
}

static int run_command(const char *line)
{
    struct command c;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    int status = -1;
    char *const argv[] = {(char *)"sh", (char *)"-c", (char *)(uintptr_t)line, NULL};
    begin_command(&c.mask);
    sigemptyset(&defaults);
    if (commands.interrupt.sa_handler != SIG_IGN)
        sigaddset(&defaults, SIGINT);
    if (commands.quit.sa_handler != SIG_IGN)
        sigaddset(&defaults, SIGQUIT);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigmask(&attributes, &c.mask);
    (void)posix_spawnattr_setsigdefault(&attributes, &defaults);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    int err = posix_spawn(&c.pid, SHELL, NULL, &attributes, argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
    if (err == 0) {
        pthread_cleanup_push(cancel_command, &c);
        pid_t reaped;
        do {
            reaped = waitpid(c.pid, &status, 0);
        } while (reaped < 0 && errno == EINTR);
        if (reaped != c.pid)
            status = -1;
        pthread_cleanup_pop(0);
    } else {
        /* As if the shell had ended so. */
        status = 127 << 8;
    }
    int saved = errno;
    end_command(&c.mask);
    errno = err ? err : saved;
    return status;
}

KYMO_HOOK int system(const char *line)
{
    __typeof__(system) *real = KYMO_REAL(system);
    return line && kymo_family_is_followed() ? run_command(line) : real(line);
}

/* ---- popen ---- */

/* The environment as others may see it for a moment. It stays mapped: another thread may be looking
 * through it still. */
static struct {
    uint32_t lock;
    int is_there;   /* it stands in the place of the program's own */
    char **program; /* that one; NULL after clearenv */
    char *preload;  /* its LD_PRELOAD; NULL: none */
    char **ours;    /* with the strings that are ours behind it */
    size_t bytes;
} swapped;

/* An array with ours, or NULL. The environment is taken after the look at the shell: a variable
 * that is set between the copy and the moment when that stands there would be lost. */
static char **environment_with_ours(char ***program)
{
    if (kymo_exec_env_bytes(SHELL, kymo_load_relaxed(&environ)) == 0 ||
        !kymo_exec_is_recordable(SHELL, KYMO_EXEC_PATH))
        return NULL;
    *program = kymo_load_relaxed(&environ);
    size_t bytes = kymo_exec_env_bytes(SHELL, *program);
    if (bytes == 0)
        return NULL;
    if (bytes > swapped.bytes) {
        long map = kymo_syscall6(SYS_mmap, 0, (long)bytes * 2, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map < 0 && map > -4096)
            return NULL;
        swapped.ours = (char **)map;
        swapped.bytes = bytes * 2;
    }
    return kymo_exec_env_write(*program, swapped.ours, swapped.bytes);
}

static int is_ours(const char *entry)
{
    const char *memory = (const char *)swapped.ours;
    return entry >= memory && entry < memory + swapped.bytes;
}

/* Copies an environment without what is ours; from and to may be the same. */
static void copy_theirs(char **from, char **to)
{
    for (; *from; from++) {
        char *entry = *from;
        if (is_ours(entry))
            entry = entry[0] == 'L' ? swapped.preload : NULL;
        if (entry && *to != entry)
            *to = entry;
        to += entry != NULL;
    }
    if (*to)
        *to = NULL;
}

/* Other threads may have changed the environment meanwhile: libc changes an entry where it stands,
 * and makes another array for one more. */
static void put_back(void)
{
    char **now = environ;
    if (swapped.is_there && now == swapped.ours) {
        if (swapped.program)
            copy_theirs(now, swapped.program);
        environ = swapped.program;
    } else if (swapped.is_there && now) {
        copy_theirs(now, now);
    }
    kymo_store_release(&swapped.is_there, 0);
}

char *const *kymo_spawn_hooks_program_env(char *const *env)
{
    int is_there = kymo_load_acquire(&swapped.is_there);
    return is_there && env == kymo_load_relaxed(&swapped.ours) ? swapped.program : env;
}

KYMO_HOOK FILE *popen(const char *command, const char *mode)
{
    __typeof__(popen) *real = KYMO_REAL(popen);
    if (!kymo_family_is_followed())
        return real(command, mode);
    lock(&swapped.lock);
    char **program = NULL;
    char **env = environment_with_ours(&program);
    if (env) {
        kymo_family_count();
        swapped.program = program;
        swapped.preload = kymo_exec_env_preload(program);
        kymo_store_release(&swapped.is_there, 1);
        /* Not in the place of one that another thread has put there meanwhile. */
        (void)kymo_cas_acq_rel(&environ, &program, env);
    }
    uint64_t ignored = kymo_signal_ignore();
    uint64_t held = kymo_mask_settle();
    FILE *stream = real(command, mode);
    kymo_mask_resume(held);
    kymo_signal_heed(ignored);
    put_back();
    unlock(&swapped.lock);
    return stream;
}

void kymo_spawn_hooks_after_fork(void)
{
    put_back();
    unlock(&swapped.lock);
    unlock(&commands.lock);
}
