/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_labels.c - the labels of a thread: see mark.h.
 *
 * A change of a thread's labels is a record in its stream. Samples, markers and allocations say
 * nothing of labels: whoever reads the recording puts them together by the clock. So the sampling
 * handler reads nothing, and a label costs nothing but when it changes.
 *
 * Records say how deep the thread was, and what was deeper is gone: an inner scope that a longjmp
 * has left ends with the outer one. A push that finds no room does not count as one, and its scope
 * pops nothing. A pop that finds none is owed: the next change makes it good, or the next sample,
 * so that a thread does not keep for ever what it had when the buffer was full.
 *
 * The depth changes before the record is made, in both directions: labels of a handler that comes
 * in between stand above those of the thread, and are gone when it returns.
 */
#include <string.h>

#include "base/atomic.h"
#include "base/text_fit.h"
#include "buffer/record.h"
#include "capture/mark.h"

#define KEY_MAX 128u

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
    switch (value->kind) {
    case KYMO_KIND_I64:
    case KYMO_KIND_U64:
    case KYMO_KIND_F64:
    case KYMO_KIND_PTR:
        l.value.kind = value->kind;
        memcpy(&l.value.value, &value->as, sizeof l.value.value);
        break;
    case KYMO_KIND_STR:
    case KYMO_KIND_TEXT:
        l.text = value->as.ptr;
        if (l.text) {
            size_t len = value->kind == KYMO_KIND_TEXT
                             ? value->len
                             : kymo_mark_text_len(l.text, KYMO_MARK_TEXT_MAX + 1);
            l.value.kind = KYMO_KIND_TEXT;
            l.text_bytes = fit(l.text, len, KYMO_MARK_TEXT_MAX);
            l.is_cut = l.text_bytes < len;
        }
        break;
    default:
        break; /* there is no value of such a kind */
    }
    return l;
}

/* Whether the change was recorded. */
static int write_change(struct kymo_thread *t, uint64_t here, enum kymo_label_change change,
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
    if (l->is_cut) /* labels have no site that could count it */
        kymo_count_loss(t->process, KYMO_LOSS_LABEL_CUT);
    return 1;
}

/* The calling thread, if it is ready to record; may make it so. */
KYMO_INLINE struct kymo_thread *here(void)
{
    struct kymo_thread *t = kymo_thread_self;
    return kymo_likely(t && t->mark_epoch) ? t : kymo_mark_thread();
}

static void set_depth(struct kymo_thread *t, uint32_t depth)
{
    kymo_store_relaxed(&t->labels, depth);
    kymo_signal_fence();
}

uint32_t kymo_mark_label_push(const char *key, const struct kymo_mark_cell *value)
{
    struct kymo_thread *t = here();
    if (!t)
        return 0;
    struct label l = prepare(key, value);
    if (l.value.kind == KYMO_KIND_NONE) {
        /* What is pushed is there, and hides what has its key. */
        l.value.kind = KYMO_KIND_TEXT;
        l.text = "";
    }
    uint32_t depth = t->labels;
    set_depth(t, depth + 1);
    if (write_change(t, KYMO_FRAME_BEGIN(), KYMO_LABEL_PUSHED, depth, &l)) {
        kymo_store_relaxed(&t->labels_owed, 0u);
        return depth + 1;
    }
    kymo_count_loss(t->process, KYMO_LOSS_LABEL);
    set_depth(t, depth);
    return 0;
}

/* Whether it was said that what is deeper is gone; else that is owed. */
static int write_pop(struct kymo_thread *t, uint64_t here, uint32_t depth)
{
    static const struct label none;
    int is_said = write_change(t, here, KYMO_LABEL_POPPED, depth, &none);
    kymo_store_relaxed(&t->labels_owed, !is_said);
    return is_said;
}

void kymo_mark_label_pop(uint32_t depth)
{
    struct kymo_thread *t = kymo_thread_self;
    /* Deeper than anything: a scope that began in the parent of this forked child. */
    if (!t || !t->mark_epoch || depth == 0 || depth > t->labels)
        return;
    set_depth(t, depth - 1);
    if (!write_pop(t, KYMO_FRAME_BEGIN(), depth - 1))
        kymo_count_loss(t->process, KYMO_LOSS_LABEL);
}

void kymo_mark_labels_repay(struct kymo_thread *t, uint64_t here)
{
    (void)write_pop(t, here, t->labels);
}

void kymo_mark_label_set(const char *key, const struct kymo_mark_cell *value)
{
    struct kymo_thread *t = here();
    if (!t)
        return;
    struct label l = prepare(key, value);
    if (!write_change(t, KYMO_FRAME_BEGIN(), KYMO_LABEL_WAS_SET, t->labels, &l))
        kymo_count_loss(t->process, KYMO_LOSS_LABEL);
}
