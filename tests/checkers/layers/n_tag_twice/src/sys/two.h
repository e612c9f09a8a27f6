/* SPDX-License-Identifier: Apache-2.0 */
/*
 * two.h - a sample.
 *
 * Layer:    sys
 */
#ifndef KYMO_SYS_TWO_H
#define KYMO_SYS_TWO_H

struct kymo_sample {
    int two;
};

#endif
