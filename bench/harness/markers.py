# SPDX-License-Identifier: Apache-2.0
"""Runs what is measured in the loops of bench/marker_loop.h, ours and others alike."""
import os
import re
import shutil

from .measure import Failed, run as run_program

COUNTED = 1000  # calls under callgrind
EMPTY = "empty"


class Line:
    """Of one kind, or of one floor in one place."""

    def __init__(self, ns, least, low, high):
        self.ns, self.least = float(ns), float(least)
        self.spread = (float(high) - float(low)) / self.ns if self.ns else 0


def rounds(bench):
    return bench.rounds(31, 2)


def measured(bench, command, threads, floors, env=None):
    """Runs such a program: (kind, or "ring32 warm") to line, and all that it printed."""
    output = run_program([*command, str(rounds(bench)), str(threads), *sorted(floors)], env=env,
                         timeout=300).output
    found = re.findall(rf"^marker program=\S+ threads={threads} kind=(\S+) place=(\S+) ns=([\d.]+) "
                       r"least=([\d.]+) quartiles=([\d.]+)-([\d.]+)$", output, re.M)
    lines = {kind if place == "-" else f"{kind} {place}": Line(*figures)
             for kind, place, *figures in found}
    if EMPTY not in lines:
        raise Failed(f"{command[-1]} measured nothing")
    return lines, output


def can_count():
    return shutil.which("valgrind") is not None


def instructions(bench, command, kinds, env=None):
    """Of one call of each kind: what twice as many have more, so that nothing else is in it."""
    out = bench.out("callgrind")
    told = run_program(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}",
                        "--zero-before=loop_counted", "--dump-after=loop_counted", *command, "count",
                        str(COUNTED), *kinds], env=env, timeout=300).output
    calls = [int(n) for n in re.findall(r"^counted kind=\S+ calls=(\d+)$", told, re.M)]

    def counted(part):
        with open(f"{out}.{part}") as f:
            return int(re.search(r"^totals: (\d+)", f.read(), re.M).group(1))

    return {kind: (counted(2 * i + 2) - counted(2 * i + 1)) / calls[i]
            for i, kind in enumerate(kinds)}


def times(value):
    return f"{value:.2f}x"


def write_readme(root, cells):
    """Replaces the row of markers in README's table of costs."""
    path = os.path.join(root, "README.md")
    with open(path) as f:
        text = f.read()
    row = "| " + " | ".join(cells) + " |"
    replaced, count = re.subn(r"^\| a marker: .*$", lambda _: row, text, flags=re.M)
    if count != 1:
        raise Failed("README.md has no row that begins with '| a marker: '")
    with open(path, "w") as f:
        f.write(replaced)
