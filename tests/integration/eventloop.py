# SPDX-License-Identifier: Apache-2.0
"""An event loop is sampled where it works and never where it waits.

The loops run side by side: what they print of themselves is in CPU time, which neighbours do not
change, and being preempted is what real servers know, too.

Shares are of A and B together: what the kernel uses to put the thread to sleep and to wake it, some
2 % here, is in neither. So is what the loop uses to read its own clock: the kernel looks there whether
another thread is to run, so that the dispatcher finds the loop there more often than its time is, up to
9 % instead of 3 % on one CPU, and of those samples nothing is asked but that they are not in the wait.
It also gets on the loop's CPU a little after its tick, and what the loop does first after it woke has
that much less than its share: LATE_S is allowed, and three points, since on a busy machine it is later
still. Where a signal to another CPU takes long, it finds the loop on its way into the wait or out of it,
up to 4 % of the samples in a virtual machine; three points are allowed for it, too. A share of few
samples is off by chance: by no more than three standard deviations. With timers, which the kernel looks at in its tick only, shares are not
judged: waits that end with the tick (recv's time-out does) keep the work out of its sight. What is
judged of them is that they disturb nothing, and that their weights add up to the CPU time, or, where
no tick saw the thread at all, that the report says that all of it is unsampled.
"""
import json
import os

from as_alone import check_accounted
from kymotest import (WORKLOADS, Recording, Running, add_case, as_many, by_chance, check, engines, folder,
                      main, record_command, say, skip, tools_for)

WAYS = ["poll", "epoll_wait", "nanosleep", "recv"]
# Half of it is enough for loops that work half of their time, and with timers, whose shares no test
# judges. On a busy machine it takes longer until there were waits enough.
SECONDS = 9
LEAST_WAITS = 300
MOST_SECONDS = 100
LATE_S = 0.0001
# Frames of a wait, from the program's function to libc's.
WAITS = {"poll": ["wait_poll", "__poll", "poll", "__GI___poll"],
         "epoll_wait": ["wait_epoll", "epoll_wait"],
         "nanosleep": ["wait_nanosleep", "__nanosleep", "nanosleep", "__GI___nanosleep",
                       "clock_nanosleep", "__clock_nanosleep", "__GI___clock_nanosleep",
                       "clock_nanosleep@@GLIBC_2.17", "__clock_nanosleep_2"],
         "recv": ["wait_recv", "__libc_recv", "recv", "__recv"]}


def lateness(truth):
    """By how much A's share is too small if LATE_S of it are missing in each round."""
    a, b = (truth[cpu] / truth["calls"] for cpu in ("cpu_a", "cpu_b"))
    return max(0.03, a / (a + b) - (a - LATE_S) / (a + b - LATE_S))


def judge(way, recording, seen, cpus):
    """Returns what is wrong; seen: a list that the waits and those that saw EINTR are added to."""
    result = recording.result
    check(result.status == 0, f"status {result.status}: {result.stderr}")
    truth = json.loads(result.stdout)
    report = recording.report()
    waiting = sum(report.share(name) for name in WAITS[way])
    work_s = report.inclusive_s("burn_a") + report.inclusive_s("burn_b")
    unsampled_s = check_accounted(report, recording)
    if report.quality["engine"] != "timer" or report.quality["samples"] > 0:
        check(unsampled_s <= 0.01 * recording.cpu_s, f"{unsampled_s} s were not sampled")
    figures = {}
    if report.quality["engine"] != "timer":
        samples = as_many(s.cpu_ns for s in recording.firefox().all_samples())
        dispatched = report.quality["engine"] == "dispatch"
        late = lateness(truth) if dispatched else 0
        figures["in the wait"] = (waiting, 0, max(0.02, by_chance(0.02, samples)) + 0.03 * (dispatched and cpus > 1))
        for name, cpu in (("burn_a", truth["cpu_a"]), ("burn_b", truth["cpu_b"])):
            share = cpu / (truth["cpu_a"] + truth["cpu_b"])
            figures[name] = (report.inclusive_s(name) / work_s, share,
                             max(0.02, by_chance(share, samples)) + late)
    say(f"{way}: {truth['calls']} waits, {truth['eintr']} saw EINTR; {report.quality['samples']} "
        "samples; "
        + ", ".join(f"{name} {value:.4f} ({true:.4f})"
                    for name, (value, true, _) in figures.items()))
    wrong = [f"{way}: {name} is {value:.4f}, in truth {true:.4f}"
             for name, (value, true, tolerance) in figures.items() if abs(value - true) > tolerance]
    seen.append((truth["calls"], truth["eintr"]))
    if truth["eintr"] > truth["calls"] * (0.001 + by_chance(0.001, truth["calls"])):
        wrong.append(f"{way}: {truth['eintr']} of {truth['calls']} waits saw EINTR")
    # Where others want the CPU, the recorder may come late.
    lost = {what: n for what, n in report.lost().items() if "recorder late" not in what}
    if lost:
        wrong.append(f"{way}: lost {lost}")
    return wrong


def loops(engine, cpus, duty=19):
    if cpus > len(os.sched_getaffinity(0)):
        skip("there is only one CPU")
    if engine not in engines():
        skip(f"{engine} does not work here")
    # Those that run side by side leave half of the machine to others.
    together = max(1, min(len(WAYS), cpus * 50 // duty))
    wrong, seen = [], []
    for i in range(0, len(WAYS), together):
        wrong += side_by_side(WAYS[i:i + together], engine, cpus, duty, seen)
    # Of a few hundred waits two are EINTR by chance; of all together, two more than one in 1000. (With
    # one in 3000, which the dispatcher is after, of 3000 waits 4 or more are once in 50 runs.)
    calls, eintr = (sum(column) for column in zip(*seen))
    if eintr > calls / 1000 + 2:
        wrong.append(f"{eintr} of {calls} waits saw EINTR")
    check(not wrong, "; ".join(wrong))


def side_by_side(ways, engine, cpus, duty, seen):
    seconds = SECONDS if duty < 50 and engine != "timer" else SECONDS / 2
    recordings = record_ways(ways, engine, cpus, duty, seconds)
    while seconds < MOST_SECONDS and any(
            json.loads(r.result.stdout or '{"calls":0}')["calls"] < LEAST_WAITS for r in recordings):
        seconds *= 2
        say(f"few waits, once more for {seconds:g} s")
        recordings = record_ways(ways, engine, cpus, duty, seconds)
    return [what for way, recording in zip(ways, recordings) for what in judge(way, recording, seen, cpus)]


def record_ways(ways, engine, cpus, duty, seconds):
    running = []
    for way in ways:
        path = folder() / "recording.kymo"
        command = record_command([WORKLOADS / "eventloop", way, seconds, duty], path, engine=engine)
        running.append((path, Running(command, cpus=sorted(os.sched_getaffinity(0))[:cpus])))
    return [Recording(path, r.finish(), tools_for(None)) for path, r in running]


# Events and timers are the thread's own; the dispatcher has to get on a CPU, beside the loop or instead
# of it.
for which in ("perf", "timer"):
    add_case(which, loops, which, min(2, len(os.sched_getaffinity(0))))
for number, percent in ((1, 1), (1, 50), (2, 10)):
    add_case(f"dispatch.{number}cpu.{percent}", loops, "dispatch", number, percent)
main()
