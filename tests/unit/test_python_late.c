/* SPDX-License-Identifier: Apache-2.0 */
/* An interpreter that is loaded after the start: libraries of this test that have its symbols. */
#include "recorder/python_late.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session_fixture.h"
#include "unit.h"

static struct fixture fixture;
static struct kymo_module_entry module;
static char path[4096];
static void *library;

static int begin(void **state)
{
    (void)state;
    fixture = fixture_open(1u << 20);
    library = NULL;
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (library)
        dlclose(library);
    fixture_close(&fixture);
    return 0;
}

static void load(const char *name)
{
    struct link_map *map;
    snprintf(path, sizeof path, "%s/lib%s.so", KYMO_LATE_LIBRARIES, name);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    module =
        (struct kymo_module_entry){.bias = map->l_addr, .map_start = 0x10000, .map_end = 0x90000};
}

static uint64_t address_of(const char *symbol)
{
    void *at = dlsym(library, symbol);
    assert_non_null(at);
    return (uintptr_t)at;
}

static int look(void)
{
    return kymo_python_late(fixture.session, getpid(), &module, path);
}

static void expect(uint32_t minor)
{
    const struct kymo_session *s = fixture.session;
    const struct kymo_python *p = &s->python_late;
    struct kymo_python_offsets offsets;
    assert_int_equal(look(), 1);
    assert_int_equal(s->python_came, 1);
    assert_int_equal(s->python_read, 1);
    assert_int_equal(s->python, minor);
    assert_int_equal(p->minor, minor);
    assert_int_equal(p->runtime, address_of("_PyRuntime"));
    assert_int_equal(p->code_type, address_of("PyCode_Type"));
    assert_int_equal(p->eval_lo, address_of("_PyEval_EvalFrameDefault"));
    assert_true(p->eval_hi > p->eval_lo);
    assert_int_equal(s->python_runtime, p->runtime);
    assert_int_equal(s->python_eval_hi, p->eval_hi);
    assert_int_equal(s->python_lo, module.map_start);
    assert_int_equal(s->python_hi, module.map_end);
    assert_true(kymo_python_offsets_of(minor, (const void *)(uintptr_t)p->runtime, &offsets));
    assert_memory_equal(&offsets, &p->offsets, sizeof offsets);
}

static void expect_nothing(uint32_t version)
{
    assert_int_equal(look(), 0);
    assert_int_equal(fixture.session->python_came, 0);
    assert_int_equal(fixture.session->python_read, 0);
    assert_int_equal(fixture.session->python, version); /* that a note names */
}

static void the_interpreter_says_its_version(void **state)
{
    (void)state;
    load("python3.11");
    expect(11);
    /* It is looked for once. */
    assert_int_equal(look(), 0);
}

static void before_3_11_the_file_does(void **state)
{
    (void)state;
    load("python3.9");
    expect(9);
}

static void other_versions_are_named_and_not_read(void **state)
{
    (void)state;
    load("python3.99");
    expect_nothing(99);
}

static void what_is_no_interpreter_is_left(void **state)
{
    (void)state;
    load("other3.11"); /* by its name */
    expect_nothing(0);
    dlclose(library);
    load("python3.12"); /* without a symbol */
    expect_nothing(0);
    snprintf(path, sizeof path, "%s/libpython3.8.so", KYMO_LATE_LIBRARIES); /* is not there */
    expect_nothing(0);
}

/* From 3.13 on it has a table of its own offsets. */
static void a_table_that_is_none_is_not_believed(void **state)
{
    (void)state;
    load("python3.13");
    expect_nothing(13);
    uint64_t *table = (uint64_t *)(uintptr_t)address_of("_PyRuntime");
    for (uint64_t i = 0; i < 256; i++)
        table[i] = 8 * i;
    memcpy(table, "xdebugpy", 8);
    table[2] = 0; /* has the GIL */
    fixture.session->python = 0;
    expect(13);
}

/* A process that has ended meanwhile. */
static void memory_that_is_gone_is_not_read(void **state)
{
    (void)state;
    load("python3.11");
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(kymo_python_late(fixture.session, child, &module, path), 0);
    module.bias = 0;
    expect_nothing(0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(the_interpreter_says_its_version),      TEST(before_3_11_the_file_does),
        TEST(other_versions_are_named_and_not_read), TEST(what_is_no_interpreter_is_left),
        TEST(a_table_that_is_none_is_not_believed),  TEST(memory_that_is_gone_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
