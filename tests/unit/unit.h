/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit.h - what every unit test includes: cmocka in the order it demands.
 */
#ifndef KYMO_TESTS_UNIT_H
#define KYMO_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
