/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <string.h>

#include "buffer/depot.h"
#include "session_fixture.h"
#include "unit.h"

static uint32_t intern(struct fixture *f, uint32_t epoch, const uint64_t *pcs, uint32_t n,
                       uint32_t generation, uint32_t flags)
{
    struct kymo_stack_key key = {pcs, n, generation, flags};
    uint32_t id = kymo_depot_find(f->session, &f->plan, epoch, &key);
    return id ? id : kymo_depot_insert(f->session, &f->plan, epoch, &key);
}

static void equal_stacks_have_one_id(void **state)
{
    (void)state;
    struct fixture f = fixture_open(8u << 20);
    uint64_t pcs[4] = {1, 2, 3, 4};
    uint32_t id = intern(&f, 0, pcs, 4, 1, 0);
    assert_int_not_equal(id, 0);
    assert_int_equal(intern(&f, 0, pcs, 4, 1, 0), id);
    assert_int_not_equal(intern(&f, 0, pcs, 3, 1, 0), id);
    assert_int_not_equal(intern(&f, 0, pcs, 4, 2, 0), id); /* after a dlclose */
    assert_int_not_equal(intern(&f, 0, pcs, 4, 1, 1), id); /* ended differently */
    pcs[3] = 5;
    assert_int_not_equal(intern(&f, 0, pcs, 4, 1, 0), id);
    uint32_t other = intern(&f, 5, pcs, 4, 1, 0);
    assert_int_equal(kymo_depot_id_epoch(other), 5);
    fixture_close(&f);
}

static void a_full_depot_says_so_and_keeps_what_it_has(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    uint64_t pcs[30] = {0};
    uint32_t first = intern(&f, 0, pcs, 30, 1, 0);
    uint64_t n = 1;
    do {
        pcs[0] = n++;
    } while (intern(&f, 0, pcs, 30, 1, 0));
    assert_true(n > f.plan.depot_words / 40);
    pcs[0] = 0;
    assert_int_equal(intern(&f, 0, pcs, 30, 1, 0), first);
    /* The other one is empty. */
    assert_int_not_equal(intern(&f, 1, pcs, 30, 1, 0), 0);
    fixture_close(&f);
}

enum { STACKS = 500, THREADS = 4 };
struct worker {
    struct fixture *f;
    uint32_t ids[STACKS];
};

static void *intern_all(void *argument)
{
    struct worker *w = argument;
    for (int round = 0; round < 20; round++)
        for (uint64_t i = 0; i < STACKS; i++) {
            uint64_t pcs[3] = {i, i * i, 7};
            w->ids[i] = intern(w->f, 0, pcs, 3, 1, 0);
        }
    return NULL;
}

static void threads_agree_on_ids(void **state)
{
    (void)state;
    struct fixture f = fixture_open(8u << 20);
    static struct worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i].f = &f;
        assert_int_equal(pthread_create(&threads[i], NULL, intern_all, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    struct kymo_depot d = kymo_depot_at(f.session, &f.plan, 0);
    for (int k = 0; k < STACKS; k++) {
        assert_int_not_equal(workers[0].ids[k], 0);
        for (int i = 1; i < THREADS; i++)
            assert_int_equal(workers[i].ids[k], workers[0].ids[k]);
        const struct kymo_depot_entry *e =
            (const void *)(d.arena + kymo_depot_id_word(workers[0].ids[k]));
        assert_int_equal(e->pcs[1], (uint64_t)k * (uint64_t)k);
    }
    fixture_close(&f);
}

static void scribbled_buckets_do_no_harm(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    struct kymo_depot d = kymo_depot_at(f.session, &f.plan, 0);
    uint64_t pcs[2] = {1, 2};
    memset(d.buckets, 0xff, d.slots * sizeof *d.buckets);
    assert_int_not_equal(intern(&f, 0, pcs, 2, 1, 0), 0);
    memset(d.arena, 0x01, d.words * sizeof *d.arena);
    (void)intern(&f, 0, pcs, 2, 1, 0);
    d.head->used_words = UINT32_MAX;
    pcs[0] = 99;
    assert_int_equal(intern(&f, 0, pcs, 2, 1, 0), 0);
    fixture_close(&f);
}

static void entering_pins_the_current_epoch(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    struct kymo_thread_slot *slot = kymo_session_slot(f.session, &f.plan, 0);
    assert_int_equal(kymo_depot_enter(f.session, slot), 0);
    assert_int_equal(slot->depot_pin, 1);
    kymo_depot_leave(slot);
    assert_int_equal(slot->depot_pin, 0);
    f.session->depot_epoch = 9;
    assert_int_equal(kymo_depot_enter(f.session, slot), 9);
    assert_int_equal(slot->depot_pin, 10);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_stacks_have_one_id),
        cmocka_unit_test(a_full_depot_says_so_and_keeps_what_it_has),
        cmocka_unit_test(threads_agree_on_ids),
        cmocka_unit_test(scribbled_buckets_do_no_harm),
        cmocka_unit_test(entering_pins_the_current_epoch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
