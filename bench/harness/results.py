# SPDX-License-Identifier: Apache-2.0
"""Tables of figures, and the budgets that they are held to; as text while they come in, and as
bench/RESULTS.md at the end."""
import sys


class Table:
    """A title, a line about how it was measured, column names, rows of text."""

    def __init__(self, title, how, columns):
        self.title = title
        self.how = how
        self.columns = columns
        self.rows = []

    def row(self, *cells):
        assert len(cells) == len(self.columns)
        self.rows.append([str(cell) for cell in cells])

    def markdown(self):
        """The first column is text, the others are figures."""
        widths = [max(len(row[i]) for row in [self.columns, *self.rows])
                  for i in range(len(self.columns))]

        def line(cells):
            first = cells[0].ljust(widths[0])
            others = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:])]
            return "| " + " | ".join([first, *others]) + " |"

        rule = "|" + "|".join(["-" * (widths[0] + 2), *("-" * (w + 1) + ":" for w in widths[1:])])
        return "\n".join([line(self.columns), rule + "|", *map(line, self.rows)])


class Results:
    def __init__(self):
        self.tables = []
        self.budgets = Table("Budgets", "", ["what", "measured", "budget", "spread", "verdict"])
        self.missed = 0
        self.held = 0

    def add(self, table):
        self.tables.append(table)
        print(f"\n## {table.title}\n{table.how}\n{table.markdown()}", flush=True)

    def budget(self, what, value, limit, show, at_least=False, spread=None):
        """Holds value to the limit (a most, or a least); show: text of a figure; spread: of the runs
        that it comes from, so that a reader sees what noise there was."""
        ok = value >= limit if at_least else value <= limit
        self.held += ok
        self.missed += not ok
        self.budgets.row(what, show(value), ("≥ " if at_least else "≤ ") + show(limit),
                         "" if spread is None else f"{100 * spread:.0f} %", "ok" if ok else "MISSED")
        print(f"{'ok    ' if ok else 'MISSED'} {what}: {show(value)} "
              f"(budget {'at least' if at_least else 'at most'} {show(limit)})", flush=True)

    def absent(self, what, why):
        """A part that could not be measured is said, never left out."""
        self.budgets.row(what, "not measured: " + why, "", "", "")
        print(f"kymo: {what}: not measured: {why}", file=sys.stderr, flush=True)

    def write(self, path, machine, command, seconds):
        parts = ["# What Kymo costs, and its peers", "",
                 f"Made by `{command}` in {seconds / 60:.0f} minutes; do not edit. Ratios are ratios "
                 "of medians over interleaved runs. CPU time is user and system; *spread* is the "
                 "distance from the least to the greatest run, in parts of the median.", "",
                 "| machine | |", "|---|---|", *(f"| {what} | {value} |" for what, value in machine),
                 "", f"## Budgets: {self.held} held, {self.missed} missed", "",
                 self.budgets.markdown(), ""]
        for table in self.tables:
            parts += [f"## {table.title}", "", table.how, "", table.markdown(), ""]
        with open(path, "w") as f:
            f.write("\n".join(parts).rstrip() + "\n")
