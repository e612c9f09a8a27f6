# SPDX-License-Identifier: Apache-2.0
"""The ledger: what is resident adds up to what the kernel says, next to nothing of it is left
unexplained, and each line is what the program knows itself.

The program waits once it has what it tells of, and the recording is stopped then, which is when the
recorder looks for the last time: so what is compared is of one moment, however long anything took."""
import json
import os
import signal
import time

from kymotest import (KYMO, MIMALLOC, WORKLOADS, Running, add_case, check, folder, main, record_command, run,
                      say, skip)

KIB = 1 << 10
MIB = 1 << 20
LIBRARIES = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4",
             "mimalloc": MIMALLOC}
PYTHON = """
import json, os, signal, sys
texts = [str(i) * 20 for i in range(200000)]
numbers = {i: [i] for i in range(100000)}
block = bytearray(b"x" * 4096) * (16 << 8)
with open(sys.argv[1] + ".new", "w") as file:
    json.dump({"pid": os.getpid()}, file)
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True:
    signal.pause()
"""


def library(name):
    if name == "glibc":
        return None
    for where in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                  "/usr/lib"):
        path = os.path.join(where, LIBRARIES[name])
        if os.path.exists(path):
            return path
    skip(f"{LIBRARIES[name]} is not here")


def has_ended(running):
    """Without reaping it: finish does that."""
    return os.waitid(os.P_PID, running.process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)


def wait_for(path, running):
    while not path.exists():
        if has_ended(running):
            check(False, f"the program ended early: {running.finish().stderr}")
        time.sleep(0.01)


def stop(running):
    """Two within two seconds stop the recording, and the program runs on; a third would stop the saving. Two
    that come at once are one."""
    while not has_ended(running):
        for _ in range(2):
            running.process.send_signal(signal.SIGINT)
            time.sleep(0.3)
        for _ in range(3000):
            if has_ended(running):
                break
            time.sleep(0.01)


class Ledger:
    """Of a program that waits after it has written its truth into a file: of that moment."""

    def __init__(self, argv, rate, allocator="glibc"):
        where = folder()
        path, told = where / "r.kymo", where / "truth"
        under = []
        if library(allocator):
            under = ["/usr/bin/env", f"LD_PRELOAD={library(allocator)}"]
        running = Running(record_command([*under, *argv, told], path, period="100ms",
                                         options=(f"--alloc={rate}", "--buffer=256m")))
        wait_for(told, running)
        self.truth = json.loads(told.read_text())
        stop(running)
        result = running.finish()
        os.kill(self.truth["pid"], signal.SIGKILL)
        check(result.status == 130, f"status {result.status}: {result.stderr}")
        report = run([KYMO, "report", "--json", "--mode", "memory", path])
        check(report.status == 0, report.stderr)
        rows = [row for row in json.loads(report.stdout)["ledger"]
                if row["pid"] == self.truth["pid"] and row["last"]]
        self.lines = {row["line"]: row for row in rows if row["name"] is None}
        self.parts = {(row["line"], row["name"]): row["bytes"] for row in rows if row["name"]}
        self.rss = self.of("rss")
        say(f"{argv[0]} {argv[1]}, {allocator}, {rate}: " +
            ", ".join(f"{name} {row['bytes'] / MIB:.2f}" for name, row in self.lines.items()))

    def of(self, line):
        return self.lines[line]["bytes"] if line in self.lines else 0


def adds_up(ledger):
    """The lines are all there is, and what is not explained is little."""
    total = sum(row["bytes"] for line, row in ledger.lines.items() if line != "rss")
    check(total == ledger.rss > 0, f"the lines are {total} of {ledger.rss} bytes")
    limit = max(ledger.rss // 20, 2 * MIB)
    check(abs(ledger.of("unexplained")) <= limit,
          f"{ledger.of('unexplained')} of {ledger.rss} bytes are not explained")


def close(name, value, truth, by):
    check(abs(value - truth) <= by, f"{name}: {value} bytes, in truth {truth}, +- {by}")


# What the C library has for itself, and what lies in pages at the ends of things.
LITTLE = 256 * KIB


def blocks(allocator, rate):
    """Blocks that were written to are live; what was asked for and never touched is not resident."""
    ledger = Ledger([WORKLOADS / "resident", "blocks"], rate, allocator)
    adds_up(ledger)
    if rate == 0:
        close("live", ledger.of("live"), ledger.truth["live"], LITTLE + ledger.truth["live"] // 50)
        check(ledger.of("slack") < ledger.rss // 5, "more slack than any allocator has")


def fragmented(allocator, rate):
    """Half of a million blocks was freed, and no page of them: that half is retained."""
    ledger = Ledger([WORKLOADS / "resident", "fragmented"], rate, allocator)
    adds_up(ledger)
    if rate == 0:
        close("live", ledger.of("live"), ledger.truth["live"], LITTLE)
        check(ledger.of("retained") >= ledger.truth["given"],
              f"{ledger.of('retained')} bytes are retained of {ledger.truth['given']}")


def freed(allocator, rate):
    """All but the last block was freed: nothing is live, and what is there is the allocator's."""
    ledger = Ledger([WORKLOADS / "resident", "freed"], rate, allocator)
    adds_up(ledger)
    if rate == 0:
        check(ledger.of("live") <= LITTLE, f"{ledger.of('live')} bytes are live")
    if allocator == "glibc":
        check(ledger.of("retained") >= ledger.truth["given"],
              f"{ledger.of('retained')} bytes are retained of {ledger.truth['given']}")


def mapped(rate):
    """Each function's mappings have as many pages as it touched."""
    ledger = Ledger([WORKLOADS / "resident", "mapped"], rate)
    adds_up(ledger)
    for name in ("map_whole", "map_half", "map_sparse"):
        check(ledger.parts.get(("mapped", name)) == ledger.truth[name],
              f"{name}: {ledger.parts.get(('mapped', name))} bytes, in truth "
              f"{ledger.truth[name]}")
    check(ledger.of("mapped") == sum(ledger.truth[name] for name in
                                     ("map_whole", "map_half", "map_sparse")), "mapped")


def stacks(rate):
    """Stacks of threads that wait, and those that libc keeps of threads that have ended."""
    ledger = Ledger([WORKLOADS / "resident", "stacks"], rate)
    adds_up(ledger)
    check(ledger.truth["stacks"] <= ledger.of("stacks") <= 3 * ledger.truth["stacks"],
          f"{ledger.of('stacks')} bytes of stacks, in truth {ledger.truth['stacks']} or twice that")


def python(rate):
    """Python's arenas are mapped by itself, its large blocks come from malloc."""
    ledger = Ledger(["/usr/bin/python3", "-c", PYTHON], rate)
    adds_up(ledger)
    check(ledger.of("mapped") >= 16 * MIB, f"{ledger.of('mapped')} bytes are mapped")
    if rate == 0:
        check(ledger.of("live") >= 16 * MIB, f"{ledger.of('live')} bytes are live")


for rate, allocators in ((0, ("glibc", *LIBRARIES)), ("64k", ("glibc", "jemalloc"))):
    add_case(f"mapped-{rate}", mapped, rate)
    add_case(f"stacks-{rate}", stacks, rate)
    add_case(f"python-{rate}", python, rate)
    for allocator in allocators:
        for function in (blocks, fragmented, freed):
            add_case(f"{function.__name__}-{allocator}-{rate}", function, allocator, rate)

main()
