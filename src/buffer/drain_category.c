/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain_category.c - which categories of markers a program has, whether or not a record names them.
 *
 * Categories are read when `kymo control` asks for them, and at the end. Nothing is kept from one
 * time to the next: what is read from the session is copied, and checked in the copy.
 */
#include <string.h>

#include "base/atomic.h"
#include "buffer/definition.h"
#include "buffer/drain_state.h"
#include "kymo/marker_abi.h"

/* A length, the text, and three words. */
#define BYTES_MAX (sizeof(struct kymo_definition) + 4 * sizeof(uint64_t) + KYMO_DEFINITION_TEXT_MAX)

uint32_t kymo_drain_definitions(const kymo_drain *d)
{
    uint32_t count = kymo_load_acquire(&d->session->definition_count);
    return count < d->plan.definitions ? count : d->plan.definitions;
}

/* A copy of the definition, if it is one of a category. */
static int copy_category(const kymo_drain *d, uint32_t number, struct kymo_definition *copy)
{
    const uint32_t area = d->plan.definition_bytes;
    struct kymo_definition head;
    /* Pairs with the release of kymo_definition_intern. */
    uint32_t at = kymo_load_acquire(&kymo_session_definition_index(d->session, &d->plan)[number]);
    at--; /* 0, of none, is beyond the area */
    if (at % sizeof(uint64_t) || at > area - sizeof head)
        return 0;
    const char *from = (const char *)kymo_session_definitions(d->session, &d->plan) + at;
    memcpy(&head, from, sizeof head);
    if (head.kind != KYMO_DEFINE_CATEGORY || head.number != number ||
        head.size_bytes % sizeof(uint64_t) || head.size_bytes < sizeof head ||
        head.size_bytes > area - at || head.size_bytes > BYTES_MAX)
        return 0;
    memcpy(copy, from, head.size_bytes);
    *copy = head;
    return kymo_definition_is_whole(copy);
}

int kymo_drain_category(const kymo_drain *d, uint32_t number, struct kymo_drain_category *category)
{
    union {
        struct kymo_definition head;
        uint64_t words[BYTES_MAX / sizeof(uint64_t)];
    } copy;
    uint32_t len;
    if (number == 0 || number > kymo_drain_definitions(d) || !copy_category(d, number, &copy.head))
        return 0;
    struct kymo_definition_reader r = kymo_definition_reader_of(&copy.head);
    const char *name = kymo_definition_read_text(&r, &len);
    if (len >= sizeof category->name)
        len = sizeof category->name - 1;
    memcpy(category->name, name, len);
    category->name[len] = '\0';
    uint64_t parent = kymo_definition_read_word(&r);
    category->parent = parent < number ? (uint32_t)parent : 0;
    (void)kymo_definition_read_word(&r); /* color */
    category->is_quiet = (kymo_definition_read_word(&r) & KYMO_CATEGORY_IS_QUIET) != 0;
    category->is_on =
        kymo_load_relaxed(
            &kymo_session_site_counts(d->session, &d->plan, number)->category_is_on) != 0;
    return 1;
}
