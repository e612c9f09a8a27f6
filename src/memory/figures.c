/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/figures.h"

#include <string.h>

enum { GAUGE, COUNTER };
enum {
    BYTES = KYMO_FIGURE_BYTES,
    COUNT = KYMO_FIGURE_COUNTS,
    NS = KYMO_FIGURE_NS,
    US = KYMO_FIGURE_US,
    PERCENT = KYMO_FIGURE_PERCENT,
};

const struct kymo_figure_row kymo_figure_rows[KYMO_FIGURE_COUNT] = {
#define KYMO_FIGURE(ID, GROUP, KEY, KEY_V1, NAME, UNIT, KIND, METRIC, LABELS, HELP) \
    {KYMO_GROUP_##GROUP, UNIT, KIND, KEY, KEY_V1, NAME, METRIC, LABELS, HELP},
#include "memory/figures.def"
#undef KYMO_FIGURE
};

const char *const kymo_figure_group_names[KYMO_GROUP_COUNT] = {
#define X(NAME, text) text,
    KYMO_FIGURE_GROUPS(X)
#undef X
};

static int is_named(unsigned figure, enum kymo_figure_group group, int is_v1, const char *name,
                    size_t len)
{
    const struct kymo_figure_row *row = &kymo_figure_rows[figure];
    const char *key = is_v1 ? row->key_v1 : row->key;
    return row->group == group && key && strlen(key) == len && memcmp(key, name, len) == 0;
}

unsigned kymo_figure_find(enum kymo_figure_group group, int is_v1, const char *name, size_t len,
                          unsigned *after)
{
    unsigned from = *after < KYMO_FIGURE_COUNT ? *after : 0;
    if (len == 0)
        return KYMO_FIGURE_COUNT;
    for (unsigned i = 0; i < KYMO_FIGURE_COUNT; i++) {
        unsigned at = (from + i) % KYMO_FIGURE_COUNT;
        if (!is_named(at, group, is_v1, name, len))
            continue;
        *after = at + 1;
        return at;
    }
    return KYMO_FIGURE_COUNT;
}
