/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task.h - what /proc says of another process and its threads.
 *
 * Layer:    observe
 * Threads:  any
 * Memory:   the caller's buffers
 * Signals:  not for handlers
 *
 * The process may end at any moment: a function that finds nothing returns 0 and leaves its
 * results as they were.
 */
#ifndef KYMO_OBSERVE_TASK_H
#define KYMO_OBSERVE_TASK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The thread's name (comm), NUL-terminated. */
int kymo_task_name(pid_t pid, pid_t tid, char name[16]);
#define KYMO_TASK_SECCOMP_SHIFT 24
/* Of its status: is it dead and not reaped yet; its seccomp mode, shifted, and how many
 * filters it has; signals with a handler, bit N - 1 for signal N; how often it slept of its own
 * will. */
struct kymo_task_status {
    int is_dead;
    uint32_t filters;
    uint64_t caught;
    uint64_t voluntary_switches;
};
int kymo_task_read_status(pid_t pid, pid_t tid, struct kymo_task_status *status);
/* Of a thread, by the scheduler's clock: its CPU time so far, and how often it got a CPU, which it
 * did after each switch. Both are 0 where the kernel does not count (CONFIG_SCHED_INFO). Works for
 * a zombie's main thread; costs less than half of its status. */
struct kymo_task_times {
    uint64_t cpu_ns;
    uint64_t runs;
};
int kymo_task_read_times(pid_t pid, pid_t tid, struct kymo_task_times *times);
/* The same from a descriptor that is kept, at a sixth of the cost: -1 if there is none. */
int kymo_task_open_times(pid_t pid, pid_t tid);
int kymo_task_read_open_times(int fd, struct kymo_task_times *times);
/* Its CPU time alone. */
int kymo_task_cpu_ns(pid_t pid, pid_t tid, uint64_t *cpu_ns);
/* The process's CPU clock, of all its threads and images; works until it is reaped. */
int kymo_task_process_clock(pid_t pid, uint64_t *cpu_ns);
/* When the process began, in ticks since the system did; 0: not known. An exec changes nothing. */
uint64_t kymo_task_start_ticks(pid_t pid);
/* Where its main thread's stack began, above the frame of the program's entry; 0: not known. */
uint64_t kymo_task_start_stack(pid_t pid);
/* CPU time of the process itself, of all its threads but of no child; works until it is reaped. The
 * sum is of the process's clock, its division of the kernel's figures in ticks. */
int kymo_task_process_cpu_ns(pid_t pid, uint64_t *user_ns, uint64_t *system_ns);
/* Which file the process runs, and its path. */
struct kymo_task_exe {
    dev_t device;
    ino_t inode;
};
int kymo_task_executable(pid_t pid, struct kymo_task_exe *exe, char *path, size_t cap);
/* The same of a file, by a path that does not depend on a folder. path: PATH_MAX bytes. */
int kymo_task_executable_at(const char *name, struct kymo_task_exe *exe, char *path, size_t cap);
/* A number that differs after an exec, also of the same file; 0: not known. */
uint64_t kymo_task_auxv_hash(pid_t pid);
/* A descriptor of the memory that the process runs in now, to be closed by the caller; -1: it
 * cannot be opened. may_be_empty: nobody knows that its environment is not, which tells by the
 * descriptor whether the memory is still there. */
int kymo_task_open_image(pid_t pid, int may_be_empty);
/* Whether that memory is still some process's. It is not after an exec, or the end; one call tells
 * it. A process that shares its memory with it keeps it alive. -1 lives. */
int kymo_task_image_lives(int image);
/* Whether the kernel made the thread for itself (io_uring's workers): it never runs the program. */
int kymo_task_is_kernel_made(pid_t pid, pid_t tid);
/* The name of what is mapped at address: a path, or "[vdso]" and the like. */
int kymo_task_mapped_file(pid_t pid, uint64_t address, char *path, size_t cap);
/* The address at which the process's program begins, and that of its loader's ELF header; 0 where
 * it is not known. */
void kymo_task_entries(pid_t pid, uint64_t *program, uint64_t *loader);
/* The image of the kernel's vDSO, in this process; NULL if there is none. */
const void *kymo_task_vdso(uint32_t *len);

#endif
