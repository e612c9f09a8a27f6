/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk.
 *
 * Most frames of most stacks are of one shape: the pc is in the cache, the CFA counts from the
 * stack or the frame pointer, and of the saved registers only the frame pointer matters. walk_fast
 * does these and keeps everything in registers. For anything else it spills its state into struct
 * walk, and step() does that one frame in full generality.
 *
 * walk_fast does not restore the others that a callee saves, which hardly any frame needs: on
 * x86-64 ld.so's resolver of lazy bindings counts its CFA from rbx, some assembly from others. When
 * a frame turns out to need one, the walk begins again at the last point where all registers were
 * known (the checkpoint: the beginning, or the last signal frame) and takes the slow path for all
 * frames (`full`).
 *
 * Termination: each step on one stack moves up; leaving the stack (signal handlers on alternate
 * stacks, coroutines) is allowed a few times per walk; and `max` bounds everything.
 */
#include "unwind/unwind.h"

#include "arch/context.h"
#include "arch/machine_code.h"
#include "arch/row.h"
#include "arch/system.h"
#include "base/search.h"
#include "unwind/code_walk.h"
#include "unwind/expr.h"
#include "unwind/module.h"
#include "unwind/padding.h"
#include "unwind/row_cache.h"
#include "unwind/row_table.h"
#include "unwind/stack_window.h"

#define STACK_SWITCHES 8u
/* A frame that is found by its frame pointer alone is not larger than that. */
#define FRAME_MAX (1u << 20)

#define BIT(reg) (1u << (reg))
#define KNOWN_ALL KYMO_REGS_ALL
#define KNOWN_FAST (BIT(KYMO_REG_SP) | BIT(KYMO_REG_FP))
#define KNOWN_ACROSS_CALLS KYMO_REGS_ACROSS_CALLS
/* A callee may change these, and says nothing of it. They are taken for unchanged: only assembly
 * counts a CFA from one across a call, and does so since it knows that its callee leaves it alone
 * (libcrypto's AES-GCM keeps its caller's rsp in rax). */
#define KNOWN_BY_TRUST (KNOWN_ALL & ~KNOWN_ACROSS_CALLS)

enum step {
    STEP_ON,      /* ip, sp, fp are those of the caller */
    STEP_SIGNAL,  /* the same, and all registers are known: a new checkpoint */
    STEP_RESTART, /* a register is needed that was not restored: begin again at the checkpoint */
    STEP_END,     /* walk.end says why */
};

struct walk {
    struct kymo_walker *walker;
    struct kymo_regs *regs; /* as of the checkpoint; of the present frame once full */
    uint64_t ip;
    uint64_t sp;
    uint64_t fp;
    uint64_t generation_key;
    struct kymo_stack_window window;
    uint32_t known; /* registers whose present values are known: sp, fp, the others in regs */
    uint32_t options;
    uint32_t notes;
    uint32_t switches_left;
    enum kymo_walk_end end;
    bool exact; /* the frame was interrupted at ip, or just begun: not a return address */
    bool full;
    bool is_astray; /* the last frame is none, but a word that no call has put there */
};

static enum step end(struct walk *w, enum kymo_walk_end why)
{
    w->end = why;
    return STEP_END;
}

/* ---- rows ---- */

static bool is_stable(const struct kymo_walker *walker, uint64_t pc)
{
    size_t at = KYMO_COUNT_WHERE(i, walker->stable_count, walker->stable[i].hi <= pc);
    return at < walker->stable_count && pc >= walker->stable[at].lo;
}

static KYMO_NOINLINE uint64_t row_from_tables(struct kymo_walker *walker, uint64_t pc)
{
    uint32_t count = kymo_load_acquire(&walker->tables); /* pairs with kymo_walker_table_add */
    for (uint32_t i = 0; i < count; i++) {
        struct kymo_walker_table *t = &walker->table[i];
        uint32_t sequence = kymo_load_acquire(&t->sequence);
        uint64_t lo = kymo_load_relaxed(&t->range.lo);
        uint64_t hi = kymo_load_relaxed(&t->range.hi);
        uint64_t base = kymo_load_relaxed(&t->base);
        const void *data = kymo_load_relaxed(&t->data);
        uint64_t size = kymo_load_relaxed(&t->size);
        uint32_t live = kymo_load_relaxed(&t->live);
        kymo_fence_acquire(); /* the loads above are before the one below */
        if ((sequence & 1) || kymo_load_relaxed(&t->sequence) != sequence || !live || pc < lo ||
            pc >= hi)
            continue;
        return kymo_row_table_find(data, size, pc - base);
    }
    return KYMO_ROW_NONE;
}

/* A row that was looked up: packed, or, if word is KYMO_ROW_INTERPRET, as it is. */
struct found_row {
    uint64_t word;
    struct kymo_cfi_row row;
    struct kymo_cfi_image image;
    bool signal_frame;
};

static bool in_entry_code(const struct kymo_walker *walker, uint64_t pc)
{
    for (unsigned i = 0; i < 2; i++)
        if (pc >= walker->entry[i].lo && pc < walker->entry[i].hi)
            return true;
    return false;
}

/* As kymo_code_walk_row. */
static uint64_t row_from_code(struct walk *w)
{
    uint64_t fp = w->known & BIT(KYMO_REG_FP) ? w->fp : 0;
    if (w->options & KYMO_WALK_WHILE_CLOSING || in_entry_code(w->walker, w->ip))
        return KYMO_ROW_GAP;
    return kymo_code_walk_row(&w->window, w->regs, w->ip, w->sp, fp, w->exact);
}

/* Whether what was found in the code holds for other frames at this pc: not if the means to look
 * have run out or were not used, nor if it rests on a register that callees may change. */
static bool is_true_of_pc(const struct walk *w, uint64_t row)
{
    if (row == KYMO_ROW_GAP)
        return w->window.probes_left && w->window.instructions_left &&
               !(w->options & KYMO_WALK_WHILE_CLOSING) &&
               (!w->window.outside || w->known & BIT(KYMO_REG_FP));
    return row != KYMO_ROW_NONE && (w->exact || kymo_row_kind(row) != KYMO_ROW_KIND_REGISTER);
}

/* Looks in the cache, the tables, the module, its code, in this order. KYMO_ROW_NONE in word means
 * that the walk cannot use a row; w->end then says why. */
static KYMO_NOINLINE void find_row(struct walk *w, uint64_t look, struct found_row *found)
{
    struct kymo_walker *walker = w->walker;
    uint64_t word = KYMO_ROW_NONE;
    if (w->ip - walker->coroutine_entry.lo <
        walker->coroutine_entry.hi - walker->coroutine_entry.lo) {
        /* Its first address was put on the stack as if something had called from before it. */
        found->word = KYMO_ROW_END;
        return;
    }
    if (walker->cache)
        word = kymo_row_cache_get(walker->cache, kymo_row_set_mask(walker->cache_mask),
                                  w->generation_key, w->ip, w->ip - look);
    if (word == KYMO_ROW_NONE) {
        word = kymo_row_at_pc(kymo_row_sanitize(row_from_tables(walker, look)), look);
        if (word == KYMO_ROW_NONE || word == KYMO_ROW_INTERPRET) {
            struct kymo_unwind_module module;
            if (!kymo_module_find(walker->outside, look, &module)) {
                w->end = KYMO_WALK_NO_MODULE;
                found->word = KYMO_ROW_NONE;
                return;
            }
            if ((w->options & KYMO_WALK_WHILE_CLOSING) && !is_stable(walker, look)) {
                w->notes |= KYMO_WALK_CLOSING_REFUSED;
                w->end = KYMO_WALK_NO_ROW;
                found->word = KYMO_ROW_NONE;
                return;
            }
            w->notes |= KYMO_WALK_BY_INTERPRETER;
            module.may_probe = !walker->outside && w->window.probe_allowed;
            switch (kymo_module_row(&module, look, &word, &found->row, &found->signal_frame,
                                    &found->image)) {
            case KYMO_CFI_FOUND:
                word = kymo_row_at_pc(word, look);
                break;
            case KYMO_CFI_NOT_FOUND:
                word = KYMO_ROW_GAP;
                break;
            default:
                w->end = KYMO_WALK_UNSUPPORTED;
                found->word = KYMO_ROW_NONE;
                return;
            }
        }
        bool is_kept = word != KYMO_ROW_INTERPRET;
        if (word == KYMO_ROW_GAP) {
            const uint64_t missing = w->window.missing;
            word = row_from_code(w);
            w->window.missing = missing; /* that of the walk, not of a try */
            is_kept = is_true_of_pc(w, word);
            word = word == KYMO_ROW_NONE ? KYMO_ROW_GAP : word;
        }
        if (walker->cache && is_kept)
            kymo_row_cache_put(walker->cache, kymo_row_set_mask(walker->cache_mask),
                               w->generation_key, w->ip, w->ip - look, word);
    }
    w->end = KYMO_WALK_NO_ROW; /* what a gap means, unless the frame pointer helps */
    found->word = word;
}

/* ---- registers and stacks ---- */

/* Keeps the copy of sp and fp in regs up to date, for what looks registers up by number. */
static void sync_regs(struct walk *w)
{
    w->regs->ip = w->ip;
    w->regs->gpr[KYMO_REG_SP] = w->sp;
    w->regs->gpr[KYMO_REG_FP] = w->fp;
}

/* May the walk go on at this stack pointer? Notes it if that is another stack. */
static bool move_to(struct walk *w, uint64_t sp, bool may_switch)
{
    struct kymo_stack_window *window = &w->window;
    if (sp & 7)
        return false;
    bool up = w->exact ? sp >= w->sp : sp > w->sp;
    bool leaves = kymo_window_is_own(window, w->sp) && sp > window->own_hi;
    if (up && !leaves) {
        if (!kymo_window_is_own(window, sp))
            kymo_window_enter(window, sp);
        return true;
    }
    if (!may_switch || w->switches_left == 0)
        return false;
    w->switches_left--;
    kymo_window_enter(window, sp);
    return true;
}

static enum step arrive(struct walk *w, uint64_t ip)
{
    w->ip = ip;
    if (ip == 0)
        return end(w, KYMO_WALK_COMPLETE);
    return STEP_ON;
}

/* A register whose value is not known is needed. */
static enum step register_missing(struct walk *w, unsigned reg)
{
    if (!w->full && (KNOWN_ALL & ~KNOWN_FAST & BIT(reg)))
        return STEP_RESTART;
    w->window.missing = w->sp;
    return end(w, KYMO_WALK_UNSUPPORTED);
}

/* ---- one frame, by kind of row ---- */

static KYMO_NOINLINE enum step step_signal(struct walk *w)
{
    uint64_t ip;
    if (!kymo_window_load(&w->window, w->sp + KYMO_SIGNAL_FRAME_IP, &ip))
        return end(w, KYMO_WALK_BAD_STACK);
    uint64_t frame = w->sp;
    for (unsigned i = 0; i < KYMO_ARRAY_LEN(w->regs->gpr); i++)
        if (!kymo_window_load(&w->window, frame + KYMO_SIGNAL_FRAME_GPR(i), &w->regs->gpr[i]))
            return end(w, KYMO_WALK_BAD_STACK);
    /* The interrupted stack pointer may be any value; if it is not aligned, the frame itself is
     * still true, and the walk ends when it is used. */
    w->exact = true;
    if (!move_to(w, w->regs->gpr[KYMO_REG_SP] & ~7ull, true))
        return end(w, KYMO_WALK_BAD_STACK);
    w->sp = w->regs->gpr[KYMO_REG_SP];
    w->fp = w->regs->gpr[KYMO_REG_FP];
    w->regs->ip = ip;
    w->known = KNOWN_ALL;
    w->full = false;
    w->notes |= KYMO_WALK_BY_SIGNAL_FRAME;
    enum step step = arrive(w, ip);
    return step == STEP_ON ? STEP_SIGNAL : step;
}

/* The CFA of a packed row. */
static enum step packed_cfa(struct walk *w, uint64_t row, uint64_t *cfa)
{
    unsigned kind = kymo_row_kind(row);
    unsigned reg = kind == KYMO_ROW_KIND_SP   ? KYMO_REG_SP
                   : kind == KYMO_ROW_KIND_FP ? KYMO_REG_FP
                                              : kymo_row_register(row);
    if (!(w->known & BIT(reg)))
        return register_missing(w, reg);
    uint64_t value = reg == KYMO_REG_SP ? w->sp : reg == KYMO_REG_FP ? w->fp : w->regs->gpr[reg];
    if (kind == KYMO_ROW_KIND_DEREF) {
        if (!kymo_window_load(&w->window, value + kymo_row_deref_at(row), &value))
            return end(w, KYMO_WALK_BAD_STACK);
        *cfa = value + kymo_row_deref_add(row);
    } else {
        *cfa = value + kymo_row_offset(row);
    }
    return STEP_ON;
}

static KYMO_NOINLINE enum step step_packed(struct walk *w, uint64_t row)
{
    const uint64_t sp = w->sp;
    uint64_t cfa = 0;
    uint64_t ip;
    enum step step = packed_cfa(w, row, &cfa);
    if (step != STEP_ON)
        return step;
    uint64_t base = cfa;
    bool restored = false;
    if (kymo_row_saves_below_fp(row)) {
        /* gcc's frames with realigned stacks. Its epilogue forgets to say that `leave` has restored
         * the frame pointer (gcc 12, in the last two instructions), which then no longer points
         * into the frame. */
        if (!(w->known & BIT(KYMO_REG_FP)))
            return register_missing(w, KYMO_REG_FP);
        base = kymo_row_saves_from(w->fp);
        restored = kymo_row_kind(row) != KYMO_ROW_KIND_DEREF && (w->fp < w->sp || w->fp >= cfa);
    }
    if (!move_to(w, cfa, kymo_row_kind(row) != KYMO_ROW_KIND_SP) ||
        !kymo_window_load(&w->window, cfa - kymo_row_return_at(row), &ip))
        return end(w, KYMO_WALK_BAD_STACK);
    if (!w->full)
        w->known &= KNOWN_FAST;
    unsigned slots = w->full ? KYMO_SLOTS_SAVED : KYMO_SLOT_FP + 1;
    for (unsigned slot = 0; slot < slots; slot++) {
        unsigned k = kymo_row_save(row, slot);
        unsigned reg = kymo_slot_register[slot];
        uint64_t value = 0;
        if (k == 0 || restored)
            continue;
        /* Taken off the stack already, which epilogues may leave unsaid: the register has it. What
         * the kernel copies of a stack ends there. */
        if (w->window.outside && base - 8ull * k < sp)
            continue;
        if (kymo_window_load(&w->window, base - 8ull * k, &value))
            w->known |= BIT(reg);
        else
            w->known &= ~BIT(reg);
        if (slot == KYMO_SLOT_FP)
            w->fp = value;
        else
            w->regs->gpr[reg] = value;
    }
    w->sp = cfa;
    w->exact = false;
    step = arrive(w, ip);
    if (w->full)
        sync_regs(w);
    return step;
}

/* The value of the expression whose length is at this offset of the row's image. */
static enum kymo_expr_status evaluate(struct walk *w, const struct found_row *found, int32_t at,
                                      const uint64_t *first, uint64_t *value)
{
    struct kymo_expr_regs regs = {.ip = w->ip, .gpr = w->regs->gpr, .known = w->known};
    return kymo_expr_eval(kymo_cfi_expression(&found->image, at), &regs, &w->window, first, value);
}

/* The value that a rule of an unpacked row gives to its register; false if it cannot be had. */
static KYMO_NOINLINE bool rule_value(struct walk *w, const struct found_row *found, unsigned slot,
                                     const uint64_t *cfa, uint64_t *value)
{
    int32_t operand = found->row.value[slot];
    unsigned rule = found->row.rule[slot];
    switch (rule) {
    case KYMO_RULE_SAME:
        if (slot == KYMO_SLOT_SP) {
            *value = *cfa;
            return true;
        }
        if (kymo_slot_register[slot] >= KYMO_REG_COUNT) /* a return address of no register */
            return false;
        *value = w->regs->gpr[kymo_slot_register[slot]];
        return w->known & BIT(kymo_slot_register[slot]);
    case KYMO_RULE_AT_CFA:
        return kymo_window_load(&w->window, *cfa + (uint64_t)(int64_t)operand, value);
    case KYMO_RULE_CFA_PLUS:
        *value = *cfa + (uint64_t)(int64_t)operand;
        return true;
    case KYMO_RULE_REGISTER:
        *value = w->regs->gpr[operand % KYMO_REG_COUNT];
        return w->known & BIT(operand % KYMO_REG_COUNT);
    case KYMO_RULE_AT_EXPR:
    case KYMO_RULE_EXPR: /* one call for both: its frame is below the deepest path */
        return evaluate(w, found, operand, cfa, value) == KYMO_EXPR_OK &&
               (rule == KYMO_RULE_EXPR || kymo_window_load(&w->window, *value, value));
    default:
        return false;
    }
}

static KYMO_NOINLINE enum step general_cfa(struct walk *w, const struct found_row *found,
                                           uint64_t *cfa)
{
    const struct kymo_cfi_row *row = &found->row;
    if (row->cfa_kind == KYMO_CFA_REGISTER) {
        if (!(w->known & BIT(row->cfa_register)))
            return register_missing(w, row->cfa_register);
        *cfa = w->regs->gpr[row->cfa_register] + (uint64_t)(int64_t)row->cfa_value;
        return STEP_ON;
    }
    if (row->cfa_kind != KYMO_CFA_EXPR)
        return end(w, KYMO_WALK_UNSUPPORTED);
    switch (evaluate(w, found, row->cfa_value, NULL, cfa)) {
    case KYMO_EXPR_OK:
        return STEP_ON;
    case KYMO_EXPR_BAD_MEMORY:
        return end(w, KYMO_WALK_BAD_STACK);
    default:
        return end(w, KYMO_WALK_UNSUPPORTED);
    }
}

/* A row that does not fit in a word: longjmp, vfork, setcontext, odd assembly. Needs all registers.
 */
static KYMO_NOINLINE enum step step_general(struct walk *w, const struct found_row *found)
{
    const struct kymo_cfi_row *row = &found->row;
    uint64_t cfa = 0;
    uint64_t value[KYMO_SLOT_COUNT];
    uint32_t known = 0;
    if (!w->full && w->known != KNOWN_ALL)
        return STEP_RESTART;
    w->full = true;
    sync_regs(w);
    if (row->rule[KYMO_SLOT_RA] == KYMO_RULE_UNDEFINED)
        return end(w, KYMO_WALK_COMPLETE);
    enum step step = general_cfa(w, found, &cfa);
    if (step != STEP_ON)
        return step;
    for (unsigned slot = 0; slot < KYMO_SLOT_COUNT; slot++)
        if (rule_value(w, found, slot, &cfa, &value[slot]))
            known |= BIT(kymo_slot_register[slot]);
    if (!(known & BIT(KYMO_REG_SP)) || !(known & BIT(KYMO_REG_RA)))
        return end(w, KYMO_WALK_BAD_STACK);
    bool by_sp = row->cfa_kind == KYMO_CFA_REGISTER && row->cfa_register == KYMO_REG_SP &&
                 row->rule[KYMO_SLOT_SP] == KYMO_RULE_SAME;
    if (!move_to(w, value[KYMO_SLOT_SP], !by_sp))
        return end(w, KYMO_WALK_BAD_STACK);
    for (unsigned slot = 0; slot < KYMO_SLOTS_SAVED; slot++)
        w->regs->gpr[kymo_slot_register[slot]] = value[slot];
    w->known = (known & KNOWN_ACROSS_CALLS) | (w->known & KNOWN_BY_TRUST);
    w->sp = value[KYMO_SLOT_SP];
    w->fp = known & BIT(KYMO_REG_FP) ? value[KYMO_SLOT_FP] : 0;
    w->exact = found->signal_frame;
    step = arrive(w, value[KYMO_SLOT_RA]);
    sync_regs(w);
    return step;
}

/* Is ip, of no module, a place to return to: does a call end there? Within a module a JIT's own
 * assembly has places to return to that no call made. True, too, where the code cannot be read:
 * nothing speaks against ip then. */
static bool can_return_to(struct walk *w, uint64_t ip)
{
    struct kymo_stack_window *window = &w->window;
    struct kymo_unwind_module module;
    return window->outside || !window->probe_allowed || w->options & KYMO_WALK_WHILE_CLOSING ||
           window->probes_left < KYMO_PROBES_PER_WALK / 2 ||
           kymo_module_find(NULL, ip - 1, &module) || kymo_code_is_behind_call(window, ip);
}

/* No row: either there is no caller, or code that keeps a frame pointer, as code made at run time
 * does. w->end says what the walk comes to if not. Assembly without rows may as well use its
 * register for something else, so a caller of such a gap has to look like one. */
static KYMO_NOINLINE enum step step_by_frame_pointer(struct walk *w, bool in_gap)
{
    uint64_t fp;
    uint64_t ip;
    if (in_entry_code(w->walker, w->ip))
        return end(w, KYMO_WALK_COMPLETE);
    if (in_gap)
        w->notes |= KYMO_WALK_IN_GAP;
    if (!(w->known & BIT(KYMO_REG_FP)) || (w->fp & 7) || w->fp < w->sp || w->fp - w->sp > FRAME_MAX)
        return STEP_END;
    /* Not to another stack: a coroutine may still have the frame pointer of the one that made it.
     */
    if (kymo_window_is_own(&w->window, w->sp) != kymo_window_is_own(&w->window, w->fp))
        return STEP_END;
    if (!kymo_window_load(&w->window, w->fp, &fp) ||
        !kymo_window_load(&w->window, w->fp + 8, &ip) || ip <= KYMO_CODE_LOWEST ||
        ip > KYMO_CODE_HIGHEST || (in_gap && !can_return_to(w, ip)))
        return STEP_END;
    w->notes |= KYMO_WALK_BY_FRAME_POINTER;
    w->sp = w->fp + 16;
    w->fp = fp;
    w->ip = ip;
    w->exact = false;
    w->known &= KNOWN_FAST;
    if (w->full)
        sync_regs(w);
    return STEP_ON;
}

/* With `-X perf` CPython makes a small function for each of its own, that calls the evaluator. It
 * has no row and sets up no frame pointer, but where the call returns to it says how large its
 * frame is. */
static KYMO_NOINLINE enum step step_trampoline(struct walk *w)
{
    uint64_t word, ip;
    if (w->exact || (!w->window.outside && !w->window.probe_allowed) ||
        !kymo_window_load_code(&w->window, w->ip, &word))
        return STEP_END;
    uint64_t bytes = kymo_frame_of_return(word);
    if (bytes == 0 || !kymo_window_load(&w->window, w->sp + bytes, &ip) || ip <= KYMO_CODE_LOWEST ||
        ip > KYMO_CODE_HIGHEST)
        return STEP_END;
    w->sp += bytes + sizeof ip;
    w->ip = ip;
    if (w->full)
        sync_regs(w);
    return STEP_ON;
}

static KYMO_NOINLINE enum step step(struct walk *w)
{
    struct found_row found;
    find_row(w, w->exact ? w->ip : w->ip - 1, &found);
    if (found.word == KYMO_ROW_GAP && w->exact) {
        uint64_t ip = w->ip;
        w->ip = kymo_padding_end(&w->window, ip);
        if (w->ip)
            find_row(w, w->ip, &found);
        if (found.word == KYMO_ROW_GAP)
            w->ip = ip;
    }
    if (found.word == KYMO_ROW_NONE) {
        if (w->end != KYMO_WALK_NO_MODULE)
            return STEP_END;
        if (w->walker->has_trampolines && step_trampoline(w) == STEP_ON)
            return STEP_ON;
        if (step_by_frame_pointer(w, false) == STEP_ON)
            return STEP_ON;
        w->is_astray = !w->exact && !can_return_to(w, w->ip);
        /* Made by a JIT that keeps no frame pointer. The row is not kept: other code may come to
         * lie there. From outside it is rather a library that is not known yet. */
        uint64_t row = w->is_astray || w->walker->outside ? KYMO_ROW_GAP : row_from_code(w);
        /* Stubs of JITs that end in a hlt have callers. */
        return row == KYMO_ROW_GAP || row == KYMO_ROW_NONE || row == KYMO_ROW_END
                   ? STEP_END
                   : step_packed(w, row);
    }
    switch (kymo_row_kind(found.word)) {
    case KYMO_ROW_KIND_END:
        return end(w, KYMO_WALK_COMPLETE);
    case KYMO_ROW_KIND_SIGNAL:
        return step_signal(w);
    case KYMO_ROW_KIND_SPECIAL:
        if (found.word == KYMO_ROW_INTERPRET)
            return step_general(w, &found);
        if (step_by_frame_pointer(w, true) == STEP_ON)
            return STEP_ON;
        if (w->end == KYMO_WALK_NO_ROW && w->window.outside) {
            w->window.missing = w->sp;
            if (!w->exact && w->known & BIT(KYMO_REG_FP) && w->fp == 0)
                w->notes |= KYMO_WALK_AT_ZERO;
        }
        return STEP_END;
    default:
        return step_packed(w, found.word);
    }
}

/* ---- the walk ---- */

struct fast {
    struct kymo_row_slot *cache;
    uint64_t set_mask;
    uint64_t generation_key;
    uint64_t lo;
    uint64_t hi;
};

/* One frame of the common shape; false, and nothing has changed, for any other. */
static inline __attribute__((always_inline)) bool step_fast(const struct fast *f, uint64_t *ip,
                                                            uint64_t *sp, uint64_t *fp,
                                                            uint64_t adjust)
{
    uint64_t row = kymo_row_cache_get(f->cache, f->set_mask, f->generation_key, *ip, adjust);
    return kymo_row_step(row, f->lo, f->hi, ip, sp, fp);
}

/* Fills pcs from n on for as long as frames are of the common shape, and leaves in w the last frame
 * that it stored, whose step is still to be done; its ip is 0, and not stored, at the end of the
 * stack. sp is aligned and lies in the thread's own stack. Returns the new n; beyond max: the depth
 * was reached. */
static inline __attribute__((always_inline)) size_t walk_common(struct walk *w, uint64_t *pcs,
                                                                uint64_t *sps, size_t n, size_t max)
{
    const struct fast f = {.cache = w->walker->cache,
                           .set_mask = kymo_row_set_mask(w->walker->cache_mask),
                           .generation_key = w->generation_key,
                           .lo = w->window.own_lo,
                           .hi = w->window.own_hi};
    uint64_t *out = pcs + n;
    uint64_t *const out_end = pcs + max;
    uint64_t ip = w->ip;
    uint64_t sp = w->sp;
    uint64_t fp = w->fp;
    bool moved = false;
    if (out == out_end)
        return max + 1;
    if (sps)
        sps[out - pcs] = sp;
    *out++ = ip;
    if (!w->exact || (moved = step_fast(&f, &ip, &sp, &fp, 0))) {
        if (moved) {
            w->known = KNOWN_FAST;
            w->exact = false;
            if (out == out_end)
                goto full;
            if (sps)
                sps[out - pcs] = sp;
            *out++ = ip;
        }
        while (step_fast(&f, &ip, &sp, &fp, 1)) {
            if (kymo_unlikely(out == out_end))
                goto full;
            if (sps)
                sps[out - pcs] = sp;
            *out++ = ip;
        }
        if (ip == 0)
            out--; /* nothing is ever cached for it, so it was stored and then missed */
    }
    max = 0; /* no: there is room, and the last frame wants another way */
full:
    w->ip = ip;
    w->sp = sp;
    w->fp = fp;
    return max ? max + 1 : (size_t)(out - pcs);
}

static KYMO_NOINLINE size_t walk_fast(struct walk *w, uint64_t *pcs, size_t n, size_t max)
{
    return walk_common(w, pcs, NULL, n, max);
}

static KYMO_NOINLINE size_t walk_fast_with_sps(struct walk *w, uint64_t *pcs, uint64_t *sps,
                                               size_t n, size_t max)
{
    return walk_common(w, pcs, sps, n, max);
}

size_t kymo_unwind_walk_with_sps(struct kymo_walker *walker, struct kymo_regs *regs,
                                 const struct kymo_stack_bounds *stack, uint64_t *pcs,
                                 uint64_t *sps, size_t max, uint32_t options,
                                 struct kymo_walk_result *result)
{
    const struct kymo_outside *outside = walker->outside;
    uint32_t known = outside ? outside->known : KNOWN_ALL; /* at the checkpoint */
    struct walk w = {
        .walker = walker,
        .regs = regs,
        .ip = regs->ip,
        .sp = regs->gpr[KYMO_REG_SP],
        .fp = regs->gpr[KYMO_REG_FP],
        .generation_key = kymo_generation_key(kymo_load_acquire(&walker->generation)),
        .known = known,
        .options = options,
        .switches_left = STACK_SWITCHES,
        .exact = true,
        .window = {.bounds_lo = stack ? stack->lo : 0,
                   .bounds_hi = stack ? stack->hi : 0,
                   .probes_left = KYMO_PROBES_PER_WALK,
                   .instructions_left = KYMO_INSTRUCTIONS_PER_WALK,
                   .probe_allowed = kymo_load_relaxed(&walker->probe_allowed) != 0},
    };
    if (outside) {
        w.window.outside = outside;
        w.window.probed_lo = outside->lo;
        w.window.probed_hi = outside->hi;
        w.window.shift = (uint64_t)(uintptr_t)outside->copy - outside->lo;
    }
    kymo_window_enter(&w.window, w.sp);
    result->exact_count = 0;
    size_t checkpoint = 0; /* frames before the last point where all registers were known */
    size_t n = 0;
    for (;;) {
        bool fast = !w.full && (w.known & BIT(KYMO_REG_FP)) && walker->cache &&
                    kymo_window_is_own(&w.window, w.sp) && (w.sp & 7) == 0;
        if (fast) {
            n = sps ? walk_fast_with_sps(&w, pcs, sps, n, max) : walk_fast(&w, pcs, n, max);
            if (w.ip == 0 && !w.exact) { /* a return address; a call of NULL is not the end */
                w.end = KYMO_WALK_COMPLETE;
                break;
            }
        } else if (n < max) {
            if (sps)
                sps[n] = w.sp;
            pcs[n++] = w.ip;
        } else {
            n = max + 1;
        }
        if (n > max) {
            n = max;
            w.end = KYMO_WALK_DEPTH;
            break;
        }
        enum step taken = step(&w);
        if (taken == STEP_END)
            break;
        if (taken == STEP_SIGNAL) {
            checkpoint = n;
            known = KNOWN_ALL;
            if (result->exact_count < KYMO_WALK_EXACT_MAX)
                result->exact[result->exact_count++] = (uint32_t)n;
        } else if (taken == STEP_RESTART) {
            n = checkpoint;
            w.full = true;
            w.exact = true;
            w.known = known;
            w.ip = regs->ip;
            w.sp = regs->gpr[KYMO_REG_SP];
            w.fp = regs->gpr[KYMO_REG_FP];
        }
    }
    n -= w.is_astray;
    result->end = w.end;
    result->notes = w.notes | w.window.notes;
    result->missing = w.window.missing;
    return n;
}

size_t kymo_unwind_walk(struct kymo_walker *walker, struct kymo_regs *regs,
                        const struct kymo_stack_bounds *stack, uint64_t *pcs, size_t max,
                        uint32_t options, struct kymo_walk_result *result)
{
    return kymo_unwind_walk_with_sps(walker, regs, stack, pcs, NULL, max, options, result);
}
