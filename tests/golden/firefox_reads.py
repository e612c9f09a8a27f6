#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""firefox_reads.py WRITE_FIXED FIREFOX_LOADER FOLDER - the front-end's own code reads what we write, and sees
what we meant. Skipped (77) where npm cannot give us that code."""
import json
import math
import os
import subprocess
import sys
import tempfile

SESSION = "kymo"


def main():
    loader = subprocess.run([sys.argv[2], sys.argv[3]], capture_output=True, text=True, check=False)
    if loader.returncode:
        print("skipped, the front-end cannot be had here:\n" + loader.stderr)
        return 77
    command = loader.stdout.split()
    # A short path: the tool's daemon listens on a socket below it.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        env = {**os.environ, "PROFILER_CLI_SESSION_DIR": folder, "HOME": folder,
               "PROFILER_CLI_LOAD_TIMEOUT_MS": "60000"}

        def query(*words):
            run = subprocess.run([*command, *words, "--session", SESSION, "--json"], capture_output=True,
                                 text=True, env=env, timeout=120, check=False)
            assert run.returncode == 0, f"{words}: {run.returncode}\n{run.stdout}{run.stderr}"
            return json.loads(run.stdout)

        path = os.path.join(folder, "a.json.gz")
        subprocess.run([sys.argv[1], path], check=True)
        try:
            load(command, path, env)
            look(query)
        finally:
            subprocess.run([*command, "stop", "--all"], env=env, capture_output=True, check=False)
    return 0


def load(command, path, env):
    """A slow machine may find the daemon still starting; it says so, and to try again is its advice."""
    for _ in range(10):
        run = subprocess.run([*command, "load", path, "--session", SESSION], capture_output=True, text=True,
                             env=env, timeout=120, check=False)
        if run.returncode == 0:
            return
        status = subprocess.run([*command, "status", "--session", SESSION], capture_output=True, text=True,
                                env=env, timeout=120, check=False)
        if status.returncode == 0:
            return
    raise AssertionError(f"load: {run.returncode}\n{run.stdout}{run.stderr}")


def same(value, expected, what):
    good = math.isclose(value, expected, rel_tol=1e-12) if isinstance(expected, float) else value == expected
    assert good, f"{what}: {value!r}, not {expected!r}"


def look(query):
    info = query("profile", "info")
    same(info["threadCount"], 6, "threads")
    same([(p["pid"], p["name"]) for p in info["processes"]], [("100", "prog --name café \ufffd a\nb"), ("200", "child"), ("200.1", "child")],
         "processes")
    # The tracks' CPU time, from threadCPUDelta: all of it, also that of each thread's first sample.
    threads = {t["threadIndex"]: t for t in query("thread", "list")["threads"]}
    cpu = {0: 6.75, 1: 0, 2: 2.5, 3: 3.000007, 4: 4.000001, 5: 0}
    for index, ms in cpu.items():
        same(float(threads[index]["cpuMs"]), float(ms), f"cpuMs of thread {index}")
    same([threads[i]["name"] for i in range(4)], ["prog", "idle", "worker", "worker"], "threads in start order")
    same([threads[i]["tid"] for i in range(6)], [100, 101, 102, 103, 200, 200], "tids")
    # The call tree's, from the weights.
    samples = query("thread", "samples", "--thread", "t-0")
    same(samples["weightType"], "tracing-ms", "weightType")
    same(float(samples["categoryBreakdown"]["totalSamples"]), 6.75, "the call tree's total")
    same({c["name"]: c["samples"] for c in samples["categoryBreakdown"]["categories"]},
         {"Library": 3.499999, "Program": 2.000001, "C library": 1, "Other": 0.25}, "categories")
    functions = {f["name"]: f for f in query("thread", "functions", "--thread", "t-0", "--limit", "0")["functions"]}
    same(functions["main"]["totalSamples"], 5.5, "main")
    same(functions["loop"]["totalSamples"], 4.5, "loop")
    same(functions["loop"]["selfSamples"], 0, "loop's self time, which is all inlined")
    same(functions["Thing::Thing()"]["selfSamples"], 2.499999, "two clones as one function")
    same(functions["[no stack]"]["selfSamples"], 0.25, "samples without a stack")
    same(functions["libwork.so.1+0x1fff"]["selfSamples"], 1, "a frame without a name")


if __name__ == "__main__":
    sys.exit(main())
