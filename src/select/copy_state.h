/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_state.h - a copy at work: what it needs of each table, and the new numbers of its rows.
 *
 * Layer:    select
 * Flow:     copy.c -> [copy_state] -> copy_need.c, copy_code.c, copy_marks.c, copy_rows.c, ...
 * Threads:  one
 * Memory:   copy.c allocates the maps and frees them
 * Signals:  not for handlers
 *
 * A map has an entry for each row of a table. copy_need.c makes those that are needed 0, and all
 * others stay KYMO_NONE; each table is then copied in the order of its ids, and the entry becomes
 * the new id. So the order of rows, which files show, stays.
 */
#ifndef KYMO_SELECT_COPY_STATE_H
#define KYMO_SELECT_COPY_STATE_H

#include "select/copy.h"

struct kymo_copy {
    const kymo_profile *from;
    kymo_profile *to;
    const kymo_keep *keep;
    kymo_sanitizer *sanitizer; /* NULL: text stays */
    kymo_str text;             /* of the last one that was sanitized */
    uint32_t *process, *thread, *module, *source, *function, *symbol, *frame, *stack;
    uint32_t *category, *schema, *labels;
    uint32_t *loss;        /* of markers; needed or not, they have no ids in the copy */
    uint32_t *marker_name; /* by string: whether a kept marker has this name */
    uint32_t adds[KYMO_SAMPLE_TYPES_MAX]; /* by sample type: KYMO_ADDS_* */
    uint32_t *line_owner; /* by line: the new frame that has the lines from here on */
};

static inline uint32_t kymo_copy_map(const uint32_t *map, uint32_t id)
{
    return id == KYMO_NONE ? KYMO_NONE : map[id];
}

/* copy_text.c: a string, and a text (NULL stays NULL; valid as long as both profiles are). */
KYMO_NODISCARD
kymo_err kymo_copy_string(struct kymo_copy *c, kymo_text_role role, uint32_t string, uint32_t *id);
KYMO_NODISCARD
kymo_err kymo_copy_text(struct kymo_copy *c, kymo_text_role role, const char *text,
                        const char **copy);
/* What argv becomes: all of it, or its program. list: room for *argc entries. */
KYMO_NODISCARD
kymo_err kymo_copy_argv(struct kymo_copy *c, const char *const *argv, uint32_t *argc,
                        const char **list);

/* copy_need.c: marks in all maps what the kept rows need. */
void kymo_copy_need(struct kymo_copy *c);

/* In this order. copy_rows.c: */
KYMO_NODISCARD
kymo_err kymo_copy_whole(struct kymo_copy *c); /* what is known of the whole */
KYMO_NODISCARD
kymo_err kymo_copy_processes(struct kymo_copy *c); /* and threads */
/* copy_code.c: */
KYMO_NODISCARD
kymo_err kymo_copy_modules(struct kymo_copy *c);
KYMO_NODISCARD
kymo_err kymo_copy_code(struct kymo_copy *c); /* from sources to stacks */
/* copy_marks.c: */
KYMO_NODISCARD
kymo_err kymo_copy_label_sets(struct kymo_copy *c);
KYMO_NODISCARD
kymo_err kymo_copy_marks(struct kymo_copy *c); /* categories, schemas, markers, counters */
/* copy_memory.c: */
KYMO_NODISCARD
kymo_err kymo_copy_memory(struct kymo_copy *c);
/* copy_rows.c: */
KYMO_NODISCARD
kymo_err kymo_copy_samples(struct kymo_copy *c);

#endif
