/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a segment with a .eh_frame_hdr and a .eh_frame, and pcs to look up: 4 bytes of head
 * {uint16_t offset of .eh_frame_hdr, uint16_t seed}, then the bytes. Every lookup stays in the
 * bytes, is bounded, and gives the same row by seeking as by visiting all rows; the row is packed
 * and its expressions are evaluated.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arch/row.h"
#include "unwind/cfi.h"
#include "unwind/expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define ADDRESS 0x555500000000ull
#define BUDGET 16384u

static void check(int condition)
{
    if (!condition)
        abort();
}

/* Evaluates what an unpacked row may hold, on a small stack. */
static void evaluate(const struct kymo_cfi_row *row, const struct kymo_cfi_image *image)
{
    static const uint64_t stack[32] = {ADDRESS, 8, 16};
    uint64_t gpr[16];
    for (unsigned i = 0; i < 16; i++)
        gpr[i] = (uint64_t)(uintptr_t)(stack + i);
    struct kymo_expr_regs regs = {.ip = ADDRESS, .gpr = gpr, .known = 0x7fff};
    struct kymo_stack_window window = {.own_lo = (uint64_t)(uintptr_t)stack,
                                       .own_hi = (uint64_t)(uintptr_t)(stack + 32)};
    uint64_t value = 0;
    uint64_t cfa = (uint64_t)(uintptr_t)(stack + 8);
    if (row->cfa_kind == KYMO_CFA_EXPR)
        (void)kymo_expr_eval(kymo_cfi_expression(image, row->cfa_value), &regs, &window, NULL,
                             &value);
    for (unsigned slot = 0; slot < KYMO_SLOT_COUNT; slot++)
        if (row->rule[slot] == KYMO_RULE_EXPR || row->rule[slot] == KYMO_RULE_AT_EXPR)
            (void)kymo_expr_eval(kymo_cfi_expression(image, row->value[slot]), &regs, &window, &cfa,
                                 &value);
}

static void look_up(const struct kymo_cfi_image *image, const struct kymo_cfi_fde *fde, uint64_t pc)
{
    struct kymo_cfi_cursor cursor;
    struct kymo_cfi_row row;
    if (kymo_cfi_begin(&cursor, image, fde, BUDGET, &row) != KYMO_CFI_FOUND ||
        kymo_cfi_seek(&cursor, pc) != KYMO_CFI_FOUND)
        return;
    check(pc < fde->pc_end && cursor.begin <= pc && pc < cursor.end);
    uint64_t word = kymo_row_pack(&row, fde->signal_frame, image);
    evaluate(&row, image);
    /* By visiting: the row that holds at pc is the same. */
    struct kymo_cfi_cursor visitor;
    struct kymo_cfi_row visited;
    check(kymo_cfi_begin(&visitor, image, fde, BUDGET, &visited) == KYMO_CFI_FOUND);
    do
        check(kymo_cfi_seek(&visitor, visitor.end) == KYMO_CFI_FOUND);
    while (visitor.end <= pc);
    check(kymo_row_pack(&visited, fde->signal_frame, image) == word);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    uint16_t head[2];
    struct kymo_cfi_index index;
    struct kymo_cfi_fde fde;
    if (len < sizeof head || len > 1 << 16)
        return 0;
    memcpy(head, data, sizeof head);
    /* A copy of exactly the size, so that a sanitizer sees the first byte read beyond it. */
    size_t size = len - sizeof head;
    uint8_t *bytes = malloc(size ? size : 1);
    if (!bytes)
        return 0;
    memcpy(bytes, data + sizeof head, size);
    struct kymo_cfi_image image = {.data = bytes, .size = size, .address = ADDRESS};
    /* Entries on their own, wherever the input says. */
    if (kymo_cfi_fde_read(&image, ADDRESS + head[1], &fde) == KYMO_CFI_FOUND)
        look_up(&image, &fde, fde.pc_begin);
    if (kymo_cfi_index_open(&image, ADDRESS + head[0], &index) == KYMO_CFI_FOUND) {
        uint32_t step = index.count / 16 + 1;
        for (uint32_t i = 0; i < index.count; i += step) {
            uint64_t pc = kymo_cfi_index_pc(&index, i) + head[1] % 64;
            uint32_t at = kymo_cfi_index_search(&index, pc);
            if (at < index.count &&
                kymo_cfi_fde_read(&image, kymo_cfi_index_fde(&index, at), &fde) == KYMO_CFI_FOUND &&
                pc >= fde.pc_begin && pc < fde.pc_end)
                look_up(&image, &fde, pc);
        }
    }
    free(bytes);
    return 0;
}
