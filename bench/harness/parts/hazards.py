# SPDX-License-Identifier: Apache-2.0
"""Loops of getc and of malloc and free in a program of one thread: glibc is quick there only as long
as no thread is added."""
import json
import os

from ..bench import percent, times
from ..measure import Ratio, interleave, median, spread
from ..results import Table
from ..tools import Gperftools, Kymo, Nothing, profile


def run(bench):
    rounds = bench.rounds(15, 3)
    batches = "11" if bench.quick else "31"
    tools = {"none": Nothing()}
    tools.update({e: Kymo(bench.build, e, "1ms") for e in bench.engines()})
    tools["gperftools"] = Gperftools()
    argv = [bench.built("tests/workloads/hazards"), "single", batches]
    last_cpu = {max(os.sched_getaffinity(0))}

    def once(tool):
        def call(_number):
            ran = profile(tool, argv, bench.out("hazards"), "hazards", bench.usage, cpus=last_cpu)
            bench.remove_outputs()
            return json.loads(ran.output)
        return call

    runs = interleave(rounds, {name: once(tool) for name, tool in tools.items()})
    table = Table("A program of one thread",
                  f"ns of CPU time of one getc and of one pair of malloc and free, pinned to one CPU; "
                  f"each run's median of {batches} batches, median of {rounds} interleaved runs.",
                  ["", "getc, ns", "spread", "ratio", "of the fastest", "malloc and free, ns",
                   "spread", "ratio", "of the fastest"])
    for name, tool in tools.items():
        cells, ratios = [], {}
        for key in ("getc_ns", "malloc_ns"):
            values = [r[key] for r in runs[name]]
            ratio = ratios[key] = Ratio(values, [r[key] for r in runs["none"]])
            cells += [f"{median(values):.3f}", percent(spread(values)), times(ratio.median),
                      times(ratio.fastest)]
        table.row(tool.name, *cells)
        if isinstance(tool, Kymo):
            for key, what in (("getc_ns", "getc"), ("malloc_ns", "malloc and free")):
                bench.results.budget(f"loop of {what}, {name} engine", ratios[key].median,
                                     1.02, times, spread=ratios[key].spread,
                                     interval=ratios[key].interval)
    bench.results.add(table)
