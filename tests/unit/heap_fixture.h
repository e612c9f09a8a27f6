/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_fixture.h - a profile of two processes with blocks, for the tests of what sums them up.
 */
#ifndef KYMO_TESTS_HEAP_FIXTURE_H
#define KYMO_TESTS_HEAP_FIXTURE_H

#include "kymo/report.h"
#include "profile_fixture.h"

/* main calls load and parse; parse calls load, too. */
enum { IN_MAIN, IN_LOAD, IN_PARSE, IN_PARSE_LOAD, HEAP_STACKS };

struct heap_profile {
    kymo_profile *p;
    uint32_t process[2];
    uint32_t thread[3]; /* two of the first process, one of the second */
    uint32_t stack[HEAP_STACKS];
};

static inline uint32_t add_named_frame(kymo_profile *p, uint32_t module, uint64_t address,
                                       const char *name)
{
    uint32_t frame = add_frame(p, module, address);
    kymo_line line = {.function = add_function(p, name, module)};
    ok(kymo_profile_frame_set_lines(p, frame, &line, 1, KYMO_NONE, 1));
    return frame;
}

static inline struct heap_profile new_heap_profile(void)
{
    struct heap_profile h = {.p = new_profile()};
    kymo_meta meta = {.size = sizeof meta, .origin_monotonic_ns = 1000, .end_ns = 2000};
    ok(kymo_profile_set_meta(h.p, &meta));
    h.process[0] = add_process(h.p, 7, 1000);
    h.process[1] = add_process(h.p, 9, 1100);
    h.thread[0] = add_thread(h.p, h.process[0], 7, 1000);
    h.thread[1] = add_thread(h.p, h.process[0], 8, 1001);
    h.thread[2] = add_thread(h.p, h.process[1], 9, 1100);
    uint32_t module = add_module(h.p, h.process[0], "/bin/app", "id");
    uint32_t main_frame = add_named_frame(h.p, module, 0x100, "main");
    uint32_t load = add_named_frame(h.p, module, 0x200, "load");
    uint32_t parse = add_named_frame(h.p, module, 0x300, "parse");
    h.stack[IN_MAIN] = add_stack(h.p, KYMO_NONE, main_frame);
    h.stack[IN_LOAD] = add_stack(h.p, h.stack[IN_MAIN], load);
    h.stack[IN_PARSE] = add_stack(h.p, h.stack[IN_MAIN], parse);
    h.stack[IN_PARSE_LOAD] = add_stack(h.p, h.stack[IN_PARSE], load);
    return h;
}

/* A block that lives from then to then; weight 1, by its process's first thread. */
static inline kymo_allocation block_of(const struct heap_profile *h, int in, uint64_t bytes,
                                       uint64_t time_ns, uint64_t end_ns)
{
    return (kymo_allocation){.time_ns = time_ns,
                             .end_ns = end_ns,
                             .birth_ns = time_ns,
                             .address = 0x10000 + bytes,
                             .bytes = bytes,
                             .weight = 1,
                             .thread = h->thread[0],
                             .end_thread = end_ns == KYMO_LIVES ? KYMO_NONE : h->thread[0],
                             .distance = UINT32_MAX,
                             .stack = in < HEAP_STACKS ? h->stack[in] : KYMO_NONE,
                             .labels = KYMO_NONE,
                             .previous = KYMO_NONE};
}

static inline uint32_t add_block(const struct heap_profile *h, const kymo_allocation *block)
{
    uint32_t row;
    uint32_t process = kymo_profile_thread(h->p, block->thread)->process;
    ok(kymo_profile_add_allocation(h->p, process, block, &row));
    return row;
}

static inline void add_plain(const struct heap_profile *h, int in, uint64_t bytes, uint64_t time_ns,
                             uint64_t end_ns)
{
    kymo_allocation block = block_of(h, in, bytes, time_ns, end_ns);
    add_block(h, &block);
}

#endif
