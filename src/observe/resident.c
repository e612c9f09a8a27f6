/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/resident.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "memory/smaps.h"
#include "observe/remote.h"

/* Where not all of an area is there, its pages are counted by so many bytes, or more of them where
 * there are very many. */
#define GRANULE_BYTES (64ull << 10)
/* 16 GiB; what is not there costs next to nothing. */
#define PAGES_MAX (1ull << 22)
/* Of a library's first area: its ELF headers are there. */
#define HEADERS_BYTES 4096u

static const char session_name[] = "/memfd:kymo"; /* and what we send with it */
static const char library_name[] = "libkymo";

/* ---- whose an area is ---- */

static int is_of_system(const char *name)
{
    return kymo_str_starts(name, "[v") || kymo_str_starts(name, "[uprobes]");
}

/* That is no file which one could open. */
static int is_shared_memory(const char *name)
{
    return kymo_str_starts(name, "/memfd:") || kymo_str_starts(name, "/dev/zero") ||
           kymo_str_starts(name, "/SYSV") || kymo_str_starts(name, "/dev/shm/") ||
           kymo_str_starts(name, "[anon_shmem");
}

static int is_ours(const char *name)
{
    const char *slash = strrchr(name, '/');
    return kymo_str_starts(name, session_name) ||
           (slash && kymo_str_starts(slash + 1, library_name));
}

/* What a library's data ends with has no file: it is the area right behind it, or the beginning of
 * that one, if the kernel put another mapping right behind the library. */
static int is_data_of(const struct kymo_smaps_area *before, const struct kymo_smaps_area *a)
{
    return before->inode != 0 && !before->is_shared && before->is_writable && a->is_writable &&
           before->hi == a->lo && a->name[0] == '\0';
}

/* Where the library whose areas came last ends, by its headers, which its first area has.
 * UINT64_MAX: that is not known. */
static uint64_t end_of_library(const struct kymo_resident *r)
{
    unsigned char page[HEADERS_BYTES];
    struct kymo_remote_module module;
    struct kymo_address_range notes[KYMO_REMOTE_NOTES];
    struct kymo_remote_segment frame_segment;
    ssize_t got =
        r->file_lo > INT64_MAX ? -1 : pread(r->memory, page, sizeof page, (off_t)r->file_lo);
    if (got <= 0 ||
        !kymo_remote_parse_headers(page, (size_t)got, r->file_lo, &module, notes, &frame_segment))
        return UINT64_MAX;
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t end = (module.map_end + page_bytes - 1) / page_bytes * page_bytes;
    /* Else they are another's: the same library's, loaded twice. */
    return end > r->before.lo ? end : UINT64_MAX;
}

/* Up to where the area is data of the library before it. */
static uint64_t end_of_data(const struct kymo_resident *r, const struct kymo_smaps_area *a)
{
    if (!is_data_of(&r->before, a))
        return a->lo;
    uint64_t end = end_of_library(r);
    return end < a->lo ? a->lo : end < a->hi ? end : a->hi;
}

/* 0: that is not to be seen from outside. */
static uint32_t line_of(const struct kymo_smaps_area *a)
{
    if (is_ours(a->name))
        return KYMO_LEDGER_KYMO;
    if (is_shared_memory(a->name))
        return KYMO_LEDGER_SHARED;
    if (a->inode != 0)
        return KYMO_LEDGER_FILES;
    if (kymo_str_starts(a->name, "[stack"))
        return KYMO_LEDGER_STACKS;
    if (is_of_system(a->name))
        return KYMO_LEDGER_SYSTEM;
    if (a->is_shared)
        return KYMO_LEDGER_SHARED;
    return 0;
}

static kymo_err add_to(struct kymo_resident *r, uint32_t line, uint64_t bytes, const char *name)
{
    r->lines[line] += bytes;
    if (bytes == 0 || name[0] != '/')
        return KYMO_OK;
    struct kymo_resident_named *last = r->named.len ? &r->named.data[r->named.len - 1] : NULL;
    if (last && last->line == line && strcmp(last->name, name) == 0) {
        last->bytes += bytes;
        return KYMO_OK;
    }
    const char *kept = kymo_arena_strndup(&r->names, name, strlen(name));
    return kept ? kymo_vec_push(&r->named, (struct kymo_resident_named){line, bytes, kept})
                : KYMO_E_NOMEM;
}

static kymo_err take_own(struct kymo_resident *r, const struct kymo_smaps_area *a)
{
    const struct kymo_smaps_area *before = &r->before;
    struct kymo_resident_area area = {
        .lo = a->lo,
        .hi = a->hi,
        .bytes = a->rss,
        .data_hi = end_of_data(r, a),
        .data_line = r->before_line == KYMO_LEDGER_FILES ? KYMO_LEDGER_DATA : r->before_line,
        .is_heap = strcmp(a->name, "[heap]") == 0,
        .has_guard = before->hi == a->lo && before->inode == 0 && !before->is_readable &&
                     !before->is_writable,
    };
    if (area.data_hi < a->hi)
        return kymo_vec_push(&r->areas, area);
    r->lines[area.data_line] += a->rss;
    return KYMO_OK;
}

static kymo_err take(void *context, const struct kymo_smaps_area *a)
{
    struct kymo_resident *r = context;
    uint32_t line = line_of(a);
    kymo_err err = KYMO_OK;
    /* It has grown since, and the kernel lists it again. */
    if (a->lo < r->before.hi)
        return KYMO_OK;
    r->lines[KYMO_LEDGER_RSS] += a->rss;
    if (line == KYMO_LEDGER_FILES) {
        err = add_to(r, KYMO_LEDGER_FILES, a->rss - a->anonymous, a->name);
        if (err == KYMO_OK)
            err = add_to(r, KYMO_LEDGER_DATA, a->anonymous, a->name);
    } else if (line) {
        err = add_to(r, line, a->rss, line == KYMO_LEDGER_SHARED ? a->name : "");
    } else if (a->rss > 0) {
        err = take_own(r, a);
    }
    if (a->inode != 0 && a->inode != r->file_inode) {
        r->file_inode = a->inode;
        r->file_lo = a->lo;
    }
    r->before = *a;
    r->before_line = line;
    return err;
}

/* ---- names ---- */

static int compare_names(const void *a, const void *b)
{
    const struct kymo_resident_named *x = a;
    const struct kymo_resident_named *y = b;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int compare_bytes(const void *a, const void *b)
{
    const struct kymo_resident_named *x = a;
    const struct kymo_resident_named *y = b;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* One of each name, and the largest of each line alone. */
static void finish_names(struct kymo_resident *r)
{
    struct kymo_resident_named *rows = r->named.data;
    size_t kept = 0;
    uint32_t of_line = 0;
    if (r->named.len == 0)
        return;
    qsort(rows, r->named.len, sizeof *rows, compare_names);
    for (size_t i = 1; i < r->named.len; i++) {
        if (compare_names(&rows[kept], &rows[i]) == 0)
            rows[kept].bytes += rows[i].bytes;
        else
            rows[++kept] = rows[i];
    }
    r->named.len = kept + 1;
    qsort(rows, r->named.len, sizeof *rows, compare_bytes);
    kept = 0;
    for (size_t i = 0; i < r->named.len; i++) {
        of_line = i > 0 && rows[i].line == rows[i - 1].line ? of_line + 1 : 0;
        if (of_line < KYMO_RESIDENT_NAMES)
            rows[kept++] = rows[i];
    }
    r->named.len = kept;
}

/* ---- pieces ---- */

struct cutting {
    struct kymo_resident *to;
    struct kymo_pagemap *pages;
    const struct kymo_resident_area *area;
    uint64_t granule_bytes;
    uint64_t left; /* of the area's bytes: the kernel counts pages of zeros here, not there */
    size_t first;  /* piece of this area */
};

/* A part of the area that no claim covers. */
static kymo_err put_piece(struct cutting *c, uint64_t lo, uint64_t hi, uint64_t bytes)
{
    struct kymo_resident *r = c->to;
    struct kymo_resident_piece *last =
        r->pieces.len > c->first ? &r->pieces.data[r->pieces.len - 1] : NULL;
    if (last && last->hi == lo &&
        (r->pieces.len >= KYMO_RESIDENT_PIECES_MAX ||
         (unsigned __int128)last->bytes * (hi - lo) ==
             (unsigned __int128)bytes * (last->hi - last->lo))) {
        last->hi = hi;
        last->bytes += bytes;
        return KYMO_OK;
    }
    return kymo_vec_push(&r->pieces, (struct kymo_resident_piece){lo, hi, bytes, c->area->is_heap});
}

static uint64_t at_most(uint64_t value, uint64_t limit)
{
    return value < limit ? value : limit;
}

/* claim: NULL if no claim covers this part. */
static kymo_err cut(struct cutting *c, uint64_t lo, uint64_t hi,
                    const struct kymo_resident_claim *claim)
{
    while (lo < hi) {
        uint64_t to = at_most(hi, (lo / c->granule_bytes + 1) * c->granule_bytes);
        uint64_t bytes = at_most(kymo_pagemap_count(c->pages, lo, to), c->left);
        c->left -= bytes;
        if (claim)
            c->to->lines[claim->line] += bytes;
        else
            KYMO_TRY(put_piece(c, lo, to, bytes));
        lo = to;
    }
    return KYMO_OK;
}

static int applies(const struct kymo_resident_claim *claim, const struct kymo_resident_area *area)
{
    return !claim->is_over || (area->has_guard && claim->hi == area->hi);
}

/* All that one has of an area. */
static kymo_err give(struct cutting *c, const struct kymo_resident_claim *claim)
{
    if (!claim)
        return put_piece(c, c->area->lo, c->area->hi, c->area->bytes);
    c->to->lines[claim->line] += c->area->bytes;
    return KYMO_OK;
}

/* What was not found page by page is the last piece's: pages came since, or were not to be read. */
static kymo_err put_rest(struct cutting *c)
{
    struct kymo_resident *r = c->to;
    for (size_t i = r->pieces.len; c->left > 0 && i > c->first; i--) {
        struct kymo_resident_piece *p = &r->pieces.data[i - 1];
        uint64_t more = at_most(c->left, p->hi - p->lo - p->bytes);
        p->bytes += more;
        c->left -= more;
    }
    r->lines[KYMO_LEDGER_UNEXPLAINED] += c->left;
    return KYMO_OK;
}

/* claims: from the first that does not end before the area. Returns how many end in it. */
static kymo_err cut_area(struct cutting *c, const struct kymo_resident_claim *claims, size_t count)
{
    const struct kymo_resident_area *a = c->area;
    const struct kymo_resident_claim data = {a->lo, a->data_hi, a->data_line, 0};
    uint64_t at = a->data_hi;
    c->left = a->bytes;
    c->first = c->to->pieces.len;
    const struct kymo_resident_claim *only =
        count > 0 && applies(claims, a) && claims->lo <= a->lo && claims->hi >= a->hi ? claims
                                                                                      : NULL;
    size_t within = 0;
    while (within < count && claims[within].lo < a->hi)
        within++;
    if (only || (within == 0 && a->data_hi == a->lo && a->bytes == a->hi - a->lo) ||
        !kymo_pagemap_may(c->pages, a->hi - a->lo))
        return give(c, only);
    KYMO_TRY(cut(c, a->lo, a->data_hi, &data));
    for (size_t i = 0; i < within; i++) {
        uint64_t lo = claims[i].lo > at ? claims[i].lo : at;
        uint64_t hi = at_most(claims[i].hi, a->hi);
        if (!applies(&claims[i], a) || lo >= hi)
            continue;
        KYMO_TRY(cut(c, at, lo, NULL));
        KYMO_TRY(cut(c, lo, hi, &claims[i]));
        at = hi;
    }
    KYMO_TRY(cut(c, at, a->hi, NULL));
    return put_rest(c);
}

static kymo_err cut_all(struct kymo_resident *r, struct kymo_pagemap *pages,
                        const struct kymo_resident_claim *claims, size_t count)
{
    struct cutting c = {.to = r, .pages = pages, .granule_bytes = GRANULE_BYTES};
    uint64_t partly = 0;
    for (size_t i = 0; i < r->areas.len; i++) {
        const struct kymo_resident_area *a = &r->areas.data[i];
        partly +=
            a->bytes < a->hi - a->lo && kymo_pagemap_may(pages, a->hi - a->lo) ? a->hi - a->lo : 0;
    }
    while (partly / c.granule_bytes > KYMO_RESIDENT_PIECES_MAX / 2)
        c.granule_bytes *= 2;
    for (size_t i = 0; i < r->areas.len; i++) {
        c.area = &r->areas.data[i];
        while (count > 0 && claims->hi <= c.area->lo) {
            claims++;
            count--;
        }
        KYMO_TRY(cut_area(&c, claims, count));
    }
    return KYMO_OK;
}

/* ---- all of it ---- */

static void make_empty(struct kymo_resident *r)
{
    memset(r->lines, 0, sizeof r->lines);
    kymo_arena_deinit(&r->names);
    r->named.len = r->pieces.len = r->areas.len = 0;
    r->before = (struct kymo_smaps_area){.lo = 0};
    r->before_line = 0;
    r->file_lo = r->file_inode = 0;
}

static int open_memory(const char *root, const char *process)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof path, "%s/proc/%s/mem", root, process);
    return len < (int)sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

kymo_err kymo_resident_look(struct kymo_resident *r, const char *root, const char *process,
                            const struct kymo_resident_claim *claims, size_t count)
{
    struct kymo_pagemap pages;
    make_empty(r);
    r->memory = open_memory(root, process);
    kymo_err err = kymo_smaps_read(root, process, take, r);
    if (r->memory >= 0)
        close(r->memory);
    if (err == KYMO_OK && r->lines[KYMO_LEDGER_RSS] == 0)
        err = KYMO_E_IO; /* a process that has ended has no memory */
    if (err == KYMO_OK) {
        (void)kymo_pagemap_open(&pages, root, process, PAGES_MAX);
        err = cut_all(r, &pages, claims, count);
        kymo_pagemap_close(&pages);
    }
    if (err != KYMO_OK)
        make_empty(r);
    finish_names(r);
    return err;
}

void kymo_resident_deinit(struct kymo_resident *r)
{
    kymo_vec_deinit(&r->named);
    kymo_vec_deinit(&r->pieces);
    kymo_vec_deinit(&r->areas);
    kymo_arena_deinit(&r->names);
}
