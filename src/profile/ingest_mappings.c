/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest_mappings.c - mmap and munmap records become rows, piece by piece.
 *
 * Records of several threads come in any order, so they are kept and applied in order of time at
 * the end. The current mappings are pieces in a list by address, without overlaps: a new mapping
 * removes what it covers. Each removed piece becomes a row that begins when it was mapped. So the
 * pieces of a mapping add up to its size at any time.
 *
 * A hostile file could put a million pieces into the list and move all of them with each record.
 * The number of moves has a limit, far above what the kernel's limit of 65530 mappings needs;
 * beyond it mappings are left out.
 */
#include "profile/ingest_heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "buffer/record.h"
#include "profile/ingest_state.h"
#include "profile/tables.h"
#include "profile/time_order.h"

#define MOVES_MIN (1ull << 28) /* pieces to move; the limit grows by so many for each record */
#define MOVES_PER_RECORD 4096u
#define PAGE_BYTES 4096u /* the smallest page size */
#define HOW_ALL (KYMO_MAP_BY_ALLOCATOR | KYMO_MAP_OF_FILE | KYMO_MAP_IS_SHARED | KYMO_MAP_IS_STACK)

struct replay {
    kymo_ingest *in;
    uint32_t process;
    KYMO_VEC(kymo_mapping) there; /* by address */
    uint64_t moves;
};

kymo_err kymo_ingest_on_mapping(void *ctx, const kymo_event_mapping *e)
{
    kymo_ingest *in = ctx;
    struct kymo_ingest_memory *m;
    if (e->thread >= in->threads.len || !kymo_ingest_has_stack(in, e->stack))
        return KYMO_E_INVALID;
    kymo_ingest_see_time(in, e->time_ns);
    KYMO_TRY(kymo_ingest_memory_of(in, in->profile->threads.data[e->thread].process, &m));
    kymo_err err = kymo_ingest_keep_waiting(in);
    if (err == KYMO_OK)
        err = kymo_vec_push(&m->mappings, *e);
    return kymo_ingest_leave_out(in, KYMO_INGEST_MAPPINGS, err);
}

/* ---- current mappings ---- */

/* Whether piece i ends at or before an address. */
static int ends_before(const void *rows, size_t i, const void *address)
{
    const kymo_mapping *there = rows;
    return there[i].address + there[i].bytes <= *(const uint64_t *)address;
}

static kymo_err add_row(struct replay *r, kymo_mapping piece, uint64_t from, uint64_t to,
                        uint64_t end_ns)
{
    piece.address = from;
    piece.bytes = to - from;
    piece.end_ns = end_ns;
    kymo_err err = kymo_profile_add_mapping(r->in->profile, r->process, &piece);
    return kymo_ingest_leave_out(r->in, KYMO_INGEST_MAPPINGS, err);
}

/* Replaces `count` pieces from `at` on. */
static kymo_err replace(struct replay *r, size_t at, size_t count, const kymo_mapping *pieces,
                        size_t piece_count)
{
    KYMO_TRY(kymo_vec_reserve(&r->there, piece_count));
    if (count != piece_count) {
        size_t behind = r->there.len - at - count;
        memmove(r->there.data + at + piece_count, r->there.data + at + count,
                behind * sizeof *r->there.data);
        r->moves += behind;
    }
    if (piece_count > 0)
        memcpy(r->there.data + at, pieces, piece_count * sizeof *pieces);
    r->there.len += piece_count - count;
    return KYMO_OK;
}

/* Removes [from, to). *first: the first piece as it was; bytes 0 if there was none. */
static kymo_err take_away(struct replay *r, uint64_t from, uint64_t to, uint64_t time_ns,
                          kymo_mapping *first)
{
    size_t at = kymo_search_count(r->there.data, r->there.len, ends_before, &from);
    size_t end = at;
    kymo_mapping left[2];
    size_t left_count = 0;
    first->bytes = 0;
    for (; end < r->there.len && r->there.data[end].address < to; end++) {
        kymo_mapping piece = r->there.data[end];
        uint64_t piece_end = piece.address + piece.bytes;
        uint64_t lo = piece.address > from ? piece.address : from;
        uint64_t hi = piece_end < to ? piece_end : to;
        if (end == at)
            *first = piece;
        if (piece.address < lo) { /* only the first piece can have a rest on this side */
            left[left_count] = piece;
            left[left_count++].bytes = lo - piece.address;
        }
        if (hi < piece_end) { /* only the last piece can */
            left[left_count] = piece;
            left[left_count].address = hi;
            left[left_count++].bytes = piece_end - hi;
        }
        KYMO_TRY(add_row(r, piece, lo, hi, time_ns));
    }
    return end > at ? replace(r, at, end - at, left, left_count) : KYMO_OK;
}

static kymo_err put(struct replay *r, const kymo_mapping *piece)
{
    kymo_mapping old;
    KYMO_TRY(take_away(r, piece->address, piece->address + piece->bytes, piece->time_ns, &old));
    size_t at = kymo_search_count(r->there.data, r->there.len, ends_before, &piece->address);
    return replace(r, at, 0, piece, 1);
}

/* ---- records ---- */

static kymo_err unmap(struct replay *r, uint64_t from, uint64_t bytes, uint64_t time_ns)
{
    kymo_mapping old;
    return bytes ? take_away(r, from, from + bytes, time_ns, &old) : KYMO_OK;
}

/* mremap: moved, or resized in place. The caller adds a row for what it grows by. */
static kymo_err move(struct replay *r, const kymo_event_mapping *e, kymo_mapping piece)
{
    kymo_mapping old = {.bytes = 0};
    if (e->address == e->before) {
        uint64_t kept = e->bytes < e->bytes_before ? e->bytes : e->bytes_before;
        KYMO_TRY(unmap(r, e->before + kept, e->bytes_before - kept, e->time_ns));
        piece.address += kept;
        piece.bytes -= kept;
        return piece.bytes ? put(r, &piece) : KYMO_OK;
    }
    if (e->bytes_before)
        KYMO_TRY(take_away(r, e->before, e->before + e->bytes_before, e->time_ns, &old));
    if (old.bytes) {
        piece.how |= old.how;
        if (piece.stack == KYMO_NONE)
            piece.stack = old.stack;
    }
    return piece.bytes ? put(r, &piece) : KYMO_OK;
}

/* The kernel maps and unmaps whole pages, whatever length is passed. */
static uint64_t round_up(uint64_t bytes)
{
    return bytes > UINT64_MAX - PAGE_BYTES ? UINT64_MAX
                                           : (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static kymo_err replay_one(struct replay *r, const kymo_event_mapping *e)
{
    kymo_event_mapping whole = *e;
    if (e->op != KYMO_MAP_BREAK) {
        whole.bytes = round_up(e->bytes);
        whole.bytes_before = round_up(e->bytes_before);
    }
    e = &whole;
    kymo_mapping piece = {
        .time_ns = e->time_ns,
        .end_ns = KYMO_LIVES,
        .address = e->address,
        .bytes = e->bytes,
        .thread = e->thread,
        .stack = kymo_ingest_stack_id(r->in, e->stack),
        .how = e->how & HOW_ALL,
    };
    if (e->bytes > UINT64_MAX - e->address || e->bytes_before > UINT64_MAX - e->before)
        return KYMO_OK; /* nothing was mapped there */
    switch (e->op) {
    case KYMO_MAP_SHARED:
        piece.how |= KYMO_MAP_IS_SHARED;
        return e->bytes ? put(r, &piece) : KYMO_OK;
    case KYMO_MAP_MAP:
        return e->bytes ? put(r, &piece) : KYMO_OK;
    case KYMO_MAP_UNMAP:
        return unmap(r, e->address, e->bytes, e->time_ns);
    case KYMO_MAP_BREAK:
        if (e->bytes_before > 0 && e->bytes_before <= UINT64_MAX - e->address)
            KYMO_TRY(unmap(r, e->address, e->bytes_before, e->time_ns));
        return e->bytes ? put(r, &piece) : KYMO_OK;
    case KYMO_MAP_MOVE:
        return move(r, e, piece);
    default:
        return KYMO_OK; /* from a later version */
    }
}

static kymo_err replay_all(struct replay *r, const kymo_event_mapping *events,
                           const struct kymo_time_order *order, size_t count)
{
    uint64_t most = MOVES_MIN + count * MOVES_PER_RECORD;
    for (size_t i = 0; i < count; i++) {
        if (r->moves > most)
            KYMO_TRY(kymo_ingest_leave_out(r->in, KYMO_INGEST_MAPPINGS, KYMO_E_TOO_BIG));
        else
            KYMO_TRY(replay_one(r, &events[order[i].from]));
    }
    for (size_t i = 0; i < r->there.len; i++) {
        kymo_mapping piece = r->there.data[i];
        KYMO_TRY(add_row(r, piece, piece.address, piece.address + piece.bytes, KYMO_LIVES));
    }
    return KYMO_OK;
}

kymo_err kymo_ingest_join_mappings(kymo_ingest *in)
{
    for (uint32_t i = 0; i < in->heap.processes.len; i++) {
        const struct kymo_ingest_memory *m = &in->heap.processes.data[i];
        struct replay r = {.in = in, .process = i};
        if (m->mappings.len == 0)
            continue;
        struct kymo_time_order *order;
        KYMO_TRY(kymo_time_order_make(&m->mappings.data[0].time_ns, sizeof *m->mappings.data,
                                      m->mappings.len, &order));
        kymo_err err = replay_all(&r, m->mappings.data, order, m->mappings.len);
        kymo_vec_deinit(&r.there);
        free(order);
        KYMO_TRY(err);
    }
    return KYMO_OK;
}
