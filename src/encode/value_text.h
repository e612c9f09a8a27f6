/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value_text.h - one value of a marker or label as text.
 *
 * Layer:    encode; above profile
 * Flow:     values of a profile -> [value_text] -> firefox/, jfr/
 * Threads:  any; it has no state
 * Memory:   the caller's
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_VALUE_TEXT_H
#define KYMO_ENCODE_VALUE_TEXT_H

#include <stddef.h>

#include "kymo/marker_abi.h"
#include "kymo/profile.h"

#define KYMO_VALUE_TEXT_MAX 48
/* The value as text, in the profile or in buffer; *len is its length. format: kymo_mark_format, of
 * which hexadecimal ones make a difference. Of a list it is "". */
const char *kymo_value_text(const kymo_profile *profile, const kymo_value *value, uint32_t format,
                            char buffer[KYMO_VALUE_TEXT_MAX], size_t *len);

#endif
