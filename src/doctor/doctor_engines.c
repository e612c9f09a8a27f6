/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "doctor/doctor_checks.h"
#include "observe/dispatch.h"
#include "observe/kallsyms.h"
#include "observe/perf_event.h"
#include "sys/proc_file.h"

/* A number from a file of the system, fallback if there is none. */
static long read_number(const char *path, long fallback)
{
    char line[64];
    return kymo_doctor_read_line(path, line, sizeof line) ? strtol(line, NULL, 10) : fallback;
}

/* What /proc/self/status says behind "\nField:\t"; "" if there is no such line. */
static void read_status(const char *field, char *out, size_t cap)
{
    char text[16384];
    (void)kymo_proc_file_read(text, sizeof text, "/proc/self/status");
    const char *at = strstr(text, field);
    at = at ? at + strlen(field) : "";
    snprintf(out, cap, "%.*s", (int)strcspn(at, "\n"), at);
}

/* perf_event_open on a child, which is what the recorder does: as itself it may be allowed more.
 * Returns 0, or errno. */
static int try_child(int with_kernel)
{
    int ends[2];
    if (pipe(ends) != 0)
        return errno;
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(ends[1]);
        ssize_t n = read(ends[0], &byte, 1); /* until the parent closes its end */
        _exit(n < 0);
    }
    int err = child < 0 ? errno : 0;
    close(ends[0]);
    if (child > 0) {
        int fd = kymo_perf_open(child, 1000000, SIGURG, with_kernel);
        err = fd < 0 ? errno : 0;
        if (fd >= 0)
            close(fd);
    }
    close(ends[1]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return err;
}

static void advise_on_perf(kymo_check *check, int err, long paranoid)
{
    char seccomp[16];
    read_status("\nSeccomp:\t", seccomp, sizeof seccomp);
    if (err == ENOSYS)
        kymo_check_advise(check, "this kernel has no perf events; the timer engine needs none");
    else if (seccomp[0] == '2' && paranoid <= 2)
        kymo_check_advise(check, "a seccomp filter forbids it: in a container, run it with "
                                 "--cap-add PERFMON, or allow perf_event_open in its profile");
    else
        kymo_check_advise(check,
                          "as root: sysctl kernel.perf_event_paranoid=%d, or give kymo the "
                          "capability: setcap cap_perfmon+ep $(command -v kymo)",
                          paranoid > 2 ? 2 : 1);
}

static void check_perf(kymo_check *check)
{
    long paranoid = read_number("/proc/sys/kernel/perf_event_paranoid", 2);
    long rate = read_number("/proc/sys/kernel/perf_event_max_sample_rate", 100000);
    int self_errno;
    int with_kernel = try_child(1);
    int without_kernel = with_kernel ? try_child(0) : 0;
    enum kymo_perf_access self = kymo_perf_probe(&self_errno);
    if (with_kernel == 0) {
        kymo_check_say(check, KYMO_CHECK_OK,
                       "samples at any period down to %ld us, in the kernel too (paranoid %ld)",
                       rate > 0 ? 1000000 / rate : 0, paranoid);
    } else if (without_kernel == 0) {
        kymo_check_say(check, KYMO_CHECK_OK,
                       "samples at any period down to %ld us; time in system calls is counted with "
                       "the next sample (paranoid %ld)",
                       rate > 0 ? 1000000 / rate : 0, paranoid);
        kymo_check_advise(check, "to sample inside system calls, as root: sysctl "
                                 "kernel.perf_event_paranoid=1");
    } else {
        kymo_check_say(check, KYMO_CHECK_WARN, "not permitted: %s (paranoid %ld%s)",
                       strerror(without_kernel), paranoid,
                       self != KYMO_PERF_NONE ? "; on ourselves it is" : "");
        advise_on_perf(check, without_kernel, paranoid);
    }
}

static void check_kernel_stacks(kymo_check *check)
{
    int why;
    if (kymo_perf_probe(&why) != KYMO_PERF_KERNEL) {
        kymo_check_say(check, KYMO_CHECK_INFO, "none: they need perf events in the kernel");
    } else if (!kymo_kallsyms_is_readable()) {
        kymo_check_say(check, KYMO_CHECK_INFO, "without names: /proc/kallsyms hides them");
        kymo_check_advise(check,
                          "as root: sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1, "
                          "or give kymo cap_syslog, too");
    } else {
        kymo_check_say(check, KYMO_CHECK_OK, "with names, for threads that do not sleep");
    }
}

static void check_dispatch(kymo_check *check)
{
    const char *why;
    if (kymo_dispatch_probe(&why))
        kymo_check_say(check, KYMO_CHECK_OK, "samples at any period, and needs no permission");
    else
        kymo_check_say(check, KYMO_CHECK_INFO, "not chosen by itself: %s", why);
}

static void check_timer(kymo_check *check)
{
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    struct timespec tick = {0};
    timer_t timer;
    /* The coarse clock moves once a tick, whatever CONFIG_HZ is. */
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0) {
        kymo_check_say(check, KYMO_CHECK_WARN, "timers on CPU time do not work: %s",
                       strerror(errno));
        return;
    }
    timer_delete(timer);
    kymo_check_say(check, KYMO_CHECK_OK, "samples no closer than %.3g ms of CPU time (HZ=%ld)",
                   (double)tick.tv_nsec / 1e6, tick.tv_nsec ? 1000000000 / tick.tv_nsec : 0);
}

/* Every timer takes one entry of the user's queue of signals. */
static void check_pending(kymo_check *check)
{
    struct rlimit limit;
    char used[64];
    read_status("\nSigQ:\t", used, sizeof used);
    if (getrlimit(RLIMIT_SIGPENDING, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        kymo_check_say(check, KYMO_CHECK_OK, "no limit");
        return;
    }
    rlim_t taken = (rlim_t)strtoul(used, NULL, 10);
    rlim_t left = limit.rlim_cur > taken ? limit.rlim_cur - taken : 0;
    kymo_check_say(check, left < 64 ? KYMO_CHECK_WARN : KYMO_CHECK_OK,
                   "%lu left: the timer engine takes one for each thread", (unsigned long)left);
    if (left < 64)
        kymo_check_advise(check, "raise it: ulimit -i 4096");
}

static void check_seccomp(kymo_check *check)
{
    char mode[16];
    read_status("\nSeccomp:\t", mode, sizeof mode);
    int filtered = mode[0] == '2';
    kymo_check_say(check, filtered ? KYMO_CHECK_INFO : KYMO_CHECK_OK, "%s",
                   filtered ? "a filter is at work here, as in most containers" : "no filter");
}

static void check_ptrace(kymo_check *check)
{
    long scope = read_number("/proc/sys/kernel/yama/ptrace_scope", 0);
    kymo_check_say(check, scope >= 2 ? KYMO_CHECK_INFO : KYMO_CHECK_OK, "%s (yama %ld)",
                   scope == 0   ? "not restricted"
                   : scope == 1 ? "a parent may look at its child, and that is what kymo is"
                                : "restricted: engine perf may be refused",
                   scope);
}

void kymo_doctor_check_engines(kymo_checks *checks)
{
    static const kymo_doctor_check all[] = {
        {"engine perf", check_perf},
        {"kernel stacks", check_kernel_stacks},
        {"engine dispatch", check_dispatch},
        {"engine timer", check_timer},
        {"pending signals", check_pending},
        {"seccomp", check_seccomp},
        {"ptrace", check_ptrace},
    };
    kymo_doctor_check_all(checks, all, KYMO_ARRAY_LEN(all));
}
