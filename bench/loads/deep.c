/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deep.c THREADS CALLS - CPU-bound work at the end of 60 calls of functions which all differ: each
 * thread goes down and up again CALLS times in all, and is busy for some 100 us at the bottom.
 *
 * The frames are of many sizes and 12 KiB together, as in real programs: a profiler that copies the
 * top of the stack (perf's --call-graph dwarf: 8 KiB unless told otherwise) must show what it makes
 * of that. Built twice: without frame pointers, as Debian's packages are, and with them.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A function that stays one, under its own name. */
#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noipa))
#endif

enum { SPIN = 80000, MOST_THREADS = 64 };

typedef struct work {
    uint64_t calls;
    uint64_t sum;
} work;

static KEPT uint64_t bottom(uint64_t x)
{
    for (int i = 0; i < SPIN; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

/* n: the function's number, which sets the size of its frame; next: what it calls. The value that
 * comes back is used, so that no call becomes a jump. */
#define LEVEL(n, next)                                   \
    static KEPT uint64_t level_##n(uint64_t x)           \
    {                                                    \
        volatile uint64_t kept[8 + ((n)*7) % 24];        \
        enum { LAST = sizeof(kept) / sizeof(*kept) };    \
        kept[0] = x;                                     \
        kept[LAST - 1] = x + (n);                        \
        return next(x ^ (n)) + kept[0] + kept[LAST - 1]; \
    }

LEVEL(60, bottom)
LEVEL(59, level_60)
LEVEL(58, level_59)
LEVEL(57, level_58)
LEVEL(56, level_57)
LEVEL(55, level_56)
LEVEL(54, level_55)
LEVEL(53, level_54)
LEVEL(52, level_53)
LEVEL(51, level_52)
LEVEL(50, level_51)
LEVEL(49, level_50)
LEVEL(48, level_49)
LEVEL(47, level_48)
LEVEL(46, level_47)
LEVEL(45, level_46)
LEVEL(44, level_45)
LEVEL(43, level_44)
LEVEL(42, level_43)
LEVEL(41, level_42)
LEVEL(40, level_41)
LEVEL(39, level_40)
LEVEL(38, level_39)
LEVEL(37, level_38)
LEVEL(36, level_37)
LEVEL(35, level_36)
LEVEL(34, level_35)
LEVEL(33, level_34)
LEVEL(32, level_33)
LEVEL(31, level_32)
LEVEL(30, level_31)
LEVEL(29, level_30)
LEVEL(28, level_29)
LEVEL(27, level_28)
LEVEL(26, level_27)
LEVEL(25, level_26)
LEVEL(24, level_25)
LEVEL(23, level_24)
LEVEL(22, level_23)
LEVEL(21, level_22)
LEVEL(20, level_21)
LEVEL(19, level_20)
LEVEL(18, level_19)
LEVEL(17, level_18)
LEVEL(16, level_17)
LEVEL(15, level_16)
LEVEL(14, level_15)
LEVEL(13, level_14)
LEVEL(12, level_13)
LEVEL(11, level_12)
LEVEL(10, level_11)
LEVEL(9, level_10)
LEVEL(8, level_9)
LEVEL(7, level_8)
LEVEL(6, level_7)
LEVEL(5, level_6)
LEVEL(4, level_5)
LEVEL(3, level_4)
LEVEL(2, level_3)
LEVEL(1, level_2)

static void *run(void *argument)
{
    work *w = argument;
    for (uint64_t i = 0; i < w->calls; i++)
        w->sum += level_1(w->sum + i);
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    uint64_t calls = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000;
    if (argc > 3 || threads < 1 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: deep [THREADS [CALLS]]\n");
        return 2;
    }
    work works[MOST_THREADS] = {{0}};
    pthread_t others[MOST_THREADS];
    for (int i = 0; i < threads; i++)
        works[i].calls = calls / (uint64_t)threads;
    /* The first thread works, too: with one, the program has no other. */
    for (int i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, run, &works[i]) != 0) {
            fprintf(stderr, "deep: no thread\n");
            return 3;
        }
    run(&works[0]);
    uint64_t sum = works[0].sum;
    for (int i = 1; i < threads; i++) {
        pthread_join(others[i], NULL);
        sum += works[i].sum;
    }
    printf("%llx\n", (unsigned long long)sum);
    return 0;
}
