/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <string.h>

#include "base/atomic.h"
#include "buffer/stream.h"
#include "session_fixture.h"
#include "unit.h"

static void slots_and_blocks_are_each_given_once(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    static unsigned char seen[1u << 16];
    uint32_t n = 0;
    for (uint32_t block; (block = kymo_block_take(f.session, &f.plan, n & 1)); n++) {
        assert_true(block <= kymo_session_blocks(&f.plan));
        assert_false(seen[block]);
        seen[block] = 1;
    }
    assert_int_equal(n, kymo_session_blocks(&f.plan));
    for (uint32_t i = 0; i < n; i++)
        kymo_block_give(f.session, &f.plan, i);
    for (uint32_t i = 0; i < n; i++)
        assert_true(kymo_block_take(f.session, &f.plan, 1));
    assert_false(kymo_block_take(f.session, &f.plan, 0));

    uint32_t slots = 0;
    while (kymo_slot_take(f.session, &f.plan))
        slots++;
    assert_int_equal(slots, f.plan.threads);
    assert_int_equal(f.session->slots_touched, f.plan.threads);
    kymo_slot_give(f.session, &f.plan, 7);
    assert_int_equal(kymo_slot_take(f.session, &f.plan), 8);
    fixture_close(&f);
}

/* Last in, first out: a block that is warm in the cache is used again. */
static void the_last_block_given_comes_first(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    for (int i = 0; i < 10; i++)
        assert_int_equal(kymo_block_take(f.session, &f.plan, 0), i + 1);
    kymo_block_give(f.session, &f.plan, 3);
    kymo_block_give(f.session, &f.plan, 6);
    assert_int_equal(kymo_block_take(f.session, &f.plan, 0), 7);
    assert_int_equal(kymo_block_take(f.session, &f.plan, 0), 4);
    assert_int_equal(kymo_block_take(f.session, &f.plan, 0), 11);
    fixture_close(&f);
}

static void scribbled_heads_give_nothing(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    f.session->free_small = f.session->free_large = UINT64_MAX;
    assert_int_equal(kymo_block_take(f.session, &f.plan, 0), 0);
    f.session->free_slots = 0x7fffffff;
    assert_int_equal(kymo_slot_take(f.session, &f.plan), 0);
    fixture_close(&f);
}

struct hammer {
    struct fixture *f;
    uint32_t *owner;
    int failed;
};

static void *take_and_give(void *argument)
{
    struct hammer *h = argument;
    for (int round = 0; round < 20000; round++) {
        uint32_t got[3];
        for (int i = 0; i < 3; i++) {
            got[i] = kymo_block_take(h->f->session, &h->f->plan, 0);
            if (got[i] && kymo_exchange_acq_rel(&h->owner[got[i]], 1u) != 0)
                h->failed = 1;
        }
        for (int i = 0; i < 3; i++) {
            if (!got[i])
                continue;
            kymo_store_release(&h->owner[got[i]], 0u);
            kymo_block_give(h->f->session, &h->f->plan, got[i] - 1);
        }
    }
    return NULL;
}

static void two_threads_never_have_the_same_block(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    static uint32_t owner[1u << 16];
    struct hammer h[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        h[i] = (struct hammer){&f, owner, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, &h[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_false(h[i].failed);
    }
    fixture_close(&f);
}

static void a_stream_grows_from_small_to_large_and_ends_when_full(void **state)
{
    (void)state;
    struct fixture f = fixture_open(4u << 20);
    uint32_t slot = kymo_slot_take(f.session, &f.plan) - 1;
    struct kymo_stream_writer w = {.kind = KYMO_STREAM_SIGNAL};
    uint64_t n = 0;
    char *p;
    while ((p = kymo_stream_reserve(&w, f.session, &f.plan, slot, 24))) {
        memset(p, 0xab, 24);
        kymo_stream_publish(&w, 24);
        n++;
    }
    assert_true(w.blocks == kymo_session_blocks(&f.plan));
    uint64_t room = (uint64_t)f.plan.small_blocks * ((KYMO_SMALL_BLOCK_BYTES - 64) / 24) +
                    (uint64_t)f.plan.large_blocks * ((KYMO_LARGE_BLOCK_BYTES - 64) / 24);
    assert_int_equal(n, room);
    uint32_t block = kymo_session_slot(f.session, &f.plan, slot)->streams[KYMO_STREAM_SIGNAL].first;
    assert_int_equal(kymo_session_block_bytes(&f.plan, block - 1), KYMO_SMALL_BLOCK_BYTES);
    for (int i = 0; i < 2; i++)
        block = kymo_session_block(f.session, &f.plan, block - 1)->next;
    assert_int_equal(kymo_session_block_bytes(&f.plan, block - 1), KYMO_LARGE_BLOCK_BYTES);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_and_blocks_are_each_given_once),
        cmocka_unit_test(the_last_block_given_comes_first),
        cmocka_unit_test(scribbled_heads_give_nothing),
        cmocka_unit_test(two_threads_never_have_the_same_block),
        cmocka_unit_test(a_stream_grows_from_small_to_large_and_ends_when_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
