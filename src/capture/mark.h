/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark.h - markers, counters and labels: from a place in the program to a record in its thread's
 * stream.
 *
 * Layer:    capture
 * Flow:     kymo/marker.h in the program -> [mark] -> buffer/stream.h, buffer/definition.h
 * Threads:  any
 * Memory:   blocks of the session; definitions on a site's first use; nothing of the program is
 *           kept but what is static in an object whose link is attached
 * Signals:  what is marked may be called from a handler, also from one that interrupts it
 *
 *   mark.c           what runs each time: a site and a thread that are known, a payload without
 *                    texts, room in the block
 *   mark_quick.c     the same with texts, of cells, and of the ends of intervals
 *   mark_slow.c      everything else of a marker: options, first use, limits, a full block
 *   mark_payload.c   the image of a payload, with its texts, lists and cells
 *   mark_site.c      definitions: sites, types, categories, literals, tracks
 *   mark_stack.c     stacks of markers
 *   mark_clock.c     the clock of markers, and CLOCK_MONOTONIC
 *   mark_links.c     attach and detach, categories on and off
 *   mark_labels.c, mark_count.c, mark_register.c, mark_stats.c
 *
 * A site's id is epoch << 16 | number: the epoch is the session's among those that this memory has
 * seen (a forked child's is another one), and a thread's state holds it, too, so one comparison
 * tells that the site was never used, that this is a forked child, and that the thread is not known
 * or has ended.
 */
#ifndef KYMO_CAPTURE_MARK_H
#define KYMO_CAPTURE_MARK_H

#include <stddef.h>
#include <stdint.h>

#include "arch/cpu.h"
#include "base/atomic.h"
#include "base/attr.h"
#include "base/hash.h"
#include "buffer/definition.h"
#include "capture/claim.h"
#include "capture/state.h"
#include "kymo/marker_abi.h"
#include "sys/raw.h"

/* A text is cut at that, on a character's boundary; a record has room for several. */
#define KYMO_MARK_TEXT_MAX 1024u
#define KYMO_MARK_RECORD_MAX (KYMO_SMALL_BLOCK_BYTES - (uint32_t)sizeof(struct kymo_block))

/* Why a site's markers go the slow way: bits of kymo_mark_site.slow. */
enum kymo_mark_slow {
    KYMO_MARK_BY_FIELD = 1u << 0, /* lists, UTF-16 or many texts, or bytes that are in no field */
    KYMO_MARK_LIMITED = 1u << 1,  /* of a type with max_per_second */
    KYMO_MARK_TEXTS = 1u << 2,    /* texts, in words that are copied as they are but for those */
};

/* kymo_mark_site.texts: from the lowest bits on, for each text the kind of its place and the number
 * of its first word. */
enum kymo_mark_text_place {
    KYMO_MARK_TEXT_LITERAL = 1, /* struct kymo_mark_literal */
    KYMO_MARK_TEXT_STR = 2,     /* a pointer */
    KYMO_MARK_TEXT_COUNTED = 3, /* struct kymo_mark_text; the second word of it is zero then */
    KYMO_MARK_TEXT_ALONE = 4,   /* the same as the whole payload, which is one word then */
    KYMO_MARK_TEXT_KIND = 7,    /* the bits of these */
};
#define KYMO_MARK_TEXT_KIND_BITS 3u
#define KYMO_MARK_TEXT_WORD_MAX 127u /* of 64 fields of two words each */
#define KYMO_MARK_TEXT_BITS 10u

/* ---- the calls of struct kymo_mark_link and struct kymo_mark_calls ---- */

KYMO_SIGNAL_SAFE void kymo_mark(struct kymo_mark_site *site, const void *payload);
KYMO_SIGNAL_SAFE void kymo_mark_with(struct kymo_mark_site *site, const void *payload,
                                     const struct kymo_mark_options *options);
KYMO_SIGNAL_SAFE void kymo_mark_scope_begin(struct kymo_mark_scope *scope,
                                            struct kymo_mark_site *site);
KYMO_SIGNAL_SAFE void kymo_mark_scope_end(struct kymo_mark_scope *scope);
KYMO_SIGNAL_SAFE void kymo_mark_cells(struct kymo_mark_site *site,
                                      const struct kymo_mark_cell *cells, uint32_t count,
                                      const struct kymo_mark_options *options);
KYMO_SIGNAL_SAFE uint64_t kymo_mark_interval(void);
KYMO_SIGNAL_SAFE uint64_t kymo_mark_stack(void);
KYMO_SIGNAL_SAFE uint64_t kymo_mark_track(const char *name, size_t len);
KYMO_SIGNAL_SAFE uint64_t kymo_mark_now(void);
KYMO_SIGNAL_SAFE uint64_t kymo_mark_to_ns(uint64_t clock);
KYMO_SIGNAL_SAFE uint64_t kymo_mark_from_ns(uint64_t monotonic_ns);
/* mark_stats.c */
int kymo_mark_stats(struct kymo_mark_stats *stats);
/* mark_labels.c */
KYMO_SIGNAL_SAFE uint32_t kymo_mark_label_push(const char *key, const struct kymo_mark_cell *value);
KYMO_SIGNAL_SAFE void kymo_mark_label_pop(uint32_t depth);
KYMO_SIGNAL_SAFE void kymo_mark_label_set(const char *key, const struct kymo_mark_cell *value);
/* Says what of them is gone, if that is owed (kymo_thread.labels_owed), or if a longjmp has left
 * their blocks. here: where the signal struck whose handler asks. */
KYMO_SIGNAL_SAFE void kymo_mark_labels_repay(struct kymo_capture_thread *thread, uint64_t here);
/* In a thread that is about to fork: notes what labels its child will have. */
KYMO_SIGNAL_SAFE void kymo_mark_labels_before_fork(void);
/* In the child, which has attached as this thread: it has them from here on. */
KYMO_SIGNAL_SAFE void kymo_mark_labels_inherit(struct kymo_capture_thread *thread);
/* mark_count.c */
KYMO_SIGNAL_SAFE void kymo_mark_count(struct kymo_mark_counter *counter, int64_t value,
                                      uint64_t operations);
/* mark_register.c */
int kymo_mark_type_register(const struct kymo_mark_type *type, const struct kymo_mark_type **out,
                            char *why, size_t why_size);
int kymo_mark_category_register(const struct kymo_mark_category *category,
                                struct kymo_mark_category **out, char *why, size_t why_size);
int kymo_mark_site_register(const struct kymo_mark_site *site, struct kymo_mark_site **out,
                            char *why, size_t why_size);

/* ---- mark_links.c ---- */

/* Fills in the link's calls, and switches its categories. Not for handlers. */
int kymo_mark_links_attach(struct kymo_mark_link *link);
void kymo_mark_links_detach(struct kymo_mark_link *link);
/* kymo_mark_calls.select. */
int kymo_mark_links_select(const char *list);
/* kymo_mark_calls.on_recording. */
void kymo_mark_links_on_recording(struct kymo_mark_link *link, kymo_recording_fn *fn,
                                  void *context);
/* A category that was made at run time is there. Not for handlers. */
void kymo_mark_links_add(struct kymo_mark_category *category);
/* Switches all categories anew. */
KYMO_SIGNAL_SAFE void kymo_mark_links_update(void);
/* The process captures from here on: at start, and in a forked child that has attached. */
KYMO_SIGNAL_SAFE void kymo_mark_links_start(void);
/* The same, where other threads may attach and detach links. Not for handlers. */
void kymo_mark_links_start_late(void);
/* No recorder listens to this process any more: switches all categories off. */
KYMO_SIGNAL_SAFE void kymo_mark_links_off(void);
/* Looks whether the recorder is still there, and whether it has asked for other categories. Called
 * when a block is taken, and when the recorder asks a thread to look. */
KYMO_SIGNAL_SAFE void kymo_mark_links_look(void);
/* In a forked child that may be recorded, before anything of it: its flows of pointers are not its
 * parent's. */
void kymo_mark_links_reseed(void);
/* In a forked child, first of all: releases the lock, since the thread that held it does not exist
 * in the child. */
KYMO_SIGNAL_SAFE void kymo_mark_links_after_fork(void);

/* ---- what the files of markers share ---- */

/* mark_slow.c: the calling thread, ready to record. A forked child that has not attached yet
 * attaches now; a thread without a slot takes one. NULL: nothing can be recorded; if that is for
 * good, all categories are off from here on. */
KYMO_SIGNAL_SAFE struct kymo_capture_thread *kymo_mark_thread(void);

/* mark_slow.c: room for a record of size_bytes in this stream, which the caller has claimed (at
 * most KYMO_MARK_RECORD_MAX, a multiple of 8); NULL: there is none. */
KYMO_SIGNAL_SAFE void *kymo_mark_room(struct kymo_capture_thread *thread,
                                      struct kymo_stream_writer *writer, uint32_t size_bytes);

/* Claims a stream and finds room in it; NULL: there is none, and nothing is claimed. Ends with
 * kymo_mark_publish. here: as kymo_claim has it. */
KYMO_SIGNAL_SAFE KYMO_INLINE void *kymo_mark_reserve(struct kymo_capture_thread *t,
                                                     struct kymo_stream_writer **writer,
                                                     uint32_t size_bytes, uint64_t here)
{
    struct kymo_stream_writer *w = kymo_claim(t, KYMO_STREAM_TASK, here);
    if (kymo_unlikely(!w))
        return NULL;
    void *at = kymo_mark_room(t, w, size_bytes);
    if (kymo_unlikely(!at))
        kymo_claim_end(w);
    *writer = w;
    return at;
}

KYMO_SIGNAL_SAFE KYMO_INLINE void kymo_mark_publish(struct kymo_stream_writer *w,
                                                    uint32_t size_bytes)
{
    kymo_stream_publish(w, size_bytes);
    kymo_claim_end(w);
}

/* mark_payload.c: bytes up to the NUL or up to max, whatever is less. */
KYMO_SIGNAL_SAFE size_t kymo_mark_text_len(const char *text, size_t max);

/* mark_site.c: the numbers of definitions in this session; 0: there is no room (counted). */
KYMO_SIGNAL_SAFE uint32_t kymo_mark_define(struct kymo_capture_process *process,
                                           enum kymo_definition_kind kind, kymo_definition_say *say,
                                           const void *what);
KYMO_SIGNAL_SAFE uint32_t kymo_mark_category_define(struct kymo_capture_process *process,
                                                    const struct kymo_mark_category *category);
KYMO_SIGNAL_SAFE uint32_t kymo_mark_type_define(struct kymo_capture_process *process,
                                                const struct kymo_mark_type *type);
KYMO_SIGNAL_SAFE uint32_t kymo_mark_literal_define(struct kymo_capture_process *process,
                                                   const char *text);

/* The two places that a literal may be known by. */
KYMO_SIGNAL_SAFE static inline uint64_t *kymo_mark_literal_places(
    const struct kymo_capture_process *p, uint64_t address)
{
    return &p->literals[kymo_hash_mix(0, address) & (KYMO_KNOWN_LITERALS - 2)];
}

/* The number of a literal; 0: there is no room. */
KYMO_SIGNAL_SAFE static inline uint32_t kymo_mark_literal(struct kymo_capture_process *p,
                                                          const char *text)
{
    uint64_t address = (uint64_t)(uintptr_t)text;
    const uint64_t *places = kymo_mark_literal_places(p, address);
    uint32_t generation = kymo_load_acquire(&p->session->module_generation);
    /* Pairs with the release of kymo_mark_literal_define: nothing older is in the places. */
    if (kymo_likely(kymo_load_acquire(&p->literal_generation) == generation) &&
        kymo_likely(!kymo_load_relaxed(&p->closing))) {
        uint64_t first = kymo_load_relaxed(&places[0]);
        uint64_t second = kymo_load_relaxed(&places[1]);
        if (kymo_likely(first >> 16 == address))
            return (uint32_t)first & UINT16_MAX;
        if (second >> 16 == address)
            return (uint32_t)second & UINT16_MAX;
    }
    return kymo_mark_literal_define(p, text);
}
/* Learns a site; its number. 0: there is no room, and all its markers are lost. */
KYMO_SIGNAL_SAFE uint32_t kymo_mark_site_define(struct kymo_capture_process *process,
                                                struct kymo_mark_site *site);
/* What is wrong with a type: one line; NULL: nothing. */
KYMO_SIGNAL_SAFE const char *kymo_mark_type_fault(const struct kymo_mark_type *type);

/* The site's number, if it is of this epoch; else 0. */
KYMO_SIGNAL_SAFE static inline uint32_t kymo_mark_site_number(const struct kymo_mark_site *site,
                                                              uint32_t mark_epoch)
{
    /* Pairs with the release of kymo_mark_site_define: words, slow and min_ticks are set. */
    uint32_t number = kymo_load_acquire(&site->id) ^ mark_epoch;
    return number - 1 < KYMO_DEFINITION_NUMBER_MAX ? number : 0;
}

/* mark_slow.c: the same as kymo_mark and kymo_mark_scope_end, without any of their conditions;
 * frame: theirs. */
KYMO_SIGNAL_SAFE void kymo_mark_slowly(struct kymo_mark_site *site, const void *payload,
                                       uint64_t frame);
KYMO_SIGNAL_SAFE void kymo_mark_scope_end_slowly(struct kymo_mark_scope *scope, uint64_t end,
                                                 uint64_t frame);

/* mark_clock.c */
/* How many ticks of the session's clock this is. */
KYMO_SIGNAL_SAFE uint64_t kymo_mark_ticks(const struct kymo_capture_process *process, uint64_t ns);

/* mark_register.c: types, categories and sites that are made at run time, as other languages do. */

/* The category that was registered after this one; of NULL the first; NULL: there is none. */
KYMO_SIGNAL_SAFE struct kymo_mark_category *kymo_mark_registered_category(
    const struct kymo_mark_category *after);

/* In a forked child, which has none of the threads that may have been in here. */
KYMO_SIGNAL_SAFE void kymo_mark_register_after_fork(void);

/* ---- mark_select.c: lists that say which categories are on: "all:-net:disk/read" ----
 *
 * Words with colons between; of those that mean a category, the last one counts. A word means the
 * category of that name, or part of a category as "disk/read", and all its parts; a minus in front
 * switches off. "all" means every one, "none" is "-all". Upper and lower case are the same. Each
 * list is whole: what no word means is off, unless the first word begins with a minus, as if "all"
 * stood before it. An empty list is "all".
 *
 * A quiet category, with its parts, is on only where a word names it or one of them: not by "all",
 * nor by a word for what it is a part of.
 */

/* Whether the list, which ends with a NUL or after max bytes, switches this category on. What is no
 * word (base/word_list.h) means nothing. */
KYMO_SIGNAL_SAFE int kymo_select_wants(const char *list, size_t max,
                                       const struct kymo_mark_category *category);

/* ---- mark_stack.c: stacks that markers have: the present one, and one for later ---- */

struct kymo_mark_stack_hold {
    uint64_t mask; /* of signals, as it was */
    uint32_t id;   /* of the stack, 0: none */
    uint32_t held; /* 0: nothing was taken nor blocked */
};

/* The caller's stack. No signal comes, and the id is good, until the end. */
KYMO_SIGNAL_SAFE void kymo_mark_stack_begin(struct kymo_capture_thread *thread,
                                            struct kymo_mark_stack_hold *hold);
KYMO_SIGNAL_SAFE void kymo_mark_stack_end(struct kymo_capture_thread *thread,
                                          const struct kymo_mark_stack_hold *hold);

/* mark_type_check.c: whether a type of markers is one: its fields, and the texts that name
 * them. */

/* What is wrong: "what", and which word of the type it is about ("" if none), len bytes. */
struct kymo_mark_fault {
    const char *what;
    const char *word;
    size_t len;
};

/* 0, or 1 and what is wrong. */
KYMO_SIGNAL_SAFE int kymo_mark_type_is_faulty(const struct kymo_mark_type *type,
                                              struct kymo_mark_fault *fault);

/* ---- mark_lock: a lock for what of markers is not for handlers: attaching, registering ---- */

/* Whether no system call may be made, here and now. */
KYMO_SIGNAL_SAFE static inline int kymo_mark_is_quiet(void)
{
    const struct kymo_capture_process *p = kymo_process_here();
    return p ? kymo_is_quiet(p) : kymo_is_quiet_here();
}

/* Lets another thread run for some 20 us: one that is of a lesser priority, too. */
static inline void kymo_mark_wait(void)
{
    if (!kymo_mark_is_quiet())
        kymo_raw_wait_a_little();
    else
        for (int i = 0; i < 500; i++)
            kymo_cpu_relax();
}

static inline void kymo_mark_lock(uint32_t *lock)
{
    while (kymo_exchange_acq_rel(lock, 1u) != 0)
        kymo_mark_wait();
}

static inline void kymo_mark_unlock(uint32_t *lock)
{
    kymo_store_release(lock, 0u);
}

#endif
