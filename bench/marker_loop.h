/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marker_loop.h - how a marker of any library is measured: the same loops, the same floor.
 *
 * Each kind is a function of its own that is called in a loop, in batches; those of all kinds, of
 * an empty function, and of the floors take turns. A floor is the bare write of a record of as many
 * bytes, with a timestamp, to a ring of the thread's own, and the head that would tell a reader. It
 * is measured in two places: warm, in lines that the batch before it has just written, which is the
 * best that any memory can do, and cold, in lines that 64 MiB of others have driven out.
 */
#ifndef KYMO_BENCH_MARKER_LOOP_H
#define KYMO_BENCH_MARKER_LOOP_H

#include <stdint.h>

struct loop_kind {
    const char *name;
    void (*run)(uint32_t n);
    uint32_t batch;
    uint32_t marks; /* that one call leaves with the library */
};

struct loop_program {
    const char *name;
    const struct loop_kind *kinds;
    uint32_t count;
    void (*prepare)(void); /* before a batch, not measured; or NULL */
};

enum { LOOP_BATCH = 8192 };

/* Of the calling thread, from 0 on. */
extern __thread uint32_t loop_thread;
/* What all kinds have for a text: 18 bytes. */
extern const char *volatile loop_text;

/* The call is part of what is measured: a marker stands in a function that does something else. */
#define LOOP_OPERATION(name, ...)                               \
    static __attribute__((noinline)) void do_##name(uint64_t i) \
    {                                                           \
        (void)i;                                                \
        __asm__ volatile("");                                   \
        __VA_ARGS__;                                            \
    }                                                           \
    static void run_##name(uint32_t n)                          \
    {                                                           \
        for (uint32_t i = 0; i < n; i++)                        \
            do_##name(i);                                       \
    }
#define LOOP_KIND_OF(name, batch, marks) \
    {                                    \
#name, run_##name, batch, marks  \
    }
#define LOOP_KIND(name) LOOP_KIND_OF(name, LOOP_BATCH, 1)

/* Of a program's arguments: ROUNDS THREADS [FLOOR...] measures, and prints a line for each kind and
 * each place of a floor; count N KIND... is for callgrind: loop_counted is called twice for each,
 * for N and for 2 N calls. Returns an exit status. */
int loop_main(const struct loop_program *program, int argc, char **argv);
void loop_counted(void (*run)(uint32_t), uint32_t n);
/* How many marks the library should have by now. */
uint64_t loop_marks(const struct loop_program *program);

#endif
