/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/allocator_events.h"

#include <string.h>

#include "unit.h"

static struct kymo_session session;

static void say(enum kymo_allocator_word word, uint64_t value)
{
    session.allocator_words.known |= 1ull << word;
    session.allocator_words.value[word] = value;
}
#define SAY(name, value) say(KYMO_ALLOCATOR_WORD_##name, value)

static int set_up(void **state)
{
    (void)state;
    memset(&session, 0, sizeof session);
    return 0;
}

static void what_is_not_answered_is_not_there(void **state)
{
    (void)state;
    struct kymo_allocator_answer a = {.number = 7};
    SAY(GLIBC_ALLOCATED, 100);
    assert_false(kymo_allocator_answer_read(&session, &a));
    assert_int_equal(a.number, 7);
}

static void an_answer_is_read(void **state)
{
    (void)state;
    struct kymo_allocator_answer a;
    SAY(GLIBC_ALLOCATED, 100);
    SAY(GLIBC_FREE, UINT64_MAX);
    session.allocator_words.clock = 12;
    session.allocator_words.took = 3;
    session.allocator_words.answered = 5;
    assert_true(kymo_allocator_answer_read(&session, &a));
    assert_int_equal(a.number, 5);
    assert_int_equal(a.clock, 12);
    assert_int_equal(a.took, 3);
    assert_int_equal(a.known, 3);
    assert_int_equal(a.value[KYMO_ALLOCATOR_WORD_GLIBC_ALLOCATED], 100);
    /* Whatever the program writes there is no negative number. */
    assert_true(a.value[KYMO_ALLOCATOR_WORD_GLIBC_FREE] == INT64_MAX);
}

static struct kymo_allocator_sums sums(void)
{
    struct kymo_allocator_answer a;
    session.allocator_words.answered = 1;
    assert_true(kymo_allocator_answer_read(&session, &a));
    return kymo_allocator_answer_sums(&a);
}

static void glibc_has_all_but_its_own(void **state)
{
    (void)state;
    SAY(GLIBC_ALLOCATED, 70);
    SAY(GLIBC_FREE, 30);
    SAY(GLIBC_MAPPED, 100);
    struct kymo_allocator_sums s = sums();
    assert_int_equal(s.allocated, 70);
    assert_int_equal(s.free, 30);
    assert_int_equal(s.own, -1);
    assert_int_equal(s.mapped, 100);
}

static void of_jemalloc_what_is_resident_and_in_no_block_is_free(void **state)
{
    (void)state;
    SAY(JEMALLOC_ALLOCATED, 70);
    SAY(JEMALLOC_ACTIVE, 80);
    SAY(JEMALLOC_METADATA, 10);
    SAY(JEMALLOC_RESIDENT, 100);
    SAY(JEMALLOC_MAPPED, 120);
    struct kymo_allocator_sums s = sums();
    assert_int_equal(s.allocated, 70);
    assert_int_equal(s.free, 20);
    assert_int_equal(s.own, 10);
    assert_int_equal(s.mapped, 120);
    SAY(JEMALLOC_RESIDENT, 50); /* blocks that were never touched */
    assert_int_equal(sums().free, 0);
}

static void of_tcmalloc_what_was_given_back_is_not_mapped(void **state)
{
    (void)state;
    SAY(TCMALLOC_ALLOCATED, 70);
    SAY(TCMALLOC_FREE, 20);
    SAY(TCMALLOC_MAPPED, 130);
    SAY(TCMALLOC_RETAINED, 30);
    struct kymo_allocator_sums s = sums();
    assert_int_equal(s.allocated, 70);
    assert_int_equal(s.free, 20);
    assert_int_equal(s.own, -1);
    assert_int_equal(s.mapped, 100);
}

static void mimalloc_says_no_more_than_what_it_took(void **state)
{
    (void)state;
    SAY(MIMALLOC_COMMITTED, 64);
    struct kymo_allocator_sums s = sums();
    assert_int_equal(s.allocated, -1);
    assert_int_equal(s.free, -1);
    assert_int_equal(s.mapped, 64);
}

static void each_word_is_a_figure_of_an_allocator(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KYMO_ALLOCATOR_WORD_COUNT; i++)
        assert_int_equal(kymo_figure_rows[kymo_allocator_answer_figure(i)].group,
                         KYMO_GROUP_ALLOCATOR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_not_answered_is_not_there, set_up),
        cmocka_unit_test_setup(an_answer_is_read, set_up),
        cmocka_unit_test_setup(glibc_has_all_but_its_own, set_up),
        cmocka_unit_test_setup(of_jemalloc_what_is_resident_and_in_no_block_is_free, set_up),
        cmocka_unit_test_setup(of_tcmalloc_what_was_given_back_is_not_mapped, set_up),
        cmocka_unit_test_setup(mimalloc_says_no_more_than_what_it_took, set_up),
        cmocka_unit_test(each_word_is_a_figure_of_an_allocator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
