/* SPDX-License-Identifier: Apache-2.0 */
/*
 * one.h - a sample.
 *
 * Layer:    base
 */
#ifndef KYMO_BASE_ONE_H
#define KYMO_BASE_ONE_H

struct kymo_sample {
    int one;
};

#endif
