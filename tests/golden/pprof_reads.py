#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pprof_reads.py WRITE_FIXED - `go tool pprof` reads what we write, and sees what we meant."""
import os
import re
import shutil
import subprocess
import sys
import tempfile


def pprof(path, *options):
    run = subprocess.run(["go", "tool", "pprof", *options, path], capture_output=True, text=True,
                         env={**os.environ, "PPROF_TMPDIR": os.path.dirname(path)}, check=False)
    assert run.returncode == 0, f"go tool pprof {options}: {run.returncode}\n{run.stderr}"
    return run.stdout


def has(text, pattern):
    assert re.search(pattern, text, re.M), f"no {pattern!r} in\n{text}"


def main():
    if not shutil.which("go"):
        print("there is no go: tools/install-deps installs golang")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.pb.gz")
        subprocess.run([sys.argv[1], path], check=True)
        raw = pprof(path, "-raw")
        has(raw, r"^PeriodType: cpu nanoseconds$")
        has(raw, r"^Period: 1000000$")
        has(raw, r"^Time: 2023-11-14 22:13:20\.123956789")
        has(raw, r"^Duration: 59\.5")
        has(raw, r"^samples/count cpu/nanoseconds\[dflt\]$")
        has(raw, r"^ +2 +2000001: 2 1 ?$")  # two samples of one stack
        has(raw, r"thread:\[worker\]")
        has(raw, r"pid:\[200\] tid:\[200\]")
        has(raw, r"^ +2: 0x555500001250 M=1 std::vector<int>::at\(unsigned long\) .*ork\.h:8")
        has(raw, r"^ +loop /src/main\.c:33:?9? s=30")  # its caller, which it is inlined into
        has(raw, r"^ +8: 0x7f0000401fff M=2 *$")  # no name
        has(raw, r"^ +11: 0x7f2200000042 0x7f2200000042")  # no file
        has(raw, r"^1: 0x555500001000/0x555500004000/0x1000 /usr/bin/prog a0a1\w+ \[FN\]\[FL\]\[LN\]\[IN\]$")
        # As people call it: nothing is symbolized anew, and the total is the CPU time.
        top = pprof(path, "-top", "-nodecount=100")
        has(top, r"^Type: cpu$")
        has(top, r"Total samples = 16250\.01us")
        has(top, r" main$")
        has(top, r"\(inline\)$")
        counts = pprof(path, "-top", "-sample_index=samples", "-nodecount=100")
        has(counts, r"of 14 total")
        tags = pprof(path, "-tags")
        has(tags, r"^ *thread: Total")
        has(tags, r"^ *user: Total")
        has(tags, r"\): 2048$")  # as the program wrote them: not "2kB" and "3days"
        has(tags, r"\): 3$")
        # The program's own labels, also of the value 0, and one that has the name of one of ours.
        for focus, total in (("request_id=17", "2500000ns"), ("user=ann", "2000000ns"), ("big=1844674407370955161[5]", "7ns"),
                             ("label:thread=mine", "7ns"), ("at=0x10", "7ns"), ("request=2048", "7ns"), ("day=3", "7ns")):
            has(pprof(path, "-top", "-unit=ns", f"-tagfocus={focus}"), rf"accounting for {total},")
        has(pprof(path, "-top", "-sample_index=samples", "-tagfocus=shard=0"), r"accounting for 1,")
        has(pprof(path, "-comments"), r"^engine: perf$")
        has(pprof(path, "-top", "-tagfocus=tid=103"), r"accounting for 3ms, 18\.46% of 16\.25ms total")
        look_at_heap(os.path.join(folder, "live.pb.gz"), os.path.join(folder, "peak.pb.gz"))
    return 0


def look_at_heap(live, peak):
    subprocess.run([sys.argv[1], "--show=live", live, "--show=peak", peak], check=True)
    raw = pprof(live, "-raw")
    has(raw, r"^PeriodType: space bytes$")
    has(raw, r"^Period: 4096$")
    has(raw, r"^alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes\[dflt\]$")
    # Of one stack and thread, two classes of sizes; of one that was resized, one object, and what it grew by.
    has(raw, r"^ +12 +12250 +4 +4000: 3 2 1 \n +thread:\[prog\]\n +bytes:\[1000 bytes\] pid:\[100\] tid:\[100\]$")
    has(raw, r"^ +1 +1310720 +1 +1310720: 3 2 1 \n +thread:\[prog\]\n +bytes:\[1048576 bytes\]")
    has(raw, r"^ +0 +900 +0 +0: 2 1 ")
    has(raw, r"label:bytes:\[17 count\]")
    top = pprof(live, "-top", "-unit=B", "-nodecount=100")
    has(top, r"^Type: inuse_space$")
    has(top, r"of 1326945B total")
    has(pprof(live, "-top", "-unit=B", "-sample_index=alloc_space"), r"of 2643040B total")
    has(pprof(live, "-top", "-unit=B", "-tagfocus=bytes=64kb:"), r"accounting for 1310720B, 98\.78%")
    has(pprof(live, "-top", "-unit=B", "-tagfocus=pid=200"), r"accounting for 4000B,")
    has(pprof(live, "-comments"), r"^prog \(100\): partial,")
    has(pprof(live, "-comments"), r"^inuse_space: 1326945 bytes, 95 %: 1052626 to 2700236$")
    has(pprof(peak, "-comments"), r"^peak: 0\.010000 s after the start$")
    # What two moments differ by.
    has(pprof(peak, "-top", "-unit=B", "-base", live), r"^ *1314970B .* Thing::Thing\(\)$")


if __name__ == "__main__":
    sys.exit(main())
