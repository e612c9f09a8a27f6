/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/machine_code.h"

#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

static void the_first_instructions_tell_the_frame_pointer(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        size_t size;
        uint32_t saved;
        uint64_t distance; /* 0: none */
    } cases[] = {
        /* push %rbp; mov %rsi,%r11; mov %rsp,%rbp; push %r15; push %rbx; sub $0x68,%rsp */
        {"\x55\x49\x89\xf3\x48\x89\xe5\x41\x57\x53\x48\x83\xec\x68", 14, 2, 0x78},
        {"\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x48\x81\xec\x00\x10\x00\x00", 15, 0, 0x1000},
        {"\x55\x48\x89\xe5\x48\x83\xc4\x80", 8, 0, 128},
        {"\x55\x48\x89\xe5\x53\x90", 6, 1, 8},
        {"\x55\x48\x89\xe5\x48\x81\xec\xff\xff\xff\x7f", 11, 0, 0x7fffffff},
        {"\x48\x89\xe5\x48\x83\xec\x68", 7, 0, 0},
        {"\x53\x48\x83\xec\x68", 5, 1, 0},
        {"", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t distance = 0;
        int told = kymo_frame_distance((const unsigned char *)cases[i].code, cases[i].size,
                                       cases[i].saved, &distance);
        assert_int_equal(told, cases[i].distance != 0);
        if (told)
            assert_int_equal(distance, cases[i].distance);
    }
    /* An instruction that is cut off is none. */
    uint64_t distance;
    for (size_t size = 0; size < 14; size++)
        (void)kymo_frame_distance((const unsigned char *)cases[0].code, size, 2, &distance);
}

/* What a walk takes for a call, and what it calls. */
static void calls_are_told_by_their_last_bytes(void **state)
{
    (void)state;
    static const uint64_t address = 0x400000;
    static const struct {
        uint8_t before[KYMO_CALL_BYTES];
        enum kymo_call_kind kind;
        uint64_t value;
    } cases[] = {
        {{0x90, 0x90, 0x90, 0xe8, 0xfb, 0xff, 0xff, 0xff}, KYMO_CALL_DIRECT, 0x3ffffb},
        {{0x90, 0x90, 0xff, 0x15, 0x00, 0x01, 0x00, 0x00}, KYMO_CALL_SLOT, 0x400100},
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0}, KYMO_CALL_POINTER, 0}, /* *%rax */
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x53, 0x18}, KYMO_CALL_POINTER, 0}, /* *0x18(%rbx) */
        {{0x90, 0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 0x08}, KYMO_CALL_POINTER, 0}, /* *8(%rsp) */
        {{0x90, 0x90, 0xff, 0x93, 0x00, 0x01, 0x00, 0x00}, KYMO_CALL_POINTER, 0},
        {{0x90, 0xff, 0x94, 0x24, 0x00, 0x01, 0x00, 0x00}, KYMO_CALL_POINTER, 0},
        {{0x90, 0x90, 0x90, 0xff, 0x10, 0x90, 0x90, 0x90}, KYMO_CALL_NONE, 0}, /* of 5 bytes */
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0}, KYMO_CALL_NONE, 0}, /* jmp *%rax */
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}, KYMO_CALL_NONE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t value = 0;
        enum kymo_call_kind kind = kymo_call_before(cases[i].before, address, &value);
        assert_int_equal(kind, cases[i].kind);
        assert_int_equal(kymo_ends_with_call(cases[i].before), kind != KYMO_CALL_NONE);
        assert_int_equal(kymo_ends_with_indirect_call(cases[i].before),
                         kind == KYMO_CALL_SLOT || kind == KYMO_CALL_POINTER);
        if (cases[i].value)
            assert_int_equal(value, cases[i].value);
    }
}

static void stubs_name_a_slot_or_an_index(void **state)
{
    (void)state;
    static const uint64_t address = 0x1000;
    static const struct {
        uint8_t code[KYMO_STUB_BYTES];
        size_t size;
        enum kymo_stub_kind kind;
        uint64_t value;
    } cases[] = {
        {{0xff, 0x25, 0x10, 0x20, 0, 0}, 16, KYMO_STUB_SLOT, 0x3016},
        {{0xff, 0x25, 0x10, 0x20, 0, 0}, 8, KYMO_STUB_SLOT, 0x3016},
        {{0xf2, 0xff, 0x25, 0x10, 0x20, 0, 0}, 16, KYMO_STUB_SLOT, 0x3017},
        {{0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0x10, 0x20, 0, 0}, 16, KYMO_STUB_SLOT, 0x301a},
        {{0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xf0, 0xff, 0xff, 0xff},
         16,
         KYMO_STUB_SLOT,
         0xffb},
        {{0xf3, 0x0f, 0x1e, 0xfa, 0x68, 7, 0, 0, 0}, 16, KYMO_STUB_INDEX, 7},
        {{0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0x10, 0x20, 0, 0}, 8, KYMO_STUB_NONE, 0},
        {{0x68, 7, 0, 0, 0}, 16, KYMO_STUB_NONE, 0}, /* the lazy half without tracking */
        {{0xff, 0x35, 0x10, 0x20, 0, 0}, 16, KYMO_STUB_NONE, 0}, /* the table's first entry */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t value = 0;
        /* Memory of this very size: a sanitizer sees what lies beyond it. */
        uint8_t *code = malloc(cases[i].size);
        assert_non_null(code);
        memcpy(code, cases[i].code, cases[i].size);
        assert_int_equal(kymo_stub_read(code, cases[i].size, address, &value), cases[i].kind);
        free(code);
        if (cases[i].kind != KYMO_STUB_NONE)
            assert_int_equal(value, cases[i].value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_instructions_tell_the_frame_pointer),
        cmocka_unit_test(calls_are_told_by_their_last_bytes),
        cmocka_unit_test(stubs_name_a_slot_or_an_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
