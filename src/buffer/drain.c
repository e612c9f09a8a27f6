/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.c - see drain.h.
 *
 * A stack is read from the depot when the first record that names it is drained: its id then gets
 * a dense number, kept in `numbers` (one word for each word offset of a depot). The handler
 * registers modules before it stores a stack, and stores a stack before it publishes the record,
 * so whatever a record needs is there when the record is.
 *
 * The depot is moved on when a quarter of it is used, so that the memory which the program's
 * threads touch stays small. The steps, over several rounds: (1) the epoch is moved on; new stacks
 * go to the other depot; (2) once no slot pins the old epoch, one more round drains every record
 * that can name it; (3) it is cleared, and its pages are given back.
 */
#include "buffer/drain.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/atomic.h"
#include "base/vec.h"
#include "buffer/depot.h"
#include "buffer/stream.h"
#include "sys/clock.h"
#include "sys/pages.h"

#define STACK_FRAMES_MAX 4096u
#define ENTRY_WORDS ((uint32_t)(sizeof(struct kymo_depot_entry) / 8))
#define UNOWNED UINT32_MAX

struct stream_reader {
    uint32_t block; /* number + 1; 0: none yet */
    uint32_t pos;
};

struct slot_reader {
    uint32_t generation;
    uint32_t thread; /* dense number */
    int open;
    int is_main;
    uint64_t weight_ns; /* of all samples that were read */
    uint64_t unknown;   /* of them, those whose weight is not known */
    struct stream_reader streams[KYMO_STREAMS];
};

struct known_module {
    uint64_t map_start, map_end, bias;
    uint32_t load_generation, unload_generation;
    uint32_t number;
    int known;
    uint32_t unload_scan; /* the scan that noticed the unloading */
};

enum rotation { ROTATE_IDLE, ROTATE_WAIT_PINS, ROTATE_LAST_ROUND };

struct kymo_drain {
    struct kymo_session *session;
    struct kymo_session_plan plan;
    struct kymo_drain_sink sink;
    struct slot_reader *slots;
    uint32_t slots_seen;   /* of them were in use up to now; memory behind is not touched */
    uint32_t *block_owner; /* slot * KYMO_STREAMS + stream, or UNOWNED */
    struct known_module *modules;
    uint32_t modules_scanned;
    uint32_t module_changes; /* as of the last scan */
    uint32_t scan;           /* number of the last scan */
    uint32_t *numbers[2];    /* dense stack number + 1 by word offset */
    uint32_t next_thread, next_module, next_stack;
    uint32_t epoch;
    enum rotation rotation;
    enum kymo_clock_kind clock;
    uint64_t anchor_clock, anchor_ns; /* the previous anchor */
    double ns_per_tick;
    uint64_t first_ns, now_ns, now_clock;
    uint64_t noticed[KYMO_LOSS_KINDS];
    uint32_t blocks_left; /* that this round may still read to their end */
    KYMO_VEC(struct kymo_drain_frame) frames;
};

static void take_anchor(kymo_drain *d)
{
    uint64_t clock = kymo_clock_now(d->clock);
    uint64_t ns = kymo_clock_ns(CLOCK_MONOTONIC);
    if (d->clock == KYMO_CLOCK_MONOTONIC) {
        clock = ns;
        d->ns_per_tick = 1;
    } else if (clock > d->anchor_clock && ns > d->anchor_ns + 1000000) {
        /* Records of this round lie between the two anchors: the ratio of this stretch is theirs,
         * whatever suspend or migration did to the counter before. */
        d->ns_per_tick = (double)(ns - d->anchor_ns) / (double)(clock - d->anchor_clock);
    }
    d->now_clock = clock;
    d->now_ns = ns;
}

/* At the end of a round: what comes next lies behind this anchor. */
static void keep_anchor(kymo_drain *d)
{
    if (d->now_ns <= d->anchor_ns + 1000000)
        return;
    d->anchor_clock = d->now_clock;
    d->anchor_ns = d->now_ns;
}

uint64_t kymo_drain_time_ns(const kymo_drain *d, uint64_t clock)
{
    int64_t ticks = (int64_t)(clock - d->anchor_clock);
    double ns = (double)ticks * d->ns_per_tick;
    /* Nothing happened before the session was made, and nothing happens in the future. */
    if (ns > 0 && (double)(d->now_ns - d->anchor_ns) < ns)
        return d->now_ns;
    if (ns < 0 && (double)(d->anchor_ns - d->first_ns) < -ns)
        return d->first_ns;
    return (uint64_t)((int64_t)d->anchor_ns + (int64_t)ns);
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
    d->clock = (enum kymo_clock_kind)session->clock_kind;
    d->slots = kymo_pages_take(plan->threads, sizeof *d->slots);
    d->block_owner = malloc(kymo_session_blocks(plan) * sizeof *d->block_owner);
    d->modules = kymo_pages_take(plan->modules, sizeof *d->modules);
    d->numbers[0] = kymo_pages_take(plan->depot_words, sizeof *d->numbers[0]);
    d->numbers[1] = kymo_pages_take(plan->depot_words, sizeof *d->numbers[1]);
    if (!d->slots || !d->block_owner || !d->modules || !d->numbers[0] || !d->numbers[1]) {
        kymo_drain_destroy(d);
        return KYMO_E_NOMEM;
    }
    for (uint32_t i = 0; i < kymo_session_blocks(plan); i++)
        d->block_owner[i] = UNOWNED;
    d->epoch = session->depot_epoch;
    d->anchor_clock = kymo_clock_now(d->clock);
    d->anchor_ns = d->first_ns = d->now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    d->ns_per_tick = 1;
    kymo_store_release(&session->heartbeat, d->anchor_clock);
    *out = d;
    return KYMO_OK;
}

void kymo_drain_destroy(kymo_drain *d)
{
    if (!d)
        return;
    kymo_pages_give(d->slots, d->plan.threads, sizeof *d->slots);
    free(d->block_owner);
    kymo_pages_give(d->modules, d->plan.modules, sizeof *d->modules);
    kymo_pages_give(d->numbers[0], d->plan.depot_words, sizeof *d->numbers[0]);
    kymo_pages_give(d->numbers[1], d->plan.depot_words, sizeof *d->numbers[1]);
    kymo_vec_deinit(&d->frames);
    free(d);
}

/* ---- modules ---- */

static kymo_err scan_modules(kymo_drain *d)
{
    d->scan++;
    d->module_changes = kymo_load_acquire(&d->session->module_changes);
    uint32_t count = kymo_load_acquire(&d->session->module_count);
    if (count > d->plan.modules)
        count = d->plan.modules;
    for (uint32_t i = 0; i < count; i++) {
        struct known_module *m = &d->modules[i];
        struct kymo_module_entry *shared = kymo_session_module(d->session, &d->plan, i);
        if (kymo_load_acquire(&shared->state) != KYMO_MODULE_READY)
            continue;
        uint32_t gone = kymo_load_acquire(&shared->unload_generation);
        uint32_t load = kymo_load_relaxed(&shared->load_generation);
        if (gone != 0 && gone <= load)
            continue; /* is being revived */
        /* Loaded again at the same place, and maybe gone again: announced again. */
        if (m->unload_generation && (!gone || load != m->load_generation))
            m->known = 0;
        if (!m->known) {
            struct kymo_module_entry copy;
            memcpy(&copy, shared, sizeof copy);
            if (copy.map_start >= copy.map_end || copy.build_id_len > KYMO_BUILD_ID_MAX ||
                copy.path_len >= KYMO_MODULE_PATH_MAX) {
                /* Nobody hears of it, no address is in it, and it is looked at again. */
                d->noticed[KYMO_LOSS_CORRUPT]++;
                *m = (struct known_module){.unload_generation = UINT32_MAX, .known = 1};
                continue;
            }
            copy.path[copy.path_len] = '\0';
            *m = (struct known_module){copy.map_start,
                                       copy.map_end,
                                       copy.bias,
                                       copy.load_generation,
                                       0,
                                       d->next_module++,
                                       1,
                                       0};
            KYMO_TRY(d->sink.module(d->sink.context, m->number, &copy,
                                    kymo_drain_time_ns(d, copy.seen_clock)));
        }
        if (gone && !m->unload_generation) {
            m->unload_generation = gone;
            m->unload_scan = d->scan;
            uint64_t clock = kymo_load_relaxed(&shared->unload_clock);
            KYMO_TRY(
                d->sink.module_unload(d->sink.context, m->number, kymo_drain_time_ns(d, clock)));
        }
    }
    d->modules_scanned = count;
    return KYMO_OK;
}

/* Everything published before the scan has been read: entries whose unloading it noticed may be
 * revived. */
static void release_modules(kymo_drain *d, uint32_t scan)
{
    for (uint32_t i = 0; i < d->modules_scanned; i++) {
        const struct known_module *m = &d->modules[i];
        if (m->known && m->unload_generation && m->unload_scan <= scan)
            kymo_store_release(&kymo_session_module(d->session, &d->plan, i)->read_generation,
                               m->unload_generation); /* pairs with note_object */
    }
}

/* Of the modules that were mapped at pc under this generation, the one that came last. */
static const struct known_module *find_module(const kymo_drain *d, uint64_t pc, uint32_t generation)
{
    const struct known_module *best = NULL;
    for (uint32_t i = 0; i < d->modules_scanned; i++) {
        const struct known_module *m = &d->modules[i];
        if (m->known && pc >= m->map_start && pc < m->map_end && m->load_generation <= generation &&
            (m->unload_generation == 0 || generation < m->unload_generation) &&
            (!best || best->load_generation < m->load_generation))
            best = m;
    }
    return best;
}

/* ---- stacks ---- */

/* Reads one entry of the depot and hands it on. *number is KYMO_NO_STACK if it makes no sense. */
static kymo_err read_stack(kymo_drain *d, uint32_t id, uint32_t *number)
{
    uint32_t at = kymo_depot_id_word(id);
    uint32_t which = kymo_depot_id_epoch(id) & 1;
    *number = KYMO_NO_STACK;
    uint32_t age = (d->epoch - kymo_depot_id_epoch(id)) & 0xff;
    if (age > 1 || (age == 1 && d->rotation == ROTATE_IDLE) || at == 0 ||
        at > d->plan.depot_words - ENTRY_WORDS) {
        d->noticed[KYMO_LOSS_CORRUPT]++;
        return KYMO_OK;
    }
    if (d->numbers[which][at]) {
        *number = d->numbers[which][at] - 1;
        return KYMO_OK;
    }
    struct kymo_depot depot = kymo_depot_at(d->session, &d->plan, which);
    struct kymo_depot_entry head;
    memcpy(&head, depot.arena + at, sizeof head);
    if (head.n == 0 || head.n > STACK_FRAMES_MAX || head.n > depot.words - ENTRY_WORDS - at) {
        d->noticed[KYMO_LOSS_CORRUPT]++;
        return KYMO_OK;
    }
    d->frames.len = 0;
    KYMO_TRY(kymo_vec_reserve(&d->frames, head.n));
    /* Modules are registered before the stack that needs them, and may have come and gone since the
     * round began. */
    int rescanned = d->module_changes != kymo_load_acquire(&d->session->module_changes);
    if (rescanned)
        KYMO_TRY(scan_modules(d));
    for (uint32_t i = 0; i < head.n; i++) {
        uint64_t pc = kymo_load_relaxed(&depot.arena[at + ENTRY_WORDS + i]);
        /* Not if it is where a signal struck: the leaf, and what lies behind a signal frame. */
        uint32_t is_return = i > 0 && !(pc & KYMO_PC_EXACT);
        pc &= ~KYMO_PC_EXACT;
        /* A return address may lie just behind its module's last byte. */
        uint64_t look = pc - is_return;
        const struct known_module *m = find_module(d, look, head.generation);
        if (!m && !rescanned) {
            rescanned = 1;
            KYMO_TRY(scan_modules(d));
            m = find_module(d, look, head.generation);
        }
        d->frames.data[d->frames.len++] = (struct kymo_drain_frame){
            m ? pc - m->bias : pc, m ? m->number : KYMO_NO_MODULE, is_return};
    }
    *number = d->next_stack++;
    d->numbers[which][at] = *number + 1;
    return d->sink.stack(d->sink.context, *number, head.flags, d->frames.data, head.n);
}

/* ---- streams ---- */

static kymo_err read_answer(kymo_drain *d, const struct slot_reader *slot, const char *at)
{
    struct kymo_drain_answer a = {.thread = slot->thread, .stack = KYMO_NO_STACK};
    memcpy(&a.record, at, sizeof a.record);
    if (!d->sink.answer)
        return KYMO_OK;
    if (a.record.head.stack)
        KYMO_TRY(read_stack(d, a.record.head.stack, &a.stack));
    a.time_ns = kymo_drain_time_ns(d, a.record.head.clock);
    return d->sink.answer(d->sink.context, &a);
}

static kymo_err read_record(kymo_drain *d, struct slot_reader *slot, const char *at, uint32_t size)
{
    struct kymo_record_sample r;
    if (((const struct kymo_record *)(const void *)at)->kind == KYMO_RECORD_ANSWER &&
        size == sizeof(struct kymo_record_answer))
        return read_answer(d, slot, at);
    if (((const struct kymo_record *)(const void *)at)->kind != KYMO_RECORD_SAMPLE_CPU ||
        size != sizeof r) {
        d->noticed[KYMO_LOSS_CORRUPT]++;
        return KYMO_OK;
    }
    memcpy(&r, at, sizeof r);
    slot->weight_ns += r.weight_ns;
    slot->unknown += r.weight_ns == 0;
    uint32_t stack = KYMO_NO_STACK;
    if (r.head.stack)
        KYMO_TRY(read_stack(d, r.head.stack, &stack));
    uint64_t time_ns = kymo_drain_time_ns(d, r.head.clock);
    return d->sink.sample(d->sink.context,
                          &(struct kymo_drain_sample){slot->thread, stack, time_ns, r.weight_ns});
}

/* Takes possession of a block for a stream; 0 if it is out of range or another stream's. */
static int own_block(kymo_drain *d, uint32_t number, uint32_t owner)
{
    if (number == 0 || number > kymo_session_blocks(&d->plan) ||
        d->block_owner[number - 1] != UNOWNED) {
        d->noticed[KYMO_LOSS_CORRUPT]++;
        return 0;
    }
    d->block_owner[number - 1] = owner;
    return 1;
}

static void give_block(kymo_drain *d, uint32_t number)
{
    d->block_owner[number - 1] = UNOWNED;
    kymo_block_give(d->session, &d->plan, number - 1);
}

static kymo_err read_block(kymo_drain *d, struct slot_reader *slot, struct stream_reader *reader,
                           const struct kymo_block *block)
{
    uint32_t room = kymo_session_block_bytes(&d->plan, reader->block - 1);
    /* Pairs with the release of kymo_stream_publish. */
    uint64_t head = kymo_load_acquire(&block->head);
    if (head > room || head < reader->pos) {
        d->noticed[KYMO_LOSS_CORRUPT]++;
        return KYMO_OK;
    }
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

static kymo_err read_stream(kymo_drain *d, uint32_t number, uint32_t stream)
{
    struct slot_reader *slot = &d->slots[number];
    struct stream_reader *reader = &slot->streams[stream];
    struct kymo_thread_slot *shared = kymo_session_slot(d->session, &d->plan, number);
    uint32_t owner = number * KYMO_STREAMS + stream;
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
        KYMO_TRY(read_block(d, slot, reader, block));
        if (next == 0 || !own_block(d, next, owner))
            return KYMO_OK;
        give_block(d, reader->block);
        d->blocks_left -= d->blocks_left > 0;
        reader->block = next;
        reader->pos = sizeof(struct kymo_block);
    }
    return KYMO_OK;
}

/* ---- slots ---- */

static struct kymo_drain_thread describe(const kymo_drain *d, const struct slot_reader *slot,
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
        /* The first weight counts from the thread's beginning, so that the sum is its clock at the
         * last sample that was read. What the slot says may be ahead of that: the thread was
         * killed, or writes on, between its record and its slot, or records were lost. */
        .last_cpu_ns = slot->weight_ns,
        .unknown = slot->unknown,
    };
}

static kymo_err end_thread(kymo_drain *d, uint32_t number, uint64_t end_ns, uint64_t end_cpu_ns)
{
    struct slot_reader *slot = &d->slots[number];
    struct kymo_thread_slot *shared = kymo_session_slot(d->session, &d->plan, number);
    struct kymo_drain_thread thread = describe(d, slot, shared);
    thread.end_ns = end_ns;
    /* A thread that the end of its process found alive may have said how far it was. */
    thread.end_cpu_ns = end_cpu_ns ? end_cpu_ns : kymo_load_relaxed(&shared->end_cpu_ns);
    if (!thread.end_cpu_ns)
        thread.end_cpu_ns = kymo_load_relaxed(&shared->seen_cpu_ns);
    memcpy(thread.name, shared->name, sizeof thread.name - 1);
    slot->open = 0;
    for (uint32_t k = 0; k < KYMO_STREAMS; k++) {
        if (slot->streams[k].block)
            give_block(d, slot->streams[k].block);
        slot->streams[k] = (struct stream_reader){0, 0};
        kymo_store_relaxed(&shared->streams[k].first, 0);
    }
    /* Pairs with the acquire of a pop: whoever claims the slot next sees it cleared. */
    kymo_store_release(&shared->state, KYMO_SLOT_FREE);
    kymo_slot_give(d->session, &d->plan, number);
    return d->sink.thread_end(d->sink.context, &thread);
}

static kymo_err read_slot(kymo_drain *d, uint32_t number)
{
    struct slot_reader *slot = &d->slots[number];
    struct kymo_thread_slot *shared = kymo_session_slot(d->session, &d->plan, number);
    /* Pairs with the program's release: a live slot is filled, an exited one has written its
     * last record. */
    uint32_t state = kymo_load_acquire(&shared->state);
    if (state != KYMO_SLOT_LIVE && state != KYMO_SLOT_EXITED)
        return KYMO_OK;
    if (!slot->open) {
        *slot = (struct slot_reader){.generation = kymo_load_relaxed(&shared->generation),
                                     .thread = d->next_thread++,
                                     .open = 1};
        slot->is_main = (kymo_load_relaxed(&shared->flags) & KYMO_SLOT_MAIN) != 0;
        struct kymo_drain_thread thread = describe(d, slot, shared);
        KYMO_TRY(d->sink.thread_begin(d->sink.context, &thread));
    }
    /* Streams that share their blocks in a circle would each give us a lap of everything. */
    if (d->blocks_left == 0) {
        d->noticed[KYMO_LOSS_CORRUPT]++;
        return KYMO_OK;
    }
    for (uint32_t k = 0; k < KYMO_STREAMS; k++)
        KYMO_TRY(read_stream(d, number, k));
    if (state == KYMO_SLOT_EXITED)
        return end_thread(d, number, kymo_drain_time_ns(d, kymo_load_relaxed(&shared->end_clock)),
                          kymo_load_relaxed(&shared->end_cpu_ns));
    return KYMO_OK;
}

static uint32_t touched_slots(kymo_drain *d)
{
    uint32_t touched = kymo_load_acquire(&d->session->slots_touched);
    if (touched > d->plan.threads)
        touched = d->plan.threads;
    if (touched > d->slots_seen)
        d->slots_seen = touched;
    return d->slots_seen;
}

/* ---- depot rotation ---- */

static int epoch_is_pinned(kymo_drain *d, uint32_t epoch)
{
    uint32_t touched = touched_slots(d);
    for (uint32_t i = 0; i < touched; i++) {
        struct kymo_thread_slot *slot = kymo_session_slot(d->session, &d->plan, i);
        uint32_t state = kymo_load_acquire(&slot->state);
        if (state == KYMO_SLOT_LIVE && kymo_load_seqcst(&slot->depot_pin) == epoch + 1)
            return 1;
    }
    return 0;
}

static void clear_depot(kymo_drain *d, uint32_t which)
{
    char *base = (char *)d->session + d->plan.depots_at + which * d->plan.depot_bytes;
    /* Frees the pages of the shared memory for both sides; they read as zeros afterwards. */
    if (madvise(base, d->plan.depot_bytes, MADV_REMOVE) != 0)
        memset(base, 0, d->plan.depot_bytes);
    memset(d->numbers[which], 0, d->plan.depot_words * sizeof *d->numbers[which]);
}

/* Called before the slots are read, so that ROTATE_LAST_ROUND means: a whole round of reading
 * follows the moment at which nobody was left in the old epoch. */
static void rotate_depot(kymo_drain *d)
{
    struct kymo_depot depot = kymo_depot_at(d->session, &d->plan, d->epoch);
    switch (d->rotation) {
    case ROTATE_IDLE:
        if (kymo_load_relaxed(&depot.head->used_words) < d->plan.depot_words / 4)
            return;
        d->epoch++;
        d->rotation = ROTATE_WAIT_PINS;
        kymo_store_seqcst(&d->session->depot_epoch, d->epoch);
        return;
    case ROTATE_WAIT_PINS:
        if (!epoch_is_pinned(d, d->epoch - 1))
            d->rotation = ROTATE_LAST_ROUND;
        return;
    case ROTATE_LAST_ROUND:
        clear_depot(d, (d->epoch - 1) & 1);
        d->rotation = ROTATE_IDLE;
        return;
    }
}

/* ---- rounds ---- */

static kymo_err read_all(kymo_drain *d)
{
    take_anchor(d);
    rotate_depot(d);
    KYMO_TRY(scan_modules(d));
    uint32_t scan = d->scan;
    uint32_t touched = touched_slots(d);
    /* No honest program fills the whole buffer twice while it is read once. */
    d->blocks_left = 2 * kymo_session_blocks(&d->plan);
    for (uint32_t i = 0; i < touched; i++)
        KYMO_TRY(read_slot(d, i));
    release_modules(d, scan);
    keep_anchor(d);
    return KYMO_OK;
}

void kymo_drain_beat(kymo_drain *d)
{
    kymo_store_release(&d->session->heartbeat, kymo_clock_now(d->clock));
}

kymo_err kymo_drain_round(kymo_drain *d)
{
    kymo_drain_beat(d);
    return read_all(d);
}

uint64_t kymo_drain_main_weight(const kymo_drain *d)
{
    for (uint32_t i = 0; i < d->slots_seen; i++)
        if (d->slots[i].open && d->slots[i].is_main)
            return d->slots[i].weight_ns;
    return 0;
}

kymo_err kymo_drain_end_slot(kymo_drain *d, uint32_t number, uint64_t end_ns)
{
    if (number >= d->slots_seen || !d->slots[number].open)
        return KYMO_OK;
    for (uint32_t k = 0; k < KYMO_STREAMS; k++)
        KYMO_TRY(read_stream(d, number, k));
    return end_thread(d, number, end_ns, 0);
}

kymo_err kymo_drain_finish(kymo_drain *d, uint64_t end_ns)
{
    kymo_store_release(&d->session->stopped, 1);
    KYMO_TRY(read_all(d));
    for (uint32_t i = 0; i < d->slots_seen; i++)
        if (d->slots[i].open)
            KYMO_TRY(end_thread(d, i, end_ns, 0));
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
}
