/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode.h - a sample.
 *
 * Layer:    -
 */
#ifndef KYMO_ENCODE_H
#define KYMO_ENCODE_H
int kymo_encode(int class);
#endif
