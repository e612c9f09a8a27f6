# SPDX-License-Identifier: Apache-2.0
"""Servers that nobody here wrote, under load, alone and under kymo record: what they serve in the same
time, and whether anything at all went wrong. tests/servers has the servers and their clients."""
import json
import os
import shutil
import subprocess
import sys

from ..bench import percent, times
from ..measure import Failed, interleave, median
from ..results import Table


class Run:
    """One session; cost_us: CPU time of all its processes for one request."""

    def __init__(self, rate, cost_us, errors, complaints, quality):
        self.rate = rate
        self.cost_us = cost_us
        self.errors = errors
        self.complaints = complaints
        self.quality = quality


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


def session(bench, server, seconds, prefix, out):
    from servers.server import Broken, Session
    try:
        with Session(server, prefix) as running:
            load = server.load(seconds)
            errors = load.errors + server.verify()
    except Broken as why:
        raise Failed(str(why)) from None
    if running.status != server.end_status:
        errors.append(f"status {running.status}")
    quality = None
    if prefix:
        text = subprocess.run([bench.kymo, "report", "--json", out], check=True,
                              stdout=subprocess.PIPE).stdout
        quality = json.loads(text)["quality"]
        os.unlink(out)
    cost_us = running.cpu_s * 1e6 / load.requests
    return Run(load.rate, cost_us, errors, running.complaints, quality)


def measure(bench, kymo, kind, options, rounds, seconds):
    """Pairs of sessions: alone and under Kymo."""
    server = kind(bench.out("server-" + kind.name))
    server.prepare()
    out = str(server.path("server.kymo"))
    ways = {"alone": [], "kymo": [kymo, "record", "-q", "-f", *options, "-o", out, "--"]}
    session(bench, server, 1, [], out)  # fills caches and tables, and is not counted
    return interleave(rounds, {
        name: lambda _number, prefix=prefix: session(bench, server, seconds, prefix, out)
        for name, prefix in ways.items()})


def judge(bench, kind, runs, table):
    alone, kymo = runs["alone"], runs["kymo"]
    pairs = [k.rate / a.rate for a, k in zip(alone, kymo)]
    usual = set().union(*(run.complaints for run in alone))
    errors = [e for run in alone + kymo for e in run.errors]
    errors += [line for run in kymo for line in run.complaints - usual]
    for error in errors:
        print(f"kymo: {kind.name}: {error}", file=sys.stderr)
    samples = sum(run.quality["samples"] for run in kymo)
    lost = sum(sum(run.quality["lost"].values()) for run in kymo)
    disturbed = sum(run.quality.get("disturbed") or 0 for run in kymo)
    complete = min((run.quality["stacks_complete"] for run in kymo if run.quality["samples"]),
                   default=None)
    ratio = median(pairs)
    table.row(kind.name, kymo[0].quality["engine"], f"{median([r.rate for r in alone]):.0f}",
              f"{median([r.rate for r in kymo]):.0f}", times(ratio),
              f"{min(pairs):.3f} to {max(pairs):.3f}", f"{median([r.cost_us for r in alone]):.1f}",
              times(median([k.cost_us / a.cost_us for a, k in zip(alone, kymo)])), len(errors),
              samples, percent(complete), lost, disturbed)
    hold = bench.results.budget
    hold(f"throughput of {kind.name} under Kymo", ratio, 0.97, times, at_least=True,
         spread=max(pairs) - min(pairs))
    hold(f"errors of {kind.name} and its clients", len(errors), 0, str)
    hold(f"records lost, {kind.name}", lost, 0, str)
    hold(f"calls disturbed in 1000 samples, {kind.name}", 1000 * disturbed / max(samples, 1), 1.0,
         lambda part: f"{part:.2f}")
    if kind.own_frames and complete is not None:
        hold(f"complete stacks of {kind.name}", complete, 0.999, percent, at_least=True)


def run(bench):
    sys.path.insert(0, os.path.join(bench.root, "tests"))
    import servers
    rounds = bench.rounds(4)
    seconds = 5 if bench.quick else 30
    options = settings(bench)
    kymo = reachable_kymo(bench)
    table = Table("Servers under load",
                  f"Requests (PostgreSQL: transactions) a second of {rounds} pairs of {seconds} s, "
                  f"alone and under `kymo record {' '.join(options)}`; the client runs on the same "
                  f"{os.cpu_count()} CPUs. *Ratio*: the median of the pairs, with the least and the "
                  "greatest. *CPU*: of all the server's processes for a request, start and end "
                  "included; *with tool* counts Kymo's processes, too. *Errors*: of clients, in what servers answer, in their logs, and "
                  "statuses. The compiled code of a JVM has no unwind tables; its stacks need not "
                  "be complete.",
                  ["", "engine", "alone", "kymo", "ratio", "pairs", "CPU us", "ratio with tool",
                   "errors", "samples", "complete", "lost", "disturbed"])
    for name, kind in servers.KNOWN.items():
        if kind.missing():
            bench.results.absent(name, "not installed: " + ", ".join(kind.missing()))
            continue
        judge(bench, kind, measure(bench, kymo, kind, options, rounds, seconds), table)
    bench.results.add(table)
