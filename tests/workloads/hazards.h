/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hazards.h - the things that hazards.c can do, each a function of its own. They print the same on
 * every run, apart from figures that they measure, and return the exit status.
 */
#ifndef KYMO_TESTS_HAZARDS_H
#define KYMO_TESTS_HAZARDS_H

/* hazard_stacks.c: stacks of unusual size and place, and code that leaves them in unusual ways */
int hazard_smallstack(int argc, char **argv);
int hazard_coroutine(int argc, char **argv);
int hazard_longjmp(int argc, char **argv);
int hazard_sigaltstack(int argc, char **argv);

/* hazard_process.c: what a program does to itself as a process */
int hazard_daemon(int argc, char **argv);
int hazard_privdrop(int argc, char **argv);
int hazard_unshare(int argc, char **argv);
int hazard_fsize(int argc, char **argv);
int hazard_fork(int argc, char **argv);
int hazard_forkmalloc(int argc, char **argv);
int hazard_lowmem(int argc, char **argv);
int hazard_space(int argc, char **argv);

/* hazard_threads.c: what costs more, or breaks, once there is a thread or a signal more */
int hazard_single(int argc, char **argv);
int hazard_mallocthread(int argc, char **argv);
int hazard_allocthreads(int argc, char **argv);
int hazard_maskall(int argc, char **argv);
int hazard_ownsignal(int argc, char **argv);

/* hazard_raw.c: a system call that no library sees */
int hazard_rawaction(int argc, char **argv);

/* hazard_lock.c: all memory locked */
int hazard_lock(int argc, char **argv);

/* hazard_tls.c: thread-local storage that is not libc's */
int hazard_tls(int argc, char **argv);

/* hazard_waits.c: calls that no signal may end */
int hazard_waits(int argc, char **argv);

/* hazard_transfer.c: calls that no signal may cut short */
int hazard_transfer(int argc, char **argv);

/* hazard_seccomp.c: filters that kill */
int hazard_seccomp(int argc, char **argv);

/* hazard_code.c: code that comes and goes, and calls that are never returned from */
int hazard_dlopen(int argc, char **argv);
int hazard_unreadable(int argc, char **argv);
int hazard_jumpout(int argc, char **argv);

/* hazard_kernel.c: threads that libc knows nothing of */
int hazard_rawclone(int argc, char **argv);
int hazard_iouring(int argc, char **argv);

/* Not by libc's syscall, which a library may wrap. */
static inline long raw_call(long number, long a, long b, long c, long d)
{
    long result;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

#endif
