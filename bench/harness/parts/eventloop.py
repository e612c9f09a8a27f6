# SPDX-License-Identifier: Apache-2.0
"""A loop of 0.5 ms in burn_a, 0.2 ms in burn_b and a wait: is the work seen where it is, and are the
waits left alone?"""
import json
import re
import subprocess

from ..bench import percent
from ..results import Table
from ..tools import Gperftools, Kymo, Nothing, profile

WAITS = ("poll", "epoll_wait", "nanosleep", "recv")


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
    seconds = "1" if bench.quick else "4"
    program = bench.built("tests/workloads/eventloop")
    out = bench.out("eventloop")
    table = Table("Event loop",
                  f"0.5 ms in A, 0.2 ms in B, a wait of 3 ms, for {seconds} s, each wait once. The "
                  "truth is measured by the program, which reads its CPU clock around A and B.",
                  ["", "calls", "EINTR per 1000", "in A", "in B", "truth A", "truth B",
                   "work seen"])
    tools = [Nothing(), *(Kymo(bench.build, e, "1ms") for e in bench.engines()), Gperftools()]
    for tool in tools:
        calls = interrupted = 0
        seen = {"burn_a": 0.0, "burn_b": 0.0}
        truth = {"burn_a": 0.0, "burn_b": 0.0}
        for wait in WAITS:
            ran = profile(tool, [program, wait, seconds], out, "eventloop", bench.usage)
            said = json.loads(ran.output)
            calls += said["calls"]
            interrupted += said["eintr"]
            shares = self_times(tool, program, out) if tool.period_s else {}
            for name, key in (("burn_a", "cpu_a"), ("burn_b", "cpu_b")):
                seen[name] += shares.get(name, 0.0) / len(WAITS)
                truth[name] += said[key] / said["cpu"] / len(WAITS)
            bench.remove_outputs()
        rate = interrupted / calls
        work = sum(seen.values()) / sum(truth.values())
        table.row(tool.name, calls, f"{1000 * rate:.2f}",
                  *(percent(seen[n]) if tool.period_s else "" for n in seen),
                  *(percent(truth[n]) for n in truth), percent(work) if tool.period_s else "")
        if isinstance(tool, Kymo):
            bench.results.budget(f"calls that saw EINTR, {tool.engine} engine", rate, 0.001,
                                 lambda part: f"{1000 * part:.2f} in 1000")
            bench.results.budget(f"work of an event loop seen as such, {tool.engine} engine", work,
                                 0.98, percent, at_least=True)
            # Of the work alone, so that what the loop's own system calls cost is no part of it.
            off = abs(seen["burn_a"] / sum(seen.values()) - truth["burn_a"] / sum(truth.values()))
            bench.results.budget(f"part of A in the work, off by, {tool.engine} engine", off, 0.02,
                                 percent)
    bench.results.add(table)
