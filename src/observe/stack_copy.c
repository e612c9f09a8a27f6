/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/perf_event.h>
#include <string.h>

#include "arch/perf_registers.h"
#include "observe/stack_copies.h"

/* The fields of a record follow each other, as perf_event_open(2) lists them. */
struct cursor {
    const unsigned char *at;
    size_t left;
};

static const unsigned char *take(struct cursor *c, size_t size)
{
    const unsigned char *at = c->at;
    if (size > c->left)
        return NULL;
    c->at += size;
    c->left -= size;
    return at;
}

static int take_word(struct cursor *c, uint64_t *word)
{
    const unsigned char *at = take(c, sizeof *word);
    if (at)
        memcpy(word, at, sizeof *word);
    return at != NULL;
}

static int take_stack(struct cursor *c, struct kymo_stack_copy *copy)
{
    uint64_t asked, copied;
    if (!take_word(c, &asked))
        return 0;
    if (asked == 0) { /* then its length is left out */
        copy->has_user = 0;
        return 1;
    }
    copy->stack = asked <= c->left ? take(c, (size_t)asked) : NULL;
    if (!copy->stack || !take_word(c, &copied) || copied > asked)
        return 0;
    copy->asked_bytes = (size_t)asked;
    copy->stack_bytes = (size_t)copied;
    return 1;
}

/* The user's part is the last one. */
static void find_chain(const unsigned char *pcs, size_t count, struct kymo_stack_copy *copy)
{
    copy->chain_count = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t pc;
        memcpy(&pc, pcs + i * sizeof pc, sizeof pc);
        if (pc != (uint64_t)PERF_CONTEXT_USER)
            continue;
        copy->chain = pcs + (i + 1) * sizeof pc;
        copy->chain_count = count - i - 1;
        return;
    }
}

static uint64_t chain_at(const struct kymo_stack_copy *copy, size_t i)
{
    uint64_t pc;
    memcpy(&pc, copy->chain + i * sizeof pc, sizeof pc);
    return pc;
}

size_t kymo_stack_copy_join_chain(const struct kymo_stack_copy *copy, uint64_t *pcs, size_t n,
                                  size_t max)
{
    size_t i = 1;
    /* A function that has not set its frame pointer yet hides its caller: from the second caller on
     * both ways have the same frames. */
    if (n < 3)
        return n;
    while (i < copy->chain_count &&
           (chain_at(copy, i) != pcs[n - 1] || chain_at(copy, i - 1) != pcs[n - 2]))
        i++;
    for (i++; i < copy->chain_count && n < max; i++)
        pcs[n++] = chain_at(copy, i);
    return n;
}

int kymo_stack_copy_parse(const struct kymo_perf_record *record, struct kymo_stack_copy *copy)
{
    struct cursor c = {record->bytes, record->len};
    uint64_t chain, abi;
    copy->kernel.depth = 0;
    if (record->type != PERF_RECORD_SAMPLE || !take_word(&c, &copy->kernel.time_ns) ||
        !take_word(&c, &copy->cpu_ns) || !take_word(&c, &chain) ||
        chain > c.left / sizeof(uint64_t))
        return 0;
    const unsigned char *pcs = take(&c, (size_t)chain * sizeof(uint64_t));
    find_chain(pcs, (size_t)chain, copy);
    if ((record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
        copy->kernel.depth = kymo_kernel_chain(pcs, (size_t)chain, copy->kernel.pcs);
    if (!take_word(&c, &abi))
        return 0;
    copy->has_user = abi == PERF_SAMPLE_REGS_ABI_64;
    if (abi == PERF_SAMPLE_REGS_ABI_NONE)
        return 1;
    const unsigned char *words = take(&c, KYMO_PERF_REGISTER_WORDS * sizeof(uint64_t));
    if (!words)
        return 0;
    kymo_regs_from_perf(&copy->regs, words);
    return take_stack(&c, copy);
}
