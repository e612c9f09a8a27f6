/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
static int each(int n) { return (int)(long)malloc(n); }
__attribute__((noinline)) int kymo_walk(int (*f)(int), int n) { return f(n) + f(n + 1); }
int kymo_on_signal(int n) { return kymo_walk(each, n) + 1; }
