/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
static __attribute__((noinline)) void *grow(int size) { return malloc(size); }
void *kymo_on_signal(int size) { return size > 3 ? grow(size) : NULL; }
