/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that code tells are held to those of unwind information, at each instruction of libraries
 * that have it, and to what is true of code that has none.
 */
#include "arch/code_row.h"
#include "unit.h"

#include <link.h>
#include <stdio.h>
#include <string.h>

#include "arch/instruction.h"
#include "arch/row.h"
#include "unwind/cfi.h"

static struct kymo_stack_window window_of(const void *code, size_t size)
{
    uint64_t lo = (uint64_t)(uintptr_t)code;
    return (struct kymo_stack_window){
        .own_lo = lo, .own_hi = lo + size, .instructions_left = 1u << 30};
}

/* ---- beside unwind information ---- */

struct counts {
    size_t instructions, rows, comparable, equal, unknown, wrong_fp;
};

struct library {
    struct kymo_cfi_image image;
    uint64_t eh_frame_hdr;
    uint64_t code_lo, code_hi;
    struct counts counts;
};

static uint64_t told_row(const struct library *l, const struct kymo_cfi_fde *fde, uint64_t pc)
{
    struct kymo_cfi_cursor cursor;
    struct kymo_cfi_row row;
    if (kymo_cfi_begin(&cursor, &l->image, fde, 100000, &row) != KYMO_CFI_FOUND ||
        kymo_cfi_seek(&cursor, pc) != KYMO_CFI_FOUND)
        return KYMO_ROW_NONE;
    return kymo_row_at_pc(kymo_row_pack(&row, fde->signal_frame, &l->image), pc);
}

static void compare_function(struct library *l, const struct kymo_cfi_fde *fde)
{
    struct kymo_stack_window code =
        window_of((const void *)(uintptr_t)l->code_lo, l->code_hi - l->code_lo);
    for (uint64_t pc = fde->pc_begin; pc < fde->pc_end;) {
        uint8_t bytes[KYMO_INSTRUCTION_BYTES] = {0};
        struct kymo_instruction i;
        memcpy(bytes, (const void *)(uintptr_t)pc, l->code_hi - pc < 16 ? l->code_hi - pc : 16);
        if (!kymo_instruction_read(bytes, &i)) {
            l->counts.unknown++;
            return;
        }
        uint64_t ours = kymo_row_from_code(&code, pc, false);
        uint64_t told = told_row(l, fde, pc);
        bool comparable = ours != KYMO_ROW_GAP && told != KYMO_ROW_NONE &&
                          kymo_row_kind(ours) == kymo_row_kind(told) &&
                          kymo_row_kind(told) != KYMO_ROW_KIND_DEREF;
        l->counts.instructions++;
        l->counts.rows += ours != KYMO_ROW_GAP;
        l->counts.comparable += comparable;
        l->counts.equal += comparable && kymo_row_offset(ours) == kymo_row_offset(told);
        /* gcc leaves it unsaid that an epilogue has taken it off already. */
        unsigned fp = comparable ? kymo_row_save(ours, KYMO_SLOT_FP) : 0;
        l->counts.wrong_fp += fp && kymo_row_offset(ours) == kymo_row_offset(told) &&
                              fp != kymo_row_save(told, KYMO_SLOT_FP);
        pc += i.length;
    }
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *context)
{
    struct library *l = context;
    uint64_t lo = UINT64_MAX, hi = 0;
    (void)size;
    if (!strstr(info->dlpi_name, "libc.so"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t begin = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_GNU_EH_FRAME)
            l->eh_frame_hdr = begin;
        if (p->p_type != PT_LOAD || p->p_flags & PF_W)
            continue;
        lo = begin < lo ? begin : lo;
        hi = begin + p->p_filesz > hi ? begin + p->p_filesz : hi;
        if (p->p_flags & PF_X) {
            l->code_lo = begin;
            l->code_hi = begin + p->p_filesz;
        }
    }
    l->image = (struct kymo_cfi_image){(const uint8_t *)(uintptr_t)lo, hi - lo, lo};
    return 1;
}

/* What differs is behind calls that never return, or padding that is never executed. */
static void as_unwind_information_says(void **state)
{
    struct library libc = {0};
    struct kymo_cfi_index index;
    (void)state;
    dl_iterate_phdr(find_libc, &libc);
    assert_int_equal(kymo_cfi_index_open(&libc.image, libc.eh_frame_hdr, &index), KYMO_CFI_FOUND);
    for (uint32_t i = 0; i < index.count; i += 3) {
        struct kymo_cfi_fde fde;
        if (kymo_cfi_fde_read(&libc.image, kymo_cfi_index_fde(&index, i), &fde) == KYMO_CFI_FOUND &&
            fde.pc_begin >= libc.code_lo && fde.pc_end <= libc.code_hi)
            compare_function(&libc, &fde);
    }
    const struct counts *c = &libc.counts;
    fprintf(stderr,
            "%zu instructions, %zu with a row, %zu of %zu equal, %zu not known, "
            "%zu wrong frame pointers\n",
            c->instructions, c->rows, c->equal, c->comparable, c->unknown, c->wrong_fp);
    assert_int_equal(c->unknown, 0);
    /* Of glibc 2.36 none; others have other assembly. */
    assert_true(c->wrong_fp <= c->comparable / 5000);
    assert_true(c->instructions > 10000);
    assert_true(c->rows > c->instructions * 8 / 10);
    assert_true(c->comparable > c->rows * 8 / 10);
    assert_true(c->equal > c->comparable * 98 / 100);
}

/* ---- code that has none ---- */

static uint64_t row_at(const void *code, size_t size, size_t at, bool is_return_address)
{
    static uint8_t page[3 * 4096]; /* code does not end where its last instruction does */
    memset(page, 0xf4, sizeof page);
    memcpy(page, code, size);
    struct kymo_stack_window window = window_of(page, sizeof page);
    return kymo_row_from_code(&window, window.own_lo + at, is_return_address);
}

static uint64_t row_of(const void *code, size_t size, size_t at)
{
    return row_at(code, size, at, false);
}

#define ROW(code, at) row_of(code, sizeof(code), at)

static void assert_row(uint64_t row, unsigned kind, int64_t offset)
{
    assert_int_not_equal(row, KYMO_ROW_GAP);
    assert_int_equal(kymo_row_kind(row), kind);
    assert_int_equal((int64_t)kymo_row_offset(row), offset);
}

/* The CFA is 16 above the word that lies at `at` above the register; the frame pointer is below the
 * return address. */
static void assert_deref(uint64_t row, unsigned reg, int64_t at)
{
    assert_int_equal(kymo_row_kind(row), KYMO_ROW_KIND_DEREF);
    assert_int_equal(kymo_row_register(row), reg);
    assert_int_equal(kymo_row_deref_at(row), at);
    assert_int_equal(kymo_row_deref_add(row), 16);
    assert_int_equal(kymo_row_save(row, KYMO_SLOT_FP), 2);
}

static void counts_what_is_taken_off(void **state)
{
    (void)state;
    static const uint8_t code[] = {
        0x53,                               /*  0 push %rbx */
        0x41, 0x54,                         /*  1 push %r12 */
        0x48, 0x83, 0xec, 0x18,             /*  3 sub $24,%rsp */
        0xc5, 0xfd, 0x6f, 0x04, 0x24,       /*  7 vmovdqa (%rsp),%ymm0 */
        0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc0, /* 12 vaddps %zmm0,%zmm0,%zmm0 */
        0x48, 0x83, 0xc4, 0x18,             /* 18 add $24,%rsp */
        0x41, 0x5c,                         /* 22 pop %r12 */
        0x5b,                               /* 24 pop %rbx */
        0xc3,                               /* 25 ret */
    };
    static const struct {
        size_t at;
        int64_t cfa;
        unsigned rbx, r12; /* where they are saved, in words below the CFA */
    } known[] = {{0, 8, 0, 0},   {1, 16, 2, 0},  {3, 24, 2, 3},  {7, 48, 2, 3}, {12, 48, 2, 3},
                 {18, 48, 2, 3}, {22, 24, 2, 3}, {24, 16, 2, 0}, {25, 8, 0, 0}};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(known); i++) {
        uint64_t row = ROW(code, known[i].at);
        assert_row(row, KYMO_ROW_KIND_SP, known[i].cfa);
        assert_int_equal(kymo_row_save(row, KYMO_SLOT_RBX), known[i].rbx);
        assert_int_equal(kymo_row_save(row, KYMO_SLOT_R12), known[i].r12);
        assert_int_equal(kymo_row_save(row, KYMO_SLOT_FP), 0);
    }
}

/* As codecs align their stack: the old one is kept in it. */
static void finds_the_stack_in_the_stack(void **state)
{
    (void)state;
    static const uint8_t code[] = {
        0x55,                         /*  0 push %rbp */
        0x48, 0x89, 0xe0,             /*  1 mov %rsp,%rax */
        0x48, 0x83, 0xe4, 0xc0,       /*  4 and $-64,%rsp */
        0x48, 0x83, 0xec, 0x40,       /*  8 sub $64,%rsp */
        0x48, 0x89, 0x44, 0x24, 0x38, /* 12 mov %rax,56(%rsp) */
        0x31, 0xed,                   /* 17 xor %ebp,%ebp */
        0x48, 0x8b, 0x64, 0x24, 0x38, /* 19 mov 56(%rsp),%rsp */
        0x5d,                         /* 24 pop %rbp */
        0xc3,                         /* 25 ret */
    };
    for (size_t at = 17; at <= 19; at += 2)
        assert_deref(ROW(code, at), KYMO_REG_SP, 56);
    /* Before, what the stack pointer will be after the alignment is not known. */
    assert_int_equal(ROW(code, 1), KYMO_ROW_GAP);
}

/* As libjpeg's do: the frame pointer is aligned as well. */
static void finds_the_stack_from_the_frame_pointer(void **state)
{
    (void)state;
    static const uint8_t code[] = {
        0x55,                         /*  0 push %rbp */
        0x48, 0x89, 0xe0,             /*  1 mov %rsp,%rax */
        0x48, 0x83, 0xec, 0x08,       /*  4 sub $8,%rsp */
        0x48, 0x83, 0xe4, 0xe0,       /*  8 and $-32,%rsp */
        0x48, 0x89, 0x04, 0x24,       /* 12 mov %rax,(%rsp) */
        0x48, 0x89, 0xe5,             /* 16 mov %rsp,%rbp */
        0x48, 0x8d, 0x64, 0x24, 0x80, /* 19 lea -128(%rsp),%rsp */
        0x41, 0x54,                   /* 24 push %r12 */
        0x31, 0xc0,                   /* 26 xor %eax,%eax */
        0x41, 0x5c,                   /* 28 pop %r12 */
        0x48, 0x89, 0xec,             /* 30 mov %rbp,%rsp */
        0x5c,                         /* 33 pop %rsp */
        0x5d,                         /* 34 pop %rbp */
        0xc3,                         /* 35 ret */
    };
    for (size_t at = 26; at <= 30; at += 2)
        assert_deref(ROW(code, at), KYMO_REG_FP, 0);
    assert_int_equal(kymo_row_register(ROW(code, 33)), KYMO_REG_SP);
}

/* Or in a register. */
static void finds_the_stack_in_a_register(void **state)
{
    (void)state;
    static const uint8_t code[] = {
        0x48, 0x89, 0xe1,       /*  0 mov %rsp,%rcx */
        0x48, 0x83, 0xe4, 0xe0, /*  3 and $-32,%rsp */
        0x48, 0x83, 0xec, 0x60, /*  7 sub $96,%rsp */
        0x31, 0xc0,             /* 11 xor %eax,%eax */
        0x48, 0x89, 0xcc,       /* 13 mov %rcx,%rsp */
        0xc3,                   /* 16 ret */
    };
    assert_row(ROW(code, 0), KYMO_ROW_KIND_SP, 8);
    for (size_t at = 3; at <= 11; at += 4) {
        assert_row(ROW(code, at), KYMO_ROW_KIND_REGISTER, 8);
        assert_int_equal(kymo_row_register(ROW(code, at)), 2); /* DWARF's number of rcx */
    }
    assert_row(ROW(code, 16), KYMO_ROW_KIND_SP, 8);
}

static void takes_a_frame_pointer_where_code_does(void **state)
{
    (void)state;
    static const uint8_t code[] = {
        0x55,                   /*  0 push %rbp */
        0x48, 0x89, 0xe5,       /*  1 mov %rsp,%rbp */
        0x48, 0x83, 0xec, 0x20, /*  4 sub $32,%rsp */
        0xc9,                   /*  8 leave */
        0xc3,                   /*  9 ret */
    };
    assert_row(ROW(code, 0), KYMO_ROW_KIND_SP, 8);
    assert_row(ROW(code, 1), KYMO_ROW_KIND_SP, 16);
    assert_row(ROW(code, 4), KYMO_ROW_KIND_FP, 16);
    assert_int_equal(kymo_row_save(ROW(code, 4), KYMO_SLOT_FP), 2);
    assert_row(ROW(code, 9), KYMO_ROW_KIND_SP, 8);
}

static void tells_what_is_the_functions_own(void **state)
{
    (void)state;
    static const uint8_t reloads[] = {
        0x90,                         /*  0 nop */
        0x55,                         /*  1 push %rbp */
        0x48, 0x8b, 0x6c, 0x24, 0x28, /*  2 mov 40(%rsp),%rbp */
        0x5d,                         /*  7 pop %rbp */
        0x48, 0x83, 0xc4, 0x38,       /*  8 add $56,%rsp */
        0xc3,                         /* 12 ret */
    };
    static const uint8_t stores[] = {
        0x90,                         /*  0 nop */
        0x48, 0x89, 0x6c, 0x24, 0x08, /*  1 mov %rbp,8(%rsp) */
        0x31, 0xed,                   /*  6 xor %ebp,%ebp */
        0x48, 0x8b, 0x6c, 0x24, 0x08, /*  8 mov 8(%rsp),%rbp */
        0x48, 0x83, 0xc4, 0x18,       /* 13 add $24,%rsp */
        0xc3,                         /* 17 ret */
    };
    static const uint8_t after_leave[] = {
        0xc9,       /*  0 leave */
        0xeb, 0x01, /*  1 jmp 4 */
        0xf4,       /*  3 hlt */
        0x55,       /*  4 push %rbp */
        0x31, 0xed, /*  5 xor %ebp,%ebp */
        0x5d,       /*  7 pop %rbp */
        0xc3,       /*  8 ret */
    };
    /* More than one base that needs a number, the first of which is far beyond all registers. */
    static const uint8_t bases[] = {
        0x48, 0x89, 0xc4,                         /*  0 mov %rax,%rsp */
        0x48, 0x89, 0xe5,                         /*  3 mov %rsp,%rbp */
        0x48, 0x8b, 0xa5, 0x00, 0x00, 0x00, 0x04, /*  6 mov 0x4000000(%rbp),%rsp */
        0x48, 0x89, 0xec,                         /* 13 mov %rbp,%rsp */
        0xc3,                                     /* 16 ret */
    };
    assert_row(ROW(reloads, 0), KYMO_ROW_KIND_SP, 64);
    assert_int_equal(kymo_row_save(ROW(reloads, 0), KYMO_SLOT_FP), 0);
    assert_int_equal(kymo_row_save(ROW(reloads, 2), KYMO_SLOT_FP), 9);
    assert_int_equal(kymo_row_save(ROW(stores, 0), KYMO_SLOT_FP), 0);
    assert_int_equal(kymo_row_save(ROW(stores, 6), KYMO_SLOT_FP), 3);
    assert_row(ROW(after_leave, 0), KYMO_ROW_KIND_FP, 16);
    assert_int_equal(kymo_row_save(ROW(after_leave, 0), KYMO_SLOT_FP), 2);
    assert_row(ROW(bases, 0), KYMO_ROW_KIND_REGISTER, 8);
    assert_int_equal(kymo_row_register(ROW(bases, 0)), 0);
}

static void goes_round_loops_and_dead_ends(void **state)
{
    (void)state;
    static const uint8_t code[] = {
        0x53,                         /*  0 push %rbx */
        0x74, 0x07,                   /*  1 je 10 */
        0xe8, 0x00, 0x01, 0x00, 0x00, /*  3 call of one that does not return */
        0x66, 0x90,                   /*  8 padding */
        0xeb, 0x02,                   /* 10 jmp 14 */
        0x0f, 0x0b,                   /* 12 ud2 */
        0x75, 0xfa,                   /* 14 jne 10 */
        0xeb, 0x01,                   /* 16 jmp 19 */
        0xf4,                         /* 18 hlt */
        0x5b,                         /* 19 pop %rbx */
        0xc3,                         /* 20 ret */
    };
    assert_row(ROW(code, 0), KYMO_ROW_KIND_SP, 8);
    assert_row(ROW(code, 1), KYMO_ROW_KIND_SP, 16);
    assert_row(ROW(code, 10), KYMO_ROW_KIND_SP, 16);
    assert_int_equal(ROW(code, 3), KYMO_ROW_GAP);
    assert_int_equal(ROW(code, 12), KYMO_ROW_GAP);
    assert_int_equal(ROW(code, 18), KYMO_ROW_GAP);
    /* A call that this is the return address of does not return either. */
    assert_int_equal(row_at(code, sizeof code, 8, true), KYMO_ROW_GAP);
}

static void jumps_to_other_modules_as_if_it_returned(void **state)
{
    (void)state;
    static const uint8_t stub[] = {
        0xf3, 0x0f, 0x1e, 0xfa,                   /*  0 endbr64 */
        0xf2, 0xff, 0x25, 0x10, 0x00, 0x00, 0x00, /*  4 bnd jmp *16(%rip) */
    };
    static const uint8_t first_stub[] = {
        0xff, 0x35, 0x10, 0x00, 0x00, 0x00, /*  0 push 16(%rip) */
        0xff, 0x25, 0x10, 0x00, 0x00, 0x00, /*  6 jmp *16(%rip) */
    };
    static const uint8_t tail_call[] = {
        0x48, 0x83, 0xc4, 0x18,             /*  0 add $24, %rsp */
        0x5b,                               /*  4 pop %rbx */
        0xff, 0x25, 0x10, 0x00, 0x00, 0x00, /*  5 jmp *16(%rip) */
    };
    static const uint8_t table[] = {0xff, 0x24, 0xc5, 0x10,
                                    0x00, 0x00, 0x00}; /* jmp *16(,%rax,8) */
    static const uint8_t slot[] = {0xff, 0x60, 0x10};  /* jmp *16(%rax) */
    assert_row(ROW(stub, 0), KYMO_ROW_KIND_SP, 8);
    assert_row(ROW(stub, 4), KYMO_ROW_KIND_SP, 8);
    assert_row(ROW(tail_call, 0), KYMO_ROW_KIND_SP, 40);
    /* Where it jumps to takes both words off that were pushed. */
    assert_int_equal(ROW(first_stub, 0), KYMO_ROW_GAP);
    assert_int_equal(ROW(table, 0), KYMO_ROW_GAP);
    assert_int_equal(ROW(slot, 0), KYMO_ROW_GAP);
}

/* What boost.context and its like put where the outermost function of a stack would return to. */
static void ends_where_code_can_only_stop(void **state)
{
    (void)state;
    static const uint8_t code[] = {
        0x31, 0xff,                   /*  0 xor %edi, %edi */
        0xe8, 0x00, 0x01, 0x00, 0x00, /*  2 call of one that does not return */
        0xf4,                         /*  7 hlt */
    };
    static const uint8_t aborts[] = {0x31, 0xff, 0xf4}; /* xor %edi, %edi; hlt */
    static const uint8_t may_return[] = {
        0x85, 0xc0, /*  0 test %eax, %eax */
        0x75, 0x01, /*  2 jne 5 */
        0xf4,       /*  4 hlt */
        0xc3,       /*  5 ret */
    };
    assert_int_equal(row_at(code, sizeof code, 0, true), KYMO_ROW_END);
    /* Not of a hlt alone: any data may have one, and a function that aborts has callers. */
    assert_int_equal(row_at(code, sizeof code, 7, true), KYMO_ROW_GAP);
    assert_int_equal(row_at(aborts, sizeof aborts, 0, true), KYMO_ROW_GAP);
    /* What was interrupted there may have been called. */
    assert_int_equal(row_at(code, sizeof code, 0, false), KYMO_ROW_GAP);
    assert_row(row_at(may_return, sizeof may_return, 0, true), KYMO_ROW_KIND_SP, 8);
}

static void says_nothing_of_what_it_does_not_know(void **state)
{
    (void)state;
    static const uint8_t for_ever[] = {0xeb, 0xfe, 0xc3};
    static const uint8_t by_pointer[] = {0xff, 0xe0, 0xc3};        /* jmp *%rax */
    static const uint8_t other_stack[] = {0x48, 0x87, 0xc4, 0xc3}; /* xchg %rax,%rsp */
    static const uint8_t not_code[] = {0x06, 0xc3};                /* no instruction */
    static const uint8_t too_long[] = {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
                                       0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x90, 0xc3};
    static const uint8_t cut[] = {0x48, 0x81}; /* sub of what is not code */
    static uint8_t nops[8192];
    memset(nops, 0x90, sizeof nops);
    nops[sizeof nops - 1] = 0xc3;
    assert_int_equal(ROW(for_ever, 0), KYMO_ROW_GAP);
    assert_int_equal(ROW(by_pointer, 0), KYMO_ROW_GAP);
    assert_int_equal(ROW(other_stack, 0), KYMO_ROW_GAP);
    assert_int_equal(ROW(not_code, 0), KYMO_ROW_GAP);
    assert_int_equal(ROW(too_long, 0), KYMO_ROW_GAP);
    assert_int_equal(ROW(cut, 0), KYMO_ROW_GAP);
    assert_int_equal(ROW(nops, 0), KYMO_ROW_GAP); /* too far */
    assert_row(ROW(nops, sizeof nops - 256), KYMO_ROW_KIND_SP, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_unwind_information_says),
        cmocka_unit_test(counts_what_is_taken_off),
        cmocka_unit_test(finds_the_stack_in_the_stack),
        cmocka_unit_test(finds_the_stack_from_the_frame_pointer),
        cmocka_unit_test(finds_the_stack_in_a_register),
        cmocka_unit_test(takes_a_frame_pointer_where_code_does),
        cmocka_unit_test(tells_what_is_the_functions_own),
        cmocka_unit_test(goes_round_loops_and_dead_ends),
        cmocka_unit_test(jumps_to_other_modules_as_if_it_returned),
        cmocka_unit_test(ends_where_code_can_only_stop),
        cmocka_unit_test(says_nothing_of_what_it_does_not_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
