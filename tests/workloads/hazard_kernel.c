/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hazard_kernel.c - threads that libc knows nothing of. They show up in /proc beside the others,
 * but may have another thread's TLS, or none, or run in the kernel only: what a profiler does to
 * every thread that it finds must suit these, too.
 */
#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hazards.h"
#include "workload.h"

DEFINE_BURN(burn_raw, 101)
DEFINE_BURN(burn_beside_raw, 103)
DEFINE_BURN(burn_beside_ring, 107)

/* ---- clone() without pthread_create ---- */

enum { RAW_STACK = 64 << 10, RAW_TLS = 32 << 10, RAW_SLICES = 10000, RAW_THREADS = 3 };

static atomic_int raw_done;

/* Calls nothing of libc: errno and all else in TLS may be another thread's. */
static int run_raw(void *unused)
{
    (void)unused;
    for (int i = 0; i < RAW_SLICES; i++)
        burn_raw(SLICE);
    atomic_fetch_add(&raw_done, 1);
    return 0;
}

static char *map(size_t size)
{
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(memory != MAP_FAILED, "mmap");
    return memory;
}

/* A thread control block as glibc's begins, with zeros in front of it: TLS that is not set up.
 */
static void *blank_tls(void)
{
    void **block = (void **)(map(RAW_TLS) + RAW_TLS / 2);
    block[0] = block;
    block[2] = block;
    return block;
}

/* Waits until the kernel says that the thread is gone; its stack is free then. */
static void wait_gone(atomic_int *tid)
{
    for (int value; (value = atomic_load(tid)) != 0;)
        syscall(SYS_futex, tid, FUTEX_WAIT, value, NULL, NULL, 0);
}

int hazard_rawclone(int argc, char **argv)
{
    (void)argc, (void)argv;
    const int memory = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM;
    const int thread = memory | CLONE_SIGHAND | CLONE_THREAD | CLONE_CHILD_CLEARTID;
    static atomic_int tids[2];
    /* With the caller's TLS; with TLS of its own; and a process of its own in our memory. */
    tids[0] = tids[1] = 1;
    must(clone(run_raw, map(RAW_STACK) + RAW_STACK, thread, NULL, NULL, NULL, &tids[0]) > 0,
         "clone");
    must(clone(run_raw, map(RAW_STACK) + RAW_STACK, thread | CLONE_SETTLS, NULL, NULL, blank_tls(),
               &tids[1]) > 0,
         "clone with TLS");
    pid_t process = clone(run_raw, map(RAW_STACK) + RAW_STACK, memory | SIGCHLD, NULL);
    must(process > 0, "clone of a process");
    while (atomic_load(&raw_done) < RAW_THREADS)
        burn_beside_raw(SLICE);
    wait_gone(&tids[0]);
    wait_gone(&tids[1]);
    int status = -1;
    must(waitpid(process, &status, 0) == process, "waitpid");
    printf("%d that libc does not know of worked, the process ended with %d\n", (int)raw_done,
           status);
    return status;
}

/* ---- io_uring: a polling thread and workers of the kernel's, in our process ---- */

struct ring {
    int fd;
    unsigned *head, *tail, *mask, *array, *flags;
    unsigned *done_head, *done_tail, *done_mask;
    struct io_uring_sqe *entries;
    struct io_uring_cqe *done;
};

static int open_ring(struct ring *r, unsigned entries)
{
    struct io_uring_params p = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 1000};
    r->fd = (int)syscall(SYS_io_uring_setup, entries, &p);
    if (r->fd < 0)
        return errno;
    const int prot = PROT_READ | PROT_WRITE;
    char *sq = mmap(NULL, p.sq_off.array + p.sq_entries * sizeof(unsigned), prot, MAP_SHARED, r->fd,
                    IORING_OFF_SQ_RING);
    char *cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), prot,
                    MAP_SHARED, r->fd, IORING_OFF_CQ_RING);
    r->entries = mmap(NULL, p.sq_entries * sizeof(struct io_uring_sqe), prot, MAP_SHARED, r->fd,
                      IORING_OFF_SQES);
    must(sq != MAP_FAILED && cq != MAP_FAILED && (void *)r->entries != MAP_FAILED, "mmap");
    r->head = (unsigned *)(void *)(sq + p.sq_off.head);
    r->tail = (unsigned *)(void *)(sq + p.sq_off.tail);
    r->mask = (unsigned *)(void *)(sq + p.sq_off.ring_mask);
    r->flags = (unsigned *)(void *)(sq + p.sq_off.flags);
    r->array = (unsigned *)(void *)(sq + p.sq_off.array);
    r->done_head = (unsigned *)(void *)(cq + p.cq_off.head);
    r->done_tail = (unsigned *)(void *)(cq + p.cq_off.tail);
    r->done_mask = (unsigned *)(void *)(cq + p.cq_off.ring_mask);
    r->done = (struct io_uring_cqe *)(void *)(cq + p.cq_off.cqes);
    return 0;
}

/* Reads one byte of the file by a worker of the kernel's and waits, busily, for it. */
static int read_by_ring(struct ring *r, int file, off_t at)
{
    char byte = 0;
    const unsigned tail = *r->tail, slot = tail & *r->mask;
    r->entries[slot] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
                                             .flags = IOSQE_ASYNC,
                                             .fd = file,
                                             .off = (uint64_t)at,
                                             .addr = (uint64_t)(uintptr_t)&byte,
                                             .len = 1};
    r->array[slot] = slot;
    __atomic_store_n(r->tail, tail + 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(r->flags, __ATOMIC_SEQ_CST) & IORING_SQ_NEED_WAKEUP)
        syscall(SYS_io_uring_enter, r->fd, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
    while (__atomic_load_n(r->done_tail, __ATOMIC_ACQUIRE) == *r->done_head)
        burn_beside_ring(SLICE / 10);
    const int result = r->done[*r->done_head & *r->done_mask].res;
    __atomic_store_n(r->done_head, *r->done_head + 1, __ATOMIC_RELEASE);
    return result == 1 ? (unsigned char)byte : -1;
}

int hazard_iouring(int argc, char **argv)
{
    const int reads = (int)number_argument(argc, argv, 1, 3000);
    struct ring ring = {0};
    const int refused = open_ring(&ring, 8);
    if (refused) {
        printf("no io_uring here: %s\n", strerror(refused));
        return 77;
    }
    FILE *file = tmpfile();
    must(file != NULL, "tmpfile");
    for (int i = 0; i < 256; i++)
        putc(i, file);
    fflush(file);
    int wrong = 0;
    for (int i = 0; i < reads; i++)
        wrong += read_by_ring(&ring, fileno(file), i % 256) != i % 256;
    printf("%d reads by threads of the kernel's, %d wrong\n", reads, wrong);
    return wrong != 0;
}
