/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static struct fake_call calls[FAKE_CALLS];
static unsigned count, total, attached, detached;
static struct kymo_mark_link *links;
static int is_on;
static uint64_t numbers = 100;

static struct fake_call *next(const char *what, const struct kymo_mark_site *site)
{
    if (count == FAKE_CALLS)
        abort();
    struct fake_call *call = &calls[count++];
    total++;
    memset(call, 0, sizeof *call);
    call->what = what;
    call->site = site;
    return call;
}

/* Every byte that the payload has is read, as a library does. */
static void keep_text(char to[64], const void *text, size_t len)
{
    if (text)
        snprintf(to, 64, "%.*s", (int)len, (const char *)text);
}

static void keep_cells(struct fake_call *call, const struct kymo_mark_cell *cells, uint32_t n)
{
    if (n > FAKE_CELLS)
        abort();
    memcpy(call->cells, cells, n * sizeof *cells);
    call->cell_count = n;
    for (uint32_t i = 0; i < n; i++) {
        if (cells[i].kind == KYMO_KIND_STR)
            keep_text(call->cell_texts[i], cells[i].as.ptr, 63);
        else if (cells[i].kind == KYMO_KIND_TEXT)
            keep_text(call->cell_texts[i], cells[i].as.ptr, cells[i].len);
    }
}

static void keep_payload(struct fake_call *call, const void *payload)
{
    const struct kymo_mark_site *site = call->site;
    call->place = payload;
    if (!payload)
        return;
    if (site->kind == KYMO_SITE_TEXT) {
        const struct kymo_mark_text *text = payload;
        memcpy(call->payload, text, sizeof *text);
        keep_text(call->key, text->data, text->len);
    } else if (site->type) {
        if (site->type->payload_bytes > FAKE_PAYLOAD)
            abort();
        memcpy(call->payload, payload, site->type->payload_bytes);
        if (site->type->field_count > 0 && site->type->fields[0].kind == KYMO_KIND_TEXT) {
            const struct kymo_mark_text *text = payload;
            keep_text(call->key, text->data, text->len);
        }
    }
}

static void keep_options(struct fake_call *call, const struct kymo_mark_options *options)
{
    if (!options)
        return;
    call->options = *options;
    if (options->name)
        snprintf(call->name, sizeof call->name, "%.*s", (int)options->name_len, options->name);
}

static void mark(struct kymo_mark_site *site, const void *payload)
{
    keep_payload(next("mark", site), payload);
}

static void mark_with(struct kymo_mark_site *site, const void *payload,
                      const struct kymo_mark_options *options)
{
    struct fake_call *call = next("mark_with", site);
    keep_payload(call, payload);
    keep_options(call, options);
}

static void scope_begin(struct kymo_mark_scope *scope, struct kymo_mark_site *site)
{
    struct fake_call *call = next("scope_begin", site);
    scope->site = site;
    scope->start = ++numbers;
    scope->depth = 7;
    call->number = scope->start;
}

static void scope_end(struct kymo_mark_scope *scope)
{
    struct fake_call *call = next("scope_end", scope->site);
    if (scope->depth != 7)
        abort();
    call->number = scope->start;
    call->flags = scope->flags;
    keep_payload(call, scope->payload);
    keep_options(call, scope->options);
}

static void count_it(struct kymo_mark_counter *counter, int64_t value, uint64_t operations)
{
    struct fake_call *call = next("count", NULL);
    call->counter = counter;
    call->value = value;
    call->operations = operations;
}

static void detach(struct kymo_mark_link *link)
{
    struct kymo_mark_link **at = &links;
    while (*at && *at != link)
        at = &(*at)->next;
    if (!*at)
        abort(); /* not attached, or twice detached */
    *at = link->next;
    detached++;
}

static uint64_t now(void)
{
    next("now", NULL);
    return ++numbers;
}

static uint64_t to_ns(uint64_t clock)
{
    return clock * 2;
}

static uint64_t from_ns(uint64_t monotonic_ns)
{
    return monotonic_ns / 2;
}

static void cells_of(struct kymo_mark_site *site, const struct kymo_mark_cell *cells, uint32_t n,
                     const struct kymo_mark_options *options)
{
    struct fake_call *call = next("cells", site);
    keep_cells(call, cells, n);
    keep_options(call, options);
}

static uint64_t interval(void)
{
    return ++numbers;
}

static uint64_t stack(void)
{
    next("stack", NULL);
    return ++numbers;
}

static struct fake_call *label(const char *what, const char *key,
                               const struct kymo_mark_cell *value)
{
    struct fake_call *call = next(what, NULL);
    if (key)
        snprintf(call->key, sizeof call->key, "%s", key);
    if (value)
        keep_cells(call, value, 1);
    return call;
}

static uint32_t label_push(const char *key, const struct kymo_mark_cell *value)
{
    struct kymo_mark_cell cell = *value;
    cell.kind &= ~KYMO_CELL_OF_BLOCK;
    struct fake_call *call = label("label_push", key, &cell);
    call->flags = value->kind & KYMO_CELL_OF_BLOCK;
    call->number = ++numbers;
    return (uint32_t)call->number;
}

static void label_pop(uint32_t depth)
{
    label("label_pop", NULL, NULL)->number = depth;
}

static void label_set(const char *key, const struct kymo_mark_cell *value)
{
    label("label_set", key, value);
}

static uint64_t track(const char *name, size_t len)
{
    label("track", name, NULL)->value = (int64_t)len;
    return 77;
}

static int select_list(const char *list)
{
    label("select", list, NULL);
    return -2;
}

static int stats(struct kymo_mark_stats *stats)
{
    if (stats->size != sizeof *stats)
        abort();
    stats->written = total;
    return 0;
}

static void on_recording(struct kymo_mark_link *link, kymo_recording_fn *fn, void *context)
{
    (void)link;
    if (fn)
        fn(context, 1);
    label("on_recording", fn ? "set" : "gone", NULL);
}

static const struct kymo_mark_calls table = {
    .size = sizeof table,
    .abi = KYMO_MARK_ABI,
    .detach = detach,
    .now = now,
    .to_ns = to_ns,
    .from_ns = from_ns,
    .cells = cells_of,
    .interval = interval,
    .stack = stack,
    .label_push = label_push,
    .label_pop = label_pop,
    .label_set = label_set,
    .track = track,
    .select = select_list,
    .stats = stats,
    .on_recording = on_recording,
};

static void switch_link(struct kymo_mark_link *link, int on)
{
    link->on = (uint32_t)on;
    for (struct kymo_mark_category *const *at = link->categories; at < link->categories_end; at++)
        (*at)->on = (uint32_t)on;
}

EXPORT int kymo_mark_attach(struct kymo_mark_link *link);
EXPORT int kymo_mark_attach(struct kymo_mark_link *link)
{
    if (link->size != sizeof *link || link->abi != KYMO_MARK_ABI ||
        link->is_open != KYMO_LINK_OPEN || link->calls)
        abort();
    link->flow_seed = 0x5eed;
    link->mark = mark;
    link->mark_with = mark_with;
    link->scope_begin = scope_begin;
    link->scope_end = scope_end;
    link->count = count_it;
    link->calls = &table;
    link->next = links;
    links = link;
    attached++;
    switch_link(link, is_on);
    return 0;
}

EXPORT void fake_switch(int on)
{
    is_on = on;
    for (struct kymo_mark_link *link = links; link; link = link->next)
        switch_link(link, on);
}

EXPORT const struct fake_call *fake_calls(unsigned *n)
{
    *n = count;
    count = 0;
    return calls;
}

EXPORT unsigned fake_links(void)
{
    unsigned n = 0;
    for (struct kymo_mark_link *link = links; link; link = link->next)
        n++;
    return n;
}

EXPORT unsigned fake_attached(void)
{
    return attached;
}

EXPORT unsigned fake_detached(void)
{
    return detached;
}

EXPORT unsigned fake_categories(const char *name)
{
    unsigned n = 0;
    for (struct kymo_mark_link *link = links; link; link = link->next)
        for (struct kymo_mark_category *const *at = link->categories; at < link->categories_end;
             at++)
            n += strcmp((*at)->name, name) == 0;
    return n;
}

__attribute__((constructor(101))) static void begin(void)
{
    if (getenv("FAKE_MARKERS_ON"))
        fake_switch(1);
}

__attribute__((destructor)) static void end(void)
{
    if (getenv("FAKE_MARKERS_ON"))
        fprintf(stderr, "fake: %u calls, %u links of %u detached\n", total, detached, attached);
}
