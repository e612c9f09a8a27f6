/* SPDX-License-Identifier: Apache-2.0 */
extern __thread int kymo_depth;
__thread int kymo_depth;
int kymo_on_signal(void) { return kymo_depth; }
