#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""firefox_reads.py WRITE_FIXED FIREFOX_LOADER FOLDER PROFILE_FROM_CALLS - the front-end's own code reads what we write, and sees
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
        for program, looks in ((sys.argv[1], (look, look_at_markers, look_at_counters, look_at_allocations)),
                               (sys.argv[4], (look_at_calls,))):
            subprocess.run([program, path], check=True)
            try:
                load(command, path, env)
                for each in looks:
                    each(query)
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
    same(info["threadCount"], 8, "threads, and tracks, which are such")
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


def look_at_calls(query):
    """examples/profile_from_calls.c: self times are weights, and those of a thread add up to its traced time."""
    for thread, total, times in (("t-0", 15, {"main": (3, 12), "parse": (3, 3), "eval": (6, 6), "[no stack]": (3, 3)}),
                                 ("t-1", 6, {"work": (6, 6)})):
        samples = query("thread", "samples", "--thread", thread)
        same(samples["weightType"], "tracing-ms", "weightType")
        same(float(samples["categoryBreakdown"]["totalSamples"]), float(total), f"traced time of {thread}")
        functions = query("thread", "functions", "--thread", thread, "--limit", "0")["functions"]
        same({f["name"]: (f["selfSamples"], f["totalSamples"]) for f in functions}, times, f"functions of {thread}")
    [error] = markers(query, 0)["KeyError"]
    same((error["category"], error["start"], fields(query, error)[0]), ("Exceptions", 9, {"text": "no such name: x"}),
         "an exception")


def fields(query, marker):
    """What the front-end shows in a marker's tooltip: by key, formatted."""
    info = query("marker", "info", marker["handle"])
    return {f["key"]: f["formattedValue"] for f in info["fields"]}, info


def markers(query, thread):
    list_ = query("thread", "markers", "--thread", f"t-{thread}", "--list", "--limit", "0")["flatMarkers"]
    return {name: [m for m in list_ if m["name"] == name] for name in {m["name"] for m in list_}}


def look_at_markers(query):
    leader, worker, twin, child = (markers(query, thread) for thread in (0, 2, 3, 4))
    empty, whole = leader["request"]
    same((empty["duration"], empty["hasStack"], whole["category"]), (1, True, "Network"), "two requests")
    seen, info = fields(query, whole)
    same({k: seen[k] for k in ("status", "method", "request", "took", "asked", "limit", "subcategory", "owner", "labels")},
         {"status": "200", "method": "GET", "request": "0000000000000abc", "took": "1.500ms", "asked": "2ms", "limit": "1.500s",
          "subcategory": "DNS", "owner": "7", "labels": 'user="ann \\"a\\"" request_id=17'}, "a request's fields")
    same("url" in seen, False, "a hidden field")
    same(info["tooltipLabel"], "request: done", "a label with a condition")
    same(info["schema"]["description"], 'One request.\nSee: the "manual"\nUnit: bytes', "description and rows")
    same([f["name"] for f in info["stack"]["frames"]],
         ["Thing::Thing()", "std::vector<int>::at(unsigned long)", "loop", "main"], "a marker's stack")
    same(fields(query, leader["magic"][0])[1]["tooltipLabel"], "magic: a kind, -3.", "keys that mean something else")
    same(fields(query, child["answered"][0])[0], {"request": "0000000000000abc"}, "the flow in another process")
    # What JavaScript would round is text.
    big, small = (fields(query, marker)[0] for marker in worker["exact"])
    same((big["big"], big["hex"], big["at"], big["ratio"], big["owner_"]),
         ("18446744073709551615", "-0x8000000000000000", "0xdeadbeef", "Infinity", "18446744073709551615"), "exact values")
    same((small["big"], small["part"], small["micro"]), ("-1", "100%", "1.5\u03bcs"), "small values")
    rows = fields(query, twin["rows"][0])[0]
    same(rows["names"], "a, -2, 0.5, 1ms, (empty)", "a list")
    # Ends that are not known, and labels of samples.
    same([m["start"] for m in worker["job"]], [4.5, 9.5, 10.5],
         "an interval without a beginning, one without an end, and an end behind it")
    same((round(worker["job"][0]["duration"], 3), "duration" in worker["job"][2]), (1, False), "an end is no interval")
    same([(m["start"], m["duration"]) for m in leader["job"]], [(0, 1.5)], "one that is drawn from the beginning")
    same([(m["label"], m["start"], m["duration"]) for m in worker["request_id"]], [("17", 6.5, 1)], "a label of samples")
    tracks = markers(query, 6), markers(query, 7)
    same([[m["duration"] for m in track["decode"]] for track in tracks], [[59], [1, 1]], "tracks")


def look_at_counters(query):
    list_ = query("counter", "list")["counters"]
    counters = {c["name"]: c for c in list_ if c["category"] != "Memory"}
    same(set(counters), {"sent", "queue", "wild", "load", "processCPU"}, "counters that have values")
    sent = counters["sent"]
    same((sent["unit"], sent["graphType"], sent["pid"], sent["mainThreadName"]), ("bytes", "line-accumulated", "100", "prog"),
         "a counter")
    same(sent["rangeSampleCount"], 4, "its rows but the one at the end of the range")
    same(sent["stats"][0]["value"], 12288, "its range, which begins with 0")
    same(counters["load"]["stats"][0]["value"], 0.75, "the range of one of doubles")
    same(counters["wild"]["pid"], "200", "the process of a counter")
    memory = {(c["name"], c["pid"]): c for c in list_ if c["category"] == "Memory"}
    same(set(memory), {("Heap", "100"), ("Mapped", "100"), ("Heap", "200")}, "counters of memory")
    heap = memory["Heap", "100"]
    same((heap["unit"], heap["graphType"], heap["rangeSampleCount"]), ("bytes", "line-accumulated", 12), "the heap's")
    same(heap["stats"][0]["value"], 2629915, "its range")
    same(memory["Mapped", "100"]["stats"][0]["value"], 196608, "the range of what is mapped")


def bytes_of(query, strategy, thread):
    """Bytes by function in one of the front-end's ways to sum up allocations."""
    query("thread", "select", f"t-{thread}")
    query("strategy", strategy)
    list_ = query("thread", "functions", "--thread", f"t-{thread}", "--limit", "0")
    same(list_["weightType"], "bytes", strategy)
    return {f["name"]: f["selfSamples"] for f in list_["functions"] if f["selfSamples"]}


def look_at_allocations(query):
    thing, at = "Thing::Thing()", "std::vector<int>::at(unsigned long)"
    same(bytes_of(query, "native-retained-allocations", 0), {thing: 1318720, at: 225, "[no stack]": 4000}, "what lives")
    same(bytes_of(query, "native-retained-allocations", 4), {thing: 4000}, "what lives in the child")
    same(bytes_of(query, "native-allocations", 0), {thing: 2638690, at: 1575, "[no stack]": 4000}, "all allocations")
    same(bytes_of(query, "native-deallocations-memory", 0), {thing: -1319970, at: -1350}, "what was freed")
    # To the 7th millisecond, at whose end one of the resizes is done.
    query("zoom", "push", "0.0004,0.0065")
    same(bytes_of(query, "native-retained-allocations", 0), {thing: 8250, at: 1350}, "what lived then")
    query("zoom", "pop")


if __name__ == "__main__":
    sys.exit(main())
