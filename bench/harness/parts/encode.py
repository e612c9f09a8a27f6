# SPDX-License-Identifier: Apache-2.0
"""What it costs to write a million samples in each format: bench/encode_bench.c measures."""
import re

from ..measure import Failed, median, run as run_program, spread
from ..results import Table

# Seconds of CPU time.
BUDGETS = {".json.gz": 1.0, ".pb.gz": 0.3, ".jfr": 0.5}


def run(bench):
    rounds = bench.rounds(7)
    output = run_program([bench.built("bench/encode_bench"), "1000000", str(rounds)]).output
    said = re.findall(r"^encode format=(\S+) samples=(\d+) cpu_ms=([\d.]+) bytes=(\d+)$", output,
                      re.M)
    if not said:
        raise Failed("encode_bench printed no results")
    memory = re.search(r"^memory profile_kib=(\d+) peak_kib=(\d+)$", output, re.M)
    if not memory:
        raise Failed("encode_bench printed no memory")
    profile_mib, peak_mib = (int(kib) / 1024 for kib in memory.groups())
    table = Table("Encoding a million samples",
                  "8 threads, 30 000 stacks, 6000 frames of 3000 functions, written to a sink that "
                  f"only counts; CPU time, medians of {rounds} rounds in turn. The profile takes "
                  f"{profile_mib:.0f} MiB; with the encoders, at most {peak_mib:.0f} MiB.",
                  ["", "CPU, ms", "spread", "size, KiB", "bytes a sample"])
    for format_name in dict.fromkeys(row[0] for row in said):
        rows = [row for row in said if row[0] == format_name]
        ms = [float(row[2]) for row in rows]
        samples, size = int(rows[0][1]), int(rows[0][3])
        table.row(format_name, f"{median(ms):.0f}", f"{100 * spread(ms):.0f} %", size // 1024,
                  f"{size / samples:.2f}")
        if format_name in BUDGETS:
            bench.results.budget(f"1 M samples to {format_name}", median(ms) / 1e3,
                                 BUDGETS[format_name], lambda s: f"{s:.2f} s", spread=spread(ms))
    bench.results.add(table)
