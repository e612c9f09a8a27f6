/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/machine_code.h"

#define ENDBR64 "\xf3\x0f\x1e\xfa"
#define BND 0xf2 /* a prefix */

/* Where these three bytes begin, from at on; size if they do not. */
static size_t find_bytes(const unsigned char *code, size_t size, size_t at, const char *three)
{
    while (at + 3 <= size && memcmp(code + at, three, 3) != 0)
        at++;
    return at + 3 <= size ? at : size;
}

/* Compilers begin such a function with push %rbp; mov %rsp,%rbp; a push for each register that it
 * saves; and sub $N,%rsp. Other instructions lie between them, so these are looked for and the rest
 * is not read. */
int kymo_frame_distance(const unsigned char *code, size_t size, uint32_t saved, uint64_t *distance)
{
    size_t set = find_bytes(code, size, 0, "\x48\x89\xe5"); /* mov %rsp,%rbp */
    size_t other = find_bytes(code, size, 0, "\x48\x8b\xec");
    set = set < other ? set : other;
    if (set == size || !memchr(code, 0x55, set)) /* push %rbp */
        return 0;
    set += 3;
    size_t byte = find_bytes(code, size, set, "\x48\x83\xec"); /* sub $N,%rsp */
    size_t word = find_bytes(code, size, set, "\x48\x81\xec");
    size_t less = find_bytes(code, size, set, "\x48\x83\xc4"); /* add $-128,%rsp */
    *distance = 8ull * saved;
    if (byte < word && byte < less && byte + 3 < size) {
        *distance += code[byte + 3];
    } else if (word < less && word + 7 <= size) {
        uint32_t n;
        memcpy(&n, code + word + 3, sizeof n);
        *distance += n;
    } else if (less + 3 < size) {
        *distance += (uint64_t) - (int64_t)(int8_t)code[less + 3];
    }
    return 1;
}

enum kymo_call_kind kymo_call_before(const uint8_t before[KYMO_CALL_BYTES], uint64_t return_address,
                                     uint64_t *value)
{
    int32_t distance;
    memcpy(&distance, before + 4, sizeof distance);
    *value = return_address + (uint64_t)(int64_t)distance;
    if (before[3] == 0xe8)
        return KYMO_CALL_DIRECT;
    if (before[2] == 0xff && before[3] == 0x15) /* call *distance(%rip) */
        return KYMO_CALL_SLOT;
    return kymo_ends_with_indirect_call(before) ? KYMO_CALL_POINTER : KYMO_CALL_NONE;
}

/* A stub ends in jmp *slot(%rip). The lazy half of a table for indirect branch tracking pushes a
 * relocation's index instead. */
enum kymo_stub_kind kymo_stub_read(const uint8_t *code, size_t size, uint64_t address,
                                   uint64_t *value)
{
    int32_t distance;
    uint32_t index;
    size_t at = memcmp(code, ENDBR64, 4) == 0 ? 4 : 0;
    if (at == 4 && at + 5 <= size && code[at] == 0x68) { /* push $index */
        memcpy(&index, code + at + 1, sizeof index);
        *value = index;
        return KYMO_STUB_INDEX;
    }
    at += code[at] == BND;
    if (at + 6 > size || code[at] != 0xff || code[at + 1] != 0x25)
        return KYMO_STUB_NONE;
    memcpy(&distance, code + at + 2, sizeof distance);
    *value = address + at + 6 + (uint64_t)(int64_t)distance;
    return KYMO_STUB_SLOT;
}
