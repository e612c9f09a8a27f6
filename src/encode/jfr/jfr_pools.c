/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jfr_pools.c - constants as they are first used.
 *
 * A frame of JFR is a method of a class, with a line. Here the class is the file that the code is
 * in, as async-profiler has it: readers show `libc.so.6.malloc`. A function that is inlined is a
 * frame of its own.
 */
#include "encode/jfr/jfr_pools.h"

#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/key_map.h"
#include "encode/jfr/jfr_types.h"

enum { MODIFIERS_NATIVE = 0x100 };

/* async-profiler's converter goes by these numbers: 3 to 5 are code that is not of Java, if there
 * is a 5, and are shown by their function's name alone. Other readers go by the names. */
enum { FRAME_JIT = 1, FRAME_NATIVE = 3, FRAME_INLINED = 4, FRAME_KERNEL = 5, FRAME_TYPES };
static const char *const frame_type_names[FRAME_TYPES] = {[FRAME_JIT] = "JIT compiled",
                                                          [FRAME_NATIVE] = "Native",
                                                          [FRAME_INLINED] = "Inlined",
                                                          [FRAME_KERNEL] = "Kernel"};
static const char *const state_names[KYMO_JFR_STATE_END] = {
    [KYMO_JFR_STATE_DEFAULT] = "STATE_DEFAULT",   [KYMO_JFR_STATE_RUNNABLE] = "STATE_RUNNABLE",
    [KYMO_JFR_STATE_SLEEPING] = "STATE_SLEEPING", [KYMO_JFR_STATE_BLOCKED] = "STATE_BLOCKED",
    [KYMO_JFR_STATE_UNKNOWN] = "STATE_UNKNOWN",
};

/* A reader shows the number as the tid. Of threads that had the same one, in other processes or one
 * after the other, the first one has it. */
static kymo_err number_threads(kymo_jfr_pools *pools)
{
    kymo_key_map first = {0};
    kymo_err err = KYMO_OK;
    for (uint32_t i = 0; err == KYMO_OK && i < pools->p->threads.len; i++) {
        int32_t tid = pools->p->threads.data[i].tid;
        int is_taken = tid <= 0 || tid >= (int32_t)KYMO_THREADS_MAX * 2 ||
                       kymo_key_map_find(&first, (uint64_t)tid);
        pools->thread_numbers[i] = is_taken ? KYMO_THREADS_MAX * 2 + i : (uint32_t)tid;
        if (!is_taken)
            err = kymo_key_map_put(&first, (uint64_t)tid, i);
    }
    kymo_key_map_deinit(&first);
    return err;
}

kymo_err kymo_jfr_pools_init(kymo_jfr_pools *pools, const kymo_profile *p)
{
    /* One more stack and method is that of no stack; a frame without names is a method and a
     * symbol, too. */
    const size_t most[KYMO_JFR_POOL_COUNT] = {
        [KYMO_JFR_POOL_THREADS] = p->threads.len,
        [KYMO_JFR_POOL_STACKS] = p->stack_frame.len + 1,
        [KYMO_JFR_POOL_METHODS] = p->functions.len + p->frames.len + 1,
        [KYMO_JFR_POOL_CLASSES] = p->strings.len,
        [KYMO_JFR_POOL_SYMBOLS] = p->strings.len + p->frames.len + 2,
    };
    *pools = (kymo_jfr_pools){.p = p, .chunk = 1};
    pools->truncated_name = kymo_profile_find_string(p, "[truncated stack]", 17);
    for (unsigned i = 0; i < KYMO_JFR_POOL_COUNT; i++) {
        pools->pool[i].chunk_of = calloc(most[i] + 1, sizeof(uint32_t));
        if (!pools->pool[i].chunk_of)
            return KYMO_E_NOMEM;
    }
    pools->thread_numbers = calloc(p->threads.len + 1, sizeof(uint32_t));
    return pools->thread_numbers ? number_threads(pools) : KYMO_E_NOMEM;
}

void kymo_jfr_pools_deinit(kymo_jfr_pools *pools)
{
    for (unsigned i = 0; i < KYMO_JFR_POOL_COUNT; i++) {
        kymo_jfr_bytes_deinit(&pools->pool[i].bytes);
        free(pools->pool[i].chunk_of);
    }
    free(pools->thread_numbers);
}

void kymo_jfr_pools_clear(kymo_jfr_pools *pools)
{
    for (unsigned i = 0; i < KYMO_JFR_POOL_COUNT; i++) {
        pools->pool[i].count = 0;
        kymo_jfr_bytes_clear(&pools->pool[i].bytes);
    }
    pools->frame_types = pools->states = 0;
    pools->chunk++;
}

size_t kymo_jfr_pools_size(const kymo_jfr_pools *pools)
{
    size_t size = 0;
    for (unsigned i = 0; i < KYMO_JFR_POOL_COUNT; i++)
        size += pools->pool[i].bytes.len;
    return size;
}

int kymo_jfr_pools_failed(const kymo_jfr_pools *pools)
{
    int failed = 0;
    for (unsigned i = 0; i < KYMO_JFR_POOL_COUNT; i++)
        failed |= pools->pool[i].bytes.failed;
    return failed;
}

/* Whether the constant is not in the chunk yet; its number is written then, and its value is to
 * follow. */
static int is_new(kymo_jfr_pools *pools, unsigned which, uint32_t id, uint32_t key)
{
    kymo_jfr_pool *pool = &pools->pool[which];
    if (kymo_likely(pool->chunk_of[id] == pools->chunk))
        return 0;
    pool->chunk_of[id] = pools->chunk;
    pool->count++;
    kymo_jfr_varint(&pool->bytes, key);
    return 1;
}

/* ---- symbols and classes ---- */

static uint32_t add_symbol(kymo_jfr_pools *pools, uint32_t id, const char *text, size_t len)
{
    if (is_new(pools, KYMO_JFR_POOL_SYMBOLS, id, id + 1))
        kymo_jfr_string(&pools->pool[KYMO_JFR_POOL_SYMBOLS].bytes, text, len);
    return id + 1;
}

static uint32_t symbol_key(kymo_jfr_pools *pools, uint32_t string)
{
    const kymo_text *text = &pools->p->strings.data[string];
    return add_symbol(pools, string, text->data, text->len);
}

/* Those of our own, and of frames without a name, come behind the profile's. */
enum { SYMBOL_DESCRIPTOR, SYMBOL_NO_STACK, OWN_SYMBOLS };

static uint32_t own_symbol_key(kymo_jfr_pools *pools, uint32_t which, const char *text)
{
    return add_symbol(pools, (uint32_t)pools->p->strings.len + which, text, strlen(text));
}

static uint32_t label_key(kymo_jfr_pools *pools, uint32_t frame)
{
    char text[KYMO_STRING_MAX + 32];
    kymo_profile_frame_label(pools->p, frame, text, sizeof text);
    return own_symbol_key(pools, OWN_SYMBOLS + frame, text);
}

/* A module's name, or "", with which readers show a function's name alone: so they do generated
 * code. */
static uint32_t class_name(const kymo_profile *p, uint32_t module)
{
    if (module >= p->modules.len || p->modules.data[module].category == KYMO_CATEGORY_JIT)
        return 0;
    return p->module_ids.data[module].name;
}

static uint32_t class_key(kymo_jfr_pools *pools, uint32_t module)
{
    kymo_jfr_bytes *bytes = &pools->pool[KYMO_JFR_POOL_CLASSES].bytes;
    uint32_t name = class_name(pools->p, module);
    if (is_new(pools, KYMO_JFR_POOL_CLASSES, name, name + 1)) {
        kymo_jfr_varint(bytes, 0); /* class loader */
        kymo_jfr_varint(bytes, symbol_key(pools, name));
        kymo_jfr_varint(bytes, 0); /* package */
        kymo_jfr_varint(bytes, 0); /* modifiers */
    }
    return name + 1;
}

/* ---- methods ---- */

static void put_method(kymo_jfr_pools *pools, uint32_t module, uint32_t symbol)
{
    kymo_jfr_bytes *bytes = &pools->pool[KYMO_JFR_POOL_METHODS].bytes;
    kymo_jfr_varint(bytes, class_key(pools, module));
    kymo_jfr_varint(bytes, symbol);
    kymo_jfr_varint(bytes, own_symbol_key(pools, SYMBOL_DESCRIPTOR, "()V"));
    kymo_jfr_varint(bytes, MODIFIERS_NATIVE);
    kymo_jfr_u8(bytes, 0); /* hidden */
}

static uint32_t function_key(kymo_jfr_pools *pools, uint32_t function)
{
    const kymo_function *f = &pools->p->functions.data[function];
    if (is_new(pools, KYMO_JFR_POOL_METHODS, function, function + 1))
        put_method(pools, f->module, symbol_key(pools, f->name));
    return function + 1;
}

static uint32_t unnamed_key(kymo_jfr_pools *pools, uint32_t frame)
{
    uint32_t id = (uint32_t)pools->p->functions.len + frame;
    if (is_new(pools, KYMO_JFR_POOL_METHODS, id, id + 1))
        put_method(pools, pools->p->frames.data[frame].module, label_key(pools, frame));
    return id + 1;
}

static uint32_t no_stack_key(kymo_jfr_pools *pools)
{
    uint32_t id = (uint32_t)(pools->p->functions.len + pools->p->frames.len);
    if (is_new(pools, KYMO_JFR_POOL_METHODS, id, id + 1))
        put_method(pools, KYMO_NONE, own_symbol_key(pools, SYMBOL_NO_STACK, KYMO_NO_STACK_NAME));
    return id + 1;
}

/* ---- stacks ---- */

static uint32_t frame_type(kymo_jfr_pools *pools, uint8_t category, int is_inlined)
{
    uint32_t type = category == KYMO_CATEGORY_KERNEL ? FRAME_KERNEL
                    : is_inlined                     ? FRAME_INLINED
                    : category == KYMO_CATEGORY_JIT  ? FRAME_JIT
                                                     : FRAME_NATIVE;
    pools->frame_types |= 1u << type | 1u << FRAME_KERNEL;
    return type;
}

static void put_frame(kymo_jfr_pools *pools, uint32_t method, uint32_t line, uint32_t type)
{
    kymo_jfr_bytes *bytes = &pools->pool[KYMO_JFR_POOL_STACKS].bytes;
    kymo_jfr_varint(bytes, method);
    kymo_jfr_varint(bytes, line);
    kymo_jfr_varint(bytes, 0); /* bytecode index */
    kymo_jfr_varint(bytes, type);
}

/* Innermost first, as in the file; the last line is of the function that the others are in. */
static void put_frames(kymo_jfr_pools *pools, uint32_t frame)
{
    const kymo_frame *f = &pools->p->frames.data[frame];
    if (f->line_count == 0)
        put_frame(pools, unnamed_key(pools, frame), 0, frame_type(pools, f->category, 0));
    for (uint32_t i = 0; i < f->line_count; i++) {
        const kymo_line *line = &pools->p->lines.data[f->first_line + i];
        put_frame(pools, function_key(pools, line->function), line->line,
                  frame_type(pools, f->category, i + 1 < f->line_count));
    }
}

static uint64_t count_frames(const kymo_profile *p, uint32_t stack, uint32_t *outermost)
{
    uint64_t count = 0;
    for (; stack != KYMO_NONE; stack = p->stack_parent.data[stack]) {
        *outermost = p->stack_frame.data[stack];
        uint32_t lines = p->frames.data[*outermost].line_count;
        count += lines ? lines : 1;
    }
    return count;
}

static int is_truncated(const kymo_jfr_pools *pools, uint32_t outermost)
{
    const kymo_frame *f = &pools->p->frames.data[outermost];
    return f->address == KYMO_NO_ADDRESS && f->line_count == 1 &&
           pools->p->functions.data[pools->p->lines.data[f->first_line].function].name ==
               pools->truncated_name;
}

static void put_stack(kymo_jfr_pools *pools, uint32_t stack)
{
    kymo_jfr_bytes *bytes = &pools->pool[KYMO_JFR_POOL_STACKS].bytes;
    uint32_t outermost = 0;
    uint64_t count = count_frames(pools->p, stack, &outermost);
    kymo_jfr_u8(bytes, (uint8_t)is_truncated(pools, outermost));
    kymo_jfr_varint(bytes, count);
    for (; stack != KYMO_NONE; stack = pools->p->stack_parent.data[stack])
        put_frames(pools, pools->p->stack_frame.data[stack]);
}

static void put_no_stack(kymo_jfr_pools *pools)
{
    kymo_jfr_bytes *bytes = &pools->pool[KYMO_JFR_POOL_STACKS].bytes;
    kymo_jfr_u8(bytes, 1);
    kymo_jfr_varint(bytes, 1);
    put_frame(pools, no_stack_key(pools), 0, frame_type(pools, KYMO_CATEGORY_OTHER, 0));
}

uint32_t kymo_jfr_stack_key(kymo_jfr_pools *pools, uint32_t stack)
{
    uint32_t id = stack != KYMO_NONE ? stack : (uint32_t)pools->p->stack_frame.len;
    if (kymo_likely(!is_new(pools, KYMO_JFR_POOL_STACKS, id, id + 1)))
        return id + 1;
    if (stack != KYMO_NONE)
        put_stack(pools, stack);
    else
        put_no_stack(pools);
    return id + 1;
}

/* ---- threads and states ---- */

uint32_t kymo_jfr_thread_key(kymo_jfr_pools *pools, uint32_t thread)
{
    kymo_jfr_bytes *bytes = &pools->pool[KYMO_JFR_POOL_THREADS].bytes;
    if (thread >= pools->p->threads.len)
        return 0;
    uint32_t key = pools->thread_numbers[thread];
    if (kymo_likely(!is_new(pools, KYMO_JFR_POOL_THREADS, thread, key)))
        return key;
    const kymo_thread *t = &pools->p->threads.data[thread];
    kymo_jfr_cstr(bytes, t->name);
    /* A long, of which async-profiler's converter reads five bytes at most. */
    kymo_jfr_varint(bytes, t->tid > 0 ? (uint64_t)t->tid : 0);
    kymo_jfr_cstr(bytes, NULL); /* it is no thread of Java */
    kymo_jfr_varint(bytes, 0);
    return key;
}

uint32_t kymo_jfr_state_key(kymo_jfr_pools *pools, kymo_jfr_state state)
{
    pools->states |= 1u << state;
    return state;
}

/* ---- the event ---- */

static void put_names(kymo_jfr_bytes *out, uint32_t type, const char *const *names, uint32_t used)
{
    if (!used)
        return;
    kymo_jfr_varint(out, type);
    kymo_jfr_varint(out, (uint64_t)__builtin_popcount(used));
    for (uint32_t i = 0; used >> i; i++)
        if (used >> i & 1) {
            kymo_jfr_varint(out, i);
            kymo_jfr_cstr(out, names[i]);
        }
}

void kymo_jfr_pools_write(const kymo_jfr_pools *pools, kymo_jfr_bytes *out, uint64_t start_ticks)
{
    static const uint32_t types[KYMO_JFR_POOL_COUNT] = {
        [KYMO_JFR_POOL_THREADS] = KYMO_JFR_THREAD, [KYMO_JFR_POOL_STACKS] = KYMO_JFR_STACK_TRACE,
        [KYMO_JFR_POOL_METHODS] = KYMO_JFR_METHOD, [KYMO_JFR_POOL_CLASSES] = KYMO_JFR_CLASS,
        [KYMO_JFR_POOL_SYMBOLS] = KYMO_JFR_SYMBOL,
    };
    size_t count = (size_t)(pools->frame_types != 0) + (pools->states != 0);
    for (unsigned i = 0; i < KYMO_JFR_POOL_COUNT; i++)
        count += pools->pool[i].count > 0;
    size_t begin = kymo_jfr_event_begin(out, KYMO_JFR_CONSTANTS);
    kymo_jfr_varint(out, start_ticks);
    kymo_jfr_varint(out, 0); /* duration */
    kymo_jfr_varint(out, 0); /* there are no pools before this one in the chunk */
    kymo_jfr_u8(out, 0);
    kymo_jfr_varint(out, count);
    put_names(out, KYMO_JFR_FRAME_TYPE, frame_type_names, pools->frame_types);
    put_names(out, KYMO_JFR_THREAD_STATE, state_names, pools->states);
    for (unsigned i = 0; i < KYMO_JFR_POOL_COUNT; i++)
        if (pools->pool[i].count > 0) {
            kymo_jfr_varint(out, types[i]);
            kymo_jfr_varint(out, pools->pool[i].count);
            kymo_jfr_raw(out, pools->pool[i].bytes.data, pools->pool[i].bytes.len);
        }
    kymo_jfr_event_end(out, begin);
}
