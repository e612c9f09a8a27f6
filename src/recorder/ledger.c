/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "observe/resident.h"
#include "observe/task.h"
#include "recorder/allocator_events.h"
#include "sys/clock.h"

#define FIRST_STEP_NS 50000000u
#define STEP_NS 1000000000u
#define REST 100u /* pause after a look, in multiples of its CPU time */
/* Limit of stacks of ended threads, at different places. */
#define OLD_STACKS_MAX 4096u
/* glibc puts a thread's control block, some 2.3 KiB, above the known stack address. */
#define CONTROL_BLOCK_BYTES 2304u

struct look {
    uint64_t time_ns; /* 0: no look yet */
    struct kymo_resident resident;
    struct kymo_allocator_sums said; /* allocator's figures; -1: not known */
    uint64_t said_ns;
};

struct kymo_ledger_book {
    struct kymo_ledger_config config;
    uint32_t process;
    char name[16]; /* mapping's name in /proc */
    uint64_t page_bytes;
    uint64_t step_ns, next_ns;
    struct look last, most;
    uint64_t own_bytes, own_first;
    KYMO_VEC(struct kymo_resident_claim) claims;
    KYMO_VEC(struct kymo_resident_claim) old_stacks;
};

kymo_err kymo_ledger_create(const struct kymo_ledger_config *config, pid_t pid, uint32_t process,
                            uint64_t first_ns, kymo_ledger_book **out)
{
    kymo_ledger_book *b = calloc(1, sizeof *b);
    if (!b)
        return KYMO_E_NOMEM;
    b->config = *config;
    b->process = process;
    b->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    b->step_ns = FIRST_STEP_NS;
    b->next_ns = first_ns;
    snprintf(b->name, sizeof b->name, "%d", (int)pid);
    *out = b;
    return KYMO_OK;
}

void kymo_ledger_destroy(kymo_ledger_book *b)
{
    if (!b)
        return;
    kymo_resident_deinit(&b->last.resident);
    kymo_resident_deinit(&b->most.resident);
    kymo_vec_deinit(&b->claims);
    kymo_vec_deinit(&b->old_stacks);
    free(b);
}

/* ---- areas with an owner known from the session ---- */

static kymo_err claim(kymo_ledger_book *b, uint64_t lo, uint64_t hi, uint32_t line,
                      uint32_t is_over)
{
    /* The program may have written anything. */
    if (lo >= hi || hi > INT64_MAX || lo % b->page_bytes || hi % b->page_bytes)
        return KYMO_OK;
    return kymo_vec_push(&b->claims, (struct kymo_resident_claim){lo, hi, line, is_over});
}

static kymo_err remember(kymo_ledger_book *b, uint64_t lo, uint64_t hi)
{
    for (size_t i = 0; i < b->old_stacks.len; i++)
        if (b->old_stacks.data[i].hi == hi)
            return KYMO_OK;
    if (b->old_stacks.len >= OLD_STACKS_MAX)
        return KYMO_OK;
    return kymo_vec_push(&b->old_stacks,
                         (struct kymo_resident_claim){lo, hi, KYMO_LEDGER_STACKS, 1});
}

/* A slot keeps the bounds of its last thread, whose stack libc keeps for the next thread. */
static kymo_err claim_stacks(kymo_ledger_book *b)
{
    uint32_t slots = kymo_load_relaxed(&b->config.session->slots_touched);
    slots = slots < b->config.plan->threads ? slots : b->config.plan->threads;
    for (uint32_t i = 0; i < slots; i++) {
        struct kymo_thread_slot *s = kymo_session_slot(b->config.session, b->config.plan, i);
        uint64_t lo = kymo_load_relaxed(&s->stack_lo), hi = kymo_load_relaxed(&s->stack_hi);
        if (s->flags & KYMO_SLOT_MAIN || lo >= hi || hi > INT64_MAX / 2)
            continue; /* the main thread's stack has a name in /proc */
        uint64_t bytes = (hi - lo + b->page_bytes - 1) / b->page_bytes * b->page_bytes;
        hi = (hi + CONTROL_BLOCK_BYTES + b->page_bytes - 1) / b->page_bytes * b->page_bytes;
        lo = hi > bytes ? hi - bytes : 0;
        if (kymo_load_relaxed(&s->state) == KYMO_SLOT_LIVE)
            KYMO_TRY(claim(b, lo, hi, KYMO_LEDGER_STACKS, 0));
        KYMO_TRY(remember(b, lo, hi));
    }
    for (size_t i = 0; i < b->old_stacks.len; i++)
        KYMO_TRY(kymo_vec_push(&b->claims, b->old_stacks.data[i]));
    return KYMO_OK;
}

static int compare_claims(const void *a, const void *b)
{
    const struct kymo_resident_claim *x = a;
    const struct kymo_resident_claim *y = b;
    if (x->is_over != y->is_over)
        return x->is_over < y->is_over ? -1 : 1;
    return (x->lo > y->lo) - (x->lo < y->lo);
}

static int compare_places(const void *a, const void *b)
{
    const struct kymo_resident_claim *x = a;
    const struct kymo_resident_claim *y = b;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    return compare_claims(a, b);
}

/* Sorts by address. Where two overlap, the current one wins, then the lower one. */
static void order_claims(kymo_ledger_book *b)
{
    struct kymo_resident_claim *c = b->claims.data;
    size_t kept = 0;
    if (b->claims.len == 0)
        return;
    qsort(c, b->claims.len, sizeof *c, compare_places);
    for (size_t i = 1; i < b->claims.len; i++) {
        if (c[i].lo >= c[kept].hi)
            c[++kept] = c[i];
        else if (c[kept].is_over && !c[i].is_over)
            c[kept] = c[i];
    }
    b->claims.len = kept + 1;
}

static kymo_err collect_claims(kymo_ledger_book *b)
{
    const struct kymo_session *s = b->config.session;
    b->claims.len = 0;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(s->own); i++)
        KYMO_TRY(claim(b, kymo_load_relaxed(&s->own[i].lo), kymo_load_relaxed(&s->own[i].hi),
                       KYMO_LEDGER_KYMO, 0));
    KYMO_TRY(claim_stacks(b));
    order_claims(b);
    return KYMO_OK;
}

/* ---- looks ---- */

static void hear_allocator(kymo_ledger_book *b, struct look *look)
{
    struct kymo_allocator_answer answer;
    look->said = (struct kymo_allocator_sums){-1, -1, -1, -1};
    if (!kymo_allocator_answer_read(b->config.session, &answer))
        return;
    look->said_ns = kymo_drain_time_ns(b->config.drain, answer.clock);
    look->said = kymo_allocator_answer_sums(&answer);
}

static void note_own(struct kymo_ledger_book *b, const struct look *look)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < look->resident.pieces.len; i++)
        bytes += look->resident.pieces.data[i].bytes;
    if (b->last.time_ns == 0 && b->config.has_past)
        b->own_first = bytes;
    if (bytes > b->own_first && bytes - b->own_first > b->own_bytes)
        b->own_bytes = bytes - b->own_first;
}

uint64_t kymo_ledger_own_bytes(const kymo_ledger_book *b)
{
    return b ? b->own_bytes : 0;
}

static uint64_t rss_of(const struct look *look)
{
    return look->time_ns ? look->resident.lines[KYMO_LEDGER_RSS] : 0;
}

/* If reading fails, the look before remains the last one. */
void kymo_ledger_look(kymo_ledger_book *b, uint64_t now_ns)
{
    if (!b)
        return;
    struct look new = {.time_ns = now_ns};
    if (collect_claims(b) != KYMO_OK ||
        kymo_resident_look(&new.resident, b->config.root, b->name, b->claims.data, b->claims.len) !=
            KYMO_OK ||
        !kymo_task_image_lives(b->config.image)) { /* the memory may have been that of another
                                                    * image */
        kymo_resident_deinit(&new.resident);
        return;
    }
    hear_allocator(b, &new);
    note_own(b, &new);
    if (rss_of(&b->last) > rss_of(&b->most)) {
        kymo_resident_deinit(&b->most.resident);
        b->most = b->last;
    } else {
        kymo_resident_deinit(&b->last.resident);
    }
    b->last = new;
}

void kymo_ledger_round(kymo_ledger_book *b, uint64_t now_ns)
{
    if (!b || now_ns < b->next_ns)
        return;
    uint64_t before_ns = kymo_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    kymo_ledger_look(b, now_ns);
    uint64_t rest_ns = (kymo_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns) * REST;
    b->next_ns = now_ns + (b->step_ns > rest_ns ? b->step_ns : rest_ns);
    b->step_ns = b->step_ns < STEP_NS / 2 ? b->step_ns * 2 : STEP_NS;
}

/* ---- recording ---- */

static kymo_err tell(kymo_ledger_book *b, const struct look *look, uint32_t line, uint64_t bytes,
                     uint64_t low, uint64_t high, const char *name)
{
    kymo_event_ledger e = {
        .process = b->process,
        .line = line,
        .time_ns = look->time_ns,
        .bytes = (int64_t)bytes,
        .low = low,
        .high = high,
        .name = name,
    };
    return b->config.events->ledger(b->config.context, &e);
}

static kymo_err tell_said(kymo_ledger_book *b, const struct look *look, uint32_t line,
                          int64_t bytes)
{
    return bytes < 0 ? KYMO_OK
                     : tell(b, look, line, (uint64_t)bytes, look->said_ns, look->said_ns, "");
}

static kymo_err tell_look(kymo_ledger_book *b, const struct look *look)
{
    const struct kymo_resident *r = &look->resident;
    for (uint32_t i = 1; i < KYMO_LEDGER_LINES_SHOWN; i++)
        if (r->lines[i] > 0)
            KYMO_TRY(tell(b, look, i, r->lines[i], 0, 0, ""));
    for (size_t i = 0; i < r->named.len; i++)
        KYMO_TRY(tell(b, look, r->named.data[i].line, r->named.data[i].bytes, 0, 0,
                      r->named.data[i].name));
    for (size_t i = 0; i < r->pieces.len; i++) {
        const struct kymo_resident_piece *p = &r->pieces.data[i];
        KYMO_TRY(
            tell(b, look, KYMO_LEDGER_PIECE, p->bytes, p->lo, p->hi, p->is_heap ? "heap" : ""));
    }
    KYMO_TRY(tell_said(b, look, KYMO_LEDGER_SAID_ALLOCATED, look->said.allocated));
    KYMO_TRY(tell_said(b, look, KYMO_LEDGER_SAID_FREE, look->said.free));
    KYMO_TRY(tell_said(b, look, KYMO_LEDGER_SAID_OWN, look->said.own));
    return tell_said(b, look, KYMO_LEDGER_SAID_TAKEN, look->said.mapped);
}

kymo_err kymo_ledger_finish(kymo_ledger_book *b)
{
    if (!b || !b->config.events->ledger)
        return KYMO_OK;
    if (rss_of(&b->most) > rss_of(&b->last) + rss_of(&b->last) / 10)
        KYMO_TRY(tell_look(b, &b->most));
    return b->last.time_ns ? tell_look(b, &b->last) : KYMO_OK;
}
