/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_hooks.c - mlockall locks the program's memory, not ours.
 *
 * The kernel's mlockall makes all mappings resident, and refuses when all of them are more than
 * RLIMIT_MEMLOCK. Ours are large and mostly untouched: a program of 2 MiB would have 170, or fail
 * where it does not alone. So what is mapped now is locked mapping by mapping, without ours. What
 * is mapped later (MCL_FUTURE) is the kernel's business: then ours are unlocked as they are made.
 */
#include <errno.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "arch/system.h"
#include "base/atomic.h"
#include "buffer/attach.h"
#include "capture/alloc.h"
#include "capture/fork_child.h"
#include "capture/hooks.h"
#include "capture/signal_move.h"
#include "capture/state.h"
#include "sys/own_maps.h"
#include "sys/raw.h"

enum { OWN_MOST = 16, KNOWN_FLAGS = MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT };

struct range {
    uint64_t lo, hi;
};

struct own {
    struct range ranges[OWN_MOST];
    int count;
};

/* Whether the kernel locks what is mapped later. */
static uint32_t locks_future;

/* The linker's: of the library that this is part of. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static void own_add(struct own *own, const void *map, uint64_t bytes)
{
    enum { PAGE = KYMO_ARCH_PAGE_BYTES };
    uint64_t lo = (uint64_t)(uintptr_t)map;
    if (map && bytes && own->count < OWN_MOST)
        own->ranges[own->count++] = (struct range){lo, (lo + bytes + PAGE - 1) & ~(PAGE - 1ull)};
}

static void own_find(const struct kymo_capture_process *p, struct own *own)
{
    own->count = 0;
    own_add(own, __ehdr_start, (uint64_t)((uintptr_t)_end - (uintptr_t)__ehdr_start));
    own_add(own, p, p->mapped_bytes);
    own_add(own, p->session, p->plan.total_bytes);
    own_add(own, p->bell, KYMO_ATTACH_BELL_BYTES);
    own_add(own, p->tables, p->tables_bytes);
    if (kymo_alloc_calls)
        for (uint32_t i = 0; i < OWN_MOST; i++) {
            uint64_t bytes = 0;
            uint64_t map = kymo_alloc_calls->memory(i, &bytes);
            own_add(own, (const void *)(uintptr_t)map, bytes);
        }
}

/* The first part of [from, hi) that is not ours; 0: there is none. */
static int own_gap(const struct own *own, uint64_t from, uint64_t hi, struct range *part)
{
    for (int i = 0; i < own->count; i++)
        if (from >= own->ranges[i].lo && from < own->ranges[i].hi) {
            from = own->ranges[i].hi;
            i = -1;
        }
    if (from >= hi)
        return 0;
    *part = (struct range){from, hi};
    for (int i = 0; i < own->count; i++)
        if (own->ranges[i].lo > from && own->ranges[i].lo < part->hi)
            part->hi = own->ranges[i].lo;
    return 1;
}

/* Of what is not ours: how much it is, after locking it (flags: of mlock2; -1: only counts).
 * *error: the first one. -1: /proc cannot be read. */
static int64_t lock_each(const struct own *own, int flags, int *error)
{
    struct kymo_own_maps maps;
    struct range map, part;
    int64_t bytes = 0;
    *error = 0;
    if (!kymo_own_maps_open(&maps))
        return -1;
    while (kymo_own_maps_next(&maps, &map.lo, &map.hi))
        /* Above the half there is the kernel's own page, which is no memory of ours. */
        for (; map.hi <= INT64_MAX && own_gap(own, map.lo, map.hi, &part); map.lo = part.hi) {
            long result = flags < 0 ? 0
                                    : kymo_syscall3(SYS_mlock2, (long)part.lo,
                                                    (long)(part.hi - part.lo), flags);
            if (result != 0 && !*error)
                *error = (int)-result;
            bytes += (int64_t)(part.hi - part.lo);
        }
    kymo_own_maps_close(&maps);
    return bytes;
}

static int may_lock_any_amount(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
    return kymo_syscall3(SYS_capget, (long)(intptr_t)&header, (long)(intptr_t)data, 0) == 0 &&
           data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK);
}

/* What the flags say of mappings to come. */
static int set_future(int flags)
{
    long result = 0;
    if (flags & MCL_FUTURE)
        result = kymo_syscall3(SYS_mlockall, flags & ~MCL_CURRENT, 0, 0);
    else if (kymo_load_relaxed(&locks_future))
        /* Nothing else makes the kernel forget it. What is unlocked thereby is locked again in a
         * moment. */
        result = kymo_syscall3(SYS_munlockall, 0, 0, 0);
    if (result == 0)
        kymo_store_relaxed(&locks_future, (uint32_t)((flags & MCL_FUTURE) != 0));
    return (int)-result;
}

/* 0 or an error, as the kernel's; -1: what is mapped cannot be read. */
static int lock_present(const struct kymo_capture_process *p, int flags)
{
    struct own own;
    struct rlimit limit;
    int error;
    own_find(p, &own);
    int64_t bytes = lock_each(&own, -1, &error);
    if (bytes < 0 || getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        return -1;
    int is_above = (uint64_t)bytes > limit.rlim_cur;
    if (is_above && !may_lock_any_amount())
        return limit.rlim_cur == 0 ? EPERM : ENOMEM;
    error = set_future(flags);
    if (error)
        return error;
    /* The right may be one of a user namespace, which is none: found out before a page is touched.
     */
    if (is_above && lock_each(&own, MLOCK_ONFAULT, &error) && error == ENOMEM) {
        (void)kymo_syscall3(SYS_munlockall, 0, 0, 0);
        return ENOMEM;
    }
    /* Like the kernel's: a page that cannot be had is no error. */
    (void)lock_each(&own, flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0, &error);
    return 0;
}

KYMO_HOOK int mlockall(int flags)
{
    __typeof__(mlockall) *real = KYMO_REAL(mlockall);
    kymo_fork_attach_now();
    struct kymo_capture_process *p = kymo_process_here();
    if (p && flags & MCL_CURRENT && !(flags & ~KNOWN_FLAGS) && !kymo_is_quiet_here() &&
        !kymo_is_quiet(p) && kymo_signal_process_is_own(p)) {
        int error = lock_present(p, flags);
        if (error > 0)
            errno = error;
        if (error >= 0)
            return error ? -1 : 0;
    }
    int result = real(flags);
    if (result == 0 && flags & MCL_FUTURE)
        kymo_store_relaxed(&locks_future, 1u);
    return result;
}
