/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables.h - a sample.
 *
 * Layer:    profile
 */
#ifndef KYMO_PROFILE_TABLES_H
#define KYMO_PROFILE_TABLES_H

#endif
