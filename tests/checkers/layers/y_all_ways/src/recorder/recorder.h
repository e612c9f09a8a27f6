/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder.h - a sample.
 *
 * Layer:    recorder
 */
#ifndef KYMO_RECORDER_RECORDER_H
#define KYMO_RECORDER_RECORDER_H
#include "capture/cpu.h"
#endif
