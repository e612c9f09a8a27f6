/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit.h - what every unit test includes: cmocka in the order it demands. A test's main is an
 * ordinary function where the test is linked into a program with others, see run.c.
 */
#ifndef KYMO_TESTS_UNIT_H
#define KYMO_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef KYMO_UNIT_ENTRY
#define main KYMO_UNIT_ENTRY
int main(void);
#endif

#endif
