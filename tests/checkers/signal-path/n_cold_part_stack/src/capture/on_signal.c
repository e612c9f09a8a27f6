/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
int kymo_table[64];
int kymo_fill(char *p);
/* What is cold is moved away and jumped to, in the frame of the handler. */
__attribute__((cold, noinline)) int kymo_give_up(int n) { char b[1000]; memset(b, n, sizeof(b)); return kymo_fill(b); }
__attribute__((noinline)) int kymo_fill(char *p) { return p[3]; }
int kymo_on_signal(int n)
{
    char b[800];
    memset(b, n, sizeof(b));
    if (n == 7) {
        kymo_table[1] = kymo_give_up(n);
        kymo_table[3] = n;
    }
    return kymo_fill(b);
}
