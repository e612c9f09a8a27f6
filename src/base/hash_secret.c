/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/auxv.h>
#include <sys/random.h>

#include "base/atomic.h"
#include "base/hash.h"

static uint64_t secret; /* 0: not made yet; written once, by the first caller */

static uint64_t make_secret(void)
{
    uint64_t word = 0;
    /* A machine that has only just booted must not block us, and a sandbox may forbid the call. The
     * kernel gave each process 16 random bytes at its start, which are as good; they are the stack
     * protector's, so they are not used as they are. */
    if (getrandom(&word, sizeof word, GRND_NONBLOCK) != (ssize_t)sizeof word) {
        const void *random = (const void *)getauxval(AT_RANDOM);
        word = random ? kymo_hash_bytes(random, 16, 0) : (uintptr_t)&word;
    }
    return word ? word : 1;
}

uint64_t kymo_hash_secret(void)
{
    uint64_t word = kymo_load_relaxed(&secret);
    if (word != 0)
        return word;
    /* The word is all there is to see, so no order is needed: the loser takes the winner's. */
    uint64_t mine = make_secret();
    return kymo_cas_relaxed(&secret, &word, mine) ? mine : word;
}
