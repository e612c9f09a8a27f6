/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_copies.c - see stack_copies.h.
 *
 * What is mapped is read when the first thread gets its ring, and again when a stack leads to where
 * no module was known: the process need not live any more when its last copies are walked. Where
 * that does not help, the code is one that was made at run time, and a handler reads it better.
 * Where there can be no handler, it is read again a tenth of a second later.
 */
#include "observe/stack_copies.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/vec.h"
#include "observe/wall_find.h"
#include "sys/proc_file.h"

static const uint32_t copy_sizes[] = {16u << 10, 24u << 10, 32u << 10, 48u << 10, KYMO_COPY_MOST};
/* What a thread may need more than it has needed so far. */
#define GROWTH (8u << 10)
#define FIELDS_BYTES 512u
/* The recorder reads each 20 ms, and may come late. */
#define SPAN_NS 60000000u
#define SPAN_LEAST_NS 30000000u
#define RING_LEAST (64u << 10)
#define RING_MOST (2u << 20)
#define RINGS_MOST (32u << 20)
#define ALONE_MOST (128u << 20)
#define DEPTH_MOST 4096u
#define PROGRAMS_MOST 1024u
#define REFRESH_NS 100000000u
#define END_MOST 256u
#define ENDS 16u
/* Of stacks that are kept of a process; and when its numbers are nearly used up. */
#define PCS_MOST (512u << 10)
#define STACKS_MOST (1u << 29)

/* How much of its stack a program has used, in any of its processes. */
struct program {
    struct kymo_task_exe exe;
    uint64_t used_bytes;
};

struct kymo_copy_budget {
    kymo_remote_store *store;
    size_t ring_bytes;
    size_t rings_most, alone_most; /* where there are handlers, and where there are none */
    KYMO_VEC(struct program) programs;
    unsigned char record[UINT16_MAX + 1] __attribute__((aligned(8))); /* scratch */
};

struct source {
    kymo_stack_copies *copies;
    struct kymo_copied_thread thread;
    uint64_t cpu_ns;  /* at its last sample */
    uint64_t told_ns; /* at its last record */
    uint64_t used_bytes;
    int is_short; /* a stack was longer than its copy */
    struct kymo_perf_ring ring;
};

struct kymo_stack_copies {
    struct kymo_stack_copies_config config;
    struct kymo_wall_stacks stacks;
    KYMO_VEC(struct source) sources;
    uint64_t *pcs;
    uint32_t depth;
    int is_unfit;
    int has_wrong_modules; /* an exec came while they were read */
    uint64_t refresh_ns;   /* not again before; where there is no handler */
    uint64_t ends[ENDS];   /* outermost pcs of whole stacks, the newest ones */
    uint32_t n_ends;
    uint64_t lost;
};

/* ---- life ---- */

/* Of the locked memory that the kernel allows a user for rings, half: events with signals have
 * theirs, too, and so may another profiler. */
static size_t rings_most(void)
{
    char text[32];
    struct rlimit locked;
    if (geteuid() == 0)
        return RINGS_MOST;
    uint64_t bytes = 0;
    if (kymo_proc_file_read(text, sizeof text, "/proc/sys/kernel/perf_event_mlock_kb"))
        bytes = strtoull(text, NULL, 10) * 1024 * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0)
        bytes += locked.rlim_cur < RINGS_MOST ? locked.rlim_cur : RINGS_MOST;
    return bytes / 2 < RINGS_MOST ? (size_t)(bytes / 2) : RINGS_MOST;
}

kymo_err kymo_copy_budget_create(kymo_copy_budget **out)
{
    kymo_copy_budget *b = calloc(1, sizeof *b);
    if (!b || kymo_remote_store_create(&b->store) != KYMO_OK) {
        free(b);
        return KYMO_E_NOMEM;
    }
    b->rings_most = rings_most();
    b->alone_most = geteuid() == 0 ? ALONE_MOST : 2 * b->rings_most;
    *out = b;
    return KYMO_OK;
}

void kymo_copy_budget_destroy(kymo_copy_budget *b)
{
    if (!b)
        return;
    kymo_remote_store_destroy(b->store);
    kymo_vec_deinit(&b->programs);
    free(b);
}

static struct program *find_program(const kymo_copy_budget *b, const struct kymo_task_exe *exe)
{
    for (size_t i = 0; i < b->programs.len; i++) {
        struct program *p = &b->programs.data[i];
        if (p->exe.device == exe->device && p->exe.inode == exe->inode)
            return p;
    }
    return NULL;
}

/* Its later processes are known to use as much. Without memory for it, they are not. */
static void note_program(kymo_stack_copies *c, uint64_t used_bytes)
{
    kymo_copy_budget *b = c->config.budget;
    struct program *p = find_program(b, c->config.exe);
    const struct program added = {*c->config.exe, used_bytes};
    if (p)
        p->used_bytes = p->used_bytes > used_bytes ? p->used_bytes : used_bytes;
    else if (b->programs.len < PROGRAMS_MOST)
        (void)!kymo_vec_push(&b->programs, added);
}

static void note_used(struct source *s, uint64_t used_bytes)
{
    if (used_bytes <= s->used_bytes)
        return;
    s->used_bytes = used_bytes;
    note_program(s->copies, used_bytes);
}

kymo_err kymo_stack_copies_create(const struct kymo_stack_copies_config *config,
                                  kymo_stack_copies **out)
{
    kymo_stack_copies *c = calloc(1, sizeof *c);
    if (!c)
        return KYMO_E_NOMEM;
    uint32_t depth = config->session->depth;
    c->config = *config;
    c->depth = depth < DEPTH_MOST ? depth : DEPTH_MOST;
    c->stacks = (struct kymo_wall_stacks){
        .events = config->events,
        .context = config->events_context,
        .process = config->process,
        .jit = config->jit,
        .pcs_most = PCS_MOST,
    };
    c->pcs = malloc((c->depth + 1) * sizeof *c->pcs);
    if (!c->pcs) {
        free(c);
        return KYMO_E_NOMEM;
    }
    *out = c;
    return KYMO_OK;
}

static void close_ring(kymo_stack_copies *c, struct source *s)
{
    c->config.budget->ring_bytes -= s->ring.data_bytes;
    kymo_perf_ring_close(&s->ring);
}

void kymo_stack_copies_destroy(kymo_stack_copies *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->sources.len; i++)
        close_ring(c, &c->sources.data[i]);
    kymo_vec_deinit(&c->sources);
    kymo_wall_stacks_deinit(&c->stacks);
    free(c->pcs);
    free(c);
}

/* 0: none is long enough. */
static uint32_t copy_size(uint64_t used_bytes)
{
    for (size_t i = 0; used_bytes < KYMO_COPY_MOST && i < KYMO_ARRAY_LEN(copy_sizes); i++)
        if (used_bytes + GROWTH <= copy_sizes[i])
            return copy_sizes[i];
    return 0;
}

uint32_t kymo_copy_budget_bytes(const kymo_copy_budget *b, const struct kymo_task_exe *exe,
                                uint64_t used_bytes)
{
    const struct program *p = find_program(b, exe);
    if (p && p->used_bytes > used_bytes)
        used_bytes = p->used_bytes;
    return copy_size(used_bytes);
}

int kymo_copy_budget_has(const kymo_copy_budget *b, const struct kymo_task_exe *exe)
{
    const struct program *p = find_program(b, exe);
    return p && copy_size(p->used_bytes) > 0;
}

/* 0: it would have to be too large. */
static size_t ring_bytes_for(uint32_t copy_bytes, uint64_t period_ns)
{
    const uint64_t record = copy_bytes + FIELDS_BYTES;
    size_t bytes = RING_LEAST;
    while (bytes < RING_MOST && bytes < SPAN_NS / period_ns * record)
        bytes *= 2;
    return bytes / record * period_ns >= SPAN_LEAST_NS ? bytes : 0;
}

/* Where nothing else samples the thread, a ring that loses some is better than none; and others are
 * to come. */
static size_t ring_bytes_left(const kymo_copy_budget *b, size_t bytes)
{
    if (bytes == 0)
        bytes = RING_MOST;
    const size_t left = b->alone_most > b->ring_bytes ? b->alone_most - b->ring_bytes : 0;
    while (bytes > RING_LEAST && bytes > left / 4)
        bytes /= 2;
    return bytes;
}

int kymo_stack_copies_open(kymo_stack_copies *c, const struct kymo_copied_thread *thread)
{
    kymo_copy_budget *budget = c->config.budget;
    struct source s = {.copies = c, .thread = *thread};
    size_t bytes = ring_bytes_for(thread->copy_bytes, thread->period_ns);
    const size_t most = c->config.is_alone ? budget->alone_most : budget->rings_most;
    if (c->config.is_alone)
        bytes = ring_bytes_left(budget, bytes);
    if (bytes == 0 || budget->ring_bytes + bytes > most ||
        kymo_vec_reserve(&c->sources, 1) != KYMO_OK ||
        kymo_perf_ring_open(&s.ring, thread->event, bytes) != KYMO_OK)
        return 0;
    budget->ring_bytes += bytes;
    c->sources.data[c->sources.len++] = s;
    return 1;
}

static struct source *find_source(const kymo_stack_copies *c, uint32_t thread)
{
    for (size_t i = 0; c && i < c->sources.len; i++)
        if (c->sources.data[i].thread.number == thread)
            return &c->sources.data[i];
    return NULL;
}

int kymo_stack_copies_are_unfit(const kymo_stack_copies *c)
{
    return c && c->is_unfit;
}

int kymo_stack_copies_are_short(const kymo_stack_copies *c, uint32_t thread)
{
    const struct source *s = find_source(c, thread);
    return s && s->is_short;
}

void kymo_stack_copies_forget_modules(kymo_stack_copies *c)
{
    if (c)
        c->has_wrong_modules = 1;
}

uint64_t kymo_stack_copies_lost(const kymo_stack_copies *c)
{
    return c ? c->lost : 0;
}

/* ---- samples ---- */

/* Nor are its program's later processes. */
static void note_unfit(kymo_stack_copies *c)
{
    if (c->config.is_alone)
        return;
    c->is_unfit = 1;
    note_program(c, KYMO_COPY_MOST);
}

static int may_refresh(kymo_stack_copies *c, uint64_t now_ns)
{
    if (!c->config.is_alone)
        return !c->is_unfit;
    if (now_ns < c->refresh_ns)
        return 0;
    c->refresh_ns = now_ns + REFRESH_NS;
    return 1;
}

/* Reads what is mapped; not of the next image, nor of none. Returns whether that is known anew. */
static int refresh(kymo_stack_copies *c)
{
    if (c->has_wrong_modules || !c->config.runs_on(c->config.context) ||
        kymo_remote_refresh(c->stacks.remote) != KYMO_OK)
        return 0;
    c->has_wrong_modules = !c->config.runs_on(c->config.context);
    return !c->has_wrong_modules;
}

kymo_err kymo_stack_copies_note_modules(kymo_stack_copies *c)
{
    return c->stacks.remote
               ? KYMO_OK
               : kymo_remote_create(c->config.budget->store, c->config.pid, &c->stacks.remote);
}

void kymo_stack_copies_renew_modules(kymo_stack_copies *c)
{
    if (c->stacks.remote)
        (void)refresh(c);
}

/* Whether the walk went through code that is in no module that is known. */
static int has_left_modules(kymo_stack_copies *c, size_t n, const struct kymo_walk_result *walk)
{
    if (walk->end == KYMO_WALK_NO_MODULE)
        return 1;
    if (walk->notes & KYMO_WALK_BY_FRAME_POINTER)
        for (size_t i = 0; i < n; i++)
            if (!kymo_remote_module_at(c->stacks.remote, c->pcs[i] - (i > 0)))
                return 1;
    return 0;
}

static int is_end(const kymo_stack_copies *c, uint64_t pc)
{
    for (uint32_t i = 0; i < ENDS; i++)
        if (c->ends[i] == pc)
            return 1;
    return 0;
}

static int has_caller_behind(kymo_stack_copies *c, const struct kymo_stack_copy *copy,
                             uint64_t from)
{
    const uint64_t sp = copy->regs.gpr[KYMO_REG_SP];
    uint64_t pc;
    for (uint64_t at = from - sp; at + sizeof pc <= copy->stack_bytes && at < from - sp + END_MOST;
         at += sizeof pc) {
        memcpy(&pc, copy->stack + at, sizeof pc);
        if (kymo_remote_is_return(c->stacks.remote, pc))
            return 1;
    }
    return 0;
}

/* The outermost frame, of code that cannot be followed: another C library's start files, or what
 * they and thread functions have called, never return. The ABI has the frame pointer 0 there; and
 * the main thread's lies near the stack's beginning. Not if something has been called from behind
 * it: then it is code that uses the register for something else. */
static int is_outermost(const struct source *s, const struct kymo_stack_copy *copy, size_t n,
                        const struct kymo_walk_result *walk)
{
    const uint64_t sp = copy->regs.gpr[KYMO_REG_SP];
    const uint64_t begin = s->thread.stack_begin;
    int is_near = walk->missing <= begin && begin - walk->missing <= END_MOST;
    return walk->end == KYMO_WALK_NO_ROW && n > 1 && walk->missing >= sp &&
           walk->missing - sp < copy->stack_bytes && (walk->notes & KYMO_WALK_AT_ZERO || is_near) &&
           !has_caller_behind(s->copies, copy, walk->missing);
}

/* Where the walk of a process without our library has ended, for whatever reason. Returns how many
 * pcs there are then.
 *
 * Go's runtime goes to a stack of the thread for parts of its work, with the frame pointer of the
 * one that it has left: what the kernel has followed goes on where the copy ends. That is believed
 * if it leads to where other stacks end. */
static size_t go_on_alone(struct source *s, const struct kymo_stack_copy *copy, size_t n,
                          struct kymo_walk_result *walk)
{
    kymo_stack_copies *c = s->copies;
    if (walk->end != KYMO_WALK_BAD_STACK && walk->end != KYMO_WALK_NO_ROW)
        return n;
    const size_t joined = kymo_stack_copy_join_chain(copy, c->pcs, n, c->depth);
    if (joined > n && is_end(c, c->pcs[joined - 1])) {
        walk->notes |= KYMO_WALK_BY_FRAME_POINTER;
        n = joined;
    } else if (!is_outermost(s, copy, n, walk)) {
        return n;
    }
    walk->end = KYMO_WALK_COMPLETE;
    walk->notes &= ~(uint32_t)KYMO_WALK_IN_GAP;
    return n;
}

static size_t walk_copy(kymo_stack_copies *c, const struct kymo_stack_copy *copy,
                        struct kymo_walk_result *walk)
{
    const struct kymo_remote_copy from = {&copy->regs, copy->stack, copy->stack_bytes};
    return kymo_remote_walk_copy(c->stacks.remote, &from, c->pcs, c->depth, walk);
}

/* It leads beyond the copy. Else it leads to another stack; or beyond a page that was never used,
 * where the kernel stops; or below the stack pointer, where it copies nothing and assembly may keep
 * the place of its caller (sha512 of OpenSSL does). A handler reads all of these. */
static void note_bad_stack(struct source *s, const struct kymo_stack_copy *copy,
                           const struct kymo_walk_result *walk)
{
    uint64_t end = copy->regs.gpr[KYMO_REG_SP] + copy->stack_bytes;
    uint64_t begin = s->thread.stack_begin ? s->thread.stack_begin : UINT64_MAX;
    if (copy->stack_bytes == 0) /* an exec has come */
        return;
    if (copy->stack_bytes < copy->asked_bytes || walk->missing < end || walk->missing >= begin) {
        note_unfit(s->copies);
        return;
    }
    s->is_short = !s->copies->config.is_alone || s->thread.copy_bytes < KYMO_COPY_MOST;
    /* Later processes of the program get longer ones. */
    note_used(s, s->thread.copy_bytes / 2 * 3);
}

static kymo_err find_stack(struct source *s, const struct kymo_stack_copy *copy, uint32_t *stack)
{
    kymo_stack_copies *c = s->copies;
    struct kymo_walk_result walk;
    *stack = KYMO_EVENT_NONE;
    if (!c->stacks.remote)
        return KYMO_OK;
    size_t n = walk_copy(c, copy, &walk);
    if (has_left_modules(c, n, &walk) && may_refresh(c, copy->kernel.time_ns) && refresh(c)) {
        n = walk_copy(c, copy, &walk);
        if (has_left_modules(c, n, &walk) || kymo_remote_has_python(c->stacks.remote))
            note_unfit(c);
    }
    c->is_unfit |= c->stacks.next_stack > STACKS_MOST;
    if (c->has_wrong_modules)
        return KYMO_OK;
    if (c->config.is_alone) {
        n = go_on_alone(s, copy, n, &walk);
        if (walk.end == KYMO_WALK_COMPLETE && !is_end(c, c->pcs[n - 1]))
            c->ends[c->n_ends++ % ENDS] = c->pcs[n - 1];
    }
    if (walk.end == KYMO_WALK_BAD_STACK)
        note_bad_stack(s, copy, &walk);
    else if (walk.end == KYMO_WALK_UNSUPPORTED) /* what was read of a file was not all */
        note_unfit(c);
    else if (walk.notes & KYMO_WALK_IN_GAP)
        /* Its code could not be followed; a handler needs no permission to read it. Later processes
         * of the program begin with copies all the same: any may come through such code once. */
        c->is_unfit = 1;
    else if (copy->regs.gpr[KYMO_REG_SP] < s->thread.stack_begin)
        note_used(s, s->thread.stack_begin - copy->regs.gpr[KYMO_REG_SP]);
    return kymo_wall_stacks_get(&c->stacks, c->pcs, n, &walk, stack);
}

static kymo_err on_record(void *context, const struct kymo_perf_record *record)
{
    struct source *s = context;
    kymo_stack_copies *c = s->copies;
    struct kymo_stack_copy copy;
    uint64_t lost = kymo_perf_record_lost(record);
    c->lost += lost;
    c->is_unfit |= lost > 0;
    if (!kymo_stack_copy_parse(record, &copy))
        return KYMO_OK;
    s->told_ns = copy.cpu_ns;
    /* Where there is no user's part, the next sample has the weight of this one. */
    if (!copy.has_user)
        return KYMO_OK;
    struct kymo_copied_sample sample = {
        .thread = s->thread.number,
        .time_ns = copy.kernel.time_ns,
        .weight_ns = copy.cpu_ns - s->cpu_ns,
        .is_first = s->cpu_ns == 0,
    };
    s->cpu_ns = copy.cpu_ns;
    KYMO_TRY(find_stack(s, &copy, &sample.stack));
    KYMO_TRY(kymo_kernel_stacks_join(c->config.kernel_stacks, c->config.process, &copy.kernel,
                                     &sample.stack));
    return c->config.sample(c->config.context, &sample);
}

static kymo_err read_source(kymo_stack_copies *c, struct source *s)
{
    /* Who comes late once may come later still: handlers have more room. */
    c->is_unfit |= kymo_perf_ring_unread(&s->ring) > s->ring.data_bytes / 4 * 3;
    const struct kymo_perf_ring_reader reader = {on_record, s, c->config.budget->record,
                                                 sizeof c->config.budget->record};
    return kymo_perf_ring_read(&s->ring, &reader);
}

kymo_err kymo_stack_copies_read(kymo_stack_copies *c)
{
    for (size_t i = 0; c && i < c->sources.len; i++)
        KYMO_TRY(read_source(c, &c->sources.data[i]));
    return KYMO_OK;
}

/* The kernel tells of what found no room when there is room again, which is not to be. */
static void count_missing(kymo_stack_copies *c, const struct source *s)
{
    uint64_t counted_ns;
    if (read(s->thread.event, &counted_ns, sizeof counted_ns) == (ssize_t)sizeof counted_ns &&
        counted_ns > s->told_ns)
        c->lost += (counted_ns - s->told_ns) / s->thread.period_ns;
}

kymo_err kymo_stack_copies_close(kymo_stack_copies *c, uint32_t thread)
{
    struct source *s = find_source(c, thread);
    if (!s)
        return KYMO_OK;
    kymo_err err = read_source(c, s);
    count_missing(c, s);
    close_ring(c, s);
    *s = c->sources.data[--c->sources.len];
    return err;
}
