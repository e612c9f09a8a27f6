/* SPDX-License-Identifier: Apache-2.0 */
/* The task that a frame of asyncio's Handle._run runs, of objects made of the words that are read.
 */
#include "python_fixture.h"

#include <stdio.h>

#include "buffer/python_task.h"

/* Nodes, with room for more than one each. */
enum { FRAME = 0, HANDLE = 4, CALLBACK = 6, CALLBACK_TYPE = 8, TASK = 12, TASK_TYPE = 14 };
enum { BASE_TYPE = 18, NAME = 22, NAME_TYPE = 24, TEXTS = 28 };
enum { IS_INT = 1 << 24, IS_STR = 1 << 28 };

static char name[KYMO_PYTHON_TASK_MAX];

static void make_type(uint32_t i, const char *type_name)
{
    char *text = node(TEXTS) + i * 32;
    snprintf(text, 32, "%s", type_name);
    memset(node(i), 0, 2 * NODE_BYTES);
    put(node(i), 24, at_of(text));
}

static void make_number(uint64_t size, uint32_t digit)
{
    put(node(NAME_TYPE), 168, IS_INT);
    put(node(NAME), 16, size);
    put(node(NAME), 24, digit | 0x5555ull << 32); /* what follows a single digit is not its */
}

static void make_text(const char *text)
{
    put(node(NAME_TYPE), 168, IS_STR);
    put(node(NAME), 16, strlen(text));
    put(node(NAME), 32, 0x20u | 0x40u | 1u << 2);
    memcpy(node(NAME) + w.python.offsets.text, text, strlen(text));
}

static void make_task(uint32_t minor, const char *callback, uint32_t task_at)
{
    use(minor);
    make_type(CALLBACK_TYPE, callback);
    make_type(TASK_TYPE, "_asyncio.Task");
    put(node(FRAME), w.python.offsets.locals, at_of(node(HANDLE)) | (minor >= 14 ? 1 : 0));
    put(node(HANDLE), 24, at_of(node(CALLBACK)));
    put(node(CALLBACK), 8, at_of(node(CALLBACK_TYPE)));
    put(node(CALLBACK), task_at, at_of(node(TASK)));
    put(node(TASK), 8, at_of(node(TASK_TYPE)));
    put(node(TASK), w.python.offsets.task_name, at_of(node(NAME)));
    put(node(NAME), 8, at_of(node(NAME_TYPE)));
    make_text("fetch");
}

static uint32_t read_task(void)
{
    memset(&w.pages, 0, sizeof w.pages);
    return kymo_python_task_of(&w.python, &w.pages, at_of(node(FRAME)), name);
}

static void assert_task(const char *expected)
{
    assert_int_equal(read_task(), strlen(expected));
    assert_memory_equal(name, expected, strlen(expected));
}

static const struct {
    const char *callback;
    uint32_t task_at;
} callbacks[] = {
    {"TaskStepMethWrapper", 16},
    {"_asyncio.TaskStepMethWrapper", 16},
    {"TaskWakeupMethWrapper", 16},
    {"builtin_function_or_method", 24},
};

static void the_task_of_each_callback_is_found(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++)
        for (size_t i = 0; i < KYMO_ARRAY_LEN(callbacks); i++) {
            make_task(minor, callbacks[i].callback, callbacks[i].task_at);
            assert_task("fetch");
            /* Of a class that is derived from it. */
            make_type(TASK_TYPE, "Mine");
            assert_int_equal(read_task(), 0);
            make_type(BASE_TYPE, "_asyncio.Task");
            put(node(TASK_TYPE), 256, at_of(node(BASE_TYPE)));
            assert_task("fetch");
            /* A class that is its own base. */
            put(node(TASK_TYPE), 256, at_of(node(TASK_TYPE)));
            assert_int_equal(read_task(), 0);
        }
}

static void a_task_without_a_name_has_a_number(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++) {
        make_task(minor, "TaskStepMethWrapper", 16);
        make_number(1 << 3, 4711);
        if (minor < 12) {
            assert_int_equal(read_task(), 0); /* a number has another form there, and names none */
            continue;
        }
        assert_task("Task-4711");
        make_number(1 << 3, (1u << 30) - 1);
        assert_task("Task-1073741823");
        make_number(2 << 3, 1); /* two digits */
        assert_int_equal(read_task(), 0);
        make_number(1 << 3 | 2, 1); /* negative */
        assert_int_equal(read_task(), 0);
    }
}

static void other_callbacks_and_other_objects_are_no_tasks(void **state)
{
    (void)state;
    static const char *const others[] = {"function",
                                         "method",
                                         "_asyncio.Task",
                                         "",
                                         "TaskStepMethWrapper2",
                                         "asyncio.TaskStepMethWrapper"};
    for (uint32_t minor = 9; minor <= 14; minor++) {
        for (size_t i = 0; i < KYMO_ARRAY_LEN(others); i++) {
            make_task(minor, others[i], 16);
            assert_int_equal(read_task(), 0);
        }
        make_task(minor, "builtin_function_or_method", 24);
        make_type(TASK_TYPE, "_asyncio.Future");
        assert_int_equal(read_task(), 0);
        make_task(minor, "TaskStepMethWrapper", 16);
        put(node(NAME_TYPE), 168, 1 << 20); /* the name is no text */
        assert_int_equal(read_task(), 0);
    }
}

static void pointers_that_lead_nowhere_name_no_task(void **state)
{
    (void)state;
    const uint64_t bad[] = {at_of(w.gone), at_of(w.gone) - 8,     at_of(node(5)) + 4, 8, 0,
                            1ull << 47,    0xdbdbdbdbdbdbdbd8ull, UINT64_MAX - 7};
    for (uint32_t minor = 9; minor <= 14; minor++)
        for (size_t i = 0; i < KYMO_ARRAY_LEN(bad); i++)
            for (uint32_t what = 0; what < 8; what++) {
                make_task(minor, "TaskStepMethWrapper", 16);
                const struct {
                    uint32_t node, at;
                } place[] = {{FRAME, w.python.offsets.locals},
                             {HANDLE, 24},
                             {CALLBACK, 8},
                             {CALLBACK_TYPE, 24},
                             {CALLBACK, 16},
                             {TASK, 8},
                             {TASK, w.python.offsets.task_name},
                             {NAME, 8}};
                put(node(place[what].node), place[what].at, bad[i]);
                assert_int_equal(read_task(), 0);
            }
}

/* The innermost frame of the code that runs asyncio's handles tells the task. */
static void the_task_is_found_among_the_frames(void **state)
{
    (void)state;
    static struct kymo_python_stack stack;
    struct kymo_python_task task;
    for (uint32_t minor = 9; minor <= 14; minor++) {
        make_task(minor, "TaskStepMethWrapper", 16);
        const uint64_t handles = 0x7000, others = 0x7008;
        stack.frames = 3;
        stack.frame[0] = (struct kymo_python_frame){others, at_of(w.gone), 0};
        stack.frame[1] = (struct kymo_python_frame){handles, at_of(node(FRAME)), 0};
        stack.frame[2] = (struct kymo_python_frame){handles, at_of(w.gone), 0};
        memset(w.python.handle_codes, 0, sizeof w.python.handle_codes);
        w.python.handles = 0;
        /* Each interpreter has code of its own; the newest ones are known. */
        for (uint32_t learnt = 0; learnt <= KYMO_PYTHON_HANDLES + 1; learnt++) {
            static const char lib[] = "/lib/asyncio/events.py";
            const char *right = minor >= 11 ? "Handle._run" : "_run";
            uint32_t known = learnt > 0 && learnt <= KYMO_PYTHON_HANDLES;
            memset(&w.pages, 0, sizeof w.pages);
            kymo_python_task_learn(&w.python, others, "other", 5, lib, sizeof lib - 1);
            if (learnt > 0)
                kymo_python_task_learn(&w.python, handles + 16 * (learnt - 1), right,
                                       (uint32_t)strlen(right), lib, sizeof lib - 1);
            task.bytes = 77;
            kymo_python_task_find(&w.python, &w.pages, &stack, &task);
            assert_int_equal(task.bytes, known ? strlen("fetch") : 0);
            assert_true(!known || memcmp(task.name, "fetch", task.bytes) == 0);
        }
        stack.frames = 1;
        kymo_python_task_find(&w.python, &w.pages, &stack, &task);
        assert_int_equal(task.bytes, 0);
    }
}

static void the_code_that_runs_handles_is_known(void **state)
{
    (void)state;
    static const char lib[] = "/usr/lib/python3/asyncio/events.py", other[] = "/srv/events.py";
    for (uint32_t minor = 9; minor <= 14; minor++) {
        const char *right = minor >= 11 ? "Handle._run" : "_run";
        const char *wrong = minor >= 11 ? "_run" : "Handle._run";
        assert_true(
            kymo_python_runs_handles(minor, right, (uint32_t)strlen(right), lib, sizeof lib - 1));
        assert_false(kymo_python_runs_handles(minor, right, (uint32_t)strlen(right), other,
                                              sizeof other - 1));
        assert_false(
            kymo_python_runs_handles(minor, wrong, (uint32_t)strlen(wrong), lib, sizeof lib - 1));
        assert_false(kymo_python_runs_handles(minor, right, (uint32_t)strlen(right), lib, 4));
        assert_false(kymo_python_runs_handles(minor, "", 0, "", 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_task_of_each_callback_is_found, begin, end),
        cmocka_unit_test_setup_teardown(a_task_without_a_name_has_a_number, begin, end),
        cmocka_unit_test_setup_teardown(other_callbacks_and_other_objects_are_no_tasks, begin, end),
        cmocka_unit_test_setup_teardown(pointers_that_lead_nowhere_name_no_task, begin, end),
        cmocka_unit_test_setup_teardown(the_task_is_found_among_the_frames, begin, end),
        cmocka_unit_test(the_code_that_runs_handles_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
