/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/allocator_events.h"

#include "base/atomic.h"

int kymo_allocator_answer_read(const struct kymo_session *session,
                               struct kymo_allocator_answer *answer)
{
    const struct kymo_allocator_words *words = &session->allocator_words;
    struct kymo_allocator_answer a = {.number = kymo_load_acquire(&words->answered)};
    if (a.number == 0)
        return 0;
    a.clock = kymo_load_relaxed(&words->clock);
    a.took = kymo_load_relaxed(&words->took);
    a.known = kymo_load_relaxed(&words->known);
    for (size_t i = 0; i < KYMO_ALLOCATOR_WORD_COUNT; i++) {
        uint64_t value = kymo_load_relaxed(&words->value[i]);
        a.value[i] = value < INT64_MAX ? (int64_t)value : INT64_MAX;
    }
    kymo_fence_acquire();
    if (kymo_load_relaxed(&words->answered) != a.number)
        return 0;
    *answer = a;
    return 1;
}

enum kymo_figure kymo_allocator_answer_figure(enum kymo_allocator_word word)
{
    static const enum kymo_figure figures[KYMO_ALLOCATOR_WORD_COUNT] = {
#define X(name) KYMO_FIGURE_##name,
        KYMO_ALLOCATOR_WORDS(X)
#undef X
    };
    return figures[word];
}

/* ---- sums ---- */

static int64_t value_of(const struct kymo_allocator_answer *a, enum kymo_allocator_word word)
{
    return a->known >> word & 1 ? a->value[word] : -1;
}

/* The two may have been read at different moments, so the result is at least 0. */
static int64_t less(int64_t whole, int64_t part)
{
    if (whole < 0 || part < 0)
        return -1;
    return whole > part ? whole - part : 0;
}

struct kymo_allocator_sums kymo_allocator_answer_sums(const struct kymo_allocator_answer *a)
{
    struct kymo_allocator_sums sums = {-1, -1, -1, -1};
#define VALUE(name) value_of(a, KYMO_ALLOCATOR_WORD_##name)
    if (VALUE(GLIBC_ALLOCATED) >= 0) {
        sums.allocated = VALUE(GLIBC_ALLOCATED);
        sums.free = VALUE(GLIBC_FREE);
        sums.mapped = VALUE(GLIBC_MAPPED);
    } else if (VALUE(JEMALLOC_ALLOCATED) >= 0) {
        sums.allocated = VALUE(JEMALLOC_ALLOCATED);
        sums.own = VALUE(JEMALLOC_METADATA);
        sums.free = less(less(VALUE(JEMALLOC_RESIDENT), sums.own), sums.allocated);
        sums.mapped = VALUE(JEMALLOC_MAPPED);
    } else if (VALUE(TCMALLOC_ALLOCATED) >= 0) {
        sums.allocated = VALUE(TCMALLOC_ALLOCATED);
        sums.free = VALUE(TCMALLOC_FREE);
        sums.mapped = less(VALUE(TCMALLOC_MAPPED), VALUE(TCMALLOC_RETAINED));
    } else if (VALUE(MIMALLOC_COMMITTED) >= 0) {
        sums.mapped = VALUE(MIMALLOC_COMMITTED);
    }
#undef VALUE
    return sums;
}
