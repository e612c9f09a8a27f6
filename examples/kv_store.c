/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kv_store.c - the table of kvserver.c. Values carry a checksum, made when they come and looked at
 * when they go, so that there is work to see in a profile.
 */
#include "kv_store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kv_marks.h"

enum {
    PARTS = 16,
    BUCKETS_AT_FIRST = 64,
    LONG_WAIT_NS = 20000, /* for a lock; shorter ones are left out */
};

KYMO_COUNTER(store_keys, store, "Keys", DELTA, NULL, PURPLE);

struct entry {
    struct entry *next;
    uint64_t hash;
    uint64_t checksum;
    uint32_t len;
    char key[KV_KEY_MAX + 1];
    char value[];
};

struct part {
    pthread_mutex_t lock;
    struct entry **buckets;
    size_t bucket_count; /* a power of two */
    size_t entry_count;
};

struct kv_store {
    struct part parts[PARTS];
};

static __attribute__((noinline)) uint64_t checksum(const char *bytes, size_t len)
{
    uint64_t sum = 14695981039346656037u;
    for (size_t i = 0; i < len; i++)
        sum = (sum ^ (unsigned char)bytes[i]) * 1099511628211u;
    return sum;
}

struct kv_store *kv_store_create(void)
{
    struct kv_store *store = calloc(1, sizeof(*store));
    if (!store)
        return NULL;
    for (int i = 0; i < PARTS; i++) {
        struct part *part = &store->parts[i];
        pthread_mutex_init(&part->lock, NULL);
        part->bucket_count = BUCKETS_AT_FIRST;
        part->buckets = calloc(part->bucket_count, sizeof(struct entry *));
        if (!part->buckets) {
            kv_store_destroy(store);
            return NULL;
        }
    }
    return store;
}

void kv_store_destroy(struct kv_store *store)
{
    for (int i = 0; i < PARTS; i++) {
        struct part *part = &store->parts[i];
        for (size_t b = 0; part->buckets && b < part->bucket_count; b++) {
            for (struct entry *entry = part->buckets[b], *next; entry; entry = next) {
                next = entry->next;
                free(entry);
            }
        }
        free(part->buckets);
    }
    free(store);
}

/* The part of a key, locked. */
static struct part *enter(struct kv_store *store, uint64_t hash)
{
    struct part *part = &store->parts[hash % PARTS];
    if (pthread_mutex_trylock(&part->lock) != 0) {
        KYMO_SCOPE_MIN(lock, "wait for a part", LONG_WAIT_NS);
        pthread_mutex_lock(&part->lock);
    }
    return part;
}

static void leave(struct part *part)
{
    pthread_mutex_unlock(&part->lock);
}

static struct entry **find(struct part *part, uint64_t hash, const char *key)
{
    struct entry **at = &part->buckets[hash / PARTS & (part->bucket_count - 1)];
    while (*at && ((*at)->hash != hash || strcmp((*at)->key, key) != 0))
        at = &(*at)->next;
    return at;
}

/* Twice as many buckets, where there is memory; the stack in the marker tells whose key it was. */
static void grow(struct part *part)
{
    size_t count = part->bucket_count * 2;
    struct entry **buckets = calloc(count, sizeof(*buckets));
    if (!buckets)
        return;
    KYMO_SCOPE_OPT(store, "grow", KYMO_OPTIONS(.stack = KYMO_STACK_HERE));
    KYMO_MARKER_FMT(store, "growing", "%zu entries, from %zu to %zu buckets", part->entry_count,
                    part->bucket_count, count);
    for (size_t b = 0; b < part->bucket_count; b++) {
        for (struct entry *entry = part->buckets[b], *next; entry; entry = next) {
            struct entry **at = &buckets[entry->hash / PARTS & (count - 1)];
            next = entry->next;
            entry->next = *at;
            *at = entry;
        }
    }
    free(part->buckets);
    part->buckets = buckets;
    part->bucket_count = count;
}

int kv_store_put(struct kv_store *store, const char *key, const char *value, uint32_t len)
{
    struct entry *entry = malloc(sizeof(*entry) + len);
    if (!entry)
        return -1;
    entry->hash = checksum(key, strlen(key));
    entry->checksum = checksum(value, len);
    entry->len = len;
    memset(entry->key, 0, sizeof(entry->key));
    memcpy(entry->key, key, strnlen(key, KV_KEY_MAX));
    memcpy(entry->value, value, len);

    struct part *part = enter(store, entry->hash);
    struct entry **at = find(part, entry->hash, entry->key);
    struct entry *before = *at;
    entry->next = before ? before->next : NULL;
    *at = entry;
    if (!before && ++part->entry_count > part->bucket_count)
        grow(part);
    leave(part);
    if (!before)
        KYMO_COUNT(store_keys, 1);
    free(before);
    return !before;
}

int64_t kv_store_get(struct kv_store *store, const char *key, char *out)
{
    uint64_t hash = checksum(key, strlen(key));
    struct part *part = enter(store, hash);
    struct entry *entry = *find(part, hash, key);
    int64_t len = -1;
    if (entry) {
        len = entry->len;
        memcpy(out, entry->value, entry->len);
    }
    uint64_t expected = entry ? entry->checksum : 0;
    leave(part);
    if (len >= 0 && checksum(out, (size_t)len) != expected) {
        KYMO_MARKER_TEXT_OPT(store, "damaged value", KYMO_OPTIONS(.stack = KYMO_STACK_HERE), key);
        return -1;
    }
    return len;
}

int kv_store_remove(struct kv_store *store, const char *key)
{
    uint64_t hash = checksum(key, strlen(key));
    struct part *part = enter(store, hash);
    struct entry **at = find(part, hash, key);
    struct entry *entry = *at;
    if (entry) {
        *at = entry->next;
        part->entry_count--;
    }
    leave(part);
    if (entry)
        KYMO_COUNT(store_keys, -1);
    free(entry);
    return entry != NULL;
}

uint64_t kv_store_scan(struct kv_store *store, const char *prefix)
{
    uint64_t found = 0;
    size_t len = strlen(prefix);
    KYMO_SCOPE(store, "scan");
    for (uint64_t i = 0; i < PARTS; i++) {
        struct part *part = enter(store, i);
        for (size_t b = 0; b < part->bucket_count; b++) {
            for (const struct entry *entry = part->buckets[b]; entry; entry = entry->next)
                found += strncmp(entry->key, prefix, len) == 0;
        }
        leave(part);
    }
    return found;
}
