/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/code_row.h"

#include "arch/instruction.h"
#include "arch/machine_code.h"
#include "arch/registers.h"
#include "arch/row.h"

enum {
    INSTRUCTIONS_MAX = 4096, /* that are read in one try: some 100 us at most */
    BRANCHES_MAX = 2,        /* that are kept, to be followed if the way ahead leads nowhere */
    JUMPS_MAX = 5,           /* that are remembered, so that no loop is followed for ever */
};

/* The processor's numbers, and those of DWARF for them. */
enum { RBX = 3, RSP = 4, RBP = 5, R12 = 12 };
static const uint8_t dwarf_number[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

/* What an address is counted from. */
enum base {
    FROM_SP,       /* the stack pointer at the beginning */
    FROM_FP,       /* the frame pointer at the beginning */
    FROM_SLOT,     /* the word at `source` above the stack pointer at the beginning */
    FROM_FP_SLOT,  /* the word at `source` above the frame pointer at the beginning */
    FROM_REGISTER, /* the register of the number `source`, at the beginning */
    FROM_LOST,     /* nothing that is known */
    FROM_FAR,      /* what is known, and not kept */
};

/* What it is counted from in the low bits, and above them a distance in bytes: frames of handlers
 * are small. */
typedef int32_t place;

#define LOST ((place)FROM_LOST)

static enum base base_of(place p)
{
    return (enum base)(p & 7);
}

static int32_t offset_of(place p)
{
    return p >> 3;
}

static place plus(place p, int64_t bytes)
{
    int64_t sum = offset_of(p) + bytes;
    return sum < -(1 << 27) || sum >= 1 << 27 ? LOST : (place)(sum * 8 + base_of(p));
}

/* The same of a word that lies near, whose distance has no low bits: -16 from the frame pointer is
 * -16 | FROM_FP. */
typedef int16_t near;

#define FAR ((near)FROM_FAR)

static near near_of(place p)
{
    int32_t sum = offset_of(p) + (int32_t)base_of(p);
    if (base_of(p) == FROM_LOST)
        return LOST;
    return offset_of(p) % 8 != 0 || sum < INT16_MIN || sum > INT16_MAX ? FAR : (near)sum;
}

/* Where the code is, and what it has done since the beginning. */
struct state {
    int32_t at; /* of the code, from the pc at the beginning */
    place sp, fp;
    place held; /* what the register of the number `holder` was given of the stack pointer */
    uint8_t holder;
    bool has_source;
    /* Masks of slots: whose register was pushed since the beginning, and not taken off; those of
     * them that something was loaded into since then. */
    uint8_t pushed, loaded;
    int32_t source;               /* of the one base that needs it */
    int32_t highest;              /* that sp has been, while it was counted FROM_SP */
    int32_t highest_of_other;     /* the same, since it is counted from what it is now */
    near saved[KYMO_SLOTS_SAVED]; /* what was read into it last; LOST: nothing */
    near fp_stored;               /* where the frame pointer was stored since the beginning */
};

struct follower {
    struct kymo_stack_window *window;
    uint64_t pc; /* at the beginning */
    bool is_behind_call;
    bool keeps_farthest; /* branches, and not the first ones */
    bool has_left_out;   /* a branch: there was no room for it */
    uint8_t branch_count;
    uint32_t jump_count;
    int32_t jumps[JUMPS_MAX];
    struct state branches[BRANCHES_MAX];
};

enum verdict { GO_ON, RETURNS, STOPS, LEADS_NOWHERE };

/* The slot of a row that keeps the register of this number; -1: none does. */
static int slot_of(unsigned number)
{
    return number == RBP   ? KYMO_SLOT_FP
           : number == RBX ? KYMO_SLOT_RBX
           : number >= R12 ? (int)(KYMO_SLOT_R12 + number - R12)
                           : -1;
}

/* The operand's place, if it is counted from the stack or the frame pointer. */
static place operand_of(const struct state *s, const struct kymo_instruction *i)
{
    if (i->is_plain && (i->rm == RSP || i->rm == RBP))
        return plus(i->rm == RSP ? s->sp : s->fp, i->displacement);
    return LOST;
}

static void move_sp(struct state *s, place to)
{
    if (base_of(to) == FROM_SP && offset_of(to) > s->highest)
        s->highest = offset_of(to);
    if (base_of(to) != base_of(s->sp) || offset_of(to) > s->highest_of_other)
        s->highest_of_other = offset_of(to);
    s->sp = to;
}

/* sp is counted from something that needs a number; there is one such thing for a row. */
static void count_from(struct state *s, enum base base, int32_t source)
{
    move_sp(s, s->has_source ? LOST : (place)base);
    s->source = s->has_source ? s->source : source;
    s->has_source = true;
}

/* The stack pointer becomes the word that lies there. */
static void load_sp(struct state *s, place from)
{
    if (base_of(from) == FROM_SP)
        count_from(s, FROM_SLOT, offset_of(from));
    else if (base_of(from) == FROM_FP)
        count_from(s, FROM_FP_SLOT, offset_of(from));
    else
        move_sp(s, LOST);
}

/* What lies between the stack pointer and the highest that it has been was put there since the
 * beginning. Below the stack pointer a function that calls none may keep what it likes. */
static bool is_put_there(const struct state *s, place p)
{
    if (base_of(p) != base_of(s->sp))
        return base_of(p) == FROM_SP && offset_of(p) < s->highest;
    return offset_of(p) >= offset_of(s->sp) &&
           offset_of(p) < (base_of(p) == FROM_SP ? s->highest : s->highest_of_other);
}

/* A register that a callee saves is read from there. If that was put there since the beginning, it
 * is the register's own value, or one that was restored before. What is loaded into one that was
 * pushed is the function's own: the pop follows. */
static void restore(struct state *s, unsigned number, place from, bool is_pop)
{
    int slot = slot_of(number);
    if (slot < 0)
        return;
    const uint8_t bit = (uint8_t)(1u << slot);
    if (number == RBP)
        s->fp = LOST;
    if (!is_pop && s->pushed & bit) {
        s->loaded |= bit;
        return;
    }
    s->pushed &= (uint8_t)~bit;
    s->loaded &= (uint8_t)~bit;
    const near at = base_of(from) == FROM_LOST ? FAR : near_of(from);
    if (is_put_there(s, from) || (number == RBP && at != FAR && at == s->fp_stored))
        return;
    s->saved[slot] = at;
}

static void push(struct state *s, unsigned number)
{
    int slot = slot_of(number);
    if (slot >= 0)
        s->pushed |= (uint8_t)(1u << slot);
    move_sp(s, plus(s->sp, -8));
}

static void pop(struct state *s, unsigned number)
{
    restore(s, number, s->sp, true);
    if (number == RSP)
        load_sp(s, s->sp);
    else
        move_sp(s, plus(s->sp, 8));
}

/* The stack pointer becomes what the register has. That it is what it was at the beginning is
 * believed. */
static void take_sp(struct state *s, unsigned number)
{
    if (number == RBP)
        move_sp(s, s->fp);
    else if (number == s->holder)
        move_sp(s, s->held);
    else if (number != RSP)
        count_from(s, FROM_REGISTER, (int32_t)number);
}

/* A register is given the stack pointer. */
static void hold_sp(struct state *s, unsigned number)
{
    if (number == RBP) {
        s->fp = s->sp;
    } else if (number != RSP) {
        s->held = s->sp;
        s->holder = (uint8_t)number;
    }
}

static void load(struct state *s, unsigned number, place from)
{
    restore(s, number, from, false);
    if (slot_of(number) < 0) { /* and so it is no longer what it was at the beginning */
        s->holder = (uint8_t)number;
        s->held = LOST;
    }
}

/* An instruction whose operands are rm and reg, or rm and an immediate. */
static void take_operands(struct state *s, const struct kymo_instruction *i)
{
    bool to_sp = i->mod == 3 && i->rm == RSP;
    switch (i->opcode) {
    case 0x81:
    case 0x83: /* add, or, adc, sbb, and, sub, xor, cmp */
        if (!to_sp || (i->reg & 7) == 7)
            return;
        move_sp(s, (i->reg & 7) == 0   ? plus(s->sp, i->immediate)
                   : (i->reg & 7) == 5 ? plus(s->sp, -(int64_t)i->immediate)
                                       : LOST);
        return;
    case 0x89: /* mov to rm */
        if (i->mod != 3 && i->reg == RBP && s->fp_stored == LOST)
            s->fp_stored = near_of(operand_of(s, i));
        if (to_sp)
            take_sp(s, i->reg);
        else if (i->mod == 3 && i->reg == RSP)
            hold_sp(s, i->rm);
        else if (i->mod == 3 && i->rm == RBP)
            s->fp = LOST;
        return;
    case 0x8b: /* mov to reg */
        if (i->reg == RSP && i->mod == 3)
            take_sp(s, i->rm);
        else if (i->reg == RSP)
            load_sp(s, operand_of(s, i));
        else if (i->mod == 3 && i->rm == RSP)
            hold_sp(s, i->reg);
        else if (i->mod == 3 && i->reg == RBP)
            s->fp = LOST;
        else if (i->mod != 3)
            load(s, i->reg, operand_of(s, i));
        return;
    case 0x8d: /* lea */
        if (i->reg == RSP)
            move_sp(s, operand_of(s, i));
        else if (i->reg == RBP)
            s->fp = operand_of(s, i);
        return;
    case 0x8f: /* pop to memory */
        move_sp(s, plus(s->sp, 8));
        return;
    case 0xff:
        if ((i->reg & 7) == 6) /* push from memory */
            move_sp(s, plus(s->sp, -8));
        return;
    case 0x03:
    case 0x0b:
    case 0x13:
    case 0x1b:
    case 0x23:
    case 0x2b:
    case 0x33:
        if (i->reg == RSP)
            move_sp(s, LOST);
        return;
    case 0x01:
    case 0x09:
    case 0x11:
    case 0x19:
    case 0x21:
    case 0x29:
    case 0x31:
        if (to_sp)
            move_sp(s, LOST);
        return;
    case 0x87: /* xchg */
        if (to_sp || i->reg == RSP)
            move_sp(s, LOST);
        return;
    }
}

static bool is_known(const struct follower *f, int32_t to)
{
    for (uint32_t i = 0; i < f->jump_count && i < JUMPS_MAX; i++)
        if (f->jumps[i] == to)
            return true;
    return false;
}

/* Where a jump or a branch leads; false: nowhere, or where it has led before, as round a loop. */
static bool is_new_target(const struct follower *f, const struct state *s,
                          const struct kymo_instruction *i, int32_t *to)
{
    return !__builtin_add_overflow(s->at, i->immediate, to) && !is_known(f, *to);
}

static void remember(struct follower *f, int32_t to)
{
    f->jumps[f->jump_count++ % JUMPS_MAX] = to;
}

static enum verdict jump(struct follower *f, struct state *s, const struct kymo_instruction *i)
{
    int32_t to;
    if (!is_new_target(f, s, i, &to))
        return LEADS_NOWHERE;
    remember(f, to);
    s->at = to;
    return GO_ON;
}

/* Goes on ahead, and keeps where the branch leads. */
static void branch(struct follower *f, const struct state *s, const struct kymo_instruction *i)
{
    struct state *at = f->branches;
    int32_t to;
    if (f->branch_count == BRANCHES_MAX && !f->keeps_farthest) {
        f->has_left_out = true;
        return;
    }
    if (!is_new_target(f, s, i, &to))
        return;
    if (f->branch_count < BRANCHES_MAX) {
        at += f->branch_count++;
    } else {
        for (unsigned k = 1; k < BRANCHES_MAX; k++)
            at = f->branches[k].at < at->at ? &f->branches[k] : at;
        if (to < at->at)
            return;
    }
    remember(f, to);
    *at = *s;
    at->at = to;
}

static enum verdict take_one_byte(struct follower *f, struct state *s,
                                  const struct kymo_instruction *i)
{
    switch (i->opcode) {
    case 0x50 ... 0x57:
        push(s, i->rm);
        return i->is_short ? LEADS_NOWHERE : GO_ON;
    case 0x68: /* push of an immediate */
    case 0x6a:
    case 0x9c: /* pushf */
        move_sp(s, plus(s->sp, -8));
        return i->is_short ? LEADS_NOWHERE : GO_ON;
    case 0x58 ... 0x5f:
        pop(s, i->rm);
        return i->is_short ? LEADS_NOWHERE : GO_ON;
    case 0x9d: /* popf */
        move_sp(s, plus(s->sp, 8));
        return i->is_short ? LEADS_NOWHERE : GO_ON;
    case 0x70 ... 0x7f:
    case 0xe0 ... 0xe3: /* loop, jrcxz */
        branch(f, s, i);
        return GO_ON;
    case 0x91 ... 0x97: /* xchg with rax */
    case 0xb8 ... 0xbf: /* mov of an immediate */
        return i->rm == RSP ? LEADS_NOWHERE : GO_ON;
    case 0xe8:
        if (i->immediate == 0) /* a push of the next instruction's address */
            move_sp(s, plus(s->sp, -8));
        f->is_behind_call = true;
        return GO_ON;
    case 0xe9:
    case 0xeb:
        return jump(f, s, i);
    case 0xc9: /* leave */
        move_sp(s, s->fp);
        pop(s, RBP);
        return GO_ON;
    case 0xc2:
    case 0xc3:
        return RETURNS;
    case 0xf4: /* hlt, which a program may not */
        return STOPS;
    case 0xc8:          /* enter */
    case 0xca ... 0xcf: /* far returns, int3 */
        return LEADS_NOWHERE;
    case 0xff:
        /* Through a word of the module's own: to another one's function, which returns to where
         * this one would. Linkers make such stubs; lld says nothing of them. */
        if ((i->reg & 7) == 4 && i->is_from_pc)
            return RETURNS;
        if ((i->reg & 7) == 4 || (i->reg & 7) == 5) /* a jump that nothing here tells of */
            return LEADS_NOWHERE;
        f->is_behind_call = (i->reg & 7) == 2;
        break;
    }
    if (i->has_modrm && (i->is_wide || i->opcode == 0xff || i->opcode == 0x8f))
        take_operands(s, i);
    return GO_ON;
}

static enum verdict take_0f(struct follower *f, const struct state *s,
                            const struct kymo_instruction *i)
{
    switch (i->opcode) {
    case 0x0b: /* ud2, ud1, ud0 */
    case 0xb9:
    case 0xff:
    case 0xa0: /* push and pop of fs and gs */
    case 0xa1:
    case 0xa8:
    case 0xa9:
        return LEADS_NOWHERE;
    case 0x80 ... 0x8f:
        branch(f, s, i);
    }
    return GO_ON;
}

/* The next instruction. */
static enum verdict take(struct follower *f, struct state *s)
{
    struct kymo_instruction i;
    uint64_t words[KYMO_INSTRUCTION_BYTES / 8] = {0};
    const uint8_t *code = (const uint8_t *)words;
    const bool is_first = s->at == 0;
    uint64_t pc = f->pc + (uint64_t)(int64_t)s->at;
    if (!kymo_window_load_code(f->window, pc, &words[0]))
        return LEADS_NOWHERE;
    /* A mapping may end before it. */
    (void)kymo_window_load_code(f->window, pc + sizeof words[0], &words[1]);
    /* Padding behind a call: it does not return, and another function follows. */
    if ((f->is_behind_call && kymo_nop_length(code)) || !kymo_instruction_read(code, &i) ||
        __builtin_add_overflow(s->at, i.length, &s->at))
        return LEADS_NOWHERE;
    /* A call that was followed, and not the one that returns to the beginning. */
    const bool may_stop = f->is_behind_call && !is_first;
    f->is_behind_call = false;
    if (i.map == KYMO_MAP_ONE_BYTE) {
        enum verdict verdict = take_one_byte(f, s, &i);
        return verdict == STOPS && !may_stop ? LEADS_NOWHERE : verdict;
    }
    return i.map == KYMO_MAP_0F ? take_0f(f, s, &i) : GO_ON;
}

static bool fits(int32_t bytes, unsigned bits)
{
    return bytes % 8 == 0 && bytes >= -(1 << (bits - 1)) && bytes < 1 << (bits - 1);
}

/* The row that this way to a return leaves. */
static uint64_t row_of(const struct state *s)
{
    const place end = plus(s->sp, 8);
    const int32_t cfa = offset_of(end);
    uint64_t word = 0, reg;
    for (unsigned slot = 0; slot < KYMO_SLOTS_SAVED; slot++) {
        enum base base = (enum base)(s->saved[slot] & 7);
        int32_t below = cfa - (s->saved[slot] & ~7);
        bool fits_word = base == base_of(end) && below % 8 == 0 && below >= 8 &&
                         below / 8 <= (int32_t)KYMO_ROW_SAVE_MAX;
        if (slot == KYMO_SLOT_FP && (s->loaded & 1u << slot || (base != FROM_LOST && !fits_word)))
            return KYMO_ROW_GAP;
        /* Others that are counted from elsewhere are left out, and then taken for unchanged, which
         * is wrong: hardly a caller needs them. */
        if (base == FROM_LOST || !fits_word)
            continue;
        word |= (uint64_t)below / 8 << (KYMO_ROW_SAVE_SHIFT + KYMO_ROW_SAVE_BITS * slot);
    }
    switch (base_of(end)) {
    case FROM_SP:
        return cfa >= 8 && fits(cfa, 20)
                   ? word | (uint64_t)cfa << 44 | KYMO_REG_SP << 3 | KYMO_ROW_KIND_SP
                   : KYMO_ROW_GAP;
    case FROM_FP:
        return fits(cfa, 20) ? word | (uint64_t)cfa << 44 | KYMO_REG_FP << 3 | KYMO_ROW_KIND_FP
                             : KYMO_ROW_GAP;
    case FROM_SLOT:
    case FROM_FP_SLOT:
        reg = base_of(end) == FROM_SLOT ? KYMO_REG_SP : KYMO_REG_FP;
        return fits(s->source, 15) && fits(cfa, 11)
                   ? word | (uint64_t)(s->source / 8) << 52 | ((uint64_t)(cfa / 8) & 0xff) << 44 |
                         reg << 3 | KYMO_ROW_KIND_DEREF
                   : KYMO_ROW_GAP;
    case FROM_REGISTER:
        return fits(cfa, 20) ? word | (uint64_t)cfa << 44 | (uint64_t)dwarf_number[s->source] << 3 |
                                   KYMO_ROW_KIND_REGISTER
                             : KYMO_ROW_GAP;
    default:
        return KYMO_ROW_GAP;
    }
}

static uint64_t follow(struct follower *f, bool is_return_address)
{
    struct state s = {.sp = FROM_SP, .fp = FROM_FP, .holder = RSP}; /* none */
    for (unsigned slot = 0; slot < KYMO_SLOTS_SAVED; slot++)
        s.saved[slot] = LOST;
    s.fp_stored = LOST;
    for (unsigned n = 0; n < INSTRUCTIONS_MAX && f->window->instructions_left; n++) {
        f->window->instructions_left--;
        enum verdict verdict = take(f, &s);
        uint64_t row = verdict == RETURNS ? row_of(&s) : KYMO_ROW_GAP;
        if (row != KYMO_ROW_GAP)
            return row;
        if (verdict == GO_ON)
            continue;
        /* What a call returns to, and only calls what does not return, was called by nothing: where
         * a stack begins that a program has made for itself. */
        if (verdict == STOPS && is_return_address && f->jump_count == 0)
            return KYMO_ROW_END;
        if (f->branch_count == 0)
            return KYMO_ROW_GAP;
        s = f->branches[--f->branch_count];
        f->is_behind_call = false;
    }
    return KYMO_ROW_GAP;
}

uint64_t kymo_row_from_code(struct kymo_stack_window *window, uint64_t pc, bool is_return_address)
{
    uint64_t row = KYMO_ROW_GAP;
    bool has_left_out = true;
    /* The way out is mostly near. In large loops it is a branch to the function's end. */
    for (int farthest = 0; farthest < 2 && row == KYMO_ROW_GAP && has_left_out; farthest++) {
        struct follower f = {.window = window,
                             .pc = pc,
                             .is_behind_call = is_return_address,
                             .keeps_farthest = farthest};
        row = follow(&f, is_return_address);
        has_left_out = f.has_left_out;
    }
    return row;
}
