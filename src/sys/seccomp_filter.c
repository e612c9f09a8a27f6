/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the filter as the kernel would, but for what is not known before the call is made: its
 * arguments and where it comes from. A filter that decides by these, or returns what it computes of
 * them, is taken to refuse. Jumps only go forward, so the run ends.
 */
#include "sys/seccomp_filter.h"

#include <linux/seccomp.h>

#include "arch/system.h"

struct value {
    uint32_t value;
    int is_known;
};

struct machine {
    struct value a, x;
    struct value memory[BPF_MEMWORDS];
};

static struct value known(uint32_t value)
{
    return (struct value){value, 1};
}

static struct value load(uint32_t offset, uint32_t number)
{
    if (offset == offsetof(struct seccomp_data, nr))
        return known(number);
    if (offset == offsetof(struct seccomp_data, arch))
        return known(KYMO_ARCH_AUDIT);
    return (struct value){0, 0};
}

static struct value compute(uint16_t operation, struct value a, struct value b)
{
    int is_known = a.is_known && b.is_known;
    uint32_t x = a.value;
    uint32_t y = b.value;
    switch (operation) {
    case BPF_ADD:
        return (struct value){x + y, is_known};
    case BPF_SUB:
        return (struct value){x - y, is_known};
    case BPF_MUL:
        return (struct value){x * y, is_known};
    case BPF_DIV:
        return (struct value){y ? x / y : 0, is_known};
    case BPF_OR:
        return (struct value){x | y, is_known};
    case BPF_AND:
        return (struct value){x & y, is_known};
    case BPF_LSH:
        return (struct value){y < 32 ? x << y : 0, is_known};
    case BPF_RSH:
        return (struct value){y < 32 ? x >> y : 0, is_known};
    case BPF_XOR:
        return (struct value){x ^ y, is_known};
    case BPF_NEG:
        return (struct value){0u - x, a.is_known};
    default:
        return (struct value){0, 0};
    }
}

/* How many instructions a jump skips; -1: not known. */
static int64_t jump(const struct sock_filter *f, const struct machine *m)
{
    struct value with = BPF_SRC(f->code) == BPF_X ? m->x : known(f->k);
    uint32_t a = m->a.value;
    if (BPF_OP(f->code) == BPF_JA)
        return f->k;
    if (!m->a.is_known || !with.is_known)
        return f->jt == f->jf ? f->jt : -1;
    switch (BPF_OP(f->code)) {
    case BPF_JEQ:
        return a == with.value ? f->jt : f->jf;
    case BPF_JGT:
        return a > with.value ? f->jt : f->jf;
    case BPF_JGE:
        return a >= with.value ? f->jt : f->jf;
    case BPF_JSET:
        return a & with.value ? f->jt : f->jf;
    default:
        return -1;
    }
}

static struct value load_any(const struct sock_filter *f, const struct machine *m, uint32_t number)
{
    switch (BPF_MODE(f->code)) {
    case BPF_IMM:
        return known(f->k);
    case BPF_MEM:
        return f->k < BPF_MEMWORDS ? m->memory[f->k] : (struct value){0, 0};
    case BPF_LEN:
        return known(sizeof(struct seccomp_data));
    case BPF_ABS:
        return load(f->k, number);
    }
    return (struct value){0, 0};
}

int kymo_seccomp_allows(const struct sock_filter *filter, size_t len, uint32_t number)
{
    struct machine m = {.a = known(0), .x = known(0)};
    for (uint32_t i = 0; i < BPF_MEMWORDS; i++)
        m.memory[i] = known(0);
    for (uint64_t at = 0; at < len; at++) {
        const struct sock_filter *f = &filter[at];
        int64_t skipped;
        switch (BPF_CLASS(f->code)) {
        case BPF_LD:
            m.a = load_any(f, &m, number);
            break;
        case BPF_LDX:
            m.x = load_any(f, &m, number);
            break;
        case BPF_ST:
        case BPF_STX:
            if (f->k >= BPF_MEMWORDS)
                return 0;
            m.memory[f->k] = BPF_CLASS(f->code) == BPF_ST ? m.a : m.x;
            break;
        case BPF_ALU:
            m.a = compute(BPF_OP(f->code), m.a, BPF_SRC(f->code) == BPF_X ? m.x : known(f->k));
            break;
        case BPF_JMP:
            skipped = jump(f, &m);
            if (skipped < 0)
                return 0;
            at += (uint64_t)skipped;
            break;
        case BPF_RET: {
            struct value result = BPF_RVAL(f->code) == BPF_A ? m.a : known(f->k);
            uint32_t action = result.value & SECCOMP_RET_ACTION_FULL;
            return result.is_known && (action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG);
        }
        case BPF_MISC:
            if (BPF_MISCOP(f->code) == BPF_TAX)
                m.x = m.a;
            else
                m.a = m.x;
            break;
        }
    }
    return 0;
}
