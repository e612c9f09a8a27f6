/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - a sample.
 *
 * Layer:    -
 */
#ifndef KYMO_PROFILE_H
#define KYMO_PROFILE_H
#include "base/vec.h"
#endif
