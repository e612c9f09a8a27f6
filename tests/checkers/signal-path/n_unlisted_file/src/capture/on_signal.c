/* SPDX-License-Identifier: Apache-2.0 */
int kymo_mix(int a);
int kymo_on_signal(int a) { return kymo_mix(a) + 1; }
