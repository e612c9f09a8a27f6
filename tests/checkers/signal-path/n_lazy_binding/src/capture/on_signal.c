/* SPDX-License-Identifier: Apache-2.0 */
int kymo_on_signal(int a) { return a + 1; }
