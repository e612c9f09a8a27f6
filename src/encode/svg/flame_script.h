/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame_script.h - flame.js, as it stands in each SVG file; src/encode/CMakeLists.txt makes it.
 *
 * Layer:    encode
 * Threads:  any
 * Memory:   static
 * Signals:  not for handlers
 */
#ifndef KYMO_ENCODE_SVG_FLAME_SCRIPT_H
#define KYMO_ENCODE_SVG_FLAME_SCRIPT_H

#include <stddef.h>

extern const unsigned char kymo_flame_script[];
extern const size_t kymo_flame_script_bytes;

#endif
