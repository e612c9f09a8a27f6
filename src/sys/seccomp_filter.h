/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp_filter.h - whether a seccomp filter lets a system call through.
 *
 * Layer:    sys; above base
 * Flow:     a filter that the program is about to set -> [seccomp_filter] ->
 * capture/seccomp_hooks.c Threads:  any Memory:   none Signals:  safe
 */
#ifndef KYMO_SYS_SECCOMP_FILTER_H
#define KYMO_SYS_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

/* 1 if the filter allows the call, by its number alone: from any place and with any arguments. 0
 * also for what is no filter. */
int kymo_seccomp_allows(const struct sock_filter *filter, size_t len, uint32_t number);

#endif
