/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_random.c - see alloc.h.
 *
 * -mean ln U of a uniform U, in integers: a hook must leave the program's floating point alone, and
 * call no libm. U = r / 2^64 with r of xorshift64* (Vigna, 2014). The logarithm to base 2 is the
 * place of r's highest bit, and that of the rest from a table, between whose entries it is taken
 * for a line: at most 1.1e-5 too low, and the mean 3e-6 of itself too high.
 */
#include "capture/alloc.h"

#define STEP_BITS 7u
#define LN_2 0xb17217f8u /* in 2^-32, as are all logarithms here */

/* log2(1 + i / 2^STEP_BITS). */
static const uint32_t log2_of[(1u << STEP_BITS) + 1] = {
    /* clang-format off */
    0x00000000, 0x02dfca17, 0x05b9e5a1, 0x088e68eb, 0x0b5d69bb, 0x0e26fd5d, 0x10eb38a0,
    0x13aa2fdd, 0x1663f6fb, 0x1918a16e, 0x1bc84241, 0x1e72ec11, 0x2118b11a, 0x23b9a32f,
    0x2655d3c5, 0x28ed53f3, 0x2b803474, 0x2e0e85aa, 0x309857a0, 0x331dba0f, 0x359ebc5b,
    0x381b6d9c, 0x3a93dc98, 0x3d0817cf, 0x3f782d72, 0x41e42b6f, 0x444c1f6b, 0x46b016ca,
    0x49101eac, 0x4b6c43f1, 0x4dc4933b, 0x501918ec, 0x5269e12f, 0x54b6f7f1, 0x570068e8,
    0x59463f92, 0x5b888736, 0x5dc74aea, 0x6002958c, 0x623a71cc, 0x646eea24, 0x66a008e4,
    0x68cdd82a, 0x6af861e6, 0x6d1fafdd, 0x6f43cba8, 0x7164beb5, 0x73829249, 0x759d4f81,
    0x77b4ff51, 0x79c9aa88, 0x7bdb59cd, 0x7dea15a3, 0x7ff5e66a, 0x81fed45d, 0x8404e794,
    0x86082807, 0x88089d8b, 0x8a064fd5, 0x8c01467c, 0x8df988f5, 0x8fef1e98, 0x91e20ea1,
    0x93d2602c, 0x95c01a3a, 0x97ab43af, 0x9993e356, 0x9b79ffdb, 0x9d5d9fd5, 0x9f3ec9bd,
    0xa11d83f5, 0xa2f9d4c5, 0xa4d3c25e, 0xa6ab52da, 0xa8808c38, 0xaa537465, 0xac241135,
    0xadf26866, 0xafbe7fa1, 0xb1885c7b, 0xb3500472, 0xb5157cf3, 0xb6d8cb54, 0xb899f4d9,
    0xba58feb2, 0xbc15edff, 0xbdd0c7ca, 0xbf89910c, 0xc1404eae, 0xc2f50586, 0xc4a7ba58,
    0xc65871da, 0xc80730b0, 0xc9b3fb6d, 0xcb5ed695, 0xcd07c69e, 0xceaecfeb, 0xd053f6d2,
    0xd1f73f9c, 0xd398ae81, 0xd53847ac, 0xd6d60f39, 0xd8720936, 0xda0c39a5, 0xdba4a47b,
    0xdd3b4d9d, 0xded038e6, 0xe0636a24, 0xe1f4e517, 0xe384ad75, 0xe512c6e5, 0xe69f3506,
    0xe829fb69, 0xe9b31d94, 0xeb3a9f02, 0xecc08322, 0xee44cd5a, 0xefc78104, 0xf148a170,
    0xf2c831e4, 0xf446359b, 0xf5c2afc6, 0xf73da38e, 0xf8b7140f, 0xfa2f045e, 0xfba57787,
    0xfd1a708c, 0xfe8df264, 0xffffffff,
    /* clang-format on */
};

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545f4914f6cdd1dull;
}

/* -log2(r / 2^64); r is not 0, since the state is not and the factor is odd. */
static uint64_t minus_log2(uint64_t r)
{
    uint32_t zeros = (uint32_t)__builtin_clzll(r);
    /* Below the highest bit, which is shifted out: a fraction of 64 bits. */
    uint64_t fraction = zeros < 63 ? r << (zeros + 1) : 0;
    uint32_t step = (uint32_t)(fraction >> (64 - STEP_BITS));
    uint64_t rest = (fraction << STEP_BITS) >> 32;
    uint64_t rise = log2_of[step + 1] - log2_of[step];
    uint64_t log2 = log2_of[step] + (rise * rest >> 32);
    return ((uint64_t)(zeros + 1) << 32) - log2;
}

uint64_t kymo_alloc_interval(uint64_t *state, uint64_t mean)
{
    uint64_t log2 = minus_log2(next_random(state));
    uint64_t ln = (uint64_t)((unsigned __int128)log2 * LN_2 >> 32);
    return (uint64_t)((unsigned __int128)mean * ln >> 32);
}
