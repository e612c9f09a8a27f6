/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_alloc_hooks.c - the hooks stand in front of this very program's allocator, as an
 * executable's own functions do, and what they say of each call is what was called.
 *
 * Between BEGIN and END no other code calls anything.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "base/attr.h"
#include "capture/alloc.h"
#include "capture/alloc_next.h"
#include "capture/alloc_words.h"
#include "capture/state.h"
#include "unit.h"

/* ---- what alloc.c would be told ---- */

static struct {
    int draws, notes, frees, taken, put_back, resizes, maps;
    size_t drawn_bytes, bytes, usable, usable_before;
    void *block, *freed;
    int was_alive; /* the block that is about to be freed has its bytes still */
    uint64_t id, address, map_bytes, before, bytes_before;
    uint32_t op, how;
    enum kymo_alloc_family family;
} told;
static int draws_each;
static uint64_t id_of_table;

__thread struct kymo_alloc_self kymo_alloc_self KYMO_TLS_IE __attribute__((aligned(16)));
uint32_t kymo_alloc_allocator;
struct kymo_alloc_words_from kymo_alloc_words_from;
uint32_t kymo_quiet_here;
__thread uint32_t kymo_quiet_vfork KYMO_TLS_IE;
uint8_t kymo_alloc_filter[KYMO_ALLOC_FILTER_BYTES];

struct kymo_alloc_draw kymo_alloc_draw(size_t bytes, uint64_t here)
{
    (void)here;
    told.draws++;
    told.drawn_bytes = bytes;
    kymo_alloc_self.until = draws_each ? -1 : KYMO_ALLOC_NEVER;
    return (struct kymo_alloc_draw){(uint32_t)draws_each, 1};
}

void kymo_alloc_note(struct kymo_alloc_draw draw, void *block, size_t bytes, size_t usable,
                     enum kymo_alloc_family family, uint64_t here)
{
    (void)draw;
    (void)here;
    told.notes++;
    told.block = block;
    told.bytes = bytes;
    told.usable = usable;
    told.family = family;
}

void kymo_alloc_note_free(void *block, uint64_t here)
{
    (void)here;
    told.frees++;
    told.freed = block;
    told.was_alive = *(const unsigned char *)block == 0x5a;
}

uint64_t kymo_alloc_take_out(void *block)
{
    told.taken++;
    told.freed = block;
    return id_of_table;
}

void kymo_alloc_put_back(void *block, uint64_t id)
{
    told.put_back++;
    told.block = block;
    told.id = id;
}

void kymo_alloc_note_resize(struct kymo_alloc_draw draw, uint64_t id, void *block, size_t bytes,
                            size_t usable, size_t usable_before, uint64_t here)
{
    (void)draw;
    (void)here;
    told.resizes++;
    told.id = id;
    told.block = block;
    told.bytes = bytes;
    told.usable = usable;
    told.usable_before = usable_before;
}

void kymo_alloc_note_map(uint32_t op, uint32_t how, uint64_t address, uint64_t bytes,
                         uint64_t before, uint64_t bytes_before, uint64_t here)
{
    (void)here;
    told.maps++;
    told.op = op;
    told.how = how;
    told.address = address;
    told.map_bytes = bytes;
    told.before = before;
    told.bytes_before = bytes_before;
}

#define BEGIN()                               \
    do {                                      \
        memset(&told, 0, sizeof told);        \
        draws_each = 1;                       \
        kymo_alloc_self.until = -1;           \
        count_before = kymo_alloc_self.count; \
    } while (0)
#define END()                                         \
    do {                                              \
        draws_each = 0;                               \
        kymo_alloc_self.until = KYMO_ALLOC_NEVER;     \
        count = kymo_alloc_self.count - count_before; \
    } while (0)
static uint64_t count_before, count;

/* One call, that gives a block of so many bytes, and is told of once. */
#define EXPECT_BLOCK(call, size, what)                             \
    do {                                                           \
        BEGIN();                                                   \
        void *block_ = call;                                       \
        END();                                                     \
        assert_non_null(block_);                                   \
        assert_int_equal(count, 1);                                \
        assert_int_equal(told.draws, 1);                           \
        assert_int_equal(told.drawn_bytes, size);                  \
        assert_int_equal(told.notes, 1);                           \
        assert_ptr_equal(told.block, block_);                      \
        assert_int_equal(told.bytes, size);                        \
        assert_int_equal(told.usable, malloc_usable_size(block_)); \
        assert_int_equal(told.family, what);                       \
        free(block_);                                              \
    } while (0)

static void *by_posix_memalign(size_t align, size_t bytes)
{
    void *block = NULL;
    return posix_memalign(&block, align, bytes) == 0 ? block : NULL;
}

static void each_function_is_told_of(void **state)
{
    (void)state;
    EXPECT_BLOCK(malloc(100), 100, KYMO_ALLOC_MALLOC);
    EXPECT_BLOCK(malloc(0), 0, KYMO_ALLOC_MALLOC);
    EXPECT_BLOCK(calloc(7, 11), 77, KYMO_ALLOC_CALLOC);
    EXPECT_BLOCK(realloc(NULL, 50), 50, KYMO_ALLOC_REALLOC);
    EXPECT_BLOCK(reallocarray(NULL, 6, 9), 54, KYMO_ALLOC_REALLOC);
    EXPECT_BLOCK(aligned_alloc(64, 128), 128, KYMO_ALLOC_ALIGNED);
    EXPECT_BLOCK(memalign(64, 100), 100, KYMO_ALLOC_ALIGNED);
    EXPECT_BLOCK(by_posix_memalign(256, 33), 33, KYMO_ALLOC_ALIGNED);
    EXPECT_BLOCK(valloc(10), 10, KYMO_ALLOC_ALIGNED);
    EXPECT_BLOCK(pvalloc(10), 10, KYMO_ALLOC_ALIGNED);
}

static void what_passes_is_only_taken_off(void **state)
{
    (void)state;
    BEGIN();
    draws_each = 0;
    kymo_alloc_self.until = 1000;
    void *volatile a = malloc(300);
    void *volatile b = calloc(2, 50);
    void *volatile c = aligned_alloc(64, 600);
    int64_t left = kymo_alloc_self.until;
    int draws = told.draws;
    void *volatile d = malloc(1); /* the one below 0 */
    END();
    assert_int_equal(left, 0);
    assert_int_equal(draws, 0);
    assert_int_equal(told.draws, 1);
    assert_int_equal(told.notes, 0);
    assert_int_equal(count, 4);
    free(a);
    free(b);
    free(c);
    free(d);
}

static void what_fails_is_not_told_of(void **state)
{
    (void)state;
    volatile size_t most = PTRDIFF_MAX;
    volatile size_t all = SIZE_MAX;
    BEGIN();
    errno = 0;
    void *a = malloc(most);
    int error = errno;
    void *b = calloc(all, all);
    void *c = reallocarray(NULL, all, 2);
    END();
    assert_null(a);
    assert_null(b);
    assert_null(c);
    assert_int_equal(error, ENOMEM);
    assert_int_equal(told.notes, 0);

    /* The next one is drawn as if nothing had been. */
    EXPECT_BLOCK(malloc(100), 100, KYMO_ALLOC_MALLOC);
}

/* More than can be: it takes nothing, wherever the next draw is, and in whatever function. */
static void sizes_that_cannot_be_take_nothing(void **state)
{
    (void)state;
    volatile size_t sizes[] = {(size_t)PTRDIFF_MAX + 1, (size_t)PTRDIFF_MAX + 1000000,
                               SIZE_MAX - (1ull << 40), SIZE_MAX - 5000, SIZE_MAX};
    static const int64_t untils[] = {-1, 0, 10, 1 << 20, KYMO_ALLOC_NEVER};
    void *volatile kept = malloc(10);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(sizes); i++)
        for (size_t k = 0; k < KYMO_ARRAY_LEN(untils); k++) {
            void *volatile other = NULL;
            BEGIN();
            kymo_alloc_self.until = untils[k];
            void *volatile a = malloc(sizes[i]);
            void *volatile b = calloc(1, sizes[i]);
            void *volatile c = aligned_alloc(64, sizes[i]);
            void *volatile d = realloc(NULL, sizes[i]);
            void *volatile e = realloc(kept, sizes[i]);
            int failed = posix_memalign((void **)&other, 64, sizes[i]);
            int64_t left = kymo_alloc_self.until;
            END();
            assert_true(!a && !b && !c && !d && !e && failed);
            /* What is more than its block has may be what can be: that was a draw. */
            if (told.draws == 0)
                assert_int_equal(left, untils[k]);
            else
                assert_int_equal(i, 0);
            assert_int_equal(told.notes, 0);
        }
    free(kept);
}

static void a_free_is_told_of_before(void **state)
{
    (void)state;
    unsigned char *volatile p = malloc(64);
    memset(p, 0x5a, 64);
    *kymo_alloc_filter_of((uintptr_t)p) = 1;
    BEGIN();
    free(p);
    END();
    *kymo_alloc_filter_of((uintptr_t)p) = 0;
    assert_int_equal(told.frees, 1);
    assert_ptr_equal(told.freed, p);
    assert_true(told.was_alive);

    p = malloc(64);
    BEGIN();
    free(p);
    free(NULL);
    END();
    assert_int_equal(told.frees, 0);
}

static void realloc_keeps_who_it_was(void **state)
{
    (void)state;
    char *volatile p = malloc(100);
    char *volatile old = p;
    size_t usable = malloc_usable_size(p);
    *kymo_alloc_filter_of((uintptr_t)p) = 1;
    id_of_table = 4711;
    BEGIN();
    p = realloc(p, 5000);
    END();
    *kymo_alloc_filter_of((uintptr_t)old) = 0;
    assert_int_equal(told.draws, 1);
    assert_int_equal(told.drawn_bytes, 5000 - usable);
    assert_int_equal(told.taken, 1);
    assert_ptr_equal(told.freed, old);
    assert_int_equal(told.resizes, 1);
    assert_int_equal(told.id, 4711);
    assert_ptr_equal(told.block, p);
    assert_int_equal(told.bytes, 5000);
    assert_int_equal(told.usable_before, usable);
    assert_int_equal(told.put_back, 0);
    assert_int_equal(told.notes, 0);
    assert_int_equal(count, 0);

    /* Drawn by what it grew, and unknown before. */
    usable = malloc_usable_size(p);
    BEGIN();
    p = realloc(p, 9000);
    END();
    assert_int_equal(told.taken, 0);
    assert_int_equal(told.resizes, 1);
    assert_int_equal(told.id, 0);
    assert_int_equal(told.usable_before, usable);

    /* Within what it can hold nothing is drawn. */
    BEGIN();
    p = realloc(p, 8000);
    END();
    assert_int_equal(told.draws, 0);
    assert_int_equal(told.resizes, 0);

    /* One that fails leaves it where it is. */
    volatile size_t most = PTRDIFF_MAX;
    *kymo_alloc_filter_of((uintptr_t)p) = 1;
    BEGIN();
    void *failed = realloc(p, most);
    END();
    *kymo_alloc_filter_of((uintptr_t)p) = 0;
    assert_null(failed);
    assert_int_equal(told.put_back, 1);
    assert_ptr_equal(told.block, p);
    assert_int_equal(told.id, 4711);
    assert_int_equal(told.resizes, 0);

    /* To nothing is a free. */
    *(unsigned char *)p = 0x5a;
    *kymo_alloc_filter_of((uintptr_t)p) = 1;
    BEGIN();
    failed = realloc(p, 0);
    END();
    *kymo_alloc_filter_of((uintptr_t)p) = 0;
    assert_null(failed);
    assert_int_equal(told.frees, 1);
    assert_ptr_equal(told.freed, p);
    assert_true(told.was_alive);
}

static size_t first_usable;

/* As tcmalloc does the first time, and the operator of the program's own that it calls. */
static size_t usable_by_allocating(void *block)
{
    void *volatile other = malloc(8);
    first_usable = told.usable;
    free(other);
    return block ? 4711 : 0;
}

static void asking_what_a_block_holds_may_allocate(void **state)
{
    (void)state;
    size_t (*usable)(void *) = kymo_next.malloc_usable_size;
    kymo_next.malloc_usable_size = usable_by_allocating;
    BEGIN();
    void *volatile p = malloc(100);
    END();
    kymo_next.malloc_usable_size = usable;
    assert_int_equal(told.notes, 2);
    assert_int_equal(first_usable, 0);
    assert_int_equal(told.usable, 4711);
    free(p);
}

/* ---- operators: there are none behind this program, which is in C ---- */

void *plain_new(size_t bytes) __asm__("_Znwm");
void *array_aligned_new(size_t bytes, size_t align,
                        const void *tag) __asm__("_ZnamSt11align_val_tRKSt9nothrow_t");
void plain_delete(void *block) __asm__("_ZdlPv");
void sized_delete(void *block, size_t bytes) __asm__("_ZdaPvm");

static void operators_of_our_own_are_as_malloc(void **state)
{
    (void)state;
    EXPECT_BLOCK(plain_new(40), 40, KYMO_ALLOC_MALLOC);
    EXPECT_BLOCK(plain_new(0), 1, KYMO_ALLOC_MALLOC);
    EXPECT_BLOCK(array_aligned_new(100, 128, NULL), 128, KYMO_ALLOC_ALIGNED);
    void *volatile p = plain_new(64);
    memset(p, 0x5a, 64);
    *kymo_alloc_filter_of((uintptr_t)p) = 1;
    BEGIN();
    plain_delete(p);
    END();
    *kymo_alloc_filter_of((uintptr_t)p) = 0;
    assert_int_equal(told.frees, 1);
    assert_true(told.was_alive);
    sized_delete(plain_new(10), 10);
}

/* ---- mappings ---- */

static void expect_map(uint32_t op, uint32_t how, const void *address, uint64_t bytes,
                       const void *before, uint64_t bytes_before)
{
    assert_int_equal(told.maps, 1);
    assert_int_equal(told.op, op);
    assert_int_equal(told.how, how);
    assert_int_equal(told.address, (uintptr_t)address);
    assert_int_equal(told.map_bytes, bytes);
    assert_int_equal(told.before, (uintptr_t)before);
    assert_int_equal(told.bytes_before, bytes_before);
}

#define EXPECT_MAP(call, ...)    \
    do {                         \
        BEGIN();                 \
        call;                    \
        END();                   \
        expect_map(__VA_ARGS__); \
    } while (0)

static void mappings_are_told_of(void **state)
{
    (void)state;
    const size_t size = 1 << 20;
    void *p;
    void *q;
    EXPECT_MAP(p = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), KYMO_MAP_MAP, 0,
               p, size, NULL, 0);
    assert_ptr_not_equal(p, MAP_FAILED);
    EXPECT_MAP(q = mremap(p, size, 4 * size, MREMAP_MAYMOVE), KYMO_MAP_MOVE, 0, q, 4 * size, p,
               size);
    assert_ptr_not_equal(q, MAP_FAILED);
    EXPECT_MAP(assert_int_equal(munmap(q, 4 * size), 0), KYMO_MAP_UNMAP, 0, q, 4 * size, NULL, 0);
    EXPECT_MAP(p = mmap64(NULL, size, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0), KYMO_MAP_MAP,
               KYMO_MAP_IS_SHARED, p, size, NULL, 0);
    munmap(p, size);
    char *before = sbrk(0);
    EXPECT_MAP(assert_ptr_equal(sbrk(8192), before), KYMO_MAP_BREAK, 0, before, 8192, NULL, 0);
    EXPECT_MAP(assert_int_equal(brk(before), 0), KYMO_MAP_BREAK, 0, before, 0, NULL, 8192);

    /* What fails has changed nothing. */
    BEGIN();
    errno = 0;
    int result = munmap((void *)1, size);
    int error = errno;
    p = mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    END();
    assert_int_equal(result, -1);
    assert_int_equal(error, EINVAL);
    assert_ptr_equal(p, MAP_FAILED);
    assert_int_equal(told.maps, 0);
}

/* Whole pages of it; of those who detach, the one that was not attached is not told of. */
static void segments_are_told_of(void **state)
{
    (void)state;
    const size_t size = (1 << 20) + 100;
    const size_t whole = (1 << 20) + 4096;
    void *p;
    int id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
    if (id < 0)
        skip();
    EXPECT_MAP(p = shmat(id, NULL, 0), KYMO_MAP_SHARED, KYMO_MAP_IS_SHARED, p, whole, NULL, 0);
    assert_ptr_not_equal(p, (void *)-1);
    assert_int_equal(shmctl(id, IPC_RMID, NULL), 0);
    EXPECT_MAP(assert_int_equal(shmdt(p), 0), KYMO_MAP_UNMAP, 0, p, whole, NULL, 0);

    BEGIN();
    errno = 0;
    int result = shmdt(p);
    int error = errno;
    p = shmat(-1, NULL, 0);
    END();
    assert_int_equal(result, -1);
    assert_int_equal(error, EINVAL);
    assert_ptr_equal(p, (void *)-1);
    assert_int_equal(told.maps, 0);
}

static void the_allocator_is_known(void **state)
{
    (void)state;
    assert_int_equal(kymo_alloc_next_is_allocator((uintptr_t)kymo_next.malloc), 1);
    assert_int_equal(kymo_alloc_next_is_allocator((uintptr_t)the_allocator_is_known), 0);
    /* Here the executable is what answers. */
    assert_int_equal(kymo_alloc_allocator, KYMO_ALLOCATOR_PROGRAM);
    assert_int_equal(kymo_alloc_words_from.function, 0);
    assert_true(kymo_alloc_next_words(KYMO_ALLOCATOR_GLIBC) == (uint64_t)(uintptr_t)mallinfo2);
    assert_int_equal(kymo_alloc_next_words(KYMO_ALLOCATOR_JEMALLOC), 0);
}

int main(void)
{
    kymo_alloc_self.until = KYMO_ALLOC_NEVER;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_function_is_told_of),
        cmocka_unit_test(what_passes_is_only_taken_off),
        cmocka_unit_test(what_fails_is_not_told_of),
        cmocka_unit_test(sizes_that_cannot_be_take_nothing),
        cmocka_unit_test(a_free_is_told_of_before),
        cmocka_unit_test(realloc_keeps_who_it_was),
        cmocka_unit_test(asking_what_a_block_holds_may_allocate),
        cmocka_unit_test(operators_of_our_own_are_as_malloc),
        cmocka_unit_test(mappings_are_told_of),
        cmocka_unit_test(segments_are_told_of),
        cmocka_unit_test(the_allocator_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
