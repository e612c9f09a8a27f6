#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""jfr_reads.py WRITE_FIXED - `jfr` of a JDK reads what we write, in one chunk and in many, and sees what we meant.

So does async-profiler's converter, where it is (async_profiler.py).
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import async_profiler
import jfr_file


def run(*argv):
    run_ = subprocess.run(argv, capture_output=True, check=False)
    assert run_.returncode == 0, f"{argv}: {run_.returncode}\n{run_.stderr.decode()}{run_.stdout.decode()}"
    return run_.stdout.decode("utf-8")


def counts_of(path):
    found = re.findall(r"^ (\S+) +(\d+) +\d+ *$", run("jfr", "summary", path), re.M)
    return {name: int(count) for name, count in found if name not in ("jdk.Metadata", "jdk.CheckPoint")}


def events_of(path):
    data = json.loads(run("jfr", "print", "--json", "--stack-depth", "1000", path))
    return [(e["type"], e["values"]) for e in data["recording"]["events"]]


def comparable(events):
    return collections.Counter(json.dumps(e, sort_keys=True) for e in events)


def look_at(path):
    """One of each kind, as the JDK's reader shows it."""
    text = run("jfr", "print", "--stack-depth", "64", path)
    for pattern in (r'^  sampledThread = "prog" \(osThreadId = 100\)$',
                    r"^    prog\.std::vector<int>::at\(unsigned long\)\(\) line: 8$",  # inlined into its caller
                    r"^    prog\.loop\(\) line: 33$",
                    r"^  took = 1\.50 ms$", r"^  bytes = 8\.0 PB$", r"^  status = N/A$",
                    r"^  cpuTime = 2\.00 ms$", r"^  size = 1000 bytes$", r'^  id = "a0a1a2\w{34}"$',
                    r'^  name = "lost, no block"$', r"^  value = -1$", r'^  incomplete = "no end"$',
                    r"^  value = 4\.0 kB$", r'^  command = "/usr/bin/prog --name '):
        assert re.search(pattern, text, re.M), f"jfr print shows no {pattern!r}"
    metadata = run("jfr", "metadata", path)
    for text in ('@Category({"Kymo", "Markers", "DNS"})', '@Description("One request.")', '@Label("Status")'):
        assert text in metadata, f"no {text} in\n{metadata}"


def look_at_conversion(jar, path, folder):
    """Samples and allocations of each stack, which the converter calls by their functions."""
    def collapsed(*options):
        out = os.path.join(folder, "collapsed")
        run("java", "-jar", jar, *options, "-o", "collapsed", path, out)
        with open(out, encoding="utf-8") as file:
            lines = file.read().replace("\n;", ";").splitlines()
        return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}

    cpu = collapsed("--cpu")
    assert sum(cpu.values()) == 14, cpu
    assert cpu["main;loop;std::vector<int>::at(unsigned long);Thing::Thing()"] == 3, cpu
    assert cpu["[no stack]"] == 1, cpu
    threads = collapsed("--cpu", "-t")
    assert threads["[prog tid=100];main;loop;std::vector<int>::at(unsigned long)"] == 2, threads
    assert sum(collapsed("--nativemem").values()) == 13


def main():
    if not shutil.which("jfr"):
        print("there is no jfr of a JDK: tools/install-deps test installs one")
        return 77
    jar = async_profiler.converter()
    with tempfile.TemporaryDirectory() as folder:
        one, many = os.path.join(folder, "one.jfr"), os.path.join(folder, "many.jfr")
        run(sys.argv[1], one, "--chunk=700", many)
        assert len(jfr_file.read_file(many)) > 3
        look_at(one)
        for path in (one, many):
            mine = collections.Counter(e.type for chunk in jfr_file.read_file(path) for e in chunk.events)
            assert counts_of(path) == dict(mine), f"{counts_of(path)} {mine}"
        # The same events, whichever chunk they are in.
        assert comparable(events_of(one)) == comparable(events_of(many))
        if jar:
            look_at_conversion(jar, one, folder)
            look_at_conversion(jar, many, folder)
        else:
            print("there is no converter of async-profiler: not tried")
    return 0


if __name__ == "__main__":
    sys.exit(main())
