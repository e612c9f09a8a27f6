/* SPDX-License-Identifier: Apache-2.0 */
/* Names are those of FIPS 180-4. */
#include "remote/sha256.h"

#include <string.h>

#define BLOCK 64u

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static uint32_t big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void put_big_endian(unsigned char *to, uint32_t x)
{
    for (unsigned i = 0; i < 4; i++)
        to[i] = (unsigned char)(x >> (24 - 8 * i));
}

static void take_block(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64];
    uint32_t v[8]; /* a to h */
    for (unsigned t = 0; t < 16; t++)
        w[t] = big_endian(block + 4 * t);
    for (unsigned t = 16; t < 64; t++) {
        uint32_t s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    memcpy(v, state, sizeof v);
    for (unsigned t = 0; t < 64; t++) {
        uint32_t s1 = rotr(v[4], 6) ^ rotr(v[4], 11) ^ rotr(v[4], 25);
        uint32_t ch = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + ch + k[t] + w[t];
        uint32_t s0 = rotr(v[0], 2) ^ rotr(v[0], 13) ^ rotr(v[0], 22);
        uint32_t maj = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + s0 + maj;
    }
    for (unsigned i = 0; i < 8; i++)
        state[i] += v[i];
}

void kymo_sha256_init(struct kymo_sha256 *sha)
{
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(sha->state, first, sizeof first);
    sha->bytes = 0;
}

void kymo_sha256_add(struct kymo_sha256 *sha, const void *data, size_t len)
{
    const unsigned char *at = data;
    while (len > 0) {
        const size_t filled = (size_t)(sha->bytes % BLOCK);
        const size_t n = len < BLOCK - filled ? len : BLOCK - filled;
        memcpy(sha->block + filled, at, n);
        sha->bytes += n;
        at += n;
        len -= n;
        if (filled + n == BLOCK)
            take_block(sha->state, sha->block);
    }
}

void kymo_sha256_end(struct kymo_sha256 *sha, unsigned char out[KYMO_SHA256_BYTES])
{
    static const unsigned char padding[BLOCK] = {0x80};
    unsigned char bits[8];
    put_big_endian(bits, (uint32_t)(sha->bytes >> 29));
    put_big_endian(bits + 4, (uint32_t)(sha->bytes << 3));
    kymo_sha256_add(sha, padding, 1 + (BLOCK + BLOCK - 9 - (size_t)(sha->bytes % BLOCK)) % BLOCK);
    kymo_sha256_add(sha, bits, sizeof bits);
    for (unsigned i = 0; i < 8; i++)
        put_big_endian(out + 4 * i, sha->state[i]);
}

void kymo_sha256_of(const void *data, size_t len, unsigned char out[KYMO_SHA256_BYTES])
{
    struct kymo_sha256 sha;
    kymo_sha256_init(&sha);
    kymo_sha256_add(&sha, data, len);
    kymo_sha256_end(&sha, out);
}

void kymo_hmac_sha256(const void *key, size_t key_len, const void *data, size_t len,
                      unsigned char out[KYMO_SHA256_BYTES])
{
    unsigned char block[BLOCK] = {0};
    struct kymo_sha256 sha;
    if (key_len > BLOCK)
        kymo_sha256_of(key, key_len, block);
    else if (key_len > 0)
        memcpy(block, key, key_len);
    for (unsigned i = 0; i < BLOCK; i++)
        block[i] ^= 0x36;
    kymo_sha256_init(&sha);
    kymo_sha256_add(&sha, block, BLOCK);
    kymo_sha256_add(&sha, data, len);
    kymo_sha256_end(&sha, out);
    for (unsigned i = 0; i < BLOCK; i++)
        block[i] ^= 0x36 ^ 0x5c;
    kymo_sha256_init(&sha);
    kymo_sha256_add(&sha, block, BLOCK);
    kymo_sha256_add(&sha, out, KYMO_SHA256_BYTES);
    kymo_sha256_end(&sha, out);
}

const char *kymo_sha256_hex(const unsigned char digest[KYMO_SHA256_BYTES],
                            char out[KYMO_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned i = 0; i < KYMO_SHA256_BYTES; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[2 * KYMO_SHA256_BYTES] = '\0';
    return out;
}
