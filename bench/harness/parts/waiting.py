# SPDX-License-Identifier: Apache-2.0
"""Threads that wait: what they cost under each engine, which need not look at them, and with
wall-clock samples, which must."""
from ..bench import percent, times
from ..measure import Ratio, interleave, median, run as run_program
from ..results import Table
from ..tools import Kymo, Nothing, profile

# Of version 4.5 on the same kind of machine, another day: program's CPU time, its own threads in it.
ASYNC_PROFILER = {"async-profiler, wall 50 ms, frame pointers": 1.00,
                  "async-profiler, wall 10 ms, frame pointers": 1.01,
                  "async-profiler, wall 10 ms, dwarf": 1.05,
                  "async-profiler, wall 10 ms, dwarf, nobatch": 1.11}
IDLE = (0, 128, 1000)


def tools_of(bench, walls):
    tools = {engine: Kymo(bench.build, engine, "1ms") for engine in bench.engines()}
    for wall in walls if bench.has_wall() else ():
        tools["wall " + wall] = Kymo(bench.build, "auto", "1ms", wall)
    return tools


def run(bench):
    beside_workers(bench)
    idle(bench)


def beside_workers(bench):
    rounds = bench.rounds(5)
    program = bench.built("bench/waiters")
    trial = 500
    took = min(run_program([program, "0", "1", str(trial), "0"]).cpu_s for _ in range(3))
    seconds = 1 if bench.quick else 4
    argv = [program, "0", "2", str(int(trial * seconds / took)), "128", "20"]
    tools = {"none": Nothing(), **tools_of(bench, ("50ms", "10ms"))}
    out = bench.out("waiting")

    def once(tool):
        def call(_number):
            ran = profile(tool, argv, out, "waiters", bench.usage)
            ran.quality = tool.report(out)["quality"] if tool.period_s else None
            bench.remove_outputs()
            return ran
        return call

    runs = interleave(rounds, {name: once(tool) for name, tool in tools.items()})
    table = Table("Workers beside threads that sleep",
                  f"Two threads with {seconds} s of work together, and 128 that sleep for 20 ms at a "
                  f"time; {rounds} interleaved rounds. *Program* is its own CPU time; *with tool* "
                  "counts Kymo's process, too, which works all the time that the program takes, if it is "
                  "hindered: so *tool* is its part of one CPU in that time. async-profiler's figures were measured on such a "
                  "machine on another day (its version 4.5; it works inside the program, so its "
                  "two ratios are one). *Early*: sleeps that a signal ended.",
                  ["", "program, s", "program, ratio", "with tool, ratio", "tool, of one CPU",
                   "disturbed", "early"])
    base = [r.own_s for r in runs["none"]]
    whole = median([r.cpu_s for r in runs["none"]])
    for name, tool in tools.items():
        ratio = Ratio([r.own_s for r in runs[name]], base)
        with_tool = median([r.cpu_s for r in runs[name]]) / whole
        early = max(int(r.output) for r in runs[name])
        disturbed = max(r.quality.get("disturbed") or 0 for r in runs[name]) if tool.period_s else ""
        table.row(tool.name, f"{median([r.own_s for r in runs[name]]):.3f}", times(ratio.median),
                  times(with_tool), percent(median([r.tool_part for r in runs[name]])), disturbed,
                  early)
        if tool.period_s:
            bench.results.budget(f"CPU time of workers beside 128 sleepers, {name}", ratio.median,
                                 1.03, times, spread=ratio.spread, interval=ratio.interval)
    for name, published in ASYNC_PROFILER.items():
        table.row(name, "", f"{published:.2f}x", f"{published:.2f}x", "", "", "")
    bench.results.add(table)


def idle(bench):
    rounds = bench.rounds(5)
    short, long = (1, 3) if bench.quick else (2, 12)
    program = bench.built("bench/waiters")
    tools = tools_of(bench, ("10ms",))
    out = bench.out("idle")

    def once(tool, threads, seconds):
        def call(_number):
            argv = [program, str(seconds), "0", "0", str(threads)]
            ran = profile(tool, argv, out, "waiters", bench.usage)
            bench.remove_outputs()
            return ran.cpu_s
        return call

    runs = interleave(rounds, {(name, threads, seconds): once(tool, threads, seconds)
                               for name, tool in tools.items() for threads in IDLE
                               for seconds in (short, long)})
    table = Table("Threads that do nothing",
                  f"A program of which all threads wait, for {short} s and for {long} s: what it "
                  "costs to wait, as part of one CPU, is the difference (Kymo and the program "
                  "together); what it costs once is the rest. *More*: than with no such threads. "
                  f"Medians of {rounds} interleaved rounds.",
                  ["", "threads", "once, ms", "all the time", "more"])
    for name, tool in tools.items():
        steady = {}
        for threads in IDLE:
            cpu_s = {seconds: median(runs[name, threads, seconds]) for seconds in (short, long)}
            steady[threads] = (cpu_s[long] - cpu_s[short]) / (long - short)
            once_s = cpu_s[short] - short * steady[threads]
            table.row(tool.name, threads, f"{once_s * 1e3:.1f}", percent(steady[threads]),
                      percent(steady[threads] - steady[0]))
        if "wall" in name:
            bench.results.budget(f"128 threads that wait, {name}, of one CPU",
                                 steady[128] - steady[0], 0.01, percent)
        else:
            bench.results.budget(f"1000 idle threads, {name} engine, of one CPU",
                                 steady[1000] - steady[0], 0.01, percent)
    bench.results.add(table)
