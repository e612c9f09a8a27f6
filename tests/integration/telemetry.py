# SPDX-License-Identifier: Apache-2.0
"""What the system and its allocator say of a recorded program, beside what the program knows itself; and
what Kymo takes of its memory.
"""
import json
import os
import pathlib
import resource

from kymotest import (BUILD, KYMO, MIMALLOC, add_case, case, check, folder, main, record, record_command, run,
                      say, skip)

MIB = 1 << 20
LIBRARIES = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4",
             "mimalloc": MIMALLOC}
PLACE = pathlib.Path("/usr/lib/x86_64-linux-gnu")
FIGURES = BUILD / "tests" / "integration" / "alloc_figures"
# 64 MiB that are written, 40 descriptors, and a second of work: fifty rounds of the recorder.
PROGRAM = ["/usr/bin/python3", "-c", """
import os, time
block = bytearray(b"x" * 4096) * (64 << 8)
files = [os.dup(0) for _ in range(40)]
while time.process_time() < 1:
    pass
"""]


def counters(*options):
    path = folder() / f"{len(options)}.kymo"
    result = run(record_command(PROGRAM, path, options=options))
    check(result.status == 0, f"status {result.status}: {result.stderr}")
    report = json.loads(run([KYMO, "report", "--json", "--mode", "markers", path]).stdout)
    return {row["name"]: row for row in report["counters"]}


@case
def program():
    """Resident memory, page faults and descriptors are those that the program caused."""
    found = counters("--counters=20ms")
    for name in ("Resident", "Resident, anonymous"):
        check(64 * MIB <= found[name]["max"] < 256 * MIB, f"{found[name]}")
    check(found["Page faults"]["last"] > 0, f"{found['Page faults']}")
    check(found["File descriptors"]["max"] >= 40, f"{found['File descriptors']}")
    check(found["Threads"]["max"] == 1, f"{found['Threads']}")


@case
def off():
    """Who wants none has none."""
    found = counters("--counters=off")
    check(found == {}, f"{found}")


@case
def limits():
    """What is no curve is told once: `report --mode memory` has it."""
    path = folder() / "limits.kymo"
    result = run(record_command(PROGRAM, path, options=("--counters",)), limits=[(resource.RLIMIT_NOFILE, 100)])
    check(result.status == 0, f"status {result.status}: {result.stderr}")
    report = json.loads(run([KYMO, "report", "--json", "--mode", "memory", path]).stdout)
    figures = {row["name"]: row["value"] for row in report["figures"]}
    check(64 * MIB <= figures["process.rss_peak_bytes"] < 256 * MIB, f"{figures}")
    check(figures["process.fds_limit"] == 100, f"{figures}")
    shown = run([KYMO, "report", "--mode", "memory", path]).stdout
    check("process.fds_limit" in shown, shown)


# ---- what the allocator says ----

def within(name, value, low, high):
    check(low <= value <= high, f"{name}: {value}, not {low:.0f} to {high:.0f}")


def env_of(name):
    env = dict(os.environ)
    if name != "glibc":
        if not (PLACE / LIBRARIES[name]).exists():
            skip(f"{LIBRARIES[name]} is not installed")
        env["LD_PRELOAD"] = str(PLACE / LIBRARIES[name])
    return env


def allocator(name):
    """The program ends when its allocator was asked twice after all was as it says."""
    env = env_of(name)
    recording = record([FIGURES, "heap"], options=["--alloc=4k"], period="10ms", env=env)
    check(recording.result.status == 0, f"status {recording.result.status}: {recording.result.stderr}")
    truth = json.loads(recording.result.stdout)
    report = json.loads(run([KYMO, "report", "--json", "--mode", "memory", recording.path]).stdout)
    figures = {row["name"].partition(f"allocator.{name}_")[2]: row["value"]
               for row in report["figures"] if row["name"].startswith("allocator.")}
    check("" not in figures and figures, f"figures of another allocator: {report['figures']}")
    profile = recording.firefox()
    shown = {c["name"]: c for c in profile.data["counters"] if c["category"] == "Memory"}
    last = {}
    for counter in shown:
        if counter.startswith("Allocator, "):
            last[counter.removeprefix("Allocator, ")] = profile.counter(counter)[-1][1]
    if name == "mimalloc":
        check(set(last) <= {"taken"}, f"{last}")  # a constant has no counter
        within("taken", figures["committed_bytes"], truth["live"], 32 * truth["live"])
        return
    check({"in blocks", "free", "taken", "fragmentation"} == set(last), f"{last}")
    within("in blocks", figures["allocated_bytes"], truth["live"], 1.06 * truth["live"] + MIB)
    within("taken", figures["mapped_bytes"], truth["live"] + truth["freed"], 4 * truth["live"])
    within("free", last["free"], 0.9 * truth["freed"], truth["freed"] + 16 * MIB)
    check(last["in blocks"] == figures["allocated_bytes"], f"{last}, {figures}")
    within("fragmentation", last["fragmentation"], 0.3, 0.65)
    if name == "glibc":
        check(figures["allocated_bytes"] + figures["free_bytes"] == figures["mapped_bytes"], f"{figures}")
        within("direct", figures["direct_bytes"], truth["direct"], truth["direct"] + 4 * MIB)
        check(last["free"] == figures["free_bytes"] and last["taken"] == figures["mapped_bytes"], f"{last}")


def storm(name):
    """Asked before each block, from four threads at once, while the process forks."""
    recording = record([FIGURES, "storm", "4", "5000"], options=["--alloc=0", "--buffer=64m"],
                       period="10ms", env=env_of(name))
    check(recording.result.status == 0, f"status {recording.result.status}: {recording.result.stderr}")
    check(json.loads(recording.result.stdout) == {"answered": 1}, f"{recording.result.stdout}")


for which in ("glibc", *LIBRARIES):
    add_case(f"allocator.{which}", allocator, which)
    add_case(f"storm.{which}", storm, which)


@case
def allocator_off():
    """Who wants no counters is not asked; nor is who records no allocations."""
    for options in (["--alloc", "--counters=off"], ["--counters"]):
        recording = record([FIGURES, "footprint", "1", "16"], options=options, period="10ms")
        check(recording.result.status == 0, f"status {recording.result.status}")
        report = json.loads(run([KYMO, "report", "--json", "--mode", "memory", recording.path]).stdout)
        asked = [row for row in report["figures"] if row["name"].startswith("allocator.")]
        check(asked == [], f"{options}: {asked}")


# ---- what Kymo takes ----

@case
def footprint():
    """Resident pages of the library, of the session as the program has it, and of all else that is Kymo's in
    the program: not more than 4 MiB by default, however many threads allocate."""
    for threads in (1, 4, 16):
        recording = record([FIGURES, "footprint", str(threads), "128"], options=["--alloc"])
        check(recording.result.status == 0, f"status {recording.result.status}")
        resident = json.loads(recording.result.stdout)
        say(f"{threads} threads: {resident}")
        check(min(resident["library"], resident["session"], resident["own"]) > 0, "it is not to be found")
        check(sum(resident.values()) <= 4 * MIB, f"{threads} threads: {resident}")


main()
