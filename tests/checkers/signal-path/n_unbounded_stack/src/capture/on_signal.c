/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
__attribute__((noinline)) int kymo_fill(char *p) { return p[3]; }
int kymo_on_signal(int n) { char b[n]; memset(b, n, n); return kymo_fill(b); }
