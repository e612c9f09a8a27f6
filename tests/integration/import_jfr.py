# SPDX-License-Identifier: Apache-2.0
"""JFR files as profiles: of the JVM's recorder against JDK's `jfr`, of async-profiler against its converter, of Kymo
against the recording.

Without async-profiler (tests/golden/async_profiler.py) its cases are skipped.
"""
import collections
import functools
import json
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "golden"))

import async_profiler as peer
from kymotest import KYMO, WORKLOADS, Recording, add_case, case, check, folder, main, record, run, say, skip

# For tools that end at once: their virtual machine takes half of the CPU time.
QUICK = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
QUICK_TOOL = [f"-J{option}" for option in QUICK]
SOURCE = pathlib.Path(__file__).resolve().parent.parent / "workloads" / "JfrShares.java"


def report(path, *arguments):
    """{name: (self, total)} and the total of all."""
    data = Recording(path, None, KYMO).report(*arguments).data
    rows = data["functions"]
    own, total = collections.Counter(), collections.Counter()
    for row in rows:
        own[row["name"]] += row["self"]
        total[row["name"]] += row["total"]
    return own, total, data["total"]


def convert(path, out):
    result = run([KYMO, "convert", path, "-q", "-f", "-o", out])
    check(result.status == 0, f"kymo convert: status {result.status}: {result.stderr}")
    return out


def sums(stacks):
    """Self and total of each function, of (weight, names from the innermost on)."""
    own, total = collections.Counter(), collections.Counter()
    for weight, names in stacks:
        own[names[0]] += weight
        for name in set(names):
            total[name] += weight
    return own, total


def unnamed_as_one(times, modules):
    """What lies in no module has its address for a name in JFR, and one name for all in a report; what lies in no
    function of a module its address there, and the module's name in brackets."""
    out = collections.Counter()
    for name, time in times.items():
        module = name.rpartition("+0x")[0]
        out["[generated code]" if name.startswith("0x") else
            f"[{module}]" if module in modules else name] += time
    return out


def check_same(what, found, expected, ignored=()):
    """Of a module of which some code lies in no function, all code without names is taken as one."""
    modules = {name[1:-1] for name in expected if name.startswith("[")}
    found, expected = unnamed_as_one(found, modules), unnamed_as_one(expected, modules)
    unlike = sorted(name for name in found.keys() | expected.keys()
                    if found[name] != expected[name] and name not in ignored)
    check(not unlike, f"{what}: {[(n, found[n], expected[n]) for n in unlike[:5]]}")
    check(sum(found.values()) > 0, f"{what}: nothing")


# ---- Kymo ----

def names_of_several(path, mode):
    """JFR has no source files: functions of one name in a module become one, and are counted once in a stack."""
    return Recording(path, None, KYMO).report("--mode", mode).names_of_several()


def check_own(recording, modes):
    path = convert(recording.path, recording.path.with_suffix(".jfr"))
    again = convert(path, path.with_name("again.jfr"))
    for mode in modes:
        own, total, whole = report(recording.path, "--mode", mode)
        threads = report(recording.path, "--mode", mode, "--by", "thread")[0]
        several = names_of_several(recording.path, mode)
        for other in (path, again):
            found = report(other, "--mode", mode)
            check(found[2] == whole, f"{mode}: {found[2]} instead of {whole}")
            check_same(f"{mode}, self", found[0], own)
            check_same(f"{mode}, total", found[1], total, several)
            check_same(f"{mode}, threads", report(other, "--mode", mode, "--by", "thread")[0], threads)
        say(f"{mode}: {len(total)} functions and {len(threads)} threads have the same time")


@case
def own():
    """A recording of Kymo keeps its times through JFR: of functions, of threads, of processes."""
    check_own(record([WORKLOADS / "inlines"], period="1ms", options=["--wall=10ms"]), ["cpu", "wall"])


@case
def own_shell():
    check_own(record(["sh", "-c", "for i in 1 2 3; do seq 100000 | sort -r | tail -1; done"]), ["cpu"])


@case
def own_heap():
    """What was allocated, and what lives at exit."""
    recording = record([WORKLOADS / "allocs", "peak"], options=["--alloc=0", "--buffer=64m"], period="10ms")
    path = convert(recording.path, recording.path.with_suffix(".jfr"))
    for mode in ("alloc", "live"):
        truth = json.loads(run([KYMO, "report", recording.path, "--json", "--mode", mode]).stdout)
        found = report(path, "--mode", mode)
        check(found[2] == truth["total"]["bytes"], f"{mode}: {found[2]} bytes, in truth {truth['total']}")
        say(f"{mode}: {found[2]} bytes")


# ---- the JVM ----

@functools.cache
def compiled():
    for tool in ("java", "javac", "jfr"):
        if not shutil.which(tool):
            skip(f"there is no {tool} of a JDK: tools/install-deps test installs one")
    cwd = folder()
    subprocess.run(["javac", *QUICK_TOOL, "-d", cwd, SOURCE], check=True)
    return cwd


def program():
    """A folder of its own for each case, with the classes."""
    cwd = folder()
    shutil.copytree(compiled(), cwd, dirs_exist_ok=True)
    return cwd


def run_java(cwd, *options):
    result = run(["java", *options, "-cp", cwd, "JfrShares", "0.3"], cwd=cwd)
    check(result.status == 0, f"java: status {result.status}: {result.stderr or result.stdout}")


def printed(path, *types):
    out = run(["jfr", *QUICK_TOOL, "print", "--json", "--stack-depth", "100000", "--events", ",".join(types), path])
    check(out.status == 0, f"jfr print: status {out.status}: {out.stderr or out.stdout}")
    return [e["values"] for e in json.loads(out.stdout)["recording"]["events"]]


def names_of(event):
    """Of a stack as kymo report shows them, innermost first."""
    stack = event["stackTrace"]
    if not stack or not stack["frames"]:
        return ["[no stack]"]
    names = [f"{f['method']['type']['name'].replace('/', '.')}.{f['method']['name']}" for f in stack["frames"]]
    return names + ["[truncated stack]"] * stack["truncated"]


def nanoseconds(duration):
    """PT1.5S as the JDK prints it."""
    match = re.fullmatch(r"PT(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?", duration)
    check(match, f"the duration is {duration}")
    minutes, seconds, fraction = match.groups()
    return (60 * int(minutes or 0) + int(seconds or 0)) * 10**9 + int((fraction or "0").ljust(9, "0"))


def thread_of(event):
    """As kymo report shows it. The JVM does not know the thread of each sample."""
    thread = event.get("sampledThread") or event.get("eventThread")
    if not thread:
        return "[unknown thread] (0)"
    return f"{thread['javaName'] or thread['osName']} ({thread['osThreadId']})"


def check_mode(path, mode, weighted):
    """weighted: (weight, event) as `jfr print` sees them."""
    own, total, whole = report(path, "--mode", mode)
    expected_own, expected_total = sums((w, names_of(e)) for w, e in weighted)
    check(whole == sum(w for w, _ in weighted), f"{mode}: {whole}, jfr has {sum(w for w, _ in weighted)}")
    check_same(f"{mode}, self", own, expected_own)
    check_same(f"{mode}, total", total, expected_total)
    threads = collections.Counter()
    for weight, event in weighted:
        threads[thread_of(event)] += weight
    check_same(f"{mode}, threads", report(path, "--mode", mode, "--by", "thread")[0], threads)
    say(f"{mode}: {len(weighted)} events, {len(total)} functions and {len(threads)} threads are the same")


def jvm(depth):
    cwd = program()
    path = cwd / "jvm.jfr"
    run_java(cwd, f"-XX:StartFlightRecording=filename={path},settings=profile", f"-XX:FlightRecorderOptions=stackdepth={depth}")
    samples = printed(path, "jdk.ExecutionSample")
    period = report(path)[2] // len(samples)
    check(period in (10000000, 20000000), f"a sample stands for {period} ns")
    check_mode(path, "cpu", [(period, e) for e in samples])
    check_mode(path, "alloc_space", [(e["weight"], e) for e in printed(path, "jdk.ObjectAllocationSample")])
    check_mode(path, "delay", [(nanoseconds(e["duration"]), e) for e in printed(path, "jdk.JavaMonitorEnter",
                                                                                "jdk.ThreadPark")])
    # What kymo makes of it is read by the JDK again, with the same number of samples.
    check(len(printed(convert(path, cwd / "again.jfr"), "jdk.ExecutionSample")) == len(samples), "samples are lost")
    check(report(cwd / "again.jfr")[:2] == report(path)[:2], "times are lost")


add_case("jvm", jvm, 64)
add_case("jvm_truncated", jvm, 3)


# ---- async-profiler ----

def converted(jar, path, *options):
    out = path.with_suffix(".collapsed")
    result = run(["java", *QUICK, "-jar", jar, "-o", "collapsed", "--dot", "--total", *options, path, out])
    check(result.status == 0, f"jfrconv: status {result.status}: {result.stderr}")
    lines = (line.rpartition(" ") for line in out.read_text().splitlines())
    return sums((int(count), [re.sub(r"_\[[k01ij]\]$", "", name) for name in reversed(names.split(";"))])
                for names, _, count in lines)


def async_profiler(options, mode, converter_options, unit, has_class=False):
    """unit: of the converter's numbers. It shows the class of an object as a frame, and leaves out what has no
    stack."""
    library, jar = peer.library(folder()), peer.converter()
    if not library or not jar:
        skip("there is no async-profiler, or no converter of it")
    cwd = program()
    path = cwd / "async.jfr"
    run_java(cwd, f"-agentpath:{library}=start,{options},jfr,file={path}")
    own, total, whole = report(path, "--mode", mode)
    expected_own, expected_total = converted(jar, path, *converter_options)
    without = own["[no stack]"]
    check(whole - without == unit * sum(expected_own.values()), f"{whole} and {unit * sum(expected_own.values())}")
    objects = {name for name in expected_own if has_class}
    for what, found, expected in (("total", total, expected_total), ("self", own, expected_own)):
        expected = collections.Counter({n: unit * c for n, c in expected.items() if n not in objects})
        ignored = {"[no stack]", "[truncated stack]"} | objects
        if what == "total" or not has_class:
            check_same(what, found, expected, ignored)
    say(f"{mode}: {len(expected_total)} functions are the same")


add_case("async_cpu", async_profiler, "event=ctimer,interval=2ms", "cpu", ["--cpu"], 2000000)
add_case("async_wall", async_profiler, "event=wall,interval=20ms", "wall", ["--wall"], 20000000)
add_case("async_alloc", async_profiler, "event=alloc,alloc=64k", "alloc_space", ["--alloc"], 1, True)
add_case("async_live", async_profiler, "event=alloc,alloc=64k,live", "inuse_space", ["--live"], 1, True)
add_case("async_malloc", async_profiler, "nativemem=64k", "alloc_space", ["--nativemem"], 1)
add_case("async_leak", async_profiler, "nativemem=64k", "inuse_space", ["--nativemem", "--leak", "--tail", "0"], 1)
add_case("async_lock", async_profiler, "lock=1ms", "delay", ["--lock"], 1, True)


if __name__ == "__main__":
    main()
