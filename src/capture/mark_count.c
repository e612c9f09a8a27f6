/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_count.c - counters: see mark.h.
 *
 * A counter that is looked at has a cell in the session, of eight parts that are a cache line each.
 * A thread adds to the part of its number, so that few threads meet in one; additions are atomic,
 * since two may, and since a handler may come in between. A gauge is what was said last, and has
 * its value in the first part. Copies of a counter in several files, and one of a library that is
 * loaded anew, have the same content, and so the same number and the same cell.
 *
 * A counter whose every change is recorded has records. What found no room in the buffer is added
 * to a cell all the same, so that its sum is right when the recorder has looked at that.
 */
#include <string.h>

#include "arch/own_math.h"
#include "base/atomic.h"
#include "buffer/record.h"
#include "capture/mark.h"

#define NO_NUMBER UINT16_MAX /* in a counter's id: there was no room */
/* In a counter's cell. */
#define EACH_CHANGE (1u << 31) /* changes are records */
#define IS_F64 (1u << 30)      /* values are doubles */
#define CELL (IS_F64 - 1)

struct counter_said {
    const struct kymo_mark_counter *counter;
    uint32_t category;
};

static void say_text(struct kymo_definition_pen *pen, const char *text)
{
    kymo_definition_text(pen, text,
                         text ? kymo_mark_text_len(text, KYMO_DEFINITION_TEXT_MAX + 1) : 0);
}

static void say_counter(struct kymo_definition_pen *pen, const void *what)
{
    const struct counter_said *said = what;
    const struct kymo_mark_counter *c = said->counter;
    kymo_definition_word(pen, said->category);
    say_text(pen, c->name);
    say_text(pen, c->unit);
    say_text(pen, c->description);
    kymo_definition_word(pen, c->kind);
    kymo_definition_word(pen, c->flags);
    kymo_definition_word(pen, c->color);
}

/* The cell of the counter with this number, + 1; 0: all are in use. */
static uint32_t find_cell(struct kymo_capture_process *p, uint32_t number)
{
    struct kymo_session *s = p->session;
    for (uint32_t i = 0; i < p->plan.counters; i++) {
        uint32_t *definition = &kymo_session_counter(s, &p->plan, i)->definition;
        uint32_t taken = 0;
        /* Pairs with the drain's acquire: the definition was made before. */
        if (!kymo_cas_acq_rel(definition, &taken, number) && taken != number)
            continue;
        uint32_t count = kymo_load_relaxed(&s->counter_count);
        while (count <= i && !kymo_cas_relaxed(&s->counter_count, &count, i + 1)) {
        }
        return i + 1;
    }
    return 0;
}

/* The counter's number in this session; 0: there is no room for it. */
static KYMO_NOINLINE uint32_t learn(struct kymo_capture_process *p, struct kymo_mark_counter *c)
{
    uint32_t epoch = p->mark_epoch << 16;
    uint32_t number = 0;
    uint32_t cell = 0;
    if ((kymo_load_acquire(&c->id) ^ epoch) == NO_NUMBER)
        return 0;
    struct counter_said said = {c, kymo_mark_category_define(p, c->category)};
    if (said.category && c->size >= sizeof *c && c->name)
        number = kymo_mark_define(p, KYMO_DEFINE_COUNTER, say_counter, &said);
    int is_each = (c->flags & KYMO_COUNTER_EACH) != 0;
    /* The next value of a gauge says all that was lost. */
    if (number && !(is_each && c->kind == KYMO_COUNTER_GAUGE))
        cell = find_cell(p, number);
    if (is_each) {
        cell |= EACH_CHANGE;
    } else if (number && cell == 0) {
        kymo_count_loss(p, KYMO_LOSS_COUNTER_FULL);
        number = 0;
    }
    cell |= c->flags & KYMO_COUNTER_IS_F64 ? IS_F64 : 0;
    kymo_store_relaxed(&c->cell, cell);
    /* Pairs with the acquire of kymo_mark_count: the cell is there. */
    kymo_store_release(&c->id, epoch | (number ? number : NO_NUMBER));
    return number;
}

static KYMO_NOINLINE void add_f64(int64_t *to, int64_t value)
{
    int64_t before = kymo_load_relaxed(to);
    while (!kymo_cas_relaxed(to, &before, kymo_add_doubles(before, value))) {
    }
}

/* thread: of the one that counts, its number. */
KYMO_INLINE void add_to_part(struct kymo_capture_process *p, uint32_t cell, uint32_t thread,
                             int64_t value, uint64_t operations)
{
    struct kymo_counter_part *part = kymo_session_counter(p->session, &p->plan, (cell & CELL) - 1);
    part += thread % KYMO_COUNTER_PARTS;
    if (kymo_unlikely(cell & IS_F64))
        add_f64(&part->value, value);
    else
        kymo_add_relaxed(&part->value, value);
    kymo_add_relaxed(&part->operations, operations);
}

static void lose(struct kymo_capture_process *p, uint32_t cell, int64_t value, uint64_t operations)
{
    kymo_count_loss(p, KYMO_LOSS_COUNT);
    if (cell & CELL)
        add_to_part(p, cell, 0, value, operations);
}

static KYMO_NOINLINE void record(struct kymo_capture_thread *t, uint32_t number, uint32_t cell,
                                 int64_t value, uint64_t operations)
{
    struct kymo_capture_process *p = t->process;
    struct kymo_stream_writer *w;
    struct kymo_record_count *r = kymo_mark_reserve(t, &w, sizeof *r, KYMO_FRAME_BEGIN());
    if (!r) {
        lose(p, cell, value, operations);
        return;
    }
    r->head = (struct kymo_record){kymo_process_clock(p), KYMO_RECORD_COUNT, sizeof *r, number};
    r->value = value;
    r->operations = operations;
    kymo_mark_publish(w, sizeof *r);
}

KYMO_INLINE void add(struct kymo_capture_process *p, const struct kymo_mark_counter *c,
                     uint32_t cell, uint32_t thread, int64_t value, uint64_t operations)
{
    if (c->kind == KYMO_COUNTER_GAUGE) {
        struct kymo_counter_part *part =
            kymo_session_counter(p->session, &p->plan, (cell & CELL) - 1);
        kymo_store_relaxed(&part->value, value);
        kymo_add_relaxed(&part->operations, operations);
    } else {
        add_to_part(p, cell, thread, value, operations);
    }
}

/* A cell needs no thread: what destructors of an ended one count is counted, too. */
static KYMO_NOINLINE void count_slowly(struct kymo_mark_counter *c, int64_t value,
                                       uint64_t operations)
{
    struct kymo_capture_thread *t = kymo_mark_thread();
    struct kymo_capture_process *p = t ? t->process : kymo_capturing();
    if (!p || p->mark_epoch == 0)
        return;
    uint32_t number = learn(p, c);
    uint32_t cell = number ? kymo_load_relaxed(&c->cell) : EACH_CHANGE;
    if (!(cell & EACH_CHANGE))
        add(p, c, cell, t ? t->number : 0, value, operations);
    else if (number && t)
        record(t, number, cell, value, operations);
    else
        lose(p, cell, value, operations);
}

void kymo_mark_count(struct kymo_mark_counter *c, int64_t value, uint64_t operations)
{
    struct kymo_capture_thread *t = kymo_thread_self;
    /* As kymo_mark_site_number: of this session, and there was room for it. */
    uint32_t number = t ? kymo_load_acquire(&c->id) ^ kymo_thread_epoch : 0;
    if (kymo_unlikely(number - 1 >= KYMO_DEFINITION_NUMBER_MAX) ||
        kymo_unlikely(t->mark_epoch != kymo_thread_epoch)) {
        count_slowly(c, value, operations);
        return;
    }
    /* One that has a number has a cell, or the bit. */
    uint32_t cell = kymo_load_relaxed(&c->cell);
    if (kymo_unlikely(cell & EACH_CHANGE))
        record(t, number, cell, value, operations);
    else
        add(t->process, c, cell, t->number, value, operations);
}
