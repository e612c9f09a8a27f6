/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg_tree.h - the call trees of a flame graph, reduced to what can be shown.
 *
 * Layer:    encode; above profile
 * Flow:     samples, allocations -> [svg_tree] -> svg.c
 * Threads:  one owner at a time
 * Memory:   its own; borrows texts from the profiles that were added
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_SVG_SVG_TREE_H
#define KYMO_ENCODE_SVG_SVG_TREE_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "encode/encoder.h"

struct kymo_svg_name {
    const char *text;
    uint32_t module;
};

/* The threads of the same name, in processes of the same name. */
struct kymo_svg_root {
    const char *process;
    const char *thread;
};

struct kymo_svg_node {
    int32_t parent; /* -1 - i: outermost in root i */
    uint32_t name;
    uint64_t self[2]; /* of the profile, and of the one that it is compared with */
};

struct kymo_svg_tree {
    kymo_arena arena;
    KYMO_VEC(const char *) modules; /* the first one is "" */
    KYMO_VEC(struct kymo_svg_name) names;
    KYMO_VEC(struct kymo_svg_root) roots;
    KYMO_VEC(struct kymo_svg_node) nodes; /* parents first */
    kymo_index module_index;
    kymo_index name_index;
    kymo_index root_index;
    kymo_index node_index;
    uint64_t least; /* after prune: nodes of a smaller weight were merged */
};

void kymo_svg_tree_init(struct kymo_svg_tree *tree);
void kymo_svg_tree_deinit(struct kymo_svg_tree *tree);

/* Adds what the encoder's options ask for of its profile, and of the one that it is compared with,
 * if there is one. */
KYMO_NODISCARD
kymo_err kymo_svg_tree_add_both(struct kymo_svg_tree *tree, kymo_encoder *encoder);

/* Merges nodes that are too small or too deep to be seen into one below their caller. Nothing
 * can be added afterwards. */
KYMO_NODISCARD
kymo_err kymo_svg_tree_prune(struct kymo_svg_tree *tree);

#endif
