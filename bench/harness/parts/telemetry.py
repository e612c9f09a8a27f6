# SPDX-License-Identifier: Apache-2.0
"""What it costs to read the system's figures of a process meanwhile: each second, as it is by default,
and each 100 ms; with samples at 1 kHz and without."""
from ..bench import percent, times
from ..measure import Ratio, interleave, median, run as run_program, spread
from ..results import Table
from .overhead import calls_for

PERIODS = {"off": "--counters=off", "each second": "--counters=1s", "each 100 ms": "--counters"}
# More of a CPU than without, by the recorder for one process; of the program's CPU time.
RECORDER = {"each second": 0.001, "each 100 ms": 0.005}
PROGRAM = 1.03


def run(bench):
    seconds = 1.0 if bench.quick else 4.0
    rounds = bench.rounds(5)
    load = [bench.built("bench/deep"), "1", str(calls_for(bench, seconds))]

    def once(options):
        def call(_number):
            before = [bench.kymo, "record", "-q", "-f", *options, "-o", bench.out("telemetry.kymo"),
                      "--"] if options else []
            ran = run_program([*before, *load], usage_of="deep", usage_library=bench.usage)
            bench.remove_outputs()
            return ran
        return call

    ways = {"no profiler": []}
    for what, cpu in (("no samples", "--cpu=10s"), ("1 kHz", "--cpu=1ms")):
        ways.update({f"{what}, figures {name}": [cpu, option] for name, option in PERIODS.items()})
    runs = interleave(rounds, {name: once(options) for name, options in ways.items()})
    table = Table("Telemetry",
                  f"A load of {seconds:.0f} s CPU with one thread, {rounds} interleaved rounds. "
                  "*Recorder*: what everything but the program used, in parts of a CPU.",
                  ["", "program, s", "spread", "ratio", "of the fastest", "recorder"])
    alone = [r.own_s for r in runs["no profiler"]]
    for name in ways:
        own = [r.own_s for r in runs[name]]
        ratio = Ratio(own, alone)
        table.row(name, f"{median(own):.3f}", percent(spread(own)), times(ratio.median),
                  times(ratio.fastest), percent(median([r.tool_part for r in runs[name]])))
    bench.results.add(table)
    for name, limit in RECORDER.items():
        more = [a.tool_part - b.tool_part for a, b in zip(runs[f"no samples, figures {name}"],
                                                          runs["no samples, figures off"])]
        bench.results.budget(f"telemetry {name}: the recorder, more of a CPU", median(more), limit,
                             lambda part: f"{100 * part:.2f} %")
        ratio = Ratio([r.own_s for r in runs[f"1 kHz, figures {name}"]], alone)
        bench.results.budget(f"program's CPU time at 1 kHz with telemetry {name}", ratio.median, PROGRAM,
                             times, spread=ratio.spread, interval=ratio.interval)
    start(bench)


def start(bench):
    """The whole command for /bin/true."""
    rounds = bench.rounds(21, 3)

    def once(option):
        def call(_number):
            cpu_s = run_program([bench.kymo, "record", "-q", "-f", option, "-o",
                                 bench.out("telemetry.kymo"), "--", "/bin/true"]).cpu_s
            bench.remove_outputs()
            return cpu_s * 1e3
        return call

    runs = interleave(rounds, {name: once(option) for name, option in PERIODS.items()})
    table = Table("Telemetry: a whole recording of /bin/true",
                  f"CPU time of the command and all it starts, medians of {rounds} interleaved runs.",
                  ["figures", "CPU, ms", "more, ms"])
    for name, values in runs.items():
        table.row(name, f"{median(values):.2f}",
                  "" if name == "off" else f"{median(values) - median(runs['off']):.2f}")
    bench.results.add(table)
