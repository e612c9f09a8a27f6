/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change.h - which settings of an agent that runs are to be others: kymo_agent_reconfigure and
 * `kymo control set=`.
 *
 * Layer:    agent
 * Flow:     text -> [change] -> agent.c, recorder/tree.h
 * Threads:  one owner
 * Memory:   the caller's structure
 * Signals:  not for handlers
 */
#ifndef KYMO_AGENT_CHANGE_H
#define KYMO_AGENT_CHANGE_H

#include "agent/settings.h"
#include "recorder/tree.h"

struct kymo_agent_change {
    struct kymo_agent_settings settings; /* all, as they are then */
    int has_reporters, has_labels;       /* they replace those that were there */
    struct kymo_tree_change recording;   /* points into settings */
};

/* The settings that follow when `list`, with the grammar of KYMO_OPTIONS, is applied to `now`.
 * Reporters that are named replace all others but the program's callback, labels all labels.
 * KYMO_E_UNSUPPORTED: one of them needs a new start; else what is wrong with the list. detail says
 * which, and *change is not to be used. */
KYMO_NODISCARD
kymo_err kymo_agent_change_plan(struct kymo_agent_change *change,
                                const struct kymo_agent_settings *now, const char *list,
                                kymo_error *detail);

#endif
