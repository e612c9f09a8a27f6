/* SPDX-License-Identifier: Apache-2.0 */
__attribute__((visibility("default"))) int kymo_listed(void) { return 1; }
__attribute__((visibility("default"))) int kymo_forgotten(void) { return 2; }
