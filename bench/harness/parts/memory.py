# SPDX-License-Identifier: Apache-2.0
"""Memory that Kymo adds to a program of a thousand threads which stay and a thousand a second which
end."""
import json

from ..measure import interleave, median
from ..results import Table
from ..tools import Kymo, Nothing, profile


def run(bench):
    rounds = bench.rounds(3)
    seconds = "1" if bench.quick else "3"
    tools = {"none": Nothing()}
    tools.update({e: Kymo(bench.build, e, "1ms") for e in bench.engines()})
    argv = [bench.built("tests/workloads/manythreads"), "1000", "1000", seconds]
    out = bench.out("memory")

    def once(tool):
        def call(_number):
            ran = profile(tool, argv, out, "manythreads", bench.usage)
            ran.lost = 0
            if tool.period_s:
                ran.lost = sum(tool.report(out)["quality"]["lost"].values())
            bench.remove_outputs()
            return ran
        return call

    runs = interleave(rounds, {name: once(tool) for name, tool in tools.items()})
    table = Table("Memory with many threads",
                  f"1000 threads that stay and 1000 a second that end, for {seconds} s; peak of the "
                  f"resident memory, medians of {rounds} interleaved rounds. Lost: records.",
                  ["", "peak, KiB", "more, KiB", "CPU, s", "lost"])
    base = median([r.usage["peak_kib"] for r in runs["none"]])
    for name, tool in tools.items():
        peak = median([r.usage["peak_kib"] for r in runs[name]])
        lost = max(r.lost for r in runs[name])
        cpu = median([json.loads(r.output)["cpu"] for r in runs[name]])
        table.row(tool.name, f"{peak:.0f}", f"{peak - base:.0f}", f"{cpu:.3f}", lost)
        if tool.period_s:
            bench.results.budget(f"records lost with 1000 + 1000/s threads, {name} engine", lost, 0,
                                 str)
    bench.results.add(table)
