# SPDX-License-Identifier: Apache-2.0
"""CPU time of a load of 60-deep stacks under each profiler, and the samples that it got for it."""
from ..bench import percent, times
from ..measure import Ratio, interleave, median, run as run_program, spread
from ..results import Table
from ..tools import Gperftools, Kymo, Nothing, Perf, profile

ENTRIES = ("main", "_start")


def calls_for(bench, seconds):
    """How many calls of the load take that much CPU time."""
    trial = 5000
    took = min(run_program([bench.built("bench/deep"), "1", str(trial)]).cpu_s for _ in range(3))
    return int(trial * seconds / took)


def run(bench):
    engines = bench.engines()
    seconds = 1.0 if bench.quick else 5.0
    calls = calls_for(bench, seconds)
    for threads in (1, 4):
        measure_threads(bench, engines, threads, calls, seconds)


def measure_threads(bench, engines, threads, calls, seconds):
    rounds = bench.rounds(5)
    out = bench.out("overhead")
    # (tool, load); "deep" is without frame pointers, and the baseline of all but perf -g.
    ways = {"none": (Nothing(), "deep"), "none, fp": (Nothing(), "deep_fp")}
    for engine in engines:
        ways[f"kymo {engine} 1"] = (Kymo(bench.build, engine, "1ms"), "deep")
    if "perf" in engines:
        ways["kymo perf 1 signals"] = (Kymo(bench.build, "perf", "1ms", copies=False), "deep")
        ways["kymo perf 10"] = (Kymo(bench.build, "perf", "100us"), "deep")
    if bench.has_wall():
        ways["kymo auto with wall 10 ms, 1"] = (Kymo(bench.build, "auto", "1ms", "10ms"), "deep")
    for hz in (999, 9999):
        ways[f"perf bare {hz}"] = (Perf(None, hz), "deep")
    ways["perf dwarf"] = (Perf("dwarf"), "deep")
    if threads == 1:
        ways["perf dwarf 16"] = (Perf("dwarf,16384"), "deep")
    ways["perf fp"] = (Perf("fp"), "deep_fp")
    ways["gperftools"] = (Gperftools(), "deep")

    def once(tool, load):
        def call(number):
            argv = [bench.built("bench/" + load), str(threads), str(calls)]
            ran = profile(tool, argv, out, load, bench.usage)
            ran.counts = tool.counts(out) if tool.period_s else None
            ran.complete = None
            if tool.period_s and number == 0 and threads == 1:
                ran.complete = tool.complete(out, ENTRIES)
            bench.remove_outputs()
            return ran
        return call

    runs = interleave(rounds, {name: once(*way) for name, way in ways.items()})
    cost = table_of_cost(bench, threads, rounds, seconds, ways, runs)
    table_of_samples(bench, threads, rounds, ways, runs)
    for name, what in (("kymo perf 1", "perf engine at 1 kHz"),
                       ("kymo dispatch 1", "dispatch engine at 1 kHz"),
                       ("kymo timer 1", "timer engine"),
                       ("kymo auto with wall 10 ms, 1", "auto with wall 10 ms")):
        if name in cost:
            bench.results.budget(f"program's CPU time, {what}, {threads} thread(s)",
                                 cost[name].median, 1.03, times, spread=cost[name].spread,
                                 interval=cost[name].interval)


def table_of_cost(bench, threads, rounds, seconds, ways, runs):
    table = Table(f"Overhead, {threads} thread(s)",
                  f"A load of {seconds:.0f} s CPU with 60 frames of 12 KiB, {rounds} interleaved "
                  "rounds. *Program* is the CPU time of the program alone, as it says itself; *with "
                  "tool* counts the profiler's processes while recording, too. perf -g runs a build "
                  "with frame pointers and is held against that build. perf copies 8 KiB of the stack "
                  "with --call-graph dwarf unless told otherwise, which is not enough here.",
                  ["", "program, s", "spread", "program, ratio", "of the fastest",
                   "with tool, ratio"])
    cost = {}
    for name, (tool, load) in ways.items():
        base = runs["none, fp" if load == "deep_fp" else "none"]
        own = [r.own_s for r in runs[name]]
        cost[name] = Ratio(own, [r.own_s for r in base])
        whole = median([r.cpu_s for r in runs[name]]) / median([r.cpu_s for r in base])
        label = tool.name + (" (frame pointers)" if load == "deep_fp" else "")
        table.row(label, f"{median(own):.3f}", percent(spread(own)),
                  times(cost[name].median), times(cost[name].fastest), times(whole))
    bench.results.add(table)
    return cost


def table_of_samples(bench, threads, rounds, ways, runs):
    table = Table(f"Asked and achieved, {threads} thread(s)",
                  f"From the same {rounds} rounds, medians: samples over the program's CPU time "
                  "divided by the period, and the CPU time that they stand for over that of the "
                  "program, which is read just before its end. *Complete*: stacks that reach the "
                  "program's entry.",
                  ["", "period, us", "samples", "of those asked", "weights / CPU", "complete"])
    for name, (tool, _) in ways.items():
        if not tool.period_s:
            continue
        rate = median([r.counts.samples * tool.period_s / r.own_s for r in runs[name]])
        weight = median([r.counts.weight_s / r.own_s for r in runs[name]])
        table.row(tool.name, f"{tool.period_s * 1e6:.0f}",
                  f"{median([r.counts.samples for r in runs[name]]):.0f}", percent(rate),
                  percent(weight), percent(runs[name][0].complete))
        if name in ("kymo perf 1", "kymo dispatch 1"):
            bench.results.budget(f"samples of those asked, {tool.engine} engine, {threads} "
                                 "thread(s)", rate, 0.98, percent, at_least=True)
        if name.startswith("kymo"):
            bench.results.budget(f"weights over CPU time, {name[5:]} kHz, {threads} thread(s)",
                                 weight, 0.99, percent, at_least=True)
            if runs[name][0].complete is not None:
                bench.results.budget(f"complete stacks, {name[5:]} kHz", runs[name][0].complete,
                                     0.999, percent, at_least=True)
    bench.results.add(table)
