/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>
#include <sys/mman.h>

#include "base/attr.h"
#include "unwind/module.h"
#include "unwind/padding.h"

static struct kymo_stack_window window;
static uint8_t code[160];

/* The length of the padding that these bytes begin with, before a `ret`. */
static uint64_t length_of(const void *bytes, size_t size)
{
    memset(code, 0xc3, sizeof code);
    memcpy(code, bytes, size);
    window = (struct kymo_stack_window){.probes_left = KYMO_PROBES_PER_WALK, .probe_allowed = true};
    uint64_t end = kymo_padding_end(&window, (uint64_t)(uintptr_t)code);
    return end ? end - (uint64_t)(uintptr_t)code : 0;
}

static void nops_are_known(void **state)
{
    (void)state;
    static const uint8_t long_nop[15] = {0x66, 0x66, 0x66, 0x66, 0x66,
                                         0x66, 0x2e, 0x0f, 0x1f, 0x84};
    uint8_t many[70];
    assert_int_equal(length_of("\x90", 1), 1);
    assert_int_equal(length_of("\x66\x90\x0f\x1f\x00", 5), 5);
    assert_int_equal(length_of(long_nop, sizeof long_nop), sizeof long_nop);
    memset(many, 0x90, sizeof many);
    assert_int_equal(length_of(many, 63), 63);
    assert_int_equal(length_of(many, 64), 0); /* more than an alignment needs */
}

static void others_are_not(void **state)
{
    (void)state;
    static const uint8_t prefixes[16] = {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
                                         0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x90};
    assert_int_equal(length_of("", 0), 0);
    assert_int_equal(length_of("\xf3\x90", 2), 0);     /* pause */
    assert_int_equal(length_of("\x66\x89\xd8", 3), 0); /* mov */
    assert_int_equal(length_of("\x0f\x1e\xfa", 3), 0);
    assert_int_equal(length_of("\x0f\x1f\x05", 3), 0);
    assert_int_equal(length_of(prefixes, sizeof prefixes), 0);
}

static void unreadable_code_is_none(void **state)
{
    (void)state;
    char *pages =
        mmap(NULL, 2 * KYMO_PROBE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    memset(pages, 0x90, 2 * KYMO_PROBE_PAGE);
    assert_int_equal(mprotect(pages + KYMO_PROBE_PAGE, KYMO_PROBE_PAGE, PROT_NONE), 0);
    uint64_t end = (uint64_t)(uintptr_t)pages + KYMO_PROBE_PAGE;
    for (uint64_t before = 0; before < 16; before++) {
        window =
            (struct kymo_stack_window){.probes_left = KYMO_PROBES_PER_WALK, .probe_allowed = true};
        assert_int_equal(kymo_padding_end(&window, end - before), 0);
    }
    munmap(pages, 2 * KYMO_PROBE_PAGE);
    /* Nothing of another process's code is in a copy of its stack, and nothing of it is missed. */
    window = (struct kymo_stack_window){.outside = &(struct kymo_outside){0}};
    assert_int_equal(kymo_padding_end(&window, (uint64_t)(uintptr_t)code), 0);
    assert_int_equal(window.missing, 0);
    window = (struct kymo_stack_window){.probes_left = KYMO_PROBES_PER_WALK};
    assert_int_equal(kymo_padding_end(&window, (uint64_t)(uintptr_t)code), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nops_are_known),
        cmocka_unit_test(others_are_not),
        cmocka_unit_test(unreadable_code_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
