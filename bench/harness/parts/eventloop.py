# SPDX-License-Identifier: Apache-2.0
"""A loop of work in burn_a, in burn_b, and a wait: is the work seen where it is, and are the waits
left alone, whether it is nearly always waiting or half of the time?"""
import json
import math
import re
import subprocess

from ..bench import percent
from ..results import Table
from ..tools import Gperftools, Kymo, Nothing, profile

WAITS = ("poll", "epoll_wait", "nanosleep", "recv")
DUTIES = {1: 10, 10: 4, 50: 4}  # percent: seconds of each wait
ENOUGH = 100  # samples; the shares of fewer are chance


def self_times(tool, program, out):
    """function: its own part of what the tool shows."""
    if isinstance(tool, Kymo):
        report = subprocess.run([tool.kymo, "report", "--json", "--top", "0", out + ".kymo"],
                                check=True, stdout=subprocess.PIPE).stdout
        report = json.loads(report)
        return {f["name"]: f["self"] / report["total"] for f in report["functions"]}
    text = subprocess.run(["google-pprof", "--text", program, out + ".prof"], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    rows = re.findall(r"^\s*(\d+)\s+[\d.]+%\s+[\d.]+%\s+\d+\s+[\d.]+%\s+(\S+)", text, re.M)
    total = sum(int(count) for count, _ in rows)
    return {name: int(count) / total for count, name in rows}


def run(bench):
    tools = [Nothing(), *(Kymo(bench.build, e, "1ms") for e in bench.engines())]
    if bench.has_wall():
        tools.append(Kymo(bench.build, "auto", "1ms", "10ms"))
    tools.append(Gperftools())
    for duty, seconds in DUTIES.items():
        measure_duty(bench, tools, duty, 1 if bench.quick else seconds)


def measure_duty(bench, tools, duty, seconds):
    program = bench.built("tests/workloads/eventloop")
    out = bench.out("eventloop")
    table = Table(f"Event loop, {duty} % duty",
                  f"Five parts of work in A, two in B, and a wait, so that it works {duty} % of the "
                  f"time; {seconds} s, each wait once. The truth is measured by the program, which "
                  "reads its CPU clock around A and B.",
                  ["", "calls", "EINTR per 1000", "disturbed", "samples", "in A", "in B", "truth A",
                   "truth B", "work seen"])
    for tool in tools:
        calls = interrupted = disturbed = samples = of_wall = 0
        seen = {"burn_a": 0.0, "burn_b": 0.0}
        truth = {"burn_a": 0.0, "burn_b": 0.0}
        for wait in WAITS:
            ran = profile(tool, [program, wait, str(seconds), str(duty)], out, "eventloop",
                          bench.usage)
            said = json.loads(ran.output)
            calls += said["calls"]
            interrupted += said["eintr"]
            if isinstance(tool, Kymo):
                quality = tool.report(out)["quality"]
                disturbed += quality["disturbed"]
                samples += quality["samples"]
                of_wall += quality.get("wall_samples") or 0
            shares = self_times(tool, program, out) if tool.period_s else {}
            for name, key in (("burn_a", "cpu_a"), ("burn_b", "cpu_b")):
                seen[name] += shares.get(name, 0.0) / len(WAITS)
                truth[name] += said[key] / said["cpu"] / len(WAITS)
            bench.remove_outputs()
        work = sum(seen.values()) / sum(truth.values())
        ours = isinstance(tool, Kymo)
        table.row(tool.name, calls, f"{1000 * interrupted / calls:.2f}",
                  *((disturbed, samples) if ours else ("", "")),
                  *(percent(seen[n]) if tool.period_s else "" for n in seen),
                  *(percent(truth[n]) for n in truth), percent(work) if tool.period_s else "")
        if ours:
            where = f"{tool.engine} engine{', wall 10 ms' if tool.wall else ''}, {duty} % duty"
            bench.results.budget(f"samples that disturbed a call, {where}",
                                 disturbed / max(samples, 1), 0.001, in_a_thousand)
            judge(bench, where, interrupted / calls, seen, truth, samples - of_wall)
    bench.results.add(table)


def in_a_thousand(part):
    return f"{1000 * part:.2f} in 1000"


def judge(bench, where, interrupted, seen, truth, samples):
    hold = bench.results.budget
    hold(f"calls that saw EINTR, {where}", interrupted, 0.001, in_a_thousand)
    if samples < ENOUGH:
        bench.results.absent(f"work of an event loop seen as such, {where}",
                             f"{samples} samples are too few")
        return
    work = sum(seen.values())
    hold(f"work of an event loop seen as such, {where}", work / sum(truth.values()), 0.98, percent,
         at_least=True)
    # Of the work alone, so that what the loop's own system calls cost is no part of it.
    off = abs(seen["burn_a"] / work - truth["burn_a"] / sum(truth.values()))
    by_chance = 3 * math.sqrt(0.71 * 0.29 / samples)
    hold(f"part of A in the work, off by, {where}", off, max(0.02, by_chance), percent)
