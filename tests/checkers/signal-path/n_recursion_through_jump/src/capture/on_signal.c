/* SPDX-License-Identifier: Apache-2.0 */
int kymo_left(int n);
__attribute__((noinline)) int kymo_right(int n) { return n < 9 ? n : kymo_left(n - 3); }
__attribute__((noinline)) int kymo_left(int n) { return n > 5 ? kymo_right(n * 7) + 1 : n; }
int kymo_on_signal(int n) { return kymo_left(n) + 1; }
