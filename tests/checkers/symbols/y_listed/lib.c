/* SPDX-License-Identifier: Apache-2.0 */
static int helper(int value) { return value + 1; }
int kymo_inner(int value);
int kymo_inner(int value) { return helper(value); }
__attribute__((visibility("default"))) int sigaction(int value) { return kymo_inner(value); }
