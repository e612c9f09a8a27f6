# SPDX-License-Identifier: Apache-2.0
"""Allocations beside those of the C library's functions: by jemalloc's mallocx and its family, on
stacks of the program's own, in shared memory, where calls fail; and what is not seen is said.

The truth is what tests/workloads/allocs.c and allocs_mallocx.c print of themselves.
"""
import json
import math
import pathlib
import re
import shutil
import signal
import subprocess
import time

from kymoheap import EVERY, PERIOD, check_exact, check_left, recorded, report_of, rows, workload
from kymotest import (KYMO, WORKLOADS, Recording, add_case, case, check, folder, main, record,
                      record_command, run, say, skip)

# ---- functions that jemalloc has beside those of the C library ----

def mallocx(binding, mode):
    """As exact as malloc, whenever the program's slots are filled; and the program says what it says alone."""
    path = WORKLOADS / f"allocs_mallocx_{binding}"
    if not path.exists():
        skip(f"{path.name} is not built: jemalloc is not installed")
    plain = run([path, mode])
    recording = record([path, mode], options=EVERY, period=PERIOD)
    check(recording.result.status == plain.status == 0, f"status {recording.result.status}: {recording.result.stderr}")
    check(recording.result.stdout == plain.stdout, f"alone {plain.stdout}, recorded {recording.result.stdout}")
    if mode == "loaded":
        return  # what it calls of these is not seen, and works
    truth = json.loads(recording.result.stdout)
    heap = check_exact(recording, truth)
    check_left(heap, truth)
    for site in truth["sites"]:
        heap.live(site)
    said = report_of(recording, "live")["heaps"][0]["not_seen"]
    check(said is None, f"not seen: {said}")


for when in ("lazy", "now"):
    for how in ("kinds", "resize", "loaded"):
        add_case(f"mallocx.{when}.{how}", mallocx, when, how)


@case
def bind():
    """BIND has all its memory from jemalloc by mallocx."""
    checker = shutil.which("named-checkzone")
    if not checker:
        skip("bind9-utils is not installed")
    zone = folder() / "zone"
    zone.write_text("$TTL 300\n@ IN SOA ns hostmaster 1 3600 600 86400 300\n@ IN NS ns\nns IN A 192.0.2.1\n" +
                    "".join(f"host{i} IN A 192.0.2.{i % 256}\n" for i in range(20000)))
    plain = run([checker, "example.org", zone])
    recording = record([checker, "example.org", zone], options=EVERY, period=PERIOD)
    check(recording.result.status == plain.status == 0, f"status {recording.result.status}: {recording.result.stderr}")
    check(recording.result.stdout == plain.stdout, f"alone {plain.stdout}, recorded {recording.result.stdout}")
    for mode, least, most in (("alloc", 40000, math.inf), ("live", 0, 1000)):
        functions = report_of(recording, mode)["functions"]
        found = sum(f["self"]["objects"] for f in functions if "libisc" in (f["module"] or ""))
        say(f"{mode}: {found} blocks of libisc")
        check(least <= found <= most, f"{mode}: {found} blocks of libisc")


# ---- hard places ----

@case
def failing():
    """Each Nth call finds no memory: the program sees what it sees alone, and what was given is recorded."""
    for each in (1, 2, 3, 5, 7, 50):
        plain = run([workload("bump"), "failing", each])
        recording, truth = recorded("failing", each, allocator="bump")
        check(recording.result.stdout == plain.stdout,
              f"each {each}: alone {plain.stdout}, recorded {recording.result.stdout}")
        check(truth["failed"] == len(truth["steps"]) // each, f"{truth['failed']} calls failed")
        check_left(check_exact(recording, truth), truth)


@case
def coroutines():
    """Blocks from stacks of the program's own, which go from thread to thread."""
    check_exact(*recorded("coroutines"))


@case
def segments():
    """Shared memory of System V: of a function, and gone when it is detached or replaced."""
    if run([workload(), "segments"]).status != 0:
        skip("there is no shared memory of System V")
    recording, truth = recorded("segments")
    found, _ = rows(recording, "mapped")
    check(found.get("site_segment") == (2, truth["mapped"]), f"{found.get('site_segment')}, in truth {truth}")


# ---- what is not seen ----

@case
def not_seen():
    """A malloc of the program's own: nothing is recorded, and that is said."""
    recording = record([WORKLOADS / "allocs_own"], options=EVERY, period=PERIOD)
    heaps = report_of(recording, "live")["heaps"]
    check(len(heaps) == 1 and "malloc" in (heaps[0]["not_seen"] or ""), f"{heaps}")


def is_pending(pid, signo):
    """Whether a signal that was sent has not come yet."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return any(int(mask, 16) >> (signo - 1) & 1 for mask in re.findall(r"^S..Pnd:\s*(\w+)", status, re.M))


@case
def not_seen_by_the_balance():
    """Memory that comes by system calls of the program's own: the recording ends while it is there."""
    path = folder() / "recording.kymo"
    command = record_command([WORKLOADS / "allocs_raw", 48], path, period=PERIOD, options=EVERY)
    recorder = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    check(recorder.stdout.readline() == b"ready\n", "it does not begin")
    # Of a terminal's: two within two seconds end the recording. A third would leave it unfinished.
    for _ in range(2):
        recorder.send_signal(signal.SIGINT)
        while is_pending(recorder.pid, signal.SIGINT):
            time.sleep(0.01)
    recorder.wait()
    recorder.stdin.close()
    recorder.stdout.close()
    heaps = report_of(Recording(path, None, KYMO), "live")["heaps"]
    check(len(heaps) == 1 and "48 MiB" in (heaps[0]["not_seen"] or ""), f"{heaps}")


main()
