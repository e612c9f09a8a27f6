/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "unit.h"

static void index_finds_all_and_only(void **state)
{
    (void)state;
    enum { N = 20000 };
    kymo_index index = {0};
    for (uint32_t i = 0; i < N; i++) {
        uint64_t key = (uint64_t)i * 16;
        assert_int_equal(kymo_index_put(&index, kymo_hash_words(&key, 1, 0), i), KYMO_OK);
    }
    for (uint32_t i = 0; i < 2 * N; i++) {
        uint64_t key = (uint64_t)i * 16;
        size_t probe = 0;
        uint32_t at;
        int found = 0;
        while (kymo_index_find(&index, kymo_hash_words(&key, 1, 0), &probe, &at))
            if (at == i)
                found++;
        assert_int_equal(found, i < N);
    }
    kymo_index_deinit(&index);
}

static void equal_hashes_are_all_offered(void **state)
{
    (void)state;
    kymo_index index = {0};
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(kymo_index_put(&index, 0x1234567800000000ull, i), KYMO_OK);
    size_t probe = 0;
    uint32_t at;
    int seen[100] = {0};
    while (kymo_index_find(&index, 0x1234567800000000ull, &probe, &at))
        seen[at]++;
    for (int i = 0; i < 100; i++)
        assert_int_equal(seen[i], 1);
    kymo_index_deinit(&index);
}

static void bytes_differ_by_length_and_content(void **state)
{
    (void)state;
    const char zeros[32] = {0};
    for (size_t n = 0; n < 31; n++)
        assert_true(kymo_hash_bytes(zeros, n, 0) != kymo_hash_bytes(zeros, n + 1, 0));
    assert_true(kymo_hash_bytes("abcdefgh1", 9, 0) != kymo_hash_bytes("abcdefgh2", 9, 0));
}

/* What the hash was once. Its step is undone by the next word, whatever the seed: the top bit of a
 * difference stays where it is, and the shift copies it to bit 31. */
static uint64_t weak_hash(const uint64_t *words, size_t n, uint64_t seed)
{
    uint64_t h = seed ^ (n * 0x9e3779b97f4a7c15ull);
    for (size_t i = 0; i < n; i++) {
        h = (h ^ words[i]) * 0x9fb21c651e98df25ull;
        h ^= h >> 32;
    }
    return h;
}

enum { CRAFTED_BITS = 12, CRAFTED = 1 << CRAFTED_BITS, CRAFTED_WORDS = 2 * CRAFTED_BITS };

/* Each bit of i flips a pair of words so that the weak hash does not see it. */
static void craft(uint32_t i, uint64_t words[CRAFTED_WORDS])
{
    for (uint32_t bit = 0; bit < CRAFTED_BITS; bit++) {
        uint64_t flip = i >> bit & 1;
        words[2 * bit] = 0x4141414141414141ull ^ flip << 63;
        words[2 * bit + 1] = 0x4242424242424242ull ^ flip << 63 ^ flip << 31;
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Puts them all, and counts what is offered for each that is not it. */
static size_t false_candidates(const uint64_t *hashes)
{
    kymo_index index = {0};
    size_t wrong = 0;
    uint32_t at;
    for (uint32_t i = 0; i < CRAFTED; i++)
        assert_int_equal(kymo_index_put(&index, hashes[i], i), KYMO_OK);
    for (uint32_t i = 0; i < CRAFTED; i++)
        for (size_t probe = 0; kymo_index_find(&index, hashes[i], &probe, &at);)
            wrong += at != i;
    kymo_index_deinit(&index);
    return wrong;
}

static void crafted_keys_do_not_collide(void **state)
{
    (void)state;
    uint64_t words[CRAFTED_WORDS];
    uint64_t *by_words = calloc(CRAFTED, sizeof *by_words);
    uint64_t *by_bytes = calloc(CRAFTED, sizeof *by_bytes);
    assert_non_null(by_words);
    assert_non_null(by_bytes);
    uint64_t secret = kymo_hash_secret();
    craft(0, words);
    uint64_t weak = weak_hash(words, CRAFTED_WORDS, secret);
    for (uint32_t i = 0; i < CRAFTED; i++) {
        craft(i, words);
        assert_true(weak_hash(words, CRAFTED_WORDS, secret) == weak);
        by_words[i] = kymo_hash_words(words, CRAFTED_WORDS, secret);
        by_bytes[i] = kymo_hash_bytes(words, sizeof words, secret);
    }
    /* With random tags of 32 bits one run in 500 has a pair of equal ones; 16 pairs, none. */
    assert_true(false_candidates(by_words) < 32);
    assert_true(false_candidates(by_bytes) < 32);
    qsort(by_words, CRAFTED, sizeof *by_words, by_value);
    qsort(by_bytes, CRAFTED, sizeof *by_bytes, by_value);
    for (uint32_t i = 1; i < CRAFTED; i++) {
        assert_true(by_words[i] != by_words[i - 1]);
        assert_true(by_bytes[i] != by_bytes[i - 1]);
    }
    free(by_words);
    free(by_bytes);
}

/* A first word cannot make up for another length. */
static void lengths_cannot_be_made_up_for(void **state)
{
    (void)state;
    uint64_t one = 0x1122334455667788ull;
    uint64_t difference = (1 * 0x9e3779b97f4a7c15ull) ^ (2 * 0x9e3779b97f4a7c15ull);
    uint64_t two[2] = {one ^ difference, 0};
    for (uint64_t seed = 0; seed < 64; seed++)
        assert_true(kymo_hash_words(&one, 1, seed) != kymo_hash_words(two, 2, seed));
}

/* Every byte counts, at every length and place: also those that two loads cover. */
static void every_bit_counts(void **state)
{
    (void)state;
    unsigned char text[40] = "an ordinary text of forty characters...";
    for (size_t len = 1; len <= sizeof text; len++) {
        uint64_t hash = kymo_hash_bytes(text, len, 7);
        for (size_t bit = 0; bit < len * 8; bit++) {
            text[bit / 8] ^= (unsigned char)(1u << bit % 8);
            assert_true(kymo_hash_bytes(text, len, 7) != hash);
            text[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
        assert_true(kymo_hash_bytes(text, len, 8) != hash);
    }
}

static void *ask_secret(void *out)
{
    *(uint64_t *)out = kymo_hash_secret();
    return NULL;
}

/* First asked for by several threads at once, by none before. */
static void the_secret_is_one(void **state)
{
    (void)state;
    enum { N = 8 };
    pthread_t threads[N];
    uint64_t seen[N] = {0};
    for (int i = 0; i < N; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_secret, &seen[i]), 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < N; i++)
        assert_true(seen[i] != 0 && seen[i] == kymo_hash_secret());
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(kymo_hash_secret() == seen[0] ? 0 : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_secret_is_one), /* first: it is about who makes it */
        cmocka_unit_test(index_finds_all_and_only),
        cmocka_unit_test(equal_hashes_are_all_offered),
        cmocka_unit_test(bytes_differ_by_length_and_content),
        cmocka_unit_test(crafted_keys_do_not_collide),
        cmocka_unit_test(lengths_cannot_be_made_up_for),
        cmocka_unit_test(every_bit_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
