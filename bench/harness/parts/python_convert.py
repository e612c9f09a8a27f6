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
EVENTS_A_SECOND = 5e6
MIB = 300


def run(bench):
    found = traced.interpreters()
    if not found:
        raise Failed("no CPython with headers was found")
    version, path = found[0]
    python, has = traced.prepare(bench, version, path)
    # Its file has 0.8 GB.
    beside = [peer for peer in has if peer == "viztracer"]
    events = EVENTS / 20 if bench.quick else EVENTS
    table = Table("Python: ten million traced events, converted",
                  f"CPython %d.%d. CPU time and peak memory of `kymo convert`, medians of {bench.rounds(7)} interleaved "
                  "rounds; of VizTracer what its process takes beyond the traced load, and its peak memory, once." %
                  version, ["", "events, M", "CPU, ms", "spread", "M events/s", "peak, MiB", "file, MB"])
    for load in LOADS:
        convert(bench, python, load, events, beside, table)
    bench.results.add(table)


def convert(bench, python, load, events, beside, table):
    a_round = traced.events_of(bench, python, load) / traced.LOADS[load]
    rounds = int(events / a_round) + 1
    events = rounds * a_round
    recording = bench.out("ten_million.kymo")
    script = os.path.join(bench.root, "bench/loads/python_calls.py")
    run_program([bench.kymo, "record", "-q", "-f", "--no-symbols", "--trace=python", "-o", recording, "--", python, script,
                 "kymo", load, str(rounds), "-", "0"], env={"KYMO_TRACE_PYTHON": "off"})
    if traced.kinds_lost(bench, recording):
        raise Failed("traced calls were lost")

    def once(ending):
        out = bench.out("ten_million." + ending)
        return lambda _number: run_program([bench.kymo, "convert", "-q", "-f", "-o", out, recording])

    runs = interleave(bench.rounds(7), {name: once(ending) for name, ending in FORMATS.items()})
    for name, ending in FORMATS.items():
        cpu_s = median([r.cpu_s for r in runs[name]])
        peak = max(r.peak_kib for r in runs[name]) / 1024
        out = bench.out("ten_million." + ending)
        table.row(f"{load}, {name}", f"{events / 1e6:.1f}", f"{cpu_s * 1e3:.0f}",
                  f"{100 * spread([r.cpu_s for r in runs[name]]):.0f} %", f"{events / cpu_s / 1e6:.0f}", f"{peak:.0f}",
                  f"{os.path.getsize(out) / 1e6:.1f}")
        os.unlink(out)
        if name == "Firefox Profiler":
            bench.results.budget(f"{load}: traced events converted in a second, millions", events / cpu_s / 1e6,
                                 EVENTS_A_SECOND / 1e6, lambda x: f"{x:.1f}", at_least=True,
                                 spread=spread([r.cpu_s for r in runs[name]]))
            bench.results.budget(f"{load}: peak memory of converting ten million traced events", peak, MIB,
                                 lambda x: f"{x:.0f} MiB")
    os.unlink(recording)
    for way in beside:
        out = bench.out("ten_million.json")
        ran = run_program([python, script, way, load, str(rounds), out, str(int(events * 1.2))])
        cpu_s = ran.cpu_s - int(ran.output.split()[0]) / 1e9
        table.row(f"{load}, VizTracer's save()", f"{events / 1e6:.1f}", f"{cpu_s * 1e3:.0f}", "",
                  f"{events / cpu_s / 1e6:.1f}", f"{ran.peak_kib / 1024:.0f}", f"{os.path.getsize(out) / 1e6:.1f}")
        os.unlink(out)
