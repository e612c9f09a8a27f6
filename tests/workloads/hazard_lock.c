/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hazard_lock.c [LIMIT_MIB] - locks all its memory, under a limit if one is given, and says what is
 * resident then: its own, and not much more.
 */
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hazards.h"
#include "workload.h"

DEFINE_BURN(burn_locked, 211)

enum { OWN_BYTES = 1 << 20, SMALL_KIB = 48 << 10, BURN_NS = 50000000, PAGE = 4096 };

/* A line of /proc/self/status. */
static long status_kib(const char *key)
{
    char line[256];
    long kib = -1;
    FILE *f = fopen("/proc/self/status", "r");
    must(f != NULL, "/proc/self/status");
    while (fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            kib = atol(line + strlen(key));
    fclose(f);
    return kib;
}

static int resident_pages(void *map)
{
    unsigned char pages[OWN_BYTES / PAGE];
    int count = 0;
    must(mincore(map, OWN_BYTES, pages) == 0, "mincore");
    for (size_t i = 0; i < sizeof pages; i++)
        count += pages[i] & 1;
    return count;
}

static void *map_own(void)
{
    void *map = mmap(NULL, OWN_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    return map;
}

static void lock_by(const char *how, int flags)
{
    void *before = map_own();
    must(before != NULL, "mmap");
    errno = 0;
    int result = mlockall(flags);
    int error = errno;
    void *after = map_own();
    burn_ns(burn_locked, BURN_NS);
    printf("%s: %s; before %d pages, after %d; %s resident, %s locked\n", how,
           result == 0 ? "locked" : strerror(error), resident_pages(before),
           after ? resident_pages(after) : -1, status_kib("VmRSS:") < SMALL_KIB ? "little" : "much",
           status_kib("VmLck:") < SMALL_KIB ? "little" : "much");
    must(munlockall() == 0, "munlockall");
    munmap(before, OWN_BYTES);
    if (after)
        munmap(after, OWN_BYTES);
}

static void limit_to(rlim_t bytes)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    const struct rlimit limit = {bytes, bytes};
    must(setrlimit(RLIMIT_MEMLOCK, &limit) == 0, "setrlimit");
    must(syscall(SYS_capget, &header, data) == 0, "capget");
    data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective &= ~CAP_TO_MASK(CAP_IPC_LOCK);
    data[CAP_TO_INDEX(CAP_IPC_LOCK)].permitted &= ~CAP_TO_MASK(CAP_IPC_LOCK);
    must(syscall(SYS_capset, &header, data) == 0, "capset");
}

int hazard_lock(int argc, char **argv)
{
    burn_ns(burn_locked, BURN_NS);
    if (argc > 1)
        limit_to((rlim_t)number_argument(argc, argv, 1, 0) << 20);
    lock_by("current", MCL_CURRENT);
    lock_by("future", MCL_FUTURE);
    lock_by("both", MCL_CURRENT | MCL_FUTURE);
    lock_by("on fault", MCL_CURRENT | MCL_ONFAULT);
    lock_by("both on fault", MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
    lock_by("nothing", 0);
    lock_by("nonsense", MCL_CURRENT | 64);
    /* Locking what is there ends the locking of what comes. */
    must(mlockall(MCL_FUTURE) == 0 || argc > 1, "mlockall");
    lock_by("current after future", MCL_CURRENT);
    return 0;
}
