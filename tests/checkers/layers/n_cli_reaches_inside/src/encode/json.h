/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - a sample.
 *
 * Layer:    encode
 */
#ifndef KYMO_ENCODE_JSON_H
#define KYMO_ENCODE_JSON_H

#endif
