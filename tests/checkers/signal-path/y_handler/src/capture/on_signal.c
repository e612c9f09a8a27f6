/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
static __thread int depth __attribute__((tls_model("initial-exec")));
struct step { int (*take)(int); };
static __attribute__((noinline)) int step_small(int n) { char b[200]; memset(b, n, sizeof(b)); return b[n & 127]; }
static __attribute__((noinline)) int step_leaf(int n) { volatile char b[64]; b[n & 63] = 1; return b[3]; }
const struct step kymo_steps[] = {{step_small}, {step_leaf}};
static __attribute__((noinline)) int choose(int n)
{
    switch (n) {
    case 0: return step_small(4);
    case 1: return step_leaf(9);
    case 2: return depth;
    case 3: return errno;
    case 4: return 77 + step_leaf(n);
    case 5: return step_small(n) * 3;
    default: return 0;
    }
}
int kymo_loop(int n) { return n > 3 ? kymo_loop(n / 2) : n; }
int kymo_on_signal(int n) { depth++; return choose(n) + kymo_steps[n & 1].take(n) + kymo_loop(n); }
