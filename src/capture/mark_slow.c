/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_slow.c - markers that need more than mark.c does: see mark.h.
 *
 *   thread known? -> site known? -> within the limit? -> stack -> claim -> write -> publish
 *
 * A record is written straight into the block, into what room there is; if it turns out to need
 * more, it is written once more into the next block. What could not be written is counted for its
 * site.
 *
 * The limit of a type counts in seconds of CLOCK_MONOTONIC. Half of it is shared out equally among
 * the type's sites, the other half is for those that come first: a site that makes very many leaves
 * others theirs. The two ends of an interval are not counted, since one without the other tells
 * something false.
 */
#include <string.h>

#include "base/atomic.h"
#include "buffer/record.h"
#include "capture/fork_child.h"
#include "capture/mark.h"
#include "capture/mark_payload.h"
#include "capture/mark_quick.h"
#include "capture/python_stack.h"
#include "capture/thread.h"
#include "sys/clock.h"
#include "sys/raw.h"

#define HEAD_WORDS_MAX 12u
/* A thread that fills so many blocks between two rounds of the recorder tells it to come. */
#define BLOCKS_A_RING 8u

struct job {
    uint64_t frame; /* of the function that the program called */
    struct kymo_capture_thread *thread;
    struct kymo_mark_site *site;
    const void *payload;
    const struct kymo_mark_cell *cells;
    uint32_t cell_count;
    uint32_t number; /* of the site */
    uint32_t flags;  /* enum kymo_mark_flags */
    uint32_t stack;  /* depot id */
    uint64_t clock, start;
    uint64_t made; /* 0: at `clock` */
    struct kymo_mark_options options;
};

/* ---- who may write, and where ---- */

/* No signal of ours may come in between, which would do the same. */
static void adopt(struct kymo_capture_process *p)
{
    uint64_t mask;
    /* Where all slots are taken, that is counted once for a thread that the recorder finds, and not
     * for each of its markers. */
    if (kymo_is_quiet(p) || !kymo_slot_is_free(p->session, &p->plan))
        return;
    kymo_raw_block_all(&mask);
    if (!kymo_thread_is_of(p))
        kymo_thread_adopt(p);
    kymo_raw_set_mask(&mask, NULL);
}

KYMO_NOINLINE struct kymo_capture_thread *kymo_mark_thread(void)
{
    struct kymo_capture_thread *t = kymo_thread_self;
    struct kymo_capture_process *p = kymo_capturing();
    if (kymo_likely(p && kymo_thread_is_of(p) && t->mark_epoch))
        return t;
    if (!p) {
        kymo_fork_attach_now();
        p = kymo_capturing();
    }
    if (!p || p->mark_epoch == 0) {
        kymo_mark_links_off();
        return NULL;
    }
    /* One that has ended stays so. */
    if (kymo_thread_self != &kymo_thread_dead && !kymo_thread_is_of(p))
        adopt(p);
    t = kymo_thread_self;
    if (t != &kymo_thread_dead && !kymo_thread_is_of(p))
        return NULL;
    return t && t->mark_epoch ? t : NULL;
}

KYMO_NOINLINE void *kymo_mark_room(struct kymo_capture_thread *t, struct kymo_stream_writer *w,
                                   uint32_t size_bytes)
{
    struct kymo_capture_process *p = t->process;
    struct kymo_block *before = w->block;
    uint64_t mask;
    int is_full = w->used + size_bytes > w->room;
    int is_masked = is_full && !kymo_is_quiet(p);
    void *at = NULL;
    /* A handler that leaves by siglongjmp would leave the chain of blocks half made. */
    if (is_masked)
        kymo_raw_block_all(&mask);
    if (is_full)
        kymo_mark_links_look();
    if (!is_full || !kymo_load_relaxed(&p->session->stopped))
        at = kymo_stream_reserve(w, p->session, &p->plan, t->number, size_bytes);
    if (w->block != before && w->blocks % BLOCKS_A_RING == 0) {
        kymo_add_relaxed(&p->session->filled, 1u);
        kymo_wake_recorder(p);
    }
    if (is_masked)
        kymo_raw_set_mask(&mask, NULL);
    return at;
}

/* In the block that there is: never more than that, whatever has happened to the stream. */
KYMO_INLINE uint32_t room_left(const struct kymo_stream_writer *w)
{
    return w->used < w->room ? w->room - w->used : 0;
}

static void lose(struct kymo_capture_process *p, uint32_t number, enum kymo_loss_kind kind)
{
    kymo_count_loss(p, kind);
    if (number)
        kymo_add_relaxed(&kymo_session_site_counts(p->session, &p->plan, number)->lost, 1u);
}

/* ---- limits ---- */

/* One more in this second, of so many. */
static int take_one(uint64_t *window, uint64_t second, uint32_t most)
{
    uint64_t seen = kymo_load_relaxed(window);
    uint64_t next;
    do {
        uint32_t taken = (uint32_t)(seen >> 32) == (uint32_t)second ? (uint32_t)seen : 0;
        if (taken >= most)
            return 0;
        next = second << 32 | (taken + 1);
    } while (!kymo_cas_relaxed(window, &seen, next));
    return 1;
}

/* Not inlined: its frame is not below the walk of a stack. */
static KYMO_NOINLINE int is_within_limit(struct kymo_capture_process *p, uint32_t number)
{
    struct kymo_mark_known *site = &p->known[number];
    struct kymo_mark_known *type = &p->known[site->type];
    uint32_t sites = kymo_load_relaxed(&type->sites);
    sites = sites ? sites : 1;
    /* Of a limit that is less than two for each, the first share is one. */
    uint32_t share = site->limit / 2 / sites;
    share += share == 0 && sites > 1 && site->limit >= sites;
    /* The coarse one is a page of the kernel's that is read, whatever the program forbids itself.
     */
    uint64_t second = kymo_clock_ns(CLOCK_MONOTONIC_COARSE) / 1000000000u + 1;
    return take_one(&site->window, second, share) ||
           take_one(&type->window, second, site->limit - share * sites);
}

static int passes_limit(const struct job *job)
{
    struct kymo_capture_process *p = job->thread->process;
    uint32_t phase = job->flags & KYMO_MARK_PHASE;
    if (!(job->site->slow & KYMO_MARK_LIMITED) || phase == KYMO_PHASE_BEGIN ||
        phase == KYMO_PHASE_END || is_within_limit(p, job->number))
        return 1;
    kymo_add_relaxed(&kymo_session_site_counts(p->session, &p->plan, job->number)->capped, 1u);
    return 0;
}

/* ---- records ---- */

struct head {
    uint64_t words[HEAD_WORDS_MAX];
    uint32_t count;
};

static void add(struct head *head, struct job *job, uint32_t flag, uint64_t word)
{
    job->flags |= flag;
    head->words[head->count++] = word;
}

/* The words that flags name, in their order; that of the name is filled in when it is written. */
static void make_head(struct head *head, struct job *job, uint32_t cells)
{
    const struct kymo_mark_options *o = &job->options;
    uint32_t epoch = job->thread->mark_epoch;
    head->count = 2;
    if ((job->flags & KYMO_MARK_PHASE) == KYMO_PHASE_INTERVAL)
        add(head, job, KYMO_MARK_START, job->start);
    if (job->stack)
        add(head, job, KYMO_MARK_STACK, job->stack);
    else if (o->stack != KYMO_STACK_NONE && o->stack != KYMO_STACK_HERE)
        add(head, job, KYMO_MARK_BACKTRACE, o->stack);
    if (o->thread != KYMO_THREAD_THIS)
        add(head, job, KYMO_MARK_THREAD, o->thread);
    /* A track of a forked child's parent is not the child's. */
    if (o->track && (o->track & ~(uint64_t)UINT16_MAX) == epoch)
        add(head, job, KYMO_MARK_TRACK, o->track & UINT16_MAX);
    if (o->owner)
        add(head, job, KYMO_MARK_OWNER, o->owner);
    if ((job->flags & KYMO_MARK_PHASE) >= KYMO_PHASE_BEGIN)
        add(head, job, KYMO_MARK_ID, o->id);
    if (job->made)
        add(head, job, KYMO_MARK_MADE, job->made);
    if (o->name)
        add(head, job, KYMO_MARK_NAME, 0);
    if (job->cells)
        add(head, job, KYMO_MARK_CELLS, cells);
    head->words[0] = job->clock;
    head->words[1] = KYMO_RECORD_MARKER | (uint64_t)job->number << 32 | (uint64_t)job->flags << 48;
}

/* Writes the record to the room at `to`; returns its size, which may be more. *cut: texts that are
 * not whole. */
static KYMO_NOINLINE uint32_t write_record(struct job *job, char *to, uint32_t room, uint32_t limit,
                                           uint32_t *cut)
{
    const struct kymo_mark_options *o = &job->options;
    struct kymo_capture_process *p = job->thread->process;
    struct head head;
    make_head(&head, job, 0);
    uint32_t head_bytes = head.count * 8;
    struct kymo_mark_pen pen = {to, 0, limit - head_bytes, 0, 0};
    if (room > head_bytes) {
        pen.to += head_bytes;
        pen.room = room - head_bytes;
    }
    if (job->cells) {
        uint32_t at;
        uint32_t cells = kymo_mark_put_cells(&pen, job->cells, job->cell_count, &at);
        pen.cut += cells < job->cell_count;
        head.words[head.count - 1] = cells;
    } else {
        kymo_mark_put_payload(&pen, p, job->site, job->payload);
    }
    if (o->name) {
        size_t len =
            o->name_len ? o->name_len : kymo_mark_text_len(o->name, KYMO_MARK_TEXT_MAX + 1);
        struct kymo_text_slot slot = kymo_mark_put_text(&pen, o->name, len);
        memcpy(&head.words[head.count - 1 - (job->cells != NULL)], &slot, sizeof slot);
    }
    uint32_t padding = -pen.used & 7u;
    uint32_t size_bytes = head_bytes + pen.used + padding;
    *cut = pen.cut;
    if (size_bytes > room)
        return size_bytes;
    head.words[1] |= (uint64_t)size_bytes << 16;
    memcpy(to, head.words, head_bytes);
    memset(to + head_bytes + pen.used, 0, padding);
    return size_bytes;
}

static void record(struct job *job)
{
    struct kymo_capture_thread *t = job->thread;
    struct kymo_capture_process *p = t->process;
    struct kymo_stream_writer *w = kymo_claim(t, KYMO_STREAM_TASK, job->frame);
    if (!w) {
        lose(p, job->number, KYMO_LOSS_MARK_BUSY);
        return;
    }
    uint32_t cut;
    /* Where it has a stack of its own, that may be in a task. */
    uint32_t label = job->stack ? kymo_python_task_room(&t->task) : 0;
    uint32_t lead = label ? kymo_python_task_lead(&t->task) : 0;
    uint32_t room = room_left(w);
    char *to = room ? (char *)w->block + w->used : NULL;
    room = room > label ? room - label : 0;
    uint32_t size_bytes =
        write_record(job, room ? to + lead : to, room, KYMO_MARK_RECORD_MAX - label, &cut);
    if (size_bytes > room) {
        to = kymo_mark_room(t, w, size_bytes + label);
        if (!to) {
            kymo_claim_end(w);
            /* A marker after the end of the recording is not a loss. */
            if (!kymo_load_relaxed(&p->session->stopped))
                lose(p, job->number, KYMO_LOSS_MARK_NO_BLOCK);
            return;
        }
        /* Texts may have changed meanwhile: no longer than this. */
        size_bytes = write_record(job, to + lead, size_bytes, size_bytes, &cut);
    }
    if (kymo_unlikely(label))
        (void)kymo_python_task_put(&t->task, to, size_bytes, job->clock);
    t->marks++;
    kymo_mark_publish(w, size_bytes + label);
    if (kymo_unlikely(cut))
        kymo_add_relaxed(&kymo_session_site_counts(p->session, &p->plan, job->number)->cut, cut);
}

static void make(struct job *job)
{
    if (!passes_limit(job))
        return;
    if (job->options.stack != KYMO_STACK_HERE) {
        record(job);
        return;
    }
    struct kymo_mark_stack_hold hold;
    kymo_mark_stack_begin(job->thread, &hold);
    job->stack = hold.id;
    if (!hold.id)
        kymo_count_loss(job->thread->process, KYMO_LOSS_MARK_STACK);
    record(job);
    kymo_mark_stack_end(job->thread, &hold);
}

/* ---- jobs ---- */

/* 0: it cannot be recorded, and that is counted where it can be. */
static int begin(struct job *job, struct kymo_mark_site *site)
{
    struct kymo_capture_thread *t = kymo_mark_thread();
    struct kymo_capture_process *p = t ? t->process : kymo_capturing();
    if (!p || p->mark_epoch == 0)
        return 0;
    job->site = site;
    job->thread = t;
    job->number = kymo_mark_site_define(p, site);
    if (t && job->number)
        return 1;
    lose(p, job->number, t ? KYMO_LOSS_MARK_NO_SITE : KYMO_LOSS_MARK_NO_THREAD);
    return 0;
}

static void take_options(struct job *job, const struct kymo_mark_options *options)
{
    if (!options)
        return;
    /* Another version's may be shorter or longer. */
    size_t size = options->size;
    memcpy(&job->options, options, size && size < sizeof *options ? size : sizeof *options);
}

static void take_timing(struct job *job)
{
    const struct kymo_mark_options *o = &job->options;
    uint64_t now = kymo_process_clock(job->thread->process);
    job->clock = now;
    job->flags = KYMO_PHASE_INSTANT;
    switch (o->timing) {
    case KYMO_TIMING_AT:
        job->clock = o->start;
        break;
    case KYMO_TIMING_INTERVAL:
        job->flags = KYMO_PHASE_INTERVAL;
        job->start = o->start;
        job->clock = o->end;
        break;
    case KYMO_TIMING_SINCE:
        job->flags = KYMO_PHASE_INTERVAL;
        job->start = o->start;
        break;
    case KYMO_TIMING_START:
        job->flags = KYMO_PHASE_BEGIN;
        job->clock = o->start ? o->start : now;
        break;
    case KYMO_TIMING_END:
        job->flags = KYMO_PHASE_END;
        job->clock = o->end ? o->end : now;
        break;
    default:
        break;
    }
    /* It is recorded now, whatever it tells of: nothing has happened that is still to come. */
    if (job->clock > now)
        job->clock = now;
    job->made = job->clock == now ? 0 : now;
}

static KYMO_NOINLINE void make_with(struct kymo_mark_site *site, const void *payload,
                                    const struct kymo_mark_cell *cells, uint32_t count,
                                    const struct kymo_mark_options *options, uint64_t frame)
{
    struct job job = {.frame = frame, .payload = payload, .cells = cells, .cell_count = count};
    if (!begin(&job, site))
        return;
    take_options(&job, options);
    take_timing(&job);
    make(&job);
}

void kymo_mark_slowly(struct kymo_mark_site *site, const void *payload, uint64_t frame)
{
    make_with(site, payload, NULL, 0, NULL, frame);
}

static KYMO_NOINLINE void mark_with_options(struct kymo_mark_site *site, const void *payload,
                                            const struct kymo_mark_options *options, uint64_t frame)
{
    if (!kymo_mark_end_of_interval(site, payload, options, frame))
        make_with(site, payload, NULL, 0, options, frame);
}

void kymo_mark_with(struct kymo_mark_site *site, const void *payload,
                    const struct kymo_mark_options *options)
{
    if (options)
        mark_with_options(site, payload, options, KYMO_FRAME_BEGIN());
    else
        kymo_mark(site, payload);
}

void kymo_mark_cells(struct kymo_mark_site *site, const struct kymo_mark_cell *cells,
                     uint32_t count, const struct kymo_mark_options *options)
{
    if (options || !kymo_mark_plain_cells(site, cells, count, KYMO_FRAME_BEGIN()))
        make_with(site, NULL, cells, count, options, KYMO_FRAME_BEGIN());
}

void kymo_mark_scope_end_slowly(struct kymo_mark_scope *scope, uint64_t end, uint64_t frame)
{
    struct job job = {.frame = frame, .payload = scope->payload};
    if (!begin(&job, scope->site))
        return;
    take_options(&job, scope->options);
    job.flags = KYMO_PHASE_INTERVAL;
    job.start = scope->start;
    job.clock = end;
    make(&job);
}

uint64_t kymo_mark_interval(void)
{
    static uint64_t last;
    return kymo_add_relaxed(&last, 1u) + 1;
}
