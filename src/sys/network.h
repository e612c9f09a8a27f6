/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network.h - tells network namespaces apart without /proc.
 *
 * Layer:    sys
 * Flow:     recorder/tree.c -> the session -> capture/exec_target.c
 * Threads:  any
 * Memory:   none
 * Signals:  async-signal-safe
 *
 * A look at /proc/self/ns/net makes the kernel build the process's folder of /proc in memory, and
 * remove it at the process's end: 25 us for a process that did not look into it otherwise
 * (measured).
 */
#ifndef KYMO_SYS_NETWORK_H
#define KYMO_SYS_NETWORK_H

#include <fcntl.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "sys/raw.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

/* A number that no other network namespace has had since the machine was started; 0: the kernel
 * does not tell it (before Linux 5.14), or there can be no socket. */
static inline uint64_t kymo_network_cookie(void)
{
    uint64_t cookie = 0;
    uint32_t len = sizeof cookie;
    long fd = kymo_syscall3(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    if (kymo_syscall6(SYS_getsockopt, fd, SOL_SOCKET, SO_NETNS_COOKIE, (long)(intptr_t)&cookie,
                      (long)(intptr_t)&len, 0) != 0)
        cookie = 0;
    (void)kymo_syscall3(SYS_close, fd, 0, 0);
    return cookie;
}

#endif
