/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What walks from outside found becomes events, each once. The process is this one.
 */
#include "observe/wall_find.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit.h"

#define DEPTH 4096u

static struct {
    unsigned stacks, modules, images, waits;
    kymo_event_stack stack;
    kymo_event_frame frames[DEPTH];
    kymo_event_module module;
    char path[4096];
    char wait[64];
    uint32_t wait_id;
    kymo_err err;
} told;

static kymo_err on_module(void *context, const kymo_event_module *e)
{
    (void)context;
    told.modules++;
    told.module = *e;
    snprintf(told.path, sizeof told.path, "%s", e->path);
    return told.err;
}

static kymo_err on_image(void *context, const kymo_event_module_image *e)
{
    (void)context;
    assert_true(e->len > 4 && memcmp(e->bytes, "\177ELF", 4) == 0);
    told.images++;
    return KYMO_OK;
}

static kymo_err on_stack(void *context, const kymo_event_stack *e)
{
    (void)context;
    told.stacks++;
    told.stack = *e;
    assert_true(e->depth <= DEPTH);
    memcpy(told.frames, e->frames, e->depth * sizeof *e->frames);
    return told.err;
}

static kymo_err on_wait(void *context, const kymo_event_wait *e)
{
    (void)context;
    told.waits++;
    told.wait_id = e->wait;
    snprintf(told.wait, sizeof told.wait, "%s", e->name);
    return told.err;
}

static const kymo_event_handler events = {
    .module = on_module, .module_image = on_image, .stack = on_stack, .wait = on_wait};

static kymo_remote_store *store;

static struct kymo_wall_stacks open_stacks(void)
{
    struct kymo_wall_stacks s = {.events = &events, .process = 3};
    memset(&told, 0, sizeof told);
    assert_int_equal(kymo_remote_create(store, getpid(), &s.remote), KYMO_OK);
    return s;
}

static uint32_t get(struct kymo_wall_stacks *s, const uint64_t *pcs, size_t n,
                    enum kymo_walk_end end)
{
    const struct kymo_walk_result walk = {.end = end};
    uint32_t id = 0;
    assert_int_equal(kymo_wall_stacks_get(s, pcs, n, &walk, &id), KYMO_OK);
    return id;
}

static uint64_t here(void)
{
    return (uint64_t)(uintptr_t)&here;
}

/* ---- stacks ---- */

static void a_stack_is_told_once(void **state)
{
    (void)state;
    struct kymo_wall_stacks s = open_stacks();
    const uint64_t pcs[] = {here(), here() + 8, here() + 16};
    const uint64_t others[] = {here(), here() + 8, here() + 17};
    uint32_t id = get(&s, pcs, 3, KYMO_WALK_COMPLETE);
    assert_int_equal(id, KYMO_WALL_FIRST);
    for (int i = 0; i < 10; i++)
        assert_int_equal(get(&s, pcs, 3, KYMO_WALK_COMPLETE), id);
    assert_int_equal(told.stacks, 1);
    assert_int_equal(told.stack.process, 3);
    assert_int_equal(told.stack.stack, id);
    assert_int_equal(told.stack.flags, KYMO_EVENT_STACK_COMPLETE);
    /* Each of these is another one. */
    assert_int_equal(get(&s, pcs, 2, KYMO_WALK_COMPLETE), id + 1);
    assert_int_equal(get(&s, others, 3, KYMO_WALK_COMPLETE), id + 2);
    assert_int_equal(get(&s, pcs, 3, KYMO_WALK_DEPTH), id + 3);
    assert_int_equal(told.stack.flags, KYMO_EVENT_STACK_TRUNCATED);
    assert_int_equal(get(&s, pcs, 3, KYMO_WALK_NO_ROW), id + 4);
    assert_int_equal(told.stack.flags, 0);
    assert_int_equal(told.stack.end, KYMO_WALK_NO_ROW);
    assert_int_equal(told.stacks, 5);
    assert_int_equal(get(&s, pcs, 3, KYMO_WALK_COMPLETE), id);
    kymo_wall_stacks_deinit(&s);
}

/* Addresses are those of the file; what lies behind a call is told from what was interrupted. */
static void frames_are_of_modules(void **state)
{
    (void)state;
    struct kymo_wall_stacks s = open_stacks();
    const uint64_t libc = (uint64_t)(uintptr_t)dlsym(RTLD_NEXT, "getpid");
    const uint64_t pcs[] = {here(), 0x1000, libc + 1, here() + 1};
    struct kymo_walk_result walk = {.end = KYMO_WALK_COMPLETE, .exact_count = 1, .exact = {3}};
    uint32_t id;
    assert_int_equal(kymo_wall_stacks_get(&s, pcs, 4, &walk, &id), KYMO_OK);
    assert_int_equal(told.stack.depth, 4);
    const struct kymo_remote_module *program = kymo_remote_module_at(s.remote, here());
    assert_non_null(program);
    assert_int_equal(told.frames[0].address, here() - program->bias);
    assert_int_equal(told.frames[0].flags, 0);
    assert_int_equal(told.frames[1].address, 0x1000);
    assert_int_equal(told.frames[1].module, KYMO_EVENT_NONE);
    assert_int_equal(told.frames[1].flags, KYMO_EVENT_FRAME_RETURN);
    assert_int_equal(told.frames[2].flags, KYMO_EVENT_FRAME_RETURN);
    assert_int_not_equal(told.frames[2].module, told.frames[0].module);
    assert_int_equal(told.frames[3].flags, 0);
    assert_int_equal(told.frames[3].module, told.frames[0].module);
    assert_int_equal(told.modules, 2);
    kymo_wall_stacks_deinit(&s);
}

static void a_module_is_told_once_and_before(void **state)
{
    (void)state;
    struct kymo_wall_stacks s = open_stacks();
    uint64_t pc = here();
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    assert_true(n > 0);
    exe[n] = '\0';
    (void)get(&s, &pc, 1, KYMO_WALK_COMPLETE);
    assert_int_equal(told.modules, 1);
    assert_int_equal(told.module.process, 3);
    assert_int_equal(told.module.is_main, 1);
    assert_true(told.module.start <= pc && pc < told.module.end);
    assert_string_equal(told.path, exe);
    assert_int_equal(told.frames[0].module, told.module.module);
    assert_true(told.module.module >= KYMO_WALL_FIRST);
    pc++;
    (void)get(&s, &pc, 1, KYMO_WALK_COMPLETE);
    assert_int_equal(told.modules, 1);
    kymo_wall_stacks_deinit(&s);
}

/* Those of the drain, of wall mode and of code that was made at run time are in one recording. */
static void numbers_of_modules_do_not_meet(void **state)
{
    (void)state;
    assert_true(KYMO_JIT_FIRST_MODULE - KYMO_WALL_FIRST >= 1u << 28);
    assert_true(UINT32_MAX - KYMO_JIT_FIRST_MODULE >= 1u << 28);
}

static void errors_are_forwarded(void **state)
{
    (void)state;
    struct kymo_wall_stacks s = open_stacks();
    const struct kymo_walk_result walk = {.end = KYMO_WALK_COMPLETE};
    uint64_t pc = here();
    uint32_t id;
    told.err = KYMO_E_IO;
    assert_int_equal(kymo_wall_stacks_get(&s, &pc, 1, &walk, &id), KYMO_E_IO);
    kymo_wall_stacks_deinit(&s);
}

/* A program that waits at ever new depths does not fill the memory: numbers go on, and what is kept
 * has a bound. */
static void what_is_kept_is_bounded(void **state)
{
    (void)state;
    enum { STACKS = 2100 };
    struct kymo_wall_stacks s = open_stacks();
    static uint64_t pcs[DEPTH]; /* in no module */
    uint32_t first = 0;
    for (uint32_t i = 0; i < STACKS; i++) {
        pcs[0] = i + 1;
        uint32_t id = get(&s, pcs, DEPTH, KYMO_WALK_COMPLETE);
        first = i == 0 ? id : first;
        assert_int_equal(id, first + i);
        assert_true(s.pcs.cap * sizeof(uint64_t) <= 100u << 20);
    }
    assert_int_equal(told.stacks, STACKS);
    /* The last ones are known still, and one that was forgotten is told under another number. */
    assert_int_equal(get(&s, pcs, DEPTH, KYMO_WALK_COMPLETE), first + STACKS - 1);
    pcs[0] = 1;
    assert_int_equal(get(&s, pcs, DEPTH, KYMO_WALK_COMPLETE), first + STACKS);
    assert_int_equal(told.stacks, STACKS + 1);
    /* Short ones, of which there may be many. */
    for (uint32_t i = 0; i < 1100000; i++) {
        pcs[0] = 1 + i;
        assert_int_equal(get(&s, pcs, 1, KYMO_WALK_COMPLETE), first + STACKS + 1 + i);
    }
    assert_true(s.stacks.cap * sizeof *s.stacks.data <= 40u << 20);
    kymo_wall_stacks_deinit(&s);
}

/* ---- what threads wait in ---- */

static void calls_have_names(void **state)
{
    (void)state;
    kymo_wait_names *names;
    uint32_t wait = 77;
    uint32_t again;
    memset(&told, 0, sizeof told);
    assert_int_equal(kymo_wait_names_create(&events, NULL, &names), KYMO_OK);
    assert_int_equal(kymo_wait_names_get(names, KYMO_WAIT_NONE, &wait), KYMO_OK);
    assert_int_equal(wait, 0);
    assert_int_equal(told.waits, 0);
    assert_int_equal(kymo_wait_names_get(names, SYS_futex, &wait), KYMO_OK);
    assert_string_equal(told.wait, "futex");
    assert_int_equal(told.wait_id, wait);
    assert_int_not_equal(wait, 0);
    assert_int_equal(kymo_wait_names_get(names, SYS_futex, &again), KYMO_OK);
    assert_int_equal(again, wait);
    assert_int_equal(told.waits, 1);
    assert_int_equal(kymo_wait_names_get(names, SYS_read, &again), KYMO_OK);
    assert_string_equal(told.wait, "read"); /* number 0 */
    assert_int_not_equal(again, 0);
    assert_int_equal(kymo_wait_names_get(names, KYMO_WAIT_STOPPED, &again), KYMO_OK);
    assert_string_equal(told.wait, "stopped");
    assert_int_not_equal(again, wait);
    /* What no call has: as the kernel may say it of a newer one. */
    static const int unknown[] = {100000, 2147483647, -3, -2147483647 - 1, 0x40000000};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(unknown); i++) {
        assert_int_equal(kymo_wait_names_get(names, unknown[i], &again), KYMO_OK);
        assert_int_equal(again, 0);
    }
    assert_int_equal(told.waits, 3);
    told.err = KYMO_E_IO;
    assert_int_equal(kymo_wait_names_get(names, SYS_poll, &again), KYMO_E_IO);
    kymo_wait_names_destroy(names);
}

static int open_store(void **state)
{
    (void)state;
    return kymo_remote_store_create(&store) == KYMO_OK ? 0 : -1;
}

static int close_store(void **state)
{
    (void)state;
    kymo_remote_store_destroy(store);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_is_told_once),
        cmocka_unit_test(frames_are_of_modules),
        cmocka_unit_test(a_module_is_told_once_and_before),
        cmocka_unit_test(numbers_of_modules_do_not_meet),
        cmocka_unit_test(errors_are_forwarded),
        cmocka_unit_test(what_is_kept_is_bounded),
        cmocka_unit_test(calls_have_names),
    };
    return cmocka_run_group_tests(tests, open_store, close_store);
}
