/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "arch/cpu.h"
#include "arch/system.h"
#include "base/str.h"
#include "doctor/doctor_checks.h"
#include "launch/machine.h"
#include "memory/cgroup.h"

static void check_system(kymo_check *check)
{
    struct kymo_machine m;
    char memory[32];
    kymo_machine_read(&m);
    int right = strcmp(m.arch, KYMO_ARCH_UNAME) == 0;
    kymo_check_say(check, right ? KYMO_CHECK_OK : KYMO_CHECK_FAIL,
                   "%s, %.60s, %s, %u CPUs, %s, clock %s", m.os[0] ? m.os : "unknown system",
                   m.kernel, m.arch, m.logical_cpus, kymo_format_bytes(memory, m.memory_bytes),
                   m.tsc ? KYMO_COUNTER_CLOCKSOURCE : "of the kernel");
    if (!right)
        kymo_check_advise(check, "this Kymo records " KYMO_ARCH_NAME " programs only");
    else if (!m.tsc) {
        check->state = KYMO_CHECK_WARN;
        kymo_check_advise(check, "the kernel does not trust this CPU's counter; reading the time "
                                 "costs more in each sample");
    }
}

/* libkymo-preload.so finds unwind tables by _dl_find_object, which came with 2.35. */
static void check_libc(kymo_check *check)
{
    int major = 0;
    int minor = 0;
    const char *version = gnu_get_libc_version();
    int known = sscanf(version, "%d.%d", &major, &minor) == 2;
    int right = known && (major > 2 || (major == 2 && minor >= 35));
    kymo_check_say(check, right ? KYMO_CHECK_OK : KYMO_CHECK_FAIL, "glibc %s", version);
    if (!right)
        kymo_check_advise(check, "glibc 2.35 or newer is needed");
}

/* The recorder holds a descriptor for each thread with engine perf. */
static void check_descriptors(kymo_check *check)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max == RLIM_INFINITY) {
        kymo_check_say(check, KYMO_CHECK_OK, "no limit");
        return;
    }
    int few = limit.rlim_max < 1024;
    kymo_check_say(check, few ? KYMO_CHECK_WARN : KYMO_CHECK_OK,
                   "%lu at most: engine perf takes one for each thread of the program",
                   (unsigned long)limit.rlim_max);
    if (few)
        kymo_check_advise(check, "raise the hard limit: ulimit -Hn 65536 (as root)");
}

static void check_locked_memory(kymo_check *check)
{
    struct rlimit limit;
    char text[32];
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        kymo_check_say(check, KYMO_CHECK_OK, "no limit; Kymo locks none");
    else
        kymo_check_say(check, KYMO_CHECK_OK, "%s at most; Kymo locks none",
                       kymo_format_bytes(text, limit.rlim_cur));
}

static void check_memory(kymo_check *check)
{
    char text[32];
    uint64_t limit = kymo_cgroup_limit("", "self");
    if (limit == UINT64_MAX) {
        kymo_check_say(check, KYMO_CHECK_OK, "no limit of the cgroup");
        return;
    }
    int small = limit < 64ull << 20;
    kymo_check_say(check, small ? KYMO_CHECK_WARN : KYMO_CHECK_OK,
                   "the cgroup may use %s; the buffer takes at most 5 %% of it",
                   kymo_format_bytes(text, limit));
    if (small)
        kymo_check_advise(check, "record with --buffer=4m, or raise the cgroup's limit");
}

/* What there is no way around: threads are found in /proc, samples travel through a memfd. */
static void check_kernel(kymo_check *check)
{
    int fd = memfd_create("kymo-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (access("/proc/self/task", R_OK | X_OK) != 0) {
        kymo_check_say(check, KYMO_CHECK_FAIL, "/proc/self/task: %s", strerror(errno));
        kymo_check_advise(check, "mount proc on /proc");
    } else if (fd < 0) {
        kymo_check_say(check, KYMO_CHECK_FAIL, "memfd_create: %s", strerror(errno));
        kymo_check_advise(check, "allow memfd_create in the seccomp filter");
    } else {
        kymo_check_say(check, KYMO_CHECK_OK, "/proc and memfd_create are there");
    }
    if (fd >= 0)
        close(fd);
}

void kymo_doctor_check_limits(kymo_checks *checks)
{
    static const kymo_doctor_check all[] = {
        {"system", check_system},
        {"C library", check_libc},
        {"kernel interfaces", check_kernel},
        {"open files", check_descriptors},
        {"locked memory", check_locked_memory},
        {"memory", check_memory},
    };
    kymo_doctor_check_all(checks, all, KYMO_ARRAY_LEN(all));
}
