/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.h - a sample.
 *
 * Layer:    capture
 */
#ifndef KYMO_CAPTURE_CPU_H
#define KYMO_CAPTURE_CPU_H

#endif
