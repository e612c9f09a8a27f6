/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.h - a sample.
 *
 * Layer:    unwind
 */
#ifndef KYMO_UNWIND_WALK_H
#define KYMO_UNWIND_WALK_H

#endif
