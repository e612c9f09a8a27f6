/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

#include <stdlib.h>

static void stacks_share_their_callers(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t f[3];
    for (uint32_t i = 0; i < 3; i++)
        f[i] = add_frame(p, KYMO_NONE, i);
    uint32_t root = add_stack(p, KYMO_NONE, f[0]);
    uint32_t a = add_stack(p, root, f[1]);
    uint32_t b = add_stack(p, root, f[2]);
    assert_int_equal(add_stack(p, KYMO_NONE, f[0]), root);
    assert_int_equal(add_stack(p, root, f[1]), a);
    assert_int_not_equal(a, b);
    kymo_stacks s = kymo_profile_stacks(p);
    assert_int_equal(s.count, 3);
    assert_int_equal(s.parent[root], KYMO_NONE);
    assert_int_equal(s.parent[b], root);
    assert_int_equal(s.frame[b], f[2]);
    uint32_t id = 8;
    assert_int_equal(kymo_profile_add_stack(p, 3, f[0], &id), KYMO_E_INVALID);
    assert_int_equal(kymo_profile_add_stack(p, root, 3, &id), KYMO_E_INVALID);
    assert_int_equal(id, 8);
    kymo_profile_destroy(p);
}

/* 16 frames, one bit each, for each parent; KYMO_NONE's behind those of all stacks. */
static void parents_come_first_and_each_stack_once(void **state)
{
    (void)state;
    uint16_t *seen = calloc(20001, sizeof *seen);
    kymo_profile *p = new_profile();
    uint32_t frame[16];
    for (uint32_t i = 0; i < 16; i++)
        frame[i] = add_frame(p, KYMO_NONE, i);
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        kymo_stacks s = kymo_profile_stacks(p);
        uint32_t parent = s.count ? (uint32_t)(random >> 33) % (s.count + 1) : 0;
        parent = parent == s.count ? KYMO_NONE : parent;
        uint32_t id = add_stack(p, parent, frame[random >> 60]);
        s = kymo_profile_stacks(p);
        assert_int_equal(s.parent[id], parent);
        assert_int_equal(s.frame[id], frame[random >> 60]);
    }
    kymo_stacks s = kymo_profile_stacks(p);
    for (uint32_t i = 0; i < s.count; i++) {
        assert_true(s.parent[i] == KYMO_NONE || s.parent[i] < i);
        uint16_t *of_parent = &seen[s.parent[i] == KYMO_NONE ? 20000 : s.parent[i]];
        assert_int_equal(*of_parent >> s.frame[i] & 1, 0);
        *of_parent |= (uint16_t)(1u << s.frame[i]);
    }
    free(seen);
    kymo_profile_destroy(p);
}

static void addresses_find_their_modules(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    uint32_t process = add_process(p, 1, 0);
    uint32_t old = add_module(p, process, "/old", "o"); /* 0x1000 to 0x9000 */
    kymo_module second = {
        .size = sizeof second, .process = process, .path = "/new", .start = 0x8000, .end = 0x9000};
    second.load_bias = 0x7000;
    uint32_t module;
    ok(kymo_profile_add_module(p, &second, &module));
    const uint64_t addresses[] = {0x8100, 0x2000, 0x100};
    uint32_t stack;
    ok(kymo_profile_add_address_stack(p, process, addresses, 3, &stack));
    kymo_stacks s = kymo_profile_stacks(p);
    const kymo_frame *f = kymo_profile_frame(p, s.frame[stack]);
    assert_int_equal(f->module, module);
    assert_int_equal(f->address, 0x1100);
    stack = s.parent[stack];
    assert_int_equal(kymo_profile_frame(p, s.frame[stack])->module, old);
    stack = s.parent[stack];
    assert_int_equal(kymo_profile_frame(p, s.frame[stack])->module, KYMO_NONE);
    assert_int_equal(s.parent[stack], KYMO_NONE);
    ok(kymo_profile_add_address_stack(p, process, addresses, 0, &stack));
    assert_int_equal(stack, KYMO_NONE);
    assert_int_equal(kymo_profile_add_address_stack(p, 1, addresses, 3, &stack), KYMO_E_INVALID);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_share_their_callers),
        cmocka_unit_test(parents_come_first_and_each_stack_once),
        cmocka_unit_test(addresses_find_their_modules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
