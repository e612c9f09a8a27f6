# SPDX-License-Identifier: Apache-2.0
"""5000 random addresses of python3.11 to functions, files, lines and inlined frames: CPU time and
memory beside addr2line and llvm-symbolizer, each of which gets them all in one process."""
import random
import re
import shutil
import subprocess

from ..bench import times
from ..measure import Failed, interleave, median, run as run_program, spread
from ..results import Table

PROGRAM = "/usr/bin/python3.11"
COUNT = 5000


def text_section(path):
    """(address, size) of .text."""
    text = subprocess.run(["readelf", "-SW", path], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    found = re.search(r"\s\.text\s+PROGBITS\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)", text)
    if not found:
        raise Failed(f"{path} has no .text")
    return int(found.group(1), 16), int(found.group(2), 16)


def run(bench):
    start, size = text_section(PROGRAM)
    # The same addresses in every run on the same file.
    chosen = random.Random(5000)
    path = bench.out("addresses")
    with open(path, "w") as f:
        f.writelines(f"{start + chosen.randrange(size):#x}\n" for _ in range(COUNT))
    tools = {"kymo": [bench.built("bench/symbolize_bench"), PROGRAM],
             "addr2line -f -C -i": ["addr2line", "-f", "-C", "-i", "-e", PROGRAM],
             "llvm-symbolizer": ["llvm-symbolizer", "-e", PROGRAM, "--demangle", "--inlines"]}
    missing = [name for name, argv in tools.items() if not shutil.which(argv[0])]
    for name in missing:
        bench.results.absent(name, "not installed")
        del tools[name]
    rounds = bench.rounds(9, 2)
    runs = interleave(rounds, {name: lambda _, argv=argv: run_program(argv, stdin=path)
                               for name, argv in tools.items()})
    table = Table(f"{COUNT} addresses of python3.11",
                  f"Random addresses of .text, with inlined frames, debug file as Debian ships it; "
                  f"CPU time and peak resident memory of the process, medians of {rounds} "
                  "interleaved runs.",
                  ["", "CPU, s", "spread", "ratio to ours", "peak, MiB", "ratio to ours", "frames"])
    ours_s = median([r.cpu_s for r in runs["kymo"]])
    ours_kib = median([r.peak_kib for r in runs["kymo"]])
    for name, ran in runs.items():
        cpu_s = median([r.cpu_s for r in ran])
        kib = median([r.peak_kib for r in ran])
        table.row(name, f"{cpu_s:.3f}", f"{100 * spread([r.cpu_s for r in ran]):.0f} %",
                  times(cpu_s / ours_s), f"{kib / 1024:.1f}", times(kib / ours_kib),
                  frames(ran[0].output))
    bench.results.add(table)
    bench.results.budget("5000 addresses with inlined frames, CPU time", ours_s, 0.5,
                         lambda s: f"{s:.3f} s", spread=spread([r.cpu_s for r in runs["kymo"]]))
    bench.results.budget("5000 addresses with inlined frames, memory", ours_kib / 1024, 70.0,
                         lambda mib: f"{mib:.1f} MiB")


def frames(output):
    """Each frame is a line of the function and one of the place."""
    return sum(1 for line in output.splitlines() if re.search(r":[\d?]+(:\d+)?( |$)", line))
