/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/expr.h"

#include "arch/registers.h"

enum { /* DW_OP_* */
       OP_ADDR = 0x03,
       OP_DEREF = 0x06,
       OP_CONST1U = 0x08,
       OP_CONST1S,
       OP_CONST2U,
       OP_CONST2S,
       OP_CONST4U,
       OP_CONST4S,
       OP_CONST8U,
       OP_CONST8S,
       OP_CONSTU,
       OP_CONSTS,
       OP_DUP = 0x12,
       OP_DROP,
       OP_OVER,
       OP_PICK,
       OP_SWAP,
       OP_ROT,
       OP_ABS = 0x19,
       OP_AND,
       OP_DIV,
       OP_MINUS,
       OP_MOD,
       OP_MUL,
       OP_NEG,
       OP_NOT,
       OP_OR,
       OP_PLUS,
       OP_PLUS_UCONST,
       OP_SHL,
       OP_SHR,
       OP_SHRA,
       OP_XOR,
       OP_BRA,
       OP_EQ,
       OP_GE,
       OP_GT,
       OP_LE,
       OP_LT,
       OP_NE,
       OP_SKIP,
       OP_LIT0 = 0x30,
       OP_LIT31 = 0x4f,
       OP_BREG0 = 0x70,
       OP_BREG31 = 0x8f,
       OP_BREGX = 0x92,
       OP_DEREF_SIZE = 0x94,
       OP_NOP = 0x96,
};

#define STACK_MAX 8u
#define OPERATIONS_MAX 64u

struct machine {
    uint64_t stack[STACK_MAX];
    unsigned depth;
    enum kymo_expr_status status; /* the first failure */
};

static void fail(struct machine *m, enum kymo_expr_status status)
{
    if (m->status == KYMO_EXPR_OK)
        m->status = status;
}

static void push(struct machine *m, uint64_t value)
{
    if (m->depth < STACK_MAX)
        m->stack[m->depth++] = value;
    else
        fail(m, KYMO_EXPR_UNSUPPORTED);
}

static uint64_t pop(struct machine *m)
{
    if (m->depth > 0)
        return m->stack[--m->depth];
    fail(m, KYMO_EXPR_UNSUPPORTED);
    return 0;
}

static void pick(struct machine *m, unsigned from_top)
{
    if (from_top < m->depth)
        push(m, m->stack[m->depth - 1 - from_top]);
    else
        fail(m, KYMO_EXPR_UNSUPPORTED);
}

static uint64_t shift(uint8_t op, uint64_t a, uint64_t b)
{
    if (op == OP_SHRA)
        return (uint64_t)((int64_t)a >> (b < 63 ? b : 63));
    if (b > 63)
        return 0;
    return op == OP_SHL ? a << b : a >> b;
}

static uint64_t binary(struct machine *m, uint8_t op)
{
    uint64_t b = pop(m);
    uint64_t a = pop(m);
    int64_t sa = (int64_t)a;
    int64_t sb = (int64_t)b;
    switch (op) {
    case OP_AND:
        return a & b;
    case OP_OR:
        return a | b;
    case OP_XOR:
        return a ^ b;
    case OP_PLUS:
        return a + b;
    case OP_MINUS:
        return a - b;
    case OP_MUL:
        return a * b;
    case OP_DIV:
        if (b != 0 && (sa != INT64_MIN || sb != -1))
            return (uint64_t)(sa / sb);
        break;
    case OP_MOD:
        if (b != 0)
            return a % b;
        break;
    case OP_SHL:
    case OP_SHR:
    case OP_SHRA:
        return shift(op, a, b);
    case OP_EQ:
        return a == b;
    case OP_NE:
        return a != b;
    case OP_GE:
        return sa >= sb;
    case OP_GT:
        return sa > sb;
    case OP_LE:
        return sa <= sb;
    case OP_LT:
        return sa < sb;
    default:
        break;
    }
    fail(m, KYMO_EXPR_UNSUPPORTED);
    return 0;
}

static void dereference(struct machine *m, struct kymo_stack_window *window, unsigned size)
{
    uint64_t value = 0;
    if (size == 0 || size > 8)
        fail(m, KYMO_EXPR_UNSUPPORTED);
    else if (!kymo_window_load(window, pop(m), &value))
        fail(m, KYMO_EXPR_BAD_MEMORY);
    else if (size < 8)
        value &= ((uint64_t)1 << (8 * size)) - 1;
    push(m, value);
}

static void push_register(struct machine *m, const struct kymo_expr_regs *regs, uint64_t reg,
                          int64_t offset)
{
    if (reg == KYMO_REG_PC)
        push(m, regs->ip + (uint64_t)offset);
    else if (reg >= KYMO_REG_COUNT)
        fail(m, KYMO_EXPR_UNSUPPORTED);
    else if (!(regs->known >> reg & 1))
        fail(m, KYMO_EXPR_UNKNOWN_REGISTER);
    else
        push(m, regs->gpr[reg] + (uint64_t)offset);
}

/* Moves within the expression, which begins at begin. */
static void jump(struct machine *m, kymo_reader *s, const uint8_t *begin, int64_t distance)
{
    if (distance < begin - s->at || distance > s->end - s->at)
        fail(m, KYMO_EXPR_UNSUPPORTED);
    else
        s->at += distance;
}

static void run_stack_operation(struct machine *m, uint8_t op)
{
    uint64_t a;
    uint64_t b;
    uint64_t c;
    switch (op) {
    case OP_DUP:
        pick(m, 0);
        break;
    case OP_DROP:
        (void)pop(m);
        break;
    case OP_OVER:
        pick(m, 1);
        break;
    case OP_SWAP:
        a = pop(m);
        b = pop(m);
        push(m, a);
        push(m, b);
        break;
    case OP_ROT:
        a = pop(m);
        b = pop(m);
        c = pop(m);
        push(m, a);
        push(m, c);
        push(m, b);
        break;
    case OP_ABS:
        a = pop(m);
        push(m, (int64_t)a < 0 ? 0 - a : a);
        break;
    case OP_NEG:
        push(m, 0 - pop(m));
        break;
    case OP_NOT:
        push(m, ~pop(m));
        break;
    default:
        push(m, binary(m, op));
        break;
    }
}

enum kymo_expr_status kymo_expr_eval(kymo_reader s, const struct kymo_expr_regs *regs,
                                     struct kymo_stack_window *window, const uint64_t *first,
                                     uint64_t *value)
{
    struct machine m;
    m.depth = 0;
    m.status = KYMO_EXPR_OK;
    if (first)
        push(&m, *first);
    const uint8_t *begin = s.at;
    for (unsigned ran = 0; s.at < s.end && m.status == KYMO_EXPR_OK; ran++) {
        uint8_t op = kymo_read_u8(&s);
        int64_t distance;
        if (ran == OPERATIONS_MAX) {
            fail(&m, KYMO_EXPR_UNSUPPORTED);
        } else if (op >= OP_LIT0 && op <= OP_LIT31) {
            push(&m, (uint64_t)(op - OP_LIT0));
        } else if (op >= OP_BREG0 && op <= OP_BREG31) {
            push_register(&m, regs, (uint64_t)(op - OP_BREG0), kymo_read_sleb(&s));
        } else if (op >= OP_CONST1U && op <= OP_CONST8S) {
            unsigned bytes = 1u << ((op - OP_CONST1U) / 2);
            bool is_signed = (op - OP_CONST1U) & 1;
            push(&m, is_signed ? (uint64_t)kymo_read_int(&s, bytes) : kymo_read_uint(&s, bytes));
        } else {
            switch (op) {
            case OP_NOP:
                break;
            case OP_ADDR:
                push(&m, kymo_read_uint(&s, 8));
                break;
            case OP_CONSTU:
                push(&m, kymo_read_uleb(&s));
                break;
            case OP_CONSTS:
                push(&m, (uint64_t)kymo_read_sleb(&s));
                break;
            case OP_BREGX: {
                uint64_t reg = kymo_read_uleb(&s);
                push_register(&m, regs, reg, kymo_read_sleb(&s));
                break;
            }
            case OP_PICK:
                pick(&m, kymo_read_u8(&s));
                break;
            case OP_PLUS_UCONST:
                push(&m, pop(&m) + kymo_read_uleb(&s));
                break;
            case OP_DEREF:
                dereference(&m, window, 8);
                break;
            case OP_DEREF_SIZE:
                dereference(&m, window, kymo_read_u8(&s));
                break;
            case OP_SKIP:
                distance = kymo_read_int(&s, 2);
                jump(&m, &s, begin, distance);
                break;
            case OP_BRA:
                distance = kymo_read_int(&s, 2);
                if (pop(&m) != 0)
                    jump(&m, &s, begin, distance);
                break;
            default:
                run_stack_operation(&m, op);
                break;
            }
        }
    }
    if (s.failed)
        fail(&m, KYMO_EXPR_UNSUPPORTED);
    uint64_t top = pop(&m);
    if (m.status == KYMO_EXPR_OK)
        *value = top;
    return m.status;
}
