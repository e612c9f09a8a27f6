/* SPDX-License-Identifier: Apache-2.0 */
__attribute__((noinline)) int kymo_visit(int *tree) { return *tree ? kymo_visit(tree + 1) * 3 + kymo_visit(tree + *tree) + 1 : 1; }
int kymo_on_signal(int *n) { return kymo_visit(n) + 1; }
