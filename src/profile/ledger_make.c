/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/ledger_make.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "profile/estimate.h"
#include "profile/heap_walk.h"
#include "profile/ledger_since.h"
#include "profile/tables.h"
#include "recording/events_heap.h"

/* The recorder reports two moments of a process; each needs a walk over all allocations. */
#define MOMENTS_MAX 8u

/* Bits of kymo_mapping.how. */
enum { BY_ALLOCATOR = 1, OF_FILE = 2, IS_SHARED = 4 };

/* Largest mappings of the program, by stack, that are shown. */
#define PARTS_MAX 256u
/* glibc aligns its arenas to this. */
#define ARENA_BYTES (64ull << 20)
/* Bytes of the header that glibc puts before each allocation. */
#define GLIBC_HEADER_BYTES 8u
#define PAGE_BYTES 4096u

/* A range of private memory of the process. */
struct piece {
    uint64_t lo, hi;
    double bytes;  /* resident */
    double before; /* resident bytes of all pieces at lower addresses */
    double left;   /* resident bytes that have no owner yet */
    uint32_t area;
    uint32_t is_heap;
};

struct area {
    uint64_t lo;
    double left;
    uint32_t is_allocators;
};

struct part {
    uint32_t stack;
    double bytes;
};

/* Sums over the live allocations at one moment. */
struct blocks {
    struct kymo_estimate resident; /* requested bytes, as far as they are resident */
    double slack;                  /* resident bytes beyond the requested ones */
    double all;                    /* both, resident or not */
};

struct making {
    kymo_profile *profile;
    uint32_t process;
    uint64_t time_ns;
    const kymo_allocation *rows;
    size_t row_count;
    double *weights;
    int is_glibc;
    KYMO_VEC(struct piece) pieces; /* by address */
    KYMO_VEC(struct area) areas;
    KYMO_VEC(struct part) parts;
    double given[KYMO_LEDGER_LINES]; /* lines of the recorder; below 0: not given */
    double lines[KYMO_LEDGER_LINES];
    uint64_t said_ns;
    double low, high; /* interval of the live allocations */
};

static double at_least(double value, double limit)
{
    return value > limit ? value : limit;
}

/* ---- pieces ---- */

static int compare_lines(const void *a, const void *b)
{
    const kymo_ledger *x = a;
    const kymo_ledger *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return (x->low > y->low) - (x->low < y->low);
}

/* Adds a piece. Ignores one that overlaps, or has more resident bytes than its size. */
static kymo_err take_piece(struct making *m, const kymo_ledger *l)
{
    struct piece *last = m->pieces.len ? &m->pieces.data[m->pieces.len - 1] : NULL;
    struct piece piece = {
        .lo = l->low,
        .hi = l->high,
        .bytes = (double)l->bytes,
        .before = last ? last->before + last->bytes : 0,
        .left = (double)l->bytes,
        .is_heap = l->name != 0,
    };
    if (l->low >= l->high || l->bytes < 0 || (uint64_t)l->bytes > l->high - l->low ||
        (last && l->low < last->hi))
        return KYMO_OK;
    if (!last || last->hi != piece.lo || last->is_heap != piece.is_heap)
        KYMO_TRY(kymo_vec_push(&m->areas, (struct area){piece.lo, 0, piece.is_heap}));
    piece.area = (uint32_t)m->areas.len - 1;
    return kymo_vec_push(&m->pieces, piece);
}

static int ends_before(const void *rows, size_t i, const void *address)
{
    const struct piece *pieces = rows;
    return pieces[i].hi <= *(const uint64_t *)address;
}

/* The first piece that ends after the address. */
static size_t find_piece(const struct making *m, uint64_t address)
{
    return kymo_search_count(m->pieces.data, m->pieces.len, ends_before, &address);
}

/* Resident bytes of [lo, hi): they are assumed to be spread evenly over the piece. */
static double share_of(const struct piece *p, uint64_t lo, uint64_t hi)
{
    lo = lo > p->lo ? lo : p->lo;
    hi = hi < p->hi ? hi : p->hi;
    return lo < hi ? p->bytes * ((double)(hi - lo) / (double)(p->hi - p->lo)) : 0;
}

/* ---- mappings ---- */

static kymo_err add_part(struct making *m, uint32_t stack, double bytes)
{
    if (bytes <= 0)
        return KYMO_OK;
    m->lines[KYMO_LEDGER_MAPPED] += bytes;
    return kymo_vec_push(&m->parts, (struct part){stack, bytes});
}

static kymo_err take_mapping(struct making *m, const kymo_mapping *row)
{
    double bytes = 0;
    uint64_t end = row->address + row->bytes;
    for (size_t i = find_piece(m, row->address); i < m->pieces.len && m->pieces.data[i].lo < end;
         i++) {
        struct piece *p = &m->pieces.data[i];
        if (row->how & BY_ALLOCATOR) {
            m->areas.data[p->area].is_allocators = 1;
            continue;
        }
        double share = fmin(share_of(p, row->address, end), p->left);
        p->left -= share;
        bytes += share;
    }
    return add_part(m, row->stack, bytes);
}

static kymo_err take_mappings(struct making *m)
{
    size_t count;
    const kymo_mapping *rows = kymo_profile_mappings(m->profile, m->process, &count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].time_ns <= m->time_ns && m->time_ns < rows[i].end_ns &&
            !(rows[i].how & (OF_FILE | IS_SHARED)))
            KYMO_TRY(take_mapping(m, &rows[i]));
    return KYMO_OK;
}

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a;
    const struct part *y = b;
    return (x->stack > y->stack) - (x->stack < y->stack);
}

static int compare_sizes(const void *a, const void *b)
{
    const struct part *x = a;
    const struct part *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return compare_parts(a, b);
}

/* Keeps the largest mappings of each stack as one line. */
static void sum_parts(struct making *m)
{
    struct part *parts = m->parts.data;
    size_t last = 0;
    if (m->parts.len == 0)
        return;
    qsort(parts, m->parts.len, sizeof *parts, compare_parts);
    for (size_t i = 1; i < m->parts.len; i++) {
        if (parts[last].stack == parts[i].stack)
            parts[last].bytes += parts[i].bytes;
        else
            parts[++last] = parts[i];
    }
    m->parts.len = last + 1;
    qsort(parts, m->parts.len, sizeof *parts, compare_sizes);
    m->parts.len = m->parts.len < PARTS_MAX ? m->parts.len : PARTS_MAX;
}

/* ---- allocations ---- */

/* Resident bytes below an address. */
static double count_below(const struct making *m, uint64_t address)
{
    size_t i = find_piece(m, address);
    if (i == m->pieces.len)
        return i ? m->pieces.data[i - 1].before + m->pieces.data[i - 1].bytes : 0;
    return m->pieces.data[i].before + share_of(&m->pieces.data[i], 0, address);
}

/* The resident share of an allocation. One of less than a page was written to by the code that
 * requested it, unless its page is not resident at all. *area: UINT32_MAX if it is in none. */
static double resident_share(const struct making *m, const kymo_allocation *row, uint32_t *area)
{
    uint64_t bytes = row->bytes + row->slack;
    size_t i = find_piece(m, row->address);
    *area = UINT32_MAX;
    if (i == m->pieces.len || m->pieces.data[i].lo > row->address)
        return 0;
    *area = m->pieces.data[i].area;
    if (bytes < PAGE_BYTES)
        return m->pieces.data[i].bytes > 0;
    uint64_t end = bytes <= UINT64_MAX - row->address ? row->address + bytes : UINT64_MAX;
    double there = count_below(m, end) - count_below(m, row->address);
    return fmin(at_least(there, 0) / (double)bytes, 1);
}

static uint32_t header_bytes(const struct making *m)
{
    return m->is_glibc ? GLIBC_HEADER_BYTES : 0;
}

static void add_block(struct making *m, struct blocks *sum, size_t i)
{
    const kymo_allocation *row = &m->rows[i];
    uint32_t area;
    double w = m->weights[i];
    double share = resident_share(m, row, &area);
    double bytes = (double)row->bytes;
    double slack = (double)row->slack + header_bytes(m);
    sum->resident.bytes += w * bytes * share;
    sum->resident.variance_bytes += w * (w - 1) * bytes * share * bytes * share;
    sum->slack += w * slack * share;
    sum->all += w * (bytes + slack);
    if (area != UINT32_MAX && share > 0)
        m->areas.data[area].is_allocators = 1;
}

static struct blocks blocks_now(struct making *m)
{
    struct blocks sum = {.slack = 0};
    for (size_t i = 0; i < m->row_count; i++)
        /* Python's objects are in memory that Python mapped. */
        if (m->rows[i].family != KYMO_FAMILY_PYTHON &&
            kymo_ledger_lives_at(&m->rows[i], m->time_ns))
            add_block(m, &sum, i);
    return sum;
}

/* ---- memory of the allocator ---- */

/* Sums what no mapping owns: what may be the allocator's, and what certainly is. */
static void sum_areas(struct making *m, double *all, double *sure)
{
    *all = *sure = 0;
    for (size_t i = 0; i < m->pieces.len; i++)
        m->areas.data[m->pieces.data[i].area].left += m->pieces.data[i].left;
    for (size_t i = 0; i < m->areas.len; i++) {
        const struct area *a = &m->areas.data[i];
        *all += a->left;
        if (a->is_allocators || (m->is_glibc && a->lo % ARENA_BYTES == 0))
            *sure += a->left;
    }
}

static int is_said(const struct making *m, uint32_t line)
{
    return m->given[line] >= 0;
}

/* The allocator's part of memory that may be its: what it took from the system, or what its
 * allocations need. */
static double allocators_part(struct making *m, const struct blocks *now,
                              const struct kymo_ledger_since *since)
{
    double all, sure;
    sum_areas(m, &all, &sure);
    double has = is_said(m, KYMO_LEDGER_SAID_TAKEN) ? m->given[KYMO_LEDGER_SAID_TAKEN] + since->rise
                                                    : m->high + now->slack;
    return fmin(all, at_least(sure, has));
}

/* Resident bytes in allocations by the allocator's own count, less what these have beyond the
 * requested bytes. *least: the lower bound. */
static double said_live(const struct making *m, const struct blocks *now,
                        const struct kymo_ledger_since *since, double *least)
{
    double absent = now->all - now->resident.bytes - now->slack;
    double said = m->given[KYMO_LEDGER_SAID_ALLOCATED] + since->grown - absent - now->slack;
    *least = said - KYMO_LEDGER_DEVIATIONS * sqrt(since->variance);
    return said;
}

/* heap: resident bytes of the allocator. */
static void split_heap(struct making *m, const struct blocks *now,
                       const struct kymo_ledger_since *since, double heap)
{
    double live = now->resident.bytes;
    double not_seen = 0;
    double room = at_least(heap - now->slack, 0);
    if (is_said(m, KYMO_LEDGER_SAID_ALLOCATED)) {
        double least;
        live = fmin(at_least(said_live(m, now, since, &least), m->low), m->high);
        not_seen = at_least(fmin(least, room) - live, 0);
    }
    live = at_least(fmin(live, room), m->low);
    double retained = at_least(room - live - not_seen, 0);
    if (is_said(m, KYMO_LEDGER_SAID_FREE))
        retained = fmin(retained, m->given[KYMO_LEDGER_SAID_FREE] + since->fall +
                                      at_least(m->given[KYMO_LEDGER_SAID_OWN], 0));
    m->lines[KYMO_LEDGER_LIVE] += live;
    m->lines[KYMO_LEDGER_SLACK] += now->slack;
    m->lines[KYMO_LEDGER_RETAINED] += retained;
}

static kymo_err make_heap(struct making *m)
{
    struct blocks now = blocks_now(m);
    struct kymo_ledger_since since = {.grown = 0};
    if (m->said_ns)
        KYMO_TRY(kymo_ledger_since_sum(m->rows, m->weights, m->row_count, header_bytes(m),
                                       m->said_ns, m->time_ns, &since));
    kymo_estimate_interval(now.resident.bytes, now.resident.variance_bytes, &m->low, &m->high);
    split_heap(m, &now, &since, allocators_part(m, &now, &since));
    return KYMO_OK;
}

/* ---- rows ---- */

static kymo_err put_line(const struct making *m, uint32_t line, uint32_t stack, double bytes)
{
    int is_estimate = line == KYMO_LEDGER_LIVE && m->low < m->high;
    kymo_ledger row = {
        .size = sizeof row,
        .process = m->process,
        .line = line,
        .stack = stack,
        .time_ns = m->time_ns,
        .bytes = (int64_t)llround(bytes),
        .low = is_estimate ? (uint64_t)llround(fmin(m->low, 0x1p60)) : 0,
        .high = is_estimate ? (uint64_t)llround(fmin(m->high, 0x1p60)) : 0,
    };
    return kymo_profile_add_ledger(m->profile, &row);
}

static kymo_err put_all(struct making *m)
{
    int64_t left = llround(m->lines[KYMO_LEDGER_RSS]);
    for (uint32_t i = 1; i < KYMO_LEDGER_UNEXPLAINED; i++) {
        if (m->lines[i] != 0)
            KYMO_TRY(put_line(m, i, KYMO_NONE, m->lines[i]));
        left -= llround(m->lines[i]);
    }
    for (size_t i = 0; i < m->parts.len; i++)
        if (m->parts.data[i].stack != KYMO_NONE)
            KYMO_TRY(
                put_line(m, KYMO_LEDGER_MAPPED, m->parts.data[i].stack, m->parts.data[i].bytes));
    KYMO_TRY(put_line(m, KYMO_LEDGER_UNEXPLAINED, KYMO_NONE, (double)left));
    return put_line(m, KYMO_LEDGER_RSS, KYMO_NONE, m->lines[KYMO_LEDGER_RSS]);
}

/* Takes a line of the recorder for a time with pieces: named parts remain as they are. */
static kymo_err take_line(struct making *m, const kymo_ledger *l)
{
    if (l->line == KYMO_LEDGER_PIECE)
        return take_piece(m, l);
    if (l->name != 0)
        return kymo_profile_add_ledger(m->profile, l);
    m->given[l->line] = (double)l->bytes;
    if (l->line < KYMO_LEDGER_LINES_SHOWN)
        m->lines[l->line] = (double)l->bytes;
    else if (l->line == KYMO_LEDGER_SAID_ALLOCATED)
        m->said_ns = l->low;
    return KYMO_OK;
}

static kymo_err make(struct making *m, const kymo_ledger *lines, size_t count)
{
    const kymo_heap *heap = kymo_profile_heap(m->profile, m->process);
    m->is_glibc = heap && strcmp(kymo_profile_string(m->profile, heap->allocator), "glibc") == 0;
    m->rows = kymo_profile_allocations(m->profile, m->process, &m->row_count);
    m->weights = kymo_heap_last_weights(m->rows, m->row_count);
    if (!m->weights)
        return KYMO_E_NOMEM;
    for (size_t i = 0; i < KYMO_LEDGER_LINES; i++)
        m->given[i] = -1;
    for (size_t i = 0; i < count; i++)
        KYMO_TRY(take_line(m, &lines[i]));
    KYMO_TRY(take_mappings(m));
    sum_parts(m);
    KYMO_TRY(make_heap(m));
    return put_all(m);
}

static int has_pieces(const kymo_ledger *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (lines[i].line == KYMO_LEDGER_PIECE)
            return 1;
    return 0;
}

static kymo_err make_one(kymo_profile *profile, uint32_t process, const kymo_ledger *lines,
                         size_t count, uint32_t *moments)
{
    struct making m = {.profile = profile, .process = process, .time_ns = lines[0].time_ns};
    if (has_pieces(lines, count)) {
        if (*moments >= MOMENTS_MAX)
            return KYMO_E_TOO_BIG;
        (*moments)++;
        kymo_err err = make(&m, lines, count);
        free(m.weights);
        kymo_vec_deinit(&m.pieces);
        kymo_vec_deinit(&m.areas);
        kymo_vec_deinit(&m.parts);
        return err;
    }
    for (size_t i = 0; i < count; i++)
        if (lines[i].line < KYMO_LEDGER_LINES_SHOWN)
            KYMO_TRY(kymo_profile_add_ledger(profile, &lines[i]));
    return KYMO_OK;
}

kymo_err kymo_ledger_make_all(kymo_profile *profile, uint32_t process, kymo_ledger *lines,
                              size_t count)
{
    uint32_t moments = 0;
    if (count > 0)
        qsort(lines, count, sizeof *lines, compare_lines);
    for (size_t i = 0, end; i < count; i = end) {
        end = i + 1;
        while (end < count && lines[end].time_ns == lines[i].time_ns)
            end++;
        KYMO_TRY(make_one(profile, process, lines + i, end - i, &moments));
    }
    return KYMO_OK;
}
