/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
int kymo_fill(char *p);
static __attribute__((noinline)) int inner(int n) { char b[1000]; memset(b, n, sizeof(b)); return kymo_fill(b); }
static __attribute__((noinline)) int outer(int n) { char b[600]; memset(b, n, sizeof(b)); return kymo_fill(b) + inner(n); }
__attribute__((noinline)) int kymo_fill(char *p) { return p[3]; }
int kymo_on_signal(int n) { return outer(n) + 1; }
