/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec.h - a sample.
 *
 * Layer:    encode
 */
#ifndef KYMO_BASE_VEC_H
#define KYMO_BASE_VEC_H

#endif
