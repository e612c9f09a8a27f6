/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kv_store.h - keys and values in a hash table of parts, each with a lock of its own.
 *
 * Threads:  any
 * Memory:   the store owns its entries; what it gives out is copied
 */
#ifndef KV_STORE_H
#define KV_STORE_H

#include <stddef.h>
#include <stdint.h>

enum {
    KV_KEY_MAX = 63,          /* bytes, without the NUL */
    KV_VALUE_MAX = 32 * 1024, /* bytes */
};

struct kv_store;

struct kv_store *kv_store_create(void); /* NULL: no memory */
void kv_store_destroy(struct kv_store *store);

/* 1 when the key was new, 0 when it has a new value now, -1 without memory. */
int kv_store_put(struct kv_store *store, const char *key, const char *value, uint32_t len);

/* The length of the value, which is copied to out (KV_VALUE_MAX bytes), or -1. */
int64_t kv_store_get(struct kv_store *store, const char *key, char *out);

/* 1 when it was there. */
int kv_store_remove(struct kv_store *store, const char *key);

/* How many keys begin like that. */
uint64_t kv_store_scan(struct kv_store *store, const char *prefix);

#endif
