/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/alloc_words.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>

#include "buffer/depot.h"
#include "capture/claim.h"
#include "capture/fork_child.h"
#include "sys/raw.h"

/* What these functions may need of the stack. */
#define ROOM_BYTES (32u << 10)

struct kymo_alloc_words_from kymo_alloc_words_from;

/* ---- who may ask ---- */

/* How the walk of a stack went. */
static uint32_t notes_of(const struct kymo_capture_process *p, uint32_t stack)
{
    struct kymo_depot depot = kymo_depot_at(p->session, &p->plan, kymo_depot_id_epoch(stack) & 1);
    const struct kymo_depot_entry *entry = (const void *)(depot.arena + kymo_depot_id_word(stack));
    return entry->flags >> KYMO_STACK_NOTES_SHIFT;
}

int kymo_alloc_words_may(const struct kymo_capture_thread *t, uint64_t here, uint32_t stack)
{
    return kymo_alloc_words_from.function && stack && !kymo_is_quiet(t->process) &&
           !kymo_fork_was_bare() && kymo_stack_is_own(t, here) &&
           here - t->stack.lo >= ROOM_BYTES &&
           !(notes_of(t->process, stack) & KYMO_WALK_BY_SIGNAL_FRAME);
}

/* ---- the allocators ---- */

static void set(struct kymo_allocator_words *words, enum kymo_allocator_word word, uint64_t value)
{
    kymo_store_relaxed(&words->value[word], value);
    kymo_store_relaxed(&words->known, words->known | 1ull << word);
}
#define SET(name, value) set(words, KYMO_ALLOCATOR_WORD_##name, value)

/* As glibc 2.33 and later have it; older ones have only ints, and no function of this name. */
struct heap_figures {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

static void ask_glibc(struct kymo_allocator_words *words, uintptr_t function)
{
    struct heap_figures m = ((struct heap_figures(*)(void))function)();
    SET(GLIBC_ALLOCATED, m.uordblks + m.hblkhd);
    SET(GLIBC_FREE, m.fordblks);
    SET(GLIBC_MAPPED, m.arena + m.hblkhd);
    SET(GLIBC_DIRECT, m.hblkhd);
    SET(GLIBC_DIRECT_BLOCKS, m.hblks);
    SET(GLIBC_FAST, m.fsmblks);
    SET(GLIBC_TOP, m.keepcost);
}

static void ask_jemalloc(struct kymo_allocator_words *words, uintptr_t function)
{
    static const struct {
        enum kymo_allocator_word word;
        const char *name;
    } rows[] = {
        {KYMO_ALLOCATOR_WORD_JEMALLOC_ALLOCATED, "stats.allocated"},
        {KYMO_ALLOCATOR_WORD_JEMALLOC_ACTIVE, "stats.active"},
        {KYMO_ALLOCATOR_WORD_JEMALLOC_METADATA, "stats.metadata"},
        {KYMO_ALLOCATOR_WORD_JEMALLOC_RESIDENT, "stats.resident"},
        {KYMO_ALLOCATOR_WORD_JEMALLOC_MAPPED, "stats.mapped"},
        {KYMO_ALLOCATOR_WORD_JEMALLOC_RETAINED, "stats.retained"},
    };
    int (*mallctl_of)(const char *, void *, size_t *, void *, size_t) =
        (int (*)(const char *, void *, size_t *, void *, size_t))function;
    /* What stats.* say is of the last epoch. */
    uint64_t epoch = 1;
    size_t value, len = sizeof epoch;
    unsigned arenas;
    (void)mallctl_of("epoch", &epoch, &len, &epoch, sizeof epoch);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        len = sizeof value;
        if (mallctl_of(rows[i].name, &value, &len, NULL, 0) == 0)
            set(words, rows[i].word, value);
    }
    len = sizeof arenas;
    if (mallctl_of("arenas.narenas", &arenas, &len, NULL, 0) == 0)
        SET(JEMALLOC_ARENAS, arenas);
}

static void ask_mimalloc(struct kymo_allocator_words *words, uintptr_t function)
{
    size_t elapsed, user, system, rss, rss_peak, committed = 0, committed_peak = 0, faults;
    ((void (*)(size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *,
               size_t *))function)(&elapsed, &user, &system, &rss, &rss_peak, &committed,
                                   &committed_peak, &faults);
    SET(MIMALLOC_COMMITTED, committed);
    SET(MIMALLOC_PEAK, committed_peak);
}

static void ask_tcmalloc(struct kymo_allocator_words *words, uintptr_t function)
{
#define CACHES "tcmalloc.current_total_thread_cache_bytes"
#define CENTRAL "tcmalloc.central_cache_free_bytes", "tcmalloc.transfer_cache_free_bytes"
    static const struct {
        enum kymo_allocator_word word;
        const char *names[5];
    } rows[] = {
        {KYMO_ALLOCATOR_WORD_TCMALLOC_ALLOCATED, {"generic.current_allocated_bytes"}},
        {KYMO_ALLOCATOR_WORD_TCMALLOC_FREE, {"tcmalloc.pageheap_free_bytes", CACHES, CENTRAL}},
        {KYMO_ALLOCATOR_WORD_TCMALLOC_MAPPED, {"generic.heap_size"}},
        {KYMO_ALLOCATOR_WORD_TCMALLOC_RETAINED, {"tcmalloc.pageheap_unmapped_bytes"}},
        {KYMO_ALLOCATOR_WORD_TCMALLOC_THREAD_CACHES, {CACHES}},
        {KYMO_ALLOCATOR_WORD_TCMALLOC_CENTRAL, {CENTRAL}},
    };
#undef CACHES
#undef CENTRAL
    int (*property)(const char *, size_t *) = (int (*)(const char *, size_t *))function;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t sum = 0, value = 0;
        const char *const *name = rows[i].names;
        for (; *name && property(*name, &value); name++)
            sum += value;
        if (!*name)
            set(words, rows[i].word, sum);
    }
}

/* ---- an answer ---- */

static void ask(struct kymo_allocator_words *words)
{
    uintptr_t function = (uintptr_t)kymo_alloc_words_from.function;
    switch (kymo_alloc_words_from.allocator) {
    case KYMO_ALLOCATOR_GLIBC:
        ask_glibc(words, function);
        break;
    case KYMO_ALLOCATOR_JEMALLOC:
        ask_jemalloc(words, function);
        break;
    case KYMO_ALLOCATOR_TCMALLOC:
        ask_tcmalloc(words, function);
        break;
    case KYMO_ALLOCATOR_MIMALLOC:
        ask_mimalloc(words, function);
        break;
    default:
        break;
    }
}

void kymo_alloc_words_answer(struct kymo_capture_process *p)
{
    struct kymo_allocator_words *words = &p->session->allocator_words;
    uint32_t taken = kymo_load_relaxed(&words->taken);
    uint32_t wanted = kymo_load_relaxed(&p->session->allocator_wanted);
    if (wanted == taken || !kymo_cas_acq_rel(&words->taken, &taken, wanted))
        return;
    uint64_t mask;
    int saved = errno;
    uint64_t begin = kymo_process_clock(p);
    kymo_store_relaxed(&words->answered, 0u);
    kymo_fence_release();
    kymo_store_relaxed(&words->known, 0u);
    /* A handler that came in between could ask for memory itself, or jump out, with the locks of
     * all arenas held. */
    kymo_raw_block_all(&mask);
    ask(words);
    kymo_raw_set_mask(&mask, NULL);
    uint64_t end = kymo_process_clock(p);
    kymo_store_relaxed(&words->clock, end);
    kymo_store_relaxed(&words->took, end - begin);
    kymo_store_release(&words->answered, wanted);
    errno = saved;
}
