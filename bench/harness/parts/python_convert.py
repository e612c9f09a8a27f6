# SPDX-License-Identifier: Apache-2.0
"""Ten million traced events: what converting them takes, in each format, beside VizTracer's save()."""
import os

from ..measure import Failed, interleave, median, run as run_program, spread
from ..results import Table
from . import python as traced

EVENTS = 10e6
LOADS = ("fib", "ast")
FORMATS = {"Firefox Profiler": "json.gz", "pprof": "pb.gz", "collapsed stacks": "folded", "Chrome trace": "trace.json",
           "pstats": "pstats"}
MILLIONS_A_SECOND = 5.0
PEAK_MIB = 300


def run(bench):
    version, path = traced.interpreters()[0]
    python, has = traced.prepare(bench, version, path)
    events = EVENTS / 20 if bench.quick else EVENTS
    table = Table("Python: ten million traced events, converted",
                  f"CPython %d.%d. CPU time and peak memory of `kymo convert`, medians of {bench.rounds(7)} interleaved "
                  "rounds; of VizTracer what its process takes beyond the traced load, and its peak memory, once." %
                  version, ["", "events, M", "CPU, ms", "spread", "M events/s", "peak, MiB", "file, MB"])
    for load in LOADS:
        convert(bench, python, load, events, table, "viztracer" in has)
    bench.results.add(table)


def convert(bench, python, load, events, table, has_viztracer):
    a_round = traced.events_of(bench, python, load) / traced.LOADS[load]
    rounds = int(events / a_round) + 1
    events = rounds * a_round
    recording = bench.out("ten_million.kymo")
    traced.record(bench, python, load, rounds, recording)
    if traced.kinds_lost(bench, recording):
        raise Failed("traced calls were lost")

    files = {name: bench.out("ten_million." + ending) for name, ending in FORMATS.items()}

    def once(out):
        return lambda _number: run_program([bench.kymo, "convert", "-q", "-f", "-o", out, recording])

    runs = interleave(bench.rounds(7), {name: once(out) for name, out in files.items()})
    for name, out in files.items():
        took = [r.cpu_s for r in runs[name]]
        peak = max(r.peak_kib for r in runs[name])
        row(table, f"{load}, {name}", events, median(took), f"{100 * spread(took):.0f} %", peak, out)
        if name == "Firefox Profiler":
            bench.results.budget(f"{load}: traced events converted in a second, millions",
                                 events / median(took) / 1e6, MILLIONS_A_SECOND, lambda x: f"{x:.1f}", at_least=True,
                                 spread=spread(took))
            bench.results.budget(f"{load}: peak memory of converting ten million traced events", peak / 1024, PEAK_MIB,
                                 lambda x: f"{x:.0f} MiB")
    os.unlink(recording)
    if has_viztracer:
        out = bench.out("ten_million.json")
        ran = run_program([python, traced.script_of(bench), "viztracer", load, str(rounds), out, str(int(events * 1.2))])
        row(table, f"{load}, VizTracer's save()", events, ran.cpu_s - int(ran.output.split()[0]) / 1e9, "",
            ran.peak_kib, out)


def row(table, name, events, cpu_s, spread_of_runs, peak_kib, out):
    """Files have up to 0.8 GB: they go at once."""
    table.row(name, f"{events / 1e6:.1f}", f"{cpu_s * 1e3:.0f}", spread_of_runs, f"{events / cpu_s / 1e6:.1f}",
              f"{peak_kib / 1024:.0f}", f"{os.path.getsize(out) / 1e6:.1f}")
    os.unlink(out)
