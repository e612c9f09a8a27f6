# SPDX-License-Identifier: Apache-2.0
"""Tables of figures, and the budgets that they are held to: as text while they come in, as a file
for each part, and as bench/RESULTS.md, which is made of these files."""
import json
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
    """Of one part."""

    def __init__(self):
        self.tables = []
        self.budgets = Table("Budgets", "", ["what", "measured", "95 % interval", "budget", "spread", "verdict"])
        self.missed = 0
        self.held = 0
        self.has_failed = False

    def add(self, table):
        self.tables.append(table)
        print(f"\n## {table.title}\n{table.how}\n{table.markdown()}", flush=True)

    def budget(self, what, value, limit, show, at_least=False, spread=None, interval=None):
        """Holds value to the limit (a most, or a least); show: text of a figure; spread: of the runs
        that it comes from, interval: of the figure, so that a reader sees what noise there was."""
        ok = value >= limit if at_least else value <= limit
        self.held += ok
        self.missed += not ok
        is_clear = not interval or not interval[0] < limit < interval[1]
        self.budgets.row(what, show(value), f"{show(interval[0])} to {show(interval[1])}" if interval else "",
                         ("≥ " if at_least else "≤ ") + show(limit),
                         "" if spread is None else f"{100 * spread:.0f} %",
                         ("ok" if ok else "MISSED") + ("" if is_clear else "?"))
        print(f"{'ok    ' if ok else 'MISSED'} {what}: {show(value)} "
              f"(budget {'at least' if at_least else 'at most'} {show(limit)})", flush=True)

    def absent(self, what, why):
        """A part that could not be measured is said, never left out."""
        self.budgets.row(what, "not measured: " + why, "", "", "", "")
        print(f"kymo: {what}: not measured: {why}", file=sys.stderr, flush=True)

    def keep(self, path, machine, seconds):
        """As the file that pages are made of."""
        kept = {"machine": machine, "seconds": round(seconds), "held": self.held,
                "missed": self.missed, "budgets": self.budgets.rows,
                "tables": [[t.title, t.how, t.columns, t.rows] for t in self.tables]}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


# Of a machine, what is another one each time without making it another machine.
OF_THE_RUN = ["date", "Kymo", "load average at start"]


def write_page(path, folder, names):
    """One page of the parts' files in this folder, in the order of their names; the machine is that of
    the part that was measured last, and others are pointed out."""
    parts = {name: json.loads((folder / f"{name}.json").read_text())
             for name in names if (folder / f"{name}.json").exists()}
    machine = max(parts.values(), key=lambda part: part["machine"]["date"])["machine"]
    runs = Table("Parts", "", ["part", "date", "Kymo", "minutes", "load average at start", "held",
                               "missed", "machine"])
    budgets = Results().budgets
    tables = []
    for name, part in parts.items():
        at = part["machine"]
        other = [f"{what}: {at.get(what)}" for what in machine
                 if what not in OF_THE_RUN and at.get(what) != machine[what]]
        runs.row(name, at["date"], at["Kymo"], f"{part['seconds'] / 60:.0f}",
                 at["load average at start"], part["held"], part["missed"], "; ".join(other) or "below")
        budgets.rows += part["budgets"]
        for title, how, columns, rows in part["tables"]:
            table = Table(title, how, columns)
            table.rows = rows
            tables.append(table)
    held = sum(part["held"] for part in parts.values())
    missed = sum(part["missed"] for part in parts.values())
    unclear = sum(row[-1].endswith("?") for row in budgets.rows)
    lines = ["# What Kymo costs, and its peers", "",
             "Made by `make bench`, part by part (`make bench PARTS=\"NAME...\"`); do not edit. Ratios "
             "are ratios of medians over interleaved runs. CPU time is user and system; *spread* is "
             "the distance from the least to the greatest run, in parts of the median. The *95 % "
             "interval* of a figure is from the bootstrap over its rounds; a verdict with a question "
             "mark may be another one the next time, since the limit lies within.", "",
             runs.markdown(), "", "| machine | |", "|---|---|",
             *(f"| {what} | {value} |" for what, value in machine.items()
               if what not in OF_THE_RUN), "",
             f"## Budgets: {held} held, {missed} missed; {unclear} of these verdicts are not clear", "",
             budgets.markdown(), ""]
    for table in tables:
        lines += [f"## {table.title}", "", table.how, "", table.markdown(), ""]
    path.write_text("\n".join(lines).rstrip() + "\n")
