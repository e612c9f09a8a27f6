/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec.h - a sample.
 *
 * Layer:    base
 */
#ifndef VEC_H
#define VEC_H

#endif
