/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sort_keys.c - a radix sort of (key, position), lowest digit first.
 *
 * Addresses of one module differ in some 24 bits, so three passes sort them. Elements are
 * moved once, at the end. Those of equal keys are then sorted by qsort, if they are not in order: a
 * radix sort is stable, and they often were.
 */
#include "base/sort_keys.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Of fewer, qsort is as fast. */
#define LEAST 64u
#define DIGIT_BITS 8u
#define DIGITS (1u << DIGIT_BITS)

typedef struct key_at {
    uint64_t key;
    size_t at;
} key_at;

static uint64_t key_of(const unsigned char *element)
{
    uint64_t key;
    memcpy(&key, element, sizeof key);
    return key;
}

static void sort_digit(const key_at *from, key_at *to, size_t n, unsigned shift)
{
    size_t places[DIGITS] = {0};
    for (size_t i = 0; i < n; i++)
        places[from[i].key >> shift & (DIGITS - 1)]++;
    size_t place = 0;
    for (size_t i = 0; i < DIGITS; i++) {
        size_t count = places[i];
        places[i] = place;
        place += count;
    }
    for (size_t i = 0; i < n; i++)
        to[places[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
}

/* Sorts n pairs; the room for as many follows them. Returns where they are. */
static const key_at *sort_pairs(key_at *pairs, size_t n, uint64_t highest)
{
    key_at *from = pairs, *to = pairs + n;
    for (unsigned shift = 0; shift < 64 && highest >> shift; shift += DIGIT_BITS) {
        sort_digit(from, to, n, shift);
        key_at *other = from;
        from = to;
        to = other;
    }
    return from;
}

static void sort_equal(unsigned char *data, size_t n, size_t size,
                       int (*compare)(const void *, const void *))
{
    for (size_t i = 1; i < n; i++) {
        if (compare(data + (i - 1) * size, data + i * size) > 0) {
            qsort(data, n, size, compare);
            return;
        }
    }
}

void kymo_sort_keys(void *data, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    if (n < 2)
        return;
    unsigned char *elements = data;
    key_at *pairs =
        n < LEAST || n > SIZE_MAX / 4 / sizeof *pairs ? NULL : malloc(2 * n * sizeof *pairs);
    unsigned char *copy = pairs ? malloc(n * size) : NULL;
    if (!copy) {
        free(pairs);
        qsort(data, n, size, compare);
        return;
    }
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = key_of(elements + i * size);
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    for (size_t i = 0; i < n; i++)
        pairs[i] = (key_at){key_of(elements + i * size) - low, i};
    const key_at *sorted = sort_pairs(pairs, n, high - low);
    for (size_t i = 0; i < n; i++)
        memcpy(copy + i * size, elements + sorted[i].at * size, size);
    memcpy(elements, copy, n * size);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && sorted[end].key == sorted[i].key; end++)
            continue;
        sort_equal(elements + i * size, end - i, size, compare);
    }
    free(copy);
    free(pairs);
}
