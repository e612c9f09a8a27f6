/* SPDX-License-Identifier: Apache-2.0 */
int kymo_handle(int a) { return a + 1; }
