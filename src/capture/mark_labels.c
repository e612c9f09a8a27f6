/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_labels.c - the labels of a thread: see mark.h.
 *
 * A change of a thread's labels is a record in its stream. Samples, markers and allocations say
 * nothing of labels: the reader of the recording joins them by time. So the sampling handler reads
 * nothing, and a label costs nothing but when it changes.
 *
 * Records say how deep the thread was, and what was deeper is gone: an inner scope that a longjmp
 * has left ends with the outer one. It ends before that where the thread is seen further up on its
 * stack than the function that has the label: by a sample, or by the next label. So do labels that
 * the same place pushes twice, in one frame. Only the macro's are of a block; those of objects, and
 * of other languages, may outlive the function that pushed them. A push that finds no room does not
 * count as one, and its scope pops nothing. A pop that finds none is owed: the next change makes it
 * good, or the next sample, so that a thread does not keep for ever what it had when the buffer was
 * full.
 *
 * The depth changes before the record is made, in both directions: labels of a handler that comes
 * in between stand above those of the thread, and are gone when it returns.
 *
 * A forked child has its parent's labels. What they are is only in the recording. So the child's
 * first record names the thread that forked it, and when; the reader of the recording looks there.
 * Until it attaches, the child has no record to write to, and notes which of them it has popped.
 * The note is the thread's own: several may fork at once.
 */
#include <string.h>

#include "base/atomic.h"
#include "base/text_fit.h"
#include "buffer/mark_field.h"
#include "buffer/record.h"
#include "capture/mark.h"

#define KEY_MAX 128u
/* Added to the time of a fork, which takes ten times as long: times of markers are not exact. */
#define CLOCKS_NS 2000u

/* Where a function of the program called: the stack pointer there, and the address behind. */
struct caller {
    uint64_t frame;
    uint64_t from;
};
#define CALLER() \
    ((struct caller){KYMO_FRAME_BEGIN(), (uint64_t)(uintptr_t)__builtin_return_address(0)})

/* What a forked child finds of the thread that it is a copy of. */
static __thread struct {
    uint32_t recorded_as; /* 0: there are no labels */
    uint32_t tid;
    uint32_t depth;
    uint64_t fork_ns;
    struct kymo_label_block blocks[KYMO_LABEL_BLOCKS];
} at_fork KYMO_TLS_IE;

/* A label as it will lie in its record. */
struct label {
    const char *key;
    const char *text; /* NULL: the value is none */
    uint32_t key_bytes, text_bytes;
    int is_cut;
    struct kymo_record_cell value;
};

static uint32_t fit(const char *text, size_t len, uint32_t max)
{
    return (uint32_t)kymo_text_fit(text, len, max);
}

static struct label prepare(const char *key, const struct kymo_mark_cell *value)
{
    struct label l = {.key = key};
    if (key)
        l.key_bytes = fit(key, kymo_mark_text_len(key, KEY_MAX + 1), KEY_MAX);
    if (!value)
        return l;
    uint32_t kind = value->kind & ~KYMO_CELL_OF_BLOCK;
    uint32_t form = kymo_mark_cell_form(kind);
    if (form == KYMO_CELL_NUMBER) {
        l.value.kind = kind;
        memcpy(&l.value.value, &value->as, sizeof l.value.value);
    } else if (form == KYMO_CELL_TEXT && value->as.ptr) {
        l.text = value->as.ptr;
        size_t len = kind == KYMO_KIND_TEXT ? value->len
                                            : kymo_mark_text_len(l.text, KYMO_MARK_TEXT_MAX + 1);
        l.value.kind = KYMO_KIND_TEXT;
        l.text_bytes = fit(l.text, len, KYMO_MARK_TEXT_MAX);
        l.is_cut = l.text_bytes < len;
    }
    return l;
}

/* Whether the change was recorded. */
static int write_change(struct kymo_capture_thread *t, uint64_t here, enum kymo_label_change change,
                        uint32_t depth, const struct label *l)
{
    struct kymo_stream_writer *w;
    uint32_t used = (uint32_t)sizeof(struct kymo_record_label) + l->key_bytes + l->text_bytes;
    uint32_t size_bytes = (used + 7) & ~7u;
    struct kymo_record_label *r = kymo_mark_reserve(t, &w, size_bytes, here);
    if (!r)
        return 0;
    char *texts = (char *)(r + 1);
    /* Blocks are used again: what lies behind the last text is not to be recorded. */
    memset((char *)r + size_bytes - sizeof(uint64_t), 0, sizeof(uint64_t));
    r->head = (struct kymo_record){kymo_process_clock(t->process), KYMO_RECORD_LABEL,
                                   (uint16_t)size_bytes, change};
    r->depth = depth;
    r->key_bytes = l->key_bytes;
    r->value = l->value;
    if (l->key_bytes)
        memcpy(texts, l->key, l->key_bytes);
    if (l->text) {
        struct kymo_text_slot slot = {(uint32_t)sizeof *r + l->key_bytes, (uint16_t)l->text_bytes,
                                      KYMO_TEXT_IS_THERE | (l->is_cut ? KYMO_TEXT_IS_CUT : 0)};
        memcpy(&r->value.value, &slot, sizeof slot);
        memcpy(texts + l->key_bytes, l->text, l->text_bytes);
    }
    kymo_mark_publish(w, size_bytes);
    t->was_labelled = 1;
    if (l->is_cut) /* labels have no site that could count it */
        kymo_count_loss(t->process, KYMO_LOSS_LABEL_CUT);
    return 1;
}

/* The calling thread, if it is ready to record; may make it so. */
KYMO_INLINE struct kymo_capture_thread *here(void)
{
    struct kymo_capture_thread *t = kymo_thread_self;
    const struct kymo_capture_process *p = kymo_process_here();
    return kymo_likely(p && kymo_thread_is_of(p) && t->mark_epoch) ? t : kymo_mark_thread();
}

static void set_depth(struct kymo_capture_thread *t, uint32_t depth)
{
    kymo_store_relaxed(&t->labels, depth);
    kymo_signal_fence();
}

/* How many labels are left of the thread's when it is at `here`; from: where it pushes another one
 * in that very frame, 0: nowhere. */
static uint32_t labels_at(const struct kymo_capture_thread *t, uint64_t here, uint64_t from)
{
    uint32_t depth = t->labels;
    uint32_t frame = (uint32_t)(here - t->stack.lo);
    if (depth == 0 || depth > KYMO_LABEL_BLOCKS || !kymo_stack_is_own(t, here))
        return depth;
    for (; depth > 0; depth--) {
        const struct kymo_label_block *block = &t->label_blocks[depth - 1];
        int is_left = block->frame < frame ||
                      (from && block->frame == frame && block->from == (uint32_t)from);
        if (block->frame == 0 || !is_left)
            break;
    }
    return depth;
}

static void remember_block(struct kymo_capture_thread *t, uint32_t depth,
                           const struct kymo_mark_cell *value, struct caller caller)
{
    int is_block = value && value->kind & KYMO_CELL_OF_BLOCK &&
                   kymo_stack_is_own(t, caller.frame) && t->stack.hi - t->stack.lo <= UINT32_MAX;
    if (depth < KYMO_LABEL_BLOCKS)
        t->label_blocks[depth] = (struct kymo_label_block){
            is_block ? (uint32_t)(caller.frame - t->stack.lo) : 0, (uint32_t)caller.from};
}

uint32_t kymo_mark_label_push(const char *key, const struct kymo_mark_cell *value)
{
    struct kymo_capture_thread *t = here();
    if (!t)
        return 0;
    struct label l = prepare(key, value);
    if (l.value.kind == KYMO_KIND_NONE) {
        /* What is pushed is there, and hides what has its key. */
        l.value.kind = KYMO_KIND_TEXT;
        l.text = "";
    }
    struct caller caller = CALLER();
    uint32_t depth = labels_at(t, caller.frame, caller.from);
    /* A handler of the program that has labels, too, may come between any two of these: a block
     * that is remembered before the depth is, would be overwritten by its own. */
    if (depth < KYMO_LABEL_BLOCKS)
        t->label_blocks[depth].frame = 0;
    kymo_signal_fence();
    set_depth(t, depth + 1);
    kymo_signal_fence();
    remember_block(t, depth, value, caller);
    if (write_change(t, caller.frame, KYMO_LABEL_PUSHED, depth, &l)) {
        kymo_store_relaxed(&t->labels_owed, 0u);
        return depth + 1;
    }
    kymo_count_loss(t->process, KYMO_LOSS_LABEL);
    set_depth(t, depth);
    return 0;
}

/* Whether it was said that what is deeper is gone; else that is owed. */
static int write_pop(struct kymo_capture_thread *t, uint64_t here, uint32_t depth)
{
    static const struct label none;
    int is_said = write_change(t, here, KYMO_LABEL_POPPED, depth, &none);
    kymo_store_relaxed(&t->labels_owed, !is_said);
    return is_said;
}

void kymo_mark_label_pop(uint32_t depth)
{
    struct kymo_capture_thread *t = kymo_thread_self;
    if (!t || depth == 0)
        return;
    if (!t->mark_epoch && depth <= at_fork.depth)
        at_fork.depth = depth - 1;
    /* Deeper than anything: a scope of which this forked child knows nothing. */
    if (!t->mark_epoch || depth > t->labels)
        return;
    set_depth(t, depth - 1);
    if (!write_pop(t, KYMO_FRAME_BEGIN(), depth - 1))
        kymo_count_loss(t->process, KYMO_LOSS_LABEL);
}

void kymo_mark_labels_repay(struct kymo_capture_thread *t, uint64_t here)
{
    uint32_t depth = labels_at(t, here, 0);
    if (depth == t->labels && !t->labels_owed)
        return;
    set_depth(t, depth);
    (void)write_pop(t, here, depth);
}

void kymo_mark_label_set(const char *key, const struct kymo_mark_cell *value)
{
    struct kymo_capture_thread *t = here();
    if (!t)
        return;
    struct label l = prepare(key, value);
    set_depth(t, labels_at(t, KYMO_FRAME_BEGIN(), 0));
    if (!write_change(t, KYMO_FRAME_BEGIN(), KYMO_LABEL_WAS_SET, t->labels, &l))
        kymo_count_loss(t->process, KYMO_LOSS_LABEL);
}

/* ---- fork ---- */

void kymo_mark_labels_before_fork(void)
{
    const struct kymo_capture_thread *t = kymo_thread_self;
    const struct kymo_capture_process *p = kymo_process_here();
    /* A forked child that has not attached yet hands on what it would have. */
    if (!p)
        return;
    at_fork.recorded_as = 0;
    /* Quiet: its children are not recorded. */
    if (!kymo_thread_is_of(p) || !t->mark_epoch || !t->was_labelled || kymo_is_quiet(p))
        return;
    at_fork.recorded_as = kymo_load_relaxed(&p->session->recorded_as);
    at_fork.tid = t->tid;
    at_fork.depth = t->labels;
    at_fork.fork_ns = kymo_clock_ns(CLOCK_MONOTONIC) + CLOCKS_NS;
    memcpy(at_fork.blocks, t->label_blocks, sizeof at_fork.blocks);
}

void kymo_mark_labels_inherit(struct kymo_capture_thread *t)
{
    struct kymo_stream_writer *w;
    if (!at_fork.recorded_as || !t->mark_epoch)
        return;
    struct kymo_record_label_inherited *r = kymo_mark_reserve(t, &w, sizeof *r, KYMO_FRAME_BEGIN());
    if (!r) {
        kymo_count_loss(t->process, KYMO_LOSS_LABEL);
        return;
    }
    *r = (struct kymo_record_label_inherited){
        .head = {kymo_process_clock(t->process), KYMO_RECORD_LABEL, sizeof *r,
                 KYMO_LABEL_INHERITED},
        .depth = at_fork.depth,
        .recorded_as = at_fork.recorded_as,
        .tid = at_fork.tid,
        .fork_ns = at_fork.fork_ns,
    };
    kymo_mark_publish(w, sizeof *r);
    memcpy(t->label_blocks, at_fork.blocks, sizeof at_fork.blocks);
    t->was_labelled = 1;
    set_depth(t, at_fork.depth);
}
