/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_stacks.c - see kernel_stacks.h.
 *
 * An event that counts in the kernel writes a record at each of its interrupts and sends a signal,
 * which the thread takes when it is back in user mode. So the user's part of a stack that was
 * interrupted in the kernel is what the handler finds next: the place that called. A system call
 * that takes several periods has as many records and one signal, and the weight of that sample is
 * theirs in equal shares, since each interrupt stands for one period.
 *
 *   record (kernel) record (kernel)  sample      record (user)  sample
 *   ───────┬───────────────┬───────────┬──────────────┬───────────┬──────► time
 *          └───── all of these go to ──┘              └─ goes to ─┘
 *
 * A record's time is the kernel's CLOCK_MONOTONIC, a sample's the session's clock converted: they
 * may be off by what that conversion is off.
 *
 * The tables are of the recorder's own making and last as long as the recording: chains (the
 * kernel's part alone, as addresses), and joins (a chain on a stack, which is a stack of the
 * recording). Beyond their limits a chain is "somewhere in the kernel".
 */
#include "observe/kernel_stacks.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/vec.h"
#include "buffer/record.h"
#include "observe/kallsyms.h"

#define RINGS_MAX 256u
#define RING_BYTES_TOTAL (16u << 20)
/* Two rounds of interrupts, with a stack of some thirty frames each. */
#define RING_SPAN_NS 40000000u
#define RING_RECORD_BYTES 320u
#define RING_BYTES_MIN 16384u
#define RING_BYTES_MAX (512u << 10)
#define MARKS_MAX 16384u
#define CHAINS_MAX 65536u
#define JOINS_MAX (1u << 20)
#define CLOCKS_DIFFER_NS 50000u
/* The drain counts a process's stacks from 0; ours are far from them. */
#define FIRST_STACK 0x80000000u
#define IDS_MAX 0x40000000u
#define NO_CHAIN UINT32_MAX
#define SOMEWHERE 0u /* the chain of one frame that is not known */

/* One interrupt. */
struct mark {
    uint64_t time_ns;
    uint32_t chain; /* NO_CHAIN: not in the kernel */
};

/* An event of a thread, and what came of it. */
struct source {
    uint32_t process;
    pid_t tid;
    uint64_t opened_ns;
    int is_open;
    struct kymo_perf_ring ring;
    KYMO_VEC(struct mark) marks;
    size_t taken; /* marks that samples have had */
};

struct chain {
    size_t first; /* in pcs */
    uint32_t depth;
};

struct join {
    uint32_t process;
    uint32_t caller;
    uint32_t chain;
    uint32_t stack; /* its id, which no other one gets later */
};

struct kymo_kernel_stacks {
    const kymo_event_handler *events;
    void *context;
    size_t ring_bytes;
    size_t rings;
    uint64_t tolerance_ns;
    uint64_t lost;
    KYMO_VEC(struct source *) sources;
    KYMO_VEC(uint64_t) pcs;
    KYMO_VEC(struct chain) chains;
    kymo_index chain_index;
    KYMO_VEC(struct join) joins;
    kymo_index join_index;
    uint32_t next_join;
    int names_tried;
    int all_tried;        /* what the cache cannot tell was asked of the kernel */
    kymo_kallsyms *names; /* NULL: not readable, or not read yet */
    uint32_t *symbol_of;  /* by number of a name: its id in the recording + 1; 0: not written */
    uint32_t symbol_count;
};

static size_t ring_bytes_for(uint64_t period_ns)
{
    uint64_t wanted = RING_SPAN_NS / (period_ns ? period_ns : 1) * RING_RECORD_BYTES;
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    while (bytes < RING_BYTES_MIN || (bytes < wanted && bytes < RING_BYTES_MAX))
        bytes *= 2;
    return bytes;
}

kymo_err kymo_kernel_stacks_create(const kymo_event_handler *events, void *context,
                                   uint64_t period_ns, kymo_kernel_stacks **out)
{
    kymo_kernel_stacks *k = calloc(1, sizeof *k);
    if (!k)
        return KYMO_E_NOMEM;
    k->events = events;
    k->context = context;
    kymo_kernel_stacks_set_period(k, period_ns);
    kymo_err err = kymo_vec_push(&k->pcs, 0);
    if (err == KYMO_OK)
        err = kymo_vec_push(&k->chains, (struct chain){0, 1}); /* SOMEWHERE */
    if (err != KYMO_OK) {
        kymo_kernel_stacks_destroy(k);
        return err;
    }
    *out = k;
    return KYMO_OK;
}

void kymo_kernel_stacks_set_period(kymo_kernel_stacks *k, uint64_t period_ns)
{
    if (!k)
        return;
    k->ring_bytes = ring_bytes_for(period_ns);
    k->tolerance_ns = period_ns / 4 < CLOCKS_DIFFER_NS ? period_ns / 4 : CLOCKS_DIFFER_NS;
}

static void free_source(kymo_kernel_stacks *k, struct source *s)
{
    if (s->ring.map)
        k->rings--;
    kymo_perf_ring_close(&s->ring);
    kymo_vec_deinit(&s->marks);
    free(s);
}

void kymo_kernel_stacks_destroy(kymo_kernel_stacks *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < k->sources.len; i++)
        free_source(k, k->sources.data[i]);
    kymo_vec_deinit(&k->sources);
    kymo_vec_deinit(&k->pcs);
    kymo_vec_deinit(&k->chains);
    kymo_index_deinit(&k->chain_index);
    kymo_vec_deinit(&k->joins);
    kymo_index_deinit(&k->join_index);
    kymo_kallsyms_destroy(k->names);
    free(k->symbol_of);
    free(k);
}

kymo_err kymo_kernel_stacks_finish(kymo_kernel_stacks *k, uint32_t process)
{
    if (!k || k->lost == 0)
        return KYMO_OK;
    kymo_event_loss e = {process, KYMO_LOSS_KINDS, k->lost, "interrupts: kernel's part of stacks"};
    return k->events->loss(k->context, &e);
}

/* ---- chains ---- */

/* Names are read when the first interrupt in the kernel is: most programs have one soon, and one
 * that has none needs none. */
kymo_err kymo_kernel_stacks_need_names(kymo_kernel_stacks *k)
{
    if (!k || k->names_tried)
        return KYMO_OK;
    k->names_tried = 1;
    kymo_err err = kymo_kallsyms_get(&k->names);
    if (err == KYMO_E_NOMEM)
        return err;
    if (err == KYMO_OK) {
        k->symbol_of = calloc(kymo_kallsyms_count(k->names), sizeof *k->symbol_of);
        return k->symbol_of ? KYMO_OK : KYMO_E_NOMEM;
    }
    kymo_event_note e = {
        0, KYMO_EVENT_NONE, KYMO_NOTE_INFO,
        "the kernel's functions have no names: /proc/kallsyms hides them (kymo doctor "
        "says how to see them)"};
    return k->events->note ? k->events->note(k->context, &e) : KYMO_OK;
}

static kymo_err find_chain(kymo_kernel_stacks *k, const struct kymo_kernel_record *r,
                           uint32_t *chain)
{
    *chain = NO_CHAIN;
    if (r->depth == 0)
        return KYMO_OK;
    KYMO_TRY(kymo_kernel_stacks_need_names(k));
    *chain = SOMEWHERE;
    if (!k->names)
        return KYMO_OK;
    uint64_t hash = kymo_hash_words(r->pcs, r->depth, kymo_hash_secret());
    size_t probe = 0;
    uint32_t at;
    while (kymo_index_find(&k->chain_index, hash, &probe, &at)) {
        const struct chain *c = &k->chains.data[at];
        if (c->depth == r->depth &&
            memcmp(&k->pcs.data[c->first], r->pcs, r->depth * sizeof *r->pcs) == 0) {
            *chain = at;
            return KYMO_OK;
        }
    }
    if (k->chains.len == CHAINS_MAX) {
        k->lost++;
        return KYMO_OK;
    }
    struct chain added = {k->pcs.len, r->depth};
    for (uint32_t i = 0; i < r->depth; i++)
        KYMO_TRY(kymo_vec_push(&k->pcs, r->pcs[i]));
    KYMO_TRY(kymo_vec_push(&k->chains, added));
    *chain = (uint32_t)k->chains.len - 1;
    return kymo_index_put(&k->chain_index, hash, *chain);
}

/* ---- sources ---- */

struct reading {
    kymo_kernel_stacks *stacks;
    struct source *source;
};

static kymo_err on_record(void *context, const struct kymo_kernel_record *record)
{
    struct reading *to = context;
    struct source *s = to->source;
    struct mark mark = {.time_ns = record->time_ns};
    KYMO_TRY(find_chain(to->stacks, record, &mark.chain));
    if (s->taken > 0 && s->taken == s->marks.len)
        s->taken = s->marks.len = 0;
    if (s->marks.len - s->taken == MARKS_MAX) {
        to->stacks->lost++;
        return KYMO_OK;
    }
    if (s->marks.len == s->marks.cap && s->taken > s->marks.len / 2) {
        s->marks.len -= s->taken;
        memmove(s->marks.data, s->marks.data + s->taken, s->marks.len * sizeof mark);
        s->taken = 0;
    }
    return kymo_vec_push(&s->marks, mark);
}

static kymo_err read_source(kymo_kernel_stacks *k, struct source *s)
{
    struct reading to = {k, s};
    return kymo_kernel_ring_read(&s->ring, on_record, &to, &k->lost);
}

/* The thread's event that was the last one to be opened, but not after time_ns: a tid may have had
 * another thread before. */
static struct source *find_source(kymo_kernel_stacks *k, uint32_t process, pid_t tid,
                                  uint64_t time_ns)
{
    for (size_t i = k->sources.len; i-- > 0;) {
        struct source *s = k->sources.data[i];
        if (s->tid == tid && s->process == process && s->opened_ns <= time_ns)
            return s;
    }
    return NULL;
}

static kymo_err add_source(kymo_kernel_stacks *k, uint32_t process, pid_t tid, uint64_t now_ns,
                           struct source **out)
{
    struct source *s = calloc(1, sizeof *s);
    if (!s)
        return KYMO_E_NOMEM;
    *s = (struct source){.process = process, .tid = tid, .opened_ns = now_ns, .is_open = 1};
    kymo_err err = kymo_vec_push(&k->sources, s);
    if (err != KYMO_OK)
        free(s);
    else
        *out = s;
    return err;
}

int kymo_kernel_stacks_have_room(const kymo_kernel_stacks *k)
{
    return k && k->rings < RINGS_MAX && (k->rings + 1) * k->ring_bytes <= RING_BYTES_TOTAL;
}

void kymo_kernel_stacks_open(kymo_kernel_stacks *k, uint32_t process, pid_t tid, int fd,
                             uint64_t now_ns)
{
    struct kymo_perf_ring ring;
    struct source *s;
    if (!kymo_kernel_stacks_have_room(k) ||
        kymo_perf_ring_open(&ring, fd, k->ring_bytes) != KYMO_OK)
        return;
    if (add_source(k, process, tid, now_ns, &s) != KYMO_OK) {
        kymo_perf_ring_close(&ring);
        return;
    }
    s->ring = ring;
    k->rings++;
}

void kymo_kernel_stacks_close(kymo_kernel_stacks *k, uint32_t process, pid_t tid)
{
    struct source *s = k ? find_source(k, process, tid, UINT64_MAX) : NULL;
    if (!s || !s->is_open)
        return;
    if (read_source(k, s) != KYMO_OK)
        k->lost++;
    if (s->ring.map)
        k->rings--;
    kymo_perf_ring_close(&s->ring);
    s->is_open = 0;
}

void kymo_kernel_stacks_forget(kymo_kernel_stacks *k, uint32_t process, pid_t tid)
{
    size_t kept = 0;
    for (size_t i = 0; k && i < k->sources.len; i++) {
        struct source *s = k->sources.data[i];
        if (s->tid == tid && s->process == process && !s->is_open)
            free_source(k, s);
        else
            k->sources.data[kept++] = s;
    }
    if (k)
        k->sources.len = kept;
}

kymo_err kymo_kernel_stacks_feed(kymo_kernel_stacks *k, uint32_t process, pid_t tid,
                                 const struct kymo_kernel_record *record)
{
    struct source *s = find_source(k, process, tid, UINT64_MAX);
    if (!s)
        KYMO_TRY(add_source(k, process, tid, 0, &s));
    struct reading to = {k, s};
    return on_record(&to, record);
}

/* ---- joins ---- */

/* Those of the cache do not do: what the kernel says now. Symbols that were told have another
 * number then, and are told again. */
static kymo_err read_all_names(kymo_kernel_stacks *k)
{
    kymo_kallsyms *names;
    if (k->all_tried)
        return KYMO_OK;
    k->all_tried = 1;
    kymo_err err = kymo_kallsyms_read(&names);
    if (err != KYMO_OK)
        return err == KYMO_E_NOMEM ? err : KYMO_OK;
    uint32_t *symbol_of = calloc(kymo_kallsyms_count(names), sizeof *symbol_of);
    if (!symbol_of) {
        kymo_kallsyms_destroy(names);
        return KYMO_E_NOMEM;
    }
    kymo_kallsyms_destroy(k->names);
    free(k->symbol_of);
    k->names = names;
    k->symbol_of = symbol_of;
    return KYMO_OK;
}

static kymo_err name_frame(kymo_kernel_stacks *k, uint64_t pc, int is_return,
                           kymo_event_kernel_frame *frame)
{
    struct kymo_kallsym found;
    *frame = (kymo_event_kernel_frame){.symbol = KYMO_EVENT_NONE};
    if (!k->names || pc == 0)
        return KYMO_OK;
    /* The call is the instruction before a return address. */
    pc -= is_return != 0;
    enum kymo_kallsym_answer answer = kymo_kallsyms_find(k->names, pc, &found);
    if (answer == KYMO_KALLSYM_UNCERTAIN) {
        KYMO_TRY(read_all_names(k));
        answer = kymo_kallsyms_find(k->names, pc, &found);
    }
    if (answer != KYMO_KALLSYM_FOUND)
        return KYMO_OK;
    uint32_t *id = &k->symbol_of[found.number];
    if (*id == 0) {
        kymo_event_kernel_symbol e = {k->symbol_count, found.address, found.name, found.module};
        KYMO_TRY(k->events->kernel_symbol(k->context, &e));
        *id = ++k->symbol_count;
    }
    *frame = (kymo_event_kernel_frame){*id - 1, (uint32_t)found.offset};
    return KYMO_OK;
}

static kymo_err write_stack(kymo_kernel_stacks *k, const struct join *join)
{
    kymo_event_kernel_frame frames[KYMO_KERNEL_DEPTH_MAX];
    const struct chain *c = &k->chains.data[join->chain];
    for (uint32_t i = 0; i < c->depth; i++)
        KYMO_TRY(name_frame(k, k->pcs.data[c->first + i], i > 0, &frames[i]));
    kymo_event_kernel_stack e = {join->process, join->stack, join->caller, c->depth, frames};
    return k->events->kernel_stack(k->context, &e);
}

static uint64_t hash_of(const struct join *j)
{
    const uint64_t words[] = {(uint64_t)j->process << 32 | j->caller, j->chain};
    return kymo_hash_words(words, KYMO_ARRAY_LEN(words), kymo_hash_secret());
}

/* The stack of the recording that is this chain on that stack. */
static kymo_err find_join(kymo_kernel_stacks *k, struct join join, uint32_t *stack)
{
    const uint64_t hash = hash_of(&join);
    size_t probe = 0;
    uint32_t at;
    while (kymo_index_find(&k->join_index, hash, &probe, &at)) {
        const struct join *j = &k->joins.data[at];
        if (j->process == join.process && j->caller == join.caller && j->chain == join.chain) {
            *stack = j->stack;
            return KYMO_OK;
        }
    }
    *stack = join.caller;
    if (k->joins.len == JOINS_MAX || k->next_join == IDS_MAX) {
        k->lost++;
        return KYMO_OK;
    }
    join.stack = FIRST_STACK + k->next_join++;
    KYMO_TRY(write_stack(k, &join));
    KYMO_TRY(kymo_vec_push(&k->joins, join));
    *stack = join.stack;
    return kymo_index_put(&k->join_index, hash, (uint32_t)k->joins.len - 1);
}

kymo_err kymo_kernel_stacks_join(kymo_kernel_stacks *k, uint32_t process,
                                 const struct kymo_kernel_record *record, uint32_t *stack)
{
    uint32_t chain = NO_CHAIN;
    if (k)
        KYMO_TRY(find_chain(k, record, &chain));
    if (chain == NO_CHAIN)
        return KYMO_OK;
    return find_join(k, (struct join){process, *stack, chain, 0}, stack);
}

kymo_err kymo_kernel_stacks_sweep(kymo_kernel_stacks *k, uint32_t process, kymo_key_map *used)
{
    uint32_t left = 0;
    const size_t count = k ? k->joins.len : 0;
    for (size_t i = 0; i < count; i++) {
        const struct join *j = &k->joins.data[i];
        if (j->process == process && kymo_key_map_find(used, j->caller))
            KYMO_TRY(kymo_key_map_add(used, j->stack));
    }
    for (size_t i = 0; i < count; i++) {
        const struct join j = k->joins.data[i];
        if (j.process != process || kymo_key_map_find(used, j.stack))
            k->joins.data[left++] = j;
    }
    if (left == count)
        return KYMO_OK;
    k->joins.len = left;
    kymo_index_deinit(&k->join_index);
    for (uint32_t i = 0; i < left; i++)
        KYMO_TRY(kymo_index_put(&k->join_index, hash_of(&k->joins.data[i]), i));
    return KYMO_OK;
}

kymo_err kymo_kernel_stacks_split(kymo_kernel_stacks *k, uint32_t process, pid_t tid,
                                  const kymo_event_sample *sample, kymo_sample_emit emit,
                                  void *context)
{
    uint64_t until_ns = sample->time_ns + (k ? k->tolerance_ns : 0);
    struct source *s = k ? find_source(k, process, tid, until_ns) : NULL;
    if (!s)
        return emit(context, sample);
    KYMO_TRY(read_source(k, s));
    size_t n = 0;
    while (s->taken + n < s->marks.len && s->marks.data[s->taken + n].time_ns <= until_ns)
        n++;
    if (n == 0)
        return emit(context, sample);
    kymo_event_sample part = *sample;
    uint64_t left_ns = sample->weight_ns;
    for (size_t i = n; i > 0; i--) {
        struct mark mark = s->marks.data[s->taken++];
        /* The last one is the sample's own. */
        if (i == 1 || mark.time_ns == 0 || mark.time_ns > sample->time_ns)
            part.time_ns = sample->time_ns;
        else
            part.time_ns = mark.time_ns;
        part.weight_ns = i == 1 ? left_ns : sample->weight_ns / n;
        left_ns -= part.weight_ns;
        part.stack = sample->stack;
        if (mark.chain != NO_CHAIN)
            KYMO_TRY(
                find_join(k, (struct join){process, sample->stack, mark.chain, 0}, &part.stack));
        KYMO_TRY(emit(context, &part));
    }
    return KYMO_OK;
}
