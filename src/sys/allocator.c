/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/allocator.h"

#include <stddef.h>

static void set(struct kymo_allocator_report *report, enum kymo_allocator_word word, uint64_t value)
{
    report->value[word] = value;
    report->known |= 1ull << word;
}
#define SET(name, value) set(report, KYMO_ALLOCATOR_WORD_##name, value)

/* As glibc 2.33 and later have it; older ones have only ints, and no function of this name. */
struct heap_figures {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

void kymo_allocator_ask_glibc(struct kymo_allocator_report *report, uint64_t function)
{
    struct heap_figures m = ((struct heap_figures(*)(void))(uintptr_t)function)();
    SET(GLIBC_ALLOCATED, m.uordblks + m.hblkhd);
    SET(GLIBC_FREE, m.fordblks);
    SET(GLIBC_MAPPED, m.arena + m.hblkhd);
    SET(GLIBC_DIRECT, m.hblkhd);
    SET(GLIBC_DIRECT_BLOCKS, m.hblks);
    SET(GLIBC_FAST, m.fsmblks);
    SET(GLIBC_TOP, m.keepcost);
}

void kymo_allocator_ask_jemalloc(struct kymo_allocator_report *report, uint64_t function)
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
        (int (*)(const char *, void *, size_t *, void *, size_t))(uintptr_t)function;
    /* What stats.* say is of the last epoch. */
    uint64_t epoch = 1;
    size_t value, len = sizeof epoch;
    unsigned arenas;
    (void)mallctl_of("epoch", &epoch, &len, &epoch, sizeof epoch);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        len = sizeof value;
        if (mallctl_of(rows[i].name, &value, &len, NULL, 0) == 0 && len == sizeof value)
            set(report, rows[i].word, value);
    }
    len = sizeof arenas;
    if (mallctl_of("arenas.narenas", &arenas, &len, NULL, 0) == 0 && len == sizeof arenas)
        SET(JEMALLOC_ARENAS, arenas);
}

void kymo_allocator_ask_mimalloc(struct kymo_allocator_report *report, uint64_t function)
{
    size_t elapsed, user, system, rss, rss_peak, committed = 0, committed_peak = 0, faults;
    ((void (*)(size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *))(
        uintptr_t)function)(&elapsed, &user, &system, &rss, &rss_peak, &committed, &committed_peak,
                            &faults);
    SET(MIMALLOC_COMMITTED, committed);
    SET(MIMALLOC_PEAK, committed_peak);
}

void kymo_allocator_ask_tcmalloc(struct kymo_allocator_report *report, uint64_t function)
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
    int (*property)(const char *, size_t *) = (int (*)(const char *, size_t *))(uintptr_t)function;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t sum = 0, value = 0;
        const char *const *name = rows[i].names;
        for (; *name && property(*name, &value); name++)
            sum += value;
        if (!*name)
            set(report, rows[i].word, sum);
    }
}
