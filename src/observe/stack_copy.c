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
