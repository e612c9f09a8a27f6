/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_pass.c - see exec_pass.h.
 *
 * A child of vfork runs here on its parent's stack and in its memory: nothing static is written,
 * and a mapping that an exec leaves behind stays in the parent for good. So also a large
 * environment goes on the stack where that is known to have room; the mapping is for what is left.
 *
 * Other threads set variables meanwhile: libc hands the array to the kernel, which counts and
 * copies in one go. So it is measured, and copied within what was measured; one that has grown in
 * between goes without us.
 */
#include "capture/exec_pass.h"

#include <alloca.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "buffer/refusal.h"
#include "capture/family.h"
#include "capture/hooks.h"
#include "capture/state.h"
#include "sys/raw.h"

#define PRELOAD "LD_PRELOAD="
#define ATTACH KYMO_ATTACH_ENV "="

enum {
    ALWAYS_ON_STACK = 2048, /* bytes: some 200 variables */
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
    return kymo_is_quiet_here() || kymo_load_relaxed(&kymo_family.header->quiet) & KYMO_QUIET_CALLS;
}

static void refused(enum kymo_refusal_reason reason, const char *file)
{
    struct kymo_capture_process *p = kymo_capturing();
    kymo_refusal_write(kymo_family.header, (int32_t)kymo_raw_getpid(), reason, file);
    /* It may be sampled from outside, the sooner the better. */
    if (p)
        kymo_wake_recorder(p);
}

int kymo_exec_is_recordable(const char *file, enum kymo_exec_lookup lookup)
{
    enum kymo_refusal_reason reason;
    switch (kymo_exec_judge(file, lookup, &reason)) {
    case KYMO_EXEC_RECORDABLE:
        return 1;
    case KYMO_EXEC_REFUSED:
        refused(reason, file);
        break;
    case KYMO_EXEC_UNKNOWN:
        break;
    }
    return 0;
}

/* What is ours of an environment, but for the array's entries. */
static size_t own_bytes(void)
{
    return sizeof PRELOAD + strlen(kymo_family.library) + 1 + sizeof ATTACH +
           strlen(kymo_family.attach_name) + sizeof KYMO_ATTACH_CHILD;
}

size_t kymo_exec_env_bytes(const char *file, char *const *envp)
{
    size_t n = 0;
    size_t preload = 0;
    if (!file || !kymo_family_is_followed())
        return 0;
    for (const char *entry; envp && (entry = kymo_load_relaxed(&envp[n])); n++) {
        /* The program is a recorder itself, and this is for what it records. */
        if (begins_with(entry, ATTACH, sizeof ATTACH - 1))
            return 0;
        if (begins_with(entry, PRELOAD, sizeof PRELOAD - 1))
            preload = strlen(entry + sizeof PRELOAD - 1);
    }
    if (is_behind_filter()) {
        kymo_refusal_write(kymo_family.header, (int32_t)kymo_family.header->pid,
                           KYMO_REFUSAL_FILTER, file);
        return 0;
    }
    return (n + 3) * sizeof *envp + own_bytes() + preload;
}

/* Appends text with its end; returns where that is. */
static char *put(char *to, const char *text)
{
    size_t len = strlen(text);
    memcpy(to, text, len + 1);
    return to + len;
}

/* The one that the loader takes is the last. */
char *kymo_exec_env_preload(char *const *envp)
{
    char *found = NULL;
    for (char *entry; envp && (entry = kymo_load_relaxed(envp)); envp++)
        if (begins_with(entry, PRELOAD, sizeof PRELOAD - 1))
            found = entry;
    return found;
}

char **kymo_exec_env_write(char *const *envp, void *memory, size_t bytes)
{
    char **env = memory;
    size_t room = bytes - own_bytes();
    size_t theirs = SIZE_MAX;
    size_t n = 0;
    /* Each entry is read once, and from here on the copy counts. */
    for (char *entry; envp && (entry = kymo_load_relaxed(&envp[n])); n++) {
        if ((n + 4) * sizeof *env > room)
            return NULL;
        env[n] = entry;
        if (begins_with(entry, PRELOAD, sizeof PRELOAD - 1))
            theirs = n;
    }
    const char *rest = theirs != SIZE_MAX ? env[theirs] + sizeof PRELOAD - 1 : "";
    size_t rest_len = strlen(rest);
    if ((n + 3) * sizeof *env + rest_len > room)
        return NULL;
    char *attach = (char *)(env + n + 3);
    char *preload = put(put(put(attach, ATTACH), kymo_family.attach_name), KYMO_ATTACH_CHILD) + 1;
    char *end = put(put(preload, PRELOAD), kymo_family.library);
    /* Where the program has one, ours goes in its place and before what it names: taking it out
     * again leaves everything as and where it was. */
    if (theirs != SIZE_MAX) {
        end = put(end, ":");
        memcpy(end, rest, rest_len);
        end[rest_len] = '\0';
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
    const struct kymo_capture_thread *t = kymo_thread_pointer_is_libc(1) ? kymo_thread_self : NULL;
    uint64_t here = (uint64_t)(uintptr_t)&t;
    struct rlimit limit;
    if (!t || here <= t->stack.lo || here >= t->stack.hi)
        return 0;
    uint64_t lo = t->stack.lo;
    /* The main thread's grows as far as the limit of now allows, which may be lower than at start.
     */
    if (t->slot->flags & KYMO_SLOT_MAIN) {
        if (kymo_syscall3(SYS_getrlimit, RLIMIT_STACK, (long)(intptr_t)&limit, 0) != 0)
            return 0;
        if (limit.rlim_cur < t->stack.hi - lo)
            lo = t->stack.hi - limit.rlim_cur;
    }
    return here > lo && here - lo > (uint64_t)bytes + STACK_LEFT;
}

/* Whether the call failed for what exec takes along. The kernel has a limit to that, and programs
 * that fill it to the last byte (xargs) know nothing of ours. */
static int is_too_much(int result)
{
    return result == E2BIG || (result == -1 && errno == E2BIG);
}

struct pass {
    const char *file;
    enum kymo_exec_lookup lookup;
    char *const *envp;
    kymo_exec_call *call;
    void *what;
    int result;
};

/* The call with ours, in so much memory. Returns 0 if it is to be made without. The environment is
 * copied before the file is looked at, which takes a hundred times as long. */
static int is_done_in(void *memory, size_t bytes, struct pass *p)
{
    char **env = kymo_exec_env_write(p->envp, memory, bytes);
    if (!env) {
        refused(KYMO_REFUSAL_ENVIRONMENT, p->file);
        return 0;
    }
    if (!kymo_exec_is_recordable(p->file, p->lookup))
        return 0;
    kymo_family_count();
    p->result = p->call(p->what, env);
    if (!is_too_much(p->result))
        return 1;
    refused(KYMO_REFUSAL_ENVIRONMENT, p->file);
    return 0;
}

static KYMO_NOINLINE int is_done_on_stack(size_t bytes, struct pass *p)
{
    return is_done_in(alloca(bytes), bytes, p);
}

static int is_done_in_mapping(size_t bytes, struct pass *p)
{
    long map = kymo_syscall6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map < 0 && map > -4096) {
        refused(KYMO_REFUSAL_ENVIRONMENT, p->file);
        return 0;
    }
    int is_done = is_done_in((void *)map, bytes, p);
    (void)kymo_syscall3(SYS_munmap, map, (long)bytes, 0);
    return is_done;
}

int kymo_exec_pass(const char *file, enum kymo_exec_lookup lookup, char *const *envp,
                   kymo_exec_call *call, void *what)
{
    struct pass p = {file, lookup, kymo_spawn_hooks_program_env(envp), call, what, 0};
    size_t bytes = kymo_exec_env_bytes(file, p.envp);
    int saved = errno;
    if (bytes > 0 && (bytes <= ALWAYS_ON_STACK || stack_has(bytes) ? is_done_on_stack(bytes, &p)
                                                                   : is_done_in_mapping(bytes, &p)))
        return p.result;
    errno = saved;
    return call(what, p.envp);
}
