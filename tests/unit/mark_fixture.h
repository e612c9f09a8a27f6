/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_fixture.h - definitions and records of markers in a session, made by hand.
 */
#ifndef KYMO_TESTS_MARK_FIXTURE_H
#define KYMO_TESTS_MARK_FIXTURE_H

#include <stdarg.h>
#include <string.h>

#include "base/atomic.h"
#include "buffer/definition.h"
#include "buffer/record.h"
#include "buffer/stream.h"
#include "kymo/marker_abi.h"
#include "session_fixture.h"

#define MARK_PARTS 64
#define MARK_INDEX 65536u

struct mark_parts {
    uint32_t n;
    struct {
        const char *text; /* NULL: the word */
        uint64_t word;
    } of[MARK_PARTS];
};

static inline void mark_say(struct kymo_definition_pen *pen, const void *what)
{
    const struct mark_parts *p = what;
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->of[i].text)
            kymo_definition_text(pen, p->of[i].text, strlen(p->of[i].text));
        else
            kymo_definition_word(pen, p->of[i].word);
    }
}

/* shape: t for each text, w for each word (an int); as KYMO_DEFINITIONS has it, groups written out.
 * The number. */
static inline uint32_t mark_define(struct fixture *f, enum kymo_definition_kind kind,
                                   const char *shape, ...)
{
    static uint32_t slots[MARK_INDEX];
    const struct kymo_definition_index index = {slots, MARK_INDEX - 1};
    struct mark_parts parts = {0};
    va_list list;
    /* Every session of a test begins with nothing. */
    if (f->session->definition_count == 0)
        memset(slots, 0, sizeof slots);
    va_start(list, shape);
    for (; *shape; shape++, parts.n++) {
        if (parts.n == MARK_PARTS)
            __builtin_trap();
        if (*shape == 't')
            parts.of[parts.n].text = va_arg(list, const char *);
        else
            parts.of[parts.n].word = (uint64_t)va_arg(list, int);
    }
    va_end(list);
    return kymo_definition_intern(f->session, &f->plan, &index, kind, mark_say, &parts);
}

static inline uint32_t mark_category(struct fixture *f, const char *name, uint32_t parent)
{
    return mark_define(f, KYMO_DEFINE_CATEGORY, "twww", name, (int)parent, KYMO_COLOR_BLUE, 0);
}

static inline uint32_t mark_site(struct fixture *f, uint32_t category, uint32_t type,
                                 const char *name, enum kymo_mark_site_kind kind)
{
    return mark_define(f, KYMO_DEFINE_SITE, "wwttttwww", (int)category, (int)type, name, "", "a.c",
                       "main", 7, (int)kind, 0);
}

static inline uint32_t mark_counter(struct fixture *f, uint32_t category, const char *name,
                                    enum kymo_mark_counter_kind kind, int flags)
{
    return mark_define(f, KYMO_DEFINE_COUNTER, "wtttwww", (int)category, name, "bytes", "",
                       (int)kind, flags, KYMO_COLOR_RED);
}

/* Fields: text at 0 (16 bytes), u32 at 16, time at 24, cells at 32; 48 bytes. */
static inline uint32_t mark_type(struct fixture *f, const char *name)
{
    return mark_define(f, KYMO_DEFINE_TYPE,
                       "twwwwttttttww"
                       "ttw"
                       "ttw"
                       "ttw"
                       "ttw"
                       "w"
                       "tt"
                       "w"
                       "tww",
                       name, KYMO_SHOW_CHART, 0, 0, 48, "{marker.data.url}", "", "", "what it is",
                       "", "a.c", 9, 4, "url", "URL", KYMO_KIND_TEXT | KYMO_FORMAT_URL << 8, "size",
                       "", KYMO_KIND_U32 | KYMO_FORMAT_BYTES << 8, "due", "",
                       KYMO_KIND_TIME | KYMO_FORMAT_TIME << 8, "all", "",
                       KYMO_KIND_CELLS | KYMO_FORMAT_LIST << 8 | KYMO_FIELD_HIDDEN << 16, 1, "see",
                       "the guide", 1, "size", KYMO_GRAPH_BAR, KYMO_COLOR_GREEN);
}

struct mark_writer {
    struct fixture *f;
    uint32_t number;
    struct kymo_thread_slot *slot;
    struct kymo_stream_writer stream;
};

static inline struct mark_writer mark_thread(struct fixture *f, uint32_t tid, uint32_t flags)
{
    struct mark_writer w = {.f = f, .stream = {.kind = KYMO_STREAM_TASK}};
    w.number = kymo_slot_take(f->session, &f->plan) - 1;
    w.slot = kymo_session_slot(f->session, &f->plan, w.number);
    w.slot->tid = tid;
    w.slot->flags = flags;
    w.slot->generation++;
    w.slot->start_clock = kymo_clock_now(KYMO_CLOCK_MONOTONIC);
    kymo_store_release(&w.slot->state, KYMO_SLOT_LIVE);
    return w;
}

static inline void mark_thread_end(struct mark_writer *w)
{
    w->slot->end_clock = kymo_clock_now(KYMO_CLOCK_MONOTONIC);
    kymo_store_release(&w->slot->state, KYMO_SLOT_EXITED);
}

/* A record of now: head, then these bytes, which are filled up to a whole word. Its clock. */
static inline uint64_t mark_write(struct mark_writer *w, enum kymo_record_kind kind, uint32_t stack,
                                  const void *bytes, uint32_t len)
{
    uint32_t size = (uint32_t)sizeof(struct kymo_record) + ((len + 7) & ~7u);
    struct kymo_record *r =
        kymo_stream_reserve(&w->stream, w->f->session, &w->f->plan, w->number, size);
    if (!r)
        __builtin_trap();
    *r = (struct kymo_record){kymo_clock_now(KYMO_CLOCK_MONOTONIC), (uint16_t)kind, (uint16_t)size,
                              stack};
    memset(r + 1, 0, size - sizeof *r);
    if (len)
        memcpy(r + 1, bytes, len);
    kymo_stream_publish(&w->stream, size);
    return r->clock;
}

/* A marker without payload; 0: there is no room. */
static inline uint32_t mark_try_write(struct mark_writer *w, uint32_t site)
{
    struct kymo_record *r =
        kymo_stream_reserve(&w->stream, w->f->session, &w->f->plan, w->number, sizeof *r);
    if (!r)
        return 0;
    *r = (struct kymo_record){kymo_clock_now(KYMO_CLOCK_MONOTONIC), KYMO_RECORD_MARKER, sizeof *r,
                              site};
    kymo_stream_publish(&w->stream, sizeof *r);
    return 1;
}

static inline uint64_t mark_slot(uint32_t at, uint32_t len, uint32_t flags)
{
    const struct kymo_text_slot slot = {at, (uint16_t)len, (uint16_t)flags};
    uint64_t word;
    memcpy(&word, &slot, sizeof word);
    return word;
}

#endif
