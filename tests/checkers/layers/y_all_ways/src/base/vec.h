/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec.h - a sample.
 *
 * Layer:    base
 */
#ifndef KYMO_BASE_VEC_H
#define KYMO_BASE_VEC_H
#include <stddef.h>
#include "kymo/error.h"
size_t kymo_vec_len(void);
#endif
