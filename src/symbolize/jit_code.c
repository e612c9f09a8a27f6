/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_code.c - see jit_code.h.
 *
 * A perf map has no times, so for each address the last line that covers it counts. Lines that
 * cover a sampled address are kept in order. Then, from the last to the first, each line takes the
 * addresses that no later line has taken (`next` skips those); lines without any are dropped. So
 * the cost of a hostile map is proportional to its lines and the sampled addresses.
 */
#include "symbolize/jit_code.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/search.h"
#include "base/vec.h"
#include "symbolize/code_file.h"
#include "symbolize/jit_files.h"
#include "sys/clock.h"

#define LOOK_FIRST_NS 1000000000ull
#define LOOK_MOST_NS 16000000000ull
#define HITS_MAX (1u << 18)
#define PIECES_MAX (1u << 18)         /* of a process, that are recorded */
#define LINES_BYTES_MAX (32ull << 20) /* of a process, that are recorded */

struct anchor {
    uint64_t ticks;
    uint64_t ns;
};

struct kymo_jit_code {
    struct kymo_jit_files files;
    uint64_t next_look_ns;
    uint64_t look_every_ns;
    struct anchor first;
    struct kymo_jit_mappings mappings;
    KYMO_VEC(uint64_t) hits; /* sampled addresses; sorted from write on */
    kymo_index hit_index;
    uint32_t pieces; /* recorded by the present write */
    uint64_t lines_bytes;
    int left_out; /* a limit prevented some from being recorded */
};

static struct anchor take_anchor(void)
{
    return (struct anchor){kymo_clock_tsc(), kymo_clock_ns(CLOCK_MONOTONIC)};
}

kymo_err kymo_jit_code_create(pid_t pid, kymo_jit_code **out)
{
    kymo_jit_code *jit = calloc(1, sizeof *jit);
    if (!jit)
        return KYMO_E_NOMEM;
    kymo_jit_files_init(&jit->files, pid);
    jit->look_every_ns = LOOK_FIRST_NS;
    jit->first = take_anchor();
    *out = jit;
    return KYMO_OK;
}

void kymo_jit_code_destroy(kymo_jit_code *jit)
{
    if (!jit)
        return;
    kymo_jit_files_deinit(&jit->files);
    kymo_jit_mappings_deinit(&jit->mappings);
    kymo_vec_deinit(&jit->hits);
    kymo_index_deinit(&jit->hit_index);
    free(jit);
}

kymo_err kymo_jit_code_hit(kymo_jit_code *jit, uint64_t address)
{
    if (!jit)
        return KYMO_OK;
    uint64_t hash = kymo_hash_words(&address, 1, kymo_hash_secret());
    uint32_t at;
    for (size_t probe = 0; kymo_index_find(&jit->hit_index, hash, &probe, &at);)
        if (jit->hits.data[at] == address)
            return KYMO_OK;
    if (jit->hits.len >= HITS_MAX) {
        jit->left_out = 1;
        return KYMO_OK;
    }
    KYMO_TRY(kymo_vec_reserve(&jit->hits, 1));
    KYMO_TRY(kymo_index_put(&jit->hit_index, hash, (uint32_t)jit->hits.len));
    jit->hits.data[jit->hits.len++] = address;
    return KYMO_OK;
}

void kymo_jit_code_forget_hits(kymo_jit_code *jit)
{
    if (!jit)
        return;
    jit->hits.len = 0;
    kymo_index_deinit(&jit->hit_index);
    jit->left_out = 0;
}

kymo_err kymo_jit_code_module(kymo_jit_code *jit, const kymo_event_module *module)
{
    return jit ? kymo_jit_mappings_module(&jit->mappings, module) : KYMO_OK;
}

void kymo_jit_code_look(kymo_jit_code *jit, uint64_t now_ns)
{
    if (!jit || now_ns < jit->next_look_ns || jit->hits.len == 0)
        return;
    /* Less and less often: most programs that generate code have no such files. */
    jit->next_look_ns = now_ns + jit->look_every_ns;
    if (jit->look_every_ns < LOOK_MOST_NS)
        jit->look_every_ns *= 2;
    kymo_jit_files_look(&jit->files);
    kymo_jit_mappings_look(&jit->mappings, jit->files.pid);
}

/* ---- sampled addresses ---- */

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The first sampled address that is not below `address`. */
static size_t lower_bound(const kymo_jit_code *jit, uint64_t address)
{
    return KYMO_COUNT_WHERE(i, jit->hits.len, jit->hits.data[i] < address);
}

static bool is_hit(void *user, uint64_t start, uint64_t size_bytes)
{
    const kymo_jit_code *jit = user;
    size_t at = lower_bound(jit, start);
    return at < jit->hits.len && jit->hits.data[at] - start < size_bytes;
}

/* ---- recording ---- */

struct writing {
    kymo_jit_code *jit;
    uint32_t process;
    const kymo_event_handler *events;
    void *context;
    kymo_code_lines lines;
    char name[KYMO_CODE_ENTRY_NAME_MAX + 1];
};

static kymo_err write_piece(struct writing *w, int fd, const kymo_code_entry *entry,
                            uint64_t from_ns, uint64_t to_ns)
{
    kymo_jit_code *jit = w->jit;
    if (jit->pieces >= PIECES_MAX) {
        jit->left_out = 1;
        return KYMO_OK;
    }
    kymo_code_entry_name(fd, entry, w->name);
    if (w->name[0] == '\0')
        return KYMO_OK;
    uint64_t bytes = w->lines.lines.len * sizeof *w->lines.lines.data;
    int with_lines = jit->lines_bytes + bytes <= LINES_BYTES_MAX;
    kymo_event_code e = {
        .process = w->process,
        .start = entry->start,
        .size_bytes = entry->size_bytes,
        .from_ns = from_ns,
        .to_ns = to_ns,
        .name = w->name,
        .line_count = with_lines ? (uint32_t)w->lines.lines.len : 0,
        .lines = w->lines.lines.data,
        .file_count = with_lines ? (uint32_t)w->lines.files.len : 0,
        .files = w->lines.files.data,
    };
    jit->pieces++;
    jit->lines_bytes += with_lines ? bytes : 0;
    return w->events->code(w->context, &e);
}

static kymo_err write_mappings(struct writing *w)
{
    struct kymo_jit_mappings *m = &w->jit->mappings;
    for (uint32_t i = 0; i < m->mappings.len; i++) {
        kymo_event_module e;
        kymo_jit_mappings_get(m, i, &e);
        e.process = w->process;
        e.module = KYMO_JIT_FIRST_MODULE + i;
        if (m->mappings.data[i].is_recorded || !is_hit(w->jit, e.start, e.end - e.start))
            continue;
        KYMO_TRY(w->events->module(w->context, &e));
        m->mappings.data[i].is_recorded = 1;
    }
    return KYMO_OK;
}

static size_t past_taken(size_t *next, size_t at)
{
    size_t end = at;
    while (next[end] != end)
        end = next[end];
    while (next[at] != end) {
        size_t step = next[at];
        next[at] = end;
        at = step;
    }
    return end;
}

/* Keeps the entries that are the last for a sampled address: sets size_bytes of others to 0. */
static kymo_err keep_last(const kymo_jit_code *jit, kymo_code_entries *entries)
{
    size_t *next = malloc((jit->hits.len + 1) * sizeof *next);
    if (!next)
        return KYMO_E_NOMEM;
    for (size_t i = 0; i <= jit->hits.len; i++)
        next[i] = i;
    for (size_t i = entries->len; i-- > 0;) {
        kymo_code_entry *e = &entries->data[i];
        int got = 0;
        for (size_t at = past_taken(next, lower_bound(jit, e->start));
             at < jit->hits.len && jit->hits.data[at] - e->start < e->size_bytes;
             at = past_taken(next, at)) {
            next[at] = at + 1;
            got = 1;
        }
        if (!got)
            e->size_bytes = 0;
    }
    free(next);
    return KYMO_OK;
}

static kymo_err write_perf_map(struct writing *w)
{
    kymo_code_entries entries = {0};
    bool cut = false;
    int fd = w->jit->files.perf_map;
    kymo_err err = kymo_perf_map_read(fd, is_hit, w->jit, &entries, &cut);
    if (err == KYMO_OK)
        err = keep_last(w->jit, &entries);
    for (size_t i = 0; err == KYMO_OK && i < entries.len; i++)
        if (entries.data[i].size_bytes > 0)
            err = write_piece(w, fd, &entries.data[i], 0, 0);
    w->jit->left_out |= cut;
    kymo_vec_deinit(&entries);
    return err == KYMO_E_IO ? KYMO_OK : err;
}

/* A time of the file, on the recording's clock; 0: not known. */
static uint64_t in_ns(const kymo_jit_code *jit, const kymo_jitdump *info, struct anchor now,
                      uint64_t time)
{
    if (info->counts_ticks && time != 0 && now.ticks > jit->first.ticks) {
        double ratio = (double)(now.ns - jit->first.ns) / (double)(now.ticks - jit->first.ticks);
        double ns = (double)(int64_t)(time - jit->first.ticks) * ratio + (double)jit->first.ns;
        time = ns > 0 && ns < (double)(1ull << 62) ? (uint64_t)ns : 0;
    }
    /* a time of another clock is useless */
    return time <= now.ns ? time : 0;
}

static kymo_err write_jitdump(struct writing *w)
{
    kymo_code_entries entries = {0};
    kymo_jitdump info = {0};
    int fd = w->jit->files.jitdump;
    kymo_err err = kymo_jitdump_read(fd, &info, &entries);
    struct anchor now = take_anchor();
    for (size_t i = 0; err == KYMO_OK && i < entries.len; i++) {
        const kymo_code_entry *e = &entries.data[i];
        if (!is_hit(w->jit, e->start, e->size_bytes))
            continue;
        err = kymo_jitdump_lines(fd, &info, e, &w->lines);
        if (err == KYMO_OK)
            err = write_piece(w, fd, e, in_ns(w->jit, &info, now, e->from),
                              in_ns(w->jit, &info, now, e->to));
    }
    w->jit->left_out |= info.cut;
    kymo_vec_deinit(&entries);
    kymo_code_lines_deinit(&w->lines);
    return err == KYMO_E_IO || err == KYMO_E_CORRUPT || err == KYMO_E_UNSUPPORTED ? KYMO_OK : err;
}

/* More may come, so the index follows the order. */
static kymo_err sort_hits(kymo_jit_code *jit)
{
    qsort(jit->hits.data, jit->hits.len, sizeof *jit->hits.data, by_value);
    kymo_index_deinit(&jit->hit_index);
    for (uint32_t i = 0; i < jit->hits.len; i++)
        KYMO_TRY(kymo_index_put(&jit->hit_index,
                                kymo_hash_words(&jit->hits.data[i], 1, kymo_hash_secret()), i));
    return KYMO_OK;
}

kymo_err kymo_jit_code_write(kymo_jit_code *jit, uint32_t process, const kymo_event_handler *events,
                             void *context)
{
    if (!jit || jit->hits.len == 0)
        return KYMO_OK;
    kymo_jit_files_look_last(&jit->files);
    kymo_jit_mappings_look(&jit->mappings, jit->files.pid);
    KYMO_TRY(sort_hits(jit));
    jit->pieces = 0;
    jit->lines_bytes = 0;
    struct writing *w = calloc(1, sizeof *w);
    if (!w)
        return KYMO_E_NOMEM;
    w->jit = jit;
    w->process = process;
    w->events = events;
    w->context = context;
    kymo_err err = write_mappings(w);
    if (err == KYMO_OK && jit->files.perf_map >= 0)
        err = write_perf_map(w);
    if (err == KYMO_OK && jit->files.jitdump >= 0)
        err = write_jitdump(w);
    free(w);
    if (err == KYMO_OK && jit->left_out && jit->pieces > 0) {
        kymo_event_note e = {kymo_clock_ns(CLOCK_MONOTONIC), process, KYMO_NOTE_WARNING,
                             "the process made more code than names of it were kept: some of it "
                             "has none"};
        err = events->note(context, &e);
    }
    return err;
}
