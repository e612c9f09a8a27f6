/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_pointer.c - see thread_pointer.h.
 *
 * The register that leads to libc's block of a thread is read by an instruction where the kernel
 * allows it, else the kernel is asked (arch/thread_block.h). It is looked up among the bases that
 * were found to be libc's. One that is not there is examined: libc's block has its own address at
 * known places, and holds the thread's number. Memory at an unknown address is read only after the
 * kernel has found it readable.
 *
 * Bases are never removed. libc puts its block at the end of a thread's stack, where no other
 * runtime puts one, and the next thread of libc's with that stack has it there again. What is
 * static is a forked child's, too, whose thread has the block that it had in its parent.
 */
#include "capture/thread_pointer.h"

#include "arch/thread_block.h"
#include "base/atomic.h"
#include "sys/raw.h"

enum {
    WAYS = 4,
    SETS = 1024, /* a power of two */
    ALIGNMENT = 64,
};

static uint64_t bases[SETS][WAYS] KYMO_LARGE; /* 0: free */
/* The first one, in a page that a process touches anyway: many have no other. */
static uint64_t first;
static uint64_t tid_at;
static enum { NOT_YET, BY_CALL, BY_INSTRUCTION } reading;

void kymo_thread_pointer_init(uint64_t tid_offset)
{
    tid_at = tid_offset;
    kymo_store_release(&reading, kymo_thread_block_may_read() ? BY_INSTRUCTION : BY_CALL);
}

static uint64_t *set_of(uint64_t base)
{
    return bases[(base / ALIGNMENT * 0x9e3779b97f4a7c15u) >> 54 & (SETS - 1)];
}

static int is_known(uint64_t base)
{
    const uint64_t *set = set_of(base);
    if (kymo_load_relaxed(&first) == base)
        return 1;
    for (int i = 0; i < WAYS; i++)
        if (kymo_load_relaxed(&set[i]) == base)
            return 1;
    return 0;
}

/* In the place of another one, if there is no room: that is examined again. */
static void remember(uint64_t base)
{
    uint64_t *set = set_of(base), none = 0;
    if (kymo_cas_relaxed(&first, &none, base) || none == base)
        return;
    for (int i = 0; i < WAYS; i++) {
        none = 0;
        if (kymo_cas_relaxed(&set[i], &none, base) || none == base)
            return;
    }
    kymo_store_relaxed(&set[base >> 16 & (WAYS - 1)], base);
}

void kymo_thread_pointer_add(void)
{
    remember(kymo_thread_block());
}

static int is_block(uint64_t base)
{
    uint64_t self, tid;
    if (!base || base % ALIGNMENT != 0)
        return 0;
    for (const uint8_t *at = kymo_thread_block_selves; *at != UINT8_MAX; at++)
        if (!kymo_raw_read_word(base + *at, &self) || self != base)
            return 0;
    return tid_at == 0 ||
           (kymo_raw_read_word(base + tid_at, &tid) && (uint32_t)tid == kymo_raw_gettid());
}

int kymo_thread_pointer_is_libc(int may_ask)
{
    uint64_t base = 0;
    switch (kymo_load_acquire(&reading)) {
    case NOT_YET:
        return 1;
    case BY_INSTRUCTION:
        base = kymo_thread_block_read();
        break;
    case BY_CALL:
        /* Nothing else tells it without risk. */
        if (!may_ask)
            return 1;
        if (!kymo_thread_block_ask(&base))
            return 0;
        break;
    }
    if (kymo_likely(base && is_known(base)))
        return 1;
    if (!may_ask || !is_block(base))
        return 0;
    remember(base);
    return 1;
}
