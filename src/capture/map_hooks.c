/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_hooks.c - the functions that map memory and take mappings away.
 *
 * Layer:    capture; in libkymo-preload-alloc.so alone
 * Flow:     the program's call -> [map_hooks] -> alloc.h
 * Threads:  any
 * Signals:  safe, as what they stand in front of
 *
 * The C library's own calls do not come by these symbols: neither its allocator's, nor the
 * loader's, nor those for stacks of threads. Another allocator's do, and are told by where their
 * caller is.
 *
 * What is taken away is recorded before: from then on another thread may be given the place.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "arch/system.h"
#include "base/atomic.h"
#include "capture/alloc.h"
#include "capture/alloc_next.h"
#include "capture/claim.h"
#include "capture/hooks.h"
#include "capture/state.h"
#include "sys/raw.h"

#define PAGE KYMO_ARCH_PAGE_BYTES

static void note(uint32_t op, uint32_t how, const void *address, uint64_t bytes, const void *before,
                 uint64_t bytes_before, const void *caller, uint64_t here)
{
    int saved = errno;
    if (kymo_alloc_next_is_allocator((uintptr_t)caller))
        how |= KYMO_MAP_BY_ALLOCATOR;
    kymo_alloc_note_map(op, how, (uintptr_t)address, bytes, (uintptr_t)before, bytes_before, here);
    errno = saved;
}

#define NOTE(op, how, address, bytes, before, bytes_before)                          \
    note(op, how, address, bytes, before, bytes_before, __builtin_return_address(0), \
         KYMO_FRAME_BEGIN())

KYMO_HOOK void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    void *made = kymo_next.mmap(address, bytes, protection, flags, fd, offset);
    uint32_t how = (flags & MAP_ANONYMOUS ? 0 : KYMO_MAP_OF_FILE) |
                   ((flags & MAP_TYPE) == MAP_PRIVATE ? 0 : KYMO_MAP_IS_SHARED);
    if (made != MAP_FAILED)
        NOTE(KYMO_MAP_MAP, how, made, bytes, NULL, 0);
    return made;
}

KYMO_HOOK __typeof__(mmap) mmap64 __attribute__((alias("mmap")));

KYMO_HOOK int munmap(void *address, size_t bytes)
{
    /* What the kernel refuses is not gone. */
    if ((uintptr_t)address % PAGE == 0 && bytes > 0 && bytes <= PTRDIFF_MAX)
        NOTE(KYMO_MAP_UNMAP, 0, address, bytes, NULL, 0);
    return kymo_next.munmap(address, bytes);
}

/* The real one is variadic, and has its fifth argument with these flags only. A function that is
 * declared so keeps 176 bytes of registers, on a stack that may be a handler's. */
KYMO_HOOK void *kymo_hook_mremap(void *address, size_t before, size_t bytes, int flags,
                                 void *fifth) __asm__("mremap");

void *kymo_hook_mremap(void *address, size_t before, size_t bytes, int flags, void *fifth)
{
    void *place = flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) ? fifth : NULL;
    void *moved = kymo_next.mremap(address, before, bytes, flags, place);
    if (moved == MAP_FAILED)
        return moved;
    /* From no bytes: a second look at a shared mapping; or the first one stays, empty. */
    if (before == 0 || flags & MREMAP_DONTUNMAP)
        NOTE(KYMO_MAP_MAP, before == 0 ? KYMO_MAP_IS_SHARED : 0, moved, bytes, NULL, 0);
    else
        NOTE(KYMO_MAP_MOVE, 0, moved, bytes, address, before);
    return moved;
}

#define NOTE_BREAK(before, after)                                         \
    do {                                                                  \
        uintptr_t from_ = (uintptr_t)(before);                            \
        uintptr_t to_ = (uintptr_t)(after);                               \
        if (to_ > from_)                                                  \
            NOTE(KYMO_MAP_BREAK, 0, (void *)from_, to_ - from_, NULL, 0); \
        else if (to_ < from_)                                             \
            NOTE(KYMO_MAP_BREAK, 0, (void *)to_, 0, NULL, from_ - to_);   \
    } while (0)

KYMO_HOOK int brk(void *address)
{
    char *before = kymo_next.sbrk(0);
    int result = kymo_next.brk(address);
    if (result == 0)
        NOTE_BREAK(before, address);
    return result;
}

KYMO_HOOK void *sbrk(intptr_t bytes)
{
    char *before = kymo_next.sbrk(bytes);
    if (bytes != 0 && (intptr_t)before != -1)
        NOTE_BREAK(before, before + bytes);
    return before;
}

/* ---- shared memory of System V ---- */

/* What is attached, as far as there is room: who detaches it does not say how much it was. */
enum { SEGMENTS = 128 };
static struct {
    uint64_t address; /* 0: free */
    uint64_t bytes;
} segments[SEGMENTS];

static void keep_segment(uint64_t address, uint64_t bytes)
{
    for (int i = 0; i < SEGMENTS; i++) {
        uint64_t none = 0;
        if (kymo_load_relaxed(&segments[i].address) == 0 &&
            kymo_cas_acq_rel(&segments[i].address, &none, address)) {
            kymo_store_release(&segments[i].bytes, bytes);
            return;
        }
    }
}

/* 0: it is not known. */
static uint64_t drop_segment(uint64_t address)
{
    for (int i = 0; i < SEGMENTS; i++) {
        uint64_t other = address;
        if (kymo_load_relaxed(&segments[i].address) != address)
            continue;
        uint64_t bytes = kymo_load_acquire(&segments[i].bytes);
        if (kymo_cas_acq_rel(&segments[i].address, &other, 0u))
            return bytes;
    }
    return 0;
}

/* 0: the kernel may not be asked, or does not tell. */
static uint64_t segment_bytes(int id)
{
    struct shmid_ds about;
    if (kymo_is_quiet_here() ||
        kymo_syscall3(SYS_shmctl, id, IPC_STAT, (long)(intptr_t)&about) != 0)
        return 0;
    return (about.shm_segsz + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

KYMO_HOOK void *shmat(int id, const void *address, int flags)
{
    void *made = kymo_next.shmat(id, address, flags);
    uint64_t bytes = made == (void *)-1 ? 0 : segment_bytes(id);
    if (bytes) {
        /* If SHM_REMAP has replaced a segment here, that one will not be detached any more. */
        (void)drop_segment((uintptr_t)made);
        keep_segment((uintptr_t)made, bytes);
        NOTE(KYMO_MAP_SHARED, KYMO_MAP_IS_SHARED, made, bytes, NULL, 0);
    }
    return made;
}

KYMO_HOOK int shmdt(const void *address)
{
    uint64_t bytes = address ? drop_segment((uintptr_t)address) : 0;
    if (bytes)
        NOTE(KYMO_MAP_UNMAP, 0, address, bytes, NULL, 0);
    return kymo_next.shmdt(address);
}
