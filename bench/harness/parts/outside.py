# SPDX-License-Identifier: Apache-2.0
"""A program that Kymo's library cannot be in, sampled from outside: gofmt, which is static and has a
thread for each CPU, beside other profilers."""
import os
import shutil
import subprocess

from ..bench import percent, times
from ..measure import Failed, Ratio, interleave, median, run as run_program, spread
from ..results import Table
from ..tools import Kymo, Nothing, Perf, Samply

# Of Go's own sources; none has an error in its syntax, of which gofmt would make a failure.
FOLDERS = ("src/net", "src/runtime", "src/crypto", "src/cmd/compile/internal/ssa")


def run(bench):
    go = shutil.which("go")
    if not go:
        raise Failed("there is no Go")
    root = subprocess.run([go, "env", "GOROOT"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    argv = [os.path.join(root, "bin/gofmt"), "-l"]
    argv += [os.path.join(root, folder) for folder in FOLDERS[:1 if bench.quick else None]]
    if not os.path.exists(argv[0]):
        raise Failed("Go has no gofmt")
    rounds = bench.rounds(15)
    tools = {"none": Nothing(), "kymo": Kymo(bench.build, "auto", "1ms"),
             "unnamed": Kymo(bench.build, "auto", "1ms", names=False), "perf -g": Perf("fp"),
             "perf dwarf": Perf("dwarf")}
    Samply.add_to(tools, bench.results)
    out = bench.out("outside")

    def once(tool):
        def call(_number):
            command, env = tool.command(argv, out)
            ran = run_program(command, env=env)
            ran.report = tool.report(out) if isinstance(tool, Kymo) else None
            bench.remove_outputs()
            return ran
        return call

    once(tools["kymo"])(0)  # what is cached for later ones
    runs = interleave(rounds, {name: once(tool) for name, tool in tools.items()})
    table = Table("A Go program, from outside",
                  "gofmt of some of Go's sources, which is static and has as many threads as there are "
                  "CPUs. CPU time of all processes, the tool's included, and the time that it took; medians "
                  f"of {rounds} interleaved rounds.",
                  ["", "CPU, s", "spread", "ratio", "took, s", "ratio", "complete", "accounted for"])
    cpu = {name: [r.cpu_s for r in runs[name]] for name in tools}
    took = {name: [r.elapsed_s for r in runs[name]] for name in tools}
    for name, tool in tools.items():
        report = runs[name][0].report
        quality = report["quality"] if report else None
        table.row(tool.name, f"{median(cpu[name]):.3f}", percent(spread(cpu[name])),
                  times(Ratio(cpu[name], cpu["none"]).median), f"{median(took[name]):.3f}",
                  times(Ratio(took[name], took["none"]).median),
                  *([percent(quality["stacks_complete"]), percent(quality["achieved"])] if quality else ["", ""]))
    bench.results.add(table)
    qualities = [r.report["quality"] for r in runs["kymo"]]
    for what, key in (("complete stacks of gofmt", "stacks_complete"), ("CPU time of gofmt that has samples", "achieved")):
        bench.results.budget(what, median([q[key] for q in qualities]), 0.99, percent, at_least=True)
    for peer in ("perf -g", "samply"):
        if peer in runs:
            ratio = Ratio(cpu["unnamed"], cpu[peer])
            bench.results.budget(f"CPU time of gofmt under kymo, without names, by that under {tools[peer].name}",
                                 ratio.median, 1.0, times, spread=ratio.spread, interval=ratio.interval)
