/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_pass.c - see exec_pass.h.
 *
 * A child of vfork runs here on its parent's stack and in its memory: nothing static is written,
 * and a mapping that an exec leaves behind stays in the parent for good. So also a large
 * environment goes on the stack where that is known to have room; the mapping is for what is left.
 */
#include "capture/exec_pass.h"

#include <alloca.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "buffer/refusal.h"
#include "capture/family.h"
#include "capture/spawn_hooks.h"
#include "capture/state.h"
#include "sys/raw.h"

#define PRELOAD "LD_PRELOAD="
#define ATTACH KYMO_ATTACH_ENV "="

enum {
    ALWAYS_ON_STACK = 4096, /* bytes: some 400 variables */
    STACK_LEFT = 65536,     /* that a larger one must leave to exec itself and to handlers */
};

static int begins_with(const char *text, const char *start, size_t len)
{
    return strncmp(text, start, len) == 0;
}

/* A filter that the process has set forbids what it likes, also to look at files. The recorder sees
 * one that our hooks did not. */
static int is_behind_filter(void)
{
    return kymo_load_relaxed(&kymo_quiet_here) ||
           kymo_load_relaxed(&kymo_family.header->quiet) & KYMO_QUIET_CALLS;
}

static void refused(enum kymo_refusal_reason reason, const char *file)
{
    kymo_refusal_write(kymo_family.header, (int32_t)kymo_raw_getpid(), reason, file);
}

size_t kymo_exec_env_bytes(const char *file, enum kymo_exec_lookup lookup, char *const *envp)
{
    enum kymo_refusal_reason reason;
    size_t n = 0;
    size_t preload = 0;
    if (!file || !kymo_family_is_followed())
        return 0;
    for (; envp && envp[n]; n++) {
        /* The program is a recorder itself, and this is for what it records. */
        if (begins_with(envp[n], ATTACH, sizeof ATTACH - 1))
            return 0;
        if (begins_with(envp[n], PRELOAD, sizeof PRELOAD - 1))
            preload = strlen(envp[n] + sizeof PRELOAD - 1);
    }
    if (is_behind_filter()) {
        kymo_refusal_write(kymo_family.header, (int32_t)kymo_family.header->pid,
                           KYMO_REFUSAL_FILTER, file);
        return 0;
    }
    switch (kymo_exec_judge(file, lookup, &reason)) {
    case KYMO_EXEC_RECORDABLE:
        break;
    case KYMO_EXEC_REFUSED:
        refused(reason, file);
        return 0;
    case KYMO_EXEC_UNKNOWN:
        return 0;
    }
    return (n + 3) * sizeof *envp + sizeof PRELOAD + strlen(kymo_family.library) + 1 + preload +
           sizeof ATTACH + strlen(kymo_family.attach_name) + sizeof KYMO_ATTACH_CHILD;
}

/* Appends text with its end; returns where that is. */
static char *put(char *to, const char *text)
{
    size_t len = strlen(text);
    memcpy(to, text, len + 1);
    return to + len;
}

/* Which entry is the LD_PRELOAD that the loader takes, the last one; *n: of how many. n if there is
 * none. */
static size_t find_preload(char *const *envp, size_t *n)
{
    size_t found = SIZE_MAX;
    for (*n = 0; envp && envp[*n]; ++*n)
        if (begins_with(envp[*n], PRELOAD, sizeof PRELOAD - 1))
            found = *n;
    return found != SIZE_MAX ? found : *n;
}

char *kymo_exec_env_preload(char *const *envp)
{
    size_t n;
    size_t theirs = find_preload(envp, &n);
    return theirs < n ? envp[theirs] : NULL;
}

char **kymo_exec_env_write(char *const *envp, void *memory)
{
    char **env = memory;
    size_t n;
    size_t theirs = find_preload(envp, &n);
    for (size_t i = 0; i < n; i++)
        env[i] = envp[i];
    char *attach = (char *)(env + n + 3);
    char *preload = put(put(put(attach, ATTACH), kymo_family.attach_name), KYMO_ATTACH_CHILD) + 1;
    char *end = put(put(preload, PRELOAD), kymo_family.library);
    /* Where the program has one, ours goes in its place and before what it names: taking it out
     * again leaves everything as and where it was. */
    if (theirs < n) {
        put(put(end, ":"), envp[theirs] + sizeof PRELOAD - 1);
        env[theirs] = preload;
    } else {
        env[n++] = preload;
    }
    env[n++] = attach;
    env[n] = NULL;
    return env;
}

/* Whether the calling thread's stack is known, and has so much more. */
static int stack_has(size_t bytes)
{
    const struct kymo_thread *t = kymo_thread_self;
    uint64_t here = (uint64_t)(uintptr_t)&t;
    return t && here > t->stack.lo && here < t->stack.hi &&
           here - t->stack.lo > (uint64_t)bytes + STACK_LEFT;
}

static KYMO_NOINLINE int call_on_stack(size_t bytes, char *const *envp, kymo_exec_call *call,
                                       void *what)
{
    return call(what, kymo_exec_env_write(envp, alloca(bytes)));
}

/* Whether the call failed for what exec takes along. The kernel has a limit to that, and programs
 * that fill it to the last byte (xargs) know nothing of ours. */
static int is_too_much(int result)
{
    return result == E2BIG || (result == -1 && errno == E2BIG);
}

int kymo_exec_pass(const char *file, enum kymo_exec_lookup lookup, char *const *envp,
                   kymo_exec_call *call, void *what)
{
    envp = kymo_spawn_hooks_program_env(envp);
    size_t bytes = kymo_exec_env_bytes(file, lookup, envp);
    if (bytes == 0)
        return call(what, envp);
    int result;
    int saved = errno;
    kymo_family_count();
    if (bytes <= ALWAYS_ON_STACK || stack_has(bytes)) {
        result = call_on_stack(bytes, envp, call, what);
    } else {
        long map = kymo_syscall6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map < 0 && map > -4096) {
            refused(KYMO_REFUSAL_ENVIRONMENT, file);
            return call(what, envp);
        }
        result = call(what, kymo_exec_env_write(envp, (void *)map));
        (void)kymo_syscall3(SYS_munmap, map, (long)bytes, 0);
    }
    if (!is_too_much(result))
        return result;
    refused(KYMO_REFUSAL_ENVIRONMENT, file);
    errno = saved;
    return call(what, envp);
}
