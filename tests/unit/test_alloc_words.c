/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "capture/alloc.h"
#include "capture/alloc_next.h"
#include "capture/alloc_words.h"
#include "mark_process.h"

static int is_bare, calls;

int kymo_fork_is_pending(void)
{
    return 0;
}

int kymo_fork_was_bare(void)
{
    return is_bare;
}

/* ---- allocators ---- */

static KYMO_NOINLINE void call_as_the_allocator(void (*function)(void))
{
    function();
    __asm__ volatile(""); /* no tail call */
}

int kymo_alloc_next_is_allocator(uint64_t address)
{
    return address - (uint64_t)(uintptr_t)call_as_the_allocator < 32;
}

struct mallinfo2_result {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

static struct mallinfo2_result fake_mallinfo2(void)
{
    calls++;
    errno = EAGAIN;
    return (struct mallinfo2_result){.arena = 100,
                                     .hblks = 2,
                                     .hblkhd = 1000,
                                     .fsmblks = 3,
                                     .uordblks = 70,
                                     .fordblks = 30,
                                     .keepcost = 20};
}

static int fake_mallctl(const char *name, void *old, size_t *old_len, void *new, size_t new_len)
{
    static uint64_t epoch;
    calls++;
    if (strcmp(name, "epoch") == 0) {
        assert_true(new &&new_len == sizeof(uint64_t));
        epoch++;
        return 0;
    }
    if (strcmp(name, "arenas.narenas") == 0) {
        assert_int_equal(*old_len, sizeof(unsigned));
        *(unsigned *)old = 8;
        return 0;
    }
    assert_true(epoch > 0 && *old_len == sizeof(size_t));
    *(size_t *)old = strlen(name);
    return strcmp(name, "stats.retained") == 0 ? ENOENT : 0;
}

static void fake_process_info(size_t *elapsed, size_t *user, size_t *system, size_t *rss,
                              size_t *rss_peak, size_t *committed, size_t *peak, size_t *faults)
{
    calls++;
    *elapsed = *user = *system = *rss = *rss_peak = *faults = 1;
    *committed = 64;
    *peak = 128;
}

static int fake_property(const char *name, size_t *value)
{
    calls++;
    *value = strstr(name, "pageheap_unmapped") ? 0 : 10;
    return strstr(name, "transfer_cache") == NULL;
}

#define FROM(which, function)                                   \
    (struct kymo_alloc_words_from)                              \
    {                                                           \
        KYMO_ALLOCATOR_##which, (uint64_t)(uintptr_t)(function) \
    }

/* ---- what a hook does ---- */

static KYMO_NOINLINE void give(void)
{
    static uint64_t number;
    kymo_alloc_self.count++;
    kymo_alloc_self.until -= 64;
    struct kymo_alloc_draw draw = kymo_alloc_draw(64, KYMO_FRAME_BEGIN());
    assert_int_equal(draw.is_drawn, 1);
    kymo_alloc_note(draw, (void *)(uintptr_t)(0x10000 + ++number * 64), 64, 64, KYMO_ALLOC_MALLOC,
                    KYMO_FRAME_BEGIN());
}

static struct kymo_allocator_words *words(void)
{
    return &fixture.session->allocator_words;
}

static uint64_t known(enum kymo_allocator_word word)
{
    assert_true(words()->known >> word & 1);
    return words()->value[word];
}
#define KNOWN(name) known(KYMO_ALLOCATOR_WORD_##name)

static void ask(void)
{
    fixture.session->allocator_wanted++;
}

static int set_up(void **state)
{
    calls = is_bare = 0;
    kymo_alloc_words_from = FROM(GLIBC, fake_mallinfo2);
    open_small_process(state);
    fixture.session->alloc_rate = 1;
    return 0;
}

/* ---- tests ---- */

static void a_question_is_answered_once_by_who_comes_next(void **state)
{
    (void)state;
    give();
    assert_int_equal(calls, 0);
    assert_int_equal(words()->answered, 0);
    for (uint32_t i = 1; i <= 3; i++) {
        ask();
        errno = EXDEV;
        give();
        give();
        assert_int_equal(errno, EXDEV);
        assert_int_equal(calls, i);
        assert_int_equal(words()->answered, i);
        assert_int_equal(words()->taken, i);
        assert_true(words()->clock > 0 && words()->took < words()->clock);
    }
    assert_int_equal(KNOWN(GLIBC_ALLOCATED), 1070);
    assert_int_equal(KNOWN(GLIBC_FREE), 30);
    assert_int_equal(KNOWN(GLIBC_MAPPED), 1100);
    assert_int_equal(KNOWN(GLIBC_DIRECT), 1000);
    assert_int_equal(KNOWN(GLIBC_DIRECT_BLOCKS), 2);
    assert_int_equal(KNOWN(GLIBC_FAST), 3);
    assert_int_equal(KNOWN(GLIBC_TOP), 20);
    assert_int_equal(__builtin_popcountll(words()->known), 7);
}

static void who_only_resizes_answers_too(void **state)
{
    (void)state;
    struct kymo_alloc_draw draw = {1, 1};
    ask();
    kymo_alloc_note_resize(draw, 0, (void *)(uintptr_t)0x10000, 128, 128, 64, KYMO_FRAME_BEGIN());
    assert_int_equal(calls, 1);
    assert_int_equal(words()->answered, 1);
}

static void an_allocator_that_says_nothing_is_not_asked(void **state)
{
    (void)state;
    kymo_alloc_words_from = FROM(OTHER, 0);
    ask();
    give();
    assert_int_equal(words()->answered, 0);
}

static void who_has_taken_a_question_is_not_asked_again(void **state)
{
    (void)state;
    ask();
    words()->taken = 1; /* in the middle of it */
    give();
    assert_int_equal(calls, 0);
}

static void behind_a_filter_and_in_a_bare_child_nobody_asks(void **state)
{
    (void)state;
    ask();
    is_bare = 1;
    give();
    assert_int_equal(calls, 0);
    is_bare = 0;
    fixture.session->quiet = KYMO_QUIET_CALLS;
    give();
    assert_int_equal(calls, 0);
    fixture.session->quiet = 0;
    give();
    assert_int_equal(calls, 1);
}

static void on_signal(int signal)
{
    (void)signal;
    give();
}

static void raise_on(int flags)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(raise(SIGUSR1), 0);
}

/* Which may have interrupted malloc: on a stack of its own, and on the thread's. */
static void a_handler_does_not_ask(void **state)
{
    (void)state;
    static char room[65536];
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    ask();
    raise_on(SA_ONSTACK);
    assert_int_equal(calls, 0);
    raise_on(0);
    assert_int_equal(calls, 0);
    stack.ss_flags = SS_DISABLE;
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    give();
    assert_int_equal(calls, 1);
}

/* As it does when it makes a thread, with a lock held that its function waits for. */
static void what_the_allocator_calls_does_not_ask(void **state)
{
    (void)state;
    kymo_alloc_words_from = FROM(JEMALLOC, fake_mallctl);
    ask();
    call_as_the_allocator(give);
    assert_int_equal(calls, 0);
    give();
    assert_true(calls > 0);
}

/* The C library calls main, and its allocator calls no other library. */
static void below_the_c_library_glibc_is_asked(void **state)
{
    (void)state;
    ask();
    call_as_the_allocator(give);
    assert_int_equal(calls, 1);
}

static void who_has_little_stack_left_does_not_ask(void **state)
{
    (void)state;
    uint64_t lo = kymo_thread_self->stack.lo;
    ask();
    kymo_thread_self->stack.lo = KYMO_FRAME_BEGIN() - (16u << 10);
    give();
    assert_int_equal(calls, 0);
    kymo_thread_self->stack.lo = lo;
    give();
    assert_int_equal(calls, 1);
}

static void jemalloc_is_asked_after_a_new_epoch(void **state)
{
    (void)state;
    kymo_alloc_words_from = FROM(JEMALLOC, fake_mallctl);
    ask();
    give();
    assert_int_equal(words()->answered, 1);
    assert_int_equal(KNOWN(JEMALLOC_ALLOCATED), strlen("stats.allocated"));
    assert_int_equal(KNOWN(JEMALLOC_MAPPED), strlen("stats.mapped"));
    assert_int_equal(KNOWN(JEMALLOC_ARENAS), 8);
    /* All but the one that it does not know. */
    assert_int_equal(__builtin_popcountll(words()->known), 6);
}

static void mimalloc_says_what_it_has_taken(void **state)
{
    (void)state;
    kymo_alloc_words_from = FROM(MIMALLOC, fake_process_info);
    ask();
    give();
    assert_int_equal(KNOWN(MIMALLOC_COMMITTED), 64);
    assert_int_equal(KNOWN(MIMALLOC_PEAK), 128);
    assert_int_equal(__builtin_popcountll(words()->known), 2);
}

static void of_tcmalloc_a_sum_with_an_unknown_part_is_not_known(void **state)
{
    (void)state;
    kymo_alloc_words_from = FROM(TCMALLOC, fake_property);
    ask();
    give();
    assert_int_equal(KNOWN(TCMALLOC_ALLOCATED), 10);
    assert_int_equal(KNOWN(TCMALLOC_RETAINED), 0);
    assert_int_equal(KNOWN(TCMALLOC_THREAD_CACHES), 10);
    assert_int_equal(__builtin_popcountll(words()->known), 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, close_process)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_question_is_answered_once_by_who_comes_next),
        TEST(who_only_resizes_answers_too),
        TEST(an_allocator_that_says_nothing_is_not_asked),
        TEST(who_has_taken_a_question_is_not_asked_again),
        TEST(behind_a_filter_and_in_a_bare_child_nobody_asks),
        TEST(a_handler_does_not_ask),
        TEST(what_the_allocator_calls_does_not_ask),
        TEST(below_the_c_library_glibc_is_asked),
        TEST(who_has_little_stack_left_does_not_ask),
        TEST(jemalloc_is_asked_after_a_new_epoch),
        TEST(mimalloc_says_what_it_has_taken),
        TEST(of_tcmalloc_a_sum_with_an_unknown_part_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
