# SPDX-License-Identifier: Apache-2.0
"""JFR files: what JDK's `jfr` and a reader of the format see in them is what `kymo report` says.

The reader here is tests/golden/jfr_file.py, which goes by the description in the file.
"""
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "golden"))

import async_profiler
import jfr_file
from kymotest import (BUILD, KYMO, WORKLOADS, Running, case, check, check_close, folder, main, record, run, say,
                      skip, wait_until)


def convert(recording):
    path = recording.path.with_suffix(".jfr")
    out = run([KYMO, "convert", recording.path, "-q", "-f", "-o", path])
    check(out.status == 0, f"kymo convert: status {out.status}: {out.stderr}")
    read_by_converter(path)
    return path


def read_by_converter(path):
    """async-profiler's sees as many samples and allocations as there are events."""
    jar = async_profiler.converter()
    if not jar:
        return
    events = collections.Counter(e.type for e in all_events(path))
    for option, event in ("--cpu", "jdk.ExecutionSample"), ("--nativemem", "profiler.Malloc"):
        collapsed = path.with_suffix(".collapsed")
        out = run(["java", "-jar", jar, option, "-o", "collapsed", path, collapsed])
        check(out.status == 0, f"jfrconv: status {out.status}: {out.stderr}{out.stdout}")
        found = sum(int(line.rpartition(" ")[2]) for line in collapsed.read_text(errors="replace").splitlines())
        check(found == events[event], f"jfrconv {option}: {found} of {events[event]}")
        collapsed.unlink()


def jfr(*arguments):
    if not shutil.which("jfr"):
        skip("there is no jfr of a JDK: tools/install-deps test installs one")
    out = run(["jfr", *arguments])
    check(out.status == 0, f"jfr {arguments[0]}: status {out.status}: {out.stderr or out.stdout}")
    return out.stdout


def summary(path):
    """How many events of each type there are."""
    found = re.findall(r"^ (\S+) +(\d+) +\d+ *$", jfr("summary", path), re.M)
    return {name: int(count) for name, count in found if name not in ("jdk.Metadata", "jdk.CheckPoint")}


def printed(path, *types):
    """The values of events, as the JDK's reader sees them."""
    events = json.loads(jfr("print", "--json", "--stack-depth", "100000", "--events", ",".join(types), path))
    return [(e["type"], e["values"]) for e in events["recording"]["events"]]


def all_events(path):
    return [event for chunk in jfr_file.read_file(path) for event in chunk.events]


def sums(stacks):
    """Self and total of each function, of (weight, names from the innermost on)."""
    own, total = collections.Counter(), collections.Counter()
    for weight, names in stacks:
        own[names[0]] += weight
        for name in set(names):
            total[name] += weight
    return own, total


def functions_of(report):
    own, total = collections.Counter(), collections.Counter()
    for row in report.data["functions"]:
        own[row["name"]] += row["self"]
        total[row["name"]] += row["total"]
    return own, total


def stacks_in(path, event_type, value):
    """By the format alone."""
    for chunk in jfr_file.read_file(path):
        names = jfr_file.Names(chunk)
        for event in chunk.events:
            if event.type == event_type:
                yield event.fields[value], [f[1] for f in names.frames(event.fields["stackTrace"])]


def check_same(what, found, expected, several=()):
    """Functions of equal names with equal sums; code without names is called differently in a report. several:
    names of several functions, which may call each other and so count more than once in a report's sum."""
    unlike = {name for name in found.keys() | expected.keys()
              if found[name] != expected[name] and name not in several and not re.search(r"^\[|\+0x|^0x", name)}
    check(not unlike, f"{what}: {[(n, found[n], expected[n]) for n in sorted(unlike)[:5]]}")
    check(sum(found.values()) > 0, f"{what}: nothing")


def memory_of(recording, mode):
    return json.loads(run([KYMO, "report", recording.path, "--json", "--mode", mode]).stdout)


@case
def cpu():
    """Every function has its CPU time, with inlined ones and lines, by both readers."""
    recording = record([WORKLOADS / "inlines"], period="1ms", options=["--wall=10ms"])
    path = convert(recording)
    report = recording.report()
    own, total = functions_of(report)
    several = report.names_of_several()
    for who, stacks in (("format", list(stacks_in(path, "kymo.CPUTime", "cpuTime"))), ("jfr", None)):
        if stacks is None:
            spans = {(v["startTime"], v["eventThread"]["osThreadId"]): v for _, v in printed(path, "kymo.CPUTime")}
            check(len(spans) == summary(path)["kymo.CPUTime"], "jfr print and jfr summary differ")
            lines = {f["lineNumber"] for v in spans.values() for f in v["stackTrace"]["frames"]}
            check(len(lines) > 5, f"lines are {sorted(lines)}")
            stacks = [(round(float(v["cpuTime"][2:-1]) * 1e9), [f["method"]["name"] for f in v["stackTrace"]["frames"]])
                      for v in spans.values()]
        found_own, found_total = sums(stacks)
        check(sum(w for w, _ in stacks) == report.data["total"], f"{who}: {sum(w for w, _ in stacks)} ns")
        check_same(f"{who}, self", found_own, own)
        check_same(f"{who}, total", found_total, total, several)
    types = {t for c in jfr_file.read_file(path) for t in (f[3] for k in c.pools[26] for f in jfr_file.Names(c).frames(k))}
    check({"Native", "Inlined"} <= types, f"frames are {types}")
    say(f"{len(own)} functions have the same time")


@case
def counts():
    """As many samples as the report has; wall time is the threads' lives."""
    recording = record([WORKLOADS / "inlines"], period="1ms", options=["--wall=10ms"])
    path = convert(recording)
    report = recording.report()
    seen = summary(path)
    wall = report.quality["wall_samples"]
    check(seen["profiler.WallClockSample"] == wall, f"{seen['profiler.WallClockSample']} of {wall} wall samples")
    check(seen["jdk.ExecutionSample"] == report.with_start() - wall, f"samples: {seen}")
    check(seen["kymo.Thread"] == len(report.threads), f"threads: {seen}")
    mine = collections.Counter(e.type for e in all_events(path))
    check(dict(mine) == seen, f"the readers differ: {mine} and {seen}")
    weights = [e.fields["wallTime"] for e in all_events(path) if e.type == "kymo.WallTime"]
    check(len(weights) == wall, f"{len(weights)} of {wall} wall samples have their time")
    shown = sum(row["self"] for row in recording.report("--mode", "wall").data["functions"])
    check(sum(weights) == shown, f"wall time is {sum(weights)}, in the report {shown} ns")
    check("jdk.ExecutionSample" in jfr("metadata", path), "jfr metadata")


# ---- a recorder that is killed ----

def children_of(pid):
    """Names of processes by their numbers."""
    found = {}
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        try:
            found[int(child)] = pathlib.Path(f"/proc/{child}/comm").read_text().strip()
        except OSError:
            pass
    return found


def finisher_of(pid):
    return next((child for child, name in children_of(pid).items() if name == "finish-profile"), None)


class ToBeKilled:
    """kymo record -o r.jfr, and the process that is to finish its work."""

    def __init__(self, *argv, options=(), where=None):
        self.where = where or folder()
        self.path = self.where / "r.jfr"
        self.running = Running([KYMO, "record", "-q", *options, "-o", self.path, "--", *argv])
        self.pid = self.running.process.pid
        wait_until("a finisher", lambda: finisher_of(self.pid))
        self.finisher = finisher_of(self.pid)

    def spool(self):
        return next((f for f in self.where.iterdir() if f.name.endswith(".unfinished.kymo")), None)

    def wait_for_program(self):
        wait_until("the program", lambda: len(children_of(self.pid)) > 1)

    def kill(self, kill=os.kill):
        kill(self.pid, signal.SIGKILL)
        return self.finish()

    def finish(self):
        result = self.running.finish()
        wait_until("the finisher's end", lambda: not os.path.exists(f"/proc/{self.finisher}"))
        return result

    def left(self):
        return sorted(f.name for f in self.where.iterdir())

    def cpu_ns(self):
        """In the file, and by both readers it is one."""
        check(self.path.exists(), f"no .jfr, but {self.left()}")
        check(self.path.stat().st_mode & 0o777 == 0o600, "others may read it")
        read_by_converter(self.path)
        events = all_events(self.path)
        mine = collections.Counter(e.type for e in events)
        if shutil.which("jfr"):
            check(summary(self.path) == dict(mine), f"the readers differ: {mine}")
            printed(self.path, "kymo.Process", "jdk.ExecutionSample", "kymo.CPUTime")
        check(run([KYMO, "report", "-q", self.path]).status == 0, "kymo report does not read it")
        return sum(e.fields["cpuTime"] for e in events if e.type == "kymo.CPUTime")


def killed_in_the_middle(kill, *others):
    where = folder()
    r = ToBeKilled(BUILD / "tests" / "integration" / "outlives", where, where=where,
                   options=[o for name in others for o in ("-o", where / name)])
    wait_until("some seconds' worth in the recording", lambda: r.spool() and r.spool().stat().st_size > 20000)
    before = json.loads(run([KYMO, "report", r.spool(), "--json"]).stdout)["total"]
    result = r.kill(kill)
    check(result.status == 137, f"kymo's status is {result.status}")
    found = r.cpu_ns()
    say(f"{found / 1e9:.3f} s, of which {before / 1e9:.3f} s had been recorded some time before")
    check(found >= before > 0, "something of what had been recorded is missing")
    own, total = sums(list(stacks_in(r.path, "kymo.CPUTime", "cpuTime")))
    check(total["burn_ns"] > 0.9 * found, f"what was recorded is not what happened: {own.most_common(5)}")
    return r


@case
def killed():
    """SIGKILL to kymo: the program goes on, and all files that were asked for hold what was recorded."""
    r = killed_in_the_middle(os.kill, "%p.pb.gz", "r.folded")
    wait_until("the program's end", lambda: (r.where / "ended").exists())
    check((r.where / "ended").read_text() == "well\n", "the program did not end well")
    names = [re.sub(r"^[1-9]\d*\.pb", "PID.pb", name) for name in r.left()]
    check(names == ["PID.pb.gz", "ended", "r.folded", "r.jfr"], f"files: {names}")


@case
def killed_with_its_group():
    """The program dies, too; the file is written all the same."""
    r = killed_in_the_middle(os.killpg)
    check(r.left() == ["r.jfr"], f"files: {r.left()}")


@case
def killed_early():
    """As soon as there is a program: the file is valid, and has no sample or few."""
    where = folder()
    r = ToBeKilled("/bin/sh", "-c", f"sleep 1; echo well > {where}/ending; mv {where}/ending {where}/ended", where=where)
    r.wait_for_program()
    check(r.kill().status == 137, "kymo was not killed")
    say(f"{r.cpu_ns() / 1e6:.3f} ms")
    wait_until("the program's end", lambda: (where / "ended").exists())
    check(r.left() == ["ended", "r.jfr"], f"files: {r.left()}")


@case
def killed_late():
    """While kymo writes its file: it is written once more, and what kymo had of it is gone."""
    for _ in range(20):
        r = ToBeKilled(WORKLOADS / "inlines")
        r.wait_for_program()
        wait_until("the program's end", lambda: len(children_of(r.pid)) <= 1)
        result = r.kill()
        if result.status == 137:
            break
    check(result.status == 137, "kymo was always done before")
    check_close("CPU time", r.cpu_ns() / 1e9, result.children_cpu_ns / 1e9, 0.05 * result.children_cpu_ns / 1e9)
    check(r.left() == ["r.jfr"], f"files: {r.left()}")


@case
def killed_at_the_very_end():
    """Its file is complete, and the recording is about to be deleted."""
    where = folder()
    result = run([KYMO, "record", "-q", "-o", where / "r.jfr", "--", "/bin/true"],
                 env={**os.environ, "LD_PRELOAD": str(BUILD / "tests" / "integration" / "libkilled_in_unlink.so")})
    check(result.status == 137, f"kymo's status is {result.status}")
    wait_until("the recording's end", lambda: [f.name for f in where.iterdir()] == ["r.jfr"])


@case
def not_killed():
    """The other process is gone before kymo is, and there is none where only a recording is written."""
    where = folder()
    r = ToBeKilled("/bin/sh", "-c", "sleep 3; exit 3", where=where)
    result = r.running.finish()
    check(result.status == 3, f"status {result.status}")
    check(not os.path.exists(f"/proc/{r.finisher}"), "the finisher is still there")
    check(r.left() == ["r.jfr"], f"files: {r.left()}")
    r = Running([KYMO, "record", "-q", "-o", where / "r.kymo", "--", "/bin/sleep", "0.3"])
    wait_until("the program", lambda: children_of(r.process.pid))
    check(finisher_of(r.process.pid) is None, "a finisher for a recording")
    check(r.finish().status == 0, "the program's status")


@case
def markers():
    """Each marker is an event of its schema's type, and counted once."""
    recording = record([WORKLOADS / "marks", "kinds"], period="10ms")
    path = convert(recording)
    rows = recording.report("--mode", "markers").data["markers"]
    marks = [e for e in all_events(path) if e.type.startswith("kymo.marker.")]
    by_name = collections.Counter(e.fields["name"] for e in marks)
    expected = collections.Counter()
    for row in rows:
        expected[row["name"]] += row["count"]
    check(by_name == expected, f"{(by_name - expected)} too many, {(expected - by_name)} missing")
    spans = sum(e.fields.get("duration", 0) for e in marks)
    check(spans == sum(row["total"] for row in rows), f"they last {spans} ns")
    seen = {k: n for k, n in summary(path).items() if k.startswith("kymo.marker.")}
    check(sum(seen.values()) == len(marks), f"jfr summary has {seen}")
    types = collections.Counter(kind for kind, _ in printed(path, *seen))
    check(dict(types) == seen, f"jfr print has {types}")
    say(f"{len(marks)} markers of {len(seen)} types")


@case
def allocations():
    """Every allocation and its end; sums are exact."""
    recording = record([WORKLOADS / "allocs", "peak"], options=["--alloc=0", "--buffer=64m"], period="10ms")
    path = convert(recording)
    heap = memory_of(recording, "alloc")["heaps"][0]
    events = all_events(path)
    count, size = 0, 0
    weights = {(e.fields["startTime"], e.fields["address"]): e.fields for e in events if e.type == "kymo.MallocWeight"}
    for e in events:
        if e.type == "profiler.Malloc":
            beside = weights.get((e.fields["startTime"], e.fields["address"]))
            count += beside["weight"] * beside["allocations"] if beside else 1
            size += beside["weight"] * beside["allocated"] if beside else e.fields["size"]
    check((count, size) == (heap["count"], heap["bytes"]), f"{count} and {size} bytes, in truth {heap}")
    live = collections.Counter()
    for e in events:
        if e.type in ("profiler.Malloc", "profiler.Free"):
            live[e.fields["address"]] += 1 if e.type == "profiler.Malloc" else -1
    check(set(live.values()) <= {0, 1}, "a block is freed twice, or allocated twice")
    report = memory_of(recording, "live")
    check(sum(live.values()) == report["total"]["objects"], f"{sum(live.values())} live, {report['total']}")
    seen = summary(path)
    check(seen["profiler.Malloc"] == sum(e.type == "profiler.Malloc" for e in events), f"jfr summary has {seen}")
    say(f"{count} allocations of {size} bytes")


if __name__ == "__main__":
    main()
