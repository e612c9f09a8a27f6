# SPDX-License-Identifier: Apache-2.0
"""Programs that people know, alone and under kymo record: CPU time, and memory in the program."""
import os
import subprocess

from ..bench import percent, times
from ..measure import Failed, Ratio, interleave, median, spread
from ..results import Table
from ..tools import Kymo, Nothing, profile


def c_source(path, functions):
    """A large file for the compiler, the same each time: arithmetic, loops, switches and arrays."""
    with open(path, "w") as f:
        f.write("typedef unsigned long word;\nstatic word table[4096];\n")
        for i in range(functions):
            f.write(f"""
word f{i}(word a, word b, const word *v, int n)
{{
    word sum = a * {i + 3}u, kept[{4 + i % 13}] = {{0}};
    for (int i = 0; i < n; i++) {{
        switch ((v[i] ^ b) % {3 + i % 5}) {{
        case 0: sum += v[i] << {i % 17}; break;
        case 1: sum ^= table[(v[i] + {i}) % 4096]; break;
        case 2: kept[i % {4 + i % 13}] += sum; break;
        default: sum = (sum >> 3) | (sum << 61);
        }}
        for (int j = 0; j < {4 + i % 13}; j++)
            sum += kept[j] * (word)(j + {i % 7});
    }}
    if (sum & {1 << (i % 30)}u)
        sum += {'f%d(b, sum, v, n / 2)' % (i - 1) if i else 'b'};
    return sum + kept[n % {4 + i % 13}];
}}
""")


def programs(bench):
    """name: (argv, file for standard input, the program's name as the kernel has it)."""
    known = {"sqlite3": (["sqlite3", ":memory:"], os.path.join(bench.root, "examples/sqlite.sql"),
                         "sqlite3")}
    # Debian's own, not another one in PATH.
    if os.path.exists("/usr/bin/python3.11"):
        known["python3.11"] = (["/usr/bin/python3.11",
                                os.path.join(bench.root, "bench/loads/pure.py")], None,
                               "python3.11")
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], stdout=subprocess.PIPE,
                         text=True).stdout.strip()
    if os.path.isabs(cc1):
        c_source(bench.out("large.c"), 300)
        known["cc1 -O2"] = ([cc1, "-quiet", "-O2", bench.out("large.c"), "-o",
                             bench.out("large.s")], None, "cc1")
    return known


def run(bench):
    rounds = bench.rounds(5)
    engines = bench.engines()
    tools = {"none": Nothing()}
    tools.update({engine: Kymo(bench.build, engine, "1ms") for engine in engines})
    known = programs(bench)
    out = bench.out("programs")

    def once(tool, argv, stdin, name):
        def call(_number):
            ran = profile(tool, argv, out, name, bench.usage, stdin=stdin)
            ran.quality = tool.report(out)["quality"] if tool.period_s else None
            bench.remove_outputs()
            return ran
        return call

    runs = interleave(rounds, {(program, tool): once(tools[tool], *known[program])
                               for program in known for tool in tools})
    for program in known:
        outputs = {ran.output for tool in tools for ran in runs[program, tool]}
        if len(outputs) != 1:
            raise Failed(f"{program} writes something else under kymo record")
    table_of_cost(bench, rounds, known, engines, runs)
    table_of_memory(bench, rounds, known, engines, runs)


def table_of_cost(bench, rounds, known, engines, runs):
    table = Table("Programs that people know",
                  f"CPU time of the program alone under kymo record at 1 kHz, {rounds} interleaved "
                  "rounds. *Complete*: stacks that reach the program's entry; *named*: frames.",
                  ["", "CPU, s", "spread", "ratio", "of the fastest", "complete", "named"])
    for program in known:
        base = [r.own_s for r in runs[program, "none"]]
        table.row(program, f"{median(base):.3f}", percent(spread(base)), "", "", "", "")
        for engine in engines:
            own = [r.own_s for r in runs[program, engine]]
            ratio = Ratio(own, base)
            quality = runs[program, engine][0].quality
            table.row(f"{program}, {engine}", f"{median(own):.3f}", percent(spread(own)),
                      times(ratio.median), times(ratio.fastest),
                      percent(quality["stacks_complete"]), percent(quality["frames_symbolized"]))
            bench.results.budget(f"CPU time of {program}, {engine} engine at 1 kHz", ratio.median,
                                 1.03, times, spread=ratio.spread, interval=ratio.interval)
            bench.results.budget(f"complete stacks of {program}, {engine} engine",
                                 quality["stacks_complete"], 0.999, percent, at_least=True)
    bench.results.add(table)


def table_of_memory(bench, rounds, known, engines, runs):
    table = Table("Memory in known programs",
                  f"The peak of the program's resident memory, with what it shares with the recorder, "
                  f"in the same {rounds} rounds; medians, KiB. Of what is more: *tables*, rows for "
                  "unwinding that the recorder made, and *files*, mostly pages of the program's own "
                  ".eh_frame, both at the program's end. The budget is without tables.",
                  ["", "peak", "more", "of it tables", "of it files"])

    def middle(program, tool, key):
        return median([r.usage[key] for r in runs[program, tool]])

    for program in known:
        base = middle(program, "none", "peak_kib")
        table.row(program, f"{base:.0f}", "", "", "")
        for engine in engines:
            peak = middle(program, engine, "peak_kib")
            tables = middle(program, engine, "tables_kib")
            files = middle(program, engine, "file_kib") - middle(program, "none", "file_kib")
            table.row(f"{program}, {engine}", f"{peak:.0f}", f"{peak - base:.0f}", f"{tables:.0f}",
                      f"{files:.0f}")
            bench.results.budget(f"memory in {program}, {engine} engine",
                                 (peak - base - tables) / 1024, 4.0,
                                 lambda mib: f"{mib:.2f} MiB")
    bench.results.add(table)
