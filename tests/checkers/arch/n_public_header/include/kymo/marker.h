/* SPDX-License-Identifier: Apache-2.0 */
static inline void kymo_now(unsigned *lo, unsigned *hi)
{
    asm volatile("rdtsc" : "=a"(*lo), "=d"(*hi));
}
