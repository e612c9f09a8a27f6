/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
static __attribute__((noinline)) int step_badly(int n) { char *p = malloc(n); p[n] = 1; return p[3]; }
int (*kymo_step)(int) = step_badly;
int kymo_on_signal(int n) { return kymo_step(n) + 1; }
