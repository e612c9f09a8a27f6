/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one interpreter of call frame information, for handlers and for the builder of row tables.
 *
 * It is a cursor and not a loop with a callback: a handler seeks the row of one pc and stops there,
 * the builder seeks the end of each row in turn, and both run the same instructions in the same
 * order. A row keeps the rules of few registers only, with 32-bit values, so that a cursor with
 * all its remembered states is under 400 bytes of a handler's stack; rules of registers that no
 * caller can need (those that a call destroys) are read over.
 */
#include "unwind/cfi.h"

#include "base/search.h"

enum { /* DW_EH_PE_*: format in the low half, application above */
       PE_ABSPTR = 0x00,
       PE_ULEB128 = 0x01,
       PE_UDATA2 = 0x02,
       PE_UDATA4 = 0x03,
       PE_UDATA8 = 0x04,
       PE_SLEB128 = 0x09,
       PE_SDATA2 = 0x0a,
       PE_SDATA4 = 0x0b,
       PE_SDATA8 = 0x0c,
       PE_FORMAT = 0x0f,
       PE_PCREL = 0x10,
       PE_DATAREL = 0x30,
       PE_APPLICATION = 0x70,
       PE_INDIRECT = 0x80,
       PE_OMIT = 0xff,
};

enum { /* DW_CFA_* */
       CFA_ADVANCE_LOC = 0x40,
       CFA_OFFSET = 0x80,
       CFA_RESTORE = 0xc0,
       CFA_NOP = 0x00,
       CFA_SET_LOC = 0x01,
       CFA_ADVANCE_LOC1 = 0x02,
       CFA_ADVANCE_LOC2 = 0x03,
       CFA_ADVANCE_LOC4 = 0x04,
       CFA_OFFSET_EXTENDED = 0x05,
       CFA_RESTORE_EXTENDED = 0x06,
       CFA_UNDEFINED = 0x07,
       CFA_SAME_VALUE = 0x08,
       CFA_REGISTER = 0x09,
       CFA_REMEMBER_STATE = 0x0a,
       CFA_RESTORE_STATE = 0x0b,
       CFA_DEF_CFA = 0x0c,
       CFA_DEF_CFA_REGISTER = 0x0d,
       CFA_DEF_CFA_OFFSET = 0x0e,
       CFA_DEF_CFA_EXPRESSION = 0x0f,
       CFA_EXPRESSION = 0x10,
       CFA_OFFSET_EXTENDED_SF = 0x11,
       CFA_DEF_CFA_SF = 0x12,
       CFA_DEF_CFA_OFFSET_SF = 0x13,
       CFA_VAL_OFFSET = 0x14,
       CFA_VAL_OFFSET_SF = 0x15,
       CFA_VAL_EXPRESSION = 0x16,
       CFA_GNU_ARGS_SIZE = 0x2e,
       CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

static kymo_reader image_span(const struct kymo_cfi_image *image, uint64_t begin, uint64_t end)
{
    return kymo_reader_part(image->data, image->size, begin, end);
}

static uint32_t span_offset(const struct kymo_cfi_image *image, const kymo_reader *s)
{
    return (uint32_t)(s->at - image->data);
}

/* A pointer as DW_EH_PE_* says; fails for what is not supported. Pointers through memory
 * (indirect) occur only for personality routines, which are skipped. */
static uint64_t span_encoded(kymo_reader *s, const struct kymo_cfi_image *image, uint8_t encoding,
                             uint64_t data_base)
{
    uint64_t position = image->address + span_offset(image, s);
    uint64_t value;
    switch (encoding & PE_FORMAT) {
    case PE_ABSPTR:
    case PE_UDATA8:
    case PE_SDATA8:
        value = kymo_read_uint(s, 8);
        break;
    case PE_ULEB128:
        value = kymo_read_uleb(s);
        break;
    case PE_UDATA2:
        value = kymo_read_uint(s, 2);
        break;
    case PE_UDATA4:
        value = kymo_read_uint(s, 4);
        break;
    case PE_SLEB128:
        value = (uint64_t)kymo_read_sleb(s);
        break;
    case PE_SDATA2:
        value = (uint64_t)kymo_read_int(s, 2);
        break;
    case PE_SDATA4:
        value = (uint64_t)kymo_read_int(s, 4);
        break;
    default:
        kymo_reader_fail(s);
        return 0;
    }
    switch (encoding & (PE_APPLICATION | PE_INDIRECT)) {
    case 0:
        return value;
    case PE_PCREL:
        return position + value;
    case PE_DATAREL:
        return data_base + value;
    default:
        kymo_reader_fail(s);
        return 0;
    }
}

enum kymo_cfi_status kymo_cfi_index_open(const struct kymo_cfi_image *image, uint64_t hdr_address,
                                         struct kymo_cfi_index *index)
{
    kymo_reader s = image_span(image, hdr_address - image->address, image->size);
    uint8_t version = kymo_read_u8(&s);
    uint8_t frame_encoding = kymo_read_u8(&s);
    uint8_t count_encoding = kymo_read_u8(&s);
    uint8_t table_encoding = kymo_read_u8(&s);
    if (s.failed || version != 1 || count_encoding == PE_OMIT ||
        table_encoding != (PE_DATAREL | PE_SDATA4))
        return KYMO_CFI_BROKEN;
    if (frame_encoding != PE_OMIT)
        (void)span_encoded(&s, image, frame_encoding, hdr_address);
    uint64_t count = span_encoded(&s, image, count_encoding, hdr_address);
    if (s.failed || count > kymo_reader_left(&s) / 8)
        return KYMO_CFI_BROKEN;
    index->table = s.at;
    index->hdr_address = hdr_address;
    index->count = (uint32_t)count;
    return KYMO_CFI_FOUND;
}

uint32_t kymo_cfi_index_search(const struct kymo_cfi_index *index, uint64_t pc)
{
    size_t n = KYMO_COUNT_WHERE(i, index->count, kymo_cfi_index_pc(index, (uint32_t)i) <= pc);
    return n ? (uint32_t)n - 1 : index->count;
}

/* The span of the entry (CIE or FDE) at this image offset, without its length field. */
static kymo_reader entry_span(const struct kymo_cfi_image *image, uint64_t offset)
{
    kymo_reader s = image_span(image, offset, image->size);
    uint64_t length = kymo_read_uint(&s, 4);
    /* 0 ends a section; 0xffffffff begins a 64-bit entry, which no linker writes into .eh_frame. */
    if (length == 0 || length == 0xffffffffu || length > kymo_reader_left(&s))
        s.failed = true;
    else
        s.end = s.at + length;
    return s;
}

/* Reads the CIE's augmentation ("zRS", say); s is behind the return address column. */
static enum kymo_cfi_status read_augmentation(kymo_reader *s, kymo_reader text,
                                              const struct kymo_cfi_image *image,
                                              struct kymo_cfi_fde *fde, bool *has_length)
{
    *has_length = text.at < text.end && *text.at == 'z';
    if (!*has_length)
        return text.at == text.end ? KYMO_CFI_FOUND : KYMO_CFI_BROKEN;
    uint64_t length = kymo_read_uleb(s);
    if (s->failed || length > kymo_reader_left(s))
        return KYMO_CFI_BROKEN;
    kymo_reader data = {.at = s->at, .end = s->at + length};
    s->at += length;
    for (const uint8_t *c = text.at + 1; c < text.end; c++) {
        switch (*c) {
        case 'R':
            fde->pointer_encoding = kymo_read_u8(&data);
            break;
        case 'P': {
            uint8_t encoding = kymo_read_u8(&data) & (uint8_t)~PE_INDIRECT;
            (void)span_encoded(&data, image, encoding, 0);
            break;
        }
        case 'L':
            (void)kymo_read_u8(&data);
            break;
        case 'S':
            fde->signal_frame = true;
            break;
        default: /* the meaning of an unknown letter is not known, nor how long its data is */
            return KYMO_CFI_BROKEN;
        }
    }
    return data.failed ? KYMO_CFI_BROKEN : KYMO_CFI_FOUND;
}

/* Compilers write 5 letters at most ("zPLRS"). Each FDE reads its CIE's again. */
#define AUGMENTATION_MOST 8

static enum kymo_cfi_status read_cie(const struct kymo_cfi_image *image, uint64_t offset,
                                     struct kymo_cfi_fde *fde, bool *has_length)
{
    kymo_reader s = entry_span(image, offset);
    uint64_t id = kymo_read_uint(&s, 4);
    uint8_t version = kymo_read_u8(&s);
    kymo_reader text = {.at = s.at, .end = s.at};
    while (text.end - text.at <= AUGMENTATION_MOST && kymo_read_u8(&s) != 0)
        text.end = s.at;
    uint64_t code_align = kymo_read_uleb(&s);
    int64_t data_align = kymo_read_sleb(&s);
    uint64_t ra_column = version == 1 ? kymo_read_u8(&s) : kymo_read_uleb(&s);
    if (s.failed || text.end - text.at > AUGMENTATION_MOST || id != 0 ||
        (version != 1 && version != 3) || ra_column != KYMO_REG_RA || code_align > UINT16_MAX ||
        data_align > INT16_MAX || data_align < INT16_MIN)
        return KYMO_CFI_BROKEN;
    fde->code_align = (uint32_t)code_align;
    fde->data_align = (int32_t)data_align;
    fde->pointer_encoding = PE_ABSPTR;
    fde->signal_frame = false;
    enum kymo_cfi_status status = read_augmentation(&s, text, image, fde, has_length);
    fde->cie_insns = span_offset(image, &s);
    fde->cie_insns_end = (uint32_t)(s.end - image->data);
    return status;
}

enum kymo_cfi_status kymo_cfi_fde_read(const struct kymo_cfi_image *image, uint64_t address,
                                       struct kymo_cfi_fde *fde)
{
    uint64_t offset = address - image->address;
    kymo_reader s = entry_span(image, offset);
    uint64_t cie_distance = kymo_read_uint(&s, 4); /* from this field back to the CIE */
    bool has_length = false;
    if (s.failed || cie_distance == 0 || cie_distance > offset + 4 ||
        read_cie(image, offset + 4 - cie_distance, fde, &has_length) != KYMO_CFI_FOUND)
        return KYMO_CFI_BROKEN;
    if ((fde->pointer_encoding & PE_APPLICATION) == PE_DATAREL) /* relative to what is not said */
        return KYMO_CFI_BROKEN;
    fde->pc_begin = span_encoded(&s, image, fde->pointer_encoding, 0);
    uint64_t length = span_encoded(&s, image, fde->pointer_encoding & PE_FORMAT, 0);
    fde->pc_end = fde->pc_begin + length;
    if (has_length) {
        uint64_t augmentation = kymo_read_uleb(&s);
        kymo_reader_skip(&s, augmentation);
    }
    if (s.failed || fde->pc_end < fde->pc_begin)
        return KYMO_CFI_BROKEN;
    fde->insns = span_offset(image, &s);
    fde->insns_end = (uint32_t)(s.end - image->data);
    return KYMO_CFI_FOUND;
}

static void set_rule(struct kymo_cfi_row *row, uint64_t reg, uint8_t rule, int64_t value)
{
    int slot = kymo_slot_of(reg);
    if (slot < 0)
        return;
    if (value > INT32_MAX || value < INT32_MIN)
        rule = KYMO_RULE_UNSUPPORTED;
    row->rule[slot] = rule;
    row->value[slot] = (int32_t)value;
}

static void set_cfa(struct kymo_cfi_row *row, uint8_t kind, uint64_t reg, int64_t value)
{
    if (reg >= KYMO_REG_COUNT || value > INT32_MAX || value < INT32_MIN)
        kind = KYMO_CFA_UNSUPPORTED;
    row->cfa_kind = kind;
    row->cfa_register = (uint8_t)reg;
    row->cfa_value = (int32_t)value;
}

/* Factored offsets of a broken entry may be anything; the product must not overflow. */
static int64_t factored(const struct kymo_cfi_fde *fde, int64_t value)
{
    if (value > INT32_MAX || value < INT32_MIN)
        return INT64_MAX; /* set_rule and set_cfa call it unsupported */
    return value * fde->data_align;
}

static int64_t unsigned_offset(uint64_t value)
{
    return value > INT32_MAX ? INT64_MAX : (int64_t)value;
}

/* Reads over an expression and gives the image offset of its length. */
static int64_t take_expression(kymo_reader *s, const struct kymo_cfi_image *image)
{
    uint32_t offset = span_offset(image, s);
    uint64_t length = kymo_read_uleb(s);
    kymo_reader_skip(s, length);
    return offset;
}

/* Runs one instruction that changes the row. */
static void change_row(struct kymo_cfi_cursor *c, kymo_reader *s, uint8_t op)
{
    const struct kymo_cfi_fde *fde = c->fde;
    struct kymo_cfi_row *row = c->row;
    uint64_t reg;
    switch (op & 0xc0) {
    case CFA_OFFSET:
        set_rule(row, op & 0x3f, KYMO_RULE_AT_CFA,
                 factored(fde, unsigned_offset(kymo_read_uleb(s))));
        return;
    case CFA_RESTORE:
        reg = op & 0x3f;
        goto restore;
    default:
        break;
    }
    switch (op) {
    case CFA_NOP:
        break;
    case CFA_OFFSET_EXTENDED:
        reg = kymo_read_uleb(s);
        set_rule(row, reg, KYMO_RULE_AT_CFA, factored(fde, unsigned_offset(kymo_read_uleb(s))));
        break;
    case CFA_OFFSET_EXTENDED_SF:
        reg = kymo_read_uleb(s);
        set_rule(row, reg, KYMO_RULE_AT_CFA, factored(fde, kymo_read_sleb(s)));
        break;
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        reg = kymo_read_uleb(s);
        set_rule(row, reg, KYMO_RULE_AT_CFA, -factored(fde, unsigned_offset(kymo_read_uleb(s))));
        break;
    case CFA_VAL_OFFSET:
        reg = kymo_read_uleb(s);
        set_rule(row, reg, KYMO_RULE_CFA_PLUS, factored(fde, unsigned_offset(kymo_read_uleb(s))));
        break;
    case CFA_VAL_OFFSET_SF:
        reg = kymo_read_uleb(s);
        set_rule(row, reg, KYMO_RULE_CFA_PLUS, factored(fde, kymo_read_sleb(s)));
        break;
    case CFA_RESTORE_EXTENDED:
        reg = kymo_read_uleb(s);
    restore : {
        int slot = kymo_slot_of(reg);
        if (slot >= 0) {
            row->rule[slot] = c->initial.rule[slot];
            row->value[slot] = c->initial.value[slot];
        }
        break;
    }
    case CFA_UNDEFINED:
        set_rule(row, kymo_read_uleb(s), KYMO_RULE_UNDEFINED, 0);
        break;
    case CFA_SAME_VALUE:
        set_rule(row, kymo_read_uleb(s), KYMO_RULE_SAME, 0);
        break;
    case CFA_REGISTER: {
        reg = kymo_read_uleb(s);
        uint64_t from = kymo_read_uleb(s);
        set_rule(row, reg, from < KYMO_REG_COUNT ? KYMO_RULE_REGISTER : KYMO_RULE_UNSUPPORTED,
                 (int64_t)(from % KYMO_REG_COUNT));
        break;
    }
    case CFA_EXPRESSION:
        reg = kymo_read_uleb(s);
        set_rule(row, reg, KYMO_RULE_AT_EXPR, take_expression(s, c->image));
        break;
    case CFA_VAL_EXPRESSION:
        reg = kymo_read_uleb(s);
        set_rule(row, reg, KYMO_RULE_EXPR, take_expression(s, c->image));
        break;
    case CFA_DEF_CFA:
        reg = kymo_read_uleb(s);
        set_cfa(row, KYMO_CFA_REGISTER, reg, unsigned_offset(kymo_read_uleb(s)));
        break;
    case CFA_DEF_CFA_SF:
        reg = kymo_read_uleb(s);
        set_cfa(row, KYMO_CFA_REGISTER, reg, factored(fde, kymo_read_sleb(s)));
        break;
    case CFA_DEF_CFA_REGISTER:
        set_cfa(row, KYMO_CFA_REGISTER, kymo_read_uleb(s),
                row->cfa_kind == KYMO_CFA_REGISTER ? row->cfa_value : INT64_MAX);
        break;
    case CFA_DEF_CFA_OFFSET:
        set_cfa(row, row->cfa_kind == KYMO_CFA_REGISTER ? KYMO_CFA_REGISTER : KYMO_CFA_UNSUPPORTED,
                row->cfa_register, unsigned_offset(kymo_read_uleb(s)));
        break;
    case CFA_DEF_CFA_OFFSET_SF:
        set_cfa(row, row->cfa_kind == KYMO_CFA_REGISTER ? KYMO_CFA_REGISTER : KYMO_CFA_UNSUPPORTED,
                row->cfa_register, factored(fde, kymo_read_sleb(s)));
        break;
    case CFA_DEF_CFA_EXPRESSION:
        set_cfa(row, KYMO_CFA_EXPR, 0, take_expression(s, c->image));
        break;
    case CFA_REMEMBER_STATE:
        if (c->states < KYMO_CFI_STATES)
            c->state[c->states++] = *row;
        else
            kymo_reader_fail(s);
        break;
    case CFA_RESTORE_STATE:
        if (c->states > 0)
            *row = c->state[--c->states];
        else
            kymo_reader_fail(s);
        break;
    case CFA_GNU_ARGS_SIZE:
        (void)kymo_read_uleb(s);
        break;
    default: /* an instruction of another machine, or a newer one */
        kymo_reader_fail(s);
        break;
    }
}

/* The location that an advancing instruction leads to; *pc unchanged for any other. */
static bool advance(struct kymo_cfi_cursor *c, kymo_reader *s, uint8_t op, uint64_t *pc)
{
    uint64_t delta;
    if ((op & 0xc0) == CFA_ADVANCE_LOC) {
        delta = op & 0x3f;
    } else {
        switch (op) {
        case CFA_ADVANCE_LOC1:
            delta = kymo_read_u8(s);
            break;
        case CFA_ADVANCE_LOC2:
            delta = kymo_read_uint(s, 2);
            break;
        case CFA_ADVANCE_LOC4:
            delta = kymo_read_uint(s, 4);
            break;
        case CFA_SET_LOC: {
            uint64_t to = span_encoded(s, c->image, c->fde->pointer_encoding, 0);
            if (to < *pc)
                kymo_reader_fail(s);
            *pc = to;
            return true;
        }
        default:
            return false;
        }
    }
    *pc += delta * c->fde->code_align; /* at most 2^48: no overflow in a canonical address */
    return true;
}

enum kymo_cfi_status kymo_cfi_begin(struct kymo_cfi_cursor *c, const struct kymo_cfi_image *image,
                                    const struct kymo_cfi_fde *fde, uint32_t budget,
                                    struct kymo_cfi_row *row)
{
    c->image = image;
    c->fde = fde;
    c->begin = c->end = fde->pc_begin;
    c->budget = budget;
    c->states = 0;
    c->row = row;
    *row = (struct kymo_cfi_row){0};
    c->initial = *row;
    kymo_reader s = image_span(image, fde->cie_insns, fde->cie_insns_end);
    while (s.at < s.end) {
        uint8_t op = kymo_read_u8(&s);
        if (c->budget-- == 0) {
            c->budget = 0;
            return KYMO_CFI_BROKEN;
        }
        change_row(c, &s, op); /* a CIE has no location: advancing in it is broken, too */
        if (s.failed)
            return KYMO_CFI_BROKEN;
    }
    c->initial = *row;
    c->states = 0;
    c->at = fde->insns;
    return s.failed ? KYMO_CFI_BROKEN : KYMO_CFI_FOUND;
}

enum kymo_cfi_status kymo_cfi_seek(struct kymo_cfi_cursor *c, uint64_t pc)
{
    kymo_reader s = image_span(c->image, c->at, c->fde->insns_end);
    if (pc >= c->fde->pc_end)
        return KYMO_CFI_NOT_FOUND;
    c->begin = c->end;
    while (s.at < s.end) {
        uint8_t op = kymo_read_u8(&s);
        if (c->budget == 0)
            return KYMO_CFI_BROKEN;
        c->budget--;
        uint64_t location = c->begin;
        if (!advance(c, &s, op, &location)) {
            change_row(c, &s, op);
            if (s.failed)
                return KYMO_CFI_BROKEN;
            continue;
        }
        if (s.failed || location < c->begin)
            return KYMO_CFI_BROKEN;
        if (location > pc) {
            c->end = location < c->fde->pc_end ? location : c->fde->pc_end;
            c->at = span_offset(c->image, &s);
            return KYMO_CFI_FOUND;
        }
        c->begin = location;
    }
    if (s.failed)
        return KYMO_CFI_BROKEN;
    c->end = c->fde->pc_end;
    c->at = c->fde->insns_end;
    return KYMO_CFI_FOUND;
}

kymo_reader kymo_cfi_expression(const struct kymo_cfi_image *image, int32_t offset)
{
    kymo_reader s = image_span(image, (uint64_t)(int64_t)offset, image->size);
    uint64_t length = kymo_read_uleb(&s);
    if (s.failed || length > kymo_reader_left(&s))
        return (kymo_reader){.at = image->data, .end = image->data, .failed = true};
    s.end = s.at + length;
    return s;
}
