/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_categories.c - which categories of markers the process of a host has.
 */
#include "recorder/host_state.h"

kymo_err kymo_host_add_categories(const kymo_host *h, struct kymo_categories *categories)
{
    struct kymo_drain_category category, parent;
    uint32_t count = kymo_drain_definitions(h->drain);
    kymo_categories_begin(categories);
    for (uint32_t number = 1; number <= count; number++) {
        if (!kymo_drain_category(h->drain, number, &category))
            continue;
        int is_part = kymo_drain_category(h->drain, category.parent, &parent);
        KYMO_TRY(kymo_categories_add(categories, is_part ? parent.name : NULL, category.name,
                                     category.is_on, category.is_quiet));
    }
    return KYMO_OK;
}
