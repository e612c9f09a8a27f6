/*
 * bad.c - names its licence where nobody looks.
 *
 */
/* SPDX-License-Identifier: Apache-2.0 */
