/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_links.c - the executables and shared objects that have markers, and which of their
 * categories are on: see mark.h.
 *
 * A category is on while this process is recorded, or is a forked child that may be yet, and the
 * list in force wants it (mark_select.c): the recorder's, until the program makes one of its own,
 * and again once the recorder has changed its list after that.
 *
 * Who switches. Another thread may want an update at the same time. Where signals cannot be
 * blocked, so may a handler that interrupts one. So no thread waits for a lock. A thread that wants
 * an update adds to `updates`. The one that finds it 0 does the work, and repeats it until no other
 * request has come meanwhile. An update sees all that was written before it was asked for.
 *
 * The links are a list through their own memory. Attaching and detaching hold a lock, which a
 * handler never takes; it reads the list, and an object goes only after the updates that may have
 * seen it are done.
 *
 * Every category of a process that is recorded is defined in its session, so that the recorder can
 * name all that there are, not only those that were used: where one comes in, and where the process
 * begins. An update, which may come deep on a small stack, only says which are on.
 *
 * The program's list is written to the one of two places that is not in force, once the update that
 * may still read there is done.
 */
#include "capture/mark.h"

#include <string.h>

#include "base/atomic.h"
#include "base/hash.h"
#include "base/word_list.h"
#include "buffer/session.h"
#include "capture/family.h"
#include "capture/fork_child.h"
#include "capture/state.h"

/* With an update by another thread, which is short; one whose thread does not run for so long, a
 * second or so, is risked, as is a walk by dlclose. */
#define PATIENCE_WAITS 15000

static struct {
    uint32_t lock;    /* held by attach, detach and select */
    uint32_t updates; /* that are asked for and not done */
    uint32_t turn;    /* odd while one is made */
    struct kymo_mark_link *first;
    uint32_t is_closed;    /* nothing can be recorded in this process, even if a recorder listens */
    uint32_t are_on;       /* as the last update has left them: some may be on */
    uint32_t seen_control; /* and the recorder's list that it has seen */
    uint64_t seed;         /* of the flows of pointers; 0: this process was never recorded */
    uint32_t chosen;       /* 0: no list of the program's own; else its place in lists + 1 */
    uint32_t chosen_epoch;
    uint32_t chosen_control; /* the recorder's list that it was made after, in that epoch */
    char lists[2][KYMO_CONTROL_BYTES];
} links;

/* ---- which ---- */

/* A recorder that has died cannot say that it stopped: only its silence shows it. Where the clock
 * may not be read, the silence is not known. */
static int is_listened_to(const struct kymo_capture_process *p)
{
    if (kymo_load_relaxed(&links.is_closed))
        return 0;
    if (p)
        return !kymo_load_relaxed(&p->session->stopped) && !kymo_family_is_silent(p->session);
    return !kymo_load_relaxed(&kymo_quiet_here) && kymo_fork_is_pending();
}

/* Where the recorder's list is: in the session, or, of a forked child that has none yet, in its
 * parent's first page. NULL: nowhere. */
static const struct kymo_session *header_of(const struct kymo_capture_process *p)
{
    return p ? p->session : kymo_load_acquire(&kymo_family.header);
}

static uint32_t control_of(const struct kymo_capture_process *p)
{
    const struct kymo_session *header = header_of(p);
    return header ? kymo_load_acquire(&header->control_seq) : 0;
}

/* The list in force: it ends with a NUL or after KYMO_CONTROL_BYTES. */
static const char *list_in_force(const struct kymo_capture_process *p, uint32_t control)
{
    const struct kymo_session *header = header_of(p);
    uint32_t chosen = kymo_load_acquire(&links.chosen);
    if (chosen && p && kymo_load_relaxed(&links.chosen_epoch) != p->mark_epoch) {
        /* A forked child has a session of its own, and what its parent chose. */
        kymo_store_relaxed(&links.chosen_epoch, p->mark_epoch);
        kymo_store_relaxed(&links.chosen_control, control);
    } else if (chosen && kymo_load_relaxed(&links.chosen_control) != control) {
        /* Unless the program makes another one just now. */
        if (kymo_cas_acq_rel(&links.chosen, &chosen, 0u))
            chosen = 0;
    }
    if (chosen)
        return links.lists[chosen - 1];
    return header ? header->control : "";
}

/* ---- switching ---- */

/* Writes only a new value: a forked child shares the page with its parent until one of them writes
 * to it. */
static void store_if_new(uint32_t *to, uint32_t value)
{
    if (kymo_load_relaxed(to) != value)
        kymo_store_relaxed(to, value);
}

static void define_category(struct kymo_capture_process *p, struct kymo_mark_category *c)
{
    if (!p || !p->mark_epoch || !c || c->size < sizeof *c)
        return;
    uint32_t number = kymo_mark_category_define(p, c);
    if (number)
        kymo_store_relaxed(&c->id, p->mark_epoch << 16 | number);
}

static void define_link(struct kymo_capture_process *p, const struct kymo_mark_link *link)
{
    for (struct kymo_mark_category *const *c = link->categories; c < link->categories_end; c++)
        define_category(p, *c);
}

static void tell_category(const struct kymo_mark_category *c, uint32_t on)
{
    const struct kymo_capture_process *p = kymo_process_here();
    uint32_t number = p ? kymo_load_relaxed(&c->id) ^ p->mark_epoch << 16 : 0;
    if (number - 1 < KYMO_DEFINITION_NUMBER_MAX)
        kymo_store_relaxed(&kymo_session_site_counts(p->session, &p->plan, number)->category_is_on,
                           on);
}

static void switch_category(struct kymo_mark_category *c, const char *list)
{
    if (!c || c->size < sizeof *c)
        return;
    uint32_t on = list && kymo_select_wants(list, KYMO_CONTROL_BYTES, c) ? 1 : 0;
    store_if_new(&c->on, on);
    if (list)
        tell_category(c, on);
}

static void seed_link(struct kymo_mark_link *link)
{
    uint64_t seed = kymo_load_relaxed(&links.seed);
    if (kymo_load_relaxed(&link->flow_seed) != seed)
        kymo_store_relaxed(&link->flow_seed, seed);
}

static void tell_link(struct kymo_mark_link *link, uint32_t is_recorded)
{
    kymo_recording_fn *fn = kymo_load_acquire(&link->recording_fn);
    if (!fn || kymo_load_relaxed(&link->recording_told) == is_recorded)
        return;
    kymo_store_relaxed(&link->recording_told, is_recorded);
    fn(link->recording_context, (int)is_recorded);
}

static void switch_link(struct kymo_mark_link *link, const char *list)
{
    if (list)
        seed_link(link);
    for (struct kymo_mark_category *const *c = link->categories; c < link->categories_end; c++)
        switch_category(*c, list);
    store_if_new(&link->on, list != NULL);
    tell_link(link, list != NULL);
}

static void switch_all(void)
{
    const struct kymo_capture_process *p = kymo_process_here();
    uint32_t control = control_of(p);
    const char *list = NULL;
    if (is_listened_to(p)) {
        /* Half a list: it stays as it was for these microseconds, and who looks then sees it. */
        if (control % 2)
            return;
        list = list_in_force(p, control);
    }
    for (struct kymo_mark_link *link = kymo_load_acquire(&links.first); link;
         link = kymo_load_acquire(&link->next))
        switch_link(link, list);
    struct kymo_mark_category *c = NULL;
    while ((c = kymo_mark_registered_category(c)) != NULL)
        switch_category(c, list);
    kymo_store_relaxed(&links.are_on, list != NULL);
    kymo_store_relaxed(&links.seen_control, control);
    /* Pairs with the acquire in recorder/host.c: every category has its switch. */
    if (p)
        kymo_store_release(&p->session->control_seen, control);
}

void kymo_mark_links_update(void)
{
    uint32_t asked = 1;
    uint64_t mask;
    int is_masked = !kymo_mark_is_quiet();
    /* A handler that leaves by siglongjmp would leave an update that is never done. */
    if (is_masked)
        kymo_raw_block_all(&mask);
    if (kymo_add_acq_rel(&links.updates, 1u) == 0) {
        do {
            kymo_add_acq_rel(&links.turn, 1u);
            /* Pairs with that of wait_for_update. */
            kymo_fence_seqcst();
            switch_all();
            kymo_add_acq_rel(&links.turn, 1u);
        } while (!kymo_cas_acq_rel(&links.updates, &asked, 0u));
    }
    if (is_masked)
        kymo_raw_set_mask(&mask, NULL);
}

/* While no other thread can unload an object. */
static void define_all(void)
{
    struct kymo_capture_process *p = kymo_process_here();
    for (struct kymo_mark_link *link = kymo_load_acquire(&links.first); link;
         link = kymo_load_acquire(&link->next))
        define_link(p, link);
    struct kymo_mark_category *c = NULL;
    while ((c = kymo_mark_registered_category(c)) != NULL)
        define_category(p, c);
}

void kymo_mark_links_add(struct kymo_mark_category *category)
{
    struct kymo_capture_process *p = kymo_process_here();
    /* Its parent came with it, and is ours to write to as it is. */
    define_category(p, (struct kymo_mark_category *)(uintptr_t)category->parent);
    define_category(p, category);
    kymo_mark_links_update();
}

static void open_links(void)
{
    const struct kymo_capture_process *p = kymo_process_here();
    /* A forked child has its own since the fork, and has given it away. */
    if (p && kymo_load_relaxed(&links.seed) == 0)
        kymo_store_relaxed(&links.seed, kymo_hash_mix(p->session->cookie, p->session->pid));
    kymo_store_relaxed(&links.is_closed, 0u);
}

void kymo_mark_links_start(void)
{
    open_links();
    define_all();
    kymo_mark_links_update();
}

void kymo_mark_links_start_late(void)
{
    open_links();
    kymo_mark_lock(&links.lock);
    define_all();
    kymo_mark_unlock(&links.lock);
    kymo_mark_links_update();
}

void kymo_mark_links_off(void)
{
    kymo_store_relaxed(&links.is_closed, 1u);
    kymo_mark_links_update();
}

void kymo_mark_links_look(void)
{
    const struct kymo_capture_process *p = kymo_process_here();
    if (is_listened_to(p) != (int)kymo_load_relaxed(&links.are_on) ||
        control_of(p) != kymo_load_relaxed(&links.seen_control))
        kymo_mark_links_update();
}

/* ---- the links ---- */

static const struct kymo_mark_calls calls = {
    .size = sizeof calls,
    .abi = KYMO_MARK_ABI,
    .detach = kymo_mark_links_detach,
    .now = kymo_mark_now,
    .to_ns = kymo_mark_to_ns,
    .from_ns = kymo_mark_from_ns,
    .cells = kymo_mark_cells,
    .interval = kymo_mark_interval,
    .stack = kymo_mark_stack,
    .label_push = kymo_mark_label_push,
    .label_pop = kymo_mark_label_pop,
    .label_set = kymo_mark_label_set,
    .track = kymo_mark_track,
    .select = kymo_mark_links_select,
    .type_register = kymo_mark_type_register,
    .category_register = kymo_mark_category_register,
    .site_register = kymo_mark_site_register,
    .stats = kymo_mark_stats,
    .on_recording = kymo_mark_links_on_recording,
};

static void fill(struct kymo_mark_link *link)
{
    link->calls = &calls;
    link->mark = kymo_mark;
    link->mark_with = kymo_mark_with;
    link->scope_begin = kymo_mark_scope_begin;
    link->scope_end = kymo_mark_scope_end;
    link->count = kymo_mark_count;
}

/* The place where the link is named; NULL: it is not known. Locked. */
static struct kymo_mark_link **find(const struct kymo_mark_link *link)
{
    for (struct kymo_mark_link **at = &links.first; *at; at = &(*at)->next)
        if (*at == link)
            return at;
    return NULL;
}

/* What was changed before is seen by every update that is made after this. */
static void wait_for_update(void)
{
    /* Either an update sees the change, or this sees the update. */
    kymo_fence_seqcst();
    uint32_t turn = kymo_load_acquire(&links.turn);
    for (int i = 0; i < PATIENCE_WAITS; i++) {
        if (turn % 2 == 0 || kymo_load_acquire(&links.turn) != turn)
            break;
        kymo_mark_wait();
    }
}

int kymo_mark_links_attach(struct kymo_mark_link *link)
{
    if (!link || link->size < sizeof *link || link->abi != KYMO_MARK_ABI)
        return KYMO_E_VERSION;
    kymo_mark_lock(&links.lock);
    /* Also where one was that is gone, and never said so. */
    if (link->calls != &calls)
        fill(link);
    define_link(kymo_process_here(), link);
    if (!find(link)) {
        link->next = links.first;
        /* Pairs with the acquires of switch_all: the link is whole. */
        kymo_store_release(&links.first, link);
    }
    kymo_mark_unlock(&links.lock);
    kymo_mark_links_update();
    return KYMO_OK;
}

void kymo_mark_links_detach(struct kymo_mark_link *link)
{
    kymo_mark_lock(&links.lock);
    struct kymo_mark_link **at = find(link);
    if (at) {
        kymo_store_release(at, link->next);
        wait_for_update();
        switch_link(link, NULL);
    }
    kymo_mark_unlock(&links.lock);
}

int kymo_mark_links_select(const char *list)
{
    size_t len = list ? strlen(list) : 0;
    if (!list || !kymo_word_list_is(list, len))
        return KYMO_E_INVALID;
    if (len >= KYMO_CONTROL_BYTES)
        return KYMO_E_TOO_BIG;
    kymo_mark_lock(&links.lock);
    const struct kymo_capture_process *p = kymo_process_here();
    uint32_t place = kymo_load_relaxed(&links.chosen) == 1 ? 1 : 0;
    wait_for_update();
    memcpy(links.lists[place], list, len + 1);
    kymo_store_relaxed(&links.chosen_epoch, p ? p->mark_epoch : 0);
    kymo_store_relaxed(&links.chosen_control, control_of(p));
    /* Pairs with the acquire of list_in_force. */
    kymo_store_release(&links.chosen, place + 1);
    kymo_mark_unlock(&links.lock);
    kymo_mark_links_update();
    return KYMO_OK;
}

void kymo_mark_links_on_recording(struct kymo_mark_link *link, kymo_recording_fn *fn, void *context)
{
    kymo_mark_lock(&links.lock);
    kymo_store_release(&link->recording_fn, NULL);
    wait_for_update();
    link->recording_context = context;
    kymo_store_relaxed(&link->recording_told, 0u);
    /* Pairs with the acquire of tell_link. */
    kymo_store_release(&link->recording_fn, fn);
    kymo_mark_unlock(&links.lock);
    kymo_mark_links_update();
}

void kymo_mark_links_reseed(void)
{
    const struct kymo_session *header = kymo_load_acquire(&kymo_family.header);
    /* In pid namespaces of their own, all children may have the same pid. */
    uint64_t clock = header ? kymo_clock_now((enum kymo_clock_kind)header->clock_kind) : 0;
    uint64_t seed = kymo_hash_mix(kymo_load_relaxed(&links.seed), kymo_raw_getpid());
    kymo_store_relaxed(&links.seed, kymo_hash_mix(seed, clock));
    for (struct kymo_mark_link *link = kymo_load_acquire(&links.first); link;
         link = kymo_load_acquire(&link->next))
        if (kymo_load_relaxed(&link->on))
            seed_link(link);
}

void kymo_mark_links_after_fork(void)
{
    kymo_store_relaxed(&links.lock, 0u);
    kymo_store_relaxed(&links.updates, 0u);
    kymo_store_relaxed(&links.turn, 0u);
    kymo_mark_register_after_fork();
}
