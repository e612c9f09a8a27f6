/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/perf_event.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arch/perf_registers.h"

#define PROBED_BYTES 4096u /* of a stack */

static struct perf_event_attr task_clock(uint64_t period_ns, int with_kernel)
{
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_TASK_CLOCK;
    attr.sample_period = period_ns;
    attr.disabled = 1;
    attr.exclude_kernel = !with_kernel;
    attr.exclude_hv = 1;
    attr.wakeup_events = 1;
    /* After an exec the signal would be ignored, but its interrupts would go on. */
    attr.remove_on_exec = 1;
    return attr;
}

/* An event that tells where in the kernel each interrupt came, and when. */
static struct perf_event_attr with_chains(uint64_t period_ns)
{
    struct perf_event_attr attr = task_clock(period_ns, 1);
    attr.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
    /* The user's part is walked by us: here it would be by frame pointers. */
    attr.exclude_callchain_user = 1;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
    return attr;
}

static int open_event(struct perf_event_attr attr, pid_t tid)
{
    long fd = syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0 && errno == EINVAL) { /* before Linux 5.13 */
        attr.remove_on_exec = 0;
        fd = syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
    return (int)fd;
}

enum kymo_perf_access kymo_perf_probe(int *sys_errno)
{
    int fd = open_event(task_clock(1000000, 1), 0);
    *sys_errno = 0;
    if (fd >= 0) {
        close(fd);
        return KYMO_PERF_KERNEL;
    }
    *sys_errno = errno;
    fd = open_event(task_clock(1000000, 0), 0);
    if (fd >= 0) {
        close(fd);
        return KYMO_PERF_USER;
    }
    *sys_errno = errno;
    return KYMO_PERF_NONE;
}

static int send_signal(int fd, pid_t tid, int signo)
{
    if (fd < 0)
        return -1;
    struct f_owner_ex owner = {F_OWNER_TID, tid};
    if (fcntl(fd, F_SETOWN_EX, &owner) != 0 || fcntl(fd, F_SETSIG, signo) != 0 ||
        fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) != 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

int kymo_perf_open(pid_t tid, uint64_t period_ns, int signo, int with_kernel)
{
    return send_signal(open_event(task_clock(period_ns, with_kernel), tid), tid, signo);
}

int kymo_perf_open_chains(pid_t tid, uint64_t period_ns, int signo)
{
    return send_signal(open_event(with_chains(period_ns), tid), tid, signo);
}

int kymo_perf_open_copies(pid_t tid, const struct kymo_perf_copies *asked)
{
    struct perf_event_attr attr = with_chains(asked->period_ns);
    attr.exclude_kernel = attr.exclude_callchain_kernel = !asked->with_kernel;
    attr.exclude_callchain_user = !asked->with_chain;
    attr.sample_type |= PERF_SAMPLE_READ | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attr.sample_regs_user = KYMO_PERF_REGISTERS;
    attr.sample_stack_user = asked->stack_bytes;
    /* The ring is looked at in each round: a wakeup is an interrupt more. */
    attr.watermark = 1;
    attr.wakeup_watermark = UINT32_MAX;
    /* None before Linux 5.13: it would go on in the next image. */
    return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int kymo_perf_may_copy(pid_t pid, int with_kernel)
{
    const struct kymo_perf_copies asked = {
        .period_ns = 1000000000, .stack_bytes = PROBED_BYTES, .with_kernel = with_kernel};
    int fd = kymo_perf_open_copies(pid, &asked);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int kymo_perf_open_tasks(pid_t tid)
{
    struct perf_event_attr attr = {
        .size = sizeof attr,
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .mmap = 1,
        .task = 1,
        .comm = 1,
        .comm_exec = 1,
        .watermark = 1,
        .wakeup_watermark = 1,
    };
    return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int kymo_perf_enable(int fd)
{
    return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

int kymo_perf_disable(int fd)
{
    return ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

int kymo_perf_set_period(int fd, uint64_t period_ns)
{
    return ioctl(fd, PERF_EVENT_IOC_PERIOD, &period_ns);
}
