# SPDX-License-Identifier: Apache-2.0
"""The ends of intervals and of programs under an agent: a record of many busy threads is in one profile and
none is missing at a boundary, the heap is right at each, and whatever ends the program, there is one last
profile with all that it did, and nothing comes after.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

from agents import DUMP, has_ended, profiles, report
from kymotest import (KYMO, PRELOAD, WORKLOADS, Running, add_case, case, check, check_nothing_lost, engines,
                      folder, main, run, say, wait_until)


def children(pid):
    return [int(child) for task in pathlib.Path(f"/proc/{pid}/task").glob("*")
            for child in (task / "children").read_text().split()]


def named(pid, name):
    """Of the process and its children the first of that name; 0: none."""
    for each in (pid, *children(pid)):
        if pathlib.Path(f"/proc/{each}/comm").read_text().strip() == name:
            return each
    return 0


def cpu_s(pid):
    return time.clock_gettime_ns(~pid << 3 | 2) / 1e9


def begin(argv, name, place, *options, way="agent"):
    """Starts a program; returns it and the program's pid."""
    if way == "agent":
        running = Running([KYMO, "agent", f"--reporter=local:{place}", *(f"--{o}" for o in options), "--", *argv])
    else:
        settings = ",".join(["agent", f"reporter=local:{place}", *options])
        running = Running(argv, env={**os.environ, "LD_PRELOAD": str(PRELOAD), "KYMO_OPTIONS": settings})
    wait_until("the program", lambda: named(running.process.pid, name))
    return running, named(running.process.pid, name)


def used(pid, seconds):
    until = cpu_s(pid) + seconds
    wait_until("some CPU time", lambda: cpu_s(pid) >= until)


def is_agent_of(pid, place):
    try:
        return b"--join" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() and \
            str(place).encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


# ---- ends of a program ----

def ends(way, how):
    """One profile, since the interval is long, with all until the end."""
    where = folder()
    place = where / "profiles"
    running, pid = begin([WORKLOADS / "intervals", "1000000", "1", "64", where / "end"], "intervals", place,
                         "report=1h", "cpu=1ms", way=way)
    used(pid, 0.3)
    before = cpu_s(pid)
    if how == "exit":
        (where / "end").touch()
    else:
        os.kill(running.process.pid if how == "terminated agent" else pid,
                signal.SIGKILL if how == "killed" else signal.SIGTERM)
    result = running.finish()
    wanted = {"exit": 0, "killed": 128 + signal.SIGKILL}.get(how, 128 + signal.SIGTERM)
    check(result.status == wanted, f"status {result.status}: {result.stderr}")
    # An agent that the program started outlives it for a moment.
    wait_until("the agent's end", lambda: not any(is_agent_of(n, place) for n in os.listdir("/proc") if n.isdigit()))
    files = list(place.iterdir())
    check(len(files) == 1 and has_ended(files[0]), f"{files}")
    out = report(files[0])
    seen = out["total"] / 1e9 + out["quality"]["cpu_unsampled_s"]
    say(f"{seen:.3f} s, of {before:.3f} s before the end")
    # Without what the library did before it had an agent.
    check(seen >= before - 0.01, "the last of it is missing")
    check_nothing_lost(out["quality"])


for each_how in ("exit", "killed", "terminated", "terminated agent"):
    add_case(f"ends.agent.{each_how.replace(' ', '_')}", ends, "agent", each_how)
for each_how in ("exit", "killed", "terminated"):
    add_case(f"ends.preloaded.{each_how}", ends, "preloaded", each_how)


# ---- ends of an interval ----

def flush(running, place):
    """Ends the interval, and waits for its profile."""
    before = len(profiles(place)) if place.exists() else 0
    out = run([KYMO, "control", "-p", str(running.process.pid), "flush"])
    check(out.status == 0, out.stderr)
    wait_until("its profile", lambda: place.exists() and len(profiles(place)) > before)


def samples(path):
    """(tid, weight in s) in their order."""
    text = run([DUMP, path]).stdout
    tids = dict(re.findall(r"^thread (\d+) .*?tid=(\d+)", text, re.M))
    return [(int(tids[thread]), int(weight) / 1e9) for thread, weight in
            re.findall(r"^sample thread=(\d+) time=\d+ weight=(\d+) kind=0", text, re.M)]


BOUNDARIES = 4
PERIOD_S = 0.005
EACH_S = 0.1  # what a thread uses between two looks for the end


def busy_threads(engine):
    """32 of them, more than there are CPUs: between the last sample of a thread in an interval and its
    first in the next one lies as much as between any two, give or take a period; all CPU time is there once."""
    where = folder()
    place = where / "profiles"
    running, pid = begin([WORKLOADS / "busy", "32", str(EACH_S), where / "end"], "busy", place, "report=1h",
                         f"cpu={PERIOD_S * 1e3:.0f}ms", f"engine={engine}")
    for _ in range(BOUNDARIES):
        used(pid, 0.6)
        flush(running, place)
    (where / "end").touch()
    result = running.finish()
    check(result.status == 0, result.stderr)
    truth = json.loads(result.stdout)["cpu"]
    files = profiles(place)
    check(len(files) == BOUNDARIES + 1, f"{len(files)} profiles")
    total, firsts, others, counts = 0, [], [], {}
    for path in files:
        seen = set()
        for tid, weight in samples(path):
            # A thread's first samples come by its timer, until it has an event, and at other intervals.
            if counts.setdefault(tid, 0) >= 4:
                (others if tid in seen else firsts).append(weight)
            seen.add(tid)
            counts[tid] += 1
        out = report(path)
        total += out["total"] / 1e9 + out["quality"]["cpu_unsampled_s"]
        check_nothing_lost(out["quality"])
    check(len(counts) == 32 and len(firsts) >= 32, f"{len(counts)} threads, {len(firsts)} first samples")
    # A boundary falls into long distances between samples more often than into short ones.
    mean, expected = sum(firsts) / len(firsts), sum(w * w for w in others) / sum(others)
    say(f"ms at a boundary: {mean * 1e3:.2f} ({len(firsts)} samples), expected {expected * 1e3:.2f} ({len(others)}); "
        f"at most {max(firsts) * 1e3:.2f}, elsewhere {max(others) * 1e3:.2f}")
    check(mean <= expected + PERIOD_S, "time is missing before first samples")
    check(engine != "perf" or max(firsts) <= max(others) + PERIOD_S, "a gap at a boundary")
    say(f"{total:.4f} s of {truth:.4f} s")
    check(0.999 * truth <= total <= truth + 0.1, "not all CPU time, or more")


for each_engine in engines():
    add_case(f"busy_threads.{each_engine}", busy_threads, each_engine)


class Steps:
    """A program that allocates and frees as it is told, under an agent that records each allocation."""

    def __init__(self, place):
        self.errors = open(place.with_name("errors"), "w+")
        self.process = subprocess.Popen(
            [KYMO, "agent", f"--reporter=local:{place}", "--report=1h", "--alloc=0", "--", WORKLOADS / "heap_steps"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True, start_new_session=True)
        self.live = {}

    def do(self, verb, site, count, size=0):
        self.process.stdin.write(f"{verb} {site} {count} {size}\n")
        self.process.stdin.flush()
        check(self.process.stdout.readline().split()[1:] == ["ok"], f"{verb} {site} {count}: not done")
        blocks = self.live.setdefault(site, [])
        if verb == "give":
            blocks += [size] * count
        else:
            del blocks[:count]

    def truth(self):
        return {site: sum(sizes) for site, sizes in self.live.items() if sizes}


@case
def live_heap_at_each():
    """What lives at the end of each interval is what the program holds then, whichever interval it is of."""
    place = folder() / "profiles"
    steps = Steps(place)
    truths = []
    for number in range(8):
        steps.do("give", "site_a", 300 + number, 1000 + number)
        steps.do("give", "site_b", 20, 7000)
        if number:
            steps.do("free", "site_a", 150)
        if number % 3 == 2:
            steps.do("free", "site_b", len(steps.live["site_b"]))
        truths.append(steps.truth())
        flush(steps, place)
    steps.process.stdin.close()
    check(steps.process.wait() == 0, "status")
    for truth, path in zip(truths, profiles(place)):
        found = {f["name"]: f["total"]["bytes"] for f in report(path, "--mode", "live")["functions"]
                 if f["name"].startswith("site_") and f["total"]["bytes"]}
        say(f"{found}")
        check(found == truth, f"in truth {truth}")


if __name__ == "__main__":
    main()
