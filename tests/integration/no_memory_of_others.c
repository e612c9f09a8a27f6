/* SPDX-License-Identifier: Apache-2.0 */
/*
 * no_memory_of_others.c - preloaded into the recorder: the memory of other processes may not be
 * read, as with kernel.yama.ptrace_scope=1 that of a process that is not a child.
 */
#include <errno.h>
#include <sys/uio.h>

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long locals,
                         const struct iovec *remote, unsigned long remotes, unsigned long flags)
{
    (void)pid;
    (void)local;
    (void)locals;
    (void)remote;
    (void)remotes;
    (void)flags;
    errno = EPERM;
    return -1;
}
