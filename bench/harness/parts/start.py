# SPDX-License-Identifier: Apache-2.0
"""What it costs /bin/true to start and end under Kymo, and what a whole recording of it costs."""
import json

from ..measure import interleave, median, run as run_program
from ..results import Table
from ..tools import Kymo, Perf


def milliseconds(ms):
    return f"{ms:.2f} ms"


def run(bench):
    runs = bench.rounds(200, 20)
    said = json.loads(run_program([bench.built("bench/start_bench"), bench.preload, str(runs),
                                   "/bin/true"]).output)
    names = {"alone": "alone", "preloaded": "library preloaded, no recorder",
             "timer": "recorded, timer engine", "perf": "recorded, perf engine"}
    table = Table("Start and exit of /bin/true",
                  f"CPU time of the process by wait4, from fork to its last page, medians of {runs} "
                  "interleaved runs.", ["", "CPU, ms", "more, ms"])
    alone = median(said["alone"])
    for key, name in names.items():
        if key in said:
            value = median(said[key])
            table.row(name, f"{value / 1e3:.3f}", f"{(value - alone) / 1e3:.3f}")
    bench.results.add(table)
    for key in ("timer", "perf"):
        if key in said:
            bench.results.budget(f"start and exit of /bin/true, {key} engine, more CPU time",
                                 (median(said[key]) - alone) / 1e3, 1.0, milliseconds)
    whole(bench)


def whole(bench):
    """The commands as they are typed."""
    rounds = bench.rounds(21, 3)
    tools = {"alone": None, "kymo record": Kymo(bench.build, "auto", "1ms"),
             "perf record -g": Perf("fp"), "perf record --call-graph dwarf": Perf("dwarf")}

    def once(tool):
        def call(_number):
            argv, env = (["/bin/true"], {}) if not tool else \
                tool.command(["/bin/true"], bench.out("start"))
            cpu_s = run_program(argv, env=env).cpu_s
            bench.remove_outputs()
            return cpu_s * 1e3
        return call

    runs = interleave(rounds, {name: once(tool) for name, tool in tools.items()})
    ours = median(runs["kymo record"])
    table = Table("A whole recording of /bin/true",
                  f"CPU time of the command and all it starts, medians of {rounds} interleaved "
                  "runs; the recording is kept as a .kymo and a perf.data.",
                  ["", "CPU, ms", "kymo's part of it"])
    for name, values in runs.items():
        table.row(name, f"{median(values):.2f}", f"{ours / median(values):.2f}x")
    bench.results.add(table)
