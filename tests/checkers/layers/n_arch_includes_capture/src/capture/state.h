/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - a sample.
 *
 * Layer:    capture
 */
#ifndef KYMO_CAPTURE_STATE_H
#define KYMO_CAPTURE_STATE_H
#endif
