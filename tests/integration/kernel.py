# SPDX-License-Identifier: Apache-2.0
"""What the kernel did for a program: how much of its time, in which functions, called from where."""
import json
import time

from kymotest import (WORKLOADS, as_many, by_chance, case, check, check_close, check_nothing_lost, main,
                      perf_works, record, say, skip)

CLOCK_MONOTONIC_COARSE = 6
TICK_S = time.clock_getres(CLOCK_MONOTONIC_COARSE)


def names_are_shown():
    """Whether the kernel tells where its functions are, asked without Kymo."""
    try:
        with open("/proc/kallsyms") as lines:
            return any(int(line.split()[0], 16) for line in lines)
    except OSError:
        return False


def record_kernel_time(engine, seconds=2):
    if not perf_works():
        skip("perf_event_open is not permitted here, or not in the kernel")
    recording = record([WORKLOADS / "kernel_time", seconds], engine=engine)
    return recording, json.loads(recording.result.stdout)


def share(samples, holds):
    return sum(s.cpu_ns for s in samples if holds(s)) / sum(s.cpu_ns for s in samples)


@case
def time_in_the_kernel():
    """The shares of the callers are those that they measured, the kernel's is the kernel's own,
    which is counted in its ticks, and so by chance, too."""
    recording, truth = record_kernel_time("perf", 6)
    report = recording.report()
    check_nothing_lost(report.quality)
    samples = recording.firefox().all_samples()
    many = as_many(s.cpu_ns for s in samples)
    for name in ("burn_own", "burn_random", "burn_faults"):
        check_close(name, share(samples, lambda s: any(f.name == name for f in s.frames)),
                    truth[name], max(0.02, by_chance(truth[name], many)))
    check_close("in the kernel", share(samples, lambda s: s.frames[-1].in_kernel()),
                truth["system"], by_chance(truth["system"], recording.cpu_s / TICK_S))


@case
def callers_of_the_kernel():
    """A kernel's frame stands on the function that called, and nothing of the program on it."""
    recording, _ = record_kernel_time("perf")
    samples = recording.firefox().all_samples()
    kernel = [s for s in samples if s.frames[-1].in_kernel()]
    for sample in kernel:
        inside = [f.in_kernel() for f in sample.frames]
        check(inside == sorted(inside), f"mixed: {[f.name for f in sample.frames]}")
    # The rest is in readings of the clock, and in interrupts of other threads.
    called = share(kernel, lambda s: any(f.name in ("burn_random", "burn_faults") for f in s.frames))
    say(f"{called:.4f} of the kernel's time is of the two that call it")
    check(called >= 0.94, "the kernel's time has other callers")
    if not names_are_shown():
        skip("the kernel hides its functions' names: only the shares were compared")
    for caller, function in (("burn_random", "getrandom"), ("burn_faults", "fault")):
        own = [s for s in kernel if any(f.name == caller for f in s.frames)]
        held = share(own, lambda s: any(f.in_kernel() and function in f.name or f.name == "munmap"
                                        or "mmap" in f.name or "munmap" in f.name
                                        for f in s.frames))
        say(f"{held:.4f} of {caller}'s time in the kernel is where it belongs")
        check(held >= 0.97, f"{caller} is not in {function}")


@case
def soon_in_the_kernel():
    """A thread that does nothing but call the kernel has samples at the rate that was asked for, after
    some that come with the tick."""
    if not perf_works():
        skip("perf_event_open is not permitted here, or not in the kernel")
    report = record([WORKLOADS / "kernel_time", "0.3", "random"], engine="perf").report()
    rate = report.quality["sampled_rate"]
    say(f"{rate:.3f} of the samples asked for, in 0.3 s")
    check(rate >= 0.88, f"only {rate:.3f} of the samples")


@case
def without_the_kernel():
    """The timer engine knows nothing of the kernel, and says no more than it knows."""
    recording, truth = record_kernel_time("timer")
    samples = recording.firefox().all_samples()
    many = as_many(s.cpu_ns for s in samples)
    check(not any(f.in_kernel() for s in samples for f in s.frames), "kernel frames without perf")
    check_close("burn_random", share(samples, lambda s: any(f.name == "burn_random"
                                                           for f in s.frames)),
                truth["burn_random"], max(0.06, by_chance(truth["burn_random"], many)))


if __name__ == "__main__":
    main()
