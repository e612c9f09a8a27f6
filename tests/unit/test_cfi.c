/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-made entries: each instruction, packing, and what is refused. */
#include "unit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "arch/row.h"
#include "unwind/cfi.h"

/* A CIE as gcc writes it (zR, pcrel sdata4; CFA = rsp + 8, ra at CFA - 8) and one FDE behind it
 * with the given instructions, for 256 bytes of code that begin at 0x1000. */
struct section {
    uint8_t bytes[8192];
    size_t size;
    uint64_t fde;
};

#define ADDRESS 0x2000ull

static void put(struct section *s, const void *data, size_t len)
{
    assert_true(s->size + len <= sizeof s->bytes);
    memcpy(s->bytes + s->size, data, len);
    s->size += len;
}

static void put_u32(struct section *s, uint32_t value)
{
    put(s, &value, 4);
}

static const uint8_t cie_head[] = {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b};
static const uint8_t cie_insns[] = {0x0c, 7, 8, 0x90, 1, 0, 0};

static void build(struct section *s, const char *augmentation, const uint8_t *insns, size_t len)
{
    size_t letters = strlen(augmentation);
    s->size = 0;
    put_u32(s, (uint32_t)(4 + sizeof cie_head - 2 + letters + sizeof cie_insns));
    put_u32(s, 0);
    put(s, cie_head, 1);
    put(s, augmentation, letters + 1);
    put(s, cie_head + 4, sizeof cie_head - 4);
    put(s, cie_insns, sizeof cie_insns);
    s->fde = ADDRESS + s->size;
    put_u32(s, (uint32_t)(4 + 4 + 4 + 1 + len));
    put_u32(s, (uint32_t)s->size); /* back to the CIE at 0 */
    put_u32(s, (uint32_t)(0x1000 - (ADDRESS + s->size)));
    put_u32(s, 256);
    put(s, "", 1);
    put(s, insns, len);
}

static struct kymo_cfi_image image_of(const struct section *s)
{
    return (struct kymo_cfi_image){s->bytes, s->size, ADDRESS};
}

static enum kymo_cfi_status row_at(const struct section *s, uint64_t pc, struct kymo_cfi_row *row,
                                   uint32_t budget)
{
    struct kymo_cfi_image image = image_of(s);
    struct kymo_cfi_fde fde;
    struct kymo_cfi_cursor cursor;
    enum kymo_cfi_status status = kymo_cfi_fde_read(&image, s->fde, &fde);
    if (status == KYMO_CFI_FOUND)
        status = kymo_cfi_begin(&cursor, &image, &fde, budget, row);
    return status == KYMO_CFI_FOUND ? kymo_cfi_seek(&cursor, pc) : status;
}

static uint64_t word_at(const struct section *s, uint64_t pc)
{
    struct kymo_cfi_row row;
    struct kymo_cfi_image image = image_of(s);
    assert_int_equal(row_at(s, pc, &row, 1000), KYMO_CFI_FOUND);
    return kymo_row_pack(&row, false, &image);
}

#define BUILD(s, ...)                            \
    do {                                         \
        const uint8_t insns_[] = {__VA_ARGS__};  \
        build((s), "zR", insns_, sizeof insns_); \
    } while (0)

static void usual_prologue(void **state)
{
    static struct section s;
    (void)state;
    /* push rbp; mov rsp, rbp; push rbx ...; leave; ret */
    BUILD(&s, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x44, 0x83, 3, 0x02, 100, 0x0a, 0x0c, 7, 8,
          0x41, 0x0b);
    uint64_t word = word_at(&s, 0x1000);
    assert_int_equal(kymo_row_kind(word), KYMO_ROW_KIND_SP);
    assert_int_equal(kymo_row_offset(word), 8);
    assert_int_equal(kymo_row_save(word, KYMO_SLOT_FP), 0);
    word = word_at(&s, 0x1001);
    assert_int_equal(kymo_row_kind(word), KYMO_ROW_KIND_SP);
    assert_int_equal(kymo_row_offset(word), 16);
    assert_int_equal(kymo_row_save(word, KYMO_SLOT_FP), 2); /* CFA - 16 */
    word = word_at(&s, 0x1004);
    assert_int_equal(kymo_row_kind(word), KYMO_ROW_KIND_FP);
    assert_int_equal(kymo_row_save(word, KYMO_SLOT_RBX), 0);
    word = word_at(&s, 0x1008);
    assert_int_equal(kymo_row_save(word, KYMO_SLOT_RBX), 3);
    word = word_at(&s, 0x1008 + 100);
    assert_int_equal(kymo_row_kind(word), KYMO_ROW_KIND_SP);
    word = word_at(&s, 0x1008 + 101); /* restored */
    assert_int_equal(kymo_row_kind(word), KYMO_ROW_KIND_FP);
    assert_int_equal(word_at(&s, 0x10ff), word);
    struct kymo_cfi_row row;
    assert_int_equal(row_at(&s, 0x1100, &row, 1000), KYMO_CFI_NOT_FOUND);
}

static void visits_all_rows(void **state)
{
    static struct section s;
    struct kymo_cfi_fde fde;
    struct kymo_cfi_cursor cursor;
    struct kymo_cfi_row row;
    const uint64_t ends[] = {0x1001, 0x1004, 0x1100};
    (void)state;
    BUILD(&s, 0x41, 0x0e, 16, 0x43, 0x0e, 24);
    struct kymo_cfi_image image = image_of(&s);
    assert_int_equal(kymo_cfi_fde_read(&image, s.fde, &fde), KYMO_CFI_FOUND);
    assert_int_equal(kymo_cfi_begin(&cursor, &image, &fde, 100, &row), KYMO_CFI_FOUND);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(kymo_cfi_seek(&cursor, cursor.end), KYMO_CFI_FOUND);
        assert_int_equal(cursor.end, ends[i]);
        assert_int_equal(row.cfa_value, 8 * (i + 1));
    }
    assert_int_equal(kymo_cfi_seek(&cursor, cursor.end), KYMO_CFI_NOT_FOUND);
}

static void packed_shapes(void **state)
{
    static struct section s;
    uint64_t word;
    (void)state;
    BUILD(&s, 0x0f, 3, 0x76, 0x78, 0x06); /* CFA = *(rbp - 8) */
    word = word_at(&s, 0x1000);
    assert_int_equal(kymo_row_kind(word), KYMO_ROW_KIND_DEREF);
    assert_int_equal(kymo_row_register(word), 6);
    assert_int_equal(kymo_row_deref_at(word), (uint64_t)-8);
    assert_int_equal(kymo_row_deref_add(word), 0);
    BUILD(&s, 0x0f, 5, 0x77, 0x30, 0x06, 0x23, 0x08); /* CFA = *(rsp + 48) + 8 */
    word = word_at(&s, 0x1000);
    assert_int_equal(kymo_row_deref_at(word), 48);
    assert_int_equal(kymo_row_deref_add(word), 8);
    BUILD(&s, 0x0c, 10, 0, 0x10, 6, 2, 0x76, 0, 0x10, 12, 2, 0x76, 0x70); /* aligned frame, r10 */
    word = word_at(&s, 0x1000);
    assert_int_equal(kymo_row_kind(word), KYMO_ROW_KIND_REGISTER);
    assert_int_equal(kymo_row_register(word), 10);
    assert_true(kymo_row_saves_below_fp(word));
    assert_int_equal(kymo_row_save(word, KYMO_SLOT_FP), 1);
    assert_int_equal(kymo_row_save(word, KYMO_SLOT_R12), 3);
    BUILD(&s, 0x0e, 0xf8, 0xff, 0x1f); /* a frame of almost 512 KiB */
    assert_int_equal(kymo_row_offset(word_at(&s, 0x1000)), 0x7fff8);
    BUILD(&s, 0x0e, 0x80, 0x80, 0x20); /* of 512 KiB: too large for a word */
    assert_int_equal(word_at(&s, 0x1000), KYMO_ROW_INTERPRET);
    BUILD(&s, 0x0e, 0); /* CFA = rsp: not to be mistaken for no row */
    word = word_at(&s, 0x1000);
    assert_int_equal(kymo_row_kind(word), KYMO_ROW_KIND_SP);
    assert_int_equal(kymo_row_offset(word), 0);
    assert_true(word != KYMO_ROW_NONE);
    BUILD(&s, 0x07, 16);
    assert_int_equal(word_at(&s, 0x1000), KYMO_ROW_END);
    BUILD(&s, 0x07, 6);
    assert_int_equal(word_at(&s, 0x1000), KYMO_ROW_INTERPRET);
    BUILD(&s, 0x09, 16, 2); /* ra in rcx */
    assert_int_equal(word_at(&s, 0x1000), KYMO_ROW_INTERPRET);
    BUILD(&s, 0x86, 2, 0x10, 12, 2, 0x76, 0x70); /* one below the CFA, one below rbp */
    assert_int_equal(word_at(&s, 0x1000), KYMO_ROW_INTERPRET);
    BUILD(&s, 0x86, 0xc0, 0x00); /* rbp at CFA - 512 */
    assert_int_equal(word_at(&s, 0x1000), KYMO_ROW_INTERPRET);
    BUILD(&s, 0x86, 0x3f); /* at CFA - 504, as far as it goes */
    assert_int_equal(kymo_row_save(word_at(&s, 0x1000), KYMO_SLOT_FP), 63);
    BUILD(&s, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
    word = word_at(&s, 0x1000);
    assert_int_equal(kymo_row_offset(kymo_row_at_pc(word, 0x100a)), 8);
    assert_int_equal(kymo_row_offset(kymo_row_at_pc(word, 0x100b)), 16);
    assert_int_equal(kymo_row_kind(kymo_row_at_pc(word, 0x100b)), KYMO_ROW_KIND_SP);
}

static void signal_frames(void **state)
{
    static struct section s;
    static const uint8_t trampoline[] = {0x0f, 4, 0x77, 0xa0, 0x01, 0x06};
    struct kymo_cfi_fde fde;
    struct kymo_cfi_row row;
    (void)state;
    build(&s, "zRS", trampoline, sizeof trampoline);
    struct kymo_cfi_image image = image_of(&s);
    assert_int_equal(kymo_cfi_fde_read(&image, s.fde, &fde), KYMO_CFI_FOUND);
    assert_true(fde.signal_frame);
    assert_int_equal(row_at(&s, 0x1000, &row, 100), KYMO_CFI_FOUND);
    assert_int_equal(kymo_row_pack(&row, true, &image), KYMO_ROW_SIGNAL);
    s.bytes[s.size - 3] = 0xa8; /* another offset: not the kernel's frame */
    assert_int_equal(row_at(&s, 0x1000, &row, 100), KYMO_CFI_FOUND);
    assert_int_equal(kymo_row_pack(&row, true, &image), KYMO_ROW_INTERPRET);
}

static void broken(const uint8_t *insns, size_t len)
{
    static struct section s;
    struct kymo_cfi_row row;
    build(&s, "zR", insns, len);
    if (row_at(&s, 0x10f0, &row, 1000) != KYMO_CFI_BROKEN)
        fail_msg("instruction %#x was not refused", insns[0]);
}

#define BROKEN(...)                             \
    do {                                        \
        const uint8_t insns_[] = {__VA_ARGS__}; \
        broken(insns_, sizeof insns_);          \
    } while (0)

static void refused(void **state)
{
    static struct section s;
    struct kymo_cfi_fde fde;
    struct kymo_cfi_row row;
    (void)state;
    BROKEN(0x0b);                         /* nothing to restore */
    BROKEN(0x0a, 0x0a, 0x0a);             /* remembered too deep */
    BROKEN(0x0e);                         /* cut */
    BROKEN(0x0f, 0xff, 0xff, 0x7f);       /* an expression beyond the end */
    BROKEN(0x3c);                         /* unknown instruction */
    BROKEN(0x01, 0x80, 0xef, 0xff, 0xff); /* set_loc backwards */
    BROKEN(0x86, 0x80, 0x80);             /* cut LEB128 */
    BUILD(&s, 0x00);
    struct kymo_cfi_image image = image_of(&s);
    for (uint64_t size = 0; size < s.size; size++) { /* cut anywhere */
        image.size = size;
        assert_int_equal(kymo_cfi_fde_read(&image, s.fde, &fde), KYMO_CFI_BROKEN);
    }
    image.size = s.size;
    assert_int_equal(kymo_cfi_fde_read(&image, s.fde + 4, &fde), KYMO_CFI_BROKEN);
    assert_int_equal(kymo_cfi_fde_read(&image, ADDRESS, &fde), KYMO_CFI_BROKEN); /* a CIE */
    assert_int_equal(kymo_cfi_fde_read(&image, 0, &fde), KYMO_CFI_BROKEN);
    build(&s, "zRx", (const uint8_t *)"", 1); /* an unknown letter */
    image = image_of(&s);
    assert_int_equal(kymo_cfi_fde_read(&image, s.fde, &fde), KYMO_CFI_BROKEN);
    /* More instructions than the budget. */
    uint8_t many[3000];
    memset(many, 0, sizeof many);
    build(&s, "zR", many, sizeof many);
    assert_int_equal(row_at(&s, 0x1000, &row, 4000), KYMO_CFI_FOUND);
    assert_int_equal(row_at(&s, 0x1000, &row, 2000), KYMO_CFI_BROKEN);
    assert_int_equal(row_at(&s, 0x1000, &row, 0), KYMO_CFI_BROKEN);
}

static void search_table(void **state)
{
    struct {
        uint8_t head[4];
        int32_t eh_frame;
        uint32_t count;
        int32_t pairs[8];
    } hdr = {{1, 0x1b, 0x03, 0x3b}, 100, 4, {-400, 1, -300, 2, -200, 3, -100, 4}};
    struct kymo_cfi_image image = {(const uint8_t *)&hdr, sizeof hdr, 0x5000};
    struct kymo_cfi_index index;
    (void)state;
    assert_int_equal(kymo_cfi_index_open(&image, 0x5000, &index), KYMO_CFI_FOUND);
    assert_int_equal(index.count, 4);
    assert_int_equal(kymo_cfi_index_search(&index, 0x5000 - 401), 4);
    assert_int_equal(kymo_cfi_index_search(&index, 0x5000 - 400), 0);
    assert_int_equal(kymo_cfi_index_search(&index, 0x5000 - 201), 1);
    assert_int_equal(kymo_cfi_index_search(&index, 0x5000 - 200), 2);
    assert_int_equal(kymo_cfi_index_search(&index, UINT64_MAX), 3);
    assert_int_equal(kymo_cfi_index_fde(&index, 2), 0x5003);
    hdr.count = 5; /* more than there are */
    assert_int_equal(kymo_cfi_index_open(&image, 0x5000, &index), KYMO_CFI_BROKEN);
    hdr.count = 0;
    assert_int_equal(kymo_cfi_index_open(&image, 0x5000, &index), KYMO_CFI_FOUND);
    assert_int_equal(kymo_cfi_index_search(&index, 0x5000), 0);
    hdr.head[3] = 0x1b;
    assert_int_equal(kymo_cfi_index_open(&image, 0x5000, &index), KYMO_CFI_BROKEN);
    hdr.head[3] = 0x3b;
    hdr.head[0] = 2;
    assert_int_equal(kymo_cfi_index_open(&image, 0x5000, &index), KYMO_CFI_BROKEN);
    assert_int_equal(kymo_cfi_index_open(&image, 0x4000, &index), KYMO_CFI_BROKEN);
    assert_int_equal(kymo_cfi_index_open(&image, 0x6000, &index), KYMO_CFI_BROKEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_prologue), cmocka_unit_test(visits_all_rows),
        cmocka_unit_test(packed_shapes),  cmocka_unit_test(signal_frames),
        cmocka_unit_test(refused),        cmocka_unit_test(search_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
