/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__x86_64__)
#define KYMO_WORD 8
#endif
