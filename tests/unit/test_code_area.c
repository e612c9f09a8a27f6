/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <string.h>

#include "base/atomic.h"
#include "buffer/code_area.h"
#include "session_fixture.h"
#include "unit.h"

static struct kymo_code_identity identity_of(uint64_t n)
{
    return (struct kymo_code_identity){.address = 0x7f0000001000 + n * 64,
                                       .file = 1000 + n,
                                       .name = 2000 + n,
                                       .lines = 3000 + n * 32,
                                       .first_line = 1 + n % 50};
}

/* As capture does it. */
static uint32_t intern(struct fixture *f, const struct kymo_code_identity *identity, uint32_t bytes)
{
    uint32_t number = kymo_code_find(f->session, &f->plan, identity);
    if (number)
        return number;
    struct kymo_code_record *r = kymo_code_claim(f->session, &f->plan, bytes, &number);
    if (!r)
        return 0;
    r->identity = *identity;
    memset(r + 1, 'x', bytes);
    return kymo_code_publish(f->session, &f->plan, number);
}

static void equal_code_has_one_number(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    struct kymo_code_identity identity = identity_of(1);
    assert_int_equal(kymo_code_find(f.session, &f.plan, &identity), 0);
    uint32_t number = intern(&f, &identity, 30);
    assert_int_not_equal(number, 0);
    assert_int_equal(intern(&f, &identity, 30), number);
    assert_int_equal(kymo_code_find(f.session, &f.plan, &identity), number);
    struct kymo_code_identity other = identity_of(2);
    assert_int_not_equal(intern(&f, &other, 30), number);
    assert_int_equal(kymo_code_find(f.session, &f.plan, &identity), number);
    fixture_close(&f);
}

/* Memory of code that was freed, with other code in it. */
static void other_code_at_the_same_address_is_another(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    const struct kymo_code_identity first = identity_of(1);
    uint32_t numbers[5] = {intern(&f, &first, 8)};
    for (uint32_t i = 1; i < 5; i++) {
        struct kymo_code_identity other = first;
        *(i == 1   ? &other.file
          : i == 2 ? &other.name
          : i == 3 ? &other.lines
                   : &other.first_line) += 16;
        numbers[i] = intern(&f, &other, 8);
        for (uint32_t k = 0; k < i; k++)
            assert_int_not_equal(numbers[i], numbers[k]);
    }
    assert_int_equal(intern(&f, &first, 8), numbers[0]);
    fixture_close(&f);
}

/* Two threads see it first: the number that was published is everyone's. */
static void of_two_that_publish_the_first_one_stays(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    const struct kymo_code_identity identity = identity_of(7);
    uint32_t one, two;
    struct kymo_code_record *a = kymo_code_claim(f.session, &f.plan, 10, &one);
    struct kymo_code_record *b = kymo_code_claim(f.session, &f.plan, 10, &two);
    assert_non_null(a);
    assert_non_null(b);
    assert_int_not_equal(one, two);
    a->identity = b->identity = identity;
    assert_int_equal(kymo_code_publish(f.session, &f.plan, two), two);
    assert_int_equal(kymo_code_publish(f.session, &f.plan, one), two);
    assert_int_equal(kymo_code_find(f.session, &f.plan, &identity), two);
    fixture_close(&f);
}

enum { CODES = 400, THREADS = 4 };
struct worker {
    struct fixture *f;
    uint32_t numbers[CODES];
};

static void *intern_all(void *argument)
{
    struct worker *w = argument;
    for (uint32_t i = 0; i < CODES; i++) {
        struct kymo_code_identity identity = identity_of(i);
        w->numbers[i] = intern(w->f, &identity, i % 90);
    }
    return NULL;
}

static void threads_agree_on_the_numbers(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i].f = &f;
        assert_int_equal(pthread_create(&threads[i], NULL, intern_all, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 1; i < THREADS; i++)
        assert_memory_equal(workers[i].numbers, workers[0].numbers, sizeof workers[0].numbers);
    for (int i = 0; i < CODES; i++)
        assert_int_not_equal(workers[0].numbers[i], 0);
    fixture_close(&f);
}

/* Records lie beside each other and inside the area; a full one keeps what it has. */
static void a_full_area_says_so_and_keeps_what_it_has(void **state)
{
    (void)state;
    struct fixture f = fixture_open(1u << 20);
    uint32_t end = 1;
    uint64_t n = 0;
    const uint32_t head = (uint32_t)(sizeof(struct kymo_code_record) / 8);
    for (;; n++) {
        struct kymo_code_identity identity = identity_of(n);
        uint32_t bytes = (uint32_t)(n * 7 % 400);
        uint32_t number = intern(&f, &identity, bytes);
        if (!number)
            break;
        assert_true(number >= end);
        end = number + head + (bytes + 7) / 8;
        assert_true(end <= f.plan.code_words);
    }
    assert_true(n > f.plan.code_words / (head + 60));
    for (uint64_t i = 0; i < n; i++) {
        struct kymo_code_identity identity = identity_of(i);
        assert_int_not_equal(kymo_code_find(f.session, &f.plan, &identity), 0);
    }
    /* However often it is tried again. */
    uint32_t number;
    for (int i = 0; i < 100000; i++)
        assert_null(kymo_code_claim(f.session, &f.plan, 5000, &number));
    kymo_store_relaxed(&f.session->code_used, UINT32_MAX - 2);
    assert_null(kymo_code_claim(f.session, &f.plan, 5000, &number));
    assert_null(kymo_code_claim(f.session, &f.plan, 5000, &number));
    fixture_close(&f);
}

/* The last record may fill the area to its end. */
static void the_last_word_is_used(void **state)
{
    (void)state;
    struct fixture f = fixture_open(1u << 20);
    const uint32_t head = (uint32_t)(sizeof(struct kymo_code_record) / 8);
    kymo_store_relaxed(&f.session->code_used, f.plan.code_words - head - 1);
    const struct kymo_code_identity identity = identity_of(1);
    uint32_t number = intern(&f, &identity, 0);
    assert_int_equal(number, f.plan.code_words - head);
    assert_int_equal(kymo_code_find(f.session, &f.plan, &identity), number);
    fixture_close(&f);
}

/* Whatever the program has written over the index and the count: no number leads out of the area.
 */
static void a_hostile_index_leads_nowhere(void **state)
{
    (void)state;
    struct fixture f = fixture_open(1u << 20);
    const uint32_t head = (uint32_t)(sizeof(struct kymo_code_record) / 8);
    const uint32_t bad[] = {f.plan.code_words - head + 1, f.plan.code_words, f.plan.code_words + 1,
                            1u << 24, UINT32_MAX};
    uint32_t *index = (uint32_t *)(void *)((char *)f.session + f.plan.code_index_at);
    for (size_t b = 0; b < KYMO_ARRAY_LEN(bad); b++) {
        for (uint32_t i = 0; i < f.plan.code_slots; i++)
            index[i] = bad[b];
        struct kymo_code_identity identity = identity_of(b);
        assert_int_equal(kymo_code_find(f.session, &f.plan, &identity), 0);
        assert_int_equal(intern(&f, &identity, 40), 0); /* no slot is free */
    }
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_code_has_one_number),
        cmocka_unit_test(other_code_at_the_same_address_is_another),
        cmocka_unit_test(of_two_that_publish_the_first_one_stays),
        cmocka_unit_test(threads_agree_on_the_numbers),
        cmocka_unit_test(a_full_area_says_so_and_keeps_what_it_has),
        cmocka_unit_test(the_last_word_is_used),
        cmocka_unit_test(a_hostile_index_leads_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
