/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.c - see drain.h: its life, its rounds, and the streams of all slots.
 */
#include "buffer/drain.h"

#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "buffer/drain_state.h"
#include "buffer/stream.h"
#include "sys/pages.h"

#define CACHE_LINE 64u
/* The bytes that a round reads, or little more: some 50 ms. A process that has written more delays
 * the programs that wait for the recorder no longer than this. */
#define ROUND_BYTES (8u << 20)

uint64_t kymo_drain_time_ns(const kymo_drain *d, uint64_t clock)
{
    return kymo_drain_clock_ns(&d->clock, clock);
}

static void *part(char *base, size_t *used, size_t n, size_t size)
{
    void *at = base ? base + *used : NULL;
    *used += (n * size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    return at;
}

/* Lays the tables out from base on; with NULL it only counts. Returns their bytes. They are one
 * mapping: a mapping of its own for each cost a process that ends at once a tenth of all. */
static size_t place_tables(kymo_drain *d, char *base)
{
    const struct kymo_session_plan *plan = &d->plan;
    size_t used = 0;
    d->slots = part(base, &used, plan->threads, sizeof *d->slots);
    d->block_owner = part(base, &used, kymo_session_blocks(plan), sizeof *d->block_owner);
    d->modules = part(base, &used, plan->modules, sizeof *d->modules);
    for (int i = 0; i < 2; i++)
        d->numbers[i] = part(base, &used, plan->depot_words, sizeof *d->numbers[i]);
    d->codes = part(base, &used, plan->code_words, sizeof *d->codes);
    d->marks.known = part(base, &used, plan->definitions + 1u, sizeof *d->marks.known);
    return used;
}

kymo_err kymo_drain_create(struct kymo_session *session, const struct kymo_session_plan *plan,
                           const struct kymo_drain_sink *sink, kymo_drain **out)
{
    kymo_drain *d = calloc(1, sizeof *d);
    if (!d)
        return KYMO_E_NOMEM;
    d->session = session;
    d->plan = *plan;
    d->sink = *sink;
    d->table_bytes = place_tables(d, NULL);
    d->tables = kymo_pages_take(1, d->table_bytes);
    if (!d->tables) {
        kymo_drain_destroy(d);
        return KYMO_E_NOMEM;
    }
    place_tables(d, d->tables);
    d->slots[0].open = 0; /* a page that is read before it is written is fetched twice */
    d->epoch = session->depot_epoch;
    kymo_drain_clock_init(&d->clock, (enum kymo_clock_kind)session->clock_kind);
    d->lap.anchor = d->lap.anchor_before = d->clock.now;
    kymo_store_release(&session->heartbeat, d->clock.now.clock);
    *out = d;
    return KYMO_OK;
}

void kymo_drain_since(kymo_drain *d, uint64_t earliest_ns)
{
    kymo_drain_clock_since(&d->clock, earliest_ns);
}

void kymo_drain_destroy(kymo_drain *d)
{
    if (!d)
        return;
    kymo_pages_give(d->tables, 1, d->table_bytes);
    kymo_vec_deinit(&d->marks.fields);
    kymo_vec_deinit(&d->frames);
    kymo_vec_deinit(&d->functions);
    kymo_vec_deinit(&d->calls);
    kymo_drain_clock_deinit(&d->clock);
    free(d);
}

/* ---- streams ---- */

static kymo_err read_answer(kymo_drain *d, const struct kymo_slot_reader *slot, const char *at)
{
    struct kymo_drain_answer a = {.thread = slot->thread, .stack = KYMO_NO_STACK};
    memcpy(&a.record, at, sizeof a.record);
    if (!d->sink.answer)
        return KYMO_OK;
    if (a.record.head.stack)
        KYMO_TRY(kymo_drain_read_stack(d, a.record.head.stack, &a.stack));
    a.time_ns = kymo_drain_time_ns(d, a.record.head.clock);
    return d->sink.answer(d->sink.context, &a);
}

static kymo_err read_sample(kymo_drain *d, struct kymo_slot_reader *slot, const char *at)
{
    struct kymo_record_sample r;
    memcpy(&r, at, sizeof r);
    slot->weight_ns += r.weight_ns;
    slot->unknown += r.weight_ns == 0;
    uint32_t stack = KYMO_NO_STACK;
    if (r.head.stack)
        KYMO_TRY(kymo_drain_read_stack(d, r.head.stack, &stack));
    uint64_t time_ns = kymo_drain_time_ns(d, r.head.clock);
    return d->sink.sample(d->sink.context,
                          &(struct kymo_drain_sample){slot->thread, stack, time_ns, r.weight_ns});
}

static kymo_err read_record(kymo_drain *d, struct kymo_slot_reader *slot, const char *at,
                            uint32_t size)
{
    const struct kymo_record *head = (const struct kymo_record *)(const void *)at;
    uint32_t kind = kymo_load_relaxed(&head->kind);
    d->last_clock = kymo_load_relaxed(&head->clock);
    switch (kind) {
    case KYMO_RECORD_SAMPLE_CPU:
        if (size == sizeof(struct kymo_record_sample))
            return read_sample(d, slot, at);
        break;
    case KYMO_RECORD_ANSWER:
        if (size == sizeof(struct kymo_record_answer))
            return read_answer(d, slot, at);
        break;
    case KYMO_RECORD_MARKER:
    case KYMO_RECORD_COUNT:
    case KYMO_RECORD_LABEL:
    case KYMO_RECORD_BACKTRACE:
        return kymo_drain_read_mark(d, slot->thread, kind, at, size);
    case KYMO_RECORD_FUNCTION:
        return kymo_drain_read_function(d, at, size);
    case KYMO_RECORD_THREAD_NAME:
        return kymo_drain_read_name(d, slot->thread, at, size);
    case KYMO_RECORD_ALLOC:
    case KYMO_RECORD_FREE:
    case KYMO_RECORD_RESIZE:
    case KYMO_RECORD_MAP:
    case KYMO_RECORD_INHERIT:
        return kymo_drain_read_heap(d, slot->thread, kind, at, size);
    default:
        break;
    }
    d->noticed[KYMO_LOSS_CORRUPT]++;
    return KYMO_OK;
}

/* Takes possession of a block for a stream; 0 if it is out of range or another stream's. */
static int own_block(kymo_drain *d, uint32_t number, uint32_t owner)
{
    if (number == 0 || number > kymo_session_blocks(&d->plan) || d->block_owner[number - 1] != 0) {
        d->noticed[KYMO_LOSS_CORRUPT]++;
        return 0;
    }
    d->block_owner[number - 1] = owner + 1;
    return 1;
}

static void give_block(kymo_drain *d, uint32_t number)
{
    d->block_owner[number - 1] = 0;
    kymo_block_give(d->session, &d->plan, number - 1);
}

static kymo_err read_block(kymo_drain *d, struct kymo_slot_reader *slot,
                           struct kymo_stream_reader *reader, const struct kymo_block *block,
                           int is_live, int *is_cut)
{
    *is_cut = 0;
    uint32_t room = kymo_session_block_bytes(&d->plan, reader->block - 1);
    /* Pairs with the release of kymo_stream_publish. */
    uint64_t head = kymo_load_acquire(&block->head);
    /* What the writer held back, and has not published: it is gone, or will not go on in time. */
    if (!is_live || d->is_last)
        head += kymo_load_acquire(&block->held);
    if (head > room || head < reader->pos) {
        d->noticed[KYMO_LOSS_CORRUPT]++;
        return KYMO_OK;
    }
    if (reader == &slot->streams[KYMO_STREAM_CALLS])
        return kymo_drain_read_calls(d, slot, (const char *)block, (uint32_t)head,
                                     is_live && !d->is_last, is_cut);
    while (reader->pos + sizeof(struct kymo_record) <= head) {
        const char *at = (const char *)block + reader->pos;
        uint32_t size =
            kymo_load_relaxed(&((const struct kymo_record *)(const void *)at)->size_bytes);
        if (size < sizeof(struct kymo_record) || size % 8 || size > head - reader->pos) {
            d->noticed[KYMO_LOSS_CORRUPT]++;
            reader->pos = (uint32_t)head;
            break;
        }
        reader->pos += size;
        KYMO_TRY(read_record(d, slot, at, size));
    }
    return KYMO_OK;
}

/* Whether the last record that was read was made after the lap began. A time that lies ahead is
 * one that the program gave to a marker, and tells nothing. */
static int is_new(const kymo_drain *d)
{
    return d->last_clock > d->lap.cut_clock && d->last_clock <= kymo_clock_now(d->clock.kind);
}

/* Nothing more in this round. */
static int is_full(const kymo_drain *d)
{
    return d->bytes_left == 0 || d->blocks_left == 0;
}

static void spend(kymo_drain *d, uint32_t bytes)
{
    d->bytes_left -= bytes < d->bytes_left ? bytes : d->bytes_left;
}

/* What is there. Of a thread that goes on (is_live), what was there when the lap began, and the
 * rest of that block: else one that writes as fast as we read would keep us from the others.
 * Returns early, with *is_done 0, when the round is full; at least one block was read then. */
static kymo_err read_stream(kymo_drain *d, uint32_t number, uint32_t stream, int is_live,
                            int *is_done)
{
    struct kymo_slot_reader *slot = &d->slots[number];
    struct kymo_stream_reader *reader = &slot->streams[stream];
    struct kymo_thread_slot *shared = kymo_session_slot(d->session, &d->plan, number);
    uint32_t owner = number * KYMO_STREAMS + stream;
    *is_done = 1;
    if (reader->block == 0) {
        uint32_t first = kymo_load_acquire(&shared->streams[stream].first);
        if (first == 0 || !own_block(d, first, owner))
            return KYMO_OK;
        reader->block = first;
        reader->pos = sizeof(struct kymo_block);
    }
    /* Bounded: a program that links its blocks into a circle keeps us here for one lap. */
    for (uint32_t lap = 0; lap < kymo_session_blocks(&d->plan); lap++) {
        struct kymo_block *block = kymo_session_block(d->session, &d->plan, reader->block - 1);
        /* The successor is read first: once there is one, the head that is read next is final. */
        uint32_t next = kymo_load_acquire(&block->next);
        uint32_t before = reader->pos;
        int is_cut;
        d->last_clock = 0;
        KYMO_TRY(read_block(d, slot, reader, block, is_live, &is_cut));
        spend(d, reader->pos - before);
        if (is_cut || next == 0 || (is_live && !d->is_last && is_new(d)) ||
            !own_block(d, next, owner))
            return KYMO_OK;
        give_block(d, reader->block);
        d->blocks_left -= d->blocks_left > 0;
        reader->block = next;
        reader->pos = sizeof(struct kymo_block);
        if (is_full(d)) {
            *is_done = 0;
            return KYMO_OK;
        }
    }
    return KYMO_OK;
}

/* ---- slots ---- */

void kymo_drain_live_counts(const kymo_drain *d, struct kymo_drain_counts *counts)
{
    *counts = (struct kymo_drain_counts){0, 0, 0};
    for (uint32_t i = 0; i < d->slots_seen; i++) {
        const struct kymo_thread_slot *shared = kymo_session_slot(d->session, &d->plan, i);
        if (!d->slots[i].open)
            continue;
        counts->samples += kymo_load_relaxed(&shared->samples);
        counts->handler_ns += kymo_load_relaxed(&shared->handler_ns);
        counts->disturbed += kymo_load_relaxed(&shared->disturbed);
    }
}

static struct kymo_drain_thread describe(const kymo_drain *d, const struct kymo_slot_reader *slot,
                                         const struct kymo_thread_slot *shared)
{
    return (struct kymo_drain_thread){
        .thread = slot->thread,
        .tid = kymo_load_relaxed(&shared->tid),
        .flags = kymo_load_relaxed(&shared->flags),
        .start_ns = kymo_drain_time_ns(d, kymo_load_relaxed(&shared->start_clock)),
        .samples = kymo_load_relaxed(&shared->samples),
        .handler_ns = kymo_load_relaxed(&shared->handler_ns),
        .disturbed = kymo_load_relaxed(&shared->disturbed),
        .paused_cpu_ns = kymo_load_relaxed(&shared->paused_cpu_ns),
        .pauses = kymo_load_relaxed(&shared->pauses),
        /* The first weight counts from the thread's beginning, so that the sum is its clock at the
         * last sample that was read. What the slot says may be ahead of that: the thread was
         * killed, or writes on, between its record and its slot, or records were lost. */
        .last_cpu_ns = slot->weight_ns,
        .unknown = slot->unknown,
    };
}

static kymo_err end_thread(kymo_drain *d, uint32_t number, uint64_t end_ns, uint64_t end_cpu_ns)
{
    struct kymo_slot_reader *slot = &d->slots[number];
    struct kymo_thread_slot *shared = kymo_session_slot(d->session, &d->plan, number);
    struct kymo_drain_thread thread = describe(d, slot, shared);
    thread.end_ns = end_ns;
    /* A thread that the end of its process found alive may have said how far it was. */
    thread.end_cpu_ns = end_cpu_ns ? end_cpu_ns : kymo_load_relaxed(&shared->end_cpu_ns);
    if (!thread.end_cpu_ns)
        thread.end_cpu_ns = kymo_load_relaxed(&shared->seen_cpu_ns);
    memcpy(thread.name, shared->name, sizeof thread.name - 1);
    KYMO_TRY(kymo_drain_read_scopes(d, number));
    kymo_drain_end_heap(d, shared);
    slot->open = 0;
    for (uint32_t k = 0; k < KYMO_STREAMS; k++) {
        if (slot->streams[k].block)
            give_block(d, slot->streams[k].block);
        slot->streams[k] = (struct kymo_stream_reader){0, 0};
        kymo_store_relaxed(&shared->streams[k].first, 0);
        kymo_store_relaxed(&shared->streams[k].last, 0);
    }
    /* Pairs with the acquire of a pop: the thread that claims the slot next sees it cleared. */
    kymo_store_release(&shared->state, KYMO_SLOT_FREE);
    kymo_slot_give(d->session, &d->plan, number);
    return d->sink.thread_end(d->sink.context, &thread);
}

uint32_t kymo_drain_touched_slots(kymo_drain *d)
{
    uint32_t touched = kymo_load_acquire(&d->session->slots_touched);
    if (touched > d->plan.threads)
        touched = d->plan.threads;
    if (touched > d->slots_seen)
        d->slots_seen = touched;
    return d->slots_seen;
}

/* Tells of the thread if it is there and new; *state: of its slot. */
static kymo_err open_slot(kymo_drain *d, uint32_t number, uint32_t *state)
{
    struct kymo_slot_reader *slot = &d->slots[number];
    struct kymo_thread_slot *shared = kymo_session_slot(d->session, &d->plan, number);
    /* Pairs with the program's release: a live slot is filled, an exited one has written its
     * last record. */
    *state = kymo_load_acquire(&shared->state);
    if (slot->open || (*state != KYMO_SLOT_LIVE && *state != KYMO_SLOT_EXITED))
        return KYMO_OK;
    *slot = (struct kymo_slot_reader){.generation = kymo_load_relaxed(&shared->generation),
                                      .thread = d->next_thread++,
                                      .open = 1};
    slot->is_main = (kymo_load_relaxed(&shared->flags) & KYMO_SLOT_MAIN) != 0;
    struct kymo_drain_thread thread = describe(d, slot, shared);
    return d->sink.thread_begin(d->sink.context, &thread);
}

kymo_err kymo_drain_meet(kymo_drain *d, uint32_t number)
{
    uint32_t state;
    return number < kymo_drain_touched_slots(d) ? open_slot(d, number, &state) : KYMO_OK;
}

/* Its streams; a thread that has ended is told of once they are read to their end. */
static kymo_err read_slot(kymo_drain *d, uint32_t number, int *is_done)
{
    struct kymo_slot_reader *slot = &d->slots[number];
    struct kymo_thread_slot *shared = kymo_session_slot(d->session, &d->plan, number);
    uint32_t state;
    *is_done = 1;
    KYMO_TRY(open_slot(d, number, &state));
    if (state != KYMO_SLOT_LIVE && state != KYMO_SLOT_EXITED)
        return KYMO_OK;
    int is_live = state == KYMO_SLOT_LIVE && !slot->gone_ns;
    /* The functions that its last calls name may be in streams that this lap has not read: they are
     * read by the first lap that begins when it has ended. */
    if (!is_live && !d->is_last && slot->ended_laps < 2 && kymo_drain_has_calls(d, number))
        is_live = 1;
    for (uint32_t k = 0; k < KYMO_STREAMS && *is_done; k++)
        KYMO_TRY(read_stream(d, number, k, is_live, is_done));
    if (is_live || !*is_done)
        return KYMO_OK;
    if (state == KYMO_SLOT_LIVE)
        return end_thread(d, number, slot->gone_ns, 0);
    return end_thread(d, number, kymo_drain_time_ns(d, kymo_load_relaxed(&shared->end_clock)),
                      kymo_load_relaxed(&shared->end_cpu_ns));
}

/* ---- rounds ----
 *
 * A lap reads all streams once, in as many rounds as that takes. */

static void begin_lap(kymo_drain *d, uint32_t scan)
{
    const struct kymo_drain_lap before = d->lap;
    uint32_t slots = kymo_drain_touched_slots(d);
    /* Before cut_clock is read: functions that are older than it will be read. */
    for (uint32_t i = 0; i < slots; i++)
        kymo_drain_note_calls(d, i);
    d->lap = (struct kymo_drain_lap){
        .anchor = d->clock.now,
        .anchor_before = before.anchor,
        .anchor_first = before.anchor_before,
        .slots = slots,
        .scan = scan,
        /* What is older was there when the pins and the modules were looked at, and will be read.
         */
        .cut_clock = kymo_clock_now(d->clock.kind),
    };
}

/* For the last lap, which reads all calls there are: the functions that they name. */
static kymo_err read_functions_first(kymo_drain *d)
{
    int is_done;
    for (uint32_t i = 0; i < d->lap.slots; i++)
        if (d->slots[i].open)
            KYMO_TRY(read_stream(d, i, KYMO_STREAM_TASK, 0, &is_done));
    return KYMO_OK;
}

/* As far as the round goes. */
static kymo_err read_lap(kymo_drain *d)
{
    struct kymo_drain_lap *lap = &d->lap;
    uint32_t most = KYMO_STREAMS * kymo_session_blocks(&d->plan);
    for (; lap->slot < lap->slots && !is_full(d); lap->slot++, lap->blocks = 0) {
        uint32_t before = d->blocks_left;
        int is_done;
        KYMO_TRY(read_slot(d, lap->slot, &is_done));
        lap->blocks += before - d->blocks_left;
        /* Streams that are circles would keep us here for ever. */
        if (!is_done && lap->blocks <= most)
            break;
    }
    lap->goes_on = lap->slot < lap->slots;
    if (!lap->goes_on)
        kymo_drain_release_modules(d, lap->scan);
    return KYMO_OK;
}

static kymo_err read_some(kymo_drain *d)
{
    int begins = !d->lap.goes_on || d->is_last;
    kymo_drain_clock_take(&d->clock);
    kymo_drain_rotate_depot(d, begins);
    KYMO_TRY(kymo_drain_scan_modules(d));
    uint32_t scan = d->scan;
    KYMO_TRY(kymo_drain_scan_definitions(d));
    uint32_t touched = kymo_drain_touched_slots(d);
    /* All threads first: a marker may be for one whose slot comes later. */
    for (uint32_t i = 0, state; i < touched; i++)
        KYMO_TRY(open_slot(d, i, &state));
    if (begins)
        begin_lap(d, scan);
    d->bytes_left = d->is_last ? UINT64_MAX : ROUND_BYTES;
    /* Streams that share their blocks in a circle would each give the last round a lap of
     * everything. */
    d->blocks_left = 2 * kymo_session_blocks(&d->plan);
    if (d->is_last)
        KYMO_TRY(read_functions_first(d));
    KYMO_TRY(read_lap(d));
    kymo_drain_clock_keep(&d->clock);
    return KYMO_OK;
}

void kymo_drain_beat(kymo_drain *d)
{
    kymo_store_release(&d->session->heartbeat, kymo_clock_now(d->clock.kind));
}

kymo_err kymo_drain_round(kymo_drain *d)
{
    kymo_drain_beat(d);
    return read_some(d);
}

int kymo_drain_is_behind(const kymo_drain *d)
{
    return d->lap.goes_on;
}

uint64_t kymo_drain_main_weight(const kymo_drain *d)
{
    for (uint32_t i = 0; i < d->slots_seen; i++)
        if (d->slots[i].open && d->slots[i].is_main)
            return d->slots[i].weight_ns;
    return 0;
}

uint64_t kymo_drain_slot_weight(const kymo_drain *d, uint32_t number)
{
    return number < d->slots_seen && d->slots[number].open ? d->slots[number].weight_ns : 0;
}

kymo_err kymo_drain_end_slot(kymo_drain *d, uint32_t number, uint64_t end_ns)
{
    int is_done;
    if (number >= d->slots_seen || !d->slots[number].open)
        return KYMO_OK;
    d->slots[number].gone_ns = end_ns ? end_ns : 1;
    /* Out of what the last round has left to read. */
    return read_slot(d, number, &is_done);
}

int kymo_drain_slot_is_gone(const kymo_drain *d, uint32_t number)
{
    return number < d->slots_seen && d->slots[number].open && d->slots[number].gone_ns;
}

kymo_err kymo_drain_finish(kymo_drain *d, uint64_t end_ns)
{
    kymo_store_release(&d->session->stopped, 1);
    d->is_last = 1;
    KYMO_TRY(read_some(d));
    /* Only a program that links blocks into circles leaves more than one round reads. */
    d->noticed[KYMO_LOSS_CORRUPT] += d->lap.goes_on != 0;
    for (uint32_t i = 0; i < d->slots_seen; i++)
        if (d->slots[i].open)
            KYMO_TRY(end_thread(d, i, d->slots[i].gone_ns ? d->slots[i].gone_ns : end_ns, 0));
    return KYMO_OK;
}

uint32_t kymo_drain_slot_thread(const kymo_drain *d, uint32_t number)
{
    return number < d->slots_seen && d->slots[number].open ? d->slots[number].thread : UINT32_MAX;
}

void kymo_drain_losses(const kymo_drain *d, uint64_t lost[KYMO_LOSS_KINDS])
{
    for (int i = 0; i < KYMO_LOSS_KINDS; i++)
        lost[i] = kymo_load_relaxed(&d->session->lost[i]) + d->noticed[i];
    if (d->is_last)
        lost[KYMO_LOSS_FREE] += kymo_load_relaxed(&d->session->frees_late);
}
