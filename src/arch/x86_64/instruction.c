/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/instruction.h"

#include <string.h>

/* What follows an opcode. */
enum {
    MODRM = 1,
    IMM8 = 2,
    IMM16 = 4,
    IMM32 = 8,    /* two bytes with the prefix 66 */
    REL32 = 16,   /* four, whatever the prefixes */
    IMM64 = 32,   /* four without REX.W, two with 66 */
    ADDRESS = 64, /* eight; four with 67 */
    BAD = 128,
};

static unsigned form_of_one_byte(uint8_t op)
{
    /* clang-format off */
    static const uint8_t high[128] = {
        /* 80 */ MODRM | IMM8, MODRM | IMM32, BAD, MODRM | IMM8, MODRM, MODRM, MODRM, MODRM,
        /* 88 */ MODRM, MODRM, MODRM, MODRM, MODRM, MODRM, MODRM, MODRM,
        /* 90 */ 0, 0, 0, 0, 0, 0, 0, 0,
        /* 98 */ 0, 0, BAD, 0, 0, 0, 0, 0,
        /* a0 */ ADDRESS, ADDRESS, ADDRESS, ADDRESS, 0, 0, 0, 0,
        /* a8 */ IMM8, IMM32, 0, 0, 0, 0, 0, 0,
        /* b0 */ IMM8, IMM8, IMM8, IMM8, IMM8, IMM8, IMM8, IMM8,
        /* b8 */ IMM64, IMM64, IMM64, IMM64, IMM64, IMM64, IMM64, IMM64,
        /* c0 */ MODRM | IMM8, MODRM | IMM8, IMM16, 0, BAD, BAD, MODRM | IMM8, MODRM | IMM32,
        /* c8 */ IMM16 | IMM8, 0, IMM16, 0, 0, IMM8, BAD, 0,
        /* d0 */ MODRM, MODRM, MODRM, MODRM, BAD, BAD, BAD, 0,
        /* d8 */ MODRM, MODRM, MODRM, MODRM, MODRM, MODRM, MODRM, MODRM,
        /* e0 */ IMM8, IMM8, IMM8, IMM8, IMM8, IMM8, IMM8, IMM8,
        /* e8 */ REL32, REL32, BAD, IMM8, 0, 0, 0, 0,
        /* f0 */ BAD, 0, BAD, BAD, 0, 0, MODRM, MODRM,
        /* f8 */ 0, 0, 0, 0, 0, 0, MODRM, MODRM,
    };
    /* clang-format on */
    if (op >= 0x80)
        return high[op - 0x80];
    if (op < 0x40) {
        unsigned low = op & 7;
        return low < 4 ? MODRM : low == 4 ? IMM8 : low == 5 ? IMM32 : BAD;
    }
    if (op < 0x60)
        return 0;
    if (op >= 0x70)
        return IMM8;
    switch (op) {
    case 0x63:
        return MODRM;
    case 0x68:
        return IMM32;
    case 0x69:
        return MODRM | IMM32;
    case 0x6a:
        return IMM8;
    case 0x6b:
        return MODRM | IMM8;
    case 0x6c ... 0x6f:
        return 0;
    default:
        return BAD;
    }
}

static unsigned form_of_0f(uint8_t op)
{
    switch (op) {
    case 0x04:
    case 0x0a:
    case 0x0c:
    case 0x24 ... 0x27:
    case 0x36:
    case 0x39:
    case 0x3b ... 0x3f:
    case 0x78: /* of AMD with two immediates, of virtual machines */
    case 0x79:
    case 0xa6:
    case 0xa7:
        return BAD;
    case 0x05 ... 0x09:
    case 0x0b:
    case 0x0e:
    case 0x30 ... 0x35:
    case 0x37:
    case 0x77:
    case 0xa0 ... 0xa2:
    case 0xa8 ... 0xaa:
    case 0xc8 ... 0xcf:
        return 0;
    case 0x80 ... 0x8f:
        return REL32;
    case 0x0f: /* 3DNow!: the opcode is the last byte */
    case 0x70 ... 0x73:
    case 0xa4:
    case 0xac:
    case 0xba:
    case 0xc2:
    case 0xc4 ... 0xc6:
        return MODRM | IMM8;
    default:
        return MODRM;
    }
}

/* With a prefix that holds the map's number. */
static unsigned form_of_vector(unsigned map, uint8_t op)
{
    switch (map) {
    case 1:
        if (op == 0x77) /* vzeroupper */
            return 0;
        return (op >= 0x70 && op <= 0x73) || op == 0xc2 || (op >= 0xc4 && op <= 0xc6) ? MODRM | IMM8
                                                                                      : MODRM;
    case 2:
    case 5:
    case 6:
    case 9: /* XOP */
        return MODRM;
    case 3:
    case 8: /* XOP */
        return MODRM | IMM8;
    case 10: /* XOP */
        return MODRM | IMM32;
    default:
        return BAD;
    }
}

/* ModRM, SIB and the displacement; the number of bytes. */
static unsigned read_operands(const uint8_t *at, unsigned rex, struct kymo_instruction *out)
{
    unsigned length = 1;
    unsigned base = at[0] & 7;
    unsigned has_sib;
    out->has_modrm = true;
    out->mod = at[0] >> 6;
    out->reg = (uint8_t)((at[0] >> 3 & 7) | (rex & 4) << 1);
    has_sib = out->mod != 3 && base == 4;
    out->is_plain = out->mod != 3;
    if (has_sib) {
        /* An index of 4 without REX.X is none. */
        out->is_plain = (at[1] >> 3 & 7) == 4 && !(rex & 2);
        base = at[1] & 7;
        length++;
    }
    out->rm = (uint8_t)(base | (rex & 1) << 3);
    if (out->mod == 0 && base == 5) {
        out->is_plain = false;
        out->is_from_pc = !has_sib; /* else from nothing */
        memcpy(&out->displacement, at + length, 4);
        return length + 4;
    }
    if (out->mod == 1)
        out->displacement = (int8_t)at[length];
    if (out->mod == 2)
        memcpy(&out->displacement, at + length, 4);
    return length + (out->mod == 1 ? 1 : out->mod == 2 ? 4 : 0);
}

static unsigned read_immediate(const uint8_t *at, unsigned form, bool has_67,
                               struct kymo_instruction *out)
{
    int16_t two;
    switch (form & ~(unsigned)MODRM) {
    case IMM8:
        out->immediate = (int8_t)at[0];
        return 1;
    case IMM16:
        return 2;
    case IMM16 | IMM8:
        return 3;
    case IMM64:
        if (out->is_wide)
            return 8;
        return out->is_short ? 2 : 4;
    case ADDRESS:
        return has_67 ? 4 : 8;
    case IMM32:
        if (out->is_short) {
            memcpy(&two, at, 2);
            out->immediate = two;
            return 2;
        }
        memcpy(&out->immediate, at, 4);
        return 4;
    case REL32:
        memcpy(&out->immediate, at, 4);
        return 4;
    default:
        return 0;
    }
}

/* A VEX, EVEX or XOP prefix at `at`; the number of its bytes, 0: there is none. *rex: its R, X and
 * B as those of a REX prefix, of which only the operand's form is asked. */
static unsigned read_vector_prefix(const uint8_t *at, unsigned *map, unsigned *rex)
{
    switch (at[0]) {
    case 0xc5:
        *map = 1;
        *rex = 0;
        return 2;
    case 0xc4:
        *map = at[1] & 31;
        break;
    case 0x8f:
        if ((at[1] & 31) < 8) /* pop to memory */
            return 0;
        *map = at[1] & 31;
        break;
    case 0x62:
        *map = at[1] & 7;
        *rex = (unsigned)(~at[1] >> 5 & 7);
        return 4;
    default:
        return 0;
    }
    *rex = (unsigned)(~at[1] >> 5 & 7);
    return 3;
}

bool kymo_instruction_read(const uint8_t bytes[KYMO_INSTRUCTION_BYTES],
                           struct kymo_instruction *out)
{
    unsigned at = 0, rex = 0, map = 0, form;
    bool has_67 = false;
    *out = (struct kymo_instruction){0};
    for (; at < KYMO_INSTRUCTION_MAX; at++) {
        uint8_t byte = bytes[at];
        bool is_segment = byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e ||
                          byte == 0x64 || byte == 0x65;
        if (!is_segment && byte != 0x66 && byte != 0x67 && byte != 0xf0 && byte != 0xf2 &&
            byte != 0xf3)
            break;
        out->is_short |= byte == 0x66;
        has_67 |= byte == 0x67;
    }
    if ((bytes[at] & 0xf0) == 0x40)
        rex = bytes[at++] & 15;
    unsigned vector = rex ? 0 : read_vector_prefix(bytes + at, &map, &rex);
    if (vector) {
        at += vector;
        out->map = KYMO_MAP_OTHER;
        form = form_of_vector(map, bytes[at]);
        out->is_short = false;
    } else if (bytes[at] != 0x0f) {
        out->is_wide = rex & 8;
        out->is_short &= !out->is_wide;
        form = form_of_one_byte(bytes[at]);
    } else if (bytes[++at] == 0x38 || bytes[at] == 0x3a) {
        form = bytes[at] == 0x3a ? MODRM | IMM8 : MODRM;
        out->map = KYMO_MAP_OTHER;
        at++;
    } else {
        out->is_wide = rex & 8;
        out->map = KYMO_MAP_0F;
        form = form_of_0f(bytes[at]);
    }
    out->opcode = bytes[at++];
    if (form & BAD || at > KYMO_INSTRUCTION_MAX)
        return false;
    out->rm = (uint8_t)((out->opcode & 7) | (rex & 1) << 3);
    if (form & MODRM)
        at += read_operands(bytes + at, rex, out);
    /* test has an immediate, the others of its group have none */
    if (out->map == KYMO_MAP_ONE_BYTE && (out->opcode & 0xfe) == 0xf6 && (out->reg & 7) < 2)
        form |= out->opcode == 0xf6 ? IMM8 : IMM32;
    if (at <= KYMO_INSTRUCTION_MAX)
        at += read_immediate(bytes + at, form, has_67, out);
    out->length = (uint8_t)at;
    return at <= KYMO_INSTRUCTION_MAX;
}
