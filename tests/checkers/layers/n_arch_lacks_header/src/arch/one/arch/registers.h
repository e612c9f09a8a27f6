/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registers.h - a sample.
 *
 * Layer:    arch
 */
#ifndef KYMO_ARCH_REGISTERS_H
#define KYMO_ARCH_REGISTERS_H
struct kymo_regs {
    unsigned long ip, gpr[16];
};
#endif
