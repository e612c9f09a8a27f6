/*
 * bad.c - names its licence below the lines that are read.
 *
 */
/* SPDX-License-Identifier: Apache-2.0 */
