/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sha256.h - SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104), for signatures of requests.
 *
 * Layer:    remote
 * Flow:     payload, keys -> [sha256] -> sigv4.c
 * Threads:  one owner
 * Memory:   the caller's structure
 * Signals:  not for handlers
 */
#ifndef KYMO_REMOTE_SHA256_H
#define KYMO_REMOTE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define KYMO_SHA256_BYTES 32u
#define KYMO_SHA256_HEX 65u

struct kymo_sha256 {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64]; /* its first bytes % 64 */
};

void kymo_sha256_init(struct kymo_sha256 *sha);
void kymo_sha256_add(struct kymo_sha256 *sha, const void *data, size_t len);
void kymo_sha256_end(struct kymo_sha256 *sha, unsigned char out[KYMO_SHA256_BYTES]);

void kymo_sha256_of(const void *data, size_t len, unsigned char out[KYMO_SHA256_BYTES]);
void kymo_hmac_sha256(const void *key, size_t key_len, const void *data, size_t len,
                      unsigned char out[KYMO_SHA256_BYTES]);
/* In small letters, with a NUL. Returns out. */
const char *kymo_sha256_hex(const unsigned char digest[KYMO_SHA256_BYTES],
                            char out[KYMO_SHA256_HEX]);

#endif
