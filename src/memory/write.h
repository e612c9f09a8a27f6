/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write.h - a snapshot as text.
 *
 * Layer:    memory
 * Flow:     figures -> [write] -> text
 * Threads:  one owner at a time
 * Memory:   the caller's text, which fails as a kymo_str does
 * Signals:  not for handlers
 */
#ifndef KYMO_MEMORY_WRITE_H
#define KYMO_MEMORY_WRITE_H

#include "base/str.h"
#include "memory/cgroup.h"
#include "memory/figures.h"
#include "memory/process.h"

struct kymo_memory_view {
    uint64_t realtime_ms;
    uint32_t pid;
    char name[64]; /* valid UTF-8 */
    struct kymo_figures figures;
    struct kymo_cgroup_place cgroup;
    struct kymo_memory_threads threads;
};

/* view.c: fills a view that is all zero, but for pid and what allocators say; process as process.h
 * has it, parts as kymo/memory.h. Of another process what may not be read is not there. The threads
 * are freed by kymo_memory_threads_deinit, also after an error. */
KYMO_NODISCARD
kymo_err kymo_memory_view_read(struct kymo_memory_view *view, const char *process, uint32_t parts);

/* doc/memory-json.md */
void kymo_memory_write_json(kymo_str *out, const struct kymo_memory_view *view);
/* Text exposition format 0.0.4. */
void kymo_memory_write_prometheus(kymo_str *out, const struct kymo_memory_view *view);

/* ---- write_text.c ---- */

/* value / 10^digits, without zeros at its end. */
void kymo_memory_put_fixed(kymo_str *out, int64_t value, unsigned digits);
/* What stands between quotes: quotes, backslashes and newlines as JSON and Prometheus have them
 * alike; of other control characters, U+FFFD. */
void kymo_memory_put_quoted(kymo_str *out, const char *text);

#endif
