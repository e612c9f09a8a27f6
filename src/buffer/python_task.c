/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_task.c - see python_task.h.
 *
 * The loop runs a task's step from Handle._run, whose frame holds its Handle, which holds the
 * callback: a method of a task, made in C. There is no other place that can be read without the
 * interpreter's help: up to 3.13 the running tasks are in a dict by loop, which another thread may
 * be rebuilding. Each object is known by its type's name before a member of it is read.
 */
#include "buffer/python_task.h"

#include <string.h>

#include "base/atomic.h"
#include "buffer/code_copy.h"

/* Of all versions: PyObject, PyTypeObject, asyncio.Handle, what calls a task's step or wakes it,
 * a bound function of C. */
#define TYPE_AT 8u
#define TYPE_NAME_AT 24u
#define TYPE_FLAGS_AT 168u
#define TYPE_BASE_AT 256u
#define HANDLE_CALLBACK_AT 24u
#define STEP_TASK_AT 16u
#define FUNCTION_SELF_AT 24u
#define INT_SIZE_AT 16u
#define INT_DIGIT_AT 24u
#define TYPE_IS_INT (1u << 24)
#define TYPE_IS_STR (1u << 28)
#define TAG 3u
#define BASES_MAX 4u

struct reader {
    const struct kymo_python *python;
    struct kymo_python_pages *pages;
};

static int load(const struct reader *r, uint64_t address, uint64_t *value)
{
    return kymo_python_load(r->pages, address, value);
}

/* Whether the type's name is this one, with or without its module. */
static int is_named(const struct reader *r, uint64_t type, const char *name)
{
    static const char module[] = "_asyncio.";
    char text[40];
    uint64_t at;
    size_t len = strlen(name) + 1, lead = sizeof module - 1;
    if (!load(r, type + TYPE_NAME_AT, &at))
        return 0;
    if (kymo_python_copy(r->pages, at, text, len) && memcmp(text, name, len) == 0)
        return 1;
    return kymo_python_copy(r->pages, at, text, lead + len) && memcmp(text, module, lead) == 0 &&
           memcmp(text + lead, name, len) == 0;
}

static int is_a(const struct reader *r, uint64_t object, const char *name)
{
    uint64_t type;
    return load(r, object + TYPE_AT, &type) && is_named(r, type, name);
}

/* A class of the program's own may be derived from it. */
static int is_task(const struct reader *r, uint64_t object)
{
    uint64_t type;
    if (!load(r, object + TYPE_AT, &type))
        return 0;
    for (uint32_t i = 0; type && i < BASES_MAX; i++) {
        if (is_named(r, type, "Task"))
            return 1;
        if (!load(r, type + TYPE_BASE_AT, &type))
            return 0;
    }
    return 0;
}

/* The task whose step the frame runs; 0: it runs something else. */
static uint64_t task_of(const struct reader *r, uint64_t frame)
{
    uint64_t handle, callback, task = 0;
    if (!load(r, frame + r->python->offsets.locals, &handle))
        return 0;
    if (r->python->minor >= 14)
        handle &= ~(uint64_t)TAG;
    if (!load(r, handle + HANDLE_CALLBACK_AT, &callback) || !callback)
        return 0;
    if (is_a(r, callback, "builtin_function_or_method")
            ? !load(r, callback + FUNCTION_SELF_AT, &task)
        : is_a(r, callback, "TaskStepMethWrapper") || is_a(r, callback, "TaskWakeupMethWrapper")
            ? !load(r, callback + STEP_TASK_AT, &task)
            : 1)
        return 0;
    return task && is_task(r, task) ? task : 0;
}

/* From 3.12 on a task without a name has a number, until it is asked for it. */
static uint32_t put_number(uint64_t number, char *name)
{
    static const char lead[] = "Task-";
    char digits[20];
    uint32_t n = 0, used = sizeof lead - 1;
    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    memcpy(name, lead, used);
    while (n > 0)
        name[used++] = digits[--n];
    return used;
}

uint32_t kymo_python_task_of(const struct kymo_python *python, struct kymo_python_pages *pages,
                             uint64_t frame, char name[KYMO_PYTHON_TASK_MAX])
{
    const struct reader r = {python, pages};
    uint64_t task = task_of(&r, frame), object, type, flags, size, digit;
    if (!task || !load(&r, task + python->offsets.task_name, &object) ||
        !load(&r, object + TYPE_AT, &type) || !load(&r, type + TYPE_FLAGS_AT, &flags))
        return 0;
    if (flags & TYPE_IS_STR)
        return kymo_code_text(python, pages, object, name, KYMO_PYTHON_TASK_MAX);
    /* One digit of 30 bits, and positive. */
    if (!(flags & TYPE_IS_INT) || python->minor < 12 || !load(&r, object + INT_SIZE_AT, &size) ||
        !load(&r, object + INT_DIGIT_AT, &digit) || size >> 3 != 1 || size & 3)
        return 0;
    return put_number((uint32_t)digit, name);
}

static bool is_handles(const struct kymo_python *python, uint64_t code)
{
    uint64_t known = 1;
    for (uint32_t i = 0; known && i < KYMO_PYTHON_HANDLES; i++) {
        known = kymo_load_relaxed(&python->handle_codes[i]);
        if (known == code)
            return true;
    }
    return false;
}

void kymo_python_task_find(const struct kymo_python *python, struct kymo_python_pages *pages,
                           const struct kymo_python_stack *stack, struct kymo_python_task *out)
{
    uint32_t i = 0;
    out->bytes = 0;
    if (!kymo_load_relaxed(&python->handle_codes[0]))
        return;
    while (i < stack->frames && !is_handles(python, stack->frame[i].code))
        i++;
    if (i < stack->frames)
        out->bytes = kymo_python_task_of(python, pages, stack->frame[i].address, out->name);
}

int kymo_python_runs_handles(uint32_t minor, const char *name, uint32_t name_len, const char *file,
                             uint32_t file_len)
{
    static const char qualified[] = "Handle._run", plain[] = "_run", end[] = "/asyncio/events.py";
    const char *wanted = minor >= 11 ? qualified : plain;
    uint32_t len = (uint32_t)(minor >= 11 ? sizeof qualified : sizeof plain) - 1;
    uint32_t end_len = sizeof end - 1;
    return name_len == len && memcmp(name, wanted, len) == 0 && file_len >= end_len &&
           memcmp(file + file_len - end_len, end, end_len) == 0;
}

void kymo_python_task_learn(struct kymo_python *python, uint64_t code, const char *name,
                            uint32_t name_len, const char *file, uint32_t file_len)
{
    if (!kymo_python_runs_handles(python->minor, name, name_len, file, file_len))
        return;
    uint32_t at = kymo_add_relaxed(&python->handles, 1u) % KYMO_PYTHON_HANDLES;
    kymo_store_relaxed(&python->handle_codes[at], code);
}
