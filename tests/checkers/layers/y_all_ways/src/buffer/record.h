/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - a sample.
 *
 * Layer:    buffer
 */
#ifndef KYMO_BUFFER_RECORD_H
#define KYMO_BUFFER_RECORD_H
#include "base/vec.h"
#endif
