/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_links.c - the executables and shared objects that have markers: see mark.h.
 */
#include "base/atomic.h"
#include "capture/mark.h"

static struct kymo_mark_link *first;

static void count_nothing(struct kymo_mark_counter *counter, int64_t value, uint64_t operations)
{
    (void)counter;
    (void)value;
    (void)operations;
}

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
    .track = kymo_mark_track,
    .select = kymo_mark_links_select,
};

static void switch_all(uint32_t on)
{
    for (struct kymo_mark_link *link = first; link; link = link->next)
        for (struct kymo_mark_category *const *c = link->categories; c < link->categories_end; c++)
            kymo_store_relaxed(&(*c)->on, on);
}

void kymo_mark_links_update(void)
{
    switch_all(kymo_capturing() != NULL);
}

void kymo_mark_links_start(void)
{
    kymo_mark_links_update();
}

void kymo_mark_links_off(void)
{
    switch_all(0);
}

void kymo_mark_links_look(void)
{
    if (!kymo_capturing())
        switch_all(0);
}

void kymo_mark_links_after_fork(void)
{
}

int kymo_mark_links_select(const char *list)
{
    return list ? KYMO_OK : KYMO_E_INVALID;
}

int kymo_mark_links_attach(struct kymo_mark_link *link)
{
    if (link->size < sizeof *link || link->abi != KYMO_MARK_ABI)
        return KYMO_E_VERSION;
    link->calls = &calls;
    link->mark = kymo_mark;
    link->mark_with = kymo_mark_with;
    link->scope_begin = kymo_mark_scope_begin;
    link->scope_end = kymo_mark_scope_end;
    link->count = count_nothing;
    link->next = first;
    first = link;
    kymo_mark_links_update();
    return KYMO_OK;
}

void kymo_mark_links_detach(struct kymo_mark_link *link)
{
    for (struct kymo_mark_link **at = &first; *at; at = &(*at)->next)
        if (*at == link) {
            *at = link->next;
            return;
        }
}
