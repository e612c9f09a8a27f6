/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
int kymo_table[64];
__attribute__((cold, noinline)) int kymo_give_up(int n) { kymo_table[n & 63]++; return n; }
int kymo_on_signal(int n)
{
    if (n == 7) {
        kymo_give_up(n);
        kymo_table[3] = n;
    }
    if (n == 9) {
        kymo_give_up(kymo_table[3]);
        abort();
    }
    return n;
}
