/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "observe/kallsyms.h"
#include "observe/kernel_stacks.h"
#include "recording/event_text.h"

#define TID 42
#define MS 1000000u

static kymo_kernel_stacks *stacks;
static kymo_str events; /* what was written to the recording */
static kymo_str parts;  /* what became of samples */

static int begin(void **state)
{
    (void)state;
    events = parts = (kymo_str){0};
    return kymo_kernel_stacks_create(&event_text_handler, &events, MS, &stacks) == KYMO_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    kymo_kernel_stacks_destroy(stacks);
    kymo_str_deinit(&events);
    kymo_str_deinit(&parts);
    return 0;
}

/* An interrupt; pc 0: not in the kernel. No name has such an address, so there is none to depend
 * on. */
static void interrupt_at(pid_t tid, uint64_t time_ns, uint64_t pc)
{
    struct kymo_kernel_record r = {.time_ns = time_ns, .depth = pc ? 2 : 0, .pcs = {pc, pc + 16}};
    assert_int_equal(kymo_kernel_stacks_feed(stacks, 7, tid, &r), KYMO_OK);
}

static kymo_err emit(void *context, const kymo_event_sample *s)
{
    kymo_str_printf(context, "%u:%u:%x ", (unsigned)(s->time_ns / 1000),
                    (unsigned)(s->weight_ns / 1000), s->stack);
    return KYMO_OK;
}

static const char *split(pid_t tid, uint64_t time_ns, uint64_t weight_ns, uint32_t stack)
{
    const kymo_event_sample s = {.time_ns = time_ns, .weight_ns = weight_ns, .stack = stack};
    kymo_str_deinit(&parts);
    assert_int_equal(kymo_kernel_stacks_split(stacks, 7, tid, &s, emit, &parts), KYMO_OK);
    return kymo_str_cstr(&parts);
}

static void without_interrupts_a_sample_stays(void **state)
{
    (void)state;
    assert_string_equal(split(TID, 10 * MS, MS, 3), "10000:1000:3 ");
    interrupt_at(TID, 20 * MS, 0);
    assert_string_equal(split(TID, 20 * MS + 2000, MS, 3), "20002:1000:3 ");
    assert_string_equal(kymo_str_cstr(&events), "");
    /* There may be no kernel stacks at all. */
    kymo_kernel_stacks *one = stacks;
    stacks = NULL;
    assert_string_equal(split(TID, 10 * MS, MS, 3), "10000:1000:3 ");
    assert_int_equal(kymo_kernel_stacks_finish(NULL, 7), KYMO_OK);
    kymo_kernel_stacks_close(NULL, 7, TID);
    kymo_kernel_stacks_forget(NULL, 7, TID);
    stacks = one;
}

/* A call of three periods and a half: the weight is that of its interrupts, and of the time in user
 * mode before, whose signal was merged into the same one. */
static void a_long_call_is_as_many_samples(void **state)
{
    (void)state;
    interrupt_at(TID, 10 * MS, 0);
    interrupt_at(TID, 11 * MS, 0x8000000000000100);
    interrupt_at(TID, 12 * MS, 0x8000000000000100);
    interrupt_at(TID, 13 * MS, 0x8000000000000100);
    interrupt_at(TID, 14 * MS, 0); /* after the sample */
    assert_string_equal(split(TID, 13 * MS + 400000, 4 * MS + 3, 3),
                        "10000:1000:3 11000:1000:80000000 12000:1000:80000000 "
                        "13400:1000:80000000 ");
    assert_string_equal(split(TID, 14 * MS + 1000, MS, 4), "14001:1000:4 ");
    const char *text = kymo_str_cstr(&events);
    assert_non_null(strstr(text, "kernel_stack 2147483648 process=7 depth="));
    assert_null(strstr(text, "kernel_stack 2147483649"));
}

/* The same place in the kernel, called from two places: two stacks, each written once. */
static void a_stack_is_written_once(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        interrupt_at(TID, (10 + 2 * i) * MS, 0x8000000000000100);
        interrupt_at(TID + 1, (10 + 2 * i) * MS, 0x8000000000000100);
        const char *first = split(TID, (10 + 2 * i) * MS + 5000, MS, 3);
        assert_non_null(strstr(first, ":80000000 "));
        const char *second = split(TID + 1, (10 + 2 * i) * MS + 5000, MS, 5);
        assert_non_null(strstr(second, ":80000001 "));
    }
    const char *text = kymo_str_cstr(&events);
    assert_non_null(strstr(text, "caller=3"));
    assert_non_null(strstr(text, "caller=5"));
    assert_null(strstr(text, "kernel_stack 2147483650"));
}

static void clocks_may_differ_a_little(void **state)
{
    (void)state;
    interrupt_at(TID, 10 * MS + 40000, 0x8000000000000100);
    assert_string_equal(split(TID, 10 * MS, MS, 3), "10000:1000:80000000 ");
    interrupt_at(TID, 11 * MS + 400000, 0x8000000000000100);
    assert_string_equal(split(TID, 11 * MS, MS, 3), "11000:1000:3 ");
}

static void a_thread_that_ended_is_forgotten(void **state)
{
    (void)state;
    interrupt_at(TID, 10 * MS, 0x8000000000000100);
    kymo_kernel_stacks_close(stacks, 7, TID);
    interrupt_at(TID, 11 * MS, 0); /* what is read late still counts */
    assert_string_equal(split(TID, 11 * MS + 1000, 2 * MS, 3), "10000:1000:80000000 11001:1000:3 ");
    kymo_kernel_stacks_forget(stacks, 7, TID);
    assert_string_equal(split(TID, 12 * MS, MS, 3), "12000:1000:3 ");
}

/* More than anybody reads: the rest is counted, and said. */
static void too_many_are_counted(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 20000; i++)
        interrupt_at(TID, 10 * MS + i, 0);
    assert_int_equal(kymo_kernel_stacks_finish(stacks, 7), KYMO_OK);
    assert_non_null(strstr(kymo_str_cstr(&events), "loss process=7"));
    assert_non_null(strstr(kymo_str_cstr(&events), "count=3616"));
}

/* Of stacks 3 and 4 the latter is not used any more: a new one on it has another id. */
static void what_is_not_used_is_forgotten(void **state)
{
    (void)state;
    const char *of_three, *of_four;
    for (uint32_t stack = 3; stack < 5; stack++) {
        interrupt_at(TID, stack * 10 * MS, 0x1000);
        split(TID, stack * 10 * MS, MS, stack);
    }
    kymo_key_map used = {0};
    assert_int_equal(kymo_key_map_add(&used, 3), KYMO_OK);
    assert_int_equal(kymo_kernel_stacks_sweep(stacks, 8, &used), KYMO_OK); /* another process */
    assert_int_equal(used.used, 1);
    assert_int_equal(kymo_kernel_stacks_sweep(stacks, 7, &used), KYMO_OK);
    assert_int_equal(used.used, 2);
    assert_non_null(kymo_key_map_find(&used, 0x80000000u));
    kymo_key_map_deinit(&used);
    interrupt_at(TID, 60 * MS, 0x1000);
    of_three = split(TID, 60 * MS, MS, 3);
    assert_string_equal(of_three, "60000:1000:80000000 ");
    interrupt_at(TID, 70 * MS, 0x1000);
    of_four = split(TID, 70 * MS, MS, 4);
    assert_string_equal(of_four, "70000:1000:80000002 ");
    assert_int_equal(kymo_kernel_stacks_sweep(NULL, 7, &used), KYMO_OK);
}

static void names_are_those_of_the_kernel(void **state)
{
    kymo_kallsyms *names;
    (void)state;
    if (kymo_kallsyms_read(&names) != KYMO_OK) {
        interrupt_at(TID, 10 * MS, 0x8000000000000100);
        (void)split(TID, 10 * MS, MS, 3);
        assert_non_null(strstr(kymo_str_cstr(&events), "note"));
        assert_non_null(strstr(kymo_str_cstr(&events), "symbol=none"));
        skip();
    }
    /* Somewhere in the middle there is a function, which its address finds again. */
    uint64_t address = 0;
    struct kymo_kallsym found = {0};
    for (uint64_t at = 0xffffffff80000000; !address && at < 0xffffffffc0000000; at += 4096)
        if (kymo_kallsyms_find(names, at, &found))
            address = at - found.offset;
    assert_true(address != 0);
    struct kymo_kernel_record r = {.time_ns = 10 * MS, .depth = 1, .pcs = {address}};
    assert_int_equal(kymo_kernel_stacks_feed(stacks, 7, TID, &r), KYMO_OK);
    (void)split(TID, 10 * MS, MS, 3);
    assert_non_null(strstr(kymo_str_cstr(&events), found.name));
    assert_non_null(strstr(kymo_str_cstr(&events), "kernel_symbol 0"));
    kymo_kallsyms_destroy(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_interrupts_a_sample_stays, begin, end),
        cmocka_unit_test_setup_teardown(a_long_call_is_as_many_samples, begin, end),
        cmocka_unit_test_setup_teardown(a_stack_is_written_once, begin, end),
        cmocka_unit_test_setup_teardown(clocks_may_differ_a_little, begin, end),
        cmocka_unit_test_setup_teardown(a_thread_that_ended_is_forgotten, begin, end),
        cmocka_unit_test_setup_teardown(too_many_are_counted, begin, end),
        cmocka_unit_test_setup_teardown(what_is_not_used_is_forgotten, begin, end),
        cmocka_unit_test_setup_teardown(names_are_those_of_the_kernel, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
