/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_fixture.h - interpreters of each version, made of nothing but the words that the walk
 * reads.
 */
#ifndef KYMO_TESTS_PYTHON_FIXTURE_H
#define KYMO_TESTS_PYTHON_FIXTURE_H

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "unit.h"
#include "unwind/python_walk.h"

enum { NODES = 1200, NODE_BYTES = 256 };
static const uint64_t code_type = 0x123456789ab8;

/* A page that cannot be read lies behind the memory. */
static struct {
    char *memory, *gone, *state;
    struct kymo_python python;
    struct kymo_python_pages pages;
    struct kymo_python_stack stack;
    pthread_key_t key;
} w;

static inline uint64_t at_of(const char *p)
{
    return (uint64_t)(uintptr_t)p;
}

static inline void put(char *base, uint32_t offset, uint64_t value)
{
    memcpy(base + offset, &value, sizeof value);
}

/* Places of a node each: frames, code objects, structures in native frames. */
static inline char *node(uint32_t i)
{
    return w.memory + (size_t)i * NODE_BYTES;
}

static inline int begin(void **state)
{
    (void)state;
    size_t bytes = (size_t)NODES * NODE_BYTES;
    memset(&w, 0, sizeof w);
    w.memory =
        mmap(NULL, bytes + 4096 * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (w.memory == MAP_FAILED)
        return -1;
    w.gone = w.memory + bytes;
    w.state = w.gone + 4096;
    return munmap(w.gone, 4096) == 0 && pthread_key_create(&w.key, NULL) == 0 ? 0 : -1;
}

static inline int end(void **state)
{
    (void)state;
    (void)pthread_key_delete(w.key);
    return munmap(w.memory, (size_t)NODES * NODE_BYTES + 4096 * 4);
}

/* The state is 8 KiB behind what may be its own, so that no structure is taken for part of it. */
static inline void use(uint32_t minor)
{
    uint64_t table[96] = {0};
    /* Where the table has it, in 3.13 and 3.14, and its value there. */
    static const uint16_t own[][4] = {{23, 72, 26, 72},   {24, 152, 27, 152}, {29, 8, 32, 8},
                                      {30, 0, 33, 0},     {31, 56, 34, 56},   {33, 70, 36, 74},
                                      {35, 112, 40, 112}, {37, 128, 42, 128}, {38, 136, 43, 136},
                                      {39, 68, 44, 68},   {43, 200, 48, 208}, {70, 40, 80, 40}};
    uint32_t new = minor >= 14 ? 2 : 0;
    memcpy(table, "xdebugpy", 8);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(own); i++)
        table[own[i][new]] = own[i][new + 1];
    table[5] = 632;
    table[8] = 16;
    table[9] = 24;
    w.python = (struct kymo_python){.minor = minor, .code_type = code_type};
    assert_true(kymo_python_offsets_of(minor, table, &w.python.offsets));
    assert_true(kymo_python_lists_of(minor, table, &w.python.lists));
    memset(w.memory, 0, (size_t)NODES * NODE_BYTES);
    memset(node(NODES - 1), 0xdb, NODE_BYTES);
    memset(w.state, 0, 4096);
    memset(&w.pages, 0, sizeof w.pages);
}

/* A code object in a node. */
static inline char *make_code(uint32_t i)
{
    put(node(i), 8, code_type);
    return node(i);
}

/* A frame in a node, with its code and its caller. */
static inline char *make_frame(uint32_t i, const char *code, uint32_t at, const char *back)
{
    const struct kymo_python_offsets *o = &w.python.offsets;
    uint32_t minor = w.python.minor;
    put(node(i), o->code, at_of(code) | (minor >= 14 ? i % 4 : 0)); /* a tagged reference */
    put(node(i), o->back, at_of(back));
    put(node(i), o->at,
        minor < 10    ? at
        : minor == 10 ? at / 2
                      : at_of(code) + o->instructions + at);
    return node(i);
}

/* 3.11 and later: the thread's frames lie from node 40 on, the next one will be in node 60, and no
 * more than up to node 80. */
static inline void make_chunk(void)
{
    const uint32_t at = w.python.offsets.chunk;
    put(node(40), 8, at_of(node(80)) - at_of(node(40)));
    put(w.state, at, at_of(node(40)));
    put(w.state, at + 8, at_of(node(60)));
    put(w.state, at + 16, at_of(node(80)));
}

/* A frame of 3.12 and later that lies in the evaluator's own, and is a mark. */
static inline char *make_shim(uint32_t i, const char *back)
{
    const struct kymo_python_offsets *o = &w.python.offsets;
    put(node(i), o->code, 0x1230); /* None: it is not looked at */
    put(node(i), o->back, at_of(back));
    node(i)[o->owner] = 3;
    return node(i);
}

static inline char *make_cframe(uint32_t i, const char *current, const char *outer)
{
    put(node(i), w.python.offsets.current, at_of(current));
    put(node(i), w.python.offsets.outer, at_of(outer));
    return node(i);
}

/* 3.11: the outermost one lies in the state. */
static inline char *state_cframe(void)
{
    return w.state + 512;
}

/* An inner evaluator with two frames, an outer one with one: up to 3.10 three evaluators. Returns
 * where the walk begins. */
static inline char *make_chain(void)
{
    char *a = make_code(0), *b = make_code(1), *c = make_code(2);
    uint32_t minor = w.python.minor;
    if (minor <= 10)
        return make_frame(10, a, 4, make_frame(11, b, 6, make_frame(12, c, 8, NULL)));
    if (minor == 11) {
        char *outermost = make_frame(12, c, 8, NULL);
        char *first = make_cframe(21, outermost, state_cframe());
        char *inner = make_frame(10, a, 4, make_frame(11, b, 6, outermost));
        put(state_cframe(), w.python.offsets.current, 0);
        return make_cframe(20, inner, first);
    }
    char *inner = make_frame(
        10, a, 4, make_frame(11, b, 6, make_shim(20, make_frame(12, c, 8, make_shim(21, NULL)))));
    return minor == 12 ? make_cframe(22, inner, NULL) : inner;
}

#endif
