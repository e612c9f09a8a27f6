/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.c - a small program with something to see: three threads, each busy with work of its own.
 *
 *     counter      cuts a text into words and counts them       count_words > next_word, count_word
 *     sorter       sorts orders by customer, then by price      sort_orders > merge >
 * compare_orders compressor   packs the text with a dictionary coder       compress > find_match >
 * match_length
 *
 * Try: kymo record -- build/release/examples/threads
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_BYTES = 1 << 20,
    COUNT_ROUNDS = 90,
    SORT_ROUNDS = 10,
    PACK_ROUNDS = 9,
    ORDERS = 300000,
    VOCABULARY = 4096,
    BUCKETS = 8192,
    WINDOW_HASHES = 1 << 14,
    LONGEST_MATCH = 64,
    LONGEST_CHAIN = 24,
};

/* A generator that gives the same numbers on every run. */
static uint32_t next_random(uint32_t *state)
{
    uint32_t x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

/* A text of invented words, the short ones more often, as in a language. The caller frees it. */
static char *make_text(size_t size)
{
    static const char syllables[][3] = {"ka", "mo", "ri", "te", "lu", "na", "so", "pi"};
    char *text = malloc(size + 1);
    if (!text)
        exit(1);
    uint32_t seed = 2463534242u;
    size_t at = 0;
    while (at + 16 < size) {
        uint32_t word = next_random(&seed) % VOCABULARY;
        word &= next_random(&seed);
        do {
            memcpy(text + at, syllables[word & 7], 2);
            at += 2;
            word >>= 3;
        } while (word);
        text[at++] = ' ';
    }
    memset(text + at, ' ', size - at);
    text[size] = '\0';
    return text;
}

/* ---- counter: words in a hash table ---- */

struct word {
    const char *start;
    size_t length;
    unsigned count;
};

static __attribute__((noinline)) const char *next_word(const char *text, size_t *length)
{
    while (*text == ' ')
        text++;
    const char *end = text;
    while (*end != ' ' && *end != '\0')
        end++;
    *length = (size_t)(end - text);
    return text;
}

/* Counts one word; returns 1 when it is a new one. */
static __attribute__((noinline)) int count_word(struct word *table, const char *start,
                                                size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)start[i]) * 16777619u;
    uint32_t slot = hash % BUCKETS;
    while (table[slot].count) {
        if (table[slot].length == length && memcmp(table[slot].start, start, length) == 0) {
            table[slot].count++;
            return 0;
        }
        slot = (slot + 1) % BUCKETS;
    }
    table[slot] = (struct word){start, length, 1};
    return 1;
}

static __attribute__((noinline)) unsigned count_words(const char *text)
{
    struct word *table = calloc(BUCKETS, sizeof(*table));
    if (!table)
        exit(1);
    unsigned distinct = 0;
    size_t length;
    for (const char *word = next_word(text, &length); length; word = next_word(word, &length)) {
        distinct += (unsigned)count_word(table, word, length);
        word += length;
    }
    free(table);
    return distinct;
}

/* ---- sorter: a merge sort of orders ---- */

struct order {
    uint32_t customer;
    uint32_t cents;
};

static __attribute__((noinline)) int compare_orders(const struct order *a, const struct order *b)
{
    if (a->customer != b->customer)
        return a->customer < b->customer ? -1 : 1;
    return (a->cents > b->cents) - (a->cents < b->cents);
}

static __attribute__((noinline)) void merge(struct order *left, size_t lefts, size_t count,
                                            struct order *scratch)
{
    memcpy(scratch, left, lefts * sizeof(*left));
    size_t i = 0, j = lefts, out = 0;
    while (i < lefts && j < count)
        left[out++] = compare_orders(&scratch[i], &left[j]) <= 0 ? scratch[i++] : left[j++];
    memcpy(left + out, scratch + i, (lefts - i) * sizeof(*left));
}

static void sort_orders(struct order *orders, size_t count, struct order *scratch)
{
    if (count < 2)
        return;
    sort_orders(orders, count / 2, scratch);
    sort_orders(orders + count / 2, count - count / 2, scratch);
    merge(orders, count / 2, count, scratch);
}

/* ---- compressor: matches against what came before, found through chains of hashes ---- */

static __attribute__((noinline)) size_t match_length(const char *a, const char *b, const char *end)
{
    size_t length = 0;
    while (length < LONGEST_MATCH && b + length < end && a[length] == b[length])
        length++;
    return length;
}

static __attribute__((noinline)) size_t find_match(const char *text, size_t at, size_t size,
                                                   int32_t *heads, int32_t *chain)
{
    uint32_t key;
    memcpy(&key, text + at, sizeof(key));
    uint32_t slot = (key * 2654435761u) >> 18;
    size_t longest = 0;
    int32_t candidate = heads[slot];
    for (int tried = 0; candidate >= 0 && tried < LONGEST_CHAIN; tried++) {
        size_t length = match_length(text + candidate, text + at, text + size);
        if (length > longest)
            longest = length;
        candidate = chain[candidate];
    }
    chain[at] = heads[slot];
    heads[slot] = (int32_t)at;
    return longest;
}

/* The size that the text would have when packed. */
static __attribute__((noinline)) size_t compress(const char *text, size_t size)
{
    int32_t *heads = malloc(WINDOW_HASHES * sizeof(*heads));
    int32_t *chain = malloc(size * sizeof(*chain));
    if (!heads || !chain)
        exit(1);
    memset(heads, 0xff, WINDOW_HASHES * sizeof(*heads));
    size_t packed = 0;
    for (size_t at = 0; at + sizeof(uint32_t) <= size;) {
        size_t length = find_match(text, at, size, heads, chain);
        packed += length >= 4 ? 3 : 1;
        at += length >= 4 ? length : 1;
    }
    free(heads);
    free(chain);
    return packed;
}

/* ---- the threads ---- */

static const char *text;
static unsigned distinct_words;
static uint32_t median_cents;
static size_t packed_bytes;

static void *run_counter(void *unused)
{
    (void)unused;
    for (int round = 0; round < COUNT_ROUNDS; round++)
        distinct_words = count_words(text);
    return NULL;
}

static void *run_sorter(void *unused)
{
    (void)unused;
    struct order *orders = malloc(2 * ORDERS * sizeof(*orders));
    if (!orders)
        exit(1);
    uint32_t seed = 88675123u;
    for (int round = 0; round < SORT_ROUNDS; round++) {
        for (size_t i = 0; i < ORDERS; i++)
            orders[i] = (struct order){next_random(&seed) % 1000, next_random(&seed) % 100000};
        sort_orders(orders, ORDERS, orders + ORDERS);
    }
    median_cents = orders[ORDERS / 2].cents;
    free(orders);
    return NULL;
}

static void *run_compressor(void *unused)
{
    (void)unused;
    for (int round = 0; round < PACK_ROUNDS; round++)
        packed_bytes = compress(text, TEXT_BYTES);
    return NULL;
}

int main(void)
{
    static const struct {
        const char *name;
        void *(*run)(void *);
    } workers[] = {
        {"counter", run_counter}, {"sorter", run_sorter}, {"compressor", run_compressor}};
    enum { WORKERS = sizeof(workers) / sizeof(workers[0]) };
    pthread_t threads[WORKERS];

    char *made = make_text(TEXT_BYTES);
    text = made;
    for (int i = 0; i < WORKERS; i++) {
        if (pthread_create(&threads[i], NULL, workers[i].run, NULL) != 0) {
            fprintf(stderr, "threads: cannot start a thread\n");
            return 1;
        }
        pthread_setname_np(threads[i], workers[i].name);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    printf("counter: %u different words\n", distinct_words);
    printf("sorter: the order in the middle is of %u cents\n", median_cents);
    printf("compressor: %d bytes become %zu\n", TEXT_BYTES, packed_bytes);
    free(made);
    return 0;
}
