# SPDX-License-Identifier: Apache-2.0
"""`make -j2` of a C project: hundreds of processes that live for tens of milliseconds, each of which
the recorder meets, follows and says farewell to."""
import os
import shutil

from ..bench import percent, times
from ..measure import SELDOM, Failed, Ratio, interleave, median, run as run_program, same_rounds, spread
from ..results import Table
from ..tools import Kymo, Nothing, Perf
from .programs import c_source

MAKEFILE = """
CC = {compiler}
CFLAGS = -O1
objects = {objects}
all: program
program: $(objects) main.o
\t$(CC) -o $@ $^
clean:
\trm -f *.o program
"""


# What the budget is about, to tell a few percent apart.
OFTEN = ("none", "kymo", "perf")


def gcc():
    """The compiler itself: ccache, which may stand before it in PATH, would not compile again."""
    path = os.environ["PATH"].split(os.pathsep)
    return shutil.which("gcc", path=os.pathsep.join(p for p in path if "ccache" not in p))


def project(folder, files):
    os.makedirs(folder)
    names = [f"part{i:02d}" for i in range(files)]
    for i, name in enumerate(names):
        path = os.path.join(folder, name + ".c")
        c_source(path, 4 + i % 5)
        with open(path) as f:  # the same functions in each file, so not by the same names
            text = f.read()
        with open(path, "w") as f:
            f.write(text.replace("word f", f"word {name}_f").replace("= f", f"= {name}_f")
                    .replace("+= f", f"+= {name}_f"))
    with open(os.path.join(folder, "main.c"), "w") as f:
        f.write("int main(void)\n{\n    return 0;\n}\n")
    with open(os.path.join(folder, "Makefile"), "w") as f:
        f.write(MAKEFILE.format(objects=" ".join(name + ".o" for name in names), compiler=gcc()))


def run(bench):
    rounds = bench.rounds(33)
    files = 8 if bench.quick else 60
    folder = bench.out("project")
    project(folder, files)
    tools = {"none": Nothing(), "kymo": Kymo(bench.build, "auto", "1ms"),
             "cold": Kymo(bench.build, "auto", "1ms", cold=True),
             "unnamed": Kymo(bench.build, "auto", "1ms", names=False),
             "signals": Kymo(bench.build, "auto", "1ms", copies=False), "perf": Perf("fp")}
    if bench.has_wall():
        tools["wall"] = Kymo(bench.build, "auto", "1ms", "10ms")
    out = bench.out("make")

    def once(tool):
        def call(_number):
            run_program(["make", "-s", "-C", folder, "clean"])
            argv, env = tool.command(["make", "-s", "-j2", "-C", folder], out)
            ran = run_program(argv, env=env)
            ran.report = tool.report(out) if isinstance(tool, Kymo) else None
            bench.remove_outputs()
            return ran
        return call

    for tool in (tools["kymo"], tools["kymo"], tools["cold"]):  # what is cached for later ones
        once(tool)(0)
    runs = interleave(rounds, {name: once(tool) for name, tool in tools.items()},
                      seldom=[name for name in tools if name not in OFTEN])
    table = Table("make -j2 of a C project",
                  f"{files} files by gcc -O1 and a link: the driver, cc1, as, collect2 and ld of "
                  f"each. CPU time of all processes, the tool's included, and the time that it took; "
                  f"medians of {rounds} interleaved rounds, some in every {SELDOM}th. *Of the fastest* "
                  "is the ratio of the fastest runs. *Processes* are those in the recording.",
                  ["", "CPU, s", "spread", "ratio", "of the fastest", "took, s", "ratio", "processes",
                   "complete", "accounted for"])
    for name, tool in tools.items():
        alone = same_rounds(runs["none"], runs[name])
        base, base_took = ([getattr(r, key) for r in alone] for key in ("cpu_s", "elapsed_s"))
        cpu, took = ([getattr(r, key) for r in runs[name]] for key in ("cpu_s", "elapsed_s"))
        report = runs[name][0].report
        cells = ["", "", ""]
        if report:
            quality = report["quality"]
            cells = [len(report["processes"]), percent(quality["stacks_complete"]),
                     percent(quality["achieved"])]
            if len(report["processes"]) < 2:
                raise Failed("make's children are not in the recording")
        ratio = Ratio(cpu, base)
        table.row(tool.name, f"{median(cpu):.3f}", percent(spread(cpu)),
                  times(ratio.median), times(ratio.fastest), f"{median(took):.3f}",
                  times(Ratio(took, base_took).median), *cells)
        if name == "kymo":
            bench.results.budget("CPU time of make -j2, recorder included", ratio.median, 1.1, times,
                                 spread=ratio.spread, interval=ratio.interval)
    bench.results.add(table)
