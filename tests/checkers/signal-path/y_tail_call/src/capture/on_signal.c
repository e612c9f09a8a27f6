/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
__attribute__((noinline)) int kymo_fill(char *p) { return p[3]; }
static __attribute__((noinline)) int inner(int n) { char b[1000]; memset(b, n, sizeof(b)); return kymo_fill(b); }
/* Its frame is gone when inner() begins, which it jumps to. */
int kymo_on_signal(int n) { volatile char b[700]; b[n & 511] = 1; return inner(b[3]); }
