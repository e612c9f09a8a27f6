# SPDX-License-Identifier: Apache-2.0
"""Kymo where it may do nothing special: a user without capabilities, under a filter that denies what
Docker's denies, as process 1 of a container, and with perf_event_paranoid as strict as it gets.

restrict.c makes these places. CPU time is wait4's of kymo and the program together less kymo's own
clock; in a container, whose first process is no child of the test, it is what the program reads.
"""
import gzip
import json
import os
import pathlib

from kymotest import (BUILD, HZ, NOBODY, WORKLOADS, add_case, check, check_close,
                      check_nothing_lost, copy_for_all, folder, main, record, run, say, skip, tools_for)

PARANOID = pathlib.Path("/proc/sys/kernel/perf_event_paranoid")
HOMELESS = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
PLACES = {"user": ["--open"], "seccomp": [], "container": ["--container"]}
PERIOD_S = 0.001
SECONDS = 1
LEAST_RATE = 0.5  # a hypervisor that takes the CPU away takes ticks, too: how near the rate comes is for a benchmark


def place(name):
    """The command that takes us there; skips where this machine cannot."""
    if os.geteuid() != 0 and name != "container":
        say("not root: as the user that runs the test, not as nobody")
    restrict = copies["restrict"]
    tried = run([restrict, *PLACES[name], "/bin/true"])
    if tried.status != 0:
        skip(f"there is no such place here: {tried.stderr.strip()}")
    return [restrict, *PLACES[name]]


class Paranoid:
    """perf_event_paranoid at a level while it lasts, and as it was from then on."""

    def __init__(self, level):
        self.level = level

    def __enter__(self):
        self.before = PARANOID.read_text()
        try:
            PARANOID.write_text(str(self.level))
        except OSError as why:
            skip(f"perf_event_paranoid cannot be set to {self.level}: {why}")
        check(int(PARANOID.read_text()) == self.level, "perf_event_paranoid is not what we wrote")

    def __exit__(self, *_):
        PARANOID.write_text(self.before)


def judge(where, recording, truth_s):
    """All CPU time, by complete stacks, at a rate that the report tells as it was."""
    report = recording.report()
    quality = report.quality
    engine = quality["engine"]
    say(f"{where}: engine {engine}, {quality['samples']} samples")
    check_nothing_lost(report.quality)
    check_close("CPU seconds", report.total_s, truth_s, 0.01 * truth_s)
    check_close("achieved", quality["achieved"], 1, 0.01)
    check(quality["stacks_complete"] >= 0.999, f"stacks_complete {quality['stacks_complete']}")
    # The dispatcher wants a CPU beside the program's.
    check(engine != "timer" or len(os.sched_getaffinity(0)) == 1, "the timer engine was chosen")
    period_s = max(PERIOD_S, 1 / HZ) if engine == "timer" else PERIOD_S
    rate = quality["samples"] * period_s / truth_s
    say(f"{rate:.4f} of one sample each {period_s * 1e3:g} ms; the report says "
        f"{quality['sampled_rate']:.4f} of those asked for, the machine's load is "
        f"{os.getloadavg()[0]:.1f}")
    check_close("sampled_rate in the report", quality["sampled_rate"],
                min(quality["samples"] * PERIOD_S / truth_s, 1), 0.01)  # ticks go on where a hypervisor takes the CPU
    check(rate >= LEAST_RATE, "too few distinct samples")


def busy(where, threads, level=None):
    if level is not None:
        with Paranoid(level):
            return busy(where, threads)
    under = place(where)
    recording = record([copies["busy"], threads, SECONDS], env=HOMELESS, cwd="/tmp",
                       user=None if os.geteuid() else NOBODY, under=under)
    result = recording.result
    check(result.status == 0, f"status {result.status}: {result.stderr}")
    check(result.stderr == "", f"standard error is not empty: {result.stderr}")
    judge(where, recording, json.loads(result.stdout)["cpu"] if where == "container" else recording.cpu_s)


def whole(where):
    """From the program to files for the Firefox Profiler and pprof, with no home, writing nowhere
    but where we said; and nothing is said that Kymo does not say."""
    under = place(where)
    out = folder()
    kymo = tools_for(NOBODY)
    ran = run([*under, kymo, "record", "-o", out / "a.json.gz", "-o", out / "a.pb.gz", "--",
               copies["split"], "1"], env=HOMELESS, cwd="/")
    check(ran.status == 0, f"status {ran.status}: {ran.stderr}")
    foreign = [line for line in ran.stderr.splitlines()
               if line and not line.startswith(("kymo: ", " "))]
    check(not foreign, f"standard error has {foreign}")
    profile = json.loads(gzip.decompress((out / "a.json.gz").read_bytes()))
    names = {t["name"] for t in profile["threads"]}
    check({"split-left", "split-right"} <= names, f"the threads are {names}")
    raw = gzip.decompress((out / "a.pb.gz").read_bytes())
    check(b"burn_sixty" in raw, "the pprof file does not name the program's function")
    check(sorted(os.listdir(out)) == ["a.json.gz", "a.pb.gz"], f"{os.listdir(out)}")
    say(f"{where}: {', '.join(sorted(names))}; both files are there")


files = [BUILD / "tests/integration/restrict", WORKLOADS / "busy", WORKLOADS / "split"]
copies = {copy.name: copy for copy in copy_for_all(*files)}
for name in PLACES:
    for number in (1, 2):
        add_case(f"{name}.{number}", busy, name, number)
    add_case(f"{name}.whole", whole, name)
for paranoid in (2, 3):
    add_case(f"paranoid.{paranoid}", busy, "user", 2, paranoid)
main()
