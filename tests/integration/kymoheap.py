# SPDX-License-Identifier: Apache-2.0
"""What a recording has of a program's allocations, for the tests that compare it with what the program
says: read from the Firefox file, by its format alone, and from `kymo report`.
"""
import json
import pathlib

from kymotest import MIMALLOC, WORKLOADS, check, record, run, say, skip

LIBRARIES = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4",
             "mimalloc": MIMALLOC}
PLACE = pathlib.Path("/usr/lib/x86_64-linux-gnu")
EVERY = ["--alloc=0", "--buffer=64m"]
# CPU samples are not looked at.
PERIOD = "10ms"


def workload(allocator=None):
    """The program, linked with that allocator."""
    path = WORKLOADS / ("allocs" if allocator is None else f"allocs_{allocator}")
    if not path.exists():
        skip(f"{path.name} is not built: the allocator is not installed")
    return path


def recorded(*arguments, allocator=None, options=EVERY, env=None):
    recording = record([workload(allocator), *arguments], options=options, period=PERIOD, env=env)
    check(recording.result.status == 0,
          f"status {recording.result.status}: {recording.result.stderr}")
    return recording, json.loads(recording.result.stdout)


# ---- what the Firefox file has ----

class Event:
    """bytes: below 0 where a block goes."""

    def __init__(self, process, time, bytes_, names, address, tid):
        self.process = process
        self.time = time
        self.bytes = bytes_
        self.names = names
        self.address = address
        self.tid = tid


class Heap:
    """All events of a recording's blocks, in the file's order."""

    def __init__(self, recording):
        profile = recording.firefox()
        self.events = []
        for thread in profile.data["threads"]:
            table = thread.get("nativeAllocations")
            if table is None:
                continue
            check(table["weightType"] == "bytes", f"weightType {table['weightType']}")
            for i in range(table["length"]):
                stack = table["stack"][i]
                frames = profile.stacks[stack] if stack is not None and stack < len(profile.stacks) else ()
                self.events.append(Event(thread["pid"], table["time"][i], table["weight"][i],
                                         [f.name for f in frames], table["memoryAddress"][i],
                                         table["threadId"][i]))

    def of(self, site, process=None):
        """Without exceptions that were thrown there."""
        return [e for e in self.events
                if site in e.names and (process is None or e.process == process)
                and "__cxa_allocate_exception" not in e.names]

    def processes(self):
        return list(dict.fromkeys(e.process for e in self.events))

    def sums(self, site, process=None):
        """Blocks that came, their bytes; blocks that are left, their bytes."""
        events = self.of(site, process)
        came = [e.bytes for e in events if e.bytes > 0]
        went = [e.bytes for e in events if e.bytes < 0]
        return len(came), sum(came), len(came) - len(went), sum(came) + sum(went)

    def live(self, site, process=None):
        """Address to bytes."""
        there = {}
        for e in self.of(site, process):
            if e.bytes > 0:
                check(e.address not in there, f"{site}: {e.address:#x} is given twice")
                there[e.address] = e.bytes
            else:
                check(there.pop(e.address, None) == -e.bytes,
                      f"{site}: {e.address:#x} goes, and was not there")
        return there


def lost(recording):
    return recording.report().lost()


def check_exact(recording, truth, sites=None):
    check(not lost(recording), f"lost: {lost(recording)}")
    heap = Heap(recording)
    for site, true in truth["sites"].items():
        if sites is not None and site not in sites:
            continue
        objects, bytes_, live, live_bytes = heap.sums(site)
        check((objects, bytes_, live, live_bytes) ==
              (true["objects"], true["bytes"], true["live_objects"], true["live_bytes"]),
              f"{site}: {objects} blocks of {bytes_} bytes, {live} of {live_bytes} left; in truth {true}")
    say(f"{len(truth['sites'])} sites are exact, of {len(heap.events)} events")
    return heap


def check_left(heap, truth):
    """Of sites whose blocks are resized: what is left alone."""
    for site, true in truth.get("left", {}).items():
        left = heap.sums(site)[2:]
        check(left == (true["live_objects"], true["live_bytes"]),
              f"{site}: {left[0]} blocks of {left[1]} bytes are left, in truth {true}")


# ---- kymo report ----

def report_of(recording, mode, *arguments):
    out = run([recording.kymo, "report", recording.path, "--json", "--top", "0", "--mode", mode, *arguments])
    check(out.status == 0, f"kymo report: status {out.status}: {out.stderr}")
    return json.loads(out.stdout)


def rows(recording, mode, *arguments):
    """Function to (blocks, bytes), and the whole report."""
    data = report_of(recording, mode, *arguments)
    return {f["name"]: (f["total"]["objects"], f["total"]["bytes"]) for f in data["functions"]}, data
