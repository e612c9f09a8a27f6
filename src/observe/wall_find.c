/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wall_find.c - see wall_find.h.
 *
 * A stack that cannot be walked from outside, since a frame needs a register that only the thread
 * has: it is asked by a signal, once for a place. Its handler records the stack and the registers.
 * When the thread is found at the same place again (pc and stack pointer), the walk is done with
 * those registers; if it gives the same callers, it is the same stack, and the thread is left
 * alone.
 *
 * A signal ends many a call with EINTR, whatever SA_RESTART says: pause, poll, all that sleep for a
 * time. So only threads in calls that begin again are asked. A running thread is not asked: it may
 * be in another call when the signal comes. That is few places, and there are few signals:
 * ASK_GRACE for a process, and one more for each ASK_SHARE looks. What is not asked for is recorded
 * as far as it is known.
 */
#include "observe/wall_find.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "observe/descriptors.h"

#define RETRY_NS 100000000u
#define RETRY_MOST_NS 1600000000u
#define DEPTH_MAX 4096u
#define ASK_GRACE 16u
#define ASK_SHARE 1000u
#define SP_ALONE (1u << KYMO_REG_SP)
/* What a system call leaves as it was, and a handler records. */
#define CALL_KEEPS KYMO_REGS_ACROSS_CALLS

kymo_err kymo_wall_finder_init(struct kymo_wall_finder *f)
{
    f->depth = f->session->depth < DEPTH_MAX ? f->session->depth : DEPTH_MAX;
    f->pcs = malloc((f->depth + 1) * sizeof *f->pcs);
    f->sps = malloc((f->depth + 1) * sizeof *f->sps);
    f->descriptor_limit = kymo_descriptors_for(KYMO_DESCRIPTORS_CALLS);
    return f->pcs && f->sps ? KYMO_OK : KYMO_E_NOMEM;
}

void kymo_wall_finder_deinit(struct kymo_wall_finder *f)
{
    kymo_wall_stacks_deinit(&f->stacks);
    free(f->pcs);
    free(f->sps);
}

kymo_err kymo_wall_finder_set_python(struct kymo_wall_finder *f,
                                     const struct kymo_remote_python_sink *sink)
{
    if (f->stacks.python)
        return KYMO_OK;
    if (f->stacks.remote && f->session->python >= 12)
        kymo_remote_has_trampolines(f->stacks.remote);
    return kymo_remote_python_create(sink, f->session, f->depth, &f->stacks.python);
}

void kymo_wall_memory_deinit(struct kymo_wall_memory *m)
{
    if (m->call >= 0)
        close(m->call);
    m->call = -1;
}

kymo_err kymo_wall_finder_begin(struct kymo_wall_finder *f, uint64_t now_ns)
{
    uint32_t generation = kymo_load_acquire(&f->session->module_generation);
    if (f->stacks.remote && generation != f->module_generation) {
        /* A library was closed. */
        f->module_generation = generation;
        kymo_err err = kymo_remote_refresh(f->stacks.remote);
        return err == KYMO_E_NOMEM ? err : KYMO_OK;
    }
    if (f->stacks.remote || now_ns < f->retry_ns)
        return KYMO_OK;
    f->module_generation = generation;
    f->retry_ns = now_ns + RETRY_NS;
    kymo_err err = kymo_remote_create(f->store, f->pid, &f->stacks.remote);
    if (err == KYMO_OK && f->session->python >= 12)
        kymo_remote_has_trampolines(f->stacks.remote);
    return err == KYMO_E_NOMEM ? err : KYMO_OK;
}

static int read_call(const struct kymo_wall_finder *f, struct kymo_wall_memory *m,
                     struct kymo_remote_call *call)
{
    char path[64];
    char text[256];
    int fd = m->call;
    if (fd < 0) {
        snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)f->pid, (int)m->tid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
    if (fd >= 0 && fd < f->descriptor_limit)
        m->call = fd;
    else if (fd >= 0)
        close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    return kymo_remote_parse_call(text, call);
}

static int is_there(uint64_t place_ip, uint64_t place_sp, uint64_t ip, uint64_t sp)
{
    /* A call that a handler interrupted begins again with its instruction, which has two bytes. */
    return place_sp == sp && (place_ip == ip || place_ip + 2 == ip);
}

static uint64_t hash_callers(const uint64_t *pcs, size_t n)
{
    return n > 1 ? kymo_hash_words(pcs + 1, n - 1, n) : 0;
}

/* The native stack that a walk found, with the thread's Python frames. */
static kymo_err get_stack(struct kymo_wall_finder *f, struct kymo_wall_memory *m, size_t n,
                          const struct kymo_walk_result *result, uint64_t now_ns, uint32_t *id)
{
    struct kymo_walk_result walk = *result;
    if (f->stacks.python) {
        for (uint32_t i = 0; i < walk.exact_count; i++)
            if (walk.exact[i] < n)
                f->pcs[walk.exact[i]] |= KYMO_PC_EXACT;
        walk.exact_count = 0; /* frames move */
        int is_traced = (f->session->flags & KYMO_SESSION_TRACE_PYTHON) != 0;
        struct kymo_remote_python_stack stack = {f->pcs, f->sps, n, walk.end,
                                                 is_traced ? NULL : &f->task};
        KYMO_TRY(kymo_remote_python_merge(f->stacks.python, f->stacks.remote, m->tid, now_ns,
                                          &m->python, &stack));
        n = stack.n;
        walk.end = stack.end;
    }
    return kymo_wall_stacks_get(&f->stacks, f->pcs, n, &walk, id);
}

/* The stack of a place where the thread was asked before, if it is the same one. What was missing
 * there is then known for all threads. The same native stack may run other Python code. */
static kymo_err find_place(struct kymo_wall_finder *f, struct kymo_wall_memory *m,
                           const struct kymo_remote_frame *lacks_fp, uint64_t now_ns,
                           struct kymo_wall_found *found, int *is_found)
{
    *is_found = 0;
    for (uint32_t i = 0; i < KYMO_WALL_PLACES; i++) {
        const struct kymo_wall_place *p = &m->places[i];
        struct kymo_walk_result walk;
        struct kymo_regs regs = p->regs;
        if (!p->is_known || !is_there(p->regs.ip, p->regs.gpr[KYMO_REG_SP], found->ip, found->sp))
            continue;
        regs.ip = found->ip;
        size_t n = kymo_remote_walk_with_sps(f->stacks.remote, &regs, CALL_KEEPS, f->pcs, f->sps,
                                             f->depth, &walk);
        if (n > 0 && hash_callers(f->pcs, n) == p->callers) {
            *is_found = 1;
            found->stack = p->stack;
            if (lacks_fp->pc)
                kymo_frame_base_learn(f->bases, f->stacks.remote, lacks_fp,
                                      p->regs.gpr[KYMO_REG_FP]);
            return f->stacks.python ? get_stack(f, m, n, &walk, now_ns, &found->stack) : KYMO_OK;
        }
    }
    return KYMO_OK;
}

int kymo_wall_ask_unclear(struct kymo_wall_finder *f, const struct kymo_wall_memory *m)
{
    siginfo_t info = {.si_signo = (int)kymo_load_relaxed(&f->session->signal_now),
                      .si_code = KYMO_ASK_CODE};
    /* Any other signal would be deadly, if an exec came first. */
    if (f->is_deaf || (info.si_signo != SIGURG && info.si_signo != SIGWINCH) ||
        f->asks >= ASK_GRACE + f->looks / ASK_SHARE)
        return 0;
    f->asks++;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)(uintptr_t)f->session->cookie;
    (void)syscall(SYS_rt_tgsigqueueinfo, f->pid, m->tid, info.si_signo, &info);
    return 1;
}

static int is_whole(const struct kymo_walk_result *result)
{
    return result->end == KYMO_WALK_COMPLETE || result->end == KYMO_WALK_DEPTH;
}

/* After a refresh that was for a place in no module. Code that a program makes never is in one: it
 * is to be looked for ever more rarely, since the program cannot map while its mappings are read.
 */
static void set_retry(struct kymo_wall_finder *f, uint64_t now_ns, int has_helped)
{
    uint64_t next_ns = 2 * f->retry_after_ns;
    if (has_helped || next_ns < RETRY_NS)
        next_ns = RETRY_NS;
    f->retry_after_ns = next_ns < RETRY_MOST_NS ? next_ns : RETRY_MOST_NS;
    f->retry_ns = now_ns + f->retry_after_ns;
}

/* Whether the descriptor is of a pipe or a device. A socket may have a time limit, and inotify is
 * not told from others by its number: calls on such end with EINTR. */
static int is_of_pipe(pid_t pid, uint64_t fd)
{
    char path[64];
    char target[8];
    snprintf(path, sizeof path, "/proc/%d/fd/%u", (int)pid, (unsigned)fd);
    ssize_t n = fd <= INT_MAX ? readlink(path, target, sizeof target) : -1;
    return n >= 5 && (memcmp(target, "pipe:", 5) == 0 || memcmp(target, "/dev/", 5) == 0);
}

/* Whether the call goes on after a handler of ours as if nothing had been: signal(7) has the list.
 * A wait for a futex does if it has no time limit. */
static int begins_again(pid_t pid, const struct kymo_remote_call *call)
{
    enum { FUTEX_OPERATIONS = 127, WAIT = 0, WAIT_BITSET = 9 };
    uint64_t operation = call->arguments[1] & FUTEX_OPERATIONS;
    switch (call->number) {
    case SYS_read:
    case SYS_readv:
    case SYS_write:
    case SYS_writev:
        return is_of_pipe(pid, call->arguments[0]);
    case SYS_wait4:
    case SYS_waitid:
    case SYS_flock:
        return 1;
    case SYS_futex:
        return call->arguments[3] == 0 && (operation == WAIT || operation == WAIT_BITSET);
    }
    return 0;
}

static kymo_err walk(struct kymo_wall_finder *f, struct kymo_wall_memory *m,
                     const struct kymo_remote_call *call, uint64_t now_ns,
                     struct kymo_wall_found *found)
{
    kymo_remote *remote = f->stacks.remote;
    struct kymo_walk_result result;
    int is_known;
    struct kymo_regs regs = {.ip = found->ip};
    regs.gpr[KYMO_REG_SP] = found->sp;
    size_t n =
        kymo_remote_walk_with_sps(remote, &regs, SP_ALONE, f->pcs, f->sps, f->depth, &result);
    if (n > 0 && result.end == KYMO_WALK_NO_MODULE && now_ns >= f->retry_ns) {
        if (kymo_remote_refresh(remote) == KYMO_OK)
            n = kymo_remote_walk_with_sps(remote, &regs, SP_ALONE, f->pcs, f->sps, f->depth,
                                          &result);
        set_retry(f, now_ns, result.end != KYMO_WALK_NO_MODULE);
    }
    if (n > 0 && is_whole(&result))
        return get_stack(f, m, n, &result, now_ns, &found->stack);
    struct kymo_remote_frame last = {0};
    if (n > 0 && result.end == KYMO_WALK_UNSUPPORTED)
        last = (struct kymo_remote_frame){f->pcs[n - 1] - (n > 1), result.missing};
    if (last.pc && kymo_frame_base_guess(f->bases, remote, &last, &regs.gpr[KYMO_REG_FP])) {
        /* No frame below has changed it, so it is that of the innermost one. */
        n = kymo_remote_walk_with_sps(remote, &regs, SP_ALONE | 1u << KYMO_REG_FP, f->pcs, f->sps,
                                      f->depth, &result);
        if (n > 0 && is_whole(&result))
            return get_stack(f, m, n, &result, now_ns, &found->stack);
    }
    KYMO_TRY(find_place(f, m, &last, now_ns, found, &is_known));
    if (is_known)
        return KYMO_OK;
    n = kymo_remote_walk_with_sps(remote, &regs, SP_ALONE, f->pcs, f->sps, f->depth, &result);
    if (n > 0)
        KYMO_TRY(get_stack(f, m, n, &result, now_ns, &found->stack));
    else
        found->is_over = kymo_remote_is_gone(f->pid);
    found->lacks_module = n > 0 && result.end == KYMO_WALK_NO_MODULE;
    found->may_ask = !found->is_over && begins_again(f->pid, call);
    return KYMO_OK;
}

kymo_err kymo_wall_find(struct kymo_wall_finder *f, struct kymo_wall_memory *m, uint64_t now_ns,
                        struct kymo_wall_found *found)
{
    struct kymo_remote_call call = {.number = KYMO_WAIT_NONE};
    int is_known = read_call(f, m, &call);
    *found = (struct kymo_wall_found){.is_running = call.is_running,
                                      .call = call.number,
                                      .ip = call.pc,
                                      .sp = call.sp,
                                      .stack = KYMO_EVENT_NONE};
    f->task.bytes = 0;
    if (call.is_running)
        return KYMO_OK;
    if (is_known && f->stacks.remote)
        return walk(f, m, &call, now_ns, found);
    /* What a process that has given up its memory waits in may be told to root alone. */
    found->is_over = kymo_remote_is_gone(f->pid);
    return KYMO_OK;
}

void kymo_wall_remember(struct kymo_wall_finder *f, struct kymo_wall_memory *m,
                        const struct kymo_drain_answer *a)
{
    const struct kymo_record_answer *r = &a->record;
    struct kymo_wall_place *p = &m->places[m->next_place++ % KYMO_WALL_PLACES];
    f->disturbed += r->is_disturbed == 1;
    *p = (struct kymo_wall_place){
        .callers = r->callers, .stack = a->stack, .is_known = a->stack != KYMO_NO_STACK};
    p->regs.ip = r->ip;
    p->regs.gpr[KYMO_REG_SP] = r->sp;
    for (unsigned slot = 0; slot < KYMO_SLOTS_SAVED; slot++)
        p->regs.gpr[kymo_slot_register[slot]] = r->saved[slot];
}

int kymo_wall_is_same(const struct kymo_drain_answer *a, uint64_t ip, uint64_t sp)
{
    return (ip == 0 && sp == 0) || is_there(a->record.ip, a->record.sp, ip, sp);
}
