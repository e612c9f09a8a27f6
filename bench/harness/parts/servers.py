# SPDX-License-Identifier: Apache-2.0
"""Servers of Debian, under load: what they serve alone, under kymo record and under perf
record, and whether anything at all went wrong. tests/servers has the servers and their clients.

A session of half a minute under Kymo tells what goes wrong. What is served is told by many short ones
in turn: this kind of figure differs by a tenth and more from one second to the next, and from one
process to the next, so that an interval stands beside it, and one for the same server without anything
held against itself."""
import json
import os
import shutil
import subprocess
import sys

from ..bench import percent, times
from ..measure import Failed, interleave, interval, median, spread
from ..results import Table

LONG_S = 30
SHORT_S = 5
WARM_S = 2


class Run:
    """One session; cost_us: CPU time of all its processes for one request."""

    def __init__(self, rate, cost_us, errors, complaints, quality):
        self.rate = rate
        self.cost_us = cost_us
        self.errors = errors
        self.complaints = complaints
        self.quality = quality


class Pairs:
    """The median of pairs, and its interval."""

    def __init__(self, pairs):
        self.median = median(pairs)
        self.spread = spread(pairs)
        self.interval = interval(median, pairs)

    def __str__(self):
        between = " (%.3f to %.3f)" % self.interval if self.interval else ""
        return f"{self.median:.3f}{between}"


def reachable_kymo(bench):
    """kymo where the servers' users can run it: the build may lie where only its owner can look."""
    os.chmod(bench.scratch, 0o755)
    root = bench.out("reachable")
    for built in (bench.kymo, bench.preload):
        place = os.path.join(root, "src", os.path.basename(os.path.dirname(built)))
        os.makedirs(place, exist_ok=True)
        shutil.copy2(built, place)
    return os.path.join(root, "src", "cli", "kymo")


def settings(bench):
    """What users have who want to see everything: 1 kHz of CPU time, and 10 ms of wall time."""
    return ["--cpu=1ms", *(["--wall=10ms"] if bench.has_wall() else [])]


def perf_command(server):
    """As its users run it who want stacks, at the same rate."""
    return ["perf", "record", "-q", "-g", "-e", "cpu-clock", "-c", "1000000", "-o",
            server.path("perf.data"), "--"]


def session(bench, server, seconds, prefix, out=None):
    """out: the recording that the prefix makes."""
    from servers.server import Broken, Session
    try:
        with Session(server, prefix) as running:
            warm = server.load(WARM_S)
            load = server.load(seconds)
            errors = warm.errors + load.errors + server.verify()
    except Broken as why:
        raise Failed(str(why)) from None
    if running.status != server.end_status:
        errors.append(f"status {running.status}")
    quality = None
    if out:
        text = subprocess.run([bench.kymo, "report", "--json", out], check=True,
                              stdout=subprocess.PIPE).stdout
        quality = json.loads(text)["quality"]
        os.unlink(out)
    cost_us = running.cpu_s * 1e6 / (warm.requests + load.requests)
    return Run(load.rate, cost_us, errors, running.complaints, quality)


def measure(bench, kymo, kind, options, rounds, short_s, long_s):
    """Returns the short sessions by their way, and the long one under Kymo."""
    server = kind(bench.out("server-" + kind.name))
    server.prepare()
    out = str(server.path("server.kymo"))
    under_kymo = [kymo, "record", "-q", "-f", *options, "-o", out, "--"]
    session(bench, server, 1, [])  # fills caches and tables, and is not counted
    long = session(bench, server, long_s, under_kymo, out)
    ways = {"alone": lambda _: session(bench, server, short_s, []),
            "kymo": lambda _: session(bench, server, short_s, under_kymo, out)}
    if shutil.which("perf"):
        ways["perf"] = lambda _: session(bench, server, short_s, perf_command(server))
    return interleave(rounds, ways), long


def judge(bench, kind, runs, long, table, shown):
    alone, kymo, perf = runs["alone"], runs["kymo"], runs.get("perf")

    def against(others, base, what=lambda run: run.rate):
        return Pairs([what(o) / what(b) for o, b in zip(others, base)])

    usual = set().union(*(run.complaints for run in alone))
    errors = [e for run in [*alone, *kymo, long] for e in run.errors]
    errors += [line for run in [*kymo, long] for line in run.complaints - usual]
    for error in errors:
        print(f"kymo: {kind.name}: {error}", file=sys.stderr)
    samples = sum(run.quality["samples"] for run in [*kymo, long])
    lost = sum(sum(run.quality["lost"].values()) for run in [*kymo, long])
    disturbed = sum(run.quality.get("disturbed") or 0 for run in [*kymo, long])
    complete = long.quality["stacks_complete"] if long.quality["samples"] else None
    ratio = against(kymo, alone)
    table.row(kind.name, f"{median([r.rate for r in alone]):.0f}", ratio,
              against(perf, alone) if perf else "", against(alone[1:], alone),
              f"{median([r.cost_us for r in alone]):.1f}",
              against(kymo, alone, lambda run: run.cost_us),
              against(perf, alone, lambda run: run.cost_us) if perf else "")
    shown.row(kind.name, long.quality["engine"], len(errors), samples, percent(complete), lost,
              disturbed)
    hold = bench.results.budget
    hold(f"throughput of {kind.name} under Kymo", ratio.median, 0.97, times, at_least=True,
         spread=ratio.spread, interval=ratio.interval)
    hold(f"errors of {kind.name} and its clients", len(errors), 0, str)
    hold(f"records lost, {kind.name}", lost, 0, str)
    hold(f"calls disturbed in 1000 samples, {kind.name}", 1000 * disturbed / max(samples, 1), 1.0,
         lambda part: f"{part:.2f}")
    if kind.own_frames and complete is not None:
        hold(f"complete stacks of {kind.name}", complete, 0.999, percent, at_least=True)


def run(bench):
    sys.path.insert(0, os.path.join(bench.root, "tests"))
    import servers
    rounds = bench.rounds(8, 2)  # one differs from the other without a profiler, too
    short_s, long_s = (2, 5) if bench.quick else (SHORT_S, LONG_S)
    options = settings(bench)
    kymo = reachable_kymo(bench)
    table = Table("Servers under load",
                  f"Requests (PostgreSQL: transactions) a second in {rounds} rounds of sessions of "
                  f"{short_s} s, each with a server of its own that has been loaded for {WARM_S} s: "
                  f"alone, under `kymo record {' '.join(options)}`, and under `perf record -g -e "
                  "cpu-clock -c 1000000` (no wall time; stacks by frame pointers, which this code "
                  f"mostly lacks). The client runs on the same {os.cpu_count()} CPUs. *kymo*, "
                  "*perf*: the median of the rounds' ratios to alone, with its 95 % interval; *alone "
                  "again*: each round's to the one before. *CPU*: of all the server's processes for a "
                  "request, start and end included, and so are the profiler's.",
                  ["", "alone", "kymo", "perf -g", "alone again", "CPU us", "kymo: CPU",
                   "perf -g: CPU"])
    shown = Table("Servers: what went wrong, and what was seen",
                  f"Of the sessions above and one of {long_s} s; *complete*: stacks of that one. "
                  "*Errors*: of clients, in what servers answer, in their logs, and statuses. The "
                  "compiled code of a JVM has no unwind tables; its stacks need not be complete.",
                  ["", "engine", "errors", "samples", "complete", "lost", "disturbed"])
    for name, kind in servers.KNOWN.items():
        if kind.missing():
            bench.results.absent(name, "not installed: " + ", ".join(kind.missing()))
            continue
        judge(bench, kind, *measure(bench, kymo, kind, options, rounds, short_s, long_s), table,
              shown)
    bench.results.add(table)
    bench.results.add(shown)
