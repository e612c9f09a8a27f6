/* SPDX-License-Identifier: Apache-2.0 */
__attribute__((visibility("default"))) int kymo_listed(void) { return 1; }
