/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote_python.c - see remote_python.h.
 *
 * Which PyThreadState is a thread's: each has the value of pthread_self(), and glibc keeps the tid
 * at a fixed distance from there. The lists of interpreters and of their threads are read when a
 * thread is not found among those of the last reading; the answer is checked each time it is used.
 *
 * Code objects are told apart as in the code area of a session. That of a new one is read again
 * when its texts were copied: another thread may have freed it, if this one ran after all.
 */
#include "observe/remote_python.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "buffer/code_copy.h"
#include "buffer/python_merge.h"

#define RETRY_NS 10000000u
#define RETRY_MOST_NS 1280000000u
#define INTERPRETERS_MAX 64u
#define STATES_MAX 8192u
#define NEXT_STATE 8u
/* The table of offsets at the begin of _PyRuntime is shorter, and all of it is longer. */
#define TABLE_BYTES 1024u

struct state {
    uint64_t address;
    pid_t tid;
};

struct kymo_remote_python {
    struct kymo_remote_python_sink sink;
    const kymo_remote *remote; /* of the merge at hand */
    struct kymo_python python;
    uint64_t tid_offset;
    uint32_t depth;
    enum { NOT_YET, DESCRIBED, UNKNOWN } is_described;
    kymo_err err; /* of the merge at hand */
    KYMO_VEC(struct state) states;
    KYMO_VEC(struct kymo_code_identity) codes; /* by number */
    kymo_index index;
    struct kymo_python_outside outside;
    struct kymo_python_pages pages;
    struct kymo_python_stack stack;
    struct {
        struct kymo_code_record record;
        char bytes[KYMO_CODE_BYTES_MAX];
    } code;
    unsigned char copies[KYMO_PYTHON_PAGES][KYMO_PYTHON_PAGE];
    uint64_t words[]; /* depth of them */
};

/* ---- memory ---- */

static bool read_page(void *context, uint64_t address, void *to)
{
    const struct kymo_remote_python *p = context;
    return kymo_remote_read(p->remote, address, to, KYMO_PYTHON_PAGE) == KYMO_PYTHON_PAGE;
}

static void forget_pages(struct kymo_remote_python *p)
{
    memset(p->pages.page, 0, sizeof p->pages.page);
}

static uint64_t load(struct kymo_remote_python *p, uint64_t address)
{
    uint64_t value;
    return kymo_python_load(&p->pages, address, &value) ? value : 0;
}

/* ---- the interpreter ---- */

/* Its offsets, which are partly in the process. */
static int describe(struct kymo_remote_python *p)
{
    unsigned char table[TABLE_BYTES];
    if (p->is_described != NOT_YET)
        return p->is_described == DESCRIBED;
    if (kymo_remote_read(p->remote, p->python.runtime, table, sizeof table) != sizeof table)
        return 0;
    p->is_described = kymo_python_offsets_of(p->python.minor, table, &p->python.offsets) &&
                              kymo_python_lists_of(p->python.minor, table, &p->python.lists)
                          ? DESCRIBED
                          : UNKNOWN;
    return p->is_described == DESCRIBED;
}

/* ---- states of threads ---- */

/* Whose state it is; 0: no thread's. */
static pid_t tid_of(struct kymo_remote_python *p, uint64_t state)
{
    int32_t tid = 0;
    uint64_t thread = load(p, state + p->python.offsets.thread_id);
    if (!thread ||
        kymo_remote_read(p->remote, thread + p->tid_offset, &tid, sizeof tid) != sizeof tid)
        return 0;
    return tid;
}

/* A list may change while it is read: what is missing then is looked for again. */
static kymo_err read_states(struct kymo_remote_python *p)
{
    uint64_t interpreter = load(p, p->python.runtime + p->python.lists.interpreters);
    p->states.len = 0;
    for (uint32_t i = 0; interpreter && i < INTERPRETERS_MAX; i++) {
        uint64_t state = load(p, interpreter + p->python.lists.threads);
        for (; state && p->states.len < STATES_MAX; state = load(p, state + NEXT_STATE))
            KYMO_TRY(kymo_vec_push(&p->states, (struct state){state, tid_of(p, state)}));
        interpreter = load(p, interpreter + p->python.lists.next);
    }
    return KYMO_OK;
}

/* A thread may have a state in more than one interpreter. The main one is the last. */
static uint64_t known_state(struct kymo_remote_python *p, pid_t tid)
{
    for (size_t i = p->states.len; i-- > 0;)
        if (p->states.data[i].tid == tid && tid_of(p, p->states.data[i].address) == tid)
            return p->states.data[i].address;
    return 0;
}

static kymo_err find_state(struct kymo_remote_python *p, pid_t tid, uint64_t now_ns,
                           struct kymo_remote_python_thread *t)
{
    if (t->state && tid_of(p, t->state) == tid)
        return KYMO_OK;
    t->state = known_state(p, tid);
    if (t->state || now_ns < t->retry_ns)
        return KYMO_OK;
    forget_pages(p);
    KYMO_TRY(read_states(p));
    t->state = known_state(p, tid);
    uint64_t next_ns = 2 * t->retry_after_ns;
    if (t->state || next_ns < RETRY_NS)
        next_ns = RETRY_NS;
    t->retry_after_ns = next_ns < RETRY_MOST_NS ? next_ns : RETRY_MOST_NS;
    t->retry_ns = t->state ? 0 : now_ns + t->retry_after_ns;
    return KYMO_OK;
}

/* ---- code ---- */

static uint64_t hash_of(const struct kymo_code_identity *identity)
{
    return kymo_hash_bytes(identity, sizeof *identity, kymo_hash_secret());
}

/* Tells the sink of a new one. Returns 0 if it changed meanwhile, or cannot be kept. */
static uint32_t learn(struct kymo_remote_python *p, const struct kymo_code_identity *identity,
                      uint64_t hash)
{
    struct kymo_code_record *r = &p->code.record;
    struct kymo_code_identity again;
    uint32_t number = (uint32_t)p->codes.len;
    if (number >= KYMO_PC_PYTHON_CODE_MAX)
        return 0;
    const struct kymo_code_room room = kymo_code_room(&p->python, &p->pages, identity);
    kymo_code_fill(&p->python, &p->pages, identity, &room, r);
    forget_pages(p);
    if (!kymo_code_identify(&p->python, &p->pages, identity->address, &again) ||
        memcmp(&again, identity, sizeof again) != 0)
        return 0;
    const struct kymo_drain_code code = kymo_drain_code_of(number, r, p->code.bytes);
    kymo_python_task_learn(&p->python, identity->address, p->code.bytes, r->name_len,
                           p->code.bytes + r->name_len, r->file_len);
    p->err = kymo_vec_push(&p->codes, *identity);
    if (p->err == KYMO_OK)
        p->err = kymo_index_put(&p->index, hash, number);
    if (p->err == KYMO_OK)
        p->err = p->sink.code(p->sink.context, &code);
    return number + 1;
}

/* Its number + 1; 0: it cannot be told. */
static uint32_t number_of(struct kymo_remote_python *p, const struct kymo_code_identity *identity)
{
    uint64_t hash = hash_of(identity);
    size_t probe = 0;
    uint32_t at;
    while (kymo_index_find(&p->index, hash, &probe, &at))
        if (memcmp(&p->codes.data[at], identity, sizeof *identity) == 0)
            return at + 1;
    return learn(p, identity, hash);
}

static uint64_t word_of(void *context, const struct kymo_python_frame *f)
{
    struct kymo_remote_python *p = context;
    struct kymo_code_identity identity;
    uint64_t number = 0;
    if (p->err == KYMO_OK && kymo_code_identify(&p->python, &p->pages, f->code, &identity)) {
        if (kymo_code_is_hidden(&identity))
            return 0;
        number = number_of(p, &identity);
    }
    return KYMO_PC_PYTHON | number << KYMO_PC_PYTHON_CODE_SHIFT | f->at;
}

/* ---- stacks ---- */

int kymo_remote_python_has(const kymo_remote_python *p, uint64_t pc)
{
    return pc >= p->python.lo && pc < p->python.hi;
}

static int has_interpreter(const kymo_remote_python *p, const struct kymo_remote_python_stack *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (kymo_remote_python_has(p, s->pcs[i] & ~KYMO_PC_EXACT))
            return 1;
    return 0;
}

kymo_err kymo_remote_python_merge(kymo_remote_python *p, const kymo_remote *remote, pid_t tid,
                                  uint64_t now_ns, struct kymo_remote_python_thread *thread,
                                  struct kymo_remote_python_stack *s)
{
    p->remote = remote;
    /* Of a cut stack the interpreter's frames may be missing. */
    if ((s->end == KYMO_WALK_COMPLETE && !has_interpreter(p, s)) || !describe(p))
        return KYMO_OK;
    forget_pages(p);
    KYMO_TRY(find_state(p, tid, now_ns, thread));
    if (!thread->state)
        return KYMO_OK;
    struct kymo_python_merge m = {.python = &p->python,
                                  .pages = &p->pages,
                                  .stack = &p->stack,
                                  .pcs = s->pcs,
                                  .sps = s->sps,
                                  .words = p->words,
                                  .n = (uint32_t)s->n,
                                  .room = p->depth,
                                  .context = p};
    p->err = KYMO_OK;
    uint32_t used = kymo_python_merge_run(&m, thread->state, &s->end, word_of);
    if (s->task)
        kymo_python_task_find(&p->python, &p->pages, &p->stack, s->task);
    if (used > 0) {
        memcpy(s->pcs, p->words, used * sizeof *p->words);
        s->n = used;
    }
    return p->err;
}

kymo_event_frame kymo_remote_python_frame(const kymo_remote_python *p, uint64_t word)
{
    uint32_t number = (uint32_t)(word >> KYMO_PC_PYTHON_CODE_SHIFT) & KYMO_PC_PYTHON_CODE_MAX;
    const struct kymo_drain_frame f = {.address = (uint32_t)word,
                                       .module = KYMO_NO_MODULE,
                                       .code = number ? number - 1 : KYMO_NO_CODE,
                                       .is_code = 1};
    return p->sink.frame(p->sink.context, &f);
}

/* ---- life ---- */

kymo_err kymo_remote_python_create(const struct kymo_remote_python_sink *sink,
                                   const struct kymo_session *s, uint32_t depth,
                                   kymo_remote_python **out)
{
    *out = NULL;
    if (!s->python_read || !s->python_tid_offset)
        return KYMO_OK;
    struct kymo_remote_python *p = calloc(1, sizeof *p + depth * sizeof *p->words);
    if (!p)
        return KYMO_E_NOMEM;
    p->sink = *sink;
    p->depth = depth;
    p->tid_offset = s->python_tid_offset;
    p->python = (struct kymo_python){.minor = s->python,
                                     .runtime = s->python_runtime,
                                     .code_type = s->python_code_type,
                                     .eval_lo = s->python_eval_lo,
                                     .eval_hi = s->python_eval_hi,
                                     .lo = s->python_lo,
                                     .hi = s->python_hi};
    p->outside = (struct kymo_python_outside){read_page, p, p->copies};
    p->pages.outside = &p->outside;
    *out = p;
    return KYMO_OK;
}

void kymo_remote_python_destroy(kymo_remote_python *p)
{
    if (!p)
        return;
    kymo_vec_deinit(&p->states);
    kymo_vec_deinit(&p->codes);
    kymo_index_deinit(&p->index);
    free(p);
}
