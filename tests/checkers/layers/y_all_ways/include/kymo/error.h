/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h - a sample.
 *
 * Layer:    -
 */
#ifndef KYMO_ERROR_H
#define KYMO_ERROR_H
int kymo_error_new(int code);
#endif
