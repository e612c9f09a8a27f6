# SPDX-License-Identifier: Apache-2.0
"""ns per frame of a stack walk, beside libunwind and glibc: bench/unwind_bench.c measures."""
import re

from ..measure import Failed, run as run_program
from ..results import Table

KINDS = {"hot": "the same stack again and again", "varied": "64 stacks in turn",
         "cold": "nothing is remembered"}


def nanoseconds(ns):
    return f"{ns:.1f} ns"


def run(bench):
    output = run_program([bench.built("bench/unwind_bench")]).output
    said = re.findall(r"^unwind (\S+) frames=(\d+) method=(\S+) ns_per_frame=([\d.]+)$", output,
                      re.M)
    if not said:
        raise Failed("unwind_bench printed no results")
    table = Table("Unwinding",
                  "ns of CPU time per frame, stacks of distinct functions without frame pointers; "
                  "methods in short interleaved batches of one process, medians of 61. "
                  + "; ".join(f"*{kind}*: {what}" for kind, what in KINDS.items())
                  + ". The ratio is to the first of our lines for the same stack.",
                  ["", "frames", "ns per frame", "ratio to ours"])
    # The lines of one stack follow each other, ours first.
    first, last = None, None
    for kind, frames, method, ns in said:
        ours = method.startswith("kymo")
        if ours and not (last and last.startswith("kymo")):
            first = float(ns)
        table.row(f"{kind}, {method}", frames, ns, f"{float(ns) / first:.2f}x")
        last = method
        if ours and kind == "hot":
            bench.results.budget(f"unwind, hot, a frame of {frames}", float(ns), 7.0, nanoseconds)
    bench.results.add(table)
    tables(bench, output)


def tables(bench, output):
    built = re.findall(r"^unwind table file=(\S+) build_ms=([\d.]+) rows=(\d+) kib=(\d+)$", output,
                       re.M)
    if not built:
        return
    table = Table("Row tables", "Made once per file, outside the program; CPU time.",
                  ["", "ms", "rows", "KiB"])
    for file, ms, rows, kib in built:
        table.row(file.rsplit("/", 1)[-1].replace("exe", "unwind_bench"), ms, rows, kib)
    bench.results.add(table)
