/* SPDX-License-Identifier: Apache-2.0 */
/*
 * misc.h - a sample.
 *
 * Layer:    util
 */
#ifndef KYMO_UTIL_MISC_H
#define KYMO_UTIL_MISC_H

#endif
