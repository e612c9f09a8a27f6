/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_tree.h - the stacks of a profile as a tree whose nodes are rows: functions, lines, files,
 * modules; or threads, processes and sizes, which are roots.
 *
 * Layer:    views
 * Flow:     stacks -> [call_tree] -> aggregate.c
 * Threads:  one owner at a time
 * Memory:   borrows its profile; owns rows, nodes and names
 * Signals:  not for handlers
 *
 * The tree has no weights: code that sums up keeps an array indexed by node. A node comes after its
 * parent, so one pass backwards carries weights up.
 */
#ifndef KYMO_VIEWS_CALL_TREE_H
#define KYMO_VIEWS_CALL_TREE_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "kymo/report.h"

/* The kind of a row's key: frames or threads with equal keys share a row. */
enum kymo_row_tag {
    KYMO_ROW_FUNCTION,
    KYMO_ROW_LINE,
    KYMO_ROW_SOURCE,
    KYMO_ROW_MODULE,
    KYMO_ROW_GENERATED,
    KYMO_ROW_THREAD,
    KYMO_ROW_PROCESS,
    KYMO_ROW_SIZE, /* id: a size class, the number of bits of a size */
    KYMO_ROW_NONE
};

struct kymo_row_key {
    enum kymo_row_tag tag;
    uint32_t id;
    uint32_t line;
};

struct kymo_call_row {
    struct kymo_row_key key;
    const char *name; /* from here on as in kymo_report_row */
    const char *file;
    const char *module;
    uint32_t line;
};

struct kymo_call_node {
    uint32_t parent; /* KYMO_NONE: a root */
    uint32_t row;
};

/* One step of a walk over the tree in order of printing. */
struct kymo_call_visit {
    uint32_t node;
    uint32_t depth;
    /* An ancestor has the same row: sums over rows have counted this node with it. */
    uint32_t is_repeated;
};

struct kymo_call_tree {
    const kymo_profile *profile;
    uint32_t by; /* enum kymo_report_by */
    /* Set after init: functions that only forward an allocation request get no node, so their
     * allocations count for the caller. */
    int skips_allocators;
    kymo_arena arena;   /* names that the profile does not have */
    kymo_arena scratch; /* temporary memory while sums are computed */
    KYMO_VEC(struct kymo_call_row) rows;
    KYMO_VEC(struct kymo_call_node) nodes; /* parents before children */
    kymo_index row_index;
    kymo_index node_index;
};

void kymo_call_tree_init(struct kymo_call_tree *tree, const kymo_profile *profile, uint32_t by);
/* n cleared entries, valid until kymo_call_tree_drop; NULL: no memory. */
#define KYMO_CALL_TREE_SCRATCH(tree, type, n) \
    kymo_arena_calloc(&(tree)->scratch, (n) * sizeof(type), _Alignof(__typeof__(type)))

/* Frees all but the arena. */
void kymo_call_tree_drop(struct kymo_call_tree *tree);
void kymo_call_tree_deinit(struct kymo_call_tree *tree);

/* Whether rows of this kind are parts of stacks. */
int kymo_call_tree_has_stacks(uint32_t by);

/* "NAME (TID)"; NULL: no memory. */
const char *kymo_row_name_of_thread(const kymo_profile *profile, uint32_t thread,
                                    kymo_arena *arena);

/* The number of slots: stacks, threads, processes or size classes. */
uint32_t kymo_call_tree_slots(const struct kymo_call_tree *tree);

/* Adds the wanted slots to the tree; for stacks also their callers. wanted: one flag for each
 * slot, and one more for "none"; the flags of callers get set, too. node_of, with as many
 * entries, is set to the nodes of the wanted slots. */
KYMO_NODISCARD
kymo_err kymo_call_tree_fold(struct kymo_call_tree *tree, uint8_t *wanted, uint32_t *node_of);

/* All nodes in order of printing: a node before its children, children by weight, the largest
 * first; of equal ones the first added first. weights: by node, including descendants. *visits:
 * scratch, with an entry for each node. */
KYMO_NODISCARD
kymo_err kymo_call_tree_walk(struct kymo_call_tree *tree, const uint64_t *weights,
                             const struct kymo_call_visit **visits);

#endif
