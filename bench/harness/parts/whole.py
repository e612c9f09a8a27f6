# SPDX-License-Identifier: Apache-2.0
"""What a recording costs in all: CPU time of the program, of what it starts and of the tool, from the
command to the file that is kept, beside the program alone and beside other profilers."""
from ..bench import percent, times
from ..measure import SELDOM, Ratio, interleave, interval, median, run as run_program, same_rounds, spread
from ..results import Table
from ..tools import Kymo, Nothing, Perf, Samply
from .programs import programs

SHORT = 200
# What the budgets are about, to tell a few percent apart.
OFTEN = ("none", "kymo", "cold", "unnamed", "samply")


def milliseconds(ms):
    return f"{ms:.2f} ms"


def loads(bench):
    """name: (argv, file for standard input)."""
    known = {"a loop of the shell": (["/bin/sh", "-c", "i=0; while [ $i -lt 50000 ]; do "
                                      "i=$((i+1)); done"], None),
             f"{SHORT} x /bin/true": (["/bin/sh", "-c", f"i=0; while [ $i -lt {SHORT} ]; do "
                                       "/bin/true; i=$((i+1)); done"], None)}
    for name, (argv, stdin, _) in programs(bench).items():
        if name == "python3.11":
            known[name] = (argv + ["12"], stdin)  # 1.5 s: names are a fixed cost
        elif not name.startswith("cc1"):
            known[name] = (argv, stdin)
    return known


def run(bench):
    rounds = bench.rounds(25)
    tools = {"none": Nothing(), "kymo": Kymo(bench.build, "auto", "1ms"),
             "cold": Kymo(bench.build, "auto", "1ms", cold=True),
             "unnamed": Kymo(bench.build, "auto", "1ms", names=False), "perf -g": Perf("fp"),
             "perf dwarf": Perf("dwarf")}
    for engine in bench.engines():
        if engine != "timer":
            tools["by " + engine] = Kymo(bench.build, engine, "1ms")
    Samply.add_to(tools, bench.results)
    known = loads(bench)
    out = bench.out("whole")

    def once(tool, argv, stdin):
        def call(_number):
            command, env = tool.command(argv, out)
            cpu_s = run_program(command, env=env, stdin=stdin).cpu_s
            bench.remove_outputs()
            return cpu_s
        return call

    # kallsyms are read once in a boot; debug sections are cached by the first two recordings.
    for tool in ("kymo", "kymo", "cold"):
        for argv, stdin in known.values():
            once(tools[tool], argv, stdin)(0)
    ways = [(load, tool) for load in known for tool in tools]
    runs = interleave(rounds, {(load, tool): once(tools[tool], *known[load]) for load, tool in ways},
                      seldom=[(load, tool) for load, tool in ways if tool not in OFTEN])
    table = Table("What a recording costs in all",
                  "CPU time of the program, of all that it starts, and of the tool with its file, "
                  f"the symbols included where the tool looks them up then; medians of {rounds} "
                  f"interleaved rounds, of perf and single engines in every {SELDOM}th. Where nothing is "
                  "said of the cache, earlier recordings have inflated the debug files; *nothing cached*: "
                  "each recording does.",
                  ["", "CPU, ms", "spread", "more, ms", "ratio", "of the fastest"])
    for load in known:
        for name, tool in tools.items():
            cpu = runs[load, name]
            base = same_rounds(runs[load, "none"], cpu)
            ratio = Ratio(cpu, base)
            table.row(f"{load}, {tool.name}" if name != "none" else load,
                      f"{median(cpu) * 1e3:.1f}", percent(spread(cpu)),
                      f"{(median(cpu) - median(base)) * 1e3:.1f}", times(ratio.median),
                      times(ratio.fastest))
    bench.results.add(table)
    budgets(bench, runs, list(known))


def budgets(bench, runs, names):
    def more_ms(with_tool, alone):
        return (median(with_tool) - median(alone)) * 1e3

    def each_ms(many, many_alone, one, one_alone):
        return (more_ms(many, many_alone) - more_ms(one, one_alone)) / SHORT

    def hold(what, limit, figure, *of):
        these = [runs[load, tool] for load, tool in of]
        bench.results.budget(what, figure(*these), limit, milliseconds, interval=interval(figure, *these))

    one, many = names[:2]
    hold("a short recording with names, more CPU time", 30.0, more_ms, (one, "kymo"), (one, "none"))
    hold("the same with nothing cached, more CPU time", 30.0, more_ms, (one, "cold"), (one, "none"))
    hold("a process that ends at once, more CPU time, recorder included", 0.5, each_ms,
         (many, "kymo"), (many, "none"), (one, "kymo"), (one, "none"))
    if (one, "samply") in runs:
        for load in names[2:]:
            # samply finds names when its profile is opened.
            for tool, what in (("kymo", "with names"), ("unnamed", "without names, as it")):
                ratio = Ratio(runs[load, tool], runs[load, "samply"])
                bench.results.budget(f"CPU time of {load} under kymo, {what}, by that under samply",
                                     ratio.median, 1.0, times, spread=ratio.spread,
                                     interval=ratio.interval)
