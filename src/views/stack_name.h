/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_name.h - a node of a report's tree as one text: "outermost;...;innermost".
 *
 * Layer:    views; above kymo/report.h
 * Flow:     nodes of a report -> [stack_name] -> aggregate_diff.c
 * Threads:  the report's owner
 * Memory:   its own; borrows the report
 * Signals:  not for handlers
 */
#ifndef KYMO_VIEWS_STACK_NAME_H
#define KYMO_VIEWS_STACK_NAME_H

#include "base/arena.h"
#include "base/vec.h"
#include "kymo/report.h"

/* Of a longer text the outer part is left out, and "...;" stands for it. */
#define KYMO_STACK_NAME_MAX 16384u

struct kymo_stack_path {
    const kymo_report_row *rows;
    KYMO_VEC(const char *) names; /* by depth */
};

void kymo_stack_path_init(struct kymo_stack_path *path, const kymo_report *report);
void kymo_stack_path_deinit(struct kymo_stack_path *path);

/* The next node, in the report's order. */
KYMO_NODISCARD
kymo_err kymo_stack_path_enter(struct kymo_stack_path *path, const kymo_report_node *node);

/* The text of the node that was entered last, in the arena; NULL: no memory. */
const char *kymo_stack_path_name(const struct kymo_stack_path *path, kymo_arena *arena);

#endif
